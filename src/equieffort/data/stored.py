"""The types in which a table stores its columns: what they can hold, and values written into them.

An action is computed in doubles, but the caller's table may hold floats of four or two bytes, small or nullable whole
numbers, Arrow columns or categories. What is returned must hold there, so that numbers are put on the grid of values
that the column can hold (docs/decisions/0010-the-tables-own-types.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.foundations.arrays import Floats


def coarse(dtype: Any) -> np.dtype[Any] | None:
    """The floats of a column that holds fewer of them than doubles; None for every other column.

    >>> coarse(np.dtype("float32")), coarse(pd.Float32Dtype()), coarse(np.dtype("float64")), coarse(None)
    (dtype('float32'), dtype('float32'), None, None)
    """
    own = _numpy_type(dtype)
    return own if own is not None and own.kind == "f" and own.itemsize < 8 else None


def number_type(dtype: Any) -> np.dtype[Any]:
    """Floats that take the place of a column's numbers, fractions of whole ones included, without widening a table.

    >>> number_type(np.dtype("int8")), number_type(np.dtype("int64")), number_type(pd.Float32Dtype()), number_type(None)
    (dtype('float32'), dtype('float64'), dtype('float32'), dtype('float64'))
    """
    own = _numpy_type(dtype)
    if own is None or own.kind not in "iuf":
        return np.dtype(np.float64)
    return np.result_type(own, np.float32) if own.kind in "iu" else own


def nearest(values: Floats, grid: np.dtype[Any]) -> Floats:
    """Numbers rounded as the table rounds, and as doubles again; none becomes infinite."""
    most = float(np.finfo(grid).max)
    return np.clip(values, -most, most).astype(grid).astype(np.float64)


def towards(values: Floats, aim: Floats, grid: np.dtype[Any]) -> Floats:
    """The first number of the grid on the way from each value to its aim, the value itself where it is on the grid.

    >>> at, way = np.array([0.1, 0.1, 0.5]), np.array([1.0, 0.0, 1.0])
    >>> (towards(at, way, np.dtype("float32")) - at > 0).tolist(), (towards(at, way, np.dtype("float32")) < at).tolist()
    ([True, False, False], [False, True, False])
    """
    found = nearest(values, grid)
    short = np.where(aim >= values, found < values, found > values)
    return np.where(short, steps(found, aim, 1, grid), found)


def steps(values: Floats, aim: Floats, count: int, grid: np.dtype[Any]) -> Floats:
    """Numbers of the grid so many steps further in the direction of their aim."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.nextafter(values.astype(grid), aim.astype(grid))
        # Neighbours of numbers are as far apart as these are, so that one multiplication does for many steps.
        return nearest(values + count * (found.astype(np.float64) - values), grid)


def inside(values: Floats, low: Floats, high: Floats, grid: np.dtype[Any]) -> Floats:
    """Numbers on the grid; rounding carries none past an end that it had not passed.

    >>> end = np.array([0.1])
    >>> bool(inside(end, end - 1, end, np.dtype("float32"))[0] <= 0.1 < nearest(end, np.dtype("float32"))[0])
    True
    """
    found = nearest(values, grid)
    over, under = (found > high) & (found == nearest(high, grid)), (found < low) & (found == nearest(low, grid))
    found = np.where(over, steps(found, np.full_like(found, -np.inf), 1, grid), found)
    return np.where(under, steps(found, np.full_like(found, np.inf), 1, grid), found)


def as_stored(values: Any, dtype: Any, levels: Sequence[Any] = ()) -> Any:
    """Values in a column's own type; where the type cannot hold them, in the next that can, as pandas would have it.

    Whole numbers that have become fractions are doubles, those too large for their type are wider ones, and a category
    is given levels that it had not.
    """
    if isinstance(dtype, pd.CategoricalDtype):
        known = list(dtype.categories)
        new = [
            level for level in dict.fromkeys((*levels, *pd.unique(pd.Series(values).dropna()))) if level not in known
        ]
        return pd.Categorical(values, categories=[*known, *new], ordered=dtype.ordered)
    own = _numpy_type(dtype)
    if own is None or own.kind not in "biuf":
        return values if isinstance(dtype, np.dtype) else _extended(values, dtype)
    if isinstance(values, np.ndarray) and values.dtype == object:
        values = np.array(values.tolist())
    if values.dtype.kind not in "biuf" or not _holds(own, values):
        return values
    return values.astype(own) if isinstance(dtype, np.dtype) else _extended(values, dtype)


def _numpy_type(dtype: Any) -> np.dtype[Any] | None:
    """What numpy calls the type; nullable and Arrow types know their own."""
    own = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    return own if isinstance(own, np.dtype) else None


def _holds(own: np.dtype[Any], values: npt.NDArray[Any]) -> bool:
    """Whether a type holds these numbers, up to rounding."""
    if own.kind == "b":
        return values.dtype.kind == "b"
    known = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    if own.kind == "f":
        return not len(known) or bool(np.abs(known).max() <= np.finfo(own).max)
    if values.dtype.kind == "f" and (len(known) < len(values) or np.any(known != np.rint(known))):
        return False
    ends = np.iinfo(own)
    return not len(known) or bool(ends.min <= known.min() and known.max() <= ends.max)


def _extended(values: Any, dtype: Any) -> Any:
    """In one of pandas' own types, if there is a way into it."""
    if not isinstance(dtype, pd.api.extensions.ExtensionDtype):
        return values
    try:
        return pd.array(values, dtype=dtype)
    except (TypeError, ValueError, NotImplementedError):
        return values
