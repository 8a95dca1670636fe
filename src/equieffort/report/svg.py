"""Small pictures drawn by hand: text stays text, colour names a role and is never the only sign.

Each picture is 400 units wide with letters of 13, so that it can be read on a phone without being drawn twice. Colours
are attributes with a class beside them, so that the page can change them in the dark and a copied picture keeps them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

COLOURS = {"group": "#c04a00", "reference": "#0a66a3", "other": "#6e6e6e"}
"""Role of a group -> colour: two that colour-blind readers can tell apart, and grey."""
DASHES = {"group": ("", "9 3 2 3", "12 4", "4 2 1 2"), "reference": ("7 3",), "other": ("2 3", "1 4", "5 5")}
MARKERS = {"group": ("circle", "triangle", "diamond", "cross"), "reference": ("square",), "other": ("ring",)}
WIDTH, LETTER, SMALL = 400.0, 13.0, 12.0
BOLD = 14.5
"""Bold letters of 13 take the room of these."""
LEFT, RIGHT, TOP, PLOT = 58.0, 20.0, 12.0, 196.0


Role = Literal["group", "reference", "other"]


@dataclass(frozen=True)
class Look:
    """How a group is drawn: by its role, and which of those with this role it is."""

    role: Role = "group"
    nth: int = 0

    @property
    def colour(self) -> str:
        """Where no style is around it."""
        return COLOURS[self.role]

    @property
    def dash(self) -> str:
        """How its lines are broken."""
        return DASHES[self.role][self.nth % len(DASHES[self.role])]

    @property
    def marker(self) -> str:
        """The shape of its points."""
        return MARKERS[self.role][self.nth % len(MARKERS[self.role])]


@dataclass(frozen=True)
class Line:
    """A series; NaN leaves a gap."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    look: Look = Look()


@dataclass(frozen=True)
class Bar:
    """One bar with its label, and its value in words."""

    label: str
    value: float
    text: str
    look: Look = Look()


Bars = list[tuple[str, list[Bar]]]
"""Bars in blocks, each below its heading."""


def bars_text(blocks: Bars) -> str:
    """The same for those who cannot see it."""
    return "; ".join(f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in bars) for name, bars in blocks)


# -- text -------------------------------------------------------------------------------------------------------------


def width_of(text: str, size: float = LETTER) -> float:
    """About how wide a text is drawn: rather too wide than too narrow, so that nothing leaves its picture.

    >>> round(width_of("women", 12)), round(width_of("ill", 12))
    (44, 21)
    """
    return sum(map(_width, text)) * size


def _width(letter: str) -> float:
    if unicodedata.east_asian_width(letter) in "WF":
        return 1.05
    return 0.95 if letter in "mwMW%@" else 0.7 if letter.isupper() else 0.58


