"""Time of people who are searched together: each has the share that their part of every batch took.

As in searches one by one it is the CPU time of the thread that searches, under a ceiling of wall-clock time: a model
that is slow because it computes counts, and one that waits (for a service, a disk, a lock) counts too. Nobody can
break off a call of the model from here: who is over the limit is found out when it answers.
"""

from __future__ import annotations

import time

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.recourse.solvers.endings import CEILING, DONE, LATE, TIME

Codes = npt.NDArray[np.int8]


def wall() -> float:
    """Seconds on the wall clock."""
    return time.monotonic()


def cpu() -> float:
    """Seconds of CPU of this thread."""
    return time.thread_time()


class SharedTime:
    """What each of so many people has taken of a limit in seconds; None is no limit."""

    def __init__(self, people: int, limit: float | None) -> None:
        self.limit = np.inf if limit is None else limit
        self.cpu, self.wall = np.zeros(people), np.zeros(people)
        self._seen = cpu(), wall()

    def charge(self, parts: Floats | npt.NDArray[np.int64]) -> None:
        """Share out what passed since the last time, in proportion to these parts; of nobody's part it is nobody's."""
        now = cpu(), wall()
        shares = parts / max(parts.sum(), 1)
        self.cpu += shares * (now[0] - self._seen[0])
        self.wall += shares * (now[1] - self._seen[1])
        self._seen = now

    @property
    def ended(self) -> Codes:
        """Of everybody `DONE` while there is time, then `TIME` or, at the ceiling, `LATE`."""
        late = self.wall > CEILING * self.limit
        return np.where(self.cpu > self.limit, TIME, np.where(late, LATE, DONE)).astype(np.int8)
