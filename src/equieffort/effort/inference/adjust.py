"""How p-values of several questions asked at once are adjusted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


class Adjustment(ABC):
    """A way to keep the chance of any wrong claim at the level."""

    name: str

    @abstractmethod
    def adjust(self, p: Sequence[float]) -> list[float]:
        """Adjusted p-values in the same order; what is NaN is no member of the family and stays so."""


@dataclass(frozen=True)
class Holm(Adjustment):
    """Holm's step-down method: the chance of any wrong claim is at most 1 - level, whatever holds.

    >>> Holm().adjust([0.01, 0.04, float("nan"), 0.03])
    [0.03, 0.06, nan, 0.06]
    """

    name = "holm"

    def adjust(self, p: Sequence[float]) -> list[float]:
        """The smallest times the number of questions, the next times one fewer, never falling."""
        given = np.asarray(p, dtype=np.float64)
        asked = np.flatnonzero(~np.isnan(given))
        order = asked[np.argsort(given[asked], kind="stable")]
        found = np.full(len(given), np.nan)
        found[order] = np.maximum.accumulate(np.minimum(1.0, np.arange(len(order), 0, -1) * given[order]))
        return [float(value) for value in found]


@dataclass(frozen=True)
class Unadjusted(Adjustment):
    """Each question by itself: with many, some come out by chance."""

    name = "none"

    def adjust(self, p: Sequence[float]) -> list[float]:
        """As they are."""
        return list(p)


ADJUSTMENTS: dict[str, type[Adjustment]] = {"holm": Holm, "none": Unadjusted}
"""Name in a file -> adjustment."""
