"""Where a search looks first: single features, favourably decided people, and chance."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import NEXT_TO_NOTHING
from equieffort.recourse.solvers.heuristic.people import SHARES, Candidates, SearchBatch

LIKE = 6
"""How many of the nearest favourably decided people are imitated."""
MOST_LEVELS = 24
"""Levels of one category that are looked at one by one."""


class Moves:
    """Makes candidates for people."""

    def __init__(self, people: SearchBatch) -> None:
        self.people, self.data = people, people.examples
        numbers = people.numbers
        facts, spread = people.facts[:, :numbers], self.data.spread
        cost = people.problem.cost
        # What a unit costs on average over the spread of the data; where that is nothing, next to nothing.
        prices = [
            np.maximum(cost.parts(facts, facts + sign * spread) / spread, NEXT_TO_NOTHING / spread) for sign in (1, -1)
        ]
        levels = people.problem.dearest_levels(people.matrix)
        self.up, self.down = (np.column_stack([price, levels]) for price in prices)

    # -- first looks ------------------------------------------------------------------------------------------------

    def first(self, most: int, salt: int, reach: float) -> Candidates:
        """At most so many candidates a person: single features, people like them, and chance.

        `reach` says how far beyond the data to look where no limit ends the range, in spreads of the data.
        """
        parts = [*(self._like(salt) if reach == 1.0 else ()), *self._singles(salt, reach)]
        sure = sum(len(part) for part in parts) // self.people.count
        parts.append(self._chance(max(most - sure, most // 4), salt, reach))
        everything = Candidates.join(parts)
        each = len(everything) // self.people.count
        if each > most:
            # Too many for the budget: a random selection, the same for the person in any company.
            keys = self.people.random(salt + 4, each)
            kept = np.sort(np.argsort(keys, axis=1, kind="stable")[:, :most], axis=1)
            everything = everything.take((kept + np.arange(self.people.count)[:, None] * each).ravel())
        return everything

    def _flat(self, is_set: Bools, value: Floats) -> Candidates:
        """(person, candidate, feature) as candidates."""
        n, each, acts = value.shape
        return Candidates(np.repeat(np.arange(n), each), is_set.reshape(n * each, acts), value.reshape(n * each, acts))

    def _still(self, each: int) -> tuple[Bools, Floats]:
        shape = (self.people.count, each, len(self.people.is_number))
        return np.zeros(shape, dtype=bool), np.repeat(self.people.facts[:, None, :], each, axis=1)

    def _ends(self, j: int, reach: float) -> tuple[Floats, Floats]:
        """How far a number is looked at, down and up."""
        people, far = self.people, reach * self.data.spread[j]
        facts, known = people.facts[:, j], self.data.quantiles[:, j]
        least, most = facts, facts
        if len(known):
            least, most = np.minimum(facts, known[0]), np.maximum(facts, known[-1])
        return np.maximum(people.low[:, j], least - far), np.minimum(people.high[:, j], most + far)

    def _singles(self, salt: int, reach: float) -> list[Candidates]:
        """One feature at a time, the others left to follow or held."""
        people, found = self.people, []
        targets: list[tuple[int, Floats]] = []
        for j in range(people.numbers):
            ends = self._ends(j, reach)
            box = people.low[:, j], people.high[:, j]
            limits = [np.where(np.isfinite(limit), limit, end) for limit, end in zip(box, ends, strict=True)]
            values = [np.full(people.count, q) for q in self.data.quantiles[:, j]] if reach == 1.0 else []
            half = [(people.facts[:, j] + end) / 2 for end in ends]
            targets.append((j, np.column_stack([*values, *ends, *half, *limits])))
        for b, levels in enumerate(people.allowed):
            count = levels.shape[1]
            keys = people.random(salt + 16 + b, count) if count > MOST_LEVELS else np.zeros((people.count, count))
            order = np.argsort(keys, axis=1, kind="stable")[:, :MOST_LEVELS]
            targets.append((people.numbers + b, order.astype(np.float64)))
        for a, goals in targets:
            is_set, value = self._still(goals.shape[1])
            is_set[:, :, a], value[:, :, a] = True, goals
            found.append(self._flat(is_set, value))
            if people.follows.any():
                found.append(self._flat(is_set | people.follows, value))
        return found

    def _like(self, salt: int) -> list[Candidates]:
        """As the nearest favourably decided people are, wholly or in part."""
        people, good = self.people, self.data.good
        if len(good) == 0:
            return []
        away = np.zeros((people.count, len(good)))
        for a in range(good.shape[1]):
            if a < people.numbers:
                target = np.clip(good[None, :, a], people.low[:, a, None], people.high[:, a, None])
                gap = target - people.facts[:, a, None]
                away += np.where(gap > 0, self.up[:, a, None], self.down[:, a, None]) * np.abs(gap)
            else:
                prices = people.problem.level_prices[a - people.numbers]
                away += prices.between(people.facts[:, a, None], good[None, :, a])
        nearest = good[np.argsort(away, axis=1, kind="stable")[:, :LIKE]]
        everything = np.ones(nearest.shape, dtype=bool)
        some = people.random(salt + 2, *nearest.shape[1:]) < 0.5
        masks = [everything, some, ~some]
        if people.follows.any():
            masks += [everything & ~people.follows]
        if people.numbers and people.allowed:
            masks += [everything & people.is_number, everything & ~people.is_number]
        facts = people.facts[:, None, :]
        return [self._flat(mask, np.where(mask, nearest, facts)) for mask in masks]

    def _chance(self, each: int, salt: int, reach: float) -> Candidates:
        """Some features at once, set to values of the data, to the ends of their range, or a step away."""
        people = self.people
        acts = len(people.is_number)
        is_set, value = self._still(each)
        chance = people.random(salt + 3, each, acts + 1, 4)
        size = 1 + np.floor(chance[:, :, acts, :1] * min(acts, 4)).astype(np.intp)
        size = np.where(chance[:, :, acts, 1:2] < 0.15, acts, size)
        rank = np.argsort(np.argsort(chance[:, :, :acts, 0], axis=2, kind="stable"), axis=2, kind="stable")
        is_set |= rank < size
        for j in range(people.numbers):
            kind, where = chance[:, :, j, 1], chance[:, :, j, 2]
            low, high = (end[:, None] for end in self._ends(j, reach))
            step = reach * self.data.spread[j] * 2.0 ** (-8.0 * chance[:, :, j, 3])
            near = people.facts[:, j, None] + np.where(where < 0.5, -step, step)
            inside = np.interp(where, SHARES, self.data.quantiles[:, j]) if len(self.data.quantiles) else near
            far = np.where(where < 0.5, low, high)
            value[:, :, j] = np.where(kind < 0.4, inside, np.where(kind < 0.6, far, near))
        for b, levels in enumerate(people.allowed):
            a = people.numbers + b
            value[:, :, a] = np.floor(chance[:, :, a, 2] * levels.shape[1])
        holds = people.follows & (chance[:, :, :acts, 3] < 0.5) & ~is_set
        value = np.where(is_set, value, people.facts[:, None, :])
        return self._flat(is_set | holds, value)
