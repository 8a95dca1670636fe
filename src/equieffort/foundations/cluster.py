"""A Dask cluster as an executor; the one place that knows of Dask (extra `dask`)."""

from __future__ import annotations

import logging
import os
import re
import signal
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

from equieffort.errors import ParameterError, sentence

LOCAL = re.compile(r"local:([1-9][0-9]{0,3})")
SECONDS = 20
"""So long a scheduler is waited for."""


def check_cluster(where: str) -> None:
    """Refuse what names no cluster, and say what is missing to reach one."""
    if not LOCAL.fullmatch(where) and not re.fullmatch(r"[a-z+]+://.+", where):
        raise ParameterError(
            "RUN_CLUSTER",
            f"{where!r} names no Dask cluster.",
            fix="Give the address of its scheduler, such as tcp://host:8786, or local:2 for two processes here.",
        )
    try:
        import distributed  # noqa: F401
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY", "Dask is not installed.", fix="pip install 'equieffort[dask]'."
        ) from error


@contextmanager
def dask_executor(where: str) -> Iterator[Executor]:
    """The executor of a cluster: a scheduler's address, or `local:N` for N processes on this machine."""
    check_cluster(where)
    import dask
    import distributed

    # What it says of workers that end is told by us where it matters.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with ExitStack() as stack:
        local = LOCAL.fullmatch(where)
        address: Any = where
        try:
            if local:
                # Its workers need not watch themselves every ten milliseconds.
                stack.enter_context(dask.config.set({"distributed.worker.profile.enabled": False}))
                with _interrupts_held_back():
                    cluster = distributed.LocalCluster(
                        n_workers=int(local[1]), threads_per_worker=1, processes=True, dashboard_address=None,
                        host="127.0.0.1", silence_logs=logging.CRITICAL,
                    )  # fmt: skip
                    stack.callback(_ended, cluster)
                address = cluster
            client = distributed.Client(address, timeout=SECONDS, set_as_default=False)
        except (OSError, TimeoutError, ValueError, RuntimeError) as error:
            raise ParameterError(
                "RUN_CLUSTER",
                f"The Dask cluster {where!r} does not answer: {type(error).__name__}: {sentence(error)}",
                fix="Check the address and that the scheduler runs, or use --jobs for processes on this machine.",
            ) from error
        stack.callback(_closed, client)
        yield client.get_executor()


@contextmanager
def _interrupts_held_back() -> Iterator[None]:
    """Ctrl-C waits until this is over, and never reaches what is started meanwhile.

    It goes to every process of the terminal. Threads and processes take over what is blocked where they are started:
    those of the cluster leave it to the process that people started, also the workers that take the place of others
    later on.
    """
    if not hasattr(signal, "pthread_sigmask"):  # not on Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ended(cluster: Any) -> None:
    """End a cluster of this machine at once: whatever its workers are still doing, nobody waits for it."""
    for nanny in list(cluster.workers.values()):
        with suppress(Exception):
            # Otherwise another worker takes the place of the one that ends.
            nanny.close_gracefully()
            if nanny.pid is not None:
                os.kill(nanny.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    _closed(cluster)
    # What did not close in time is not waited for again, ten seconds, when the program ends.
    cluster.shutdown_on_close = False


def _closed(opened: Any) -> None:
    """Close what may have gone away before."""
    with suppress(Exception):
        opened.close(timeout=2)
