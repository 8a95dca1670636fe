"""The parts of a parsed rule; each prints as it is written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from equieffort.foundations.arguments import as_plain

KEYWORDS = frozenset({"and", "or", "not", "in", "between", "true", "false"})


def is_bare(name: str) -> bool:
    """Whether a name needs no back-quotes; dots are allowed because tables often have them."""
    start = name[:1].isidentifier() and f"_{name.replace('.', '_')}".isidentifier()
    return start and name.lower() not in KEYWORDS


@dataclass(frozen=True, slots=True)
class Name:
    """A column."""

    name: str

    def __str__(self) -> str:
        return self.name if is_bare(self.name) else "`" + self.name.replace("`", "``") + "`"


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


def conditions(node: Node) -> Iterator[Condition]:
    """The conditions of a rule, from left to right."""
    if isinstance(node, Joined):
        for part in node.parts:
            yield from conditions(part)
    elif isinstance(node, Not):
        yield from conditions(node.part)
    else:
        yield node


def short(value: object, most: int = 40) -> str:
    """A value for a message, cut where it is long."""
    # A value of NumPy would show its type, which says nothing to a reader.
    shown = repr(as_plain(value))
    return shown if len(shown) <= most else shown[: most - 1] + "…"
