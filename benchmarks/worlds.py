"""Recourse judged in the true world: with the true equations, and with equations learned from data.

For each world of `equieffort.datasets.worlds` models are trained on drawn people, everybody they refuse gets the
cheapest action under each kind of equations, and the action is then carried out in the true world. Run with
`python benchmarks/worlds.py [--people N] [--train N] [--repeats R] [--seed K] [--world TEXT]`. What no solver can do
yet is printed with the reason.

The cheapest action ends on the decision boundary, so an error of the equations in the wrong direction, however small,
makes it miss: `valid` tells the direction of the errors. `at 105%` is the share of valid actions when everybody goes a
twentieth further than told; what fails there too is wrong by more than a slope that is slightly off.

People act on everything that is actionable ("all"), where the cheapest action is often on a feature that moves no
other, so that equations hardly matter; or only on what moves other features ("causes"), where all depends on them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equieffort as ee
from equieffort.datasets import World, worlds

Models = dict[str, Callable[[], Any]]
MODELS: Models = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((10, 10), max_iter=300, random_state=0)),
    "forest": lambda: RandomForestClassifier(50, max_depth=6, random_state=0),
}


def true_equations(world: World, X: pd.DataFrame) -> ee.StructuralCausalModel:
    """The world's own, where the model of an audit can hold them."""
    if world.scm is None:
        raise ee.errors.CausalModelError(
            "SCM_MECHANISM", "The true equations are not additive in the noise.", fix="Learn them."
        )
    return world.scm.ready(X)


Learn = Callable[[World, pd.DataFrame], ee.StructuralCausalModel]


def learned(how: Any) -> Learn:
    """Every equation learned in the same way."""
    return lambda world, X: ee.StructuralCausalModel(world.graph, default=how).fit(X)


EQUATIONS: dict[str, Learn] = {
    "true": true_equations,
    "linear": learned(ee.LeastSquares()),
    "cubic": learned(ee.Polynomial(3, interactions=True)),
    "spline": learned(ee.Spline()),
    "trees": learned(ee.Regressor(RandomForestRegressor(30, min_samples_leaf=20, random_state=0))),
}
"""Kinds of equations; a learned one is fitted to the people the model was trained on. Add others here."""


@dataclass(frozen=True)
class Outcome:
    """One row a refused person: whether there is an action, its certificate, whether it truly helps, its cost."""

    found: Any
    proven: Any
    valid: Any
    further: Any
    cost: Any
    seconds: float


def actions_of(world: World) -> dict[str, tuple[str, ...]]:
    """Which features people may set: all that are actionable, or those of them that move others."""
    causes = tuple(name for name in world.actionable if world.graph.descendants(name))
    return {"all": world.actionable} | ({"causes": causes} if causes else {})


def schema_of(world: World, X: pd.DataFrame, actions: tuple[str, ...]) -> ee.Schema:
    """Actions within the values seen in training; worlds without groups get an arbitrary one, `half`."""
    features: dict[str, Any] = {name: "mutable" for name in world.columns if name != world.sensitive}
    for name in actions:
        features[name] = ee.Feature("actionable", lower=float(X[name].min()), upper=float(X[name].max()))
    sensitive = world.sensitive or "half"
    return ee.Schema(sensitive=sensitive, protected=X[sensitive].min(), favourable=1, features=features)


def carry_out(world: World, X: pd.DataFrame, table: Any, stretch: float = 1.0) -> pd.DataFrame:
    """The people as they truly are after their actions, each taken `stretch` times as far as told."""
    actions, facts = table.frame(), X[list(world.columns)]
    names = [name for name in world.actionable if f"do_{name}" in actions]
    do = {name: facts[name] + stretch * (actions[f"do_{name}"] - facts[name]) for name in names}
    return world.counterfactual(world.noise(facts), {name: values.to_numpy(float) for name, values in do.items()})


def judge(world: World, model: Any, scm: ee.StructuralCausalModel, actions: tuple[str, ...], draw: Draw) -> Outcome:
    """Solve, act, look. Costs are shares of the range of each feature, added up."""
    X, schema = draw.asked, schema_of(world, draw.seen, actions)
    start = time.perf_counter()
    table = ee.solve(ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X)
    seconds = time.perf_counter() - start
    refused, found = table.is_unfavourable, table.has_action
    proven = (table.status == ee.Status.OPTIMAL) | (table.status == ee.Status.INFEASIBLE)
    valid, further = (model.predict(carry_out(world, X, table, stretch)) == 1 for stretch in (1.0, 1.05))
    return Outcome(found[refused], proven[refused], valid[found], further[found], table.cost[found], seconds)


@dataclass(frozen=True, eq=False)
class Draw:
    """People of a world: those that models and equations learn from, and those who ask."""

    seen: pd.DataFrame
    labels: pd.Series
    asked: pd.DataFrame

    @classmethod
    def of(cls, world: World, train: int, people: int, seed: int) -> Draw:
        """Draw them."""
        X, y = world.sample(train + people, random_state=seed)
        if world.sensitive is None:
            X = X.assign(half=np.arange(len(X)) % 2)
        return cls(X.iloc[:train], y.iloc[:train], X.iloc[train:])


def run(world: World, draws: list[Draw]) -> None:
    """All models and equations in one world."""
    for kind, make in MODELS.items():
        models = [make().fit(draw.seen[list(world.columns)], draw.labels) for draw in draws]
        for (acts, actions), (name, learn) in product(actions_of(world).items(), EQUATIONS.items()):
            head = f"{world.name:<30} {kind:<9} {acts:<7} {name:<7}"
            try:
                found = [
                    judge(world, model, learn(world, draw.seen), actions, draw)
                    for model, draw in zip(models, draws, strict=True)
                ]
            except ee.errors.EquieffortError as error:
                print(f"{head} skipped: {error.what}")
            else:
                print(f"{head} {line(found)}")


def line(outcomes: list[Outcome]) -> str:
    """The draws pooled."""
    refused = sum(len(out.found) for out in outcomes)
    found, proven, valid, further, cost = (
        np.concatenate([getattr(out, name) for out in outcomes])
        for name in ("found", "proven", "valid", "further", "cost")
    )
    # The first draw also pays for compilation.
    each = min(1000 * out.seconds / max(len(out.found), 1) for out in outcomes)
    return (
        f"{refused:>7} {found.mean():>7.1%} {proven.mean():>9.1%} {valid.mean():>7.1%} {further.mean():>8.1%} "
        f"{100 * cost.mean():>7.1f} {each:>8.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--people", type=int, default=100, help="how many people ask for recourse in each draw")
    parser.add_argument("--train", type=int, default=2000, help="how many people models and equations learn from")
    parser.add_argument("--repeats", type=int, default=2, help="how many draws, each with models of its own")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--world", default="", help="only worlds whose name holds this text")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'world':<30} {'model':<9} {'acts on':<7} {'equat.':<7} {'refused':>7} {'action':>7} {'certified':>9} "
        f"{'valid':>7} {'at 105%':>8} {'cost %':>7} {'ms each':>8}"
    )
    for world in worlds():
        if options.world in world.name:
            seeds = range(options.seed, options.seed + options.repeats)
            run(world, [Draw.of(world, options.train, options.people, seed) for seed in seeds])


if __name__ == "__main__":
    main()
