"""Sums of trees over boxes, compiled: what is left of them near a person, how large they can get, where to split.

A cell is a range [low, high] for each track (a column, or a combination of columns). A number goes left at a split
when it is at most the threshold, so a split is decided when high <= threshold or low > threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np


class Forest(NamedTuple):
    """The trees of a classifier, as in `TreeView`, and what their sums must reach."""

    feature: Any
    threshold: Any
    subset: Any
    left: Any
    right: Any
    roots: Any
    values: Any
    subsets: Any
    base: Any
    need: Any
    """For each margin, what it must exceed."""
    blur: Any
    """For each margin, how near to `need` only the model's own label can decide."""
    closed: Any


class Grove(NamedTuple):
    """What is left of a forest over a box: only undecided splits. A left child follows its parent directly."""

    feature: Any
    threshold: Any
    subset: Any
    right: Any
    most: Any
    """(node, margin): the largest value below."""
    least: Any
    roots: Any
    start: Any
    """For each margin, the sum of the base and of the trees that are decided."""


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def make_grove(nodes: int, trees: int, margins: int) -> Grove:
    """Room for all that may be left."""
    return Grove(
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes),
        np.empty(nodes, dtype=np.int32),
        np.empty(nodes, dtype=np.int32),
        np.empty((nodes, margins)),
        np.empty((nodes, margins)),
        np.empty(trees, dtype=np.int32),
        np.empty(margins),
    )


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _side(feature: int, threshold: float, subset: int, low: Any, high: Any, subsets: Any, mask: Any, codes: Any) -> int:
    """-1 left, 1 right, 0 undecided; a category is undecided when its allowed levels differ."""
    if subset < 0:
        if high[feature] <= threshold:
            return -1
        return 1 if low[feature] > threshold else 0
    code = codes[feature]
    if code < 0:
        return -1 if subsets[subset, int(low[feature])] else 1
    left, right = False, False
    for level in range(mask.shape[1]):
        if mask[code, level]:
            if subsets[subset, level]:
                left = True
            else:
                right = True
    return 0 if left and right else (-1 if left else 1)


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def collapse(forest: Forest, low: Any, high: Any, mask: Any, codes: Any, grove: Grove, stack: Any, parents: Any) -> int:
    """Copy what is undecided over a box into the grove; returns how many trees are left.

    `mask` says which levels of each actionable category are allowed, `codes` which of these a track is, or -1.
    """
    margins = forest.base.shape[0]
    for m in range(margins):
        grove.start[m] = forest.base[m]
    size, trees = 0, 0
    for tree in range(forest.roots.shape[0]):
        first = size
        stack[0], parents[0] = forest.roots[tree], -1
        top = 1
        while top > 0:
            top -= 1
            v, parent = stack[top], parents[top]
            while forest.feature[v] >= 0:
                side = _side(
                    forest.feature[v], forest.threshold[v], forest.subset[v], low, high, forest.subsets, mask, codes
                )
                if side == 0:
                    break
                v = forest.left[v] if side < 0 else forest.right[v]
            if parent >= 0:
                grove.right[parent] = size
            grove.feature[size] = forest.feature[v]
            if forest.feature[v] >= 0:
                grove.threshold[size], grove.subset[size] = forest.threshold[v], forest.subset[v]
                stack[top], parents[top] = forest.right[v], size
                stack[top + 1], parents[top + 1] = forest.left[v], -1
                top += 2
            else:
                for m in range(margins):
                    grove.most[size, m] = forest.values[v, m]
                    grove.least[size, m] = forest.values[v, m]
            size += 1
        if size == first + 1:
            for m in range(margins):
                grove.start[m] += grove.most[first, m]
            size = first
            continue
        for v in range(size - 1, first - 1, -1):
            if grove.feature[v] >= 0:
                for m in range(margins):
                    grove.most[v, m] = max(grove.most[v + 1, m], grove.most[grove.right[v], m])
                    grove.least[v, m] = min(grove.least[v + 1, m], grove.least[grove.right[v], m])
        grove.roots[trees] = first
        trees += 1
    return trees


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def _goes(grove: Grove, subsets: Any, v: int, low: Any, high: Any) -> int:
    """-1 left, 1 right, 0 undecided, once levels are chosen."""
    feature = grove.feature[v]
    if grove.subset[v] < 0:
        threshold = grove.threshold[v]
        if high[feature] <= threshold:
            return -1
        return 1 if low[feature] > threshold else 0
    return -1 if subsets[grove.subset[v], int(low[feature])] else 1


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def first_undecided(grove: Grove, subsets: Any, v: int, low: Any, high: Any) -> int:
    """Follow decided splits from a node: the first that is undecided, or the leaf."""
    while grove.feature[v] >= 0:
        side = _goes(grove, subsets, v, low, high)
        if side == 0:
            return v
        v = v + 1 if side < 0 else grove.right[v]
    return v


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def largest(grove: Grove, subsets: Any, v: int, low: Any, high: Any, m: int, stack: Any) -> float:
    """The largest leaf of a tree that a cell reaches."""
    best = -np.inf
    stack[0] = v
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        while grove.most[v, m] > best and grove.feature[v] >= 0:
            side = _goes(grove, subsets, v, low, high)
            if side == 0:
                one, other = v + 1, grove.right[v]
                if grove.most[other, m] > grove.most[one, m]:
                    one, other = other, one
                stack[top] = other
                top += 1
                v = one
            else:
                v = v + 1 if side < 0 else grove.right[v]
        if grove.most[v, m] > best:
            best = grove.most[v, m]
    return best


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def smallest(grove: Grove, subsets: Any, v: int, low: Any, high: Any, m: int, stack: Any) -> float:
    """The least leaf of a tree that a cell reaches."""
    best = np.inf
    stack[0] = v
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        while grove.least[v, m] < best and grove.feature[v] >= 0:
            side = _goes(grove, subsets, v, low, high)
            if side == 0:
                stack[top] = grove.right[v]
                top += 1
                v = v + 1
            else:
                v = v + 1 if side < 0 else grove.right[v]
        if grove.least[v, m] < best:
            best = grove.least[v, m]
    return best


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def most_of(forest: Forest, grove: Grove, trees: int, members: Any, low: Any, high: Any, stack: Any, most: Any) -> bool:
    """Each tree's largest value for each margin of a goal in a cell; False if some margin cannot reach its need."""
    for g in range(members.shape[0]):
        m = members[g]
        total = grove.start[m]
        for at in range(trees):
            most[g, at] = largest(grove, forest.subsets, grove.roots[at], low, high, m, stack)
            total += most[g, at]
        over = total - forest.need[m]
        if over < -forest.blur[m] or (over == 0.0 and forest.blur[m] == 0.0 and not forest.closed[m]):
            return False
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def worth_of(
    forest: Forest, grove: Grove, trees: int, members: Any, strict: float, low: Any, high: Any, stack: Any, most: Any,
    worth: Any, gain: Any,
) -> int:  # fmt: skip
    """How a point fares: 1 surely favourable, 0 only the model can tell, -1 not.

    The point is a narrow cell. Gains are what each tree could still add in the margins that lack something.
    """
    verdict = 1
    for at in range(trees):
        gain[at] = 0.0
    for g in range(members.shape[0]):
        m = members[g]
        total = grove.start[m]
        for at in range(trees):
            worth[at] = smallest(grove, forest.subsets, grove.roots[at], low, high, m, stack)
            total += worth[at]
        over, blur = total - forest.need[m], forest.blur[m]
        if over > strict * blur or (over == 0.0 and blur == 0.0 and forest.closed[m]):
            continue
        verdict = min(verdict, 0 if blur > 0.0 and over >= -blur else -1)
        for at in range(trees):
            gain[at] += max(most[g, at] - worth[at], 0.0)
    return verdict


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def find_open(subsets: Any, grove: Grove, trees: int, low: Any, high: Any, opening: Any) -> bool:
    """Each tree's first undecided split in a cell, or its leaf; whether there is any split among them."""
    found = False
    for at in range(trees):
        v = first_undecided(grove, subsets, grove.roots[at], low, high)
        opening[at] = v
        found = found or grove.feature[v] >= 0
    return found


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def is_decided(subsets: Any, grove: Grove, trees: int, low: Any, high: Any) -> bool:
    """Whether a cell falls into one leaf of each tree."""
    for at in range(trees):
        v = first_undecided(grove, subsets, grove.roots[at], low, high)
        if grove.feature[v] >= 0:
            return False
    return True


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def choose_split(
    grove: Grove, trees: int, opening: Any, gain: Any, shares: Any, votes: Any, weights: Any
) -> tuple[int, float]:
    """The track whose undecided splits could gain most, and the weighted median of its thresholds."""
    total = 0.0
    for k in range(shares.shape[0]):
        shares[k] = 0.0
    for at in range(trees):
        if grove.feature[opening[at]] >= 0:
            total += gain[at]
    for at in range(trees):
        k = grove.feature[opening[at]]
        if k >= 0:
            if total <= 0.0:
                gain[at] = 1.0
            shares[k] += gain[at]
    best: Any = np.int64(-1)
    for k in range(shares.shape[0]):
        if shares[k] > 0.0 and (best < 0 or shares[k] > shares[best]):
            best = k
    count = np.int64(0)
    for at in range(trees):
        if grove.feature[opening[at]] == best:
            votes[count], weights[count] = grove.threshold[opening[at]], gain[at]
            count += 1
    return best, weighted_median(count, votes, weights)


@numba.njit(cache=True, nogil=True, error_model="numpy", no_cpython_wrapper=True)
def weighted_median(count: int, values: Any, weights: Any) -> float:
    """The value at which half of the weight is reached; sorts both arrays by value."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            value, weight = values[i], weights[i]
            at = i
            while at >= gap and values[at - gap] > value:
                values[at], weights[at] = values[at - gap], weights[at - gap]
                at -= gap
            values[at], weights[at] = value, weight
        gap //= 2
    total = 0.0
    for i in range(count):
        total += weights[i]
    so_far = 0.0
    for i in range(count):
        so_far += weights[i]
        if 2.0 * so_far >= total:
            return values[i]
    return values[count - 1]
