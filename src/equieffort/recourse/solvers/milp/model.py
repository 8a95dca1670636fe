"""One person as a mixed-integer program: what may be set, what follows, and what it costs.

Each actionable number has parts up and down; one that would follow another action also has a switch, set or left. Each
actionable category has a switch a level. Every other column is a form of these, along the structural equations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from equieffort.data.frames import Floats
from equieffort.foundations.tolerances import AFFORDED, TOLERANCE
from equieffort.recourse.problem import ReadableView, RecourseProblem
from equieffort.recourse.solvers.cost_segments import Segment, segments
from equieffort.recourse.solvers.milp.program import NOTHING, Form, Program
from equieffort.recourse.solvers.rule_table import RuleTable, level_prices
from equieffort.world.scm import Linear

Reach = dict[int, tuple[float, float]]


@dataclass(eq=False)
class Model:
    """A person's program and what its variables mean."""

    problem: RecourseProblem[ReadableView]
    rules: RuleTable
    facts: Floats
    """The encoded person, a matrix of one row."""
    program: Program = field(default_factory=Program)
    changes: list[Form] = field(default_factory=list)
    """The change of each column; categories have none."""
    amounts: list[Form] = field(default_factory=list)
    """The change that is set of each numeric action."""
    set_: dict[int, int] = field(default_factory=dict)
    """By numeric action that can also be left: the switch that is 1 when it is set."""
    levels: dict[int, list[int]] = field(default_factory=dict)
    """By actionable category: a switch a level."""
    leaves: dict[int, int] = field(default_factory=dict)
    """By leaf of a tree: the variable that is 1 when the person falls into it."""
    only: set[int] = field(default_factory=set)
    """The leaves of trees in which the person can fall into no other."""
    branching_bounds: list[tuple[int, float, int]] = field(default_factory=list)
    """(column, threshold, switch that is 1 at or below it)."""
    is_cut: bool = False
    """Whether the budget, not a limit, ends what may be set."""
    any_cost: bool = False
    """Whether it only matters if there is an action, not what it costs."""
    reach: Reach = field(default_factory=dict)
    """By numeric action that moves nothing else: the largest changes down and up that make a difference."""

    def fact(self, k: int) -> float:
        """The person's own value."""
        return float(self.facts[0, k])

    def ends(self, k: int) -> tuple[float, float]:
        """The least and the largest change of a column."""
        low, high = self.program.range(self.changes[k])
        if not self.changes[k].weights:
            return low, high
        least, most = self.problem.plausible(self.facts, k)
        return max(low, float(least[0]) - self.fact(k)), min(high, float(most[0]) - self.fact(k))

    def is_whole(self, k: int) -> bool:
        """Whether a column is a whole number whatever is chosen."""
        if k not in self.problem.numeric:
            return False
        j = self.problem.numeric.index(k)
        return bool(self.problem.is_integer[j]) and j not in self.set_

    def shifted(self, k: int, table: Floats) -> Form:
        """What a table of levels adds to a sum, beyond what the person's own level does."""
        own = float(table[int(self.fact(k))])
        if k not in self.levels:
            return Form({}, 0.0)
        return Form(
            {switch: float(table[code]) - own for code, switch in enumerate(self.levels[k]) if table[code] != own}
        )

    def leave_out(self, point: Floats) -> bool:
        """Forbid the action of a point, if it is all whole numbers with ends and choices; whether it is."""
        program, spans = self.program, [self.program.range(amount) for amount in self.amounts]
        if not (np.all(self.problem.is_integer) and np.all(np.isfinite(spans))):
            return False
        choices = [*self.set_.values(), *(switch for switches in self.levels.values() for switch in switches)]
        ones = {switch: point[switch] > 0.5 for switch in choices}
        other = Form({v: -1.0 if one else 1.0 for v, one in ones.items()}, float(sum(ones.values())))
        for amount, (low, high) in zip(self.amounts, spans, strict=True):
            value = float(np.rint(amount.at(point)))
            if value > low:
                below = program.switch()
                program.row(amount.plus(Form({below: high - value + 1.0})), high=high)
                other = other.plus(Form({below: 1.0}))
            if value < high:
                above = program.switch()
                program.row(amount.plus(Form({above: low - value - 1.0})), low=low)
                other = other.plus(Form({above: 1.0}))
        program.row(other, low=1.0)
        return True


