"""Situation testing: are the people most like a person approved more often in another group than in their own?

For person i of group a the k nearest people of a and the k nearest of b are looked up by the causal distance

    d(x, x') = sum over direct causes q of |E[h | do(q = x_q)] - E[h | do(q = x'_q)]| times |x_q - x'_q| / range_q,

with overlap in place of the last factor for categories. Person i is discriminated if the share approved among the k of
b exceeds that among the k of a by more than tau. Direct causes are the features that the model reads, without the
protected ones; E[h | do(q = v)] is the share approved if q were set to v for everybody and all else stayed. The person
is in neither k, and people who are equally far share the last places, so that no order of the rows decides.

Reference: L. Zhang, Y. Wu, X. Wu (2016), Situation Testing-Based Discrimination Discovery: A Causal Inference Approach,
IJCAI. There the other direct causes are set to the person's own values; here the effect is averaged over people, which
makes it a distance that does not depend on whom one starts from.

A rule that asks women for one more is found out where it decides, and nowhere else:

>>> import equieffort as ee
>>> people = pd.DataFrame({"woman": [1.0] * 8 + [0.0] * 8, "income": [float(k) for k in range(8)] * 2})
>>> schema = ee.Schema(sensitive="woman", protected=1, favourable=True, features={"income": "actionable"})
>>> rule = ee.LinearScore({"income": 1, "woman": -1}, threshold=3)
>>> audit = ee.audit(rule, people, schema=schema, scm=ee.StructuralCausalModel([], nodes=["income"]).fit(people))
>>> found = audit.situation_testing(k=1, tau=0.4)
>>> found.people[found.people["discriminated"]][["decision", "rate_own", "rate_other"]]
  decision  rate_own  rate_other
3  refused       0.5         1.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_number, check_whole
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, few_noted, require_model
from equieffort.notions.comparing import Found, share_gap, share_reading
from equieffort.notions.effects import direct_causes, effects_of
from equieffort.notions.situations import Neighbours, Situation, decisions_of
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.distances import CausalDistance, Distance, check_distance
from equieffort.world.groups import Groups

REFERENCE = "Zhang, Wu and Wu 2016"
UNASSIGNED = "each assignment changes the neighbours of everybody"
K, TAU = 15, 0.2
MOST_PEOPLE = 3_000
"""Who are looked at when every notion is read together; of more people so many are drawn. Neighbours are of all."""
SHARE = Notion(
    "situation_discriminated",
    "Discriminated by situation testing",
    "share of people for whom approved(k nearest of the other group) - approved(k nearest of the own) > tau",
    REFERENCE,
    "For whom people just like them fare better in the other group; effort is not asked about.",
    neutral=float("nan"),
    form="share",
    unassigned=UNASSIGNED,
)
GAP = Notion(
    "situation_discriminated_gap",
    "Difference of those discriminated",
    "share discriminated in the group - in the reference",
    REFERENCE,
    "Whether people of one group more often see those like them fare better in the other.",
    form="points",
    unassigned=UNASSIGNED,
)
SAVED = "It asks the model what each feature does to the decision, and the model is not in a saved audit."


@dataclass(frozen=True, eq=False, repr=False)
class SituationTesting(Found):
    """Readings, people, and the distance they rest on."""

    distance: Distance | None = None
    """A `CausalDistance` unless another was given; None where it could not be made."""
    k: int = K
    tau: float = TAU
    _near: Neighbours | None = field(default=None, repr=False)

    @property
    def effects(self) -> pd.DataFrame:
        """What each direct cause does to the decision: the share approved were it set so for everybody."""
        effects = self.distance.effects if isinstance(self.distance, CausalDistance) else ()
        rows = [(one.feature, v, share) for one in effects for v, share in zip(one.values, one.shares, strict=True)]
        return pd.DataFrame(rows, columns=["feature", "value", "approved"])

    def individual(self, label: Any, against: str | None = None) -> Situation:
        """One person by index label, against the group they are compared with, or another one."""
        if self._near is None:
            raise ParameterError("PARAMETER", "Nothing could be read here.", fix="str(found) says why.")
        return self._near.situation(label, against)


@dataclass(frozen=True)
class SituationTestingFamily(Family):
    """Shares of each group's refused people, and of all, who are discriminated; and their difference."""

    name = "situation_testing"
    title = "Situation testing"
    notions = (SHARE, GAP)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """With k = 15, tau = 0.2 and the causal distance."""
        if audited.problem is None:
            return [NotApplicable(notion.name, SAVED) for notion in self.notions]
        return self._read(audited, audited.problem, K, TAU, None, MOST_PEOPLE).readings

    def read(
        self,
        audited: Audited,
        k: int = K,
        tau: float = TAU,
        distance: Distance | None = None,
        most_people: int | None = None,
    ) -> SituationTesting:
        """Readings, and a row a person looked at and group that they are compared with."""
        check_whole("k", k, 1)
        check_number("tau", tau, "a number from 0, below 1", lambda size: 0 <= size < 1)
        check_whole("most_people", most_people, 1, optional=True)
        if distance is not None:
            check_distance(distance)
        return self._read(audited, require_model(audited, "situation_testing()"), k, float(tau), distance, most_people)

    def _read(
        self, audited: Audited, problem: RecourseProblem, k: int, tau: float, distance: Distance | None,
        most_people: int | None,
    ) -> SituationTesting:  # fmt: skip
        table = audited.table
        why = _why_not(problem, table.data) if distance is None else ""
        if why:
            return SituationTesting(self.title, tuple(NotApplicable(one.name, why) for one in self.notions))
        chosen = CausalDistance(effects_of(problem, table.data, audited.random_state)) if distance is None else distance
        rows, note = np.arange(len(table)), ""
        if most_people is not None and len(rows) > most_people:
            rows = np.sort(np.random.default_rng(audited.random_state).choice(rows, most_people, replace=False))
            note = "SAMPLED"
        near = Neighbours(
            chosen.bind(table.data, problem.encoding, problem.schema), ~table.is_unfavourable, k, tau, audited
        )
        readings: dict[NotionReading, None] = {}
        people = []
        for view in audited.views:
            groups = view.table.groups
            rates = near.rates(rows, [groups.codes == code for code in range(len(groups.labels))])
            for a, b in view.pairs:
                sides = [_tested(near, groups, rows, rates, mine, other) for mine, other in ((a, b), (b, a))]
                people += sides
                names = (groups.labels[a], groups.labels[b])
                only = len(view.pairs) == 1
                readings |= dict.fromkeys(_compared(view, names, sides, note, k, tau, only=only))
        told = pd.concat(people) if people else pd.DataFrame()
        return SituationTesting(self.title, tuple(readings), told, table.groups.columns, chosen, k, tau, near)


