"""One way to HiGHS: programs that are built once, changed in place and solved again.

`highspy` has a version of HiGHS of its own, takes all options, and solves a linear program from the basis at which it
ended the last time. Where it cannot be loaded, as beside another library that brings HiGHS, scipy's starts afresh each
time. Whole numbers are always searched afresh, so that a second opinion owes nothing to the first.

HiGHS works to tolerances, and presolving has been seen to lose the optimum: an answer is a claim, and `confirmed` only
passes on what is claimed without presolving as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from enum import Enum, auto
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import HIGHS, INTEGRALITY, SMALLEST
from equieffort.recourse.solvers.quiet import aside

LARGEST_PRICE = 1e4
"""The search for whole numbers stops within 1e-6 of the optimum, and prices are met to a tolerance: large prices make
both small beside the cost."""
LARGEST, INFINITE = 1e15, 1e20
"""HiGHS refuses larger entries of the matrix, and takes larger bounds for none."""


class ProgramStatus(Enum):
    """What HiGHS says of a program; the last proves nothing."""

    OPTIMAL = auto()
    INFEASIBLE = auto()
    UNBOUNDED = auto()
    TIME = auto()
    UNKNOWN = auto()


STATUSES = {
    "kOptimal": ProgramStatus.OPTIMAL,
    "kInfeasible": ProgramStatus.INFEASIBLE,
    "kUnbounded": ProgramStatus.UNBOUNDED,
    "kTimeLimit": ProgramStatus.TIME,
}
"""By HiGHS' own names."""
OF_SCIPY = {0: ProgramStatus.OPTIMAL, 1: ProgramStatus.TIME, 2: ProgramStatus.INFEASIBLE, 3: ProgramStatus.UNBOUNDED}


@dataclass(frozen=True, eq=False)
class Answer:
    """What HiGHS claims."""

    status: ProgramStatus
    bound: float = -np.inf
    """No point costs less."""
    point: Floats | None = None
    cost: float = np.inf
    """Of the point."""


class Matrix(NamedTuple):
    """Rows, compressed: where each starts (and the last ends), the columns of its entries, and the entries."""

    start: Any
    index: Any
    value: Floats

    @classmethod
    def of(cls, dense: Floats) -> Matrix:
        """Without the zeros."""
        at, index = np.nonzero(dense)
        return cls(np.searchsorted(at, np.arange(len(dense) + 1)), index, dense[at, index])

    def loses(self, width: Floats) -> bool:
        """Whether HiGHS, which takes the smallest entries for zero, would leave out what can matter."""
        size = np.abs(self.value)
        small = (size > 0) & (size < SMALLEST)
        return bool((size[small] * width[self.index[small]] > SMALLEST).any())


