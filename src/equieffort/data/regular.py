"""Files that can be read to their end: no devices, pipes or folders, none beyond a limit; and files written whole."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from equieffort.errors import EquieffortError, sentence


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


@contextmanager
def open_regular(path: Path, most: int) -> Iterator[IO[bytes]]:
    """A regular file of at most `most` bytes, to read from; otherwise an `OSError` in words.

    What is looked at is what is read: another file may take the path meanwhile.
    """
    # Opening a pipe would wait for somebody to write into it.
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(number, "rb") as file:
        _check(os.fstat(number), most)
        yield file


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file of at most `most` bytes; otherwise an `OSError` in words."""
    with open_regular(path, most) as file:
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


def check_target(path: Path, elsewhere: str, error: type[EquieffortError], code: str) -> None:
    """Refuse a path that no file can be written to."""
    if not is_dir(path.parent):
        what = f"The folder {str(path.parent)!r} does not exist."
        raise error(code, what, fix=f"Create it, or {elsewhere} elsewhere.")
    if is_dir(path):
        raise error(code, f"{str(path)!r} is a folder.", fix="Give the path of a file.")


def settle(path: Path) -> None:
    """Onto the disk before it gets its name: what is there after the power went off is whole."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


@contextmanager
def written_aside(path: Path, fix: str, error: type[EquieffortError]) -> Iterator[Path]:
    """Where to write a file so that it appears whole or not at all; until then an earlier one stays as it is."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield partial
        os.replace(partial, path)
    except OSError as why:
        what = f"{str(path)!r} could not be written: {sentence(why.strerror or why)}"
        raise error("RUN_WRITE", what, fix=fix) from why
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
