"""What differs between the questions that two audits asked: schema, limits, prices, graph, model, data, thresholds.

Two audits under other rules are a question of policy: what if a cosigner counted? Ratios and shares can always be
compared; efforts only in the same units.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from equieffort.foundations.saved import as_data
from equieffort.results.audits import Audit
from equieffort.results.comparison.comparable import differing_prices

NOT_RULES = ("features", "labels")
"""Parts of a schema that are told feature by feature, or are names for people alone."""
NOT_LIMITS = ("weight", "observed")
"""Parts of a feature that are told as prices, or were observed and are warned of."""
OF_ANY_ROLE = ("role", "kind", "plausible")
"""Parts of a feature that mean something whatever its role is; all others are about setting it."""


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same in both audits; None where one of them has no such thing."""

    part: str
    """"schema", "feature", "price", "rule", "edge", "equation", "model", "data", "missing", "cost" or "criteria"."""
    subject: str
    """Which of them: a feature, a rule, an edge, a key."""
    key: str
    before: Any
    after: Any


def differences(a: Audit, b: Audit) -> tuple[Difference, ...]:
    """Everything that was asked otherwise, first what may be done, then what it costs, then by whom it is decided."""
    schemas = [one.recourse.source.schema.to_dict() for one in (a, b)]
    tops = [{key: value for key, value in schema.items() if key not in NOT_RULES} for schema in schemas]
    for top in tops:
        top.pop("rules", None)
    found = list(_changed("schema", "", *tops))
    features = [schema["features"] for schema in schemas]
    for name in dict.fromkeys((*features[0], *features[1])):
        parts = [
            {key: value for key, value in given.get(name, {}).items() if key not in NOT_LIMITS} for given in features
        ]
        # Of which kind a column is may be declared, or read from the table where it matters.
        for part, audit in zip(parts, (a, b), strict=True):
            encoding = audit.recourse.source.encoding
            if "kind" in part and name in encoding.names:
                part["kind"] = encoding[name].kind
        if any(part.get("role") != "actionable" for part in parts):
            # Who may not set a feature has no direction, limits or levels: that is said with the role.
            parts = [{key: value for key, value in part.items() if key in OF_ANY_ROLE} for part in parts]
        found += _changed("feature", name, *parts)
    found += _listed("rule", *(one.recourse.source.schema.constraints for one in (a, b)))
    for name, (one, other) in differing_prices(a, b).items():
        found.append(Difference("price", name, "", one, other))
    made = [one.provenance for one in (a, b)]
    found += _listed("edge", *([" -> ".join(edge) for edge in one.graph.edges] for one in made))
    equations = [{record.node: record.text for record in one.equations} for one in made]
    for node in dict.fromkeys((*equations[0], *equations[1])):
        if equations[0].get(node) != equations[1].get(node):
            found.append(Difference("equation", node, "", equations[0].get(node), equations[1].get(node)))
    models = [
        {"model": one.classifier, "surrogate": one.surrogate.kind if one.surrogate else None, "margin": one.margin}
        for one in made
    ]
    found += _changed("model", "", *models)
    files = [one.model for one in made]
    if files[0] is not None and files[1] is not None and files[0].sha256 != files[1].sha256:
        told = [f"{one.path} ({one.sha256[:12]})" for one in files if one is not None]
        found.append(Difference("model", "", "file", *told))
    found += _changed("cost", "", *({"kind": one.cost.kind} for one in made))
    found += _changed("data", "", *({"sha256": one.data.sha256} if one.data else {} for one in made))
    found += _changed("missing", "", *({"missing": one.missing} if one.missing else {} for one in made))
    criteria = [
        {one.name: as_data(getattr(audit.criteria, one.name)) for one in fields(audit.criteria)} for audit in (a, b)
    ]
    return (*found, *_changed("criteria", "", *criteria))


def model_differs(alike: int, otherwise: int) -> tuple[Difference, ...]:
    """That people of whom the same is known are decided otherwise, whatever the models are called."""
    return (Difference("model", "", "decisions", alike, otherwise),) if otherwise else ()


def _changed(part: str, subject: str, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
    for key in dict.fromkeys((*one, *other)):
        before, after = (as_data(given.get(key)) for given in (one, other))
        if before != after:
            yield Difference(part, subject, key, before, after)


def _listed(part: str, one: Any, other: Any) -> Iterator[Difference]:
    """What only one of the lists holds."""
    texts = [[str(item) for item in given] for given in (one, other)]
    yield from (Difference(part, text, "", text, None) for text in texts[0] if text not in texts[1])
    yield from (Difference(part, text, "", None, text) for text in texts[1] if text not in texts[0])
