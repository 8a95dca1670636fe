"""A share of people with Wilson's interval, and with those of whom it is not known."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, nan
from typing import Any

from scipy.special import ndtri

from equieffort.data.frames import percent
from equieffort.effort.inference.shares import wilson


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

    @property
    def estimate(self) -> float:
        """The share; NaN of nobody."""
        return self.k / self.n if self.n else nan

    def limits(self, level: float) -> tuple[float, float]:
        """Wilson's."""
        return wilson(self.k, self.n, float(ndtri((1 + level) / 2))) if self.n else (nan, nan)

    @property
    def certain(self) -> tuple[float, float]:
        """The least and the most, whatever holds of those for whom it is undefined."""
        whole = self.n + self.n_undefined
        return (self.k / whole, (self.k + self.n_undefined) / whole) if whole else (nan, nan)

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
        within = f"{percent(level, 0)} interval {100 * low:.1f} to {percent(high)}"
        return f"{self.k:,} of {self.n:,}, {percent(self.estimate)} ({within})"
