"""What a table of recourse says of itself where it is echoed or shown in a notebook."""

from __future__ import annotations

import numpy as np
import pandas as pd

from equieffort.errors import many
from equieffort.foundations.shown import Told
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable

NOT_A_REASON = (
    "An action looks forward: what would turn the decision. It is not the reason for the decision and replaces no "
    "notice of reasons."
)
SOLVED_ONCE = "Each action was replayed through the equations and the model's own label; costs are those of the schema."


def table_told(table: RecourseTable) -> Told:
    """People by group and status, and the spread of efforts."""
    rows = []
    for code in table.groups.listed:
        mine = table.groups.codes == code
        efforts = table.effort[mine & table.has_action]
        row = {"group": table.groups.name(table.groups.labels[code]), "people": int(mine.sum())}
        row |= {status.text: int((table.status[mine] == status).sum()) for status in Status}
        median = float(np.median(efforts)) if len(efforts) else float("nan")
        rows.append(row | {"median effort with a route": median})
    refused, acting = int(table.is_unfavourable.sum()), int(table.has_action.sum())
    lines = [f"{refused:,} of {many(len(table), 'person', 'people')} refused, {acting:,} of them with an action"]
    found = [(name, int((table.status == name).sum())) for name in Status if name != Status.NOT_NEEDED]
    lines.append(", ".join(f"{n:,} {name.text}" for name, n in found if n) or "nobody to solve")
    return Told("Recourse of every person", lines, {"": pd.DataFrame(rows)}, _table_care(table), ".frame(), .cost")


def _table_care(table: RecourseTable) -> list[str]:
    care = []
    if n := int((table.status == Status.UNKNOWN).sum()):
        care.append(
            f"Of {many(n, 'refused person', 'refused people')} nothing is known: no action found, none excluded."
        )
    if n := int((table.status == Status.FEASIBLE).sum()):
        care.append(f"The action of {many(n, 'refused person', 'refused people')} may not be the cheapest.")
    if n := len(dict.fromkeys(limit.feature for limit in table.source.schema.assumed)):
        set_to = f"{many(n, 'feature', 'features')} may be set"
        care.append(f"Nobody declared how far {set_to}: the observed values are the limits.")
    return [*care, SOLVED_ONCE, NOT_A_REASON]
