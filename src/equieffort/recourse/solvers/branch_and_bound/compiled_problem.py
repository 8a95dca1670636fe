"""A problem and people as arrays for the compiled search: intervention sets, roots, limits, prices, rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers.views import Goals
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.interventions import InterventionSet, intervention_sets_of
from equieffort.recourse.solvers.rule_table import RuleTable, level_prices
from equieffort.world.cost import LinearCost, PiecewiseCost


@dataclass(frozen=True, eq=False)
class SearchArrays:
    """What is the same for everybody, in the form that the kernels want."""

    problem: RecourseProblem
    intervention_sets: list[InterventionSet]
    """The intervention set of each root."""
    compiled: Any
    rules: RuleTable

    @classmethod
    def of(cls, problem: RecourseProblem, goals: Goals, reads: Any) -> SearchArrays:
        """Each level and goal makes a root of its own; `reads`: columns whose ranges the classifier is bounded by."""
        kinds: dict[tuple[bool, ...], InterventionSet] = {}
        roots: list[tuple[int, InterventionSet]] = []
        for interventions in intervention_sets_of(problem):
            kinds.setdefault(interventions.is_set, interventions)
            if not any(row.position in problem.categorical for row in interventions.rows):
                roots.append((list(kinds).index(interventions.is_set), interventions))
        rules, own = RuleTable.of(problem), list(kinds.values())
        compiled = _compile(problem, own, roots, goals.sets, reads, rules)
        return cls(problem, [r for _, r in roots] * len(goals.sets), compiled, rules)

    def people(self, matrix: Floats) -> Any:
        """Facts, limits, prices, ranges and rules of encoded people; the first budget is anything."""
        from equieffort.recourse.solvers.branch_and_bound.arrays import CompiledBatch
        from equieffort.recourse.solvers.kernels.cost_curves import curves_of, straight

        problem = self.problem
        facts = matrix[:, list(problem.numeric)]
        low, high = problem.action_box(matrix)
        if isinstance(problem.cost, PiecewiseCost):
            curves, up, down = curves_of(problem.cost, facts), np.ones(facts.shape), np.ones(facts.shape)
        else:
            assert isinstance(problem.cost, LinearCost)
            curves = straight()
            up, down = (plain(np.broadcast_to(price, facts.shape)) for price in problem.cost.prices(facts))
        ends = self.rules.ends(matrix)
        range_low, range_high = np.full(ends.values.shape, -np.inf), np.full(ends.values.shape, np.inf)
        for k in range(matrix.shape[1]):
            range_low[:, k], range_high[:, k] = problem.plausible(matrix, k)
        prices = np.full((len(matrix), len(problem.categorical), self.compiled.shift.shape[3]), np.inf)
        for b, levels in enumerate(level_prices(problem, matrix)):
            prices[:, b, : levels.shape[1]] = levels
        return CompiledBatch(
            plain(ends.values), plain(low), plain(high), up, down, range_low, range_high, np.ones(len(matrix)),
            plain(ends.low), plain(ends.high), prices, curves,
        )  # fmt: skip


def _compile(
    problem: RecourseProblem,
    kinds: list[InterventionSet],
    roots: list[tuple[int, InterventionSet]],
    goals: tuple[tuple[int, ...], ...],
    reads: Any,
    rules: RuleTable,
) -> Any:
    from equieffort.recourse.solvers.branch_and_bound.arrays import CompiledProblem

    categories = list(problem.categorical)
    p, count, columns = len(kinds), len(problem.numeric), len(problem.names)
    tracks = columns + len(problem.rules.weights)
    levels = max((len(problem.encoding.columns[c].levels) for c in categories), default=1)
    effect, shift = np.zeros((p, tracks, count)), np.zeros((p, len(categories), tracks, levels))
    fixed, limited = np.zeros((p, tracks), dtype=bool), np.zeros((p, tracks), dtype=bool)
    follows = np.zeros((p, tracks), dtype=bool)
    used = np.zeros(tracks, dtype=bool)
    used[reads] = True
    used[rules.track] = True
    for a, interventions in enumerate(kinds):
        effect[a] = rules.extended(interventions.effect)
        for b, c in enumerate(categories):
            table = interventions.shifts[c]
            shift[a, b, :, : table.shape[1]] = rules.extended(table)
        for row in interventions.rows:
            fixed[a, row.position] |= row.fixed
            limited[a, row.position] |= not row.fixed
        follows[a] = effect[a].any(axis=1) | (np.ptp(shift[a], axis=2) > 0).any(axis=0)
        follows[a] &= used | fixed[a] | limited[a]
        follows[a, [k for j, k in enumerate(problem.numeric) if interventions.is_set[j]] + categories] = False
    followers = np.flatnonzero(follows.any(axis=0))
    slots, slot_of = np.zeros((p, len(followers)), dtype=np.int32), np.full((p, tracks), -1, dtype=np.int32)
    for a in range(p):
        own = np.flatnonzero(follows[a, followers])
        slots[a, : len(own)] = own
        slot_of[a, followers[own]] = own
    action_of, codes = np.full(tracks, -1, dtype=np.int32), np.full(tracks, -1, dtype=np.int32)
    action_of[list(problem.numeric)] = range(count)
    codes[categories] = range(len(categories))
    targets = np.array([r.levels for _, r in roots] * len(goals), dtype=np.int32)
    return CompiledProblem(
        effect=effect,
        shift=shift,
        set_=np.array([interventions.is_set for interventions in kinds], dtype=bool).reshape(p, count),
        fixed=fixed,
        limited=limited,
        slots=slots,
        counts=follows.sum(axis=1).astype(np.int32),
        tracks=followers.astype(np.int32),
        actions=np.array(problem.numeric, dtype=np.int32),
        categories=np.array(categories, dtype=np.int32),
        slot_of=slot_of,
        action_of=action_of,
        codes=codes,
        whole=plain(problem.is_integer, np.bool_),
        root_set=np.array([a for a, _ in roots] * len(goals), dtype=np.int32),
        root_level=targets.reshape(len(roots) * len(goals), len(categories)),
        root_goal=np.repeat(np.arange(len(goals), dtype=np.int32), len(roots)),
        goal_start=np.cumsum([0, *map(len, goals)]).astype(np.int32),
        goal_margin=np.array([m for members in goals for m in members], dtype=np.int32),
        clause_start=rules.clause_start.astype(np.int32),
        atom_track=rules.track.astype(np.int32),
    )


def plain(array: Any, dtype: Any = np.float64) -> Any:
    """A copy: arrays that may not be written would be another type, and compiled anew."""
    return np.array(array, dtype=dtype, order="C")
