"""The picture of an effort curve: steps with their bands, and each name where its curve ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
from markupsafe import Markup

from equieffort.frames import Floats
from equieffort.report.svg import (
    COLOURS,
    PLOT,
    TOP,
    WIDTH,
    Axes,
    Line,
    coordinate,
    cut,
    frame,
    lines_of,
    stroke,
    text,
    width_of,
)

LABELS, APART, SMALL = 110.0, 15.0, 12.0
MOST_STEPS = 240


def steps_of(label: str, frame: dict[str, Floats], style: int) -> Line:
    """A curve with its band, thinned where it has more steps than a picture can show."""
    n = len(frame["effort"])
    keep = np.unique(np.linspace(0, n - 1, min(n, MOST_STEPS)).round().astype(int))
    x, y, low, high = (frame[key][keep].tolist() for key in ("effort", "share", "low", "high"))
    return Line(label, x, y, low, high, style)


def coarse_steps(label: str, efforts: Floats, half: float, style: int) -> Line:
    """The curve through tenths of the people, so that no single person shows; infinite efforts stay out of sight."""
    at = np.arange(0, 11) / 10
    values = np.quantile(efforts, at, method="inverted_cdf")
    finite = np.isfinite(values)
    x, y = values[finite], at[finite]
    return Line(
        label, x.tolist(), y.tolist(), np.clip(y - half, 0, 1).tolist(), np.clip(y + half, 0, 1).tolist(), style
    )


def curve_chart(
    name: str, title: str, described: str, lines: Sequence[Line], *, x_label: str, y_label: str, steps: bool,
    band_label: str,
) -> Markup:  # fmt: skip
    """Shares of people at most at an effort, each with its band; they end where their labels are."""
    most = max([x for line in lines for x in line.x if isfinite(x)], default=0.0) or 1.0
    room = min(max(width_of(line.label, SMALL) for line in lines) + 12, LABELS)
    axes = Axes((0.0, most * 1.02), (0.0, 1.0), room)
    parts = axes.draw(x_label, y_label, x_share=False, y_share=True)
    for line in lines:
        parts.append(_band(axes, line, steps))
    for line in lines:
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        if points:
            parts.append(stroke([*points, (axes.end, points[-1][1])], line.style, steps=steps))
    ends = [(axes.y(line.y[-1]) if line.y else axes.y(0.0)) for line in lines]
    for line, at in zip(lines, _apart(ends), strict=True):
        colour = COLOURS[line.style % len(COLOURS)]
        dot = '<circle cx="{}" cy="{}" r="3.5" fill="{}"/>'
        if line.y:
            parts.append(Markup(dot).format(coordinate(axes.end), coordinate(axes.y(line.y[-1])), colour))
        parts.append(text(axes.end + 8, at + 4, cut(line.label, room - 10, SMALL), size=SMALL))
    bottom = TOP + PLOT + 58
    for words in lines_of(band_label, WIDTH, SMALL):
        parts.append(text(0, bottom, words, size=SMALL))
        bottom += 15
    return frame(name, title, described, WIDTH, bottom - 4, parts)


def _band(axes: Axes, line: Line, steps: bool) -> Markup:
    if not line.x:
        return Markup("")
    xs = [*(axes.x(x) for x in line.x), axes.end]

    def edge(values: Sequence[float]) -> list[tuple[float, float]]:
        ys = [axes.y(v) for v in (*values, values[-1])]
        points = [(xs[0], ys[0])]
        for k in range(1, len(xs)):
            points += [(xs[k], ys[k - 1]), (xs[k], ys[k])] if steps else [(xs[k], ys[k])]
        return points

    outline = edge(line.high) + edge(line.low)[::-1]
    path = "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in outline)
    return Markup('<path class="band" d="M{}z" fill="{}" fill-opacity="0.16"/>').format(
        path, COLOURS[line.style % len(COLOURS)]
    )


def _apart(heights: Sequence[float]) -> list[float]:
    """Heights of labels moved apart so that none covers another, within the picture.

    >>> _apart([100, 101])
    [93.0, 108.0]
    """
    order = sorted(range(len(heights)), key=lambda k: heights[k])
    groups = [[heights[k], 1] for k in order]
    k = 0
    while k < len(groups) - 1:
        (a, n), (b, m) = groups[k], groups[k + 1]
        if b - a < APART * (n + m) / 2:
            groups[k : k + 2] = [[(a * n + b * m) / (n + m), n + m]]
            k = max(k - 1, 0)
        else:
            k += 1
    places = [mid + APART * (j - (n - 1) / 2) for mid, n in groups for j in range(int(n))]
    low, high = TOP, TOP + PLOT
    shift = max(0.0, low - places[0]) if places else 0.0
    places = [p + shift for p in places]
    shift = max(0.0, places[-1] - high) if places else 0.0
    found = [0.0] * len(heights)
    for place, k in zip(places, order, strict=True):
        found[k] = place - shift
    return found
