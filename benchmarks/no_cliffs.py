"""What a person's recourse costs where it used to fall off a cliff, beside the aim: `python benchmarks/no_cliffs.py`.

Each case is a made-up world, a number of people, and the milliseconds of CPU that one of them may take on average, with
everybody certified. `before` solves a few of them the way that was taken before, in the same run: a ratio. Add a case
to `CASES`. `--only WORD` says which.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

import equieffort as ee

Made = tuple[Any, pd.DataFrame]
ROUNDS = 3


@dataclass(frozen=True)
class Case:
    """One row of the table."""

    name: str
    aim: float
    """Milliseconds a person."""
    worlds: tuple[Callable[[], Made], ...]
    """Problems and people; the mean is over all of them."""
    before: Any = None
    """The solver of before, for a few of the people of the first world."""
    few: int = 3


def linear(
    k: int,
    seed: int,
    *,
    people: int = 250,
    causes: int = 1,
    ranges: int = 0,
    clauses: int = 0,
    cost: Any = None,
    beyond: float = 0.02,
) -> Made:
    """A linear world of k actions in a chain, or with up to so many causes each; ranges, with rules a sum too.

    Actions stay between quantiles, `beyond` of the people outside on either side.
    """
    rng = np.random.default_rng(seed)
    names, edges, coefs, columns = [f"x{j}" for j in range(k)], [], {}, np.zeros((people, k))
    for j in range(k):
        own = (
            [j - 1] if causes == 1 else rng.choice(j, min(j, int(rng.integers(1, causes + 1))), replace=False).tolist()
        )
        own = own if j else []
        coefs[names[j]] = {names[p]: float(0.6 * rng.normal()) for p in own}
        edges += [(names[p], names[j]) for p in own]
        columns[:, j] = rng.normal(size=people) + sum(coefs[names[j]][names[p]] * columns[:, p] for p in own)
    table = pd.DataFrame(columns, columns=names)
    weights = {name: float(rng.normal()) for name in names}
    score = sum(weights[name] * table[name] for name in names)
    limits: dict[str, dict[str, Any]] = {
        name: {"lower": float(table[name].quantile(beyond)), "upper": float(table[name].quantile(1 - beyond))}
        for name in names
    }
    for name in rng.choice(names[1:], ranges, replace=False).tolist() if ranges else []:
        limits[name]["plausible"] = float(table[name].quantile(0.05)), float(table[name].quantile(0.95))
    rules: list[Any] = []
    if clauses:
        parts = rng.choice(names, 3, replace=False).tolist()
        rules.append(ee.rules.Sum(dict.fromkeys(parts, 1.0), upper=float(table[parts].sum(axis=1).quantile(0.8))))
    for _ in range(clauses):
        a, b = rng.choice(names, 2, replace=False).tolist()
        given, then = f"{a} > {table[a].quantile(0.6):.3f}", f"{b} > {table[b].quantile(0.4):.3f}"
        rules.append(ee.rules.Implies(given, then))
    table["side"] = np.where(np.arange(people) % 2, "a", "b")
    features = {name: ee.Feature("actionable", **ends) for name, ends in limits.items()}
    schema = ee.Schema(sensitive="side", protected="a", favourable=True, features=features, rules=rules)
    equations = {name: ee.Linear(own) for name, own in coefs.items() if own}
    scm = ee.StructuralCausalModel(edges, nodes=names, mechanisms=equations).fit(table)
    model = ee.LinearScore(weights, threshold=float(np.quantile(score, 0.95)))
    return ee.RecourseProblem.of(model, table, schema=schema, scm=scm, cost=cost), table


def whole(k: int, seed: int, people: int = 250) -> Made:
    """A chain of k whole numbers, all of which cost, carry on and gain the same: many ways tie."""
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(k)]
    table = pd.DataFrame(rng.integers(0, 5, size=(people, k)), columns=names)
    table.iloc[0], table.iloc[1] = 0, 4
    signs = rng.choice([-1.0, 1.0], (2, k))
    table["side"] = np.where(np.arange(people) % 2, "a", "b")
    features = {name: ee.Feature("actionable", lower=-1, upper=5) for name in names}
    schema = ee.Schema(sensitive="side", protected="a", favourable=True, features=features)
    equations = {names[j]: ee.Linear({names[j - 1]: float(signs[0, j])}) for j in range(1, k)}
    scm = ee.StructuralCausalModel(list(pairwise(names)), nodes=names, mechanisms=equations).fit(table)
    weights = dict(zip(names, signs[1].tolist(), strict=True))
    model = ee.LinearScore(weights, threshold=float(np.quantile(table[names] @ signs[1], 0.95)) + 0.5 * k + 0.25)
    return ee.RecourseProblem.of(model, table, schema=schema, scm=scm), table


def linears(k: int, **more: Any) -> tuple[Callable[[], Made], ...]:
    """Four such worlds."""
    return tuple(lambda seed=seed: linear(k, seed, **more) for seed in range(4))  # type: ignore[misc]


def wholes(k: int) -> tuple[Callable[[], Made], ...]:
    """Four worlds of whole numbers."""
    return tuple(lambda seed=seed: whole(k, seed) for seed in range(4))  # type: ignore[misc]


BENT = {"cost": ee.costs.Percentile()}
RULES = {"ranges": 3, "clauses": 2}
CASES = (
    Case("linear, chain of 12", 0.2, linears(12)),
    Case("linear, chain of 14", 0.2, linears(14), ee.Milp()),
    Case("linear, chain of 20", 0.5, linears(20), ee.Milp(), 2),
    Case("linear, 20 actions, 1 to 3 causes each", 2.0, linears(20, causes=3), ee.Milp(), 2),
    Case("linear, 8 actions, 3 ranges, a sum, 2 rules", 1.0, linears(8, **RULES), ee.Milp()),
    Case("linear, 12 actions, 3 ranges, a sum, 2 rules", 5.0, linears(12, **RULES), ee.Milp()),
    Case("linear, 12 actions, 1 to 3 causes, ranges, rules", 5.0, linears(12, causes=3, **RULES), ee.Milp()),
    Case("linear, chain of 14, half without an action", 0.2, linears(14, beyond=0.4), ee.Milp()),
    Case("whole numbers, all prices and gains equal, 12", 0.5, wholes(12), ee.Milp()),
    Case("whole numbers, all prices and gains equal, 20", 1.0, wholes(20), ee.Milp(), 2),
    Case("percentiles, chain of 8", 1.0, linears(8, **BENT), ee.LinearExact()),
    Case("percentiles, chain of 10", 1.0, linears(10, **BENT), ee.LinearExact()),
    Case("percentiles, chain of 14", 2.0, linears(14, **BENT), ee.Milp(), 2),
    Case("percentiles, chain of 20", 5.0, linears(20, **BENT), ee.Milp(), 1),
    Case("percentiles, 8 actions, 3 ranges, a sum, 2 rules", 5.0, linears(8, **BENT, **RULES), ee.Milp(), 2),
    Case("percentiles, 12 actions, 3 ranges, a sum, 2 rules", 20.0, linears(12, **BENT, **RULES)),
)


def seconds(prepared: Any, people: Any) -> tuple[float, Any]:
    """CPU for a person, the least of some rounds, and what was proposed."""
    took = []
    for _ in range(ROUNDS):
        start = time.process_time()
        proposal = prepared.propose(ee.solvers.Batch(people))
        took.append((time.process_time() - start) / len(people))
    return min(took), proposal


def certified(problem: Any, people: Any, proposal: Any, gap: float) -> int:
    """How many people's cost meets its bound, or are proven to have no action."""
    is_found = proposal.code == ee.solvers.FOUND
    proven = ee.solvers.Batch(people).is_proven(np.arange(len(people)), proposal, max(gap, 1e-6))
    return int(((proposal.code == ee.solvers.NONE) | (is_found & proven)).sum())


