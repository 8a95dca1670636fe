"""Neighbouring notions that speak of people: distances, pairs, single features, improvement, and social burden."""

from __future__ import annotations

from collections.abc import Iterable
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from equieffort.notions.base import NotionReading
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, Canvas, plain_legend, plain_text
from equieffort.plots.looks import looks
from equieffort.plots.twins import MARKERS
from equieffort.report.forest import Panel, Point, forest_chart
from equieffort.report.panels import Plane, Series, plane_chart
from equieffort.world.labels import labels_of

if TYPE_CHECKING:
    from equieffort.data.frames import Floats
    from equieffort.notions.comparing import Found
    from equieffort.world.groups import Groups

APART = 0.28
"""How far people of a row are moved up and down, so that they do not hide each other."""


def show_boundary_distance(found: Found, groups: Groups, level: str) -> Display:
    """Each group's mean distance with its interval, and a mark a refused person."""
    title = "How far refused people are from the boundary"

    def svg() -> Markup:
        rows = _means(found, groups, "boundary_distance")
        panel = Panel("Mean distance to the boundary", _metric(rows), _points(rows, groups), 0.0)
        return forest_chart("boundary-distance", title, "Means with intervals.", [panel], interval=level)

    return Display(
        "boundary_distance", title, svg, found.frame, lambda canvas: _draw_boundary_distance(found, groups, canvas)
    )


def show_awareness(found: Found, groups: Groups) -> Display:
    """A mark a person: the share of their pairs in which the other is scored too differently, by their own score."""
    title = "Share of each person's pairs that are scored too differently"

    def svg() -> Markup:
        look, people = looks(groups), found.people
        series = []
        for label in groups.labels:
            part = people[people["group"] == label]
            shares = (part["violations"] / part["pairs"]).tolist()
            series.append(Series(groups.name(label), part["p"].tolist(), shares, look[label], kind="points"))
        whole = _whole(found)
        plane = Plane(
            series, f"{_score(found)[0]} of the person", "share of their pairs", y_share=True,
            across=whole["estimate"].dropna().tolist(), key="Dotted: the share of all pairs.",
        )  # fmt: skip
        return plane_chart("awareness", title, "A mark a person.", plane)

    return Display(
        "fairness_through_awareness", title, svg, lambda: found.people,
        lambda canvas: _draw_awareness(found, groups, canvas),
    )  # fmt: skip


def show_responsiveness(found: Found, groups: Groups, level: str) -> Display:
    """By feature, then for "nothing helps": each group's share with its interval."""
    title = "How often one feature alone helps refused people, and how often nothing does"

    def svg() -> Markup:
        panels = [
            Panel(_feature(notion, feature, groups).replace("\n", " "), "in per cent", _points(part, groups, 100), 0.0,
                  is_share=True)
            for (notion, feature), part in _blocks(found, groups)
        ]  # fmt: skip
        return forest_chart("responsiveness", title, "Shares with intervals.", panels, interval=level)

    return Display(
        "responsiveness", title, svg, found.frame, lambda canvas: _draw_responsiveness(found, groups, canvas)
    )


def show_improvement(found: Found, groups: Groups) -> Display:
    """A mark a refused person: effort with all actions, and with actions on causes alone."""
    title = "Effort with any action beside effort with actions on causes alone"

    def svg() -> Markup:
        look, people, most = looks(groups), found.people, _most_effort(found)
        series = []
        for label in groups.labels:
            part = people[people["group"] == label]
            ends = part["effort"].astype(float).tolist(), part["improvement"].astype(float).tolist()
            series.append(Series(_either_way(part, groups.name(label)), *ends, look[label], kind="points"))
        plane = Plane(
            series, "effort, any action", "effort, causes alone", (0.0, most), (0.0, most), diagonal=True,
            key="On the dotted line both are the same. People without a route but gaming are not drawn.",
        )  # fmt: skip
        return plane_chart("improvement", title, "A mark a person.", plane)

    return Display(
        "improvement_only", title, svg, lambda: found.people, lambda canvas: _draw_improvement(found, groups, canvas)
    )


