"""Reading a rule: tokens, then recursive descent; nothing is executed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NoReturn

from equieffort.errors import RuleError, Setting
from equieffort.world.rules.rule import Rule
from equieffort.world.rules.tree import KEYWORDS, Between, Compare, Joined, Literal, Name, Node, Not, Within, short

MAX_LENGTH = 10_000
MAX_DEPTH = 100

_MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_HINTS = {"&": "write 'and'", "|": "write 'or'", "!": "write 'not', or '!=' between two values"}
_EXAMPLE = "A rule looks like this: age < 25 and purpose = 'car'."

# Possessive quantifiers: a quote that is never closed must be reported, not shortened until it fits.
_TOKEN = re.compile(
    r"""(?P<space>\s+) | (?P<operator><=|>=|!=|==|[=<>]) | (?P<mark>[(),])
    | (?P<text>'(?:[^']|'')*+' | "(?:[^"]|"")*+") | (?P<quoted>`(?:[^`]|``)*+`)
    | (?P<number>-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)""",
    re.VERBOSE,
)


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
                _fail(text, end, f"{short(text[end])} cannot follow a number directly.", fix)
            yield _Token("value", at, raw, _number(text, at, raw))
        elif group is None and raw.lower() in ("true", "false"):
            yield _Token("value", at, raw, Literal("truth", raw.lower() == "true"))
        elif group is None and raw.lower() in KEYWORDS:
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
        found = "the rule ends here" if token.kind == "end" else f"found {short(token.raw)}"
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


def keyword_at(text: str, word: str, start: int) -> int | None:
    """Where a bare word stands behind a position, outside quotes; None if it does not.

    >>> keyword_at("a = 'then' then b = 1", "then", 0)
    11
    """
    for token in _tokens(text[start:]):
        if token.kind == "name" and token.raw.lower() == word:
            return start + token.at
    return None


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
        raise RuleError("RULE_SYNTAX", what, fix=Setting("mask"))
    if not text.strip():
        raise RuleError("RULE_SYNTAX", "The rule is empty.", fix=_EXAMPLE)
    return Rule(text, _Parser(text).rule())
