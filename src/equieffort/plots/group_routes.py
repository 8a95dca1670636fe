"""The Pareto front of group routes: how many are turned against the extra effort, by number of routes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, STYLES, Canvas, plain_text
from equieffort.report.asked import own_front, planes_of
from equieffort.report.panels import plane_chart, stacked
from equieffort.report.svg import Picture

if TYPE_CHECKING:
    from equieffort.notions.group_routes import GroupRoutes

MARKS = "os^D"


def show_group_routes(found: GroupRoutes) -> Display:
    """A panel a group: a line a number of routes over the menus on the front where they were chosen; filled marks are
    what the ends turn where they are measured, with their intervals."""
    title = "How many refused people the same routes turn, and what more they ask than each person's own"
    return Display(
        "group_routes", title, lambda: _svg(found, title), lambda: found.front, lambda canvas: _panels(found, canvas)
    )


def _svg(found: GroupRoutes, title: str) -> Markup:
    charts: list[tuple[str, Picture]] = []
    for name, plane in planes_of(found):
        heading = found.groups.name(name)
        charts.append((heading, plane_chart(f"routes-{len(charts)}", heading, "", plane)))
    described = "The share turned against the extra effort, by number of routes."
    return stacked("group-routes", title, described, charts)


def _panels(found: GroupRoutes, canvas: Canvas) -> None:
    front = own_front(found)
    names = list(dict.fromkeys(front["group"]))
    panels = canvas.panels((4.6 * len(names) + 0.4, 4.0), 1, len(names))
    for axes, name in zip(panels, names, strict=True):
        mine = front[front["group"] == name]
        for n_routes, part in mine.groupby("n_routes"):
            _draw(axes, part.sort_values("extra_chosen"), int(n_routes))
        axes.set(ylim=(0, 1), xlabel="mean effort beyond each person's own optimum")
        axes.set_xlim(left=0)
        plain_text(axes.set_title(found.groups.name(name)))
    panels[0].set_ylabel("share of refused people turned")
    handles, labels = panels[0].get_legend_handles_labels()
    if handles:
        panels[0].legend(handles, labels, frameon=False, loc="lower right")


def _draw(axes: Any, part: pd.DataFrame, n_routes: int) -> None:
    colour, style = COLOURS[(n_routes - 1) % len(COLOURS)], STYLES[(n_routes - 1) % len(STYLES)]
    share = part["n_turned_chosen"] / part["n_chosen_on"]
    label = "1 route" if n_routes == 1 else f"{n_routes} routes"
    mark = MARKS[(n_routes - 1) % len(MARKS)]
    axes.plot(part["extra_chosen"], share, style, color=colour, marker=mark, mfc="white", ms=4, lw=1, label=label)
    best = part[part["is_best"]]
    if len(best):
        one = best.iloc[0]
        ends = [[one["effectiveness"] - one["low"]], [one["high"] - one["effectiveness"]]]
        axes.errorbar(
            [one["mean_extra"]], [one["effectiveness"]], yerr=ends, fmt=mark, color=colour, capsize=3, ms=6,
            gid=f"measured {n_routes}",
        )  # fmt: skip
