"""Keeps what HiGHS prints although it is told to be silent out of the results.

Some of its releases (1.12, which scipy 1.17 has) print a line for every solution they repair, past every option. Where
the C library lets its `stdout` be set like any variable, as GNU's does, it is set to `stderr` while one is solved.
Descriptors are left alone, so what Python writes in other threads goes where it always goes; only compiled code that
prints by way of C's `stdout` meanwhile is heard on standard error. Elsewhere such a line stays where HiGHS put it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_inside = 0
_saved: int | None = None


@contextmanager
def aside() -> Iterator[None]:
    """Send what compiled code prints to standard error; threads that are inside at the same time share one detour."""
    _enter()
    try:
        yield
    finally:
        _leave()


@cache
def _streams() -> tuple[Any, Any] | None:
    """C's `stdout` and `stderr`, where they are variables that may be set."""
    try:
        library = ctypes.CDLL(None)
        if not hasattr(library, "gnu_get_libc_version"):
            return None
        return ctypes.c_void_p.in_dll(library, "stdout"), ctypes.c_void_p.in_dll(library, "stderr")
    except (OSError, TypeError, ValueError):
        return None


def _enter() -> None:
    global _inside, _saved
    streams = _streams()
    if streams is None:
        return
    with _lock:
        _inside += 1
        if _inside == 1:
            out, error = streams
            _saved, out.value = out.value, error.value


def _leave() -> None:
    global _inside
    streams = _streams()
    if streams is None:
        return
    with _lock:
        _inside -= 1
        if _inside == 0:
            streams[0].value = _saved
