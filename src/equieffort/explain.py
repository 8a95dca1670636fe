"""What one person can do: which steps, what follows from them, and what it costs, in words and numbers."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import pandas as pd

from equieffort.frames import Column, number
from equieffort.solvers import Status
from equieffort.table import RecourseTable


@dataclass(frozen=True)
class Step:
    """One feature of the counterfactual: set, held, or following."""

    feature: str
    kind: str
    """"set", "hold" or "follows"."""
    before: Any
    after: Any
    cost: float

    @property
    def shown(self) -> Any:
        """The value as it is shown: one that is set is rounded away from the fact, so that doing it is enough."""
        if self.kind != "set" or isinstance(self.after, str | bool | int):
            return self.after
        return round_away(self.before, self.after)

    def __str__(self) -> str:
        before, after = _value(self.before), _value(self.shown)
        if self.kind == "hold":
            return f"keep {self.feature} at {before} although its causes change"
        moved = "" if isinstance(self.before, str | bool) else f" ({self.shown - self.before:+,.6g})"
        verb = "set" if self.kind == "set" else "then follows"
        if self.kind == "set":
            return f"{verb} {self.feature} from {before} to {after}{moved}, cost {self.cost:.4g}"
        return f"{self.feature} {verb} from {before} to {after}{moved}"


def round_away(fact: float, value: float, digits: int = 6) -> float:
    """The value with a few digits, rounded away from the fact: the last step over a boundary is not rounded off.

    >>> round_away(30, 40.5000000001), round_away(30, 12.3456789), round_away(30, 40.5)
    (40.5001, 12.3456, 40.5)
    """
    if value in (0.0, fact) or not np.isfinite(value):
        return value
    places = digits - 1 - int(np.floor(np.log10(abs(value))))
    near = round(value, places)
    if (near - value) * (value - fact) >= 0:
        return near
    return round(near + float(np.copysign(10.0**-places, value - fact)), places)


def _value(value: Any) -> str:
    return value if isinstance(value, str) else str(value) if isinstance(value, bool) else number(value)


@dataclass(frozen=True)
class Explanation:
    """A person's recourse; print it, or take its `frame()`."""

    person: Any
    group: str
    status: str
    cost: float
    bound: float
    steps: tuple[Step, ...]
    reason: str

    def frame(self) -> pd.DataFrame:
        """One row a step or consequence."""
        columns = ["feature", "kind", "before", "after", "cost"]
        return pd.DataFrame([[getattr(step, name) for name in columns] for step in self.steps], columns=columns)

    def __str__(self) -> str:
        head = f"Person {self.person} ({self.group}): "
        if self.status == "not_needed":
            return head + "the decision is favourable already; nothing is needed."
        if self.status == "infeasible":
            return head + f"no allowed action turns the decision. {self.reason}"
        if self.status == "unknown":
            return head + f"no action was found and none was excluded. {self.reason}"
        sure = "no cheaper action exists" if self.status == "optimal" else f"no action costs less than {self.bound:.4g}"
        acts = [f"  {n}. {step}" for n, step in enumerate((s for s in self.steps if s.kind != "follows"), start=1)]
        after = [f"  -> {step}" for step in self.steps if step.kind == "follows"]
        why = f" {self.reason}" if self.reason else ""
        return "\n".join([f"{head}turns the decision at a cost of {self.cost:.4g}; {sure}.{why}", *acts, *after])

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def explain(table: RecourseTable, row: int) -> Explanation:
    """Explain one row of the table."""
    status = Status(int(table.status[row]))
    one = np.array([row])
    steps: list[Step] = []
    if table.has_action[row]:
        steps = _steps(table, one)
    reason = ""
    if status in (Status.FEASIBLE, Status.INFEASIBLE, Status.UNKNOWN):
        reason = table.detail.reason(table, row)
    return Explanation(
        table.index[row],
        table.groups.labels[table.groups.codes[row]],
        status.text,
        float(table.cost[row]),
        float(table.bound[row]),
        tuple(steps),
        reason,
    )


def _steps(table: RecourseTable, one: Any) -> list[Step]:
    detail = table.detail
    facts, moved = detail.facts(one)[0], detail.moved(table, one)[0]
    chosen, _ = detail.chosen(table, one)
    costs = detail.costs(table, one)[0]
    steps = []
    for b, k in enumerate(table.acts):
        if chosen[0, b]:
            kind = "set" if facts[k] != moved[k] else "hold"
            steps.append(_step(detail.encoding.columns[k], kind, facts[k], moved[k], float(costs[b])))
    steps.sort(key=lambda step: step.kind, reverse=True)
    picked = {k for b, k in enumerate(table.acts) if chosen[0, b]}
    for k, column in enumerate(detail.encoding.columns):
        if k not in picked and facts[k] != moved[k]:
            steps.append(_step(column, "follows", facts[k], moved[k], 0.0))
    return steps


def _step(column: Column, kind: str, before: float, after: float, cost: float) -> Step:
    values = [column.decode(np.array([value]))[0] for value in (before, after)]
    plain = [value.item() if isinstance(value, np.generic) else value for value in values]
    return Step(column.name, kind, plain[0], plain[1], cost)
