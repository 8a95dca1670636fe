"""Progress: a bar on a terminal, plain lines elsewhere; how fast, how long still, and a remark."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from equieffort.recourse.solving import Progress

BETWEEN = 5.0
"""Seconds between two plain lines of one stage."""


@contextmanager
def reporter(*, quiet: bool = False) -> Iterator[Progress]:
    """A function (stage, done, total, note) that shows how far the work is."""
    if quiet:
        yield lambda stage, done, total, note="": None
    elif not sys.stderr.isatty():
        yield Lines()
    else:
        with _bars() as bars:
            yield bars


class Lines:
    """A line when a stage begins, every few seconds, and when a stage with a count ends."""

    def __init__(self, write: Callable[[str], object] | None = None, clock: Callable[[], float] = monotonic) -> None:
        self._write = write if write is not None else lambda text: print(text, file=sys.stderr, flush=True)
        self._clock = clock
        self._started: dict[str, float] = {}
        self._last: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Tell."""
        now = self._clock()
        if stage not in self._started:
            self._started[stage] = self._last[stage] = now
            self._write(f"{stage} ...")
            return
        if total > 1 and (now - self._last[stage] >= BETWEEN or done == total):
            self._last[stage] = now
            self._write(f"{stage}: {pace(done, total, now - self._started[stage])}{f', {note}' if note else ''}")


def pace(done: int, total: int, seconds: float) -> str:
    """How far, how fast and how long still.

    >>> pace(500, 1000, 10)
    '500 of 1,000, 50 a second, 10 s left'
    >>> pace(1000, 1000, 0.1)
    '1,000 of 1,000, 10,000 a second'
    """
    text = f"{done:,} of {total:,}"
    if done and seconds > 0:
        rate = done / seconds
        text += f", {rate:,.3g} a second" if rate < 1000 else f", {rate:,.0f} a second"
        if done < total:
            text += f", {(total - done) / rate:,.0f} s left"
    return text


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich import progress as rich
    from rich.console import Console

    columns = (
        rich.TextColumn("{task.description}", markup=False),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("{task.fields[rate]}"),
        rich.TimeRemainingColumn(),
        rich.TextColumn("{task.fields[note]}", markup=False),
    )
    with rich.Progress(*columns, console=Console(stderr=True)) as bar:
        tasks: dict[str, rich.TaskID] = {}

        def live(stage: str, done: int, total: int, note: str = "") -> None:
            if stage not in tasks:
                tasks[stage] = bar.add_task(stage, total=total, note=note, rate="")
            speed = bar.tasks[bar.task_ids.index(tasks[stage])].speed
            rate = f"{speed:,.0f}/s" if speed else ""
            bar.update(tasks[stage], completed=done, total=total, note=note, rate=rate)

        yield live
