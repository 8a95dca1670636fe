"""Effectiveness against effort, each with their own action and one action for all, and where the gap is largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from equieffort.data.frames import Floats
from equieffort.effort.inference.orders import shares_at
from equieffort.notions.facts import effectiveness_curves
from equieffort.notions.facts.curves import largest_gap
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, STYLES, Canvas, plain_text
from equieffort.plots.looks import looks
from equieffort.report.panels import Plane, Series, plane_chart, stacked

if TYPE_CHECKING:
    from equieffort.results.audits import Audit
    from equieffort.world.groups import Groups

TITLES = {"micro": "Each person's own action", "macro": "One action for everybody of a group"}


def show_facts(audit: Audit) -> Display:
    """A panel a viewpoint: a step curve a group; a bar where the first group is furthest from the reference."""
    found = effectiveness_curves(audit._audited())
    title = "Share of refused people whom an effort turns"
    return Display(
        "facts", title, lambda: _svg(audit.recourse.groups, found, title), lambda: _frame(found),
        lambda canvas: _draw(audit.recourse.groups, found, canvas),
    )  # fmt: skip


Curves = dict[str, dict[str, Floats]]
"""By viewpoint and group: the effort of each refused person, infinite where nothing turns them."""


def _frame(found: Curves) -> pd.DataFrame:
    rows = []
    for viewpoint, curves in found.items():
        for label, curve in curves.items():
            at = np.unique(np.concatenate([[0.0], curve[np.isfinite(curve)]]))
            shares = shares_at(curve, at) if len(curve) else np.full(len(at), np.nan)
            rows += [[viewpoint, label, *pair] for pair in zip(at.tolist(), shares.tolist(), strict=True)]
    return pd.DataFrame(rows, columns=["viewpoint", "group", "effort", "share"])


def _svg(groups: Groups, found: Curves, title: str) -> Markup:
    frame, look = _frame(found), looks(groups)
    last = float(frame["effort"].max()) * 1.02 or 1.0
    charts = []
    for viewpoint in found:
        series = []
        for label, part in frame[frame["viewpoint"] == viewpoint].groupby("group", sort=False):
            x, y = [*part["effort"], last], [*part["share"], part["share"].iloc[-1]]
            series.append(Series(groups.name(str(label)), x, y, look[str(label)], kind="steps"))
        plane = Plane(series, "effort", "share turned", (0.0, last), (0.0, 1.0), y_share=True)
        charts.append((TITLES[viewpoint], plane_chart(f"facts-{viewpoint}", TITLES[viewpoint], "", plane)))
    return stacked("facts", title, "Effectiveness against effort, by group.", charts)


def _draw(groups: Groups, found: Curves, canvas: Canvas) -> None:
    panels = canvas.panels((9.0, 3.8) if len(found) > 1 else (6.4, 4.0), 1, max(len(found), 1))
    finite = [one[np.isfinite(one)] for curves in found.values() for one in curves.values()]
    last = max((float(one.max()) for one in finite if len(one)), default=1.0) or 1.0
    for axes, (viewpoint, curves) in zip(panels, found.items(), strict=False):
        for k, (label, curve) in enumerate(curves.items()):
            x = np.concatenate([[0.0], curve[np.isfinite(curve)], [last * 1.02]])
            y = shares_at(curve, x)
            axes.step(x, y, where="post", color=COLOURS[k % len(COLOURS)], ls=STYLES[k % len(STYLES)], gid=label)
        ends = {label: float(shares_at(one, np.array([last]))[0]) for label, one in curves.items() if len(one)}
        for label, height in spread(ends).items():
            colour = COLOURS[list(curves).index(label) % len(COLOURS)]
            name = f" {groups.name(label)}"
            plain_text(axes.annotate(name, (last * 1.02, height), va="center", color=colour, annotation_clip=False))
        first = groups.pairs[0]
        if len(first.others) == 1:
            _mark(axes, *(curves[groups.labels[code]] for code in (first.group, first.others[0])))
        axes.set(xlim=(0, last * 1.02), ylim=(0, 1), xlabel="effort", title=TITLES[viewpoint])
        axes.set_ylabel("share of refused people turned")


def spread(heights: dict[str, float], apart: float = 0.06) -> dict[str, float]:
    """Heights of names on an axis from 0 to 1, moved up as far as needed to be apart.

    >>> spread({"a": 0.5, "b": 0.48, "c": 0.9})
    {'b': 0.48, 'a': 0.54, 'c': 0.9}
    """
    found: dict[str, float] = {}
    above = -1.0
    for label, height in sorted(heights.items(), key=lambda one: one[1]):
        above = found[label] = max(height, round(above + apart, 9))
    return found


def _mark(axes: Any, mine: Floats, theirs: Floats) -> None:
    size, at = largest_gap(mine, theirs)
    if not at > 0 or not abs(size) > 0:
        return
    ends = [float(shares_at(one, np.array([at]))[0]) for one in (mine, theirs)]
    axes.vlines(at, min(ends), max(ends), color="0.3", lw=1.5)
    axes.annotate(
        f"{abs(size) * 100:.0f} points", (at, sum(ends) / 2), xytext=(4, -12), textcoords="offset points", va="center",
        color="0.3", bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
    )  # fmt: skip
