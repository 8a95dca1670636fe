"""Recourse judged in the true world: with the true equations, and with equations learned from data.

For each world of `equieffort.datasets.worlds` models are trained on drawn people, everybody they refuse gets the
cheapest action under each kind of equations, and the action is then carried out in the true world. Run with
`python benchmarks/worlds.py [--world TEXT] [--model NAME] [--equations NAMES] [--people N] [--train N] [--draws R]`.

The cheapest action ends on the decision boundary, so an error of the equations in the wrong direction, however small,
makes it miss: for equations that err to either side a `valid` of one half is all that can be hoped for, with any
number of people to learn from. What tells good equations from bad ones stands beside it:

valid     share of the actions that turn the decision in the true world; `+-` how far it differs between draws, in
          which everybody shares the same errors (a standard deviation)
covered   how much of the way from a person's score to the boundary the action truly covers, at most all of it
cost x    what the actions cost, against the cheapest ones under the true equations for the same people

The last three columns are for actions that must also lead past the boundary by a margin. It comes from the data alone:
the equations are learned again on resampled people, and the margin is what 95 % of the actions need under them.
It guards against chance, not against equations of the wrong shape, since those err alike on every sample.

People act on everything that is actionable ("all"), where the cheapest action is often on a feature that moves no
other, so that equations hardly matter; or only on what moves other features ("causes"), where all depends on them.
Margins are tried on the latter only. Networks and forests, which take longer, get no other, and fewer draws. Named
only, `knots` are splines with 20 knots and `gp` Gaussian processes, which no solver can enclose: actions are searched
for. `--published` prints the setting of a known table instead.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equieffort as ee
from equieffort.datasets import World, karimi_loan, worlds
from equieffort.foundations.jit import compile_at_once

MODELS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "network": lambda: make_pipeline(StandardScaler(), MLPClassifier((10, 10), max_iter=300, random_state=0)),
    "forest": lambda: RandomForestClassifier(50, max_depth=6, random_state=0),
}
EQUATIONS: dict[str, Any] = {
    "true": None,
    "linear": ee.LeastSquares(),
    "cubic": ee.Polynomial(3, interactions=True),
    "spline": ee.Spline(),
    "broken": ee.Spline(degree=1),
    "trees": ee.Regressor(RandomForestRegressor(15, min_samples_leaf=100, random_state=0)),
}
"""How equations are learned, from the people the model was trained on; None is the world's own. Add others here."""
PROCESS = GaussianProcessRegressor(1.0 * RBF(1.0) + WhiteKernel(1.0), optimizer=None, normalize_y=True)
MORE = {"knots": ee.Spline(knots=20), "gp": ee.Regressor(make_pipeline(StandardScaler(), PROCESS))}
"""Tried when named only."""
SAMPLES, SHARE = 10, 0.95
"""How often equations are learned again, and the share of actions that must hold under these."""


@dataclass(frozen=True, eq=False)
class Draw:
    """People of a world: those that models and equations learn from, and those who ask."""

    seen: pd.DataFrame
    labels: pd.Series
    asked: pd.DataFrame

    @classmethod
    def of(cls, world: World, train: int, people: int, seed: int) -> Draw:
        """Draw them; worlds without groups get arbitrary ones, `half`."""
        X, y = world.sample(train + people, random_state=seed)
        if world.sensitive is None:
            X = X.assign(half=np.arange(len(X)) % 2)
        return cls(X.iloc[:train], y.iloc[:train], X.iloc[train:])


