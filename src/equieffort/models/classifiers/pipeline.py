"""Follow a pipeline step by step: what each makes of the columns, as affine functions of the raw ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from equieffort.models.classifiers.affine import Affine
from equieffort.models.classifiers.preparing import (
    ENCODERS,
    IMPUTERS,
    SELECTORS,
    encoded,
    imputed,
    missing_flags,
    selected,
)
from equieffort.models.classifiers.views import NoView, require_plain


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
    from sklearn.pipeline import FeatureUnion, Pipeline

    if transformer is None or transformer == "passthrough":
        return affine
    known = type(transformer).__module__.startswith("sklearn.")
    if isinstance(transformer, Pipeline | ColumnTransformer | FeatureUnion) or known:
        require_plain(transformer, library="sklearn")
    if isinstance(transformer, Pipeline):
        for _, inner in transformer.steps:
            affine = _renamed(inner, _transform(inner, affine))
        return affine
    if isinstance(transformer, ColumnTransformer):
        return _column_transformer(transformer, affine)
    if isinstance(transformer, FeatureUnion):
        return _feature_union(transformer, affine)
    name = type(transformer).__name__
    if not known:
        raise NoView(f"the transformer {name} is not one that can be followed")
    if name in ENCODERS:
        return encoded(transformer, affine)
    if name in IMPUTERS:
        return imputed(transformer, affine)
    if name == "MissingIndicator":
        return missing_flags(transformer, affine)
    if name in SELECTORS:
        return selected(transformer, affine)
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
    return Affine.stack(parts, affine)


def _feature_union(transformer: Any, affine: Affine) -> Affine:
    """Each part gets all columns; what they give stands side by side."""
    weights, parts = transformer.transformer_weights or {}, []
    for name, inner in transformer.transformer_list:
        if isinstance(inner, str) and inner == "drop":
            continue
        part = _transform(inner, affine)
        parts.append(part.scale(weights[name], 0.0) if name in weights else part)
    return Affine.stack(parts, affine) if parts else affine.take([])


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
