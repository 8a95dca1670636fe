"""People as arrays for the search, spread over threads, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import NODE_SHARE, PRUNING
from equieffort.recourse.solvers.linear_batch import LinearBatch
from equieffort.recourse.solvers.linear_search.reduced_problem import ReducedProblem
from equieffort.recourse.solvers.rule_table import level_prices
from equieffort.world.cost import LinearCost, PiecewiseCost

if TYPE_CHECKING:
    from equieffort.recourse.solvers.kernels.cost_curves import Curves
    from equieffort.recourse.solvers.linear_search.arrays import Answers, CompiledBatch, CompiledProblem

Rows = npt.NDArray[np.intp]

INTERPRETED = 3e-4
"""Seconds about that a person takes for each action, where the search is interpreted."""
WITH_ROWS = 2e-3
"""The same where ranges or rules bind."""
BENDING = 12.0
"""How many times that where costs bend."""


@dataclass(frozen=True)
class Limits:
    """How exactly and how long."""

    gap: float
    nodes: int | None
    seconds: float | None


def needs_of(reduced: ReducedProblem, batch: LinearBatch) -> Floats:
    """(person, 4): the score without which there is no action, that by which costs are bounded, that which an action
    is to reach, and what rounding may add."""
    any_whole = bool(reduced.problem.is_integer.any())
    slack = batch.slack(any_whole)
    # Whole numbers are first tried with rounding forgiven; what they cost then bounds.
    bounding = batch.need + np.where(slack < 0, slack, 0.0)
    return np.column_stack([batch.need - batch.tolerance, bounding, batch.need + slack, batch.tolerance])


def people_of(reduced: ReducedProblem, batch: LinearBatch, excluded: Floats) -> CompiledBatch:
    """Everybody, as the kernels want them."""
    from equieffort.recourse.solvers.linear_search.arrays import CompiledBatch

    problem, order, matrix = reduced.problem, reduced.order, batch.matrix
    up, down, curves = _costs_of(reduced, batch.facts)
    positions = [problem.numeric[j] for j in order]
    low, high = batch.low - batch.facts, batch.high - batch.facts
    least, most = np.empty((2, len(matrix), len(order)))
    for q, k in enumerate(positions):
        ends = problem.plausible(matrix, k)
        least[:, q], most[:, q] = ends[0] - matrix[:, k], ends[1] - matrix[:, k]
        if reduced.frozen[k]:
            least[:, q] = most[:, q] = low[:, order[q]] = high[:, order[q]] = 0.0
    categories = list(problem.categorical)
    levels = max((len(table) for table in reduced.pushed), default=1)
    prices = np.full((len(matrix), len(categories), levels), np.inf)
    for b, table in enumerate(level_prices(problem, matrix)):
        if not reduced.frozen[categories[b]]:
            prices[:, b, : table.shape[1]] = table
    codes = np.nan_to_num(matrix[:, categories], nan=0.0).astype(np.int64).reshape(len(matrix), len(categories))
    return CompiledBatch(
        plain(needs_of(reduced, batch)), plain(low[:, order]), plain(high[:, order]), plain(up[:, order]),
        plain(down[:, order]), prices, codes, least, most, *_ends_of(reduced, matrix, batch.tolerance), plain(excluded),
        curves, np.array([_unit_of(reduced)]),
    )  # fmt: skip


def _costs_of(reduced: ReducedProblem, facts: Floats) -> tuple[Floats, Floats, Curves]:
    """Prices a unit up and down, or curves over the change where prices bend, their actions in causal order."""
    from equieffort.recourse.solvers.kernels.cost_curves import curves_of, straight

    cost = reduced.problem.cost
    if isinstance(cost, LinearCost):
        return *cost.prices(facts), straight()
    assert isinstance(cost, PiecewiseCost)
    curves = curves_of(cost, facts, from_facts=True)
    ones = np.ones((1, facts.shape[1]))
    places, tails = plain(curves.places[:, reduced.order], np.int64), plain(curves.tails[reduced.order])
    return ones, ones, curves._replace(places=places, tails=tails)


def _unit_of(reduced: ReducedProblem) -> float:
    """The largest number of which every price is a multiple, exactly; 0 where not only whole numbers may be set.

    Prices are doubles, that is, whole multiples of a power of two: their greatest common divisor is reckoned in whole
    numbers, so that whatever is done costs a multiple of it. Of prices that share nothing it is too small to be of use.
    """
    problem, cost = reduced.problem, reduced.problem.cost
    if not isinstance(cost, LinearCost) or cost.own or not problem.is_integer.all() or len(reduced.order) == 0:
        return 0.0
    ratios = [price.as_integer_ratio() for price in (*cost.up.tolist(), *cost.down.tolist())]
    finest = max(below for _, below in ratios)
    return gcd(*(above * (finest // below) for above, below in ratios)) / finest


def _ends_of(reduced: ReducedProblem, matrix: Floats, tolerance: Floats) -> tuple[Floats, Floats, Floats]:
    """(person, track, 2) ranges as changes, (person, track) what is forgiven of them, and (person, atom, 3) both of the
    rules' atoms. A search forgives less than a replay does."""
    problem, n = reduced.problem, len(matrix)
    ends, roundings = np.full((n, len(reduced.tracks), 2), np.inf), np.zeros((n, len(reduced.tracks)))
    ends[:, :, 0] = -np.inf
    roundings[:, 0] = PRUNING * PRUNING * tolerance
    of_rules = reduced.rules.ends(matrix)
    for t, k in enumerate(reduced.columns, start=1):
        if t <= reduced.ranged:
            least, most = problem.plausible(matrix, k)
            still = bool(reduced.frozen[k])
            ends[:, t, 0], ends[:, t, 1] = (0.0, 0.0) if still else (least - matrix[:, k], most - matrix[:, k])
            roundings[:, t] = PRUNING * problem.tolerance(k, matrix[:, k])
        else:
            roundings[:, t] = PRUNING * of_rules.tolerance[:, reduced.rules.track == k].min(axis=1)
    values = of_rules.values[:, reduced.rules.track]
    atoms = np.stack([of_rules.low - values, of_rules.high - values, PRUNING * of_rules.tolerance], axis=2)
    return ends, roundings, np.ascontiguousarray(atoms)


