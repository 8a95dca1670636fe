"""Points: the actions that boxes suggest, followed through the true equations and shown to the classifier's view.

A point is judged by the same arithmetic that replays it in the end. It is sound if it stays favourable when margins
lose the model's rounding and values that follow move by a hair; one that is favourable only as it stands is fragile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import tolerance
from equieffort.models.classifiers import TreeView
from equieffort.recourse.counterfactuals import is_allowed, propagate
from equieffort.recourse.solvers.spatial.compiled_problem import Indices, Records, SpatialBatch

GOOD, FRAGILE, BAD, UNSURE = 0, 1, 2, 3
"""A sound point; one favourable as it stands only; an unfavourable one; one that a stricter attempt does not take."""


@dataclass(eq=False)
class Points(Records):
    """Values to set: rows of people, the intervention set, levels and numbers."""

    person: Indices
    interventions: Indices
    levels: Floats
    z: Floats


def price(people: SpatialBatch, points: Points) -> Floats:
    """What the points cost."""
    total = people.level_price(points.person, points.levels.astype(np.int16))
    if points.z.shape[1]:
        is_set = people.compiled.is_set[points.interventions]
        total = total + people.cost(points.person, np.where(is_set, points.z, people.facts[points.person]))
    return total


def judge(people: SpatialBatch, points: Points, attempt: int) -> npt.NDArray[np.int8]:
    """What becomes of each point."""
    problem = people.problem
    facts = people.matrix[points.person]
    picked, values = _settings(people, points, facts)
    moved, unknown = propagate(problem, facts, picked, values)
    allowed = is_allowed(problem, facts, moved, unknown)
    found = np.full(len(facts), BAD, dtype=np.int8)
    rows = np.flatnonzero(allowed)
    if len(rows):
        follows = ~picked[rows] & (moved[rows] != facts[rows]) & people.compiled.amounts
        found[rows] = _labels(people, moved[rows], follows, attempt)
    return found


def _settings(people: SpatialBatch, points: Points, facts: Floats) -> tuple[Bools, Floats]:
    """As the replay will: the fact plus the change, kept inside its limits."""
    numeric, acts = list(people.problem.numeric), list(people.problem.acts)
    picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
    picked[:, acts] = np.column_stack([people.compiled.is_set[points.interventions], points.levels >= 0])
    before = facts[:, numeric]
    set_to = np.clip(before + (points.z - before), people.low[points.person], people.high[points.person])
    values[:, acts] = np.where(picked[:, acts], np.column_stack([set_to, points.levels]), facts[:, acts])
    return picked, values


def _labels(people: SpatialBatch, moved: Floats, follows: Bools, attempt: int) -> npt.NDArray[np.int8]:
    problem, view = people.problem, people.problem.view
    margins, rounding_error = view.margins(moved), view.rounding_error(moved)
    sound = view.goals.met(margins - 2.0**attempt * rounding_error, problem.margin)
    if isinstance(view, TreeView):
        rows = np.flatnonzero(sound)
        hair = np.where(follows[rows], 2.0**attempt * tolerance(moved[rows]), 0.0)
        for side in (-1.0, 1.0):
            sound[rows] &= view.goals.met(view.margins(moved[rows] + side * hair), problem.margin)
    found = np.where(sound, GOOD, BAD).astype(np.int8)
    rest = np.flatnonzero(~sound & view.goals.met(margins + rounding_error, problem.margin))
    if len(rest):
        if attempt > 0:
            found[rest] = UNSURE
        else:
            answer = problem.decision.is_favourable(problem.encoding.decode(moved[rest]))
            found[rest[answer]] = FRAGILE
    return found
