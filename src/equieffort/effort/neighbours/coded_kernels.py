"""The sweep in two or three nanoseconds a pair, exactly: short codes decide about nearly everybody.

A distance in single precision becomes a whole number, its code. Codes that differ by more than `reach` are in the order
of the exact distances (`coded.py` has the bound), so that only people within a code or so of a wanted rank need theirs.
Everybody then knows the first neighbourhood that holds them, and costs are added by that, as whole numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from equieffort.effort.neighbours.coded_ranks import look_up, regions, settle, sort, thresholds
from equieffort.foundations.jit import njit

TILE = 4096
"""Entries that several centres look at while they are in the first-level cache."""
DIGIT = 40
"""Bits of a digit of a cost."""
MASK = (1 << DIGIT) - 1


@njit()
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


@njit()
def _window(distance: Any) -> tuple[Any, Any]:
    """Where nearly all distances lie, judged by a sample; far ones are left out, lest they take all the codes."""
    low, high = np.float32(0.0), np.float32(np.inf)
    for _ in range(3):
        n, total, square = 0, 0.0, 0.0
        for value in distance:
            if low <= value <= high:
                n += 1
                total += value
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


@njit()
def _code(distance: Any, begin: Any, step: Any, top: Any, out: Any) -> None:
    none = top - top
    for p in range(distance.shape[0]):
        out[p] = np.uint16(np.int32(min(max((distance[p] - begin) * step, none), top)))


@njit()
def _count(code: Any, shift: int, weight: Any, counts: Any) -> None:
    for p in range(code.shape[0]):
        counts[code[p] >> shift] += weight[p]


@njit()
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


@njit()
def _add(first: Any, digits: Any, sums: Any) -> None:
    for p in range(first.shape[0]):
        slot = first[p]
        sums[slot, 0] += digits[p, 0]
        sums[slot, 1] += digits[p, 1]
        sums[slot, 2] += digits[p, 2]
        sums[slot, 3] += digits[p, 3]


@njit()
def _add_counts(first: Any, weight: Any, sums: Any) -> None:
    for p in range(first.shape[0]):
        sums[first[p], 4] += weight[p]


@njit()
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


@njit(parallel=True)
def sweep_coded(
    codes: Any, exact: Any, people: Any, quantiles: Any, settings: Any, centres: Any, found: Any, first: Any
) -> None:
    """All centres, which are entries. `first` gets the first neighbourhood of each entry, unless it has no rows.

    `codes`: columns in single precision, a row a column; how many are numbers; what a level that differs counts; the
    same of a sample of entries. `exact`: rows in double precision, scales, which are categories. `people`: weights and
    digits of the entries, where kinds begin, the digits' lowest power of two. `quantiles`: rank, share and number of
    people. `settings`: levels of codes, shift to buckets, centres that share a tile, parts of the work, and the
    rounding of a code in `codes`.
    """
    columns, numbers, unit, sample = codes
    rows = exact[0]
    weight, digits, begin, lowest = people
    ranks, n = quantiles[0], quantiles[2]
    levels, shift, share, parts, rounding = settings
    size, acting, cost = found
    entries, wanted, groups = weight.shape[0], ranks.shape[0], size.shape[2]
    features = columns.shape[0]
    top = np.float32(levels - 1)
    chunks = (centres.shape[0] + share - 1) // share
    for part in numba.prange(parts):
        code = np.empty((share, entries), dtype=np.uint16)
        slots = np.empty((share, entries), dtype=np.uint8)
        counts = np.empty((share, levels >> shift), dtype=np.int32)
        table = np.empty(levels >> 3, dtype=np.uint8)
        place = np.empty((wanted + 1, 7), dtype=np.int64)
        asked, order = np.empty(entries + 1, dtype=np.int32), np.empty(entries + 1, dtype=np.int32)
        ends, below = np.empty(levels + 2, dtype=np.int32), np.empty(levels + 2, dtype=np.int32)
        distance, values = np.empty(entries), np.empty(entries)
        weights, limits = np.empty(entries, dtype=np.int64), np.empty(wanted)
        sums = np.empty((share, groups, wanted + 1, 5), dtype=np.int64)
        near, tried = np.empty(TILE, dtype=np.float32), np.empty(sample.shape[1], dtype=np.float32)
        here = np.empty((share, features), dtype=np.float32)
        start, step = np.empty(share, dtype=np.float32), np.empty(share, dtype=np.float32)
        reach = np.empty(share, dtype=np.int64)
        for chunk in range(part * chunks // parts, (part + 1) * chunks // parts):
            base = chunk * share
            some = min(share, centres.shape[0] - base)
            for s in range(some):
                here[s] = columns[:, centres[base + s]]
                _distances(sample, numbers, unit, here[s], 0, tried)
                low, high = _window(tried)
                start[s] = low
                step[s] = np.float32(levels) / (high - low) if high - low > 1e-30 else np.float32(0.0)
                size_here = 0.0
                for k in range(numbers):
                    size_here += abs(here[s, k])
                error = rounding * (2 * size_here + (features + 4) * float(high)) * float(step[s])
                error = 1.01 * error + 2.02 * 2.0**-24 * levels
                reach[s] = int(min(1 + 2 * error, float(levels)))
            counts[:] = 0
            for low_entry in range(0, entries, TILE):
                high_entry = min(low_entry + TILE, entries)
                for s in range(some):
                    _distances(columns, numbers, unit, here[s], low_entry, near[: high_entry - low_entry])
                    _code(near[: high_entry - low_entry], start[s], step[s], top, code[s, low_entry:high_entry])
                    _count(code[s, low_entry:high_entry], shift, weight[low_entry:high_entry], counts[s])
            for s in range(some):
                stretches = regions(counts[s], shift, reach[s], ranks, n, table, place)
                into = first[base + s] if first.shape[0] else slots[s]
                asked_for = look_up(code[s], table, into, asked)
                sort(code[s], weight, asked, asked_for, stretches, place, ends, below, order)
                thresholds(
                    weight, exact, rows[centres[base + s]], quantiles, reach[s], levels, place, ends, below, order,
                    distance, values, weights, limits,
                )  # fmt: skip
                settle(code[s], order, asked_for, place, distance, limits, into)
            sums[:] = 0
            for g in range(groups):
                for s in range(some):
                    into = first[base + s] if first.shape[0] else slots[s]
                    _add_counts(into[begin[1 + g] : begin[2 + g]], weight[begin[1 + g] : begin[2 + g]], sums[s, g])
                first_acting, last_acting = begin[1 + groups + g], begin[2 + groups + g]
                for low_entry in range(first_acting, last_acting, TILE // 4):
                    high_entry = min(low_entry + TILE // 4, last_acting)
                    mine = digits[low_entry - begin[1 + groups] : high_entry - begin[1 + groups]]
                    for s in range(some):
                        into = first[base + s] if first.shape[0] else slots[s]
                        _add(into[low_entry:high_entry], mine, sums[s, g])
            for s in range(some):
                _read(sums[s], lowest, size[base + s], acting[base + s], cost[base + s])
