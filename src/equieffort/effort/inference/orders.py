"""Order statistics: the median with its limits, the probability of needing more, and shares for all values at once."""

from __future__ import annotations

from math import inf, isfinite, nan, sqrt

import numpy as np
from scipy.special import bdtr, kolmogi, ndtr

from equieffort.data.frames import Floats
from equieffort.effort.inference.laws import LOGIT, ByLimits, Law, Student


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


def quantile_limits(values: Floats, share: float, z: float) -> tuple[float, float]:
    """Limits of the least value that a share of people do not exceed, at the normal quantile z: two order statistics.

    The number of people at most at the true quantile is binomial, so the limits hold for any distribution; (0, inf) of
    too few people. Values are sorted, none is negative, and the infinite come last.

    >>> quantile_limits(np.arange(1.0, 31.0), 0.5, 1.959964)
    (10.0, 21.0)
    """
    n, alpha = len(values), float(ndtr(-z))
    # Below the j-th value with P(Bin(n, share) < j) at most alpha, above the k-th with P(Bin(n, share) >= k) at most.
    counts = np.arange(n)
    at_most = bdtr(counts, n, share)
    j = int((at_most <= alpha).sum())
    k = int(np.searchsorted(at_most, 1 - alpha, "left")) + 1
    return (float(values[j - 1]) if j else 0.0), (float(values[k - 1]) if k <= n else inf)


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


BISECTIONS = 60


def placements(values: Floats, others: Floats) -> Floats:
    """For each value the share of the others that lie below it; ties count half. Both are sorted."""
    below, up_to = np.searchsorted(others, values, "left"), np.searchsorted(others, values, "right")
    return (below + up_to) / (2 * len(others))


def probability(a: Floats, b: Floats) -> float:
    """P(a > b) + P(a = b) / 2 of sorted values."""
    return float(placements(a, b).mean())


def compare_orders(a: Floats, b: Floats) -> Law:
    """The law of P(a > b) + P(a = b) / 2 on the logit, with Brunner and Munzel's variance; two a side at least."""
    mine, theirs = placements(a, b), placements(b, a)
    theta = float(mine.mean())
    v = [float(one.var(ddof=1)) / len(one) for one in (mine, theirs)]
    if not 0 < theta < 1 or v[0] + v[1] <= 0:
        return ByLimits(LOGIT.to(theta), lambda z: _method_5(theta, len(a), len(b), z))
    scale = (theta * (1 - theta)) ** 2
    v = [one / scale for one in v]
    df = (v[0] + v[1]) ** 2 / (v[0] ** 2 / (len(a) - 1) + v[1] ** 2 / (len(b) - 1))
    return Student(LOGIT.to(theta), sqrt(v[0] + v[1]), df)


def _method_5(theta: float, m: int, n: int, z: float) -> tuple[float, float]:
    """Newcombe's fifth method, for probabilities that show no spread of their own."""
    half = (m + n) / 2 - 1

    def is_inside(t: float) -> bool:
        spread = t * (1 - t) * (1 + half * (1 - t) / (2 - t) + half * t / (1 + t)) / (m * n)
        return abs(theta - t) <= z * sqrt(spread)

    def end(outer: float) -> float:
        inner = theta
        for _ in range(BISECTIONS):
            middle = (inner + outer) / 2
            inner, outer = (middle, outer) if is_inside(middle) else (inner, middle)
        return inner

    return LOGIT.to(end(0.0) if theta > 0 else 0.0), LOGIT.to(end(1.0) if theta < 1 else 1.0)


def shares_at(values: Floats, at: Floats) -> Floats:
    """The share of sorted values that are at most at each place; infinite values count below; NaN of nobody.

    >>> shares_at(np.array([1.0, 2.0, np.inf, np.inf]), np.array([0.0, 1.0, 5.0])).tolist()
    [0.0, 0.25, 0.5]
    """
    if not len(values):
        return np.full(len(at), nan)
    return np.searchsorted(values, at, "right") / len(values)


def half_width(n: int, level: float) -> float:
    """Half the width of one curve's band: the exact quantile of Kolmogorov's statistic; NaN of nobody.

    >>> half_width(1, 0.95)
    0.975
    """
    # Loading scipy.stats takes longer than most audits need for anything else.
    from scipy.stats import kstwo

    return float(kstwo.ppf(level, n)) if n else nan


def half_width_of_difference(n: int, n_against: int, level: float) -> float:
    """The same of a difference: exact in the limit where both curves are equal, and wider than needed elsewhere."""
    return float(kolmogi(1 - level)) * sqrt(1 / n + 1 / n_against) if n and n_against else nan
