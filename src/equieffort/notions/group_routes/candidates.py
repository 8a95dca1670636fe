"""Candidates for routes: people's own cheapest actions, rounded so that many can share them, and mined ones."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.notions.actions import Action, Part
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.table import RecourseTable

SHARES = (0.25, 0.5, 0.75, 0.9, 1.0)
"""Of the people who change the same features: an action as large as theirs is enough for such a share of them."""
DIGITS = 2


def rounded(value: float, up: bool, *, whole: bool = False) -> float:
    """To two significant digits, or to a whole number, away from what is easier.

    >>> rounded(1234.5, True), rounded(0.01234, False), rounded(2.1, True, whole=True), rounded(1234, True, whole=True)
    (1300.0, 0.012, 3.0, 1300.0)
    """
    if value == 0 or not np.isfinite(value):
        return value
    exact = Decimal(repr(float(value)))
    step = Decimal(1).scaleb(exact.adjusted() - DIGITS + 1)
    if whole:
        step = max(step, Decimal(1))
    return float((exact / step).to_integral_value(ROUND_CEILING if up else ROUND_FLOOR) * step)


def own_actions(problem: RecourseProblem, table: RecourseTable, rows: npt.NDArray[np.intp]) -> list[Action]:
    """Actions as large as those of shares of the people who set the same features the same way.

    Each twice: as a change, and as an end that a number must reach. The sets that most people need come first.
    """
    acting = rows[table.has_action[rows]]
    by_form: dict[Any, list[int]] = defaultdict(list)
    for row in acting.tolist():
        by_form[_form(table, row)].append(row)
    found: dict[Action, None] = {}
    facts = table.source.facts(slice(None)) if len(acting) else np.empty((0, 0))
    for form, people in sorted(by_form.items(), key=lambda one: (-len(one[1]), one[0])):
        for share in SHARES:
            for action in _actions(problem, table, facts, form, np.array(people), share):
                found.setdefault(action)
    return list(found)


def _form(table: RecourseTable, row: int) -> tuple[tuple[int, int], ...]:
    """Which features are set, and for each the direction of a number (0: held) or the level."""
    n_numeric = table.delta.shape[1]
    return tuple(
        (b, int(np.sign(table.delta[row, b])) if b < n_numeric else int(table.level[row, b - n_numeric]))
        for b in np.flatnonzero(table.intervention_mask[row]).tolist()
    )


def _actions(
    problem: RecourseProblem, table: RecourseTable, facts: Floats, form: Iterable[tuple[int, int]],
    people: npt.NDArray[np.intp], share: float,
) -> list[Action]:  # fmt: skip
    changes: list[Part] = []
    ends: list[Part] = []
    for b, how in form:
        k = problem.acts[b]
        column = problem.encoding.columns[k]
        if column.is_category:
            part = Part(column.name, "set", column.levels[how])
            changes.append(part)
            ends.append(part)
            continue
        if how == 0:
            changes.append(Part(column.name, "keep"))
            ends.append(Part(column.name, "keep"))
            continue
        moved = table.delta[people, b]
        size = rounded(_at(np.abs(moved), share), True, whole=column.is_whole)
        changes.append(Part(column.name, "change", how * size))
        reached = facts[people, k] + moved
        end = rounded(how * _at(how * reached, share), how > 0, whole=column.is_whole)
        ends.append(Part(column.name, "at_least" if how > 0 else "at_most", end))
    return [Action(tuple(parts)) for parts in (changes, ends) if parts]


def _at(values: Floats, share: float) -> float:
    return float(np.quantile(values, share, method="inverted_cdf"))
