"""The paper's synthetic data, and the audit results that a very large sample of them has."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, log_ndtr

from equieffort.datasets._checks import count, generator, one_of
from equieffort.errors import ParameterError

_LARGEST_ALPHA = 1000.0


def paper_synthetic(
    alpha: float = 2.0,
    n: int = 1000,
    random_state: int | np.random.Generator | None = 0,
    *,
    labels: Literal["drawn", "thresholded"] = "drawn",
) -> tuple[pd.DataFrame, pd.Series]:
    """Draw people from the paper's synthetic model, in which a group is behind by `alpha`.

    S is 0 or 1 with equal chance, and 0 is the protected group. X2 is `alpha` S plus a normal draw of mean
    3 and standard deviation 1; X3 is standard normal. The chance of the favourable outcome 1 is the
    logistic function of X2 + X3, standardised by the mean and the standard deviation (ddof = 0) of this
    sample.

    Parameters
    ----------
    alpha : float
        The head start in X2 of the people with S = 1; at most 1000 in size.
    n : int
        How many people, at least 1.
    random_state : int, numpy Generator or None
        Seed of the draws; None draws differently each time. One seed gives the same S, X3 and noise of X2
        for every `alpha`, and the same features for both kinds of `labels`.
    labels : "drawn" or "thresholded"
        Whether a label is drawn with its chance, or is 1 when the chance exceeds one half. The paper does
        not say which it used.

    Returns
    -------
    people : DataFrame
        Columns S (int8), X2 and X3 (float64), indexed 0..n-1.
    outcome : Series
        Named Y; 1 is favourable and 0 unfavourable (int64).

    Raises
    ------
    ParameterError
        An argument is out of its domain.

    Examples
    --------
    >>> people, outcome = paper_synthetic(alpha=2, n=500, random_state=1)
    >>> list(people.columns), people.shape, outcome.name
    (['S', 'X2', 'X3'], (500, 3), 'Y')
    >>> by_group = people.groupby("S")["X2"].mean()
    >>> bool(abs(by_group[1] - by_group[0] - 2) < 0.5)
    True
    """
    head_start, people_count = _alpha(alpha), count(n)
    one_of("labels", labels, ["drawn", "thresholded"])
    rng = generator(random_state)
    S = rng.integers(0, 2, size=people_count, dtype=np.int8)
    X2 = head_start * S + rng.normal(3.0, 1.0, size=people_count)
    X3 = rng.normal(0.0, 1.0, size=people_count)
    score = X2 + X3
    spread = score.std()
    # One person alone has no spread, and then sits exactly at the mean.
    chance = expit((score - score.mean()) / (spread if spread > 0 else 1.0))
    # Labels are drawn last, so that the features do not depend on how labels are made.
    favourable = rng.random(people_count) < chance if labels == "drawn" else chance > 0.5
    people = pd.DataFrame({"S": S, "X2": X2, "X3": X3})
    return people, pd.Series(favourable.astype(np.int64), name="Y")


def paper_synthetic_truth(alpha: float) -> dict[str, float]:
    """Give the audit results of `paper_synthetic` in the limit of a very large sample.

    The decision is taken to be favourable when X2 + X3 is above its mean, 3 + alpha/2, which is where a
    logistic regression on these data settles. Nothing causes X3 and only S causes X2, so the least effort
    moves one feature across the whole gap to the mean; in standard-deviation units this is X2, the wider
    one.

    With z = alpha / (2 sqrt 2) and phi, Phi the standard normal density and distribution, the mean gap of
    the refused is alpha/2 + sqrt 2 phi(z)/Phi(z) in the protected group, and -alpha/2 + sqrt 2
    phi(z)/Phi(-z) in the other one. Raising X2 by alpha makes a protected person one of the other group, so
    the share of the refused who stay refused is Phi(-z)/Phi(z) (and 1 for a negative alpha, which helps
    nobody).

    Parameters
    ----------
    alpha : float
        The head start in X2 of the people with S = 1; at most 1000 in size.

    Returns
    -------
    dict
        `protected_cost` and `unprotected_cost`, the mean effort in standard deviations of X2;
        `protected_cost_raw` and `unprotected_cost_raw`, the same in units of X2; `acr`, the ratio of
        protected to unprotected cost over the whole population; `cfr`, the share of the protected, refused
        people whose outcome stays when S is flipped and the flip is propagated.

    Raises
    ------
    ParameterError
        `alpha` is not a finite number of at most 1000 in size.

    Examples
    --------
    >>> truth = paper_synthetic_truth(2)
    >>> round(truth["acr"], 3), round(truth["cfr"], 3)
    (1.895, 0.315)
    """
    half = _alpha(alpha) / 2
    z = half / math.sqrt(2)
    log_density = -(z**2) / 2 - math.log(2 * math.pi) / 2
    # Logarithms: far in a tail both density and distribution round to zero, and only their ratio is wanted.
    below, above = float(log_ndtr(z)), float(log_ndtr(-z))
    protected = half + math.sqrt(2) * math.exp(log_density - below)
    unprotected = -half + math.sqrt(2) * math.exp(log_density - above)
    sd = math.hypot(1.0, half)
    return {
        "protected_cost": protected / sd,
        "unprotected_cost": unprotected / sd,
        "protected_cost_raw": protected,
        "unprotected_cost_raw": unprotected,
        "acr": protected / unprotected,
        "cfr": math.exp(min(0.0, above - below)),
    }


def _alpha(alpha: float) -> float:
    try:
        value = float(alpha)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    # The limit is far beyond any use; past it the closed forms would drown in rounding.
    if not abs(value) <= _LARGEST_ALPHA:
        raise ParameterError(
            "PARAMETER",
            f"alpha is {alpha!r}, which is not a finite number of at most {_LARGEST_ALPHA:g} in size.",
            fix="The paper uses whole numbers from 0 to 6.",
        )
    return value
