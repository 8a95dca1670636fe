"""A problem with bent equations as arrays: intervention sets, what follows in each, and what people start from."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Self

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import NEXT_TO_NOTHING, TOLERANCE
from equieffort.models.classifiers import TreeView
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.cost_segments import paid_by, segments
from equieffort.recourse.solvers.interventions import MOST_INTERVENTION_SETS, Misfit, count_sets, followers
from equieffort.recourse.solvers.rule_table import AtomEnds, RuleTable
from equieffort.recourse.status import Refusal, Unfit, Why
from equieffort.world.cost import LinearCost, PiecewiseCost
from equieffort.world.scm.equations import Additive, Discrete
from equieffort.world.scm.mechanisms import LinearEquation

Indices = npt.NDArray[np.intp]


def whole_ends(low: Floats, high: Floats, whole: Bools) -> tuple[Floats, Floats]:
    """Ends of which some are those of whole numbers."""
    return np.where(whole, np.ceil(low), low), np.where(whole, np.floor(high), high)


class Records:
    """A dataclass of arrays, a row a box or a point; records in it and what is the same for all rows included."""

    def take(self, which: Bools | Indices) -> Self:
        """Some of them."""
        if which.dtype == bool:
            which = np.flatnonzero(which)  # once, not for each array
        found = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(found, name, value.take(which, axis=0))
            elif isinstance(value, Records):
                setattr(found, name, value.take(which))
        return found


@dataclass(frozen=True, eq=False)
class Step:
    """A column that follows, its causes' positions, and its equation."""

    column: int
    parents: tuple[int, ...]
    equation: Additive | Discrete


@dataclass(frozen=True, eq=False)
class InterventionSet:
    """Which features are set and which are left, and what follows then."""

    is_set: Bools
    """(numeric action)."""
    sets_level: Bools
    """(categorical action)."""
    steps: tuple[Step, ...]
    """What follows and matters, causes first."""
    frozen: tuple[int, ...]
    """Columns that must stay, since a category without an equation hangs on them."""
    bent: Bools
    """(numeric action): whether it reaches an equation that is not linear."""


@dataclass(frozen=True)
class Root:
    """An intervention set, and a level for each actionable category: -1 where it is left."""

    interventions: int
    levels: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CompiledProblem:
    """What is the same for everybody."""

    intervention_sets: tuple[InterventionSet, ...]
    roots: tuple[Root, ...]
    follows: Bools
    """(categorical action): whether an action can move it, so that keeping its level differs from leaving it."""
    steps: dict[int, Step]
    """By column: how it follows, in whichever set it does."""
    cuts: dict[int, Floats]
    """By numeric action: where trees of equations split it, as the largest values that go left."""
    amounts: Bools
    """(column): whether it may take any value between its ends, so that it has no levels."""
    rules: RuleTable

    @cached_property
    def is_set(self) -> Bools:
        """(intervention set, numeric action)."""
        return np.array([interventions.is_set for interventions in self.intervention_sets])


def compile_problem(problem: RecourseProblem[ReadableView]) -> CompiledProblem:
    """What is the same for everybody; raises `Misfit` if it cannot be enclosed."""
    follows, numbers = followers(problem), len(problem.numeric)
    levels = [len(problem.encoding.columns[c].levels) for c in problem.categorical]
    total = count_sets(problem)
    if total > MOST_INTERVENTION_SETS:
        raise Misfit.many_ways(total, problem)
    rules = RuleTable.of(problem)
    needed = _needed(problem, used_columns(problem, rules))
    intervention_sets: list[InterventionSet] = []
    roots: list[Root] = []
    options = [(True, False) if can_follow else (True,) for can_follow in follows[:numbers]]
    options += [(False, True)] * len(problem.categorical)
    for picks in product(*options):
        interventions = _intervention_set(problem, picks, needed)
        if interventions is None:
            continue
        chosen = [range(count) if pick else (-1,) for count, pick in zip(levels, interventions.sets_level, strict=True)]
        roots += [Root(len(intervention_sets), target) for target in product(*chosen)]
        intervention_sets.append(interventions)
    steps = {step.column: step for interventions in intervention_sets for step in interventions.steps}
    amounts = np.array([not column.is_category for column in problem.encoding.columns], dtype=bool)
    amounts[[k for k, step in steps.items() if isinstance(step.equation, Discrete)]] = False
    return CompiledProblem(
        tuple(intervention_sets), tuple(roots), follows[numbers:], steps, _cuts(problem, steps), amounts, rules
    )


def used_columns(problem: RecourseProblem[ReadableView], rules: RuleTable) -> set[int]:
    """Columns that the decision, a range or a rule looks at."""
    view = problem.view
    if isinstance(view, TreeView):
        seen = set(view.feature[view.feature >= 0].tolist())
    else:
        seen = {problem.encoding.position(name) for name in problem.decision.features}
    return seen | set(problem.ranged) | rules.columns


def _needed(problem: RecourseProblem[ReadableView], used: set[int]) -> set[int]:
    """Those columns and everything upstream of them."""
    graph, found = problem.scm.graph, set(used)
    for node in graph.nodes:
        if problem.scm.mechanisms_.get(node, 0) is None:
            found |= {problem.encoding.position(parent) for parent in graph.parents(node)}
    for k in list(found):
        if problem.names[k] in graph.nodes:
            found |= {problem.encoding.position(node) for node in graph.ancestors(problem.names[k])}
    return found


