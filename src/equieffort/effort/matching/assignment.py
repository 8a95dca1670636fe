"""Optimal one-to-one pairs: the assignment problem, dense for thousands and sparse for more people."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from equieffort.data.frames import Floats
from equieffort.effort.matching.between import Between
from equieffort.effort.matching.sets import Rows

DENSE = 5_000
"""People a side up to whom every pair is considered."""
NEIGHBOURS = 50
"""Above, the nearest of the other side whom each person is considered with."""


def optimal_pairs(
    between: Between, caliper: float, *, dense: int = DENSE, neighbours: int = NEIGHBOURS
) -> tuple[Rows, Rows, Floats]:
    """As many pairs as the caliper allows, and of these the least sum of distances."""
    if not len(between.mine) or not len(between.theirs):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp), np.empty(0)
    small = max(len(between.mine), len(between.theirs)) <= dense
    mine, theirs = _dense(between, caliper) if small else _sparse(between, caliper, neighbours)
    return mine, theirs, between.pairs(mine, theirs)


def _dense(between: Between, caliper: float) -> tuple[Rows, Rows]:
    far = np.concatenate([block for _, block in between.blocks()])
    allowed = far <= caliper
    # A pair that is not allowed costs more than all that are together, so that as many as can be are made.
    most = float(far[allowed].max()) if allowed.any() else 0.0
    mine, theirs = linear_sum_assignment(np.where(allowed, far, 1.0 + most * (min(far.shape) + 1)))
    kept = allowed[mine, theirs]
    return mine[kept], theirs[kept]


def _sparse(between: Between, caliper: float, neighbours: int) -> tuple[Rows, Rows]:
    """Among each person's nearest of the other side, seen from both sides. Nobody is left over by a pair of the other
    kind: everybody of mine has a place of their own that stands for no pair."""
    near, seen = between.nearest(neighbours, caliper), between.swapped().nearest(neighbours, caliper)
    who, which = np.nonzero(near[0] >= 0)
    back, place = np.nonzero(seen[0] >= 0)
    rows = np.concatenate([who, seen[0][back, place]])
    columns = np.concatenate([near[0][who, which], back])
    apart = np.concatenate([near[1][who, which], seen[1][back, place]])
    _, first = np.unique(rows * len(between.theirs) + columns, return_index=True)
    rows, columns, apart = rows[first], columns[first], apart[first]
    if not len(rows):
        return np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
    n, m = len(between.mine), len(between.theirs)
    none = 1.0 + float(apart.max()) * (min(n, m) + 1)
    # Explicit zeros would be no edges: all weights are raised by the same amount, which a full matching pays n times.
    lift = 1.0
    weights = np.concatenate([apart, np.full(n, none)]) + lift
    graph = csr_array(
        (weights, (np.concatenate([rows, np.arange(n)]), np.concatenate([columns, m + np.arange(n)]))), shape=(n, m + n)
    )
    mine, theirs = min_weight_full_bipartite_matching(graph)
    kept = theirs < m
    return mine[kept].astype(np.intp), theirs[kept].astype(np.intp)
