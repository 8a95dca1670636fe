"""What an action costs: weighted L1, percentile shift, or your own separable cost.

A cost is a small value; `bind` fixes its numbers (scales, knots) before anything is solved. Cost is charged on the
value that is set minus the factual value; what a category costs is said by its feature: its weight, by steps of its
order, or by prices from level to level (`recourse.level_prices`).

>>> bound = WeightedL1().bind(["age"], np.array([[20.0], [70.0]]), np.array([[1.0, 2.0]]))
>>> bound.evaluate(np.array([[30.0]]), np.array([[35.0]]))     # 5 of a range of 50, weight 1 upwards
array([0.1])
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from equieffort.data.frames import Floats, number
from equieffort.errors import CostError, ParameterError, Setting, closest, listed
from equieffort.foundations.arguments import (
    as_numbers,
    calling,
    check_choice,
    check_function,
    check_instance,
    check_mapping,
    check_number,
)
from equieffort.foundations.genuine import is_exactly
from equieffort.world.scales import ALTERNATIVES, Own, Range, Scale, warn_outlier

_bad_cost = partial(CostError, "COST_INVALID")
MOST_KNOTS = 100_000
"""So many knots a curve of costs may have."""


class BoundCost(ABC):
    """A cost with its numbers fixed, over the numeric actionable features in order."""

    is_continuous: ClassVar[bool] = False
    """Whether small changes are known to cost little."""

    @abstractmethod
    def parts(self, facts: Floats, values: Floats) -> Floats:
        """What each feature costs, set from its fact to the value: a row a person."""

    def evaluate(self, facts: Floats, values: Floats) -> Floats:
        """The cost of setting each person's features from their facts to the values."""
        return self.parts(facts, values).sum(axis=1)

    def in_units(self, units: Floats, cost_unit: float) -> BoundCost:
        """The same cost of features that are multiples of units, as a multiple of a unit of its own."""
        return ScaledCost(self, units, cost_unit)

    def typical_prices(self, units: Floats) -> Floats:
        """About what a change by a unit costs, feature by feature; nothing is proven from it."""
        return np.ones(len(units))

    def among(self, keep: Sequence[int]) -> BoundCost:
        """The same cost of fewer features, by position; refused by one that may look at features together."""
        raise _bad_cost(
            f"{type(self).__name__} does not say what some of its features cost without the others.",
            fix="Use WeightedL1, Percentile or Separable, or give the class a method among(keep).",
        )

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The numbers that were fixed, in a form that JSON can hold."""


@dataclass(frozen=True, eq=False)
class ScaledCost(BoundCost):
    """Another cost in other units."""

    cost: BoundCost
    units: Floats
    cost_unit: float

    def parts(self, facts: Floats, values: Floats) -> Floats:
        """The other cost's answer."""
        return self.cost.parts(facts * self.units, values * self.units) / self.cost_unit

    def to_dict(self) -> dict[str, Any]:
        """As in its own units."""
        return self.cost.to_dict()


@dataclass(frozen=True, eq=False)
class LinearCost(BoundCost):
    """A constant price a unit of change, upwards and downwards, perhaps relative to the person's own value."""

    names: tuple[str, ...]
    up: Floats
    down: Floats
    own: bool
    is_continuous: ClassVar[bool] = True

    def prices(self, facts: Floats) -> tuple[Floats, Floats]:
        """Price of a unit up and down: one row for everybody, or one a person for relative costs."""
        if not self.own:
            return self.up[None, :], self.down[None, :]
        size = np.abs(facts)
        if (size == 0).any():
            row, k = np.argwhere(size == 0)[0]
            raise CostError(
                "COST_ZERO_SCALE",
                f"Relative to their own value a change of {self.names[k]!r} has no cost for a person "
                f"whose {self.names[k]!r} is 0 (the first is number {row} of those to be solved).",
                fix=("Choose another scale: ", Setting("fixed scales"), "."),
            )
        return self.up / size, self.down / size

    def parts(self, facts: Floats, values: Floats) -> Floats:
        """Price times change."""
        change = values - facts
        up, down = self.prices(facts)
        return np.where(change > 0, up, down) * np.abs(change)

    def in_units(self, units: Floats, cost_unit: float) -> LinearCost:
        """Prices a unit; those relative to a person's own value have none."""
        factor = (1.0 if self.own else units) / cost_unit
        return replace(self, up=self.up * factor, down=self.down * factor)

    def typical_prices(self, units: Floats) -> Floats:
        """The lower of the two prices."""
        return np.minimum(self.up, self.down) * (1.0 if self.own else units)

    def among(self, keep: Sequence[int]) -> LinearCost:
        """Their prices.

        >>> cost = WeightedL1().bind(["a", "b"], np.array([[0.0, 0.0], [2.0, 4.0]]), np.ones((2, 2)))
        >>> cost.among([1]).up
        array([0.25])
        """
        rows = list(keep)
        return replace(self, names=tuple(self.names[k] for k in rows), up=self.up[rows], down=self.down[rows])

    def to_dict(self) -> dict[str, Any]:
        """Prices a unit."""
        prices = zip(self.names, self.up.tolist(), self.down.tolist(), strict=True)
        return {"own": self.own, "prices": {name: [up, down] for name, up, down in prices}}