def show_social_burden(found: Found, groups: Groups) -> Display:
    """A curve a group: the share of deserving people who are asked for more than an effort. The area is the burden."""
    title = "Deserving people who are asked for more than an effort: the area below a curve is the social burden"

    def svg() -> Markup:
        look, last = looks(groups), _last(found)
        series = []
        for row in _means(found, groups, "social_burden").to_dict("records"):
            efforts, shares = _above(_burdens(found, row["group"]), last)
            series.append(
                Series(_told(row, groups), efforts.tolist(), shares.tolist(), look[row["group"]], kind="steps")
            )
        plane = Plane(series, "effort, at most the budget", "asked for more", (0.0, last), y_share=True)
        return plane_chart("social-burden", title, "Steps, a curve a group.", plane)

    return Display(
        "social_burden", title, svg, lambda: found.people, lambda canvas: _draw_social_burden(found, groups, canvas)
    )


def _means(found: Found, groups: Groups, notion: str) -> pd.DataFrame:
    """Each group's own reading, once."""
    rows = found.frame()
    return rows[(rows["notion"] == notion) & rows["group"].isin(groups.labels)].drop_duplicates("group")


def _blocks(found: Found, groups: Groups) -> list[tuple[tuple[str, str], pd.DataFrame]]:
    rows = found.frame()
    rows = rows[rows["notion"].isin(["responsiveness", "preclusion"]) & rows["group"].isin(groups.labels)]
    rows = rows.drop_duplicates(["notion", "variant", "group"])
    return [((str(a), str(b)), part) for (a, b), part in rows.groupby(["notion", "variant"], sort=False)]


def _feature(notion: str, feature: str, groups: Groups) -> str:
    if notion == "preclusion":
        return "nothing helps\n(preclusion)"
    return f"{labels_of(groups.columns).feature(feature)} alone\nhelps"


def _points(rows: pd.DataFrame, groups: Groups, times: float = 1.0) -> list[Point]:
    found = []
    for row in rows.to_dict("records"):
        shown = [f"{times * row[key]:.3g}" if isfinite(row[key]) else "-" for key in ("estimate", "low", "high")]
        text = f"{shown[0]} ({shown[1]} to {shown[2]})"
        found.append(Point(groups.name(row["group"]), row["estimate"], row["low"], row["high"], text))
    return found


def _score(found: Found) -> tuple[str, ...]:
    """Which score, and the constant, of notions about pairs."""
    read = (one.parts for one in found.readings if isinstance(one, NotionReading) and one.notion == "awareness_share")
    return next(read, ("score", "L"))


def _whole(found: Found) -> pd.DataFrame:
    rows = found.frame()
    return rows[(rows["notion"] == "awareness_share") & (rows["group"] == "")]


def _most_effort(found: Found) -> float:
    values = found.people[["effort", "improvement"]].to_numpy(dtype=float)
    return 1.05 * float(np.nanmax(values, initial=0.0)) or 1.0


def _either_way(part: pd.DataFrame, name: str) -> str:
    gone = int(part["lost"].eq(True).sum())
    told = f"{name}: {int(part['extra'].notna().sum()):,} with either route"
    return told + (f", {gone:,} by gaming alone" if gone else "")


def _burdens(found: Found, group: str) -> Floats:
    people = found.people
    return np.sort(people.loc[people["group"] == group, "burden"].to_numpy(dtype=np.float64))


def _last(found: Found) -> float:
    return (float(found.people["burden"].max()) if len(found.people) else 0.0) or 1.0


