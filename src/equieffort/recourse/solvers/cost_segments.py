"""What a change costs, part by part, as far as a cost is linear or piecewise linear."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.world.cost import BoundCost, LinearCost, PiecewiseCost

Segment = tuple[float, float]
"""Width and price a unit."""


def segments(cost: BoundCost, j: int, facts: Floats, sign: float, room: float) -> list[Segment]:
    """The price of moving a person's feature j away from the fact one way, up to the room there is, nearest first."""
    if room <= 0:
        return []
    if isinstance(cost, LinearCost):
        up, down = cost.prices(facts[None])
        return [(room, float((up if sign > 0 else down)[0, j]))]
    assert isinstance(cost, PiecewiseCost)
    knots, heights = cost.curve(j, float(facts[j]))
    at = int(np.searchsorted(knots, facts[j]))
    path = slice(at, None) if sign > 0 else slice(at, None, -1)
    found: list[Segment] = []
    for width, rise in zip(np.abs(np.diff(knots[path])).tolist(), np.diff(heights[path]).tolist(), strict=True):
        take = min(width, room)
        if take > 0:
            found.append((take, rise / width))
            room -= take
    return [*found, (room, float(cost.tails[j, 1 if sign > 0 else 0]))] if room > 0 else found


def paid_by(parts: list[Segment], budget: float) -> float:
    """How far along segments a budget reaches."""
    reach = 0.0
    for width, price in parts:
        if width * price > budget:
            return reach + budget / price
        reach, budget = reach + width, budget - width * price
    return reach
