"""XGBoost's classifiers as a sum of trees; read only when a model comes from there.

XGBoost rounds numbers to single precision, sends them left when they are below the threshold, and adds up the leaves
in single precision, tree by tree. All of that is followed; what it makes of a score it is asked itself.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.splits import Columns, Part, level_codes, single_below
from equieffort.models.classifiers.tree_ensemble import Ensemble
from equieffort.models.classifiers.unwrap import Unwrapped
from equieffort.models.classifiers.views import NoView, TreeView, require_plain
from equieffort.trees.fitted import ROOT, FittedTrees

Singles = npt.NDArray[np.float32]
BINARY = ("binary:logistic", "binary:hinge", "binary:logitraw")
SEVERAL = ("multi:softprob", "multi:softmax")


def xgboost_view(opened: Unwrapped, decision: Decision) -> TreeView:
    """The view of an XGBClassifier, also of one that was loaded from a file."""
    final = opened.final
    if type(final).__name__ not in ("XGBClassifier", "XGBRFClassifier"):
        raise NoView(f"{type(final).__name__} is not a classifier of XGBoost's that can be read")
    require_plain(final, final.get_booster())
    if not np.isnan(final.missing):
        raise NoView(f"it takes {final.missing:g} for a missing value, apart from the numbers around it")
    learner = json.loads(bytes(final.get_booster().save_raw("json")))["learner"]
    objective = str(learner["objective"]["name"])
    if callable(final.objective) or objective not in BINARY + SEVERAL:
        raise NoView(f"its objective, {objective}, is not one whose labels are known")
    booster = learner["gradient_booster"]
    if booster["name"] not in ("gbtree", "dart"):
        raise NoView(f"its booster, {booster['name']}, has no trees")
    columns = Columns(decision, opened.affine, opened.steps, _codes(learner, opened))
    base = np.atleast_1d(np.asarray(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32))
    if objective in SEVERAL:
        start = np.broadcast_to(base, (opened.classes,)).astype(np.float32)
        return _ensemble(final, booster, columns, start).largest_score(opened, softmax=objective == "multi:softprob")
    response = _Response(objective, float(base[0]))
    answer = opened.answer(lambda sums: response(sums) > 0.5, response.both, lambda sums: sums)
    return _ensemble(final, booster, columns, response.start()).one_score(answer)


@dataclass(frozen=True)
class _Response:
    """What XGBoost makes of scores: asked of a model of its own without trees, that starts from these scores."""

    objective: str
    base: float

    def start(self) -> Singles:
        """The score it starts from when it starts from a probability."""
        import xgboost

        return np.asarray(self._model().predict(xgboost.DMatrix(np.zeros((1, 1))), output_margin=True))

    def __call__(self, scores: Singles) -> Singles:
        import xgboost

        matrix = xgboost.DMatrix(np.zeros((len(scores), 1)), base_margin=np.asarray(scores, dtype=np.float32))
        return np.asarray(self._model().predict(matrix))

    def both(self, scores: Singles) -> Singles:
        """The probabilities of both classes, as XGBClassifier has them."""
        second = self(scores)
        return np.column_stack([np.float32(1.0) - second, second])

    def _model(self) -> Any:
        import xgboost

        blank = xgboost.DMatrix(np.zeros((1, 1)), label=[0])
        return xgboost.train({"objective": self.objective, "base_score": self.base, "verbosity": 0}, blank, 0)


def _ensemble(final: Any, booster: dict[str, Any], columns: Columns, start: Singles) -> Ensemble:
    """The trees that are used, those up to the best iteration where training stopped early."""
    model = _model(booster)
    trees, group = model["trees"], model["tree_info"]
    try:
        rounds = int(final.best_iteration) + 1
    except AttributeError:
        rounds = None
    used = len(trees)
    if rounds is not None:
        ends = model.get("iteration_indptr")
        each = int(model["gbtree_model_param"]["num_parallel_tree"]) * len(start)
        used = min(used, int(ends[min(rounds, len(ends) - 1)]) if ends else rounds * each)
    weights = booster.get("weight_drop")
    parts = []
    for tree, k, weight in zip(trees[:used], group, weights or [1.0] * len(trees), strict=False):
        values = np.zeros((len(tree["left_children"]), len(start)), dtype=np.float32)
        values[:, k] = np.asarray(tree["split_conditions"], dtype=np.float32)
        if weights:
            # Dart takes each tree from the start and back again before it weighs it.
            values[:, k] = ((start[k] + values[:, k]) - start[k]) * np.float32(weight)
        parts.append(_part(tree, columns, values))
    return Ensemble(tuple(parts), start)


def _model(booster: dict[str, Any]) -> dict[str, Any]:
    model: dict[str, Any] = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
    return model


def _part(tree: dict[str, Any], columns: Columns, values: Singles) -> Part:
    if int(tree["tree_param"].get("size_leaf_vector", 1)) > 1:
        raise NoView("its leaves hold several values")
    left = np.asarray(tree["left_children"], dtype=np.int32)
    leaf = left < 0
    codes = np.full(len(left), -1, dtype=np.int32)
    nodes = tree.get("categories_nodes") or []
    listed = np.asarray(tree.get("categories") or [], dtype=np.int64)
    sets = np.ones((len(nodes), int(listed.max(initial=-1)) + 2), dtype=bool)
    for row, (node, at, size) in enumerate(
        zip(nodes, tree.get("categories_segments") or [], tree.get("categories_sizes") or [], strict=True)
    ):
        codes[node] = row
        # The listed codes go right.
        sets[row, listed[at : at + size]] = False
    found = FittedTrees(
        np.where(leaf, -1, np.asarray(tree["split_indices"])).astype(np.int32),
        np.where(leaf | (codes >= 0), 0.0, np.asarray(tree["split_conditions"], dtype=np.float64)),
        left,
        np.asarray(tree["right_children"], dtype=np.int32),
        values,
        ROOT,
        codes,
        sets,
    )
    return Part(columns, single_below, found)


def _codes(learner: dict[str, Any], opened: Unwrapped) -> dict[int, npt.NDArray[np.float64]]:
    """For the columns that XGBoost encodes itself, the code of each level."""
    by_code, known = _categories(learner)
    if by_code and (opened.steps or not known):
        raise NoView("it splits on categories whose codes depend on the table it was trained on")
    return {k: level_codes(opened.affine, k, _names(known[k])) for k in by_code}


def category_names(learner: dict[str, Any]) -> dict[int, list[Any]]:
    """By column: the levels that a saved model knows; empty where it keeps none, or not whole."""
    if learner["gradient_booster"]["name"] not in ("gbtree", "dart"):
        return {}
    by_code, known = _categories(learner)
    try:
        return {k: _names(known[k]) for k in by_code} if known else {}
    except NoView:
        return {}


def _categories(learner: dict[str, Any]) -> tuple[list[int], Any]:
    """The columns with codes, and what the model keeps of the levels of all columns."""
    by_code = [k for k, kind in enumerate(learner.get("feature_types") or ()) if kind == "c"]
    return by_code, _model(learner["gradient_booster"]).get("cats", {}).get("enc")


def _names(entry: dict[str, Any]) -> list[Any]:
    if "offsets" not in entry:
        return list(entry["values"])
    if any(not 0 <= byte < 128 for byte in entry["values"]):
        # XGBoost counts letters where it should count bytes: only in ASCII is that the same.
        raise NoView("its categories have letters beyond ASCII, which XGBoost does not keep whole")
    text, ends = bytes(entry["values"]).decode("ascii"), entry["offsets"]
    return [text[a:b] for a, b in pairwise(ends)]
