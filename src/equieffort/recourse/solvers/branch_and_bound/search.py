"""Everybody's search, spread over threads, and its answers as a proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import is_closed
from equieffort.models.classifiers import NetworkView, TreeView
from equieffort.recourse.counterfactuals import keeps_margin
from equieffort.recourse.solvers.base import FOUND, LIMIT, Proposal
from equieffort.recourse.solvers.branch_and_bound.compiled_problem import SearchArrays
from equieffort.recourse.solvers.endings import DONE, proven, termination
from equieffort.recourse.solvers.interventions import InterventionSet
from equieffort.recourse.status import Ending, Termination

if TYPE_CHECKING:
    from equieffort.foundations.jit import Linked


class Oracle(Protocol):
    """What bounds the nodes of a search."""

    @property
    def view(self) -> TreeView | NetworkView:
        """The classifier."""

    @property
    def arrays(self) -> SearchArrays:
        """The problem."""

    @property
    def planes(self) -> int:
        """How many planes there may be above the margins over a box."""

    @property
    def budgets(self) -> tuple[float, float, int, float]:
        """How budgets grow from round to round, beyond how many first budgets there is none, after how many nodes the
        search becomes hasty (0 never), and beyond how many first budgets little is spent where actions have no
        limits."""

    @property
    def relative_error(self) -> float | None:
        """What rounding is relative to, where it is what keeps costs from being proven."""

    @property
    def interpreted(self) -> float:
        """Seconds about that a person takes where the search is interpreted."""

    def search(self) -> Linked:
        """The search with this oracle."""

    def of_people(self, matrix: Floats) -> tuple[Any, Any]:
        """The oracle and encoded people as arrays."""

    def tools(self, arrays: Any, people: Any) -> tuple[Any, Any]:
        """Room for the oracle to work in, and for what it remembers of a node."""


def search(
    oracle: Oracle, matrix: Floats, attempt: int, *, gap: float, nodes: int | None, seconds: float | None
) -> Proposal:
    """The cheapest action of each encoded person, as far as it is found within the limits."""
    problem, sets = oracle.arrays.problem, oracle.arrays.intervention_sets
    answers, asked = _run(oracle, matrix, attempt, gap, nodes, seconds)
    proposal = Proposal.empty(problem, len(matrix))
    proposal.cost, proposal.bound = answers.cost, answers.bound
    if len(asked):
        _ask(oracle, matrix, asked, proposal, answers)
    has = answers.root >= 0
    proposal.code[has] = FOUND
    for i in np.flatnonzero(has).tolist():
        interventions = sets[answers.root[i]]
        proposal.intervention_mask[i] = interventions.intervention_mask
        proposal.delta[i] = np.where(interventions.is_set, answers.change[i], 0.0)
        proposal.level[i] = interventions.levels
    proposal.bound = np.minimum(proposal.bound, proposal.cost)
    # Without proof that nothing is left, nothing found is not the same as nothing there.
    unsure = ~has & (np.isfinite(proposal.bound) | (answers.ended > 0) | (attempt > 0))
    proposal.code[unsure] = LIMIT
    cost = np.where(has, proposal.cost, 0.0)
    far = has & ~is_closed(cost, np.minimum(proposal.bound, cost), gap)
    for i in np.flatnonzero(unsure | far).tolist():
        bound, ended = float(proposal.bound[i]) * problem.cost_unit, int(answers.ended[i])
        if ended == DONE and has[i] and oracle.relative_error is not None:
            proposal.notes[i] = Termination(Ending.ROUNDING, True, proven(bound), limit=oracle.relative_error)
        else:
            proposal.notes[i] = termination(
                ended, found=bool(has[i]), bound=bound, nodes=nodes, seconds=seconds, work=int(answers.looked[i])
            )
    return proposal


def _run(
    oracle: Oracle, matrix: Floats, attempt: int, gap: float, nodes: int | None, seconds: float | None
) -> tuple[Any, Floats]:
    """Solve everybody on numba's number of threads; can be interrupted at any time. No result depends on the threads.

    Returns the answers and the points that only the model can decide: person, root, cost, bound, change.
    """
    from equieffort.recourse.solvers.branch_and_bound.arrays import Options
    from equieffort.recourse.solvers.branch_and_bound.room import make_answers, make_search
    from equieffort.recourse.solvers.kernels.everybody import solve_everybody

    arrays, people = oracle.of_people(matrix)
    n, count, compiled = len(matrix), len(oracle.arrays.problem.numeric), oracle.arrays.compiled
    answers = make_answers(n, count)
    options = Options(
        gap, 2.0**attempt, attempt == 0, 2**62 if nodes is None else int(nodes),
        np.inf if seconds is None else float(seconds), *oracle.budgets,
    )  # fmt: skip
    unlimited = options._replace(seconds=np.inf)

    def room(clock: Any, is_hurried: bool) -> tuple[Any, ...]:
        tools, own = oracle.tools(arrays, people), options if is_hurried else unlimited
        return make_search(arrays, tools, compiled, people, own, clock, answers, oracle.planes)

    asked = solve_everybody(oracle.search(), room, n, oracle.interpreted)
    return answers, np.concatenate([np.empty((0, 4 + count)), *asked])


def _ask(oracle: Oracle, matrix: Floats, asked: Floats, proposal: Proposal, answers: Any) -> None:
    """Let the model decide points where its own rounding decides."""
    rows = asked[:, 0].astype(np.intp)
    asked = asked[asked[:, 3] < proposal.cost[rows]]
    rows, roots = asked[:, 0].astype(np.intp), asked[:, 1].astype(np.intp)
    sets = [oracle.arrays.intervention_sets[root] for root in roots]
    for k in np.flatnonzero(_is_favourable(oracle, sets, matrix[rows], asked[:, 4:])).tolist():
        i = rows[k]
        proposal.bound[i] = min(proposal.bound[i], asked[k, 3])
        if asked[k, 2] < proposal.cost[i]:
            proposal.cost[i], answers.root[i], answers.change[i] = asked[k, 2], roots[k], asked[k, 4:]


def _is_favourable(oracle: Oracle, intervention_sets: list[InterventionSet], facts: Floats, change: Floats) -> Bools:
    """The model's own labels of actions."""
    problem, moved = oracle.arrays.problem, facts.copy()
    if len(facts) == 0:
        return np.zeros(0, dtype=bool)
    low, high = problem.action_box(facts)
    for i, interventions in enumerate(intervention_sets):
        moved[i] += interventions.effect @ change[i]
        levels = [(c, x) for c, x in zip(problem.categorical, interventions.levels, strict=True) if x >= 0]
        for c, level in levels:
            shift = interventions.shifts[c]
            moved[i] += shift[:, level] - shift[:, int(facts[i, c])]
        moved[i, list(problem.categorical)] = facts[i, list(problem.categorical)]
        for c, level in levels:
            moved[i, c] = level
        for j, k in enumerate(problem.numeric):
            if interventions.is_set[j]:
                moved[i, k] = min(max(facts[i, k] + change[i, j], low[i, j]), high[i, j])
    return problem.decision.is_favourable(problem.encoding.decode(moved, None)) & keeps_margin(problem, moved)
