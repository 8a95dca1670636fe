"""Frequent patterns: conjunctions of items, at most one a feature, that enough people have (Agrawal and Srikant 1994).

Subgroups are patterns of the refused, actions patterns of the approved. The search is exact: what is frequent has only
frequent parts, so a level is made of the one before, and nothing frequent is missed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Column, Floats
from equieffort.effort.search.coding import shortest_between
from equieffort.foundations.arguments import as_plain
from equieffort.notions.actions import Action, Part
from equieffort.recourse.problem import RecourseProblem
from equieffort.world.rules.tree import Compare, Literal, Name

QUARTERS = (0.25, 0.5, 0.75)
"""Where numbers are cut for subgroups."""
TENTHS = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Where numbers are cut for actions: more finely, since the cheapest cut that turns somebody counts."""


@dataclass(frozen=True, eq=False)
class Item:
    """A condition on one feature, and who meets it."""

    feature: str
    text: str
    members: Bools
    part: Part | None = None
    """What an action asks for, where the item is a part of one."""
    otherwise: str = ""
    """The rule for everybody else, where the item is a split."""


def frequent_patterns(
    items: Sequence[Item], strata: Sequence[Bools], need: Sequence[float], most: int
) -> list[tuple[int, ...]]:
    """Every set of at most so many items, of different features, that in each stratum enough people have.

    >>> a, b = np.array([1, 1, 0, 0], dtype=bool), np.array([1, 1, 1, 0], dtype=bool)
    >>> items = [Item("x", "x = 1", a), Item("y", "y = 1", b)]
    >>> frequent_patterns(items, [np.ones(4, dtype=bool)], [2], 2)
    [(0,), (1,), (0, 1)]
    """

    def is_frequent(members: Bools) -> bool:
        return all(int((members & stratum).sum()) >= least for stratum, least in zip(strata, need, strict=True))

    level: dict[tuple[int, ...], Bools] = {
        (k,): item.members for k, item in enumerate(items) if is_frequent(item.members)
    }
    found: list[tuple[int, ...]] = [*level]
    for size in range(2, most + 1):
        following: dict[tuple[int, ...], Bools] = {}
        by_start: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        for pattern in level:
            by_start.setdefault(pattern[:-1], []).append(pattern)
        for alike in by_start.values():
            for first, second in combinations(alike, 2):
                joined = (*first, second[-1])
                if items[first[-1]].feature == items[second[-1]].feature:
                    continue
                if not all(part in level for part in combinations(joined, size - 1)):
                    continue
                members = level[first] & items[second[-1]].members
                if is_frequent(members):
                    following[joined] = members
        level = following
        found += list(level)
    return found


def condition_items(columns: Sequence[Column], facts: Floats, rows: Bools) -> list[Item]:
    """Conditions that subgroups are made of: a level each, and numbers between the quartiles of the given people.

    The text is a rule that `Audit.subgroup` takes.
    """
    found: list[Item] = []
    for k, column in enumerate(columns):
        values = facts[:, k]
        if column.is_category:
            found += [
                Item(column.name, _compare(column.name, "=", level), values == code)
                for code, level in enumerate(column.levels)
            ]
            continue
        cuts = _told_cuts(column, values[rows])
        ends = [(-np.inf, cuts[0]), *pairwise(cuts), (cuts[-1], np.inf)] if len(cuts) else []
        found += [
            Item(column.name, between(column.name, low, high), (values > low) & (values <= high)) for low, high in ends
        ]
    # What everybody or nobody has describes no subgroup.
    return [item for item in found if item.members[rows].any() and not item.members[rows].all()]


