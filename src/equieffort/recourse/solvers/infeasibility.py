"""Why people have no recourse: what is allowed is widened limit by limit, and the limits that matter are named.

Each limit and rule is left out in turn; those without which there is an action suffice each alone. Where none does, the
limits that some action beyond all of them breaks are put back one by one as long as an action is left: what then cannot
be put back is a smallest set that has to go together (a minimal correction set; see Liffiton and Sakallah, "Algorithms
for computing minimal unsatisfiable subsets of constraints", 2008). What is left out makes another problem, the same for
everybody, so a solver is asked about all people at once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.counterfactuals import propagate, settings
from equieffort.recourse.limits import Limit, limits
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE, Batch, PreparedSolver, Proposal, Solver
from equieffort.recourse.status import Blocking, Infeasibility, LimitKind, Obstacle, Refusal
from equieffort.world.schema import Feature

NODES_EACH = 2_000
"""How long each question may take; an action is nearly always found at once or not at all."""
ANY = 1e9
"""The gap to ask with: whether there is an action matters, not its cost."""
MOST_ALONE = 24
"""With more limits than that they are not left out one by one, where each question is a program of its own."""
MOST_TOGETHER = 8
"""Of more limits that an action breaks no smallest set is looked for."""
UNDECLARED = (LimitKind.DIRECTION, LimitKind.ZERO_ONE)
"""Limits without a number that somebody declared."""


@dataclass(frozen=True)
class _Part:
    """One limit that can be left out: of a number or an ordered category its kind and side, of what follows its range,
    or a rule."""

    position: int = -1
    kind: LimitKind = LimitKind.RULE
    side: int = 0
    rule: int = -1


class Relaxations:
    """A problem and what becomes of it when limits are left out; a quick solver is asked for any action there.

    With more than `most` limits they are not left out one by one.
    """

    def __init__(self, problem: RecourseProblem, quick: Solver, most: int | None = None) -> None:
        self.problem, self.quick, self.most = problem, quick, most
        self.parts = _parts(problem)
        self._made: dict[frozenset[_Part], PreparedSolver | Refusal] = {}

    def infeasibility(self, people: Floats) -> list[Infeasibility]:
        """For each person the limits in the way."""
        # What cannot be reached without any limit cannot be reached without one of them.
        loosest = self.ask(self.parts, people) if self.parts else None
        code = np.full(len(people), NONE) if loosest is None else loosest.code
        open_rows = np.flatnonzero(code != NONE)
        alone: list[list[_Part]] = [[] for _ in range(len(people))]
        sides: list[list[_Part]] = [[] for _ in range(len(people))]
        if self.most is None or len(self.parts) <= self.most:
            for group in _groups(self.parts):
                self._one_by_one(people, open_rows, group, alone, sides)
        found = []
        for i in range(len(people)):
            person = people[i : i + 1]
            if code[i] == NONE:
                held = [Obstacle("", LimitKind.FIXED, column=name) for name in _protected(self.problem)]
                found.append(Infeasibility(tuple(held), Blocking.BEYOND))
                continue
            parts, how = alone[i], Blocking.EACH
            if not parts and code[i] == FOUND:
                assert loosest is not None
                broken = sides[i] or [part for part in self.parts if part in self._broken(person, loosest, i)]
                parts, how = self._together(person, broken)
            told = tuple(self.obstacle(part, person) for part in parts)
            found.append(Infeasibility(told, how) if told else Infeasibility())
        return found

    def ask(self, gone: Iterable[_Part], people: Floats) -> Proposal:
        """What is known of people's actions; nothing where the solver needs the very limit that is left out."""
        parts = frozenset(gone)
        if len(people) and parts not in self._made:
            self._made[parts] = self.quick.prepare(self.without(parts))
        if len(people) and not isinstance(prepared := self._made[parts], Refusal):
            return prepared.propose(Batch(people))
        proposal = Proposal.empty(self.problem, len(people))
        proposal.code[:] = LIMIT
        return proposal

    def acts(self, gone: Iterable[_Part], people: Floats) -> Any:
        """Who has an action."""
        return self.ask(gone, people).code == FOUND

    def without(self, gone: frozenset[_Part]) -> RecourseProblem:
        """The problem without some of its limits."""
        schema, features = self.problem.schema, {}
        for k in {part.position for part in gone if part.position >= 0}:
            own = [part for part in gone if part.position == k]
            features[self.problem.names[k]] = _widened(self.problem.feature(k), own)
        kept = [rule for number, rule in enumerate(schema.constraints) if _Part(rule=number) not in gone]
        rules = kept if len(kept) < len(schema.constraints) else schema.rules
        wider = replace(schema, features={**schema.features, **features}, rules=rules)
        return replace(self.problem, schema=wider)

    def obstacle(self, part: _Part, person: Floats) -> Obstacle:
        """A limit as what stands in a person's way."""
        problem = self.problem
        if part.rule >= 0:
            return Obstacle("", LimitKind.RULE, rule=str(problem.schema.constraints[part.rule]))
        if not part.side:
            return Obstacle("", part.kind, column=problem.names[part.position])
        limit, facts = self.limit(part), problem.places(part.position, person[:, part.position])
        return obstacle_of(problem, part.position, limit, float(facts[0]), float(room_to(limit, facts)[0]))

    def limit(self, part: _Part) -> Limit:
        """The limit of a number that a part stands for."""
        of = self.problem.limits(part.position)
        return next(limit for limit in of if (limit.kind, limit.side) == (part.kind, part.side))

    def _one_by_one(
        self,
        people: Floats,
        rows: Any,
        group: list[_Part],
        alone: list[list[_Part]],
        sides: list[list[_Part]],
    ) -> None:
        """Who has an action without a limit or, on a side with several, only without several of these."""
        helped = rows[self.acts(group, people[rows])]
        by_one: dict[int, list[_Part]] = {i: [] for i in helped.tolist()}
        for part in group if len(helped) else ():
            is_enough = self.acts([part], people[helped]) if len(group) > 1 else [True] * len(helped)
            for i, yes in zip(helped.tolist(), is_enough, strict=True):
                by_one[i] += [part] if yes else []
        for i, parts in by_one.items():
            alone[i] += parts
            if not parts and (not sides[i] or len(group) < len(sides[i])):
                sides[i] = group

    def _together(self, person: Floats, broken: list[_Part]) -> tuple[list[_Part], Blocking]:
        """Of limits without which there is an action those that cannot be put back."""
        if not broken:
            return list(self.parts), Blocking.ALL
        if len(broken) > MOST_TOGETHER or not self.acts(broken, person)[0]:
            return broken, Blocking.ALL
        gone, how = list(broken), Blocking.TOGETHER
        for part in broken if len(broken) > 1 else ():
            fewer = [other for other in gone if other != part]
            code = int(self.ask(fewer, person).code[0])
            if code == FOUND:
                gone = fewer
            elif code != NONE:
                how = Blocking.ALL
        return gone, Blocking.EACH if len(gone) == 1 else how

    def _broken(self, person: Floats, proposal: Proposal, row: int) -> set[_Part]:
        """The limits that a proposed action goes beyond."""
        problem = self.problem
        action, free = proposal.take([row]), self.without(frozenset(self.parts))
        picked, values = settings(free, person, action.intervention_mask, action.delta, action.level)
        moved, _ = propagate(problem, person, picked, values)
        found = set()
        for part in self.parts:
            if part.rule >= 0:
                rule = str(problem.schema.constraints[part.rule])
                is_broken = any(bool(who[0]) for who, words in problem.rules.faults(person, moved) if words == rule)
            elif part.side:
                fact = problem.places(part.position, person[:, part.position])
                change = part.side * float((problem.places(part.position, moved[:, part.position]) - fact)[0])
                room = float(room_to(self.limit(part), fact)[0])
                # What follows is held to no limit of what may be set, only to its plausible range.
                is_broken = change > room and bool(picked[0, part.position] or part.kind == LimitKind.PLAUSIBLE)
            else:
                low, high = problem.plausible(person, part.position)
                is_broken = not low[0] <= moved[0, part.position] <= high[0]
            if is_broken:
                found.add(part)
        return found


