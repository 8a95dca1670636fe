"""Which subgroups FACTS' table holds: those frequent among the refused of both sides, and how unequal each is."""

from __future__ import annotations

from math import isnan, nan

import numpy as np

from equieffort.data.frames import Bools, Column, Floats
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_choice, check_number, check_whole
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
from equieffort.notions.facts.table import EVERYBODY, FactsTable, Side, Subgroup, Viewpoint
from equieffort.notions.patterns import condition_items, frequent_patterns

MIN_PEOPLE = 10
MAX_CONDITIONS = 2


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
    mined: Mined | None = None,
) -> FactsTable:
    """Subgroups that are frequent among the refused of both sides, with the notion of each, worst first.

    `mined` are actions that were mined before, for several tables.
    """
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
    if viewpoint == "macro" and mined is None:
        mined = Mined.of(audited, min_support, max_features)
    efforts = np.where(np.isnan(table.effort), np.inf, table.effort)[refused, None]
    costs, actions = (efforts, ()) if mined is None else (mined.costs, tuple(mined.actions))
    codes, groups = table.groups.codes[refused], table.groups
    is_open = table.is_unsettled[refused] if mined is None else np.zeros(len(codes), dtype=bool)
    encoding = table.source.encoding
    columns = [c for c in encoding.columns if c.name not in table.source.schema.protected_columns]
    facts = table.source.facts(slice(None))[refused][:, [encoding.position(c.name) for c in columns]]
    found: list[Subgroup] = []
    lost = np.isnan(costs).any(axis=1)
    for versus in (one for one in groups.pairs if one.role != "unknown"):
        sides = codes == versus.group, np.isin(codes, versus.others)
        for rule, members in _subgroups(columns, facts, sides, min_support, min_people, max_conditions):
            whole = tuple(side & members for side in sides)
            a, b = (costs[side & ~lost] for side in whole)
            values, at = values_of(a, b, asked), curves.largest_gap(curves.macro_curve(a), curves.macro_curve(b))[1]
            first, second = (
                _side(label, mine, len(counted), chosen, asked, at, actions)
                for label, mine, counted in (
                    (groups.labels[versus.group], a, costs[sides[0] & ~lost]),
                    (versus.against, b, costs[sides[1] & ~lost]),
                )
            )
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
    label: str, costs: Floats, everybody: int, notion: Notion, asked: Asked, at: float, actions: tuple[Action, ...]
) -> Side:
    """`everybody`: refused people of the group; without actions each person takes their own."""
    curve = curves.macro_curve(costs)
    value = {
        EFFECTIVENESS.name: lambda: curves.effectiveness(curve),
        CHOICE.name: lambda: float(curves.choices(costs, asked.phi)),
        WITHIN_BUDGET.name: lambda: curves.within_budget(curve, nan if asked.budget is None else asked.budget),
        COST_OF_EFFECTIVENESS.name: lambda: curves.cost_of_effectiveness(curve, asked.phi),
        MEAN_RECOURSE.name: lambda: curves.mean_recourse(curve),
        TRADE_OFF.name: lambda: curves.within_budget(curve, at),
    }[notion.name]()
    coverage = len(costs) / everybody if everybody else nan
    best = best_action(costs, notion.name if actions else EFFECTIVENESS.name, asked, at)
    if best < 0:
        return Side(label, len(costs), value, None, 0.0 if len(costs) else nan, nan, coverage)
    paid = costs[:, best]
    turned = np.isfinite(paid)
    chosen = tuple(actions[k] for k in curves.chosen(costs, asked.phi)) if notion == CHOICE else ()
    return Side(
        label, len(costs), value, actions[best] if actions else None, float(turned.mean()), float(paid[turned].mean()),
        coverage, chosen,
    )  # fmt: skip
