"""The search: depth first over what is set and what follows, the cheaper child first.

Each node is bounded (`bound_kernels`), gives an action by rounding what the bound would do, and every action that is
not decided is tried both ways: a way whose bound reaches the best cost is closed at once (strong branching: Applegate,
Bixby, Chvatal and Cook, "Finding cuts in the TSP", 1995), and of what is left the action whose worse way costs most is
decided.
"""

from __future__ import annotations

import numpy as np

from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.tolerances import WIDER
from equieffort.recourse.solvers.endings import DONE, NODES
from equieffort.recourse.solvers.kernels.clock_kernels import begin_time, late
from equieffort.recourse.solvers.linear_search.arrays import (
    BEST,
    CUTOFF,
    FLOOR,
    FOLLOW,
    LAMBDA,
    OPEN,
    PRICE,
    ROOT,
    ROUNDING,
    SET,
    UNIT,
    Answers,
    CompiledBatch,
    CompiledProblem,
    Options,
    Work,
)
from equieffort.recourse.solvers.linear_search.bound_kernels import (
    bend,
    climb,
    is_dropped,
    lifted,
    reaches,
    spread_inflow,
    value_at,
)
from equieffort.recourse.solvers.linear_search.leaf_kernels import set_cutoff, try_statuses

PASSES, PROBES = 10, 4
"""How many prices are tried for a node, and for a way to decide an action."""
OPEN_NODE, DROPPED = -1, -2
EVERY = 16
"""How often the clock is read, in nodes."""


@kernel
def begin_person(problem: CompiledProblem, people: CompiledBatch, work: Work, answers: Answers, i: int) -> None:
    """The person's limits and prices."""
    row = i if people.up.shape[0] > 1 else 0
    for j in range(work.status.shape[0]):
        work.own_low[j], work.own_high[j] = people.low[i, j], people.high[i, j]
        work.up[j], work.down[j] = people.up[row, j], people.down[row, j]
        work.least[j], work.most[j] = people.least[i, j], people.most[i, j]
        work.hulls_of[j, 0] = np.nan
    work.scalar[BEST], work.scalar[FLOOR], work.scalar[LAMBDA] = np.inf, np.inf, 0.0
    work.scalar[ROUNDING], work.scalar[UNIT], work.who[0] = people.need[i, 3], people.unit[0], i
    answers.ended[i] = DONE
    begin_time(work.clock)


@kernel
def begin_root(
    problem: CompiledProblem, people: CompiledBatch, work: Work, options: Options, i: int, root: int
) -> bool:
    """What the levels of a root cost and push; False where they may not be set."""
    price, lacks = 0.0, 0.0
    for j in range(work.status.shape[0]):
        work.base[j] = 0.0
    for c in range(problem.levels.shape[1]):
        level, own = problem.levels[root, c], people.level[i, c]
        if level < 0:
            continue
        if level == own or not people.prices[i, c, level] < np.inf:
            return False
        price += people.prices[i, c, level]
        lacks += problem.shifted[c, level, 0] - problem.shifted[c, own, 0]
        for j in range(work.status.shape[0]):
            work.base[j] += problem.pushed[c, level, j] - problem.pushed[c, own, j]
    work.scalar[PRICE], work.scalar[ROOT] = price, float(root)
    for kind in range(3):
        work.needs[kind] = people.need[i, kind] - lacks
    if options.only_sure:
        work.needs[0] = work.needs[1] = work.needs[2]
    set_cutoff(work, options)
    begin_tracks(problem, people, work, i)
    for j in range(work.status.shape[0]):
        work.stack[0, 0, j] = float(OPEN if problem.follows[j] else SET)
        work.stack[0, 1, j], work.stack[0, 2, j] = work.own_low[j], work.own_high[j]
    work.value[0, 0], work.value[0, 1] = 0.0, -1.0
    return True


@kernel
def begin_tracks(problem: CompiledProblem, people: CompiledBatch, work: Work, i: int) -> None:
    """The ends of tracks for a root; where the score alone binds there are none."""


@kernel
def push_tracks(work: Work, top: int) -> None:
    """Keep a node's ends and prices; where the score alone binds there are none."""


