"""Actions as the caller's table can hold them: where its floats are coarser than doubles, values are put on their grid.

A solver steps over the decision boundary by less than such a table can hold. Of the numbers around the one it found,
the nearest whose label turns is taken, further from the fact where that is what it takes.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.data.stored import nearest, steps, towards
from equieffort.recourse.problem import RecourseProblem

DOUBLINGS = 8
"""How often the steps beyond the first number on the far side are doubled: columns that follow are rounded as well."""

FURTHEST = 2.0**DOUBLINGS
"""More steps than any of them takes."""


def roundings(problem: RecourseProblem, facts: Floats, delta: Floats) -> Iterator[Floats]:
    """Changes that lead to numbers of the table: the nearest, the next ones further from and nearer to the fact, and
    ones a few steps further. The first is all there is where the table holds doubles."""
    places = {j: problem.grids[k] for j, k in enumerate(problem.numeric) if k in problem.grids}
    # Whole numbers are on the grid, or too large for one of their neighbours to be.
    places = {j: grid for j, grid in places.items() if not problem.is_integer[j]}
    yield delta
    if not places:
        return
    yield _rounded(problem, facts, delta, places, 0)
    yield _rounded(problem, facts, delta, places, -1)
    for doubling in range(DOUBLINGS):
        yield _rounded(problem, facts, delta, places, 2**doubling)


def _rounded(problem: RecourseProblem, facts: Floats, delta: Floats, places: dict[int, np.dtype], count: int) -> Floats:
    """So many steps beyond the first number on the side away from the fact; with -1 the first on the other side."""
    found = delta.copy()
    for j, grid in places.items():
        fact, change = facts[:, problem.numeric[j]], delta[:, j]
        away = np.where(change > 0, np.inf, -np.inf)
        if count < 0:
            value = towards(fact + change, -away, grid)
        else:
            value = steps(towards(fact + change, away, grid), away, count, grid)
        found[:, j] = np.where(change == 0, 0.0, value - fact)
    return found


def resolution(problem: RecourseProblem, facts: Floats, picked: Bools, values: Floats) -> Floats:
    """What one step on the grid of every number that is set costs: a smaller difference cannot be written."""
    numeric = list(problem.numeric)
    before, after = facts[:, numeric], np.where(picked, values, facts)[:, numeric]
    nearer = after.copy()
    for j, k in enumerate(numeric):
        if k in problem.grids:
            on_grid = nearest(after[:, j], problem.grids[k])
            nearer[:, j] = np.where(
                after[:, j] == before[:, j], after[:, j], steps(on_grid, before[:, j], 1, problem.grids[k])
            )
    return np.asarray(np.abs(problem.cost_parts(facts, after) - problem.cost_parts(facts, nearer)).sum(axis=1))
