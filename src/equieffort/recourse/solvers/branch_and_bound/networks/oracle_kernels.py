"""ReLU networks as an oracle of the search: planes above their margins over a box, actions in it, where to split.

Planes become rows of the small linear program whose cost is the node's bound. Its solution, shifted until the network
itself agrees, gives actions. Where undecided ReLUs cost most is branched on first, as in Bunel et al., "Branch and
bound for piecewise linear neural network verification" (2020): by an action or, where there are many, by the sign
of what enters a ReLU of the first layer, which is a row of the program and makes that ReLU a line.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.records import record
from equieffort.foundations.tolerances import ALIKE, OUTWARDS, PRUNING, ROUNDING, SUMMED, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK,
    ASK_THIN,
    CLOSED,
    COST,
    COUNT,
    THIN,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Person,
    Search,
    Split,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import (
    cheapest,
    copy,
    cost_of,
    price_at,
    tighten_bounds,
)
from equieffort.recourse.solvers.branch_and_bound.networks.crown_kernels import branching_scores, crown_upper_bounds
from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import (
    Budget,
    Net,
    Work,
    clear,
    gradient_at,
    look_at,
    make_work,
    reaches,
    start_at,
)
from equieffort.recourse.solvers.branch_and_bound.node_kernels import (
    choose_atom,
    no_split,
    open_root,
    person_at,
    settle_clauses,
    split_action,
    split_clause,
    split_mark,
)
from equieffort.recourse.solvers.branch_and_bound.point_kernels import (
    broken_clause,
    drop,
    is_allowed,
    keep,
    keeps_clause,
    near,
    place,
)
from equieffort.recourse.solvers.branch_and_bound.search_kernels import search_people
from equieffort.recourse.solvers.kernels.cost_curves import Curves, most_underpaid, slope_below
from equieffort.recourse.solvers.kernels.simplex import EMPTY, combined

SHIFTS = 3
"""How often a point that the network does not agree to is shifted."""
TURNS, WORTHWHILE = 4, 0.1
"""A box gets new planes so often, while its bound comes nearer to the limit by this share."""
MOST_SIGNS, LOOSER = 12, 0.2
"""A box has so many signs at most; it is split by one if that ReLU is so many times as loose as what the best action
has to do with."""
MOST_RANGES = 256
"""A box remembers so many numbers at most of what enters its ReLUs: of the first layers."""
EDGE = 0.3
"""A box is cut at its cheapest point, but not nearer to an end than this share."""
MOST_TRIED, DESCENTS = 64, 12
"""From so many roots a first action is looked for, in so many steps each."""
FIRST = 0.25
"""The first budget, as a part of what a known action costs."""
REACH = 1024.0
"""How many first budgets the search for a first action may spend."""


@record
class Tools(NamedTuple):
    """Room to work in."""

    work: Work
    change: Any
    """(n) a point of changes."""
    z: Any
    """(n) a point of values."""
    score: Any
    """(n)"""
    short: Any
    """(plane) how far the network falls short of it."""
    const: Any
    """(plane) its height at the fact."""
    error: Any
    """(plane) how far rounding may carry the margin there."""
    before: Any
    """(c) the level of each category."""
    signs: Any
    """(1) how many of the planes say which sign something has; these come first."""


def make_tools(net: Net, problem: CompiledProblem, people: CompiledBatch) -> tuple[Tools, Memo]:
    """Room for a network, and for the signs that a node was split by and the ranges of what enters its ReLUs."""
    n, work = problem.actions.shape[0], make_work(net, problem.root_set.shape[0])
    planes = MOST_SIGNS + TURNS * net.need.shape[0]
    tools = Tools(
        work, np.empty(n), np.empty(n), np.empty(n), np.empty(planes), np.empty(planes), np.empty(planes),
        np.empty(problem.categories.shape[0], dtype=np.int64), np.zeros(1, dtype=np.int64),
    )  # fmt: skip
    a_layer = 2 * work.low.shape[1]
    layers = min(net.widths.shape[0] - 1, MOST_RANGES // a_layer)
    return tools, Memo(np.zeros(layers * a_layer + 1), np.empty(MOST_SIGNS, dtype=np.int32))


@kernel
def begin_round(search: Search, i: int) -> None:
    """Nothing is forgotten."""


@kernel
def begin_person(search: Search, i: int) -> float:
    """What the first plausible action costs, judged by the slopes at the fact; a part of that once a real one is found,
    infinite if there can be none at all."""
    tools, problem, people, space, best = search.tools, search.problem, search.people, search.space, search.best
    for c in range(tools.before.shape[0]):
        tools.before[c] = int(people.x[i, problem.categories[c]])
    estimate, tried, some = np.inf, 0, False
    space.planes.count[0] = tools.signs[0] = 0
    for pace in range(2):
        for root in range(problem.root_set.shape[0]):
            if tried >= MOST_TRIED or not open_root(problem, people, i, root, space.starts[root], space.box):
                continue
            person = person_at(problem, people, i, root, space)
            if not settle_clauses(problem, person, space.box) or not add_root(search, person):
                continue
            tried, some = tried + 1, True
            if pace == 0:
                estimate = min(estimate, _slope_cost(search, person))
                continue
            reach = min(best.cost[COST], REACH * estimate) - person.price
            if tighten_bounds(problem, person, people.curves, reach, space.box, space.planes):
                _descend(search, person)
                space.planes.count[0] = 0
        tried = 0
        if pace == 0 and not 0.0 < estimate < np.inf:
            estimate = 1.0
    if not some:
        return np.inf
    # A larger budget leaves planes looser: what costs little is looked at first, though an action is known.
    return 1.5 * estimate if best.cost[COST] == np.inf else FIRST * best.cost[COST]


@kernel
def add_root(search: Search, person: Person) -> bool:
    """Its start; False if ranges alone show that the margins cannot reach what they need."""
    net, tools, work = search.oracle, search.tools, search.tools.work
    start_at(net, work, person, search.problem.root_level[person.root], tools.before)
    _take_box(search, person)
    return reaches(net, work, person)


@kernel
def _take_box(search: Search, person: Person) -> bool:
    """The box at hand as one of changes; False if it has no end."""
    box, own, ends = search.space.box, search.tools.work.box, True
    for j in range(box.low.shape[0]):
        own.low[j], own.high[j] = box.low[j] - person.fact[j], box.high[j] - person.fact[j]
        ends = ends and np.isfinite(own.low[j]) and np.isfinite(own.high[j])
    return ends


@kernel
def _take_budget(search: Search, person: Person, budget: float) -> None:
    """What a budget leaves of the box at hand: dearer points need not be bounded."""
    box, curves, own = search.space.box, search.people.curves, search.tools.work.budget
    least = 0.0
    for j in range(box.low.shape[0]):
        z = min(max(person.fact[j], box.low[j]), box.high[j])
        own.near[j] = z - person.fact[j]
        least += price_at(person, curves, j, z)
        for side in range(2):
            far = box.high[j] if side == 0 else box.low[j]
            price = person.up[j] if side == 0 else person.down[j]
            if curves.bends and z != far:
                price = slope_below(curves, person.row, j, z, far)
            _charge(own, j, side, price, abs(far - z))
    _spend(own, budget - least + ALIKE * (1.0 + budget))


@kernel
def _charge(own: Budget, j: int, side: int, price: float, width: float) -> None:
    """What it costs to move an action one way, so far as it may."""
    own.room[side, j] = price * width
    own.per_cost[side, j] = 1.0 / price if price > 0.0 else 0.0
    own.free[side, j] = width if price <= 0.0 else 0.0


@kernel
def _spend(own: Budget, left: float) -> None:
    """What is left to be spent; no limit where the box ends before that."""
    most = 0.0
    for j in range(own.near.shape[0]):
        most += max(own.room[0, j], own.room[1, j])
    own.left[0] = max(left, 0.0) if left < most else np.inf


@kernel
def _reduce(search: Search, person: Person, limit: float, below: float) -> bool:
    """Tighten the box at hand by what the program just solved says of everything that costs less than the limit.

    By its multipliers a point costs at least the program's value and the reduced cost of each of its steps away from
    the program's own (Dantzig, Fulkerson and Johnson, "Solution of a large-scale traveling-salesman problem", 1954):
    what is left of the limit ends these steps one by one and, as a budget, all together. False if nothing is left.
    """
    space, own, box = search.space, search.tools.work.budget, search.space.box
    program, rows = space.program, space.sizes[0]
    left = limit - below + ALIKE * (1.0 + limit)
    for j in range(box.low.shape[0]):
        own.near[j] = min(max(person.fact[j], box.low[j]), box.high[j]) - person.fact[j]
        for side in range(2):
            own.room[side, j] = 0.0
    for c in range(space.sizes[1]):
        total, parts = combined(program, rows, c)
        rest, error = program.cost[c] - total, SUMMED * (program.cost[c] + parts)
        own.room[0 if space.sign[c] > 0.0 else 1, space.action[c]] = (
            max(rest - error, 0.0) if rest > 0.0 else min(rest + error, 0.0)
        )
    for j in range(box.low.shape[0]):
        up, down, fact = own.room[0, j], own.room[1, j], person.fact[j]
        near = fact + own.near[j]
        if up < 0.0 or down < 0.0:
            # The program goes to an end and would go on: any step back costs what that saved, and beyond the fact more.
            towards = 1 if up < 0.0 else 0
            back = -min(up, down)
            if (box.low[j] < near) if up < 0.0 else (near < box.high[j]):
                back = max(min(back, max(up, down)), 0.0)
            near = box.high[j] if up < 0.0 else box.low[j]
            own.near[j] = near - fact
            up, down = (0.0, back) if towards == 1 else (back, 0.0)
        if up > 0.0:
            over = near + left / up
            box.high[j] = min(box.high[j], over + OUTWARDS * (abs(near) + abs(over)))
        if down > 0.0:
            under = near - left / down
            box.low[j] = max(box.low[j], under - OUTWARDS * (abs(near) + abs(under)))
        if search.problem.whole[j]:
            box.low[j], box.high[j] = np.ceil(box.low[j]), np.floor(box.high[j])
        if box.low[j] > box.high[j]:
            return False
        _charge(own, j, 0, up, max(box.high[j] - near, 0.0))
        _charge(own, j, 1, down, max(near - box.low[j], 0.0))
        space.z[j] = min(max(space.z[j], box.low[j]), box.high[j])
    _spend(own, left)
    return True


@kernel
def _unit_price(person: Person, curves: Curves, j: int, rises: bool) -> float:
    """What a unit costs, far away where costs bend."""
    if curves.bends:
        return curves.tails[j, 1 if rises else 0]
    return person.up[j] if rises else person.down[j]


@kernel
def _slope_cost(search: Search, person: Person) -> float:
    """What an action costs if all goes on as it begins at the fact."""
    net, tools, work, box = search.oracle, search.tools, search.tools.work, search.space.box
    last, total = net.widths.shape[0] - 1, person.price
    clear(tools.change, tools.change.shape[0])
    look_at(net, work, person, tools.change)
    for m in person.members:
        gradient_at(net, work, person, m, tools.score)
        rate = 0.0
        for j in range(tools.score.shape[0]):
            price = _unit_price(person, search.people.curves, j, tools.score[j] > 0.0)
            if box.high[j] > box.low[j] and price > 0.0:
                rate = max(rate, abs(tools.score[j]) / price)
        lack = max(net.need[m] - work.value[last, m], 0.0)
        total = max(total, person.price + lack / rate if rate > 0.0 else np.inf)
    return total


@kernel
def _descend(search: Search, person: Person) -> None:
    """A first action: follow the network's slopes from the fact, linear program by linear program."""
    problem, curves, space, z = search.problem, search.people.curves, search.space, search.tools.z
    box, point, ahead = space.box, space.point, 0.0
    for j in range(z.shape[0]):
        z[j] = min(max(person.fact[j], box.low[j]), box.high[j])
    for turn in range(DESCENTS + problem.clause_start.shape[0]):
        ahead = _tangents(search, person, z, ahead, turn == 0)
        state, _ = cheapest(problem, person, curves, box, space.z, space)
        if state == EMPTY:
            # Nothing near by: go where the first margin rises, as far as the box goes.
            for j in range(z.shape[0]):
                slope = space.planes.rows[0, j]
                space.z[j] = box.high[j] if slope > 0.0 else box.low[j] if slope < 0.0 else z[j]
        if not _place(search, person, space.z):
            return
        clause = broken_clause(problem, person, point.cell)
        if clause >= 0:
            atom = _nearest_atom(problem, person, curves, clause, point.cell.low)
            if atom < 0 or not choose_atom(problem, person, atom, box):
                return
            continue
        moved = False
        for j in range(z.shape[0]):
            moved = moved or z[j] != point.z[j]
        copy(point.z, z)
        agreed = is_allowed(problem, person, space) and _agrees(search, person, search.options.strict, point.z)
        if agreed:
            keep(search.best, person, cost_of(person, curves, point.z), space)
        if not moved or (agreed and turn >= 6):
            return
        if turn >= 3 and not agreed:
            ahead *= 4.0


