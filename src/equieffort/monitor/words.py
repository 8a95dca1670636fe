"""A monitor's state in sentences."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from equieffort.data.frames import number
from equieffort.errors import many

if TYPE_CHECKING:
    from equieffort.monitor.state import Batch, MonitorState, Reading

NAMES = {"restricted_effort": "Restricted effort", "burden": "Burden"}


def state_lines(state: MonitorState) -> list[str]:
    """The alarm or its absence, the last batch, and each comparison."""
    if not state.batches:
        return [f"{_alarm(state)} No batch has been counted yet."]
    last = state.batches[-1]
    compared = zip(state.fixed.pairs, last.readings, strict=True)
    return [
        _alarm(state),
        _batch(last, len(state.batches)),
        *(_comparison(state, measure, pair, one) for (measure, *pair), one in compared),
    ]


def guarantee_lines(state: MonitorState) -> list[str]:
    """What is counted, and what the guarantee is; none before the first batch."""
    fixed = state.fixed
    if not state.batches:
        return []
    counted = (
        f"Effort is capped at a budget of {number(fixed.budget)} and counted in shares of it; people without a route "
        "to approval count in full" + (", approved people as 0 (burden)." if "burden" in fixed.measures else ".")
    )
    share = f"{100 * (1 - fixed.level):.3g} %"
    split = (
        f": the {len(fixed.pairs)} comparisons share it, and each raises an alarm at evidence {fixed.alarm_at:.4g}"
        if len(fixed.pairs) > 1
        else f", at evidence {fixed.alarm_at:.4g}"
    )
    guarantee = (
        f"{_equal(fixed.tau)}, the chance that there is ever an alarm, however often "
        f"somebody looks, is at most {share}{split}. With {100 * fixed.level:.3g} % confidence a sequence "
        "holds the ratio at every look, if the ratio stays the same."
    )
    return [counted, guarantee]


def _equal(tau: float) -> str:
    return "While all ratios are 1" if tau == 1 else f"While all ratios lie within {1 / tau:.3g} to {tau:.3g}"


def _alarm(state: MonitorState) -> str:
    alarms = state.alarms
    if not alarms:
        return "No alarm."
    parts = []
    for (measure, *both), batch in alarms.items():
        k = state.fixed.pairs.index((measure, both[0], both[1]))
        more, less = both if batch.readings[k].side == 0 else both[::-1]
        factor = "" if state.fixed.tau == 1 else f" by more than {state.fixed.tau:.3g} times"
        of = "refused " if measure == "restricted_effort" else ""
        more, less = (f"{of}{state.fixed.people(who)}" for who in (more, less))
        verb = "need more effort than" if measure == "restricted_effort" else "carry a larger burden than"
        parts.append(f"{more} {verb} {less}{factor} ({NAMES[measure].lower()}, {batch.date})")
    return f"Alarm on {state.alarm}: {'; '.join(parts)}."


def _batch(batch: Batch, count: int) -> str:
    name = f" {batch.name!r}" if batch.name else ""
    text = (
        f"Batch {count:,}{name} of {batch.date}: {many(batch.people, 'person', 'people')}, {batch.refused:,} refused"
        f"{'' if batch.ordered else ', taken without an order'}."
    )
    if batch.unsettled:
        text += (
            f" {many(batch.unsettled, 'refused person is', 'refused people are')} not solved to the end and counted "
            "with the end of the possible range that speaks against an alarm."
        )
    return text


def _comparison(state: MonitorState, measure: str, pair: list[str], one: Reading) -> str:
    who = f"{NAMES[measure]}, {state.fixed.title(pair[0], pair[1])}"
    if not one.n or not one.n_against:
        absent = [name for name, n in zip(pair, (one.n, one.n_against), strict=True) if not n]
        of = "refused " if measure == "restricted_effort" else ""
        unseen = " and ".join(f"{of}{state.fixed.people(name)}" for name in absent)
        return f"{who}: nobody to compare yet ({unseen} have not been seen)."
    e = f"{math.exp(one.log_e):.3g}" if one.log_e < 700 else f"e^{one.log_e:.4g}"
    spread = "" if one.least == one.most else f", certainly from {_ratio(one.least)} to {_ratio(one.most)}"
    return (
        f"{who}: {_ratio(one.estimate)} times{spread} ({100 * state.fixed.level:.3g} % confidence sequence: "
        f"{_interval(one)}); evidence {e}, alarm at {state.fixed.alarm_at:.4g}; {one.n:,} and "
        f"{many(one.n_against, 'person', 'people')} seen."
    )


def _ratio(value: float) -> str:
    return "infinitely many" if math.isinf(value) else "not defined" if math.isnan(value) else f"{value:.3g}"


def _interval(one: Reading) -> str:
    if one.low > one.high:
        return "none left, so that the ratio must have changed over time"
    if one.low == 0 and math.isinf(one.high):
        return "nothing excluded yet"
    if one.low == 0:
        return f"below {one.high:.3g}"
    return f"above {one.low:.3g}" if math.isinf(one.high) else f"{one.low:.3g} to {one.high:.3g}"
