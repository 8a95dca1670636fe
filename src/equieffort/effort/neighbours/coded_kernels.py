"""The sweep in two or three nanoseconds a pair, exactly: short codes decide about nearly everybody.

A distance in single precision becomes a whole number, its code. Codes that differ by more than `reach` are in the order
of the exact distances (`coded.py` has the bound), so that only people within a code or so of a wanted rank need theirs.
Everybody then knows the first neighbourhood that holds them, and costs are added by that, as whole numbers.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numba
import numpy as np

from equieffort.effort.neighbours import in_numpy
from equieffort.effort.neighbours.coded_ranks import (
    Exact,
    Quantiles,
    look_up,
    make_ranked,
    regions,
    settle,
    sort,
    thresholds,
)
from equieffort.effort.neighbours.digits import to_double
from equieffort.effort.neighbours.entries import Around
from equieffort.foundations.jit import kernel, linked, maker

TILE = 4096
"""Entries that several centres look at while they are in the first-level cache."""


@kernel
def _distances(columns: Any, numbers: int, unit: Any, here: Any, begin: int, distance: Any) -> None:
    """Distances from a centre to some entries; the first `numbers` columns are scaled numbers, the rest levels."""
    size = distance.shape[0]
    none = unit - unit
    distance[:] = none
    for k in range(here.shape[0]):
        centre = here[k]
        column = columns[k, begin : begin + size]
        if k < numbers:
            for p in range(size):
                distance[p] += abs(column[p] - centre)
        else:
            for p in range(size):
                distance[p] += unit if column[p] != centre else none


@kernel
def _window(distance: Any) -> tuple[Any, Any]:
    """Where nearly all distances lie, judged by a sample; far ones are left out, lest they take all the codes."""
    low, high = np.float32(0.0), np.float32(np.inf)
    for _ in range(3):
        n, total, square = 0, 0.0, 0.0
        for value in distance:
            if low <= value <= high:
                n += 1
                total += float(value)
                square += float(value) * float(value)
        mean = total / max(n, 1)
        spread = 5 * math.sqrt(max(square / max(n, 1) - mean * mean, 0.0))
        low, high = np.float32(max(mean - spread, 0.0)), np.float32(mean + spread)
    least, most = np.float32(np.inf), np.float32(0.0)
    for value in distance:
        if low <= value <= high:
            least, most = min(least, value), max(most, value)
    margin = np.float32(0.04) * (most - least)
    return max(least - margin, np.float32(0.0)), most + margin


@kernel
def _code(distance: Any, begin: Any, step: Any, top: Any, out: Any) -> None:
    """Codes `out` (tile) of distances (tile): from 0 at `begin` on, `step` a unit, none above `top`."""
    none = top - top
    for p in range(distance.shape[0]):
        out[p] = np.uint16(np.int32(min(max((distance[p] - begin) * step, none), top)))


@kernel
def _count(code: Any, shift: int, weight: Any, counts: Any) -> None:
    """Add the weights (tile) of codes (tile) to `counts` (bucket); `shift` leads from a code to its bucket."""
    for p in range(code.shape[0]):
        counts[code[p] >> shift] += weight[p]


@kernel
def _add(first: Any, digits: Any, sums: Any) -> None:
    """Add what entries with an action count, `digits` (entry, 4), to `sums` (neighbourhood, 5) of the first
    neighbourhood that holds each, `first` (entry)."""
    for p in range(first.shape[0]):
        slot = first[p]
        sums[slot, 0] += digits[p, 0]
        sums[slot, 1] += digits[p, 1]
        sums[slot, 2] += digits[p, 2]
        sums[slot, 3] += digits[p, 3]


@kernel
def _add_counts(first: Any, weight: Any, sums: Any) -> None:
    """Add the weights (entry) of entries without an action to the last of `sums` (neighbourhood, 5)."""
    for p in range(first.shape[0]):
        sums[first[p], 4] += weight[p]


@kernel
def _read(sums: Any, lowest: int, size: Any, acting: Any, cost: Any) -> None:
    """From what each neighbourhood adds to what each holds."""
    groups, wanted = sums.shape[0], size.shape[0]
    for g in range(groups):
        for t in range(wanted):
            if t > 0:
                sums[g, t] += sums[g, t - 1]
            acting[t, g] = sums[g, t, 0]
            size[t, g] = sums[g, t, 0] + sums[g, t, 4]
            cost[t, g] = to_double(sums[g, t, 1], sums[g, t, 2], sums[g, t, 3], lowest)


class Codes(NamedTuple):
    """What codes are made from, in single precision."""

    columns: Any
    """(column, entry) numbers first."""
    numbers: int
    """How many columns are numbers."""
    unit: Any
    """What a level that differs counts."""
    sample: Any
    """(column, entry of the sample)"""


class People(NamedTuple):
    """What entries stand for, and add up to."""

    weight: Any
    """(entry) how many people."""
    digits: Any
    """(entry with an action, 4) how many people, and the digits of their costs."""
    begin: Any
    """(kind + 1) where each kind of entries begins."""
    lowest: int
    """The power of two of the first digit."""


class Settings(NamedTuple):
    """How the work is done."""

    levels: int
    """Of codes."""
    shift: int
    """From a code to its bucket."""
    share: int
    """Centres that share a tile."""
    parts: int
    """Of the work, side by side."""
    rounding: float
    """Of the numbers in `Codes.columns`."""


class Room(NamedTuple):
    """Room for centres that share tiles."""

    code: Any
    """(centre, entry)"""
    slots: Any
    """(centre, entry) the first neighbourhood, where nobody else keeps it."""
    counts: Any
    """(centre, bucket)"""
    here: Any
    """(centre, column)"""
    aim: Any
    """(centre, 2): where codes begin, and how many there are a unit."""
    reach: Any
    """(centre)"""
    near: Any
    """(tile) distances."""
    tried: Any
    """(entry of the sample)"""
    sums: Any
    """(centre, group, neighbourhood, 5)"""


@maker
def _make_room(share: int, entries: int, buckets: int, columns: int, sample: int, sums: tuple[int, int]) -> Room:
    """Room for `share` centres among so many entries; `sums`: how many groups and neighbourhoods."""
    return Room(
        np.empty((share, entries), dtype=np.uint16), np.empty((share, entries), dtype=np.uint8),
        np.empty((share, buckets), dtype=np.int32), np.empty((share, columns), dtype=np.float32),
        np.empty((share, 2), dtype=np.float32), np.empty(share, dtype=np.int64), np.empty(TILE, dtype=np.float32),
        np.empty(sample, dtype=np.float32), np.empty((share, sums[0], sums[1] + 1, 5), dtype=np.int64),
    )  # fmt: skip


@kernel
def _take_aim(codes: Codes, levels: int, rounding: float, entry: int, s: int, room: Room) -> None:
    """Where the codes of a centre begin and how far apart they lie, judged by the sample; and how far codes err."""
    columns, numbers, unit, sample = codes
    here, features = room.here[s], columns.shape[0]
    for k in range(features):
        here[k] = columns[k, entry]
    _distances(sample, numbers, unit, here, 0, room.tried)
    low, high = _window(room.tried)
    room.aim[s, 0] = low
    room.aim[s, 1] = np.float32(levels) / (high - low) if float(high - low) > 1e-30 else np.float32(0.0)
    size = 0.0
    for k in range(numbers):
        size += float(abs(here[k]))
    error = rounding * (2 * size + (features + 4) * float(high)) * float(room.aim[s, 1])
    error = 1.01 * error + 2.02 * 2.0**-24 * levels
    room.reach[s] = int(min(1 + 2 * error, float(levels)))


@kernel
def _encode(codes: Codes, weight: Any, top: Any, shift: int, some: int, room: Room) -> None:
    """Codes of everybody around some centres, tile by tile, and how many people fall into each bucket of them."""
    columns, numbers, unit, _ = codes
    entries = columns.shape[1]
    room.counts[:] = 0
    for begin in range(0, entries, TILE):
        end = min(begin + TILE, entries)
        near = room.near[: end - begin]
        for s in range(some):
            _distances(columns, numbers, unit, room.here[s], begin, near)
            _code(near, room.aim[s, 0], room.aim[s, 1], top, room.code[s, begin:end])
            _count(room.code[s, begin:end], shift, weight[begin:end], room.counts[s])


@kernel
def _sum_up(people: People, base: int, some: int, first: Any, room: Room) -> None:
    """How many people, and what digits of their costs, each neighbourhood adds around some centres, group by group."""
    weight, digits, begin, _ = people
    groups = room.sums.shape[1]
    room.sums[:] = 0
    for g in range(groups):
        low, high = begin[1 + g], begin[2 + g]
        for s in range(some):
            into = first[base + s] if first.shape[0] else room.slots[s]
            _add_counts(into[low:high], weight[low:high], room.sums[s, g])
        first_acting, last_acting = begin[1 + groups + g], begin[2 + groups + g]
        for low in range(first_acting, last_acting, TILE // 4):
            high = min(low + TILE // 4, last_acting)
            mine = digits[low - begin[1 + groups] : high - begin[1 + groups]]
            for s in range(some):
                into = first[base + s] if first.shape[0] else room.slots[s]
                _add(into[low:high], mine, room.sums[s, g])


@maker
def _sweep_coded(
    codes: Codes, exact: Exact, people: People, quantiles: Quantiles, settings: Settings, centres: Any, found: Around
) -> None:
    """All centres, which are entries. Unless empty, `found.first` gets the first neighbourhood of each entry."""
    weight, (levels, shift, share, parts, rounding) = people.weight, settings
    size, acting, cost, first = found
    entries, wanted, groups = weight.shape[0], quantiles.ranks.shape[0], size.shape[2]
    columns, sampled, top = codes.columns.shape[0], codes.sample.shape[1], np.float32(levels - 1)
    chunks = (centres.shape[0] + share - 1) // share
    for part in numba.prange(parts):
        room = _make_room(share, entries, levels >> shift, columns, sampled, (groups, wanted))
        ranked = make_ranked(entries, levels, wanted)
        for chunk in range(part * chunks // parts, (part + 1) * chunks // parts):
            base = chunk * share
            some = min(share, centres.shape[0] - base)
            for s in range(some):
                _take_aim(codes, levels, rounding, centres[base + s], s, room)
            _encode(codes, weight, top, shift, some, room)
            for s in range(some):
                code, reach = room.code[s], room.reach[s]
                stretches = regions(room.counts[s], shift, reach, quantiles, ranked)
                into = first[base + s] if first.shape[0] else room.slots[s]
                asked_for = look_up(code, into, ranked)
                sort(code, weight, asked_for, stretches, ranked)
                thresholds(
                    weight, exact, exact.values[exact.someone[centres[base + s]]], quantiles, reach, levels, ranked
                )
                settle(code, asked_for, into, ranked)
            _sum_up(people, base, some, first, room)
            for s in range(some):
                _read(room.sums[s], people.lowest, size[base + s], acting[base + s], cost[base + s])


sweep_coded = linked(_sweep_coded, parallel=True, in_numpy=in_numpy.sweep_coded, worth=8.0)
