"""Sums of trees as an oracle of the search: what is left of them over a box, how large they get, where to split.

A node is dropped if its margins cannot reach what they need; its cheapest point is believed if it is favourable however
its followers are rounded; otherwise it is split where the trees still could gain most, or where costs bend.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, linked, maker
from equieffort.foundations.tolerances import ROUNDING, TOLERANCE
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK,
    CLOSED,
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
from equieffort.recourse.solvers.branch_and_bound.box_kernels import GIVE, ROUNDS, cheapest, copy, cost_of
from equieffort.recourse.solvers.branch_and_bound.node_kernels import no_split
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
from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import (
    Forest,
    Grove,
    advance,
    choose_split,
    collapse,
    is_decided,
    make_grove,
    most_of,
    worth_of,
)
from equieffort.recourse.solvers.kernels.cost_curves import Curves, most_underpaid
from equieffort.recourse.solvers.kernels.simplex import EMPTY


class Tools(NamedTuple):
    """Room to work in, and what is left of the forest over all roots of a round."""

    grove: Grove
    trees: Any
    """(1) how many trees are left; -1 while roots are still being opened."""
    union_low: Any
    """(t) the range of every track over all roots."""
    union_high: Any
    mask: Any
    """(c, level) the levels that roots allow."""
    most: Any
    """(margin, tree) the most that each tree can add."""
    gain: Any
    """(tree) what each tree could still add where something lacks."""
    spare: Any
    votes: Any
    weights: Any
    shares: Any
    """(t)"""
    stack: Any
    parents: Any


@maker
def make_tools(forest: Forest, problem: CompiledProblem, people: CompiledBatch) -> tuple[Tools, Memo]:
    """Room for a forest; what is remembered of a node: how many trees are undecided, what the others add up to, and the
    first undecided split of each."""
    trees, nodes, margins = forest.roots.shape[0], forest.feature.shape[0], forest.base.shape[0]
    t, levels = people.x.shape[1], people.allowed.shape[2]
    tools = Tools(
        make_grove(nodes, trees, margins), np.empty(1, dtype=np.int64), np.empty(t), np.empty(t),
        np.empty((max(problem.categories.shape[0], 1), levels), dtype=np.bool_), np.empty((margins, trees)),
        np.empty(trees), np.empty(trees), np.empty(trees), np.empty(trees), np.empty(t),
        np.empty(nodes + 2, dtype=np.int32), np.empty(nodes + 2, dtype=np.int32),
    )  # fmt: skip
    return tools, Memo(np.empty(1 + margins), np.empty(trees, dtype=np.int32))


@kernel
def begin_person(
    forest: Forest, tools: Tools, problem: CompiledProblem, people: CompiledBatch, i: int, options: Options,
    best: Best, space: Space,
) -> float:  # fmt: skip
    """The first budget."""
    return people.budget[i]


@kernel
def begin_round(forest: Forest, tools: Tools, problem: CompiledProblem, people: CompiledBatch, i: int) -> None:
    """Only the fact is known."""
    tools.trees[0] = -1
    copy(people.x[i], tools.union_low)
    copy(people.x[i], tools.union_high)
    for c in range(problem.categories.shape[0]):
        for level in range(tools.mask.shape[1]):
            tools.mask[c, level] = level == people.x[i, problem.categories[c]]


@kernel
def add_root(forest: Forest, tools: Tools, problem: CompiledProblem, person: Person, space: Space) -> bool:
    """Its cell joins the others."""
    for k in range(space.cell_low.shape[0]):
        tools.union_low[k] = min(tools.union_low[k], space.cell_low[k])
        tools.union_high[k] = max(tools.union_high[k], space.cell_high[k])
    for c in range(problem.categories.shape[0]):
        level = problem.root_level[person.root, c]
        if level >= 0:
            tools.mask[c, level] = True
    return True


@kernel
def examine(
    forest: Forest, tools: Tools, problem: CompiledProblem, people: CompiledBatch, person: Person, options: Options,
    limit: float, bound: float, best: Best, memo: Memo, space: Space,
) -> Split:  # fmt: skip
    """Find actions in the box of a node, and say where to split it."""
    count = _recall(forest, tools, problem, memo, space)
    sums, grove, trees, point = memo.numbers[1:], tools.grove, tools.trees[0], space.point
    if not most_of(
        forest, grove, count, memo.marks, sums, person.members, space.cell_low, space.cell_high, tools.stack, tools.most
    ):
        return no_split(CLOSED, bound)
    clause, is_good = -1, False
    copy(space.z, point.z)
    for at in range(count):
        tools.gain[at] = 1.0
    for attempt in range(1 if count > 0 else 2):
        if not (
            _candidate(problem, person, people.curves, attempt > 0, space)
            and place(problem, person, space)
            and is_allowed(problem, person, space)
        ):
            continue
        verdict = worth_of(
            forest, grove, count, memo.marks, sums, person.members, options.strict, point.low, point.high, tools.stack,
            tools.most, tools.votes, tools.gain,
        )  # fmt: skip
        if verdict >= 0:
            # Rounding of followers might carry the point out of the cell: what counts is the whole forest.
            verdict = worth_of(
                forest, grove, trees, grove.roots, grove.start, person.members, options.strict, point.low, point.high,
                tools.stack, tools.most, tools.votes, tools.spare,
            )  # fmt: skip
        clause = broken_clause(problem, person, point.low, point.high)
        if clause >= 0:
            continue
        cost = cost_of(person, people.curves, point.z)
        is_near = cost - bound <= near(options.gap, cost)
        if verdict > 0:
            is_good = True
            keep(best, person, cost, space)
            if is_near:
                drop(best, bound)
                return no_split(CLOSED, bound)
            break
        asks = verdict == 0 and is_near and count == 0 and options.asks
        if asks and is_decided(forest.subsets, grove, trees, grove.roots, point.low, point.high):
            return no_split(ASK, bound)
    return _choose(tools, problem, person, people.curves, options, clause, is_good, bound, count, memo, space)


@kernel
def _recall(forest: Forest, tools: Tools, problem: CompiledProblem, memo: Memo, space: Space) -> int:
    """Go on where the parent's trees were undecided; returns how many still are."""
    grove = tools.grove
    if tools.trees[0] < 0:
        tools.trees[0] = collapse(
            forest, tools.union_low, tools.union_high, tools.mask, problem.codes, grove, tools.stack, tools.parents
        )
    count = int(memo.numbers[0])
    if count < 0:
        count = tools.trees[0]
        for at in range(count):
            memo.marks[at] = grove.roots[at]
        copy(grove.start, memo.numbers[1:])
    count = advance(forest.subsets, grove, count, memo.marks, memo.numbers[1:], space.cell_low, space.cell_high)
    memo.numbers[0] = count
    return count


