"""ACR against the size of the neighbourhood, and shares of the refused whom an effort turns, with matplotlib."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, Canvas, plain_legend, plain_text
from equieffort.plots.looks import looks
from equieffort.report.panels import Plane, Series, plane_chart
from equieffort.report.svg import Look
from equieffort.words.shown import level_text

if TYPE_CHECKING:
    from equieffort.results.audits import Audit


def draw_acr(audit: Audit, curve: pd.DataFrame, canvas: Canvas) -> None:
    """A line a comparison, its band, and the zone that counts as equal."""
    (axes,) = canvas.panels()
    names = audit.recourse.groups.name
    for k, ((group, against), part) in enumerate(curve.groupby(["group", "against"], sort=False)):
        colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
        name = f"{names(str(group))} against {names(str(against))}"
        name = f"{NO_WIDTH}{name}" if name.startswith("_") else name
        axes.plot(part["quantile"], part["acr"], style, color=colour, marker="o", markersize=3, label=name)
        axes.fill_between(part["quantile"], part["acr_low"], part["acr_high"], color=colour, alpha=0.15, lw=0)
    tau = audit.criteria.tau
    axes.axhspan(*audit.criteria.rule.ends(tau), color="0.5", alpha=0.12, lw=0, label=f"equal within tau = {tau:g}")
    axes.axhline(1, color="0.4", lw=0.8)
    axes.set(xlabel="share of all people counted as neighbours", ylabel="effort of own group / other group (ACR)")
    plain_legend(axes.legend(frameon=False))


def show_effort_differences(audit: Audit) -> Display:
    """Each compared group's share minus that of the reference."""
    found = audit.effort_curve(difference=True)
    title = "Difference of the shares whom an effort turns"
    return Display(
        "effort_differences", title, lambda: _svg(audit, found, title), lambda: found,
        lambda canvas: draw_effort_curve(audit, canvas, difference=True),
    )  # fmt: skip


def _svg(audit: Audit, found: pd.DataFrame, title: str) -> Markup:
    groups, series = audit.recourse.groups, []
    look = looks(groups)
    for (group, against), part in found.dropna(subset=["difference"]).groupby(["group", "against"], sort=False):
        name = f"{groups.name(str(group))} minus {groups.name(str(against))}"
        x, y, low, high = (part[key].tolist() for key in ("effort", "difference", "low", "high"))
        series.append(Series(name, x, y, look.get(str(group), Look()), low, high, "steps"))
    band = f"Shaded: {level_text(audit.criteria)} band for the whole curve. Below 0 the group is worse off."
    plane = Plane(series, "effort", "difference of the shares", y_share=True, across=[0.0], key=band)
    return plane_chart("effort-differences", title, "Differences of effort curves.", plane)


def draw_effort_curve(audit: Audit, canvas: Canvas, *, difference: bool = False) -> None:
    """Steps with their band; each curve's name where it ends."""
    (axes,) = canvas.panels()
    found = audit.effort_curve(difference=difference)
    value = "difference" if difference else "share"
    last = float(np.nanmax(found["effort"], initial=0.0)) or 1.0
    keys = ["group", "against"] if difference else ["group"]
    draw_steps(axes, found, value, keys, audit.recourse.groups.name, last)
    if difference:
        axes.axhline(0, color="0.4", lw=0.8)
        axes.set_ylabel("difference of the shares")
    else:
        axes.set_ylim(0, 1)
        axes.set_ylabel("share of refused people whom it turns")
    axes.set_xlabel(f"effort ({level_text(audit.criteria)} band for the whole curve)")


def draw_steps(axes: Any, found: pd.DataFrame, value: str, keys: list[str], name: Any, last: float) -> None:
    """Shares against effort as steps with their bands; each curve goes on to the right end, where its name is."""
    for k, ((group, *_), part) in enumerate(found.dropna(subset=[value]).groupby(keys, sort=False)):
        colour = COLOURS[k % len(COLOURS)]
        x, y, low, high = (np.append(part[key], part[key].iloc[-1]) for key in ("effort", value, "low", "high"))
        x[-1] = last * 1.02
        axes.step(x, y, where="post", color=colour, ls=STYLES[k % len(STYLES)], gid=f"curve {group}")
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.15, lw=0)
        against = f" minus {name(part['against'].iloc[0])}" if "against" in keys else ""
        plain_text(
            axes.annotate(
                f" {name(str(group))}{against}", (x[-1], y[-1]), va="center", color=colour, annotation_clip=False
            )
        )
    axes.set_xlim(0, last * 1.02)
