"""The table that FACTS prints: subgroups in which two groups have unequal recourse, with each side's best action."""

from __future__ import annotations

from dataclasses import dataclass
from math import isinf, isnan, nan
from typing import Literal

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Column, Floats, percent
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_choice, check_number, check_whole
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.actions import Action
from equieffort.notions.base import Audited, Notion
from equieffort.notions.facts import curves
from equieffort.notions.facts.family import MAX_FEATURES, MIN_SUPPORT, PHI, Mined
from equieffort.notions.facts.macro import Asked, best_action, values_of
from equieffort.notions.facts.notions import (
    BY_NAME,
    CHOICE,
    COST_OF_EFFECTIVENESS,
    EFFECTIVENESS,
    MEAN_RECOURSE,
    TRADE_OFF,
    WITHIN_BUDGET,
)
from equieffort.notions.patterns import condition_items, frequent_patterns
from equieffort.world.groups import Groups
from equieffort.world.labels import Labels, labels_of, told_rule

Viewpoint = Literal["macro", "micro"]
MIN_PEOPLE = 10
MAX_CONDITIONS = 2
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

    def frame(self) -> pd.DataFrame:
        """One row a subgroup and side: who, how many, the notion of the side, its best action, the score of both."""
        rows = []
        for one in self.subgroups:
            for side, other in ((one.group, one.against), (one.against, one.group)):
                rows.append(
                    {
                        "subgroup": one.rule, "group": side.group, "against": other.group, "n": side.n,
                        "value": side.value, "action": "" if side.action is None else str(side.action),
                        "effectiveness": side.effectiveness,
                        "cost": side.cost, "score": one.score, "worse": one.worse, "n_undefined": one.n_undefined,
                        "n_open": one.n_open,
                    }
                )  # fmt: skip
        return pd.DataFrame(rows, columns=COLUMNS)

    def __str__(self) -> str:
        how = (
            f"one action for everybody of a side, of {self.n_actions:,} tried"
            if self.viewpoint == "macro"
            else "each person's own best action"
        )
        lines = [f"{self.notion.title} ({self.viewpoint}: {how}{self._settings}), worst subgroups first."]
        if self.n_left_out:
            lines.append(f"{self.n_left_out:,} rarer actions were not tried.")
        for k, one in enumerate(self.subgroups[:SHOWN], 1):
            lines += [
                "",
                f"{k}. {one.rule if one.rule == EVERYBODY else told_rule(one.rule, self._names)}: {self._score(one)}",
            ]
            lines += [f"   {self._side(side)}" for side in (one.group, one.against)]
            if one.n_open:
                lines.append(f"   {one.n_open:,} of them are not solved to the end and count as found.")
        if len(self.subgroups) > SHOWN:
            lines += ["", f"{len(self.subgroups) - SHOWN:,} more in frame()."]
        return "\n".join([*lines, "", CAUTION])

    def _told(self) -> Told:
        first, *lines = [line for line in str(self).splitlines() if line.strip() and line != CAUTION]
        return Told(first, lines, {"The worst subgroups": self.frame()}, [CAUTION], "print(...), .frame(), .subgroups")

    @property
    def _settings(self) -> str:
        if self.notion in (CHOICE, COST_OF_EFFECTIVENESS):
            return f"; phi = {self.asked.phi:g}"
        return f"; c = {self.asked.budget:g}" if self.notion == WITHIN_BUDGET and self.asked.budget is not None else ""

    @property
    def _names(self) -> Labels:
        return labels_of(self.groups.columns)

    def _score(self, one: Subgroup) -> str:
        if isnan(one.score):
            return "not defined"
        if one.score == 0:
            return "no difference"
        size = "without limit" if isinf(one.score) else self.notion.show(abs(one.score))
        return f"{size}, worse for {self.groups.name(one.worse)}"

    def _side(self, side: Side) -> str:
        who = f"{self.groups.name(side.group)} ({side.n:,} refused)"
        counted = f"{side.value:g} actions reach phi; most effective: " if self.notion == CHOICE else ""
        if isnan(side.cost):
            return f"{who}: {counted}no action turns anybody"
        what = "Each their own action" if side.action is None else side.action.told(self._names)
        return f"{who}: {counted}{what}: turns {percent(side.effectiveness, 0)} at a mean effort of {side.cost:.3g}"


CAUTION = (
    "These are the worst of all subgroups that were looked at, and actions were chosen for the people they are "
    "measured on: look for them again in other people before acting on them."
)
COLUMNS = [
    "subgroup", "group", "against", "n", "value", "action", "effectiveness", "cost", "score", "worse", "n_undefined",
    "n_open",
]  # fmt: skip