@kernel
def _candidate(problem: CompiledProblem, person: Person, curves: Curves, firmly: bool, space: Space) -> bool:
    """The cheapest point of a node, a little inside the branching bounds that splits have made.

    Declared ends (of ranges and rules) stay where they are, since they are allowed. Firmly: a little inside of all.
    """
    for at in range(person.followers):
        slot = person.slots[at]
        k = problem.tracks[slot]
        least, most = space.box.floor[slot], space.box.roof[slot]
        # The program lets a follower pass its ends by this much, so the step inside must be larger.
        forgiven = 2.0 * (GIVE + ROUNDS * abs(person.still[k]))
        keep_low = keep_high = person.fixed[k]
        if firmly and not person.fixed[k]:
            least, most = space.cell_low[k], space.cell_high[k]
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
    state, _ = cheapest(problem, person, curves, space.inside, space.planes, space.point.z, space)
    return state != EMPTY


@kernel
def _choose(
    tools: Tools, problem: CompiledProblem, person: Person, curves: Curves, options: Options, clause: int,
    is_good: bool, bound: float, count: int, memo: Memo, space: Space,
) -> Split:  # fmt: skip
    """Where to split: a clause that the cheapest point breaks, a threshold, a fraction, a bend of the cost.

    A bend comes first where the point is good but dearer than its bound, and counts only where much is underpaid.
    """
    none, box, z = np.int64(-1), space.box, space.z
    if clause >= 0 and not keeps_clause(problem, person, clause, space.cell_low, space.cell_high):
        atoms = problem.clause_start[clause + 1] - problem.clause_start[clause]
        return Split(np.int64(atoms), np.int64(clause), none, none, 0.0, bound)
    bend, knot = none, 0.0
    if curves.bends:
        worth = 0.01 * near(options.gap, bound)
        best, knot, most = most_underpaid(curves, person.row, person.fact, box.low, box.high, z)
        if most <= worth:
            best, knot, most = most_underpaid(curves, person.row, person.fact, box.low, box.high, space.point.z)
        if most > worth:
            bend = np.int64(best)
    if not (is_good and bend >= 0):
        if count > 0:
            track, cut = choose_split(
                tools.grove, count, memo.marks, tools.gain, tools.shares, tools.votes, tools.weights
            )
            return Split(np.int64(2), none, none, np.int64(track), cut, bound)
        for j in range(z.shape[0]):
            if problem.whole[j] and person.set_[j] and z[j] != np.floor(z[j]):
                return Split(np.int64(2), none, np.int64(j), none, np.floor(z[j]), bound)
    if bend >= 0 and problem.whole[bend]:
        return Split(np.int64(2), none, bend, none, np.floor(knot), bound)
    if bend >= 0:
        return Split(np.int64(2), none, none, np.int64(problem.actions[bend]), knot, bound)
    return no_split(THIN, bound)


search_trees = linked(
    search_people,
    "trees",
    make_tools=make_tools,
    begin_person=begin_person,
    begin_round=begin_round,
    add_root=add_root,
    examine=examine,
)
