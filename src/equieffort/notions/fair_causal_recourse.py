"""Fair causal recourse: do groups, and people and their twins, need the same effort?

Group level: the largest difference of average efforts between two groups, with Phi_a the average least cost of the
refused of a who have recourse,

    Delta_group = max over groups a, b of abs(Phi_a - Phi_b).

Individual level: how far a refused person's effort is from that of their twin, who they would be at another level of
the sensitive columns with all descendants following,

    Delta_ind = max (or mean) over refused people and levels s' of abs(C(x, s) - C(x(s'), s')).

A twin who is approved, or either of the two without recourse or with an unknown one, has no such difference: these are
counted, and in neither the maximum nor the mean.

Reference: J. von Kügelgen, A.-H. Karimi, U. Bhatt, I. Valera, A. Weller, B. Schölkopf (2022), On the Fairness of Causal
Algorithmic Recourse, AAAI.

In their world a classifier that uses only what does not descend from the sensitive column asks the same of all twins:

>>> import equieffort as ee
>>> world = ee.datasets.fair_recourse("CAU linear")
>>> X, _ = world.sample(60, random_state=0)
>>> features = dict.fromkeys(world.actionable, "actionable")
>>> schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=features)
>>> audit = ee.audit(ee.LinearScore({"X2": -1.0}), X, schema=schema, scm=world.scm)
>>> found = audit.fair_causal_recourse()
>>> found.individual().max
0.0
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import inf, isnan, nan
from typing import Any, overload

import numpy as np
import pandas as pd

from equieffort.data.frames import percent
from equieffort.data.output import Other, Output, Pandas, as_output
from equieffort.effort.measures import Sample
from equieffort.foundations.arguments import check_whole
from equieffort.foundations.progress import Progress
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.assigned import bounded
from equieffort.notions.base import Audited, Family, NotApplicable, Notion, NotionReading
from equieffort.notions.collection import NEEDS_MODEL
from equieffort.notions.group_gap import GroupGap, group_gap, largest_gap, samples_of
from equieffort.notions.twin_recourse import OUTCOMES, Gaps, TwinRecourse, solve_twins
from equieffort.notions.twins import EQUATIONS, Levels, own_groups
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.status import Status
from equieffort.world.groups import Groups

MOST_PEOPLE = 5_000
"""Whose twins are solved when every notion is read together; of more refused people so many are drawn."""


@dataclass(frozen=True, eq=False, repr=False)
class FairCausalRecourse(Shown):
    """Efforts of groups, and of people and their twins."""

    audited: Audited
    levels: Levels
    recourse: TwinRecourse
    n_refused: int
    """Of whom twins were asked for, or drawn."""

    @classmethod
    def of(
        cls,
        audited: Audited,
        problem: RecourseProblem,
        most_people: int | None = None,
        progress: Progress | None = None,
    ) -> FairCausalRecourse:
        """Solve the twins of the refused, or of `most_people` of them drawn at random."""
        check_whole("most_people", most_people, 1, optional=True)
        rows = np.flatnonzero(audited.table.is_unfavourable)
        n = len(rows)
        if most_people is not None and n > most_people:
            rows = np.sort(np.random.default_rng(audited.random_state).choice(rows, most_people, replace=False))
        return cls(audited, *solve_twins(audited, problem, rows, progress), n)

    @property
    def groups(self) -> Groups:
        """Who is in which group."""
        return self.audited.table.groups

    @property
    def people(self) -> pd.DataFrame:
        """A row a refused person and other level: both efforts, the gap with what is certain of it, both statuses, and
        `outcome`: "compared", or why there is no gap."""
        found, labels = self.recourse, np.array(self.groups.labels, dtype=object)
        texts = np.array([*(status.text for status in Status), ""], dtype=object)
        least, most = found.certain
        return pd.DataFrame(
            {
                "group": labels[self.groups.codes[found.person]],
                "level": np.array(self.levels.groups.labels, dtype=object)[found.level],
                "outcome": np.array(OUTCOMES, dtype=object)[found.outcome],
                "effort": found.own.effort[found.person],
                "twin_effort": found.twin_effort,
                "gap": found.gap,
                "gap_least": least,
                "gap_most": most,
                "status": texts[found.own_status],
                "twin_status": texts[found.twin_status],
            },
            index=self.audited.table.index[found.person],
        )

    def individual(self, group: str = "", level: str = "") -> Gaps:
        """Mean and maximum of the gaps of a group's people, or of all, to their twins at a level, or at all."""
        return Gaps.of(self.recourse, self._members(group, level), self.audited.level)

    def _members(self, group: str, level: str) -> Any:
        found, labels = self.recourse, self.groups.labels
        members = np.ones(len(found.person), dtype=bool)
        if group:
            members &= self.groups.codes[found.person] == labels.index(group)
        return members & (found.level == self.levels.groups.labels.index(level)) if level else members

    def counts(self, group: str = "", level: str = "") -> dict[str, int]:
        """How many people and twins were compared, and why others were not."""
        outcome = self.recourse.outcome[self._members(group, level)]
        found = np.bincount(outcome, minlength=len(OUTCOMES)).tolist()
        return dict(zip(OUTCOMES, found, strict=True))

    @overload
    def frame(self, *, output: Pandas = ...) -> pd.DataFrame: ...
    @overload
    def frame(self, *, output: Other) -> Any: ...
    def frame(self, *, output: Output = "pandas") -> Any:
        """The individual level: a row a group and level (empty: all), with the counts of those not compared."""
        rows = []
        for group in ("", *self.groups.labels):
            for level in ("", *self.levels.names):
                if not (level and level == group):
                    counts = {f"n_{name.replace(' ', '_')}": n for name, n in self.counts(group, level).items()}
                    one = self.individual(group, level).__dict__ | {}
                    one.pop("n")
                    rows.append({"group": group, "level": level} | counts | one)
        return as_output(pd.DataFrame(rows), output)

    @property
    def group_gaps(self) -> pd.DataFrame:
        """The group level: a row a pair of groups, the largest of all in the first row."""
        samples = samples_of(self.audited, self.levels.groups)
        pairs = [group_gap(samples, a, b, self.audited.level) for a, b in combinations(samples, 2)]
        return pd.DataFrame([largest_gap(samples, self.audited.level).__dict__, *(one.__dict__ for one in pairs)])

    @property
    def sentences(self) -> list[str]:
        """What it says."""
        level = self.audited.level
        whole, mine, counts = (
            largest_gap(samples_of(self.audited, self.levels.groups), level),
            self.individual(),
            self.counts(),
        )
        between = f" ({self.groups.name(whole.group)} and {self.groups.name(whole.against)})" if whole.group else ""
        found = [
            f"Between groups, average efforts differ by at most {_value(whole.estimate)}{between}, over those with a "
            f"route{_interval(whole.low, whole.high, level)}.",
            f"Between a refused person and their twin, efforts differ by {_value(mine.mean)} on average"
            f"{_interval(mine.low, mine.high, level)} and by at most {_value(mine.max)}, over {mine.n:,} comparisons "
            f"of {mine.n_people:,} people.",
        ]
        left = "; ".join(f"{name}: {n:,}" for name, n in counts.items() if n and name != "compared")
        asked = len(np.unique(self.recourse.person))
        drawn = [f"{asked:,} of {self.n_refused:,} refused people were drawn."] if asked < self.n_refused else []
        return found + ([f"Not compared: {left}."] if left else []) + drawn

    def __str__(self) -> str:
        return "\n".join(["Fair causal recourse", *self.sentences])

    def _told(self) -> Told:
        tables = {"People and their twins": self.frame(), "Groups": self.group_gaps}
        return Told("Fair causal recourse", self.sentences, tables, [EQUATIONS], ".frame(), .people, .group_gaps")


