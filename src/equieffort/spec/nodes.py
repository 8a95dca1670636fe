"""YAML as a small tree in which every value knows its line and column, and nothing is ever built but text and numbers.

Only the parser of PyYAML is used: its events become `Scalar`, `Items` and `Table`. Programs disagree about what a bare
``NO``, ``1e3`` or ``017`` is; such a word carries its `doubt`, and whoever needs text or a number asks for quotes.

>>> tree = read_nodes("age: {role: actionable, upper: 75}")
>>> upper = tree.find("age", "upper")
>>> upper.value, str(upper.at)
(75, 'line 1, column 32')
>>> read_nodes("country: NO").find("country").doubt
"some programs read a bare 'NO' as false"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from equieffort.errors import EquieffortError, many, sentence

MOST_CHARACTERS = 1_000_000
MOST_NODES = 20_000
"""So many values a spec may hold once every alias is replaced by what it stands for."""
MOST_LEVELS = 20
LONG = 200
"""A longer text is not repeated in an error: it is no value of a spec, and may be about people."""


class SpecError(EquieffortError):
    """The spec cannot be read; `line` and `column` (from 1) say where, if that is known."""

    line: int | None = None
    column: int | None = None


@dataclass(frozen=True)
class Place:
    """A line and a column, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        return f"line {self.line}, column {self.column}"

    def error(self, code: str, what: str, fix: str, *, file: str = "") -> SpecError:
        """An error that starts with this place."""
        error = SpecError(code, f"{file}{self}: {what}", fix=fix)
        error.line, error.column = self.line, self.column
        return error

    def unreadable(self, what: str, fix: str) -> SpecError:
        """An error about the YAML itself."""
        return self.error("SPEC_YAML", what, fix)


@dataclass(frozen=True, eq=False)
class Node:
    """A value and its place; `size` counts the values in it."""

    at: Place
    size: int = field(default=1, kw_only=True)

    def find(self, *path: str) -> Node:
        """The value under these keys, or the last one on the way that exists."""
        node = self
        for key in path:
            if not isinstance(node, Table) or key not in node.values:
                break
            node = node.values[key]
        return node


@dataclass(frozen=True, eq=False)
class Scalar(Node):
    """One word or number."""

    value: bool | int | float | str | None
    written: str
    doubt: str = ""
    """Why programs might read it differently; empty if they do not."""

    def __str__(self) -> str:
        if self.value is None:
            return "empty"
        if not isinstance(self.value, str):
            return self.written if isinstance(self.value, bool) else f"the number {self.written}"
        return f"the text {self.value!r}" if len(self.value) <= LONG else f"a text of {len(self.value):,} characters"


@dataclass(frozen=True, eq=False)
class Items(Node):
    """A list."""

    items: tuple[Node, ...]

    def __str__(self) -> str:
        return f"a list of {many(len(self.items), 'value', 'values')}"


@dataclass(frozen=True, eq=False)
class Table(Node):
    """Keys, their places and their values, in order."""

    keys: dict[str, Place]
    values: dict[str, Node]

    def __str__(self) -> str:
        return "a table of keys"


_INTEGER = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_DECIMAL = re.compile(r"-?(0|[1-9][0-9]*)\.[0-9]+")
_EXPONENT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_ODD_NUMBER = re.compile(r"[-+]?(0[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|0b[01]+|[0-9]+(_[0-9]+)+(\.[0-9]*)?|[0-9]+)")
_INFINITY = re.compile(r"[-+]?\.(inf|Inf|INF)")
_NULLS = ("", "~", "null", "Null", "NULL")
_SWITCHES = {"yes": True, "on": True, "true": True, "no": False, "off": False, "false": False}


def plain(word: str) -> tuple[bool | int | float | str | None, str]:
    """What a bare word means, and why there might be doubt about it.

    >>> plain("12"), plain("true"), plain("2026-01-01")
    ((12, ''), (True, ''), ('2026-01-01', ''))
    >>> plain("-.inf")
    (-inf, '')
    >>> plain("1e3")
    (1000.0, "some programs read a bare '1e3' as a number, others as text")
    """
    if word in _NULLS:
        return None, ""
    if word in ("true", "false"):
        return word == "true", ""
    if word.lower() in _SWITCHES:
        return word, f"some programs read a bare {word!r} as {str(_SWITCHES[word.lower()]).lower()}"
    if _INTEGER.fullmatch(word):
        return int(word), ""
    if _DECIMAL.fullmatch(word):
        return float(word), ""
    if _INFINITY.fullmatch(word):
        return float(word.replace(".", "")), ""
    doubt = f"some programs read a bare {word!r} as a number, others as text"
    if _ODD_NUMBER.fullmatch(word):
        return word, doubt
    if _EXPONENT.fullmatch(word):
        return float(word), doubt
    return word, ""


def read_nodes(text: str) -> Node:
    """The tree of a YAML text; what cannot be read safely and in one way raises a `SpecError`."""
    if len(text) > MOST_CHARACTERS:
        raise SpecError(
            "SPEC_FILE",
            f"The spec has {len(text):,} characters, more than the {MOST_CHARACTERS:,} that are read.",
            fix="Check that this is the spec and not the data.",
        )
    try:
        return _Composer(yaml.parse(text, Loader=yaml.SafeLoader)).document()
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error) from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        at = Place(before.count("\n") + 1, error.position - (before.rfind("\n") + 1) + 1)
        code_point = error.character if isinstance(error.character, int) else ord(error.character)
        raise at.unreadable(
            f"the character U+{code_point:04X} is not allowed in YAML.",
            "Remove it; it is not visible in most editors.",
        ) from None


