"""Who is not solved to the end, and how much of the intervals' width each of them is responsible for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable


def unsettled_rows(table: RecourseTable, members: Bools | None = None) -> npt.NDArray[np.intp]:
    """Who has an action that may not be the cheapest, or nothing known at all; the widest gap first."""
    rows = np.flatnonzero(table.is_unsettled if members is None else table.is_unsettled & members)
    # Whether there is an action at all weighs more than what it costs; rows stay in their order at a tie.
    return rows[np.lexsort((-_gap(table, rows), table.status[rows] != Status.UNKNOWN))]


def _gap(table: RecourseTable, rows: npt.NDArray[np.intp]) -> Floats:
    most = np.where(table.status[rows] == Status.UNKNOWN, table.ceiling[rows], table.cost[rows])
    return most - table.bound[rows]


def unsettled(table: RecourseTable) -> pd.DataFrame:
    """One row a person who is not solved to the end, the widest gap first.

    `gap` is how much cheaper an action may be than the one found or, where none was found, how far apart the least and
    the most are that one could cost.
    """
    rows = unsettled_rows(table)
    return pd.DataFrame(
        {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]],
            "status": [Status(code).text for code in table.status[rows].tolist()],
            "cost": table.cost[rows],
            "bound": table.bound[rows],
            "gap": _gap(table, rows),
            "reason": table.told(table.source.reasons(table, rows.tolist())),
        },
        index=table.index[rows],
    )
