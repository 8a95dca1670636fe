"""One person, one intervention set, as a linear or mixed-integer program (scipy's HiGHS).

Used where the fill does not apply: several actions move one limited column, or the price of a change is not constant.
The answer is polished in floating point before it is returned, since solvers work to tolerances of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE
from equieffort.recourse.solvers.linear.separable import Curve, least_cost
from equieffort.recourse.solvers.quiet import aside

TIE = 2
"""The code of an action whose best score is the threshold up to rounding: only the model's own label can decide."""
Segment = tuple[float, float]
"""Width and price a unit."""
STATUS = {0: "optimal", 2: "infeasible", 3: "unbounded"}
"""What scipy's numbers mean; all else is "other", which proves nothing."""
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
            found, code = (at, TIE) if at is not None else (first, TIE)
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
                if abs(terms.sum() - low) > 1e-13 * (np.abs(terms).sum() + abs(low)):
                    return True
        return False

    def _ended(self, need: float) -> Program:
        """The same program with an end to segments that must be kept in order and have none.

        Some answer costs C, so none worth having goes further than C divided by the price out there.
        """
        endless = [side for side in self.sides if not side.is_convex and np.isinf(side.segments[-1][0])]
        if not endless:
            return self
        moves, widths, _ = self._columns()
        reach, _ = self.largest_gain(2 * abs(need))
        status, _, solution = self._run(np.ones(len(widths)), moves, widths, min(need, reach), order=False)
        if solution is None or status != "optimal":
            return self
        enough = self._cost(self._settle(moves @ solution)) * (1 + 1e-6) + 1e-9
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
        status, _, solution = self._run(np.zeros(len(widths)), moves, widths, None, order=False, most=enough)
        if status == "infeasible" and not stays:
            return -np.inf, None
        if solution is None or status != "optimal":
            return np.inf, None
        delta = self._settle(moves @ solution)
        gain = float(self.gain @ delta)
        return (np.inf if gain >= enough * (1 - 1e-9) else gain), delta

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
        moves, widths, prices = self._columns()
        status, _, solution = self._run(prices, moves, widths, need, order=False)
        if solution is None or status != "optimal":
            return self, np.inf
        enough = self._cost(self._settle(moves @ solution)) * (1 + 1e-6) + 1e-9
        sides = []
        for side in self.sides:
            spent = np.cumsum([0.0, *(width * price if price > 0 else 0.0 for width, price in side.segments)])
            kept = [segment for segment, start in zip(side.segments, spent, strict=False) if start <= enough]
            sides.append(replace(side, segments=kept))
        return replace(self, sides=sides), enough

    def _cheapest(self, need: float) -> tuple[float, Floats | None]:
        moves, widths, prices = self._columns()
        status, value, solution = self._run(prices, moves, widths, need, order=True)
        if solution is None or status != "optimal":
            return 0.0, None
        return value, self._settle(moves @ solution)

    def _settle(self, delta: Floats) -> Floats:
        return np.where(self.whole, np.rint(delta), delta)

    def _run(
        self,
        objective: Floats,
        moves: Floats,
        widths: Floats,
        need: float | None,
        *,
        order: bool,
        most: float | None = None,
    ) -> tuple[str, float, Floats | None]:
        """Minimise over segments; binaries keep segments of falling price in order.

        With `most`, a further variable below the gain and below `most` is made as large as possible instead.
        """
        from scipy.optimize import Bounds, LinearConstraint, milp

        breaks = self._breaks(widths) if order else []
        count, extra, wholes = len(widths), len(breaks), np.flatnonzero(self.whole)
        matrix = [self.rows @ moves]
        low, high = [self.row_low], [self.row_high]
        if need is not None:
            # Dividing by the need makes the solver's absolute tolerance a relative one.
            size = max(abs(need), np.abs(self.gain @ moves).max(initial=0.0), 1e-300)
            matrix.append((self.gain @ moves)[None, :] / size)
            low.append(np.array([need / size]))
            high.append(np.array([np.inf]))
        if most is not None:
            matrix.append((self.gain @ moves)[None, :])
            low.append(np.zeros(1))
            high.append(np.array([np.inf]))
        tops = 0 if most is None else 1
        block = np.zeros((sum(map(len, matrix)), count + extra + len(wholes) + tops))
        block[:, :count] = np.vstack(matrix)
        lows, highs = np.concatenate(low), np.concatenate(high)
        if most is not None:
            block[-1, -1] = -1.0
        price = np.concatenate([objective, np.zeros(extra + len(wholes)), -np.ones(tops)])
        lower = np.concatenate([np.zeros(count + extra), np.full(len(wholes) + tops, -np.inf)])
        upper = np.concatenate([widths, np.ones(extra), np.full(len(wholes), np.inf), np.full(tops, most or 0.0)])
        if extra == 0 and len(wholes) == 0:
            return _linprog(price, block, lows, highs, lower, upper, count)
        constraints, link_low, link_high = [block], [lows], [highs]
        for b, (first, second) in enumerate(breaks):
            link = np.zeros((2, block.shape[1]))
            link[0, [first, count + b]] = 1.0, -widths[first]
            link[1, [second, count + b]] = 1.0, -widths[second]
            constraints.append(link)
            link_low.append(np.array([0.0, -np.inf]))
            link_high.append(np.array([np.inf, 0.0]))
        for w, j in enumerate(wholes):
            link = np.zeros((1, block.shape[1]))
            link[0, :count], link[0, count + extra + w] = moves[j], -1.0
            constraints.append(link)
            link_low.append(np.zeros(1))
            link_high.append(np.zeros(1))
        # The solver's absolute gap is 1e-6: a large objective makes it small beside the cost.
        blow = 1e4 / max(np.abs(price).max(initial=0.0), 1e-300)
        # Presolving has been seen to lose an optimum; only what is said with it and without it is believed.
        with aside():
            answers = [
                milp(
                    price * blow,
                    integrality=np.concatenate([np.zeros(count), np.ones(extra + len(wholes)), np.zeros(tops)]),
                    bounds=Bounds(lower, upper),
                    constraints=LinearConstraint(
                        np.vstack(constraints), np.concatenate(link_low), np.concatenate(link_high)
                    ),
                    options={"mip_rel_gap": 0.0, "time_limit": SECONDS, "presolve": presolve},
                )
                for presolve in (False, True)
            ]
        status = STATUS.get(answers[0].status, "other") if answers[0].status == answers[1].status else "other"
        if any(answer.x is None for answer in answers):
            return status, 0.0, None
        best = min(answers, key=lambda answer: float(answer.fun))
        bounds = [answer.fun if answer.mip_dual_bound is None else answer.mip_dual_bound for answer in answers]
        return status, float(min(bounds)) / blow, np.asarray(best.x[:count], dtype=np.float64)

    def _breaks(self, widths: Floats) -> list[tuple[int, int]]:
        found, start = [], 0
        for side in self.sides:
            if not side.is_convex:
                found += [(start + s, start + s + 1) for s in range(len(side.segments) - 1)]
            start += len(side.segments)
        return found


def _linprog(
    price: Floats, block: Floats, lows: Floats, highs: Floats, lower_ends: Floats, upper_ends: Floats, count: int
) -> tuple[str, float, Floats | None]:
    from scipy.optimize import linprog

    upper, lower = np.isfinite(highs), np.isfinite(lows)
    a_ub = np.vstack([block[upper], -block[lower]])
    b_ub = np.concatenate([highs[upper], -lows[lower]])
    result = linprog(
        price,
        A_ub=a_ub if len(a_ub) else None,
        b_ub=b_ub if len(b_ub) else None,
        bounds=np.column_stack([lower_ends, upper_ends]),
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    status = STATUS.get(result.status, "other")
    if result.x is None:
        return status, 0.0, None
    return status, float(result.fun), np.asarray(result.x[:count], dtype=np.float64)
