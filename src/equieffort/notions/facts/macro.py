"""The macro notions: one action for everybody of a side, of the actions that were mined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import isinf, isnan, nan

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.shares import difference
from equieffort.notions.actions import undominated
from equieffort.notions.base import NotionReading
from equieffort.notions.bootstrap import REPLICATES, Rows, bootstrap_band, bootstrap_limits
from equieffort.notions.facts import curves
from equieffort.notions.facts.micro import gap_place, subtracted
from equieffort.notions.facts.notions import (
    CHOICE,
    COST_OF_EFFECTIVENESS,
    EFFECTIVENESS,
    MACRO,
    MEAN_RECOURSE,
    SIX,
    TRADE_OFF,
    WITHIN_BUDGET,
)

MOST_WORK = 2e9
"""People times actions times replicates beyond which no interval is drawn."""


FEWEST = 10
"""With fewer people a side there is no interval: all or none of them are often turned, which leaves the spread of the
other side alone, and the best action of few is better than it is in truth (docs/notions/facts.md)."""
FEW = 100
"""With fewer people a side intervals but the trade-off's held the truth as seldom as 92 % (docs/notions/facts.md)."""


@dataclass(frozen=True)
class Asked:
    """What the notions are asked with."""

    phi: float
    budget: float | None


def values_of(mine: Floats, theirs: Floats, asked: Asked) -> dict[str, float]:
    """All six between the cost matrices (person, action) of two sides; above 0 the first side is worse off.

    With one action, everybody's own, these are the micro notions, but for the number of choices.

    Of two actions the first turns one of two people here and both there, the second one of either side.

    >>> mine, theirs = np.array([[1.0, np.inf], [np.inf, 2.0]]), np.array([[1.0, 2.0], [1.0, np.inf]])
    >>> found = values_of(mine, theirs, Asked(phi=1.0, budget=1.0))
    >>> found["facts_effectiveness"], found["facts_choice"], found["facts_cost_of_effectiveness"]
    (0.5, 1.0, inf)
    """
    if not len(mine) or not len(theirs):
        return {one.name: nan for one in SIX}
    found = _read(curves.macro_curve(mine), curves.macro_curve(theirs), asked)
    found[CHOICE.name] = float(curves.choices(theirs, asked.phi) - curves.choices(mine, asked.phi))
    return {one.name: found[one.name] for one in SIX}


def _read(a: Floats, b: Floats, asked: Asked) -> dict[str, float]:
    """What is read of the sides' curves."""
    phi, budget = asked.phi, nan if asked.budget is None else asked.budget
    return {
        EFFECTIVENESS.name: curves.effectiveness(b) - curves.effectiveness(a),
        WITHIN_BUDGET.name: curves.within_budget(b, budget) - curves.within_budget(a, budget),
        COST_OF_EFFECTIVENESS.name: subtracted(
            curves.cost_of_effectiveness(a, phi), curves.cost_of_effectiveness(b, phi)
        ),
        MEAN_RECOURSE.name: curves.mean_recourse(a) - curves.mean_recourse(b),
        TRADE_OFF.name: curves.largest_gap(a, b)[0],
    }


def macro_readings(
    group: str, against: str, costs: Floats, mine: Bools, theirs: Bools, level: float, asked: Asked, seed: int = 0
) -> list[NotionReading]:
    """Six notions of a comparison; `costs` are those of the refused, `mine` and `theirs` say who is who among them.

    People with a missing value are in no denominator, and counted. Intervals draw people again within their group and
    choose the actions again in each draw; the actions themselves stay. That of the trade-off is a band around the
    difference of the curves at all efforts at once: the spread of the largest gap alone is too short.
    """
    lost = np.isnan(costs).any(axis=1)
    n_lost = int((lost & (mine | theirs)).sum())
    a, b = np.flatnonzero(mine & ~lost), np.flatnonzero(theirs & ~lost)
    blank = NotionReading("", group, against, n=len(a), n_against=len(b), n_undefined=n_lost)
    found = values_of(costs[a], costs[b], asked)
    steps = curves.macro_curve(costs[a]), curves.macro_curve(costs[b])
    variants = {
        CHOICE.name: f"phi = {asked.phi:g}",
        COST_OF_EFFECTIVENESS.name: f"phi = {asked.phi:g}",
        WITHIN_BUDGET.name: "" if asked.budget is None else f"c = {asked.budget:g}",
        TRADE_OFF.name: gap_place(group, against, *curves.largest_gap(*steps)),
    }
    turned = [int(np.isfinite(one).sum()) for one in steps]
    draw = _drawn(costs, a, b, asked, steps)
    strata = np.repeat([0, 1], [len(a), len(b)])
    readings = []
    for name, value in found.items():
        one = replace(blank, notion=MACRO[name].name, parts=(variants.get(name, ""),), estimate=value)
        if name == TRADE_OFF.name:
            one = replace(one, estimate=abs(value))
        if name == MEAN_RECOURSE.name:
            # Whoever no action of the curve turns is in neither mean.
            without = len(a) + len(b) - sum(turned)
            one = replace(one, n=turned[0], n_against=turned[1], n_undefined=n_lost + without)
        if why := _why_not(name, value, len(a), len(b), costs.shape[1], asked):
            readings.append(replace(one, estimate=nan if why == "NO_ACTIONS" else one.estimate, note=why))
            continue
        if float(len(strata)) * costs.shape[1] * REPLICATES > MOST_WORK:
            readings.append(replace(one, note="NO_INTERVAL"))
            continue
        if name == TRADE_OFF.name:
            # Wherever the gap is largest, it is no farther from its estimate than the curves' difference anywhere.
            half = bootstrap_band(draw(name), strata, level, random_state=seed)
            readings.append(replace(one, low=max(0.0, abs(value) - half), high=min(1.0, abs(value) + half)))
            continue
        seen: list[float] = []
        low, high, note = bootstrap_limits(_watched(draw(name), seen), strata, level, random_state=seed)
        if not note:
            turns = _turns(name, steps, (len(a), len(b)), asked)
            low, high = _widened((low, high), seen, turns, level)
        few = "FEW_DRAWN" if min(len(a), len(b)) < FEW else ""
        readings.append(replace(one, low=low, high=high, note=note or few))
    return readings


