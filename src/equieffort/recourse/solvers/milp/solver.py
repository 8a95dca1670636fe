"""Milp: recourse as mixed-integer programs for HiGHS, one a person."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers import BlackBox
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Proposal, Solver, check_gap, check_seconds
from equieffort.recourse.solvers.infeasibility import ANY, MOST_ALONE
from equieffort.recourse.solvers.interventions import Misfit
from equieffort.recourse.solvers.milp.model import first_bent
from equieffort.recourse.solvers.milp.search import Result, Search
from equieffort.recourse.solvers.rule_table import RuleTable
from equieffort.recourse.solvers.stepping import SteppingSolver
from equieffort.recourse.status import Refusal, Takes, Unfit, Why
from equieffort.world.cost import LinearCost, PiecewiseCost

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
        Seconds on the wall clock that a person may take. Whoever reaches it keeps the best action found and the bound
        proven so far.

    >>> Milp(time_limit=5.0).harder()
    Milp(gap=1e-06, time_limit=50.0)
    """

    gap: float = 1e-6
    time_limit: float = 60.0

    def __post_init__(self) -> None:
        takes = "a number above 0, since the solver works to tolerances"
        check_gap(self.gap, takes, lambda gap: gap > 0, "Give 1e-6 or more.")
        check_seconds(self.time_limit, optional=False)

    def prepare(self, problem: RecourseProblem) -> PreparedPrograms | Refusal:
        """The problem, if score, equations and cost can be written as a program."""
        view = problem.view
        if isinstance(view, BlackBox):
            return Refusal(Unfit.MODEL, Why.CLOSED, detail=view.reason, takes=Takes.PROGRAM)
        if not isinstance(view, ReadableView):
            return Refusal(Unfit.MODEL, Why.OTHER_MODEL, type(view).__name__, takes=Takes.PROGRAM)
        if not view.is_finite():
            return Refusal(Unfit.MODEL, Why.NOT_FINITE)
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE)
        if node := first_bent(problem):
            return Misfit.bent(node).refusal
        return PreparedPrograms(problem.with_known(view), self, RuleTable.of(problem))

    def harder(self) -> Milp:
        """Ten times the seconds."""
        return replace(self, time_limit=10 * self.time_limit)


@dataclass(frozen=True, eq=False)
class PreparedPrograms(SteppingSolver[Milp, ReadableView]):
    """One program a person."""

    rules: RuleTable

    most_alone = MOST_ALONE

    def quick(self) -> Milp:
        """Each question is answered soon or not at all."""
        return replace(self.limits, gap=ANY, time_limit=min(self.limits.time_limit, SECONDS_EACH))

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """The same at a step over the boundary."""
        proposal, limits = Proposal.empty(self.problem, len(people)), self.limits
        for i in range(len(people)):
            search = Search(self.problem, self.rules, people[i : i + 1], limits.gap, limits.time_limit, attempt)
            self._write(proposal, i, search.run(), attempt)
        proposal.state_vanishing(self.problem, people)
        return proposal

    def _write(self, proposal: Proposal, i: int, result: Result, attempt: int) -> None:
        action, bound, note = result
        if action is not None:
            proposal.code[i] = FOUND
            proposal.cost[i], proposal.intervention_mask[i] = action.cost, action.intervention_mask
            proposal.delta[i], proposal.level[i] = action.delta, action.level
            proposal.bound[i] = min(bound, action.cost)
        else:
            proven = bound == np.inf and note is None and attempt == 0
            proposal.code[i] = NONE if proven else LIMIT
            proposal.bound[i] = bound if proven or np.isfinite(bound) else 0.0
        if note is not None:
            proposal.notes[i] = note
