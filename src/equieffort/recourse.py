"""solve() -> RecourseTable: every person's recourse, each action replayed before it is believed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.classifiers import View
from equieffort.errors import ParameterError, many, warn
from equieffort.frames import Bools, Floats, Missing, join_sensitive, read_frame, require_columns, screen
from equieffort.groups import Groups
from equieffort.problem import TOLERANCE, RecourseProblem
from equieffort.solvers import Auto, Proposal, Solver, Status
from equieffort.solvers.base import FOUND, LIMIT, NONE, TIE
from equieffort.table import Live, RecourseTable, action_costs, propagate, settings, starts_outside, with_columns

CHUNK = 65_536
WATCHED = 8_192
"""People solved together when somebody watches the progress; results do not depend on it."""
ATTEMPTS = 21
"""Doublings of the step over the boundary: from 1e-12 of the score's scale to 1e-6."""


class Progress(Protocol):
    """Is told how far the work is."""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """`done` of `total` in a stage, and a remark."""


def solve(
    problem: RecourseProblem,
    X: Any,
    *,
    solver: Solver | Auto | None = None,
    sensitive_features: Any = None,
    missing: Missing = "error",
    progress: Progress | None = None,
) -> RecourseTable:
    """Solve every person's recourse problem.

    Parameters
    ----------
    problem
        What is allowed and what it costs.
    X
        The people; any eager table.
    solver
        How; by default chosen by `Auto`.
    missing
        What to do with missing values: "error"; "drop" leaves these people out; "model" lets the model decide on
        them, and the recourse of those it refuses is unknown.
    progress
        Called as progress("solving", done, total, note) before the first and after each part of the work.
    """
    frame = join_sensitive(
        read_frame(X, names=problem.decision.features), sensitive_features, problem.schema.sensitive_columns
    )
    needed = dict.fromkeys((*problem.names, *problem.schema.sensitive_columns))
    require_columns(frame, needed, why="The problem uses a column, but X")
    complete = screen(frame, needed, missing)
    if missing == "drop" and not complete.all():
        frame = _without_missing(problem, frame, complete)
    if not frame.index.is_unique:
        warn(
            "DATA_DUPLICATE_INDEX",
            f"The index of X has {many(int(frame.index.duplicated().sum()), 'label', 'labels')} a second time; "
            "positions are used instead.",
            fix="Give each person a label of their own, for instance X.reset_index(drop=True).",
        )
    groups = Groups.of(frame, problem.schema)
    chosen = Auto() if solver is None else solver
    engine = chosen.select(problem).solver if isinstance(chosen, Auto) else chosen
    require_support(engine, problem)
    n = len(frame)
    table = RecourseTable.blank(Live(problem, engine, frame), groups)
    outside = np.zeros(len(groups.labels), dtype=np.int64)
    size = CHUNK if progress is None else min(CHUNK, WATCHED)
    if progress is not None:
        progress("solving", 0, n)
    for start in range(0, n, size):
        part = slice(start, min(start + size, n))
        out = _Chunk(problem, engine, frame.iloc[part]).run(table, start, missing)
        outside += np.bincount(groups.codes[part][out], minlength=len(outside))
        if progress is not None:
            stuck = int((table.status[: part.stop] == Status.INFEASIBLE).sum())
            progress("solving", part.stop, n, f"{stuck:,} infeasible so far")
    _warn_about(table, outside)
    if not engine.certifies:
        _warn_heuristic(table, engine)
    return table


def require_support(solver: Solver, problem: RecourseProblem) -> None:
    """Refuse a solver that does not fit the problem, with its reason."""
    if obstacle := solver.supports(problem):
        raise ParameterError(
            "MODEL_NOT_LINEAR", f"{type(solver).__name__} cannot solve this. {obstacle}", fix="Use solver=Auto()."
        )


def solve_further(table: RecourseTable, rows: npt.NDArray[np.intp], *, solver: Solver | None = None) -> RecourseTable:
    """The table with some people solved again, by default with the same solver and larger limits.

    What was proven stays proven: of two actions the cheaper one is kept, of two bounds the higher one.
    """
    detail = table.detail
    if not isinstance(detail, Live):
        raise ParameterError(
            "AUDIT_FILE",
            "This audit was read from a file, which holds neither the model nor the equations.",
            fix="Run the audit again and solve further there.",
        )
    engine = detail.solver.harder() if solver is None else solver
    if obstacle := engine.supports(detail.problem):
        raise ParameterError(
            "MODEL_NOT_LINEAR", f"{type(engine).__name__} cannot solve this. {obstacle}", fix="Leave solver out."
        )
    groups = replace(table.groups, codes=table.groups.codes[rows])
    part = RecourseTable.blank(Live(detail.problem, engine, detail.data.iloc[rows]), groups)
    _Chunk(detail.problem, engine, part.data).run(part, 0, "model")
    return _merged(table, part, rows, engine.gap)


