"""Certified recourse for trees and networks on Adult: milliseconds of CPU a person, beside the MILP on the same
people.

Run with `make bench`. Each line prints what was measured, its value and the aim. The MILP is so slow that it gets only
a few people; the ratio is the median over these.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numba
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee
from equieffort.foundations.jit import compile_at_once
from equieffort.recourse.solvers.base import LIMIT, Batch
from equieffort.world.schema import UNLIMITED

FOUR = ("education_num", "hours_per_week", "capital_gain", "capital_loss")


def problem_of(
    actions: Sequence[str], model: Any, *, causal: bool, scale: bool = False
) -> tuple[ee.RecourseProblem, Any]:
    setting = ee.datasets.adult_setting(actions, causal=causal, part="test")
    X = setting.X
    texts = [name for name in X if X[name].dtype.kind not in "iuf"]
    encode = make_column_transformer(
        (OneHotEncoder(sparse_output=False, handle_unknown="ignore"), texts),
        remainder=StandardScaler() if scale else "passthrough",
    )
    classifier = make_pipeline(encode, model).fit(X, setting.y)
    problem = ee.RecourseProblem.of(classifier, X, schema=setting.schema, scm=setting.scm)
    return problem, problem.encoding.encode(X[~problem.decision.is_favourable(X)].iloc[:200])


def many_actions(model: Any) -> tuple[ee.RecourseProblem, Any]:
    """Eight amounts that can all be set, in a made-up world."""
    rng = np.random.default_rng(0)
    import pandas as pd

    X = pd.DataFrame(rng.normal(size=(2000, 8)), columns=[f"x{k}" for k in range(8)])
    score = X.to_numpy() @ rng.normal(size=8) + 0.5 * X["x0"] * X["x1"]
    classifier = model.fit(X, score > np.quantile(score, 0.6))
    people = X.assign(side=np.where(np.arange(len(X)) % 2, "left", "right"))
    schema = ee.Schema(
        sensitive="side", protected="left", favourable=True, features=dict.fromkeys(X.columns, UNLIMITED)
    )
    scm = ee.StructuralCausalModel([], nodes=list(people.columns)).fit(people)
    problem = ee.RecourseProblem.of(classifier, people, schema=schema, scm=scm)
    return problem, problem.encoding.encode(people[~problem.decision.is_favourable(people)].iloc[:20])


def each(solver: ee.BranchAndBound, problem: ee.RecourseProblem, people: Any) -> tuple[np.ndarray, int]:
    """Seconds of CPU of each person alone, the less of two times, and how many were not certified."""
    prepared = solver.prepare(problem)
    prepared.propose(Batch(people[:1]))
    took, left = np.full(len(people), np.inf), 0
    for row in [*range(len(people))] * 2:
        start = time.process_time()
        proposal = prepared.propose(Batch(people[row : row + 1]))
        took[row] = min(took[row], time.process_time() - start)
        left += int(proposal.code[0] == LIMIT or bool(proposal.notes))
    return took, left // 2


def together(solver: ee.BranchAndBound, problem: ee.RecourseProblem, people: Any) -> None:
    """The same people in one call, as an audit asks, on one thread."""
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    prepared = solver.prepare(problem)
    start = time.process_time()
    prepared.propose(Batch(people))
    each_one = (time.process_time() - start) / len(people)
    numba.set_num_threads(threads)
    print(f"{'  the same people in one call on one thread':<58} {each_one * 1e3:8.2f} on average", flush=True)


def row(what: str, took: np.ndarray, left: int, aim: str) -> None:
    spread = f"{np.median(took) * 1e3:8.2f} / {np.quantile(took, 0.95) * 1e3:8.2f} / {took.max() * 1e3:8.2f}"
    print(f"{what:<58} {spread}   {left:>2} uncertified   aim: {aim}", flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    solver = ee.BranchAndBound()
    forest = RandomForestClassifier(100, max_depth=6, random_state=0, n_jobs=-1)
    large = RandomForestClassifier(300, max_depth=10, random_state=0, n_jobs=-1)
    boosted = GradientBoostingClassifier(n_estimators=100, max_depth=6, random_state=0)
    network = MLPClassifier((32, 32), max_iter=60, random_state=0)
    print(f"{'':<58} ms a person: median / 95 % / most")
    plain, people = problem_of(FOUR, forest, causal=False)
    took, left = each(solver, plain, people)
    row("forest 100 x 6, four actions, nothing follows", took, left, "median 1 ms")
    together(solver, plain, people)
    milp_ratio(plain, people[:4], took[:4])
    causal, people = problem_of(FOUR, forest, causal=True)
    took, left = each(solver, causal, people)
    row("forest 100 x 6, four actions, hours follow education", took, left, "median 5 ms")
    row("boosted 100 x 6, four actions, hours follow education",
        *each(solver, *problem_of(FOUR, boosted, causal=True)), "as the forest")  # fmt: skip
    mixed = ("education_num", "hours_per_week", "occupation", "workclass")
    row("forest 100 x 6, two numbers and two categories",
        *each(solver, *problem_of(mixed, forest, causal=False)), "as the forest")  # fmt: skip
    row("forest 300 x 10, three actions",
        *each(solver, *problem_of(FOUR[:3], large, causal=True)), "median 25 ms")  # fmt: skip
    certified = replace(solver, gap=1e-5)
    row("network 32-32, four actions, to 1e-5",
        *each(certified, *problem_of(FOUR, network, causal=True, scale=True)), "median 5 ms")  # fmt: skip
    row("forest 100 x 6, eight actions",
        *each(solver, *many_actions(forest)), "about a second")  # fmt: skip


def milp_ratio(problem: ee.RecourseProblem, people: Any, took: np.ndarray) -> None:
    milp, slow = ee.Milp(time_limit=60).prepare(problem), []
    for at in range(len(people)):
        start = time.process_time()
        milp.propose(Batch(people[at : at + 1]))
        slow.append(time.process_time() - start)
    ratio = np.median(np.array(slow) / took)
    print(f"{'  the MILP on the first of these people':<58} {np.median(slow) * 1e3:8.0f} ms, {ratio:,.0f} times slower"
          "   aim: 100 times", flush=True)  # fmt: skip


if __name__ == "__main__":
    with compile_at_once():
        main()