@kernel
def _tangents(search: Search, person: Person, z: Any, ahead: float, is_first: bool) -> float:
    """Planes that touch the margins at a point, asked for a little more than is needed; returns how much more."""
    net, tools, planes = search.oracle, search.tools, search.space.planes
    work, last = tools.work, net.widths.shape[0] - 1
    _look_at(search, person, z)
    for k in range(person.members.shape[0]):
        m = person.members[k]
        gradient_at(net, work, person, m, planes.rows[k])
        lack = net.need[m] - work.value[last, m]
        lack += 2.0 * search.options.strict * net.relative_error * work.size[last, m]
        if is_first:
            ahead = max(ahead, 1e-4 * abs(lack))
        planes.low[k] = lack + ahead
        for j in range(z.shape[0]):
            planes.low[k] += planes.rows[k, j] * tools.change[j]
    planes.count[0] = person.members.shape[0]
    return ahead


@kernel
def _nearest_atom(problem: CompiledProblem, person: Person, curves: Curves, clause: int, values: Any) -> int:
    """The atom of a clause that is cheapest to reach from a point, judged by the best single action; -1 if none is."""
    best, cheapest = -1, np.inf
    for a in range(problem.clause_start[clause], problem.clause_start[clause + 1]):
        track, rate = problem.atom_track[a], 0.0
        if person.atom_low[a] > person.atom_high[a]:
            continue
        miss = max(person.atom_low[a] - values[track], values[track] - person.atom_high[a])
        for j in range(person.fact.shape[0]):
            price = min(_unit_price(person, curves, j, True), _unit_price(person, curves, j, False))
            if price > 0.0:
                rate = max(rate, abs(person.effect[track, j]) / price)
        if rate > 0.0 and miss / rate < cheapest:
            best, cheapest = a, miss / rate
    return best


