"""The change of log ACR or RD between two audits, with its interval: closed form, people in both audits paired.

Each estimate is, up to terms that vanish, a sum of values psi, one a person. Whoever is in both audits adds psi_2 -
psi_1 to the change, so that what the audits share cancels; whoever is in one of them adds -psi_1 or psi_2. The variance
is V = sum psi^2. It is itself uncertain when few people carry it: nu = 2 V^2 / (sum psi^4 - V^2 / n) degrees of
freedom, about the number of people the change rests on. The interval is that of Student's t.

Model and equations are taken as given: chance is which people were audited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from equieffort.data.frames import Floats
from equieffort.recourse.table import RecourseTable
from equieffort.results.comparison.people import Pairs

LEVEL = 0.95
DUST = 1e-12
"""Differences of equal sums can leave this share of them."""


@dataclass(frozen=True)
class Change:
    """A change with its standard error, degrees of freedom and 95 % limits; NaN where there is none."""

    estimate: float
    se: float = np.nan
    df: float = np.nan
    note: str = ""

    @property
    def limits(self) -> tuple[float, float]:
        """The interval; NaN without one, never a width of zero."""
        if np.isnan(self.se):
            return np.nan, np.nan
        reach = float(student.ppf((1 + LEVEL) / 2, self.df)) * self.se
        return self.estimate - reach, self.estimate + reach


def log_ratio_values(table: RecourseTable, group: str, against: str) -> Floats | None:
    """psi of log ACR, a value a person; None where it has no variance to be known (fewer than two with an action)."""
    values, effort = np.zeros(len(table)), table.effort
    for label, sign in ((group, 1.0), (against, -1.0)):
        acting = table.has_action & _in(table, label)
        k, costs = int(acting.sum()), effort[acting]
        mean = float(costs.mean()) if k else 0.0
        if k < 2 or not mean > 0:
            return None
        values[acting] = sign * (costs - mean) / (k * mean) * np.sqrt(k / (k - 1))
    return values


def difference_values(table: RecourseTable, group: str, against: str) -> Floats | None:
    """psi of RD, a value a person; None with fewer than two refused people."""
    values = np.zeros(len(table))
    for label, sign in ((group, -1.0), (against, 1.0)):
        refused = table.is_unfavourable & _in(table, label)
        n, acts = int(refused.sum()), table.has_action[refused]
        if n < 2:
            return None
        values[refused] = sign * (acts - acts.mean()) / n * np.sqrt(n / (n - 1))
    return values


def _in(table: RecourseTable, label: str) -> np.ndarray:
    return table.groups.codes == table.groups.labels.index(label)


def change(estimate: float, before: Floats | None, after: Floats | None, pairs: Pairs, people: int) -> Change:
    """The change of an estimate, given the psi of both audits; `people` is how many are in either of them."""
    if np.isnan(estimate):
        return Change(np.nan)
    if np.isinf(estimate):
        return Change(estimate, note="one of the groups needs no effort at all, so that there is no interval")
    if before is None or after is None:
        return Change(estimate, note="too few people for an interval")
    values = joined(before, after, pairs)
    variance, fourth = float((values**2).sum()), float((values**4).sum())
    if variance <= DUST**2 * float((before**2).sum() + (after**2).sum()):
        return Change(estimate, note="the same for everybody, so that chance has no part in it")
    rest = fourth - variance**2 / people
    return Change(estimate, float(np.sqrt(variance)), 2 * variance**2 / rest if rest > 0 else np.inf)


def joined(before: Floats, after: Floats, pairs: Pairs) -> Floats:
    """The values of the change, one a person in either audit."""
    left, right = pairs[:, 0], pairs[:, 1]
    alone, other = np.ones(len(before), dtype=bool), np.ones(len(after), dtype=bool)
    alone[left] = other[right] = False
    return np.concatenate([after[right] - before[left], -before[alone], after[other]])
