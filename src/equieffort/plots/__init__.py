"""Pictures of an audit. Each returns a matplotlib figure; the numbers behind it come from the method it names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from equieffort.effort.metrics import PAPER_QUANTILES
from equieffort.plots.effort import draw_effort_curve
from equieffort.plots.figures import COLOURS, NO_WIDTH, STYLES, new_figure
from equieffort.plots.forest import draw_measures

if TYPE_CHECKING:
    from equieffort.results.audits import Audit


class AuditPlots:
    """Draws one audit."""

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    def acr(self, quantiles: Sequence[float] = PAPER_QUANTILES) -> Any:
        """ACR against the quantile with its 95 % confidence limits; the numbers are `audit.curve(quantiles)`."""
        figure, axes = new_figure()
        curve, names = self.audit.curve(quantiles), self.audit.recourse.groups.name
        for k, ((group, against), part) in enumerate(curve.groupby(["group", "against"], sort=False)):
            colour, style = COLOURS[k % len(COLOURS)], STYLES[k % len(STYLES)]
            # matplotlib leaves names with an underscore in front out of the legend; the space has no width.
            name = f"{names(str(group))} against {names(str(against))}"
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

    def measures(self) -> Any:
        """The judged measures over the zone that counts as equal, then two more; the numbers are `audit.measures`."""
        return draw_measures(self.audit)

    def effort_curve(self, *, difference: bool = False) -> Any:
        """The share of each group's refused whom an effort turns; the numbers are `audit.effort_curve(...)`."""
        return draw_effort_curve(self.audit, difference=difference)
