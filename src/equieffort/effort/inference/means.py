"""Ratio and difference of two means: Welch's method with Satterthwaite's degrees of freedom.

A ratio is compared on the log scale, where its spread is the sum of both coefficients of variation squared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import exp, inf, isfinite, isnan, log, nan, sqrt

from scipy.special import stdtrit

from equieffort.effort.inference.laws import Fixed, Law, Ranged, Student
from equieffort.effort.stats import Sums
from equieffort.foundations.tolerances import REPLAYED, is_closed


@dataclass(frozen=True)
class Welch:
    """Estimate, standard error and degrees of freedom; NaN without spread or with a mean of 0."""

    estimate: float
    se: float
    df: float


Spread = Callable[[Sums, Sums, bool], Welch]


def welch(a: Sums, b: Sums, ratio: bool) -> Welch:
    """The mean of a over that of b by logarithm, or their difference."""
    estimate = _estimate(a, b, ratio)
    if min(a.n, b.n) < 2 or not isfinite(estimate):
        return Welch(estimate, nan, nan)
    v = [_spread(s, ratio) / s.n for s in (a, b)]
    if v[0] + v[1] <= 0:
        return Welch(estimate, 0.0, nan)
    # By shares of the whole, which neither overflow nor vanish.
    w = v[0] / (v[0] + v[1])
    df = 1 / (w**2 / (a.n - 1) + (1 - w) ** 2 / (b.n - 1))
    return Welch(estimate, sqrt(v[0] + v[1]), df)


def cautious(a: Sums, b: Sums, ratio: bool) -> Welch:
    """Welch's with at most as many degrees of freedom as the smaller side has."""
    found = welch(a, b, ratio)
    return replace(found, df=min(found.df, min(a.n, b.n) - 1))


def pooled(a: Sums, b: Sums, ratio: bool) -> Welch:
    """With one spread for both sides: a small side that happens to be cheap also seems to vary little."""
    estimate, wide = _estimate(a, b, ratio), a.n + b.n - 2
    if min(a.n, b.n) < 2 or not isfinite(estimate):
        return Welch(estimate, nan, nan)
    spread = ((a.n - 1) * _spread(a, ratio) + (b.n - 1) * _spread(b, ratio)) / wide
    return Welch(estimate, sqrt(spread * (1 / a.n + 1 / b.n)), wide)


def _spread(s: Sums, ratio: bool) -> float:
    return (s.sd / s.mean) ** 2 if ratio else s.variance


def _estimate(a: Sums, b: Sums, ratio: bool) -> float:
    if a.n == 0 or b.n == 0:
        return nan
    if not ratio:
        return a.mean - b.mean
    return log(a.mean) - log(b.mean) if a.mean > 0 and b.mean > 0 else nan


@dataclass(frozen=True)
class Side:
    """A group's sums: as estimated, at the least and at the most, and the unknown with their range.

    Where the unknown are always counted there are none left over.
    """

    sums: Sums
    least: Sums
    most: Sums
    unknown: int = 0
    bound: float = inf
    ceiling: float = -inf

    @property
    def is_settled(self) -> bool:
        """Whether there is one answer: bounds no further below the costs than a replay tells costs apart."""
        if self.unknown or self.least == self.most:
            return not self.unknown
        return bool(is_closed(self.most.mean, self.least.mean, REPLAYED))

    def lower(self) -> Iterator[Sums]:
        """At the bounds: without the unknown, and with all of them at their least bound."""
        yield from _with(self.least, self.unknown, self.bound)

    def upper(self) -> Iterator[Sums]:
        """At the costs: without the unknown, and with all of them at the most that an action can cost."""
        yield from _with(self.most, self.unknown, self.ceiling)


def _with(sums: Sums, unknown: int, value: float) -> Iterator[Sums]:
    yield sums
    if unknown:
        # Nobody can be added at an infinite cost: the mean has no limit then.
        yield sums.with_more(unknown, value) if isfinite(value) else Sums(0, most=inf)


def compare_guarded(a: Side, b: Side, level: float, *, ratio: bool) -> Law | None:
    """For small neighbourhoods: the wider of two laws, whatever is asked."""
    found = [compare_means(a, b, level, ratio=ratio, spread=one) for one in (cautious, pooled)]
    if found[0] is None or isinstance(found[0], Fixed):
        return found[0]
    both = tuple(filter(None, found))
    return Ranged(found[0].estimate, both, both)


def compare_means(a: Side, b: Side, level: float, *, ratio: bool, spread: Spread = welch) -> Law | None:
    """The law of a ratio (log scale) or difference of means; None where there is no estimate."""
    here = spread(a.sums, b.sums, ratio)
    if isnan(here.estimate):
        return None
    low = [_corner(spread(x, y, ratio), -inf) for x in a.lower() for y in b.upper()]
    high = [_corner(spread(x, y, ratio), inf) for x in a.upper() for y in b.lower()]
    least, most = min(one.estimate for one in low), max(one.estimate for one in high)
    if a.is_settled and b.is_settled:
        if here.se > 0:
            return Student(here.estimate, here.se, here.df, least, most)
        return Fixed(here.estimate, least=least, most=most)
    # The largest of all: the spread is not monotone in a cost.
    half = max(_half(one, level) for one in (here, *low, *high))
    if not half > 0:
        return Fixed(here.estimate, least=least, most=most)
    df = float(min(a.sums.n, b.sums.n) - 1)
    return Student(here.estimate, half / float(stdtrit(df, (1 + level) / 2)), df, least, most)


def _corner(found: Welch, without: float) -> Welch:
    """One way the unsolved could turn out; what has no limit, or no logarithm, is infinite on its side."""
    return found if isfinite(found.estimate) else Welch(without, nan, nan)


def _half(one: Welch, level: float) -> float:
    return float(stdtrit(one.df, (1 + level) / 2)) * one.se if one.se > 0 and isfinite(one.df) else 0.0


def mean_limits(sums: Sums, level: float) -> tuple[float, float]:
    """Student's interval of one mean, on the log scale; NaN below two people, with a mean of 0 or without spread."""
    if sums.n < 2 or not sums.mean > 0 or not sums.variance > 0:
        return nan, nan
    half = float(stdtrit(sums.n - 1, (1 + level) / 2)) * sums.sd / (sums.mean * sqrt(sums.n))
    return sums.mean * exp(-half), sums.mean * exp(half)
