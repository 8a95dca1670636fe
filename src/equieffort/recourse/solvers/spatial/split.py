"""Where to split a box: what undecided trees ask for, levels that are open, splits of equations, else the middle."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.models.classifiers import LinearView
from equieffort.recourse.solvers.spatial.compiled_problem import Indices, SpatialBatch
from equieffort.recourse.solvers.spatial.enclosures import Boxes, Enclosure
from equieffort.recourse.solvers.spatial.views import Margins
from equieffort.world.scm.equations import Discrete

STRAIGHT = 0.05


def split(
    people: SpatialBatch, set_index: int, boxes: Boxes, found: Enclosure, margins: Margins, thin: float
) -> tuple[Boxes, Boxes, Bools]:
    """Two halves of each box, and whether there are: not where it is too thin."""
    interventions = people.compiled.intervention_sets[set_index]
    n, everything = len(boxes.person), np.arange(len(boxes.person))
    first, second = boxes.take(everything), boxes.take(everything)
    action = np.full(len(people.problem.names), -1, dtype=np.intp)
    for j, k in enumerate(people.problem.numeric):
        if interventions.is_set[j]:
            action[k] = j
    column, threshold = margins.column.copy(), margins.threshold.copy()
    for step in interventions.steps:
        if isinstance(step.equation, Discrete):
            k = step.column
            open_ = (column < 0) & (found.least[:, k] < found.most[:, k])
            column[open_] = k
            ladder = step.equation.ladder
            ranks = [np.searchsorted(ladder, end[:, k]) for end in (found.least, found.most)]
            threshold[open_] = ladder[(ranks[0] + ranks[1]) // 2][open_]
    codes = np.isnan(threshold)
    if codes.any():
        wanted = column[codes]
        threshold[codes] = np.floor(0.5 * (found.least[codes, wanted] + found.most[codes, wanted]))
    by_action = np.where(column >= 0, action[column], -1)
    branched = np.flatnonzero((column >= 0) & (by_action < 0))
    first.branching_high[branched, column[branched]] = threshold[branched]
    second.branching_low[branched, column[branched]] = np.nextafter(threshold[branched], np.inf)
    chosen = np.flatnonzero(by_action >= 0)
    _halve(first, second, chosen, by_action[chosen], threshold[chosen], exact=np.ones(len(chosen), dtype=bool),
           whole=people.problem.is_integer)  # fmt: skip
    rest = np.flatnonzero(column < 0)
    splits = np.ones(n, dtype=bool)
    if len(rest):
        splits[rest] = _bisect(people, set_index, first, second, rest, thin)
    return first, second, splits


def _halve(first: Boxes, second: Boxes, rows: Indices, j: Indices, at: Floats, *, exact: Bools, whole: Bools) -> None:
    """Up to a value, and past it: from the next number on where the value itself belongs to the first half."""
    past = np.where(exact, np.nextafter(at, np.inf), at)
    down = np.floor(at)
    first.high[rows, j] = np.minimum(first.high[rows, j], np.where(whole[j], down, at))
    second.low[rows, j] = np.maximum(second.low[rows, j], np.where(whole[j], down + 1, past))


def _bisect(people: SpatialBatch, set_index: int, first: Boxes, second: Boxes, rows: Indices, thin: float) -> Bools:
    interventions = people.compiled.intervention_sets[set_index]
    low, high, who = first.low[rows], first.high[rows], first.person[rows]
    if low.shape[1] == 0:
        return np.zeros(len(rows), dtype=bool)
    width = high - low
    scale = np.maximum(np.abs(low), np.abs(high))
    can = (width > thin * (1e-3 + scale)) & interventions.is_set
    weight = np.where(can, 0.5 * (people.up[who] + people.down[who]) * width, -1.0)
    if isinstance(people.problem.view, LinearView):
        # Of actions that enter a linear score linearly splitting tightens little, as long as another bends.
        bent = can & interventions.bent
        weight = np.where(can & bent.any(axis=1, keepdims=True) & ~bent, STRAIGHT * weight, weight)
    j = weight.argmax(axis=1)
    each = np.arange(len(rows))
    at = 0.5 * (low[each, j] + high[each, j])
    exact = np.zeros(len(rows), dtype=bool)
    for action, cuts in people.compiled.cuts.items():
        mine = np.flatnonzero(j == action)
        start, end = np.searchsorted(cuts, low[mine, action]), np.searchsorted(cuts, high[mine, action])
        inside = mine[end > start]
        if len(inside):
            near = np.searchsorted(cuts, at[inside])
            near = near.clip(start[end > start], end[end > start] - 1)
            at[inside], exact[inside] = cuts[near], True
    good = can.any(axis=1)
    _halve(first, second, rows[good], j[good], at[good], exact=exact[good], whole=people.problem.is_integer)
    return np.asarray(good)
