"""Whom a group is compared with, where that is no single group: everybody else, or each other group in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

EVERYBODY_ELSE = "everybody else"
"""What the other side of a comparison with `Rest` is called."""


@dataclass(frozen=True)
class Rest:
    """Each group against everybody else: the people of all other groups together, as one group.

    >>> Rest.from_dict(Rest().to_dict())
    Rest()
    """

    def to_dict(self) -> dict[str, bool]:
        """As a spec writes it."""
        return {"rest": True}

    @classmethod
    def from_dict(cls, saved: Any) -> Rest:
        """From the saved form."""
        return _same(cls(), saved)


@dataclass(frozen=True)
class AllPairs:
    """Every pair of groups once: protected groups first, in the order in which they were declared, then the others.

    Of two groups the one that comes first in that order is `group`, the other `against`. A pair is judged if it holds
    a protected group; where every group is declared protected, every pair is.

    >>> AllPairs().to_dict()
    {'all_pairs': True}
    """

    def to_dict(self) -> dict[str, bool]:
        """As a spec writes it."""
        return {"all_pairs": True}

    @classmethod
    def from_dict(cls, saved: Any) -> AllPairs:
        """From the saved form."""
        return _same(cls(), saved)


Opponents = Rest | AllPairs
OPPONENTS: tuple[Opponents, ...] = (Rest(), AllPairs())


def read_reference(saved: Any) -> Any:
    """The reference of a saved schema: a value, several of them, or `Rest` or `AllPairs`."""
    return next((one for one in OPPONENTS if isinstance(saved, dict) and saved == one.to_dict()), saved)


def _same(value: Any, saved: Any) -> Any:
    # 1 equals True, and is not what was written.
    if not isinstance(saved, dict) or saved != value.to_dict() or not all(one is True for one in saved.values()):
        raise ValueError("'reference' does not hold what it should")
    return value
