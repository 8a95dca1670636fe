"""The search where more than the score binds: the same tree, with prices of all tracks and a program at each node.

Nodes are bounded by prices on all tracks (Lagrangian bounds: `bound_kernels`; subgradients: `row_kernels`) and by a
linear program whose multipliers are prices to go on from. Numbers that are not whole are split into what lies below and
above (Dakin, "A tree-search algorithm for mixed integer programming problems", 1965), and of a rule that is broken each
condition makes a child.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import kernel, linked
from equieffort.foundations.tolerances import TOLERANCE
from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED
from equieffort.recourse.solvers.linear_search.arrays import (
    BEST,
    CUT,
    CUTOFF,
    FOLLOW,
    LAMBDA,
    PRICE,
    ROOT,
    Answers,
    CompiledBatch,
    CompiledProblem,
    Options,
    Work,
)
from equieffort.recourse.solvers.linear_search.bound_kernels import bend, climb, is_dropped, reaches, spread_inflow
from equieffort.recourse.solvers.linear_search.leaf_kernels import cost_of, is_excluded, set_cutoff
from equieffort.recourse.solvers.linear_search.row_kernels import (
    broken_clause,
    climb_rows,
    move_of,
    solve_rows,
    spread_moves,
    take_multipliers,
    value_of,
)
from equieffort.recourse.solvers.linear_search.search_kernels import (
    DROPPED,
    OPEN_NODE,
    _search_people,
    drop,
    first_price,
    halve,
    is_box,
    open_node,
    push,
    push_children,
    round_off,
    strong_branching,
)

BISECTIONS = 7
"""How closely the most that a set can gain is looked for, within a step over the boundary."""
CLIMBS = 8
"""How many prices of tracks are tried for a node."""
NOTHING, FRACTION, CLAUSE, DONE_LEAF, UNSURE_LEAF, BEND = range(6)
"""What stands in the way of the point of a program: nothing can be reached; a number that is not whole; a clause;
nothing; the program was given up; a cost above the line that the program was told."""


@kernel
def begin_tracks_of_rows(problem: CompiledProblem, people: CompiledBatch, work: Work, i: int) -> None:
    """The ends of tracks for a person's root, less what levels move; a clause of one atom is an end like others."""
    for t in range(problem.tracks.shape[0]):
        shift = level_shift(problem, people, work, i, t)
        work.roundings[t] = people.roundings[i, t]
        for side in range(2):
            work.stack_tracks[0, t, side] = people.ends[i, t, side] - shift
        work.stack_tracks[0, t, 2] = 0.0
    work.stack_tracks[0, 0, 0], work.stack_tracks[0, 0, 1] = work.needs[0], np.inf
    for c in range(problem.clause_start.shape[0] - 1):
        first, last = problem.clause_start[c], problem.clause_start[c + 1]
        for a in range(first, last):
            t = problem.atom_track[a]
            shift = level_shift(problem, people, work, i, t)
            work.atoms[a, 0], work.atoms[a, 1] = people.atoms[i, a, 0] - shift, people.atoms[i, a, 1] - shift
            work.atoms[a, 2] = people.atoms[i, a, 2]
            if last - first == 1:
                work.stack_tracks[0, t, 0] = max(work.stack_tracks[0, t, 0], work.atoms[a, 0])
                work.stack_tracks[0, t, 1] = min(work.stack_tracks[0, t, 1], work.atoms[a, 1])
                work.roundings[t] = min(work.roundings[t], work.atoms[a, 2])


@kernel
def level_shift(problem: CompiledProblem, people: CompiledBatch, work: Work, i: int, t: int) -> float:
    """How far the levels of the root move a track by themselves."""
    shift = 0.0
    for c in range(problem.levels.shape[1]):
        level, own = problem.levels[np.int64(work.scalar[ROOT]), c], people.level[i, c]
        if level >= 0:
            shift += problem.shifted[c, level, t] - problem.shifted[c, own, t]
    return shift


