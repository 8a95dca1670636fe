"""sweep(): every centre, every quantile, both groups, in one pass over the people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.effort.neighbours import in_numpy
from equieffort.effort.neighbours.coded import Coded
from equieffort.effort.neighbours.entries import Around, Efforts, Entries, each_person, empty_around, kinds
from equieffort.effort.neighbours.kernels import sweep_given, sweep_mixed
from equieffort.effort.neighbours.neighbourhoods import check_quantile
from equieffort.effort.stats import limbs
from equieffort.errors import ParameterError
from equieffort.world.distances import BoundDistance, MixedDistance

PAIRS = 2**23
"""Centres times people in one compiled call, between which Ctrl-C is heard."""

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sweep:
    """By centre, quantile and group: unfavourably decided neighbours, those with an action, and their summed cost."""

    centres: Positions
    quantiles: Floats
    size: npt.NDArray[np.int64]
    acting: npt.NDArray[np.int64]
    cost: Floats

    @property
    def phi(self) -> Floats:
        """Average minimal effort; NaN where nobody has an action."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.acting > 0, self.cost / self.acting, np.nan)

    @property
    def rho(self) -> Floats:
        """Ratio of possible recourse; NaN where nobody was decided unfavourably."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(self.size > 0, self.acting / self.size, np.nan)

    def at(self, quantiles: Any) -> Sweep:
        """The same centres at some of the quantiles, given by position."""
        return Sweep(
            self.centres, self.quantiles[quantiles], self.size[:, quantiles], self.acting[:, quantiles],
            self.cost[:, quantiles],
        )  # fmt: skip


class Sweeper(Protocol):
    """Knows the people, the distance and the quantiles, which rise, and is asked about centres."""

    @property
    def entries(self) -> Entries:
        """How the people are arranged."""

    def around(self, centres: Positions, *, first: bool) -> Around:
        """Sums around the given people."""


@dataclass(frozen=True, eq=False)
class Plain:
    """Any distance and any costs: each centre's distances in double precision, sorted as far as needed."""

    distance: BoundDistance
    quantiles: Floats
    group: npt.NDArray[np.int64]
    cost: Floats
    entries: Entries

    @classmethod
    def of(
        cls, distance: BoundDistance, quantiles: Floats, group: npt.NDArray[np.int64], cost: Floats, groups: int
    ) -> Plain:
        """Arrange the people."""
        values = distance.values if isinstance(distance, MixedDistance) else np.empty((len(group), 0))
        return cls(distance, quantiles, group, cost, each_person(kinds(group, cost, groups), groups, values, cost))

    def around(self, centres: Positions, *, first: bool) -> Around:
        """Sums around the given people."""
        has = ~np.isnan(self.cost)
        limbs_of, lowest = limbs(np.where(has, self.cost, 0.0))
        efforts = Efforts(self.group, np.concatenate([limbs_of, has[:, None].astype(np.int64)], axis=1), lowest)
        found = empty_around(len(centres), len(self.quantiles), self.entries, first=first)
        is_mixed = isinstance(self.distance, MixedDistance)
        columns = np.ascontiguousarray(self.distance.values.T) if isinstance(self.distance, MixedDistance) else None
        block = (
            max(64, PAIRS // len(self.group))
            if is_mixed
            else max(1, self.distance.block_bytes // (8 * len(self.group)))
        )
        # Compiled code cannot be interrupted, so that it gets the centres in parts.
        for part in _parts(len(centres), block):
            work = in_numpy.PLAIN * len(self.group) * len(centres[part])
            into = found.of(part)
            if isinstance(self.distance, MixedDistance):
                rows = (columns, self.distance.scales, self.distance.is_category, self.distance.power)
                sweep_mixed(rows, centres[part], self.quantiles, efforts, into, self.entries.of, work=work)
            else:
                given = self.distance.around(centres[part])
                sweep_given(given, self.quantiles, efforts, into, self.entries.of, work=work)
        return found


def sweeper(
    distance: BoundDistance, quantiles: Floats, group: npt.NDArray[np.int64], cost: Floats, groups: int
) -> Sweeper:
    """The quickest that is exact for this distance, these costs and quantiles, which rise."""
    coded = Coded.of(distance, quantiles, group, cost, groups)
    return coded if coded is not None else Plain.of(distance, quantiles, group, cost, groups)


def sweep(
    distance: BoundDistance,
    centres: Positions,
    quantiles: Sequence[float],
    group: npt.NDArray[np.int64],
    cost: Floats,
    groups: int,
) -> Sweep:
    """Neighbourhood sums for all centres and quantiles.

    Parameters
    ----------
    group
        The group of each unfavourably decided person, -1 for the others.
    cost
        The cost of each person's action, NaN without one.
    groups
        How many groups there are.
    """
    for quantile in quantiles:
        check_quantile(quantile)
    check_people(distance, centres, group, cost, groups)
    wanted, back = np.unique(np.asarray(quantiles, dtype=np.float64), return_inverse=True)
    engine = sweeper(distance, wanted, group, cost, groups)
    different, copy = np.unique(engine.entries.of[centres], return_index=True, return_inverse=True)[1:]
    found = engine.around(np.asarray(centres, dtype=np.intp)[different], first=False)
    whole = Sweep(centres, wanted, found.size[copy], found.acting[copy], found.cost[copy])
    return whole.at(back)


def _parts(n: int, block: int) -> Iterator[slice]:
    for begin in range(0, n, block):
        yield slice(begin, min(begin + block, n))


def check_people(
    distance: BoundDistance, centres: Positions, group: Any, cost: Floats, groups: int
) -> None:  # fmt: skip
    """Refuse what compiled loops would read or write beyond its end, or could not add up."""
    n = len(distance.values) if isinstance(distance, MixedDistance) else len(group)
    found = {
        f"There are {len(group)} groups and {len(cost)} costs for {n} people": len(group) == len(cost) == n,
        f"A group is none of the {groups} there are": bool(((group >= -1) & (group < groups)).all()),
        f"A centre is none of the {n} people": bool(((centres >= 0) & (centres < n)).all()),
        "A cost is infinite": not bool(np.isinf(cost).any()),
    }
    for what, holds in found.items():
        if not holds:
            raise ParameterError(
                "PARAMETER",
                f"{what}.",
                fix="Use the table as solve() or load() gave it, or give each person one value.",
            )
