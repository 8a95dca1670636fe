"""Calibration: a calibrated probability is monotone in the score below it, so a threshold on it is one on the score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.models.classifiers.decision_threshold import DecisionThreshold, Response
from equieffort.models.classifiers.floats import turning_point
from equieffort.models.classifiers.views import NoView, require_plain


def uncalibrated(step: Any, wanted: tuple[int, ...], cut: DecisionThreshold | None) -> tuple[Any, DecisionThreshold]:
    """The estimator under scikit-learn's CalibratedClassifierCV, and the threshold on its score that decides alike."""
    members = step.calibrated_classifiers_
    if len(members) != 1:
        raise NoView(
            f"CalibratedClassifierCV takes the mean of {len(members)} models; with ensemble=False there is only one"
        )
    if len(step.classes_) != 2:
        raise NoView(f"CalibratedClassifierCV calibrates {len(step.classes_)} classes, each on its own")
    member = members[0]
    require_plain(member, *member.calibrators, library="sklearn")
    inner = member.estimator
    response: Response = "decision_function" if hasattr(inner, "decision_function") else "predict_proba"
    chances = _Chances(member, response)
    second = _second(chances, cut)
    low, high = (0.0, 1.0) if response == "predict_proba" else (-1e30, 1e30)
    rises, level = turning_point(second, low, high, np.float64)
    _check_monotone(second, member, rises, level, response)
    above = wanted == (1,) if cut is None else cut.above
    if not rises:
        # Yes up to a level is no from the next float on.
        level, above = float(np.nextafter(level, np.inf)), not above
    return inner, DecisionThreshold((1,), level, response, above)


def _second(chances: Callable[[Floats], Floats], cut: DecisionThreshold | None) -> Callable[[Floats], Bools]:
    """Whether a score means the second class or, with a threshold, that it is reached."""
    if cut is None:
        return lambda scores: np.argmax(chances(scores), axis=1) == 1
    if cut.response != "predict_proba" or len(cut.positions) != 1:
        raise NoView("its threshold is not on a calibrated probability")
    (position,), threshold = cut.positions, cut.threshold
    return lambda scores: np.asarray(chances(scores)[:, position] >= threshold)


def _deciding() -> Any:
    """A classifier whose decision function is its only column."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Deciding(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def decision_function(self, X: Floats) -> Floats:
            return X[:, 0]

    return Deciding()


def _guessing() -> Any:
    """A classifier whose only column is the probability of its second class."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Guessing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        def predict_proba(self, X: Floats) -> Floats:
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    return Guessing()


class _Chances:
    """What a calibrated classifier makes of the scores of its estimator: asked itself, with scores in its place."""

    def __init__(self, member: Any, response: Response) -> None:
        self.member, self.response = member, response

    def __call__(self, scores: Floats) -> Floats:
        member_like = _deciding() if self.response == "decision_function" else _guessing()
        member_like.classes_ = self.member.estimator.classes_
        asked = type(self.member)(
            member_like, self.member.calibrators, classes=self.member.classes, method=self.member.method
        )
        with np.errstate(over="ignore"):
            return np.asarray(asked.predict_proba(np.asarray(scores, dtype=np.float64)[:, None]))


def _check_monotone(
    second: Callable[[Floats], Bools], member: Any, rises: bool, level: float, response: Response
) -> None:
    """An isotonic curve is steps and ramps: on each knot, and beside it, the answer must be that of the level."""
    knots = getattr(member.calibrators[0], "X_thresholds_", None)
    if knots is None:
        return
    knots = np.asarray(knots, dtype=np.float64)
    probes = np.concatenate([knots, np.nextafter(knots, -np.inf), np.nextafter(knots, np.inf)])
    if response == "predict_proba":
        probes = probes[(probes >= 0.0) & (probes <= 1.0)]
    expected = probes >= level if rises else probes <= level
    if len(probes) and (second(probes) != expected).any():
        raise NoView("its calibrated probability is not monotone in its score")
