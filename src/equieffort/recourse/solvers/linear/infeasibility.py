"""Why people have no recourse: the limits that stop the set of interventions which comes closest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.models.classifiers import LinearView
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.infeasibility import obstacle_of, room_to
from equieffort.recourse.solvers.interventions import Row
from equieffort.recourse.solvers.linear.limits import (
    LinearInterventionSet,
    level_shift,
    make_box,
    program_of,
    row_range,
)
from equieffort.recourse.solvers.linear_batch import LinearBatch
from equieffort.recourse.status import Blocking, Infeasibility, LimitKind, Obstacle


def infeasibility(
    problem: RecourseProblem[LinearView], intervention_sets: list[LinearInterventionSet], matrix: Floats
) -> list[Infeasibility]:
    """For each person how close the best intervention set comes, and what stops it."""
    lacking = problem.margin - problem.view.score(matrix)
    people = LinearBatch.of(problem, matrix, 0)
    best, most = np.zeros(len(matrix), dtype=np.intp), np.full(len(matrix), -np.inf)
    for b, interventions in enumerate(intervention_sets):
        reach = _reach(problem, interventions, people, lacking)
        best[reach > most] = b
        most = np.maximum(most, reach)
    categories = _stopped_categories(problem, intervention_sets, matrix)
    found = [Infeasibility()] * len(matrix)
    for b in np.unique(best).tolist():
        rows = np.flatnonzero(best == b)
        rooms = _rooms(problem, intervention_sets[b], matrix[rows])
        shared = tuple(_held_by(problem, row, "") for row in intervention_sets[b].rows if len(row.movers) > 1)
        moves = bool(intervention_sets[b].gain.any() or problem.categorical)
        for at, i in enumerate(rows.tolist()):
            gain = float(most[i])
            if gain <= 0 and not moves:
                found[i] = Infeasibility(blocking=Blocking.BEYOND)
                continue
            stops = [one for room in rooms if (one := room.obstacle(problem, matrix[i], at)) is not None]
            known = max(gain, 0.0) if gain < np.inf else None
            every = (*stops, *categories[i], *(shared if gain > 0 else ()))
            found[i] = Infeasibility(every, Blocking.CLOSEST, float(lacking[i]), known)
    return found


def _held_by(problem: RecourseProblem, row: Row, feature: str) -> Obstacle:
    """A column that must not move, or must stay in its range, as what stops a feature, or several at once."""
    kind = LimitKind.FIXED if row.fixed else LimitKind.PLAUSIBLE
    return Obstacle(feature, kind, column=problem.names[row.position], guards=row.guards)


def _stopped_categories(
    problem: RecourseProblem, intervention_sets: list[LinearInterventionSet], matrix: Floats
) -> list[list[Obstacle]]:
    """For each person: categories whose change would help, but is not allowed or would move a column that must stay."""
    found: list[dict[Obstacle, None]] = [{} for _ in matrix]
    for interventions in intervention_sets:
        changed = [c for c, level in zip(problem.categorical, interventions.levels, strict=True) if level >= 0]
        if not changed:
            continue
        helps = level_shift(problem, interventions, matrix, interventions.level_gain) > 0
        if len(changed) == 1:
            for i, stop in _stopped_levels(problem, interventions, changed[0], matrix, helps):
                found[i][stop] = None
        for row in interventions.rows:
            movers = [c for c in changed if c in row.shifts and np.ptp(row.shifts[c]) > 0]
            if row.movers or not movers:
                continue
            least, most = row_range(problem, interventions, row, matrix)
            stops = {_held_by(problem, row, problem.names[c]): None for c in movers}
            for i in np.flatnonzero(helps & ((least > 0) | (most < 0))).tolist():
                found[i] |= stops
    return [list(mine)[:3] for mine in found]


def _stopped_levels(
    problem: RecourseProblem, interventions: LinearInterventionSet, c: int, matrix: Floats, helps: Bools
) -> Iterator[tuple[int, Obstacle]]:
    """By person whom it would help: what forbids the level that is set of a category."""
    level = float(interventions.levels[problem.categorical.index(c)])
    places, to = problem.places(c, matrix[:, c]), problem.places(c, np.array([level]))
    for limit in problem.limits(c):
        room = room_to(limit, places)
        for i in np.flatnonzero(helps & limit.stops(places, to)).tolist():
            yield i, obstacle_of(problem, c, limit, float(places[i]), float(room[i]))
    for move in problem.rules.moves:
        if move.column == c and move.end in (-1, level):
            stops = helps & (matrix[:, c] != level) & ((matrix[:, c] == move.start) | (move.start < 0))
            yield from ((i, Obstacle("", LimitKind.RULE, rule=move.words)) for i in np.flatnonzero(stops).tolist())


@dataclass(eq=False)
class _Room:
    """How far each person's feature may go the useful way, and what stops it there."""

    j: int
    side: int
    room: Floats
    """(people,): infinite where nothing stops it."""
    stop: npt.NDArray[np.intp]
    """(people,): which of `stops`; -1 where nothing does."""
    stops: list[Obstacle] = field(default_factory=list)

    def tighten(self, here: Floats, stop: Obstacle) -> None:
        """A limit holds where it comes before those already known."""
        closer = here < self.room
        self.room[closer] = here[closer]
        self.stop[closer] = len(self.stops)
        self.stops.append(stop)

    def obstacle(self, problem: RecourseProblem, person: Floats, at: int) -> Obstacle | None:
        """What stops the feature of the person at a place."""
        if self.stop[at] < 0:
            return None
        k = problem.numeric[self.j]
        end = float(person[k] + self.side * self.room[at])
        return replace(self.stops[self.stop[at]], fact=problem.own(k, float(person[k])), stops_at=problem.own(k, end))