@dataclass(frozen=True, eq=False)
class Case:
    """A model in a draw, and what people may set."""

    world: World
    draw: Draw
    model: Any
    actions: tuple[str, ...]

    def equations(self, learner: Any, people: pd.DataFrame) -> ee.StructuralCausalModel:
        """The true equations, or those that an action can set in motion, learned from people."""
        if learner is None:
            if self.world.scm is None:
                raise ee.errors.CausalModelError(
                    "SCM_MECHANISM", "The true equations are not additive in the noise.", fix="Learn them."
                )
            return self.world.scm.ready(people)
        follow = self.world.graph.descendants(*self.actions)
        graph = ee.CausalGraph.of([edge for edge in self.world.graph.edges if edge[1] in follow], self.world.columns)
        return ee.StructuralCausalModel(graph, default=learner).fit(people)

    def problem(self, scm: ee.StructuralCausalModel) -> ee.RecourseProblem:
        """Actions within the values seen in training; costs are shares of each feature's range, added up."""
        seen, sensitive = self.draw.seen, self.world.sensitive or "half"
        features: dict[str, Any] = {name: "mutable" for name in self.world.columns if name != self.world.sensitive}
        for name in self.actions:
            features[name] = ee.Feature("actionable", lower=float(seen[name].min()), upper=float(seen[name].max()))
        schema = ee.Schema(sensitive=sensitive, protected=seen[sensitive].min(), favourable=1, features=features)
        return ee.RecourseProblem.of(self.model, self.draw.asked, schema=schema, scm=scm, reference=seen)

    def truth(self, table: Any) -> pd.DataFrame:
        """The people as they truly are after their actions."""
        actions, facts = table.frame(), self.draw.asked[list(self.world.columns)]
        do = {name: actions[f"do_{name}"].to_numpy(float) for name in self.actions}
        return self.draw.asked.assign(**self.world.counterfactual(self.world.noise(facts), do))

    def scores_under(self, scm: ee.StructuralCausalModel, problem: Any, table: Any) -> Any:
        """The scores after the actions, were these equations true."""
        matrix, actions = problem.encoding.encode(self.draw.asked), table.frame()
        values, chosen = matrix.copy(), np.zeros(matrix.shape, dtype=bool)
        for name in self.actions:
            k, do = problem.encoding.position(name), actions[f"do_{name}"].to_numpy(float)
            chosen[:, k] = ~np.isnan(do)
            values[:, k] = np.where(chosen[:, k], do, values[:, k])
        nodes = slice(0, len(scm.graph.nodes))
        moved, _ = scm.propagate(matrix[:, nodes], chosen[:, nodes], values[:, nodes])
        return problem.view.margins(np.column_stack([moved, matrix[:, nodes.stop :]]))[:, 0]

    def safe_margin(self, learner: Any, problem: Any, table: Any) -> float:
        """How much further the actions must lead to hold under most equations learned from resampled people."""
        if not table.has_action.any():
            return 0.0
        seen = self.draw.seen
        again = [seen.sample(len(seen), replace=True, random_state=k) for k in range(SAMPLES)]
        scores = [self.scores_under(self.equations(learner, people), problem, table) for people in again]
        return max(0.0, -float(np.quantile(np.stack(scores)[:, table.has_action], 1 - SHARE)))


@dataclass(frozen=True)
class Outcome:
    """How the actions of one draw did; arrays with a row a refused person, or a row an action."""

    found: Any
    proven: Any
    valid: Any
    covered: Any
    cost: float
    true_cost: float
    """Both summed over the people who have an action under the true equations as well."""
    seconds: float


def judge(case: Case, problem: Any, true_costs: Any) -> tuple[Outcome, Any]:
    """Solve, act, look."""
    start = time.perf_counter()
    table = ee.solve(problem, case.draw.asked)
    seconds = time.perf_counter() - start
    refused, found = table.is_unfavourable, table.has_action
    proven = (table.status == ee.Status.OPTIMAL) | (table.status == ee.Status.INFEASIBLE)
    after = case.truth(table)
    valid = case.model.predict(after[list(case.world.columns)]) == 1
    before, then = (problem.view.margins(problem.encoding.encode(X))[:, 0] for X in (case.draw.asked, after))
    covered = np.minimum(1.0, (then - before)[found] / np.maximum(-before[found], 1e-12))
    costs = table.cost if true_costs is None else true_costs
    both = found & np.isfinite(costs)
    sums = float(table.cost[both].sum()), float(costs[both].sum())
    return Outcome(found[refused], proven[refused], valid[found], covered, *sums, seconds), table


