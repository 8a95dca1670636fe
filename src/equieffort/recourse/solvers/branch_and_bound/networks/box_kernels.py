"""One node of the search, a box of changes: its lower bound, the actions in it, and where to branch.

Where undecided ReLUs cost most is branched on first, as in Bunel et al., "Branch and bound for piecewise linear neural
network verification" (2020).

Planes above the network's margins become rows of a small linear program, whose cost is the box's lower bound. Its
solution, shifted until the network itself agrees, gives actions. The two large functions are inlined where the search
calls them, since by themselves they would be compiled twice.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.tolerances import ALIKE
from equieffort.recourse.solvers.branch_and_bound.networks.crown_kernels import branching_scores, crown_upper_bounds
from equieffort.recourse.solvers.branch_and_bound.networks.program_kernels import (
    IMPOSSIBLE,
    cheapest,
    total_price,
)
from equieffort.recourse.solvers.branch_and_bound.networks.tightening_kernels import (
    broken_clause,
    choose_atom,
    fit_rows,
    is_allowed,
    nearest_atom,
    round_inwards,
    round_point,
    settle_clauses,
    tighten_bounds,
)
from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import copy, gradient_at, look_at
from equieffort.recourse.solvers.kernels.compiled import inner, pasted
from equieffort.recourse.solvers.kernels.cost_curves import cost_at, most_underpaid, tighten_to_budget

CLOSED, OPEN, THIN, WIDE = 0, 1, 2, 3
"""Nothing cheaper is in a box; it is to be cut; nothing is left to cut, and rounding decides; it has no end."""
SHIFTS = 3
WORTHWHILE = 0.5
"""A box that its rows cut to less than this share gets new planes."""
EDGE = 0.3
"""A box is cut at its cheapest point, but not nearer to an end than this share."""


class Best(NamedTuple):
    """The best action so far, and what was left aside."""

    cost: Any
    """[least cost or budget, least bound of what was dropped for its cost, least bound of thin boxes]."""
    change: Any
    root: Any
    """[root of the best action or -1, root of the best thin box or -1]."""
    thin: Any


@inner
def _agrees(net: Any, compiled: Any, roots: Any, r: int, point: Any, sure: float, work: Any) -> bool:
    """Whether the network's margins at a point reach what is needed with `sure` times its rounding to spare."""
    group, last = roots.group[r], net.widths.shape[0] - 1
    look_at(net, group, roots.start[r], roots.start_size[r], point, work)
    for m in compiled.members[roots.goal[r]]:
        if m >= 0 and not work.value[last, m] >= compiled.need[m] + sure * net.relative_error * work.size[last, m]:
            return False
    return True


@inner
def keep(
    net: Any, compiled: Any, roots: Any, prices: Any, r: int, point: Any, sure: float, work: Any, room: Any, best: Any
) -> bool:  # fmt: skip
    """Keep a point if it is an action, and the cheapest so far; whether it is one."""
    if not is_allowed(compiled, roots, r, point, room) or not _agrees(net, compiled, roots, r, point, sure, work):
        return False
    cost = roots.price[r] + total_price(prices, point)
    if cost < best.cost[0]:
        best.cost[0] = cost
        copy(point, best.change)
        best.root[0] = r
    return True


@pasted
def local_search(
    net: Any, compiled: Any, roots: Any, prices: Any, r: int, low: Any, high: Any, sure: float, work: Any, table: Any,
    room: Any, best: Any,
) -> None:  # fmt: skip
    """A first action: follow the network's slopes from the fact, linear program by linear program."""
    group, last = roots.group[r], net.widths.shape[0] - 1
    point, other = room.point, room.other
    for j in range(low.shape[0]):
        point[j] = min(max(0.0, low[j]), high[j])
    ahead = 0.0
    for turn in range(12 + compiled.clause_start.shape[0]):
        look_at(net, group, roots.start[r], roots.start_size[r], point, work)
        count: Any = np.int64(0)
        for m in compiled.members[roots.goal[r]]:
            if m >= 0:
                gradient_at(net, group, m, work, room.rows[count])
                value, need = work.value[last, m], compiled.need[m]
                here = 0.0
                for j in range(low.shape[0]):
                    here += room.rows[count, j] * point[j]
                lack = need + 2.0 * sure * net.relative_error * work.size[last, m] - value
                if turn == 0:
                    ahead = max(ahead, 1e-4 * abs(lack))
                room.row_low[count], room.row_high[count] = lack + ahead + here, np.inf
                count += 1
        count = fit_rows(compiled, roots, r, low, high, room, count)
        state, _ = cheapest(prices, low, high, room.rows, room.row_low, room.row_high, count, table, other)
        if state == IMPOSSIBLE:
            # Nothing near by: go where the first margin rises, as far as the box goes.
            for j in range(low.shape[0]):
                slope = room.rows[0, j]
                other[j] = high[j] if slope > 0.0 else low[j] if slope < 0.0 else point[j]
        round_point(other, compiled.whole[group], room.rows[0], low, high)
        clause = broken_clause(compiled, roots, r, other, room)
        if clause >= 0:
            atom = nearest_atom(compiled, roots, prices, r, clause, other)
            if atom < 0 or not choose_atom(compiled, roots, r, atom, room):
                return
            continue
        moved = False
        for j in range(low.shape[0]):
            moved |= other[j] != point[j]
            point[j] = other[j]
        agreed = keep(net, compiled, roots, prices, r, point, sure, work, room, best)
        if not moved or (agreed and turn >= 6):
            return
        if turn >= 3 and not agreed:
            ahead *= 4.0


