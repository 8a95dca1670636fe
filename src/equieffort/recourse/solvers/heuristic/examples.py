"""What a problem's examples tell a search before it begins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.cost import LinearCost

SHARES = np.linspace(0.0, 1.0, 9)
"""Where single features are looked at first: these quantiles of the data."""


@dataclass(frozen=True, eq=False)
class Examples:
    """What the problem's examples say: how far values reach, and who was decided favourably."""

    quantiles: Floats
    """(share, number): of the actionable numbers."""
    spread: Floats
    good: Floats
    """(person, actionable feature): the favourably decided, encoded."""

    @classmethod
    def of(cls, problem: RecourseProblem) -> Examples:
        """What the examples say; the model is asked about them."""
        numbers, cost = list(problem.numeric), problem.cost
        unit = np.ones(len(numbers))
        if isinstance(cost, LinearCost) and not cost.own:
            unit = 1.0 / np.minimum(cost.up, cost.down)
        if len(problem.examples) == 0:
            return cls(np.empty((0, len(numbers))), unit, np.empty((0, len(problem.acts))))
        people = problem.encoding.encode(problem.examples)
        quantiles = np.quantile(people[:, numbers], SHARES, axis=0).reshape(len(SHARES), len(numbers))
        spread = quantiles[-1] - quantiles[0]
        good = people[problem.decision.is_favourable(frame_of(problem, people))]
        return cls(quantiles, np.where(spread > 0, spread, unit), good[:, list(problem.acts)])


def frame_of(problem: RecourseProblem, moved: Floats) -> pd.DataFrame:
    """The columns that the model sees, with the types they have in the data."""
    places = {name: problem.encoding.position(name) for name in problem.decision.features}
    return pd.DataFrame({name: problem.encoding.columns[k].decode(moved[:, k]) for name, k in places.items()})
