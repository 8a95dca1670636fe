"""Effort and reward: what does the same effort bring a group's people, by their rank among their own?

Heidari, Nanda and Gummadi (2019) measure effort by how many people of one's own group a change overtakes
(`Percentile(within="group")`), and compare groups by two readings. With C_i the least such effort for an approval,

    bounded-effort reward    E[ 1{C_i <= delta} | a ]     the gain in benefit that an effort of at most delta can bring
    threshold reward         E[ C_i | a ]                 the least effort for a gain that counts

Here the benefit is the decision: the gain is 1 for whoever is turned and 0 for all others. The first is read over the
refused, and over everybody as in the paper, where whoever is approved gains nothing. The second is undefined without a
route to approval: it is read once over the refused who have one, and once over all refused with min(C_i, B). On
request the benefit is the model's probability or score, where that is linear: `gains` says how the largest gain is
certified.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from equieffort.effort.budget import default_budget
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_choice, check_instance, check_number, check_whole, items_in
from equieffort.foundations.progress import Progress
from equieffort.notions.base import Audited, Family, NotApplicable, NotionReading, require_model
from equieffort.notions.comparing import Found
from equieffort.notions.rewards.chance import Moves, RankChance
from equieffort.notions.rewards.gains import Benefit, Gained, ScoreGains
from equieffort.notions.rewards.notions import (
    BENEFITS,
    BOUNDED,
    BOUNDED_GAP,
    DELTAS,
    GAIN,
    GAIN_GAP,
    GAINED,
    MOST_PEOPLE,
    ON_REQUEST,
    SAVED,
    THRESHOLD,
    THRESHOLD_GAP,
)
from equieffort.notions.rewards.ranks import Rows, drawn, rank_problem, ranked, turned
from equieffort.notions.rewards.readings import decision_readings, gain_readings
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable
from equieffort.world.cost import Cost
from equieffort.world.group_cost import GroupCost


@dataclass(frozen=True, eq=False, repr=False)
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
    notions = (BOUNDED, BOUNDED_GAP, THRESHOLD, THRESHOLD_GAP, GAIN, GAIN_GAP)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """With efforts of 0.1, 0.25 and 0.5, of at most `MOST_PEOPLE` people, approvals alone."""
        if audited.problem is None:
            return [NotApplicable(notion.name, SAVED) for notion in self.notions]
        again = rank_problem(audited, audited.problem, None)
        if isinstance(again, str):
            return [NotApplicable(notion.name, again) for notion in self.notions]
        rows, note = drawn(audited, MOST_PEOPLE)
        table = ranked(audited, again, rows)
        by_rank = _ranked(audited, again, rows, table)
        found = decision_readings(audited, table, rows, note, DELTAS, default_budget(table.effort), by_rank)
        return [*found, *(NotApplicable(notion.name, ON_REQUEST) for notion in (GAIN, GAIN_GAP))]

    def read(
        self,
        audited: Audited,
        deltas: Sequence[float] = DELTAS,
        benefit: str = "decision",
        gain: float | None = None,
        budget: float | None = None,
        cost: Cost | None = None,
        most_people: int | None = None,
        progress: Progress | None = None,
    ) -> Rewards:
        """Readings, and a row a refused person (of gains: a row a person)."""
        efforts = _checked(deltas, benefit, gain, budget, cost, most_people)
        problem = require_model(audited, "effort_rewards()")
        again = rank_problem(audited, problem, cost)
        if isinstance(again, str):
            return self._without(again)
        rows, note = drawn(audited, most_people)
        if benefit != "decision":
            return self._gains(audited, again, rows, note, efforts, benefit, GAINED if gain is None else gain, budget)
        table = ranked(audited, again, rows, progress)
        chosen = default_budget(table.effort) if budget is None else float(budget)
        by_rank = _ranked(audited, again, rows, table)
        readings = dict.fromkeys(
            one
            for view in audited.views
            for one in decision_readings(view, table, rows, note, efforts, chosen, by_rank)
        )
        refused = np.flatnonzero(table.is_unfavourable)
        columns: dict[str, Any] = {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[refused]],
            "effort": np.where(table.status == Status.INFEASIBLE, np.inf, table.effort)[refused],
        }
        for delta in efforts:
            yes, open_ = turned(table, delta)
            told = yes.astype(object)
            told[open_] = None
            columns[f"turned_within_{delta:g}"] = told[refused]
        people = pd.DataFrame(columns, index=table.index[refused]).infer_objects()
        return Rewards(self.title, tuple(readings), people, table.groups.columns, table, audited.level)

    def _without(self, why: str) -> Rewards:
        return Rewards(self.title, tuple(NotApplicable(notion.name, why) for notion in self.notions))

    def _gains(
        self, audited: Audited, again: RecourseProblem, rows: Rows, note: str, deltas: tuple[float, ...], benefit: str,
        gain: float, budget: float | None,
    ) -> Rewards:  # fmt: skip
        table = audited.table
        groups = replace(table.groups, codes=table.groups.codes[rows])
        solver = None if audited.choice is None else audited.choice
        kind: Benefit = "probability" if benefit == "probability" else "score"
        gains = ScoreGains.of(again, table.data.iloc[rows], groups, solver, kind)
        if isinstance(gains, str):
            return self._without(gains)
        refused = table.is_unfavourable[rows]
        gained = Gained.of(gains, kind, deltas, gain, _chance(audited, again, rows))
        readings = dict.fromkeys(
            one for view in audited.views for one in gain_readings(view, gained, rows, refused, note, budget)
        )
        columns: dict[str, Any] = {
            "group": np.array(groups.labels, dtype=object)[groups.codes],
            "decision": np.where(refused, "refused", "approved").astype(object),
        }
        columns |= {f"gain_within_{delta:g}": reached for delta, (reached, _) in gained.largest.items()}
        columns[f"effort_for_{gain:g}"] = gained.efforts.effort
        people = pd.DataFrame(columns, index=table.index[rows])
        return Rewards(self.title, tuple(readings), people, groups.columns, level=audited.level)


def _ranked(
    audited: Audited, again: RecourseProblem, rows: Rows, table: RecourseTable
) -> tuple[RankChance, Moves] | None:  # fmt: skip
    """Chance in the ranks, and the moves of a table that was solved by them."""
    chance = _chance(audited, again, rows)
    return None if chance is None else (chance, Moves.of(again, table))


def _chance(audited: Audited, again: RecourseProblem, rows: Rows) -> RankChance | None:
    """That in the ranks, where people are ranked among the audited people; of given ranks there is none."""
    if audited.reference is not None or not isinstance(again.cost, GroupCost):
        return None
    whole = audited.table.groups if audited.whole is None else audited.whole[0]
    among = again.encoding.encode(audited.table.data)[:, list(again.numeric)]
    return RankChance(among, whole.codes, rows)


def _checked(
    deltas: Any, benefit: Any, gain: Any, budget: Any, cost: Any, most_people: Any
) -> tuple[float, ...]:  # fmt: skip
    check_choice("benefit", benefit, BENEFITS)
    check_number("gain", gain, "a number above 0", lambda size: size > 0, optional=True)
    if gain is not None and benefit == "decision":
        raise ParameterError(
            "PARAMETER", "gain has no effect where the benefit is the decision.", fix='Give benefit="probability".'
        )
    check_number("budget", budget, "a number above 0", lambda size: size > 0, optional=True)
    check_instance("cost", cost, Cost, 'a cost, such as Percentile(within="group")', optional=True)
    check_whole("most_people", most_people, 1, optional=True)
    given = items_in("deltas", deltas, "a list of efforts") if not isinstance(deltas, int | float) else [deltas]
    if not given:
        raise ParameterError("PARAMETER", "deltas is empty.", fix="Give at least one effort, such as 0.25.")
    for delta in given:
        check_number("deltas", delta, "a number, 0 or more", lambda size: size >= 0)
    return tuple(dict.fromkeys(float(delta) for delta in given))
