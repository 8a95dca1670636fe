"""For every centre and quantile: how many unfavourably decided people of each group are near, and what their efforts
add up to. Compiled; distances are never held for more than one centre at a time.

Order statistics come from buckets: distances are counted into equal intervals, and only the buckets in which a wanted
rank falls are sorted. Costs are added as whole-number digits, so sums do not depend on the order of the people.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from equieffort.effort.neighbours import in_numpy
from equieffort.effort.neighbours.digits import to_doubles
from equieffort.effort.neighbours.entries import Around, Efforts
from equieffort.foundations.jit import kernel, linked, maker

BUCKETS = 2048


class Room(NamedTuple):
    """Room for one centre at a time."""

    slot: Any
    """(people) the bucket of each."""
    ends: Any
    """(buckets + 1)"""
    order: Any
    """(people) bucket by bucket."""
    sums: Any
    """(quantile, group, digit)"""
    thresholds: Any
    """(quantile)"""


@maker
def _make_room(people: int, quantiles: int, groups: int, width: int) -> Room:
    """Room for one centre; `width`: how many digits a sum of efforts has."""
    return Room(
        np.empty(people, dtype=np.int32), np.empty(BUCKETS + 1, dtype=np.int64), np.empty(people, dtype=np.int64),
        np.empty((quantiles, groups, width), dtype=np.int64), np.empty(quantiles),
    )  # fmt: skip


@kernel
def _distances(rows: Any, centre: int, out: Any) -> None:
    """The paper's mixed distance from one person to everybody."""
    values, scales, is_category, power = rows
    people, features = values.shape[1], values.shape[0]
    out[:] = 0.0
    for k in range(features):
        here = values[k, centre]
        if is_category[k]:
            for i in range(people):
                if values[k, i] != here:
                    out[i] += 1.0
        elif power == 1:
            scale = scales[k]
            for i in range(people):
                out[i] += abs(here - values[k, i]) / scale
        else:
            scale = scales[k]
            for i in range(people):
                part = abs(here - values[k, i]) / scale
                out[i] += part * part
    if power == 2:
        for i in range(people):
            out[i] = np.sqrt(out[i])


@kernel
def _bucket(distance: float, scale: float) -> int:
    """The bucket of a distance. Whatever it is, also NaN, the answer is a bucket: an index is never outside."""
    place = distance * scale
    return max(int(place), 0) if place < BUCKETS else BUCKETS - 1


@maker
def _one(distance: Any, quantiles: Any, efforts: Efforts, room: Room, size: Any, acting: Any) -> None:
    """One centre: thresholds by bucket, then counts and digit sums up to each threshold, which rise."""
    people, top = distance.shape[0], 0.0
    slot, ends, order, sums, thresholds = room
    for i in range(people):
        top = max(top, distance[i])
    scale = BUCKETS / top if top > 0.0 else 0.0
    if not scale < np.inf:
        # Distances so small that their inverse overflows share one bucket, which is always right.
        scale = 0.0
    ends[:] = 0
    for i in range(people):
        b = _bucket(distance[i], scale)
        slot[i] = b
        ends[b + 1] += 1
    for b in range(BUCKETS):
        ends[b + 1] += ends[b]
    for i in range(people):
        b = slot[i]
        order[ends[b]] = i
        ends[b] += 1
    # ends[b] has moved from the beginning of bucket b to its end.
    done = 0
    for q in range(quantiles.shape[0]):
        if q == 0:
            size[0, :] = 0
            acting[0, :] = 0
            sums[0, :, :] = 0
        threshold = _quantile(distance, order, ends, slot, quantiles[q])
        thresholds[q] = threshold
        edge = _bucket(threshold, scale)
        inside = ends[edge - 1] if edge > 0 else 0
        # Whole buckets below the edge are inside for this quantile and all that follow.
        for p in range(done, inside):
            _add(order[p], efforts, size[q], acting[q], sums[q])
        done = max(done, inside)
        if q + 1 < quantiles.shape[0]:
            size[q + 1, :] = size[q]
            acting[q + 1, :] = acting[q]
            sums[q + 1, :, :] = sums[q]
        for p in range(done, ends[edge]):
            if distance[order[p]] <= threshold:
                _add(order[p], efforts, size[q], acting[q], sums[q])


