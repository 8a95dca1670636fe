"""What a section is made of: paragraphs, lists, tables and charts, all plain data that the page draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from equieffort.report.words import Cell, Table


@dataclass(frozen=True)
class Text:
    """A paragraph; `look` is how it stands out."""

    words: Cell
    look: Literal["", "lead", "note", "warning"] = ""


@dataclass(frozen=True)
class Items:
    """A list; each item may have a remark below it."""

    items: Sequence[tuple[Cell, Cell]]


@dataclass(frozen=True)
class Pairs:
    """Names and what they stand for."""

    pairs: Sequence[tuple[str, Cell]]


@dataclass(frozen=True)
class Source:
    """Text as it was given, behind a disclosure."""

    title: str
    text: str


@dataclass(frozen=True)
class Folded:
    """A table behind a disclosure."""

    title: str
    table: Table


@dataclass(frozen=True)
class Chart:
    """A picture to be drawn, with its table."""

    kind: Literal["line", "step", "bars", "graph", "forest", "curve"]
    name: str
    title: str
    described: str
    table: Table
    given: dict[str, Any] = field(default_factory=dict)
    is_open: bool = False
    """Whether the table stands open."""


@dataclass(frozen=True)
class Front:
    """The verdict's word and sentence beside its picture."""

    outcome: str
    words: Cell
    basis: str
    said: Sequence[Cell]
    chart: Chart | None


@dataclass(frozen=True)
class Tile:
    """A few numbers in a box: a line a group, and a remark below."""

    title: str
    lines: Sequence[tuple[Cell, str]]
    remark: str = ""


@dataclass(frozen=True)
class Tiles:
    """Boxes beside each other."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Beside:
    """Lists with their headings, beside each other where there is room."""

    lists: Sequence[tuple[str, Sequence[Cell]]]


Block = Text | Items | Pairs | Source | Folded | Beside | Front | Tiles | Chart | Table


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    name: str
    title: str
    blocks: list[Block]
