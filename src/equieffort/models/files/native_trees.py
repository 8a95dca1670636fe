"""Trees that scikit-learn walks in compiled code, wherever they are inside a model: no index may lead out of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

MOST_PARTS = 5_000_000
"""Objects that are looked at; no model here has nearly as many."""


def check_trees(model: Any) -> None:
    """Refuse trees whose nodes point outside, at themselves or at features that do not exist; raises ValueError."""
    for part in _parts(model):
        kind = f"{type(part).__module__}.{type(part).__name__}"
        if kind == "sklearn.tree._tree.Tree":
            _check(part.children_left, part.children_right, part.children_left < 0, part.feature, part.n_features)
        elif isinstance(found := getattr(part, "_predictors", None), list):
            for predictor in (one for several in found for one in several):
                _check_predictor(predictor, int(part.n_features_in_))


def _check_predictor(predictor: Any, width: int) -> None:
    """A tree of HistGradientBoosting."""
    nodes = predictor.nodes
    _check(nodes["left"], nodes["right"], nodes["is_leaf"] != 0, nodes["feature_idx"], width)
    coded = nodes["is_categorical"] != 0
    for sets in (predictor.raw_left_cat_bitsets, predictor.binned_left_cat_bitsets):
        _require(sets.ndim == 2 and sets.shape[1] == 8, "a set of categories has another size")
        _require(bool(np.all(nodes["bitset_idx"][coded] < len(sets))), "a set of categories is not there")


def _check(left: Any, right: Any, leaf: Any, feature: Any, width: int) -> None:
    inner = np.flatnonzero(~leaf)
    children = np.concatenate([left[inner], right[inner]]).astype(np.int64)
    n = len(left)
    _require(n > 0, "a tree has no nodes")
    _require(bool(np.all((children > 0) & (children < n))), "a tree has children that are not its nodes")
    # Children come after their parents, so that every path comes to an end.
    _require(bool(np.all(children > np.tile(inner, 2))), "a tree runs in a circle")
    used = feature[inner].astype(np.int64)
    _require(bool(np.all((used >= 0) & (used < width))), "a tree splits on a feature that does not exist")


def _parts(model: Any) -> Iterator[Any]:
    """The model and everything in it, once."""
    stack, seen = [model], set()
    while stack:
        part = stack.pop()
        if isinstance(part, str | bytes | int | float | bool | type(None)) or id(part) in seen:
            continue
        seen.add(id(part))
        _require(len(seen) < MOST_PARTS, f"it holds more than {MOST_PARTS:,} parts")
        yield part
        if isinstance(part, dict):
            stack.extend(part.values())
        elif isinstance(part, list | tuple | set | frozenset):
            stack.extend(part)
        elif isinstance(part, np.ndarray):
            stack.extend(part.ravel().tolist() if part.dtype == object else ())
        elif isinstance(getattr(part, "__dict__", None), dict) and not isinstance(part, type):
            stack.extend(vars(part).values())


def _require(holds: bool, why: str) -> None:
    if not holds:
        raise ValueError(why)
