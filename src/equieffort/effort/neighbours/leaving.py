"""What each person adds to sums over centres, by quantile: the second pass of the jackknife.

A person adds a centre's coefficient at every quantile whose neighbourhood holds them. Sums over 64 centres are taken in
the coefficients' precision and added to double totals in the order of the centres, so that neither threads nor the
parts in which centres arrive show.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from equieffort.effort.neighbours import in_numpy
from equieffort.foundations.jit import kernel, linked, maker

CENTRES = 64
TILE = 512


@kernel
def _two(first: Any, second: Any, last: Any, one: Any, other: Any, into: Any) -> None:
    """Two centres at a time, which halves what is read and written; no branches, so that it becomes vector code."""
    none = one - one
    for p in range(into.shape[0]):
        into[p] += (one if first[p] <= last else none) + (other if second[p] <= last else none)


@maker
def _leave_out(first: Any, last: Any, coefficients: Any, begin: int, end: int, totals: Any) -> None:
    """Add to `totals` (rows, quantiles, entries) of the entries from `begin` to `end`.

    `first` (centres, entries) is the first neighbourhood that holds an entry, `last` the neighbourhood of each
    quantile, `coefficients` (rows, quantiles, centres), with an even number of centres of which the last may be nought.
    """
    rows, quantiles, padded = coefficients.shape
    centres = first.shape[0]
    for tile in numba.prange((end - begin + TILE - 1) // TILE):
        low = begin + tile * TILE
        high = min(low + TILE, end)
        sums = np.empty(high - low, dtype=coefficients.dtype)
        # Totals are far from the processor when there are many people: fetched once for all centres.
        here = totals[:rows, :, low:high].copy()
        for block in range(0, padded, CENTRES):
            for q in range(quantiles):
                for row in range(rows):
                    sums[:] = 0
                    for c in range(block, min(block + CENTRES, padded), 2):
                        other = min(c + 1, centres - 1)
                        _two(
                            first[c, low:high], first[other, low:high], last[q], coefficients[row, q, c],
                            coefficients[row, q, c + 1], sums,
                        )  # fmt: skip
                    _add_to(sums, here[row, q])
        totals[:rows, :, low:high] = here


@kernel
def _add_to(sums: Any, totals: Any) -> None:
    """Add `sums` (people) to `totals` (people), one by one."""
    for p in range(sums.shape[0]):
        totals[p] += sums[p]


@maker
def _leave_out_ratio(
    first: Any, last: Any, own: Any, other: Any, count: Any, weight: Any, entry: Any, effort: Any, totals: Any
) -> None:
    """What ratios of means change by without each person of the other group, added to `totals` (quantiles, people).

    `own`, `other` and `count` (how many the other mean rests on; 0 where nothing changes) are by centre and quantile. A
    ratio whose denominator vanishes is gone.
    """
    centres, quantiles = own.shape
    for k in numba.prange(entry.shape[0]):
        for c in range(centres):
            slot = first[c, entry[k]]
            for q in range(quantiles):
                if slot <= last[q] and count[c, q] > 1:
                    before = own[c, q] / other[c, q]
                    left = count[c, q] * other[c, q] - effort[k]
                    after = own[c, q] * (count[c, q] - 1) / left if left > 0 else 0.0
                    totals[q, k] += weight[c] * (after - before)


@maker
def _add_moments(values: Any, start: Any, once: Any, products: Any, third: Any, fourth: Any, together: bool) -> None:
    """Add sums over people (columns) of the rows less `start`, of products of two, of third and of fourth powers.

    Unless rows are looked at `together`, only their squares among the products.
    In the people's order, one after the other, so that they do not depend on how many come at a time.
    """
    rows, people = values.shape
    here = np.empty(rows)
    for k in range(people):
        for i in range(rows):
            here[i] = values[i, k] - start[i]
        for i in range(rows):
            square = here[i] * here[i]
            once[i] += here[i]
            third[i] += square * here[i]
            fourth[i] += square * square
            if together:
                for j in range(rows):
                    products[i, j] += here[i] * here[j]
            else:
                products[i, i] += square


leave_out = linked(_leave_out, parallel=True, in_numpy=in_numpy.leave_out, worth=1.5)
leave_out_ratio = linked(_leave_out_ratio, parallel=True, in_numpy=in_numpy.leave_out_ratio, worth=1.5)
add_moments = linked(_add_moments, in_numpy=in_numpy.add_moments, worth=0.5)
