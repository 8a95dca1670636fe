"""Statistics that add: sums of costs held exactly, so that merging does not depend on how the work was split.

A double is a whole number times a power of two, so sums of doubles can be held as whole numbers without rounding, and
rounded once when they are read.

>>> exact_sum(np.array([1e16, 1.0, -1e16])).value
1.0
>>> (exact_sum(np.array([0.1])) + exact_sum(np.array([0.2, 0.3]))).value
0.6
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, reduce
from math import frexp, nan, sqrt
from operator import add

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.errors import ParameterError
from equieffort.foundations.tolerances import is_closed
from equieffort.recourse.solvers import Status

LIMB = 32
AT_ONCE = 65_536
"""Values of which digits are in memory at once."""


@dataclass(frozen=True)
class ExactSum:
    """units * 2**exponent, exactly."""

    units: int = 0
    exponent: int = 0

    def __add__(self, other: ExactSum) -> ExactSum:
        if self.units == 0 or other.units == 0:
            return other if self.units == 0 else self
        exponent = min(self.exponent, other.exponent)
        units = (self.units << (self.exponent - exponent)) + (other.units << (other.exponent - exponent))
        return ExactSum(units, exponent)

    @classmethod
    def of(cls, value: float) -> ExactSum:
        """A finite double as it is."""
        mantissa, exponent = frexp(value)
        return cls(int(mantissa * 2.0**53), exponent - 53) if value else cls()

    def __mul__(self, times: int) -> ExactSum:
        return ExactSum(self.units * times, self.exponent)

    @property
    def fraction(self) -> Fraction:
        """The sum as a fraction."""
        return self.units * Fraction(2) ** self.exponent

    def over(self, n: int) -> float:
        """The sum divided by n, rounded once."""
        if self.exponent >= 0:
            return (self.units << self.exponent) / n
        return self.units / (n << -self.exponent)

    @property
    def value(self) -> float:
        """The sum, rounded once."""
        return self.over(1)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ExactSum):
            return NotImplemented
        difference = self + ExactSum(-other.units, other.exponent)
        return difference.units == 0

    def __hash__(self) -> int:
        return hash(self.value)


def limbs(values: Floats) -> tuple[npt.NDArray[np.int64], int]:
    """Doubles as rows of 32-bit digits in int64, with the exponent of the lowest: digits add up without rounding.

    Up to 2**30 rows can be added before a digit overflows.
    """
    mantissa, exponent = np.frexp(values)
    whole = (mantissa * 2.0**53).astype(np.int64)
    used = whole != 0
    lowest = int((exponent[used] - 53).min()) if used.any() else 0
    shift = np.where(used, exponent - 53 - lowest, 0)
    count = int(shift.max(initial=0)) // LIMB + 3
    digits = np.zeros((len(values), count), dtype=np.int64)
    sign, size = np.sign(whole), np.abs(whole).astype(np.uint64)
    place, rest = shift // LIMB, (shift % LIMB).astype(np.uint64)
    mask = np.uint64(2**LIMB - 1)
    low = (size & mask) << rest
    high = (size >> np.uint64(LIMB)) << rest
    rows = np.arange(len(values))
    for offset, part in ((0, low & mask), (1, (low >> np.uint64(LIMB)) + (high & mask)), (2, high >> np.uint64(LIMB))):
        digits[rows, place + offset] += sign * part.astype(np.int64)
    return digits, lowest


def exact_sum(values: Floats) -> ExactSum:
    """The sum of finite doubles without rounding."""
    some = (_exact_sum(values[start : start + AT_ONCE]) for start in range(0, len(values), AT_ONCE))
    return reduce(add, some, ExactSum())


def _exact_sum(values: Floats) -> ExactSum:
    digits, lowest = limbs(values)
    units = reduce(lambda total, digit: (total << LIMB) + int(digit), digits.sum(axis=0)[::-1].tolist(), 0)
    return ExactSum(units, lowest) if units else ExactSum()


NO_SPREAD = 1e-13
"""A variance of this share of the squared mean is rounding: squares are rounded to doubles before they are added."""


@dataclass(frozen=True)
class Sums:
    """Count, sum, sum of squares, least and largest of some values: all that a mean and its interval need.

    Each square is rounded to a double first.
    """

    n: int = 0
    total: ExactSum = field(default_factory=ExactSum)
    square: ExactSum = field(default_factory=ExactSum)
    least: float = np.inf
    most: float = -np.inf

    @classmethod
    def of(cls, values: Floats, rounded: bool = False) -> Sums:
        """Add up finite values; `rounded` sums are quicker, and depend on how people are split."""
        if rounded:
            sums = ExactSum.of(float(values.sum())), ExactSum.of(float(values @ values))
        else:
            sums = exact_sum(values), exact_sum(values * values)
        return cls(len(values), *sums, float(values.min(initial=np.inf)), float(values.max(initial=-np.inf)))

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.n + other.n,
            self.total + other.total,
            self.square + other.square,
            min(self.least, other.least),
            max(self.most, other.most),
        )

    def with_more(self, n: int, value: float) -> Sums:
        """The same with n more people, each at one finite value."""
        if n == 0:
            return self
        return self + Sums(n, ExactSum.of(value) * n, ExactSum.of(value * value) * n, value, value)

    @property
    def mean(self) -> float:
        """The mean; NaN of nobody."""
        return self.total.over(self.n) if self.n else nan

    @cached_property
    def variance(self) -> float:
        """The variance with divisor n - 1; NaN below two people."""
        if self.n < 2:
            return nan
        if self.least == self.most:
            return 0.0
        total = self.total.fraction
        squares = self.square.fraction - total * total / self.n
        found = float(squares / (self.n - 1)) if squares > 0 else 0.0
        return found if found > NO_SPREAD * self.mean**2 else 0.0

    @property
    def sd(self) -> float:
        """The standard deviation."""
        return sqrt(self.variance)


@dataclass(frozen=True)
class EffortStats:
    """What a set of people adds up to: counts, and exact sums over those with an action and over all refused.

    The refused without an action, and those of whom nothing is known, count at the budget where everybody counts;
    without a budget nothing is capped, and those sums are empty.
    """

    n: int = 0
    counts: tuple[int, ...] = (0,) * len(Status)
    costs: Sums = field(default_factory=Sums)
    """Of those with an action."""
    bounds: Sums = field(default_factory=Sums)
    """The least that their cheapest action can cost."""
    capped: Sums = field(default_factory=Sums)
    """Of all refused, nobody above the budget."""
    capped_bounds: Sums = field(default_factory=Sums)
    least_unknown: float = np.inf
    """The least bound among the people whose recourse is unknown."""
    most_unknown: float = -np.inf
    """The most that an action of any of them can cost."""
    budget: float | None = None

    @classmethod
    def of(
        cls,
        status: npt.NDArray[np.int8],
        cost: Floats,
        bound: Floats,
        ceiling: Floats | None = None,
        budget: float | None = None,
        rounded: bool = False,
    ) -> EffortStats:
        """Add up a set of people; `ceiling` is the most that an action can cost, without limit by default."""
        acting = (status == Status.OPTIMAL) | (status == Status.FEASIBLE)
        unknown = status == Status.UNKNOWN
        costs = cost[acting]
        bounds = certain_bounds(costs, bound[acting])
        sums = Sums.of(costs, rounded)
        most = np.inf if ceiling is None else float(ceiling[unknown].max(initial=-np.inf))
        found = cls(
            len(status),
            tuple(np.bincount(status, minlength=len(Status)).tolist()),
            sums,
            sums if np.array_equal(costs, bounds) else Sums.of(bounds),
            least_unknown=float(bound[unknown].min(initial=np.inf)),
            most_unknown=most if unknown.any() else -np.inf,
        )
        return found.capped_at(budget, costs, np.concatenate([bounds, bound[unknown]]), rounded)

    def capped_at(self, budget: float | None, costs: Floats, bounds: Floats, rounded: bool = False) -> EffortStats:
        """The same people with nobody above a budget, given in any order what their actions cost (`costs`), and the
        least that an action can cost of whoever has one or may have one (`bounds`)."""
        if budget is None:
            return replace(self, capped=Sums(), capped_bounds=Sums(), budget=None)
        stuck = self.count(Status.INFEASIBLE)
        capped = Sums.of(np.minimum(costs, budget), rounded).with_more(stuck + self.n_unknown, budget)
        least = capped if self.is_settled else Sums.of(np.minimum(bounds, budget)).with_more(stuck, budget)
        return replace(self, capped=capped, capped_bounds=least, budget=budget)

    def __add__(self, other: EffortStats) -> EffortStats:
        if self.n and other.n and self.budget != other.budget:
            raise ParameterError(
                "PARAMETER",
                f"Efforts capped at {self.budget} and at {other.budget} do not add up.",
                fix="Fix one budget before anything is summed: Criteria(budget=...).",
            )
        return EffortStats(
            self.n + other.n,
            tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            self.costs + other.costs,
            self.bounds + other.bounds,
            self.capped + other.capped,
            self.capped_bounds + other.capped_bounds,
            min(self.least_unknown, other.least_unknown),
            max(self.most_unknown, other.most_unknown),
            # Nobody has no say in it, and takes it from nobody.
            self.budget if self.n or (self.budget is not None and not other.n) else other.budget,
        )

    def count(self, status: Status) -> int:
        """How many people have a status."""
        return self.counts[status]

    @property
    def n_unfavourable(self) -> int:
        """How many were decided unfavourably."""
        return self.n - self.count(Status.NOT_NEEDED)

    @property
    def n_acting(self) -> int:
        """How many have an action."""
        return self.count(Status.OPTIMAL) + self.count(Status.FEASIBLE)

    @property
    def n_unknown(self) -> int:
        """For how many nothing is known."""
        return self.count(Status.UNKNOWN)

    @property
    def is_settled(self) -> bool:
        """Whether nobody's effort or recourse is open."""
        return self.n_unknown == 0 and self.costs == self.bounds

    @property
    def phi(self) -> float:
        """Average minimal effort: the mean cost of those with an action; NaN if there is none."""
        return self.costs.mean

    @property
    def rho(self) -> float:
        """Ratio of possible recourse: the share of the unfavourably decided who have an action."""
        return self.n_acting / self.n_unfavourable if self.n_unfavourable else float("nan")

    @property
    def phi_certified(self) -> tuple[float, float]:
        """Where the average minimal effort certainly lies, given what is unknown."""
        f, u = self.n_acting, self.n_unknown
        if f == 0:
            return (self.least_unknown, self.most_unknown) if u else (float("nan"), float("nan"))
        low, high = self.bounds.mean, self.phi
        if u:
            low = min(low, (self.bounds.total.value + u * self.least_unknown) / (f + u))
            high = max(high, (self.costs.total.value + u * self.most_unknown) / (f + u))
        return low, high

    @property
    def rho_certified(self) -> tuple[float, float]:
        """Where the ratio of possible recourse certainly lies."""
        n = self.n_unfavourable
        if n == 0:
            return float("nan"), float("nan")
        return self.n_acting / n, (self.n_acting + self.n_unknown) / n


def certain_bounds(costs: Floats, bounds: Floats) -> Floats:
    """The least that actions can cost: a gap of rounding's size is none."""
    # A step over an open boundary costs nothing in the limit, and its effort is given as such.
    return np.minimum(np.where(is_closed(costs, bounds, 0.0), costs, bounds), costs)
