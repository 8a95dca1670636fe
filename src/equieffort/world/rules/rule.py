"""Rule: a parsed rule, asked who belongs; columns with their kinds are compared person by person."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equieffort.errors import RuleError, closest, listed
from equieffort.world.rules.tree import Between, Compare, Joined, Literal, Name, Node, Not, Within, conditions, short

Mask: TypeAlias = NDArray[np.bool_]

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_KINDS = {"number": "numbers", "text": "text", "truth": "true and false"}


def _missing(value: object) -> bool:
    # The missing values of pandas refuse to be compared; they are known by the name of their type.
    unknown = value is None or type(value).__name__ in ("NAType", "NaTType")
    return unknown or (isinstance(value, float | np.floating) and bool(value != value))


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, bool | np.bool_):
        return "truth"
    return "number" if isinstance(value, int | float | np.integer | np.floating) else type(value).__name__


@dataclass(frozen=True, slots=True)
class Column:
    """A column with its kind; `unknown` is the kind of a column in which everything is missing."""

    name: str
    kind: str
    values: NDArray[Any]
    missing: Mask

    @classmethod
    def of(cls, name: str, raw: Any) -> Column:
        """Look at a column and tell its kind."""
        values = np.asarray(raw)
        if values.ndim != 1:
            raise RuleError(
                "SUBGROUP_MASK", f"Column {name!r} has {values.ndim} dimensions.", fix="Give one value a person."
            )
        if values.dtype.kind in "biuf":
            missing = values != values
            return cls(name, "truth" if values.dtype.kind == "b" else "number", values, missing)
        text = values.dtype.kind in "UT"
        values = values.astype(object)
        missing = np.fromiter((_missing(value) for value in values), bool, len(values))
        kinds = {_kind_of(value): value for value in values[~missing]}
        if len(kinds) > 1 or not kinds.keys() <= _KINDS.keys():
            found = ", ".join(f"{kind} ({short(value)})" for kind, value in sorted(kinds.items()))
            fix = "Turn the column into numbers, text or true and false."
            what = f"Column {name!r} cannot be used in a rule: it holds {found}."
            raise RuleError("RULE_TYPE", what, fix=fix)
        kind = "text" if text else next(iter(kinds), "unknown")
        # Filled, because some missing values cannot even be compared; the mask remembers them.
        values[missing] = None if kind in ("text", "unknown") else False
        if kind in ("number", "truth"):
            values = values.astype(float if kind == "number" else bool)
        return cls(name, kind, values, missing)

    def __str__(self) -> str:
        known = self.values[~self.missing]
        example = f", for example {short(known[0])}" if len(known) else ""
        return f"Column {self.name!r} holds {_KINDS[self.kind]}{example}"

    def compare(self, sign: str, other: Literal | Column) -> Mask:
        """The comparison, False where a value is missing."""
        if isinstance(other, Literal):
            missing, right = self.missing, self._operand(sign, other)
        else:
            missing, right = self.missing | other.missing, other.values
            if "unknown" not in (self.kind, other.kind):
                self._check(sign, other.kind, f"column {other.name!r}, which holds {_KINDS[other.kind]}")
        if missing.all():
            return ~missing
        left = self.values
        literal_float = isinstance(other, Literal) and left.dtype.kind == "f"
        if literal_float and abs(right) > float(np.finfo(left.dtype).max):
            left = left.astype(float)  # the number would overflow in a narrow column
        return np.asarray(_OPERATORS[sign](left, right), dtype=bool) & ~missing

    def _operand(self, sign: str, literal: Literal) -> Any:
        known = self.values[~self.missing]
        equality, kind, value = sign in ("=", "!="), literal.kind, literal.value
        # Tables write true and false as 1 and 0 as well, so both spellings are understood.
        if equality and self.kind == "truth" and kind == "number" and value in (0, 1):
            return bool(value)
        if equality and self.kind == "number" and kind == "truth" and bool(np.isin(known, (0, 1)).all()):
            return int(value)
        if self.kind != "unknown":
            self._check(sign, kind, str(literal))
        # As an object, because NumPy's own text forgets zero characters at the end.
        return np.array(value, dtype=object) if kind == "text" else value

    def _check(self, sign: str, kind: str, other: str) -> None:
        if sign not in ("=", "!=") and self.kind != "number":
            fix = "Use =, !=, in or not in for this column."
            raise RuleError("RULE_TYPE", f"{self}, which has no order: {sign} {other} is undecided.", fix=fix)
        if self.kind != kind:
            fixes = {"text": "Put the value in quotes.", "truth": "Compare it with true or false."}
            what = f"{self}, and cannot be compared with {other}."
            raise RuleError("RULE_TYPE", what, fix=fixes.get(self.kind, "Compare it with a number."))


def mask(node: Node, columns: Mapping[str, Column]) -> Mask:
    """Who satisfies the rule."""
    if isinstance(node, Joined):
        join = np.logical_and if node.word == "and" else np.logical_or
        result: Mask = join.reduce([mask(part, columns) for part in node.parts])
        return result
    if isinstance(node, Not):
        return ~mask(node.part, columns)
    column = columns[node.name.name]
    if isinstance(node, Between):
        return column.compare(">=", node.low) & column.compare("<=", node.high)
    if isinstance(node, Within):
        found: Mask = np.logical_or.reduce([column.compare("=", value) for value in node.values])
        return ~found & ~column.missing if node.negated else found
    return column.compare(node.sign, columns[node.other.name] if isinstance(node.other, Name) else node.other)


@dataclass(frozen=True, slots=True)
class Rule:
    """A parsed rule; two rules are equal when they mean the same conditions in the same order."""

    text: str = field(compare=False)
    tree: Node

    def __str__(self) -> str:
        return str(self.tree)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns the rule speaks of, in order of first appearance."""
        found: dict[str, None] = {}
        for node in conditions(self.tree):
            found[node.name.name] = None
            if isinstance(node, Compare) and isinstance(node.other, Name):
                found[node.other.name] = None
        return tuple(found)

    def evaluate(self, columns: Mapping[str, Any]) -> Mask:
        """Who belongs, one truth value a person."""
        return mask(self.tree, self._columns(columns))

    def unmatched(self, columns: Mapping[str, Any]) -> tuple[str, ...]:
        """Sentences about texts of the rule that nobody has, which are often misspelt.

        >>> import numpy as np
        >>> from equieffort.world.rules import parse_rule
        >>> parse_rule("purpose = 'caar'").unmatched({"purpose": np.array(["car", "tv"])})
        ("purpose = 'caar' matches nobody. Did you mean 'car'?",)
        """
        views, present, said = self._columns(columns), dict[str, set[str]](), dict[str, None]()
        for node in conditions(self.tree):
            view = views[node.name.name]
            if view.kind != "text" or isinstance(node, Between):
                continue
            negated = node.negated if isinstance(node, Within) else node.sign == "!="
            known = present.setdefault(view.name, set(view.values[~view.missing]))
            for value in node.values if isinstance(node, Within) else (node.other,):
                if isinstance(value, Literal) and value.kind == "text" and value.value not in known:
                    effect = "!= {} excludes nobody." if negated else "= {} matches nobody."
                    hint = closest(value.value, sorted(known))
                    said[f"{node.name} {effect.format(value)} {hint}".rstrip()] = None
        return tuple(said)

    def _columns(self, columns: Mapping[str, Any]) -> dict[str, Column]:
        for name in self.names:
            if name not in columns:
                fix = f"{closest(name, columns)} The columns are {listed(columns)}.".lstrip()
                # An unquoted text reads as a second column; that is the likelier slip on the right.
                if any(isinstance(n, Compare) and n.other == Name(name) for n in conditions(self.tree)):
                    fix += f" If a text is meant, put it in quotes: {Literal('text', name)}."
                what = f"The rule {short(str(self), 80)} uses the unknown column {name!r}."
                raise RuleError("RULE_NAME", what, fix=fix)
        views = {name: Column.of(name, columns[name]) for name in self.names}
        if len({len(view.values) for view in views.values()}) > 1:
            lengths = ", ".join(f"{name!r} has {len(view.values)}" for name, view in views.items())
            raise RuleError(
                "SUBGROUP_MASK",
                f"The columns of the rule differ in length: {lengths}.",
                fix="Give one value a person in each.",
            )
        return views
