"""sweep(): every centre, every quantile, both groups, in one pass over the people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.distances import BoundDistance, MixedDistance
from equieffort.errors import ParameterError
from equieffort.frames import Floats
from equieffort.neighbours.kernels import sweep_given, sweep_mixed
from equieffort.neighbours.neighbourhoods import check_quantile
from equieffort.stats import limbs

BLOCK_BYTES = 64 * 2**20
PAIRS = 2**23
"""Centres times people in one compiled call, between which Ctrl-C is heard."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """By centre, quantile and group: unfavourably decided neighbours, those with an action, and their summed cost."""

    centres: npt.NDArray[np.intp]
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


def sweep(
    distance: BoundDistance,
    centres: npt.NDArray[np.intp],
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
    _check_indices(distance, centres, group, cost, groups)
    rising = np.argsort(quantiles, kind="stable")
    wanted = np.asarray(quantiles, dtype=np.float64)[rising]
    has = ~np.isnan(cost)
    parts, lowest = limbs(np.where(has, cost, 0.0))
    digits = np.concatenate([parts, has[:, None].astype(np.int64)], axis=1)
    shape = (len(centres), len(wanted), groups)
    size, acting, total = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.zeros(shape)
    if isinstance(distance, MixedDistance):
        columns = np.ascontiguousarray(distance.values.T)
        # Compiled code cannot be interrupted, so that it gets the centres in parts.
        block = max(64, PAIRS // len(group))
        for begin in range(0, len(centres), block):
            part = slice(begin, min(begin + block, len(centres)))
            sweep_mixed(
                columns, distance.scales, distance.is_category, distance.power, centres[part], wanted, group, digits,
                lowest, size[part], acting[part], total[part],
            )  # fmt: skip
    else:
        block = max(1, BLOCK_BYTES // (8 * len(group)))
        for begin in range(0, len(centres), block):
            part = slice(begin, min(begin + block, len(centres)))
            rows = np.concatenate([distance.to_all(slice(int(c), int(c) + 1)) for c in centres[part]])
            sweep_given(rows, wanted, group, digits, lowest, size[part], acting[part], total[part])
    back = np.argsort(rising, kind="stable")
    return Sweep(centres, np.asarray(quantiles, dtype=np.float64), size[:, back], acting[:, back], total[:, back])


def _check_indices(
    distance: BoundDistance, centres: npt.NDArray[np.intp], group: Any, cost: Floats, groups: int
) -> None:
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
