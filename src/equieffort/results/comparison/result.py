"""AuditComparison: what changed between two audits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from equieffort.data.frames import row_dicts
from equieffort.effort.verdict import Verdict
from equieffort.errors import many
from equieffort.results.comparison.people import CHANGES
from equieffort.results.comparison.words import noise_words
from equieffort.world.groups import group_name

SAID = {"more effort": "with more effort", "less effort": "with less effort", "unknown": "with unknown recourse"}
"""How some changes are said of a number of people."""


@dataclass(frozen=True, eq=False)
class AuditComparison:
    """The changes from one audit (before) to another (after)."""

    before: Verdict
    after: Verdict
    by_group: pd.DataFrame
    """A row a group: n, n_unfavourable, phi, rho, acr and rd before, after and their change."""
    people: pd.DataFrame
    """A row a person in both audits whose status or cost changed: group, status and cost before and after, change."""
    counts: pd.DataFrame
    """A row a group: how many people changed how."""
    noise: pd.DataFrame
    """A row a comparison and measure.

    `before`, `after`; `change`, the factor by which ACR or the difference by which RD changed, its 95 % confidence
    interval (`low`, `high`) with its degrees of freedom `df`, about the number of people it rests on, whether it lies
    `beyond_noise`, and a `note`; `distance` from equality ("farther", "closer", "within noise", "undefined"), of how
    many draws nothing could be said of it; whether the disadvantage `turned` from one group to the other, and whether
    it did so beyond noise; with whom it lay and lies (`behind_before`, `behind_after`); why a measure is `undefined`
    (empty if it is not).
    """
    matched: int
    only_before: int
    only_after: int
    rescaled: bool

    @property
    def is_worse(self) -> bool:
        """Whether effort became unequal, or that of a protected group moved away from equality beyond noise."""
        became = self.after.outcome == "unequal" and self.before.outcome != "unequal"
        rows = self.noise[self.noise["role"] == "protected"]
        return bool(became or (rows["distance"] == "farther").any())

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold, through `exports.plain`."""
        return {
            "before": {"outcome": self.before.outcome, "text": str(self.before)},
            "after": {"outcome": self.after.outcome, "text": str(self.after)},
            "worse": self.is_worse,
            "by_group": self.by_group.to_dict("records"),
            "counts": self.counts.to_dict("records"),
            "noise": self.noise.to_dict("records"),
            "people": self.people.reset_index(names="label").to_dict("records"),
            "matched": self.matched,
            "only_before": self.only_before,
            "only_after": self.only_after,
            "rescaled": self.rescaled,
        }

    def __str__(self) -> str:
        lines = [f"Verdict: {self.before.outcome} before, {self.after.outcome} after."]
        columns = next((finding.comparison.columns for finding in self.before.findings), ())
        lines += [noise_words(row, columns) for row in row_dicts(self.noise)]
        lines.append(
            f"{many(self.matched, 'person is', 'people are')} in both audits, {self.only_before:,} only in the first "
            f"and {self.only_after:,} only in the second."
        )
        for row in self.counts.to_dict("records"):
            happened = [f"{row[one]:,} {SAID.get(one, one)}" for one in CHANGES if row[one] and one != "unchanged"]
            lines.append(f"  {group_name(row['group'], columns)}: {', '.join(happened) or 'nobody changed'}")
        if self.rescaled:
            lines.append(
                "Costs of the second audit were recomputed at the first one's prices, for the actions it had chosen: "
                "cheaper ones may exist at these prices."
            )
        return "\n".join(lines)
