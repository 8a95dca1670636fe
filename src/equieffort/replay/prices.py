"""What saved actions cost, from the prices in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Column, Floats
from equieffort.world.schema import Feature

Labels = npt.NDArray[Any]
"""Of people's groups."""
Percentiles = Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]


@dataclass(frozen=True)
class SavedPrices:
    """The numbers a cost was fixed to: prices a unit, or the percentiles that a change overtakes."""

    prices: Mapping[str, tuple[float, float]] | None
    """What a unit up and a unit down costs, by feature."""
    own: bool = False
    """Whether prices are relative to the person's own value."""
    percentiles: Percentiles | None = None
    by_group: Mapping[str, Percentiles] | None = None
    """The same among the people of each group, by its label."""

    @property
    def is_code(self) -> bool:
        """Whether the cost is a function that no file can hold."""
        return self.prices is None and self.percentiles is None and self.by_group is None

    def of(self, feature: Feature, column: Column, groups: Labels, facts: Floats, values: Floats) -> Floats:
        """What it costs people of these groups to set one feature from its facts to the values."""
        if column.is_category:
            return level_prices(feature, column, facts, values)
        if self.prices is not None:
            up, down = self.prices[column.name]
            price, change = np.where(values > facts, up, down), np.abs(values - facts)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(change == 0, 0.0, price * change / (np.abs(facts) if self.own else 1.0))
        shift = np.zeros(len(facts))
        for group in dict.fromkeys(groups.tolist()):
            rows = groups == group
            curve = (self.percentiles if self.by_group is None else self.by_group[group]) or {}
            known, shares = (np.asarray(row, dtype=np.float64) for row in curve[column.name])
            shift[rows] = _share(known, shares, values[rows]) - _share(known, shares, facts[rows])
        up, down = feature.weights
        return np.where(shift > 0, up, down) * np.abs(shift)


def places(feature: Feature, column: Column) -> Floats:
    """The place of each level of a category in its order; all at one place where it has none."""
    order = [str(level) for level in feature.order or ()]
    return np.array([order.index(str(level)) if order else 0 for level in column.levels], dtype=np.float64)


def level_prices(feature: Feature, column: Column, facts: Floats, values: Floats) -> Floats:
    """What changes of a category cost: its weight, by steps of its order, or by a table."""
    before, after = facts.astype(np.intp), values.astype(np.intp)
    rise = (place := places(feature, column))[after] - place[before]
    up, down = feature.weights
    price = np.where(rise > 0, up, down) * (np.abs(rise) / (len(feature.order or ()) - 1) if feature.steps else 1.0)
    texts = [str(level) for level in column.levels]
    for (start, end), given in feature.priced.items():
        if str(start) in texts and str(end) in texts:
            price = np.where((before == texts.index(str(start))) & (after == texts.index(str(end))), given, price)
    return np.where(before == after, 0.0, price)


def _share(known: Floats, shares: Floats, values: Floats) -> Floats:
    """The share of people at or below a value; beyond those observed it goes on by one over their range."""
    beyond = np.minimum(values - known[0], 0.0) + np.maximum(values - known[-1], 0.0)
    return np.asarray(np.interp(values, known, shares) + beyond / (known[-1] - known[0]))
