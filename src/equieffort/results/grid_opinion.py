"""An independent look at some people of an audit: every point of a dense grid, refined about its best ones.

Points are followed in plain numpy and decided by the model's own labels, as in `verify`. A point that leads to approval
for less than the audit's bound, or at all where the audit says that nothing does, contradicts the audit. Between the
points anything may lie, so that a grid can refute and never confirm.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, product
from math import inf

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Encoding, Floats
from equieffort.data.stored import as_stored
from equieffort.models.classifiers import Decision
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable
from equieffort.replay.actions import Actions, SavedProblem, ends_of
from equieffort.replay.answers import Opinion, Outcome

MOST = 2
"""So many features are set at once; more would take too many points."""
POINTS = 41
"""On each axis."""
ROUNDS = 6
"""So often the grid is laid again, about the best point so far, a tenth as wide."""
NARROWER = 0.1


@dataclass(frozen=True, eq=False)
class Grid:
    """Grids over the actions of people of a saved audit."""

    problem: SavedProblem
    decision: Decision
    frame: pd.DataFrame

    @property
    def refusal(self) -> str:
        """Why no grid covers what people may do; empty if one does."""
        schema, columns = self.problem.schema, self._actionable
        if len(columns) > MOST and (schema.max_actions or inf) > MOST:
            return f"it covers at most {MOST} features changed at once"
        for k in columns:
            column = self.problem.encoding.columns[k]
            if column.is_category or column.kind == "binary":
                return f"it covers numbers, and {column.name!r} has levels"
        code = [node for node, equation in self.problem.equations.items() if equation.is_code]
        if code or self.problem.prices.is_code:
            return "an equation or the cost is code, which no file holds"
        return ""

    @property
    def _actionable(self) -> list[int]:
        names = self.problem.encoding.names
        return [k for k in range(len(names)) if self.problem.feature(k).role == "actionable"]

    def opinion(self, table: RecourseTable, row: int, share: float, unit: float) -> Opinion:
        """What a grid finds for one person; `share` and `unit` are how far apart equal costs may be."""
        cost, bound, status = float(table.cost[row]), float(table.bound[row]), Status(table.status[row])
        found = self.cheapest(table, row)
        refuted = found < bound * (1 - share) - unit
        outcome: Outcome = "contradicted" if refuted else "unsettled"
        other = Status.FEASIBLE if found < inf else Status.UNKNOWN
        told = found if found < inf else float("nan")
        return Opinion(table.index[row], status.text, cost, bound, other.text, told, 0.0, outcome)

    def cheapest(self, table: RecourseTable, row: int) -> float:
        """The cost of the cheapest point that leads to approval; infinite if none does."""
        facts = table.source.facts(np.array([row]))
        label = np.array(table.groups.labels, dtype=object)[table.groups.codes[[row]]]
        best = inf
        for size in range(1, MOST + 1):
            for axes in combinations(self._actionable, size):
                best = min(best, self._refined(facts, label, row, axes))
        return best

    def _refined(self, facts: Floats, label: np.ndarray, row: int, axes: tuple[int, ...]) -> float:
        spans = [self._span(k, facts[:, k]) for k in axes]
        best, middle, widths = inf, None, [high - low for low, high in spans]
        for _ in range(ROUNDS):
            lines = []
            for at, (low, high) in enumerate(spans):
                if middle is not None:
                    widths[at] *= NARROWER
                    low, high = max(low, middle[at] - widths[at]), min(high, middle[at] + widths[at])
                line = np.linspace(low, high, POINTS)
                whole = self.problem.encoding.columns[axes[at]].is_whole
                lines.append(np.unique(np.clip(np.rint(line), *np.rint([low, high]))) if whole else line)
            points = np.array(list(product(*lines)))
            costs = self._costs(np.repeat(facts, len(points), 0), np.repeat(label, len(points)), row, axes, points)
            place = int(np.argmin(costs))
            if not costs[place] < inf:
                break
            if costs[place] < best:
                best, middle = float(costs[place]), points[place]
        return best

    def _span(self, k: int, fact: Floats) -> tuple[float, float]:
        """What may be set; where nothing ends it, as far as anybody is, and as far again."""
        low, high = (float(end[0]) for end in ends_of(self.problem.feature(k), fact))
        known = self.problem.reference[:, k]
        least, most = min(float(np.nanmin(known)), float(fact[0])), max(float(np.nanmax(known)), float(fact[0]))
        return low if low > -inf else 2 * least - most, high if high < inf else 2 * most - least

    def _costs(self, facts: Floats, labels: np.ndarray, row: int, axes: tuple[int, ...], points: Floats) -> Floats:
        """What each point costs; infinite where it may not be, or leads nowhere."""
        n = len(points)
        picked, values, parts = np.zeros(facts.shape, dtype=bool), facts.copy(), np.zeros(facts.shape)
        for at, k in enumerate(axes):
            picked[:, k], values[:, k] = True, points[:, at]
            column = self.problem.encoding.columns[k]
            parts[:, k] = self.problem.prices.of(self.problem.feature(k), column, labels, facts[:, k], points[:, at])
        cost = parts.sum(axis=1)
        never = np.zeros(n, dtype=bool)
        moved = self.problem.follow(facts, picked, values)
        actions = Actions(facts, picked, values, moved, parts, cost, cost, never, never, labels)
        allowed = np.isfinite(cost) & np.isfinite(moved).all(axis=1)
        for fault in self.problem.faults(actions):
            allowed &= ~fault.who
        if allowed.any():
            some = _only(actions, allowed)
            people = self.frame.iloc[np.full(int(allowed.sum()), row)]
            after = after_actions(self.problem.encoding, self.decision, people, some)
            allowed[allowed] = self.decision.is_favourable(after)
        return np.where(allowed, cost, inf)


def _only(actions: Actions, rows: Bools) -> Actions:
    return Actions(**{name: values[rows] for name, values in vars(actions).items()})


def after_actions(encoding: Encoding, decision: Decision, before: pd.DataFrame, actions: Actions) -> pd.DataFrame:
    """People as the model would see them after their actions; columns that nobody moves stay as they are."""
    after = before[list(decision.features)].copy(deep=False)
    for name in decision.features:
        k = encoding.position(name)
        if not np.array_equal(actions.moved[:, k], actions.facts[:, k], equal_nan=True):
            values = replace(encoding.columns[k], dtype=None).decode(actions.moved[:, k])
            after[name] = as_stored(values, before[name].dtype, encoding.columns[k].levels)
    return after
