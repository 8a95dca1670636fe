"""Rules: a small grammar that describes a subgroup of people. It is parsed here and never executed.

>>> rule = parse_rule("age < 25 AND (purpose in ('car', 'tv') or 2 <= `years at job`)")
>>> rule.names
('age', 'purpose', 'years at job')
>>> print(rule)
age < 25 and (purpose in ('car', 'tv') or `years at job` >= 2)
>>> people = {"age": np.array([20, 24, 40]), "purpose": np.array(["car", "tvs", "tv"], dtype=object)}
>>> parse_rule("not (age between 20 and 24) or purpose = 'car'").evaluate(people)
array([ True, False,  True])

The grammar, in which keywords may be written in any case:

    rule      :  both ("or" both)*                  both  :  one ("and" one)*
    one       :  "not" one  |  "(" rule ")"  |  condition
    condition :  operand ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") operand      at least one is a name
              |  name ["not"] "in" "(" value ("," value)* ")"
              |  name "between" value "and" value   both ends belong
    operand   :  name | value
    name      :  letters, digits, "_" and "."; any other in back-quotes, where a double one stands for one
    value     :  number | 'text' or "text", where a double quote stands for one | true | false

A missing value (NaN, None) satisfies no condition, `!=` and `not in` included: what is not known is
not known to differ. The word `not` in front of a condition is plain negation: `not (age < 25)`
includes people of unknown age, `age >= 25` does not.
"""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from equieffort.errors import RuleError, closest, listed

MAX_LENGTH = 10_000
MAX_DEPTH = 100

_KEYWORDS = frozenset({"and", "or", "not", "in", "between", "true", "false"})
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_KINDS = {"number": "numbers", "text": "text", "truth": "true and false"}
_HINTS = {"&": "write 'and'", "|": "write 'or'", "!": "write 'not', or '!=' between two values"}
_EXAMPLE = "A rule looks like this: age < 25 and purpose = 'car'."

# Possessive quantifiers: a quote that is never closed must be reported, not shortened until it fits.
_TOKEN = re.compile(
    r"""(?P<space>\s+) | (?P<operator><=|>=|!=|==|[=<>]) | (?P<mark>[(),])
    | (?P<text>'(?:[^']|'')*+' | "(?:[^"]|"")*+") | (?P<quoted>`(?:[^`]|``)*+`)
    | (?P<number>-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)""",
    re.VERBOSE,
)


def _bare(name: str) -> bool:
    """Whether a name needs no back-quotes; dots are allowed because tables often have them."""
    start = name[:1].isidentifier() and f"_{name.replace('.', '_')}".isidentifier()
    return start and name.lower() not in _KEYWORDS


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str

    def __str__(self) -> str:
        return self.name if _bare(self.name) else "`" + self.name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Literal:
    """A value; the kind is kept because Python holds 1 and True for equal and a rule does not."""

    kind: str
    value: int | float | str | bool

    def __str__(self) -> str:
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return str(self.value).lower() if self.kind == "truth" else repr(self.value)


@dataclass(frozen=True, slots=True)
class Compare:
    """A column against a value or another column."""

    name: Name
    sign: str
    other: Literal | Name

    def __str__(self) -> str:
        return f"{self.name} {self.sign} {self.other}"


@dataclass(frozen=True, slots=True)
class Within:
    """A column against a list of values."""

    name: Name
    values: tuple[Literal, ...]
    negated: bool

    def __str__(self) -> str:
        return f"{self.name} {'not in' if self.negated else 'in'} ({', '.join(map(str, self.values))})"


@dataclass(frozen=True, slots=True)
class Between:
    """A column against two bounds, both included."""

    name: Name
    low: Literal
    high: Literal

    def __str__(self) -> str:
        return f"{self.name} between {self.low} and {self.high}"


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    part: Node

    def __str__(self) -> str:
        return f"not ({self.part})" if isinstance(self.part, Joined) else f"not {self.part}"


