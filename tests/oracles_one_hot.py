"""Oracle for one-hot tables: every value and level is tried on the model's own columns of 0 and 1, written by hand.

A case is a raw table with a category spread over columns, in any type, with or without a level that has no column; a
model that was fitted on those very columns, often behind an imputer; and a column that follows both the category and a
number. The oracle never joins columns: it writes zeros and ones, moves what follows by the equation in plain numpy,
and asks the model.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.oracles import Tally

from equieffort.models.classifiers import BlackBox
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve
from equieffort.world.rules import Forbidden
from equieffort.world.schema import Feature, Schema
from equieffort.world.scm import Linear, StructuralCausalModel

MOST = 5
"""Whole numbers go from 0 to this."""
TYPES = ("int64", "uint8", "bool", "float32", "Int8", "boolean")
LEVELS = ("own", "rent", "free", "kin")


@dataclass(frozen=True, eq=False)
class Case:
    """Everything about a case, the table as its owner has it."""

    raw: pd.DataFrame
    columns: dict[str, str | None]
    """Level -> its column."""
    model: Any
    own: list[str]
    bare: bool
    weight: tuple[float, float]
    """Of a whole unit of `a`, and of a change of home."""
    effect: dict[str, float]
    """What a level adds to what follows."""
    slope: float
    rule: tuple[str, int] | None
    """At this level `a` must be at least so much."""
    forbidden: tuple[str, str] | None


def random_case(seed: int) -> Case:
    """A raw table and a model of its columns."""
    rng = np.random.default_rng([1616, seed])
    n, levels = int(rng.integers(14, 30)), LEVELS[: int(rng.integers(2, 5))]
    dropped = levels[-1] if rng.random() < 0.5 else None
    columns = {level: None if level == dropped else f"home_{level}" for level in levels}
    home = np.concatenate([levels, rng.choice(levels, n - len(levels))])
    dtype = TYPES[int(rng.integers(len(TYPES)))]
    raw = pd.DataFrame({"g": np.where(np.arange(n) % 2, "x", "y"), "a": rng.integers(0, MOST + 1, n)})
    raw.loc[[0, 1], "a"] = [0, MOST]
    for level, column in columns.items():
        if column is not None:
            raw[column] = pd.array((home == level), dtype=bool).astype(dtype)
    raw["c"] = rng.normal(0, 2, n).round(2)
    raw["z"] = rng.normal(0, 2, n).round(2)
    lacks = rng.random() < 0.6
    if lacks:
        raw.loc[rng.random(n) < 0.3, "z"] = np.nan
    own = [name for name in raw.columns if name != "g"]
    rng.shuffle(own)
    score = rng.normal(size=len(own)) @ np.nan_to_num(raw[own].to_numpy(dtype=float), nan=1.0).T
    score += 0.3 * rng.normal(size=n)
    steps = [SimpleImputer(strategy="median", add_indicator=bool(rng.random() < 0.5))] if lacks else []
    kind, state = int(rng.integers(4)), int(rng.integers(1000))
    final = [
        make_pipeline(StandardScaler(), LogisticRegression(C=10.0)),
        DecisionTreeClassifier(max_depth=4, random_state=state),
        RandomForestClassifier(5, max_depth=3, random_state=state, n_jobs=1),
        SVC(kernel="linear"),
    ][kind]
    bare = bool(rng.random() < 0.3)
    told = raw[own].to_numpy(dtype=float) if bare else raw[own]
    model = make_pipeline(*steps, final).fit(told, score > np.quantile(score, rng.uniform(0.4, 0.8)))
    effect = {level: round(float(rng.normal(0, 2)), 1) for level in levels} if rng.random() < 0.6 else {}
    return Case(
        raw, columns, model, own, bare, (float(rng.uniform(0.5, 4)), float(rng.uniform(0.1, 3))), effect,
        round(float(rng.normal()), 1),
        (str(rng.choice(levels)), int(rng.integers(1, 4))) if rng.random() < 0.3 else None,
        (str(levels[0]), str(levels[1])) if rng.random() < 0.3 else None,
    )  # fmt: skip


def level_of(case: Case, row: int) -> str:
    """A person's level, read from the columns of 0 and 1."""
    held = [level for level, column in case.columns.items() if column is not None and case.raw[column].iloc[row] == 1]
    return held[0] if held else next(level for level, column in case.columns.items() if column is None)


def moved(case: Case, row: int, a: int, level: str) -> dict[str, Any]:
    """What a person's own columns are after an action."""
    person = case.raw.iloc[row].to_dict()
    if case.effect:
        before = case.effect[level_of(case, row)] + case.slope * person["a"]
        person["c"] = person["c"] + (case.effect[level] + case.slope * a - before)
    person["a"] = a
    for one, column in case.columns.items():
        if column is not None:
            person[column] = one == level
    return person


def labels(case: Case, people: list[dict[str, Any]]) -> np.ndarray:
    """The model's own answers."""
    types = case.raw[case.own].dtypes.to_dict()
    frame = pd.DataFrame(people)[case.own].astype(types)
    return np.asarray(case.model.predict(frame.to_numpy(dtype=float) if case.bare else frame), dtype=bool)


