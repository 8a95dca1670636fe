"""LinearExact: the cheapest action in a linear world, proven.

For every set of interventions the gain in score is linear in the changes, so one fill in the order of gain a
price solves everybody at once. Columns that move by propagation and must stay in a range tighten the fill's limits
when one action moves them, and become rows of a small program when several do. The least over all sets is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers import BlackBox, LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, TIE, Batch, PreparedSolver, Proposal, Solver
from equieffort.recourse.solvers.interventions import InterventionSet, Misfit, intervention_sets_of
from equieffort.recourse.solvers.linear.infeasibility import infeasibility
from equieffort.recourse.solvers.linear.limits import (
    LinearInterventionSet,
    level_price,
    level_shift,
    make_box,
    program_of,
)
from equieffort.recourse.solvers.linear.ties import settle
from equieffort.recourse.solvers.linear_batch import LinearBatch
from equieffort.recourse.solvers.stepping import step_over
from equieffort.recourse.status import Infeasibility, Refusal, Takes, Unfit, Why
from equieffort.world.cost import LinearCost, PiecewiseCost

AT_ONCE = 512
"""People searched for whole numbers in the first compiled call, between which Ctrl-C is heard."""
QUICK = 0.1
"""Seconds: after a call that takes less, the next is about four times as many people."""


@dataclass(frozen=True)
class LinearExact(Solver):
    """Exact recourse for a linear structural causal model and a linear score."""

    gap: float = field(default=1e-9)

    def prepare(self, problem: RecourseProblem) -> PreparedLinear | Refusal:
        """The effects of every set of interventions, if score and equations are linear."""
        view = problem.view
        if isinstance(view, BlackBox):
            return Refusal(Unfit.MODEL, Why.CLOSED, detail=view.reason, takes=Takes.SCORE)
        if not isinstance(view, LinearView):
            return Refusal(Unfit.MODEL, Why.OTHER_MODEL, type(view).__name__, takes=Takes.SCORE)
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE)
        if problem.rules:
            return Refusal(Unfit.RULES, Why.RULES)
        try:
            sets = intervention_sets_of(problem)
        except Misfit as misfit:
            return misfit.refusal
        known = problem.with_known(view)
        return PreparedLinear(known, self.gap, [LinearInterventionSet.of(one, view) for one in sets])


@dataclass(frozen=True, eq=False)
class PreparedLinear(PreparedSolver):
    """A linear problem, and what each set of interventions does to its score."""

    problem: RecourseProblem[LinearView]
    gap: float
    intervention_sets: list[LinearInterventionSet]

    @property
    def subproblems(self) -> int:  # type: ignore[override]
        """One for each set of interventions."""
        return len(self.intervention_sets)

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action of each person over all sets of interventions."""
        proposal = step_over(batch, self.attempt)
        settle(self._alone, len(self.intervention_sets), self.gap, batch, proposal)
        return proposal

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """Actions at the so manyth step over the boundary. Some may be a TIE."""
        return self._least(people, attempt, self.intervention_sets)

    def _alone(self, people: Floats, number: int) -> Proposal:
        return self._least(people, 1, [self.intervention_sets[number]])

    def _least(self, people: Floats, attempt: int, sets: list[LinearInterventionSet]) -> Proposal:
        """The least over some sets of interventions."""
        problem, proposal = self.problem, Proposal.empty(self.problem, len(people))
        batch = LinearBatch.of(problem, people, attempt)
        for interventions in sets:
            _try_interventions(problem, batch, interventions, proposal)
        if np.any(batch.noise) and not problem.is_integer.any() and isinstance(problem.cost, LinearCost):
            # What was solved is solved exactly: only rounding, on either side of the boundary, lies between the two.
            # Sets that only tie, or were given up, may be cheaper by more than that.
            proposal.rounding, acts = np.zeros(len(people)), proposal.code == FOUND
            proposal.rounding[acts] = np.maximum(proposal.cost[acts] - batch.solved[acts], 0.0)
        proposal.state_vanishing(problem, people)
        return proposal

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """Which limits stop the action that comes closest."""
        return infeasibility(self.problem, self.intervention_sets, people)


