"""Nearest neighbours, with and without replacement."""

from __future__ import annotations

import numpy as np

from equieffort.data.frames import Floats
from equieffort.effort.matching.between import Between
from equieffort.effort.matching.sets import Rows

FIRST = 16
"""Neighbours that are looked at before more are asked for."""


def nearest_pairs(between: Between, k: int, caliper: float) -> tuple[Rows, Rows, Floats]:
    """Everybody of the group with their k nearest within the caliper."""
    places, apart = between.nearest(k, caliper)
    who, which = np.nonzero(places >= 0)
    return who, places[who, which], apart[who, which]


def greedy_pairs(between: Between, caliper: float) -> tuple[Rows, Rows, Floats]:
    """The nearest pair of all first, then the nearest of the people who are left, each once.

    Whoever has nobody left among the neighbours looked at so far is asked again about those who are left.
    """
    left, right = np.arange(len(between.mine)), np.arange(len(between.theirs))
    made: list[tuple[Rows, Rows, Floats]] = []
    looked = FIRST
    while len(left) and len(right):
        now = Between(between.bound, between.mine[left], between.theirs[right])
        places, apart = now.nearest(looked, caliper)
        if not (places >= 0).any():
            break
        mine, theirs = _greedy(places, apart, sees_all=looked >= len(right))
        made.append((left[mine], right[theirs], now.pairs(mine, theirs)))
        # Whoever has nobody within the caliper now will never have.
        gone = np.union1d(mine, np.flatnonzero((places < 0).all(axis=1)))
        left, right = np.delete(left, gone), np.delete(right, theirs)
        looked *= 2
    if not made:
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    a, b, far = (np.concatenate(parts) for parts in zip(*made, strict=True))
    order = np.argsort(a, kind="stable")
    return a[order], b[order], far[order]


def _greedy(places: Rows, apart: Floats, *, sees_all: bool) -> tuple[Rows, Rows]:
    """Pairs in rising distance while it is certain that nobody nearer was left out of sight."""
    who, which = np.nonzero(places >= 0)
    order = np.lexsort((places[who, which], who, apart[who, which]))
    used, taken, pairs = set[int](), set[int](), []
    # Whoever has a place to spare has seen everybody within the caliper.
    last = np.where((places >= 0).all(axis=1) & ~np.bool_(sees_all), apart[:, -1], np.inf)
    horizon = np.inf
    open_places = (places >= 0).sum(axis=1)
    for k in order.tolist():
        i, far = int(who[k]), float(apart[who[k], which[k]])
        j = int(places[i, which[k]])
        if far > horizon:
            break
        open_places[i] -= 1
        if i not in used and j not in taken:
            used.add(i)
            taken.add(j)
            pairs.append((i, j))
        elif i not in used and open_places[i] == 0:
            # All it saw are taken: somebody unseen, no nearer than the last seen, might be next.
            horizon = min(horizon, float(last[i]))
    mine, theirs = (np.array([pair[side] for pair in pairs], dtype=np.intp) for side in (0, 1))
    return mine, theirs
