"""Mechanisms: how a node follows its causes, x = f(causes) + noise.

`Linear`, `Terms` and `Function` are equations you give; `LeastSquares`, `Polynomial`, `Spline` and `Regressor` learn
one from data. All are additive in the noise, so that a person's noise can be recovered (abducted) from their values.
Levels in an order have mechanisms of their own: see `discrete`.

>>> Linear({"age": -0.1, "sex": {"male": 2.0}}, intercept=5.0).equation("amount")
'amount = 5 - 0.1*age + 2*[sex=male]'
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from equieffort.data.frames import Column, Encoding, Floats, number
from equieffort.errors import Setting
from equieffort.foundations.arguments import calling, check_flag, check_mapping, check_number, refused
from equieffort.foundations.genuine import why_not
from equieffort.world.scm.design import Owner, check_causes, indicators, least_norm, level_code
from equieffort.world.scm.equations import (
    EPS,
    MECHANISM,
    Additive,
    Affine,
    Learner,
    Mechanism,
    bad_equation,
    over_levels,
)


@dataclass(frozen=True)
class Linear(Mechanism):
    """x = intercept + sum of coefficients times causes + noise.

    A categorical cause has one coefficient a level, ``{"sex": {"male": 2.0}}``; levels that are not named count
    zero. For a cause with two levels a single number is the coefficient of the second (in sorted order).
    """

    coef: Mapping[str, float | Mapping[Any, float]]
    intercept: float = 0.0

    def __post_init__(self) -> None:
        takes = 'a mapping from cause to coefficient, such as {"age": -0.1}'
        check_mapping("coef", self.coef, takes, **MECHANISM)
        for name, given in self.coef.items():
            for value in given.values() if isinstance(given, Mapping) else (given,):
                check_finite(f"The coefficient of {name!r}", value)
        check_finite("intercept", self.intercept)

    def bind(self, node: str, causes: Encoding) -> Additive:
        """The equation over the encoded causes."""
        return LinearEquation(causes, *self.arrays(node, causes), float(self.intercept))

    def arrays(self, node: str, causes: Encoding) -> tuple[Floats, dict[int, Floats]]:
        """Weights of the numeric causes, and for each categorical one (by position) a value a level."""
        check_causes(node, self.coef, causes)
        weights = np.zeros(len(causes.columns))
        tables: dict[int, Floats] = {}
        for k, column in enumerate(causes.columns):
            given = self.coef.get(column.name, 0.0)
            if column.is_category:
                tables[k] = level_table(node, column, given)
            elif isinstance(given, Mapping):
                raise bad_equation(
                    f"The equation of {node!r} has a coefficient a level for {column.name!r}, which is numeric.",
                    fix=("Give one number, or ", Setting("categorical", of=column.name), "."),
                )
            else:
                weights[k] = given
        return weights, tables

    def in_units(self, units: Mapping[str, float], unit: float) -> Linear:
        """The same equation of causes and a node that are multiples of units."""
        coef: dict[str, Any] = {}
        for name, given in self.coef.items():
            if isinstance(given, Mapping):
                coef[name] = {level: value / unit for level, value in given.items()}
            else:
                coef[name] = given * (units.get(name, 1.0) / unit)
        return Linear(coef, self.intercept / unit)

    def equation(self, node: str) -> str:
        """The equation in words."""
        text = f"{node} = {number(self.intercept)}"
        for name, given in self.coef.items():
            text += in_words(name, given) if isinstance(given, Mapping) else f" {signed(given)}*{name}"
        return text


def signed(value: float) -> str:
    """A coefficient behind others."""
    return f"{'-' if value < 0 else '+'} {number(abs(value))}"


def in_words(name: str, values: Mapping[Any, float]) -> str:
    """What the levels of a category add."""
    return "".join(f" {signed(value)}*[{name}={level}]" for level, value in values.items())


def check_finite(name: str, value: Any) -> None:
    """Refuse a number of an equation that is none."""
    check_number(name, value, "a finite number", **MECHANISM)


def level_table(node: str, column: Column, given: float | Mapping[Any, float]) -> Floats:
    """What each level of a category adds, by its code."""
    table = np.zeros(len(column.levels))
    if isinstance(given, Mapping):
        for level, value in given.items():
            table[level_code(node, column, level)] = value
    elif len(column.levels) == 2:
        table[1] = given
    elif given != 0:
        raise bad_equation(
            f"The equation of {node!r} has one coefficient for {column.name!r}, which has {len(column.levels)} levels.",
            fix=f"Give one a level: {{{column.name!r}: {{{column.levels[-1]!r}: {given}, ...}}}}.",
        )
    return table


class TabledEquation(Additive):
    """An intercept and a value for each level of the categorical causes; subclasses add what numeric causes do."""

    def __init__(self, causes: Encoding, tables: dict[int, Floats], intercept: float) -> None:
        super().__init__(causes, self._predict, "")
        self.tables, self.intercept = tables, intercept
        self._fixed = abs(intercept) + sum(float(np.abs(table).max(initial=0.0)) for table in tables.values())

    def _numeric(self, parents: Floats) -> Iterator[Floats]:
        """What each numeric cause adds."""
        raise NotImplementedError

    def _predict(self, parents: Floats) -> Floats:
        return self._total(parents, self._numeric(parents))

    def _total(self, parents: Floats, numeric: Iterable[Floats] = ()) -> Floats:
        total = np.full(len(parents), self.intercept)
        for part in chain(numeric, (_at(table, parents[:, k]) for k, table in self.tables.items())):
            total += part
        return total

    def _over_levels(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The least and the most of the intercept and the levels over each box."""
        return over_levels(self.causes, low, high, lambda at, _: (self._total(at), self._total(at)))


