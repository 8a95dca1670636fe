"""Rules between features as clauses over encoded columns: what solvers branch on and what every replay checks.

A clause holds when one of its atoms does; an atom is a range of one column, or a set of levels of a category. Columns
are the encoded ones and, behind them, virtual ones: weighted sums of the encoded, each in a unit of its own.

Who breaks a clause may stay so or come nearer, never go deeper: afterwards it holds, or each of its atoms is missed by
no more than before. Written as clauses that is one for each atom, in which that atom is widened to the person's own
value: (A or B) becomes (A' or B) and (A or B'). For whoever keeps (A or B) they say the same as it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np

from equieffort.data.frames import Bools, Encoding, Floats
from equieffort.errors import RuleError, closest, listed
from equieffort.foundations.tolerances import STRICT, power_of_two, tolerance
from equieffort.world.rules.constraints import Always, Constraint, Forbidden, Implies, Monotone, Sum
from equieffort.world.rules.rule import Column as Values
from equieffort.world.rules.rule import mask
from equieffort.world.rules.tree import Between, Compare, Condition, Joined, Literal, Name, Node, Not, Within

_bad_kind = partial(RuleError, "RULE_TYPE")

MOST_CLAUSES = 256


@dataclass(frozen=True)
class Atom:
    """A range of a column, or a set of levels."""

    column: int
    low: float = -np.inf
    high: float = np.inf
    relative: bool = False
    """Whether the ends count from the person's own value."""
    widened: bool = False
    """Whether the range is widened to the person's own value."""
    levels: tuple[int, ...] | None = None

    @property
    def stays(self) -> bool:
        """Whether it asks no more than that the column stays as it is."""
        return self.relative and self.low == self.high == 0.0


@dataclass(frozen=True)
class Clause:
    """One of the atoms must hold."""

    atoms: tuple[Atom, ...]
    words: str
    """The rule it belongs to."""
    turn: int = 0
    """Which of its atoms is widened."""
    family: int = 1
    """How many clauses, this and its neighbours, come from one in which no atom was widened."""


@dataclass(frozen=True)
class Move:
    """A change of a category that is not possible; -1 stands for any level."""

    column: int
    start: int
    end: int
    words: str


Disjunction = tuple[Atom, ...]


@dataclass(frozen=True, eq=False)
class Clauses:
    """All rules between features of a problem."""

    weights: Floats
    """(virtual column, encoded column)."""
    clauses: tuple[Clause, ...]
    moves: tuple[Move, ...]
    spreads: Floats
    """For each encoded column about the spread of its values; weighted sums are in units of their own."""

    def __bool__(self) -> bool:
        return bool(self.clauses)

    def extend(self, matrix: Floats) -> Floats:
        """Encoded people with the virtual columns behind."""
        if not len(self.weights):
            return matrix
        sums = [sum((w * matrix[:, k] for k, w in enumerate(row) if w), np.zeros(len(matrix))) for row in self.weights]
        return np.column_stack([matrix, *sums])

    def ends(self, facts: Floats, clause: Clause) -> list[tuple[Floats, Floats]]:
        """The range of each atom for each person."""
        found = []
        everything = self.extend(facts)
        for atom in clause.atoms:
            own = everything[:, atom.column]
            start = own if atom.relative else np.zeros(len(facts))
            low, high = start + atom.low, start + atom.high
            if atom.widened:
                low, high = np.minimum(low, own), np.maximum(high, own)
            found.append((low, high))
        return found

    def asked(self, facts: Floats) -> Bools:
        """(person, clause): whether the clause is asked of a person.

        Not where another clause of the same rule says all there is to say: whoever keeps the rule is asked the first
        clause that is not widened for them; whoever breaks it all of them.
        """
        found = np.ones((len(facts), len(self.clauses)), dtype=bool)
        kept = np.zeros((len(facts), len(self.clauses)), dtype=bool)
        for c, clause in enumerate(self.clauses):
            if clause.family > 1:
                kept[:, c] = self._is_met(facts, clause.atoms[clause.turn])
        for first in range(len(self.clauses)):
            if self.clauses[first].family > 1 and self.clauses[first].turn == 0:
                part = slice(first, first + self.clauses[first].family)
                breaks = ~kept[:, part].any(axis=1, keepdims=True)
                turns = np.arange(self.clauses[first].family)
                found[:, part] = breaks | (turns == kept[:, part].argmax(axis=1, keepdims=True))
        return found

    def broken(self, facts: Floats) -> Bools:
        """Who breaks a rule as they are."""
        found = np.zeros(len(facts), dtype=bool)
        for clause in self.clauses:
            holds = np.zeros(len(facts), dtype=bool)
            for atom in clause.atoms:
                holds |= self._is_met(facts, atom) & (not atom.stays)
            found |= ~holds
        return found

    def _is_met(self, facts: Floats, atom: Atom) -> Bools:
        """Who meets an atom as they are."""
        own = self.extend(facts)[:, atom.column]
        start = own if atom.relative else np.zeros(len(facts))
        return self._inside(facts, own, atom, start + atom.low, start + atom.high)

    def faults(self, facts: Floats, after: Floats) -> list[tuple[Bools, str]]:
        """For each rule whose breach counts: who breaks it after an action, and its words."""
        found = [(~self._holds(facts, after, clause), clause.words) for clause in self.clauses]
        for move in self.moves:
            before, now = facts[:, move.column], after[:, move.column]
            bad = (before != now) & ((before == move.start) | (move.start < 0)) & ((now == move.end) | (move.end < 0))
            found.append((bad, move.words))
        return found

    def allows(self, column: int, facts: Floats, level: int) -> Bools:
        """For whom a category may be set to a level."""
        good = np.ones(len(facts), dtype=bool)
        for move in self.moves:
            if move.column == column and move.end in (-1, level):
                good &= (facts == level) | ~((facts == move.start) | (move.start < 0))
        return good

    def _holds(self, facts: Floats, after: Floats, clause: Clause) -> Bools:
        everything = self.extend(after)
        holds = np.zeros(len(after), dtype=bool)
        for atom, (low, high) in zip(clause.atoms, self.ends(facts, clause), strict=True):
            holds |= self._inside(after, everything[:, atom.column], atom, low, high)
        return holds

    def _inside(self, people: Floats, values: Floats, atom: Atom, low: Floats, high: Floats) -> Bools:
        if atom.levels is not None:
            return np.isin(values, atom.levels)
        rounding = self.tolerance(people, atom.column)
        return np.asarray((values >= low - rounding) & (values <= high + rounding))

    def tolerance(self, people: Floats, column: int) -> Floats:
        """How far rounding may carry a column of people; that of a sum is relative to what it is summed from."""
        count = people.shape[1]
        if column >= count:
            return np.asarray(tolerance(np.abs(people) @ np.abs(self.weights[column - count])), dtype=np.float64)
        spread = self.spreads[column]
        return np.asarray(spread * tolerance(people[:, column] / spread), dtype=np.float64)


