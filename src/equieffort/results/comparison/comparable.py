"""May two audits be compared: the same groups, and the same rules of action."""

from __future__ import annotations

from typing import Any

from equieffort.data.frames import number
from equieffort.errors import ParameterError, warn
from equieffort.results.audits import Audit


def check_same_rules(a: Audit, b: Audit) -> None:
    """Refuse audits of other groups or other rules of action, naming the first difference."""
    mine, theirs = a.recourse.groups, b.recourse.groups
    roles = [{label: groups.role(k) for k, label in enumerate(groups.labels)} for groups in (mine, theirs)]
    if roles[0] != roles[1]:
        texts = ["; ".join(f"{label!r} is {role}" for label, role in sorted(found.items())) for found in roles]
        raise ParameterError(
            "AUDIT_SCHEMAS",
            f"The audits compare different groups. First: {texts[0]}. Second: {texts[1]}.",
            fix="Audit both with the same sensitive column, protected values and reference.",
        )
    before, after = _rules(a), _rules(b)
    for key in dict.fromkeys((*before, *after)):
        if before.get(key) != after.get(key):
            raise ParameterError(
                "AUDIT_SCHEMAS",
                f"The audits differ in {key}: {before.get(key, 'not declared')} and {after.get(key, 'not declared')}.",
                fix="Declare the same in both audits; what may be done must not change between them.",
            )


def warn_assumed(a: Audit, b: Audit) -> None:
    """Warn of limits that nobody declared and that differ because other people were observed."""
    assumed = [
        {(limit.feature, limit.key): limit.value for limit in one.recourse.source.schema.assumed} for one in (a, b)
    ]
    for feature, key in assumed[0]:
        ends = [found.get((feature, key)) for found in assumed]
        if ends[0] is not None and ends[1] is not None and ends[0] != ends[1]:
            side = "at least" if key == "lower" else "at most"
            warn(
                "AUDIT_LIMITS",
                f"Nobody declared {key} of {feature!r}, so that actions set it to {side} the value observed in the "
                f"reference data: {number(ends[0])} in the first audit and {number(ends[1])} in the second.",
                fix=f"Declare {key} for {feature!r} in both, or audit both with the same reference data.",
            )


def _rules(audit: Audit) -> dict[str, Any]:
    """What the schema says, a key a thing; weights are prices and are compared there."""
    schema = audit.recourse.source.schema.to_dict()
    found: dict[str, Any] = {"the sensitive columns": schema["sensitive"], "the favourable label": schema["favourable"]}
    if schema["threshold"] is not None:
        found["the threshold"] = schema["threshold"]
    for name, feature in schema["features"].items():
        parts = {
            key: list(v) if isinstance(v, tuple) else v
            for key, v in feature.items()
            if key not in ("weight", "observed")
        }
        found[f"feature {name!r}"] = {key: v for key, v in parts.items() if v is not None}
    return found
