"""Loops compiled by numba and kept on disk wherever this process may write.

numba keeps compiled loops beside the module or in the user's cache folder, and refuses to compile at all where neither
can be written: in containers, in a shared installation, for an account without a home. A folder among the temporary
files does then, and where there is none either, each process compiles for itself. What is kept saves time and nothing
else: no audit ends because it cannot be read or written.

Of the files that a loop is made from numba looks only at the one in which it stands, not at those of the loops and
constants it uses (numba issue 1833): after an update it would go on with old parts. Here what is kept belongs to all of
them together.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

Loop = Callable[..., Any]


def njit(**options: Any) -> Callable[[Loop], Loop]:
    """As `numba.njit(cache=True, ...)`, also where nothing can be kept.

    >>> @njit(nogil=True)
    ... def twice(x):
    ...     return 2 * x
    >>> twice(21)
    42
    """

    def compiled(loop: Loop) -> Loop:
        try:
            kept = numba.njit(cache=True, **options)(loop)
        except RuntimeError:
            kept = _kept_aside(loop, options)
        return _stamped(_forgiving(kept))

    return compiled


def _stamped(loop: Loop) -> Loop:
    """What is kept is taken for another's where any file that loops are made from has changed."""
    file: Any = getattr(getattr(loop, "_cache", None), "_cache_file", None)
    if hasattr(file, "_source_stamp"):
        file._source_stamp = (file._source_stamp, digest())
    return loop


@cache
def digest() -> str:
    """Of all files that loops and their constants stand in."""
    found = hashlib.sha256()
    for source in sources():
        found.update(source.read_bytes())
    return found.hexdigest()


def sources() -> list[Path]:
    """Those files, by the places they may have."""
    package = Path(__file__).parents[1]
    places = (
        "foundations/*.py", "world/cost.py", "effort/neighbours/*.py", "recourse/solvers/endings.py",
        "recourse/solvers/**/kernels/*.py", "recourse/solvers/**/*_kernels.py",
    )  # fmt: skip
    return sorted({source for place in places for source in package.glob(place)})


def _kept_aside(loop: Loop, options: dict[str, Any]) -> Loop:
    folder = _temporary_folder()
    if folder is not None:
        # Only where this loop is kept is decided now, so nobody else's loops move.
        before, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(folder)
        try:
            return numba.njit(cache=True, **options)(loop)
        except RuntimeError:
            pass
        finally:
            numba.config.CACHE_DIR = before
    return numba.njit(**options)(loop)


@cache
def _temporary_folder() -> Path | None:
    """A folder of this user alone, the same for all their processes: what is kept in it will be executed."""
    user = os.getuid() if hasattr(os, "getuid") else None
    try:
        folder = Path(tempfile.gettempdir()) / ("equieffort" if user is None else f"equieffort-{user}")
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError:
        return None
    if user is None:
        # Without user numbers temporary files are each user's own.
        return folder
    mine = stat.S_ISDIR(found.st_mode) and found.st_uid == user and not stat.S_IMODE(found.st_mode) & 0o077
    return folder if mine else None


def _forgiving(loop: Loop) -> Loop:
    """A full disk or a damaged file means compiling again."""
    kept = getattr(loop, "_cache", None)
    if kept is None:
        return loop

    def tried(step: Loop) -> Loop:
        def answer(*arguments: Any) -> Any:
            try:
                return step(*arguments)
            except Exception:  # whatever a damaged file may unpickle to
                with suppress(OSError):
                    kept.flush()
                return None

        return answer

    for name in ("load_overload", "save_overload"):
        setattr(kept, name, tried(getattr(kept, name)))
    return loop
