"""Small random problems whose answers can be found by trying everything."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.foundations.arguments import check_choice, check_flag, check_whole
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.rules import Constraint, Sum, read_constraint
from equieffort.world.schema import Feature, Schema
from equieffort.world.scm import Function, Linear, StructuralCausalModel

LEVELS = ("u", "v", "w")
NAMES = ("a", "b", "c", "d", "e")
"""a and b can be set (b follows a), c is a category that can be changed, d only follows, e stays."""


@dataclass(frozen=True, eq=False)
class Case:
    """A problem, its people, and all values that an action may set."""

    name: str
    problem: RecourseProblem
    people: pd.DataFrame
    values: dict[str, npt.NDArray[Any]]
    """For each actionable feature what may be set; of amounts that are not whole only a sample."""
    complete: bool
    """Whether these are all values there are, so that trying them is a proof."""


def _estimator(path: str, rng: np.random.Generator | None = None, **settings: Any) -> Any:
    """An estimator of scikit-learn, imported once a case needs it; `rng` draws its seed."""
    module, name = path.rsplit(".", 1)
    seed = {} if rng is None else {"random_state": int(rng.integers(1000))}
    return getattr(import_module(f"sklearn.{module}"), name)(**settings, **seed)


FAMILIES: dict[str, Callable[[np.random.Generator], Any]] = {
    "linear": lambda rng: _estimator("linear_model.LogisticRegression", C=10.0, max_iter=1000),
    "tree": lambda rng: _estimator("tree.DecisionTreeClassifier", rng, max_depth=4),
    "forest": lambda rng: _estimator(
        "ensemble.RandomForestClassifier", rng, n_estimators=int(rng.integers(3, 9)), max_depth=4
    ),
    "boosted": lambda rng: _estimator("ensemble.GradientBoostingClassifier", rng, n_estimators=8, max_depth=3),
    "network": lambda rng: _estimator(
        "neural_network.MLPClassifier", rng, hidden_layer_sizes=(6, 4), solver="lbfgs", max_iter=200
    ),
    "black box": lambda rng: _estimator("neighbors.KNeighborsClassifier", n_neighbors=5),
}
"""Kinds of classifiers that cases are made with."""


def check_seed(random_state: Any) -> None:
    """Refuse what cannot seed chance."""
    check_whole("random_state", random_state)


def make_case(
    family: str,
    random_state: int,
    *,
    whole: bool = True,
    rules: bool = False,
    bent: bool = False,
    tight: bool = False,
    ordered: bool = False,
) -> Case:
    """A random problem with a classifier of a family.

    `whole` makes all amounts that can be set whole numbers; `rules` adds rules between features; `bent` bends an
    equation below an action; `tight` draws limits within what people already are, so that some start beyond them;
    `ordered` gives the levels of the category an order, with a direction, steps, limits or prices from level to level.
    """
    check_choice("family", family, FAMILIES)
    check_seed(random_state)
    for word, flag in (("whole", whole), ("rules", rules), ("bent", bent), ("tight", tight), ("ordered", ordered)):
        check_flag(word, flag)
    rng = np.random.default_rng([random_state, list(FAMILIES).index(family), whole, rules, bent])
    people = _people(rng, whole)
    schema = _schema(rng, rules, tight)
    if ordered:
        schema = replace(schema, features={**schema.features, "c": _ordered(rng)})
    edges = [("a", "b"), ("a", "d"), ("b", "d"), ("c", "d"), ("e", "b")]
    slopes = rng.normal(0, 1, 5).round(2)
    step = {"v": float(slopes[0]), "w": float(-slopes[1])}
    follows: Any = Linear({"a": float(slopes[2]), "b": 0.5, "c": step})
    if bent:
        bend = _Bend(float(slopes[2]))
        follows = Function(bend, bounds=bend.bounds)
    scm = StructuralCausalModel(
        edges if not bent else [edge for edge in edges if edge[0] != "c"],
        nodes=["c", "sex"],
        mechanisms={"b": Linear({"a": float(slopes[3]), "e": 0.25}), "d": follows},
    ).fit(people)
    classifier = _classifier(family, rng, people)
    problem = RecourseProblem.of(classifier, people, schema=schema, scm=scm)
    grid = np.arange(0, 5) if whole else np.linspace(0, 4, 17)
    values: dict[str, npt.NDArray[Any]] = {"a": grid, "b": grid, "c": np.array(LEVELS, dtype=object)}
    kinds = (
        ("amounts", not whole), ("rules", rules), ("bent", bent), ("tight limits", tight), ("ordered levels", ordered)
    )  # fmt: skip
    extras = [word for word, there in kinds if there]
    name = ", ".join([family, *extras, f"number {random_state}"])
    return Case(name, problem, people, values, whole)


@dataclass(frozen=True)
class _Bend:
    """An equation that no straight line follows."""

    slope: float

    def __call__(self, causes: pd.DataFrame) -> Any:
        return self.slope * np.sin(np.asarray(causes["a"], dtype=float)) + 0.5 * np.asarray(causes["b"], dtype=float)

    def bounds(self, low: pd.DataFrame, high: pd.DataFrame) -> tuple[Any, Any]:
        """The least and the most over boxes: at an end, or where the sine turns."""
        left, right = (np.asarray(end["a"], dtype=float) for end in (low, high))
        ends = np.sort(np.stack([np.sin(left), np.sin(right)]), axis=0)
        # The sine is 1 a quarter past each whole turn and -1 three quarters past it.
        crest = np.floor(right / (2 * np.pi) - 0.25) >= np.ceil(left / (2 * np.pi) - 0.25)
        trough = np.floor(right / (2 * np.pi) - 0.75) >= np.ceil(left / (2 * np.pi) - 0.75)
        wave = self.slope * np.stack([np.where(trough, -1.0, ends[0]), np.where(crest, 1.0, ends[1])])
        line = [0.5 * np.asarray(end["b"], dtype=float) for end in (low, high)]
        return wave.min(axis=0) + line[0], wave.max(axis=0) + line[1]


def _people(rng: np.random.Generator, whole: bool) -> pd.DataFrame:
    n = 24
    amounts = rng.integers(0, 5, (n, 2)) if whole else rng.uniform(0, 4, (n, 2)).round(3)
    frame = pd.DataFrame(amounts, columns=["a", "b"])
    # Nobody's range may hang on chance: the cost is divided by it.
    frame.loc[0, ["a", "b"]], frame.loc[1, ["a", "b"]] = 0, 4
    frame["c"] = rng.choice(LEVELS, n)
    frame.loc[:2, "c"] = LEVELS
    frame["d"] = rng.normal(0, 1, n).round(3)
    frame["e"] = rng.normal(0, 1, n).round(3)
    frame["sex"] = np.where(np.arange(n) % 2, "f", "m")
    return frame


def _schema(rng: np.random.Generator, rules: bool, tight: bool) -> Schema:
    constraints: list[Constraint] = []
    if rules:
        constraints = [
            read_constraint("if c = 'u' then a <= 2"),
            Sum({"a": 1, "b": 1}, upper=float(rng.integers(4, 8))),
        ]
    reach = float(rng.uniform(0.5, 4))
    low, high = (1, 3) if tight else (0, 4)
    rise, fall = (2, 1) if tight else (None, None)
    return Schema(
        sensitive="sex", protected="f", favourable=1, rules=constraints,
        features={
            "a": Feature("actionable", lower=low, upper=high, direction=rng.choice(["both", "up"]).item()),
            "b": Feature(
                "actionable", lower=0, upper=4, weight=(1.0, 0.5), max_increase=rise, max_decrease=fall
            ),
            "c": Feature("actionable", weight=float(rng.uniform(0.1, 0.6))),
            "d": Feature("mutable", plausible=(-reach, reach)),
            "e": "immutable",
        },
    )  # fmt: skip


def _ordered(rng: np.random.Generator) -> Feature:
    """A category whose levels have an order, and something that depends on it."""
    order = tuple(rng.permutation(LEVELS).tolist())
    up, down = rng.uniform(0.1, 0.9, 2).tolist()
    pairs = [(start, end) for start in order for end in order if start != end and rng.random() < 0.4]
    return Feature(
        "actionable", order=order, weight=(up, down), direction=rng.choice(["both", "up", "down"]).item(),
        steps=bool(rng.random() < 0.6), prices={pair: float(rng.uniform(0.05, 1.5)) for pair in pairs} or None,
        upper=order[1] if rng.random() < 0.2 else None,
    )  # fmt: skip


def _classifier(family: str, rng: np.random.Generator, people: pd.DataFrame) -> Any:
    from sklearn.compose import make_column_transformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    seen = list(NAMES)
    many = pd.concat([people] * 4, ignore_index=True)
    for name in ("a", "b"):
        many[name] = rng.permutation(many[name].to_numpy())
    for name in ("d", "e"):
        many[name] = rng.normal(0, 1.5, len(many)).round(3)
    weights = rng.normal(0, 1, 4)
    score = many[["a", "b", "d", "e"]].to_numpy(dtype=float) @ weights + (many["c"] == "w") * rng.normal(0, 2)
    label = (score > np.quantile(score, 0.7)).astype(int)
    encode = make_column_transformer((OneHotEncoder(sparse_output=False), ["c"]), remainder="passthrough")
    return make_pipeline(encode, FAMILIES[family](rng)).fit(many[seen], label)
