"""Branch and bound for networks: what is the same for everybody, and each person's ways to act as arrays.

`network_kernels` searches for one person; here its arrays are made and its answers become a proposal.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from equieffort.classifiers import NetworkView
from equieffort.cost import LinearCost, PiecewiseCost
from equieffort.errors import listed
from equieffort.frames import Bools, Floats, number
from equieffort.problem import TOLERANCE, RecourseProblem
from equieffort.solvers.base import FOUND, LIMIT, NONE, Proposal
from equieffort.solvers.linear import People, make_box
from equieffort.solvers.patterns import NotLinear, Pattern, make_patterns

TOGETHER = 1024
"""People whose arrays are made together."""
DONE, NODES, TIME, ENDLESS = 0, 1, 2, 3

_made: WeakKeyDictionary[RecourseProblem, Prepared] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Prepared:
    """Everything that does not depend on the person."""

    view: NetworkView
    patterns: list[Pattern]
    group: list[int]
    """For each pattern, which choice of set features it belongs to."""
    net: Any
    world: Any
    gains: list[dict[int, tuple[Floats, Floats]]]
    """For each group and category: what each level adds to the first layer, up to a constant, and its size."""


def supports_network(problem: RecourseProblem, gap: float) -> str:
    """Empty if the network can be searched, otherwise the reason why not."""
    view = problem.view
    assert isinstance(view, NetworkView)
    if problem.rules:
        return "The search of networks does not reckon with rules between features."
    if len(view.layers) > 1 and not gap > 0:
        return (
            "gap=0 cannot be proven for a network with hidden layers: its boundary is reached by ever smaller boxes, "
            "so a cost is certified to a gap above zero."
        )
    try:
        prepare(problem)
    except NotLinear as reason:
        return f"It is not linear: {reason.reason}."
    return ""


def propose_network(
    problem: RecourseProblem,
    matrix: Floats,
    *,
    attempt: int,
    gap: float,
    node_limit: int | None,
    time_limit: float | None,
) -> Proposal:
    """The cheapest action of each encoded person, as far as it is found within the limits."""
    proposal = Proposal.empty(problem, len(matrix))
    most = node_limit if node_limit is not None else np.iinfo(np.int64).max
    for first in range(0, len(matrix), TOGETHER):
        people = _People.of(problem, matrix[first : first + TOGETHER])

        def one(i: int, stop: Any, people: _People = people, first: int = first) -> None:
            _solve(people, i, first + i, proposal, attempt, gap, most, time_limit, stop)

        _each(one, len(people.matrix))
    return proposal


def _each(one: Any, count: int) -> None:
    """For everybody, on as many threads as numba may use; no result depends on it.

    The threads leave the main one free to hear Ctrl-C, which stops them at their next box.
    """
    import numba

    stops = np.zeros((count, 1), dtype=np.int64)
    pool = ThreadPoolExecutor(max(1, min(numba.get_num_threads(), count)))
    try:
        list(pool.map(one, range(count), stops))
    except BaseException:
        stops[:] = 1
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def why_network_infeasible(problem: RecourseProblem) -> str:
    """What was proven of a person without recourse."""
    names = listed([problem.names[k] for k in problem.acts])
    ways = len(prepare(problem).patterns)
    how = "in the only way to act" if ways == 1 else f"in all {ways} ways to set, hold or leave them"
    return f"Proven: whatever is allowed for {names}, {how}, the network does not reach the favourable decision."


def prepare(problem: RecourseProblem) -> Prepared:
    """The arrays of a problem, made once; raises `NotLinear` if an action reaches a bent equation."""
    if problem not in _made:
        _made[problem] = _prepared(problem)
    return _made[problem]


def _prepared(problem: RecourseProblem) -> Prepared:
    from equieffort.solvers.network_bounds_kernels import Net
    from equieffort.solvers.network_box_kernels import World

    view = problem.view
    assert isinstance(view, NetworkView)
    patterns = make_patterns(problem)
    choices = list(dict.fromkeys(pattern.is_set for pattern in patterns))
    group = [choices.index(pattern.is_set) for pattern in patterns]
    samples = [patterns[group.index(g)] for g in range(len(choices))]
    weights = view.layers[0].weights
    widths = np.array([len(layer.bias) for layer in view.layers], dtype=np.int64)
    wide, deep = int(widths.max()), len(view.layers) - 1
    rest, biases = np.zeros((deep, wide, wide)), np.zeros((deep, wide))
    for t, layer in enumerate(view.layers[1:]):
        rest[t, : layer.weights.shape[0], : layer.weights.shape[1]] = layer.weights
        biases[t, : len(layer.bias)] = layer.bias
    first = np.array([weights @ pattern.effect for pattern in samples])
    size = np.array([np.abs(weights) @ np.abs(pattern.effect) for pattern in samples])
    turned = np.ascontiguousarray(rest.transpose(0, 2, 1))
    rises, falls = np.maximum(turned, 0.0), np.minimum(turned, 0.0)
    net = Net(widths, first, size, rest, rises, falls, biases, float(view.relative_error))

    shared = [[row.effect for row in pattern.rows if len(row.movers) > 1] for pattern in samples]
    counts = np.array([len(rows) for rows in shared], dtype=np.int64)
    rows = np.zeros((len(samples), int(counts.max(initial=0)), len(problem.numeric)))
    for g, effects in enumerate(shared):
        for e, effect in enumerate(effects):
            rows[g, e] = effect
    whole = np.array([problem.is_integer & np.array(p.is_set, dtype=bool) for p in samples])
    sets = view.goals.sets
    members = np.full((len(sets), max(map(len, sets))), -1, dtype=np.int64)
    for goal, margins in enumerate(sets):
        members[goal, : len(margins)] = margins
    need = np.full(int(widths[-1]), float(problem.margin))
    gains = []
    for pattern in samples:
        own: dict[int, tuple[Floats, Floats]] = {}
        for c, shift in pattern.shifts.items():
            table = view.tables.get(c, np.zeros((len(weights), shift.shape[1])))
            own[c] = (weights @ shift + table, np.abs(weights) @ np.abs(shift) + np.abs(table))
        gains.append(own)
    return Prepared(view, patterns, group, net, World(rows, counts, whole, members, need), gains)


@dataclass(frozen=True, eq=False)
class _People:
    """Arrays of some people, one entry a pattern."""

    problem: RecourseProblem
    made: Prepared
    matrix: Floats
    facts: Floats
    start: Floats
    """(pattern, person, output)."""
    start_size: Floats
    low: Floats
    high: Floats
    price: Floats
    usable: Bools
    row_low: Floats
    row_high: Floats

    @classmethod
    def of(cls, problem: RecourseProblem, matrix: Floats) -> _People:
        made, n = prepare(problem), len(matrix)
        facts = matrix[:, list(problem.numeric)]
        low, high = problem.action_box(matrix)
        nothing = np.zeros(n)
        people = People(matrix, facts, low, high, nothing, nothing, 0, False)
        base, size = _first_layer(made.view, matrix)
        count, k, rows = len(made.patterns), len(problem.numeric), made.world.rows.shape[1]
        start = np.repeat(base[None], count, axis=0)
        start_size = np.repeat(size[None], count, axis=0)
        boxes = np.zeros((2, count, n, k))
        ends = np.zeros((2, count, n, rows))
        price, usable = np.zeros(count), np.zeros((count, n), dtype=bool)
        for p, (pattern, g) in enumerate(zip(made.patterns, made.group, strict=True)):
            box = make_box(problem, people, pattern, made.world.whole[g])
            boxes[0, p], boxes[1, p], usable[p] = box.low, box.high, box.usable
            for e, (row, least, most) in enumerate(box.shared):
                give = 0.5 * TOLERANCE * (1.0 + np.abs(matrix[:, row.position]))
                ends[0, p, :, e], ends[1, p, :, e] = least - give, most + give
            for c, level, weight in zip(problem.categorical, pattern.levels, problem.change_weights, strict=True):
                if level >= 0:
                    gain, sizes = made.gains[g][c]
                    own = matrix[:, c].astype(np.intp)
                    start[p] += gain[:, level] - gain.T[own]
                    start_size[p] += sizes[:, level] + sizes.T[own]
                    price[p] += weight
        return cls(problem, made, matrix, facts, start, start_size, boxes[0], boxes[1], price, usable, ends[0], ends[1])

    def roots(self, i: int) -> tuple[Any, Any]:
        """One person's ways to act, and the pattern of each."""
        from equieffort.solvers.network_box_kernels import Roots

        goals = len(self.made.view.goals.sets)
        ways = np.flatnonzero(self.usable[:, i])
        ways = ways[np.argsort(self.price[ways], kind="stable")]
        which = np.repeat(ways, goals)
        group = np.array(self.made.group, dtype=np.int64)[which]
        each = np.tile(np.arange(goals, dtype=np.int64), len(ways))
        price, low, high = self.price[which], self.low[which, i], self.high[which, i]
        start, size = self.start[which, i], self.start_size[which, i]
        roots = Roots(group, each, start, size, low, high, price, self.row_low[which, i], self.row_high[which, i])
        return roots, which

    def prices(self, i: int) -> Any:
        """What each action costs one person."""
        from equieffort.solvers.network_program_kernels import Prices

        cost, k = self.problem.cost, len(self.problem.numeric)
        if isinstance(cost, LinearCost):
            up, down = cost.prices(self.facts[i : i + 1])
            zero = np.zeros((k, 1))
            return Prices(
                zero, zero, np.ones(k, dtype=np.int64), np.zeros(k, dtype=np.int64), np.column_stack([down[0], up[0]])
            )
        assert isinstance(cost, PiecewiseCost)
        curves = [cost.curve(j, float(self.facts[i, j])) for j in range(k)]
        counts = np.array([len(knots) for knots, _ in curves], dtype=np.int64)
        knots, heights = np.zeros((2, k, int(counts.max(initial=1))))
        zeros = np.zeros(k, dtype=np.int64)
        for j, (values, costs) in enumerate(curves):
            knots[j, : counts[j]], heights[j, : counts[j]] = values - self.facts[i, j], costs
            zeros[j] = int(np.searchsorted(values, self.facts[i, j]))
        return Prices(knots, heights, counts, zeros, np.ascontiguousarray(cost.tails, dtype=np.float64))


