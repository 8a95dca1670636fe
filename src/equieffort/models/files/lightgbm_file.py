"""LightGBM: its text format. The trees are checked here, because the library itself ends the process on bad ones."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from equieffort.errors import ModelError, listed
from equieffort.models.files.pickles import disguised
from equieffort.models.files.probe import probe
from equieffort.models.files.shared import Labels, bad_file, broken, need, other_version, require

OBJECTIVE = re.compile(r"binary sigmoid:\S+|multiclass num_class:\d+|multiclassova num_class:\d+ sigmoid:\S+")
CODED = re.compile(r"-?[0-9]+(:-?[0-9]+)*")
"""What the header says of a column with codes; of numbers it says [least:most]."""
FORMAT = "v4"
"""What LightGBM writes since its version 4."""
TAIL = "\nend of trees\n\nparameters:\n\nend of parameters\n\npandas_categorical:null\n"
HEADER = {
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("feature_names", "feature_infos", "tree_sizes", "monotone_constraints"),
}
ALONE = ("tree", "average_output")
"""Lines of the header without a value: what it is, and that trees are averaged."""
AT_NODES = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
ALSO_AT_NODES = ("split_gain", "internal_value", "internal_weight", "internal_count")
AT_LEAVES = ("leaf_value",)
ALSO_AT_LEAVES = ("leaf_weight", "leaf_count")
OF_CATEGORIES = ("cat_boundaries", "cat_threshold")
SINGLE = ("num_leaves", "num_cat", "is_linear", "shrinkage")


class LightgbmLabels(Labels):
    """The labels 0, 1, ... that LightGBM's own classifier gives: the likeliest class, the first of equals.

    Where its scores of a person add up to one, they are its probabilities.
    """

    told_as = "LightGBM model"

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One label a row."""
        scores = self._scores(X)
        return np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0.5).astype(np.int64)

    def _chances(self, X: Any) -> np.ndarray[Any, Any]:
        scores = self._scores(X)
        return scores if scores.ndim == 2 else np.column_stack([1.0 - scores, scores])

    def _scores(self, X: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self.own.predict(self.matrix(X)))


