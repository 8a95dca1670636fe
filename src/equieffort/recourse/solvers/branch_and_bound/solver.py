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
    Solver,
    check_count,
    check_gap,
    check_seconds,
)
from equieffort.recourse.solvers.branch_and_bound.compiled_problem import together
from equieffort.recourse.solvers.branch_and_bound.networks.oracle import NetworkOracle
from equieffort.recourse.solvers.branch_and_bound.search import Oracle, search
from equieffort.recourse.solvers.branch_and_bound.trees.oracle import TreeOracle
from equieffort.recourse.solvers.infeasibility import ANY, NODES_EACH
from equieffort.recourse.solvers.interventions import NotLinear
from equieffort.recourse.solvers.stepping import SteppingSolver
from equieffort.recourse.status import Refusal, Unfit
from equieffort.world.cost import LinearCost, PiecewiseCost


@dataclass(frozen=True)
class BranchAndBound(Solver):
    """Best-first branch and bound for tree ensembles and ReLU networks with linear structural equations.

    Parameters
    ----------
    gap
        How far above the proven bound a cost may lie, as a share of it, and still be called optimal.
    time_limit
        Seconds a person may take, or None. Whoever reaches it keeps the best action found and the bound proven so far;
        which people that is depends on the machine, so for results that repeat exactly let `node_limit` bind first.
    node_limit
        Nodes of the search a person may take, or None: the same on every machine.

    >>> BranchAndBound(time_limit=None).node_limit
    200000
    """

    gap: float = 1e-6
    time_limit: float | None = 10.0
    node_limit: int | None = 200_000

    def __post_init__(self) -> None:
        check_gap(self.gap, "a number, 0 or more", lambda gap: gap >= 0, "Give 0 or a small number such as 1e-6.")
        check_seconds(self.time_limit, optional=True)
        check_count("node_limit", self.node_limit, optional=True)

    def prepare(self, problem: RecourseProblem) -> PreparedSolver | Refusal:
        """The arrays of a network or a sum of trees with linear equations below actions.

        For networks with hidden layers the gap must be above zero.
        """
        view = problem.view
        if isinstance(view, BlackBox):
            return Refusal(Unfit.MODEL, f"The classifier has no trees or layers that could be read: {view.reason}.")
        if not isinstance(view, NetworkView | TreeView):
            return Refusal(Unfit.MODEL, "The classifier is no sum of trees and no network.")
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return Refusal(Unfit.COST, "The cost is neither linear nor piecewise linear in each change.")
        if isinstance(view, NetworkView) and len(view.layers) > 1 and not self.gap > 0:
            reason = (
                "gap=0 cannot be proven for a network with hidden layers: its boundary is reached by ever smaller "
                "boxes, so a cost is certified to a gap above zero."
            )
            return Refusal(Unfit.SETTING, reason)
        try:
            oracle: Oracle = (
                NetworkOracle.of(problem, view) if isinstance(view, NetworkView) else TreeOracle.of(problem, view)
            )
        except NotLinear as reason:
            return Refusal(Unfit.EQUATIONS, f"It is not linear: {reason.reason}.")
        return PreparedSearch(problem.with_known(view), self, oracle)

    def harder(self) -> BranchAndBound:
        """Ten times the seconds and the nodes."""
        seconds = None if self.time_limit is None else 10 * self.time_limit
        return replace(self, time_limit=seconds, node_limit=None if self.node_limit is None else 10 * self.node_limit)


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
        proposal, size = Proposal.empty(self.problem, len(people)), together(self.problem, people)
        for first in range(0, len(people), size):
            rows = slice(first, first + size)
            part = search(self.oracle, people[rows], attempt, gap=of.gap, nodes=of.node_limit, seconds=of.time_limit)
            proposal.code[rows], proposal.bound[rows] = part.code, part.bound
            proposal.put(rows, part)
            proposal.notes |= {first + row: note for row, note in part.notes.items()}
        if isinstance(self.oracle.view, NetworkView):
            proposal.state_vanishing(self.problem, people)
        return proposal
