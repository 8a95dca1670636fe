"""Voting: several trees or forests that vote, or whose probabilities are averaged, as one sum of trees."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.pipeline import walk
from equieffort.models.classifiers.splits import Columns, Part
from equieffort.models.classifiers.tree_ensemble import Ensemble
from equieffort.models.classifiers.trees import TREES, mean_of_trees, with_threshold
from equieffort.models.classifiers.unwrap import Unwrapped, transformers
from equieffort.models.classifiers.views import NoView, TreeView


def voting_view(opened: Unwrapped, decision: Decision) -> TreeView:
    """The view of a VotingClassifier over trees or, when it averages probabilities, over forests."""
    final = opened.final
    given = final._weights_not_none
    weights = np.ones(len(final.estimators_)) if given is None else np.asarray(given, dtype=np.float64)
    hard = final.voting == "hard"
    parts: list[Part] = []
    for member, weight in zip(final.estimators_, weights, strict=True):
        affine, last = walk(member, opened.affine)
        columns = Columns(decision, affine, (*opened.steps, *transformers(member)), {})
        if hard and type(last).__name__ not in TREES:
            raise NoView(f"its members cast one vote each, and {type(last).__name__} is not a single tree")
        ensemble = mean_of_trees(last, columns)
        for part in ensemble.parts:
            values = _votes(part.values) if hard else part.values / ensemble.divisor
            parts.append(replace(part, values=weight * _placed(values, last, opened.classes)))
    divisor = 1.0 if hard else float(weights.sum())
    voted = Ensemble(tuple(parts), np.zeros(opened.classes), divisor, followed=hard)
    return voted.largest_score(opened) if opened.cut is None else with_threshold(voted, opened)


def _votes(values: Floats) -> Floats:
    """One for the likeliest class, the first of equals."""
    votes = np.zeros_like(values)
    votes[np.arange(len(values)), np.argmax(values, axis=1)] = 1.0
    return votes


def _placed(values: Floats, last: Any, classes: int) -> Floats:
    if values.shape[1] != classes:
        raise NoView(f"one of its members knows {values.shape[1]} of {classes} classes")
    return values
