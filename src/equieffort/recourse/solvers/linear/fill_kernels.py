"""The hot loops of the linear solver, compiled once and cached.

A person needs a gain in score; each feature gives `|gain|` of it a unit at a price, up to its limits. Filling in the
order of gain a price is optimal for one linear constraint. Whole numbers are found by branch and bound on that fill.
No reduction crosses people, so a result does not depend on the batch.
"""

from __future__ import annotations

from concurrent.futures import wait
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.arrays import Bools, Floats
from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.records import record
from equieffort.recourse.solvers.base import FOUND, NONE, TIE
from equieffort.recourse.solvers.kernels.threads import most_threads, pool

MOST_NODES = 20_000
DEPTH = 400
BLOCKS = 64
"""Parts of the work: more than threads, so that none waits long for the last."""
FEW = 2_000
"""So many people are filled sooner than other threads are told of them."""
INTERPRETED = 2.5e-6
"""Seconds a feature of a person takes, interpreted; whole numbers take some times as much, and far more at worst."""


@record
class Asked(NamedTuple):
    """What people need, and what they may do: n people, j features."""

    need: Floats
    """(n)"""
    slack: Floats
    """(n) how far past the need the score is carried."""
    tolerance: Floats
    """(n) what rounding may add to a score."""
    gain: Floats
    """(j) the score a unit."""
    up: Floats
    """(1 or n, j) the price of a unit."""
    down: Floats
    low: Floats
    """(n, j) the changes that may be made, zero among them."""
    high: Floats
    whole: Bools
    """(j) which features are whole numbers."""
    any_whole: bool


@record
class Answers(NamedTuple):
    """A row a person."""

    cost: Floats
    bound: Floats
    delta: Floats
    code: Any


@record
class Room(NamedTuple):
    """Room for one person: features as what a unit upwards gains and costs, and how far it goes."""

    rate: Floats
    """(j)"""
    price: Floats
    limit: Floats
    zero: Floats
    out: Floats
    """(j) the fill that was found."""
    trial: Floats
    lows: Floats
    """(depth, j) the boxes that wait."""
    highs: Floats


