"""Costs that bend: what takes the place of prices a unit in the search.

Of a cost that need not be convex only its largest convex curve below, on the node's box, counts for bounds: at a price
on the score a change earns the most at one of its vertices, which lie on the cost itself, so that the bound of a node
loses nothing; and a fill that takes its pieces in the order of gain a price is exact for it (Falk and Soland, "An
algorithm for separable nonconvex programming problems", 1969). Where a fill ends between vertices, off the cost, the
box is split at a knot there. Of whole numbers the curve below is that of the costs of whole numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import hot, kernel, linked
from equieffort.foundations.tolerances import ALIKE, OUTWARDS
from equieffort.recourse.solvers.kernels.cost_curves import cost_at, farthest
from equieffort.recourse.solvers.kernels.simplex import SOLVED
from equieffort.recourse.solvers.linear_search.arrays import CUT, CUTOFF, FOLLOW, LAMBDA, SET, CompiledProblem, Work
from equieffort.recourse.solvers.linear_search.bound_kernels import (
    climb,
    earn_free,
    is_dropped,
    spread_inflow,
    value_at,
)
from equieffort.recourse.solvers.linear_search.row_kernels import climb_rows, solve_rows, value_of
from equieffort.recourse.solvers.linear_search.row_search_kernels import ROWS
from equieffort.recourse.solvers.linear_search.search_kernels import PROBES, _search_people

ROUNDS = 4
"""How often boxes are tightened and the bound raised in turn."""
FOCUSED = 4
"""How often a program is solved again nearer to where its point is."""
TURNS = 3
"""How many prices of tracks are tried after each."""
WORTH = 1e-3
"""Of a box: what must be left out for another turn."""


@kernel
def bend_by_curves(problem: CompiledProblem, work: Work) -> None:
    """The curves below the costs on the node's boxes, where these are not what they were."""
    ends = work.hulls_of
    for j in range(work.status.shape[0]):
        low, high = work.low[j], work.high[j]
        if work.status[j] == FOLLOW or low > high or (ends[j, 0] == low and ends[j, 1] == high):
            continue
        near = min(max(0.0, low), high)
        ends[j, 0], ends[j, 1] = low, high
        ends[j, 2] = cost_at(work.curves, work.who[0], j, near) if near != 0.0 else 0.0
        work.vertices[0, j] = work.vertices[1, j] = 1
        for side in range(2):
            work.hull[side, j, 0, 0], work.hull[side, j, 0, 1] = near, ends[j, 2]
        if near >= 0.0 and high > near:
            make_hull(work, np.int64(0), j, near, high, problem.whole[j])
        if near <= 0.0 and low < near:
            make_hull(work, np.int64(1), j, near, low, problem.whole[j])


@hot
def make_hull(work: Work, side: int, j: int, near: float, far: float, is_whole: bool) -> None:
    """The largest convex curve below an action's cost from one end of its box to the other."""
    points, i = work.curves.points, work.who[0]
    first, last, sign = work.curves.places[i, j, 0], work.curves.places[i, j, 1], 1.0 - 2.0 * side
    # The first knot further out than where the box begins.
    a, b = first - 1, last + 1
    while b - a > 1:
        middle = (a + b) // 2
        is_out = points[middle, 0] > near if side == 0 else points[middle, 0] >= near
        if is_out:
            b = middle
        else:
            a = middle
    m, step = (b, 1) if side == 0 else (a, -1)
    while first <= m <= last and sign * points[m, 0] < sign * far:
        if is_whole:
            inner = np.floor(points[m, 0]) if side == 0 else np.ceil(points[m, 0])
            outer = inner + sign
            if sign * inner > sign * near:
                add_vertex(work, side, j, inner, cost_at(work.curves, i, j, inner))
            if inner != points[m, 0] and sign * outer < sign * far:
                add_vertex(work, side, j, outer, cost_at(work.curves, i, j, outer))
        else:
            add_vertex(work, side, j, points[m, 0], points[m, 1])
        m += step
    if abs(far) < np.inf:
        add_vertex(work, side, j, far, cost_at(work.curves, i, j, far))
    else:
        add_ray(work, side, j, far, max(work.curves.tails[j, 1 - side], 0.0))


