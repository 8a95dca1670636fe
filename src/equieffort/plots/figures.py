"""Empty figures: matplotlib is imported here alone, and never through its global state."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any

from equieffort.errors import ParameterError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
NO_WIDTH = "\u200b"
"""A space that takes no room: matplotlib leaves names with an underscore in front out of the legend."""
STYLES = ("-", "--", ":", "-.")
FARTHEST = 8.0
"""What is far from everything else is drawn at most so many times beyond it, on an axis of ratios."""


def axis_ends(
    near: Iterable[float], far: Iterable[float] = (), *, is_ratio: bool, room: float = 0.06
) -> tuple[float, float]:
    """The range of an axis: all that is near, what is far as far as it goes, and a share of that as room."""
    least = 0.0 if is_ratio else -inf
    near, far = ([value for value in values if least < value < inf] for values in (near, far))
    low, high = min(near), max(near)
    if is_ratio:
        far = [min(max(value, low / FARTHEST), high * FARTHEST) for value in far]
    low, high = min([low, *far]), max([high, *far])
    if is_ratio:
        factor = (high / low) ** room if high > low else 1.2
        return low / factor, high * factor
    more = (high - low) * room or 0.05
    return low - more, high + more


def new_figure(size: tuple[float, float] = (6.4, 4.0), columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes, side by side."""
    figure, found = new_figures(1, size, columns)
    return figure, found if columns > 1 else found[0]


def new_figures(rows: int, size: tuple[float, float], columns: int = 1) -> tuple[Any, list[Any]]:
    """An empty figure with axes below or beside each other."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY", "Plots need matplotlib.", fix="Run pip install 'equieffort[plot]'."
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    found = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in found:
        axes.spines[["top", "right"]].set_visible(False)
    return figure, found


def plain_legend(legend: Any) -> None:
    """Names of a legend as they are."""
    for text in legend.get_texts():
        plain_text(text).set_text(text.get_text().removeprefix(NO_WIDTH))


def plain_text(text: Any) -> Any:
    """Text that is shown as it is: a dollar sign in a name is no formula."""
    text.set_parse_math(False)
    return text
