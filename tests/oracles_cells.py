"""Text files read cell by cell, as simply as possible: what the fast readers are compared with."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

SPACES = " \t\u00a0\u2000-\u200a\u202f\u205f\u3000\ufeff"
AROUND = " \t\u00a0\u2007\u2009\u202f\ufeff"
MINUS = "\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d"


def parse_cells(cells: Sequence[str], decimal: str = ".", text: bool = False) -> pd.Series:
    """One column as whole numbers, or numbers, or flags, or else text; an empty cell is missing."""
    plain = [plainly(cell, decimal) if cell else "" for cell in cells]
    filled = [cell for cell in cells if cell]
    telephones = bool(filled) and all(re.fullmatch(r"\+[0-9]{8,}", cell) for cell in filled)
    if not text and filled and {cell.lower() for cell in filled} <= {"true", "false"}:
        flags = [None if not cell else cell.lower() == "true" for cell in cells]
        return pd.Series(flags, dtype=object if None in flags else bool)
    if text or telephones or None in plain:
        return pd.Series([cell or None for cell in cells])
    whole = [re.fullmatch(r"[-+]?[0-9]+", word or "") is not None for word in plain]
    if any(len(word) > 40 or abs(int(word)) > 2**53 for word, is_whole in zip(plain, whole, strict=True) if is_whole):
        return pd.Series([cell or None for cell in cells])
    if all(whole):
        return pd.Series([int(word) for word in plain], dtype="int64")
    values = [float(word or "nan") for word in plain]
    known = [value for value in values if value == value]
    if 0 < len(known) < len(values) and all(abs(value) <= 2**53 and value == int(value) for value in known):
        return pd.Series([None if value != value else int(value) for value in values], dtype="Int64")
    return pd.Series(values)


def plainly(cell: str, decimal: str) -> Any:
    """A number as Python writes it; None if it is not certainly one."""
    bare = cell.strip(AROUND)
    if bare[:1] and bare[:1] in MINUS:
        bare = "-" + bare[1:]
    if bare[:1] == "\uff0b":
        bare = "+" + bare[1:]
    mark, apart = re.escape(decimal), f"[{SPACES}'\u2019]"
    thousands = "|".join(rf"[1-9][0-9]{{0,2}}(?:{one}[0-9]{{3}})+" for one in sorted(set(re.findall(apart, bare))))
    digits = rf"(?:0|[1-9][0-9]*{'|' + thousands if thousands else ''})"
    if not re.fullmatch(rf"[-+]?(?:(?:{digits}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?|inf)", bare):
        return None
    return re.sub(apart, "", bare).replace(decimal, ".")


def read_text(text: str, delimiter: str = ",", decimal: str = ".", text_column: str | None = None) -> pd.DataFrame:
    """A whole table, which must be well formed."""
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    header, people = rows[0], rows[1:]
    assert people
    assert {len(row) for row in people} == {len(header)}
    columns = zip(header, zip(*people, strict=True), strict=True)
    return pd.DataFrame({name: parse_cells(cells, decimal, name == text_column) for name, cells in columns})
