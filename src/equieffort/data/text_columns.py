"""Columns of a text file as they are read, part by part: words are looked at once, plain numbers all together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.cells import EXACT, FLAGS, are_flags, are_telephones, plain_numbers, values_of

TEXT = pd.Series(["text"]).dtype
"""What pandas takes for text, which differs between its versions."""


class TextColumn:
    """A column whose cells become whole numbers, or numbers, or flags, or else text; an empty cell is missing.

    >>> column = TextColumn()
    >>> column.add_words(np.array([0, 1, 0]), ["1 000", ""])
    >>> column.add_numbers(np.array([7, 8]))
    >>> column.series().tolist()
    [1000, <NA>, 1000, 7, 8]
    """

    def __init__(self, decimal: str = ".", *, text: bool = False, expected: int = 0) -> None:
        self.decimal = decimal
        self.is_text = text
        """Whether some cell is not certainly a number, or none may be taken for one."""
        self.may_be_flags = not text
        """Whether true and false, and nothing else, become truth values."""
        self._parts: list[tuple[str, int]] = []
        """What came after what, and how many cells: "codes" of words, "amounts" or "texts"."""
        self._amounts, self._where = _Growing(np.int64, expected), _Growing(np.int32, expected)
        self._texts: list[pd.Series[Any]] = []
        self._codes: dict[str, int] = {}
        self._plain: list[str] = []

    @property
    def is_lost(self) -> bool:
        """Whether cells that were read as amounts turn out to be text: how they were written is not known any more."""
        return self.is_text and self._amounts.n > 0

    def add_numbers(self, values: npt.NDArray[Any]) -> None:
        """Amounts written plainly: all as whole numbers up to 2**53, or not all; missing ones are NaN."""
        if values.dtype.kind == "f" and self._amounts.dtype.kind == "i":
            self._amounts.become(np.float64)
        self._amounts.add(values)
        self._parts.append(("amounts", len(values)))

    def add_words(self, codes: npt.NDArray[Any], words: Sequence[str]) -> None:
        """Cells as codes of different words."""
        known = self._codes
        new = [word for word in words if word not in known]
        for word in new:
            known[word] = len(known)
        if not self.is_text:
            plain = plain_numbers(new, self.decimal)
            self.is_text = plain is None
            self._plain += plain or []
        where = np.fromiter((known[word] for word in words), dtype=np.int32, count=len(words))
        self._where.add(where[codes])
        self._parts.append(("codes", len(codes)))

    def add_texts(self, texts: npt.NDArray[np.object_]) -> None:
        """Cells of a column of text as they are; empty ones are None."""
        self._texts.append(pd.Series(texts, dtype=TEXT))
        self._parts.append(("texts", len(texts)))

    def series(self) -> pd.Series[Any]:
        """The whole column; what it is made of is let go."""
        amounts, where, words, texts = self._amounts.taken(), self._where.taken(), list(self._codes), self._texts
        self._codes, self._texts = {}, []
        if not self.is_text and (len(amounts) or not are_telephones(words)):
            values = values_of(self._plain, whole=amounts.dtype.kind == "i")
            both = {"codes": values[where], "amounts": amounts}
            return _whole(self._merged(both) if len(where) else amounts)
        text = self._as_text(where, words, texts)
        if self.may_be_flags and are_flags(words) and (not texts or are_flags(text.dropna().unique())):
            # As Parquet has them: an empty cell among flags makes objects of them.
            flags = text.map({word: FLAGS[word.lower()] for word in text.dropna().unique()})
            return flags.astype(bool) if text.notna().all() else flags.astype(object).where(text.notna(), None)
        return text

    def _as_text(
        self, where: npt.NDArray[np.int32], words: Sequence[str], texts: Sequence[pd.Series[Any]]
    ) -> pd.Series[Any]:
        """The cells as they are written; empty ones are missing."""
        named = pd.Series([word or None for word in words], dtype=TEXT).array
        if not texts:
            return pd.Series(named.take(where), copy=False)
        begins = iter(np.cumsum([0, *(n for kind, n in self._parts if kind == "codes")]).tolist())
        several = iter(texts)
        made = [
            next(several) if kind == "texts" else pd.Series(named.take(where[(begin := next(begins)) : begin + n]))
            for kind, n in self._parts
        ]
        return pd.concat(made, ignore_index=True)

    def _merged(self, values: dict[str, npt.NDArray[Any]]) -> npt.NDArray[Any]:
        """Values by kind in the order in which they came."""
        if not len(values["amounts"]):
            return values["codes"]
        is_amount = np.repeat([kind == "amounts" for kind, _ in self._parts], [n for _, n in self._parts])
        found = np.empty(len(is_amount), dtype=np.result_type(*values.values()))
        found[is_amount], found[~is_amount] = values["amounts"], values["codes"]
        return found


class _Growing:
    """An array with room for what is expected, which takes no memory until it is written to.

    Parts of many columns joined at the end would take twice the memory, and arrays left behind would leave gaps in it.
    """

    def __init__(self, dtype: npt.DTypeLike, expected: int) -> None:
        self.dtype, self.expected, self.n = np.dtype(dtype), expected, 0
        self.values: npt.NDArray[Any] = np.empty(0, dtype=dtype)

    def add(self, part: npt.NDArray[Any]) -> None:
        """Put something behind."""
        end = self.n + len(part)
        if end > len(self.values):
            room = np.empty(max(2 * end, self.expected) if self.n else max(end, self.expected), dtype=self.dtype)
            room[: self.n] = self.values[: self.n]
            self.values = room
        self.values[self.n : end] = part
        self.n = end

    def become(self, dtype: npt.DTypeLike) -> None:
        """Hold another type from now on."""
        self.dtype = np.dtype(dtype)
        room = np.empty(len(self.values), dtype=dtype)
        room[: self.n] = self.values[: self.n]
        self.values = room

    def taken(self) -> npt.NDArray[Any]:
        """What is there; nothing is left."""
        values, self.values = self.values[: self.n], self.values[:0]
        return values


def _whole(values: npt.NDArray[Any]) -> pd.Series[Any]:
    """Numbers as a column: whole ones beside empty cells, which pandas writes as 5.0, stay whole."""
    gone = np.isnan(values) if values.dtype.kind == "f" else np.zeros(0, dtype=bool)
    known = values[~gone] if gone.any() else values[:0]
    if not len(known) or not are_exact(known) or (known != np.rint(known)).any():
        return pd.Series(values, copy=False)
    return pd.Series(pd.arrays.IntegerArray(np.where(gone, 0, values).astype(np.int64), gone), copy=False)


def are_exact(values: npt.NDArray[Any]) -> bool:
    """Whether whole numbers among these are told apart, however they were written."""
    return not len(values) or bool(np.nanmax(np.abs(values), initial=0) <= EXACT)
