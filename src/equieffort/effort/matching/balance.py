"""How alike matched people are: standardised mean differences, before and after.

The difference of two means in units of the spread before matching, sqrt((s_a^2 + s_b^2) / 2), so that both columns have
one unit (Austin 2009); of a category one row a level, as shares.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.effort.matching.sets import MatchedSets, Rows

COLUMNS = (
    "feature",
    "level",
    "mean",
    "mean_against",
    "mean_matched",
    "mean_against_matched",
    "smd_before",
    "smd_after",
)
LARGE = 0.1
"""Differences beyond it are commonly called imbalance."""


def balance_table(
    data: pd.DataFrame, encoding: Encoding, features: list[str], mine: Rows, theirs: Rows, sets: MatchedSets
) -> pd.DataFrame:
    """A row a number and a row a level of a category; the largest difference after matching first."""
    weights = sets.weights()
    rows = []
    for name in features:
        column = encoding[name]
        values = column.encode(data[name])
        if not column.is_category:
            rows.append([name, "", *_row(values, mine, theirs, sets, weights)])
            continue
        for code, level in enumerate(column.levels):
            is_level = (values == code).astype(np.float64)
            if is_level[mine].any() or is_level[theirs].any():
                rows.append([name, str(level), *_row(is_level, mine, theirs, sets, weights)])
    found = pd.DataFrame(rows, columns=list(COLUMNS))
    order = found["smd_after"].abs().fillna(-1.0).sort_values(ascending=False, kind="stable").index
    return found.loc[order].reset_index(drop=True)


def _row(
    values: Floats, mine: Rows, theirs: Rows, sets: MatchedSets, weights: tuple[Floats, Floats]
) -> tuple[float, float, float, float, float, float]:
    a, b = values[mine], values[theirs]
    spread = float(np.sqrt((_variance(a) + _variance(b)) / 2))
    before = _mean(a), _mean(b)
    if sets.is_empty:
        after = (np.nan, np.nan)
    else:
        after = (float(weights[0] @ values[sets.mine]), float(weights[1] @ values[sets.theirs]))
    return (*before, *after, _over(before[0] - before[1], spread), _over(after[0] - after[1], spread))


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else np.nan


def _variance(values: Floats) -> float:
    return float(values.var(ddof=1)) if len(values) > 1 else 0.0


def _over(gap: float, spread: float) -> float:
    """In units of the spread; without any, equal means are no difference and others have none that is finite."""
    if spread > 0 or np.isnan(gap):
        return gap / spread if spread > 0 else np.nan
    return 0.0 if abs(gap) < 1e-12 else float(np.copysign(np.inf, gap))
