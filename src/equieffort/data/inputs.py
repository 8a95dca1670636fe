"""The table of people from a CSV or Parquet file, read strictly: what is doubtful is an error with its line.

A column holds whole numbers, or numbers, or else text; an empty cell is missing, and nothing else is. So a group may
be called "NA" or "None"; "00123" and numbers above 2**53 stay as they are written; "1,000" is text; there are no dates
(`cells` says which numbers are certain).
"""

from __future__ import annotations

import csv
import errno
import io
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.cells import EXACT, parse_cells
from equieffort.data.frames import Missing, refuse_duplicates, require_columns
from equieffort.data.regular import read_regular
from equieffort.errors import DataError, ParameterError, Setting, listed, many, sentence, warn

_bad_file = partial(DataError, "DATA_FILE")
_empty = partial(DataError, "DATA_EMPTY")
_bad_encoding = partial(DataError, "DATA_ENCODING")

TEXT_FILES, PARQUET_FILES = (".csv", ".tsv", ".txt"), (".parquet", ".pq")
MOST_BYTES = 2_000_000_000
"""The largest file that is read: its table takes several times as much memory."""
MOST_COLUMNS = 10_000
MOST_CELLS = 500_000_000
MOST_IN_A_LINE = 20_000_000
_OTHER_FILES = {b"PAR1": "a Parquet file", b"PK\x03\x04": "an Excel or ZIP file", b"\x1f\x8b": "a gzip file"}
SAID = {
    "field limit": "a cell has more than {:,} characters, the most that is read",
    "unexpected end of data": "a quote is opened and never closed",
    "expected after": "something follows a closing quote",
}
"""What Python's csv reader means."""
_BYTE_ORDERS, _LINE_END = (b"\xff\xfe", b"\xfe\xff"), b"\n"


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


def read_table(source: DataSource) -> pd.DataFrame:
    """Read the table; the id column becomes the index, as text."""
    path, suffix = Path(source.path), Path(source.path).suffix.lower()
    if suffix not in TEXT_FILES + PARQUET_FILES:
        raise _bad_file(
            f"{path.name!r} is neither CSV nor Parquet by its name.",
            fix=f"Save the table as one of {listed(TEXT_FILES + PARQUET_FILES)}.",
        )
    try:
        raw = read_regular(path, MOST_BYTES)
    except OSError as error:
        raise _bad_file(
            f"The data file {str(path)!r} cannot be read: {sentence(error.strerror or error)}",
            fix={
                errno.EFBIG: "Audit a sample of the people, or leave out columns that nobody uses.",
                errno.EINVAL: "Save the table as a file, and name that.",
            }.get(error.errno or 0, Setting("the data path")),
        ) from None
    if not raw.strip():
        raise _empty(f"{path.name!r} is empty.", fix="Check that the export has finished.")
    if suffix in PARQUET_FILES:
        frame, places = _parquet(raw, path.name), None
    else:
        frame, places = _csv(raw, path.name, source)
    return frame if source.id is None else _indexed(frame, source.id, path.name, places)


# -- CSV ---------------------------------------------------------------------------------------------------------------


def _csv(raw: bytes, name: str, source: DataSource) -> tuple[pd.DataFrame, list[int]]:
    """The table, and the line on which each of its rows starts."""
    header, rows, lines = _rows(_decode(raw, name, source.encoding), name, source.delimiter)
    _check_header(header, name, source.delimiter)
    _check_lengths(header, rows, lines, name, source.delimiter)
    if not rows:
        raise _empty(f"{name!r} has a header but no rows.", fix="Check the filter it came from.")
    columns = zip(header, zip(*rows, strict=True), strict=True)
    frame = pd.DataFrame({name: parse_cells(cells, source.decimal, name == source.id) for name, cells in columns})
    return frame, lines


def _decode(raw: bytes, name: str, encoding: str) -> str:
    for start, kind in _OTHER_FILES.items():
        if raw.startswith(start):
            raise _bad_file(f"{name!r} is {kind}, not CSV.", fix="Save the table as CSV, or rename the file.")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        likely = "utf-16" if raw.startswith(_BYTE_ORDERS) else "cp1252"
        raise _bad_encoding(
            f"{name!r} is not {encoding}: line {raw.count(_LINE_END, 0, error.start) + 1} has the byte "
            f"{raw[error.start]:#04x} at offset {error.start:,}.",
            fix=("Set ", Setting("encoding"), f", perhaps to {likely}, or save the file as UTF-8."),
        ) from None
    except (LookupError, UnicodeError) as error:
        raise _bad_encoding(
            f"{name!r} cannot be read as {encoding}: {sentence(error)}",
            fix=("Set ", Setting("encoding"), " to the name of an encoding, such as utf-8 or cp1252."),
        ) from None
    if "\0" in text:
        raise _bad_encoding(
            f"{name!r} holds a zero byte in line {text.count(chr(10), 0, text.index(chr(0))) + 1}, which no text does.",
            fix=("Set ", Setting("encoding"), ", perhaps to utf-16, or save the file as UTF-8."),
        )
    return text.removeprefix("\ufeff")


