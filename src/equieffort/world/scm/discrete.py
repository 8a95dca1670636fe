"""Mechanisms of nodes with a few levels in an order: yes and no, grades, stages.

A person's level is the quantile of their own noise: u, uniform between 0 and 1, picks the first level whose cumulative
probability given the causes reaches u. All that is known of a person's u is the interval that gives their level; its
middle is taken, so that unchanged causes return the fact and the answer is always the same. Levels without an order
have no such mechanism: which level an extra push leads to would be anybody's guess.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Column, Encoding, Floats, number
from equieffort.errors import CausalModelError, DataError, Setting, closest, listed, many
from equieffort.foundations.arguments import check_function, check_number, items_in, refused
from equieffort.world.scm.design import check_rows, indicators
from equieffort.world.scm.equations import MECHANISM, Discrete, DiscreteLearner, DiscreteMechanism, bad_equation
from equieffort.world.scm.functions import own_numbers
from equieffort.world.scm.mechanisms import Linear, LinearEquation, linear

MOST_LEVELS = 50


@dataclass(frozen=True)
class Ordinal(DiscreteLearner):
    """Learns `CumulativeLogit`: proportional odds of the levels in their order, for two levels logistic regression.

    Two levels, numbers and ordered categories have an order; others need it given, lowest first. `penalty` is the
    weight of half the squared coefficients of standardised causes, which keeps them finite where causes decide alone.

    >>> Ordinal(order=["none", "some", "much"])
    Ordinal(order=['none', 'some', 'much'], penalty=0.01)
    """

    order: Sequence[Any] | None = None
    penalty: float = 0.01

    def __post_init__(self) -> None:
        _check_order(self.order)
        check_number("penalty", self.penalty, "a positive number", lambda size: size > 0)

    def learn(self, node: str, causes: Encoding, parents: Floats, column: Column, values: Floats) -> CumulativeLogit:
        """Fit the node's encoded values to its encoded causes."""
        from equieffort.world.scm.odds import fit_odds

        ladder = column_ladder(node, column, values, None)
        ranks = np.searchsorted(ladder, values)
        absent = [column.levels[k] for k in range(len(ladder)) if not (ranks == k).any()]
        if absent:
            raise bad_equation(
                f"Nobody has the level {listed(absent)} of {node!r}, so nothing can be learned of it.",
                fix=("Fit on people who have it, or give the equation: ", Setting("cumulative_logit", of=node), "."),
            )
        design, owners = indicators(causes, parents)
        check_rows(node, design.shape[1] + len(ladder) - 1, len(values))
        slopes, cuts = fit_odds(design, ranks, len(ladder), self.penalty)
        levels = column.levels if column.is_category else tuple(ladder.tolist())
        return CumulativeLogit(linear(owners, slopes, 0.0).coef, cuts.tolist(), order=list(levels))


@dataclass(frozen=True)
class CumulativeLogit(DiscreteMechanism):
    """P(x <= level k) = sigmoid(cuts[k] - sum of coefficients times causes), for levels in rising order.

    The same in other words: the level is the first whose cut is not below the sum plus logistic noise. That noise is
    what `abduct` gives. `coef` is as in `Linear`; there is one cut less than there are levels.

    >>> CumulativeLogit({"age": 0.1}, [3.0], order=["rents", "owns"]).equation("housing")
    'housing = rents if 0 + 0.1*age + logistic noise <= 3, else owns'
    """

    coef: Mapping[str, float | Mapping[Any, float]]
    cuts: Sequence[float]
    order: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        _check_order(self.order)
        Linear(self.coef)
        takes = "a list of numbers in rising order"
        given = items_in("cuts", self.cuts, takes, **MECHANISM)
        for cut in given:
            check_number("a cut", cut, "a finite number", **MECHANISM)
        cuts = np.asarray(given, dtype=np.float64)
        if cuts.ndim != 1 or len(cuts) == 0 or not np.isfinite(cuts).all() or not (np.diff(cuts) > 0).all():
            raise bad_equation(f"The cuts {self.cuts!r} do not rise.", fix="Give finite numbers in rising order.")
        if self.order is not None and len(self.order) != len(cuts) + 1:
            raise bad_equation(
                f"{many(len(cuts), 'cut', 'cuts')} cannot divide {many(len(self.order), 'level', 'levels')}.",
                fix="Give one cut less than there are levels.",
            )

    def bind(self, node: str, causes: Encoding, column: Column) -> Discrete:
        """The equation over the encoded causes."""
        ladder = column_ladder(node, column, None, self.order)
        if len(ladder) != len(self.cuts) + 1:
            raise bad_equation(
                f"The equation of {node!r} has {many(len(self.cuts), 'cut', 'cuts')}, but {node!r} has "
                f"{many(len(ladder), 'level', 'levels')}.",
                fix=("Give one cut less than there are levels, and the levels as ", Setting("order"), "."),
            )
        latent = LinearEquation(causes, *Linear(self.coef).arrays(node, causes), 0.0)
        return LatentEquation(node, latent, np.asarray(self.cuts, dtype=np.float64), ladder)

    def equation(self, node: str) -> str:
        """The equation in words."""
        names = list(self.order) if self.order is not None else [f"level {k}" for k in range(len(self.cuts) + 1)]
        words = Linear(self.coef).equation("").removeprefix(" = ")
        steps = ", ".join(f"{name} if <= {number(cut)}" for name, cut in zip(names, self.cuts, strict=False))
        return f"{node} = {steps.replace(' if <=', f' if {words} + logistic noise <=', 1)}, else {names[-1]}"


