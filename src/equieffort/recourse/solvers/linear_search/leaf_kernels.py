"""What one set of interventions costs: its gains, and the fill in the order of gain a price (Dantzig, 1957)."""

from __future__ import annotations

import numpy as np

from equieffort.foundations.jit import hot, kernel
from equieffort.foundations.tolerances import CANCELLED, FORGIVEN_UNIT, SUMMED
from equieffort.recourse.solvers.linear_search.arrays import (
    BEST,
    CUTOFF,
    FLOOR,
    FOLLOW,
    FORGIVEN,
    LAMBDA,
    PRICE,
    ROOT,
    ROUNDING,
    Answers,
    CompiledBatch,
    CompiledProblem,
    Options,
    Work,
)


@hot
def gains(problem: CompiledProblem, work: Work) -> tuple[float, float, float]:
    """What a unit of each action gains under the tried statuses, left in `worth`; what levels gain through what
    follows, the most that the person's own limits allow to gain, and what these sums are summed from."""
    worth, through, reach, parts = work.worth, 0.0, 0.0, 0.0
    for j in range(work.trial.shape[0] - 1, -1, -1):
        gain, size = problem.tracks[0, j], abs(problem.tracks[0, j])
        for e in range(problem.start[j], problem.start[j + 1]):
            q = problem.child[e]
            if work.trial[q] == FOLLOW:
                gain += problem.effect[e] * worth[0, q]
                size += abs(problem.effect[e]) * work.size[q]
        if abs(gain) <= CANCELLED * size:
            gain = 0.0
        worth[0, j], work.size[j] = gain, size
        if work.trial[j] == FOLLOW:
            through += work.base[j] * gain
            parts += abs(work.base[j]) * size
        elif gain != 0.0:
            most = max(gain * work.own_low[j], gain * work.own_high[j])
            reach += most
            parts += abs(most) if abs(most) < np.inf else 0.0
    return through, reach, parts


@hot
def fill(work: Work, need: float) -> tuple[float, int, float]:
    """The cheapest change of what is set within the node's boxes that gains so much, left in `point`: (cost, action
    filled in part or -1, need left over)."""
    k, point, worth, cost = work.trial.shape[0], work.point, work.worth, 0.0
    for j in range(k):
        point[j], work.kept[0, j] = 0.0, 0.0
        if work.trial[j] == FOLLOW:
            continue
        near = min(max(0.0, work.low[j]), work.high[j])
        point[j] = near
        cost += near * work.up[j] if near > 0.0 else -near * work.down[j]
        gain = worth[0, j]
        need -= near * gain
        if gain > 0.0 and near >= 0.0 and work.high[j] > near:
            work.kept[0, j], work.kept[1, j] = gain / work.up[j], work.high[j] - near
        elif gain < 0.0 and near <= 0.0 and work.low[j] < near:
            work.kept[0, j], work.kept[1, j] = -gain / work.down[j], near - work.low[j]
    while need > 0.0:
        best, rate = -1, 0.0
        for j in range(k):
            if work.kept[0, j] > rate:
                best, rate = j, work.kept[0, j]
        if best < 0:
            return cost, -1, need
        work.kept[0, best] = 0.0
        gain = worth[0, best]
        side = 1.0 if gain > 0.0 else -1.0
        price, width, take = work.up[best] if gain > 0.0 else work.down[best], work.kept[1, best], need / abs(gain)
        work.scalar[LAMBDA] = 1.0 / rate
        if take < width:
            point[best] += side * take
            return cost + take * price, best, 0.0
        point[best] += side * width
        cost += width * price
        need -= width * abs(gain)
    return cost, -1, 0.0


@kernel
def cost_of(work: Work) -> float:
    """What the point costs, levels not counted."""
    total = 0.0
    for j in range(work.trial.shape[0]):
        if work.trial[j] != FOLLOW:
            total += work.point[j] * work.up[j] if work.point[j] > 0.0 else -work.point[j] * work.down[j]
    return total


@kernel
def has_useful_amounts(problem: CompiledProblem, work: Work) -> bool:
    """Whether something set to any number gains."""
    for j in range(work.trial.shape[0]):
        gains = work.trial[j] != FOLLOW and work.worth[0, j] != 0.0
        if gains and not problem.whole[j] and work.own_high[j] > work.own_low[j]:
            return True
    return False


