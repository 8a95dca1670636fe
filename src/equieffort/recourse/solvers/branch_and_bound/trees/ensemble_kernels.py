"""Sums of trees over boxes, compiled: what is left of them near a person, how large they can get, where to split.

A sum of trees is bounded by the sum of each tree's largest leaf that a box can reach (Chen et al., "Robustness
verification of tree-based models", 2019).

A number goes left at a split when it is at most the threshold, so a split is decided over a cell when high <= threshold
or low > threshold.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from equieffort.foundations.arrays import Bools, Codes, Floats
from equieffort.foundations.jit import hot, kernel
from equieffort.foundations.records import record
from equieffort.recourse.solvers.branch_and_bound.arrays import COUNT, Cell, Memo

BINS = 16
"""What is left of a budget is counted in so many parts."""


@record
class Forest(NamedTuple):
    """The trees of a classifier, as in `TreeView`, and what their sums must reach."""

    feature: Codes
    threshold: Floats
    subset: Codes
    left: Codes
    right: Codes
    roots: Codes
    values: Floats
    subsets: Bools
    base: Floats
    need: Floats
    """For each margin, what it must exceed."""
    rounding_error: Floats
    """For each margin, how near to `need` only the model's own label can decide."""
    closed: Bools


@record
class Grove(NamedTuple):
    """What is left of a forest over a box: only undecided splits; and room to sum it up in.

    A left child follows its parent directly.
    """

    link: Codes
    """(node, 3): the track (-1 at a leaf), the right child, and for a category the row of subsets (else -1)."""
    value: Floats
    """(node, 1 + 2 margins): the threshold, then the largest values below, then the largest of their negatives."""
    subsets: Bools
    """The forest's."""
    whole: Memo
    """All trees that are left, with the sums of the base and of the trees that are decided."""
    most: Floats
    """(margin, tree) the most that each tree can add."""
    worth: Floats
    """(tree) the least, where it is asked for."""
    gain: Floats
    """(tree) what each tree could still add where something lacks."""
    shares: Floats
    """(t) the gains of each track."""
    votes: Floats
    """(tree, 2): thresholds and their weights."""
    stack: Codes
    """(node, 2)"""
    bins: Floats
    """(action, BINS + 1): what moving an action gains, by what that costs; the last says how far it is moved."""


def make_grove(forest: Forest, tracks: int, actions: int) -> Grove:
    """Room for all that may be left."""
    nodes, trees, margins = len(forest.feature), len(forest.roots), len(forest.base)
    return Grove(
        np.empty((nodes, 3), dtype=np.int32), np.empty((nodes, 1 + 2 * margins)), forest.subsets,
        make_memo(forest), np.empty((margins, trees)), np.empty(trees), np.empty(trees), np.empty(tracks),
        np.empty((trees, 2)), np.empty((nodes + 2, 2), dtype=np.int32),
        np.empty((actions, BINS + 1)),
    )  # fmt: skip


def make_memo(forest: Forest) -> Memo:
    """Room for what is remembered of a node: what decided trees add up to, how many are not, and the first undecided
    split of each of these."""
    return Memo(np.empty(1 + len(forest.base)), np.empty(len(forest.roots), dtype=np.int32))


@kernel
def _side(forest: Forest, v: int, cell: Cell, mask: Bools, codes: Codes) -> int:
    """-1 left, 1 right, 0 undecided; a category is undecided when its allowed levels differ."""
    feature, subset = forest.feature[v], forest.subset[v]
    if subset < 0:
        if cell.high[feature] <= forest.threshold[v]:
            return -1
        return 1 if cell.low[feature] > forest.threshold[v] else 0
    code = codes[feature]
    if code < 0:
        return -1 if forest.subsets[subset, int(cell.low[feature])] else 1
    left, right = False, False
    for level in range(mask.shape[1]):
        if mask[code, level]:
            if forest.subsets[subset, level]:
                left = True
            else:
                right = True
    return 0 if left and right else (-1 if left else 1)


