"""A search of subgroups as a picture: all of them by size, and the worst by name against everybody's line."""

from __future__ import annotations

from math import isfinite
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from equieffort.data.frames import row_dicts
from equieffort.effort.measures import MEASURES, Measure
from equieffort.foundations.arguments import check_whole
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, Canvas, plain_text
from equieffort.report.axes import axis_ends
from equieffort.report.forest import Panel, Point, forest_chart
from equieffort.report.panels import Plane, Series, nothing_chart, plane_chart, stacked
from equieffort.report.svg import Look
from equieffort.words.shown import interval_text, ratio_marks, value_text
from equieffort.words.subgroups import conditions, counted_people, is_open

if TYPE_CHECKING:
    from equieffort.results.subgroup_search import SubgroupSearch

OTHER, FLAGGED = "0.6", COLOURS[1]
LONGEST = 52
APART = (0.25, 0.03)
"""How far apart numbers beside marks are, in logarithms."""


def show_subgroups(search: SubgroupSearch, most: int = 12) -> Display:
    """The measure of every subgroup against its size, and the worst with their intervals; flagged in colour.

    The numbers are `search.frame()`.
    """
    check_whole("most", most, 1)
    frame = _drawn(search)
    n = int(frame["flagged"].sum())
    told = search.comparisons
    title = f"{n:,} of {len(frame):,} subgroups flagged" if n else f"None of {len(frame):,} subgroups flagged"
    title = f"{title}: {told[0] if len(told) == 1 else f'{len(told)} comparisons'}"
    return Display(
        "subgroups", title, lambda: _svg(search, frame, most, title), search.frame,
        lambda canvas: _draw(search, frame, most, title, canvas),
    )  # fmt: skip


def _drawn(search: SubgroupSearch) -> pd.DataFrame:
    frame = search.frame()
    return frame[np.isfinite(frame["estimate"]) & frame["p"].notna()]


def _svg(search: SubgroupSearch, frame: pd.DataFrame, most: int, title: str) -> Markup:
    if not len(frame):
        return nothing_chart("subgroups", title)
    measure = MEASURES[search.asked.measure]
    is_ratio = measure.scale.name == "log"
    whole = [value for value in search.whole["estimate"].tolist() if isfinite(value)]
    smaller, flagged = frame[["n", "n_against"]].min(axis=1), frame["flagged"].to_numpy(dtype=bool)
    x, y = smaller.to_numpy(dtype=float), frame["estimate"].to_numpy(dtype=float)
    series = [
        Series("not flagged", x[~flagged].tolist(), y[~flagged].tolist(), Look("other"), kind="dots"),
        Series("flagged", x[flagged].tolist(), y[flagged].tolist(), Look("group"), kind="points"),
    ]
    unit = "" if is_ratio else ", points"
    plane = Plane(
        series, f"{counted_people(measure)} on the smaller side", f"{measure.title}{unit}", log_x=True, log_y=is_ratio,
        y_share=not is_ratio, across=[measure.neutral, *whole], key="Dotted: equal, and everybody.",
    )  # fmt: skip
    points = []
    for row in row_dicts(frame.head(most)):
        label = " ".join(_label(row, len(search.pairs) > 1).split()) + (" (flagged)" if row["flagged"] else "")
        words = f"{value_text(measure, row['estimate'])} ({interval_text(measure, row['low'], row['high'])})"
        points.append(Point(label, row["estimate"], row["low"], row["high"], words))
    note = "Open: somebody in it is not solved to the end." if any("(open)" in one.label for one in points) else ""
    panel = Panel(measure.title, "each with its own interval", points, measure.neutral, is_ratio)
    level = f"{100 * search.asked.level:g} %"
    charts = [
        ("Every subgroup by its size", plane_chart("subgroups-all", title, "", plane)),
        ("The worst", forest_chart("subgroups-worst", title, "", [panel], interval=level, note=note)),
    ]
    return stacked("subgroups", title, "Every subgroup, and the worst by name.", charts)


def _draw(search: SubgroupSearch, frame: pd.DataFrame, most: int, title: str, canvas: Canvas) -> None:
    measure = MEASURES[search.asked.measure]
    named = frame.head(most)
    labels = [_label(row, len(search.pairs) > 1) for row in row_dicts(named)]
    height = 1.4 + 0.2 * sum(max(1, label.count("\n") + 1) + 0.6 for label in labels)
    left, right = canvas.panels((11.5, max(3.6, height)), 1, 2)
    whole = search.whole["estimate"].tolist()
    near = [measure.neutral, *named["estimate"], *(value for value in whole if isfinite(value))]
    ends = axis_ends(near, [*named["low"], *named["high"]], is_ratio=measure.scale.name == "log")
    _draw_all(left, frame, named, measure, whole)
    _draw_named(right, named, labels, measure, whole, ends)
    canvas.title(title, fontsize=11)


