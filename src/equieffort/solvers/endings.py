"""Why a search ended: a code, which compiled loops return too, and the sentence that says so to users."""

from __future__ import annotations

import numpy as np

from equieffort.frames import number

DONE, NODES, TIME, ENDLESS, STOPPED = range(5)
"""All was looked at; the limit of boxes; of time; actions have no limits and the last budget was spent; interrupted."""


def told(ended: int, *, acts: bool, bound: float, boxes: int | None, seconds: float | None = None) -> str:
    """What is known where a search did not prove everything, and what would help.

    >>> told(NODES, acts=False, bound=0.5, boxes=1000)
    '1,000 boxes were looked at, the limit; no action was found, and no action costs less than 0.5; raise node_limit.'
    """
    found = "an action was found" if acts else "no action was found"
    known = f"{found}, and {least(bound)}"
    if ended == NODES:
        return f"{boxes:,} boxes were looked at, the limit; {known}; raise node_limit."
    if ended == TIME:
        return f"{seconds:g} s passed, the limit; {known}; raise time_limit."
    if ended == ENDLESS:
        return f"The actions have no limits; {known}."
    return f"A part of the boundary is too thin for floating point to decide; {known}."


def least(bound: float) -> str:
    """What a bound says of everybody's actions.

    >>> least(0.0)
    'nothing is proven of what actions cost'
    """
    is_some = np.isfinite(bound) and bound > 0
    return f"no action costs less than {number(bound)}" if is_some else "nothing is proven of what actions cost"
