"""Why a person has no recourse: the limits that stop the action which comes closest."""

from __future__ import annotations

import numpy as np

from equieffort.classifiers import LinearView
from equieffort.frames import Floats, number
from equieffort.problem import RecourseProblem
from equieffort.solvers.linear import LinearPattern, People, level_shift, make_box, row_range
from equieffort.solvers.programs import Program, Side


def why_infeasible(problem: RecourseProblem, patterns: list[LinearPattern], person: Floats) -> str:
    """A sentence: how close the best pattern comes, and what stops it."""
    view = problem.view
    assert isinstance(view, LinearView)
    ranked = [(_reach(problem, pattern, person), pattern) for pattern in patterns]
    reach, best = max(ranked, key=lambda item: item[0])
    start = float(view.score(person)[0])
    stops = _stops(problem, best, person) + _stopped_categories(problem, patterns, person)
    if reach <= 0:
        if not best.gain.any() and not problem.categorical:
            return "No action moves the score."
        return "No allowed action raises the score" + (f": {'; '.join(stops)}." if stops else ".")
    shared = [problem.names[row.position] for row in best.rows if len(row.movers) > 1]
    if shared:
        stops.append("what may become of " + ", ".join(map(repr, shared)))
    needed = f"The decision needs {number(problem.margin - start)} more score"
    most = f"the best allowed actions give at most {number(reach)}"
    return f"{needed}; {most}: {'; '.join(stops)}." if stops else f"{needed}; {most}."


def _stopped_categories(problem: RecourseProblem, patterns: list[LinearPattern], person: Floats) -> list[str]:
    """Categories whose change would help, but would move a column that must stay."""
    texts: dict[str, None] = {}
    for pattern in patterns:
        changed = [problem.names[c] for c, level in zip(problem.categorical, pattern.levels, strict=True) if level >= 0]
        helps = level_shift(problem, pattern, person, lambda b, c, p=pattern: p.level_gain[b])[0] > 0
        if not changed or not helps:
            continue
        for row in pattern.rows:
            least, most = row_range(problem, pattern, row, person)
            if not row.movers and (least[0] > 0 or most[0] < 0):
                name = problem.names[row.position]
                why = f"{row.guards!r} must not move" if row.guards else f"{name!r} must not move"
                if not row.fixed:
                    why = f"plausible range of {name!r}"
                texts[f"{' and '.join(changed)} cannot change that way ({why})"] = None
    return list(texts)[:3]


def _room(problem: RecourseProblem, pattern: LinearPattern, person: Floats) -> list[tuple[int, float, str]]:
    """For each set feature that matters: how far it may go the useful way, and what stops it there."""
    found = []
    for j, k in enumerate(problem.numeric):
        if not pattern.is_set[j] or pattern.gain[j] == 0:
            continue
        side = 1 if pattern.gain[j] > 0 else -1
        fact = float(person[0, k])
        room, stop = np.inf, ""
        for limit in problem.limits(k):
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


def _stops(problem: RecourseProblem, pattern: LinearPattern, person: Floats) -> list[str]:
    texts = []
    for j, room, stop in _room(problem, pattern, person):
        k = problem.numeric[j]
        name, fact = problem.names[k], float(person[0, k])
        side = 1 if pattern.gain[j] > 0 else -1
        if not stop:
            continue
        if room == 0:
            texts.append(f"{name} cannot go {'up' if side > 0 else 'down'} from {problem.told(k, fact)} ({stop})")
        else:
            texts.append(f"{name} stops at {problem.told(k, fact + side * room)} ({stop})")
    return texts
