"""Rows dealt out to workers in parts: sized by how long parts take, tried again where a worker dies, none lost.

Which part somebody is in changes nothing about what is found of them, so parts are as large as is good for the pace.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from time import perf_counter
from typing import Any

from equieffort.errors import RunError, many, tell_again, warn
from equieffort.foundations.log import log
from equieffort.foundations.memory import peak, warn_of_memory
from equieffort.foundations.workers import Crew, Done, Processes, Ready, Shared, Unknown, cores, died, is_gone

Span = tuple[int, int]
"""Rows from the first up to, but without, the second."""

FIRST, LEAST, MOST = 256, 16, 65_536
"""Rows of the first part, and the fewest and most of any."""
SECONDS = 1.0
"""So long a part should take: Ctrl-C and checkpoints wait for no more."""
MOST_DEATHS = 60
"""So many times workers may die before the rest is given up."""
NAMED = 20


class Dealing:
    """One stage of work over rows."""

    def __init__(
        self,
        shared: Shared,
        here: Ready,
        crew: Crew | None,
        ask: Callable[[int, int], Any],
        took: Callable[[int, int, Any], None],
        label: Callable[[int], str] = str,
        most: int | None = None,
    ) -> None:
        self.shared, self.here, self.crew, self.ask, self.took, self.label = shared, here, crew, ask, took, label
        self.pending: deque[Span] = deque()
        self.alone: deque[Span] = deque()
        """Parts of which each was at work when workers died, twice: one at a time, so that it shows which it is."""
        self.running: dict[Future[Done | Unknown], Span] = {}
        self.strikes: dict[int, int] = {}
        self.lost: list[Span] = []
        self.deaths = 0
        self.most = MOST if most is None else min(most, MOST)
        self.size = min(FIRST, self.most)

    def run(self, spans: Iterable[Span]) -> None:
        """Do all of it; raises if there are rows that no worker survives."""
        self.pending.extend(span for span in spans if span[0] < span[1])
        if self.crew is None:
            self._run_here()
        else:
            with self.shared.here():
                self._run_with()
        if self.lost:
            raise _lost(self.lost, self.deaths, self.label)

    # -- in this process ---------------------------------------------------------------------------------------------

    def _run_here(self) -> None:
        while self.pending:
            start, stop = self._next()
            began = perf_counter()
            try:
                answer = self.here.do(self.ask(start, stop))
            except MemoryError:
                self._halve(start, stop)
                continue
            self._pace(stop - start, perf_counter() - began)
            self.took(start, stop, answer)

    # -- with others -------------------------------------------------------------------------------------------------

    def _run_with(self) -> None:
        try:
            while self.pending or self.alone or self.running:
                self._hand_out()
                if self.running:
                    done, _ = wait(self.running, return_when=FIRST_COMPLETED)
                    for future in done:
                        if future in self.running:
                            self._take(future)
        except BaseException:
            for future in self.running:
                future.cancel()
            if self.crew is not None:
                self.crew.stop()
            raise

    def _hand_out(self) -> None:
        assert self.crew is not None
        if self.alone:
            # Nobody else is at work when one of these is tried.
            if not self.running:
                self._submit(self.alone.popleft())
            return
        while self.pending and len(self.running) < 2 * self.crew.size:
            if not self._submit(self._next()):
                return

    def _submit(self, span: Span, payload: bytes | None = None) -> bool:
        """Hand out a part; False if there is nobody any more."""
        assert self.crew is not None
        task = self.ask(*span)
        try:
            future = self.crew.submit(self.shared.token, payload, task)
        except Exception as error:
            if not (died(error) or is_gone(error)):
                raise
            self.pending.appendleft(span)
            self._replace(error)
            return False
        self.running[future] = span
        return True

    def _take(self, future: Future[Done | Unknown]) -> None:
        start, stop = self.running.pop(future)
        try:
            found = future.result()
        except MemoryError:
            self._halve(start, stop)
            return
        except BaseException as error:
            if died(error):
                self._bury(start, stop, error)
            elif is_gone(error):
                self.pending.appendleft((start, stop))
                self._replace(error)
            else:
                raise
            return
        if isinstance(found, Unknown):
            self._submit((start, stop), self.shared.payload)
            return
        for warning in found.warned:
            tell_again(warning)
        self._pace(stop - start, found.seconds)
        self.took(start, stop, found.answer)

    def _bury(self, start: int, stop: int, error: BaseException) -> None:
        """A worker died while this and perhaps other parts were at work."""
        assert self.crew is not None
        was_alone = not self.running
        spans = [(start, stop)]
        if type(error).__name__ != "KilledWorker":
            # All that a broken pool was doing is broken.
            for future in list(self.running):
                if future.done() and future.exception() is None:
                    self._take(future)
                elif future in self.running:
                    spans.append(self.running.pop(future))
        self.deaths += 1
        log.info("A worker died with %s at work: %s", many(len(spans), "part", "parts"), error)
        if self.deaths == 1:
            rows = sum(last - first for first, last in spans)
            warn(
                "RUN_WORKER_DIED",
                f"A worker process ended while {many(rows, 'person', 'people')} were being solved, from "
                f"{self.label(spans[0][0])} on. They are solved again.",
                fix="If it comes again, look for a lack of memory, or for a model that crashes.",
                keep=False,
            )
        for first, last in sorted(spans):
            strikes = self.strikes[first] = self.strikes.get(first, 0) + 1
            if self.deaths > MOST_DEATHS or (last - first == 1 and was_alone and strikes > 1):
                self.lost.append((first, last))
            elif strikes == 1:
                self.pending.appendleft((first, last))
            elif was_alone and last - first > 1:
                middle = (first + last) // 2
                self.alone.extendleft([(middle, last), (first, middle)])
                self.strikes[middle] = strikes
            else:
                self.alone.append((first, last))
        if self.deaths > MOST_DEATHS:
            self.lost += [*self.alone, *self.pending]
            self.alone.clear()
            self.pending.clear()
        self._renew(error)

    def _renew(self, error: BaseException) -> None:
        """Go on after workers died."""
        assert self.crew is not None
        renewed = self.crew.renewed()
        if renewed is None and type(error).__name__ != "KilledWorker":
            self._replace(error)
        elif renewed is not None:
            self.crew = renewed

    def _replace(self, error: BaseException) -> None:
        """Processes on this machine take the place of an executor that does not answer any more."""
        assert self.crew is not None
        if isinstance(self.crew, Processes):
            self.crew = self.crew.renewed()
            return
        for future in list(self.running):
            if future.done() and not future.cancelled() and future.exception() is None:
                self._take(future)
            elif future in self.running:
                self.pending.appendleft(self.running.pop(future))
                future.cancel()
        name = type(getattr(self.crew, "executor", self.crew)).__name__
        warn(
            "RUN_EXECUTOR_LOST",
            f"{name} does not take work any more ({type(error).__name__}): processes on this machine go on.",
            fix="Nothing need be done again. Look after the executor or the cluster before the next run.",
            keep=False,
        )
        self.crew = Processes(max(1, min(self.crew.size, cores())))

    # -- sizes -------------------------------------------------------------------------------------------------------

    def _next(self) -> Span:
        """The next rows, as many as suit the pace; towards the end fewer, so that all end at the same time."""
        start, stop = self.pending.popleft()
        size = self.size
        if self.crew is not None:
            left = stop - start + sum(last - first for first, last in self.pending)
            size = min(size, max(LEAST, -(-left // (2 * self.crew.size))))
        if stop - start > size:
            self.pending.appendleft((start + size, stop))
            stop = start + size
        return start, stop

    def _pace(self, rows: int, seconds: float) -> None:
        wanted = int(rows * SECONDS / max(seconds, 1e-6))
        self.size = max(LEAST, min(wanted, 4 * max(rows, LEAST), self.most))

    def _halve(self, start: int, stop: int) -> None:
        """Memory was too short for so many at once."""
        if stop - start == 1:
            raise RunError(
                "RUN_MEMORY",
                f"There is not enough memory to solve {self.label(start)} alone{peak()}.",
                fix="Use a machine with more memory, fewer workers, or a smaller model.",
            )
        middle = (start + stop) // 2
        self.size = self.most = max(1, middle - start)
        self.pending.extendleft([(middle, stop), (start, middle)])
        warn_of_memory(f"{stop - start:,} people were at work together")


def _lost(spans: list[Span], deaths: int, label: Callable[[int], str]) -> RunError:
    rows = [row for first, last in sorted(spans) for row in range(first, min(last, first + NAMED))]
    count = sum(last - first for first, last in spans)
    named = ", ".join(map(label, rows[:NAMED]))
    more = f" and {count - NAMED:,} more" if count > NAMED else ""
    return RunError(
        "RUN_WORKERS",
        f"{many(count, 'person', 'people')} could not be solved, since every worker that tried died "
        f"({many(deaths, 'death', 'deaths')}): {named}{more}.",
        fix="Everybody else was solved, and is kept where there is a checkpoint. Ask the model for these people by "
        "itself: what ends the process is likely the model's own library or a lack of memory. Without them the audit "
        "runs.",
    )
