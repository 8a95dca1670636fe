"""What truly became of people, given beside an audit, as favourable or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, aligned, refuse_missing
from equieffort.errors import DataError, listed
from equieffort.recourse.table import RecourseTable


def favourable_labels(table: RecourseTable, labels: Any) -> Bools:
    """Who has the favourable label: labels as the classifier gives them, or True and False, one a person.

    A pandas Series is matched by its index, anything else by position.
    """
    given = aligned(labels, table.data.index, "labels", "labels.loc[audit.recourse.index]", derived=True)
    found = pd.Series(np.asarray(given).reshape(-1) if not isinstance(given, pd.Series) else given.to_numpy())
    if len(found) != len(table):
        raise DataError(
            "DATA_INDEX",
            f"There are {len(found):,} labels for {len(table):,} people.",
            fix="Give one label a person, as a Series with the index of the people or in their order.",
        )
    refuse_missing(found, "What truly became of people", "Leave the labels out, or audit the people who have one.")
    wanted = table.source.schema.favourable
    favourable = list(wanted) if isinstance(wanted, list | tuple | set | frozenset) else [wanted]
    known = found.isin(favourable)
    if known.any() or not pd.api.types.is_bool_dtype(found.dtype):
        if not known.any():
            raise DataError(
                "DATA_INDEX",
                f"No label is {listed(map(str, favourable))}; the labels are {listed(map(str, found.unique()[:10]))}.",
                fix="Give labels as the classifier does, or True where the outcome was favourable.",
            )
        return known.to_numpy(dtype=bool)
    return found.to_numpy(dtype=bool)
