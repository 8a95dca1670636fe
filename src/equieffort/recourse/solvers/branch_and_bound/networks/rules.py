"""Rules between features for the search of networks: each condition becomes a range of a row over the changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.tolerances import CANCELLED, tolerance
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.interventions import InterventionSet

LOOSENED, FORGIVEN = 0.5, 0.2
"""Parts of what a replay forgives: how far ends are moved out, and what the search may miss these by."""


@dataclass(frozen=True, eq=False)
class RuleRows:
    """Rows and atoms of each group; a group is a choice of what is set."""

    rows: Floats
    """(group, row, action): first the columns that must stay in a range, then what rules speak of."""
    counts: Any
    row_track: Any
    """(group, row): its column, or weighted sum behind the columns."""
    alone: Any
    """(group, row): the only action that moves it, or -1."""
    clause_start: Any
    atom_rows: Any
    """(group, atom): -1 where no action moves it."""
    track: tuple[int, ...]
    """(atom): the column or weighted sum it is about."""
    levels: tuple[tuple[int, ...] | None, ...]
    """(atom): the levels of a category that will do, or None for a range."""
    shift: Floats
    """(group, category, track, level): what each level adds to each track, up to a constant."""

    @classmethod
    def of(cls, problem: RecourseProblem, samples: list[InterventionSet]) -> RuleRows:
        """One intervention set stands for each group."""
        sums, clauses = problem.rules.weights, problem.rules.clauses
        atoms = [atom for clause in clauses for atom in clause.atoms]
        start = np.cumsum([0, *(len(clause.atoms) for clause in clauses)]).astype(np.int64)
        counts = [len(problem.encoding.columns[c].levels) for c in problem.categorical]
        shift = np.zeros((len(samples), len(counts), len(problem.names) + len(sums), max(counts, default=1)))
        atom_rows = np.full((len(samples), len(atoms)), -1, dtype=np.int64)
        found: list[dict[int, Floats]] = []
        for g, interventions in enumerate(samples):
            effect, size = sums @ interventions.effect, np.abs(sums) @ np.abs(interventions.effect)
            effects = np.vstack([interventions.effect, np.where(np.abs(effect) > CANCELLED * size, effect, 0.0)])
            for b, c in enumerate(problem.categorical):
                table = interventions.shifts[c]
                shift[g, b, :, : table.shape[1]] = np.vstack([table, sums @ table])
            own = {row.position: row.effect for row in interventions.rows if len(row.movers) > 1}
            for a, atom in enumerate(atoms):
                if atom.levels is None and effects[atom.column].any():
                    own.setdefault(atom.column, effects[atom.column])
                    atom_rows[g, a] = list(own).index(atom.column)
            found.append(own)
        most = max(map(len, found), default=0)
        rows = np.zeros((len(samples), most, len(problem.numeric)))
        row_track = np.zeros((len(samples), most), dtype=np.int64)
        for g, own in enumerate(found):
            for e, (k, row) in enumerate(own.items()):
                rows[g, e], row_track[g, e] = row, k
        alone = np.full(row_track.shape, -1, dtype=np.int64)
        if rows.size:
            single = np.count_nonzero(rows, axis=2) == 1
            alone[single] = np.argmax(rows != 0, axis=2)[single]
        lengths = np.array([len(own) for own in found], dtype=np.int64)
        return cls(
            rows, lengths, row_track, alone, start, atom_rows, tuple(atom.column for atom in atoms),
            tuple(atom.levels for atom in atoms), shift,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class AtomEnds:
    """What rules ask of some people."""

    values: Floats
    """(person, track): the facts, with the weighted sums behind."""
    low: Floats
    """(person, atom): its range."""
    high: Floats
    asked: Bools
    """(person, atom): whether its clause is asked of the person."""
    tolerance: Floats
    """(person, atom): what a replay forgives of what it is about."""

    @classmethod
    def of(cls, problem: RecourseProblem, matrix: Floats) -> AtomEnds:
        """The conditions of encoded people."""
        rules = problem.rules
        values, asked = rules.extend(matrix), rules.asked(matrix)
        lows, highs, counts, gives = [], [], [], []
        for q, clause in enumerate(rules.clauses):
            counts += [q] * len(clause.atoms)
            for atom, (low, high) in zip(clause.atoms, rules.ends(matrix, clause), strict=True):
                own = values[:, atom.column]
                forgiven = rules.tolerance(matrix, atom.column)
                gives.append(forgiven)
                # Whoever is beyond an end by no more than rounding may stay.
                held = (own >= low - forgiven) & (own <= high + forgiven)
                lows.append(np.where(held, np.minimum(low, own), low))
                highs.append(np.where(held, np.maximum(high, own), high))
        shape = (len(counts), len(matrix))
        low, high, tolerance = (np.reshape(part, shape).T for part in (lows, highs, gives))
        return cls(values, low, high, asked[:, counts], tolerance)


@dataclass(frozen=True, eq=False)
class Ways:
    """One person's ways to act, a row a way, as far as rules change them."""

    group: Any
    low: Floats
    high: Floats
    row_low: Floats
    row_high: Floats
    row_tolerance: Floats
    atom_low: Floats
    atom_high: Floats
    possible: Bools
    """(way): False where a rule cannot be kept whatever the numbers become."""


