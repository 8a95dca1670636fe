"""What an effort of 1 is: in a sentence where effort is first spoken of, and for every feature in a table."""

from __future__ import annotations

from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np

from equieffort.data.frames import number, percent
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.words import MISSING, Cell, Phrase, Words, joined, ratio, say
from equieffort.world.groups import group_name
from equieffort.world.schema import Feature

MOST_PRICES = 6
"""So many prices from level to level are told one by one."""
SAID = 2
"""So many features are named where effort is first spoken of."""
LOW, MIDDLE, HIGH = 0.1, 0.5, 0.9


def unit_of_effort(material: Material) -> Words:
    """Effort in words, with the first features as examples."""
    cost = material.audit.provenance.cost
    words: Words = ("Effort adds up the changes that a person must make. ",)
    examples: list[Words] = []
    if cost.prices is not None:
        for name, (up, down) in list(cost.prices.items())[:SAID]:
            rise = up or down
            by = f"{ratio(1 / rise)} times its own value" if cost.own else _amount(1 / rise)
            verb = "a change" if up == down else "a rise" if up else "a fall"
            examples.append(say("{} of {} by {}", verb, material.feature(name), by))
    elif cost.percentiles is not None:
        words += ("A change costs the share of people it overtakes: to pass half of them costs 0.5. ",)
    elif cost.by_group is not None:
        words += (
            "A change costs the share of people of one's own group it overtakes: to pass half of them costs 0.5. ",
        )
    elif cost.kind:
        words += ("A change costs what the given functions say. ",)
    weights = _categories(material)
    plain = {name: of for name, of in weights.items() if not (of.steps or of.prices) and of.weights[0] == of.weights[1]}
    whole = [name for name, feature in plain.items() if feature.weights[0] == 1]
    if whole:
        examples.append(say("any other value of {}", material.feature(whole[0])))
    if examples:
        *first, last = examples
        words += say("An effort of 1 is {}", joined((joined(first), last), " or ") if first else last)
        others = len(cost.prices or ()) + len(weights) - len(examples)
        words += ("; the other features are listed under Assumptions." if others > 0 else ".",)
    return words


def _amount(value: float) -> str:
    return f"{value:,.4g}" if abs(value) < 9999.5 else number(round(value))


def _categories(material: Material) -> dict[str, Feature]:
    """Actionable categories, and what was declared of each."""
    schema, encoding = material.table.source.schema, material.table.source.encoding
    return {n: schema.feature(n) for n in schema.actionable if encoding[n].is_category}


def level_words(feature: Feature, called: Callable[[Any], str] = str) -> str:
    """What changing a category costs; `called` names its levels.

    >>> level_words(Feature("actionable", order=["low", "mid", "high"], steps=True, weight=(2, 1)))
    'a step up is an effort of 1, a step down of 0.5 (low < mid < high)'
    >>> level_words(Feature("actionable", prices={("rent", "own"): 2.0}))
    'any other value is an effort of 1, but rent to own of 2'
    """
    size = len(feature.order) - 1 if feature.steps and feature.order is not None else 1
    up, down = (number(weight / size) for weight in feature.weights)
    step = "a step" if feature.steps else "a change"
    if up != down:
        words = f"{step} up is an effort of {up}, {step} down of {down}"
    else:
        words = f"{step if feature.steps else 'any other value'} is an effort of {up}"
    if feature.order is not None and feature.needs_order:
        words += f" ({' < '.join(map(called, feature.order))})"
    prices = [f"{called(start)} to {called(end)} of {number(price)}" for (start, end), price in feature.priced.items()]
    if len(prices) > MOST_PRICES:
        prices = [*prices[:MOST_PRICES], f"{len(prices) - MOST_PRICES} other changes by their own prices"]
    return f"{words}, but {', '.join(prices)}" if prices else words


