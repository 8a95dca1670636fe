"""Criteria -> Verdict: equal, unequal or inconclusive, with coded reasons and a sentence for everybody.

Intervals here are the certified ones: where the ratio and the difference certainly lie given rows that are not solved
to the end. Chance is not yet part of them, so a verdict says that it is a point estimate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isnan
from typing import Any
from typing import Literal as OneOf

import pandas as pd

from equieffort.criteria import Criteria
from equieffort.errors import label
from equieffort.fidelity import Surrogate
from equieffort.frames import number
from equieffort.metrics import Comparison, exact_discrepancy
from equieffort.stats import EffortStats

Outcome = OneOf["equal", "unequal", "inconclusive"]

REASONS = {
    "ACR_WITHIN": "The ratio of average efforts lies within the threshold.",
    "ACR_BEYOND": "The ratio of average efforts lies beyond the threshold.",
    "RD_WITHIN": "The difference in possible recourse lies within the threshold.",
    "RD_BEYOND": "The difference in possible recourse reaches the threshold.",
    "UNDEFINED": "The ratio of average efforts cannot be computed.",
    "NOTHING": "Nobody was decided unfavourably, so there is nothing to reverse.",
    "TOO_FEW": "A group has fewer unfavourably decided people than the criteria ask for.",
    "SURROGATE": "The surrogate model agrees with too few of the decisions, or finds too few of the refusals.",
    "OUTLIER": "One absurd value in the reference data decides how effort is measured.",
    "UNCERTIFIED": "Rows that are not solved to the end could overturn the result.",
}
"""Code -> what it means."""

ROUNDING = 1e-12


@dataclass(frozen=True)
class Finding:
    """The outcome of one comparison, with its coded reasons."""

    comparison: Comparison
    outcome: Outcome
    codes: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Verdict:
    """The outcome over all comparisons of protected groups; printing it gives the sentences."""

    outcome: Outcome
    findings: tuple[Finding, ...]
    criteria: Criteria
    surrogate: Surrogate | None = None
    outliers: tuple[str, ...] = ()
    """Features of which one absurd value decides how effort is measured."""

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
        preface = f"{self.surrogate} " if self.surrogate is not None else ""
        first = f"{self.outcome.upper()}: {preface}{self.headline} ({self._basis()})"
        return "\n".join([first, *(finding.sentence for finding in self.findings)])

    @property
    def headline(self) -> str:
        """The outcome as a sentence."""
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
        if self.outcome == "equal":
            return "Effort is equal within the thresholds."
        return "The data do not decide whether effort is equal."

    def _basis(self) -> str:
        base = "Point estimate, chance not considered" if self.criteria.certified else "Estimate, not certified"
        return f"{base}; tau = {number(self.criteria.tau)}, epsilon = {number(self.criteria.epsilon)}"


def judge(
    comparison: Comparison,
    criteria: Criteria,
    *,
    min_people: int | None = None,
    unsettled: Sequence[tuple[str, Any]] = (),
    provable: bool = True,
    further: str = "",
) -> Finding:
    """Judge one comparison; `unsettled` names people, with their group, who are not solved to the end."""
    finding = _judge(comparison, criteria, min_people)
    if "UNCERTIFIED" not in finding.codes:
        return finding
    people = [person for group, person in unsettled if group in (comparison.group, comparison.against)]
    return (
        replace(finding, sentence=f"{finding.sentence} {_further_words(people, provable, further)}")
        if people
        else finding
    )


def _further_words(people: Sequence[Any], provable: bool, further: str) -> str:
    first = ", ".join(map(label, people[:5]))
    some = f"first {first}" if len(people) > 5 else first
    who = f"Person {first} is" if len(people) == 1 else f"{len(people):,} people are"
    which = "" if len(people) == 1 else f" ({some})"
    how = further or (
        "solve further with audit.solve_further()."
        if provable
        else "a search proves nothing, however long it goes on; Criteria(certified=False) judges the estimate."
    )
    return f"{who} not solved to the end{which}: {how}"


def _judge(comparison: Comparison, criteria: Criteria, min_people: int | None) -> Finding:
    mine, theirs = comparison.mine, comparison.theirs
    least = criteria.min_people if min_people is None else min_people
    if mine.n_unfavourable + theirs.n_unfavourable == 0:
        return _finding(comparison, criteria, "inconclusive", "NOTHING")
    if not mine.n_unfavourable or not theirs.n_unfavourable:
        return _finding(comparison, criteria, "inconclusive", "UNDEFINED")
    if min(mine.n_unfavourable, theirs.n_unfavourable) < least:
        return _finding(comparison, criteria, "inconclusive", "TOO_FEW")
    rd = _judge_rd(comparison, criteria)
    acr = _judge_acr(comparison, criteria)
    if "unequal" in (rd, acr):
        codes = [code for code, part in (("RD_BEYOND", rd), ("ACR_BEYOND", acr)) if part == "unequal"]
        return _finding(comparison, criteria, "unequal", *codes)
    if rd == acr == "equal":
        return _finding(comparison, criteria, "equal", "ACR_WITHIN", "RD_WITHIN")
    code = "UNDEFINED" if acr == "undefined" else "UNCERTIFIED"
    return _finding(comparison, criteria, "inconclusive", code)


def _judge_rd(comparison: Comparison, criteria: Criteria) -> str:
    # The threshold is meant as written: 0.05 is one twentieth, not the double next to it.
    epsilon = Fraction(str(criteria.epsilon))
    wide = 1 if criteria.certified else 0
    low = exact_discrepancy(comparison.mine, comparison.theirs, extreme=-wide)
    high = exact_discrepancy(comparison.mine, comparison.theirs, extreme=wide)
    if low is None or high is None:
        return "undefined"
    if low >= epsilon or high <= -epsilon:
        return "unequal"
    return "equal" if -epsilon < low and high < epsilon else "uncertified"


def _judge_acr(comparison: Comparison, criteria: Criteria) -> str:
    low, high = comparison.acr_interval if criteria.certified else (comparison.acr, comparison.acr)
    if isnan(low):
        return "undefined"
    if criteria.certified and not _has_ratio(comparison):
        return "uncertified"
    floor, ceiling = criteria.rule.ends(criteria.tau)
    floor, ceiling = floor * (1 - ROUNDING), ceiling * (1 + ROUNDING)
    if low > ceiling or high < floor:
        return "unequal"
    return "equal" if floor <= low and high <= ceiling else "uncertified"


def _has_ratio(comparison: Comparison) -> bool:
    """Whether the ratio exists however the unsolved rows turn out: both groups act, and the other's effort counts."""
    mine, theirs = comparison.mine, comparison.theirs
    return mine.n_acting > 0 and theirs.n_acting > 0 and theirs.phi_interval[0] > 0


