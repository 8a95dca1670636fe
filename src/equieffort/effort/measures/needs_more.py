"""The probability of needing more effort."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, nan

from equieffort.effort.inference import LOGIT, Law, Ranged
from equieffort.effort.inference.orders import compare_orders, probability
from equieffort.effort.measures.assigned import Assigned, Unplaced, of_placements
from equieffort.effort.measures.base import Measure, Pair


@dataclass(frozen=True)
class NeedsMore(Measure):
    """How likely a refused person of the group needs more effort than a refused person of the reference group.

    Nobody is left out: no route to approval is more than any effort, and as much as no route.

    >>> import numpy as np
    >>> from equieffort.effort.measures.sample import Sample
    >>> NeedsMore().estimate(Pair(Sample.solved(np.array([2, np.inf])), Sample.solved(np.array([1, np.inf]))))
    0.625
    """

    name = "needs_more"
    title = "Probability of needing more effort"
    equation = "P(C_group > C_reference) + P(C_group = C_reference) / 2, both refused"
    reference = "Brunner and Munzel 2000; Newcombe 2006"
    scale = LOGIT
    neutral = 0.5
    unit = " %"
    words_form = "Paired with refused {against}, refused {group} need more effort in {value} of pairs"

    def estimate(self, pair: Pair) -> float:
        """From everybody's placement among the others."""
        mine, theirs = pair.mine.efforts, pair.theirs.efforts
        return probability(mine, theirs) if len(mine) and len(theirs) else nan

    def law(self, pair: Pair, level: float) -> Law | None:
        """It rises with every effort of the group and falls with every effort of the other, so two corners do."""
        mine, theirs = pair.mine, pair.theirs
        if min(len(mine.efforts), len(theirs.efforts)) < 2:
            return None
        here = compare_orders(mine.efforts, theirs.efforts)
        if pair.is_settled:
            return here
        below, above = compare_orders(mine.bounds, theirs.efforts), compare_orders(mine.efforts, theirs.bounds)
        return Ranged(here.estimate, (below,), (above,))

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned:
        """Exact for people with the same choices."""
        return of_placements((pair.mine.efforts, pair.theirs.efforts), people)

    def show(self, value: float) -> str:
        """As a percentage."""
        return "-" if isnan(value) else f"{value * 100:.0f}{self.unit}"
