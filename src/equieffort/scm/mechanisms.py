"""Mechanisms: how a node follows its causes, x = f(causes) + noise.

`Linear` and `Function` are equations you give; `LeastSquares` and `Regressor` learn one from data. All are
additive in the noise, so that a person's noise can be recovered (abducted) from their values.

>>> Linear({"age": -0.1, "sex": {"male": 2.0}}, intercept=5.0).equation("amount")
'amount = 5 - 0.1*age + 2*[sex=male]'
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import CausalModelError, closest, listed, sentence
from equieffort.frames import Column, Encoding, Floats, number

Predict = Callable[[Floats], Floats]
"""Encoded causes, a row a person -> f(causes)."""


class Mechanism(ABC):
    """An equation whose noise can be abducted: x = f(causes) + noise."""

    @abstractmethod
    def bind(self, node: str, causes: Encoding) -> Predict:
        """f over the encoded causes; refuses causes it does not know."""

    @abstractmethod
    def equation(self, node: str) -> str:
        """The equation in words."""


class Learner(ABC):
    """Learns a `Mechanism` from data."""

    @abstractmethod
    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Mechanism:
        """Fit the node's values to its encoded causes."""


@dataclass(frozen=True)
class Linear(Mechanism):
    """x = intercept + sum of coefficients times causes + noise.

    A categorical cause has one coefficient a level, ``{"sex": {"male": 2.0}}``; levels that are not named count
    zero. For a cause with two levels a single number is the coefficient of the second (in sorted order).
    """

    coef: Mapping[str, float | Mapping[Any, float]]
    intercept: float = 0.0

    def __post_init__(self) -> None:
        flat = [v for c in self.coef.values() for v in (c.values() if isinstance(c, Mapping) else (c,))]
        if not all(np.isfinite([*flat, self.intercept])):
            raise CausalModelError(
                "SCM_MECHANISM", f"{self!r} has coefficients that are not finite.", fix="Give finite numbers."
            )

    def bind(self, node: str, causes: Encoding) -> Predict:
        """f over the encoded causes."""
        weights, tables = self.arrays(node, causes)

        def predict(parents: Floats) -> Floats:
            total = np.full(len(parents), float(self.intercept))
            for k in np.flatnonzero(weights).tolist():
                total += weights[k] * parents[:, k]
            for k, table in tables.items():
                total += table[parents[:, k].astype(np.intp)]
            return total

        return predict

    def arrays(self, node: str, causes: Encoding) -> tuple[Floats, dict[int, Floats]]:
        """Weights of the numeric causes, and for each categorical one (by position) a value a level."""
        stray = [name for name in self.coef if name not in causes.names]
        if stray:
            raise CausalModelError(
                "SCM_MECHANISM",
                f"The equation of {node!r} uses {listed(stray)}, which the graph does not name among its causes "
                f"({listed(causes.names) or 'none'}).",
                fix="Add the edge to the graph or remove the term.",
            )
        weights = np.zeros(len(causes.columns))
        tables: dict[int, Floats] = {}
        for k, column in enumerate(causes.columns):
            given = self.coef.get(column.name, 0.0)
            if column.is_category:
                tables[k] = _level_table(node, column, given)
            elif isinstance(given, Mapping):
                raise CausalModelError(
                    "SCM_MECHANISM",
                    f"The equation of {node!r} has a coefficient a level for {column.name!r}, which is numeric.",
                    fix="Give one number, or declare the column in StructuralCausalModel(..., categorical=[...]).",
                )
            else:
                weights[k] = given
        return weights, tables

    def equation(self, node: str) -> str:
        """The equation in words."""
        terms: list[tuple[float, str]] = []
        for name, given in self.coef.items():
            if isinstance(given, Mapping):
                terms += [(value, f"[{name}={level}]") for level, value in given.items()]
            else:
                terms.append((float(given), name))
        text = number(self.intercept)
        for value, name in terms:
            text += f" {'-' if value < 0 else '+'} {number(abs(value))}*{name}"
        return f"{node} = {text}"


def _level_table(node: str, column: Column, given: float | Mapping[Any, float]) -> Floats:
    table = np.zeros(len(column.levels))
    if isinstance(given, Mapping):
        for level, value in given.items():
            if level not in column.levels:
                raise CausalModelError(
                    "SCM_MECHANISM",
                    f"The equation of {node!r} names the level {level!r} of {column.name!r}, which does not occur. "
                    f"{closest(level, column.levels)}".rstrip(),
                    fix=f"The levels are {listed(column.levels)}.",
                )
            table[column.levels.index(level)] = value
    elif len(column.levels) == 2:
        table[1] = given
    elif given != 0:
        raise CausalModelError(
            "SCM_MECHANISM",
            f"The equation of {node!r} has one coefficient for {column.name!r}, which has {len(column.levels)} levels.",
            fix=f"Give one a level: {{{column.name!r}: {{{column.levels[-1]!r}: {given}, ...}}}}.",
        )
    return table


