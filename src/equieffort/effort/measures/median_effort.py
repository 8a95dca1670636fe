"""Ratio of median efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isinf, isnan, nan

from equieffort.data.frames import Floats
from equieffort.effort.inference import LOG, Law, Ranged
from equieffort.effort.inference.orders import median, median_limits
from equieffort.effort.inference.shares import mover
from equieffort.effort.measures.assigned import Assigned, Unplaced, of_medians
from equieffort.effort.measures.base import Measure, Pair


@dataclass(frozen=True)
class MedianEffort(Measure):
    """The median effort of all refused, no route to approval being infinite, over the reference group's.

    >>> import numpy as np
    >>> from equieffort.effort.measures.sample import Sample
    >>> MedianEffort().estimate(Pair(Sample.solved(np.array([1, 6, np.inf])), Sample.solved(np.array([1, 2, 9]))))
    3.0
    """

    name = "median_effort"
    title = "Ratio of median efforts, no route being infinite"
    equation = "median(C | refused, group) / median(C | refused, reference)"
    reference = "Hettmansperger and Sheather 1986; Zou and Donner 2008 (MOVER)"
    scale = LOG
    neutral = 1.0
    threshold = "tau"
    headline_form = (
        "The median effort of all refused {worse}, no route being infinite, is larger than that of refused {other}."
    )
    words_form = (
        "The median effort of all refused {group}, no route being infinite, is {value} times that of all refused "
        "{against}"
    )

    def estimate(self, pair: Pair) -> float:
        """The ratio; 0 or infinite where half of one group has no recourse, NaN where half of both."""
        return _ratio(pair.mine.efforts, pair.theirs.efforts)

    def law(self, pair: Pair, level: float) -> Law | None:
        """Limits of both medians, combined on the log scale; it is monotone in every effort."""
        mine, theirs = pair.mine, pair.theirs
        if min(len(mine.efforts), len(theirs.efforts)) < 2 or self.notes(pair):
            return None
        here = _law(mine.efforts, theirs.efforts)
        if pair.is_settled:
            return here
        return Ranged(here.estimate, (_law(mine.bounds, theirs.efforts),), (_law(mine.efforts, theirs.bounds),))

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned:
        """Exact for people with the same choices."""
        return of_medians((pair.mine.efforts, pair.theirs.efforts), people)

    def notes(self, pair: Pair) -> tuple[str, ...]:
        """Whether a median is infinite."""
        sides = (pair.mine.efforts, pair.theirs.efforts)
        return ("MEDIAN_INFINITE",) if any(len(one) and isinf(median(one)) for one in sides) else ()

    def why_not(self, pair: Pair) -> str:
        """Infinite in both groups, or zero."""
        return super().why_not(pair) or (self.notes(pair) or ("ZERO_EFFORT",))[0]

    def show(self, value: float) -> str:
        """With two digits after the point."""
        return "-" if isnan(value) else "infinitely many" if isinf(value) else f"{value:.2f}"


def _ratio(mine: Floats, theirs: Floats) -> float:
    if not len(mine) or not len(theirs):
        return nan
    a, b = median(mine), median(theirs)
    if (isinf(a) and isinf(b)) or not a > 0 or not b > 0:
        return nan
    return inf if isinf(a) else a / b


def _law(mine: Floats, theirs: Floats) -> Law:
    return mover(
        median(mine), median(theirs), lambda z: median_limits(mine, z), lambda z: median_limits(theirs, z)
    )  # fmt: skip
