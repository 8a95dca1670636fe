"""The paper's box plot for any audit: efforts of the refused, by group and by what their twins are decided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.plots.figures import COLOURS, new_figure, plain_text

if TYPE_CHECKING:
    from equieffort.notions.counterfactual import CounterfactualFairness

SAID = {
    "stays": "refused in\nevery group",
    "turns": "approved in\nanother group",
    "undefined": "in another group\nnot known",
}
"""What is said under a box."""


def draw_counterfactual_fairness(found: CounterfactualFairness) -> Any:
    """A box a group and treatment; whiskers reach the farthest effort within 1.5 interquartile ranges."""
    table, groups, rows = found.audited.table, found.groups, found.efforts
    figure, axes = new_figure((max(6.4, 1.2 * len(rows) + 1.6), 4.2))
    ticks = []
    for place, row in enumerate(rows.to_dict("records")):
        code = groups.labels.index(row["group"])
        members = found.treated(row["treated"]) & (groups.codes == code) & table.has_action
        colour = COLOURS[code % len(COLOURS)]
        if members.any():
            axes.boxplot(
                [table.effort[members]], positions=[place], widths=0.55, patch_artist=True, manage_ticks=False,
                boxprops={"facecolor": (colour, 0.35 if row["treated"] == "stays" else 0.0), "edgecolor": colour},
                medianprops={"color": colour, "lw": 2}, whiskerprops={"color": colour}, capprops={"color": colour},
                flierprops={"marker": "o", "markersize": 3, "mfc": "none", "mec": colour},
            )  # fmt: skip
        ticks.append(f"{SAID[row['treated']]}\n{_counted(row)}")
        if place == 0 or row["group"] != rows["group"].iloc[place - 1]:
            text = axes.text(
                place - 0.4, 1.02, groups.name(row["group"]), color=colour, transform=axes.get_xaxis_transform()
            )
            plain_text(text)
            if place:
                axes.axvline(place - 0.5, color="0.85", lw=0.8)
    axes.set_xticks(np.arange(len(ticks)), ticks, fontsize="small")
    axes.set_xlim(-0.5, max(len(ticks), 1) - 0.5)
    axes.set_ylim(bottom=0)
    axes.set_ylabel("effort of refused people with a route")
    return figure


def _counted(row: dict[Any, Any]) -> str:
    """How many a box is of, and who is not in it."""
    left = [f"{row['n_infeasible']:,} without a route"] if row["n_infeasible"] else []
    left += [f"{row['n_unknown']:,} unknown"] if row["n_unknown"] else []
    return "\n".join([f"n = {row['n_recourse']:,}", *left])
