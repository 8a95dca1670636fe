"""Rules that people break already: they may stay so or come nearer, never go deeper.

Everything that can be set is whole or a level, so that every action is tried. A rule is a list of clauses; a clause is
a list of parts, of which one must hold: (weights, low, high) or (category, levels). Whoever breaks a clause may
afterwards keep it, or miss each of its parts by no more than before; a level is missed by no more only by staying.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.hostile.judged import asked, count
from tests.hostile.units import Units
from tests.oracles import Tally

import equieffort as ee
from equieffort.errors import EquieffortWarning

INF = float("inf")
JOBS = ("none", "part", "full")
TOP = 7
Part = tuple[Any, ...]


def drawn_rule(rng: np.random.Generator) -> tuple[Any, list[list[Part]]]:
    """A rule as the package reads it, and as clauses."""
    x, y = (str(name) for name in rng.permutation(["a", "b", "c"])[:2])
    first, second = (int(v) + 0.5 for v in rng.integers(0, TOP - 1, 2))
    above, below, low = ({x: 1.0}, first, INF), ({y: 1.0}, -INF, second), ({x: 1.0}, -INF, first)
    high = ({y: 1.0}, second, INF)
    job = str(rng.choice(JOBS))
    others = ("job", tuple(level for level in JOBS if level != job))
    kind = int(rng.integers(9))
    if kind == 0:
        return f"if {x} > {first} then {y} <= {second}", [[low, below]]
    if kind == 1:
        return f"if {x} < {first} then {y} >= {second}", [[above, high]]
    if kind == 2:
        return f"if job = '{job}' then {y} <= {second}", [[others, below]]
    if kind == 3:
        return f"if {x} > {first} then job = '{job}'", [[low, ("job", (job,))]]
    if kind == 4:
        rest = [("job", tuple(level for level in JOBS if level != one)) for one in others[1]]
        return f"if job = '{others[1][0]}' or job = '{others[1][1]}' then {x} >= {first}", [[r, above] for r in rest]
    if kind == 5:
        return f"if job = '{job}' then {x} <= {first} and {y} >= {second}", [[others, low], [others, high]]
    if kind == 6:
        return f"{x} <= {first} or {y} <= {second}", [[low, below]]
    if kind == 7:
        return f"{x} < {first}", [[low]]
    weights = {x: 1.0, y: float(rng.choice([-1.0, 1.0, 2.0]))}
    return ee.Sum(weights, upper=first), [[(weights, -INF, first)]]


def missed(part: Part, values: pd.DataFrame) -> Any:
    """By how much a part is missed."""
    if len(part) == 2:
        return np.where(values[part[0]].isin(part[1]), 0.0, 1.0)
    weights, low, high = part
    total = sum(w * values[name].to_numpy(dtype=float) for name, w in weights.items())
    return np.maximum(np.maximum(low - total, total - high), 0.0)


def kept(clauses: list[list[Part]], before: pd.DataFrame, after: pd.DataFrame, tolerance: float = 1e-9) -> Any:
    """Which actions the rules allow."""
    good = np.ones(len(after), dtype=bool)
    for clause in clauses:
        own = [missed(part, before)[0] for part in clause]
        now = [missed(part, after) for part in clause]
        holds = np.any([n <= tolerance for n in now], axis=0)
        if min(own) > 0:
            nearer = [n <= o + tolerance for n, o in zip(now, own, strict=True)]
            for k, part in enumerate(clause):
                if len(part) == 2:
                    nearer[k] = (now[k] == 0) | (after[part[0]] == before[part[0]][0]).to_numpy()
            holds |= np.all(nearer, axis=0)
        good &= holds
    return good


def run(rng: np.random.Generator, label: str) -> Tally:
    n = 7
    people = pd.DataFrame({
        "a": rng.integers(0, TOP, n), "b": rng.integers(0, TOP, n), "c": np.round(rng.uniform(0, TOP, n), 2),
        "job": rng.permutation([*JOBS, *rng.choice(JOBS, n - 3)]).astype(object), "sex": (["f", "m"] * n)[:n],
    })  # fmt: skip
    people.loc[:1, ["a", "b"]] = [[0, TOP - 1], [TOP - 1, 0]]
    bend = float(rng.choice([0.0, 0.0, 0.13])) * float(rng.choice([-1, 1]))
    slope = float(rng.choice([-0.7, 0.3, 1.1]))
    mechanism = ee.Linear({"a": slope}) if bend == 0 else ee.Terms([(slope, {"a": 1}), (bend, {"a": 2})])
    rules, clauses = [], []
    for _ in range(int(rng.integers(1, 4))):
        rule, parts = drawn_rule(rng)
        rules.append(rule)
        clauses += parts
    model = drawn_model(rng, people)
    can_switch, weights = bool(rng.random() < 0.6), np.round(rng.uniform(0.3, 3.0, 3), 2)
    features = {
        "a": ee.Feature("actionable", lower=0, upper=TOP, weight=float(weights[0])),
        "b": ee.Feature("actionable", lower=0, upper=TOP, weight=float(weights[1])),
        "c": "mutable",
        "job": ee.Feature("actionable", weight=float(weights[2])) if can_switch else "immutable",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features=features, rules=rules)
        scm = ee.StructuralCausalModel([("a", "c")], nodes=["sex", "job", "b"], mechanisms={"c": mechanism}).fit(people)
        problem = ee.RecourseProblem.of(model, people, schema=schema, scm=scm)
        able = [
            s
            for s in (ee.BranchAndBound(time_limit=None), ee.Milp(), ee.SpatialBranchAndBound(node_limit=4000))
            if not isinstance(s.prepare(problem), ee.solvers.Refusal)
        ]
        solver = able[int(rng.integers(len(able)))]
    spans = {name: float(np.ptp(people[name])) for name in "ab"}
    settings = list(
        itertools.product([None, *range(TOP + 1)], [None, *range(TOP + 1)], [None, *(JOBS if can_switch else ())])
    )
    tally = Tally(cases=1)
    for row, told in enumerate(asked(problem, people, solver, Units({}, {}))):
        if told.status == "not_needed" or tally.people == 4:
            continue
        count(tally, told.status)
        person = people.iloc[[row]].reset_index(drop=True)
        after = pd.concat([person] * len(settings), ignore_index=True)
        cost = np.zeros(len(settings))
        for k, name in enumerate(("a", "b", "job")):
            fact = person[name][0]
            values = [fact if choice[k] is None else choice[k] for choice in settings]
            after[name] = values
            change = [float(v != fact) if name == "job" else abs(v - fact) / spans[name] for v in values]
            cost += weights[k] * np.array(change)
        moved = slope * (after["a"] - person["a"][0]) + bend * (after["a"] ** 2.0 - person["a"][0] ** 2.0)
        after["c"] = person["c"][0] + moved
        works = kept(clauses, person, after) & (model.predict(after[list(model.feature_names_in_)]) == 1)
        least = float(cost[works].min(initial=INF))
        said = f"{label} ({type(solver).__name__}), person {row}: {told}, the oracle says {least!r}"
        gap = solver.gap * max(1.0, least) + 1e-6
        if told.status == "infeasible":
            wrong = least < INF
        elif told.status == "unknown":
            wrong = told.bound > least + 1e-6
        else:
            changed = pd.DataFrame([told.after])[list(after)]
            wrong = not kept(clauses, person, changed, 1e-7)[0] or not told.turns
            wrong |= told.cost < least - 1e-6 or told.bound > least + 1e-6
            wrong |= told.status == "optimal" and told.cost > least + gap
        if wrong:
            tally.disagreements.append(f"{said}; rules {[str(rule) for rule in rules]}, {person.to_dict('records')}")
    return tally


def drawn_model(rng: np.random.Generator, people: pd.DataFrame) -> Any:
    """A score, a forest or a network over a, b and c; the first two also see the job."""
    many = pd.DataFrame({name: rng.uniform(-1, TOP + 1, 150) for name in "abc"} | {"job": rng.choice(JOBS, 150)})
    signs = rng.choice([-1.0, 1.0], 3) * rng.uniform(0.3, 1.5, 3)
    score = many[["a", "b", "c"]].to_numpy() @ signs + rng.normal(0, 1.5) * (many["job"] == "full")
    kind = int(rng.integers(3))
    if kind == 2:
        hidden, out = rng.normal(0, 0.7, (3, 3)), rng.normal(0, 1, (1, 3))
        start = -hidden @ np.full(3, TOP / 2)
        level = np.quantile(np.maximum(many[["a", "b", "c"]].to_numpy() @ hidden.T + start, 0) @ out.T, 0.7)
        return ee.ReLUNetwork([hidden, out], [start, [-float(level)]], feature_names=["a", "b", "c"])
    encode = ColumnTransformer([("job", OneHotEncoder(), ["job"]), ("rest", "passthrough", ["a", "b", "c"])])
    last = (
        LogisticRegression(max_iter=2000)
        if kind == 0
        else RandomForestClassifier(3, max_depth=3, random_state=int(rng.integers(99)))
    )
    return make_pipeline(encode, last).fit(many, (score > np.quantile(score, 0.7)).astype(int))
