"""ReLU networks as an oracle of the search: planes above their margins over a box, actions in it, where to split.

Planes become rows of the small linear program whose cost is the node's bound. Its solution, shifted until the network
itself agrees, gives actions. Where undecided ReLUs cost most is branched on first, as in Bunel et al., "Branch and
bound for piecewise linear neural network verification" (2020).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, linked, maker
from equieffort.foundations.tolerances import PRUNING, ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK,
    ASK_THIN,
    CLOSED,
    COST,
    THIN,
    Best,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Options,
    Person,
    Space,
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
    Net,
    Work,
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
from equieffort.recourse.solvers.kernels.cost_curves import Curves, most_underpaid
from equieffort.recourse.solvers.kernels.simplex import EMPTY

SHIFTS = 3
"""How often a point that the network does not agree to is shifted."""
WORTHWHILE = 0.5
"""A box that its rows cut to less than this share gets new planes."""
EDGE = 0.3
"""A box is cut at its cheapest point, but not nearer to an end than this share."""
MOST_TRIED, DESCENTS = 64, 12
"""From so many roots a first action is looked for, in so many steps each."""
REACH = 1024.0
"""How many first budgets the search for a first action may spend."""


class Tools(NamedTuple):
    """Room to work in."""

    work: Work
    low: Any
    """(n) the box of changes."""
    high: Any
    change: Any
    """(n) a point of changes."""
    z: Any
    """(n) a point of values."""
    score: Any
    """(n)"""
    short: Any
    """(margin) how far the network falls short of its plane."""
    before: Any
    """(c) the level of each category."""


@maker
def make_tools(net: Net, problem: CompiledProblem, people: CompiledBatch) -> tuple[Tools, Memo]:
    """Room for a network; nothing is remembered of a node."""
    n, work = problem.actions.shape[0], make_work(net, problem.root_set.shape[0])
    tools = Tools(
        work, np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(net.need.shape[0]),
        np.empty(problem.categories.shape[0], dtype=np.int64),
    )  # fmt: skip
    return tools, Memo(np.zeros(1), np.empty(0, dtype=np.int32))


@kernel
def begin_round(net: Net, tools: Tools, problem: CompiledProblem, people: CompiledBatch, i: int) -> None:
    """Nothing is forgotten."""


@kernel
def begin_person(
    net: Net, tools: Tools, problem: CompiledProblem, people: CompiledBatch, i: int, options: Options, best: Best,
    space: Space,
) -> float:  # fmt: skip
    """What the first plausible action costs, judged by the slopes at the fact; infinite once a real one is found, or if
    there can be none at all."""
    for c in range(tools.before.shape[0]):
        tools.before[c] = int(people.x[i, problem.categories[c]])
    curves, box, estimate, tried, some = people.curves, space.box, np.inf, 0, False
    space.planes.count[0] = 0
    for pace in range(2):
        for root in range(problem.root_set.shape[0]):
            if tried >= MOST_TRIED or not open_root(problem, people, i, root, space.starts[root], box):
                continue
            person = person_at(problem, people, i, root, space)
            if not settle_clauses(problem, person, box) or not add_root(net, tools, problem, person, space):
                continue
            tried, some = tried + 1, True
            if pace == 0:
                estimate = min(estimate, _slope_cost(net, tools, problem, person, curves, space))
                continue
            reach = min(best.cost[COST], REACH * estimate) - person.price
            if tighten_bounds(problem, person, curves, reach, box, space.planes):
                _descend(net, tools, problem, person, people, options, best, space)
                space.planes.count[0] = 0
        tried = 0
        if pace == 0 and not 0.0 < estimate < np.inf:
            estimate = 1.0
    return 1.5 * estimate if some and best.cost[COST] == np.inf else np.inf


@kernel
def add_root(net: Net, tools: Tools, problem: CompiledProblem, person: Person, space: Space) -> bool:
    """Its start; False if ranges alone show that the margins cannot reach what they need."""
    group, box = problem.root_set[person.root], space.box
    start_at(net, tools.work, person.row, group, person.root, problem.root_level[person.root], tools.before)
    for j in range(box.low.shape[0]):
        tools.low[j], tools.high[j] = box.low[j] - person.fact[j], box.high[j] - person.fact[j]
    return reaches(net, tools.work, group, person.root, tools.low, tools.high, person.members)


@kernel
def _unit_price(person: Person, curves: Curves, j: int, rises: bool) -> float:
    """What a unit costs, far away where costs bend."""
    if curves.bends:
        return curves.tails[j, 1 if rises else 0]
    return person.up[j] if rises else person.down[j]


@kernel
def _slope_cost(
    net: Net, tools: Tools, problem: CompiledProblem, person: Person, curves: Curves, space: Space
) -> float:
    """What an action costs if all goes on as it begins at the fact."""
    group, work, last, total = problem.root_set[person.root], tools.work, net.widths.shape[0] - 1, person.price
    for j in range(tools.change.shape[0]):
        tools.change[j] = 0.0
    look_at(net, work, group, person.root, tools.change)
    for m in person.members:
        gradient_at(net, work, group, m, tools.score)
        rate = 0.0
        for j in range(tools.score.shape[0]):
            price = _unit_price(person, curves, j, tools.score[j] > 0.0)
            if space.box.high[j] > space.box.low[j] and price > 0.0:
                rate = max(rate, abs(tools.score[j]) / price)
        lack = max(net.need[m] - work.value[last, m], 0.0)
        total = max(total, person.price + lack / rate if rate > 0.0 else np.inf)
    return total


@kernel
def _descend(
    net: Net, tools: Tools, problem: CompiledProblem, person: Person, people: CompiledBatch, options: Options,
    best: Best, space: Space,
) -> None:  # fmt: skip
    """A first action: follow the network's slopes from the fact, linear program by linear program."""
    box, planes, point, z = space.box, space.planes, space.point, tools.z
    last, ahead = net.widths.shape[0] - 1, 0.0
    for j in range(z.shape[0]):
        z[j] = min(max(person.fact[j], box.low[j]), box.high[j])
    for turn in range(DESCENTS + problem.clause_start.shape[0]):
        _look_at(net, tools, problem, person, z)
        planes.count[0] = 0
        for m in person.members:
            k = planes.count[0]
            gradient_at(net, tools.work, problem.root_set[person.root], m, planes.rows[k])
            lack = net.need[m] - tools.work.value[last, m]
            lack += 2.0 * options.strict * net.relative_error * tools.work.size[last, m]
            if turn == 0:
                ahead = max(ahead, 1e-4 * abs(lack))
            planes.low[k] = lack + ahead
            for j in range(z.shape[0]):
                planes.low[k] += planes.rows[k, j] * tools.change[j]
            planes.count[0] += 1
        state, _ = cheapest(problem, person, people.curves, box, planes, space.z, space)
        for j in range(z.shape[0]):
            slope = planes.rows[0, j]
            if state == EMPTY:
                # Nothing near by: go where the first margin rises, as far as the box goes.
                space.z[j] = box.high[j] if slope > 0.0 else box.low[j] if slope < 0.0 else z[j]
        if not _place(problem, person, space, space.z):
            return
        clause = broken_clause(problem, person, point.low, point.high)
        if clause >= 0:
            atom = _nearest_atom(problem, person, people.curves, clause, point.low)
            if atom < 0 or not choose_atom(problem, person, atom, box):
                return
            continue
        moved = False
        for j in range(z.shape[0]):
            moved = moved or z[j] != point.z[j]
        copy(point.z, z)
        agreed = is_allowed(problem, person, space) and _agrees(net, tools, problem, person, options.strict, point.z)
        if agreed:
            keep(best, person, cost_of(person, people.curves, point.z), space)
        if not moved or (agreed and turn >= 6):
            return
        if turn >= 3 and not agreed:
            ahead *= 4.0


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
def _place(problem: CompiledProblem, person: Person, space: Space, z: Any) -> bool:
    """Place a point; whole numbers become whole: those that nearly are, the nearest; the others up the first slope."""
    for j in range(z.shape[0]):
        value = z[j]
        if problem.whole[j]:
            value = np.rint(z[j])
            if abs(z[j] - value) > TOLERANCE + PRUNING * ROUNDING * abs(value):
                value = np.ceil(z[j]) if space.planes.rows[0, j] > 0.0 else np.floor(z[j])
        space.point.z[j] = min(max(value, space.box.low[j]), space.box.high[j])
    return place(problem, person, space)


