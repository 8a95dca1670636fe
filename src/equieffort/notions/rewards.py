"""Effort and reward: what does the same effort bring a group's people, by their rank among their own?

Heidari, Nanda and Gummadi (2019) measure effort by how many people of one's own group a change overtakes
(`Percentile(within="group")`), and compare groups by two readings. With C_i the least such effort for an approval,

    bounded-effort reward    E[ 1{C_i <= delta} | a ]     the gain in benefit that an effort of at most delta can bring
    threshold reward         E[ C_i | a ]                 the least effort for a gain that counts

Here the benefit is the decision: the gain is 1 for whoever is turned and 0 for all others. The first is read over the
refused, and over everybody as in the paper, where whoever is approved gains nothing. The second is undefined without a
route to approval: it is read once over the refused who have one, and once over all refused with min(C_i, B). The gain
in the model's probability is in `score_gains`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools
from equieffort.effort.budget import default_budget
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.acr import acting
from equieffort.effort.measures.restricted_effort import RestrictedEffort
from equieffort.effort.measures.sample import sample
from equieffort.errors import CostError, EquieffortWarning, ParameterError
from equieffort.foundations.arguments import check_instance, check_number, check_whole, items_in
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading, require_model
from equieffort.notions.comparing import Found, mean_gap, mean_reading, share_gap, share_reading
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Status
from equieffort.recourse.solving import Progress, solve
from equieffort.recourse.table import RecourseTable
from equieffort.world.cost import Cost, Percentile
from equieffort.world.group_cost import GroupCost

REFERENCE = "Heidari, Nanda and Gummadi 2019"
DELTAS = (0.1, 0.25, 0.5)
"""Efforts that are looked at unless others are named: a tenth, a quarter and half of one's own group overtaken."""
MOST_PEOPLE = 5_000
"""Who are solved again when every notion is read together; of more people so many are drawn."""
ROUNDING = 1e-9
"""Of an effort: a step over the boundary is not what keeps anybody from it."""
BOUNDED = Notion(
    "bounded_reward",
    "Bounded-effort reward",
    "mean(1{C <= delta} | group), C by ranks within the own group",
    REFERENCE,
    "What the same effort, relative to one's own group, brings people of a group.",
    neutral=float("nan"),
    form="share",
)
BOUNDED_GAP = Notion(
    "bounded_reward_gap",
    "Difference of bounded-effort rewards",
    "mean(1{C <= delta} | group) - mean(1{C <= delta} | reference), C by ranks within the own group",
    REFERENCE,
    "Whether the same effort, relative to one's own group, is rewarded less in one group.",
    orientation=-1,
    form="points",
)
THRESHOLD = Notion(
    "threshold_reward",
    "Threshold reward",
    "mean(C | refused, group), C by ranks within the own group",
    REFERENCE,
    "How many of their own people the refused of a group must overtake for an approval.",
    neutral=float("nan"),
)
THRESHOLD_GAP = Notion(
    "threshold_reward_gap",
    "Difference of threshold rewards",
    "mean(C | refused, group) - mean(C | refused, reference), C by ranks within the own group",
    REFERENCE,
    "Whether people of one group must overtake more of their own for the same approval.",
)
SAVED = "It solves everybody again by ranks within groups, and the model is not in a saved audit."


@dataclass(frozen=True, eq=False)
class Rewards(Found):
    """Readings, people, and the recourse table by ranks that they were read from."""

    recourse: RecourseTable | None = field(default=None, repr=False)
    """None where nothing could be solved."""
    level: float = 0.95


