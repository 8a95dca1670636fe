"""What the written part of an audit file must look like: a table of fields, and what each may hold.

A shape is a function from a value of JSON to whether it fits. Readers of an audit rely on these, so that a field which
is added there gets its line here. What is a class of its own knows its saved form itself, and checks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from equieffort.effort.measures import MEASURES
from equieffort.errors import EquieffortError
from equieffort.foundations.saved import is_real, is_scalar, is_whole
from equieffort.recourse.status import fact_from_dict
from equieffort.recourse.table import AUDIENCES

Shape = Callable[[Any], bool]


def is_text(value: Any) -> bool:
    """Text."""
    return isinstance(value, str)


def is_finite(value: Any) -> bool:
    """A number that is one."""
    return is_real(value) and math.isfinite(value)


def is_share(value: Any) -> bool:
    """From 0 to 1, or unknown."""
    return is_real(value) and (math.isnan(value) or 0 <= value <= 1)


def is_dtype(value: Any) -> bool:
    """The name of one of numpy's types of numbers."""
    kinds = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8")
    return value in {np.dtype(kind).name for kind in kinds}


def may(shape: Shape) -> Shape:
    """It, or nothing."""
    return lambda value: value is None or shape(value)


def a_list(shape: Shape, least: int = 0, most: float = math.inf) -> Shape:
    """A list of such values."""
    return lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(shape, value))


def distinct(shape: Shape) -> Shape:
    """A list of such values, none of them twice."""
    listed = a_list(shape)
    # 1, 1.0 and True are the same key of a table.
    return lambda value: listed(value) and len(set(value)) == len(value)


def a_map(shape: Shape) -> Shape:
    """Names, and such values."""
    return lambda value: isinstance(value, dict) and all(map(shape, value.values()))


def record(needed: dict[str, Shape]) -> Shape:
    """Fields by name, and others that nobody reads."""
    return lambda value: (
        isinstance(value, dict) and all(name in value and shape(value[name]) for name, shape in needed.items())
    )


def is_reason(value: Any) -> bool:
    """What stands in somebody's way, or why nothing better is known: what such a fact itself would write."""
    try:
        fact_from_dict(value)
    except EquieffortError:
        return False
    return True


OWN_MEASURE = record(
    dict.fromkeys(("level", "about", "group", "against", "chance", "note"), is_text)
    | {"measure": lambda name: is_text(name) and name not in MEASURES}
    | dict.fromkeys(("estimate", "low", "high", "least", "most"), is_real)
    | dict.fromkeys(("p", "p_beyond", "p_within", "p_adjusted"), is_share)
    | dict.fromkeys(("n", "n_against"), is_whole)
)
"""A row of a measure of the caller's own."""

FIELDS: dict[str, Shape] = {
    "schema": record({}),
    "columns": a_list(record({}), 1),
    "dtypes": a_map(is_dtype),
    "rest": a_list(record({"name": is_text, "levels": may(a_list(is_scalar))})),
    "order": distinct(is_text),
    "groups": record({}),
    "index": may(a_list(is_text)),
    "index_name": may(is_text),
    "reasons": a_map(is_reason),
    "audience": AUDIENCES.__contains__,
    "ceilings": a_map(is_finite),
    "criteria": record({}),
    "own_measures": a_list(OWN_MEASURE),
    "neighbourhood": record({}),
    "warnings": a_list(a_list(is_text, 3, 3)),
    "provenance": record({}),
    "data_sha256": is_text,
}
"""The fields of audit.json beside its format and version."""


def check_fields(manifest: dict[str, Any]) -> None:
    """Refuse a field that is missing or holds something else than it must, by its name."""
    for name, shape in FIELDS.items():
        if name not in manifest:
            raise ValueError(f"it has no {name!r}")
        if not shape(manifest[name]):
            raise ValueError(f"{name!r} does not hold what it should")
