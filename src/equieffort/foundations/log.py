"""What is neither a result nor a warning goes to Python's `logging`, logger "equieffort": stages and their time, the
solver that was chosen and why, what was compiled. Nothing is shown unless somebody asks for it.

>>> import logging
>>> logging.getLogger("equieffort").isEnabledFor(logging.INFO)
False
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from time import perf_counter

log = logging.getLogger("equieffort")


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Say what begins, and how long it took; loops that were compiled meanwhile are counted apart."""
    if not log.isEnabledFor(logging.INFO):
        yield
        return
    log.debug("%s ...", name)
    with ExitStack() as stack:
        events = sys.modules.get("numba.core.event")
        made = None if events is None else stack.enter_context(events.install_recorder("numba:compile"))
        before = perf_counter()
        yield
        log.info("%s: %.2f s", name, perf_counter() - before)
        ended = 0 if made is None else sum(1 for _, event in made.buffer if event.is_end)
        if ended:
            log.info("%s: compiled %d loops, which are kept for the next time", name, ended)
