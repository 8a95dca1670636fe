"""People solved together: what a solver proposes is replayed apart from it, and only then believed.

Solvers and replay work in scaled units; the table gets the users' own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats, Missing
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.tolerances import STEPS, TOLERANCE, is_closed, tolerance
from equieffort.models.classifiers import View
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.roundings import FURTHEST, resolution, roundings
from equieffort.recourse.solvers import Proposal, Solver
from equieffort.recourse.solvers.base import ATTEMPTS, FOUND, LIMIT, NONE, TIE
from equieffort.recourse.status import Ending, Fault, Status, Termination
from equieffort.recourse.table import RecourseTable, action_costs, propagate, settings, with_columns
from equieffort.world.cost import LinearCost, PiecewiseCost

FINE, LABEL = 0, 1
"""No fault; and that of an action right in all but the model's own label: a larger step may do."""
FURTHER = 9
"""Internal: only a tie is left, to be settled."""

OURS = (Ending.MISSING, Ending.NOT_REPLAYED)
"""What only `solve` itself finds out."""
Faults = list[tuple[Fault, str]]
"""What can be wrong with actions: the fault, and the column or the rule it is about."""


@dataclass(eq=False)
class Chunk:
    """People solved together, so that memory stays bounded."""

    problem: RecourseProblem
    """In scaled units."""
    solver: Solver
    frame: pd.DataFrame

    def run(self, table: RecourseTable, start: int, missing: Missing) -> npt.NDArray[np.intp]:
        """Fill the table's rows for this chunk; returns who is outside the declared limits."""
        problem = self.problem
        everyone = problem.encoding.encode(self.frame)
        problem.encoding.check_whole(everyone, self.frame.index)
        favourable = problem.decision.is_favourable(self.frame)
        lacking = np.isnan(everyone).any(axis=1)
        self.rows = np.flatnonzero(~favourable & ~lacking)
        self.matrix = everyone[self.rows]
        for row in np.flatnonzero(~favourable & lacking).tolist():
            table.status[start + row] = Status.UNKNOWN
            table.bound[start + row] = 0.0
            table.notes[start + row] = Termination(Ending.MISSING)
        if len(self.rows):
            self._solve(table, start)
        return np.flatnonzero(problem.outside(everyone))

    def _solve(self, table: RecourseTable, start: int) -> None:
        proposal = self.solver.propose(self.problem, self.matrix)
        check_notes(self.problem, self.solver, proposal)
        status = np.full(len(self.rows), Status.INFEASIBLE, dtype=np.int8)
        pending = np.flatnonzero(proposal.code == FOUND)
        trial = proposal
        for attempt in range(ATTEMPTS):
            faults, kinds = self._replay(pending, trial, proposal)
            believed = faults == FINE
            status[pending[believed]] = self._judge(proposal, pending[believed])
            for k in np.flatnonzero(faults > LABEL).tolist():
                fault, subject = kinds[faults[k]]
                note = Termination(Ending.NOT_REPLAYED, fault=fault, subject=subject)
                self._unknown(table, start, status, int(pending[k]), note)
            pending = pending[faults == LABEL]
            if len(pending) == 0:
                break
            trial = self.solver.propose(self.problem, self.matrix[pending], attempt=attempt + 1)
            proposal.bound[pending] = trial.bound
            status[pending[trial.code == TIE]] = FURTHER
            for row in pending[trial.code == LIMIT].tolist():
                note = Termination(Ending.NOT_REPLAYED, fault=Fault.LABEL)
                self._unknown(table, start, status, row, note)
            pending, trial = pending[trial.code == FOUND], _take(trial, trial.code == FOUND)
        for row in pending.tolist():
            self._unknown(table, start, status, row, Termination(Ending.LABEL_STAYS))
        for row in np.flatnonzero(proposal.code == LIMIT).tolist():
            self._unknown(table, start, status, row, proposal.notes.get(row, Termination(Ending.GAVE_UP)))
        for row in np.flatnonzero(status == Status.FEASIBLE).tolist():
            if row in proposal.notes:
                table.notes[start + int(self.rows[row])] = proposal.notes[row]
        further = (proposal.code == TIE) | (status == FURTHER) | (status == Status.FEASIBLE)
        for row in np.flatnonzero(further).tolist() if self.solver.intervention_sets(self.problem) else ():
            status[row] = self._settle(row, proposal, Status(min(status[row], Status.UNKNOWN)))
            if status[row] == Status.UNKNOWN:
                self._unknown(table, start, status, row, Termination(Ending.TIE))
        proposal.bound[status == Status.INFEASIBLE] = np.inf
        self._write(table, start, status, proposal)

    def _judge(self, proposal: Proposal, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int8]:
        cost, bound = proposal.cost[rows], proposal.bound[rows]
        proven = is_closed(cost, bound, self.solver.gap, self._room(proposal, rows)) | proposal.vanishing[rows]
        return np.where(proven, Status.OPTIMAL, Status.FEASIBLE).astype(np.int8)

    def _room(self, proposal: Proposal, rows: npt.NDArray[np.intp]) -> Floats:
        """What of a cost rounding may leave above its bound: the solver's, that of the features that move, and that of
        the table's own types."""
        facts, change = self.matrix[rows], proposal.delta[rows]
        before = facts[:, list(self.problem.numeric)]
        room = np.zeros(len(rows))
        if isinstance(self.problem.cost, LinearCost | PiecewiseCost):
            # Of other costs it is not known that small changes cost little.
            nudge = np.where(change != 0, np.sign(change) * STEPS * tolerance(before + change), 0.0)
            room += self.problem.cost.evaluate(before, before + nudge)
        if proposal.rounding is not None:
            room += proposal.rounding[rows]
        if self.problem.grids:
            acts = settings(self.problem, facts, proposal.intervention_mask[rows], change, proposal.level[rows])
            room += resolution(self.problem, facts, *acts)
        return room

    def _settle(self, row: int, proposal: Proposal, status: Status) -> Status:
        """A best score equal to the threshold: the model's own label decides, intervention set by intervention set."""
        one = np.array([row])
        bound, had_action = np.inf, status == Status.FEASIBLE
        for interventions in range(self.solver.intervention_sets(self.problem)):
            trial = self.solver.propose(self.problem, self.matrix[one], attempt=1, only=interventions)
            code = trial.code[0]
            if code == NONE:
                continue
            if code != TIE:
                bound = min(bound, trial.bound[0])
                continue
            kept = _take(proposal, one)
            fault = int(self._replay(one, trial, proposal)[0][0])
            if fault == FINE and had_action and kept.cost[0] <= proposal.cost[row]:
                _put(proposal, one, kept)
            elif fault == FINE:
                had_action = True
            else:
                _put(proposal, one, kept)
                if fault != LABEL:
                    bound = min(bound, trial.bound[0])
            if fault == FINE:
                bound = min(bound, trial.bound[0])
        proposal.bound[row] = bound
        if had_action:
            return Status(int(self._judge(proposal, one)[0]))
        return Status.INFEASIBLE if bound == np.inf else Status.UNKNOWN

    def _replay(
        self, rows: npt.NDArray[np.intp], trial: Proposal, proposal: Proposal
    ) -> tuple[npt.NDArray[np.int16], Faults]:
        """Replay the trial's actions, as the caller's table can hold them; what holds goes into the proposal.

        Returns for each row FINE, or the position among the returned faults of what is wrong.
        """
        if len(rows) == 0:
            return np.empty(0, dtype=np.int16), []
        if trial is proposal:
            trial = _take(proposal, rows)
        ways = roundings(self.problem, self.matrix[rows], trial.delta)
        faults, kinds = self._replay_once(rows, _take(trial, slice(None)), proposal, next(ways))
        for delta in ways:
            left = np.flatnonzero(faults != FINE)
            if len(left) == 0:
                break
            again, _ = self._replay_once(rows[left], _take(trial, left), proposal, delta[left])
            faults[left[again <= LABEL]] = again[again <= LABEL]
        return faults, kinds

    def _replay_once(
        self, rows: npt.NDArray[np.intp], trial: Proposal, proposal: Proposal, delta: Floats
    ) -> tuple[npt.NDArray[np.int16], Faults]:
        """In plain numpy, apart from the solver."""
        problem = self.problem
        matrix = self.matrix[rows]
        picked, values = settings(problem, matrix, trial.intervention_mask, delta, trial.level)
        if problem.grids:
            delta = np.where(picked, values - matrix, 0.0)[:, list(problem.numeric)]
        room = resolution(problem, matrix, picked, values) if problem.grids else 0.0
        moved, unknown = propagate(problem, matrix, picked, values)
        faults, kinds = np.zeros(len(rows), dtype=np.int16), [(Fault.LABEL, ""), (Fault.LABEL, "")]

        def found(whom: Bools, fault: Fault, subject: str = "") -> None:
            if whom.any():
                faults[whom] = len(kinds)
                kinds.append((fault, subject))

        for j, k in enumerate(problem.numeric):
            off = np.abs(matrix[:, k] + delta[:, j] - values[:, k]) > problem.tolerance(k, values[:, k])
            if problem.is_integer[j]:
                off |= values[:, k] != np.rint(values[:, k])
            found(off & picked[:, k], Fault.VALUE, problem.names[k])
        for k in range(matrix.shape[1]):
            feature = problem.feature(k)
            if feature.role == "immutable" or feature.plausible is not None:
                low, high = problem.plausible(matrix, k)
                rounding = problem.tolerance(k, matrix[:, k])
                off = (moved[:, k] < low - rounding) | (moved[:, k] > high + rounding)
                found(off, Fault.RANGE, problem.names[k])
        for broken, rule in problem.rules.faults(matrix, moved):
            found(broken, Fault.RULE, rule)
        for node, whom in unknown.items():
            found(whom, Fault.EQUATION, node)
        cost = action_costs(problem, matrix, picked, values).sum(axis=1)
        found(~(np.abs(cost - trial.cost) <= 1e-6 * cost + TOLERANCE + FURTHEST * room), Fault.COST)
        fine = np.flatnonzero(faults == FINE)
        flips = self._flips(rows[fine], moved[fine], matrix[fine])
        faults[fine[~flips]] = LABEL
        good = faults == FINE
        trial.cost[good], trial.delta[good] = cost[good], delta[good]
        trial.intervention_mask[good] = self._needed(matrix, moved, picked, values, trial.intervention_mask)[good]
        _put(proposal, rows[good], _take(trial, good))
        return faults, kinds

    def _flips(self, rows: npt.NDArray[np.intp], moved: Floats, matrix: Floats) -> Bools:
        """The classifier's own answer to the counterfactual people."""
        problem = self.problem
        if len(rows) == 0:
            return np.zeros(0, dtype=bool)
        after = self.frame[list(problem.decision.features)].iloc[self.rows[rows]]
        changed = {}
        for name in problem.decision.features:
            k = problem.encoding.position(name)
            if not np.array_equal(moved[:, k], matrix[:, k]):
                changed[name] = problem.encoding.columns[k].decode(moved[:, k])
        answer = problem.decision.is_favourable(with_columns(after, changed))
        if problem.margin > 0 and isinstance(problem.view, View):
            nearly = problem.view.margins(moved) + problem.view.rounding_error(moved)
            answer &= problem.view.goals.met(nearly, problem.margin)
        return answer

    def _needed(self, matrix: Floats, moved: Floats, picked: Bools, values: Floats, mask: Any) -> Any:
        """The set without features that are kept at their fact although nothing would have moved them."""
        problem, kept = self.problem, mask.copy()
        nodes = set(problem.scm.graph.nodes)
        for b, k in enumerate(problem.acts):
            still = picked[:, k] & (values[:, k] == matrix[:, k])
            if problem.names[k] in nodes:
                for parent in problem.scm.graph.parents(problem.names[k]):
                    p = problem.encoding.position(parent)
                    still &= moved[:, p] == matrix[:, p]
            kept[still] &= ~(1 << b)
        return kept

    def _unknown(self, table: RecourseTable, start: int, status: Any, row: int, note: Termination) -> None:
        status[row] = Status.UNKNOWN
        table.notes[start + int(self.rows[row])] = note

    def _write(self, table: RecourseTable, start: int, status: npt.NDArray[np.int8], proposal: Proposal) -> None:
        acting = (status == Status.OPTIMAL) | (status == Status.FEASIBLE)
        rows = start + self.rows
        unit, units = self.problem.cost_unit, self.problem.units[list(self.problem.numeric)]
        table.status[rows] = status
        table.bound[rows] = unit * np.where(acting, np.minimum(proposal.bound, proposal.cost), proposal.bound)
        table.cost[rows[acting]] = unit * proposal.cost[acting]
        table.vanishing[rows] = proposal.vanishing & (status == Status.OPTIMAL)
        table.intervention_mask[rows[acting]] = proposal.intervention_mask[acting]
        table.delta[rows[acting]] = units * proposal.delta[acting]
        table.level[rows[acting]] = proposal.level[acting]
        unknown = np.flatnonzero(status == Status.UNKNOWN)
        most = self.problem.ceiling(self.matrix[unknown])
        table.ceilings.update(zip(rows[unknown].tolist(), (unit * most).tolist(), strict=True))


