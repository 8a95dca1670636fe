"""A solver under watch: what it proposes is kept as it was, before anything is done with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import Proposal, Solver
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, TIE
from equieffort.recourse.status import Infeasibility, Termination

KINDS = {"f": "floating-point numbers", "iu": "whole numbers", "b": "truth values"}
"""What the kinds of numpy's types are called."""


class Malformed(Exception):
    """A proposal that cannot be read, and why."""


@dataclass(frozen=True, eq=False)
class Asked:
    """One call of `propose`, and its answer."""

    matrix: Floats
    attempt: int
    only: int | None
    proposal: Proposal


class Watched(Solver):
    """Asks the solver, keeps a copy of each answer and refuses what cannot be read."""

    def __init__(self, solver: Solver) -> None:
        self.solver = solver
        self.gap = solver.gap
        self.certifies = solver.certifies
        self.asked: list[Asked] = []

    def supports(self, problem: RecourseProblem) -> str:
        """What the solver says."""
        return self.solver.supports(problem)

    def propose(
        self, problem: RecourseProblem, matrix: Floats, *, attempt: int = 0, only: int | None = None
    ) -> Proposal:
        """What the solver proposes, kept."""
        before = matrix.copy()
        proposal = self.solver.propose(problem, matrix, attempt=attempt, only=only)
        if not np.array_equal(before, matrix):
            raise Malformed("it writes into the table of people that it was given")
        _require_readable(problem, len(matrix), proposal)
        if (proposal.code == TIE).any() and self.intervention_sets(problem) == 0:
            raise Malformed("it proposes a tie, but `patterns` names no patterns to settle it by")
        arrays = {name: getattr(proposal, name).copy() for name in _shapes(problem, 0)}
        # Kept in the users' units, in which all is computed anew.
        arrays["delta"] = arrays["delta"] * problem.units[list(problem.numeric)]
        arrays["cost"], arrays["bound"] = (arrays[name] * problem.cost_unit for name in ("cost", "bound"))
        self.asked.append(Asked(before * problem.units, attempt, only, replace(proposal, **arrays)))
        return proposal

    def intervention_sets(self, problem: RecourseProblem) -> int:
        """What the solver says."""
        return self.solver.intervention_sets(problem)

    def why_infeasible(self, problem: RecourseProblem, person: Floats) -> Infeasibility:
        """What the solver says."""
        return self.solver.why_infeasible(problem, person)


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


def _require_readable(problem: RecourseProblem, n: int, proposal: Any) -> None:
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
    stray = proposal.code[~np.isin(proposal.code, (FOUND, TIE, NONE, LIMIT))]
    if len(stray):
        raise Malformed(f"its proposal cannot be read: code {stray[0]} is none of FOUND, TIE, NONE and LIMIT")
