"""All conjunctions at once: which there are, how many people each holds, and which of them are one and the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numba
import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.effort.search.coding import CodedFeature, Codes
from equieffort.effort.search.counted import KEYS, SIZE
from equieffort.effort.search.kernels import IN_NUMPY, TABULATE
from equieffort.recourse.solvers.kernels.threads import pool

Ints = npt.NDArray[np.int64]
Sides = tuple[int, int | tuple[int, ...]]
"""The code of a group, and of the group or groups that it is compared with."""
AXES = 3
MOST_SUBGROUPS = 5_000_000
ALIKE = 0.98
"""A further condition that leaves at least this share of the people counted, on either side, says nothing new."""
BYTES = 64_000_000


@dataclass(frozen=True, eq=False)
class Subgroups:
    """The subgroups that are large enough and not merged, one a row; sums of the group and of its reference."""

    pair: Ints
    feature: Ints
    """(subgroup, 3): positions of the features, -1 for no condition."""
    slot: Ints
    """(subgroup, 3): level of each feature, or behind the levels 1 + which of its unions."""
    mine: Floats
    theirs: Floats
    formed: int
    too_small: int
    merged: int

    def rules(self, features: Sequence[CodedFeature], rows: Ints) -> list[str]:
        """The conjunctions as rules."""
        texts = [[*one.levels, *(union[2] for union in one.unions)] for one in features]
        return [
            " and ".join(texts[f][s] for f, s in zip(which, where, strict=True) if f >= 0)
            for which, where in zip(self.feature[rows].tolist(), self.slot[rows].tolist(), strict=True)
        ]


def subgroups_formed(features: Sequence[CodedFeature], conditions: int) -> int:
    """How many conjunctions of one up to so many conditions there are, each on another feature.

    >>> subgroups_formed([CodedFeature("a", ("x", "y")), CodedFeature("b", ("x", "y", "z"))], 3)
    11
    """
    sums = [1, 0, 0, 0]
    for one in features:
        size = len(one.levels) + len(one.unions)
        for order in range(conditions, 0, -1):
            sums[order] += size * sums[order - 1]
    return sum(sums[1:])


@dataclass(frozen=True, eq=False)
class _Layout:
    """Slots of a table's axis: levels, then "any", then unions of levels."""

    levels: int
    slots: int
    begin: Ints
    end: Ints
    stands: Bools
    """(feature, slot): which slots are conditions of the feature, or any; the last feature stands for none."""

    @classmethod
    def of(cls, features: Sequence[CodedFeature]) -> _Layout:
        levels = max(len(one.levels) for one in features)
        slots = levels + 1 + max(len(one.unions) for one in features)
        begin, end = (np.zeros((len(features) + 1, slots), dtype=np.int64) for _ in range(2))
        end[:, levels] = levels
        stands = np.zeros((len(features) + 1, slots), dtype=bool)
        stands[:, levels] = True
        for f, one in enumerate(features):
            stands[f, : len(one.levels)] = True
            for u, (first, last, _) in enumerate(one.unions):
                begin[f, levels + 1 + u], end[f, levels + 1 + u] = first, last
                stands[f, levels + 1 + u] = True
        return cls(levels, slots, begin, end, stands)


def _triples(features: int, conditions: int) -> tuple[Ints, Bools]:
    """Sets of features, filled up with the one that stands for none; which of their parts are read from them.

    Each set of fewer features is read once, from the first that holds it.
    """
    size = min(conditions, features)
    chosen = np.array(list(combinations(range(features), size)), dtype=np.int64).reshape(-1, size)
    triples = np.full((len(chosen), AXES), features, dtype=np.int64)
    triples[:, :size] = chosen
    owns, seen = np.zeros((len(chosen), 2**AXES), dtype=bool), set()
    for t, triple in enumerate(chosen.tolist()):
        for kept in range(1, 2**size):
            part = tuple(f for axis, f in enumerate(triple) if kept >> axis & 1)
            if part not in seen:
                seen.add(part)
                owns[t, kept] = True
    return triples, owns


def find_subgroups(
    features: Sequence[CodedFeature], codes: Codes, group: Ints, values: Floats, pairs: Sequence[Sides],
    *, conditions: int = AXES, fewest: int = 50,
) -> Subgroups:  # fmt: skip
    """Count every conjunction; keep those with enough people a side that are not the same as a shorter one.

    `values` (person, value) are summed by cell; column SIZE is what `fewest` is compared with, columns KEYS tell people
    apart. People are those with a group code of 0 or more.
    """
    kept: list[tuple[Any, ...]] = []
    formed = len(pairs) * subgroups_formed(features, conditions)
    large = same = 0
    if features and pairs:
        for pair, which, slot, mine, theirs, redundant in _blocks(
            features, codes, group, values, pairs, conditions, fewest
        ):
            large += len(slot)
            same += int(redundant.sum())
            new = ~redundant
            kept.append((np.full(int(new.sum()), pair), which[new], slot[new], mine[new], theirs[new]))
    width = values.shape[1]
    empty = (np.empty(0, dtype=np.int64), np.empty((0, AXES), dtype=np.int64), np.empty((0, AXES), dtype=np.int64))
    parts = zip((*empty, np.empty((0, width)), np.empty((0, width))), *kept, strict=True)
    pair, feature, slot, mine, theirs = (np.concatenate(part) for part in parts)
    first = _first_of_each(pair, feature, mine, theirs)
    merged = same + len(pair) - len(first)
    pair, feature, slot, mine, theirs = (column[first] for column in (pair, feature, slot, mine, theirs))
    return Subgroups(pair, feature, slot, mine, theirs, formed, formed - large, merged)


