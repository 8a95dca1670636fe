"""A forest plot of the measures: the judged ones over the zone that counts as equal, then two beside them."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import pandas as pd

from equieffort.effort.measures import Measure
from equieffort.plots.figures import Canvas, plain_text
from equieffort.report.axes import axis_ends
from equieffort.words.shown import (
    front_measures,
    interval_text,
    known_measures,
    level_text,
    ratio_marks,
    system_measures,
    title_of,
    under_chance,
    value_text,
    zone_ends,
)

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

INK, SOFT = "0.1", "0.45"


def measures_frame(audit: Audit) -> pd.DataFrame:
    """The rows of `audit.measures` that are drawn: of judged comparisons, the judged measures and two more."""
    judged = {(finding.comparison.group, finding.comparison.against) for finding in audit.verdict.findings}
    frame = system_measures(audit.system, audit.own_rows)
    is_judged = [pair in judged for pair in zip(frame["group"], frame["against"], strict=True)]
    frame = under_chance(frame[is_judged])
    return frame[frame["measure"].isin(front_measures(audit.criteria))].reset_index(drop=True)


def draw_measures(audit: Audit, canvas: Canvas) -> None:
    """Axes below each other, one a measure; a row a judged comparison."""
    frame = measures_frame(audit)
    known = known_measures(audit.own)
    names = [name for name in front_measures(audit.criteria) if name in set(frame["measure"])]
    panels = max(len(names), 1)
    lines = len(frame[["group", "against"]].drop_duplicates())
    all_axes = canvas.panels((6.4, 0.5 + panels * (0.62 + 0.22 * max(lines, 1))), panels)
    ratios = [name for name in names if known[name].scale.name == "log"]
    for name, axes in zip(names, all_axes, strict=False):
        together = ratios if name in ratios else [name]
        ends = _ends(audit, frame[frame["measure"].isin(together)], known)
        _draw(audit, frame[frame["measure"] == name], known[name], axes, ends)
    if names:
        others = [audit.recourse.groups.name(name) for name in frame["against"].unique()]
        whom = f"Against {others[0]}" if len(others) == 1 else "Pairs of groups"
        words = f"{whom}, with {level_text(audit.criteria)} intervals"
        if not frame["assigned_least"].isna().all():
            words += "; wide bars: however people\nwhose group is not known are assigned"
        canvas.title(words, fontsize=10)


def _ends(audit: Audit, part: pd.DataFrame, known: dict[str, Measure]) -> tuple[float, float]:
    """The range of an axis: estimates, zones and, as far as they go, intervals."""
    near, is_ratio = [*part["estimate"]], False
    for name in part["measure"].unique():
        measure = known[name]
        is_ratio = measure.scale.name == "log"
        zone = zone_ends(audit.criteria, measure) if name in audit.criteria.judged else None
        near += [measure.neutral, *(zone or ())]
    far = [end for key in ("low", "high", "assigned_least", "assigned_most") for end in part[key]]
    return axis_ends(near, far, is_ratio=is_ratio)


def _draw(audit: Audit, part: pd.DataFrame, measure: Measure, axes: Any, ends: tuple[float, float]) -> None:
    is_judged, is_ratio = measure.name in audit.criteria.judged, measure.scale.name == "log"
    if is_ratio:
        axes.set_xscale("log")
    axes.set_xlim(*ends)
    if is_ratio:
        axes.minorticks_off()
        axes.set_xticks(ratio_marks(*ends))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value if is_ratio else round(100 * value, 6):g}")
    axes.axvline(measure.neutral, color="0.4", lw=0.8, ls=":")
    zone = zone_ends(audit.criteria, measure) if is_judged else None
    if zone is not None:
        axes.axvspan(
            max(zone[0], ends[0]), min(zone[1], ends[1]), color="0.5", alpha=0.2, lw=0, label="counts as equal"
        )
    colour, mark = (INK, "s") if is_judged else (SOFT, "o")
    for k, row in enumerate(part.to_dict("records")):
        if row["assigned_least"] <= row["assigned_most"]:
            shown = [min(max(row[key], ends[0]), ends[1]) for key in ("assigned_least", "assigned_most")]
            bar = {"color": colour, "lw": 7, "alpha": 0.25, "solid_capstyle": "butt"}
            axes.plot(shown, [k, k], **bar, gid=f"assigned {row['group']}")
        if row["low"] <= row["high"]:
            shown = [min(max(row[key], ends[0]), ends[1]) for key in ("low", "high")]
            axes.plot(shown, [k, k], color=colour, lw=1.8, gid=f"interval {row['group']}")
        if isfinite(row["estimate"]):
            fill = colour if is_judged else "white"
            axes.plot([row["estimate"]], [k], mark, color=colour, markerfacecolor=fill, gid=f"estimate {row['group']}")
        words = f"{value_text(measure, row['estimate'])} ({interval_text(measure, row['low'], row['high'])})"
        axes.text(1.02, k, words, transform=axes.get_yaxis_transform(), va="center", fontsize=8)
    axes.set_ylim(len(part) - 0.5, -0.5)
    name = audit.recourse.groups.name
    names = [name(group) for group in part["group"]]
    if part["against"].nunique() > 1:
        names = [f"{mine} / {name(theirs)}" for mine, theirs in zip(names, part["against"], strict=True)]
    axes.set_yticks(range(len(part)), names)
    for text in axes.get_yticklabels():
        plain_text(text)
    words = title_of(measure, measure.name) + ("" if is_judged else " (not judged)")
    plain_text(axes.set_title(words, loc="left", fontsize=9, fontweight="bold" if is_judged else "normal"))