@dataclass(frozen=True, slots=True)
class Joined:
    """Two or more parts joined by one word, `and` or `or`."""

    word: str
    parts: tuple[Node, ...]

    def __str__(self) -> str:
        # Only `and` inside `or` reads back as it was without parentheses.
        return f" {self.word} ".join(
            f"({part})" if isinstance(part, Joined) and (self.word, part.word) != ("or", "and") else str(part)
            for part in self.parts
        )


Condition: TypeAlias = Compare | Within | Between
Node: TypeAlias = Condition | Not | Joined
Mask: TypeAlias = NDArray[np.bool_]


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
        for node in _conditions(self.tree):
            found[node.name.name] = None
            if isinstance(node, Compare) and isinstance(node.other, Name):
                found[node.other.name] = None
        return tuple(found)

    def evaluate(self, columns: Mapping[str, Any]) -> Mask:
        """Who belongs, one truth value a person."""
        return _mask(self.tree, self._columns(columns))

    def unmatched(self, columns: Mapping[str, Any]) -> tuple[str, ...]:
        """Sentences about texts of the rule that nobody has, which are often misspelt.

        >>> parse_rule("purpose = 'caar'").unmatched({"purpose": np.array(["car", "tv"])})
        ("purpose = 'caar' matches nobody. Did you mean 'car'?",)
        """
        views, present, said = self._columns(columns), dict[str, set[str]](), dict[str, None]()
        for node in _conditions(self.tree):
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

    def _columns(self, columns: Mapping[str, Any]) -> dict[str, _Column]:
        for name in self.names:
            if name not in columns:
                fix = f"{closest(name, columns)} The columns are {listed(columns)}.".lstrip()
                # An unquoted text reads as a second column; that is the likelier slip on the right.
                if any(isinstance(n, Compare) and n.other == Name(name) for n in _conditions(self.tree)):
                    fix += f" If a text is meant, put it in quotes: {Literal('text', name)}."
                what = f"The rule {_short(str(self), 80)} uses the unknown column {name!r}."
                raise RuleError("RULE_NAME", what, fix=fix)
        views = {name: _Column.of(name, columns[name]) for name in self.names}
        if len({len(view.values) for view in views.values()}) > 1:
            lengths = ", ".join(f"{name!r} has {len(view.values)}" for name, view in views.items())
            raise RuleError("SUBGROUP_MASK", f"The columns of the rule differ in length: {lengths}.")
        return views


def _conditions(node: Node) -> Iterator[Condition]:
    if isinstance(node, Joined):
        for part in node.parts:
            yield from _conditions(part)
    elif isinstance(node, Not):
        yield from _conditions(node.part)
    else:
        yield node


# ---------------------------------------------------------------------------------------- evaluation


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
class _Column:
    """A column with its kind; `unknown` is the kind of a column in which everything is missing."""

    name: str
    kind: str
    values: NDArray[Any]
    missing: Mask

    @classmethod
    def of(cls, name: str, raw: Any) -> _Column:
        values = np.asarray(raw)
        if values.ndim != 1:
            raise RuleError("SUBGROUP_MASK", f"Column {name!r} has {values.ndim} dimensions instead of one.")
        if values.dtype.kind in "biuf":
            missing = values != values
            return cls(name, "truth" if values.dtype.kind == "b" else "number", values, missing)
        text = values.dtype.kind in "UT"
        values = values.astype(object)
        missing = np.fromiter((_missing(value) for value in values), bool, len(values))
        kinds = {_kind_of(value): value for value in values[~missing]}
        if len(kinds) > 1 or not kinds.keys() <= _KINDS.keys():
            found = ", ".join(f"{kind} ({_short(value)})" for kind, value in sorted(kinds.items()))
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
        example = f", for example {_short(known[0])}" if len(known) else ""
        return f"Column {self.name!r} holds {_KINDS[self.kind]}{example}"

    def compare(self, sign: str, other: Literal | _Column) -> Mask:
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


