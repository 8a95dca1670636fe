"""Average minimal effort, ACR, ratio of possible recourse and RD: pure functions of the table and its statistics.

ACR = Phi_group / Phi_reference and RD = rho_reference - rho_group, so ACR > 1 and RD > 0 mean that the group is worse
off. Both count only people who were decided unfavourably. What cannot be computed is NaN, never 0, 1 or infinite.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial, reduce
from math import isnan
from operator import add
from typing import cast

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.special import ndtri

from equieffort.data.frames import Bools, Floats
from equieffort.effort.budget import default_budget
from equieffort.effort.inference.means import mean_limits
from equieffort.effort.inference.shares import wilson
from equieffort.effort.measures import Chance, Pair, Reading, Sample, Spread, Unplaced, sample
from equieffort.effort.measures.acr import acting
from equieffort.effort.stats import EffortStats
from equieffort.effort.tallies import Tally, Tallying
from equieffort.recourse.part_source import PartsSource
from equieffort.recourse.solvers import Status
from equieffort.recourse.status import UNSETTLED
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups, Versus, group_name, people_of

NAN = float("nan")
Interval = tuple[float, float]


def average_cost_ratio(group: EffortStats, against: EffortStats) -> float:
    """ACR: the group's average minimal effort over the other's; NaN if either is undefined or 0."""
    return group.phi / against.phi if against.phi > 0 and group.phi > 0 else NAN


def recourse_discrepancy(group: EffortStats, against: EffortStats) -> float:
    """RD: the other's ratio of possible recourse minus the group's; NaN if nobody was decided unfavourably."""
    exact = exact_discrepancy(group, against)
    return NAN if exact is None else float(exact)


def exact_discrepancy(group: EffortStats, against: EffortStats, *, extreme: int = 0) -> Fraction | None:
    """RD as a fraction, so that a threshold is met exactly; extreme -1 / +1 is the least / largest it can be."""
    if not group.n_unfavourable or not against.n_unfavourable:
        return None
    mine = group.n_acting + (group.n_unknown if extreme < 0 else 0)
    theirs = against.n_acting + (against.n_unknown if extreme > 0 else 0)
    return Fraction(theirs, against.n_unfavourable) - Fraction(mine, group.n_unfavourable)


def cost_ratio_range(group: EffortStats, against: EffortStats) -> Interval:
    """Where ACR certainly lies, given rows that are not solved to the end."""
    (low, high), (other_low, other_high) = group.phi_certified, against.phi_certified
    if not high > 0 or not other_high > 0:
        # Whatever the unknown rows turn out to be, there is no ratio.
        return NAN, NAN
    return low / other_high, high / other_low if other_low > 0 else float("inf")


@dataclass(frozen=True)
class Comparison:
    """A group against another: the numbers a verdict is made of."""

    group: str
    against: str
    role: str
    """What the group is: protected, reference, other or unknown; the last two are not judged."""
    pair: Pair
    readings: tuple[Reading, ...] = ()
    """One a measure, with its interval and its tests; those of another source of chance come last."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """By measure how far replicates spread, where another source of chance than people was asked for."""
    chance: Chance = "people"
    columns: tuple[str, ...] = ()
    """The sensitive columns whose values name the groups."""
    others: tuple[str, ...] = ()
    """The groups on the other side, where that is not the one group that it is called by."""
    unplaced: tuple[Unplaced, ...] = ()
    """People whose group is not known and who may be on either side."""

    @property
    def people(self) -> tuple[str, str]:
        """The people of both groups, as a sentence names them."""
        return people_of(self.group, self.columns), people_of(self.against, self.columns)

    @property
    def labels(self) -> tuple[str, ...]:
        """All groups on either side."""
        return self.group, *(self.others or (self.against,))

    @property
    def title(self) -> str:
        """Who is compared with whom, as a heading."""
        return f"{group_name(self.group, self.columns)} against {group_name(self.against, self.columns)}"

    @property
    def mine(self) -> EffortStats:
        """The group's sums."""
        return self.pair.mine.stats

    @property
    def theirs(self) -> EffortStats:
        """The other group's."""
        return self.pair.theirs.stats

    def reading(self, measure: str) -> Reading:
        """What was read of a measure, under the source of chance that is judged."""
        return next(found for found in reversed(self.readings) if found.measure == measure)

    @property
    def acr(self) -> float:
        """Average cost ratio."""
        return average_cost_ratio(self.mine, self.theirs)

    @property
    def rd(self) -> float:
        """Recourse discrepancy."""
        return recourse_discrepancy(self.mine, self.theirs)

    @property
    def acr_range(self) -> Interval:
        """Where ACR certainly lies."""
        return cost_ratio_range(self.mine, self.theirs)

    @property
    def rd_range(self) -> Interval:
        """Where RD certainly lies."""
        ends = [exact_discrepancy(self.mine, self.theirs, extreme=sign) for sign in (-1, 1)]
        return (NAN, NAN) if ends[0] is None or ends[1] is None else (float(ends[0]), float(ends[1]))

    @property
    def difference(self) -> float:
        """Phi of the group minus Phi of the other: defined also where the ratio is not."""
        return self.mine.phi - self.theirs.phi


