"""From coded people to subgroups with tests and bounds that allow for all that were searched.

Flag: the two-sided p-value of "within the tolerance" is twice the smaller of the one-sided ones (each the largest of
three tests for a ratio of means, the larger of two for shares), adjusted over all m subgroups searched, in all
comparisons, by Holm (the chance of any wrong flag) or Benjamini and Hochberg (the expected share of wrong flags).
Certify: one-sided bounds at (1 - level) / 2m.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference import Holm
from equieffort.effort.inference.guarded import benjamini_hochberg
from equieffort.effort.measures import MEASURES
from equieffort.effort.search.coding import Coded
from equieffort.effort.search.counted import COUNT, OPEN, SIZE, TOTAL, Counted
from equieffort.effort.search.laws import law_of
from equieffort.effort.search.tables import AXES, Ints, Sides, Subgroups, find_subgroups

ADJUST = {"holm": "Holm", "bh": "Benjamini-Hochberg"}


@dataclass(frozen=True)
class Asked:
    """What is searched for, and how sure a flag and a bound must be."""

    measure: str = "acr"
    conditions: int = AXES
    tau: float = 1.0
    """A ratio up to this, either way, is no inequality."""
    epsilon: float = 0.0
    """Nor is a gap up to this, for `rd`."""
    two_sided: bool = True
    adjust: str = "holm"
    level: float = 0.95
    fewest: int = 50
    fewest_certified: int = 200
    certified: bool = True
    """Subgroups with people who are not solved to the end are not flagged."""


@dataclass(frozen=True, eq=False)
class Found:
    """One element a subgroup, those flagged first, then the worst first."""

    subgroups: Subgroups
    order: Ints
    """Rows of the subgroups in this order; all else is in this order already."""
    pair: Ints
    estimate: Floats
    low: Floats
    high: Floats
    p: Floats
    p_adjusted: Floats
    flagged: Bools
    bound: Floats
    """The worst value of the measure that is left possible, for all at once; NaN where none is certified."""
    n: Ints
    n_against: Ints
    note: npt.NDArray[np.str_]
    searched: int
    """Subgroups with a test: what p-values and bounds are adjusted for."""
    undefined: int


def search(
    coded: Coded, group: Ints, counted: Counted, pairs: Sequence[Sides], asked: Asked, *, flags: bool = True
) -> Found:
    """Search everybody of the compared groups; without `flags` nothing is concluded."""
    codes = np.where(counted.who, group, -1).astype(np.int64)
    subgroups = find_subgroups(
        coded.features, coded.codes, codes, counted.values, pairs, conditions=asked.conditions, fewest=asked.fewest
    )
    return _judged(subgroups, asked, flags)


def _judged(subgroups: Subgroups, asked: Asked, flags: bool) -> Found:
    mine, theirs, measure = subgroups.mine, subgroups.theirs, MEASURES[asked.measure]
    law, is_gap = law_of(asked.measure, mine, theirs), measure.threshold == "epsilon"
    estimate = law.estimate
    edge, other = (asked.epsilon, -asked.epsilon) if is_gap else (asked.tau, 1 / asked.tau)
    # The test towards the other side has a p-value of 1/2 or more, and is not asked.
    above = estimate > measure.neutral if asked.two_sided else np.full(len(estimate), measure.orientation > 0)
    p = np.full(len(estimate), np.nan)
    p[above] = law_of(asked.measure, mine[above], theirs[above]).greater(edge)
    p[~above] = law_of(asked.measure, mine[~above], theirs[~above]).less(other)
    p = np.minimum(1.0, 2 * p) if asked.two_sided else p
    p = np.where(np.isnan(estimate), np.nan, p)
    asks = ~np.isnan(p)
    m = int(asks.sum())
    alpha = 1 - asked.level
    adjusted = np.array(Holm().adjust(p.tolist())) if asked.adjust == "holm" else benjamini_hochberg(p)
    unsolved = mine[:, OPEN] + theirs[:, OPEN] > 0
    with np.errstate(invalid="ignore", divide="ignore"):
        flagged = (adjusted <= alpha) & flags & ~(unsolved & asked.certified)
        low, high = (np.where(asks, end, np.nan) for end in law.limits(alpha / 2))
        bound = np.full(len(p), np.nan)
        smaller = np.minimum(mine[:, SIZE], theirs[:, SIZE])
        sure = asks & ~unsolved & (smaller >= asked.fewest_certified) & flags
        if sure.any():
            certain = law_of(asked.measure, mine[sure], theirs[sure])
            bound[sure] = certain.bound(alpha / (2 * m), upper=measure.orientation > 0)
        away = measure.orientation * (estimate if is_gap else np.log(estimate))
        away = np.abs(away) if asked.two_sided else away
    order = np.lexsort((np.where(asks, p, 2.0), -np.where(np.isnan(away), -np.inf, away), ~asks, ~flagged))
    return Found(
        subgroups, order, subgroups.pair[order], estimate[order], low[order], high[order], p[order], adjusted[order],
        flagged[order], bound[order], mine[order, COUNT].astype(np.int64), theirs[order, COUNT].astype(np.int64),
        _notes(asked.measure, mine, theirs, asks, unsolved)[order], m, int((~asks).sum()),
    )  # fmt: skip


def _notes(
    measure: str, mine: Floats, theirs: Floats, asks: Bools, unsolved: Bools
) -> npt.NDArray[np.str_]:  # fmt: skip
    with np.errstate(invalid="ignore"):
        nothing = (mine[:, TOTAL] == 0) | (theirs[:, TOTAL] == 0)
    why = np.where(np.isnan(mine[:, TOTAL]), "NO_BUDGET", np.where(nothing, "ZERO_EFFORT", "NO_SPREAD"))
    why = np.full(len(asks), "NOBODY_APPROVED") if measure == "impact_ratio" else why
    note = np.where(asks, "", why)
    return np.char.strip(np.char.add(note, np.where(unsolved, " UNCERTIFIED", "")))
