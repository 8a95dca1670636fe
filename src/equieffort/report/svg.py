"""Small pictures drawn by hand: lines with bands, steps, bars. Text stays text; colour is never the only sign.

Each picture is 400 units wide with letters of 13, so that it can be read on a phone without being drawn twice.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

from markupsafe import Markup

COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
DASHES = ("", "7 3", "2 3", "9 3 2 3", "12 4", "4 2 1 2 1 2")
MARKERS = ("circle", "square", "triangle", "diamond", "cross")
WIDTH, LETTER = 400.0, 13.0
BOLD = 14.5
"""Bold letters of 13 take the room of these."""
LEFT, RIGHT, TOP, PLOT = 60.0, 24.0, 12.0, 210.0


@dataclass(frozen=True)
class Line:
    """A series; NaN leaves a gap."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    style: int = 0


@dataclass(frozen=True)
class Bar:
    """One bar with its label, and its value in words."""

    label: str
    value: float
    text: str
    style: int = 0


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


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Round numbers from low to high.

    >>> ticks(0, 1.1)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** floor(log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def coordinate(value: float) -> str:
    """A place in a picture, as short as it can be said."""
    return f"{round(value, 1):g}"


def text(x: float, y: float, words: str, *, anchor: str = "start", size: float = LETTER, more: str = "") -> Markup:
    """Text at a place."""
    return Markup('<text x="{}" y="{}" text-anchor="{}" font-size="{}"{}>{}</text>').format(
        coordinate(x), coordinate(y), anchor, coordinate(size), Markup(more), words
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


class Axes:
    """Where numbers go on the page."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], right: float = RIGHT) -> None:
        self.x_ends, self.y_ends, self.end = x, y, WIDTH - right

    def x(self, value: float) -> float:
        """Across."""
        low, high = self.x_ends
        return LEFT + (value - low) / (high - low) * (self.end - LEFT)

    def y(self, value: float) -> float:
        """Down."""
        low, high = self.y_ends
        return TOP + PLOT - (min(max(value, low), high) - low) / (high - low) * PLOT

    def draw(self, x_label: str, y_label: str, *, x_share: bool, y_share: bool) -> list[Markup]:
        """Grid, numbers and the names of both axes."""
        parts = []
        for value in ticks(*self.y_ends):
            at = self.y(value)
            parts.append(_rule(LEFT, at, self.end, at, "#e2e2e2"))
            parts.append(text(LEFT - 6, at + 4, _tick(value, y_share), anchor="end", size=12))
        for value in ticks(*self.x_ends):
            at = self.x(value)
            parts.append(_rule(at, TOP + PLOT, at, TOP + PLOT + 4, "#555"))
            parts.append(text(at, TOP + PLOT + 18, _tick(value, x_share), anchor="middle", size=12))
        parts.append(_rule(LEFT, TOP + PLOT, self.end, TOP + PLOT, "#555"))
        parts.append(text((LEFT + self.end) / 2, TOP + PLOT + 37, x_label, anchor="middle"))
        turned = f' transform="rotate(-90 12 {coordinate(TOP + PLOT / 2)})"'
        parts.append(text(12, TOP + PLOT / 2, y_label, anchor="middle", more=turned))
        return parts


def _tick(value: float, is_share: bool) -> str:
    return f"{value * 100:g}%" if is_share else f"{value:,g}"


def _rule(x1: float, y1: float, x2: float, y2: float, colour: str, dash: str = "", width: float = 1) -> Markup:
    dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else ""
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}" stroke-width="{}"{}/>').format(
        coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), colour, coordinate(width), dashed
    )


def _mark(x: float, y: float, style: int) -> Markup:
    colour, kind = COLOURS[style % len(COLOURS)], MARKERS[style % len(MARKERS)]
    shapes = {
        "square": f"M{coordinate(x - 3)} {coordinate(y - 3)}h6v6h-6z",
        "triangle": f"M{coordinate(x)} {coordinate(y - 4)}l4 7h-8z",
        "diamond": f"M{coordinate(x)} {coordinate(y - 4.5)}l4 4.5l-4 4.5l-4 -4.5z",
        "cross": f"M{coordinate(x - 3.5)} {coordinate(y - 3.5)}l7 7m0 -7l-7 7",
    }
    if kind == "circle":
        return Markup('<circle cx="{}" cy="{}" r="3.2" fill="{}"/>').format(coordinate(x), coordinate(y), colour)
    return Markup('<path d="{}" fill="{}" stroke="{}" stroke-width="1.2"/>').format(shapes[kind], colour, colour)


def stroke(points: Sequence[tuple[float, float]], style: int, *, steps: bool = False) -> Markup:
    """A line or steps through points."""
    if len(points) < 2:
        return Markup("")
    (x, y), *rest = points
    path = [f"M{coordinate(x)} {coordinate(y)}"]
    path += [f"H{coordinate(x)}V{coordinate(y)}" if steps else f"L{coordinate(x)} {coordinate(y)}" for x, y in rest]
    dash = DASHES[style % len(DASHES)]
    dashed = Markup(' stroke-dasharray="{}"').format(dash) if dash else ""
    return Markup('<path d="{}" fill="none" stroke="{}" stroke-width="2.2"{}/>').format(
        "".join(path), COLOURS[style % len(COLOURS)], dashed
    )


def _legend(
    lines: Sequence[Line], top: float, *, marks: bool, note: str = "", band: str = ""
) -> tuple[list[Markup], float]:
    parts, at = [], top
    for line in lines:
        parts.append(stroke([(LEFT, at), (LEFT + 34, at)], line.style))
        if marks:
            parts.append(_mark(LEFT + 17, at, line.style))
        parts.append(text(LEFT + 42, at + 4.5, cut(line.label, WIDTH - LEFT - 50)))
        at += 20
    for words, fills in ((note, ("#d9d9d9",)), (band, tuple(COLOURS[line.style % len(COLOURS)] for line in lines[:4]))):
        if not words:
            continue
        for k, fill in enumerate(fills):
            wide = 34 / len(fills)
            box = '<rect x="{}" y="{}" width="{}" height="11" fill="{}" fill-opacity="{}"/>'
            opacity = "1" if words == note else "0.16"
            parts.append(
                Markup(box).format(coordinate(LEFT + k * wide), coordinate(at - 6), coordinate(wide), fill, opacity)
            )
        parts.append(text(LEFT + 42, at + 4.5, cut(words, WIDTH - LEFT - 50)))
        at += 20
    return parts, at


def _runs(line: Line) -> list[list[int]]:
    """Stretches without a gap."""
    runs: list[list[int]] = [[]]
    for k, value in enumerate(line.y):
        if isfinite(value):
            runs[-1].append(k)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def line_chart(
    name: str, title: str, described: str, lines: Sequence[Line], *, x_label: str, y_label: str,
    equal: tuple[float, float], equal_label: str, band_label: str = "",
) -> Markup:  # fmt: skip
    """Lines with bands against a share of people; the range that counts as equal is grey."""
    values = [v for line in lines for v in (*line.y, *line.low, *line.high) if isfinite(v)] or [1.0]
    low, high = min(*values, *equal), max(*values, *equal)
    room = (high - low) * 0.06 or 0.1
    axes = Axes((0.0, 1.0), (max(0.0, low - room), high + room))
    parts = [_equal_rows(axes, equal), *axes.draw(x_label, y_label, x_share=True, y_share=False)]
    parts.append(_rule(LEFT, axes.y(1), WIDTH - RIGHT, axes.y(1), "#555", "1 2"))
    for line in lines:
        for run in _runs(line):
            if line.low:
                there = [f"{coordinate(axes.x(line.x[k]))} {coordinate(axes.y(line.high[k]))}" for k in run]
                back = [f"{coordinate(axes.x(line.x[k]))} {coordinate(axes.y(line.low[k]))}" for k in reversed(run)]
                parts.append(
                    Markup('<path d="M{}z" fill="{}" fill-opacity="0.16"/>').format(
                        "L".join(there + back), COLOURS[line.style % len(COLOURS)]
                    )
                )
    for line in lines:
        for run in _runs(line):
            parts.append(stroke([(axes.x(line.x[k]), axes.y(line.y[k])) for k in run], line.style))
            parts += [_mark(axes.x(line.x[k]), axes.y(line.y[k]), line.style) for k in run]
    legend, bottom = _legend(lines, TOP + PLOT + 62, marks=True, note=equal_label, band=band_label)
    return frame(name, title, described, WIDTH, bottom, [*parts, *legend])


def _equal_rows(axes: Axes, equal: tuple[float, float]) -> Markup:
    top, bottom = axes.y(equal[1]), axes.y(equal[0])
    return Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="#d9d9d9" fill-opacity="0.6"/>').format(
        LEFT, coordinate(top), coordinate(WIDTH - LEFT - RIGHT), coordinate(bottom - top)
    )


def step_chart(
    name: str, title: str, described: str, lines: Sequence[Line], *, x_label: str, y_label: str, steps: bool,
    equal: tuple[float, float] | None = None, equal_label: str = "",
) -> Markup:  # fmt: skip
    """Shares of people at most at a value: steps, or lines through quantiles."""
    values = [v for line in lines for v in line.x if isfinite(v)] or [0.0, 1.0]
    low, high = (0.0, max(values)) if equal is None else (min(*values, equal[0]), max(*values, equal[1]))
    if not high > low:
        high = low + 1
    if equal is not None:
        low = max(0.0, low - (high - low) * 0.04)
    axes = Axes((low, high + (high - low) * 0.03), (0.0, 1.0))
    parts = []
    if equal is not None:
        left, right = axes.x(max(equal[0], low)), axes.x(equal[1])
        parts.append(
            Markup('<rect x="{}" y="{}" width="{}" height="{}" fill="#d9d9d9" fill-opacity="0.6"/>').format(
                coordinate(left), TOP, coordinate(right - left), PLOT
            )
        )
    parts += axes.draw(x_label, y_label, x_share=False, y_share=True)
    for line in lines:
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        if steps and points:
            points = [(points[0][0], axes.y(0.0)), *points, (axes.x(axes.x_ends[1]), points[-1][1])]
        parts.append(stroke(points, line.style, steps=steps))
        every = max(1, len(line.x) // 8)
        parts += [_mark(axes.x(line.x[k]), axes.y(line.y[k]), line.style) for k in range(0, len(line.x), every)]
    legend, bottom = _legend(lines, TOP + PLOT + 62, marks=True, note=equal_label)
    return frame(name, title, described, WIDTH, bottom, [*parts, *legend])


def bar_chart(
    name: str, title: str, described: str, blocks: Sequence[tuple[str, Sequence[Bar]]], *, most: float | None = None
) -> Markup:
    """Horizontal bars in blocks; each bar has its own label and value as text."""
    bars = [bar for _, block in blocks for bar in block]
    top = max([bar.value for bar in bars if isfinite(bar.value)] + [0.0]) if most is None else most
    label_room = min(max([width_of(bar.label, 12) for bar in bars] + [40.0]) + 4, 150.0)
    value_room = max([width_of(bar.text, 12) for bar in bars] + [30.0]) + 10
    full = WIDTH - label_room - 8 - value_room
    parts: list[Markup] = []
    at = 4.0
    for heading, block in blocks:
        for line in lines_of(heading, WIDTH, BOLD):
            parts.append(text(0, at + 12, line, more=' font-weight="600"'))
            at += 16
        at += 4 if heading else 0
        for bar in block:
            parts.append(text(label_room, at + 12.5, cut(bar.label, label_room, 12), anchor="end", size=12))
            length = full * bar.value / top if isfinite(bar.value) and top > 0 else 0.0
            parts.append(_bar(label_room + 8, at + 2, length, bar.style))
            parts.append(text(label_room + 12 + length, at + 12.5, bar.text, size=12))
            at += 19
        at += 8
    return frame(name, title, described, WIDTH, at, parts)


def _bar(x: float, y: float, length: float, style: int) -> Markup:
    colour = COLOURS[style % len(COLOURS)]
    return Markup('<rect x="{}" y="{}" width="{}" height="14" fill="{}" stroke="#333" stroke-width="0.6"/>').format(
        coordinate(x), coordinate(y), coordinate(max(length, 0.8)), colour
    )