@kernel
def push_tracks_of_rows(work: Work, top: int) -> None:
    """Keep a node's ends and prices."""
    for t in range(work.ends.shape[0]):
        work.stack_tracks[top, t, 0], work.stack_tracks[top, t, 1] = work.ends[t, 0], work.ends[t, 1]
        work.stack_tracks[top, t, 2] = work.prices[t]


@kernel
def probe_by_rows(problem: CompiledProblem, work: Work, price: float) -> tuple[bool, float]:
    """Whether the node may be dropped, by the prices that are there; price is not used."""
    bend(problem, work)
    spread_inflow(problem, work)
    if work.scalar[CUTOFF] == np.inf and not reaches(problem, work):
        return True, np.inf
    bound = value_of(problem, work)
    if is_dropped(work, bound, work.prices[0]):
        drop(work, bound)
        return True, bound
    return False, bound


@kernel
def open_tracks(work: Work, top: int) -> None:
    """Take a node's ends and prices from the stack."""
    for t in range(work.ends.shape[0]):
        work.ends[t, 0], work.ends[t, 1] = work.stack_tracks[top, t, 0], work.stack_tracks[top, t, 1]
        work.prices[t] = work.stack_tracks[top, t, 2]


@kernel
def try_point(
    problem: CompiledProblem,
    people: CompiledBatch,
    work: Work,
    options: Options,
    answers: Answers,
    i: int,
    is_leaf: bool,
) -> tuple[int, int, float]:
    """Solve the program of the tried statuses: (what stands in the way, which action or clause, least cost).

    What is found is kept where it is the best.
    """
    is_tie = False
    state, value = solve_trial(problem, work, work.needs[1])
    if state == EMPTY and is_leaf and work.needs[0] < work.needs[1]:
        is_tie = True
        state, value = solve_trial(problem, work, work.needs[0])
    if state == EMPTY:
        return NOTHING, -1, np.inf
    if state != SOLVED:
        return UNSURE_LEAF, -1, value
    if value >= work.scalar[CUTOFF]:
        return DONE_LEAF, -1, value
    way, which = obstacle(problem, work)
    if way != DONE_LEAF and way != BEND:
        return way, which, value
    cost = cost_of(work)
    if cost + work.scalar[PRICE] < work.scalar[BEST]:
        if not is_tie:
            is_tie = not step_over_by_rows(problem, work)
        if is_tie and is_excluded(people, work, i) and not has_parts(problem):
            return NOTHING, -1, np.inf
        if is_tie and (options.only_sure or is_excluded(people, work, i)):
            return UNSURE_LEAF, -1, value
        # A bound is what the program proves, an action what it finds.
        keep_point(work, options, answers, i, is_tie)
    return way, which, value


@kernel
def solve_trial(problem: CompiledProblem, work: Work, need: float) -> tuple[int, float]:
    """(how it ended, least cost) of the program of the tried statuses."""
    return solve_rows(problem, work, work.trial, need)


@kernel
def has_parts(problem: CompiledProblem) -> bool:
    """Whether a set of interventions is looked at in parts, so that a tie in one of them says nothing of the others."""
    count = problem.clause_start.shape[0] - 1
    for j in range(problem.whole.shape[0]):
        count += 1 if problem.whole[j] else 0
    return count > 0


@kernel
def obstacle(problem: CompiledProblem, work: Work) -> tuple[int, int]:
    """What stands in the way of the point: a number that is not whole (the most fractional), a clause, or a bend."""
    worst, which = TOLERANCE, -1
    for j in range(work.trial.shape[0]):
        if problem.whole[j] and work.trial[j] != FOLLOW:
            near = np.rint(work.point[j])
            if abs(work.point[j] - near) > worst:
                worst, which = abs(work.point[j] - near), j
            elif abs(work.point[j] - near) <= TOLERANCE:
                work.point[j] = near
    if which >= 0:
        return FRACTION, which
    spread_moves(problem, work, work.trial)
    clause = broken_clause(problem, work)
    if clause >= 0:
        return CLAUSE, clause
    which = worst_bend(problem, work)
    return (BEND, which) if which >= 0 else (DONE_LEAF, -1)


