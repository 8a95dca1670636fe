"""Effectiveness against effort, each with their own action and one action for all, and where the gap is largest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference.orders import shares_at
from equieffort.notions.facts import effectiveness_curves
from equieffort.notions.facts.curves import largest_gap
from equieffort.plots.figures import COLOURS, STYLES, new_figure, plain_text

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

TITLES = {"micro": "Each person's own action", "macro": "One action for everybody of a group"}


def draw_facts(audit: Audit) -> Any:
    """A panel a viewpoint: a step curve a group; a bar where the first group is furthest from the reference."""
    found = effectiveness_curves(audit._audited())
    figure, panels = new_figure((9.0, 3.8), columns=len(found)) if len(found) > 1 else new_figure()
    groups = audit.recourse.groups
    finite = [one[np.isfinite(one)] for curves in found.values() for one in curves.values()]
    last = max((float(one.max()) for one in finite if len(one)), default=1.0) or 1.0
    for axes, (viewpoint, curves) in zip(panels if len(found) > 1 else [panels], found.items(), strict=True):
        for k, (label, curve) in enumerate(curves.items()):
            x = np.concatenate([[0.0], curve[np.isfinite(curve)], [last * 1.02]])
            y = shares_at(curve, x)
            axes.step(x, y, where="post", color=COLOURS[k % len(COLOURS)], ls=STYLES[k % len(STYLES)], gid=label)
        ends = {label: float(shares_at(one, np.array([last]))[0]) for label, one in curves.items() if len(one)}
        for label, height in spread(ends).items():
            colour = COLOURS[list(curves).index(label) % len(COLOURS)]
            name = f" {groups.name(label)}"
            plain_text(axes.annotate(name, (last * 1.02, height), va="center", color=colour, annotation_clip=False))
        first = groups.pairs[0]
        if len(first.others) == 1:
            _mark(axes, *(curves[groups.labels[code]] for code in (first.group, first.others[0])))
        axes.set(xlim=(0, last * 1.02), ylim=(0, 1), xlabel="effort", title=TITLES[viewpoint])
        axes.set_ylabel("share of refused people turned")
    return figure


def spread(heights: dict[str, float], apart: float = 0.06) -> dict[str, float]:
    """Heights of names on an axis from 0 to 1, moved up as far as needed to be apart.

    >>> spread({"a": 0.5, "b": 0.48, "c": 0.9})
    {'b': 0.48, 'a': 0.54, 'c': 0.9}
    """
    found: dict[str, float] = {}
    above = -1.0
    for label, height in sorted(heights.items(), key=lambda one: one[1]):
        above = found[label] = max(height, round(above + apart, 9))
    return found


def _mark(axes: Any, mine: Floats, theirs: Floats) -> None:
    size, at = largest_gap(mine, theirs)
    if not at > 0 or not abs(size) > 0:
        return
    ends = [float(shares_at(one, np.array([at]))[0]) for one in (mine, theirs)]
    axes.vlines(at, min(ends), max(ends), color="0.3", lw=1.5)
    axes.annotate(
        f"{abs(size) * 100:.0f} points", (at, sum(ends) / 2), xytext=(4, -12), textcoords="offset points", va="center",
        color="0.3", bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
    )  # fmt: skip
