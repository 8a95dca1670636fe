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
from equieffort.models.classifiers.responses import answer_of, forest_answer
from equieffort.models.classifiers.splits import Columns, Compare, Part, at_most, single_at_most
from equieffort.models.classifiers.tree_ensemble import Ensemble
from equieffort.models.classifiers.unwrap import Unwrapped, unwrap
from equieffort.models.classifiers.views import NoView, TreeView, require_plain
from equieffort.trees.fitted import FittedTree, read_hist_tree, read_tree

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
    if package == "equieffort.models.files.xgboost_file":
        from equieffort.models.classifiers.xgboost_trees import loaded_xgboost_view

        return loaded_xgboost_view(decision, encoding)
    if package == "equieffort.models.files.lightgbm_file":
        from equieffort.models.classifiers.lightgbm_trees import loaded_lightgbm_view

        return loaded_lightgbm_view(decision, encoding)
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
        from equieffort.models.classifiers.voting import voting_view

        return voting_view(opened, decision)
    columns = Columns(decision, opened.affine, opened.steps, {})
    if name in BOOSTED:
        return BOOSTED[name](opened, columns)
    ensemble = mean_of_trees(final, columns)
    if opened.cut is None:
        return ensemble.largest_score(opened)
    return with_threshold(ensemble, opened)


def mean_of_trees(final: Any, columns: Columns) -> Ensemble:
    """A classifier whose probabilities are the mean of those of its trees; scores are their sums, a score a class."""
    name = type(final).__name__
    if name in (*TREES, *FORESTS, "BaggingClassifier"):
        require_plain(final, library="sklearn")
        _require_trees(getattr(final, "estimators_", [final]))
    if name in TREES:
        _one_output(final)
        return Ensemble((_probabilities(final, columns, np.arange(len(final.classes_))),), _zeros(len(final.classes_)))
    if name in FORESTS:
        _one_output(final)
        classes = np.arange(len(final.classes_))
        parts = tuple(_probabilities(tree, columns, classes) for tree in final.estimators_)
        # Several threads add their trees in the order in which they come.
        return Ensemble(parts, _zeros(len(classes)), float(len(parts)), followed=final.n_jobs in (None, 1))
    if name == "BaggingClassifier":
        return _bagging(final, columns)
    raise NoView(f"{name} is not made of trees that can be read")


def _require_trees(members: Any) -> None:
    """Raises `NoView` unless all are plain trees of scikit-learn's; what else a model may be made of is not read."""
    require_plain(*members, library="sklearn")
    require_plain(*(one.tree_ for one in members if hasattr(one, "tree_")), library="sklearn")


def with_threshold(ensemble: Ensemble, opened: Unwrapped) -> TreeView:
    """Favourable where the mean of the trees gives some classes together a probability that is large enough."""
    assert opened.cut is not None
    positions = list(opened.cut.positions)
    parts = tuple(_summed(part, positions) for part in ensemble.parts)
    rounding = 0.0 if len(positions) == 1 else 8 * 2.0**-53 * len(positions) * ensemble.divisor
    several = Ensemble(parts, _zeros(1), ensemble.divisor, ensemble.followed and len(positions) == 1, rounding)
    return several.one_score(forest_answer(opened.cut, ensemble.divisor))


def _summed(part: Part, positions: list[int]) -> Part:
    return replace(part, values=part.values[:, positions].sum(axis=1, keepdims=True))


def _zeros(n: int) -> Floats:
    return np.zeros(n)


def _one_output(final: Any) -> None:
    if getattr(final, "n_outputs_", 1) != 1:
        raise NoView(f"it gives {final.n_outputs_} labels at once")


ROOT = np.zeros(1, dtype=np.int32)
"""Where a tree by itself begins."""


def sklearn_part(
    tree: FittedTree,
    columns: Columns,
    values: npt.NDArray[Any],
    features: npt.NDArray[Any] | None = None,
    compare: Compare = single_at_most,
) -> Part:
    """One tree of scikit-learn with a value a node and score; `features` are the columns it was given."""
    feature, sets = tree.feature, tree.code_sets
    if features is not None:
        feature = np.where(feature < 0, -1, np.asarray(features, dtype=np.int32)[np.maximum(feature, 0)])
    return Part(
        columns, compare, feature, tree.threshold, tree.left, tree.right, ROOT, values, tree.code_set,
        None if sets is None else np.column_stack([sets, np.zeros(len(sets), dtype=bool)]),
        tree.missing_left if tree.splits_codes else None,
    )  # fmt: skip


