"""Huang's equality of effort as a picture: one curve a group, and what each needs for the same chance of a yes."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from equieffort.notions.huang import EqualityOfEffort
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, Canvas, plain_legend, plain_text
from equieffort.plots.looks import looks
from equieffort.report.panels import Plane, Series, plane_chart
from equieffort.report.svg import Look
from equieffort.world.opponents import EVERYBODY_ELSE

SHOWN = 3
"""At most so many gammas are drawn."""


def show_equality_of_effort(found: EqualityOfEffort) -> Display:
    """E[Y(t)] against t; level lines at up to three gammas end at each group's least sufficient treatment."""
    title = f"What each group is expected to get where {found.treatment} is set for everybody"
    return Display(
        "equality_of_effort",
        title,
        lambda: _svg(found, title),
        lambda: found.curve,
        lambda canvas: _draw(found, canvas),
    )


def _gammas(found: EqualityOfEffort) -> list[float]:
    gammas = np.unique(found.delta.dropna(subset=["delta"])["gamma"])
    if len(gammas) > SHOWN:
        gammas = gammas[np.linspace(0, len(gammas) - 1, SHOWN + 2).round().astype(np.intp)[1:-1]]
    return [float(gamma) for gamma in gammas]


def _label(found: EqualityOfEffort) -> str:
    way = "less" if found.direction == "down" else "more"
    return f"{found.treatment}, set for everybody ({way} is more effort)"


def _svg(found: EqualityOfEffort, title: str) -> Markup:
    groups = found.study.audited.table.groups
    look = looks(groups)
    series = []
    for (group, against), part in found.curve.groupby(["group", "against"], sort=False):
        apart = f" than {groups.name(str(against))}" if against else ""
        drawn = look.get(str(group), Look("reference"))
        series.append(Series(f"{groups.name(str(group))}{apart}", part["t"].tolist(), part["expected"].tolist(), drawn))
    plane = Plane(
        series, _label(found), "expected outcome E[Y(t)]", y_ends=(0.0, 1.0), across=_gammas(found),
        flip_x=found.direction == "down",
    )  # fmt: skip
    return plane_chart("equality-of-effort", title, "The groups' curves.", plane)


def _draw(found: EqualityOfEffort, canvas: Canvas) -> None:
    (axes,) = canvas.panels()
    name = found.study.audited.table.groups.name
    colours = {}
    for k, ((group, against), part) in enumerate(found.curve.groupby(["group", "against"], sort=False)):
        colours[group, against] = colour = COLOURS[k % len(COLOURS)]
        apart = f" than {name(str(against))}" if against else ""
        shown = f"{NO_WIDTH}{name(str(group))}{apart}"
        axes.plot(part["t"], part["expected"], STYLES[k % len(STYLES)], color=colour, label=shown)
    deltas = found.delta.dropna(subset=["delta"])
    for gamma in _gammas(found):
        axes.axhline(gamma, color="0.75", lw=0.7, zorder=0)
        for row in deltas[deltas["gamma"] == gamma].to_dict("records"):
            other = (row["against"], row["group"] if row["against"] == EVERYBODY_ELSE else "")
            for side, psi in (((row["group"], ""), row["psi"]), (other, row["psi_against"])):
                axes.plot([psi], [gamma], "o", color=colours[side], markersize=4)
                axes.plot([psi, psi], [0, gamma], ":", color=colours[side], lw=0.8)
    if found.direction == "down":
        axes.invert_xaxis()
    axes.set_ylim(0, 1)
    plain_text(axes.set_xlabel(_label(found)))
    axes.set_ylabel("expected outcome E[Y(t)]")
    plain_legend(axes.legend(frameon=False))
