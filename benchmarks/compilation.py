"""How long the first answer takes where nothing is compiled yet, and what compiling a search takes.

Run with `make bench`, or with words that the rows to print begin with; `--beside SRC` measures the `src` folder of
another checkout too, in turn, and prints the ratio with nothing kept. Fresh interpreters with a cache of their own.
First what users start: seconds of CPU of the German demo and of the README's example, less those of importing what
these import, with nothing kept and after `equieffort warm-up`. Then the first answer about a few people, and
last the compilation of a whole search: seconds of the first call less those of the second, with nothing kept and with
everything kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

KINDS = {
    "linear": "a linear model",
    "chain": "a linear model with long chains",
    "trees": "trees by branch and bound",
    "networks": "networks by branch and bound",
    "bent": "bent equations (nothing is compiled)",
}
AIMS = {"linear": 30.0, "chain": 30.0, "trees": 12.0, "networks": 15.0, "bent": 30.0}
FEW = {"forest": "a forest 100 x 6, ten people", "network": "a network 32-32, ten people"}
DEMO = "from equieffort.cli import main; main()"
ROOT = Path(__file__).parents[1]
SPENT = """
import resource, sys, time
def now():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
importing = [0.0, 0]
import builtins
plain = builtins.__import__
def timed(*given, **named):
    importing[1] += 1
    before = now() if importing[1] == 1 else 0.0
    try:
        return plain(*given, **named)
    finally:
        if importing[1] == 1:
            importing[0] += now() - before
        importing[1] -= 1
builtins.__import__ = timed
began = now()
try:
    exec(compile(sys.stdin.read(), "asked", "exec"), {"__name__": "asked"})
except SystemExit as end:
    assert not end.code, end.code
print()
print(now() - began - importing[0])
"""


def started(code: str, cache: str, source: str, *words: str) -> float:
    """Seconds of CPU of a program in a fresh interpreter, less those of its imports."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run(
            [sys.executable, "-c", SPENT, *words], input=code, text=True, cwd=folder, check=True, capture_output=True,
            env={**os.environ, "NUMBA_CACHE_DIR": cache, "HOME": folder, "PYTHONPATH": source},
        )  # fmt: skip
    return float(run.stdout.split()[-1])


def readme() -> str:
    """The example of the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.split("```python\n")[1].split("```")[0]


def waited(kind: str, cache: str, source: str) -> float:
    """Seconds of CPU, in a fresh interpreter whose compiled code is kept in the folder."""
    run = subprocess.run(
        [sys.executable, __file__, "--first", kind],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": source},
        check=True,
        capture_output=True,
    )
    return float(run.stdout)


def prepared(model: Any, people: int, *, bent: bool = False, solver: Any = None) -> tuple[Any, Any]:
    """A solver of made-up people's problem, and so many of the refused."""
    import numpy as np
    import pandas as pd

    import equieffort as ee
    from equieffort.world.schema import UNLIMITED

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    cause = rng.normal(size=400)
    table = pd.DataFrame(
        {
            "cause": cause,
            "effect": cause + np.tanh(cause) + 0.1 * rng.normal(size=400),
            "other": rng.normal(size=400),
            "side": np.where(np.arange(400) % 2, "left", "right"),
        }
    )
    X = table[["cause", "effect", "other"]]
    classifier = model.fit(X, X.sum(axis=1) > 0.5)
    schema = ee.Schema(
        sensitive="side", protected="left", favourable=True, features=dict.fromkeys(X.columns, UNLIMITED)
    )
    mechanisms = {"effect": ee.Polynomial(degree=2)} if bent else {}
    scm = ee.StructuralCausalModel([("cause", "effect")], nodes=list(table.columns), mechanisms=mechanisms).fit(table)
    problem = ee.RecourseProblem.of(classifier, table, schema=schema, scm=scm)
    ready = ee.Auto().select(problem).prepared if solver is None else solver.prepare(problem)
    refused = table[~problem.decision.is_favourable(table)].iloc[:people]
    return ready, ee.solvers.Batch(problem.scaled.encoding.encode(refused))


def first(kind: str) -> float:
    """Seconds of CPU of the first proposal less those of the second, compiled although there is so little to do."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    import equieffort as ee
    from equieffort.foundations.jit import compile_at_once

    model = {
        "trees": RandomForestClassifier(10, max_depth=4, random_state=0),
        "networks": MLPClassifier((8, 8), max_iter=300, random_state=0),
    }.get(kind, LogisticRegression())
    solver, asked = prepared(model, 20, bent=kind == "bent", solver=ee.LinearSearch() if kind == "chain" else None)
    took = []
    with compile_at_once():
        for _ in range(2):
            start = time.process_time()
            solver.propose(asked)
            took.append(time.process_time() - start)
    return took[0] - took[1]


def few(kind: str) -> float:
    """Seconds of CPU of the first ten people."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier

    model = RandomForestClassifier(100, max_depth=6, random_state=0)
    solver, asked = prepared(model if kind == "forest" else MLPClassifier((32, 32), random_state=0), 10)
    start = time.process_time()
    solver.propose(asked)
    return time.process_time() - start


def main(wanted: list[str], sources: list[str]) -> None:
    print(f"{'':<48} nothing kept   once kept", flush=True)
    for what, code, words in (
        ("the German demo, less imports", DEMO, ("demo", "german", "--out", "here")),
        ("the README's example, less imports", readme(), ()),
    ):
        if not wanted or what.startswith(tuple(wanted)):
            row(what, [_whole(code, source, words) for source in sources], 4.0)
    for kind, what in (FEW | KINDS).items():
        if not wanted or what.startswith(tuple(wanted)):
            row(what, [_waits(kind, source) for source in sources], AIMS.get(kind, 12.0))


def _whole(code: str, source: str, words: tuple[str, ...]) -> tuple[float, float]:
    """A program with nothing kept, and after `equieffort warm-up`."""
    with tempfile.TemporaryDirectory() as cache:
        cold = started(code, cache, source, *words)
        subprocess.run(
            [sys.executable, "-m", "equieffort", "warm-up", "-q"],
            env={**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPATH": source}, check=True,
        )  # fmt: skip
        return cold, started(code, cache, source, *words)


def _waits(kind: str, source: str) -> tuple[float, float]:
    with tempfile.TemporaryDirectory() as cache:
        return waited(kind, cache, source), waited(kind, cache, source)


def row(what: str, took: list[tuple[float, float]], aim: float) -> None:
    (cold, warm), *others = took
    text = (
        f"{what:<48} {cold:8.1f} s of CPU {warm:6.2f}   aim: at most {aim:.0f} s   {'met' if cold <= aim else 'missed'}"
    )
    for other, _ in others:
        text += f"   the other: {other:.1f} s; ratio {cold / max(other, 0.01):.2f}"
    print(text, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--first"]:
        print(few(sys.argv[2]) if sys.argv[2] in FEW else first(sys.argv[2]))
    else:
        from whole_runs import both

        beside = sys.argv[1:2] == ["--beside"]
        main(sys.argv[3:] if beside else sys.argv[1:], both(sys.argv[2] if beside else None))