@kernel
def worst_bend(problem: CompiledProblem, work: Work) -> int:
    """The action whose cost lies furthest above what the program was told, or -1 where none does."""
    return -1


@kernel
def tighten_rows(problem: CompiledProblem, work: Work, bound: float, value: float) -> float:
    """Leave out of boxes what costs more than the best action: the bound then. Nothing where prices do not bend."""
    return bound


@kernel
def step_over_by_rows(problem: CompiledProblem, work: Work) -> bool:
    """Whether the point passes the boundary by as much as is asked; if it does not, the program is asked for one that
    does."""
    spread_moves(problem, work, work.trial)
    if work.needs[2] <= work.needs[1] or move_of(problem, work, 0) >= work.needs[2]:
        return True
    for j in range(work.trial.shape[0]):
        work.kept[1, j] = work.point[j]
    target, low, high = work.needs[2], work.needs[1], work.needs[2]
    for turn in range(BISECTIONS):
        state, _ = solve_trial(problem, work, target)
        way = obstacle(problem, work)[0] if state == SOLVED else NOTHING
        if way in (DONE_LEAF, BEND):
            if turn == 0:
                return True
            # As far as it goes, since that is where the model is asked.
            low = target
            for j in range(work.trial.shape[0]):
                work.kept[1, j] = work.point[j]
        else:
            high = target
        target = 0.5 * (low + high)
    for j in range(work.trial.shape[0]):
        work.point[j] = work.kept[1, j]
    return False


@kernel
def keep_point(work: Work, options: Options, answers: Answers, i: int, is_tie: bool) -> None:
    """The point is the best so far."""
    cost = cost_of(work) + work.scalar[PRICE]
    work.scalar[BEST] = cost
    set_cutoff(work, options)
    kind = 1 if is_tie else 0
    answers.bound[i, 0] = work.scalar[BEST]
    if not is_tie:
        answers.root[i, 1], answers.cost[i, 1], answers.bound[i, 1] = -1, np.inf, work.scalar[BEST]
    answers.cost[i, kind], answers.root[i, kind] = cost, np.int64(work.scalar[ROOT])
    for j in range(work.trial.shape[0]):
        answers.status[i, kind, j], answers.change[i, kind, j] = work.trial[j], work.point[j]


@kernel
def examine_rows(
    problem: CompiledProblem, people: CompiledBatch, work: Work, options: Options, answers: Answers, i: int, top: int
) -> int:
    """Look into the node at the top of the stack; returns how high the stack is then."""
    value, price = work.value[top, 0], work.value[top, 1]
    if is_dropped(work, value, max(price, 0.0)):
        drop(work, value)
        return top
    open_node(problem, work, top)
    open_tracks(work, top)
    if not is_box(work) or not has_ends(work):
        if work.scalar[CUTOFF] < np.inf:
            drop(work, work.scalar[CUTOFF])
        return top
    if not reaches(problem, work):
        if work.scalar[CUTOFF] < np.inf:
            drop(work, work.scalar[CUTOFF])
        return top
    bound = max(value, bound_of_rows(problem, work, price < 0.0))
    if bound == np.inf:
        if work.scalar[CUTOFF] < np.inf:
            drop(work, work.scalar[CUTOFF])
        return top
    if is_dropped(work, bound, work.prices[0]):
        drop(work, bound)
        return top
    bound = tighten_rows(problem, work, bound, value_of(problem, work))
    if is_dropped(work, bound, work.prices[0]):
        drop(work, bound)
        return top
    round_off(work, problem)
    way, which, _ = try_point(problem, people, work, options, answers, i, False)
    at = work.point[max(which, 0)] if way == FRACTION else 0.0
    if is_dropped(work, bound, work.prices[0]):
        drop(work, bound)
        return top
    if way == CLAUSE:
        return split_clause(problem, work, top, which, bound)
    j, first, second = strong_branching(problem, work, work.prices[0])
    if j == DROPPED:
        return top
    if j == OPEN_NODE:
        for q in range(work.status.shape[0]):
            work.trial[q] = work.status[q]
        way, which, least = try_point(problem, people, work, options, answers, i, True)
        if way == NOTHING:
            if work.scalar[CUTOFF] < np.inf:
                drop(work, work.scalar[CUTOFF])
            return top
        bound = max(bound, least)
        if way in (DONE_LEAF, UNSURE_LEAF) or is_dropped(work, bound, work.prices[0]):
            drop(work, bound)
            return top
        if way == CLAUSE:
            return split_clause(problem, work, top, which, bound)
        at = work.scalar[CUT] if way == BEND else work.point[which]
        return split_fraction(problem, work, top, which, at, bound)
    if way == FRACTION and work.status[which] != FOLLOW and work.low[which] < at < work.high[which]:
        return split_fraction(problem, work, top, which, at, bound)
    return push_children(work, top, j, first, second, bound, work.prices[0])


