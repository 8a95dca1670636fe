"""A share of people with Wilson's interval, or that of replicates, and with those of whom it is not known."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from scipy.special import ndtri, stdtrit

from equieffort.data.frames import percent
from equieffort.effort.inference import ARCSINE
from equieffort.effort.inference.shares import wilson
from equieffort.effort.measures import Spread

SCALE = ARCSINE
"""On which replicates of a share spread."""


@dataclass(frozen=True)
class Share:
    """k of n, and people for whom it is undefined, who are in neither.

    >>> one = Share(15, 118)
    >>> round(one.estimate, 3), one.text(0.95)
    (0.127, '15 of 118, 12.7 % (95 % interval 7.9 to 19.9 %)')
    >>> Share(0, 0).text(0.95)
    '0 of 0'
    """

    k: int
    n: int
    n_undefined: int = 0
    sure: int = 0
    """Of the undefined those who are counted in k for certain; in no denominator, since only these few are known."""
    sure_not: int = 0
    """And those who are not."""
    spread: Spread | None = None
    """Of replicates, on `SCALE`, where there were any."""

    @property
    def estimate(self) -> float:
        """The share; NaN of nobody."""
        return self.k / self.n if self.n else nan

    def limits(self, level: float) -> tuple[float, float]:
        """Wilson's; with replicates those of their spread, never narrower than Wilson's.

        >>> Share(50, 100).limits(0.95) == Share(50, 100, spread=Spread(0.01, 100, 0)).limits(0.95)
        True
        >>> [round(end, 2) for end in Share(50, 100, spread=Spread(0.1, 100, 0)).limits(0.95)]
        [0.31, 0.69]
        """
        if not self.n or (self.spread is not None and not self.spread.suffices):
            return nan, nan
        low, high = wilson(self.k, self.n, float(ndtri((1 + level) / 2)))
        if self.spread is None or not self.spread.sd:
            return low, high
        half = float(stdtrit(self.spread.defined - 1, (1 + level) / 2)) * self.spread.sd
        middle = SCALE.to(self.estimate)
        return min(low, SCALE.back(middle - half)), max(high, SCALE.back(middle + half))

    @property
    def certain(self) -> tuple[float, float]:
        """The least and the most, whatever holds of those for whom it is undefined."""
        whole, most = self.n + self.n_undefined, self.k + self.n_undefined - self.sure_not
        return ((self.k + self.sure) / whole, most / whole) if whole else (nan, nan)

    def row(self, level: float) -> dict[str, Any]:
        """Estimate, interval, certain range and denominators, as a row of a frame or the fields of a reading."""
        low, high = self.limits(level)
        least, most = self.certain
        return {
            "estimate": self.estimate, "low": low, "high": high, "least": least, "most": most, "n": self.n,
            "n_undefined": self.n_undefined,
        }  # fmt: skip

    def text(self, level: float) -> str:
        """For a reader."""
        if isnan(self.estimate):
            return f"{self.k:,} of {self.n:,}"
        low, high = self.limits(level)
        if isnan(low):
            return f"{self.k:,} of {self.n:,}, {percent(self.estimate)} (no interval: too few replicates know it)"
        within = f"{percent(level, 0)} interval {100 * low:.1f} to {percent(high)}"
        return f"{self.k:,} of {self.n:,}, {percent(self.estimate)} ({within})"
