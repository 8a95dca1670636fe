"""A problem with trees as arrays for the compiled search: intervention sets, roots, people; the search over threads."""

from __future__ import annotations

import time
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers import TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.interventions import InterventionSet, intervention_sets_of
from equieffort.recourse.solvers.kernels.threads import pool
from equieffort.world.cost import LinearCost, PiecewiseCost

BLOCK = 64
"""Most people a thread takes at once."""
TICK = 0.02
"""Seconds between two looks at the clock."""
MOST_KNOTS = 4_000_000
"""Knots of cost curves that are kept at once; more people are solved one batch after another."""


@dataclass(eq=False)
class Found:
    """What the search says of each person."""

    cost: Floats
    bound: Floats
    root: Any
    change: Floats
    ended: Any
    looked: Any
    asked: Floats
    """Cells only the model can decide: person, root, cost, bound, and the change of each action."""


@dataclass(frozen=True, eq=False)
class CompiledTrees:
    """What is the same for everybody, in the form that the kernels want."""

    intervention_sets: list[InterventionSet]
    """The intervention set of each root."""
    forest: Any
    compiled: Any
    least: Floats
    """(track) the least threshold of the forest, infinite where there is none."""
    most: Floats
    atoms: Atoms

    @classmethod
    def of(cls, problem: RecourseProblem, view: TreeView) -> CompiledTrees:
        """Sets of the same features share their effects; each level and goal makes a root of its own."""
        from equieffort.recourse.solvers.branch_and_bound.trees.ensemble_kernels import Forest

        kinds: dict[tuple[bool, ...], InterventionSet] = {}
        roots: list[tuple[int, InterventionSet]] = []
        for interventions in intervention_sets_of(problem):
            kinds.setdefault(interventions.is_set, interventions)
            if not any(row.position in problem.categorical for row in interventions.rows):
                roots.append((list(kinds).index(interventions.is_set), interventions))
        atoms = Atoms.of(problem)
        forest = Forest(
            feature=_plain(view.feature, np.int32),
            threshold=_plain(view.threshold),
            subset=_plain(view.subset, np.int32),
            left=_plain(view.left, np.int32),
            right=_plain(view.right, np.int32),
            roots=_plain(view.roots, np.int32),
            values=_plain(view.values),
            subsets=_plain(view.subsets, np.bool_),
            base=_plain(view.base),
            need=np.full(len(view.base), float(problem.margin)),
            rounding_error=_plain(view.error),
            closed=_plain(view.goals.closed | (problem.margin > 0), np.bool_),
        )
        compiled = _world(problem, list(kinds.values()), roots, view, atoms)
        tracks = compiled.effect.shape[1]
        least, most = np.full(tracks, np.inf), np.full(tracks, -np.inf)
        splits = (view.feature >= 0) & (view.subset < 0)
        np.minimum.at(least, view.feature[splits], view.threshold[splits])
        np.maximum.at(most, view.feature[splits], view.threshold[splits])
        return cls([r for _, r in roots] * len(view.goals.sets), forest, compiled, least, most, atoms)

    def people(self, problem: RecourseProblem, matrix: Floats) -> Any:
        """Facts, limits, prices, ranges and rules of encoded people."""
        from equieffort.recourse.solvers.branch_and_bound.trees.root_kernels import TreeBatch
        from equieffort.recourse.solvers.kernels.cost_curves import curves_of, straight

        facts = matrix[:, list(problem.numeric)]
        low, high = problem.action_box(matrix)
        if isinstance(problem.cost, PiecewiseCost):
            curves, up, down = curves_of(problem.cost, facts), np.ones(facts.shape), np.ones(facts.shape)
        else:
            assert isinstance(problem.cost, LinearCost)
            curves = straight()
            up, down = (_plain(np.broadcast_to(price, facts.shape)) for price in problem.cost.prices(facts))
        tracks = problem.rules.extend(matrix)
        range_low, range_high = np.full(tracks.shape, -np.inf), np.full(tracks.shape, np.inf)
        for k in range(matrix.shape[1]):
            range_low[:, k], range_high[:, k] = problem.plausible(matrix, k)
        budget = self._first_budget(tracks, facts, low, high, up, down, curves)
        atom_low, atom_high = self.atoms.ends(problem, matrix)
        allowed = np.ones((len(matrix), len(problem.categorical), self.compiled.shift.shape[3]), dtype=bool)
        for b, c in enumerate(problem.categorical):
            for level in range(len(problem.encoding.columns[c].levels)):
                allowed[:, b, level] = problem.rules.allows(c, matrix[:, c], level)
        return TreeBatch(
            x=_plain(tracks),
            low=_plain(low),
            high=_plain(high),
            up=up,
            down=down,
            range_low=range_low,
            range_high=range_high,
            budget=_plain(budget),
            atom_low=atom_low,
            atom_high=atom_high,
            allowed=allowed,
            curves=curves,
        )

    def _first_budget(
        self, matrix: Floats, facts: Floats, low: Floats, high: Floats, up: Floats, down: Floats, curves: Any
    ) -> Floats:
        """A small part of what it takes to carry the cheapest action past all thresholds it can move a column over."""
        strength = np.abs(self.compiled.effect).max(axis=0, initial=0.0)
        cheapest = np.full(len(matrix), np.inf)
        for j in range(facts.shape[1]):
            own = np.zeros(len(matrix))
            for k in np.flatnonzero((strength[:, j] > 0) & np.isfinite(self.least)).tolist():
                for room, way, price in (
                    (high[:, j] - facts[:, j], np.maximum(self.most[k] - matrix[:, k], 0), up),
                    (facts[:, j] - low[:, j], np.maximum(matrix[:, k] - self.least[k], 0), down),
                ):
                    reach = np.minimum(room, way / strength[k, j])
                    if curves.bends:
                        reach = _height(curves, j, facts[:, j] + (reach if price is up else -reach))
                    else:
                        reach = price[:, j] * reach
                    own = np.where((own == 0) | ((reach > 0) & (reach < own)), reach, own)
            cheapest = np.where(own > 0, np.minimum(cheapest, own), cheapest)
        return cheapest / 16.0

    def search(
        self, people: Any, *, gap: float, strict: float, asks: bool, nodes: int | None, seconds: float | None
    ) -> Found:
        """Solve everybody, spread over numba's number of threads; can be interrupted at any time."""
        import numba

        from equieffort.recourse.solvers.branch_and_bound.trees.search_kernels import Answers, Options, search_people

        n, count = len(people.x), self.compiled.effect.shape[2]
        answers = Answers(
            np.full(n, np.inf), np.full(n, np.inf), np.full(n, -1, dtype=np.int64), np.zeros((n, count)),
            np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64),
        )  # fmt: skip
        options = Options(
            gap, strict, asks, 2**62 if nodes is None else int(nodes), np.inf if seconds is None else float(seconds)
        )
        clock = np.array([time.monotonic(), 0.0])
        size = max(1, min(BLOCK, -(-n // (4 * numba.get_num_threads()))))
        threads = pool()
        jobs = [
            threads.submit(
                search_people, self.forest, self.compiled, people, options, clock, k, min(k + size, n), answers
            )
            for k in range(0, n, size)
        ]
        try:
            waiting = set(jobs)
            while waiting:
                waiting = wait(waiting, timeout=TICK).not_done
                clock[0] = time.monotonic()
        except BaseException:
            clock[1] = 1.0
            for job in jobs:
                job.cancel()
            raise
        asked = [job.result() for job in jobs]
        return Found(
            answers.cost, answers.bound, answers.root, answers.change, answers.ended, answers.looked,
            np.concatenate(asked) if asked else np.empty((0, 4 + count)),
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


def _world(
    problem: RecourseProblem,
    kinds: list[InterventionSet],
    roots: list[tuple[int, InterventionSet]],
    view: TreeView,
    atoms: Atoms,
) -> Any:
    from equieffort.recourse.solvers.branch_and_bound.trees.root_kernels import CompiledProblem

    categories, goals, sums = list(problem.categorical), view.goals.sets, problem.rules.weights
    p, count, columns = len(kinds), len(problem.numeric), len(problem.names)
    tracks = columns + len(sums)
    levels = max((len(problem.encoding.columns[c].levels) for c in categories), default=1)
    effect, shift = np.zeros((p, tracks, count)), np.zeros((p, len(categories), tracks, levels))
    fixed, limited = np.zeros((p, tracks), dtype=bool), np.zeros((p, tracks), dtype=bool)
    follows = np.zeros((p, tracks), dtype=bool)
    used = np.zeros(tracks, dtype=bool)
    used[view.feature[view.feature >= 0]] = True
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
        whole=_plain(problem.is_integer, np.bool_),
        root_pattern=np.array([a for a, _ in roots] * len(goals), dtype=np.int32),
        root_level=targets.reshape(len(roots) * len(goals), len(categories)),
        root_price=np.array(prices * len(goals), dtype=np.float64),
        root_goal=np.repeat(np.arange(len(goals), dtype=np.int32), len(roots)),
        goal_start=np.cumsum([0, *map(len, goals)]).astype(np.int32),
        goal_margin=np.array([m for members in goals for m in members], dtype=np.int32),
        clause_start=np.array(atoms.start, dtype=np.int32),
        atom_track=np.array(atoms.track, dtype=np.int32),
    )


def _height(curves: Any, action: int, values: Floats) -> Floats:
    from equieffort.recourse.solvers.kernels.cost_curves import costs_at

    costs = np.empty(len(values))
    costs_at(curves, action, _plain(values), costs)
    return costs


def together(problem: RecourseProblem, matrix: Floats) -> int:
    """How many people's curves have room at once; everybody's where costs do not bend."""
    if len(matrix) == 0 or not isinstance(problem.cost, PiecewiseCost):
        return max(len(matrix), 1)
    knots = sum(len(problem.cost.curve(j, float(matrix[0, k]))[0]) for j, k in enumerate(problem.numeric))
    return max(MOST_KNOTS // max(knots, 1), 1)


def _plain(array: Any, dtype: Any = np.float64) -> Any:
    # A copy: arrays that may not be written would be another type, and compiled anew.
    return np.array(array, dtype=dtype, order="C")
