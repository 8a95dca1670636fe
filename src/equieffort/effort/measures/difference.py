"""Difference of average efforts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equieffort.effort.inference import Law
from equieffort.effort.inference.means import compare_means
from equieffort.effort.measures.acr import acting
from equieffort.effort.measures.assigned import Assigned, Unplaced, finite, of_means
from equieffort.effort.measures.base import Measure, Pair


@dataclass(frozen=True)
class EffortDifference(Measure):
    """The group's average effort minus the reference group's: defined also where the ratio is not.

    >>> from equieffort.effort.measures.sample import Sample
    >>> EffortDifference().estimate(Pair(Sample.solved(np.array([1, 3])), Sample.solved(np.array([0, 0, np.inf]))))
    2.0
    """

    name = "difference"
    title = "Difference of average efforts"
    equation = "mean(C | refused, recourse, group) - mean(C | refused, recourse, reference)"
    reference = "von Kügelgen et al. 2022 (its group-level notion, with a sign)"
    adds = True
    basis = "acting"

    def estimate(self, pair: Pair) -> float:
        """Phi of the group minus Phi of the other."""
        return pair.mine.stats.phi - pair.theirs.stats.phi

    def law(self, pair: Pair, level: float) -> Law | None:
        """Welch's."""
        return compare_means(acting(pair.mine), acting(pair.theirs), level, ratio=False)

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned:
        """Exact for people with the same choices."""
        known = finite(pair.mine), finite(pair.theirs)
        return of_means(known, [(part, finite(part)) for part in people], np.subtract)

    def notes(self, pair: Pair) -> tuple[str, ...]:
        """Whether a few people carry a mean."""
        return ("SKEWED",) if pair.mine.is_skewed or pair.theirs.is_skewed else ()
