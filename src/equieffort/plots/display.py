"""Display: a picture with its numbers. Computing is apart from drawing, as in scikit-learn.

`svg` is the report's own picture and needs no other library, `frame()` the numbers behind it; `plot()` draws with
matplotlib, on axes of your own where they are given, and leaves `figure_` and `ax_`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pandas as pd

from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.errors import ParameterError, closest, listed
from equieffort.plots.figures import Canvas

if TYPE_CHECKING:
    from markupsafe import Markup

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


class Display:
    """A picture: `svg` and `frame()` always; `figure_` and `ax_` after `plot()`, which needs matplotlib."""

    figure_: Any
    """matplotlib's figure, after `plot`."""
    ax_: Any
    """Its axes, after `plot`: one, or an array of several."""

    def __init__(
        self, name: str, title: str, svg: Callable[[], Markup], frame: Callable[[], pd.DataFrame],
        draw: Callable[[Canvas], None], remark: str = "",
    ) -> None:  # fmt: skip
        self.name, self.title, self.remark = name, title, remark
        self._svg, self._frame, self._draw = svg, frame, draw

    @cached_property
    def svg(self) -> str:
        """The picture as SVG text that stands alone."""
        drawn = str(self._svg())
        drawn = drawn[drawn.index("<svg") : drawn.rindex("</svg>") + len("</svg>")]
        alone = f'<svg xmlns="http://www.w3.org/2000/svg" font-family="{FONT}" style="background:#fff;color:#1b1b1b"'
        return alone + drawn[len("<svg") :].replace(' style="min-width', ' data-style="min-width', 1)

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """The numbers behind the picture; `output` is "pandas", "polars" or "pyarrow"."""
        return as_output(self._frame(), output)

    def plot(self, ax: Any = None) -> Display:
        """Draw with matplotlib, on a figure of its own or on `ax`: axes, or several where the picture has parts."""
        canvas = Canvas(ax)
        self._draw(canvas)
        self.figure_ = canvas.figure
        self.ax_ = canvas.axes[0] if len(canvas.axes) == 1 else np.array(canvas.axes, dtype=object)
        return self

    def save(self, path: str | PathLike[str], *, kind: str | None = None, dpi: float = 150) -> Path:
        """Write a file, of the kind that its name ends in: "svg" needs nothing, any other is drawn with matplotlib."""
        out = Path(path)
        ending = (out.suffix if kind is None else kind).lstrip(".").lower() or "png"
        if ending == "svg":
            out.write_text(self.svg, encoding="utf-8")
        else:
            figure = self.plot().figure_
            known = sorted({"svg", *figure.canvas.get_supported_filetypes()})
            if ending not in known:
                raise ParameterError(
                    "PARAMETER",
                    f"{out.name!r} ends in {ending!r}, which is no kind of picture. {closest(ending, known)}".rstrip(),
                    fix=f"Give a name that ends in one of {listed(known, 20)}.",
                )
            figure.savefig(out, format=ending, dpi=dpi)
        return out

    def __repr__(self) -> str:
        return f"Display of {self.title!r}\nMore: .svg, .frame(), .plot(ax=None), .save('{self.name}.svg')"

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_html_(self) -> str:
        said = f"<figcaption>{escape(self.remark)}</figcaption>" if self.remark else ""
        look = "background:#fff;color:#1b1b1b;padding:12px;margin:0;max-width:560px;overflow-x:auto"
        whole = self.svg.replace("<svg ", '<svg class="equieffort-picture" ', 1)
        fits = "<style>.equieffort-picture{width:100%;height:auto}</style>"
        return f'<figure style="{look}">{fits}<strong>{escape(self.title)}</strong>{whole}{said}</figure>'
