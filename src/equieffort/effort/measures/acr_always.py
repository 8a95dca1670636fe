"""Bounds on ACR among those who would have a route to approval in either group.

ACR compares those with recourse in one group with those in the other, and the group in which fewer have it may have
kept only its cheapest. Two assumptions that no data can show make bounds possible: the refused of both groups are
exchangeable but for the group, and whoever has recourse in the group with the lower share has it in the other too.

Half of the group have a route and all of the reference: the group's mean of 4 is held against the cheapest half of the
reference, a mean of 2, and against the dearest, a mean of 8.

>>> mine, theirs = Sample.solved(np.array([3, 5, np.inf, np.inf])), Sample.solved(np.array([1, 3, 7, 9]))
>>> AlwaysLeast().estimate(Pair(mine, theirs)), AlwaysMost().estimate(Pair(mine, theirs))
(0.5, 2.0)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, isnan, log, nan, sqrt

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference import LOG, Law, Student
from equieffort.effort.measures.assigned import Assigned, Unplaced, finite
from equieffort.effort.measures.base import Measure, Pair
from equieffort.effort.measures.sample import Sample


@dataclass(frozen=True)
class _Trimmed:
    """The mean of a share of the sorted efforts from one end, and its variance over its squared mean."""

    mean: float
    variance: float
    k: float


def _trimmed(values: Floats, share: float, change: float, *, lowest: bool) -> _Trimmed:
    """`change` is the variance of the share itself, relative to its square."""
    f = len(values)
    k = share * f
    whole = min(f, max(1, ceil(k - 1e-9)))
    end = float(values[whole - 1] if lowest else values[f - whole])
    cut = np.minimum(values, end) if lowest else np.maximum(values, end)
    mean = (float(np.sum(cut)) - (f - k) * end) / k
    if not mean > 0:
        return _Trimmed(nan, nan, k)
    variance = float(cut.var(ddof=1)) / (f * share**2 * mean**2) if f > 1 else nan
    moved = ((end - mean) / mean) ** 2 * change if share < 1 else 0.0
    return _Trimmed(mean, variance + moved, k)


def _bound(mine: Sample, theirs: Sample, *, lowest: bool) -> tuple[float, float, float]:
    """log(Phi of mine / trimmed mean of theirs), standard error, degrees of freedom; mine has the lower share."""
    a, b = mine.stats, theirs.stats
    trimmed = _trimmed(theirs.finite, a.rho / b.rho, (1 - a.rho) / a.n_acting + (1 - b.rho) / b.n_acting, lowest=lowest)
    costs = a.costs
    if isnan(trimmed.mean) or not costs.mean > 0:
        return nan, nan, nan
    estimate = log(costs.mean / trimmed.mean)
    if costs.n < 2 or b.n_acting < 2:
        return estimate, nan, nan
    v = costs.variance / (costs.n * costs.mean**2), trimmed.variance
    below = v[0] ** 2 / (costs.n - 1) + v[1] ** 2 / max(trimmed.k - 1, 1)
    return estimate, sqrt(v[0] + v[1]), (v[0] + v[1]) ** 2 / below if below > 0 else nan


@dataclass(frozen=True)
class _Always(Measure):
    """One of the two bounds."""

    reference = "Lee 2009 (trimming bounds); Zhang and Rubin 2003"
    equation = "mean(C | refused, recourse, group) / trimmed mean(C | refused, recourse, reference)"
    scale = LOG
    neutral = 1.0
    is_bound = True
    basis = "acting"
    form = "{:.2f}"
    greatest = False

    def _found(self, pair: Pair) -> tuple[float, float, float]:
        mine, theirs = pair.mine.as_found, pair.theirs.as_found
        if not mine.stats.n_acting or not theirs.stats.n_acting:
            return nan, nan, nan
        if mine.stats.rho <= theirs.stats.rho:
            # The cheapest of the others make the ratio greatest.
            return _bound(mine, theirs, lowest=self.greatest)
        estimate, se, df = _bound(theirs, mine, lowest=not self.greatest)
        return -estimate, se, df

    def estimate(self, pair: Pair) -> float:
        """The bound itself."""
        return LOG.back(self._found(pair)[0])

    def law(self, pair: Pair, level: float) -> Law | None:
        """By the delta method; the share that is trimmed is itself estimated."""
        estimate, se, df = self._found(pair)
        return Student(estimate, se, df) if se > 0 and df > 0 else None

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned | None:
        """Every assignment where these are few; else no mean lies beyond the efforts it is made of."""
        if (tried := super().assigned(pair, people)) is not None:
            return tried
        mine, theirs = (
            np.concatenate([finite(known), *(finite(one) for one in people if side in one.sides)])
            for side, known in enumerate((pair.mine, pair.theirs))
        )
        if not len(mine) or not len(theirs):
            return Assigned()
        with np.errstate(divide="ignore", invalid="ignore"):
            return Assigned(float(mine.min() / theirs.max()), float(np.divide(mine.max(), theirs.min())), True)

    def notes(self, pair: Pair) -> tuple[str, ...]:
        """Ranges of people not solved to the end are not in it."""
        return ("UNCERTIFIED",) if pair.mine.is_open or pair.theirs.is_open else ()

    def why_not(self, pair: Pair) -> str:
        """Nobody with recourse, or no effort."""
        return super().why_not(pair) or "ZERO_EFFORT"


@dataclass(frozen=True)
class AlwaysLeast(_Always):
    """The least that ACR can be among those who would have recourse in either group."""

    name = "acr_always_min"
    title = "ACR among those with recourse in either group, at least"


@dataclass(frozen=True)
class AlwaysMost(_Always):
    """The most that ACR can be among those who would have recourse in either group."""

    name = "acr_always_max"
    title = "ACR among those with recourse in either group, at most"
    greatest = True
