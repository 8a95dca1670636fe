"""Sums of trees over boxes, compiled: what is left of them near a person, how large they can get, where to split.

A sum of trees is bounded by the sum of each tree's largest leaf that a box can reach (Chen et al., "Robustness
verification of tree-based models", 2019).

A cell is a range [low, high] for each track (a column, or a combination of columns). A number goes left at a split
when it is at most the threshold, so a split is decided when high <= threshold or low > threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.jit import kernel, maker


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
    rounding_error: Any
    """For each margin, how near to `need` only the model's own label can decide."""
    closed: Any


class Grove(NamedTuple):
    """What is left of a forest over a box: only undecided splits. A left child follows its parent directly."""

    link: Any
    """(node, 3): the track (-1 at a leaf), the right child, and for a category the row of subsets (else -1)."""
    value: Any
    """(node, 1 + 2 margins): the threshold, then the largest values below, then the least."""
    roots: Any
    start: Any
    """For each margin, the sum of the base and of the trees that are decided."""


@maker
def make_grove(nodes: int, trees: int, margins: int) -> Grove:
    """Room for all that may be left."""
    return Grove(
        np.empty((nodes, 3), dtype=np.int32),
        np.empty((nodes, 1 + 2 * margins)),
        np.empty(trees, dtype=np.int32),
        np.empty(margins),
    )


@kernel
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


@kernel
def collapse(forest: Forest, low: Any, high: Any, mask: Any, codes: Any, grove: Grove, stack: Any, parents: Any) -> int:
    """Copy what is undecided over a box into the grove; returns how many trees are left.

    `mask` says which levels of each actionable category are allowed, `codes` which of these a track is, or -1.
    """
    margins = forest.base.shape[0]
    link, value = grove.link, grove.value
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
                link[parent, 1] = size
            link[size, 0] = forest.feature[v]
            if forest.feature[v] >= 0:
                value[size, 0], link[size, 2] = forest.threshold[v], forest.subset[v]
                stack[top], parents[top] = forest.right[v], size
                stack[top + 1], parents[top + 1] = forest.left[v], -1
                top += 2
            else:
                for m in range(margins):
                    value[size, 1 + m] = value[size, 1 + margins + m] = forest.values[v, m]
            size += 1
        if size == first + 1:
            for m in range(margins):
                grove.start[m] += value[first, 1 + m]
            size = first
            continue
        for v in range(size - 1, first - 1, -1):
            if link[v, 0] >= 0:
                right = link[v, 1]
                for m in range(1, 1 + margins):
                    value[v, m] = max(value[v + 1, m], value[right, m])
                    value[v, margins + m] = min(value[v + 1, margins + m], value[right, margins + m])
        grove.roots[trees] = first
        trees += 1
    return trees


@kernel
def _goes(link: Any, value: Any, subsets: Any, v: int, low: Any, high: Any) -> int:
    """-1 left, 1 right, 0 undecided, once levels are chosen."""
    track = link[v, 0]
    if link[v, 2] < 0:
        threshold = value[v, 0]
        if high[track] <= threshold:
            return -1
        return 1 if low[track] > threshold else 0
    return -1 if subsets[link[v, 2], int(low[track])] else 1


@kernel
def _first_undecided(link: Any, value: Any, subsets: Any, v: int, low: Any, high: Any) -> int:
    """Follow decided splits from a node: the first that is undecided, or the leaf."""
    while link[v, 0] >= 0:
        side = _goes(link, value, subsets, v, low, high)
        if side == 0:
            return v
        v = v + 1 if side < 0 else link[v, 1]
    return v


@kernel
def _largest(link: Any, value: Any, subsets: Any, v: int, low: Any, high: Any, m: int, stack: Any) -> float:
    """The largest leaf below a node that a cell reaches; m is its column."""
    best = -np.inf
    stack[0] = v
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        while value[v, m] > best and link[v, 0] >= 0:
            side = _goes(link, value, subsets, v, low, high)
            if side == 0:
                one, other = v + 1, link[v, 1]
                if value[other, m] > value[one, m]:
                    one, other = other, one
                stack[top] = other
                top += 1
                v = one
            else:
                v = v + 1 if side < 0 else link[v, 1]
        if value[v, m] > best:
            best = value[v, m]
    return best


