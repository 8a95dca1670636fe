"""Auto: the choice of a solver, with its reason."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar, cast

from equieffort.errors import ModelError, SchemaError
from equieffort.models.classifiers import LinearView, NetworkView, TreeView
from equieffort.recourse.problem import RecourseProblem, check_problem
from equieffort.recourse.solvers.base import Solver
from equieffort.recourse.solvers.branch_and_bound.solver import BranchAndBound
from equieffort.recourse.solvers.heuristic.solver import Search
from equieffort.recourse.solvers.linear.solver import LinearExact
from equieffort.recourse.solvers.milp.solver import Milp
from equieffort.recourse.solvers.spatial.solver import SpatialBranchAndBound

Limited = TypeVar("Limited", bound=Solver)


@dataclass(frozen=True)
class Choice:
    """The solver that was chosen, and why."""

    solver: Solver
    reason: str


@dataclass(frozen=True)
class Auto:
    """Chooses the solver that certifies most.

    | classifier | structural equations below an action | solver |
    | --- | --- | --- |
    | linear score | linear | `LinearExact`; with rules between features, or too many ways to act, `Milp` |
    | sum of trees, ReLU network, linear scores of several classes | linear | `BranchAndBound` |
    | any that can be read | any that can be enclosed | `SpatialBranchAndBound` |
    | anything else | anything else | `Search`, which proves nothing |

    Limits that are given (`gap`, `time_limit`, `node_limit`, `budget`, `random_state`) go to the solver that is chosen
    if it has them; the reason names those it does not have.

    >>> Auto(node_limit=1000).limited(SpatialBranchAndBound())
    SpatialBranchAndBound(gap=0.0001, node_limit=1000)
    """

    gap: float | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    budget: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        # Whichever is chosen later, a limit that makes no sense is refused now.
        for solver in (BranchAndBound(), Milp(), SpatialBranchAndBound(), Search()):
            self.limited(solver)

    def limited(self, solver: Limited) -> Limited:
        """The solver with those of the limits that it has."""
        return cast(Limited, replace(cast(Any, solver), **{k: v for k, v in self._given.items() if k in _own(solver)}))

    @property
    def _given(self) -> dict[str, float]:
        return {name: value for name, value in vars(self).items() if value is not None}

    def select(self, problem: RecourseProblem) -> Choice:
        """The solver for a problem and the reason: the first that can prove its answers, otherwise a search."""
        check_problem(problem)
        choice = self._select(problem.scaled)
        lacks = [name for name in self._given if name not in (*_own(choice.solver), "random_state")]
        if not lacks:
            return choice
        return replace(choice, reason=f"{choice.reason} It has no {' and no '.join(lacks)}, so that limits nothing.")

    def _select(self, problem: RecourseProblem) -> Choice:
        linear = self.limited(LinearExact())
        obstacle = _obstacle(linear, problem)
        if not obstacle:
            return Choice(linear, "The score is linear and so is every equation an action can reach.")
        program = self.limited(Milp())
        if isinstance(problem.view, LinearView) and not program.supports(problem):
            return Choice(program, f"{obstacle} A mixed-integer program for each person reckons with all of it.")
        if isinstance(problem.view, TreeView):
            trees = self.limited(BranchAndBound())
            obstacle = _obstacle(trees, problem)
            if not obstacle:
                count = len(problem.view.roots)
                what = "a single tree" if count == 1 else f"a sum of {count:,} trees"
                return Choice(trees, f"The model is {what}, and every equation an action can reach is linear.")
        if isinstance(problem.view, NetworkView):
            network = self.limited(BranchAndBound())
            obstacle = _obstacle(network, problem)
            if not obstacle:
                return Choice(network, f"{_about(problem.view)}, and every equation an action can reach is linear.")
        curved = self.limited(SpatialBranchAndBound())
        bent = curved.supports(problem)
        if not bent:
            enclosed = f"All of it can be enclosed over boxes of actions, so answers are certified to {curved.gap:g}."
            return Choice(curved, f"{obstacle} {enclosed}")
        return _search(self.limited(Search()), problem, obstacle, bent)


def _own(solver: Solver) -> set[str]:
    return {field.name for field in fields(cast(Any, solver))}


def _about(view: NetworkView) -> str:
    widths = [str(len(layer.bias)) for layer in view.layers[:-1]]
    if not widths:
        return f"The model compares {len(view.goals.closed)} linear scores"
    return f"The model is a ReLU network with {'-'.join(widths)} hidden units"


def _obstacle(solver: Solver, problem: RecourseProblem) -> str:
    """Why a solver does not fit; too many ways to act are a reason like others."""
    try:
        return solver.supports(problem)
    except SchemaError as crowd:
        return crowd.what


def _search(search: Search, problem: RecourseProblem, *obstacles: str) -> Choice:
    """The last resort, with the reasons why nothing can be proven."""
    why = " ".join(dict.fromkeys(obstacles))
    if hopeless := search.supports(problem):
        raise ModelError(
            "MODEL_NOT_LINEAR",
            f"No solver fits this problem. {why} {hopeless}",
            fix="Use a classifier that can be read (docs/solvers.md), fewer actionable features, or no margin.",
        )
    return Choice(search, f"No solver that proves its answers fits, so actions are searched for. {why}")
