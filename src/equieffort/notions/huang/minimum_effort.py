"""The gamma-minimum effort of curves, how two of them differ, and the average over a set or an interval of gammas.

    Psi(gamma)   = the least t of the grid with E[Y(t)] >= gamma
    delta(gamma) = Psi_group(gamma) - Psi_reference(gamma)
    AED          = mean of delta over a set of gammas, or its integral over an interval divided by the length

Everything works on many curves at once: the last axis is the grid, in the order in which treatment grows; where less
is more effort the grid is counted in the negative, so that a larger Psi is always more effort.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_number, is_number, items_in

ROUNDING = 1e-12
"""A mean that misses gamma by no more than the rounding of sums has reached it."""


@dataclass(frozen=True)
class GammaRange:
    """Every gamma from `low` to `high`: AED is then an integral, computed exactly from the steps of the curves."""

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            check_number(name, getattr(self, name), "a share between 0 and 1", lambda share: 0 <= share <= 1)
        if not self.low < self.high:
            raise ParameterError(
                "PARAMETER", f"The gammas go from {self.low:g} to {self.high:g}.", fix="Give the smaller one first."
            )

    def __str__(self) -> str:
        return f"{self.low:.3g} to {self.high:.3g}"


Gammas = tuple[float, ...] | GammaRange


def read_gammas(given: Any) -> Gammas:
    """A share, several, or a range of them.

    >>> read_gammas([0.5, 0.8]), read_gammas(0.5)
    ((0.5, 0.8), (0.5,))
    """
    if isinstance(given, GammaRange):
        return given
    takes = "shares above 0 and at most 1, or ee.GammaRange(low, high)"
    found = [given] if is_number(given) else items_in("gammas", given, takes)
    if not found:
        raise ParameterError("PARAMETER", "gammas is empty.", fix=f"Give {takes}.")
    for gamma in found:
        check_number("gammas", gamma, takes, lambda share: 0 < share <= 1)
    return tuple(sorted({float(gamma) for gamma in found}))


def minimum_effort(curves: Floats, grid: Floats, gammas: Floats, *, interpolate: bool = False) -> Floats:
    """Psi of each curve and gamma; NaN where no point of the grid reaches it, or an earlier point is not known.

    With `interpolate` the curve is taken to be straight between points of the grid.

    >>> curve, grid = np.array([0.2, 0.4, 0.8]), np.array([0.0, 1.0, 2.0])
    >>> minimum_effort(curve, grid, np.array([0.1, 0.5, 0.9])).tolist()
    [0.0, 2.0, nan]
    >>> minimum_effort(curve, grid, np.array([0.6]), interpolate=True).round(12).tolist()
    [1.5]
    """
    last = curves.shape[-1] - 1
    best = np.maximum.accumulate(curves, axis=-1)
    # With what is not known in front, the best is not known either: NaN reaches nothing from there on.
    reached = best[..., None] >= gammas - ROUNDING
    is_reached = reached.any(axis=-2)
    at = np.where(is_reached, reached.argmax(axis=-2), last)
    found = grid[at]
    if interpolate:
        before = np.maximum(at - 1, 0)
        y0, y1 = np.take_along_axis(curves, before, -1), np.take_along_axis(curves, at, -1)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((gammas - y0) / (y1 - y0), 0.0, 1.0)
        found = np.where(at > 0, grid[before] + share * (grid[at] - grid[before]), found)
    return np.where(is_reached, found, np.nan)


def average_difference(
    mine: Floats, theirs: Floats, grid: Floats, gammas: Gammas, *, interpolate: bool = False
) -> tuple[Floats, Floats]:
    """AED of each pair of curves, and the share of the gammas that it rests on: those that both sides reach.

    >>> grid, a, b = np.arange(4.0), np.array([0.0, 0.2, 0.5, 0.9]), np.array([0.2, 0.5, 0.7, 0.8])
    >>> [part.tolist() for part in average_difference(a, b, grid, (0.5, 0.85))]  # b never reaches 0.85
    [1.0, 0.5]
    >>> [part.round(12).tolist() for part in average_difference(a, b, grid, GammaRange(0.2, 0.5))]
    [1.0, 1.0]
    """
    if not isinstance(gammas, GammaRange):
        levels = np.asarray(gammas)
        delta = minimum_effort(mine, grid, levels, interpolate=interpolate) - minimum_effort(
            theirs, grid, levels, interpolate=interpolate
        )
        known = ~np.isnan(delta)
        count = known.sum(axis=-1)
        with np.errstate(invalid="ignore"):
            return np.where(known, delta, 0.0).sum(axis=-1) / np.where(count > 0, count, np.nan), count / len(levels)
    top = np.minimum(mine.max(axis=-1), theirs.max(axis=-1))
    ends = np.clip(top, gammas.low, gammas.high)
    length = ends - gammas.low
    total = _integral(mine, grid, gammas.low, ends, interpolate) - _integral(
        theirs, grid, gammas.low, ends, interpolate
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        # A curve with an unknown point has an unknown integral; nothing of the range is then said to be defined.
        share = np.where(np.isnan(length), 0.0, length / (gammas.high - gammas.low))
        return np.where(length > 0, total / length, np.nan), share


def _integral(curves: Floats, grid: Floats, low: float, ends: Floats, interpolate: bool) -> Floats:
    """The integral of Psi over the gammas from `low` to an end that every curve reaches: step by step, exactly."""
    best = np.maximum.accumulate(curves, axis=-1)
    upper = np.clip(best, low, ends[..., None])
    lower = np.concatenate([np.full((*upper.shape[:-1], 1), low), upper[..., :-1]], axis=-1)
    width = upper - lower
    heights = np.broadcast_to(grid, width.shape)
    if interpolate:
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = curves[..., 1:] - curves[..., :-1]
            share = ((lower + upper)[..., 1:] / 2 - curves[..., :-1]) / rise
        between = grid[:-1] + np.clip(share, 0.0, 1.0) * np.diff(grid)
        heights = np.concatenate([heights[..., :1], np.where(width[..., 1:] > 0, between, 0.0)], axis=-1)
    return np.where(width > 0, width * heights, 0.0 * width).sum(axis=-1)


def largest_fall(curve: Floats) -> float:
    """How far a curve falls below what it had reached before; 0 where it never falls."""
    known = curve[~np.isnan(curve)]
    return float((np.maximum.accumulate(known) - known).max(initial=0.0))
