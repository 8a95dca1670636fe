"""One person's search with mixed-integer programs: claims are tried, cells that fail are excluded, bounds are kept."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import CLAIMED, LOOSENED, REPLAYED, TOLERANCE, is_closed
from equieffort.models.classifiers import LinearView, NetworkView, TreeView
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.endings import proven
from equieffort.recourse.solvers.highs import ProgramStatus
from equieffort.recourse.solvers.milp.actions import Action, act, flips
from equieffort.recourse.solvers.milp.model import Model, person_model
from equieffort.recourse.solvers.milp.networks import add_linear, add_network
from equieffort.recourse.solvers.milp.program import Unbounded
from equieffort.recourse.solvers.milp.rules import add_rules
from equieffort.recourse.solvers.milp.trees import add_trees, leaf_switches, useful_reach
from equieffort.recourse.solvers.rule_table import RuleTable
from equieffort.recourse.status import Ending, Termination

STEPS = (1.0, 30.0, 1000.0, 0.0)
"""How many steps over the boundary are tried, the cheapest first; at last the boundary itself.

A step is more than what polishing forgives, so that nothing is reached by tolerances alone.
"""
MOST_CELLS = 30
"""Cells that are tried and excluded one by one before a person is given up."""
ROUNDS = 8
GROWTH = 8.0
"""How often, and how much, a budget is raised where no limit ends what may be set."""


Result = tuple[Action | None, float, Termination | None]
"""The best action, a bound on what any costs, and why it is not known better."""


class Search:
    """The search for one encoded person (a matrix of one row)."""

    def __init__(
        self,
        problem: RecourseProblem[ReadableView],
        rules: RuleTable,
        facts: Floats,
        gap: float,
        seconds: float,
        attempt: int,
    ) -> None:
        self.problem, self.rules, self.facts, self.gap = problem, rules, facts, gap
        self.seconds, self.attempt = seconds, attempt
        self.end = time.monotonic() + seconds
        self.best: Action | None = None
        self.note: Termination | None = None

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.end - time.monotonic()

    def run(self) -> Result:
        """Raise the budget until something is found or every limit is reached; then close the gap."""
        budget, bound = self._first_budget(), 0.0
        if budget == -np.inf:
            return None, np.inf, None
        if self.gap >= 1 and self._closed(bound):
            # Whether there is an action was all that was asked.
            return self._result(bound, None)
        for _ in range(ROUNDS):
            try:
                model = self._model(budget=budget)
            except Unbounded as endless:
                if np.isfinite(budget):
                    return self._result(bound, self._unlimited(str(endless)))
                bound = self._loosely()
                if bound == np.inf or self._closed(bound):
                    break
                budget = max(self._start(), bound) if self.best is None else self.best.cost
                continue
            least = self._search(model)
            if self._denies(least, budget):
                return self._result(0.0, self._ended(Ending.DISAGREEMENT))
            # Whatever the budget cuts off costs more than the budget.
            bound = max(bound, min(least, budget) if model.is_cut else least)
            if self.note and model.is_cut and self.best is None and self.left > 0:
                # Further out it only gets vaguer.
                self.note = None
                break
            if self._closed(bound) or self.note:
                break
            if self.best is not None:
                outside = model.is_cut and self.best.cost > budget
                if not outside and self.best.cost > 0.9 * budget:
                    break
                budget = self.best.cost
            elif not model.is_cut:
                break
            else:
                budget *= GROWTH
        if self.note is None and self.best is None and np.isfinite(bound):
            self.note = self._ended(Ending.UNLIMITED)
        return self._result(bound, self.note)

    def _result(self, bound: float, note: Termination | None) -> Result:
        if self.best is not None and note is None and not self._closed(bound):
            note = self._ended(Ending.TOLERANCE)
        if note is not None:
            own = proven(bound * self.problem.cost_unit)
            note = replace(note, found=self.best is not None, bound=own)
        return self.best, bound, note

    def _unlimited(self, what: str) -> Termination:
        return Termination(Ending.UNLIMITED, subject=what if what in self.problem.names else "")

    def _ended(self, kind: Ending) -> Termination:
        """Why nothing better is known; what is known is filled in at the end."""
        if kind == Ending.WALL_TIME:
            return Termination(kind, argument="time_limit", limit=self.seconds)
        return Termination(kind)

    def _closed(self, bound: float) -> bool:
        return self.best is not None and bool(is_closed(self.best.cost, bound, self.gap))

    def _denies(self, least: float, budget: float) -> bool:
        """Whether a bound contradicts an action that the program has among its points."""
        best = self.best
        return (
            best is not None and best.cost <= budget and least > best.cost * (1 + max(self.gap, REPLAYED)) + TOLERANCE
        )

    def _first_budget(self) -> float:
        """A linear score needs few bounds while nothing is left to follow: what that costs is a budget.

        Infinite where nothing is found; minus infinity where there is no action at all.
        """
        for hold in (True, False) if isinstance(self.problem.view, LinearView) else ():
            try:
                model = self._model(hold=hold, any_cost=True)
            except Unbounded:
                return np.inf
            answer = model.program.run(self.left)
            if answer.point is not None:
                self._try(model, answer.point)
            if self.best is not None:
                return self.best.cost
            if not hold and answer.status == ProgramStatus.INFEASIBLE and self._confirm(model) == np.inf:
                return -np.inf
            self.note = None
        return np.inf

    def _start(self) -> float:
        """A first budget where limits have no end: a step as far as people spread, or past all thresholds."""
        problem = self.problem
        facts = self.facts[:, list(problem.numeric)]
        reach = np.tile(problem.spreads[list(problem.numeric)], (1, 1))
        if isinstance(problem.view, TreeView):
            view = problem.view
            for j, k in enumerate(problem.numeric):
                own = np.abs(view.threshold[(view.feature == k) & (view.subset < 0)] - facts[0, j])
                reach[0, j] = max(own.max(initial=0.0), TOLERANCE) if len(own) else reach[0, j]
        up, down = problem.cost.parts(facts, facts + reach), problem.cost.parts(facts, facts - reach)
        return float(np.maximum(up, down).sum() + problem.dearest_levels(self.facts).sum()) or 1.0

    def _loosely(self) -> float:
        """A bound on the cost without what has no end; infinite where even so there is no action."""
        try:
            model = self._model(loose=True)
        except Unbounded:
            return 0.0
        answer = model.program.run(self.left)
        if answer.status == ProgramStatus.INFEASIBLE:
            bound = self._confirm(model)
            self.note = None
            return bound
        if answer.point is not None:
            self._try(model, answer.point)
        return answer.bound

    def _model(self, **options: Any) -> Model:
        """A program of the person (options as of `person_model`), with the rules between features and the decision."""
        view, reach = self.problem.view, {}
        if isinstance(view, TreeView):
            reach = useful_reach(self.problem, self.rules, view, self.facts)
        model = person_model(self.problem, self.rules, self.facts, reach=reach, **options)
        add_rules(model)
        if isinstance(view, TreeView):
            add_trees(model, view)
        elif isinstance(view, NetworkView):
            add_network(model, view)
        else:
            add_linear(model, view)
        return model

    def _search(self, model: Model) -> float:
        """The least cost proven within a model; infinite where it proves that there is no action."""
        program, excluded = model.program, np.inf
        for _ in range(MOST_CELLS):
            answer = program.run(self.left)
            if answer.status not in (ProgramStatus.OPTIMAL, ProgramStatus.TIME, ProgramStatus.INFEASIBLE):
                answer = program.run(self.left, presolve=True)
            if answer.status == ProgramStatus.INFEASIBLE:
                bound = min(self._confirm(model), excluded)
                if excluded < np.inf and not self._closed(bound):
                    self.note = self.note or self._ended(Ending.PRECISION)
                return bound
            bound = min(answer.bound, excluded)
            if answer.point is None:
                self.note = self._ended(Ending.WALL_TIME if answer.status == ProgramStatus.TIME else Ending.GAVE_UP)
                return bound
            refused = self._try(model, answer.point)
            if answer.status == ProgramStatus.TIME:
                self.note = self._ended(Ending.WALL_TIME)
                return bound
            if self._closed(bound):
                return self._agreed(model, bound)
            if self._closed(answer.bound):
                self.note = self._ended(Ending.PRECISION)
                return bound
            if refused and (model.leave_out(answer.point) or self._leave_leaves(model, refused, answer.point)):
                continue
            switches = program.switches
            if program.counts or not switches:
                self._surer(model)
                return bound
            closed = program.polish(answer.point, -1.0)
            excluded = min(excluded, answer.bound if closed is None else max(closed[0] * (1 - CLAIMED), answer.bound))
            program.exclude(switches, answer.point)
        self._surer(model)
        self.note = Termination(Ending.WORK, work=MOST_CELLS)
        return bound

    def _leave_leaves(self, model: Model, refused: list[Floats], point: Floats) -> bool:
        """Forbid the leaves that refused people fall into; whether those of the program's point are among them.

        One leaf of every tree: all who fall into these leaves have the same label. At a threshold of what follows each
        step may end on another side, so that only some of them show what becomes of the point's own leaves.
        """
        view, program = self.problem.view, model.program
        if not isinstance(view, TreeView):
            return False
        among = False
        for leaves in dict.fromkeys(tuple(leaf_switches(model, view, moved)) for moved in refused):
            if leaves:
                program.exclude(list(leaves), np.ones(len(program.lower)))
                among |= all(point[v] > 0.5 for v in leaves)
        return among

    def _agreed(self, model: Model, bound: float) -> float:
        """A bound that meets the action's cost, believed when the program solved another way has nothing cheaper."""
        assert self.best is not None
        cheaper = self.best.cost * (1 - max(10 * self.gap, 1e-4))
        if cheaper <= 0:
            return bound
        again = model.program.run(self.left, presolve=True)
        if again.status == ProgramStatus.INFEASIBLE or again.bound >= cheaper:
            return bound
        if again.point is not None:
            self._try(model, again.point)
        if again.status == ProgramStatus.TIME:
            self.note = self._ended(Ending.WALL_TIME)
            return min(bound, again.bound)
        self.note = self._ended(Ending.DISAGREEMENT)
        return 0.0

    def _confirm(self, model: Model) -> float:
        """An empty program is believed when it stays empty with every row moved out a little, solved another way."""
        again = model.program.run(self.left, slack=LOOSENED, presolve=True)
        if again.status == ProgramStatus.INFEASIBLE:
            return np.inf
        self.note = self._ended(Ending.WALL_TIME if again.status == ProgramStatus.TIME else Ending.TOLERANCE)
        return again.bound

    def _surer(self, model: Model) -> None:
        """An action well inside the rows, if none was found at their ends."""
        if self.best is None:
            answer = model.program.run(self.left, step=STEPS[-2] * 2.0**self.attempt)
            if answer.point is not None:
                self._try(model, answer.point)

    def _try(self, model: Model, point: Floats) -> list[Floats]:
        """Keep the cheapest action with these whole numbers that holds when tried.

        Returns where the steps led if only the label was in the way, and a person's label is the same in every batch.
        """
        refused: list[Floats] = []
        view = self.problem.view
        for step in STEPS:
            solved = model.program.polish(point, step * 2.0**self.attempt)
            if solved is None:
                continue
            action, moved, holds = act(model, solved[1])
            if holds and flips(self.problem, moved):
                if self.best is None or action.cost < self.best.cost:
                    self.best = action
                return []
            if holds and (isinstance(view, TreeView) or (isinstance(view, LinearView) and view.rowwise)):
                refused.append(moved)
        return refused
