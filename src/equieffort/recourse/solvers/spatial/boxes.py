"""Boxes of one intervention set, looked at together: what they can hold, what it costs at least, points to try."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import ALIKE, TOLERANCE, tolerance
from equieffort.models.classifiers import TreeView
from equieffort.recourse.solvers.spatial.compiled_problem import Records, SpatialBatch
from equieffort.recourse.solvers.spatial.enclosures import (
    FAR,
    Boxes,
    Enclosure,
    Planes,
    enclose,
    fill,
    impossible,
    row_where,
    tighten_bounds,
)
from equieffort.recourse.solvers.spatial.points import Points
from equieffort.recourse.solvers.spatial.views import Layered, Leaves, Margins
from equieffort.world.scm.equations import EPS


@dataclass(eq=False)
class Open(Records):
    """Boxes of one intervention set that may hold something, and what is known of them."""

    interventions: int
    boxes: Boxes
    bound: Floats
    found: Enclosure
    margins: Margins
    start: Floats
    """The cheapest point of each box."""
    wanted: Floats
    """The cheapest point that the dearest row admits."""

    def __len__(self) -> int:
        return len(self.boxes.person)


@dataclass(frozen=True, eq=False)
class Look:
    """How boxes of these people are looked at."""

    people: SpatialBatch
    attempt: int

    @cached_property
    def margins(self) -> Layered | Leaves:
        """The classifier over boxes."""
        view = self.people.problem.view
        return Leaves(view) if isinstance(view, TreeView) else Layered.of(view)

    @cached_property
    def goals(self) -> Bools:
        """(goal, margin): which margins a goal asks for."""
        view = self.people.problem.view
        table = np.zeros((len(view.goals.sets), len(view.goals.closed)), dtype=bool)
        for g, members in enumerate(view.goals.sets):
            table[g, list(members)] = True
        return table

    def bound(self, set_index: int, boxes: Boxes, bound: Floats, fixed: Floats) -> Open:
        """Drop boxes that hold nothing, shrink the others, and bound their cost; `fixed` is that of the levels."""
        people = self.people
        interventions = people.compiled.intervention_sets[set_index]
        found = enclose(people, interventions, boxes)
        found.alive &= _demand_rules(people, boxes, found)
        margins = self.margins(boxes, found)
        mine = self.goals[boxes.goal]
        found.alive &= self._can_reach(margins, mine)
        rows = self._rows(found, margins, mine)
        if rows is not None:
            found.alive &= ~impossible(rows, boxes.low, boxes.high)
            low, high = tighten_bounds(rows, boxes.low, boxes.high, people.problem.is_integer & interventions.is_set)
            found.alive &= ((low <= high) | ~interventions.is_set).all(axis=1)
            keep = found.alive[:, None] & interventions.is_set
            boxes.low, boxes.high = np.where(keep, low, boxes.low), np.where(keep, high, boxes.high)
        start = np.clip(people.facts[boxes.person], boxes.low, boxes.high)
        price, wanted = np.zeros(len(start)), start
        if start.shape[1]:
            price = people.cost(boxes.person, start)
            if rows is not None:
                up, down = people.up[boxes.person], people.down[boxes.person]
                extra, ends = fill(rows, start, boxes.low, boxes.high, up, down)
                each, dearest = np.arange(len(start)), extra.argmax(axis=1)
                wanted = ends[each, dearest]
                if people.straight:
                    price = price + extra[each, dearest]
        bound = np.maximum(bound, (fixed + price) * (1 - ALIKE))
        found.rows = []
        return Open(set_index, boxes, bound, found, margins, start, wanted).take(found.alive)

    def _can_reach(self, margins: Margins, mine: Bools) -> Bools:
        """Whether every margin of the goal can be what it must, the model's own rounding granted."""
        view, need = self.people.problem.view, self.people.problem.margin
        most = margins.most + margins.rounding_error
        # Where sums of leaves are exact, a tie is no win.
        exact = (margins.rounding_error == 0) & (need == 0) & ~view.goals.closed & (margins.above is None)
        good = np.where(exact, most > need, most >= need)
        return np.asarray((good | ~mine).all(axis=1))

    def _rows(self, found: Enclosure, margins: Margins, mine: Bools) -> Planes | None:
        parts = list(found.rows)
        if margins.above is not None:
            offset = margins.above.offset - self.people.problem.margin + margins.rounding_error
            parts.append(_usable(margins.above.slope, offset, mine))
        return Planes.joined(parts) if parts else None

    def suggest(self, kept: Open) -> list[Points]:
        """The cheapest point, the ends of fills, a point planned on the safe side, the middle, corners."""
        boxes = kept.boxes
        found = [kept.start, kept.wanted, self._safe(kept), 0.5 * (boxes.low + boxes.high)]
        if kept.margins.above is not None:
            slope = np.where(self.goals[boxes.goal][:, :, None], kept.margins.above.slope, 0.0).sum(axis=1)
            found.append(np.where(slope > 0, boxes.high, np.where(slope < 0, boxes.low, kept.start)))
        else:
            found += [boxes.low, boxes.high]
        whole, interventions = self.people.problem.is_integer, np.full(len(kept), kept.interventions)
        points = []
        for z in found:
            away = np.where(z > kept.start, np.ceil(z - TOLERANCE), np.floor(z + TOLERANCE))
            inside = np.clip(np.where(whole, away, z), boxes.low, boxes.high)
            points.append(Points(boxes.person, interventions, boxes.levels, inside))
        return points

    def _safe(self, kept: Open) -> Floats:
        """From the cheapest point along each row in turn, with the planes of the safe side and a little beyond."""
        boxes, people = kept.boxes, self.people
        more = 2.0**self.attempt
        rows: list[Planes] = []
        for step in people.compiled.intervention_sets[kept.interventions].steps:
            k, sides = (
                step.column,
                ((kept.found.below, boxes.branching_low, 1), (kept.found.above, boxes.branching_high, -1)),
            )
            for planes, ends, sign in sides:
                usable = np.isfinite(ends[:, k])
                if usable.any():
                    end = np.where(usable, ends[:, k], 0.0)
                    offset = sign * (planes.offset[:, k] - end) - 4 * more * tolerance(end)
                    rows.append(_usable(sign * planes.slope[:, [k]], offset[:, None], usable[:, None]))
        if kept.margins.below is not None:
            mine, below = self.goals[boxes.goal], kept.margins.below
            offset = below.offset - people.problem.margin - 4 * more * kept.margins.rounding_error
            rows += [_usable(below.slope[:, [m]], offset[:, [m]], mine[:, [m]]) for m in range(mine.shape[1])]
        z = kept.start
        if z.shape[1]:
            up, down = people.up[boxes.person], people.down[boxes.person]
            for row in rows + (rows if len(rows) > 1 else []):
                z = fill(row, z, boxes.low, boxes.high, up, down)[1][:, 0]
        return z


def _usable(slope: Floats, offset: Floats, where: Bools) -> Planes:
    """Rows that hold anyway where they say nothing."""
    sure = where & np.isfinite(offset)
    return Planes(np.where(sure[:, :, None], slope, 0.0), np.where(sure, offset, FAR))


def _demand_rules(people: SpatialBatch, boxes: Boxes, found: Enclosure) -> Bools:
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
