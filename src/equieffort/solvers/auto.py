"""Auto: the choice of a solver, with its reason."""

from __future__ import annotations

from dataclasses import dataclass

from equieffort.classifiers import TreeView
from equieffort.errors import ModelError
from equieffort.problem import RecourseProblem
from equieffort.solvers.base import Solver
from equieffort.solvers.branch_and_bound import BranchAndBound
from equieffort.solvers.linear import LinearExact


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
    | linear score | linear | `LinearExact` |
    | sum of trees | linear | `BranchAndBound` |
    | anything else | anything else | none yet: refused with the reason |
    """

    def select(self, problem: RecourseProblem) -> Choice:
        """The solver for a problem and the reason; raises when no solver can certify an answer."""
        linear = LinearExact()
        obstacle = linear.supports(problem)
        if not obstacle:
            return Choice(linear, "The score is linear and so is every equation an action can reach.")
        if isinstance(problem.view, TreeView):
            trees = BranchAndBound()
            obstacle = trees.supports(problem)
            if not obstacle:
                count = len(problem.view.roots)
                what = "a single tree" if count == 1 else f"a sum of {count:,} trees"
                return Choice(trees, f"The model is {what}, and every equation an action can reach is linear.")
        raise ModelError(
            "MODEL_NOT_LINEAR",
            f"No exact solver fits this problem. {obstacle}",
            fix="Use a linear classifier (LogisticRegression, LinearSVC, ...) behind scaling and one-hot encoding, "
            "and linear equations below actionable features; a number that the model one-hot encodes must be "
            'declared kind="categorical".',
        )
