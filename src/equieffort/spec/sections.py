"""Tables of the spec: `Section` with known keys, `ByKind` whose keys depend on its kind, `MapOf` with the user's own.

>>> from equieffort.spec.kinds import Number
>>> from equieffort.spec.nodes import read_nodes
>>> criteria = Section({"tau": Key(Number(low=1), "The largest ratio that counts as equal.", 1.25)})
>>> criteria.read(read_nodes("{}"), "criteria"), criteria.read(read_nodes("tau: 2"), "criteria")
({'tau': 1.25}, {'tau': 2})
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from equieffort.errors import closest, listed
from equieffort.spec.kinds import Kind, Text
from equieffort.spec.nodes import Node, Scalar, Table

REQUIRED = object()


@dataclass(frozen=True)
class Key:
    """One key of a section: what it may be, what it is about, and its default (None: left out)."""

    kind: Kind
    about: str
    default: Any = None
    example: str = field(default="", kw_only=True)

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def otherwise(self) -> Any:
        """What holds if it is left out: its default, or those of the keys in it."""
        if (
            isinstance(self.kind, Section)
            and not self.kind.one_of
            and not any(k.required for k in self.kind.keys.values())
        ):
            return {name: key.otherwise for name, key in self.kind.keys.items()}
        if isinstance(self.kind, ByKind) and isinstance(self.default, str):
            return self.kind.alone(self.default)
        return self.default


@dataclass(frozen=True)
class Section(Kind):
    """A table with known keys."""

    shapes = (Table,)
    keys: Mapping[str, Key]
    one_of: tuple[str, ...] = ()
    """Keys of which exactly one must be given."""
    short: str = ""
    """The key that a text alone in the place of the table gives."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """Keys that there were once, and what they are called now."""

    @property
    def words(self) -> str:
        """Its keys."""
        table = f"a table with the keys {listed(self.keys, 20)}"
        return f"{self.keys[self.short].kind.words} or {table}" if self.short else table

    def accepts(self, node: Node) -> bool:
        """A table, or the text that stands for one."""
        return super().accepts(node) or self._is_short(node)

    def _is_short(self, node: Node) -> bool:
        return bool(self.short) and isinstance(node, Scalar) and isinstance(node.value, str)

    def read(self, node: Node, where: str) -> dict[str, Any]:
        """All values, with defaults for those left out."""
        if self._is_short(node):
            node = Table(node.at, {self.short: node.at}, {self.short: node})
        if not isinstance(node, Table):
            self.refuse(node, where or "the spec")
        for name, place in node.keys.items():
            if name not in self.keys:
                inside = f" in {where}" if where else ""
                hint = closest(name, [key for key in self.keys if key not in node.keys]) or closest(name, self.keys)
                fix = f"The keys{f' of {where}' if where else ''} are {listed(self.keys, 30)}."
                if name in self.renamed:
                    hint = f"It is called {self.renamed[name]!r}."
                    fix = f"Write {self.renamed[name]!r} in its place."
                if re.fullmatch(r"[0-9]{3}", name):
                    hint = "A comma inside a number ends the number here."
                    fix = "Write numbers without marks for thousands: 20000, not 20,000."
                raise place.error("SPEC_KEY", f"unknown key {name!r}{inside}. {hint}".rstrip(), fix)
        for name, key in self.keys.items():
            if key.required and name not in node.keys:
                raise node.at.error(
                    "SPEC_KEY",
                    f"{where or 'the spec'} lacks the key {name!r}.",
                    f"Add it, for instance `{name}: {key.example}`. {key.about}",
                )
        given = [name for name in self.one_of if name in node.keys]
        if self.one_of and len(given) != 1:
            either = " or ".join(map(repr, self.one_of))
            at = node.keys[given[1]] if given else node.at
            neither = f"has neither {' nor '.join(map(repr, self.one_of))}"
            has = f"has both {given[0]!r} and {given[1]!r}" if given else neither
            raise at.error("SPEC_KEY", f"{where} {has}.", f"Give exactly one: {either}.")
        return {
            name: key.kind.read(node.values[name], f"{where}.{name}" if where else name)
            if name in node.values
            else key.otherwise
            for name, key in self.keys.items()
        }

    def schema(self) -> dict[str, Any]:
        """An object."""
        properties = {}
        for name, key in self.keys.items():
            properties[name] = key.kind.schema() | {"description": key.about}
            if not key.required and key.default is not None:
                properties[name]["default"] = key.default
        schema: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        if required := [name for name, key in self.keys.items() if key.required]:
            schema["required"] = required
        if self.one_of:
            schema["oneOf"] = [{"required": [name]} for name in self.one_of]
        return {"anyOf": [self.keys[self.short].kind.schema(), schema]} if self.short else schema


@dataclass(frozen=True)
class MapOf(Kind):
    """A table whose keys are the user's own names."""

    shapes = (Table,)
    item: Kind
    named: str
    least: int = 0

    def read(self, node: Node, where: str) -> dict[str, Any]:
        """All values."""
        if not isinstance(node, Table) or len(node.values) < self.least:
            self.refuse(node, where)
        return {name: self.item.read(value, f"{where}.{name}") for name, value in node.values.items()}

    def schema(self) -> dict[str, Any]:
        """An object with any keys."""
        schema: dict[str, Any] = {"type": "object", "additionalProperties": self.item.schema()}
        return schema | ({"minProperties": self.least} if self.least else {})


