"""Enclosures: over a box of values that are set, how far every column can go, as intervals and between two planes.

A plane over the box is slope . z + offset. Rows collect what any favourable point of the box must satisfy, each as
slope . z + offset >= 0: from them come proofs that a box holds nothing, smaller boxes, and bounds on the cost. All
rounding goes outwards, as in interval arithmetic (Moore, "Interval analysis", 1966).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import SUMMED
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.spatial.compiled_problem import (
    Indices,
    InterventionSet,
    Records,
    SpatialBatch,
    Step,
    whole_ends,
)
from equieffort.world.scm.discrete import LatentEquation
from equieffort.world.scm.equations import EPS, Additive, Affine, Discrete

FAR = 1e300
"""Stands for no bound at all where infinity would spoil a product with zero."""


BoxRow = tuple[int, int, Floats]
"""One of `Boxes`: the person, the goal, and the other fields in one row."""


@dataclass(eq=False)
class Planes(Records):
    """slope . z + offset, for each box and each of several quantities."""

    slope: Floats
    """(box, quantity, action)."""
    offset: Floats
    """(box, quantity)."""

    def top(self, low: Floats, high: Floats) -> Floats:
        """The most over the box."""
        return np.maximum(self.slope * low[:, None], self.slope * high[:, None]).sum(axis=2) + self.offset

    def bottom(self, low: Floats, high: Floats) -> Floats:
        """The least over the box."""
        return np.minimum(self.slope * low[:, None], self.slope * high[:, None]).sum(axis=2) + self.offset

    def size(self, low: Floats, high: Floats) -> Floats:
        """What no partial sum exceeds anywhere in the box."""
        far = np.maximum(np.abs(low), np.abs(high))
        return np.asarray((np.abs(self.slope) * far[:, None]).sum(axis=2) + np.abs(self.offset))

    @classmethod
    def joined(cls, parts: list[Planes]) -> Planes:
        """All quantities beside each other."""
        return cls(np.concatenate([p.slope for p in parts], axis=1), np.concatenate([p.offset for p in parts], axis=1))


@dataclass(eq=False)
class Boxes(Records):
    """Boxes of one intervention set."""

    person: Indices
    levels: Floats
    """(box, categorical action); -1 where it is left."""
    goal: Indices
    low: Floats
    high: Floats
    branching_low: Floats
    """(box, column): what branching demands of columns."""
    branching_high: Floats

    @classmethod
    def of(cls, rows: list[BoxRow], problem: RecourseProblem) -> Boxes:
        """From boxes one by one."""
        person, goal, ends = (np.array(part) for part in zip(*rows, strict=True))
        widths = [len(problem.categorical), *[len(problem.numeric)] * 2, len(problem.names)]
        levels, *others = np.split(ends, np.cumsum(widths), axis=1)
        return cls(person, levels, goal, *others)

    def rows(self) -> list[BoxRow]:
        """One by one; each is a copy, so that a box keeps no other alive."""
        ends = np.hstack([self.levels, self.low, self.high, self.branching_low, self.branching_high])
        return [
            (person, goal, row.copy())
            for person, goal, row in zip(self.person.tolist(), self.goal.tolist(), ends, strict=True)
        ]


@dataclass(eq=False)
class Enclosure(Records):
    """Where every column can be."""

    least: Floats
    """(box, column)."""
    most: Floats
    below: Planes
    above: Planes
    alive: Bools
    """False where a column cannot be where it must."""
    rows: list[Planes]
    """What any allowed point satisfies, one quantity each."""


def enclose(people: SpatialBatch, interventions: InterventionSet, boxes: Boxes) -> Enclosure:
    """Follow the graph in causal order."""
    problem, n = people.problem, len(boxes.person)
    least = people.matrix[boxes.person]
    most, count = least.copy(), len(problem.numeric)
    below = Planes(np.zeros((n, least.shape[1], count)), least.copy())
    above = Planes(np.zeros((n, least.shape[1], count)), least.copy())
    found = Enclosure(least, most, below, above, np.ones(n, dtype=bool), [])
    for j, k in enumerate(problem.numeric):
        if interventions.is_set[j]:
            least[:, k], most[:, k] = boxes.low[:, j], boxes.high[:, j]
            for planes in (below, above):
                planes.slope[:, k, j], planes.offset[:, k] = 1.0, 0.0
    for b, k in enumerate(problem.categorical):
        if interventions.sets_level[b]:
            for array in (least, most, below.offset, above.offset):
                array[:, k] = boxes.levels[:, b]
    following = {step.column for step in interventions.steps}
    for k in {*problem.acts, *interventions.frozen} - following:
        _hold_to(found, boxes, k)
    for step in interventions.steps:
        if isinstance(step.equation, Additive):
            _follow(found, people, step, step.equation, boxes)
            _hold_to(found, boxes, step.column)
            _demand(found, step.column, boxes)
        else:
            _follow_levels(found, people, step, step.equation, boxes)
    return found


def _hold_to(found: Enclosure, boxes: Boxes, k: int) -> None:
    """Only values that the branching bounds allow matter."""
    np.maximum(found.least[:, k], boxes.branching_low[:, k], out=found.least[:, k])
    np.minimum(found.most[:, k], boxes.branching_high[:, k], out=found.most[:, k])
    _bury(found, k)


def _bury(found: Enclosure, k: int) -> None:
    empty = found.least[:, k] > found.most[:, k]
    if empty.any():
        found.alive &= ~empty
        # A box that holds nothing is followed as a point, so that equations are asked about boxes only.
        found.least[empty, k] = found.most[empty, k] = np.where(
            np.isfinite(found.least[empty, k]), found.least[empty, k], 0.0
        )


def _demand(found: Enclosure, k: int, boxes: Boxes) -> None:
    """The branching bounds on a column as rows."""
    low, high = boxes.branching_low[:, k], boxes.branching_high[:, k]
    for side, planes, bound in ((1, found.above, low), (-1, found.below, high)):
        if np.isfinite(bound).any():
            found.rows.append(row_where(True, side * planes.slope[:, k], side * (planes.offset[:, k] - bound)))


def row_where(used: Bools | bool, slope: Floats, offset: Floats) -> Planes:
    """One row; it holds anyway where it is not used or says nothing."""
    usable = used & np.isfinite(offset) & np.isfinite(slope).all(axis=1)
    return Planes(np.where(usable[:, None], slope, 0.0)[:, None], np.where(usable, offset, FAR)[:, None])


def _follow(found: Enclosure, people: SpatialBatch, step: Step, f: Additive, boxes: Boxes) -> None:
    """x' = x + f(causes') - f(causes)."""
    k, parents = step.column, list(step.parents)
    fact, before = people.matrix[boxes.person, k], people.start[k][boxes.person]
    own = fact - before
    low, high = found.least[:, parents], found.most[:, parents]
    least, most = f.bounds(low, high)
    size = np.abs(fact) + np.abs(before)
    lower, upper = f.affine_bounds(low, high)
    with np.errstate(invalid="ignore"):
        least = least + own - 8 * EPS * (size + np.abs(least))
        most = most + own + 8 * EPS * (size + np.abs(most))
    sides = (
        (-1, lower, least, found.least, found.below, Planes.bottom, np.maximum),
        (1, upper, most, found.most, found.above, Planes.top, np.minimum),
    )
    for side, affine, end, ends, planes, outermost, inner in sides:
        slope, offset = _compose(found, parents, affine, own, size, boxes, side=side)
        plane = Planes(slope[:, None], offset[:, None])
        tolerance = 8 * EPS * plane.size(boxes.low, boxes.high)
        reach = (outermost(plane, boxes.low, boxes.high) + side * tolerance)[:, 0]
        flat = ~np.isfinite(offset)
        ends[:, k] = np.where(np.isfinite(reach), inner(end, reach), end)
        planes.slope[:, k] = np.where(flat[:, None], 0.0, slope)
        planes.offset[:, k] = np.where(flat, end, offset)


def _compose(
    found: Enclosure, parents: list[int], plane: Affine, own: Floats, size: Floats, boxes: Boxes, *, side: int
) -> tuple[Floats, Floats]:
    """A plane over causes as a plane over z: rising in a cause it takes the cause's plane of the same side."""
    slope = np.zeros((len(own), boxes.low.shape[1]))
    with np.errstate(invalid="ignore"):
        offset, size = plane.offset + own, size + np.abs(plane.offset)
        for p, k in enumerate(parents):
            weight = plane.slope[:, p]
            if not weight.any():
                continue
            rising = (weight > 0) == (side > 0)
            part = Planes(
                np.where(rising[:, None], found.above.slope[:, k], found.below.slope[:, k])[:, None],
                np.where(rising, found.above.offset[:, k], found.below.offset[:, k])[:, None],
            )
            used = weight != 0
            slope += np.where(used[:, None], weight[:, None] * part.slope[:, 0], 0.0)
            offset = offset + np.where(used, weight * part.offset[:, 0], 0.0)
            size = size + np.where(used, np.abs(weight) * part.size(boxes.low, boxes.high)[:, 0], 0.0)
        offset = offset + side * (16 + 4 * len(parents)) * EPS * size
    return slope, offset


