"""Words, numbers and tables of a report: names kept apart from our own text, and small counts kept back.

>>> say("{} of {}", 3, Name("ash"))
('3', ' of ', 'ash')
>>> plain(say("{} has {}", Name("ash"), count(1200)))
'ash has 1,200'
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite, isinf, isnan, nan

from equieffort.data.frames import number, percent
from equieffort.effort.stats import EffortStats
from equieffort.errors import ParameterError
from equieffort.recourse.solvers import Status

HIDDEN = "hidden"
MISSING = "–"


class Name(str):
    """A name that came with the data; the page isolates it, so that it cannot turn the text around it."""

    __slots__ = ()


class Phrase(str):
    """A text that was put together elsewhere and may hold names; written from left to right."""

    __slots__ = ()


class Link(str):
    """Words that lead to a section of the page."""

    def __new__(cls, text: str, to: str) -> Link:
        """The words, and the name of the section."""
        made = super().__new__(cls, text)
        made.to = to
        return made

    to: str


class Aside(str):
    """Words that a screen shows and a printed page leaves out."""

    __slots__ = ()


Words = tuple[str, ...]
"""Pieces of a sentence; those that are a `Name` or a `Phrase` hold what came with the data."""
Cell = str | Words


def say(text: str, *parts: object) -> Words:
    """A sentence with `{}` where the parts go."""
    pieces = text.split("{}")
    if len(pieces) != len(parts) + 1:
        raise ValueError(f"{len(parts)} parts for {len(pieces) - 1} places")
    found: list[str] = [pieces[0]]
    for part, piece in zip(parts, pieces[1:], strict=True):
        found += [*(part if isinstance(part, tuple) else [part if isinstance(part, str) else str(part)]), piece]
    return tuple(piece for piece in found if piece)


def joined(cells: Iterable[Cell], between: str = ", ") -> Words:
    """Words one after the other with something between them.

    >>> joined([("a", "b"), "c"], " or ")
    ('a', 'b', ' or ', 'c')
    """
    found: Words = ()
    for k, cell in enumerate(cells):
        found += (*((between,) if k else ()), *((cell,) if isinstance(cell, str) else cell))
    return found


def plain(words: Cell) -> str:
    """The sentence as one text."""
    return str(words) if isinstance(words, str) else "".join(words)


def name_list(names: Iterable[str]) -> Words:
    """Names with commas between them."""
    return joined(map(Name, names))


def ratio(value: float) -> str:
    """A ratio to three digits; what is not defined says so.

    >>> ratio(1.23456), ratio(0.0123456), ratio(float("nan")), ratio(float("inf"))
    ('1.23', '0.0123', '–', 'unlimited')
    """
    return _digits(value, 3)


def times(value: float) -> str:
    """A ratio of efforts as the verdict writes it.

    >>> times(1.23456), times(0.6), times(float("inf"))
    ('1.235', '0.6', 'unlimited')
    """
    if isnan(value):
        return MISSING
    return "unlimited" if isinf(value) else number(round(value, 3))


def effort(value: float) -> str:
    """An effort to four digits, so that a ratio can be worked out again.

    >>> effort(0.123456), effort(12345.6), effort(float("nan"))
    ('0.1235', '12,346', '–')
    """
    return _digits(value, 4)


def _digits(value: float, n: int) -> str:
    if isnan(value):
        return MISSING
    return "unlimited" if isinf(value) else f"{value:,.{n}g}" if abs(value) < 1000 else number(round(value))


def among(name: str) -> str:
    """A group as the people whom a number is about.

    >>> among("sex = female"), among("Black applicants")
    ('with sex = female', 'among Black applicants')
    """
    return f"with {name}" if " = " in name else f"among {name}"


def share(value: float) -> str:
    """A share in per cent.

    >>> share(0.8064), share(float("nan"))
    ('80.6 %', '–')
    """
    return percent(value) if isfinite(value) else MISSING


def part(value: float) -> str:
    """A share that somebody chose, with no more digits than needed.

    >>> part(0.2), part(0.125)
    ('20 %', '12.5 %')
    """
    return f"{value * 100:.4g} %"


def rate(part: int, whole: int) -> float:
    """The share, NaN of nobody."""
    return part / whole if whole else nan


def count(value: int) -> str:
    """A count with commas."""
    return f"{value:,}"


def is_turned(name: str) -> bool:
    """Whether a name holds letters written from right to left.

    >>> is_turned("age"), is_turned("גיל")
    (False, True)
    """
    return any(unicodedata.bidirectional(letter) in ("R", "AL") for letter in name)


_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def clean(text: str) -> str:
    """Without what no text file may hold: control characters and halves of characters."""
    return _UNWRITABLE.sub("\ufffd", text)


@dataclass(frozen=True)
class Seen:
    """What of a group's numbers may be shown."""

    rate: bool
    """How many were decided favourably."""
    parts: bool
    """How many have an action."""
    effort: bool
    """What it costs them on average."""


@dataclass(frozen=True)
class Guard:
    """Keeps back counts from 1 to k - 1, and what they could be worked out from; 0 keeps back nothing.

    >>> guard = Guard(5)
    >>> guard.count(3), guard.count(0), guard.count(12)
    ('<5', '0', '12')
    """

    k: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 0:
            raise ParameterError(
                "PARAMETER", f"suppress_below is {self.k!r}, which is no count.", fix="Give 0 or a whole number above."
            )

    @property
    def is_on(self) -> bool:
        """Whether anything can be kept back."""
        return self.k > 1

    def hides(self, *counts: int) -> bool:
        """Whether one of the counts is too small to be shown."""
        return any(0 < n < self.k for n in counts)

    def count(self, n: int, *, seen: bool = True) -> str:
        """The count, or that it is small, or (where others would give it away) nothing."""
        if self.hides(n):
            return f"<{self.k}"
        return count(n) if seen else HIDDEN

    def seen(self, stats: EffortStats, whole: EffortStats | None = None) -> Seen:
        """What may be shown of a group; `whole` is the group that a subgroup is cut from, whose rest must not show."""
        mine = _counts(stats)
        others = [all_of - n for all_of, n in zip(_counts(stats if whole is None else whole), mine, strict=True)]
        rate = not self.hides(*mine[:2], *others[:2])
        parts = rate and not self.hides(*mine[2:], *others[2:])
        return Seen(rate, parts, not self.hides(mine[2], others[2]))


def _counts(stats: EffortStats) -> list[int]:
    favourable = stats.count(Status.NOT_NEEDED)
    return [favourable, stats.n_unfavourable, stats.n_acting, stats.count(Status.INFEASIBLE), stats.n_unknown]


def kept(text: str, seen: bool) -> str:
    """The text, or that it is hidden."""
    return text if seen else HIDDEN
