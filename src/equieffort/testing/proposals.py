"""What is wrong with the actions of a proposal: computed anew, apart from solvers and from the replay of `solve`."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats, number
from equieffort.foundations.tolerances import TOLERANCE
from equieffort.recourse.solvers.base import FOUND, LIMIT
from equieffort.testing.cases import Case
from equieffort.testing.exhaustive import breaches, follow, level_prices, price
from equieffort.testing.watched import Asked
from equieffort.words.limits import limit_text


def wrong_actions(case: Case, asked: Asked) -> dict[int, list[str]]:
    """By row: what is wrong with the action."""
    found: dict[int, list[str]] = defaultdict(list)
    acting = asked.proposal.code == FOUND
    rows = np.flatnonzero(acting & _readable(case, asked, acting, found))
    if len(rows) == 0:
        return dict(found)
    facts, (picked, values) = asked.matrix[rows], _settings(case, asked, rows)

    def note(whom: Bools, words: Any) -> None:
        for k in np.flatnonzero(whom).tolist():
            found[int(rows[k])].append(words(k) if callable(words) else words)

    _outside(case, facts, picked, values, note)
    moved = follow(case, facts, picked, values)
    for broken, words in breaches(case, facts, moved):
        note(broken, words)
    cost, said = price(case, facts, values)[0], asked.proposal.cost[rows]
    note(
        ~(np.abs(cost - said) <= 1e-6 * cost + TOLERANCE * case.problem.scaled.cost_unit),
        lambda k: f"its cost is said to be {said[k]:.6g}, but comes out as {cost[k]:.6g}",
    )
    fine = np.array([int(row) not in found for row in rows])
    stays = np.zeros(len(rows), dtype=bool)
    if fine.any():
        stays[fine] = ~case.problem.decision.is_favourable(case.problem.encoding.decode(moved[fine]))
    note(stays, "the label stays")
    return dict(found)


def wrong_bounds(case: Case, asked: Asked) -> dict[int, str]:
    """By row: what is wrong with the bound, as far as the proposal itself shows."""
    proposal, found = asked.proposal, {}
    for row in np.flatnonzero((proposal.code == FOUND) | (proposal.code == LIMIT)).tolist():
        cost, bound = float(proposal.cost[row]), float(proposal.bound[row])
        if np.isnan(bound):
            found[row] = "its bound is nan"
        elif proposal.code[row] == LIMIT and bound == np.inf:
            found[row] = "its bound is infinite, although it gives up"
        elif proposal.code[row] == FOUND and bound > cost * (1 + 1e-6) + TOLERANCE * case.problem.scaled.cost_unit:
            found[row] = f"its bound {bound:.6g} lies above its cost {cost:.6g}"
    return found


def told(case: Case, asked: Asked, row: int) -> str:
    """The action as feature and value."""
    problem, proposal = case.problem, asked.proposal
    action = []
    for b, k in enumerate(problem.acts):
        if not proposal.intervention_mask[row, b]:
            continue
        if b < len(problem.numeric):
            value = number(float(asked.matrix[row, k] + proposal.delta[row, b]))
        else:
            level, levels = int(proposal.level[row, b - len(problem.numeric)]), problem.encoding.columns[k].levels
            if level < 0:
                continue
            value = repr(levels[level]) if level < len(levels) else f"level {level}"
        action.append(f"{problem.names[k]!r}: {value}")
    return f"{{{', '.join(action)}}}"


def _readable(case: Case, asked: Asked, acting: Bools, found: dict[int, list[str]]) -> Bools:
    """Whose action names features and values that there are."""
    problem, proposal = case.problem, asked.proposal
    good = np.ones(len(acting), dtype=bool)
    for row in np.flatnonzero(acting).tolist():
        for b, k in enumerate(problem.acts):
            if not proposal.intervention_mask[row, b]:
                continue
            if b < len(problem.numeric):
                if not np.isfinite(proposal.delta[row, b]):
                    found[row].append(f"{problem.names[k]!r} is set to {proposal.delta[row, b]}")
                continue
            level, levels = int(proposal.level[row, b - len(problem.numeric)]), problem.encoding.columns[k].levels
            if level >= len(levels):
                found[row].append(f"{problem.names[k]!r} is set to level {level}, and has {len(levels)}")
        good[row] = row not in found
    return good


def _settings(case: Case, asked: Asked, rows: Any) -> tuple[Bools, Floats]:
    """Which columns are set, and all values after that: nothing is clipped, whatever the solver wrote."""
    problem, proposal = case.problem, asked.proposal
    facts = asked.matrix[rows]
    picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
    for b, k in enumerate(problem.acts):
        picked[:, k] = proposal.intervention_mask[rows, b]
        if b < len(problem.numeric):
            new = facts[:, k] + proposal.delta[rows, b]
        else:
            new = proposal.level[rows, b - len(problem.numeric)].astype(float)
            picked[:, k] &= new >= 0
        values[:, k] = np.where(picked[:, k], new, facts[:, k])
    return picked, values


def _outside(case: Case, facts: Floats, picked: Bools, values: Floats, note: Any) -> None:
    """Note who sets a value that the feature's limits or its kind do not allow."""
    problem = case.problem
    for k in problem.categorical:
        name, levels = problem.names[k], problem.encoding.columns[k].levels
        prices = level_prices(problem.feature(k), levels)[facts[:, k].astype(np.intp), values[:, k].astype(np.intp)]
        note(
            np.isinf(prices),
            lambda i, name=name, levels=levels, k=k: (
                f"{name!r} must not change from {levels[int(facts[i, k])]!r} to {levels[int(values[i, k])]!r}"
            ),
        )
    for j, k in enumerate(problem.numeric):
        fact, value, name = facts[:, k], values[:, k], problem.names[k]
        tolerance = problem.tolerance(k, value)
        for limit in problem.limits(k):
            # A fact beyond its limit may stay: the limit is then the fact.
            beyond = limit.side * (value - limit.at(fact)) > tolerance
            further = limit.side * (value - fact) > tolerance
            note(
                picked[:, k] & beyond & further,
                lambda i, name=name, fact=fact, value=value, limit=limit: (
                    f"{name!r} leaves its range: from {number(fact[i])} to {number(value[i])} "
                    f"({limit_text(limit, name)})"
                ),
            )
        if problem.is_integer[j]:
            note(
                picked[:, k] & (value != np.rint(value)),
                lambda i, name=name, value=value: f"{name!r} is a whole number, but is set to {number(value[i])}",
            )
