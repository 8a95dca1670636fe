"""Parquet files that are larger than memory: read row group by row group, and never all at once."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from glob import glob
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import refuse_absurd, refuse_missing
from equieffort.data.inputs import arrow_column
from equieffort.data.one_hot import OneHot
from equieffort.errors import DataError, ParameterError, Setting, closest, listed, sentence
from equieffort.foundations.arguments import check_path

MOST_LEVELS = 1000
"""Values of a text column of which each must be seen by whoever looks at some of the people."""
Stamp = tuple[int, int, int]
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def bytes_in(memory: Any) -> int:
    """How many bytes a size is.

    >>> bytes_in("2GiB"), bytes_in("500 MB"), bytes_in(1024)
    (2147483648, 500000000, 1024)
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-z]*)\s*", str(memory))
    if isinstance(memory, bool) or found is None or found[2].upper() not in UNITS or not float(found[1]) > 0:
        raise ParameterError("PARAMETER", f"memory is {memory!r}.", fix='Give a size such as "2GiB" or "500MB".')
    return int(float(found[1]) * UNITS[found[2].upper()])


@dataclass(frozen=True)
class Parquet:
    """People in a Parquet file, a folder of them, or all files that a pattern such as "people/*.parquet" names.

    Their order is that of the files' names. `audit` streams them: see docs/scale.md.
    """

    path: str | PathLike[str]

    def __post_init__(self) -> None:
        check_path("path", self.path, "the path of a Parquet file or folder, or a pattern")

    def open(self) -> ParquetTable:
        """What the files say of themselves."""
        given = Path(self.path)
        if given.is_dir():
            paths = sorted(path for path in given.iterdir() if path.suffix in (".parquet", ".pq"))
        else:
            paths = [given] if given.is_file() else sorted(map(Path, glob(str(self.path))))
        if not paths:
            raise DataError(
                "DATA_FILE", f"There is no Parquet file at {str(self.path)!r}.", fix="Check the path or the pattern."
            )
        return ParquetTable.of(paths)


@dataclass(frozen=True)
class RowGroup:
    """Where some of the people are: an address that workers can be sent."""

    path: str
    group: int
    start: int
    """The number of its first person among all."""
    rows: int
    one_hot: OneHot = field(default_factory=OneHot, compare=False)
    """Categories that are spread over columns of the file."""
    first: int = 0
    """Where in the row group its first person is; others than 0 where only some of a row group are meant."""

    def between(self, start: int, stop: int) -> RowGroup:
        """Some of its people, by their numbers among all."""
        return replace(self, start=start, rows=stop - start, first=self.first + start - self.start)

    def batches(
        self, columns: Sequence[str], size: int, dtypes: dict[str, Any] | None = None
    ) -> Iterator[tuple[int, pd.DataFrame]]:
        """Its people, so many at a time, with the number of the first of them."""
        reader = Reader(columns, size, dtypes)
        try:
            yield from reader.batches(self)
        finally:
            reader.close()


class Reader:
    """Reads people of row groups, and goes on where it stopped: what was read of a row group is not read again."""

    def __init__(self, columns: Sequence[str], size: int, dtypes: dict[str, Any] | None = None) -> None:
        self.columns, self.size, self.dtypes = columns, size, dtypes
        self._of: tuple[str, int] | None = None
        self._file: Any = None
        self._batches: Iterator[Any] = iter(())
        self._batch: Any = None
        """The batch that is being handed out, whose first row is `_at` in the row group."""
        self._at = 0

    def batches(self, group: RowGroup) -> Iterator[tuple[int, pd.DataFrame]]:
        """The people of a row group, or of a part of it, so many at a time, with the number of the first of them."""
        name, asked = Path(group.path).name, group.one_hot.among(self.columns)
        held = [own for column in self.columns for own in asked.columns_of(column)]
        begin, end = group.first, group.first + group.rows
        with _complete(name):
            for first, batch in self._rows(group, held, begin, end):
                frame = pd.DataFrame({column: _column(batch, column, name) for column in held})
                at = group.start + first - begin
                frame.index = pd.RangeIndex(at, at + len(frame))
                frame = asked.join(frame)
                yield at, frame if self.dtypes is None else frame.astype(self.dtypes)

    def _rows(self, group: RowGroup, held: list[str], begin: int, end: int) -> Iterator[tuple[int, Any]]:
        import pyarrow as pa

        if self._of != (group.path, group.group) or begin < self._at:
            self.close()
            self._file, self._of = _opened(Path(group.path)), (group.path, group.group)
            self._batches = self._file.iter_batches(batch_size=self.size, row_groups=[group.group], columns=held)
        while begin < end:
            if self._batch is None or self._at + len(self._batch) <= begin:
                self._at += 0 if self._batch is None else len(self._batch)
                self._batch = next(self._batches, None)
                if self._batch is None:
                    raise pa.ArrowInvalid(f"row group {group.group} ends after {self._at} of {end} rows")
                continue
            first = begin - self._at
            some = self._batch.slice(first, end - begin)
            yield begin, pa.Table.from_batches([some])
            begin += len(some)

    def close(self) -> None:
        """Let the file go."""
        import pyarrow as pa

        if self._file is not None:
            self._file.close()
        self._of, self._file, self._batches, self._batch, self._at = None, None, iter(()), None, 0
        pa.default_memory_pool().release_unused()


