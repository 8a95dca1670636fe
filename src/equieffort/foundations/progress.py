"""Progress: who is told how far the work is; in a notebook a bar of plain HTML, unless the caller says otherwise.

>>> pace(500, 1000, 10)
'500 of 1,000, 50 a second, 10 s left'
>>> pace(1000, 1000, 0.1)
'1,000 of 1,000, 10,000 a second'
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from time import monotonic
from typing import Any, Protocol

BETWEEN, OFTEN, QUICK = 5.0, 0.2, 0.7
"""Seconds between two plain lines, between two pictures of a bar, and below which a bar does not stay."""


class Progress(Protocol):
    """Is told how far the work is."""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` in a stage, and a remark."""


Watched = Progress | bool | None
"""A function; True for a bar (lines on standard error outside notebooks), False for none, None for one in notebooks."""


def check_progress(progress: Any) -> None:
    """Refuse what cannot be told."""
    if progress is not None and not isinstance(progress, bool):
        # Whoever only asks for help need not wait for numpy.
        from equieffort.foundations.arguments import check_function

        check_function("progress", progress, "True, False or a function progress(stage, done, total, note)")


def watcher(progress: Watched) -> Progress | None:
    """Who is told, if anybody is."""
    check_progress(progress)
    if progress is None or progress is True:
        show = notebook_display()
        if show is not None:
            return NotebookBar(show)
        return Lines() if progress else None
    return None if progress is False else progress


def notebook_display() -> Callable[[str], Any] | None:
    """What shows HTML that can be changed later, in a notebook; nothing is imported where there is none."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if not hasattr(shell, "kernel"):
        return None
    from IPython.display import HTML, display

    def show(text: str, handle: Any = None) -> Any:
        if handle is None:
            return display(HTML(text), display_id=True)
        handle.update(HTML(text))
        return handle

    return show


class NotebookBar:
    """A bar a stage; that of a stage which was over at once goes away."""

    def __init__(self, show: Callable[..., Any], clock: Callable[[], float] = monotonic) -> None:
        self._show, self._clock = show, clock
        self._handles: dict[str, Any] = {}
        self._times: dict[str, tuple[float, float]] = {}

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Tell."""
        now = self._clock()
        began, last = self._times.get(stage, (now, now))
        if stage in self._handles and done < total and now - last < OFTEN:
            return
        over = done >= total and now - began < QUICK
        text = "" if over else bar_html(stage, done, total, now - began, note)
        self._handles[stage] = self._show(text, self._handles.get(stage))
        self._times[stage] = began, now
        if done >= total:
            del self._handles[stage], self._times[stage]


def bar_html(stage: str, done: int, total: int, seconds: float, note: str = "") -> str:
    """A bar and its pace in plain HTML."""
    said = pace(done, total, seconds) + (f", {note}" if note else "")
    bar = f'<progress value="{done}" max="{max(total, 1)}" style="width:12em;vertical-align:middle"></progress>'
    return f"<div>{escape(stage)} {bar} {escape(said)}</div>"


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
    """How far, how fast and how long still."""
    text = f"{done:,} of {total:,}"
    if done and seconds > 0:
        rate = done / seconds
        text += f", {rate:,.3g} a second" if rate < 1000 else f", {rate:,.0f} a second"
        if done < total:
            text += f", {(total - done) / rate:,.0f} s left"
    return text
