"""Measure -> Reading: an estimate for a group against another, with its interval, its certain range and its tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isnan, nan
from typing import ClassVar, Literal

from equieffort.effort.inference import IDENTITY, Fixed, Law, Scale, Zone
from equieffort.effort.measures.assigned import Assigned, Unplaced, by_trying
from equieffort.effort.measures.sample import Sample
from equieffort.errors import capital

NOTES = {
    "NO_PEOPLE": "A group has nobody.",
    "NO_MATCH": "Nobody of a group has anybody like them in the other.",
    "NO_REFUSED": "A group has no refused people.",
    "NO_RECOURSE": "Nobody in a group has a route to approval.",
    "NO_BUDGET": "Nobody has a route to approval, so there is no budget to count the others at.",
    "NO_SPREAD": "All values are equal, so no spread can be estimated from them.",
    "NO_INTERVAL": "The measure has no interval in closed form; resample the audit for one.",
    "ZERO_EFFORT": "The effort of a group is zero, on average or in the median.",
    "MEDIAN_INFINITE": "At least half of the refused people of a group have no route to approval.",
    "NOBODY_APPROVED": "Nobody is approved in either group.",
    "TOO_FEW": "A group has too few people for an interval, or for one that names a side.",
    "SKEWED": "A few large efforts carry a group's mean: its interval may be too short.",
    "BOUND": "A bound, not an estimate: it has an interval and no p-value.",
    "UNCERTIFIED": "People who are not solved to the end are counted as found.",
    "SAME_PEOPLE": "Measured on the people it was chosen on, which flatters it.",
    "NO_ACTIONS": "No action is frequent enough among the approved to be tried.",
    "UNREACHED": "At no effort is the share that was asked for reached in a group.",
    "UNKNOWN_GROUP": "People whose group is not known could bring it to the other side of its threshold, or of "
    "equality.",
    "ASSIGNED_OUTER": "What people whose group is not known could change is bounded from outside; it may be less.",
    "NOT_ASSIGNED": "What people whose group is not known could change of this is not known.",
    "RESAMPLED": "In more than one of twenty replicates the measure was undefined, so there is no interval.",
    # Of notions beside the measures.
    "NO_LABELLED": "Nobody of a group has the favourable label in truth.",
    "NOTHING_DEFINED": "The notion is undefined for everybody of a group.",
    "SAMPLED": "Read from people drawn at random, since there are too many to read all.",
    "TWINS_DIFFER": "People with no distance between them are scored differently, so that no constant suffices.",
    "GRID": "Counted on a grid whose boundaries were refined: approvals narrower than one of its cells can be missed.",
    "EXTREME": "A largest value of those who were looked at: it grows with more people and has no interval.",
    "SOME_UNREACHED": "Some of the shares asked for are reached by only one group, or none: they are left out.",
    "NO_COMMON_GAMMA": "There is no share of favourable outcomes that both groups reach with some of the treatment.",
    "UNKNOWN_CURVE": "What becomes of a group is not known at some treatment: shares first reached from there on are "
    "left out.",
    "GRID_START": "Some of the shares are reached at the first point of the grid, where less might do: they are "
    "left out.",
    "NOT_MONOTONE": "More of the treatment means fewer favourable outcomes somewhere on the way.",
    "EXTRAPOLATED": "Read beyond the treatments that people of a group have.",
    "FEW_DRAWN": "Drawn again from fewer than 100 refused people a side: the interval may be somewhat short.",
    "NO_TWIN": "Of some people the equations do not say who they would be in another group.",
}
"""Code in the column `note` -> what it means."""

Basis = Literal["acting", "refused", "people"]
Threshold = Literal["tau", "epsilon"]


@dataclass(frozen=True, eq=False)
class Pair:
    """A group and the one it is compared with."""

    mine: Sample
    theirs: Sample
    guarded: bool = False
    """Few people of a neighbourhood: the more cautious of two intervals."""

    @property
    def is_settled(self) -> bool:
        """Whether everybody is solved to the end."""
        return self.mine.is_settled and self.theirs.is_settled

    @property
    def as_found(self) -> Pair:
        """The same as if nothing were open."""
        return replace(self, mine=self.mine.as_found, theirs=self.theirs.as_found)

    @property
    def budget(self) -> float | None:
        """What those without recourse are counted at."""
        return self.mine.stats.budget if self.mine.stats.n else self.theirs.stats.budget


@dataclass(frozen=True)
class Reading:
    """One measure of one comparison: a row of `audit.measures`."""

    measure: str
    estimate: float
    low: float = nan
    high: float = nan
    least: float = nan
    most: float = nan
    assigned_least: float = nan
    """Over all assignments of people whose group is not known."""
    assigned_most: float = nan
    p: float = nan
    p_beyond: float = nan
    p_within: float = nan
    p_adjusted: float = nan
    n: int = 0
    n_against: int = 0
    note: str = ""
    chance: str = "people"
    carriers: int = 0
    """On the smaller side, those who give it its spread: what `min_people` counts."""


class Measure(ABC):
    """A number about a group against another. A subclass is one file: its facts, its estimate, its law, its words.

    Only `estimate` must be given; without `law` the measure has no interval in closed form.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    """What it is called in a table."""
    equation: ClassVar[str]
    reference: ClassVar[str] = ""
    scale: ClassVar[Scale] = IDENTITY
    neutral: ClassVar[float] = 0.0
    """What it is where the groups are equal."""
    is_bound: ClassVar[bool] = False
    """Whether it bounds something and estimates nothing, so that "no difference at all" is no hypothesis about it."""
    orientation: ClassVar[int] = 1
    """+1 if more means that the group is worse off, -1 if less does."""
    basis: ClassVar[Basis] = "refused"
    """The people it rests on."""
    adds: ClassVar[bool] = False
    """Whether its estimate and its law are read from sums, so that workers need not send anybody's own effort; a note
    that looks at single efforts has them read where they are kept."""
    threshold: ClassVar[Threshold | None] = None
    """What a verdict can hold it against."""
    form: ClassVar[str] = "{:.3g}"
    """How a value is written."""
    unit: ClassVar[str] = ""
    """What `show` puts behind it, such as " %": of an interval it is said once."""
    headline_form: ClassVar[str] = "By the {title}, {worse} are worse off than {other}."
    words_form: ClassVar[str] = "{title} of {group} against {against}: {value}"
    """Both are about people as a reader knows them, such as "people with sex = female": "refused" may stand before."""

    @abstractmethod
    def estimate(self, pair: Pair) -> float:
        """The value; NaN where it is undefined."""

    def law(self, pair: Pair, level: float) -> Law | None:
        """What is known of it, on its scale; None without an answer."""
        return None

    def why_not(self, pair: Pair) -> str:
        """The note for a measure that has no estimate."""
        return _missing(pair, self.basis)

    def notes(self, pair: Pair) -> tuple[str, ...]:
        """Further notes for one that has an estimate."""
        return ()

    def show(self, value: float) -> str:
        """The value as text."""
        return "-" if isnan(value) else self.form.format(value)

    def headline(self, worse: str, other: str) -> str:
        """Who is worse off, where the measure lies beyond its threshold."""
        return capital(self.headline_form.format(title=self.title.lower(), worse=worse, other=other))

    def words(self, group: str, against: str, value: str) -> str:
        """The measure as a sentence, without its interval."""
        return capital(self.words_form.format(title=self.title, group=group, against=against, value=value))

    def count(self, sample: Sample) -> int:
        """How many of a group it rests on."""
        stats = sample.stats
        return {"acting": stats.n_acting, "refused": stats.n_unfavourable, "people": stats.n}[self.basis]

    def assigned(self, pair: Pair, people: Sequence[Unplaced]) -> Assigned | None:
        """The least and the most over all assignments of people whose group is not known; None if that is unknown.

        By default every assignment is tried where these are few.
        """
        return by_trying(lambda mine, theirs: self.estimate(Pair(mine, theirs)), (pair.mine, pair.theirs), people)

    def carriers(self, sample: Sample) -> int:
        """How many of a group give it its spread: two for an interval, as many as are asked for for a verdict."""
        return self.count(sample)


