"""What each person adds to a measure: columns that are summed by subgroup."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable

MEASURED = ("acr", "rd", "restricted_effort", "burden", "impact_ratio")
COUNT, TOTAL, SQUARE, SIZE, OPEN = range(5)
KEYS = slice(5, 7)
"""Columns of what is summed: people counted, their values and squares, those the least number is asked of, those not
solved to the end, and two whole numbers that tell people apart."""


@dataclass(frozen=True, eq=False)
class Counted:
    """Who counts, and with what."""

    who: Bools
    values: Floats

    @classmethod
    def of(cls, who: Bools, value: Floats, *, size: Bools | None = None, unsolved: Bools | None = None) -> Counted:
        """People with a value each; `size` are those of whom there must be enough, by default all who count."""
        n = len(who)
        value = np.where(who, value, 0.0)
        columns = [who, value, value * value, who if size is None else size]
        columns.append(np.zeros(n) if unsolved is None else unsolved)
        bits = 52 - max(n - 1, 1).bit_length()
        keys = np.random.default_rng(0).integers(0, 2**bits, size=(n, 2))
        return cls(who, np.column_stack([*columns, keys]).astype(np.float64))


def count_people(table: RecourseTable, measure: str, budget: float | None) -> Counted:
    """The people of a table as one of the measures sees them."""
    refused, acting = table.is_unfavourable, table.has_action
    unknown, unsettled = table.status == Status.UNKNOWN, table.is_unsettled
    everybody = np.ones(len(table), dtype=bool)
    if measure == "impact_ratio":
        return Counted.of(everybody, (~refused).astype(np.float64))
    if measure == "rd":
        return Counted.of(refused, acting.astype(np.float64), unsolved=unknown)
    effort = table.effort
    if measure == "acr":
        found = Counted.of(acting, effort, unsolved=unsettled)
        # Whoever may have a route is open in a subgroup that holds them, though not counted.
        return Counted(acting | unknown, found.values)
    most = np.nan if budget is None else budget
    capped = np.where(refused, np.minimum(np.where(acting, effort, np.inf), most), 0.0)
    if measure == "burden":
        return Counted.of(everybody, capped, size=refused, unsolved=unsettled)
    return Counted.of(refused, capped, unsolved=unsettled)
