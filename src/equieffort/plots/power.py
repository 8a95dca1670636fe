"""A plan as a picture: the smallest difference that so many people would show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.data.frames import percent
from equieffort.plots.figures import new_figure

if TYPE_CHECKING:
    from equieffort.results.power_analysis import Power


def draw_power(found: Power) -> Any:
    """People needed against the true ratio of efforts, and against the true gap in possible recourse."""
    figure, axes = new_figure((8.6, 3.8), columns=2)
    for ax, measure, title in zip(
        axes, ("acr", "rd"), ("true ratio of efforts (ACR)", "true gap in possible recourse (RD)"), strict=True
    ):
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
    figure.suptitle(f"People needed for a chance of {percent(found.power, 0)} to decide", fontsize="medium")
    return figure
