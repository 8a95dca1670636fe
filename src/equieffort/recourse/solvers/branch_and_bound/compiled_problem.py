"""A problem and people as arrays for the compiled search: intervention sets, roots, limits, prices, rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers.views import Goals
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.interventions import InterventionSet, intervention_sets_of
from equieffort.world.cost import LinearCost, PiecewiseCost

MOST_KNOTS = 4_000_000
"""Knots of cost curves that are kept at once; more people are solved one batch after another."""


@dataclass(frozen=True, eq=False)
class SearchArrays:
    """What is the same for everybody, in the form that the kernels want."""

    problem: RecourseProblem
    kinds: list[InterventionSet]
    """One intervention set for each choice of what is set: those share their effects."""
    intervention_sets: list[InterventionSet]
    """The intervention set of each root."""
    compiled: Any
    atoms: Atoms

    @classmethod
    def of(cls, problem: RecourseProblem, goals: Goals, reads: Any) -> SearchArrays:
        """Each level and goal makes a root of its own; `reads`: columns whose ranges the classifier is bounded by."""
        kinds: dict[tuple[bool, ...], InterventionSet] = {}
        roots: list[tuple[int, InterventionSet]] = []
        for interventions in intervention_sets_of(problem):
            kinds.setdefault(interventions.is_set, interventions)
            if not any(row.position in problem.categorical for row in interventions.rows):
                roots.append((list(kinds).index(interventions.is_set), interventions))
        atoms, own = Atoms.of(problem), list(kinds.values())
        compiled = _compile(problem, own, roots, goals.sets, reads, atoms)
        return cls(problem, own, [r for _, r in roots] * len(goals.sets), compiled, atoms)

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
        tracks = problem.rules.extend(matrix)
        range_low, range_high = np.full(tracks.shape, -np.inf), np.full(tracks.shape, np.inf)
        for k in range(matrix.shape[1]):
            range_low[:, k], range_high[:, k] = problem.plausible(matrix, k)
        atom_low, atom_high = self.atoms.ends(problem, matrix)
        allowed = np.ones((len(matrix), len(problem.categorical), self.compiled.shift.shape[3]), dtype=bool)
        for b, c in enumerate(problem.categorical):
            for level in range(len(problem.encoding.columns[c].levels)):
                allowed[:, b, level] = problem.rules.allows(c, matrix[:, c], level)
        return CompiledBatch(
            plain(tracks), plain(low), plain(high), up, down, range_low, range_high, np.ones(len(matrix)), atom_low,
            atom_high, allowed, curves,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Atoms:
    """The clauses of rules between features, with a set of levels as one atom a level."""

    start: list[int]
    """Where each clause's atoms begin, and where the last one's end."""
    source: list[tuple[int, int, int]]
    """For each atom its clause, its place there, and its level or -1."""
    track: list[int]

    @classmethod
    def of(cls, problem: RecourseProblem) -> Atoms:
        """All atoms of a problem in order."""
        start, source, track = [0], [], []
        for q, clause in enumerate(problem.rules.clauses):
            for a, atom in enumerate(clause.atoms):
                levels = (-1,) if atom.levels is None else atom.levels
                source += [(q, a, level) for level in levels]
                track += [atom.column] * len(levels)
            start.append(len(track))
        return cls(start, source, track)

    def ends(self, problem: RecourseProblem, matrix: Floats) -> tuple[Floats, Floats]:
        """(person, atom): the range of each; one without ends where its clause is not asked of somebody."""
        rules = problem.rules
        low, high = np.empty((len(matrix), len(self.track))), np.empty((len(matrix), len(self.track)))
        ends = [rules.ends(matrix, clause) for clause in rules.clauses]
        asked = rules.asked(matrix)
        for at, (q, a, level) in enumerate(self.source):
            least, most = (np.full(len(matrix), float(level)),) * 2 if level >= 0 else ends[q][a]
            low[:, at] = np.where(asked[:, q], least, -np.inf)
            high[:, at] = np.where(asked[:, q], most, np.inf)
        return low, high


def _compile(
    problem: RecourseProblem,
    kinds: list[InterventionSet],
    roots: list[tuple[int, InterventionSet]],
    goals: tuple[tuple[int, ...], ...],
    reads: Any,
    atoms: Atoms,
) -> Any:
    from equieffort.recourse.solvers.branch_and_bound.arrays import CompiledProblem

    categories, sums = list(problem.categorical), problem.rules.weights
    p, count, columns = len(kinds), len(problem.numeric), len(problem.names)
    tracks = columns + len(sums)
    levels = max((len(problem.encoding.columns[c].levels) for c in categories), default=1)
    effect, shift = np.zeros((p, tracks, count)), np.zeros((p, len(categories), tracks, levels))
    fixed, limited = np.zeros((p, tracks), dtype=bool), np.zeros((p, tracks), dtype=bool)
    follows = np.zeros((p, tracks), dtype=bool)
    used = np.zeros(tracks, dtype=bool)
    used[reads] = True
    used[atoms.track] = True
    for a, interventions in enumerate(kinds):
        effect[a, :columns] = interventions.effect
        effect[a, columns:] = sums @ interventions.effect
        for b, c in enumerate(categories):
            table = interventions.shifts[c]
            shift[a, b, :columns, : table.shape[1]] = table
            shift[a, b, columns:, : table.shape[1]] = sums @ table
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
    prices = [sum(w for w, x in zip(problem.change_weights, r.levels, strict=True) if x >= 0) for _, r in roots]
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
        root_price=np.array(prices * len(goals), dtype=np.float64),
        root_goal=np.repeat(np.arange(len(goals), dtype=np.int32), len(roots)),
        goal_start=np.cumsum([0, *map(len, goals)]).astype(np.int32),
        goal_margin=np.array([m for members in goals for m in members], dtype=np.int32),
        clause_start=np.array(atoms.start, dtype=np.int32),
        atom_track=np.array(atoms.track, dtype=np.int32),
    )


def together(problem: RecourseProblem, matrix: Floats) -> int:
    """How many people's curves have room at once; everybody's where costs do not bend."""
    if len(matrix) == 0 or not isinstance(problem.cost, PiecewiseCost):
        return max(len(matrix), 1)
    knots = sum(len(problem.cost.curve(j, float(matrix[0, k]))[0]) for j, k in enumerate(problem.numeric))
    return max(MOST_KNOTS // max(knots, 1), 1)


def plain(array: Any, dtype: Any = np.float64) -> Any:
    """A copy: arrays that may not be written would be another type, and compiled anew."""
    return np.array(array, dtype=dtype, order="C")
