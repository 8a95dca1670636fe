"""People under search: their limits and prices, candidates that are checked before the model is asked, their chance.

A candidate says which actionable features are set and to what. Before it costs a question it must be allowed: inside
the limits, plausible, in keeping with the rules, and cheaper than what the person already has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.counterfactuals import is_allowed, keeps_margin, propagate
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.endings import DONE
from equieffort.recourse.solvers.interventions import followers
from equieffort.recourse.solvers.rule_table import allowed_levels
from equieffort.recourse.solvers.shared_time import SharedTime
from equieffort.world.cost import LinearCost, PiecewiseCost

Ints = npt.NDArray[np.intp]
Words = npt.NDArray[np.uint64]

ROWS = 32_768
"""Counterfactuals handled at a time, so that memory stays bounded; between two batches the time is looked at."""
SHARE = 0.01
"""Of what a replay forgives: a search that used it up would leave nothing for rounding."""

SHARES = np.linspace(0.0, 1.0, 9)
"""Where single features are looked at first: these quantiles of the data."""


@dataclass(frozen=True, eq=False)
class Examples:
    """What the problem's examples say: how far values reach, and who was decided favourably."""

    quantiles: Floats
    """(share, number): of the actionable numbers."""
    spread: Floats
    good: Floats
    """(person, actionable feature): the favourably decided, encoded."""

    @classmethod
    def of(cls, problem: RecourseProblem) -> Examples:
        """What the examples say; the model is asked about them."""
        numbers, cost = list(problem.numeric), problem.cost
        unit = np.ones(len(numbers))
        if isinstance(cost, LinearCost) and not cost.own:
            unit = 1.0 / np.minimum(cost.up, cost.down)
        if len(problem.examples) == 0:
            return cls(np.empty((0, len(numbers))), unit, np.empty((0, len(problem.acts))))
        people = problem.encoding.encode(problem.examples)
        quantiles = np.quantile(people[:, numbers], SHARES, axis=0).reshape(len(SHARES), len(numbers))
        spread = quantiles[-1] - quantiles[0]
        good = people[problem.decision.is_favourable(frame_of(problem, people))]
        return cls(quantiles, np.where(spread > 0, spread, unit), good[:, list(problem.acts)])


def frame_of(problem: RecourseProblem, moved: Floats) -> pd.DataFrame:
    """The columns that the model sees, with the types they have in the data."""
    places = {name: problem.encoding.position(name) for name in problem.decision.features}
    return pd.DataFrame({name: problem.encoding.columns[k].decode(moved[:, k]) for name, k in places.items()})


@dataclass(frozen=True, eq=False)
class Candidates:
    """Actions to be tried; columns are the actionable features, numbers first."""

    who: Ints
    """Whose action it is, as a row of the people."""
    is_set: Bools
    value: Floats
    """What a feature is set to (a level's code for categories); the fact where it is not set."""

    def __len__(self) -> int:
        return len(self.who)

    def take(self, rows: Any) -> Candidates:
        """Some of them."""
        return Candidates(self.who[rows], self.is_set[rows], self.value[rows])

    @staticmethod
    def join(parts: list[Candidates]) -> Candidates:
        """All of them, person by person, in the order in which they were given."""
        who = np.concatenate([part.who for part in parts])
        order = np.argsort(who, kind="stable")
        is_set, value = (np.concatenate([getattr(part, name) for part in parts]) for name in ("is_set", "value"))
        return Candidates(who[order], is_set[order], value[order])


@dataclass(frozen=True, eq=False)
class Answers:
    """The candidates that were put to the model, what they cost, and whether the model says yes."""

    asked: Candidates
    rows: Ints
    """Where they stood among those that were tried."""
    cost: Floats
    good: Bools


