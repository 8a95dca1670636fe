"""solve() -> RecourseTable: every person's recourse, each action replayed before it is believed."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Missing, number
from equieffort.errors import CostError, EquieffortError, ParameterError, SchemaError, Setting, label, many, warn
from equieffort.foundations.arguments import check_instance
from equieffort.foundations.dealing import Dealing, Span
from equieffort.foundations.log import log, stage
from equieffort.foundations.progress import Progress, Watched, watcher
from equieffort.foundations.tolerances import LARGEST, is_closed
from equieffort.foundations.workers import Crew, Shared, crew
from equieffort.models.classifiers import BlackBox
from equieffort.recourse.checkpoints import Checkpoint, OpenCheckpoint
from equieffort.recourse.lacking import Lacking
from equieffort.recourse.limits import Limit
from equieffort.recourse.parts import PartSolver, SolvedPart, SolveJob, needed_columns
from equieffort.recourse.people import People
from equieffort.recourse.problem import RecourseProblem, check_problem
from equieffort.recourse.solvers import Auto, Choice, Solver
from equieffort.recourse.solvers.by_group import prepared_for
from equieffort.recourse.status import Ground, Grounds, Refusal, Status, Why
from equieffort.recourse.table import STORED, RecourseTable, SolvedSource, starts_outside
from equieffort.recourse.verification import ActionVerifier
from equieffort.words.choices import refusal_text
from equieffort.words.limits import limit_text
from equieffort.words.reasons import told

CALLERS = Grounds(Ground.CALLER)
"""Of a choice that is the caller's own."""
CHUNK = 65_536


def solve(
    problem: RecourseProblem,
    X: Any,
    *,
    solver: Solver | Auto | Choice | None = None,
    sensitive_features: Any = None,
    missing: Missing = "error",
    progress: Watched = None,
    executor: Executor | None = None,
    n_jobs: int | None = None,
    checkpoint: Checkpoint | None = None,
) -> RecourseTable:
    """Solve every person's recourse problem.

    Parameters
    ----------
    problem
        What is allowed and what it costs.
    X
        The people; any eager table, or `People` that were read from one.
    solver
        How; by default chosen by `Auto`. A choice that it has made for this problem is not made again.
    missing
        What to do with missing values: "error"; "drop" leaves these people out; "model" lets the model decide on
        them; the recourse of those it refuses is known where what it makes of a missing value is the same whatever
        they do, as behind an imputer, and unknown with its reason elsewhere.
    progress
        True for a bar, False for none, or a function, called as progress("solving", done, total, note) before the first
        and after each part of the work. By default a bar in notebooks.
    executor
        Who works: any `concurrent.futures.Executor` (threads, processes, `Client.get_executor()` of Dask). The result
        is the same to the bit, unless a `time_limit` ends somebody's search.
    n_jobs
        Short for so many processes on this machine; -1 is one a processor.
    checkpoint
        Where finished parts are kept, so that a run that is broken off can go on: `ee.Checkpoint(folder)`.
    """
    check_problem(problem)
    check_solver(solver)
    watching = watcher(progress)
    workers = crew(executor, n_jobs)
    check_instance("checkpoint", checkpoint, Checkpoint, "an ee.Checkpoint(folder)", optional=True)
    people = People.of(problem, X, sensitive_features=sensitive_features, missing=missing, alone=True)
    problem, frame, groups = people.problem, people.frame, people.groups
    choice = chosen_for(problem, solver)
    n = len(frame)
    lacking = Lacking(problem, choice.solver)
    table = RecourseTable.blank(SolvedSource(problem, choice.solver, choice.prepared, frame, lacking), groups)
    log.info("Solver for %d people: %s. %s", n, choice.solver, choice.reason)
    # What stands in people's way takes as long as solving them: who shares the work, or keeps it, does that at once.
    asked = workers is not None or checkpoint is not None
    job = SolveJob(problem, choice.solver, asked)
    with stage(f"Solving {n:,} people"):
        filling = _Filling(table, PartSolver(job, choice.prepared, lacking), watching)
        filling.run(workers, checkpoint)
    warn_of_table(table, filling.outside)
    if not choice.solver.certifies:
        _warn_heuristic(table, choice.solver)
    return table


