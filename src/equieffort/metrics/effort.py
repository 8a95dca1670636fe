"""Average minimal effort, ACR, ratio of possible recourse and RD: pure functions of the table and its statistics.

ACR = Phi_group / Phi_reference and RD = rho_reference - rho_group, so ACR > 1 and RD > 0 mean that the group is worse
off. Both count only people who were decided unfavourably. What cannot be computed is NaN, never 0, 1 or infinite.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isnan

import pandas as pd

from equieffort.frames import Bools
from equieffort.groups import Groups
from equieffort.solvers import Status
from equieffort.stats import EffortStats
from equieffort.table import RecourseTable

NAN = float("nan")
Interval = tuple[float, float]


def average_cost_ratio(group: EffortStats, against: EffortStats) -> float:
    """ACR: the group's average minimal effort over the other's; NaN if either is undefined or the other's is 0."""
    return group.phi / against.phi if against.phi > 0 and group.n_acting else NAN


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


def cost_ratio_interval(group: EffortStats, against: EffortStats) -> Interval:
    """Where ACR certainly lies, given rows that are not solved to the end."""
    (low, high), (other_low, other_high) = group.phi_interval, against.phi_interval
    if isnan(low) or not other_high > 0:
        # Whatever the unknown rows turn out to be, there is no ratio.
        return NAN, NAN
    return low / other_high, high / other_low if other_low > 0 else float("inf")


@dataclass(frozen=True)
class Comparison:
    """A group against another: the numbers a verdict is made of."""

    group: str
    against: str
    role: str
    """What the group is: protected, reference or other."""
    mine: EffortStats
    theirs: EffortStats

    @property
    def acr(self) -> float:
        """Average cost ratio."""
        return average_cost_ratio(self.mine, self.theirs)

    @property
    def rd(self) -> float:
        """Recourse discrepancy."""
        return recourse_discrepancy(self.mine, self.theirs)

    @property
    def acr_interval(self) -> Interval:
        """Where ACR certainly lies."""
        return cost_ratio_interval(self.mine, self.theirs)

    @property
    def rd_interval(self) -> Interval:
        """Where RD certainly lies."""
        ends = [exact_discrepancy(self.mine, self.theirs, extreme=sign) for sign in (-1, 1)]
        return (NAN, NAN) if ends[0] is None or ends[1] is None else (float(ends[0]), float(ends[1]))

    @property
    def difference(self) -> float:
        """Phi of the group minus Phi of the other: defined also where the ratio is not."""
        return self.mine.phi - self.theirs.phi


def group_stats(table: RecourseTable, members: Bools | None = None) -> dict[str, EffortStats]:
    """Statistics of each group among the members (everybody by default)."""
    found, effort, ceiling = {}, table.effort, table.ceiling
    for code, label in enumerate(table.groups.labels):
        rows = table.groups.codes == code
        if members is not None:
            rows = rows & members
        found[label] = EffortStats.of(table.status[rows], effort[rows], table.bound[rows], ceiling[rows])
    return found


def comparisons(groups: Groups, stats: dict[str, EffortStats], own: int | None = None) -> tuple[Comparison, ...]:
    """Each group against the reference; for an individual (`own` group) that group against its counterpart.

    A person of the reference is compared with each other group, a comparison each.
    """
    label, reference = groups.labels, groups.reference
    if own is None:
        pairs = [(code, reference) for code in groups.compared]
    elif own == reference:
        pairs = [(reference, code) for code in groups.compared]
    else:
        pairs = [(own, reference)]
    return tuple(Comparison(label[a], label[b], groups.role(a), stats[label[a]], stats[label[b]]) for a, b in pairs)


def by_group(groups: Groups, stats: dict[str, EffortStats], compared: tuple[Comparison, ...]) -> pd.DataFrame:
    """One tidy row a group: counts, Phi and rho with their certain ranges, and ACR and RD where it is compared."""
    rows = []
    for code, label in enumerate(groups.labels):
        mine = stats[label]
        row: dict[str, object] = {
            "group": label,
            "role": groups.role(code),
            "n": mine.n,
            "n_unfavourable": mine.n_unfavourable,
            "favourable_rate": mine.count(Status.NOT_NEEDED) / mine.n if mine.n else NAN,
        }
        row |= {f"n_{status.text}": mine.count(status) for status in Status if status != Status.NOT_NEEDED}
        row |= {"phi": mine.phi, "phi_low": mine.phi_interval[0], "phi_high": mine.phi_interval[1]}
        row |= {"rho": mine.rho, "rho_low": mine.rho_interval[0], "rho_high": mine.rho_interval[1]}
        mine_compared = [c for c in compared if c.group == label]
        rows += [row | _compared(comparison) for comparison in mine_compared] or [row | _compared(None)]
    return pd.DataFrame(rows)


def _compared(comparison: Comparison | None) -> dict[str, object]:
    if comparison is None:
        names = ("acr", "acr_low", "acr_high", "rd", "rd_low", "rd_high", "difference")
        return {"against": None} | dict.fromkeys(names, NAN)
    return {
        "against": comparison.against,
        "acr": comparison.acr,
        "acr_low": comparison.acr_interval[0],
        "acr_high": comparison.acr_interval[1],
        "rd": comparison.rd,
        "rd_low": comparison.rd_interval[0],
        "rd_high": comparison.rd_interval[1],
        "difference": comparison.difference,
    }
