"""Shallow trees that tell each person one route: the best of all trees of depth at most two, found exactly.

Every pair of splits is tried, and each leaf gets the candidate that turns most of its people (of equals the cheapest),
so no tree over these splits and candidates turns more. Splits never ask about protected attributes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.notions.patterns import Item

MOST_LEAVES = 4


@dataclass(frozen=True)
class Leaf:
    """The conditions that lead to a leaf (split, side), and the candidate its people are told."""

    path: tuple[tuple[int, bool], ...]
    route: int

    def members(self, splits: Sequence[Bools], n: int) -> Bools:
        """Who is told this route."""
        inside = np.ones(n, dtype=bool)
        for split, side in self.path:
            inside &= splits[split] == side
        return inside


def leaf_text(leaf: Leaf, splits: Sequence[Item]) -> str:
    """Whom a leaf is for, as a rule; empty where it is for everybody."""
    return " and ".join(splits[s].text if side else splits[s].otherwise for s, side in leaf.path)


@dataclass(frozen=True)
class Part:
    """The best way to serve some people: the gain, and leaves relative to them."""

    gain: float
    leaves: tuple[Leaf, ...]


def best_tree(gain: Floats, splits: Sequence[Bools], leaves: int, min_leaf: int = 1) -> Part:
    """The tree of at most so many leaves, and of depth at most two, with the largest sum of gains.

    `gain` is (person, candidate): what telling the person that candidate is worth; 0 whom it does not turn.
    """
    n = len(gain)
    best = _leaf(gain, np.ones(n, dtype=bool), ())
    if leaves < 2 or not len(splits):
        return best
    masks = np.array(splits)
    for s, mask in enumerate(masks):
        sides = {True: mask, False: ~mask}
        if min(int(side.sum()) for side in sides.values()) < min_leaf:
            continue
        one = {side: _leaf(gain, members, ((s, side),)) for side, members in sides.items()}
        two: dict[bool, Part | None] = {True: None, False: None}
        if leaves > 2:
            two = {side: _split(gain, members, masks, ((s, side),), min_leaf) for side, members in sides.items()}
        ways: list[tuple[Part | None, Part | None]] = [(one[True], one[False])]
        ways += [(two[True], one[False]), (one[True], two[False])]
        ways += [(two[True], two[False])] if leaves > 3 else []
        for first, second in ways:
            if first is not None and second is not None and first.gain + second.gain > best.gain:
                best = Part(first.gain + second.gain, first.leaves + second.leaves)
    return best


def _leaf(gain: Floats, members: Bools, path: tuple[tuple[int, bool], ...]) -> Part:
    sums = gain[members].sum(axis=0)
    route = int(sums.argmax())
    return Part(float(sums[route]), (Leaf(path, route),))


def _split(
    gain: Floats, members: Bools, masks: Bools, path: tuple[tuple[int, bool], ...], min_leaf: int
) -> Part | None:
    """The best split of some people into two leaves, all splits at once; None where none leaves enough people."""
    rows = np.flatnonzero(members)
    inside = masks[:, rows].astype(np.float64)
    here = inside @ gain[rows]
    there = gain[rows].sum(axis=0) - here
    counts = inside.sum(axis=1)
    possible = (counts >= min_leaf) & (len(rows) - counts >= min_leaf)
    if not possible.any():
        return None
    totals = np.where(possible, here.max(axis=1) + there.max(axis=1), -inf)
    s = int(totals.argmax())
    leaves = tuple(
        Leaf((*path, (s, side)), int(sums[s].argmax())) for side, sums in ((True, here), (False, there))
    )  # fmt: skip
    return Part(float(totals[s]), leaves)