def _try_interventions(
    problem: RecourseProblem, people: LinearBatch, interventions: LinearInterventionSet, proposal: Proposal
) -> None:
    """Solve one intervention set for everybody and keep it where it is better."""
    from equieffort.recourse.solvers.linear.fill_kernels import Answers, Asked, fill_batch

    n, cost = len(people.matrix), problem.cost
    need = people.need - level_shift(problem, interventions, people.matrix, interventions.level_gain)
    price = level_price(problem, interventions, people.matrix)
    whole = problem.is_integer & np.array(interventions.is_set, dtype=bool)
    box = make_box(problem, people, interventions, whole)
    low, high, shared, hard = box.low, box.high, box.shared, box.forced.copy()
    if isinstance(cost, LinearCost):
        up, down = cost.prices(people.facts)
    else:
        up = down = np.ones((1, len(problem.numeric)))
        hard[:] = True
    out_cost, out_bound, delta = np.empty(n), np.empty(n), np.zeros((n, len(problem.numeric)))
    code = np.empty(n, dtype=np.int8)
    any_whole = bool(whole.any())
    slack = people.slack(any_whole)
    least, most = (np.minimum(low, 0.0), np.maximum(high, 0.0)) if hard.any() else (low, high)
    # Compiled code cannot be interrupted, and searches for whole numbers can be long.
    start, size = 0, AT_ONCE if any_whole else max(n, 1)
    while start < n:
        part = slice(start, start + size)
        own = part if len(up) > 1 else slice(None)
        began = perf_counter()
        asked = Asked(
            need[part], slack[part], people.tolerance[part], interventions.gain, up[own], down[own], least[part],
            most[part], whole, any_whole,
        )  # fmt: skip
        fill_batch(asked, Answers(out_cost[part], out_bound[part], delta[part], code[part]))
        start += size
        size = 4 * size if perf_counter() - began < QUICK else max(AT_ONCE, size // 4)
    for row, least, most in shared:
        moved = delta @ row.effect
        forgiven = problem.tolerance(row.position, people.matrix[:, row.position])
        hard |= (moved < least - forgiven) | (moved > most + forgiven)
    code[~box.usable] = NONE
    hard &= box.usable & (code != NONE)
    if isinstance(cost, LinearCost):
        # The fill forgets shared rows, so it bounds from below: what a sure action beats need not be looked at again.
        dearer = hard & (proposal.code == FOUND) & (out_bound + price >= proposal.cost)
        code[dearer] = NONE
        hard &= ~dearer
    for i in np.flatnonzero(hard).tolist():
        sure = proposal.cost[i] - price[i] if proposal.code[i] == FOUND else np.inf
        program = program_of(problem, people, interventions, box, i, float(need[i] + max(slack[i], 0.0)))
        code[i], out_cost[i], out_bound[i], delta[i] = program.solve(need[i], slack[i], people.tolerance[i], sure)
    acts = code == FOUND
    people.solved[acts] = np.minimum(people.solved[acts], (out_bound + price)[acts])
    _keep(problem, interventions, proposal, code, out_cost + price, out_bound + price, delta)


def _keep(
    problem: RecourseProblem,
    interventions: InterventionSet,
    proposal: Proposal,
    code: Any,
    cost: Floats,
    bound: Floats,
    delta: Floats,
) -> None:
    """Merge one set's answers: the least cost wins, the least bound stands, and nothing given up is forgotten."""
    open_ = code != NONE
    proposal.bound = np.where(open_, np.minimum(proposal.bound, bound), proposal.bound)
    given_up = (code == LIMIT) & (proposal.code == NONE)
    proposal.code[given_up] = LIMIT
    # A tie may fail, so any sure action is kept before it; `solve` looks at ties that would be cheaper.
    better = (code == FOUND) & ((proposal.code != FOUND) | (cost < proposal.cost))
    better |= (code == TIE) & (proposal.code != FOUND) & ((proposal.code != TIE) | (cost < proposal.cost))
    proposal.code[better] = code[better]
    proposal.cost[better] = cost[better]
    proposal.delta[better] = delta[better]
    proposal.intervention_mask[better] = interventions.intervention_mask
    if problem.categorical:
        proposal.level[better] = interventions.levels
