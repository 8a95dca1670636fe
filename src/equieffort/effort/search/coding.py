"""Features as a few levels, each of which is a condition that a rule of a subgroup can say.

Numbers are cut at quantiles of all audited people, texts keep their most frequent values and put the rest together, and
missing values are a level of their own. Neither groups nor efforts are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.errors import RuleError
from equieffort.foundations.arguments import as_plain
from equieffort.world.rules.rule import Column
from equieffort.world.rules.tree import Compare, Joined, Literal, Name, Node, Not, Within

Codes = npt.NDArray[np.uint8]
MOST_LEVELS = 50
LONGEST = 3000
"""Letters of a condition: a rule of three such is still read."""
NAMES = 0.5
"""A text with more values than this share of the people names people."""


@dataclass(frozen=True)
class CodedFeature:
    """One feature: the condition of each level, and where asked for those of neighbouring levels together."""

    name: str
    levels: tuple[str, ...]
    unions: tuple[tuple[int, int, str], ...] = ()
    """First level, the one behind the last, and the condition that holds for them."""


@dataclass(frozen=True, eq=False)
class Coded:
    """The people as levels of features."""

    features: tuple[CodedFeature, ...]
    codes: Codes
    """(feature, person)."""
    left_out: Mapping[str, str]
    """Columns that are not searched, and why."""


def code_features(
    data: pd.DataFrame, levels: int, *, names: Sequence[str] | None = None, without: Sequence[str] = (),
    cuts: bool = False,
) -> Coded:  # fmt: skip
    """Code the columns of a table, those in `without` left out; with `cuts` also everybody up to or above a cut.

    >>> people = pd.DataFrame({"age": [20, 30, 40, 50], "job": ["a", "a", "b", None]})
    >>> coded = code_features(people, 2)
    >>> [feature.levels for feature in coded.features]
    [('age <= 30', 'age > 30'), ("job = 'a'", "job = 'b'", 'not job = job')]
    >>> coded.codes.tolist()
    [[0, 0, 1, 1], [0, 0, 1, 2]]
    """
    found, codes, left_out = [], [], {}
    for label in data.columns:
        name = str(label)
        if name in without or (names is not None and name not in names):
            continue
        try:
            feature, code = _coded(name, data[label], levels, cuts)
        except RuleError:
            left_out[name] = "it holds values that no rule can speak of"
            continue
        if isinstance(feature, str):
            left_out[name] = feature
            continue
        found.append(feature)
        codes.append(code)
    shape = np.stack(codes) if codes else np.empty((0, len(data)), dtype=np.uint8)
    return Coded(tuple(found), shape, left_out)


def _coded(name: str, series: pd.Series, levels: int, cuts: bool) -> tuple[CodedFeature | str, Any]:
    first, values = pd.factorize(series) if series.dtype.kind not in "biuf" else (None, ())
    is_text = first is not None and len(values) and all(isinstance(value, str) for value in values)
    column = None if is_text else Column.of(name, series.to_numpy())
    if is_text:
        conditions, code, unions = _texts(name, np.asarray(first), list(values), levels)
        missing = np.asarray(first) < 0
        if not conditions:
            return "its values name people", None
    elif column is not None and column.kind in ("number", "truth"):
        missing = column.missing
        conditions, code, unions = _numbers(column, levels)
    else:
        return "everything in it is missing", None
    if missing.any():
        code = np.where(missing, len(conditions), code)
        # No value equals itself where there is none.
        conditions = [*conditions, Not(Compare(Name(name), "=", Name(name)))]
    if len(conditions) < 2:
        return "everybody has the same value", None
    told = tuple(map(str, conditions))
    if max(map(len, told)) > LONGEST:
        return "its values are too long for a rule", None
    both = tuple((begin, end, str(node)) for begin, end, node in unions) if cuts else ()
    return CodedFeature(name, told, both), code.astype(np.uint8)


Union = tuple[int, int, Node]


def _texts(name: str, first: Any, values: list[str], levels: int) -> tuple[list[Node], Any, list[Union]]:
    counts = np.bincount(first[first >= 0], minlength=len(values))
    if len(values) > max(levels, NAMES * len(first)):
        return [], None, []
    # The most frequent first, and among equals by name: the order of rows does not matter.
    order = sorted(range(len(values)), key=lambda k: (-counts[k], values[k]))
    kept = order if len(order) <= levels else order[: levels - 1]
    place = np.full(len(values) + 1, len(kept))
    place[kept] = np.arange(len(kept))
    said = [Literal("text", values[k]) for k in kept]
    conditions: list[Node] = [Compare(Name(name), "=", one) for one in said]
    if len(kept) < len(order):
        conditions.append(Within(Name(name), tuple(said), True))
    return conditions, place[first], []


def _numbers(column: Column, levels: int) -> tuple[list[Node], Any, list[Union]]:
    name, values = Name(column.name), column.values
    known = values[~column.missing]
    different = np.unique(known)
    if column.kind == "truth":
        said = [Literal("truth", bool(value)) for value in different]
        return [Compare(name, "=", one) for one in said], np.searchsorted(different, values), []
    few = len(different) <= levels and bool(np.isfinite(different).all())
    ends = different[:-1] if few else _cuts(np.sort(known), different, levels)
    code = np.searchsorted(ends, values, side="left")
    said = [Literal("number", as_plain(value)) for value in (different if few else ends)]
    below: list[Node] = [Compare(name, "<=", one) for one in said]
    above: list[Node] = [Compare(name, ">", one) for one in said]
    size = len(ends) + 1
    if few:
        conditions: list[Node] = [Compare(name, "=", one) for one in said]
    elif size == 1:
        conditions = [Compare(name, "=", name)]
    else:
        middle = [Joined("and", (above[k], below[k + 1])) for k in range(size - 2)]
        conditions = [below[0], *middle, above[size - 2]]
    unions = [(0, k, below[k - 1]) for k in range(2, size)] + [(k, size, above[k - 1]) for k in range(1, size - 1)]
    return conditions, code, unions


def _cuts(ordered: Any, different: Any, levels: int) -> Any:
    """Cuts with about as many people between any two, each the shortest number that parts the same people."""
    n = len(ordered)
    at = {int(np.searchsorted(different, ordered[-(-n * k // levels) - 1])) for k in range(1, levels)}
    found = [shortest_between(different[k], different[k + 1]) for k in sorted(at) if k + 1 < len(different)]
    return np.array([cut for cut in found if isfinite(cut)], dtype=different.dtype)


def shortest_between(low: Any, high: Any) -> Any:
    """The number of fewest digits from `low` on and below `high`, in their own type.

    >>> shortest_between(np.float64(0.3141), np.float64(0.3199)), shortest_between(np.int64(17), np.int64(20))
    (np.float64(0.315), np.int64(17))
    """
    if low.dtype.kind != "f" or not isfinite(low):
        return low
    for digits in range(1, 17):
        text = f"{low:.{digits - 1}e}"
        step = float(f"1e{int(text.split('e')[1]) - digits + 1}")
        for value in (float(text), float(f"{float(text) + step:.{digits - 1}e}")):
            if low <= low.dtype.type(value) < high:
                return low.dtype.type(value)
    return low
