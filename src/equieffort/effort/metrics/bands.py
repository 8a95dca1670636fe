"""From values a person to limits: the one device behind every band of the curve.

An estimate comes with psi, one value a person. Their squares add up to its variance V, and how evenly they are spread
gives degrees of freedom nu: when few people carry an estimate, nu is small and its interval wide.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.neighbours import in_numpy
from equieffort.effort.neighbours.leaving import add_moments
from equieffort.foundations.arguments import check_flag, check_number, check_whole

NO_SPREAD, TOO_FEW, UNDEFINED, UNCERTIFIED = "NO_SPREAD", "TOO_FEW", "UNDEFINED", "UNCERTIFIED"
"""Why there is no band: nobody changes the estimate; without one person there would be none; there is no estimate at
all. UNCERTIFIED: somebody's effort is not solved to the end."""

LEAST = 1e-12
"""A standard error below this is rounding."""


@dataclass(frozen=True)
class Jackknife:
    """Confidence bands over people: how the curve would change without each one of them, approved people included.

    `mean_of_ratios` asks for the band of the paper's line too, which takes longer. Simultaneous bands, which hold at
    all quantiles at once, draw `draws` times with a fixed seed.
    """

    level: float = 0.95
    mean_of_ratios: bool = False
    draws: int = 10_000
    random_state: int = 0

    def __post_init__(self) -> None:
        check_number("level", self.level, "a number between 0 and 1", lambda share: 0 < share < 1)
        check_flag("mean_of_ratios", self.mean_of_ratios)
        check_whole("draws", self.draws, 100)
        check_whole("random_state", self.random_state)


@dataclass(frozen=True)
class PaperBands:
    """The bands of the paper's figures: 1.96 standard errors of the mean over centres.

    Centres share their neighbours, so that these are far too narrow to be confidence limits, and have no width at
    quantile 1. They serve to reproduce the figures.
    """


@dataclass(frozen=True, eq=False)
class Spread:
    """Variance, degrees of freedom and correlations of a line over its quantiles; `why` says where there is none."""

    variance: Floats
    nu: Floats
    correlation: Floats
    why: tuple[str, ...]


@dataclass(eq=False)
class Moments:
    """What lines (rows) change by without each person (columns), added up as people come."""

    quantiles: int
    together: bool = True
    """Whether correlations are wanted."""
    n: int = 0
    start: Floats | None = None
    """Near the mean, so that sums of powers keep their digits."""

    def __post_init__(self) -> None:
        q = self.quantiles
        self.finite = np.ones(q, dtype=bool)
        self.once, self.third, self.fourth, self.products = np.zeros(q), np.zeros(q), np.zeros(q), np.zeros((q, q))

    def add(self, without: Floats) -> None:
        """Some more people."""
        finite = np.asarray(np.isfinite(without).all(axis=1))
        if not finite.all():
            self.finite &= finite
            without = np.where(finite[:, None], without, 0.0)
        if self.start is None:
            self.start = without.mean(axis=1)
        self.n += without.shape[1]
        work = in_numpy.MOMENT * without.size * (len(without) if self.together else 1)
        add_moments(without, self.start, self.once, self.products, self.third, self.fourth, self.together, work=work)

    def spread(self) -> Spread:
        """About the mean."""
        n, finite = self.n, self.finite
        mean, square = self.once / n, np.diagonal(self.products)
        product = (self.products - n * np.outer(mean, mean)) * ((n - 1) / n)
        if not self.together:
            product = np.diag(np.diagonal(product))
        fourth = self.fourth - 4 * mean * self.third + 6 * mean**2 * square - 3 * n * mean**4
        fourth *= ((n - 1) / n) ** 2
        variance = np.diagonal(product).copy()
        flat = variance <= LEAST**2
        with np.errstate(divide="ignore", invalid="ignore"):
            nu = 2 * variance**2 / np.maximum(fourth - variance**2 / n, 0.0)
            correlation = product / np.sqrt(np.outer(variance, variance))
        variance[flat | ~finite] = np.nan
        nu[flat | ~finite] = np.nan
        why = tuple(np.where(finite, np.where(flat, NO_SPREAD, ""), TOO_FEW).tolist())
        return Spread(variance, nu, correlation, why)


def half_widths(spread: Spread, bands: Jackknife, *, together: bool = True) -> tuple[Floats, Floats]:
    """Pointwise and, if asked for, simultaneous, on the scale of the values; NaN where there is no spread."""
    # scipy is imported where it is needed: it takes longer than many audits.
    from scipy.special import ndtr

    error = np.sqrt(spread.variance)
    known = np.flatnonzero(np.isfinite(error))
    everywhere = np.full(len(error), np.nan)
    if together and len(known):
        most = _most(spread.correlation[np.ix_(known, known)], bands)
        everywhere[known] = _student(spread.nu[known], float(ndtr(most))) * error[known]
    return _student(spread.nu, 0.5 + bands.level / 2) * error, everywhere


def _most(correlation: Floats, bands: Jackknife) -> float:
    """What the largest of correlated normal values stays below."""
    values, vectors = np.linalg.eigh(correlation)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    drawn = np.random.default_rng(bands.random_state).standard_normal((bands.draws, len(values)))
    return float(np.quantile(np.abs(drawn @ root.T).max(axis=1), bands.level))


def _student(nu: Floats, share: float) -> Floats:
    from scipy.special import stdtrit

    return np.asarray(stdtrit(np.minimum(nu, 1e9), share), dtype=np.float64)


def limits(estimate: Floats, half: Floats, *, log: bool, ends: tuple[float, float]) -> tuple[Floats, Floats]:
    """Estimate and half-width (of the logarithm, if so) as limits within what is possible."""
    with np.errstate(over="ignore"):
        low, high = (estimate * np.exp(-half), estimate * np.exp(half)) if log else (estimate - half, estimate + half)
    return np.maximum(low, ends[0]), np.minimum(high, ends[1])


def paper_band(name: str, values: Floats) -> dict[str, float]:
    """Mean and 1.96 standard errors over centres; NaN for nobody, no width for one centre."""
    if len(values) == 0:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"), float("nan"))
    mean = fsum(values) / len(values)
    half = 1.96 * float(np.std(values, ddof=1)) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}


Bands = Jackknife | PaperBands | None


def is_bands(value: Any) -> bool:
    """Whether these are bands that a curve can have."""
    return value is None or isinstance(value, Jackknife | PaperBands)
