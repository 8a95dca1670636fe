"""The sentences of a letter to a refused person, and of the index beside the letters."""

from __future__ import annotations

from typing import Literal

from equieffort.words.recourse import NOT_A_REASON

Answer = Literal["route", "none", "unknown"]
"""Whether there is a route to approval."""

TITLES: dict[Answer, str] = {
    "route": "What would lead to approval",
    "none": "No route to approval",
    "unknown": "Whether there is a route to approval is not known",
}
ANSWERS: dict[Answer, str] = {"route": "a route to approval", "none": "no route to approval", "unknown": "not known"}
"""The same in the index."""
PROVEN = "No other changes that count as possible take less effort; that is proven."
NOT_PROVEN = "Whether other changes would take less effort is not known."
NO_PROMISE = (
    "This is no promise. It holds for the values on record, with everything else as it is, and for the decision model "
    "as it was audited, which may change."
)
EXPECTED = "These are expected to follow from the changes, without a further step of yours."
NO_OTHER = "There is no further route: any other one makes all the changes of a route above."
OTHER_UNKNOWN = "Whether there is a further route is not known."
NOT_THE_REASON = (
    "What stands in the way of a route is not the reason for the decision, and this page replaces no notice of reasons."
)
REVIEW = (
    "You can ask those who decided to have a person look at the decision again, and to correct what is wrong on "
    "record. Say which decision you mean and which of the values on this page is wrong or incomplete. Which rights "
    "you have depends on the law that applies to the decision."
)
NO_SEND = "Do not send this page."
NONE_TO_SEND = "Do not send these letters. They are about a surrogate model, not about the system that decided."


def summary(answer: Answer, *, actions: int, is_proven: bool, most: int | None, surrogate: str) -> list[str]:
    """What the letter says first.

    >>> summary("route", actions=1, is_proven=True, most=None, surrogate="")[0]
    'The decision was a refusal. With the change below it would be an approval.'
    """
    decided = "The surrogate model decides on a refusal." if surrogate else "The decision was a refusal."
    few = "" if most is None else " (at most one change at once)" if most == 1 else f" (at most {most} changes at once)"
    if answer == "route":
        what = "the change below" if actions == 1 else "the changes below, all of them together,"
        return [f"{decided} With {what} it would be an approval.", PROVEN if is_proven else NOT_PROVEN]
    if answer == "none":
        return [
            f"{decided} No change that counts as possible{few} would turn it into an approval; that is proven.",
            "This is no judgement of you as a person.",
        ]
    return [f"{decided} No route to approval{few} was found, and none was ruled out."]


def notes(answer: Answer) -> list[str]:
    """What every letter says at its end."""
    return [NO_PROMISE, NOT_A_REASON] if answer == "route" else [NOT_THE_REASON]


def route_title(number: int, of: int, status: str) -> str:
    """The heading of the so manyth of some routes; of least effort only where that is proven.

    >>> route_title(1, 1, "feasible"), route_title(1, 2, "feasible"), route_title(1, 2, "optimal")
    ('What to change', 'One route', 'The route of least effort')
    """
    if of == 1:
        return "What to change"
    if number > 1:
        return f"Another route ({number})"
    return "The route of least effort" if status == "optimal" else "One route"


def way_note(status: str) -> str:
    """What is known of a further route."""
    if status == "optimal":
        return "It does without at least one change of each route above; no other such route takes less effort."
    return "It does without at least one change of each route above; whether another takes less effort is not known."


def about_surrogate(kind: str, recorded: str) -> str:
    """That the page is not about the system that decided; empty where it is.

    >>> about_surrogate("", "")
    ''
    """
    if not kind:
        return ""
    text = (
        f"{NO_SEND} It is about a surrogate, a {kind} model trained on past decisions, not about the system that made "
        "them, and must not be given as a reason for a decision."
    )
    if recorded == "favourable":
        text += " The recorded decision about this person is favourable; only the surrogate refuses."
    elif recorded == "unfavourable":
        text += " The recorded decision about this person is a refusal too."
    return text