def _probabilities(estimator: Any, columns: Columns, classes: Any, features: Any = None) -> Part:
    """A tree whose leaves hold the probability of each class."""
    tree, own = read_tree(estimator.tree_), np.asarray(estimator.classes_)
    values = np.zeros((len(tree.feature), len(classes)))
    values[:, own.astype(np.intp) if len(own) < len(classes) else classes] = tree.values[:, : len(own)]
    return sklearn_part(tree, columns, values, features)


def _bagging(final: Any, columns: Columns) -> Ensemble:
    if {type(member).__name__ for member in final.estimators_} - set(TREES):
        raise NoView(f"BaggingClassifier is over {type(final.estimators_[0]).__name__}, which is not a tree")
    classes = np.arange(len(final.classes_))
    pairs = zip(final.estimators_, final.estimators_features_, strict=True)
    parts = tuple(_probabilities(tree, columns, classes, features) for tree, features in pairs)
    return Ensemble(parts, _zeros(len(classes)), float(len(parts)), followed=final.n_jobs in (None, 1))


def _ada_boost(opened: Unwrapped, columns: Columns) -> TreeView:
    """Each tree votes with its weight for the label of the leaf, and against the others."""
    final = opened.final
    if getattr(final, "algorithm", "SAMME") == "SAMME.R":
        raise NoView("AdaBoost with SAMME.R adds logarithms of probabilities; with SAMME it adds votes")
    if {type(member).__name__ for member in final.estimators_} - set(TREES):
        raise NoView(f"AdaBoostClassifier is over {type(final.estimators_[0]).__name__}, which is not a tree")
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
        parts.append(sklearn_part(tree, columns, votes[:, 1:] if n == 2 else votes))
    total = float(final.estimator_weights_.sum())
    if n > 2:
        if opened.cut is not None:
            raise NoView("a threshold on the probability of one of several classes is not a sum over its trees")
        return Ensemble(tuple(parts), _zeros(n), total).largest_score(opened)

    def decided(sums: Floats) -> Floats:
        return np.asarray(2.0 * (sums / total))

    def chances(sums: Floats) -> Floats:
        return np.asarray(final._compute_proba_from_decision(decided(sums), 2))

    answer = answer_of(opened, lambda sums: decided(sums) > 0, chances, decided)
    return Ensemble(tuple(parts), _zeros(1), total).one_score(answer)


def _gradient_boosting(opened: Unwrapped, columns: Columns) -> TreeView:
    final = opened.final
    _require_trees(np.ravel(final.estimators_).tolist())
    require_plain(final._loss, library="sklearn")
    start = _prior(final, columns)
    rate = float(final.learning_rate)
    count = final.estimators_.shape[1]
    parts = []
    for stage in final.estimators_:
        for k, member in enumerate(stage):
            tree = read_tree(member.tree_)
            parts.append(sklearn_part(tree, columns, _of_score(rate * tree.values, k, count)))
    ensemble = Ensemble(tuple(parts), start)
    # The second class is given at zero too.
    return _boosted(ensemble, opened, lambda sums: sums >= 0, final._loss.predict_proba)


def _prior(final: Any, columns: Columns) -> Floats:
    """What gradient boosting starts from: the same for everybody."""
    given = final.init_
    if isinstance(given, str) and given == "zero":
        return _zeros(final.estimators_.shape[1])
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
    parts = []
    for stage in final._predictors:
        for k, member in enumerate(stage):
            tree = read_hist_tree(member)
            parts.append(sklearn_part(tree, columns, _of_score(tree.values, k, len(start)), compare=at_most))
    return _boosted(Ensemble(tuple(parts), start), opened, lambda sums: sums > 0, final._loss.predict_proba)


def _of_score(values: Floats, k: int, count: int) -> Floats:
    """Values that a tree adds to one of several scores."""
    found = np.zeros((len(values), count))
    found[:, [k]] = values
    return found


def _boosted(
    ensemble: Ensemble, opened: Unwrapped, second: Callable[[Floats], Any], chances: Callable[[Floats], Floats]
) -> TreeView:
    if len(ensemble.start) > 1:
        if opened.cut is not None:
            raise NoView("a threshold on the probability of one of several classes is not a sum over its trees")
        return ensemble.largest_score(opened)
    return ensemble.one_score(answer_of(opened, second, chances, lambda sums: sums))


BOOSTED: dict[str, Callable[[Unwrapped, Columns], TreeView]] = {
    "AdaBoostClassifier": _ada_boost,
    "GradientBoostingClassifier": _gradient_boosting,
    "HistGradientBoostingClassifier": _hist_gradient_boosting,
}
