"""Opened: a classifier without its pipeline and without wrappers that only move its threshold or its scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Encoding
from equieffort.foundations.genuine import LIBRARIES
from equieffort.models.classifiers.calibration import uncalibrated
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.decision_threshold import DecisionThreshold
from equieffort.models.classifiers.pipeline import Affine, walk
from equieffort.models.classifiers.views import NoView, require_plain


@dataclass(frozen=True, eq=False)
class Unwrapped:
    """The estimator that decides, the columns it gets, and what is wanted of it."""

    final: Any
    affine: Affine
    classes: int
    wanted: tuple[int, ...]
    """Positions of the wanted labels among the classes."""
    cut: DecisionThreshold | None
    """None when the estimator's own label decides."""
    steps: tuple[Any, ...] = ()
    """The transformers before the estimator, in order: what it gets is what they give."""

    def orient(self, link: Callable[[float], float]) -> tuple[float, float, bool]:
        """A score of the second of two classes as a margin: (sign, shift, closed), margin = sign * score + shift.

        `link` gives the score at which the second class has a given probability.
        """
        if self.classes != 2:
            raise NoView(f"it chooses between {self.classes} classes")
        if self.cut is None:
            # The second class is given above zero, the first at and below it.
            return (1.0, 0.0, False) if self.wanted == (1,) else (-1.0, 0.0, True)
        (position,) = self.cut.positions
        level = self.cut.threshold
        if self.cut.response == "predict_proba":
            level = link(level) if position == 1 else -link(1.0 - level)
        if not np.isfinite(level):
            raise NoView(f"its threshold {self.cut.threshold:g} is not between 0 and 1")
        sign = 1.0 if (position == 1) == self.cut.above else -1.0
        return sign, -level if self.cut.above else level, self.cut.above


def unwrap(decision: Decision, encoding: Encoding) -> Unwrapped:
    """Follow pipelines and take off wrappers; raises `NoView` where a step cannot be followed."""
    step: Any = decision.classifier
    classes = getattr(step, "classes_", None)
    if classes is None:
        raise NoView(f"{type(step).__name__} does not say which classes it has")
    known = np.asarray(classes).tolist()
    wanted = tuple(known.index(label) for label in decision.wanted)
    cut = None
    if decision.threshold is not None:
        cut = DecisionThreshold(wanted, decision.threshold, "predict_proba", True)
    affine = Affine.identity(encoding, decision.features)
    steps: tuple[Any, ...] = ()
    while True:
        steps += transformers(step)
        affine, step = walk(step, affine)
        _require_known(step)
        if _is(step, "CalibratedClassifierCV"):
            step, cut = uncalibrated(step, wanted, cut)
        elif _is(step, "FixedThresholdClassifier", "TunedThresholdClassifierCV"):
            if cut is None:
                cut = _cut(step, wanted)
            step = step.estimator_
        elif _is(step, "FrozenEstimator"):
            step = step.estimator
        else:
            return Unwrapped(step, affine, len(known), wanted, cut, steps)


def _require_known(step: Any) -> None:
    """Raises `NoView` for what is built on a class that is known, or calls itself one, and is not that class."""
    if any(parent.__module__.split(".")[0] in LIBRARIES and not _is_base(parent) for parent in type(step).__mro__):
        require_plain(step)


def _is_base(cls: type) -> bool:
    """Whether a class is made to build estimators on: it decides nothing itself."""
    return cls.__module__ == "sklearn.base" or cls.__module__.startswith("sklearn.utils.")


def transformers(step: Any) -> tuple[Any, ...]:
    """The transformers of a pipeline, also of one at the end of another; none if it is no pipeline."""
    from sklearn.pipeline import Pipeline

    if not isinstance(step, Pipeline):
        return ()
    return (*(inner for _, inner in step.steps[:-1] if inner not in (None, "passthrough")), *transformers(step[-1]))


def logit(chance: float) -> float:
    """The score at which a logistic model gives this probability.

    >>> logit(0.5), round(logit(0.62), 6)
    (0.0, 0.489548)
    """
    if not 0.0 < chance < 1.0:
        return float("inf") if chance >= 1.0 else float("-inf")
    return float(np.log(chance) - np.log1p(-chance))


def _is(step: Any, *names: str) -> bool:
    return type(step).__module__.startswith("sklearn.") and type(step).__name__ in names


def _cut(step: Any, wanted: tuple[int, ...]) -> DecisionThreshold:
    """The threshold of one of scikit-learn's wrappers: its positive label at and above it."""
    response = step.response_method
    if response == "auto":
        response = "predict_proba" if hasattr(step.estimator_, "predict_proba") else "decision_function"
    if response not in ("predict_proba", "decision_function"):
        raise NoView(f"its threshold is on {response}")
    tuned = type(step).__name__ == "TunedThresholdClassifierCV"
    if tuned:
        require_plain(step._curve_scorer, library="sklearn")
    threshold = step.best_threshold_ if tuned else step.threshold
    if threshold == "auto":
        threshold = 0.5 if response == "predict_proba" else 0.0
    given = getattr(step, "pos_label", None)
    if tuned:
        given = getattr(step._curve_scorer, "_get_pos_label", lambda: None)()
    known = np.asarray(step.classes_).tolist()
    position = 1 if given is None else known.index(given)
    return DecisionThreshold((position,), float(threshold), response, wanted == (position,))
