"""Score tests of two shares with a correction for skewness, for many pairs at once and for thin tails.

With few people on one side and a share far from one half, errors of Wilson's limits and of plain score tests lie nearly
all on one side; the third moment says on which. Under a gap q - p = d, or a ratio p / q = d, let both shares be at
their likeliest (constrained maximum likelihood), S the estimate's distance from that, V its variance and M its third
moment: S / sqrt(V) = z + (z^2 - 1) M / (6 V^1.5) is solved for z, which is normal (Cornish-Fisher).

References
----------
O. Miettinen, M. Nurminen (1985). Comparative analysis of two rates. Statistics in Medicine 4.
J. Gart, J. Nam (1988, 1990). Approximate interval estimation of the ratio of binomial parameters; of the difference.
Biometrics 44 and 46. P. Laud (2017). Equal-tailed confidence intervals for comparison of rates. Pharm. Statistics 16.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr, ndtri

from equieffort.data.frames import Floats

STEPS = 45
"""Halvings until a limit is found."""
FLAT = 1e-9
"""Below this the skewness changes no digit of z, and dividing by it would."""


def gap_tails(k: Floats, n: Floats, k_against: Floats, m: Floats, null: Floats | float) -> tuple[Floats, Floats]:
    """One-sided p-values of gaps (the other's share minus the own) of at most, and of at least, `null`.

    >>> p = gap_tails(np.array([40.0]), np.array([50.0]), np.array([280.0]), np.array([300.0]), 0.0)
    >>> [round(float(one[0]), 4) for one in p]
    [0.0029, 0.9971]
    """
    z = _gap_score(k, n, k_against, m, np.asarray(null, dtype=np.float64))
    return ndtr(-z), ndtr(z)


def ratio_tails(k: Floats, n: Floats, k_against: Floats, m: Floats, null: Floats | float) -> tuple[Floats, Floats]:
    """One-sided p-values of ratios (the own share over the other's) of at most, and of at least, `null`."""
    z = _ratio_score(k, n, k_against, m, np.asarray(null, dtype=np.float64))
    return ndtr(-z), ndtr(z)


def gap_bound(k: Floats, n: Floats, k_against: Floats, m: Floats, tail: float, *, upper: bool) -> Floats:
    """Limits of gaps that are wrong with this chance: where the score test's p-value is `tail`."""

    def score(at: Floats) -> Floats:
        return _gap_score(k, n, k_against, m, at)

    return _limit(score, np.full(len(k), -1.0), np.full(len(k), 1.0), tail, upper)


def ratio_bound(k: Floats, n: Floats, k_against: Floats, m: Floats, tail: float, *, upper: bool) -> Floats:
    """Limits of ratios; 0 where the own share may be, infinite where the other may be 0."""

    def score(at: Floats) -> Floats:
        # On a bounded scale, so that 0 and infinity are among what is halved.
        return _ratio_score(k, n, k_against, m, at / (1 - at))

    found = _limit(score, np.zeros(len(k)), np.ones(len(k)), tail, upper)
    with np.errstate(divide="ignore"):
        return found / (1 - found)


def _limit(score: Callable[[Floats], Floats], low: Floats, high: Floats, tail: float, upper: bool) -> Floats:
    """Where a score that falls with the null is as small, or as large, as the tail's quantile."""
    z = -float(ndtri(tail))
    for _ in range(STEPS):
        middle = (low + high) / 2
        at = score(middle)
        # A null without a score is not ruled out.
        too_low = ~(at <= -z) if upper else at > z
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    # The outer end of what is left.
    return high if upper else low


def _gap_score(k: Floats, n: Floats, k_against: Floats, m: Floats, null: Floats) -> Floats:
    with np.errstate(all="ignore"):
        own = _own_share(k, n, k_against, m, null)
        other = np.clip(own + null, 0.0, 1.0)
        return _corrected(k_against / m - k / n - null, (other, m), (own, n), 1.0)


def _ratio_score(k: Floats, n: Floats, k_against: Floats, m: Floats, null: Floats) -> Floats:
    with np.errstate(all="ignore"):
        # The quadratic whose smaller root is the other's likeliest share where the own is `null` times that.
        a, b, both = (n + m) * null, n * null + k + m + k_against * null, k + k_against
        root = np.sqrt(np.maximum(b * b - 4 * a * both, 0.0))
        # Written so that nothing cancels, and a null of 0 has an answer.
        other = np.clip(2 * both / (b + root), 0.0, 1.0)
        return _corrected(k / n - null * (k_against / m), (np.clip(null * other, 0.0, 1.0), n), (other, m), null)


def _own_share(k: Floats, n: Floats, k_against: Floats, m: Floats, gap: Floats) -> Floats:
    """The own share at which both samples are likeliest, the other's being larger by the gap: a root of a cubic."""
    people = n + m
    c2 = (m + 2 * n) * gap - people - k - k_against
    c1 = (n * gap - people - 2 * k) * gap + k + k_against
    c0 = k * gap * (1 - gap)
    third = c2 / (3 * people)
    q = third**3 - c1 * c2 / (6 * people**2) + c0 / (2 * people)
    p = np.where(q < 0, -1.0, 1.0) * np.sqrt(np.maximum(third**2 - c1 / (3 * people), 0.0))
    angle = (np.pi + np.arccos(np.clip(q / p**3, -1.0, 1.0))) / 3
    found = np.where(p == 0, -third, 2 * p * np.cos(angle) - third)
    return np.asarray(np.clip(found, np.maximum(0.0, -gap), np.minimum(1.0, 1 - gap)))


def _corrected(
    distance: Floats, first: tuple[Floats, Floats], second: tuple[Floats, Floats], weight: Floats | float
) -> Floats:
    """z of a distance between a share and `weight` times another, both given with their people."""
    (p, n), (q, m) = first, second
    spread, spread_against = p * (1 - p) / n, q * (1 - q) / m
    variance = (spread + weight**2 * spread_against) * (n + m) / (n + m - 1)
    third = spread * (1 - 2 * p) / n - weight**3 * spread_against * (1 - 2 * q) / m
    plain, skew = distance / np.sqrt(variance), third / (6 * variance**1.5)
    # Beyond the parabola's turning point no z fits: the turning point itself is then the most that can be claimed.
    bent = (-1 + np.sqrt(np.maximum(1 + 4 * skew * (skew + plain), 0.0))) / (2 * skew)
    return np.asarray(np.where(np.abs(skew) < FLAT, plain, bent))