@kernel
def _place(search: Search, person: Person, z: Any) -> bool:
    """Place a point; whole numbers become whole: those that nearly are, the nearest; the others up the first slope."""
    whole, space = search.problem.whole, search.space
    for j in range(z.shape[0]):
        value = z[j]
        if whole[j]:
            value = np.rint(z[j])
            if abs(z[j] - value) > TOLERANCE + PRUNING * ROUNDING * abs(value):
                value = np.ceil(z[j]) if space.planes.rows[search.tools.signs[0], j] > 0.0 else np.floor(z[j])
        space.point.z[j] = min(max(value, space.box.low[j]), space.box.high[j])
    return place(search.problem, person, space)


@kernel
def _look_at(search: Search, person: Person, z: Any) -> None:
    """The network's values where these are set."""
    tools = search.tools
    for j in range(z.shape[0]):
        tools.change[j] = z[j] - person.fact[j]
    look_at(search.oracle, tools.work, person, tools.change)


@kernel
def _agrees(search: Search, person: Person, sure: float, z: Any) -> bool:
    """Whether the network's margins at a point reach what is needed with `sure` times its rounding to spare."""
    _look_at(search, person, z)
    net, work, last = search.oracle, search.tools.work, search.oracle.widths.shape[0] - 1
    for m in person.members:
        if not work.value[last, m] >= net.need[m] + sure * net.relative_error * work.size[last, m]:
            return False
    return True


