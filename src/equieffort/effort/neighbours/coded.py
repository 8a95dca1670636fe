"""Coded: neighbourhood sums by short codes of the distances, for the built-in distance that sums over features.

Why codes may decide. Let u be the rounding of single precision and e bound the error of a code before it is cut to a
whole number. A code was cut from less than itself plus 1 and from no less than itself, so that of two people whose
codes differ by more than 1 + 2 e the one with the smaller code is nearer. Clamping keeps this: it only raises the
smallest codes to 0 and lowers the largest to the last. Within the window, whose end is h, a distance over K features
around a centre with codes c has an error of at most u (2 sum |c| + (K + 4) h): both values were rounded, then their
difference, then the partial sums. Beyond the window the error grows more slowly than the distance, so that nobody falls
back into it. Two more roundings make the code. `reach` is the whole part of 1 + 2 e: people whose codes are further
than that from the code of a rank are before or after it, and the exact distances of the others give it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numba
import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.effort.neighbours import in_numpy
from equieffort.effort.neighbours.coded_kernels import Codes, People, Settings, sweep_coded
from equieffort.effort.neighbours.coded_ranks import Exact, Quantiles
from equieffort.effort.neighbours.digits import DIGIT, MASK
from equieffort.effort.neighbours.entries import Around, Entries, empty_around, equal_rows_together, kinds
from equieffort.world.distances import BoundDistance, MixedDistance

PAIRS = 2**26
"""Centres times entries in one compiled call, between which Ctrl-C is heard."""
MOST_PEOPLE = 2**23
MOST_THRESHOLDS = 126
SPAN = 66
"""Binary orders of magnitude that costs may span."""
SMALL = 1e-290
ROUNDING = 2.0**-24
ALL_WHOLE = 2.0**24
"""Whole numbers below this are told apart in single precision."""
SAMPLE = 256


@dataclass(frozen=True, eq=False)
class Coded:
    """People with equal rows are one entry, so that ties cost nothing."""

    distance: MixedDistance
    quantiles: Floats
    entries: Entries
    columns: npt.NDArray[np.float32]
    numbers: int
    unit: np.float32
    digits: npt.NDArray[np.int64]
    lowest: int
    rounding: float = ROUNDING
    """Of the values in `columns`."""

    @classmethod
    def of(
        cls, distance: BoundDistance, quantiles: Floats, group: npt.NDArray[np.int64], cost: Floats, groups: int
    ) -> Coded | None:
        """Arrange the people; None if this distance, these costs or so many quantiles are beyond codes."""
        known = cost[(group >= 0) & ~np.isnan(cost)]
        if (
            not isinstance(distance, MixedDistance)
            or distance.power != 1
            or len(quantiles) > MOST_THRESHOLDS
            or not 0 < len(group) <= MOST_PEOPLE
            or not _narrow(known)
        ):
            return None
        entries = equal_rows_together(distance.values, kinds(group, cost, groups), groups)
        packed = columns_of(distance, entries)
        if packed is None:
            return None
        digits, lowest = digits_of(cost, entries)
        return cls(distance, quantiles, entries, *packed, digits, lowest)

    def around(self, centres: npt.NDArray[np.intp], *, first: bool) -> Around:
        """Sums around the given people."""
        found = empty_around(len(centres), len(self.quantiles), self.entries, first=first)
        size = len(self.entries)
        n = int(self.entries.weight.sum())
        rank = self.quantiles * (n - 1)
        below = np.floor(rank)
        which = np.linspace(0, size - 1, min(size, SAMPLE)).astype(np.intp)
        codes = Codes(self.columns, self.numbers, self.unit, np.ascontiguousarray(self.columns[:, which]))
        exact = Exact(
            np.ascontiguousarray(self.distance.values),
            self.entries.someone,
            self.distance.scales,
            self.distance.is_category,
        )
        people = People(self.entries.weight.astype(np.int32), self.digits, self.entries.begin, self.lowest)
        quantiles = Quantiles(below.astype(np.int64), rank - below, n)
        levels, shift, share = sizes(size)
        block = max(64, PAIRS // size // 64 * 64)
        for begin in range(0, len(centres), block):
            part = slice(begin, min(begin + block, len(centres)))
            settings = Settings(levels, shift, share, numba.get_num_threads(), self.rounding)
            into = found.of(part)
            some = self.entries.of[centres[part]]
            work = in_numpy.CODED * size * len(some)
            sweep_coded(codes, exact, people, quantiles, settings, some, into, work=work)
        return found


def sizes(entries: int) -> tuple[int, int, int]:
    """Levels of codes, shift from codes to buckets, and centres that share a tile: found by trying."""
    levels = min(max(1 << (2 * entries).bit_length(), 4096), 65536)
    buckets = 1024 if entries >= 50_000 else 512 if entries >= 5_000 else 256
    # Of a million entries eight codes each are 16 MB a thread, and hardly sooner than four.
    share = 1 if entries <= 20_000 else 8 if 200_000 < entries < 500_000 else 4
    return levels, (levels // buckets).bit_length() - 1, share


def columns_of(distance: MixedDistance, entries: Entries) -> tuple[npt.NDArray[np.float32], int, np.float32] | None:
    """Values about their median in units of the largest, numbers first; how many are; what another level counts."""
    values, someone, is_category = distance.values, entries.someone, distance.is_category
    numbers, levels = np.flatnonzero(~is_category), np.flatnonzero(is_category)
    columns = np.empty((len(is_category), len(entries)), dtype=np.float32)
    middle, most = _middle(values, someone), 0.0

    def scaled(k: np.intp) -> Floats:
        # Column by column, since a second table of everybody would be the largest thing in memory.
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            return np.asarray((values[someone, k] - middle[k]) / distance.scales[k])

    for k in numbers:
        most = max(most, float(np.abs(scaled(k)).max(initial=0.0)))
    unit = max(most, 1.0) if is_category.any() else most if most > 0 else 1.0
    if not (unit > SMALL and most * (1 + len(is_category)) < 1 / SMALL):
        # Distances in double precision would be infinite, or lose bits near zero.
        return None
    for row, k in zip(columns, numbers, strict=False):
        row[:] = scaled(k) / unit
    for row, k in zip(columns[len(numbers) :], levels, strict=True):
        row[:] = _told_apart(values[someone, k])
    return columns, len(numbers), np.float32(1 / unit)


def _told_apart(levels: Floats) -> Floats:
    """Numbers for levels, which single precision tells apart: as a rule the levels' own."""
    if len(levels) and np.abs(levels).max() < ALL_WHOLE and (levels == np.rint(levels)).all():
        return levels
    return np.unique(levels, return_inverse=True)[1].astype(np.float64)


