"""What limits, ranges and prices leave of each person's numeric actions under one set of interventions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import TOLERANCE, WIDER, tolerance
from equieffort.models.classifiers import LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.cost_segments import segments
from equieffort.recourse.solvers.interventions import InterventionSet, Row
from equieffort.recourse.solvers.linear.programs import Program, Side
from equieffort.recourse.solvers.linear_batch import LinearBatch


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
                room = min(room, float(np.ceil(max(need, 0.0) / gain * (1 + WIDER)) + 1.0))
            sides.append(Side(j, sign, segments(problem.cost, j, people.facts[i], sign, room)))
    return Program(
        sides,
        interventions.gain,
        problem.is_integer & np.array(interventions.is_set, dtype=bool),
        np.array([row for row, _, _ in rows]).reshape(len(rows), len(unit)),
        np.array([least for _, least, _ in rows]),
        np.array([most for _, _, most in rows]),
    )