@hot
def add_vertex(work: Work, side: int, j: int, change: float, cost: float) -> None:
    """Add a point further out; what then lies above the curve goes."""
    hull, size = work.hull, work.vertices[side, j]
    if abs(change - hull[side, j, size - 1, 0]) <= 0.0:
        return
    while True:
        slope = (cost - hull[side, j, size - 1, 1]) / abs(change - hull[side, j, size - 1, 0])
        if size == 1 or slope > hull[side, j, size - 2, 2]:
            break
        size -= 1
    hull[side, j, size - 1, 2] = max(slope, 0.0)
    hull[side, j, size, 0], hull[side, j, size, 1], hull[side, j, size, 2] = change, cost, np.inf
    work.vertices[side, j] = size + 1


@kernel
def add_ray(work: Work, side: int, j: int, far: float, price: float) -> None:
    """Go on for ever at a price a unit; what then lies above goes."""
    hull, size = work.hull, work.vertices[side, j]
    while size > 1 and hull[side, j, size - 2, 2] >= price:
        size -= 1
    hull[side, j, size - 1, 2] = price
    hull[side, j, size, 0], hull[side, j, size, 1], hull[side, j, size, 2] = far, np.inf, np.inf
    work.vertices[side, j] = size + 1


@hot
def vertex_at(work: Work, side: int, j: int, worth: float) -> int:
    """The vertex at which a change earns the most, a unit being worth so much."""
    a, b = -1, work.vertices[side, j] - 1
    while b - a > 1:
        middle = (a + b) // 2
        if work.hull[side, j, middle, 2] < worth:
            a = middle
        else:
            b = middle
    return b


@hot
def earn_by_curve(work: Work, j: int, up: float, down: float, is_free: bool) -> float:
    """The most that setting action j earns, a unit being worth so much; where, is left in `at`."""
    if is_free:
        return earn_free(work, j, up, down)
    near = work.hull[0, j, 0, 0]
    best, work.at[j] = near * up if near > 0.0 else -near * down, near
    if near == 0.0:
        best = 0.0
    best -= work.hulls_of[j, 2]
    for side in range(2):
        worth = up if side == 0 else down
        work.focus[side, j] = 0
        if work.vertices[side, j] == 1 or not worth > 0.0:
            continue
        p = vertex_at(work, side, j, worth)
        work.focus[side, j] = p
        if p == 0:
            continue
        change = work.hull[side, j, p, 0]
        if abs(change) == np.inf:
            work.at[j] = change
            return np.inf
        value = abs(change) * worth - work.hull[side, j, p, 1]
        if value > best:
            best, work.at[j] = value, change
    return best


@kernel
def forced_by_curves(work: Work) -> float:
    """What is paid even where nothing is needed: boxes without zero."""
    total = 0.0
    for j in range(work.status.shape[0]):
        if work.status[j] != FOLLOW:
            total += work.hulls_of[j, 2]
    return total