def _first_layer(view: NetworkView, matrix: Floats) -> tuple[Floats, Floats]:
    """The first layer's outputs for the factual people, and the size of what is summed into them."""
    first = view.layers[0]
    base = matrix @ first.weights.T + first.bias
    size = np.abs(matrix) @ np.abs(first.weights.T) + np.abs(first.bias)
    for k, table in view.tables.items():
        levels = matrix[:, k].astype(np.intp)
        base += table.T[levels]
        size += np.abs(table.T[levels])
    return base, size


def _solve(
    people: _People,
    i: int,
    row: int,
    proposal: Proposal,
    attempt: int,
    gap: float,
    node_limit: int,
    time_limit: float | None,
    stop: Any,
) -> None:
    """Fill one person's row of the proposal."""
    from equieffort.solvers.network_kernels import search

    made = people.made
    roots, which = people.roots(i)
    if len(which) == 0:
        # No way to act can be used at all; after an attempt that was one cannot be the case.
        proposal.code[row] = NONE if attempt == 0 else LIMIT
        return
    # A network without hidden layers is solved exactly: only rounding is left to forgive.
    inside = 0.9 * gap if len(made.view.layers) > 1 else min(0.9 * gap, 1e-10)
    change = np.zeros(len(people.problem.numeric))
    with _alarm(stop, time_limit):
        why, root, cost, bound, nodes = search(
            made.net, made.world, roots, people.prices(i), 2.0**attempt, attempt == 0, inside, node_limit, stop, change
        )
    proposal.bound[row] = bound
    if root >= 0:
        pattern = made.patterns[which[root]]
        proposal.code[row], proposal.cost[row] = FOUND, cost
        proposal.chosen[row], proposal.delta[row] = pattern.chosen, change
        if len(people.problem.categorical):
            proposal.level[row] = pattern.levels
    else:
        proven = why == DONE and bound == np.inf and attempt == 0
        proposal.code[row] = NONE if proven else LIMIT
        if not proven and bound == np.inf:
            proposal.bound[row] = 0.0
    note = _note(why, bound, cost, gap, nodes, time_limit, root >= 0, people.problem)
    if note:
        proposal.notes[row] = note


def _note(
    why: int, bound: float, cost: float, gap: float, nodes: int, time_limit: float | None, acts: bool,
    problem: RecourseProblem,
) -> str:  # fmt: skip
    """Why the search ended before its end, as a sentence."""
    least = f"no action costs less than {number(bound)}"
    if why == NODES:
        return f"{nodes:,} boxes reached; {least}; raise node_limit."
    if why == TIME:
        return f"{time_limit:g} s reached; {least}; raise time_limit."
    if why == ENDLESS:
        return f"Nothing was found, and the actions have no limits; {least}."
    if acts and cost - bound > gap:
        view = problem.view
        assert isinstance(view, NetworkView)
        return f"The model's own rounding ({view.relative_error:.0e} of what it sums) leaves room; {least}."
    return ""


@contextmanager
def _alarm(stop: Any, seconds: float | None) -> Iterator[None]:
    """The array's entry becomes 1 when time is up."""
    if seconds is None:
        yield
        return

    def ring() -> None:
        stop[0] = 1

    timer = Timer(seconds, ring)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
