"""A finding in words: whom the numbers are over, their intervals, what is decided, and what would decide it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, isnan
from typing import Any

from equieffort.criteria import Criteria
from equieffort.errors import label
from equieffort.frames import number
from equieffort.inference.planning import about
from equieffort.judging import Judged, Outcome
from equieffort.measures import MEASURES, Measure, Reading
from equieffort.metrics import Comparison
from equieffort.planning import people_to_decide
from equieffort.stats import EffortStats


def sentence(
    comparison: Comparison, criteria: Criteria, outcome: Outcome, codes: tuple[str, ...], judged: Sequence[Judged],
    min_people: int, compared: int,
) -> str:  # fmt: skip
    """Some sentences that a non-expert understands."""
    a, b = comparison.group, comparison.against
    mine, theirs = comparison.mine, comparison.theirs
    if codes == ("NOTHING",):
        return f"Nobody in {a!r} or {b!r} was decided unfavourably: there is nothing to reverse."
    if outcome == "inconclusive" and (not mine.n_unfavourable or not theirs.n_unfavourable):
        who = a if not mine.n_unfavourable else b
        return f"Nobody in {who!r} was decided unfavourably, so the efforts of {a!r} and {b!r} cannot be compared."
    parts = [_effort_words(comparison, criteria), _recourse_words(comparison, criteria)]
    for one in judged:
        if one.measure not in ("acr", "rd"):
            parts.append(measure_words(comparison, one.reading, criteria))
    parts.append(_ending(comparison, criteria, outcome, codes, judged, min_people, compared))
    return " ".join(part for part in parts if part)


def interval_words(measure: Measure, reading: Reading, criteria: Criteria) -> str:
    """The confidence interval in brackets, or why there is none."""
    if isnan(reading.low) or isnan(reading.high):
        return "point estimate" if criteria.level is None else "no interval"
    low, high = ends_words(measure, reading.low, reading.high)
    return f"{number(100 * (criteria.level or 0.95))} % interval {low} to {high}"


def ends_words(measure: Measure, low: float, high: float) -> tuple[str, str]:
    """Both ends of an interval; the unit is said once."""
    first, last = measure.show(low), "any" if high == inf else measure.show(high)
    for unit in (" points", " %"):
        if first.endswith(unit) and last.endswith(unit):
            first = first.removesuffix(unit)
    return first, last


def measure_words(comparison: Comparison, reading: Reading, criteria: Criteria) -> str:
    """Any measure as a sentence with its interval."""
    measure = MEASURES[reading.measure]
    if isnan(reading.estimate):
        return ""
    words = measure.words(repr(comparison.group), repr(comparison.against), measure.show(reading.estimate))
    return f"{words} ({interval_words(measure, reading, criteria)})."


def _effort_words(comparison: Comparison, criteria: Criteria) -> str:
    a, b, acr = comparison.group, comparison.against, comparison.acr
    mine, theirs = comparison.mine, comparison.theirs
    if isnan(acr):
        if not mine.n_acting or not theirs.n_acting:
            who, stats = (a, mine) if not mine.n_acting else (b, theirs)
            if stats.n_unknown:
                return (
                    f"For nobody in {who!r} is a route to approval known ({stats.n_unknown} unknown), so average "
                    "efforts cannot be compared."
                )
            return f"Nobody in {who!r} has a route to approval, so average efforts cannot be compared."
        return f"The average effort in {b!r} is zero (in {a!r} {number(mine.phi)}), so no ratio is defined."
    reading = comparison.reading("acr")
    measure = MEASURES["acr"]
    # On the wrong side of a threshold by a hair: two digits would not show it.
    shown = number(round(acr, 3)) if criteria.level is None else measure.show(acr)
    return (
        f"The {mine.n_acting:,} of {mine.n_unfavourable:,} refused people in {a!r} who have a route to approval need "
        f"{shown} times the effort of the {theirs.n_acting:,} of {theirs.n_unfavourable:,} in {b!r} who have one "
        f"({interval_words(measure, reading, criteria)}; on average {mine.phi:.4g} against {theirs.phi:.4g})."
    )


def _recourse_words(comparison: Comparison, criteria: Criteria) -> str:
    reading, measure = comparison.reading("rd"), MEASURES["rd"]
    mine, theirs = comparison.mine, comparison.theirs
    verb = "is known" if mine.n_unknown or theirs.n_unknown else "exists"
    shares = (
        f"A route {verb} for {_share_words(mine)} of the refused in {comparison.group!r} and {_share_words(theirs)} in "
        f"{comparison.against!r}"
    )
    if isnan(reading.estimate):
        return f"{shares}."
    return f"{shares}, a gap of {measure.show(reading.estimate)} ({interval_words(measure, reading, criteria)})."


def _share_words(stats: EffortStats) -> str:
    unknown = f" ({stats.n_unknown} unknown)" if stats.n_unknown else ""
    return f"{stats.rho:.1%}{unknown}" if stats.n_unfavourable else "none"


def _ending(
    comparison: Comparison, criteria: Criteria, outcome: Outcome, codes: tuple[str, ...], judged: Sequence[Judged],
    min_people: int, compared: int,
) -> str:  # fmt: skip
    if outcome == "equal":
        return "Effort is equal within the thresholds."
    if outcome == "unequal":
        why = [_beyond_words(one, criteria) for one in judged if one.state == "beyond"]
        return f"Effort is unequal: {' and '.join(why)}."
    code = codes[0]
    if code == "UNDEFINED":
        named = [MEASURES[one.measure].title for one in judged if one.state == "undefined"]
        return f"Not decided, since this cannot be computed or has no spread: {' and '.join(named)}."
    if code == "TOO_FEW":
        return (
            f"Too few people to judge: at least {min_people:,} are asked for in each group, with a route to approval "
            "where their average effort is judged, refused for the rest."
        )
    if code == "UNCERTIFIED":
        return "People who are not solved to the end could overturn the result."
    return _noise_words(comparison, criteria, judged, compared)


def _beyond_words(one: Judged, criteria: Criteria) -> str:
    measure, reading = MEASURES[one.measure], one.reading
    zone = criteria.zone(measure)
    assert zone is not None
    floor, ceiling = (measure.scale.back(end) for end in (zone.low, zone.high))
    above = reading.estimate > measure.neutral
    chance = "" if criteria.level is None else f" ({_p_words(reading.p_adjusted)})"
    if measure.threshold == "epsilon":
        points = f"{abs(reading.estimate) * 100:.3g} percentage points"
        return f"the shares with a route differ by {points}, threshold {number(criteria.epsilon * 100)}{chance}"
    side = f"above {number(ceiling)}" if above else f"below {number(round(floor, 4))}"
    return f"{measure.title[0].lower()}{measure.title[1:]} lies {side}{chance}"


def _p_words(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"


def _noise_words(comparison: Comparison, criteria: Criteria, judged: Sequence[Judged], compared: int) -> str:
    """What is known although nothing is decided, and how many people would decide it."""
    open_ones = [one for one in judged if one.state == "open"]
    differing = [one for one in open_ones if one.differs]
    known = ""
    for one in differing:
        if MEASURES[one.measure].threshold == "epsilon":
            far = f"{number(criteria.epsilon * 100)} points"
            known += f"The shares with a route to approval differ; whether by more than {far} is not decided. "
        else:
            what = "The efforts" if one.measure == "acr" else f"{MEASURES[one.measure].title}: the groups"
            known += f"{what} differ; whether by more than {number(criteria.tau)} times is not decided. "
    if not differing:
        known = "Chance alone could explain the difference, and hide one that counts. "
    return known + _people_words(comparison, criteria, judged, compared)


def _people_words(comparison: Comparison, criteria: Criteria, judged: Sequence[Judged], compared: int) -> str:
    as_estimated, if_equal = people_to_decide(comparison, criteria, [one.measure for one in judged], compared)
    there = comparison.mine.n + comparison.theirs.n
    if not isfinite(if_equal):
        if not isfinite(as_estimated):
            return "No number of people like these would decide it."
        return f"About {about(as_estimated)} people would decide it if all is as estimated (there are {there:,})."
    equal = f"about {about(if_equal)} if the groups are truly equal"
    if not isfinite(as_estimated):
        return f"More people would decide it: {equal} (there are {there:,})."
    return (
        f"Roughly how many people would decide it: about {about(as_estimated)} if all is as estimated, {equal} (there "
        f"are {there:,})."
    )


def further_words(people: Sequence[Any], provable: bool, further: str) -> str:
    """What to do about people who are not solved to the end."""
    first = ", ".join(map(label, people[:5]))
    some = f"first {first}" if len(people) > 5 else first
    who = f"Person {first} is" if len(people) == 1 else f"{len(people):,} people are"
    which = "" if len(people) == 1 else f" ({some})"
    how = further or (
        "solve further with audit.solve_further()."
        if provable
        else "a search proves nothing, however long it goes on; Criteria(certified=False) judges what was found."
    )
    return f"{who} not solved to the end{which}: {how}"
