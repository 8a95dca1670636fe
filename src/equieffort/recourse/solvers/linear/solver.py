"""LinearExact: the cheapest action in a linear world, proven.

For every set of interventions the gain in score is linear in the changes, so one fill in the order of gain a
price solves everybody at once. Columns that move by propagation and must stay in a range tighten the fill's limits
when one action moves them, and become rows of a small program when several do. The least over all sets is exact.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import ROUNDING, TOLERANCE, tolerance
from equieffort.models.classifiers import BlackBox, LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Batch, PreparedSolver, Proposal, Solver
from equieffort.recourse.solvers.cost_segments import segments
from equieffort.recourse.solvers.interventions import InterventionSet, NotLinear, Row, intervention_sets_of
from equieffort.recourse.solvers.linear.programs import TIE, Program, Side
from equieffort.recourse.solvers.linear.ties import settle
from equieffort.recourse.solvers.stepping import ATTEMPTS, step_over
from equieffort.recourse.status import Infeasibility, Refusal, Unfit
from equieffort.world.cost import LinearCost, PiecewiseCost

TIED = 1e-12
"""The width of a tie, relative to the numbers summed into the score. Where these are large beside what a feature can
change, it is no wider than rounding makes it: caution must not bound a cost."""
STEP, FINEST = 1e-12, 4e-16
"""First step over the boundary, and the smallest that makes sense, relative to the same numbers."""
UNSEEN = 1e-10
"""No first step need be longer than a tenth of what rounding forgives the feature that gains most, if it can be."""

AT_ONCE = 512
"""People searched for whole numbers in one compiled call, between which Ctrl-C is heard."""


@dataclass(frozen=True, eq=False)
class LinearInterventionSet(InterventionSet):
    """An intervention set and what it does to a linear score."""

    gain: Floats
    """Gain in score a unit of each numeric action."""
    level_gain: dict[int, Floats]
    """By actionable category: the score at each level, up to a constant."""

    @classmethod
    def of(cls, interventions: InterventionSet, view: LinearView) -> LinearInterventionSet:
        """The score follows the columns."""
        level_gain = {
            c: view.weights @ shift + view.tables.get(c, np.zeros(shift.shape[1]))
            for c, shift in interventions.shifts.items()
        }
        return cls(**vars(interventions), gain=view.weights @ interventions.effect, level_gain=level_gain)


@dataclass(frozen=True)
class LinearExact(Solver):
    """Exact recourse for a linear structural causal model and a linear score."""

    gap: float = field(default=1e-9)

    def prepare(self, problem: RecourseProblem) -> PreparedLinear | Refusal:
        """The effects of every set of interventions, if score and equations are linear."""
        view = problem.view
        if isinstance(view, BlackBox):
            return Refusal(Unfit.MODEL, f"The classifier has no linear score that could be used: {view.reason}.")
        if not isinstance(view, LinearView):
            return Refusal(Unfit.MODEL, "The classifier's decision is no single linear score.")
        if not isinstance(problem.cost, LinearCost | PiecewiseCost):
            return Refusal(Unfit.COST, "The cost is neither linear nor piecewise linear in each change.")
        if problem.rules:
            return Refusal(Unfit.RULES, "It does not reckon with rules between features.")
        try:
            sets = intervention_sets_of(problem)
        except NotLinear as reason:
            return Refusal(Unfit.EQUATIONS, f"It is not linear: {reason.reason}.")
        known = problem.with_known(view)
        return PreparedLinear(known, self.gap, [LinearInterventionSet.of(one, view) for one in sets])


@dataclass(frozen=True, eq=False)
class PreparedLinear(PreparedSolver):
    """A linear problem, and what each set of interventions does to its score."""

    problem: RecourseProblem[LinearView]
    gap: float
    intervention_sets: list[LinearInterventionSet]

    @property
    def subproblems(self) -> int:  # type: ignore[override]
        """One for each set of interventions."""
        return len(self.intervention_sets)

    def propose(self, batch: Batch) -> Proposal:
        """The cheapest action of each person over all sets of interventions."""
        proposal = step_over(batch, self.attempt)
        settle(self._alone, len(self.intervention_sets), self.gap, batch, proposal)
        return proposal

    def attempt(self, people: Floats, attempt: int) -> Proposal:
        """Actions at the so manyth step over the boundary. Some may be a TIE."""
        return self._least(people, attempt, self.intervention_sets)

    def _alone(self, people: Floats, number: int) -> Proposal:
        return self._least(people, 1, [self.intervention_sets[number]])

    def _least(self, people: Floats, attempt: int, sets: list[LinearInterventionSet]) -> Proposal:
        """The least over some sets of interventions."""
        problem, proposal = self.problem, Proposal.empty(self.problem, len(people))
        batch = LinearBatch.of(problem, people, attempt)
        for interventions in sets:
            _try_interventions(problem, batch, interventions, proposal)
        if np.any(batch.noise) and not problem.is_integer.any() and isinstance(problem.cost, LinearCost):
            # What was solved is solved exactly: only rounding, on either side of the boundary, lies between the two.
            # Sets that only tie, or were given up, may be cheaper by more than that.
            proposal.rounding, acts = np.zeros(len(people)), proposal.code == FOUND
            proposal.rounding[acts] = np.maximum(proposal.cost[acts] - batch.solved[acts], 0.0)
        proposal.state_vanishing(problem, people)
        return proposal

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """Which limits stop the action that comes closest."""
        from equieffort.recourse.solvers.linear.infeasibility import infeasibility

        return infeasibility(self.problem, self.intervention_sets, people)


@dataclass(frozen=True, eq=False)
class LinearBatch:
    """What is the same for every intervention set."""

    matrix: Floats
    facts: Floats
    low: Floats
    high: Floats
    need: Floats
    """At which score, less what rounding may add to it, no label can turn."""
    tolerance: Floats
    """The width of a tie."""
    step: Floats
    """The first step over the boundary."""
    attempt: int
    closed: bool
    """Whether the boundary itself is favourable and can be trusted to the last bit."""
    noise: Floats | float = 0.0
    """How far the model's own score may be off, where it does not compute with doubles."""
    solved: Floats = field(default_factory=lambda: np.empty(0))
    """The least bound over sets with an action, kept while sets are tried; infinite without one."""

    @classmethod
    def of(cls, problem: RecourseProblem[LinearView], matrix: Floats, attempt: int) -> LinearBatch:
        """Facts, limits, and how much score each person lacks."""
        facts, view = matrix[:, list(problem.numeric)], problem.view
        low, high = problem.action_box(matrix)
        closed = view.rowwise and (view.closed or problem.margin > 0)
        size = view.magnitude(matrix)
        # A score summed from zeros has no size of its own: a unit of the weightiest feature gives one.
        weightiest = np.abs(view.weights * problem.spreads).max(initial=0.0)
        size = np.where(size > 0, size, weightiest)
        step = np.minimum(STEP * size, np.maximum(UNSEEN * weightiest, FINEST * size))
        step = np.where(step > 0, step, 1.0)
        tied = np.minimum(TIED * size, np.maximum(UNSEEN * weightiest, ROUNDING * size))
        need = problem.margin - view.score(matrix)
        # Who lacks more moves further, and what has moved is rounded relative to where it is.
        noise = view.single * (size + np.maximum(need, 0.0))
        need -= noise
        return cls(matrix, facts, low, high, need, tied, step, attempt, closed, noise, np.full(len(matrix), np.inf))

    def slack(self, any_whole: bool) -> Floats:
        """How far past the need to go. Whole numbers are first tried at the need itself, rounding forgiven.

        Twice the noise: the need lies as far below the boundary as the action must lie beyond it. A label within it may
        depend on who else is asked about.
        """
        if any_whole and self.attempt == 0:
            return -self.tolerance
        if self.closed and self.attempt == 0:
            return 2.0 * self.noise + np.zeros_like(self.step)
        # A fine first step grows faster, so that the last attempt goes as far.
        turn = self.attempt - (any_whole or self.closed)
        return 2.0 * self.noise + self.step * (self.tolerance / self.step) ** (turn / ATTEMPTS) * 2.0**turn