@hot
def fill_hulls(work: Work, need: float) -> tuple[float, int, float]:
    """As `leaf_kernels.fill`, by the curves below the costs: the cost is theirs, a bound of what the point costs."""
    k, point, worth, hull, cost = work.trial.shape[0], work.point, work.worth, work.hull, 0.0
    for j in range(k):
        point[j], work.kept[0, j] = 0.0, -1.0
        if work.trial[j] == FOLLOW:
            continue
        point[j] = hull[0, j, 0, 0]
        cost += work.hulls_of[j, 2]
        need -= point[j] * worth[0, j]
        side = 0 if worth[0, j] > 0.0 else 1
        if worth[0, j] != 0.0 and work.vertices[side, j] > 1:
            work.kept[0, j], work.kept[1, j] = 0.0, hull[side, j, 0, 2] / abs(worth[0, j])
    while need > 0.0:
        best, rate = -1, np.inf
        for j in range(k):
            if work.kept[0, j] >= 0.0 and work.kept[1, j] < rate:
                best, rate = j, work.kept[1, j]
        if best < 0:
            return cost, -1, need
        gain = abs(worth[0, best])
        side, p = 0 if worth[0, best] > 0.0 else 1, np.int64(work.kept[0, best])
        slope, width, take = hull[side, best, p, 2], abs(hull[side, best, p + 1, 0] - point[best]), need / gain
        work.scalar[LAMBDA] = rate
        if take < width:
            point[best] += take if side == 0 else -take
            return cost + take * slope, best, 0.0
        point[best] = hull[side, best, p + 1, 0]
        cost += hull[side, best, p + 1, 1] - hull[side, best, p, 1]
        need -= width * gain
        is_last = p + 2 == work.vertices[side, best]
        work.kept[0, best] = -1.0 if is_last else float(p + 1)
        work.kept[1, best] = hull[side, best, p + 1, 2] / gain
    return cost, -1, 0.0


@kernel
def cost_by_curves(work: Work) -> float:
    """What the point costs, levels not counted."""
    total = 0.0
    for j in range(work.trial.shape[0]):
        if work.trial[j] != FOLLOW and work.point[j] != 0.0:
            total += cost_at(work.curves, work.who[0], j, work.point[j])
    return total


@kernel
def piece_at(work: Work, j: int, change: float) -> tuple[int, int]:
    """The side, and the vertex before a change strictly between two vertices; -1 where it is one, or none is known."""
    side = 0 if change > work.hull[0, j, 0, 0] else 1
    for p in range(work.vertices[side, j] - 1):
        one, other = work.hull[side, j, p, 0], work.hull[side, j, p + 1, 0]
        if min(one, other) < change < max(one, other):
            return side, p
    return side, -1


@kernel
def off_the_curve(work: Work, j: int) -> float:
    """How much more the point's change of an action costs than the curve below says."""
    change = work.point[j]
    side, p = piece_at(work, j, change)
    if p < 0:
        return 0.0
    said = work.hull[side, j, p, 1] + work.hull[side, j, p, 2] * abs(change - work.hull[side, j, p, 0])
    cost = cost_at(work.curves, work.who[0], j, change)
    return cost - said if cost - said > ALIKE * cost else 0.0


@kernel
def is_split_by_curve(problem: CompiledProblem, work: Work, part: int) -> bool:
    """Whether an action filled in part must be split to go on."""
    if problem.whole[part]:
        return work.point[part] != np.floor(work.point[part]) or off_the_curve(work, part) > 0.0
    return off_the_curve(work, part) > 0.0 and not np.isnan(knot_near(work, part))


@kernel
def knot_near(work: Work, j: int) -> float:
    """The knot nearest to the point's change of an action, strictly between the vertices around it; NaN if none is."""
    change, best = work.point[j], np.nan
    side, p = piece_at(work, j, change)
    if p < 0:
        return best
    one, other = work.hull[side, j, p, 0], work.hull[side, j, p + 1, 0]
    return knot_between(work, j, min(one, other), max(one, other), change)


@kernel
def knot_between(work: Work, j: int, low: float, high: float, change: float) -> float:
    """The knot strictly between two ends that is nearest to a change between them; NaN if there is none."""
    points, best = work.curves.points, np.nan
    first, last = work.curves.places[work.who[0], j, 0], work.curves.places[work.who[0], j, 1]
    a, b = first - 1, last + 1
    while b - a > 1:
        middle = (a + b) // 2
        if points[middle, 0] <= change:
            a = middle
        else:
            b = middle
    # The change may be a knot and an end, so one further down is looked at too.
    for m in range(max(a - 1, first), min(b, last) + 1):
        if low < points[m, 0] < high and not abs(points[m, 0] - change) >= abs(best - change):
            best = points[m, 0]
    return best


