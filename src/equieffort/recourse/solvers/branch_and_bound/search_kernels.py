"""Best-first branch and bound: person after person, all roots in one heap, whatever bounds the nodes.

A node is a root, a box for the values that are set and branching bounds on what follows; its bound is the least cost in
there, whatever the classifier says. The cheapest node is looked at first (Land and Doig, 1960): an *oracle* says that
it cannot be favourable, finds actions in it, or says where to split it. A budget that grows keeps the first looks
small; the last has none, so an empty heap is a proof. A budget far above the least cost leaves boxes so large that
little is proven of them, and the first action comes late: where it does not come soon, rounds in *haste* find one. They
drop what is unlikely, as weighted searches do (Pohl, "Heuristic search viewed as path finding in a graph", 1970), and
prove nothing; what they find is the budget of the round that does.

An oracle is a class of arrays and four kernels, which take the places of those below when the search is linked:
`begin_person`, `begin_round`, `add_root` and `examine`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.arrays import Floats
from equieffort.foundations.jit import kernel, maker
from equieffort.recourse.solvers.branch_and_bound.arrays import (
    ASK_THIN,
    ASKED,
    CALM,
    CLOSED,
    COST,
    DROPPED,
    ENDED,
    FIRST_ASKED,
    HASTE,
    LEFT,
    LOOKED,
    MOST,
    PROVING,
    THIN,
    CompiledBatch,
    Person,
    Search,
    Split,
)
from equieffort.recourse.solvers.branch_and_bound.box_kernels import cell_of, cheapest, copy, cost_of, tighten_bounds
from equieffort.recourse.solvers.branch_and_bound.node_kernels import (
    make_child,
    no_split,
    open_root,
    person_at,
    settle_clauses,
)
from equieffort.recourse.solvers.branch_and_bound.point_kernels import drop, near
from equieffort.recourse.solvers.branch_and_bound.pool_kernels import (
    KEY,
    SIZE,
    Pool,
    keep_node,
    load,
    pop,
    store,
    with_room,
)
from equieffort.recourse.solvers.endings import DONE, ENDLESS, NODES
from equieffort.recourse.solvers.kernels.clock_kernels import begin_time, late
from equieffort.recourse.solvers.kernels.simplex import EMPTY

MOST_ASKED = 4096
EVERY = 32
"""How often the clock is read, in nodes."""
FAST, SLOWLY = 8.0, 4.0
"""The budget grows slowly, as the oracle wants it, until it is about this power of two of the first; then fast."""
HASTY_GROWTH, HASTY_NODES = 1.3, 8000
"""How the budget grows in haste, and how many nodes are spent on that."""
FAR_NODES = 10_000
"""Where actions have no limits, so many nodes are spent on budgets that are far beyond the first."""
CUT = -1
"""A round was ended although it had proven nothing."""
ROOT, CHILD, NODE = range(3)


@kernel
def begin_person(search: Search, i: int) -> float:
    """What to look for first, in cost; infinite where that is anything."""
    raise NotImplementedError


@kernel
def begin_round(search: Search, i: int) -> None:
    """Forget the roots of the last round."""
    raise NotImplementedError


@kernel
def add_root(search: Search, person: Person) -> bool:
    """Hear of a root of this round; False if nothing in it can be favourable."""
    raise NotImplementedError


@kernel
def examine(search: Search, person: Person, limit: float, bound: float) -> Split:
    """Find actions in the box of a node, and say where to split it."""
    raise NotImplementedError


@maker
def search_people(search: Search, pool: Pool, asked: Floats, first: int, last: int) -> Floats:
    """Solve people first to last - 1; returns the points that only the model can decide.

    `pool` and `asked` are room to begin with. A row of what is returned: person, root, cost, bound, and the change of
    each action.
    """
    best, counts, options = search.best, search.counts, search.options
    for i in range(first, last):
        _forget(search, i)
        first_budget = begin_person(search, i)
        budget, excluded, calmly = first_budget, 0.0, first_budget
        while True:
            _allow_nodes(search, i, budget > options.far * first_budget)
            pool, asked = _search_round(search, i, budget, pool, asked)
            if counts[HASTE] == CALM:
                calmly = budget
            if counts[HASTE] < PROVING and (counts[ENDED] == CUT or (counts[ENDED] == DONE and counts[HASTE] > CALM)):
                budget = _hurry(search, budget, max(first_budget, excluded), calmly)
                continue
            # A point that was found may be dearer than the budget (rounded to a whole number, or a bent cost above its
            # line): between the two nothing was looked at yet.
            if counts[ENDED] != DONE or best.cost[COST] <= budget:
                break
            if best.cost[LEFT] == np.inf and counts[ASKED] == counts[FIRST_ASKED]:
                excluded = min(budget, best.cost[DROPPED])
            larger = budget * (options.growth if budget < 2.0**SLOWLY * first_budget else FAST)
            if best.cost[COST] <= options.growth * larger or larger >= options.last * first_budget:
                if best.cost[COST] == np.inf and options.far < np.inf and _is_endless(search.people, i):
                    # What costs more than this budget was not looked for.
                    counts[ENDED] = ENDLESS
                    break
                larger = np.inf
            budget = larger
        waiting = pool.heap[0, KEY] if pool.counts[SIZE] > 0 else np.inf
        is_hasty = CALM < counts[HASTE] < PROVING
        _answer(search, i, excluded, 0.0 if is_hasty else min(budget, waiting))
    return asked[: counts[ASKED]]


@kernel
def _forget(search: Search, i: int) -> None:
    """Nothing is known of person i but the facts."""
    best, counts, problem, fact = search.best, search.counts, search.problem, search.space.fact
    for j in range(fact.shape[0]):
        fact[j] = search.people.x[i, problem.actions[j]]
    best.cost[COST], best.root[0], counts[LOOKED], counts[ENDED] = np.inf, -1, 0, DONE
    counts[FIRST_ASKED] = counts[ASKED]
    counts[HASTE] = CALM if 0 < 4 * search.options.patience <= search.options.nodes else PROVING
    begin_time(search.clock)


@kernel
def _allow_nodes(search: Search, i: int, is_far: bool) -> None:
    """How many nodes the search may have taken when the next round ends."""
    counts, options = search.counts, search.options
    counts[MOST] = options.nodes
    if counts[HASTE] == CALM:
        counts[MOST] = options.patience
    elif counts[HASTE] < PROVING:
        counts[MOST] = min(options.nodes // 2, options.patience + HASTY_NODES)
    elif is_far and _is_endless(search.people, i):
        counts[MOST] = min(options.nodes, counts[LOOKED] + FAR_NODES)


@kernel
def _hurry(search: Search, budget: float, least: float, calmly: float) -> float:
    """The budget after a round that proved nothing: larger until an action is found, then what that costs.

    Without one the search hurries less, from the least budget on, and last goes on where it was calm.
    """
    counts, cost = search.counts, search.best.cost[COST]
    if counts[ENDED] == DONE and cost == np.inf and budget < np.inf:
        return budget * HASTY_GROWTH if budget < search.options.last * least else np.inf
    counts[ENDED] = DONE
    counts[HASTE] = counts[HASTE] + 1 if cost == np.inf else PROVING
    if cost < np.inf:
        return cost
    return least if counts[HASTE] < PROVING else calmly


@kernel
def _answer(search: Search, i: int, excluded: float, open_: float) -> None:
    """Write down what was found and proven: `excluded` by rounds that ended, `open_` the least left if one did not."""
    best, counts, answers = search.best, search.counts, search.answers
    bound = min(min(best.cost[COST], best.cost[DROPPED]), best.cost[LEFT])
    if counts[ENDED] != DONE:
        bound = min(bound, open_)
    answers.cost[i], answers.root[i] = best.cost[COST], best.root[0]
    answers.bound[i] = max(bound, min(excluded, best.cost[COST]))
    answers.ended[i], answers.looked[i] = counts[ENDED], counts[LOOKED]
    if best.root[0] >= 0:
        copy(best.change, answers.change[i])


@maker
def _search_round(search: Search, i: int, budget: float, pool: Pool, asked: Floats) -> tuple[Pool, Any]:
    """Look at everything that costs less than a budget; returns the pool and the points asked about, as they grow.

    One loop makes nodes (roots at first, then the children of the node that waits) and looks at them, so that each of
    the larger functions is called in one place and compiled once.
    """
    _begin(search, i, pool)
    root, source, child, waiting, bound = np.int64(0), np.int64(0), np.int64(0), np.int64(0), 0.0
    best, split = search.best, no_split(0, 0.0)
    while True:
        limit = min(budget, best.cost[COST])
        kind = ROOT if root < search.problem.root_set.shape[0] else CHILD if child < split.children else NODE
        if kind == ROOT:
            source, root = root, root + 1
        else:
            if kind == NODE:
                if _is_over(search, pool, limit):
                    break
                waiting, bound = pop(pool)
                child = np.int64(0)
            source = load(pool, waiting, search.space, search.memo)
        person = person_at(search.problem, search.people, i, source, search.space)
        own = np.inf
        if _make(search, person, kind, split, child, limit):
            own = _bound(search, person, kind, limit, 0.0 if kind == ROOT else bound)
        if kind == CHILD:
            child += 1
        if kind == NODE:
            split = examine(search, person, limit, own) if own < np.inf else no_split(CLOSED, own)
            bound = split.bound
            if split.children > 0:
                # The node itself waits in the pool while its children are made from it.
                store(pool, waiting, source, search.space, search.memo, split.children > 0)
            elif split.children != CLOSED:
                if search.counts[ASKED] == asked.shape[0]:
                    asked = np.concatenate((asked, asked))
                _leave(search, person, split, asked)
        elif own < limit - near(search.options.gap, best.cost[COST]):
            pool = with_room(pool)
            # A child begins with what was known of its parent, a root with nothing.
            keep_node(pool, own, source, search.space, search.memo, kind == CHILD)
        elif own < limit:
            drop(best, own)
    return pool, asked


@kernel
def _begin(search: Search, i: int, pool: Pool) -> None:
    """Forget the last round."""
    search.counts[ASKED] = search.counts[FIRST_ASKED]
    search.best.cost[DROPPED] = search.best.cost[LEFT] = np.inf
    for k in range(pool.counts.shape[0]):
        pool.counts[k] = 0
    search.space.planes.count[0] = 0
    begin_round(search, i)


@kernel
def _make(search: Search, person: Person, kind: int, split: Split, child: int, limit: float) -> bool:
    """Open a root, make a child of a node that was loaded, or take that node itself; False where nothing is left."""
    problem, space, root = search.problem, search.space, person.root
    if kind == NODE:
        space.planes.count[0] = 0
    if kind == ROOT and (
        person.price >= limit or not open_root(problem, search.people, person.row, root, space.starts[root], space.box)
    ):
        return False
    if kind == CHILD and not make_child(problem, person, split, child, space.box, search.memo):
        return False
    return settle_clauses(problem, person, space.box)


@kernel
def _bound(search: Search, person: Person, kind: int, limit: float, bound: float) -> float:
    """Tighten the box of a node, and bound it; infinite where nothing is left that costs less than the limit."""
    problem, space, curves = search.problem, search.space, search.people.curves
    if not tighten_bounds(problem, person, curves, limit - person.price, space.box, space.planes):
        return np.inf
    state, below = cheapest(problem, person, curves, space.box, space.z, space)
    bound = max(below + person.price, bound)
    if state == EMPTY or bound >= limit:
        return np.inf
    if kind != CHILD:
        cell_of(problem, person, space)
    if kind == ROOT and not add_root(search, person):
        return np.inf
    return bound


@kernel
def _leave(search: Search, person: Person, split: Split, asked: Floats) -> None:
    """Leave a node that cannot be split, or put its point on record."""
    counts, point, best = search.counts, search.space.point, search.best
    asks = split.children != THIN and counts[ASKED] - counts[FIRST_ASKED] < MOST_ASKED
    if asks:
        at = counts[ASKED]
        asked[at, 0], asked[at, 1], asked[at, 3] = person.row, person.root, split.bound
        asked[at, 2] = cost_of(person, search.people.curves, point.z)
        for j in range(point.change.shape[0]):
            asked[at, 4 + j] = point.change[j]
        counts[ASKED] += 1
    if not asks or split.children == ASK_THIN:
        best.cost[LEFT] = min(best.cost[LEFT], split.bound)


@kernel
def _is_over(search: Search, pool: Pool, limit: float) -> bool:
    """Whether a round ends: all is proven, or a limit is reached."""
    best, counts, options = search.best, search.counts, search.options
    if pool.counts[SIZE] == 0:
        return True
    if pool.heap[0, KEY] >= limit - near(options.gap, best.cost[COST]):
        drop(best, pool.heap[0, KEY])
        return True
    is_spent, is_hasty = counts[LOOKED] >= options.nodes, CALM < counts[HASTE] < PROVING
    if counts[LOOKED] >= counts[MOST] and (is_spent or is_hasty or best.cost[COST] == np.inf):
        counts[ENDED] = NODES if is_spent else CUT if counts[HASTE] < PROVING else ENDLESS
        return True
    if counts[LOOKED] % EVERY == 0:
        counts[ENDED] = late(search.clock, options.seconds)
        if counts[ENDED] != DONE:
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