@pasted
def process_node(
    net: Any, compiled: Any, roots: Any, prices: Any, r: int, low: Any, high: Any, sure: float, gap: float, found: bool,
    forgive: bool, work: Any, table: Any, room: Any, best: Any,
) -> tuple[int, float, int, float]:  # fmt: skip
    """Bound a box and look for actions in it: (CLOSED, OPEN or THIN, bound, action to cut, where).

    Instead of an action, -1 - q stands for clause q: one box for each of its atoms.
    """
    group, last = roots.group[r], net.widths.shape[0] - 1
    members, whole = compiled.members[roots.goal[r]], compiled.whole[group]
    k, price = low.shape[0], roots.price[r]
    if not tighten_to_budget(prices, 0, room.still, best.cost[0] - price, low, high) or not round_inwards(
        low, high, whole
    ):
        return CLOSED, 0.0, -1, 0.0
    for j in range(k):
        if not (np.isfinite(low[j]) and np.isfinite(high[j])):
            return WIDE, price, -1, 0.0
    count: Any = np.int64(0)
    for _ in range(2):
        if not settle_clauses(compiled, roots, r, low, high, room):
            return CLOSED, 0.0, -1, 0.0
        for j in range(k):
            room.other[j] = high[j] - low[j]
        crown_upper_bounds(net, group, roots.start[r], roots.start_size[r], low, high, members, work, room.score)
        count = np.int64(0)
        for m in members:
            if m >= 0:
                copy(work.plane[m], room.rows[count])
                room.row_low[count] = compiled.need[m] - work.rounding_error[m] - work.const[m]
                room.row_high[count] = np.inf
                count += 1
        count = fit_rows(compiled, roots, r, low, high, room, count)
        if not tighten_bounds(room.rows, room.row_low, room.row_high, count, low, high):
            return CLOSED, 0.0, -1, 0.0
        if not round_inwards(low, high, whole):
            return CLOSED, 0.0, -1, 0.0
        shrunk = 1.0
        for j in range(k):
            if room.other[j] > 0.0:
                shrunk *= (high[j] - low[j]) / room.other[j]
        if shrunk > WORTHWHILE:
            break
    state, cost = cheapest(prices, low, high, room.rows, room.row_low, room.row_high, count, table, room.point)
    if state == IMPOSSIBLE:
        return CLOSED, 0.0, -1, 0.0
    bound = max(price + cost, 0.0)
    if bound >= best.cost[0] * (1.0 - gap if found else 1.0):
        best.cost[1] = min(best.cost[1], bound)
        return CLOSED, bound, -1, 0.0
    clause = broken_clause(compiled, roots, r, room.point, room)
    if clause >= 0:
        return OPEN, bound, -1 - clause, 0.0

    # What an action that rounding cannot undo costs here at least.
    i = 0
    for m in members:
        if m >= 0:
            room.row_low[i] = compiled.need[m] - work.const[m] + 0.5 * sure * work.rounding_error[m]
            i += 1
    state, least = cheapest(prices, low, high, room.rows, room.row_low, room.row_high, count, table, room.other)
    least = np.inf if state == IMPOSSIBLE else least + price

    # Where the planes are loose, ask for as much more as the network falls short of them.
    point, other = room.point, room.other
    copy(point, other)
    loose = -1.0
    worst: Any = np.int64(-1)
    at_once = False
    for turn in range(SHIFTS + 1):
        round_point(other, whole, room.rows[0], low, high)
        agreed = keep(net, compiled, roots, prices, r, other, sure, work, room, best)
        here = point if turn == 0 else other
        if not agreed or turn == 0:
            # What is not allowed was not looked at, and of whole numbers the rounded point was.
            look_at(net, group, roots.start[r], roots.start_size[r], here, work)
        i = 0
        for m in members:
            if m < 0:
                continue
            short = work.const[m] - work.value[last, m]
            for j in range(k):
                short += room.rows[i, j] * here[j]
            if turn == 0:
                # Of whole numbers the rounded point was looked at, and it may be dearer.
                at_once = agreed and price + total_price(prices, other) <= bound + ALIKE * (1.0 + bound)
                room.short[i] = max(short, 0.0)
                lacks = work.value[last, m] < compiled.need[m] + sure * net.relative_error * work.size[last, m]
                if lacks and short > loose:
                    loose, worst = short, m
            else:
                room.short[i] = max(room.short[i], short)
            room.row_low[i] = compiled.need[m] - work.const[m] + 1.01 * sure * work.rounding_error[m] + room.short[i]
            i += 1
        if agreed or turn == SHIFTS:
            break
        state, cost = cheapest(prices, low, high, room.rows, room.row_low, room.row_high, count, table, other)
        if state == IMPOSSIBLE or price + cost >= best.cost[0]:
            break
    if worst < 0 and at_once:
        # The cheapest point of the box is an action: nothing here is cheaper.
        best.cost[1] = min(best.cost[1], bound)
        return CLOSED, bound, -1, 0.0
    if 2.0 * least - bound >= best.cost[0]:
        # Only points that rounding decides could be cheaper by more than rounding costs anyway; of whole numbers these
        # are still looked for.
        seek = False
        for j in range(k):
            seek |= forgive and whole[j] and low[j] < high[j]
        if not seek:
            return THIN, bound, -1, 0.0
    return _where(net, compiled, roots, prices, r, low, high, bound, worst, work, room)


