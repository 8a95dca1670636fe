"""Linear scores of scikit-learn's classifiers: coefficients, intercepts, ties, and how far their own rounding goes."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import SCORED
from equieffort.models.classifiers.affine import Affine
from equieffort.models.classifiers.pipeline import walk
from equieffort.models.classifiers.unwrap import Unwrapped, logit
from equieffort.models.classifiers.views import NoView, require_plain

LINEAR_MODELS = (
    "LogisticRegression",
    "LogisticRegressionCV",
    "LinearSVC",
    "SGDClassifier",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "LinearDiscriminantAnalysis",
    "Perceptron",
    "PassiveAggressiveClassifier",
)
LOGISTIC = ("LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis")
SUPPORT_VECTORS = ("SVC", "NuSVC")
COARSEST = 1e-4
"""Support vectors that cancel each other to less than that leave a score that says too little."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Linear scores over the columns that a model gets, a row a score."""

    coef: Floats
    intercept: Floats
    affine: Affine
    narrow: bool = False
    """Whether its numbers are coarser than doubles."""
    rounding: float = 0.0
    """How far its own sum may be off, relative to the numbers summed here; 0 where they are the same sum."""
    zero_is_second: bool = False
    """Whether a score of zero means the second of two classes."""
    first_wins: bool = True
    """Whether the first of several classes with the same score wins, or the last."""


def linear_scores(opened: Unwrapped) -> Scores:
    """The linear scores by which a classifier decides; raises `NoView` with the reason."""
    final = opened.final
    name, known = type(final).__name__, type(final).__module__.startswith("sklearn.")
    if known and name == "OneVsRestClassifier":
        return _one_vs_rest(opened)
    if known and name in SUPPORT_VECTORS:
        return _support_vectors(final, opened.affine)
    if not known or name not in LINEAR_MODELS:
        raise NoView(f"{name} is not a linear model")
    require_plain(final)
    coef, intercept = _numbers(final)
    return Scores(coef, intercept, opened.affine, narrow=final.coef_.dtype != np.float64)


def _numbers(final: Any) -> tuple[Floats, Floats]:
    coef = np.atleast_2d(np.asarray(_dense(final.coef_), dtype=np.float64))
    return coef, np.broadcast_to(np.asarray(final.intercept_, dtype=np.float64).reshape(-1), (len(coef),))


def _dense(given: Any) -> Any:
    return given.toarray() if hasattr(given, "toarray") else given


def _support_vectors(final: Any, affine: Affine) -> Scores:
    """A support vector machine with a linear kernel and two classes; it sums over its support vectors."""
    name = type(final).__name__
    require_plain(final, library="sklearn")
    if final.kernel != "linear":
        raise NoView(f"{name} with the kernel {final.kernel!r} is not linear")
    if len(final.classes_) != 2:
        raise NoView(f"{name} lets {len(final.classes_)} classes vote pair by pair, which is no linear score")
    coef, intercept = _numbers(final)
    duals, vectors = np.abs(_dense(final.dual_coef_)), np.abs(_dense(final.support_vectors_))
    summed = (duals @ vectors)[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        stretch = np.where(summed > 0, summed / np.abs(coef[0]), 1.0).max(initial=1.0)
    rounding = float(2.0**-53 * (vectors.shape[0] + vectors.shape[1] + 4) * stretch)
    if not rounding <= COARSEST:
        raise NoView(f"the support vectors of {name} cancel each other, so that its rounding decides")
    return Scores(coef, intercept, affine, rounding=rounding if rounding > SCORED else 0.0, zero_is_second=True)


def _one_vs_rest(opened: Unwrapped) -> Scores:
    """A linear score a class, each with steps of its own; the largest wins."""
    final = opened.final
    require_plain(final, library="sklearn")
    if final.multilabel_:
        raise NoView("it gives several labels at once")
    parts = []
    for member in final.estimators_:
        affine, last = walk(member, opened.affine)
        if type(last).__name__ not in (*LINEAR_MODELS, *SUPPORT_VECTORS):
            raise NoView(f"{type(final).__name__} compares {type(last).__name__}, which has no linear score")
        parts.append(linear_scores(Unwrapped(last, affine, 2, (1,), None)))
    widths = [part.coef.shape[1] for part in parts]
    coef = np.zeros((len(parts), sum(widths)))
    for k, (part, start) in enumerate(zip(parts, np.cumsum([0, *widths[:-1]]), strict=True)):
        coef[k, start : start + widths[k]] = part.coef[0]
    return Scores(
        coef,
        np.concatenate([part.intercept for part in parts]),
        Affine.stack([part.affine for part in parts], opened.affine),
        any(part.narrow for part in parts),
        max(part.rounding for part in parts),
        first_wins=_first_wins(type(final)),
    )


def _first_wins(kind: type) -> bool:
    """Which of equal scores wins: asked of the class itself, since its versions differ."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.preprocessing import LabelBinarizer

    class Level(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
        """The same score for everybody."""

        def decision_function(self, X: Floats) -> Floats:
            return np.zeros(len(X))

    asked = kind(Level())
    asked.estimators_, asked.label_binarizer_ = [Level()] * 3, LabelBinarizer().fit([0, 1, 2])
    with suppress(AttributeError):
        # Some versions read it from the binarizer.
        asked.classes_ = np.arange(3)
    return int(asked.predict(np.zeros((1, 1)))[0]) == 0


def link(opened: Unwrapped) -> Callable[[float], float]:
    """From a probability of the second class to the score that gives it."""
    name = type(opened.final).__name__
    loss = getattr(opened.final, "loss", "")
    if opened.cut is None or opened.cut.response != "predict_proba" or name in LOGISTIC or loss == "log_loss":
        return logit
    raise NoView(f"the probabilities of {name} are not logistic in its score")
