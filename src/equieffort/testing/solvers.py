"""check_solver: does a solver keep its promises?"""

from __future__ import annotations

import pickle
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from equieffort.errors import EquieffortError, EquieffortWarning, ParameterError
from equieffort.recourse import solve
from equieffort.solvers import Solver, Status
from equieffort.table import RecourseTable
from equieffort.testing.cases import FAMILIES, Case, make_case
from equieffort.testing.exhaustive import Best, cheapest


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
        """Whether every promise was kept and something was solved at all."""
        return not self.faults and sum(self.refused.values()) < self.cases

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()))
        lines = [f"{self.solver}: {self.cases} cases, {len(self.faults)} faults ({counts or 'nobody solved'})."]
        lines += [f"  refused {count} times: {reason}" for reason, count in self.refused.items()]
        return "\n".join([*lines, *(f"  {fault}" for fault in self.faults)])


def check_solver(
    solver: Solver, *, families: Iterable[str] | None = None, cases: int = 20, random_state: int = 0
) -> SolverReport:
    """Run a solver through small problems whose answers are found by trying everything.

    For every person it must hold that

    - an optimal cost is the least there is, and an infeasible person has no action at all;
    - a bound lies at or below the least cost, also of people who are feasible or unknown;
    - the action is allowed, keeps what must stay and turns the decision, by the model's own label;
    - the answer is the same when asked again, for some of the people only, and after pickling;
    - a problem that is not supported is refused with a reason, and an infeasible person gets one too.

    Parameters
    ----------
    solver
        Anything that implements `Solver`.
    families
        Kinds of classifiers, of `FAMILIES`; all by default. What a solver does not support is counted, not a fault.
    cases
        How many problems of each family: whole numbers and amounts, with and without rules and bent equations.
    random_state
        Where chance starts.

    Returns
    -------
    A report; print it, or ask whether it `passed`.
    """
    chosen = list(FAMILIES) if families is None else list(families)
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
            kind = number % 5
            case = make_case(
                family, random_state + number, whole=kind != 1, rules=kind == 2, curved=kind == 3
            )  # fmt: skip
            total += 1
            reason = solver.supports(case.problem)
            if reason:
                refused[reason] += 1
                continue
            with warnings.catch_warnings():
                # These people are made up: what an audit would warn about is no fault of the solver.
                warnings.simplefilter("ignore", EquieffortWarning)
                faults += _faults(solver, case, statuses)
    return SolverReport(repr(solver), total, dict(refused), dict(statuses), tuple(faults))


def _faults(solver: Solver, case: Case, statuses: Counter[str]) -> Iterator[Fault]:
    try:
        table = solve(case.problem, case.people, solver=solver)
    except EquieffortError as error:
        yield Fault(case.name, "", f"it raised {error.code} on a problem it says it supports: {error.what}")
        return
    statuses.update(Status(code).text for code in table.status.tolist())
    yield from _same_again(solver, case, table)
    best = cheapest(case)
    for row in np.flatnonzero(table.is_unfavourable).tolist():
        for what in _wrong(solver, case, table, row, best[row]):
            yield Fault(case.name, str(case.people.index[row]), what)


def _wrong(solver: Solver, case: Case, table: RecourseTable, row: int, best: Best) -> Iterator[str]:
    status, cost, bound = Status(int(table.status[row])), float(table.cost[row]), float(table.bound[row])
    give = max(solver.gap, 1e-7 * (1.0 + (best.cost if np.isfinite(best.cost) else 0.0)))
    found = f"an action of cost {best.cost:.6g} works: {best.action}"
    if status == Status.INFEASIBLE:
        if np.isfinite(best.cost):
            yield f"it is called infeasible, but {found}"
        if not solver.why_infeasible(case.problem, case.problem.encoding.encode(case.people.iloc[[row]])):
            yield "it is called infeasible without a reason"
        return
    if bound > best.cost + give:
        yield f"its bound is {bound:.6g}, but {found}"
    if status == Status.UNKNOWN:
        return
    if bound > cost + give:
        yield f"its bound {bound:.6g} lies above its cost {cost:.6g}"
    if status == Status.OPTIMAL and cost > best.cost + give:
        yield f"it is called optimal at {cost:.6g}, but {found}"
    if case.complete and cost < best.cost - give:
        yield f"it costs {cost:.6g}, less than any of all the actions there are ({best.cost:.6g})"


def _same_again(solver: Solver, case: Case, table: RecourseTable) -> Iterator[Fault]:
    again = solve(case.problem, case.people, solver=pickle.loads(pickle.dumps(solver)))
    part = case.people.iloc[::3]
    some = solve(case.problem, part, solver=solver)
    for name in ("status", "cost", "bound", "delta", "level"):
        whole = getattr(table, name)
        if not np.array_equal(whole, getattr(again, name), equal_nan=name != "status"):
            yield Fault(case.name, "", f"asked again, its {name} differs")
        if not np.array_equal(whole[::3], getattr(some, name), equal_nan=name != "status"):
            yield Fault(case.name, "", f"asked about some of the people only, its {name} differs")