def _blocks(
    features: Sequence[CodedFeature], codes: Codes, group: Ints, values: Floats, pairs: Sequence[Sides],
    conditions: int, fewest: int,
) -> Iterator[tuple[Any, ...]]:  # fmt: skip
    layout = _Layout.of(features)
    triples, owns = _triples(len(features), conditions)
    counted = group >= 0
    both = [[list(np.atleast_1d(side)) for side in pair] for pair in pairs]
    groups = 1 + max(int(group.max(initial=0)), *(code for pair in both for side in pair for code in side))
    slots, levels = layout.slots, layout.levels
    people = np.zeros((len(features) + 1, int(counted.sum())), dtype=np.uint8)
    people[:-1] = codes[:, counted]
    # Compiled loops would write beyond the table.
    assert int(people.max(initial=0)) < levels
    assert len(values) == len(group) == codes.shape[1]
    group, values = group[counted].astype(np.int64), np.ascontiguousarray(values[counted])
    cells = slots**AXES
    block = max(1, BYTES // (8 * cells * groups * values.shape[1]))
    shape = np.unravel_index(np.arange(cells), (slots,) * AXES)
    kept_axes = sum((shape[axis] != levels).astype(np.int64) << axis for axis in range(AXES))
    steps = [slots**2, slots, 1]
    for start in range(0, len(triples), block):
        part, owned = triples[start : start + block], owns[start : start + block]
        tables = np.zeros((len(part), cells * groups, values.shape[1]))
        _fill(people, part, group, values, layout, groups, tables)
        tables = tables.reshape(len(part), cells, groups, -1)
        stands = owned[:, kept_axes]
        for axis in range(AXES):
            stands &= layout.stands[part[:, axis]][:, shape[axis]]
        for p, pair in enumerate(both):
            # In a fixed order, where several groups are one side.
            sides = [tables[:, :, side].sum(axis=2) if len(side) > 1 else tables[:, :, side[0]] for side in pair]
            t, cell = np.nonzero(stands & (sides[0][..., SIZE] >= fewest) & (sides[1][..., SIZE] >= fewest))
            redundant = np.zeros(len(t), dtype=bool)
            for axis in range(AXES):
                here = shape[axis][cell]
                wider = cell + (levels - here) * steps[axis]
                says = here != levels
                for side in sides:
                    says &= side[t, cell, SIZE] >= ALIKE * side[t, wider, SIZE]
                redundant |= says
            slot = np.stack([shape[axis][cell] for axis in range(AXES)], axis=1)
            which = np.where(slot == levels, -1, part[t])
            # Without the slot for any, unions come right behind the levels of their own feature.
            sizes = np.array([len(one.levels) for one in features])
            slot = np.where(slot > levels, slot - levels - 1 + sizes[which], slot)
            yield p, which, np.where(which < 0, -1, slot), sides[0][t, cell], sides[1][t, cell], redundant


def _fill(
    people: Codes, triples: Ints, group: Ints, values: Floats, layout: _Layout, groups: int, tables: Floats
) -> None:
    """In parts of triples, one after the other in each thread."""
    size = -(-len(triples) // (4 * max(1, numba.get_num_threads())))
    starts = range(0, len(triples), size)

    begin, end, levels = layout.begin, layout.end, layout.levels
    sums = int((end - begin).sum(axis=1).max(initial=0)) * layout.slots**2 * groups

    def fill(start: int) -> None:
        part = slice(start, start + size)
        some = triples[part]
        work = IN_NUMPY * len(some) * values.shape[1] * (len(group) + AXES * sums)
        TABULATE(people, some, group, values, begin, end, levels, groups, tables[part], work=work)

    if len(starts) == 1:
        fill(0)
        return
    fill(starts[0])
    list(pool().map(fill, starts[1:]))


def _first_of_each(pair: Ints, feature: Ints, mine: Floats, theirs: Floats) -> Ints:
    """Of subgroups that count the same people one: that of fewest conditions, then the first."""
    if not len(pair):
        return np.empty(0, dtype=np.int64)
    conditions = (feature >= 0).sum(axis=1)
    # Whole numbers that everybody drew once: equal sums mean the same people.
    prints = np.column_stack([pair, mine[:, KEYS], theirs[:, KEYS]])
    order = np.lexsort((np.arange(len(pair)), conditions, *prints.T))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (prints[order][1:] != prints[order][:-1]).any(axis=1)
    return np.sort(order[new])
