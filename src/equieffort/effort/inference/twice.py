"""Shares of people who are asked twice, all of them or some: their change, their sum, and gaps between groups of these.

Newcombe's method 10: the distances of both shares to their Wilson limits are combined as a difference of correlated
estimates is (MOVER), so that the interval keeps a width where everybody, or nobody, says yes. The correlation comes
from those who are asked at both times; half a person is taken off it, towards 0, where it would make the interval
narrower. With nobody asked twice it is Newcombe's interval of two independent shares.

References
----------
R. Newcombe (1998). Improved confidence intervals for the difference between binomial proportions based on paired data.
Statistics in Medicine 17, method 10. G. Zou, A. Donner (2008). Construction of confidence limits about effect measures.
Statistics in Medicine 27.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt

from equieffort.effort.inference.laws import ByLimits
from equieffort.effort.inference.shares import wilson

CORRECTION = 0.5
"""Of a person, taken off the sum of products that says how much both answers go together (Newcombe's n / 2, over n)."""


@dataclass(frozen=True)
class Twice:
    """How many people were asked and said yes, the first time and the second time.

    >>> everybody = Twice((8, 8), (8, 8), 8, (8, 8), 8)
    >>> [round(end, 2) for end in everybody.change().limits(0.95)]
    [-0.32, 0.32]
    """

    asked: tuple[int, int]
    yes: tuple[int, int]
    both: int
    """Asked both times."""
    yes_of_both: tuple[int, int]
    """Who of those said yes the first time, the second time."""
    always: int
    """Who of those said yes both times."""

    def change(self) -> ByLimits:
        """The second share minus the first."""
        (n, m), (k, j) = self.asked, self.yes
        return self._law(j / m - k / n, -1)

    def total(self) -> ByLimits:
        """The second share plus the first."""
        (n, m), (k, j) = self.asked, self.yes
        return self._law(j / m + k / n, 1)

    def _law(self, estimate: float, sign: int) -> ByLimits:
        (n, m), (k, j) = self.asked, self.yes
        weight = 2 * sign * self._correlation(sign)

        def at(z: float) -> tuple[float, float]:
            (low, high), (low_after, high_after) = wilson(k, n, z), wilson(j, m, z)
            down, up = k / n - low, high - k / n
            # What lowers a difference raises the first share.
            first = (down, up) if sign > 0 else (up, down)
            ends = zip(first, (j / m - low_after, high_after - j / m), strict=True)
            below, above = (sqrt(max(a * a + weight * a * b + b * b, 0.0)) for a, b in ends)
            return estimate - below, estimate + above

        return ByLimits(estimate, at)

    def _correlation(self, sign: int) -> float:
        """Of both shares, a little nearer to 0 where that makes the sum or difference asked for wider."""
        (n, m), (k, j) = self.asked, self.yes
        p, q = k / n, j / m
        spread = sqrt(n * p * (1 - p) * m * q * (1 - q))
        if spread == 0:
            return 0.0
        together = self.always - p * self.yes_of_both[1] - q * self.yes_of_both[0] + self.both * p * q
        if together * sign < 0:
            together = -sign * max(-sign * together - CORRECTION, 0.0)
        return min(max(together / spread, -1.0), 1.0)


def gap(mine: ByLimits, theirs: ByLimits) -> ByLimits:
    """Theirs minus mine, of two groups that have nobody in common."""

    def at(z: float) -> tuple[float, float]:
        (low, high), (low_other, high_other) = mine.at(z), theirs.at(z)
        below = hypot(theirs.estimate - low_other, high - mine.estimate)
        above = hypot(high_other - theirs.estimate, mine.estimate - low)
        return theirs.estimate - mine.estimate - below, theirs.estimate - mine.estimate + above

    return ByLimits(theirs.estimate - mine.estimate, at)
