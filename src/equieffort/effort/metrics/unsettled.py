"""Who is not solved to the end, and how much of the intervals' width each of them is responsible for."""

from __future__ import annotations

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable


def unsettled(table: RecourseTable, members: Bools | None = None) -> pd.DataFrame:
    """One row a person whose action may not be the cheapest, or of whom nothing is known; the widest gap first.

    `gap` is how much cheaper an action may be than the one found or, where none was found, how far apart the least and
    the most are that one could cost.
    """
    chosen = table.is_unsettled if members is None else table.is_unsettled & members
    rows = np.flatnonzero(chosen)
    most = np.where(table.status[rows] == Status.UNKNOWN, table.ceiling[rows], table.cost[rows])
    frame = pd.DataFrame(
        {
            "group": np.array(table.groups.labels, dtype=object)[table.groups.codes[rows]],
            "status": [Status(code).text for code in table.status[rows].tolist()],
            "cost": table.cost[rows],
            "bound": table.bound[rows],
            "gap": most - table.bound[rows],
            "reason": table.told(table.source.reasons(table, rows.tolist())),
        },
        index=table.index[rows],
    )
    # Whether there is an action at all weighs more than what it costs; rows stay in their order at a tie.
    order = np.lexsort((-frame["gap"].to_numpy(), frame["status"].to_numpy() != Status.UNKNOWN.text))
    return frame.iloc[order]