def cost_table(material: Material) -> Table:
    """What a change of each actionable feature costs."""
    cost = material.audit.provenance.cost
    kind = cost.kind or "not recorded"
    if cost.prices is not None:
        unit = " times the own value" if cost.own else ""
        rows: list[list[Cell]] = [
            [material.feature(name), *(f"{number(1 / price)}{unit}" if price else MISSING for price in of)]
            for name, of in cost.prices.items()
        ]
        table = Table(f"The change that costs an effort of 1 ({kind})", ("feature", "upwards", "downwards"), rows)
    elif cost.percentiles is not None:
        rows = [[material.feature(name), *_percentiles(curve)] for name, curve in cost.percentiles.items()]
        heads = tuple(f"{percent(at, 0)} of people are at most at" for at in (LOW, MIDDLE, HIGH))
        table = Table(f"A change costs the share of people it overtakes ({kind})", ("feature", *heads), rows)
    elif cost.by_group is not None:
        rows = [
            [material.feature(name), group_name(label, cost.columns), *_percentiles(curve)]
            for label, curves in cost.by_group.items()
            for name, curve in curves.items()
        ]
        heads = tuple(f"{percent(at, 0)} of them are at most at" for at in (LOW, MIDDLE, HIGH))
        title = f"A change costs the share of people of one's own group it overtakes ({kind})"
        table = Table(title, ("feature", "people", *heads), rows)
    else:
        named = {str(name) for value in cost.rest.values() if isinstance(value, dict) for name in value}
        rows = [[material.feature(name), "by a function that was given"] for name in sorted(named)]
        table = Table(f"Cost of a change ({kind})", ("feature", "cost"), rows or [["not recorded", ""]])
    width = len(table.head) - 2
    for name, feature in _categories(material).items():
        table.rows.append([material.feature(name), (Phrase(_level_price(material, name, feature)),), *[""] * width])
    return table


def _level_price(material: Material, name: str, feature: Feature) -> str:
    return level_words(feature, lambda level: str(material.level(name, level)))


def _percentiles(curve: tuple[tuple[float, ...], tuple[float, ...]]) -> list[Cell]:
    values, shares = (np.asarray(part, dtype=np.float64) for part in curve)
    return [number(float(values[min(int(np.searchsorted(shares, at)), len(values) - 1)])) for at in (LOW, MIDDLE, HIGH)]


def price_words(material: Material, name: str) -> tuple[str, str]:
    """The change of a feature that is an effort of 1, and where that comes from."""
    cost = material.audit.provenance.cost
    weights = _categories(material)
    if name in weights:
        return _level_price(material, name, weights[name]), ""
    if cost.prices is not None and name in cost.prices:
        unit = " times the own value" if cost.own else ""
        up, down = (f"{_amount(1 / price)}{unit}" if price else "" for price in cost.prices[name])
        ways = up if up == down else " or ".join(x for x in (up and f"{up} up", down and f"{down} down") if x)
        return f"an effort of 1 is a change of {ways}", "" if cost.own else "scale from the data, "
    if cost.percentiles is not None:
        return "the share of people that a change overtakes", "shares from the data, "
    if cost.by_group is not None:
        return "the share of people of one's own group that a change overtakes", "shares from the data, "
    return "by a function that was given", "function declared, "


def in_units(material: Material, effort: float, mean: float = nan) -> Words:
    """An effort as a change of the feature that people change most, and a mean beside it; nothing where no such change
    has it."""
    cost = material.audit.provenance.cost
    acts, table = material.table.acts, material.table
    if cost.percentiles is not None and np.isfinite(effort):
        return (f"as much as overtaking {percent(effort, 0)} of people",) if effort <= 1 else ()
    if cost.by_group is not None and np.isfinite(effort):
        return (f"as much as overtaking {percent(effort, 0)} of one's own group",) if effort <= 1 else ()
    if cost.prices is None or not np.isfinite(effort):
        return ()
    best: tuple[int, int, float] | None = None
    price = nan
    for b, k in enumerate(acts):
        name = table.source.encoding.columns[k].name
        if name not in cost.prices:
            continue
        change = (material.moved[:, k] - material.facts[:, k])[material.is_set[:, b]]
        up, down = int((change > 0).sum()), int((change < 0).sum())
        of = cost.prices[name][0 if up >= down else 1]
        if of and up + down and (best is None or up + down > best[0]):
            best, price = (up + down, k, effort / of), of
    if best is None:
        return ()
    _, k, size = best
    name, facts = table.source.encoding.columns[k].name, material.facts[:, k]
    if not cost.own and size > np.nanmax(facts) - np.nanmin(facts):
        return say("more than the whole range of {}", material.feature(name))
    own = " times the own value" if cost.own else ""
    beside = f" (the mean: by {ratio(mean / price)}{own})" if np.isfinite(mean) else ""
    return say("as much as changing {} by {}{}{}", material.feature(name), ratio(size), own, beside)
