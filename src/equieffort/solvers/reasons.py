"""Why a person has no recourse: the limits that stop the set of interventions which comes closest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equieffort.classifiers import LinearView
from equieffort.frames import Floats
from equieffort.problem import RecourseProblem
from equieffort.solvers.linear import LinearPattern, People, level_shift, make_box, row_range
from equieffort.solvers.obstacles import obstacle_of, room_to
from equieffort.solvers.patterns import Row
from equieffort.solvers.programs import Program, Side
from equieffort.status import Blocking, Infeasibility, LimitKind, Obstacle


def why_infeasible(problem: RecourseProblem, patterns: list[LinearPattern], person: Floats) -> Infeasibility:
    """How close the best pattern comes, and what stops it."""
    view = problem.view
    assert isinstance(view, LinearView)
    ranked = [(_reach(problem, pattern, person), pattern) for pattern in patterns]
    reach, best = max(ranked, key=lambda item: item[0])
    stops = [one for _, _, one in _room(problem, best, person) if one is not None]
    stops += _stopped_categories(problem, patterns, person)
    if reach <= 0 and not best.gain.any() and not problem.categorical:
        return Infeasibility(blocking=Blocking.BEYOND)
    if reach > 0:
        stops += [_held_by(problem, row, "") for row in best.rows if len(row.movers) > 1]
    needed = float(problem.margin - view.score(person)[0])
    best_known = max(float(reach), 0.0) if reach < np.inf else None
    return Infeasibility(tuple(stops), Blocking.CLOSEST, needed, best_known)


def _held_by(problem: RecourseProblem, row: Row, feature: str) -> Obstacle:
    """A column that must not move, or must stay in its range, as what stops a feature, or several at once."""
    kind = LimitKind.FIXED if row.fixed else LimitKind.PLAUSIBLE
    return Obstacle(feature, kind, column=problem.names[row.position], guards=row.guards)


def _stopped_categories(problem: RecourseProblem, patterns: list[LinearPattern], person: Floats) -> list[Obstacle]:
    """Categories whose change would help, but would move a column that must stay."""
    found: dict[Obstacle, None] = {}
    for pattern in patterns:
        changed = [c for c, level in zip(problem.categorical, pattern.levels, strict=True) if level >= 0]
        helps = level_shift(problem, pattern, person, lambda b, c, p=pattern: p.level_gain[b])[0] > 0
        if not changed or not helps:
            continue
        for row in pattern.rows:
            least, most = row_range(problem, pattern, row, person)
            if not row.movers and (least[0] > 0 or most[0] < 0):
                for c in changed:
                    if c in row.shifts and np.ptp(row.shifts[c]) > 0:
                        found[_held_by(problem, row, problem.names[c])] = None
    return list(found)[:3]


def _room(problem: RecourseProblem, pattern: LinearPattern, person: Floats) -> list[tuple[int, float, Obstacle | None]]:
    """For each set feature that matters: how far it may go the useful way, and what stops it there."""
    found = []
    for j, k in enumerate(problem.numeric):
        if not pattern.is_set[j] or pattern.gain[j] == 0:
            continue
        side = 1 if pattern.gain[j] > 0 else -1
        fact = float(person[0, k])
        room, nearest, holds = np.inf, None, None
        for limit in problem.limits(k):
            if limit.side == side and (here := room_to(limit, person[:, k])) < room:
                room, nearest = here, limit
        for row in pattern.rows:
            if row.movers == [j]:
                least, most = row_range(problem, pattern, row, person)
                # Moving the useful way pushes the column up or down; that end of its range stops it.
                end = most[0] if side * row.effect[j] > 0 else least[0]
                here = max(float(end / (side * row.effect[j])), 0.0)
                if here < room:
                    room, holds = here, row
        if problem.is_integer[j] and np.isfinite(room):
            room = np.floor(room)
        stop = None
        if holds is not None:
            end = problem.own(k, fact + side * room)
            stop = _held_by(problem, holds, problem.names[k])
            stop = replace(stop, side=side, fact=problem.own(k, fact), stops_at=end)
        elif nearest is not None:
            stop = obstacle_of(problem, k, nearest, fact, room)
        found.append((j, room, stop))
    return found


def _reach(problem: RecourseProblem, pattern: LinearPattern, person: Floats) -> float:
    """The largest gain in score the pattern allows; minus infinity where it allows nothing."""
    view = problem.view
    assert isinstance(view, LinearView)
    whole = problem.is_integer & np.array(pattern.is_set, dtype=bool)
    box = make_box(problem, People.of(problem, person, 0), pattern, whole)
    if not box.usable[0]:
        return -np.inf
    total = float(level_shift(problem, pattern, person, lambda b, c: pattern.level_gain[b])[0])
    if not box.shared and not box.forced[0]:
        return total + sum(abs(pattern.gain[j]) * room for j, room, _ in _room(problem, pattern, person))
    sides = [
        Side(j, sign, [(room, 1.0)])
        for j in range(len(problem.numeric))
        for sign, room in ((1.0, float(box.high[0, j])), (-1.0, float(-box.low[0, j])))
        if room > 0
    ]
    unit = np.eye(len(problem.numeric))
    rows = [(row.effect, least[0], most[0]) for row, least, most in box.shared]
    rows += [
        (unit[j], box.low[0, j], box.high[0, j]) for j in range(len(unit)) if box.low[0, j] > 0 or box.high[0, j] < 0
    ]
    program = Program(
        sides, pattern.gain, whole,
        np.array([row for row, _, _ in rows]), np.array([low for _, low, _ in rows]), np.array([h for _, _, h in rows]),
    )  # fmt: skip
    lacking = float(problem.margin - view.score(person)[0])
    return total + program.largest_gain(2 * abs(lacking) + abs(total))[0]
