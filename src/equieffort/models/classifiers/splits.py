"""Splits of a model's own columns as splits of the encoded ones, to the last bit.

A pipeline may scale a number before the model compares it with a threshold, and models round in their own ways. All of
that is monotone in the raw number, so there is a largest double that still goes left; it is found by asking the
transformers themselves. What becomes of a category is asked level by level.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.data.stored import nearest, number_type
from equieffort.models.classifiers.affine import VARIES, Affine
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.floats import last_true
from equieffort.models.classifiers.views import NoView
from equieffort.trees.fitted import FittedTrees, joined

Compare = Callable[[Floats, Floats], Bools]
"""Whether numbers, as they reach the model, go left at thresholds."""


def single_at_most(values: Floats, thresholds: Floats) -> Bools:
    """As scikit-learn's trees compare: rounded to single precision first."""
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(np.float32).astype(np.float64) <= thresholds)


def single_below(values: Floats, thresholds: Floats) -> Bools:
    """As XGBoost compares."""
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(np.float32) < thresholds.astype(np.float32))


def at_most(values: Floats, thresholds: Floats) -> Bools:
    """As HistGradientBoosting compares."""
    return np.asarray(values <= thresholds)


NEARLY_ZERO = float(np.float32(1e-35))


def nearly_zero_at_most(values: Floats, thresholds: Floats) -> Bools:
    """As LightGBM compares: what is nearly zero is zero."""
    return np.asarray(np.where(np.abs(values) <= NEARLY_ZERO, 0.0, values) <= thresholds)


def nearly_zero_single_at_most(values: Floats, thresholds: Floats) -> Bools:
    """As LightGBM compares numbers that were handed to it in single precision."""
    return nearly_zero_at_most(values.astype(np.float32).astype(np.float64), thresholds)


