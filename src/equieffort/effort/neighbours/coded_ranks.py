"""Around one centre: from everybody's code to the exact thresholds, and to the first neighbourhood that holds each.

Codes that differ by more than `reach` are in the order of the exact distances, which are only computed for people whose
codes are that near to the code of a wanted rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.foundations.jit import kernel

ASK = 255
"""In place of a neighbourhood: the code does not tell."""


@kernel
def regions(counts: Any, shift: int, reach: int, ranks: Any, people: int, table: Any, place: Any) -> int:
    """Where codes do not tell: around both ranks of each quantile. Returns how many separate stretches there are.

    `table` says of eight codes at a time which neighbourhood is the first that holds them. `place` gets, by quantile,
    the first code of the bucket of its rank, how many people are before it, and the end of the next rank's bucket; and
    by stretch its begin and end.
    """
    wanted, levels = ranks.shape[0], table.shape[0] * 8
    bucket, before, done, stretches = 0, 0, 0, 0
    for t in range(wanted):
        while before + counts[bucket] <= ranks[t]:
            before += counts[bucket]
            bucket += 1
        last, so_far = bucket, before
        while so_far + counts[last] <= min(ranks[t] + 1, people - 1):
            so_far += counts[last]
            last += 1
        place[t, 0], place[t, 1], place[t, 2] = bucket << shift, before, (last + 1) << shift
        begin = max(place[t, 0] - reach, 0) >> 3
        end = (min(place[t, 2] + reach, levels) + 7) >> 3
        if begin > done or stretches == 0:
            table[done:begin] = t
            place[stretches, 3] = begin * 8
            stretches += 1
        else:
            begin = done
        if end > begin:
            table[begin:end] = ASK
            done = end
        place[stretches - 1, 4] = done * 8
    table[done:] = wanted
    return stretches


@kernel
def look_up(code: Any, table: Any, first: Any, asked: Any) -> int:
    """The first neighbourhood of each entry as far as codes tell, and the entries of which they do not."""
    found = 0
    for p in range(code.shape[0]):
        slot = table[code[p] >> 3]
        first[p] = slot
        asked[found] = p
        found += slot == ASK
    return found


@kernel
def sort(
    code: Any, weight: Any, asked: Any, found: int, stretches: int, place: Any, ends: Any, below: Any, order: Any
) -> None:
    """Order those asked by code. Then `ends[c + 1]` is where code c ends and `below[c]` their weight below code c."""
    for s in range(stretches):
        ends[place[s, 3] : place[s, 4] + 1] = 0
        below[place[s, 3] : place[s, 4] + 1] = 0
    for j in range(found):
        c = int(code[asked[j]])
        ends[c + 1] += 1
        below[c + 1] += weight[asked[j]]
    at, heavy = 0, 0
    for s in range(stretches):
        ends[place[s, 3]] = at
        below[place[s, 3]] = heavy
        for c in range(place[s, 3] + 1, place[s, 4] + 1):
            # Where code c - 1 begins: it moves to its end below.
            here, at = at, at + ends[c]
            ends[c] = here
            heavy += below[c]
            below[c] = heavy
    for j in range(found):
        c = int(code[asked[j]])
        order[ends[c + 1]] = asked[j]
        ends[c + 1] += 1


@kernel
def _exact(rows: Any, scales: Any, is_category: Any, centre: Any, entry: int) -> float:
    """The distance as the library defines it, operation by operation."""
    total = 0.0
    for k in range(centre.shape[0]):
        if is_category[k]:
            if rows[entry, k] != centre[k]:
                total += 1.0
        else:
            total += abs(centre[k] - rows[entry, k]) / scales[k]
    return total


@kernel
def _rank(values: Any, weights: Any, count: int, before: int, rank: int) -> tuple[float, int]:
    """The value of a rank, and how many are at most that: quickselect in three parts, which ties cannot slow down."""
    low, high = 0, count
    while True:
        a, b, c = values[low], values[(low + high) // 2], values[high - 1]
        pivot = max(min(a, b), min(max(a, b), c))
        less, at, more = low, low, high
        under, equal = 0, 0
        while at < more:
            value, weight = values[at], weights[at]
            if value < pivot:
                values[at], weights[at] = values[less], weights[less]
                values[less], weights[less] = value, weight
                under += weight
                less += 1
                at += 1
            elif value > pivot:
                more -= 1
                values[at], weights[at] = values[more], weights[more]
                values[more], weights[more] = value, weight
            else:
                equal += weight
                at += 1
        if rank < before + under:
            high = less
        elif rank < before + under + equal:
            return pivot, before + under + equal
        else:
            before += under + equal
            low = more


@kernel
def _find(place: Any, t: int, below: Any, rank: int, begin: int) -> int:
    """The code of a rank, which is at or after `begin` and in the bucket of one of the quantile's ranks."""
    low, high = begin, place[t, 2] - 1
    start = place[t, 1] - below[place[t, 0]]
    while low < high:
        middle = (low + high) >> 1
        if start + below[middle + 1] > rank:
            high = middle
        else:
            low = middle + 1
    return low


@kernel
def thresholds(
    people: Any, exact: Any, centre: Any, quantiles: Any, reach: int, levels: int, place: Any, ends: Any, below: Any,
    order: Any, distance: Any, values: Any, weights: Any, limits: Any,
) -> None:  # fmt: skip
    """The exact threshold of each quantile; `place` gets the codes between which they do not tell."""
    ranks, shares, n = quantiles
    rows, scales, is_category = exact
    done = 0
    for t in range(ranks.shape[0]):
        low = _find(place, t, below, ranks[t], place[t, 0])
        high = _find(place, t, below, min(ranks[t] + 1, n - 1), low)
        begin, end = max(low - reach, 0), min(high + reach, levels - 1)
        place[t, 5], place[t, 6] = begin, end
        start, stop = ends[begin], ends[end + 1]
        for j in range(max(done, start), stop):
            distance[j] = _exact(rows, scales, is_category, centre, order[j])
        done = max(done, stop)
        for j in range(start, stop):
            values[j - start], weights[j - start] = distance[j], people[order[j]]
        before = place[t, 1] + below[begin] - below[place[t, 0]]
        under, inside = _rank(values, weights, stop - start, before, ranks[t])
        over = under
        if inside <= ranks[t] + 1 and ranks[t] + 1 < n:
            over = np.inf
            for j in range(start, stop):
                if distance[j] > under:
                    over = min(over, distance[j])
        gap = over - under
        if gap == 0.0:
            limits[t] = over
        elif shares[t] < 0.5:
            limits[t] = under + gap * shares[t]
        else:
            limits[t] = over - gap * (1.0 - shares[t])


@kernel
def settle(code: Any, order: Any, found: int, place: Any, distance: Any, limits: Any, first: Any) -> None:
    """The first neighbourhood of those of whom codes did not tell."""
    start, wanted = 0, limits.shape[0]
    for j in range(found):
        c = code[order[j]]
        while start < wanted and place[start, 6] < c:
            start += 1
        t = start
        while t < wanted and not (c < place[t, 5] or distance[j] <= limits[t]):
            t += 1
        first[order[j]] = t
