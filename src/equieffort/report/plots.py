"""Lines with bands, shares of people, and bars: what is drawn is named where it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from markupsafe import Markup

from equieffort.report.axes import LABELS, Axes, apart, finite
from equieffort.report.svg import (
    BOLD,
    LEFT,
    PLOT,
    RIGHT,
    SMALL,
    TOP,
    WIDTH,
    Bar,
    Line,
    Look,
    band,
    coordinate,
    cut,
    frame,
    key_lines,
    lines_of,
    mark,
    rule,
    stroke,
    text,
    width_of,
    zone,
)

BELOW = TOP + PLOT + 58
"""Where what shades mean is said."""
LONGEST_LABEL = 150.0
FARTHEST = 8.0
"""Ends of bands further away than so many times the lines and the zone run out of the picture."""


def line_chart(
    name: str, title: str, described: str, lines: Sequence[Line], *, x_label: str, y_label: str,
    equal: tuple[float, float], key: str,
) -> Markup:  # fmt: skip
    """Ratios with bands against a share of people, on a log axis; the range that counts as equal is grey."""
    near = [v for v in [*finite([y for line in lines for y in line.y]), *equal, 1.0] if v > 0]
    low, high = min(near), max(near)
    far = [v for v in finite([v for line in lines for v in (*line.low, *line.high)]) if v > 0]
    low, high = min([low, *(max(v, low / FARTHEST) for v in far)]), max([high, *(min(v, high * FARTHEST) for v in far)])
    room = (high / low) ** 0.05
    labels = label_room(lines)
    axes = Axes((0.0, 1.0), (low / room, high * room), labels, log_y=True)
    top = axes.y(equal[1])
    parts = [zone(LEFT, top, axes.end - LEFT, axes.y(equal[0] or low / room) - top)]
    parts += [*axes.draw(x_label, y_label, x_share=True, y_share=False)]
    parts.append(rule(LEFT, axes.y(1), axes.end, axes.y(1), "axis", "1 2"))
    for line in lines:
        for run in _runs(line):
            if line.low:
                there = [(axes.x(line.x[k]), axes.y(line.high[k])) for k in run]
                parts.append(band(there + [(axes.x(line.x[k]), axes.y(line.low[k])) for k in reversed(run)], line.look))
    for line in lines:
        for run in _runs(line):
            parts.append(stroke([(axes.x(line.x[k]), axes.y(line.y[k])) for k in run], line.look))
            parts += [mark(axes.x(line.x[k]), axes.y(line.y[k]), line.look) for k in run]
    parts += label_ends(lines, [axes.y(_last(line)) for line in lines], axes.end, labels)
    named, at = legend(lines, labels)
    told, bottom = key_lines(key, at)
    return frame(name, title, described, WIDTH, bottom - 4, [*parts, *named, *told])


def _last(line: Line) -> float:
    return line.y[_runs(line)[-1][-1]]


def label_room(lines: Sequence[Line], most: int = 9) -> float:
    """The room for names where lines end; one line is named by the title, long names and many lines below."""
    widest = max(width_of(line.label, SMALL) for line in lines) + 12
    return widest if 1 < len(lines) <= most and widest <= LABELS else RIGHT


def label_ends(lines: Sequence[Line], heights: Sequence[float], at: float, room: float) -> list[Markup]:
    """Each name where its line ends."""
    if room <= RIGHT:
        return []
    return [
        text(at + 9, height + 4, line.label, size=SMALL) for line, height in zip(lines, apart(heights), strict=True)
    ]


def legend(lines: Sequence[Line], room: float) -> tuple[list[Markup], float]:
    """Names below the picture, where there is no room for them beside the lines; and where they end."""
    parts: list[Markup] = []
    at = BELOW
    for line in lines if len(lines) > 1 and room <= RIGHT else ():
        parts += [stroke([(0, at - 4), (34, at - 4)], line.look), mark(17, at - 4, line.look)]
        parts.append(text(42, at, cut(line.label, WIDTH - 50, SMALL), size=SMALL))
        at += 17
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


def step_chart(
    name: str, title: str, described: str, lines: Sequence[Line], *, x_label: str, y_label: str, steps: bool,
    equal: tuple[float, float], key: str,
) -> Markup:  # fmt: skip
    """Shares of people at most at a ratio, on a log axis: steps, or lines through quantiles."""
    values = [v for v in finite([x for line in lines for x in line.x]) if v > 0]
    low, high = min([*values, equal[0] or 1.0]), max([*values, equal[1]])
    room = (high / low) ** 0.04 if high > low else 1.2
    axes = Axes((low / room, high * room), (0.0, 1.0), log_x=True)
    left = axes.x(equal[0] or low / room)
    parts = [zone(left, TOP, axes.x(equal[1]) - left, PLOT)]
    parts += axes.draw(x_label, y_label, x_share=False, y_share=True)
    parts.append(rule(axes.x(1.0), TOP, axes.x(1.0), TOP + PLOT, "axis", "1 2"))
    for line in lines:
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        if steps and points:
            points = [(points[0][0], axes.y(0.0)), *points, (axes.end, points[-1][1])]
        parts.append(stroke(points, line.look, steps=steps))
        every = max(1, len(line.x) // 8)
        parts += [mark(axes.x(line.x[k]), axes.y(line.y[k]), line.look) for k in range(0, len(line.x), every)]
    # All of them end at the top, where their names would cover each other.
    named, at = legend(lines, RIGHT)
    told, bottom = key_lines(key, at)
    return frame(name, title, described, WIDTH, bottom - 4, [*parts, *named, *told])


def bar_chart(
    name: str, title: str, described: str, blocks: Sequence[tuple[str, Sequence[Bar]]], *, most: float | None = None
) -> Markup:
    """Horizontal bars in blocks; each bar has its own label and value as text."""
    bars = [bar for _, block in blocks for bar in block]
    top = max([bar.value for bar in bars if isfinite(bar.value)] + [0.0]) if most is None else most
    widest = max([width_of(bar.label, SMALL) for bar in bars] + [40.0]) + 4
    # Long names stand above their bars instead of being cut.
    is_long = widest > LONGEST_LABEL
    label_end = 0.0 if is_long else widest
    value_room = max([width_of(bar.text, SMALL) for bar in bars] + [30.0]) + 10
    full = WIDTH - label_end - 8 - value_room
    parts: list[Markup] = []
    at = 2.0
    for heading, block in blocks:
        for line in lines_of(heading, WIDTH, BOLD):
            parts.append(text(0, at + 12, line, more=' font-weight="600"'))
            at += 16
        at += 4 if heading else 0
        for bar in block:
            if is_long:
                parts.append(text(8, at + 12, cut(bar.label, WIDTH - 8, SMALL), size=SMALL))
                at += 15
            else:
                parts.append(text(label_end, at + 12, bar.label, anchor="end", size=SMALL))
            length = full * bar.value / top if isfinite(bar.value) and top > 0 else 0.0
            parts.append(_bar(label_end + 8, at + 2, length, bar.look))
            parts.append(text(label_end + 13 + length, at + 12, bar.text, size=SMALL))
            at += 18
        at += 8
    return frame(name, title, described, WIDTH, at - 4, parts)


def _bar(x: float, y: float, length: float, look: Look) -> Markup:
    # Lighter where the reference is, so that the bars differ in grey too.
    opacity = Markup("") if look.role == "group" else Markup(' fill-opacity="0.7"')
    box = '<rect class="fill {}" x="{}" y="{}" width="{}" height="13" fill="{}"{}/>'
    return Markup(box).format(
        look.role, coordinate(x), coordinate(y), coordinate(max(length, 0.8)), look.colour, opacity
    )
