"""Pictures of a monitor: the evidence and the ratio after each batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, Canvas
from equieffort.report.panels import Plane, Series, plane_chart, stacked
from equieffort.report.svg import Look

if TYPE_CHECKING:
    import pandas as pd

MOST_TICKS = 8
WIDEST = 5.0
"""Where nothing is excluded a band goes to the end of the grid of ratios."""
TITLES = {"restricted_effort": "Refused people's effort", "burden": "Burden on everybody"}
RATIOS = (0.2, 0.3, 0.5, 0.67, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0)
FINE = (0.9, 1.1)
"""Ratios that get a tick, and those that have room for one only where the axis is short."""


class MonitorPlots:
    """Draws one monitor's state."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def evidence(self) -> Display:
        """Evidence over time above, the ratio with its confidence sequence below; a column a measure.

        The numbers are `state.history`.
        """
        title = "Evidence of unequal effort, and the ratio, after each batch"
        return Display("evidence", title, lambda: self._svg(title), lambda: self.state.history, self._draw)

    def _svg(self, title: str) -> Markup:
        fixed, history, charts = self.state.fixed, self.state.history, []
        zone = (1 / fixed.tau, fixed.tau) if fixed.tau > 1 else None
        for measure in fixed.measures:
            above, below = [], []
            for k, (group, against) in enumerate(fixed.compared):
                mine = (history["measure"] == measure) & (history["group"] == group) & (history["against"] == against)
                part, name, look = history[mine], fixed.title(group, against), Look("group", k)
                batches = part["batch"].astype(float).tolist()
                above.append(Series(name, batches, (part["log_e"] / np.log(10)).tolist(), look))
                ends = [
                    np.clip(part[key].to_numpy(dtype=float), 1 / WIDEST, WIDEST).tolist() for key in ("low", "high")
                ]
                below.append(Series(name, batches, part["estimate"].astype(float).tolist(), look, *ends))
            alarm = float(np.log10(fixed.alarm_at))
            first = Plane(above, "batch", "evidence, powers of ten", across=[alarm], key="Dotted: alarm.")
            ratio = f"Shaded: {100 * fixed.level:.3g} % confidence sequence."
            second = Plane(below, "batch", "ratio", log_y=True, across=[1.0], zone=zone, key=ratio)
            charts.append((f"{TITLES[measure]}: evidence", plane_chart(f"e-{measure}", title, "", first)))
            charts.append((f"{TITLES[measure]}: ratio", plane_chart(f"r-{measure}", title, "", second)))
        return stacked("evidence", title, "Evidence and ratio by batch.", charts)

    def _draw(self, canvas: Canvas) -> None:
        fixed, history = self.state.fixed, self.state.history
        measures = fixed.measures
        panels = canvas.panels((4.6 * len(measures), 5.6), 2, len(measures), sharex=True)
        grid = np.array(panels, dtype=object).reshape(2, len(measures))
        for column, measure in enumerate(measures):
            upper, lower = grid[0, column], grid[1, column]
            upper.set_title(TITLES[measure], loc="left", fontsize="medium")
            for k, (group, against) in enumerate(fixed.compared):
                rows = (history["measure"] == measure) & (history["group"] == group) & (history["against"] == against)
                part = history[rows]
                look = {"color": COLOURS[k % len(COLOURS)], "linestyle": STYLES[k % len(STYLES)], "markersize": 3}
                name = f"{NO_WIDTH}{fixed.title(group, against)}"
                _draw_evidence(upper, part, look, name)
                _draw_ratio(lower, part, look)
            self._finish(upper, lower, history)
            if column == 0:
                upper.set_ylabel("evidence (log scale)")
                lower.set_ylabel(f"ratio, {100 * fixed.level:.3g} % confidence sequence")
        handles, names = grid[0, 0].get_legend_handles_labels()
        canvas.legend(handles, names, ncols=3)

    def _finish(self, upper: Any, lower: Any, history: pd.DataFrame) -> None:
        """Alarm line, equal zone, and the days below."""
        fixed = self.state.fixed
        upper.axhline(np.log10(fixed.alarm_at), color="0.2", lw=0.9, label=f"alarm at {fixed.alarm_at:.4g}")
        low, high = upper.get_ylim()
        upper.set_ylim(min(low, -0.5), max(high, np.log10(fixed.alarm_at) + 0.4))
        upper.yaxis.get_major_locator().set_params(integer=True)
        upper.yaxis.set_major_formatter(lambda value, _: f"{10**value:,.10g}" if -3 <= value <= 4 else f"1e{value:.0f}")
        if fixed.tau > 1:
            lower.axhspan(-np.log2(fixed.tau), np.log2(fixed.tau), color="0.5", alpha=0.15, lw=0)
        lower.axhline(0, color="0.4", lw=0.8)
        low, high = lower.get_ylim()
        wanted = RATIOS if high - low > 1.5 else (*RATIOS, *FINE)
        ticks = [ratio for ratio in wanted if low <= np.log2(ratio) <= high]
        lower.set_yticks(np.log2(ticks), [f"{ratio:g}" for ratio in ticks])
        lower.set_ylim(low, high)
        days = history.drop_duplicates("batch")
        shown = np.unique(np.linspace(0, len(days) - 1, min(len(days), MOST_TICKS)).round().astype(int))
        lower.set_xticks(days["batch"].iloc[shown], days["date"].iloc[shown], rotation=30, ha="right")


def _draw_evidence(axes: Any, part: pd.DataFrame, look: dict[str, Any], name: str) -> None:
    height = part["log_e"] / np.log(10)
    axes.plot(part["batch"], height, marker="o", label=name, **look)
    raised = part["peak"] >= np.log(part["alarm_at"])
    if raised.any():
        first = part[raised].iloc[0]
        axes.plot(first["batch"], first["peak"] / np.log(10), "o", ms=9, mfc="none", mec="0.1", zorder=5)
        is_late = first["batch"] > part["batch"].max() / 2
        axes.annotate(
            f"alarm {first['date']}", (first["batch"], first["peak"] / np.log(10)), xytext=(-9 if is_late else 9, -4),
            textcoords="offset points", ha="right" if is_late else "left", fontsize="small",
        )  # fmt: skip


def _draw_ratio(axes: Any, part: pd.DataFrame, look: dict[str, Any]) -> None:
    with np.errstate(divide="ignore", invalid="ignore"):
        estimate, low, high = (np.log2(part[name].to_numpy(dtype=float)) for name in ("estimate", "low", "high"))
    ends = np.log2(WIDEST)
    axes.plot(part["batch"], np.where(np.isfinite(estimate), estimate, np.nan), marker="o", **look)
    axes.fill_between(
        part["batch"], np.clip(low, -ends, ends), np.clip(high, -ends, ends), color=look["color"], alpha=0.15, lw=0
    )
