"""The picture of an effort curve: steps with their bands, and each name where its curve ends."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

import numpy as np
import numpy.typing as npt
import pandas as pd
from markupsafe import Markup

from equieffort.data.frames import Floats
from equieffort.report.axes import Axes
from equieffort.report.plots import framed, label_ends, label_room
from equieffort.report.svg import RIGHT, Line, Look, band, mark, stroke

MOST_STEPS = 240
DECILES = np.arange(1, 10) / 10
FEW = 3
"""So many curves have their names where they end; more would end too near each other."""
TAIL = 12.0
"""Where the largest effort is so many times the middle one, the axis is logarithmic."""


def steps_of(label: str, frame: pd.DataFrame, look: Look) -> Line:
    """A curve with its band, thinned where it has more steps than a picture can show."""
    shown = frame.iloc[_thinned(len(frame))]
    x, y, low, high = (shown[key].tolist() for key in ("effort", "share", "low", "high"))
    return Line(label, x, y, low, high, look)


def _thinned(n: int) -> npt.NDArray[np.intp]:
    return np.unique(np.linspace(0, n - 1, min(n, MOST_STEPS)).round().astype(int))


def ecdf(label: str, values: Floats, look: Look, coarse: bool) -> Line:
    """Steps through all values, or a line through deciles where single values must not show."""
    if coarse:
        return Line(label, np.quantile(values, DECILES).tolist(), DECILES.tolist(), look=look)
    keep, heights = _thinned(len(values)), np.arange(1, len(values) + 1) / len(values)
    return Line(label, np.sort(values)[keep].tolist(), heights[keep].tolist(), look=look)


def coarse_steps(label: str, efforts: Floats, half: float, look: Look) -> Line:
    """The curve through tenths of the people, so that no single person shows; infinite efforts stay out of sight."""
    at = np.arange(0, 11) / 10
    values = np.quantile(efforts, at, method="inverted_cdf")
    finite = np.isfinite(values)
    x, y = values[finite], at[finite]
    return Line(label, x.tolist(), y.tolist(), np.clip(y - half, 0, 1).tolist(), np.clip(y + half, 0, 1).tolist(), look)


def curve_chart(
    name: str, title: str, described: str, lines: Sequence[Line], *, x_label: str, y_label: str, steps: bool,
    band_label: str,
) -> Markup:  # fmt: skip
    """Shares of people at most at an effort, each with its band; they end where their labels are."""
    known = [x for line in lines for x in line.x if isfinite(x)]
    most = max(known, default=0.0) or 1.0
    above = sorted(x for x in known if x > 0)
    has_tail = bool(above) and most > TAIL * above[len(above) // 2]
    room = label_room(lines, FEW) if len(lines) > 1 else RIGHT
    axes = Axes((above[0] / 1.1, most * 1.1) if has_tail else (0.0, most * 1.02), (0.0, 1.0), room, log_x=has_tail)
    parts = axes.draw(x_label, y_label, x_share=False, y_share=True)
    for line in lines:
        if line.x:
            parts.append(_band(axes, line, steps))
    for line in lines:
        points = [(axes.x(x), axes.y(y)) for x, y in zip(line.x, line.y, strict=True)]
        if points:
            parts.append(stroke([*points, (axes.end, points[-1][1])], line.look, steps=steps))
            marked = [points[k] for k in range(len(points) // 8, len(points), max(1, len(points) // 4))]
            parts += [mark(x, y, line.look) for x, y in (*marked, (axes.end, points[-1][1]))]
    parts += label_ends(lines, [(axes.y(line.y[-1]) if line.y else axes.y(0.0)) for line in lines], axes.end, room)
    return framed(name, title, described, lines, room, band_label, parts)


def _band(axes: Axes, line: Line, steps: bool) -> Markup:
    xs = [*(axes.x(x) for x in line.x), axes.end]

    def edge(values: Sequence[float]) -> list[tuple[float, float]]:
        ys = [axes.y(v) for v in (*values, values[-1])]
        points = [(xs[0], ys[0])]
        for k in range(1, len(xs)):
            points += [(xs[k], ys[k - 1]), (xs[k], ys[k])] if steps else [(xs[k], ys[k])]
        return points

    return band(edge(line.high) + edge(line.low)[::-1], line.look)