def group_samples(
    table: RecourseTable,
    members: Bools | None = None,
    budget: float | None = None,
    record: tuple[Bools, Bools] | None = None,
) -> dict[str, Sample]:
    """The people of each group among the members (everybody by default).

    Beside a surrogate model `record` says of whom there is a recorded decision, and whom it approves.
    """
    if record is None and (tally := _tally_of(table, members)) is not None:
        return dict(zip(table.groups.labels, tally.samples(budget, partial(_again, table, members)), strict=True))
    found = {}
    for code, label in enumerate(table.groups.labels):
        rows = table.groups.codes == code
        if members is not None:
            rows = rows & members
        counts = None
        if record is not None:
            known, approved = record
            counts = int((rows & known).sum()), int((rows & known & approved).sum())
        found[label] = sample(table, rows, budget, counts)
    return found


def _tally_of(table: RecourseTable, members: Bools | None = None) -> Tally | None:
    """What everybody adds up to, where whoever solved them counted them; members where not all fit into memory."""
    source = table.source
    if not isinstance(source, PartsSource) or (found := source.tally_of(table)) is None:
        return None
    if members is None:
        return cast("Tally", found)
    return None if source.room >= 0 else _again(table, members)


def _again(table: RecourseTable, members: Bools | None = None) -> Tally:
    """People counted once more, with their efforts, some at a time."""
    counting, source = Tallying(len(table.groups.labels)), cast("PartsSource", table.source)
    return cast("Tally", source.counted(counting, table.ceilings, members))


def pooled_budget(table: RecourseTable) -> float | None:
    """The default budget: of all groups together."""
    tally = _tally_of(table)
    if tally is None:
        return default_budget(table.effort)
    return (tally if tally.is_sorted else _again(table)).default_budget()


def group_stats(table: RecourseTable, members: Bools | None = None) -> dict[str, EffortStats]:
    """Statistics of each group among the members (everybody by default)."""
    return {label: found.stats for label, found in group_samples(table, members).items()}


def merged(samples: Mapping[str, Sample], labels: Iterable[str]) -> Sample:
    """The people of several groups together; everything that is kept of them adds exactly."""
    return reduce(add, (samples[label] for label in labels))


def compared_pair(groups: Groups, versus: Versus, samples: Mapping[str, Sample], guarded: bool = False) -> Pair:
    """Both sides of a comparison."""
    label = groups.labels
    return Pair(samples[label[versus.group]], merged(samples, (label[k] for k in versus.others)), guarded)


def comparisons(
    groups: Groups, samples: Mapping[str, Sample], own: int | None = None, *, guarded: bool = False
) -> tuple[Comparison, ...]:
    """Each group against its reference, or whoever else it is compared with; for an individual only the `own` group.

    A person of the reference is compared with each other group, a comparison each.
    """
    return tuple(
        Comparison(
            groups.labels[one.group],
            one.against,
            one.role,
            compared_pair(groups, one, samples, guarded),
            columns=groups.columns,
            others=tuple(groups.labels[code] for code in one.others),
            unplaced=_unplaced(groups, one, samples),
        )
        for one in (groups.pairs if own is None else groups.around(own))
    )


def _unplaced(groups: Groups, versus: Versus, samples: Mapping[str, Sample]) -> tuple[Unplaced, ...]:
    """By which sides of a comparison they may be on."""
    people = {sides: [samples[groups.labels[k]] for k in codes] for sides, codes in groups.choices(versus).items()}
    kept = [(sides, [one for one in some if one.stats.n]) for sides, some in people.items()]
    return tuple(Unplaced.of(some, *sides) for sides, some in kept if some)


