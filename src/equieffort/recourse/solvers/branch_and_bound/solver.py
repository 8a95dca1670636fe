"""BranchAndBound: exact recourse for sums of trees and for networks in a linear world, certified person by person.

One search (`search_kernels`) is compiled for each oracle that bounds its nodes (`trees`, `networks`), over arrays made
from the problem. Points on the decision boundary that only the model's own rounding decides are put to the model, all
people's at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from equieffort.data.frames import Floats
from equieffort.models.classifiers import BlackBox, NetworkView, TreeView
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.base import (
    PreparedSolver,
    Proposal,
)
from equieffort.recourse.solvers.branch_and_bound.networks.oracle import NetworkOracle
from equieffort.recourse.solvers.branch_and_bound.search import Oracle, search
from equieffort.recourse.solvers.branch_and_bound.trees.oracle import TreeOracle
from equieffort.recourse.solvers.in_parts import part_by_part
from equieffort.recourse.solvers.infeasibility import ANY, NODES_EACH
from equieffort.recourse.solvers.interventions import Misfit
from equieffort.recourse.solvers.stepping import LimitedSolver, SteppingSolver
from equieffort.recourse.status import Refusal, Takes, Unfit, Why
from equieffort.world.cost import LinearCost, PiecewiseCost


@dataclass(frozen=True)
class BranchAndBound(LimitedSolver):
    """Best-first branch and bound for tree ensembles and ReLU networks with linear structural equations.

    Parameters
    ----------
    gap
        How far above the proven bound a cost may lie, as a share of it, and still be called optimal.
    time_limit
        Seconds of CPU that the thread of a person may take, or None: a busy machine ends nobody's search, unless ten
        times as many seconds pass on the wall clock. Whoever reaches it keeps the best action found and the bound
        proven so far; which people that is depends on the machine, so for results that repeat exactly let `node_limit`
        bind first.
    node_limit
        Nodes of the search a person may take, or None: the same on every machine.

    >>> BranchAndBound(time_limit=None).node_limit
    200000
    """

    def prepare(self, problem: RecourseProblem) -> PreparedSolver | Refusal:
        """The arrays of a network or a sum of trees with linear equations below actions.

        For networks with hidden layers the gap must be above zero.
        """
        view = problem.view
        if isinstance(view, BlackBox):
            return Refusal(Unfit.MODEL, Why.CLOSED, detail=view.reason, takes=Takes.TREES_OR_LAYERS)
        if not isinstance(view, NetworkView | TreeView):
            return Refusal(Unfit.MODEL, Why.OTHER_MODEL, type(view).__name__, takes=Takes.TREES_OR_LAYERS)
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return Refusal(Unfit.COST, Why.COST_NOT_PIECEWISE)
        if isinstance(view, NetworkView) and len(view.layers) > 1 and not self.gap > 0:
            # Its boundary is reached by ever smaller boxes.
            return Refusal(Unfit.SETTING, Why.GAP, argument="gap", value=self.gap)
        try:
            oracle: Oracle = (
                NetworkOracle.of(problem, view) if isinstance(view, NetworkView) else TreeOracle.of(problem, view)
            )
        except Misfit as misfit:
            return misfit.refusal
        return PreparedSearch(problem.with_known(view), self, oracle)


@dataclass(frozen=True, eq=False)
class PreparedSearch(SteppingSolver[BranchAndBound, ReadableView]):
    """An oracle, and the limits it is searched with."""

    oracle: Oracle

    def quick(self) -> BranchAndBound:
        """Any action, soon."""
        return replace(self.limits, gap=ANY, node_limit=NODES_EACH, time_limit=None)

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """The cheapest action of each person, or what was found and proven within the limits."""
        of = self.limits

        def ask(part: Floats) -> Proposal:
            return search(self.oracle, part, attempt, gap=of.gap, nodes=of.node_limit, seconds=of.time_limit)

        proposal = part_by_part(self.problem, people, ask)
        if isinstance(self.oracle.view, NetworkView):
            proposal.state_vanishing(self.problem, people)
        return proposal
