"""An oracle for levels in an order: small worlds as plain data, every allowed setting tried, the model's own label.

What a change costs and whether it is allowed is computed here from what was declared, level by level, and shares no
code with the package. Only where a category follows by an equation for levels is the equation itself asked.
"""

from __future__ import annotations

import itertools
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.oracles import ABSOLUTE, INF, RELATIVE, Tally

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import BranchAndBound, LinearExact, Milp, Search, SpatialBranchAndBound
from equieffort.recourse.solving import solve

FAMILIES = ("linear", "trees", "network", "bent", "follows")
SOLVERS: dict[str, tuple[Any, ...]] = {
    "linear": (LinearExact(), Milp(), SpatialBranchAndBound()),
    "trees": (BranchAndBound(time_limit=None), Milp(), SpatialBranchAndBound()),
    "network": (BranchAndBound(time_limit=None), Milp()),
    "bent": (SpatialBranchAndBound(),),
    "follows": (SpatialBranchAndBound(),),
}
"""The solvers that prove something in each family; `Search`, which proves nothing, tries all of them."""
SLOPE = 0.6


@dataclass(frozen=True, eq=False)
class Case:
    """People, what may be done at which price, and how `d` follows."""

    family: str
    people: pd.DataFrame
    levels: dict[str, list[Any]]
    """Category -> its levels, from the lowest to the highest where they have an order."""
    declared: dict[str, dict[str, Any]]
    """Actionable feature -> what was declared of it."""
    plausible: tuple[float, float] | None
    effect: dict[Any, float]
    """What each level of `edu` adds to d."""
    problem: RecourseProblem
    classifier: Any


def price(case: Case, name: str, start: Any, end: Any) -> float:
    """What a change costs; infinite where it is not allowed."""
    said = case.declared[name]
    if start == end:
        return 0.0
    weight = said.get("weight", 1.0)
    up, down = weight if isinstance(weight, tuple) else (weight, weight)
    scale = case.levels.get(name)
    before, after = (start, end) if scale is None else (scale.index(start), scale.index(end))
    if said.get("direction") == ("up" if after < before else "down"):
        return INF
    for key, sign in (("lower", -1), ("upper", 1)):
        limit = said.get(key)
        if limit is not None:
            place = limit if scale is None else scale.index(limit)
            # Who is beyond a limit may stay or come nearer.
            if sign * after > max(sign * place, sign * before):
                return INF
    for pair, cost in pairs(said.get("prices", {})).items():
        if pair == (start, end):
            return cost
    if scale is None:
        column = case.people[name]
        return (up if after > before else down) * abs(after - before) / float(column.max() - column.min())
    share = abs(after - before) / (len(scale) - 1) if said.get("steps") else 1.0
    return (up if after > before else down) * share


def pairs(prices: dict[Any, Any]) -> dict[Any, float]:
    """By (from, to), however they were written."""
    nested = any(isinstance(value, dict) for value in prices.values())
    return {(a, b): c for a, of in prices.items() for b, c in of.items()} if nested else prices


def cheapest(case: Case, row: int) -> float:
    """The least cost of all settings."""
    person = case.people.iloc[row]
    names, options = list(case.declared), []
    for name in names:
        values = list(case.levels.get(name, range(5) if name == "n" else (0, 1)))
        leaves = [None] if case.family == "follows" and name == "edu" else []
        options.append(leaves + [v for v in values if price(case, name, person[name], v) < INF])
    tries = list(itertools.product(*options))
    costs = [
        sum(price(case, n, person[n], v) for n, v in zip(names, one, strict=True) if v is not None) for one in tries
    ]
    after = pd.concat([case.people.iloc[[row]]] * len(tries), ignore_index=True)
    for k, name in enumerate(names):
        after[name] = pd.Series([person[name] if one[k] is None else one[k] for one in tries]).astype(
            case.people[name].dtype
        )
    if case.family == "follows":
        after["edu"] = followed(case, row, names, tries)
    shift = np.array([drift(case, a, b) for a, b in zip(after["edu"], after["n"], strict=True)])
    after["d"] = person["d"] + shift - drift(case, person["edu"], person["n"])
    good = case.classifier.predict(after[list(case.problem.decision.features)]) == 1
    if case.plausible is not None:
        low, high = min(case.plausible[0], person["d"]), max(case.plausible[1], person["d"])
        good &= (after["d"].to_numpy() >= low - 1e-9) & (after["d"].to_numpy() <= high + 1e-9)
    return min((cost for cost, ok in zip(costs, good, strict=True) if ok), default=INF)