@dataclass(frozen=True)
class Probabilities(DiscreteMechanism):
    """The quantile of your own probabilities: f gets a frame of the causes and returns a row of them a person.

    The columns are the levels in rising order. The noise that `abduct` gives is u, between 0 and 1.
    """

    f: Callable[[pd.DataFrame], Any]
    order: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        takes = "a function of a frame of causes"
        check_function("f", self.f, takes, **MECHANISM)
        _check_order(self.order)

    def bind(self, node: str, causes: Encoding, column: Column) -> Discrete:
        """The equation over the encoded causes."""
        return QuantileEquation(node, causes, self.f, column_ladder(node, column, None, self.order))

    def equation(self, node: str) -> str:
        """The equation in words."""
        return f"{node} = quantile of {getattr(self.f, '__name__', 'f')}(causes)"


class _Ladder(Discrete):
    """What all equations of levels share: ranks, and the person's own level where no cause moved."""

    def __init__(self, node: str, causes: Encoding, ladder: Floats) -> None:
        self.node, self.causes, self.ladder = node, causes, ladder

    def ranks(self, values: Floats) -> Any:
        """The positions of encoded values on the ladder."""
        ranks = np.searchsorted(self.ladder, values).clip(max=len(self.ladder) - 1)
        unknown = self.ladder[ranks] != values
        if unknown.any():
            raise DataError(
                "DATA_UNSEEN_CATEGORY",
                f"{self.node!r} holds {number(float(values[unknown][0]))}, which is none of its levels: "
                f"{listed(number(level) for level in self.ladder)}.",
                fix=("Correct the value, or ", Setting("fit again"), "."),
            )
        return ranks

    def counterfactual(self, values: Floats, before: Floats, after: Floats) -> Floats:
        """The level that the person's own noise picks under the new causes; their own where no cause moved."""
        moved = (before != after).any(axis=1)
        result = values.copy()
        if moved.any():
            result[moved] = self.predict(self.abduct(values[moved], before[moved]), after[moved])
        return result


