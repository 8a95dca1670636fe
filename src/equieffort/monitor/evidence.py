"""Evidence about a ratio of mean efforts that holds however often, and whenever, somebody looks at it.

R is a person's effort capped at the budget and divided by it: from 0 to 1, and 1 without recourse. People wait until
both groups have somebody; the means a (group) and b (reference) of those waiting make a block, and all of them are used
up. If E[R_a] <= tau E[R_b], a - tau b has no positive mean and is at least -tau, so that nobody gains by betting on it:
a wealth that starts at 1 and is multiplied by 1 + s (a - tau b) / tau in each block is expected not to grow, and is
ever 1 / alpha with a probability of at most alpha (Ville's inequality). The evidence is the mean of 16 such wealths:
eight stakes s for each of the two directions.

The confidence sequence asks the same of every ratio on a grid and keeps those that were never rejected. It is about a
ratio that stays the same.

Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting, JRSS B 86(1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from equieffort.data.frames import Bools, Floats

STAKES = np.array([0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.75])
RATIOS = np.geomspace(0.2, 5.0, 161)
GROUP, REFERENCE = 0, 1
COUNT, LOW, HIGH = 0, 1, 2
"""Columns of `Tally`: people, and the sums of the least and of the largest that their R can be."""
CHUNK = 256
"""Blocks that the grid takes at a time, so that memory does not grow with the batch."""

Tally = Floats
"""A row for the group and one for the reference: COUNT, LOW, HIGH."""


@dataclass(frozen=True)
class Arrivals:
    """People in order of arrival: who is of the group (the others are of the reference), and where their R lies."""

    is_group: Bools
    low: Floats
    high: Floats

    def tally(self) -> Tally:
        """Added up, one after the other, so that it does not matter how they come in batches."""
        total = np.zeros((2, 3))
        for side, who in ((GROUP, self.is_group), (REFERENCE, ~self.is_group)):
            total[side] = who.sum(), _sum(self.low[who]), _sum(self.high[who])
        return total


def _sum(values: Floats) -> float:
    return float(np.add.accumulate(values)[-1]) if len(values) else 0.0


def blocks(waiting: Tally, people: Arrivals, *, ordered: bool = True) -> tuple[Floats, Tally]:
    """The blocks that close, as rows (least a, largest a, least b, largest b) of means, and who waits afterwards.

    People without an order are one block: each of them could have been the first.
    """
    if not ordered:
        total = waiting + people.tally()
        closes = bool((total[:, COUNT] > 0).all())
        return (_means(total)[None], np.zeros((2, 3))) if closes else (np.empty((0, 4)), total)
    rows, wait = [], [*waiting[GROUP].tolist(), *waiting[REFERENCE].tolist()]
    for is_group, low, high in zip(people.is_group.tolist(), people.low.tolist(), people.high.tolist(), strict=True):
        at = 0 if is_group else 3
        wait[at] += 1
        wait[at + LOW] += low
        wait[at + HIGH] += high
        if wait[0] and wait[3]:
            rows.append((wait[1] / wait[0], wait[2] / wait[0], wait[4] / wait[3], wait[5] / wait[3]))
            wait = [0.0] * 6
    return np.array(rows).reshape(-1, 4), np.array(wait).reshape(2, 3)


def _means(total: Tally) -> Floats:
    return (total[:, LOW:] / total[:, :1]).ravel()


def wealth_path(start: Floats, means: Floats, tau: float) -> Floats:
    """Log wealths before the first and after each block: (blocks + 1, direction, stake).

    People who are not solved to the end count with whichever end of their range makes the wealth smaller.
    """
    least_a, most_a, least_b, most_b = means.T
    gains = np.stack([least_a - tau * most_b, least_b - tau * most_a], axis=1) / tau
    return _path(start, gains[:, :, None] * STAKES)


def grid_paths(start: Floats, means: Floats) -> Iterator[Floats]:
    """The same against "the ratio is at most r" and "at least r", for each r of the grid, some blocks at a time.

    Each path is (blocks + 1, direction, ratio, stake).
    """
    for first in range(0, len(means), CHUNK):
        least_a, most_a, least_b, most_b = (column[:, None] for column in means[first : first + CHUNK].T)
        gains = np.stack([(least_a - RATIOS * most_b) / RATIOS, RATIOS * least_b - most_a], axis=1)
        path = _path(start, gains[..., None] * STAKES)
        start = path[-1]
        yield path


def _path(start: Floats, gains: Floats) -> Floats:
    # Accumulated from the start, so that the same blocks give the same bits however they come in batches.
    return np.add.accumulate(np.concatenate([start[None], np.log1p(gains)]), axis=0)


def log_mean(log_wealth: Floats, axes: int) -> Floats:
    """The logarithm of the mean wealth over the last axes."""
    over = tuple(range(-axes, 0))
    top = log_wealth.max(axis=over, keepdims=True)
    mean = np.exp(log_wealth - top).mean(axis=over)
    return np.log(mean) + top.reshape(mean.shape)


@dataclass(frozen=True)
class Peak:
    """The largest log evidence of a while, and who it says needs more: GROUP or REFERENCE."""

    log_e: float
    side: int


@dataclass(frozen=True, eq=False)
class Evidence:
    """What has been gathered about one group against the reference in one measure."""

    wealth: Floats
    """Log wealths, (direction, stake): that the group needs more, that the reference does."""
    grid: Floats
    """Log wealths, (direction, ratio, stake): against "at most r", against "at least r"."""
    rejected: Bools
    """(direction, ratio): a ratio that was rejected once stays so."""
    waiting: Tally
    seen: Tally

    @classmethod
    def none(cls) -> Evidence:
        """Before anybody was seen."""
        directions, ratios, stakes = 2, len(RATIOS), len(STAKES)
        return cls(
            np.zeros((directions, stakes)),
            np.zeros((directions, ratios, stakes)),
            np.zeros((directions, ratios), dtype=bool),
            np.zeros((2, 3)),
            np.zeros((2, 3)),
        )

    def after(self, people: Arrivals, tau: float, level: float, *, ordered: bool = True) -> tuple[Evidence, Peak]:
        """The evidence after more people, and where it was largest on the way, the start included."""
        means, waiting = blocks(self.waiting, people, ordered=ordered)
        path = wealth_path(self.wealth, means, tau)
        sides, overall = log_mean(path, 1), log_mean(path, 2)
        at = int(overall.argmax())
        peak = Peak(float(overall[at]), GROUP if sides[at, 0] >= sides[at, 1] else REFERENCE)
        grid, rejected, limit = self.grid, self.rejected, np.log(2 / (1 - level))
        for part in grid_paths(self.grid, means):
            rejected = rejected | (log_mean(part, 1) >= limit).any(axis=0)
            grid = part[-1]
        # Continued person by person: sums of sums would depend on how people come in batches.
        seen = np.array([self._seen(people, side) for side in (GROUP, REFERENCE)])
        return replace(self, wealth=path[-1], grid=grid, rejected=rejected, waiting=waiting, seen=seen), peak

    def _seen(self, people: Arrivals, side: int) -> list[float]:
        who = people.is_group if side == GROUP else ~people.is_group
        count, low, high = self.seen[side].tolist()
        return [count + int(who.sum()), _sum(np.append(low, people.low[who])), _sum(np.append(high, people.high[who]))]

    @property
    def log_e(self) -> float:
        """The logarithm of the evidence."""
        return float(log_mean(self.wealth, 2))

    @property
    def interval(self) -> tuple[float, float]:
        """The confidence sequence now: 0 and infinity where nothing is excluded."""
        # A ratio counts as excluded only if all beyond it are, so that at most one true statement can be at fault.
        below = np.logical_and.accumulate(self.rejected[0])
        above = np.logical_and.accumulate(self.rejected[1, ::-1])[::-1]
        low = float(RATIOS[below][-1]) if below.any() else 0.0
        return low, float(RATIOS[above][0]) if above.any() else float("inf")

    @property
    def means(self) -> tuple[float, float, float, float]:
        """Least and largest mean R of the group, and of the reference, over everybody seen; NaN without anybody."""
        with np.errstate(invalid="ignore"):
            least_a, most_a, least_b, most_b = _means(self.seen).tolist()
        return least_a, most_a, least_b, most_b

    @property
    def ratio(self) -> tuple[float, float, float]:
        """The ratio of means over everybody seen with the costs that are known, the least and the most it can be."""
        least_a, most_a, least_b, most_b = self.means
        return _over(most_a, most_b), _over(least_a, most_b), _over(most_a, least_b)


def _over(a: float, b: float) -> float:
    if b > 0:
        return a / b
    return float("inf") if a > 0 else float("nan")
