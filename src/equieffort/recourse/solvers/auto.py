"""Auto: the choice of a solver, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast

from equieffort.errors import ModelError, SchemaError
from equieffort.models.classifiers import LinearView, NetworkView, TreeView
from equieffort.recourse.problem import RecourseProblem, check_problem
from equieffort.recourse.solvers.base import PreparedSolver, Solver
from equieffort.recourse.solvers.branch_and_bound.solver import BranchAndBound
from equieffort.recourse.solvers.by_group import prepared_for
from equieffort.recourse.solvers.heuristic.solver import Search
from equieffort.recourse.solvers.linear.solver import LinearExact
from equieffort.recourse.solvers.milp.solver import Milp
from equieffort.recourse.solvers.spatial.solver import SpatialBranchAndBound
from equieffort.recourse.status import Refusal, Unfit

Limited = TypeVar("Limited", bound=Solver)


@dataclass(frozen=True)
class Choice:
    """The solver that was chosen, and why."""

    solver: Solver
    reason: str
    prepared: PreparedSolver = field(repr=False, compare=False)
    """The solver, prepared for the problem in scaled units."""
    problem: RecourseProblem = field(repr=False, compare=False)

    def is_for(self, problem: RecourseProblem) -> bool:
        """Whether it was made for this very problem."""
        return self.problem is problem


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
        choice = self._select(problem)
        lacks = [name for name in self._given if name not in (*_own(choice.solver), "random_state")]
        if not lacks:
            return choice
        return replace(choice, reason=f"{choice.reason} It has no {' and no '.join(lacks)}, so that limits nothing.")

    def _select(self, problem: RecourseProblem) -> Choice:
        scaled = problem.scaled
        refusals: list[Refusal] = []
        for solver in self._candidates(problem):
            prepared = _prepared(solver, scaled)
            if not isinstance(prepared, Refusal):
                return Choice(solver, _reason(solver, problem.view, refusals), prepared, problem)
            if isinstance(solver, BranchAndBound):
                # What is against it says more of such a model than that its score is not linear.
                refusals.clear()
            if not isinstance(solver, Milp):
                refusals.append(prepared)
        raise ModelError(
            "MODEL_NOT_LINEAR",
            f"No solver fits this problem. {_told(refusals)}",
            fix="Use a classifier that can be read (docs/solvers.md), or no margin.",
        )

    def _candidates(self, problem: RecourseProblem) -> Iterator[Solver]:
        """Those that may fit, the one that proves most first."""
        yield self.limited(LinearExact())
        if isinstance(problem.view, LinearView):
            yield self.limited(Milp())
        if isinstance(problem.view, TreeView | NetworkView):
            yield self.limited(BranchAndBound())
        yield self.limited(SpatialBranchAndBound())
        yield self.limited(Search())


def _own(solver: Solver) -> set[str]:
    return {field.name for field in fields(cast(Any, solver))}


def _about(view: NetworkView) -> str:
    widths = [str(len(layer.bias)) for layer in view.layers[:-1]]
    if not widths:
        return f"The model compares {len(view.goals.closed)} linear scores"
    return f"The model is a ReLU network with {'-'.join(widths)} hidden units"


def _prepared(solver: Solver, problem: RecourseProblem) -> PreparedSolver | Refusal:
    """The solver, prepared; too many ways to act are a reason against it like others."""
    try:
        return prepared_for(solver, problem)
    except SchemaError as crowd:
        return Refusal(Unfit.ACTIONS, crowd.what)


def _reason(solver: Solver, view: Any, refusals: list[Refusal]) -> str:
    """Why this solver, after those that do not fit."""
    if isinstance(solver, LinearExact):
        return "The score is linear and so is every equation an action can reach."
    if isinstance(solver, Milp):
        return f"{_told(refusals)} A mixed-integer program for each person reckons with all of it."
    if isinstance(solver, BranchAndBound):
        what = _about_trees(view) if isinstance(view, TreeView) else _about(view)
        return f"{what}, and every equation an action can reach is linear."
    if isinstance(solver, SpatialBranchAndBound):
        enclosed = f"All of it can be enclosed over boxes of actions, so answers are certified to {solver.gap:g}."
        return f"{_told(refusals)} {enclosed}"
    return f"No solver that proves its answers fits, so actions are searched for. {_told(refusals)}"


def _told(refusals: list[Refusal]) -> str:
    return " ".join(dict.fromkeys(refusal.reason for refusal in refusals))


def _about_trees(view: TreeView) -> str:
    count = len(view.roots)
    return f"The model is {'a single tree' if count == 1 else f'a sum of {count:,} trees'}"
