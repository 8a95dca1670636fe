"""What the search works on: a problem, people, one person at a time, and nodes that wait."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.records import record
from equieffort.recourse.solvers.kernels.cost_curves import Curves, straight
from equieffort.recourse.solvers.kernels.simplex import make_program

SET, FOLLOW, OPEN = 0, 1, 2
"""Of a feature: set to a value, left to follow, not decided yet."""
SPLITS, BENT_SPLITS = 200, 1000
"""Room for so many boxes that wait beside those that decide a feature: of whole numbers, and where costs bend."""
PIECES = 5
"""Columns of a program for each way of an action whose cost bends."""


@record
class CompiledProblem(NamedTuple):
    """What is the same for everybody: actions in causal order, and how far a move carries along ways that meet no
    other action. A *track* is something linear in the moves of actions: first the score, then what has a range."""

    start: Any
    """(action + 1) where the edges of each action begin."""
    child: Any
    """(edge) the action that is moved."""
    effect: Any
    """(edge) by how much, a unit."""
    tracks: Any
    """(track, action)"""
    follows: Any
    """(action) whether it may be left to follow."""
    whole: Any
    """(action) whether only whole numbers may be set."""
    levels: Any
    """(root, category) the level that is set, or -1."""
    pushed: Any
    """(category, level, action) the move of each action by a level, up to a constant."""
    shifted: Any
    """(category, level, track)"""
    unit: Any
    """(track) how far its price moves, so that a track's own size does not matter."""
    clause_start: Any
    """(clause + 1) where the atoms of each rule begin, of which one must hold."""
    atom_track: Any
    """(atom)"""


@record
class CompiledBatch(NamedTuple):
    """Everybody, a row a person."""

    need: Any
    """(n, 4): the score without which there is no action, that by which costs are bounded, that which an action is to
    reach, and what rounding may add to a score."""
    low: Any
    """(n, action) least and largest change that may be set."""
    high: Any
    up: Any
    """(1 or n, action) price a unit."""
    down: Any
    prices: Any
    """(n, category, level) infinite where a level may not be set."""
    level: Any
    """(n, category) of the fact."""
    least: Any
    """(n, action) the range of what follows, as a change."""
    most: Any
    ends: Any
    """(n, track, 2) between which each track must stay, as a change; the score's are made from `need`."""
    roundings: Any
    """(n, track) what is forgiven of these ends."""
    atoms: Any
    """(n, atom, 3): the ends of each, and what is forgiven of them."""
    excluded: Any
    """(intervention set, 2 + action): a person, a root and statuses that the model has refused."""
    curves: Curves
    """What changes cost where prices bend, by the change instead of the value."""
    unit: Any
    """(1) what the cost of every action, levels not counted, is a multiple of, or 0 where no such number is known."""


@record
class Answers(NamedTuple):
    """A row a person; a kind of action each: one that passes the boundary, and one that reaches it but for rounding."""

    cost: Any
    """(n, 2)"""
    root: Any
    """(n, 2): the levels that are set, or -1 where there is no such action."""
    status: Any
    """(n, 2, action)"""
    change: Any
    """(n, 2, action)"""
    bound: Any
    """(n, 2): what any action costs at least, and what the first of the two costs at the boundary itself."""
    ended: Any
    """(n)"""
    looked: Any
    """(n) nodes."""


@record
class Options(NamedTuple):
    """How long and how exactly."""

    share: float
    """How far below the best cost a node is dropped, as a share of it."""
    nodes: int
    seconds: float
    only_sure: bool
    """Only actions that pass the boundary."""


