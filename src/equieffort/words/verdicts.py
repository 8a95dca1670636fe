"""A finding in words: whom the numbers are over, their intervals, what is decided, and what would decide it."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, isinf, isnan
from typing import Any

from equieffort.data.frames import number, percent
from equieffort.effort.criteria import Criteria
from equieffort.effort.inference.planning import about
from equieffort.effort.judging import Judged, Outcome
from equieffort.effort.measures import MEASURES, NOTES, Measure, Reading
from equieffort.effort.metrics import Comparison
from equieffort.effort.planning import people_to_decide
from equieffort.effort.stats import EffortStats
from equieffort.errors import Setting, capital, label
from equieffort.recourse.status import LACKS, Ending, Reason, Termination
from equieffort.recourse.table import Audience
from equieffort.words.settings import in_words


def sentence(
    comparison: Comparison, criteria: Criteria, outcome: Outcome, codes: tuple[str, ...], judged: Sequence[Judged],
    min_people: int, compared: int,
) -> str:  # fmt: skip
    """Some sentences that a non-expert understands."""
    (a, b), mine, theirs = comparison.people, comparison.mine, comparison.theirs
    if codes == ("NOTHING",):
        return f"No {a} and no {b} were refused: there is nothing to reverse."
    no_refusals = not mine.n_unfavourable or not theirs.n_unfavourable
    if no_refusals and all(isnan(one.reading.estimate) for one in judged):
        none, some = (a, b) if not mine.n_unfavourable else (b, a)
        return f"No {none} were refused, so nothing can be compared with the effort of refused {some}."
    parts = [_words(comparison, one.reading, criteria) for one in judged]
    parts.append(_ending(comparison, criteria, outcome, codes, judged, min_people, compared))
    return " ".join(part for part in parts if part)


def unknown_words(comparison: Comparison, judged: Sequence[Judged]) -> str:
    """What people whose group is not known could change."""
    n = sum(part.n for part in comparison.unplaced)
    known = [one.reading for one in judged if not isnan(one.reading.assigned_least)]
    if not n or not known:
        return ""
    parts = [
        f"{_title(one)} lies between {_shown(one, one.assigned_least)} and {_shown(one, one.assigned_most)}"
        for one in known
    ]
    moved = [one for one in known if "UNKNOWN_GROUP" in one.note.split()]
    ending = "could lie on the other side of its threshold" if moved else "stays on its side of the threshold"
    which = " and ".join(_title(one) for one in (moved or known)) if len(known) > 1 else "it"
    if len(moved or known) > 1:
        ending = ending.replace("its threshold", "their thresholds").replace("stays on its", "stay on their")
    who = "one person" if n == 1 else f"{n:,} people"
    return f"The group of {who} is not known. However they are assigned, {' and '.join(parts)}: {which} {ending}."


def _shown(reading: Reading, value: float) -> str:
    return "infinity" if isinf(value) else MEASURES[reading.measure].show(value)


SUBJECTS = {"impact_ratio": "approval", "rd": "possible recourse"}
"""What a verdict about such measures alone is about."""


def subject(criteria: Criteria) -> str:
    """What the judged measures are about."""
    found = {SUBJECTS.get(name, "effort") for name in criteria.judged}
    return found.pop() if len(found) == 1 else "effort"


def _words(comparison: Comparison, reading: Reading, criteria: Criteria) -> str:
    if reading.measure == "acr":
        return _effort_words(comparison, criteria)
    if reading.measure == "rd":
        return _recourse_words(comparison, criteria)
    if isnan(reading.estimate):
        a, b = comparison.people
        why = " ".join(NOTES[code] for code in reading.note.split()[:1])
        return f"Between {a} and {b} {_title(reading)} is not defined: {why[:1].lower()}{why[1:]}"
    return measure_words(comparison, reading, criteria, counted=True)


NO_TEST = ("TOO_FEW", "NO_SPREAD", "ZERO_EFFORT", "MEDIAN_INFINITE", "RESAMPLED", "NO_INTERVAL")
"""Notes that say why there is no interval."""


def interval_words(measure: Measure, reading: Reading, criteria: Criteria) -> str:
    """The confidence interval in brackets, or why there is none."""
    if isnan(reading.low) or isnan(reading.high):
        if criteria.level is None:
            return "point estimate"
        why = next((NOTES[code] for code in NO_TEST if code in reading.note.split()), "")
        return f"no interval: {why[0].lower()}{why[1:-1]}" if why else "no interval"
    low, high = ends_words(measure, reading.low, reading.high)
    return f"{number(100 * (criteria.level or 0.95))} % interval {low} to {high}"


def ends_words(measure: Measure, low: float, high: float) -> tuple[str, str]:
    """Both ends of an interval; the unit is said once."""
    if high == inf:
        return measure.show(low), "unlimited"
    return measure.show(low).removesuffix(measure.unit), measure.show(high)


def measure_words(comparison: Comparison, reading: Reading, criteria: Criteria, *, counted: bool = False) -> str:
    """Any measure as a sentence with its interval and, if asked for, the numbers of people it rests on."""
    measure = MEASURES[reading.measure]
    if isnan(reading.estimate):
        return ""
    words = measure.words(*comparison.people, measure.show(reading.estimate))
    whom = {"acting": "refused people with a route", "refused": "refused people", "people": "people"}[measure.basis]
    n = f"; {reading.n:,} against {reading.n_against:,} {whom}" if counted else ""
    return f"{words} ({interval_words(measure, reading, criteria)}{n})."


def _effort_words(comparison: Comparison, criteria: Criteria) -> str:
    (a, b), acr = comparison.people, comparison.acr
    mine, theirs = comparison.mine, comparison.theirs
    if not mine.n_unfavourable or not theirs.n_unfavourable:
        return f"No {a if not mine.n_unfavourable else b} were refused, so average efforts cannot be compared."
    if isnan(acr):
        if not mine.n_acting or not theirs.n_acting:
            who, stats = (a, mine) if not mine.n_acting else (b, theirs)
            if stats.n_unknown:
                return (
                    f"For no refused {who} is a route to approval known ({stats.n_unknown:,} unknown), so "
                    "average efforts cannot be compared."
                )
            return f"No refused {who} have a route to approval, so average efforts cannot be compared."
        needed = f"{mine.phi:.4g} for refused {a} and {theirs.phi:.4g} for refused {b}"
        return f"The average effort is {needed}, so no ratio is defined."
    reading = comparison.reading("acr")
    measure = MEASURES["acr"]
    # On the wrong side of a threshold by a hair: two digits would not show it.
    shown = number(round(acr, 3)) if criteria.level is None else measure.show(acr)
    have, need = ("has", "needs") if mine.n_acting == 1 else ("have", "need")
    return (
        f"The {mine.n_acting:,} of {mine.n_unfavourable:,} refused {a} who {have} a route to approval {need} {shown} "
        f"times the effort of the {theirs.n_acting:,} of {theirs.n_unfavourable:,} refused {b} who "
        f"{'has' if theirs.n_acting == 1 else 'have'} one ({interval_words(measure, reading, criteria)}; on average "
        f"{mine.phi:.4g} against {theirs.phi:.4g})."
    )


def _recourse_words(comparison: Comparison, criteria: Criteria) -> str:
    reading, measure = comparison.reading("rd"), MEASURES["rd"]
    (a, b), mine, theirs = comparison.people, comparison.mine, comparison.theirs
    if isnan(reading.estimate):
        return ""
    verb = "is known" if mine.n_unknown or theirs.n_unknown else "exists"
    gap = f"a gap of {measure.show(reading.estimate)} ({interval_words(measure, reading, criteria)})"
    return f"A route {verb} for {_share_words(mine)} of refused {a} and {_share_words(theirs)} of refused {b}, {gap}."


def _share_words(stats: EffortStats) -> str:
    unknown = f" ({stats.n_unknown} unknown)" if stats.n_unknown else ""
    return f"{percent(stats.rho)}{unknown}"


def _ending(
    comparison: Comparison, criteria: Criteria, outcome: Outcome, codes: tuple[str, ...], judged: Sequence[Judged],
    min_people: int, compared: int,
) -> str:  # fmt: skip
    if outcome == "equal":
        return f"{capital(subject(criteria))} is equal within the thresholds."
    if outcome == "unequal":
        why = [_beyond_words(one, criteria) for one in judged if one.state == "beyond"]
        return f"{capital(subject(criteria))} is unequal: {' and '.join(why)}."
    code = codes[0]
    if code == "UNDEFINED":
        return _undefined_words([one.reading for one in judged if one.state == "undefined"])
    if code == "TOO_FEW":
        whom = dict.fromkeys(_counted_words(MEASURES[one.measure]) for one in judged if one.state == "few")
        return f"Too few to judge: each group needs at least {min_people:,} {', and as many '.join(whom)}."
    if code == "UNCERTIFIED":
        return "People who are not solved to the end could overturn the result."
    return _noise_words(comparison, criteria, judged, compared)


def _counted_words(measure: Measure) -> str:
    """Whom `min_people` counts."""
    if measure.name == "impact_ratio":
        return "people"
    return "people with a route to approval" if measure.basis == "acting" else "refused people"


def _undefined_words(readings: Sequence[Reading]) -> str:
    """What cannot be computed, and what can but has no spread to be judged by."""
    missing = [_title(one) for one in readings if isnan(one.estimate)]
    rigid = [_title(one) for one in readings if not isnan(one.estimate)]
    parts = [f"{' and '.join(missing)} cannot be computed"] if missing else []
    parts += [f"{' and '.join(rigid)} cannot be tested"] if rigid else []
    return f"Not decided: {', and '.join(parts)}."


def _title(reading: Reading) -> str:
    title = MEASURES[reading.measure].title
    return f"the {title[0].lower()}{title[1:]}"


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
    return f"{_title(reading)} lies {side}{chance}"


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


def further_words(people: Sequence[Any], endings: Sequence[Reason | None], provable: bool, audience: Audience) -> str:
    """What to do about people who are not solved to the end, of whom `endings` say what stopped the solver.

    >>> ending = Termination(Ending.WORK, argument="node_limit", limit=500)
    >>> further_words([7], [ending], True, "python")
    'Person 7 is not solved to the end: solve further with audit.solve_further().'
    >>> further_words([7], [ending], True, "spec")
    'Person 7 is not solved to the end: raise node_limit (it was 500) under solver in the spec and audit again (the
    column `reason` of the CSV file says why, person by person).'
    """
    final = [isinstance(one, Termination) and one.kind in (Ending.UNDEFINED, *LACKS) for one in endings]
    lost = [person for person, is_final in zip(people, final, strict=True) if is_final]
    parts = (
        [_final_words(lost, [one for one, is_final in zip(endings, final, strict=True) if is_final])] if lost else []
    )
    if len(lost) < len(people):
        open_people, open_endings = zip(
            *((a, b) for a, b, is_final in zip(people, endings, final, strict=True) if not is_final), strict=True
        )
        parts.insert(0, _open_words(open_people, open_endings, provable, audience))
    return " ".join(parts)


def _named(people: Sequence[Any]) -> tuple[str, str]:
    """So many people as the beginning of a sentence, and the first of them in brackets."""
    first = ", ".join(map(label, people[:5]))
    some = f"first {first}" if len(people) > 5 else first
    return (f"Person {first}", "") if len(people) == 1 else (f"{len(people):,} people", f" ({some})")


def _final_words(people: Sequence[Any], endings: Sequence[Reason | None]) -> str:
    """People whom no solver can do anything for, and what must be mended in the table."""
    who, which = _named(people)
    found = [one for one in endings if isinstance(one, Termination)]
    zero = dict.fromkeys(repr(one.subject) for one in found if one.kind == Ending.UNDEFINED)
    gone = dict.fromkeys(repr(one.subject) for one in found if one.kind != Ending.UNDEFINED)
    why = [f"an equation divides by 0 ({', '.join(zero)})"] if zero else []
    why += [f"a value is missing ({', '.join(gone)})"] if gone else []
    return (
        f"{who} cannot be solved{which}, since {' or '.join(why)}: no solver changes that; correct the values in the "
        "table, or leave the rows out."
    )


def _open_words(people: Sequence[Any], endings: Sequence[Reason | None], provable: bool, audience: Audience) -> str:
    """People for whom more work could say more."""
    who, which = _named(people)
    who += " is" if len(people) == 1 else " are"
    if not provable:
        judged = in_words((Setting("certified"),), audience)
        how = f"a search proves nothing, however long it goes on; {judged} judges the estimate."
    elif audience == "python":
        how = "solve further with audit.solve_further()."
    else:
        how = _in_the_spec([one for one in endings if isinstance(one, Termination)])
    return f"{who} not solved to the end{which}: {how}"


def _in_the_spec(endings: Sequence[Termination]) -> str:
    """What to change in a spec, and where it says more."""
    limits: dict[str, float] = {}
    for one in endings:
        if one.argument:
            limits[one.argument] = max(limits.get(one.argument, 0.0), one.limit or 0.0)
    ways = []
    if limits:
        keys = " and ".join(f"{name} (it was {most:,.10g})" for name, most in sorted(limits.items()))
        ways.append(f"raise {keys} under solver in the spec and audit again")
    if any(one.kind == Ending.UNLIMITED for one in endings):
        ways.append("say under features how far actions may go (lower, upper, max_increase, max_decrease)")
    where = "the column `reason` of the CSV file says why, person by person"
    return f"{'; '.join(ways)} ({where})." if ways else f"{where}."