def _parts(problem: RecourseProblem) -> tuple[_Part, ...]:
    """All limits that can be left out."""
    parts = [
        _Part(k, limit.kind, limit.side)
        for k in problem.acts
        for limit in sorted(limits(problem.feature(k)), key=lambda limit: limit.side)
        if limit.kind != LimitKind.ZERO_ONE
    ]
    below = _below(problem)
    for k in range(len(problem.names)):
        feature = problem.feature(k)
        if _follows(problem, k, below) and (feature.role == "immutable" or feature.plausible is not None):
            parts.append(_Part(k, LimitKind.FIXED if feature.role == "immutable" else LimitKind.PLAUSIBLE))
    return (*parts, *(_Part(rule=number) for number in range(len(problem.schema.constraints))))


def _groups(parts: tuple[_Part, ...]) -> list[list[_Part]]:
    """Limits on one side of a number belong together; every other limit stands by itself."""
    found: dict[Any, list[_Part]] = {}
    for part in parts:
        found.setdefault((part.position, part.side) if part.side else part, []).append(part)
    return list(found.values())


def _protected(problem: RecourseProblem) -> list[str]:
    """Protected columns that an action could move: they stay whatever is asked."""
    return [name for name in _below(problem) if name in problem.schema.protected_columns]


def _follows(problem: RecourseProblem, position: int, below: list[str]) -> bool:
    """Whether a column only follows, and may be freed: protected columns stay whatever is asked."""
    name = problem.names[position]
    is_free = name not in problem.schema.protected_columns
    return name in below and is_free and problem.feature(position).role != "actionable"


def _below(problem: RecourseProblem) -> list[str]:
    """The columns that an action can move."""
    graph = problem.scm.graph
    return list(graph.descendants(*(name for name in problem.schema.actionable if name in graph.nodes)))


def _widened(feature: Feature, parts: list[_Part]) -> Feature:
    """The feature without some of its limits."""
    if not parts[0].side:
        return replace(feature, role="mutable", plausible=None)
    for part in parts:
        key = part.kind.value
        without: Any = "both" if part.kind == LimitKind.DIRECTION else None
        if part.kind in (LimitKind.PLAUSIBLE, LimitKind.OBSERVED):
            low, high = getattr(feature, key)
            low, high = (None, high) if part.side < 0 else (low, None)
            without = None if low is None and high is None else (low, high)
        feature = replace(feature, **{key: without})
    return feature


def room_to(limit: Limit, facts: Floats) -> Floats:
    """How far each person may go before the limit; none where it is passed already."""
    return np.maximum(limit.side * (limit.at(facts) - facts), 0.0)


def obstacle_of(problem: RecourseProblem, position: int, limit: Limit, fact: float, room: float) -> Obstacle:
    """The limit as it stops a person `room` away from the fact."""
    value = abs(limit.value) if limit.relative else limit.value
    return Obstacle(
        problem.names[position],
        limit.kind,
        limit.side,
        None if limit.kind in UNDECLARED else problem.level_or_own(position, value),
        fact=problem.level_or_own(position, fact),
        stops_at=problem.level_or_own(position, fact + limit.side * room),
    )