def _finding(comparison: Comparison, criteria: Criteria, outcome: Outcome, *codes: str) -> Finding:
    return Finding(comparison, outcome, codes, _sentence(comparison, criteria, outcome, codes))


def _sentence(comparison: Comparison, criteria: Criteria, outcome: Outcome, codes: tuple[str, ...]) -> str:
    """One or two sentences a non-expert understands."""
    a, b = comparison.group, comparison.against
    mine, theirs = comparison.mine, comparison.theirs
    if codes == ("NOTHING",):
        return f"Nobody in {a!r} or {b!r} was decided unfavourably: there is nothing to reverse."
    if not mine.n_unfavourable or not theirs.n_unfavourable:
        who = a if not mine.n_unfavourable else b
        return f"Nobody in {who!r} was decided unfavourably, so the efforts of {a!r} and {b!r} cannot be compared."
    if codes == ("TOO_FEW",):
        return (
            f"Only {mine.n_unfavourable} people in {a!r} and {theirs.n_unfavourable} in {b!r} were decided "
            f"unfavourably: too few to judge, as at least {criteria.min_people} are asked for in each group."
        )
    parts = [_effort_words(comparison), _chance_words(comparison)]
    why = []
    if "ACR_BEYOND" in codes:
        floor, ceiling = criteria.rule.ends(criteria.tau)
        above = comparison.acr > ceiling
        why.append(f"the ratio of efforts lies {'above' if above else 'below'} {number(ceiling if above else floor)}")
    if "RD_BEYOND" in codes:
        points = f"{abs(comparison.rd) * 100:.3g} percentage points"
        why.append(f"the shares with an action differ by {points} (threshold {number(criteria.epsilon * 100)})")
    ending = {
        "unequal": f"Effort is unequal: {' and '.join(why)}.",
        "equal": "Effort is equal within the thresholds.",
        "inconclusive": " ".join(REASONS[code] for code in codes),
    }[outcome]
    return f"{' '.join(parts)} {ending}"


