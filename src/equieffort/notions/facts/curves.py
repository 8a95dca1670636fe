"""FACTS' six notions as readings of effectiveness curves: sorted efforts, infinite for whoever is not turned.

Micro: each person's own least effort, so the curve is F(e), the share of the refused whom an effort of at most e turns.
Macro: everybody takes the same action, and the curve is M(e) = max over actions A of the share whom A turns at a cost
of at most e. Its r-th step lies at the least, over actions, of the r-th smallest cost, so that M too is a curve of
sorted "efforts", and the notions are the same readings of both.
"""

from __future__ import annotations

from math import ceil, nan

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.inference.orders import shares_at

SLACK = 1e-9
"""So much of one person a share such as 0.7 may ask too much by rounding."""


def macro_curve(costs: Floats) -> Floats:
    """The steps of M: for each number of people the least effort at which one action turns as many.

    >>> macro_curve(np.array([[1.0, 5.0], [9.0, 5.0], [np.inf, np.inf]])).tolist()
    [1.0, 5.0, inf]
    """
    if not costs.shape[1]:
        return np.full(len(costs), np.inf)
    return np.asarray(np.sort(costs, axis=0).min(axis=1))


def rank_of(share: float, n: int) -> int:
    """How many of n people are at least this share of them."""
    return max(1, ceil(share * n - SLACK))


def effectiveness(curve: Floats) -> float:
    """The share who are turned at any cost."""
    return within_budget(curve, np.finfo(np.float64).max)


def within_budget(curve: Floats, budget: float) -> float:
    """The share who are turned with at most this effort.

    >>> within_budget(np.array([0.1, 0.3, np.inf, np.inf]), 0.3)
    0.5
    """
    return float(shares_at(curve, np.array([budget]))[0]) if budget == budget else nan


def cost_of_effectiveness(curve: Floats, phi: float) -> float:
    """The least effort that turns a share of at least phi; infinite where none does.

    >>> curve = np.array([0.1, 0.3, np.inf, np.inf])
    >>> cost_of_effectiveness(curve, 0.5), cost_of_effectiveness(curve, 0.75)
    (0.3, inf)
    """
    return float(curve[rank_of(phi, len(curve)) - 1]) if len(curve) else nan


def mean_recourse(curve: Floats) -> float:
    """The mean effort of those who are turned; NaN where nobody is."""
    turned = curve[np.isfinite(curve)]
    return float(turned.mean()) if len(turned) else nan


def largest_gap(mine: Floats, theirs: Floats) -> tuple[float, float]:
    """The largest distance of two curves, with its sign (above 0: theirs is higher), and the effort where it first is.

    >>> largest_gap(np.array([1.0, 2.0]), np.array([1.0, 1.5]))
    (0.5, 1.5)
    """
    if not len(mine) or not len(theirs):
        return nan, nan
    both = np.concatenate([mine, theirs])
    at = np.unique(both[np.isfinite(both)])
    if not len(at):
        return 0.0, nan
    gaps = shares_at(theirs, at) - shares_at(mine, at)
    k = int(np.abs(gaps).argmax())
    return float(gaps[k]), float(at[k])


def farthest(mine: Floats, theirs: Floats, known: tuple[Floats, Floats]) -> float:
    """How far, at any effort, the difference of two curves is from that of two others.

    >>> farthest(np.array([1.0, 2.0]), np.array([1.0, 1.0]), (np.array([2.0, 2.0]), np.array([1.0, 1.0])))
    0.5
    """
    every = [mine, theirs, *known]
    at = np.unique(np.concatenate(every))
    at = at[np.isfinite(at)]
    own, other, before, other_before = (shares_at(one, at) for one in every)
    return float(np.abs((other - own) - (other_before - before)).max(initial=0.0))


def choices(costs: Floats, phi: float) -> int:
    """How many actions turn at least a share of phi.

    >>> choices(np.array([[1.0, np.inf], [1.0, 2.0]]), 0.6)
    1
    """
    return len(chosen(costs, phi))


def chosen(costs: Floats, phi: float) -> list[int]:
    """Which actions turn at least a share of phi: the most effective first, of equals the cheaper on average."""
    if not len(costs):
        return []
    turned = np.isfinite(costs)
    reach = turned.sum(axis=0)
    paid = np.where(turned, costs, 0.0).sum(axis=0)
    order = np.lexsort((paid, -reach))
    return [int(k) for k in order if reach[k] >= rank_of(phi, len(costs))]
