"""A mixed-integer program that is built piece by piece, and what HiGHS says of it.

Variables are kept in their own units; they and the rows are scaled only when the program is handed over, since the
solver's tolerances are absolute. An answer is a claim up to these tolerances: `polish` solves the linear program that
is left when every whole number is fixed, more exactly and a little inside the rows, so that the result can be tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import CANCELLED, CLAIMED, FEASIBLE, HIGHS
from equieffort.recourse.solvers import highs
from equieffort.recourse.solvers.highs import Answer, Matrix, ProgramStatus


class Unbounded(Exception):
    """What has no end, where a row that a choice switches off needs one."""


@dataclass(frozen=True, eq=False)
class Form:
    """A constant plus a weighted sum of variables."""

    weights: Mapping[int, float]
    constant: float = 0.0

    def plus(self, other: Form, factor: float = 1.0) -> Form:
        """The sum with a multiple of another."""
        weights = dict(self.weights)
        for variable, weight in other.weights.items():
            before, added = weights.pop(variable, 0.0), factor * weight
            # Paths that cancel but for rounding leave nothing.
            if abs(before + added) > CANCELLED * (abs(before) + abs(added)):
                weights[variable] = before + added
        return Form(weights, self.constant + factor * other.constant)

    def at(self, point: Floats) -> float:
        """Its value."""
        return self.constant + sum(weight * float(point[variable]) for variable, weight in self.weights.items())


NOTHING = Form({})


@dataclass(frozen=True, eq=False)
class Row:
    """low <= weights . variables <= high."""

    weights: Mapping[int, float]
    low: float
    high: float
    lift: float
    """By how much the low end is loosened to be safe as a bound; what is tried is held to the true end."""
    rise: float
    drop: float
    """How far inside each end a point must lie to be tried, in steps."""


@dataclass(eq=False)
class Program:
    """Least cost over variables within bounds, some of them whole, under rows."""

    lower: list[float] = field(default_factory=list)
    upper: list[float] = field(default_factory=list)
    price: list[float] = field(default_factory=list)
    whole: list[bool] = field(default_factory=list)
    implied: list[bool] = field(default_factory=list)
    """Variables that follow from the others once these are whole; polishing leaves them out."""
    rows: list[Row] = field(default_factory=list)
    choices: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By variable: the variables of which exactly one is 1, itself among them."""
    loose: bool = False
    """Whether a row that needs a bound that is not there is left out, so that the program only bounds from below."""
    _rest: _Rest | None = field(default=None, init=False)

    def variable(
        self, lower: float, upper: float, *, price: float = 0.0, whole: bool = False, implied: bool = False
    ) -> int:
        """A new variable."""
        self.lower.append(lower)
        self.upper.append(upper)
        self.price.append(price)
        self.whole.append(whole)
        self.implied.append(implied)
        return len(self.lower) - 1

    def need(self, *ends: float, what: str) -> bool:
        """Whether these ends, which a row would be built from, are all finite; raises unless the program is loose."""
        if all(np.isfinite(ends)):
            return True
        if self.loose:
            return False
        raise Unbounded(what)

    def switch(self, *, price: float = 0.0) -> int:
        """A new variable that is 0 or 1."""
        return self.variable(0.0, 1.0, price=price, whole=True)

    def fix(self, variable: int, value: float) -> None:
        """Leave a variable no choice."""
        self.lower[variable] = self.upper[variable] = value

    def one_of(self, variables: list[int]) -> None:
        """Exactly one of these switches is 1."""
        for variable in variables:
            self.choices[variable] = tuple(variables)
        self.row(Form(dict.fromkeys(variables, 1.0)), 1.0, 1.0)

    def row(
        self,
        form: Form,
        low: float = -np.inf,
        high: float = np.inf,
        *,
        lift: float = 0.0,
        rise: float = 0.0,
        drop: float = 0.0,
    ) -> None:
        """Keep a form in a range."""
        low, high = low - form.constant, high - form.constant
        if not form.weights:
            # Nothing can be done about it: a row that no choice satisfies, or none at all.
            if low > 0 or high < 0:
                self.rows.append(Row({}, low, high, 0.0, 0.0, 0.0))
            return
        self.rows.append(Row(dict(form.weights), low, high, lift, rise, drop))

    def range(self, form: Form) -> tuple[float, float]:
        """The least and the most that a form can be within the bounds of its variables."""
        low = high = form.constant
        seen: set[int] = set()
        for variable, weight in form.weights.items():
            if variable in seen:
                continue
            if variable in self.choices:
                members = self.choices[variable]
                seen.update(members)
                ends = [form.weights.get(v, 0.0) for v in members if self.upper[v] > 0]
            else:
                ends = [weight * self.lower[variable], weight * self.upper[variable]]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def either(
        self, switch: Form, form: Form, low: float, high: float, what: str, *, lift: float = 0.0, rise: float = 0.0
    ) -> None:
        """Keep a form in a range when the switch (a form that is 0 or 1) is 1; without the switch it is free."""
        least, most = self.range(form)
        if low > least and self.need(least, what=what):
            # form >= low - (low - least) (1 - switch)
            self.row(form.plus(switch, -(low - least)), low=least, lift=lift, rise=rise)
        if high < most and self.need(most, what=what):
            self.row(form.plus(switch, most - high), high=most)

    @property
    def switches(self) -> list[int]:
        """The variables that are 0 or 1 and still have a choice."""
        return [v for v in self._wholes if self.lower[v] == 0.0 and self.upper[v] == 1.0]

    @property
    def counts(self) -> list[int]:
        """Whole variables with more than two values."""
        return [v for v in self._wholes if self.upper[v] - self.lower[v] > 1.0]

    @property
    def _wholes(self) -> list[int]:
        return [v for v, whole in enumerate(self.whole) if whole]

    def exclude(self, variables: list[int], point: Floats) -> None:
        """Forbid the combination that these switches have at a point."""
        ones = {v: point[v] > 0.5 for v in variables}
        self.row(Form({v: -1.0 if one else 1.0 for v, one in ones.items()}, float(sum(ones.values()))), low=1.0)

    def units(self) -> Floats:
        """A unit for each variable in which it is about one: its width, or what a unit of cost buys.

        Where whole widths cost thousands, a thousandth of the dearest is the unit of cost.
        """
        lower, upper, price = np.array(self.lower), np.array(self.upper), np.array(self.price)
        width = upper - lower
        dearest = float((price * np.where(np.isfinite(width), width, 1.0)).max(initial=0.0))
        with np.errstate(divide="ignore"):
            units = np.minimum(width, np.where(price > 0, max(1.0, 1e-3 * dearest) / price, np.inf))
        units[~np.isfinite(units) | (units <= 0) | np.array(self.whole)] = 1.0
        return units

    def run(self, seconds: float, *, step: float = -1.0, slack: float = 0.0, presolve: bool = False) -> Answer:
        """The cheapest point: of the rows as they are, `step` steps inside them, or with some slack around them.

        Presolving has been seen to lose the optimum (HiGHS 1.12, columns that only other columns make whole), so it is
        left to second opinions.
        """
        if any(not row.weights for row in self.rows):
            return Answer(ProgramStatus.INFEASIBLE, np.inf)
        units, whole = self.units(), np.array(self.whole)
        rows = _Scaled.of(self.rows, units)
        low, high = rows.ends(step)
        lower, upper = np.array(self.lower) / units, np.array(self.upper) / units
        if rows.matrix.loses(upper - lower):
            return Answer(ProgramStatus.UNKNOWN, 0.0)
        upper = np.where(whole, upper, upper + slack)
        price = np.array(self.price) * units
        program = highs.program(price, rows.matrix, low - slack, high + slack, lower, upper, whole)
        answer = program.solve(seconds, presolve=presolve)
        size = float(price.max(initial=0.0)) or 1.0
        bound = max(answer.bound * (1 - CLAIMED) - HIGHS * size, 0.0)
        point = None if answer.point is None else answer.point * units
        if point is not None:
            point[whole] = np.rint(point[whole])
        return replace(answer, bound=bound, point=point)

    def polish(self, point: Floats, step: float) -> tuple[float, Floats] | None:
        """The cheapest point with the same whole numbers, so many steps inside the rows; None if there is none.

        A negative step takes the rows as they are.
        """
        if self._rest is None or self._rest.built_from != (len(self.rows), len(self.lower)):
            self._rest = _Rest(self)
        return self._rest.solve(point, step)