@kernel
def _look_at(net: Net, tools: Tools, problem: CompiledProblem, person: Person, z: Any) -> None:
    """The network's values where these are set."""
    for j in range(z.shape[0]):
        tools.change[j] = z[j] - person.fact[j]
    look_at(net, tools.work, problem.root_set[person.root], person.root, tools.change)


@kernel
def _agrees(net: Net, tools: Tools, problem: CompiledProblem, person: Person, sure: float, z: Any) -> bool:
    """Whether the network's margins at a point reach what is needed with `sure` times its rounding to spare."""
    _look_at(net, tools, problem, person, z)
    last = net.widths.shape[0] - 1
    for m in person.members:
        if not tools.work.value[last, m] >= net.need[m] + sure * net.relative_error * tools.work.size[last, m]:
            return False
    return True


@kernel
def examine(
    net: Net, tools: Tools, problem: CompiledProblem, people: CompiledBatch, person: Person, options: Options,
    limit: float, bound: float, best: Best, memo: Memo, space: Space,
) -> Split:  # fmt: skip
    """Find actions in the box of a node, and say where to split it."""
    state, below = _bound(net, tools, problem, people, person, limit, space)
    bound = max(bound, below + person.price)
    if state != OPEN:
        return no_split(CLOSED if state == SHUT else THIN, bound)
    if bound >= limit - near(options.gap, best.cost[COST]):
        drop(best, bound)
        return no_split(CLOSED, bound)
    clause, agreed, worst = _try_points(net, tools, problem, people, person, options, limit, bound, best, space)
    if clause >= 0:
        atoms = problem.clause_start[clause + 1] - problem.clause_start[clause]
        return Split(np.int64(atoms), np.int64(clause), np.int64(-1), np.int64(-1), 0.0, bound)
    if agreed:
        drop(best, bound)
        return no_split(CLOSED, bound)
    if bound >= min(limit, best.cost[COST]) - near(options.gap, best.cost[COST]):
        drop(best, bound)
        return no_split(CLOSED, bound)
    is_point, seeks = True, False
    for j in range(space.z.shape[0]):
        is_wide = space.box.low[j] < space.box.high[j]
        is_point, seeks = is_point and not is_wide, seeks or (is_wide and problem.whole[j])
    if is_point and not _agrees(net, tools, problem, person, -1.0, space.z):
        # The rows left a single point, and the network itself says no there.
        return no_split(CLOSED, bound)
    # Only points that rounding decides could be cheaper by more than rounding costs anyway; of whole numbers these are
    # still looked for.
    surely = _surely(net, tools, problem, people, person, options, space)
    if not is_point and (2.0 * surely - bound < min(limit, best.cost[COST]) or (options.asks and seeks)):
        split = _where(net, tools, problem, person, people.curves, options, bound, worst, space)
        if split.children > 0:
            return split
    if not options.asks or not _place(problem, person, space, space.z) or not is_allowed(problem, person, space):
        return no_split(THIN, bound)
    if broken_clause(problem, person, space.point.low, space.point.high) >= 0:
        return no_split(THIN, bound)
    return no_split(ASK if is_point else ASK_THIN, bound)


