"""The numbers that proofs lean on, in one place.

Problems are solved and judged in scaled units (`RecourseProblem.scaled`): there the spread of a feature is about 1 and
so is the least price of such a change. A tolerance therefore has two parts, a share of the spread and a share of the
value itself for the rounding of numbers that are large beside their spread (a year, a bank balance in cents).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

OUTWARDS = 1e-15
"""Of what is added: the end of an interval is moved out by so much, a few spacings of doubles, after each sum."""
CANCELLED = 1e-14
"""A sum that is smaller than this, relative to its parts, is their rounding: the parts cancel."""
SUMMED = 1e-13
"""Of the numbers in a longer sum: what rounding may add to it."""
ALIKE = 1e-12
"""Of a cost: two that are no further apart are the same, and a budget is that much larger than what it must allow."""
TOLERANCE = 1e-9
"""Of a feature's spread: how far a counterfactual may lie past an end, where a replay still believes it."""
ROUNDING = 2e-14
"""Of a value: what rounding may add to that, about a hundred times the spacing of doubles."""
PRUNING = 0.1
"""What a search forgives when it excludes or looks for points, as a part of what a replay forgives: so that whatever a
search believes survives the replay, and whatever a replay would believe is not excluded."""
STEPS = 16.0
"""How many times what a replay forgives an action may go past what its bound needs and still be proven: a search stays
a few of these inside the ends of what follows, and what follows may move less than what is set."""
STRICT = 2.0
"""Where "more than" begins, as a multiple of what a replay forgives: what it forgives must not turn "more" into "as
much"."""

REPLAYED = 1e-6
"""Of a cost: how far what a solver says may be from what a replay finds."""

ORDER = (
    float(np.finfo(float).eps) / 2, OUTWARDS, CANCELLED, ROUNDING, SUMMED, ALIKE, PRUNING * TOLERANCE, TOLERANCE,
    STRICT * TOLERANCE, STEPS * TOLERANCE, REPLAYED,
)  # fmt: skip
"""What a proof leans on: rounding of one number, of sums, of costs; then what a search forgives, what a replay does,
where "more than" begins, how far an action goes to be sure, and last what the replay of a cost asks."""
assert all(small < large for small, large in pairwise(ORDER)), "a tolerance is out of its place"

LARGEST = 1e100
"""Efforts from one over this to this: their squares, and sums of them, are numbers that doubles can hold."""


def tolerance(values: Any) -> Any:
    """How far rounding may carry such values past an end, in scaled units.

    >>> bool(tolerance(1.0) < 1.1e-9), bool(tolerance(1e9) < 1e-4)
    (True, True)
    """
    return TOLERANCE + ROUNDING * np.abs(values)


def is_closed(cost: Any, bound: Any, gap: float, rounding: Any = 0.0) -> Bools:
    """Whether a cost is proven: no further above its bound than a share `gap` of itself, or than rounding alone.

    A share, so that small costs are proven as well as large ones, and in any unit. `rounding` is what a change costs
    that is too small to be told from none.

    >>> bool(is_closed(1e-7, 0.0, 1e-6)), bool(is_closed(2e6, 2e6 - 1.0, 1e-6))
    (False, True)
    """
    # An equation that bends is bounded from both sides only in the limit, and nothing is told apart below this.
    return np.asarray(cost - bound <= np.maximum(max(gap, TOLERANCE) * np.asarray(cost), rounding))


def unit_of(values: Floats) -> float:
    """The power of two next to the spread of some values: dividing by it is exact.

    The spread is the middle half's, so that a few wild values do not matter; where that is one value, the middle nine
    tenths', the whole range, or at last the size.

    >>> unit_of(np.array([0.0, 1000.0, 2000.0, 999999.0])), unit_of(np.zeros(3))
    (262144.0, 1.0)
    """
    values = values[np.isfinite(values)]
    if len(values) == 0:
        return 1.0
    low, start, end, high = np.quantile(values, [0.05, 0.25, 0.75, 0.95])
    sizes = (end - start, high - low, np.ptp(values), np.abs(values).max())
    return power_of_two(next((float(size) for size in sizes if size > 0), 1.0))


def power_of_two(size: float) -> float:
    """The power of two next to a positive number.

    >>> power_of_two(1000.0), power_of_two(0.3)
    (1024.0, 0.25)
    """
    return float(2.0 ** np.rint(np.log2(size))) if 0 < size < np.inf else 1.0