def _follow_levels(found: Enclosure, people: SpatialBatch, step: Step, f: Discrete, boxes: Boxes) -> None:
    """The levels that the person's own noise can pick."""
    k, parents = step.column, list(step.parents)
    noise, facts = people.start[k][boxes.person], people.matrix[boxes.person]
    low, high = found.least[:, parents], found.most[:, parents]
    least, most = f.reach(noise, low, high)
    # Where no cause moves the person keeps the fact, whatever rounding does to their noise.
    own, before = facts[:, k], facts[:, parents]
    stays = np.asarray(((low <= before) & (before <= high)).all(axis=1))
    found.least[:, k] = np.where(stays, np.minimum(least, own), least)
    found.most[:, k] = np.where(stays, np.maximum(most, own), most)
    _hold_to(found, boxes, k)
    ladder = f.ladder
    found.least[:, k] = ladder[np.searchsorted(ladder, found.least[:, k]).clip(max=len(ladder) - 1)]
    found.most[:, k] = ladder[(np.searchsorted(ladder, found.most[:, k], side="right") - 1).clip(min=0)]
    _bury(found, k)
    if isinstance(f, LatentEquation):
        _demand_latent(found, people, step, f, boxes, stays)
    for planes, end in ((found.below, found.least), (found.above, found.most)):
        planes.slope[:, k], planes.offset[:, k] = 0.0, end[:, k]


