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
LEFT, RIGHT, TOP, PLOT = 58.0, 18.0, 12.0, 196.0


@dataclass(frozen=True)
class Look:
    """How a group is drawn: by its role, and which of those with this role it is."""

    role: Literal["group", "reference", "other"] = "group"
    nth: int = 0

    @property
    def colour(self) -> str:
        """Where no style is around it."""
        return COLOURS[self.role]

    @property
    def dash(self) -> str:
        """How its lines are broken."""
        found = DASHES[self.role]
        return found[self.nth % len(found)]

    @property
    def marker(self) -> str:
        """The shape of its points."""
        found = MARKERS[self.role]
        return found[self.nth % len(found)]


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


# -- text -------------------------------------------------------------------------------------------------------------


def width_of(text: str, size: float = LETTER) -> float:
    """About how wide a text is drawn."""
    units = sum(1.05 if unicodedata.east_asian_width(c) in "WF" else 0.56 for c in text)
    return units * size


def cut(text: str, room: float, size: float = LETTER) -> str:
    """The text, shortened to the room there is.

    >>> cut("a very long name indeed", 80)
    'a very lo…'
    """
    text = " ".join(text.split())
    if width_of(text, size) <= room:
        return text
    while text and width_of(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def lines_of(text: str, room: float, size: float = LETTER, most: int = 3) -> list[str]:
    """The text in lines that fit the room there is; what is left after the last is cut.

    >>> lines_of("a very long name indeed", 110)
    ['a very long', 'name indeed']
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and (len(lines) == most or width_of(longer, size) <= room):
            lines[-1] = longer
        else:
            lines.append(word)
    return [cut(line, room, size) for line in lines]


def coordinate(value: float) -> str:
    """A place in a picture, as short as it can be said."""
    return f"{round(value, 1):g}"


def text(x: float, y: float, words: str, *, anchor: str = "start", size: float = LETTER, more: str = "") -> Markup:
    """Text at a place."""
    return Markup('<text x="{}" y="{}" text-anchor="{}" font-size="{}"{}>{}</text>').format(
        coordinate(x), coordinate(y), anchor, coordinate(size), Markup(more), words
    )


def key_lines(words: str, top: float) -> tuple[list[Markup], float]:
    """What shades and lines mean, below a picture; and where that ends."""
    parts = []
    for line in lines_of(words, WIDTH, SMALL, 4):
        parts.append(text(0, top, line, size=SMALL, more=' class="soft"'))
        top += 15
    return parts, top


# -- shapes -----------------------------------------------------------------------------------------------------------


def rule(x1: float, y1: float, x2: float, y2: float, kind: str = "axis", dash: str = "", width: float = 1) -> Markup:
    """A line that belongs to the axes: `grid`, `axis` or `ink`."""
    colour = {"grid": "#e2e2e2", "axis": "#777777"}.get(kind, "#1b1b1b")
    dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else ""
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"{}/>').format(
        kind, coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), colour, coordinate(width), dashed
    )


def zone(x: float, y: float, width: float, height: float) -> Markup:
    """What counts as equal."""
    return Markup('<rect class="zone" x="{}" y="{}" width="{}" height="{}" fill="#dcdcdc"/>').format(
        coordinate(x), coordinate(y), coordinate(width), coordinate(height)
    )


def band(points: Sequence[tuple[float, float]], look: Look) -> Markup:
    """A shaded outline."""
    path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in points)
    return Markup('<path class="band fill {}" d="M{}z" fill="{}" fill-opacity="0.16"/>').format(
        look.role, path, look.colour
    )


def mark(x: float, y: float, look: Look) -> Markup:
    """A point; each role has its own shape."""
    shapes = {
        "square": f"M{coordinate(x - 3)} {coordinate(y - 3)}h6v6h-6z",
        "triangle": f"M{coordinate(x)} {coordinate(y - 4)}l4 7h-8z",
        "diamond": f"M{coordinate(x)} {coordinate(y - 4.5)}l4 4.5l-4 4.5l-4 -4.5z",
        "cross": f"M{coordinate(x - 3.5)} {coordinate(y - 3.5)}l7 7m0 -7l-7 7",
    }
    if (shape := shapes.get(look.marker)) is None:
        hollow = look.marker == "ring"
        drawn = '<circle class="{} {}" cx="{}" cy="{}" r="3.2" fill="{}" stroke="{}" stroke-width="1.4"/>'
        kind = "ring line" if hollow else "fill"
        fill = "#ffffff" if hollow else look.colour
        return Markup(drawn).format(kind, look.role, coordinate(x), coordinate(y), fill, look.colour)
    return Markup('<path class="fill line {}" d="{}" fill="{}" stroke="{}" stroke-width="1.2"/>').format(
        look.role, shape, look.colour, look.colour
    )


def stroke(points: Sequence[tuple[float, float]], look: Look, *, steps: bool = False) -> Markup:
    """A line or steps through points."""
    if len(points) < 2:
        return Markup("")
    (x, y), *rest = points
    path = [f"M{coordinate(x)} {coordinate(y)}"]
    path += [f"H{coordinate(x)}V{coordinate(y)}" if steps else f"L{coordinate(x)} {coordinate(y)}" for x, y in rest]
    dashed = Markup(' stroke-dasharray="{}"').format(look.dash) if look.dash else ""
    return Markup('<path class="line {}" d="{}" fill="none" stroke="{}" stroke-width="2.2"{}/>').format(
        look.role, "".join(path), look.colour, dashed
    )


def frame(name: str, title: str, described: str, width: float, height: float, parts: list[Markup]) -> Markup:
    """The picture around its parts, with its title and description for those who cannot see it."""
    is_wide = width > WIDTH
    style = Markup(' style="min-width:{0}px;max-width:{0}px"').format(coordinate(width)) if is_wide else ""
    picture = Markup(
        '<svg id="{0}" viewBox="0 0 {3} {4}" width="{3}" height="{4}" role="img" aria-labelledby="{0}-t {0}-d"{6}>'
        '<title id="{0}-t">{1}</title><desc id="{0}-d">{2}</desc>\n{5}\n</svg>'
    ).format(name, title, described, coordinate(width), coordinate(height), Markup("\n").join(parts), style)
    if not is_wide:
        return picture
    return Markup('<div class="scroll wide" role="region" tabindex="0" aria-label="{}">{}</div>').format(title, picture)