@dataclass(frozen=True)
class EffortRewards(Family):
    """Rewards of a bounded effort, and efforts for a reward, by rank within the own group.

    Of four women who earn 0, 1, 2 and 3 those below 2 are refused; she who earns 1 overtakes one of four to get there.

    >>> import equieffort as ee
    >>> people = pd.DataFrame({"sex": list("ffffmmmm"), "income": [0.0, 1, 2, 3, 0, 4, 8, 12]})
    >>> schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"income": "actionable"})
    >>> audit = ee.audit(ee.LinearScore({"income": 1}, threshold=2), people, schema=schema,
    ...                  scm=ee.StructuralCausalModel([]).fit(people))
    >>> audit.effort_rewards([0.25]).people.round(3)
      group  effort  turned_within_0.25
    0     f   0.500               False
    1     f   0.250                True
    4     m   0.125                True
    """

    name = "effort_rewards"
    title = "Bounded-effort and threshold rewards"
    notions = (BOUNDED, BOUNDED_GAP, THRESHOLD, THRESHOLD_GAP)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """With efforts of 0.1, 0.25 and 0.5, of at most `MOST_PEOPLE` people."""
        if audited.problem is None:
            return [NotApplicable(notion.name, SAVED) for notion in self.notions]
        found = ranked(audited, audited.problem, None, MOST_PEOPLE)
        if isinstance(found, str):
            return [NotApplicable(notion.name, found) for notion in self.notions]
        return compared(audited, found, DELTAS, default_budget(found.table.effort))

    def read(
        self,
        audited: Audited,
        deltas: Sequence[float] = DELTAS,
        budget: float | None = None,
        cost: Cost | None = None,
        most_people: int | None = None,
        progress: Progress | None = None,
    ) -> Rewards:
        """Readings, and the effort of each refused person by rank."""
        efforts = _checked(deltas)
        check_number("budget", budget, "a number above 0", lambda size: size > 0, optional=True)
        check_instance("cost", cost, Cost, 'a cost, such as Percentile(within="group")', optional=True)
        check_whole("most_people", most_people, 1, optional=True)
        problem = require_model(audited, "effort_rewards()")
        solved = ranked(audited, problem, cost, most_people, progress)
        if isinstance(solved, str):
            return Rewards(self.title, tuple(NotApplicable(notion.name, solved) for notion in self.notions))
        table = solved.table
        chosen = default_budget(table.effort) if budget is None else float(budget)
        readings = dict.fromkeys(one for view in audited.views for one in compared(view, solved, efforts, chosen))
        refused = np.flatnonzero(table.is_unfavourable)
        columns: dict[str, Any] = {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[refused]],
            "effort": np.where(table.status == Status.INFEASIBLE, np.inf, table.effort)[refused],
        }
        for delta in efforts:
            yes, open_ = turned(table, delta)
            columns[f"turned_within_{delta:g}"] = np.where(open_, None, yes.astype(object))[refused]
        people = pd.DataFrame(columns, index=table.index[refused]).infer_objects()
        return Rewards(self.title, tuple(readings), people, table, audited.level)


def _checked(deltas: Any) -> tuple[float, ...]:
    given = items_in("deltas", deltas, "a list of efforts") if not isinstance(deltas, int | float) else [deltas]
    if not given:
        raise ParameterError("PARAMETER", "deltas is empty.", fix="Give at least one effort, such as 0.25.")
    for delta in given:
        check_number("deltas", delta, "a number, 0 or more", lambda size: size >= 0)
    return tuple(dict.fromkeys(float(delta) for delta in given))


@dataclass(frozen=True, eq=False)
class Ranked:
    """People of the audit, solved by ranks."""

    rows: npt.NDArray[np.intp]
    """Of the audit's table."""
    table: RecourseTable
    note: str = ""


