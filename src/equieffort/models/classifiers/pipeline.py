"""Columns inside a pipeline as affine functions of the raw ones, and level by level of the categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.errors import ModelError, listed, sentence
from equieffort.models.classifiers.views import NoView, require_plain


@dataclass(frozen=True, eq=False)
class Affine:
    """Columns inside a pipeline as affine functions of the raw ones: matrix . x + level values + shift."""

    matrix: Floats
    tables: dict[int, Floats]
    shift: Floats
    raw: tuple[int | None, ...]
    """For each column, the raw column it still is, untouched."""
    names: tuple[str, ...]
    encoding: Encoding

    @classmethod
    def identity(cls, encoding: Encoding, names: tuple[str, ...]) -> Affine:
        """The raw columns themselves; a category counts as its numeric value where it has one."""
        matrix = np.zeros((len(names), len(encoding.columns)))
        tables: dict[int, Floats] = {}
        for row, name in enumerate(names):
            k = encoding.position(name)
            column = encoding.columns[k]
            if column.is_category:
                table = np.zeros((len(names), len(column.levels)))
                table[row] = [_as_number(level) for level in column.levels]
                tables[k] = table
            else:
                matrix[row, k] = 1.0
        return cls(matrix, tables, np.zeros(len(names)), tuple(map(encoding.position, names)), names, encoding)

    def take(self, rows: list[int]) -> Affine:
        """Some of the columns, in the given order."""
        return replace(
            self,
            matrix=self.matrix[rows],
            tables={k: table[rows] for k, table in self.tables.items()},
            shift=self.shift[rows],
            raw=tuple(self.raw[row] for row in rows),
            names=tuple(self.names[row] for row in rows),
        )

    def scale(self, factor: Any, shift: Any) -> Affine:
        """Each column times a factor plus a shift."""
        factor = np.broadcast_to(np.asarray(factor, dtype=np.float64), self.shift.shape)
        tables = {k: table * factor[:, None] for k, table in self.tables.items()}
        shift, raw = self.shift * factor + shift, (None,) * len(self.raw)
        return replace(self, matrix=self.matrix * factor[:, None], tables=tables, shift=shift, raw=raw)

    @staticmethod
    def stack(parts: list[Affine], encoding: Encoding) -> Affine:
        """Columns of several parts side by side."""
        levels = {k: parts_k.shape[1] for part in parts for k, parts_k in part.tables.items()}
        tables = {
            k: np.vstack([part.tables.get(k, np.zeros((len(part.shift), width))) for part in parts])
            for k, width in levels.items()
        }
        return Affine(
            np.vstack([part.matrix for part in parts]),
            tables,
            np.concatenate([part.shift for part in parts]),
            tuple(raw for part in parts for raw in part.raw),
            tuple(name for part in parts for name in part.names),
            encoding,
        )


def _as_number(level: Any) -> float:
    try:
        return float(level)
    except (TypeError, ValueError):
        # Text that reaches the score as a number would be NaN there too; an encoder replaces this column.
        return float("nan")


def walk(step: Any, affine: Affine) -> tuple[Affine, Any]:
    """Follow pipelines to the final estimator, carrying the affine map along."""
    from sklearn.pipeline import Pipeline

    if not isinstance(step, Pipeline):
        return affine, step
    require_plain(step, library="sklearn")
    for _, transformer in step.steps[:-1]:
        affine = _renamed(transformer, _transform(transformer, affine))
    return walk(step.steps[-1][1], affine)


def _renamed(transformer: Any, affine: Affine) -> Affine:
    """The columns under the names a transformer gave them, by which a later one may pick them."""
    if not hasattr(transformer, "feature_names_in_") or not hasattr(transformer, "get_feature_names_out"):
        return affine
    try:
        names = tuple(map(str, transformer.get_feature_names_out()))
    except (AttributeError, ValueError):
        # A step inside cannot say, or names would clash: then nothing later can pick by name either.
        return affine
    return replace(affine, names=names) if len(names) == len(affine.names) else affine


def _transform(transformer: Any, affine: Affine) -> Affine:
    """The affine map after one transformer."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import Pipeline

    if transformer is None or transformer == "passthrough":
        return affine
    known = type(transformer).__module__.startswith("sklearn.")
    if isinstance(transformer, Pipeline | ColumnTransformer) or known:
        require_plain(transformer, library="sklearn")
    if isinstance(transformer, Pipeline):
        for _, inner in transformer.steps:
            affine = _renamed(inner, _transform(inner, affine))
        return affine
    if isinstance(transformer, ColumnTransformer):
        return _column_transformer(transformer, affine)
    name = type(transformer).__name__
    if not known:
        raise NoView(f"the transformer {name} is not one that can be followed")
    if name in ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder"):
        return _encoder(transformer, affine)
    if name in ("StandardScaler", "RobustScaler"):
        own = ("mean", "std", "mean_") if name == "StandardScaler" else ("centering", "scaling", "center_")
        middle = np.asarray(getattr(transformer, own[2]) if getattr(transformer, f"with_{own[0]}") else 0.0)
        spread = np.asarray(transformer.scale_ if getattr(transformer, f"with_{own[1]}") else 1.0)
        return affine.scale(1.0 / spread, -middle / spread)
    if name == "MinMaxScaler" and not transformer.clip:
        return affine.scale(transformer.scale_, transformer.min_)
    if name == "MaxAbsScaler" and not getattr(transformer, "clip", False):
        return affine.scale(1.0 / transformer.scale_, 0.0)
    if name == "FunctionTransformer" and transformer.func is None:
        return affine
    raise NoView(f"the transformer {name} is not one that can be followed")