@kernel
def where_to_split_by_curve(problem: CompiledProblem, work: Work, j: int) -> float:
    """Where the box of an action filled in part is split: between whole numbers, or at a knot."""
    return work.point[j] if problem.whole[j] else knot_near(work, j)


@kernel
def halve_at_knot(problem: CompiledProblem, work: Work, j: int, at: float, is_above: bool) -> None:
    """Take one half of a box; who must move is set."""
    if is_above:
        work.low[j] = np.floor(at) + 1.0 if problem.whole[j] else at
    else:
        work.high[j] = np.floor(at) if problem.whole[j] else at
    if work.low[j] > 0.0 or work.high[j] < 0.0:
        work.status[j] = SET


@kernel
def budget_by_curve(work: Work, j: int, low: float, high: float, budget: float) -> tuple[float, float]:
    """As far as a budget pays for."""
    i, spare = work.who[0], budget * (1.0 + ALIKE)
    if high > 0.0 and cost_at(work.curves, i, j, high) > spare:
        high = min(high, farthest(work.curves, i, j, np.int64(1), spare))
    if low < 0.0 and cost_at(work.curves, i, j, low) > spare:
        low = max(low, farthest(work.curves, i, j, np.int64(-1), spare))
    return low, high


@kernel
def no_price(work: Work) -> float:
    """A change may cost next to nothing."""
    return 0.0


@kernel
def first_price_by_curves(problem: CompiledProblem, work: Work) -> float:
    """A price of score to begin with: the least above zero at which some action pays."""
    price = np.inf
    for j in range(work.status.shape[0]):
        if work.status[j] != FOLLOW:
            for side in range(2):
                slope = work.hull[side, j, 0, 2] if work.vertices[side, j] > 1 else 0.0
                if work.worth[side, j] > 0.0 and slope > 0.0:
                    price = min(price, slope / work.worth[side, j])
    return price if 0.0 < price < np.inf else 1.0


@kernel
def tighten_by_curves(
    problem: CompiledProblem, work: Work, bound: float, value: float, price: float
) -> tuple[float, float]:
    """Leave out of boxes what costs more than the best action, if a price gives this value: the bound then, and the
    price.

    A change that earns less than the most an action may earn raises the bound by the difference, if it is set so.
    """
    for _ in range(ROUNDS):
        spare = work.scalar[CUTOFF] - value
        if not spare < np.inf or value == -np.inf:
            break
        shrunk = 0
        for j in range(work.status.shape[0]):
            if work.status[j] != FOLLOW and work.gained[j] < np.inf and cut_ends(problem, work, j, spare):
                shrunk += 1
        if shrunk == 0:
            break
        bend_by_curves(problem, work)
        spread_inflow(problem, work)
        raised, at = climb(problem, work, price, PROBES)
        if raised > bound:
            bound, price = raised, at
        value = value_at(problem, work, price)[0]
        if is_dropped(work, bound, price):
            break
    return bound, price


@kernel
def cut_ends(problem: CompiledProblem, work: Work, j: int, spare: float) -> bool:
    """Cut the ends of a box, if setting the action there earns so much less than it may. True if that is much."""
    before = work.high[j] - work.low[j]
    if not before > 0.0:
        return False
    least = work.gained[j] - spare - ALIKE * (1.0 + abs(work.gained[j]) + abs(spare))
    low, high = earning_end(work, j, np.int64(-1), least), earning_end(work, j, np.int64(1), least)
    if work.status[j] != SET:
        # Who may be left to follow need not be set to anything.
        low, high = min(low, 0.0), max(high, 0.0)
    if problem.whole[j]:
        low, high = np.ceil(low), np.floor(high)
    if not low <= high:
        return False
    work.low[j], work.high[j] = low, high
    return high - low < before * (1.0 - WORTH)


