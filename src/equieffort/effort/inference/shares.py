"""Shares of people: Wilson's limits, Newcombe's difference of two, and the ratio of two by MOVER."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf, log, sqrt

from equieffort.effort.inference.laws import ByLimits


def wilson(k: float, n: float, z: float) -> tuple[float, float]:
    """Wilson's limits of k in n."""
    share, square = k / n, z * z
    middle, half = share + square / (2 * n), z * sqrt(share * (1 - share) / n + square / (4 * n * n))
    low, high = (middle - half) / (1 + square / n), (middle + half) / (1 + square / n)
    # At the ends the limit is the end itself, which rounding would miss.
    return (0.0 if k == 0 else max(low, 0.0)), (1.0 if k == n else min(high, 1.0))


def difference(mine: tuple[int, int], theirs: tuple[int, int]) -> ByLimits:
    """Their share minus mine, with Newcombe's hybrid of both Wilson intervals."""
    p, q = mine[0] / mine[1], theirs[0] / theirs[1]

    def at(z: float) -> tuple[float, float]:
        (l_a, u_a), (l_b, u_b) = wilson(*mine, z), wilson(*theirs, z)
        return q - p - hypot(q - l_b, u_a - p), q - p + hypot(u_b - q, p - l_a)

    # One fraction, so that a threshold of one twentieth is met by one twentieth.
    estimate = (theirs[0] * mine[1] - mine[0] * theirs[1]) / (mine[1] * theirs[1])
    return ByLimits(estimate, at)


def share_ratio(mine: tuple[int, int], theirs: tuple[int, int]) -> ByLimits:
    """My share over theirs, on the log scale."""
    p, q = mine[0] / mine[1], theirs[0] / theirs[1]
    return mover(p, q, lambda z: wilson(*mine, z), lambda z: wilson(*theirs, z))


Limits = Callable[[float], tuple[float, float]]


def mover(p: float, q: float, of_p: Limits, of_q: Limits) -> ByLimits:
    """The log of p / q from limits of each: their distances are added as squares."""

    def at(z: float) -> tuple[float, float]:
        (l_a, u_a), (l_b, u_b) = of_p(z), of_q(z)
        if p == 0:
            return -inf, _log_ratio(u_a, q)
        if q == 0:
            return _log_ratio(p, u_b), inf
        middle = log(p / q)
        return (
            middle - hypot(_log_ratio(p, l_a), _log_ratio(u_b, q)),
            middle + hypot(_log_ratio(u_a, p), _log_ratio(q, l_b)),
        )

    return ByLimits(_log_ratio(p, q), at)


def _log_ratio(p: float, q: float) -> float:
    if p == 0:
        return -inf
    return inf if q == 0 or p == inf else log(p) - log(q)
