"""What binds beside the score: a price for each track, and a small program over what is set.

Prices of all tracks are raised together by subgradients (Polyak, "Minimization of unsmooth functionals", 1969): one
pass tells how much of each track's move is used. The program lets each row count the moves that suit it best, so that
where all is decided it is exact; its multipliers are prices to go on from.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import hot, kernel
from equieffort.foundations.tolerances import CANCELLED, SUMMED
from equieffort.recourse.solvers.kernels.simplex import EMPTY, SOLVED, dual_simplex
from equieffort.recourse.solvers.linear_search.arrays import CUTOFF, FOLLOW, OPEN, SET, CompiledProblem, Work
from equieffort.recourse.solvers.linear_search.bound_kernels import earned, forced, is_dropped, spread_use


@hot
def value_of(problem: CompiledProblem, work: Work) -> float:
    """What the node costs at least at the prices of tracks."""
    k = work.status.shape[0]
    for j in range(k):
        work.weight[j] = 0.0
    value = 0.0
    for t in range(problem.tracks.shape[0]):
        price = work.prices[t]
        if price == 0.0:
            continue
        end = work.ends[t, 0] if price > 0.0 else work.ends[t, 1]
        if abs(end) == np.inf:
            work.prices[t] = 0.0
            continue
        value += price * end
        for j in range(k):
            work.weight[j] += price * problem.tracks[t, j]
    return value - earned(problem, work, False)


@hot
def climb_rows(problem: CompiledProblem, work: Work, passes: int) -> float:
    """The best bound over prices of tracks, from those that are there; the best are left there."""
    tracks, best, damp = problem.tracks.shape[0], -np.inf, 1.0
    for turn in range(passes):
        value = value_of(problem, work)
        if value > best:
            best = value
            for t in range(tracks):
                work.kept_prices[t] = work.prices[t]
        else:
            damp *= 0.5
        if turn + 1 == passes or value == -np.inf or is_dropped(work, best, work.kept_prices[0]):
            break
        spread_use(problem, work)
        size = 0.0
        for t in range(tracks):
            used = 0.0
            for j in range(work.status.shape[0]):
                used += problem.tracks[t, j] * (work.used[0, j] - work.used[1, j])
            low, high = work.ends[t, 0] - used, work.ends[t, 1] - used
            step = low if work.prices[t] > 0.0 else high if work.prices[t] < 0.0 else max(low, 0.0) + min(high, 0.0)
            work.steps[t] = step if abs(step) < np.inf else 0.0
            size += work.steps[t] * work.steps[t] * problem.unit[t]
        if size <= 0.0:
            break
        aim = work.scalar[CUTOFF]
        lift = aim - value if aim < np.inf else max(abs(value), 1.0)
        for t in range(tracks):
            before, after = work.prices[t], work.prices[t] + damp * lift * work.steps[t] * problem.unit[t] / size
            # A price passes zero only by way of it: beyond, another end counts.
            work.prices[t] = 0.0 if before * after < 0.0 else after
        work.prices[0] = max(work.prices[0], 0.0)
    for t in range(tracks):
        work.prices[t] = work.kept_prices[t]
    return max(best, forced(work))


@hot
def effects(problem: CompiledProblem, work: Work, status: Any, t: int, sign: float) -> float:
    """The most that a unit of each action moves a track, up and down (`worth`), over all ways to decide what is open;
    with sign -1 the track's negative. Returns the most that levels move it through what follows."""
    worth, passed, through = work.worth, work.passed, 0.0
    for j in range(status.shape[0] - 1, -1, -1):
        up, size = sign * problem.tracks[t, j], abs(problem.tracks[t, j])
        down = -up
        for e in range(problem.start[j], problem.start[j + 1]):
            q, a = problem.child[e], problem.effect[e]
            if status[q] == SET:
                continue
            size += abs(a) * work.size[q]
            if a > 0.0:
                up += a * passed[0, q]
                down += a * passed[1, q]
            else:
                up -= a * passed[1, q]
                down -= a * passed[0, q]
        worth[0, j] = 0.0 if abs(up) <= CANCELLED * size else up
        worth[1, j] = 0.0 if abs(down) <= CANCELLED * size else down
        work.size[j] = size
        for side in range(2):
            gain = worth[side, j]
            passed[side, j] = 0.0 if status[j] == SET else gain if status[j] == FOLLOW else max(gain, 0.0)
        through += max(work.base[j], 0.0) * passed[0, j] + max(-work.base[j], 0.0) * passed[1, j]
    return through


@kernel
def set_columns(work: Work, status: Any) -> float:
    """The program's columns: each way that something set may move from where its box begins; what that costs."""
    program, count, paid = work.program, 0, 0.0
    for j in range(status.shape[0]):
        work.point[j] = 0.0
        if status[j] == FOLLOW:
            continue
        near = min(max(0.0, work.low[j]), work.high[j])
        work.point[j] = near
        paid += near * work.up[j] if near > 0.0 else -near * work.down[j]
        if near >= 0.0 and work.high[j] > near:
            work.column[count], program.width[count] = 2 * j, work.high[j] - near
            program.price[count] = program.cost[count] = work.up[j]
            count += 1
        if near <= 0.0 and work.low[j] < near:
            work.column[count], program.width[count] = 2 * j + 1, near - work.low[j]
            program.price[count] = program.cost[count] = work.down[j]
            count += 1
    work.sizes[0] = count
    return paid