def _merged(table: RecourseTable, part: RecourseTable, rows: npt.NDArray[np.intp], gap: float) -> RecourseTable:
    arrays = {name: getattr(table, name).copy() for name in ("status", "cost", "bound", "chosen", "delta", "level")}
    notes, ceilings = dict(table.notes), dict(table.ceilings)
    for k, row in enumerate(rows.tolist()):
        bound = max(table.bound[row], part.bound[k])
        cheaper = part.has_action[k] and not (table.has_action[row] and table.cost[row] <= part.cost[k])
        if cheaper or (part.status[k] == Status.INFEASIBLE and not table.has_action[row]):
            for name, array in arrays.items():
                array[row] = getattr(part, name)[k]
        if k in part.notes:
            notes[row] = part.notes[k]
        if arrays["status"][row] in (Status.INFEASIBLE, Status.NOT_NEEDED):
            continue
        arrays["bound"][row] = bound
        if arrays["status"][row] != Status.UNKNOWN:
            cost = arrays["cost"][row]
            arrays["bound"][row] = min(bound, cost)
            proven = cost - bound <= max(gap, 1e-9 * cost)
            arrays["status"][row] = Status.OPTIMAL if proven else Status.FEASIBLE
            ceilings.pop(row, None)
        if arrays["status"][row] == Status.OPTIMAL:
            notes.pop(row, None)
    return replace(table, **arrays, notes=notes, ceilings=ceilings)


def _without_missing(problem: RecourseProblem, frame: pd.DataFrame, complete: pd.Series) -> pd.DataFrame:
    gone = frame.loc[~complete, list(problem.schema.sensitive_columns)]
    labels = [" & ".join("missing" if pd.isna(v) else str(v) for v in row) for row in gone.itertuples(index=False)]
    counts = ", ".join(f"{label}: {count}" for label, count in sorted(Counter(labels).items()))
    warn(
        "DATA_MISSING_VALUES",
        f"{len(gone)} of {len(frame)} people leave the audit because of missing values ({counts}).",
        fix="Compare their share between the groups: leaving them out may hide a difference.",
    )
    return frame[complete]


def _beyond(table: RecourseTable) -> str:
    """Which limits people start beyond, with how many people; empty if it is rules between features alone."""
    detail = table.detail
    counts: Counter[tuple[str, str]] = Counter()
    for start in range(0, len(table), CHUNK):
        facts = detail.facts(slice(start, start + CHUNK))
        for name, text, who in starts_outside(detail.schema, detail.encoding, facts):
            counts[name, text] += int(who.sum())
    told = [f"{name!r} {n:,} beyond the {text}" for (name, text), n in counts.items()]
    return f"{'; '.join(told)}." if told else ""


def _warn_about(table: RecourseTable, outside: npt.NDArray[np.int64]) -> None:
    if outside.sum():
        counts = ", ".join(f"{label}: {n}" for label, n in zip(table.groups.labels, outside.tolist(), strict=True))
        warn(
            "SCHEMA_OUT_OF_LIMITS",
            f"Outside the declared limits or rules: {many(int(outside.sum()), 'person', 'people')} ({counts}). "
            f"{_beyond(table)}".rstrip(),
            fix="Check them; for these people the limit is their own value, and a rule they break is not asked.",
        )
    if not (table.status == Status.NOT_NEEDED).any():
        warn(
            "OUTCOME_ALL_UNFAVOURABLE",
            f"All {len(table)} people are decided unfavourably.",
            fix="Check that `favourable` names the right label and that these are the model's own columns.",
        )
    unknown = int((table.status == Status.UNKNOWN).sum())
    if unknown:
        first = next(iter(table.notes.values()), "")
        warn(
            "RECOURSE_UNKNOWN",
            f"The recourse of {many(unknown, 'person', 'people')} is unknown. The first: {first}",
            fix="Read `reason` in recourse.frame(); rho and Phi are given as intervals.",
        )


