"""Whom an effort turns, by rank within the own group and by the audit's own cost; and people beside those like them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from equieffort.effort.metrics import effort_curve, group_samples
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, new_figure, plain_legend, plain_text
from equieffort.world.groups import group_name

if TYPE_CHECKING:
    from equieffort.notions.rewards import Rewards
    from equieffort.notions.situation_testing import SituationTesting
    from equieffort.recourse.table import RecourseTable


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


def draw_effort_rewards(found: Rewards, own: RecourseTable) -> Any:
    """The share of each group's refused whom an effort turns: by rank among one's own, and as the audit measures it."""
    assert found.recourse is not None
    figure, panels = new_figure((9.6, 4.0), columns=2)
    titles = ("effort: share of one's own group overtaken", "effort as the audit measures it")
    for axes, table, title in zip(panels, (found.recourse, own), titles, strict=True):
        curve = effort_curve(group_samples(table, None, None), found.level)
        last = float(np.nanmax(curve["effort"], initial=0.0)) or 1.0
        draw_steps(axes, curve, "share", ["group"], table.groups.name, last)
        axes.set_ylim(0, 1)
        axes.set_xlabel(title)
    panels[0].set_ylabel("share of refused people whom it turns")
    return figure


def draw_situation_testing(found: SituationTesting) -> Any:
    """A mark a person: approvals among those like them in their own group and in the other; above the band they fare
    better in the other. The larger a mark, the more people."""
    figure, axes = new_figure((5.8, 5.4))
    rows = found.people.dropna(subset=["difference"])
    if not len(rows):
        axes.set_axis_off()
        plain_text(axes.text(0.5, 0.5, "Too few people to be compared.", ha="center"))
        return figure
    ends = np.array([0.0, 1.0])
    axes.plot(ends, ends, color="0.6", lw=0.8, zorder=0)
    axes.fill_between(ends, ends - found.tau, ends + found.tau, color="0.5", alpha=0.1, lw=0, zorder=0)
    for x, y, side, place in ((0.03, 0.9, "other", "left"), (0.97, 0.08, "own", "right")):
        said = f"people like them fare\nbetter in the {side} group"
        axes.text(x, y, said, ha=place, va="top", fontsize="small", color="0.4")
    pairs = rows.groupby(["group", "against"], sort=False)
    columns = found.columns

    def named(label: Any) -> str:
        return group_name(str(label), columns)

    for k, ((group, against), part) in enumerate(pairs):
        counts = part.groupby(["rate_own", "rate_other"]).size()
        yes = int(part["discriminated"].astype(bool).sum())
        # Groups a little apart, so that neither hides the other.
        shift = 0.006 * (k - (pairs.ngroups - 1) / 2)
        axes.scatter(
            counts.index.get_level_values(0) + shift, counts.index.get_level_values(1) - shift,
            s=14 * np.sqrt(counts), facecolor=(COLOURS[k % len(COLOURS)], 0.25), edgecolor=COLOURS[k % len(COLOURS)],
            lw=0.8, label=f"{NO_WIDTH}{named(group)} beside {named(against)}: {yes:,} of {len(part):,} discriminated",
        )  # fmt: skip
    axes.set(
        xlim=(-0.03, 1.03), ylim=(-0.03, 1.03), xlabel=f"approved among the {found.k} nearest of the own group",
        ylabel=f"approved among the {found.k} nearest of the other group",
    )  # fmt: skip
    plain_legend(figure.legend(frameon=False, loc="outside lower center", fontsize="small"))
    return figure
