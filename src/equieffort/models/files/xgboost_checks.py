"""What an XGBoost model must be before its library sees it: every number that becomes an index or a size there."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np

from equieffort.models.files.shared import require

MOST = NOBODY = 2**31 - 1
"""The largest whole number of four bytes, which also stands for no parent and no column."""
SETS = ("categories", "categories_nodes", "categories_segments", "categories_sizes")


def check_version(content: dict[str, Any]) -> None:
    """Refuse a version that is none: older ones are read by other code of the library."""
    version = content.get("version", [1, 0, 0])
    _whole(version, 3, 0, 1000)
    require(version[0] >= 1, f"it has the version {version}")


def check_learner(learner: dict[str, Any]) -> tuple[list[str] | None, int, int]:
    """Names, their number and the number of classes, after every index in the trees was checked."""
    param = learner["learner_model_param"]
    width, several, targets = (_count(param[key]) for key in ("num_feature", "num_class", "num_target"))
    groups = max(1, several)
    require(1 <= width <= 1_000_000, f"it has {width} features")
    require(0 <= several <= 100_000 and targets == 1, f"it has {several} classes and {targets} targets")
    require(several > 1 or not str(learner["objective"]["name"]).startswith("multi"), f"it has {several} classes")
    _check_objective(learner["objective"], several)
    _check_base_score(param["base_score"], groups)
    names = learner.get("feature_names") or None
    for told in (names, learner.get("feature_types") or None):
        fits = told is None or (isinstance(told, list) and len(told) == width and all(type(one) is str for one in told))
        require(fits, "its names or types of features do not fit their number")
    attributes = learner.get("attributes", {})
    require(all(type(text) is str for pair in attributes.items() for text in pair), "its attributes are no texts")
    if "best_iteration" in attributes:
        require(_count(attributes["best_iteration"]) < MOST, "its best round is none")
    booster = learner["gradient_booster"]
    if booster["name"] == "gblinear":
        weights = np.asarray(booster["model"]["weights"], dtype=np.float64)
        require(weights.shape == ((width + 1) * groups,), "its weights do not match its features")
        _whole([booster["model"].get("boosted_rounds", 0)], 1, 0, MOST)
    else:
        require(booster["name"] in ("gbtree", "dart"), f"its booster is {booster['name']!r}")
        model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster["model"]
        trees = model["trees"]
        require(isinstance(trees, list) and all(type(tree) is dict for tree in trees), "its trees are no list of trees")
        sizes = model["gbtree_model_param"]
        require(len(trees) == _count(sizes["num_trees"]) > 0, "its number of trees is another")
        require(
            1 <= _count(sizes.get("num_parallel_tree", "1")) <= len(trees), "its number of parallel trees is another"
        )
        _whole(model["tree_info"], len(trees), 0, groups - 1)
        if "iteration_indptr" in model:
            ends = _whole(model["iteration_indptr"], len(model["iteration_indptr"]), 0, len(trees))
            require(len(ends) > 1 and ends[0] == 0 and ends[-1] == len(trees), "its iterations miss trees")
            require(np.all(np.diff(ends) > 0), "its iterations are not in order")
        if booster["name"] == "dart":
            _numbers(booster["weight_drop"], len(trees), "its weights of trees")
        for number, tree in enumerate(trees):
            _check_tree(tree, number, width)
    return names, width, max(2, several)


def _check_objective(objective: dict[str, Any], several: int) -> None:
    """The objective keeps a number of classes of its own, by which it steps through the scores."""
    for key, given in objective.items():
        parts = given.items() if isinstance(given, dict) else [(key, given)]
        for name, value in parts:
            require(type(value) is str, f"{name} of its objective is no text")
            require(
                name != "num_class" or _count(value) in (several, max(1, several)), "its objective has other classes"
            )
            if name == "scale_pos_weight":
                require(0 <= float(value) < np.inf, f"its weight of the positive class is {value}")


def _check_base_score(text: Any, groups: int) -> None:
    """A number, or a list of numbers in brackets."""
    require(type(text) is str and re.fullmatch(r"\[[0-9eE.+,\- ]*\]|[0-9eE.+\-]+", text) is not None, "its base score")
    scores = [float(word) for word in text.strip("[]").split(",")]
    require(len(scores) in (1, groups) and all(np.isfinite(scores)), "its base score")


def _check_tree(tree: dict[str, Any], number: int, width: int) -> None:
    param = tree["tree_param"]
    n, gone = _count(param["num_nodes"]), _count(param.get("num_deleted", "0"))
    require(n > 0 and _count(param["num_feature"]) == width, f"tree {number} does not match the model")
    require(_count(param.get("size_leaf_vector", "1")) <= 1, f"tree {number} has several values a leaf")
    require(_whole([tree.get("id", number)], 1, 0, MOST)[0] == number, f"tree {number} has the number of another")
    left, right = (_whole(tree[side], n, -1, n - 1) for side in ("left_children", "right_children"))
    columns, parents = (_whole(tree[key], n, 0, MOST) for key in ("split_indices", "parents"))
    for key in ("split_conditions", "base_weights", "loss_changes", "sum_hessian"):
        _numbers(tree[key], n, f"{key} of tree {number}")
    for key in ("default_left", "split_type"):
        _whole([int(flag) for flag in tree.get(key, [0] * n)], n, 0, 1)
    require(np.all((left < 0) == (right < 0)), f"a node of tree {number} has one child")
    inner = np.flatnonzero(left >= 0)
    children = np.concatenate([left[inner], right[inner]])
    # Every node has one parent and the root none, so that no path comes back.
    require(len(np.unique(children)) == len(children) and 0 not in children, f"tree {number} runs in a circle")
    require(np.array_equal(parents[children], np.tile(inner, 2)), f"tree {number} has children of other parents")
    require(parents[0] == NOBODY, f"the root of tree {number} has a parent")
    above = np.where(np.arange(n) == 0, 0, np.minimum(parents, n - 1))
    for _ in range(n.bit_length()):
        above = above[above]
    # Twice as far up each time: whoever is not at the root by now walks in a circle.
    require(not above.any(), f"tree {number} runs in a circle")
    used = np.zeros(n, dtype=bool)
    used[0] = used[children] = True
    # What pruning took away is still listed, under a column that cannot be, and leads nowhere.
    lost = np.flatnonzero(~used)
    require(len(lost) == gone and bool(np.all(columns[lost] == NOBODY)), f"tree {number} has nodes of no parent")
    require(np.all((left[lost] < 0) & (parents[lost] < n)), f"tree {number} has nodes of no parent")
    require(np.all(columns[used] < width), f"tree {number} splits on a feature that does not exist")


def find_levels(learner: dict[str, Any], names: list[str] | None, width: int) -> dict[int, list[str]] | None:
    """The texts of each column with codes, after all sets of codes were checked; None where the file does not say."""
    booster = learner["gradient_booster"]
    model = booster["gbtree"]["model"] if booster["name"] == "dart" else booster.get("model", {})
    kinds = learner.get("feature_types") or ["float"] * width
    require(len(kinds) == width, "its feature types miss features")
    coded = [k for k, kind in enumerate(kinds) if kind == "c"]
    trees = model.get("trees", ())
    split = any(any(tree.get("split_type", ())) or any(len(tree.get(key, ())) for key in SETS) for tree in trees)
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
    require(all(k in levels or not len(entry["values"]) for k, entry in enumerate(entries)), "levels of numbers")
    counts = [len(levels.get(k, ())) for k in range(width)]
    require(all(counts[k] for k in coded), "a category without levels")
    total = sum(counts)
    segments = _whole(cats["feature_segments"], width + 1, 0, total)
    require(segments.tolist() == np.concatenate([[0], np.cumsum(counts)]).tolist(), "its categories' segments")
    order = _whole(cats["sorted_idx"], total, 0, max(counts) - 1)
    for k in coded:
        own = order[segments[k] : segments[k + 1]]
        require(np.array_equal(np.sort(own), np.arange(counts[k])), "its sorted categories")
        # The library finds levels by bisection over their bytes.
        texts = [levels[k][place].encode() for place in own]
        require(texts == sorted(texts), "its sorted categories are not sorted")
    for number, tree in enumerate(trees):
        _check_sets(tree, number, counts)
    return levels


def _texts(entry: dict[str, Any]) -> list[str]:
    """Texts, written one after the other as bytes."""
    values = _whole(entry["values"], len(entry["values"]), 0, 127)
    ends = _whole(entry["offsets"], len(entry["offsets"]), 0, len(values))
    require(len(ends) > 0 and ends[0] == 0 and ends[-1] == len(values), "texts of categories miss bytes")
    require(np.all(np.diff(ends) >= 0), "texts of categories overlap")
    data = bytes(values.tolist()).decode("ascii")
    texts = [data[a:b] for a, b in pairwise(ends.tolist())]
    require(len(set(texts)) == len(texts), "a category has a level twice")
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
    require(np.array_equal(nodes, np.flatnonzero(kinds == 1)), f"tree {number}: its sets")
    require(np.array_equal(starts, np.cumsum(sizes) - sizes) and sizes.sum() == len(codes), f"tree {number}: set sizes")
    for node, at, size in zip(nodes.tolist(), starts.tolist(), sizes.tolist(), strict=True):
        # What was pruned to a leaf may still have a set, which is not looked at.
        most = counts[int(tree["split_indices"][node])] if inner[node] else max(counts)
        require(np.all(codes[at : at + size] < most), f"tree {number} has codes without levels")
    columns = np.asarray(tree["split_indices"])[inner & (kinds == 0)]
    require(not any(counts[int(k)] for k in columns), f"tree {number} splits a category as a number")


def _count(text: Any) -> int:
    """A whole number as the library writes it: text of digits."""
    require(type(text) is str and re.fullmatch(r"[0-9]{1,10}", text) is not None, f"{text!r} is no whole number")
    return int(text)


def _numbers(values: Any, n: int, what: str) -> None:
    found = np.asarray(values)
    require(found.shape == (n,) and (n == 0 or found.dtype.kind in "iuf"), f"{what} are not {n} numbers")


def _whole(values: Any, n: int, least: int, most: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    found = np.asarray(values)
    require(found.shape == (n,) and (n == 0 or found.dtype.kind in "iu"), f"a list of {n} whole numbers is not one")
    require(np.all((found >= least) & (found <= most)), f"an index is not from {least} to {most}")
    return found.astype(np.int64)