class _Filling:
    """A table that is filled in parts, whoever solves them and in whatever order."""

    def __init__(self, table: RecourseTable, here: PartSolver, watching: Progress | None) -> None:
        self.table, self.here, self.watching = table, here, watching
        self.outside = np.zeros(len(table.groups.labels), dtype=np.int64)
        """By group, how many start outside the declared limits."""
        self.people = table.data[needed_columns(here.job.problem)]
        self.done = self.stuck = 0
        self.kept: OpenCheckpoint | None = None

    def run(self, workers: Crew | None, checkpoint: Checkpoint | None) -> None:
        """Solve whoever no checkpoint holds."""
        n, job = len(self.table), self.here.job.without_people()
        self._tell()
        left: list[Span] = [(0, n)]
        if checkpoint is not None:
            self.kept = checkpoint.open(job, self.people)
            left = self.kept.restore(n, self._put)
            self._tell()
        Dealing(Shared(job), self.here, workers, self._ask, self._take, self._label).run(left)

    def _ask(self, start: int, stop: int) -> pd.DataFrame:
        return self.people.iloc[start:stop]

    def _label(self, row: int) -> str:
        return label(self.table.index[row])

    def _take(self, start: int, stop: int, part: SolvedPart) -> None:
        self._put(start, part)
        if self.kept is not None:
            self.kept.keep(start, part)
        self._tell()

    def _put(self, start: int, part: SolvedPart) -> None:
        part.put_into(self.table, start)
        rows = slice(start, start + len(part))
        _check_efforts(self.table, rows)
        groups = self.table.groups.codes[rows][part.outside]
        self.outside += np.bincount(groups, minlength=len(self.outside))
        self.done += len(part)
        self.stuck += int((part.status == Status.INFEASIBLE).sum())

    def _tell(self) -> None:
        if self.watching is not None:
            note = f"{self.stuck:,} infeasible so far" if self.done else ""
            self.watching("solving", self.done, len(self.table), *([note] if note else []))


def _check_efforts(table: RecourseTable, rows: slice) -> None:
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


def check_solver(solver: Any) -> None:
    """Refuse what does not solve."""
    takes = "a solver such as Auto(), LinearExact(), BranchAndBound() or Milp()"
    check_instance("solver", solver, (Solver, Auto, Choice), takes, optional=True)


def chosen_for(problem: RecourseProblem, solver: Solver | Auto | Choice | None) -> Choice:
    """The solver, prepared for the problem; refuses one that does not fit, with its reason."""
    if isinstance(solver, Choice) and solver.is_for(problem):
        return solver
    if solver is None or isinstance(solver, Auto):
        return (solver or Auto()).select(problem)
    engine = solver.solver if isinstance(solver, Choice) else solver
    prepared = prepared_for(engine, problem.scaled)
    if isinstance(prepared, Refusal) and isinstance(solver, Choice) and solver.grounds != CALLERS:
        # Chosen for another problem, perhaps with another cost; here another one fits.
        return Auto().select(problem)
    if isinstance(prepared, Refusal):
        raise _unfit(engine, prepared)
    return Choice(engine, CALLERS, prepared, problem)


def _unfit(engine: Solver, refusal: Refusal) -> EquieffortError:
    """The caller's own solver does not fit."""
    why = Setting("told twice", refusal_text(refusal), of=refusal_text(refusal, "spec"))
    if refusal.kind in (Why.MANY_WAYS, Why.MANY_LEVELS):
        fix = "Make some of them mutable, or merge levels of categories."
        return SchemaError("PROBLEM_TOO_MANY_INTERVENTIONS", why, fix=fix)
    what = (Setting("solver", type(engine).__name__), " cannot solve this. ", why)
    return ParameterError("MODEL_NOT_LINEAR", what, fix=Setting("auto"))


def solve_further(table: RecourseTable, rows: npt.NDArray[np.intp], *, solver: Solver | None = None) -> RecourseTable:
    """The table with some people solved again, by default with the same solver and larger limits, each time larger.

    What was proven stays proven: of two actions the cheaper one is kept, of two bounds the higher one.
    """
    source = table.source
    if not isinstance(source, SolvedSource):
        raise ParameterError(
            "AUDIT_LOADED",
            "This audit was read from a file or streamed, and holds neither the model nor the equations.",
            fix="Run the audit again, with people in memory, and solve further there.",
        )
    check_solver(solver)
    choice = chosen_for(source.problem, (source.further or source.solver).harder() if solver is None else solver)
    engine = choice.solver
    if len(rows) == 0:
        return table
    groups = replace(table.groups, codes=table.groups.codes[rows])
    lacking = Lacking(source.problem, engine)
    own = SolvedSource(source.problem, engine, choice.prepared, source.data.iloc[rows], lacking)
    part = RecourseTable.blank(own, groups)
    ActionVerifier(source.problem.scaled, choice.prepared, part.data, lacking).run(part, 0)
    _check_efforts(part, slice(None))
    merged = _merged(table, part, rows, engine.gap)
    return replace(merged, source=replace(source, further=engine))


