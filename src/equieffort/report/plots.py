"""Lines with bands, shares of people, and bars: what is drawn is named where it is."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from markupsafe import Markup

from equieffort.report import svg
from equieffort.report.axes import LABELS, Axes, apart, axis_ends

BELOW = svg.TOP + svg.PLOT + 58
"""Where what shades mean is said."""
LONGEST_LABEL = 150.0


def line_chart(
    name: str, title: str, described: str, lines: Sequence[svg.Line], *, x_label: str, y_label: str,
    equal: tuple[float, float], key: str,
) -> svg.Picture:  # fmt: skip
    """Ratios with bands against a share of people, on a log axis; the range that counts as equal is grey."""
    near = [*equal, 1.0, *(y for line in lines for y in line.y)]
    low, high = axis_ends(near, (v for line in lines for v in (*line.low, *line.high)), is_ratio=True, room=0.05)
    labels = label_room(lines)
    axes = Axes((0.0, 1.0), (low, high), labels, log_y=True)
    top = axes.y(equal[1])
    parts = [svg.zone(svg.LEFT, top, axes.end - svg.LEFT, axes.y(equal[0] or low) - top)]
    parts += [*axes.draw(x_label, y_label, x_share=True, y_share=False)]
    parts.append(svg.rule(svg.LEFT, axes.y(1), axes.end, axes.y(1), "axis", "1 2"))
    for line in lines:
        for run in _runs(line):
            if line.low:
                there = [(axes.x(line.x[k]), axes.y(line.high[k])) for k in run]
                parts.append(
                    svg.band(there + [(axes.x(line.x[k]), axes.y(line.low[k])) for k in reversed(run)], line.look)
                )
    for line in lines:
        for run in _runs(line):
            parts.append(svg.stroke([(axes.x(line.x[k]), axes.y(line.y[k])) for k in run], line.look))
            parts += [svg.mark(axes.x(line.x[k]), axes.y(line.y[k]), line.look) for k in run]
    parts += label_ends(lines, [axes.y(_last(line)) for line in lines], axes.end, labels)
    return framed(name, title, described, lines, labels, key, parts)


def framed(
    name: str, title: str, described: str, lines: Sequence[svg.Line], room: float, key: str, parts: list[Markup]
) -> svg.Picture:
    """The picture with the names of its lines, where there is no room beside them, and what shades mean below."""
    named, at = legend(lines, room)
    told, bottom = svg.key_lines(key, at)
    return svg.frame(name, title, described, svg.WIDTH, bottom - 4, [*parts, *named, *told])


def _last(line: svg.Line) -> float:
    return line.y[_runs(line)[-1][-1]]


def label_room(lines: Sequence[svg.Line], most: int = 9) -> float:
    """The room for names where lines end; one line is named by the title, long names and many lines below."""
    widest = max(svg.width_of(line.label, svg.SMALL) for line in lines) + 12
    return widest if 1 < len(lines) <= most and widest <= LABELS else svg.RIGHT


def label_ends(lines: Sequence[svg.Line], heights: Sequence[float], at: float, room: float) -> list[Markup]:
    """Each name where its line ends."""
    if room <= svg.RIGHT:
        return []
    return [
        svg.text(at + 9, height + 4, line.label, size=svg.SMALL)
        for line, height in zip(lines, apart(heights), strict=True)
    ]


def legend(lines: Sequence[svg.Line], room: float) -> tuple[list[Markup], float]:
    """Names below the picture, where there is no room for them beside the lines; and where they end."""
    parts: list[Markup] = []
    at = BELOW
    for line in lines if len(lines) > 1 and room <= svg.RIGHT else ():
        parts += [svg.stroke([(0, at - 4), (34, at - 4)], line.look), svg.mark(17, at - 4, line.look)]
        names = svg.lines_of(line.label, svg.WIDTH - 50, svg.SMALL)
        parts += [svg.text(42, at + 15 * k, words, size=svg.SMALL) for k, words in enumerate(names)]
        at += 17 + 15 * max(len(names) - 1, 0)
    return parts, at


def _runs(line: svg.Line) -> list[list[int]]:
    """Stretches without a gap."""
    runs: list[list[int]] = [[]]
    for k, value in enumerate(line.y):
        if isfinite(value):
            runs[-1].append(k)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def step_chart(
    name: str, title: str, described: str, lines: Sequence[svg.Line], *, x_label: str, y_label: str, steps: bool,
    equal: tuple[float, float], key: str,
) -> svg.Picture:  # fmt: skip
    """Shares of people at most at a ratio, on a log axis: steps, or lines through quantiles."""
    low, high = axis_ends([equal[0] or 1.0, equal[1], *(x for line in lines for x in line.x)], is_ratio=True, room=0.04)
    axes = Axes((low, high), (0.0, 1.0), log_x=True)
    left = axes.x(equal[0] or low)
    parts = [svg.zone(left, svg.TOP, axes.x(equal[1]) - left, svg.PLOT)]
    parts += axes.draw(x_label, y_label, x_share=False, y_share=True)
    parts.append(svg.rule(axes.x(1.0), svg.TOP, axes.x(1.0), svg.TOP + svg.PLOT, "axis", "1 2"))
    for line in lines:
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        if steps and points:
            points = [(points[0][0], axes.y(0.0)), *points, (axes.end, points[-1][1])]
        parts.append(svg.stroke(points, line.look, steps=steps))
        every = max(1, len(line.x) // 8)
        parts += [svg.mark(axes.x(line.x[k]), axes.y(line.y[k]), line.look) for k in range(0, len(line.x), every)]
    # All of them end at the top, where their names would cover each other.
    return framed(name, title, described, lines, svg.RIGHT, key, parts)


def bar_chart(
    name: str, title: str, described: str, blocks: Sequence[tuple[str, Sequence[svg.Bar]]], *, most: float | None = None
) -> svg.Picture:
    """Horizontal bars in blocks; each bar has its own label and value as text."""
    bars = [bar for _, block in blocks for bar in block]
    top = max([bar.value for bar in bars if isfinite(bar.value)] + [0.0]) if most is None else most
    widest = max([svg.width_of(bar.label, svg.SMALL) for bar in bars] + [40.0]) + 4
    # Long names stand above their bars instead of being cut.
    is_long = widest > LONGEST_LABEL
    label_end = 0.0 if is_long else widest
    value_room = max([svg.width_of(bar.text, svg.SMALL) for bar in bars] + [30.0]) + 10
    full = svg.WIDTH - label_end - 8 - value_room
    parts: list[Markup] = []
    at = 2.0
    for heading, block in blocks:
        for line in svg.lines_of(heading, svg.WIDTH, svg.BOLD):
            parts.append(svg.text(0, at + 12, line, more=' font-weight="600"'))
            at += 16
        at += 4 if heading else 0
        for bar in block:
            if is_long:
                for line in svg.lines_of(bar.label, svg.WIDTH - 8, svg.SMALL):
                    parts.append(svg.text(8, at + 12, line, size=svg.SMALL))
                    at += 15
            else:
                parts.append(svg.text(label_end, at + 12, bar.label, anchor="end", size=svg.SMALL))
            length = full * bar.value / top if isfinite(bar.value) and top > 0 else 0.0
            parts.append(_bar(label_end + 8, at + 2, length, bar.look))
            parts.append(svg.text(label_end + 13 + length, at + 12, bar.text, size=svg.SMALL))
            at += 18
        at += 8
    return svg.frame(name, title, described, svg.WIDTH, at - 4, parts)


def _bar(x: float, y: float, length: float, look: svg.Look) -> Markup:
    # Lighter where the reference is, so that the bars differ in grey too.
    opacity = "" if look.role == "group" else "0.7"
    return svg.shape(
        "rect", class_=f"fill {look.role}", x=x, y=y, width=max(length, 0.8), height=13, fill=look.colour,
        fill_opacity=opacity,
    )  # fmt: skip
