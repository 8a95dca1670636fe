"""check_solver: does a solver keep its promises?"""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import EquieffortError, EquieffortWarning, ParameterError
from equieffort.foundations.arguments import check_instance, check_whole, names_in
from equieffort.foundations.tolerances import TOLERANCE
from equieffort.recourse.solvers import PreparedSolver, Solver
from equieffort.recourse.solvers.base import FOUND
from equieffort.recourse.solving import solve
from equieffort.recourse.status import Blocking, Infeasibility, Refusal, Status
from equieffort.recourse.table import RecourseTable, SolvedSource
from equieffort.testing.cases import FAMILIES, Case, check_seed, make_case
from equieffort.testing.exhaustive import Best, cheapest
from equieffort.testing.proposals import told, wrong_actions, wrong_bounds
from equieffort.testing.watched import Asked, Malformed, Watched
from equieffort.words.choices import refusal_text
from equieffort.words.reasons import told as told_reason

SETTLED = ("optimal", "feasible", "infeasible")
"""What a solver says of a person when it has found or proven something."""
NAMING = (Blocking.EACH, Blocking.TOGETHER, Blocking.ALL, Blocking.HELD)
"""Reasons that say nothing without an obstacle."""


@dataclass(frozen=True)
class Fault:
    """A promise that was not kept."""

    case: str
    person: str
    what: str

    def __str__(self) -> str:
        return f"{self.case}, person {self.person}: {self.what}" if self.person else f"{self.case}: {self.what}"


@dataclass(frozen=True)
class SolverReport:
    """What was tried and what went wrong."""

    solver: str
    cases: int
    refused: dict[str, int]
    """Reason -> how many cases the solver said it does not support."""
    statuses: dict[str, int]
    faults: tuple[Fault, ...]

    @property
    def passed(self) -> bool:
        """Whether every promise was kept and something was found or proven at all."""
        return not self.faults and self._settled

    @property
    def _settled(self) -> bool:
        return any(self.statuses.get(status) for status in SETTLED)

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        lines = [f"{self.solver}: {self.cases} cases, {len(self.faults)} faults ({counts or 'nobody solved'})."]
        lines += [f"  refused {count} times: {reason}" for reason, count in self.refused.items()]
        if not self._settled:
            lines.append("  nothing was found or proven")
        return "\n".join([*lines, *(f"  {fault}" for fault in self.faults)])


def check_solver(
    solver: Solver, *, families: Iterable[str] | None = None, cases: int = 20, random_state: int = 0
) -> SolverReport:
    """Run a solver through small problems whose answers are found by trying everything.

    For every person it must hold that

    - an optimal cost is the least there is, and an infeasible person has no action at all;
    - a bound lies at or below the least cost, also of people who are feasible or unknown;
    - an action that it proposes is allowed as it stands: it keeps to limits, directions, plausible ranges, whole
      numbers and rules, moves nothing that must stay, and costs what the solver says;
    - it turns the decision, by the model's own label; what was only tried on the way need not;
    - the answer is the same when asked again, for some of the people only, and after pickling;
    - a problem that is not supported is refused with a reason, and an infeasible person gets one too: facts
      (`ee.solvers.Infeasibility`) that name no column which is not there.

    `solve` itself believes no action that does not hold and calls such a person unknown; here it is a fault. So is
    whatever the solver raises, and a proposal that cannot be read; the suite then goes on with the next problem.

    Parameters
    ----------
    solver
        Anything that implements `Solver`.
    families
        Kinds of classifiers, of `FAMILIES`; all by default. What a solver does not support is counted, not a fault.
    cases
        How many problems of each family. They come in six kinds in turn (whole numbers, amounts, rules between
        features, a bent equation, limits that people start beyond, levels in an order), so fewer than six leave some
        out.
    random_state
        Where chance starts.

    Returns
    -------
    A report; print it, or ask whether it `passed`.
    """
    check_instance("solver", solver, Solver, "a solver such as LinearExact()")
    check_whole("cases", cases, 1)
    check_seed(random_state)
    chosen = list(FAMILIES) if families is None else list(names_in("families", families, "a list of families"))
    if stray := [family for family in chosen if family not in FAMILIES]:
        raise ParameterError(
            "PARAMETER", f"{stray[0]!r} is no family of cases.", fix=f"The families are {', '.join(FAMILIES)}."
        )
    refused: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    faults: list[Fault] = []
    total = 0
    for family in chosen:
        for number in range(cases):
            kind = number % 6
            case = make_case(
                family, random_state + number, whole=kind != 1, rules=kind == 2, bent=kind == 3, tight=kind == 4,
                ordered=kind == 5,
            )  # fmt: skip
            total += 1
            try:
                prepared = solver.prepare(case.problem.scaled)
            except Exception as error:
                faults.append(Fault(case.name, "", f"prepare raised {_words(error)}"))
                continue
            if isinstance(prepared, Refusal):
                refused[refusal_text(prepared)] += 1
                continue
            if not isinstance(prepared, PreparedSolver):
                faults.append(Fault(case.name, "", f"prepare gave a {type(prepared).__name__}"))
                continue
            with warnings.catch_warnings():
                # These people are made up: what an audit would warn about is no fault of the solver.
                warnings.simplefilter("ignore", EquieffortWarning)
                faults += _faults(solver, case, statuses)
    return SolverReport(repr(solver), total, dict(refused), dict(statuses), tuple(faults))


