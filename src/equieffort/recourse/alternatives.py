"""Further ways for the same person: the cheapest that changes other features, then the next (docs/decisions/0017).

A further way must not change all the features of a way that was given before; with a tiny change added it would be the
same way again. So of each way before it holds at least one feature, and which one is searched best first, as in
Reiter's tree of hitting sets and Lawler's ranking of solutions. Each node of that search is a problem of its own, in
which some features are held, solved and replayed as any other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_number
from equieffort.foundations.tolerances import NEGLIGIBLE, is_closed
from equieffort.recourse.lacking import Lacking
from equieffort.recourse.solvers import PreparedSolver
from equieffort.recourse.solvers.max_actions import NOTHING, Acts, Held
from equieffort.recourse.status import Status
from equieffort.recourse.table import STORED, RecourseTable, SolvedSource
from equieffort.recourse.verification import ActionVerifier


def check_alternatives(count: object) -> None:
    """Refuse a number of ways that is none."""
    check_number("alternatives", count, "a whole number of ways, 1 or more", lambda ways: ways >= 1, whole=True)


def find_alternatives(table: RecourseTable, rows: npt.NDArray[np.intp], count: int) -> list[RecourseTable]:
    """The second to the so manyth way of each of these people, a table each.

    OPTIMAL in it: no cheaper way leaves at least one feature of each way before it unchanged. INFEASIBLE: proven that
    there is no further way. UNKNOWN: no further one was found, and none was excluded.
    """
    check_alternatives(count)
    source = table.source
    if not isinstance(source, SolvedSource):
        raise ParameterError(
            "AUDIT_LOADED",
            "This audit was read from a file or streamed, and holds neither the model nor the equations.",
            fix="Run the audit again, with people in memory, and ask there.",
        )
    search = _Ranking(table, source, rows)
    return [search.next() for _ in range(count - 1)]


@dataclass(eq=False)
class _Node:
    """A set of features that is held, and what is known of one person's problem then."""

    acts: Acts
    bound: float
    status: Status | None = None
    """None as long as it was not solved."""
    cost: float = np.inf
    changed: Acts = NOTHING
    """What the cheapest way changes, negligible changes left out."""
    answer: RecourseTable | None = None
    at: int = 0
    """The table that holds the way, and its row there."""

    @property
    def acting(self) -> bool:
        """Whether a way was found."""
        return self.status in (Status.OPTIMAL, Status.FEASIBLE)


@dataclass(eq=False)
class _Person:
    """One person's ways so far, and the nodes that cover all others."""

    open: list[_Node] = field(default_factory=list)
    given: list[Acts] = field(default_factory=list)
    seen: set[Acts] = field(default_factory=set)
    ended: Status | None = None
    """Set where there is nothing to look for."""

    def split(self, node: _Node, over: Acts) -> None:
        """In place of a node one for each feature that may be the one that stays."""
        self.open = [other for other in self.open if other is not node]
        for b in sorted(over):
            acts = node.acts | {b}
            if acts not in self.seen:
                self.seen.add(acts)
                self.open.append(_Node(acts, node.bound))

    def settle(self) -> _Node | None:
        """The cheapest node whose way is a further one; None while another must be solved first, or at the end."""
        while True:
            best = min((node for node in self.open if node.acting), key=lambda node: node.cost, default=None)
            if any(node.status is None for node in self.open) or best is None:
                return None
            again = next((before for before in self.given if before <= best.changed), None)
            if again is None:
                return best
            self.split(best, again)


