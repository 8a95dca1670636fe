"""Variations of an action that works, most of them cheaper: drawn back, traded, begun anew, on another level."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.solvers.heuristic.moves import Moves
from equieffort.recourse.solvers.heuristic.people import Candidates, Ints

SHRINK, DROP, TRADE, FRESH, TURN, FLIP = range(6)
KINDS = np.repeat([SHRINK, DROP, TRADE, FRESH, TURN, FLIP], [3, 4, 10, 6, 3, 2])
VARIED = len(KINDS)
"""Variations of an action in one round."""
CHANCES = 6
"""Random numbers that a variation uses, beside one for each feature."""


def vary(moves: Moves, actions: Candidates, cost: Floats, scale: Floats, salt: int) -> Candidates:
    """Variations of people's actions (one action a person), in steps of a relative size."""
    work = _Variations(moves, actions, cost, scale, salt)
    work.shrink()
    work.flip()
    work.give_up()
    if moves.people.numbers:
        work.begin_anew()
    if moves.people.allowed:
        work.turn()
    acts = work.value.shape[2]
    return Candidates(
        np.repeat(actions.who, VARIED), work.is_set.reshape(-1, acts), work.value.reshape(-1, acts)
    )  # fmt: skip


class _Variations:
    """(person, variation, feature): all variations at once, each step working on those of its kind."""

    def __init__(self, moves: Moves, actions: Candidates, cost: Floats, scale: Floats, salt: int) -> None:
        self.people, rows = moves.people, actions.who
        n, acts = actions.value.shape
        chance = self.people.random(salt, VARIED, acts + CHANCES)[rows]
        self.keys, self.u = chance[:, :, :acts], chance[:, :, acts:]
        self.cost, self.scale = cost[:, None], scale[:, None]
        self.up, self.down = moves.up[rows], moves.down[rows]
        self.facts = np.repeat(self.people.facts[rows][:, None, :], VARIED, axis=1)
        self.is_set = np.repeat(actions.is_set[:, None, :], VARIED, axis=1)
        self.value = np.repeat(actions.value[:, None, :], VARIED, axis=1)
        self.person, self.each = np.arange(n)[:, None], np.arange(VARIED)[None, :]

    def shrink(self) -> None:
        """All numbers nearer to their facts: by the whole step, a half, a quarter, or by chance."""
        by = np.where(KINDS == SHRINK, 0.5 ** np.arange(VARIED), self.u[:, :, 0]) * self.scale
        self._nearer(np.isin(KINDS, (SHRINK, FLIP)), by)

    def flip(self) -> None:
        """A feature that can follow others is held instead, or the other way round."""
        if self.people.follows.any():
            feature = self._pick(self.people.follows)
            at = self.person, self.each, feature
            self.is_set[at] ^= KINDS == FLIP
            self.value[at] = np.where(self.is_set[at], self.value[at], self.facts[at])

    def give_up(self) -> None:
        """One change is dropped, or given up in part and most of what that saves spent on another number."""
        people, u = self.people, self.u
        changed = self.value != self.facts
        feature = self._pick(changed)
        at = self.person, self.each, feature
        change, is_number = self.value[at] - self.facts[at], people.is_number[feature]
        wholly = (KINDS == DROP) | (u[:, :, 0] < 0.35) | ~is_number
        removed = np.where(wholly, 1.0, self.scale * u[:, :, 1]) * change
        removed = np.where(np.isin(KINDS, (DROP, TRADE)), removed, 0.0)
        price = np.where(change > 0, self.up[self.person, feature], self.down[self.person, feature])
        saved = price * np.where(is_number, np.abs(removed), removed != 0)
        self.value[at] -= removed
        self.is_set[at] &= ~((KINDS == DROP) & (removed != 0) & (u[:, :, 2] < 0.5))
        if people.numbers:
            others = people.is_number & (np.arange(len(people.is_number)) != feature[:, :, None])
            spent = np.where(KINDS == TRADE, saved * (1.0 - self.scale * u[:, :, 3]), 0.0)
            self._spend(self._pick(others | (people.is_number & (people.numbers == 1))), spent, u[:, :, 4] < 0.5)

    def begin_anew(self) -> None:
        """One or two numbers for less than the action costs, perhaps with its categories."""
        people, u = self.people, self.u
        keeps = ~people.is_number & (u[:, :, 5] < 0.5)[:, :, None]
        anew = (KINDS == FRESH)[:, None] & ~keeps
        self.value = np.where(anew, self.facts, self.value)
        self.is_set = np.where(anew, people.follows & (u[:, :, 4] < 0.5)[:, :, None], self.is_set)
        total = np.where(KINDS == FRESH, self.cost * np.sqrt(u[:, :, 0]), 0.0)
        share = np.where(u[:, :, 1] < 0.5, 1.0, u[:, :, 2])
        first = self._pick(people.is_number)
        self._spend(first, total * share, u[:, :, 3] < 0.5)
        second = people.is_number & (np.arange(len(people.is_number)) != first[:, :, None])
        self._spend(self._pick(second), total * (1.0 - share) * second.any(axis=2), u[:, :, 4] < 0.5)

    def turn(self) -> None:
        """Another level of a category, and the numbers nearer to their facts."""
        u, sizes = self.u, np.array([levels.shape[1] for levels in self.people.allowed])
        category = np.floor(u[:, :, 0] * len(sizes)).astype(np.intp)
        at = self.person, self.each, self.people.numbers + category
        self._nearer(KINDS == TURN, u[:, :, 2])
        self.value[at] = np.where(KINDS == TURN, np.floor(u[:, :, 1] * sizes[category]), self.value[at])
        self.is_set[at] |= KINDS == TURN

    def _pick(self, among: Bools) -> Ints:
        """(person, variation): a feature by chance, of those that are given; the first if there is none."""
        return np.asarray(np.where(among, self.keys, -1.0).argmax(axis=2))

    def _nearer(self, which: Bools, by: Floats) -> None:
        near = self.facts + (self.value - self.facts) * (1.0 - by)[:, :, None]
        self.value = np.where(which[:, None] & self.people.is_number, near, self.value)

    def _spend(self, feature: Ints, amount: Floats, rises: Bools) -> None:
        """Move a feature as far as an amount of cost carries."""
        up, down = self.up[self.person, feature], self.down[self.person, feature]
        by = np.where(rises, amount / up, -amount / down)
        self.value[self.person, self.each, feature] += by
        self.is_set[self.person, self.each, feature] |= by != 0