def _mask(node: Node, columns: Mapping[str, _Column]) -> Mask:
    if isinstance(node, Joined):
        join = np.logical_and if node.word == "and" else np.logical_or
        result: Mask = join.reduce([_mask(part, columns) for part in node.parts])
        return result
    if isinstance(node, Not):
        return ~_mask(node.part, columns)
    column = columns[node.name.name]
    if isinstance(node, Between):
        return column.compare(">=", node.low) & column.compare("<=", node.high)
    if isinstance(node, Within):
        found: Mask = np.logical_or.reduce([column.compare("=", value) for value in node.values])
        return ~found & ~column.missing if node.negated else found
    return column.compare(node.sign, columns[node.other.name] if isinstance(node.other, Name) else node.other)


# ------------------------------------------------------------------------------------------- parsing


def _short(value: object, most: int = 40) -> str:
    # A value of NumPy would show its type, which says nothing to a reader.
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    return shown if len(shown) <= most else shown[: most - 1] + "…"


def _fail(text: str, at: int, problem: str, fix: str = _EXAMPLE) -> NoReturn:
    """Show the rule around the position, with a caret below it."""
    start, stop = max(0, at - 60), at + 40
    before, after = ("".join(c if c.isprintable() else " " for c in s) for s in (text[start:at], text[at:stop]))
    before = "…" * (start > 0) + before
    # Wide characters take two places on a terminal and combining ones none; the caret must still fit.
    width = sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in before)
    shown = f"    {before}{after}{'…' * (stop < len(text))}".rstrip()
    raise RuleError("RULE_SYNTAX", f"The rule cannot be read: {problem}\n{shown}\n    {' ' * width}^", fix=fix)


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str  # "name", "value", "operator", "end", or the keyword or mark itself
    at: int
    raw: str
    item: Name | Literal | None = None


def _number(text: str, at: int, raw: str) -> Literal:
    value = float(raw)
    # A double has no use for more digits, and Python refuses to read very long rows of them.
    if len(raw) > 400 or value in (float("inf"), float("-inf")):
        _fail(text, at, "this number is too long or too large.")
    return Literal("number", int(raw) if raw.lstrip("-").isdigit() else value)


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        end = at + 1 if match is None else match.end()
        if match is None and text[at].isidentifier():
            while end < len(text) and (text[end] == "." or f"_{text[end]}".isidentifier()):
                end += 1
        raw = text[at:end]
        group, quote = (match.lastgroup if match else None), raw[0]
        if group in ("operator", "mark"):
            yield _Token("operator" if group == "operator" else raw, at, raw)
        elif group == "text":
            yield _Token("value", at, raw, Literal("text", raw[1:-1].replace(quote * 2, quote)))
        elif group == "quoted":
            yield _Token("name", at, raw, Name(raw[1:-1].replace("``", "`")))
        elif group == "number":
            if end < len(text) and (text[end] == "." or f"_{text[end]}".isidentifier()):
                fix = "Put a name that begins with a digit in back-quotes, and a space behind a number."
                _fail(text, end, f"{_short(text[end])} cannot follow a number directly.", fix)
            yield _Token("value", at, raw, _number(text, at, raw))
        elif group is None and raw.lower() in ("true", "false"):
            yield _Token("value", at, raw, Literal("truth", raw.lower() == "true"))
        elif group is None and raw.lower() in _KEYWORDS:
            yield _Token(raw.lower(), at, raw)
        elif group is None and quote.isidentifier():
            yield _Token("name", at, raw, Name(raw))
        elif group is None and quote in "'\"`":
            _fail(text, at, "this quote is never closed.", "Write a quote inside quotes twice.")
        elif group is None:
            hint = f"; {_HINTS[raw]}" if raw in _HINTS else ""
            _fail(text, at, f"{raw!r} is no part of a rule{hint}.")
        at = end
    yield _Token("end", len(text.rstrip()), "")


