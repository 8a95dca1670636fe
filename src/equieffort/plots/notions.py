"""Measures and neighbouring notions at a glance: a line each, on which side of equality its interval lies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite, isnan, log, nan
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from equieffort.notions.base import Notion, NotionReading, few_noted
from equieffort.notions.collection import Notions, Side, side_of
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, Canvas, plain_text
from equieffort.report.forest import Panel, Point, forest_chart
from equieffort.words.notions import form_parts, reading_text
from equieffort.words.shown import interval_text, known_measures, value_text

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

MARKS: dict[Side, tuple[str, str, bool]] = {
    "worse": (COLOURS[1], "s", True), "better": (COLOURS[0], "^", True), "open": ("0.35", "o", False),
    "": ("0.6", "D", False), "no interval": ("0.6", "o", False), "undefined": ("0.6", "o", False),
}  # fmt: skip
"""Side -> colour, mark and whether it is filled."""
LEGEND: dict[Side, str] = {
    "worse": "group worse off", "better": "group better off", "open": "no difference shown", "": "a size, no side",
}  # fmt: skip
LONGEST = 62


@dataclass(frozen=True)
class Line:
    """One measure or notion of one comparison."""

    name: str
    title: str
    variant: str
    side: Side
    text: str
    """The estimate and its limits in words."""
    places: tuple[float, float, float]
    """Lower limit, estimate, upper limit: 0 is equality, +1 or -1 the farthest of them, above 0 it is worse off."""


def lines_of(audit: Audit, found: Notions) -> list[Line]:
    """The measures of the first comparison of an audit, then every notion that compares the same groups."""
    known, frame = known_measures(audit.own), audit.measures
    pair = frame["group"].iloc[0], frame["against"].iloc[0]
    lines = []
    for row in frame.to_dict("records"):
        measure = known[row["measure"]]
        if (row["group"], row["against"]) != pair or measure.is_bound:
            continue
        limits = {key: row[key] for key in ("estimate", "low", "high", "least", "most", "n", "n_against")}
        asked = Notion(measure.name, measure.title, "", "", "", measure.neutral, measure.orientation)
        side = side_of(asked, few_noted(NotionReading(measure.name, *pair, **limits), audit.criteria.min_people))
        text = f"{value_text(measure, row['estimate'])} ({interval_text(measure, row['low'], row['high'])})"
        is_ratio = measure.scale.name == "log"
        places = placed((row["low"], row["estimate"], row["high"]), measure.neutral, measure.orientation, is_ratio)
        lines.append(Line(measure.name, measure.title, "", side, text, places))
    for reading in found.readings:
        if (reading.group, reading.against) != pair or isnan(reading.low) or isnan(reading.high):
            continue
        notion = found.notion(reading.notion)
        places = placed((reading.low, reading.estimate, reading.high), notion.neutral, notion.orientation or 1)
        text = "{} ({})".format(*reading_text(notion, reading))
        lines.append(Line(notion.name, notion.title, _variant(reading, audit), found.side(reading), text, places))
    return lines


def _variant(reading: NotionReading, audit: Audit) -> str:
    """What tells lines of one notion apart; metrics, thresholds and places are in the table."""
    parts = form_parts(reading, audit.recourse.source.schema.names)
    if reading.notion in ("bounded_reward_gap", "threshold_reward_gap"):
        return ", ".join(parts[1:] if parts[0] == "decision" else parts)
    return parts[0] if reading.notion in SEVERAL and parts else ""


SEVERAL = ("aed", "responsiveness_gap", "situation_discriminated_gap")
"""Notions that are read of several features, or among several people."""


def placed(
    values: tuple[float, float, float], neutral: float, orientation: int, is_ratio: bool = False
) -> tuple[float, float, float]:
    """Limits and estimate as shares of what lies farthest from equality; limits that do not end are put there.

    >>> [round(one, 3) for one in placed((0.05, 0.1, 0.2), 0.0, 1)]
    [0.25, 0.5, 1.0]
    >>> placed((0.5, 1.0, 2.0), 1.0, -1, True)
    (-1.0, -0.0, 1.0)
    """
    if isnan(neutral):
        neutral = 0.0
    found = [_from(value, neutral, is_ratio) * orientation for value in values]
    size = max((abs(one) for one in found if isfinite(one)), default=0.0) or 1.0
    low, middle, high = (min(max(one / size, -1.0), 1.0) if not isnan(one) else nan for one in found)
    return (low, middle, high) if orientation > 0 else (high, middle, low)


def _from(value: float, neutral: float, is_ratio: bool) -> float:
    if not is_ratio:
        return value - neutral
    return log(value / neutral) if 0 < value < float("inf") else float("inf") if value > 0 else -float("inf")


def show_notions(audit: Audit, found: Notions, level: str) -> Display:
    """The lines of one audit."""
    lines = lines_of(audit, found)
    title = "Measures and notions: on which side of equality each interval lies"

    def svg() -> Markup:
        points = []
        for line in lines:
            low, middle, high = line.places
            points.append(Point(_named(line), middle, low, high, line.text))
        panel = Panel("Right: the group is worse off", "each line on a scale of its own", points, 0.0)
        return forest_chart("notions", title, "A line a measure and notion.", [panel], interval=level)

    def frame() -> pd.DataFrame:
        rows = [[line.name, line.title, line.variant, line.text, line.side, *line.places] for line in lines]
        return pd.DataFrame(rows, columns=COLUMNS)

    return Display("notions", title, svg, frame, lambda canvas: draw_notions([("", lines)], canvas))


COLUMNS = ["name", "title", "variant", "text", "side", "low", "estimate", "high"]
"""Of the numbers behind the picture; the last three are places on the line."""


def _named(line: Line) -> str:
    return f"{line.title}: {line.variant}" if line.variant else line.title


def draw_notions(panels: Sequence[tuple[str, list[Line]]], canvas: Canvas) -> None:
    """A row a measure and notion, several lines where it is read of several features; a panel an audit."""
    titles = {line.name: line.title for _, lines in panels for line in lines}
    deep = {name: max(sum(line.name == name for line in lines) for _, lines in panels) for name in titles}
    height = sum(deep.values())
    every = canvas.panels((3.2 + 4.4 * len(panels), 0.235 * height + 1.2), columns=len(panels))
    for axes, (title, lines) in zip(every, panels, strict=True):
        top = 0.0
        ticks = []
        for name, depth in deep.items():
            ticks.append(top)
            for k, line in enumerate(one for one in lines if one.name == name):
                _draw(axes, line, top + k)
            top += depth
            axes.axhline(top - 0.5, color="0.92", lw=0.6, zorder=0)
        axes.axvline(0, color="0.4", lw=0.8)
        axes.set(xlim=(-1.08, 1.08), ylim=(top - 0.5, -0.5), xticks=[])
        axes.set_yticks(ticks, [_short(one) for one in titles.values()] if axes is every[0] else [""] * len(ticks))
        axes.tick_params(axis="y", length=0, labelsize=8)
        axes.spines["left"].set_visible(False)
        plain_text(axes.set_title(title, loc="left", fontsize=9, fontweight="bold"))
        axes.set_xlabel("← better off      group      worse off →", fontsize=8)
    _legend(canvas, (line.side for _, lines in panels for line in lines))


def _draw(axes: Any, line: Line, place: float) -> None:
    colour, mark, filled = MARKS[line.side]
    low, middle, high = line.places
    if low <= high:
        axes.plot([low, high], [place, place], color=colour, lw=2, solid_capstyle="butt", gid=f"interval {line.name}")
    if isfinite(middle):
        axes.plot(
            [middle], [place], mark, color=colour, markersize=5, mfc=colour if filled else "white",
            gid=f"estimate {line.name}",
        )  # fmt: skip
    words = (
        f"{shorten(line.variant.replace('effort at most', 'to'), 18, placeholder='…')}: {line.text}"
        if line.variant
        else line.text
    )
    text = axes.text(1.01, place, words, transform=axes.get_yaxis_transform(), va="center", fontsize=7)
    plain_text(text)


def _short(title: str) -> str:
    return shorten(title, LONGEST, placeholder=" …")


def _legend(canvas: Canvas, sides: Iterable[Side]) -> None:
    from matplotlib.lines import Line2D

    there = set(sides)
    shown = [(MARKS[side], words) for side, words in LEGEND.items() if side in there]
    handles = [
        Line2D([], [], color=colour, marker=mark, lw=2, mfc=colour if filled else "white")
        for (colour, mark, filled), _ in shown
    ]
    if handles:
        canvas.legend(handles, [words for _, words in shown], ncols=4)
