"""Means of amounts that most people do not carry at all, such as a burden that is 0 for all who are approved.

Student's interval of such a mean is too short on the side that matters: what is known of the spread comes from the few
who carry something, and a sample that happens to hold few of them also seems to vary little. On the log scale, with as
many degrees of freedom as carriers less one, it holds (benchmarks/notion_intervals.py). A difference puts the limits of
both means together as MOVER does (Zou and Donner 2008).
"""

from __future__ import annotations

from dataclasses import replace
from math import exp, hypot, nan, sqrt

from scipy.special import ndtri, stdtrit

from equieffort.effort.inference.means import Side
from equieffort.effort.inference.shares import wilson
from equieffort.effort.stats import Sums
from equieffort.notions.base import NotionReading
from equieffort.notions.comparing import mean_gap, mean_reading

Limits = tuple[float, float]


def sparse_limits(sums: Sums, carriers: int, most: float, level: float) -> Limits:
    """Of the mean of amounts from 0 to `most`, of which so many are above 0; NaN without spread.

    >>> import numpy as np
    >>> one = sparse_limits(Sums.of(np.array([0.0, 0.0, 0.0, 0.2, 0.4])), 2, 1.0, 0.95)
    >>> [round(end, 4) for end in one]  # one degree of freedom: hardly anything is known
    [0.0, 1.0]
    >>> [round(end, 2) for end in sparse_limits(Sums.of(np.zeros(100)), 0, 1.0, 0.95)]  # a share's, times the most
    [0.0, 0.04]
    """
    if sums.n < 2:
        return nan, nan
    if carriers == 0 or not sums.mean > 0:
        return 0.0, wilson(0, sums.n, float(ndtri((1 + level) / 2)))[1] * most
    if not sums.sd > 0:
        return nan, nan
    half = float(stdtrit(max(carriers - 1, 1), (1 + level) / 2)) * sums.sd / sqrt(sums.n) / sums.mean
    return sums.mean * exp(-half), min(sums.mean * exp(min(half, 700.0)), most)


def sparse_reading(blank: NotionReading, side: Side, carriers: int, most: float, level: float) -> NotionReading:
    """The mean of a group; `blank` says of what and whom."""
    reading = mean_reading(blank, side, level)
    low, high = _ends(side, carriers, most, level)[:2]
    return _limited(reading, low, high)


def sparse_gap(
    blank: NotionReading, sides: tuple[Side, Side], carriers: tuple[int, int], most: float, level: float
) -> NotionReading:
    """The first side's mean minus the second's."""
    reading = mean_gap(blank, *sides, level)
    (la, ua, least_a, most_a), (lb, ub, least_b, most_b) = (
        _ends(side, count, most, level) for side, count in zip(sides, carriers, strict=True)
    )
    low = least_a - most_b - hypot(least_a - la, ub - most_b)
    high = most_a - least_b + hypot(ua - most_a, least_b - lb)
    return _limited(reading, low, high)


def _ends(side: Side, carriers: int, most: float, level: float) -> tuple[float, float, float, float]:
    """The lower limit of the least that a mean can be, the upper of the most, and these two means."""
    least, largest = min(side.lower(), key=lambda one: one.mean), max(side.upper(), key=lambda one: one.mean)
    low, high = (sparse_limits(one, carriers, most, level) for one in (least, largest))
    return low[0], high[1], least.mean, largest.mean


def _limited(reading: NotionReading, low: float, high: float) -> NotionReading:
    """With these limits where both are known; a note on want of spread is then no longer true."""
    if low != low or high != high:
        return replace(reading, low=nan, high=nan)
    note = " ".join(code for code in reading.note.split() if code != "NO_SPREAD")
    return replace(reading, low=low, high=high, note=note)
