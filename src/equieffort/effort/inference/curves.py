"""Shares of people at most at a value, for all values at once: Kolmogorov's exact band, and that of a difference."""

from __future__ import annotations

from math import nan, sqrt

import numpy as np
from scipy.special import kolmogi

from equieffort.data.frames import Floats


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
