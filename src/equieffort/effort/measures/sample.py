"""Sample: what measures read of a group, as sums that add and sorted efforts that merge."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.effort.stats import EffortStats, certain_bounds
from equieffort.recourse.solvers import Status
from equieffort.recourse.table import RecourseTable


@dataclass(frozen=True, eq=False)
class Sample:
    """One group's people. Merging two samples of one group gives the same to the bit however people were split.

    `Sample()` is nobody, and changes nothing that it is merged with.
    """

    stats: EffortStats = field(default_factory=EffortStats)
    efforts: Floats = field(default_factory=lambda: np.empty(0))
    """Of the refused, sorted: what the known action costs, infinite without one or where nothing is known."""
    bounds: Floats = field(default_factory=lambda: np.empty(0))
    """Of the refused, sorted: the least that it can be."""
    recorded: tuple[int, int] | None = None
    """People with a recorded decision, and those of them approved, where a surrogate model was audited."""

    def __add__(self, other: Sample) -> Sample:
        return Sample(
            self.stats + other.stats,
            np.sort(np.concatenate([self.efforts, other.efforts])),
            np.sort(np.concatenate([self.bounds, other.bounds])),
            self._recorded_with(other),
        )

    def _recorded_with(self, other: Sample) -> tuple[int, int] | None:
        """Of nobody no record is missing; otherwise both sides need one."""
        if self.is_nobody or other.is_nobody:
            return other.recorded if self.is_nobody else self.recorded
        if self.recorded is None or other.recorded is None:
            return None
        return self.recorded[0] + other.recorded[0], self.recorded[1] + other.recorded[1]

    @classmethod
    def of(
        cls, status: npt.NDArray[np.int8], effort: Floats, bound: Floats, ceiling: Floats | None = None,
        budget: float | None = None, recorded: tuple[int, int] | None = None, rounded: bool = False,
    ) -> Sample:  # fmt: skip
        """Some people: status, effort (NaN without an action), the least it can be, the most if it is unknown."""
        stats = EffortStats.of(status, effort, bound, ceiling, budget, rounded)
        refused, acting = status != Status.NOT_NEEDED, ~np.isnan(effort)
        found = np.where(acting, effort, np.inf)
        least = np.full(len(status), np.inf)
        least[acting] = certain_bounds(effort[acting], bound[acting])
        least[status == Status.UNKNOWN] = bound[status == Status.UNKNOWN]
        efforts = np.sort(found[refused])
        return cls(stats, efforts, efforts if stats.is_settled else np.sort(least[refused]), recorded)

    @classmethod
    def solved(cls, efforts: Floats, approved: int = 0, budget: float | None = None) -> Sample:
        """Refused people whose least costs are known (infinite without recourse), and a number of approved ones."""
        stuck, more = np.isinf(efforts), np.full(approved, np.nan)
        status = np.where(stuck, Status.INFEASIBLE, Status.OPTIMAL).astype(np.int8)
        return cls.of(
            np.concatenate([status, np.full(approved, Status.NOT_NEEDED, dtype=np.int8)]),
            np.concatenate([np.where(stuck, np.nan, efforts), more]),
            np.concatenate([efforts, more]),
            budget=budget,
        )

    @property
    def is_nobody(self) -> bool:
        """Whether there is nobody in it, of whom nothing is recorded either."""
        return self.stats.n == 0 and self.recorded is None

    @property
    def approved(self) -> int:
        """How many need nothing."""
        return self.stats.n - self.stats.n_unfavourable

    @property
    def is_settled(self) -> bool:
        """Whether everybody is solved to the end."""
        return self.stats.is_settled

    @property
    def is_open(self) -> bool:
        """Whether somebody's action may not be the cheapest, or is not known."""
        return self.stats.n_unknown + self.stats.count(Status.FEASIBLE) > 0

    @cached_property
    def as_found(self) -> Sample:
        """The same as if every known action were the cheapest, and nobody else had one."""
        if self.is_settled:
            return self
        s = self.stats
        counts = list(s.counts)
        counts[Status.INFEASIBLE] += counts[Status.UNKNOWN]
        counts[Status.UNKNOWN] = 0
        stats = replace(
            s, counts=tuple(counts), bounds=s.costs, capped_bounds=s.capped, least_unknown=np.inf, most_unknown=-np.inf
        )
        return replace(self, stats=stats, bounds=self.efforts)

    @cached_property
    def finite(self) -> Floats:
        """The efforts of those with an action, sorted."""
        return self.efforts[: self.stats.n_acting]

    @cached_property
    def is_skewed(self) -> bool:
        """Whether a few large efforts carry the mean, so that its interval may be too short."""
        n = len(self.finite)
        if n < 3:
            return False
        around = self.finite - self.finite.mean()
        squares = around * around
        spread = float(squares.mean())
        return spread > 0 and float((squares * around).mean()) / spread**1.5 / n**0.5 > MOST_SKEWED


MOST_SKEWED = 0.3
"""Skewness over the root of the number of people from which a note is made (chosen by eye, docs/statistics.md)."""


def sample(
    table: RecourseTable, rows: Bools, budget: float | None = None, recorded: tuple[int, int] | None = None
) -> Sample:
    """The people of some rows."""
    return Sample.of(
        table.status[rows], table.effort[rows], table.bound[rows], table.ceiling[rows], budget, recorded
    )  # fmt: skip
