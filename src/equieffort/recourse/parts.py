"""Some of the people solved apart from the others: what a worker is sent, and the part of the table it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats, number
from equieffort.errors import CostError, many
from equieffort.foundations.tolerances import LARGEST
from equieffort.foundations.workers import Job, Ready
from equieffort.recourse.lacking import Lacking
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers import PreparedSolver, Solver
from equieffort.recourse.solvers.by_group import prepared_for
from equieffort.recourse.status import Infeasibility, Refusal, Status, Termination
from equieffort.recourse.table import STORED, RecourseTable, SolvedSource
from equieffort.recourse.verification import ActionVerifier
from equieffort.world.groups import Groups
from equieffort.world.opponents import Rest


@dataclass(frozen=True, eq=False)
class SolvedPart:
    """What is known of some people's recourse; rows count from the first of them."""

    status: npt.NDArray[np.int8]
    cost: Floats
    bound: Floats
    intervention_mask: Bools
    delta: Floats
    level: npt.NDArray[np.int16]
    vanishing: Bools
    outside: Bools
    """Who starts outside the declared limits."""
    notes: Mapping[int, Termination] = field(default_factory=dict)
    ceilings: Mapping[int, float] = field(default_factory=dict)
    reasons: Mapping[int, Infeasibility] = field(default_factory=dict)
    """Of infeasible people, where that was asked for too."""

    def __len__(self) -> int:
        return len(self.status)

    def put_into(self, table: RecourseTable, start: int) -> None:
        """Fill the rows of a table from `start` on."""
        rows = slice(start, start + len(self))
        for name in STORED:
            getattr(table, name)[rows] = getattr(self, name)
        table.notes.update({start + row: note for row, note in self.notes.items()})
        table.ceilings.update({start + row: most for row, most in self.ceilings.items()})
        if self.reasons and isinstance(table.source, SolvedSource):
            table.source.known.update({start + row: fact for row, fact in self.reasons.items()})


@dataclass(frozen=True, eq=False)
class SolveJob(Job):
    """A problem and the solver for it. What is fixed (groups, levels, scales, types) was fixed for all people."""

    problem: RecourseProblem
    solver: Solver
    reasons: bool = False
    """Whether what stands in the way of infeasible people is asked too, which takes about as long as solving them."""
    reader: Callable[[Any], pd.DataFrame] | None = None
    """Makes people of what a worker is given, where these are not the people themselves."""

    def without_people(self) -> SolveJob:
        """Without those whom equations were learned from: nobody is solved by them, and they need not travel."""
        return replace(self, problem=replace(self.problem, scm=self.problem.scm.without_people()))

    def ready(self) -> PartSolver:
        """Prepared once a thread."""
        prepared = prepared_for(self.solver, self.problem.scaled)
        # The same solver was prepared for the same problem before.
        assert not isinstance(prepared, Refusal)
        return PartSolver(self, prepared, Lacking(self.problem, self.solver))

    def parts(self) -> dict[str, Any]:
        """By the names that a reader knows."""
        return {
            "the model": self.problem.decision.classifier,
            "the solver": self.solver,
            "the cost": self.problem.cost,
            "the causal model": self.problem.scm,
        }


@dataclass(frozen=True, eq=False)
class PartSolver(Ready):
    """Solves one part of the people after the other."""

    job: SolveJob
    prepared: PreparedSolver
    lacking: Lacking

    def do(self, task: Any) -> SolvedPart:
        """The people, or where they are, solved."""
        people = task if self.job.reader is None else self.job.reader(task)
        return self.solve(people)[0]

    def solve(self, people: pd.DataFrame) -> tuple[SolvedPart, RecourseTable]:
        """The part, and the table it comes from."""
        source = SolvedSource(self.job.problem, self.job.solver, self.prepared, people, self.lacking)
        table = RecourseTable.blank(source, ungrouped(len(people)))
        verifier = ActionVerifier(self.job.problem.scaled, self.prepared, people, self.lacking)
        outside = np.zeros(len(people), dtype=bool)
        outside[verifier.run(table, 0)] = True
        reasons: dict[int, Infeasibility] = {}
        if self.job.reasons:
            stuck = np.flatnonzero(table.status == Status.INFEASIBLE).tolist()
            source.reasons(table, stuck)
            reasons = dict(source.known)
        arrays = {name: getattr(table, name) for name in STORED}
        return SolvedPart(**arrays, outside=outside, notes=table.notes, ceilings=table.ceilings, reasons=reasons), table


def ungrouped(n: int) -> Groups:
    """People of whom it does not matter here to which group they belong."""
    return Groups(("",), np.zeros(n, dtype=np.int16), (0,), Rest())


def check_efforts(table: RecourseTable, rows: slice) -> None:
    """Refuse efforts that no mean or spread can be computed of: limits or thresholds far beyond what anybody has."""
    # Of these rows alone: they are asked part by part. Who has no action has no cost, which is not larger.
    beyond = table.cost[rows] > LARGEST
    if beyond.any():
        first = int(beyond.argmax())
        raise CostError(
            "COST_SIZE",
            f"The effort of {many(int(beyond.sum()), 'person', 'people')} is beyond {LARGEST:g}. The first: "
            f"{table.data.index[rows][first]!r}, {number(float(table.cost[rows][first]))}.",
            fix="Choose smaller weights or larger scales, or limit how far the features may go (lower, upper).",
        )


def needed_columns(problem: RecourseProblem) -> list[str]:
    """What of a table of people a worker needs."""
    return list(dict.fromkeys((*problem.names, *problem.decision.features)))