@kernel
def collapse(forest: Forest, grove: Grove, cell: Cell, mask: Bools, codes: Codes) -> None:
    """Copy what is undecided over a cell into the grove.

    `mask` says which levels of each actionable category are allowed, `codes` which of these a track is, or -1.
    """
    whole, margins, size, trees = grove.whole, forest.base.shape[0], np.int64(0), 0
    for m in range(margins):
        whole.numbers[m] = forest.base[m]
    for tree in range(forest.roots.shape[0]):
        first = size
        size = _copy_tree(forest, grove, forest.roots[tree], first, cell, mask, codes)
        if size == first + 1:
            for m in range(margins):
                whole.numbers[m] += grove.value[first, 1 + m]
            size = first
            continue
        _sum_up(grove, first, size, margins)
        whole.marks[trees] = first
        trees += 1
    whole.numbers[COUNT] = trees


@kernel
def _copy_tree(forest: Forest, grove: Grove, root: int, size: int, cell: Cell, mask: Bools, codes: Codes) -> int:
    """Copy the undecided splits and the leaves of a tree behind the first `size` nodes; returns how many there are."""
    link, value, stack, margins = grove.link, grove.value, grove.stack, forest.base.shape[0]
    stack[0, 0], stack[0, 1] = root, -1
    top = 1
    while top > 0:
        top -= 1
        v, parent = stack[top, 0], stack[top, 1]
        while forest.feature[v] >= 0:
            side = _side(forest, v, cell, mask, codes)
            if side == 0:
                break
            v = forest.left[v] if side < 0 else forest.right[v]
        if parent >= 0:
            link[parent, 1] = size
        link[size, 0] = forest.feature[v]
        if forest.feature[v] >= 0:
            value[size, 0], link[size, 2] = forest.threshold[v], forest.subset[v]
            stack[top, 0], stack[top, 1] = forest.right[v], size
            stack[top + 1, 0], stack[top + 1, 1] = forest.left[v], -1
            top += 2
        else:
            for m in range(margins):
                value[size, 1 + m], value[size, 1 + margins + m] = forest.values[v, m], -forest.values[v, m]
        size += 1
    return size


@kernel
def _sum_up(grove: Grove, first: int, size: int, margins: int) -> None:
    """The largest leaves below each split of a tree, and the largest negatives."""
    link, value = grove.link, grove.value
    for v in range(size - 1, first - 1, -1):
        if link[v, 0] >= 0:
            right = link[v, 1]
            for m in range(1, 1 + 2 * margins):
                value[v, m] = max(value[v + 1, m], value[right, m])


@kernel
def goes(grove: Grove, v: int, cell: Cell) -> int:
    """-1 left, 1 right, 0 undecided, once levels are chosen."""
    track = grove.link[v, 0]
    if grove.link[v, 2] < 0:
        threshold = grove.value[v, 0]
        if cell.high[track] <= threshold:
            return -1
        return 1 if cell.low[track] > threshold else 0
    return -1 if grove.subsets[grove.link[v, 2], int(cell.low[track])] else 1


@hot
def _first_undecided(grove: Grove, v: int, cell: Cell) -> int:
    """Follow decided splits from a node: the first that is undecided, or the leaf."""
    while grove.link[v, 0] >= 0:
        side = goes(grove, v, cell)
        if side == 0:
            return v
        v = v + 1 if side < 0 else grove.link[v, 1]
    return v


@hot
def largest(grove: Grove, v: int, cell: Cell, m: int) -> float:
    """The largest leaf below a node that a cell reaches, in a column of the values."""
    link, value, stack, best = grove.link, grove.value, grove.stack, -np.inf
    stack[0, 0] = v
    top = 1
    while top > 0:
        top -= 1
        v = stack[top, 0]
        while value[v, m] > best and link[v, 0] >= 0:
            side = goes(grove, v, cell)
            if side == 0:
                one, other = v + 1, link[v, 1]
                if value[other, m] > value[one, m]:
                    one, other = other, one
                stack[top, 0] = other
                top += 1
                v = one
            else:
                v = v + 1 if side < 0 else link[v, 1]
        if value[v, m] > best:
            best = value[v, m]
    return best


@kernel
def advance(grove: Grove, memo: Memo, cell: Cell) -> int:
    """Follow each tree to its first undecided split in a cell; what is decided moves into the sums.

    Returns how many trees are undecided; they are the first of the marks, in their order.
    """
    left, margins = 0, memo.numbers.shape[0] - 1
    for at in range(int(memo.numbers[COUNT])):
        v = _first_undecided(grove, np.int64(memo.marks[at]), cell)
        if grove.link[v, 0] >= 0:
            memo.marks[left] = v
            left += 1
        else:
            for m in range(margins):
                memo.numbers[m] += grove.value[v, 1 + m]
    memo.numbers[COUNT] = left
    return left


