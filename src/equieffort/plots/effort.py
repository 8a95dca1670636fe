"""Effort curves, or the differences of two, as steps with their bands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.plots.figures import COLOURS, STYLES, new_figure, plain_text
from equieffort.words.shown import level_text

if TYPE_CHECKING:
    from equieffort.results.audits import Audit


def draw_effort_curve(audit: Audit, *, difference: bool) -> Any:
    """A curve a group with its name at its end, or a group's curve minus the reference group's."""
    figure, axes = new_figure()
    found = audit.effort_curve(difference=difference)
    value = "difference" if difference else "share"
    last = float(np.nanmax(found["effort"], initial=0.0)) or 1.0
    for k, (group, part) in enumerate(found.dropna(subset=[value]).groupby("group", sort=False)):
        colour = COLOURS[k % len(COLOURS)]
        # Each curve goes on to the right end, where its name is.
        x, y, low, high = (np.append(part[key], part[key].iloc[-1]) for key in ("effort", value, "low", "high"))
        x[-1] = last * 1.02
        axes.step(x, y, where="post", color=colour, ls=STYLES[k % len(STYLES)], gid=f"curve {group}")
        axes.fill_between(x, low, high, step="post", color=colour, alpha=0.15, lw=0)
        name = audit.recourse.groups.name
        against = f" minus {name(part['against'].iloc[0])}" if difference else ""
        plain_text(
            axes.annotate(
                f" {name(str(group))}{against}", (x[-1], y[-1]), va="center", color=colour, annotation_clip=False
            )
        )
    if difference:
        axes.axhline(0, color="0.4", lw=0.8)
        axes.set_ylabel("difference of the shares")
    else:
        axes.set_ylim(0, 1)
        axes.set_ylabel("share of refused people whom it turns")
    axes.set_xlim(0, last * 1.02)
    axes.set_xlabel(f"effort ({level_text(audit.criteria)} band for the whole curve)")
    return figure
