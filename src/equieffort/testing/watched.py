"""A solver under watch: what it proposes is kept as it was, before anything is done with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Batch, PreparedSolver, Proposal, Solver
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Rows
from equieffort.recourse.status import Infeasibility, Refusal, Termination

KINDS = {"f": "floating-point numbers", "iu": "whole numbers", "b": "truth values"}
"""What the kinds of numpy's types are called."""


class Malformed(Exception):
    """A proposal that cannot be read, and why."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Actions that a solver tried or, at the end, proposed; in the users' own units."""

    matrix: Floats
    proposal: Proposal
    is_final: bool


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

    def keep(self, problem: RecourseProblem, people: Floats, proposal: Proposal, *, is_final: bool) -> None:
        """A copy in the users' units, in which all is computed anew."""
        arrays = {name: getattr(proposal, name).copy() for name in _shapes(problem, 0)}
        arrays["delta"] = arrays["delta"] * problem.units[list(problem.numeric)]
        arrays["cost"], arrays["bound"] = (arrays[name] * problem.cost_unit for name in ("cost", "bound"))
        self.asked.append(Asked(people * problem.units, replace(proposal, **arrays), is_final))


class _WatchedPrepared(PreparedSolver):
    def __init__(self, watched: Watched, problem: RecourseProblem, prepared: PreparedSolver) -> None:
        self.watched, self.problem, self.prepared = watched, problem, prepared

    def propose(self, batch: Batch) -> Proposal:
        """What the solver proposes, kept."""
        before = batch.people.copy()
        proposal = self.prepared.propose(_WatchedBatch(self.watched, self.problem, batch))
        if not np.array_equal(before, batch.people):
            raise Malformed("it writes into the table of people that it was given")
        _require_readable(self.problem, len(before), proposal)
        self.watched.keep(self.problem, before, proposal, is_final=True)
        return proposal

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """What the solver says."""
        return self.prepared.infeasibility(people)


class _WatchedBatch(Batch):
    def __init__(self, watched: Watched, problem: RecourseProblem, batch: Batch) -> None:
        super().__init__(batch.people)
        self.watched, self.problem, self.batch = watched, problem, batch

    def confirm(self, rows: Rows, trial: Proposal) -> npt.NDArray[np.int8]:
        """What becomes of the trial, kept as it was."""
        _require_readable(self.problem, len(rows), trial, codes=False)
        self.watched.keep(self.problem, self.people[rows], trial, is_final=False)
        return self.batch.confirm(rows, trial)

    def is_proven(self, rows: Rows, proposal: Proposal, gap: float) -> Bools:
        """What `solve` says."""
        return self.batch.is_proven(rows, proposal, gap)


def _shapes(problem: RecourseProblem, n: int) -> dict[str, tuple[str, tuple[int, ...]]]:
    """For each array of a proposal its kind and shape."""
    return {
        "code": ("iu", (n,)),
        "cost": ("f", (n,)),
        "bound": ("f", (n,)),
        "intervention_mask": ("iu", (n,)),
        "delta": ("f", (n, len(problem.numeric))),
        "level": ("iu", (n, len(problem.categorical))),
        "vanishing": ("b", (n,)),
    }


def _require_readable(problem: RecourseProblem, n: int, proposal: Any, *, codes: bool = True) -> None:
    if not isinstance(proposal, Proposal):
        raise Malformed(f"propose gave a {type(proposal).__name__}, not a Proposal")
    for name, (kind, shape) in _shapes(problem, n).items():
        array: Any = getattr(proposal, name)
        if not isinstance(array, np.ndarray):
            raise Malformed(f"its proposal cannot be read: `{name}` is a {type(array).__name__}, not an array")
        if array.shape != shape:
            raise Malformed(f"its proposal cannot be read: `{name}` has shape {array.shape}, not {shape}")
        if array.dtype.kind not in kind:
            raise Malformed(f"its proposal cannot be read: `{name}` holds {array.dtype}, not {KINDS[kind]}")
    for row, note in proposal.notes.items():
        if not isinstance(note, Termination):
            raise Malformed(f"its note on row {row} is a {type(note).__name__}, not a Termination")
    stray = proposal.code[~np.isin(proposal.code, (FOUND, NONE, LIMIT))]
    if codes and len(stray):
        raise Malformed(f"its proposal cannot be read: code {stray[0]} is none of FOUND, NONE and LIMIT")
