"""Criteria -> Verdict: equal, unequal or inconclusive, with coded reasons and a sentence for everybody.

Each claim has an error rate: *unequal* and *equal* are wrongly said with a chance of at most 1 - level (`judging`).
`Criteria(level=None)` judges the point estimate, and its first sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd

from equieffort.data.frames import number
from equieffort.data.output import Noted
from equieffort.effort.criteria import Criteria
from equieffort.effort.judging import Judged, Outcome, judge_family
from equieffort.effort.measures import JUDGED, MEASURES, Reading
from equieffort.effort.metrics import SHORT, Comparison
from equieffort.errors import UnequalError, capital
from equieffort.foundations.arguments import check_flag
from equieffort.foundations.shown import Shown, Told, as_html
from equieffort.models.fidelity import Surrogate
from equieffort.recourse.status import Reason
from equieffort.recourse.table import Audience
from equieffort.words.verdicts import further_words, sentence, subject, unknown_words

REASONS = {
    **{f"{name.upper()}_WITHIN": f"{MEASURES[name].title}: within its threshold." for name in JUDGED},
    **{f"{name.upper()}_BEYOND": f"{MEASURES[name].title}: beyond its threshold." for name in JUDGED},
    "UNDEFINED": "A judged measure cannot be computed.",
    "NOTHING": "Nobody was decided unfavourably, so there is nothing to reverse.",
    "TOO_FEW": "A group has fewer people than the criteria ask for.",
    "SURROGATE": "The surrogate model agrees with too few of the decisions, or finds too few of the refusals.",
    "OUTLIER": "One absurd value in the reference data decides how effort is measured.",
    "UNCERTIFIED": "Rows that are not solved to the end could overturn the result.",
    "NOISE": "Chance leaves open on which side of the thresholds the truth lies.",
}
"""Code -> what it means."""

INDIVIDUAL = 5
"""People a side below which a neighbourhood is not judged."""


Level = Literal["system", "subgroup", "individual"]


@dataclass(frozen=True, repr=False)
class Finding(Shown):
    """The outcome of one comparison, with its coded reasons; printing it gives its sentence."""

    comparison: Comparison
    outcome: Outcome
    codes: tuple[str, ...]
    sentence: str
    judged: tuple[Judged, ...] = ()

    def __str__(self) -> str:
        return self.sentence

    def _told(self) -> Told:
        from equieffort.words.told import finding_told

        return finding_told(self)


@dataclass(frozen=True, repr=False)
class Verdict(Shown):
    """The outcome over all comparisons of protected groups; printing it gives the sentences."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    criteria: Criteria
    surrogate: Surrogate | None = None
    outliers: tuple[str, ...] = ()
    """Features of which one absurd value decides how effort is measured."""
    chance: str = "people"
    """What could have come out otherwise: other people, or equations or the model learned again."""

    @property
    def codes(self) -> tuple[str, ...]:
        """All reasons, in order, without repetition."""
        first = ("SURROGATE",) if self.surrogate is not None and not self.surrogate.suffices else ()
        return tuple(dict.fromkeys((*first, *(code for finding in self.findings for code in finding.codes))))

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reasons in words."""
        return tuple(REASONS[code] for code in self.codes)

    def __str__(self) -> str:
        return "\n".join([self.first_line, *(finding.sentence for finding in self.findings)])

    def _told(self) -> Told:
        from equieffort.words.told import verdict_told

        return verdict_told(self)

    def _repr_html_(self) -> str:
        from equieffort.words.told import verdict_page

        return as_html(verdict_page(self))

    @property
    def first_line(self) -> str:
        """The outcome with what it rests on, in a line."""
        preface = f"{self.surrogate} " if self.surrogate is not None else ""
        return f"{self.outcome.upper()}: {preface}{self.headline} ({self.basis})"

    @property
    def headline(self) -> str:
        """The outcome as a sentence."""
        return self.told()

    def raise_if_unequal(self, *, inconclusive: bool = False) -> None:
        """Raise `ee.errors.UnequalError` where effort is unequal; if `inconclusive`, wherever it is not shown equal."""
        check_flag("inconclusive", inconclusive)
        if self.outcome == "equal" or (self.outcome == "inconclusive" and not inconclusive):
            return
        code = "VERDICT_UNEQUAL" if self.outcome == "unequal" else "VERDICT_INCONCLUSIVE"
        error = UnequalError(code, self.first_line, fix="Read `verdict` of this error, or audit.report().")
        error.verdict = self
        raise error

    def told(self, *, counts: bool = True) -> str:
        """The outcome as a sentence; without counts for readers from whom numbers of people are kept back."""
        people = self._people() if counts else ""
        if self.outcome == "unequal":
            return " ".join(_burden_words(finding) for finding in self.findings if finding.outcome == "unequal")
        if self.surrogate is not None and not self.surrogate.suffices:
            return "The surrogate model repeats too little of the decisions to say anything about them."
        if self.outliers:
            named = " and ".join(map(repr, self.outliers))
            return (
                f"One absurd value of {named} in the reference data decides how effort is measured, so nothing is "
                "concluded: correct it, or scale the cost by quantiles and say how far actions may go."
            )
        about = subject(self.criteria)
        if self.outcome == "equal":
            return f"{capital(about)} is equal within the thresholds."
        if self.codes == ("NOTHING",):
            return "Nobody was refused, so there is nothing to compare."
        if any(one.differs and one.state == "open" for finding in self.findings for one in finding.judged):
            what = {"effort": "Efforts differ"}.get(about, f"{capital(about)} differs")
            return f"{what}, but whether by more than the thresholds allow is not decided{people}."
        return f"The data do not decide whether {about} is equal{people}."

    def _people(self) -> str:
        """For how many the answer is open: the reader's first question."""
        if len(self.findings) != 1 or "NOISE" not in self.codes or self.criteria.judged == ("impact_ratio",):
            return ""
        c = self.findings[0].comparison
        return f" ({c.mine.n_unfavourable:,} against {c.theirs.n_unfavourable:,} refused people)"

    @property
    def basis(self) -> str:
        """What the verdict rests on, in a few words."""
        level = self.criteria.level
        chance = {
            "people": "chance of people",
            "equations": "chance of people and learned equations",
            "procedure": "chance of people, equations and the trained model",
        }[self.chance]
        base = "Point estimate, chance not considered" if level is None else f"{number(level * 100)} % level, {chance}"
        certified = "" if self.criteria.certified else "; as found, not certified"
        return f"{base}{certified}; tau = {number(self.criteria.tau)}, epsilon = {number(self.criteria.epsilon)}"