def first_bent(problem: RecourseProblem) -> str:
    """The first node below an action whose equation is no weighted sum; empty if all are."""
    scm = problem.scm
    acting = [problem.names[k] for k in problem.acts if problem.names[k] in scm.graph.nodes]
    for node in scm.graph.descendants(*acting):
        mechanism = scm.mechanisms_[node]
        if mechanism is not None and not isinstance(mechanism, Linear):
            return node
    return ""


def person_model(
    problem: RecourseProblem[ReadableView],
    rules: RuleTable,
    facts: Floats,
    *,
    budget: float = np.inf,
    hold: bool = False,
    any_cost: bool = False,
    loose: bool = False,
    reach: Reach | None = None,
) -> Model:
    """The program of an encoded person (a matrix of one row), without rules between features and the decision.

    With `budget` only actions are looked at of which no part costs more; with `hold` nothing is left to follow. With
    `any_cost` prices only matter for the scale: the program is empty when there is no action, and needs fewer bounds.
    `reach` says of numeric actions how far down and up a change can make any difference.
    With `loose` what needs a bound that is not there is left out, so that the program only bounds from below.
    """
    model = Model(problem, rules, facts, Program(loose=loose), any_cost=any_cost, reach=reach or {})
    _add_levels(model)
    _add_columns(model, budget, hold)
    _add_ranges(model)
    return model


def _add_levels(model: Model) -> None:
    problem, program = model.problem, model.program
    for c, prices in zip(problem.categorical, level_prices(problem, model.facts), strict=True):
        # A level that may not be set has no price that a program could hold, and is fixed at nought.
        switches = [program.switch(price=price if np.isfinite(price) else 0.0) for price in prices[0].tolist()]
        for level in np.flatnonzero(np.isinf(prices[0])).tolist():
            program.fix(switches[level], 0.0)
        model.levels[c] = switches
        program.one_of(switches)


def _add_columns(model: Model, budget: float, hold: bool) -> None:
    problem, scm = model.problem, model.problem.scm
    nodes = scm.graph.nodes
    model.changes = [NOTHING] * len(problem.names)
    model.amounts = [NOTHING] * len(problem.numeric)
    for k, name in enumerate(problem.names):
        follows = _follows(model, name) if name in nodes and scm.graph.parents(name) else NOTHING
        if k in problem.numeric:
            j = problem.numeric.index(k)
            model.changes[k] = _add_amount(model, j, follows if not hold else NOTHING, budget)
        else:
            model.changes[k] = follows


def _follows(model: Model, node: str) -> Form:
    """How a node follows its causes."""
    problem, scm = model.problem, model.problem.scm
    mechanism = scm.mechanisms_[node]
    causes = [problem.encoding.position(parent) for parent in scm.graph.parents(node)]
    if not isinstance(mechanism, Linear):
        # A category without an equation: nothing says how it would follow, so its causes must stay.
        for p in causes:
            model.program.row(model.changes[p], 0.0, 0.0)
            for level, switch in enumerate(model.levels.get(p, ())):
                model.program.fix(switch, float(level == int(model.fact(p))))
        return NOTHING
    weights, tables = mechanism.arrays(node, scm.causes(node))
    total = NOTHING
    for position, p in enumerate(causes):
        if position in tables:
            total = total.plus(model.shifted(p, tables[position]))
        elif weights[position]:
            total = total.plus(model.changes[p], float(weights[position]))
    return total