SHUT, OPEN, WIDE = 0, 1, 2
"""Nothing favourable is in a box; there may be; it has no end, and cannot be bounded."""


@kernel
def _bound(
    net: Net, tools: Tools, problem: CompiledProblem, people: CompiledBatch, person: Person, limit: float, space: Space
) -> tuple[int, float]:
    """Planes above the margins, and the least cost under them; `space.z` is where."""
    box, planes, n = space.box, space.planes, space.z.shape[0]
    for _ in range(2):
        for j in range(n):
            tools.low[j], tools.high[j] = box.low[j] - person.fact[j], box.high[j] - person.fact[j]
            if not (np.isfinite(tools.low[j]) and np.isfinite(tools.high[j])):
                return WIDE, 0.0
        crown_upper_bounds(
            net, tools.work, problem.root_set[person.root], person.root, tools.low, tools.high, person.members,
            tools.score,
        )  # fmt: skip
        for k in range(person.members.shape[0]):
            copy(tools.work.plane[person.members[k]], planes.rows[k])
            tools.short[k] = 0.0
        planes.count[0] = person.members.shape[0]
        _ask_for(net, tools, person, -1.0, space)
        if not tighten_bounds(problem, person, people.curves, limit - person.price, box, planes):
            return SHUT, 0.0
        shrunk = 1.0
        for j in range(n):
            if tools.high[j] > tools.low[j]:
                shrunk *= (box.high[j] - box.low[j]) / (tools.high[j] - tools.low[j])
        if shrunk > WORTHWHILE:
            break
    state, below = cheapest(problem, person, people.curves, box, planes, space.z, space)
    return (SHUT, 0.0) if state == EMPTY else (OPEN, below)


