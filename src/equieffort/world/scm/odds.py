"""Proportional odds (cumulative logit) by penalised maximum likelihood."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from equieffort.data.frames import Floats


def fit_odds(design: Floats, ranks: Any, levels: int, penalty: float) -> tuple[Floats, Floats]:
    """Slopes and rising cuts of P(rank <= k) = sigmoid(cuts[k] - slopes . x).

    Minimises the negative log-likelihood plus penalty / 2 times the squared slopes of standardised columns. In the cuts
    and slopes this is convex (McCullagh, 1980); Newton steps, halved until they keep the cuts rising and help.
    """
    middle = design.mean(axis=0)
    still = np.ptp(design, axis=0) == 0
    scale = np.where(still, 1.0, design.std(axis=0))
    columns = np.where(still, 0.0, (design - middle) / scale)
    shares = np.cumsum(np.bincount(ranks, minlength=levels))[:-1] / len(ranks)
    point = np.concatenate([np.log(shares / (1 - shares)), np.zeros(columns.shape[1])])
    value, gradient, hessian = _loss(point, columns, ranks, levels, penalty)
    for _ in range(100):
        step = np.linalg.solve(hessian, gradient)
        decrease = float(gradient @ step)
        if decrease <= 1e-18 * (1 + abs(value)):
            break
        size = 1.0
        while size > 1e-12:
            trial = point - size * step
            if (np.diff(trial[: levels - 1]) > 0).all():
                found = _loss(trial, columns, ranks, levels, penalty)
                if found[0] <= value - 1e-4 * size * decrease:
                    break
            size *= 0.5
        else:
            break
        point, (value, gradient, hessian) = trial, found
    cuts, slopes = point[: levels - 1], point[levels - 1 :] / scale
    return slopes, cuts + float(middle @ slopes)


def _loss(point: Floats, columns: Floats, ranks: Any, levels: int, penalty: float) -> tuple[float, Floats, Floats]:
    """Penalised negative log-likelihood, its gradient and its second derivatives."""
    cuts, slopes = point[: levels - 1], point[levels - 1 :]
    score = columns @ slopes
    ends = np.concatenate([[-np.inf], cuts, [np.inf]])
    low, high = ends[ranks] - score, ends[ranks + 1] - score
    # log(sigmoid(high) - sigmoid(low)) as a sum of parts that neither tail rounds away.
    gap = high - low
    value = -float(np.sum(log_expit(high) + log_expit(-low) + np.log1p(-np.exp(-gap))))
    value += 0.5 * penalty * float(slopes @ slopes)
    with np.errstate(over="ignore"):
        between = 1 / np.expm1(gap)
    bend = between * (1 + between)
    up, down = expit(-high) + between, -expit(low) - between
    up_up = -expit(high) * expit(-high) - bend
    down_down = -expit(low) * expit(-low) - bend
    rows = np.arange(len(ranks))
    at_high, at_low = np.zeros((2, len(ranks), levels + 1))
    at_high[rows, ranks + 1] = 1.0
    at_low[rows, ranks] = 1.0
    of_high = np.column_stack([at_high[:, 1:-1], -columns])
    of_low = np.column_stack([at_low[:, 1:-1], -columns])
    gradient = -(of_high.T @ up + of_low.T @ down)
    hessian = -(
        of_high.T @ (up_up[:, None] * of_high)
        + of_low.T @ (down_down[:, None] * of_low)
        + of_high.T @ (bend[:, None] * of_low)
        + of_low.T @ (bend[:, None] * of_high)
    )
    gradient[levels - 1 :] += penalty * slopes
    hessian[levels - 1 :, levels - 1 :] += penalty * np.eye(len(slopes))
    return value, gradient, hessian
