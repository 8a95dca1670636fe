"""Rules between features as one table of atoms, which every solver reads.

Of each clause one atom must hold (`equieffort.world.rules.clauses`). Here an atom is a range of a track: of an encoded
column, or of one of the weighted sums behind them. A set of levels is one atom a level, so that a level's range is a
point; where a clause is not asked of a person its atoms have no ends. Of both a solver need know nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import CANCELLED
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.rules.clauses import Clauses

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class AtomEnds:
    """What rules ask of some people."""

    values: Floats
    """(person, track): the facts, with the weighted sums behind."""
    low: Floats
    """(person, atom): where the atom holds; from minus to plus infinity where its clause is not asked."""
    high: Floats
    tolerance: Floats
    """(person, atom): how far past these ends a replay still believes a value near the fact."""


@dataclass(frozen=True, eq=False)
class RuleTable:
    """The atoms of all clauses, the same for everybody."""

    rules: Clauses
    clause_start: Indices
    """(clause + 1): where each clause's atoms begin, and where the last one's end."""
    track: Indices
    """(atom): the column, or the weighted sum behind the columns, that it is about."""
    level: Indices
    """(atom): the level that it asks for; -1 for a range."""
    source: Indices
    """(atom, 2): its clause, and its place among the clause's own atoms."""

    @classmethod
    def of(cls, problem: RecourseProblem) -> RuleTable:
        """All atoms in order; a clause has at least one."""
        atoms, start = list[tuple[int, int, int, int]](), [0]
        for c, clause in enumerate(problem.rules.clauses):
            for a, atom in enumerate(clause.atoms):
                levels = (-1,) if atom.levels is None else atom.levels
                atoms += [(c, a, atom.column, level) for level in levels]
            start.append(len(atoms))
        table = np.array(atoms, dtype=np.intp).reshape(-1, 4)
        return cls(problem.rules, np.array(start, dtype=np.intp), table[:, 2], table[:, 3], table[:, :2])

    @cached_property
    def columns(self) -> set[int]:
        """The encoded columns that a rule looks at."""
        count = self.rules.weights.shape[1]
        own = {int(k) for k in self.track if k < count} | {move.column for move in self.rules.moves}
        return own | set(np.flatnonzero((self.rules.weights != 0).any(axis=0)).tolist())

    def atoms(self, clause: int) -> range:
        """The atoms of a clause."""
        return range(int(self.clause_start[clause]), int(self.clause_start[clause + 1]))

    def extended(self, changes: Floats) -> Floats:
        """(track, ...): changes of the columns, (column, ...), with those of the weighted sums behind.

        Parts that cancel but for rounding do not move a sum.
        """
        sums, size = self.rules.weights @ changes, np.abs(self.rules.weights) @ np.abs(changes)
        return np.concatenate([changes, np.where(np.abs(sums) > CANCELLED * size, sums, 0.0)])

    def ends(self, people: Floats) -> AtomEnds:
        """Of encoded people."""
        rules = self.rules
        values, asked = rules.extend(people), rules.asked(people)
        own = [rules.ends(people, clause) for clause in rules.clauses]
        low, high, tolerance = np.empty((3, len(people), len(self.track)))
        for at, ((c, a), k, level) in enumerate(zip(self.source, self.track, self.level, strict=True)):
            least, most = own[c][a] if level < 0 else np.full((2, len(people)), float(level))
            tolerance[:, at] = rules.tolerance(people, int(k))
            # Whoever is past an end by no more than rounding may stay.
            stays = (values[:, k] >= least - tolerance[:, at]) & (values[:, k] <= most + tolerance[:, at])
            least, most = np.where(
                stays, [np.minimum(least, values[:, k]), np.maximum(most, values[:, k])], [least, most]
            )
            low[:, at], high[:, at] = np.where(asked[:, c], [least, most], [[-np.inf], [np.inf]])
        return AtomEnds(values, low, high, tolerance)


def allowed_levels(problem: RecourseProblem, people: Floats) -> list[Bools]:
    """By actionable category, (person, level): whether each person may be set to it."""
    return [np.isfinite(prices) for prices in level_prices(problem, people)]


def level_prices(problem: RecourseProblem, people: Floats) -> list[Floats]:
    """By actionable category, (person, level): what it costs each person; infinite where it is not allowed."""
    found = []
    for c, prices in zip(problem.categorical, problem.level_prices, strict=True):
        allowed = [problem.may_take(c, people[:, c], level) for level in range(prices.count)]
        found.append(np.where(np.column_stack(allowed), prices.each(people[:, c]), np.inf))
    return found
