"""Threads for compiled searches, kept from one to the next."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache


def pool() -> ThreadPoolExecutor:
    """As many threads as numba may use; starting them anew would take as long as solving a person."""
    import numba

    return _kept(os.getpid(), max(1, numba.get_num_threads()))


def most_threads(threads: ThreadPoolExecutor) -> int:
    """How many threads there are."""
    return threads._max_workers


@cache
def _kept(process: int, threads: int) -> ThreadPoolExecutor:
    # A forked process has none of its parent's threads, and gets its own.
    return ThreadPoolExecutor(threads, thread_name_prefix=f"equieffort-{process}")
