"""The nodes of fitted trees as arrays; those of scikit-learn's are read here from where today's versions keep them.

What is read here is never believed on its word: whoever uses it compares it with the model's own answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats

Ints = npt.NDArray[np.int32]
ROOT: Ints = np.zeros(1, dtype=np.int32)
"""Where a tree by itself begins."""


@dataclass(frozen=True, eq=False)
class FittedTrees:
    """One tree, or several one after the other: x[feature] <= threshold goes left. Arrays have an element a node."""

    feature: Ints
    """-1 at a leaf."""
    threshold: Floats
    """0 at a leaf, and where codes of a category are split."""
    left: Ints
    right: Ints
    values: npt.NDArray[Any]
    """(node, output)."""
    roots: Ints
    code_set: Ints | None = None
    """For a split by the codes of a category the row of `code_sets`; -1 elsewhere."""
    code_sets: Bools | None = None
    """(row, code): which codes go left; the last column stands for all codes beyond."""
    missing_left: Bools | None = None
    """Where a missing value, or a level that the model does not know, goes."""
    zero_goes: Ints | None = None
    """Where zero counts as missing: 1 if it goes left, 0 if it goes right; -1 where it is a number like others."""

    @property
    def splits_codes(self) -> bool:
        """Whether categories are split by sets of their codes."""
        return self.code_set is not None and bool((self.code_set >= 0).any())


def joined(several: Sequence[FittedTrees]) -> FittedTrees:
    """All of them in shared arrays, in their order."""
    sizes = [len(one.feature) for one in several]
    starts = np.cumsum([0, *sizes[:-1]])
    set_starts = np.cumsum([0, *(0 if one.code_sets is None else len(one.code_sets) for one in several[:-1])])
    sets = [one.code_sets for one in several if one.code_sets is not None and one.code_sets.size]
    width = max((one.shape[1] for one in sets), default=0)

    def moved(name: str) -> Ints:
        pieces = [getattr(one, name) + start for one, start in zip(several, starts, strict=True)]
        return np.concatenate(pieces).astype(np.int32)

    def filled(name: str, blank: int) -> Any:
        pieces = [getattr(one, name) for one in several]
        if all(piece is None for piece in pieces):
            return None
        return np.concatenate([np.full(n, blank) if p is None else p for p, n in zip(pieces, sizes, strict=True)])

    code_set = filled("code_set", -1)
    if code_set is not None:
        code_set = np.where(code_set >= 0, code_set + np.repeat(set_starts, sizes), -1).astype(np.int32)
    return FittedTrees(
        np.concatenate([one.feature for one in several]),
        np.concatenate([one.threshold for one in several]),
        moved("left"),
        moved("right"),
        np.concatenate([one.values for one in several]),
        moved("roots"),
        code_set,
        # What stands for all codes beyond stays the last.
        np.concatenate([np.pad(s, ((0, 0), (0, width - s.shape[1])), mode="edge") for s in sets]) if sets else None,
        filled("missing_left", False),
        filled("zero_goes", -1),
    )


def read_tree(tree: Any) -> FittedTrees:
    """The `tree_` of a decision tree, alone or in a forest, a bag or gradient boosting."""
    leaf = tree.children_left < 0
    return FittedTrees(
        np.where(leaf, -1, tree.feature).astype(np.int32),
        np.where(leaf, 0.0, tree.threshold),
        tree.children_left.astype(np.int32),
        tree.children_right.astype(np.int32),
        tree.value[:, 0, :],
        ROOT,
    )


def read_hist_tree(predictor: Any) -> FittedTrees:
    """A predictor of histogram gradient boosting, to which there is no public way."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    by_code = nodes["is_categorical"].astype(bool) & ~leaf
    bits = np.asarray(predictor.raw_left_cat_bitsets, dtype=np.uint32)
    sets = (bits[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(len(bits), 256).astype(bool)
    return FittedTrees(
        np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32),
        np.where(by_code | leaf, 0.0, nodes["num_threshold"]),
        nodes["left"].astype(np.int32),
        nodes["right"].astype(np.int32),
        np.where(leaf, nodes["value"], 0.0)[:, None],
        ROOT,
        np.where(by_code, nodes["bitset_idx"], -1).astype(np.int32),
        np.column_stack([sets, np.zeros(len(sets), dtype=bool)]),
        nodes["missing_go_to_left"].astype(bool) if by_code.any() else None,
    )
