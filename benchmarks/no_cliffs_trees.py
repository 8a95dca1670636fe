"""No cliffs: what certified recourse costs a person where it used to get steep, each case beside its target.

Run with `make bench`, or `python benchmarks/no_cliffs_trees.py [SRC] --only WORD`. People are asked about in one call
on one thread, as an audit asks, with everything compiled: milliseconds of CPU a person on average, how many are
certified, and whether the target is met. Given the `src` folder of another checkout, each case is measured there too,
right after and in a process of its own, and the ratio of both is printed. A case is a row of `CASES`: a name, what
makes the problem and its people, and the target.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pandas as pd

import equieffort as ee
from equieffort.recourse.solvers.base import LIMIT, Batch
from equieffort.world.schema import UNLIMITED
from whole_runs import both, run

try:
    from equieffort.foundations.jit import compile_at_once
except ImportError:
    # Older sources compile everything anyhow.
    from contextlib import nullcontext as compile_at_once

Made = tuple[ee.RecourseProblem, Any]


@dataclass(frozen=True)
class Case:
    """A row of the table."""

    name: str
    make: Callable[[], Made]
    """The problem, and encoded people who are refused."""
    target: float | None
    """Milliseconds of CPU a person on average; None where none was set."""
    solver: ee.Solver | None = None
    """By default what `Auto` chooses."""


def refused(problem: ee.RecourseProblem, X: pd.DataFrame, most: int) -> Made:
    """The first so many who are refused, as solvers see them: in scaled units."""
    return problem, problem.scaled.encoding.encode(X[~problem.decision.is_favourable(X)].iloc[:most])


def adult_forest(*, causal: bool) -> Made:
    """A forest of 100 trees of depth 6 on Adult, four actions."""
    from sklearn.compose import make_column_transformer
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    actions = ("education_num", "hours_per_week", "capital_gain", "capital_loss")
    setting = ee.datasets.adult_setting(actions, causal=causal, part="test")
    X = setting.X
    texts = [name for name in X if X[name].dtype.kind not in "iuf"]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), texts), remainder="passthrough"
    )
    forest = RandomForestClassifier(100, max_depth=6, random_state=0)
    classifier = make_pipeline(encode, forest).fit(X, setting.y)
    return refused(ee.RecourseProblem.of(classifier, X, schema=setting.schema, scm=setting.scm), X, 1000)


def made_up(model: Any, columns: int, acting: int, people: int, rows: int = 4000, limit: float | None = None) -> Made:
    """Numbers in a made-up world in which nothing follows: a score that bends, and some noise in the labels."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(rows, columns))
    score = values @ rng.normal(size=columns) + values[:, 0] * values[:, 1] + np.maximum(values[:, 2], 0) * 2
    labels = score + rng.normal(size=rows) > np.quantile(score, 0.6)
    names = [f"x{k}" for k in range(columns)]
    X = pd.DataFrame(values, columns=names)
    classifier = model.fit(X, labels.astype(int))
    X = X.assign(side=np.where(np.arange(rows) % 2, "left", "right"))
    acts: Any = UNLIMITED if limit is None else ee.Feature("actionable", lower=-limit, upper=limit)
    features = {name: acts if k < acting else "immutable" for k, name in enumerate(names)}
    schema = ee.Schema(sensitive="side", protected="left", favourable=1, features=features)
    scm = ee.StructuralCausalModel([], nodes=list(X)).fit(X)
    return refused(ee.RecourseProblem.of(classifier, X, schema=schema, scm=scm), X, people)


def boosted() -> Made:
    """XGBoost, 500 trees of depth 6, of 40 columns."""
    import xgboost

    return made_up(xgboost.XGBClassifier(n_estimators=500, max_depth=6, learning_rate=0.1, n_jobs=1), 40, 8, 20)


def network(actions: int, people: int = 20) -> Made:
    """A network of two hidden layers of 32."""
    from sklearn.neural_network import MLPClassifier

    return made_up(MLPClassifier((32, 32), max_iter=200, random_state=0), actions, actions, people, limit=4.0)


def eight_actions() -> Made:
    """Eight amounts that can all be set, as in `certificates.py`."""
    from sklearn.ensemble import RandomForestClassifier

    from certificates import many_actions

    problem, people = many_actions(RandomForestClassifier(100, max_depth=6, random_state=0))
    return problem, problem.scaled.encoding.encode(problem.encoding.decode(people, None))


CASES = [
    Case("forest 100 x 6, four actions, nothing follows", lambda: adult_forest(causal=False), 0.25),
    Case("forest 100 x 6, four actions, hours follow education", lambda: adult_forest(causal=True), 0.35),
    Case("forest 100 x 6, eight actions", eight_actions, None),
    Case("XGBoost 500 x 6, 8 of 40 features actionable", boosted, 40.0),
    Case("network 32-32, four actions", lambda: network(4), None),
    Case("network 32-32, six actions", lambda: network(6), None),
    Case("network 32-32, eight actions", lambda: network(8), None),
    Case("network 32-32, ten actions", lambda: network(10), 100.0),
]


def row(case: Case) -> tuple[str, float]:
    """What a case took, in words, and milliseconds a person."""
    problem, people = case.make()
    choice = ee.Auto().select(problem)
    prepared = choice.prepared if case.solver is None else case.solver.prepare(problem.scaled)
    assert not isinstance(prepared, ee.solvers.Refusal)
    prepared.propose(Batch(people[:2]))
    start = time.process_time()
    proposal = prepared.propose(Batch(people))
    mean = (time.process_time() - start) / len(people) * 1e3
    left = sum(1 for row in range(len(people)) if proposal.code[row] == LIMIT or row in proposal.notes)
    aim = "no target" if case.target is None else f"target {case.target:g} ms: "
    if case.target is not None:
        aim += "met" if mean <= case.target and left == 0 else "MISSED"
    text = f"{case.name:<54} {mean:10.3f} ms   {len(people) - left:>5} of {len(people):>5} certified   {aim}"
    return text, mean


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", nargs="?")
    parser.add_argument("--only", default="")
    parser.add_argument("--spent", default="", help="one case by its name, of which only the time is printed")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    numba.set_num_threads(1)
    if given.spent:
        print("spent", measured(given.spent)[1])
        return
    print("CPU a person on average, one call on one thread", flush=True)
    for case in CASES:
        if given.only in case.name:
            text, mean = measured(case.name)
            for source in both(given.other)[1:]:
                other = run([sys.executable, __file__, "--spent", case.name], Path.cwd(), source).cpu
                text += f"   the other: {other:.3f} ms; ratio {mean / other:.2f}"
            print(text, flush=True)


def measured(name: str) -> tuple[str, float]:
    """A row with everything compiled."""
    with compile_at_once():
        return row(next(case for case in CASES if case.name == name))


if __name__ == "__main__":
    main()
