"""Tests and bounds of many subgroups at once, in closed form, for tails as thin as many questions need.

At tails of 1e-5 every single test of a ratio of means fails somewhere: where a small side is cheap by chance, Welch's
on the log scale; where sides are unequal, the difference. The most cautious of three holds. Of shares, limits made of
Wilson's fail where a small side meets a share far from one half; they hold beside a score test that allows for
skewness (docs/subgroups.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtr, stdtrit

from equieffort.data.frames import Floats
from equieffort.effort.inference.guarded import (
    Sides,
    gap_limits,
    gap_tail,
    limit_tail,
    share_ratio_limits,
    variance,
)
from equieffort.effort.inference.scores import gap_bound, gap_tails, ratio_bound, ratio_tails
from equieffort.effort.search.counted import COUNT, SQUARE, TOTAL


class ManyLaws(ABC):
    """Estimates of many subgroups; NaN where there is none, or no test."""

    @property
    @abstractmethod
    def estimate(self) -> Floats:
        """The group against its reference."""

    @abstractmethod
    def greater(self, than: float) -> Floats:
        """One-sided p-values of "at most this"."""

    @abstractmethod
    def less(self, than: float) -> Floats:
        """One-sided p-values of "at least this"."""

    @abstractmethod
    def limits(self, tail: float) -> tuple[Floats, Floats]:
        """Limits that are each wrong with this chance."""

    def bound(self, tail: float, *, upper: bool) -> Floats:
        """The upper or lower limits, which also hold at tails as thin as many questions need."""
        return self.limits(tail)[upper]


@dataclass(frozen=True, eq=False)
class RatioOfMeans(ManyLaws):
    """A / B of two means: guarded Welch and pooled on the log scale, and Welch's of A - tau B (Fieller)."""

    sides: Sides

    @classmethod
    def of(cls, mine: Floats, theirs: Floats) -> RatioOfMeans:
        """From sums (subgroup, value)."""
        parts = []
        with np.errstate(all="ignore"):
            for sums in (mine, theirs):
                n, total, square = sums[:, COUNT], sums[:, TOTAL], sums[:, SQUARE]
                parts.append((n, total / n, variance(n, total, square)))
        (n, a, s), (m, b, r) = parts
        return cls(Sides(n, m, a, b, s, r))

    @property
    def estimate(self) -> Floats:
        """The ratio; NaN where a mean is 0."""
        return np.exp(self.sides.log_ratio)

    @property
    def _swapped(self) -> RatioOfMeans:
        s = self.sides
        return RatioOfMeans(Sides(s.m, s.n, s.mean_against, s.mean, s.variance_against, s.variance))

    def greater(self, than: float) -> Floats:
        """The largest p-value of the three; NaN without spread."""
        s = self.sides
        with np.errstate(all="ignore"):
            va, vb = s.variance / s.n, than**2 * s.variance_against / s.m
            df = np.minimum((va + vb) ** 2 / (va**2 / (s.n - 1) + vb**2 / (s.m - 1)), np.minimum(s.n, s.m) - 1)
            apart = stdtr(df, -(s.mean - than * s.mean_against) / np.sqrt(va + vb))
            found = np.maximum(s.tail(s.log_ratio - np.log(than)), apart)
            return np.where(va + vb > 0, found, np.nan)

    def less(self, than: float) -> Floats:
        """With the sides swapped."""
        return self._swapped.greater(1 / than)

    def limits(self, tail: float) -> tuple[Floats, Floats]:
        """The farther of the guarded limits and Fieller's; 0 or infinite where a mean may be 0."""
        s = self.sides
        with np.errstate(all="ignore"):
            (se, df), (se_pooled, df_pooled) = s.laws()
            c = -stdtrit(df, tail)
            half = np.maximum(c * se, -stdtrit(df_pooled, tail) * se_pooled)
            return 1 / self._swapped._upper(c, half), self._upper(c, half)

    def _upper(self, c: Floats, half: Floats) -> Floats:
        s = self.sides
        va, vb = s.variance / s.n, s.variance_against / s.m
        rest = s.mean_against**2 - c**2 * vb
        root = np.sqrt(np.maximum(s.mean**2 * vb + s.mean_against**2 * va - c**2 * va * vb, 0.0))
        fieller = np.where(rest > 0, (s.mean * s.mean_against + c * root) / rest, np.inf)
        found = np.maximum(fieller, np.exp(s.log_ratio + half))
        return np.where((va + vb > 0) & ~np.isnan(s.log_ratio), found, np.nan)


