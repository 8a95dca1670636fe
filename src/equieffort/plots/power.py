"""A plan as a picture: the smallest difference that so many people would show."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup

from equieffort.data.frames import percent
from equieffort.plots.display import Display
from equieffort.plots.figures import Canvas
from equieffort.report.panels import Plane, Series, plane_chart, stacked
from equieffort.report.svg import Look

if TYPE_CHECKING:
    from equieffort.results.power_analysis import Power


TITLES = {"acr": "true ratio of efforts (ACR)", "rd": "true gap in possible recourse (RD)"}


def show_power(found: Power) -> Display:
    """People needed against the true ratio of efforts, and against the true gap in possible recourse."""
    title = f"People needed for a chance of {percent(found.power, 0)} to decide"
    return Display("power", title, lambda: _svg(found, title), lambda: found.table, lambda canvas: _draw(found, canvas))


def _svg(found: Power, title: str) -> Markup:
    charts = []
    for measure, label in TITLES.items():
        part = found.table[(found.table["measure"] == measure) & np.isfinite(found.table["people"])]
        series = []
        for decides, look in (("equal", Look("reference")), ("unequal", Look("group"))):
            rows = part[part["decides"] == decides]
            series.append(Series(f"to show {decides}", rows["truth"].tolist(), rows["people"].tolist(), look))
        edge = found.criteria.tau if measure == "acr" else found.criteria.epsilon
        plane = Plane(series, label, "people", log_y=True, upright=[edge], key="Dotted: the threshold.")
        charts.append((label[0].upper() + label[1:], plane_chart(f"power-{measure}", label, "", plane)))
    return stacked("power", title, "People needed by what is true.", charts)


def _draw(found: Power, canvas: Canvas) -> None:
    for ax, (measure, title) in zip(canvas.panels((8.6, 3.8), 1, 2), TITLES.items(), strict=True):
        part = found.table[found.table["measure"] == measure]
        part = part[np.isfinite(part["people"])]
        for decides, style in (("equal", "s--"), ("unequal", "o-")):
            rows = part[part["decides"] == decides]
            if len(rows):
                ax.plot(rows["truth"], rows["people"], style, label=f"to show that effort is {decides}")
        edge = found.criteria.tau if measure == "acr" else found.criteria.epsilon
        ax.axvline(edge, color="0.5", lw=0.8)
        ax.set(xlabel=title, ylabel="people", yscale="log")
        if len(part):
            ax.legend(frameon=False)
    canvas.title(f"People needed for a chance of {percent(found.power, 0)} to decide", fontsize="medium")
