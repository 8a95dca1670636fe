"""One person, one intervention set, as a linear or mixed-integer program for HiGHS.

Used where the fill does not apply: several actions move one limited column, or the price of a change is not constant.
The answer is polished in floating point before it is returned, since solvers work to tolerances of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import AFFORDED, CLAIMED, SMALLEST, SUMMED, TOLERANCE
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, TIE
from equieffort.recourse.solvers.cost_segments import Segment
from equieffort.recourse.solvers.highs import Answer, Highs, Matrix, ProgramStatus, program
from equieffort.recourse.solvers.linear.separable import Curve, least_cost

SECONDS = 30.0
"""A program that takes longer is given up: its person is unknown, not infeasible."""


@dataclass(frozen=True, eq=False)
class Side:
    """A feature moved one way: segments in order of distance from the fact."""

    feature: int
    sign: float
    segments: list[Segment]

    @property
    def is_convex(self) -> bool:
        """Whether prices never fall, so that segments fill in order by themselves."""
        return all(a[1] <= b[1] for a, b in zip(self.segments, self.segments[1:], strict=False))


@dataclass(frozen=True, eq=False)
class Program:
    """Least cost of sides, subject to gain >= need, ranges of rows, and whole numbers."""

    sides: list[Side]
    gain: Floats
    whole: Bools
    rows: Floats
    row_low: Floats
    row_high: Floats
    _made: dict[bool, tuple[Highs | None, float, float]] = field(default_factory=dict, init=False, repr=False)
    """With and without segments that must be kept in order."""

    def solve(
        self, need: float, slack: float, tolerance: float, cutoff: float = np.inf
    ) -> tuple[int, float, float, Floats]:
        """(code, cost, bound, delta) as `fill_batch` gives them; NONE also when nothing is cheaper than `cutoff`."""
        nothing = np.zeros(len(self.gain))
        reach, at = self.largest_gain(2 * abs(need) + max(slack, 0.0) + tolerance)
        if reach < need - tolerance:
            return NONE, np.inf, np.inf, nothing
        if not self.sides:
            # Nothing can be moved, and nothing need be.
            return (FOUND if need + slack <= 0 else TIE), 0.0, 0.0, nothing
        if len(self.rows) == 0:
            return self._separable(need, slack, tolerance, reach, cutoff)
        return self._ended(max(need + slack, need))._with_rows(need, slack, tolerance, reach, at)

    def _with_rows(
        self, need: float, slack: float, tolerance: float, reach: float, at: Floats | None
    ) -> tuple[int, float, float, Floats]:
        nothing = np.zeros(len(self.gain))
        bound, first = self._least_cost(self._easier(need, slack, tolerance, reach))
        if first is None:
            return LIMIT, np.inf, 0.0, nothing
        if self._only_nearly(first):
            return LIMIT, np.inf, 0.0, nothing
        if slack < 0:
            return FOUND, self._cost(first), bound, first
        wanted, code = (need + slack, FOUND) if reach >= need + slack else (reach, TIE)
        _, found = self._least_cost(wanted) if wanted != need else (bound, first)
        if found is None:
            if at is None:
                # Nothing is known of how far it goes: a label that stays at the need itself would exclude nothing.
                return LIMIT, np.inf, bound, nothing
            found, code = at, TIE
        if self._only_nearly(found):
            return LIMIT, np.inf, 0.0, nothing
        return code, self._cost(found), bound, found

    def _cost(self, delta: Floats) -> float:
        total = 0.0
        for side in self.sides:
            left = max(side.sign * delta[side.feature], 0.0)
            for width, price in side.segments:
                part = min(left, width)
                total += part * price
                left -= part
                if left <= 0:
                    break
        return total

    def _only_nearly(self, delta: Floats) -> bool:
        """Whether whole numbers keep a column still only up to the solver's tolerance: no solution on paper."""
        for row, low, high in zip(self.rows, self.row_low, self.row_high, strict=True):
            movers = row != 0
            if low == high and self.whole[movers].all():
                terms = row[movers] * delta[movers]
                if abs(terms.sum() - low) > SUMMED * (np.abs(terms).sum() + abs(low)):
                    return True
        return False

    def _ended(self, need: float) -> Program:
        """The same program with an end to segments that must be kept in order and have none.

        Some answer costs C, so none worth having goes further than C divided by the price out there.
        """
        endless = [side for side in self.sides if not side.is_convex and np.isinf(side.segments[-1][0])]
        if not endless:
            return self
        reach, _ = self.largest_gain(2 * abs(need))
        _, found = self._cheapest(min(need, reach), order=False, price=1.0)
        if found is None:
            return self
        enough = self._cost(found) * (1 + AFFORDED) + TOLERANCE
        sides = []
        for side in self.sides:
            width, price = side.segments[-1]
            if side in endless and price > 0:
                width = np.ceil(enough / price) + 1.0
            sides.append(Side(side.feature, side.sign, [*side.segments[:-1], (width, price)]))
        return replace(self, sides=sides)

    def _easier(self, need: float, slack: float, tolerance: float, reach: float) -> float:
        """The need that bounds the cost: itself, or for whole numbers as in `fill_batch`."""
        if not self.whole.any():
            return min(need, reach)
        if slack < 0:
            return need - tolerance
        amounts = any(not self.whole[side.feature] and side.sign * self.gain[side.feature] > 0 for side in self.sides)
        return min(need if amounts else need + tolerance, reach)

    def _separable(
        self, need: float, slack: float, tolerance: float, reach: float, cutoff: float
    ) -> tuple[int, float, float, Floats]:
        """Without rows one constraint is left, which branch and bound on the curves solves by itself."""
        curves = [curve for side in self.sides if (curve := self._curve(side)) is not None]
        nothing = np.zeros(len(self.gain))
        easier = self._easier(need, slack, tolerance, reach)
        wanted, code = (need + slack, FOUND) if reach >= need + slack else (reach, TIE)
        bound, point, proven = least_cost(curves, min(easier, wanted), cutoff)
        if point is None:
            return (NONE, np.inf, np.inf, nothing) if proven else (LIMIT, np.inf, bound, nothing)
        if wanted > easier:
            _, point, also = least_cost(curves, wanted)
            proven = proven and also
            if point is None:
                return LIMIT, np.inf, bound, nothing
        delta = nothing
        for curve, t in zip(curves, point, strict=True):
            delta[curve.feature] += curve.sign * t
        return code, self._cost(delta), bound, delta

    def _curve(self, side: Side) -> Curve | None:
        gain = side.sign * self.gain[side.feature]
        if gain <= 0:
            return None
        widths, prices = np.array(side.segments).T
        whole = bool(self.whole[side.feature])
        distance = np.concatenate([[0.0], np.cumsum(widths)])
        cost = np.concatenate([[0.0], np.cumsum(widths * prices)])
        return Curve(side.feature, side.sign, float(gain), whole, distance, cost)

    def _columns(self) -> tuple[Floats, Floats, Floats]:
        """For every segment: which feature it moves (signed, a row a feature), its width and its price."""
        segments = [(side, width, price) for side in self.sides for width, price in side.segments]
        moves = np.zeros((len(self.gain), len(segments)))
        for c, (side, _, _) in enumerate(segments):
            moves[side.feature, c] = side.sign
        widths, prices = np.array([w for _, w, _ in segments]), np.array([p for _, _, p in segments])
        return moves, widths, prices

    def largest_gain(self, enough: float) -> tuple[float, Floats | None]:
        """The largest gain within rows and limits, and where; -inf when the rows allow nothing, inf beyond `enough`.

        The gain is bounded by `enough`: asked without an end, the solver may call an unbounded program infeasible.
        """
        stays = bool(np.all(self.row_low <= 0) and np.all(self.row_high >= 0))
        if not self.sides:
            return (0.0, np.zeros(len(self.gain))) if stays else (-np.inf, None)
        moves, widths, _ = self._columns()
        if len(self.rows) == 0:
            useful = (self.gain @ moves) > 0
            delta = moves[:, useful] @ widths[useful]
            return float(self.gain @ delta), delta if np.isfinite(delta).all() else None
        answer = self._run(np.zeros(len(widths)), 0.0, order=False, most=enough)
        if answer.status == ProgramStatus.INFEASIBLE and not stays:
            return -np.inf, None
        if answer.point is None or answer.status != ProgramStatus.OPTIMAL:
            return np.inf, None
        delta = self._settle(moves @ answer.point[: len(widths)])
        gain = float(self.gain @ delta)
        return (np.inf if gain >= enough * (1 - CLAIMED) else gain), delta

    def _least_cost(self, need: float) -> tuple[float, Floats | None]:
        shorter, enough = self._affordable(need)
        value, found = shorter._cheapest(need)
        if shorter is self or (found is not None and self._cost(found) <= enough):
            return value, found
        return self._cheapest(need)

    def _affordable(self, need: float) -> tuple[Program, float]:
        """The same program without the parts that only answers dearer than some cost reach, and that cost.

        It is about what one answer costs, found without regard to the order of segments.
        """
        if all(side.is_convex for side in self.sides):
            return self, np.inf
        _, found = self._cheapest(need, order=False)
        if found is None:
            return self, np.inf
        enough = self._cost(found) * (1 + AFFORDED) + TOLERANCE
        sides = []
        for side in self.sides:
            spent = np.cumsum([0.0, *(width * price if price > 0 else 0.0 for width, price in side.segments)])
            kept = [segment for segment, start in zip(side.segments, spent, strict=False) if start <= enough]
            sides.append(replace(side, segments=kept))
        return replace(self, sides=sides), enough

    def _cheapest(self, need: float, *, order: bool = True, price: float | None = None) -> tuple[float, Floats | None]:
        """A bound on the cost and a point, with segments in order or not, at their own prices or all at one."""
        moves, _, prices = self._columns()
        answer = self._run(prices if price is None else np.full(len(prices), price), need, order=order)
        if answer.point is None or answer.status != ProgramStatus.OPTIMAL:
            return 0.0, None
        return answer.bound, self._settle(moves @ answer.point[: len(prices)])

    def _settle(self, delta: Floats) -> Floats:
        return np.where(self.whole, np.rint(delta), delta)

    def _run(self, prices: Floats, need: float, *, order: bool, most: float | None = None) -> Answer:
        """Minimise over segments; with `most`, make as large as possible what lies below the gain and below `most`."""
        is_ordered = order and not all(side.is_convex for side in self.sides)
        if is_ordered not in self._made:
            self._made[is_ordered] = self._make(is_ordered, abs(need) if most is None else most)
        highs, size, unit = self._made[is_ordered]
        if highs is None:
            return Answer(ProgramStatus.UNKNOWN)
        price, low, lower, upper = np.zeros(len(highs.lower)), highs.low.copy(), highs.lower.copy(), highs.upper.copy()
        price[: len(prices)], price[-1] = prices, 0.0 if most is None else -1.0
        low[-2], low[-1] = (need / size, -np.inf) if most is None else (-np.inf, 0.0)
        lower[-1], upper[-1] = (0.0, 0.0) if most is None else (-np.inf, most / unit)
        highs.set_prices(price)
        highs.set_columns(lower, upper)
        highs.set_rows(low, highs.high)
        return highs.confirmed(SECONDS)

    def _make(self, is_ordered: bool, need: float) -> tuple[Highs | None, float, float]:
        """Columns: segments, switches that keep segments of falling price in order, whole numbers, and the gain.

        Rows: those that keep segments in order, those that make whole, the program's own, the gain that is needed, and
        the gain as a column. Also what the last two were divided by. None if HiGHS would leave out what can matter.
        """
        moves, widths, _ = self._columns()
        breaks = self._breaks() if is_ordered else []
        count, extra, wholes = len(widths), len(breaks), np.flatnonzero(self.whole)
        links, own = 2 * extra, slice(2 * extra + len(wholes), -2)
        block = np.zeros((links + len(wholes) + len(self.rows) + 2, count + extra + len(wholes) + 1))
        low, high = np.zeros(len(block)), np.zeros(len(block))
        for b, (first, second) in enumerate(breaks):
            block[2 * b, [first, count + b]] = 1.0, -widths[first]
            block[2 * b + 1, [second, count + b]] = 1.0, -widths[second]
            high[2 * b], low[2 * b + 1] = np.inf, -np.inf
        block[links : links + len(wholes), :count] = moves[wholes]
        block[links : links + len(wholes), count + extra : -1] = -np.eye(len(wholes))
        block[own, :count], low[own], high[own] = self.rows @ moves, self.row_low, self.row_high
        gain = self.gain @ moves
        largest = float(np.abs(gain).max(initial=0.0)) or 1.0
        # Dividing by the need makes the solver's absolute tolerance a relative one; but it takes small entries for 0.
        size, unit = min(max(need, largest), 1e6 * largest), min(largest, 1.0)
        block[-2, :count], block[-1, :count], block[-1, -1], high[-2:] = gain / size, gain / unit, -1.0, np.inf
        lower = np.concatenate([np.zeros(count + extra), np.full(len(wholes), -np.inf), [0.0]])
        upper = np.concatenate([widths, np.ones(extra), np.full(len(wholes), np.inf), [0.0]])
        whole = np.repeat([False, True, False], [count, extra + len(wholes), 1])
        entries = np.abs(block)
        # Beside the largest of its row such an entry is what rounding left of nothing.
        block[entries < np.minimum(SMALLEST, SUMMED * entries.max(axis=1, keepdims=True))] = 0.0
        matrix = Matrix.of(block)
        if matrix.loses(upper - lower):
            return None, size, unit
        return program(np.zeros(len(upper)), matrix, low, high, lower, upper, whole), size, unit

    def _breaks(self) -> list[tuple[int, int]]:
        found, start = [], 0
        for side in self.sides:
            if not side.is_convex:
                found += [(start + s, start + s + 1) for s in range(len(side.segments) - 1)]
            start += len(side.segments)
        return found
