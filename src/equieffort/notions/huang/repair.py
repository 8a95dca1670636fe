"""Huang's repair: the least-squares change of outcomes after which two groups need the same treatment for gamma.

    min sum_g sum_i sum_t (y'_gi(t) - y_gi(t))^2    subject to    Psi'_a(gamma) = Psi'_b(gamma)

Psi' of both is some t* of the grid exactly if both means are at least gamma at t* and below gamma before it. For a
given t* every mean at every t is then changed for itself: to gamma where it must rise, to gamma where it must fall,
else not at all; the least change of a mean changes everybody in it alike (with `bounded`, as far as 0 and 1 allow).
All t* are tried, so the answer is exact.

"Below" is strict, so the least change is approached and not attained: `infimum` is its limit, and what is returned
stays `MARGIN` below gamma.

References
----------
W. Huang, Y. Wu, L. Zhang, X. Wu (2020). Fairness through Equality of Effort. WWW Companion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats, percent
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.huang.minimum_effort import ROUNDING

MARGIN = 1e-6


def shifted(values: Floats, mean: float, *, bounded: bool = False) -> Floats:
    """The nearest values, in squares, that have this mean; with `bounded` those between 0 and 1.

    >>> shifted(np.array([0.0, 1.0]), 0.75).tolist(), shifted(np.array([0.0, 1.0]), 0.75, bounded=True).tolist()
    ([0.25, 1.25], [0.5, 1.0])
    """
    distance = mean - float(values.mean())
    if not bounded:
        return values + distance
    if distance < 0:
        return 1.0 - shifted(1.0 - values, 1.0 - mean, bounded=True)
    order = np.sort(values)[::-1]
    n = len(values)
    # With the j largest at 1 the others rise alike; the first j at which none of them passes 1 is the answer.
    full = np.arange(n)
    rest = np.cumsum(order[::-1])[::-1]
    rises = (n * mean - full - rest) / (n - full)
    fits = order + rises <= 1.0 + ROUNDING
    return np.minimum(values + rises[int(fits.argmax())], 1.0) if fits.any() else np.ones(n)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of one group over the grid, in the order in which effort grows: (people, grid).

    Where only means are known there is one row, which stands for all of them.
    """

    values: Floats
    weight: float = 1.0
    """How many people a row stands for."""

    @property
    def means(self) -> Floats:
        """The curve."""
        return np.asarray(self.values.mean(axis=0))

    def to_mean(self, at: int, mean: float, bounded: bool) -> tuple[Floats, float]:
        """One column with another mean, and the squares of the change."""
        changed = shifted(self.values[:, at], mean, bounded=bounded)
        return changed, self.weight * float(((changed - self.values[:, at]) ** 2).sum())


def least_change(groups: tuple[Outcomes, ...], gamma: float, *, bounded: bool, margin: float) -> tuple[int, float]:
    """The t* at which the groups meet with the least change, and the squares of that change."""
    size = groups[0].values.shape[1]
    rise, fall = np.zeros(size), np.zeros(size)
    for group in groups:
        means = group.means
        for k in range(size):
            if means[k] < gamma - ROUNDING:
                rise[k] += group.to_mean(k, gamma, bounded)[1]
            if means[k] > gamma - margin:
                fall[k] += group.to_mean(k, gamma - margin, bounded)[1]
    total = rise + np.concatenate([[0.0], np.cumsum(fall)[:-1]])
    at = int(total.argmin())
    return at, float(total[at])


def repaired(group: Outcomes, at: int, gamma: float, *, bounded: bool) -> Outcomes:
    """The outcomes changed as little as t* asks."""
    values, means = group.values.astype(np.float64, copy=True), group.means
    for k in range(at):
        if means[k] > gamma - MARGIN:
            values[:, k] = group.to_mean(k, gamma - MARGIN, bounded)[0]
    if means[at] < gamma - ROUNDING:
        values[:, at] = group.to_mean(at, gamma, bounded)[0]
    return Outcomes(values, group.weight)


@dataclass(frozen=True, eq=False, repr=False)
class Repair(Shown):
    """Outcomes under which two groups need the same treatment for gamma, before and after."""

    gamma: float
    group: str
    against: str
    at: float
    """The treatment at which both groups then reach gamma."""
    summary: pd.DataFrame
    """Rows before and after: Psi of both, delta, aed over the gammas at which it is defined before and after alike, and
    the share of the gammas asked about at which it is."""
    curve: pd.DataFrame
    """group, t, before, after: E[Y(t)]."""
    size: float
    """The sum of the squared changes, over people and treatments."""
    infimum: float
    """What no change with delta = 0 is below; approached as the margin below gamma goes to 0."""
    changed: float
    """The share of all outcomes that change."""
    outcomes: dict[str, pd.DataFrame] | None
    """By group: everybody's changed outcome at each t; None where only means of groups are known (weighting)."""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        before, after = (dict(self.summary.loc[when]) for when in ("before", "after"))
        same = _same(before["share"], after["share"])
        return [
            f"Repair at gamma = {self.gamma:g}: {self.group} and {self.against} both reach it at {self.at:g}.",
            f"delta {_shown(before['delta'])} before, {_shown(after['delta'])} after; "
            f"AED {_shown(before['aed'])} before, {_shown(after['aed'])} after{same}.",
            f"Squares of the changes: {self.size:.4g} in all; {self.changed * 100:.1f} % of the outcomes change.",
        ]

    def _told(self) -> Told:
        first, *lines = self._lines()
        care = ["Outcomes are changed on paper, to measure how far from equal they are; nobody is decided otherwise."]
        return Told(first, lines, {"Before and after": self.summary.rename_axis("when")}, care, ".summary, .curve")


def _shown(value: Any) -> str:
    return "not defined" if np.isnan(value) else f"{value:.4g}"


def _same(before: Any, after: Any) -> str:
    """At which gammas AED is compared, where it is not at all that were asked about."""
    if min(before, after) >= 1 - ROUNDING:
        return ""
    shares = [percent(share) if share > 0 else "none" for share in (before, after)]
    return f", at the gammas where both are defined ({shares[0]} of those asked about before, {shares[1]} after)"
