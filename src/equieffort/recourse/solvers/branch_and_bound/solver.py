"""BranchAndBound: exact recourse for sums of trees and for networks in a linear world, certified person by person.

The searches are compiled, over arrays made from the problem (`networks`, `trees`). Cells of trees on the decision
boundary that only the model's own rounding decides are put to the model, all people's at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import is_closed
from equieffort.models.classifiers import BlackBox, NetworkView, TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import (
    FOUND,
    LIMIT,
    Batch,
    PreparedSolver,
    Proposal,
    Solver,
    check_count,
    check_gap,
    check_seconds,
)
from equieffort.recourse.solvers.branch_and_bound.networks.compiled_problem import CompiledNetwork, compile_network
from equieffort.recourse.solvers.branch_and_bound.networks.search import attempt_networks
from equieffort.recourse.solvers.branch_and_bound.trees.compiled_problem import CompiledTrees, together
from equieffort.recourse.solvers.endings import termination
from equieffort.recourse.solvers.infeasibility import ANY, NODES_EACH, Relaxations
from equieffort.recourse.solvers.interventions import InterventionSet, NotLinear
from equieffort.recourse.solvers.stepping import step_over
from equieffort.recourse.status import Infeasibility, Refusal, Unfit
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
        relaxations = Relaxations(problem, replace(self, gap=ANY, node_limit=NODES_EACH, time_limit=None))
        try:
            if isinstance(view, NetworkView):
                return PreparedNetwork(problem, self, relaxations, compile_network(problem, view))
            return PreparedTrees(problem, self, relaxations, view, CompiledTrees.of(problem, view))
        except NotLinear as reason:
            return Refusal(Unfit.EQUATIONS, f"It is not linear: {reason.reason}.")

    def harder(self) -> BranchAndBound:
        """Ten times the seconds and the nodes."""
        seconds = None if self.time_limit is None else 10 * self.time_limit
        return replace(self, time_limit=seconds, node_limit=None if self.node_limit is None else 10 * self.node_limit)


@dataclass(frozen=True, eq=False)
class _Prepared(PreparedSolver):
    """A problem, the limits it is searched with, and what becomes of it without some of its own limits."""

    problem: RecourseProblem
    limits: BranchAndBound
    relaxations: Relaxations

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """Which limits or rules would have to go, for many people at once."""
        return self.relaxations.infeasibility(people)


@dataclass(frozen=True, eq=False)
class PreparedNetwork(_Prepared):
    """A ReLU network, or linear scores of several classes."""

    made: CompiledNetwork

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action of each person, or what was found and proven within the limits."""
        return step_over(batch, self._attempt)

    def _attempt(self, people: Floats, attempt: int) -> Proposal:
        of = self.limits
        return attempt_networks(
            self.problem, self.made, people, attempt, gap=of.gap, node_limit=of.node_limit, time_limit=of.time_limit
        )


@dataclass(frozen=True, eq=False)
class PreparedTrees(_Prepared):
    """A sum of trees."""

    view: TreeView
    made: CompiledTrees

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action of each person, or what was found and proven within the limits."""
        return step_over(batch, self._attempt)

    def _attempt(self, people: Floats, attempt: int) -> Proposal:
        proposal, size = Proposal.empty(self.problem, len(people)), together(self.problem, people)
        for first in range(0, len(people), size):
            part, rows = self._search(people[first : first + size], attempt), slice(first, first + size)
            for name in ("code", "bound"):
                getattr(proposal, name)[rows] = getattr(part, name)
            proposal.put(rows, part)
            proposal.notes |= {first + row: note for row, note in part.notes.items()}
        return proposal

    def _search(self, people: Floats, attempt: int) -> Proposal:
        problem, made, limits = self.problem, self.made, self.limits
        found = made.search(
            made.people(problem, people),
            gap=limits.gap,
            strict=2.0**attempt,
            asks=attempt == 0,
            nodes=limits.node_limit,
            seconds=limits.time_limit,
        )
        proposal = Proposal.empty(problem, len(people))
        proposal.cost, proposal.bound = found.cost, found.bound
        roots, change = found.root, found.change
        if len(found.asked):
            _ask(problem, self.view, made, people, found.asked, proposal, roots, change)
        has = roots >= 0
        proposal.code[has] = FOUND
        for i in np.flatnonzero(has).tolist():
            interventions = made.intervention_sets[roots[i]]
            proposal.intervention_mask[i] = interventions.intervention_mask
            proposal.delta[i] = np.where(interventions.is_set, change[i], 0.0)
            proposal.level[i] = interventions.levels
        proposal.bound = np.minimum(proposal.bound, proposal.cost)
        # Without proof that nothing is left, nothing found is not the same as nothing there.
        unsure = ~has & (np.isfinite(proposal.bound) | (found.ended > 0) | (attempt > 0))
        proposal.code[unsure] = LIMIT
        cost = np.where(has, proposal.cost, 0.0)
        far = has & ~is_closed(cost, np.minimum(proposal.bound, cost), limits.gap)
        for i in np.flatnonzero(unsure | far).tolist():
            proposal.notes[i] = termination(
                int(found.ended[i]), found=bool(has[i]), bound=float(proposal.bound[i]) * problem.cost_unit,
                nodes=limits.node_limit, seconds=limits.time_limit,
            )  # fmt: skip
        return proposal


def _ask(
    problem: RecourseProblem,
    view: TreeView,
    made: CompiledTrees,
    matrix: Floats,
    asked: Floats,
    proposal: Proposal,
    roots: Any,
    change: Floats,
) -> None:
    """Let the model decide cells in which its own rounding decides; each has one leaf of every tree, so one label."""
    rows = asked[:, 0].astype(np.intp)
    asked = asked[asked[:, 3] < proposal.cost[rows]]
    if len(asked) == 0:
        return
    rows, tried = asked[:, 0].astype(np.intp), asked[:, 1].astype(np.intp)
    answers = _is_favourable(problem, view, [made.intervention_sets[r] for r in tried], matrix[rows], asked[:, 4:])
    for k in np.flatnonzero(answers).tolist():
        i = rows[k]
        proposal.bound[i] = min(proposal.bound[i], asked[k, 3])
        if asked[k, 2] < proposal.cost[i]:
            proposal.cost[i], roots[i], change[i] = asked[k, 2], tried[k], asked[k, 4:]


def _is_favourable(
    problem: RecourseProblem, view: TreeView, intervention_sets: list[InterventionSet], facts: Floats, change: Floats
) -> Bools:
    """The model's own labels of actions."""
    moved = np.empty_like(facts)
    low, high = problem.action_box(facts)
    for i, interventions in enumerate(intervention_sets):
        moved[i] = facts[i] + interventions.effect @ change[i]
        for c, level in zip(problem.categorical, interventions.levels, strict=True):
            if level >= 0:
                shift = interventions.shifts[c]
                moved[i] += shift[:, level] - shift[:, int(facts[i, c])]
        for c, level in zip(problem.categorical, interventions.levels, strict=True):
            moved[i, c] = facts[i, c] if level < 0 else level
        for j, k in enumerate(problem.numeric):
            if interventions.is_set[j]:
                moved[i, k] = min(max(facts[i, k] + change[i, j], low[i, j]), high[i, j])
    answers = problem.decision.is_favourable(problem.encoding.decode(moved, None))
    if problem.margin > 0:
        answers &= view.goals.met(view.margins(moved) + view.rounding_error(moved), problem.margin)
    return answers
