"""Who does the work: this process, processes on this machine, or any `concurrent.futures.Executor`.

A *job* is what all parts of the work have in common. It is pickled once, sent to a worker that does not know it yet,
and kept there under its token: parts of the work carry the token alone. Workers that share this process take the job
as it is, so that threads need nothing pickled.
"""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol
from uuid import uuid4

import cloudpickle
from joblib.externals import loky

from equieffort.errors import EquieffortWarning, ParameterError, collecting, sentence
from equieffort.foundations.arguments import check_number, refused

IDLE_SECONDS = 60
"""So long a process waits for more work before it ends."""
MOST_JOBS = 4
"""Jobs that a worker keeps; the one that was asked for longest ago is let go."""


class Ready(Protocol):
    """A job that is prepared for one thread."""

    def do(self, task: Any) -> Any:
        """The answer to a part of the work."""


class Job(Protocol):
    """What all parts of the work have in common."""

    def ready(self) -> Ready:
        """Prepared once a thread: nothing in it is shared with other threads."""

    def parts(self) -> dict[str, Any]:
        """What it is made of, by the names that a reader knows: for an error that says what cannot be sent."""


@dataclass(frozen=True)
class Done:
    """What a worker gives back."""

    answer: Any
    seconds: float
    warned: tuple[EquieffortWarning, ...] = ()


class Unknown:
    """A worker does not know the job."""


_jobs: OrderedDict[str, Job] = OrderedDict()
_lock = threading.Lock()
_own = threading.local()


def work(token: str, payload: bytes | None, task: Any, threads: int) -> Done | Unknown:
    """Do a part of a job; this is what executors are given."""
    ready = _ready(token, payload)
    if ready is None:
        return Unknown()
    began = perf_counter()
    # They are issued where the caller is.
    with _threads(threads), collecting(in_silence=True) as kept:
        answer = ready.do(task)
    return Done(answer, perf_counter() - began, tuple(kept))


def _ready(token: str, payload: bytes | None) -> Ready | None:
    held: OrderedDict[str, Ready] | None = getattr(_own, "ready", None)
    if held is None:
        held = _own.ready = OrderedDict()
    if token not in held:
        with _lock:
            job = _jobs.get(token)
            if job is None and payload is not None:
                job = _unpickled(payload)
                _keep(_jobs, token, job)
        if job is None:
            return None
        _keep(held, token, job.ready())
    held.move_to_end(token)
    return held[token]


def _keep(held: OrderedDict[str, Any], token: str, value: Any) -> None:
    held[token] = value
    while len(held) > MOST_JOBS:
        held.popitem(last=False)