@kernel
def examine(search: Search, person: Person, limit: float, bound: float) -> Split:
    """Find actions in the box of a node, and say where to split it."""
    problem, space, options, best = search.problem, search.space, search.options, search.best
    state, below = _bound(search, person, limit)
    bound = max(bound, below + person.price)
    if state != OPEN:
        return no_split(CLOSED if state == SHUT else THIN, bound)
    if bound >= limit - near(options.gap, best.cost[COST]):
        drop(best, bound)
        return no_split(CLOSED, bound)
    clause, agreed, worst = _try_points(search, person, limit, bound)
    if clause >= 0:
        return split_clause(problem, clause, bound)
    if agreed or bound >= min(limit, best.cost[COST]) - near(options.gap, best.cost[COST]):
        drop(best, bound)
        return no_split(CLOSED, bound)
    is_point, seeks = True, False
    for j in range(space.z.shape[0]):
        is_wide = space.box.low[j] < space.box.high[j]
        is_point, seeks = is_point and not is_wide, seeks or (is_wide and problem.whole[j])
    if is_point and not _agrees(search, person, -1.0, space.z):
        # The rows left a single point, and the network itself says no there.
        return no_split(CLOSED, bound)
    # Only points that rounding decides could be cheaper by more than rounding costs anyway; of whole numbers these are
    # still looked for.
    surely = _surely(search, person)
    if not is_point and (2.0 * surely - bound < min(limit, best.cost[COST]) or (options.asks and seeks)):
        split = _where(search, person, bound, worst)
        if split.children > 0:
            return split
    if not options.asks or not _place(search, person, space.z) or not is_allowed(problem, person, space):
        return no_split(THIN, bound)
    if broken_clause(problem, person, space.point.cell) >= 0:
        return no_split(THIN, bound)
    return no_split(ASK if is_point else ASK_THIN, bound)