class SearchBatch:
    """Encoded people, and all that a search must know of them."""

    def __init__(
        self, problem: RecourseProblem, examples: Examples, matrix: Floats, *, budget: int, random_state: int,
        time_limit: float | None = None,
    ) -> None:  # fmt: skip
        self.problem, self.examples, self.matrix = problem, examples, matrix
        self.budget, self.random_state = budget, random_state
        self.count, self.numbers = len(matrix), len(problem.numeric)
        self.facts = np.ascontiguousarray(matrix[:, list(problem.acts)])
        box = problem.action_box(matrix)
        sizes = np.array([len(problem.encoding.columns[k].levels) for k in problem.categorical], dtype=np.float64)
        ends = np.broadcast_to(np.maximum(sizes - 1, 0), (self.count, len(sizes)))
        self.low = np.column_stack([box[0], np.zeros_like(ends)])
        self.high = np.column_stack([box[1], ends])
        self.is_number = np.arange(len(problem.acts)) < self.numbers
        self.whole = np.append(problem.is_integer, np.ones(len(sizes), dtype=bool))
        self.allowed = allowed_levels(problem, matrix)
        self.follows = followers(problem)
        self.used = np.zeros(self.count, dtype=np.int64)
        self.seeds = _seeds(matrix, random_state)
        self.ids, self.memory = np.arange(self.count), Memory()
        self.time = SharedTime(self.count, time_limit)
        self._curves: dict[tuple[int, int], tuple[Floats, Floats]] = {}

    def part(self, rows: Ints) -> SearchBatch:
        """Some of the people, who go on where they are."""
        part = SearchBatch(
            self.problem, self.examples, self.matrix[rows], budget=self.budget, random_state=self.random_state
        )
        part.used, part.ids, part.memory = self.used[rows], self.ids[rows], self.memory
        part.time = self.time
        return part

    def may_ask(self) -> Bools:
        """Who has questions and time left."""
        return np.asarray((self.used < self.budget) & (self.time.ended[self.ids] == DONE))

    def can_change(self) -> Bools:
        """(person, feature): whether any other value may be set."""
        wide = self.low < self.high
        for b, levels in enumerate(self.allowed):
            own = self.facts[:, self.numbers + b].astype(np.intp)
            others = levels.copy()
            others[np.arange(self.count), own] = False
            wide[:, self.numbers + b] = others.any(axis=1)
        return wide

    def random(self, salt: int, *shape: int) -> Floats:
        """Numbers in [0, 1) for each person, the same whoever else is solved: (person, *shape)."""
        size = int(np.prod(shape))
        steps = np.arange(1, size + 1, dtype=np.uint64) + _mix(np.array([salt], dtype=np.uint64))
        bits = _mix(self.seeds[:, None] ^ _mix(steps)[None, :])
        return ((bits >> np.uint64(11)).astype(np.float64) * 2.0**-53).reshape(self.count, *shape)

    # -- candidates -------------------------------------------------------------------------------------------------

    def allow(self, tried: Candidates) -> Candidates:
        """Values brought to what may be set: inside limits, whole where they must be, and as replay will read them."""
        facts, low, high = self.facts[tried.who], self.low[tried.who], self.high[tried.who]
        value = np.where(tried.is_set, tried.value, facts)
        value = np.where(self.whole, np.rint(value), value)
        value = np.clip(value, low, high)
        value = np.clip(facts + (value - facts), low, high)
        # Where nothing upstream can move a feature, setting it to its fact is no action.
        return Candidates(tried.who, tried.is_set & (self.follows | (value != facts)), value)

    def cost(self, tried: Candidates) -> Floats:
        """What each candidate costs; NaN where a level may not be set."""
        n, problem = self.numbers, self.problem
        facts = self.facts[tried.who]
        total = self._number_costs(tried.who, facts[:, :n], tried.value[:, :n])
        for b, prices in enumerate(problem.level_prices):
            level = tried.value[:, n + b].astype(np.intp)
            changed = level != facts[:, n + b]
            total += prices.between(facts[:, n + b], tried.value[:, n + b])
            total[changed & ~self.allowed[b][tried.who, level]] = np.nan
        return total

    def _number_costs(self, who: Ints, facts: Floats, values: Floats) -> Floats:
        cost = self.problem.cost
        if not isinstance(cost, PiecewiseCost):
            return cost.parts(facts, values).sum(axis=1)
        total = np.zeros(len(who))
        for j in range(self.numbers):
            changed = np.flatnonzero(values[:, j] != facts[:, j])
            order = changed[np.argsort(who[changed], kind="stable")]
            starts = np.flatnonzero(np.diff(who[order], prepend=-1))
            for rows in np.split(order, starts[1:]) if len(order) else ():
                i = int(who[rows[0]])
                if (i, j) not in self._curves:
                    self._curves[i, j] = cost.curve(j, float(facts[rows[0], j]))
                knots, heights = self._curves[i, j]
                value = values[rows, j]
                below, above = np.maximum(knots[0] - value, 0.0), np.maximum(value - knots[-1], 0.0)
                total[rows] += np.interp(value, knots, heights) + cost.tails[j, 0] * below + cost.tails[j, 1] * above
        return total

    def counterfactuals(self, tried: Candidates) -> tuple[Floats, Bools]:
        """The people after their actions, and who of them is plausible and keeps the rules."""
        problem, facts = self.problem, self.matrix[tried.who]
        picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
        for b, k in enumerate(problem.acts):
            picked[:, k], values[:, k] = tried.is_set[:, b], tried.value[:, b]
        moved, unknown = propagate(problem, facts, picked, values)
        return moved, is_allowed(problem, facts, moved, unknown, SHARE)

    def ask(self, tried: Candidates, below: Floats) -> Answers:
        """Put to the model what is allowed, costs less than `below` (one a candidate), and fits into the budget.

        Candidates stand person by person.
        """
        tried = self.allow(tried)
        cost = self.cost(tried)
        rows = np.flatnonzero(cost < below)
        codes = _codes(self.ids[tried.who[rows]], tried.take(rows))
        new = self.memory.new(codes)
        rows, codes = rows[new], codes[new]
        found: list[tuple[Ints, Bools]] = []
        for start in range(0, len(rows), ROWS):
            part = rows[start : start + ROWS]
            moved, good = self.counterfactuals(tried.take(part))
            good[good] = self._within_budget(tried.who[part[good]])
            self.memory.add(codes[start : start + ROWS][good])
            if good.any():
                found.append((part[good], self._is_favourable(moved[good])))
            self.time.charge(np.bincount(self.ids[tried.who[part]], minlength=len(self.time.wall)))
        if not found:
            nothing = np.empty(0, dtype=np.intp)
            return Answers(tried.take(nothing), nothing, np.empty(0), np.empty(0, dtype=bool))
        asked = np.concatenate([part for part, _ in found])
        return Answers(tried.take(asked), asked, cost[asked], np.concatenate([answer for _, answer in found]))

    def _within_budget(self, who: Ints) -> Bools:
        """Which questions, person by person in their order, each person's budget and time allow; counts them."""
        fits = (place_in_run(who) < (self.budget - self.used)[who]) & self.may_ask()[who]
        self.used += np.bincount(who[fits], minlength=self.count)
        return np.asarray(fits)

    def _is_favourable(self, moved: Floats) -> Bools:
        answers = self.problem.decision.is_favourable(frame_of(self.problem, moved))
        # Replay forgives rounding here; a search that did so too would use it up.
        return answers & keeps_margin(self.problem, moved, rounding=False)


