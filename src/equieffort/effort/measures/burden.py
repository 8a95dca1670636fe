"""Burden: everybody counts, the approved with nothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference.means import Side
from equieffort.effort.measures.assigned import Unplaced
from equieffort.effort.measures.means import CappedRatio
from equieffort.effort.measures.sample import Sample


@dataclass(frozen=True)
class Burden(CappedRatio):
    """The mean of min(effort, budget) over everybody, the approved with 0, over the reference group's.

    With a budget of 2 each of two groups carries 3 in all, spread over three people here and over six there.

    >>> from equieffort.effort.measures.base import Pair
    >>> mine = Sample.solved(np.array([1, np.inf]), approved=1, budget=2)
    >>> Burden().estimate(Pair(mine, Sample.solved(np.array([1, 2]), approved=4, budget=2)))
    2.0
    """

    name = "burden"
    title = "Ratio of burdens"
    equation = "mean(min(C, B) 1{refused} | group) / mean(min(C, B) 1{refused} | reference)"
    reference = "Sharma, Henderson and Ghosh 2020"
    basis = "people"
    headline_form = "Counting everybody, {worse} carry a larger burden of effort than {other}."
    words_form = (
        "Counting everybody, the approved with no effort, the average burden of {group} is {value} times that of "
        "{against}"
    )

    def side(self, sample: Sample) -> Side:
        """The refused at most at the budget, and the approved with 0."""
        s = sample.stats
        approved = s.n - s.n_unfavourable
        if s.budget is None:
            return Side(s.capped, s.capped_bounds, s.capped)
        capped = s.capped.with_more(approved, 0.0)
        return Side(capped, s.capped_bounds.with_more(approved, 0.0), capped)

    def values(self, people: Sample | Unplaced, budget: float | None) -> Floats:
        """At most the budget, and 0 for the approved; nothing without one."""
        if budget is None:
            return np.empty(0)
        return np.append(np.minimum(people.efforts, budget), np.zeros(people.approved))

    def carriers(self, sample: Sample) -> int:
        """The refused: whoever is approved adds nothing."""
        return sample.stats.n_unfavourable
