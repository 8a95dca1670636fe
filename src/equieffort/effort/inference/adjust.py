"""How p-values of several questions asked at once are adjusted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan


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
        asked = sorted((value, k) for k, value in enumerate(p) if not isnan(value))
        found, largest = [nan] * len(p), 0.0
        for rank, (value, k) in enumerate(asked):
            largest = max(largest, min(1.0, (len(asked) - rank) * value))
            found[k] = largest
        return found


@dataclass(frozen=True)
class Unadjusted(Adjustment):
    """Each question by itself: with many, some come out by chance."""

    name = "none"

    def adjust(self, p: Sequence[float]) -> list[float]:
        """As they are."""
        return list(p)


ADJUSTMENTS: dict[str, type[Adjustment]] = {"holm": Holm, "none": Unadjusted}
"""Name in a file -> adjustment."""