@dataclass(frozen=True, eq=False)
class AskedCost(BoundCost):
    """A cost of a class of its own built on a known one: asked what actions cost, never opened."""

    own: BoundCost

    def parts(self, facts: Floats, values: Floats) -> Floats:
        """As the cost itself says."""
        return self.own.parts(facts, values)

    def evaluate(self, facts: Floats, values: Floats) -> Floats:
        """As the cost itself says."""
        return self.own.evaluate(facts, values)

    def to_dict(self) -> dict[str, Any]:
        """As the cost itself says."""
        return self.own.to_dict()


def readable(cost: BoundCost) -> BoundCost:
    """The cost or, where solvers would read what it is built on instead of it, one that only asks it."""
    known = isinstance(cost, LinearCost | PiecewiseCost)
    return AskedCost(cost) if known and not is_exactly(cost, LinearCost, PiecewiseCost) else cost


Curve = tuple[Floats, Floats]
"""Values in rising order and the cost of each; linear between them and beyond the last by `tails`."""


@dataclass(frozen=True, eq=False)
class PiecewiseCost(BoundCost):
    """For each feature and person a piecewise linear cost that is zero at the fact and grows away from it."""

    names: tuple[str, ...]
    curve: Callable[[int, float], Curve]
    """(feature, factual value) -> knots and costs; the factual value is a knot with cost zero."""
    tails: Floats
    """Price a unit below the first and above the last knot, a row (down, up) a feature."""
    about: dict[str, Any]
    is_continuous: ClassVar[bool] = True

    def parts(self, facts: Floats, values: Floats) -> Floats:
        """The curve's height at the value."""
        parts = np.zeros(facts.shape)
        for row, k in np.argwhere(values != facts).tolist():
            parts[row, k] = self.one(k, facts[row, k], values[row, k])
        return parts

    def one(self, k: int, fact: float, value: float) -> float:
        """The cost of one change."""
        knots, costs = self.curve(k, fact)
        below, above = knots[0] - value, value - knots[-1]
        beyond = self.tails[k, 0] * max(below, 0.0) + self.tails[k, 1] * max(above, 0.0)
        return float(np.interp(value, knots, costs) + beyond)

    def in_units(self, units: Floats, cost_unit: float) -> PiecewiseCost:
        """Knots in units."""
        curve = partial(_curve_in_units, self.curve, units, cost_unit)
        return replace(self, curve=curve, tails=self.tails * (units / cost_unit)[:, None])

    def typical_prices(self, units: Floats) -> Floats:
        """The price beyond the last knots."""
        return self.tails.mean(axis=1) * units

    def among(self, keep: Sequence[int]) -> PiecewiseCost:
        """Their curves."""
        rows = list(keep)
        names = tuple(self.names[k] for k in rows)
        about = {kind: {name: of[name] for name in names} for kind, of in self.about.items()}
        return replace(
            self, names=names, curve=partial(_curve_of, self.curve, rows), tails=self.tails[rows], about=about
        )

    def to_dict(self) -> dict[str, Any]:
        """What the curves were made from."""
        return self.about


def _curve_of(curve: Callable[[int, float], Curve], rows: list[int], k: int, fact: float) -> Curve:
    return curve(rows[k], fact)


def _curve_in_units(
    curve: Callable[[int, float], Curve], units: Floats, cost_unit: float, k: int, fact: float
) -> Curve:
    knots, costs = curve(k, fact * units[k])
    return knots / units[k], costs / cost_unit


class Cost(ABC):
    """A way to measure effort."""

    by_group: ClassVar[bool] = False
    """Whether it is bound to the reference people of each group apart, so that people are ranked among their own."""

    @abstractmethod
    def bind(self, names: Sequence[str], reference: Floats, weights: Floats) -> BoundCost:
        """Fix the numbers from reference values (a column a feature) and weights (up, down a feature)."""


