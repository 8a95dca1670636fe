"""A person's time, as searches look at it: seconds of CPU under a ceiling of the wall clock (`clocks` writes them)."""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import kernel
from equieffort.recourse.solvers.endings import CEILING, DONE, LATE, STOPPED, TIME

CPU, WALL, STOP, FROM_CPU, FROM_WALL = range(5)
"""On the clock: seconds of CPU of this thread and on the wall, whether to stop, and both seconds when a person began;
the first of these is infinite until the clock has moved once."""


@kernel
def begin_time(clock: Any) -> None:
    """A person's time begins, on a clock (5)."""
    clock[FROM_CPU], clock[FROM_WALL] = np.inf, clock[WALL]


@kernel
def late(clock: Any, seconds: float) -> int:
    """Why the person's time is over, or everybody's; DONE while it is not."""
    if clock[STOP] != 0.0:
        return STOPPED
    if clock[FROM_CPU] == np.inf:
        # Between two looks at the clocks others had the thread, or nobody: what is counted begins with the first look.
        if clock[WALL] != clock[FROM_WALL]:
            clock[FROM_CPU], clock[FROM_WALL] = clock[CPU], clock[WALL]
    elif clock[CPU] - clock[FROM_CPU] > seconds:
        return TIME
    elif clock[WALL] - clock[FROM_WALL] > CEILING * seconds:
        return LATE
    return DONE
