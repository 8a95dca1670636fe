"""The table of people from a CSV or Parquet file, read strictly: what is doubtful is an error with its line.

A column holds whole numbers (pandas' Int64 where cells are empty), or numbers, or true and false in any case (flags, as
pandas and R write them), or else text; an empty cell is missing, and nothing else is. So a group may
be called "NA" or "None"; "00123" and numbers above 2**53 stay as they are written; "1,000" is text; there are no dates
(`cells` says which numbers are certain).
"""

from __future__ import annotations

import errno
import glob
import io
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.cells import EXACT
from equieffort.data.delimited import Delimited, read_delimited
from equieffort.data.delimited.carefully import MOST_COLUMNS, too_wide
from equieffort.data.frames import Missing, refuse_duplicates, require_columns
from equieffort.data.regular import is_dir, is_file, read_regular
from equieffort.errors import DataError, ParameterError, Setting, listed, many, sentence, warn

_bad_file = partial(DataError, "DATA_FILE")
_empty = partial(DataError, "DATA_EMPTY")

TEXT_FILES, PARQUET_FILES = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
MOST_BYTES = 2_000_000_000
"""The largest file that is read: its table takes several times as much memory."""
MOST_CELLS = 500_000_000
STREAM = "To audit the people of Parquet files without reading all at once: equieffort audit SPEC -o OUT --memory 2GiB."


@dataclass(frozen=True)
class DataSource:
    """A table of people in a file, and how to read it."""

    path: Path
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    id: str | None = None
    """The column that names people; it becomes the index, as text."""
    missing: Missing = "error"
    spelled: frozenset[str] = frozenset()
    """Columns of a text file in which true and false stay words, because somebody quotes them."""


def read_table(source: DataSource) -> pd.DataFrame:
    """Read the table; the id column becomes the index, as text."""
    path, suffix = Path(source.path), Path(source.path).suffix.lower()
    if is_dir(path) or (glob.has_magic(path.name) and not is_file(path)):
        what = "a folder" if is_dir(path) else "a pattern"
        raise _bad_file(f"The data path {str(path)!r} is {what}, not a file.", fix=f"{STREAM} Otherwise name one file.")
    if suffix not in TEXT_FILES + PARQUET_FILES:
        raise _bad_file(
            f"{path.name!r} is neither CSV nor Parquet by its name.",
            fix=f"Save the table as one of {listed(TEXT_FILES + PARQUET_FILES)}.",
        )
    lines: Callable[[], list[int]] | None = None
    try:
        if suffix in TEXT_FILES:
            how = Delimited(source.encoding, source.delimiter, source.decimal, source.id, source.spelled)
            frame, lines = read_delimited(path, how, MOST_BYTES)
        else:
            raw = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise _bad_file(
            f"The data file {str(path)!r} cannot be read: {sentence(error.strerror or error)}",
            fix={
                errno.EFBIG: f"{STREAM} Or audit a sample of the people, or leave out columns that nobody uses.",
                errno.EINVAL: "Save the table as a file, and name that.",
            }.get(error.errno or 0, Setting("the data path")),
        ) from None
    if suffix in PARQUET_FILES:
        if not raw.strip():
            raise _empty(f"{path.name!r} is empty.", fix="Check that the export has finished.")
        frame = _parquet(raw, path.name)
    return frame if source.id is None else _indexed(frame, source.id, path.name, lines)


# -- Parquet -----------------------------------------------------------------------------------------------------------


def _parquet(raw: bytes, name: str) -> pd.DataFrame:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY",
            "Reading Parquet needs the package pyarrow.",
            fix="pip install 'equieffort[parquet]', or save the table as CSV.",
        ) from error
    try:
        file = pyarrow.parquet.ParquetFile(io.BytesIO(raw))
        _check_size(file.metadata, name)
        # One long text of everybody must not be unpacked a million times.
        texts = [column.name for column in file.schema_arrow if pyarrow.types.is_string(column.type)]
        table = pyarrow.parquet.ParquetFile(io.BytesIO(raw), read_dictionary=texts).read()
        table.validate(full=True)
    except DataError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError, MemoryError) as error:
        raise _bad_file(
            f"{name!r} is not a complete Parquet file: {sentence(error)}",
            fix="Write it again; a copy that was cut off cannot be repaired.",
        ) from None
    refuse_duplicates(table.column_names, repr(name))
    if table.num_rows == 0:
        raise _empty(f"{name!r} has no rows.", fix="Check the filter it came from.")
    # An index without a name is not a column of the people.
    kept = [column for column in table.column_names if not re.fullmatch(r"__index_level_[0-9]+__", column)]
    columns = {}
    for column in kept:
        try:
            _check_text(table[column], column, name)
            columns[column] = arrow_column(table[column])
        except (pyarrow.ArrowException, TypeError):
            raise DataError(
                "DATA_TYPE",
                f"Column {column!r} of {name!r} holds {table[column].type}, neither numbers nor text.",
                fix="Drop the column, or write it as numbers or text.",
            ) from None
    return pd.DataFrame(columns)