def _middle(values: Floats, someone: npt.NDArray[np.intp]) -> Floats:
    """About the median of each column, of some rows if there are many: where codes are finest."""
    some = values[someone[:: 1 + len(someone) // 10_000]]
    return np.median(some, axis=0) if some.shape[1] else np.zeros(0)


def _narrow(cost: Floats) -> bool:
    """Whether three digits hold any sum of these costs."""
    if (cost < 0).any():
        return False
    exponents = np.frexp(cost[cost > 0])[1]
    return len(exponents) == 0 or int(exponents.max()) - int(exponents.min()) <= SPAN


def digits_of(cost: Floats, entries: Entries) -> tuple[npt.NDArray[np.int64], int]:
    """Of each entry with an action: how many people, and their costs as digits of 40 bits; the lowest power of two."""
    start = int(entries.begin[1 + entries.groups])
    digits = np.zeros((len(entries) - start, 4), dtype=np.int64)
    has = entries.of >= start
    mantissa, exponent = np.frexp(np.where(has, cost, 0.0))
    whole = (mantissa * 2.0**53).astype(np.int64)
    used = whole != 0
    lowest = int((exponent[used] - 53).min()) if used.any() else 0
    shift = np.where(used, exponent - 53 - lowest, 0).astype(np.int64)
    # 53 bits, moved by up to 39 within their digit, reach over three digits.
    place, rest = shift // DIGIT, shift % DIGIT
    low = (whole & ((np.int64(1) << (DIGIT - rest)) - 1)) << rest
    high = whole >> (DIGIT - rest)
    where = entries.of - start
    for offset, part in ((0, low), (1, high & MASK), (2, high >> DIGIT)):
        keep = has & (part != 0)
        np.add.at(digits, (where[keep], 1 + (place + offset)[keep]), part[keep])
    np.add.at(digits, (where[has], np.zeros(int(has.sum()), dtype=np.intp)), 1)
    return digits, lowest