@dataclass(frozen=True, eq=False)
class _Scaled:
    """Rows in scaled units, in which the largest entry of each is 1."""

    rows: list[Row]
    matrix: Matrix
    at: npt.NDArray[np.intp]
    """The row of each entry."""
    size: Floats
    """What each row was divided by."""

    @classmethod
    def of(cls, rows: list[Row], units: Floats, counted: Bools | None = None) -> _Scaled:
        """Rows are scaled by the variables that count."""
        lengths = [len(row.weights) for row in rows]
        at = np.repeat(np.arange(len(rows)), lengths)
        columns = np.array([v for row in rows for v in row.weights], dtype=np.intp)
        values = np.array([w for row in rows for w in row.weights.values()]) * units[columns]
        size = np.zeros(len(rows))
        np.maximum.at(size, at, np.abs(values) if counted is None else np.abs(values) * counted[columns])
        size[size == 0] = 1.0
        return cls(rows, Matrix(np.cumsum([0, *lengths]), columns, values / size[at]), at, size)

    def ends(self, step: float) -> tuple[Floats, Floats]:
        """Low and high ends, so many steps inside the rows; a negative step leaves low ends loosened by their lift."""
        if step < 0:
            low, high = [row.low for row in self.rows], [row.high for row in self.rows]
        else:
            low = [row.low + (row.lift + step * row.rise) for row in self.rows]
            high = [row.high - step * row.drop for row in self.rows]
        return np.array(low) / self.size, np.array(high) / self.size


