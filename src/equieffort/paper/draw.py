"""Our curve with its band over the published one, a picture a figure."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pandas as pd

from equieffort.paper.catalogue import QUANTILE, Figure
from equieffort.plots.figures import COLOURS, STYLES, new_figure

OURS, THEIRS = "ours", "published"


def draw(figure: Figure, preset: str, ours: pd.DataFrame, published: pd.DataFrame, truth: pd.DataFrame) -> Any:
    """The matplotlib figure; `ours`, `published` and `truth` are the rows of this figure alone."""
    picture, axes = new_figure((6.4, 4.3))
    if figure.name.startswith("fig-boxplot"):
        _boxes(axes, ours, published)
    elif figure.name.endswith("-alpha"):
        _sweep(axes, ours, truth)
    else:
        _curves(axes, ours, published, truth)
    return _labelled(picture, axes, f"{figure.title} ({preset})", figure.xlabel, figure.ylabel)


def _labelled(picture: Any, axes: Any, title: str, xlabel: str, ylabel: str) -> Any:
    """With a grid, and the legend below the axes, where it hides no curve."""
    axes.set_title(title, fontsize=10)
    axes.set(xlabel=xlabel, ylabel=ylabel)
    axes.grid(alpha=0.25, lw=0.6)
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        picture.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=7.5, frameon=False)
    return picture


def save(picture: Any, folder: Path, name: str) -> None:
    """Write PNG and SVG."""
    picture.savefig(folder / f"{name}.png", dpi=130)
    # No date in the file, so that the same numbers give the same bytes.
    picture.savefig(folder / f"{name}.svg", metadata={"Date": None})


def _curves(axes: Any, ours: pd.DataFrame, published: pd.DataFrame, truth: pd.DataFrame) -> None:
    labelled = False
    for k, (series, part) in enumerate(ours.groupby("series", sort=False)):
        colour = COLOURS[k]
        flat = part["ours"].nunique() == 1 and len(part) == 2
        mark = None if flat else "o"
        _banded(axes, part, colour, alpha=0.18, lw=1.8, marker=mark, ms=3.5, label=f"{series}: {OURS}")
        theirs = published[published["series"] == series]
        axes.plot(
            theirs["x"], theirs["published"], color=colour, ls=":", lw=1.4, marker=None if flat else "x", ms=5,
            label=f"{series}: {THEIRS}",
        )  # fmt: skip
        if theirs["published_low"].notna().any():
            for end in ("published_low", "published_high"):
                axes.plot(theirs["x"], theirs[end], color=colour, ls=":", lw=0.6, alpha=0.8)
        known = truth[truth["series"] == series]
        label = "endless sample (closed form)" if len(known) and not labelled else None
        labelled = labelled or len(known) > 0
        if len(known) == 1:
            axes.axhline(float(known["truth"].iloc[0]), color=colour, ls="--", lw=0.8, alpha=0.8, label=label)
        elif len(known):
            axes.plot(known["x"], known["truth"], color="0.35", ls="--", lw=1.0, label=label)
    axes.set_ylim(bottom=0)


def _sweep(axes: Any, ours: pd.DataFrame, truth: pd.DataFrame) -> None:
    from matplotlib import colormaps

    names = list(dict.fromkeys(ours["series"]))
    shades = colormaps["viridis"](np.linspace(0.05, 0.85, len(names)))
    for series, colour in zip(names, shades, strict=True):
        part = ours[ours["series"] == series]
        _banded(axes, part, colour, lw=1.6, marker="o", ms=3)
        axes.annotate(
            series, (part["x"].iloc[-1], part["ours"].iloc[-1]), xytext=(16, -3), textcoords="offset points",
            fontsize=8, color=colour,
        )  # fmt: skip
        known = truth[truth["series"] == series]
        if len(known):
            axes.plot([0.955, 1.045], [float(known["truth"].iloc[0])] * 2, color=colour, ls="--", lw=1.8)
    axes.set_xlim(right=1.13)
    if ours["ours"].max() > 2:
        axes.set_yscale("log")
        axes.set_yticks([1, 2, 5, 10], ["1", "2", "5", "10"])
        axes.set_ylim(0.8, 14)
        axes.minorticks_off()


def _boxes(axes: Any, ours: pd.DataFrame, published: pd.DataFrame) -> None:
    labels, ticks = [], []
    for rows, column, offset, colour in ((published, "published", -0.19, "#999999"), (ours, "ours", 0.19, COLOURS[0])):
        for x, part in rows.groupby("x"):
            place = float(cast("float", x))
            numbers = dict(zip((series.rsplit(" ", 1)[1] for series in part["series"]), part[column], strict=True))
            fliers = [numbers.pop("flier")] if "flier" in numbers else []
            drawn = axes.bxp(
                [numbers | {"fliers": fliers}], positions=[place + offset], widths=0.32, patch_artist=True,
                medianprops={"color": "black"}, flierprops={"markersize": 4}, manage_ticks=False,
            )  # fmt: skip
            drawn["boxes"][0].set(facecolor=colour, alpha=0.75)
            if column == "published":
                ticks.append(place)
                name = part["series"].iloc[0].rsplit(" ", 1)[0]
                labels.append(
                    name.replace("synthetic alpha=2", "synthetic,\n$\\alpha=2$,").replace("German", "German,\n")
                )
    axes.set_xticks(ticks, labels)
    for column, colour in (("published", "#999999"), ("ours", COLOURS[0])):
        axes.plot([], [], lw=8, color=colour, alpha=0.75, label=column)


def draw_extra(item: Any) -> Any:
    """A further picture: one line a series, with its band."""
    picture, axes = new_figure((6.4, 4.3))
    for k, (series, part) in enumerate(item.series.groupby("series", sort=False)):
        _banded(axes, part, COLOURS[k], ls=STYLES[k % len(STYLES)], lw=1.8, marker="o", ms=3, label=series)
    axes.axhline(1 if item.ylabel == "ACR" else 0, color="0.4", lw=0.8)
    return _labelled(picture, axes, item.title, QUANTILE, item.ylabel)


def _banded(axes: Any, part: pd.DataFrame, colour: Any, alpha: float = 0.12, **look: Any) -> None:
    """Our curve over its band."""
    axes.plot(part["x"], part["ours"], color=colour, **look)
    axes.fill_between(part["x"], part["ours_low"], part["ours_high"], color=colour, alpha=alpha, lw=0)