def solve_rows(people: People, choice: Choice, rows: npt.NDArray[np.intp]) -> RecourseTable:
    """Some of the people alone, such as for a guess how long all take."""
    problem, engine = people.problem, choice.solver
    groups = replace(people.groups, codes=people.groups.codes[rows])
    lacking = Lacking(problem, engine)
    own = SolvedSource(problem, engine, choice.prepared, people.frame.iloc[rows], lacking)
    part = RecourseTable.blank(own, groups)
    ActionVerifier(problem.scaled, choice.prepared, part.data, lacking).run(part, 0)
    _check_efforts(part, slice(None))
    return part


def _merged(table: RecourseTable, part: RecourseTable, rows: npt.NDArray[np.intp], gap: float) -> RecourseTable:
    arrays = {name: getattr(table, name).copy() for name in STORED}
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
            # An action no dearer than one that was proven the cheapest, to whatever the table can hold.
            proven = arrays["vanishing"][row] or is_closed(cost, bound, gap) or part.status[k] == Status.OPTIMAL
            arrays["status"][row] = Status.OPTIMAL if proven else Status.FEASIBLE
            ceilings.pop(row, None)
        if arrays["status"][row] == Status.OPTIMAL:
            notes.pop(row, None)
    return replace(table, **arrays, notes=notes, ceilings=ceilings)


def _beyond(table: RecourseTable) -> str:
    """Which limits people start beyond, with how many people; empty if it is rules between features alone."""
    source = table.source
    counts: Counter[tuple[str, Limit]] = Counter()
    for start in range(0, len(table), CHUNK):
        facts = source.facts(slice(start, start + CHUNK))
        for name, limit, who in starts_outside(source.schema, source.encoding, facts):
            counts[name, limit] += int(who.sum())
    beyond = [f"{name!r}: {n:,} beyond the {limit_text(limit, name)}" for (name, limit), n in counts.items()]
    return f"{'; '.join(beyond)}." if beyond else ""


def warn_of_table(table: RecourseTable, outside: npt.NDArray[np.int64]) -> None:
    """Warn of who starts outside the limits, whom the clock ended, and of whom nothing is known."""
    if outside.sum():
        called = table.source.schema.names
        counts = ", ".join(
            f"{called.group(label) or label}: {n:,}"
            for label, n in zip(table.groups.labels, outside.tolist(), strict=True)
        )
        warn(
            "SCHEMA_OUT_OF_LIMITS",
            f"Outside the declared limits or rules: {many(int(outside.sum()), 'person', 'people')} ({counts}). "
            f"{_beyond(table)}".rstrip(),
            fix="Check them; for these people the limit is their own value, and a rule they break is not asked.",
        )
    if len(table) > 1 and not (table.status == Status.NOT_NEEDED).any():
        warn(
            "OUTCOME_ALL_UNFAVOURABLE",
            f"All {len(table)} people are decided unfavourably.",
            fix="Check that `favourable` names the right label and that these are the model's own columns.",
        )
    if ended := table.ended_by_clock:
        named = ", ".join(label(table.index[row]) for row in ended[:5])
        warn(
            "RUN_CLOCK",
            f"The limit of time ended the search for {many(len(ended), 'person', 'people')}: {named}"
            f"{' and others' if len(ended) > 5 else ''}. What is known of them may differ in another run.",
            fix=("Limit the work instead of the time where answers must come out alike: ", Setting("work limit"), "."),
        )
    unknown = int((table.status == Status.UNKNOWN).sum())
    if unknown:
        first = next(iter(table.notes.values()), None)
        warn(
            "RECOURSE_UNKNOWN",
            (
                f"The recourse of {many(unknown, 'person', 'people')} is unknown. The first: ",
                Setting("told twice", told(first), of=told(first, "spec")),
            ),
            fix=(Setting("reason"), "; rho and Phi have a least and a most beside them."),
        )


def _why_closed(table: RecourseTable) -> str:
    view = table.source.problem.view if isinstance(table.source, SolvedSource) else None
    return f" The classifier could not be read: {view.reason}." if isinstance(view, BlackBox) else ""


def _warn_heuristic(table: RecourseTable, engine: Solver) -> None:
    found = int((table.status == Status.FEASIBLE).sum())
    if found:
        warn(
            "SOLVER_HEURISTIC",
            (
                Setting("solver", type(engine).__name__),
                f" found an action for {many(found, 'person', 'people')}, without a proof that it is the "
                f"cheapest.{_why_closed(table)}",
            ),
            fix=(
                "Use a model, equations and a cost that another solver can read (docs/solvers.md), or see with ",
                Setting("solve_further"),
                " whether more search changes the ratio; ",
                Setting("certified"),
                " judges the estimate.",
            ),
        )
