"""Larger and larger steps over the decision boundary, as long as the model's own label stays what it was."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Generic, Self, TypeVar

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.problem import RecourseProblem, ViewT
from equieffort.recourse.solvers.base import (
    FOUND,
    HOLDS,
    LABEL_STAYS,
    LIMIT,
    Batch,
    PreparedSolver,
    Proposal,
    Rows,
    Solver,
    check_count,
    check_gap,
    check_seconds,
)
from equieffort.recourse.solvers.infeasibility import Relaxations
from equieffort.recourse.status import Ending, Infeasibility, Termination

ATTEMPTS = 21
"""How often an action whose label stays is tried again with a larger step over the boundary: for a linear score from
1e-12 of the numbers it sums, or less, to 1e-6."""


@dataclass(frozen=True)
class LimitedSolver(Solver):
    """A branch and bound that may be given up, person by person."""

    gap: float = 1e-6
    time_limit: float | None = 10.0
    node_limit: int | None = 200_000

    def __post_init__(self) -> None:
        check_gap(self.gap, "a number, 0 or more", lambda gap: gap >= 0, "Give 0 or a small number such as 1e-6.")
        check_seconds(self.time_limit, optional=True)
        check_count("node_limit", self.node_limit, optional=True)

    def harder(self) -> Self:
        """Ten times the seconds and the nodes."""
        seconds = None if self.time_limit is None else 10 * self.time_limit
        return replace(self, time_limit=seconds, node_limit=None if self.node_limit is None else 10 * self.node_limit)


SolverT = TypeVar("SolverT", bound=Solver)


@dataclass(frozen=True, eq=False)
class SteppingSolver(PreparedSolver, Generic[SolverT, ViewT]):
    """A search of one problem within a solver's limits; limits in somebody's way are found by leaving them out."""

    problem: RecourseProblem[ViewT]
    limits: SolverT

    most_alone: ClassVar[int | None] = None
    """With more limits than that they are not left out one by one."""

    @abstractmethod
    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """What is found and proven for people, so many steps over the boundary."""

    @abstractmethod
    def quick(self) -> Solver:
        """The solver that is asked, without some of the limits, whether there is any action at all."""

    @cached_property
    def relaxations(self) -> Relaxations:
        """What becomes of the problem without some of its limits."""
        return Relaxations(self.problem, self.quick(), self.most_alone)

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action of each person, or what was found and proven within the limits."""
        return step_over(batch, self.attempt)

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """Which limits or rules would have to go, for many people at once."""
        return self.relaxations.infeasibility(people)


def step_over(batch: Batch, propose: Callable[[Floats, int], Proposal]) -> Proposal:
    """What `propose(people, attempt)` says at the first attempt at which the label turns.

    Each further attempt should step twice as far over the boundary; a bound is that of the last.
    """
    proposal = propose(batch.people, 0)
    batch.check(len(batch.people), proposal)
    rows = np.flatnonzero(proposal.code == FOUND)
    trial = proposal.take(rows)
    for attempt in range(1, ATTEMPTS + 1):
        outcome = batch.confirm(rows, trial)
        holds = np.flatnonzero(outcome == HOLDS)
        proposal.put(rows[holds], trial.seen(holds))
        rows = rows[outcome == LABEL_STAYS]
        if len(rows) == 0 or attempt == ATTEMPTS:
            break
        trial = propose(batch.people[rows], attempt)
        batch.check(len(rows), trial)
        is_found = trial.code == FOUND
        proposal.bound[rows], proposal.code[rows] = trial.bound, trial.code
        _note(proposal, rows[trial.code == LIMIT])
        rows, trial = rows[is_found], trial.take(is_found)
    proposal.code[rows] = LIMIT
    _note(proposal, rows)
    return proposal


def _note(proposal: Proposal, rows: Rows) -> None:
    proposal.notes |= dict.fromkeys(rows.tolist(), Termination(Ending.LABEL_STAYS))