def check_notes(problem: RecourseProblem, solver: Solver, proposal: Proposal) -> None:
    """Refuse notes that are no facts: a sentence could be neither counted nor told to another audience."""
    for note in proposal.notes.values():
        check_instance(
            f"a note of {type(solver).__name__}.propose", note, Termination, "a Termination",
            fix="Give Proposal.notes facts from equieffort.recourse.status, such as Termination(Ending.WORK).",
        )  # fmt: skip
        if note.kind in OURS or (note.subject and note.subject not in problem.names):
            raise ParameterError(
                "PARAMETER",
                f"A note of {type(solver).__name__}.propose says {note.kind.value!r} of {note.subject!r}.",
                fix="Give one of the endings that a solver can know of, and the name of a column or none.",
            )


def _take(proposal: Proposal, rows: Any) -> Proposal:
    return Proposal(
        proposal.code[rows], proposal.cost[rows], proposal.bound[rows], proposal.intervention_mask[rows],
        proposal.delta[rows], proposal.level[rows], vanishing=proposal.vanishing[rows],
    )  # fmt: skip


def _put(proposal: Proposal, rows: Any, source: Proposal) -> None:
    proposal.cost[rows], proposal.intervention_mask[rows] = source.cost, source.intervention_mask
    proposal.delta[rows], proposal.level[rows] = source.delta, source.level
    proposal.vanishing[rows] = source.vanishing
