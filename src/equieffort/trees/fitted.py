"""The nodes of a fitted scikit-learn tree as arrays, from where today's versions keep them.

What is read here is never believed on its word: whoever uses it compares it with the model's own answers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class FittedTree:
    """One tree: x[feature] <= threshold goes left. Arrays have an element a node, of which the first is the root."""

    feature: Ints
    """-1 at a leaf."""
    threshold: Floats
    """0 at a leaf, and where codes of a category are split."""
    left: Ints
    right: Ints
    values: Floats
    """(node, output)."""
    code_set: Ints | None = None
    """For a split by the codes of a category the row of `code_sets`; -1 elsewhere."""
    code_sets: Bools | None = None
    """(row, code): which codes go left."""
    missing_left: Bools | None = None
    """Where a missing value goes."""

    @property
    def splits_codes(self) -> bool:
        """Whether categories are split by sets of their codes."""
        return self.code_set is not None and bool((self.code_set >= 0).any())


def read_tree(tree: Any) -> FittedTree:
    """The `tree_` of a decision tree, alone or in a forest, a bag or gradient boosting."""
    leaf = tree.children_left < 0
    return FittedTree(
        np.where(leaf, -1, tree.feature).astype(np.int32),
        np.where(leaf, 0.0, tree.threshold),
        tree.children_left.astype(np.int32),
        tree.children_right.astype(np.int32),
        tree.value[:, 0, :],
    )


def read_hist_tree(predictor: Any) -> FittedTree:
    """A predictor of histogram gradient boosting, to which there is no public way."""
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    by_code = nodes["is_categorical"].astype(bool) & ~leaf
    bits = np.asarray(predictor.raw_left_cat_bitsets, dtype=np.uint32)
    return FittedTree(
        np.where(leaf, -1, nodes["feature_idx"]).astype(np.int32),
        np.where(by_code | leaf, 0.0, nodes["num_threshold"]),
        nodes["left"].astype(np.int32),
        nodes["right"].astype(np.int32),
        np.where(leaf, nodes["value"], 0.0)[:, None],
        np.where(by_code, nodes["bitset_idx"], -1).astype(np.int32),
        (bits[:, :, None] >> np.arange(32, dtype=np.uint32) & 1).reshape(len(bits), 256).astype(bool),
        nodes["missing_go_to_left"].astype(bool),
    )
