"""People in the order in which compiled loops see them: by kind, so that the loops ask nobody what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats

SCATTER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number: multiplying by it scatters rows, so that neighbours in the table seldom fall into the same bucket."""
KEPT = 54
"""Bits of a row's number below its kind."""


@dataclass(frozen=True, eq=False)
class Entries:
    """One entry a person, or one for all people of a kind who have equal rows.

    Kind 0 are the people who were not refused; then, group by group, the refused without an action; then, group by
    group, those with one.
    """

    of: npt.NDArray[np.intp]
    """The entry of each person."""
    someone: npt.NDArray[np.intp]
    """A person of each entry."""
    weight: npt.NDArray[np.int64]
    """How many people an entry stands for."""
    begin: npt.NDArray[np.int64]
    """Where each kind begins; one more at the end."""

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return (len(self.begin) - 2) // 2

    def __len__(self) -> int:
        return len(self.weight)

    def refused(self, group: int) -> slice:
        """The entries of a group's refused people without an action."""
        return slice(int(self.begin[1 + group]), int(self.begin[2 + group]))

    def acting(self, group: int) -> slice:
        """The entries of a group's refused people with an action."""
        return self.refused(group + self.groups)


def kinds(group: Any, cost: Floats, groups: int) -> npt.NDArray[np.int64]:
    """The kind of each person, given the group of the refused (-1 for the others) and the cost of their action."""
    return np.where(group < 0, 0, 1 + group + np.where(np.isnan(cost), 0, groups)).astype(np.int64)


def each_person(kind: npt.NDArray[np.int64], groups: int, values: Floats, cost: Floats) -> Entries:
    """One entry a person. The order of the people does not show: it is by kind, values and cost."""
    order = np.lexsort((cost, *values.T[::-1], kind))
    of = np.empty(len(kind), dtype=np.intp)
    of[order] = np.arange(len(kind))
    begin = np.searchsorted(kind[order], np.arange(2 * groups + 2)).astype(np.int64)
    return Entries(of, order, np.ones(len(kind), dtype=np.int64), begin)


def equal_rows_together(values: Floats, kind: npt.NDArray[np.int64], groups: int) -> Entries:
    """One entry for all people of a kind with equal rows. The order of the people does not show in the entries."""
    people = len(values)
    # The kind above the scattered number: entries stand by kind, and in no order that distances follow.
    key = (kind.astype(np.uint64) << np.uint64(KEPT)) | (_scattered(values) >> np.uint64(64 - KEPT))
    order, new, told_apart = _sorted(key, values)
    if not told_apart:
        # Two rows share a number, which hardly ever happens: sorting the rows themselves tells them apart.
        rows = np.unique(values + 0.0, axis=0, return_inverse=True)[1].ravel().astype(np.uint64)
        order, new, _ = _sorted((kind.astype(np.uint64) << np.uint64(KEPT)) | rows, values)
    of = np.empty(people, dtype=np.intp)
    of[order] = np.cumsum(new) - 1
    someone = order[np.flatnonzero(new)]
    begin = np.searchsorted(kind[someone], np.arange(2 * groups + 2)).astype(np.int64)
    weight = np.bincount(of, minlength=len(someone)).astype(np.int64)
    return Entries(of, someone, weight, begin)


def _scattered(values: Floats) -> npt.NDArray[np.uint64]:
    """A number for each row, equal for equal rows."""
    found = np.zeros(len(values), dtype=np.uint64)
    for column in values.T:
        # Adding 0 makes one zero of two.
        found = (found ^ (column + 0.0).view(np.uint64)) * SCATTER
        found ^= found >> np.uint64(29)
    return found * SCATTER


def _sorted(key: npt.NDArray[np.uint64], values: Floats) -> tuple[npt.NDArray[np.intp], Bools, bool]:
    """People by key, where another key begins, and whether people with equal keys have equal rows."""
    order = np.argsort(key)
    ranked = key[order]
    new = np.ones(len(key), dtype=bool)
    new[1:] = ranked[1:] != ranked[:-1]
    again = np.flatnonzero(~new)
    return order, new, bool((values[order[again]] == values[order[again - 1]]).all())


class Efforts(NamedTuple):
    """What people are counted by: all of them, in no order."""

    group: npt.NDArray[np.int64]
    """(people) of the refused; -1 for the others."""
    digits: npt.NDArray[np.int64]
    """(people, digits + 1) of the cost, and 1 for those with an action."""
    lowest: int
    """The power of two of the first digit."""


class Around(NamedTuple):
    """What is around some centres, by centre, rising quantile and group."""

    size: npt.NDArray[np.int64]
    acting: npt.NDArray[np.int64]
    cost: Floats
    first: npt.NDArray[Any]
    """By centre and entry the first neighbourhood that holds it; without rows unless asked for."""

    def of(self, part: slice) -> Around:
        """What is around some of the centres, to be read or filled in."""
        return Around(self.size[part], self.acting[part], self.cost[part], self.first[part])


def empty_around(centres: int, quantiles: int, entries: Entries, *, first: bool) -> Around:
    """Room for what is around some centres."""
    shape = (centres, quantiles, entries.groups)
    narrow = np.uint8 if quantiles < 255 else np.uint16
    slots = np.empty((centres if first else 0, len(entries)), dtype=narrow)
    return Around(np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.zeros(shape), slots)
