"""Keeps standard output clean of what HiGHS prints although it is told to be silent."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

_lock = Lock()
_inside = 0
_saved = -1


@contextmanager
def aside() -> Iterator[None]:
    """Send what compiled code prints to standard error; threads that are inside at the same time share one detour."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _inside, _saved
    with _lock:
        _inside += 1
        if _inside == 1:
            with suppress(OSError):
                _saved = os.dup(1)
                os.dup2(2, 1)


def _leave() -> None:
    global _inside, _saved
    with _lock:
        _inside -= 1
        if _inside == 0 and _saved >= 0:
            with suppress(OSError, AttributeError, TypeError):
                # The C library may still hold the words back.
                ctypes.CDLL(None).fflush(None)
            with suppress(OSError):
                os.dup2(_saved, 1)
                os.close(_saved)
            _saved = -1
