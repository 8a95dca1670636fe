"""Whom an effort turns, by rank within the own group and by the audit's own cost; and people beside those like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from equieffort.effort.metrics import effort_curve, group_samples
from equieffort.plots.curves import draw_steps
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, NO_WIDTH, Canvas, plain_legend
from equieffort.plots.looks import looks
from equieffort.report.panels import Plane, Series, plane_chart, stacked
from equieffort.report.svg import Look, Picture
from equieffort.world.groups import group_name

if TYPE_CHECKING:
    from equieffort.notions.rewards import Rewards
    from equieffort.notions.situation_testing import SituationTesting
    from equieffort.recourse.table import RecourseTable


TITLES = ("effort: share of one's own group overtaken", "effort as the audit measures it")


def show_effort_rewards(found: Rewards, own: RecourseTable) -> Display:
    """The share of each group's refused whom an effort turns: by rank among one's own, and as the audit measures it."""
    assert found.recourse is not None
    title = "Whom an effort turns, by rank within the own group and as the audit measures effort"
    curves = [(one, effort_curve(group_samples(one, None, None), found.level)) for one in (found.recourse, own)]

    def svg() -> Markup:
        charts: list[tuple[str, Picture]] = []
        for (table, curve), words in zip(curves, TITLES, strict=True):
            look, series = looks(table.groups), []
            for group, part in curve.dropna(subset=["share"]).groupby("group", sort=False):
                x, y, low, high = (part[key].tolist() for key in ("effort", "share", "low", "high"))
                series.append(Series(table.groups.name(str(group)), x, y, look[str(group)], low, high, "steps"))
            plane = Plane(series, words, "share of the refused", y_ends=(0.0, 1.0), y_share=True)
            charts.append((words, plane_chart(f"rewards-{len(charts)}", title, "Steps, a curve a group.", plane)))
        return stacked("effort-rewards", title, "Two planes.", charts)

    return Display(
        "effort_rewards", title, svg, lambda: found.people, lambda canvas: _draw_effort_rewards(curves, canvas)
    )


def _draw_effort_rewards(curves: list[tuple[RecourseTable, pd.DataFrame]], canvas: Canvas) -> None:
    panels = canvas.panels((9.6, 4.0), 1, 2)
    for axes, (table, curve), title in zip(panels, curves, TITLES, strict=True):
        last = float(np.nanmax(curve["effort"], initial=0.0)) or 1.0
        draw_steps(axes, curve, "share", ["group"], table.groups.name, last)
        axes.set_ylim(0, 1)
        axes.set_xlabel(title)
    panels[0].set_ylabel("share of refused people whom it turns")


def show_situation_testing(found: SituationTesting) -> Display:
    """A mark a person: approvals among those like them in their own group and in the other; above the line they fare
    better in the other."""
    title = f"Approvals among the {found.k} people most like each person, in their own group and in the other"

    def svg() -> Markup:
        series = []
        rows = found.people.dropna(subset=["difference"])
        for k, ((group, against), part) in enumerate(rows.groupby(["group", "against"], sort=False)):
            ends = part["rate_own"].astype(float).tolist(), part["rate_other"].astype(float).tolist()
            name = f"{_named(found, group)} beside {_named(found, against)}: {_counted(part)}"
            series.append(Series(name, *ends, Look("group", k), kind="points"))
        key = (
            f"Above the dotted line people like them fare better in the other group; by more than {found.tau:g} counts."
        )
        plane = Plane(
            series, "approved, own group", "approved, other group", (0.0, 1.0), (0.0, 1.0), diagonal=True, key=key,
            x_share=True, y_share=True,
        )  # fmt: skip
        return plane_chart("situation-testing", title, "A mark a person.", plane)

    return Display(
        "situation_testing", title, svg, lambda: found.people, lambda canvas: _draw_situation_testing(found, canvas)
    )


def _named(found: SituationTesting, label: Any) -> str:
    return group_name(str(label), found.columns)


def _counted(part: pd.DataFrame) -> str:
    return f"{int(part['discriminated'].astype(bool).sum()):,} of {len(part):,} discriminated"


def _draw_situation_testing(found: SituationTesting, canvas: Canvas) -> None:
    """The larger a mark, the more people."""
    (axes,) = canvas.panels((5.8, 5.4))
    figure = canvas.figure
    rows = found.people.dropna(subset=["difference"])
    ends = np.array([0.0, 1.0])
    axes.plot(ends, ends, color="0.6", lw=0.8, zorder=0)
    axes.fill_between(ends, ends - found.tau, ends + found.tau, color="0.5", alpha=0.1, lw=0, zorder=0)
    for x, y, side, place in ((0.03, 0.9, "other", "left"), (0.97, 0.08, "own", "right")):
        said = f"people like them fare\nbetter in the {side} group"
        axes.text(x, y, said, ha=place, va="top", fontsize="small", color="0.4")
    pairs = rows.groupby(["group", "against"], sort=False)
    for k, ((group, against), part) in enumerate(pairs):
        counts = part.groupby(["rate_own", "rate_other"]).size()
        # Groups a little apart, so that neither hides the other.
        shift = 0.006 * (k - (pairs.ngroups - 1) / 2)
        axes.scatter(
            counts.index.get_level_values(0) + shift, counts.index.get_level_values(1) - shift,
            s=14 * np.sqrt(counts), facecolor=(COLOURS[k % len(COLOURS)], 0.25), edgecolor=COLOURS[k % len(COLOURS)],
            lw=0.8, label=f"{NO_WIDTH}{_named(found, group)} beside {_named(found, against)}: {_counted(part)}",
        )  # fmt: skip
    axes.set(
        xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel=f"approved among the {found.k} nearest of the own group",
        ylabel=f"approved among the {found.k} nearest of the other group",
    )  # fmt: skip
    plain_legend(figure.legend(frameon=False, loc="outside lower center", fontsize="small"))
