"""The hot loops of the linear solver, compiled once and cached.

A person needs a gain in score; each feature gives `|gain|` of it a unit at a price, up to its limits. Filling in the
order of gain a price is optimal for one linear constraint. Whole numbers are found by branch and bound on that fill.
No reduction crosses people, so a result does not depend on the batch.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from equieffort.foundations.jit import njit

FOUND, TIE, NONE, LIMIT = 1, 2, 3, 4
MOST_NODES = 20_000
DEPTH = 400


@njit(inline="always")
def _fill(need: float, gain: Any, price: Any, low: Any, high: Any, out: Any) -> tuple[float, int, float]:
    """Fill from `low` towards `high`: (cost, feature filled in part or -1, need left over).

    The greedy order for one knapsack row (Dantzig, 1957); all arrays are (features). What is filled no longer lies at
    its low end, so nothing else need remember it, however many features there are.
    """
    count = gain.shape[0]
    cost = 0.0
    for j in range(count):
        out[j] = low[j]
        need -= gain[j] * low[j]
        cost += price[j] * low[j]
    while need > 0.0:
        best, best_rate = -1, 0.0
        for j in range(count):
            if out[j] == low[j] and high[j] > low[j]:
                rate = gain[j] / price[j]
                if rate > best_rate:
                    best, best_rate = j, rate
        if best < 0:
            return cost, -1, need
        room = high[best] - low[best]
        take = need / gain[best]
        if take < room:
            out[best] = low[best] + take
            return cost + take * price[best], best, 0.0
        out[best] = high[best]
        cost += room * price[best]
        need -= room * gain[best]
    return cost, -1, 0.0


@njit()
def _branch(
    need: float, gain: Any, price: Any, high: Any, whole: Any, out: Any, lows: Any, highs: Any, trial: Any
) -> tuple[float, bool]:
    """Cheapest fill with whole numbers where asked: (cost, proven); cost is infinite if there is none."""
    count = gain.shape[0]
    for j in range(count):
        lows[0, j] = 0.0
        highs[0, j] = high[j]
    best = np.inf
    top, nodes = 1, 0
    while top > 0:
        top -= 1
        nodes += 1
        if nodes > MOST_NODES or top + 2 > DEPTH:
            return best, False
        cost, part, left = _fill(need, gain, price, lows[top], highs[top], trial)
        if left > 0.0 or cost >= best:
            continue
        if part < 0 or not whole[part] or trial[part] == np.floor(trial[part]):
            best = cost
            for j in range(count):
                out[j] = trial[j]
            continue
        middle = np.floor(trial[part])
        for j in range(count):
            lows[top + 1, j] = lows[top, j]
            highs[top + 1, j] = highs[top, j]
        # The upper half is popped first: it usually holds an answer at once.
        highs[top, part] = middle
        lows[top + 1, part] = middle + 1.0
        top += 2
    return best, True


@njit(parallel=True)
def fill_batch(
    need: Any,
    slack: Any,
    tolerance: Any,
    gain: Any,
    up: Any,
    down: Any,
    low: Any,
    high: Any,
    whole: Any,
    any_whole: bool,
    cost: Any,
    bound: Any,
    delta: Any,
    code: Any,
) -> None:
    """For each person the cheapest change within [low, high] (which holds zero) whose gain reaches the need.

    `bound` is the least cost at the need itself; `cost` that at need + slack. TIE: the need is reached but for
    rounding. `up` and `down` have one row for everybody or one a person.
    """
    people, count = low.shape
    blocks = 64
    for block in numba.prange(blocks):
        rate = np.empty(count)
        price = np.empty(count)
        zero = np.zeros(count)
        room = np.empty(count)
        out = np.empty(count)
        trial = np.empty(count)
        lows = np.empty((DEPTH, count)) if any_whole else np.empty((1, count))
        highs = np.empty((DEPTH, count)) if any_whole else np.empty((1, count))
        for i in range(block * people // blocks, (block + 1) * people // blocks):
            reach = 0.0
            row = i if up.shape[0] > 1 else 0
            for j in range(count):
                if gain[j] > 0.0:
                    rate[j], price[j], room[j] = gain[j], up[row, j], high[i, j]
                elif gain[j] < 0.0:
                    rate[j], price[j], room[j] = -gain[j], down[row, j], -low[i, j]
                else:
                    rate[j], price[j], room[j] = 0.0, 1.0, 0.0
                if room[j] > 0.0:
                    reach += rate[j] * room[j]
                else:
                    room[j] = 0.0
            if reach < need[i] - tolerance[i]:
                code[i], cost[i], bound[i] = NONE, np.inf, np.inf
                continue
            wanted = need[i] + slack[i]
            code[i] = FOUND
            if reach < wanted:
                wanted, code[i] = reach, TIE
            proven = True
            if any_whole:
                # First with rounding forgiven; once the model has refused a score equal to the threshold, whole numbers
                # that rounding cannot tell from it no longer bound. Where an amount moves too, it passes the threshold
                # by as little as one likes, so that the threshold itself bounds.
                sure = need[i] - tolerance[i]
                if slack[i] >= 0.0:
                    sure = need[i] + tolerance[i]
                    for j in range(count):
                        if not whole[j] and rate[j] > 0.0 and room[j] > 0.0:
                            sure = need[i]
                    sure = min(sure, reach)
                bound[i], proven = _branch(sure, rate, price, room, whole, out, lows, highs, trial)
                cost[i] = bound[i]
                if wanted > sure:
                    cost[i], also = _branch(wanted, rate, price, room, whole, out, lows, highs, trial)
                    proven = proven and also
                if cost[i] == np.inf:
                    # The corner reaches it but for rounding.
                    code[i] = TIE
                    cost[i] = 0.0
                    for j in range(count):
                        out[j] = room[j]
                        cost[i] += room[j] * price[j]
                if not proven:
                    bound[i] = _fill(need[i] - tolerance[i], rate, price, zero, room, trial)[0]
            else:
                bound[i] = _fill(min(need[i], reach), rate, price, zero, room, out)[0]
                cost[i] = bound[i]
                if wanted != need[i]:
                    cost[i] = _fill(wanted, rate, price, zero, room, out)[0]
            for j in range(count):
                delta[i, j] = out[j] if gain[j] > 0.0 else -out[j]


@njit()
def lower_hull(x: Any, y: Any, keep: Any) -> int:
    """Positions of the lower convex hull of points with rising x; returns how many."""
    size = 0
    for i in range(x.shape[0]):
        while size > 1:
            a, b = keep[size - 2], keep[size - 1]
            if (y[b] - y[a]) * (x[i] - x[b]) < (y[i] - y[b]) * (x[b] - x[a]):
                break
            size -= 1
        keep[size] = i
        size += 1
    return size
