"""What is known of an estimate: its limits at a level, and one-sided p-values against any value.

Everything is on the measure's own scale (`Scale`). `greater(d)` is the p-value of "at most d", small where the data
say more; `less(d)` mirrors it. All tests of a verdict are made of these two.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import asin, exp, inf, isnan, log, nan, pi, sin, sqrt

from scipy.special import ndtr, ndtri, stdtr, stdtrit


@dataclass(frozen=True)
class Scale:
    """The scale on which an estimate is symmetric, there and back: ratios by their logarithm, shares by their logit."""

    name: str
    to: Callable[[float], float]
    back: Callable[[float], float]


def _log(value: float) -> float:
    return log(value) if value > 0 else -inf if value == 0 else nan


def _exp(value: float) -> float:
    return inf if value > 709 else exp(value)


def _logit(share: float) -> float:
    return -inf if share == 0 else inf if share == 1 else log(share / (1 - share))


def _expit(value: float) -> float:
    return 1 / (1 + _exp(-value))


def _arcsine(share: float) -> float:
    return asin(sqrt(share))


def _share(value: float) -> float:
    return sin(min(max(value, 0.0), pi / 2)) ** 2


IDENTITY = Scale("identity", float, float)
LOG = Scale("log", _log, _exp)
LOGIT = Scale("logit", _logit, _expit)
ARCSINE = Scale("arcsine", _arcsine, _share)
"""For shares that may be 0 or 1."""


STEPS = 60
FARTHEST = 40.0
"""Standard errors beyond which a p-value is 0."""


@dataclass(frozen=True)
class Zone:
    """The values that count as equal, on the measure's scale; a one-sided zone has one infinite end."""

    low: float
    high: float


class Law(ABC):
    """An estimate, where it certainly lies given people not solved to the end, and its chance."""

    estimate: float

    @property
    def least(self) -> float:
        """Where it certainly does not lie below: the estimate itself, unless a law knows a range."""
        return self.estimate

    @property
    def most(self) -> float:
        """Where it certainly does not lie above."""
        return self.estimate

    @abstractmethod
    def limits(self, level: float) -> tuple[float, float]:
        """The confidence interval."""

    @abstractmethod
    def greater(self, than: float) -> float:
        """One-sided p-value of "at most this"."""

    @abstractmethod
    def less(self, than: float) -> float:
        """One-sided p-value of "at least this"."""

    def p(self, neutral: float) -> float:
        """Two-sided p-value of no difference at all."""
        return min(1.0, 2 * min(self.greater(neutral), self.less(neutral)))

    def p_beyond(self, zone: Zone, neutral: float) -> float:
        """p-value of "within the zone", of its size at the boundary also where the zone is narrow."""
        if zone.low == -inf:
            return self.greater(zone.high)
        if zone.high == inf:
            return self.less(zone.low)
        if self.least > neutral:
            return min(1.0, self.greater(zone.high) + self.greater(zone.low))
        if self.most < neutral:
            return min(1.0, self.less(zone.low) + self.less(zone.high))
        return 1.0

    def p_within(self, zone: Zone) -> float:
        """p-value of "beyond the zone": two one-sided tests, or one."""
        sides = [self.less(zone.high)] if zone.high < inf else []
        return max([*sides, self.greater(zone.low)] if zone.low > -inf else sides)


def _close_range(law: Law) -> None:
    """A law without a range is sure of its estimate."""
    if isnan(law.least):
        object.__setattr__(law, "least", law.estimate)
        object.__setattr__(law, "most", law.estimate)


@dataclass(frozen=True)
class Student(Law):
    """An estimate with a standard error and its degrees of freedom; a range where people are not solved to the end."""

    estimate: float
    se: float
    df: float
    least: float = nan
    most: float = nan

    def __post_init__(self) -> None:
        _close_range(self)

    def limits(self, level: float) -> tuple[float, float]:
        """Student's interval around the range."""
        half = float(stdtrit(self.df, (1 + level) / 2)) * self.se
        return self.least - half, self.most + half

    def greater(self, than: float) -> float:
        """From the least end of the range."""
        return self._tail(self.least - than)

    def less(self, than: float) -> float:
        """From its greatest end."""
        return self._tail(than - self.most)

    def _tail(self, distance: float) -> float:
        if isnan(distance):
            return 1.0
        return float(stdtr(self.df, -distance / self.se))


@dataclass(frozen=True)
class ByLimits(Law):
    """An estimate that has limits for each normal quantile z; p-values are where a limit touches the value asked."""

    estimate: float
    at: Callable[[float], tuple[float, float]]
    """z -> both limits, widening with z."""

    def limits(self, level: float) -> tuple[float, float]:
        """The limits at the level."""
        return self.at(float(ndtri((1 + level) / 2)))

    def greater(self, than: float) -> float:
        """Where the lower limit touches it, or the upper one if the estimate lies below."""
        if self.estimate > than:
            return float(ndtr(-_touching(lambda z: self.at(z)[0] - than)))
        return float(ndtr(_touching(lambda z: than - self.at(z)[1])))

    def less(self, than: float) -> float:
        """Mirrored."""
        if self.estimate < than:
            return float(ndtr(-_touching(lambda z: than - self.at(z)[1])))
        return float(ndtr(_touching(lambda z: self.at(z)[0] - than)))


def _touching(distance: Callable[[float], float]) -> float:
    """The z up to which the distance is positive, by bisection; it falls with z."""
    low, high = 0.0, FARTHEST
    if distance(high) > 0:
        return high
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if distance(middle) > 0 else (low, middle)
    return (low + high) / 2


@dataclass(frozen=True)
class Ranged(Law):
    """Between laws: each question is answered by the most cautious of those below, or of those above.

    One below and one above hold at the least and at the greatest that people not solved to the end allow; several laws
    of one estimate stand on both sides.
    """

    estimate: float
    below: tuple[Law, ...]
    above: tuple[Law, ...]

    @property
    def least(self) -> float:
        """The least of those below."""
        return min(law.least for law in self.below)

    @property
    def most(self) -> float:
        """The greatest of those above."""
        return max(law.most for law in self.above)

    def limits(self, level: float) -> tuple[float, float]:
        """The outermost."""
        return min(law.limits(level)[0] for law in self.below), max(law.limits(level)[1] for law in self.above)

    def greater(self, than: float) -> float:
        """The largest p-value of those below."""
        return max(law.greater(than) for law in self.below)

    def less(self, than: float) -> float:
        """The largest p-value of those above."""
        return max(law.less(than) for law in self.above)


@dataclass(frozen=True)
class Fixed(Law):
    """An interval and no test: there is no spread that a test could be made of."""

    estimate: float
    low: float = nan
    high: float = nan
    least: float = nan
    most: float = nan

    def __post_init__(self) -> None:
        _close_range(self)

    def limits(self, level: float) -> tuple[float, float]:
        """As given."""
        return self.low, self.high

    def greater(self, than: float) -> float:
        """No answer."""
        return nan

    def less(self, than: float) -> float:
        """No answer."""
        return nan

    def p(self, neutral: float) -> float:
        """No answer."""
        return nan

    def p_beyond(self, zone: Zone, neutral: float) -> float:
        """No answer."""
        return nan

    def p_within(self, zone: Zone) -> float:
        """No answer."""
        return nan
