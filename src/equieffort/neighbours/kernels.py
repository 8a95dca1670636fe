"""For every centre and quantile: how many unfavourably decided people of each group are near, and what their efforts
add up to. Compiled; distances are never held for more than one centre at a time.

Order statistics come from buckets: distances are counted into equal intervals, and only the buckets in which a wanted
rank falls are sorted. Costs are added as whole-number digits, so sums do not depend on the order of the people.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

BUCKETS = 2048


@numba.njit(cache=True, inline="always")
def _distances(values: Any, scales: Any, is_category: Any, power: int, centre: int, out: Any) -> None:
    """The paper's mixed distance from one person to everybody."""
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


@numba.njit(cache=True)
def _one(
    distance: Any, quantiles: Any, group: Any, digits: Any, slot: Any, start: Any, order: Any, size: Any, acting: Any,
    count: Any, total: Any,
) -> None:  # fmt: skip
    """One centre: thresholds by bucket, then counts and digit sums up to each threshold.

    `group` is the group of an unfavourably decided person and -1 for the others; `digits` are zero for people without
    an action, who are told by digits[i, -1] == 1 otherwise.
    """
    people, width = distance.shape[0], digits.shape[1] - 1
    top = 0.0
    for i in range(people):
        top = max(top, distance[i])
    scale = BUCKETS / top if top > 0.0 else 0.0
    start[:] = 0
    for i in range(people):
        b = min(int(distance[i] * scale), BUCKETS - 1)
        slot[i] = b
        start[b + 1] += 1
    for b in range(BUCKETS):
        start[b + 1] += start[b]
    for i in range(people):
        b = slot[i]
        order[start[b]] = i
        start[b] += 1
    # start[b] is now the end of bucket b.
    groups = size.shape[1]
    for g in range(groups):
        count[g, 0] = 0
        count[g, 1] = 0
        for w in range(width):
            total[g, w] = 0
    done = 0
    last = 0
    for q in range(quantiles.shape[0]):
        rank = quantiles[q] * (people - 1)
        low = int(np.floor(rank))
        high = min(low + 1, people - 1)
        share = rank - low
        below = _order_statistic(distance, order, start, low, slot)
        above = _order_statistic(distance, order, start, high, slot) if high != low else below
        # numpy's interpolation, step for step, so that ties fall as they do there.
        gap = above - below
        threshold = below + gap * share if share < 0.5 else above - gap * (1.0 - share)
        if gap == 0.0:
            threshold = above
        edge = min(int(threshold * scale), BUCKETS - 1)
        # Whole buckets below the edge are inside; quantiles rise, so what was added stays.
        while last < edge:
            for p in range(done, start[last]):
                _add(order[p], group, digits, width, count, total)
            done = start[last]
            last += 1
        for g in range(groups):
            size[q, g] = count[g, 0]
            acting[q, g] = count[g, 1]
        for p in range(done, start[edge]):
            i = order[p]
            if group[i] >= 0 and distance[i] <= threshold:
                size[q, group[i]] += 1
                acting[q, group[i]] += digits[i, width]
        _sum_edge(q, threshold, distance, order, done, start[edge], group, digits, width, total)


@numba.njit(cache=True, inline="always")
def _add(i: int, group: Any, digits: Any, width: int, count: Any, total: Any) -> None:
    g = group[i]
    if g >= 0:
        count[g, 0] += 1
        count[g, 1] += digits[i, width]
        for w in range(width):
            total[g, w] += digits[i, w]


@numba.njit(cache=True)
def _sum_edge(
    q: int, threshold: float, distance: Any, order: Any, begin: int, end: int, group: Any, digits: Any, width: int,
    total: Any,
) -> None:  # fmt: skip
    """Digit sums at this quantile go to rows after the running ones: total[groups * (1 + q) + g]."""
    groups = total.shape[0] // (1 + MOST)
    for g in range(groups):
        for w in range(width):
            total[groups * (1 + q) + g, w] = total[g, w]
    for p in range(begin, end):
        i = order[p]
        if group[i] >= 0 and distance[i] <= threshold:
            for w in range(width):
                total[groups * (1 + q) + group[i], w] += digits[i, w]


MOST = 64


@numba.njit(cache=True)
def _order_statistic(distance: Any, order: Any, ends: Any, rank: int, slot: Any) -> float:
    """The distance of the given rank: found in its bucket, which is sorted by selection of what it holds."""
    b = slot[order[rank]]
    begin = ends[b - 1] if b > 0 else 0
    inside = distance[order[begin : ends[b]]]
    inside.sort()
    return float(inside[rank - begin])


@numba.njit(cache=True, parallel=True)
def sweep_mixed(
    values: Any, scales: Any, is_category: Any, power: int, centres: Any, quantiles: Any, group: Any, digits: Any,
    unit: float, size: Any, acting: Any, cost: Any,
) -> None:  # fmt: skip
    """All centres with the mixed distance; `cost` is the sum of costs by centre, quantile and group."""
    people, groups, width = values.shape[1], size.shape[2], digits.shape[1] - 1
    blocks = 64
    for block in numba.prange(blocks):
        distance = np.empty(people)
        slot = np.empty(people, dtype=np.int32)
        start = np.empty(BUCKETS + 1, dtype=np.int64)
        order = np.empty(people, dtype=np.int64)
        count = np.empty((groups, 2), dtype=np.int64)
        total = np.zeros((groups * (1 + MOST), width), dtype=np.int64)
        for c in range(block * len(centres) // blocks, (block + 1) * len(centres) // blocks):
            _distances(values, scales, is_category, power, centres[c], distance)
            _one(distance, quantiles, group, digits, slot, start, order, size[c], acting[c], count, total)
            _round(total, groups, quantiles.shape[0], unit, cost[c])


@numba.njit(cache=True, parallel=True)
def sweep_given(
    distances: Any, quantiles: Any, group: Any, digits: Any, unit: float, size: Any, acting: Any, cost: Any
) -> None:
    """The same for distances computed elsewhere, a row a centre."""
    centres, people = distances.shape
    groups, width = size.shape[2], digits.shape[1] - 1
    blocks = 16
    for block in numba.prange(blocks):
        slot = np.empty(people, dtype=np.int32)
        start = np.empty(BUCKETS + 1, dtype=np.int64)
        order = np.empty(people, dtype=np.int64)
        count = np.empty((groups, 2), dtype=np.int64)
        total = np.zeros((groups * (1 + MOST), width), dtype=np.int64)
        for c in range(block * centres // blocks, (block + 1) * centres // blocks):
            _one(distances[c], quantiles, group, digits, slot, start, order, size[c], acting[c], count, total)
            _round(total, groups, quantiles.shape[0], unit, cost[c])


@numba.njit(cache=True, inline="always")
def _round(total: Any, groups: int, quantiles: int, unit: float, cost: Any) -> None:
    """From digits to a double: the digits are exact, so the result is the same however people were ordered."""
    width = total.shape[1]
    for q in range(quantiles):
        for g in range(groups):
            value = 0.0
            for w in range(width - 1, -1, -1):
                value = value * 4294967296.0 + float(total[groups * (1 + q) + g, w])
            cost[q, g] = value * unit
