"""From readings to outcomes: which judged measures lie beyond their zone, which within, and what is left open.

*Unequal*: some test of "within the tolerance" rejects, adjusted over all judged measures and groups of the level.
*Equal*: every test of "beyond the tolerance" rejects, which needs no adjustment. All else is inconclusive, with why.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import isnan
from typing import Literal

from equieffort.effort.criteria import Criteria
from equieffort.effort.inference import Zone
from equieffort.effort.measures import MEASURES, Measure, Reading, read, read_spread
from equieffort.effort.measures.assigned import Assigned
from equieffort.effort.metrics import Comparison, exact_discrepancy
from equieffort.foundations.arguments import calling

Outcome = Literal["equal", "unequal", "inconclusive"]
State = Literal["beyond", "within", "open", "undefined", "few", "uncertified"]

ROUNDING = 1e-12
SHOWN_LEVEL = 0.95
"""Of intervals, where the verdict is about the point estimate."""


@dataclass(frozen=True)
class Judged:
    """What a verdict makes of one measure."""

    reading: Reading
    state: State
    differs: bool = False
    """Whether there is a difference at all, adjusted for all that was asked."""

    @property
    def measure(self) -> str:
        """Its name."""
        return self.reading.measure


def with_readings(
    comparison: Comparison, criteria: Criteria, measures: Iterable[Measure] = MEASURES.values()
) -> Comparison:
    """The comparison with every measure read; what is not to be certified is taken as found."""
    pair = comparison.pair if criteria.certified else comparison.pair.as_found
    level = criteria.level if criteria.level is not None else SHOWN_LEVEL
    found, again = [], []
    for measure in measures:
        zone = criteria.zone(measure)
        with calling(f"The measure {measure.name!r}", "Correct its estimate() or law(), or leave it out of measures."):
            reading = read(measure, pair, level, zone)
            if comparison.unplaced:
                reading = _with_assigned(measure, reading, measure.assigned(pair, comparison.unplaced), zone)
        spread = comparison.spreads.get(measure.name)
        if spread is not None:
            again.append(read_spread(measure, reading, spread, level, zone, comparison.chance))
        if spread is None or comparison.chance != "people":
            found.append(reading)
    return replace(comparison, readings=(*found, *again))


def _with_assigned(measure: Measure, reading: Reading, found: Assigned | None, zone: Zone | None) -> Reading:
    """The reading with what people whose group is not known could make of it."""
    if found is None:
        return replace(reading, note=f"{reading.note} NOT_ASSIGNED".strip())
    reading = replace(reading, assigned_least=found.least, assigned_most=found.most)
    notes = [reading.note] if reading.note else []
    notes += ["ASSIGNED_OUTER"] if found.is_outer else []
    if zone is not None and not isnan(reading.estimate) and not isnan(found.least):
        values = (reading.estimate, found.least, found.most)
        # Below, within or above what counts as equal.
        places = {int(one > zone.high) - int(one < zone.low) for one in map(measure.scale.to, values)}
        notes += ["UNKNOWN_GROUP"] if len(places) > 1 else []
    return replace(reading, note=" ".join(notes))


def judge_family(
    compared: Sequence[Comparison], criteria: Criteria, min_people: int
) -> list[tuple[Outcome, tuple[str, ...], tuple[Judged, ...]]]:
    """For each comparison its outcome, the codes of why, and what became of each judged measure."""
    if criteria.level is None:
        states = [_by_estimate(c, criteria, min_people) for c in compared]
    else:
        found = [[c.reading(name) for name in criteria.judged] for c in compared]
        states = _by_tests(found, criteria, min_people)
        if not all(c.pair.is_settled for c in compared) and criteria.certified:
            states = _with_gaps_closed(compared, states, criteria, min_people)
    return [(*_outcome(c, judged), tuple(judged)) for c, judged in zip(compared, states, strict=True)]


def _by_tests(found: list[list[Reading]], criteria: Criteria, min_people: int) -> list[list[Judged]]:
    assert criteria.level is not None
    wrong = 1 - criteria.level
    flat = [reading for readings in found for reading in readings]
    states: list[State] = [_unfit(reading, min_people) or "open" for reading in flat]
    fit = [state == "open" for state in states]
    nan = float("nan")
    beyond = criteria.adjust.adjust([r.p_beyond if ok else nan for r, ok in zip(flat, fit, strict=True)])
    differ = criteria.adjust.adjust([r.p if ok else nan for r, ok in zip(flat, fit, strict=True)])
    judged = []
    for k, reading in enumerate(flat):
        state = states[k]
        if fit[k]:
            state = "beyond" if beyond[k] <= wrong else "within" if reading.p_within <= wrong else "open"
        judged.append(Judged(replace(reading, p_adjusted=beyond[k]), state, bool(differ[k] <= wrong)))
    rows, width = iter(judged), len(criteria.judged)
    return [[next(rows) for _ in range(width)] for _ in found]


def _unfit(reading: Reading, min_people: int) -> State | None:
    if isnan(reading.estimate):
        return "undefined"
    if reading.carriers < min_people:
        return "few"
    return "undefined" if isnan(reading.p_beyond) else None


def _with_gaps_closed(
    compared: Sequence[Comparison], states: list[list[Judged]], criteria: Criteria, min_people: int
) -> list[list[Judged]]:
    """What would be decided if what was found were the end of it is not certified, rather than open by chance."""
    judged = [MEASURES[name] for name in criteria.judged]
    found = [with_readings(c, replace(criteria, certified=False), judged) for c in compared]
    closed = _by_tests([[c.reading(name) for name in criteria.judged] for c in found], criteria, min_people)
    return [
        [
            replace(here, state="uncertified")
            if (here.state == "open" and there.state in ("beyond", "within")) or _may_act(c, here, min_people)
            else here
            for here, there in zip(mine, others, strict=True)
        ]
        for c, mine, others in zip(compared, states, closed, strict=True)
    ]


def _may_act(comparison: Comparison, judged: Judged, min_people: int) -> bool:
    """Whether only people of whom nothing is known are missing for a measure of those who have a route."""
    if judged.state not in ("undefined", "few") or MEASURES[judged.measure].basis != "acting":
        return False
    both = comparison.mine, comparison.theirs
    return any(s.n_unknown for s in both) and all(s.n_acting + s.n_unknown >= min_people for s in both)


def _by_estimate(comparison: Comparison, criteria: Criteria, min_people: int) -> list[Judged]:
    """The paper's way: the estimate, or its certain range, against the thresholds."""
    judged = []
    for name in criteria.judged:
        reading = comparison.reading(name)
        state: State
        refused = min(comparison.mine.n_unfavourable, comparison.theirs.n_unfavourable)
        fewest = refused if MEASURES[name].basis == "acting" else reading.carriers
        if fewest == 0:
            state = "undefined" if isnan(reading.estimate) else "few"
        elif fewest < min_people:
            state = "few"
        elif name == "rd":
            state = _gap_state(comparison, criteria)
        else:
            state = _ratio_state(comparison, reading, criteria)
        judged.append(Judged(reading, state))
    return judged


