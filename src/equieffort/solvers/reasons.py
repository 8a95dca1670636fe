"""Why people have no recourse: the limits that stop the action which comes closest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.classifiers import LinearView
from equieffort.frames import Bools, Floats, number
from equieffort.problem import RecourseProblem
from equieffort.solvers.linear import Box, LinearPattern, People, level_shift, make_box, row_range
from equieffort.solvers.programs import Program, Side


def reasons(problem: RecourseProblem, patterns: list[LinearPattern], matrix: Floats) -> list[str]:
    """A sentence for each person: how close the best pattern comes, and what stops it."""
    view = problem.view
    assert isinstance(view, LinearView)
    lacking = problem.margin - view.score(matrix)
    people = People.of(problem, matrix, 0)
    best, most = np.zeros(len(matrix), dtype=np.intp), np.full(len(matrix), -np.inf)
    for b, pattern in enumerate(patterns):
        reach = _reach(problem, pattern, people, lacking)
        best[reach > most] = b
        most = np.maximum(most, reach)
    categories = _stopped_categories(problem, patterns, matrix)
    found = [""] * len(matrix)
    for b in np.unique(best).tolist():
        rows = np.flatnonzero(best == b)
        rooms = _rooms(problem, patterns[b], matrix[rows])
        for at, i in enumerate(rows.tolist()):
            stops = [text for room in rooms if (text := room.told(problem, matrix[i], at))] + categories[i]
            found[i] = _sentence(problem, patterns[b], float(lacking[i]), float(most[i]), stops)
    return found


def _sentence(problem: RecourseProblem, best: LinearPattern, lacking: float, reach: float, stops: list[str]) -> str:
    if reach <= 0:
        if not best.gain.any() and not problem.categorical:
            return "No action moves the score."
        return "No allowed action raises the score" + (f": {'; '.join(stops)}." if stops else ".")
    shared = [problem.names[row.position] for row in best.rows if len(row.movers) > 1]
    if shared:
        stops = [*stops, "what may become of " + ", ".join(map(repr, shared))]
    needed = f"The decision needs {number(lacking)} more score"
    most = f"the best allowed actions give at most {number(reach)}"
    return f"{needed}; {most}: {'; '.join(stops)}." if stops else f"{needed}; {most}."


def _stopped_categories(problem: RecourseProblem, patterns: list[LinearPattern], matrix: Floats) -> list[list[str]]:
    """For each person: categories whose change would help, but would move a column that must stay."""
    texts: list[dict[str, None]] = [{} for _ in matrix]
    for pattern in patterns:
        changed = [problem.names[c] for c, level in zip(problem.categorical, pattern.levels, strict=True) if level >= 0]
        if not changed:
            continue
        helps = level_shift(problem, pattern, matrix, lambda b, c, p=pattern: p.level_gain[b]) > 0
        for row in pattern.rows:
            if row.movers:
                continue
            least, most = row_range(problem, pattern, row, matrix)
            name = problem.names[row.position]
            why = f"{row.guards!r} must not move" if row.guards else f"{name!r} must not move"
            if not row.fixed:
                why = f"plausible range of {name!r}"
            text = f"{' and '.join(changed)} cannot change that way ({why})"
            for i in np.flatnonzero(helps & ((least > 0) | (most < 0))).tolist():
                texts[i][text] = None
    return [list(mine)[:3] for mine in texts]


@dataclass(eq=False)
class _Room:
    """How far each person's feature may go the useful way, and what stops it there."""

    j: int
    side: int
    room: Floats
    stop: npt.NDArray[np.intp]
    texts: list[str] = field(default_factory=lambda: [""])

    def tighten(self, here: Floats, text: str) -> None:
        """A limit holds where it comes before those already known."""
        closer = here < self.room
        self.room[closer] = here[closer]
        self.stop[closer] = len(self.texts)
        self.texts.append(text)

    def told(self, problem: RecourseProblem, person: Floats, at: int) -> str:
        """Where the feature of the person at a place stops; empty if nothing stops it."""
        k, stop = problem.numeric[self.j], self.texts[self.stop[at]]
        if not stop:
            return ""
        name, fact, room = problem.names[k], float(person[k]), float(self.room[at])
        if room == 0:
            return f"{name} cannot go {'up' if self.side > 0 else 'down'} from {problem.told(k, fact)} ({stop})"
        return f"{name} stops at {problem.told(k, fact + self.side * room)} ({stop})"


def _rooms(problem: RecourseProblem, pattern: LinearPattern, matrix: Floats) -> list[_Room]:
    """One for each set feature that matters."""
    found = []
    for j, k in enumerate(problem.numeric):
        if not pattern.is_set[j] or pattern.gain[j] == 0:
            continue
        side = 1 if pattern.gain[j] > 0 else -1
        fact = matrix[:, k]
        room = _Room(j, side, np.full(len(matrix), np.inf), np.zeros(len(matrix), dtype=np.intp))
        for limit in problem.limits(k):
            if limit.side == side:
                room.tighten(np.maximum(side * (limit.at(fact) - fact), 0.0), limit.text)
        for row in pattern.rows:
            if row.movers == [j]:
                least, most = row_range(problem, pattern, row, matrix)
                # Moving the useful way pushes the column up or down; that end of its range stops it.
                end = most if side * row.effect[j] > 0 else least
                name = problem.names[row.position]
                stop = f"plausible range of {name!r}"
                if row.fixed:
                    stop = f"{name!r} must not move"
                if row.guards:
                    stop = f"{row.guards!r} must not move, and no equation says how it follows {name!r}"
                room.tighten(np.maximum(end / (side * row.effect[j]), 0.0), stop)
        if problem.is_integer[j]:
            room.room = np.floor(room.room)
        found.append(room)
    return found


def _reach(problem: RecourseProblem, pattern: LinearPattern, people: People, lacking: Floats) -> Floats:
    """The largest gain in score the pattern allows each person; minus infinity where it allows nothing."""
    whole = problem.is_integer & np.array(pattern.is_set, dtype=bool)
    box = make_box(problem, people, pattern, whole)
    total = level_shift(problem, pattern, people.matrix, lambda b, c: pattern.level_gain[b])
    rooms = _rooms(problem, pattern, people.matrix)
    gained: Any = sum(abs(pattern.gain[room.j]) * room.room for room in rooms)
    reach = np.where(box.usable, total + gained, -np.inf)
    hard = box.usable & (box.forced | bool(box.shared))
    for i in np.flatnonzero(hard).tolist():
        most = 2 * abs(float(lacking[i])) + abs(float(total[i]))
        reach[i] = total[i] + _program(problem, pattern, box, whole, i).largest_gain(most)[0]
    return reach


def _program(problem: RecourseProblem, pattern: LinearPattern, box: Box, whole: Bools, i: int) -> Program:
    """Person i under a pattern, where several actions share a column or a change forces another."""
    low, high = box.low[i], box.high[i]
    sides = [
        Side(j, sign, [(room, 1.0)])
        for j in range(len(problem.numeric))
        for sign, room in ((1.0, float(high[j])), (-1.0, float(-low[j])))
        if room > 0
    ]
    unit = np.eye(len(problem.numeric))
    rows = [(row.effect, least[i], most[i]) for row, least, most in box.shared]
    rows += [(unit[j], low[j], high[j]) for j in range(len(unit)) if low[j] > 0 or high[j] < 0]
    return Program(
        sides, pattern.gain, whole,
        np.array([row for row, _, _ in rows]), np.array([low for _, low, _ in rows]), np.array([h for _, _, h in rows]),
    )  # fmt: skip