class _Parser:
    """Recursive descent with one token of look-ahead; one method a line of the grammar."""

    def __init__(self, text: str) -> None:
        self.text, self.depth = text, 0
        self.stream = _tokens(text)
        self.token = next(self.stream)

    def expected(self, what: str, fix: str = _EXAMPLE) -> NoReturn:
        token = self.token
        found = "the rule ends here" if token.kind == "end" else f"found {_short(token.raw)}"
        _fail(self.text, token.at, f"expected {what}, but {found}.", fix)

    def take(self, kind: str, what: str, fix: str = _EXAMPLE) -> _Token:
        if self.token.kind != kind:
            self.expected(what, fix)
        return self.advance()

    def advance(self) -> _Token:
        token = self.token
        self.token = next(self.stream, token)
        return token

    def rule(self) -> Node:
        node = self.joined("or")
        self.take("end", "'and', 'or' or the end of the rule")
        return node

    def joined(self, word: str) -> Node:
        parts = [self.joined("and") if word == "or" else self.one()]
        while self.token.kind == word:
            self.advance()
            parts.append(self.joined("and") if word == "or" else self.one())
        return Joined(word, tuple(parts)) if len(parts) > 1 else parts[0]

    def one(self) -> Node:
        if self.token.kind not in ("not", "("):
            condition = self.condition()
            if self.token.kind == "operator":
                fix = "Write both comparisons, joined by 'and', or use 'between'."
                _fail(self.text, self.token.at, "comparisons cannot be chained.", fix)
            return condition
        self.depth += 1
        if self.depth > MAX_DEPTH:
            _fail(self.text, self.token.at, f"it is nested more than {MAX_DEPTH} levels deep.")
        if self.advance().kind == "not":
            node: Node = Not(self.one())
        else:
            node = self.joined("or")
            self.take(")", "'and', 'or' or ')'")
        self.depth -= 1
        return node

    def condition(self) -> Node:
        left = self.operand("a column, a value, 'not' or '('")
        if isinstance(left, Literal):
            sign = self.sign("a comparison such as = or <")
            other = self.take("name", "a column, because a value stands on the left").item
            assert isinstance(other, Name)
            return Compare(other, _MIRRORED[sign], left)
        if self.token.kind == "between":
            self.advance()
            low, _, at = self.value(), self.take("and", "'and' and the upper bound"), self.token.at
            high = self.value()
            if low.kind == high.kind == "number" and low.value > high.value:  # type: ignore[operator]
                _fail(self.text, at, f"nothing lies between {low} and {high}.", "Write the smaller bound first.")
            return Between(left, low, high)
        if self.token.kind in ("not", "in"):
            negated = self.token.kind == "not" and bool(self.advance())
            self.take("in", "'in'")
            self.take("(", "'(' and a list of values")
            values = [self.value()]
            while self.token.kind == ",":
                self.advance()
                values.append(self.value())
            self.take(")", "',' or ')'")
            return Within(left, tuple(values), negated)
        alone = self.token.kind in ("and", "or", ")", "end")
        fix = f"To ask whether a column is true, write: {left} = true." if alone else _EXAMPLE
        sign = self.sign("a comparison such as = or <, 'in', 'not in' or 'between'", fix)
        return Compare(left, sign, self.operand("a value or a column"))

    def sign(self, what: str, fix: str = _EXAMPLE) -> str:
        raw = self.take("operator", what, fix).raw
        return "=" if raw == "==" else raw

    def operand(self, what: str) -> Name | Literal:
        if self.token.item is None:
            self.expected(what)
        item = self.advance().item
        assert item is not None
        return item

    def value(self) -> Literal:
        item = self.take("value", "a number, a text in quotes, true or false").item
        assert isinstance(item, Literal)
        return item


def parse_rule(text: str) -> Rule:
    """Read a rule; what cannot be read raises `RULE_SYNTAX` and shows where.

    >>> parse_rule("age < 25 and")
    Traceback (most recent call last):
    equieffort.errors.RuleError: The rule cannot be read: expected a column, a value, 'not' or '(', ...
        age < 25 and
                    ^
    ...
    """
    if not isinstance(text, str):
        raise RuleError("RULE_SYNTAX", f"A rule is a text, not {type(text).__name__}.", fix=_EXAMPLE)
    if len(text) > MAX_LENGTH:
        what = f"The rule has {len(text)} characters; at most {MAX_LENGTH} are read."
        raise RuleError("RULE_SYNTAX", what, fix="Pass a mask of truth values instead.")
    if not text.strip():
        raise RuleError("RULE_SYNTAX", "The rule is empty.", fix=_EXAMPLE)
    return Rule(text, _Parser(text).rule())
