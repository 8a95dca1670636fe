"""SpatialBranchAndBound: the cheapest action where equations bend or levels follow, proven to a stated gap.

Polynomials, splines, forests and functions with bounds are enclosed over boxes of the values that are set; boxes that
cannot hold a favourable point are dropped, the others are split, the cheapest first. When the gap is closed, every box
that was dropped or is left is part of a proof that nothing is cheaper than the bound (spatial branch and bound; Horst
and Tuy, "Global Optimization", 1996).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import is_closed
from equieffort.models.classifiers import BlackBox
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Proposal, Solver, check_count, check_gap, check_seconds
from equieffort.recourse.solvers.endings import DONE, termination
from equieffort.recourse.solvers.infeasibility import ANY
from equieffort.recourse.solvers.interventions import Misfit
from equieffort.recourse.solvers.spatial.compiled_problem import (
    CompiledProblem,
    SpatialBatch,
    compile_problem,
)
from equieffort.recourse.solvers.stepping import SteppingSolver
from equieffort.recourse.status import Refusal, Takes, Unfit, Why
from equieffort.world.cost import LinearCost, PiecewiseCost

STRICTER = 1000
"""Boxes a person may take when an action's label did not turn and a surer one is looked for."""
BLOCK = 128
"""People searched together; results do not depend on it."""
BOXES_EACH = 200
"""Boxes for each question about a limit that is left out."""


@dataclass(frozen=True)
class SpatialBranchAndBound(Solver):
    """Spatial branch and bound for equations that are not linear, with any classifier that can be read.

    Parameters
    ----------
    gap
        How far above the proven bound a cost may lie, as a share of it, and still be called optimal. It cannot be 0:
        the bounds of a bent equation close in on it, and meet it only in the limit.
    node_limit
        Boxes a person may take. Whoever reaches it keeps the best action found and the bound proven so far.
    time_limit
        Seconds of CPU a person may take, and ten times as many on the wall clock, of people who are searched together
        each their share; None is no limit.

    >>> SpatialBranchAndBound().harder()
    SpatialBranchAndBound(gap=0.0001, node_limit=200000, time_limit=600.0)
    """

    gap: float = 1e-4
    node_limit: int = 20_000
    time_limit: float | None = 60.0

    def __post_init__(self) -> None:
        takes = (
            "a number above 0: bounds of bent equations close in on the cost and meet it only in the limit, so nothing "
            "could be certified to a gap of 0"
        )
        check_gap(self.gap, takes, lambda gap: gap > 0, "Give a small positive number such as 1e-4.")
        check_count("node_limit", self.node_limit)
        check_seconds(self.time_limit, optional=True)

    def prepare(self, problem: RecourseProblem) -> PreparedSpatial | Refusal:
        """The problem, if the classifier can be read and every equation below an action can be enclosed."""
        view = problem.view
        if not isinstance(view, ReadableView):
            if isinstance(view, BlackBox):
                return Refusal(Unfit.MODEL, Why.CLOSED, detail=view.reason, takes=Takes.READABLE)
            return Refusal(Unfit.MODEL, Why.OTHER_MODEL, type(view).__name__, takes=Takes.READABLE)
        if not isinstance(problem.cost, LinearCost):
            if not isinstance(problem.cost, PiecewiseCost):
                return Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE)
            if not (problem.cost.tails > 0).all():
                return Refusal(Unfit.COST, Why.COST_ENDS)
        try:
            known = problem.with_known(view)
            return PreparedSpatial(known, self, compile_problem(known))
        except Misfit as misfit:
            return misfit.refusal

    def harder(self) -> SpatialBranchAndBound:
        """Ten times the boxes and the seconds."""
        seconds = None if self.time_limit is None else 10 * self.time_limit
        return replace(self, node_limit=10 * self.node_limit, time_limit=seconds)


@dataclass(frozen=True, eq=False)
class PreparedSpatial(SteppingSolver[SpatialBranchAndBound, ReadableView]):
    """A problem that can be enclosed over boxes of actions."""

    compiled: CompiledProblem

    def quick(self) -> SpatialBranchAndBound:
        """Any action, of few boxes."""
        return replace(self.limits, gap=ANY, node_limit=BOXES_EACH, time_limit=None)

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """The same at a step over the boundary."""
        proposal = Proposal.empty(self.problem, len(people))
        for start in range(0, len(people), BLOCK):
            self._block(people[start : start + BLOCK], attempt, proposal, start)
        proposal.state_vanishing(self.problem, people)
        return proposal

    def _block(self, matrix: Floats, attempt: int, proposal: Proposal, start: int) -> None:
        from equieffort.recourse.solvers.spatial.search import Search

        people = SpatialBatch.of(self.problem, self.compiled, matrix)
        # What a stricter attempt asks for beyond the boundary opens a gap that no number of boxes closes.
        limit = self.limits.node_limit if attempt == 0 else min(self.limits.node_limit, STRICTER)
        found = Search(people, self.limits.gap, limit, attempt, self.limits.time_limit)
        found.run()
        rows = slice(start, start + len(matrix))
        has = found.interventions >= 0
        proposal.cost[rows], proposal.bound[rows] = found.cost, found.bound
        which = np.maximum(found.interventions, 0)
        is_set = self.compiled.is_set[which] & has[:, None]
        levels = np.where(has[:, None], found.levels, -1)
        proposal.intervention_mask[rows] = np.column_stack([is_set, levels >= 0])
        proposal.delta[rows] = np.where(is_set, found.z - people.facts, 0.0)
        proposal.level[rows] = levels.astype(np.int16)
        none = ~has & (found.bound == np.inf) & (found.ended == DONE) & (attempt == 0)
        proposal.code[rows] = np.where(has, FOUND, np.where(none, NONE, LIMIT))
        cost = np.where(has, found.cost, 0.0)
        wide = has & ~is_closed(cost, np.minimum(found.bound, cost), self.limits.gap)
        for i in np.flatnonzero(wide | ~(has | none)).tolist():
            if found.bound[i] == np.inf:
                proposal.bound[start + i] = 0.0
            bound = float(proposal.bound[start + i]) * self.problem.cost_unit
            proposal.notes[start + i] = termination(
                int(found.ended[i]), found=bool(has[i]), bound=bound, nodes=self.limits.node_limit,
                seconds=self.limits.time_limit,
            )  # fmt: skip
