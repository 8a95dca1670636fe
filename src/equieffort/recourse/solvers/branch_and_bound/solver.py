"""BranchAndBound: exact recourse for sums of trees and for networks in a linear world, certified person by person.

Networks are searched by `networks`; what follows is about trees.

The search itself is compiled (`tree_search_kernels`) over arrays made from the problem (`tree_world`). Cells on the
decision boundary that only the model's own rounding decides are put to the model, all people's at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import is_closed
from equieffort.models.classifiers import BlackBox, NetworkView, TreeView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, Proposal, Solver, check_count, check_gap, check_seconds
from equieffort.recourse.solvers.branch_and_bound.networks.search import propose_network, supports_network
from equieffort.recourse.solvers.branch_and_bound.trees.compiled_problem import CompiledTrees, compile_trees, together
from equieffort.recourse.solvers.endings import termination
from equieffort.recourse.solvers.infeasibility import ANY, NODES_EACH, why_infeasible
from equieffort.recourse.solvers.interventions import InterventionSet, NotLinear
from equieffort.recourse.status import Infeasibility
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

    def supports(self, problem: RecourseProblem) -> str:
        """Empty for a network or a sum of trees with linear equations below actions; otherwise the reason.

        For networks with hidden layers the gap must be above zero.
        """
        if isinstance(problem.view, BlackBox):
            return f"The classifier has no trees or layers that could be read: {problem.view.reason}."
        if isinstance(problem.view, NetworkView):
            return supports_network(problem, self.gap)
        if not isinstance(problem.view, TreeView):
            return "The classifier is no sum of trees and no network."
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return "The cost is neither linear nor piecewise linear in each change."
        try:
            compile_trees(problem)
        except NotLinear as reason:
            return f"It is not linear: {reason.reason}."
        return ""

    def harder(self) -> BranchAndBound:
        """Ten times the seconds and the nodes."""
        seconds = None if self.time_limit is None else 10 * self.time_limit
        return replace(self, time_limit=seconds, node_limit=None if self.node_limit is None else 10 * self.node_limit)

    def propose(
        self, problem: RecourseProblem, matrix: Floats, *, attempt: int = 0, only: int | None = None
    ) -> Proposal:
        """The cheapest action of each encoded person, or what was found and proven within the limits."""
        if isinstance(problem.view, NetworkView):
            nodes, seconds = self.node_limit, self.time_limit
            return propose_network(problem, matrix, attempt=attempt, gap=self.gap, node_limit=nodes, time_limit=seconds)
        proposal, size = Proposal.empty(problem, len(matrix)), together(problem, matrix)
        for first in range(0, len(matrix), size):
            part, rows = self._propose_trees(problem, matrix[first : first + size], attempt), slice(first, first + size)
            for name in ("code", "cost", "bound", "intervention_mask", "delta", "level", "vanishing"):
                getattr(proposal, name)[rows] = getattr(part, name)
            proposal.notes |= {first + row: note for row, note in part.notes.items()}
        return proposal

    def _propose_trees(self, problem: RecourseProblem, matrix: Floats, attempt: int) -> Proposal:
        compiled = compile_trees(problem)
        found = compiled.search(
            compiled.people(problem, matrix),
            gap=self.gap,
            strict=2.0**attempt,
            asks=attempt == 0,
            nodes=self.node_limit,
            seconds=self.time_limit,
        )
        proposal = Proposal.empty(problem, len(matrix))
        proposal.cost, proposal.bound = found.cost, found.bound
        roots, change = found.root, found.change
        if len(found.asked):
            _ask(problem, compiled, matrix, found.asked, proposal, roots, change)
        has = roots >= 0
        proposal.code[has] = FOUND
        for i in np.flatnonzero(has).tolist():
            interventions = compiled.intervention_sets[roots[i]]
            proposal.intervention_mask[i] = interventions.intervention_mask
            proposal.delta[i] = np.where(interventions.is_set, change[i], 0.0)
            proposal.level[i] = interventions.levels
        proposal.bound = np.minimum(proposal.bound, proposal.cost)
        # Without proof that nothing is left, nothing found is not the same as nothing there.
        unsure = ~has & (np.isfinite(proposal.bound) | (found.ended > 0) | (attempt > 0))
        proposal.code[unsure] = LIMIT
        cost = np.where(has, proposal.cost, 0.0)
        far = has & ~is_closed(cost, np.minimum(proposal.bound, cost), self.gap)
        for i in np.flatnonzero(unsure | far).tolist():
            proposal.notes[i] = termination(
                int(found.ended[i]), found=bool(has[i]), bound=float(proposal.bound[i]) * problem.cost_unit,
                nodes=self.node_limit, seconds=self.time_limit,
            )  # fmt: skip
        return proposal

    def why_infeasible(self, problem: RecourseProblem, person: Floats) -> Infeasibility:
        """Which limit or rule would have to go so that there is an action."""
        return self.reasons(problem, person)[0]

    def reasons(self, problem: RecourseProblem, people: Floats) -> list[Infeasibility]:
        """Which limits or rules would have to go, for many people at once."""
        return why_infeasible(problem, people, replace(self, gap=ANY, node_limit=NODES_EACH, time_limit=None))


def _ask(
    problem: RecourseProblem,
    compiled: CompiledTrees,
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
    answers = _is_favourable(problem, [compiled.intervention_sets[r] for r in tried], matrix[rows], asked[:, 4:])
    for k in np.flatnonzero(answers).tolist():
        i = rows[k]
        proposal.bound[i] = min(proposal.bound[i], asked[k, 3])
        if asked[k, 2] < proposal.cost[i]:
            proposal.cost[i], roots[i], change[i] = asked[k, 2], tried[k], asked[k, 4:]


def _is_favourable(
    problem: RecourseProblem, intervention_sets: list[InterventionSet], facts: Floats, change: Floats
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
        assert isinstance(problem.view, TreeView)
        answers &= problem.view.goals.met(
            problem.view.margins(moved) + problem.view.rounding_error(moved), problem.margin
        )
    return answers