def judge(comparison: Comparison, criteria: Criteria, *, min_people: int | None = None) -> Finding:
    """Judge one comparison by itself."""
    return _findings((comparison,), criteria, criteria.min_people if min_people is None else min_people)[0]


def _findings(compared: Sequence[Comparison], criteria: Criteria, min_people: int) -> list[Finding]:
    found = []
    for c, (outcome, codes, judged) in zip(compared, judge_family(compared, criteria, min_people), strict=True):
        adjusted = {(one.measure, one.reading.chance): one.reading for one in judged}
        readings = (adjusted.get((reading.measure, reading.chance), reading) for reading in c.readings)
        c = replace(c, readings=tuple(readings))
        words = sentence(c, criteria, outcome, codes, judged, min_people, len(compared))
        words = " ".join(part for part in (words, unknown_words(c, judged)) if part)
        found.append(Finding(c, outcome, codes, words, judged))
    return found


def decide(
    compared: tuple[Comparison, ...],
    criteria: Criteria,
    *,
    individual: bool = False,
    surrogate: Surrogate | None = None,
    unsettled: Sequence[tuple[str, Any, Reason | None]] = (),
    provable: bool = True,
    audience: Audience = "python",
    outliers: Sequence[str] = (),
    chance: str = "people",
) -> Verdict:
    """The verdict over comparisons: unequal if any protected group's is, equal if all are.

    Of a surrogate that repeats too few decisions nothing is concluded. `unsettled` are the people who are not solved
    to the end (group, label, what stopped the solver), for a verdict that they could overturn; `provable` says whether
    the solver could ever settle them, `audience` who is told what to do about them. Nothing is concluded from effort
    that is measured by one absurd value: `outliers` names the features that have it.
    """
    counted = [c for c in compared if c.role not in ("other", "unknown") or individual]
    if surrogate is not None:
        wanted = {label for c in counted for label in c.labels}
        # Of groups that it was not measured on, all that it was measured on must do.
        surrogate = surrogate.among(wanted) if wanted & surrogate.by_group.keys() else surrogate
    least = criteria.min_people
    if individual:
        least = 1 if criteria.level is None else INDIVIDUAL
    findings = tuple(
        _told_further(finding, unsettled, provable, audience) for finding in _findings(counted, criteria, least)
    )
    outcomes = [finding.outcome for finding in findings]
    outcome: Outcome = "inconclusive"
    if "unequal" in outcomes:
        outcome = "unequal"
    elif outcomes and all(found == "equal" for found in outcomes):
        outcome = "equal"
    if surrogate is not None and not surrogate.suffices:
        outcome = "inconclusive"
        findings = tuple(_of_the_surrogate(finding) for finding in findings)
    if outliers:
        outcome, named = "inconclusive", " and ".join(map(repr, outliers))
        findings = tuple(
            replace(
                finding,
                outcome="inconclusive",
                codes=("OUTLIER", *finding.codes),
                sentence=f"Effort is measured by one absurd value of {named}. {finding.sentence}",
            )
            for finding in findings
        )
    return Verdict(outcome, findings, criteria, surrogate, tuple(outliers), chance)


