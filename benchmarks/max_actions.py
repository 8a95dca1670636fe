"""How long `max_actions` and alternatives take: people of a linear world with eight actions, two of which may change.

    python -m benchmarks.max_actions [people]

The more a feature gains, the less far it can go, so that the cheapest way of most people changes more than two of them.
CPU seconds of the second of two runs: the first compiles.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.foundations.jit import compile_at_once
from equieffort.recourse.alternatives import find_alternatives
from equieffort.recourse.table import RecourseTable

ACTIONS, MOST, WAYS = 8, 2, 3


def world(people: int, seed: int = 0) -> tuple[pd.DataFrame, ee.Schema, ee.StructuralCausalModel, np.ndarray]:
    """People, what they may do, a chain of two equations, and the gains of the score."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(ACTIONS)]
    X = pd.DataFrame(rng.normal(0, 1, (people, ACTIONS)), columns=names)
    X["x1"] += 0.5 * X["x0"]
    X["group"] = rng.choice(["a", "b"], people)
    rooms = np.linspace(4.0, 0.4, ACTIONS)
    features = {
        name: ee.Feature("actionable", max_increase=room, max_decrease=room)
        for name, room in zip(names, rooms.tolist(), strict=True)
    }
    schema = ee.Schema(sensitive="group", protected="a", favourable=1, features=features)
    scm = ee.StructuralCausalModel([("x0", "x1")], nodes=list(X)).fit(X)
    return X, schema, scm, np.linspace(1.0, 2.0, ACTIONS)


def timed(work: Callable[[], RecourseTable]) -> tuple[RecourseTable, float]:
    """The result of the second run, and its CPU seconds."""
    work()
    start = time.process_time()
    return work(), time.process_time() - start


def main() -> None:
    people = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    warnings.simplefilter("ignore", EquieffortWarning)
    X, schema, scm, gains = world(people)
    names = list(schema.features)
    rule = ee.LinearScore(dict(zip(names, gains.tolist(), strict=True)), threshold=4.0)
    linear = ee.RecourseProblem.of(rule, X, schema=replace(schema, favourable=True), scm=scm)
    label = (X[names].to_numpy() @ gains > 4.0).astype(int)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0).fit(X[names], label)
    few = X.iloc[: max(people // 20, 2)]
    trees = ee.RecourseProblem.of(forest, X, schema=schema, scm=scm)
    print(f"{'':28} {'people':>7} {'refused':>8} {'optimal':>8} {'infeasible':>11} {'CPU s':>8}")
    for name, problem, table in (("linear score", linear, X), ("ten trees", trees, few)):
        for most in (None, MOST):
            made = replace(problem, schema=replace(problem.schema, max_actions=most))
            found, seconds = timed(lambda made=made, table=table: ee.solve(made, table))
            tell(f"{name}, {'any' if most is None else most} changed", found, seconds)
            if most is None:
                rows = np.arange(len(found))
                last, seconds = timed(lambda found=found, rows=rows: find_alternatives(found, rows, WAYS)[-1])
                tell(f"{name}, {WAYS} ways", last, seconds)


def tell(what: str, table: RecourseTable, seconds: float) -> None:
    """One row."""
    counts = [int((table.status == status).sum()) for status in (ee.Status.OPTIMAL, ee.Status.INFEASIBLE)]
    refused = int(table.is_unfavourable.sum())
    print(f"{what:28} {len(table):7,} {refused:8,} {counts[0]:8,} {counts[1]:11,} {seconds:8.2f}", flush=True)


if __name__ == "__main__":
    with compile_at_once():
        main()
