"""What a value of the spec may be: each kind reads a node, describes itself in words, and as JSON schema.

>>> from equieffort.spec.nodes import read_nodes
>>> share = Number(low=0, high=1)
>>> share.read(read_nodes("0.2"), "neighbourhood.quantile"), share.words
(0.2, 'a number from 0 to 1')
>>> share.read(read_nodes("two"), "neighbourhood.quantile")
Traceback (most recent call last):
equieffort.spec.nodes.SpecError: line 1, column 1: neighbourhood.quantile is the text 'two', but must be a number
from 0 to 1.
...
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any, ClassVar, NoReturn

from equieffort.errors import closest
from equieffort.spec.nodes import Items, Node, Scalar


class Kind(ABC):
    """What a value may be: `named` in words, if these do not depend on what is in it."""

    named: str
    shapes: ClassVar[tuple[type[Node], ...]] = (Scalar,)

    @property
    def words(self) -> str:
        """The kind in words, fit to follow "must be"."""
        return self.named

    def accepts(self, node: Node) -> bool:
        """Whether the node has the shape of this kind, so that its own errors are the helpful ones."""
        return isinstance(node, self.shapes)

    @abstractmethod
    def read(self, node: Node, where: str) -> Any:
        """The value as plain Python, or an error that names the place and `where`."""

    @abstractmethod
    def schema(self) -> dict[str, Any]:
        """The kind as JSON schema."""

    def refuse(self, node: Node, where: str, fix: str = "") -> NoReturn:
        """What is there is not of this kind."""
        said = "is empty" if isinstance(node, Scalar) and node.value is None else f"is {node}"
        raise node.at.error("SPEC_VALUE", f"{where} {said}, but must be {self.words}.", fix or f"Give {self.words}.")


def settle(node: Node, where: str, instead: str) -> None:
    """Refuse a bare word that programs read in different ways."""
    if isinstance(node, Scalar) and node.doubt:
        raise node.at.error("SPEC_YAML", f"{where} is in doubt: {node.doubt}.", instead)


def _quotes(node: Node) -> str:
    return f'Write it in quotes if the text is meant: "{node.written}".' if isinstance(node, Scalar) else ""


@dataclass(frozen=True)
class Text(Kind):
    """A text, perhaps one of a few."""

    choices: tuple[str, ...] = ()
    empty: bool = False
    named: str = "a text"

    @property
    def words(self) -> str:
        """The choices, or what the text names."""
        if not self.choices:
            return self.named
        *first, last = map(repr, self.choices)
        return f"{', '.join(first)} or {last}" if first else last

    def read(self, node: Node, where: str) -> str:
        """The text."""
        settle(node, where, _quotes(node))
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            number = isinstance(node, Scalar) and node.value is not None and not self.choices
            self.refuse(node, where, _quotes(node) if number else "")
        if self.choices and node.value not in self.choices:
            hint = closest(node.value, self.choices)
            raise node.at.error("SPEC_VALUE", f"{where} is {node.value!r}. {hint}".rstrip(), f"It can be {self.words}.")
        if not self.empty and not node.value.strip():
            self.refuse(node, where)
        return node.value

    def schema(self) -> dict[str, Any]:
        """A string."""
        if self.choices:
            return {"type": "string", "enum": list(self.choices)}
        return {"type": "string"} if self.empty else {"type": "string", "minLength": 1}


@dataclass(frozen=True)
class Number(Kind):
    """A number within limits, finite unless said otherwise."""

    low: float = -inf
    high: float = inf
    above: float = -inf
    """As `low`, but itself excluded."""
    below: float = inf
    """As `high`, but itself excluded."""
    whole: bool = False
    infinite: bool = False
    """Whether .inf and -.inf may be written, for no limit."""

    @property
    def words(self) -> str:
        """With its limits."""
        return f"{self._finite}, or .inf (-.inf) for no limit" if self.infinite else self._finite

    @property
    def _finite(self) -> str:
        name = "a whole number" if self.whole else "a number"
        if isfinite(self.above) and isfinite(self.below):
            return f"{name} between {self.above:g} and {self.below:g}"
        if isfinite(self.above):
            return f"{name} above {self.above:g}" + (f" and at most {self.high:g}" if isfinite(self.high) else "")
        if isfinite(self.low):
            return (
                f"{name} from {self.low:g} to {self.high:.10g}"
                if isfinite(self.high)
                else f"{name}, {self.low:g} or more"
            )
        return name

    def read(self, node: Node, where: str) -> float:
        """The number."""
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, bool) or not isinstance(value, int | float):
            settle(node, where, f"Give {self.words}, written with plain decimal digits.")
            self.refuse(node, where)
        if self.whole and value == int(value if isfinite(value) else 0):
            value = int(value)
        inside = self.low <= value <= self.high
        inside &= value > self.above or not isfinite(self.above)
        inside &= value < self.below or not isfinite(self.below)
        # A number with too many digits is no way to write that there is no limit.
        inside &= isfinite(value) or (self.infinite and isinstance(node, Scalar) and not node.doubt)
        if not inside or (self.whole and not isinstance(value, int)):
            self.refuse(node, where)
        return value

    def schema(self) -> dict[str, Any]:
        """A number."""
        limits = {"minimum": self.low, "maximum": self.high, "exclusiveMinimum": self.above}
        limits["exclusiveMaximum"] = self.below
        return {"type": "integer" if self.whole else "number"} | {k: v for k, v in limits.items() if isfinite(v)}


@dataclass(frozen=True)
class End(Number):
    """A number without limits, or a level of a category whose levels have an order."""

    infinite: bool = True

    @property
    def words(self) -> str:
        """Either."""
        return f"{super().words}; of a category a level"

    def read(self, node: Node, where: str) -> Any:
        """The number, or the level."""
        if isinstance(node, Scalar) and isinstance(node.value, str) and not node.doubt:
            return Text(named="a level").read(node, where)
        return super().read(node, where)

    def schema(self) -> dict[str, Any]:
        """A number or a string."""
        return {"type": ["number", "string"], "minLength": 1}


@dataclass(frozen=True)
class Flag(Kind):
    """true or false, and nothing else."""

    named = "true or false"

    def accepts(self, node: Node) -> bool:
        """true or false."""
        return isinstance(node, Scalar) and isinstance(node.value, bool)

    def read(self, node: Node, where: str) -> bool:
        """The truth value."""
        settle(node, where, "Write true or false.")
        if not isinstance(node, Scalar) or not isinstance(node.value, bool):
            self.refuse(node, where)
        return node.value

    def schema(self) -> dict[str, Any]:
        """A boolean."""
        return {"type": "boolean"}


@dataclass(frozen=True)
class Chosen(Flag):
    """true: of several keys the one that is given says what is meant."""

    named = "true"

    def read(self, node: Node, where: str) -> bool:
        """True."""
        if not super().read(node, where):
            self.refuse(node, where, "Write true, or leave the key out.")
        return True

    def schema(self) -> dict[str, Any]:
        """The one value."""
        return {"const": True}


@dataclass(frozen=True)
class Value(Kind):
    """A value as it stands in the data: a text, a number, true or false."""

    named = "a value of the column"

    def read(self, node: Node, where: str) -> Any:
        """The value, as its own type."""
        settle(node, where, f"{_quotes(node)} Write numbers with plain decimal digits, truth values as true or false.")
        if not isinstance(node, Scalar) or node.value is None:
            self.refuse(node, where, 'A group that is called null or ~ is written in quotes: "null".')
        if isinstance(node.value, float) and not isfinite(node.value):
            self.refuse(node, where, _quotes(node))
        return node.value

    def schema(self) -> dict[str, Any]:
        """A string, number or boolean."""
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True)
class ListOf(Kind):
    """A list, perhaps of a fixed length."""

    shapes = (Items,)
    item: Kind
    named: str
    length: int | None = None
    least: int = 0
    distinct: bool = False
    """Whether each item may be given once only."""

    def read(self, node: Node, where: str) -> list[Any]:
        """All items."""
        least, most = self._lengths
        if not isinstance(node, Items) or not least <= len(node.items) <= most:
            self.refuse(node, where)
        found = [self.item.read(item, f"{where}, item {k}") for k, item in enumerate(node.items, 1)]
        for k, item in enumerate(node.items):
            if self.distinct and found[k] in found[:k]:
                raise item.at.error(
                    "SPEC_VALUE", f"{where}, item {k + 1} is {item} again.", "Give each of them once."
                )  # fmt: skip
        return found

    def schema(self) -> dict[str, Any]:
        """An array."""
        least, most = self._lengths
        schema: dict[str, Any] = {"type": "array", "items": self.item.schema()}
        schema |= {"uniqueItems": True} if self.distinct else {}
        return schema | ({"minItems": least} if least else {}) | ({"maxItems": most} if most < inf else {})

    @property
    def _lengths(self) -> tuple[float, float]:
        return (self.least, inf) if self.length is None else (self.length, self.length)


@dataclass(frozen=True)
class RowOf(Kind):
    """A list of a fixed length, with a kind for each of its places."""

    shapes = (Items,)
    items: tuple[Kind, ...]
    named: str

    def read(self, node: Node, where: str) -> list[Any]:
        """All items."""
        if not isinstance(node, Items) or len(node.items) != len(self.items):
            self.refuse(node, where)
        pairs = zip(self.items, node.items, strict=True)
        return [kind.read(item, f"{where}, item {k}") for k, (kind, item) in enumerate(pairs, 1)]

    def schema(self) -> dict[str, Any]:
        """An array."""
        count = len(self.items)
        places = [kind.schema() for kind in self.items]
        return {"type": "array", "prefixItems": places, "items": False, "minItems": count, "maxItems": count}


@dataclass(frozen=True)
class OrNone(Kind):
    """Something, or null."""

    inner: Kind

    @property
    def words(self) -> str:
        """Either."""
        return f"{self.inner.words}, or null"

    def accepts(self, node: Node) -> bool:
        """As inside."""
        return self.inner.accepts(node)

    def read(self, node: Node, where: str) -> Any:
        """The value, or None."""
        return None if isinstance(node, Scalar) and node.value is None else self.inner.read(node, where)

    def schema(self) -> dict[str, Any]:
        """Any of both."""
        return {"anyOf": [self.inner.schema(), {"type": "null"}]}


@dataclass(frozen=True)
class Either(Kind):
    """Forms that differ by their shape: a scalar, a list or a table."""

    forms: tuple[Kind, ...]

    @property
    def words(self) -> str:
        """All forms."""
        return " or ".join(form.words for form in self.forms)

    def accepts(self, node: Node) -> bool:
        """Any of the forms."""
        return any(form.accepts(node) for form in self.forms)

    def read(self, node: Node, where: str) -> Any:
        """By the form whose shape it has."""
        form = next((form for form in self.forms if form.accepts(node)), None)
        if form is None:
            self.refuse(node, where)
        return form.read(node, where)

    def schema(self) -> dict[str, Any]:
        """Any of them."""
        return {"anyOf": [form.schema() for form in self.forms]}
