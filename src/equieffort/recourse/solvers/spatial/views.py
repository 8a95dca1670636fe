"""Margins over boxes: planes through linear and ReLU views, reachable leaves of trees."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import SCORED
from equieffort.models.classifiers import Layer, LinearView, NetworkView, TreeView
from equieffort.recourse.solvers.spatial.compiled_problem import Indices, Records
from equieffort.recourse.solvers.spatial.enclosures import Boxes, Enclosure, Planes
from equieffort.world.scm.equations import EPS

CELLS = 8_000_000
"""Boxes times nodes of trees looked at together."""


@dataclass(eq=False)
class Margins(Records):
    """What is known of the margins over each box."""

    most: Floats
    """(box, margin): nothing in the box has more, the model's own rounding aside."""
    rounding_error: Floats
    """How far rounding may carry the model's own margins from the view's."""
    below: Planes | None
    """Planes below and above the margins; none for trees."""
    above: Planes | None
    decided: Bools
    """Where every tree has one leaf, so that the label is the same all over the box."""
    column: Indices
    """The column that undecided trees want to split; -1 for none."""
    threshold: Floats


@dataclass(frozen=True, eq=False)
class Layered:
    """A linear score or a ReLU network."""

    layers: tuple[Layer, ...]
    tables: dict[int, Floats]
    relative_error: float

    @classmethod
    def of(cls, view: LinearView | NetworkView) -> Layered:
        """A linear score is a network of one layer."""
        if isinstance(view, NetworkView):
            return cls(view.layers, view.tables, view.relative_error)
        layer = Layer(view.weights[None, :], np.array([view.intercept]))
        return cls((layer,), {k: table[None, :] for k, table in view.tables.items()}, max(SCORED, view.single))

    def __call__(self, boxes: Boxes, found: Enclosure) -> Margins:
        """Planes are carried forward; an unstable unit is held between its chord and a line through zero."""
        first = self.layers[0]
        used = np.flatnonzero((first.weights != 0).any(axis=0))
        ends = np.maximum(np.abs(found.least[:, used]), np.abs(found.most[:, used]))
        parts = [Planes(p.slope[:, used], p.offset[:, used]) for p in (found.below, found.above)]
        sure = np.asarray(np.isfinite(ends).all(axis=1))
        for part in parts:
            sure &= np.isfinite(part.offset).all(axis=1) & np.isfinite(part.slope).all(axis=(1, 2))
        for part in parts:
            part.slope[~sure], part.offset[~sure] = 0.0, 0.0
        ends = np.where(sure[:, None], ends, 0.0)
        below, above, size = self._first(boxes, found, used, parts, ends)
        low, high = (np.where(sure[:, None], e[:, used], 0.0) for e in (found.least, found.most))
        least, most = _sums(first.weights[:, used], low, high)
        least, most = least + self._added(found, np.minimum) + first.bias, most + self._added(found, np.maximum)
        most = most + first.bias
        tolerance = 4 * EPS * (8 + len(used)) * size
        least, most = least - tolerance, most + tolerance
        for layer in self.layers[1:]:
            bottom = np.maximum(below.bottom(boxes.low, boxes.high) - _rounding(below, boxes), least)
            top = np.minimum(above.top(boxes.low, boxes.high) + _rounding(above, boxes), most)
            below, above = _bend(below, above, bottom, top)
            below, above = _through(layer.weights, layer.bias, below, above, boxes)
            least, most = _sums(layer.weights, np.maximum(bottom, 0.0), np.maximum(top, 0.0))
            size = np.einsum("nk,hk->nh", size, np.abs(layer.weights)) + np.abs(layer.bias)
            tolerance = 4 * EPS * (8 + layer.weights.shape[1]) * size
            least, most = least + layer.bias - tolerance, most + layer.bias + tolerance
        most = np.minimum(most, above.top(boxes.low, boxes.high) + _rounding(above, boxes))
        most[~sure], above.offset[~sure], below.offset[~sure] = np.inf, np.inf, -np.inf
        nowhere = np.zeros(len(most), dtype=bool)
        nothing = np.full(len(most), -1, dtype=np.intp)
        rounding_error = self.relative_error * np.where(sure[:, None], size, 0.0)
        return Margins(most, rounding_error, below, above, nowhere, nothing, np.zeros(len(most)))

    def _first(
        self, boxes: Boxes, found: Enclosure, used: Indices, parts: list[Planes], ends: Floats
    ) -> tuple[Planes, Planes, Floats]:
        weights, bias = self.layers[0].weights[:, used], self.layers[0].bias
        below, above = _through(weights, bias, parts[0], parts[1], boxes)
        below.offset += self._added(found, np.minimum)
        above.offset += self._added(found, np.maximum)
        size = np.einsum("nk,hk->nh", ends, np.abs(weights)) + np.abs(bias)
        for table in self.tables.values():
            size += np.abs(table).max(axis=1)
        below.offset -= 8 * EPS * size
        above.offset += 8 * EPS * size
        return below, above, size

    def _added(self, found: Enclosure, choose: np.ufunc) -> Floats:
        """What levels add to the first layer, at most or at least."""
        total = np.zeros((len(found.least), len(self.layers[0].bias)))
        for k, table in self.tables.items():
            low, high = found.least[:, k], found.most[:, k]
            first, last = np.ceil(low).astype(np.intp), np.floor(high).astype(np.intp)
            best = table.T[first.clip(0, table.shape[1] - 1)].copy()
            for level in range(table.shape[1]):
                inside = (first <= level) & (level <= last)
                if inside.any():
                    best[inside] = choose(best[inside], table[:, level])
            total += best
        return total


