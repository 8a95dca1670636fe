"""Progress: a bar on a terminal, plain lines elsewhere; how fast, how long still, and a remark."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from equieffort.foundations.progress import Lines, Progress


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
