"""Intervals for notions without one in closed form: people are drawn again, within their groups.

The interval is the estimate plus and minus Student's quantile times the standard deviation of the replicates, which
held its level where percentiles did not (docs/statistics.md); a statistic that is undefined in more than one of twenty
replicates has none.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isnan, nan

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from equieffort.effort.inference import IDENTITY, Scale

REPLICATES = 200
MOST_UNDEFINED = 0.05
Rows = npt.NDArray[np.intp]


def bootstrap_limits(
    statistic: Callable[[Rows], float],
    strata: npt.NDArray[np.integer],
    level: float,
    *,
    scale: Scale = IDENTITY,
    replicates: int = REPLICATES,
    random_state: int = 0,
) -> tuple[float, float, str]:
    """Limits of a statistic of rows (drawn again within strata), and a note where there are none.

    >>> import numpy as np
    >>> values = np.arange(100.0)
    >>> low, high, note = bootstrap_limits(lambda rows: values[rows].mean(), np.zeros(100, dtype=int), 0.95)
    >>> bool(low < values.mean() < high), note
    (True, '')
    """
    n = len(strata)
    centre = statistic(np.arange(n))
    if isnan(centre):
        return nan, nan, ""
    rng = np.random.default_rng(random_state)
    parts = [np.flatnonzero(strata == code) for code in np.unique(strata)]
    found = np.array(
        [
            scale.to(statistic(np.concatenate([part[rng.integers(len(part), size=len(part))] for part in parts])))
            for _ in range(replicates)
        ]
    )
    return limits_of(centre, found, level, scale)


def limits_of(
    centre: float, found: npt.NDArray[np.float64], level: float, scale: Scale = IDENTITY
) -> tuple[float, float, str]:
    """Limits around an estimate from its replicates, which are on the scale already, and a note where there are none.

    >>> import numpy as np
    >>> low, high, note = limits_of(1.0, np.array([0.0, 1.0, 2.0] * 100), 0.95)
    >>> round(high - 1.0, 2), note
    (1.61, '')
    """
    if isnan(centre):
        return nan, nan, ""
    replicates = len(found)
    known = found[np.isfinite(found)]
    if len(known) < replicates * (1 - MOST_UNDEFINED):
        return nan, nan, "RESAMPLED"
    spread = float(known.std(ddof=1))
    if not spread > 0:
        return nan, nan, "NO_SPREAD"
    half = float(stdtrit(len(known) - 1, (1 + level) / 2)) * spread
    middle = scale.to(centre)
    return scale.back(middle - half), scale.back(middle + half), ""
