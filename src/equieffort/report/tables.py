"""Tables of text: what a reader sees of them, without columns that say the same in every row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from equieffort.report.words import Cell, Phrase, Words, joined, plain

LONG, SMALL, BRIEF = 40, 14, 20
NARROW, HALF = 4, 58
"""Columns that a phone shows at once, and letters that half of a page does."""


@dataclass(frozen=True)
class Table:
    """What is behind a picture, as text."""

    caption: Cell
    head: tuple[Cell, ...]
    rows: list[list[Cell]]
    words: frozenset[int] = field(default_factory=frozenset)
    """Columns of text; the first column always is, the others hold numbers."""

    is_whole: bool = False
    """Whether columns are kept although they say the same in every row: those of groups, for instance."""
    merged: bool = False
    """Whether rows that differ in the first cell alone are shown as one."""

    def shown(self) -> Table:
        """As a reader sees it: what is the same in every row is said once below, equal rows are one with a count.

        >>> table = Table("t", ("a", "b", "c"), [["x", "1", "0"], ["y", "1", "2"]], frozenset({1}))
        >>> table.shown().head, table.shown().rows, plain(table.shown().same)
        (('a', 'c'), [['x', '0'], ['y', '2']], 'In every row: b 1.')
        """
        rows = _merged(self.rows) if self.merged else self.rows
        texts = [[plain(cell) for cell in row] for row in rows]
        same = [k for k in range(len(self.head)) if len({row[k] for row in texts}) == 1]
        same = [] if self.is_whole or len(rows) < 2 or len(same) > len(self.head) - 2 else same
        keep = [k for k in range(len(self.head)) if k not in same]
        words = joined((joined((self.head[k], rows[0][k]), " ") for k in same if texts[0][k]), "; ")
        return replace(
            self,
            head=tuple(self.head[k] for k in keep),
            rows=[[row[k] for k in keep] for row in rows],
            words=frozenset(keep.index(k) for k in self.words if k in keep),
            same=("In every row: ", *words, ".") if words else (),
        )

    same: Words = ()
    """What holds for every row, in words."""
    foot: tuple[Words, ...] = ()
    """Remarks on some of the rows, which a column would hardly fill; each begins with its mark."""

    @cached_property
    def long(self) -> frozenset[int]:
        """Columns of sentences, which need room."""
        texts = [k for k in range(len(self.head)) if k == 0 or k in self.words]
        return frozenset(k for k in texts if any(len(plain(row[k])) > LONG for row in self.rows))

    @cached_property
    def brief(self) -> frozenset[int]:
        """Columns of short texts, which need not be broken."""
        texts = [k for k in range(len(self.head)) if k == 0 or k in self.words]
        return frozenset(k for k in texts if all(len(plain(row[k])) <= BRIEF for row in self.rows))

    @property
    def is_wide(self) -> bool:
        """Whether a narrow screen cannot show all columns at once."""
        return len(self.head) > NARROW or bool(self.long)

    @property
    def is_broad(self) -> bool:
        """Whether half of a page is too narrow for it."""
        texts = [[*plain(head).split(), *(plain(row[k]) for row in self.rows)] for k, head in enumerate(self.head)]
        return sum(max(len(text) for text in column or [""]) + 2 for column in texts) > HALF

    @property
    def is_small(self) -> bool:
        """Whether it fits on a printed page."""
        return len(self.rows) <= SMALL and not self.long


def _merged(rows: list[list[Cell]]) -> list[list[Cell]]:
    """Rows that differ in their first cell alone, as one that lists these."""
    found: dict[tuple[str, ...], list[list[Cell]]] = {}
    for row in rows:
        found.setdefault(tuple(plain(cell) for cell in row[1:]), []).append(row)
    merged: list[list[Cell]] = []
    for alike in found.values():
        firsts = (*joined(row[0] for row in alike), f" ({len(alike)})")
        merged.append([firsts if len(alike) > 1 else alike[0][0], *alike[0][1:]])
    return merged


def footed(rows: list[list[Cell]], remarks: Sequence[str]) -> tuple[list[list[Cell]], tuple[Words, ...]]:
    """Rows whose first cells bear the marks of their remarks, and each remark once with its mark.

    >>> rows, foot = footed([["a"], ["b"], ["c"]], ["Few people.", "", "Few people."])
    >>> [plain(row[0]) for row in rows], [plain(words) for words in foot]
    (['a [1]', 'b', 'c [1]'], ['[1] Few people.'])
    """
    marks = {text: f"[{k}]" for k, text in enumerate(dict.fromkeys(filter(None, remarks)), start=1)}
    marked: list[list[Cell]] = []
    for row, text in zip(rows, remarks, strict=True):
        marked.append([joined((row[0], marks[text]), " "), *row[1:]] if text else row)
    return marked, tuple((f"{mark} ", Phrase(text)) for text, mark in marks.items())