def _unpickled(payload: bytes) -> Job:
    try:
        return cloudpickle.loads(payload)
    except Exception as error:
        raise ParameterError(
            "RUN_PICKLE",
            f"A worker cannot read what it is sent: {type(error).__name__}: {sentence(error)}",
            fix="Install the same packages, and the modules of your own that the model or the cost come from, where "
            "workers run.",
        ) from error


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """So many threads for compiled loops that a worker starts; numba counts for each thread."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(max(1, min(count, numba.config.NUMBA_NUM_THREADS)))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@dataclass(eq=False)
class Shared:
    """A job and the name it goes by among workers."""

    job: Job
    token: str = field(default_factory=lambda: uuid4().hex)
    _payload: bytes | None = None

    @property
    def payload(self) -> bytes:
        """The job pickled, once; functions that are written in a notebook or at a prompt travel too."""
        if self._payload is None:
            try:
                self._payload = cloudpickle.dumps(self.job)
            except Exception as error:
                raise self._refusal(error) from error
        return self._payload

    def _refusal(self, error: Exception) -> ParameterError:
        for name, part in self.job.parts().items():
            try:
                cloudpickle.dumps(part)
            except Exception as why:
                name, error = f"{name} ({type(part).__name__})", why
                break
        else:
            name = "what workers need"
        return ParameterError(
            "RUN_PICKLE",
            f"{name[:1].upper() + name[1:]} cannot be sent to other processes: {type(error).__name__}: "
            f"{sentence(error)}",
            fix="Give it without what cannot be pickled (open files, locks, connections), use threads "
            "(executor=ThreadPoolExecutor()), or leave executor and n_jobs out.",
        )

    @contextmanager
    def here(self) -> Iterator[None]:
        """Workers that share this process find it."""
        with _lock:
            _jobs[self.token] = self.job
        try:
            yield
        finally:
            with _lock:
                _jobs.pop(self.token, None)
            getattr(_own, "ready", {}).pop(self.token, None)


# -- crews -------------------------------------------------------------------------------------------------------------


class Crew(ABC):
    """Those who work at the same time."""

    size: int
    threads = 1
    """For compiled loops, each."""

    @abstractmethod
    def submit(self, token: str, payload: bytes | None, task: Any) -> Future[Done | Unknown]:
        """Hand out a part of the work."""

    @abstractmethod
    def stop(self) -> None:
        """End what can be ended, at once."""

    @abstractmethod
    def renewed(self) -> Crew | None:
        """The crew after workers of it died; None if it cannot go on."""


class Processes(Crew):
    """Fresh processes on this machine (loky: spawned, and started again where one dies)."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.threads = max(1, cores() // size)

    def submit(self, token: str, payload: bytes | None, task: Any) -> Future[Done | Unknown]:
        """Hand out a part of the work."""
        return self._pool().submit(work, token, payload, task, self.threads)

    def _pool(self) -> Any:
        count = str(self.threads)
        names = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        return loky.get_reusable_executor(
            self.size, timeout=IDLE_SECONDS, initializer=_leave_interrupts, env=dict.fromkeys(names, count)
        )

    def stop(self) -> None:
        """End the processes."""
        self._pool().shutdown(wait=True, kill_workers=True)

    def renewed(self) -> Crew:
        """Fresh ones take the place of all."""
        return self


class Given(Crew):
    """An executor that the caller brought: threads, processes, a cluster. It is theirs, and is not shut down."""

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self.size = _workers(executor)

    def submit(self, token: str, payload: bytes | None, task: Any) -> Future[Done | Unknown]:
        """Hand out a part of the work."""
        return self.executor.submit(work, token, payload, task, self.threads)

    def stop(self) -> None:
        """Nothing: what is at work is not ours to end."""

    def renewed(self) -> None:
        """Nobody but the caller can make it anew."""


def _leave_interrupts() -> None:
    """Ctrl-C is for the process that people started, which ends the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _workers(executor: Any) -> int:
    """How many work at the same time, as far as an executor says so."""
    found = getattr(executor, "_max_workers", None)
    if found is None and (client := getattr(executor, "_client", None)) is not None:
        with suppress(Exception):
            found = sum(client.nthreads().values())
    return found if isinstance(found, int) and found > 0 else cores()


def cores() -> int:
    """The processors that this process may use."""
    return int(loky.cpu_count())


def crew(executor: Any, n_jobs: Any) -> Crew | None:
    """Who works: None for this process alone."""
    if n_jobs is not None:
        takes = "a number of processes, 1 or more, or -1 for one a processor"
        check_number("n_jobs", n_jobs, takes, lambda count: count >= 1 or count == -1, whole=True)
        if executor is not None:
            raise ParameterError(
                "PARAMETER",
                "Both executor and n_jobs are given, and each says who does the work.",
                fix="Leave one of them out; the executor knows how many workers it has.",
            )
        count = cores() if n_jobs == -1 else int(n_jobs)
        return Processes(count) if count > 1 else None
    if executor is None:
        return None
    if callable(getattr(executor, "get_executor", None)):
        raise refused("executor", executor, "a concurrent.futures.Executor", fix="Give client.get_executor().")
    if isinstance(executor, type) or not callable(getattr(executor, "submit", None)):
        raise refused("executor", executor, "a concurrent.futures.Executor, such as ProcessPoolExecutor(4)")
    return Given(executor)


def died(error: BaseException) -> bool:
    """Whether a worker was killed at work."""
    # The scheduler of a cluster gives up on work that several of its workers died of.
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


def is_gone(error: BaseException) -> bool:
    """Whether an executor as a whole no longer answers: it was shut down, or its scheduler went away."""
    if isinstance(error, CancelledError) or "after shutdown" in str(error):
        return True
    return type(error).__module__.split(".")[0] == "distributed" or isinstance(error, ConnectionError)
