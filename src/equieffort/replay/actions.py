"""Saved actions followed again: limits, equations, rules and costs, each from the numbers in the file.

Nothing is taken over from whoever solved or verified the actions before: what is forgiven here is a little more than
there, and a file in which any number was changed by more than rounding does not pass.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from equieffort.data.frames import Bools, Column, Encoding, Floats
from equieffort.foundations.tolerances import REPLAYED, SAVED, SAVED_ROUNDING, unit_of
from equieffort.replay.equations import SavedEquation
from equieffort.replay.prices import Labels, SavedPrices, places
from equieffort.world.graph import CausalGraph
from equieffort.world.rules import clauses_of
from equieffort.world.schema import Feature, Schema

ROOM = (1.0, 1 / 16, 16.0)
"""Spreads that rules are asked with: a rule is broken only if it is with each of them."""


class Check(StrEnum):
    """What is asked of a saved person or action."""

    REFUSED = "refused"
    """The model's own label before: people with an action, or without recourse, are refused."""
    APPROVED = "approved"
    """The same where nothing is needed."""
    FLIPS = "flips"
    """The model's own label after the action."""
    LIMITS = "limits"
    """Lower and upper ends, largest changes, directions, whole numbers, and what no action may set."""
    ACTIONS = "max_actions"
    EQUATIONS = "equations"
    """What follows is what the saved equations say with the person's own noise; what follows nothing stays."""
    PLAUSIBLE = "plausible"
    """Plausible ranges and what is immutable."""
    RULES = "rules"
    COST = "cost"
    BOUND = "bound"
    """No lower bound lies above its cost, and an optimal cost no further above it than the solver's gap."""
    CURVE = "curve"
    """What a kept curve says of the people around a centre."""


@dataclass(frozen=True, eq=False)
class Actions:
    """People with an action, as a file has them; a row each in every array."""

    facts: Floats
    picked: Bools
    """(person, column): what is set."""
    values: Floats
    """(person, column): to what."""
    moved: Floats
    """(person, column): the counterfactual."""
    parts: Floats
    """(person, column): what each setting is said to cost."""
    cost: Floats
    bound: Floats
    proven: Bools
    """Whose action is said to be the cheapest."""
    vanishing: Bools
    groups: Labels
    """The label of each person's group."""


@dataclass(frozen=True)
class Fault:
    """Who fails a check, and on account of which feature, rule or part."""

    check: Check
    subject: str
    who: Bools
    said: Floats | None = None
    """What the file says, where that is a number."""
    found: Floats | None = None


