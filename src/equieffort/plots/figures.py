"""Figures and axes to draw on: matplotlib is imported here alone, and never through its global state."""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.errors import ParameterError

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
NO_WIDTH = "\u200b"
"""A space that takes no room: matplotlib leaves names with an underscore in front out of the legend."""
STYLES = ("-", "--", ":", "-.")


def new_figure(size: tuple[float, float] = (6.4, 4.0), columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes, side by side."""
    canvas = Canvas()
    found = canvas.panels(size, 1, columns)
    return canvas.figure, found if columns > 1 else found[0]


class Canvas:
    """Where a picture is drawn: a figure of its own, or axes that the caller gives."""

    def __init__(self, ax: Any = None) -> None:
        self.given = ax
        self.figure: Any = None
        self.axes: list[Any] = []

    def panels(
        self, size: tuple[float, float] = (6.4, 4.0), rows: int = 1, columns: int = 1, *, sharex: bool = False
    ) -> list[Any]:
        """Axes below and beside each other; those of the caller are used, or divided, where there are any."""
        grid = {"squeeze": False, "sharex": sharex}
        if self.given is None:
            try:
                from matplotlib.figure import Figure
            except ImportError as error:
                raise ParameterError(
                    "OPTIONAL_DEPENDENCY",
                    "Figures need matplotlib.",
                    fix="Run pip install 'equieffort[plot]'; `.svg` and `.frame()` need nothing.",
                ) from error
            self.figure = Figure(figsize=size, layout="constrained")
            self.axes = list(self.figure.subplots(rows, columns, **grid).flat)
        else:
            self.axes = self._taken(rows, columns, grid)
            self.figure = self.axes[0].figure
        for axes in self.axes:
            axes.spines[["top", "right"]].set_visible(False)
        return self.axes

    def _taken(self, rows: int, columns: int, grid: dict[str, Any]) -> list[Any]:
        n = rows * columns
        given = list(np.ravel(np.asarray(self.given, dtype=object)))
        if any(not hasattr(one, "get_subplotspec") for one in given) or len(given) not in (1, n):
            raise ParameterError(
                "PARAMETER",
                f"ax is not {n} of matplotlib's axes.",
                fix=f"Give one, which is divided where the picture has several parts, or {n}, or leave ax out.",
            )
        if len(given) == n:
            return given
        (whole,) = given
        place = whole.get_subplotspec()
        if place is None:
            raise ParameterError(
                "PARAMETER",
                "ax stands in no grid of axes and cannot be divided.",
                fix=f"Give {n} axes, or plt.subplots().",
            )
        whole.set_axis_off()
        return list(place.subgridspec(rows, columns).subplots(**grid).flat)

    def title(self, words: str, **look: Any) -> None:
        """Above everything, as it is written."""
        if self.given is None:
            plain_text(self.figure.suptitle(words, **look))
        elif not self.axes[0].get_title(loc="left"):
            plain_text(self.axes[0].set_title(words, loc="left", **look))

    def legend(self, handles: Any = None, names: Any = None, **look: Any) -> None:
        """Below everything."""
        both = () if handles is None else (handles, names)
        if self.given is None:
            made = self.figure.legend(*both, loc="outside lower center", frameon=False, fontsize="small", **look)
        else:
            made = self.axes[0].legend(*both, frameon=False, fontsize="small")
        plain_legend(made)


def plain_legend(legend: Any) -> None:
    """Names of a legend as they are."""
    for text in legend.get_texts():
        plain_text(text).set_text(text.get_text().removeprefix(NO_WIDTH))


def plain_text(text: Any) -> Any:
    """Text that is shown as it is: a dollar sign in a name is no formula."""
    text.set_parse_math(False)
    return text
