"""What saved actions cost, from the prices in a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Column, Floats
from equieffort.world.schema import Schema

Percentiles = Mapping[str, tuple[tuple[float, ...], tuple[float, ...]]]


@dataclass(frozen=True)
class SavedPrices:
    """The numbers a cost was fixed to: prices a unit, or the percentiles that a change overtakes."""

    prices: Mapping[str, tuple[float, float]] | None
    """What a unit up and a unit down costs, by feature."""
    own: bool = False
    """Whether prices are relative to the person's own value."""
    percentiles: Percentiles | None = None

    @property
    def is_code(self) -> bool:
        """Whether the cost is a function that no file can hold."""
        return self.prices is None and self.percentiles is None

    def of(self, schema: Schema, column: Column, facts: Floats, values: Floats) -> Floats:
        """What it costs to set one feature from its facts to the values."""
        weights = schema.feature(column.name).weights
        if column.is_category:
            return float(weights[0]) * (values != facts)
        if self.prices is not None:
            up, down = self.prices[column.name]
            price = np.where(values > facts, up, down)
            change = np.abs(values - facts)
            with np.errstate(divide="ignore", invalid="ignore"):
                return np.where(change == 0, 0.0, price * change / (np.abs(facts) if self.own else 1.0))
        assert self.percentiles is not None
        known, shares = (np.asarray(row, dtype=np.float64) for row in self.percentiles[column.name])
        shift = _share(known, shares, values) - _share(known, shares, facts)
        return np.where(shift > 0, weights[0], weights[1]) * np.abs(shift)


def _share(known: Floats, shares: Floats, values: Floats) -> Floats:
    """The share of people at or below a value; beyond those observed it goes on by one over their range."""
    beyond = np.minimum(values - known[0], 0.0) + np.maximum(values - known[-1], 0.0)
    return np.interp(values, known, shares) + beyond / (known[-1] - known[0])
