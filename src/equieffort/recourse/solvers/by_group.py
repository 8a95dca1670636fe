"""Costs that differ by group: any solver, prepared for each group's own problem, answers for that group's people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import Batch, PreparedSolver, Proposal, Rows, Solver
from equieffort.recourse.solvers.max_actions import prepare
from equieffort.recourse.status import Infeasibility, Refusal
from equieffort.world.group_cost import GroupCost


def prepared_for(solver: Solver, problem: RecourseProblem) -> PreparedSolver | Refusal:
    """The solver prepared for a problem in scaled units; under a cost by group, for each group's."""
    if not isinstance(problem.cost, GroupCost):
        return prepare(solver, problem)
    each = []
    for one in problem.by_group:
        prepared = prepare(solver, one)
        if isinstance(prepared, Refusal):
            return prepared
        each.append(prepared)
    return PreparedByGroup(problem, tuple(each))


@dataclass(frozen=True, eq=False)
class PreparedByGroup(PreparedSolver):
    """One solver, prepared once for every group: what it proves for a group's people it proves for them here."""

    problem: RecourseProblem
    each: tuple[PreparedSolver, ...]

    @property
    def subproblems(self) -> int:  # type: ignore[override]
        """The most of any group."""
        return max((one.subproblems for one in self.each), default=0)

    def propose(self, batch: Batch) -> Proposal:
        """Group by group."""
        found = Proposal.empty(self.problem, len(batch.people))
        for prepared, rows in self._parts(batch.people):
            part = prepared.propose(PartOfBatch(batch, rows, self.problem))
            batch.check(len(rows), part)
            insert(found, rows, part)
        return found

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """Group by group."""
        found = [Infeasibility()] * len(people)
        for prepared, rows in self._parts(people):
            for row, one in zip(rows.tolist(), prepared.infeasibility(people[rows]), strict=True):
                found[row] = one
        return found

    def _parts(self, people: Floats) -> Iterator[tuple[PreparedSolver, Rows]]:
        codes = self.problem.cost_groups(people)
        assert codes is not None
        for code in np.unique(codes).tolist():
            yield self.each[code], np.flatnonzero(codes == code)


def insert(whole: Proposal, rows: Rows, part: Proposal) -> None:
    """Put a proposal for some of the people into one for all of them."""
    whole.put(rows, part)
    whole.code[rows], whole.bound[rows] = part.code, part.bound
    whole.notes.update({int(rows[row]): note for row, note in part.notes.items()})
    if part.rounding is not None:
        if whole.rounding is None:
            whole.rounding = np.zeros(len(whole.code))
        whole.rounding[rows] = part.rounding


class PartOfBatch(Batch):
    """Some people of a batch: what they try is tried there."""

    def __init__(self, batch: Batch, rows: Rows, problem: RecourseProblem) -> None:
        super().__init__(batch.people[rows])
        self.batch, self.rows, self.problem = batch, rows, problem

    def confirm(self, rows: Rows, trial: Proposal) -> npt.NDArray[np.int8]:
        """As the whole batch does."""
        return self.batch.confirm(self.rows[rows], trial)

    def check(self, n: int, proposal: Proposal) -> None:
        """As the whole batch does."""
        self.batch.check(n, proposal)

    def is_proven(self, rows: Rows, proposal: Proposal, gap: float) -> Bools:
        """As the whole batch does, of a proposal for all of its people."""
        whole = Proposal.empty(self.problem, len(self.batch.people))
        insert(whole, self.rows, proposal)
        return self.batch.is_proven(self.rows[rows], whole, gap)
