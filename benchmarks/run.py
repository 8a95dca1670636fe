"""Speed and memory, as ratios in one run: a shared machine makes seconds noise, ratios less so.

Run with `make bench`. Each line prints what was measured, its value and the aim.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equieffort as ee
from equieffort.effort.metrics import neighbourhood_sweep
from equieffort.foundations.jit import compile_at_once
from equieffort.recourse import verification
from equieffort.recourse.solvers.linear.fill_kernels import Answers, Asked, fill_batch
from equieffort.world.schema import UNLIMITED

PEOPLE = 1_000_000


def best_of(times: int, work: Callable[[], Any]) -> float:
    """The least of several durations: what the machine can do when nobody else wants it."""
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        durations.append(time.perf_counter() - start)
    return min(durations)


def line(what: str, value: str, aim: str) -> None:
    print(f"{what:<58} {value:>14}   aim: {aim}")


def world(n: int) -> tuple[ee.RecourseProblem, Any]:
    X, y = ee.datasets.paper_synthetic(alpha=2, n=n)
    classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[["X2", "X3"]], y)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X)
    schema = ee.Schema(sensitive="S", protected=0, favourable=1, features={"X2": UNLIMITED, "X3": UNLIMITED})
    return ee.RecourseProblem.of(classifier, X, schema=schema, scm=scm), X


def kernel() -> float:
    """Nanoseconds a person in the compiled fill, on all threads."""
    rng = np.random.default_rng(0)
    need, slack, tolerance = rng.exponential(size=PEOPLE), np.full(PEOPLE, 1e-12), np.full(PEOPLE, 1e-12)
    low, high = np.full((PEOPLE, 2), -np.inf), np.full((PEOPLE, 2), np.inf)
    gain, price, whole = np.array([1.2, 0.7]), np.array([[0.1, 0.12]]), np.zeros(2, dtype=bool)
    cost, bound, delta = np.empty(PEOPLE), np.empty(PEOPLE), np.empty((PEOPLE, 2))
    code = np.empty(PEOPLE, dtype=np.int8)

    def run() -> None:
        asked = Asked(need, slack, tolerance, gain, price, price, low, high, whole, False)
        fill_batch(asked, Answers(cost, bound, delta, code))

    run()
    return best_of(5, run) / PEOPLE * 1e9


def one_linprog(problem: ee.RecourseProblem, X: Any, people: int = 300) -> float:
    """Seconds a person for the same problem, one linprog call each."""
    view = problem.view
    matrix = problem.encoding.encode(X.iloc[: 4 * people])
    needs = -view.score(matrix)
    needs = needs[needs > 0][:people]
    gain = view.weights[list(problem.numeric)]
    prices = np.concatenate([problem.cost.up, problem.cost.down])

    def run() -> None:
        for need in needs:
            linprog(prices, A_ub=-np.concatenate([gain, -gain])[None, :], b_ub=[-need], method="highs")

    return best_of(2, run) / len(needs)


def replay_share(problem: ee.RecourseProblem, X: Any) -> float:
    """The share of `solve` that is spent on replaying every action."""
    spent = [0.0]
    original = verification.ActionVerifier._replay

    def timed(self: Any, *args: Any) -> Any:
        start = time.perf_counter()
        result = original(self, *args)
        spent[0] += time.perf_counter() - start
        return result

    verification.ActionVerifier._replay = timed
    try:
        start = time.perf_counter()
        ee.solve(problem, X)
        return spent[0] / (time.perf_counter() - start)
    finally:
        verification.ActionVerifier._replay = original


def memory(problem: ee.RecourseProblem, X: Any) -> float:
    """Peak memory of input and `solve` together, over the input's size."""
    size = int(X.memory_usage(index=False).sum())
    tracemalloc.start()
    table = ee.solve(problem, X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    del table
    return (size + peak) / size


def curve(n: int) -> tuple[float, float]:
    """Seconds for everybody a centre and 13 quantiles, and how often sorting every row would fit into that."""
    problem, X = world(n)
    audit = ee.audit(problem.decision.classifier, X, schema=problem.schema, scm=problem.scm)
    distance = audit.distance(ee.Manhattan())
    everybody = np.arange(n)
    neighbourhood_sweep(audit.recourse, distance, ee.PAPER_QUANTILES, everybody[:10])
    seconds = best_of(3, lambda: neighbourhood_sweep(audit.recourse, distance, ee.PAPER_QUANTILES, everybody))
    some = 200
    naive = best_of(
        2, lambda: [np.quantile(distance.to_all(slice(i, i + 1))[0], ee.PAPER_QUANTILES) for i in range(some)]
    )
    return seconds, naive / some * n / seconds


def import_cpu() -> float:
    """Seconds of CPU that `import equieffort` adds to starting Python."""

    def cpu(code: str) -> float:
        probe = f"import time; {code}; print(time.process_time())"
        runs = [
            subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True) for _ in range(5)
        ]
        return min(float(run.stdout) for run in runs)

    return cpu("import equieffort") - cpu("pass")


def main() -> None:
    warnings.simplefilter("ignore", ee.errors.EquieffortWarning)
    line("import equieffort (CPU)", f"{import_cpu():.3f} s", "under 0.3 s")
    nanoseconds = kernel()
    line("kernel, a person, two threads", f"{nanoseconds:.1f} ns", "at most 50 ns")
    problem, X = world(PEOPLE)
    ee.solve(problem, X.iloc[:1000])
    seconds = best_of(3, lambda: ee.solve(problem, X))
    line(f"solve with replay, {PEOPLE:,} people, a person", f"{seconds / PEOPLE * 1e9:.0f} ns", "at most 500 ns")
    line("share of the replay in solve", f"{replay_share(problem, X):.0%}", "printed")
    slow = one_linprog(problem, X)
    unfavourable = float(np.mean(ee.solve(problem, X).is_unfavourable))
    line(
        "times faster than one linprog call a person",
        f"{slow * unfavourable * PEOPLE / seconds:,.0f}",
        "at least 1,000",
    )
    line("peak memory, input included, over input", f"{memory(problem, X):.2f}", "at most 4")
    seconds, naive = curve(10_000)
    line("ACR curve, n = 10,000, 13 quantiles, everybody a centre", f"{seconds:.2f} s", "under 3 s")
    line("times faster than numpy.quantile a centre", f"{naive:.1f}", "printed")


if __name__ == "__main__":
    with compile_at_once():
        main()
