"""World: people drawn from structural equations that are known, so that recourse can be judged against the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats, aligned, number, read_frame, require_columns, screen
from equieffort.datasets._checks import count, generator
from equieffort.errors import CausalModelError, ParameterError, closest, label, listed
from equieffort.foundations.arguments import as_numbers, calling, check_mapping, of_factual
from equieffort.world.graph import CausalGraph
from equieffort.world.scm import Function, Linear, Mechanism, StructuralCausalModel

Causes = Mapping[str, Any] | pd.DataFrame
"""Column -> a value a person."""


@dataclass(frozen=True, eq=False)
class Equation:
    """x = value(causes, noise), the noise that gives an x (NaN if none does), and a mechanism if it is additive."""

    causes: tuple[str, ...]
    value: Callable[[Causes, Floats], Floats]
    noise: Callable[[Causes, Floats], Floats]
    mechanism: Mechanism | None = None


def root() -> Equation:
    """A feature without causes: its noise is its value."""
    return Equation((), lambda causes, noise: noise, lambda causes, x: x)


def additive(causes: tuple[str, ...], f: Callable[[Causes], Any], mechanism: Mechanism | None = None) -> Equation:
    """x = f(causes) + noise."""
    return Equation(
        causes,
        lambda values, noise: np.asarray(f(values), dtype=np.float64) + noise,
        lambda values, x: x - np.asarray(f(values), dtype=np.float64),
        mechanism or Function(f),
    )


def linear(coef: Mapping[str, float], intercept: float = 0.0) -> Equation:
    """x = intercept + sum of coefficients times causes + noise."""

    def f(values: Causes) -> Any:
        return sum((weight * values[name] for name, weight in coef.items()), start=intercept)

    return additive(tuple(coef), f, Linear(dict(coef), intercept))


@dataclass(frozen=True, eq=False)
class World:
    """A structural causal model whose equations and noises are known, and the chance of the favourable label 1.

    `sample` draws people and labels, `noise` recovers what is particular to each person, and `counterfactual` says what
    would have become of them: abduct, act, predict, with the true equations whether or not these are additive in the
    noise. `scm` gives the same equations to an audit where that is possible.

    Examples
    --------
    >>> from equieffort.datasets import karimi_three_variables
    >>> world = karimi_three_variables()
    >>> people, labels = world.sample(3, random_state=1)
    >>> after = world.counterfactual(world.noise(people), do={"X1": people["X1"] + 1})
    >>> (after - people).round(9).iloc[0].to_dict()
    {'X1': 1.0, 'X2': -1.0, 'X3': -0.2}
    """

    name: str
    equations: Mapping[str, Equation]
    """Column -> its equation, causes before effects."""
    draw: Callable[[np.random.Generator, int], Mapping[str, Floats]]
    """Noise of so many people; that of a column without causes is its value."""
    chance: Callable[[Causes], Any]
    """The chance of the label 1."""
    actionable: tuple[str, ...]
    """What people may change."""
    sensitive: str | None = None
    """The column that groups are formed by, if there is one."""

    def __repr__(self) -> str:
        return f"World({self.name!r}, {len(self.columns)} columns)"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, causes before effects."""
        return tuple(self.equations)

    @cached_property
    def graph(self) -> CausalGraph:
        """What causes what."""
        edges = [(cause, name) for name, equation in self.equations.items() for cause in equation.causes]
        return CausalGraph.of(edges, self.columns)

    @property
    def scm(self) -> StructuralCausalModel | None:
        """The true equations as an additive model, or None if there is no such model.

        It is exact for every intervention on the actionable features. In the loan world alone it is not for all
        others, since there E is not additive in its noise; `counterfactual` is exact for all.
        """
        mechanisms = {name: e.mechanism for name, e in self.equations.items() if e.causes}
        if any(mechanism is None for mechanism in mechanisms.values()):
            return None
        return StructuralCausalModel(self.graph, mechanisms=mechanisms)

    def sample(
        self, n: int = 1000, random_state: int | np.random.Generator | None = 0
    ) -> tuple[pd.DataFrame, pd.Series]:
        """Draw people and their labels, 1 (favourable) or 0, drawn with `probability`."""
        size, rng = count(n), generator(random_state)
        people = self.counterfactual(pd.DataFrame(self.draw(rng, size)))
        labels = rng.random(size) < self.probability(people)
        return people, pd.Series(labels.astype(np.int64), name="Y")

    def probability(self, X: Any) -> Floats:
        """The true chance of the favourable label of each person."""
        return np.asarray(self.chance(self._values(X, "X")), dtype=np.float64)

    def noise(self, X: Any) -> pd.DataFrame:
        """The noise of each person: what the equations leave to be explained; for a column without causes its value."""
        frame = read_frame(X)
        values = self._values(frame, "X")
        found = {name: equation.noise(values, values[name]) for name, equation in self.equations.items()}
        for name, noise in found.items():
            impossible = ~np.isfinite(noise)
            if impossible.any():
                row = int(impossible.argmax())
                raise CausalModelError(
                    "SCM_CANNOT_ABDUCT",
                    f"No noise gives {name!r} the value {number(values[name][row])} of row {label(frame.index[row])} "
                    f"in the world {self.name!r}.",
                    fix="Ask only about people of this world, as sample() draws them.",
                )
        return pd.DataFrame({name: self._typed(name, x, frame) for name, x in found.items()}, index=frame.index)

    def counterfactual(self, noise: Any, do: Mapping[str, Any] | None = None) -> pd.DataFrame:
        """What people with these noises look like under the interventions `do`.

        Parameters
        ----------
        noise
            A row a person, as `noise` returns it.
        do
            Column -> a value for everybody, one a person, or a function of their factual values; NaN leaves the column
            of that person to its equation.
        """
        frame = read_frame(noise, what="noise")
        noises = self._values(frame, "noise")
        settings = self._settings({} if do is None else do, frame)
        values: dict[str, Floats] = {}
        for name, equation in self.equations.items():
            values[name] = equation.value(values, noises[name])
            if name in settings:
                values[name] = np.where(np.isnan(settings[name]), values[name], settings[name])
        return pd.DataFrame({name: self._typed(name, x, frame) for name, x in values.items()}, index=frame.index)

    def _typed(self, name: str, values: Floats, frame: pd.DataFrame) -> Any:
        """A column without causes that was drawn as whole numbers stays one, unless it is set to a fraction."""
        dtype = frame[name].dtype
        is_whole = pd.api.types.is_integer_dtype(dtype) and not self.equations[name].causes
        return (
            pd.Series(values, frame.index).astype(dtype) if is_whole and (values == np.round(values)).all() else values
        )

    def _values(self, table: Any, what: str) -> dict[str, Floats]:
        frame = read_frame(table, what=what)
        require_columns(frame, self.columns, why=f"The world {self.name!r} has a column, but {what}")
        screen(frame, self.columns, "error")
        return {name: frame[name].to_numpy(dtype=np.float64) for name in self.columns}

    def _settings(self, do: Mapping[str, Any], noise: pd.DataFrame) -> dict[str, Floats]:
        check_mapping("do", do, 'a mapping from column to value, such as {"age": 40}', code="SCM_DO")
        settings, index, n = {}, noise.index, len(noise)
        factual = self.counterfactual(noise) if any(callable(value) for value in do.values()) else noise
        for name, value in do.items():
            if name not in self.equations:
                raise ParameterError(
                    "SCM_DO",
                    f"do names {name!r}, which the world {self.name!r} does not have. "
                    f"{closest(name, self.columns)}".rstrip(),
                    fix=f"The columns are {listed(self.columns)}.",
                )
            if callable(value):
                value = of_factual(value, factual[name], f"do[{name!r}]")
            if np.shape(value) == (n,):
                value = aligned(value, index, f"do[{name!r}]", "values.loc[noise.index]", derived=True)
            with calling(f"Reading do[{name!r}]", "Give finite numbers.", code="SCM_DO"):
                settings[name] = as_numbers(value)
            if settings[name].shape not in ((), (n,)) or np.isinf(settings[name]).any():
                raise ParameterError(
                    "SCM_DO",
                    f"do sets {name!r} to values of shape {settings[name].shape} for {n} people, or to infinite ones.",
                    fix="Give one finite value for everybody, or one a person; NaN leaves a person's value alone.",
                )
        return settings
