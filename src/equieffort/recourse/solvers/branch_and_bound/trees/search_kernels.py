"""Best-first branch and bound over sums of trees, compiled: person after person, all intervention sets in one heap.

A node is a root, a box for the values that are set and branching bounds on what follows; its bound is the least cost in
there, whatever the trees say. The cheapest node is looked at first (Land and Doig, 1960): dropped if its margins cannot
reach what they need, believed if its cheapest point is favourable however its followers are rounded, otherwise split
where the trees still could gain most, or where costs bend. A budget that doubles keeps the first looks small; the last
has none, so an empty heap is a proof.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.recourse.solvers.branch_and_bound.trees.box_kernels import (
    Person,
    cell_of,
    cheapest,
    cost_of,
    make_space,
    tighten_bounds,
)
from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import (
    Forest,
    advance,
    collapse,
    is_decided,
    make_grove,
    most_of,
    worth_of,
)
from equieffort.recourse.solvers.branch_and_bound.trees.node_kernels import choose, load, make_child, no_split, store
from equieffort.recourse.solvers.branch_and_bound.trees.root_kernels import (
    CompiledProblem,
    TreeBatch,
    broken_clause,
    candidate,
    is_allowed,
    open_root,
    place,
)
from equieffort.recourse.solvers.endings import DONE, NODES, STOPPED, TIME
from equieffort.recourse.solvers.kernels.compiled import entry, inner
from equieffort.recourse.solvers.kernels.heap import grown, grown_list, heap_pop, heap_push
from equieffort.recourse.solvers.kernels.simplex import EMPTY

MOST_ASKED = 4096
MOST_MARKS = 25_000_000
"""Room for the undecided trees of waiting nodes, in numbers of four bytes; later nodes begin at the roots again."""
EVERY = 32
"""How often the clock is read, in nodes."""
GROWTH, LAST_BUDGET = 2.0, 512.0
"""How the budget grows from round to round, and beyond how many first budgets there is none."""


class Options(NamedTuple):
    """How long to search and how near to come."""

    gap: float
    strict: float
    """How many rounding errors past the need a margin must lie to be believed."""
    asks: bool
    """Whether cells that only the model can decide are put on record, or count as undecided."""
    nodes: int
    seconds: float


class Answers(NamedTuple):
    """A row a person."""

    cost: Any
    bound: Any
    root: Any
    change: Any
    """(person, action)"""
    ended: Any
    looked: Any
    """Nodes looked at."""


@inner
def _near(gap: float, cost: float) -> float:
    """How far below a cost a bound may lie and still prove it, with room for what replay adds."""
    return max(0.5 * gap, 5e-10) * cost if cost < np.inf else 0.0


@entry
def search_people(
    forest: Forest,
    compiled: CompiledProblem,
    people: TreeBatch,
    options: Options,
    clock: Any,
    first: int,
    last: int,
    answers: Answers,
) -> Any:
    """Solve people first to last - 1; returns the cells that only the model can decide.

    `clock` holds the seconds now and a sign to stop, written by somebody else. A row of what is returned: person, root,
    cost, bound, and the change of each action.
    """
    n, f, t = compiled.actions.shape[0], compiled.tracks.shape[0], people.x.shape[1]
    trees_all, nodes_all, margins = forest.roots.shape[0], forest.feature.shape[0], forest.base.shape[0]
    roots, categories = compiled.root_pattern.shape[0], compiled.categories.shape[0]
    low, high, z, point, change, fact = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    box_low, box_high = np.empty(n), np.empty(n)
    floor, roof, row_low, row_high = np.empty(f), np.empty(f), np.empty(f), np.empty(f)
    cell_low, cell_high, point_low, point_high = np.empty(t), np.empty(t), np.empty(t), np.empty(t)
    union_low, union_high, shares = np.empty(t), np.empty(t), np.empty(t)
    stack, parents = np.empty(nodes_all + 2, dtype=np.int32), np.empty(nodes_all + 2, dtype=np.int32)
    most, gain = np.empty((margins, trees_all)), np.empty(trees_all)
    votes, weights, spare_gain = np.empty(trees_all), np.empty(trees_all), np.empty(trees_all)
    tops, sums = np.empty(trees_all, dtype=np.int32), np.empty(margins)
    mask = np.empty((max(categories, 1), people.allowed.shape[2]), dtype=np.bool_)
    space = make_space(n, f)
    grove = make_grove(nodes_all, trees_all, margins)
    starts = np.empty((roots, t))
    # A row of the pool: root, box, branching bounds, how many trees are undecided and what the others add up to.
    tail = 1 + 2 * n + 2 * f
    pool = np.empty((256, tail + 1 + margins))
    marks = np.empty((256, trees_all), dtype=np.int32)
    free = np.empty(256, dtype=np.int64)
    keys, turns, ids = np.empty(256), np.empty(256, dtype=np.int64), np.empty(256, dtype=np.int64)
    asked = np.empty((16, 4 + n))
    asks = np.int64(0)
    for i in range(first, last):
        best, best_root = np.inf, np.int64(-1)
        looked, ended = np.int64(0), np.int64(DONE)
        budget, excluded = people.budget[i], 0.0
        began, first_ask = clock[0], asks
        dropped, thin = np.inf, np.inf
        size, used, spare, turn = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
        atom_low, atom_high = people.atom_low[i], people.atom_high[i]
        range_low, range_high = people.range_low[i], people.range_high[i]
        for j in range(n):
            fact[j] = people.x[i, compiled.actions[j]]
        while True:
            asks = first_ask
            dropped, thin = np.inf, np.inf
            size, used, spare, turn = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
            trees = np.int64(-1)
            for k in range(t):
                union_low[k], union_high[k] = people.x[i, k], people.x[i, k]
            for c in range(categories):
                for level in range(mask.shape[1]):
                    mask[c, level] = level == people.x[i, compiled.categories[c]]
            root, child = np.int64(0), np.int64(0)
            waiting: Any = np.int64(-1)
            bound: Any = 0.0
            split = no_split()
            limit, count = budget, np.int64(0)
            # One loop makes nodes (roots at first, then the children of the node that waits) and looks at them, so
            # that each of the larger functions is called in one place and compiled once.
            while True:
                opens_root = root < roots
                makes_child = not opens_root and child < split.children
                limit = min(budget, best)
                if opens_root:
                    source, root = root, root + 1
                    if compiled.root_price[source] >= limit or not open_root(
                        compiled, people, i, source, starts[source], low, high, floor, roof
                    ):
                        continue
                    bound = 0.0
                elif makes_child:
                    source = load(pool[waiting], low, high, floor, roof)
                    child += 1
                    if not make_child(
                        compiled, split, child - 1, source, starts, atom_low, atom_high, low, high, floor, roof
                    ):
                        continue
                else:
                    if trees < 0:
                        trees = np.int64(
                            collapse(forest, union_low, union_high, mask, compiled.codes, grove, stack, parents)
                        )
                    if size == 0:
                        break
                    if keys[0] >= limit - _near(options.gap, best):
                        dropped = min(dropped, keys[0])
                        break
                    if looked >= options.nodes:
                        ended = np.int64(NODES)
                        break
                    if looked % EVERY == 0:
                        if clock[1] != 0.0:
                            ended = np.int64(STOPPED)
                            break
                        if clock[0] - began > options.seconds:
                            ended = np.int64(TIME)
                            break
                    looked += 1
                    size = heap_pop(keys, turns, ids, size)
                    waiting, bound = ids[size], keys[size]
                    source = load(pool[waiting], low, high, floor, roof)
                    free[spare] = waiting
                    spare += 1
                    split = no_split()
                    child = np.int64(0)
                    count = np.int64(pool[waiting, tail])
                    if count < 0:
                        count = trees
                        for at in range(count):
                            tops[at] = grove.roots[at]
                        for m in range(margins):
                            sums[m] = grove.start[m]
                    else:
                        for at in range(count):
                            tops[at] = marks[waiting, at]
                        for m in range(margins):
                            sums[m] = pool[waiting, tail + 1 + m]
                interventions, price = compiled.root_pattern[source], compiled.root_price[source]
                fixed, limited, set_ = (
                    compiled.fixed[interventions],
                    compiled.limited[interventions],
                    compiled.set_[interventions],
                )
                person = Person(
                    fact, people.up[i], people.down[i], compiled.whole, people.x[i], starts[source],
                    compiled.effect[interventions], compiled.slots[interventions], compiled.counts[interventions],
                    compiled.tracks, i,
                )  # fmt: skip
                if not tighten_bounds(person, people.curves, limit - price, low, high, floor, roof):
                    continue
                state, below = cheapest(person, people.curves, low, high, floor, roof, z, space)
                if state == EMPTY:
                    continue
                own_bound = max(below + price, bound)
                if own_bound >= limit:
                    continue
                if opens_root or not makes_child:
                    cell_of(person, low, high, floor, roof, compiled.actions, set_, cell_low, cell_high)
                if opens_root:
                    for k in range(t):
                        union_low[k] = min(union_low[k], cell_low[k])
                        union_high[k] = max(union_high[k], cell_high[k])
                    for c in range(categories):
                        if compiled.root_level[source, c] >= 0:
                            mask[c, compiled.root_level[source, c]] = True
                if opens_root or makes_child:
                    if own_bound >= limit - _near(options.gap, best):
                        dropped = min(dropped, own_bound)
                        continue
                    if used == pool.shape[0]:
                        pool = grown(pool)
                        keys, turns, ids, free = grown_list(keys), grown_list(turns), grown_list(ids), grown_list(free)
                        if marks.size < MOST_MARKS:
                            marks = grown(marks)
                    if spare > 1:
                        # The waiting parent's place is the last one freed; it stays until its children are made.
                        spare -= 1
                        home: Any = free[spare - 1]
                        free[spare - 1] = free[spare]
                    else:
                        home = used
                        used += 1
                    store(pool[home], source, low, high, floor, roof)
                    # A child begins where its parent's trees were undecided, a root (or one without room) at theirs.
                    pool[home, tail] = -1.0
                    if makes_child and home < marks.shape[0]:
                        pool[home, tail] = count
                        for tree in range(count):
                            marks[home, tree] = tops[tree]
                        for m in range(margins):
                            pool[home, tail + 1 + m] = sums[m]
                    size = heap_push(keys, turns, ids, size, own_bound, turn, home)
                    turn += 1
                    continue
                bound = own_bound
                goal = compiled.root_goal[source]
                members = compiled.goal_margin[compiled.goal_start[goal] : compiled.goal_start[goal + 1]]
                count = np.int64(advance(forest.subsets, grove, count, tops, sums, cell_low, cell_high))
                is_open = count > 0
                if not most_of(forest, grove, count, tops, sums, members, cell_low, cell_high, stack, most):
                    continue
                for j in range(n):
                    k = compiled.actions[j]
                    is_free = set_[j] and not fixed[k]
                    box_low[j] = people.low[i, j] if is_free else fact[j]
                    box_high[j] = people.high[i, j] if is_free else fact[j]
                clause, solved, is_good = np.int64(-1), False, False
                for j in range(n):
                    point[j] = z[j]
                for at in range(count):
                    gain[at] = 1.0
                for attempt in range(1 if is_open else 2):
                    if not candidate(
                        person, people.curves, attempt > 0, fixed, limited, range_low, range_high, compiled.atom_track,
                        atom_low, atom_high, low, high, floor, roof, cell_low, cell_high, row_low, row_high, point,
                        space,
                    ):  # fmt: skip
                        continue
                    if not place(
                        person,
                        compiled.actions,
                        set_,
                        low,
                        high,
                        box_low,
                        box_high,
                        point,
                        change,
                        point_low,
                        point_high,
                    ):
                        continue
                    if not is_allowed(person, fixed, limited, range_low, range_high, point_low, point_high):
                        continue
                    verdict = worth_of(
                        forest, grove, count, tops, sums, members, options.strict, point_low, point_high, stack, most,
                        votes, gain,
                    )  # fmt: skip
                    if verdict >= 0:
                        # Rounding of followers might carry the point out of the cell: what counts is the whole forest.
                        verdict = worth_of(
                            forest, grove, trees, grove.roots, grove.start, members, options.strict, point_low,
                            point_high, stack, most, votes, spare_gain,
                        )  # fmt: skip
                    clause = broken_clause(
                        compiled.clause_start, compiled.atom_track, atom_low, atom_high, point_low, point_high
                    )
                    if clause >= 0:
                        continue
                    cost = cost_of(person, people.curves, point) + price
                    is_near = cost - bound <= _near(options.gap, cost)
                    if verdict > 0:
                        is_good = True
                        if cost < best:
                            best, best_root = cost, source
                            for j in range(n):
                                answers.change[i, j] = change[j]
                        if is_near:
                            dropped = min(dropped, bound)
                            solved = True
                        break
                    if (
                        verdict == 0
                        and is_near
                        and not is_open
                        and options.asks
                        and asks - first_ask < MOST_ASKED
                        and is_decided(forest.subsets, grove, trees, grove.roots, point_low, point_high)
                    ):
                        if asks == asked.shape[0]:
                            asked = grown(asked)
                        asked[asks, 0], asked[asks, 1], asked[asks, 2], asked[asks, 3] = i, source, cost, bound
                        for j in range(n):
                            asked[asks, 4 + j] = change[j]
                        asks += 1
                        solved = True
                        break
                if solved:
                    continue
                split = choose(
                    compiled, person, people.curves, set_, clause, is_good, 0.01 * _near(options.gap, bound), atom_low,
                    atom_high, cell_low, cell_high, low, high, z, point, grove, count, tops, gain, shares, votes,
                    weights,
                )  # fmt: skip
                if split.children == 0:
                    thin = min(thin, bound)
                    continue
                # The node itself waits in the pool while its children are made from it.
                store(pool[waiting], source, low, high, floor, roof)
            # A point that was found may be dearer than the budget (rounded to a whole number, or a bent cost above its
            # line): between the two nothing was looked at yet.
            if ended != DONE or best <= budget:
                break
            if thin == np.inf and asks == first_ask:
                excluded = min(budget, dropped)
            budget *= GROWTH
            if best < np.inf or budget >= LAST_BUDGET * people.budget[i]:
                budget = np.inf
        bound = min(min(best, dropped), thin)
        if ended != DONE:
            bound = min(bound, budget)
            if size > 0:
                bound = min(bound, keys[0])
        answers.cost[i], answers.root[i] = best, best_root
        answers.bound[i] = max(bound, min(excluded, best))
        answers.ended[i], answers.looked[i] = ended, looked
    return asked[:asks]
