"""The oracles can be imported by every test, and `make verify` ends with a table of what was compared."""

from __future__ import annotations

import os
import platform
import sys
import threading
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

# Workers share the cores: threads of scikit-learn, boosters and linear algebra would mostly wait for each other, and
# burn what they wait. Said before any of these is imported; numba's are set below, to one.
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None

import numba  # noqa: E402
import numpy  # noqa: E402
import pytest  # noqa: E402
import scipy  # noqa: E402
import typer.testing  # noqa: E402
from hypothesis import settings  # noqa: E402
from numba.core import event  # noqa: E402

from equieffort.errors import EquieffortWarning  # noqa: E402

numba.set_num_threads(1)

# However pytest is started, `tests.oracles` is found.
sys.path.insert(0, str(Path(__file__).parents[1]))

# The command line is built once, and not anew for each call.
typer.testing._get_command = cache(typer.testing._get_command)

# Machines differ in speed and are shared; no test judges seconds.
settings.register_profile("steady", deadline=None, max_examples=40)
settings.load_profile("steady")


class OneAtATime(event.Listener):
    """Of the workers one compiles; those who need the same loop wait, and then read what was kept."""

    def __init__(self, folder: Path) -> None:
        self.mine, self.depth, self.file = threading.RLock(), 0, os.open(folder, os.O_RDONLY)

    def on_start(self, event: event.Event) -> None:
        self.mine.acquire()
        if self.depth == 0:
            fcntl.flock(self.file, fcntl.LOCK_EX)
        self.depth += 1

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            fcntl.flock(self.file, fcntl.LOCK_UN)
        self.mine.release()


if fcntl is not None and "PYTEST_XDIST_WORKER" in os.environ:
    event.register("numba:compiler_lock", OneAtATime(Path(__file__).parent))


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Test workers share the cores, and threads would wait for each other; tests about threads ask for more."""
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(1)


@pytest.fixture
def quiet() -> Iterator[None]:
    """For worlds that are odd, which the package says and the test is not about."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        yield


COLUMNS = ("cases", "people", "optimal", "infeasible", "feasible", "disagreements")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the verify tests compared, a line a family; and what the fuzzing tried, a line a target."""
    _tell_fuzzing(terminalreporter)
    totals: dict[str, Counter[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, counts in getattr(report, "user_properties", ()):
                if name == "verify" and getattr(report, "when", "") == "call":
                    totals.setdefault(counts["family"], Counter()).update({c: counts[c] for c in COLUMNS})
    if not totals:
        return
    write = terminalreporter.write_line
    terminalreporter.section("exact solver against brute force")
    versions = f"Python {platform.python_version()}, numpy {numpy.__version__}, scipy {scipy.__version__}"
    write(f"{datetime.now(UTC):%Y-%m-%d}, {versions}")
    write(f"{'family':30}" + "".join(f"{column:>15}" for column in COLUMNS))
    totals["all"] = sum(totals.values(), Counter())
    for family, counts in totals.items():
        write(f"{family:30}" + "".join(f"{counts[column]:15,}" for column in COLUMNS))


def _tell_fuzzing(terminalreporter: pytest.TerminalReporter) -> None:
    found = {
        counts["target"]: counts
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, counts in getattr(report, "user_properties", ())
        if name == "fuzz" and getattr(report, "when", "") == "call"
    }
    if not found:
        return
    terminalreporter.section("files and texts that nobody saved")
    write = terminalreporter.write_line
    write(f"{datetime.now(UTC):%Y-%m-%d}, Python {platform.python_version()}, numpy {numpy.__version__}")
    heads = ("CPU seconds", "examples", "read", "refused", "faults")
    write(f"{'target':20}" + "".join(f"{head:>14}" for head in heads))
    for target, counts in found.items():
        numbers = (round(counts["seconds"]), *(counts.get(key, 0) for key in heads[1:]))
        write(f"{target:20}" + "".join(f"{number:14,}" for number in numbers))
