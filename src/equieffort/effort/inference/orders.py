"""Order statistics: the median with its interpolated limits (Hettmansperger and Sheather)."""

from __future__ import annotations

from math import inf, isfinite

from scipy.special import bdtr, ndtr

from equieffort.data.frames import Floats


def median(values: Floats) -> float:
    """The median of sorted values, among which the infinite come last."""
    n = len(values)
    middle = float(values[(n - 1) // 2]), float(values[n // 2])
    return (middle[0] + middle[1]) / 2


def median_limits(values: Floats, z: float) -> tuple[float, float]:
    """Limits of the median at the normal quantile z, between two order statistics; (0, inf) of too few people."""
    n, alpha = len(values), 2 * float(ndtr(-z))
    k = _rank(n, alpha)
    if k == 0:
        return 0.0, inf
    below, at = 2 * float(bdtr(k - 1, n, 0.5)), 2 * float(bdtr(k, n, 0.5))
    i = (alpha - below) / (at - below)
    w = (n - k) * i / (k + (n - 2 * k) * i) if i > 0 else 0.0
    return _between(values, k, k + 1, w), _between(values, n - k + 1, n - k, w)


def _rank(n: int, alpha: float) -> int:
    """The largest rank k from either end with 2 P(Bin(n, 1/2) < k) at most alpha."""
    low, high = 0, (n + 1) // 2
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if 2 * float(bdtr(middle - 1, n, 0.5)) <= alpha else (low, middle - 1)
    return low


def _between(values: Floats, outer: int, inner: int, w: float) -> float:
    """From the outer rank so far towards the inner one; the outer one itself where the inner is infinite."""
    first = float(values[outer - 1])
    second = float(values[min(max(inner, 1), len(values)) - 1])
    if not isfinite(first) or not isfinite(second):
        return first
    return (1 - w) * first + w * second