@kernel
def open_node(problem: CompiledProblem, work: Work, top: int) -> None:
    """Take a node from the stack; no action goes further than the best cost pays for."""
    best = work.scalar[BEST] - work.scalar[PRICE]
    for j in range(work.status.shape[0]):
        work.status[j] = np.int64(work.stack[top, 0, j])
        low, high = work.stack[top, 1, j], work.stack[top, 2, j]
        low, high = within_budget(work, j, low, high, best)
        if problem.whole[j]:
            low, high = np.ceil(low), np.floor(high)
        work.low[j], work.high[j] = low, high
    bend(problem, work)
    spread_inflow(problem, work)


@kernel
def within_budget(work: Work, j: int, low: float, high: float, budget: float) -> tuple[float, float]:
    """As far as a budget pays for."""
    if high > 0.0 and high * work.up[j] > budget:
        high = budget / work.up[j] * (1.0 + WIDER)
    if low < 0.0 and -low * work.down[j] > budget:
        low = -budget / work.down[j] * (1.0 + WIDER)
    return low, high


@kernel
def is_box(work: Work) -> bool:
    """Whether there is anything in the node's box."""
    crossed = 0
    for j in range(work.status.shape[0]):
        if work.low[j] > work.high[j]:
            crossed += 1
    return crossed == 0


@kernel
def drop(work: Work, bound: float) -> None:
    """Remember the least bound of what is not looked into; nothing where nothing reaches the boundary."""
    work.scalar[FLOOR] = min(work.scalar[FLOOR], lifted(work, bound) + work.scalar[PRICE])


@kernel
def round_off(work: Work, problem: CompiledProblem) -> None:
    """Statuses by what the bound would do, sources to sinks: an action follows where that is worth more."""
    k, moved = work.status.shape[0], work.kept
    for j in range(k):
        moved[2, j] = work.base[j]
    for j in range(k):
        come, work.trial[j] = moved[2, j], work.status[j]
        if work.status[j] == OPEN:
            worth = come * work.worth[0, j] if come > 0.0 else -come * work.worth[1, j]
            work.trial[j] = FOLLOW if worth > work.gained[j] else SET
        move = come if work.trial[j] == FOLLOW else work.at[j]
        if move != 0.0 and abs(move) < np.inf:
            for e in range(problem.start[j], problem.start[j + 1]):
                moved[2, problem.child[e]] += problem.effect[e] * move


@kernel
def try_flips(
    problem: CompiledProblem, people: CompiledBatch, work: Work, options: Options, answers: Answers, i: int
) -> None:
    """From the best statuses each other way of one action, as long as that helps."""
    for _ in range(3):
        before, k = work.scalar[BEST], work.status.shape[0]
        for q in range(k):
            if work.status[q] != OPEN:
                continue
            kind = 0 if answers.root[i, 0] >= 0 else 1
            if answers.root[i, kind] != np.int64(work.scalar[ROOT]):
                return
            for j in range(k):
                work.trial[j] = answers.status[i, kind, j]
            work.trial[q] = SET if work.trial[q] == FOLLOW else FOLLOW
            try_statuses(problem, people, work, options, answers, i, False)
        if not work.scalar[BEST] < before:
            return


@kernel
def start_root(
    problem: CompiledProblem, people: CompiledBatch, work: Work, options: Options, answers: Answers, i: int
) -> None:
    """First actions: everything set, everything left, and what lies one change away."""
    for way in (SET, FOLLOW):
        for j in range(work.status.shape[0]):
            work.trial[j] = way if work.status[j] == OPEN else work.status[j]
        try_statuses(problem, people, work, options, answers, i, False)
    try_flips(problem, people, work, options, answers, i)


@kernel
def strong_branching(problem: CompiledProblem, work: Work, price: float) -> tuple[int, float, float]:
    """Try both ways of every open action; close those whose bound reaches the best cost.

    Returns the action to decide, and the bounds of setting it and of leaving it; or OPEN_NODE where nothing is open,
    DROPPED where nothing is left.
    """
    best, chosen, first, second = -np.inf, OPEN_NODE, 0.0, 0.0
    for j in range(work.status.shape[0] - 1, -1, -1):
        if work.status[j] != OPEN:
            continue
        work.status[j] = SET
        is_out, set_bound = probe(problem, work, price)
        work.status[j] = FOLLOW
        is_out_too, left_bound = probe(problem, work, price)
        if is_out and is_out_too:
            return DROPPED, 0.0, 0.0
        if is_out or is_out_too:
            work.status[j] = FOLLOW if is_out else SET
            continue
        work.status[j] = OPEN
        score = branching_score(set_bound, left_bound)
        # Where boxes have no end no bound may be known: what is open is to be decided all the same.
        if chosen == OPEN_NODE or score > best:
            best, chosen, first, second = score, j, set_bound, left_bound
    return chosen, first, second