def place_in_run(sorted_values: Ints) -> Ints:
    """The place of each entry among the equal ones around it: 0 where a value differs from the one before."""
    first = np.flatnonzero(np.diff(sorted_values, prepend=-1))
    return np.arange(len(sorted_values)) - np.repeat(first, np.diff(np.append(first, len(sorted_values))))


class Memory:
    """What the model was asked before: nobody asks the same twice."""

    def __init__(self) -> None:
        self.codes = np.empty(0, dtype=np.uint64)

    def new(self, codes: Words) -> Ints:
        """Rows of the codes that were never asked, without repetitions, in their order."""
        rows = np.sort(np.unique(codes, return_index=True)[1])
        if len(self.codes) == 0:
            return rows
        place = np.minimum(np.searchsorted(self.codes, codes[rows]), len(self.codes) - 1)
        return rows[self.codes[place] != codes[rows]]

    def add(self, codes: Words) -> None:
        """Remember."""
        self.codes = np.sort(np.concatenate([self.codes, codes]), kind="stable")


def _codes(ids: Ints, tried: Candidates) -> Words:
    """A word for each candidate of each person."""
    code = _mix(ids.astype(np.uint64))
    for is_set, value in zip(tried.is_set.T, tried.value.T, strict=True):
        code = _mix(code ^ np.where(is_set, value + 0.0, np.nan).view(np.uint64))
    return code


def _seeds(matrix: Floats, random_state: int) -> Words:
    """A seed for each person made from their own values, so that company does not matter."""
    code = np.full(len(matrix), np.uint64(random_state % 2**64))
    for column in (matrix + 0.0).T:
        code = _mix(code ^ np.ascontiguousarray(column).view(np.uint64))
    return code


def _mix(words: Words) -> Words:
    """splitmix64: scatters the bits of each word."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
