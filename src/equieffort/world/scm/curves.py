"""Polynomials of one variable, in pieces: their values and what they can reach over an interval."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import comb

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.world.scm.equations import EPS


def horner(coefs: Floats, t: Floats) -> Floats:
    """Polynomials, a row of rising coefficients each, at one point each."""
    total = coefs[:, -1].copy()
    for k in range(coefs.shape[1] - 2, -1, -1):
        total = total * t + coefs[:, k]
    return total


def reach(coefs: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Least and most of polynomials (a row of rising coefficients each) over an interval each, rounded outwards.

    Up to the third degree the turning points are computed; beyond, the Bernstein form encloses the values. The
    margin is a multiple of the rounding unit times the sum of the terms' sizes, which no partial sum exceeds.
    """
    while coefs.shape[1] > 2 and not coefs[:, -1].any():
        coefs = coefs[:, :-1]
    degree = coefs.shape[1] - 1
    finite = np.isfinite(low) & np.isfinite(high)
    if not finite.all():
        return _reach_far(coefs, low, high, finite)
    farthest = np.maximum(np.abs(low), np.abs(high))
    size = horner(np.abs(coefs), farthest)
    if degree <= 1:
        ends = np.stack([horner(coefs, low), horner(coefs, high)])
        margin = 8 * EPS * size
    elif degree <= 3:
        ends = np.stack([horner(coefs, t) for t in (low, high, *_turning_points(coefs, low, high))])
        margin = 64 * EPS * size
    else:
        ends, growth = _bernstein(coefs, low, high)
        margin = (64 + 8 * growth) * EPS * size
    return ends.min(axis=0) - margin, ends.max(axis=0) + margin


def _turning_points(coefs: Floats, low: Floats, high: Floats) -> list[Floats]:
    """Where the slope of a cubic is zero, brought into the interval: any point in it is a true value anyway."""
    a, b = coefs[:, 1], 2 * coefs[:, 2]
    c = 3 * coefs[:, 3] if coefs.shape[1] > 3 else np.zeros(len(coefs))
    root = np.sqrt(np.maximum(b * b - 4 * a * c, 0.0))
    q = -0.5 * (b + np.copysign(root, b))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        points = [q / c, a / q]
    return [np.clip(np.where(np.isnan(point), low, point), low, high) for point in points]


def _bernstein(coefs: Floats, low: Floats, high: Floats) -> tuple[Floats, float]:
    """Bernstein coefficients over the interval, which enclose the values, and how much rounding can grow."""
    degree = coefs.shape[1] - 1
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    shifted = np.zeros_like(coefs)
    for j in range(degree + 1):
        for k in range(j, degree + 1):
            shifted[:, j] += comb(k, j) * coefs[:, k] * middle ** (k - j)
        shifted[:, j] *= half**j
    # t^j over [-1, 1] in the Bernstein basis of s = (1 + t) / 2.
    basis = np.zeros((degree + 1, degree + 1))
    for j in range(degree + 1):
        for power in range(j + 1):
            term = comb(j, power) * 2.0**power * (-1.0) ** (j - power)
            for i in range(power, degree + 1):
                basis[j, i] += term * comb(i, power) / comb(degree, power)
    return (shifted @ basis).T, float(np.abs(basis).sum())


def _reach_far(coefs: Floats, low: Floats, high: Floats, finite: Bools) -> tuple[Floats, Floats]:
    """The same where an interval has no end: straight lines are followed, all else may reach anything."""
    least, most = np.full(len(coefs), -np.inf), np.full(len(coefs), np.inf)
    if finite.any():
        least[finite], most[finite] = reach(coefs[finite], low[finite], high[finite])
    slope = coefs[:, 1] if coefs.shape[1] > 1 else np.zeros(len(coefs))
    bent = coefs[:, 2:].any(axis=1) if coefs.shape[1] > 2 else np.zeros(len(coefs), dtype=bool)
    for row in np.flatnonzero(~finite & ~bent).tolist():
        if slope[row] == 0:
            least[row] = most[row] = coefs[row, 0]
            continue
        for end in (low[row], high[row]):
            if np.isfinite(end):
                value = coefs[row, 0] + slope[row] * end
                margin = 8 * EPS * (abs(coefs[row, 0]) + abs(slope[row] * end))
                if (slope[row] > 0) == (end == low[row]):
                    least[row] = value - margin
                else:
                    most[row] = value + margin
    return least, most


@dataclass(frozen=True)
class Curve:
    """A function of one number in polynomial pieces.

    Piece i holds from breaks[i - 1] to breaks[i], the first and the last without end; its value is the sum of
    coefs[i][k] * (x - origins[i])^k.

    >>> ramp = Curve(breaks=(0.0,), origins=(0.0, 0.0), coefs=((0.0, 0.0), (0.0, 2.0)))
    >>> ramp(np.array([-1.0, 3.0])).tolist()
    [0.0, 6.0]
    """

    breaks: tuple[float, ...]
    origins: tuple[float, ...]
    coefs: tuple[tuple[float, ...], ...]

    @cached_property
    def arrays(self) -> tuple[Floats, Floats, Floats]:
        """Breaks, origins and coefficients (a row a piece) as arrays."""
        return np.array(self.breaks, dtype=np.float64), np.array(self.origins), np.array(self.coefs, dtype=np.float64)

    def __call__(self, x: Floats) -> Floats:
        """The values at x."""
        breaks, origins, coefs = self.arrays
        piece = np.searchsorted(breaks, x, side="right")
        return horner(coefs[piece], x - origins[piece])

    def bounds(self, low: Floats, high: Floats, slope: Floats | None = None) -> tuple[Floats, Floats]:
        """Least and most over each interval, of the curve or of the curve minus slope * x; rounded outwards."""
        breaks, origins, coefs = self.arrays
        least, most = np.full(len(low), np.inf), np.full(len(low), -np.inf)
        for i in range(len(coefs)):
            start = breaks[i - 1] if i else -np.inf
            end = breaks[i] if i < len(breaks) else np.inf
            rows = np.flatnonzero((low <= end) & (high >= start))
            if len(rows) == 0:
                continue
            left, right = np.maximum(low[rows], start), np.minimum(high[rows], end)
            piece = np.repeat(coefs[i : i + 1], len(rows), axis=0)
            extra = np.zeros(len(rows))
            if slope is not None:
                if piece.shape[1] == 1:
                    piece = np.column_stack([piece, np.zeros(len(rows))])
                piece[:, 1] -= slope[rows]
                piece[:, 0] -= slope[rows] * origins[i]
                far = np.where(slope[rows] == 0, 0.0, np.maximum(np.abs(left), np.abs(right)))
                extra = 8 * EPS * np.abs(slope[rows]) * (abs(origins[i]) + far)
            lowest, highest = reach(piece, left - origins[i], right - origins[i])
            least[rows] = np.minimum(least[rows], lowest - extra)
            most[rows] = np.maximum(most[rows], highest + extra)
        return least, most

    def secant(self, low: Floats, high: Floats) -> Floats:
        """The mean slope over each interval; 0 where it is a point or has no end."""
        width = high - low
        wide = np.isfinite(width) & (width > 0)
        slope = np.zeros(len(low))
        slope[wide] = (self(high[wide]) - self(low[wide])) / width[wide]
        return np.where(np.isfinite(slope), slope, 0.0)
