"""Limits on what an intervention may set: of numbers in their unit, of categories with an order in places of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.status import LimitKind
from equieffort.world.schema import Feature


@dataclass(frozen=True)
class Limit:
    """One limit on the value an intervention may set: side -1 below, +1 above; relative to the fact or not."""

    kind: LimitKind
    side: int
    value: float
    relative: bool
    level: str = ""
    """The level whose place `value` is."""

    def at(self, fact: Floats) -> Floats:
        """The limit for each person."""
        return fact + self.value if self.relative else np.full(fact.shape, self.value)

    def stops(self, fact: Floats, value: Floats) -> Bools:
        """Who would go beyond it, from the fact to the value; a fact that is beyond it widens it to the fact."""
        ends = np.maximum(self.side * self.at(fact), self.side * fact)
        return np.asarray(self.side * value > ends)


def limits(feature: Feature) -> list[Limit]:
    """All limits of a feature, its plausible range included, since what is set is also what is seen.

    An end that was declared infinite is none.
    """
    low, high = feature.plausible or (None, None)
    least, largest = feature.observed or (None, None)
    lower, upper = feature.ends
    observed = LimitKind.ZERO_ONE if feature.kind == "binary" else LimitKind.OBSERVED
    ends = [
        (LimitKind.LOWER, -1, lower, False),
        (LimitKind.UPPER, 1, upper, False),
        (LimitKind.MAX_DECREASE, -1, None if feature.max_decrease is None else -feature.max_decrease, True),
        (LimitKind.MAX_INCREASE, 1, feature.max_increase, True),
        (LimitKind.DIRECTION, -1, 0.0 if feature.direction == "up" else None, True),
        (LimitKind.DIRECTION, 1, 0.0 if feature.direction == "down" else None, True),
        (LimitKind.PLAUSIBLE, -1, low, False),
        (LimitKind.PLAUSIBLE, 1, high, False),
        (observed, -1, least, False),
        (observed, 1, largest, False),
    ]
    return [
        Limit(kind, side, float(value), relative, level_at(feature, value) if not relative else "")
        for kind, side, value, relative in ends
        if value is not None and np.isfinite(value)
    ]


def level_at(feature: Feature, place: float) -> str:
    """The level at a place of the order; empty for numbers."""
    return "" if feature.order is None else str(feature.order[round(place)])