def _label(row: dict[str, Any], several: bool) -> str:
    """The rule with a line break between conditions where one is too long."""
    lines = [f"{row['group']} against {row['against']}:"] if several else []
    for condition in conditions(row["rule"]):
        part = shorten(condition, LONGEST, placeholder=" …")
        if lines and len(lines[-1]) + len(part) < LONGEST and not (several and len(lines) == 1):
            lines[-1] += f" and {part}"
        else:
            lines.append(f"and {part}" if len(lines) > several else part)
    lines[-1] += " (open)" if is_open(row["note"]) else ""
    return "\n".join(lines)


def _scaled(axis: Any, axes: Any, measure: Measure, ends: tuple[float, float]) -> None:
    """A log axis with round ratios, or percentage points."""
    is_ratio = measure.scale.name == "log"
    set_scale, set_ends, set_ticks = (
        (axes.set_yscale, axes.set_ylim, axes.set_yticks)
        if axis is axes.yaxis
        else (axes.set_xscale, axes.set_xlim, axes.set_xticks)
    )
    if is_ratio:
        set_scale("log")
    set_ends(*ends)
    if is_ratio:
        axis.set_minor_locator(_none())
        set_ticks(ratio_marks(*ends))
    axis.set_major_formatter(lambda value, _: f"{value if is_ratio else round(100 * value, 6):g}")


def _none() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _draw_all(axes: Any, frame: pd.DataFrame, named: pd.DataFrame, measure: Measure, whole: list[float]) -> None:
    smaller = frame[["n", "n_against"]].min(axis=1)
    axes.set_xscale("log")
    is_flagged = frame["flagged"].to_numpy(dtype=bool)
    axes.scatter(smaller[~is_flagged], frame["estimate"][~is_flagged], s=5, color=OTHER, alpha=0.5, lw=0, gid="others")
    axes.scatter(smaller[is_flagged], frame["estimate"][is_flagged], s=16, color=FLAGGED, lw=0, gid="flagged")
    _number(axes, named, smaller, measure)
    _lines(axes.axhline, whole, measure)
    ends = axis_ends([measure.neutral, *frame["estimate"], *whole], is_ratio=measure.scale.name == "log")
    _scaled(axes.yaxis, axes, measure, ends)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    unit = "" if measure.scale.name == "log" else ", points"
    axes.set_xlabel(f"{counted_people(measure)} on the smaller side")
    axes.set_ylabel(f"{measure.title}{unit}")
    axes.set_title("Every subgroup by its size", loc="left", fontsize=10)


def _number(axes: Any, named: pd.DataFrame, smaller: pd.Series, measure: Measure) -> None:
    """The numbers of the rows at the right beside their marks, where they do not cover each other."""
    places: list[tuple[float, float]] = []
    for k, (row, size) in enumerate(zip(named.to_dict("records"), smaller, strict=False)):
        at = float(np.log(size)), float(np.log(row["estimate"]) if measure.scale.name == "log" else row["estimate"])
        free = all(abs(at[0] - x) > APART[0] or abs(at[1] - y) > APART[1] for x, y in places)
        if row["flagged"] and free:
            places.append(at)
            axes.annotate(
                f"{k + 1}", (size, row["estimate"]), xytext=(4, 3), textcoords="offset points", fontsize=8,
                color=FLAGGED,
            )  # fmt: skip


def _draw_named(
    axes: Any, named: pd.DataFrame, labels: list[str], measure: Measure, whole: list[float], ends: tuple[float, float]
) -> None:
    rows, at, heights = named.to_dict("records"), 0.8, []
    for label in labels:
        size = label.count("\n") + 1.6
        heights.append(at + size / 2)
        at += size
    for y, row in zip(heights, rows, strict=True):
        colour = FLAGGED if row["flagged"] else "0.45"
        shown = [min(max(row[key], ends[0]), ends[1]) for key in ("low", "high")]
        axes.plot(shown, [y, y], color=colour, lw=1.8, gid=f"interval {row['rule']}")
        axes.plot([row["estimate"]], [y], "s" if row["flagged"] else "o", color=colour, ms=5)
        words = f"{value_text(measure, row['estimate'])} ({interval_text(measure, row['low'], row['high'])})"
        axes.text(1.02, y, words, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    _lines(axes.axvline, whole, measure)
    _scaled(axes.xaxis, axes, measure, ends)
    axes.set_ylim(max(at, 1.0), 0)
    axes.set_yticks(heights, [f"{k + 1}  {label}" for k, label in enumerate(labels)], fontsize=8)
    for text in axes.get_yticklabels():
        plain_text(text)
    is_any = bool(named["flagged"].any())
    title = "Flagged in colour, with each one's own interval" if is_any else "The worst, each with its own interval"
    axes.set_title(title, loc="left", fontsize=10)
    unit = "" if measure.scale.name == "log" else ", points"
    axes.set_xlabel(f"{measure.title}{unit}")
    if len(whole) == 1 and isfinite(whole[0]):
        axes.text(
            whole[0], 1.0, f" everybody {value_text(measure, whole[0])}", transform=axes.get_xaxis_transform(),
            va="top", fontsize=8, color=COLOURS[0],
        )  # fmt: skip


def _lines(line: Any, whole: list[float], measure: Measure) -> None:
    line(measure.neutral, color="0.4", lw=0.8, ls=":")
    for value in whole:
        if isfinite(value):
            line(value, color=COLOURS[0], lw=1.1, ls="--")
