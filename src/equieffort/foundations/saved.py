"""Values as plain data that JSON can hold, and back: what a field may hold is what its annotation says.

A frozen dataclass needs nothing more to be saved; what its types cannot say, its `__post_init__` refuses with a
ValueError. A class of another form has `to_dict` and `from_dict`. Nothing that is read is executed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache
from types import GenericAlias, NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
ROW = re.compile("0|[1-9][0-9]{0,14}")
APART = {"saved": False}
"""Metadata of a field that is not part of the saved form."""


def as_data(value: Any) -> Any:
    """Numpy values become Python's own, dataclasses mappings, sets sorted lists; what JSON cannot hold becomes text.

    >>> import numpy as np
    >>> as_data({"a": np.float64(2), "b": (1, {3, 2}), ("c", "d"): None})
    [['a', 2.0], ['b', [1, [2, 3]]], [['c', 'd'], None]]
    """
    kind = type(value)
    if value is None or kind in (str, int, float, bool):
        return value
    # What there is most of comes first: a million reasons are written member by member.
    if isinstance(value, str):
        return str(value)
    if kind is list or kind is tuple:
        return [as_data(item) for item in value]
    if isinstance(value, type):
        return str(value)
    if hasattr(value, "tolist"):
        return as_data(value.tolist())
    if hasattr(value, "to_dict"):
        return as_data(value.to_dict())
    if is_dataclass(value):
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
    return value if isinstance(value, int | float) else str(value)


def as_fields(value: Any) -> dict[str, Any]:
    """A dataclass as plain data, field by field."""
    return {name: as_data(getattr(value, name)) for name in _hints(cast("Hashable", type(value)))}


def from_data(kind: type[T], data: Any, where: str = "") -> T:
    """A value of this type from what `as_data` wrote; anything else is refused by the name of its place.

    >>> from_data(tuple[str, float], ["a", 2])
    ('a', 2)
    >>> from_data(dict[str, int], {"a": "2"}, "counts")
    Traceback (most recent call last):
    ValueError: 'counts.a' does not hold what it should
    """
    return _read(kind, data, where)


def _read(kind: Any, data: Any, where: str) -> Any:
    # A whole number stays one where a float is meant, so that what is saved again is the same file.
    if kind is Any or (kind in SINGLE and SINGLE[kind](data)):
        return data
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal and data in inner:
        return data
    if origin in (Union, UnionType):
        return _either([one for one in inner if (one is NoneType) == (data is None)], data, where)
    if origin in (tuple, Sequence) and isinstance(data, list):
        alike = origin is Sequence or inner[-1] is ...
        if alike and inner[0] is int and all(map(is_whole, data)):
            return tuple(data)  # many numbers, without a look at each by its name
        each = (inner[0],) * len(data) if alike else inner
        if len(each) == len(data):
            return tuple(_read(one, item, where) for one, item in zip(each, data, strict=True))
    if origin in (dict, Mapping):
        if isinstance(data, dict) and inner[0] is str:
            return {name: _read(inner[1], item, _inside(where, name)) for name, item in data.items()}
        if isinstance(data, dict) and inner[0] is int and all(map(ROW.fullmatch, data)):
            return {int(row): _read(inner[1], item, _inside(where, row)) for row, item in data.items()}
        if isinstance(data, list) and get_origin(inner[0]) is tuple:
            return dict(_read(GenericAlias(tuple, inner), pair, where) for pair in data)
    if hasattr(kind, "from_dict") and isinstance(data, dict):
        return kind.from_dict(data)
    if is_dataclass(kind) and isinstance(kind, type):
        return from_fields(kind, data, where)
    raise _wrong(where)


def _either(kinds: list[Any], data: Any, where: str) -> Any:
    for kind in kinds[:-1]:
        with suppress(ValueError):
            return _read(kind, data, where)
    if not kinds:
        raise _wrong(where)
    return _read(kinds[-1], data, where)


def from_fields(kind: type[T], data: Any, where: str = "", **apart: Any) -> T:
    """A dataclass from what `as_fields` wrote, each of its fields and no other, and from fields that are kept apart."""
    return kind(**from_hints(_hints(cast("Hashable", kind)), data, where), **apart)


def from_hints(hints: Mapping[str, Any], data: Any, where: str = "") -> dict[str, Any]:
    """Values by name, each of its type; no name may lack, and there may be no other."""
    if not isinstance(data, dict):
        raise _wrong(where)
    if odd := sorted(data.keys() ^ hints.keys()):
        raise _wrong(_inside(where, odd[0]))
    return {name: _read(of, data[name], _inside(where, name)) for name, of in hints.items()}


def as_kind(value: Any, kinds: Mapping[str, type]) -> dict[str, Any] | None:
    """One of several dataclasses, with the name of its kind; None of another class, which may do anything.

    A class that extends one of them is another class.
    """
    kind = next((name for name, known in kinds.items() if type(value) is known), None)
    return None if kind is None else {"kind": kind} | as_fields(value)


def from_kind(kinds: Mapping[str, type[T]], data: Any, where: str = "") -> T:
    """One of several dataclasses from what `as_kind` wrote."""
    kind = data.get("kind") if isinstance(data, dict) else None
    if not isinstance(kind, str) or kind not in kinds:
        raise _wrong(where)
    return from_fields(kinds[kind], {name: value for name, value in data.items() if name != "kind"}, where)


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
    return type(value) is int and -(2**53) < value < 2**53


def is_scalar(value: Any) -> bool:
    """A value that a cell of a table can hold."""
    return value is None or isinstance(value, str | int | float)


def is_real(value: Any) -> bool:
    """A number, NaN and infinities among them, that a float can be."""
    return isinstance(value, float) or is_whole(value)


SINGLE: dict[Any, Callable[[Any], bool]] = {
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
    NoneType: lambda value: value is None,
    int: is_whole,
    float: is_real,
}
"""What values without parts may be."""


# -- files of JSON ----------------------------------------------------------------------------------------------------


def read_json(content: bytes) -> Any:
    """JSON in which no name occurs twice: of two values readers could believe different ones."""
    return json.loads(content, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name in it occurs twice")
    return found


def other_version(payload: Any, form: str, version: int) -> Any:
    """The version a file says it has, where it is not the one that is read; None if it is.

    >>> other_version({"format": "f", "version": 1}, "f", 2), other_version({"format": "f", "version": 2}, "f", 2)
    ('1', None)
    """
    if not isinstance(payload, dict) or payload.get("format") != form:
        raise ValueError("it does not say that it is one")
    found = payload.get("version")
    # True is no version, although it equals 1.
    return None if type(found) is int and found == version else str(found)
