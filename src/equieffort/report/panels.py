"""Pictures that notebooks show beside those of the report: lines, steps and points over two axes, boxes, and several
pictures below each other. Drawn as the report's are, so that a picture needs no other library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Literal

from markupsafe import Markup

from equieffort.report import svg
from equieffort.report.axes import Axes, axis_ends, part_of, tick_text, ticks
from equieffort.report.plots import framed, label_ends, label_room

BOX = 26.0
PLAIN = svg.Look()
MOST_POINTS = 1500
"""Marks that a picture shows; a sample that is the same each time where there are more."""


@dataclass(frozen=True)
class Series:
    """A line, steps or points with one look; NaN leaves a gap."""

    label: str
    """Empty for marks that belong to another series."""
    x: Sequence[float]
    y: Sequence[float]
    look: svg.Look = PLAIN
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    kind: Literal["line", "steps", "points", "dots"] = "line"

    @property
    def known(self) -> list[int]:
        """Where both numbers are known."""
        return [k for k, (x, y) in enumerate(zip(self.x, self.y, strict=True)) if isfinite(x) and isfinite(y)]

    @property
    def line(self) -> svg.Line:
        """As legends take it."""
        return svg.Line(self.label, self.x, self.y, look=self.look)


@dataclass(frozen=True)
class Plane:
    """Two axes and what is drawn over them."""

    series: Sequence[Series]
    x_label: str
    y_label: str
    x_ends: tuple[float, float] | None = None
    y_ends: tuple[float, float] | None = None
    log_x: bool = False
    log_y: bool = False
    x_share: bool = False
    y_share: bool = False
    flip_x: bool = False
    zone: tuple[float, float] | None = None
    """Heights that count as equal."""
    across: Sequence[float] = ()
    upright: Sequence[float] = ()
    diagonal: bool = False
    notes: Sequence[tuple[float, float, str]] = ()
    """Words at places."""
    key: str = ""
    nothing: str = ""
    """Why, where there is nothing to draw."""


def plane_chart(name: str, title: str, described: str, plane: Plane) -> svg.Picture:
    """One plane with its legend."""
    drawn = [one for one in plane.series if one.known]
    if not drawn:
        return nothing_chart(name, title, described, plane.nothing)
    named = [one for one in drawn if one.label]
    lines = [one.line for one in named]
    room = label_room(lines, 3) if all(one.kind in ("line", "steps") for one in drawn) else svg.RIGHT
    axes = Axes(
        _ends(drawn, "x", plane.x_ends, plane.log_x), _ends(drawn, "y", plane.y_ends, plane.log_y, plane), room,
        log_x=plane.log_x, log_y=plane.log_y, flip_x=plane.flip_x,
    )  # fmt: skip
    parts: list[Markup] = []
    if plane.zone is not None:
        top, bottom = axes.y(plane.zone[1]), axes.y(plane.zone[0])
        parts.append(svg.zone(svg.LEFT, top, axes.end - svg.LEFT, bottom - top))
    parts += axes.draw(plane.x_label, plane.y_label, x_share=plane.x_share, y_share=plane.y_share)
    parts += [svg.rule(svg.LEFT, axes.y(v), axes.end, axes.y(v), "axis", "1 2") for v in plane.across]
    parts += [svg.rule(axes.x(v), svg.TOP, axes.x(v), svg.TOP + svg.PLOT, "axis", "1 2") for v in plane.upright]
    if plane.diagonal:
        ends = [max(axes.x_ends[0], axes.y_ends[0]), min(axes.x_ends[1], axes.y_ends[1])]
        parts.append(svg.rule(axes.x(ends[0]), axes.y(ends[0]), axes.x(ends[1]), axes.y(ends[1]), "axis", "1 2"))
    parts += [one for each in drawn for one in _band(each, axes)]
    parts += [one for each in drawn for one in _marks(each, axes)]
    for x, y, words in plane.notes:
        side = "end" if axes.x(x) > (svg.LEFT + axes.end) / 2 else "start"
        parts.append(
            svg.text(axes.x(x) + (6 if side == "start" else -6), axes.y(y) - 5, words, anchor=side, size=svg.SMALL)
        )
    parts += label_ends(lines, [axes.y(each.y[each.known[-1]]) for each in named], axes.end, room)
    return framed(name, title, described, lines, room, plane.key, parts)


def _ends(
    series: Sequence[Series], of: Literal["x", "y"], asked: tuple[float, float] | None, is_log: bool,
    plane: Plane | None = None,
) -> tuple[float, float]:  # fmt: skip
    if asked is not None:
        return asked
    values = [getattr(one, of)[k] for one in series for k in one.known]
    far = [v for one in series for v in (*one.low, *one.high) if isfinite(v)] if of == "y" else []
    if plane is not None:
        values += [*plane.across, *(plane.zone or ())]
    low, high = axis_ends([v for v in values if v > 0 or not is_log], far, is_ratio=is_log, room=0.05)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _band(one: Series, axes: Axes) -> list[Markup]:
    known = [k for k in one.known if one.low and isfinite(one.low[k]) and isfinite(one.high[k])]
    if not known:
        return []
    if one.kind in ("points", "dots"):
        return [
            svg.shape(
                "line", class_=f"line {one.look.role}", x1=axes.x(one.x[k]), x2=axes.x(one.x[k]), y1=axes.y(one.low[k]),
                y2=axes.y(one.high[k]), stroke=one.look.colour, stroke_width="1.6",
            )
            for k in known
        ]  # fmt: skip

    def edge(values: Sequence[float]) -> list[tuple[float, float]]:
        points: list[tuple[float, float]] = []
        for k in known:
            if one.kind == "steps" and points:
                points.append((axes.x(one.x[k]), points[-1][1]))
            points.append((axes.x(one.x[k]), axes.y(values[k])))
        return points

    return [svg.band(edge(one.high) + edge(one.low)[::-1], one.look)]


def _marks(one: Series, axes: Axes) -> list[Markup]:
    places = [(axes.x(one.x[k]), axes.y(one.y[k])) for k in one.known]
    if one.kind in ("points", "dots"):
        shown = places[:: max(1, -(-len(places) // MOST_POINTS))]
        if one.kind == "points":
            return [svg.mark(x, y, one.look) for x, y in shown]
        dot = {"class_": f"fill {one.look.role}", "r": "1.8", "fill": one.look.colour, "fill_opacity": "0.55"}
        return [svg.shape("circle", cx=x, cy=y, **dot) for x, y in shown]
    every = max(1, len(places) // 8)
    steps = one.kind == "steps"
    return [
        svg.stroke(places, one.look, steps=steps),
        *(svg.mark(x, y, one.look) for x, y in places[every // 2 :: every]),
    ]


# -- boxes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Box:
    """Five numbers of some people: least, quarter, median, three quarters, largest; NaN where there is nobody."""

    label: str
    numbers: Sequence[float]
    text: str
    look: svg.Look = PLAIN


def box_chart(name: str, title: str, described: str, boxes: Sequence[Box], *, x_label: str) -> svg.Picture:
    """A row a box, its name above it."""
    known = [v for box in boxes for v in box.numbers if isfinite(v)]
    if not known:
        return nothing_chart(name, title, described)
    ends = (0.0, max(known) * 1.05 or 1.0)

    def x(value: float) -> float:
        return 4 + part_of(value, ends, False) * (svg.WIDTH - 16)

    parts: list[Markup] = []
    at = 2.0
    for box in boxes:
        room = svg.WIDTH - svg.width_of(box.text, svg.SMALL) - 8
        lines = svg.lines_of(box.label, room, svg.SMALL)
        parts += [svg.text(0, at + 12 + 15 * k, line, size=svg.SMALL) for k, line in enumerate(lines)]
        parts.append(svg.text(svg.WIDTH, at + 12, box.text, anchor="end", size=svg.SMALL, more=' class="soft"'))
        at += 15 * max(len(lines) - 1, 0)
        middle = at + 28
        if all(isfinite(v) for v in box.numbers):
            least, low, median, high, most = (x(v) for v in box.numbers)
            look = {"stroke": box.look.colour, "class_": f"line {box.look.role}"}
            filled = look | {"class_": f"fill {box.look.role}", "fill": box.look.colour, "fill_opacity": "0.35"}
            wide, upright = {"x": low, "width": max(high - low, 1.0)}, {"x1": median, "x2": median}
            parts += [
                svg.shape("line", x1=least, y1=middle, x2=most, y2=middle, stroke_width=1.4, **look),
                svg.shape("rect", y=middle - 8, height=16, stroke_width=1.2, **wide, **filled),
                svg.shape("line", y1=middle - 9, y2=middle + 9, stroke_width=3, **upright, **look),
            ]
        at += BOX + 18
    parts.append(svg.rule(4, at, svg.WIDTH - 12, at))
    for value in ticks(*ends, 5):
        parts.append(svg.rule(x(value), at, x(value), at + 4))
        parts.append(svg.text(x(value), at + 18, tick_text(value), anchor="middle", size=svg.SMALL))
    parts.append(svg.text(svg.WIDTH / 2, at + 36, x_label, anchor="middle", size=svg.SMALL))
    return svg.frame(name, title, described, svg.WIDTH, at + 44, parts)


# -- several, and none ------------------------------------------------------------------------------------------------


def stacked(name: str, title: str, described: str, charts: Sequence[tuple[str, svg.Picture]]) -> svg.Picture:
    """Pictures below each other, each under its heading."""
    parts: list[Markup] = []
    at = 2.0
    for heading, chart in charts:
        for line in svg.lines_of(heading, svg.WIDTH, svg.BOLD):
            parts.append(svg.text(0, at + 12, line, more=' font-weight="600"'))
            at += 17
        parts.append(Markup('<g transform="translate(0 {})">{}</g>').format(svg.coordinate(at + 2), chart.drawn))
        at += chart.height + 16
    return svg.frame(name, title, described, svg.WIDTH, at, parts)


NOTHING = "There is nothing to draw."


def nothing_chart(name: str, title: str, described: str = "", why: str = "") -> svg.Picture:
    """That there is nothing to draw, and why."""
    lines = svg.lines_of(why or NOTHING, svg.WIDTH)
    parts = [svg.text(0, 22 + 17 * k, line) for k, line in enumerate(lines)]
    return svg.frame(name, title, described, svg.WIDTH, 23.0 + 17 * len(lines), parts)
