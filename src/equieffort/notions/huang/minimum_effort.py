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


def minimum_effort(
    curves: Floats, grid: Floats, gammas: Floats, *, interpolate: bool = False, is_least: bool = True
) -> Floats:
    """Psi of each curve and gamma; NaN where no point of the grid reaches it, or an earlier point is not known.

    With `interpolate` the curve is taken to be straight between points of the grid. Where the first point is not the
    least there is (`is_least`), what is reached there might be reached before it: NaN too.

    >>> curve, grid = np.array([0.2, 0.4, 0.8]), np.array([0.0, 1.0, 2.0])
    >>> minimum_effort(curve, grid, np.array([0.1, 0.5, 0.9])).tolist()
    [0.0, 2.0, nan]
    >>> minimum_effort(curve, grid, np.array([0.1, 0.5]), is_least=False).tolist()
    [nan, 2.0]
    >>> minimum_effort(curve, grid, np.array([0.6]), interpolate=True).round(12).tolist()
    [1.5]
    """
    last = curves.shape[-1] - 1
    reached = reach(curves)[..., None] >= gammas - ROUNDING
    is_known = reached.any(axis=-2)
    at = np.where(is_known, reached.argmax(axis=-2), last)
    found = grid[at]
    if interpolate:
        before = np.maximum(at - 1, 0)
        y0, y1 = np.take_along_axis(curves, before, -1), np.take_along_axis(curves, at, -1)
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.clip((gammas - y0) / (y1 - y0), 0.0, 1.0)
        found = np.where(at > 0, grid[before] + share * (grid[at] - grid[before]), found)
    if not is_least:
        is_known &= ~reached[..., 0, :]
    return np.where(is_known, found, np.nan)


def reach(curves: Floats) -> Floats:
    """What a curve has reached up to each point: with what is not known in front, nothing more from there on.

    >>> reach(np.array([0.2, 0.1, np.nan, 0.8])).tolist()
    [0.2, 0.2, 0.2, 0.2]
    """
    is_known = ~np.logical_or.accumulate(np.isnan(curves), axis=-1)
    return np.maximum.accumulate(np.where(is_known, curves, -np.inf), axis=-1)


def defined_gammas(
    mine: Floats, theirs: Floats, gammas: Gammas, *, is_least: bool = True
) -> tuple[Gammas | None, float]:
    """Of some gammas those at which delta of two curves is defined, and their share: both reach them, and, where less
    than the first point of the grid might do, neither at that point.

    >>> a, b = np.array([0.0, 0.2, 0.5, 0.9]), np.array([0.2, 0.5, 0.7, 0.8])
    >>> defined_gammas(a, b, (0.1, 0.5, 0.85)), defined_gammas(a, b, (0.1, 0.5), is_least=False)
    (((0.1, 0.5), 0.6666666666666666), ((0.5,), 0.5))
    """
    top = min(float(reach(one)[-1]) for one in (mine, theirs))
    start = -np.inf if is_least else max(float(one[0]) for one in (mine, theirs))
    if not isinstance(gammas, GammaRange):
        kept = tuple(gamma for gamma in gammas if start < gamma - ROUNDING <= top)
        return kept or None, len(kept) / len(gammas)
    low, high = max(gammas.low, start), min(gammas.high, top)
    if not low < high:
        return None, 0.0
    whole = (low, high) == (gammas.low, gammas.high)
    return GammaRange(low, high), 1.0 if whole else (high - low) / (gammas.high - gammas.low)


def average_effort(
    curves: Floats, grid: Floats, gammas: Gammas, *, interpolate: bool = False, is_least: bool = True
) -> Floats:
    """The mean of Psi of each curve over gammas; NaN where it is not defined at one of them.

    >>> curves = np.array([[0.0, 0.2, 0.5, 0.9], [0.2, 0.5, 0.7, 0.8]])
    >>> average_effort(curves, np.arange(4.0), (0.5, 0.85)).tolist()
    [2.5, nan]
    >>> average_effort(curves, np.arange(4.0), GammaRange(0.2, 0.5)).round(12).tolist()
    [2.0, 1.0]
    """
    if not isinstance(gammas, GammaRange):
        levels = np.asarray(gammas)
        return minimum_effort(curves, grid, levels, interpolate=interpolate, is_least=is_least).mean(axis=-1)
    best = reach(curves)
    is_known = best[..., -1] >= gammas.high - ROUNDING
    if not is_least:
        is_known &= curves[..., 0] <= gammas.low + ROUNDING
    found = _integral(curves, best, grid, gammas, interpolate) / (gammas.high - gammas.low)
    return np.where(is_known, found, np.nan)


def average_difference(
    mine: Floats, theirs: Floats, grid: Floats, gammas: Gammas, *, interpolate: bool = False, is_least: bool = True
) -> tuple[float, float]:
    """AED of two curves, and the share of the gammas that it rests on: those at which delta is defined.

    >>> grid, a, b = np.arange(4.0), np.array([0.0, 0.2, 0.5, 0.9]), np.array([0.2, 0.5, 0.7, 0.8])
    >>> average_difference(a, b, grid, (0.5, 0.85))  # b never reaches 0.85
    (1.0, 0.5)
    >>> [round(part, 12) for part in average_difference(a, b, grid, GammaRange(0.2, 0.5))]
    [1.0, 1.0]
    """
    rests, share = defined_gammas(mine, theirs, gammas, is_least=is_least)
    if rests is None:
        return np.nan, share
    a, b = (average_effort(one, grid, rests, interpolate=interpolate, is_least=is_least) for one in (mine, theirs))
    return float(a - b), share


def _integral(curves: Floats, best: Floats, grid: Floats, gammas: GammaRange, interpolate: bool) -> Floats:
    """The integral of Psi over gammas that every curve reaches: step by step, exactly."""
    upper = np.clip(best, gammas.low, gammas.high)
    lower = np.concatenate([np.full((*upper.shape[:-1], 1), gammas.low), upper[..., :-1]], axis=-1)
    width = upper - lower
    heights = np.broadcast_to(grid, width.shape)
    if interpolate:
        with np.errstate(invalid="ignore", divide="ignore"):
            rise = curves[..., 1:] - curves[..., :-1]
            share = ((lower + upper)[..., 1:] / 2 - curves[..., :-1]) / rise
        between = grid[:-1] + np.clip(share, 0.0, 1.0) * np.diff(grid)
        heights = np.concatenate([heights[..., :1], np.where(width[..., 1:] > 0, between, 0.0)], axis=-1)
    return np.asarray(np.where(width > 0, width * heights, 0.0).sum(axis=-1))


def largest_fall(curve: Floats) -> float:
    """How far a curve falls below what it had reached before; 0 where it never falls."""
    known = curve[~np.isnan(curve)]
    return float((np.maximum.accumulate(known) - known).max(initial=0.0))
