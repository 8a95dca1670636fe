"""Sums of trees as an oracle of the search: what is left of them over a box, how large they get, where to split.

A node is dropped if its margins cannot reach what they need; its cheapest point is believed if it is favourable however
its followers are rounded; otherwise it is split where the trees still could gain most, or where costs bend.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equieffort.foundations.arrays import Bools
from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.records import record
from equieffort.foundations.tolerances import ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK,
    CLOSED,
    COUNT,
    HASTE,
    LOOKED,
    THIN,
    Cell,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Person,
    Search,
    Split,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import (
    SEARCH_ROUNDING,
    SEARCH_TOLERANCE,
    cheapest,
    copy,
    cost_of,
)
from equieffort.recourse.solvers.branch_and_bound.node_kernels import (
    no_split,
    split_action,
    split_clause,
    split_track,
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
from equieffort.recourse.solvers.branch_and_bound.trees.charge_kernels import pays_enough
from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import (
    Forest,
    Grove,
    advance,
    choose_split,
    collapse,
    is_decided,
    make_grove,
    make_memo,
    most_of,
    worth_of,
)
from equieffort.recourse.solvers.kernels.cost_curves import most_underpaid
from equieffort.recourse.solvers.kernels.simplex import EMPTY

TRUST = 1.0, 0.5, 0.62, 0.75, 1.0
"""How much of what trees could still add is hoped for in the end, by haste."""


@record
class Tools(NamedTuple):
    """What is left of the forest over all roots of a round, and room for it."""

    grove: Grove
    is_collapsed: Bools
    """(1) false while roots are still being opened."""
    union: Cell
    """The range of every track over all roots."""
    mask: Bools
    """(c, level) the levels that roots allow."""


def make_tools(forest: Forest, problem: CompiledProblem, people: CompiledBatch) -> tuple[Tools, Memo]:
    """Room for a forest, and for what is remembered of a node."""
    t, levels = people.x.shape[1], people.level_price.shape[2]
    mask = np.empty((max(problem.categories.shape[0], 1), levels), dtype=np.bool_)
    union = Cell(np.empty(t), np.empty(t))
    return Tools(make_grove(forest, t, problem.actions.shape[0]), np.zeros(1, dtype=np.bool_), union, mask), make_memo(
        forest
    )


@kernel
def begin_person(search: Search, i: int) -> float:
    """The first budget."""
    return search.people.budget[i]


@kernel
def begin_round(search: Search, i: int) -> None:
    """Only the fact is known."""
    tools, categories, x = search.tools, search.problem.categories, search.people.x
    tools.is_collapsed[0] = False
    for k in range(x.shape[1]):
        tools.union.low[k] = tools.union.high[k] = x[i, k]
    for c in range(categories.shape[0]):
        for level in range(tools.mask.shape[1]):
            tools.mask[c, level] = level == x[i, categories[c]]


@kernel
def add_root(search: Search, person: Person) -> bool:
    """Its cell joins the others."""
    union, cell, levels = search.tools.union, search.space.cell, search.problem.root_level
    for k in range(cell.low.shape[0]):
        union.low[k] = min(union.low[k], cell.low[k])
        union.high[k] = max(union.high[k], cell.high[k])
    for c in range(levels.shape[1]):
        if levels[person.root, c] >= 0:
            search.tools.mask[c, levels[person.root, c]] = True
    return True


@kernel
def examine(search: Search, person: Person, limit: float, bound: float) -> Split:
    """Find actions in the box of a node, and say where to split it."""
    grove, problem, space, options = search.tools.grove, search.problem, search.space, search.options
    count = _recall(search)
    if not most_of(search.oracle, grove, search.memo, person.members, space.cell):
        return no_split(CLOSED, bound)
    clause, is_good, trust = -1, False, TRUST[search.counts[HASTE]]
    copy(space.z, space.point.z)
    for at in range(count):
        grove.gain[at] = 1.0
    for attempt in range(1 if count > 0 else 2):
        if not _candidate(search, person, attempt > 0):
            continue
        verdict = 1
        for is_whole in range(2):
            # Rounding of followers might carry the point out of the cell: what counts is the whole forest.
            if verdict >= 0:
                left = grove.whole if is_whole else search.memo
                verdict = worth_of(
                    search.oracle,
                    grove,
                    left,
                    person.members,
                    space.point.cell,
                    options.strict,
                    0.0 if is_whole else trust,
                )
        if verdict < -1:
            return no_split(CLOSED, bound)
        clause = broken_clause(problem, person, space.point.cell)
        if clause >= 0:
            continue
        cost = cost_of(person, search.people.curves, space.point.z)
        is_near = cost - bound <= near(options.gap, cost)
        if verdict > 0:
            is_good = True
            keep(search.best, person, cost, space)
            if is_near:
                drop(search.best, bound)
                return no_split(CLOSED, bound)
            break
        asks = verdict == 0 and is_near and count == 0 and options.asks
        if asks and is_decided(grove, space.point.cell):
            return no_split(ASK, bound)
    # Easy searches are over before charging trees is worth it.
    if search.counts[LOOKED] > options.patience // 4 and not pays_enough(search, person, limit):
        return no_split(CLOSED, bound)
    return _choose(search, person, clause, is_good, bound)


@kernel
def _recall(search: Search) -> int:
    """Go on where the parent's trees were undecided; returns how many still are."""
    tools, memo, whole = search.tools, search.memo, search.tools.grove.whole
    if not tools.is_collapsed[0]:
        collapse(search.oracle, tools.grove, tools.union, tools.mask, search.problem.codes)
        tools.is_collapsed[0] = True
    if memo.numbers[COUNT] < 0.0:
        copy(whole.numbers, memo.numbers)
        for at in range(int(whole.numbers[COUNT])):
            memo.marks[at] = whole.marks[at]
    return advance(tools.grove, memo, search.space.cell)


