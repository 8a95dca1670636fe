"""One person's search with mixed-integer programs: claims are tried, cells that fail are excluded, bounds are kept."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from equieffort.classifiers import LinearView, NetworkView, TreeView, View
from equieffort.frames import Floats, number
from equieffort.problem import TOLERANCE, RecourseProblem
from equieffort.solvers.milp_model import Model, Reach, person_model
from equieffort.solvers.milp_networks import add_linear, add_network
from equieffort.solvers.milp_program import EMPTY, OPTIMAL, STOPPED, Unbounded
from equieffort.solvers.milp_rules import add_rules
from equieffort.solvers.milp_trees import add_trees, leaf_switches, useful_reach

STEPS = (0.01, 1.0, 30.0, 1000.0, 0.0)
"""How many steps over the boundary are tried, the cheapest first; at last the boundary itself."""
SLACK = 1e-6
"""How far every row is moved out, in scaled units, before an empty program is believed."""
MOST_CELLS = 60
"""Cells that are tried and excluded one by one before a person is given up."""
ROUNDS = 8
GROWTH = 8.0
"""How often, and how much, a budget is raised where no limit ends what may be set."""


@dataclass(frozen=True, eq=False)
class Action:
    """An action that leads where it should, tried with the equations and the model's own label."""

    cost: float
    chosen: int
    delta: Floats
    level: Floats


@dataclass(eq=False)
class Result:
    """What is known of a person."""

    action: Action | None = None
    bound: float = 0.0
    note: str = ""
    """Why it is not known better."""


