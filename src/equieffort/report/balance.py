"""A Love plot: how far two sides lie apart in each feature, before and after they are matched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import pandas as pd

from equieffort.data.frames import row_dicts
from equieffort.report import svg
from equieffort.report.axes import axis_ends, part_of, tick_text, ticks

ROW, LINE, LABEL = 18.0, 13.0, 150.0
MOST = 15
"""Features that a picture shows, those that differ most before."""
BEFORE, AFTER = svg.Look("other"), svg.Look("group")


@dataclass(frozen=True)
class Shift:
    """Standardised differences of one feature; what is not finite is not drawn."""

    label: str
    before: float
    after: float


def balance_chart(name: str, title: str, described: str, shifts: Sequence[Shift], large: float) -> svg.Picture:
    """A row a feature: a ring before, a mark after, over the differences that are commonly called balanced."""
    values = [value for one in shifts for value in (one.before, one.after) if isfinite(value)]
    ends = axis_ends([-2 * large, 2 * large, *values], [], is_ratio=False, room=0.05)
    left = min(LABEL, max((svg.width_of(one.label, svg.SMALL) for one in shifts), default=0.0) + 10)
    right, top = svg.WIDTH - 10.0, 8.0
    names = [svg.lines_of(one.label, left - 10, svg.SMALL) for one in shifts]
    rows = [ROW + LINE * max(len(lines) - 1, 0) for lines in names]
    bottom = top + sum(rows)

    def x(value: float) -> float:
        return left + part_of(value, ends, False) * (right - left)

    parts = [svg.zone(x(-large), top, x(large) - x(-large), bottom - top)]
    parts.append(svg.rule(x(0.0), top, x(0.0), bottom + 3, "axis", "1 2"))
    for k, one in enumerate(shifts):
        y = top + sum(rows[:k]) + rows[k] / 2
        first = y + 4 - LINE * (len(names[k]) - 1) / 2
        for n, line in enumerate(names[k]):
            parts.append(svg.text(left - 8, first + LINE * n, line, anchor="end", size=svg.SMALL))
        if isfinite(one.before) and isfinite(one.after):
            parts.append(svg.rule(x(one.before), y, x(one.after), y, "grid"))
        parts += [svg.mark(x(v), y, look) for v, look in ((one.before, BEFORE), (one.after, AFTER)) if isfinite(v)]
    parts.append(svg.rule(left, bottom, right, bottom))
    for value in ticks(*ends, 6):
        parts.append(svg.rule(x(value), bottom, x(value), bottom + 3))
        parts.append(svg.text(x(value), bottom + 14, tick_text(value), anchor="middle", size=11))
    parts += [svg.mark(6, bottom + 30, BEFORE), svg.text(16, bottom + 34, "all refused people", size=svg.SMALL)]
    parts += [svg.mark(156, bottom + 30, AFTER), svg.text(166, bottom + 34, "matched people", size=svg.SMALL)]
    key = f"Difference of means in standard deviations. Grey: up to {large:g}, commonly called balanced."
    told, at = svg.key_lines(key, bottom + 52)
    return svg.frame(name, title, described, svg.WIDTH, at - 6, [*parts, *told])


def drawn_rows(balance: pd.DataFrame) -> pd.DataFrame:
    """The features that differ most before; of a flag one level is enough."""
    doubled = balance["level"].ne("") & balance.duplicated("feature", keep="first")
    pairs = balance.groupby("feature")["level"].transform("size") == 2
    kept = balance[~(doubled & pairs)]
    order = kept["smd_before"].abs().fillna(0.0).sort_values(ascending=False, kind="stable").index
    return kept.loc[order].head(MOST)


def shifts_of(rows: pd.DataFrame) -> list[Shift]:
    """As the picture takes them."""
    return [Shift(label_of(r["feature"], r["level"]), r["smd_before"], r["smd_after"]) for r in row_dicts(rows)]


def label_of(feature: object, level: object) -> str:
    """A feature, or one of its levels."""
    return f"{feature} = {level}" if level else str(feature)
