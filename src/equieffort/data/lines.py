"""Rows of CSV put together column by column, by pyarrow where it is installed: the same bytes as Python's writer.

Python's writer turns one number after the other into text, which takes most of the time of a large table. pyarrow finds
the same shortest digits. What it writes in another way (whole numbers, very small and very large ones) is brought into
Python's form here.
"""

from __future__ import annotations

import csv
import importlib.util
import io
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LEAST, MOST = 1e-4, 1e10
"""Between them both write a number without an exponent."""
WHOLE = 1e15
"""Below it whole numbers are written as such, without an exponent."""
SPECIAL = re.compile('[",\r\n]')
"""What is put in quotes."""


class Different(NamedTuple):
    """The cells of a column by what differs in it; -1 is the last of the texts."""

    codes: npt.NDArray[np.intp]
    texts: list[Any]


Cells = list[Any] | npt.NDArray[Any] | Different
"""The cells of a column: as Python's writer takes them, numbers or flags (NaN is nothing), or few different ones."""


def as_list(cells: Cells) -> list[Any]:
    """Cells as Python's writer takes them.

    >>> as_list(np.array([1.5, np.nan])), as_list(Different(np.array([0, -1, 0]), ["a", None]))
    ([1.5, None], ['a', None, 'a'])
    """
    if isinstance(cells, Different):
        return np.array(cells.texts, dtype=object)[cells.codes].tolist()
    if isinstance(cells, list):
        return cells
    found = cells.tolist()
    if cells.dtype.kind == "f":
        for row in np.flatnonzero(np.isnan(cells)).tolist():
            found[row] = None
    return found


def joined(columns: Sequence[Cells]) -> str | None:
    r"""The rows, each with its end; None where pyarrow is not installed, or a cell is neither number nor text.

    >>> joined([np.array([1.0, np.nan]), Different(np.array([0, 1]), ["a,b", "c"])]) in (None, '1.0,"a,b"\r\n,c\r\n')
    True
    """
    # A single empty cell is written in quotes.
    if len(columns) < 2 or importlib.util.find_spec("pyarrow") is None:
        return None
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = []
    for cells in columns:
        if (column := _texts(cells)) is None:
            return None
        texts.append(column)
    lines = pc.binary_join_element_wise(*texts, ",")
    lines = pc.binary_join_element_wise(lines, pa.scalar(""), "\r\n")
    if not len(lines):
        return ""
    ends, content = np.frombuffer(lines.buffers()[1], dtype=np.int32), lines.buffers()[2]
    first, last = int(ends[lines.offset]), int(ends[lines.offset + len(lines)])
    return content.slice(first, last - first).to_pybytes().decode()


def _texts(cells: Cells) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(cells, Different):
        texts = _quoted(cells.texts)
        codes = np.where(cells.codes < 0, len(cells.texts) - 1, cells.codes)
        return None if texts is None else texts.take(pa.array(codes))
    if isinstance(cells, list):
        return _quoted(cells)
    if cells.dtype.kind == "f":
        return _of_floats(cells.astype(np.float64))
    values = pa.array(cells)
    return pc.if_else(values, "True", "False") if cells.dtype.kind == "b" else pc.cast(values, pa.string())


def _quoted(cells: list[Any]) -> Any:
    """Texts as Python's writer puts them; None where one is none."""
    import pyarrow as pa

    found = []
    for cell in cells:
        if not (cell is None or type(cell) is str):
            return None
        if cell and SPECIAL.search(cell):
            buffer = io.StringIO(newline="")
            csv.writer(buffer, lineterminator="\r\n").writerow([cell, None])
            cell = buffer.getvalue()[: -len(",\r\n")]
        found.append(cell or "")
    try:
        return pa.array(found, pa.string())
    except UnicodeEncodeError:
        # Half a character: whoever writes the file says so.
        return None


def _of_floats(values: npt.NDArray[np.float64]) -> Any:
    """Numbers as `repr` has them; nothing for NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    gone = np.isnan(values)
    known = values[~gone]
    with np.errstate(invalid="ignore"):
        size = np.abs(known)
        is_whole = (known == np.rint(known)) & (size < WHOLE)
        is_odd = ~is_whole & ~((size >= LEAST) & (size < MOST))
    texts = pc.cast(pa.array(known), pa.string())
    if is_whole.any():
        whole = pc.cast(pa.array(np.where(is_whole, known, 0.0).astype(np.int64)), pa.string())
        texts = pc.if_else(pa.array(is_whole), pc.binary_join_element_wise(whole, pa.scalar("0"), "."), texts)
        is_odd |= is_whole & (known == 0) & np.signbit(known)
    if is_odd.any():
        texts = pc.replace_with_mask(texts, pa.array(is_odd), pa.array(list(map(repr, known[is_odd].tolist()))))
    if not gone.any():
        return texts
    place = np.cumsum(~gone) - 1
    return pc.fill_null(texts.take(pa.array(place, mask=gone)), "")
