"""Memory that was freed, given back to the system."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress


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
