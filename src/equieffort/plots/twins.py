"""People and their twins: efforts by what twins are decided (the paper's box plot), efforts of both, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.plots.figures import COLOURS, NO_WIDTH, new_figure, plain_legend, plain_text

if TYPE_CHECKING:
    from equieffort.notions.counterfactual import CounterfactualFairness
    from equieffort.notions.discrimination import CausalDiscrimination
    from equieffort.notions.fair_causal_recourse import FairCausalRecourse

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


MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_fair_causal_recourse(found: FairCausalRecourse) -> Any:
    """A mark a person and twin who both have a route: on the line both need the same."""
    figure, axes = new_figure((5.6, 5.0))
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
    plain_legend(figure.legend(frameon=False, loc="outside lower center", fontsize="small"))
    return figure


def draw_causal_discrimination(found: CausalDiscrimination) -> Any:
    """A row a group and one for the domain: the share with its interval."""
    groups = found.groups
    rows = [("all people", found.overall)]
    rows += [(groups.name(label), found.shares["people", label, ""]) for label in groups.labels]
    rows.append(("inputs drawn\nfrom the domain", found.domain))
    figure, axes = new_figure((6.4, 0.5 * len(rows) + 1.2))
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
    return figure
