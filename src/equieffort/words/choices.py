"""Why a solver was chosen, and why others do not fit."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from equieffort.data.frames import number
from equieffort.errors import Part, Setting, many
from equieffort.recourse.status import Ground, Grounds, Refusal, Takes, Why
from equieffort.words.settings import in_words

Audience = Literal["python", "spec"]

CLOSED: dict[Takes | None, str] = {
    Takes.SCORE: "The classifier has no linear score that could be used",
    Takes.TREES_OR_LAYERS: "The classifier has no trees or layers that could be read",
    Takes.PROGRAM: "The classifier cannot be written as a program",
}
OTHER_MODEL: dict[Takes | None, str] = {
    Takes.SCORE: "The classifier's decision is no single linear score.",
    Takes.TREES_OR_LAYERS: "The classifier is no sum of trees and no network.",
    Takes.PROGRAM: "The classifier is no linear score, sum of trees or ReLU network.",
}
CANNOT_READ = "The classifier cannot be read"
PLAIN = {
    Why.NOT_FINITE: "The classifier's numbers are not all finite.",
    Why.COST_NOT_LINEAR: "The cost is not linear in each change.",
    Why.COST_NOT_PIECEWISE: "The cost is neither linear nor piecewise linear in each change.",
    Why.COST_ENDS: "The cost does not grow beyond its last knot, so no budget limits an action.",
    Why.RULES: "It does not reckon with rules between features.",
}
LINEAR = "The score is linear and so is every equation an action can reach."
LINEAR_TOO = "and every equation an action can reach is linear."
GROUNDS = {
    Ground.LINEAR: LINEAR,
    Ground.LINEAR_RULES: f"{LINEAR} There are rules between features, which a search over what is set and what "
    "follows reckons with.",
    Ground.LINEAR_RANGES: f"{LINEAR} Several actions move a column that must stay in a range, which a search reckons "
    "with as a whole.",
}


def refusal_text(fact: Refusal, audience: Audience = "python") -> str:
    """Why a solver does not fit, as a sentence.

    >>> from equieffort.recourse.status import Unfit
    >>> refusal_text(Refusal(Unfit.EQUATIONS, Why.BENT, "savings"))
    "It is not linear: the equation of 'savings' is not linear, and an action can move it."
    >>> gap = Refusal(Unfit.SETTING, Why.GAP, argument="gap", value=0.0)
    >>> refusal_text(gap)[:26], refusal_text(gap, "spec")[:27]
    ('gap=0 cannot be proven for', 'gap: 0 cannot be proven for')
    """
    return in_words(_refusal(fact), audience)


def _refusal(fact: Refusal) -> tuple[Part, ...]:
    if fact.kind is Why.GAP:
        after = " cannot be proven for a network with hidden layers: its boundary is reached by ever smaller boxes, so "
        return Setting(
            "limit of a solver", f"{fact.value:g}", fact.argument
        ), f"{after}a cost is certified to a gap above zero."
    return (PLAIN.get(fact.kind) or _about_names(fact) or fact.detail,)


def _about_names(fact: Refusal) -> str:
    """What names a column or a model, or counts; empty where the author of a solver says it."""
    match fact.kind:
        case Why.CLOSED:
            return f"{CLOSED.get(fact.takes, CANNOT_READ)}: {fact.detail}."
        case Why.OTHER_MODEL:
            return OTHER_MODEL.get(fact.takes, f"{CANNOT_READ}: a {fact.subject} is not known.")
        case Why.LABELS_ONLY:
            return (
                f"A margin of {number(fact.value or 0.0)} is asked for, but of this classifier only labels are known."
            )
        case Why.BENT:
            return f"It is not linear: the equation of {fact.subject!r} is not linear, and an action can move it."
        case Why.SET_AND_FOLLOWS:
            what = "is a category that can be set and also follows an action by its equation"
            return f"It is not linear: {fact.subject!r} {what}."
        case Why.NOT_ENCLOSED:
            return f"Nothing can be proven: the equation of {fact.subject!r} cannot be enclosed: {fact.detail}."
        case Why.MANY_WAYS:
            among = many(fact.among or 0, "actionable feature", "actionable features")
            return (
                f"There are {fact.count:,} ways to combine interventions on {among}; at most {fact.most:,} are tried."
            )
        case Why.MANY_LEVELS:
            among = many(fact.among or 0, "actionable category", "actionable categories")
            return f"There are {fact.count:,} ways to combine levels of {among}; at most {fact.most:,} are tried."
    return ""


def refusals_text(facts: Iterable[Refusal], audience: Audience = "python") -> str:
    """Several, each reason once."""
    return " ".join(dict.fromkeys(refusal_text(one, audience) for one in facts))


def choice_text(fact: Grounds, audience: Audience = "python") -> str:
    """Why a solver was chosen.

    >>> choice_text(Grounds(Ground.TREES, 1, without=("budget",)))
    'The model is a single tree, and every equation an action can reach is linear. It has no budget, so that limits \
nothing.'
    >>> choice_text(Grounds(Ground.CALLER), "spec")
    'Chosen in the spec.'
    """
    text = GROUNDS.get(fact.kind) or _ground(fact, audience)
    if fact.without:
        text += f" It has no {' and no '.join(fact.without)}, so that limits nothing."
    return text


def _ground(fact: Grounds, audience: Audience) -> str:
    against = refusals_text(fact.refusals, audience)
    match fact.kind:
        case Ground.CALLER:
            return "Chosen in the spec." if audience == "spec" else "Chosen by the caller."
        case Ground.LINEAR_WAYS:
            ways = f"There are {fact.count:,} ways to set or leave what can be set"
            return f"{LINEAR} {ways}: they are searched, not listed."
        case Ground.TREES:
            what = "a single tree" if fact.count == 1 else f"a sum of {fact.count:,} trees"
            return f"The model is {what}, {LINEAR_TOO}"
        case Ground.NETWORK:
            widths = "-".join(map(str, fact.hidden))
            return f"The model is a ReLU network with {widths} hidden units, {LINEAR_TOO}"
        case Ground.SCORES:
            return f"The model compares {fact.count:,} linear scores, {LINEAR_TOO}"
        case Ground.ENCLOSED:
            enclosed = "All of it can be enclosed over boxes of actions, so answers are certified to"
            return f"{against} {enclosed} {fact.value:g}."
        case Ground.PROGRAM:
            return f"{against} A mixed-integer program for each person reckons with all of it."
    return f"No solver that proves its answers fits, so actions are searched for. {against}".rstrip()
