"""Rules between features over boxes: where one cannot hold, and rows where only one of its conditions can."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import tolerance
from equieffort.recourse.solvers.spatial.compiled_problem import SpatialBatch
from equieffort.recourse.solvers.spatial.enclosures import Boxes, Enclosure, Planes, row_where
from equieffort.world.scm.equations import EPS


def demand_rules(people: SpatialBatch, boxes: Boxes, found: Enclosure) -> Bools:
    """Where every rule can still hold; rows are added to the enclosure."""
    rules, facts = people.compiled.rules, people.matrix[boxes.person]
    possible = np.ones(len(facts), dtype=bool)
    if len(rules.track):
        least, most, below, above, sizes = _extended(rules.rules.weights, found)
        forgiven = 2 * tolerance(sizes[:, rules.track])
        low, high = people.atoms.low[boxes.person], people.atoms.high[boxes.person]
        can = (most[:, rules.track] >= low - forgiven) & (least[:, rules.track] <= high + forgiven)
        for c in range(len(rules.rules.clauses)):
            own = rules.atoms(c)
            possible &= can[:, own].any(axis=1)
            alone = can[:, own].sum(axis=1) == 1
            for a in own:
                only, k = alone & can[:, a], rules.track[a]
                if rules.level[a] < 0 and only.any():
                    for side, planes, end in ((1, above, low[:, a]), (-1, below, high[:, a])):
                        offset = side * (planes.offset[:, k] - end) + forgiven[:, a]
                        found.rows.append(row_where(only, side * planes.slope[:, k], offset))
    for move in rules.rules.moves:
        k = move.column
        before, start, end = facts[:, k], found.least[:, k], found.most[:, k]
        forbidden = (start == end) & (start != before) & ((before == move.start) | (move.start < 0))
        possible &= ~(forbidden & ((start == move.end) | (move.end < 0)))
    return possible


def _extended(weights: Floats, found: Enclosure) -> tuple[Floats, Floats, Planes, Planes, Floats]:
    """The columns with the weighted sums behind them, and the size of what each is summed from."""
    least, most, below, above = found.least, found.most, found.below, found.above
    sizes = np.maximum(np.abs(least), np.abs(most))
    for row in weights:
        used = np.flatnonzero(row).tolist()
        ends = np.stack([[row[k] * least[:, k], row[k] * most[:, k]] for k in used])
        far = np.abs(ends).max(axis=1).sum(axis=0)
        size, sizes = 8 * EPS * (2 + len(used)) * far, np.column_stack([sizes, far])
        low, high = ends.min(axis=1).sum(axis=0) - size, ends.max(axis=1).sum(axis=0) + size
        lower = [below if row[k] > 0 else above for k in used]
        upper = [above if row[k] > 0 else below for k in used]
        sums = [
            Planes(
                sum(
                    (row[k] * p.slope[:, k] for k, p in zip(used, side, strict=True)), np.zeros(below.slope[:, 0].shape)
                )[:, None],
                sum((row[k] * p.offset[:, k] for k, p in zip(used, side, strict=True)), sign * size)[:, None],
            )
            for side, sign in ((lower, -1.0), (upper, 1.0))
        ]
        least, most = np.column_stack([least, low]), np.column_stack([most, high])
        below, above = Planes.joined([below, sums[0]]), Planes.joined([above, sums[1]])
    return least, most, below, above, sizes