@inner
def _where(
    net: Any, compiled: Any, roots: Any, prices: Any, r: int, low: Any, high: Any, bound: float, worst: int,
    work: Any, room: Any,
) -> tuple[int, float, int, float]:  # fmt: skip
    """Where to cut a box whose cheapest point is `room.point`."""
    group, k = roots.group[r], low.shape[0]
    whole, point = compiled.whole[group], room.point
    j: Any = np.int64(-1)
    fixed = True
    for g in range(k):
        fixed &= low[g] == high[g]
    if fixed and not _agrees(net, compiled, roots, r, low, -1.0, work):
        # The rows left a single point, and the network itself says no there.
        return CLOSED, bound, -1, 0.0
    if worst >= 0 and not fixed:
        look_at(net, group, roots.start[r], roots.start_size[r], point, work)
        branching_scores(net, group, roots.start[r], worst, low, high, work, room.score)
        j = np.int64(-1)
        for g in range(k):
            if high[g] > low[g] and room.score[g] > 0.0 and (j < 0 or room.score[g] > room.score[j]):
                j = g
        if j < 0:
            # The planes are flat and do not say: the widest action, by cost.
            widest = 0.0
            for g in range(k):
                wide = cost_at(prices, 0, g, high[g]) if high[g] > 0.0 else -cost_at(prices, 0, g, high[g])
                wide += cost_at(prices, 0, g, low[g]) if low[g] < 0.0 else -cost_at(prices, 0, g, low[g])
                if high[g] > low[g] and (j < 0 or wide > widest):
                    j, widest = g, wide
        if j >= 0:
            edge = EDGE * (high[j] - low[j])
            middle = min(max(point[j], low[j] + edge), high[j] - edge)
            if whole[j]:
                return OPEN, bound, j, np.floor(middle)
            if low[j] < middle < high[j]:
                return OPEN, bound, j, middle
    j, part = np.int64(-1), 0.0
    for g in range(k):
        if whole[g]:
            fraction = point[g] - np.floor(point[g])
            if min(fraction, 1.0 - fraction) > part:
                j, part = g, min(fraction, 1.0 - fraction)
    if j >= 0:
        return OPEN, bound, j, np.floor(point[j])
    # A cost that bends inside the box was charged too little: cut where it bends.
    j, knot, _ = most_underpaid(prices, 0, room.still, low, high, point)
    if j >= 0 and roots.price[r] + total_price(prices, point) > bound + ALIKE * (1.0 + bound):
        return OPEN, bound, j, np.floor(knot) if whole[j] else knot
    return THIN, bound, -1, 0.0
