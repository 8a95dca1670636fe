"""Why a search ended: a code, which compiled loops return too, and the fact that says so."""

from __future__ import annotations

import numpy as np

from equieffort.recourse.status import Ending, Termination

DONE, NODES, TIME, ENDLESS, STOPPED, LATE = range(6)
"""All was looked at; the limit of boxes; of CPU time; actions have no limits and the last budget was spent;
interrupted; the ceiling of wall-clock time."""
CEILING = 10.0
"""How many times a limit of CPU time may pass on the wall clock."""


def termination(
    ended: int, *, found: bool, bound: float, nodes: int | None, seconds: float | None = None, work: int | None = None
) -> Termination:
    """What is known where a search did not prove everything.

    >>> termination(NODES, found=False, bound=0.5, nodes=1000).argument
    'node_limit'
    """
    known = proven(bound)
    if ended == NODES:
        return Termination(Ending.WORK, found, known, "node_limit", nodes, nodes if work is None else work)
    if ended == TIME:
        return Termination(Ending.TIME, found, known, "time_limit", seconds)
    if ended == LATE:
        limit = None if seconds is None else CEILING * seconds
        return Termination(Ending.WALL_TIME, found, known, "time_limit", limit)
    return Termination(Ending.UNLIMITED if ended == ENDLESS else Ending.PRECISION, found, known)


def proven(bound: float) -> float | None:
    """A bound that says something of what actions cost; None for one that does not."""
    return float(bound) if np.isfinite(bound) and bound > 0 else None
