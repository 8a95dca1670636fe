"""Opened: a classifier without its pipeline and without wrappers that only move its threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from equieffort.classifiers.decision import Decision
from equieffort.classifiers.pipeline import Affine, walk
from equieffort.classifiers.views import NoView
from equieffort.frames import Encoding

Response = Literal["predict_proba", "decision_function"]


@dataclass(frozen=True)
class Cut:
    """The favourable label is given when a response for some classes reaches a threshold, or when it does not."""

    positions: tuple[int, ...]
    """The classes whose response is read (probabilities of several are added)."""
    threshold: float
    response: Response
    above: bool
    """Whether reaching the threshold is what people want."""


@dataclass(frozen=True, eq=False)
class Opened:
    """The estimator that decides, the columns it gets, and what is wanted of it."""

    final: Any
    affine: Affine
    classes: int
    wanted: tuple[int, ...]
    """Positions of the wanted labels among the classes."""
    cut: Cut | None
    """None when the estimator's own label decides."""

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


def open_up(decision: Decision, encoding: Encoding) -> Opened:
    """Follow pipelines and take off wrappers; raises `NoView` where a step cannot be followed."""
    step: Any = decision.classifier
    classes = getattr(step, "classes_", None)
    if classes is None:
        raise NoView(f"{type(step).__name__} does not say which classes it has")
    known = np.asarray(classes).tolist()
    wanted = tuple(known.index(label) for label in decision.wanted)
    cut = None
    if decision.threshold is not None:
        cut = Cut(wanted, decision.threshold, "predict_proba", True)
    affine = Affine.identity(encoding, decision.features)
    while True:
        affine, step = walk(step, affine)
        if not _moves_threshold(step):
            return Opened(step, affine, len(known), wanted, cut)
        if cut is None:
            cut = _cut(step, wanted)
        step = step.estimator_


def logit(chance: float) -> float:
    """The score at which a logistic model gives this probability.

    >>> logit(0.5), round(logit(0.62), 6)
    (0.0, 0.489548)
    """
    if not 0.0 < chance < 1.0:
        return float("inf") if chance >= 1.0 else float("-inf")
    return float(np.log(chance) - np.log1p(-chance))


def _moves_threshold(step: Any) -> bool:
    name = type(step).__name__
    ours = type(step).__module__.startswith("sklearn.")
    return ours and name in ("FixedThresholdClassifier", "TunedThresholdClassifierCV")


def _cut(step: Any, wanted: tuple[int, ...]) -> Cut:
    """The threshold of one of scikit-learn's wrappers: its positive label at and above it."""
    response = step.response_method
    if response == "auto":
        response = "predict_proba" if hasattr(step.estimator_, "predict_proba") else "decision_function"
    if response not in ("predict_proba", "decision_function"):
        raise NoView(f"its threshold is on {response}")
    tuned = type(step).__name__ == "TunedThresholdClassifierCV"
    threshold = step.best_threshold_ if tuned else step.threshold
    if threshold == "auto":
        threshold = 0.5 if response == "predict_proba" else 0.0
    given = getattr(step, "pos_label", None)
    if tuned:
        given = getattr(step._curve_scorer, "_get_pos_label", lambda: None)()
    known = np.asarray(step.classes_).tolist()
    position = 1 if given is None else known.index(given)
    return Cut((position,), float(threshold), response, wanted == (position,))