def _sums(weights: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    rising, falling = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    least = np.einsum("nk,hk->nh", low, rising) + np.einsum("nk,hk->nh", high, falling)
    most = np.einsum("nk,hk->nh", high, rising) + np.einsum("nk,hk->nh", low, falling)
    return least, most


def _rounding(planes: Planes, boxes: Boxes) -> Floats:
    return 8 * EPS * planes.size(boxes.low, boxes.high)


def _through(weights: Floats, bias: Floats, below: Planes, above: Planes, boxes: Boxes) -> tuple[Planes, Planes]:
    """Planes below and above the next layer's sums."""
    rising, falling = np.maximum(weights, 0.0), np.minimum(weights, 0.0)
    spread = [p.size(boxes.low, boxes.high) for p in (below, above)]
    size = np.einsum("nk,hk->nh", np.maximum(*spread), np.abs(weights)) + np.abs(bias)
    tolerance = EPS * (16 + 4 * weights.shape[1]) * size
    found = []
    for first, second, sign in ((below, above, -1), (above, below, 1)):
        slope = np.einsum("nkj,hk->nhj", first.slope, rising) + np.einsum("nkj,hk->nhj", second.slope, falling)
        offset = np.einsum("nk,hk->nh", first.offset, rising) + np.einsum("nk,hk->nh", second.offset, falling)
        found.append(Planes(slope, offset + bias + sign * tolerance))
    return found[0], found[1]


def _bend(below: Planes, above: Planes, bottom: Floats, top: Floats) -> tuple[Planes, Planes]:
    """Planes below and above max(x, 0) for x between two planes and between two ends."""
    unstable = (bottom < 0) & (top > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        chord = np.where(unstable, top / (top - bottom), np.where(top <= 0, 0.0, 1.0))
    lift = np.where(unstable, -bottom * chord, 0.0)
    lift = lift * (1 + 8 * EPS)
    upper = Planes(above.slope * chord[:, :, None], above.offset * chord + lift)
    keep = np.where(unstable, (top > -bottom).astype(np.float64), np.where(top <= 0, 0.0, 1.0))
    return Planes(below.slope * keep[:, :, None], below.offset * keep), upper


@dataclass(frozen=True, eq=False)
class Leaves:
    """A sum of trees."""

    view: TreeView

    @cached_property
    def layers(self) -> list[npt.NDArray[np.intp]]:
        """The splits of all trees, depth by depth."""
        view, found, now = self.view, [], self.view.roots.astype(np.intp)
        while len(now := now[view.feature[now] >= 0]):
            found.append(now)
            now = np.concatenate([view.left[now], view.right[now]]).astype(np.intp)
        return found

    @cached_property
    def counts(self) -> npt.NDArray[np.intp]:
        """(subset, level): how many levels below this one go left."""
        subsets = self.view.subsets.astype(np.intp)
        return np.concatenate([np.zeros((len(subsets), 1), dtype=np.intp), np.cumsum(subsets, axis=1)], axis=1)

    def __call__(self, boxes: Boxes, found: Enclosure) -> Margins:
        """Over the box of each column the largest leaf of each tree, added up."""
        n, width = len(found.least), len(self.view.base)
        result = Margins(
            np.empty((n, width)), np.repeat(self.view.error[None, :], n, axis=0), None, None, np.zeros(n, dtype=bool),
            np.full(n, -1, dtype=np.intp), np.zeros(n),
        )  # fmt: skip
        size = max(1, CELLS // max(1, len(self.view.feature)))
        for start in range(0, n, size):
            part = slice(start, start + size)
            self._part(part, boxes, found, result)
        return result

    def _part(self, part: slice, boxes: Boxes, found: Enclosure, result: Margins) -> None:
        view, low, high = self.view, found.least[part], found.most[part]
        n = len(low)
        reached = np.zeros((n, len(view.feature)), dtype=bool)
        reached[:, view.roots] = True
        torn = np.zeros_like(reached)
        for splits in self.layers:
            here = reached[:, splits]
            goes_left, goes_right = self._sides(splits, low, high)
            reached[:, view.left[splits]] = here & goes_left
            reached[:, view.right[splits]] = here & goes_right
            torn[:, splits] = here & goes_left & goes_right
        leaf = reached & (view.feature < 0)
        starts = view.roots.astype(np.intp)
        members = [view.goals.sets[g] for g in boxes.goal[part].tolist()]
        spread = np.zeros((n, len(starts)))
        for m in range(len(view.base)):
            best = np.maximum.reduceat(np.where(leaf, view.values[:, m], -np.inf), starts, axis=1)
            worst = np.minimum.reduceat(np.where(leaf, view.values[:, m], np.inf), starts, axis=1)
            total = view.base[m] + best.sum(axis=1)
            # A sum in another order may differ in its last bits, unless all of it is exact.
            tolerance = (
                4 * EPS * len(starts) * (abs(view.base[m]) + np.abs(best).sum(axis=1)) if view.error[m] > 0 else 0.0
            )
            result.most[part, m] = total + tolerance
            counted = np.array([m in own for own in members], dtype=bool)
            spread += np.where(counted[:, None], best - worst, 0.0)
        result.decided[part] = ~torn.any(axis=1)
        self._vote(part, torn, spread, result)

    def _sides(self, splits: Indices, low: Floats, high: Floats) -> tuple[Bools, Bools]:
        """Whether something of each box goes left, and right."""
        view, columns = self.view, self.view.feature[splits]
        goes_left, goes_right = low[:, columns] <= view.threshold[splits], high[:, columns] > view.threshold[splits]
        rows = view.subset[splits]
        for at in np.flatnonzero(rows >= 0).tolist():
            first, last = low[:, columns[at]].astype(np.intp), high[:, columns[at]].astype(np.intp)
            count = self.counts[rows[at]][last + 1] - self.counts[rows[at]][first]
            goes_left[:, at], goes_right[:, at] = count > 0, count < last - first + 1
        return goes_left, goes_right

    def _vote(self, part: slice, torn: Bools, spread: Floats, result: Margins) -> None:
        """Each undecided tree votes for its topmost undecided split, with the weight of what it leaves open."""
        view, n = self.view, len(torn)
        starts = view.roots.astype(np.intp)
        # Children come after their parent, so the first torn node of a tree has no torn node above it.
        ends = np.append(starts[1:], torn.shape[1])
        column = np.full((n, len(starts)), -1, dtype=np.intp)
        cut = np.full((n, len(starts)), np.inf)
        for t, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
            own = torn[:, start:end]
            some = own.any(axis=1)
            node = start + own.argmax(axis=1)
            column[:, t] = np.where(some, view.feature[node], -1)
            cut[:, t] = np.where(some & (view.subset[node] < 0), view.threshold[node], np.nan)
        weight = np.where(column >= 0, spread + 1e-300, 0.0)
        votes = np.zeros((n, int(view.feature.max(initial=0)) + 2))
        rows = np.repeat(np.arange(n), column.shape[1])
        np.add.at(votes, (rows, column.ravel() + 1), weight.ravel())
        votes[:, 0] = 0.0
        winner = votes.argmax(axis=1) - 1
        mine = (column == winner[:, None]) & (winner >= 0)[:, None]
        weight = np.where(mine, weight, 0.0)
        cut = np.where(mine, cut, np.inf)
        order = np.argsort(cut, axis=1, kind="stable")
        running = np.cumsum(np.take_along_axis(weight, order, axis=1), axis=1)
        pick = (running >= 0.5 * running[:, -1:]).argmax(axis=1)
        result.column[part] = winner
        result.threshold[part] = np.take_along_axis(cut, order, axis=1)[np.arange(n), pick]