def run(case: Case, learners: dict[str, Any], *, with_margin: bool) -> dict[str, tuple[Outcome, Outcome | None] | str]:
    """For each kind of equations the cheapest actions and the safe ones, or why there are none."""
    results: dict[str, tuple[Outcome, Outcome | None] | str] = {}
    true_costs = np.full(len(case.draw.asked), np.nan)
    for name, learner in learners.items():
        try:
            problem = case.problem(case.equations(learner, case.draw.seen))
            plain, table = judge(case, problem, None if learner is None else true_costs)
            safe = None
            if learner is None:
                true_costs = np.where(table.has_action, table.cost, np.nan)
            elif with_margin and name != "gp":
                margin = case.safe_margin(learner, problem, table)
                safe = plain if margin == 0 else judge(case, problem.with_margin(margin), true_costs)[0]
            results[name] = plain, safe
        except ee.errors.EquieffortError as error:
            results[name] = f"skipped: {error.what}"
    return results


def line(outcomes: list[tuple[Outcome, Outcome | None]]) -> str:
    """The draws pooled."""
    plain = [out for out, _ in outcomes]
    safe = [out for _, out in outcomes if out is not None]
    shares = [out.valid.mean() for out in plain if len(out.valid)]
    between = f"{100 * np.std(shares, ddof=1):>4.0f}" if len(shares) > 1 else f"{'-':>4}"
    # The first draw also pays for compilation.
    each = min(1000 * out.seconds / max(len(out.found), 1) for out in plain)
    return (
        f"{sum(len(out.found) for out in plain):>7} {share(plain, 'found')} {share(plain, 'proven'):>9} "
        f"{share(plain, 'valid')} {between} {share(plain, 'covered'):>7} {ratio(plain)} {each:>8.2f} |"
        f" {share(safe, 'found')} {share(safe, 'valid')} {ratio(safe)}"
    )


def share(outcomes: list[Outcome], name: str) -> str:
    rows = [getattr(out, name) for out in outcomes]
    return f"{np.concatenate(rows).mean():>6.1%}" if rows and sum(map(len, rows)) else f"{'-':>6}"


def ratio(outcomes: list[Outcome]) -> str:
    true = sum(out.true_cost for out in outcomes)
    return f"{sum(out.cost for out in outcomes) / true:>6.2f}" if true > 0 else f"{'-':>6}"


def actions_of(world: World, model: str) -> dict[str, tuple[str, ...]]:
    """Which features people may set: all that are actionable, or those of them that move others."""
    causes = tuple(name for name in world.actionable if world.graph.descendants(name))
    return ({"all": world.actionable} if model == "logistic" or not causes else {}) | (
        {"causes": causes} if causes else {}
    )