def run(case: Case) -> None:
    """One row."""
    spent, count, proven, ratio, without = 0.0, 0, 0, "", 0
    for number, world in enumerate(case.worlds):
        problem, table = world()
        asked = problem.scaled.encoding.encode(table[~problem.decision.is_favourable(table)])
        choice = ee.Auto().select(problem)
        choice.prepared.propose(ee.solvers.Batch(asked[:2]))
        took, proposal = seconds(choice.prepared, asked)
        spent, count = spent + took * len(asked), count + len(asked)
        without += int((proposal.code == ee.solvers.NONE).sum())
        proven += certified(problem, asked, proposal, choice.solver.gap)
        if case.before is not None and number == 0:
            prepared = case.before.prepare(problem.scaled)
            prepared.propose(ee.solvers.Batch(asked[:1]))
            start = time.process_time()
            prepared.propose(ee.solvers.Batch(asked[: case.few]))
            before = (time.process_time() - start) / case.few
            ratio = f"{type(case.before).__name__} {1e3 * before:8.2f} ms, {before / took:7.0f} times"
    mean = 1e3 * spent / count
    fine = "met" if mean <= case.aim and proven == count else "MISSED"
    print(
        f"{case.name:<50} {mean:8.3f} ms  aim {case.aim:5.1f}  {fine:<6} certified {proven}/{count}  "
        f"{f'without an action {without}  ' if without else ''}{ratio}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="", help="only cases whose name has this word")
    only = parser.parse_args().only
    warnings.simplefilter("ignore")
    for case in CASES:
        if only in case.name:
            run(case)


if __name__ == "__main__":
    main()
