"""What the ratios of average efforts share."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from math import nan
from typing import ClassVar

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference import LOG, Fixed, Law
from equieffort.effort.inference.means import Side, compare_guarded, compare_means
from equieffort.effort.measures.assigned import Assigned, Unplaced, of_means
from equieffort.effort.measures.base import Measure, Pair, Threshold
from equieffort.effort.measures.sample import Sample


class RatioOfMeans(Measure):
    """The mean of one group over that of the other, by Welch's method on the log scale."""

    scale = LOG
    neutral = 1.0
    adds = True
    form = "{:.2f}"
    threshold: ClassVar[Threshold | None] = "tau"

    @abstractmethod
    def side(self, sample: Sample) -> Side:
        """The sums whose means are compared."""

    @abstractmethod
    def values(self, people: Sample | Unplaced, budget: float | None) -> Floats:
        """What each person adds to them, as found."""

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned:
        """Exact for people with the same choices."""
        known = self.values(pair.mine, pair.budget), self.values(pair.theirs, pair.budget)
        parts = [(part, self.values(part, pair.budget)) for part in people]
        return of_means(known, parts, np.divide, ratio=True)

    def estimate(self, pair: Pair) -> float:
        """The ratio; NaN if either mean is undefined or zero: with the groups swapped it would be, too."""
        mine, theirs = self.side(pair.mine).sums.mean, self.side(pair.theirs).sums.mean
        return mine / theirs if mine > 0 and theirs > 0 else nan

    def law(self, pair: Pair, level: float) -> Law | None:
        """Welch's, or the guarded one of small neighbourhoods."""
        mine, theirs = self.side(pair.mine), self.side(pair.theirs)
        compare = compare_guarded if pair.guarded else compare_means
        return compare(mine, theirs, level, ratio=True)

    def why_not(self, pair: Pair) -> str:
        """No people, or nobody who needs any effort."""
        return super().why_not(pair) or "ZERO_EFFORT"


class CappedRatio(RatioOfMeans):
    """A ratio in which everybody counts, at most at the budget."""

    def why_not(self, pair: Pair) -> str:
        """Or there is no budget."""
        found = super().why_not(pair)
        return "NO_BUDGET" if found == "ZERO_EFFORT" and pair.budget is None else found

    def law(self, pair: Pair, level: float) -> Law | None:
        """Where all efforts are equal, what a share of people nobody saw could change by counting at the budget."""
        found, budget = super().law(pair, level), pair.budget
        sides = self.side(pair.mine), self.side(pair.theirs)
        if not isinstance(found, Fixed) or budget is None or not all(side.is_settled for side in sides):
            return found
        ends = []
        for side in sides:
            # The largest share that so many people would miss with the chance (1 - level) / 2.
            unseen = 1 - ((1 - level) / 2) ** (1 / side.sums.n)
            low = (1 - unseen) * side.sums.mean
            ends.append((low, low + unseen * budget))
        (low, high), (other_low, other_high) = ends
        return replace(found, low=LOG.to(low / other_high), high=LOG.to(high / other_low))
