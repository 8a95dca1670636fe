"""What the compiled search works on: a problem, people, one person at one root, a box of it, and room to work in.

A root is a set of interventions, a level for each actionable category and a goal of the classifier. Tracks are the
encoded columns and, behind them, virtual ones: weighted sums of columns that rules between features speak of. Under a
root every track is linear in the changes that are set: x' = start + effect . (z - fact). A *follower* is a track that
nobody sets and that actions can move.

Sizes: p intervention sets, r roots, t tracks, n numeric actions, c actionable categories, f followers, a atoms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from equieffort.foundations.arrays import Bools, Codes, Floats, Ints
from equieffort.foundations.records import record
from equieffort.recourse.solvers.kernels.cost_curves import Curves
from equieffort.recourse.solvers.kernels.simplex import Program


@record
class CompiledProblem(NamedTuple):
    """What is the same for everybody."""

    effect: Floats
    """(p, t, n)"""
    shift: Floats
    """(p, c, t, level)"""
    set_: Bools
    """(p, n) which actions are set."""
    fixed: Bools
    """(p, t) tracks that must not move."""
    limited: Bools
    """(p, t) tracks that must stay in their range although nobody sets them."""
    slots: Codes
    """(p, f) the followers of each intervention set, the first `counts` of them."""
    counts: Codes
    tracks: Codes
    """(f) the track of each follower."""
    actions: Codes
    """(n) the track of each numeric action."""
    categories: Codes
    """(c) the track of each actionable category."""
    slot_of: Codes
    """(p, t) which follower a track is under an intervention set, or -1."""
    action_of: Codes
    """(t) which numeric action a track is, or -1."""
    codes: Codes
    """(t) which actionable category a track is, or -1."""
    whole: Bools
    root_set: Codes
    """(r) the intervention set of each root."""
    root_level: Codes
    """(r, c) -1 keeps the level."""
    root_goal: Codes
    goal_start: Codes
    goal_margin: Codes
    clause_start: Codes
    """A clause holds if one of its atoms does: atoms clause_start[q] to clause_start[q + 1]."""
    atom_track: Codes


@record
class CompiledBatch(NamedTuple):
    """A row a person."""

    x: Floats
    """(person, track)"""
    low: Floats
    """(person, action) the values that may be set."""
    high: Floats
    up: Floats
    """(person, action) the price of a unit, where costs do not bend."""
    down: Floats
    range_low: Floats
    """(person, track) the range of what follows."""
    range_high: Floats
    budget: Floats
    """(person) the first budget, where the oracle does not find one itself."""
    atom_low: Floats
    """(person, atom) a clause that is not asked of somebody has an atom without ends."""
    atom_high: Floats
    level_price: Floats
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
    fact: Floats
    """(n) the factual value of each action."""
    low: Floats
    """(n) the values that may be set."""
    high: Floats
    up: Floats
    down: Floats
    set_: Bools
    still: Floats
    """(t) the factual value of each track."""
    start: Floats
    """(t) its value under the chosen levels when no number is set otherwise."""
    effect: Floats
    """(t, n) its change a unit of each action."""
    slots: Codes
    """Followers as positions in the list of all followers, the first `followers` of them."""
    fixed: Bools
    """(t)"""
    limited: Bools
    range_low: Floats
    range_high: Floats
    atom_low: Floats
    """(a)"""
    atom_high: Floats
    members: Codes
    """The margins of the root's goal."""


@record
class Box(NamedTuple):
    """A range for each value that is set, and branching bounds: ranges that followers must keep."""

    low: Floats
    """(n)"""
    high: Floats
    floor: Floats
    """(f)"""
    roof: Floats


@record
class Planes(NamedTuple):
    """Further rows that every action in a box meets: low <= rows . (z - fact)."""

    count: Any
    """(1): the first so many."""
    rows: Floats
    """(plane, n)"""
    low: Floats


@record
class Cell(NamedTuple):
    """A range for each track."""

    low: Floats
    """(t)"""
    high: Floats


@record
class Point(NamedTuple):
    """A point of a box that is tried."""

    z: Floats
    """(n) the values that are set."""
    change: Floats
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
    z: Floats
    """(n) the cheapest point of the box."""
    point: Point
    cell: Cell
    """The range of every track over the box."""
    starts: Floats
    """(r, t) the start of each root."""
    fact: Floats
    """(n)"""
    program: Program
    action: Ints
    """(column) the action of each column of the program, and the sign of its change."""
    sign: Floats
    base: Floats
    """(n) the change at the end of the box that is nearest to the fact."""
    sizes: Ints
    """(2) rows and columns of the program that was solved last; no rows where none was needed."""


class Split(NamedTuple):
    """How a node is split: by the atoms of a clause, a track (for a whole number its action) at a value, or a mark."""

    children: Any
    """How many, or one of the codes below."""
    clause: Any
    whole: Any
    track: Any
    mark: Any
    """Twice this joins the marks of the first child, and one more those of the second; -1 if there is none."""
    cut: float
    bound: float
    """What is proven of the node."""


CLOSED, THIN, ASK, ASK_THIN = 0, -1, -2, -3
"""Nothing cheaper is in a node; it cannot be split; only the model can decide its point, and with it the node; or its
point alone."""


@record
class Best(NamedTuple):
    """The best action so far, and what was left aside."""

    cost: Floats
    """(3): the least cost; the least bound of what was dropped for its cost; the least bound of thin nodes."""
    root: Ints
    """(1)"""
    change: Floats
    """(n)"""


COST, DROPPED, LEFT = 0, 1, 2


@record
class Memo(NamedTuple):
    """What an oracle knows of a node and leaves to its children."""

    numbers: Floats
    """The last says how many marks there are; -1 if nothing is known."""
    marks: Codes


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
    growth: float
    """How many times larger the budget is from round to round."""
    last: float
    """Beyond how many first budgets there is none."""
    patience: int
    """After so many nodes without any action one is looked for in haste; 0 never."""
    far: float
    """Infinite where boxes without end can be bounded. Elsewhere, if actions have no limits, only a few nodes are spent
    beyond so many first budgets, and what costs more than the last is not looked for."""


@record
class Answers(NamedTuple):
    """A row a person."""

    cost: Floats
    bound: Floats
    root: Ints
    change: Floats
    """(person, action)"""
    ended: Ints
    looked: Ints
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
    """(5): what the clocks show and a sign to stop, written by somebody else, and when the person at hand began."""
    space: Space
    best: Best
    counts: Ints
    """(6)"""
    answers: Answers


LOOKED, ENDED, MOST, ASKED, FIRST_ASKED, HASTE = range(6)
"""What is counted: nodes looked at, why the search ended, how many nodes it may take, points asked about, how many of
these belong to people before, and how hasty the search is."""
CALM, HASTES, PROVING = 0, 3, 4
"""How hasty a search is: not at all until its patience ends; then, from 1 to `HASTES`, ever less, so that it finds
actions and proves nothing; and not at all until the end."""
