"""Levels in an order and prices from level to level, as they are declared: read and checked before data is known.

>>> read_order(["none", "school", "degree"])
('none', 'school', 'degree')
>>> read_prices({"rent": {"own": 2.0}, "free": {"own": 3, "rent": 1}})
{('rent', 'own'): 2.0, ('free', 'own'): 3.0, ('free', 'rent'): 1.0}
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pandas as pd

from equieffort.errors import SchemaError, Setting, capital, closest, label, listed
from equieffort.foundations.arguments import as_plain, is_number, shown

_bad_levels = partial(SchemaError, "SCHEMA_LEVELS")

Level = Any


def is_level(value: Any) -> bool:
    """Whether a category could have it as a level: one value that is there."""
    return isinstance(value, Hashable) and not isinstance(value, tuple | type) and value is not None and value == value


def read_order(given: Any) -> tuple[Level, ...]:
    """The levels from the lowest to the highest, each once."""
    order = None if isinstance(given, str | bytes | Mapping | set) or not isinstance(given, Iterable) else tuple(given)
    if order is None or not all(map(is_level, order)):
        raise _bad_levels(
            f"order is {shown(given)}, not a list of levels.", fix=("As in ", Setting("order of levels"), ".")
        )
    if twice := [level for k, level in enumerate(order) if level in order[:k]]:
        raise _bad_levels(f"order names {label(twice[0])} twice.", fix="Name each level once.")
    if len(order) < 2:
        raise _bad_levels("order names fewer than two levels.", fix=("As in ", Setting("order of levels"), "."))
    return tuple(as_plain(level) for level in order)


def read_prices(given: Any) -> dict[tuple[Level, Level], float]:
    """What changes from one level to another cost: by pair (from, to), one mapping inside another, or a matrix.

    A matrix has a row for each level people have and a column for each they may take. Infinity is the price of what
    nobody can do.

    >>> read_prices(pd.DataFrame({"own": [2.0, 0.0], "rent": [0.0, None]}, index=["rent", "own"]))
    {('rent', 'own'): 2.0, ('own', 'rent'): inf}
    """
    if isinstance(given, pd.DataFrame):
        given = _of_matrix(given)
    if not isinstance(given, Mapping) or not given:
        raise _bad_levels(f"prices is {shown(given)}, not a table of prices.", fix=("As in ", Setting("prices"), "."))
    pairs: dict[Any, Any] = {}
    for start, said in given.items():
        if isinstance(said, Mapping):
            pairs |= {(start, end): price for end, price in said.items()}
        else:
            pairs[start] = said
    return {_pair(pair): _price(pair, price) for pair, price in pairs.items()}


def _of_matrix(table: pd.DataFrame) -> dict[tuple[Level, Level], Any]:
    """The prices off the diagonal, on which staying costs nothing; an empty cell is what nobody can do."""
    for names, what in ((table.index, "row"), (table.columns, "column")):
        if not names.is_unique:
            raise _bad_levels(
                f"prices has two {what}s named {label(names[names.duplicated()][0])}.", fix="Give each level one."
            )
    found: dict[tuple[Level, Level], Any] = {}
    for start in table.index:
        for end in table.columns:
            price = as_plain(table.at[start, end])
            free = price is None or price is pd.NA or price != price
            if start != end:
                found[as_plain(start), as_plain(end)] = math.inf if free else price
            elif not free and price != 0:
                raise _bad_levels(
                    f"prices has a price from {label(start)} to itself.", fix="Write 0 there, or leave the cell empty."
                )
    return found


def without_forbidden(
    prices: Mapping[tuple[Level, Level], float],
) -> tuple[dict[tuple[Level, Level], float], list[tuple[Level, Level]]]:
    """The finite prices, and the changes that nobody can make."""
    finite = {pair: price for pair, price in prices.items() if math.isfinite(price)}
    return finite, [pair for pair in prices if pair not in finite]


def _pair(pair: Any) -> tuple[Level, Level]:
    if not isinstance(pair, tuple) or len(pair) != 2 or not all(map(is_level, pair)):
        raise _bad_levels(
            f"prices has {shown(pair)}, not a pair (from, to) of levels.", fix=("As in ", Setting("prices"), ".")
        )
    if pair[0] == pair[1]:
        raise _bad_levels(
            f"prices has a price from {label(pair[0])} to itself.", fix="Leave it out: to stay as one is costs nothing."
        )
    return as_plain(pair[0]), as_plain(pair[1])


def _price(pair: tuple[Level, Level], price: Any) -> float:
    if not (is_number(price) and price > 0):
        raise SchemaError(
            "SCHEMA_WEIGHT",
            f"The price from {label(pair[0])} to {label(pair[1])} is {shown(price)}, not a positive number.",
            fix=(
                "Give a positive price, or infinity for a change that nobody can make; a rule says that too: ",
                Setting("forbid"),
                ".",
            ),
        )
    return float(price)


def are_truth_values(levels: Sequence[Level]) -> bool:
    """Whether these are false and true, whose order nobody has to declare."""
    return set(levels) == {False, True}


def check_order(name: str, order: Sequence[Level], levels: Sequence[Level]) -> None:
    """Refuse an order that lacks a level which people have or may be set to; it may name levels that nobody has."""
    if absent := [level for level in levels if level not in order]:
        near = closest(absent[0], [level for level in order if level not in levels])
        raise _bad_levels(
            f"The order of {name!r} lacks {listed(absent)}. {near}".rstrip(),
            fix=("Name all of its levels, from the lowest to the highest: ", Setting("order of levels"), "."),
        )


def check_known(what: str, asked: Iterable[Level], known: Sequence[Level]) -> None:
    """Refuse levels that the feature does not have."""
    if stray := [level for level in asked if level not in known]:
        raise _bad_levels(
            f"{capital(what)} names {label(stray[0])}, which is none of its levels. "
            f"{closest(stray[0], known)}".rstrip(),
            fix=f"The levels are {listed(known)}.",
        )
