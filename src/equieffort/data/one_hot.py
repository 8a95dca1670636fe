"""Columns of 0 and 1 that are one category: joined when a table comes in, spread again in front of the model.

>>> one_hot = OneHot.of({"housing": ["housing_own", "housing_rent"]})
>>> table = pd.DataFrame({"housing_own": [1, 0, 0], "housing_rent": [0, 1, 0]})
>>> one_hot.join(table)["housing"].tolist()
['own', 'rent', 'other']
>>> one_hot.spread(one_hot.join(table), ("housing_rent",))["housing_rent"].tolist()
[0, 1, 0]
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from pandas.api.types import infer_dtype

from equieffort.data.frames import require_columns
from equieffort.data.stored import as_stored
from equieffort.errors import DataError, EquieffortError, SchemaError, Setting, label, listed, many, warn
from equieffort.foundations.arguments import check_mapping

_bad_group = partial(SchemaError, "SCHEMA_ONE_HOT")

OTHER = "other"
"""The level of people who have none of the columns, where nobody gave it a name."""
MARKS = ("__", "_", "=", ".", "-", ":", "/", "|", " ")
"""What stands between the name of a category and that of its level."""

Levels = Mapping[str, str | None]
"""Level -> the column that is 1 for it; None for the level that has no column."""


@dataclass(frozen=True)
class OneHot:
    """Which columns are the levels of which category."""

    categories: Mapping[str, Levels] = field(default_factory=dict)

    @classmethod
    def of(cls, given: Any) -> OneHot:
        """From category -> its columns, or category -> {level: column}, in which None is the level without a column."""
        takes = 'a mapping such as {"housing": ["housing_own", "housing_rent"]}'
        check_mapping("one_hot", given, takes, error=SchemaError)
        found = cls({name: _levels(name, columns) for name, columns in given.items()})
        met: dict[str, str] = {}
        for name, levels in found.categories.items():
            for column in levels.values():
                if column in met:
                    raise _bad_group(
                        f"The column {column!r} is a level of {met[column]!r} and of {name!r}.",
                        fix="Name it in one category only.",
                    )
                if column is not None:
                    met[column] = name
        if both := [name for name in found.categories if name in met]:
            raise _bad_group(
                f"{both[0]!r} is a category, and a column of {met[both[0]]!r}.", fix="Give the category another name."
            )
        return found

    def __bool__(self) -> bool:
        return bool(self.categories)

    @cached_property
    def _owner(self) -> dict[str, tuple[str, str]]:
        return {
            column: (name, level)
            for name, levels in self.categories.items()
            for level, column in levels.items()
            if column is not None
        }

    def category_of(self, column: str) -> str:
        """The category that a column belongs to; the column itself where it is none's."""
        return self._owner[column][0] if column in self._owner else column

    def level_of(self, column: str) -> str:
        """The level that a column is 1 for."""
        return self._owner[column][1]

    def columns_of(self, category: str) -> tuple[str, ...]:
        """The columns of a category; itself where it is none."""
        levels = self.categories.get(category)
        return (category,) if levels is None else tuple(c for c in levels.values() if c is not None)

    def names(self, columns: Iterable[str]) -> tuple[str, ...]:
        """The columns with each category in the place of its first column."""
        return tuple(dict.fromkeys(map(self.category_of, columns)))

    def among(self, names: Iterable[str]) -> OneHot:
        """Those of the categories that are named."""
        return OneHot({name: self.categories[name] for name in names if name in self.categories})

    def join(self, frame: pd.DataFrame, *, tell: bool = False) -> pd.DataFrame:
        """The table with one column a category; refuses rows that are not one-hot. One joined before stays as it is.

        With `tell` it is said how many people have a level that nobody named.
        """
        for name in self.categories:
            columns = list(self.columns_of(name))
            present = [column for column in columns if column in frame.columns]
            if name in frame.columns and present:
                raise _bad_group(
                    f"The table has a column {name!r} beside {listed(present)}, which are said to be its levels.",
                    fix="Give the category another name, or drop the column.",
                )
            if name in frame.columns:
                continue
            require_columns(frame, columns, why=(f"The category {name!r} is spread over columns, but ", TABLE))
            values = self._joined(name, frame[columns], tell)
            place = min(map(list(frame.columns).index, columns))
            frame = frame.drop(columns=columns)
            frame.insert(place, name, pd.Series(values, index=frame.index))
        return frame

    def _joined(self, name: str, columns: pd.DataFrame, tell: bool) -> npt.NDArray[Any]:
        """The level of each person; NaN where all columns are missing."""
        levels = self.categories[name]
        matrix = np.column_stack([_amounts(columns[column]) for column in columns])
        gone = np.isnan(matrix).all(axis=1)
        total, odd = matrix.sum(axis=1), ~((matrix == 0) | (matrix == 1)).all(axis=1) & ~gone
        dropped = next((level for level, column in levels.items() if column is None), None)
        wrong = odd | (total > 1) | ((total == 0) if dropped is None else False)
        if wrong.any():
            _refuse(name, columns, int(wrong.argmax()), matrix, dropped)
        known = [level for level, column in levels.items() if column is not None]
        names = np.array([*known, dropped, np.nan], dtype=object)
        codes = np.where(gone, len(known) + 1, np.where(total == 0, len(known), matrix.argmax(axis=1)))
        if tell and dropped == OTHER and (none := int((total == 0).sum())):
            warn(
                "SCHEMA_ONE_HOT",
                f"None of {listed(columns.columns)} is 1 for {many(none, 'person', 'people')} of {len(columns):,}: "
                f"{name!r} is taken as {OTHER!r} for them, a level of its own.",
                fix=("Name that level: ", Setting("level without a column", of=name), "."),
            )
        return names[codes]

    def spread(self, frame: pd.DataFrame, columns: Sequence[str], types: Mapping[str, Any] | None = None) -> Any:
        """These columns, in this order, with each category spread over its own."""
        found = {}
        for column in columns:
            if column in frame.columns:
                found[column] = frame[column]
                continue
            name, level = self._owner[column]
            gone, held = frame[name].isna().to_numpy(), (frame[name] == level).to_numpy(dtype=bool, na_value=False)
            values = np.where(gone, np.nan, held) if gone.any() else held.astype(np.int64)
            dtype = (types or {}).get(column)
            flags = held if getattr(dtype, "kind", "") == "b" and not gone.any() else values
            found[column] = pd.Series(flags if dtype is None else as_stored(flags, dtype), index=frame.index)
        return pd.DataFrame(found, index=frame.index, columns=list(columns))