def fill_batch(asked: Asked, answers: Answers) -> None:
    """For each person the cheapest change within [low, high] (which holds zero) whose gain reaches the need.

    `bound` is the least cost at the need itself; `cost` that at need + slack. TIE: the need is reached but for
    rounding.
    """
    any_whole, whole = bool(asked.any_whole), _plain(asked.whole, np.bool_)
    asked = Asked._make([*(_plain(array, np.float64) for array in asked[:8]), whole, any_whole])
    people, features = asked.low.shape

    def part(first: int, last: int) -> None:
        fill_people(asked, answers, make_room(features, any_whole), first, last)

    room, each = make_room(features, any_whole), INTERPRETED * (1 + features) * (8 if any_whole else 1)
    done = sum(1 for _ in fill_people.one_by_one((asked, answers, room), people, each))
    if done == people:
        return
    if people - done <= (1 if any_whole else FEW):
        part(done, people)
        return
    ends = [done + k * (people - done) // BLOCKS for k in range(BLOCKS + 1)]
    left = iter([(a, b) for a, b in pairwise(ends) if a < b])

    def parts() -> None:
        # Threads that take the next part are told of their work once, not once a part.
        for first, last in left:
            part(first, last)

    threads = pool()
    jobs = [threads.submit(parts) for _ in range(min(BLOCKS, people - done, most_threads(threads)))]
    try:
        wait(jobs)
    except BaseException:
        list(left)
        for job in jobs:
            job.cancel()
        raise
    for job in jobs:
        job.result()


def _plain(array: Any, dtype: Any) -> Any:
    """An array as it is, or a copy: one that lies otherwise, or may not be written, would be compiled anew."""
    return np.require(array, dtype, ["C", "W"])


def make_room(count: int, any_whole: bool) -> Room:
    """Room for people with so many features."""
    depth = DEPTH if any_whole else 1
    return Room(
        np.empty(count), np.empty(count), np.empty(count), np.zeros(count), np.empty(count), np.empty(count),
        np.empty((depth, count)), np.empty((depth, count)),
    )  # fmt: skip


@kernel
def _fill(need: float, room: Room, low: Floats, high: Floats, out: Floats) -> tuple[float, int, float]:
    """Fill from `low` towards `high`: (cost, feature filled in part or -1, need left over).

    The greedy order for one knapsack row (Dantzig, 1957); all arrays are (features). What is filled no longer lies at
    its low end, so nothing else need remember it, however many features there are.
    """
    gain, price = room.rate, room.price
    count, cost = gain.shape[0], 0.0
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
        width = high[best] - low[best]
        take = need / gain[best]
        if take < width:
            out[best] = low[best] + take
            return cost + take * price[best], best, 0.0
        out[best] = high[best]
        cost += width * price[best]
        need -= width * gain[best]
    return cost, -1, 0.0


@kernel
def _branch(need: float, whole: Bools, room: Room) -> tuple[float, bool]:
    """Cheapest fill with whole numbers where asked: (cost, proven); cost is infinite if there is none."""
    lows, highs, trial, count = room.lows, room.highs, room.trial, room.rate.shape[0]
    for j in range(count):
        lows[0, j] = 0.0
        highs[0, j] = room.limit[j]
    best = np.inf
    top, nodes = 1, 0
    while top > 0:
        top -= 1
        nodes += 1
        if nodes > MOST_NODES or top + 2 > DEPTH:
            return best, False
        cost, part, left = _fill(need, room, lows[top], highs[top], trial)
        if left > 0.0 or cost >= best:
            continue
        if part < 0 or not whole[part] or trial[part] == np.floor(trial[part]):
            best = cost
            for j in range(count):
                room.out[j] = trial[j]
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


@kernel
def _fill_people(asked: Asked, answers: Answers, room: Room, first: int, last: int) -> None:
    """People first to last - 1, as `fill_batch` says."""
    cost, bound, code, gain = answers.cost, answers.bound, answers.code, asked.gain
    for i in range(first, last):
        need, reach = asked.need[i], _turn_upwards(asked, room, i)
        if reach < need - asked.tolerance[i]:
            code[i], cost[i], bound[i] = NONE, np.inf, np.inf
            continue
        wanted = need + asked.slack[i]
        code[i] = FOUND
        if reach < wanted:
            wanted, code[i] = reach, TIE
        if asked.any_whole:
            _fill_whole(asked, answers, room, i, wanted, reach)
        else:
            bound[i], _, _ = _fill(min(need, reach), room, room.zero, room.limit, room.out)
            cost[i] = bound[i]
            if wanted != need:
                cost[i], _, _ = _fill(wanted, room, room.zero, room.limit, room.out)
        for j in range(gain.shape[0]):
            answers.delta[i, j] = room.out[j] if gain[j] > 0.0 else -room.out[j]


@kernel
def _turn_upwards(asked: Asked, room: Room, i: int) -> float:
    """Person i's features, each turned so that it gains upwards; returns what all of them gain."""
    gain, rate, price, limit = asked.gain, room.rate, room.price, room.limit
    reach, row = 0.0, i if asked.up.shape[0] > 1 else 0
    for j in range(gain.shape[0]):
        if gain[j] > 0.0:
            rate[j], price[j], limit[j] = gain[j], asked.up[row, j], asked.high[i, j]
        elif gain[j] < 0.0:
            rate[j], price[j], limit[j] = -gain[j], asked.down[row, j], -asked.low[i, j]
        else:
            rate[j], price[j], limit[j] = 0.0, 1.0, 0.0
        if limit[j] > 0.0:
            reach += rate[j] * limit[j]
        else:
            limit[j] = 0.0
    return reach


@kernel
def _fill_whole(asked: Asked, answers: Answers, room: Room, i: int, wanted: float, reach: float) -> None:
    """Person i with whole numbers among the features.

    First with rounding forgiven; once the model has refused a score equal to the threshold, whole numbers that rounding
    cannot tell from it no longer bound. Where an amount moves too, it passes the threshold by as little as one likes,
    so that the threshold itself bounds.
    """
    need, tolerance, cost, bound, whole = asked.need[i], asked.tolerance[i], answers.cost, answers.bound, asked.whole
    sure = need - tolerance
    if asked.slack[i] >= 0.0:
        sure = need + tolerance
        for j in range(whole.shape[0]):
            if not whole[j] and room.rate[j] > 0.0 and room.limit[j] > 0.0:
                sure = need
        sure = min(sure, reach)
    bound[i], proven = _branch(sure, whole, room)
    cost[i] = bound[i]
    if wanted > sure:
        cost[i], also = _branch(wanted, whole, room)
        proven = proven and also
    if cost[i] == np.inf:
        # The corner reaches it but for rounding.
        answers.code[i] = TIE
        cost[i] = 0.0
        for j in range(whole.shape[0]):
            room.out[j] = room.limit[j]
            cost[i] += room.limit[j] * room.price[j]
    if not proven:
        bound[i], _, _ = _fill(need - tolerance, room, room.zero, room.limit, room.trial)


@kernel
def _lower_hull(x: Any, y: Any, keep: Any) -> int:
    """Positions of the lower convex hull of points (n) with rising x, left in `keep` (n); returns how many.

    One pass from left to right (Andrew, "Another efficient algorithm for convex hulls in two dimensions", 1979).
    """
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


fill_people, lower_hull = linked(_fill_people, worth=2.0), linked(_lower_hull)
