"""What a node's actions cost at least: prices on what lacks, and one pass over the graph.

Weak duality puts each constraint into the cost at a price (Geoffrion, "Lagrangean relaxation for integer programming",
1974). At fixed prices actions only meet where one passes a move on to another. Each follower is then bounded by the
larger of two: what setting it gains after its price, and what passing on is worth; over all that can come in, the line
through both ends lies above (the general scheme: Fisher, "The Lagrangian relaxation method", 1981).
"""

from __future__ import annotations

import numpy as np

from equieffort.foundations.jit import hot, kernel
from equieffort.foundations.tolerances import BLURRED, CANCELLED
from equieffort.recourse.solvers.linear_search.arrays import (
    CUTOFF,
    FOLLOW,
    FORGIVEN,
    OPEN,
    ROUNDING,
    SET,
    UNIT,
    CompiledProblem,
    Work,
)

MOST_UNITS = 1e4
"""Bounds of so many units are carried up, unless they lie so little above one, in units, that rounding may do that."""
NEAR = CANCELLED
"""A bound that can rise by no more than this share is as good as it gets."""


@hot
def spread_inflow(problem: CompiledProblem, work: Work) -> None:
    """The most that can come in at each action, upwards and downwards, within the node's boxes."""
    k, inflow = work.status.shape[0], work.inflow
    for j in range(k):
        inflow[0, j] = max(work.base[j], 0.0)
        inflow[1, j] = max(-work.base[j], 0.0)
    for j in range(k):
        # What follows stays in its range, whatever would come in.
        rise, fall = min(inflow[0, j], work.most[j]), min(inflow[1, j], -work.least[j])
        inflow[0, j], inflow[1, j] = rise, fall
        if work.status[j] == SET:
            rise, fall = max(work.high[j], 0.0), max(-work.low[j], 0.0)
        elif work.status[j] == OPEN:
            rise, fall = max(rise, work.high[j], 0.0), max(fall, -work.low[j], 0.0)
        for e in range(problem.start[j], problem.start[j + 1]):
            q, a = problem.child[e], problem.effect[e]
            if a > 0.0:
                inflow[0, q] += a * rise
                inflow[1, q] += a * fall
            else:
                inflow[0, q] -= a * fall
                inflow[1, q] -= a * rise


@hot
def earned(problem: CompiledProblem, work: Work, is_free: bool) -> float:
    """The most that all actions earn after their prices, if each track's move earns its price; sinks to sources.

    `is_free`: actions cost nothing. Leaves what each earns, and where, in `gained` and `at`.
    """
    total, worth, passed, size = 0.0, work.worth, work.passed, work.size
    for j in range(work.status.shape[0] - 1, -1, -1):
        up, down, parts = work.weight[j], -work.weight[j], abs(work.weight[j])
        for e in range(problem.start[j], problem.start[j + 1]):
            q, a = problem.child[e], problem.effect[e]
            if work.status[q] == SET:
                continue
            if a > 0.0:
                up += a * passed[0, q]
                down += a * passed[1, q]
                parts += a * size[q]
            else:
                up -= a * passed[1, q]
                down -= a * passed[0, q]
                parts -= a * size[q]
        # Ways that cancel but for rounding carry nothing, however far an action goes.
        worth[0, j] = 0.0 if abs(up) <= CANCELLED * parts else up
        worth[1, j] = 0.0 if abs(down) <= CANCELLED * parts else down
        size[j] = parts
        if work.status[j] == FOLLOW:
            work.gained[j] = work.at[j] = 0.0
            passed[0, j], passed[1, j] = worth[0, j], worth[1, j]
        else:
            work.gained[j] = earn_alone(work, j, worth[0, j], worth[1, j], is_free)
            total += work.gained[j]
            for side in range(2):
                passed[side, j] = 0.0
                is_passed = work.status[j] == OPEN and work.inflow[side, j] > 0.0 and worth[side, j] > 0.0
                if is_passed and work.gained[j] < np.inf:
                    passed[side, j] = max(0.0, worth[side, j] - max(work.gained[j], 0.0) / work.inflow[side, j])
        total += max(work.base[j], 0.0) * passed[0, j] + max(-work.base[j], 0.0) * passed[1, j]
    return total


@hot
def earn_alone(work: Work, j: int, up: float, down: float, is_free: bool) -> float:
    """The most that setting action j earns, a unit being worth so much; where, is left in `at`."""
    if not is_free:
        up -= work.up[j]
        down -= work.down[j]
    return earn_free(work, j, up, down)


@hot
def earn_free(work: Work, j: int, up: float, down: float) -> float:
    """The same where nothing is paid."""
    low, high = work.low[j], work.high[j]
    near = min(max(0.0, low), high)
    best, work.at[j] = near * up if near > 0.0 else -near * down, near
    if near == 0.0:
        best = 0.0
    if up > 0.0 and near >= 0.0 and high > near:
        best, work.at[j] = high * up, high
    if down > 0.0 and near <= 0.0 and low < near and -low * down > best:
        best, work.at[j] = -low * down, low
    return best