TABLE = Setting("the table")


def _levels(name: Any, given: Any) -> dict[str, str | None]:
    takes = 'a list of columns, or a mapping from level to column such as {"own": "housing_own", "free": None}'
    if isinstance(given, Mapping):
        levels = dict(given)
    elif isinstance(given, str) or not isinstance(given, Iterable):
        raise _bad_group(f"one_hot[{name!r}] is {given!r}.", fix=f"Give {takes}.")
    else:
        listed_columns = list(given)
        levels = dict(zip(level_names(str(name), list(map(str, listed_columns))), listed_columns, strict=True))
        # Nobody said whether a level was left out; if nobody has none of the columns, nobody has this one.
        levels[OTHER if OTHER not in levels else "none of them"] = None
    columns = [column for column in levels.values() if column is not None]
    texts = [name, *levels, *columns]
    if not all(isinstance(text, str) and text for text in texts) or not columns:
        raise _bad_group(f"one_hot[{name!r}] is {given!r}.", fix=f"Give {takes}; names and levels are text.")
    if len(set(columns)) < len(columns) or len(levels) - len(columns) > 1:
        raise _bad_group(
            f"one_hot[{name!r}] names a column twice, or more than one level without a column.",
            fix="Each level has a column of its own; one level may have none.",
        )
    return levels


