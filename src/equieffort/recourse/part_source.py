"""People whose recourse is in Parquet parts: whoever is asked about is read from there, without the model or the data.

A part has, beside what everybody may read (`row`, `group`, `status`, `cost`, `bound`, `do_*`, `delta_*`,
`outside_limits`), the facts (`fact_*`), where an action leads (`then_*`, empty where nothing changes), what each set
feature adds to the cost (`share_*`) and why there is no way (`why`, as JSON).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Column, Encoding, Floats
from equieffort.data.parquet import ParquetTable
from equieffort.errors import ParameterError, RunError
from equieffort.foundations.saved import read_json
from equieffort.recourse.parts import SolvedPart
from equieffort.recourse.status import Reason, Status, fact_from_dict
from equieffort.recourse.table import ByColumn, RecourseTable, Rows, TableSource
from equieffort.world.schema import Schema

MOST_AT_ONCE = 200_000
"""People of whom everything is read into memory at once, if there is no room for more."""
VALUE_BYTES = 32
"""Of a value that is read, with its copies."""
BESIDE = 4_096
"""People who are read together where one of them is asked about: the next one asked about is likely among them."""
READ_ROWS = 65_536
FACT, THEN, SHARE, WHY = "fact_", "then_", "share_", "why"
PART_COLUMNS = ("row", "group", "status", "cost", "bound", "outside_limits", "vanishing", WHY)
"""What a part has of everybody, beside the columns of features."""
PREFIXES = ("do_", "delta_", FACT, THEN, SHARE)
"""How names of columns of features begin."""


# -- written -----------------------------------------------------------------------------------------------------------


def fact_columns(table: RecourseTable, part: SolvedPart, people: pd.DataFrame, more: Sequence[str]) -> dict[str, Any]:
    """What readers may ask of some people beyond their action, as columns of a part.

    `more` are columns of theirs that nobody is solved by, but that rules name.
    """
    import pyarrow as pa

    everybody, encoding = slice(None), table.source.encoding
    facts, moved = table.source.facts(everybody), table.source.moved(table, everybody)
    costs = table.source.costs(table, everybody)
    found: dict[str, Any] = {}
    for k, column in enumerate(encoding.columns):
        same = (facts[:, k] == moved[:, k]) | (np.isnan(facts[:, k]) & np.isnan(moved[:, k]))
        found[FACT + column.name] = _as_told(column, facts[:, k])
        found[THEN + column.name] = pa.array(moved[:, k], mask=same)
    for b, k in enumerate(table.acts):
        found[SHARE + encoding.columns[k].name] = pa.array(costs[:, b])
    for name in more:
        found[FACT + name] = _as_it_is(people[name])
    whys: list[str | None] = [None] * len(part)
    for row, reason in part.reasons.items():
        whys[row] = json.dumps(reason.to_dict())
    found[WHY] = pa.array(whys, pa.string())
    return found


def _as_told(column: Column, codes: Floats) -> Any:
    """Numbers as they are, categories as the texts of their levels."""
    import pyarrow as pa

    if (texts := _texts(column)) is None:
        return pa.array(codes)
    gone = np.isnan(codes)
    return pa.array(texts, pa.string()).take(pa.array(np.where(gone, 0, codes).astype(np.int64), mask=gone))


def _as_it_is(values: pd.Series) -> Any:
    """A column that nobody is solved by: numbers, flags, or else text."""
    import pyarrow as pa

    if values.dtype.kind in "biuf":
        return pa.array(values.to_numpy())
    texts = [None if gone else str(value) for value, gone in zip(values, values.isna(), strict=True)]
    return pa.array(texts, pa.string())


def _texts(column: Column) -> list[str] | None:
    """The levels of a category as texts; None of numbers, and where two levels have one text."""
    texts = [str(level) for level in column.levels]
    return texts if column.is_category and len(set(texts)) == len(texts) else None


# -- read --------------------------------------------------------------------------------------------------------------


class Elsewhere:
    """Stands for an array that is in the parts: it has a length, and whoever asks for more is told where it is."""

    def __init__(self, n: int, folder: Path) -> None:
        self._n, self._folder = n, folder

    def __len__(self) -> int:
        return self._n

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise too_many(self._n, self._folder)

    def __getitem__(self, rows: Any) -> Any:
        raise too_many(self._n, self._folder)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise too_many(self._n, self._folder)

    def __iter__(self) -> Any:
        raise too_many(self._n, self._folder)


def too_many(n: int, folder: Path) -> ParameterError:
    """What whoever asks for everything at once is told."""
    return ParameterError(
        "PARAMETER",
        f"Of these {n:,} people actions and values are not in memory: they are in the parts in {str(folder)!r}.",
        fix="Read what you need of them: pyarrow.dataset.dataset(folder, format='parquet').to_table(columns=[...], "
        "filter=...). Verdict, groups, measures, subgroups, curves and single people are read from the audit itself.",
    )


class PeopleElsewhere:
    """The columns of people in parts, one at a time, by the interface of a table that rules and distances use."""

    def __init__(self, source: PartsSource) -> None:
        self._source = source
        self.index = pd.RangeIndex(len(source))

    def __len__(self) -> int:
        return len(self.index)

    @property
    def columns(self) -> list[str]:
        """What can be asked."""
        return self._source.names

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    def __getitem__(self, name: Any) -> pd.Series:
        if not isinstance(name, str):
            raise too_many(len(self), self._source.folder)
        return self._source.column(name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise too_many(len(self), self._source.folder)


@dataclass(frozen=True, eq=False)
class PartsSource(TableSource):
    """Reads whoever is asked about from the parts."""

    schema: Schema
    encoding: Encoding
    dtypes: Mapping[str, Any]
    """Types of columns of numbers that are not read back in another one."""
    folder: Path
    parts: ParquetTable
    room: int
    """Bytes that columns of everybody may take."""
    id: str | None = None
    """A column of the parts that names people."""
    people: ParquetTable | None = None
    """The files that people came from, in the run itself."""
    _near: dict[int, pd.DataFrame] = field(default_factory=dict, repr=False)
    """People who were read because one of them was asked about, by the number of the first."""

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def data(self) -> pd.DataFrame:  # type: ignore[override]
        """The people, column by column."""
        return cast("pd.DataFrame", PeopleElsewhere(self))

    @property
    def names(self) -> list[str]:
        """The columns of people that the parts have."""
        return [name.removeprefix(FACT) for name in self.parts.columns if name.startswith(FACT)]

    def column(self, name: str) -> pd.Series:
        """One column of everybody, as it was in the files."""
        if name not in self.names:
            raise KeyError(name)
        self.check()
        found = self.parts.column(FACT + name, READ_ROWS)
        found.index = pd.RangeIndex(len(found))
        return self._typed(name, found)

    def _typed(self, name: str, found: pd.Series) -> pd.Series:
        if name in self.encoding.names:
            column = self.encoding[name]
            if _texts(column) is None or any(not isinstance(level, str) for level in column.levels):
                found = pd.Series(column.decode(_codes(column, found)), index=found.index)
        dtype = self.dtypes.get(name)
        return (found if dtype is None else found.astype(dtype)).rename(name)

    def columns(self, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        """Some columns of everybody."""
        return {name: self.column(name).to_numpy() for name in names if name in self.names}

    def facts(self, rows: Rows) -> Floats:
        """Factual people, encoded."""
        return self._facts(self._read(rows, [FACT + name for name in self.encoding.names]))

    def _facts(self, some: pd.DataFrame) -> Floats:
        found = np.empty((len(some), len(self.encoding.columns)))
        for k, column in enumerate(self.encoding.columns):
            found[:, k] = _codes(column, some[FACT + column.name])
        return found

    def interventions(self, table: RecourseTable, rows: Rows) -> tuple[Bools, Floats]:
        """Which actionable features are set for whom, and to which values; elsewhere the fact."""
        acts = [self.encoding.columns[k] for k in table.acts]
        some = self._read(rows, [start + column.name for column in acts for start in ("do_", FACT)])
        is_set, values = np.empty((len(some), len(acts)), dtype=bool), np.empty((len(some), len(acts)))
        for b, column in enumerate(acts):
            done = some[f"do_{column.name}"]
            is_set[:, b] = done.notna().to_numpy()
            fact = _codes(column, some[FACT + column.name])
            values[:, b] = np.where(is_set[:, b], _codes(column, done), fact)
        return is_set, values

    def moved(self, table: RecourseTable, rows: Rows) -> Floats:
        """Counterfactual people, encoded."""
        names = self.encoding.names
        some = self._read(rows, [start + name for name in names for start in (FACT, THEN)])
        found = self._facts(some)
        for k, name in enumerate(names):
            _lead(found[:, k], some[THEN + name])
        return found

    def costs(self, table: RecourseTable, rows: Rows) -> Floats:
        """What each actionable feature contributes to the cost."""
        names = [SHARE + self.encoding.columns[k].name for k in table.acts]
        return self._read(rows, names)[names].to_numpy(dtype=np.float64).reshape(-1, len(names))

    def by_column(self, table: RecourseTable, what: ByColumn) -> Any:
        """Of everybody, one column at a time."""
        return Columns(self, table, what)

    def one_of(self, table: RecourseTable, what: ByColumn, k: int) -> npt.NDArray[Any]:
        """A column of everybody: of the encoding, or of the actionable features."""
        column = self.encoding.columns[k if what in ("facts", "moved") else table.acts[k]]
        self.check()
        if what == "is_set":
            return self.parts.column(f"do_{column.name}", READ_ROWS).notna().to_numpy()
        if what == "costs":
            return self.parts.column(SHARE + column.name, READ_ROWS).to_numpy(dtype=np.float64)
        found = _codes(column, self.parts.column(FACT + column.name, READ_ROWS))
        if what == "moved":
            found = found.copy()
            _lead(found, self.parts.column(THEN + column.name, READ_ROWS))
        return found

    def outside(self, rows: Rows = slice(None)) -> Bools:
        """Who starts outside the declared limits."""
        if isinstance(rows, slice) and len(range(len(self))[rows]) > MOST_AT_ONCE:
            self.check()
            return self.parts.column("outside_limits", READ_ROWS).to_numpy(dtype=bool)[rows]
        return self._read(rows, ["outside_limits"])["outside_limits"].to_numpy(dtype=bool)

    def reasons(self, table: RecourseTable, rows: Sequence[int]) -> list[Reason | None]:
        """Read for infeasible people; noted for others."""
        stuck = np.array([row for row in rows if table.status[row] == Status.INFEASIBLE], dtype=np.int64)
        found: dict[int, Reason | None] = {}
        known: dict[str, Reason] = {}
        for start in range(0, len(stuck), MOST_AT_ONCE):
            some = stuck[start : start + MOST_AT_ONCE]
            for row, why in zip(some.tolist(), self._read(some, [WHY])[WHY].tolist(), strict=True):
                # The same stands in the way of many.
                if isinstance(why, str) and why not in known:
                    known[why] = fact_from_dict(read_json(why.encode()))
                found[row] = known[why] if isinstance(why, str) else None
        return [found[row] if row in found else table.notes.get(row) for row in rows]

    # -- some people -------------------------------------------------------------------------------------------------

    def row_called(self, name: str) -> int | None:
        """The number of the person whom the column of names calls so; None if nobody is called so."""
        assert self.id is not None
        self.check()
        for group in self.parts.groups:
            for start, some in group.batches([self.id], READ_ROWS):
                found = np.flatnonzero((some[self.id].astype(str) == name).to_numpy())
                if len(found):
                    return start + int(found[0])
        return None

    def check(self) -> None:
        """Refuse parts that somebody has written to since they were audited."""
        if (path := self.parts.changed()) is not None:
            raise RunError(
                "RUN_CHANGED",
                f"The part {path.name!r} of this audit is not there any more, or not what was written.",
                fix="Put back the folder of the parts as it was, or audit again.",
            )

    def _rows(self, rows: Rows) -> npt.NDArray[np.int64]:
        wanted = np.arange(len(self))[rows] if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        if wanted.dtype == bool:
            wanted = np.flatnonzero(wanted)
        return wanted.astype(np.int64)

    def _read(self, rows: Rows, columns: Sequence[str]) -> pd.DataFrame:
        """Some columns of some people, in the order in which they are asked for."""
        self.check()
        wanted, names = self._rows(rows), list(dict.fromkeys(columns))
        if len(wanted) > max(MOST_AT_ONCE, self.room // (2 * VALUE_BYTES * max(1, len(names)))):
            raise too_many(len(self), self.folder)
        if len(wanted) == 1:
            begin = int(wanted[0]) // BESIDE * BESIDE
            if begin not in self._near:
                self._near.clear()
                beside = np.arange(begin, min(begin + BESIDE, len(self)))
                self._near[begin] = self.parts.take(beside, self.parts.columns, READ_ROWS)
            return self._near[begin].iloc[wanted - begin]
        if not len(wanted):
            return self.parts.take(np.zeros(1, dtype=np.int64), names, READ_ROWS).iloc[:0]
        ordered, back = np.unique(wanted, return_inverse=True)
        return self.parts.take(ordered, names, READ_ROWS).iloc[back]


def _lead(facts: Floats, then: pd.Series) -> None:
    """Put where actions lead in the place of the facts."""
    led = then.notna().to_numpy()
    facts[led] = then.to_numpy(dtype=np.float64, na_value=np.nan)[led]


@dataclass(eq=False)
class Columns:
    """A matrix of everybody of which one column at a time is in memory."""

    source: PartsSource
    table: RecourseTable
    what: ByColumn
    _kept: tuple[int, npt.NDArray[Any]] | None = None

    def __getitem__(self, of: tuple[Any, int]) -> npt.NDArray[Any]:
        rows, k = of
        if self._kept is None or self._kept[0] != k:
            self._kept = k, self.source.one_of(self.table, self.what, k)
        return self._kept[1][rows]


def _codes(column: Column, told: pd.Series) -> Floats:
    """Codes of what is told in a column of the parts; missing is NaN."""
    if (texts := _texts(column)) is None:
        return told.to_numpy(dtype=np.float64, na_value=np.nan)
    which, different = pd.factorize(told)
    codes = pd.Index(texts, dtype=object).get_indexer(pd.Index(different, dtype=object)).astype(np.float64)
    if (codes < 0).any():
        raise ValueError(f"{column.name!r} holds a level that is none")
    return np.append(codes, np.nan)[which]
