"""Tallies: what workers send of people who are never all in memory. They add in any order, however people are split.

Sums of fixed size are enough for most of what is read; medians, ranks and the default budget need everybody's effort,
sorted, which merges. Efforts are kept only where they are asked for: a tally without them does not grow with people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial, reduce
from operator import add
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.data.on_file import OnFile
from equieffort.effort.budget import default_budget
from equieffort.effort.measures import Sample
from equieffort.effort.stats import EffortStats, certain_bounds
from equieffort.recourse.part_source import Outcomes
from equieffort.recourse.solvers import Status

NONE: Floats = np.empty(0)


@dataclass(frozen=True, eq=False)
class GroupTally:
    """One group's people. Where efforts are kept, most people need one number: what differs is kept apart."""

    stats: EffortStats = field(default_factory=EffortStats)
    efforts: Floats | None = field(default_factory=lambda: NONE)
    """Of the refused, sorted; those without an action may be left out, who would come last. None where only sums are
    kept."""
    dearer: Floats = field(default_factory=lambda: NONE)
    """Those of the efforts, sorted, that are above the least that an action of the person can cost."""
    lower: Floats = field(default_factory=lambda: NONE)
    """The least that an action can cost of these people, and of those of whom nothing is known, sorted."""

    @classmethod
    def of(cls, people: Outcomes, budget: float | None, keep: bool) -> GroupTally:
        """Some people of one group."""
        effort, bound = people.effort, people.bound
        stats = EffortStats.of(people.status, effort, bound, people.ceiling, budget)
        if not keep:
            return cls(stats, None)
        acting = ~np.isnan(effort)
        costs = effort[acting]
        least = certain_bounds(costs, bound[acting])
        apart = costs != least
        lower = np.concatenate([least[apart], bound[people.status == Status.UNKNOWN]])
        return cls(stats, np.sort(costs), np.sort(costs[apart]), np.sort(lower))

    @classmethod
    def merged(cls, parts: Sequence[GroupTally]) -> GroupTally:
        """All together; efforts are sorted once."""
        stats, kept = reduce(add, (part.stats for part in parts), EffortStats()), [one for one in parts if one.stats.n]
        if any(part.efforts is None for part in kept):
            return cls(stats, None)
        dearer, lower = ([getattr(part, name) for part in kept] for name in ("dearer", "lower"))
        efforts = _sorted([part.known for part in kept], stats.n_unfavourable)
        return cls(stats, efforts, _sorted(dearer), _sorted(lower))

    def __getstate__(self) -> dict[str, Any]:
        # Whoever has no way needs no number of their own to travel.
        return vars(self) | {"efforts": None if self.efforts is None else self.known}

    @property
    def known(self) -> Floats:
        """The efforts of those with an action."""
        assert self.efforts is not None
        return self.efforts[: self.stats.n_acting]

    def least(self, n: int = 0) -> Floats:
        """The least that an action can cost of whoever has one or may have one; of n people if that is more."""
        # Of equal efforts as many are left out as stand apart.
        again = np.arange(len(self.dearer)) - np.searchsorted(self.dearer, self.dearer)
        same = np.delete(self.known, np.searchsorted(self.known, self.dearer) + again)
        return _sorted([same, self.lower], n)

    def at(self, budget: float | None) -> EffortStats:
        """The sums with nobody above a budget."""
        if self.stats.n and self.stats.budget == budget:
            return self.stats
        return self.stats.capped_at(budget, self.known, self.known if self.stats.is_settled else self.least())

    def sample(self, budget: float | None) -> Sample:
        """What measures read, with nobody above the budget; efforts must be there."""
        n, efforts = self.stats.n_unfavourable, self.efforts
        efforts = efforts if efforts is not None and len(efforts) == n else _sorted([self.known], n)
        return Sample(self.at(budget), efforts, efforts if self.stats.is_settled else self.least(n))


NOBODY = GroupTally()
"""Changes nothing that it is merged with."""


def _sorted(parts: Sequence[Floats], n: int = 0) -> Floats:
    """All together; of n people, if that is more, those of whom nothing is known at the end."""
    at = sum(map(len, parts))
    found = np.concatenate([*parts, np.full(max(n - at, 0), np.inf)])
    found[:at].sort()
    return found