def level_codes(affine: Affine, column: int, known: list[Any]) -> Floats:
    """The code that a model gives each level of a category: its place among those it knows."""
    raw = affine.raw[column]
    name = affine.names[column]
    if affine.fixed[column] is not VARIES:
        raise NoView(f"it decides itself what a missing value of {name!r} means")
    if raw is None or not affine.encoding.columns[raw].is_category:
        raise NoView(f"it encodes {name!r}, which is not declared a category")
    levels = affine.encoding.columns[raw].levels
    if unknown := [level for level in levels if level not in known]:
        raise NoView(f"it has never met the level {unknown[0]!r} of {name!r}")
    return np.array([known.index(level) for level in levels], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns a model gets: which encoded column each comes from, and what it makes of its values."""

    decision: Decision
    affine: Affine
    steps: tuple[Any, ...]
    codes: dict[int, Floats]
    """For columns that the model itself encodes: the code of each level."""

    @property
    def grids(self) -> dict[int, np.dtype[Any]]:
        """By encoded column: the numbers that the caller's table can hold, where these are fewer than doubles."""
        return {k: one.grid for k, one in enumerate(self.affine.encoding.columns) if one.grid is not None}

    def source(self, column: int) -> int | None:
        """The encoded column that a column depends on; None if it is constant."""
        numbers = np.flatnonzero(self.affine.matrix[column]).tolist()
        # A text that is not yet encoded is NaN here, which differs from everything.
        levels = [k for k, table in self.affine.tables.items() if len(set(table[column].tolist())) > 1]
        levels += [k for k, table in self.affine.tables.items() if k not in levels and np.isnan(table[column]).any()]
        if len(numbers) + len(levels) > 1:
            names = [self.affine.encoding.columns[k].name for k in numbers + levels]
            raise NoView(f"it splits on a mixture of {' and '.join(repr(name) for name in names[:3])}")
        return (numbers + levels)[0] if numbers or levels else None

    def is_number(self, column: int) -> bool:
        """Whether a column comes from a number rather than a category."""
        k = self.source(column)
        return k is not None and not self.affine.encoding.columns[k].is_category

    def falls(self, column: int) -> bool:
        """Whether it falls as the number it comes from rises."""
        return bool(self.affine.matrix[column].sum() < 0)

    def by_level(self, column: int) -> Floats:
        """What the model gets for each level of the category a column comes from; one value if it is constant."""
        if column in self.codes:
            return self.codes[column]
        k = self.source(column)
        if k is None:
            return self._given({}, 1, np.full(1, column))
        levels = self.affine.encoding.columns[k].levels
        return self._given({k: np.arange(len(levels), dtype=np.float64)}, len(levels), np.full(len(levels), column))

    def last_left(self, columns: npt.NDArray[np.intp], thresholds: Floats, compare: Compare) -> Floats:
        """For splits of numbers: the largest raw double on the side of the small ones."""
        place = {int(c): self.source(int(c)) for c in np.unique(columns)}
        sources = np.array([place[int(c)] for c in columns], dtype=np.intp)
        slope = self.affine.matrix[columns, sources]
        falls = slope < 0

        def small(raw: Floats, which: npt.NDArray[np.intp]) -> Bools:
            seen = raw
            for k, grid in self.grids.items():
                seen = np.where(sources[which] == k, nearest(raw, grid), seen)
            if self.steps:
                at = sources[which]
                given = {int(k): np.where(at == k, raw, 0.0) for k in np.unique(sources)}
                seen = self._given(given, len(raw), columns[which])
            return np.asarray(compare(seen, thresholds[which]) != falls[which])

        with np.errstate(over="ignore", invalid="ignore"):
            offset = self.affine.shift[columns] / slope
            guess = np.nan_to_num(thresholds / slope - offset)
            width = 1e-5 * (np.abs(guess) + np.nan_to_num(np.abs(offset))) + 1e-30
        return last_true(small, guess, width)

    def _given(self, raw: dict[int, Floats], n: int, columns: npt.NDArray[np.intp]) -> Floats:
        """What the model gets in its columns, one a row, when encoded columns hold these values and the others any."""
        encoding = self.affine.encoding
        frame = pd.DataFrame(index=range(n))
        for name in self.decision.features:
            k = encoding.position(name)
            values = raw.get(k, np.zeros(n))
            column = encoding.columns[k]
            if name in self.decision.missing:
                frame[name] = pd.Series([self.decision.missing[name]] * n)
                continue
            if column.grid is not None:
                values = nearest(values, column.grid)
            frame[name] = column.decode(values) if column.is_category else values.astype(number_type(column.dtype))
        seen = self.decision.model_input(frame)
        with np.errstate(over="ignore"):
            for step in self.steps:
                seen = step.transform(seen)
        if hasattr(seen, "toarray"):
            seen = seen.toarray()
        table = seen.to_numpy() if isinstance(seen, pd.DataFrame) else np.asarray(seen)
        return pd.to_numeric(pd.Series(table[np.arange(n), columns]), errors="coerce").to_numpy(dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Part:
    """Trees as a model holds them, over the columns that it gets."""

    columns: Columns
    compare: Compare
    trees: FittedTrees

    def with_values(self, values: npt.NDArray[Any]) -> Part:
        """The same trees with other values: (node, score)."""
        return replace(self, trees=replace(self.trees, values=values))


def merged(parts: tuple[Part, ...]) -> list[Part]:
    """Parts that see their columns alike as one, so that transformers are asked once for all their trees."""
    groups = (list(alike) for _, alike in groupby(parts, key=lambda part: (id(part.columns), id(part.compare))))
    return [replace(group[0], trees=joined([part.trees for part in group])) for group in groups]


def translate(part: Part) -> tuple[FittedTrees, dict[int, Bools]]:
    """The trees of a part over the encoded columns, and for their splits of categories which levels go left.

    Raises `NoView` where there are none.
    """
    columns, trees, n = part.columns, part.trees, len(part.trees.feature)
    feature = np.full(n, -1, dtype=np.int32)
    threshold = np.zeros(n)
    swapped = np.zeros(n, dtype=bool)
    masks: dict[int, Bools] = {}
    inner = np.flatnonzero(trees.feature >= 0)
    numbers: list[npt.NDArray[np.intp]] = []
    for column in np.unique(trees.feature[inner]).tolist():
        nodes = inner[trees.feature[inner] == column]
        source = columns.source(column)
        feature[nodes] = 0 if source is None else source
        if columns.is_number(column):
            if trees.code_set is not None and (trees.code_set[nodes] >= 0).any():
                name = columns.affine.encoding.columns[int(feature[nodes[0]])].name
                raise NoView(f"it splits the number {name!r} as a category, which it is not declared to be")
            _check_zero(part, nodes)
            numbers.append(nodes)
            swapped[nodes] = columns.falls(column)
            continue
        given = columns.by_level(column)
        if source is None and np.isnan(given).any():
            raise NoView(f"it decides itself what a missing value of {columns.affine.names[column]!r} means")
        met: dict[tuple[Any, ...], Bools] = {}
        for node in nodes.tolist():
            mask = _levels_left(part, node, given, met)
            if source is None:
                threshold[node] = np.inf if mask[0] else -np.inf
            else:
                masks[node] = mask
    if numbers:
        nodes = np.concatenate(numbers)
        pairs = np.column_stack([trees.feature[nodes].astype(np.float64), trees.threshold[nodes]])
        unique, inverse = np.unique(pairs, axis=0, return_inverse=True)
        found = columns.last_left(unique[:, 0].astype(np.intp), unique[:, 1], part.compare)
        threshold[nodes] = found[inverse.reshape(-1)]
    leaf = trees.feature < 0
    left = np.where(leaf, 0, np.where(swapped, trees.right, trees.left))
    right = np.where(leaf, 0, np.where(swapped, trees.left, trees.right))
    return FittedTrees(feature, threshold, left, right, trees.values, trees.roots), masks


def _check_zero(part: Part, nodes: npt.NDArray[np.intp]) -> None:
    goes = part.trees.zero_goes
    if goes is None:
        return
    told = nodes[goes[nodes] >= 0]
    alike = part.compare(np.zeros(len(told)), part.trees.threshold[told]) == (goes[told] == 1)
    if not alike.all():
        raise NoView("it takes zero for a missing value, apart from the numbers around it")


def _levels_left(part: Part, node: int, given: Floats, met: dict[tuple[Any, ...], Bools]) -> Bools:
    """Which levels go left, given what the model gets for each; `met` keeps what was found before."""
    trees = part.trees
    row = -1 if trees.code_set is None else int(trees.code_set[node])
    missing = None if trees.missing_left is None else bool(trees.missing_left[node])
    zero = -1 if trees.zero_goes is None else int(trees.zero_goes[node])
    key = (row, float(trees.threshold[node]), missing, zero)
    if key in met:
        return met[key]
    unknown = np.isnan(given)
    if unknown.any() and missing is None:
        raise NoView("text reaches its trees without an encoder")
    known = np.where(unknown, 0.0, given)
    if row >= 0 and trees.code_sets is not None:
        sets = trees.code_sets[row]
        left = sets[np.clip(known.astype(np.int64), 0, len(sets) - 1)]
    else:
        left = part.compare(known, np.full(len(known), trees.threshold[node]))
        if zero >= 0:
            left = np.where(np.abs(known) <= NEARLY_ZERO, zero == 1, left)
    if missing is not None:
        left = np.where(unknown, missing, left)
    met[key] = np.asarray(left, dtype=bool)
    return met[key]
