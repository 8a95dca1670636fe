"""Pictures of an audit. Each returns a matplotlib figure; the numbers behind it come from the method it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equieffort.errors import ParameterError
from equieffort.metrics import PAPER_QUANTILES

if TYPE_CHECKING:
    from equieffort._audit import Audit

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
NO_WIDTH = "\u200b"
"""A space that takes no room."""


class AuditPlots:
    """Draws one audit."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def acr(self, quantiles: Sequence[float] = PAPER_QUANTILES) -> Any:
        """ACR against the quantile with its 95 % confidence limits; the numbers are `audit.curve(quantiles)`."""
        figure, axes = new_figure()
        curve = self.audit.curve(quantiles)
        for k, ((group, against), part) in enumerate(curve.groupby(["group", "against"], sort=False)):
            colour, style = COLOURS[k % len(COLOURS)], ("-", "--", ":", "-.")[k % 4]
            # matplotlib leaves names with an underscore in front out of the legend; the space has no width.
            name = f"{group} against {against}"
            name = f"{NO_WIDTH}{name}" if name.startswith("_") else name
            axes.plot(part["quantile"], part["acr"], style, color=colour, marker="o", markersize=3, label=name)
            axes.fill_between(part["quantile"], part["acr_low"], part["acr_high"], color=colour, alpha=0.15, lw=0)
        tau = self.audit.criteria.tau
        axes.axhspan(
            *self.audit.criteria.rule.ends(tau), color="0.5", alpha=0.12, lw=0, label=f"equal within tau = {tau:g}"
        )
        axes.axhline(1, color="0.4", lw=0.8)
        axes.set(xlabel="share of all people counted as neighbours", ylabel="effort of own group / other group (ACR)")
        for text in axes.legend(frameon=False).get_texts():
            # A dollar sign in a name is no formula.
            text.set_parse_math(False)
            text.set_text(text.get_text().removeprefix(NO_WIDTH))
        return figure


def new_figure(size: tuple[float, float] = (6.4, 4.0), columns: int = 1) -> tuple[Any, Any]:
    """An empty figure and its axes, side by side; matplotlib is imported here alone."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY", "Plots need matplotlib.", fix="Run pip install 'equieffort[plot]'."
        ) from error
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots(1, columns)
    for one in axes if columns > 1 else (axes,):
        one.spines[["top", "right"]].set_visible(False)
    return figure, axes
