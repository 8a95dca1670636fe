"""What stands in people's way, as the report counts and names it: read from facts, the same for every solver."""

from __future__ import annotations

from equieffort.recourse.status import Blocking, Infeasibility, Obstacle, Reason
from equieffort.report.words import Name, Phrase, Words
from equieffort.words.limits import obstacle_text
from equieffort.words.reasons import told


def binding_limits(reason: Reason | None) -> list[Words]:
    """The limits that a reason names, without the numbers of the person."""
    if not isinstance(reason, Infeasibility):
        return []
    if reason.blocking == Blocking.BEYOND:
        return [("no limit: nothing they could set turns the decision",)]
    found = [limit_words(obstacle) for obstacle in dict.fromkeys(one.kind for one in reason.obstacles)]
    if found:
        return found
    if reason.blocking == Blocking.CLOSEST and reason.reachable == 0:
        return [("no action moves the score",)]
    return [("no single limit",)]


def limit_words(obstacle: Obstacle) -> Words:
    """One obstacle: the feature that it stops, and what stops it."""
    text = Phrase(obstacle_text(obstacle))
    return (Name(obstacle.feature), ": ", text) if obstacle.feature else (text,)


def unknown_because(reason: Reason | None) -> str:
    """Why nothing is known of somebody, in words that people share."""
    return "Nothing was found and nothing excluded." if reason is None else told(reason, "report")
