"""What a table says of somebody without a proven action: what stands in the way, or why it is not known better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import ROUND_FLOOR, Decimal
from typing import Literal

from equieffort.data.frames import number
from equieffort.recourse.status import LACKS, Ending, Fault, Infeasibility, Reason, Termination
from equieffort.words.infeasibility import infeasibility
from equieffort.words.limits import LETTER, PYTHON, REPORT, SPEC, Audience
from equieffort.world.labels import NO_LABELS, Labels

PLAIN = {
    Ending.GAVE_UP: "The solver gave up before it found or excluded an action",
    Ending.LABEL_STAYS: "The model's label does not follow its score near the boundary",
    Ending.TIE: "The best score is the threshold itself, and no answer there holds",
}
FAULTS = {
    Fault.LABEL: "the model's label stays, and no surer action was found",
    Fault.VALUE: "the value of {} is not allowed",
    Fault.RANGE: "{} leaves its plausible range",
    Fault.RULE: "it breaks the rule that {}",
    Fault.EQUATION: "{} would follow, and no equation says how",
    Fault.COST: "its cost comes out differently",
    Fault.ACTIONS: "it changes more features than max_actions allows",
}
LACKING = {
    Ending.MISSING_ACTION: "The value of {} is missing, and an action may set it: what that costs is not known",
    Ending.MISSING_CAUSE: "The value of {} is missing, and what follows from an action depends on it",
    Ending.MISSING_READ: "The value of {} is missing, and what the model makes of that could not be read",
}
STOPPED = {
    Ending.PRECISION: "A part of the boundary is too thin for floating point to decide",
    Ending.TOLERANCE: "The solver's tolerances leave it open",
    Ending.DISAGREEMENT: "Two ways to solve the same program contradict each other",
}


def termination(fact: Termination, audience: Audience = PYTHON) -> str:
    """The sentence for an audience.

    >>> termination(Termination(Ending.WORK, bound=0.5, argument="node_limit", limit=1000, work=1000))
    '1,000 boxes were looked at, the limit; no action was found, and no action costs less than 0.5; raise node_limit.'
    """
    if fact.kind in PLAIN:
        return f"{PLAIN[fact.kind]}."
    if fact.kind == Ending.UNDEFINED:
        name = audience.quoted(str(fact.subject))
        return f"The equation of {name} divides by 0 here: no counterfactual can be computed."
    if fact.kind in LACKING:
        return f"{LACKING[fact.kind].format(audience.quoted(str(fact.subject)))}."
    if fact.fault is not None:
        return f"The action does not hold: {FAULTS[fact.fault].format(_subject(fact, audience))}."
    if fact.kind == Ending.HEURISTIC:
        return _heuristic(fact, audience)
    advice = ""
    if fact.argument and fact.kind in (Ending.WORK, Ending.TIME, Ending.WALL_TIME) and audience.raise_it:
        advice = f"; {audience.raise_it.format(fact.argument)}"
    return f"{_why(fact, audience)}; {_known(fact, audience)}{advice}."


def _subject(fact: Termination, audience: Audience) -> str:
    """What an action fails at: a rule as it is written, a feature by its name."""
    return audience.rule(str(fact.subject)) if fact.fault == Fault.RULE else audience.quoted(str(fact.subject))


def _why(fact: Termination, audience: Audience) -> str:
    if fact.kind == Ending.WORK:
        count = fact.limit if fact.work is None else fact.work
        what = "Boxes" if count is None else f"{count:,.0f} boxes"
        return (
            f"{what} were looked at, the limit"
            if fact.argument
            else f"{what} were looked at one by one, and more are left"
        )
    if fact.kind == Ending.TIME:
        return (
            "The limit of CPU time was reached" if fact.limit is None else f"{fact.limit:g} s of CPU passed, the limit"
        )
    if fact.kind == Ending.WALL_TIME:
        return (
            "The limit of time was reached"
            if fact.limit is None
            else f"{fact.limit:g} s passed on the clock, the limit"
        )
    if fact.kind == Ending.UNLIMITED:
        return f"Nothing limits {audience.quoted(fact.subject)}" if fact.subject else "The actions have no limits"
    if fact.kind == Ending.ROUNDING:
        share = "" if fact.limit is None else f" ({fact.limit:.0e} of what it sums)"
        return f"The model's own rounding{share} leaves room"
    return STOPPED[fact.kind]


def _heuristic(fact: Termination, audience: Audience) -> str:
    tried = "" if fact.work is None or not audience.person else f" among {fact.work:,} tried"
    if fact.found:
        return f"The cheapest action found{tried}; a cheaper one may exist."
    return f"No favourable action was found{tried}."


def _known(fact: Termination, audience: Audience) -> str:
    found = "an action was found" if fact.found else "no action was found"
    if not fact.bound:
        return f"{found}, and nothing is proven of what actions cost"
    if not audience.person:
        return found
    return f"{found}, and no action costs less than {number(rounded_down(fact.bound))}"


def rounded_down(bound: float) -> float:
    """A bound to three digits, never above what is proven.

    >>> rounded_down(0.123987), rounded_down(45_678.0), rounded_down(0.5)
    (0.123, 45600.0, 0.5)
    """
    # In decimals as they are written: a power of ten as a float is 0 where bounds are tiny, and 0.3 no multiple of one.
    exact = Decimal(repr(float(bound)))
    return float(exact.quantize(Decimal(1).scaleb(exact.adjusted() - 2), ROUND_FLOOR))


SETTLED_NOT = {
    Ending.WORK: "The computation reached its limit before it could tell.",
    Ending.TIME: "The computation reached its limit before it could tell.",
    Ending.WALL_TIME: "The computation reached its limit before it could tell.",
    Ending.HEURISTIC: "Many changes were tried, but not all.",
}


def unsettled(fact: Termination, labels: Labels = NO_LABELS) -> str:
    """Why it is not known better, for the person: nothing of solvers.

    >>> unsettled(Termination(Ending.WORK, bound=0.5, argument="node_limit", limit=1000, work=1000))
    'The computation reached its limit before it could tell.'
    """
    if fact.kind == Ending.UNDEFINED:
        return f"What follows for {labels.feature(str(fact.subject))} cannot be worked out from the values on record."
    if fact.kind in LACKS:
        return f"There is no value on record for {labels.feature(str(fact.subject))}, and an answer depends on it."
    return SETTLED_NOT.get(fact.kind, "The computation could not settle it.")


AUDIENCES = {"python": PYTHON, "spec": SPEC, "report": REPORT, "letter": LETTER}
"""Whoever calls Python or writes a spec is told the person's numbers and what would help; the report says nothing that
is about one person."""


def told(
    fact: Reason | None,
    audience: Literal["python", "spec", "report", "letter"] = "python",
    labels: Labels = NO_LABELS,
    rules: Mapping[str, str] | None = None,
) -> str:
    """The sentence for whoever reads it; empty where there is nothing to say."""
    if fact is None:
        return ""
    reader = replace(AUDIENCES[audience], labels=labels, rules=rules or {})
    if audience == "letter" and isinstance(fact, Termination):
        return unsettled(fact, labels)
    return infeasibility(fact, reader) if isinstance(fact, Infeasibility) else termination(fact, reader)
