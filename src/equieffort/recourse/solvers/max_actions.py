"""At most k features changed: a search over which features are held, around any solver (docs/decisions/0017).

Without the limit the cheapest action of somebody may change more than k features. Of any k + 1 of these every action
within the limit leaves at least one as it is: the first such feature is held, those before it must change, and the
solver is asked again. These cases cover every action within the limit and do not overlap, so the least of their optima
is the optimum, the least of their bounds a bound, and there is no action if there is none in any of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import is_closed
from equieffort.recourse.counterfactuals import action_costs, changes, settings
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Batch, PreparedSolver, Proposal, Rows, Solver
from equieffort.recourse.status import Blocking, Ending, Infeasibility, LimitKind, Obstacle, Refusal, Termination

Acts = frozenset[int]
"""Some of the actionable features, by their place in `problem.acts`."""
NOTHING: Acts = frozenset()
KEPT = 512
"""So many prepared solvers are kept at once."""


@dataclass(frozen=True, eq=False)
class Held:
    """A problem and its solver, prepared again for each set of features that must not change."""

    problem: RecourseProblem
    solver: Solver
    made: dict[Acts, PreparedSolver | Refusal] = field(default_factory=dict)

    def holding(self, acts: Acts) -> RecourseProblem:
        """The problem in which these features are held."""
        return self.problem.holding(self.problem.acts[b] for b in acts)

    def prepared(self, acts: Acts) -> PreparedSolver | Refusal:
        """The solver for it, made once."""
        if acts not in self.made:
            if len(self.made) > KEPT:
                # The first is the problem itself; of the others the oldest goes.
                del self.made[next(old for old in self.made if old)]
            self.made[acts] = prepare(self.solver, self.holding(acts))
        return self.made[acts]


def prepare(solver: Solver, problem: RecourseProblem) -> PreparedSolver | Refusal:
    """A solver for a problem, whether or not that limits how many features are changed."""
    found = solver.prepare(problem.with_any_number)
    if isinstance(found, Refusal) or problem.max_actions is None:
        return found
    return FewActions(problem, problem.max_actions, Held(problem.with_any_number, solver, {NOTHING: found}))


class Case(NamedTuple):
    """People for whom the same features must change, while others are held."""

    rows: Rows
    bound: Floats
    """What their actions cost at least."""
    must: Acts


@dataclass(frozen=True, eq=False)
class FewActions(PreparedSolver):
    """A solver that is asked only for actions which change at most so many features."""

    problem: RecourseProblem
    most: int
    held: Held

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action within the limit, over all cases that may hold it."""
        search = _Search(self, batch)
        search.open[NOTHING] = [Case(np.arange(len(batch.people)), np.zeros(len(batch.people)), NOTHING)]
        while search.open:
            search.look(min(search.open, key=self._turn))
        return search.result()

    def _turn(self, acts: Acts) -> tuple[int, ...]:
        """When held features get their turn: first where nothing can be split, which gives costs to compare with."""
        return (int(self.width - len(acts) > self.most), len(acts), *sorted(acts))

    @property
    def width(self) -> int:
        """How many features could be changed."""
        return len(self.problem.acts)

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """What stands in the way without the limit; the limit itself, where nothing else does."""
        free = self.held.prepared(NOTHING)
        assert isinstance(free, PreparedSolver)
        stuck = np.flatnonzero(free.propose(Batch(people)).code == NONE)
        limit = Obstacle("", LimitKind.MAX_ACTIONS, value=float(self.most))
        found = [Infeasibility((limit,), Blocking.EACH)] * len(people)
        for row, reason in zip(stuck.tolist(), free.infeasibility(people[stuck]) if len(stuck) else [], strict=True):
            found[row] = reason
        return found


