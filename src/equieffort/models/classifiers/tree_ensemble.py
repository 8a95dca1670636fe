"""From trees as models hold them to one TreeView: numbered anew, with margins, goals and the error of rounding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.models.classifiers.floats import turning_point
from equieffort.models.classifiers.splits import Part, merged, translate
from equieffort.models.classifiers.unwrap import Unwrapped
from equieffort.models.classifiers.views import Goals, Ints, NoView, OwnSum, TreeView
from equieffort.trees.fitted import FittedTrees, joined

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Ensemble:
    """All trees of a model and how its scores are summed: in the type of `start`, tree by tree."""

    parts: tuple[Part, ...]
    start: npt.NDArray[Any]
    divisor: float = 1.0
    followed: bool = True
    """Whether the sums, as said, are those of the model to the last bit."""
    rounding: float = 0.0
    """What else rounding may do to a margin."""

    def largest_score(self, opened: Unwrapped, *, softmax: bool = False) -> TreeView:
        """The class with the largest of the scores is chosen, the first of equals."""
        if opened.cut is not None:
            raise NoView("a threshold on the probability of one of several classes is not a sum over its trees")
        goals, contrasts = Goals.argmax(opened.classes, opened.wanted)
        plus = np.argmax(contrasts, axis=1).astype(np.int32)
        minus = np.argmin(contrasts, axis=1).astype(np.int32)
        blank = np.zeros(len(plus))
        return self._view(goals, _Margins(plus, minus, blank + 1.0, blank), softmax)

    def one_score(self, answer: Callable[[npt.NDArray[Any]], Bools]) -> TreeView:
        """One score, and whether it means the favourable outcome: a monotone function of it."""
        rises, cut = turning_point(answer, -1e30, 1e30, self.start.dtype.type)
        first = np.zeros(1, dtype=np.int32)
        sign = np.array([1.0 if rises else -1.0])
        return self._view(Goals.one(closed=True), _Margins(first, first - 1, sign, np.array([cut])), False)

    def _view(self, goals: Goals, margins: _Margins, softmax: bool) -> TreeView:
        nodes, subset, subsets = _over_encoded(self.parts)
        scores = nodes.values.astype(np.float64)
        start = self.start.astype(np.float64)
        grid = _grid(np.concatenate([scores[nodes.feature < 0].ravel(), start]))
        margins = margins.on(grid)
        low, high = _reach(nodes)
        sizes = np.maximum(np.abs(start + np.cumsum(low, axis=0)), np.abs(start + np.cumsum(high, axis=0)))
        counted = (low != 0) | (high != 0)
        most = np.abs(start) + np.maximum(np.abs(low), np.abs(high)).sum(axis=0)
        unit = 2.0**-24 if self.start.dtype == np.float32 else 2.0**-53
        own = 1.01 * unit * (sizes * counted).sum(axis=0) + (0.0 if self.followed else 1.01 * unit * len(low) * most)
        own += 4 * unit * most if self.divisor != 1.0 or softmax or not self.followed else 0.0
        doubles = 1.01 * 2.0**-53 * (counted.sum(axis=0) + 4) * most
        exact = bool(most.max(initial=0.0) + np.abs(margins.cut).max() < grid * 0.125 / unit)
        total = own + doubles + (4 * unit * self.divisor if softmax else 0.0)
        error = margins.error(total) + self.rounding
        if exact and not softmax and self.rounding == 0.0:
            error = np.zeros(len(margins.plus))
        compared = (margins.plus, margins.minus, margins.sign, margins.cut)
        followed = OwnSum(self.start, nodes.values, *compared, self.divisor, softmax)
        return TreeView(
            nodes.feature,
            nodes.threshold,
            subset,
            nodes.left,
            nodes.right,
            nodes.roots,
            margins.of(scores),
            subsets,
            margins.of(start[None, :])[0] - margins.sign * margins.cut,
            goals,
            error,
            followed if self.followed else None,
        )


@dataclass(frozen=True, eq=False)
class _Margins:
    """Which scores are compared: with each other or, where minus is -1, with a cut."""

    plus: Ints
    minus: Ints
    sign: Floats
    cut: Floats

    def of(self, scores: Floats) -> Floats:
        """The margins without the cuts."""
        second = np.where(self.minus < 0, 0.0, scores[:, np.maximum(self.minus, 0)])
        return np.asarray(self.sign * (scores[:, self.plus] - second))

    def error(self, scores: Floats) -> Floats:
        """From errors of scores to those of margins."""
        second = np.where(self.minus < 0, 2.0**-52 * np.abs(self.cut), scores[np.maximum(self.minus, 0)])
        return np.asarray(scores[self.plus] + second)

    def on(self, grid: float) -> _Margins:
        """The same cuts for scores that are multiples of a number, as such multiples themselves."""
        if not np.isfinite(grid) or np.abs(self.cut).max() > 2.0**50 * grid:
            return self
        inward = np.where(self.sign > 0, np.ceil(self.cut / grid), np.floor(self.cut / grid))
        return _Margins(self.plus, self.minus, self.sign, inward * grid)


def _grid(values: Floats) -> float:
    """The largest power of two that all numbers are multiples of."""
    values = values[values != 0]
    if not len(values):
        return 1.0
    mantissa, exponent = np.frexp(values)
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    trailing = np.log2((whole & -whole).astype(np.float64))
    return float(2.0 ** max(-1000.0, float((exponent - 53 + trailing).min())))


def _reach(nodes: FittedTrees) -> tuple[Floats, Floats]:
    """(tree, score): the least and the largest value of a leaf."""
    leaf, scores = (nodes.feature < 0)[:, None], nodes.values.astype(np.float64)
    low = np.minimum.reduceat(np.where(leaf, scores, np.inf), nodes.roots, axis=0)
    return low, np.maximum.reduceat(np.where(leaf, scores, -np.inf), nodes.roots, axis=0)


def _over_encoded(parts: tuple[Part, ...]) -> tuple[FittedTrees, Ints, Bools]:
    """The trees of all parts without splits that decide nothing; which set of levels a node splits by, and the sets."""
    trees: list[FittedTrees] = []
    masks: dict[int, Bools] = {}
    offset = 0
    for part in merged(parts):
        found, own = translate(part)
        trees.append(found)
        masks.update({node + offset: mask for node, mask in own.items()})
        offset += len(found.feature)
    subset, subsets = _subsets(masks, offset)
    one_sided = {node: mask for node, mask in masks.items() if mask.all() or not mask.any()}
    nodes, kept = _renumbered(joined(trees), subset, one_sided)
    return nodes, subset[kept], subsets


def _subsets(masks: dict[int, Bools], n: int) -> tuple[Ints, Bools]:
    """Each set of levels once, and which one a node has."""
    subset = np.full(n, -1, dtype=np.int32)
    found: dict[bytes, int] = {}
    rows: list[Bools] = []
    for node, mask in masks.items():
        key = mask.tobytes()
        if key not in found:
            found[key] = len(rows)
            rows.append(mask)
        subset[node] = found[key]
    subsets = np.zeros((len(rows), max(map(len, rows), default=0)), dtype=bool)
    for row, mask in enumerate(rows):
        subsets[row, : len(mask)] = mask
    return subset, subsets


def _renumbered(nodes: FittedTrees, subset: Ints, one_sided: dict[int, Bools]) -> tuple[FittedTrees, Indices]:
    """Without nodes that send everybody the same way, in the order that a TreeView promises; and which were kept."""
    instead = np.arange(len(nodes.feature))
    by_number = (nodes.feature >= 0) & (subset < 0) & np.isinf(nodes.threshold)
    instead = np.where(by_number, np.where(nodes.threshold > 0, nodes.left, nodes.right), instead)
    for node, mask in one_sided.items():
        instead[node] = nodes.left[node] if mask.all() else nodes.right[node]
    while np.any(instead[instead] != instead):
        instead = instead[instead]
    level, tree = instead[nodes.roots], np.arange(len(nodes.roots))
    met, trees = [level], [tree]
    while len(level):
        inner = nodes.feature[level] >= 0
        level, tree = level[inner], tree[inner]
        level = instead[np.concatenate([nodes.left[level], nodes.right[level]])]
        tree = np.concatenate([tree, tree])
        met.append(level)
        trees.append(tree)
    tree = np.concatenate(trees)
    order = np.argsort(tree, kind="stable")
    kept, tree = np.concatenate(met)[order], tree[order]
    place = np.zeros(len(nodes.feature), dtype=np.int32)
    place[kept] = np.arange(len(kept))
    inner = nodes.feature[kept] >= 0
    values = nodes.values[kept].copy()
    values[inner] = 0.0
    renumbered = FittedTrees(
        nodes.feature[kept],
        np.where(inner, nodes.threshold[kept], 0.0),
        np.where(inner, place[instead[nodes.left[kept]]], -1).astype(np.int32),
        np.where(inner, place[instead[nodes.right[kept]]], -1).astype(np.int32),
        values,
        np.searchsorted(tree, np.arange(len(nodes.roots))).astype(np.int32),
    )
    return renumbered, kept
