"""What a change costs: users' work timed before and after it, in one run: `python benchmarks/before_after.py OLD`.

OLD is a commit. It is checked out beside this one, and both do the same work in turn, each time in a fresh process:
seconds of CPU, the least of several rounds, and their ratio. Compiled code is kept in a cache of its own for each; the
rows "compiling" are the first call with an empty one less the second. `--rounds N` says how many, `--only WORD` what.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
WORST = 1.1
"""No row may be slower than so many times."""


def people(n: int) -> Any:
    """Three numbers, one of which follows another, a category and two groups."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(0)
    cause = rng.normal(size=n)
    return pd.DataFrame(
        {
            "cause": cause,
            "effect": cause + np.tanh(cause) + 0.1 * rng.normal(size=n),
            "other": rng.normal(size=n),
            "job": rng.choice(["low", "mid", "high"], n),
            "side": np.where(np.arange(n) % 2, "left", "right"),
        }
    )


def problem(kind: str, n: int, *, bent: bool = False, rules: Any = ()) -> tuple[Any, Any]:
    """A problem with a model of some kind, and its people."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    import equieffort as ee

    table = people(n)
    X = table[["cause", "effect", "other"]]
    model = {
        "linear": LogisticRegression(),
        "forest": RandomForestClassifier(60, max_depth=5, random_state=0),
        "network": MLPClassifier((16, 16), max_iter=200, random_state=0),
        "neighbours": KNeighborsClassifier(5),
    }[kind].fit(X[:2000], X[:2000].sum(axis=1) > 0.5)
    features = {
        **dict.fromkeys(X, ee.Feature("actionable", lower=-5.0, upper=5.0)),
        "job": "immutable",
    }
    schema = ee.Schema(sensitive="side", protected="left", favourable=True, features=features, rules=rules)
    mechanisms = {"effect": ee.Polynomial(degree=2)} if bent else {}
    scm = ee.StructuralCausalModel([("cause", "effect")], nodes=list(table), mechanisms=mechanisms).fit(table)
    return ee.RecourseProblem.of(model, table, schema=schema, scm=scm), table


def solving(kind: str, n: int, **more: Any) -> Callable[[], Any]:
    """Solve everybody."""
    import equieffort as ee

    made, table = problem(kind, n, **more)
    return lambda: ee.solve(made, table)


def reasons(n: int) -> Callable[[], Any]:
    """Solve people who cannot go far enough, and ask why."""
    import equieffort as ee

    made, table = problem("forest", n)
    schema = ee.Schema(
        sensitive="side", protected="left", favourable=True,
        features={"cause": ee.Feature("actionable", max_increase=0.05, max_decrease=0.05), "effect": "mutable"},
    )  # fmt: skip
    made = ee.RecourseProblem.of(made.decision.classifier, table, schema=schema, scm=made.scm)
    return lambda: ee.solve(made, table).frame()


def auditing(n: int) -> Callable[[], Any]:
    """An audit with its curve, its report and its file."""
    import equieffort as ee
    from equieffort.report import render

    made, table = problem("linear", n)

    def run() -> None:
        audit = ee.audit(made.decision.classifier, table, schema=made.schema, scm=made.scm)
        audit.curve()
        render(audit)
        with tempfile.TemporaryDirectory() as folder:
            audit.save(Path(folder) / "one.audit")
            ee.load(Path(folder) / "one.audit")

    return run


RULES = ("if cause > 1 then other <= 2",)
WORK: dict[str, Callable[[], Callable[[], Any]]] = {
    "linear score, 200,000 people": lambda: solving("linear", 200_000),
    "linear score with rules, 60 people": lambda: solving("linear", 60, rules=RULES),
    "forest 60 x 5, 400 people": lambda: solving("forest", 400),
    "network 16-16, 100 people": lambda: solving("network", 100),
    "bent equation, 4,000 people": lambda: solving("linear", 4_000, bent=True),
    "search, 200 people": lambda: solving("neighbours", 200),
    "why not, 2,000 people": lambda: reasons(2_000),
    "audit, report and file, 20,000 people": lambda: auditing(20_000),
}
COMPILED = ("linear score, 200,000 people", "forest 60 x 5, 400 people", "network 16-16, 100 people")


def at_once(run: Callable[[], Any]) -> Callable[[], Any]:
    """Compiled however little there is to do; older sources always compile."""
    from equieffort.foundations import jit

    def compiled() -> Any:
        with jit.compile_at_once() if hasattr(jit, "compile_at_once") else nullcontext():
            return run()

    return compiled


def spent(what: str) -> float:
    """Seconds of CPU of one piece of work in this process, after one that compiled."""
    warnings.simplefilter("ignore")
    run = at_once(WORK[what]())
    run()
    start = time.process_time()
    run()
    return time.process_time() - start


def compiled(what: str) -> float:
    """Seconds of CPU of the first call less the second."""
    warnings.simplefilter("ignore")
    run, took = at_once(WORK[what]()), []
    for _ in range(2):
        start = time.process_time()
        run()
        took.append(time.process_time() - start)
    return took[0] - took[1]


def asked(source: Path, cache: Path, *words: str) -> float:
    """What a fresh process with these sources prints."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    env = os.environ | one | {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, __file__, *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Time both, row by row."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    if given.old in ("--spent", "--compiled"):
        raise SystemExit("that is for the benchmark itself")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run(["git", "worktree", "add", "--detach", str(folder / "old"), given.old], cwd=ROOT, check=True,
                       capture_output=True)  # fmt: skip
        sources = (folder / "old" / "src", ROOT / "src")
        try:
            print(f"{'seconds of CPU':<52} {'before':>8} {'after':>8} {'ratio':>6}")
            for what in (what for what in WORK if given.only in what):
                least = [float("inf")] * 2
                for _ in range(given.rounds):
                    for k, source in enumerate(sources):
                        least[k] = min(least[k], asked(source, folder / f"cache{k}", "--spent", what))
                _row(what, least)
            for what in (what for what in COMPILED if given.only in what):
                both = [
                    asked(source, folder / f"{len(what)}{k}", "--compiled", what) for k, source in enumerate(sources)
                ]
                _row(f"compiling: {what.split(',')[0]}", both)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder / "old")], cwd=ROOT, check=False)


def _row(what: str, both: list[float]) -> None:
    ratio = both[1] / both[0]
    print(f"{what:<52} {both[0]:8.2f} {both[1]:8.2f} {ratio:6.2f}{'   slower' if ratio > WORST else ''}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--spent"]:
        print(spent(sys.argv[2]))
    elif sys.argv[1:2] == ["--compiled"]:
        print(compiled(sys.argv[2]))
    else:
        main()
