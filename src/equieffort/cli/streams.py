"""Standard output and error that never end a run: work is finished and files are written whatever the reader does.

A reader that goes away (`| head -1`) has what it wanted, so nothing changes. Output that cannot be kept for another
reason, such as a full disk, is lost: the run goes on, and the exit code says that it is incomplete.
"""

from __future__ import annotations

import errno
import io
import os
import select
import stat
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from equieffort.cli.common import EXIT, INCOMPLETE, command_line, tell
from equieffort.errors import sentence

GONE = frozenset({errno.EPIPE, errno.ECONNRESET, errno.ESHUTDOWN, errno.EBADF})
"""What the system says when nobody reads any more."""


class Lasting(io.FileIO):
    """A file descriptor whose writing never fails; `lost` is what went wrong, unless it is only the reader."""

    lost: OSError | None = None
    _ended = False

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        # A terminal that is closed fails as a disk does, and no longer says that it is one.
        is_device = stat.S_ISCHR(os.fstat(number).st_mode)
        self._gone = GONE | {errno.EIO} if is_device else GONE

    def write(self, data: Any) -> int:
        """Write what can be written."""
        size = memoryview(data).nbytes
        while not self._ended:
            try:
                written = super().write(data)
            except OSError as error:
                self._ended = True
                # A reader that went away is told so by another number on Windows.
                if error.errno not in self._gone and not (os.name == "nt" and error.errno == errno.EINVAL):
                    self.lost = error
                break
            if written is not None:
                return written
            # A pipe that does not wait is full: wait for its reader here.
            select.select([], [self.fileno()], [])
        return size


def run(command: Callable[[], object]) -> None:
    """Run a program that ends by `SystemExit`, with streams that last."""
    _fill_closed()
    output = _lasting("stdout")
    _lasting("stderr")
    try:
        command()
    except SystemExit as end:
        if output is None or end.code not in (None, *EXIT.values()):
            raise
        sys.stdout.flush()
        if output.lost is None:
            raise
        tell(
            f"What was to be printed could not be written: {sentence(output.lost.strerror or output.lost)} Output "
            f"files, if there are any, are complete.\n  How to fix it: Make room, and run again: {command_line()}"
        )
        raise SystemExit(INCOMPLETE) from None


def _fill_closed() -> None:
    """Open what the caller closed: a file that took the number of a closed stream would get what is printed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest free number is taken.
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)


def _lasting(name: str) -> Lasting | None:
    """Put a stream that lasts in the place of one of Python's; None where that has no number to write to."""
    # Python has no stream where the caller closed it.
    stream: Any = getattr(sys, name)
    try:
        number = {"stdout": 1, "stderr": 2}[name] if stream is None else stream.fileno()
    except (OSError, ValueError):
        return None
    # Windows' terminals are no files.
    if os.name == "nt" and os.isatty(number):
        return None
    if stream is not None:
        with suppress(OSError):
            stream.flush()
    raw = Lasting(number)
    # What a terminal or file cannot show must not end the run either.
    lasting = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding="utf-8" if stream is None else stream.encoding,
        errors="backslashreplace",
        line_buffering=name == "stderr" or os.isatty(number),
    )
    setattr(sys, name, lasting)
    return raw