@hot
def earning_end(work: Work, j: int, side: int, least: float) -> float:
    """The furthest change to one side (1, -1) within the box that earns so much, rounded outwards."""
    curves, points, i = work.curves, work.curves.points, work.who[0]
    end = work.high[j] if side > 0 else work.low[j]
    if abs(end) == np.inf:
        return end
    beyond, earns_beyond = end, earns(work, j, end, cost_at(curves, i, j, end))
    first, last = curves.places[i, j, 0], curves.places[i, j, 1]
    # The last knot further in than the end.
    a, b = first - 1, last + 1
    while b - a > 1:
        middle = (a + b) // 2
        is_in = points[middle, 0] < end if side > 0 else points[middle, 0] <= end
        if is_in:
            a = middle
        else:
            b = middle
    m = a if side > 0 else b
    if side < 0 and m <= last and points[m, 0] == end:
        m += 1
    while earns_beyond < least:
        is_knot = first <= m <= last and work.low[j] < points[m, 0] < work.high[j]
        inner = points[m, 0] if is_knot else work.low[j] if side > 0 else work.high[j]
        earned = earns(work, j, inner, points[m, 1] if is_knot else cost_at(curves, i, j, inner))
        if earned >= least:
            share = min(max((earned - least) / (earned - earns_beyond), 0.0), 1.0)
            found = inner + share * (beyond - inner)
            found += side * OUTWARDS * (abs(inner) + abs(beyond))
            return min(found, end) if side > 0 else max(found, end)
        if not is_knot:
            # Only rounding leaves nothing: the box stays.
            return end
        beyond, earns_beyond = inner, earned
        m -= side
    return end


@hot
def earns(work: Work, j: int, change: float, cost: float) -> float:
    """What setting an action to a change earns after its cost."""
    if change == 0.0:
        return -cost
    return (change * work.worth[0, j] if change > 0.0 else -change * work.worth[1, j]) - cost


@kernel
def set_columns_by_curves(work: Work, status: Any) -> float:
    """As `row_kernels.set_columns`: each way in pieces. Around the vertex in focus these are the curve below the cost
    itself, elsewhere lines that touch it from below, so that a program stays small."""
    paid, work.sizes[0] = 0.0, 0
    for j in range(status.shape[0]):
        work.point[j] = 0.0
        if status[j] == FOLLOW:
            continue
        work.point[j] = work.hull[0, j, 0, 0]
        paid += work.hulls_of[j, 2]
        for side in range(2):
            last = work.vertices[side, j] - 1
            if last < 1:
                continue
            first = min(max(work.focus[side, j] - 1, 0), last - 1)
            add_lines(work, side, j, first)
            for p in range(first, min(first + 2, last)):
                # The last piece that is seen goes on to the end of the box.
                end = last if p == first + 1 else p + 1
                add_column(
                    work, side, j, abs(work.hull[side, j, end, 0] - work.hull[side, j, p, 0]), work.hull[side, j, p, 2]
                )
    return paid


@kernel
def add_lines(work: Work, side: int, j: int, vertex: int) -> None:
    """Up to a vertex: the line that touches the curve where the box begins, then the one that ends at the vertex."""
    hull = work.hull
    if vertex == 0:
        return
    way, rise = abs(hull[side, j, vertex, 0] - hull[side, j, 0, 0]), hull[side, j, vertex, 1] - hull[side, j, 0, 1]
    one, other = hull[side, j, 0, 2], hull[side, j, vertex - 1, 2]
    # Where both lines meet.
    meet = (other * way - rise) / (other - one) if other > one else way
    meet = min(max(meet, 0.0), way)
    add_column(work, side, j, meet, one)
    add_column(work, side, j, way - meet, other)


@kernel
def add_column(work: Work, side: int, j: int, width: float, price: float) -> None:
    """A way to go on, at a price a unit."""
    program, count = work.program, work.sizes[0]
    if not width > 0.0:
        return
    work.column[count], program.width[count] = 2 * j + side, width
    program.price[count] = program.cost[count] = price
    if price == 0.0 or price * width <= ALIKE:
        program.price[count], program.cost[count] = 1.0 / width if width < np.inf else 1.0, 0.0
    work.sizes[0] += 1