class Highs(ABC):
    """Least price over columns within bounds, some of them whole, under rows within bounds."""

    def __init__(
        self, price: Floats, matrix: Matrix, low: Floats, high: Floats, lower: Floats, upper: Floats, whole: Bools
    ) -> None:
        self.matrix, self.low, self.high, self.whole, self.is_linear = matrix, low, high, whole, not whole.any()
        self.lower, self.upper = self._whole_ends(lower, upper)
        self.set_prices(price)

    def set_rows(self, low: Floats, high: Floats) -> None:
        """Other bounds of the rows."""
        self.low, self.high = low, high

    def set_columns(self, lower: Floats, upper: Floats) -> None:
        """Other bounds of the columns."""
        self.lower, self.upper = self._whole_ends(lower, upper)

    def set_prices(self, price: Floats) -> None:
        """Other prices; HiGHS gets them with the largest at a size that suits its tolerances."""
        largest = float(np.abs(price).max(initial=0.0)) or 1.0
        self.scale = LARGEST_PRICE / largest
        self.price = price * self.scale

    def solve(self, seconds: float = np.inf, *, presolve: bool = False) -> Answer:
        """One claim; without presolving a linear program starts from the last basis, if that leads anywhere."""
        if seconds <= 0:
            return Answer(ProgramStatus.TIME)
        if self._is_refused():
            return Answer(ProgramStatus.UNKNOWN)
        answer = self._claim(seconds, presolve, afresh=presolve or not self.is_linear)
        if self.is_linear and not presolve and answer.status != ProgramStatus.OPTIMAL:
            answer = self._claim(seconds, presolve, afresh=True)
        return answer

    def confirmed(self, seconds: float = np.inf) -> Answer:
        """What is claimed with presolving and without: the least bound, and the cheaper point.

        That the optimum of a linear program is one, its basis shows.
        """
        answer = self.solve(seconds)
        if self.is_linear and answer.status == ProgramStatus.OPTIMAL:
            return answer
        again = self.solve(seconds, presolve=True)
        status = answer.status if again.status == answer.status else ProgramStatus.UNKNOWN
        best = min(answer, again, key=lambda one: one.cost)
        return replace(best, status=status, bound=min(answer.bound, again.bound))

    def _is_refused(self) -> bool:
        """Whether HiGHS takes it for no program, which scipy calls infeasible."""
        starts, ends = np.concatenate([self.low, self.lower]), np.concatenate([self.high, self.upper])
        sizes = np.abs(np.concatenate([self.matrix.value, self.price]))
        return not ((sizes < LARGEST).all() and (starts < INFINITE).all() and (ends > -INFINITE).all())

    def _claim(self, seconds: float, presolve: bool, afresh: bool) -> Answer:
        with aside():
            answer = self._run(seconds, presolve, afresh)
        return replace(answer, bound=answer.bound / self.scale, cost=answer.cost / self.scale)

    def _whole_ends(self, lower: Floats, upper: Floats) -> tuple[Floats, Floats]:
        """Without presolving HiGHS loses optima where the bounds of a whole column are no whole numbers."""
        lower = np.where(self.whole, np.ceil(lower - INTEGRALITY), lower)
        return lower, np.where(self.whole, np.floor(upper + INTEGRALITY), upper)

    @abstractmethod
    def _run(self, seconds: float, presolve: bool, afresh: bool) -> Answer:
        """HiGHS' answer, in its prices."""


class OwnHighs(Highs):
    """The HiGHS of `highspy`."""

    def __init__(self, *parts: Any) -> None:
        self.core = _highspy()
        self.highs = self.core.Highs()
        super().__init__(*parts)
        self.rows, self.columns = (np.arange(len(ends), dtype=np.int32) for ends in (self.low, self.lower))
        self.highs.passOptions(_options(self.is_linear))
        # Python hears Ctrl-C whenever it is called back; linear programs are over before anybody could press it.
        if not self.is_linear:
            self.highs.cbMipInterrupt.subscribe(_listen)
            self.highs.cbSimplexInterrupt.subscribe(_listen)
        start, index, value = self.matrix
        self.highs.passModel(
            len(self.lower), len(self.low), len(value), int(self.core.MatrixFormat.kRowwise),
            int(self.core.ObjSense.kMinimize), 0.0, self.price, self.lower, self.upper, self.low, self.high,
            start[:-1], index, value, self.whole.astype(np.int32),
        )  # fmt: skip

    def _run(self, seconds: float, presolve: bool, afresh: bool) -> Answer:
        highs, rows, columns = self.highs, self.rows, self.columns
        highs.changeRowsBounds(len(rows), rows, self.low, self.high)
        highs.changeColsBounds(len(columns), columns, self.lower, self.upper)
        highs.changeColsCost(len(columns), columns, self.price)
        highs.setOptionValue("presolve", "on" if presolve else "off")
        highs.setOptionValue("time_limit", float(seconds))
        if afresh:
            highs.clearSolver()
        if highs.run() == self.core.HighsStatus.kError:
            # Somebody else in the process took more threads: the threads are of the library, not of a program.
            highs.resetGlobalScheduler(True)
            highs.run()
        info = highs.getInfo()
        status = STATUSES.get(highs.getModelStatus().name, ProgramStatus.UNKNOWN)
        if status == ProgramStatus.INFEASIBLE:
            return Answer(status, np.inf)
        is_point = info.primal_solution_status == int(self.core.SolutionStatus.kSolutionStatusFeasible)
        if status == ProgramStatus.OPTIMAL and not is_point:
            status = ProgramStatus.UNKNOWN
        if status not in (ProgramStatus.OPTIMAL, ProgramStatus.TIME):
            return Answer(status)
        cost = float(info.objective_function_value)
        bound = (
            float(info.mip_dual_bound) if not self.is_linear else cost if status == ProgramStatus.OPTIMAL else -np.inf
        )
        point = np.array(highs.getSolution().col_value) if is_point else None
        return Answer(status, bound, point, cost if is_point else np.inf)