def _missing(pair: Pair, basis: Basis) -> str:
    both = pair.mine.stats, pair.theirs.stats
    if not all(s.n for s in both):
        return "NO_PEOPLE"
    if basis != "people" and not all(s.n_unfavourable for s in both):
        return "NO_REFUSED"
    if basis == "acting" and not all(s.n_acting for s in both):
        return "NO_RECOURSE"
    return ""


def read(measure: Measure, pair: Pair, level: float, zone: Zone | None = None) -> Reading:
    """Estimate, interval and tests of a comparison; what has no answer is NaN, with a note."""
    n, n_against = measure.count(pair.mine), measure.count(pair.theirs)
    estimate = measure.estimate(pair)
    fewest = min(measure.carriers(pair.mine), measure.carriers(pair.theirs))
    blank = Reading(measure.name, estimate, n=n, n_against=n_against, carriers=fewest)
    if isnan(estimate):
        return replace(blank, note=measure.why_not(pair) or "NO_RECOURSE")
    law, notes = measure.law(pair, level), list(measure.notes(pair))
    few = fewest < 2
    if law is None or few or isinstance(law, Fixed):
        why = "TOO_FEW" if few else "NO_INTERVAL" if law is None else "NO_SPREAD"
        notes += [] if notes and law is None else [why]
    if law is None:
        return replace(blank, note=" ".join(notes))
    reading = replace(blank, note=" ".join(notes))
    if few:
        back = measure.scale.back
        return replace(reading, least=back(law.least), most=back(law.most))
    return read_law(measure, reading, law, level, zone)


def read_law(measure: Measure, reading: Reading, law: Law, level: float, zone: Zone | None) -> Reading:
    """The reading with the interval, the certain range and the tests of a law."""
    back, neutral = measure.scale.back, measure.scale.to(measure.neutral)
    low, high = law.limits(level)
    if measure.is_bound and "BOUND" not in reading.note.split():
        reading = replace(reading, note=f"{reading.note} BOUND".strip())
    return replace(
        reading,
        low=back(low), high=back(high), least=back(law.least), most=back(law.most),
        p=nan if measure.is_bound else law.p(neutral),
        p_beyond=nan if zone is None else law.p_beyond(zone, neutral),
        p_within=nan if zone is None else law.p_within(zone),
    )  # fmt: skip