def _check_size(about: Any, name: str) -> None:
    """What a Parquet file says of itself, before anything in it is unpacked."""
    if about.num_columns > MOST_COLUMNS:
        raise too_wide(name, about.num_columns)
    unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    if about.num_rows * about.num_columns > MOST_CELLS or unpacked > 4 * MOST_BYTES:
        raise _bad_file(
            f"{name!r} has {about.num_rows:,} rows of {about.num_columns:,} columns, {unpacked:,} bytes unpacked; at "
            f"most {MOST_CELLS:,} cells and {4 * MOST_BYTES:,} bytes are read.",
            fix=f"{STREAM} Or audit a sample of the people, or leave out columns that nobody uses.",
        )


def _check_text(column: Any, title: str, name: str) -> None:
    """Refuse a column whose texts would take more than a whole file may."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_dictionary(column.type) and pa.types.is_string(column.type.value_type)):
        return
    lengths = [pc.take(pc.binary_length(part.dictionary), part.indices) for part in column.chunks]
    total = sum(pc.sum(part.cast(pa.int64())).as_py() or 0 for part in lengths)
    if total > MOST_BYTES:
        raise _bad_file(
            f"The texts of column {title!r} of {name!r} have {total:,} bytes, and at most {MOST_BYTES:,} are read.",
            fix="Leave out the column, or shorten its texts.",
        )


def arrow_column(column: Any) -> pd.Series:
    """An Arrow column as one of numbers or text; TypeError for what is neither."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_null(kind):
        return pd.Series(np.full(len(column), np.nan))
    if pa.types.is_boolean(kind):
        return column.to_pandas()
    if pa.types.is_integer(kind):
        ends = pc.min_max(column).as_py()
        if all(end is None or abs(end) <= EXACT for end in ends.values()):
            values = column.cast(pa.int64())
            return values.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get if column.null_count else None)
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_pandas()
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise TypeError(kind)
    return column.cast(pa.string()).to_pandas()


# -- people and groups -------------------------------------------------------------------------------------------------


def _indexed(frame: pd.DataFrame, column: str, name: str, lines: Callable[[], list[int]] | None) -> pd.DataFrame:
    require_columns(frame, [column], why=repr(name))
    ids = frame[column]
    if ids.isna().any():
        row = int(ids.isna().to_numpy().argmax())
        raise DataError(
            "DATA_MISSING_VALUES",
            f"The id column {column!r} of {name!r} has {many(int(ids.isna().sum()), 'empty cell', 'empty cells')}, the "
            f"first in data row {row + 1}.",
            fix=("Give everybody an id, or leave ", Setting("id"), " out to count rows."),
        )
    if pd.api.types.is_float_dtype(ids.dtype) and (ids == np.rint(ids)).all():
        ids = ids.astype(np.int64)
    index = pd.Index(ids.astype("str"), name=column)
    if not index.is_unique:
        again = index.duplicated()
        rows = np.flatnonzero(index == index[int(again.argmax())])[:2].tolist()
        places = None if lines is None else lines()
        first, second = (row + 1 if places is None else places[row] for row in rows)
        others = int(index[again].nunique()) - 1
        more = f"; {many(others, 'other id is', 'other ids are')} there more than once too" if others else ""
        raise DataError(
            "DATA_DUPLICATE_INDEX",
            f"The id {index[rows[0]]!r} in column {column!r} of {name!r} names two people, in "
            f"{'data rows' if lines is None else 'lines'} {first} and {second}{more}.",
            fix=(
                "Give everybody an id of their own, remove rows that are there twice, or leave ",
                Setting("id"),
                " out to count rows.",
            ),
        )
    return frame.drop(columns=column).set_index(index)


def warn_similar_labels(series: pd.Series) -> None:
    """Warn of labels that differ only by case, spaces or Unicode form: groups that were probably meant to be one.

    >>> from equieffort.errors import collecting
    >>> import warnings
    >>> with warnings.catch_warnings(), collecting() as kept:
    ...     warnings.simplefilter("ignore")
    ...     warn_similar_labels(pd.Series(["Female", "female ", "male"], name="sex"))
    >>> kept[0].what
    "Labels of 'sex' differ only by case, spaces or Unicode form: 'Female' (1 person) and 'female ' (1 person)."
    """
    counts = series.dropna().value_counts()
    alike: dict[str, list[str]] = {}
    for value in sorted(value for value in counts.index if isinstance(value, str)):
        alike.setdefault(_folded(value), []).append(value)
    found = [
        " and ".join(f"{_shown(value)} ({many(int(counts[value]), 'person', 'people')})" for value in values)
        for values in alike.values()
        if len(values) > 1
    ]
    if found:
        more = f"; and {len(found) - 5} more" if len(found) > 5 else ""
        warn(
            "DATA_SIMILAR_LABELS",
            f"Labels of {series.name!r} differ only by case, spaces or Unicode form: {'; '.join(found[:5])}{more}.",
            fix="Write each group in one way, unless they really are different groups.",
        )


def _folded(label: str) -> str:
    """One spelling for all that look alike; characters without a width are dropped."""
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    return " ".join("".join(mark for mark in text if unicodedata.category(mark) != "Cf").split())


def _shown(label: str) -> str:
    """In quotes; by code points where two forms would look the same."""
    return repr(label) if unicodedata.normalize("NFKC", label) == label else ascii(label)