@kernel
def try_statuses(
    problem: CompiledProblem,
    people: CompiledBatch,
    work: Work,
    options: Options,
    answers: Answers,
    i: int,
    is_leaf: bool,
) -> int:
    """Fill the tried statuses and keep what is the best: the action that a whole number splits, or -1.

    `is_leaf`: nothing else is decided, so that what is found here bounds too.
    """
    through, reach, parts = gains(problem, work)
    rounding = SUMMED * (parts + abs(work.needs[0]) + abs(through))
    reach += through
    if not reach >= work.needs[0] - rounding:
        return -1
    is_tie = reach < work.needs[2]
    if is_tie and (options.only_sure or is_excluded(people, work, i)):
        return -1
    target = work.needs[2] if options.only_sure else work.needs[1]
    if work.needs[1] > work.needs[0] and not options.only_sure and has_whole(problem, work):
        target += 0.0 if has_useful_amounts(problem, work) else work.scalar[ROUNDING]
    cost, part, left = fill(work, min(target, reach) - through)
    if left > rounding:
        return -1
    split = part if part >= 0 and is_split(problem, work, part) else -1
    point = work.point[split] if split >= 0 else 0.0
    if split >= 0:
        if is_leaf and cost >= work.scalar[CUTOFF]:
            work.scalar[FLOOR] = min(work.scalar[FLOOR], cost + work.scalar[PRICE])
            return -1
        if problem.whole[split]:
            work.point[split] = np.ceil(point) if point > 0.0 else np.floor(point)
        cost = cost_of(work)
    if cost + work.scalar[PRICE] < work.scalar[BEST]:
        work.scalar[BEST] = cost + work.scalar[PRICE]
        set_cutoff(work, options)
        keep(problem, work, answers, i, through, is_tie)
    if split >= 0:
        work.point[split] = point
    return split


@kernel
def is_split(problem: CompiledProblem, work: Work, part: int) -> bool:
    """Whether an action filled in part must be split to go on."""
    return problem.whole[part] and work.point[part] != np.floor(work.point[part])


@kernel
def has_whole(problem: CompiledProblem, work: Work) -> bool:
    """Whether something that is set takes whole numbers only."""
    count = 0
    for j in range(work.trial.shape[0]):
        if problem.whole[j] and work.trial[j] != FOLLOW:
            count += 1
    return count > 0


@kernel
def set_cutoff(work: Work, options: Options) -> None:
    """From which bound on nodes are dropped."""
    best = work.scalar[BEST]
    work.scalar[CUTOFF] = best * (1.0 - options.share) - work.scalar[PRICE] if best < np.inf else np.inf
    least = least_price(work)
    # Where levels cost something, an action may change no amount at all, and nothing of its cost is forgiven.
    least = least if work.scalar[PRICE] == 0.0 and least < np.inf else 0.0
    work.scalar[FORGIVEN] = 8.0 * options.share * best + FORGIVEN_UNIT * least


@kernel
def least_price(work: Work) -> float:
    """The least price of a unit."""
    least = np.inf
    for j in range(work.up.shape[0]):
        least = min(least, work.up[j], work.down[j])
    return least


@kernel
def is_excluded(people: CompiledBatch, work: Work, i: int) -> bool:
    """Whether the model has refused these statuses, for this person."""
    for p in range(people.excluded.shape[0]):
        if people.excluded[p, 0] == i and people.excluded[p, 1] == work.scalar[ROOT]:
            same = True
            for j in range(work.trial.shape[0]):
                if people.excluded[p, 2 + j] != work.trial[j]:
                    same = False
            if same:
                return True
    return False


@kernel
def keep(problem: CompiledProblem, work: Work, answers: Answers, i: int, through: float, is_tie: bool) -> None:
    """The best so far, and the action that goes with it: past the boundary by a little, or as far as it goes."""
    price, kind = work.scalar[LAMBDA], 1 if is_tie else 0
    answers.bound[i, 0], gained = work.scalar[BEST], through
    for j in range(work.trial.shape[0]):
        work.kept[2, j] = work.point[j]
        gained += 0.0 if work.trial[j] == FOLLOW else work.worth[0, j] * work.point[j]
    if is_tie:
        for j in range(work.trial.shape[0]):
            if work.trial[j] != FOLLOW and work.worth[0, j] != 0.0:
                work.point[j] = work.own_high[j] if work.worth[0, j] > 0.0 else work.own_low[j]
    else:
        answers.root[i, 1], answers.cost[i, 1], answers.bound[i, 1] = -1, np.inf, work.scalar[BEST]
        if gained < work.needs[2]:
            _, part, left = fill(work, work.needs[2] - through)
            if left > 0.0 or (part >= 0 and problem.whole[part] and work.point[part] != np.floor(work.point[part])):
                # Past the boundary lies another whole number, or another set: what was found before stays.
                kind = -1
    if kind >= 0:
        answers.cost[i, kind] = cost_of(work) + work.scalar[PRICE]
        answers.root[i, kind] = np.int64(work.scalar[ROOT])
        for j in range(work.trial.shape[0]):
            answers.status[i, kind, j], answers.change[i, kind, j] = work.trial[j], work.point[j]
    for j in range(work.trial.shape[0]):
        work.point[j] = work.kept[2, j]
    work.scalar[LAMBDA] = price