def drift(case: Case, edu: Any, n: Any) -> float:
    """What d follows by, up to its noise."""
    slope = np.sin(1.5 * n) if case.family == "bent" else SLOPE * n
    return float(slope + case.effect[edu])


def followed(case: Case, row: int, names: list[str], tries: list[tuple[Any, ...]]) -> list[Any]:
    """The level of each try, where it is left to follow n by the equation for levels."""
    problem = case.problem
    person = problem.encoding.encode(case.people.iloc[[row]])
    found = []
    k, n = problem.encoding.position("edu"), problem.encoding.position("n")
    for one in tries:
        said = dict(zip(names, one, strict=True))
        if said["edu"] is not None:
            found.append(said["edu"])
            continue
        picked, values = np.zeros(person.shape, dtype=bool), person.copy()
        if "n" in said:
            picked[0, n], values[0, n] = True, said["n"]
        nodes = len(problem.scm.graph.nodes)
        moved, _ = problem.scm.propagate(person[:, :nodes], picked[:, :nodes], values[:, :nodes])
        found.append(problem.encoding.columns[k].levels[int(moved[0, k])])
    return found


def random_case(rng: np.random.Generator, family: str) -> Case:
    """Levels in an order (declared, or by the column's type), a flag, 0 and 1, and prices of a category."""
    n = 40
    order = rng.permutation(list("abcde")[: rng.integers(3, 6)]).tolist()
    people = pd.DataFrame(
        {
            "edu": rng.choice(order, n), "owns": rng.random(n) < 0.5, "flag": rng.integers(0, 2, n),
            "job": rng.choice(["x", "y", "z"], n), "n": rng.integers(0, 5, n), "d": rng.normal(0, 1, n).round(3),
            "sex": np.where(np.arange(n) % 2, "f", "m"),
        }
    )  # fmt: skip
    people.loc[: len(order) - 1, "edu"], people.loc[:2, "job"] = order, ["x", "y", "z"]
    people.loc[:1, "flag"], people.loc[:1, "n"] = [0, 1], [0, 4]
    levels = {"edu": order, "owns": [False, True], "job": ["x", "y", "z"]}
    typed = bool(rng.random() < 0.5)
    if typed:
        people["edu"] = pd.Categorical(people["edu"], order, ordered=True)
    names = ["edu", *rng.choice(["owns", "flag", "job", "n"], 2, replace=False).tolist()]
    if family == "follows" and "n" not in names:
        names[-1] = "n"
    declared = {name: _declared(rng, name, levels.get(name)) for name in names}
    plausible = (-float(rng.uniform(1, 4)), float(rng.uniform(1, 4))) if rng.random() < 0.4 else None
    effect = {level: round(float(rng.normal(0, 1)), 2) for level in order}
    features: dict[str, Any] = {name: ee.Feature("actionable", **said) for name, said in declared.items()}
    if not typed and features["edu"].needs_order:
        features["edu"] = ee.Feature("actionable", order=order, **declared["edu"])
    features["d"] = ee.Feature("mutable", plausible=plausible)
    classifier = _classifier(rng, family, people, order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = RecourseProblem.of(
            classifier, people, scm=_scm(rng, family, people, order, effect),
            schema=ee.Schema(sensitive="sex", protected="f", favourable=1, features=features),
        )  # fmt: skip
    return Case(family, people, levels, declared, plausible, effect, problem, classifier)


def _declared(rng: np.random.Generator, name: str, levels: list[Any] | None) -> dict[str, Any]:
    """What is said of one feature."""
    # Whole numbers are weights as well.
    up, down = rng.uniform(0.2, 2, 2).round(3).tolist() if rng.random() < 0.7 else rng.integers(1, 4, 2).tolist()
    said: dict[str, Any] = {"weight": (up, down)}
    if name == "n":
        return said | {"lower": 0, "upper": 4, "direction": rng.choice(["both", "up"]).item()}
    if name != "job" and rng.random() < 0.7:
        said["direction"] = rng.choice(["up", "down"]).item()
    if name == "job":
        said = {"weight": up}
    if name == "edu":
        said |= {"steps": True} if rng.random() < 0.7 else {}
        end = rng.choice(["lower", "upper", ""]).item()
        said |= {end: rng.choice(levels).item()} if end and rng.random() < 0.4 else {}
    if name in ("edu", "job") and rng.random() < (0.9 if name == "job" else 0.4):
        chosen = [pair for pair in itertools.permutations(levels or (), 2) if rng.random() < 0.5]
        prices: dict[Any, Any] = {pair: round(float(rng.uniform(0.1, 3)), 3) for pair in chosen}
        if rng.random() < 0.5:
            nested: dict[Any, Any] = {}
            for (start, end), cost in prices.items():
                nested.setdefault(start, {})[end] = cost
            prices = nested
        said |= {"prices": prices} if prices else {}
    return said


def _scm(
    rng: np.random.Generator, family: str, people: pd.DataFrame, order: list[Any], effect: dict[Any, float]
) -> Any:
    edges = [("n", "d"), ("edu", "d")]
    equation: Any = ee.Linear({"n": SLOPE, "edu": effect})
    if family == "bent":
        equation = ee.Function(_Wave(effect), bounds=_Wave(effect).bounds)
    equations = {"d": equation}
    if family == "follows":
        edges.append(("n", "edu"))
        cuts = np.sort(rng.uniform(-1, 3, len(order) - 1)).tolist()
        equations["edu"] = ee.CumulativeLogit({"n": float(rng.normal(0, 1))}, cuts=cuts, order=order)
    nodes = ["n", "edu", "d", "owns", "flag", "job", "sex"]
    return ee.StructuralCausalModel(edges, nodes=nodes, mechanisms=equations).fit(people)


class _Wave:
    """An equation that no straight line follows."""

    def __init__(self, effect: dict[Any, float]) -> None:
        self.effect = effect

    def __call__(self, causes: pd.DataFrame) -> Any:
        return np.sin(1.5 * causes["n"].to_numpy(dtype=float)) + causes["edu"].map(self.effect).to_numpy(dtype=float)

    def bounds(self, low: pd.DataFrame, high: pd.DataFrame) -> tuple[Any, Any]:
        """The least and the most over boxes: whatever a sine and a level can be, unless both are known."""
        known = (low["n"].to_numpy() == high["n"].to_numpy()) & (low["edu"].to_numpy() == high["edu"].to_numpy())
        at, least, most = self(low), min(self.effect.values()), max(self.effect.values())
        return np.where(known, at, least - 1.0), np.where(known, at, most + 1.0)


def _classifier(rng: np.random.Generator, family: str, people: pd.DataFrame, order: list[Any]) -> Any:
    seen = ["edu", "owns", "flag", "job", "n", "d"]
    many = pd.concat([people] * 4, ignore_index=True)
    for name in seen:
        many[name] = many[name].take(rng.permutation(len(many))).reset_index(drop=True)
    worth = dict(zip(order, rng.normal(0, 1.5, len(order)), strict=True))
    score = many["edu"].map(worth).astype(float) + many["owns"] * rng.normal(0, 1) + many["flag"] * rng.normal(0, 1)
    score = score + (many["job"] == "z") * rng.normal(0, 1) + many["n"] * rng.normal(0, 0.5) + many["d"] * 0.4
    label = (score > np.quantile(score, 0.75)).astype(int)
    models = {
        "linear": lambda: LogisticRegression(C=10.0, max_iter=1000),
        "network": lambda: MLPClassifier((4,), solver="lbfgs", max_iter=150, random_state=int(rng.integers(1000))),
    }
    forest = RandomForestClassifier(3, max_depth=4, random_state=int(rng.integers(1000)))
    tree = DecisionTreeClassifier(max_depth=5, random_state=int(rng.integers(1000)))
    model = models[family]() if family in models else forest if rng.random() < 0.5 else tree
    if family in ("bent", "follows") and rng.random() < 0.5:
        model = models["linear"]()
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["edu", "job"]), remainder="passthrough")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(encode, model).fit(many[seen], label)