@dataclass(frozen=True)
class Function(Mechanism):
    """x = f(causes) + noise for your own f, which gets a frame of the causes and returns a value a row."""

    f: Callable[[pd.DataFrame], Any]

    def bind(self, node: str, causes: Encoding) -> Predict:
        """f over the encoded causes, decoded for it."""

        def predict(parents: Floats) -> Floats:
            answers = self.f(causes.decode(parents))
            try:
                values = np.asarray(answers, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise CausalModelError(
                    "SCM_MECHANISM",
                    f"The function of {node!r} did not return numbers: {sentence(error)}",
                    fix="Return one finite number a row of the frame it gets.",
                ) from error
            if values.shape != (len(parents),) or not np.isfinite(values).all():
                raise CausalModelError(
                    "SCM_MECHANISM",
                    f"The function of {node!r} returned shape {values.shape} for {len(parents)} people, "
                    f"or values that are not finite.",
                    fix="Return one finite number a row of the frame it gets.",
                )
            return values

        return predict

    def equation(self, node: str) -> str:
        """The equation in words."""
        return f"{node} = {getattr(self.f, '__name__', 'f')}(causes)"


@dataclass(frozen=True)
class LeastSquares(Learner):
    """Learns `Linear` by least squares; among equally good fits the one of least norm."""

    intercept: bool = True

    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Linear:
        """Fit the node's values to its encoded causes."""
        design, owners = indicators(causes, parents)
        if self.intercept:
            # Centring first keeps the least-norm rule about the slopes alone, whatever the units' origin.
            middle, mean = design.mean(axis=0), float(values.mean())
            # A constant is its own mean: what rounding leaves of it must not get a slope.
            centred = np.where(np.ptp(design, axis=0) == 0, 0.0, design - middle)
            solution = _least_norm(centred, values - mean)
            return _linear(owners, solution, mean - float(middle @ solution))
        return _linear(owners, _least_norm(design, values), 0.0)


@dataclass(frozen=True)
class Regressor(Learner):
    """Learns with any scikit-learn regressor; categorical causes reach it as indicators."""

    estimator: Any

    def learn(self, node: str, causes: Encoding, parents: Floats, values: Floats) -> Mechanism:
        """Fit a clone of the estimator; one that turns out linear becomes `Linear`."""
        from sklearn.base import clone
        from sklearn.linear_model._base import LinearModel

        design, owners = indicators(causes, parents)
        fitted = clone(self.estimator).fit(design, values)
        if isinstance(fitted, LinearModel) and np.ndim(getattr(fitted, "coef_", 0.0)) == 1:
            return _linear(owners, np.asarray(fitted.coef_), float(np.squeeze(fitted.intercept_)))
        return Fitted(fitted, type(fitted).__name__)


@dataclass(frozen=True)
class Fitted(Mechanism):
    """x = estimator.predict(indicators of causes) + noise, for a fitted regressor."""

    estimator: Any = field(repr=False)
    name: str = ""

    def bind(self, node: str, causes: Encoding) -> Predict:
        """f over the encoded causes."""

        def predict(parents: Floats) -> Floats:
            return np.asarray(self.estimator.predict(indicators(causes, parents)[0]), dtype=np.float64)

        return predict

    def equation(self, node: str) -> str:
        """The equation in words."""
        return f"{node} = {self.name}(causes)"


Owner = tuple[str, Any]
"""Which cause, and for a categorical one which level, a design column stands for."""


def indicators(causes: Encoding, parents: Floats) -> tuple[Floats, list[Owner]]:
    """The design matrix: numbers as they are, a category as indicators against its first level."""
    blocks: list[Floats] = []
    owners: list[Owner] = []
    for k, column in enumerate(causes.columns):
        if column.is_category:
            for code, level in enumerate(column.levels[1:], start=1):
                blocks.append((parents[:, k] == code).astype(np.float64))
                owners.append((column.name, level))
        else:
            blocks.append(parents[:, k])
            owners.append((column.name, None))
    return (np.column_stack(blocks) if blocks else np.empty((len(parents), 0))), owners


def _least_norm(design: Floats, values: Floats) -> Floats:
    return np.asarray(np.linalg.lstsq(design, values, rcond=None)[0], dtype=np.float64)


def _linear(owners: list[Owner], solution: Floats, intercept: float) -> Linear:
    coef: dict[str, Any] = {}
    for (name, level), value in zip(owners, solution, strict=True):
        if level is None:
            coef[name] = float(value)
        else:
            coef.setdefault(name, {})[level] = float(value)
    return Linear(coef, intercept)
