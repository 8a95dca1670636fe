"""What two audits asked otherwise, told in a line each."""

from __future__ import annotations

from typing import Any

from equieffort.data.frames import number
from equieffort.foundations.arguments import is_number
from equieffort.world.labels import NO_LABELS, Labels

PARTS = {
    "schema": "{key}",
    "feature": "{subject}: {key}",
    "price": "{subject}: effort a unit",
    "equation": "the equation of {subject}",
    "model": "{key}",
    "cost": "how effort is measured",
    "missing": "people with missing values",
    "criteria": "{key}",
}
"""By part: what it is called; lists and tables have words of their own."""
OWN = {
    "rule": ("a rule is gone: {}", "a rule is new: {}"),
    "edge": ("the graph no longer has {}", "the graph also has {}"),
}
MISSING = {"error": "not accepted", "drop": "left out", "model": "decided by the model", None: "not recorded"}
NO_DATA = "the people or the table differ"
UNITS = (
    "Effort is priced otherwise in the second audit, so that efforts themselves are not compared; ratios of efforts "
    "and shares with a route are."
)
NOTHING = "What may be done, what it costs and the graph are the same in both audits."


def difference_text(part: str, subject: str, key: str, before: Any, after: Any, labels: Labels = NO_LABELS) -> str:
    """One difference for a reader; features have their labels.

    >>> difference_text("feature", "income", "max_increase", 10.0, None)
    'income: max_increase 10 before, not declared after'
    >>> difference_text("rule", "not (job = 'smith')", "", None, "not (job = 'smith')")
    "a rule is new: not (job = 'smith')"
    """
    if part == "data":
        return NO_DATA
    if part not in ("rule", "edge"):
        subject = labels.feature(subject)
    if part in OWN:
        return OWN[part][before is None].format(subject)
    if part == "feature" and key == "role" and (before is None or after is None):
        return (
            f"{subject} is {_written(after)}, not declared before"
            if before is None
            else f"{subject} is not declared after"
        )
    if part == "model" and key == "decisions":
        return f"{after:,} of the {before:,} people of whom the same is known are decided otherwise"
    what = PARTS[part].format(subject=subject, key=key)
    if part == "missing":
        before, after = (MISSING.get(value, value) for value in (before, after))
    if part == "model":
        before, after = ("none" if value is None else value for value in (before, after))
    return f"{what} {_written(before)} before, {_written(after)} after"


def _written(value: Any) -> str:
    if value is None or value == []:
        return "not declared"
    if isinstance(value, tuple) and len(value) == 2 and all(map(is_number, value)):
        up, down = map(number, value)
        return up if up == down else f"{up} up and {down} down"
    return number(value) if is_number(value) else str(value)