@kernel
def _first(distance: Any, thresholds: Any, place: Any, first: Any) -> None:
    """The first neighbourhood that holds each person; their number for those in none."""
    for i in range(distance.shape[0]):
        q = 0
        while q < thresholds.shape[0] and not distance[i] <= thresholds[q]:
            q += 1
        first[place[i]] = q


@kernel
def _add(i: int, efforts: Efforts, size: Any, acting: Any, sums: Any) -> None:
    """Count person i in `size` (group) and `acting` (group), and the digits of their effort in `sums` (group, digit);
    nobody who is in no group."""
    g, digits, width = efforts.group[i], efforts.digits, efforts.digits.shape[1] - 1
    if g >= 0:
        size[g] += 1
        acting[g] += digits[i, width]
        for w in range(width):
            sums[g, w] += digits[i, w]


@maker
def _quantile(distance: Any, order: Any, ends: Any, slot: Any, quantile: float) -> float:
    """numpy's linear quantile, step for step, so that ties fall as they do there."""
    people = distance.shape[0]
    rank = quantile * (people - 1)
    low = int(np.floor(rank))
    high = min(low + 1, people - 1)
    share = rank - low
    below = _order_statistic(distance, order, ends, low, slot)
    above = _order_statistic(distance, order, ends, high, slot) if high != low else below
    gap = above - below
    if gap == 0.0:
        return above
    return below + gap * share if share < 0.5 else above - gap * (1.0 - share)


@maker
def _order_statistic(distance: Any, order: Any, ends: Any, rank: int, slot: Any) -> float:
    """The distance of the given rank: found in its bucket, which is sorted by selection of what it holds."""
    b = slot[order[rank]]
    begin = ends[b - 1] if b > 0 else 0
    inside = distance[order[begin : ends[b]]]
    inside.sort()
    return float(inside[rank - begin])


@maker
def _sweep_mixed(rows: Any, centres: Any, quantiles: Any, efforts: Efforts, found: Around, place: Any) -> None:
    """All centres with the mixed distance: `rows` are values, a row a feature, scales, which are categories, the power.

    `found.first`, unless it has no rows, gets the first neighbourhood that holds each person, who stands at `place`.
    """
    people, groups, width = efforts.group.shape[0], found.size.shape[2], efforts.digits.shape[1] - 1
    blocks = 64
    for block in numba.prange(blocks):
        distance = np.empty(people)
        room = _make_room(people, quantiles.shape[0], groups, width)
        for c in range(block * len(centres) // blocks, (block + 1) * len(centres) // blocks):
            _distances(rows, centres[c], distance)
            _one(distance, quantiles, efforts, room, found.size[c], found.acting[c])
            if found.first.shape[0]:
                _first(distance, room.thresholds, place, found.first[c])
            to_doubles(room.sums, efforts.lowest, found.cost[c])


@maker
def _sweep_given(distances: Any, quantiles: Any, efforts: Efforts, found: Around, place: Any) -> None:
    """The same for distances computed elsewhere, a row a centre."""
    centres, people = distances.shape
    groups, width = found.size.shape[2], efforts.digits.shape[1] - 1
    blocks = 16
    for block in numba.prange(blocks):
        room = _make_room(people, quantiles.shape[0], groups, width)
        for c in range(block * centres // blocks, (block + 1) * centres // blocks):
            _one(distances[c], quantiles, efforts, room, found.size[c], found.acting[c])
            if found.first.shape[0]:
                _first(distances[c], room.thresholds, place, found.first[c])
            to_doubles(room.sums, efforts.lowest, found.cost[c])


sweep_mixed = linked(_sweep_mixed, parallel=True, in_numpy=in_numpy.sweep_mixed, worth=8.0)
sweep_given = linked(_sweep_given, parallel=True, in_numpy=in_numpy.sweep_given, worth=8.0)
