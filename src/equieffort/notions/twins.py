"""Twins: who people would be at another level of the sensitive columns.

In the counterfactual do(s = s') the person keeps their noise and every descendant of s follows its structural equation
(abduct, act, predict). With several sensitive columns a level is a combination of their values, one that somebody has:
of others neither the model nor the equations may know anything. The sensitive columns are immutable for actions; here
they are what is set.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.counterfactuals import propagate_as_stored, with_columns
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.table import RecourseTable
from equieffort.world.groups import Groups

Codes = npt.NDArray[np.intp]

EQUATIONS = "Twins follow the graph and the equations of the audit; with others, other people would be their twins."


@dataclass(frozen=True, eq=False)
class Levels:
    """The levels that the sensitive columns can be set to."""

    groups: Groups
    """The groups by the sensitive columns alone, however they are compared: a level has its group's code and label."""
    codes: tuple[int, ...]
    """Groups that are a level: not those of people whose own group is not known."""
    positions: tuple[int, ...]
    """Of the sensitive columns in the encoding."""
    values: Floats
    """(group, sensitive column): what is set, encoded; NaN where a group is no level."""

    @classmethod
    def of(cls, problem: RecourseProblem, people: pd.DataFrame) -> Levels:
        """As these people have them."""
        groups, columns = Groups.of(people, problem.schema), problem.schema.sensitive_columns
        own = np.column_stack([problem.encoding[name].encode(people[name]) for name in columns])
        values = np.full((len(groups.labels), len(columns)), np.nan)
        for code in groups.known:
            members = np.flatnonzero(groups.codes == code)
            if len(members):
                values[code] = own[members[0]]
        codes = tuple(np.flatnonzero(~np.isnan(values).any(axis=1)).tolist())
        return cls(groups, codes, tuple(problem.encoding.position(name) for name in columns), values)

    @property
    def names(self) -> list[str]:
        """Their labels."""
        return [self.groups.labels[code] for code in self.codes]


def own_groups(table: RecourseTable) -> Groups:
    """The groups by the sensitive columns alone; those of a table may be one group and everybody else."""
    return Groups.of(table.data, table.source.schema)


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


ABSENT = -1
"""Code of a decision about a twin that is not known; 0 is refused, 1 approved."""
WORDS = np.array(["refused", "approved", "unknown"], dtype=object)
"""By code of a decision; the last is that of -1."""


@dataclass(frozen=True, eq=False)
class TwinDecisions:
    """How each person is decided at every level of the sensitive columns."""

    groups: Groups
    """By which people are counted."""
    levels: Levels
    own: npt.NDArray[np.integer[Any]]
    """The code of each person's own level."""
    approved: Bools
    """As they are."""
    decided: npt.NDArray[np.int8]
    """(person, level of `levels.codes`): 1 approved, 0 refused, -1 where there is no known twin."""

    @classmethod
    def of(
        cls, problem: RecourseProblem, data: pd.DataFrame, groups: Groups, levels: Levels,
        own: npt.NDArray[np.integer[Any]], approved: Bools,
        *, follow: bool = True,
    ) -> TwinDecisions:  # fmt: skip
        """Ask the model about everybody's twins; at their own level people are decided as they are."""
        found = np.full((len(data), len(levels.codes)), ABSENT, dtype=np.int8)
        for column, code in enumerate(levels.codes):
            here = own == code
            found[here, column] = approved[here]
            rows = np.flatnonzero(~here)
            if not len(rows):
                continue
            twins = twins_at(problem, data.iloc[rows], levels, np.full(len(rows), code), follow=follow)
            known = np.flatnonzero(twins.exists)
            if len(known):
                found[rows[known], column] = problem.decision.is_favourable(twins.frame.iloc[known])
        return cls(groups, levels, own, approved, found)

    @cached_property
    def turned(self) -> Bools:
        """(person, level): whose decision is another one there."""
        return np.asarray((self.decided != ABSENT) & (self.decided != self.approved[:, None]))

    @cached_property
    def turns(self) -> Bools:
        """Whose decision some level changes."""
        return np.asarray(self.turned.any(axis=1))

    @cached_property
    def is_undefined(self) -> Bools:
        """Of whom it is not known: no known twin is decided otherwise, but there is a level without a known twin."""
        return ~self.turns & (self.decided == ABSENT).any(axis=1)

    @property
    def stays(self) -> Bools:
        """Whose decision no level changes."""
        return ~self.turns & ~self.is_undefined

    def same(self, among: Bools, unplaced: Bools) -> tuple[Floats, Floats]:
        """1 for each of some people whom every level leaves as they are decided, 0 for whom one does not: the least
        and the most, which differ for people whose own group is not known. NaN of whom it is undefined.

        Whichever group is theirs, one of two levels that turn them is another. A single one may be their own, and a
        level without a known twin can turn out either way once it is known who they are.
        """
        absent, times = (self.decided == ABSENT).any(axis=1), self.turned.sum(axis=1)
        stays = np.where(among & ~absent, times == 0, np.nan)
        least = np.where(among & unplaced, ~absent & (times == 0), stays)
        return least, np.where(among & unplaced, absent | (times <= 1), stays)

    def counts(self, among: Bools) -> dict[tuple[str, str], tuple[int, int, int, int]]:
        """By group and level: how many of these people stay, turn, and are undefined, and of these turn for certain.

        An empty group is all groups, an empty level all levels; at a level only those who are not of it are counted.
        Whoever lacks a twin at some level is undefined, also where another level turns them: to count of the people
        with unknown twins only those who turn would count against them what nobody knows of the others.
        """
        codes, labels = self.groups.codes, self.groups.labels
        parts = [("", among, self.turns, (self.decided == ABSENT).any(axis=1))]
        for k, (code, name) in enumerate(zip(self.levels.codes, self.levels.names, strict=True)):
            absent = self.decided[:, k] == ABSENT
            parts.append((name, among & (self.own != code), self.turned[:, k], absent))
        found: dict[tuple[str, str], tuple[int, int, int, int]] = {}
        for level, members, turned, undefined in parts:
            each = np.column_stack(
                [
                    np.bincount(codes[whom], minlength=len(labels))
                    for whom in (
                        members & ~turned & ~undefined,
                        members & turned & ~undefined,
                        members & undefined,
                        members & undefined & turned,
                    )
                ]
            )
            for group, row in zip(("", *labels), (each.sum(axis=0), *each), strict=True):
                if not (level and level == group):
                    found[group, level] = (int(row[0]), int(row[1]), int(row[2]), int(row[3]))
        # Rows of a group stand together.
        return {(group, level): n for name in ("", *labels) for (group, level), n in found.items() if group == name}

    def people(self, index: pd.Index) -> pd.DataFrame:
        """Those whose decision some level changes: group, decision, the levels that change it, the decision at each."""
        rows, labels = np.flatnonzero(self.turns), np.array(self.groups.labels, dtype=object)
        names = np.array(self.levels.names, dtype=object)
        columns = {
            "group": labels[self.groups.codes[rows]],
            "decision": WORDS[self.approved[rows].astype(int)],
            "turned_by": ["; ".join(names[one]) for one in self.turned[rows]],
        }
        columns |= {f"at_{name}": WORDS[self.decided[rows, k]] for k, name in enumerate(names)}
        return pd.DataFrame(columns, index=index[rows])
