"""The cheapest action by trying them all: nothing but the tolerance for rounding is shared with a solver."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.arguments import as_plain
from equieffort.testing.cases import Case
from equieffort.world.schema import Feature

LEAVE = -1
"""Not to intervene, which differs from keeping a value where a cause moves it."""
KEEP = -2
"""To set the person's own value."""


@dataclass(frozen=True)
class Best:
    """The cheapest of the actions that were tried."""

    cost: float
    """Infinite where none of them turns the decision."""
    action: dict[str, Any]


def cheapest(case: Case) -> list[Best]:
    """For each person the cheapest of all combinations of the case's values.

    Where the case is complete this is the answer; otherwise no answer can be dearer than this, and none can be missing
    where this has one.
    """
    names, encoding = list(case.values), case.problem.encoding
    grids = [encoding[name].encode(pd.Series(case.values[name])) for name in names]
    choices = np.array(list(product(*([LEAVE, KEEP, *range(len(grid))] for grid in grids))))
    facts = encoding.encode(case.people)
    found = []
    for row in range(len(facts)):
        start = np.repeat(facts[row : row + 1], len(choices), axis=0)
        picked, values = np.zeros(start.shape, dtype=bool), start.copy()
        for j, name in enumerate(names):
            k = encoding.position(name)
            picked[:, k] = choices[:, j] != LEAVE
            values[:, k] = np.where(choices[:, j] >= 0, grids[j][choices[:, j]], facts[row, k])
        cost, allowed = price(case, start, values)
        moved = follow(case, start, picked, values)
        works = allowed
        for broken, _ in breaches(case, start, moved):
            works &= ~broken
        works[works] = case.problem.decision.is_favourable(encoding.decode(moved[works]))
        cost = np.where(works, cost, np.inf)
        best = int(cost.argmin())
        after = encoding.decode(values[best : best + 1]).iloc[0]
        done = {name: as_plain(after[name]) for j, name in enumerate(names) if choices[best, j] != LEAVE}
        found.append(Best(float(cost[best]), done if np.isfinite(cost[best]) else {}))
    return found


def follow(case: Case, start: Floats, picked: Bools, values: Floats) -> Floats:
    """The counterfactuals: nodes of the graph follow their equations, other columns are set or stay."""
    nodes = len(case.problem.scm.graph.nodes)
    moved = values.copy()
    moved[:, :nodes], _ = case.problem.scm.propagate(start[:, :nodes], picked[:, :nodes], values[:, :nodes])
    return moved


def price(case: Case, start: Floats, values: Floats) -> tuple[Floats, Bools]:
    """What setting the values costs, and whether that is allowed."""
    cost, allowed = np.zeros(len(start)), np.ones(len(start), dtype=bool)
    for name in case.values:
        k = case.problem.encoding.position(name)
        feature, fact, value = case.problem.schema.feature(name), start[:, k], values[:, k]
        up, down = feature.weights
        if case.problem.encoding[name].is_category:
            table = level_prices(feature, case.problem.encoding[name].levels)
            price_of = table[fact.astype(np.intp), value.astype(np.intp)]
            allowed &= np.isfinite(price_of)
            cost += price_of
            continue
        spread = float(case.people[name].max() - case.people[name].min())
        cost += np.where(value > fact, up, down) * np.abs(value - fact) / spread
        low, high = feature.ends
        assert low is not None
        assert high is not None
        allowed &= (value >= np.minimum(low, fact)) & (value <= np.maximum(high, fact))
        if feature.direction == "up":
            allowed &= value >= fact
        if feature.max_increase is not None:
            allowed &= value - fact <= feature.max_increase
        if feature.max_decrease is not None:
            allowed &= fact - value <= feature.max_decrease
    return cost, allowed


def level_prices(feature: Feature, levels: Sequence[Any]) -> Floats:
    """(from, to): what each change of a category costs; infinite where its direction or limits do not allow it."""
    table = np.zeros((len(levels), len(levels)))
    up, down = feature.weights
    for i, start in enumerate(levels):
        for j, end in enumerate(levels):
            if i == j:
                continue
            steps = 1 if feature.order is None else feature.order.index(end) - feature.order.index(start)
            price = up if steps > 0 else down
            if feature.steps and feature.order is not None:
                price *= abs(steps) / (len(feature.order) - 1)
            price = feature.priced.get((start, end), price)
            wrong_way = (feature.direction == "up" and steps < 0) or (feature.direction == "down" and steps > 0)
            low, high = feature.ends
            if feature.order is not None:
                place = feature.order.index(end)
                # Who is beyond a limit may come nearer to it, and no further away.
                wrong_way |= low is not None and steps < 0 and place < low
                wrong_way |= high is not None and steps > 0 and place > high
            table[i, j] = np.inf if wrong_way else price
    return table


def breaches(case: Case, before: Floats, after: Floats) -> Iterator[tuple[Bools, str]]:
    """Who moves a feature that must stay, leaves a plausible range or breaks a rule, and the words for it."""
    schema = case.problem.schema
    for k, name in enumerate(case.problem.names):
        feature, tolerance = schema.feature(name), case.problem.tolerance(k, before[:, k])
        if feature.role == "immutable":
            yield np.abs(after[:, k] - before[:, k]) > tolerance, f"{name!r} moves, but is immutable"
        elif feature.plausible is not None:
            low, high = feature.plausible
            words = f"{name!r} leaves its plausible range"
            if low is not None:
                yield after[:, k] < np.minimum(low, before[:, k]) - tolerance, words
            if high is not None:
                yield after[:, k] > np.maximum(high, before[:, k]) + tolerance, words
    for broken, rule in case.problem.rules.faults(before, after):
        yield broken, f"it breaks the rule that {rule}"
