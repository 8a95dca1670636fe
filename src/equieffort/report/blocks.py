"""What a section is made of: paragraphs, lists, tables and charts, all plain data that the page draws."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from equieffort.report.tables import Table
from equieffort.report.words import Cell


@dataclass(frozen=True)
class Text:
    """A paragraph; `look` is how it stands out."""

    words: Cell
    look: Literal["", "note", "note screen", "warning"] = ""


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
    """Something long behind a disclosure; left out of print unless it is open."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Screen:
    """What stands open on the screen and is left out of print, which would grow by pages."""

    blocks: Sequence[Block]


@dataclass(frozen=True)
class Chart:
    """A picture to be drawn, with its table."""

    kind: Literal["line", "step", "bars", "graph", "forest", "curve", "balance", "boxes", "plane"]
    name: str
    title: str
    described: str
    table: Table
    given: dict[str, Any] = field(default_factory=dict)
    is_open: bool = False
    """Whether the table stands open, beside the picture where there is room."""
    remark: str = ""
    """What is drawn, where the title says what to see."""
    is_shared: bool = False
    """Whether the table stands elsewhere in the section."""

    @property
    def is_folded(self) -> bool:
        """Whether the table is behind a disclosure."""
        return not (self.is_open or self.is_shared)


@dataclass(frozen=True)
class Front:
    """The verdict's word and sentence beside its picture."""

    outcome: str
    words: Cell
    basis: str
    said: Sequence[Cell]
    chart: Chart | None
    lists: Sequence[tuple[str, Sequence[Cell]]] = ()
    """Lists that stand below the words, and on narrow pages below the picture."""


@dataclass(frozen=True)
class Tile:
    """A few numbers in a box: a line a group, perhaps with the same in other words, and a remark below."""

    title: str
    lines: Sequence[tuple[Cell, str]]
    remark: Cell = ""
    also: Sequence[Cell] = ()


@dataclass(frozen=True)
class Tiles:
    """Boxes beside each other."""

    tiles: Sequence[Tile]


@dataclass(frozen=True)
class Split:
    """Words or a picture at the left, a picture at the right; the tables behind pictures come below."""

    left: Sequence[Block]
    right: Sequence[Block]
    is_broad: bool = False
    """Whether what is at the right takes the room that it needs."""

    @property
    def charts(self) -> list[Chart]:
        """Its pictures."""
        return [block for block in (*self.left, *self.right) if isinstance(block, Chart)]


Block = Text | Items | Pairs | Source | Folded | Screen | Split | Front | Tiles | Chart | Table


@dataclass(frozen=True)
class Section:
    """A part of the report."""

    name: str
    title: str
    blocks: list[Block]

    def walk(self) -> Iterator[Block]:
        """All blocks, those within others included."""
        return _walk(self.blocks)


def _walk(blocks: Sequence[Block]) -> Iterator[Block]:
    for block in blocks:
        yield block
        if isinstance(block, Split):
            yield from _walk([*block.left, *block.right])
        elif isinstance(block, Folded | Screen):
            yield from _walk(block.blocks)
        elif isinstance(block, Front) and block.chart is not None:
            yield block.chart
