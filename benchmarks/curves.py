"""The curve: CPU nanoseconds a pair of people, by short codes and as plainly as own distances are swept.

Run with `make bench`, or `python benchmarks/curves.py 10000 100000` for some sizes. Normal features, half of the people
refused, a tenth of them without an action, two groups, one thread; the least of several runs of each, in one process,
so that the ratios hold where the nanoseconds do not.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from equieffort.effort.metrics import PAPER_QUANTILES, Jackknife, curve
from equieffort.effort.neighbours.coded import Coded
from equieffort.effort.neighbours.sweep import Plain
from equieffort.foundations.jit import compile_at_once
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable
from equieffort.world.distances import MixedDistance
from equieffort.world.groups import Groups

SIZES = {10_000: 5_000, 100_000: 2_000, 1_000_000: 1_000}
"""People, and centres among them: as many as `audit.curve()` takes by default."""
PLAINLY = {10_000: 400, 100_000: 64, 1_000_000: 8}
LEVELS = 3


def cpu(work: Callable[[], Any], times: int = 3) -> float:
    """The least CPU time of several runs, after one that compiles."""
    work()
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found)


def people(n: int, features: int, levels: int = 0) -> tuple[RecourseTable, MixedDistance]:
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, features))
    if levels:
        values = rng.integers(0, levels, (n, features)).astype(np.float64)
    codes = rng.integers(0, 2, n).astype(np.int16)
    refused = rng.random(n) < 0.5
    acting = refused & (rng.random(n) < 0.9)
    cost = np.where(acting, rng.exponential(size=n) + 0.01, np.nan)
    status = np.where(~refused, Status.NOT_NEEDED, np.where(acting, Status.OPTIMAL, Status.INFEASIBLE)).astype(np.int8)
    table = RecourseTable(
        None, Groups(("a", "b"), codes, (0,), 1), status, cost, cost, np.zeros(n, dtype=np.int8), np.zeros((n, 0)),
        np.zeros((n, 0), dtype=np.int16),
    )  # fmt: skip
    scales = np.ones(features) if levels else np.ptp(values, axis=0)
    is_category = np.full(features, bool(levels))
    return table, MixedDistance(values, scales, is_category, 1, tuple(map(str, range(features))))


def measure(n: int, features: int, levels: int = 0) -> None:
    table, distance = people(n, features, levels)
    group = np.where(table.is_unfavourable, table.groups.codes, -1).astype(np.int64)
    centres = np.flatnonzero(table.is_unfavourable)[: SIZES[n]]
    few = centres[: PLAINLY[n]]
    quantiles = np.array(PAPER_QUANTILES)
    coded = Coded.of(distance, quantiles, group, table.effort, 2)
    plain = Plain.of(distance, quantiles, group, table.effort, 2)
    assert coded is not None
    new = cpu(lambda: coded.around(centres, first=False)) / n / len(centres) * 1e9
    old = cpu(lambda: plain.around(few, first=False), 1) / n / len(few) * 1e9
    both = cpu(lambda: curve(table, distance, PAPER_QUANTILES, centres, Jackknife())) / n / len(centres) * 1e9
    kind = f"{levels} levels each" if levels else "numbers"
    print(
        f"{n:>9,} people, {features:>2} features, {kind:<14} {new:7.2f} ns {old:8.1f} ns {old / new:6.1f} times "
        f"{both:7.2f} ns"
    )


def whole(n: int = 1_000_000, asked: int = 2_000, aim: float = 15.0) -> None:
    """Seconds of CPU of a curve with bands of many people, everything included."""
    table, distance = people(n, 4)
    centres = np.flatnonzero(table.is_unfavourable)[:asked]
    curve(table, distance, PAPER_QUANTILES, centres[:64], Jackknife())
    start = time.process_time()
    curve(table, distance, PAPER_QUANTILES, centres, Jackknife())
    seconds = time.process_time() - start
    print(
        f"{n:>9,} people, {asked:,} centres with bands: {seconds:.1f} s of CPU   aim: at most {aim:g} s   "
        f"{'met' if seconds <= aim else 'missed'}"
    )


def main() -> None:
    numba.set_num_threads(1)
    sizes = [int(given) for given in sys.argv[1:]] or list(SIZES)
    print(f"{'CPU nanoseconds a pair, 13 quantiles':<46}      by codes    plainly       ratio   with bands")
    for n in sizes:
        measure(n, 4)
    if len(sys.argv) == 1:
        measure(10_000, 12)
        measure(100_000, 4, LEVELS)
    print("aims: at most 3 ns by codes and 9 ns with bands with 4 features")
    if 1_000_000 in sizes:
        whole()


if __name__ == "__main__":
    with compile_at_once():
        main()
