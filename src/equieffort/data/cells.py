"""Numbers as people write them in tables: which are certain, and which only look like numbers.

Certain are 5, -0.5, +5, 1e5, 5., .5, a typographic minus, and thousands apart by spaces or apostrophes (1 000, 1'000).
Not certain are "1,000" (one or a thousand?), "12 %" (12 or 0.12?), "$5", "(5)" and "5 kg": they stay text, and
`number_like` finds them, so that a column of them never becomes a category unnoticed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import listed

EXACT = 2**53
"""Whole numbers beyond this cannot all be told apart as floating-point numbers."""
MOSTLY = 0.9
"""A column of which so many cells are numbers was probably meant to hold numbers."""
MOST_UNITS = 12
"""Up to so many values of a number and a word ("2 rooms") are taken for names of levels."""

# All that look like a space, and what may stand between thousands.
_SPACE = " \t\u00a0\u2000-\u200a\u202f\u205f\u3000\ufeff"
_APART = f"{_SPACE}'\u2019"
_SIGNS = dict.fromkeys(map(ord, "\u2212\u2010\u2011\u2012\u2013\ufe63\uff0d"), "-") | {0xFF0B: "+"}
"""What is set for a minus in typography, and the wide plus."""
_TELEPHONE = re.compile(r"\+[0-9]{8,}")
_WHOLE = re.compile(r"[-+]?[0-9]+")


def plain_numbers(words: Sequence[str], decimal: str = ".") -> list[str] | None:
    """The words as Python writes numbers, empty ones as they are; None if one of them is not certainly a number.

    >>> plain_numbers(["+5", "", "1 000"]), plain_numbers(["5", "12 %"]), plain_numbers(["9007199254740993"])
    (['+5', '', '1000'], None, None)
    """
    pattern, found = _number(decimal), []
    for word in words:
        plain = _plain(word, pattern, decimal) if word else ""
        # Many digits are cut before they are counted: a number of a million digits takes long to read.
        if plain is None or (_WHOLE.fullmatch(plain) and (len(plain) > 40 or abs(int(plain)) > EXACT)):
            return None
        found.append(plain)
    return found


def values_of(plain: Sequence[str], *, whole: bool = True) -> np.ndarray[Any, Any]:
    """What `plain_numbers` gave as whole numbers, or else, or if not `whole`, as numbers, NaN where they are empty.

    >>> values_of(["5", "-2"]), values_of(["5", ""])
    (array([ 5, -2]), array([ 5., nan]))
    """
    if whole and all(map(_WHOLE.fullmatch, plain)):
        return np.array([int(word) for word in plain], dtype=np.int64)
    return np.array([float(word or "nan") for word in plain])


FLAGS = {"true": True, "false": False}


def are_flags(words: Iterable[str]) -> bool:
    """Whether all words are true or false in any case, as pandas writes them; some may be empty.

    >>> are_flags(["True", "FALSE", ""]), are_flags(["true", "yes"]), are_flags([""])
    (True, False, False)
    """
    filled = [word for word in words if word]
    return bool(filled) and all(len(word) <= 5 and word.lower() in FLAGS for word in filled)


def are_telephones(words: Iterable[str]) -> bool:
    """Whether all words are telephone numbers, which are names.

    >>> are_telephones(["+442071234567", ""]), are_telephones(["+5"]), are_telephones([""])
    (True, False, False)
    """
    filled = [word for word in words if word]
    return bool(filled) and all(map(_TELEPHONE.fullmatch, filled))


@cache
def _number(decimal: str) -> re.Pattern[str]:
    """Numbers without leading zeros, which belong to names such as postcodes."""
    mark = re.escape(decimal)
    digits = rf"(?:0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:(?P<apart>[{_APART}])[0-9]{{3}})(?:(?P=apart)[0-9]{{3}})*)"
    return re.compile(rf"[-+]?(?:(?:{digits}(?:{mark}[0-9]*)?|{mark}[0-9]+)(?:[eE][-+]?[0-9]+)?|inf)")


def _plain(word: str, pattern: re.Pattern[str], decimal: str) -> str | None:
    """A number as Python writes it; None if it is not certainly one."""
    bare = word.strip(_STRIPPED)
    bare = bare[:1].translate(_SIGNS) + bare[1:]
    if not pattern.fullmatch(bare):
        return None
    return _GROUPS.sub("", bare).replace(decimal, ".")


_STRIPPED = " \t\u00a0\u2007\u2009\u202f\ufeff"
_GROUPS = re.compile(f"[{_APART}]")
_CURRENCIES = "$\u20ac\u00a3\u00a5\u20b9\u20bd\u20a9\u20ba\u20aa\u0e3f\u20ab\u20b4\u00a2"
_SIGN = "[-+\u2212\u2010-\u2013\ufe63\uff0d\uff0b]?"
_AMOUNT = rf"(?:(?:0|[1-9][0-9]*)(?:[.,{_APART}_][0-9]*)*|[.,][0-9]+)(?:[eE][-+]?[0-9]+)?"
_MARK = rf"(?:[{_CURRENCIES}%\u2030\u00b0]|[A-Z]{{2,3}}\$?|[A-Z]\$)"
_LIKE = re.compile(
    rf"[{_SPACE}]*\(?{_SIGN}[{_SPACE}]*(?:{_MARK}[{_SPACE}]*)?{_SIGN}{_AMOUNT}[{_SPACE}]*{_MARK}?\)?[{_SPACE}]*"
)
_WITH_UNIT = re.compile(rf"{_LIKE.pattern}[^\W\d_]{{1,6}}\.?[{_SPACE}]*")


def numbers_in(column: pd.Series) -> tuple[int, list[Any]]:
    """How many cells of a column of text look like numbers, and what the others hold.

    >>> numbers_in(pd.Series(["7", "n/a", "12 %", "$0.5", None, "01069"]))
    (3, ['n/a', '01069'])
    """
    codes, found = pd.factorize(column)
    looks = [bool(_LIKE.fullmatch(str(value)[:100])) for value in found]
    if len(found) > MOST_UNITS and not any(looks):
        looks = [bool(_WITH_UNIT.fullmatch(str(value)[:100])) for value in found]
    is_number = np.array(looks, dtype=bool)
    counts = np.bincount(codes[codes >= 0], minlength=len(found))
    return int(counts[is_number].sum()), [value for value, good in zip(found, is_number, strict=True) if not good]


def number_like(column: pd.Series) -> str:
    """In words why a column of text was probably meant to hold numbers; empty if it was not.

    >>> number_like(pd.Series(["12 %", "5 %", "7 %"]))
    "holds text, although 3 of 3 cells look like numbers, such as '12 %'"
    """
    if column.nunique() <= 2:
        return ""
    n, others = numbers_in(column)
    filled = int(column.notna().sum())
    # Where many different numbers stand beside many words, a category is no better guess.
    many_numbers = 2 * n > filled and column.nunique() - len(others) > MOST_UNITS
    if not n or (n < MOSTLY * filled and not many_numbers):
        return ""
    said = f"holds text, although {n:,} of {filled:,} cells look like numbers"
    if others:
        return f"{said}; not {listed(others, 3)}"
    # What a number could be read from shows less than what could not.
    found = [str(value) for value in column.dropna().unique()]
    return f"{said}, such as {next((word for word in found if not _reads(word)), found[0])!r}"


def _reads(word: str) -> bool:
    return _plain(word, _number("."), ".") is not None


def has_commas(column: pd.Series) -> bool:
    """Whether text looks like numbers with decimal commas, which groups of three digits could not be.

    >>> has_commas(pd.Series(["22,7", "3,125"])), has_commas(pd.Series(["1,000", "20,500"]))
    (True, False)
    """
    words = [str(value).strip() for value in column.dropna().unique()]
    commas = [word for word in words if re.fullmatch(r"-?[0-9]+,[0-9]+", word)]
    others = [word for word in words if not re.fullmatch(r"-?[0-9]+(,[0-9]+)?", word)]
    return len(others) <= (1 - MOSTLY) * len(words) and any(not re.search(r",[0-9]{3}$", word) for word in commas)
