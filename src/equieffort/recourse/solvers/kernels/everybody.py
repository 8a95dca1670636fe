"""Everybody's search: interpreted while that is sooner than compiling it, then compiled, spread over threads."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import wait
from typing import TYPE_CHECKING, Any

from equieffort.recourse.solvers.kernels.clocks import Clocks, Patience
from equieffort.recourse.solvers.kernels.threads import pool

if TYPE_CHECKING:
    from equieffort.foundations.jit import Linked

BLOCK = 64
"""Most people a thread takes at once."""
TICK = 0.02
"""Seconds between two looks at the clock."""

Room = Callable[[Any, bool], tuple[Any, ...]]


def solve_everybody(solve: Linked, room: Room, people: int, each: float) -> list[Any]:
    """What a search answers for people 0 to `people` - 1, part by part; can be interrupted at any time.

    `room(clock, is_hurried)` makes what it works on, with or without limits of time: these are for the compiled search,
    in which the same time goes much further. `each` is how many seconds a person takes interpreted. No answer depends
    on the threads.
    """
    import numba

    patience, found = Patience(solve.worth - solve.spent), []
    for answer in solve.one_by_one(
        room(Clocks(1).shown[0], True), people, each, lambda: room(patience, False)
    ):  # fmt: skip
        if patience.is_over:
            break
        found.append(answer)
    done = len(found)
    size = max(1, min(BLOCK, -(-(people - done) // (4 * numba.get_num_threads()))))
    clocks = Clocks(-(-(people - done) // size))

    def part(job: int) -> Any:
        first = done + job * size
        with clocks.of(job):
            return solve(*room(clocks.shown[job], True), first, min(first + size, people))

    jobs = [pool().submit(part, job) for job in range(len(clocks.shown))]
    try:
        waiting = set(jobs)
        while waiting:
            waiting = wait(waiting, timeout=TICK).not_done
            clocks.tick()
    except BaseException:
        clocks.stop()
        for job in jobs:
            job.cancel()
        raise
    return [*found, *(job.result() for job in jobs)]
