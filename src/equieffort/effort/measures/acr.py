"""Average cost ratio."""

from __future__ import annotations

from dataclasses import dataclass

from equieffort.data.frames import Floats
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.assigned import Unplaced, finite
from equieffort.effort.measures.base import Pair
from equieffort.effort.measures.means import RatioOfMeans
from equieffort.effort.measures.sample import Sample


@dataclass(frozen=True)
class AverageCostRatio(RatioOfMeans):
    """ACR: the average effort of the refused who have a route to approval, over the reference group's.

    Efforts of 1 and 3 against 1; whoever has no route is in neither mean.

    >>> import numpy as np
    >>> AverageCostRatio().estimate(Pair(Sample.solved(np.array([1, 3, np.inf])), Sample.solved(np.array([1, 1]))))
    2.0
    """

    name = "acr"
    title = "Ratio of average efforts (ACR)"
    equation = "mean(C | refused, recourse, group) / mean(C | refused, recourse, reference)"
    reference = "Raimondi, Lawrence and Chockler 2022"
    basis = "acting"
    headline_form = "Refused {worse} who have a route to approval need more effort than refused {other} who have one."
    words_form = (
        "Refused {group} who have a route to approval need {value} times the effort of refused {against} who have one"
    )

    def side(self, sample: Sample) -> Side:
        """The efforts of those with an action."""
        return acting(sample)

    def values(self, people: Sample | Unplaced, budget: float | None) -> Floats:
        """The efforts of those with an action."""
        return finite(people)

    def notes(self, pair: Pair) -> tuple[str, ...]:
        """Whether a few people carry a mean."""
        return ("SKEWED",) if pair.mine.is_skewed or pair.theirs.is_skewed else ()


def acting(sample: Sample) -> Side:
    """The efforts of those with an action, and of those of whom nothing is known the range."""
    s = sample.stats
    return Side(s.costs, s.bounds, s.costs, s.n_unknown, s.least_unknown, s.most_unknown)