@kernel
def _take_ranges(memo: Memo, work: Work) -> None:
    """What can enter each ReLU, as far as it is known of the node that this one is a part of."""
    layers, width = work.low.shape
    kept = 0 if memo.numbers[COUNT] == -1.0 else (memo.numbers.shape[0] - 1) // (2 * width)
    for t in range(layers):
        for i in range(width):
            at = 2 * (t * width + i)
            work.low[t, i] = memo.numbers[at] if t < kept else -np.inf
            work.high[t, i] = memo.numbers[at + 1] if t < kept else np.inf


@kernel
def _leave_ranges(memo: Memo, work: Work) -> None:
    """Leave to the parts of a node what can enter each ReLU at its favourable points that cost less than the limit:
    parts have no others, nor has a smaller limit. Rounding is that of the whole node, so it is added here."""
    width = work.low.shape[1]
    for t in range((memo.numbers.shape[0] - 1) // (2 * width)):
        for i in range(width):
            at = 2 * (t * width + i)
            memo.numbers[at] = work.low[t, i] - work.doubt[t, i]
            memo.numbers[at + 1] = work.high[t, i] + work.doubt[t, i]


@kernel
def _take_signs(search: Search, person: Person) -> None:
    """What is known of a node: ranges, and the signs it was split by, which are ranges and, further than rounding may
    carry what enters a ReLU, rows."""
    net, tools, planes, memo, work = search.oracle, search.tools, search.space.planes, search.memo, search.tools.work
    root, group, box = person.root, person.group, work.box
    _take_ranges(memo, work)
    if memo.numbers[COUNT] == -1.0:
        memo.numbers[COUNT] = 0.0
    planes.count[0] = tools.signs[0] = max(int(memo.numbers[COUNT]), 0)
    for k in range(tools.signs[0]):
        i, sign = memo.marks[k] // 2, 1.0 - 2.0 * (memo.marks[k] % 2)
        size = work.start_size[root, i]
        if sign > 0.0:
            work.low[0, i], work.high[0, i] = max(work.low[0, i], 0.0), max(work.high[0, i], 0.0)
        else:
            work.low[0, i], work.high[0, i] = min(work.low[0, i], 0.0), min(work.high[0, i], 0.0)
        for j in range(box.low.shape[0]):
            planes.rows[k, j] = sign * net.first[group, i, j]
            size += net.first_size[group, i, j] * max(abs(box.low[j]), abs(box.high[j]))
        planes.low[k] = -sign * work.start[root, i] - net.relative_error * size


SHUT, OPEN, WIDE = 0, 1, 2
"""Nothing favourable is in a box; there may be; it has no end, and cannot be bounded."""


@kernel
def _bound(search: Search, person: Person, limit: float) -> tuple[int, float]:
    """Planes above the margins, and the least cost under them; `space.z` is where."""
    problem, curves, space, tools = search.problem, search.people.curves, search.space, search.tools
    box, planes = space.box, space.planes
    bound = 0.0
    for turn in range(TURNS):
        if not _take_box(search, person):
            return WIDE, 0.0
        if turn == 0:
            _take_signs(search, person)
        if turn == 0:
            _take_budget(search, person, limit - person.price)
        else:
            _look_at(search, person, space.z)
        crown_upper_bounds(search.oracle, tools.work, person, turn > 0)
        for m in person.members:
            k = planes.count[0]
            copy(tools.work.plane[m], planes.rows[k])
            tools.const[k], tools.error[k], tools.short[k] = tools.work.const[m], tools.work.rounding_error[m], 0.0
            planes.count[0] += 1
        _ask_for(search, person, -1.0)
        if not tighten_bounds(problem, person, curves, limit - person.price, box, planes):
            return SHUT, 0.0
        state, below = cheapest(problem, person, curves, box, space.z, space)
        if state == EMPTY:
            return SHUT, 0.0
        gained, bound = below - bound, max(bound, below)
        if bound + person.price >= limit - near(search.options.gap, search.best.cost[COST]) or space.sizes[0] <= 0:
            break
        if turn > 0 and gained < WORTHWHILE * (limit - person.price - bound):
            break
        if not _reduce(search, person, limit - person.price, below):
            return SHUT, 0.0
    _leave_ranges(search.memo, tools.work)
    return OPEN, bound


@kernel
def _ask_for(search: Search, person: Person, sure: float) -> None:
    """Planes reach what is needed and so much of the rounding error, and what the network falls short of them."""
    tools, planes = search.tools, search.space.planes
    for k in range(tools.signs[0], planes.count[0]):
        m = person.members[(k - tools.signs[0]) % person.members.shape[0]]
        planes.low[k] = search.oracle.need[m] - tools.const[k] + sure * tools.error[k] + tools.short[k]


@kernel
def _surely(search: Search, person: Person) -> float:
    """What an action that rounding cannot undo costs in a box at least."""
    tools, space = search.tools, search.space
    clear(tools.short, space.planes.count[0])
    _ask_for(search, person, 0.5 * search.options.strict)
    state, below = cheapest(search.problem, person, search.people.curves, space.box, tools.z, space)
    _ask_for(search, person, -1.0)
    return np.inf if state == EMPTY else below + person.price


@kernel
def _try_points(search: Search, person: Person, limit: float, bound: float) -> tuple[int, bool, int]:
    """Try the cheapest point and, where planes are loose, points that are asked for as much more as the network falls
    short of them: (clause to split by or -1, whether the cheapest point proves the node, margin whose plane is loosest
    where something lacks or -1)."""
    problem, curves, space, options = search.problem, search.people.curves, search.space, search.options
    tools, point, worst = search.tools, search.space.point, -1
    copy(space.z, tools.z)
    for turn in range(SHIFTS + 1):
        placed = _place(search, person, tools.z)
        clause = broken_clause(problem, person, point.cell) if placed else -1
        if turn == 0 and clause >= 0 and not keeps_clause(problem, person, clause, space.cell):
            return clause, False, -1
        agreed = placed and clause < 0 and is_allowed(problem, person, space)
        if agreed and _agrees(search, person, options.strict, point.z):
            cost = cost_of(person, curves, point.z)
            keep(search.best, person, cost, space)
            if turn == 0 and cost - bound <= near(options.gap, cost):
                return -1, True, -1
        else:
            agreed = False
        _look_at(search, person, tools.z if turn == 0 else point.z)
        loosest = _fall_short(search, person)
        if turn == 0:
            worst = loosest
        if agreed or turn == SHIFTS:
            break
        _ask_for(search, person, 1.1 * options.strict)
        state, below = cheapest(problem, person, curves, space.box, tools.z, space)
        if state == EMPTY or person.price + below >= min(limit, search.best.cost[COST]):
            break
    return -1, False, worst


@kernel
def _fall_short(search: Search, person: Person) -> int:
    """How far the network falls short of its planes at the point looked at last, the most so far; returns the margin
    that lacks something and has the loosest plane, or -1."""
    net, tools, work = search.oracle, search.tools, search.tools.work
    last, worst, loose = net.widths.shape[0] - 1, -1, -1.0
    for k in range(tools.signs[0], search.space.planes.count[0]):
        m = person.members[(k - tools.signs[0]) % person.members.shape[0]]
        short = tools.const[k] - work.value[last, m]
        for j in range(tools.change.shape[0]):
            short += search.space.planes.rows[k, j] * tools.change[j]
        tools.short[k] = max(tools.short[k], short)
        need = net.need[m] + search.options.strict * net.relative_error * work.size[last, m]
        if work.value[last, m] < need and short > loose:
            loose, worst = short, m
    return worst


@kernel
def _where(search: Search, person: Person, bound: float, worst: int) -> Split:
    """Where to cut a box whose cheapest point is `space.z`."""
    problem, curves, z = search.problem, search.people.curves, search.space.z
    low, high = search.space.box.low, search.space.box.high
    j, unit = _loosest(search, person, worst) if worst >= 0 else (-1, np.int64(-1))
    if unit >= 0:
        return split_mark(unit, bound)
    if j >= 0:
        edge = EDGE * (high[j] - low[j])
        middle = min(max(z[j], low[j] + edge), high[j] - edge)
        if problem.whole[j] or low[j] < middle < high[j]:
            return split_action(problem, j, middle, bound)
    part, j = 0.0, -1
    for g in range(z.shape[0]):
        fraction = z[g] - np.floor(z[g])
        if problem.whole[g] and min(fraction, 1.0 - fraction) > part:
            j, part = g, min(fraction, 1.0 - fraction)
    if j >= 0:
        return split_action(problem, j, z[j], bound)
    if curves.bends:
        # A cost that bends inside the box was charged too little: cut where it bends.
        bend, knot, most = most_underpaid(curves, person.row, person.fact, low, high, z)
        if most > 0.01 * near(search.options.gap, bound):
            return split_action(problem, bend, knot, bound)
    return no_split(THIN, bound)


@kernel
def _loosest(search: Search, person: Person, margin: int) -> tuple[int, Any]:
    """The action whose width makes a margin's plane loosest; where planes are flat and do not say, the dearest. And a
    ReLU whose sign is rather to be split by, or -1."""
    low, high, score = search.space.box.low, search.space.box.high, search.tools.score
    _look_at(search, person, search.space.z)
    unit, loose = branching_scores(search.oracle, search.tools.work, margin, score)
    best = -1
    for j in range(low.shape[0]):
        if high[j] > low[j] and score[j] > 0.0 and (best < 0 or score[j] > score[best]):
            best = j
    if best >= 0:
        known = search.memo.numbers[COUNT]
        is_better = loose > LOOSER * score[best] and low.shape[0] >= search.oracle.many and 0.0 <= known < MOST_SIGNS
        return best, unit if is_better else np.int64(-1)
    widest, curves = 0.0, search.people.curves
    for j in range(low.shape[0]):
        over, under = price_at(person, curves, j, high[j]), price_at(person, curves, j, low[j])
        width = (over if high[j] > person.fact[j] else -over) + (under if low[j] < person.fact[j] else -under)
        if high[j] > low[j] and (best < 0 or width > widest):
            best, widest = j, width
    return best, np.int64(-1)


search_networks = linked(
    search_people,
    "networks",
    is_large=True,
    worth=15.0,
    begin_person=begin_person,
    begin_round=begin_round,
    add_root=add_root,
    examine=examine,
)
