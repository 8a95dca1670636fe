"""Many small neighbourhoods at once: the guarded interval of a ratio of means, Newcombe's of a gap, as arrays.

The same formulas as `means` and `shares`, one element a person; a list of names is then cut by Benjamini and Hochberg.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, stdtr, stdtrit

from equieffort.data.frames import Floats

STEPS = 50
FARTHEST = 40.0


@dataclass(frozen=True, eq=False)
class Sides:
    """Count, mean and variance of the efforts on either side; NaN where undefined."""

    n: Floats
    m: Floats
    mean: Floats
    mean_against: Floats
    variance: Floats
    variance_against: Floats

    @property
    def log_ratio(self) -> Floats:
        """The estimate; NaN where a mean is 0."""
        with np.errstate(all="ignore"):
            return np.where((self.mean > 0) & (self.mean_against > 0), np.log(self.mean / self.mean_against), np.nan)

    def laws(self) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]]:
        """Standard error and degrees of freedom: Welch's with those of the smaller side at most, and the pooled."""
        with np.errstate(all="ignore"):
            a, b = self.variance / self.mean**2, self.variance_against / self.mean_against**2
            va, vb = a / self.n, b / self.m
            df = (va + vb) ** 2 / (va**2 / (self.n - 1) + vb**2 / (self.m - 1))
            wide = self.n + self.m - 2
            both = ((self.n - 1) * a + (self.m - 1) * b) / wide
            return (
                (np.sqrt(va + vb), np.minimum(df, np.minimum(self.n, self.m) - 1)),
                (np.sqrt(both * (1 / self.n + 1 / self.m)), wide),
            )

    def half(self, level: float) -> Floats:
        """Half the width of the guarded interval, on the log scale."""
        with np.errstate(all="ignore"):
            return np.max([stdtrit(df, (1 + level) / 2) * se for se, df in self.laws()], axis=0)

    def tail(self, distance: Floats) -> Floats:
        """One-sided p-value of lying so far beyond a value."""
        with np.errstate(all="ignore"):
            return np.max([stdtr(df, -distance / se) for se, df in self.laws()], axis=0)


def variance(count: Floats, total: Floats, square: Floats) -> Floats:
    """Of many sets of values from their sums, with divisor n - 1; 0 where rounding is all there is."""
    with np.errstate(all="ignore"):
        found = np.maximum(square - total * total / count, 0.0) / (count - 1)
        # What the squares' rounding leaves is no spread.
        return np.where(found > 1e-12 * np.square(total / count), found, 0.0)


def wilson_limits(k: Floats, n: Floats, z: Floats | float) -> tuple[Floats, Floats]:
    """Wilson's limits of many shares."""
    with np.errstate(all="ignore"):
        p, square = k / n, np.square(z)
        middle, half = p + square / (2 * n), z * np.sqrt(p * (1 - p) / n + square / (4 * n * n))
        scale = 1 + square / n
        return np.clip((middle - half) / scale, 0, 1), np.clip((middle + half) / scale, 0, 1)


def gap_limits(k: Floats, n: Floats, k_against: Floats, m: Floats, z: Floats | float) -> tuple[Floats, Floats]:
    """Newcombe's limits of many gaps: the other's share minus the own."""
    with np.errstate(all="ignore"):
        p, q = k / n, k_against / m
        (l_a, u_a), (l_b, u_b) = wilson_limits(k, n, z), wilson_limits(k_against, m, z)
        return q - p - np.hypot(q - l_b, u_a - p), q - p + np.hypot(u_b - q, p - l_a)


def gap_tail(k: Floats, n: Floats, k_against: Floats, m: Floats, beyond: float) -> Floats:
    """One-sided p-value of many gaps of at most `beyond`: where the lower limit touches it; 1/2 or more below it."""
    with np.errstate(all="ignore"):
        gap = k_against / m - k / n
    return limit_tail(lambda z: gap_limits(k, n, k_against, m, z), gap, beyond)


def share_ratio_limits(k: Floats, n: Floats, k_against: Floats, m: Floats, z: Floats | float) -> tuple[Floats, Floats]:
    """MOVER limits of the logs of many ratios of shares, the own over the other's."""
    with np.errstate(all="ignore"):
        p, q = k / n, k_against / m
        (l_a, u_a), (l_b, u_b) = wilson_limits(k, n, z), wilson_limits(k_against, m, z)
        middle = np.log(p) - np.log(q)
        low = middle - np.hypot(np.log(p / np.where(k == 0, 0.0, l_a)), np.log(u_b / q))
        high = middle + np.hypot(np.log(u_a / p), np.log(q / np.where(k_against == 0, 0.0, l_b)))
        low = np.where(k == 0, -np.inf, np.where(k_against == 0, np.log(p / u_b), low))
        return low, np.where(k == 0, np.log(u_a / q), np.where(k_against == 0, np.inf, high))


def limit_tail(
    limits: Callable[[Floats], tuple[Floats, Floats]], estimate: Floats, beyond: float
) -> Floats:  # fmt: skip
    """One-sided p-value of "at most this" of many estimates whose limits at normal quantiles z are known."""
    low, high = np.zeros(len(estimate)), np.full(len(estimate), FARTHEST)
    with np.errstate(all="ignore"):
        above = estimate > beyond
        for _ in range(STEPS):
            middle = (low + high) / 2
            lower, upper = limits(middle)
            # Still beyond the value asked about: more can be taken away.
            apart = np.where(above, lower > beyond, upper < beyond)
            low, high = np.where(apart, middle, low), np.where(apart, high, middle)
        return np.where(np.isnan(estimate), np.nan, np.where(above, ndtr(-low), ndtr(low)))


def benjamini_hochberg(p: Floats) -> Floats:
    """Adjusted p-values: naming all at most alpha keeps the expected share of wrong names at alpha; NaN stays.

    >>> benjamini_hochberg(np.array([0.01, 0.04, np.nan, 0.03])).round(3).tolist()
    [0.03, 0.04, nan, 0.04]
    """
    found = np.full(len(p), np.nan)
    asked = np.flatnonzero(~np.isnan(p))
    order = asked[np.argsort(p[asked], kind="stable")]
    scaled = p[order] * len(order) / np.arange(1, len(order) + 1)
    found[order] = np.minimum(np.minimum.accumulate(scaled[::-1])[::-1], 1.0)
    return found