@kernel
def solve_trial_by_curves(problem: CompiledProblem, work: Work, need: float) -> tuple[int, float]:
    """As `row_search_kernels.solve_trial`, the focus brought to where the point is."""
    state, value = solve_rows(problem, work, work.trial, need)
    for _ in range(FOCUSED):
        if state != SOLVED or not refocus(work):
            break
        state, other = solve_rows(problem, work, work.trial, need)
        value = max(value, other)
    return state, value


@kernel
def refocus(work: Work) -> bool:
    """Look where the point is; whether that is elsewhere."""
    moved = 0
    for j in range(work.trial.shape[0]):
        if work.trial[j] == FOLLOW or work.point[j] == work.hull[0, j, 0, 0]:
            continue
        side, p = piece_at(work, j, work.point[j])
        first = min(max(work.focus[side, j] - 1, 0), work.vertices[side, j] - 2)
        if p >= 0 and not first <= p <= first + 1:
            work.focus[side, j] = p + 1
            moved += 1
    return moved > 0


@kernel
def worst_bend_of_curves(problem: CompiledProblem, work: Work) -> int:
    """The action whose cost at the point lies furthest above what the program was told, or -1; where its box is to be
    split is left in `scalar`."""
    best, most, told = -1, 0.0, work.kept[0]
    for j in range(work.trial.shape[0]):
        told[j] = work.hulls_of[j, 2]
    for c in range(work.sizes[0]):
        told[work.column[c] // 2] += work.program.t[c] * work.program.cost[c]
    for j in range(work.trial.shape[0]):
        near, change = work.hull[0, j, 0, 0], work.point[j]
        if work.trial[j] == FOLLOW or change == near:
            continue
        far = work.high[j] if change > near else work.low[j]
        cost = cost_at(work.curves, work.who[0], j, change)
        if not cost - told[j] > max(most, ALIKE * cost):
            continue
        cut = knot_between(work, j, min(near, far), max(near, far), change)
        if problem.whole[j]:
            cut = change if change < work.high[j] else change - 1.0
        if not np.isnan(cut) and work.low[j] < work.high[j]:
            best, most, work.scalar[CUT] = j, cost - told[j], cut
    return best


@kernel
def in_parts(problem: CompiledProblem) -> bool:
    """Whether a set of interventions is looked at in parts: between knots."""
    return True


@kernel
def tighten_rows_by_curves(problem: CompiledProblem, work: Work, bound: float, value: float) -> float:
    """As `tighten_by_curves`, by the prices of all tracks."""
    for _ in range(ROUNDS):
        spare, shrunk = work.scalar[CUTOFF] - value, 0
        if not spare < np.inf or value == -np.inf:
            break
        for j in range(work.status.shape[0]):
            if work.status[j] != FOLLOW and work.gained[j] < np.inf and cut_ends(problem, work, j, spare):
                shrunk += 1
        if shrunk == 0:
            break
        bend_by_curves(problem, work)
        spread_inflow(problem, work)
        bound = max(bound, climb_rows(problem, work, TURNS))
        value = value_of(problem, work)
        if is_dropped(work, bound, work.prices[0]):
            break
    return bound


BENT: dict[str, Any] = {
    "bend": bend_by_curves, "earn_alone": earn_by_curve, "forced": forced_by_curves, "fill": fill_hulls,
    "cost_of": cost_by_curves, "is_split": is_split_by_curve, "where_to_split": where_to_split_by_curve,
    "halve": halve_at_knot, "within_budget": budget_by_curve, "least_price": no_price,
    "first_price": first_price_by_curves, "tighten": tighten_by_curves,
}  # fmt: skip
"""What takes the place of prices a unit."""

search_people_with_curves = linked(_search_people, "curves", is_large=True, worth=5.0, **BENT)
search_people_with_curves_and_rows = linked(
    _search_people, "curves and rows", is_large=True, worth=10.0, **ROWS, **BENT, set_columns=set_columns_by_curves,
    solve_trial=solve_trial_by_curves, worst_bend=worst_bend_of_curves, has_parts=in_parts,
    tighten_rows=tighten_rows_by_curves,
)  # fmt: skip
