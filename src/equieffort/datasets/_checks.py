"""What the arguments of all data sets have in common."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from equieffort.errors import ParameterError, closest, listed
from equieffort.foundations.arguments import refused

MOST_PEOPLE = 100_000_000
"""So many people may be drawn: more do not fit into memory."""


def choose_columns(
    columns: str | Sequence[str], known: list[str], named: Mapping[str, Sequence[str]], data: str
) -> list[str]:
    """The names that `columns` stands for: "all", one of the `named` choices, or a sequence of names."""
    choices = ["all", *named]
    if isinstance(columns, str):
        if columns in choices:
            return list(named.get(columns, known))
        # A single column name is the likeliest slip, and iterating over its letters would hide it.
        told = ", ".join(f'"{choice}"' for choice in choices)
        hint = f"{closest(columns, choices)} Use {told} or names.".strip()
        raise _not_columns(columns, choices, f"Pass a list: [{columns!r}]." if columns in known else hint)
    try:
        names = list(columns)
    except TypeError:
        told = ", ".join(f'"{choice}"' for choice in choices)
        raise _not_columns(columns, choices, f"Use {told} or a list of names.") from None
    for name in names:
        if name not in known:
            raise ParameterError(
                "PARAMETER",
                f"columns names {name!r}, which {data} do not have.",
                fix=closest(name, known) or f"Choose among {listed(known, most=len(known))}.",
            )
    repeated = [name for name in known if names.count(name) > 1]
    if repeated:
        raise ParameterError(
            "PARAMETER", f"columns names {listed(repeated)} more than once.", fix="Name each column once."
        )
    return names


def _not_columns(columns: Any, choices: list[str], fix: str) -> ParameterError:
    told = " nor ".join(repr(choice) for choice in choices)
    return ParameterError(
        "PARAMETER", f"columns is {columns!r}, which is neither {told} nor a sequence of names.", fix=fix
    )


def one_of(name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse a value that is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(
            "PARAMETER",
            f"{name} is {value!r}, which is none of its choices. {closest(value, choices)}".rstrip(),
            fix=f"Use {' or '.join(repr(choice) for choice in choices)}.",
        )


def count(n: Any) -> int:
    """A number of people, at least 1."""
    try:
        found = operator.index(n)
    except TypeError:
        found = 0
    if not 1 <= found <= MOST_PEOPLE:
        takes = f"a whole number from 1 to {MOST_PEOPLE:,}"
        raise refused("n", n, takes, fix=f"Ask for 1 to {MOST_PEOPLE:,} people.")
    return found


def generator(random_state: Any) -> np.random.Generator:
    """A random generator from a seed, a generator or None."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ParameterError(
            "PARAMETER",
            f"random_state is {random_state!r}, which cannot seed a random generator.",
            fix="Pass a whole number of at least 0, a numpy Generator, or None.",
        ) from None
