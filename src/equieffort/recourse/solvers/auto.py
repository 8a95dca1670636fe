"""Auto: the choice of a solver, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar, cast

from equieffort.errors import ModelError, Setting
from equieffort.models.classifiers import LinearView, NetworkView, TreeView
from equieffort.recourse.problem import RecourseProblem, check_problem
from equieffort.recourse.solvers.base import PreparedSolver, Solver
from equieffort.recourse.solvers.branch_and_bound.solver import BranchAndBound
from equieffort.recourse.solvers.by_group import prepared_for
from equieffort.recourse.solvers.heuristic.solver import Search
from equieffort.recourse.solvers.interventions import count_sets, shares_ranges
from equieffort.recourse.solvers.linear.solver import LinearExact
from equieffort.recourse.solvers.linear_search.solver import LinearSearch
from equieffort.recourse.solvers.milp.solver import Milp
from equieffort.recourse.solvers.spatial.solver import SpatialBranchAndBound
from equieffort.recourse.status import Ground, Grounds, Refusal
from equieffort.words.choices import choice_text, refusals_text
from equieffort.world.cost import PiecewiseCost
from equieffort.world.group_cost import GroupCost

Limited = TypeVar("Limited", bound=Solver)
FEW_SETS = 256
"""With more sets of interventions than that, listing them takes longer than searching them."""
FEW_SETS_BENT = 4
"""The same where costs bend, and each set asks for a search of its own."""


@dataclass(frozen=True)
class Choice:
    """The solver that was chosen, and why."""

    solver: Solver
    grounds: Grounds
    prepared: PreparedSolver = field(repr=False, compare=False)
    """The solver, prepared for the problem in scaled units."""
    problem: RecourseProblem = field(repr=False, compare=False)

    @property
    def reason(self) -> str:
        """Why, as a sentence."""
        return choice_text(self.grounds)

    def is_for(self, problem: RecourseProblem) -> bool:
        """Whether it was made for this very problem."""
        return self.problem is problem


@dataclass(frozen=True)
class Auto:
    """Chooses the solver that certifies most.

    | classifier | structural equations below an action | solver |
    | --- | --- | --- |
    | linear score | linear | `LinearExact`; with rules, shared ranges or many ways to act `LinearSearch`, else `Milp` |
    | sum of trees, ReLU network, linear scores of several classes | linear | `BranchAndBound` |
    | any that can be read | any that can be enclosed | `SpatialBranchAndBound` |
    | anything else | anything else | `Search`, which proves nothing |

    Limits that are given (`gap`, `time_limit`, `node_limit`, `budget`, `random_state`) go to the solver that is chosen
    if it has them; the reason names those it does not have.

    >>> Auto(node_limit=1000).limited(SpatialBranchAndBound())
    SpatialBranchAndBound(gap=0.0001, node_limit=1000, time_limit=60.0)
    """

    gap: float | None = None
    time_limit: float | None = None
    node_limit: int | None = None
    budget: int | None = None
    random_state: int | None = None

    def __post_init__(self) -> None:
        # Whichever is chosen later, a limit that makes no sense is refused now.
        for solver in (LinearSearch(), BranchAndBound(), Milp(), SpatialBranchAndBound(), Search()):
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
        return replace(choice, grounds=replace(choice.grounds, without=tuple(lacks)))

    def _select(self, problem: RecourseProblem) -> Choice:
        scaled = problem.scaled
        refusals: list[Refusal] = []
        for solver in self._candidates(problem):
            prepared = prepared_for(solver, scaled)
            if not isinstance(prepared, Refusal):
                return Choice(solver, _grounds(solver, problem, tuple(refusals)), prepared, problem)
            if isinstance(solver, BranchAndBound):
                # What is against it says more of such a model than that its score is not linear.
                refusals.clear()
            if not isinstance(solver, Milp | LinearSearch):
                refusals.append(prepared)
        raise ModelError(
            "MODEL_NOT_LINEAR",
            (
                "No solver fits this problem. ",
                Setting("told twice", refusals_text(refusals), of=refusals_text(refusals, "spec")),
            ),
            fix="Use a classifier that can be read (docs/solvers.md), or no margin.",
        )

    def _candidates(self, problem: RecourseProblem) -> Iterator[Solver]:
        """Those that may fit, the one that proves most first."""
        is_linear = isinstance(problem.view, LinearView)
        if is_linear and (problem.rules or count_sets(problem) > _few_sets(problem) or shares_ranges(problem)):
            yield self.limited(LinearSearch())
        yield self.limited(LinearExact())
        if is_linear:
            yield self.limited(Milp())
        if isinstance(problem.view, TreeView | NetworkView):
            yield self.limited(BranchAndBound())
        yield self.limited(SpatialBranchAndBound())
        yield self.limited(Search())


def _own(solver: Solver) -> set[str]:
    return {field.name for field in fields(cast(Any, solver))}


def _read(view: TreeView | NetworkView) -> Grounds:
    """What of the model was read."""
    if isinstance(view, TreeView):
        return Grounds(Ground.TREES, len(view.roots))
    hidden = tuple(len(layer.bias) for layer in view.layers[:-1])
    return Grounds(Ground.NETWORK, hidden=hidden) if hidden else Grounds(Ground.SCORES, len(view.goals.closed))


def _grounds(solver: Solver, problem: RecourseProblem, refusals: tuple[Refusal, ...]) -> Grounds:
    """Why this solver, after those that do not fit."""
    view = problem.view
    if isinstance(solver, LinearExact):
        return Grounds(Ground.LINEAR)
    if isinstance(solver, LinearSearch):
        return _why_searched(problem)
    if isinstance(solver, BranchAndBound) and isinstance(view, TreeView | NetworkView):
        return _read(view)
    if isinstance(solver, SpatialBranchAndBound):
        return Grounds(Ground.ENCLOSED, value=solver.gap, refusals=refusals)
    return Grounds(Ground.PROGRAM if isinstance(solver, Milp) else Ground.SEARCHED, refusals=refusals)


def _why_searched(problem: RecourseProblem) -> Grounds:
    """Why a search does better than filling one set of interventions after another."""
    if problem.rules:
        return Grounds(Ground.LINEAR_RULES)
    if (count := count_sets(problem)) > _few_sets(problem):
        return Grounds(Ground.LINEAR_WAYS, count)
    return Grounds(Ground.LINEAR_RANGES)


def _few_sets(problem: RecourseProblem) -> int:
    """Up to how many sets of interventions are listed."""
    return FEW_SETS_BENT if isinstance(problem.cost, PiecewiseCost | GroupCost) else FEW_SETS
