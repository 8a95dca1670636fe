"""A forest plot: a row a measure and comparison with its interval, over the zone that counts as equal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from markupsafe import Markup

from equieffort.report import svg
from equieffort.report.axes import axis_ends, part_of, ticks
from equieffort.words.shown import ratio_marks

INK, SOFT = "#1b1b1b", "#666666"
ROW, AXIS, ABOVE = 20.0, 28.0, 15.0
LABEL = 110.0


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


@dataclass(frozen=True)
class Scale:
    """Where values of a panel go across the page."""

    ends: tuple[float, float]
    is_ratio: bool
    left: float
    right: float

    def x(self, value: float) -> float:
        """Across, kept within the picture."""
        return self.left + part_of(value, self.ends, self.is_ratio) * (self.right - self.left)

    def holds(self, value: float) -> bool:
        """Whether a value is drawn where it is."""
        return self.ends[0] <= value <= self.ends[1]

    def marks(self) -> list[float]:
        """Round numbers with room for their text."""
        if not self.is_ratio:
            return ticks(*self.ends, max(2, int((self.right - self.left) / 45)))
        return ratio_marks(*self.ends, 28 / (self.right - self.left))


def ends_of(panels: Sequence[Panel]) -> tuple[float, float]:
    """The range that panels with one axis need; ends of intervals beyond it are drawn as arrows."""
    points = [q for p in panels for q in p.points]
    near = [v for p in panels for v in (p.neutral, *(p.zone or ()))] + [q.estimate for q in points]
    far = [v for q in points for v in (q.low, q.high)]
    low, high = axis_ends(near, far, is_ratio=panels[0].is_ratio)
    return (max(0.0, low), min(1.0, high)) if panels[0].is_share else (low, high)


def forest_chart(
    name: str, title: str, described: str, panels: Sequence[Panel], *, interval: str, note: str = ""
) -> svg.Picture:
    """Panels below each other; ratios share one range, so that they can be compared."""
    ratios = [panel for panel in panels if panel.is_ratio]
    labels = [q.label for panel in panels for q in panel.points]
    widest = max([svg.width_of(label, svg.SMALL) for label in labels], default=0.0) + 8
    # Long names stand above their rows instead of being cut.
    is_long = widest > LABEL
    left = widest if any(labels) and not is_long else 12.0
    texts = [svg.width_of(q.text, svg.SMALL) for panel in panels for q in panel.points]
    right = svg.WIDTH - max(texts, default=0.0) - 10
    parts: list[Markup] = []
    at = 4.0
    for panel in panels:
        scale = Scale(ends_of(ratios if panel.is_ratio else [panel]), panel.is_ratio, left, right)
        drawn, at = _panel(panel, scale, at, is_long)
        parts += drawn
    shaded = " Grey: counts as equal." if any(panel.zone for panel in panels) else ""
    told, at = svg.key_lines(f"Line: {interval} interval.{shaded} {note}".strip(), at + 10)
    return svg.frame(name, title, described, svg.WIDTH, at - 6, [*parts, *told])


def _panel(panel: Panel, scale: Scale, at: float, is_long: bool) -> tuple[list[Markup], float]:
    weight = ' font-weight="600"' if panel.is_judged else ""
    room = svg.WIDTH - svg.width_of(panel.remark, svg.SMALL) - 10
    heading = svg.lines_of(panel.title, room, svg.LETTER * (1.1 if panel.is_judged else 1))
    parts = [
        *(svg.text(0, at + 12 + 16 * k, line, more=weight) for k, line in enumerate(heading)),
        svg.text(svg.WIDTH, at + 12, panel.remark, anchor="end", size=svg.SMALL, more=' class="soft"'),
    ]
    top = at + 19 + 16 * (len(heading) - 1)
    names = [svg.lines_of(q.label, svg.WIDTH - scale.left, svg.SMALL) if is_long else [] for q in panel.points]
    rows = [ROW + ABOVE * len(lines) for lines in names]
    bottom = top + sum(rows)
    if panel.zone is not None:
        low, high = (scale.x(end) for end in panel.zone)
        parts.append(svg.zone(low, top, high - low, bottom - top))
    neutral = scale.x(panel.neutral)
    parts.append(svg.rule(neutral, top - 2, neutral, bottom + 3, "axis", "1 2"))
    for k, point in enumerate(panel.points):
        y = top + sum(rows[: k + 1]) - ROW / 2
        for n, line in enumerate(reversed(names[k])):
            parts.append(svg.text(scale.left, y - 11 - ABOVE * n, line, size=svg.SMALL))
        if point.label and not is_long:
            parts.append(svg.text(scale.left - 8, y + 4, point.label, anchor="end", size=svg.SMALL))
        parts += _row(point, scale, y, panel.is_judged)
    parts.append(svg.rule(scale.left, bottom, scale.right, bottom))
    for value in scale.marks():
        x = scale.x(value)
        parts.append(svg.rule(x, bottom, x, bottom + 3))
        parts.append(svg.text(x, bottom + 14, _mark_text(value, panel), anchor="middle", size=11))
    return parts, bottom + AXIS


def _mark_text(value: float, panel: Panel) -> str:
    """Ratios as they are, shares and their differences in hundredths."""
    return f"{value:.10g}" if panel.is_ratio else f"{round(value * 100, 6):g}"


def _row(point: Point, scale: Scale, y: float, is_judged: bool) -> list[Markup]:
    parts = [svg.text(svg.WIDTH, y + 4, point.text, anchor="end", size=svg.SMALL)]
    if isnan(point.estimate):
        return parts
    colour = INK if is_judged else SOFT
    drawn: list[Markup] = []
    if not (isnan(point.low) or isnan(point.high)):
        low, high = scale.x(point.low), scale.x(point.high)
        drawn.append(svg.shape("line", x1=low, y1=y, x2=high, y2=y, stroke=colour, stroke_width=2))
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
        return svg.shape("rect", class_="estimate", x=x - 4, y=y - 4, width=8, height=8, fill=colour)
    return svg.shape("circle", class_="estimate", cx=x, cy=y, r=4, fill="#fff", stroke=colour, stroke_width=1.8)


def _end(x: float, y: float, arrow: int, colour: str) -> Markup:
    """A short stroke where an interval ends, an arrow where it goes on."""
    if not arrow:
        return svg.shape("line", x1=x, y1=y - 4, x2=x, y2=y + 4, stroke=colour, stroke_width=1.6)
    tip = f"M{svg.coordinate(x)} {svg.coordinate(y)}l{svg.coordinate(-6 * arrow)} -4v8z"
    return svg.shape("path", class_="arrow", d=tip, fill=colour)
