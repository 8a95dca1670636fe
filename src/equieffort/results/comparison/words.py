"""The noise of a comparison in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equieffort.world.groups import group_name

NAMED = ("group", "against", "behind_before", "behind_after")
FEW = 30
"""With fewer people to carry a change than this, their number is said."""


def noise_words(row: dict[str, Any], columns: Sequence[str] = ()) -> str:
    """A row of `AuditComparison.noise` for a reader; `columns` are those whose values name the groups."""
    row = row | {key: group_name(str(row[key]), columns) for key in NAMED}
    name = {"acr": "Ratio of efforts (ACR)", "rd": "Difference in possible recourse (RD)"}[row["measure"]]
    who = f"{name}, {row['group']} against {row['against']}"
    moved = _distance_words(row)
    if row["undefined"]:
        return f"{who}: {row['undefined']}.{f' It is {moved}.' if moved else ''}{_turned_words(row)}"
    facts = f"{who}: {_value(row, 'before')} before, {_value(row, 'after')} after, {_change_words(row)}"
    if np.isnan(row["low"]):
        return f"{facts}; {row['note'] or 'no interval'}{f', {moved}' if moved else ''}.{_turned_words(row)}"
    judged = "beyond noise" if row["beyond_noise"] else "within noise"
    few = f"; it rests on about {max(row['df'], 1):.0f} people" if row["df"] < FEW else ""
    note = f"; {row['note']}" if row["note"] else ""
    return f"{facts}, {judged}{f', {moved}' if moved else ''}{few}{note}.{_turned_words(row)}"


def _value(row: dict[str, Any], when: str) -> str:
    return f"{row[when]:.3g}" if row["measure"] == "acr" else f"{100 * row[when]:.1f} points"


def _change_words(row: dict[str, Any]) -> str:
    known = not np.isnan(row["low"])
    if not known and row["change"] == (1.0 if row["measure"] == "acr" else 0.0):
        return "unchanged"
    if row["measure"] == "acr":
        limits = f" (95 % interval {row['low']:.3g} to {row['high']:.3g})" if known else ""
        return f"{row['change']:.3g} times as large{limits}"
    limits = f" (95 % interval {100 * row['low']:+.1f} to {100 * row['high']:+.1f})" if known else ""
    return f"changed by {100 * row['change']:+.1f} points{limits}"


def undefined_words(before: str, after: str) -> str:
    """Which of the audits has no such measure, and why; empty if both have it."""
    if before and after:
        return f"not defined in either audit: {before}" + (f"; {after} in the second" if before != after else "")
    if before or after:
        return f"not defined in the {'first' if before else 'second'} audit: {before or after}"
    return ""


def _distance_words(row: dict[str, Any]) -> str:
    if row["distance"] == "farther":
        return f"farther from equality, to the disadvantage of {row['behind_after']}"
    if row["distance"] == "closer":
        return "closer to equality"
    return "with no clear change of the distance from equality" if row["beyond_noise"] else ""


def _turned_words(row: dict[str, Any]) -> str:
    if row["turned_beyond_noise"]:
        before, after = row["behind_before"], row["behind_after"]
        return f" The disadvantage turned over: it lay with {before}, now it lies with {after}."
    return " It lies on the other side of equality, which may be chance." if row["turned"] else ""