@hot
def spread_use(problem: CompiledProblem, work: Work) -> None:
    """How much of each action's worth was earned: the derivative of what `earned` returned, sources to sinks."""
    used, k = work.used, work.status.shape[0]
    for j in range(k):
        used[0, j] = max(work.base[j], 0.0)
        used[1, j] = max(-work.base[j], 0.0)
    for j in range(k):
        if work.status[j] != FOLLOW:
            share, up, down = 1.0, 0.0, 0.0
            if work.status[j] == OPEN:
                if work.passed[0, j] > 0.0:
                    up = used[0, j]
                    share -= up / work.inflow[0, j]
                if work.passed[1, j] > 0.0:
                    down = used[1, j]
                    share -= down / work.inflow[1, j]
                if work.gained[j] <= 0.0:
                    share = 1.0
            if work.at[j] > 0.0:
                up += share * work.at[j]
            elif work.at[j] < 0.0:
                down -= share * work.at[j]
            used[0, j], used[1, j] = up, down
        up, down = used[0, j], used[1, j]
        if up == 0.0 and down == 0.0:
            continue
        for e in range(problem.start[j], problem.start[j + 1]):
            q, a = problem.child[e], problem.effect[e]
            if work.status[q] == SET:
                continue
            if a > 0.0:
                used[0, q] += a * up
                used[1, q] += a * down
            else:
                used[0, q] -= a * down
                used[1, q] -= a * up


@hot
def value_at(problem: CompiledProblem, work: Work, price: float) -> tuple[float, float]:
    """What a node costs at least by one price on the score, and how that grows with the price."""
    score = problem.tracks[0]
    for j in range(work.status.shape[0]):
        work.weight[j] = price * score[j]
    total = earned(problem, work, False)
    if total == np.inf:
        return -np.inf, -np.inf
    spread_use(problem, work)
    slope = work.needs[0]
    for j in range(work.status.shape[0]):
        slope -= score[j] * (work.used[0, j] - work.used[1, j])
    return price * work.needs[0] - total, slope


@kernel
def reaches(problem: CompiledProblem, work: Work) -> bool:
    """Whether the node's actions may gain what lacks, whatever they cost; rounding forgiven."""
    for j in range(work.status.shape[0]):
        work.weight[j] = problem.tracks[0, j]
    most = earned(problem, work, True)
    return most >= work.needs[0] - CANCELLED * (abs(most) + abs(work.needs[0]))


@kernel
def forced(work: Work) -> float:
    """What is paid even where nothing is needed: boxes without zero."""
    total = 0.0
    for j in range(work.status.shape[0]):
        if work.status[j] != FOLLOW:
            if work.low[j] > 0.0:
                total += work.low[j] * work.up[j]
            elif work.high[j] < 0.0:
                total -= work.high[j] * work.down[j]
    return total


@kernel
def bend(problem: CompiledProblem, work: Work) -> None:
    """What changes cost on the node's boxes; where prices do not bend there is nothing to do."""


@kernel
def lifted(work: Work, bound: float) -> float:
    """A bound carried up to the next cost there may be, where only whole numbers move and prices share a unit."""
    unit = work.scalar[UNIT]
    if not 0.0 < bound < MOST_UNITS * unit:
        return bound
    return max(bound, np.ceil(bound / unit - BLURRED) * unit)


@kernel
def is_dropped(work: Work, value: float, price: float) -> bool:
    """Whether a node of such a bound need not be looked into: what rounding of the score may cost does not count, as
    long as that is next to nothing."""
    value = lifted(work, value)
    return value + min(2.0 * price * work.scalar[ROUNDING], work.scalar[FORGIVEN]) >= work.scalar[CUTOFF]


@kernel
def climb(problem: CompiledProblem, work: Work, price: float, passes: int) -> tuple[float, float]:
    """(bound, price) of a node: from one price to the next, where the lines that touch at two of them meet.

    Every price bounds, so it may stop at any. The value is not quite concave: lines guide, only values count.
    """
    left, at_left, slope_left = 0.0, forced(work), work.needs[0]
    right, at_right, slope_right = np.inf, 0.0, 0.0
    best, best_price = at_left, price
    for _ in range(passes):
        value, slope = value_at(problem, work, price)
        if value > best:
            best, best_price = value, price
            if is_dropped(work, best, price):
                break
        if slope > 0.0:
            left, at_left, slope_left = price, value, slope
        elif slope < 0.0:
            right, at_right, slope_right = price, value, slope
        else:
            break
        if right == np.inf:
            ahead = (work.scalar[CUTOFF] - at_left) / slope_left if work.scalar[CUTOFF] < np.inf else np.inf
            price = min(left + ahead * (1.0 + NEAR), 8.0 * left) if left > 0.0 else ahead
            continue
        if at_right == -np.inf:
            price = 0.5 * (left + right)
            continue
        gap = (at_right - at_left + slope_left * left - slope_right * right) / (slope_left - slope_right)
        if not left < gap < right:
            break
        if at_left + slope_left * (gap - left) <= best + NEAR * abs(best):
            break
        price = gap
    return best, best_price