ENDS = ("low", "high", "least", "most")
SHORT = ["role", "n", "n_unfavourable", "n_unknown", "rho", "phi"]
"""What is shown of each group unless all is asked for: what fits a terminal of 80 columns."""


def group_frame(groups: Groups, samples: dict[str, Sample], level: float) -> pd.DataFrame:
    """One row a group, indexed by it: role, counts by status, Phi and rho; comparisons are among the measures.

    `*_low` and `*_high` are confidence limits, `*_least` and `*_most` what is certain given people not solved to the
    end.
    """
    rows = []
    for code, label in enumerate(groups.labels):
        mine = samples[label].stats
        row: dict[str, object] = {
            "role": groups.role(code),
            "n": mine.n,
            "n_unfavourable": mine.n_unfavourable,
            "favourable_rate": mine.count(Status.NOT_NEEDED) / mine.n if mine.n else NAN,
        }
        row |= {f"n_{status.text}": mine.count(status) for status in Status if status != Status.NOT_NEEDED}
        row |= _ends("phi", mine.phi, _phi_limits(samples[label], level), mine.phi_certified)
        rows.append(row | _ends("rho", mine.rho, _rho_limits(mine, level), mine.rho_certified))
    return pd.DataFrame(rows, index=pd.Index(groups.labels, name="group", dtype=object))


def _phi_limits(mine: Sample, level: float) -> Interval:
    """Confidence limits of the average effort, from the least to the most that people not solved to the end allow."""
    side = acting(mine)
    limits = mean_limits(side.sums, level)
    if isnan(limits[0]):
        return limits
    low = min(NAN_LOW if isnan(end) else end for end in (mean_limits(s, level)[0] for s in side.lower()))
    high = max(NAN_HIGH if isnan(end) else end for end in (mean_limits(s, level)[1] for s in side.upper()))
    return min(low, limits[0]), max(high, limits[1])


NAN_LOW, NAN_HIGH = 0.0, float("inf")
"""Where nothing bounds an average effort."""


def _rho_limits(mine: EffortStats, level: float) -> Interval:
    """Wilson's limits, likewise."""
    if not mine.n_unfavourable:
        return NAN, NAN
    z = float(ndtri((1 + level) / 2))
    low, _ = wilson(mine.n_acting, mine.n_unfavourable, z)
    _, high = wilson(mine.n_acting + mine.n_unknown, mine.n_unfavourable, z)
    return low, high


def _ends(name: str, value: float, limits: Interval, certain: Interval) -> dict[str, object]:
    found: dict[str, object] = {name: value}
    return found | dict(zip((f"{name}_{end}" for end in ENDS), (*limits, *certain), strict=True))


def unsettled_rows(table: RecourseTable, members: Bools | None = None) -> npt.NDArray[np.intp]:
    """Who has an action that may not be the cheapest, or nothing known at all; the widest gap first."""
    rows = table.source.having(table, *UNSETTLED)
    rows = rows if members is None else rows[members[rows]]
    # Whether there is an action at all weighs more than what it costs; rows stay in their order at a tie.
    return rows[np.lexsort((-_gap(table, rows), table.status[rows] != Status.UNKNOWN))]


def _gap(table: RecourseTable, rows: npt.NDArray[np.intp]) -> Floats:
    most = [table.ceilings.get(row, np.inf) for row in rows.tolist()]
    return np.where(table.status[rows] == Status.UNKNOWN, most, table.cost[rows]) - table.bound[rows]


def unsettled(table: RecourseTable) -> pd.DataFrame:
    """One row a person who is not solved to the end, the widest gap first.

    `gap` is how much cheaper an action may be than the one found or, where none was found, how far apart the least and
    the most are that one could cost.
    """
    rows = unsettled_rows(table)
    return pd.DataFrame(
        {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]],
            "status": [Status(code).text for code in table.status[rows].tolist()],
            "cost": table.cost[rows],
            "bound": table.bound[rows],
            "gap": _gap(table, rows),
            "reason": table.told(table.source.reasons(table, rows.tolist())),
        },
        index=table.index[rows],
    )
