"""What chance in the ranks themselves adds to the interval of a mean effort by rank.

Where people are ranked among the audited people of their own group, other people would rank them otherwise. The mean
effort C of N people whose actions move them from x_i to x'_i hangs on all n people j of the group in two ways: j pays
C_j, if counted, and is overtaken by those whose move passes j. So it is spread as the mean over the group of

    (n / N) 1{j counted} (C_j - mean) + psi_j,    psi_j = 1/N sum over i counted of w_i 1{x_i < x_j <= x'_i}

(Hájek's projection; w_i is what one of a person's ranks costs them, and that actions are chosen again changes nothing
in the first order). Without the second part intervals are too short where everybody of a group moves alike. Of the
largest gain within an effort w_i is less what a little more effort would gain: whoever is overtaken takes it away.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.means import Side
from equieffort.effort.stats import ExactSum, Sums
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.table import RecourseTable

ROUNDING = 1e-9
"""Of a variance: nothing is added where nobody moves."""


@dataclass(frozen=True, eq=False)
class Moves:
    """Where people are, where their least effort takes them, and what that costs them, by person and ranked feature."""

    before: Floats
    after: Floats
    paid: Floats

    @classmethod
    def of(cls, problem: RecourseProblem, table: RecourseTable) -> Moves:
        """Of a table that was solved by ranks."""
        rows, k = np.arange(len(table)), len(problem.numeric)
        before = table.source.facts(rows)[:, list(problem.numeric)]
        picked, values = table.source.interventions(table, rows)
        moving = picked[:, :k] & table.has_action[:, None]
        after = np.where(moving, values[:, :k], before)
        paid = np.where(moving, table.source.costs(table, rows)[:, :k], 0.0)
        return cls(before, after, paid)

    def among(self, rows: npt.NDArray[np.intp], feature: int) -> tuple[Floats, Floats, Floats]:
        """Of some people in one feature."""
        return self.before[rows, feature], self.after[rows, feature], self.paid[rows, feature]

    def spread(self, rows: npt.NDArray[np.intp], facts: Floats) -> Moves:
        """These as some rows of more people, of whom the others stay as they are."""
        after, paid = facts.copy(), np.zeros(facts.shape)
        after[rows], paid[rows] = self.after, self.paid
        return Moves(facts, after, paid)


@dataclass(frozen=True, eq=False)
class RankChance:
    """People who are ranked among each other, of whom some are read."""

    among: Floats
    """(person ranked among, feature)."""
    codes: npt.NDArray[np.integer]
    """The groups within which they are ranked."""
    rows: npt.NDArray[np.intp]
    """Who of them is read."""

    def widened(
        self, side: Side, members: Bools, counted: Bools, values: Floats, moves: Moves, worth: Floats
    ) -> Side:  # fmt: skip
        """The side of a comparison with the spread that its mean value has with its ranks, where that is larger.

        `members` are of those ranked among, all else of those read: by how much their values rise with what their moves
        cost is `worth`.
        """
        n = int(counted.sum())
        if n < 2 or n != side.sums.n or not side.sums.variance > 0:
            return side
        times = self.variance(members, counted, values, moves, worth) * n / side.sums.variance
        if not times > 1 + ROUNDING:
            return side
        sums, least, most = (_with_variance(one, times) for one in (side.sums, side.least, side.most))
        return replace(side, sums=sums, least=least, most=most)

    def variance(self, members: Bools, counted: Bools, values: Floats, moves: Moves, worth: Floats) -> float:
        """Of the mean value of those counted."""
        own = np.zeros(len(self.among))
        own[self.rows[counted]] = values[counted] - values[counted].mean()
        n = int(members.sum())
        parts = (own * n + self._overtaken(n, np.where(counted, worth, 0.0), moves)) / counted.sum()
        return float(parts[members].var(ddof=1)) / n if n > 1 else 0.0

    def _overtaken(self, n: int, worth: Floats, moves: Moves) -> Floats:
        """By how much each person changes the values of those who overtake them."""
        found = np.zeros(len(self.among))
        for code in np.unique(self.codes):
            mine = np.flatnonzero(self.codes == code)
            whom = np.flatnonzero((worth != 0) & (self.codes[self.rows] == code))
            for k in range(self.among.shape[1]):
                # Of a side of several groups each has its own ranks, which fewer people make.
                found[mine] += _passed(self.among[mine, k], moves.among(whom, k), worth[whom]) * n / len(mine)
        return found


def _passed(values: Floats, move: tuple[Floats, Floats, Floats], worth: Floats) -> Floats:
    """For each value what a rank is worth to those whose move in a feature passes it, together."""
    before, after, paid = move
    shift = np.abs(np.subtract(*_ranks(values[~np.isnan(values)], np.stack([after, before]))))
    price = np.divide(worth * paid, shift, out=np.zeros_like(shift), where=shift > 0)
    total = np.zeros(len(values))
    for sign, end in ((1, np.minimum(before, after)), (-1, np.maximum(before, after))):
        order = np.argsort(end, kind="stable")
        sums = np.concatenate([[0.0], np.cumsum(price[order])])
        total += sign * sums[np.searchsorted(end[order], values, side="left")]
    return np.where(np.isnan(values), 0.0, total)


def _ranks(values: Floats, at: Floats) -> Floats:
    """Shares of values at or below, straight between them, and beyond them by one over their range."""
    ordered, counts = np.unique(values, return_counts=True)
    if len(ordered) < 2:
        return np.zeros(at.shape)
    beyond = np.minimum(at - ordered[0], 0) + np.maximum(at - ordered[-1], 0)
    return np.asarray(np.interp(at, ordered, np.cumsum(counts) / len(values)) + beyond / (ordered[-1] - ordered[0]))


def _with_variance(sums: Sums, times: float) -> Sums:
    """The same mean of as many values with so many times the variance."""
    if sums.n < 2 or not sums.variance > 0:
        return sums
    square = times * sums.variance * (sums.n - 1) + sums.total.over(1) ** 2 / sums.n
    return replace(sums, square=ExactSum.of(square))