def _effort_words(comparison: Comparison) -> str:
    a, b, acr = comparison.group, comparison.against, comparison.acr
    if isnan(acr):
        if not comparison.mine.n_acting or not comparison.theirs.n_acting:
            who, stats = (a, comparison.mine) if not comparison.mine.n_acting else (b, comparison.theirs)
            if stats.n_unknown:
                return (
                    f"For nobody in {who!r} is an action known ({stats.n_unknown} unknown), so average efforts cannot "
                    "be compared."
                )
            return (
                f"Nobody in {who!r} has an action that would turn the decision, so average efforts cannot be compared."
            )
        return f"The average effort in {b!r} is zero (in {a!r} {number(comparison.mine.phi)}), so no ratio is defined."
    return (
        f"On average people in {a!r} must spend {number(round(acr, 3))} times the effort of {b!r} to turn an "
        f"unfavourable decision ({comparison.mine.phi:.4g} against {comparison.theirs.phi:.4g}, "
        f"{comparison.mine.n_acting} and {comparison.theirs.n_acting} people)."
    )


def _chance_words(comparison: Comparison) -> str:
    mine, theirs = comparison.mine, comparison.theirs
    verb = "is known" if mine.n_unknown or theirs.n_unknown else "exists"
    return (
        f"An action {verb} for {_share_words(comparison.group, mine)} and for "
        f"{_share_words(comparison.against, theirs)}."
    )


def _share_words(group: str, stats: EffortStats) -> str:
    unknown = f", {stats.n_unknown} unknown" if stats.n_unknown else ""
    return f"{stats.n_acting} of {stats.n_unfavourable} in {group!r} ({stats.rho:.1%}{unknown})"


def decide(
    compared: tuple[Comparison, ...],
    criteria: Criteria,
    *,
    individual: bool = False,
    surrogate: Surrogate | None = None,
    unsettled: Sequence[tuple[str, Any]] = (),
    provable: bool = True,
    further: str = "",
    outliers: Sequence[str] = (),
) -> Verdict:
    """The verdict over comparisons: unequal if any protected group's is, equal if all are.

    Of a surrogate that repeats too few decisions nothing is concluded. `unsettled` names people, with their
    group, who are not solved to the end, for a verdict that they could overturn; `provable` says whether the solver
    could ever settle them, `further` what to do about them if that is not a call in Python. Nothing is concluded from
    effort that is measured by one absurd value: `outliers` names the features that have it.
    """
    counted = [c for c in compared if c.role != "other" or individual]
    if surrogate is not None:
        surrogate = surrogate.among(label for c in counted for label in (c.group, c.against))
    findings = tuple(
        judge(
            c, criteria, min_people=1 if individual else None, unsettled=unsettled, provable=provable, further=further
        )
        for c in counted
    )
    outcomes = [finding.outcome for finding in findings]
    outcome: Outcome = "inconclusive"
    if "unequal" in outcomes:
        outcome = "unequal"
    elif outcomes and all(found == "equal" for found in outcomes):
        outcome = "equal"
    if surrogate is not None and not surrogate.suffices:
        outcome = "inconclusive"
        findings = tuple(_of_the_stand_in(finding) for finding in findings)
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
    return Verdict(outcome, findings, criteria, surrogate, tuple(outliers))


def _of_the_stand_in(finding: Finding) -> Finding:
    """What is found of a stand-in that repeats too few decisions is a finding about the stand-in alone."""
    sentence = f"Of the stand-in alone, not of the decisions: {finding.sentence}"
    return replace(finding, outcome="inconclusive", codes=("SURROGATE", *finding.codes), sentence=sentence)


def _burden_words(finding: Finding) -> str:
    """Who must work harder, or more often has no way."""
    c, parts = finding.comparison, []
    if "ACR_BEYOND" in finding.codes:
        harder, other = (c.group, c.against) if c.acr > 1 else (c.against, c.group)
        parts.append(f"People in {harder!r} must work harder than people in {other!r} to turn the decision.")
    if "RD_BEYOND" in finding.codes:
        stuck, other = (c.group, c.against) if c.rd > 0 else (c.against, c.group)
        parts.append(f"People in {stuck!r} more often have no way to turn the decision than people in {other!r}.")
    return " ".join(parts)


@dataclass(frozen=True)
class Assessment:
    """One level of Algorithm 1: an individual's neighbourhood, a subgroup, or the whole system."""

    level: OneOf["system", "subgroup", "individual"]
    about: str
    by_group: pd.DataFrame
    comparisons: tuple[Comparison, ...]
    verdict: Verdict

    def __str__(self) -> str:
        return f"{self.about}\n{self.verdict}"