def split_items(columns: Sequence[Column], facts: Floats, rows: Bools) -> list[Item]:
    """Questions that tell people apart: whether they have a level, and on which side of a quartile a number is."""
    found: list[Item] = []
    for k, column in enumerate(columns):
        if column.is_category:
            for code, level in enumerate(column.levels):
                texts = _compare(column.name, "=", level), _compare(column.name, "!=", level)
                found.append(Item(column.name, texts[0], facts[:, k] == code, otherwise=texts[1]))
            continue
        for cut in _told_cuts(column, facts[rows, k]):
            texts = between(column.name, -np.inf, cut), between(column.name, cut, np.inf)
            found.append(Item(column.name, texts[0], facts[:, k] <= cut, otherwise=texts[1]))
    return [item for item in found if item.members[rows].any() and not item.members[rows].all()]


def action_items(problem: RecourseProblem, facts: Floats, approved: Bools) -> list[Item]:
    """Parts that actions are made of: levels, and ends of numbers, of approved people, that the schema lets set."""
    found: list[Item] = []
    for k in problem.acts:
        column, feature = problem.encoding.columns[k], problem.feature(k)
        values = facts[:, k]
        if column.is_category:
            for code, level in enumerate(column.levels):
                part = Part(column.name, "set", level)
                found.append(Item(column.name, str(part), values == code, part))
            continue
        up = feature.direction != "down" and feature.max_increase != 0
        down = feature.direction != "up" and feature.max_decrease != 0
        for cut in _cuts(values[approved], TENTHS, ends=problem.encoding.columns[k].kind == "binary"):
            sides = ([("at_least", values >= cut)] if up else []) + ([("at_most", values <= cut)] if down else [])
            for kind, members in sides:
                part = Part(column.name, kind, _plain(cut))  # type: ignore[arg-type]
                found.append(Item(column.name, str(part), members, part))
    return found


def mined_actions(
    problem: RecourseProblem, facts: Floats, approved: Bools, min_support: float, max_features: int
) -> list[Action]:
    """Frequent patterns of the approved as actions, those that more of the approved have first."""
    items = action_items(problem, facts, approved)
    least = max(1.0, min_support * int(approved.sum()))
    patterns = frequent_patterns(items, [approved], [least], max_features) if approved.any() else []
    shares = [int(np.logical_and.reduce([items[k].members for k in pattern])[approved].sum()) for pattern in patterns]
    order = sorted(range(len(patterns)), key=lambda p: (-shares[p], len(patterns[p]), patterns[p]))
    return [Action(tuple(items[k].part for k in patterns[p])) for p in order]  # type: ignore[misc]


def _cuts(values: Floats, shares: Sequence[float], *, ends: bool = False) -> list[float]:
    """Observed values at these shares, each once; the largest cuts nothing off below it, unless ends are wanted."""
    known = values[~np.isnan(values)]
    if not len(known):
        return []
    found = np.unique(known) if ends else np.unique(np.quantile(known, shares, method="inverted_cdf"))
    return [float(v) for v in found if ends or v < known.max()]


def _told_cuts(column: Column, values: Floats) -> list[float]:
    """Quartiles, each as the number of fewest digits that parts the same people; whole numbers as they are."""
    cuts = _cuts(values, QUARTERS)
    if column.is_whole:
        return cuts
    known = np.unique(values[~np.isnan(values)])
    return [float(shortest_between(np.float64(cut), known[np.searchsorted(known, cut, "right")])) for cut in cuts]


def between(name: str, low: float, high: float) -> str:
    """The rule for values above one end and up to the other.

    >>> between("age", -np.inf, 30.0), between("monthly income", 2.5, 4.0)
    ('age <= 30', '`monthly income` > 2.5 and `monthly income` <= 4')
    """
    ends = [_compare(name, ">", _plain(low))] if low > -np.inf else []
    return " and ".join([*ends, _compare(name, "<=", _plain(high))] if high < np.inf else ends)


def _compare(name: str, sign: str, value: Any) -> str:
    kind = "text" if isinstance(value, str) else "truth" if isinstance(value, bool | np.bool_) else "number"
    return str(Compare(Name(name), sign, Literal(kind, as_plain(value))))


def _plain(value: float) -> Any:
    return int(value) if value == int(value) else float(value)
