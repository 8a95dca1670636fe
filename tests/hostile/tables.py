"""Tables with types of their own: what is returned, put back into the caller's own table, turns the model's label.

Numbers are single or half precision, small integers, nullable or Arrow's; tables come from pandas, polars or pyarrow.
The oracle tries values that the column can hold, all of them in half precision.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.hostile.judged import count
from tests.oracles import Tally

import equieffort as ee
from equieffort.errors import EquieffortWarning

INF = float("inf")
FLOATS = ("float32", "float16", "float64", "Float32", "Float64", "float[pyarrow]", "double[pyarrow]")
WHOLES = ("int8", "int16", "int32", "int64", "Int8", "Int64", "uint8", "int16[pyarrow]")
NUMPY = {"Float32": "float32", "float[pyarrow]": "float32", "Float64": "float64", "double[pyarrow]": "float64"}
TOP = 6
LEVELS = ("p", "q", "r")
KIND = pd.CategoricalDtype(list(LEVELS))


@dataclass(frozen=True, eq=False)
class World:
    """Who is asked about, in the table's own types, and what decides."""

    model: Any
    names: list[str]
    """What the model sees."""
    people: pd.DataFrame
    dtypes: dict[str, Any]
    ends: tuple[float, float]
    """Of x."""
    slope: float
    """How d follows x."""
    prices: dict[str, float]
    """Of a unit of x and of m, and of another level of k."""

    def labels(self, frame: pd.DataFrame) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(self.model.predict(frame[self.names])) == 1


def drawn_model(rng: np.random.Generator, many: pd.DataFrame, dtypes: dict[str, Any]) -> tuple[Any, list[str]]:
    """A model trained on the table's own types or on doubles, and what it sees; some know categories by their type."""
    numbers, seed = ["x", "m", "d"], int(rng.integers(100))
    size = rng.uniform(0.3, 1.5, 3) * rng.choice([-1, 1], 3) / many[numbers].std().to_numpy()
    kind, typed = int(rng.integers(8)), bool(rng.random() < 0.5)
    score = many[numbers].to_numpy() @ size + (many["k"] == "q").to_numpy() * rng.normal(0, 2)
    label = (score > np.quantile(score, 0.65)).astype(int)
    if kind == 6:
        from lightgbm import LGBMClassifier

        model: Any = LGBMClassifier(
            n_estimators=5, max_depth=3, min_child_samples=5, verbose=-1, n_jobs=1, random_state=seed
        )
    elif kind == 7:
        from xgboost import XGBClassifier

        model = XGBClassifier(n_estimators=5, max_depth=3, n_jobs=1, random_state=seed, enable_categorical=True)
    else:
        model = [
            LogisticRegression(max_iter=5000),
            make_pipeline(StandardScaler(), LogisticRegression()),
            DecisionTreeClassifier(max_depth=4, random_state=seed),
            RandomForestClassifier(5, max_depth=4, random_state=seed),
            GradientBoostingClassifier(n_estimators=5, max_depth=3, random_state=seed),
            HistGradientBoostingClassifier(
                max_iter=5, max_depth=3, min_samples_leaf=5, early_stopping=False, categorical_features="from_dtype"
            ),
        ][kind]
    names = [*numbers, "k"] if typed and kind >= 5 else numbers
    own = {name: dtypes[name] for name in numbers} if rng.random() < 0.5 else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(many[names].astype(own), label), names


def values_of(dtype: str, low: float, high: float) -> Any:
    """Numbers between two ends that a type can hold: all in half precision, otherwise evenly spread ones."""
    kind = NUMPY.get(dtype, dtype)
    if kind == "float16":
        every = np.arange(2**16, dtype=np.uint16).view(np.float16)
        every = every[np.isfinite(every)]
        return np.unique(every[(every >= low) & (every <= high)])
    return np.unique(np.linspace(low, high, 1501).astype(kind))