@dataclass(frozen=True, eq=False)
class Tally:
    """Everybody of some part of the people, by group."""

    groups: tuple[GroupTally, ...]

    def __add__(self, other: Tally) -> Tally:
        return Tally.merged([self, other])

    @classmethod
    def merged(cls, parts: Sequence[Tally]) -> Tally:
        """All of one or several parts together."""
        return cls(tuple(GroupTally.merged(of_one) for of_one in zip(*(part.groups for part in parts), strict=True)))

    @property
    def counts(self) -> tuple[int, ...]:
        """How many people have each status."""
        return tuple(map(sum, zip(*(one.stats.counts for one in self.groups), strict=True)))

    @property
    def is_sorted(self) -> bool:
        """Whether efforts are kept."""
        return all(one.efforts is not None for one in self.groups)

    def default_budget(self) -> float | None:
        """That of all known efforts together, which must be there."""
        return default_budget(np.concatenate([one.known for one in self.groups]))

    def samples(self, budget: float | None, again: Callable[[], Tally]) -> list[Sample]:
        """What measures read of each group.

        Where only sums were kept, people are counted `again`, efforts and all, once a measure asks for efforts.
        """
        if self.is_sorted:
            return [one.sample(budget) for one in self.groups]
        whole = _Again(again)
        if any(one.stats.n and one.stats.budget != budget for one in self.groups):
            return [one.sample(budget) for one in whole.tally.groups]
        return [
            _summed(one.stats, partial(whole.sample, k)) if one.stats.n else one.sample(budget)
            for k, one in enumerate(self.groups)
        ]


def _summed(stats: EffortStats, read: Callable[[], Sample]) -> Sample:
    def column(name: str) -> OnFile:
        return OnFile(stats.n_unfavourable, np.dtype(np.float64), partial(_of, read, name))

    efforts = column("efforts")
    # Until they are read these are arrays in every respect that is asked about.
    return Sample(stats, efforts, efforts if stats.is_settled else column("bounds"))  # type: ignore[arg-type]


def _of(read: Callable[[], Sample], name: str) -> Floats:
    found: Floats = getattr(read(), name)
    return found


@dataclass(frozen=True, eq=False)
class _Again:
    """People counted once more, at most once."""

    again: Callable[[], Tally]

    @cached_property
    def tally(self) -> Tally:
        return self.again()

    def sample(self, k: int) -> Sample:
        return self.tally.groups[k].sample(None)


@dataclass(frozen=True)
class Tallying:
    """How people are counted: in how many groups, at which budget where one is declared, and whether efforts are kept.

    Workers are sent this.
    """

    groups: int
    budget: float | None = None
    keep: bool = True

    def of(self, people: Outcomes) -> Tally:
        """Some people."""
        found = [NOBODY] * self.groups
        for code in np.unique(people.codes).tolist():
            found[code] = GroupTally.of(people.only(people.codes == code), self.budget, self.keep)
        return Tally(tuple(found))

    def merged(self, parts: Sequence[Tally]) -> Tally:
        """Those of any split together; nobody without parts."""
        return Tally.merged([self.nobody, *parts])

    @property
    def nobody(self) -> Tally:
        """Changes nothing that it is added to."""
        return Tally((NOBODY,) * self.groups)


TOGETHER = 16
"""Tallies that are merged as soon as there are so many of one size."""


@dataclass(eq=False)
class Merging:
    """Tallies as they come in, in any order; so few of them stay at a time that their number does not matter."""

    counting: Tallying
    levels: list[list[Tally]] = field(default_factory=list)
    """Those that were sent, those of so many of them, and so on: no effort is sorted often."""

    def take(self, tally: Tally) -> None:
        """One more."""
        for level in self.levels:
            level.append(tally)
            if len(level) < TOGETHER:
                return
            tally = self.counting.merged(level)
            level.clear()
        self.levels.append([tally])

    def whole(self) -> Tally:
        """All together."""
        return self.counting.merged([one for level in self.levels for one in level])