def _value(value: float) -> str:
    return "-" if isnan(value) else "unlimited" if value == inf else f"{value:.3g}"


def _interval(low: float, high: float, level: float) -> str:
    return "" if isnan(low) or isnan(high) else f" ({percent(level, 0)} interval {_value(low)} to {_value(high)})"


GROUP = Notion(
    "group_recourse_gap",
    "Fair causal recourse, groups",
    "abs(Phi_a - Phi_b); for everybody the maximum over all pairs of groups",
    "von Kügelgen et al. 2022",
    "The difference of average efforts as a size, and the largest over any number of groups.",
    orientation=0,
    unassigned="the largest over all pairs is not searched over assignments, as each pair is",
)
INDIVIDUAL = Notion(
    "individual_recourse_gap",
    "Fair causal recourse, people and their twins",
    "max and mean of abs(C(x, s) - C(x(s'), s')) over refused people and levels s'",
    "von Kügelgen et al. 2022",
    "Whether the same person would need another effort in another group, which averages can hide.",
    orientation=0,
    unassigned="who the twins are hangs on the person's own group",
)


class FairCausalRecourseFamily(Family):
    """Gaps between groups, and between people and their twins."""

    name = "fair_causal_recourse"
    title = "Fair causal recourse"
    notions = (GROUP, INDIVIDUAL)
    needs_model = True

    def readings(self, audited: Audited) -> Sequence[NotionReading | NotApplicable]:
        """Groups from the table; twins only where there is a model, and of at most `MOST_PEOPLE` refused people."""
        groups = audited.table.groups
        samples, labels = samples_of(audited, groups), groups.labels
        pairs = [group_gap(samples, labels[a], labels[b], audited.level) for a, b in audited.pairs]
        efforts = np.where(audited.table.has_action, audited.table.effort, nan)
        rows: list[NotionReading | NotApplicable] = [
            bounded(_group_reading(one, samples), audited, efforts, size=True) for one in pairs
        ]
        every = samples_of(audited, own_groups(audited.table))
        rows.append(_group_reading(largest_gap(every, audited.level), every, largest=True))
        if audited.problem is None:
            return [*rows, NotApplicable(INDIVIDUAL.name, NEEDS_MODEL)]
        found = FairCausalRecourse.of(audited, audited.problem, MOST_PEOPLE)
        for group in ("", *labels):
            rows += _individual_readings(found, group)
        return rows