def level_shift(
    problem: RecourseProblem, interventions: InterventionSet, matrix: Floats, tables: dict[int, Floats]
) -> Floats:
    """Sum over the changed categories of value at the new level minus value at the fact's level."""
    total = np.zeros(len(matrix))
    for c, level in zip(problem.categorical, interventions.levels, strict=True):
        if level >= 0 and c in tables:
            total += tables[c][level] - tables[c][matrix[:, c].astype(np.intp)]
    return total


def level_price(problem: RecourseProblem, interventions: InterventionSet, matrix: Floats) -> Floats:
    """What the chosen levels cost each person; infinite where a direction or limit does not allow one."""
    total = np.zeros(len(matrix))
    for c, prices, level in zip(problem.categorical, problem.level_prices, interventions.levels, strict=True):
        if level >= 0:
            total += prices.between(matrix[:, c], np.full(len(matrix), float(level)))
    return total


def row_range(
    problem: RecourseProblem, interventions: InterventionSet, row: Row, matrix: Floats
) -> tuple[Floats, Floats]:
    """Least and largest change that numeric actions may still make to a row's column."""
    fact = matrix[:, row.position]
    low, high = (fact, fact) if row.fixed else problem.plausible(matrix, row.position)
    start = fact + level_shift(problem, interventions, matrix, row.shifts)
    return low - start, high - start