def _why_not(problem: RecourseProblem, data: pd.DataFrame) -> str:
    causes = direct_causes(problem)
    if not causes:
        return "The model reads nothing but protected columns, so that nobody is more alike than others."
    lacking = [name for name in causes if data[name].isna().any()]
    return f"The distance uses {lacking[0]!r}, which has missing values." if lacking else ""


def _tested(
    near: Neighbours, groups: Groups, rows: npt.NDArray[np.intp], rates: Floats, mine: int, other: int
) -> pd.DataFrame:
    """The people of a group against those of another: a row each."""
    members = groups.codes[rows] == mine
    whom, own, others = rows[members], rates[members, mine], rates[members, other]
    difference = others - own
    found = (difference > near.tau).astype(object)
    found[np.isnan(difference)] = None
    return pd.DataFrame(
        {
            "group": groups.labels[mine], "against": groups.labels[other],
            "decision": decisions_of(near.approved[whom]), "rate_own": own, "rate_other": others,
            "difference": difference, "discriminated": found,
        },
        index=near.audited.table.index[whom],
    ).infer_objects()  # fmt: skip


def _compared(
    audited: Audited, names: tuple[str, str], sides: list[pd.DataFrame], note: str, k: int, tau: float, *, only: bool
) -> list[NotionReading]:
    """Of two groups, each against the other, which a share names where there are several comparisons."""
    found = []
    for among in ("refused", "everybody"):
        asked = (f"k = {k}", f"tau = {tau:g}")
        chosen = [side if among == "everybody" else side[side["decision"] == "refused"] for side in sides]
        known = [side.dropna(subset=["difference"]) for side in chosen]
        without = [len(side) - len(kept) for side, kept in zip(chosen, known, strict=True)]
        yes = [side["discriminated"].to_numpy(dtype=bool) for side in known]
        empty = "NO_REFUSED" if among == "refused" else "NO_PEOPLE"
        for mine, other in ((0, 1), (1, 0)):
            parts = (among, *asked) if only else (among, f"against {names[other]}", *asked)
            blank = NotionReading(SHARE.name, names[mine], parts=parts, n_undefined=without[mine])
            one = share_reading(blank, yes[mine], audited.level)
            found.append(_noted(one, note, "TOO_FEW" if without[mine] else empty))
        blank = NotionReading(GAP.name, *names, (among, *asked), n_undefined=sum(without))
        one = share_gap(blank, yes[0], yes[1], audited.level)
        found.append(few_noted(_noted(one, note, "TOO_FEW" if sum(without) else empty), audited.min_people))
    return found


def _noted(one: NotionReading, note: str, why: str) -> NotionReading:
    return replace(one, note=f"{note} {why if isnan(one.estimate) else ''}".strip())