@kernel
def add_row(problem: CompiledProblem, work: Work, status: Any, t: int, sign: float, low: float, high: float) -> bool:
    """A track, or its negative, between two ends, left out if it cannot be broken; False if it cannot be kept."""
    program, row, through = work.program, work.sizes[1], effects(problem, work, status, t, sign)
    least, most = through, through
    for j in range(status.shape[0]):
        near = work.point[j]
        move = near * work.worth[0, j] if near > 0.0 else -near * work.worth[1, j]
        least, most, through = least + move, most + move, through + move
    for c in range(work.sizes[0]):
        entry = work.worth[work.column[c] % 2, work.column[c] // 2]
        program.matrix[row, c] = entry
        if entry > 0.0:
            most += entry * program.width[c]
        elif entry < 0.0:
            least += entry * program.width[c]
    if least >= low and most <= high:
        return True
    parts = abs(through)
    for end in (least, most, low, high):
        parts += abs(end) if abs(end) < np.inf else 0.0
    room = work.roundings[t] + SUMMED * parts
    if low > most + room or high < least - room:
        return False
    # A row without end would let rounding times an endless slack do for anything.
    program.low[row], program.high[row] = max(low, least) - through, min(high, most) - through
    if program.low[row] > program.high[row]:
        program.low[row] = program.high[row] = (low if low > most else high) - through
    program.tolerance[row] = room
    work.row_of[row], work.row_sign[row] = t, sign
    work.sizes[1] += 1
    return True


@kernel
def solve_rows(problem: CompiledProblem, work: Work, status: Any, need: float) -> tuple[int, float]:
    """(how it ended, least cost) of the node's program for these statuses; the point is left in `point`."""
    is_open = 0
    for j in range(status.shape[0]):
        is_open += 1 if status[j] == OPEN else 0
    paid = set_columns(work, status)
    work.sizes[1] = 0
    is_kept = add_row(problem, work, status, 0, 1.0, need, np.inf)
    for t in range(1, problem.tracks.shape[0]):
        low, high = work.ends[t, 0], work.ends[t, 1]
        if low == -np.inf and high == np.inf:
            continue
        if is_open == 0:
            is_kept = is_kept and add_row(problem, work, status, t, 1.0, low, high)
            continue
        if low > -np.inf:
            is_kept = is_kept and add_row(problem, work, status, t, 1.0, low, np.inf)
        if high < np.inf:
            is_kept = is_kept and add_row(problem, work, status, t, -1.0, -high, np.inf)
    if not is_kept:
        return EMPTY, np.inf
    program, rows, columns = work.program, work.sizes[1], work.sizes[0]
    if rows == 0:
        return SOLVED, paid
    if columns == 0:
        state = SOLVED
        for r in range(rows):
            program.y[r] = 0.0
            if program.low[r] > program.tolerance[r] or program.high[r] < -program.tolerance[r]:
                state = EMPTY
        return state, np.inf if state == EMPTY else paid
    state, value = dual_simplex(program, rows, columns)
    if state == EMPTY:
        return EMPTY, np.inf
    for c in range(columns):
        j = work.column[c] // 2
        work.point[j] += program.t[c] if work.column[c] % 2 == 0 else -program.t[c]
    for j in range(status.shape[0]):
        if status[j] != FOLLOW:
            work.point[j] = min(max(work.point[j], work.low[j]), work.high[j])
    return state, paid + value


@kernel
def take_multipliers(problem: CompiledProblem, work: Work) -> None:
    """The program's multipliers as prices of tracks."""
    for t in range(problem.tracks.shape[0]):
        work.prices[t] = 0.0
    for r in range(work.sizes[1]):
        work.prices[work.row_of[r]] += work.row_sign[r] * work.program.y[r]
    work.prices[0] = max(work.prices[0], 0.0)


@kernel
def spread_moves(problem: CompiledProblem, work: Work, status: Any) -> None:
    """How far each action moves at the point, set or left to follow; left in the third row of `kept`."""
    moved, k = work.kept, status.shape[0]
    for j in range(k):
        moved[2, j] = work.base[j]
    for j in range(k):
        if status[j] != FOLLOW:
            moved[2, j] = work.point[j]
        if moved[2, j] != 0.0:
            for e in range(problem.start[j], problem.start[j + 1]):
                moved[2, problem.child[e]] += problem.effect[e] * moved[2, j]


@kernel
def move_of(problem: CompiledProblem, work: Work, t: int) -> float:
    """How far a track moves by the moves that were spread."""
    total = 0.0
    for j in range(work.status.shape[0]):
        total += problem.tracks[t, j] * work.kept[2, j]
    return total


@kernel
def broken_clause(problem: CompiledProblem, work: Work) -> int:
    """A clause of which the spread moves keep no atom, or -1.

    Not as in branch and bound over boxes, which asks of values whether they can lie between ends: here moves are asked,
    and what the program was told to keep holds although its own rounding may say otherwise.
    """
    for c in range(problem.clause_start.shape[0] - 1):
        kept = 0
        for a in range(problem.clause_start[c], problem.clause_start[c + 1]):
            t = problem.atom_track[a]
            move, room = move_of(problem, work, t), work.atoms[a, 2]
            # The program keeps to ends up to its own rounding: what it was told to keep it keeps.
            is_told = work.ends[t, 0] >= work.atoms[a, 0] and work.ends[t, 1] <= work.atoms[a, 1]
            if is_told or work.atoms[a, 0] - room <= move <= work.atoms[a, 1] + room:
                kept += 1
        if kept == 0:
            return c
    return -1
