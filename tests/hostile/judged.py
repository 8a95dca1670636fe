"""What the package says of a case in other units, read back into plain ones and judged there."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tests import oracles, oracles_trees
from tests.hostile.units import Units
from tests.oracles import Tally, answers, term

from equieffort.errors import EquieffortWarning
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve

INF = float("inf")
NEAR = 1e-6
"""How far costs may lie from the oracle's, relative to them; besides the solver's gap."""
KEPT = 1e-7
"""How far values may lie beyond limits or off their equations, in spreads of the feature."""
ULPS = 256
"""The same in distances between neighbouring doubles, for values far from zero."""


@dataclass(frozen=True)
class Told:
    """One person's row of the table, in plain units."""

    status: str
    cost: float
    bound: float
    effort: float
    reason: str
    done: dict[str, Any]
    """What is set, and to what."""
    after: dict[str, Any]
    """The counterfactual person."""
    turns: bool
    """Whether the model's own label of the returned table is favourable."""

    def __str__(self) -> str:
        return f"{self.status} with cost {self.cost!r} and bound {self.bound!r} ({self.reason})"


def count(tally: Tally, status: str) -> None:
    """One more person of a status."""
    tally.people += 1
    if status in ("optimal", "feasible", "infeasible"):
        setattr(tally, status, getattr(tally, status) + 1)


def asked(problem: RecourseProblem, people: pd.DataFrame, solver: Any, units: Units) -> list[Told]:
    """Everybody's answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        table = solve(problem, people, solver=solver)
        frame, after = answers(table), table.counterfactuals()
    turns = problem.decision.is_favourable(after)
    acts = [column[3:] for column in frame if column.startswith("do_")]
    found = []
    for row, told in enumerate(frame.to_dict("records")):
        done = {name: told[f"do_{name}"] for name in acts if not pd.isna(told[f"do_{name}"])}
        moved = after.iloc[row].to_dict()
        found.append(
            Told(
                told["status"], told["cost"], told["bound"], float(table.effort[row]), told["reason"],
                {name: units.plain(name, value) for name, value in done.items()},
                {name: units.plain(name, value) for name, value in moved.items()}, bool(turns[row]),
            )
        )  # fmt: skip
    return found


def followed(case: Any, person: dict[str, Any], done: dict[str, Any]) -> dict[str, Any]:
    """The counterfactual person by the case's own equations."""
    after = dict(person)
    for name in [name for name in case.people if name not in case.causes] + list(case.causes):
        causes = case.causes.get(name, {})
        if name in done:
            after[name] = done[name]
        elif causes and name not in case.levels:
            rise = sum(term(w, after[cause]) - term(w, person[cause]) for cause, w in causes.items())
            after[name] = person[name] + rise
    return after


def action_fault(case: Any, person: dict[str, Any], told: Told, units: Units, clauses: Any = ()) -> str:
    """Empty if an action is allowed, follows the equations, keeps the rules and turns the label."""
    if told.status not in ("optimal", "feasible"):
        return ""
    room = oracles_trees if isinstance(case, oracles_trees.Case) else oracles
    after = followed(case, person, told.done)
    spread = {n: float(np.ptp(case.people[n].to_numpy(dtype=float))) for n in case.people if n not in case.levels}
    tolerance = {
        n: KEPT * size + ULPS * units.rounding_error(n, person[n]) for n, size in spread.items() if n in person
    }
    for name, value in told.done.items():
        if name in case.levels:
            continue
        low, high = room.settable(case, name, person[name])
        if not low - tolerance[name] <= value <= high + tolerance[name]:
            return f"{name} is set to {value!r}, outside {low!r} to {high!r}"
        if name in case.wholes and value != round(value):
            return f"{name} is set to {value!r}, which is not whole"
    for name, wanted in after.items():
        if name in case.levels:
            if told.after[name] != wanted:
                return f"{name} becomes {told.after[name]!r}, not {wanted!r}"
            continue
        # What rounding does to causes far from zero, their effects inherit.
        own = tolerance[name] + sum(
            abs(w) * tolerance[cause] for cause, w in case.causes.get(name, {}).items() if not isinstance(w, dict)
        )
        low, high = room.believable(case, name, person[name])
        if not abs(told.after[name] - wanted) <= own:
            return f"{name} becomes {told.after[name]!r}, not {wanted!r}"
        if name not in told.done and not low - own <= wanted <= high + own:
            return f"{name} becomes {wanted!r}, outside {low!r} to {high!r}"
    for clause in clauses:
        if not any(_holds(part, after, tolerance) for part in clause):
            return f"none of {clause} holds"
    return "" if told.turns else "the label does not turn"


def _holds(part: Any, after: dict[str, Any], tolerance: dict[str, float]) -> bool:
    if len(part) == 2:
        return after[part[0]] in part[1]
    weights, low, high = part
    value = sum(w * after[name] for name, w in weights.items())
    room = 2 * sum(abs(w) * tolerance[name] for name, w in weights.items())
    return low - room <= value <= high + room


def cost_fault(told: Told, truth: float, gap: float, near: float = NEAR) -> str:
    """Empty if status, cost and bound can be true, given the least cost."""
    said = f"{told}, the oracle says {truth!r}"
    if told.status == "infeasible":
        return "" if truth == INF else said
    if truth == INF:
        return "" if told.status == "unknown" else said
    room = near * (1 + truth)
    if told.bound > truth + room or (told.status != "unknown" and told.cost < truth - room):
        return said
    if told.status == "optimal" and told.cost > truth + gap * max(1.0, truth) + room:
        return said
    return ""


def compare(
    problems: tuple[RecourseProblem, Callable[[], RecourseProblem]],
    people: tuple[pd.DataFrame, pd.DataFrame],
    solver: Any,
    units: Units,
    judge: Callable[[int, dict[str, Any], Told], str],
    label: str,
    most: int = 4,
    same: bool = True,
) -> Tally:
    """Solve a problem in new units; who is left open there is also solved in plain ones, and must be open too.

    That is not asked for (`same`) where the model itself reckons with numbers so large that its rounding decides.
    """
    tally = Tally(cases=1)
    plain_people, new_people = people
    told = asked(problems[0], new_people, solver, units)
    left_open: list[int] = []
    for row, person in enumerate(plain_people.to_dict("records")):
        one = told[row]
        if one.status == "not_needed" or tally.people >= most:
            continue
        count(tally, one.status)
        if one.status in ("feasible", "unknown") and getattr(solver, "certifies", True):
            left_open.append(row)
        fault = judge(row, person, one)
        if fault:
            tally.disagreements.append(f"{label}, person {row}: {fault}")
    if left_open and same:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquieffortWarning)
            before = asked(problems[1](), plain_people, solver, Units({}, {}))
        for row in left_open:
            if before[row].status in ("optimal", "infeasible"):
                tally.disagreements.append(f"{label}, person {row}: {told[row]}, in plain units {before[row]}")
    return tally
