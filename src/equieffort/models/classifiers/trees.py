"""The tree view: scikit-learn's trees, forests and boosted trees as one sum of trees in the raw features.

XGBoost's and LightGBM's have files of their own beside this one, read only when a model comes from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Encoding, Floats
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.pipeline import walk
from equieffort.models.classifiers.splits import Columns, Part, at_most, single_at_most
from equieffort.models.classifiers.tree_ensemble import Ensemble
from equieffort.models.classifiers.unwrap import Unwrapped, opened_file, transformers, unwrap
from equieffort.models.classifiers.views import NoView, TreeView, require_plain
from equieffort.trees.fitted import FittedTrees, read_hist_tree, read_tree

TREES = ("DecisionTreeClassifier", "ExtraTreeClassifier")
FORESTS = ("RandomForestClassifier", "ExtraTreesClassifier")


def tree_view(decision: Decision, encoding: Encoding) -> TreeView:
    """The tree view of a classifier over the encoded columns; raises `NoView` with the reason."""
    try:
        return _tree_view(decision, encoding)
    except (AttributeError, KeyError) as error:
        # Trees are read from where today's versions of the libraries keep them.
        raise NoView(f"its trees are not where they were expected: {type(error).__name__}: {error}") from error


def _tree_view(decision: Decision, encoding: Encoding) -> TreeView:
    package = type(decision.classifier).__module__
    if package in ("equieffort.models.files.xgboost_file", "equieffort.models.files.lightgbm_file"):
        require_plain(decision.classifier)
        opened = opened_file(decision, encoding)
    else:
        opened = unwrap(decision, encoding)
    final = opened.final
    package, name = type(final).__module__.split(".")[0], type(final).__name__
    if package == "xgboost":
        from equieffort.models.classifiers.xgboost_trees import xgboost_view

        return xgboost_view(opened, decision)
    if package == "lightgbm":
        from equieffort.models.classifiers.lightgbm_trees import lightgbm_view

        return lightgbm_view(opened, decision)
    if package != "sklearn":
        raise NoView(f"{name} is not made of trees that can be read")
    if name == "VotingClassifier":
        return _voting(opened, decision)
    columns = Columns(decision, opened.affine, opened.steps, {})
    if name in BOOSTED:
        return BOOSTED[name](opened, columns)
    return _decided(_mean_of_trees(final, columns), opened)


def _decided(ensemble: Ensemble, opened: Unwrapped) -> TreeView:
    """Favourable where the mean of the trees gives a wanted class the largest probability, or one large enough."""
    if opened.cut is None:
        return ensemble.largest_score(opened)
    if opened.cut.response != "predict_proba":
        raise NoView("a mean of trees has probabilities, and no decision function")
    cut, divisor, positions = opened.cut, ensemble.divisor, list(opened.cut.positions)
    parts = tuple(p.with_values(p.trees.values[:, positions].sum(axis=1, keepdims=True)) for p in ensemble.parts)
    rounding = 0.0 if len(positions) == 1 else 8 * 2.0**-53 * len(positions) * divisor
    several = Ensemble(parts, np.zeros(1), divisor, ensemble.followed and len(positions) == 1, rounding)
    return several.one_score(lambda sums: cut.met(sums / divisor))


def _mean_of_trees(final: Any, columns: Columns) -> Ensemble:
    """A classifier whose probabilities are the mean of those of its trees; scores are their sums, a score a class."""
    name = type(final).__name__
    if name not in (*TREES, *FORESTS, "BaggingClassifier"):
        raise NoView(f"{name} is not made of trees that can be read")
    members = getattr(final, "estimators_", [final])
    require_plain(final, library="sklearn")
    _require_trees(members)
    if getattr(final, "n_outputs_", 1) != 1:
        raise NoView(f"it gives {final.n_outputs_} labels at once")
    if name == "BaggingClassifier":
        _require_over_trees(final)
    given = getattr(final, "estimators_features_", [None] * len(members))
    count = len(final.classes_)
    parts = tuple(_probabilities(tree, columns, count, own) for tree, own in zip(members, given, strict=True))
    # Several threads add their trees in the order in which they come.
    return Ensemble(parts, np.zeros(count), float(len(parts)), followed=getattr(final, "n_jobs", None) in (None, 1))


def _require_trees(members: Any) -> None:
    """Raises `NoView` unless all are plain trees of scikit-learn's; what else a model may be made of is not read."""
    require_plain(*members, library="sklearn")
    require_plain(*(one.tree_ for one in members if hasattr(one, "tree_")), library="sklearn")


def _require_over_trees(final: Any) -> None:
    if {type(member).__name__ for member in final.estimators_} - set(TREES):
        raise NoView(f"{type(final).__name__} is over {type(final.estimators_[0]).__name__}, which is not a tree")


def _part(tree: FittedTrees, columns: Columns, features: npt.NDArray[Any] | None = None) -> Part:
    """One of scikit-learn's own trees; `features` are the columns it was given."""
    if features is not None:
        given = np.asarray(features, dtype=np.int32)[np.maximum(tree.feature, 0)]
        tree = replace(tree, feature=np.where(tree.feature < 0, -1, given))
    return Part(columns, single_at_most, tree)


def _probabilities(estimator: Any, columns: Columns, count: int, features: Any) -> Part:
    """A tree whose leaves hold the probability of each of so many classes."""
    tree, own = read_tree(estimator.tree_), np.asarray(estimator.classes_)
    values = np.zeros((len(tree.feature), count))
    values[:, own.astype(np.intp) if len(own) < count else np.arange(count)] = tree.values[:, : len(own)]
    return _part(tree, columns, features).with_values(values)


