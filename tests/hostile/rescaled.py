"""Units and rules at every scale: linear scores, sums of trees and networks in units from 1e-12 to 1e12.

The truth comes from the oracles in plain units, where one or two tell what is near; the package is asked in the new
ones.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from tests import oracles, oracles_networks, oracles_trees
from tests.hostile.judged import action_fault, compare, cost_fault
from tests.hostile.units import Units, continuous, linear_in, network_in, trees_in
from tests.oracles import Tally

from equieffort.errors import EquieffortWarning
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Refusal

INF = float("inf")
LINEAR = ("continuous", "integer", "categorical", "mixed", "piecewise")
TREES = ("alone", "whole", "category", "follow", "chain", "goals", "ties", "single", "wide", "piecewise")
NETWORKS = ("continuous", "integer", "categorical", "mixed", "piecewise", "classes", "linear classes")
FAR = 2e-4
"""How near costs are asked for where values are 1e9: doubles lie 1e-7 apart, and rounding is a hundred of that."""


def units_for(rng: np.random.Generator, case: Any, *, far: bool = False) -> Units:
    names = continuous(case)
    if not far:
        return Units.drawn(rng, names)
    # A cost relative to a person's own value is another far from zero; a user's function would reckon with rounding.
    kept = [name for name, scale in case.scales.items() if scale in ("own", "separable")]
    return Units.far(rng, [name for name in names if name not in kept])


def linear(rng: np.random.Generator, solver: Any, label: str, *, far: bool = False, most: int = 4) -> Tally:
    family = LINEAR[int(rng.integers(len(LINEAR)))]
    case = oracles.random_case(rng, family)
    units = units_for(rng, case, far=far)
    new = linear_in(case, units)
    truth = oracles.ORACLES[family]

    def judge(_: int, person: dict[str, Any], told: Any) -> str:
        least = truth(case, person)
        return cost_fault(told, least, solver.gap, FAR if far else 1e-6) or action_fault(case, person, told, units)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = oracles.problem_of(new)
        if isinstance(solver.prepare(problem), Refusal):
            return Tally()
    pair = (problem, lambda: oracles.problem_of(case))
    return compare(pair, (case.people, new.people), solver, units, judge, f"{label} ({family})", most, same=not far)


def untied(rng: np.random.Generator, case: oracles_trees.Case) -> oracles_trees.Case:
    """Thresholds of what follows lie where no sum of rounded numbers does: there rounding would decide."""

    def moved(tree: Any) -> Any:
        if len(tree) == 1:
            return tree
        column, test, left, right = tree
        if column in case.causes and not isinstance(test, frozenset):
            test = test + 1e-4 * float(rng.uniform(0.1, 1))
        return column, test, moved(left), moved(right)

    return replace(case, model=replace(case.model, trees=[moved(tree) for tree in case.model.trees]))


def trees(rng: np.random.Generator, solver: Any, label: str, *, family: str = "", far: bool = False) -> Tally:
    family = family or TREES[int(rng.integers(len(TREES)))]
    case = untied(rng, oracles_trees.random_case(rng, family))
    if case.rules:
        # Ends at round numbers meet thresholds and facts, and rounding decides.
        rules = tuple(_aside(rule, 1e-3 * float(rng.uniform(0.1, 1))) for rule in case.rules)
        case = replace(case, rules=rules)
    below = drawn_below(rng, case) if family == "rules" else ()
    case = replace(case, rules=(*case.rules, *below))
    units = units_for(rng, case, far=far)
    scales = [1.0 if far else 10.0 ** int(rng.integers(-12, 13)) for _ in case.rules]
    new = trees_in(case, units, scales)

    def judge(_: int, person: dict[str, Any], told: Any) -> str:
        near = FAR if far else 3e-6
        fault = cost_fault(told, oracles_trees.least_cost(case, person), solver.gap, near)
        if fault and case.rules:
            fault = cost_fault(
                told, oracles_trees.least_cost(case, person, tolerance=oracles_trees.GIVE), solver.gap, near
            )
        return fault or action_fault(case, person, told, units, oracles_trees.clauses(case, person))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = in_words(oracles_trees.problem_of(new), below, units)
        if isinstance(solver.prepare(problem), Refusal):
            return Tally()
    pair = (problem, lambda: oracles_trees.problem_of(case))
    people = (case.people.iloc[:4], new.people.iloc[:4])
    return compare(pair, people, solver, units, judge, f"{label} ({family})", most=2, same=not far)


def drawn_below(rng: np.random.Generator, case: Any) -> tuple[tuple[Any, ...], ...]:
    """Perhaps a column that must stay below a number, as a sum of one: "at most" costs the same as "less than"."""
    numbers = continuous(case)
    if not numbers or rng.random() < 0.5:
        return ()
    name = str(rng.choice([n for n in case.numbers if n in numbers] or numbers))
    values = case.people[name].to_numpy(dtype=float)
    limit = float(values[int(rng.integers(len(values)))] + np.ptp(values) * rng.uniform(0.001, 0.5))
    return (("sum", {name: 1.0}, -INF, limit),)


def in_words(problem: RecourseProblem, below: tuple[tuple[Any, ...], ...], units: Units) -> RecourseProblem:
    """The problem with its last rule written as people write it: ``a < limit``."""
    if not below:
        return problem
    ((_, weights, _, limit),) = below
    (name,) = weights
    rules = (*problem.schema.rules[:-1], f"{name} < {units.new(name, limit)!r}")
    return replace(problem, schema=replace(problem.schema, rules=rules))


def _aside(rule: tuple[Any, ...], off: float) -> tuple[Any, ...]:
    kind, *parts = rule
    if kind == "sum":
        return kind, parts[0], parts[1] + off, parts[2] + off
    if kind == "implies":
        return kind, parts[0], parts[1] + off, parts[2], parts[3] - off
    return rule


def asked_of_networks(made: oracles_networks.NetCase) -> Any:
    """Positions of two people who are refused and of one of the other group, since groups are compared."""
    seen = made.case.people[list(made.classifier.feature_names_in_)]
    refused = np.flatnonzero(~oracles_networks.Wanted(made).predict(seen))[:2]
    if len(refused) == 0:
        return refused
    groups = made.case.people[made.case.sensitive]
    return np.unique([*refused, *np.flatnonzero(groups != groups.iloc[refused[0]])[:1]])


def networks(rng: np.random.Generator, solver: Any, label: str, *, family: str = "", far: bool = False) -> Tally:
    family = family or NETWORKS[int(rng.integers(len(NETWORKS)))]
    made = oracles_networks.random_network(rng, family)
    below = drawn_below(rng, made.case) if family == "rules" else ()
    made = replace(made, rules=(*made.rules, *below))
    units = units_for(rng, made.case, far=far)
    scales = [1.0 if far else 10.0 ** int(rng.integers(-12, 13)) for _ in made.rules]
    new = network_in(made, units, scales)
    rows = asked_of_networks(made)
    if len(rows) == 0:
        return Tally()

    def judge(_: int, person: dict[str, Any], told: Any) -> str:
        fault = cost_fault(told, oracles_networks.network_oracle(made, person), solver.gap, FAR if far else 1e-6)
        return fault or action_fault(made.case, person, told, units, oracles_networks.asked_of(made, person))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = in_words(oracles_networks.problem_of(new), below, units)
    pair = (problem, lambda: oracles_networks.problem_of(made))
    people = (made.case.people.iloc[rows], new.case.people.iloc[rows])
    return compare(pair, people, solver, units, judge, f"{label} ({family})", most=2, same=not far)