def _turns(name: str, steps: tuple[Floats, Floats], n: tuple[int, int], asked: Asked) -> list[tuple[int, int]]:
    """Of each side how many are turned, and how many there are, where a notion is the difference of two shares."""
    if name == EFFECTIVENESS.name:
        return [(round(curves.effectiveness(step) * size), size) for step, size in zip(steps, n, strict=True)]
    if name == WITHIN_BUDGET.name and asked.budget is not None:
        end = asked.budget
        return [(round(curves.within_budget(step, end) * size), size) for step, size in zip(steps, n, strict=True)]
    return []


def _widened(
    limits: tuple[float, float], seen: list[float], turns: list[tuple[int, int]], level: float
) -> tuple[float, float]:
    """Limits moved out by how much draws from the sample exceed it, or fall short of it, on average.

    The best of many actions is better in a sample than in truth, the more so the fewer
    people; by about as much as it is better in draws than in the sample. All or none of few people are often turned,
    and are so in every draw: a difference of shares has Newcombe's limits too.
    """
    drawn = np.array(seen[1:])
    excess = float(drawn[np.isfinite(drawn)].mean()) - seen[0]
    low, high = limits[0] - max(0.0, excess), limits[1] - min(0.0, excess)
    if turns:
        least, most = difference(*turns).limits(level)
        return min(low, least), max(high, most)
    return low, high


def _watched(statistic: Callable[[Rows], float], seen: list[float]) -> Callable[[Rows], float]:
    """The statistic, which leaves what it was: first of the people themselves, then of each draw."""

    def watched(rows: Rows) -> float:
        seen.append(statistic(rows))
        return seen[-1]

    return watched


def _why_not(name: str, value: float, a: int, b: int, n_actions: int, asked: Asked) -> str:
    """Why there is no estimate, or no interval of one."""
    if not a or not b:
        return "NO_REFUSED"
    if not n_actions:
        return "NO_ACTIONS"
    if name == WITHIN_BUDGET.name and asked.budget is None:
        return "NO_BUDGET"
    if name == COST_OF_EFFECTIVENESS.name and (isnan(value) or isinf(value)):
        return "UNREACHED"
    if isnan(value):
        return "NO_RECOURSE"
    return "TOO_FEW" if min(a, b) < FEWEST else ""


def _drawn(
    costs: Floats, a: Rows, b: Rows, asked: Asked, steps: tuple[Floats, Floats]
) -> Callable[[str], Callable[[Rows], float]]:
    """For each notion what it is among people drawn again, read of one draw; of the trade-off how far the difference of
    the curves is from that of the people themselves."""
    both = np.concatenate([a, b])
    kept = costs[both]
    # Only the number of choices counts actions that another one replaces.
    few = kept[:, undominated(kept)]
    known: dict[bytes, dict[str, float]] = {}

    def of(name: str) -> Callable[[Rows], float]:
        def statistic(rows: Rows) -> float:
            first, second = rows[rows < len(a)], rows[rows >= len(a)]
            if name == CHOICE.name:
                return float(curves.choices(kept[second], asked.phi) - curves.choices(kept[first], asked.phi))
            key = rows.tobytes()
            if key not in known:
                drawn = curves.macro_curve(few[first]), curves.macro_curve(few[second])
                known[key] = _read(*drawn, asked) | {TRADE_OFF.name: curves.farthest(*drawn, steps)}
            return known[key][name]

        return statistic

    return of


def best_action(costs: Floats, notion: str, asked: Asked, at: float = nan) -> int:
    """The action of a side that a notion rests on; of equals the cheapest. -1 where none turns anybody.

    That is the most effective one: at all, within the budget, or at the effort where the gap is largest. For the cost
    of an effectiveness it is the one that reaches it with the least effort.
    """
    reach = np.isfinite(costs)
    if not reach.any():
        return -1
    if notion == COST_OF_EFFECTIVENESS.name:
        ranked = np.sort(costs, axis=0)[curves.rank_of(asked.phi, len(costs)) - 1]
        if np.isfinite(ranked).any():
            return int(ranked.argmin())
    end = {WITHIN_BUDGET.name: asked.budget, TRADE_OFF.name: at}.get(notion)
    if end is not None and (costs <= end).any():
        reach = costs <= end
    return int(np.lexsort((np.where(reach, costs, 0.0).sum(axis=0), -reach.sum(axis=0)))[0])