def _widened(atoms: Disjunction, words: str) -> list[Clause]:
    """One clause for each atom, in which that one is widened to the person's own value."""
    if any(atom.relative for atom in atoms):
        # What counts from the person's own value everybody keeps as they are.
        return [Clause(atoms, words)]
    found = []
    for turn, atom in enumerate(atoms):
        # Of levels the person's own one will do as well.
        own = (replace(atom, widened=True),) if atom.levels is None else (atom, Atom(atom.column, 0.0, 0.0, True))
        found.append(Clause((*atoms[:turn], *own, *atoms[turn + 1 :]), words, turn, len(atoms)))
    return found


def clauses_of(constraints: Sequence[Constraint], encoding: Encoding, spreads: Floats | None = None) -> Clauses:
    """The clauses of rules between features over encoded columns, whose values spread about so far."""
    return _Reader(encoding, np.ones(len(encoding.columns)) if spreads is None else spreads).read(constraints)


class _Reader:
    def __init__(self, encoding: Encoding, spreads: Floats) -> None:
        self.encoding, self.units, self.spreads = encoding, encoding.units, spreads
        self.virtual: list[tuple[tuple[int, float], ...]] = []

    def read(self, constraints: Sequence[Constraint]) -> Clauses:
        clauses: list[Clause] = []
        moves: list[Move] = []
        for constraint in constraints:
            words = str(constraint)
            if isinstance(constraint, Forbidden):
                moves += self.moves(constraint)
            else:
                clauses += [clause for atoms in self.disjunctions(constraint) for clause in _widened(atoms, words)]
        weights = np.zeros((len(self.virtual), len(self.encoding.columns)))
        for row, parts in enumerate(self.virtual):
            for k, weight in parts:
                weights[row, k] += weight * self.units[k] / self.unit(len(self.units) + row)
        return Clauses(weights, tuple(clauses), tuple(moves), self.spreads)

    def unit(self, column: int) -> float:
        """The unit of a column; of a weighted sum the largest spread of its parts."""
        if column < len(self.units):
            return float(self.units[column])
        sizes = self.units * self.spreads
        return power_of_two(max(abs(w) * sizes[k] for k, w in self.virtual[column - len(self.units)]))

    def atom(self, column: int, low: float = -np.inf, high: float = np.inf) -> Atom:
        """A range given in the users' units."""
        unit = self.unit(column)
        return Atom(column, low / unit, high / unit)

    def disjunctions(self, constraint: Constraint) -> list[Disjunction]:
        if isinstance(constraint, Always):
            return self.clauses(constraint.parsed.tree, constraint)
        if isinstance(constraint, Implies):
            given, then = constraint.parsed
            return self.clauses(Joined("or", (Not(given.tree), then.tree)), constraint)
        if isinstance(constraint, Monotone):
            cause, effect = self.amount(constraint.cause, constraint), self.amount(constraint.effect, constraint)
            gap = self.total(((effect, 1.0), (cause, -constraint.per_unit))) if constraint.per_unit else effect
            return [(Atom(cause, high=0.0, relative=True), Atom(gap, low=0.0, relative=True))]
        assert isinstance(constraint, Sum)
        column = self.total(
            tuple((self.amount(name, constraint), weight) for name, weight in constraint.weights.items())
        )
        low = -np.inf if constraint.lower is None else constraint.lower
        return [(self.atom(column, low, np.inf if constraint.upper is None else constraint.upper),)]

    def moves(self, constraint: Forbidden) -> list[Move]:
        k = self.encoding.position(constraint.feature)
        column = self.encoding.columns[k]
        if not column.is_category:
            raise _bad_kind(
                f"Changes of {constraint.feature!r} are forbidden, but it holds numbers, not categories.",
                fix="Use direction, lower and upper of the feature, or declare its kind as categorical.",
            )
        for level in (level for move in constraint.moves for level in move if level is not None):
            if level not in column.levels:
                raise RuleError(
                    "RULE_NAME",
                    f"A forbidden change of {constraint.feature!r} names {level!r}, which is none of its levels. "
                    f"{closest(level, column.levels)}".rstrip(),
                    fix=f"The levels are {listed(column.levels)}.",
                )
        codes = {level: code for code, level in enumerate(column.levels)} | {None: -1}
        return [Move(k, codes[start], codes[end], str(constraint)) for start, end in constraint.moves]

    def amount(self, name: str, constraint: Constraint) -> int:
        """The position of a column that holds amounts."""
        k = self.encoding.position(name)
        if self.encoding.columns[k].is_category:
            raise _bad_kind(
                f"The rule {str(constraint)!r} reckons with {name!r}, which is a category.",
                fix="Compare a category with = and in only.",
            )
        return k

    def total(self, parts: tuple[tuple[int, float], ...]) -> int:
        """The position of a virtual column."""
        if len(parts) == 1 and parts[0][1] == 1.0:
            return parts[0][0]
        if parts not in self.virtual:
            self.virtual.append(parts)
        return len(self.encoding.columns) + self.virtual.index(parts)

    def clauses(self, node: Node, constraint: Constraint, negated: bool = False) -> list[Disjunction]:
        """A rule as clauses that must all hold."""
        if isinstance(node, Not):
            return self.clauses(node.part, constraint, not negated)
        if isinstance(node, Joined):
            parts = [self.clauses(part, constraint, negated) for part in node.parts]
            if (node.word == "and") != negated:
                return [clause for part in parts for clause in part]
            count = int(np.prod([len(part) for part in parts], dtype=float))
            if count > MOST_CLAUSES:
                raise RuleError(
                    "RULE_LINK",
                    f"The rule {str(constraint)!r} is too intricate: it falls apart into {count:,} conditions.",
                    fix="Write several simpler rules.",
                )
            return [tuple(atom for clause in choice for atom in clause) for choice in product(*parts)]
        return self.condition(node, constraint, negated)

    def condition(self, node: Condition, constraint: Constraint, negated: bool) -> list[Disjunction]:
        k = self.encoding.position(node.name.name)
        column = self.encoding.columns[k]
        if isinstance(node, Compare) and isinstance(node.other, Name):
            difference = self.total(
                ((self.amount(column.name, constraint), 1.0), (self.amount(node.other.name, constraint), -1.0))
            )
            return self.compared(difference, node.sign, 0.0, negated)
        if column.is_category:
            levels = np.empty(len(column.levels), dtype=object)
            levels[:] = column.levels
            chosen = mask(node, {column.name: Values.of(column.name, levels)}) != negated
            return [(Atom(k, levels=tuple(np.flatnonzero(chosen).tolist())),)]
        if isinstance(node, Between):
            low, high = _value(node.low, node), _value(node.high, node)
            if not negated:
                return [(self.atom(k, low, high),)]
            return [self.compared(k, "<", low, False)[0] + self.compared(k, ">", high, False)[0]]
        if isinstance(node, Within):
            if node.negated != negated:
                return [
                    clause for value in node.values for clause in self.compared(k, "!=", _value(value, node), False)
                ]
            return [tuple(self.atom(k, _value(value, node), _value(value, node)) for value in node.values)]
        assert isinstance(node.other, Literal)
        return self.compared(k, node.sign, _value(node.other, node), negated)

    def compared(self, column: int, sign: str, value: float, negated: bool) -> list[Disjunction]:
        """A comparison with a number; "more than" begins a little past it."""
        sign = OPPOSITE[sign] if negated else sign
        size = self.unit(column) * (self.spreads[column] if column < len(self.units) else 1.0)
        step = STRICT * tolerance(value / size) * size
        below, above = self.atom(column, high=value - step), self.atom(column, low=value + step)
        if sign == "!=":
            return [(below, above)]
        ranges = {"=": (value, value), "<=": (-np.inf, value), ">=": (value, np.inf)}
        if sign in ranges:
            return [(self.atom(column, *ranges[sign]),)]
        return [(below,)] if sign == "<" else [(above,)]


def _value(literal: Literal, node: Condition) -> float:
    if isinstance(literal.value, str):
        raise _bad_kind(
            f"The rule compares the numbers of {node.name.name!r} with the text {literal}.",
            fix="Compare it with a number, or declare its kind as categorical.",
        )
    return float(literal.value)


OPPOSITE = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