@dataclass(frozen=True)
class ParquetTable:
    """The row groups of some files, one after the other."""

    groups: tuple[RowGroup, ...]
    columns: tuple[str, ...]
    stamps: dict[Path, Stamp]
    """Of each file its size, and when it and what is said of it was last written to."""
    digests: dict[Path, str] = field(default_factory=dict)
    """Of each file the hash of what it holds, once `hashed` has read it."""

    @classmethod
    def of(cls, paths: Sequence[Path]) -> ParquetTable:
        """Files with the same columns."""
        groups: list[RowGroup] = []
        columns: tuple[str, ...] = ()
        stamps: dict[Path, Stamp] = {}
        start = 0
        for path in paths:
            with _opened(path) as file:
                names = tuple(file.schema_arrow.names)
                if stamps and names != columns:
                    raise DataError(
                        "DATA_FILE",
                        f"{path.name!r} has other columns than {paths[0].name!r}.",
                        fix="Give files that are parts of one table.",
                    )
                columns, about = names, file.metadata
                for k in range(about.num_row_groups):
                    rows = about.row_group(k).num_rows
                    if rows:
                        groups.append(RowGroup(str(path.resolve()), k, start, rows))
                    start += rows
                stamps[path.resolve()] = _stamp(path)
        if not start:
            raise DataError("DATA_EMPTY", f"{paths[0].name!r} has no rows.", fix="Check the filter it came from.")
        return cls(tuple(groups), columns, stamps)

    def __len__(self) -> int:
        return self.groups[-1].start + self.groups[-1].rows

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        """The number of the first person of each row group."""
        return np.array([group.start for group in self.groups], dtype=np.int64)

    def cut(self, rows: int) -> tuple[RowGroup, ...]:
        """Its row groups, those with more people than so many in pieces of so many."""
        return tuple(
            group.between(start, min(start + rows, group.start + group.rows))
            for group in self.groups
            for start in range(group.start, group.start + group.rows, rows)
        )

    def changed(self) -> Path | None:
        """The first file that does not hold what it held; read again where somebody has touched it."""
        for path, stamp in self.stamps.items():
            try:
                if (now := _stamp(path)) == stamp:
                    continue
                if self.digests.get(path) != file_hash(path):
                    return path
            except OSError:
                return path
            self.stamps[path] = now
        return None

    def hashed(self) -> ParquetTable:
        """The same with the hash of what each file holds: its name, size and time say neither too much nor enough."""
        return replace(self, digests={path: file_hash(path) for path in self.stamps})

    @property
    def digest(self) -> str:
        """One hash of all files; that of the file where there is one."""
        found = [(path.name, digest) for path, digest in self.digests.items()]
        return found[0][1] if len(found) == 1 else hashlib.sha256(repr(found).encode()).hexdigest()

    def joined(self, one_hot: OneHot) -> ParquetTable:
        """The same with one column a category, as `OneHot.join` makes of a table."""
        spread = one_hot.among(name for name in one_hot.categories if name not in self.columns)
        if not spread:
            return self
        self.require([column for name in spread.categories for column in spread.columns_of(name)])
        groups = tuple(replace(group, one_hot=spread) for group in self.groups)
        return replace(self, groups=groups, columns=spread.names(self.columns))

    def require(self, names: Sequence[str]) -> None:
        """Refuse files that lack a column."""
        if absent := [name for name in names if name not in self.columns]:
            raise DataError(
                "DATA_MISSING_COLUMN",
                f"The files have no column {listed(absent)}. {closest(absent[0], self.columns)}".rstrip(),
                fix=f"The columns are {listed(self.columns, most=20)}.",
            )

    def take(self, rows: npt.NDArray[np.int64], columns: Sequence[str], size: int = 65_536) -> pd.DataFrame:
        """Some of the people, by their numbers, which rise."""
        parts = []
        for group in self.groups:
            mine = rows[slice(*np.searchsorted(rows, (group.start, group.start + group.rows)))]
            if len(mine):
                for start, frame in group.batches(columns, size):
                    inside = mine[(mine >= start) & (mine < start + len(frame))]
                    if len(inside):
                        parts.append(frame.iloc[inside - start])
        return pd.concat(parts)

    def column(self, name: str, size: int = 65_536) -> pd.Series:
        """One column of everybody."""
        return pd.concat([frame[name] for group in self.groups for _, frame in group.batches([name], size)])

    def check_id(self, name: str, size: int) -> None:
        """Refuse a column of names that is empty somewhere, or names two people.

        Of each name a hash is kept, and names are compared only where hashes are the same.
        """
        hashes = np.empty(len(self), dtype=np.uint64)
        for group in self.groups:
            for start, frame in group.batches([name], size):
                refuse_missing(
                    frame[name], f"The id column {name!r}", ("Give everybody one, or leave ", Setting("id"), " out.")
                )
                hashes[start : start + len(frame)] = pd.util.hash_array(frame[name].astype(str).to_numpy(dtype=object))
        order = np.argsort(hashes, kind="stable")
        alike = np.flatnonzero(hashes[order[1:]] == hashes[order[:-1]])
        if not len(alike):
            return
        rows = np.unique(np.concatenate([order[alike], order[alike + 1]]))
        found = self.take(rows, [name], size)[name].astype(str)
        for held, same in found.groupby(found, sort=False).groups.items():
            if len(same) > 1:
                raise DataError(
                    "DATA_DUPLICATE_INDEX",
                    f"The id {held!r} in column {name!r} names two people, in rows {same[0]} and {same[1]}.",
                    fix=("Give everybody an id of their own, or leave ", Setting("id"), " out: people are numbered."),
                )

    def witnesses(self, columns: Sequence[str], together: Sequence[str], size: int) -> npt.NDArray[np.int64]:
        """The first pass: people who show all that must be known of a column.

        Its least and largest value, a fraction if there is one, each value of a text, and each combination of some
        columns. Missing, infinite and absurd values are refused where they stand.
        """
        seen = _Witnesses(columns, together)
        for group in self.groups:
            for start, frame in group.batches(columns, size):
                seen.look(start, frame)
        return np.unique(np.array(sorted(seen.rows()), dtype=np.int64))


