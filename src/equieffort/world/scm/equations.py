"""Equations attached to their encoded causes: what people follow, and how far it can go over a box of causes.

A box is a lower and an upper value for each cause, a row a box. For a categorical cause both are codes: the same
code, or the ends of a range of codes. `bounds` encloses f over the box, rounding included; `affine_bounds` gives a
plane below and a plane above f over the box.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Column, Encoding, Floats
from equieffort.errors import CausalModelError, ParameterError

EPS = float(np.finfo(np.float64).eps)
Predict = Callable[[Floats], Floats]
"""Encoded causes, a row a person -> f(causes)."""
MECHANISM: dict[str, Any] = {"error": CausalModelError, "code": "SCM_MECHANISM"}
"""How the checks of arguments refuse what an equation cannot be made of."""
bad_equation = partial(CausalModelError, "SCM_MECHANISM")
"""The error about an equation that cannot be used."""


@dataclass(frozen=True, eq=False)
class Affine:
    """A plane a box: slope . causes + offset; codes of categories have slope 0."""

    slope: Floats
    offset: Floats

    def __call__(self, parents: Floats) -> Floats:
        """The planes' heights, one point a box."""
        return np.asarray((self.slope * parents).sum(axis=1) + self.offset, dtype=np.float64)


class Equation(ABC):
    """How a node follows its causes and its noise, with the noise recoverable from the values."""

    causes: Encoding

    @abstractmethod
    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """The noise of people with these values and causes."""

    @abstractmethod
    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """The values that follow from noise and causes."""

    @abstractmethod
    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """The values after the causes went from `before` to `after`, the noise staying the person's own."""

    @abstractmethod
    def in_units(self, units: Floats, unit: float) -> Equation:
        """The same equation over causes and of values that are multiples of units, which are powers of two."""

    @property
    @abstractmethod
    def why_unbounded(self) -> str:
        """Why the values over a box of causes cannot be enclosed; empty if they can."""

    @property
    def is_bounded(self) -> bool:
        """Whether the values over a box can be enclosed, so that answers through them can be certified."""
        return not self.why_unbounded


