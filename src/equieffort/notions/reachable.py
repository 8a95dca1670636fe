"""Which values one feature alone can reach, and how many of them are approved: a measure over an interval, or a count.

Numbers are looked at on a grid of `cells` cells with the ends, the fact and a tree's own thresholds added; wherever
two neighbours differ the boundary between them is found by halving. That is the exact measure where the score and the
equations are linear (what is approved is one side of a point), and for trees where nothing follows the feature.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.models.classifiers import LinearView, TreeView
from equieffort.recourse.counterfactuals import is_allowed, propagate_as_stored, with_columns
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.interventions import Misfit, intervention_sets_of
from equieffort.recourse.table import RecourseTable

CELLS = 64
MOST_WHOLE = 512
"""Whole numbers are all looked at up to so many, and evenly picked above; thresholds of trees likewise."""
HALVINGS = 40
AT_ONCE = 200_000

Rows = npt.NDArray[np.intp]
Asked = Callable[[Rows, Floats], tuple[Bools, Bools]]
"""People (positions) and a value each -> whether it is reachable, and whether it is reachable and approved."""


@dataclass(frozen=True, eq=False)
class Reached:
    """For some people the share of the reachable values of a feature that are approved; NaN where none is reachable."""

    feature: str
    share: Floats
    exact: bool


def reach(problem: RecourseProblem, table: RecourseTable, rows: Rows, position: int, cells: int = CELLS) -> Reached:
    """Look at every value that setting one actionable feature alone can give each of these people."""
    column = problem.encoding.columns[position]
    facts = problem.encoding.encode(table.data.iloc[rows])
    asked = _asked(problem, table, rows, facts, position)
    if column.is_category:
        levels = np.arange(len(column.levels), dtype=np.float64)
        prices = problem.level_prices[problem.categorical.index(position)].each(facts[:, position])
        values = np.where(np.isfinite(prices), levels[None, :], np.nan)
        return Reached(column.name, _counted(asked, values, facts[:, position]), True)
    low, high = (ends[:, problem.numeric.index(position)] for ends in problem.action_box(facts))
    low, high = np.minimum(low, facts[:, position]), np.maximum(high, facts[:, position])
    share = np.full(len(rows), np.nan)
    limited = np.isfinite(low) & np.isfinite(high)
    known = np.flatnonzero(limited)
    if not len(known):
        return Reached(column.name, share, True)

    def only(people: Rows, values: Floats) -> tuple[Bools, Bools]:
        return asked(known[people], values)

    fact, low, high = facts[known, position], low[known], high[known]
    if column.is_whole:
        values, exact = _whole(low, high)
        share[known] = _counted(only, values, fact)
        return Reached(column.name, share, exact)
    nodes, exact = _nodes(problem, position, low, fact, high, cells)
    share[known] = _measured(only, nodes)
    return Reached(column.name, share, exact)


def _asked(problem: RecourseProblem, table: RecourseTable, rows: Rows, facts: Floats, position: int) -> Asked:
    def asked(people: Rows, values: Floats) -> tuple[Bools, Bools]:
        reachable, approved = np.zeros(len(people), dtype=bool), np.zeros(len(people), dtype=bool)
        for start in range(0, len(people), AT_ONCE):
            part = slice(start, start + AT_ONCE)
            before = facts[people[part]]
            picked = np.zeros(before.shape, dtype=bool)
            picked[:, position] = True
            setting = before.copy()
            setting[:, position] = values[part]
            moved, unknown = propagate_as_stored(problem, before, picked, setting)
            allowed = is_allowed(problem, before, moved, unknown)
            reachable[part] = allowed
            if allowed.any():
                frame = table.data.iloc[rows[people[part][allowed]]]
                moved, before = moved[allowed], before[allowed]
                changed = {
                    column.name: column.decode(moved[:, k])
                    for k, column in enumerate(problem.encoding.columns)
                    if not np.array_equal(moved[:, k], before[:, k], equal_nan=True)
                }
                whom = start + np.flatnonzero(allowed)
                approved[whom] = problem.decision.is_favourable(with_columns(frame, changed))
        return reachable, approved

    return asked


def _counted(asked: Asked, values: Floats, facts: Floats) -> Floats:
    """Shares of single values, other than the fact: NaN marks places that are not used."""
    people, places = np.nonzero((values != facts[:, None]) & ~np.isnan(values))
    reachable, approved = asked(people, values[people, places])
    n = np.bincount(people[reachable], minlength=len(values))
    k = np.bincount(people[approved], minlength=len(values))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(n > 0, k / np.maximum(n, 1), np.nan))


def _whole(low: Floats, high: Floats) -> tuple[Floats, bool]:
    widest = int((high - low).max())
    if widest < MOST_WHOLE:
        values = low[:, None] + np.arange(widest + 1)
        return np.where(values <= high[:, None], values, np.nan), True
    spaced = np.round(np.linspace(low, high, MOST_WHOLE, axis=1))
    # Short ranges meet a number more than once; it counts once.
    return np.where(np.diff(spaced, axis=1, prepend=np.nan) == 0, np.nan, spaced), False


def _nodes(
    problem: RecourseProblem, position: int, low: Floats, fact: Floats, high: Floats, cells: int
) -> tuple[Floats, bool]:
    parts = [np.linspace(low, high, cells + 1, axis=1), fact[:, None]]
    name, view, graph = problem.names[position], problem.view, problem.scm.graph
    followed = name in graph.nodes and bool(graph.descendants(name))
    exact = not problem.rules and isinstance(view, LinearView) and (not followed or _is_linear(problem))
    if isinstance(view, TreeView):
        cuts = np.unique(view.threshold[(view.feature == position) & (view.subset < 0)])
        if len(cuts) > MOST_WHOLE:
            cuts = cuts[np.linspace(0, len(cuts) - 1, MOST_WHOLE).round().astype(np.intp)]
        else:
            exact = not problem.rules and not followed
        parts.append(np.clip(cuts[None, :], low[:, None], high[:, None]))
    return np.sort(np.concatenate(parts, axis=1), axis=1), exact


def _is_linear(problem: RecourseProblem) -> bool:
    try:
        intervention_sets_of(problem)
    except Misfit:
        return False
    return True


def _measured(asked: Asked, nodes: Floats) -> Floats:
    """Shares of intervals: the length of what is approved over that of what is reachable."""
    n, count = nodes.shape
    people = np.repeat(np.arange(n), count)
    found = asked(people, nodes.ravel())
    lengths = [_length(asked, which, nodes, found[which].reshape(n, count)) for which in (0, 1)]
    return np.asarray(np.divide(lengths[1], lengths[0], out=np.full(n, np.nan), where=lengths[0] > 0))


def _length(asked: Asked, which: int, nodes: Floats, state: Bools) -> Floats:
    widths = np.diff(nodes, axis=1)
    total = np.where(state[:, :-1] & state[:, 1:], widths, 0.0).sum(axis=1)
    people, places = np.nonzero((state[:, :-1] != state[:, 1:]) & (widths > 0))
    # From the end that counts to the end that does not.
    left = state[people, places]
    inner = np.where(left, nodes[people, places], nodes[people, places + 1])
    outer = np.where(left, nodes[people, places + 1], nodes[people, places])
    start = inner.copy()
    for _ in range(HALVINGS if len(people) else 0):
        middle = (inner + outer) / 2
        counts = asked(people, middle)[which]
        inner, outer = np.where(counts, middle, inner), np.where(counts, outer, middle)
    np.add.at(total, people, np.abs(inner - start))
    return total
