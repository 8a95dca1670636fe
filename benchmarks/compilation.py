"""How long a solver's first answer waits for compilation, with nothing cached and with everything cached.

Run with `make bench`. Fresh interpreters with a cache of their own: seconds of CPU of the first call less those of the
second. Compiled code is kept on disk, so only the first process that ever asks waits; the others load what it left.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import warnings

KINDS = {
    "linear": "a linear model (must not wait for the others)",
    "trees": "trees by branch and bound",
    "networks": "networks by branch and bound",
    "bent": "bent equations (nothing is compiled)",
}
AIMS = {"linear": 30.0, "trees": 12.0, "networks": 15.0, "bent": 30.0}


def waited(kind: str, cache: str) -> float:
    """Seconds of CPU, in a fresh interpreter whose compiled code is kept in the folder."""
    run = subprocess.run(
        [sys.executable, __file__, kind], env={**os.environ, "NUMBA_CACHE_DIR": cache}, check=True, capture_output=True
    )
    return float(run.stdout)


def first(kind: str) -> float:
    """Seconds of CPU of the first proposal less those of the second, in this interpreter."""
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.neural_network import MLPClassifier

    import equieffort as ee
    from equieffort.world.schema import UNLIMITED

    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    cause = rng.normal(size=400)
    people = pd.DataFrame(
        {
            "cause": cause,
            "effect": cause + np.tanh(cause) + 0.1 * rng.normal(size=400),
            "other": rng.normal(size=400),
            "side": np.where(np.arange(400) % 2, "left", "right"),
        }
    )
    model = {
        "linear": LogisticRegression(),
        "trees": RandomForestClassifier(10, max_depth=4, random_state=0),
        "networks": MLPClassifier((8, 8), max_iter=300, random_state=0),
        "bent": LogisticRegression(),
    }[kind]
    X = people[["cause", "effect", "other"]]
    classifier = model.fit(X, X.sum(axis=1) > 0.5)
    schema = ee.Schema(
        sensitive="side", protected="left", favourable=True, features=dict.fromkeys(X.columns, UNLIMITED)
    )
    bent = {"effect": ee.Polynomial(degree=2)} if kind == "bent" else {}
    scm = ee.StructuralCausalModel([("cause", "effect")], nodes=list(people.columns), mechanisms=bent).fit(people)
    problem = ee.RecourseProblem.of(classifier, people, schema=schema, scm=scm)
    solver = ee.Auto().select(problem).prepared
    asked = problem.scaled.encoding.encode(people[~problem.decision.is_favourable(people)].iloc[:20])
    took = []
    for _ in range(2):
        start = time.process_time()
        solver.propose(ee.solvers.Batch(asked))
        took.append(time.process_time() - start)
    return took[0] - took[1]


def main() -> None:
    for kind, what in KINDS.items():
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = waited(kind, cache), waited(kind, cache)
        print(f"{what:<48} {cold:6.1f} s of CPU, {warm:5.2f} once cached   aim: at most {AIMS[kind]:.0f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(first(sys.argv[1]))
    else:
        main()
