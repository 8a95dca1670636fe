"""The report's pictures as displays: its own SVG, the numbers as a frame, and the same drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from equieffort.notions.base import NotApplicable, NotionReading
from equieffort.notions.comparing import Found
from equieffort.plots.display import Display
from equieffort.plots.figures import STYLES, Canvas, plain_text
from equieffort.report.blocks import Chart, Section
from equieffort.report.layers import STYLES as ROLES
from equieffort.report.layers import graph_places
from equieffort.report.page import drawn
from equieffort.report.panels import nothing_chart
from equieffort.report.svg import COLOURS as ROLE_COLOURS
from equieffort.report.svg import Bars, Line
from equieffort.words.shown import notes_text


def chart_in(section: Section | None, name: str) -> Chart | None:
    """A picture of a section; None where the section has no such picture of this audit."""
    blocks = () if section is None else section.walk()
    return next((block for block in blocks if isinstance(block, Chart) and block.name == name), None)


def display(
    name: str, chart: Chart | None, frame: Callable[[], pd.DataFrame], draw: Callable[[Canvas], None] | None = None,
    missing: str = "",
) -> Display:  # fmt: skip
    """A display of a chart; of a picture that an audit has not, one that says so."""
    if chart is None:
        told = missing or "There is nothing to draw."
        return Display(name, told, lambda: nothing_chart(name, told, why=told), frame, draw or draw_nothing(told))
    return Display(name, chart.title, lambda: drawn(chart), frame, draw or DRAW[chart.kind](chart), chart.remark)


def nothing(name: str, why: str, frame: Sequence[str] | Callable[[], pd.DataFrame]) -> Display:
    """A picture that says why it is empty; of its numbers there are these columns, or what is given."""
    rows = frame if callable(frame) else lambda: pd.DataFrame(columns=list(frame))
    return display(name, None, rows, missing=why)


def without(found: Found, drawn: Callable[[], Display]) -> Display:
    """The picture of a family's readings, or of why there are none."""
    readings = [one for one in found.readings if isinstance(one, NotionReading)]
    known = [one for one in readings if not isnan(one.estimate)]
    shown = drawn()
    if known:
        return shown
    given = [one.why for one in found.readings if isinstance(one, NotApplicable)]
    notes = [notes_text(one.note) for one in readings if one.note]
    why = next(iter([*given, *notes]), "")
    return nothing(shown.name, f"{why[:1].upper()}{why[1:].rstrip('.')}." if why else "", shown.frame)


def draw_nothing(words: str) -> Callable[[Canvas], None]:
    """Axes that say why they are empty."""

    def draw(canvas: Canvas) -> None:
        (axes,) = canvas.panels()
        plain_text(axes.text(0.5, 0.5, words, ha="center", va="center", wrap=True, transform=axes.transAxes))
        axes.set_axis_off()

    return draw


def bars_frame(blocks: Bars, of: str, value: str) -> pd.DataFrame:
    """Bars as rows: what they are of, the group, the value."""
    rows = [[heading, bar.label, bar.value] for heading, bars in blocks for bar in bars]
    frame = pd.DataFrame(rows, columns=[of, "group", value])
    return frame if any(heading for heading, _ in blocks) else frame.drop(columns=of)


# -- with matplotlib --------------------------------------------------------------------------------------------------


def _draw_bars(chart: Chart) -> Callable[[Canvas], None]:
    blocks: Bars = chart.given["blocks"]

    def draw(canvas: Canvas) -> None:
        rows = sum(len(bars) for _, bars in blocks)
        (axes,) = canvas.panels((6.4, 0.8 + 0.3 * rows + 0.3 * len(blocks)))
        at, places, names = 0.0, [], []
        for heading, bars in blocks:
            if heading:
                plain_text(axes.text(0, at - 0.35, heading, fontsize=9, fontweight="bold", va="center"))
                at += 0.45
            for bar in bars:
                alpha = 1.0 if bar.look.role == "group" else 0.7
                length = bar.value if np.isfinite(bar.value) else 0.0
                axes.barh(at, length, 0.75, color=ROLE_COLOURS[bar.look.role], alpha=alpha, gid=f"bar {bar.label}")
                plain_text(axes.text(length, at, f" {bar.text}", va="center", fontsize=8))
                places.append(at)
                names.append(bar.label)
                at += 1.0
            at += 0.35
        axes.set_yticks(places, names, fontsize=8)
        for text in axes.get_yticklabels():
            plain_text(text)
        axes.set_ylim(max(at, 1.0) - 0.4, -0.9)
        if (most := chart.given.get("most")) is not None:
            axes.set_xlim(0, most)
        plain_text(axes.set_title(chart.title, loc="left", fontsize=10, wrap=True))

    return draw


def _draw_lines(chart: Chart) -> Callable[[Canvas], None]:
    given, lines = chart.given, chart.given["lines"]

    def draw(canvas: Canvas) -> None:
        (axes,) = canvas.panels()
        low, high = given["equal"]
        axes.axvspan(low or 1e-9, high, color="0.5", alpha=0.15, lw=0)
        for line in lines:
            _draw_line(axes, line, given.get("steps", False))
        axes.axvline(1, color="0.4", lw=0.8, ls=":")
        known = [x for line in lines for x in line.x if x > 0]
        axes.set_xscale("log")
        axes.set_xlim(min([*known, low or 1.0]) / 1.1, max([*known, high]) * 1.1)
        axes.set(xlabel=given["x_label"], ylabel=given["y_label"], ylim=(0, 1))
        plain_text(axes.set_title(chart.title, loc="left", fontsize=10, wrap=True))
        for text in axes.legend(frameon=False).get_texts():
            plain_text(text)

    return draw


def _draw_line(axes: Any, line: Line, steps: bool) -> None:
    look = {"color": ROLE_COLOURS[line.look.role], "ls": STYLES[line.look.nth % len(STYLES)], "label": line.label}
    if steps:
        axes.step([line.x[0], *line.x], [0.0, *line.y], where="post", **look)
    else:
        axes.plot(line.x, line.y, **look)


def _draw_graph(chart: Chart) -> Callable[[Canvas], None]:
    def draw(canvas: Canvas) -> None:
        places, height = graph_places(**chart.given)
        width = chart.given["width"]
        (axes,) = canvas.panels((max(4.0, width / 70), max(2.0, height / 70)))
        roles = dict(chart.given["nodes"])
        for cause, effect in chart.given["edges"]:
            (x, y), (to_x, to_y) = places[cause], places[effect]
            arrow = {"arrowstyle": "->", "color": "0.4", "shrinkA": 14, "shrinkB": 14}
            axes.annotate("", (to_x, to_y), (x, y), arrowprops=arrow)
        for name, (x, y) in places.items():
            line, fill, dash, stroke = ROLES.get(roles[name], ROLES["immutable"])
            box = {"boxstyle": "round", "ec": line, "fc": fill, "lw": stroke, "ls": "--" if dash else "-"}
            plain_text(axes.text(x, y, f"{name}\n{roles[name]}", ha="center", va="center", fontsize=8, bbox=box))
        axes.set(xlim=(0, width), ylim=(height, 0))
        axes.set_axis_off()
        plain_text(axes.set_title(chart.title, loc="left", fontsize=10, wrap=True))

    return draw


DRAW: dict[str, Callable[[Chart], Callable[[Canvas], None]]] = {
    "bars": _draw_bars,
    "step": _draw_lines,
    "graph": _draw_graph,
}
"""Kinds of charts that matplotlib draws from what the page draws them from; the others from their own numbers."""
