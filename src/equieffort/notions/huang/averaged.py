"""AED of two groups from their curves and from those of people drawn again, with its interval."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equieffort.data.frames import Floats
from equieffort.notions.bootstrap import MOST_UNDEFINED, limits_of_sides
from equieffort.notions.huang.minimum_effort import (
    GammaRange,
    Gammas,
    average_difference,
    average_effort,
    defined_gammas,
    reach,
)

FALL = 1e-9
"""Smaller differences of a curve are rounding."""


class Averaged(NamedTuple):
    """AED, on which share of the gammas it rests, and its limits."""

    aed: float
    share: float
    low: float
    high: float
    note: str


def averaged(
    curves: tuple[Floats, Floats],
    drawn: tuple[Floats, Floats],
    people: tuple[int, int],
    steps: Floats,
    gammas: Gammas,
    level: float,
    *,
    interpolate: bool = False,
    is_least: bool = True,
) -> Averaged:
    """AED of one curve a side, and its interval from many a side, of so many `people` each.

    Each replicate is of the gammas that the estimate rests on: where it is not defined at one of them it is undefined.
    """
    aed, share = average_difference(*curves, steps, gammas, interpolate=interpolate, is_least=is_least)
    rests = defined_gammas(*curves, gammas, is_least=is_least)[0]
    if rests is None:
        return Averaged(aed, share, np.nan, np.nan, "")
    mine, theirs = (average_effort(one, steps, rests, interpolate=interpolate, is_least=is_least) for one in drawn)
    return Averaged(aed, share, *limits_of_sides(aed, mine, theirs, people, level))


def common_range(curves: tuple[Floats, Floats], drawn: tuple[Floats, Floats]) -> GammaRange | None:
    """Every gamma that both curves reach and that neither has reached at the first point of the grid: in the people
    themselves, and but for one draw in forty at either end, so that an interval does not hang on the last of them."""
    few = MOST_UNDEFINED / 2
    starts, tops = (np.stack([part(one) for one in drawn]) for part in (_starts, _tops))
    start, top = starts.max(axis=0), tops.min(axis=0)
    known = np.isfinite(start) & np.isfinite(top)
    if not known.any():
        return None
    low = max(*(float(one[0]) for one in curves), float(np.quantile(start[known], 1 - few, method="higher")))
    high = min(*(float(_tops(one)) for one in curves), float(np.quantile(top[known], few, method="lower")))
    return GammaRange(low, high) if low < high - FALL else None


def _starts(curves: Floats) -> Floats:
    return curves[..., 0]


def _tops(curves: Floats) -> Floats:
    return np.asarray(reach(curves)[..., -1])