def _rows(text: str, name: str, delimiter: str) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows that are not blank, and the line on which each starts."""
    reader = csv.reader(_lines(text, name), delimiter=delimiter, strict=True)
    rows: list[list[str]] = []
    lines, line = [], 1
    try:
        for row in reader:
            if not rows and len(row) > MOST_COLUMNS:
                raise _too_wide(name, len(row))
            if row:
                rows.append(row)
                lines.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        text = str(error)
        said = next((words.format(csv.field_size_limit()) for part, words in SAID.items() if part in text), text)
        what = f"The row of {name!r} that starts in line {line} cannot be read: {sentence(said)}"
        if "field limit" in text:
            fix = "Shorten the cell or drop its column; if it starts with a quote, close that."
            raise _bad_file(what, fix=fix) from None
        fix = 'Close every quote, and double those inside a cell: "the ""old"" flat".'
        raise DataError("DATA_RAGGED", what, fix=fix) from None
    if not rows:
        raise _empty(f"{name!r} holds nothing but blank lines.", fix="Check that the export has finished.")
    return rows[0], rows[1:], lines[1:]


def _lines(text: str, name: str) -> Iterator[str]:
    """The lines as they are; one that no table has is refused before it becomes millions of cells."""
    for number, line in enumerate(io.StringIO(text, newline=""), start=1):
        if len(line) > MOST_IN_A_LINE:
            raise _bad_file(
                f"Line {number} of {name!r} has {len(line):,} characters, and at most {MOST_IN_A_LINE:,} are read.",
                fix="Check that this is a table with one person a line.",
            )
        yield line


def _too_wide(name: str, columns: int) -> DataError:
    return _bad_file(
        f"{name!r} has {columns:,} columns, and at most {MOST_COLUMNS:,} are read.",
        fix="Keep the columns that the model, the graph or the spec names, and check that people are rows.",
    )


def _check_header(header: list[str], name: str, delimiter: str) -> None:
    if len(header) == 1 and (marks := [mark for mark in ";\t|," if mark in header[0] and mark != delimiter]):
        raise _bad_file(
            f"The header of {name!r} is a single cell, {header[0][:60]!r}.",
            fix=("Set ", Setting("delimiter"), f", perhaps to {marks[0]!r}."),
        )
    blank = [k for k, column in enumerate(header, 1) if not column.strip()]
    if blank:
        raise DataError(
            "DATA_NO_NAMES",
            f"Column {blank[0]} of {name!r} has no name in the header.",
            fix="Name it, or delete the column: a mark at the end of every line makes one, and so do row numbers that "
            "a program wrote.",
        )
    refuse_duplicates(header, repr(name))


def _check_lengths(header: list[str], rows: list[list[str]], lines: list[int], name: str, delimiter: str) -> None:
    wrong = [k for k, row in enumerate(rows) if len(row) != len(header)]
    if not wrong:
        return
    first, others = wrong[0], [str(lines[k]) for k in wrong[1:5]]
    more = f" and {len(wrong) - 5:,} more" if len(wrong) > 5 else ""
    also = f"; the same holds for {'line' if len(wrong) == 2 else 'lines'} {', '.join(others)}{more}" if others else ""
    raise DataError(
        "DATA_RAGGED",
        f"Line {lines[first]} of {name!r} has {many(len(rows[first]), 'cell', 'cells')}, but the header has "
        f"{len(header)}{also}.",
        fix=f"Put cells that hold {delimiter!r} into double quotes, and complete rows that were cut off.",
    )


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
            columns[column] = _arrow_column(table[column])
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
        raise _too_wide(name, about.num_columns)
    unpacked = sum(about.row_group(k).total_byte_size for k in range(about.num_row_groups))
    if about.num_rows * about.num_columns > MOST_CELLS or unpacked > 4 * MOST_BYTES:
        raise _bad_file(
            f"{name!r} has {about.num_rows:,} rows of {about.num_columns:,} columns, {unpacked:,} bytes unpacked; at "
            f"most {MOST_CELLS:,} cells and {4 * MOST_BYTES:,} bytes are read.",
            fix="Audit a sample of the people, or leave out columns that nobody uses.",
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


def _arrow_column(column: Any) -> pd.Series:
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
            return values.to_pandas() if column.null_count == 0 else values.cast(pa.float64()).to_pandas()
    elif pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return column.cast(pa.float64()).to_pandas()
    elif pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise TypeError(kind)
    return column.cast(pa.string()).to_pandas()


# -- people and groups -------------------------------------------------------------------------------------------------


def _indexed(frame: pd.DataFrame, column: str, name: str, lines: list[int] | None) -> pd.DataFrame:
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
        first, second = (row + 1 if lines is None else lines[row] for row in rows)
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