def in_world(world: World, models: Iterable[str], learners: dict[str, Any], options: Any) -> None:
    """All models and equations in one world."""
    for model in models:
        draws = options.draws if model == "logistic" else max(1, options.draws // 4)
        seeds = range(options.seed, options.seed + draws)
        drawn = [Draw.of(world, options.train, options.people, seed) for seed in seeds]
        fitted = [MODELS[model]().fit(draw.seen[list(world.columns)], draw.labels) for draw in drawn]
        for acts, actions in actions_of(world, model).items():
            cases = [Case(world, draw, one, actions) for draw, one in zip(drawn, fitted, strict=True)]
            found = [run(case, learners, with_margin=acts == "causes") for case in cases]
            for name in learners:
                rows = [results[name] for results in found]
                words = [row for row in rows if isinstance(row, str)]
                text = words[0] if words else line([row for row in rows if not isinstance(row, str)])
                print(f"{world.name:<29} {model:<8} {acts:<6} {name:<6} {text}", flush=True)


def published(draws: int, seed: int) -> None:
    """The loan world as in Karimi et al. (2020), linear equations from so many people, the model from 10,000."""
    print(f"{'people':>7} {'draws':>6} {'valid':>7} {'all valid':>10} {'none valid':>11} {'cost %':>7}")
    for people in (250, 2500, 10_000):
        shares, costs = np.array([published_draw(people, k) for k in range(seed, seed + draws)]).T
        print(
            f"{people:>7} {draws:>6} {shares.mean():>7.1%} {(shares == 1).mean():>10.1%} {(shares == 0).mean():>11.1%} "
            f"{100 * costs.mean():>7.1f}"
        )


def published_draw(people: int, seed: int) -> tuple[float, float]:
    """Share of valid actions and mean cost: E, L, I and S can be set, D follows L; costs are Euclidean.

    As in the authors' code, only people whose chance is at most .35 ask.

    With a linear score and linear equations the cheapest action has a closed form for each set of interventions: along
    the effects of what is set, each times its range squared.
    """
    world, settable = karimi_loan(), ("E", "L", "I", "S")
    X, y = world.sample(10_000, random_state=seed)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    score = dict(zip(world.columns, model.coef_[0], strict=True))
    slope = {}
    for node in ("D", "I", "S"):
        causes = list(world.graph.parents(node))
        weights = LinearRegression().fit(X[causes][:people], X[node][:people]).coef_
        slope |= {(cause, node): weight for cause, weight in zip(causes, weights, strict=True)}

    def effect(name: str, held: tuple[str, ...]) -> float:
        """What a unit of a feature does to the score, also through all that follows it and is not set."""
        moved = [node for cause, node in slope if cause == name and node not in held]
        return float(score[name] + sum(slope[name, node] * effect(node, held) for node in moved))

    span = np.ptp(X[list(settable)].to_numpy(), axis=0)
    ways = [way for size in range(1, 5) for way in combinations(settable, size)]
    gains = [[effect(name, way) if name in way else 0.0 for name in settable] * span for way in ways]
    best = max(range(len(ways)), key=lambda w: float(np.linalg.norm(gains[w])))
    refused = X[model.predict_proba(X)[:, 1] <= 0.35][:100]
    missing = 1e-9 - model.decision_function(refused)
    steps = np.outer(missing, gains[best]) / float(gains[best] @ gains[best])
    do = {n: refused[n] + span[j] * steps[:, j] for j, n in enumerate(settable) if n in ways[best]}
    after = world.counterfactual(world.noise(refused), do)
    return float((model.predict(after) == 1).mean()), float(np.linalg.norm(steps, axis=1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--world", default="", help="only worlds whose name holds this text")
    parser.add_argument("--model", default="", choices=["", *MODELS], help="only this model")
    parser.add_argument("--people", type=int, default=30, help="how many people ask for recourse in each draw")
    parser.add_argument("--train", type=int, default=2000, help="how many people models and equations learn from")
    parser.add_argument("--draws", type=int, default=4, help="how many draws; networks and forests get a quarter")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--equations", default=",".join(EQUATIONS), help="which kinds, by name, true first; knots and gp are others"
    )
    parser.add_argument(
        "--published", action="store_true", help="the setting of Karimi et al. (2020), linear equations"
    )
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.published:
        published(options.draws, options.seed)
        return
    known = EQUATIONS | MORE
    if unknown := [name for name in options.equations.split(",") if name not in known]:
        parser.error(f"no equations named {unknown[0]}; there are {', '.join(known)}")
    learners = {name: known[name] for name in options.equations.split(",")}
    print(
        f"{'':<51} {'cheapest actions':>57} {'| with a margin':>25}\n"
        f"{'world':<29} {'model':<8} {'acts':<6} {'equat.':<6} {'refused':>7} {'action':>6} {'certified':>9} "
        f"{'valid':>6} {'+-':>4} {'covered':>7} {'cost x':>6} {'ms each':>8} | {'action':>6} {'valid':>6} {'cost x':>6}"
    )
    for world in worlds():
        if options.world in world.name:
            in_world(world, [options.model] if options.model else MODELS, learners, options)


if __name__ == "__main__":
    with compile_at_once():
        main()
