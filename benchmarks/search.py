"""How far a search overshoots the proven optimum, group by group: German credit, a logistic model and a forest.

Run with `python benchmarks/search.py [--budget N ...] [--people N]`. For each model, budget and group: how many of the
people who have an action got one, their cost over the proven one (median, mean, largest), and the ratio of average
efforts that each would report. A model of which no solver proves anything is left out, with the reason.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.foundations.jit import compile_at_once

MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(),
    "forest": RandomForestClassifier(50, max_depth=6, random_state=0),
}


def problem_of(model: Any) -> tuple[ee.RecourseProblem, Any]:
    X, y = ee.datasets.german_credit(columns="paper")
    encode = make_column_transformer((OneHotEncoder(drop="if_binary"), ["sex"]), remainder=StandardScaler())
    schema = ee.Schema(
        sensitive="sex",
        protected="female",
        favourable="good",
        features={
            "age": ee.Feature("actionable", direction="up", upper=75),
            "amount": ee.Feature("actionable", lower=250, upper=float("inf")),
            "duration": ee.Feature("actionable", plausible=(4, 72)),
        },
    )
    scm = ee.StructuralCausalModel([("sex", "amount"), ("age", "amount"), ("amount", "duration")]).fit(X)
    return ee.RecourseProblem.of(make_pipeline(encode, model).fit(X, y), X, schema=schema, scm=scm), X


def ratio_of_efforts(cost: Any, groups: Any, counted: Any) -> float:
    return float(np.mean(cost[counted & groups["female"]]) / np.mean(cost[counted & groups["male"]]))


def compare(name: str, budgets: list[int], people: int | None) -> None:
    problem, X = problem_of(MODELS[name])
    X = X if people is None else X.iloc[:people]
    choice = ee.Auto().select(problem)
    if isinstance(choice.solver, ee.Search):
        print(f"{name}: no solver proves anything here. {choice.reason}")
        return
    start = time.perf_counter()
    exact = ee.solve(problem, X, solver=choice.solver)
    print(f"{name}: {type(choice.solver).__name__} took {time.perf_counter() - start:.2f} s")
    known = exact.status == ee.Status.OPTIMAL
    groups = {label: exact.groups.codes == code for code, label in enumerate(exact.groups.labels)}
    for budget in budgets:
        start = time.perf_counter()
        told = ee.solve(problem, X, solver=ee.Search(budget))
        took = time.perf_counter() - start
        both = known & told.has_action
        over = told.cost / exact.cost
        print(f"  budget {budget:,}: {took:.2f} s; ratio of efforts {ratio_of_efforts(told.cost, groups, both):.4f}, "
              f"proven {ratio_of_efforts(exact.cost, groups, both):.4f}")  # fmt: skip
        for label, members in groups.items():
            found = over[both & members]
            print(f"    {label:8} found {len(found)} of {int((known & members).sum())}, cost over the optimum: median "
                  f"{np.median(found):.4f}, mean {found.mean():.4f}, largest {found.max():.4f}")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--budget", type=int, nargs="+", default=[200, 500, 2000])
    parser.add_argument("--people", type=int, default=None)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", EquieffortWarning)
    for name in MODELS:
        compare(name, chosen.budget, chosen.people)


if __name__ == "__main__":
    with compile_at_once():
        main()