@kernel
def most_of(forest: Forest, grove: Grove, memo: Memo, members: Codes, cell: Cell) -> bool:
    """Each tree's largest value for each margin of a goal in a cell; False if some margin cannot reach its need."""
    for g in range(members.shape[0]):
        m = members[g]
        total = memo.numbers[m]
        for at in range(int(memo.numbers[COUNT])):
            grove.most[g, at] = largest(grove, memo.marks[at], cell, 1 + m)
            total += grove.most[g, at]
        over = total - forest.need[m]
        if over < -forest.rounding_error[m] or (
            over == 0.0 and forest.rounding_error[m] == 0.0 and not forest.closed[m]
        ):
            return False
    return True


@kernel
def worth_of(forest: Forest, grove: Grove, memo: Memo, members: Codes, cell: Cell, strict: float, trust: float) -> int:
    """How a point fares, a narrow cell: 1 surely favourable, 0 only the model can tell, -1 not, -2 nor is what so much
    of all that trees could still add would lead to.

    That is left in the grove, for the margins that lack something, beside what `most_of` found; without trust it is not
    asked for.
    """
    verdict, margins, count = 1, memo.numbers.shape[0] - 1, int(memo.numbers[COUNT])
    if trust > 0.0:
        for at in range(count):
            grove.gain[at] = 0.0
    for g in range(members.shape[0]):
        m = members[g]
        total = memo.numbers[m]
        for at in range(count):
            grove.worth[at] = -largest(grove, memo.marks[at], cell, 1 + margins + m)
            total += grove.worth[at]
        over, rounding_error = total - forest.need[m], forest.rounding_error[m]
        if over > strict * rounding_error or (over == 0.0 and rounding_error == 0.0 and forest.closed[m]):
            continue
        verdict = min(verdict, 0 if rounding_error > 0.0 and over >= -rounding_error else -1)
        if trust > 0.0:
            for at in range(count):
                more = max(grove.most[g, at] - grove.worth[at], 0.0)
                grove.gain[at] += more
                over += trust * more
            if trust < 1.0 and over < 0.0:
                return -2
    return verdict


@kernel
def is_decided(grove: Grove, cell: Cell) -> bool:
    """Whether a cell falls into one leaf of each tree."""
    for at in range(int(grove.whole.numbers[COUNT])):
        v = _first_undecided(grove, np.int64(grove.whole.marks[at]), cell)
        if grove.link[v, 0] >= 0:
            return False
    return True


@kernel
def choose_split(grove: Grove, memo: Memo) -> tuple[int, float]:
    """The track whose undecided splits could gain most, and the weighted median of its thresholds."""
    shares, gain, count, total = grove.shares, grove.gain, int(memo.numbers[COUNT]), 0.0
    for k in range(shares.shape[0]):
        shares[k] = 0.0
    for at in range(count):
        total += gain[at]
    for at in range(count):
        if total <= 0.0:
            gain[at] = 1.0
        shares[grove.link[memo.marks[at], 0]] += gain[at]
    best: Any = np.int64(-1)
    for k in range(shares.shape[0]):
        if shares[k] > 0.0 and (best < 0 or shares[k] > shares[best]):
            best = k
    voters = np.int64(0)
    for at in range(count):
        v = memo.marks[at]
        if grove.link[v, 0] == best:
            grove.votes[voters, 0], grove.votes[voters, 1] = grove.value[v, 0], gain[at]
            voters += 1
    return best, weighted_median(voters, grove.votes)


@kernel
def weighted_median(count: int, votes: Floats) -> float:
    """The value at which half of the weight is reached; `votes` are (value, weight), and are sorted."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            value, weight = votes[i, 0], votes[i, 1]
            at = i
            while at >= gap and votes[at - gap, 0] > value:
                votes[at, 0], votes[at, 1] = votes[at - gap, 0], votes[at - gap, 1]
                at -= gap
            votes[at, 0], votes[at, 1] = value, weight
        gap //= 2
    total = 0.0
    for i in range(count):
        total += votes[i, 1]
    so_far = 0.0
    for i in range(count):
        so_far += votes[i, 1]
        if 2.0 * so_far >= total:
            return votes[i, 0]
    return votes[count - 1, 0]
