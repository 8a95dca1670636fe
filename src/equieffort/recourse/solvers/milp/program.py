"""A mixed-integer program that is built piece by piece, and what scipy's HiGHS says of it.

Variables are kept in their own units; they and the rows are scaled only when the program is handed over, since the
solver's tolerances are absolute. An answer is a claim up to these tolerances: `polish` solves the linear program that
is left when every whole number is fixed, more exactly and a little inside the rows, so that the result can be tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.solvers.quiet import aside

OPTIMAL, STOPPED, EMPTY, UNCLEAR = "optimal", "stopped", "empty", "unclear"
SMALLEST = 1e-9
"""HiGHS takes smaller entries of the matrix for zero."""
"""What the solver says: solved, out of time, infeasible, or something that proves nothing."""

NOISE = 1e-14
"""A sum that is smaller than this, relative to its parts, is rounding."""


class Unbounded(Exception):
    """What has no end, where a row that a choice switches off needs one."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.what = what


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
            # Ways that cancel but for rounding leave nothing.
            if abs(before + added) > NOISE * (abs(before) + abs(added)):
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


@dataclass(frozen=True, eq=False)
class Answer:
    """What the solver claims."""

    status: str
    bound: float
    """No point is cheaper."""
    point: Floats | None


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

    def either(self, switch: Form, form: Form, low: float, high: float, what: str, **steps: float) -> None:
        """Keep a form in a range when the switch (a form that is 0 or 1) is 1; without the switch it is free."""
        least, most = self.range(form)
        if low > least and self.need(least, what=what):
            kept = {name: size for name, size in steps.items() if name != "drop"}
            # form >= low - (low - least) (1 - switch)
            self.row(form.plus(switch, -(low - least)), low=least, **kept)
        if high < most and self.need(most, what=what):
            kept = {name: size for name, size in steps.items() if name == "drop"}
            self.row(form.plus(switch, most - high), high=most, **kept)

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

    def _units(self) -> Floats:
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

    def _scaled(
        self, rows: list[Row], step: float, slack: float, counted: Bools | None = None
    ) -> tuple[Any, Floats, Floats, Floats]:
        """Matrix, low and high ends in scaled units, and the units; rows are scaled by the variables that count."""
        from scipy.sparse import csr_array

        units = self._units()
        at = np.repeat(np.arange(len(rows)), [len(row.weights) for row in rows])
        columns = np.array([v for row in rows for v in row.weights], dtype=np.intp)
        values = np.array([w for row in rows for w in row.weights.values()]) * units[columns]
        size = np.zeros(len(rows))
        heavy = np.abs(values) if counted is None else np.abs(values) * counted[columns]
        np.maximum.at(size, at, heavy)
        size[size == 0] = 1.0
        tight = step >= 0
        low = np.array([row.low + (row.lift + step * row.rise if tight else 0.0) for row in rows]) / size
        high = np.array([row.high - (step * row.drop if tight else 0.0) for row in rows]) / size
        matrix = csr_array((values / size[at], (at, columns)), shape=(len(rows), len(units)))
        return matrix, low - slack, high + slack, units

    def run(self, seconds: float, *, step: float = -1.0, slack: float = 0.0, presolve: bool = False) -> Answer:
        """The cheapest point: of the rows as they are, `step` steps inside them, or with some slack around them.

        Presolving has been seen to lose the optimum (HiGHS in scipy 1.17, columns that only other columns make whole),
        so it is left to second opinions.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        if any(not row.weights for row in self.rows):
            return Answer(EMPTY, np.inf, None)
        if seconds <= 0:
            return Answer(STOPPED, 0.0, None)
        matrix, low, high, units = self._scaled(self.rows, step, slack)
        lower, upper = np.array(self.lower) / units, np.array(self.upper) / units
        whole = np.array(self.whole)
        if _is_lost(matrix, upper - lower):
            return Answer(UNCLEAR, 0.0, None)
        upper = np.where(whole, upper, upper + slack)
        price = np.array(self.price) * units
        # The solver stops within 1e-6 of the optimum: a large objective makes that small beside the cost.
        size = float(price.max(initial=0.0)) or 1.0
        blow = 1e4 / size
        with aside():
            result = milp(
                price * blow,
                integrality=whole.astype(np.int64),
                bounds=Bounds(lower, upper),
                constraints=LinearConstraint(matrix, low, high) if len(self.rows) else None,
                options={"mip_rel_gap": 0.0, "time_limit": seconds, "presolve": presolve},
            )
        status = {0: OPTIMAL, 1: STOPPED, 2: EMPTY}.get(result.status, UNCLEAR)
        bound = 0.0
        if status in (OPTIMAL, STOPPED):
            claimed = result.mip_dual_bound
            if claimed is None:
                claimed = result.fun if status == OPTIMAL else 0.0
            if np.isfinite(claimed):
                bound = max(float(claimed) / blow * (1 - 1e-9) - 1e-10 * size, 0.0)
        point = None
        if result.x is not None:
            point = np.asarray(result.x, dtype=np.float64) * units
            point[whole] = np.rint(point[whole])
        return Answer(status, np.inf if status == EMPTY else bound, point)

    def polish(self, point: Floats, step: float) -> tuple[float, Floats] | None:
        """The cheapest point with the same whole numbers, so many steps inside the rows; None if there is none.

        A negative step takes the rows as they are.
        """
        from scipy.optimize import linprog

        whole, implied = np.array(self.whole), np.array(self.implied)
        free = ~whole & ~implied
        left = np.flatnonzero(free)
        fixed = np.where(whole, point, 0.0)
        known = [row for row in self.rows if row.weights and not any(self.implied[v] for v in row.weights)]
        result = point.copy()
        prices = np.array(self.price)
        settled = float(prices[whole] @ point[whole])
        matrix, low, high, units = self._scaled(known, step, 0.0, free)
        done = matrix @ (fixed / units)
        part = matrix[:, left]
        low, high = low - done, high - done
        active = np.diff(part.indptr) > 0
        if ((low[~active] > 1e-7) | (high[~active] < -1e-7)).any():
            return None
        if len(left) == 0:
            return settled, result
        part, low, high = part[active], low[active], high[active]
        blocks, ends = [], []
        for sign, end in ((1.0, high), (-1.0, low)):
            there = np.isfinite(end)
            blocks.append(sign * part[there])
            ends.append(sign * end[there])
        from scipy.sparse import vstack

        lower, upper = np.array(self.lower)[left] / units[left], np.array(self.upper)[left] / units[left]
        price = prices[left] * units[left]
        size = float(price.max(initial=0.0)) or 1.0
        answer = linprog(
            price / size,
            A_ub=vstack(blocks) if part.shape[0] else None,
            b_ub=np.concatenate(ends) if part.shape[0] else None,
            bounds=np.column_stack([lower, upper]),
            method="highs-ds",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if answer.status != 0:
            return None
        result[left] = answer.x * units[left]
        return settled + float(answer.fun) * size, result


def _is_lost(matrix: Any, width: Floats) -> bool:
    """Whether the solver, which takes the smallest entries for zero, would leave out what can matter."""
    entries = matrix.tocoo()
    small = (entries.data != 0) & (np.abs(entries.data) < SMALLEST)
    return bool((np.abs(entries.data[small]) * width[entries.col[small]] > SMALLEST).any())
