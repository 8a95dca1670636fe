"""XGBoost: JSON and its binary form. The trees are checked here, because the library itself may crash on bad ones."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import ModelError, listed
from equieffort.models import ubjson
from equieffort.models.adapters import Labels
from equieffort.models.optional import broken, need, other_version
from equieffort.models.pickles import is_pickle, refuse

PROBABLE = ("binary:logistic", "multi:softprob", "multi:softmax")
OBJECTIVES = (*PROBABLE, "binary:hinge")


class XgboostLabels(Labels):
    """The labels 0, 1, ... that XGBoost's own classifier gives, and its probabilities where its objective has them."""

    def __init__(self, classifier: Any, names: list[str] | None, width: int, n_classes: int, *, probable: bool) -> None:
        super().__init__(names, width, range(n_classes))
        self.classifier = classifier
        if probable:
            self.predict_proba = self._chances

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One label a row."""
        return np.asarray(self.classifier.predict(self._table(X)))

    def _chances(self, X: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self.classifier.predict_proba(self._table(X)))

    def _table(self, X: Any) -> Any:
        """The model's columns, with names where it has them."""
        names = getattr(self, "feature_names_in_", None)
        return self.matrix(X) if names is None else pd.DataFrame(self.matrix(X), columns=names)


def read_xgboost(data: bytes, path: Path) -> XgboostLabels:
    """The classifier in a model file that XGBoost saved."""
    content = _decoded(data, path)
    try:
        learner = content["learner"]
        objective = str(learner["objective"]["name"])
    except (KeyError, TypeError, IndexError) as error:
        raise broken(path, "XGBoost", "it names no learner and objective") from error
    if objective not in OBJECTIVES:
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} has the objective {objective!r}, which gives no labels.",
            fix=f"Train a classifier; these objectives have labels: {listed(OBJECTIVES)}.",
        )
    try:
        names, width, n_classes = _checked(learner)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise broken(path, "XGBoost", f"{type(error).__name__}: {error}") from error
    if _has_categories(learner):
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} splits on categories, whose codes depend on the table it was trained on.",
            fix="Encode the categories in a scikit-learn pipeline, and save it as .skops or .onnx.",
        )
    xgboost = need("xgboost", "xgboost", path)
    classifier = xgboost.XGBClassifier()
    try:
        classifier.load_model(bytearray(data))
    except Exception as error:
        raise broken(path, "XGBoost", str(error).strip().split("\n")[0]) from error
    saved = ".".join(map(str, content.get("version", ())))
    if saved and saved != xgboost.__version__:
        other_version(path, "xgboost", saved, xgboost.__version__)
    return XgboostLabels(classifier, names, width, n_classes, probable=objective in PROBABLE)


def _decoded(data: bytes, path: Path) -> Any:
    if data[:1] != b"{":
        if is_pickle(data):
            raise refuse(path)
        raise broken(path, "XGBoost", "it does not begin with a brace")
    try:
        # After the brace JSON has a quote or a space, and the binary form the kind of a length.
        return (
            ubjson.decode(data) if data[1:2] in (*ubjson.NUMBERS, b"}") else json.loads(data, object_pairs_hook=_once)
        )
    except (ValueError, RecursionError) as error:
        raise broken(path, "XGBoost", error) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; with a key twice, what was checked here might not be what the library reads."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found


def _checked(learner: dict[str, Any]) -> tuple[list[str] | None, int, int]:
    """Names, their number and the number of classes, after every index in the trees was checked."""
    param = learner["learner_model_param"]
    width, several, targets = (int(param[key]) for key in ("num_feature", "num_class", "num_target"))
    groups = max(1, several)
    _require(1 <= width <= 1_000_000, f"it has {width} features")
    _require(0 <= several <= 100_000 and targets == 1, f"it has {several} classes and {targets} targets")
    _require(several > 1 or not str(learner["objective"]["name"]).startswith("multi"), f"it has {several} classes")
    names = learner.get("feature_names") or None
    _require(names is None or (len(names) == width and all(isinstance(name, str) for name in names)), "names and width")
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        weights = np.asarray(booster["model"]["weights"], dtype=np.float64)
        _require(weights.shape == ((width + 1) * groups,), "its weights do not match its features")
    else:
        _require(booster["name"] in ("gbtree", "dart"), f"its booster is {booster['name']!r}")
        model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
        trees = model["trees"]
        _require(len(trees) == int(model["gbtree_model_param"]["num_trees"]) > 0, "its number of trees is another")
        _whole(model["tree_info"], len(trees), 0, groups - 1)
        if "iteration_indptr" in model:
            ends = _whole(model["iteration_indptr"], len(model["iteration_indptr"]), 0, len(trees))
            _require(len(ends) > 1 and ends[0] == 0 and ends[-1] == len(trees), "its iterations miss trees")
            _require(bool(np.all(np.diff(ends) > 0)), "its iterations are not in order")
        if booster["name"] == "dart":
            _require(len(booster["weight_drop"]) == len(trees), "its tree weights miss trees")
        for number, tree in enumerate(trees):
            _check_tree(tree, number, width)
    return names, width, max(2, several)


def _check_tree(tree: dict[str, Any], number: int, width: int) -> None:
    param = tree["tree_param"]
    n = int(param["num_nodes"])
    _require(n > 0 and int(param["num_feature"]) == width, f"tree {number} does not match the model")
    _require(int(param.get("size_leaf_vector", 1)) <= 1, f"tree {number} has several values a leaf")
    left, right = (_whole(tree[side], n, -1, n - 1) for side in ("left_children", "right_children"))
    _whole(tree["split_indices"], n, 0, width - 1)
    _whole(tree["parents"], n, -(2**31), 2**31 - 1)
    for key in ("split_conditions", "base_weights", "loss_changes", "sum_hessian", "default_left"):
        _require(np.asarray(tree[key], dtype=np.float64).shape == (n,), f"tree {number} has a wrong {key}")
    _require(np.asarray(tree.get("split_type", [0] * n), dtype=np.float64).shape == (n,), f"tree {number}: split_type")
    _require(bool(np.all((left < 0) == (right < 0))), f"a node of tree {number} has one child")
    children = np.concatenate([left[left >= 0], right[right >= 0]])
    # Every node has one parent and the root none, so that no path comes back.
    _require(len(np.unique(children)) == len(children) and 0 not in children, f"tree {number} runs in a circle")


def _has_categories(learner: dict[str, Any]) -> bool:
    booster = learner["gradient_booster"]
    model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster.get("model", {})
    typed = any(kind == "c" for kind in learner.get("feature_types") or ())
    return typed or any(any(tree.get("split_type", ())) or tree.get("categories") for tree in model.get("trees", ()))


def _whole(values: Any, n: int, least: int, most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.asarray(values)
    _require(found.shape == (n,) and (n == 0 or found.dtype.kind in "iu"), f"a list of {n} whole numbers is not one")
    _require(bool(np.all((found >= least) & (found <= most))), f"an index is not from {least} to {most}")
    return found.astype(np.int64)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)