@kernel
def _candidate(search: Search, person: Person, firmly: bool) -> bool:
    """Place the cheapest point of a node, a little inside the branching bounds that splits have made; False if there is
    none that may be.

    Declared ends (of ranges and rules) stay where they are, since they are allowed. Firmly: a little inside of all.
    """
    problem, space = search.problem, search.space
    for at in range(person.followers):
        slot = person.slots[at]
        k = problem.tracks[slot]
        least, most = space.box.floor[slot], space.box.roof[slot]
        # The program lets a follower pass its ends by this much, so the step inside must be larger.
        forgiven = 2.0 * (SEARCH_TOLERANCE + SEARCH_ROUNDING * abs(person.still[k]))
        keep_low = keep_high = person.fixed[k]
        if firmly and not person.fixed[k]:
            least, most = space.cell.low[k], space.cell.high[k]
        elif not person.fixed[k]:
            keep_low = person.limited[k] and least == person.range_low[k]
            keep_high = person.limited[k] and most == person.range_high[k]
            for a in range(problem.atom_track.shape[0]):
                if problem.atom_track[a] == k:
                    keep_low = keep_low or least == person.atom_low[a]
                    keep_high = keep_high or most == person.atom_high[a]
        if not keep_low and least > -np.inf:
            least += 2.0 * (TOLERANCE + ROUNDING * abs(least)) + forgiven
        if not keep_high and most < np.inf:
            most -= 2.0 * (TOLERANCE + ROUNDING * abs(most)) + forgiven
        if least > most:
            least = most = 0.5 * (least + most)
        space.inside.floor[slot], space.inside.roof[slot] = least, most
    state, _ = cheapest(problem, person, search.people.curves, space.inside, space.point.z, space)
    return state != EMPTY and place(problem, person, space) and is_allowed(problem, person, space)


@kernel
def _choose(search: Search, person: Person, clause: int, is_good: bool, bound: float) -> Split:
    """Where to split: a clause that the cheapest point breaks, a threshold, a fraction, a bend of the cost.

    A bend comes first where the point is good but dearer than its bound, and counts only where much is underpaid.
    """
    problem, curves, space, z = search.problem, search.people.curves, search.space, search.space.z
    if clause >= 0 and not keeps_clause(problem, person, clause, space.cell):
        return split_clause(problem, clause, bound)
    bend, knot = -1, 0.0
    if curves.bends:
        worth = 0.01 * near(search.options.gap, bound)
        best, knot, most = most_underpaid(curves, person.row, person.fact, space.box.low, space.box.high, z)
        if most <= worth:
            best, knot, most = most_underpaid(
                curves, person.row, person.fact, space.box.low, space.box.high, space.point.z
            )
        if most > worth:
            bend = best
    if not (is_good and bend >= 0):
        if search.memo.numbers[COUNT] > 0.0:
            track, cut = choose_split(search.tools.grove, search.memo)
            return split_track(track, cut, bound)
        for j in range(z.shape[0]):
            if problem.whole[j] and person.set_[j] and z[j] != np.floor(z[j]):
                return split_action(problem, j, z[j], bound)
    if bend >= 0:
        return split_action(problem, bend, knot, bound)
    return no_split(THIN, bound)


search_trees = linked(
    search_people,
    "trees",
    is_large=True,
    worth=12.0,
    begin_person=begin_person,
    begin_round=begin_round,
    add_root=add_root,
    examine=examine,
)
