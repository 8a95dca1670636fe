"""LinearSearch: the cheapest action in a linear world with many actions, proven.

Where causes and effects can both be set, each effect is either set or left to follow: in a chain of twenty actions
there are half a million ways. They are not listed but searched: prices on what lacks bound what is not decided yet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import TOLERANCE
from equieffort.models.classifiers import BlackBox, LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import (
    FOUND,
    HOLDS,
    LABEL_STAYS,
    LIMIT,
    NONE,
    TIE,
    Batch,
    PreparedSolver,
    Proposal,
)
from equieffort.recourse.solvers.endings import DONE, termination
from equieffort.recourse.solvers.in_parts import part_by_part
from equieffort.recourse.solvers.infeasibility import ANY, NODES_EACH
from equieffort.recourse.solvers.interventions import Misfit
from equieffort.recourse.solvers.linear_batch import LinearBatch
from equieffort.recourse.solvers.linear_search.batch import Limits, Rows, people_of, search, taken
from equieffort.recourse.solvers.linear_search.reduced_problem import ReducedProblem
from equieffort.recourse.solvers.stepping import LimitedSolver, SteppingSolver, step_over
from equieffort.recourse.status import Ending, Refusal, Takes, Termination, Unfit, Why
from equieffort.world.cost import LinearCost, PiecewiseCost

if TYPE_CHECKING:
    from equieffort.recourse.solvers.linear_search.arrays import Answers, CompiledProblem

MOST_TIES = 64
"""So many sets of interventions that reach the boundary but for rounding are put to the model, for each person."""


@dataclass(frozen=True)
class LinearSearch(LimitedSolver):
    """Branch and bound over what is set and what follows, for linear scores and linear structural equations.

    Parameters
    ----------
    gap
        How far above the proven bound a cost may lie, as a share of it, and still be called optimal.
    time_limit
        Seconds a person may take, or None. Whoever reaches it keeps the best action found and the bound proven so far;
        which people that is depends on the machine.
    node_limit
        Nodes of the search a person may take, or None: the same on every machine.

    >>> LinearSearch(time_limit=None).node_limit
    200000
    """

    gap: float = 1e-9

    def prepare(self, problem: RecourseProblem) -> PreparedSolver | Refusal:
        """The problem reduced to its actions, if score and equations are linear."""
        view = problem.view
        if isinstance(view, BlackBox):
            return Refusal(Unfit.MODEL, Why.CLOSED, detail=view.reason, takes=Takes.SCORE)
        if not isinstance(view, LinearView):
            return Refusal(Unfit.MODEL, Why.OTHER_MODEL, type(view).__name__, takes=Takes.SCORE)
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE)
        known = problem.with_known(view)
        try:
            reduced = ReducedProblem.of(known)
            return PreparedLinearSearch(known, self, reduced, reduced.compiled())
        except Misfit as misfit:
            return misfit.refusal


@dataclass(frozen=True, eq=False)
class PreparedLinearSearch(SteppingSolver[LinearSearch, LinearView]):
    """A problem reduced to its actions, and the limits it is searched with."""

    reduced: ReducedProblem
    compiled: CompiledProblem

    def quick(self) -> LinearSearch:
        """Any action, soon."""
        return replace(self.limits, gap=ANY, node_limit=NODES_EACH, time_limit=None)

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action of each person, or what was found and proven within the limits."""
        proposal = step_over(batch, self.attempt)
        self._settle_ties(batch, proposal)
        return proposal

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """Actions at the so manyth step over the boundary; a TIE where only rounding reaches it."""
        nothing = np.zeros((0, 2 + len(self.reduced.order)))
        return part_by_part(self.problem, people, lambda part: self._found(part, attempt, nothing)[0])

    def _found(self, people: Floats, attempt: int, excluded: Floats) -> tuple[Proposal, Answers]:
        """What the search finds without sets of interventions that are excluded; ties are in its answers."""
        problem, limits = self.problem, Limits(self.limits.gap, self.limits.node_limit, self.limits.time_limit)
        proposal, batch = Proposal.empty(problem, len(people)), LinearBatch.of(problem, people, attempt)
        arrays = people_of(self.reduced, batch, excluded)
        answers = search(self.reduced, self.compiled, arrays, limits, only_sure=False)
        bound = answers.bound[:, 0]
        has = np.isfinite(answers.bound[:, 1]) | (answers.root[:, 1] >= 0)
        # What is found by the bound need not pass the boundary: another set may, at a higher cost.
        dear = np.flatnonzero(has & ~(answers.cost[:, 0] <= bound * (1 + max(self.limits.gap, TOLERANCE))))
        if len(dear):
            again = search(self.reduced, self.compiled, taken(arrays, dear), limits, only_sure=True)
            better = again.cost[:, 0] < answers.cost[dear, 0]
            self._put_first(answers, dear[better], again, better)
            answers.ended[dear] = np.maximum(answers.ended[dear], again.ended)
        acts = answers.root[:, 0] >= 0
        proposal.bound = np.minimum(bound, answers.cost[:, 0])
        proposal.code[acts] = FOUND
        tie = ~acts & (answers.root[:, 1] >= 0)
        proposal.code[tie] = TIE
        self._write(proposal, np.flatnonzero(acts), answers, 0)
        self._write(proposal, np.flatnonzero(tie), answers, 1)
        open_ = ~acts & ~tie & (np.isfinite(bound) | (answers.ended != DONE))
        proposal.code[open_] = LIMIT
        for i in np.flatnonzero(answers.ended != DONE).tolist():
            proposal.notes[i] = termination(
                int(answers.ended[i]), found=bool(acts[i]), bound=float(proposal.bound[i]) * problem.cost_unit,
                nodes=self.limits.node_limit, seconds=self.limits.time_limit, work=int(answers.looked[i]),
            )  # fmt: skip
        if np.any(batch.noise) and not problem.is_integer.any() and isinstance(problem.cost, LinearCost):
            proposal.rounding = np.zeros(len(people))
            solved = np.where(np.isfinite(answers.bound[:, 1]), answers.bound[:, 1], proposal.cost)
            proposal.rounding[acts] = np.maximum(proposal.cost[acts] - solved[acts], 0.0)
        proposal.state_vanishing(problem, people)
        return proposal, answers

    @staticmethod
    def _put_first(answers: Answers, rows: Rows, other: Answers, which: Bools) -> None:
        for mine, theirs in zip(answers[:4], other[:4], strict=True):
            mine[rows, 0] = theirs[which, 0]
        answers.bound[rows, 1] = other.bound[which, 1]

    def _write(self, proposal: Proposal, rows: Rows, answers: Answers, kind: int) -> None:
        order, levels = self.reduced.order, self.compiled.levels[answers.root[rows, kind]]
        is_set = answers.status[rows, kind] == 0
        proposal.cost[rows] = answers.cost[rows, kind]
        proposal.delta[np.ix_(rows, order)] = np.where(is_set, answers.change[rows, kind], 0.0)
        proposal.intervention_mask[np.ix_(rows, order)] = is_set
        proposal.intervention_mask[rows, len(order) :] = levels >= 0
        proposal.level[rows] = levels

    def _settle_ties(self, batch: Batch, proposal: Proposal) -> None:
        """Put sets of interventions that reach the boundary but for rounding to the model, the cheapest first."""
        found = np.flatnonzero(proposal.code == FOUND)
        undercut = found[~batch.is_proven(found, proposal, self.limits.gap)]
        undercut = undercut[[int(row) not in proposal.notes for row in undercut]]
        for row in np.sort(np.concatenate([undercut, np.flatnonzero(proposal.code == TIE)])).tolist():
            self._settle_one(batch, proposal, row)

    def _settle_one(self, batch: Batch, proposal: Proposal, row: int) -> None:
        one = np.array([row])
        has_action = proposal.code[row] == FOUND
        excluded: list[list[float]] = []
        for _ in range(MOST_TIES):
            trial, answers = self._found(
                batch.people[one], 1, np.array(excluded).reshape(-1, 2 + len(self.reduced.order))
            )
            is_better = trial.code[0] == FOUND and not (has_action and proposal.cost[row] <= trial.cost[0])
            if is_better and batch.confirm(one, trial)[0] == HOLDS:
                proposal.put(one, trial)
                has_action = True
            proposal.bound[row] = min(trial.bound[0], answers.bound[0, 0])
            if 0 in trial.notes:
                proposal.notes[row] = trial.notes[0]
                break
            if answers.root[0, 1] < 0 or trial.code[0] == NONE:
                break
            self._write(trial, np.array([0]), answers, 1)
            outcome = batch.confirm(one, trial)[0]
            if outcome == HOLDS:
                if not has_action or trial.cost[0] < proposal.cost[row]:
                    proposal.put(one, trial)
                    if proposal.rounding is not None:
                        # A tie reaches the boundary but for rounding, and so does its bound.
                        proposal.rounding[row] = max(float(trial.cost[0] - trial.bound[0]), 0.0)
                has_action = True
                break
            if outcome != LABEL_STAYS:
                break
            excluded.append([0.0, float(answers.root[0, 1]), *answers.status[0, 1].tolist()])
        proposal.code[row] = FOUND if has_action else NONE if proposal.bound[row] == np.inf else LIMIT
        if proposal.code[row] == LIMIT and row not in proposal.notes:
            proposal.notes[row] = Termination(Ending.TIE)