class Additive(Equation):
    """x = f(causes) + noise; call it for f."""

    def __init__(self, causes: Encoding, f: Predict, reason: str = "its equation gives no bounds") -> None:
        self.causes, self._f, self._reason = causes, f, reason

    def __call__(self, parents: Floats) -> Floats:
        """f(causes), a row a person."""
        return self._f(parents)

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """x - f(causes)."""
        return values - self(parents)

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """f(causes) + noise."""
        return noise + self(parents)

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """x + f(causes') - f(causes)."""
        return values + (self(after) - self(before))

    def in_units(self, units: Floats, unit: float) -> Additive:
        """The same equation over causes and of values that are multiples of units."""
        return InUnits(self, units, unit)

    def is_defined(self, parents: Floats) -> Bools:
        """For whom f has a value: where a denominator is 0 there is none."""
        return np.ones(len(parents), dtype=bool)

    def jumps(self) -> dict[int, Floats]:
        """By cause: where f jumps, as the last values before it does; a search splits there."""
        return {}

    @property
    def why_unbounded(self) -> str:
        """Why f cannot be enclosed; empty if it can."""
        return self._reason

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the most that f can be over each box, rounded outwards; infinite where not known."""
        low, high = self._box(low, high)
        if not self.is_bounded:
            return np.full(len(low), -np.inf), np.full(len(low), np.inf)
        return over_levels(self.causes, low, high, self._range)

    def affine_bounds(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        """A plane below and a plane above f, valid over each box."""
        low, high = self._box(low, high)
        if not self.is_bounded:
            flat, far = np.zeros(low.shape), np.full(len(low), np.inf)
            return Affine(flat, -far), Affine(flat, far)
        return self._planes(low, high)

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The enclosure over boxes in which every category has one level."""
        raise NotImplementedError

    def _planes(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        least, most = over_levels(self.causes, low, high, self._range)
        return Affine(np.zeros(low.shape), least), Affine(np.zeros(low.shape), most)

    def _box(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        low, high = np.atleast_2d(np.asarray(low, dtype=np.float64)), np.atleast_2d(np.asarray(high, dtype=np.float64))
        if low.shape != high.shape or low.shape[1] != len(self.causes.columns) or not (low <= high).all():
            raise ParameterError(
                "PARAMETER",
                f"A box needs a lower and a higher value for each of the {len(self.causes.columns)} causes.",
                fix="Give two arrays, a row a box and a column a cause, with low <= high.",
            )
        return low, high


class Wrapped(Additive):
    """Another equation, asked in its own units: powers of two, so that nothing is rounded."""

    def __init__(self, causes: Encoding, own: Additive, units: Floats, unit: float, reason: str) -> None:
        super().__init__(causes, self._predict, reason)
        self._own, self._units, self._unit = own, units, unit

    def _predict(self, parents: Floats) -> Floats:
        return self._own(parents * self._units) / self._unit

    def is_defined(self, parents: Floats) -> Bools:
        """As the equation itself says."""
        return self._own.is_defined(parents * self._units)

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self._own.abduct(values * self._unit, parents * self._units) / self._unit

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self._own.predict(noise * self._unit, parents * self._units) / self._unit

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """As the equation itself does."""
        moved = self._own.counterfactual(values * self._unit, before * self._units, after * self._units)
        return moved / self._unit


class InUnits(Wrapped):
    """Another equation over causes and of values that are multiples of units, bounds included."""

    def __init__(self, own: Additive, units: Floats, unit: float) -> None:
        super().__init__(own.causes.in_units(units), own, units, unit, "")

    @property
    def why_unbounded(self) -> str:
        """Why it cannot be enclosed; empty if it can."""
        return self._own.why_unbounded

    def bounds(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the most over each box."""
        least, most = self._own.bounds(low * self._units, high * self._units)
        return least / self._unit, most / self._unit

    def affine_bounds(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        """A plane below and a plane above."""
        below, above = self._own.affine_bounds(low * self._units, high * self._units)
        return tuple(Affine(p.slope * (self._units / self._unit), p.offset / self._unit) for p in (below, above))  # type: ignore[return-value]

    def jumps(self) -> dict[int, Floats]:
        """Where it jumps."""
        return {k: at / self._units[k] for k, at in self._own.jumps().items()}


class Discrete(Equation):
    """A node with a few levels in rising order: each person has the level that their own noise picks.

    The values are encoded: codes of a category, or the numbers themselves.
    """

    ladder: Floats
    """The encoded levels in rising order."""

    def in_units(self, units: Floats, unit: float) -> Discrete:
        """The same equation over causes and of levels that are multiples of units."""
        return WrappedLevels(self.causes.in_units(units), self, units, unit, self.why_unbounded)

    @abstractmethod
    def expected(self, parents: Floats) -> Floats:
        """The mean rank (0, 1, ...) of people with these causes."""

    @abstractmethod
    def reach(self, noise: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The lowest and the highest encoded level that people with this noise can have over a box each."""


class WrappedLevels(Discrete):
    """Another equation of levels, asked in its own units; noise has none."""

    def __init__(self, causes: Encoding, own: Discrete, units: Floats, unit: float, reason: str) -> None:
        self.causes, self.ladder = causes, own.ladder / unit
        self._own, self._units, self._unit, self._reason = own, units, unit, reason

    @property
    def why_unbounded(self) -> str:
        """Why it cannot be enclosed; empty if it can. What is only asked says where it ends, and nobody believes it."""
        return self._reason

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self._own.abduct(values * self._unit, parents * self._units)

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self._own.predict(noise, parents * self._units) / self._unit

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """As the equation itself does."""
        moved = self._own.counterfactual(values * self._unit, before * self._units, after * self._units)
        return moved / self._unit

    def expected(self, parents: Floats) -> Floats:
        """As the equation itself does."""
        return self._own.expected(parents * self._units)

    def reach(self, noise: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """As the equation itself does."""
        least, most = self._own.reach(noise, low * self._units, high * self._units)
        return least / self._unit, most / self._unit


class Mechanism(ABC):
    """An equation whose noise can be abducted: x = f(causes) + noise."""

    @abstractmethod
    def bind(self, node: str, causes: Encoding) -> Additive | Predict:
        """The equation over the encoded causes; refuses causes it does not know.

        A plain function of the causes will do, but then nothing that goes through it can be certified.
        """

    @abstractmethod
    def equation(self, node: str) -> str:
        """The equation in words."""


class Learner(ABC):
    """Learns a `Mechanism` from data."""

    @abstractmethod
    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Mechanism:
        """Fit the node's values to its encoded causes."""


class DiscreteMechanism(ABC):
    """An equation of a node with a few levels in an order, whose noise can be abducted."""

    @abstractmethod
    def bind(self, node: str, causes: Encoding, column: Column) -> Discrete:
        """The equation over the encoded causes, for a node held in this column."""

    @abstractmethod
    def equation(self, node: str) -> str:
        """The equation in words."""


class DiscreteLearner(ABC):
    """Learns a `DiscreteMechanism` from data."""

    @abstractmethod
    def learn(self, node: str, causes: Encoding, parents: Floats, column: Column, values: Floats) -> DiscreteMechanism:
        """Fit the node's encoded values, all of them levels of the column, to its encoded causes."""


def over_finite(
    low: Floats, high: Floats, enclose: Callable[[Floats, Floats], tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Enclose over the boxes that have ends on all sides; the others may reach anything."""
    least, most = np.full(len(low), -np.inf), np.full(len(low), np.inf)
    finite = (np.isfinite(low) & np.isfinite(high)).all(axis=1)
    if finite.any():
        least[finite], most[finite] = enclose(low[finite], high[finite])
    return least, most


def over_levels(
    causes: Encoding, low: Floats, high: Floats, enclose: Callable[[Floats, Floats], tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """Enclose over boxes with ranges of codes by going through the levels in them."""
    categories = [k for k, column in enumerate(causes.columns) if column.is_category]
    owner = np.arange(len(low))
    for k in categories:
        counts = (high[:, k] - low[:, k]).astype(np.intp) + 1
        if (counts > 1).any():
            rows = np.repeat(np.arange(len(low)), counts)
            step = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
            low, high, owner = low[rows], high[rows], owner[rows]
            low[:, k] += step
            high[:, k] = low[:, k]
    least, most = enclose(low, high)
    if len(low) == 0 or len(owner) == owner[-1] + 1:
        return least, most
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    return np.minimum.reduceat(least, starts), np.maximum.reduceat(most, starts)
