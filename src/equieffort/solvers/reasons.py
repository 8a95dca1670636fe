"""Why a person has no recourse: the limits that stop the action which comes closest."""

from __future__ import annotations

import numpy as np

from equieffort.classifiers import LinearView
from equieffort.frames import Floats, number
from equieffort.problem import RecourseProblem, limits
from equieffort.solvers.linear import level_shift, row_range
from equieffort.solvers.patterns import Pattern


def why_infeasible(problem: RecourseProblem, patterns: list[Pattern], person: Floats) -> str:
    """A sentence: how close the best pattern comes, and what stops it."""
    view = problem.view
    assert isinstance(view, LinearView)
    ranked = [(_reach(problem, pattern, person), pattern) for pattern in patterns]
    reach, best = max(ranked, key=lambda item: item[0])
    start = float(view.score(person)[0])
    if not np.isfinite(reach) or reach <= 0:
        still = [problem.names[k] for j, k in enumerate(problem.numeric) if best.gain[j] != 0]
        if not still and not problem.categorical:
            return "No action moves the score."
        stops = _stops(problem, best, person)
        return "No allowed action raises the score" + (f": {'; '.join(stops)}." if stops else ".")
    stops = _stops(problem, best, person)
    shared = [problem.names[row.position] for row in best.rows if len(row.movers) > 1]
    if shared:
        stops.append("what may become of " + ", ".join(shared))
    needed = f"The decision needs {number(problem.margin - start)} more score"
    most = f"the best allowed actions give at most {number(reach)}"
    return f"{needed}; {most}: {'; '.join(stops)}." if stops else f"{needed}; {most}."


def _room(problem: RecourseProblem, pattern: Pattern, person: Floats) -> list[tuple[int, float, str]]:
    """For each set feature that matters: how far it may go the useful way, and what stops it there."""
    found = []
    for j, k in enumerate(problem.numeric):
        if not pattern.is_set[j] or pattern.gain[j] == 0:
            continue
        side = 1 if pattern.gain[j] > 0 else -1
        fact = float(person[0, k])
        room, stop = np.inf, ""
        for limit in limits(problem.feature(k)):
            if limit.side == side:
                here = max(side * (float(limit.at(person[:, k])[0]) - fact), 0.0)
                if here < room:
                    room, stop = here, limit.text
        for row in pattern.rows:
            if row.movers == [j]:
                least, most = row_range(problem, pattern, row, person)
                # Moving the useful way pushes the column up or down; that end of its range stops it.
                end = most[0] if side * row.effect[j] > 0 else least[0]
                here = max(float(end / (side * row.effect[j])), 0.0)
                if here < room:
                    name = problem.names[row.position]
                    room, stop = here, f"plausible range of {name!r}"
                    if row.fixed:
                        stop = f"{name!r} must not move"
                    if row.guards:
                        stop = f"{row.guards!r} must not move, and no equation says how it follows {name!r}"
        if problem.is_integer[j] and np.isfinite(room):
            room = np.floor(room)
        found.append((j, room, stop))
    return found


def _reach(problem: RecourseProblem, pattern: Pattern, person: Floats) -> float:
    for b, level in enumerate(pattern.levels):
        if level >= 0 and person[0, problem.categorical[b]] == level:
            return -np.inf
    total = float(level_shift(problem, pattern, person, lambda b, c: pattern.level_gain[b])[0])
    for row in pattern.rows:
        if not row.movers:
            least, most = row_range(problem, pattern, row, person)
            if least[0] > 0 or most[0] < 0:
                return -np.inf
    return total + sum(abs(pattern.gain[j]) * room for j, room, _ in _room(problem, pattern, person))


def _stops(problem: RecourseProblem, pattern: Pattern, person: Floats) -> list[str]:
    texts = []
    for j, room, stop in _room(problem, pattern, person):
        name = problem.names[problem.numeric[j]]
        fact = float(person[0, problem.numeric[j]])
        side = 1 if pattern.gain[j] > 0 else -1
        if not stop:
            continue
        if room == 0:
            texts.append(f"{name} cannot go {'up' if side > 0 else 'down'} from {number(fact)} ({stop})")
        else:
            texts.append(f"{name} stops at {number(fact + side * room)} ({stop})")
    return texts
