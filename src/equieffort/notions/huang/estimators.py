"""How E[Y(t)] of a group is found: by equations, regression or weighting.

BySCM        Y_i(t): do(treatment = t), everything downstream follows, the model decides
ByRegression E[Y | t, x] by a logistic regression in each group, averaged over the people's own x
ByWeighting  people weighted by f(t) / f(t | x) (the inverse propensity), then E[Y | t, x] by a logistic regression of
             the weighted people, averaged over x; of a treatment with few levels with a constant for each level

x are the columns that the treatment does not move: all but the treatment, its descendants in the graph and the
protected columns, unless `adjust` names others. Both assume that no other cause of the treatment moves the outcome.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.arguments import check_whole, names_in
from equieffort.notions.huang.logistic import fit_linear, fit_logistic

Rows = npt.NDArray[np.intp]
FEW_LEVELS = 10
"""A treatment of at most so many values is weighted level by level."""


class Estimator:
    """How E[Y(t)] is found, as a value: `BySCM()`, `ByRegression()`, `ByWeighting()`."""


@dataclass(frozen=True)
class BySCM(Estimator):
    """Each person's own outcome after do(treatment = t), by the structural equations and the model."""


@dataclass(frozen=True)
class Adjusted(Estimator):
    """What regression and weighting share.

    `degree` is that of the polynomial of t inside the logistic curve; `adjust` names the columns that are adjusted for.
    """

    degree: int = 1
    adjust: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        check_whole("degree", self.degree, 1)
        if self.adjust is not None:
            object.__setattr__(self, "adjust", names_in("adjust", self.adjust))


@dataclass(frozen=True)
class ByRegression(Adjusted):
    """Outcome regression (the g-formula): a logistic regression of the outcome on t and x, averaged over x."""


@dataclass(frozen=True)
class ByWeighting(Adjusted):
    """Inverse propensity weighting, doubly robust: the people of the regression are weighted, so that it suffices that
    either the weights or the regression is right (Kang, Schafer 2007)."""


class Curves(ABC):
    """E[Y(t)] over a grid for any people: what an estimator becomes once people, outcome and grid are known."""

    grid: Floats
    """Growing."""

    @abstractmethod
    def curves(self, rows: Rows, counts: Floats, members: Bools) -> Floats:
        """One curve a row of counts, which say how often each of `rows`, the people of one group, is drawn.

        The curve is of the `members` among them; a regression learns from all of `rows`.
        """

    @abstractmethod
    def each(self, rows: Rows) -> Floats | None:
        """The curve of each of the people of a group; None where only groups have one."""

    def undefined(self, rows: Rows) -> Bools:
        """Whose outcome is not known at some t."""
        return np.zeros(len(rows), dtype=bool)