def _column_transformer(transformer: Any, affine: Affine) -> Affine:
    parts = []
    weights = transformer.transformer_weights or {}
    for name, inner, columns in transformer.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        rows = _rows(columns, affine)
        if rows:
            part = _transform(inner, affine.take(rows))
            parts.append(part.scale(weights[name], 0.0) if name in weights else part)
    return Affine.stack(parts, affine.encoding)


def _rows(columns: Any, affine: Affine) -> list[int]:
    """Which columns a transformer was given: names, positions, a slice or a mask."""
    if isinstance(columns, str):
        return [_row(columns, affine)]
    if isinstance(columns, int | np.integer):
        return [int(columns)]
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            start = _row(columns.start, affine) if columns.start is not None else 0
            stop = _row(columns.stop, affine) + 1 if columns.stop is not None else len(affine.names)
            return list(range(start, stop))
        return list(range(len(affine.names)))[columns]
    listed_columns = list(columns)
    if listed_columns and isinstance(listed_columns[0], bool | np.bool_):
        return [k for k, picked in enumerate(listed_columns) if picked]
    return [_row(c, affine) if isinstance(c, str) else int(c) for c in listed_columns]


def _row(name: str, affine: Affine) -> int:
    if name not in affine.names:
        raise NoView(f"a step picks the column {name!r}, which no step before it is known to give")
    return affine.names.index(name)


def _encoder(transformer: Any, affine: Affine) -> Affine:
    """Encoders treat columns apart, so asking for each level of each column tells the whole map."""
    columns = []
    for row, raw in enumerate(affine.raw):
        if raw is None or not affine.encoding.columns[raw].is_category:
            raise NoView(f"{type(transformer).__name__} encodes {affine.names[row]!r}, which is not a category")
        columns.append(affine.encoding.columns[raw])
    base = [column.levels[0] for column in columns]
    zero = _encode(transformer, affine.names, [[level] for level in base])
    matrix = np.zeros((zero.shape[1], len(affine.encoding.columns)))
    tables: dict[int, Floats] = {}
    for row, (raw, column) in enumerate(zip(affine.raw, columns, strict=True)):
        probe = [[level] * len(column.levels) for level in base]
        probe[row] = list(column.levels)
        assert raw is not None
        # A column may reach the encoder twice; its effects add up.
        tables[raw] = tables.get(raw, 0.0) + (_encode(transformer, affine.names, probe) - zero).T
    return Affine(matrix, tables, zero[0], (None,) * zero.shape[1], ("",) * zero.shape[1], affine.encoding)


def _encode(transformer: Any, names: tuple[str, ...], columns: list[list[Any]]) -> Floats:
    probe = pd.DataFrame(dict(enumerate(columns)))
    probe.columns = pd.Index(names)
    try:
        out = transformer.transform(probe if hasattr(transformer, "feature_names_in_") else probe.to_numpy())
    except ValueError as error:
        raise ModelError(
            "DATA_UNSEEN_CATEGORY",
            f"The model's {type(transformer).__name__} does not know every level of {listed(names)}: {sentence(error)}",
            fix="Correct the values, drop these rows, or train the model with this category.",
        ) from error
    return np.asarray(out.toarray() if hasattr(out, "toarray") else out, dtype=np.float64)