class _Search:
    """Everybody's cases that are still open, and the best that was found."""

    def __init__(self, few: FewActions, batch: Batch) -> None:
        self.few, self.batch, n = few, batch, len(batch.people)
        self.best = Proposal.empty(few.problem, n)
        self.best.rounding = np.zeros(n)
        self.floor = np.full(n, np.inf)
        """The least bound of what is closed."""
        self.open: dict[Acts, list[Case]] = {}

    def look(self, acts: Acts) -> None:
        """Ask about everybody of whom these features are held, and split where the answer changes too many."""
        cases = [case for case in map(self._worthwhile, self.open.pop(acts)) if len(case.rows)]
        if not cases:
            return
        rows = np.concatenate([case.rows for case in cases])
        least = np.concatenate([case.bound for case in cases])
        found, changed, share = self._ask(acts, rows)
        bound = np.maximum(least, np.where(np.isfinite(found.bound), found.bound, 0.0))
        is_few = changed.sum(axis=1) <= self.few.most
        self._give_up(found, bound, rows)
        self._keep(found, bound, rows, (found.code == FOUND) & is_few)
        split = (found.code == FOUND) & ~is_few
        start = 0
        for case in cases:
            part = np.arange(start, start + len(case.rows))
            self._split(acts, case.must, rows, bound, changed, share, part[split[part]])
            start += len(case.rows)

    def _worthwhile(self, case: Case) -> Case:
        """Those of whom something cheaper than the best may be found."""
        best = self.best
        done = (best.code[case.rows] == FOUND) & (
            best.vanishing[case.rows] | is_closed(best.cost[case.rows], case.bound, self.few.held.solver.gap)
        )
        np.minimum.at(self.floor, case.rows[done], case.bound[done])
        return Case(case.rows[~done], case.bound[~done], case.must)

    def _ask(self, acts: Acts, rows: Rows) -> tuple[Proposal, Bools, Floats]:
        """What the solver proposes, which features that changes, and what each of them costs."""
        held = self.few.held
        problem, prepared = held.holding(acts), held.prepared(acts)
        if isinstance(prepared, Refusal):
            found = Proposal.empty(problem, len(rows))
            found.code[:], found.bound[:] = LIMIT, 0.0
        else:
            part = self.batch.part(rows, problem)
            found = prepared.propose(part)
            part.check(len(rows), found)
        people = self.batch.people[rows]
        set_ = settings(problem, people, found.intervention_mask, found.delta, found.level)
        return found, changes(problem, people, *set_), action_costs(problem, people, *set_)

    def _give_up(self, found: Proposal, bound: Floats, rows: Rows) -> None:
        for i in np.flatnonzero((found.code != FOUND) & (found.code != NONE)).tolist():
            row = int(rows[i])
            if bound[i] <= self.floor[row] or row not in self.best.notes:
                self.best.notes[row] = found.notes.get(i, Termination(Ending.GAVE_UP))
            self.floor[row] = min(self.floor[row], bound[i])
            if self.best.code[row] == NONE:
                self.best.code[row] = LIMIT

    def _keep(self, found: Proposal, bound: Floats, rows: Rows, good: Bools) -> None:
        """Of two actions the cheaper one."""
        for i in np.flatnonzero(good).tolist():
            row, best = int(rows[i]), self.best
            if i in found.notes and (bound[i] <= self.floor[row] or row not in best.notes):
                best.notes[row] = found.notes[i]
            self.floor[row] = min(self.floor[row], bound[i])
            if best.code[row] != FOUND or found.cost[i] < best.cost[row]:
                best.put([row], found.take([i]))
                best.code[row] = FOUND
                assert best.rounding is not None
                best.rounding[row] = 0.0 if found.rounding is None else found.rounding[i]

    def _split(
        self, acts: Acts, must: Acts, rows: Rows, bound: Floats, changed: Bools, share: Floats, these: Rows
    ) -> None:
        """One case for each of enough changed features: the first that stays as it is, and those before it change."""
        more = self.few.most - len(must)
        cases: dict[tuple[Acts, Acts], list[int]] = {}
        free = changed[these].copy()
        free[:, list(must)] = False
        # The dearest first: without them the bound rises most. Places of equal cost keep their order.
        order = np.argsort(np.where(free, -share[these], np.inf), axis=1, kind="stable")[:, : more + 1]
        for i, own in zip(these.tolist(), order.tolist(), strict=True):
            for nth, one in enumerate(own):
                needed = must | set(own[:nth])
                full = len(needed) == self.few.most
                rest = frozenset(range(self.few.width)) - needed if full else acts | {one}
                cases.setdefault((rest, needed), []).append(i)
        for (rest, needed), who in cases.items():
            self.open.setdefault(rest, []).append(Case(rows[who], bound[who], needed))

    def result(self) -> Proposal:
        """What was found, with a bound that holds for every case; what a case says of its own does not."""
        best, unit = self.best, self.few.problem.cost_unit
        best.bound = self.floor
        for row, note in best.notes.items():
            known = None if note.bound is None else float(unit * min(self.floor[row], best.cost[row]))
            best.notes[row] = replace(note, bound=known, found=bool(best.code[row] == FOUND))
        return best
