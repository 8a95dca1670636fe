"""Best-first search over boxes of the values that are set, many boxes of many people at each step.

Each person is searched for by themselves: their boxes, their order and their answers do not depend on whom they share
a step with.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import ALIKE, THIN
from equieffort.models.classifiers import TreeView
from equieffort.recourse.solvers.endings import DONE, ENDLESS, NODES
from equieffort.recourse.solvers.rule_table import allowed_levels
from equieffort.recourse.solvers.shared_time import SharedTime
from equieffort.recourse.solvers.spatial.boxes import Look, Open
from equieffort.recourse.solvers.spatial.compiled_problem import Indices, SpatialBatch, whole_ends
from equieffort.recourse.solvers.spatial.enclosures import Boxes, BoxRow
from equieffort.recourse.solvers.spatial.points import BAD, FRAGILE, GOOD, Points, judge, price
from equieffort.recourse.solvers.spatial.split import split

TOGETHER = 16
"""Boxes of a person looked at in one step."""
FIRST_BUDGET, LAST_BUDGET = 1.0, 2.0**30
"""Costs tried, growing, where limits do not say how far actions may go; the last one at the highest price."""


class Search:
    """The open boxes and the best points of people solved together."""

    def __init__(
        self, people: SpatialBatch, gap: float, node_limit: int, attempt: int, seconds: float | None = None
    ) -> None:
        problem, n = people.problem, len(people.matrix)
        self.people, self.node_limit, self.attempt = people, node_limit, attempt
        # The rest of the gap is for preferring sound points to fragile ones, and for rounding.
        self.gap, self.prefer = 0.8 * gap, 0.1 * gap
        self.look = Look(people, attempt)
        self.heaps: list[list[tuple[float, int, int, BoxRow]]] = [[] for _ in range(n)]
        self.count = 0
        self.cost = np.full(n, np.inf)
        self.key = np.full(n, np.inf)
        self.interventions = np.full(n, -1, dtype=np.intp)
        self.levels = np.full((n, len(problem.categorical)), -1.0)
        self.z = people.facts.copy()
        self.least_left = np.full(n, np.inf)
        """The least bound of what was put aside: by the gap, or as too thin."""
        self.ended = np.full(n, DONE, dtype=np.int8)
        self.boxes = np.zeros(n, dtype=np.int64)
        self.time = SharedTime(n, seconds)
        self.out_of_time = self.time.ended
        finite = np.isfinite(people.low).all(axis=1) & np.isfinite(people.high).all(axis=1)
        self.budget = np.where(finite, np.inf, FIRST_BUDGET)
        prices = [people.up, people.down, problem.dearest_levels(people.matrix)]
        self.last_budget = LAST_BUDGET * np.concatenate(prices, axis=1).max(axis=1, initial=1.0)

    @property
    def bound(self) -> Floats:
        """No action of a person's costs less; it never lies above the cost that was found."""
        return np.minimum(self.least_left, self.cost)

    def run(self) -> None:
        """Step until everybody is done."""
        self._plant(np.arange(len(self.heaps)))
        active = list(range(len(self.heaps)))
        while active:
            taken = {i: mine for i in active if (mine := self._next(i))}
            active = list(taken)
            self._step([box for mine in taken.values() for box in mine])
            looked_at = np.zeros(len(self.heaps), dtype=np.int64)
            looked_at[active] = [len(mine) for mine in taken.values()]
            self.time.charge(looked_at)
            self.out_of_time = self.time.ended

    def _plant(self, whom: Indices) -> None:
        """For each of these people one box for each intervention set, level and goal."""
        people = self.people
        problem, compiled, numeric = people.problem, people.compiled, list(people.problem.numeric)
        matrix, facts = people.matrix[whom], people.facts[whom]
        low, high = people.reach(whom, self.budget[whom])
        own = matrix[:, list(problem.categorical)]
        allowed = allowed_levels(problem, matrix)
        for root in compiled.roots:
            interventions, levels = compiled.intervention_sets[root.interventions], np.array(root.levels)
            open_ = np.ones(len(whom), dtype=bool)
            for b, level in enumerate(root.levels):
                if level >= 0:
                    open_ &= allowed[b][:, level] & (compiled.follows[b] | (own[:, b] != level))
            branching_low, branching_high = people.least[whom], people.most[whom]
            for k in interventions.frozen:
                tolerance = 1.01 * problem.tolerance(k, matrix[:, k])
                branching_low[:, k] = np.maximum(branching_low[:, k], matrix[:, k] - tolerance)
                branching_high[:, k] = np.minimum(branching_high[:, k], matrix[:, k] + tolerance)
            is_set = interventions.is_set
            start = np.where(is_set, np.maximum(low, branching_low[:, numeric]), facts)
            end = np.where(is_set, np.minimum(high, branching_high[:, numeric]), facts)
            start, end = whole_ends(start, end, problem.is_integer & is_set)
            open_ &= ~(start > end).any(axis=1)
            levels = np.broadcast_to(levels, own.shape)
            cost = people.level_price(whom, levels.astype(np.int16))
            for goal in range(len(problem.view.goals.sets)):
                boxes = Boxes(whom, levels, np.full(len(whom), goal), start, end, branching_low, branching_high)
                self._push(root.interventions, cost[open_], boxes.take(open_))

    def _push(self, interventions: int, bounds: Floats, boxes: Boxes) -> None:
        # Of equal bounds the newest first: deep boxes find points, which close all the others.
        for bound, box in zip(bounds.tolist(), boxes.rows(), strict=True):
            self.count += 1
            heappush(self.heaps[box[0]], (bound, -self.count, interventions, box))

    def _next(self, i: int) -> list[tuple[float, int, BoxRow]]:
        """The boxes of a person to be looked at now; none when they are done."""
        heap = self.heaps[i]
        while True:
            cutoff = self._cutoff(i)
            if not heap or heap[0][0] >= cutoff:
                if heap:
                    self.least_left[i] = min(self.least_left[i], heap[0][0])
                    heap.clear()
                if self._is_covered(i):
                    self.least_left[i] = min(self.least_left[i], self.budget[i])
                    return []
                if self.budget[i] >= self.last_budget[i] and not np.isfinite(self.cost[i]):
                    self.ended[i] = ENDLESS
                    self.least_left[i] = min(self.least_left[i], self.budget[i])
                    return []
                grown = 4 * self.budget[i]
                self.budget[i] = min(grown, self.cost[i]) if np.isfinite(self.cost[i]) else grown
                self.least_left[i] = np.inf
                self._plant(np.array([i]))
                continue
            if self.boxes[i] >= self.node_limit or self.out_of_time[i] != DONE:
                self.ended[i] = NODES if self.boxes[i] >= self.node_limit else self.out_of_time[i]
                self.least_left[i] = min(self.least_left[i], heap[0][0], self.budget[i])
                heap.clear()
                return []
            taken: list[tuple[float, int, BoxRow]] = []
            while heap and len(taken) < TOGETHER and heap[0][0] < cutoff:
                bound, _, interventions, box = heappop(heap)
                taken.append((bound, interventions, box))
            self.boxes[i] += len(taken)
            return taken

    def _cutoff(self, i: int) -> float:
        cost = self.cost[i]  # asked for so often that an array of one would cost more than the rest
        return float(min(cost * (1 - self.gap) if cost < np.inf else np.inf, self.budget[i]))

    def _proven_by(self, cost: Any) -> Any:
        """The bound that proves a cost to the gap; nothing proves that there is none."""
        return np.where(np.isfinite(cost), cost * (1 - self.gap), np.inf)

    def _is_covered(self, i: int) -> bool:
        """Whether no budget hid anything cheaper than the best point."""
        return bool(self.budget[i] == np.inf or self._proven_by(self.cost[i]) <= self.budget[i])

    def _step(self, taken: list[tuple[float, int, BoxRow]]) -> None:
        """Look at boxes, one intervention set after another: bound, try points, split."""
        each: dict[int, list[tuple[float, BoxRow]]] = {}
        for bound, interventions, box in taken:
            each.setdefault(interventions, []).append((bound, box))
        looked = [self._look(interventions, part) for interventions, part in sorted(each.items())]
        looked = [kept for kept in looked if len(kept)]
        self._try([points for kept in looked for points in self.look.suggest(kept)])
        for kept in looked:
            self._branch(kept)

    def _look(self, interventions: int, part: list[tuple[float, BoxRow]]) -> Open:
        boxes, bound = Boxes.of([box for _, box in part], self.people.problem), np.array([b for b, _ in part])
        fixed = self.people.level_price(boxes.person, boxes.levels.astype(np.int16))
        self._cut(boxes, fixed)
        filled = np.asarray((boxes.low <= boxes.high).all(axis=1))
        return self.look.bound(interventions, boxes.take(filled), bound[filled], fixed[filled])

    def _cut(self, boxes: Boxes, fixed: Floats) -> None:
        """Leave out what costs as much as the best point: its price is already known."""
        people, rows = self.people, boxes.person
        if not (people.straight and boxes.low.shape[1]):
            return
        left = np.minimum(self._proven_by(self.cost[rows]), self.budget[rows]) - fixed
        start = np.clip(people.facts[rows], boxes.low, boxes.high)
        up, down = people.up[rows], people.down[rows]
        parts = np.where(start > people.facts[rows], up, down) * np.abs(start - people.facts[rows])
        room = np.maximum(left[:, None] - (parts.sum(axis=1, keepdims=True) - parts), 0.0) * (1 + ALIKE)
        cut = np.isfinite(left)
        if not cut.any():
            return
        facts, whole = people.facts[rows], people.problem.is_integer
        tolerance = ALIKE * np.abs(facts)
        with np.errstate(invalid="ignore"):
            low, high = facts - room / down - tolerance, facts + room / up + tolerance
        low, high = whole_ends(low, high, whole)
        shrinks = cut & ((low > boxes.low) | (high < boxes.high)).any(axis=1)
        boxes.low, boxes.high = (
            np.where(cut[:, None], np.maximum(boxes.low, low), boxes.low),
            np.where(cut[:, None], np.minimum(boxes.high, high), boxes.high),
        )
        np.minimum.at(self.least_left, rows[shrinks], (left + fixed)[shrinks])

    def _try(self, parts: list[Points]) -> None:
        """Judge the points that would be the best; then look between the best and the fact."""
        if not parts:
            return
        points = Points(*(np.concatenate([getattr(p, name) for p in parts]) for name in Points.__dataclass_fields__))
        better = self._judge(points)
        if len(better):
            shares = np.linspace(0.0, 1.0, 9)[1:-1]
            rows = np.repeat(better, len(shares))
            facts, best = self.people.facts[rows], self.z[rows]
            z = facts + np.tile(shares, len(better))[:, None] * (best - facts)
            whole = self.people.problem.is_integer
            low, high = self.people.low[rows], self.people.high[rows]
            z = np.clip(np.where(whole, np.rint(z), z), low, high)
            self._judge(Points(rows, self.interventions[rows], self.levels[rows], z))

    def _judge(self, points: Points) -> Indices:
        """Keep the cheapest favourable point of each person; who has a better one now."""
        cost = price(self.people, points)
        hopeful = np.flatnonzero(cost < self.key[points.person] - ALIKE * (1 + cost))
        if not len(hopeful):
            return hopeful
        points, cost = points.take(hopeful), cost[hopeful]
        unique = np.unique(
            np.column_stack([points.person, points.interventions, points.levels, points.z]), axis=0, return_index=True
        )[1]
        points, cost = points.take(unique), cost[unique]
        verdict = judge(self.people, points, self.attempt)
        key = np.where(verdict == GOOD, cost, np.where(verdict == FRAGILE, cost * (1 + self.prefer), np.inf))
        order = np.argsort(key, kind="stable")
        best = order[np.unique(points.person[order], return_index=True)[1]]
        best = best[key[best] < self.key[points.person[best]]]
        better = points.person[best]
        self.key[better], self.cost[better] = key[best], cost[best]
        self.interventions[better], self.levels[better] = points.interventions[best], points.levels[best]
        self.z[better] = points.z[best]
        return better

    def _branch(self, kept: Open) -> None:
        """Split what may still hold something cheaper."""
        person = kept.boxes.person
        cutoff = np.minimum(self._proven_by(self.cost[person]), self.budget[person])
        shut = kept.bound >= cutoff
        np.minimum.at(self.least_left, person[shut], kept.bound[shut])
        kept = kept.take(~shut)
        if len(kept) == 0:
            return
        kept = self._settle(kept)
        if len(kept) == 0:
            return
        first, second, splits = split(self.people, kept.interventions, kept.boxes, kept.found, kept.margins, THIN)
        np.minimum.at(self.least_left, kept.boxes.person[~splits], kept.bound[~splits])
        for half in (first, second):
            filled = splits & (half.low <= half.high).all(axis=1)
            self._push(kept.interventions, kept.bound[filled], half.take(filled))

    def _settle(self, kept: Open) -> Open:
        """Boxes that are points are decided by that point alone."""
        point = (kept.boxes.low == kept.boxes.high).all(axis=1)
        if point.any():
            some = kept.take(point)
            points = Points(
                some.boxes.person, np.full(len(some), kept.interventions), some.boxes.levels, some.boxes.low
            )
            verdict = judge(self.people, points, self.attempt)
            # A good one has been taken, or was not better; a stricter attempt proves nothing of what it does not take.
            left = verdict != BAD
            np.minimum.at(self.least_left, some.boxes.person[left], some.bound[left])
            kept = kept.take(~point)
        return self._ask(kept)

    def _ask(self, kept: Open) -> Open:
        """A cell with one leaf of every tree has one label; where rounding decides it, the model says which."""
        problem, view = self.people.problem, self.people.problem.view
        if not isinstance(view, TreeView):
            return kept
        mine, margins = self.look.goals[kept.boxes.goal], kept.margins
        near = margins.most - 2 * margins.rounding_error <= problem.margin
        rows = np.flatnonzero(margins.decided & (mine & near & (margins.rounding_error > 0)).any(axis=1))
        if len(rows) == 0:
            return kept
        least, most = kept.found.least[rows], kept.found.most[rows]
        facts = self.people.matrix[kept.boxes.person[rows]]
        sample = np.where(np.isfinite(least), least, np.where(np.isfinite(most), most, facts))
        good = view.goals.met(view.margins(sample) + view.rounding_error(sample), problem.margin)
        good[good] = problem.decision.is_favourable(problem.encoding.decode(sample[good]))
        stays = np.ones(len(kept), dtype=bool)
        stays[rows[~good]] = False
        return kept.take(stays)
