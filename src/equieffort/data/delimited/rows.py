"""Text files by Python's own csv reader, many rows at a time."""

from __future__ import annotations

import csv
import gc
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from equieffort.data.delimited.blocks import BLOCK, Doubtful, Joined, split_header
from equieffort.data.text_columns import TextColumn, are_exact

if TYPE_CHECKING:
    from equieffort.data.delimited import Delimited

ROWS = 20_000
LOOKED_AT = 200
"""So many cells tell whether most of a column differ."""


def read(
    blocks: Iterator[bytes], how: Delimited, make: Callable[..., TextColumn], text: frozenset[str | None]
) -> dict[str, TextColumn]:
    """The columns; those named `text` hold no numbers."""
    header, rest = split_header(blocks, how.delimiter)
    columns = {name: make(text=name in text) for name in header}
    lines = io.TextIOWrapper(io.BufferedReader(Joined(rest), BLOCK), encoding="utf-8", newline="")
    reader = csv.reader(lines, delimiter=how.delimiter, strict=True)
    some, collects = False, gc.isenabled()
    # Many small lists live for a moment, and nothing in them refers to itself.
    gc.disable()
    try:
        while part := list(islice(filter(None, reader), ROWS)):
            for column, cells in zip(columns.values(), zip(*part, strict=True), strict=True):
                add_cells(column, cells)
            some = True
    except (csv.Error, ValueError) as error:
        raise Doubtful from error
    finally:
        if collects:
            gc.enable()
    if not some:
        raise Doubtful
    return columns


def add_cells(column: TextColumn, cells: Sequence[str]) -> None:
    """Add cells of a column: as amounts if most differ and all are plain numbers."""
    if not column.is_text and len(set(cells[:LOOKED_AT])) > LOOKED_AT // 2:
        values = _amounts(cells, column.decimal)
        if values is not None and are_exact(values):
            column.add_numbers(values)
            return
    codes, words = pd.factorize(np.array(cells, dtype=object))
    column.add_words(codes, words.tolist())


def _amounts(cells: Sequence[str], decimal: str) -> np.ndarray | None:
    whole, number = _patterns(decimal)
    if all(map(whole.fullmatch, cells)):
        return np.array(list(map(int, cells)), dtype=np.int64)
    filled = cells if all(cells) else [cell or "nan" for cell in cells]
    if not all(map(number.fullmatch, filled)):
        return None
    plain = filled if decimal == "." else [cell.replace(decimal, ".") for cell in filled]
    return np.array(list(map(float, plain)))


@cache
def _patterns(decimal: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Whole numbers, and numbers: what needs no second look."""
    mark = re.escape(decimal)
    return (
        re.compile("0|-?[1-9][0-9]{0,15}"),
        re.compile(rf"nan|0|-?[1-9][0-9]{{0,15}}|-?(?:0|[1-9][0-9]*){mark}[0-9]*(?:[eE][-+]?[0-9]+)?"),
    )