@kernel
def _ask_for(net: Net, tools: Tools, person: Person, sure: float, space: Space) -> None:
    """Planes reach what is needed and so much of the rounding error, and what the network falls short of them."""
    for k in range(person.members.shape[0]):
        m = person.members[k]
        space.planes.low[k] = net.need[m] - tools.work.const[m] + sure * tools.work.rounding_error[m] + tools.short[k]


@kernel
def _surely(
    net: Net, tools: Tools, problem: CompiledProblem, people: CompiledBatch, person: Person, options: Options,
    space: Space,
) -> float:  # fmt: skip
    """What an action that rounding cannot undo costs in a box at least."""
    for k in range(person.members.shape[0]):
        tools.short[k] = 0.0
    _ask_for(net, tools, person, 0.5 * options.strict, space)
    state, below = cheapest(problem, person, people.curves, space.box, space.planes, tools.z, space)
    _ask_for(net, tools, person, -1.0, space)
    return np.inf if state == EMPTY else below + person.price


@kernel
def _try_points(
    net: Net, tools: Tools, problem: CompiledProblem, people: CompiledBatch, person: Person, options: Options,
    limit: float, bound: float, best: Best, space: Space,
) -> tuple[int, bool, int]:  # fmt: skip
    """Try the cheapest point and, where planes are loose, points that are asked for as much more as the network falls
    short of them: (clause to split by or -1, whether the cheapest point proves the node, margin whose plane is loosest
    where something lacks or -1)."""
    last, worst, loose, work = net.widths.shape[0] - 1, -1, -1.0, tools.work
    copy(space.z, tools.z)
    for turn in range(SHIFTS + 1):
        placed = _place(problem, person, space, tools.z)
        clause = broken_clause(problem, person, space.point.low, space.point.high) if placed else -1
        if turn == 0 and clause >= 0 and not keeps_clause(problem, person, clause, space.cell_low, space.cell_high):
            return clause, False, -1
        agreed = placed and clause < 0 and is_allowed(problem, person, space)
        if agreed and _agrees(net, tools, problem, person, options.strict, space.point.z):
            cost = cost_of(person, people.curves, space.point.z)
            keep(best, person, cost, space)
            if turn == 0 and cost - bound <= near(options.gap, cost):
                return -1, True, -1
        else:
            agreed = False
        _look_at(net, tools, problem, person, tools.z if turn == 0 else space.point.z)
        for k in range(person.members.shape[0]):
            m = person.members[k]
            short = work.const[m] - work.value[last, m]
            for j in range(tools.change.shape[0]):
                short += space.planes.rows[k, j] * tools.change[j]
            tools.short[k] = max(tools.short[k], short)
            lacks = work.value[last, m] < net.need[m] + options.strict * net.relative_error * work.size[last, m]
            if turn == 0 and lacks and short > loose:
                loose, worst = short, m
        if agreed or turn == SHIFTS:
            break
        _ask_for(net, tools, person, 1.1 * options.strict, space)
        state, below = cheapest(problem, person, people.curves, space.box, space.planes, tools.z, space)
        if state == EMPTY or person.price + below >= min(limit, best.cost[COST]):
            break
    return -1, False, worst