def ranked(
    audited: Audited,
    problem: RecourseProblem,
    cost: Cost | None,
    most_people: int | None,
    progress: Progress | None = None,
) -> Ranked | str:
    """The people solved with effort as ranks within groups (or another cost), or why they cannot be."""
    table = audited.table
    if cost is None and isinstance(problem.cost, GroupCost):
        return Ranked(np.arange(len(table)), table)
    rows, note = np.arange(len(table)), ""
    if most_people is not None and len(rows) > most_people:
        rows = np.sort(np.random.default_rng(audited.random_state).choice(rows, most_people, replace=False))
        note = "SAMPLED"
    try:
        again = problem.with_cost(Percentile(within="group") if cost is None else cost, table.data, audited.reference)
    except CostError as error:
        return error.what
    people = People(again, table.data.iloc[rows], replace(table.groups, codes=table.groups.codes[rows]))
    with warnings.catch_warnings():
        # The audit has said of these people what there is to say.
        warnings.simplefilter("ignore", EquieffortWarning)
        solver = None if audited.choice is None else audited.choice.solver
        return Ranked(rows, solve(again, people, solver=solver, progress=progress), note)


def turned(table: RecourseTable, delta: float) -> tuple[Bools, Bools]:
    """Whom an effort of at most delta turns, and of whom that is not known."""
    most = delta * (1 + ROUNDING)
    yes = table.has_action & (table.effort <= most)
    return yes, table.is_unsettled & ~yes & (table.bound <= most)


def compared(audited: Audited, found: Ranked, deltas: Sequence[float], budget: float | None) -> list[NotionReading]:
    """Every group and comparison of a view."""
    codes, labels = audited.table.groups.codes[found.rows], audited.table.groups.labels
    table, refused = found.table, found.table.is_unfavourable
    readings = []
    for delta in deltas:
        yes, open_ = turned(table, delta)
        for among, name in ((refused, "refused"), (np.ones(len(table), dtype=bool), "everybody")):
            variant = f"decision, {name}, effort at most {delta:g}"
            blank = NotionReading(BOUNDED.name, variant=variant, note=found.note)
            sides = [among & (codes == code) for code in range(len(labels))]
            readings += [
                share_reading(replace(blank, group=label), yes[rows], audited.level, open_[rows])
                for label, rows in zip(labels, sides, strict=True)
            ]
            for a, b in audited.pairs:
                pair = replace(blank, notion=BOUNDED_GAP.name, group=labels[a], against=labels[b])
                both = (open_[sides[a]], open_[sides[b]])
                readings.append(share_gap(pair, yes[sides[a]], yes[sides[b]], audited.level, both))
    members = [codes == code for code in range(len(labels))]
    without = [int((refused & ~table.has_action)[mine].sum()) for mine in members]
    capped = [_restricted(table, mine, budget) for mine in members]
    limit = "budget" if budget is None else f"{budget:g}"
    known = [acting(sample(table, mine)) for mine in members]
    readings += _means(audited, "decision, with a route", known, without, found.note)
    readings += _means(audited, f"decision, at most {limit}", capped, [0] * len(labels), found.note)
    return [_told(one, budget) for one in readings]


def _restricted(table: RecourseTable, rows: Bools, budget: float | None) -> Side:
    return RestrictedEffort().side(sample(table, rows, budget))


def _means(audited: Audited, variant: str, sides: list[Side], without: list[int], note: str) -> list[NotionReading]:
    labels = audited.table.groups.labels
    blank = NotionReading(THRESHOLD.name, variant=variant, note=note)
    found = [
        mean_reading(replace(blank, group=label, n_undefined=without[code]), sides[code], audited.level)
        for code, label in enumerate(labels)
    ]
    for a, b in audited.pairs:
        pair = replace(blank, notion=THRESHOLD_GAP.name, group=labels[a], against=labels[b])
        found.append(mean_gap(replace(pair, n_undefined=without[a] + without[b]), sides[a], sides[b], audited.level))
    return found


def _told(one: NotionReading, budget: float | None) -> NotionReading:
    """Why there is no value, in the words of the audit."""
    if not isnan(one.estimate):
        return one
    why = "NO_REFUSED" if "NO_PEOPLE" in one.note else "NO_RECOURSE"
    if one.variant.startswith("decision, at most") and budget is None:
        why = "NO_BUDGET"
    return replace(one, note=why)
