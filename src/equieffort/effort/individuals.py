"""Every refused person against those like them: a row each, with guarded intervals and an adjusted p-value.

One neighbourhood rarely decides anything: it has few people on either side. So most rows are inconclusive, also where
effort is grossly unequal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from equieffort.effort.criteria import Criteria, TwoSided
from equieffort.effort.inference.guarded import Sides, benjamini_hochberg, gap_limits, gap_tail, variance
from equieffort.effort.neighbours import sweep
from equieffort.effort.verdict import INDIVIDUAL
from equieffort.recourse.table import RecourseTable
from equieffort.world.distances import BoundDistance
from equieffort.world.groups import Versus


def individuals(
    table: RecourseTable, distance: BoundDistance, quantile: float, criteria: Criteria, group: str | None = None
) -> pd.DataFrame:
    """One row a refused person and group compared with; the most certain first.

    `p` is Holm-adjusted over the two measures, `p_adjusted` by Benjamini and Hochberg over everybody looked at;
    `n_looked_at` says how many that were.
    """
    groups = table.groups
    codes = groups.codes.astype(np.int64)
    refused = table.is_unfavourable
    wanted = refused if group is None else refused & (codes == groups.labels.index(group))
    centres = np.flatnonzero(wanted)
    member = np.where(refused, codes, -1)
    effort = table.effort
    first = sweep(distance, centres, [quantile], member, effort, len(groups.labels))
    with np.errstate(over="ignore"):
        second = sweep(distance, centres, [quantile], member, effort * effort, len(groups.labels))
    parts = []
    for one in groups.centred:
        rows = codes[centres] == one.group
        if rows.any():
            parts.append(_compared(table, first, second, rows, one, criteria))
    if not parts:
        return pd.DataFrame(columns=list(COLUMNS))
    found = pd.concat(parts, ignore_index=True)
    looked_at = int(found["p"].notna().sum())
    found["p_adjusted"] = benjamini_hochberg(found["p"].to_numpy())
    wrong = 1 - (criteria.level if criteria.level is not None else 0.95)
    # Nothing is called unequal that its own interval does not carry.
    named = (found["p_adjusted"] <= wrong) & (found["p"] <= wrong)
    # Nor of anybody whose neighbours could turn out otherwise.
    named &= not (criteria.certified and table.is_unsettled.any())
    found["outcome"] = np.where(named, "unequal", "inconclusive")
    found["n_looked_at"] = looked_at
    return found.sort_values("p", kind="stable", ignore_index=True)[list(COLUMNS)]


COLUMNS = (
    "person", "group", "against", "acr", "acr_low", "acr_high", "rd", "rd_low", "rd_high", "p", "p_adjusted", "outcome",
    "n", "n_against", "n_refused", "n_refused_against", "n_looked_at", "note",
)  # fmt: skip


def _compared(
    table: RecourseTable, first: Any, second: Any, rows: Any, pair: Versus, criteria: Criteria
) -> pd.DataFrame:
    # What is summed around a centre adds over groups.
    sides_of = ([pair.group], list(pair.others))
    level = criteria.level if criteria.level is not None else 0.95
    n, m = (first.acting[rows, 0][:, k].sum(axis=1).astype(np.float64) for k in sides_of)
    r, s = (first.size[rows, 0][:, k].sum(axis=1).astype(np.float64) for k in sides_of)
    total = [first.cost[rows, 0][:, k].sum(axis=1) for k in sides_of]
    square = [second.cost[rows, 0][:, k].sum(axis=1) for k in sides_of]
    with np.errstate(all="ignore"):
        sides = Sides(
            n, m, total[0] / n, total[1] / m, variance(n, total[0], square[0]), variance(m, total[1], square[1])
        )
    few = (n < INDIVIDUAL) | (m < INDIVIDUAL)
    estimate, half = sides.log_ratio, sides.half(level)
    edge = np.log(criteria.tau)
    beyond = sides.tail(estimate - edge)
    if isinstance(criteria.rule, TwoSided):
        beyond = np.minimum(1.0, 2 * np.minimum(beyond, sides.tail(-edge - estimate)))
    low, high = gap_limits(n, r, m, s, float(ndtri((1 + level) / 2)))
    gap = np.minimum(
        1.0, 2 * np.minimum(gap_tail(n, r, m, s, criteria.epsilon), gap_tail(m, s, n, r, criteria.epsilon))
    )
    thin = (r < INDIVIDUAL) | (s < INDIVIDUAL)
    p_ratio, p_gap = np.where(few | ~(half > 0), np.nan, beyond), np.where(thin, np.nan, gap)
    p_ratio = p_ratio if "acr" in criteria.judged else np.full(len(n), np.nan)
    p_gap = p_gap if "rd" in criteria.judged else np.full(len(n), np.nan)
    asked = (~np.isnan(p_ratio)).astype(int) + ~np.isnan(p_gap)
    least = np.fmin(p_ratio, p_gap)
    note = np.where(thin, "TOO_FEW", np.where(few, "TOO_FEW for acr", ""))
    if table.is_unsettled.any():
        note = np.char.strip(np.char.add(note, " UNCERTIFIED"))
    with np.errstate(all="ignore"):
        return pd.DataFrame(
            {
                "person": table.index[first.centres[rows]],
                "group": table.groups.labels[pair.group],
                "against": pair.against,
                "acr": np.exp(estimate),
                "acr_low": np.where(few, np.nan, np.exp(estimate - half)),
                "acr_high": np.where(few, np.nan, np.exp(estimate + half)),
                "rd": m / s - n / r,
                "rd_low": np.where(thin, np.nan, low),
                "rd_high": np.where(thin, np.nan, high),
                "p": np.minimum(1.0, least * asked),
                "n": n.astype(np.int64),
                "n_against": m.astype(np.int64),
                "n_refused": r.astype(np.int64),
                "n_refused_against": s.astype(np.int64),
                "note": note,
            }
        )
