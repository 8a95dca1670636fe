"""What changing a category costs, from each level to each other: its weight, by steps of an order, or by a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Column, Floats
from equieffort.recourse.limits import limits
from equieffort.world.schema import Feature


@dataclass(frozen=True, eq=False)
class LevelPrices:
    """The prices of one category, by the codes of its levels."""

    count: int
    """How many levels there are."""
    weight: float
    """What any change costs, where there is no table."""
    table: Floats | None = None
    """(from, to): 0 on the diagonal, infinite where a direction or limit does not allow the change."""

    @classmethod
    def of(cls, feature: Feature, levels: Sequence[Any]) -> LevelPrices:
        """From what was declared, for levels in the order of their codes.

        >>> prices = LevelPrices.of(Feature("actionable", order=["a", "b", "c"], steps=True, direction="up"), "cab")
        >>> prices.table  # from and to c, a, b
        array([[0. , inf, inf],
               [1. , 0. , 0.5],
               [0.5, inf, 0. ]])
        """
        up, down = feature.weights
        if not feature.needs_order and feature.prices is None:
            return cls(len(levels), up)
        place = places(feature, levels)
        rise = place[None, :] - place[:, None]
        # Weights may be whole numbers, and what is not allowed is infinite.
        table = np.where(rise > 0, up, down).astype(np.float64)
        if feature.steps:
            assert feature.order is not None
            table = table * np.abs(rise) / (len(feature.order) - 1)
        codes = {level: code for code, level in enumerate(levels)}
        for (start, end), price in feature.priced.items():
            if start in codes and end in codes:
                table[codes[start], codes[end]] = price
        for limit in limits(feature):
            table[limit.stops(place[:, None], place[None, :])] = np.inf
        np.fill_diagonal(table, 0.0)
        return cls(len(levels), up, table)

    def in_units(self, unit: float) -> LevelPrices:
        """As multiples of a unit."""
        return replace(self, weight=self.weight / unit, table=None if self.table is None else self.table / unit)

    def between(self, before: Floats, after: Floats) -> Floats:
        """The price of each change; infinite where it is not allowed, 0 where nothing changes or a code is missing."""
        changed = (before != after) & ~np.isnan(before) & ~np.isnan(after)
        if self.table is None:
            return np.where(changed, self.weight, 0.0)
        found = np.zeros(changed.shape)
        pair = [np.broadcast_to(codes, changed.shape)[changed].astype(np.intp) for codes in (before, after)]
        found[changed] = self.table[pair[0], pair[1]]
        return found

    def allows(self, before: Floats, after: Floats) -> Bools:
        """Who may be set to a level, from where they are."""
        return np.isfinite(self.between(before, after))

    def each(self, before: Floats) -> Floats:
        """(person, level): the price of each level for each person."""
        return self.between(before[:, None], np.arange(self.count, dtype=np.float64)[None, :])

    @property
    def table_of_all(self) -> Floats:
        """(from, to): the table, also where any change costs the same."""
        return self.each(np.arange(self.count, dtype=np.float64))

    @property
    def known(self) -> Floats:
        """The prices of all changes that somebody may make, of each from a level to another."""
        if self.table is None:
            return np.array([self.weight])
        others = self.table[~np.eye(self.count, dtype=bool)]
        return np.asarray(others[np.isfinite(others)])

    def most(self, before: Floats) -> Floats:
        """The most that an allowed change can cost each person."""
        if self.table is None:
            return np.full(len(before), self.weight)
        dearest = np.where(np.isfinite(self.table), self.table, 0.0).max(axis=1)
        return np.asarray(dearest[before.astype(np.intp)])


def places(feature: Feature, levels: Sequence[Any]) -> Floats:
    """The place of each level in the order, from 0; all at one place where there is none."""
    order = feature.order
    return np.array([0 if order is None else order.index(level) for level in levels], dtype=np.float64)


def in_places(feature: Feature, column: Column, values: Floats) -> Floats:
    """Encoded values of a column as the limits of its feature count them: levels by their place in the order."""
    if feature.order is None or not column.is_category:
        return values
    known = np.append(places(feature, column.levels), np.nan)
    return np.asarray(known[np.where(np.isnan(values), -1, values).astype(np.intp)])
