"""Candidates that break a rule between features, changed until they keep it where an actionable feature can do that."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.solvers.heuristic.people import Candidates, Ints, SearchBatch, place_in_run
from equieffort.world.rules import Clauses

PASSES = 2
"""A repair may break another rule, so all are looked at again."""


def repaired(people: SearchBatch, tried: Candidates) -> Candidates:
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
