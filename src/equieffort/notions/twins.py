"""Twins: who people would be at another level of the sensitive columns.

In the counterfactual do(s = s') the person keeps their noise and every descendant of s follows its structural equation
(abduct, act, predict). With several sensitive columns a level is a combination of their values, one that somebody has:
of others neither the model nor the equations may know anything. The sensitive columns are immutable for actions; here
they are what is set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.counterfactuals import propagate_as_stored, with_columns
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.groups import Groups

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels that the sensitive columns can be set to; their codes are those of the groups."""

    labels: tuple[str, ...]
    """Of all groups."""
    codes: tuple[int, ...]
    """Groups that are a level: those whose people have a value in every sensitive column."""
    positions: tuple[int, ...]
    """Of the sensitive columns in the encoding."""
    values: Floats
    """(group, sensitive column): what is set, encoded; NaN where a group is no level."""

    @classmethod
    def of(cls, problem: RecourseProblem, data: pd.DataFrame, groups: Groups) -> Levels:
        """As the people have them."""
        columns = problem.schema.sensitive_columns
        own = np.column_stack([problem.encoding[name].encode(data[name]) for name in columns])
        values = np.full((len(groups.labels), len(columns)), np.nan)
        for code in range(len(groups.labels)):
            members = np.flatnonzero(groups.codes == code)
            if len(members):
                values[code] = own[members[0]]
        codes = tuple(np.flatnonzero(~np.isnan(values).any(axis=1)).tolist())
        return cls(groups.labels, codes, tuple(problem.encoding.position(name) for name in columns), values)


@dataclass(frozen=True, eq=False)
class Twins:
    """The twin of each person of a table."""

    frame: pd.DataFrame
    exists: Bools
    """For whom the equations say who the twin is: one without an answer leaves them unknown."""


def twins_at(problem: RecourseProblem, data: pd.DataFrame, levels: Levels, to: Codes, *, follow: bool = True) -> Twins:
    """Each person at the level of the given code; with `follow` all descendants of the sensitive columns follow."""
    facts = problem.encoding.encode(data)
    picked = np.zeros(facts.shape, dtype=bool)
    values = facts.copy()
    for j, k in enumerate(levels.positions):
        picked[:, k] = True
        values[:, k] = levels.values[to, j]
    exists = np.ones(len(data), dtype=bool)
    moved = values
    if follow:
        moved, unknown = propagate_as_stored(problem, facts, picked, values)
        for whom in unknown.values():
            exists &= ~whom
        # A cause that is missing leaves its effects without a value.
        exists &= ~(np.isnan(moved) & ~np.isnan(facts)).any(axis=1)
        moved = np.where(exists[:, None], moved, facts)
    changed = {
        column.name: column.decode(moved[:, k])
        for k, column in enumerate(problem.encoding.columns)
        if not np.array_equal(moved[:, k], facts[:, k], equal_nan=True)
    }
    return Twins(with_columns(data, changed), exists)


ABSENT, REFUSED, APPROVED = -1, 0, 1


def decided_at(
    problem: RecourseProblem,
    data: pd.DataFrame,
    groups: Groups,
    levels: Levels,
    approved: Bools,
    *,
    follow: bool = True,
) -> npt.NDArray[np.int8]:
    """(person, level of `levels.codes`): how each person is decided there; at their own level as they are."""
    found = np.full((len(data), len(levels.codes)), ABSENT, dtype=np.int8)
    for column, code in enumerate(levels.codes):
        own = groups.codes == code
        found[own, column] = approved[own]
        rows = np.flatnonzero(~own)
        if not len(rows):
            continue
        twins = twins_at(problem, data.iloc[rows], levels, np.full(len(rows), code), follow=follow)
        known = np.flatnonzero(twins.exists)
        if len(known):
            found[rows[known], column] = problem.decision.is_favourable(twins.frame.iloc[known])
    return found
