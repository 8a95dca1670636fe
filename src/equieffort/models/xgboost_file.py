"""XGBoost: JSON and its binary form. The trees are checked here, because the library itself may crash on bad ones."""

from __future__ import annotations

import json
from itertools import pairwise
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

    def __init__(
        self,
        classifier: Any,
        names: list[str] | None,
        width: int,
        n_classes: int,
        levels: dict[int, list[str]],
        *,
        probable: bool,
    ) -> None:
        super().__init__(names, width, range(n_classes), levels)
        self.classifier = classifier
        if probable:
            self.predict_proba = self._chances

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One label a row."""
        return np.asarray(self.classifier.predict(self._table(X)))

    def _chances(self, X: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self.classifier.predict_proba(self._table(X)))

    def _table(self, X: Any) -> Any:
        """The model's columns, with names where it has them, and text as categories in the order of their codes."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return self.matrix(X)
        table = pd.DataFrame(self.matrix(X), columns=names)
        for k, known in self.levels.items():
            codes = table[names[k]].fillna(-1).astype(int)
            table[names[k]] = pd.Categorical.from_codes(codes, categories=list(known))
        return table


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
        levels = _levels(learner, names, width)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise broken(path, "XGBoost", f"{type(error).__name__}: {error}") from error
    if levels is None:
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} splits on categories and does not hold their text, so that their codes are not known.",
            fix="Only text in ASCII can be read (other letters XGBoost cuts off when it saves), from files of XGBoost "
            "3.1 or later. Else encode the categories in a scikit-learn pipeline, and save it as .skops or .onnx.",
        )
    xgboost = need("xgboost", "xgboost", path)
    classifier = xgboost.XGBClassifier(enable_categorical=True) if levels else xgboost.XGBClassifier()
    try:
        classifier.load_model(bytearray(data))
    except Exception as error:
        raise broken(path, "XGBoost", str(error).strip().split("\n")[0]) from error
    saved = ".".join(map(str, content.get("version", ())))
    if saved and saved != xgboost.__version__:
        other_version(path, "xgboost", saved, xgboost.__version__)
    return XgboostLabels(classifier, names, width, n_classes, levels, probable=objective in PROBABLE)


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


def _levels(learner: dict[str, Any], names: list[str] | None, width: int) -> dict[int, list[str]] | None:
    """The texts of each column with codes, after all sets of codes were checked; None where the file does not say."""
    booster = learner["gradient_booster"]
    model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster.get("model", {})
    kinds = learner.get("feature_types") or ["float"] * width
    _require(len(kinds) == width, "its feature types miss features")
    coded = [k for k, kind in enumerate(kinds) if kind == "c"]
    trees = model.get("trees", ())
    split = any(any(tree.get("split_type", ())) or len(tree.get("categories", ())) for tree in trees)
    cats = model.get("cats") or {}
    held = any(len(entry["values"]) for entry in cats.get("enc", ()))
    if not coded and not split and not held:
        return {}
    entries = cats.get("enc", ())
    if names is None or not coded or len(entries) != width or any("offsets" not in entries[k] for k in coded):
        return None
    if any(not -1 < byte < 128 for k in coded for byte in entries[k]["values"]):
        return None
    levels = {k: _texts(entries[k]) for k in coded}
    _require(all(k in levels or not len(entry["values"]) for k, entry in enumerate(entries)), "levels of numbers")
    counts = [len(levels.get(k, ())) for k in range(width)]
    _require(all(counts[k] for k in coded), "a category without levels")
    total = sum(counts)
    segments = _whole(cats["feature_segments"], width + 1, 0, total)
    _require(segments.tolist() == np.concatenate([[0], np.cumsum(counts)]).tolist(), "its categories' segments")
    order = _whole(cats["sorted_idx"], total, 0, max(counts) - 1)
    for k in coded:
        own = order[segments[k] : segments[k + 1]]
        _require(np.array_equal(np.sort(own), np.arange(counts[k])), "its sorted categories")
        # The library finds levels by bisection over their bytes.
        texts = [levels[k][place].encode() for place in own]
        _require(texts == sorted(texts), "its sorted categories are not sorted")
    for number, tree in enumerate(trees):
        _check_sets(tree, number, counts)
    return levels


def _texts(entry: dict[str, Any]) -> list[str]:
    """Texts, written one after the other as bytes."""
    values = _whole(entry["values"], len(entry["values"]), 0, 127)
    ends = _whole(entry["offsets"], len(entry["offsets"]), 0, len(values))
    _require(len(ends) > 0 and ends[0] == 0 and ends[-1] == len(values), "texts of categories miss bytes")
    _require(bool(np.all(np.diff(ends) >= 0)), "texts of categories overlap")
    data = bytes(values.tolist()).decode("ascii")
    texts = [data[a:b] for a, b in pairwise(ends.tolist())]
    _require(len(set(texts)) == len(texts), "a category has a level twice")
    return texts


def _check_sets(tree: dict[str, Any], number: int, counts: list[int]) -> None:
    """Each split of a category has a set of codes, and no other node has."""
    n = len(tree["split_indices"])
    kinds = _whole(tree.get("split_type", [0] * n), n, 0, 1)
    inner = np.asarray(tree["left_children"]) >= 0
    codes = _whole(tree.get("categories", []), len(tree.get("categories", [])), 0, max(counts))
    nodes = _whole(tree.get("categories_nodes", []), len(tree.get("categories_nodes", [])), 0, n - 1)
    starts = _whole(tree.get("categories_segments", []), len(nodes), 0, len(codes))
    sizes = _whole(tree.get("categories_sizes", []), len(nodes), 1, len(codes))
    _require(np.array_equal(nodes, np.flatnonzero(kinds == 1)), f"tree {number}: its sets")
    _require(
        np.array_equal(starts, np.cumsum(sizes) - sizes) and sizes.sum() == len(codes), f"tree {number}: set sizes"
    )
    for node, at, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        # What was pruned to a leaf may still have a set, which is not looked at.
        most = counts[int(tree["split_indices"][node])] if inner[node] else max(counts)
        _require(bool(np.all(codes[at : at + size] < most)), f"tree {number} has codes without levels")
    columns = np.asarray(tree["split_indices"])[inner & (kinds == 0)]
    _require(not any(counts[int(k)] for k in columns), f"tree {number} splits a category as a number")


def _whole(values: Any, n: int, least: int, most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.asarray(values)
    _require(found.shape == (n,) and (n == 0 or found.dtype.kind in "iu"), f"a list of {n} whole numbers is not one")
    _require(bool(np.all((found >= least) & (found <= most))), f"an index is not from {least} to {most}")
    return found.astype(np.int64)


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)
