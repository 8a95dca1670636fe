"""A forest plot: a row a measure and comparison with its interval, over the zone that counts as equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isnan, log

from markupsafe import Markup

from equieffort.report.axes import ticks
from equieffort.report.svg import LETTER, SMALL, WIDTH, coordinate, cut, frame, key_lines, rule, text, width_of, zone
from equieffort.words.shown import ratio_marks

INK, SOFT = "#1b1b1b", "#666666"
ROW, AXIS, ABOVE = 20.0, 28.0, 15.0
LABEL, VALUES = 110.0, 150.0
FARTHEST = 8.0
"""Ends of intervals further away than so many times the estimates and zones are drawn as arrows."""


@dataclass(frozen=True)
class Point:
    """An estimate with its interval; NaN is not drawn, an infinite end is an arrow."""

    label: str
    estimate: float
    low: float
    high: float
    text: str


@dataclass(frozen=True)
class Panel:
    """A measure with its own axis: a ratio is drawn on a log axis."""

    title: str
    remark: str
    points: Sequence[Point]
    neutral: float
    is_ratio: bool = False
    is_share: bool = False
    is_judged: bool = True
    zone: tuple[float, float] | None = None


class Scale:
    """Where values of a panel go across the page."""

    def __init__(self, ends: tuple[float, float], is_ratio: bool, left: float, right: float) -> None:
        self.is_ratio, self.left, self.right = is_ratio, left, right
        self.low, self.high = ends

    def x(self, value: float) -> float:
        """Across, kept within the picture."""
        at = min(max(value, self.low), self.high)
        low, high, at = (log(v) if self.is_ratio else v for v in (self.low, self.high, at))
        return self.left + (at - low) / (high - low) * (self.right - self.left)

    def holds(self, value: float) -> bool:
        """Whether a value is drawn where it is."""
        return self.low <= value <= self.high

    def marks(self) -> list[float]:
        """Round numbers with room for their text."""
        if not self.is_ratio:
            return ticks(self.low, self.high, max(2, int((self.right - self.left) / 45)))
        return ratio_marks(self.low, self.high, 28 / (self.right - self.left))


def ends_of(panels: Sequence[Panel]) -> tuple[float, float]:
    """The range that panels with one axis need."""
    is_ratio = panels[0].is_ratio
    least = 0.0 if is_ratio else -inf
    zones = [v for p in panels for v in (p.zone or ()) if least < v < inf]
    near = [p.neutral for p in panels] + zones
    near += [q.estimate for p in panels for q in p.points if least < q.estimate < inf]
    far = [v for p in panels for q in p.points for v in (q.low, q.high) if least < v < inf]
    low, high = min(near), max(near)
    if is_ratio:
        low, high = (
            min([low, *(max(v, low / FARTHEST) for v in far)]),
            max([high, *(min(v, high * FARTHEST) for v in far)]),
        )
        room = (high / low) ** 0.06 if high > low else 1.2
        return low / room, high * room
    low, high = min([low, *far]), max([high, *far])
    room = (high - low) * 0.06 or 0.05
    if panels[0].is_share:
        return max(0.0, low - room), min(1.0, high + room)
    return low - room, high + room


def forest_chart(
    name: str, title: str, described: str, panels: Sequence[Panel], *, interval: str, note: str = ""
) -> Markup:
    """Panels below each other; ratios share one range, so that they can be compared."""
    ratios = [panel for panel in panels if panel.is_ratio]
    labels = [q.label for panel in panels for q in panel.points]
    widest = max([width_of(label, SMALL) for label in labels], default=0.0) + 8
    # Long names stand above their rows instead of being cut.
    is_long = widest > LABEL
    left = widest if any(labels) and not is_long else 12.0
    texts = [width_of(q.text, SMALL) for panel in panels for q in panel.points]
    right = WIDTH - min(max(texts, default=0.0) + 10, VALUES)
    parts: list[Markup] = []
    at = 4.0
    for panel in panels:
        scale = Scale(ends_of(ratios if panel.is_ratio else [panel]), panel.is_ratio, left, right)
        drawn, at = _panel(panel, scale, at, is_long)
        parts += drawn
    shaded = " Grey: counts as equal." if any(panel.zone for panel in panels) else ""
    told, at = key_lines(f"Line: {interval} interval.{shaded} {note}".strip(), at + 10)
    return frame(name, title, described, WIDTH, at - 6, [*parts, *told])


def _panel(panel: Panel, scale: Scale, at: float, is_long: bool) -> tuple[list[Markup], float]:
    weight = ' font-weight="600"' if panel.is_judged else ""
    room = WIDTH - width_of(panel.remark, SMALL) - 10
    parts = [
        text(0, at + 12, cut(panel.title, room, LETTER * (1.1 if panel.is_judged else 1)), more=weight),
        text(WIDTH, at + 12, panel.remark, anchor="end", size=SMALL, more=' class="soft"'),
    ]
    top = at + 19
    row = ROW + ABOVE if is_long else ROW
    bottom = top + row * len(panel.points)
    if panel.zone is not None:
        low, high = (scale.x(end) for end in panel.zone)
        parts.append(zone(low, top, high - low, bottom - top))
    neutral = scale.x(panel.neutral)
    parts.append(rule(neutral, top - 2, neutral, bottom + 3, "axis", "1 2"))
    for k, point in enumerate(panel.points):
        y = top + row * (k + 1) - ROW / 2
        if point.label and is_long:
            parts.append(text(scale.left, y - 11, cut(point.label, WIDTH - scale.left, SMALL), size=SMALL))
        elif point.label:
            parts.append(text(scale.left - 8, y + 4, point.label, anchor="end", size=SMALL))
        parts += _row(point, scale, y, panel.is_judged)
    parts.append(rule(scale.left, bottom, scale.right, bottom))
    for value in scale.marks():
        x = scale.x(value)
        parts.append(rule(x, bottom, x, bottom + 3))
        parts.append(text(x, bottom + 14, _mark_text(value, panel), anchor="middle", size=11))
    return parts, bottom + AXIS


def _mark_text(value: float, panel: Panel) -> str:
    """Ratios as they are, shares and their differences in hundredths."""
    return f"{value:.10g}" if panel.is_ratio else f"{round(value * 100, 6):g}"


def _row(point: Point, scale: Scale, y: float, is_judged: bool) -> list[Markup]:
    parts = [text(WIDTH, y + 4, cut(point.text, VALUES, SMALL), anchor="end", size=SMALL)]
    if isnan(point.estimate):
        return parts
    colour = INK if is_judged else SOFT
    drawn: list[Markup] = []
    if not (isnan(point.low) or isnan(point.high)):
        drawn.append(_line(scale.x(point.low), y, scale.x(point.high), y, colour, ' stroke-width="2"'))
        drawn += [
            _end(scale.x(end), y, side if not scale.holds(end) else 0, colour)
            for end, side in ((point.low, -1), (point.high, 1))
        ]
    if scale.holds(point.estimate):
        drawn.append(_dot(scale.x(point.estimate), y, colour, is_judged))
    kind = "row judged" if is_judged else "row"
    return [*parts, Markup('<g class="{}">{}</g>').format(kind, Markup("").join(drawn))]


def _dot(x: float, y: float, colour: str, is_judged: bool) -> Markup:
    if is_judged:
        box = '<rect class="estimate" x="{}" y="{}" width="8" height="8" fill="{}"/>'
        return Markup(box).format(coordinate(x - 4), coordinate(y - 4), colour)
    ring = '<circle class="estimate" cx="{}" cy="{}" r="4" fill="#fff" stroke="{}" stroke-width="1.8"/>'
    return Markup(ring).format(coordinate(x), coordinate(y), colour)


def _end(x: float, y: float, arrow: int, colour: str) -> Markup:
    """A short stroke where an interval ends, an arrow where it goes on."""
    if not arrow:
        return _line(x, y - 4, x, y + 4, colour, ' stroke-width="1.6"')
    tip = f"M{coordinate(x)} {coordinate(y)}l{coordinate(-6 * arrow)} -4v8z"
    return Markup('<path class="arrow" d="{}" fill="{}"/>').format(tip, colour)


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, more: str = "") -> Markup:
    return Markup('<line x1="{}" y1="{}" x2="{}" y2="{}" stroke="{}"{}/>').format(
        coordinate(x1), coordinate(y1), coordinate(x2), coordinate(y2), colour, Markup(more)
    )