def _draw_boundary_distance(found: Found, groups: Groups, canvas: Canvas) -> None:
    """A row a group: a mark a refused person, and the mean with its interval."""
    means = _means(found, groups, "boundary_distance")
    (axes,) = canvas.panels((6.4, 0.75 * len(means) + 1.1))
    for place, row in enumerate(means.to_dict("records")):
        colour = _colour(groups, row["group"])
        own = found.people.loc[found.people["group"] == row["group"], "distance"].dropna()
        axes.plot(own, place + _moved(len(own)), "o", markersize=3, mfc="none", mec=colour, alpha=0.45)
        _interval(axes, row, place, colour)
    _rows(axes, [f"{groups.name(row['group'])}\nn = {row['n']:,}" for row in means.to_dict("records")])
    axes.set_xlim(left=0)
    axes.set_xlabel(f"distance of refused people to the boundary ({_metric(means)})")


def _draw_awareness(found: Found, groups: Groups, canvas: Canvas) -> None:
    """A mark a person: the share of their pairs in which the other is scored too differently, against their own score.

    The line is the share over all pairs.
    """
    (axes,) = canvas.panels((6.4, 4.2))
    people = found.people
    for code, label in enumerate(groups.labels):
        part = people[people["group"] == label]
        colour, mark = _colour(groups, label), MARKERS[code % len(MARKERS)]
        axes.plot(
            part["p"], part["violations"] / part["pairs"], mark, markersize=3, mfc="none", mec=colour, alpha=0.5,
            label=f"{NO_WIDTH}{groups.name(label)}",
        )  # fmt: skip
    whole = _whole(found)
    for row in whole.to_dict("records"):
        axes.axhline(row["estimate"], color="0.3", lw=1)
        axes.annotate(
            f"all pairs: {100 * row['estimate']:.2g} %", (1, row["estimate"]), xycoords=("axes fraction", "data"),
            xytext=(0, 4), textcoords="offset points", ha="right", fontsize="small", color="0.3",
            bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.8},
        )  # fmt: skip
    kind, constant = _score(found)
    axes.set(xlabel=f"{kind} of the person", ylabel=f"pairs scored too differently ({constant})")
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.set_ylim(bottom=0)
    canvas.legend(ncols=4)


def _draw_responsiveness(found: Found, groups: Groups, canvas: Canvas) -> None:
    """Two rows a feature and two for "nothing helps": a group's share with its interval."""
    blocks = _blocks(found, groups)
    height = sum(len(part) for _, part in blocks)
    (axes,) = canvas.panels((6.4, 0.26 * height + 0.3 * len(blocks) + 1.3))
    place, names, places = 0.0, [], []
    for (notion, feature), part in blocks:
        names.append(_feature(notion, feature, groups))
        places.append(place + (len(part) - 1) / 2)
        for row in part.to_dict("records"):
            _interval(axes, row, place, _colour(groups, row["group"]), label=groups.name(row["group"]))
            place += 1
        place += 0.8
    axes.set_yticks(places, names)
    for text in axes.get_yticklabels():
        plain_text(text)
    axes.set_ylim(place - 0.8, -0.7)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.set_xlabel("share of reachable values that are approved, refused people")
    _legend(canvas, axes)


def _draw_improvement(found: Found, groups: Groups, canvas: Canvas) -> None:
    """A mark a refused person: effort with all actions, and with actions on causes alone; at the top who loses it."""
    (axes,) = canvas.panels((5.8, 5.0))
    people, most = found.people, _most_effort(found)
    axes.plot([0, most], [0, most], color="0.6", lw=0.8, zorder=0)
    lost_at = 1.095 * most
    for code, label in enumerate(groups.labels):
        part = people[people["group"] == label]
        colour, mark = COLOURS[code % len(COLOURS)], MARKERS[code % len(MARKERS)]
        gone = part["lost"].eq(True)
        told = f"{NO_WIDTH}{_either_way(part, groups.name(label))}"
        axes.plot(part["effort"], part["improvement"], mark, markersize=4, mfc="none", mec=colour, label=told)
        axes.plot(part.loc[gone, "effort"], np.full(int(gone.sum()), lost_at), "x", markersize=5, mec=colour)
    if people["lost"].eq(True).any():
        axes.axhline(1.03 * most, color="0.85", lw=0.8)
        axes.annotate("no route\nbut gaming", (0, lost_at), xytext=(4, 0), textcoords="offset points", va="center",
                      fontsize="small", color="0.4")  # fmt: skip
    axes.annotate("the same effort", (most, most), ha="right", va="top", fontsize="small", color="0.4")
    axes.set(xlim=(0, most), ylim=(0, 1.16 * most), xlabel="effort, any action", ylabel="effort, causes alone")
    canvas.legend()


