"""What the compiled search works on: a problem, people, one person at one root, a box of it, and room to work in.

A root is a set of interventions, a level for each actionable category and a goal of the classifier. Tracks are the
encoded columns and, behind them, virtual ones: weighted sums of columns that rules between features speak of. Under a
root every track is linear in the changes that are set: x' = start + effect . (z - fact). A *follower* is a track that
nobody sets and that actions can move.

Sizes: p intervention sets, r roots, t tracks, n numeric actions, c actionable categories, f followers, a atoms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from equieffort.foundations.records import record
from equieffort.recourse.solvers.kernels.cost_curves import Curves
from equieffort.recourse.solvers.kernels.simplex import Program


@record
class CompiledProblem(NamedTuple):
    """What is the same for everybody."""

    effect: Any
    """(p, t, n)"""
    shift: Any
    """(p, c, t, level)"""
    set_: Any
    """(p, n) which actions are set."""
    fixed: Any
    """(p, t) tracks that must not move."""
    limited: Any
    """(p, t) tracks that must stay in their range although nobody sets them."""
    slots: Any
    """(p, f) the followers of each intervention set, the first `counts` of them."""
    counts: Any
    tracks: Any
    """(f) the track of each follower."""
    actions: Any
    """(n) the track of each numeric action."""
    categories: Any
    """(c) the track of each actionable category."""
    slot_of: Any
    """(p, t) which follower a track is under an intervention set, or -1."""
    action_of: Any
    """(t) which numeric action a track is, or -1."""
    codes: Any
    """(t) which actionable category a track is, or -1."""
    whole: Any
    root_set: Any
    """(r) the intervention set of each root."""
    root_level: Any
    """(r, c) -1 keeps the level."""
    root_goal: Any
    goal_start: Any
    goal_margin: Any
    clause_start: Any
    """A clause holds if one of its atoms does: atoms clause_start[q] to clause_start[q + 1]."""
    atom_track: Any


@record
class CompiledBatch(NamedTuple):
    """A row a person."""

    x: Any
    """(person, track)"""
    low: Any
    """(person, action) the values that may be set."""
    high: Any
    up: Any
    """(person, action) the price of a unit, where costs do not bend."""
    down: Any
    range_low: Any
    """(person, track) the range of what follows."""
    range_high: Any
    budget: Any
    """(person) the first budget, where the oracle does not find one itself."""
    atom_low: Any
    """(person, atom) a clause that is not asked of somebody has an atom without ends."""
    atom_high: Any
    level_price: Any
    """(person, category, level) what a level costs: 0 for the person's own, infinite where it is not allowed."""
    curves: Curves


@record
class Person(NamedTuple):
    """One person at one root."""

    row: int
    """Which of the people it is."""
    root: int
    group: int
    """The root's intervention set."""
    price: float
    """What the levels cost."""
    followers: int
    fact: Any
    """(n) the factual value of each action."""
    low: Any
    """(n) the values that may be set."""
    high: Any
    up: Any
    down: Any
    set_: Any
    still: Any
    """(t) the factual value of each track."""
    start: Any
    """(t) its value under the chosen levels when no number is set otherwise."""
    effect: Any
    """(t, n) its change a unit of each action."""
    slots: Any
    """Followers as positions in the list of all followers, the first `followers` of them."""
    fixed: Any
    """(t)"""
    limited: Any
    range_low: Any
    range_high: Any
    atom_low: Any
    """(a)"""
    atom_high: Any
    members: Any
    """The margins of the root's goal."""


@record
class Box(NamedTuple):
    """A range for each value that is set, and branching bounds: ranges that followers must keep."""

    low: Any
    """(n)"""
    high: Any
    floor: Any
    """(f)"""
    roof: Any


@record
class Planes(NamedTuple):
    """Further rows that every action in a box meets: low <= rows . (z - fact)."""

    count: Any
    """(1): the first so many."""
    rows: Any
    """(plane, n)"""
    low: Any


@record
class Cell(NamedTuple):
    """A range for each track."""

    low: Any
    """(t)"""
    high: Any


@record
class Point(NamedTuple):
    """A point of a box that is tried."""

    z: Any
    """(n) the values that are set."""
    change: Any
    """(n) what a table adds to the facts to get them."""
    cell: Cell
    """The range of each track, as far as rounding may carry it."""


@record
class Space(NamedTuple):
    """Room to work in: the node at hand and what is being made of it."""

    box: Box
    inside: Box
    """The same box with branching bounds a little inside."""
    planes: Planes
    z: Any
    """(n) the cheapest point of the box."""
    point: Point
    cell: Cell
    """The range of every track over the box."""
    starts: Any
    """(r, t) the start of each root."""
    fact: Any
    """(n)"""
    program: Program
    action: Any
    """(column) the action of each column of the program, and the sign of its change."""
    sign: Any
    base: Any
    """(n) the change at the end of the box that is nearest to the fact."""


class Split(NamedTuple):
    """How a node is split: by the atoms of a clause, or a track (for a whole number its action) at a value."""

    children: Any
    """How many, or one of the codes below."""
    clause: Any
    whole: Any
    track: Any
    cut: float
    bound: float
    """What is proven of the node."""


CLOSED, THIN, ASK, ASK_THIN = 0, -1, -2, -3
"""Nothing cheaper is in a node; it cannot be split; only the model can decide its point, and with it the node; or its
point alone."""


@record
class Best(NamedTuple):
    """The best action so far, and what was left aside."""

    cost: Any
    """(3): the least cost; the least bound of what was dropped for its cost; the least bound of thin nodes."""
    root: Any
    """(1)"""
    change: Any
    """(n)"""


COST, DROPPED, LEFT = 0, 1, 2


@record
class Memo(NamedTuple):
    """What an oracle knows of a node and leaves to its children."""

    numbers: Any
    """The last says how many marks there are; -1 if nothing is known."""
    marks: Any


COUNT = -1


@record
class Options(NamedTuple):
    """How long to search and how near to come."""

    gap: float
    strict: float
    """How many rounding errors past the need a margin must lie to be believed."""
    asks: bool
    """Whether points that only the model can decide are put on record, or count as undecided."""
    nodes: int
    seconds: float
    last: float
    """Beyond how many first budgets there is none."""
    far: float
    """Infinite where boxes without end can be bounded. Elsewhere, if actions have no limits, only a few nodes are spent
    beyond so many first budgets, and what costs more than the last is not looked for."""


@record
class Answers(NamedTuple):
    """A row a person."""

    cost: Any
    bound: Any
    root: Any
    change: Any
    """(person, action)"""
    ended: Any
    looked: Any
    """Nodes looked at."""


@record
class Search(NamedTuple):
    """All that the kernels of a search have at hand."""

    oracle: Any
    """What bounds nodes: a forest or a network."""
    tools: Any
    """Room for the oracle to work in."""
    memo: Memo
    problem: CompiledProblem
    people: CompiledBatch
    options: Options
    clock: Any
    """The seconds now and a sign to stop, written by somebody else."""
    space: Space
    best: Best
    counts: Any
    """(5)"""
    answers: Answers


LOOKED, ENDED, MOST, ASKED, FIRST_ASKED = range(5)
"""What is counted: nodes looked at, why the search ended, how many nodes it may take, points asked about, and how many
of these belong to people before."""