@dataclass(frozen=True, eq=False)
class Box:
    """How far each numeric action may go under an intervention set, for each person."""

    low: Floats
    high: Floats
    usable: Bools
    """False where the intervention set is no use: the fact's own level, or a category that moves what must stay."""
    forced: Bools
    """Where a category's change forces another action, or several actions share a column that is out of range."""
    shared: list[tuple[Row, Floats, Floats]]
    """Columns that several actions move, with the least and largest change they may make."""


def make_box(problem: RecourseProblem, people: LinearBatch, interventions: InterventionSet, whole: Bools) -> Box:
    """Limits of the actions themselves, tightened by the columns that follow one of them alone."""
    n = len(people.matrix)
    is_set = np.array(interventions.is_set, dtype=bool)
    low = np.where(is_set, people.low - people.facts, 0.0)
    high = np.where(is_set, people.high - people.facts, 0.0)
    usable, forced = np.ones(n, dtype=bool), np.zeros(n, dtype=bool)
    for c, level in zip(problem.categorical, interventions.levels, strict=True):
        if level >= 0:
            usable &= (people.matrix[:, c] != level) & problem.may_take(c, people.matrix[:, c], level)
    usable &= np.isfinite(level_price(problem, interventions, people.matrix))
    shared: list[tuple[Row, Floats, Floats]] = []
    for row in interventions.rows:
        least, most = row_range(problem, interventions, row, people.matrix)
        forgiven = problem.tolerance(row.position, people.matrix[:, row.position])
        if not row.movers:
            usable &= (least <= forgiven) & (most >= -forgiven)
        elif len(row.movers) == 1:
            _fold(row, least, most, low, high, whole)
        else:
            shared.append((row, least, most))
            forced |= (least > 0) | (most < 0)
    # Columns in a chain ask the same of an action, up to rounding.
    numeric = list(problem.numeric)
    nearly = (low > high) & (low - high <= tolerance(high / problem.spreads[numeric]) * problem.spreads[numeric])
    low = np.where(nearly, high, low)
    forced |= ((low > 0) | (high < 0)).any(axis=1)
    usable &= (low <= high).all(axis=1)
    return Box(low, high, usable, forced, shared)


def _try_interventions(
    problem: RecourseProblem, people: LinearBatch, interventions: LinearInterventionSet, proposal: Proposal
) -> None:
    """Solve one intervention set for everybody and keep it where it is better."""
    from equieffort.recourse.solvers.linear.fill_kernels import fill_batch

    n, cost = len(people.matrix), problem.cost
    need = people.need - level_shift(problem, interventions, people.matrix, interventions.level_gain)
    price = level_price(problem, interventions, people.matrix)
    whole = problem.is_integer & np.array(interventions.is_set, dtype=bool)
    box = make_box(problem, people, interventions, whole)
    low, high, shared, hard = box.low, box.high, box.shared, box.forced.copy()
    if isinstance(cost, LinearCost):
        up, down = cost.prices(people.facts)
    else:
        up = down = np.ones((1, len(problem.numeric)))
        hard[:] = True
    out_cost, out_bound, delta = np.empty(n), np.empty(n), np.zeros((n, len(problem.numeric)))
    code = np.empty(n, dtype=np.int8)
    any_whole = bool(whole.any())
    slack = people.slack(any_whole)
    least, most = (np.minimum(low, 0.0), np.maximum(high, 0.0)) if hard.any() else (low, high)
    # Compiled code cannot be interrupted, and searches for whole numbers can be long.
    for start in range(0, n, AT_ONCE if any_whole else max(n, 1)):
        part = slice(start, start + AT_ONCE if any_whole else n)
        own = part if len(up) > 1 else slice(None)
        fill_batch(
            need[part], slack[part], people.tolerance[part], interventions.gain, up[own], down[own], least[part],
            most[part],
            whole, any_whole, out_cost[part], out_bound[part], delta[part], code[part],
        )  # fmt: skip
    for row, least, most in shared:
        moved = delta @ row.effect
        forgiven = problem.tolerance(row.position, people.matrix[:, row.position])
        hard |= (moved < least - forgiven) | (moved > most + forgiven)
    code[~box.usable] = NONE
    hard &= box.usable & (code != NONE)
    if isinstance(cost, LinearCost):
        # The fill forgets shared rows, so it bounds from below: what a sure action beats need not be looked at again.
        dearer = hard & (proposal.code == FOUND) & (out_bound + price >= proposal.cost)
        code[dearer] = NONE
        hard &= ~dearer
    for i in np.flatnonzero(hard).tolist():
        sure = proposal.cost[i] - price[i] if proposal.code[i] == FOUND else np.inf
        program = program_of(problem, people, interventions, box, i, float(need[i] + max(slack[i], 0.0)))
        code[i], out_cost[i], out_bound[i], delta[i] = program.solve(need[i], slack[i], people.tolerance[i], sure)
    acts = code == FOUND
    people.solved[acts] = np.minimum(people.solved[acts], (out_bound + price)[acts])
    _keep(problem, interventions, proposal, code, out_cost + price, out_bound + price, delta)


