"""Larger and larger steps over the decision boundary, as long as the model's own label stays what it was."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.solvers.base import FOUND, HOLDS, LABEL_STAYS, LIMIT, Batch, Proposal, Rows
from equieffort.recourse.status import Ending, Termination

ATTEMPTS = 21
"""How often an action whose label stays is tried again with a larger step over the boundary: for a linear score from
1e-12 of the numbers it sums, or less, to 1e-6."""


def step_over(batch: Batch, propose: Callable[[Floats, int], Proposal]) -> Proposal:
    """What `propose(people, attempt)` says at the first attempt at which the label turns.

    Each further attempt should step twice as far over the boundary; a bound is that of the last.
    """
    proposal = propose(batch.people, 0)
    rows = np.flatnonzero(proposal.code == FOUND)
    trial = proposal.take(rows)
    for attempt in range(1, ATTEMPTS + 1):
        outcome = batch.confirm(rows, trial)
        proposal.put(rows[outcome == HOLDS], trial.take(outcome == HOLDS))
        rows = rows[outcome == LABEL_STAYS]
        if len(rows) == 0 or attempt == ATTEMPTS:
            break
        trial = propose(batch.people[rows], attempt)
        is_found = trial.code == FOUND
        proposal.bound[rows], proposal.code[rows] = trial.bound, trial.code
        _note(proposal, rows[trial.code == LIMIT])
        rows, trial = rows[is_found], trial.take(is_found)
    proposal.code[rows] = LIMIT
    _note(proposal, rows)
    return proposal


def _note(proposal: Proposal, rows: Rows) -> None:
    proposal.notes |= dict.fromkeys(rows.tolist(), Termination(Ending.LABEL_STAYS))
