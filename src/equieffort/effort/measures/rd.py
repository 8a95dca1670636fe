"""Recourse discrepancy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference import Law, Ranged
from equieffort.effort.inference.shares import difference
from equieffort.effort.measures.assigned import Assigned, Unplaced, of_means
from equieffort.effort.measures.base import Measure, Pair
from equieffort.effort.measures.sample import Sample


@dataclass(frozen=True)
class RecourseDiscrepancy(Measure):
    """RD: the share of the reference group's refused who have a route to approval, minus the group's.

    >>> mine, theirs = Sample.solved(np.array([1, np.inf])), Sample.solved(np.array([1, 2, 3, np.inf]))
    >>> RecourseDiscrepancy().estimate(Pair(mine, theirs))
    0.25
    """

    name = "rd"
    title = "Gap in possible recourse (RD)"
    equation = "P(recourse | refused, reference) - P(recourse | refused, group)"
    reference = "Raimondi, Lawrence and Chockler 2022; interval: Newcombe 1998"
    adds = True
    threshold = "epsilon"
    unit = " points"
    headline_form = "Refused {worse} more often have no route to approval than refused {other}."
    words_form = (
        "The share with a route to approval is {value} lower among refused {group} than among refused {against}"
    )

    def estimate(self, pair: Pair) -> float:
        """The difference of two shares."""
        mine, theirs = pair.mine.stats, pair.theirs.stats
        if not mine.n_unfavourable or not theirs.n_unfavourable:
            return nan
        return difference((mine.n_acting, mine.n_unfavourable), (theirs.n_acting, theirs.n_unfavourable)).estimate

    def law(self, pair: Pair, level: float) -> Law | None:
        """Newcombe's, between the least and the most that the unknown allow."""
        mine, theirs = pair.mine.stats, pair.theirs.stats
        a, b, u_a, u_b = mine.n_acting, theirs.n_acting, mine.n_unknown, theirs.n_unknown
        r_a, r_b = mine.n_unfavourable, theirs.n_unfavourable
        here = difference((a, r_a), (b, r_b))
        if not u_a and not u_b:
            return here
        below, above = difference((a + u_a, r_a), (b, r_b)), difference((a, r_a), (b + u_b, r_b))
        return Ranged(here.estimate, (below,), (above,))

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned:
        """Exact for people with the same choices; it falls as more of the group have a route."""
        known = _routes(pair.mine), _routes(pair.theirs)
        found = of_means(known, [(part, _routes(part)) for part in people], np.subtract)
        return Assigned(0.0 - found.most, 0.0 - found.least, found.is_outer)

    def show(self, value: float) -> str:
        """In percentage points."""
        return "-" if isnan(value) else f"{value * 100:.1f}{self.unit}"


def _routes(people: Sample | Unplaced) -> Floats:
    """1 for each refused person with a route to approval, 0 for the others."""
    return np.isfinite(people.efforts).astype(np.float64)
