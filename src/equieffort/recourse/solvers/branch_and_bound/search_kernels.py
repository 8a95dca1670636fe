"""Best-first branch and bound: person after person, all roots in one heap, whatever bounds the nodes.

A node is a root, a box for the values that are set and branching bounds on what follows; its bound is the least cost in
there, whatever the classifier says. The cheapest node is looked at first (Land and Doig, 1960): an *oracle* says that
it cannot be favourable, finds actions in it, or says where to split it. A budget that grows keeps the first looks
small; the last has none, so an empty heap is a proof.

An oracle is a class of arrays and five kernels, which take the places of those below when the search is linked:
`make_tools`, `begin_person`, `begin_round`, `add_root` and `examine`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import kernel, maker
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK_THIN,
    CLOSED,
    COST,
    DROPPED,
    LEFT,
    THIN,
    Answers,
    Best,
    Box,
    CompiledBatch,
    CompiledProblem,
    Memo,
    Options,
    Person,
    Planes,
    Point,
    Space,
    Split,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import cell_of, cheapest, copy, cost_of, tighten_bounds
from equieffort.recourse.solvers.branch_and_bound.node_kernels import (
    SIZE,
    Pool,
    keep_node,
    load,
    make_child,
    make_pool,
    no_split,
    open_root,
    person_at,
    pop,
    settle_clauses,
    store,
    with_room,
)
from equieffort.recourse.solvers.branch_and_bound.point_kernels import drop, near
from equieffort.recourse.solvers.endings import DONE, ENDLESS, NODES, STOPPED, TIME
from equieffort.recourse.solvers.kernels.simplex import EMPTY, make_program

MOST_ASKED = 4096
EVERY = 32
"""How often the clock is read, in nodes."""
SLOW, FAST, SLOWLY = 2.0, 8.0, 4
"""How the budget grows from round to round: so many rounds slowly, then fast."""
FAR_NODES = 10_000
"""Where actions have no limits, so many nodes are spent on budgets that are far beyond the first."""
ROOT, CHILD, NODE = range(3)
LOOKED, ENDED, MOST, ASKED, FIRST_ASKED = range(5)
"""What is counted: nodes looked at, why the search ended, how many nodes it may take, points asked about, and how many
of these belong to people before."""


@maker
def make_tools(oracle: Any, problem: CompiledProblem, people: CompiledBatch) -> tuple[Any, Memo]:
    """Room for the oracle to work in, and for what it remembers of a node."""
    raise NotImplementedError


@kernel
def begin_person(
    oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, i: int, options: Options, best: Best,
    space: Space,
) -> float:  # fmt: skip
    """What to look for first, in cost; infinite once an action is known."""
    raise NotImplementedError


@kernel
def begin_round(oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, i: int) -> None:
    """Forget the roots of the last round."""
    raise NotImplementedError


@kernel
def add_root(oracle: Any, tools: Any, problem: CompiledProblem, person: Person, space: Space) -> bool:
    """Hear of a root of this round; False if nothing in it can be favourable."""
    raise NotImplementedError


@kernel
def examine(
    oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, person: Person, options: Options,
    limit: float, bound: float, best: Best, memo: Memo, space: Space,
) -> Split:  # fmt: skip
    """Find actions in the box of a node, and say where to split it."""
    raise NotImplementedError


@maker
def search_people(
    oracle: Any, problem: CompiledProblem, people: CompiledBatch, options: Options, clock: Any, first: int, last: int,
    answers: Answers,
) -> Any:  # fmt: skip
    """Solve people first to last - 1; returns the points that only the model can decide.

    `clock` holds the seconds now and a sign to stop, written by somebody else. A row of what is returned: person, root,
    cost, bound, and the change of each action.
    """
    n = problem.actions.shape[0]
    tools, memo = make_tools(oracle, problem, people)
    space = _make_space(oracle, problem, people)
    pool = make_pool(1 + 2 * n + 2 * problem.tracks.shape[0] + memo.numbers.shape[0], memo.marks.shape[0])
    best = Best(np.empty(3), np.empty(1, dtype=np.int64), np.empty(n))
    asked, counts = np.empty((16, 4 + n)), np.zeros(5, dtype=np.int64)
    for i in range(first, last):
        for j in range(n):
            space.fact[j] = people.x[i, problem.actions[j]]
        best.cost[COST], best.root[0], counts[LOOKED], counts[ENDED] = np.inf, -1, 0, DONE
        counts[FIRST_ASKED] = counts[ASKED]
        began, excluded, turn = clock[0], 0.0, 0
        first_budget = begin_person(oracle, tools, problem, people, i, options, best, space)
        budget = first_budget
        while True:
            counts[MOST] = options.nodes
            if budget > options.far * first_budget and _is_endless(people, i):
                counts[MOST] = min(options.nodes, counts[LOOKED] + FAR_NODES)
            pool, asked = _search_round(
                oracle, tools, problem, people, i, options, budget, clock, began, best, memo, space, pool, asked,
                counts,
            )  # fmt: skip
            # A point that was found may be dearer than the budget (rounded to a whole number, or a bent cost above its
            # line): between the two nothing was looked at yet.
            if counts[ENDED] != DONE or best.cost[COST] <= budget:
                break
            if best.cost[LEFT] == np.inf and counts[ASKED] == counts[FIRST_ASKED]:
                excluded = min(budget, best.cost[DROPPED])
            larger = budget * (SLOW if turn < SLOWLY else FAST)
            turn += 1
            if best.cost[COST] < np.inf or larger >= options.last * first_budget:
                if best.cost[COST] == np.inf and options.far < np.inf and _is_endless(people, i):
                    # What costs more than this budget was not looked for.
                    counts[ENDED] = ENDLESS
                    break
                larger = np.inf
            budget = larger
        bound = min(min(best.cost[COST], best.cost[DROPPED]), best.cost[LEFT])
        if counts[ENDED] != DONE:
            bound = min(bound, budget)
            if pool.counts[SIZE] > 0:
                bound = min(bound, pool.keys[0])
        answers.cost[i], answers.root[i] = best.cost[COST], best.root[0]
        answers.bound[i] = max(bound, min(excluded, best.cost[COST]))
        answers.ended[i], answers.looked[i] = counts[ENDED], counts[LOOKED]
        if best.root[0] >= 0:
            copy(best.change, answers.change[i])
    return asked[: counts[ASKED]]


@maker
def _search_round(
    oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, i: int, options: Options, budget: float,
    clock: Any, began: float, best: Best, memo: Memo, space: Space, pool: Pool, asked: Any, counts: Any,
) -> tuple[Pool, Any]:  # fmt: skip
    """Look at everything that costs less than a budget; returns the pool and the points asked about, as they grow.

    One loop makes nodes (roots at first, then the children of the node that waits) and looks at them, so that each of
    the larger functions is called in one place and compiled once.
    """
    _begin(oracle, tools, problem, people, i, best, space, pool, counts)
    root, source, child, waiting, bound = np.int64(0), np.int64(0), np.int64(0), np.int64(0), 0.0
    split = no_split(0, 0.0)
    while True:
        limit = min(budget, best.cost[COST])
        kind = ROOT if root < problem.root_set.shape[0] else CHILD if child < split.children else NODE
        if kind == ROOT:
            source, root = root, root + 1
        else:
            if kind == NODE:
                if _is_over(pool, limit, options, clock, began, best, counts):
                    break
                waiting, bound = pop(pool)
                child = np.int64(0)
            source = load(pool, waiting, space, memo)
        own = _bound(oracle, tools, problem, people, i, source, kind, split, child, limit, bound, space)
        if kind == CHILD:
            child += 1
        if kind == NODE:
            split = _look(oracle, tools, problem, people, i, source, options, limit, own, best, memo, space)
            bound = split.bound
            if split.children > 0:
                # The node itself waits in the pool while its children are made from it.
                store(pool, waiting, source, space, memo, split.children > 0)
            elif split.children != CLOSED:
                if counts[ASKED] == asked.shape[0]:
                    asked = np.concatenate((asked, asked))
                _leave(people, problem, i, source, split, best, space, asked, counts)
        elif own < limit - near(options.gap, best.cost[COST]):
            pool = with_room(pool)
            # A child begins with what was known of its parent, a root with nothing.
            keep_node(pool, own, source, space, memo, kind == CHILD)
        elif own < limit:
            drop(best, own)
    return pool, asked


@kernel
def _begin(
    oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, i: int, best: Best, space: Space,
    pool: Pool, counts: Any,
) -> None:  # fmt: skip
    """Forget the last round."""
    counts[ASKED] = counts[FIRST_ASKED]
    best.cost[DROPPED] = best.cost[LEFT] = np.inf
    for k in range(pool.counts.shape[0]):
        pool.counts[k] = 0
    space.planes.count[0] = 0
    begin_round(oracle, tools, problem, people, i)


@kernel
def _bound(
    oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, i: int, root: int, kind: int,
    split: Split, child: int, limit: float, bound: float, space: Space,
) -> float:  # fmt: skip
    """Open a root, make a child of a node that was loaded, or take that node itself; tighten its box, and bound it.

    Infinite where nothing is left that costs less than the limit.
    """
    box, planes, curves = space.box, space.planes, people.curves
    if kind == NODE:
        planes.count[0] = 0
    if kind == ROOT:
        bound = 0.0
        if problem.root_price[root] >= limit or not open_root(problem, people, i, root, space.starts[root], box):
            return np.inf
    person = person_at(problem, people, i, root, space)
    if kind == CHILD and not make_child(problem, person, split, child, box):
        return np.inf
    if not settle_clauses(problem, person, box):
        return np.inf
    if not tighten_bounds(problem, person, curves, limit - person.price, box, planes):
        return np.inf
    state, below = cheapest(problem, person, curves, box, planes, space.z, space)
    bound = max(below + person.price, bound)
    if state == EMPTY or bound >= limit:
        return np.inf
    if kind != CHILD:
        cell_of(problem, person, box, space.cell_low, space.cell_high)
    if kind == ROOT and not add_root(oracle, tools, problem, person, space):
        return np.inf
    return bound


@kernel
def _look(
    oracle: Any, tools: Any, problem: CompiledProblem, people: CompiledBatch, i: int, root: int, options: Options,
    limit: float, bound: float, best: Best, memo: Memo, space: Space,
) -> Split:  # fmt: skip
    """Let the oracle look into a node, unless nothing is left of it."""
    if bound == np.inf:
        return no_split(CLOSED, bound)
    person = person_at(problem, people, i, root, space)
    return examine(oracle, tools, problem, people, person, options, limit, bound, best, memo, space)


@kernel
def _leave(
    people: CompiledBatch, problem: CompiledProblem, i: int, root: int, split: Split, best: Best, space: Space,
    asked: Any, counts: Any,
) -> None:  # fmt: skip
    """Leave a node that cannot be split, or put its point on record."""
    asks = split.children != THIN and counts[ASKED] - counts[FIRST_ASKED] < MOST_ASKED
    if asks:
        at, person = counts[ASKED], person_at(problem, people, i, root, space)
        asked[at, 0], asked[at, 1], asked[at, 3] = i, root, split.bound
        asked[at, 2] = cost_of(person, people.curves, space.point.z)
        copy(space.point.change, asked[at, 4:])
        counts[ASKED] += 1
    if not asks or split.children == ASK_THIN:
        best.cost[LEFT] = min(best.cost[LEFT], split.bound)


@kernel
def _is_over(pool: Pool, limit: float, options: Options, clock: Any, began: float, best: Best, counts: Any) -> bool:
    """Whether a round ends: all is proven, or a limit is reached."""
    if pool.counts[SIZE] == 0:
        return True
    if pool.keys[0] >= limit - near(options.gap, best.cost[COST]):
        drop(best, pool.keys[0])
        return True
    if counts[LOOKED] >= counts[MOST] and (counts[LOOKED] >= options.nodes or best.cost[COST] == np.inf):
        counts[ENDED] = NODES if counts[LOOKED] >= options.nodes else ENDLESS
        return True
    if counts[LOOKED] % EVERY == 0 and (clock[1] != 0.0 or clock[0] - began > options.seconds):
        counts[ENDED] = STOPPED if clock[1] != 0.0 else TIME
        return True
    counts[LOOKED] += 1
    return False


@kernel
def _is_endless(people: CompiledBatch, i: int) -> bool:
    """Whether some action has no limit."""
    endless = False
    for j in range(people.low.shape[1]):
        endless = endless or people.low[i, j] == -np.inf or people.high[i, j] == np.inf
    return endless


@maker
def _make_space(oracle: Any, problem: CompiledProblem, people: CompiledBatch) -> Space:
    """Room for one node."""
    n, f, t, k = problem.actions.shape[0], problem.tracks.shape[0], people.x.shape[1], oracle.need.shape[0]
    box = Box(np.empty(n), np.empty(n), np.empty(f), np.empty(f))
    return Space(
        box, Box(box.low, box.high, np.empty(f), np.empty(f)),
        Planes(np.zeros(1, dtype=np.int64), np.empty((k, n)), np.empty(k)), np.empty(n),
        Point(np.empty(n), np.empty(n), np.empty(t), np.empty(t)), np.empty(t), np.empty(t),
        np.empty((problem.root_set.shape[0], t)), np.empty(n), make_program(f + k, 2 * n),
        np.empty(max(2 * n, 1), dtype=np.int64), np.empty(max(2 * n, 1)), np.empty(n),
    )  # fmt: skip
