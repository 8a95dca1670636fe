"""A text file row by row, as slowly as it takes to say what is wrong with it and on which line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from functools import partial

from equieffort.data.frames import refuse_duplicates
from equieffort.errors import DataError, Setting, many, sentence

_bad_file = partial(DataError, "DATA_FILE")
_empty = partial(DataError, "DATA_EMPTY")
_bad_encoding = partial(DataError, "DATA_ENCODING")

MOST_COLUMNS = 10_000
MOST_IN_A_LINE = 20_000_000
OTHER_FILES = {b"PAR1": "a Parquet file", b"PK\x03\x04": "an Excel or ZIP file", b"\x1f\x8b": "a gzip file"}
SAID = {
    "field limit": "a cell has more than {:,} characters, the most that is read",
    "unexpected end of data": "a quote is opened and never closed",
    "expected after": "something follows a closing quote",
}
"""What Python's csv reader means."""
_BYTE_ORDERS, _LINE_END = (b"\xff\xfe", b"\xfe\xff"), b"\n"


def read_carefully(
    raw: bytes, name: str, encoding: str, delimiter: str
) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows and the line on which each of them starts; an error in words if something is wrong."""
    if not raw.strip():
        raise _empty(f"{name!r} is empty.", fix="Check that the export has finished.")
    header, rows, lines = _rows(_decode(raw, name, encoding), name, delimiter)
    check_header(header, name, delimiter)
    _check_lengths(header, rows, lines, name, delimiter)
    if not rows:
        raise _empty(f"{name!r} has a header but no rows.", fix="Check the filter it came from.")
    return header, rows, lines


def _decode(raw: bytes, name: str, encoding: str) -> str:
    for start, kind in OTHER_FILES.items():
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
                raise too_wide(name, len(row))
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


def too_wide(name: str, columns: int) -> DataError:
    """The error about a table of so many columns."""
    return _bad_file(
        f"{name!r} has {columns:,} columns, and at most {MOST_COLUMNS:,} are read.",
        fix="Keep the columns that the model, the graph or the spec names, and check that people are rows.",
    )


def check_header(header: list[str], name: str, delimiter: str) -> None:
    """Refuse names of columns that are no names, or not one each."""
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