def _add_amount(model: Model, j: int, follows: Form, budget: float) -> Form:
    """The change of an actionable number: what is set or, where it is left, what follows."""
    problem, program = model.problem, model.program
    k = problem.numeric[j]
    low, high = problem.action_box(model.facts)
    whole = bool(problem.is_integer[j])
    parts, widths = [], []
    for sign, end in ((1.0, high), (-1.0, low)):
        room = sign * (float(end[0, j]) - model.fact(k))
        room = min(room, model.reach.get(j, (np.inf, np.inf))[1 if sign > 0 else 0])
        pieces = segments(problem.cost, j, model.facts[0, list(problem.numeric)], sign, room)
        if model.any_cost and pieces:
            pieces = [(max(room, 0.0), pieces[-1][1])]
        if np.isfinite(budget):
            pieces, is_cut = _affordable(pieces, budget, whole)
            model.is_cut |= is_cut
        amount, width = _add_pieces(model, pieces, whole, problem.names[k])
        parts.append(amount)
        widths.append(width)
    model.amounts[j] = parts[0].plus(parts[1], -1.0)
    if not follows.weights:
        return model.amounts[j]
    least, most = program.range(follows)
    if model.any_cost and not whole and -widths[1] <= least and most <= widths[0]:
        # What would follow can be set just as well.
        return model.amounts[j]
    switch = program.switch()
    model.set_[j] = switch
    name = problem.names[k]
    for part, width in zip(parts, widths, strict=True):
        if program.need(width, what=name):
            program.row(part.plus(Form({switch: -width})), high=0.0)
    plausible = [float(end[0]) - model.fact(k) for end in problem.plausible(model.facts, k)]
    least, most = min(least, 0.0), max(most, 0.0)
    lower, upper = max(least, plausible[0]), min(most, plausible[1])
    left = Form({program.variable(lower, upper): 1.0})
    rest = follows.plus(left, -1.0)
    # Left (switch 0) it is what follows; set (switch 1) nothing follows.
    if program.need(upper, what=name):
        program.row(left.plus(Form({switch: upper})), high=upper)
    if program.need(lower, what=name):
        program.row(left.plus(Form({switch: lower})), low=lower)
    if program.need(most, what=name):
        program.row(rest.plus(Form({switch: -most})), high=0.0)
    if program.need(least, what=name):
        program.row(rest.plus(Form({switch: -least})), low=0.0)
    return model.amounts[j].plus(left)


def _affordable(pieces: list[Segment], budget: float, whole: bool) -> tuple[list[Segment], bool]:
    """The pieces that a budget pays for, and whether it ends them."""
    found: list[Segment] = []
    total = 0.0
    for width, price in pieces:
        if total > budget:
            return found, True
        # A little more than it pays for, so that rounding cannot exclude what it does.
        paid = (budget - total) / price * (1 + AFFORDED) + (1.0 if whole else 0.0) if price > 0 else np.inf
        if paid < width:
            return [*found, (paid, price)], True
        found.append((width, price))
        total += width * price
    return found, False


def _add_pieces(model: Model, pieces: list[Segment], whole: bool, name: str) -> tuple[Form, float]:
    """A part of a change as a form, and how far it can go; pieces whose price falls are kept in order by switches."""
    program = model.program
    if not pieces:
        return NOTHING, 0.0
    if len(pieces) == 1:
        width, price = pieces[0]
        width = np.floor(width + TOLERANCE) if whole and np.isfinite(width) else width
        return Form({program.variable(0.0, width, price=price, whole=whole): 1.0}), width
    variables = [program.variable(0.0, width, price=price) for width, price in pieces]
    total = Form(dict.fromkeys(variables, 1.0))
    if any(later[1] < earlier[1] for earlier, later in pairwise(pieces)):
        for first, second in pairwise(range(len(pieces))):
            full = program.switch()
            program.row(Form({variables[first]: 1.0, full: -pieces[first][0]}), low=0.0)
            if program.need(pieces[second][0], what=name):
                program.row(Form({variables[second]: 1.0, full: -pieces[second][0]}), high=0.0)
    width = float(sum(width for width, _ in pieces))
    if whole:
        count = program.variable(0.0, np.floor(width + TOLERANCE) if np.isfinite(width) else width, whole=True)
        program.row(total.plus(Form({count: -1.0})), 0.0, 0.0)
    return total, width


def _add_ranges(model: Model) -> None:
    """What moves by propagation stays plausible, and what must not move stays."""
    problem = model.problem
    for k in problem.ranged:
        if model.changes[k].weights:
            low, high = problem.plausible(model.facts, k)
            model.program.row(model.changes[k], float(low[0]) - model.fact(k), float(high[0]) - model.fact(k))