@dataclass(frozen=True)
class WeightedL1(Cost):
    """Sum of weighted absolute changes, each divided by its feature's scale (the range by default).

    `scale` is one for all features, or a mapping that gives every numeric actionable feature its own: none is left
    at a scale that nobody chose. `weights` multiply those of the schema; a feature that is not named keeps its own.
    """

    scale: Scale | Mapping[str, Scale] = field(default_factory=Range)
    weights: Mapping[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if isinstance(self.scale, Mapping):
            check_mapping("scale", self.scale, "a scale, or a mapping from feature to scale")
        scales = self.scale.values() if isinstance(self.scale, Mapping) else [self.scale]
        for scale in scales:
            check_instance("scale", scale, Scale, f"a scale or a mapping from feature to scale: {ALTERNATIVES}")
        check_mapping("weights", self.weights, "a mapping from feature to a positive number", error=CostError)

    def bind(self, names: Sequence[str], reference: Floats, weights: Floats) -> LinearCost:
        """Fix the scales."""
        if isinstance(self.scale, Mapping):
            _check_names(self.scale, names, "a scale", needed="scale")
        _check_names(self.weights, names, "a weight")
        scales = [self._scale(name) for name in names]
        own = [isinstance(scale, Own) for scale in scales]
        if any(own) and not all(own):
            raise ParameterError(
                "PARAMETER",
                "Own() is used for some features and another scale for the rest.",
                fix="Use Own() for all of them, or none: a relative change and a share of the range do not add up.",
            )
        for scale, name, values in zip(scales, names, reference.T, strict=True):
            if scale == Range():
                warn_outlier(name, values)
        factor = np.array([_extra_weight(self.weights, name) for name in names])
        sizes = np.array([one.of(name, values) for one, name, values in zip(scales, names, reference.T, strict=True)])
        per_unit = weights * (factor / sizes)[:, None]
        return LinearCost(tuple(names), per_unit[:, 0].copy(), per_unit[:, 1].copy(), bool(own) and all(own))

    def _scale(self, name: str) -> Scale:
        return self.scale[name] if isinstance(self.scale, Mapping) else self.scale


def _check_names(given: Mapping[str, Any], names: Sequence[str], what: str, needed: str = "") -> None:
    stray = [other for other in given if other not in names]
    if stray:
        raise _bad_cost(
            f"The cost has {what} for {stray[0]!r}, which is no numeric actionable feature. "
            f"{closest(stray[0], names)}".rstrip(),
            fix=f"The numeric actionable features are {listed(names)}. A category costs what its feature says: its weight, steps or prices.",
        )
    absent = [name for name in names if name not in given]
    if needed and absent:
        raise _bad_cost(
            f"No {needed} is given for {listed(absent)}.", fix="Give one for each numeric actionable feature."
        )


def _extra_weight(weights: Mapping[str, float], name: str) -> float:
    weight = weights.get(name, 1.0)
    check_number(
        f"The weight of {name!r}", weight, "a positive number", lambda size: size > 0,
        error=CostError, code="SCHEMA_WEIGHT",
    )  # fmt: skip
    return float(weight)


def _check_knots(knots: Any) -> None:
    check_number(
        "knots", knots, f"a whole number from 2 to {MOST_KNOTS:,}", lambda count: 2 <= count <= MOST_KNOTS, whole=True
    )


def _single_value(name: str, value: float) -> CostError:
    return CostError(
        "COST_ZERO_SCALE",
        f"Feature {name!r} has a single reference value, {number(value)}.",
        fix="Give reference data in which it varies.",
    )


@dataclass(frozen=True)
class Percentile(Cost):
    """The share of the reference people that a change overtakes.

    The percentile of a value is the share of reference values at or below it, linear between them; beyond the
    observed values it goes on with the slope of one over the range, so that leaving the data is never free.
    `knots` keeps only so many of the distinct reference values, evenly picked, which makes solving faster.

    With `within="group"` the share is of the reference people of the person's own group, by all sensitive columns
    together (Heidari, Nanda and Gummadi 2019): the same change is a larger effort where it overtakes more of one's own.
    The reference data must hold the sensitive columns, and each feature must vary in every group.
    """

    knots: int | None = None
    within: Literal["everybody", "group"] = "everybody"

    def __post_init__(self) -> None:
        if self.knots is not None:
            _check_knots(self.knots)
        check_choice("within", self.within, ("everybody", "group"))

    @property
    def by_group(self) -> bool:  # type: ignore[override]
        """Whether people are ranked among their own group."""
        return self.within == "group"

    def bind(self, names: Sequence[str], reference: Floats, weights: Floats) -> PiecewiseCost:
        """Fix the reference values."""
        curves = [self._percentiles(name, reference[:, k]) for k, name in enumerate(names)]
        spans = np.array([values[-1] - values[0] for values, _ in curves])
        tails = weights[:, ::-1] / spans[:, None]
        about = {"percentiles": {n: [v.tolist(), s.tolist()] for n, (v, s) in zip(names, curves, strict=True)}}
        return PiecewiseCost(tuple(names), partial(_percentile_curve, curves, weights), tails, about)

    def _percentiles(self, name: str, reference: Floats) -> Curve:
        values, counts = np.unique(reference, return_counts=True)
        if len(values) < 2:
            raise _single_value(name, values[0])
        shares = np.cumsum(counts) / len(reference)
        if self.knots is not None and len(values) > self.knots:
            keep = np.unique(np.linspace(0, len(values) - 1, self.knots).round().astype(int))
            values, shares = values[keep], shares[keep]
        return values, shares


def _percentile_curve(curves: list[Curve], weights: Floats, k: int, fact: float) -> Curve:
    """The weighted shift of percentile at the reference values and at the fact."""
    values, shares = curves[k]
    span = values[-1] - values[0]
    beyond = (min(fact - values[0], 0.0) + max(fact - values[-1], 0.0)) / span
    own = float(np.interp(fact, values, shares)) + beyond
    at = np.searchsorted(values, fact)
    if at == len(values) or values[at] != fact:
        values, shares = np.insert(values, at, fact), np.insert(shares, at, own)
    shift = shares - own
    return values, np.where(shift > 0, weights[k, 0], weights[k, 1]) * np.abs(shift)


@dataclass(frozen=True)
class Separable(Cost):
    """Your own cost: for each numeric actionable feature a function f(fact, values) -> costs, added up.

    f must be zero at the fact and must not fall away from it. It is read at `knots` quantiles of the reference
    values and at the fact, and is linear between them: that piecewise linear cost is what is minimised and reported.
    """

    functions: Mapping[str, Callable[[float, Floats], Any]]
    knots: int = 33

    def __post_init__(self) -> None:
        takes = "a mapping from feature to a function f(fact, values)"
        check_mapping("functions", self.functions, takes, error=CostError)
        for name, function in self.functions.items():
            check_function(f"The cost of {name!r}", function, "a function f(fact, values)", error=CostError)
        _check_knots(self.knots)

    def bind(self, names: Sequence[str], reference: Floats, weights: Floats) -> PiecewiseCost:
        """Fix the knots."""
        _check_names(self.functions, names, "a function", needed="cost function")
        grids = [np.unique(np.quantile(reference[:, k], np.linspace(0, 1, self.knots))) for k in range(len(names))]
        tails = np.zeros((len(names), 2))
        for k, name in enumerate(names):
            low, high = grids[k][0], grids[k][-1]
            if low == high:
                raise _single_value(name, low)
            ends = self.read(name, (low + high) / 2, np.array([low, high])) * weights[k, ::-1]
            # Beyond the knots the average price from the middle to the end goes on.
            tails[k] = ends / ((high - low) / 2)

        about = {"separable": {name: grid.tolist() for name, grid in zip(names, grids, strict=True)}}
        return PiecewiseCost(tuple(names), partial(_separable_curve, self, tuple(names), grids, weights), tails, about)

    def read(self, name: str, fact: float, values: Floats) -> Floats:
        """Your function's answers, checked."""
        with calling(
            f"The cost function of {name!r}, asked about changes from {number(fact)},",
            "Return one finite cost a value, for instance abs(values - fact).",
            error=CostError,
            code="COST_INVALID",
        ):
            costs = as_numbers(self.functions[name](float(fact), values.copy()))
        if costs.shape != values.shape:
            raise _bad_cost(
                f"The cost function of {name!r} returned shape {costs.shape} for {len(values)} values.",
                fix="Return one finite cost a value.",
            )
        if not np.isfinite(costs).all():
            at = int((~np.isfinite(costs)).argmax())
            raise _bad_cost(
                f"The cost function of {name!r} says {costs[at]} for a change from {number(fact)} to "
                f"{number(values[at])}.",
                fix="Return one finite cost a value, also for large changes.",
            )
        if costs.min(initial=0.0) < -1e-9 * np.abs(costs).max(initial=1.0):
            worst = float(values[costs.argmin()])
            raise _bad_cost(
                f"The cost function of {name!r} says {number(costs.min())} for a change from {number(fact)} to "
                f"{number(worst)}.",
                fix="Return 0 for staying and at least 0 for every change, for instance abs(values - fact).",
            )
        return np.maximum(costs, 0.0)


def _separable_curve(
    cost: Separable, names: Sequence[str], grids: list[Floats], weights: Floats, k: int, fact: float
) -> Curve:
    """Your cost at the knots and at the fact."""
    values = np.union1d(grids[k], [fact])
    costs = cost.read(names[k], fact, values) * np.where(values > fact, weights[k, 0], weights[k, 1])
    at = int(np.searchsorted(values, fact))
    rises = np.all(np.diff(costs[at:]) >= 0) and np.all(np.diff(costs[: at + 1]) <= 0)
    if costs[at] != 0 or not rises:
        raise _bad_cost(
            f"The cost function of {names[k]!r} is {number(costs[at])} at the fact {number(fact)}, or falls as the "
            "change grows.",
            fix="Return 0 for no change, and never less for a larger change in the same direction.",
        )
    return values, costs
