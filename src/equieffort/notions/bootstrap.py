"""Intervals for notions without one in closed form: people are drawn again, within their groups.

The interval is the estimate plus and minus Student's quantile times the standard deviation of the replicates, which
held its level where percentiles did not (docs/statistics.md); a statistic that is undefined in more than one of twenty
replicates has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf, isnan, nan, sqrt

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
    centre = statistic(np.arange(len(strata)))
    if isnan(centre):
        return nan, nan, ""
    parts = _parts(strata)
    found = np.array([scale.to(statistic(rows)) for rows in _drawn(parts, replicates, random_state)])
    return limits_of(centre, found, level, scale, min(len(part) for part in parts))


def bootstrap_band(
    distance: Callable[[Rows], float], strata: npt.NDArray[np.integer], level: float, *,
    replicates: int = REPLICATES, random_state: int = 0,
) -> float:  # fmt: skip
    """The half-width of a band around a whole curve: how far draws are from the sample in at most 1 - level of cases,
    wherever they are farthest. NaN with a single person in a stratum.

    >>> import numpy as np
    >>> values = np.arange(100.0)
    >>> half = bootstrap_band(lambda rows: abs(values[rows].mean() - values.mean()), np.zeros(100, dtype=int), 0.95)
    >>> bool(4 < half < 8)
    True
    """
    parts = _parts(strata)
    people = min(len(part) for part in parts)
    if people < 2:
        return nan
    found = [distance(rows) for rows in _drawn(parts, replicates, random_state)]
    return float(np.quantile(found, level, method="higher")) / sqrt(1 - 1 / people)


def _parts(strata: npt.NDArray[np.integer]) -> list[Rows]:
    return [np.flatnonzero(strata == code) for code in np.unique(strata)]


def _drawn(parts: list[Rows], replicates: int, random_state: int) -> Iterator[Rows]:
    rng = np.random.default_rng(random_state)
    for _ in range(replicates):
        yield np.concatenate([part[rng.integers(len(part), size=len(part))] for part in parts])


def limits_of(
    centre: float, found: npt.NDArray[np.float64], level: float, scale: Scale = IDENTITY, people: float = inf
) -> tuple[float, float, str]:
    """Limits around an estimate from its replicates, which are on the scale already, and a note where there are none.

    `people` are those of the smallest group that was drawn again, for which spread and degrees of freedom are made up
    as in `limits_of_sides`; what cannot be told apart by group is then at worst too wide.

    >>> import numpy as np
    >>> low, high, note = limits_of(1.0, np.array([0.0, 1.0, 2.0] * 100), 0.95)
    >>> round(high - 1.0, 2), note
    (1.61, '')
    """
    if isnan(centre):
        return nan, nan, ""
    if people < 2:
        return nan, nan, "TOO_FEW"
    replicates = len(found)
    known = found[np.isfinite(found)]
    if len(known) < replicates * (1 - MOST_UNDEFINED):
        return nan, nan, "RESAMPLED"
    spread = float(known.std(ddof=1))
    if not spread > 0:
        return nan, nan, "NO_SPREAD"
    freedom = 1 / (1 / (people - 1) + 1 / (len(known) - 1))
    half = float(stdtrit(freedom, (1 + level) / 2)) * spread / sqrt(1 - 1 / people)
    middle = scale.to(centre)
    return scale.back(middle - half), scale.back(middle + half), ""


def limits_of_sides(
    centre: float, mine: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64], people: tuple[int, int], level: float
) -> tuple[float, float, str]:
    """Limits of the difference of two groups that were drawn apart, from the replicates of each, and a note where
    there are none.

    A group of n drawn again is spread by (n - 1) / n of what it should be, and one person not at all: each side's
    variance is made up for it, and the degrees of freedom are Welch's, with what few replicates leave open.

    >>> import numpy as np
    >>> found = np.array([0.0, 1.0, 2.0] * 100)
    >>> low, high, note = limits_of_sides(0.0, found, found, (10, 10), 0.95)
    >>> round(high, 2), limits_of_sides(0.0, found, found, (1, 10), 0.95)[2]
    (2.57, 'TOO_FEW')
    """
    if isnan(centre):
        return nan, nan, ""
    if min(people) < 2:
        return nan, nan, "TOO_FEW"
    known = np.isfinite(mine) & np.isfinite(theirs)
    draws = int(known.sum()) - 1
    if draws + 1 < len(known) * (1 - MOST_UNDEFINED):
        return nan, nan, "RESAMPLED"
    parts = [float(one[known].var(ddof=1)) * n / (n - 1) for one, n in zip((mine, theirs), people, strict=True)]
    whole = sum(parts)
    if not whole > 0:
        return nan, nan, "NO_SPREAD"
    freedom = whole**2 / sum(part**2 * (1 / (n - 1) + 1 / draws) for part, n in zip(parts, people, strict=True))
    half = float(stdtrit(freedom, (1 + level) / 2)) * sqrt(whole)
    return centre - half, centre + half, ""
