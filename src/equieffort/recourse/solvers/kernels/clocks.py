"""What a person's time is measured with: the CPU time of the thread that searches, under a ceiling of wall-clock time.

CPU time, so that whatever else the machine does ends nobody's search; the ceiling, so that a machine on which hardly
anything moves does not keep people waiting for ever. Compiled loops cannot ask for the time: whoever waits for them
writes it down beside them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from equieffort.recourse.solvers.kernels.clock_kernels import CPU, STOP, WALL

Read = Callable[[], float]


def wall() -> float:
    """Seconds on the wall clock."""
    return time.monotonic()


def cpu_of_the_process() -> float:
    """Seconds of CPU of all threads together."""
    return time.process_time()


def cpu_of_this_thread() -> Read | None:
    """What tells, in any thread, the CPU time of the one that asks now; None where only a thread itself can tell."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return None
    own = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(own)


class Clocks:
    """A row of `shown` for each of many jobs: the time as it was at the last tick, for loops that look at it."""

    def __init__(self, jobs: int) -> None:
        self.shown = np.zeros((jobs, 5))
        self._at_work: dict[int, Read | None] = {}
        self._process = cpu_of_the_process()

    @contextmanager
    def of(self, job: int) -> Iterator[None]:
        """This thread works at a job."""
        self._at_work[job] = cpu_of_this_thread()
        try:
            yield
        finally:
            del self._at_work[job]

    def tick(self) -> None:
        """Write down what the clocks show now."""
        working, before, now = list(self._at_work.items()), self._process, wall()
        self._process = cpu_of_the_process()
        for job, read in working:
            row = self.shown[job]
            # Where a thread's time cannot be told from outside, each has its share of the process's.
            row[CPU] = row[CPU] + (self._process - before) / len(working) if read is None else read()
            row[WALL] = now

    def stop(self) -> None:
        """Everybody is to stop."""
        self.shown[:, STOP] = 1.0


class Patience:
    """The clock of an interpreted search, on which no time passes: it only stops who takes longer than compiling."""

    def __init__(self, seconds: float) -> None:
        self._end, self.is_over = time.thread_time() + seconds, False

    def __getitem__(self, which: int) -> float:
        if which != STOP:
            return 0.0
        self.is_over = time.thread_time() > self._end
        return float(self.is_over)

    def __setitem__(self, which: int, value: float) -> None:
        """Nobody's time begins."""
