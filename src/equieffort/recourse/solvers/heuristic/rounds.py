"""Rounds of a search: first looks, drawing back towards the facts, variations, trimming; everybody in lockstep."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import REPLAYED
from equieffort.recourse.solvers.heuristic.moves import Moves
from equieffort.recourse.solvers.heuristic.people import Answers, Candidates, Ints, SearchBatch, place_in_run
from equieffort.recourse.solvers.heuristic.variations import VARIED, vary
from equieffort.world.rules import Clauses

POINTS = 7
"""Points between fact and action that are asked about in one round: three halvings."""
STARTS = 6
"""Actions on different sets of features that are drawn back first."""
IMPROVED = 3
"""How many of these are varied, the cheapest first, as far as the budget goes."""
REACHES = (1.0, 8.0, 64.0) * 3
"""How far beyond the data to look as long as nothing works, look by look."""
HALVINGS = 24
"""How finely an action is trimmed: to its 2 ** -24th part."""
TRIMMED = 3
"""Budget is kept back to trim so many features."""
PATIENCE = 12
"""Rounds of variations without a gain after which steps are made large again."""
LAST_SHARE = 5
"""A person's search ends when the last fifth of the budget brought nothing."""

PASSES = 2
"""A repair may break another rule, so all are looked at again."""


class Best:
    """The cheapest action known of each person."""

    def __init__(self, people: SearchBatch) -> None:
        self.cost = np.full(people.count, np.inf)
        self.is_set = np.zeros(people.facts.shape, dtype=bool)
        self.value = people.facts.copy()

    def learn(self, found: Answers) -> Bools:
        """Keep what is cheaper; says whose action changed."""
        good = np.flatnonzero(found.good)
        order = good[np.lexsort((found.cost[good], found.asked.who[good]))]
        order = order[(place_in_run(found.asked.who[order]) == 0)]
        order = order[found.cost[order] < self.cost[found.asked.who[order]]]
        who = found.asked.who[order]
        self.cost[who] = found.cost[order]
        self.is_set[who], self.value[who] = found.asked.is_set[order], found.asked.value[order]
        changed = np.zeros(len(self.cost), dtype=bool)
        changed[who] = True
        return changed

    def put(self, actions: Candidates, cost: Floats) -> None:
        """Take over one action each of some people."""
        self.cost[actions.who] = cost
        self.is_set[actions.who], self.value[actions.who] = actions.is_set, actions.value

    def of(self, rows: Ints) -> Candidates:
        """The actions of some people."""
        return Candidates(rows, self.is_set[rows], self.value[rows])