def least_cost(case: Case, row: int) -> float:
    """By trying everything; infinite if nothing helps."""
    person, here = case.raw.iloc[row], level_of(case, row)
    least = None if case.rule is None else case.rule[1]
    if case.rule is not None and here == case.rule[0]:
        # Who breaks a rule already may stay so or come nearer, but go no deeper.
        least = min(case.rule[1], person["a"])
    tried, costs = [], []
    for a, level in itertools.product(range(MOST + 1), case.columns):
        if case.forbidden == (here, level):
            continue
        if case.rule is not None and level == case.rule[0] and a < least:
            continue
        tried.append(moved(case, row, a, level))
        costs.append(case.weight[0] * abs(a - person["a"]) / MOST + case.weight[1] * (level != here))
    good = labels(case, tried)
    return float(np.min(np.array(costs)[good], initial=np.inf))


def table_of(case: Case) -> pd.DataFrame:
    """What the package says of everybody."""
    rules: list[Any] = []
    if case.rule is not None:
        rules.append(f"if home = '{case.rule[0]}' then a >= {case.rule[1]}")
    if case.forbidden is not None:
        rules.append(Forbidden("home", [case.forbidden]))
    schema = Schema(
        sensitive="g", protected="x", favourable=True, rules=rules, one_hot={"home": case.columns},
        features={
            "a": Feature("actionable", lower=0, upper=MOST, weight=case.weight[0]),
            "home": Feature("actionable", weight=case.weight[1]),
            "c": "mutable",
        },
    )  # fmt: skip
    edges = [("home", "c"), ("a", "c")] if case.effect else []
    mechanisms = {"c": Linear({"home": case.effect, "a": case.slope})} if case.effect else {}
    scm = StructuralCausalModel(edges, nodes=["a", "home", "c"], mechanisms=mechanisms)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = RecourseProblem.of(
            case.model, case.raw, schema=schema, scm=scm, model_features=case.own if case.bare else None,
            missing="model",
        )  # fmt: skip
        told = solve(problem, case.raw, missing="model").frame()
    reason = problem.view.reason if isinstance(problem.view, BlackBox) else "read"
    assert reason == "read" or "support vectors" in reason, reason
    return told.assign(reads=reason)


def fault(case: Case, row: int, told: pd.Series) -> str:
    """Empty if the answer about a person is right, otherwise what is wrong."""
    truth = least_cost(case, row)
    if told["status"] == "infeasible":
        return "" if np.isinf(truth) else f"infeasible, but {truth}"
    if told["reads"] != "read":
        # Support vectors that cancel each other: nothing is proven, and nothing may be wrong.
        return "" if told["status"] == "unknown" or truth <= told["cost"] * (1 + 1e-6) else "cheaper than possible"
    if told["status"] == "feasible" and isinstance(case.model[-1], RandomForestClassifier):
        # Two classes of equal probability, up to the rounding of the sum, leave room between cost and bound.
        return "" if told["bound"] <= truth * (1 + 1e-6) and truth <= told["cost"] * (1 + 1e-6) else "a wrong bound"
    if told["status"] != "optimal":
        return f"{told['status']}: {told['reason']}"
    if not abs(told["cost"] - truth) <= 1e-6 * max(truth, 1e-3):
        return f"{told['cost']} instead of {truth}"
    a = int(case.raw["a"].iloc[row] if pd.isna(told["do_a"]) else told["do_a"])
    level = level_of(case, row) if pd.isna(told["do_home"]) else told["do_home"]
    return "" if labels(case, [moved(case, row, a, level)])[0] else "the label stays"


def run(seeds: range, people: int = 6) -> Tally:
    """Compare many cases; a crash is a disagreement too, and must not hide the cases after it."""
    tally = Tally()
    for seed in seeds:
        tally.cases += 1
        try:
            case = random_case(seed)
            table, favoured = table_of(case), labels(case, [moved_not(case, row) for row in range(len(case.raw))])
            refused = np.flatnonzero(~favoured)
            assert (table["status"].to_numpy()[favoured] == "not_needed").all()
            # Whoever lacks a value comes first.
            order = refused[np.argsort(case.raw["z"].notna().to_numpy()[refused], kind="stable")]
            for row in [*order[: people // 2], *order[people // 2 :][-(people - people // 2) :]]:
                tally.people += 1
                told = table.iloc[row]
                if told["status"] in ("optimal", "feasible", "infeasible"):
                    setattr(tally, told["status"], getattr(tally, told["status"]) + 1)
                if wrong := fault(case, int(row), told):
                    tally.disagreements.append(f"seed {seed} person {row}: {wrong}")
        except Exception as error:
            tally.disagreements.append(f"seed {seed}: {type(error).__name__}: {error}")
    return tally


def moved_not(case: Case, row: int) -> dict[str, Any]:
    """A person as they are."""
    return case.raw.iloc[row].to_dict()
