"""Ties: where the best score is the threshold up to rounding, the model's own label decides, one set of interventions
after another."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.solvers.base import FOUND, HOLDS, LABEL_STAYS, LIMIT, NONE, TIE, Batch, Proposal
from equieffort.recourse.status import Ending, Termination

Ask = Callable[[Floats, int], Proposal]
"""Asks about one set of interventions, by its number, a small step beyond the boundary."""


def settle(ask: Ask, sets: int, gap: float, batch: Batch, proposal: Proposal) -> None:
    """Try the ties of whoever has nothing else, or an action that a tie may undercut."""
    found = np.flatnonzero(proposal.code == FOUND)
    undercut = found[~batch.is_proven(found, proposal, gap)]
    for row in np.sort(np.concatenate([undercut, np.flatnonzero(proposal.code == TIE)])).tolist():
        _settle_one(ask, sets, batch, proposal, row)


def _settle_one(ask: Ask, sets: int, batch: Batch, proposal: Proposal, row: int) -> None:
    one = np.array([row])
    has_action, bound = proposal.code[row] == FOUND, np.inf
    for number in range(sets):
        trial = ask(batch.people[one], number)
        code = trial.code[0]
        if code == NONE:
            continue
        outcome = batch.confirm(one, trial)[0] if code == TIE else None
        if outcome == HOLDS and not (has_action and proposal.cost[row] <= trial.cost[0]):
            proposal.put(one, trial)
            if proposal.rounding is not None:
                # A tie reaches the boundary but for rounding, and so does its bound.
                proposal.rounding[row] = max(float(trial.cost[0] - trial.bound[0]), 0.0)
        has_action = has_action or outcome == HOLDS
        if outcome != LABEL_STAYS:
            bound = min(bound, trial.bound[0])
    proposal.bound[row] = bound
    proposal.code[row] = FOUND if has_action else NONE if bound == np.inf else LIMIT
    if proposal.code[row] == LIMIT:
        proposal.notes[row] = Termination(Ending.TIE)