def _faults(solver: Solver, case: Case, statuses: Counter[str]) -> Iterator[Fault]:
    gap: Any = getattr(solver, "gap", None)
    if not (isinstance(gap, int | float | np.number) and np.isfinite(gap) and gap >= 0):
        yield Fault(case.name, "", f"its gap is {gap}, not a number of 0 or more")
        return
    asked, table, raised = _run(solver, case, case.people)
    if raised:
        yield Fault(case.name, "", raised)
    yield from _proposed(case, asked, table)
    if table is None:
        return
    statuses.update(Status(code).text for code in table.status.tolist())
    yield from _same_again(solver, case, table)
    best, reasons = cheapest(case), _reasons(table)
    for row in np.flatnonzero(table.is_unfavourable).tolist():
        for what in _wrong(solver, case, table, row, best[row], reasons):
            yield Fault(case.name, _label(case, row), what)


def _run(solver: Solver, case: Case, people: pd.DataFrame) -> tuple[list[Asked], RecourseTable | None, str]:
    """What the solver was asked and answered, the table that came of it, or the words for why none did."""
    asked: list[Asked] = []
    try:
        watched = Watched(solver)
        asked = watched.asked
        return asked, solve(case.problem, people, solver=watched), ""
    except Malformed as error:
        return asked, None, str(error)
    except EquieffortError as error:
        return asked, None, f"it raised {error.code} on a problem it says it supports: {error.what}"
    except Exception as error:
        return asked, None, f"it raised {_words(error)}"


def _proposed(case: Case, asked: list[Asked], table: RecourseTable | None) -> Iterator[Fault]:
    """What is wrong with the answers as the solver gave them."""
    everyone = case.problem.encoding.encode(case.people)
    place = {everyone[row].tobytes(): row for row in range(len(everyone))}
    proposed: dict[int, str] = {}
    blamed: set[int] = set()
    for answer in asked:
        rows = [place[person.tobytes()] for person in answer.matrix]
        proposed |= {rows[k]: told(case, answer, k) for k in np.flatnonzero(answer.proposal.code == FOUND).tolist()}
        for k, reasons in wrong_actions(case, answer).items():
            blamed.add(rows[k])
            what = f"its action {told(case, answer, k)} does not hold: {'; '.join(reasons)}"
            yield Fault(case.name, _label(case, rows[k]), what)
        for k, what in wrong_bounds(case, answer).items():
            yield Fault(case.name, _label(case, rows[k]), what)
    if table is None:
        return
    for row, action in proposed.items():
        if table.status[row] == Status.UNKNOWN and row not in blamed:
            why = told_reason(table.notes.get(row)) or "it did not replay"
            yield Fault(case.name, _label(case, row), f"its action {action} does not hold: {why}")


def _label(case: Case, row: int) -> str:
    return str(case.people.index[row])


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _wrong(
    solver: Solver, case: Case, table: RecourseTable, row: int, best: Best, reasons: dict[int, Any]
) -> Iterator[str]:
    status, cost, bound = Status(int(table.status[row])), float(table.cost[row]), float(table.bound[row])
    rounding = 1e-7 * (best.cost if np.isfinite(best.cost) else 0.0) + TOLERANCE * case.problem.scaled.cost_unit
    found = f"an action of cost {best.cost:.6g} works: {best.action}"
    if status == Status.INFEASIBLE:
        if np.isfinite(best.cost):
            yield f"it is called infeasible, but {found}"
        if isinstance(reasons[row], Exception):
            yield f"it is called infeasible, and infeasibility raised {_words(reasons[row])}"
        else:
            yield from _unreasoned(case, reasons[row])
        return
    if bound > best.cost + rounding:
        yield f"its bound is {bound:.6g}, but {found}"
    if status == Status.UNKNOWN:
        return
    if status == Status.OPTIMAL and cost > best.cost + max(solver.gap * best.cost, rounding):
        yield f"it is called optimal at {cost:.6g}, but {found}"
    if case.complete and cost < best.cost - rounding:
        yield f"it costs {cost:.6g}, less than any of all the actions there are ({best.cost:.6g})"


def _reasons(table: RecourseTable) -> dict[int, Any]:
    """What the solver itself says of infeasible rows, asked about all at once; what it raised, where it did."""
    source, rows = table.source, np.flatnonzero(table.status == Status.INFEASIBLE).tolist()
    assert isinstance(source, SolvedSource)
    try:
        people = source.problem.scaled.encoding.encode(source.data.iloc[rows])
        return dict(zip(rows, source.prepared.infeasibility(people) if rows else [], strict=True))
    except Exception as error:
        return dict.fromkeys(rows, error)


def _unreasoned(case: Case, reason: Any) -> Iterator[str]:
    """What is wrong with what a solver says of somebody infeasible: no facts, or about columns that are not there."""
    if not isinstance(reason, Infeasibility):
        yield f"it is called infeasible without a reason: a {type(reason).__name__}, not an Infeasibility"
        return
    if stray := [name for name in reason.named if name not in case.problem.names]:
        yield f"its reason names {stray[0]!r}, which is no column"
    if reason.blocking in NAMING and not reason.obstacles:
        yield f"its reason says that obstacles are in the way ({reason.blocking}) and names none"


def _same_again(solver: Solver, case: Case, table: RecourseTable) -> Iterator[Fault]:
    try:
        copy = pickle.loads(pickle.dumps(solver))
    except Exception as error:
        yield Fault(case.name, "", f"it cannot be pickled: {_words(error)}")
        copy = solver
    for who, when, people, step in (
        (copy, "asked again", case.people, 1),
        (solver, "asked about some of the people only", case.people.iloc[::3], 3),
    ):
        _, other, raised = _run(who, case, people)
        if other is None:
            yield Fault(case.name, "", f"{when}, {raised}")
            continue
        for name in ("status", "cost", "bound", "delta", "level"):
            if not np.array_equal(getattr(table, name)[::step], getattr(other, name), equal_nan=name != "status"):
                yield Fault(case.name, "", f"{when}, its {name} differs")