class _Ranking:
    """Everybody's search, a rank at a time; people who hold the same features are solved together."""

    def __init__(self, table: RecourseTable, source: SolvedSource, rows: npt.NDArray[np.intp]) -> None:
        self.source = source
        self.data = source.data.iloc[rows]
        self.groups = replace(table.groups, codes=table.groups.codes[rows])
        self.held = Held(source.problem.scaled, source.solver, {NOTHING: source.prepared})
        self.people = [_Person() for _ in rows]
        first = replace(self._blank(), **{name: getattr(table, name)[rows].copy() for name in STORED})
        for k, node in enumerate(_nodes(first, NOTHING, np.zeros(len(rows)), range(len(rows)))):
            person = self.people[k]
            if node.acting:
                person.given.append(node.changed)
                person.split(node, node.changed)
            else:
                person.ended = node.status

    def _blank(self) -> RecourseTable:
        return RecourseTable.blank(replace(self.source, data=self.data, known={}), self.groups)

    def next(self) -> RecourseTable:
        """Everybody's next way."""
        while asked := self._asked():
            for acts, people in asked.items():
                self._solve(acts, people)
        found = self._blank()
        for k, person in enumerate(self.people):
            self._give(found, k, person)
        return found

    def _asked(self) -> dict[Acts, list[int]]:
        """Features to hold, and for whom, before everybody's next way is known."""
        asked: dict[Acts, list[int]] = {}
        for k, person in enumerate(self.people):
            if person.settle() is None:
                for node in person.open:
                    if node.status is None:
                        asked.setdefault(node.acts, []).append(k)
        return asked

    def _solve(self, acts: Acts, people: list[int]) -> None:
        nodes = [next(node for node in self.people[k].open if node.acts == acts) for k in people]
        problem, prepared = self.held.holding(acts), self.held.prepared(acts)
        rows = np.array(people, dtype=np.intp)
        source = replace(self.source, data=self.data.iloc[rows], known={})
        part = RecourseTable.blank(source, replace(self.groups, codes=self.groups.codes[rows]))
        if isinstance(prepared, PreparedSolver):
            lacking = Lacking(problem, self.source.solver, is_open=True)
            ActionVerifier(problem, prepared, part.data, lacking).run(part, 0)
        else:
            part.status[:], part.bound[:] = Status.UNKNOWN, 0.0
        least = np.array([node.bound for node in nodes])
        for node, solved in zip(nodes, _nodes(part, acts, least, range(len(rows))), strict=True):
            vars(node).update(vars(solved))

    def _give(self, found: RecourseTable, k: int, person: _Person) -> None:
        best = person.settle() if person.ended is None else None
        if best is None:
            found.status[k], found.bound[k] = _ending(person)
            return
        assert best.answer is not None
        for name in STORED:
            getattr(found, name)[k] = getattr(best.answer, name)[best.at]
        others = [node for node in person.open if node is not best]
        gap = self.source.solver.gap
        # What is proven the cheapest of its node, and no cheaper, is in nobody's way.
        open_ = [node for node in others if node.status not in (Status.OPTIMAL, Status.INFEASIBLE)]
        if not all(is_closed(best.cost, node.bound, gap) for node in open_):
            found.status[k] = Status.FEASIBLE
            found.vanishing[k] = False
        found.bound[k] = min([best.bound, *(node.bound for node in others), best.cost])
        if best.at in best.answer.notes and found.status[k] == Status.FEASIBLE:
            note = best.answer.notes[best.at]
            # What a node says of its own does not hold for all others.
            found.notes[k] = replace(note, bound=None if note.bound is None else float(found.bound[k]))
        person.given.append(best.changed)
        person.split(best, best.changed)


def _ending(person: _Person) -> tuple[Status, float]:
    """What is known where there is no further way."""
    if person.ended == Status.NOT_NEEDED:
        return Status.NOT_NEEDED, np.nan
    bounds = [node.bound for node in person.open if node.status == Status.UNKNOWN]
    if person.ended == Status.UNKNOWN or bounds:
        return Status.UNKNOWN, min(bounds, default=0.0)
    return Status.INFEASIBLE, np.inf


def _nodes(table: RecourseTable, acts: Acts, least: npt.NDArray[np.float64], rows: Iterable[int]) -> Iterator[_Node]:
    """What a table says of each person's problem."""
    costs = table.source.costs(table, slice(None))
    picked, values = table.source.interventions(table, slice(None))
    facts = table.source.facts(slice(None))[:, list(table.acts)]
    changed = picked & (values != facts) & (costs > NEGLIGIBLE * costs.sum(axis=1, keepdims=True))
    for k in rows:
        status = Status(int(table.status[k]))
        bound = max(float(least[k]), float(table.bound[k])) if status != Status.NOT_NEEDED else 0.0
        node = _Node(acts, bound, status, answer=table, at=k)
        if node.acting:
            # Of a way that costs nothing every change counts.
            own = changed[k] if changed[k].any() else picked[k] & (values[k] != facts[k])
            node.cost, node.changed = float(table.cost[k]), frozenset(np.flatnonzero(own).tolist())
        yield node