@dataclass(frozen=True, eq=False)
class SavedProblem:
    """What a file says may happen: columns, roles and limits, graph, equations, prices."""

    encoding: Encoding
    schema: Schema
    graph: CausalGraph
    equations: Mapping[str, SavedEquation]
    prices: SavedPrices
    gap: float
    reference: Floats
    """Everybody's facts, which spreads are taken from."""

    @cached_property
    def spreads(self) -> Floats:
        """About the spread of each amount; 1 for whole numbers and levels."""
        columns = self.encoding.columns
        return np.array(
            [unit_of(self.reference[:, k]) if c.kind == "continuous" else 1.0 for k, c in enumerate(columns)]
        )

    def room(self, k: int, values: Floats) -> Floats:
        """How far rounding may carry values of a column, that of the caller's own types included."""
        grid = self.encoding.columns[k].grid
        coarse = 0.0 if grid is None else 4 * float(np.finfo(grid).eps)
        return SAVED * self.spreads[k] + (SAVED_ROUNDING + coarse) * np.abs(values)

    def feature(self, k: int) -> Feature:
        """What may happen to a column."""
        return self.schema.feature(self.encoding.names[k])

    def code(self, actions: Actions) -> dict[str, Bools]:
        """By node whose equation is code: for whom it had to be followed, so that nothing can be said."""
        found = {}
        for node, equation in self.equations.items():
            if equation.is_code and (who := self._must_follow(actions, equation)).any():
                found[node] = who
        return found

    def faults(self, actions: Actions) -> Iterator[Fault]:
        """Everything that does not hold."""
        yield from self._limits(actions)
        yield from self._followed(actions)
        yield from self._plausible(actions)
        yield from self._rules(actions)
        yield from self._costs(actions)

    # -- limits -------------------------------------------------------------------------------------------------------

    def _limits(self, actions: Actions) -> Iterator[Fault]:
        changed = actions.picked & (actions.values != actions.facts)
        most = self.schema.max_actions
        if most is not None:
            yield Fault(Check.ACTIONS, "", changed.sum(axis=1) > most)
        for k, column in enumerate(self.encoding.columns):
            picked, value, fact = actions.picked[:, k], actions.values[:, k], actions.facts[:, k]
            if self.feature(k).role != "actionable" or not picked.any():
                yield Fault(Check.LIMITS, column.name, picked & (self.feature(k).role != "actionable"))
                continue
            room = self.room(k, value)
            wrong = ~np.isfinite(value) | (np.abs(value - actions.moved[:, k]) > room)
            if column.is_category:
                wrong |= ~np.isin(value, np.arange(len(column.levels)))
                place, room = places(self.feature(k), column), np.zeros(len(value))
                codes = np.where(picked & ~wrong, value, fact)
                value, fact = (place[np.nan_to_num(of).astype(np.intp)] for of in (codes, fact))
            low, high = ends_of(self.feature(k), fact)
            wrong |= (value < low - room) | (value > high + room) | (column.is_whole & (value != np.rint(value)))
            yield Fault(Check.LIMITS, column.name, picked & wrong, value, np.clip(value, low, high))

    def _plausible(self, actions: Actions) -> Iterator[Fault]:
        for k, column in enumerate(self.encoding.columns):
            feature, fact, moved = self.feature(k), actions.facts[:, k], actions.moved[:, k]
            low, high = feature.plausible or (None, None)
            least = np.minimum(fact, -np.inf if low is None else low)
            most = np.maximum(fact, np.inf if high is None else high)
            if feature.role == "immutable":
                least = most = fact
            room = 0.0 if column.is_category else self.room(k, moved)
            known = ~(np.isnan(fact) & np.isnan(moved))
            inside = (moved >= least - room) & (moved <= most + room)
            yield Fault(Check.PLAUSIBLE, column.name, known & ~inside, moved, np.clip(moved, least, most))

    # -- what follows -------------------------------------------------------------------------------------------------

    def _must_follow(self, actions: Actions, equation: SavedEquation) -> Bools:
        """For whom a cause moved while the node itself was not set."""
        moved = np.zeros(len(actions.facts), dtype=bool)
        for name in equation.causes:
            k = self.encoding.position(name)
            before, after = actions.facts[:, k], actions.moved[:, k]
            room = np.zeros(len(before)) if equation.kind is not None else self.room(k, before)
            moved |= np.abs(after - before) > room
        return moved & ~actions.picked[:, self.encoding.position(equation.node)]

    def _followed(self, actions: Actions) -> Iterator[Fault]:
        """Each node by its causes as the file has them; then also by causes that were followed here, since the types
        of the caller's table may have rounded those in the file."""
        columns = {column.name: column for column in self.encoding.columns}
        before = {name: _filled(actions.facts[:, k]) for k, name in enumerate(columns)}
        saved = {name: _filled(actions.moved[:, k]) for k, name in enumerate(columns)}
        chain = dict(saved)
        for k, name in [(self.encoding.position(node), node) for node in self._order]:
            equation, own, picked = self.equations.get(name), before[name], actions.picked[:, k]
            if equation is not None and equation.is_code:
                continue
            if equation is None or equation.kind is None:
                off = ~picked & (saved[name] != own)
                if equation is not None:
                    off |= self._must_follow(actions, equation)
                yield Fault(Check.EQUATIONS, name, off, saved[name], own)
                continue
            # An equation without a value, such as a quotient by 0, keeps whoever no cause moves.
            fits, room = ~self._must_follow(actions, equation) & (saved[name] == own), self._rounding(k, saved[name])
            for causes in (saved, chain):
                least, most = equation.reach(columns, own, before, causes)
                fits |= (saved[name] >= least - room) & (saved[name] <= most + room)
            if columns[name].is_category:
                chain[name] = np.where(picked, saved[name], least)
            else:
                chain[name] = np.where(picked, saved[name], 0.5 * least + 0.5 * most)
            # Where a cause has no value any more, nothing follows from it.
            chain[name] = np.where(np.isfinite(chain[name]), chain[name], saved[name])
            yield Fault(Check.EQUATIONS, name, ~picked & ~fits, saved[name], chain[name])

    def follow(self, facts: Floats, picked: Bools, values: Floats) -> Floats:
        """Where people come who set these values: what follows by the saved equations, none of which may be code."""
        columns = {column.name: column for column in self.encoding.columns}
        before = {name: _filled(facts[:, k]) for k, name in enumerate(columns)}
        after = dict(before)
        moved = np.where(picked, values, facts)
        for name in self._order:
            k, equation = self.encoding.position(name), self.equations.get(name)
            if equation is not None and equation.kind is not None:
                least, most = equation.reach(columns, before[name], before, after)
                # Whoever no cause moves stays, also where an equation has no value, such as a quotient by 0.
                still = np.all([after[cause] == before[cause] for cause in equation.causes], axis=0)
                follows = least if columns[name].is_category else 0.5 * least + 0.5 * most
                moved[:, k] = np.where(picked[:, k] | still, moved[:, k], follows)
            after[name] = _filled(moved[:, k])
        return moved

    @property
    def _order(self) -> list[str]:
        """Causes before effects; columns outside the graph follow nothing."""
        return [*self.graph.nodes, *(name for name in self.encoding.names if name not in self.graph.nodes)]

    def _rounding(self, k: int, values: Floats) -> Floats:
        grid = self.encoding.columns[k].grid
        return np.zeros(len(values)) if grid is None else 4 * float(np.finfo(grid).eps) * np.abs(values)

    def _rules(self, actions: Actions) -> Iterator[Fault]:
        asked = [
            clauses_of(self.schema.constraints, self.encoding, self.spreads * share).faults(
                actions.facts, actions.moved
            )
            for share in ROOM
        ]
        for answers in zip(*asked, strict=True):
            yield Fault(Check.RULES, answers[0][1], np.all([who for who, _ in answers], axis=0))

    # -- what it costs ------------------------------------------------------------------------------------------------

    def _costs(self, actions: Actions) -> Iterator[Fault]:
        over = actions.bound > actions.cost * (1 + REPLAYED)
        yield Fault(Check.BOUND, "", over, actions.bound, actions.cost)
        total, room = np.zeros(len(actions.cost)), np.zeros(len(actions.cost))
        if self.prices.is_code:
            total = actions.parts.sum(axis=1)
        for k, column in enumerate(self.encoding.columns):
            picked = actions.picked[:, k]
            if self.prices.is_code or not picked.any():
                continue
            part, near = (self._price(actions, k, column, wide) for wide in (False, True))
            total, room = total + part, room + near
            off = np.abs(part - actions.parts[:, k]) > REPLAYED * part + near
            yield Fault(Check.COST, column.name, off, actions.parts[:, k], part)
        off = ~(np.abs(total - actions.cost) <= REPLAYED * total + room)
        yield Fault(Check.COST, "", off, actions.cost, total)
        slack = max(self.gap, REPLAYED) * actions.cost + room
        above = actions.proven & ~actions.vanishing & ~(actions.cost - actions.bound <= slack)
        yield Fault(Check.BOUND, "", above, actions.bound, actions.cost)

    def _price(self, actions: Actions, k: int, column: Column, wide: bool) -> Floats:
        """What a setting costs; or, `wide`, what a change costs that is too small to be told from none."""
        fact = actions.facts[:, k]
        value = np.where(actions.picked[:, k], actions.values[:, k], fact)
        if not wide:
            return self.prices.of(self.feature(k), column, actions.groups, fact, value)
        if column.is_category:
            return np.zeros(len(fact))
        step = self.room(k, value)
        ends = [self.prices.of(self.feature(k), column, actions.groups, fact, fact + side * step) for side in (1, -1)]
        return np.asarray(ends[0] + ends[1])


def _filled(values: Floats) -> Floats:
    """Something in place of what is missing before and after: a group that is not known and plays no part."""
    return np.where(np.isnan(values), 0.0, values)


def ends_of(feature: Feature, fact: Floats) -> tuple[Floats, Floats]:
    """The least and the largest value that may be set: a fact outside its limits may stay or come nearer."""
    (low, high), (least, largest) = feature.plausible or (None, None), feature.observed or (None, None)
    lower, upper = feature.ends
    below = [end for end in (lower, low, least) if end is not None]
    above = [end for end in (upper, high, largest) if end is not None]
    bottom = np.maximum.reduce([np.full(len(fact), -np.inf), *(np.minimum(end, fact) for end in below)])
    top = np.minimum.reduce([np.full(len(fact), np.inf), *(np.maximum(end, fact) for end in above)])
    if feature.max_decrease is not None:
        bottom = np.maximum(bottom, fact - feature.max_decrease)
    if feature.max_increase is not None:
        top = np.minimum(top, fact + feature.max_increase)
    return fact if feature.direction == "up" else bottom, fact if feature.direction == "down" else top