def _draw_social_burden(found: Found, groups: Groups, canvas: Canvas) -> None:
    """A curve a group: the share of deserving people who are asked for more than an effort. The area is the burden."""
    (axes,) = canvas.panels((6.4, 4.0))
    last = _last(found)
    for k, row in enumerate(_means(found, groups, "social_burden").to_dict("records")):
        colour = _colour(groups, row["group"])
        x, y = _above(_burdens(found, row["group"]), last)
        axes.step(x, y, where="post", color=colour, ls=STYLES[k % len(STYLES)], label=f"{NO_WIDTH}{_told(row, groups)}")
        axes.fill_between(x, y, step="post", color=colour, alpha=0.12, lw=0)
    axes.set_xlim(0, last * 1.02)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
    axes.set(xlabel="effort, at most the budget", ylabel="deserving people asked for more than that")
    plain_legend(axes.legend(frameon=False, title="social burden: the area below a curve", alignment="left"))


def _above(sorted_values: Floats, last: float) -> tuple[Floats, Floats]:
    """The share above each value, as steps.

    >>> [one.tolist() for one in _above(np.array([0.0, 0.0, 1.0, 2.0]), 2.0)]
    [[0.0, 1.0, 2.0, 2.0], [0.5, 0.25, 0.0, 0.0]]
    """
    x = np.concatenate([[0.0], np.unique(sorted_values[sorted_values > 0]), [last]])
    n = max(len(sorted_values), 1)
    return x, (len(sorted_values) - np.searchsorted(sorted_values, x, side="right")) / n


def _told(row: dict[Any, Any], groups: Groups) -> str:
    within = f" ({row['low']:.3g} to {row['high']:.3g})" if isfinite(row["low"]) else ""
    return f"{groups.name(row['group'])}: {row['estimate']:.3g}{within}, n = {row['n']:,}"


def _interval(axes: Any, row: dict[Any, Any], place: float, colour: str, label: str = "") -> None:
    """An estimate with its limits."""
    if isfinite(row["low"]) and isfinite(row["high"]):
        axes.plot([row["low"], row["high"]], [place, place], color=colour, lw=2)
    if isfinite(row["estimate"]):
        named = {"label": f"{NO_WIDTH}{label}"} if label else {}
        axes.plot([row["estimate"]], [place], "D", color=colour, markersize=6, **named)


def _rows(axes: Any, names: Iterable[str]) -> None:
    told = list(names)
    axes.set_yticks(range(len(told)), told)
    for text in axes.get_yticklabels():
        plain_text(text)
    axes.set_ylim(len(told) - 0.5, -0.5)


def _legend(canvas: Canvas, axes: Any) -> None:
    """Each group once."""
    handles, labels = axes.get_legend_handles_labels()
    once = dict(zip(labels, handles, strict=True))
    canvas.legend(list(once.values()), list(once), ncols=4)


def _moved(n: int) -> Floats:
    """Evenly scattered, the same each time: multiples of the golden ratio."""
    return np.asarray(APART * (2 * ((np.arange(n) * 0.6180339887498949) % 1) - 1), dtype=np.float64)


def _metric(means: pd.DataFrame) -> str:
    return str(means["variant"].iloc[0]) if len(means) else "no metric"


def _colour(groups: Groups, label: str) -> str:
    return COLOURS[groups.labels.index(label) % len(COLOURS)]
