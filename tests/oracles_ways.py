"""Oracles for how many features are changed, and for further ways: every subset of the actionable features, one by one.

What a way may change is said to the oracles of linear worlds and of trees in their own words (no room to go up or down;
a category that nobody sets), so that the least cost of each subset is known without anything of the package. From these
costs follow the least with at most k changes, and the least that leaves a feature of each earlier way unchanged.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from tests import oracles, oracles_trees
from tests.oracles import Tally, answers

from equieffort.errors import EquieffortWarning
from equieffort.recourse.alternatives import NEGLIGIBLE, find_alternatives
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import BranchAndBound
from equieffort.recourse.solving import solve
from equieffort.recourse.table import RecourseTable

LINEAR = ("continuous", "integer", "categorical", "mixed", "piecewise")
TREES = ("alone", "whole", "category", "follow", "chain", "goals")
FAMILIES = ("max_actions", "alternatives")
WAYS = 4
INF = float("inf")


@dataclass(frozen=True, eq=False)
class Drawn:
    """A case of another family of oracles, and how to ask about it."""

    case: Any
    least: Callable[[Any, dict[str, Any]], float]
    problem: RecourseProblem
    people: pd.DataFrame
    solver: Any
    judge: Callable[[pd.Series, float], str]

    @property
    def acts(self) -> list[str]:
        return [*self.case.numbers, *self.case.categories]


def held(case: Any, names: set[str]) -> Any:
    """The case in which these features must not change; what is no category may still be kept at its value."""
    limits, roles = dict(case.limits), dict(case.roles)
    for name in names:
        if name in case.levels:
            roles[name] = "mutable"
        else:
            limits[name] = {**limits.get(name, {}), "max_increase": 0.0, "max_decrease": 0.0}
    return replace(case, limits=limits, roles=roles)


def subsets(drawn: Drawn, person: dict[str, Any]) -> dict[frozenset[str], float]:
    """By features that may change the least cost."""
    found = {}
    for size in range(len(drawn.acts) + 1):
        for chosen in itertools.combinations(drawn.acts, size):
            found[frozenset(chosen)] = drawn.least(held(drawn.case, set(drawn.acts) - set(chosen)), person)
    return found


def draw(seed: int) -> Drawn:
    """A linear world or trees, in turn, in which somebody is refused and may change more than one feature.

    One person: every subset of what they may change is a search of its own.
    """
    for again in itertools.count():
        drawn = _trees(seed, 1000 * again) if seed % 2 else _linear(seed, 1000 * again)
        if drawn is not None:
            return drawn
    raise AssertionError


def _trees(seed: int, more: int) -> Drawn | None:
    family = TREES[seed // 2 % len(TREES)]
    case = oracles_trees.random_case(oracles_trees.rng_of(family, seed + more), family)
    refused = [not case.model.met(case.model.margins(person)) for person in case.people.to_dict("records")]
    if not any(refused) or len(case.numbers) + len(case.categories) < 2:
        return None
    problem, solver = oracles_trees.problem_of(case), BranchAndBound(time_limit=None)
    return Drawn(case, oracles_trees.least_cost, problem, case.people[refused][:1], solver, oracles_trees.judge)


def _linear(seed: int, more: int) -> Drawn | None:
    family = LINEAR[seed // 2 % len(LINEAR)]
    case = oracles.random_case(oracles.rng_of(family, seed + more), family)
    refused = case.classifier.predict(case.people[list(case.classifier.feature_names_in_)]) != case.favourable
    if not any(refused) or len(case.actionable) < 2:
        return None
    plain = family in ("continuous", "categorical")
    oracle = oracles.linprog_oracle if plain else oracles.vertex_oracle
    return Drawn(case, oracle, oracles.problem_of(case), case.people[refused][:1], None, oracles.judge)


def compare(family: str, seed: int) -> Tally:
    """Solve a case both ways."""
    label = f"{family} seed {seed}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        drawn = draw(seed)
        return (few if family == "max_actions" else further)(drawn, label)


def few(drawn: Drawn, label: str) -> Tally:
    """At most one, two, ... features changed."""
    tally = Tally(cases=1)
    truths = [subsets(drawn, person) for person in drawn.people.to_dict("records")]
    for most in range(1, len(drawn.acts)):
        schema = replace(drawn.problem.schema, max_actions=most)
        table = solve(replace(drawn.problem, schema=schema), drawn.people, solver=drawn.solver)
        told = answers(table)
        for row, truth in enumerate(truths):
            least = min(cost for chosen, cost in truth.items() if len(chosen) <= most)
            fault = drawn.judge(told.iloc[row], least)
            if not fault and len(changed(table, row)) > most:
                fault = f"changes {changed(table, row)}"
            count(tally, told.iloc[row].status, f"{label} person {row}, at most {most}: {fault}" if fault else "")
    return tally


def further(drawn: Drawn, label: str) -> Tally:
    """The ways beside the first."""
    tally = Tally(cases=1)
    first = solve(drawn.problem, drawn.people, solver=drawn.solver)
    tables = [first, *find_alternatives(first, np.arange(len(first)), WAYS)]
    told = [answers(table) for table in tables]
    for row, person in enumerate(drawn.people.to_dict("records")):
        truth, given = subsets(drawn, person), list[set[str]]()
        for rank, table in enumerate(tables):
            other = [cost for chosen, cost in truth.items() if not any(way <= chosen for way in given)]
            least = min(other, default=INF)
            said = told[rank].iloc[row]
            fault = drawn.judge(said, least)
            own = changed(table, row)
            if not fault and any(way <= own for way in given):
                fault = f"changes {own} after {given}"
            count(tally, said.status, f"{label} person {row}, way {rank + 1}: {fault}" if fault else "")
            if fault or said.status in ("infeasible", "unknown"):
                break
            given.append(own)
    return tally


def changed(table: RecourseTable, row: int) -> set[str]:
    """What a way changes, but for what costs next to nothing."""
    told, person = table.frame().iloc[row], table.data.iloc[row]
    costs = table.source.costs(table, slice(None))[row]
    names = [table.source.encoding.columns[k].name for k in table.acts]
    is_set = [not pd.isna(told[f"do_{name}"]) and told[f"do_{name}"] != person[name] for name in names]
    all_of = {name for name, own in zip(names, is_set, strict=True) if own}
    dear = {name for name, cost in zip(names, costs, strict=True) if cost > NEGLIGIBLE * costs.sum()}
    return all_of & dear or all_of


def count(tally: Tally, status: str, fault: str) -> None:
    tally.people += 1
    if status in ("optimal", "feasible", "infeasible"):
        setattr(tally, status, getattr(tally, status) + 1)
    if fault:
        tally.disagreements.append(fault)


def run(family: str, seeds: range) -> Tally:
    """Compare many cases of a family."""
    tally = Tally()
    for seed in seeds:
        try:
            tally += compare(family, seed)
        except Exception as error:
            # A crash is a disagreement too, and must not hide the cases after it.
            tally += Tally(cases=1, disagreements=[f"{family} seed {seed}: {type(error).__name__}: {error}"])
    return tally
