"""Branch and bound for one person and a ReLU network: the cheapest change, proven to a gap.

Best-first branch and bound (Land and Doig, 1960) over boxes of changes, all ways to act in one heap. Until there is an
action, a growing budget stands in for its cost, so that boxes without end can be searched.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.recourse.solvers.branch_and_bound.networks.box_kernels import (
    OPEN,
    THIN,
    WIDE,
    Best,
    keep,
    local_search,
    process_node,
)
from equieffort.recourse.solvers.branch_and_bound.networks.program_kernels import make_table, total_price
from equieffort.recourse.solvers.branch_and_bound.networks.tightening_kernels import (
    Room,
    choose_atom,
    is_allowed,
    open_root,
    round_inwards,
)
from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import (
    clear,
    copy,
    gradient_at,
    look_at,
    make_work,
    reaches,
)
from equieffort.recourse.solvers.endings import DONE, ENDLESS, NODES, TIME
from equieffort.recourse.solvers.kernels.compiled import entry, inner
from equieffort.recourse.solvers.kernels.cost_curves import cost_at, tighten_to_budget
from equieffort.recourse.solvers.kernels.heap import grown, grown_list, heap_pop, heap_push

MOST_DOUBLINGS = 12
FAR, FAR_NODES = 5, 10_000
"""From this budget on, more than a hundred times what slopes promised, only so many boxes are spent in all."""


@inner
def _dearest(roots: Any, prices: Any) -> float:
    """What the most expensive action costs that any limit allows."""
    most = 0.0
    for r in range(roots.group.shape[0]):
        total = roots.price[r]
        for j in range(roots.low.shape[1]):
            for end in (roots.low[r, j], roots.high[r, j]):
                if not np.isfinite(end):
                    return np.inf
            total += max(cost_at(prices, 0, j, roots.low[r, j]), cost_at(prices, 0, j, roots.high[r, j]))
        most = max(most, total)
    # A little more, so that nothing is dropped for costing as much as that.
    return most * (1.0 + 1e-6) + 1e-9


@inner
def _first_budget(net: Any, compiled: Any, roots: Any, prices: Any, dearest: float, work: Any, room: Any) -> float:
    """What the first plausible action costs, judged by the slopes at the fact."""
    last, best = net.widths.shape[0] - 1, np.inf
    clear(room.point, room.point.shape[0])
    for r in range(min(roots.group.shape[0], 64)):
        look_at(net, roots.group[r], roots.start[r], roots.start_size[r], room.point, work)
        total = roots.price[r]
        for m in compiled.members[roots.goal[r]]:
            if m < 0:
                continue
            gradient_at(net, roots.group[r], m, work, room.score)
            rate = 0.0
            for j in range(room.score.shape[0]):
                slope = room.score[j]
                if slope != 0.0 and roots.high[r, j] > roots.low[r, j]:
                    side = 1 if slope > 0.0 else 0
                    if prices.tails[j, side] > 0.0:
                        rate = max(rate, abs(slope) / prices.tails[j, side])
            lack = max(compiled.need[m] - work.value[last, m], 0.0)
            total = max(total, roots.price[r] + lack / rate if rate > 0.0 else np.inf)
        best = min(best, total)
    if not np.isfinite(best) or best <= 0.0:
        best = dearest / 32.0 if np.isfinite(dearest) else 1.0
    return min(1.5 * best, dearest)


@entry
def search(
    net: Any, compiled: Any, roots: Any, prices: Any, sure: float, forgive: bool, gap: float, most_nodes: int,
    stop: Any, change: Any,
) -> tuple[int, int, float, float, int]:  # fmt: skip
    """The cheapest action of one person: (why it ended, root or -1, cost, bound, nodes).

    `sure`: how many times its rounding a margin must pass its need; `forgive`: a point that only reaches its need up
    to rounding may be proposed where nothing surer is as cheap and its numbers cannot be moved a little.
    """
    k, m, work = roots.low.shape[1], compiled.rows.shape[1], make_work(net)
    many = compiled.members.shape[1] + m
    table = make_table(k, many)
    room = Room(
        np.zeros((many, k)), np.zeros(many), np.zeros(many), np.zeros(k), np.zeros(k), np.zeros(k), np.zeros(many),
        np.zeros(m), np.zeros(m), np.zeros(k),
    )  # fmt: skip
    best = Best(np.full(3, np.inf), np.zeros(k), np.full(2, -1, dtype=np.int64), np.zeros(k))
    alive = np.zeros(roots.group.shape[0], dtype=np.bool_)
    some = False
    for r in range(alive.shape[0]):
        members = compiled.members[roots.goal[r]]
        alive[r] = reaches(
            net, roots.group[r], roots.start[r], roots.start_size[r], roots.low[r], roots.high[r], compiled.need,
            members, work,
        )  # fmt: skip
        some |= alive[r]
    if not some:
        return DONE, -1, np.inf, np.inf, 0
    dearest = _dearest(roots, prices)
    budget = _first_budget(net, compiled, roots, prices, dearest, work, room)
    low, high = np.zeros(k), np.zeros(k)
    tried = 0
    for r in range(alive.shape[0]):
        if alive[r] and tried < 64:
            tried += 1
            open_root(roots, r, low, high, room)
            reach = min(best.cost[0], min(dearest, 1024.0 * budget)) - roots.price[r]
            if tighten_to_budget(prices, 0, room.still, reach, low, high) and round_inwards(
                low, high, compiled.whole[roots.group[r]]
            ):
                local_search(net, compiled, roots, prices, r, low, high, sure, work, table, room, best)

    nodes, found, proven, ended = 0, best.root[0] >= 0, 0.0, DONE
    size, far = 256, most_nodes
    keys, turns, ids = np.zeros(size), np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    owner, cut_at, spare = np.zeros_like(ids), np.zeros_like(ids), np.zeros_like(ids)
    where, lows, highs = np.zeros(size), np.zeros((size, k)), np.zeros((size, k))
    floors, roofs = np.zeros((size, m)), np.zeros((size, m))
    for doubling in range(MOST_DOUBLINGS):
        if not found:
            best.cost[0] = budget
        best.cost[1] = best.cost[2] = np.inf
        best.root[1] = -1
        if doubling == FAR and not np.isfinite(dearest):
            far = nodes + FAR_NODES
        count, spares, used = 0, 0, 0
        queue: Any = np.int64(0)
        node: Any = -1
        child, children, j = 0, 2, 0
        while True:
            # First the roots, then the parts of the best box: two halves, or one for each atom of a clause.
            if queue < alive.shape[0]:
                r = queue
                queue += 1
                if not alive[r]:
                    continue
                open_root(roots, r, low, high, room)
            else:
                if child == 0:
                    if node >= 0:
                        spare[spares] = node
                        spares += 1
                        node = -1
                    if count == 0:
                        break
                    if keys[0] >= best.cost[0] * (1.0 - gap if found else 1.0):
                        best.cost[1] = min(best.cost[1], keys[0])
                        break
                    if nodes >= most_nodes or stop[0] != 0 or (nodes >= far and not found):
                        ended = NODES if nodes >= most_nodes else TIME if stop[0] != 0 else ENDLESS
                        best.cost[1] = min(best.cost[1], keys[0])
                        break
                    count = heap_pop(keys, turns, ids, count)
                    node = ids[count]
                    j = cut_at[node]
                    children = 2 if j >= 0 else compiled.clause_start[-j] - compiled.clause_start[-1 - j]
                r, at, part = owner[node], where[node], child
                child = child + 1 if child + 1 < children else 0
                copy(lows[node], low)
                copy(highs[node], high)
                copy(floors[node], room.floor)
                copy(roofs[node], room.roof)
                if j < 0:
                    if not choose_atom(compiled, roots, r, compiled.clause_start[-1 - j] + part, room):
                        continue
                elif part == 0:
                    high[j] = at
                else:
                    low[j] = at + 1.0 if compiled.whole[roots.group[r], j] else at
            nodes += 1
            state, bound, way, at = process_node(
                net, compiled, roots, prices, r, low, high, sure, gap, found, forgive, work, table, room, best
            )
            found = best.root[0] >= 0
            if state == THIN:
                fixed = True
                for g in range(k):
                    fixed &= low[g] == high[g] or compiled.whole[roots.group[r], g]
                if forgive and fixed and keep(net, compiled, roots, prices, r, room.point, -1.0, work, room, best):
                    found = True
                if bound < best.cost[2]:
                    best.cost[2] = bound
                    best.root[1] = r if is_allowed(compiled, roots, r, room.point, room) else -1
                    copy(room.point, best.thin)
            elif state == WIDE:
                best.cost[2] = min(best.cost[2], bound)
            elif state == OPEN:
                if spares > 0:
                    spares -= 1
                    new = spare[spares]
                else:
                    new = used
                    used += 1
                if new == keys.shape[0]:
                    keys, turns, ids = grown_list(keys), grown_list(turns), grown_list(ids)
                    owner, cut_at, spare = grown_list(owner), grown_list(cut_at), grown_list(spare)
                    where, lows, highs = grown_list(where), grown(lows), grown(highs)
                    floors, roofs = grown(floors), grown(roofs)
                owner[new], cut_at[new], where[new] = r, way, at
                copy(low, lows[new])
                copy(high, highs[new])
                copy(room.floor, floors[new])
                copy(room.roof, roofs[new])
                count = heap_push(keys, turns, ids, count, bound, nodes, new)
        left = min(best.cost[1], best.cost[2])
        if found or ended != DONE:
            proven = max(proven, min(left, best.cost[0]))
            break
        proven = max(proven, min(left, budget))
        if budget >= dearest:
            proven = left
            break
        budget = min((2.0 if doubling < 4 else 8.0) * budget, dearest)
        ended = ENDLESS if doubling == MOST_DOUBLINGS - 1 else DONE
    if found:
        copy(best.change, change)
        return ended, best.root[0], best.cost[0], min(proven, best.cost[0]), nodes
    if best.root[1] >= 0 and ended == DONE:
        copy(best.thin, change)
        thin = roots.price[best.root[1]] + total_price(prices, best.thin)
        return ended, best.root[1], thin, proven, nodes
    return ended, -1, np.inf, proven, nodes
