"""Logistic and linear regressions fitted to many weightings of the same rows at once, by Newton's method.

A bootstrap of a regression is the same fit with other counts of each row: one product of matrices serves all
replicates.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from equieffort.data.frames import Floats

RIDGE = 1e-4
"""A hair of shrinkage of all but the intercept, so that a fit exists where a line parts the outcomes without error."""
LONGEST_STEP = 4.0
STEPS = 60
CLOSE = 1e-8


def fit_logistic(design: Floats, outcome: Floats, weights: Floats) -> Floats:
    """Coefficients, a row a weighting: E[outcome] = expit(design @ coef); outcomes may be shares between 0 and 1.

    NaN where Newton's steps do not settle. `weights` is (weightings, rows); the first column of `design` is constant.

    >>> x = np.array([0.0, 0.0, 1.0, 1.0])
    >>> design, outcome = np.column_stack([np.ones(4), x]), np.array([0.25, 0.25, 0.5, 0.5])
    >>> fit_logistic(design, outcome, np.ones((1, 4))).round(3).tolist()  # log odds of 1/4, then to even
    [[-1.098, 1.098]]
    """
    rows, columns = design.shape
    ridge = np.full(columns, RIDGE)
    ridge[0] = 1e-9
    products = (design[:, :, None] * design[:, None, :]).reshape(rows, -1)
    coef = np.zeros((len(weights), columns))
    settled = np.zeros(len(weights), dtype=bool)
    for _ in range(STEPS):
        chance = expit(np.clip(coef @ design.T, -35.0, 35.0))
        gradient = (weights * (outcome - chance)) @ design - ridge * coef
        curvature = (weights * chance * (1 - chance)) @ products
        step = solve_rows(curvature.reshape(-1, columns, columns) + np.diag(ridge + 1e-12), gradient)
        longest = np.abs(step).max(axis=1)
        coef += step * np.minimum(1.0, LONGEST_STEP / np.maximum(longest, 1e-300))[:, None]
        settled = longest < CLOSE * (1.0 + np.abs(coef).max(axis=1))
        if settled.all() or not np.isfinite(longest).any():
            break
    return np.where(settled[:, None], coef, np.nan)


def fit_linear(design: Floats, outcome: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Least squares: coefficients and the variance of what is left over, a row a weighting."""
    columns = design.shape[1]
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    left = (weights @ products).reshape(-1, columns, columns) + 1e-9 * np.eye(columns)
    coef = solve_rows(left, (weights * outcome) @ design)
    rest = outcome - coef @ design.T
    return coef, (weights * rest**2).sum(axis=1) / weights.sum(axis=1)


def solve_rows(matrices: Floats, right: Floats) -> Floats:
    """One small system of equations a row; NaN where one has no answer."""
    try:
        return np.asarray(np.linalg.solve(matrices, right[..., None])[..., 0], dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
        for k, (matrix, one) in enumerate(zip(matrices, right, strict=True)):
            if np.isfinite(matrix).all() and np.linalg.matrix_rank(matrix) == len(matrix):
                found[k] = np.linalg.solve(matrix, one)
        return found
