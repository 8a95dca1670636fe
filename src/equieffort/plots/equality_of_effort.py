"""Huang's equality of effort as a picture: one curve a group, and what each needs for the same chance of a yes."""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.notions.huang import EqualityOfEffort
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, new_figure, plain_legend, plain_text
from equieffort.world.opponents import EVERYBODY_ELSE

SHOWN = 3
"""At most so many gammas are drawn."""


def draw_equality_of_effort(found: EqualityOfEffort) -> Any:
    """E[Y(t)] against t; level lines at up to three gammas end at each group's least sufficient treatment."""
    figure, axes = new_figure()
    name = found.study.audited.table.groups.name
    colours = {}
    for k, ((group, against), part) in enumerate(found.curve.groupby(["group", "against"], sort=False)):
        colours[group, against] = colour = COLOURS[k % len(COLOURS)]
        apart = f" than {name(str(against))}" if against else ""
        shown = f"{NO_WIDTH}{name(str(group))}{apart}"
        axes.plot(part["t"], part["expected"], STYLES[k % len(STYLES)], color=colour, label=shown)
    deltas = found.delta.dropna(subset=["delta"])
    gammas = np.unique(deltas["gamma"])
    if len(gammas) > SHOWN:
        gammas = gammas[np.linspace(0, len(gammas) - 1, SHOWN + 2).round().astype(np.intp)[1:-1]]
    for gamma in gammas:
        axes.axhline(gamma, color="0.75", lw=0.7, zorder=0)
        for row in deltas[deltas["gamma"] == gamma].to_dict("records"):
            other = (row["against"], row["group"] if row["against"] == EVERYBODY_ELSE else "")
            for side, psi in (((row["group"], ""), row["psi"]), (other, row["psi_against"])):
                axes.plot([psi], [gamma], "o", color=colours[side], markersize=4)
                axes.plot([psi, psi], [0, gamma], ":", color=colours[side], lw=0.8)
    if found.direction == "down":
        axes.invert_xaxis()
    axes.set_ylim(0, 1)
    way = "less" if found.direction == "down" else "more"
    plain_text(axes.set_xlabel(f"{found.treatment}, set for everybody ({way} is more effort)"))
    axes.set_ylabel("expected outcome E[Y(t)]")
    plain_legend(axes.legend(frameon=False))
    return figure