class ScipyHighs(Highs):
    """The HiGHS inside scipy."""

    def _run(self, seconds: float, presolve: bool, afresh: bool) -> Answer:
        from scipy.optimize import Bounds, LinearConstraint, linprog, milp
        from scipy.sparse import csr_array, vstack

        start, index, value = self.matrix
        rows = csr_array((value, index, start), shape=(len(self.low), len(self.lower)))
        options = {"presolve": presolve, **({"time_limit": seconds} if np.isfinite(seconds) else {})}
        result: Any
        if self.is_linear:
            over, under = np.isfinite(self.high), np.isfinite(self.low)
            exact = {"primal_feasibility_tolerance": HIGHS, "dual_feasibility_tolerance": HIGHS}
            result = linprog(
                self.price, vstack([rows[over], -rows[under]]), np.concatenate([self.high[over], -self.low[under]]),
                bounds=np.column_stack([self.lower, self.upper]), method="highs-ds", options=options | exact,
            )  # fmt: skip
        else:
            constraints = LinearConstraint(rows, self.low, self.high)
            result = milp(
                self.price, integrality=self.whole.astype(np.int64), bounds=Bounds(self.lower, self.upper),
                constraints=constraints, options=options | {"mip_rel_gap": 0.0},
            )  # fmt: skip
        status = OF_SCIPY.get(result.status, ProgramStatus.UNKNOWN)
        if status not in (ProgramStatus.OPTIMAL, ProgramStatus.TIME):
            return Answer(status, np.inf if status == ProgramStatus.INFEASIBLE else -np.inf)
        proven = (
            result.mip_dual_bound if not self.is_linear else result.fun if status == ProgramStatus.OPTIMAL else None
        )
        bound = -np.inf if proven is None else float(proven)
        return Answer(status, bound) if result.x is None else Answer(status, bound, result.x, float(result.fun))


def program(
    price: Floats, matrix: Matrix, low: Floats, high: Floats, lower: Floats, upper: Floats, whole: Bools
) -> Highs:
    """A program for the HiGHS that there is."""
    kind = ScipyHighs if _highspy() is None else OwnHighs
    return kind(price, matrix, low, high, lower, upper, whole)


@cache
def _highspy() -> Any:
    """The library, or None where it cannot be loaded."""
    try:
        import highspy
    except ImportError:
        return None
    return highspy


@cache
def _options(is_linear: bool) -> Any:
    """One thread and one seed, so that results repeat; dual simplex; the search for whole numbers to the end.

    Feasibility jump, a heuristic, takes longer than all else in programs as small as a person's.
    """
    options = _highspy().HighsOptions()
    options.output_flag, options.threads, options.random_seed, options.simplex_strategy = False, 1, 0, 1
    options.mip_rel_gap, options.mip_heuristic_run_feasibility_jump = 0.0, False
    if is_linear:
        options.solver = "simplex"
        options.primal_feasibility_tolerance = options.dual_feasibility_tolerance = HIGHS
    return options


def _listen(event: Any) -> None:
    """Do nothing: on the way here Python raises what was signalled."""
