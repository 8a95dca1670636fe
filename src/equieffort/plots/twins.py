"""People and their twins: efforts by what twins are decided (the paper's box plot), efforts of both, labels."""

from __future__ import annotations

from math import isnan
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from equieffort.data.frames import percent
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, NO_WIDTH, Canvas, plain_text
from equieffort.plots.looks import looks
from equieffort.report.asked import TREATED, boxes_of
from equieffort.report.forest import Panel, Point, forest_chart
from equieffort.report.panels import Plane, Series, box_chart, plane_chart

if TYPE_CHECKING:
    from equieffort.notions.counterfactual import CounterfactualFairness
    from equieffort.notions.discrimination import CausalDiscrimination
    from equieffort.notions.fair_causal_recourse import FairCausalRecourse
    from equieffort.notions.shares import Share

UNDER = 15
"""Letters of a line under a box."""


def show_counterfactual_fairness(found: CounterfactualFairness) -> Display:
    """A box a group and treatment, from the least effort to the largest."""
    title = "Effort of refused people with a route, by whether another group's attributes would turn the decision"
    return Display(
        "counterfactual_fairness", title, lambda: _boxes(found, title), lambda: found.efforts,
        lambda canvas: _draw_boxes(found, canvas),
    )  # fmt: skip


def _boxes(found: CounterfactualFairness, title: str) -> Markup:
    boxes = boxes_of(found, looks(found.groups), found.efforts)
    return box_chart("counterfactual-fairness", title, "Boxes of efforts.", boxes, x_label="effort")


def _draw_boxes(found: CounterfactualFairness, canvas: Canvas) -> None:
    """Whiskers reach the farthest effort within 1.5 interquartile ranges."""
    table, groups, rows = found.audited.table, found.groups, found.efforts
    (axes,) = canvas.panels((max(6.4, 1.2 * len(rows) + 1.6), 4.2))
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
        ticks.append("\n".join([*wrap(TREATED[row["treated"]], UNDER), _counted(row)]))
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


def _counted(row: dict[Any, Any]) -> str:
    """How many a box is of, and who is not in it."""
    left = [f"{row['n_infeasible']:,} without a route"] if row["n_infeasible"] else []
    left += [f"{row['n_unknown']:,} unknown"] if row["n_unknown"] else []
    return "\n".join([f"n = {row['n_recourse']:,}", *left])


MARKERS = ("o", "s", "^", "D", "v", "P")


def show_fair_causal_recourse(found: FairCausalRecourse) -> Display:
    """A mark a person and twin who both have a route: on the line both need the same."""
    title = "Effort of each refused person beside that of their twin in another group"
    return Display(
        "fair_causal_recourse", title, lambda: _pairs(found, title), lambda: found.people,
        lambda canvas: _draw_pairs(found, canvas),
    )  # fmt: skip


def _pairs(found: FairCausalRecourse, title: str) -> Markup:
    compared, look = found.people[found.people["outcome"] == "compared"], looks(found.groups)
    most = 1.05 * float(compared[["effort", "twin_effort"]].to_numpy().max(initial=0.0)) or 1.0
    series = []
    for label in found.groups.labels:
        part = compared[compared["group"] == label]
        name, ends = found.groups.name(label), (part["effort"].tolist(), part["twin_effort"].tolist())
        series.append(Series(f"{name}: {len(part):,} compared", *ends, look[label], kind="points"))
    plane = Plane(
        series, "effort of the person", "effort of the twin", (0.0, most), (0.0, most), diagonal=True,
        key="On the dotted line both need the same effort.",
    )  # fmt: skip
    return plane_chart("fair-causal-recourse", title, "A mark a person and twin.", plane)


def _draw_pairs(found: FairCausalRecourse, canvas: Canvas) -> None:
    (axes,) = canvas.panels((5.6, 5.0))
    rows, groups = found.people, found.groups
    compared = rows[rows["outcome"] == "compared"]
    most = 1.05 * float(compared[["effort", "twin_effort"]].to_numpy().max(initial=0.0)) or 1.0
    axes.plot([0, most], [0, most], color="0.6", lw=0.8, zorder=0)
    plain_text(axes.annotate("the same effort", (most, most), ha="right", va="bottom", fontsize="small", color="0.4"))
    for k, label in enumerate(groups.labels):
        part, every = compared[compared["group"] == label], rows[rows["group"] == label]
        name = f"{NO_WIDTH}{groups.name(label)}: {len(part):,} of {len(every):,} compared"
        axes.plot(
            part["effort"], part["twin_effort"], MARKERS[k % len(MARKERS)], markersize=4, mfc="none",
            mec=COLOURS[k % len(COLOURS)], label=name,
        )  # fmt: skip
    axes.set(
        xlim=(0, most), ylim=(0, most), xlabel="effort of the person", ylabel="effort of the twin in another group"
    )
    canvas.legend()


def show_causal_discrimination(found: CausalDiscrimination) -> Display:
    """A row a group and one for the domain: the share with its interval."""
    title = "Share whose label changes with the sensitive columns alone"
    return Display(
        "causal_discrimination", title, lambda: _rows_svg(found, title), found.frame,
        lambda canvas: _draw_rows(found, canvas),
    )  # fmt: skip


def _rows(found: CausalDiscrimination) -> list[tuple[str, Share]]:
    groups = found.groups
    rows = [("all people", found.overall)]
    rows += [(groups.name(label), found.shares["people", label, ""]) for label in groups.labels]
    return [*rows, ("inputs drawn\nfrom the domain", found.domain)]


def _rows_svg(found: CausalDiscrimination, title: str) -> Markup:
    points, level = [], found.audited.level
    for name, one in _rows(found):
        low, high = one.limits(level)
        text = "-" if isnan(one.estimate) else f"{100 * one.estimate:.3g} % ({100 * low:.3g} to {100 * high:.3g})"
        points.append(Point(" ".join(name.split()), one.estimate, low, high, text))
    panel = Panel("Label changes", "in per cent", points, 0.0, is_share=True)
    return forest_chart("causal-discrimination", title, "Shares with intervals.", [panel], interval=percent(level, 0))


def _draw_rows(found: CausalDiscrimination, canvas: Canvas) -> None:
    rows = _rows(found)
    (axes,) = canvas.panels((6.4, 0.5 * len(rows) + 1.2))
    for place, (_, one) in enumerate(rows):
        low, high = one.limits(found.audited.level)
        colour = COLOURS[(place - 1) % len(COLOURS)] if 0 < place < len(rows) - 1 else "0.25"
        axes.plot([low, high], [place, place], color=colour)
        axes.plot([one.estimate], [place], "o", color=colour)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    for text in axes.get_yticklabels():
        plain_text(text)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.set_xlabel("label changes with the sensitive columns alone")