def ways_of(
    problem: RecourseProblem,
    rules: RuleRows,
    ends: AtomEnds,
    i: int,
    intervention_sets: list[InterventionSet],
    ways: Ways,
) -> None:
    """Fill in the atoms of person i, and narrow rows and boxes where only one atom of a clause can hold."""
    start = _starts(problem, rules, ends.values[i], intervention_sets, ways.group)
    size = np.abs(ends.values[i])
    for a, k in enumerate(rules.track):
        low, high, value = float(ends.low[i, a]), float(ends.high[i, a]), start[:, k]
        choice = rules.levels[a]
        if choice is None:
            forgiven = 1.01 * ends.tolerance[i, a]
            still = rules.atom_rows[ways.group, a] < 0
            holds = (value >= low - forgiven) & (value <= high + forgiven)
            size[k] = min(size[k], abs(low), abs(high))
        else:
            still, holds = np.ones(len(value), dtype=bool), np.isin(value, choice)
        if not ends.asked[i, a]:
            still, holds = np.ones_like(still), np.ones_like(holds)
        far = np.where(holds, np.inf, -np.inf)
        outwards = LOOSENED * ends.tolerance[i, a]
        ways.atom_low[:, a] = np.where(still, -far, low - outwards - value)
        ways.atom_high[:, a] = np.where(still, far, high + outwards - value)
    ways.row_tolerance[:] = FORGIVEN * tolerance(size[rules.row_track[ways.group]])
    for first, last in zip(rules.clause_start[:-1].tolist(), rules.clause_start[1:].tolist(), strict=True):
        least, most = ways.atom_low[:, first:last], ways.atom_high[:, first:last]
        free, live = ((least == -np.inf) & (most == np.inf)).any(axis=1), least <= most
        ways.possible[:] &= free | live.any(axis=1)
        lone = np.flatnonzero(~free & (live.sum(axis=1) == 1))
        atom = first + live[lone].argmax(axis=1)
        row = rules.atom_rows[ways.group[lone], atom]
        ways.row_low[lone, row] = np.maximum(ways.row_low[lone, row], ways.atom_low[lone, atom])
        ways.row_high[lone, row] = np.minimum(ways.row_high[lone, row], ways.atom_high[lone, atom])
    for row in range(rules.rows.shape[1]):
        _fold(rules, row, ways)
    nearly = (ways.low > ways.high) & (ways.low - ways.high <= tolerance(ways.high))
    ways.low[nearly] = ways.high[nearly]
    ways.possible[:] &= (ways.low <= ways.high).all(axis=1)


def _starts(
    problem: RecourseProblem, rules: RuleRows, values: Floats, intervention_sets: list[InterventionSet], group: Any
) -> Floats:
    """(way, track): the values when levels have changed, but no number has."""
    start = np.repeat(values[None], len(intervention_sets), axis=0)
    each = np.arange(len(intervention_sets))
    for b, c in enumerate(problem.categorical):
        new, table = (
            np.array([interventions.levels[b] for interventions in intervention_sets], dtype=np.intp),
            rules.shift[group, b],
        )
        start += np.where(new[:, None] >= 0, table[each, :, new] - table[:, :, int(values[c])], 0.0)
        start[:, c] = np.where(new >= 0, new, values[c])
    return start


def _fold(rules: RuleRows, row: int, ways: Ways) -> None:
    """A row that one action alone moves limits that action."""
    j = rules.alone[ways.group, row]
    which = np.flatnonzero((j >= 0) & (np.isfinite(ways.row_low[:, row]) | np.isfinite(ways.row_high[:, row])))
    j = j[which]
    factor = rules.rows[ways.group[which], row, j]
    ends = ways.row_low[which, row] / factor, ways.row_high[which, row] / factor
    ways.low[which, j] = np.maximum(ways.low[which, j], np.minimum(*ends))
    ways.high[which, j] = np.minimum(ways.high[which, j], np.maximum(*ends))
