"""The numbers that proofs lean on, in one place.

Problems are solved and judged in scaled units (`RecourseProblem.scaled`): there the spread of a feature is about 1 and
so is the least price of such a change. A tolerance therefore has two parts, a share of the spread and a share of the
value itself for the rounding of numbers that are large beside their spread (a year, a bank balance in cents).
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from equieffort.foundations.arrays import Bools, Floats

# -- rounding of numbers and sums -------------------------------------------------------------------------------------

OUTWARDS = 1e-15
"""Of what is added: the end of an interval is moved out by so much, a few spacings of doubles, after each sum."""
CANCELLED = 1e-14
"""A sum that is smaller than this, relative to its parts, is their rounding: the parts cancel."""
ROUNDING = 2e-14
"""Of a value: what rounding may add to that, about a hundred times the spacing of doubles."""
SUMMED = 1e-13
"""Of the numbers in a longer sum: what rounding may add to it."""
ALIKE = 1e-12
"""Of a cost: two that are no further apart are the same, and a budget is that much larger than what it must allow."""

# -- searches and their replay, in spreads of a feature and shares of a cost ------------------------------------------

TOLERANCE = 1e-9
"""Of a feature's spread: how far a counterfactual may lie past an end, where a replay still believes it; of a whole
number: how far from it a number is still taken for it; of a cost: how far above its bound it is proven."""
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
"""Of a cost or another sum: how far what is said of it may be from what a replay finds."""
NODE_SHARE = 1e-11
"""Of the best cost: a node that saves less is dropped, whatever gap is asked for; less than what counts as proven."""
FORGIVEN_UNIT = STEPS / 4 * TOLERANCE
"""Of a unit of the cheapest action: what rounding of the score may take of a bound without keeping its node open. It is
a quarter of what a replay forgives an action beyond its bound."""
NEGLIGIBLE = 1e-9
"""Of what an action costs: a change that costs less does not make it another way."""
SMALL_STEP = 1e-6
"""In spreads of a feature: what may be no more than a step over the boundary."""
NEXT_TO_NOTHING = 1e-12
"""What divides by a price, or by the size of a sum, takes nothing to be so much."""
BLURRED = 1e-6
"""Of the unit that prices share: a bound so little above a multiple of it may be that multiple, and is not carried up
to the next."""
WIDER = 1e-9
"""Of how far a quotient, or the range of what is summed, says that something goes: it is taken to go so much further,
so that rounding cuts nothing off."""
THIN = 1e-12
"""A box narrower than this, relative to its values, is too thin for floating point to decide."""

# -- scores, relative to the numbers that are summed into them --------------------------------------------------------

FINEST = 4e-16
"""The smallest step over the boundary that makes sense."""
FIRST_STEP = 1e-12
"""The first step over the boundary, where it is the solver's own arithmetic that decides how far that is."""
TIED = 1e-12
"""The width of a tie. Where these numbers are large beside what a feature can change, it is no wider than rounding
makes it (`ROUNDING`): caution must not bound a cost."""
UNSEEN = TOLERANCE / 10
"""Of what a spread of the weightiest feature gains: no first step, and no tie, need be longer, if it can be shorter; a
tenth of what rounding forgives that feature."""
DOUBLE = 1e-11
"""Rounding of the sums of doubles in a network; with much to spare."""
SCORED = 1e-9
"""Rounding of a model's own arithmetic, where nothing better is known: within it the model itself is asked."""
UNSIZED = 1e-6
"""Of a margin whose parts have no end, so that rounding cannot be told from them: what is taken for its rounding."""

# -- small programs in kernels, columns in units of their price and rows of size 1 ------------------------------------

PIVOT = 1e-12
"""Smaller entries are no pivots, and bounds of columns may be missed by as much."""

# -- programs for HiGHS, in the units in which it is given them -------------------------------------------------------

HIGHS = 1e-10
"""How far a linear program may miss a row, a bound or a price; of the size of prices, how far its bound may be off."""
SMALLEST = 1e-9
"""HiGHS takes smaller entries of the matrix for zero."""
CLAIMED = 1e-9
"""Of what a program claims to be the least or the most: so much less of it is believed."""
FEASIBLE = 1e-7
"""How far HiGHS may miss a row of a program with whole numbers; a row that is settled by these may be missed as far."""
INTEGRALITY = 1e-6
"""How far from a whole number HiGHS takes a number for one."""
LOOSENED = 1e-6
"""How far every row is moved out, in scaled units, before an empty program is believed: further than HiGHS may miss
one."""
AFFORDED = 1e-6
"""Of a budget, or of what a known answer costs: what costs no more than that above it stays in the program."""
PROGRAM_STEP = 1e-11
"""A step over the boundary, relative to the numbers summed into the score: more than the width of a tie, by which the
same program's bound is lowered."""
MOVED = 1e-11
"""Of the changes that a change is summed from: its rounding. What follows is held to its range as closely on paper, and
not only as closely as a replay holds it."""
ASIDE = 1e-9
"""How far from a threshold a value that follows must lie to be tried, relative to its size."""
BESIDE = 1e-6
"""How far past the outermost threshold, relative to its size, an action may still do something; rounding of what it
adds up to is far less."""

# -- saved audits, followed again from their own numbers --------------------------------------------------------------

SAVED = STEPS * TOLERANCE
"""Of a feature's spread: how far a saved value may lie past an end: as far as an action may go and still be proven."""
SAVED_ROUNDING = 1e-12
"""Of a saved value: what rounding may add to that; more than in the replay before it was saved."""
RECOUNTED = 1e-10
"""Of the sizes that were added up: how far two ways to add may lie apart."""

# -- their order ------------------------------------------------------------------------------------------------------

ORDER = (
    float(np.finfo(float).eps) / 2, OUTWARDS, CANCELLED, ROUNDING, SUMMED, ALIKE, PRUNING * TOLERANCE, TOLERANCE,
    STRICT * TOLERANCE, STEPS * TOLERANCE, REPLAYED,
)  # fmt: skip
"""What a proof leans on: rounding of one number, of sums, of costs; then what a search forgives, what a replay does,
where "more than" begins, how far an action goes to be sure, and last what the replay of a cost asks."""
ORDERS = {
    "proofs": ORDER,
    "what a search forgives of costs": (ALIKE, NODE_SHARE, TOLERANCE, FORGIVEN_UNIT, STEPS * TOLERANCE),
    "steps over the boundary, and ties": (FINEST, ROUNDING, TIED, UNSEEN, SMALL_STEP),
    "rounding of scores": (SUMMED, TIED, DOUBLE, SCORED, UNSIZED),
    "steps of programs": (TIED, PROGRAM_STEP, ASIDE, BESIDE),
    "small programs": (SUMMED, PIVOT, PRUNING * TOLERANCE),
    "what HiGHS may miss": (SUMMED, HIGHS, FEASIBLE, LOOSENED),
    "what is taken off and added": (HIGHS, CLAIMED, AFFORDED),
    "what follows, on paper and replayed": (SUMMED, MOVED, PRUNING * TOLERANCE),
    "replays of saved values": (ROUNDING, SAVED_ROUNDING, RECOUNTED, TOLERANCE, SAVED, REPLAYED),
}
"""Each from the smallest to the largest: what the later ones are to be told from, the earlier ones must not reach."""
for _of, _order in ORDERS.items():
    assert all(small < large for small, large in pairwise(_order)), f"a tolerance is out of its place: {_of}"

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
