"""Around one centre: from everybody's code to the exact thresholds, and to the first neighbourhood that holds each.

Codes that differ by more than `reach` are in the order of the exact distances, which are only computed for people whose
codes are that near to the code of a wanted rank.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, maker

ASK = 255
"""In place of a neighbourhood: the code does not tell."""


class Exact(NamedTuple):
    """People as the exact distance sees them, who are looked up: so few are asked about that none are copied."""

    values: Any
    """(person, feature)"""
    someone: Any
    """(entry) a person of each."""
    scales: Any
    is_category: Any


class Quantiles(NamedTuple):
    """Which ranks are wanted, of how many people."""

    ranks: Any
    """(quantile)"""
    shares: Any
    """(quantile) how far from the rank to the next."""
    people: int


class Ranked(NamedTuple):
    """Room for the ranks around one centre."""

    table: Any
    """(codes / 8) the first neighbourhood that holds them, or that they do not tell."""
    place: Any
    """(quantile + 1, 7), see `regions` and `thresholds`."""
    asked: Any
    """(entry) of whom codes do not tell."""
    order: Any
    """(entry) the same by code."""
    ends: Any
    """(code)"""
    below: Any
    distance: Any
    """(entry) exact, as ordered."""
    values: Any
    """(entry) what the value of a rank is selected from."""
    weights: Any
    limits: Any
    """(quantile) the exact thresholds."""


@maker
def make_ranked(entries: int, levels: int, wanted: int) -> Ranked:
    """Room for so many entries, codes and quantiles."""
    return Ranked(
        np.empty(levels >> 3, dtype=np.uint8), np.empty((wanted + 1, 7), dtype=np.int64),
        np.empty(entries + 1, dtype=np.int32), np.empty(entries + 1, dtype=np.int32),
        np.empty(levels + 2, dtype=np.int32), np.empty(levels + 2, dtype=np.int32),
        np.empty(entries), np.empty(entries), np.empty(entries, dtype=np.int64), np.empty(wanted),
    )  # fmt: skip


@kernel
def regions(counts: Any, shift: int, reach: int, quantiles: Quantiles, room: Ranked) -> int:
    """Where codes do not tell: around both ranks of each quantile. Returns how many separate stretches there are.

    `table` says of eight codes at a time which neighbourhood is the first that holds them. `place` gets, by quantile,
    the first code of the bucket of its rank, how many people are before it, and the end of the next rank's bucket; and
    by stretch its begin and end.
    """
    ranks, _, people = quantiles
    table, place = room.table, room.place
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
def look_up(code: Any, first: Any, room: Ranked) -> int:
    """The first neighbourhood of each entry as far as codes tell, and the entries of which they do not."""
    table, asked = room.table, room.asked
    found = 0
    for p in range(code.shape[0]):
        slot = table[code[p] >> 3]
        first[p] = slot
        asked[found] = p
        found += slot == ASK
    return found


@kernel
def sort(code: Any, weight: Any, found: int, stretches: int, room: Ranked) -> None:
    """Order those asked by code. Then `ends[c + 1]` is where code c ends and `below[c]` their weight below code c."""
    asked, place, ends, below, order = room.asked, room.place, room.ends, room.below, room.order
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
def _exact(exact: Exact, centre: Any, entry: int) -> float:
    """The distance as the library defines it, operation by operation."""
    values, someone, scales, is_category = exact
    total, person = 0.0, someone[entry]
    for k in range(centre.shape[0]):
        if is_category[k]:
            if values[person, k] != centre[k]:
                total += 1.0
        else:
            total += abs(centre[k] - values[person, k]) / scales[k]
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
    weight: Any, exact: Exact, centre: Any, quantiles: Quantiles, reach: int, levels: int, room: Ranked
) -> None:
    """The exact threshold of each quantile, in `room.limits`; `room.place` gets the codes between which they do not
    tell."""
    ranks, shares, n = quantiles
    place, ends, below, order = room.place, room.ends, room.below, room.order
    distance, values, weights, limits = room.distance, room.values, room.weights, room.limits
    done = 0
    for t in range(ranks.shape[0]):
        low = _find(place, t, below, ranks[t], place[t, 0])
        high = _find(place, t, below, min(ranks[t] + 1, n - 1), low)
        begin, end = max(low - reach, 0), min(high + reach, levels - 1)
        place[t, 5], place[t, 6] = begin, end
        start, stop = ends[begin], ends[end + 1]
        for j in range(max(done, start), stop):
            distance[j] = _exact(exact, centre, order[j])
        done = max(done, stop)
        for j in range(start, stop):
            values[j - start], weights[j - start] = distance[j], weight[order[j]]
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
def settle(code: Any, found: int, first: Any, room: Ranked) -> None:
    """The first neighbourhood of those of whom codes did not tell."""
    order, place, distance, limits = room.order, room.place, room.distance, room.limits
    start, wanted = 0, limits.shape[0]
    for j in range(found):
        c = code[order[j]]
        while start < wanted and place[start, 6] < c:
            start += 1
        t = start
        while t < wanted and not (c < place[t, 5] or distance[j] <= limits[t]):
            t += 1
        first[order[j]] = t