class Search:
    """The search for one encoded person (a matrix of one row)."""

    def __init__(self, problem: RecourseProblem, facts: Floats, gap: float, seconds: float, attempt: int) -> None:
        self.problem, self.facts, self.gap = problem, facts, gap
        self.seconds, self.attempt = seconds, attempt
        self.end = time.monotonic() + seconds
        self.best: Action | None = None
        self.note = ""

    @property
    def left(self) -> float:
        """Seconds that are left."""
        return self.end - time.monotonic()

    def run(self) -> Result:
        """Raise the budget until something is found or every limit is reached; then close the gap."""
        budget, bound = self._first_budget(), 0.0
        if budget == -np.inf:
            return Result(bound=np.inf)
        for _ in range(ROUNDS):
            try:
                model = self._model(budget)
            except Unbounded as endless:
                if np.isfinite(budget):
                    return self._result(bound, f"The program has no bound on {endless.what}.")
                bound = self._loosely()
                if bound == np.inf or self._closed(bound):
                    break
                budget = max(self._start(), bound) if self.best is None else self.best.cost
                continue
            least = self._search(model)
            # Whatever the budget cuts off costs more than the budget.
            bound = max(bound, min(least, budget) if model.is_cut else least)
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
        if not self.note and self.best is None and np.isfinite(bound):
            self.note = (
                f"No action costs less than {number(bound)}; beyond that nothing is proven, since some actions "
                "have no limits."
            )
        return self._result(bound, self.note)

    def _result(self, bound: float, note: str) -> Result:
        if self.best is not None and not note and not self._closed(bound):
            note = "The solver's tolerances leave a gap between the action's cost and the bound."
        return Result(self.best, bound, note)

    def _closed(self, bound: float) -> bool:
        return self.best is not None and self.best.cost - bound <= max(self.gap, 1e-9 * self.best.cost)

    def _first_budget(self) -> float:
        """A linear score needs few bounds while nothing is left to follow: what that costs is a budget.

        Infinite where nothing is found; minus infinity where there is no action at all.
        """
        for hold in (True, False) if isinstance(self.problem.view, LinearView) else ():
            try:
                model = person_model(self.problem, self.facts, hold=hold, any_cost=True)
                self._decide(model)
            except Unbounded:
                return np.inf
            answer = model.program.run(self.left)
            if answer.point is not None:
                self._try(model, answer.point)
            if self.best is not None:
                return self.best.cost
            if not hold and answer.status == EMPTY and self._confirm(model) == np.inf:
                return -np.inf
            self.note = ""
        return np.inf

    def _start(self) -> float:
        """A first budget where limits have no end: part of a step of the facts' own size, or past all thresholds."""
        problem = self.problem
        facts = self.facts[:, list(problem.numeric)]
        reach = (1.0 + np.abs(facts)) / GROWTH
        if isinstance(problem.view, TreeView):
            view = problem.view
            for j, k in enumerate(problem.numeric):
                own = np.abs(view.threshold[(view.feature == k) & (view.subset < 0)] - facts[0, j])
                reach[0, j] = max(own.max(initial=0.0), 1e-9) if len(own) else reach[0, j]
        up, down = problem.cost.parts(facts, facts + reach), problem.cost.parts(facts, facts - reach)
        return float(np.maximum(up, down).sum() + problem.change_weights.sum()) or 1.0

    def _loosely(self) -> float:
        """A bound on the cost without what has no end; infinite where even so there is no action."""
        model = person_model(self.problem, self.facts, loose=True, reach=self._reach())
        try:
            self._decide(model)
        except Unbounded:
            return 0.0
        answer = model.program.run(self.left)
        if answer.status == EMPTY:
            bound = self._confirm(model)
            self.note = ""
            return bound
        if answer.point is not None:
            self._try(model, answer.point)
        return answer.bound

    def _model(self, budget: float) -> Model:
        model = person_model(self.problem, self.facts, budget=budget, reach=self._reach())
        self._decide(model)
        return model

    def _reach(self) -> Reach:
        view = self.problem.view
        return useful_reach(self.problem, view, self.facts) if isinstance(view, TreeView) else {}

    def _decide(self, model: Model) -> None:
        """Add the rules between features and the favourable decision."""
        view = self.problem.view
        add_rules(model)
        if isinstance(view, TreeView):
            add_trees(model, view)
        elif isinstance(view, NetworkView):
            add_network(model, view)
        else:
            assert isinstance(view, LinearView)
            add_linear(model, view)

    def _search(self, model: Model) -> float:
        """The least cost proven within a model; infinite where it proves that there is no action."""
        program, excluded = model.program, np.inf
        for _ in range(MOST_CELLS):
            answer = program.run(self.left)
            if answer.status not in (OPTIMAL, STOPPED, EMPTY):
                answer = program.run(self.left, presolve=False)
            if answer.status == EMPTY:
                return min(self._confirm(model), excluded)
            bound = min(answer.bound, excluded)
            if answer.point is None:
                self.note = self._stopped() if answer.status == STOPPED else "The solver gave no clear answer."
                return bound
            refused = self._try(model, answer.point)
            if answer.status == STOPPED:
                self.note = self._stopped()
                return bound
            if self._closed(bound):
                return bound
            if self._closed(answer.bound):
                self.note = "A part of the boundary is too thin to decide, and might hold a cheaper action."
                return bound
            if refused is not None:
                # One leaf of every tree: all who fall into these leaves have the same label.
                leaves = leaf_switches(model, self.problem.view, refused)  # type: ignore[arg-type]
                program.exclude(leaves, np.ones(len(program.lower)))
                if all(answer.point[v] > 0.5 for v in leaves):
                    continue
            switches = program.switches
            if program.counts or not switches:
                self._surer(model)
                return bound
            closed = program.polish(answer.point, -1.0)
            excluded = min(excluded, answer.bound if closed is None else max(closed[0] * (1 - 1e-9), answer.bound))
            program.exclude(switches, answer.point)
        self._surer(model)
        self.note = f"{MOST_CELLS} candidates were tried one by one, and more are left."
        return bound

    def _confirm(self, model: Model) -> float:
        """An empty program is believed when it stays empty with every row moved out a little, solved another way."""
        again = model.program.run(self.left, slack=SLACK, presolve=False)
        if again.status == EMPTY:
            return np.inf
        self.note = self._stopped() if again.status == STOPPED else "The program is empty, but only just."
        return again.bound

    def _surer(self, model: Model) -> None:
        """An action well inside the rows, if none was found at their ends."""
        if self.best is None:
            answer = model.program.run(self.left, step=STEPS[-2] * 2.0**self.attempt)
            if answer.point is not None:
                self._try(model, answer.point)

    def _stopped(self) -> str:
        return f"{self.seconds:g} s reached; raise time_limit."

    def _try(self, model: Model, point: Floats) -> Floats | None:
        """Keep the cheapest action with these whole numbers that holds when tried.

        Returns where it led if only the label was in the way and trees decide it.
        """
        refused = None
        for step in STEPS:
            solved = model.program.polish(point, step * 2.0**self.attempt)
            if solved is None:
                continue
            action, moved, holds = self._act(model, solved[1])
            if holds and self._flips(moved):
                if self.best is None or action.cost < self.best.cost:
                    self.best = action
                return None
            if holds and isinstance(self.problem.view, TreeView):
                refused = moved
        return refused

    def _act(self, model: Model, point: Floats) -> tuple[Action, Floats, bool]:
        """The action at a point, where it leads, and whether that is allowed."""
        problem, facts = self.problem, self.facts
        picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
        low, high = problem.action_box(facts)
        chosen, delta = 0, np.zeros(len(problem.numeric))
        for j, k in enumerate(problem.numeric):
            if j in model.set_ and point[model.set_[j]] < 0.5:
                continue
            chosen |= 1 << j
            picked[0, k] = True
            delta[j] = model.amounts[j].at(point)
            if problem.is_integer[j]:
                delta[j] = np.rint(delta[j])
            else:
                delta[j] = self._stepped(model, k, float(delta[j]), point)
            values[0, k] = np.clip(facts[0, k] + delta[j], low[0, j], high[0, j])
        level = np.full(len(problem.categorical), -1.0)
        for b, c in enumerate(problem.categorical):
            target = int(np.argmax([point[switch] for switch in model.levels[c]]))
            if target != int(facts[0, c]):
                chosen |= 1 << (len(problem.numeric) + b)
                picked[0, c], values[0, c], level[b] = True, target, target
        nodes = len(problem.scm.graph.nodes)
        moved = np.where(picked, values, facts)
        moved[:, :nodes], unknown = problem.scm.propagate(facts[:, :nodes], picked[:, :nodes], values[:, :nodes])
        numeric = list(problem.numeric)
        before = facts[:, numeric]
        cost = float(problem.cost.parts(before, np.where(picked[:, numeric], values[:, numeric], before)).sum())
        cost += float(problem.change_weights[level >= 0].sum())
        holds = not unknown and self._allowed(moved)
        return Action(cost, chosen, delta, level), moved, holds

    def _stepped(self, model: Model, k: int, change: float, point: Floats) -> float:
        """A change after which the value lies on the side of every threshold that the point chose.

        What counts is fact + change as doubles add them, so the change itself is stepped.
        """
        fact = model.fact(k)
        for column, threshold, switch in model.decrees:
            if column == k and (fact + change <= threshold) != (point[switch] > 0.5):
                change = _beside(fact, threshold, below=point[switch] > 0.5)
        return change

    def _allowed(self, moved: Floats) -> bool:
        problem = self.problem
        for k in range(moved.shape[1]):
            feature = problem.feature(k)
            if feature.role == "immutable" or feature.plausible is not None:
                low, high = problem.plausible(self.facts, k)
                give = TOLERANCE * (1 + abs(self.facts[0, k]))
                if not low[0] - give <= moved[0, k] <= high[0] + give:
                    return False
        return not any(broken[0] for broken, _ in problem.rules.faults(self.facts, moved))

    def _flips(self, moved: Floats) -> bool:
        """The model's own label, which is asked for where rounding may decide, and the distance that is wanted."""
        problem, view = self.problem, self.problem.view
        assert isinstance(view, View)
        if view.is_clear(moved)[0]:
            answer = bool(view.is_favourable(moved)[0])
        else:
            answer = bool(problem.decision.is_favourable(problem.encoding.decode(moved, None))[0])
        if answer and problem.margin > 0:
            answer = bool(view.goals.met(view.margins(moved) + view.blur(moved), problem.margin)[0])
        return answer


def _beside(fact: float, threshold: float, *, below: bool) -> float:
    """The change that leads to a threshold, or just past it, as doubles add it to the fact."""
    change, step = threshold - fact, float(np.spacing(abs(threshold)))
    while (fact + change <= threshold) != below:
        change = threshold - fact + (-step if below else step)
        step *= 2.0
    return change
