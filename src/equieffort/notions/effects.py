"""What each direct cause of the decision does to it: the share approved, were the feature set so for everybody."""

from __future__ import annotations

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.recourse.counterfactuals import with_columns
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.distances import Effect

VALUES = 33
"""Of a number with more values the share is asked for at so many, evenly picked in rank, the ends included."""
ASKED = 500
"""So many people at most the share is over, drawn at random."""


def direct_causes(problem: RecourseProblem) -> tuple[str, ...]:
    """The features that the model reads, without the protected ones."""
    protected = problem.schema.protected_columns
    return tuple(name for name in problem.decision.features if name not in protected)


def effects_of(problem: RecourseProblem, data: pd.DataFrame, random_state: int = 0) -> tuple[Effect, ...]:
    """For each direct cause E[h(X with q := v)] at its values v, all other features as people have them.

    Nothing follows from q: what it causes is a direct cause itself if the model reads it, and has its own effect.
    """
    frame = data
    if len(data) > ASKED:
        rows = np.sort(np.random.default_rng(random_state).choice(len(data), ASKED, replace=False))
        frame = data.iloc[rows]
    found = []
    for name in direct_causes(problem):
        column = problem.encoding[name]
        values = _picked(column.encode(data[name]))
        if not len(values):
            continue
        # All values in one question: a model is asked once a feature.
        asked = frame.iloc[np.tile(np.arange(len(frame)), len(values))].set_axis(
            pd.RangeIndex(len(frame) * len(values))
        )
        asked = with_columns(asked, {name: column.decode(np.repeat(values, len(frame)))})
        shares = problem.decision.is_favourable(asked).reshape(len(values), len(frame)).mean(axis=1)
        found.append(Effect(name, tuple(values.tolist()), tuple(shares.tolist())))
    return tuple(found)


def _picked(values: Floats) -> Floats:
    known = np.unique(values[~np.isnan(values)])
    if len(known) <= VALUES:
        return known
    ordered = np.sort(values[~np.isnan(values)])
    return np.unique(ordered[np.linspace(0, len(ordered) - 1, VALUES).round().astype(np.intp)])
