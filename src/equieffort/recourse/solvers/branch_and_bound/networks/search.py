"""Branch and bound for networks: everybody's search, on threads, and its answers as a proposal.

`search_kernels` searches for one person over the arrays of `compiled_problem`.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from threading import Timer
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import is_closed
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Proposal
from equieffort.recourse.solvers.branch_and_bound.networks.compiled_problem import CompiledNetwork, NetworkBatch
from equieffort.recourse.solvers.endings import DONE, proven, termination
from equieffort.recourse.solvers.kernels.threads import pool
from equieffort.recourse.status import Ending, Termination

TOGETHER = 1024
"""People whose arrays are made together."""


def attempt_networks(
    problem: RecourseProblem,
    made: CompiledNetwork,
    people: Floats,
    attempt: int,
    *,
    gap: float,
    node_limit: int | None,
    time_limit: float | None,
) -> Proposal:
    """The cheapest action of each encoded person, as far as it is found within the limits."""
    proposal = Proposal.empty(problem, len(people))
    most = node_limit if node_limit is not None else np.iinfo(np.int64).max
    for first in range(0, len(people), TOGETHER):
        batch = NetworkBatch.of(problem, made, people[first : first + TOGETHER])
        if first == 0 and time_limit is not None:
            # Compiling takes longer than most limits of time, and counts against nobody's.
            _solve(
                batch, 0, 0, Proposal.empty(problem, len(people)), attempt, gap, 1, None, np.zeros(1, dtype=np.int64)
            )

        def one(i: int, stop: Any, batch: NetworkBatch = batch, first: int = first) -> None:
            _solve(batch, i, first + i, proposal, attempt, gap, most, time_limit, stop)

        _each(one, len(batch.matrix))
    proposal.state_vanishing(problem, people)
    return proposal


def _each(one: Any, count: int) -> None:
    """For everybody, on as many threads as numba may use; no result depends on it.

    The threads leave the main one free to hear Ctrl-C, which stops them at their next box.
    """
    stops = np.zeros((count, 1), dtype=np.int64)
    threads = pool()
    jobs = [threads.submit(one, i, stop) for i, stop in enumerate(stops)]
    try:
        for job in jobs:
            job.result()
    except BaseException:
        stops[:] = 1
        for job in jobs:
            job.cancel()
        wait(jobs)
        raise


def _solve(
    people: NetworkBatch,
    i: int,
    row: int,
    proposal: Proposal,
    attempt: int,
    gap: float,
    node_limit: int,
    time_limit: float | None,
    stop: Any,
) -> None:
    """Fill one person's row of the proposal."""
    from equieffort.recourse.solvers.branch_and_bound.networks.search_kernels import search

    made = people.made
    roots, which = people.roots(i)
    if len(which) == 0:
        # No way to act can be used at all; after an attempt that was one cannot be the case.
        proposal.code[row] = NONE if attempt == 0 else LIMIT
        return
    # A network without hidden layers is solved exactly: only rounding is left to forgive.
    inside = 0.9 * gap if len(made.view.layers) > 1 else min(0.9 * gap, 1e-10)
    change = np.zeros(len(people.problem.numeric))
    with _alarm(stop, time_limit):
        why, root, cost, bound, nodes = search(
            made.net,
            made.compiled,
            roots,
            people.prices(i),
            2.0**attempt,
            attempt == 0,
            inside,
            node_limit,
            stop,
            change,
        )
    proposal.bound[row] = bound
    if root >= 0:
        interventions = made.intervention_sets[which[root]]
        proposal.code[row], proposal.cost[row] = FOUND, cost
        proposal.intervention_mask[row], proposal.delta[row] = interventions.intervention_mask, change
        if len(people.problem.categorical):
            proposal.level[row] = interventions.levels
    else:
        is_proven = why == DONE and bound == np.inf and attempt == 0
        proposal.code[row] = NONE if is_proven else LIMIT
        if not is_proven and bound == np.inf:
            proposal.bound[row] = 0.0
    bound *= people.problem.cost_unit
    if why != DONE:
        proposal.notes[row] = termination(
            why, found=bool(root >= 0), bound=bound, nodes=node_limit, seconds=time_limit, work=nodes
        )
    elif root >= 0 and not is_closed(cost, proposal.bound[row], gap):
        proposal.notes[row] = Termination(Ending.ROUNDING, True, proven(bound), limit=made.view.relative_error)


@contextmanager
def _alarm(stop: Any, seconds: float | None) -> Iterator[None]:
    """The array's entry becomes 1 when time is up."""
    if seconds is None:
        yield
        return

    def ring() -> None:
        stop[0] = 1

    timer = Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
