"""What people whose group is not known could make of a notion that compares shares or means of people.

A person has a value (a yes, a burden, a distance) whatever their group, or is in no denominator. So a reading over all
assignments of these people to the groups has an extreme, which is found as for the measures: for any numbers of people
on both sides the largest values are on the one side and the smallest on the other. Where their values themselves are
only known to lie between two others the bounds are from outside (note ASSIGNED_OUTER).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import isnan

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.measures.assigned import Assigned, Unplaced, of_means, of_ranges
from equieffort.notions.base import Audited, NotionReading


def spread(rows: Bools | np.ndarray, values: Floats, n: int) -> Floats:
    """Values of some rows among n people; NaN of all others, who are in no denominator."""
    found = np.full(n, np.nan)
    found[rows] = values
    return found


def bounded(
    reading: NotionReading, audited: Audited, values: Floats, most: Floats | None = None, *, sign: int = 1,
    size: bool = False,
) -> NotionReading:  # fmt: skip
    """The reading of a group's mean, or of its mean less that of the other side (`sign` -1: the other way round), with
    its least and most over all assignments; of a `size` those of the difference, whichever its sign.

    `values` are those of everybody in the table, NaN of whoever is in no denominator; with `most` the value of people
    whose group is not known lies between both, if they have one.
    """
    pools = audited.pools(reading.group, reading.against)
    if not any(bool(among.any()) for _, among in pools):
        return reading
    codes, labels = audited.table.groups.codes, audited.table.groups.labels
    mine = _known(values[codes == labels.index(reading.group)])
    theirs = _known(values[codes == labels.index(reading.against)]) if reading.against else np.zeros(1)
    found = _extremes((mine, theirs), pools, values, most, bool(reading.against))
    return placed(reading, found, sign=sign, size=size)


def placed(reading: NotionReading, found: Assigned, *, sign: int = 1, size: bool = False) -> NotionReading:
    """With bounds over assignments; of the size of a difference (`size`) those that its ends give."""
    least, most = (found.least, found.most) if sign > 0 else (0.0 - found.most, 0.0 - found.least)
    if size and not isnan(least):
        inside = least <= 0 <= most
        least, most = 0.0 if inside else min(abs(least), abs(most)), max(abs(least), abs(most))
    outer = found.is_outer or (size and least == 0.0 < most)
    note = f"{reading.note} ASSIGNED_OUTER".strip() if outer and not isnan(least) else reading.note
    return replace(reading, assigned_least=least, assigned_most=most, note=note)


def _known(values: Floats) -> Floats:
    return values[~np.isnan(values)]


def _extremes(
    known: tuple[Floats, Floats], pools: Sequence[tuple[tuple[bool, bool, bool], Bools]], values: Floats,
    most: Floats | None, compared: bool,
) -> Assigned:  # fmt: skip
    combine = np.subtract if compared else _first
    if most is None:
        parts = [(sides, _known(values[among])) for sides, among in pools]
        return of_means(known, [(Unplaced(*sides, some), some) for sides, some in parts if len(some)], combine)
    ranged = []
    for (mine, theirs, _), among in pools:
        ends = values[among], most[among]
        # Whoever has a range may have no value at all.
        ranged.append((Unplaced(mine, theirs, True, np.empty(0)), _known(ends[0]), _known(ends[1])))
    if all(np.array_equal(least, top) for _, least, top in ranged):
        return _extremes(known, pools, values, None, compared)
    return of_ranges(known, ranged, combine)


def _first(mine: Floats, theirs: Floats) -> Floats:
    return mine