def lines_of(text: str, room: float, size: float = LETTER) -> list[str]:
    """The text in lines that fit the room there is; a word that is wider goes on in the next line. Nothing is cut.

    >>> lines_of("a very long name indeed", 110)
    ['a very long', 'name indeed']
    >>> lines_of("loan_to_value_ratio", 90)
    ['loan_to_', 'value_ratio']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= room:
            lines[-1] = longer
        else:
            lines += _pieces(word, room, size)
    return lines


def _pieces(word: str, room: float, size: float) -> list[str]:
    """A word in pieces that fit, after an underscore, a dash or a dot where there is one in the second half."""
    pieces = []
    while width_of(word, size) > room and len(word) > 1:
        most = max(k for k in range(1, len(word)) if k == 1 or width_of(word[:k], size) <= room)
        marks = [k for k in range(most // 2, most + 1) if k and word[k - 1] in "_-./"]
        at = max(marks, default=most)
        pieces.append(word[:at])
        word = word[at:]
    return [*pieces, word]


def coordinate(value: float) -> str:
    """A place in a picture, as short as it can be said."""
    return f"{round(value, 1):g}"


def shape(tag: str, **attributes: float | str) -> Markup:
    """An element: numbers are places in the picture, an empty text leaves its attribute out; class_ is class."""
    said = Markup("").join(
        Markup(' {}="{}"').format(
            name.rstrip("_").replace("_", "-"), value if isinstance(value, str) else coordinate(value)
        )
        for name, value in attributes.items()
        if value != ""
    )
    return Markup("<{}{}/>").format(tag, said)


def text(x: float, y: float, words: str, *, anchor: str = "start", size: float = LETTER, more: str = "") -> Markup:
    """Text at a place."""
    return Markup('<text x="{}" y="{}" text-anchor="{}" font-size="{}"{}>{}</text>').format(
        coordinate(x), coordinate(y), anchor, coordinate(size), Markup(more), words
    )


def key_lines(words: str, top: float) -> tuple[list[Markup], float]:
    """What shades and lines mean, below a picture; and where that ends."""
    parts = []
    for line in lines_of(words, WIDTH, SMALL):
        parts.append(text(0, top, line, size=SMALL, more=' class="soft"'))
        top += 15
    return parts, top


# -- shapes -----------------------------------------------------------------------------------------------------------


def rule(x1: float, y1: float, x2: float, y2: float, kind: Literal["grid", "axis"] = "axis", dash: str = "") -> Markup:
    """A line that belongs to the axes."""
    colour = {"grid": "#e2e2e2", "axis": "#777777"}[kind]
    return shape(
        "line", class_=kind, x1=x1, y1=y1, x2=x2, y2=y2, stroke=colour, stroke_width="1", stroke_dasharray=dash
    )


def zone(x: float, y: float, width: float, height: float) -> Markup:
    """What counts as equal."""
    return shape("rect", class_="zone", x=x, y=y, width=width, height=height, fill="#dcdcdc")


def band(points: Sequence[tuple[float, float]], look: Look) -> Markup:
    """A shaded outline."""
    path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    return shape("path", class_=f"band fill {look.role}", d=f"M{path}z", fill=look.colour, fill_opacity="0.16")


def mark(x: float, y: float, look: Look) -> Markup:
    """A point; each role has its own shape."""
    shapes = {
        "square": f"M{coordinate(x - 3)} {coordinate(y - 3)}h6v6h-6z",
        "triangle": f"M{coordinate(x)} {coordinate(y - 4)}l4 7h-8z",
        "diamond": f"M{coordinate(x)} {coordinate(y - 4.5)}l4 4.5l-4 4.5l-4 -4.5z",
        "cross": f"M{coordinate(x - 3.5)} {coordinate(y - 3.5)}l7 7m0 -7l-7 7",
    }
    role, colour = look.role, look.colour
    if (path := shapes.get(look.marker)) is not None:
        return shape("path", class_=f"fill line {role}", d=path, fill=colour, stroke=colour, stroke_width="1.2")
    kind, fill = ("ring line", "#ffffff") if look.marker == "ring" else ("fill", colour)
    return shape("circle", class_=f"{kind} {role}", cx=x, cy=y, r="3.2", fill=fill, stroke=colour, stroke_width="1.4")


def stroke(points: Sequence[tuple[float, float]], look: Look, *, steps: bool = False) -> Markup:
    """A line or steps through points."""
    if len(points) < 2:
        return Markup("")
    (x, y), *rest = points
    path = [f"M{coordinate(x)} {coordinate(y)}"]
    path += [f"H{coordinate(x)}V{coordinate(y)}" if steps else f"L{coordinate(x)} {coordinate(y)}" for x, y in rest]
    return shape(
        "path", class_=f"line {look.role}", d="".join(path), fill="none", stroke=look.colour, stroke_width="2.2",
        stroke_dasharray=look.dash,
    )  # fmt: skip


class Picture(Markup):
    """A drawn picture, and how high it is; wider ones than the page stand in a box that scrolls."""

    height: float
    drawn: Markup
    """The picture itself, without a box around it."""

    @classmethod
    def of(cls, markup: Markup, drawn: Markup, height: float) -> Picture:
        """From what was written."""
        made = cls(markup)
        made.drawn, made.height = drawn, height
        return made


def frame(name: str, title: str, described: str, width: float, height: float, parts: list[Markup]) -> Picture:
    """The picture around its parts, with its title and description for those who cannot see it."""
    is_wide = width > WIDTH
    style = Markup(' style="min-width:{0}px;max-width:{0}px"').format(coordinate(width)) if is_wide else ""
    picture = Markup(
        '<svg id="{0}" viewBox="0 0 {3} {4}" width="{3}" height="{4}" role="img" aria-labelledby="{0}-t {0}-d"{6}>'
        '<title id="{0}-t">{1}</title><desc id="{0}-d">{2}</desc>\n{5}\n</svg>'
    ).format(name, title, described, coordinate(width), coordinate(height), Markup("\n").join(parts), style)
    if not is_wide:
        return Picture.of(picture, picture, height)
    box = Markup('<div class="scroll wide" role="region" tabindex="0" aria-label="{}">{}</div>').format(title, picture)
    return Picture.of(box, picture, height)
