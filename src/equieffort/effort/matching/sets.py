"""MatchedSets: who was matched with whom, what each person weighs, and sums over people that share nobody.

Two forms: pairs, in which people may occur more than once, and strata, in which everybody of a group is compared with
everybody of the other. Either says how a mean of the matched people varies: `contrast` gives an estimate's influence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.laws import Fixed, Law, Student

Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Contrast:
    """Values of both sides as a comparison takes them: weighted means, and what each cluster of people adds to it."""

    mean: float
    mean_against: float
    n: int
    """People of the group that it rests on."""
    n_against: int
    psi: Floats
    """What each cluster adds to the estimate's deviation."""
    variance: float

    def law(self, estimate: float, least: float, most: float) -> Law:
        """Student's, with as many degrees of freedom as there are clusters that carry the variance."""
        clusters = len(self.psi)
        if clusters < 2 or not self.variance > 0:
            return Fixed(estimate, least=least, most=most)
        widened = self.variance * clusters / (clusters - 1)
        fourth = float((self.psi**4).sum()) - float((self.psi**2).sum()) ** 2 / clusters
        carriers = 2 * float((self.psi**2).sum()) ** 2 / fourth if fourth > 0 else inf
        return Student(estimate, sqrt(widened), max(1.0, min(carriers, clusters - 1.0)), least, most)


class MatchedSets(ABC):
    """Matched people by their rows in the audited table."""

    @property
    @abstractmethod
    def mine(self) -> Rows:
        """Matched people of the group, each once."""

    @property
    @abstractmethod
    def theirs(self) -> Rows:
        """Matched people they are compared with, each once."""

    @abstractmethod
    def weights(self) -> tuple[Floats, Floats]:
        """What each of `mine` and each of `theirs` weighs; either sums to 1."""

    @abstractmethod
    def among(self, kept: Bools) -> MatchedSets:
        """The sets that are left where only some rows of the table count."""

    @abstractmethod
    def contrast(self, values: Floats, *, ratio: bool) -> Contrast:
        """The means of a value of both sides, with the influence on the log of their ratio or on theirs minus mine."""

    @property
    def is_empty(self) -> bool:
        """Whether nobody is matched."""
        return not len(self.mine)


@dataclass(frozen=True, eq=False)
class Pairs(MatchedSets):
    """Pairs of rows; a person of the group with several weighs as much as one with a single one."""

    rows: Rows
    """(pair,) of the group."""
    others: Rows
    """(pair,) of the people compared with."""
    distance: Floats

    @property
    def mine(self) -> Rows:
        """Everybody of the group who is in a pair."""
        return np.unique(self.rows)

    @property
    def theirs(self) -> Rows:
        """Everybody else who is in one."""
        return np.unique(self.others)

    @property
    def shares(self) -> Floats:
        """What each pair weighs; they sum to 1."""
        _, codes, counts = np.unique(self.rows, return_inverse=True, return_counts=True)
        return np.asarray(1.0 / (counts[codes] * max(len(counts), 1)))

    def weights(self) -> tuple[Floats, Floats]:
        """Sums over pairs."""
        return tuple(  # type: ignore[return-value]
            np.bincount(np.unique(rows, return_inverse=True)[1], self.shares) for rows in (self.rows, self.others)
        )

    def among(self, kept: Bools) -> Pairs:
        """Pairs of which both count."""
        both = kept[self.rows] & kept[self.others]
        return Pairs(self.rows[both], self.others[both], self.distance[both])

    def contrast(self, values: Floats, *, ratio: bool) -> Contrast:
        """Clustered by people who are in several pairs, on either side: pairs that share nobody are independent.

        C. Cameron, J. Gelbach and D. Miller (2011), Robust inference with multiway clustering: the sum over people of
        either side less that over pairs.
        """
        share, mine, theirs = self.shares, values[self.rows], values[self.others]
        m, k = float(share @ mine), float(share @ theirs)
        with np.errstate(all="ignore"):
            each = share * (mine / m - theirs / k if ratio else (theirs - mine) - (k - m))
        codes = [np.unique(rows, return_inverse=True) for rows in (self.rows, self.others)]
        sums = [np.asarray(np.bincount(code, each), dtype=np.float64) for _, code in codes]
        squares = [float((one**2).sum()) for one in sums]
        wider: Floats = sums[int(squares[1] > squares[0])]
        variance = max(sum(squares) - float((each**2).sum()), *squares)
        return Contrast(m, k, len(codes[0][0]), len(codes[1][0]), wider, variance)


