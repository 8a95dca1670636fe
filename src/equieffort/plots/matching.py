"""Balance of matched people: standardised differences of each feature, before and after."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from markupsafe import Markup

from equieffort.effort.matching.balance import LARGE
from equieffort.plots.display import Display
from equieffort.plots.figures import COLOURS, Canvas, plain_text
from equieffort.report.balance import balance_chart, drawn_rows, label_of, shifts_of
from equieffort.report.panels import stacked

if TYPE_CHECKING:
    from equieffort.results.matched import Matched


def show_balance(found: Matched) -> Display:
    """A panel a comparison; the numbers are `found.balance`."""
    title = "How alike refused people are, before and after they are matched"
    parts = [(_title(found, one.group, one.against), drawn_rows(one.balance)) for one in found.comparisons]

    def svg() -> Markup:
        charts = [
            (name, balance_chart(f"balance-{k}", name, "A row a feature.", shifts_of(rows), LARGE))
            for k, (name, rows) in enumerate(parts)
        ]
        return stacked("balance", title, "Standardised differences, a row a feature.", charts)

    return Display("matched", title, svg, lambda: found.balance, lambda canvas: _draw(parts, canvas))


def _title(found: Matched, group: str, against: str) -> str:
    return f"{found.named(group)} against {found.named(against)}"


def _draw(parts: list[tuple[str, pd.DataFrame]], canvas: Canvas) -> None:
    height = 1.2 + 0.26 * sum(len(rows) + 3 for _, rows in parts)
    panels = canvas.panels((6.4, max(2.8, height)), len(parts), 1)
    for axes, (name, rows) in zip(panels, parts, strict=True):
        y = np.arange(len(rows))
        axes.axvspan(-LARGE, LARGE, color="0.5", alpha=0.2, lw=0, label=f"up to {LARGE:g}")
        axes.axvline(0.0, color="0.4", lw=0.8, ls=":")
        before, after = (rows[key].where(np.isfinite(rows[key])) for key in ("smd_before", "smd_after"))
        axes.plot(before, y, "o", color="0.45", markerfacecolor="white", label="all refused people", gid="before")
        axes.plot(after, y, "s", color=COLOURS[1], label="matched people", gid="after")
        axes.set_yticks(y, [label_of(r.feature, r.level) for r in rows.itertuples()])
        for text in axes.get_yticklabels():
            plain_text(text)
        axes.set_ylim(len(rows) - 0.5, -0.5)
        axes.set_xlabel("difference of means in standard deviations")
        plain_text(axes.set_title(name, loc="left", fontsize=10))
    panels[0].legend(fontsize=8)