def _intervention_set(
    problem: RecourseProblem[ReadableView], picks: tuple[bool, ...], needed: set[int]
) -> InterventionSet | None:
    """What follows if these features are set; None if a feature left would stay anyway, as if it were held."""
    graph, count = problem.scm.graph, len(problem.numeric)
    picked = {k for k, pick in zip(problem.acts, picks, strict=True) if pick}
    moved, bent = set(picked), np.zeros(count, dtype=bool)
    sources: dict[int, set[int]] = {k: {j} for j, k in enumerate(problem.numeric) if picks[j]}
    steps: list[Step] = []
    frozen: list[int] = []
    for k, node in enumerate(graph.nodes):
        parents = tuple(problem.encoding.position(parent) for parent in graph.parents(node))
        moving = [p for p in parents if p in moved]
        if k in picked or not moving:
            continue
        equation = problem.scm.equation(node)
        if equation is None:
            frozen += moving
            continue
        moved.add(k)
        assert isinstance(equation, Additive | Discrete)
        sources[k] = set().union(*(sources.get(p, set()) for p in moving))
        if not isinstance(equation, LinearEquation):
            bent[list(sources[k])] = True
        if k in needed:
            if not equation.is_bounded:
                raise Misfit(Refusal(Unfit.EQUATIONS, Why.NOT_ENCLOSED, node, equation.why_unbounded))
            steps.append(Step(k, parents, equation))
    if any(k not in moved for k, pick in zip(problem.numeric, picks, strict=False) if not pick):
        return None
    is_set, sets_level = np.array(picks[:count], dtype=bool), np.array(picks[count:], dtype=bool)
    return InterventionSet(is_set, sets_level, tuple(steps), tuple(dict.fromkeys(frozen)), bent)


def _cuts(problem: RecourseProblem[ReadableView], steps: dict[int, Step]) -> dict[int, Floats]:
    found: dict[int, list[Floats]] = {}
    for step in steps.values():
        for p, at in step.equation.jumps().items() if isinstance(step.equation, Additive) else ():
            if step.parents[p] in problem.numeric:
                found.setdefault(problem.numeric.index(step.parents[p]), []).append(at)
    return {j: np.unique(np.concatenate(parts)) for j, parts in found.items()}


@dataclass(frozen=True, eq=False)
class SpatialBatch:
    """Encoded people, what they may do, what it costs, and what must hold of them afterwards."""

    problem: RecourseProblem[ReadableView]
    compiled: CompiledProblem
    matrix: Floats
    facts: Floats
    low: Floats
    high: Floats
    up: Floats
    """Price a unit up and down; of a cost that is not straight only a scale, from which no bound follows."""
    down: Floats
    straight: bool
    least: Floats
    """(person, column): the range a counterfactual must lie in, rounding forgiven."""
    most: Floats
    atoms: AtomEnds
    """What rules ask of them."""

    @classmethod
    def of(cls, problem: RecourseProblem[ReadableView], compiled: CompiledProblem, matrix: Floats) -> SpatialBatch:
        """Limits, prices and ranges."""
        facts = matrix[:, list(problem.numeric)]
        low, high = problem.action_box(matrix)
        straight = isinstance(problem.cost, LinearCost)
        if isinstance(problem.cost, LinearCost):
            up, down = (np.broadcast_to(price, facts.shape).copy() for price in problem.cost.prices(facts))
        else:
            assert isinstance(problem.cost, PiecewiseCost)
            down, up = (
                np.broadcast_to(np.maximum(problem.cost.tails[:, s], NEXT_TO_NOTHING), facts.shape) for s in (0, 1)
            )
        least, most = np.empty_like(matrix), np.empty_like(matrix)
        for k in range(matrix.shape[1]):
            start, end = problem.plausible(matrix, k)
            # The replay forgives a little; what is pruned must lie beyond even that.
            forgiven = 1.01 * problem.tolerance(k, matrix[:, k])
            least[:, k], most[:, k] = start - forgiven, end + forgiven
        atoms = compiled.rules.ends(matrix)
        return cls(problem, compiled, matrix, facts, low, high, up, down, straight, least, most, atoms)

    @cached_property
    def start(self) -> dict[int, Floats]:
        """By column that follows: f of the factual causes, or the noise of a level."""
        found = {}
        for k, step in self.compiled.steps.items():
            parents, equation = self.matrix[:, step.parents], step.equation
            if isinstance(equation, Additive):
                found[k] = equation(parents)
            else:
                found[k] = equation.abduct(self.matrix[:, k], parents)
        return found

    def cost(self, rows: Indices, z: Floats) -> Floats:
        """What setting numbers costs."""
        return self.problem.cost.evaluate(self.facts[rows], z)

    def level_price(self, rows: Indices, levels: npt.NDArray[np.int16]) -> Floats:
        """What setting levels costs."""
        total = np.zeros(len(rows))
        for b, (k, prices) in enumerate(zip(self.problem.categorical, self.problem.level_prices, strict=True)):
            own = self.matrix[rows, k]
            total += prices.between(own, np.where(levels[:, b] >= 0, levels[:, b], own))
        return total

    def reach(self, rows: Indices, budget: Floats) -> tuple[Floats, Floats]:
        """What of each person's limits their budget can pay, a little widened."""
        low, high = self.low[rows], self.high[rows]
        for r in np.flatnonzero(np.isfinite(budget)).tolist():
            facts = self.facts[rows[r]]
            for j, fact in enumerate(facts.tolist()):
                down, up = (
                    paid_by(segments(self.problem.cost, j, facts, sign, np.inf), float(budget[r]))
                    for sign in (-1.0, 1.0)
                )
                ends = fact - down, fact + up
                tolerance = TOLERANCE * (abs(fact) + (ends[1] - ends[0]))
                low[r, j], high[r, j] = max(low[r, j], ends[0] - tolerance), min(high[r, j], ends[1] + tolerance)
            low[r], high[r] = whole_ends(low[r], high[r], self.problem.is_integer)
        return low, high
