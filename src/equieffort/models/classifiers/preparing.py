"""Transformers that treat columns apart or pick some of them: encoders, imputers, indicators of what is missing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.errors import ModelError, listed, sentence
from equieffort.models.classifiers.affine import VARIES, Affine
from equieffort.models.classifiers.views import NoView, require_plain

ENCODERS = ("OneHotEncoder", "OrdinalEncoder", "TargetEncoder")
IMPUTERS = ("SimpleImputer", "KNNImputer", "IterativeImputer")
SELECTORS = (
    "VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe",
    "GenericUnivariateSelect", "SelectFromModel", "RFE", "RFECV", "SequentialFeatureSelector",
)  # fmt: skip


def selected(transformer: Any, affine: Affine) -> Affine:
    """The columns that a selector keeps."""
    if type(transformer).__name__ == "SelectFromModel":
        # Which columns it keeps is asked of its estimator whenever it transforms.
        require_plain(transformer.estimator_)
    return affine.take([int(k) for k in transformer.get_support(indices=True)])


def imputed(transformer: Any, affine: Affine) -> Affine:
    """The columns after an imputer: as they are where nothing is missing, with its constant where something is.

    What it puts in the place of a missing value is asked of the imputer itself.
    """
    name = type(transformer).__name__
    _require_nan(transformer)
    gone = [row for row in range(len(affine.fixed)) if affine.is_missing(row)]
    if gone and name != "SimpleImputer":
        raise NoView(f"{name} fills in a missing value by what the others are")
    out = _asked(transformer, affine)
    indicator = getattr(transformer, "indicator_", None) if transformer.add_indicator else None
    flags = [] if indicator is None else [int(k) for k in indicator.features_]
    kept = _kept(transformer, len(affine.fixed))
    if out.shape[1] != len(kept) + len(flags):
        raise NoView(f"{name} gives {out.shape[1]} columns where {len(kept) + len(flags)} were expected")
    fixed = tuple(VARIES if affine.fixed[row] is VARIES else out[0, place] for place, row in enumerate(kept))
    filled = affine.take(kept).with_fixed(fixed)
    if not flags:
        return filled
    return Affine.stack([filled, affine.constant([float(affine.is_missing(row)) for row in flags])], affine)


def missing_flags(transformer: Any, affine: Affine) -> Affine:
    """Indicators of what is missing: 0 but where the value of a person is."""
    _require_nan(transformer)
    return affine.constant([float(affine.is_missing(int(row))) for row in transformer.features_])


def _require_nan(transformer: Any) -> None:
    """A number that stands for a missing value is a number like others until it reaches the imputer."""
    sought = transformer.missing_values
    if not pd.isna(sought):
        raise NoView(f"{type(transformer).__name__} takes {sought!r} for a missing value")


def _kept(transformer: Any, width: int) -> list[int]:
    """The columns that an imputer does not drop for having been empty when it was fitted."""
    if transformer.keep_empty_features or type(transformer).__name__ != "SimpleImputer":
        return list(range(width))
    return [k for k, value in enumerate(transformer.statistics_) if not pd.isna(value)]


def _asked(transformer: Any, affine: Affine) -> npt.NDArray[Any]:
    """What a transformer makes of somebody whose missing values are those of the columns."""
    row = [_any_value(affine, k) if one is VARIES else one for k, one in enumerate(affine.fixed)]
    frame = pd.DataFrame({k: pd.Series([value]) for k, value in enumerate(row)})
    frame.columns = pd.Index(affine.names)
    try:
        out = transformer.transform(frame if hasattr(transformer, "feature_names_in_") else frame.to_numpy())
    except (TypeError, ValueError) as error:
        raise NoView(f"{type(transformer).__name__} fails: {sentence(error)}".rstrip(".")) from error
    if hasattr(out, "toarray"):
        out = out.toarray()
    return out.to_numpy(dtype=object) if isinstance(out, pd.DataFrame) else np.asarray(out)


def _any_value(affine: Affine, row: int) -> Any:
    """A value that a column can hold."""
    raw = affine.raw[row]
    column = None if raw is None else affine.encoding.columns[raw]
    return column.levels[0] if column is not None and column.is_category else 0.0


def encoded(transformer: Any, affine: Affine) -> Affine:
    """Encoders treat columns apart, so asking for each level of each column tells the whole map."""
    levels: list[tuple[Any, ...]] = []
    for row, raw in enumerate(affine.raw):
        if affine.fixed[row] is not VARIES:
            levels.append((affine.fixed[row],))
        elif raw is None or not affine.encoding.columns[raw].is_category:
            raise NoView(f"{type(transformer).__name__} encodes {affine.names[row]!r}, which is not a category")
        else:
            levels.append(affine.encoding.columns[raw].levels)
    base = [known[0] for known in levels]
    zero = _encode(transformer, affine.names, [[level] for level in base])
    matrix = np.zeros((zero.shape[1], len(affine.encoding.columns)))
    tables: dict[int, Floats] = {}
    for row, (raw, known) in enumerate(zip(affine.raw, levels, strict=True)):
        if affine.fixed[row] is not VARIES:
            continue
        probe = [[level] * len(known) for level in base]
        probe[row] = list(known)
        assert raw is not None
        # A column may reach the encoder twice; its effects add up.
        tables[raw] = tables.get(raw, 0.0) + (_encode(transformer, affine.names, probe) - zero).T
    n = zero.shape[1]
    return replace(
        affine, matrix=matrix, tables=tables, shift=zero[0], raw=(None,) * n, names=("",) * n, fixed=(VARIES,) * n
    )


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