@kernel
def branching_score(first: float, second: float) -> float:
    """How much two children raise the bound: the lower one counts most."""
    return min(first, second) + 0.1 * max(first, second)


@kernel
def probe(problem: CompiledProblem, work: Work, price: float) -> tuple[bool, float]:
    """Whether the node may be dropped, which is remembered then, and a bound."""
    bend(problem, work)
    spread_inflow(problem, work)
    if work.scalar[CUTOFF] == np.inf and not reaches(problem, work):
        return True, np.inf
    bound, at = climb(problem, work, price, PROBES)
    if is_dropped(work, bound, at):
        drop(work, bound)
        return True, bound
    return False, bound


@kernel
def push(work: Work, top: int, value: float, price: float) -> None:
    """Put the node on the stack as it is."""
    for j in range(work.status.shape[0]):
        work.stack[top, 0, j] = float(work.status[j])
        work.stack[top, 1, j], work.stack[top, 2, j] = work.low[j], work.high[j]
    work.value[top, 0], work.value[top, 1] = value, price
    push_tracks(work, top)


@kernel
def push_children(work: Work, top: int, j: int, first: float, second: float, bound: float, price: float) -> int:
    """Put a node with feature j set and one with it following on the stack; returns how high that is then."""
    for turn in range(2):
        # What is pushed last is looked at first.
        way = SET if (first > second) == (turn == 0) else FOLLOW
        work.status[j] = way
        push(work, top + turn, max(bound, first if way == SET else second), price)
    return top + 2


@kernel
def is_worth_a_look(problem: CompiledProblem, work: Work, top: int) -> bool:
    """Open the node at the top of the stack, unless nothing cheaper than the best can be in it."""
    value, price = work.value[top, 0], work.value[top, 1]
    if is_dropped(work, value, max(price, 0.0)):
        drop(work, value)
        return False
    open_node(problem, work, top)
    if not is_box(work):
        drop(work, work.scalar[CUTOFF])
        return False
    if not reaches(problem, work):
        if work.scalar[CUTOFF] < np.inf:
            # Its boxes end where the best cost does.
            drop(work, work.scalar[CUTOFF])
        return False
    return True


@kernel
def examine(
    problem: CompiledProblem, people: CompiledBatch, work: Work, options: Options, answers: Answers, i: int, top: int
) -> int:
    """Look into the node at the top of the stack; returns how high the stack is then."""
    value, price = work.value[top, 0], work.value[top, 1]
    if not is_worth_a_look(problem, work, top):
        return top
    if price < 0.0:
        start_root(problem, people, work, options, answers, i)
        open_node(problem, work, top)
        price = work.scalar[LAMBDA]
        if price <= 0.0:
            reaches(problem, work)
            price = first_price(problem, work)
    bound, price = climb(problem, work, price, PASSES)
    bound = max(bound, value)
    if is_dropped(work, bound, price):
        drop(work, bound)
        return top
    value = value_at(problem, work, price)[0]
    bound, price = tighten(problem, work, bound, value, price)
    if is_dropped(work, bound, price):
        drop(work, bound)
        return top
    round_off(work, problem)
    part = try_statuses(problem, people, work, options, answers, i, False)
    at = where_to_split(problem, work, part) if part >= 0 else 0.0
    if is_dropped(work, bound, price):
        drop(work, bound)
        return top
    j, first, second = strong_branching(problem, work, price)
    if j == DROPPED:
        return top
    if j == OPEN_NODE:
        for q in range(work.status.shape[0]):
            work.trial[q] = work.status[q]
        part = try_statuses(problem, people, work, options, answers, i, True)
        if part < 0:
            return top
        at = where_to_split(problem, work, part)
    if part >= 0 and work.status[part] != FOLLOW and work.low[part] < at < work.high[part]:
        below, above = probe_halves(problem, work, part, at, price)
        if below == np.inf and above == np.inf:
            return top
        if j == OPEN_NODE or branching_score(below, above) > branching_score(first, second):
            return split_box(problem, work, top, part, at, max(bound, below), max(bound, above), price)
    if j == OPEN_NODE:
        drop(work, bound)
        return top
    return push_children(work, top, j, first, second, bound, price)


