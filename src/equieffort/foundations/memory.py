"""Memory: what was freed given back to the system, and what is said where it is too short."""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress

from equieffort.errors import warn


def give_back() -> None:
    """Give freed memory back where the C library and pyarrow can, before something that needs much of it.

    The C library keeps what was freed between things that are still needed, so that a process which once read a large
    table would need the sum of all its steps and not the most that one of them does.
    """
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    # Only glibc has it.
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def hold_little() -> None:
    """Let pyarrow give back what it frees at once, in a process of our own, before pyarrow is loaded.

    Its allocator (mimalloc) keeps large blocks for later otherwise, nearly as much again as a table of text takes.
    """
    for name, value in (("MIMALLOC_DISALLOW_ARENA_ALLOC", "1"), ("MIMALLOC_PURGE_DELAY", "0")):
        os.environ.setdefault(name, value)


def warn_of_memory(when: str) -> None:
    """Memory was too short for so much at once, and smaller parts are tried."""
    warn(
        "RUN_MEMORY",
        f"Memory ran short when {when}{peak()}. Smaller parts are tried.",
        fix="Use fewer workers, or a machine with more memory.",
        keep=False,
    )


def peak() -> str:
    """The most memory that this process has had, in words."""
    try:
        import resource
    except ImportError:  # not on Windows
        return ""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return f" (this process had at most {most / 2**30:.1f} GiB)"