def level_names(name: str, columns: list[str]) -> list[str]:
    """What the columns of a category say of its levels: what is left of their names without what they share.

    >>> level_names("housing", ["housing_own", "housing_rent"]), level_names("work", ["is_skilled", "is_unskilled"])
    (['own', 'rent'], ['skilled', 'unskilled'])
    >>> level_names("sex", ["female", "male"]), level_names("home", ["own_home", "rented_home"])
    (['female', 'male'], ['own', 'rented'])
    """
    for mark in MARKS:
        if len(columns) > 1 and all(column.endswith(f"{mark}{name}") for column in columns):
            return [column.removesuffix(f"{mark}{name}") for column in columns]
    named = tuple(f"{name}{mark}" for mark in MARKS)
    stem = name if all(column.startswith(named) for column in columns) else ""
    if not stem and len(columns) > 1:
        first, last = min(columns), max(columns)
        shared = first[: next((k for k, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)]
        stem = shared[: max((shared.rfind(mark) + len(mark) for mark in MARKS if mark in shared), default=0)]
    if not stem and all(column.startswith(name) and len(column) > len(name) for column in columns):
        stem = name
    rest = [column.removeprefix(stem) for column in columns]
    for mark in MARKS:
        if all(text.startswith(mark) and len(text) > len(mark) for text in rest):
            rest = [text.removeprefix(mark) for text in rest]
            break
    return rest if all(rest) and len(set(rest)) == len(rest) else columns


def _amounts(column: pd.Series) -> npt.NDArray[np.float64]:
    """0, 1 and NaN as they are, flags as 0 and 1; whatever else is no number becomes one that is neither."""
    values = pd.to_numeric(column.astype(object), errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isnan(values) & column.notna().to_numpy(), 2.0, values)


def _refuse(name: str, columns: pd.DataFrame, row: int, matrix: npt.NDArray[np.float64], dropped: str | None) -> None:
    held, total = columns.iloc[row], matrix[row].sum()
    if total == 0:
        said = "no column is 1"
    elif np.isnan(matrix[row]).any():
        said = f"{listed(columns.columns[np.isnan(matrix[row])])} is missing and the others are not"
    elif ((matrix[row] == 0) | (matrix[row] == 1)).all():
        said = f"{listed(columns.columns[matrix[row] == 1])} are all 1"
    else:
        odd = columns.columns[int((~((matrix[row] == 0) | (matrix[row] == 1))).argmax())]
        said = f"{odd!r} is {label(held[odd])}"
    way = ("If people may have none of them, name that level: ", Setting("level without a column", of=name), ".")
    raise DataError(
        "SCHEMA_ONE_HOT",
        f"The columns of the category {name!r} are not one-hot in row {label(columns.index[row])}: {said}.",
        fix=way
        if total == 0 and dropped is None
        else f"Correct the row, or take {name!r} out of one_hot if these are no levels of one category.",
    )


def is_zero_one(column: pd.Series) -> bool:
    """Whether a column holds flags, or the numbers 0 and 1 and nothing else; what is missing does not count."""
    if infer_dtype(column, skipna=True) == "boolean":
        return True
    return bool(pd.api.types.is_numeric_dtype(column.dtype) and column.dropna().isin([0, 1]).all())


def alike_families(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Columns of 0 and 1 that look like one category: their names start or end alike, up to a mark between words, never
    two of them are 1, and mostly one is. A column is in one family, the largest.

    >>> columns = ["job_skilled", "job_un_skilled", "sex_f", "sex_m", "age_10", "own home", "rented home"]
    >>> alike_families(pd.DataFrame([[0, 1, 1, 0, 1, 0, 1], [1, 0, 0, 1, 0, 1, 0]], columns=columns))
    {'job': ['job_skilled', 'job_un_skilled'], 'sex': ['sex_f', 'sex_m'], 'home': ['own home', 'rented home']}
    """
    stems: dict[tuple[bool, str], list[str]] = {}
    for name in frame.columns:
        found = _stems(name)
        if found and is_zero_one(frame[name]):
            for place in found:
                stems.setdefault(place, []).append(name)
    families: dict[str, list[str]] = {}
    taken: set[str] = set()
    for ends, stem in sorted(stems, key=lambda one: (-len(stems[one]), one[0], -len(one[1]))):
        members = [name for name in stems[ends, stem] if name not in taken]
        if len(members) > 1 and stem not in families and _is_one_hot(frame[members]):
            families[stem] = members
            taken.update(members)
    return {stem: families[stem] for _, stem in stems if stem in families}


def _stems(name: str) -> dict[tuple[bool, str], None]:
    """What a name starts with before a mark, and what it ends with after one; with whether it ends so."""
    places = [
        (at, at + len(mark)) for mark in MARKS for at in range(1, len(name) - len(mark)) if name.startswith(mark, at)
    ]
    starts = [(False, name[:at]) for at, _ in places if not name[:at].endswith(MARKS)]
    return dict.fromkeys([*starts, *((True, name[end:]) for _, end in places if not name[end:].startswith(MARKS))])


def neighbours_that_share(frame: pd.DataFrame) -> list[list[str]]:
    """Columns of 0 and 1 beside each other, whatever their names, of which exactly one is 1 in every row: one category
    perhaps, such as "black" and "white".

    >>> columns = ["age", "black", "white", "asian", "owner"]
    >>> neighbours_that_share(pd.DataFrame([[30, 1, 0, 0, 1], [40, 0, 1, 0, 1], [50, 0, 0, 1, 1]], columns=columns))
    [['black', 'white', 'asian']]
    """
    names = list(map(str, frame.columns))
    flags = {name: _amounts(frame[name]) for name in names if is_zero_one(frame[name]) and frame[name].nunique() == 2}
    found: list[list[str]] = []
    first = 0
    while first < len(names):
        run = _exactly_one(names[first:], flags)
        found += [run] if run else []
        first += len(run) or 1
    return found


def _exactly_one(names: Sequence[str], flags: Mapping[str, npt.NDArray[np.float64]]) -> list[str]:
    """The first of these columns up to where exactly one of them is 1 in every row; none where that never comes."""
    total: Any = 0.0
    for k, name in enumerate(names):
        total = total + flags[name] if name in flags else np.inf
        if not np.all(total <= 1):
            return []
        if k and np.all(total == 1):
            return list(names[: k + 1])
    return []


def _is_one_hot(columns: pd.DataFrame) -> bool:
    """Whether columns of 0 and 1 look like one category: never two at once, and mostly one."""
    together = columns.dropna().to_numpy(dtype=float).sum(axis=1)
    return bool(len(together) and together.max() == 1.0 and together.mean() > 0.5)


def suggested(frame: pd.DataFrame, apart: Iterable[str | None] = ()) -> OneHot:
    """Columns that look like one category each; a level that no column stands for has the name `OTHER`."""
    others = frame.drop(columns=[name for name in apart if name is not None and name in frame.columns])
    found: dict[str, dict[str, str | None]] = {}
    for stem, members in alike_families(others).items():
        if stem in frame.columns:
            continue
        levels: dict[str, str | None] = dict(zip(level_names(stem, members), members, strict=True))
        if (others[members].dropna().to_numpy(dtype=float).sum(axis=1) == 0).any():
            levels[OTHER if OTHER not in levels else "none of them"] = None
        try:
            OneHot({stem: levels}).join(others)
        except EquieffortError:
            # Cells are empty in some of the columns and not in the others.
            continue
        found[stem] = levels
    return OneHot(found)
