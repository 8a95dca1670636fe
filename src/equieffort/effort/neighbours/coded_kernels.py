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

from equieffort.effort.neighbours.coded_ranks import look_up, regions, settle, sort, thresholds
from equieffort.foundations.jit import kernel, linked, maker

TILE = 4096
"""Entries that several centres look at while they are in the first-level cache."""
DIGIT = 40
"""Bits of a digit of a cost."""
MASK = (1 << DIGIT) - 1


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
    none = top - top
    for p in range(distance.shape[0]):
        out[p] = np.uint16(np.int32(min(max((distance[p] - begin) * step, none), top)))


@kernel
def _count(code: Any, shift: int, weight: Any, counts: Any) -> None:
    for p in range(code.shape[0]):
        counts[code[p] >> shift] += weight[p]


@kernel
def _round(low: int, middle: int, high: int, lowest: int) -> float:
    """The sum of three digits, none negative, times 2**lowest: rounded once, half to even.

    The highest 64 bits are kept, or one less, and the last of them is set if anything below is.
    """
    middle += low >> DIGIT
    low &= MASK
    high += middle >> DIGIT
    middle &= MASK
    if high > 0:
        up = 64 - math.frexp(float(high))[1]
        if up <= DIGIT:
            kept = (np.uint64(high) << np.uint64(up)) | np.uint64(middle >> (DIGIT - up))
            rest = (middle & ((1 << (DIGIT - up)) - 1)) | low
        else:
            kept = (
                (np.uint64(high) << np.uint64(up))
                | np.uint64(middle << (up - DIGIT))
                | np.uint64(low >> (2 * DIGIT - up))
            )
            rest = low & ((1 << (2 * DIGIT - up)) - 1)
        lowest += 2 * DIGIT - up
    elif middle >> (64 - DIGIT):
        up = 64 - math.frexp(float(middle))[1]
        kept = (np.uint64(middle) << np.uint64(up)) | np.uint64(low >> (DIGIT - up))
        rest = low & ((1 << (DIGIT - up)) - 1)
        lowest += DIGIT - up
    else:
        kept = (np.uint64(middle) << np.uint64(DIGIT)) | np.uint64(low)
        rest = 0
    if rest:
        kept |= np.uint64(1)
    return math.ldexp(float(kept), lowest)


@kernel
def _add(first: Any, digits: Any, sums: Any) -> None:
    for p in range(first.shape[0]):
        slot = first[p]
        sums[slot, 0] += digits[p, 0]
        sums[slot, 1] += digits[p, 1]
        sums[slot, 2] += digits[p, 2]
        sums[slot, 3] += digits[p, 3]


@kernel
def _add_counts(first: Any, weight: Any, sums: Any) -> None:
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
            cost[t, g] = _round(sums[g, t, 1], sums[g, t, 2], sums[g, t, 3], lowest)


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
    return Room(
        np.empty((share, entries), dtype=np.uint16), np.empty((share, entries), dtype=np.uint8),
        np.empty((share, buckets), dtype=np.int32), np.empty((share, columns), dtype=np.float32),
        np.empty((share, 2), dtype=np.float32), np.empty(share, dtype=np.int64), np.empty(TILE, dtype=np.float32),
        np.empty(sample, dtype=np.float32), np.empty((share, sums[0], sums[1] + 1, 5), dtype=np.int64),
    )  # fmt: skip


@kernel
def _take_aim(codes: Any, levels: int, rounding: float, entry: int, s: int, room: Room) -> None:
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
def _encode(codes: Any, weight: Any, top: Any, shift: int, some: int, room: Room) -> None:
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
def _sum_up(people: Any, base: int, some: int, first: Any, room: Room) -> None:
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
    codes: Any, exact: Any, people: Any, quantiles: Any, settings: Any, centres: Any, found: Any, first: Any
) -> None:
    """All centres, which are entries. `first` gets the first neighbourhood of each entry, unless it has no rows.

    `codes`: columns in single precision, a row a column; how many are numbers; what a level that differs counts; the
    same of a sample of entries. `exact`: rows in double precision, scales, which are categories. `people`: weights and
    digits of the entries, where kinds begin, the digits' lowest power of two. `quantiles`: rank, share and number of
    people. `settings`: levels of codes, shift to buckets, centres that share a tile, parts of the work, and the
    rounding of a code in `codes`.
    """
    rows, weight, lowest, ranks, n = exact[0], people[0], people[3], quantiles[0], quantiles[2]
    levels, shift, share, parts, rounding = settings
    size, acting, cost = found
    entries, wanted, groups = weight.shape[0], ranks.shape[0], size.shape[2]
    columns, sampled, top = codes[0].shape[0], codes[3].shape[1], np.float32(levels - 1)
    chunks = (centres.shape[0] + share - 1) // share
    for part in numba.prange(parts):
        room = _make_room(share, entries, levels >> shift, columns, sampled, (groups, wanted))
        table = np.empty(levels >> 3, dtype=np.uint8)
        place = np.empty((wanted + 1, 7), dtype=np.int64)
        asked, order = np.empty(entries + 1, dtype=np.int32), np.empty(entries + 1, dtype=np.int32)
        ends, below = np.empty(levels + 2, dtype=np.int32), np.empty(levels + 2, dtype=np.int32)
        distance, values = np.empty(entries), np.empty(entries)
        weights, limits = np.empty(entries, dtype=np.int64), np.empty(wanted)
        for chunk in range(part * chunks // parts, (part + 1) * chunks // parts):
            base = chunk * share
            some = min(share, centres.shape[0] - base)
            for s in range(some):
                _take_aim(codes, levels, rounding, centres[base + s], s, room)
            _encode(codes, weight, top, shift, some, room)
            for s in range(some):
                code, reach = room.code[s], room.reach[s]
                stretches = regions(room.counts[s], shift, reach, ranks, n, table, place)
                into = first[base + s] if first.shape[0] else room.slots[s]
                asked_for = look_up(code, table, into, asked)
                sort(code, weight, asked, asked_for, stretches, place, ends, below, order)
                thresholds(
                    weight, exact, rows[centres[base + s]], quantiles, reach, levels, place, ends, below, order,
                    distance, values, weights, limits,
                )  # fmt: skip
                settle(code, order, asked_for, place, distance, limits, into)
            _sum_up(people, base, some, first, room)
            for s in range(some):
                _read(room.sums[s], lowest, size[base + s], acting[base + s], cost[base + s])


sweep_coded = linked(_sweep_coded, parallel=True)
