"""ReLU networks as an oracle of the search: planes above their margins over a box, actions in it, where to split.

Planes become rows of the small linear program whose cost is the node's bound. Its solution, shifted until the network
itself agrees, gives actions. Where undecided ReLUs cost most is branched on first, as in Bunel et al., "Branch and
bound for piecewise linear neural network verification" (2020).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.records import record
from equieffort.foundations.tolerances import PRUNING, ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK,
    ASK_THIN,
    CLOSED,
    COST,
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
    """(margin) how far the network falls short of its plane."""
    before: Any
    """(c) the level of each category."""


def make_tools(net: Net, problem: CompiledProblem, people: CompiledBatch) -> tuple[Tools, Memo]:
    """Room for a network; nothing is remembered of a node."""
    n, work = problem.actions.shape[0], make_work(net, problem.root_set.shape[0])
    tools = Tools(
        work, np.empty(n), np.empty(n), np.empty(n), np.empty(net.need.shape[0]),
        np.empty(problem.categories.shape[0], dtype=np.int64),
    )  # fmt: skip
    return tools, Memo(np.zeros(1), np.empty(0, dtype=np.int32))


@kernel
def begin_round(search: Search, i: int) -> None:
    """Nothing is forgotten."""


@kernel
def begin_person(search: Search, i: int) -> float:
    """What the first plausible action costs, judged by the slopes at the fact; infinite once a real one is found, or if
    there can be none at all."""
    tools, problem, people, space, best = search.tools, search.problem, search.people, search.space, search.best
    for c in range(tools.before.shape[0]):
        tools.before[c] = int(people.x[i, problem.categories[c]])
    estimate, tried, some = np.inf, 0, False
    space.planes.count[0] = 0
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
    return 1.5 * estimate if some and best.cost[COST] == np.inf else np.inf


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
                value = np.ceil(z[j]) if space.planes.rows[0, j] > 0.0 else np.floor(z[j])
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


SHUT, OPEN, WIDE = 0, 1, 2
"""Nothing favourable is in a box; there may be; it has no end, and cannot be bounded."""


@kernel
def _bound(search: Search, person: Person, limit: float) -> tuple[int, float]:
    """Planes above the margins, and the least cost under them; `space.z` is where."""
    problem, curves, space, tools = search.problem, search.people.curves, search.space, search.tools
    box, planes, own = space.box, space.planes, tools.work.box
    for _ in range(2):
        if not _take_box(search, person):
            return WIDE, 0.0
        crown_upper_bounds(search.oracle, tools.work, person)
        for k in range(person.members.shape[0]):
            copy(tools.work.plane[person.members[k]], planes.rows[k])
            tools.short[k] = 0.0
        planes.count[0] = person.members.shape[0]
        _ask_for(search, person, -1.0)
        if not tighten_bounds(problem, person, curves, limit - person.price, box, planes):
            return SHUT, 0.0
        shrunk = 1.0
        for j in range(box.low.shape[0]):
            if own.high[j] > own.low[j]:
                shrunk *= (box.high[j] - box.low[j]) / (own.high[j] - own.low[j])
        if shrunk > WORTHWHILE:
            break
    state, below = cheapest(problem, person, curves, box, space.z, space)
    return (SHUT, 0.0) if state == EMPTY else (OPEN, below)


@kernel
def _ask_for(search: Search, person: Person, sure: float) -> None:
    """Planes reach what is needed and so much of the rounding error, and what the network falls short of them."""
    tools, work = search.tools, search.tools.work
    for k in range(person.members.shape[0]):
        m = person.members[k]
        need = search.oracle.need[m] - work.const[m] + sure * work.rounding_error[m] + tools.short[k]
        search.space.planes.low[k] = need


@kernel
def _surely(search: Search, person: Person) -> float:
    """What an action that rounding cannot undo costs in a box at least."""
    tools, space = search.tools, search.space
    clear(tools.short, person.members.shape[0])
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
    for k in range(person.members.shape[0]):
        m = person.members[k]
        short = work.const[m] - work.value[last, m]
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
    j = _loosest(search, person, worst) if worst >= 0 else -1
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
def _loosest(search: Search, person: Person, margin: int) -> int:
    """The action whose width makes a margin's plane loosest; where planes are flat and do not say, the dearest."""
    low, high, score = search.space.box.low, search.space.box.high, search.tools.score
    _look_at(search, person, search.space.z)
    branching_scores(search.oracle, search.tools.work, margin, score)
    best = -1
    for j in range(low.shape[0]):
        if high[j] > low[j] and score[j] > 0.0 and (best < 0 or score[j] > score[best]):
            best = j
    if best >= 0:
        return best
    widest, curves = 0.0, search.people.curves
    for j in range(low.shape[0]):
        over, under = price_at(person, curves, j, high[j]), price_at(person, curves, j, low[j])
        width = (over if high[j] > person.fact[j] else -over) + (under if low[j] < person.fact[j] else -under)
        if high[j] > low[j] and (best < 0 or width > widest):
            best, widest = j, width
    return best


search_networks = linked(
    search_people,
    "networks",
    is_large=True,
    begin_person=begin_person,
    begin_round=begin_round,
    add_root=add_root,
    examine=examine,
)
