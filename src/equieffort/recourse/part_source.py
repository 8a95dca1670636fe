"""People whose recourse is in Parquet parts: whoever is asked about is read from there, without the model or the data.

A part has, beside what everybody may read (`row`, `group`, `status`, `cost`, `bound`, `do_*`, `delta_*`,
`outside_limits`), the facts (`fact_*`), where an action leads (`then_*`, empty where nothing changes), what each set
feature adds to the cost (`share_*`) and why there is no way (`why`, as JSON).
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Column, Encoding, Floats
from equieffort.data.on_file import OnFile
from equieffort.data.parquet import ParquetTable
from equieffort.errors import ParameterError, RunError
from equieffort.foundations.saved import read_json
from equieffort.recourse.parts import SolvedPart
from equieffort.recourse.status import Reason, Status, Termination, fact_from_dict
from equieffort.recourse.table import (
    Audience,
    ByColumn,
    RecourseTable,
    Rows,
    TableSource,
    known_efforts,
    open_ceilings,
)
from equieffort.world.groups import Groups
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
OUTCOMES: dict[str, Any] = {
    "status": np.int8, "cost": np.float64, "bound": np.float64, "vanishing": np.bool_, "group": np.int16,
}  # fmt: skip
"""The columns that measures are read from, and what they are in memory."""


# -- what measures read ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What came of some people: all that measures read of them."""

    status: npt.NDArray[np.int8]
    cost: Floats
    bound: Floats
    vanishing: Bools
    codes: npt.NDArray[np.int16]
    """Their groups."""
    ceilings: Mapping[int, float] = field(default_factory=dict)
    """By row, counted from the first of them, the most that an action of an unknown one can cost, if that is known."""

    @classmethod
    def read(cls, rows: pd.DataFrame, labels: Sequence[str], ceilings: Mapping[int, float]) -> Outcomes:
        """From columns of a part."""
        found = {name: as_kept(name, rows[name], labels) for name in OUTCOMES}
        codes = found.pop("group")
        return cls(**found, codes=codes, ceilings=ceilings)

    @property
    def effort(self) -> Floats:
        """The cost of each action, NaN without one."""
        return known_efforts(self.status, self.cost, self.vanishing)

    @property
    def ceiling(self) -> Floats:
        """The most that an action can cost where the recourse is unknown."""
        return open_ceilings(self.status, self.ceilings)

    def only(self, members: Bools) -> Outcomes:
        """Some of them."""
        places = np.cumsum(members) - 1 if self.ceilings else members
        return Outcomes(
            self.status[members], self.cost[members], self.bound[members], self.vanishing[members],
            self.codes[members], {int(places[row]): most for row, most in self.ceilings.items() if members[row]},
        )  # fmt: skip


def as_kept(name: str, told: pd.Series, labels: Sequence[str]) -> npt.NDArray[Any]:
    """What a part tells as it is in memory: statuses and groups as codes."""
    if name not in ("status", "group"):
        return told.to_numpy(dtype=OUTCOMES[name])
    codes = pd.Categorical(
        told, categories=[status.text for status in Status] if name == "status" else list(labels)
    ).codes
    if (codes < 0).any():
        raise ValueError("a status is none of those there are, or a group none of its own")
    return codes.astype(OUTCOMES[name])


class Tallied(Protocol):
    """What is kept of some people by group. It adds, to the same bits however people were split."""

    @property
    def counts(self) -> tuple[int, ...]:
        """How many people have each status."""


