"""unwrap: a classifier without its pipeline and without wrappers that only move its threshold or its scale.

A calibrated probability is monotone in the score below it, so that a threshold on it is one on the score.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Encoding, Floats
from equieffort.foundations.genuine import LIBRARIES
from equieffort.models.classifiers.affine import Affine
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.floats import turning_point
from equieffort.models.classifiers.naming import model_name
from equieffort.models.classifiers.pipeline import walk
from equieffort.models.classifiers.views import NoView, require_plain

SEARCHES = ("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV")
"""Searches over settings: the model that was fitted last, with the best of them, answers."""

Response = Literal["predict_proba", "decision_function"]
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class DecisionThreshold:
    """The favourable label is given when a response for some classes reaches a threshold, or when it does not."""

    positions: tuple[int, ...]
    """The classes whose response is read (probabilities of several are added)."""
    threshold: float
    response: Response
    above: bool
    """Whether reaching the threshold is what people want."""
    strict: bool = False
    """Whether it must be passed, and is not reached by what equals it."""

    def met(self, response: Any) -> Bools:
        """Whether a response means what people want."""
        given = np.asarray(response)
        return np.asarray((given > self.threshold if self.strict else given >= self.threshold) == self.above)


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
        return sign, -level if self.cut.above else level, self.cut.above != self.cut.strict

    def answer(
        self, second: Callable[[Array], Any], chances: Callable[[Array], Any], decided: Callable[[Array], Any]
    ) -> Callable[[Array], Bools]:
        """Whether a score of the second of two classes means the outcome people want.

        `second` says where it means the second class, `chances` and `decided` what predict_proba and decision_function
        are.
        """
        if self.classes != 2:
            raise NoView(f"it has one score for {self.classes} classes")
        cut = self.cut
        if cut is None:
            return lambda scores: np.asarray(second(scores), dtype=bool) == (self.wanted == (1,))
        if len(cut.positions) != 1:
            raise NoView("its threshold is on both classes")
        (position,) = cut.positions

        def answer(scores: Array) -> Bools:
            if cut.response == "predict_proba":
                response = np.asarray(chances(scores))[:, position]
            else:
                response = np.asarray(decided(scores)) * (1 if position == 1 else -1)
            return cut.met(response)

        return answer


def unwrap(decision: Decision, encoding: Encoding) -> Unwrapped:
    """Follow pipelines and take off wrappers; raises `NoView` where a step cannot be followed."""
    opened = _opened(decision, decision.classifier, raw_columns(decision, encoding))
    step, affine, cut = opened.final, opened.affine, opened.cut
    steps: tuple[Any, ...] = ()
    while True:
        steps += transformers(step)
        affine, step = walk(step, affine)
        _require_known(step)
        if _is(step, "CalibratedClassifierCV"):
            step, cut = _uncalibrated(step, opened.wanted, cut)
        elif _is(step, "FixedThresholdClassifier", "TunedThresholdClassifierCV"):
            if cut is None:
                cut = _cut(step, opened.wanted)
            step = step.estimator_
        elif _is(step, "FrozenEstimator"):
            step = step.estimator
        elif _is(step, *SEARCHES):
            if not hasattr(step, "best_estimator_"):
                raise NoView(f"{type(step).__name__} kept no model (refit=False)")
            step = step.best_estimator_
        elif _is(step, "OneVsRestClassifier") and len(step.estimators_) == 1:
            step, cut = _one_against_one(step, opened.wanted, cut)
        else:
            return replace(opened, final=step, affine=affine, cut=cut, steps=steps)


def opened_file(decision: Decision, encoding: Encoding) -> Unwrapped:
    """What decides inside a classifier that was loaded from a file of XGBoost's or LightGBM's."""
    loaded = decision.classifier
    # It picks its columns by name where it knows their names.
    names = tuple(map(str, getattr(loaded, "feature_names_in_", decision.own)))
    return _opened(decision, loaded.own, raw_columns(decision, encoding, names))


def raw_columns(decision: Decision, encoding: Encoding, names: tuple[str, ...] | None = None) -> Affine:
    """The columns that the model is given, before any of its steps."""
    return Affine.identity(encoding, decision.own if names is None else names, decision.missing, decision.one_hot)


def _opened(decision: Decision, final: Any, affine: Affine) -> Unwrapped:
    classes = getattr(decision.classifier, "classes_", None)
    if classes is None:
        raise NoView(f"{model_name(decision.classifier)} does not say which classes it has")
    known = np.asarray(classes).tolist()
    wanted = tuple(known.index(label) for label in decision.wanted)
    cut = None if decision.threshold is None else DecisionThreshold(wanted, decision.threshold, "predict_proba", True)
    return Unwrapped(final, affine, len(known), wanted, cut)


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


def _one_against_one(
    step: Any, wanted: tuple[int, ...], cut: DecisionThreshold | None
) -> tuple[Any, DecisionThreshold]:
    """The only estimator of a one-vs-rest classifier of two classes: the second one where its response is passed."""
    if step.multilabel_:
        raise NoView("it gives several labels at once")
    if cut is not None:
        raise NoView("its threshold is on probabilities that OneVsRestClassifier makes of others")
    inner = step.estimators_[0]
    response: Response = "decision_function" if hasattr(inner, "decision_function") else "predict_proba"
    threshold = 0.0 if response == "decision_function" else 0.5
    return inner, DecisionThreshold((1,), threshold, response, wanted == (1,), strict=True)


def _uncalibrated(step: Any, wanted: tuple[int, ...], cut: DecisionThreshold | None) -> tuple[Any, DecisionThreshold]:
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
    second = _second(partial(_chances, member, response), cut)
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
    (position,), reached = cut.positions, replace(cut, above=True)
    return lambda scores: reached.met(chances(scores)[:, position])


def _chances(member: Any, response: Response, scores: Floats) -> Floats:
    """What a calibrated classifier makes of the scores of its estimator: asked itself, with scores in its place."""
    from sklearn.base import BaseEstimator, ClassifierMixin

    class Deciding(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose decision function is its only column."""

        def decision_function(self, X: Floats) -> Floats:
            return X[:, 0]

    class Guessing(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """A classifier whose only column is the probability of its second class."""

        def predict_proba(self, X: Floats) -> Floats:
            return np.column_stack([1.0 - X[:, 0], X[:, 0]])

    inner = Deciding() if response == "decision_function" else Guessing()
    inner.classes_ = member.estimator.classes_
    asked = type(member)(inner, member.calibrators, classes=member.classes, method=member.method)
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
