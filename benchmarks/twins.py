"""How often intervals about twins hold the truth, and how long twins take: `python benchmarks/twins.py [--runs N]`.

In the paper's synthetic world the counterfactual fairness ratio of the refused is known. Its interval allows for chance
in who the people are, so that it is looked at with the true model and equation, and also with both learned from the
same people, which it does not allow for.
"""

from __future__ import annotations

import argparse
import time
import warnings
from math import inf

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.notions.base import Audited
from equieffort.notions.counterfactual import CounterfactualFairness

FREE = ee.Feature("actionable", lower=-inf, upper=inf)
SCHEMA = ee.Schema(sensitive="S", protected=0, favourable=1, features={"X2": FREE, "X3": FREE})


def known(alpha: float, X: pd.DataFrame) -> ee.RecourseProblem:
    """The true boundary and the true equation."""
    mechanisms = {"X2": ee.Linear({"S": alpha}, intercept=3)}
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms=mechanisms).fit(X)
    rule = ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3 + alpha / 2)
    return ee.RecourseProblem.of(rule, X, schema=SCHEMA, scm=scm)


def learned(X: pd.DataFrame, y: pd.Series) -> ee.RecourseProblem:
    """Both learned from these people."""
    model = LogisticRegression(tol=1e-10, max_iter=1000).fit(X[["X2", "X3"]], y)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X)
    return ee.RecourseProblem.of(model, X, schema=SCHEMA, scm=scm)


def holds(problem: ee.RecourseProblem, X: pd.DataFrame, truth: float) -> bool:
    """Whether the interval of the protected group's ratio holds the truth."""
    found = CounterfactualFairness.of(Audited(ee.solve(problem, X), 0.95, None, problem), problem)
    low, high = found.ratio("0").limits(0.95)
    return low <= truth <= high


def main() -> None:
    """Coverage by alpha, then seconds of CPU."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--people", type=int, default=500)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"share of {given.runs:,} runs of {given.people:,} people whose 95 % interval holds the true ratio")
    print("alpha   true ratio   model and equation known   both learned")
    for alpha in (0.5, 1.0, 2.0, 3.0, 4.0):
        truth = ee.datasets.paper_synthetic_truth(alpha)["cfr"]
        held = np.zeros(2)
        for seed in range(given.runs):
            X, y = ee.datasets.paper_synthetic(alpha, given.people, seed)
            held += [holds(known(alpha, X), X, truth), holds(learned(X, y), X, truth)]
        print(f"{alpha:5g}   {truth:10.3f}   {held[0] / given.runs:24.3f}   {held[1] / given.runs:12.3f}")
    X, y = ee.datasets.paper_synthetic(2.0, 100_000, 0)
    audited = ee.audit(
        LogisticRegression().fit(X[["X2", "X3"]], y), X, schema=SCHEMA,
        scm=ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X),
    )  # fmt: skip
    for name in ("counterfactual_fairness", "fair_causal_recourse", "causal_discrimination"):
        before = time.process_time()
        found = getattr(audited, name)()
        found.frame()
        print(f"{name} of {len(X):,} people: {time.process_time() - before:.2f} s of CPU")


if __name__ == "__main__":
    main()