class _Rest:
    """The linear program that is left when every whole number is fixed; only its rows' ends depend on these."""

    def __init__(self, program: Program) -> None:
        self.built_from = len(program.rows), len(program.lower)
        whole, implied, units = np.array(program.whole), np.array(program.implied), program.units()
        free = ~whole & ~implied
        self.left, self.units, self.price = np.flatnonzero(free), units[free], np.where(whole, program.price, 0.0)
        known = [row for row in program.rows if row.weights and not any(program.implied[v] for v in row.weights)]
        self.rows = _Scaled.of(known, units, free)
        _, index, value = self.rows.matrix
        self.is_free = free[index]
        lengths = np.bincount(self.rows.at[self.is_free], minlength=len(known))
        self.active = lengths > 0
        start = np.concatenate([[0], np.cumsum(lengths[self.active])])
        matrix = Matrix(start, (np.cumsum(free) - 1)[index[self.is_free]], value[self.is_free])
        lower, upper, price = (np.array(each)[free] for each in (program.lower, program.upper, program.price))
        ends = np.full(int(self.active.sum()), np.inf)
        self.highs = highs.program(
            price * self.units, matrix, -ends, ends, lower / self.units, upper / self.units, np.zeros(len(price), bool)
        )

    def solve(self, point: Floats, step: float) -> tuple[float, Floats] | None:
        """As `Program.polish`."""
        _, index, value = self.rows.matrix
        fixed = ~self.is_free
        done = np.bincount(self.rows.at[fixed], value[fixed] * point[index[fixed]], len(self.active))
        low, high = (end - done for end in self.rows.ends(step))
        if ((low[~self.active] > FEASIBLE) | (high[~self.active] < -FEASIBLE)).any():
            return None
        settled, result = float(self.price @ point), point.copy()
        if len(self.left) == 0:
            return settled, result
        self.highs.set_rows(low[self.active], high[self.active])
        answer = self.highs.solve()
        if answer.status != ProgramStatus.OPTIMAL or answer.point is None:
            return None
        result[self.left] = answer.point * self.units
        return settled + answer.cost, result