def taken(people: CompiledBatch, rows: Rows) -> CompiledBatch:
    """Some of the people, without what is excluded."""
    n = len(people.low)
    own = {
        name: array[rows]
        for name, array in people._asdict().items()
        if name not in ("curves", "unit") and len(array) == n
    }
    curves = people.curves
    if curves.bends:
        curves = curves._replace(places=curves.places[rows])
    return people._replace(**own | {"excluded": people.excluded[:0], "curves": curves})


def plain(array: Any, dtype: Any = np.float64) -> Any:
    """A copy: arrays that may not be written, or lie otherwise, would be another type, and compiled anew."""
    return np.array(array, dtype=dtype, order="C")


def search(
    reduced: ReducedProblem, compiled: CompiledProblem, people: CompiledBatch, limits: Limits, *, only_sure: bool
) -> Answers:
    """Everybody's answers on numba's number of threads; can be interrupted at any time."""
    from equieffort.recourse.solvers.kernels.everybody import solve_everybody
    from equieffort.recourse.solvers.linear_search.arrays import Options, make_answers, make_work

    if len(reduced.tracks) > 1 and people.curves.bends:
        from equieffort.recourse.solvers.linear_search.curve_kernels import search_people_with_curves_and_rows as solve
    elif len(reduced.tracks) > 1:
        from equieffort.recourse.solvers.linear_search.row_search_kernels import search_people_with_rows as solve
    elif people.curves.bends:
        from equieffort.recourse.solvers.linear_search.curve_kernels import search_people_with_curves as solve
    else:
        from equieffort.recourse.solvers.linear_search.search_kernels import search_people as solve

    n, count = people.low.shape
    answers = make_answers(n, count)
    share = min(max(0.1 * limits.gap, NODE_SHARE), 1.0)
    options = Options(
        share, 2**62 if limits.nodes is None else int(limits.nodes),
        np.inf if limits.seconds is None else float(limits.seconds), only_sure,
    )  # fmt: skip
    unlimited = options._replace(seconds=np.inf)

    def room(clock: Any, is_hurried: bool) -> tuple[Any, ...]:
        work = make_work(count, len(reduced.tracks), people.atoms.shape[1], clock, people.curves)
        return compiled, people, work, options if is_hurried else unlimited, answers

    each = INTERPRETED if len(reduced.tracks) == 1 else WITH_ROWS
    solve_everybody(solve, room, n, each * count * (BENDING if people.curves.bends else 1.0))
    return answers
