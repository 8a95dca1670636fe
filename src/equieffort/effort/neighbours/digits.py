"""From digits, which are exact, to a double, which is rounded once.

Costs are added as whole-number digits, so that sums do not depend on the order of the people.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from equieffort.foundations.jit import kernel

DIGIT = 40
"""Bits of a digit of a cost where there are three of them."""
MASK = (1 << DIGIT) - 1


@kernel
def to_double(low: int, middle: int, high: int, lowest: int) -> float:
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
def to_doubles(sums: Any, lowest: int, cost: Any) -> None:
    """From digits to a double: the digits are exact, so the result is the same however people were ordered.

    Digits are added in units of the highest that is not zero and scaled at last, so nothing overflows on the way.
    """
    quantiles, groups, width = sums.shape
    for q in range(quantiles):
        for g in range(groups):
            top = width - 1
            while top > 0 and sums[q, g, top] == 0:
                top -= 1
            value, unit = 0.0, 1.0
            for w in range(top, -1, -1):
                value += float(sums[q, g, w]) * unit
                unit /= 4294967296.0
            cost[q, g] = math.ldexp(value, lowest + 32 * top)