def _rooms(problem: RecourseProblem, interventions: LinearInterventionSet, matrix: Floats) -> list[_Room]:
    """One for each set feature that matters."""
    found = []
    for j, k in enumerate(problem.numeric):
        if not interventions.is_set[j] or interventions.gain[j] == 0:
            continue
        side = 1 if interventions.gain[j] > 0 else -1
        room = _Room(j, side, np.full(len(matrix), np.inf), np.full(len(matrix), -1, dtype=np.intp))
        for limit in problem.limits(k):
            if limit.side == side:
                room.tighten(room_to(limit, matrix[:, k]), obstacle_of(problem, k, limit, 0.0, 0.0))
        for row in interventions.rows:
            if row.movers == [j]:
                least, most = row_range(problem, interventions, row, matrix)
                # Moving the useful way pushes the column up or down; that end of its range stops it.
                end = most if side * row.effect[j] > 0 else least
                held = replace(_held_by(problem, row, problem.names[k]), side=side)
                room.tighten(np.maximum(end / (side * row.effect[j]), 0.0), held)
        if problem.is_integer[j]:
            room.room = np.floor(room.room)
        found.append(room)
    return found


def _reach(
    problem: RecourseProblem, interventions: LinearInterventionSet, people: LinearBatch, lacking: Floats
) -> Floats:
    """The largest gain in score the intervention set allows each person; minus infinity where it allows nothing."""
    whole = problem.is_integer & np.array(interventions.is_set, dtype=bool)
    box = make_box(problem, people, interventions, whole)
    total = level_shift(problem, interventions, people.matrix, interventions.level_gain)
    rooms = _rooms(problem, interventions, people.matrix)
    gained: Any = sum(abs(interventions.gain[room.j]) * room.room for room in rooms)
    reach = np.where(box.usable, total + gained, -np.inf)
    hard = box.usable & (box.forced | bool(box.shared))
    for i in np.flatnonzero(hard).tolist():
        most = 2 * abs(float(lacking[i])) + abs(float(total[i]))
        reach[i] = total[i] + program_of(problem, people, interventions, box, i).largest_gain(most)[0]
    return reach
