"""Audits are only comparable between the same groups, and efforts only at the same prices."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from equieffort.data.frames import Floats, number
from equieffort.errors import ParameterError, warn
from equieffort.recourse.level_prices import LevelPrices
from equieffort.recourse.solvers import Status
from equieffort.results.audits import Audit


def check_same_groups(a: Audit, b: Audit) -> None:
    """Refuse audits of other groups; anything else may differ and is told."""
    mine, theirs = a.recourse.groups, b.recourse.groups
    roles = [{label: groups.role(k) for k, label in enumerate(groups.labels)} for groups in (mine, theirs)]
    ways = ["" if isinstance(one.reference, int) else f"; compared by {one.reference!r}" for one in (mine, theirs)]
    if roles[0] != roles[1] or ways[0] != ways[1]:
        texts = [
            "; ".join(f"{label!r} is {role}" for label, role in sorted(found.items())) + way
            for found, way in zip(roles, ways, strict=True)
        ]
        raise ParameterError(
            "AUDIT_GROUPS",
            f"The audits compare different groups. First: {texts[0]}. Second: {texts[1]}.",
            fix="Audit both with the same sensitive column, protected values and reference.",
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


def same_prices(a: Audit, b: Audit) -> bool:
    """Whether the same action costs the same in both audits."""
    one, other = a.provenance.cost, b.provenance.cost
    if one.prices is None or other.prices is None:
        return one == other and not differing_prices(a, b)
    return one.own == other.own and not differing_prices(a, b)


def differing_prices(a: Audit, b: Audit) -> dict[str, tuple[Any, Any]]:
    """By feature: what a unit up and down, or the change of a category, costs in both audits, where that differs."""
    found: dict[str, tuple[Any, Any]] = {}
    prices = [dict(one.provenance.cost.prices or {}) for one in (a, b)]
    for name in dict.fromkeys((*prices[0], *prices[1])):
        one, other = (given.get(name) for given in prices)
        # A feature that is actionable in one audit only has no price in the other: that is told of its role.
        if one is not None and other is not None and not np.allclose(one, other, rtol=1e-9, atol=0):
            found[name] = (tuple(one), tuple(other))
    schemas = [one.recourse.source.schema for one in (a, b)]
    for name, mine, theirs in zip(_categories(b), _level_prices(a, b), _level_prices(b, b), strict=True):
        if name in _categories(a) and not np.array_equal(mine.table_of_all, theirs.table_of_all):
            found[name] = (schemas[0].feature(name).weights[0], schemas[1].feature(name).weights[0])
    return found


def at_prices_of(a: Audit, b: Audit) -> Audit:
    """Audit b with its actions charged at a's prices, and bounds that stay certain."""
    one, other = a.provenance.cost, b.provenance.cost
    same = _categories(a) == _categories(b)
    if not same or one.prices is None or other.prices is None or set(one.prices) != set(other.prices):
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
    cost, levels = parts.sum(axis=1), []
    for k, (new, old) in enumerate(zip(_level_prices(a, b), _level_prices(b, b), strict=True), width):
        cost += new.between(facts[:, k], facts[:, k] + change[:, k])
        with np.errstate(invalid="ignore"):
            # Staying costs nothing, and what is not allowed has no price: neither has a ratio.
            levels.append(new.each(facts[:, k]) / old.each(facts[:, k]))
    # No action costs less at the new prices than its old cost times the smallest ratio of prices.
    ratios = np.hstack([mine[0] / theirs[0], mine[1] / theirs[1], *levels])
    least, most = np.nanmin(ratios, axis=1, initial=np.inf), np.nanmax(ratios, axis=1, initial=0.0)
    acting = table.has_action
    bound = np.where(np.isfinite(table.bound), table.bound * least, table.bound)
    status = table.status.copy()
    status[(status == Status.OPTIMAL) & (most - least > 1e-9 * most)] = Status.FEASIBLE
    effort = np.where(acting, cost, np.nan)
    bound = np.where(acting, np.minimum(bound, effort), bound)
    fresh = dataclasses.replace(table, status=status, cost=effort, bound=bound)
    return Audit(fresh, b.criteria, b.neighbourhood, b.warnings, b.with_provenance(cost=one).provenance)


def _categories(audit: Audit) -> list[str]:
    """The actionable features that are categories."""
    table = audit.recourse
    return [table.source.encoding.columns[k].name for k in table.acts[table.delta.shape[1] :]]


def _level_prices(prices: Audit, levels: Audit) -> list[LevelPrices]:
    """What changing each category costs by the schema of one audit, for the levels of another."""
    table = levels.recourse
    columns = [table.source.encoding.columns[k] for k in table.acts[table.delta.shape[1] :]]
    return [LevelPrices.of(prices.recourse.source.schema.feature(one.name), one.levels) for one in columns]


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
