"""Further ways in words: what each is certified to be, and whether there is another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from equieffort.errors import listed
from equieffort.words.reasons import rounded_down
from equieffort.world.labels import NO_LABELS, Labels

Further = Literal["", "none", "unknown"]
"""Whether there is a way beyond those that are told; empty where nobody asked."""

ENDINGS: dict[Further, str] = {
    "": "",
    "none": "There is no further way: every other one changes all the features of a way above.",
    "unknown": "Whether there is a further way is not known.",
}


def at_most(most: int | None) -> str:
    """How many features may be changed, as it follows a noun.

    >>> at_most(2), at_most(1), at_most(None)
    (' that changes at most 2 features', ' that changes one feature only', '')
    """
    if most is None:
        return ""
    return " that changes one feature only" if most == 1 else f" that changes at most {most} features"


def assumed_linear(nodes: Sequence[str], labels: Labels = NO_LABELS) -> str:
    """That equations were assumed, where only edges were given.

    >>> assumed_linear(["debt"])
    "Only edges were given: that 'debt' follows by a linear equation is assumed, and was learned from the data."
    """
    named = listed([labels.feature(node) for node in nodes], 3)
    follow = "follows by a linear equation" if len(nodes) == 1 else "follow by linear equations"
    return f"Only edges were given: that {named} {follow} is assumed, and was learned from the data."


def way_heading(number: int, cost: float, status: str, bound: float) -> str:
    """What is known of the so manyth way.

    >>> way_heading(2, 0.75, "optimal", 0.75)
    'Way 2, at a cost of 0.75; no cheaper way leaves a feature of way 1 as it is:'
    >>> way_heading(3, 0.75, "feasible", 0.5)
    'Way 3, at a cost of 0.75; no way that leaves a feature of each way above as it is costs less than 0.5:'
    """
    kept = "a feature of way 1" if number == 2 else "a feature of each way above"
    if status == "optimal":
        known = f"no cheaper way leaves {kept} as it is"
    elif bound > 0:
        known = f"no way that leaves {kept} as it is costs less than {rounded_down(bound):.4g}"
    else:
        known = f"whether a cheaper way leaves {kept} as it is, is not known"
    return f"Way {number}, at a cost of {cost:.4g}; {known}:"