def _demand_latent(
    found: Enclosure, people: SpatialBatch, step: Step, f: LatentEquation, boxes: Boxes, stays: Bools
) -> None:
    """A branching bound on a level as rows of the sum behind it."""
    k, parents = step.column, list(step.parents)
    low, high = boxes.branching_low[:, k], boxes.branching_high[:, k]
    ladder, cuts = f.ladder, np.concatenate([[-np.inf], f.cuts, [np.inf]])
    first = np.searchsorted(ladder, low).clip(max=len(ladder) - 1)
    last = (np.searchsorted(ladder, high, side="right") - 1).clip(min=0)
    start, end = cuts[first], cuts[last + 1]
    own, noise = people.matrix[boxes.person, k], people.start[k][boxes.person]
    # Unmoved causes return the fact even where rounding would put the sum outside its level.
    here = f.latent(people.matrix[boxes.person][:, parents]) + noise
    free = stays & (own >= low) & (own <= high) & ~((here > start) & (here <= end))
    start, end = np.where(free, -np.inf, start), np.where(free, np.inf, end)
    if not (np.isfinite(start).any() or np.isfinite(end).any()):
        return
    lower, upper = f.latent.affine_bounds(found.least[:, parents], found.most[:, parents])
    size = np.abs(noise) + 1.0
    for side, plane, bound in ((1, upper, start), (-1, lower, end)):
        slope, offset = _compose(found, parents, plane, noise, size, boxes, side=side)
        found.rows.append(row_where(True, side * slope, side * (offset - bound)))


def impossible(rows: Planes, low: Floats, high: Floats) -> Bools:
    """Where some row fails all over the box."""
    tolerance = 16 * EPS * rows.size(low, high)
    return np.asarray((rows.top(low, high) + tolerance < 0).any(axis=1))


def tighten_bounds(rows: Planes, low: Floats, high: Floats, whole: Bools) -> tuple[Floats, Floats]:
    """The box without ends at which some row cannot hold; rounded outwards."""
    a = rows.slope
    parts = np.maximum(a * low[:, None], a * high[:, None])
    rest = parts.sum(axis=2, keepdims=True) - parts + rows.offset[:, :, None]
    rest = rest + SUMMED * rows.size(low, high)[:, :, None]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ends = -rest / a
        ends = np.where(np.isfinite(ends), ends, np.nan)
        start = np.fmax.reduce(np.where(a > 0, ends, np.nan), axis=1)
        end = np.fmin.reduce(np.where(a < 0, ends, np.nan), axis=1)
    start, end = start - 4 * EPS * np.abs(start), end + 4 * EPS * np.abs(end)
    low, high = np.fmax(low, start), np.fmin(high, end)
    return whole_ends(low, high, whole)


def fill(rows: Planes, start: Floats, low: Floats, high: Floats, up: Floats, down: Floats) -> tuple[Floats, Floats]:
    """For each row the least price of going from `start`, the box's cheapest point, to where it holds; and the point.

    Going in the order of gain a price is exact for one row: nothing cheaper than the start is left behind.
    """
    a = rows.slope
    rises = a > 0
    room = np.where(rises, high[:, None] - start[:, None], start[:, None] - low[:, None])
    price = np.where(rises, up[:, None], down[:, None])
    gain = np.abs(a) * room
    order = np.argsort(-np.abs(a) / price, axis=2, kind="stable")
    sorted_gain = np.take_along_axis(gain, order, axis=2)
    lack = -((a * start[:, None]).sum(axis=2) + rows.offset)
    before = np.cumsum(sorted_gain, axis=2) - sorted_gain
    used = np.clip(lack[:, :, None] - before, 0.0, sorted_gain)
    taken = np.empty_like(used)
    np.put_along_axis(taken, order, used, axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(np.abs(a) > 0, taken / np.abs(a), 0.0)
    step = np.minimum(step, room)
    point = start[:, None] + np.where(rises, step, -step)
    return (step * price).sum(axis=2), point