@kernel
def has_ends(work: Work) -> bool:
    """Whether every track has room between its ends."""
    crossed = 0
    for t in range(1, work.ends.shape[0]):
        if work.ends[t, 0] - work.roundings[t] > work.ends[t, 1] + work.roundings[t]:
            crossed += 1
    return crossed == 0


@kernel
def bound_of_rows(problem: CompiledProblem, work: Work, is_first: bool) -> float:
    """The least that the node costs, by prices and by its program; infinite where nothing is left."""
    if is_first:
        price = work.scalar[LAMBDA] if work.scalar[LAMBDA] > 0.0 else first_price(problem, work)
        bound, price = climb(problem, work, price, CLIMBS)
        work.prices[0] = price
    else:
        bound = climb_rows(problem, work, 2)
    if is_dropped(work, bound, work.prices[0]):
        return bound
    for t in range(work.ends.shape[0]):
        work.steps[t] = work.prices[t]
    state, least = solve_rows(problem, work, work.status, work.needs[0])
    if state == EMPTY:
        return np.inf
    bound = max(bound, least)
    if is_dropped(work, bound, work.prices[0]):
        return bound
    before = value_of(problem, work)
    for t in range(work.ends.shape[0]):
        work.kept_prices[t] = work.prices[t]
    if work.sizes[1] > 0:
        take_multipliers(problem, work)
        if value_of(problem, work) < before:
            for t in range(work.ends.shape[0]):
                work.prices[t] = work.kept_prices[t]
    return max(bound, climb_rows(problem, work, CLIMBS))


@kernel
def split_clause(problem: CompiledProblem, work: Work, top: int, clause: int, bound: float) -> int:
    """One child for each atom of a clause that can hold; for want of room its bound stays."""
    for a in range(problem.clause_start[clause], problem.clause_start[clause + 1]):
        t = problem.atom_track[a]
        low, high = work.ends[t, 0], work.ends[t, 1]
        work.ends[t, 0], work.ends[t, 1] = max(low, work.atoms[a, 0]), min(high, work.atoms[a, 1])
        if work.ends[t, 0] - work.atoms[a, 2] <= work.ends[t, 1] + work.atoms[a, 2]:
            if top < work.stack.shape[0]:
                push(work, top, bound, work.prices[0])
                top += 1
            else:
                drop(work, bound)
        work.ends[t, 0], work.ends[t, 1] = low, high
    return top


@kernel
def split_fraction(problem: CompiledProblem, work: Work, top: int, j: int, at: float, bound: float) -> int:
    """Both sides of a number that is not whole."""
    low, high, status = work.low[j], work.high[j], work.status[j]
    for turn in range(2):
        # The nearer one is looked at first.
        halve(problem, work, j, at, (at - np.floor(at) > 0.5) == (turn == 1))
        push(work, top + turn, bound, work.prices[0])
        work.low[j], work.high[j], work.status[j] = low, high, status
    return top + 2


ROWS: dict[str, Any] = {
    "examine": examine_rows, "begin_tracks": begin_tracks_of_rows, "push_tracks": push_tracks_of_rows,
    "probe": probe_by_rows,
}  # fmt: skip
"""What takes the place of the score alone."""

search_people_with_rows = linked(_search_people, "rows", is_large=True, **ROWS)
