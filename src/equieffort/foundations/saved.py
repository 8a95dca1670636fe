"""Values as plain data that JSON can hold, and back: what a field may hold is what its annotation says.

A frozen dataclass needs nothing more to be saved; what its types cannot say, its `__post_init__` refuses with a
ValueError. A class of another form has `to_dict` and `from_dict`. Nothing that is read is executed.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

T = TypeVar("T")
APART = {"saved": False}
"""Metadata of a field that is not part of the saved form."""


def as_data(value: Any) -> Any:
    """Numpy values become Python's own, dataclasses mappings, sets sorted lists; what JSON cannot hold becomes text.

    >>> as_data({"a": np.float64(2), "b": (1, {3, 2}), ("c", "d"): None})
    [['a', 2.0], ['b', [1, [2, 3]]], [['c', 'd'], None]]
    """
    if hasattr(value, "to_dict") and not isinstance(value, type):
        return as_data(value.to_dict())
    if is_dataclass(value) and not isinstance(value, type):
        return as_fields(value)
    if isinstance(value, Mapping):
        if any(isinstance(key, tuple) for key in value):
            return [[as_data(key), as_data(item)] for key, item in value.items()]
        return {str(key): as_data(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        # A set has no order that outlives the process.
        return as_data(sorted(value, key=repr))
    if isinstance(value, list | tuple):
        return [as_data(item) for item in value]
    if isinstance(value, np.generic | np.ndarray):
        return as_data(value.tolist())
    return value if value is None or isinstance(value, str | int | float) else str(value)


def as_fields(value: Any) -> dict[str, Any]:
    """A dataclass as plain data, field by field."""
    return {name: as_data(getattr(value, name)) for name in _hints(cast("Hashable", type(value)))}


def from_data(kind: type[T], data: Any, where: str = "") -> T:
    """A value of this type from what `as_data` wrote; anything else is refused by the name of its place.

    >>> from_data(tuple[str, float], ["a", 2])
    ('a', 2.0)
    >>> from_data(dict[str, int], {"a": "2"}, "counts")
    Traceback (most recent call last):
    ValueError: 'counts.a' does not hold what it should
    """
    return _read(kind, data, where)


def _read(kind: Any, data: Any, where: str) -> Any:
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return data
    if kind is float and is_real(data):
        return float(data)
    if (kind in (str, bool, NoneType) and type(data) is kind) or (kind is int and is_whole(data)):
        return data
    if origin is Literal and data in inner:
        return data
    if origin in (Union, UnionType):
        return _read(next(one for one in inner if (one is NoneType) == (data is None)), data, where)
    if origin is tuple and isinstance(data, list):
        each = (inner[0],) * len(data) if inner[-1] is ... else inner
        if len(each) == len(data):
            return tuple(_read(one, item, where) for one, item in zip(each, data, strict=True))
    if origin in (dict, Mapping):
        if isinstance(data, dict) and inner[0] is str:
            return {name: _read(inner[1], item, _inside(where, name)) for name, item in data.items()}
        if isinstance(data, list) and get_origin(inner[0]) is tuple:
            return dict(_read(GenericAlias(tuple, inner), pair, where) for pair in data)
    if hasattr(kind, "from_dict") and isinstance(data, dict):
        return kind.from_dict(data)
    if is_dataclass(kind) and isinstance(kind, type):
        return from_fields(kind, data, where)
    raise _wrong(where)


def from_fields(kind: type[T], data: Any, where: str = "") -> T:
    """A dataclass from what `as_fields` wrote: each of its fields, and no other."""
    hints = _hints(cast("Hashable", kind))
    if not isinstance(data, dict) or data.keys() != hints.keys():
        raise _wrong(where)
    return kind(**{name: _read(of, data[name], _inside(where, name)) for name, of in hints.items()})


def _wrong(where: str) -> ValueError:
    return ValueError(f"{where!r} does not hold what it should")


def _inside(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


@cache
def _hints(kind: Any) -> dict[str, Any]:
    """The types of the fields that are saved."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.metadata.get("saved", True)}


def is_whole(value: Any) -> bool:
    """A whole number that an index can be."""
    return isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53


def is_real(value: Any) -> bool:
    """A number, NaN and infinities among them, that a float can be."""
    return isinstance(value, float) or is_whole(value)
