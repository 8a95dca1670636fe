"""Quotients of causes as equations: loan to value, debt to income."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from equieffort.data.frames import Bools, Encoding, Floats, number
from equieffort.errors import Setting
from equieffort.foundations.arguments import items_in
from equieffort.world.scm.design import check_causes
from equieffort.world.scm.equations import EPS, MECHANISM, Additive, Affine, Mechanism, bad_equation, over_finite
from equieffort.world.scm.mechanisms import check_finite

Sum = str | Iterable[str] | Mapping[str, float]
"""A cause, several that are added, or a coefficient for each."""
MOST_SHARED = 8
"""Of so many causes every corner of a box is tried where some stand above and below the line."""


@dataclass(frozen=True)
class Ratio(Mechanism):
    """x = scale * numerator / denominator + noise; each side a cause, several that are added, or {cause: coefficient}.

    Where the denominator is 0 there is no value: no action leads there, and the recourse of whoever is there is
    unknown.

    >>> Ratio("loan", "price").equation("ltv")
    'ltv = loan / price'
    >>> Ratio(["rent", "instalments"], "income", scale=100).equation("dti")
    'dti = 100 * (rent + instalments) / income'
    """

    numerator: Sum
    denominator: Sum
    scale: float = 1.0

    def __post_init__(self) -> None:
        for name in ("numerator", "denominator"):
            object.__setattr__(self, name, _coefficients(name, getattr(self, name)))
        check_finite("scale", self.scale)
        if self.scale == 0:
            raise bad_equation("The scale of a ratio is 0, so that nothing follows.", fix="Give another number.")

    def bind(self, node: str, causes: Encoding) -> RatioEquation:
        """The equation over the encoded causes."""
        sides = []
        for given in (self.numerator, self.denominator):
            assert isinstance(given, Mapping)
            check_numeric(node, given, causes)
            sides.append(np.array([float(given.get(name, 0.0)) for name in causes.names]))
        return RatioEquation(causes, self.scale * sides[0], sides[1])

    def equation(self, node: str) -> str:
        """The equation in words."""
        scale = "" if self.scale == 1 else f"{number(self.scale)} * "
        return f"{node} = {scale}{_in_words(self.numerator)} / {_in_words(self.denominator)}"


def check_numeric(node: str, used: Iterable[str], causes: Encoding) -> None:
    """Refuse what the graph does not name among the causes, and categories."""
    used = list(used)
    check_causes(node, used, causes)
    for name in used:
        if causes[name].is_category:
            raise bad_equation(
                f"The equation of {node!r} computes with {name!r}, which is a category.",
                fix=("Compute with numbers; ", Setting("levels of a term"), "."),
            )


def _coefficients(side: str, given: Sum) -> dict[str, float]:
    if isinstance(given, str):
        given = [given]
    if not isinstance(given, Mapping):
        takes = "a cause, a list of causes, or a mapping from cause to coefficient"
        given = dict.fromkeys(items_in(side, given, takes, **MECHANISM), 1.0)
    for name, value in given.items():
        check_finite(f"The coefficient of {name!r}", value)
    found = {name: float(value) for name, value in given.items() if value != 0}
    if not found or not all(isinstance(name, str) for name in found):
        raise bad_equation(f"The {side} of a ratio names no cause.", fix='Name one, such as Ratio("loan", "price").')
    return found


def _in_words(side: Sum) -> str:
    assert isinstance(side, Mapping)
    parts = [name if value == 1 else f"{number(value)}*{name}" for name, value in side.items()]
    return parts[0] if len(parts) == 1 else f"({' + '.join(parts)})"


class RatioEquation(Additive):
    """N(x) / D(x) for linear N and D without constants.

    Over a box in which D keeps its sign the quotient of two linear functions has its extremes in corners. Planes come
    from the identity N/D = t + L - L (D - D0) / D with t = N0/D0 in the middle and L the linear part about it.
    """

    def __init__(self, causes: Encoding, above: Floats, below: Floats) -> None:
        super().__init__(causes, self._predict, "")
        self.above, self.below = above, below
        self._used = np.flatnonzero((above != 0) | (below != 0))
        self._rounding = EPS * (8 + 4 * len(self._used))

    def _predict(self, parents: Floats) -> Floats:
        bottom = _summed(self.below, parents)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = _summed(self.above, parents) / bottom
        return np.where(bottom == 0, np.nan, value)

    def is_defined(self, parents: Floats) -> Bools:
        """Whose denominator is not 0."""
        return np.asarray(np.isfinite(self._predict(parents)))

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        return over_finite(low, high, self._enclosed)

    def _enclosed(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
        nearest = self._nearest(low, high)
        clear = nearest > 0
        if clear.any():
            low, high, nearest = low[clear], high[clear], nearest[clear]
            bottom, top = self._extremes(low, high)
            margin = self._margin(low, high, nearest, np.maximum(np.abs(bottom), np.abs(top)))
            least[clear], most[clear] = bottom - margin, top + margin
        return least, most

    def _nearest(self, low: Floats, high: Floats) -> Floats:
        """How near the denominator comes to 0, rounding allowed for; 0 where it may be there."""
        start, end = _span(self.below, low, high)
        size = self._rounding * _summed(np.abs(self.below), np.maximum(np.abs(low), np.abs(high)))
        return np.maximum(np.maximum(start, -end) - size, 0.0)

    def _extremes(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        shared = ((self.above != 0) & (self.below != 0)).any()
        if shared and len(self._used) <= MOST_SHARED:
            corners = []
            for ends in product((False, True), repeat=len(self._used)):
                point = low.copy()
                point[:, self._used] = np.where(ends, high[:, self._used], low[:, self._used])
                corners.append(self._predict(point))
        else:
            corners = [a / b for a in _span(self.above, low, high) for b in _span(self.below, low, high)]
        return np.min(corners, axis=0), np.max(corners, axis=0)

    def _margin(self, low: Floats, high: Floats, nearest: Floats, size: Floats) -> Floats:
        """More than rounding of both sums and of the quotient can do."""
        far = np.maximum(np.abs(low), np.abs(high))
        sums = _summed(np.abs(self.above), far) + size * _summed(np.abs(self.below), far)
        return self._rounding * (2 * sums / nearest + size)

    def _planes(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        slope = np.zeros(low.shape)
        ends = np.full((2, len(low)), [[-np.inf], [np.inf]])
        clear = np.asarray((np.isfinite(low[:, self._used]) & np.isfinite(high[:, self._used])).all(axis=1))
        clear[clear] = self._nearest(low[clear], high[clear]) > 0
        if clear.any():
            slope[clear], ends[:, clear] = self._middle(low[clear], high[clear])
        return Affine(slope, ends[0]), Affine(slope, ends[1])

    def _middle(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """Slopes about the middle of each box, and the lower and the upper offset."""
        # Causes that play no part, such as categories, stay out of the sums.
        low, high = (np.where((self.above != 0) | (self.below != 0), end, 0.0) for end in (low, high))
        middle = 0.5 * (low + high)
        half = np.maximum(high - middle, middle - low)
        bottom = _summed(self.below, middle)
        value = _summed(self.above, middle) / bottom
        slope = (self.above - value[:, None] * self.below) / bottom[:, None]
        nearest = self._nearest(low, high)
        # What is left is -L (D - D0) / D: of one cause its sign is known, of two it is not.
        squares = -np.sign(bottom)[:, None] * slope * self.below * half**2
        most = (np.abs(slope) * half).sum(axis=1) * (np.abs(self.below) * half).sum(axis=1)
        mixed = np.maximum(most - np.abs(squares).sum(axis=1), 0.0) + 64 * EPS * most
        rest = [
            (np.minimum(squares, 0.0).sum(axis=1) - mixed) / nearest,
            (np.maximum(squares, 0.0).sum(axis=1) + mixed) / nearest,
        ]
        far = np.maximum(np.abs(low), np.abs(high))
        size = np.abs(value) + np.maximum(np.abs(rest[0]), np.abs(rest[1])) + (np.abs(slope) * far).sum(axis=1)
        margin = 4 * self._margin(low, high, nearest, size)
        offset = value - (slope * middle).sum(axis=1)
        return slope, np.stack([offset + rest[0] - margin, offset + rest[1] + margin])


def _summed(coefs: Floats, values: Floats) -> Floats:
    total = np.zeros(len(values))
    for k in np.flatnonzero(coefs).tolist():
        total = total + coefs[k] * values[:, k]
    return total


def _span(coefs: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The least and the most of a linear function over each box."""
    rises = coefs > 0
    return _summed(coefs, np.where(rises, low, high)), _summed(coefs, np.where(rises, high, low))