@dataclass(frozen=True, eq=False)
class Counterfactual(Curves):
    """Outcomes of everybody at every t: (people, grid)."""

    grid: Floats
    outcomes: Floats

    def curves(self, rows: Rows, counts: Floats, members: Bools) -> Floats:
        """Means over the members whose outcomes are known."""
        mine = self.outcomes[rows]
        taken = members & ~self.undefined(rows)
        weights = counts[:, taken]
        total = weights.sum(axis=1, keepdims=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(total > 0, weights @ mine[taken] / total, np.nan)

    def each(self, rows: Rows) -> Floats:
        """Each person's own outcomes."""
        return self.outcomes[rows]

    def undefined(self, rows: Rows) -> Bools:
        """Whose counterfactual some equation cannot give."""
        return np.asarray(np.isnan(self.outcomes[rows]).any(axis=1))


@dataclass(frozen=True, eq=False)
class Observed(Curves):
    """What is learned from: treatment, outcome and x of everybody."""

    grid: Floats
    how: Adjusted
    treatment: Floats
    outcome: Floats
    covariates: Floats
    """Standardised, without a constant."""

    def undefined(self, rows: Rows) -> Bools:
        """Whose treatment, outcome or x is missing."""
        parts = (self.covariates[rows], self.treatment[rows, None], self.outcome[rows, None])
        return np.asarray(np.isnan(np.column_stack(parts)).any(axis=1))

    @property
    def _scale(self) -> tuple[float, float]:
        known = self.treatment[~np.isnan(self.treatment)]
        return float(known.mean()), float(known.std()) or 1.0

    def _powers(self, values: Floats) -> Floats:
        centre, spread = self._scale
        return np.column_stack([((values - centre) / spread) ** k for k in range(self.how.degree + 1)])

    def _known(self, rows: Rows, counts: Floats) -> tuple[Rows, Floats, Bools]:
        known = ~self.undefined(rows)
        return rows[known], counts[:, known].astype(np.float64), known

    def _over_x(self, rows: Rows, counts: Floats, coef: Floats, at: Floats) -> Floats:
        """What logistic regressions say at points of the grid, averaged over these people's x: a row a regression.

        The coefficients are those of the columns of `at`, then those of x.
        """
        others = coef[:, at.shape[1] :] @ self.covariates[rows].T
        found, total = np.full((len(counts), len(at)), np.nan), counts.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            for k, own in enumerate(at @ coef[:, : at.shape[1]].T):
                found[:, k] = (counts * expit(others + own[:, None])).sum(axis=1) / total
        return found

    @property
    def levels(self) -> Floats:
        """The treatment's values."""
        return np.unique(self.treatment[~np.isnan(self.treatment)])


@dataclass(frozen=True, eq=False)
class Regressed(Observed):
    """E[Y | t, x] of each group, averaged over x."""

    def curves(self, rows: Rows, counts: Floats, members: Bools) -> Floats:
        """A fit for each row of counts; the average is over the members as often as they are drawn."""
        rows, counts, known = self._known(rows, counts)
        taken = members[known]
        found = np.full((len(counts), len(self.grid)), np.nan)
        if not taken.any():
            return found
        coef = self._fit(rows, counts)
        return self._over_x(rows[taken], counts[:, taken], coef, self._powers(self.grid))

    def each(self, rows: Rows) -> Floats:
        """E[Y | t, x_i], learned from all of them."""
        known = ~self.undefined(rows)
        found = np.full((len(rows), len(self.grid)), np.nan)
        if known.any():
            coef = self._fit(rows[known], np.ones((1, int(known.sum()))))[0]
            others = self.covariates[rows[known]] @ coef[self.how.degree + 1 :]
            found[known] = expit(others[:, None] + self._powers(self.grid) @ coef[: self.how.degree + 1])
        return found

    def _fit(self, rows: Rows, counts: Floats) -> Floats:
        design = np.column_stack([self._powers(self.treatment[rows]), self.covariates[rows]])
        return fit_logistic(design, self.outcome[rows], counts)


@dataclass(frozen=True, eq=False)
class Weighted(Observed):
    """E[Y(t)] by a regression of people weighted by the inverse of how likely their treatment was.

    The weighted residuals of a logistic regression are 0 on average and uncorrelated with t, so that what it says,
    averaged over x, is right too where only the weights are (Kang, Schafer 2007). Weighted means hang on few people of
    large weights: in the world of benchmarks/equality_of_effort.py they were off by a tenth, with twice the spread.
    """

    def curves(self, rows: Rows, counts: Floats, members: Bools) -> Floats:
        """Propensity and curve are learned from the members alone."""
        rows, counts = self._known(rows[members], counts[:, members])[:2]
        if not len(rows):
            return np.full((len(counts), len(self.grid)), np.nan)
        by_level = len(self.levels) <= FEW_LEVELS
        return self._by_level(rows, counts) if by_level else self._smooth(rows, counts)

    def each(self, rows: Rows) -> None:
        """Weights make sense of groups only."""
        return

    def _smooth(self, rows: Rows, counts: Floats) -> Floats:
        powers = self._powers(self.treatment[rows])
        t, design = powers[:, 1], np.column_stack([np.ones(len(rows)), self.covariates[rows]])
        weights = counts
        if self.covariates.shape[1]:
            coef, variance = fit_linear(design, t, counts)
            mean, spread = fit_linear(np.ones((len(rows), 1)), t, counts)
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                own = np.asarray(t - coef @ design.T) ** 2 / variance[:, None]
                exponent = own - np.asarray(t - mean) ** 2 / spread[:, None]
                weights = counts * np.sqrt(variance / spread)[:, None] * np.exp(np.minimum(exponent / 2, 50.0))
        usable = np.asarray(np.isfinite(weights).all(axis=1))
        fitted = fit_logistic(
            np.column_stack([powers, self.covariates[rows]]), self.outcome[rows],
            np.where(usable[:, None], weights, counts),
        )  # fmt: skip
        found = self._over_x(rows, counts, fitted, self._powers(self.grid))
        return np.where(usable[:, None], found, np.nan)

    def _by_level(self, rows: Rows, counts: Floats) -> Floats:
        """Propensities by a multinomial logit, fitted pair by pair against the commonest level (Begg, Gray 1984)."""
        t, levels = self.treatment[rows], self.levels
        design = np.column_stack([np.ones(len(rows)), self.covariates[rows]])
        base = float(levels[np.argmax([(t == level).sum() for level in levels])])
        odds = np.zeros((len(counts), len(levels), len(rows)))
        for j, level in enumerate(levels.tolist()):
            if level == base or not (t == level).any():
                odds[:, j] = 1.0 if level == base else 0.0
                continue
            pair = (t == level) | (t == base)
            coef = fit_logistic(design, (t == level).astype(np.float64), counts * pair)
            odds[:, j] = np.exp(np.clip(coef @ design.T, -35.0, 35.0))
        chances = odds / odds.sum(axis=1, keepdims=True)
        place = np.searchsorted(levels, t)
        weights = counts / chances[:, place, np.arange(len(rows))]
        is_drawn = np.array([(counts * (place == j)).sum(axis=1) > 0 for j in range(len(levels))]).T
        # A constant for each level but the base, beside x.
        apart = (levels[:, None] == np.delete(levels, np.flatnonzero(levels == base))).astype(np.float64)
        at = np.column_stack([np.ones(len(levels)), apart])
        coef = fit_logistic(np.column_stack([at[place], self.covariates[rows]]), self.outcome[rows], weights)
        known = np.where(is_drawn, self._over_x(rows, counts, coef, at), np.nan)
        found = np.full((len(counts), len(self.grid)), np.nan)
        for k, point in enumerate(self.grid):
            for at_level in np.flatnonzero(levels == point):
                found[:, k] = known[:, at_level]
        return found