class _Witnesses:
    def __init__(self, columns: Sequence[str], together: Sequence[str]) -> None:
        self.columns, self.together = columns, list(together)
        self.ends: dict[str, list[tuple[float, int]]] = {}
        self.fractions: dict[str, int] = {}
        self.levels: dict[str, dict[Any, int]] = {}
        self.combined: dict[tuple[Any, ...], int] = {}

    def look(self, start: int, frame: pd.DataFrame) -> None:
        for name in self.columns:
            column = frame[name]
            if name not in self.together:
                refuse_missing(column, f"Column {name!r}", "Fill them in, or drop these rows.")
            if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
                self._numbers(start, name, column)
            else:
                known = self.levels.setdefault(name, {})
                if len(known) < MOST_LEVELS:
                    for value, row in zip(*_firsts(column.dropna()), strict=True):
                        known.setdefault(value, row)
        if self.together:
            held = frame[self.together].drop_duplicates()
            for row, values in zip(held.index.tolist(), held.astype(object).itertuples(index=False), strict=True):
                self.combined.setdefault(tuple(None if pd.isna(value) else value for value in values), row)

    def _numbers(self, start: int, name: str, column: pd.Series) -> None:
        refuse_absurd(column, "Correct the value or drop the row.")
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isnan(values).all():
            return
        least, most = int(np.nanargmin(values)), int(np.nanargmax(values))
        found = [(float(values[least]), start + least), (float(values[most]), start + most)]
        if name in self.ends:
            (low, high), (old_low, old_high) = found, self.ends[name]
            found = [low if low[0] < old_low[0] else old_low, high if high[0] > old_high[0] else old_high]
        self.ends[name] = found
        if name not in self.fractions:
            odd = (values != np.rint(values)) & ~np.isnan(values)
            if odd.any():
                self.fractions[name] = start + int(odd.argmax())

    def rows(self) -> set[int]:
        found = {row for ends in self.ends.values() for _, row in ends} | set(self.fractions.values())
        return found | {row for known in self.levels.values() for row in known.values()} | set(self.combined.values())


def _firsts(column: pd.Series) -> tuple[list[Any], list[int]]:
    held = column.drop_duplicates()
    return held.tolist(), held.index.tolist()


def _stamp(path: Path) -> Stamp:
    # The last one nobody can set back.
    found = path.stat()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns


def file_hash(path: Path) -> str:
    """Of what a file holds."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _column(table: Any, column: str, name: str) -> pd.Series:
    try:
        return arrow_column(table[column])
    except TypeError:
        raise DataError(
            "DATA_TYPE",
            f"Column {column!r} of {name!r} holds {table[column].type}, neither numbers nor text.",
            fix="Leave it out of the model, the graph and the schema, or write it as numbers or text.",
        ) from None


def _opened(path: Path) -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY",
            "Reading Parquet needs the package pyarrow.",
            fix="pip install 'equieffort[parquet]'.",
        ) from error
    with _complete(path.name):
        return pyarrow.parquet.ParquetFile(path)


class _complete:  # noqa: N801 (a context manager)
    """Damage is told by the file's name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        import pyarrow

        # Arrow has an exception of its own for memory that is short, which damages nothing.
        if isinstance(error, pyarrow.ArrowException | OSError) and not isinstance(error, DataError | MemoryError):
            raise DataError(
                "DATA_FILE",
                f"{self.name!r} is not a complete Parquet file: {sentence(error)}",
                fix="Write it again; a copy that was cut off cannot be repaired.",
            ) from None
