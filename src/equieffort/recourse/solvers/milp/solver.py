"""Milp: recourse as mixed-integer programs for HiGHS, one a person."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers import BlackBox, LinearView, NetworkView, TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Proposal, Solver, check_gap, check_seconds
from equieffort.recourse.solvers.infeasibility import ANY, MOST_ALONE, why_infeasible
from equieffort.recourse.solvers.milp.model import obstacle
from equieffort.recourse.solvers.milp.search import Result, Search
from equieffort.recourse.status import Infeasibility
from equieffort.world.cost import LinearCost, PiecewiseCost

MOST_ACTS = 62
"""Sets of intervened features are bits of one number."""
SECONDS_EACH = 5.0
"""For each question about a limit that is left out."""


@dataclass(frozen=True)
class Milp(Solver):
    """Mixed-integer programs for linear scores, sums of trees and ReLU networks over linear structural equations.

    One program a person: a switch says whether a feature that would follow is set or left, another which level a
    category gets, further ones which side of a threshold a value lies on, which neurons are on, and which part of a
    rule between features holds. It takes many actionable features and such rules; for trees and networks it is slow,
    and serves as a second opinion.

    The solver behind it works to tolerances, so nothing is taken at its word: each answer is solved again with its
    whole numbers fixed and tried with the equations and the model's own label, the bound is the solver's bound for the
    problem with closed boundaries, and both "nothing is cheaper" and "no action" must be confirmed by solving once more
    in another way, the latter with rows that are a little wider.
    Where limits have no end, a budget on the cost gives the program one; it is raised until an action is found.

    Parameters
    ----------
    gap
        How far above the proven bound a cost may lie and still be called optimal.
    time_limit
        Seconds a person may take. Whoever reaches it keeps the best action found and the bound proven so far.

    >>> Milp(time_limit=5.0).harder()
    Milp(gap=1e-06, time_limit=50.0)
    """

    gap: float = 1e-6
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        takes = "a number above 0, since the solver works to tolerances"
        check_gap(self.gap, takes, lambda gap: gap > 0, "Give 1e-6 or more.")
        check_seconds(self.time_limit, optional=False)

    def supports(self, problem: RecourseProblem) -> str:
        """Empty if score, equations and cost can be written as a program, otherwise the reason why not."""
        view = problem.view
        if isinstance(view, BlackBox):
            return f"The classifier cannot be written as a program: {view.reason}."
        if not isinstance(view, LinearView | TreeView | NetworkView):
            return "The classifier is no linear score, sum of trees or ReLU network."
        if not view.is_finite():
            return "The classifier's numbers are not all finite."
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return "The cost is not piecewise linear."
        if len(problem.acts) > MOST_ACTS:
            return f"There are {len(problem.acts)} actionable features; it takes at most {MOST_ACTS}."
        return obstacle(problem)

    def propose(
        self, problem: RecourseProblem, matrix: Floats, *, attempt: int = 0, only: int | None = None
    ) -> Proposal:
        """The cheapest action of each encoded person, or what was found and proven within the limits."""
        proposal = Proposal.empty(problem, len(matrix))
        for i in range(len(matrix)):
            search = Search(problem, matrix[i : i + 1], self.gap, self.time_limit, attempt)
            self._write(proposal, i, search.run(), attempt)
        proposal.state_vanishing(problem, matrix)
        return proposal

    def _write(self, proposal: Proposal, i: int, result: Result, attempt: int) -> None:
        action = result.action
        if action is not None:
            proposal.code[i] = FOUND
            proposal.cost[i], proposal.intervention_mask[i] = action.cost, action.intervention_mask
            proposal.delta[i], proposal.level[i] = action.delta, action.level
            proposal.bound[i] = min(result.bound, action.cost)
        else:
            proven = result.bound == np.inf and result.note is None and attempt == 0
            proposal.code[i] = NONE if proven else LIMIT
            proposal.bound[i] = result.bound if proven or np.isfinite(result.bound) else 0.0
        if result.note is not None:
            proposal.notes[i] = result.note

    def harder(self) -> Milp:
        """Ten times the seconds."""
        return replace(self, time_limit=10 * self.time_limit)

    def why_infeasible(self, problem: RecourseProblem, person: Floats) -> Infeasibility:
        """Which limits or rules would have to go so that there is an action."""
        return self.reasons(problem, person)[0]

    def reasons(self, problem: RecourseProblem, people: Floats) -> list[Infeasibility]:
        """Which limits or rules would have to go; with many limits some that would do, not each that would."""
        quick = replace(self, gap=ANY, time_limit=min(self.time_limit, SECONDS_EACH))
        return why_infeasible(problem, people, quick, MOST_ALONE)