def read_lightgbm(data: bytes, path: Path) -> LightgbmLabels:
    """The classifier in a text file that LightGBM saved."""
    if not data.startswith(b"tree\n"):
        raise disguised(data, path) or broken(path, "LightGBM", "it does not begin with the line 'tree'")
    try:
        header, trees, end = _split(data)
        names, version = header["feature_names"].split(" "), header["version"]
        objective = header.get("objective", "none")
        if not OBJECTIVE.fullmatch(objective):
            raise bad_file(
                f"{path.name!r} has the objective {objective!r}, which gives no labels.",
                fix="Train a classifier: binary, multiclass or multiclassova.",
            )
        n_classes = _check(header, trees, names, objective)
        levels = _levels(data, end, header, trees)
    except (KeyError, ValueError, IndexError, OverflowError, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        raise broken(path, "LightGBM", f"{type(error).__name__}: {error}") from error
    if levels is None:
        raise bad_file(
            f"{path.name!r} has categories, and does not say for sure which columns they are and how they are coded.",
            fix="Only columns of text can be read, trained from a table with their type 'category' and without naming "
            "categorical features. Else encode them in a scikit-learn pipeline, and save it as .skops or .onnx.",
        )
    lightgbm = need("lightgbm", "lightgbm", path)
    # Only what was checked is handed on: not the parameters of the training, which predictions do not need.
    text = data[:end].decode("utf-8") + TAIL
    probe("lightgbm", text.encode(), path, library=lightgbm.basic._LIB._name, width=len(names))
    try:
        booster = lightgbm.Booster(model_str=text)
    except Exception as error:
        raise broken(path, "LightGBM", error) from error
    if version != FORMAT:
        other_version(path, "LightGBM's text format", version, f"lightgbm {lightgbm.__version__}")
    unnamed = all(re.fullmatch(r"Column_\d+", name) for name in names)
    # One against all others: each class has a chance of its own, and they do not add up to one.
    probable = not objective.startswith("multiclassova")
    return LightgbmLabels(booster, None if unnamed else names, len(names), range(n_classes), levels, probable=probable)


def _split(data: bytes) -> tuple[dict[str, str], list[dict[str, str]], int]:
    """The header and the trees as keys and values, and where they end.

    The announced sizes must lead from tree to tree to the end.
    """
    require(b"\r" not in data, "its lines end with carriage returns, which move what the header points to")
    start = data.find(b"\nTree=0\n") + 1
    require(start, "it has no first tree")
    header = _pairs(data[:start], ALONE)
    unknown = sorted(set(header) - HEADER)
    require(not unknown, f"its header has the unknown parts {listed(unknown)}")
    sizes = [_whole(size) for size in header["tree_sizes"].split(" ")]
    trees, at = [], start
    for number, size in enumerate(sizes):
        block = data[at : at + size]
        if size <= 0 or len(block) < size or not block.startswith(f"Tree={number}\n".encode()):
            raise ValueError(f"tree {number} is not where the header says; {len(sizes)} trees were announced")
        trees.append(_pairs(block.split(b"\n", 1)[1]))
        at += size
    ended = data[at:].lstrip(b"\n").startswith(b"end of trees")
    require(ended, f"the trees do not end after the {len(sizes)} that were announced")
    require(b"\nend of parameters" in data[at:], "it ends before its parameters do")
    return header, trees, at


def _pairs(block: bytes, words: tuple[str, ...] = ()) -> dict[str, str]:
    """Keys and values; `words` are lines that may stand alone."""
    pairs: dict[str, str] = {}
    for line in block.decode("utf-8").split("\n"):
        key, equals, value = line.partition("=")
        require(key not in pairs, f"the key {key!r} occurs twice")
        if equals:
            pairs[key] = value
        elif line and line not in words:
            # The library takes such a line for the beginning of something else, and ends the process.
            raise ValueError(f"the line {line[:40]!r} is no key with a value")
    return pairs


def _check(header: dict[str, str], trees: list[dict[str, str]], names: list[str], objective: str) -> int:
    """The number of classes, after every index in the trees was checked."""
    several, each = _whole(header["num_class"]), _whole(header["num_tree_per_iteration"])
    width = _whole(header["max_feature_idx"]) + 1
    _whole(header["label_index"])
    counts = [int(count) for count in re.findall(r"num_class:(\d+)", objective)] or [1]
    if not (several == each == counts[0] >= 1) or len(trees) % each or (several < 2 and "multi" in objective):
        raise ValueError("its numbers of classes contradict each other")
    told = len(header["feature_infos"].split(" "))
    require(len(names) == told == width, f"{len(names)} names for {width} features")
    for number, tree in enumerate(trees):
        require(not _whole(tree.get("is_linear", "0")), f"tree {number} has linear leaves, which are not read")
        _check_tree(tree, number, width)
    for match in re.findall(r"sigmoid:(\S+)", objective):
        require(0 < float(match) < float("inf"), f"its sigmoid is {match}")
    return max(2, several)


def _check_tree(tree: dict[str, str], number: int, width: int) -> None:
    leaves = _whole(tree["num_leaves"])
    require(1 <= leaves <= 10_000_000, f"tree {number} has {leaves} leaves")
    unknown = sorted(set(tree) - {*AT_NODES, *ALSO_AT_NODES, *AT_LEAVES, *ALSO_AT_LEAVES, *OF_CATEGORIES, *SINGLE})
    require(not unknown, f"tree {number} has the unknown parts {listed(unknown)}")
    _numbers(tree["shrinkage"])
    values = {key: _numbers(tree.get(key, "")) for key in tree if key not in SINGLE}
    if leaves == 1:
        # A tree without a split; what else it lists is not looked at.
        coded = _whole(tree.get("num_cat", "0")) != 0
        if coded or len(values["leaf_value"]) != 1 or any(len(values.get(key, ())) > 1 for key in values):
            raise ValueError(f"tree {number} has one leaf, but not one value")
        return
    for keys, size in ((AT_NODES + ALSO_AT_NODES, leaves - 1), (AT_LEAVES + ALSO_AT_LEAVES, leaves)):
        for key in keys:
            needed = key in AT_NODES + AT_LEAVES
            if (needed or key in values) and len(values[key]) != size:
                raise ValueError(f"tree {number} lists {len(values[key])} of {key}, not {size}")
    split, kinds = np.isin(values["split_feature"], np.arange(width)), np.isin(values["decision_type"], np.arange(16))
    require(split.all(), f"tree {number} splits on a feature that does not exist")
    require(kinds.all(), f"tree {number} has a decision of unknown type")
    _check_sets(tree, values, number)
    children = np.sort(np.concatenate([values["left_child"], values["right_child"]]))
    # All nodes but the root and all leaves, each once: so every path ends at a leaf.
    nodes = np.concatenate([np.arange(-leaves, 0), np.arange(1, leaves - 1)])
    require(np.array_equal(children, nodes), f"tree {number} has children that are not its nodes and leaves")


def _check_sets(tree: dict[str, str], values: dict[str, Any], number: int) -> None:
    """Each split of a category names one of the tree's sets, and each set its own words of bits."""
    count = _whole(tree.get("num_cat", "0"))
    named = values["threshold"][values["decision_type"] % 2 == 1]
    ends, words = (values.get(key, np.zeros(0)) for key in OF_CATEGORIES)
    listed_once = len(named) == count and np.array_equal(np.sort(named), np.arange(count))
    require(listed_once, f"tree {number} splits on categories that it does not list")
    if count == 0 and len(ends) == len(words) == 0:
        return
    whole = np.all(ends == np.floor(ends)) and np.all((words == np.floor(words)) & (words >= 0) & (words < 2.0**32))
    if count == 0 or len(ends) != count + 1 or not whole or ends[0] != 0 or ends[-1] != len(words):
        raise ValueError(f"tree {number} has sets of categories that do not fit together")
    require(np.all(np.diff(ends) > 0), f"tree {number} has a set of categories without words")


def _whole(text: str) -> int:
    """A whole number as the library reads it too: Python alone would also take 1_000."""
    require(re.fullmatch(r"-?[0-9]{1,15}", text), f"{text[:40]!r} is not a whole number")
    return int(text)


def _numbers(text: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    require(re.fullmatch(r"[0-9eE.+\-infa ]*", text), f"{text[:40]!r} are not numbers")
    return np.array([float(word) for word in text.split(" ") if word], dtype=np.float64)


def _levels(data: bytes, end: int, header: dict[str, str], trees: list[dict[str, str]]) -> dict[int, list[str]] | None:
    """The texts of each column with codes; None where the file leaves open which column they belong to.

    The file lists the levels without their columns, and apart from them the columns that are split as categories.
    Where both are as many and all levels are text, a wrong match cannot go unnoticed: numbers would meet text.
    """
    tail = data[end:].decode("utf-8")
    found = re.findall(r"\npandas_categorical:(.*)", tail)
    lists = json.loads(found[-1]) or [] if found else []
    are_lists = isinstance(lists, list) and all(isinstance(levels, list) for levels in lists)
    require(are_lists, "its pandas_categorical is not a list of lists")
    told = re.findall(r"\n\[categorical_feature: ([0-9,]*)\]\n", tail)
    columns = sorted({_whole(word) for word in told[0].split(",") if word}) if len(told) == 1 else []
    infos = header["feature_infos"].split(" ")
    coded = {k for k, info in enumerate(infos) if CODED.fullmatch(info)}
    split: set[int] = set()
    for tree in trees:
        used, kinds = (_numbers(tree.get(key, "")) for key in ("split_feature", "decision_type"))
        split.update(int(column) for column, kind in zip(used, kinds, strict=True) if int(kind) % 2)
    if not lists and not columns and not coded and not split:
        return {}
    texts = all(isinstance(level, str) for levels in lists for level in levels)
    distinct = texts and all(len(set(levels)) == len(levels) > 0 for levels in lists)
    if len(lists) != len(columns) or not distinct or not coded | split <= set(columns) <= set(range(len(infos))):
        return None
    return dict(zip(columns, lists, strict=True))