def _fold(row: Row, least: Floats, most: Floats, low: Floats, high: Floats, whole: Bools) -> None:
    """One action alone moves this column: its range is a limit of that action."""
    j = row.movers[0]
    ends = (least / row.effect[j], most / row.effect[j])
    under, over = ends if row.effect[j] > 0 else ends[::-1]
    if whole[j]:
        under, over = np.ceil(under - TOLERANCE), np.floor(over + TOLERANCE)
    low[:, j] = np.maximum(low[:, j], under)
    high[:, j] = np.minimum(high[:, j], over)


def program_of(
    problem: RecourseProblem,
    people: LinearBatch,
    interventions: LinearInterventionSet,
    box: Box,
    i: int,
    need: float = np.inf,
) -> Program:
    """Person i under an intervention set as a program over segments of change, as far as a need asks for them."""
    low, high, unit = box.low[i], box.high[i], np.eye(len(problem.numeric))
    rows = [(row.effect, least[i], most[i]) for row, least, most in box.shared]
    rows += [(unit[j], low[j], high[j]) for j in range(len(unit)) if low[j] > 0 or high[j] < 0]
    sides = []
    for j in range(len(unit)):
        for sign, room in ((1.0, float(high[j])), (-1.0, float(-low[j]))):
            gain = sign * interventions.gain[j]
            if room <= 0 or (not rows and gain <= 0):
                continue
            if not rows:
                # With one constraint a move the wrong way never helps, nor one further than would do alone.
                room = min(room, float(np.ceil(max(need, 0.0) / gain * (1 + 1e-9)) + 1.0))
            sides.append(Side(j, sign, segments(problem.cost, j, people.facts[i], sign, room)))
    return Program(
        sides,
        interventions.gain,
        problem.is_integer & np.array(interventions.is_set, dtype=bool),
        np.array([row for row, _, _ in rows]).reshape(len(rows), len(unit)),
        np.array([least for _, least, _ in rows]),
        np.array([most for _, _, most in rows]),
    )


def _keep(
    problem: RecourseProblem,
    interventions: InterventionSet,
    proposal: Proposal,
    code: Any,
    cost: Floats,
    bound: Floats,
    delta: Floats,
) -> None:
    """Merge one set's answers: the least cost wins, the least bound stands, and nothing given up is forgotten."""
    open_ = code != NONE
    proposal.bound = np.where(open_, np.minimum(proposal.bound, bound), proposal.bound)
    given_up = (code == LIMIT) & (proposal.code == NONE)
    proposal.code[given_up] = LIMIT
    # A tie may fail, so any sure action is kept before it; `solve` looks at ties that would be cheaper.
    better = (code == FOUND) & ((proposal.code != FOUND) | (cost < proposal.cost))
    better |= (code == TIE) & (proposal.code != FOUND) & ((proposal.code != TIE) | (cost < proposal.cost))
    proposal.code[better] = code[better]
    proposal.cost[better] = cost[better]
    proposal.delta[better] = delta[better]
    proposal.intervention_mask[better] = interventions.intervention_mask
    if problem.categorical:
        proposal.level[better] = interventions.levels