class Counting(Protocol):
    """How people are counted, wherever that is done."""

    def of(self, people: Outcomes) -> Any:
        """Some people's `Tallied`."""

    def merged(self, parts: Sequence[Any]) -> Any:
        """That of all parts together."""


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
    labels: tuple[str, ...] = ()
    """Of the groups, by their code."""
    tally: Any = None
    """What everybody adds up to, a `Tallied`, as whoever solved them counted."""
    whole: Mapping[str, OnFile] = field(default_factory=dict, repr=False)
    """The columns that `tally` sums up."""
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

    def in_batches(self, names: Sequence[str]) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """The same of some people at a time, one after the other."""
        self.check()
        held = [name for name in names if name in self.names]
        for group in self.parts.groups:
            for _, frame in group.batches([FACT + name for name in held], READ_ROWS):
                yield {name: self._typed(name, frame[FACT + name]).to_numpy() for name in held}

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
        asked = np.array(rows, dtype=np.int64)
        stuck = asked[table.status[asked] == Status.INFEASIBLE]
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

    # -- everybody, as what measures read ------------------------------------------------------------------------------

    def table(
        self, groups: Groups, notes: Mapping[int, Termination], ceilings: Mapping[int, float], audience: Audience
    ) -> RecourseTable:
        """The table of everybody, whose columns are read when somebody asks for them. `groups` are those of others."""
        whole: dict[str, OnFile] = {}
        source = replace(self, labels=groups.labels, whole=whole)
        for name, kind in OUTCOMES.items():
            whole[name] = OnFile(
                len(self), np.dtype(kind), partial(source._everybody, name), partial(source._some, name)
            )
        away: Any = dict.fromkeys(("intervention_mask", "delta", "level"), Elsewhere(len(self), self.folder))
        held: Any = {name: whole[name] for name in OUTCOMES if name != "group"}
        codes: Any = whole["group"]
        return RecourseTable(
            source, replace(groups, codes=codes), **held, **away,
            notes=dict(sorted(notes.items())), ceilings=dict(sorted(ceilings.items())), audience=audience,
        )  # fmt: skip

    def tally_of(self, table: RecourseTable) -> Any:
        """What everybody adds up to; None of a table that has other columns, or other groups, than were counted."""
        columns = [table.groups.codes if name == "group" else getattr(table, name) for name in OUTCOMES]
        same = all(mine is self.whole.get(name) for mine, name in zip(columns, OUTCOMES, strict=True))
        return self.tally if same and table.groups.labels == self.labels else None

    def counted(self, counting: Counting, ceilings: Mapping[int, float], members: Bools | None = None) -> Any:
        """What everybody adds up to, or some people: one pass over what measures read, some people at a time."""
        tallies = []
        for start, people in self.outcomes(ceilings):
            mine = slice(start, start + len(people.status))
            tallies.append(counting.of(people if members is None else people.only(members[mine])))
        return counting.merged(tallies)

    def outcomes(self, ceilings: Mapping[int, float]) -> Iterator[tuple[int, Outcomes]]:
        """What came of everybody, some people at a time, with the number of the first of them."""
        self.check()
        rows = sorted(ceilings)
        for group in self.parts.groups:
            for start, frame in group.batches(list(OUTCOMES), READ_ROWS):
                mine = rows[bisect_left(rows, start) : bisect_left(rows, start + len(frame))]
                yield start, Outcomes.read(frame, self.labels, {row - start: ceilings[row] for row in mine})

    def _everybody(self, name: str) -> npt.NDArray[Any]:
        self.check()
        found = np.empty(len(self), dtype=OUTCOMES[name])
        for group in self.parts.groups:
            for start, frame in group.batches([name], READ_ROWS):
                found[start : start + len(frame)] = as_kept(name, frame[name], self.labels)
        return found

    def _some(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        return as_kept(name, self._read(rows, [name])[name], self.labels)

    def counts(self, table: RecourseTable) -> tuple[int, ...]:
        """As everybody was counted."""
        tally = self.tally_of(table)
        return super().counts(table) if tally is None else tally.counts

    def having(self, table: RecourseTable, *wanted: Status) -> npt.NDArray[np.intp]:
        """Read from the parts, some people at a time, if there is anybody at all."""
        if not sum(self.counts(table)[status] for status in wanted):
            return np.zeros(0, dtype=np.intp)
        if self.tally_of(table) is None:
            return super().having(table, *wanted)
        found = [start + np.flatnonzero(np.isin(some.status, wanted)) for start, some in self.outcomes({})]
        return np.concatenate(found)

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