@record
class Work(NamedTuple):
    """One person at a time, one node at a time; arrays over actions."""

    status: Any
    low: Any
    high: Any
    own_low: Any
    """The person's own limits."""
    own_high: Any
    up: Any
    down: Any
    least: Any
    most: Any
    base: Any
    """What levels push each action by."""
    ends: Any
    """(track, 2) between which its move by actions must stay; the score's first is what lacks."""
    needs: Any
    """(3) what is lacking of the score: at least, for the bound, for an action."""
    worth: Any
    """What a unit upwards is worth, and downwards: (2, action)."""
    passed: Any
    """What a unit coming in is worth, upwards and downwards: (2, action)."""
    size: Any
    """What the worth is summed from, without signs."""
    gained: Any
    """What setting each action is worth after its price."""
    at: Any
    """The change at which it is."""
    inflow: Any
    """(2, action) the most that can come in, upwards and downwards."""
    used: Any
    """(2, action) how much moves up and down where all gain the most."""
    weight: Any
    """The price of a unit of each track's move, put together: what a unit of each action's move earns by itself."""
    point: Any
    """A change of each action."""
    trial: Any
    """Statuses that are tried."""
    kept: Any
    """(3, action) numbers put aside."""
    scalar: Any
    """Numbers of this person; see the constants."""
    stack: Any
    """(room, 3, action) statuses and boxes of nodes that wait."""
    value: Any
    """(room, 2) their bounds, and the price of score at which these were found."""
    prices: Any
    """(track) of a unit of its move."""
    kept_prices: Any
    steps: Any
    roundings: Any
    row_sign: Any
    """(row) of the program: whether it is the track or its negative."""
    row_of: Any
    """(row) of the program: its track."""
    column: Any
    """(column) of the program: its action and which way."""
    sizes: Any
    """How many columns and rows the program has."""
    atoms: Any
    """(atom, 3) of the root at hand."""
    program: Any
    stack_tracks: Any
    """(room, track, 3): ends and prices of nodes that wait."""
    clock: Any
    """What the clocks show, as in `kernels.clock_kernels`."""
    who: Any
    """(1) the person."""
    curves: Curves
    hull: Any
    """(2, action, vertex, 3) where costs bend: the largest convex curve below the cost on the node's box, from where it
    is nearest to no change, upwards and downwards: change, cost, and the price of a unit further on."""
    vertices: Any
    """(2, action) how many there are."""
    hulls_of: Any
    """(action, 3) the boxes that these are of, and what is paid where they begin."""
    focus: Any
    """(2, action) the vertex around which a program sees the curve itself."""


BEST, FLOOR, LAMBDA, ROUNDING, PRICE, CUTOFF, ROOT, FORGIVEN, CUT, UNIT = range(10)
"""In `Work.scalar`: the least cost, levels counted; the least bound of what was dropped; a price of score at the least
cost; what rounding may add to the score; what the levels cost; from which bound on nodes are dropped, levels not
counted; the root; how much of a bound rounding of the score may take; where a bent cost is to be split; what each cost,
levels not counted, is a multiple of, or 0."""


def make_work(actions: int, tracks: int, atoms: int, clock: Any, curves: Curves | None = None) -> Work:
    """Room for people with so many actions; where the score is the only track no program is made."""
    bends = curves is not None and curves.bends
    k, room, rows = actions, 2 * actions + (BENT_SPLITS if bends else SPLITS), 2 * tracks
    curves = straight() if curves is None else curves
    columns = 2 * k * (PIECES if bends else 1)
    # A whole number may have a vertex on either side of a knot.
    knots = 2 * int(np.ptp(curves.places[:, :, :2], axis=2).max(initial=0)) + 6 if bends else 1
    one = [np.zeros(k) for _ in range(14)]
    two = [np.zeros((2, k)) for _ in range(4)]
    own = [np.zeros(tracks) for _ in range(4)]
    made: list[Any] = [
        np.zeros(k, dtype=np.int64), *one[:9], np.zeros((tracks, 2)), np.zeros(3), two[0], two[1], *one[9:12], two[2],
        two[3], *one[12:14], np.zeros(k, dtype=np.int64), np.zeros((3, k)), np.zeros(10), np.zeros((room, 3, k)),
        np.zeros((room, 2)), *own, np.zeros(rows), np.zeros(rows, dtype=np.int64), np.zeros(columns, dtype=np.int64),
        np.zeros(2, dtype=np.int64), np.zeros((atoms, 3)),
        make_program(rows, columns) if tracks > 1 else make_program(1, 1), np.zeros((room, tracks, 3)), clock,
        np.zeros(1, dtype=np.int64), curves, np.empty((2, k, knots, 3)), np.zeros((2, k), dtype=np.int64),
        np.full((k, 3), np.nan), np.zeros((2, k), dtype=np.int64),
    ]  # fmt: skip
    return Work(*made)


def make_answers(people: int, actions: int) -> Answers:
    """Nothing is found."""
    return Answers(
        np.full((people, 2), np.inf), np.full((people, 2), -1, dtype=np.int64),
        np.zeros((people, 2, actions), dtype=np.int64), np.zeros((people, 2, actions)), np.full((people, 2), np.inf),
        np.zeros(people, dtype=np.int64), np.zeros(people, dtype=np.int64),
    )  # fmt: skip
