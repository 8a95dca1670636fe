"""How often intervals about twins hold the truth, and how long twins take: `python benchmarks/twins.py [--runs N]`.

In the paper's synthetic world the counterfactual fairness ratio of the refused is known. By itself its interval allows
for chance in who the people are: `known` has the true model and equation; `of these` learns both from the same people,
and asks for the ratio of this model and these equations among 100,000 new people. `of any` asks for the ratio that an
endless sample would give: by the same interval, and, as `resampled`, by that of `ee.Procedure`, which learns both
again.
"""

from __future__ import annotations

import argparse
import time
import warnings
from datetime import UTC, datetime
from math import inf

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.notions.counterfactual import ratios_of
from equieffort.notions.shares import Share
from equieffort.recourse.people import People

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
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X[["X2", "X3"]], y)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X)
    return ee.RecourseProblem.of(model, X, schema=SCHEMA, scm=scm)


def ratio(problem: ee.RecourseProblem, X: pd.DataFrame) -> Share:
    """The ratio of the refused of the protected group."""
    return ratios_of(People.of(problem, X))["refused", "0", ""]


def holds(one: Share, truth: float) -> bool:
    """Whether its interval holds the truth."""
    low, high = one.limits(0.95)
    return low <= truth <= high


def resampled(X: pd.DataFrame, y: pd.Series, replicates: int) -> Share:
    """The ratio with the interval of the whole procedure."""
    model = LogisticRegression(solver="newton-cholesky", tol=1e-10).fit(X[["X2", "X3"]], y)
    scm = ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(X)
    audited = ee.audit(model, X, schema=SCHEMA, scm=scm)
    how = ee.Procedure(X[["X2", "X3"]], y, replicates=replicates)
    return audited.counterfactual_fairness(resample=how).ratio("0")


def main() -> None:
    """Coverage by alpha, then seconds of CPU."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--people", type=int, default=500)
    parser.add_argument("--replicates", type=int, default=50)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(datetime.now(UTC).date())
    print(f"share of {given.runs:,} runs of {given.people:,} people whose 95 % interval holds the ratio; ", end="")
    print(f"{given.replicates} replicates")
    print("alpha   true ratio   known   learned: of these   of any   of any, resampled")
    for alpha in (0.5, 1.0, 2.0, 3.0, 4.0):
        truth = ee.datasets.paper_synthetic_truth(alpha)["cfr"]
        new, _ = ee.datasets.paper_synthetic(alpha, 100_000, given.runs)
        held = np.zeros(4)
        for seed in range(given.runs):
            X, y = ee.datasets.paper_synthetic(alpha, given.people, seed)
            made = learned(X, y)
            one = ratio(made, X)
            held += [
                holds(ratio(known(alpha, X), X), truth), holds(one, ratio(made, new).estimate), holds(one, truth),
                holds(resampled(X, y, given.replicates), truth),
            ]  # fmt: skip
        first, second, third, fourth = held / given.runs
        print(f"{alpha:5g}   {truth:10.3f}   {first:5.3f}   {second:17.3f}   {third:6.3f}   {fourth:17.3f}", flush=True)
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