_PROBLEMS = {
    "'\\t' that cannot start": ("a tab stands where YAML allows only spaces.", "Indent with spaces."),
    "that cannot start any token": ("a bare text cannot start with this character.", "Put the text into quotes."),
    "mapping values are not allowed": (
        "a colon stands where no key can be.",
        "Put text that holds a colon into quotes, and indent the keys of one table alike.",
    ),
    "could not find expected ':'": ("a key is not followed by a colon.", "Write `name: value`, with a space."),
    "expected <block end>": (
        "this does not belong to what stands above it.",
        "Indent the keys of one table alike, and put nothing after a closing quote or bracket.",
    ),
    "expected ',' or ']'": ("a list is not closed, or lacks a comma.", "Write [a, b], and quote text with brackets."),
    "expected ',' or '}'": (
        "a table is not closed, or lacks a comma.",
        "Write {a: 1, b: 2}, and quote text with braces.",
    ),
    "unexpected end of stream": ("a quote is opened here and never closed.", "Close it."),
}
"""Words of the parser -> what is the matter, and what helps."""


def _not_yaml(error: yaml.MarkedYAMLError) -> SpecError:
    said = str(error.problem or error.context)
    mark = error.problem_mark or error.context_mark
    what, fix = next(
        (words for part, words in _PROBLEMS.items() if part in said),
        (sentence(said), "Check indentation, quotes and brackets on this line and the one above."),
    )
    if "end of stream" in said:
        mark = error.context_mark or mark
    at = Place(mark.line + 1, mark.column + 1) if mark else Place(1, 1)
    return at.unreadable(f"the spec is not valid YAML: {what}", fix)


class _Composer:
    """Turns the parser's events into nodes."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.events = events
        self.anchors: dict[str, Node] = {}
        self.made = 0

    def document(self) -> Node:
        """The only document of the stream."""
        root: Node | None = None
        for event in self.events:
            if isinstance(event, yaml.DocumentStartEvent):
                if root is not None:
                    raise _place(event).unreadable(
                        "a second document starts here.", "Keep one document a file: remove the '---'."
                    )
                root = self.node(next(self.events), 0)
        if root is None:
            raise SpecError("SPEC_FILE", "The spec is empty.", fix="Write at least data, model, outcome and features.")
        return root

    def node(self, event: Any, level: int) -> Node:
        at = _place(event)
        if level > MOST_LEVELS:
            raise at.unreadable(
                f"values are nested more than {MOST_LEVELS} deep.",
                "A spec needs no more than four levels.",
            )
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise at.unreadable(
                    f"*{event.anchor} repeats something that has not been named before it.",
                    f"Name it above with &{event.anchor}, and never inside itself.",
                )
            return self.grown(self.anchors[event.anchor], at)
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!")
            raise at.unreadable(
                f"the tag {tag} asks for an object to be built, which a spec never does.",
                "Remove the tag; put text into quotes.",
            )
        if isinstance(event, yaml.ScalarEvent):
            if any("\ud800" <= character <= "\udfff" for character in event.value):
                raise at.unreadable(
                    "half a character (a lone surrogate, written \\uD8xx to \\uDFxx) stands in a text.",
                    "Write the character itself, or both of its halves as \\UXXXXXXXX.",
                )
            is_bare = event.implicit[0] and not event.style
            value, doubt = plain(event.value) if is_bare else (event.value, "")
            node: Node = Scalar(at, value, event.value, doubt)
        elif isinstance(event, yaml.SequenceStartEvent):
            node = self.items(at, level)
        else:
            node = self.table(at, level)
        if event.anchor:
            self.anchors[event.anchor] = node
        return self.grown(node, at, own=1)

    def grown(self, node: Node, at: Place, own: int | None = None) -> Node:
        """Count the node, with everything in it if it is repeated, and refuse a spec that grows without end."""
        self.made += node.size if own is None else own
        if self.made > MOST_NODES:
            raise at.unreadable(
                f"the spec holds more than {MOST_NODES:,} values once everything repeated with * is filled in.",
                "Repeat less, or write a shorter spec.",
            )
        return node

    def items(self, at: Place, level: int) -> Items:
        found = []
        while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
            found.append(self.node(event, level + 1))
        return Items(at, tuple(found), size=1 + sum(node.size for node in found))

    def table(self, at: Place, level: int) -> Table:
        keys: dict[str, Place] = {}
        values: dict[str, Node] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            name, place = self.key(event, level)
            if name in keys:
                raise place.unreadable(
                    f"the key {name!r} is already in line {keys[name].line}; only one of them could be meant.",
                    "Remove or rename one of them.",
                )
            keys[name], values[name] = place, self.node(next(self.events), level + 1)
        return Table(at, keys, values, size=1 + sum(node.size for node in values.values()))

    def key(self, event: Any, level: int) -> tuple[str, Place]:
        node = self.node(event, level + 1)
        if not isinstance(node, Scalar):
            raise node.at.unreadable(f"a key is {node}, not a name.", "Write `name: value`.")
        if node.written == "<<" and not event.style:
            raise node.at.unreadable(
                "the merge key << is not read.",
                "Repeat a whole value instead: `age: &grown {role: mutable}`, then `years: *grown`.",
            )
        # A column may be called 2026 or 1e3: as a key it can only be a name. Not so for NO, true or nothing.
        if node.value is None or isinstance(node.value, bool) or (node.written.lower() in _SWITCHES and node.doubt):
            raise node.at.unreadable(
                f"the bare key {node.written!r} is not read as a name by every program.",
                f'Write it in quotes: "{node.written}".' if node.written else "Write `name: value`.",
            )
        return node.written, node.at


def _place(event: Any) -> Place:
    return Place(event.start_mark.line + 1, event.start_mark.column + 1)