def _gap_state(comparison: Comparison, criteria: Criteria) -> State:
    # The threshold is meant as written: 0.05 is one twentieth, not the double next to it.
    epsilon = Fraction(str(criteria.epsilon))
    wide = 1 if criteria.certified else 0
    low = exact_discrepancy(comparison.mine, comparison.theirs, extreme=-wide)
    high = exact_discrepancy(comparison.mine, comparison.theirs, extreme=wide)
    if low is None or high is None:
        return "undefined"
    if low >= epsilon or high <= -epsilon:
        return "beyond"
    return "within" if -epsilon < low and high < epsilon else "uncertified"


def _ratio_state(comparison: Comparison, reading: Reading, criteria: Criteria) -> State:
    measure = MEASURES[reading.measure]
    low = high = reading.estimate
    if criteria.certified and not comparison.pair.is_settled:
        low, high = comparison.acr_range if reading.measure == "acr" else (reading.least, reading.most)
        if reading.measure == "acr" and not isnan(low) and not _has_ratio(comparison):
            return "uncertified"
        if isnan(low) and not isnan(reading.estimate):
            return "uncertified"
    if isnan(low):
        return "undefined"
    zone = criteria.zone(measure)
    assert zone is not None
    floor, ceiling = (measure.scale.back(end) for end in (zone.low, zone.high))
    floor, ceiling = floor * (1 - ROUNDING), ceiling * (1 + ROUNDING)
    if low > ceiling or high < floor:
        return "beyond"
    return "within" if floor <= low and high <= ceiling else "uncertified"


def _has_ratio(comparison: Comparison) -> bool:
    """Whether the ratio exists however the unsolved rows turn out: both groups act, and the other's effort counts."""
    mine, theirs = comparison.mine, comparison.theirs
    return mine.n_acting > 0 and theirs.n_acting > 0 and theirs.phi_certified[0] > 0


REASON: dict[State, str] = {
    "undefined": "UNDEFINED",
    "few": "TOO_FEW",
    "uncertified": "UNCERTIFIED",
    "open": "NOISE",
}
"""In the order in which reasons are given."""


def _outcome(comparison: Comparison, judged: list[Judged]) -> tuple[Outcome, tuple[str, ...]]:
    states = [one.state for one in judged]
    beyond = tuple(f"{one.measure.upper()}_BEYOND" for one in judged if one.state == "beyond")
    if beyond:
        return "unequal", beyond
    if all(state == "within" for state in states):
        return "equal", tuple(f"{one.measure.upper()}_WITHIN" for one in judged)
    if all(state == "undefined" for state in states) and not (
        comparison.mine.n_unfavourable or comparison.theirs.n_unfavourable
    ):
        return "inconclusive", ("NOTHING",)
    return "inconclusive", (next(code for state, code in REASON.items() if state in states),)
