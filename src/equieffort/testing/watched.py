"""A solver under watch: what it proposes is kept as it was, before anything is done with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Batch, PreparedSolver, Proposal, Solver
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, array_kinds, unreadable
from equieffort.recourse.status import Infeasibility, Refusal, Termination


class Malformed(Exception):
    """A proposal that cannot be read, and why."""


@dataclass(frozen=True, eq=False)
class Asked:
    """People and what a solver proposed for them, in the users' own units."""

    matrix: Floats
    proposal: Proposal


class Watched(Solver):
    """Asks the solver, keeps a copy of each answer and refuses what cannot be read."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.gap = solver.gap
        self.certifies = solver.certifies
        self.asked: list[Asked] = []

    def prepare(self, problem: RecourseProblem) -> PreparedSolver | Refusal:
        """What the solver prepares, watched."""
        prepared = self.solver.prepare(problem)
        return prepared if isinstance(prepared, Refusal) else _WatchedPrepared(self, problem, prepared)

    def keep(self, problem: RecourseProblem, people: Floats, proposal: Proposal) -> None:
        """A copy in the users' units, in which all is computed anew."""
        arrays = {name: getattr(proposal, name).copy() for name in array_kinds(problem, 0)}
        arrays["delta"] = arrays["delta"] * problem.units[list(problem.numeric)]
        arrays["cost"], arrays["bound"] = (arrays[name] * problem.cost_unit for name in ("cost", "bound"))
        self.asked.append(Asked(people * problem.units, replace(proposal, **arrays)))


class _WatchedPrepared(PreparedSolver):
    def __init__(self, watched: Watched, problem: RecourseProblem, prepared: PreparedSolver) -> None:
        self.watched, self.problem, self.prepared = watched, problem, prepared

    def propose(self, batch: Batch) -> Proposal:
        """What the solver proposes, kept."""
        before = batch.people.copy()
        proposal = self.prepared.propose(batch)
        if not np.array_equal(before, batch.people):
            raise Malformed("it writes into the table of people that it was given")
        _require_readable(self.problem, len(before), proposal)
        self.watched.keep(self.problem, before, proposal)
        return proposal

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """What the solver says."""
        return self.prepared.infeasibility(people)


def _require_readable(problem: RecourseProblem, n: int, proposal: Any) -> None:
    if not isinstance(proposal, Proposal):
        raise Malformed(f"propose gave a {type(proposal).__name__}, not a Proposal")
    if wrong := unreadable(problem, n, proposal):
        raise Malformed(f"its proposal cannot be read: {wrong}")
    for row, note in proposal.notes.items():
        if not isinstance(note, Termination):
            raise Malformed(f"its note on row {row} is a {type(note).__name__}, not a Termination")
    stray = proposal.code[~np.isin(proposal.code, (FOUND, NONE, LIMIT))]
    if len(stray):
        raise Malformed(f"its proposal cannot be read: code {stray[0]} is none of FOUND, NONE and LIMIT")
