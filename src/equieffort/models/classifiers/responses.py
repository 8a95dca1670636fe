"""From a model's score to the outcome people want: its own label, or a declared threshold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools
from equieffort.models.classifiers.decision_threshold import DecisionThreshold
from equieffort.models.classifiers.unwrap import Unwrapped
from equieffort.models.classifiers.views import NoView

Array = npt.NDArray[Any]


def answer_of(
    opened: Unwrapped, second: Callable[[Array], Any], chances: Callable[[Array], Any], decided: Callable[[Array], Any]
) -> Callable[[Array], Bools]:
    """Whether a score of the second of two classes means the outcome people want.

    `second` says where it means the second class, `chances` and `decided` what predict_proba and decision_function are.
    """
    if opened.classes != 2:
        raise NoView(f"it has one score for {opened.classes} classes")
    cut = opened.cut
    if cut is None:
        return lambda scores: np.asarray(second(scores), dtype=bool) == (opened.wanted == (1,))
    if len(cut.positions) != 1:
        raise NoView("its threshold is on both classes")
    (position,) = cut.positions

    def answer(scores: Array) -> Bools:
        if cut.response == "predict_proba":
            response = np.asarray(chances(scores))[:, position]
        else:
            response = np.asarray(decided(scores)) * (1 if position == 1 else -1)
        return np.asarray((response >= cut.threshold) == cut.above)

    return answer


def forest_answer(cut: DecisionThreshold, divisor: float) -> Callable[[Array], Bools]:
    """Whether a sum of probabilities over trees means the outcome people want."""
    if cut.response != "predict_proba":
        raise NoView("a mean of trees has probabilities, and no decision function")

    def answer(sums: Array) -> Bools:
        return np.asarray((sums / divisor >= cut.threshold) == cut.above)

    return answer