def _voting(opened: Unwrapped, decision: Decision) -> TreeView:
    """Several trees that vote, or trees or forests whose probabilities are averaged, as one sum of trees."""
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
        ensemble = _mean_of_trees(last, columns)
        if len(ensemble.start) != opened.classes:
            raise NoView(f"one of its members knows {len(ensemble.start)} of {opened.classes} classes")
        for part in ensemble.parts:
            values = part.trees.values / ensemble.divisor
            if hard:
                # One for the likeliest class, the first of equals.
                values = (np.arange(opened.classes) == np.argmax(values, axis=1)[:, None]).astype(np.float64)
            parts.append(part.with_values(weight * values))
    divisor = 1.0 if hard else float(weights.sum())
    return _decided(Ensemble(tuple(parts), np.zeros(opened.classes), divisor, followed=hard), opened)


def _ada_boost(opened: Unwrapped, columns: Columns) -> TreeView:
    """Each tree votes with its weight for the label of the leaf, and against the others."""
    final = opened.final
    if getattr(final, "algorithm", "SAMME") == "SAMME.R":
        raise NoView("AdaBoost with SAMME.R adds logarithms of probabilities; with SAMME it adds votes")
    _require_over_trees(final)
    _require_trees(final.estimators_)
    classes = np.asarray(final.classes_)
    n = len(classes)
    weights = final.estimator_weights_[: len(final.estimators_)]
    parts = []
    for member, weight in zip(final.estimators_, weights, strict=True):
        tree = read_tree(member.tree_)
        chosen = member.classes_[np.argmax(tree.values, axis=1)]
        votes = np.where(chosen[:, None] == classes[None, :], weight, -1 / (n - 1) * weight)
        # With two classes the votes for the first are those for the second with the other sign.
        parts.append(_part(tree, columns).with_values(votes[:, 1:] if n == 2 else votes))
    total = float(final.estimator_weights_.sum())
    if n > 2:
        return Ensemble(tuple(parts), np.zeros(n), total).largest_score(opened)

    def decided(sums: Floats) -> Floats:
        return np.asarray(2.0 * (sums / total))

    def chances(sums: Floats) -> Floats:
        return np.asarray(final._compute_proba_from_decision(decided(sums), 2))

    answer = opened.answer(lambda sums: decided(sums) > 0, chances, decided)
    return Ensemble(tuple(parts), np.zeros(1), total).one_score(answer)


def _gradient_boosting(opened: Unwrapped, columns: Columns) -> TreeView:
    final = opened.final
    _require_trees(np.ravel(final.estimators_).tolist())
    require_plain(final._loss, library="sklearn")
    start = _prior(final)
    rate = float(final.learning_rate)
    stages = [[_part(read_tree(one.tree_), columns) for one in stage] for stage in final.estimators_]
    # The second class is given at zero too.
    return _boosted(opened, stages, start, lambda sums: sums >= 0, rate)


def _prior(final: Any) -> Floats:
    """What gradient boosting starts from: the same for everybody."""
    given = final.init_
    if isinstance(given, str) and given == "zero":
        return np.zeros(final.estimators_.shape[1])
    if type(given).__name__ != "DummyClassifier" or given.strategy not in ("prior", "most_frequent", "constant"):
        raise NoView(f"GradientBoostingClassifier starts from another model, {type(given).__name__}")
    require_plain(given, library="sklearn")
    probe = np.zeros((1, final.n_features_in_), dtype=np.float32)
    return np.asarray(final._raw_predict_init(probe), dtype=np.float64)[0]


def _hist_gradient_boosting(opened: Unwrapped, columns: Columns) -> TreeView:
    final = opened.final
    require_plain(final._loss, *(one for stage in final._predictors for one in stage), library="sklearn")
    if final._preprocessor is not None:
        inner = [one for _, one, _ in final._preprocessor.transformers_ if not isinstance(one, str)]
        require_plain(final._preprocessor, *inner, library="sklearn")
        # It puts its categories first, as codes of its own.
        order = np.concatenate([np.flatnonzero(final.is_categorical_), np.flatnonzero(~final.is_categorical_)])
        affine = opened.affine.take(order.tolist())
        columns = Columns(columns.decision, affine, (*opened.steps, final._preprocessor), {})
    start = np.asarray(final._baseline_prediction, dtype=np.float64).reshape(-1)
    stages = [[Part(columns, at_most, read_hist_tree(one)) for one in stage] for stage in final._predictors]
    return _boosted(opened, stages, start, lambda sums: sums > 0)


def _boosted(
    opened: Unwrapped, stages: list[list[Part]], start: Floats, second: Callable[[Floats], Any], rate: float = 1.0
) -> TreeView:
    """Stages of a tree for each score; `second` says which scores mean the second of two classes."""
    parts = []
    for stage in stages:
        for k, part in enumerate(stage):
            values = np.zeros((len(part.trees.values), len(start)))
            values[:, [k]] = rate * part.trees.values
            parts.append(part.with_values(values))
    ensemble = Ensemble(tuple(parts), start)
    if len(start) > 1:
        return ensemble.largest_score(opened)
    return ensemble.one_score(opened.answer(second, opened.final._loss.predict_proba, lambda sums: sums))


BOOSTED: dict[str, Callable[[Unwrapped, Columns], TreeView]] = {
    "AdaBoostClassifier": _ada_boost,
    "GradientBoostingClassifier": _gradient_boosting,
    "HistGradientBoostingClassifier": _hist_gradient_boosting,
}