def _at(table: Floats, codes: Floats) -> Floats:
    """The value of each level; none of a level that is missing."""
    missing = np.isnan(codes)
    if not missing.any():
        return table[codes.astype(np.intp)]
    return np.where(missing, np.nan, table[np.where(missing, 0.0, codes).astype(np.intp)])


class LinearEquation(TabledEquation):
    """A linear equation over encoded causes, its bounds exact up to rounding."""

    def __init__(self, causes: Encoding, weights: Floats, tables: dict[int, Floats], intercept: float) -> None:
        super().__init__(causes, tables, intercept)
        self.weights = weights

    def _numeric(self, parents: Floats) -> Iterator[Floats]:
        return (self.weights[k] * parents[:, k] for k in np.flatnonzero(self.weights).tolist())

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """x plus what each cause's change adds: large causes that stay leave no rounding behind."""
        change = np.zeros(len(values))
        for k in np.flatnonzero(self.weights).tolist():
            change += self.weights[k] * (after[:, k] - before[:, k])
        for k, table in self.tables.items():
            change += _at(table, after[:, k]) - _at(table, before[:, k])
        return values + change

    def in_units(self, units: Floats, unit: float) -> LinearEquation:
        """Weights a unit of the causes, in units of the values."""
        tables = {k: table / unit for k, table in self.tables.items()}
        return LinearEquation(self.causes.in_units(units), self.weights * (units / unit), tables, self.intercept / unit)

    def _range(self, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        least = most = self._total(low)
        # Each side by itself: where one has no end the other still needs its margin.
        size_least, size_most = np.full((2, len(low)), self._fixed)
        for k in np.flatnonzero(self.weights).tolist():
            ends = self.weights[k] * np.stack([low[:, k], high[:, k]])
            bottom, top = ends.min(axis=0), ends.max(axis=0)
            least, most = least + bottom, most + top
            size_least, size_most = size_least + np.abs(bottom), size_most + np.abs(top)
        return least - self._rounding * size_least, most + self._rounding * size_most

    def _planes(self, low: Floats, high: Floats) -> tuple[Affine, Affine]:
        least, most = self._over_levels(low, high)
        size = np.full(len(low), self._fixed)
        for k in np.flatnonzero(self.weights).tolist():
            size = size + np.abs(self.weights[k]) * np.maximum(np.abs(low[:, k]), np.abs(high[:, k]))
        margin = self._rounding * size
        slope = np.repeat(self.weights[None, :], len(low), axis=0)
        return Affine(slope, least - margin), Affine(slope, most + margin)

    @property
    def _rounding(self) -> float:
        return EPS * (4 + 2 * len(self.causes.columns))


@dataclass(frozen=True)
class LeastSquares(Learner):
    """Learns `Linear` by least squares; among equally good fits the one of least norm."""

    intercept: bool = True

    def __post_init__(self) -> None:
        check_flag("intercept", self.intercept)

    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Linear:
        """Fit the node's values to its encoded causes."""
        design, owners = indicators(causes, parents)
        if self.intercept:
            # Centring first keeps the least-norm rule about the slopes alone, whatever the units' origin.
            middle, mean = design.mean(axis=0), float(values.mean())
            # A constant is its own mean: what rounding leaves of it must not get a slope.
            centred = np.where(np.ptp(design, axis=0) == 0, 0.0, design - middle)
            solution = least_norm(centred, values - mean)
            return linear(owners, solution, mean - float(middle @ solution))
        return linear(owners, least_norm(design, values), 0.0)


@dataclass(frozen=True)
class Regressor(Learner):
    """Learns with any scikit-learn regressor; categorical causes reach it as indicators."""

    estimator: Any

    def __post_init__(self) -> None:
        estimator, name = self.estimator, type(self.estimator).__name__
        known = callable(getattr(estimator, "fit", None)) and callable(getattr(estimator, "predict", None))
        if isinstance(estimator, type) or not known:
            takes = "a scikit-learn regressor such as RandomForestRegressor()"
            raise refused("estimator", estimator, takes, **MECHANISM)
        if getattr(estimator, "_estimator_type", None) == "classifier":
            raise bad_equation(f"{name} is a classifier.", fix="Give a regressor.")

    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Mechanism:
        """Fit a clone of the estimator; one that turns out linear becomes `Linear`."""
        from sklearn.base import clone
        from sklearn.linear_model._base import LinearModel

        design, owners = indicators(causes, parents)
        with calling(
            f"{type(self.estimator).__name__}, fitted to the equation of {node!r},",
            "Check that it is a regressor and takes these causes.",
            **MECHANISM,
        ):
            fitted = clone(self.estimator).fit(design, values)
        known = isinstance(fitted, LinearModel) and not why_not(fitted, "sklearn")
        if known and np.ndim(getattr(fitted, "coef_", 0.0)) == 1:
            return linear(owners, np.asarray(fitted.coef_), float(np.squeeze(fitted.intercept_)))
        return Fitted(fitted, type(fitted).__name__)


@dataclass(frozen=True)
class Fitted(Mechanism):
    """x = estimator.predict(indicators of causes) + noise, for a fitted regressor; trees are known as trees."""

    estimator: Any = field(repr=False)
    name: str = ""

    def bind(self, node: str, causes: Encoding) -> Additive:
        """The equation over the encoded causes."""
        from equieffort.world.scm.trees import EstimatorEquation

        return EstimatorEquation(causes, self.estimator)

    def equation(self, node: str) -> str:
        """The equation in words."""
        return f"{node} = {self.name}(causes)"


def linear(owners: list[Owner], solution: Floats, intercept: float) -> Linear:
    """The coefficients of design columns as an equation."""
    coef: dict[str, Any] = {}
    for (name, level), value in zip(owners, solution, strict=True):
        if level is None:
            coef[name] = float(value)
        else:
            coef.setdefault(name, {})[level] = float(value)
    return Linear(coef, intercept)