def search(people: SearchBatch, halvings: int) -> Best:
    """Spend everybody's budget; how finely actions are trimmed is given in halvings."""
    if not len(people.problem.acts):
        return Best(people)
    moves = Moves(people)
    total = people.budget
    people.budget = total - min(total // 4, TRIMMED * POINTS * halvings // 3)
    starts = _look(people, moves)
    for n, start in enumerate(starts):
        _improve(people, moves, start, salt=(n + 1) << 40)
    best = starts[0]
    for other in starts[1:]:
        rows = np.flatnonzero(other.cost < best.cost)
        best.put(other.of(rows), other.cost[rows])
    people.budget = total
    _trim(people, best, halvings)
    return best


def _look(people: SearchBatch, moves: Moves) -> list[Best]:
    """First looks until something works; the cheapest on different features are drawn back towards the facts."""
    most, starts = max(people.budget // 3, 1), [Best(people) for _ in range(IMPROVED)]
    for look, reach in enumerate(REACHES):
        rows = np.flatnonzero(~np.isfinite(starts[0].cost) & people.may_ask())
        if len(rows) == 0:
            break
        part = people if len(rows) == people.count else people.part(rows)
        tried = _repaired(part, (moves if part is people else Moves(part)).first(most, (look + 1) << 16, reach))
        found = part.ask(tried, np.full(len(tried), np.inf))
        lines, cost = _draw_back(part, _cheapest_kinds(found), part.is_number[None, :], halvings=9)
        rank = _ranks(lines.who, cost)
        for n, start in enumerate(starts):
            chosen = lines.take(rank == n)
            start.put(Candidates(rows[chosen.who], chosen.is_set, chosen.value), cost[rank == n])
        people.used[rows] = part.used
    return starts


def _cheapest_kinds(found: Answers) -> Candidates:
    """For each person the cheapest actions that work, on different sets of features."""
    good = np.flatnonzero(found.good)
    asked, cost = found.asked.take(good), found.cost[good]
    sets = np.packbits(asked.is_set, axis=1, bitorder="little")
    order = np.lexsort((cost, *sets.T, asked.who))
    is_first = np.ones(len(order), dtype=bool)
    is_first[1:] = (np.diff(asked.who[order]) != 0) | (np.diff(sets[order], axis=0) != 0).any(axis=1)
    order = order[is_first]
    return asked.take(np.sort(order[_ranks(asked.who[order], cost[order]) < STARTS]))


def _draw_back(people: SearchBatch, lines: Candidates, moving: Bools, halvings: int) -> tuple[Candidates, Floats]:
    """Each action moved towards the facts of its moving features, as far as the model still says yes; and its cost."""
    count = len(lines)
    lines = people.allow(lines)
    anchor, top = np.where(moving, people.facts[lines.who], lines.value), lines.value
    value, cost = top.copy(), people.cost(lines)
    low, high, line = np.zeros(count), np.ones(count), np.repeat(np.arange(count), POINTS)
    for _ in range(-(-halvings // 3) if count else 0):
        at = low[:, None] + (high - low)[:, None] * (np.arange(POINTS) / POINTS)
        points = anchor[:, None, :] + at[:, :, None] * (top - anchor)[:, None, :]
        tried = Candidates(lines.who[line], lines.is_set[line], points.reshape(count * POINTS, -1))
        found = people.ask(tried, cost[line])
        # Of the points that work on a line the one nearest to the facts is also the cheapest.
        good = np.flatnonzero(found.good)
        good = good[(place_in_run(found.rows[good] // POINTS) == 0)]
        hit, point = found.rows[good] // POINTS, found.rows[good] % POINTS
        value[hit], cost[hit] = found.asked.value[good], found.cost[good]
        low = at[:, -1]
        low[hit], high[hit] = at[hit, np.maximum(point - 1, 0)], at[hit, point]
    return Candidates(lines.who, lines.is_set, value), cost


def _improve(people: SearchBatch, moves: Moves, best: Best, salt: int) -> None:
    """Vary everybody's action in lockstep; steps grow with success and shrink without."""
    scale, idle = np.ones(people.count), np.zeros(people.count, dtype=np.intp)
    patience = max(PATIENCE, people.budget // (VARIED * LAST_SHARE))
    for turn in range(4 * people.budget):
        rows = np.flatnonzero(np.isfinite(best.cost) & (idle < patience) & people.may_ask())
        if len(rows) == 0:
            return
        tried = vary(moves, best.of(rows), best.cost[rows], scale[rows], salt + turn)
        before = best.cost.copy()
        best.learn(people.ask(_repaired(people, tried), before[tried.who]))
        with np.errstate(invalid="ignore"):
            gained = best.cost < before * (1.0 - REPLAYED)
        scale[rows] = np.where(gained[rows], np.minimum(scale[rows] * 2.0, 1.0), scale[rows] * 0.6)
        idle[rows] = np.where(gained[rows], 0, idle[rows] + 1)
        scale[(idle > 0) & (idle % PATIENCE == 0)] = 1.0


def _trim(people: SearchBatch, best: Best, halvings: int) -> None:
    """Draw back one number after the other, the dearest first."""
    rows = np.flatnonzero(np.isfinite(best.cost))
    if len(rows) == 0 or people.numbers == 0:
        return
    parts = people.problem.cost.parts(people.facts[rows, : people.numbers], best.value[rows, : people.numbers])
    order = np.argsort(-parts, axis=1, kind="stable")
    for place in range(people.numbers):
        moving = np.arange(len(people.is_number)) == order[:, place, None]
        if not (parts[np.arange(len(rows)), order[:, place]] > 0).any():
            return
        best.put(*_draw_back(people, best.of(rows), moving, halvings))


def _ranks(who: Ints, cost: Floats) -> Ints:
    """The place of each action among those of its person, the cheapest first."""
    order = np.lexsort((cost, who))
    rank = np.empty(len(who), dtype=np.intp)
    rank[order] = place_in_run(who[order])
    return rank


def _repaired(people: SearchBatch, tried: Candidates) -> Candidates:
    """The same candidates, those that break a rule set another feature too, or the same one otherwise."""
    rules = people.problem.rules
    if not rules.clauses or len(tried) == 0:
        return tried
    tried = people.allow(tried)
    turn = place_in_run(tried.who)
    for _ in range(PASSES):
        moved, _ = people.counterfactuals(tried)
        facts = people.matrix[tried.who]
        is_set, value = tried.is_set.copy(), tried.value.copy()
        # Breaches stand in the order of the clauses, those of moves of categories behind them.
        for c, (broken, _) in enumerate(rules.faults(facts, moved)[: len(rules.clauses)]):
            if broken.any():
                _repair(people, rules, c, np.flatnonzero(broken), facts, moved, turn, is_set, value)
        tried = people.allow(Candidates(tried.who, is_set, value))
    return tried


def _repair(
    people: SearchBatch, rules: Clauses, c: int, rows: Ints, facts: Floats, moved: Floats, turn: Ints, is_set: Bools,
    value: Floats,
) -> None:  # fmt: skip
    """Make one clause hold for these candidates, each by one of the repairs that there are, in place."""
    clause, acts = rules.clauses[c], list(people.problem.acts)
    columns = len(people.problem.names)
    repairs = []
    for a, atom in enumerate(clause.atoms):
        weights = np.eye(columns)[atom.column] if atom.column < columns else rules.weights[atom.column - columns]
        repairs += [(a, b, float(weights[k])) for b, k in enumerate(acts) if weights[k]]
    if not repairs:
        return
    ends = rules.ends(facts[rows], clause)
    now = rules.extend(moved[rows])
    for w, (a, b, weight) in enumerate(repairs):
        mine = np.flatnonzero(turn[rows] % len(repairs) == w)
        atom, at = clause.atoms[a], rows[mine]
        if atom.levels is not None:
            if atom.levels:
                value[at, b] = np.array(atom.levels)[(turn[at] // len(repairs)) % len(atom.levels)]
        else:
            low, high = ends[a]
            here = now[mine, atom.column]
            lacking = np.clip(here, low[mine], high[mine]) - here
            value[at, b] = moved[at, acts[b]] + lacking / weight
        is_set[at, b] = True