class LatentEquation(_Ladder):
    """A level of a linear sum plus logistic noise, over encoded causes."""

    def __init__(self, node: str, latent: LinearEquation, cuts: Floats, ladder: Floats) -> None:
        super().__init__(node, latent.causes, ladder)
        self.latent, self.cuts = latent, cuts
        self._ends = np.concatenate([[-np.inf], cuts, [np.inf]])

    @property
    def why_unbounded(self) -> str:
        """Empty: the sum is linear."""
        return ""

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """The logistic noise in the middle, by probability, of what gives the person's level."""
        from scipy.special import expit

        ranks, score = self.ranks(values), self.latent(parents)
        low, high = self._ends[ranks] - score, self._ends[ranks + 1] - score
        # Both tails in full: the logit of (sigmoid(low) + sigmoid(high)) / 2 without a difference from 1.
        return np.asarray(np.log(expit(low) + expit(high)) - np.log(expit(-low) + expit(-high)), dtype=np.float64)

    def in_units(self, units: Floats, unit: float) -> LatentEquation:
        """The sum has no unit; its causes and the levels have."""
        return LatentEquation(self.node, self.latent.in_units(units, 1.0), self.cuts, self.ladder / unit)

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """The level whose interval holds the sum plus noise."""
        return self.ladder[np.searchsorted(self.cuts, self.latent(parents) + noise)]

    def expected(self, parents: Floats) -> Floats:
        """The mean rank of people with these causes."""
        from scipy.special import expit

        return np.asarray(expit(self.latent(parents)[:, None] - self.cuts).sum(axis=1), dtype=np.float64)

    def reach(self, noise: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """The lowest and the highest encoded level that people with this noise can have over a box each."""
        least, most = self.latent.bounds(low, high)
        least, most = np.nextafter(least + noise, -np.inf), np.nextafter(most + noise, np.inf)
        return self.ladder[np.searchsorted(self.cuts, least)], self.ladder[np.searchsorted(self.cuts, most)]


class QuantileEquation(_Ladder):
    """A level by a user's cumulative probabilities, over encoded causes."""

    def __init__(self, node: str, causes: Encoding, f: Callable[[pd.DataFrame], Any], ladder: Floats) -> None:
        super().__init__(node, causes, ladder)
        self._f = f

    @property
    def why_unbounded(self) -> str:
        """Of a user's probabilities only values are known."""
        return "its probabilities are a function whose values over a range are not known"

    def _cumulative(self, parents: Floats) -> Floats:
        try:
            given = own_numbers(self._f, self.causes.decode(parents), self.node)
        except CausalModelError as error:
            raise CausalModelError(error.code, error.what_parts, fix=self._refusal("").fix_parts) from error
        if given.shape != (len(parents), len(self.ladder)):
            raise self._refusal(f"returned shape {given.shape} for {len(parents)} people")
        if not (given >= 0).all() or not (np.abs(given.sum(axis=1) - 1) <= 1e-9).all():
            raise self._refusal("returned rows that are not probabilities")
        ends = np.clip(np.cumsum(given, axis=1), 0.0, 1.0)
        ends[:, -1] = 1.0
        return np.column_stack([np.zeros(len(ends)), ends])

    def _refusal(self, what: str) -> CausalModelError:
        return bad_equation(
            f"The probabilities of {self.node!r} {what}.",
            fix=f"Return a row a person with {len(self.ladder)} probabilities, the lowest level first.",
        )

    def abduct(self, values: Floats, parents: Floats) -> Floats:
        """The middle of the interval of u that gives the person's level."""
        ranks, ends = self.ranks(values), self._cumulative(parents)
        rows = np.arange(len(values))
        low, high = ends[rows, ranks], ends[rows, ranks + 1]
        middle = 0.5 * (low + high)
        cannot = ~((low < middle) & (middle < high))
        if cannot.any():
            raise CausalModelError(
                "SCM_CANNOT_ABDUCT",
                f"Cannot abduct {self.node!r}: {many(int(cannot.sum()), 'person has', 'people have')} a level whose "
                "probability given their causes is 0.",
                fix="Give every level that occurs a positive probability.",
            )
        return middle

    def predict(self, noise: Floats, parents: Floats) -> Floats:
        """The first level whose cumulative probability reaches u."""
        ends = self._cumulative(parents)[:, 1:]
        return self.ladder[(ends < noise[:, None]).sum(axis=1).clip(max=len(self.ladder) - 1)]

    def expected(self, parents: Floats) -> Floats:
        """The mean rank of people with these causes."""
        return np.asarray((1 - self._cumulative(parents)[:, 1:-1]).sum(axis=1), dtype=np.float64)

    def reach(self, noise: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        """All levels: nothing is known of the probabilities between values."""
        return np.full(len(low), self.ladder[0]), np.full(len(low), self.ladder[-1])


def _check_order(order: Sequence[Any] | None) -> None:
    if order is None:
        return
    takes = "a list of at least two levels, each once, the lowest first"
    given = items_in("order", order, takes)
    try:
        distinct = len(set(given))
    except TypeError:
        distinct = 0
    if distinct != len(given) or distinct < 2 or not isinstance(order, Sequence | np.ndarray | pd.Index):
        raise refused("order", order, takes)


def ordered_column(node: str, column: Column, series: pd.Series, mechanism: Any) -> Column:
    """The node's column with its levels in the mechanism's order, so that codes rise with the levels."""
    order = getattr(mechanism, "order", None)
    if not column.is_category:
        return column
    if order is not None:
        stray = [level for level in column.levels if level not in list(order)]
        if stray:
            raise bad_equation(
                f"The order of {node!r} leaves out {listed(stray)}. {closest(stray[0], order)}".rstrip(),
                fix="Name every level that occurs, the lowest first.",
            )
        # Of a level that nobody has nothing can be learned; a given equation has said what it needs to know.
        given = isinstance(mechanism, DiscreteMechanism)
        return Column(column.name, column.kind, tuple(level for level in order if given or level in column.levels))
    numbers = all(isinstance(level, Real) for level in column.levels)
    if len(column.levels) <= 2 or numbers or getattr(series.dtype, "ordered", False):
        return column
    raise CausalModelError(
        "SCM_CANNOT_ABDUCT",
        f"Cannot abduct {node!r}: its levels {listed(column.levels)} have no order, so nothing says which of them a "
        "change of its causes leads to.",
        fix=(
            "Give the order, ",
            Setting("ordinal", of=node),
            ", declare it immutable in ",
            Setting("the schema"),
            ", or remove the edges into it.",
        ),
    )


def column_ladder(node: str, column: Column, values: Floats | None, order: Sequence[Any] | None) -> Floats:
    """The encoded levels in rising order: codes of a category, or the numbers that occur or are named."""
    if column.is_category:
        ladder = np.arange(len(column.levels), dtype=np.float64)
    elif values is not None:
        ladder = np.unique(values)
    elif order is not None and all(isinstance(level, Real) for level in order):
        ladder = np.array([float(level) for level in order])
    else:
        raise bad_equation(
            f"{node!r} holds numbers, and its equation does not say which of them are its levels.",
            fix=("Give ", Setting("order"), " with the numbers in rising order."),
        )
    if not 2 <= len(ladder) <= MOST_LEVELS or not (np.diff(ladder) > 0).all():
        raise bad_equation(
            f"{node!r} has {many(len(ladder), 'level', 'levels')}, or levels that do not rise.",
            fix=f"An equation of levels needs 2 to {MOST_LEVELS} of them, the lowest first; more are a number.",
        )
    return ladder