@dataclass(frozen=True, eq=False)
class _Shares(ManyLaws):
    k: Floats
    n: Floats
    k_against: Floats
    m: Floats

    @classmethod
    def of(cls, mine: Floats, theirs: Floats) -> _Shares:
        """From sums (subgroup, value)."""
        return cls(mine[:, TOTAL], mine[:, COUNT], theirs[:, TOTAL], theirs[:, COUNT])


class GapOfShares(_Shares):
    """The reference's share minus the group's: Newcombe's limits, and beside them a score test that knows skewness."""

    @property
    def estimate(self) -> Floats:
        """A difference of two shares, as one fraction."""
        with np.errstate(all="ignore"):
            return (self.k_against * self.n - self.k * self.m) / (self.n * self.m)

    def greater(self, than: float) -> Floats:
        """Where the lower limit touches it, or the score test's p-value where that is larger."""
        found = gap_tail(self.k, self.n, self.k_against, self.m, than)
        return _larger(found, gap_tails(self.k, self.n, self.k_against, self.m, than)[0])

    def less(self, than: float) -> Floats:
        """With the sides swapped."""
        found = gap_tail(self.k_against, self.m, self.k, self.n, -than)
        return _larger(found, gap_tails(self.k, self.n, self.k_against, self.m, than)[1])

    def limits(self, tail: float) -> tuple[Floats, Floats]:
        """Newcombe's."""
        return gap_limits(self.k, self.n, self.k_against, self.m, -float(ndtri(tail)))

    def bound(self, tail: float, *, upper: bool) -> Floats:
        """The farther of Newcombe's limits and those of the score test."""
        found = gap_bound(self.k, self.n, self.k_against, self.m, tail, upper=upper)
        return _farther(self.limits(tail)[upper], found, upper)


class RatioOfShares(_Shares):
    """The group's share over the reference's: MOVER of Wilson's limits on the log scale, and a score test beside."""

    @property
    def _log(self) -> Floats:
        with np.errstate(all="ignore"):
            return np.log(self.k / self.n) - np.log(self.k_against / self.m)

    @property
    def estimate(self) -> Floats:
        """The ratio; 0 or infinite where one side has nobody, NaN where neither has."""
        return np.exp(self._log)

    def _tail(self, beyond: float, sign: int) -> Floats:
        def at(z: Floats) -> tuple[Floats, Floats]:
            low, high = share_ratio_limits(self.k, self.n, self.k_against, self.m, z)
            return (low, high) if sign > 0 else (-high, -low)

        return limit_tail(at, sign * self._log, sign * beyond)

    def greater(self, than: float) -> Floats:
        """Where the lower limit touches it, or the score test's p-value where that is larger."""
        scored = ratio_tails(self.k, self.n, self.k_against, self.m, than)[0]
        return _larger(self._tail(float(np.log(than)), 1), scored)

    def less(self, than: float) -> Floats:
        """Where the upper limit touches it, or the score test's p-value where that is larger."""
        scored = ratio_tails(self.k, self.n, self.k_against, self.m, than)[1]
        return _larger(self._tail(float(np.log(than)), -1), scored)

    def limits(self, tail: float) -> tuple[Floats, Floats]:
        """MOVER's."""
        low, high = share_ratio_limits(self.k, self.n, self.k_against, self.m, -float(ndtri(tail)))
        return np.exp(low), np.exp(high)

    def bound(self, tail: float, *, upper: bool) -> Floats:
        """The farther of MOVER's limits and those of the score test."""
        found = ratio_bound(self.k, self.n, self.k_against, self.m, tail, upper=upper)
        return _farther(self.limits(tail)[upper], found, upper)


def _larger(found: Floats, scored: Floats) -> Floats:
    """What has no estimate has no test; a score without spread says nothing beside the limits."""
    return np.where(np.isnan(found), np.nan, np.fmax(found, scored))


def _farther(limit: Floats, scored: Floats, upper: bool) -> Floats:
    return np.maximum(limit, scored) if upper else np.minimum(limit, scored)


def law_of(measure: str, mine: Floats, theirs: Floats) -> ManyLaws:
    """The laws of one of the measures that can be searched."""
    kinds = {"rd": GapOfShares, "impact_ratio": RatioOfShares}
    return kinds.get(measure, RatioOfMeans).of(mine, theirs)