def facts_table(
    audited: Audited,
    notion: str = "effectiveness",
    *,
    viewpoint: Viewpoint = "macro",
    phi: float = PHI,
    budget: float | None = None,
    min_support: float = MIN_SUPPORT,
    min_people: int = MIN_PEOPLE,
    max_conditions: int = MAX_CONDITIONS,
    max_features: int = MAX_FEATURES,
) -> FactsTable:
    """Subgroups that are frequent among the refused of both sides, with the notion of each, worst first."""
    check_choice("notion", notion, BY_NAME)
    check_choice("viewpoint", viewpoint, ("macro", "micro"))
    check_share("phi", phi)
    check_share("min_support", min_support)
    check_number("budget", budget, "a number above 0", lambda size: size > 0, optional=True)
    for name, value in (("min_people", min_people), ("max_conditions", max_conditions), ("max_features", max_features)):
        check_whole(name, value, 1)
    chosen = BY_NAME[notion]
    if chosen == CHOICE and viewpoint == "micro":
        raise ParameterError(
            "PARAMETER",
            "Equal choice counts actions that people share, so it has no micro form.",
            fix='Give viewpoint="macro".',
        )
    asked = Asked(float(phi), audited.budget if budget is None else float(budget))
    if chosen == WITHIN_BUDGET and asked.budget is None:
        raise ParameterError(
            "PARAMETER", "Nobody has a route to approval, so there is no budget by default.", fix="Give budget=."
        )
    table = audited.table
    refused = table.is_unfavourable
    mined = Mined.of(audited, min_support, max_features) if viewpoint == "macro" else None
    efforts = np.where(np.isnan(table.effort), np.inf, table.effort)[refused, None]
    costs, actions = (efforts, ()) if mined is None else (mined.costs, tuple(mined.actions))
    codes, groups = table.groups.codes[refused], table.groups
    is_open = table.is_unsettled[refused] if mined is None else np.zeros(len(codes), dtype=bool)
    encoding = table.source.encoding
    columns = [c for c in encoding.columns if c.name not in table.source.schema.protected_columns]
    facts = table.source.facts(slice(None))[refused][:, [encoding.position(c.name) for c in columns]]
    found: list[Subgroup] = []
    for versus in (one for one in groups.pairs if one.role != "unknown"):
        sides = codes == versus.group, np.isin(codes, versus.others)
        for rule, members in _subgroups(columns, facts, sides, min_support, min_people, max_conditions):
            whole = tuple(side & members for side in sides)
            lost = np.isnan(costs).any(axis=1)
            a, b = (costs[side & ~lost] for side in whole)
            values, at = values_of(a, b, asked), curves.largest_gap(curves.macro_curve(a), curves.macro_curve(b))[1]
            first = _side(groups.labels[versus.group], a, chosen, asked, at, actions, is_micro=mined is None)
            second = _side(versus.against, b, chosen, asked, at, actions, is_micro=mined is None)
            both = whole[0] | whole[1]
            score = values[chosen.name] if len(a) and len(b) else nan
            found.append(Subgroup(rule, first, second, score, int((both & lost).sum()), int((both & is_open).sum())))
    found.sort(key=lambda one: (isnan(one.score), -abs(one.score) if not isnan(one.score) else 0.0))
    n_actions, n_left = (0, 0) if mined is None else (len(mined.actions), mined.n_left_out)
    return FactsTable(chosen, viewpoint, asked, tuple(found), n_actions, n_left, min_people, groups)


def check_share(name: str, value: object) -> None:
    """Refuse what is no share above 0."""
    check_number(name, value, "a number above 0, at most 1", lambda share: 0 < share <= 1)


def _subgroups(
    columns: list[Column], facts: Floats, sides: tuple[Bools, Bools], min_support: float, min_people: int, most: int
) -> list[tuple[str, Bools]]:
    """Everybody, and every frequent conjunction; of those with the same people the shortest."""
    both = sides[0] | sides[1]
    need = [max(float(min_people), min_support * int(side.sum())) for side in sides]
    items = condition_items(columns, facts, both)
    found, seen = [(EVERYBODY, np.ones(len(facts), dtype=bool))], {both.tobytes()}
    for pattern in frequent_patterns(items, sides, need, most):
        members = np.logical_and.reduce([items[k].members for k in pattern])
        key = (members & both).tobytes()
        if key not in seen:
            seen.add(key)
            found.append((" and ".join(items[k].text for k in pattern), members))
    return found


def _side(
    label: str, costs: Floats, notion: Notion, asked: Asked, at: float, actions: tuple[Action, ...], *, is_micro: bool
) -> Side:
    curve = curves.macro_curve(costs)
    value = {
        EFFECTIVENESS.name: lambda: curves.effectiveness(curve),
        CHOICE.name: lambda: float(curves.choices(costs, asked.phi)),
        WITHIN_BUDGET.name: lambda: curves.within_budget(curve, nan if asked.budget is None else asked.budget),
        COST_OF_EFFECTIVENESS.name: lambda: curves.cost_of_effectiveness(curve, asked.phi),
        MEAN_RECOURSE.name: lambda: curves.mean_recourse(curve),
        TRADE_OFF.name: lambda: curves.within_budget(curve, at),
    }[notion.name]()
    best = best_action(costs, EFFECTIVENESS.name if is_micro else notion.name, asked, at)
    if best < 0:
        return Side(label, len(costs), value, None, 0.0 if len(costs) else nan, nan)
    paid = costs[:, best]
    turned = np.isfinite(paid)
    return Side(
        label, len(costs), value, None if is_micro else actions[best], float(turned.mean()), float(paid[turned].mean())
    )
