"""How far chance alone may take a rate of so many repetitions, so that few of them suffice every day."""

from __future__ import annotations

from scipy.stats import binom

SELDOM = 1e-3
"""A test of a rate that is as it should be fails so seldom, were its seeds drawn anew."""


def fewest(runs: int, share: float = 0.95) -> int:
    """So often at least happens what happens with this chance: P(X < k) < `SELDOM` for X binomial."""
    return int(binom.ppf(SELDOM, runs, share))


def most(runs: int, share: float) -> int:
    """So often at most: P(X > k) <= `SELDOM` for X binomial."""
    return int(binom.isf(SELDOM, runs, share))
