"""Costs are only comparable at the same prices, and audits only under the same rules of action."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from equieffort.data.frames import Floats, number
from equieffort.errors import ParameterError, Setting, warn
from equieffort.recourse.solvers import Status
from equieffort.results.audits import Audit


def check_same_rules(a: Audit, b: Audit) -> None:
    """Refuse audits of other groups or other rules of action, naming the first difference."""
    mine, theirs = a.recourse.groups, b.recourse.groups
    roles = [{label: groups.role(k) for k, label in enumerate(groups.labels)} for groups in (mine, theirs)]
    ways = ["" if isinstance(one.reference, int) else f"; compared by {one.reference!r}" for one in (mine, theirs)]
    if roles[0] != roles[1] or ways[0] != ways[1]:
        texts = [
            "; ".join(f"{label!r} is {role}" for label, role in sorted(found.items())) + way
            for found, way in zip(roles, ways, strict=True)
        ]
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
    if schema["max_actions"] is not None:
        found["max_actions"] = schema["max_actions"]
    for name, feature in schema["features"].items():
        parts = {
            key: list(v) if isinstance(v, tuple) else v
            for key, v in feature.items()
            if key not in ("weight", "observed")
        }
        found[f"feature {name!r}"] = {key: v for key, v in parts.items() if v is not None}
    return found


def same_prices(a: Audit, b: Audit) -> bool:
    """Whether the same action costs the same in both audits."""
    one, other = a.provenance.cost, b.provenance.cost
    categories = np.array_equal(_change_weights(a), _change_weights(b))
    if one.prices is None or other.prices is None:
        return one == other and categories
    if one.own != other.own or set(one.prices) != set(other.prices) or not categories:
        return False
    return all(np.allclose(price, other.prices[name], rtol=1e-9, atol=0) for name, price in one.prices.items())


def other_scales(a: Audit, b: Audit) -> ParameterError:
    """The refusal of audits at different prices, with the first that differs."""
    one, other = a.provenance.cost, b.provenance.cost
    what = f"The costs are of kind {one.kind} and {other.kind}, with different numbers."
    for name, price in (one.prices or {}).items():
        theirs = (other.prices or {}).get(name, price)
        if not np.allclose(price, theirs, rtol=1e-9, atol=0):
            what = (
                f"A unit of {name!r} costs {number(price[0])} up and {number(price[1])} down in the first audit, "
                f"{number(theirs[0])} and {number(theirs[1])} in the second."
            )
            break
    return ParameterError(
        "AUDIT_SCALES",
        what,
        fix=(
            "Audit both with the same reference data for the cost, or rescale the second to the first one's prices (",
            Setting("rescale"),
            ").",
        ),
    )


def at_prices_of(a: Audit, b: Audit) -> Audit:
    """Audit b with its actions charged at a's prices, and bounds that stay certain."""
    one, other = a.provenance.cost, b.provenance.cost
    if one.prices is None or other.prices is None or set(one.prices) != set(other.prices):
        raise ParameterError(
            "AUDIT_SCALES",
            f"Costs of kind {other.kind} cannot be recomputed at the prices of {one.kind}.",
            fix="Only weighted L1 costs over the same features can be rescaled; audit both with the same cost.",
        )
    table = b.recourse
    source, acts, width = table.source, list(table.acts), table.delta.shape[1]
    names = [source.encoding.columns[k].name for k in acts[:width]]
    facts = source.facts(slice(None))[:, acts]
    picked, values = source.interventions(table, slice(None))
    change = np.where(picked, values - facts, 0.0)
    mine = _prices(one.prices, one.own, names, facts[:, :width])
    theirs = _prices(other.prices, other.own, names, facts[:, :width])
    up = change[:, :width] > 0
    parts = np.where(up, mine[0], mine[1]) * np.abs(change[:, :width])
    weights, old_weights = _change_weights(a), _change_weights(b)
    cost = parts.sum(axis=1) + ((change[:, width:] != 0) * weights).sum(axis=1)
    # No action costs less at the new prices than its old cost times the smallest ratio of prices.
    ratios = np.hstack(
        [mine[0] / theirs[0], mine[1] / theirs[1], np.broadcast_to(weights / old_weights, (len(facts), len(weights)))]
    )
    least, most = ratios.min(axis=1), ratios.max(axis=1)
    acting = table.has_action
    bound = np.where(np.isfinite(table.bound), table.bound * least, table.bound)
    status = table.status.copy()
    status[(status == Status.OPTIMAL) & (most - least > 1e-9 * most)] = Status.FEASIBLE
    effort = np.where(acting, cost, np.nan)
    bound = np.where(acting, np.minimum(bound, effort), bound)
    fresh = dataclasses.replace(table, status=status, cost=effort, bound=bound)
    return Audit(fresh, b.criteria, b.neighbourhood, b.warnings, b.with_provenance(cost=one).provenance)


def _change_weights(audit: Audit) -> Floats:
    table = audit.recourse
    names = [table.source.encoding.columns[k].name for k in table.acts[table.delta.shape[1] :]]
    return np.array([table.source.schema.feature(name).weights[0] for name in names], dtype=np.float64)


def _prices(
    known: Mapping[str, tuple[float, float]], own: bool, names: list[str], facts: Floats
) -> tuple[Floats, Floats]:
    """Price of a unit up and down, a row a person."""
    prices = np.array([known[name] for name in names], dtype=np.float64).reshape(-1, 2)
    size = np.ones_like(facts)
    if own:
        size = np.abs(facts)
        if (size == 0).any():
            first = names[int(np.argwhere(size == 0)[0, 1])]
            raise ParameterError(
                "AUDIT_SCALES",
                f"Prices relative to the own value are not defined for people whose {first!r} is 0.",
                fix="Audit both with the same cost.",
            )
    return prices[:, 0] / size, prices[:, 1] / size
