"""A problem with a network as arrays for the compiled search, and each person's ways to act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import tolerance
from equieffort.models.classifiers import NetworkView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.branch_and_bound.networks.rules import (
    FORGIVEN,
    LOOSENED,
    AtomEnds,
    RuleRows,
    Ways,
    ways_of,
)
from equieffort.recourse.solvers.interventions import InterventionSet, intervention_sets_of
from equieffort.recourse.solvers.linear.solver import LinearBatch, make_box
from equieffort.world.cost import LinearCost, PiecewiseCost


@dataclass(frozen=True, eq=False)
class CompiledNetwork:
    """Everything that does not depend on the person."""

    view: NetworkView
    intervention_sets: list[InterventionSet]
    group: Any
    """For each intervention set, which choice of set features it belongs to."""
    net: Any
    compiled: Any
    gains: list[dict[int, tuple[Floats, Floats]]]
    """For each group and category: what each level adds to the first layer, up to a constant, and its size."""
    rules: RuleRows


def compile_network(problem: RecourseProblem, view: NetworkView) -> CompiledNetwork:
    """The arrays of a problem; raises `NotLinear` if an action reaches a bent equation."""
    from equieffort.recourse.solvers.branch_and_bound.networks.tightening_kernels import CompiledProblem
    from equieffort.recourse.solvers.branch_and_bound.networks.value_kernels import Net

    intervention_sets = intervention_sets_of(problem)
    choices = list(dict.fromkeys(interventions.is_set for interventions in intervention_sets))
    group = [choices.index(interventions.is_set) for interventions in intervention_sets]
    samples = [intervention_sets[group.index(g)] for g in range(len(choices))]
    weights = view.layers[0].weights
    widths = np.array([len(layer.bias) for layer in view.layers], dtype=np.int64)
    wide, deep = int(widths.max()), len(view.layers) - 1
    rest, biases = np.zeros((deep, wide, wide)), np.zeros((deep, wide))
    for t, layer in enumerate(view.layers[1:]):
        rest[t, : layer.weights.shape[0], : layer.weights.shape[1]] = layer.weights
        biases[t, : len(layer.bias)] = layer.bias
    first = np.array([weights @ interventions.effect for interventions in samples])
    size = np.array([np.abs(weights) @ np.abs(interventions.effect) for interventions in samples])
    turned = np.ascontiguousarray(rest.transpose(0, 2, 1))
    rises, falls = np.maximum(turned, 0.0), np.minimum(turned, 0.0)
    net = Net(widths, first, size, rest, rises, falls, biases, float(view.relative_error))

    rules = RuleRows.of(problem, samples)
    whole = np.array([problem.is_integer & np.array(p.is_set, dtype=bool) for p in samples])
    sets = view.goals.sets
    members = np.full((len(sets), max(map(len, sets))), -1, dtype=np.int64)
    for goal, margins in enumerate(sets):
        members[goal, : len(margins)] = margins
    need = np.full(int(widths[-1]), float(problem.margin))
    gains = []
    for interventions in samples:
        own: dict[int, tuple[Floats, Floats]] = {}
        for c, shift in interventions.shifts.items():
            table = view.tables.get(c, np.zeros((len(weights), shift.shape[1])))
            own[c] = (weights @ shift + table, np.abs(weights) @ np.abs(shift) + np.abs(table))
        gains.append(own)
    compiled = CompiledProblem(rules.rows, rules.counts, whole, members, need, rules.clause_start, rules.atom_rows)
    return CompiledNetwork(view, intervention_sets, np.array(group, dtype=np.int64), net, compiled, gains, rules)


@dataclass(frozen=True, eq=False)
class NetworkBatch:
    """Arrays of some people, one entry an intervention set."""

    problem: RecourseProblem
    made: CompiledNetwork
    matrix: Floats
    facts: Floats
    start: Floats
    """(intervention set, person, output)."""
    start_size: Floats
    low: Floats
    high: Floats
    price: Floats
    usable: Bools
    row_low: Floats
    row_high: Floats
    atoms: AtomEnds | None
    """What rules ask of them, if there are any."""

    @classmethod
    def of(cls, problem: RecourseProblem, made: CompiledNetwork, matrix: Floats) -> NetworkBatch:
        """The arrays of encoded people."""
        n = len(matrix)
        facts = matrix[:, list(problem.numeric)]
        low, high = problem.action_box(matrix)
        nothing = np.zeros(n)
        people = LinearBatch(matrix, facts, low, high, nothing, nothing, nothing, 0, False)
        base, size = _first_layer(made.view, matrix)
        count, k, rows = len(made.intervention_sets), len(problem.numeric), made.compiled.rows.shape[1]
        start = np.repeat(base[None], count, axis=0)
        start_size = np.repeat(size[None], count, axis=0)
        boxes = np.zeros((2, count, n, k))
        ends = np.empty((2, count, n, rows))
        ends[0], ends[1] = -np.inf, np.inf
        price, usable = np.zeros(count), np.zeros((count, n), dtype=bool)
        for p, (interventions, g) in enumerate(zip(made.intervention_sets, made.group, strict=True)):
            box = make_box(problem, people, interventions, made.compiled.whole[g])
            boxes[0, p], boxes[1, p], usable[p] = box.low, box.high, box.usable
            for e, (row, least, most) in enumerate(box.shared):
                forgiven = LOOSENED * problem.tolerance(row.position, matrix[:, row.position])
                ends[0, p, :, e], ends[1, p, :, e] = least - forgiven, most + forgiven
            for c, level, weight in zip(problem.categorical, interventions.levels, problem.change_weights, strict=True):
                if level >= 0:
                    gain, sizes = made.gains[g][c]
                    own = matrix[:, c].astype(np.intp)
                    start[p] += gain[:, level] - gain.T[own]
                    start_size[p] += sizes[:, level] + sizes.T[own]
                    price[p] += weight
        return cls(
            problem, made, matrix, facts, start, start_size, boxes[0], boxes[1], price, usable, ends[0], ends[1],
            AtomEnds.of(problem, matrix) if made.rules.track else None,
        )  # fmt: skip

    def roots(self, i: int) -> tuple[Any, Any]:
        """One person's ways to act, and the intervention set of each."""
        from equieffort.recourse.solvers.branch_and_bound.networks.tightening_kernels import Roots

        goals = len(self.made.view.goals.sets)
        chosen = np.flatnonzero(self.usable[:, i])
        chosen = chosen[np.argsort(self.price[chosen], kind="stable")]
        which = np.repeat(chosen, goals)
        goal = np.tile(np.arange(goals, dtype=np.int64), len(chosen))
        ways = self._ways(i, which)
        roots = Roots(
            ways.group, goal, self.start[which, i], self.start_size[which, i], ways.low, ways.high, self.price[which],
            ways.row_low, ways.row_high, ways.row_tolerance, ways.atom_low, ways.atom_high,
        )  # fmt: skip
        if ways.possible.all():
            return roots, which
        return Roots(*(array[ways.possible] for array in roots)), which[ways.possible]

    def _ways(self, i: int, chosen: Any) -> Ways:
        rules, group = self.made.rules, self.made.group[chosen]
        row_tolerance = np.empty((len(chosen), rules.rows.shape[1]))
        if self.atoms is None and row_tolerance.size > 0:
            row_tolerance[:] = FORGIVEN * tolerance(self.matrix[i, rules.row_track[group]])
        atoms = np.empty((2, len(chosen), len(rules.track)))
        ways = Ways(
            group, self.low[chosen, i], self.high[chosen, i], self.row_low[chosen, i], self.row_high[chosen, i],
            row_tolerance, atoms[0], atoms[1], np.ones(len(chosen), dtype=bool),
        )  # fmt: skip
        if self.atoms is not None:
            ways_of(self.problem, rules, self.atoms, i, [self.made.intervention_sets[p] for p in chosen], ways)
        return ways

    def prices(self, i: int) -> Any:
        """What each change costs one person."""
        from equieffort.recourse.solvers.kernels.cost_curves import Curves, curves_of

        cost, facts = self.problem.cost, self.facts[i : i + 1]
        if isinstance(cost, LinearCost):
            up, down = cost.prices(facts)
            actions = np.arange(facts.shape[1])
            places = np.column_stack([actions, actions, actions])[None]
            return Curves(True, np.zeros((len(actions), 2)), places, np.column_stack([down[0], up[0]]))
        assert isinstance(cost, PiecewiseCost)
        curves = curves_of(cost, facts)
        for j, (first, last, _) in enumerate(curves.places[0]):
            curves.points[first : last + 1, 0] -= facts[0, j]
        return curves


def _first_layer(view: NetworkView, matrix: Floats) -> tuple[Floats, Floats]:
    """The first layer's outputs for the factual people, and the size of what is summed into them."""
    first = view.layers[0]
    base = matrix @ first.weights.T + first.bias
    size = np.abs(matrix) @ np.abs(first.weights.T) + np.abs(first.bias)
    for k, table in view.tables.items():
        levels = matrix[:, k].astype(np.intp)
        base += table.T[levels]
        size += np.abs(table.T[levels])
    return base, size