def _group_reading(one: GroupGap, samples: dict[str, Sample], *, largest: bool = False) -> NotionReading:
    names = samples if largest else {name: samples[name] for name in (one.group, one.against)}
    undefined = sum(sample.stats.n_unfavourable - sample.stats.n_acting for sample in names.values())
    n = sum(sample.stats.n_acting for sample in names.values()) if largest else one.n
    return NotionReading(
        GROUP.name, "" if largest else one.group, "" if largest else one.against, ("largest",) if largest else (),
        one.estimate, one.low, one.high, one.least, one.most, n=n, n_against=0 if largest else one.n_against,
        n_undefined=undefined, note=one.note,
    )  # fmt: skip


CARRIED = ("UNCERTIFIED", "SAMPLED")
"""Notes of a mean that are true of the maximum too."""


def _individual_readings(found: FairCausalRecourse, group: str) -> list[NotionReading]:
    one, counts = found.individual(group), found.counts(group)
    left = sum(n for name, n in counts.items() if name != "compared")
    drawn = len(np.unique(found.recourse.person)) < found.n_refused
    note = f"{one.note} {'SAMPLED' if drawn else ''}".strip()
    most_note = " ".join(["EXTREME" if one.n else one.note, *(code for code in note.split() if code in CARRIED)])
    return [
        NotionReading(
            INDIVIDUAL.name, group, "", ("mean",), one.mean, one.low, one.high, one.mean_least, one.mean_most, n=one.n,
            n_undefined=left, note=note,
        ),
        NotionReading(
            INDIVIDUAL.name, group, "", ("max",), one.max, nan, nan, one.max_least, one.max_most, n=one.n,
            n_undefined=left, note=most_note,
        ),
    ]  # fmt: skip