@kernel
def _smallest(link: Any, value: Any, subsets: Any, v: int, low: Any, high: Any, m: int, stack: Any) -> float:
    """The least leaf below a node that a cell reaches; m is its column."""
    best = np.inf
    stack[0] = v
    top = 1
    while top > 0:
        top -= 1
        v = stack[top]
        while value[v, m] < best and link[v, 0] >= 0:
            side = _goes(link, value, subsets, v, low, high)
            if side == 0:
                stack[top] = link[v, 1]
                top += 1
                v = v + 1
            else:
                v = v + 1 if side < 0 else link[v, 1]
        if value[v, m] < best:
            best = value[v, m]
    return best


@kernel
def advance(subsets: Any, grove: Grove, count: int, tops: Any, start: Any, low: Any, high: Any) -> int:
    """Follow each tree to its first undecided split in a cell; what is decided moves into `start`.

    Returns how many trees are undecided; they are the first in `tops`, in their order.
    """
    link, value = grove.link, grove.value
    left = 0
    for at in range(count):
        v = _first_undecided(link, value, subsets, tops[at], low, high)
        if link[v, 0] >= 0:
            tops[left] = v
            left += 1
        else:
            for m in range(start.shape[0]):
                start[m] += value[v, 1 + m]
    return left


@kernel
def most_of(
    forest: Forest, grove: Grove, count: int, tops: Any, start: Any, members: Any, low: Any, high: Any, stack: Any,
    most: Any,
) -> bool:  # fmt: skip
    """Each tree's largest value for each margin of a goal in a cell; False if some margin cannot reach its need."""
    for g in range(members.shape[0]):
        m = members[g]
        total = start[m]
        for at in range(count):
            most[g, at] = _largest(grove.link, grove.value, forest.subsets, tops[at], low, high, 1 + m, stack)
            total += most[g, at]
        over = total - forest.need[m]
        if over < -forest.rounding_error[m] or (
            over == 0.0 and forest.rounding_error[m] == 0.0 and not forest.closed[m]
        ):
            return False
    return True


@kernel
def worth_of(
    forest: Forest, grove: Grove, count: int, tops: Any, start: Any, members: Any, strict: float, low: Any, high: Any,
    stack: Any, most: Any, worth: Any, gain: Any,
) -> int:  # fmt: skip
    """How a point fares: 1 surely favourable, 0 only the model can tell, -1 not.

    The point is a narrow cell. Gains are what each tree could still add in the margins that lack something; `most` is
    what `most_of` found, `worth` work space.
    """
    verdict = 1
    margins = start.shape[0]
    for at in range(count):
        gain[at] = 0.0
    for g in range(members.shape[0]):
        m = members[g]
        total = start[m]
        for at in range(count):
            worth[at] = _smallest(grove.link, grove.value, forest.subsets, tops[at], low, high, 1 + margins + m, stack)
            total += worth[at]
        over, rounding_error = total - forest.need[m], forest.rounding_error[m]
        if over > strict * rounding_error or (over == 0.0 and rounding_error == 0.0 and forest.closed[m]):
            continue
        verdict = min(verdict, 0 if rounding_error > 0.0 and over >= -rounding_error else -1)
        for at in range(count):
            gain[at] += max(most[g, at] - worth[at], 0.0)
    return verdict


@kernel
def is_decided(subsets: Any, grove: Grove, count: int, tops: Any, low: Any, high: Any) -> bool:
    """Whether a cell falls into one leaf of each tree."""
    for at in range(count):
        v = _first_undecided(grove.link, grove.value, subsets, tops[at], low, high)
        if grove.link[v, 0] >= 0:
            return False
    return True


@kernel
def choose_split(
    grove: Grove, count: int, tops: Any, gain: Any, shares: Any, votes: Any, weights: Any
) -> tuple[int, float]:
    """The track whose undecided splits could gain most, and the weighted median of its thresholds."""
    total = 0.0
    for k in range(shares.shape[0]):
        shares[k] = 0.0
    for at in range(count):
        total += gain[at]
    for at in range(count):
        if total <= 0.0:
            gain[at] = 1.0
        shares[grove.link[tops[at], 0]] += gain[at]
    best: Any = np.int64(-1)
    for k in range(shares.shape[0]):
        if shares[k] > 0.0 and (best < 0 or shares[k] > shares[best]):
            best = k
    voters = np.int64(0)
    for at in range(count):
        if grove.link[tops[at], 0] == best:
            votes[voters], weights[voters] = grove.value[tops[at], 0], gain[at]
            voters += 1
    return best, weighted_median(voters, votes, weights)


@kernel
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