@dataclass(frozen=True, eq=False)
class Strata(MatchedSets):
    """People who are alike by groups: within a stratum everybody is compared with everybody of the other side.

    A stratum weighs as much as it has people of the group, so that the others are weighed to be like these.
    """

    rows: Rows
    """(person,) of both sides."""
    stratum: npt.NDArray[np.intp]
    """(person,) from 0 up; every stratum has people of both sides."""
    is_mine: Bools
    """(person,)"""

    @classmethod
    def of(cls, rows: Rows, stratum: npt.NDArray[np.intp], is_mine: Bools) -> Strata:
        """Strata that hold people of one side alone are left out."""
        size = int(stratum.max()) + 1 if len(stratum) else 0
        both = np.ones(size, dtype=bool)
        for side in (is_mine, ~is_mine):
            both &= np.bincount(stratum[side], minlength=size) > 0
        kept = both[stratum]
        return cls(rows[kept], np.unique(stratum[kept], return_inverse=True)[1], is_mine[kept])

    @property
    def mine(self) -> Rows:
        """Of the group."""
        return self.rows[self.is_mine]

    @property
    def theirs(self) -> Rows:
        """Of the people compared with."""
        return self.rows[~self.is_mine]

    def _counts(self) -> tuple[Floats, Floats]:
        size = int(self.stratum.max()) + 1 if len(self.stratum) else 0
        mine, theirs = (np.bincount(self.stratum[side], minlength=size) for side in (self.is_mine, ~self.is_mine))
        return mine.astype(np.float64), theirs.astype(np.float64)

    def weights(self) -> tuple[Floats, Floats]:
        """Everybody of the group weighs the same; the others share what their stratum's people of the group weigh."""
        mine, theirs = self._counts()
        total = mine.sum()
        return (
            np.full(int(total), 1.0 / max(total, 1.0)),
            (mine / theirs / max(total, 1.0))[self.stratum[~self.is_mine]],
        )

    def among(self, kept: Bools) -> Strata:
        """Of people who count; strata that are left with one side are left out."""
        some = kept[self.rows]
        return Strata.of(self.rows[some], self.stratum[some], self.is_mine[some])

    def contrast(self, values: Floats, *, ratio: bool) -> Contrast:
        """People of the group vary within strata and between them, the others within strata alone.

        The spread among the others of a stratum with a single one of them is taken from all strata together.
        """
        mine, theirs = self._counts()
        u, v = values[self.mine], values[self.theirs]
        s, t = self.stratum[self.is_mine], self.stratum[~self.is_mine]
        n, size = float(len(u)), len(mine)
        if not len(u):
            return Contrast(np.nan, np.nan, 0, 0, np.zeros(0), np.nan)
        middle = np.bincount(t, v, minlength=size) / theirs
        m, k = float(u.mean()), float((mine * middle).sum() / n)
        with np.errstate(all="ignore"):
            first = (u / m - middle[s] / k if ratio else (middle[s] - u) - (k - m)) / n
            rest = v - middle[t]
            free = float(len(v) - size)
            pooled = float((rest**2).sum()) / free if free > 0 else np.nan
            alone = theirs[t] == 1
            spread = np.where(
                alone, sqrt(pooled) if pooled >= 0 else np.nan, rest * np.sqrt(theirs[t] / (theirs[t] - 1))
            )
            second = (mine / theirs)[t] * spread / (n * (k if ratio else 1.0))
        if np.isnan(second).any():
            # No stratum has two of the others: each of them is a cluster with the people who are compared with them.
            psi: Floats = np.asarray(np.bincount(s, first, minlength=size), dtype=np.float64)
            return Contrast(m, k, len(u), len(v), psi, float((psi**2).sum()))
        psi = np.concatenate([first, second])
        return Contrast(m, k, len(u), len(v), psi, float((psi**2).sum()))
