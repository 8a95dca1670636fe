"""What the compiled sweeps answer, to the same bits, in numpy: with few people this takes less than compiling them.

Distances and thresholds are computed operation by operation as there, and sums of costs are sums of whole numbers, so
that only the way differs: everybody around a centre is sorted, and sums are read where a threshold falls.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equieffort.effort.neighbours.digits import DIGIT, to_doubles
from equieffort.effort.neighbours.entries import Around, Efforts

CENTRES = 64
"""Coefficients of so many centres are added before they are added to the total."""
CODED, PLAIN, TWO, RATIO, MOMENT = 2e-7, 2.5e-7, 4e-9, 2e-8, 4e-9
"""Seconds about, for each pair of a centre and a person in the sweeps, and for each number that the others add."""


def sweep_coded(
    codes: Any, exact: Any, people: Any, quantiles: Any, settings: Any, centres: Any, found: Around
) -> None:
    """As `coded_kernels.sweep_coded`, which has no need of codes here."""
    values, someone, scales, is_category = exact
    weight, digits, begin, lowest = people
    ranks, shares, n = quantiles
    size, acting, cost, first = found
    groups = size.shape[2]
    adds = np.zeros((len(weight), groups, 5), dtype=np.int64)
    for g in range(groups):
        refused, acts = slice(*begin[1 + g : 3 + g]), slice(*begin[1 + groups + g : 3 + groups + g])
        adds[refused, g, 4] = weight[refused]
        adds[acts, g, :4] = digits[acts.start - begin[1 + groups] : acts.stop - begin[1 + groups]]
    columns = np.ascontiguousarray(values[someone].T)
    for c, centre in enumerate(centres):
        distance = _distances(columns, scales, is_category, 1, centre)
        order = np.argsort(distance)
        limits = _thresholds(distance[order], np.cumsum(weight[order]), ranks, shares, n)
        sums = _up_to(limits, distance, order, adds, first[c] if len(first) else None)
        acting[c], size[c] = sums[:, :, 0], sums[:, :, 0] + sums[:, :, 4]
        for t, g in np.ndindex(*acting[c].shape):
            low, middle, high = sums[t, g, 1:4].tolist()
            cost[c, t, g] = _scaled(low + (middle << DIGIT) + (high << 2 * DIGIT), int(lowest))


def sweep_mixed(rows: Any, centres: Any, quantiles: Any, efforts: Efforts, found: Around, place: Any) -> None:
    """As `kernels.sweep_mixed`."""
    values, scales, is_category, power = rows
    for c, centre in enumerate(centres):
        _around(c, _distances(values, scales, is_category, power, centre), quantiles, efforts, found, place)


def sweep_given(distances: Any, quantiles: Any, efforts: Efforts, found: Around, place: Any) -> None:
    """As `kernels.sweep_given`."""
    for c, distance in enumerate(distances):
        _around(c, distance, quantiles, efforts, found, place)


def leave_out(first: Any, last: Any, coefficients: Any, begin: int, end: int, totals: Any) -> None:
    """As `leaving.leave_out`."""
    rows, quantiles, padded = coefficients.shape
    if not np.isfinite(coefficients).all():
        raise FloatingPointError
    none = coefficients.dtype.type(0)

    def only(c: int, k: int) -> Any:
        return np.where(first[c, begin:end] <= last[:, None], coefficients[:, :, k, None], none)

    for block in range(0, padded, CENTRES):
        sums = np.zeros((rows, quantiles, end - begin), dtype=coefficients.dtype)
        for c in range(block, min(block + CENTRES, padded), 2):
            sums += only(c, c) + only(min(c + 1, len(first) - 1), c + 1)
        totals[:rows, :, begin:end] += sums


def leave_out_ratio(
    first: Any, last: Any, own: Any, other: Any, count: Any, weight: Any, entry: Any, effort: Any, totals: Any
) -> None:
    """As `leaving.leave_out_ratio`."""
    for c in range(len(own)):
        many = count[c] > 1
        holds = (first[c, entry] <= last[:, None]) & many[:, None]
        left = (count[c] * other[c])[:, None] - effort
        after = np.where(left > 0, (own[c] * (count[c] - 1))[:, None] / left, 0.0)
        totals[holds] += (weight[c] * (after - (own[c] / other[c])[:, None]))[holds]


def add_moments(values: Any, start: Any, once: Any, products: Any, third: Any, fourth: Any, together: bool) -> None:
    """As `leaving.add_moments`: one after the other, which `cumsum` does and `sum` does not."""
    here = values - start[:, None]
    square = here * here

    def add(into: Any, parts: Any) -> None:
        into[:] = np.cumsum(np.concatenate([into[:, None], parts], axis=1), axis=1)[:, -1]

    add(once, here)
    add(third, square * here)
    add(fourth, square * square)
    if together:
        for i in range(len(here)):
            add(products[i], here[i] * here)
    else:
        diagonal = np.diagonal(products).copy()
        add(diagonal, square)
        np.fill_diagonal(products, diagonal)


def _distances(columns: Any, scales: Any, is_category: Any, power: int, centre: int) -> Any:
    """From one person to everybody."""
    total = np.zeros(columns.shape[1])
    for k, column in enumerate(columns):
        if is_category[k]:
            total += column != column[centre]
        else:
            part = np.abs(column[centre] - column) / scales[k]
            total += part if power == 1 else part * part
    return np.sqrt(total) if power == 2 else total


def _around(c: int, distance: Any, quantiles: Any, efforts: Efforts, found: Around, place: Any) -> None:
    """Centre c, a person an entry."""
    if not np.isfinite(distance).all():
        raise FloatingPointError
    group, digits, lowest = efforts
    size, acting, cost, first = found
    n, width = digits.shape[0], digits.shape[1]
    rank = quantiles * (n - 1)
    below = np.floor(rank)
    adds = np.zeros((n, size.shape[2], width + 1), dtype=np.int64)
    refused = np.flatnonzero(group >= 0)
    adds[refused, group[refused], :width] = digits[refused]
    adds[refused, group[refused], width] = 1
    order = np.argsort(distance)
    limits = _thresholds(distance[order], np.arange(1, n + 1), below.astype(np.int64), rank - below, n)
    slots = np.empty(n, dtype=first.dtype) if len(first) else None
    sums = _up_to(limits, distance, order, adds, slots)
    if slots is not None:
        first[c, place] = slots
    size[c], acting[c] = sums[:, :, width], sums[:, :, width - 1]
    to_doubles(np.ascontiguousarray(sums[:, :, : width - 1]), lowest, cost[c])


def _thresholds(ranked: Any, up_to: Any, ranks: Any, shares: Any, n: int) -> Any:
    """numpy's linear quantiles of sorted distances, of which so many people are at most that far."""
    under = ranked[np.searchsorted(up_to, ranks, side="right")]
    over = ranked[np.searchsorted(up_to, np.minimum(ranks + 1, n - 1), side="right")]
    gap = over - under
    between = np.where(shares < 0.5, under + gap * shares, over - gap * (1.0 - shares))
    return np.where(gap == 0.0, over, between)


def _up_to(limits: Any, distance: Any, order: Any, adds: Any, slots: Any) -> Any:
    """What everybody within each threshold adds; `slots` gets the first threshold that holds each."""
    inside = np.searchsorted(distance[order], limits, side="right")
    if slots is not None:
        slots[:] = len(limits)
        for t in range(len(limits) - 1, -1, -1):
            slots[distance <= limits[t]] = t
    flat = adds.reshape(len(adds), -1)
    sums = np.zeros((len(adds) + 1, flat.shape[1]), dtype=np.int64)
    np.cumsum(flat[order], axis=0, out=sums[1:])
    return sums[inside].reshape(len(limits), *adds.shape[1:])


def _scaled(whole: int, power: int) -> float:
    """whole * 2**power, rounded once, half to even."""
    try:
        return math.ldexp(float(whole), power)
    except OverflowError:
        return math.inf
