"""Text files with a delimiter: read fast as text, and where that leaves a doubt, carefully, row by row."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import pandas as pd

from equieffort.data.delimited import arrow, rows
from equieffort.data.delimited.blocks import Doubtful, utf8_blocks
from equieffort.data.delimited.carefully import read_carefully
from equieffort.data.regular import open_regular, read_regular
from equieffort.data.text_columns import TextColumn

LOOKED_AT = 1 << 16


@dataclass(frozen=True)
class Delimited:
    """How a text file is written."""

    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    id: str | None = None
    """The column that names people: its cells are text."""
    spelled: frozenset[str] = frozenset()
    """Columns in which true and false stay words."""


def read_delimited(path: Path, how: Delimited, most: int) -> tuple[pd.DataFrame, Callable[[], list[int]]]:
    """The table, and what finds the line on which each of its rows starts."""

    def carefully() -> tuple[list[str], list[list[str]], list[int]]:
        return read_carefully(read_regular(path, most), path.name, how.encoding, how.delimiter)

    columns = _columns(path, how, most)
    if columns is None:
        header, found, _ = carefully()
        columns = {name: TextColumn(how.decimal, text=name == how.id) for name in header}
        for column, cells in zip(columns.values(), zip(*found, strict=True), strict=True):
            rows.add_cells(column, cells)
    for name in how.spelled & set(columns):
        columns[name].may_be_flags = False
    frame = pd.DataFrame({name: column.series() for name, column in columns.items()}, copy=False)
    return frame, lambda: carefully()[2]


def _columns(path: Path, how: Delimited, most: int) -> dict[str, TextColumn] | None:
    """The columns by the fastest reader that has no doubts."""
    readers = [arrow.read, rows.read] if arrow.is_there() else [rows.read]
    text = {how.id} - {None}
    for read in readers:
        # Once more, if cells were taken for amounts before the column turned out to be text.
        for _ in range(2):
            try:
                with open_regular(path, most) as file:
                    make = partial(TextColumn, how.decimal, expected=_expected_rows(file))
                    columns = read(utf8_blocks(file, how.encoding, most), how, make, frozenset(text))
            except Doubtful:
                break
            lost = {name for name, column in columns.items() if column.is_lost}
            if not lost:
                return columns
            text |= lost
    return None


def _expected_rows(file: IO[bytes]) -> int:
    """About how many rows there are, judged by how long the first are; a little more."""
    some = file.read(LOOKED_AT)
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    return int(1.05 * some.count(b"\n") / max(len(some), 1) * size) + 10
