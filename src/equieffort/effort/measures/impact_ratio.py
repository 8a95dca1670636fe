"""Impact ratio: how often each group is approved, by the model and, beside a surrogate, according to the record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import ClassVar

import numpy as np

from equieffort.effort.inference import LOG, Law
from equieffort.effort.inference.shares import share_ratio
from equieffort.effort.measures.assigned import Assigned, Unplaced, of_means
from equieffort.effort.measures.base import Measure, Pair, Threshold
from equieffort.effort.measures.sample import Sample


@dataclass(frozen=True)
class ImpactRatio(Measure):
    """The group's approval rate over the reference group's; below 1 the group is approved less often.

    >>> mine, theirs = Sample.solved(np.ones(3), approved=1), Sample.solved(np.ones(2), approved=2)
    >>> ImpactRatio().estimate(Pair(mine, theirs))
    0.5
    """

    name = "impact_ratio"
    title = "Impact ratio"
    equation = "P(approved | group) / P(approved | reference)"
    reference = "Uniform Guidelines on Employee Selection Procedures 1978; interval: MOVER of Wilson's"
    scale = LOG
    neutral = 1.0
    orientation = -1
    basis = "people"
    adds = True
    form = "{:.2f}"
    headline_form = "{worse} are approved less often than {other}."
    words_form = "{group} are approved {value} times as often as {against}"
    threshold: ClassVar[Threshold | None] = "tau"

    def counts(self, sample: Sample) -> tuple[int, int] | None:
        """Approved people, and all."""
        return sample.stats.n - sample.stats.n_unfavourable, sample.stats.n

    def estimate(self, pair: Pair) -> float:
        """A ratio of two shares."""
        mine, theirs = self.counts(pair.mine), self.counts(pair.theirs)
        if not (mine and theirs and mine[1] and theirs[1] and (mine[0] or theirs[0])):
            return nan
        return LOG.back(share_ratio(mine, theirs).estimate)

    def decided(self, people: Unplaced) -> tuple[int, int] | None:
        """The same of people whose group is not known."""
        return people.approved, people.approved + len(people.efforts)

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned | None:
        """Exact for people with the same choices."""
        counts = [self.counts(pair.mine), self.counts(pair.theirs), *(self.decided(part) for part in people)]
        yes = [np.repeat([1.0, 0.0], [one[0], one[1] - one[0]]) for one in counts if one is not None]
        if len(yes) < len(counts):
            return None
        return of_means((yes[0], yes[1]), list(zip(people, yes[2:], strict=True)), np.divide)

    def law(self, pair: Pair, level: float) -> Law | None:
        """From Wilson's limits of both rates."""
        mine, theirs = self.counts(pair.mine), self.counts(pair.theirs)
        return share_ratio(mine, theirs) if mine and theirs else None

    def why_not(self, pair: Pair) -> str:
        """Nobody there, or nobody approved."""
        return super().why_not(pair) or "NOBODY_APPROVED"


@dataclass(frozen=True)
class RecordedImpactRatio(ImpactRatio):
    """The same of the recorded decisions, where a surrogate model was audited."""

    name = "impact_ratio_recorded"
    title = "Impact ratio of the recorded decisions"
    threshold = None

    def counts(self, sample: Sample) -> tuple[int, int] | None:
        """Approved according to the record, and all with a record."""
        return None if sample.recorded is None else (sample.recorded[1], sample.recorded[0])

    def decided(self, people: Unplaced) -> tuple[int, int] | None:
        """The same of people whose group is not known."""
        return people.recorded

    def count(self, sample: Sample) -> int:
        """People with a recorded decision."""
        return 0 if sample.recorded is None else sample.recorded[0]