def _warn_heuristic(table: RecourseTable, engine: Solver) -> None:
    found = int((table.status == Status.FEASIBLE).sum())
    if found:
        warn(
            "SOLVER_HEURISTIC",
            f"{type(engine).__name__} found an action for {many(found, 'person', 'people')}, without a proof that it "
            "is the cheapest.",
            fix="Use a model that another solver can read (docs/solvers.md), or see with audit.solve_further() whether "
            "more search changes the ratio; Criteria(certified=False) judges the estimate.",
        )


@dataclass(eq=False)
class _Chunk:
    """People solved together, so that memory stays bounded."""

    problem: RecourseProblem
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
            table.notes[start + row] = "A missing value: no counterfactual can be computed."
        if len(self.rows):
            self._solve(table, start)
        return np.flatnonzero(problem.outside(everyone))

    def _solve(self, table: RecourseTable, start: int) -> None:
        proposal = self.solver.propose(self.problem, self.matrix)
        status = np.full(len(self.rows), Status.INFEASIBLE, dtype=np.int8)
        pending = np.flatnonzero(proposal.code == FOUND)
        trial = proposal
        for attempt in range(ATTEMPTS):
            faults, words = self._replay(pending, trial, proposal)
            believed = faults == FINE
            status[pending[believed]] = self._judge(proposal, pending[believed])
            for k in np.flatnonzero(faults > LABEL).tolist():
                self._unknown(table, start, status, int(pending[k]), f"The action did not replay: {words[faults[k]]}.")
            pending = pending[faults == LABEL]
            if len(pending) == 0:
                break
            trial = self.solver.propose(self.problem, self.matrix[pending], attempt=attempt + 1)
            proposal.bound[pending] = trial.bound
            status[pending[trial.code == TIE]] = FURTHER
            for row in pending[trial.code == LIMIT].tolist():
                self._unknown(table, start, status, row, "The action's label stays, and no surer action was found.")
            pending, trial = pending[trial.code == FOUND], _take(trial, trial.code == FOUND)
        for row in pending.tolist():
            self._unknown(table, start, status, row, "The model's label does not follow its score near the boundary.")
        for row in np.flatnonzero(proposal.code == LIMIT).tolist():
            gave_up = "The solver gave up before it found or excluded an action."
            self._unknown(table, start, status, row, proposal.notes.get(row, gave_up))
        for row in np.flatnonzero(status == Status.FEASIBLE).tolist():
            if row in proposal.notes:
                table.notes[start + int(self.rows[row])] = proposal.notes[row]
        further = (proposal.code == TIE) | (status == FURTHER) | (status == Status.FEASIBLE)
        for row in np.flatnonzero(further).tolist() if self.solver.patterns(self.problem) else ():
            status[row] = self._settle(row, proposal, Status(min(status[row], Status.UNKNOWN)))
            if status[row] == Status.UNKNOWN:
                self._unknown(
                    table, start, status, row, "The best score is the threshold, and no answer there replays."
                )
        proposal.bound[status == Status.INFEASIBLE] = np.inf
        self._write(table, start, status, proposal)

    def _judge(self, proposal: Proposal, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int8]:
        cost, bound = proposal.cost[rows], proposal.bound[rows]
        proven = cost - bound <= np.maximum(self.solver.gap, 1e-9 * cost)
        return np.where(proven, Status.OPTIMAL, Status.FEASIBLE).astype(np.int8)

    def _settle(self, row: int, proposal: Proposal, status: Status) -> Status:
        """A best score equal to the threshold: the model's own label decides, pattern by pattern."""
        one = np.array([row])
        bound, had_action = np.inf, status == Status.FEASIBLE
        for pattern in range(self.solver.patterns(self.problem)):
            trial = self.solver.propose(self.problem, self.matrix[one], attempt=1, only=pattern)
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
    ) -> tuple[npt.NDArray[np.int16], list[str]]:
        """Replay the trial's actions in plain numpy, apart from the solver; what holds goes into the proposal.

        Returns for each row FINE, or the position among the returned words of what is wrong.
        """
        problem = self.problem
        if len(rows) == 0:
            return np.empty(0, dtype=np.int16), []
        if trial is proposal:
            trial = _take(proposal, rows) if len(rows) < len(proposal.code) else proposal
        matrix = self.matrix[rows] if len(rows) < len(self.matrix) else self.matrix
        picked, values = settings(problem, matrix, trial.chosen, trial.delta, trial.level)
        moved, unknown = propagate(problem, matrix, picked, values)
        faults, words = np.zeros(len(rows), dtype=np.int16), ["", "its label stays"]

        def found(whom: Bools, fault: str) -> None:
            if whom.any():
                faults[whom] = len(words)
                words.append(fault)

        for j, k in enumerate(problem.numeric):
            off = np.abs(matrix[:, k] + trial.delta[:, j] - values[:, k]) > TOLERANCE * (1 + np.abs(values[:, k]))
            if problem.is_integer[j]:
                off |= values[:, k] != np.rint(values[:, k])
            found(off & picked[:, k], f"the value of {problem.names[k]!r} is not allowed")
        for k in range(matrix.shape[1]):
            feature = problem.feature(k)
            if feature.role == "immutable" or feature.plausible is not None:
                low, high = problem.plausible(matrix, k)
                give = TOLERANCE * (1 + np.abs(matrix[:, k]))
                off = (moved[:, k] < low - give) | (moved[:, k] > high + give)
                found(off, f"{problem.names[k]!r} leaves its plausible range")
        for broken, rule in problem.rules.faults(matrix, moved):
            found(broken, f"it breaks the rule that {rule}")
        for node, whom in unknown.items():
            found(whom, f"{node!r} would follow, and no equation says how")
        cost = action_costs(problem, matrix, picked, values).sum(axis=1)
        found(~(np.abs(cost - trial.cost) <= 1e-6 * (1 + np.abs(cost))), "its cost comes out differently")
        fine = np.flatnonzero(faults == FINE)
        flips = self._flips(rows[fine], moved[fine], matrix[fine])
        faults[fine[~flips]] = LABEL
        good = faults == FINE
        trial.cost[good] = cost[good]
        trial.chosen[good] = self._needed(matrix, moved, picked, values, trial.chosen)[good]
        _put(proposal, rows[good], _take(trial, good))
        return faults, words

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
            nearly = problem.view.margins(moved) + problem.view.blur(moved)
            answer &= problem.view.goals.met(nearly, problem.margin)
        return answer

    def _needed(self, matrix: Floats, moved: Floats, picked: Bools, values: Floats, chosen: Any) -> Any:
        """The set without features that are kept at their fact although nothing would have moved them."""
        problem, kept = self.problem, chosen.copy()
        nodes = set(problem.scm.graph.nodes)
        for b, k in enumerate(problem.acts):
            still = picked[:, k] & (values[:, k] == matrix[:, k])
            if problem.names[k] in nodes:
                for parent in problem.scm.graph.parents(problem.names[k]):
                    p = problem.encoding.position(parent)
                    still &= moved[:, p] == matrix[:, p]
            kept[still] &= ~(1 << b)
        return kept

    def _unknown(self, table: RecourseTable, start: int, status: Any, row: int, note: str) -> None:
        status[row] = Status.UNKNOWN
        table.notes[start + int(self.rows[row])] = note

    def _write(self, table: RecourseTable, start: int, status: npt.NDArray[np.int8], proposal: Proposal) -> None:
        acting = (status == Status.OPTIMAL) | (status == Status.FEASIBLE)
        rows = start + self.rows
        table.status[rows] = status
        table.bound[rows] = np.where(acting, np.minimum(proposal.bound, proposal.cost), proposal.bound)
        table.cost[rows[acting]] = proposal.cost[acting]
        table.chosen[rows[acting]] = proposal.chosen[acting]
        table.delta[rows[acting]] = proposal.delta[acting]
        table.level[rows[acting]] = proposal.level[acting]
        unknown = np.flatnonzero(status == Status.UNKNOWN)
        most = self.problem.ceiling(self.matrix[unknown])
        table.ceilings.update(zip(rows[unknown].tolist(), most.tolist(), strict=True))


FINE, LABEL = 0, 1
"""No fault; and that of an action right in all but the model's own label: a larger step may do."""
FURTHER = 9
"""Internal: only a tie is left, to be settled."""


def _take(proposal: Proposal, rows: Any) -> Proposal:
    return Proposal(
        proposal.code[rows], proposal.cost[rows], proposal.bound[rows], proposal.chosen[rows], proposal.delta[rows],
        proposal.level[rows],
    )  # fmt: skip


def _put(proposal: Proposal, rows: Any, source: Proposal) -> None:
    proposal.cost[rows], proposal.chosen[rows] = source.cost, source.chosen
    proposal.delta[rows], proposal.level[rows] = source.delta, source.level
