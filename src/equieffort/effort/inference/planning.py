"""How many people would decide it: sample sizes for the tests of a verdict, by the normal approximation.

`W` is n times the squared standard error of the log ratio: what one person is worth. It comes from an audit, or from
coefficients of variation and shares.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, exp, inf, log, nan, sqrt

from scipy.special import ndtr, ndtri

from equieffort.effort.inference.laws import Zone
from equieffort.effort.inference.shares import wilson

LEAST = 10
"""Refused people in the smaller group below which no plan is made: the approximation fails there."""
LARGEST = 1e12


def _z(p: float) -> float:
    return float(ndtri(p))


def people_beyond(ratio: float, zone: Zone, worth: float, *, alpha: float, power: float, share: float) -> float:
    """People needed to show that a ratio lies beyond the zone that counts as equal; infinite if it does not."""
    distance = max(log(ratio) - zone.high, zone.low - log(ratio))
    if distance <= 0:
        return inf
    return ceil(max(worth * ((_z(1 - alpha) + _z(power)) / distance) ** 2, LEAST / share))


def people_inside(ratio: float, zone: Zone, worth: float, *, alpha: float, power: float, share: float) -> float:
    """People needed to show that a ratio lies within the zone; infinite if it does not.

    A zone with one end needs fewer: nothing is asked of the other.
    """
    size, z = log(ratio), _z(1 - alpha)
    if not zone.low < size < zone.high:
        return inf

    def decided(n: float) -> float:
        s = sqrt(worth / n)
        return float(ndtr((zone.high - size) / s - z) + ndtr((size - zone.low) / s - z)) - 1

    return ceil(max(_least(lambda n: decided(n) >= power), LEAST / share))


def smallest_ratio(n: float, zone: Zone, worth: float, *, alpha: float, power: float) -> float:
    """The smallest ratio above the zone that n people would show to be beyond it."""
    return exp(zone.high + (_z(1 - alpha) + _z(power)) * sqrt(worth / n))


@dataclass(frozen=True)
class Shares:
    """Of a group: its refused as a share of all people, and those of them with recourse as a share of the refused."""

    refused: float
    recourse: float


def gap_beyond(mine: Shares, theirs: Shares, epsilon: float, *, alpha: float, power: float) -> float:
    """People needed to show that the gap in possible recourse lies beyond epsilon; infinite if it does not."""
    if theirs.recourse < mine.recourse:
        mine, theirs = theirs, mine
    if theirs.recourse - mine.recourse <= epsilon:
        return inf

    def decides(n: float) -> bool:
        low, _ = _newcombe(mine, theirs, n, _z(1 - alpha))
        return low - epsilon >= _z(power) * _gap_se(mine, theirs, n)

    return _at_least(mine, theirs, _least(decides))


def gap_inside(mine: Shares, theirs: Shares, epsilon: float, *, alpha: float, power: float) -> float:
    """People needed to show that the gap in possible recourse lies within epsilon; infinite if it does not."""
    if theirs.recourse < mine.recourse:
        mine, theirs = theirs, mine
    gap = theirs.recourse - mine.recourse
    if gap >= epsilon:
        return inf
    # Near 0 either side may be missed.
    z = _z((1 + power) / 2) if gap < epsilon / 10 else _z(power)

    def decides(n: float) -> bool:
        low, high = _newcombe(mine, theirs, n, _z(1 - alpha))
        return min(epsilon - high, low + epsilon) >= z * _gap_se(mine, theirs, n)

    return _at_least(mine, theirs, _least(decides))


def smallest_gap(mine: Shares, theirs: Shares, n: float, epsilon: float, *, alpha: float, power: float) -> float:
    """The smallest gap above epsilon that n people would show to be beyond it; NaN if no possible gap would.

    The other group's share stays. The standard error at the shares there are would do for small gaps only: where
    everybody has recourse it is 0.
    """

    def shown(gap: float) -> bool:
        moved = Shares(mine.refused, max(theirs.recourse - gap, 0.0))
        return gap_beyond(moved, theirs, epsilon, alpha=alpha, power=power) <= n

    low, high = epsilon, theirs.recourse
    if low >= high or not shown(high):
        return nan
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if shown(middle) else (middle, high)
    return high


def _gap_se(mine: Shares, theirs: Shares, n: float) -> float:
    return sqrt(sum(one.recourse * (1 - one.recourse) / (n * one.refused) for one in (mine, theirs)))


def _newcombe(mine: Shares, theirs: Shares, n: float, z: float) -> tuple[float, float]:
    p, q = mine.recourse, theirs.recourse
    l_a, u_a = wilson(p * n * mine.refused, n * mine.refused, z)
    l_b, u_b = wilson(q * n * theirs.refused, n * theirs.refused, z)
    gap = q - p
    return gap - sqrt((q - l_b) ** 2 + (u_a - p) ** 2), gap + sqrt((u_b - q) ** 2 + (p - l_a) ** 2)


def _at_least(mine: Shares, theirs: Shares, n: float) -> float:
    return ceil(max(n, LEAST / min(mine.refused, theirs.refused))) if n < inf else inf


def _least(decides: Callable[[float], bool]) -> float:
    """The least number that decides; once enough people do, more do too."""
    high = 1.0
    while not decides(high):
        high *= 2
        if high > LARGEST:
            return inf
    low = high / 2
    while high - low > 0.5:
        middle = (low + high) / 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high


def about(n: float) -> str:
    """A number of people to two digits, rounded up: more would be pretence.

    >>> about(4135), about(785), about(12)
    ('4,200', '790', '12')
    """
    if n == inf:
        return "no number"
    step = 10 ** max(0, len(str(int(n))) - 2)
    return f"{ceil(n / step) * step:,}"
