"""The loop that counts: one visit a person and triple of features, then sums of cells for whatever holds several.

Each table belongs to one triple and is filled by one thread in the order of the people, so that sums are the same to
the bit however many threads there are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import kernel, linked


@kernel
def visit(codes: Any, triple: Any, group: Any, values: Any, slots: int, groups: int, table: Any) -> None:
    """Add what each person counts to the cell of their three levels and their group."""
    first, second, third = triple[0], triple[1], triple[2]
    for i in range(group.shape[0]):
        cell = (codes[first, i] * slots + codes[second, i]) * slots + codes[third, i]
        row = cell * groups + group[i]
        for s in range(values.shape[1]):
            table[row, s] += values[i, s]


@kernel
def add_up(begin: Any, end: Any, outer: int, slots: int, inner: int, levels: int, cells: int, table: Any) -> None:
    """Along one axis: fill the slots behind the levels with the sums of the levels that each of them holds."""
    for o in range(outer):
        for slot in range(levels, slots):
            for level in range(begin[slot], end[slot]):
                for k in range(inner):
                    into, source = ((o * slots + slot) * inner + k) * cells, ((o * slots + level) * inner + k) * cells
                    for c in range(cells):
                        for s in range(table.shape[1]):
                            table[into + c, s] += table[source + c, s]


@kernel
def tabulate(
    codes: Any, triples: Any, group: Any, values: Any, begin: Any, end: Any, levels: int, groups: int, tables: Any
) -> None:
    """Tables of several triples.

    `codes` (feature, person) is below `levels`; `begin` and `end` (feature, slot) say which levels a slot holds;
    `tables` (triple, slot x slot x slot x group, value) comes in as zeros.
    """
    slots = begin.shape[1]
    for t in range(triples.shape[0]):
        triple, table = triples[t], tables[t]
        visit(codes, triple, group, values, slots, groups, table)
        add_up(begin[triple[0]], end[triple[0]], 1, slots, slots * slots, levels, groups, table)
        add_up(begin[triple[1]], end[triple[1]], slots, slots, slots, levels, groups, table)
        add_up(begin[triple[2]], end[triple[2]], slots * slots, slots, 1, levels, groups, table)


IN_NUMPY = 1e-8
"""Seconds about for each number that is read or written where tables are made by numpy."""


def tabulated(
    codes: Any, triples: Any, group: Any, values: Any, begin: Any, end: Any, levels: int, groups: int, tables: Any
) -> None:
    """What `tabulate` does, in the same order, in numpy: with few people sooner than it is compiled."""
    slots, counted = begin.shape[1], values.shape[1]
    codes = codes.astype(np.int64)
    for (first, second, third), table in zip(triples.tolist(), tables, strict=True):
        row = ((codes[first] * slots + codes[second]) * slots + codes[third]) * groups + group
        for s in range(counted):
            table[:, s] += np.bincount(row, values[:, s], len(table))
        for axis, feature in enumerate((first, second, third)):
            cells = table.reshape(slots**axis, slots, -1)
            for slot in range(levels, slots):
                for level in range(begin[feature, slot], end[feature, slot]):
                    cells[:, slot] += cells[:, level]


TABULATE = linked(tabulate, in_numpy=tabulated, worth=1.0)