@dataclass(frozen=True)
class ByKind(Kind):
    """A table whose key `kind` says which others it may have; the kind alone, as a text, where it needs no others.

    >>> from equieffort.spec.kinds import Number
    >>> from equieffort.spec.nodes import read_nodes
    >>> degree = Key(Number(low=1), "How bent.", 2)
    >>> shape = ByKind({"line": Section({}), "curve": Section({"degree": degree})}, "Which.")
    >>> shape.read(read_nodes("curve"), "shape"), shape.read(read_nodes("{kind: curve, degree: 3}"), "shape")
    ({'kind': 'curve', 'degree': 2}, {'kind': 'curve', 'degree': 3})
    """

    shapes = (Scalar, Table)
    forms: Mapping[str, Section]
    """The other keys of each kind."""
    about: str
    """What the kind decides."""
    told_at: str = ""
    """The path at which the page explains these keys already."""

    @property
    def kind(self) -> Key:
        """The key that all forms have."""
        return Key(Text(tuple(self.forms)), self.about, REQUIRED, example=next(iter(self.forms)))

    @property
    def words(self) -> str:
        """The kinds, and that there is more to say."""
        return f"{Text(self._alone).words}, or a table with the key 'kind'"

    @property
    def _alone(self) -> tuple[str, ...]:
        """The kinds that need no other keys."""
        return tuple(name for name, form in self.forms.items() if not any(k.required for k in form.keys.values()))

    def alone(self, name: str) -> dict[str, Any]:
        """A kind with all its defaults."""
        return {"kind": name} | {key: known.otherwise for key, known in self.forms[name].keys.items()}

    def read(self, node: Node, where: str) -> dict[str, Any]:
        """The kind and the values of its keys, with defaults for those left out."""
        if isinstance(node, Scalar) and isinstance(node.value, str):
            name = Text(tuple(self.forms)).read(node, where)
            # An empty table in its place says which keys are needed.
            return {"kind": name} | self.forms[name].read(Table(node.at, {}, {}), where)
        if not isinstance(node, Table):
            self.refuse(node, where)
        if "kind" not in node.keys:
            every = {name: key for form in self.forms.values() for name, key in form.keys.items()}
            Section({"kind": self.kind} | every).read(node, where)
        name = self.kind.kind.read(node.values["kind"], f"{where}.kind")
        form = self.forms[name]
        for key, place in node.keys.items():
            belongs = [other for other, its in self.forms.items() if key in its.keys]
            if key != "kind" and key not in form.keys and belongs:
                *first, last = map(repr, belongs)
                kinds = f"{', '.join(first)} and {last}" if first else last
                keys = f"has the keys {listed(form.keys, 20)}" if form.keys else "has no other keys"
                raise place.error(
                    "SPEC_KEY",
                    f"{where}.{key} has no effect under kind {name!r}; it belongs to {kinds}.",
                    f"Remove it, or choose another kind. The kind {name!r} {keys}.",
                )
        return Section({"kind": self.kind} | dict(form.keys)).read(node, where)

    def schema(self) -> dict[str, Any]:
        """One of the kinds as a string, or an object for each."""
        forms: list[dict[str, Any]] = [{"type": "string", "enum": list(self._alone)}]
        for name, form in self.forms.items():
            forms.append(Section({"kind": replace(self.kind, kind=Text((name,)))} | dict(form.keys)).schema())
        return {"anyOf": forms}
