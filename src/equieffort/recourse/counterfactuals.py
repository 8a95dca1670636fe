"""What an action makes of a person, what it costs, whether it is allowed: shared by solvers and whoever verifies them.

The conformance suite and the oracles of the tests keep their own, on purpose.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.data.stored import as_stored, inside
from equieffort.models.classifiers import BlackBox
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.status import Fault


def settings(
    problem: RecourseProblem,
    facts: Floats,
    intervention_mask: Bools,
    delta: Floats,
    level: npt.NDArray[np.int16],
) -> tuple[Bools, Floats]:
    """Which columns are set for whom, and to which values: the fact plus the change, kept inside its limits, and a
    number that the table can hold."""
    picked = np.zeros(facts.shape, dtype=bool)
    values = facts.copy()
    low, high = problem.action_box(facts)
    for b, k in enumerate(problem.acts):
        picked[:, k] = intervention_mask[:, b]
        if b < len(problem.numeric):
            # Rounding of fact + change must not carry the value past the limit it was computed from.
            values[:, k] = np.clip(facts[:, k] + delta[:, b], low[:, b], high[:, b])
            if k in problem.grids:
                values[:, k] = inside(values[:, k], low[:, b], high[:, b], problem.grids[k])
        else:
            picked[:, k] &= level[:, b - len(problem.numeric)] >= 0
            values[:, k] = np.where(picked[:, k], level[:, b - len(problem.numeric)], facts[:, k])
    return picked, values


def propagate(
    problem: RecourseProblem, facts: Floats, picked: Bools, values: Floats
) -> tuple[Floats, dict[str, Bools]]:
    """Counterfactuals over all columns, and by node for whom its equation has no answer: the graph's nodes follow the
    equations, the others are set or stay. A group that is not known and plays no part stays so."""
    nodes = len(problem.scm.graph.nodes)
    filled = problem.filled(facts)
    if (lacking := np.isnan(facts) & ~picked & ~np.isnan(filled)).any():
        facts = np.where(lacking, filled, facts)
    moved = np.where(picked, values, facts)
    moved[:, :nodes], unknown = problem.scm.propagate(facts[:, :nodes], picked[:, :nodes], values[:, :nodes])
    moved[lacking] = np.nan
    return moved, unknown


def propagate_as_stored(
    problem: RecourseProblem, facts: Floats, picked: Bools, values: Floats
) -> tuple[Floats, dict[str, Bools]]:
    """The same, and what follows is rounded as the caller's table rounds."""
    moved, unknown = propagate(problem, facts, picked, values)
    for k, grid in problem.grids.items():
        moved[:, k] = inside(moved[:, k], *problem.plausible(facts, k), grid)
    return moved, unknown


def changes(problem: RecourseProblem, facts: Floats, picked: Bools, values: Floats) -> Bools:
    """(person, actionable feature): which are changed. To hold a feature at its own value is no change."""
    acts = list(problem.acts)
    return np.asarray(picked[:, acts] & (values[:, acts] != facts[:, acts]))


def action_costs(problem: RecourseProblem, facts: Floats, picked: Bools, values: Floats) -> Floats:
    """What each actionable feature contributes to the cost, recomputed from the values that are set; infinite where a
    direction or limit does not allow the change of a category."""
    numeric = list(problem.numeric)
    costs = np.zeros((len(facts), len(problem.acts)))
    after = np.where(picked, values, facts)[:, numeric]
    costs[:, : len(numeric)] = problem.cost_parts(facts, after)
    for b, k in enumerate(problem.categorical):
        after = np.where(picked[:, k], values[:, k], facts[:, k])
        costs[:, len(numeric) + b] = problem.level_prices[b].between(facts[:, k], after)
    return costs


def faults(
    problem: RecourseProblem, facts: Floats, moved: Floats, unknown: Mapping[str, Bools], share: float = 1.0
) -> Iterator[tuple[Bools, Fault, str]]:
    """Who breaks what: ranges of what must stay or be plausible, rules between features, equations without an answer.

    `share` is how much of a column's tolerance is used: a search that takes less than all of it leaves the rest to the
    rounding of whoever verifies it.
    """
    for k in problem.ranged:
        low, high = problem.plausible(facts, k)
        forgiven = share * problem.tolerance(k, facts[:, k])
        # Written so that what is no number is outside.
        yield ~((moved[:, k] >= low - forgiven) & (moved[:, k] <= high + forgiven)), Fault.RANGE, problem.names[k]
    for broken, rule in problem.rules.faults(facts, moved):
        yield broken, Fault.RULE, rule
    for node, whom in unknown.items():
        yield whom, Fault.EQUATION, node


def is_allowed(
    problem: RecourseProblem, facts: Floats, moved: Floats, unknown: Mapping[str, Bools], share: float = 1.0
) -> Bools:
    """Whose counterfactual has no fault."""
    allowed = np.isfinite(moved).all(axis=1)
    for whom, _, _ in faults(problem, facts, moved, unknown, share):
        allowed &= ~whom
    return np.asarray(allowed)


def keeps_margin(problem: RecourseProblem, moved: Floats, *, rounding: bool = True) -> Bools:
    """Who is as far beyond the boundary as is asked, with `rounding` that of the model forgiven; everybody where no
    distance is asked, or none is known."""
    view = problem.view
    if problem.margin <= 0 or isinstance(view, BlackBox):
        return np.ones(len(moved), dtype=bool)
    margins = view.margins(moved)
    return view.goals.met(margins + view.rounding_error(moved) if rounding else margins, problem.margin)


def with_columns(frame: pd.DataFrame, columns: Mapping[str, Any]) -> pd.DataFrame:
    """The frame with some columns replaced; it shares the others. Names are no keywords, so that any will do."""
    changed = frame.copy(deep=False)
    for name, values in columns.items():
        changed[name] = as_stored(values, frame[name].dtype)
    return changed