@kernel
def tighten(problem: CompiledProblem, work: Work, bound: float, value: float, price: float) -> tuple[float, float]:
    """Leave out of boxes what costs more than the best action, if a price gives this value: the bound then, and the
    price. Nothing where prices do not bend."""
    return bound, price


@kernel
def where_to_split(problem: CompiledProblem, work: Work, j: int) -> float:
    """Where the box of an action filled in part is split."""
    return work.point[j]


@kernel
def probe_halves(problem: CompiledProblem, work: Work, j: int, at: float, price: float) -> tuple[float, float]:
    """Bounds of a node below and above a number; infinite where the half is dropped."""
    low, high, status = work.low[j], work.high[j], work.status[j]
    halve(problem, work, j, at, False)
    is_out, below = probe(problem, work, price)
    work.low[j], work.high[j], work.status[j] = low, high, status
    halve(problem, work, j, at, True)
    is_out_too, above = probe(problem, work, price)
    work.low[j], work.high[j], work.status[j] = low, high, status
    return np.inf if is_out else below, np.inf if is_out_too else above


@kernel
def halve(problem: CompiledProblem, work: Work, j: int, at: float, is_above: bool) -> None:
    """Take one half of a box; who must move is set."""
    if is_above:
        work.low[j] = np.floor(at) + 1.0
    else:
        work.high[j] = np.floor(at)
    if work.low[j] > 0.0 or work.high[j] < 0.0:
        work.status[j] = SET


@kernel
def split_box(
    problem: CompiledProblem, work: Work, top: int, j: int, at: float, below: float, above: float, price: float
) -> int:
    """Put both halves on the stack, the cheaper one on top; returns how high that is then."""
    low, high, status = work.low[j], work.high[j], work.status[j]
    for turn in range(2):
        is_above = (above > below) == (turn == 0)
        bound = above if is_above else below
        if bound < np.inf:
            halve(problem, work, j, at, is_above)
            push(work, top, bound, price)
            top += 1
            work.low[j], work.high[j], work.status[j] = low, high, status
    return top


@kernel
def first_price(problem: CompiledProblem, work: Work) -> float:
    """A price of score to begin with: the least at which some action pays."""
    price = np.inf
    for j in range(work.status.shape[0]):
        if work.status[j] != FOLLOW:
            if work.worth[0, j] > 0.0 and work.high[j] > 0.0:
                price = min(price, work.up[j] / work.worth[0, j])
            if work.worth[1, j] > 0.0 and work.low[j] < 0.0:
                price = min(price, work.down[j] / work.worth[1, j])
    return price if price < np.inf else 1.0


@kernel
def _search_people(
    problem: CompiledProblem,
    people: CompiledBatch,
    work: Work,
    options: Options,
    answers: Answers,
    first: int,
    last: int,
) -> None:
    """People first to last - 1, each alone."""
    for i in range(first, last):
        begin_person(problem, people, work, answers, i)
        looked, left = 0, np.inf
        for root in range(problem.levels.shape[0]):
            if not begin_root(problem, people, work, options, i, root):
                continue
            top = 1
            while top > 0 and answers.ended[i] == DONE:
                top = examine(problem, people, work, options, answers, i, top - 1)
                looked += 1
                if looked >= options.nodes or top + 2 > work.stack.shape[0]:
                    answers.ended[i] = NODES
                elif looked % EVERY == 0:
                    answers.ended[i] = late(work.clock, options.seconds)
            for t in range(top):
                left = min(left, work.value[t, 0] + work.scalar[PRICE])
            if answers.ended[i] != DONE:
                is_last = root + 1 == problem.levels.shape[0]
                if is_last and top == 0:
                    answers.ended[i] = DONE
                elif not is_last:
                    left = 0.0
                break
        answers.looked[i] = looked
        answers.bound[i, 0] = min(work.scalar[BEST], min(work.scalar[FLOOR], left))


search_people = linked(_search_people, is_large=True, worth=3.5)
