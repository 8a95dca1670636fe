"""People solved together: what a solver proposes is replayed apart from it, and only then believed.

Solvers and replay work in scaled units; the table gets the users' own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.tolerances import REPLAYED, STEPS, TOLERANCE, is_closed, tolerance
from equieffort.recourse.counterfactuals import (
    action_costs,
    changes,
    faults,
    keeps_margin,
    propagate_as_stored,
    settings,
    with_columns,
)
from equieffort.recourse.lacking import Lacking
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.roundings import FURTHEST, resolution, roundings
from equieffort.recourse.solvers import Batch, PreparedSolver, Proposal, Solver
from equieffort.recourse.solvers.base import FOUND, HOLDS, LABEL_STAYS, NONE, WRONG, Rows, unreadable
from equieffort.recourse.status import LACKS, Ending, Fault, Status, Termination
from equieffort.recourse.table import RecourseTable

OURS = (*LACKS, Ending.UNDEFINED, Ending.NOT_REPLAYED)
"""What only `solve` itself finds out."""
Faults = list[tuple[Fault, str]]
"""What can be wrong with actions: the fault, and the column or the rule it is about."""


class ActionVerifier(Batch):
    """People solved together, so that memory stays bounded; what is proposed for them is replayed here."""

    def __init__(
        self, problem: RecourseProblem, prepared: PreparedSolver, frame: pd.DataFrame, lacking: Lacking
    ) -> None:
        super().__init__(np.empty((0, 0)))
        self.problem, self.solver, self.prepared, self.frame = problem, lacking.solver, prepared, frame
        """The problem is in scaled units."""
        self.lacking = lacking

    def run(self, table: RecourseTable, start: int) -> npt.NDArray[np.intp]:
        """Fill the table's rows for these people; returns who is outside the declared limits."""
        problem = self.problem
        everyone = problem.encoding.encode(self.frame)
        problem.encoding.check_whole(everyone, self.frame.index)
        refused = ~problem.decision.is_favourable(self.frame)
        for node, undefined in problem.undefined(everyone).items():
            ending = Termination(Ending.UNDEFINED, subject=node)
            _leave_open(table, start + np.flatnonzero(refused & undefined), ending)
            refused &= ~undefined
        patterns = self.lacking.patterns(everyone)
        complete = np.ones(len(everyone), dtype=bool)
        complete[[row for rows in patterns.values() for row in rows]] = False
        self._run_for(table, start, np.flatnonzero(refused & complete), everyone)
        for pattern, rows in patterns.items():
            whom = np.array(rows, dtype=np.intp)
            if not refused[whom].any():
                continue
            own = self.lacking.of(pattern, self.frame.iloc[whom])
            whom = whom[refused[whom]]
            if isinstance(own, Termination):
                _leave_open(table, start + whom, own)
            else:
                verifier = ActionVerifier(own.problem, own.prepared, self.frame, self.lacking)
                verifier._run_for(table, start, whom, everyone)
        return np.flatnonzero(problem.outside(everyone))

    def _run_for(self, table: RecourseTable, start: int, rows: Rows, everyone: Floats) -> None:
        """Fill the rows of some people, who lack nothing that this problem does not know of."""
        self.rows = rows
        self.people = self.problem.filled(everyone[rows])
        # A solver may write into what it is given; what it proposes is judged by the people themselves.
        self._facts = self.people.copy()
        if len(rows):
            self._solve(table, start)

    def part(self, rows: Rows, problem: RecourseProblem) -> ActionVerifier:
        """Some of these people, and another problem by which what is proposed for them is judged."""
        part = ActionVerifier(problem, self.prepared, self.frame, self.lacking)
        part.rows, part.people, part._facts = self.rows[rows], self.people[rows], self._facts[rows]
        part._held = Proposal.empty(problem, len(rows))
        return part

    def _solve(self, table: RecourseTable, start: int) -> None:
        self._held = Proposal.empty(self.problem, len(self.rows))
        proposal = self.prepared.propose(self)
        self.check(len(self.rows), proposal)
        check_notes(self.problem, self.solver, proposal)
        status = np.full(len(self.rows), Status.UNKNOWN, dtype=np.int8)
        status[proposal.code == NONE] = Status.INFEASIBLE
        for row in np.flatnonzero((proposal.code != FOUND) & (proposal.code != NONE)).tolist():
            self._note(table, start, row, proposal.notes.get(row, Termination(Ending.GAVE_UP)))
        found = np.flatnonzero(proposal.code == FOUND)
        believed = self._believed(table, start, found, proposal)
        proven = self.is_proven(believed, proposal, self.solver.gap)
        status[believed] = np.where(proven, Status.OPTIMAL, Status.FEASIBLE)
        for row in believed[~proven].tolist():
            if row in proposal.notes:
                self._note(table, start, row, proposal.notes[row])
        proposal.bound[status == Status.INFEASIBLE] = np.inf
        # Who is given up is not excluded, whatever bound a solver leaves there.
        proposal.bound[(status == Status.UNKNOWN) & ~np.isfinite(proposal.bound)] = 0.0
        self._write(table, start, status, proposal)

    def _believed(self, table: RecourseTable, start: int, rows: Rows, proposal: Proposal) -> Rows:
        """Whose action holds: what was replayed when the solver tried it, and what is replayed now."""
        said, held = proposal.seen(rows), self._held.seen(rows)
        sure = held.code == FOUND
        for name in ("cost", "intervention_mask", "delta", "level"):
            same = getattr(said, name) == getattr(held, name)
            sure &= same if same.ndim == 1 else same.all(axis=1)
        left = rows[~sure]
        trial = proposal.take(left)
        wrong, kinds = self._replay(left, trial)
        proposal.put(left, trial)
        for k in np.flatnonzero(wrong >= 0).tolist():
            fault, subject = kinds[wrong[k]]
            self._note(table, start, int(left[k]), Termination(Ending.NOT_REPLAYED, fault=fault, subject=subject))
        return np.sort(np.concatenate([rows[sure], left[wrong < 0]]))

    def confirm(self, rows: Rows, trial: Proposal) -> npt.NDArray[np.int8]:
        """Replay the trial's actions; what holds is kept, so that it need not be replayed again."""
        self.check(len(rows), trial)
        wrong, kinds = self._replay(rows, trial)
        held = rows[wrong < 0]
        self._held.put(held, trial.seen(np.flatnonzero(wrong < 0)))
        self._held.code[held] = FOUND
        stays = np.array([fault == Fault.LABEL for fault, _ in kinds], dtype=bool)
        found = np.full(len(rows), HOLDS, dtype=np.int8)
        found[wrong >= 0] = np.where(stays[wrong[wrong >= 0]], LABEL_STAYS, WRONG)
        return found

    def check(self, n: int, proposal: Proposal) -> None:
        """Refuse a proposal whose arrays are not what they must be: whole numbers for a mask pick other rows."""
        what = f"What {type(self.solver).__name__} proposes"
        fix = "Fill the arrays of Proposal.empty(problem, n) in place; equieffort.testing.check_solver checks the rest."
        if not isinstance(proposal, Proposal):
            raise ParameterError("PARAMETER", f"{what} is a {type(proposal).__name__}, not a Proposal.", fix=fix)
        if wrong := unreadable(self.problem, n, proposal):
            raise ParameterError("PARAMETER", f"{what} cannot be read: {wrong}.", fix=fix)

    def is_proven(self, rows: Rows, proposal: Proposal, gap: float) -> Bools:
        """Whose cost is no further above its bound than the gap, or rounding, allows."""
        cost, bound = proposal.cost[rows], proposal.bound[rows]
        proven = is_closed(cost, bound, gap) | proposal.vanishing[rows]
        # What rounding may leave only ever closes more, so that it is asked of few.
        left = np.flatnonzero(~proven)
        if len(left):
            proven[left] = is_closed(cost[left], bound[left], gap, self._room(proposal, rows[left]))
        return proven

    def _room(self, proposal: Proposal, rows: npt.NDArray[np.intp]) -> Floats:
        """What of a cost rounding may leave above its bound: the solver's, that of the features that move, and that of
        the table's own types."""
        facts, change = self._facts[rows], proposal.delta[rows]
        before = facts[:, list(self.problem.numeric)]
        room = np.zeros(len(rows))
        if self.problem.cost.is_continuous:
            nudge = np.where(change != 0, np.sign(change) * STEPS * tolerance(before + change), 0.0)
            room += self.problem.cost_parts(facts, before + nudge).sum(axis=1)
        if proposal.rounding is not None:
            room += proposal.rounding[rows]
        if self.problem.grids:
            acts = settings(self.problem, facts, proposal.intervention_mask[rows], change, proposal.level[rows])
            room += resolution(self.problem, facts, *acts)
        return room

    def _replay(self, rows: Rows, trial: Proposal) -> tuple[npt.NDArray[np.int16], Faults]:
        """Replay the trial's actions, as the caller's table can hold them; what holds is put into the trial.

        Returns for each row -1, or the position among the returned faults of what is wrong.
        """
        if len(rows) == 0:
            return np.empty(0, dtype=np.int16), []
        changes = roundings(self.problem, self._facts[rows], trial.delta)
        wrong, kinds = self._replay_once(rows, trial, next(changes))
        for delta in changes:
            left = np.flatnonzero(wrong >= 0)
            if len(left) == 0:
                break
            part = trial.take(left)
            again, _ = self._replay_once(rows[left], part, delta[left])
            trial.put(left, part)
            # A fault other than the label may be the rounding's own: the first one stands.
            wrong[left[again <= 0]] = again[again <= 0]
        return wrong, kinds

    def _replay_once(self, rows: Rows, trial: Proposal, delta: Floats) -> tuple[npt.NDArray[np.int16], Faults]:
        """In plain numpy, apart from the solver."""
        problem = self.problem
        facts = self._facts[rows]
        picked, values = settings(problem, facts, trial.intervention_mask, delta, trial.level)
        if problem.grids:
            delta = np.where(picked, values - facts, 0.0)[:, list(problem.numeric)]
        room = resolution(problem, facts, picked, values) if problem.grids else 0.0
        moved, unknown = propagate_as_stored(problem, facts, picked, values)
        wrong, kinds = np.full(len(rows), -1, dtype=np.int16), [(Fault.LABEL, "")]

        def note(whom: Bools, fault: Fault, subject: str = "") -> None:
            if whom.any():
                wrong[whom] = len(kinds)
                kinds.append((fault, subject))

        for j, k in enumerate(problem.numeric):
            off = np.abs(facts[:, k] + delta[:, j] - values[:, k]) > problem.tolerance(k, values[:, k])
            if problem.is_integer[j]:
                off |= values[:, k] != np.rint(values[:, k])
            note(off & picked[:, k], Fault.VALUE, problem.names[k])
        for k in problem.held.intersection(problem.categorical):
            note(picked[:, k] & (values[:, k] != facts[:, k]), Fault.VALUE, problem.names[k])
        if problem.max_actions is not None:
            note(changes(problem, facts, picked, values).sum(axis=1) > problem.max_actions, Fault.ACTIONS)
        for k, prices in zip(problem.categorical, problem.level_prices, strict=True):
            # An infinite cost would agree with any other.
            note(picked[:, k] & ~prices.allows(facts[:, k], values[:, k]), Fault.VALUE, problem.names[k])
        for fault in faults(problem, facts, moved, unknown):
            note(*fault)
        cost = action_costs(problem, facts, picked, values).sum(axis=1)
        note(~(np.abs(cost - trial.cost) <= REPLAYED * cost + TOLERANCE + FURTHEST * room), Fault.COST)
        fine = np.flatnonzero(wrong < 0)
        wrong[fine[~self._flips(rows[fine], moved[fine], facts[fine])]] = 0
        good = wrong < 0
        trial.cost[good], trial.delta[good] = cost[good], delta[good]
        trial.intervention_mask[good] = self._needed(facts, moved, picked, values, trial.intervention_mask)[good]
        return wrong, kinds

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
        return problem.decision.is_favourable(with_columns(after, changed)) & keeps_margin(problem, moved)

    def _needed(self, matrix: Floats, moved: Floats, picked: Bools, values: Floats, mask: Bools) -> Bools:
        """The set without features that are kept at their fact although nothing would have moved them."""
        problem, kept = self.problem, mask.copy()
        nodes = set(problem.scm.graph.nodes)
        for b, k in enumerate(problem.acts):
            still = picked[:, k] & (values[:, k] == matrix[:, k])
            if problem.names[k] in nodes:
                for parent in problem.scm.graph.parents(problem.names[k]):
                    p = problem.encoding.position(parent)
                    still &= moved[:, p] == matrix[:, p]
            kept[still, b] = False
        return kept

    def _note(self, table: RecourseTable, start: int, row: int, note: Termination) -> None:
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
        most = self.problem.ceiling(self._facts[unknown])
        table.ceilings.update(zip(rows[unknown].tolist(), (unit * most).tolist(), strict=True))


def _leave_open(table: RecourseTable, rows: Rows, why: Termination) -> None:
    """Of these people nothing is known."""
    table.status[rows], table.bound[rows] = Status.UNKNOWN, 0.0
    table.notes.update(dict.fromkeys(rows.tolist(), why))


def check_notes(problem: RecourseProblem, solver: Solver, proposal: Proposal) -> None:
    """Refuse notes that are no facts: a sentence could be neither counted nor told to another audience."""
    for note in proposal.notes.values():
        check_instance(
            f"a note of {type(solver).__name__}.propose", note, Termination, "a Termination",
            fix="Give Proposal.notes facts from ee.solvers, such as Termination(Ending.WORK).",
        )  # fmt: skip
        if note.kind in OURS or (note.subject and note.subject not in problem.names):
            raise ParameterError(
                "PARAMETER",
                f"A note of {type(solver).__name__}.propose says {note.kind.value!r} of {note.subject!r}.",
                fix="Give one of the endings that a solver can know of, and the name of a column or none.",
            )