def run(rng: np.random.Generator, label: str) -> Tally:
    n, size = 150, float(rng.choice([1.0, 1.0, 0.01, 37.0]))
    dtypes = {"x": str(rng.choice(FLOATS)), "m": str(rng.choice(WHOLES)), "d": str(rng.choice(FLOATS)), "k": KIND}
    many = pd.DataFrame({
        "x": rng.normal(2, 1, n) * size, "m": rng.integers(0, TOP + 1, n), "d": rng.normal(0, 1, n),
        "k": pd.Series(rng.choice(LEVELS, n)).astype(KIND), "sex": (["f", "m"] * n)[:n],
    })  # fmt: skip
    for name in ("x", "d"):
        many[name] = many[name].astype(NUMPY.get(dtypes[name], dtypes[name])).astype(float)
    weights = np.round(rng.uniform(0.3, 3, 3), 2).tolist()
    prices = {"x": weights[0] / np.ptp(many["x"]), "m": weights[1] / np.ptp(many["m"]), "k": weights[2]}
    slope, ends = float(rng.choice([0.0, 0.3, -0.7])) / size, (-3 * size, 7 * size)
    try:
        model, names = drawn_model(rng, many, dtypes)
        refused = np.asarray(model.predict(many.astype(dtypes)[names])) != 1
    except ValueError:
        # LightGBM takes none of Arrow's types.
        return Tally()
    people = many.iloc[np.unique([*np.flatnonzero(refused)[:4], 0, 1])].reset_index(drop=True).astype(dtypes)
    world = World(model, names, people, dtypes, ends, slope, prices)
    table: Any = people
    kind = int(rng.integers(4))
    if kind == 2 and "float16" not in dtypes.values():
        table = pl.from_pandas(people)
        if "k" in names:
            # A polars category does not know its levels: it reaches a model as text, and one that knows categories by
            # their type says that it cannot.
            table = table.with_columns(pl.col("k").cast(pl.Enum(list(LEVELS))))
    elif kind == 3 and "k" not in names:
        # Arrow's dictionaries reach a model as text, and one that knows categories by their type says that it cannot.
        table = pa.Table.from_pandas(people, preserve_index=False)
    features: dict[str, Any] = {
        "x": ee.Feature("actionable", lower=ends[0], upper=ends[1], weight=weights[0]),
        "m": ee.Feature("actionable", lower=0, upper=TOP, weight=weights[1]),
        "d": "mutable",
    }
    if "k" in names:
        features["k"] = ee.Feature("actionable", weight=weights[2])
    edges, mechanisms = ([("x", "d")], {"d": ee.Linear({"x": slope})}) if slope else ([], {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel(edges, nodes=["sex", "x", "m", "d", "k"], mechanisms=mechanisms).fit(many)
        schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features=features)
        problem = ee.RecourseProblem.of(model, table, schema=schema, scm=scm)
        solver = ee.Auto(time_limit=None, node_limit=20_000).select(problem).solver
        answer = ee.solve(problem, table, solver=solver)
    what = f"{label} ({type(solver).__name__}, {type(model).__name__}, {[str(dtypes[name]) for name in names]})"
    return judged(what, world, answer.frame(), answer.counterfactuals())


def judged(label: str, world: World, frame: pd.DataFrame, after: pd.DataFrame) -> Tally:
    """Every action in the table's own types, and against what can be tried."""
    people, prices, tally = world.people, world.prices, Tally(cases=1)
    given = {name: pd.Series(np.asarray(after[name])) for name in ("x", "m", "d", "k")}
    back = people.assign(**{name: column.astype(world.dtypes[name]) for name, column in given.items()})
    turns = world.labels(back)
    for row, told in enumerate(frame.to_dict("records")):
        if told["status"] == "not_needed":
            continue
        count(tally, told["status"])
        fact, fault = people.iloc[row], ""
        if told["status"] in ("optimal", "feasible"):
            put = {name: float(back[name].iloc[row]) for name in "xm"}
            cost = sum(prices[name] * abs(put[name] - float(fact[name])) for name in "xm")
            cost += prices["k"] * (back["k"].iloc[row] != fact["k"])
            if not turns[row]:
                fault = "in the table's own types the label stays"
            elif not world.ends[0] - 1e-9 <= put["x"] <= world.ends[1] + 1e-9:
                fault = f"x is {put['x']!r}, outside {world.ends}"
            elif any(put[name] != float(given[name].iloc[row]) for name in "xm"):
                fault = f"{after.iloc[row].to_dict()} is no value of its types"
            elif abs(cost - told["cost"]) > 1e-6 * (1 + cost):
                fault = f"it costs {cost!r}, {told['cost']!r} is said"
        least = cheapest(world, fact)
        if not fault and (
            (told["status"] == "infeasible" and least < INF)
            or told["bound"] > least + 1e-6
            or (told["status"] == "optimal" and told["cost"] > least * (1 + 1e-6) + 2e-6)
        ):
            fault = f"{told['status']} at {told['cost']!r}, bound {told['bound']!r}, but {least!r} works"
        if fault:
            tally.disagreements.append(f"{label}, person {row}: {fault}")
    return tally


def cheapest(world: World, fact: pd.Series) -> float:
    """The least cost among values that the columns can hold."""
    own = {name: float(fact[name]) for name in "xmd"}
    levels = list(LEVELS) if "k" in world.names else [fact["k"]]
    every = np.unique([*values_of(world.dtypes["x"], *world.ends).astype(float), own["x"]])
    x, m, k = (v.ravel() for v in np.meshgrid(every, np.arange(TOP + 1), np.arange(len(levels))))
    tried = pd.DataFrame({"x": x, "m": m, "d": own["d"] + world.slope * (x - own["x"]), "k": np.array(levels)[k]})
    cost = world.prices["x"] * np.abs(x - own["x"]) + world.prices["m"] * np.abs(m - own["m"])
    cost += world.prices["k"] * (tried["k"] != fact["k"]).to_numpy()
    kinds = {name: NUMPY.get(world.dtypes[name], world.dtypes[name]) for name in "xdk"}
    return float(cost[world.labels(tried.astype(kinds))].min(initial=INF))