def compare(case: Case, label: str, people: int = 3) -> Tally:
    """Some refused people by every solver that fits; statuses, costs and bounds must agree with the oracle."""
    tally = Tally(cases=1)
    refused = np.flatnonzero(case.classifier.predict(case.people[list(case.problem.decision.features)]) != 1)[:people]
    truths = {row: cheapest(case, row) for row in refused.tolist()}
    tally.people = len(refused)
    # Effort is compared between groups, so somebody of the other one comes along.
    asked = [*refused.tolist(), *(k for k in range(2) if k not in refused)]
    for solver in (*SOLVERS[case.family], Search(400)) if len(refused) else ():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquieffortWarning)
            table = solve(case.problem, case.people.iloc[asked], solver=solver).frame()
        for row, told in zip(refused.tolist(), table.iloc[: len(refused)].itertuples(), strict=True):
            fault = (_judge_search if isinstance(solver, Search) else _judge)(told, float(truths[row]), solver.gap)
            if not isinstance(solver, Search) and told.status in ("optimal", "feasible", "infeasible"):
                setattr(tally, told.status, getattr(tally, told.status) + 1)
            if fault:
                tally.disagreements.append(f"{label} {type(solver).__name__} person {row}: {fault}")
    return tally


def _judge(told: Any, truth: float, gap: float) -> str:
    """Empty if a proof agrees with the least cost, as near as the solver promises."""
    said = f"{told.status} with cost {told.cost!r} and bound {told.bound!r}, the oracle says {truth!r} ({told.reason})"
    if told.status == "infeasible" or truth == INF:
        return "" if told.status == "infeasible" and truth == INF else said
    near, far = RELATIVE * truth + ABSOLUTE, max(gap, RELATIVE) * truth + ABSOLUTE
    holds = told.bound <= truth + near and told.cost >= truth - near
    proven = told.status == "optimal" and told.cost <= truth + far and told.bound >= truth - far
    return "" if holds and proven else said


def _judge_search(told: Any, truth: float, gap: float) -> str:
    """What proves nothing may miss an action, but not invent one, and calls nobody infeasible who can act."""
    said = f"{told.status} with cost {told.cost!r}, the oracle says {truth!r}"
    if told.status == "infeasible":
        return "" if truth == INF else said
    return said if told.status == "optimal" or (told.status == "feasible" and told.cost < truth * (1 - 1e-7)) else ""


def run(seeds: range, family: str | None = None) -> Tally:
    """Compare many cases, of one family or of all in turn."""
    tally = Tally()
    for seed in seeds:
        chosen = family or FAMILIES[seed % len(FAMILIES)]
        label = f"ordered {chosen} seed {seed}"
        try:
            tally += compare(random_case(np.random.default_rng([77, seed]), chosen), label)
        except Exception as error:
            # A crash is a disagreement too, and must not hide the cases after it.
            tally += Tally(cases=1, disagreements=[f"{label}: {type(error).__name__}: {error}"])
    return tally
