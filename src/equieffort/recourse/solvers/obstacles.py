"""A limit of the problem as an obstacle in a person's way, in the users' own units."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.problem import Limit, RecourseProblem
from equieffort.recourse.status import LimitKind, Obstacle

UNDECLARED = (LimitKind.DIRECTION, LimitKind.ZERO_ONE)
"""Limits without a number that somebody declared."""


def room_to(limit: Limit, facts: Floats) -> Floats:
    """How far each person may go before the limit; none where it is passed already."""
    return np.maximum(limit.side * (limit.at(facts) - facts), 0.0)


def obstacle_of(problem: RecourseProblem, position: int, limit: Limit, fact: float, room: float) -> Obstacle:
    """The limit as it stops a person `room` away from the fact."""
    value = abs(limit.value) if limit.relative else limit.value
    return Obstacle(
        problem.names[position],
        limit.kind,
        limit.side,
        None if limit.kind in UNDECLARED else problem.own(position, value),
        fact=problem.own(position, fact),
        stops_at=problem.own(position, fact + limit.side * room),
    )
