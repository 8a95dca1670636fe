"""FactsTable: the subgroups that FACTS prints, worst first, with each side's best action."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf, isnan, nan
from typing import Any, Literal, overload

import pandas as pd

from equieffort.data.frames import percent
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.actions import Action
from equieffort.notions.base import Notion
from equieffort.notions.facts.macro import Asked
from equieffort.notions.facts.notions import CHOICE, COST_OF_EFFECTIVENESS, WITHIN_BUDGET
from equieffort.world.groups import Groups
from equieffort.world.labels import Labels, labels_of, told_rule

Viewpoint = Literal["macro", "micro"]
SHOWN = 5
EVERYBODY = "everybody"


@dataclass(frozen=True)
class Side:
    """One group's people in a subgroup."""

    group: str
    n: int
    """Refused people who are counted."""
    value: float
    """What the notion is of this side."""
    action: Action | None
    """The action that it rests on; None where each takes their own, or none turns anybody."""
    effectiveness: float
    """The share whom that action turns, or (micro) who have one of their own."""
    cost: float
    """The mean effort of those who are turned."""
    coverage: float = nan
    """The subgroup's share of all refused people of the group who are counted."""
    choices: tuple[Action, ...] = ()
    """For equal choice: the actions that turn at least a share phi, the most effective first."""


@dataclass(frozen=True)
class Subgroup:
    """A subgroup, both of its sides, and how unequal they are."""

    rule: str
    """As `Audit.subgroup` takes it, or "everybody"."""
    group: Side
    against: Side
    score: float
    """Above 0 the group is worse off, below 0 the other; infinite where one side never reaches the share asked."""
    n_undefined: int = 0
    """Refused people with a missing value, who are in no denominator."""
    n_open: int = 0
    """Refused people not solved to the end, who count as found (micro)."""

    @property
    def worse(self) -> str:
        """Who is worse off; empty where nobody is, or nothing can be said."""
        return "" if isnan(self.score) or self.score == 0 else (self.group if self.score > 0 else self.against).group


@dataclass(frozen=True, eq=False, repr=False)
class FactsTable(Shown):
    """Subgroups by how unequal recourse is in them, worst first. No error rate is kept: they are the worst of many."""

    notion: Notion
    viewpoint: Viewpoint
    asked: Asked
    subgroups: tuple[Subgroup, ...]
    n_actions: int
    n_left_out: int
    min_people: int
    groups: Groups

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """One row a subgroup and side: who, how many, the notion of the side, its best action, the score of both.

        `coverage` is the share of the group's refused who are in the subgroup; `choices` (equal choice) are all actions
        that reach phi.
        """
        rows = []
        for one in self.subgroups:
            for side, other in ((one.group, one.against), (one.against, one.group)):
                rows.append(
                    {
                        "subgroup": one.rule, "group": side.group, "against": other.group, "n": side.n,
                        "coverage": side.coverage, "value": side.value,
                        "action": "" if side.action is None else str(side.action),
                        "choices": "; ".join(map(str, side.choices)), "effectiveness": side.effectiveness,
                        "cost": side.cost, "score": one.score, "worse": one.worse, "n_undefined": one.n_undefined,
                        "n_open": one.n_open,
                    }
                )  # fmt: skip
        return as_output(pd.DataFrame(rows, columns=COLUMNS), output)

    def __str__(self) -> str:
        lines = [self._head, *self._lines()]
        return "\n".join([*lines, "", CAUTION] if any(one.worse for one in self.subgroups) else lines)

    @property
    def _head(self) -> str:
        how = (
            f"one action for everybody of a side, of {self.n_actions:,} tried"
            if self.viewpoint == "macro"
            else "each person's own best action"
        )
        return f"{self.notion.title} ({self.viewpoint}: {how}{self._settings}), {self._order}"

    def _lines(self) -> list[str]:
        lines = [f"{self.n_left_out:,} rarer actions were not tried."] if self.n_left_out else []
        unequal = [one for one in self.subgroups if one.worse]
        for k, one in enumerate(unequal[:SHOWN], 1):
            lines += [
                "",
                f"{k}. {one.rule if one.rule == EVERYBODY else told_rule(one.rule, self._names)}: {self._score(one)}",
            ]
            lines += [line for side in (one.group, one.against) for line in self._side(side)]
            if one.n_open:
                lines.append(f"   {one.n_open:,} of them are not solved to the end and count as found.")
        if len(self.subgroups) > SHOWN and unequal:
            lines += ["", f"{len(self.subgroups) - min(SHOWN, len(unequal))} more in frame()."]
        return lines

    def _told(self) -> Told:
        lines = [line for line in self._lines() if line]
        return Told(
            self._head, lines, {"The worst subgroups": self.frame()}, [CAUTION], "print(...), .frame(), .subgroups"
        )

    @property
    def _order(self) -> str:
        if any(one.worse for one in self.subgroups):
            return "worst subgroups first."
        unknown = sum(isnan(one.score) for one in self.subgroups)
        some = f"; in {unknown:,} of them it is not defined" if unknown else ""
        return f"and no difference in any of {len(self.subgroups):,} subgroups (frame() has them){some}."

    @property
    def _settings(self) -> str:
        if self.notion in (CHOICE, COST_OF_EFFECTIVENESS):
            return f"; phi = {self.asked.phi:g}"
        return f"; c = {self.asked.budget:g}" if self.notion == WITHIN_BUDGET and self.asked.budget is not None else ""

    @property
    def _names(self) -> Labels:
        return labels_of(self.groups.columns)

    def _score(self, one: Subgroup) -> str:
        size = "without limit" if isinf(one.score) else self.notion.show(abs(one.score))
        return f"{size}, worse for {self.groups.name(one.worse)}"

    def _side(self, side: Side) -> list[str]:
        who = f"   {self.groups.name(side.group)} ({side.n:,} refused, {percent(side.coverage, 0)} of all)"
        if isnan(side.cost):
            return [f"{who}: no action turns anybody"]
        what = "Each their own action" if side.action is None else side.action.told(self._names)
        turns = f"turns {percent(side.effectiveness, 0)} at a mean effort of {side.cost:.3g}"
        if self.notion != CHOICE:
            return [f"{who}: {what}: {turns}"]
        others = [one.told(self._names) for one in side.choices if one != side.action]
        more = f" and {len(others) - CHOICES:,} more" if len(others) > CHOICES else ""
        also = [f"     also: {'; '.join(others[:CHOICES])}{more}"] if others else []
        count = f"{len(side.choices):,} action{'' if len(side.choices) == 1 else 's'} to choose from"
        return [f"{who}: {count}; most effective: {what}: {turns}", *also]


CHOICES = 3
"""So many further actions are printed where choices are counted."""
CAUTION = (
    "These are the worst of all subgroups that were looked at, and actions were chosen for the people they are "
    "measured on: look for them again in other people before acting on them."
)
COLUMNS = [
    "subgroup", "group", "against", "n", "coverage", "value", "action", "choices", "effectiveness", "cost", "score",
    "worse", "n_undefined", "n_open",
]  # fmt: skip