@kernel
def _where(
    net: Net, tools: Tools, problem: CompiledProblem, person: Person, curves: Curves, options: Options, bound: float,
    worst: int, space: Space,
) -> Split:  # fmt: skip
    """Where to cut a box whose cheapest point is `space.z`."""
    z, low, high, none = space.z, space.box.low, space.box.high, np.int64(-1)
    j = np.int64(-1)
    if worst >= 0:
        j = np.int64(_loosest(net, tools, problem, person, curves, worst, space))
    if j >= 0:
        edge = EDGE * (high[j] - low[j])
        middle = min(max(z[j], low[j] + edge), high[j] - edge)
        if problem.whole[j]:
            return Split(np.int64(2), none, j, none, np.floor(middle), bound)
        if low[j] < middle < high[j]:
            return Split(np.int64(2), none, none, np.int64(problem.actions[j]), middle, bound)
    part = 0.0
    j = np.int64(-1)
    for g in range(z.shape[0]):
        fraction = z[g] - np.floor(z[g])
        if problem.whole[g] and min(fraction, 1.0 - fraction) > part:
            j, part = np.int64(g), min(fraction, 1.0 - fraction)
    if j >= 0:
        return Split(np.int64(2), none, j, none, np.floor(z[j]), bound)
    if curves.bends:
        # A cost that bends inside the box was charged too little: cut where it bends.
        bend, knot, most = most_underpaid(curves, person.row, person.fact, low, high, z)
        if most > 0.01 * near(options.gap, bound):
            j = np.int64(bend)
            if problem.whole[j]:
                return Split(np.int64(2), none, j, none, np.floor(knot), bound)
            return Split(np.int64(2), none, none, np.int64(problem.actions[j]), knot, bound)
    return no_split(THIN, bound)


@kernel
def _loosest(
    net: Net, tools: Tools, problem: CompiledProblem, person: Person, curves: Curves, margin: int, space: Space
) -> int:
    """The action whose width makes a margin's plane loosest; where planes are flat and do not say, the dearest."""
    low, high, score = space.box.low, space.box.high, tools.score
    _look_at(net, tools, problem, person, space.z)
    branching_scores(net, tools.work, margin, tools.low, tools.high, score)
    best = -1
    for j in range(low.shape[0]):
        if high[j] > low[j] and score[j] > 0.0 and (best < 0 or score[j] > score[best]):
            best = j
    if best >= 0:
        return best
    widest = 0.0
    for j in range(low.shape[0]):
        over, under = price_at(person, curves, j, high[j]), price_at(person, curves, j, low[j])
        width = (over if high[j] > person.fact[j] else -over) + (under if low[j] < person.fact[j] else -under)
        if high[j] > low[j] and (best < 0 or width > widest):
            best, widest = j, width
    return best


search_networks = linked(
    search_people,
    "networks",
    make_tools=make_tools,
    begin_person=begin_person,
    begin_round=begin_round,
    add_root=add_root,
    examine=examine,
)
