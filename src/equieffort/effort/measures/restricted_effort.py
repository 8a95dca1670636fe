"""Restricted effort: everybody refused counts, those without recourse at the budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.assigned import Unplaced
from equieffort.effort.measures.means import CappedRatio
from equieffort.effort.measures.sample import Sample


@dataclass(frozen=True)
class RestrictedEffort(CappedRatio):
    """The mean of min(effort, budget) over all refused, over the reference group's.

    No route counts as the budget of 2, and so does an effort of 5.

    >>> from equieffort.effort.measures.base import Pair
    >>> mine, theirs = np.array([2, 5, np.inf]), np.array([1, 1, np.inf, 0])
    >>> RestrictedEffort().estimate(Pair(*(Sample.solved(one, budget=2) for one in (mine, theirs))))
    2.0
    """

    name = "restricted_effort"
    title = "Ratio of restricted efforts"
    equation = "mean(min(C, B) | refused, group) / mean(min(C, B) | refused, reference)"
    reference = "Sharma, Henderson and Ghosh 2020 (burden of the refused), with a budget"
    headline_form = "Counting everybody refused, {worse} face more effort than {other}."
    words_form = (
        "Counting everybody refused, those without a route to approval at the budget, {group} face {value} times the "
        "effort of {against}"
    )

    def side(self, sample: Sample) -> Side:
        """All refused, at most at the budget."""
        s = sample.stats
        return Side(s.capped, s.capped_bounds, s.capped)

    def values(self, people: Sample | Unplaced, budget: float | None) -> Floats:
        """At most the budget; nothing without one."""
        return np.empty(0) if budget is None else np.minimum(people.efforts, budget)