def _told_further(
    finding: Finding, unsettled: Sequence[tuple[str, Any, Reason | None]], provable: bool, audience: Audience
) -> Finding:
    """What to do about people who are not solved to the end, where they could overturn the result."""
    c = finding.comparison
    open_ones = [(person, ending) for group, person, ending in unsettled if group in c.labels]
    if "UNCERTIFIED" not in finding.codes or not open_ones:
        return finding
    people, endings = zip(*open_ones, strict=True)
    return replace(finding, sentence=f"{finding.sentence} {further_words(people, endings, provable, audience)}")


def _of_the_surrogate(finding: Finding) -> Finding:
    """What is found of a surrogate that repeats too few decisions is a finding about it alone."""
    words = f"This concerns the surrogate model only: {finding.sentence}"
    return replace(finding, outcome="inconclusive", codes=("SURROGATE", *finding.codes), sentence=words)


def _burden_words(finding: Finding) -> str:
    """Who is worse off by which measure."""
    c, parts = finding.comparison, []
    for one in finding.judged:
        measure = MEASURES[one.measure]
        if one.state == "beyond":
            is_group = measure.orientation * (one.reading.estimate - measure.neutral) > 0
            worse, other = c.people if is_group else c.people[::-1]
            parts.append(measure.headline(worse, other))
    return " ".join(parts)


@dataclass(frozen=True, repr=False)
class Assessment(Shown):
    """One level of Algorithm 1: an individual's neighbourhood, a subgroup, or the whole system."""

    level: Level
    about: str
    groups: pd.DataFrame
    """All that is counted of each group; `by_group` is the part that is read first."""
    comparisons: tuple[Comparison, ...]
    verdict: Verdict

    @property
    def by_group(self) -> pd.DataFrame:
        """One row a group, indexed by it: role, counts, the share with recourse (rho) and the mean effort (Phi).

        Comparisons are in `measures`; `groups` also has counts by status, limits of each and certain ranges.
        """
        from equieffort.words.told import GROUPS

        return Noted.of(self.groups[SHORT], GROUPS)

    @property
    def measures(self) -> pd.DataFrame:
        """One row a comparison and measure."""
        judged = {(f.comparison.group, f.comparison.against): f.comparison for f in self.verdict.findings}
        rows: list[dict[str, Any]] = []
        for c in self.comparisons:
            found = judged.get((c.group, c.against), c)
            rows += [_row(self.level, self.about, c, reading) for reading in found.readings]
        from equieffort.words.told import MEASURES

        return Noted.of(pd.DataFrame(rows, columns=list(COLUMNS)), MEASURES)

    def __str__(self) -> str:
        return f"{self.about}\n{self.verdict}"

    def _told(self) -> Told:
        from equieffort.words.told import assessment_told

        return assessment_told(self)


COLUMNS = (
    "level", "about", "measure", "group", "against", "chance", "estimate", "low", "high", "least", "most",
    "assigned_least", "assigned_most", "p", "p_beyond", "p_within", "p_adjusted", "n", "n_against", "note",
)  # fmt: skip
"""The columns of `audit.measures`."""


def _row(level: Level, about: str, c: Comparison, reading: Reading) -> dict[str, Any]:
    head = {"level": level, "about": about, "group": c.group, "against": c.against}
    return head | {name: getattr(reading, name) for name in COLUMNS if name not in head}
