"""Files that can be read to their end: no devices, pipes or folders, and none beyond a limit."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether there is a regular file; a name that no file can have is no file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def is_dir(path: Path) -> bool:
    """Whether there is a folder."""
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def check_regular(path: Path, most: int) -> None:
    """Raise an `OSError` in words if the path is no regular file, or one of more than `most` bytes."""
    _check(path.stat(), most)


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes; otherwise an `OSError` in words.

    What is looked at is what is read: another file may take the path meanwhile.
    """
    # Opening a pipe would wait for somebody to write into it.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(number, "rb") as file:
        _check(os.fstat(number), most)
        found = file.read(most + 1)
    if len(found) > most:
        raise OSError(errno.EFBIG, f"it grows beyond {most:,} bytes, the most that is read")
    return found


def _check(found: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise OSError(errno.EISDIR, "it is a folder, not a file")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file with an end")
    if found.st_size > most:
        raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, and at most {most:,} are read")
