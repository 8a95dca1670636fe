"""LightGBM's classifiers as a sum of trees; read only when a model comes from there.

LightGBM compares and adds in double precision. Its own text format is read, in which every number is complete.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.splits import (
    Columns,
    Compare,
    Part,
    level_codes,
    nearly_zero_at_most,
    nearly_zero_single_at_most,
)
from equieffort.models.classifiers.tree_ensemble import Ensemble
from equieffort.models.classifiers.unwrap import Unwrapped
from equieffort.models.classifiers.views import NoView, TreeView, require_plain
from equieffort.trees.fitted import ROOT, FittedTrees

EPSILON = 2.0**-53


def lightgbm_view(opened: Unwrapped, decision: Decision) -> TreeView:
    """The view of an LGBMClassifier, or of a booster that was loaded from a file."""
    final = opened.final
    if final is getattr(decision.classifier, "own", None):
        levels = decision.classifier.levels.items()
        codes = {k: level_codes(opened.affine, k, list(known)) for k, known in levels}
        return _view(opened, decision, final, nearly_zero_at_most, codes)
    if type(final).__name__ != "LGBMClassifier":
        raise NoView(f"{type(final).__name__} is not a classifier of LightGBM's that can be read")
    require_plain(final)
    if callable(final.objective):
        raise NoView("its objective is a function of its own")
    for name, value in final.get_params().items():
        if value and (name.startswith(("pred_", "predict_")) or name.endswith("_predict")):
            raise NoView(f"it does not simply add up its trees ({name}={value!r})")
    # An array of whole numbers only is handed on in single precision.
    whole = decision.bare and not opened.steps and decision.whole
    compare = nearly_zero_single_at_most if whole else nearly_zero_at_most
    return _view(opened, decision, final.booster_, compare, _codes(final.booster_, opened))


def _view(opened: Unwrapped, decision: Decision, booster: Any, compare: Compare, codes: dict[int, Floats]) -> TreeView:
    require_plain(booster, library="lightgbm")
    header, trees = _read(booster.model_to_string())
    objective = header.get("objective", "none")
    several = int(header["num_tree_per_iteration"])
    columns = Columns(decision, opened.affine, opened.steps, codes)
    parts = tuple(_part(tree, columns, compare, k % several, several) for k, tree in enumerate(trees))
    divisor = float(len(trees) // several) if "average_output" in header else 1.0
    steepness = float(found.group(1)) if (found := re.search(r"sigmoid:(\S+)", objective)) else 1.0
    start = np.zeros(several)
    if objective.startswith("binary"):
        return _binary(Ensemble(parts, start, divisor), opened, steepness)
    if objective.startswith("multiclassova"):
        most = sum(np.abs(part.trees.values).max(axis=0) for part in parts).max() / divisor * steepness
        if most > 20:
            raise NoView("its probabilities may be equal where its scores are not")
        apart = 8 * EPSILON * float(np.exp(most)) / steepness * divisor
        return Ensemble(parts, start, divisor, rounding=apart).largest_score(opened)
    if objective.startswith("multiclass"):
        return Ensemble(parts, start, divisor).largest_score(opened, softmax=True)
    raise NoView(f"its objective, {objective.split(' ')[0]}, is not one whose labels are known")


def _binary(ensemble: Ensemble, opened: Unwrapped, steepness: float) -> TreeView:
    def decided(sums: Floats) -> Floats:
        return np.asarray(sums / ensemble.divisor)

    def chances(sums: Floats) -> Floats:
        with np.errstate(over="ignore"):
            second = 1.0 / (1.0 + np.exp(-steepness * decided(sums)))
        return np.column_stack([1.0 - second, second])

    level = 0.5
    if opened.cut is not None and opened.cut.response == "predict_proba":
        level = min(opened.cut.threshold, 1.0 - opened.cut.threshold)
        if not level > 0.0:
            raise NoView(f"its threshold {opened.cut.threshold:g} is not between 0 and 1")
    # Its exponential need not be that of numpy to the last bit.
    rounding = 16 * EPSILON * ensemble.divisor / (steepness * level)
    answer = opened.answer(lambda sums: np.argmax(chances(sums), axis=1) == 1, chances, decided)
    return Ensemble(ensemble.parts, ensemble.start, ensemble.divisor, rounding=rounding).one_score(answer)


def _read(text: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """The header and the trees as keys and values."""
    blocks = text.split("\nend of trees")[0].split("\nTree=")
    pairs = [dict(line.partition("=")[::2] for line in block.split("\n")) for block in blocks]
    return pairs[0], pairs[1:]


def _numbers(tree: dict[str, str], key: str, kind: Any = np.float64) -> npt.NDArray[Any]:
    return np.array(tree.get(key, "").split(), dtype=kind)


def _part(tree: dict[str, str], columns: Columns, compare: Compare, k: int, several: int) -> Part:
    if tree.get("is_linear", "0") != "0":
        raise NoView("its leaves hold linear models")
    leaf_values = _numbers(tree, "leaf_value")
    leaves = len(leaf_values)
    inner = leaves - 1
    n = inner + leaves
    values = np.zeros((n, several))
    values[inner:, k] = leaf_values
    blank = np.full(leaves, -1, dtype=np.int32)
    if inner == 0:
        return Part(columns, compare, FittedTrees(blank, np.zeros(1), blank, blank, values, ROOT))
    kind = _numbers(tree, "decision_type", np.int32)
    by_code = (kind & 1) == 1
    threshold = _numbers(tree, "threshold")
    # Leaves are counted backwards from -1.
    left, right = (
        np.where(child < 0, inner - 1 - child, child)
        for child in (_numbers(tree, side, np.int32) for side in ("left_child", "right_child"))
    )
    zero = np.where((kind >> 2 & 3) == 1, kind >> 1 & 1, -1)
    found = FittedTrees(
        np.concatenate([_numbers(tree, "split_feature", np.int32), blank]),
        np.concatenate([np.where(by_code, 0.0, threshold), np.zeros(leaves)]),
        np.concatenate([left, blank]).astype(np.int32),
        np.concatenate([right, blank]).astype(np.int32),
        values,
        ROOT,
        np.concatenate([np.where(by_code, threshold.astype(np.int64), -1), blank]).astype(np.int32),
        _sets(tree),
        zero_goes=np.concatenate([np.where(by_code, -1, zero), blank]).astype(np.int32) if (zero >= 0).any() else None,
    )
    return Part(columns, compare, found)


def _sets(tree: dict[str, str]) -> npt.NDArray[np.bool_]:
    """(row, code): the codes that go left, from words of 32 bits."""
    ends = _numbers(tree, "cat_boundaries", np.int64)
    words = _numbers(tree, "cat_threshold", np.int64)
    width = int(np.diff(ends).max(initial=0)) * 32 + 1
    sets = np.zeros((max(0, len(ends) - 1), width), dtype=bool)
    for row, (a, b) in enumerate(pairwise(ends.tolist())):
        bits = (words[a:b, None] >> np.arange(32) & 1).astype(bool).reshape(-1)
        sets[row, : len(bits)] = bits
    return sets


def _codes(booster: Any, opened: Unwrapped) -> dict[int, Floats]:
    """For the columns that LightGBM encodes itself, the code of each level."""
    known = getattr(booster, "pandas_categorical", None)
    if not known:
        return {}
    affine = opened.affine
    own = [
        k for k, raw in enumerate(affine.raw) if raw is not None and affine.encoding.columns[raw].kind == "categorical"
    ]
    if opened.steps or len(own) != len(known):
        raise NoView("it splits on categories whose codes depend on the table it was trained on")
    return {k: level_codes(affine, k, names) for k, names in zip(own, known, strict=True)}
