"""Between: distances from some people to some others, in blocks, and nearest neighbours by a k-d tree where it can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

from equieffort.data.frames import Floats
from equieffort.effort.matching.sets import Rows
from equieffort.world.distances import BoundDistance, MixedDistance

BLOCK = 4_000_000
"""Distances that are held at once."""
SAMPLED = 2_000
"""People a side that a caliper is read from."""
NEAREST, CLOSE = 2.0, 0.05
MOST_AXES = 24
"""With more axes a k-d tree looks at nearly everybody, and plain blocks are as fast."""

Near = tuple[npt.NDArray[np.intp], Floats]
"""(person, neighbour) places among the others, -1 where there is none; and their distances."""


@dataclass(frozen=True, eq=False)
class Between:
    """Distances between two sides, each named by its place."""

    bound: BoundDistance
    mine: Rows
    theirs: Rows

    @classmethod
    def of(cls, bound: BoundDistance, mine: Rows, theirs: Rows) -> Between:
        """Both sides by their rows."""
        return cls(bound, mine, theirs)

    def swapped(self) -> Between:
        """Seen from the others."""
        return replace(self, mine=self.theirs, theirs=self.mine)

    def to(self, places: Rows) -> Between:
        """To some of the others alone."""
        return replace(self, theirs=self.theirs[places])

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """Where a block begins on my side, and its distances to all others."""
        size = max(1, BLOCK // max(len(self.theirs), 1))
        for start in range(0, len(self.mine), size):
            yield start, self.block(self.mine[start : start + size])

    def block(self, rows: Rows) -> Floats:
        """(row, other) distances."""
        bound = self.bound
        if isinstance(bound, MixedDistance):
            both = np.concatenate([rows, self.theirs])
            part = replace(bound, values=bound.values[both])
            return part.to_all(slice(0, len(rows)))[:, len(rows) :]
        return np.concatenate([bound.to_all(slice(row, row + 1))[:, self.theirs] for row in rows.tolist()])

    def pairs(self, mine: Rows, theirs: Rows) -> Floats:
        """Distances of pairs of places, as the distance itself computes them."""
        bound = self.bound
        if isinstance(bound, MixedDistance):
            one, other = bound.values[self.mine[mine]], bound.values[self.theirs[theirs]]
            total = np.zeros(len(mine))
            for k in range(one.shape[1]):
                apart = (
                    one[:, k] != other[:, k]
                    if bound.is_category[k]
                    else np.abs(one[:, k] - other[:, k]) / bound.scales[k]
                )
                total += apart if bound.power == 1 else np.square(apart)
            return total if bound.power == 1 else np.sqrt(total)
        found = [bound.to_all(slice(row, row + 1))[0, col] for row, col in zip(
            self.mine[mine].tolist(), self.theirs[theirs].tolist(), strict=True)]  # fmt: skip
        return np.asarray(found, dtype=np.float64)

    def caliper(self) -> float:
        """The lesser of twice the median distance to the nearest of the others, and of the distance that 5 % of all
        pairs lie within; both read from at most 2,000 people a side, spread evenly over the table.

        The first shrinks as there are more people, and with it what is not alike in a pair; the second holds where two
        small groups hardly meet and even the nearest are far.
        """
        if not len(self.mine) or not len(self.theirs):
            return float("inf")
        mine, theirs = (
            rows[np.linspace(0, len(rows) - 1, min(len(rows), SAMPLED)).astype(int)]
            for rows in (self.mine, self.theirs)
        )
        nearest = replace(self, mine=mine).nearest(1, float("inf"))[1]
        some = replace(self, mine=mine, theirs=theirs)
        every = np.concatenate([block.reshape(-1) for _, block in some.blocks()])
        return float(min(NEAREST * np.median(nearest), np.quantile(every, CLOSE)))

    def nearest(self, k: int, caliper: float) -> Near:
        """Each person's k nearest of the others within the caliper, the nearest first."""
        k = min(k, len(self.theirs))
        points = self._points()
        if points is None or k == 0 or not len(self.mine):
            return self._nearest_by_blocks(k, caliper)
        mine, theirs, power = points
        found = cKDTree(theirs).query(mine, k=k, p=power, distance_upper_bound=_a_little_more(caliper))
        places = np.asarray(found[1], dtype=np.intp).reshape(len(mine), k)
        return self._exactly(np.where(places == len(theirs), -1, places), caliper)

    def _nearest_by_blocks(self, k: int, caliper: float) -> Near:
        places = np.full((len(self.mine), k), -1, dtype=np.intp)
        for start, block in self.blocks():
            if k:
                some = np.argpartition(block, k - 1, axis=1)[:, :k]
                places[start : start + len(block)] = some
        return self._exactly(places, caliper)

    def _exactly(self, places: npt.NDArray[np.intp], caliper: float) -> Near:
        """Places in order of their true distance, those beyond the caliper taken out."""
        apart = np.full(places.shape, np.inf)
        who, which = np.nonzero(places >= 0)
        apart[who, which] = self.pairs(who, places[who, which])
        apart[apart > caliper] = np.inf
        # Of equal distances the one who comes first in the table.
        order = np.lexsort((np.where(np.isinf(apart), len(self.theirs), places), apart), axis=1)
        places, apart = np.take_along_axis(places, order, axis=1), np.take_along_axis(apart, order, axis=1)
        return np.where(np.isinf(apart), -1, places), apart

    def _points(self) -> tuple[Floats, Floats, int] | None:
        """Both sides as points whose L1 or L2 distance is the distance; None where there are none, or too many axes.

        A category is a corner of a simplex: two levels lie 1 apart.
        """
        bound = self.bound
        if not isinstance(bound, MixedDistance):
            return None
        apart = 0.5 if bound.power == 1 else np.sqrt(0.5)
        axes = []
        for k in range(bound.values.shape[1]):
            column = bound.values[:, k]
            if bound.is_category[k]:
                axes += [apart * (column == level) for level in np.unique(column)]
            else:
                axes.append(column / bound.scales[k])
            if len(axes) > MOST_AXES:
                return None
        if not axes:
            return None
        points = np.column_stack(axes).astype(np.float64)
        return points[self.mine], points[self.theirs], bound.power


def _a_little_more(caliper: float) -> float:
    """So that rounding in other axes leaves nobody out who lies on it."""
    return caliper * (1 + 1e-9) + 1e-12
