"""The pool that keeps nodes while they wait: an array of rows that grows, with a binary heap over it.

The least bound comes first, and ties are broken by the number of the push, so that the order depends on nothing but the
search itself. Freed rows are used again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from equieffort.foundations.arrays import Codes, Floats, Ints
from equieffort.foundations.jit import kernel, maker
from equieffort.recourse.solvers.branch_and_bound.arrays import COUNT, Memo, Space

FIRST_SIZE = 256
MOST_MARKS = 25_000_000
"""Room for the marks of waiting nodes, in numbers of four bytes; later nodes begin anew."""
LOST = -2.0
"""How many marks are known of a node for whose marks there was no room."""
SIZE, USED, SPARE, TURN = range(4)
"""What is counted: how large the heap is, how many nodes were ever used, how many are free, how many were pushed."""
KEY, AGE, ID, FREE = range(4)


class Pool(NamedTuple):
    """Nodes and a heap over them. It grows, so whoever has it counts who uses it: no record."""

    rows: Floats
    """(node, ...): root, box, branching bounds, and the numbers of the memo."""
    marks: Codes
    """(node, mark): those of the memo; nodes beyond the last row keep none."""
    heap: Floats
    """(place, 4): a bound, the number of its push and its node; and, beside the heap, a node that can be used again."""
    counts: Ints
    """(4)"""


def make_pool(width: int, marks: int) -> Pool:
    """Room for a first few nodes."""
    return Pool(
        np.empty((FIRST_SIZE, width)), np.empty((FIRST_SIZE, marks), dtype=np.int32), np.empty((FIRST_SIZE, 4)),
        np.zeros(4, dtype=np.int64),
    )  # fmt: skip


@maker
def with_room(pool: Pool) -> Pool:
    """The pool, twice as large if it is full."""
    if pool.counts[USED] < pool.heap.shape[0]:
        return pool
    marks = pool.marks if pool.marks.size >= MOST_MARKS else np.concatenate((pool.marks, pool.marks))
    return Pool(np.concatenate((pool.rows, pool.rows)), marks, np.concatenate((pool.heap, pool.heap)), pool.counts)


@kernel
def store(pool: Pool, node: int, root: int, space: Space, memo: Memo, known: bool) -> None:
    """Keep a node, with what is known of it or without."""
    box, row, at = space.box, pool.rows[node], 1
    row[0] = root
    for part in (box.low, box.high, box.floor, box.roof, memo.numbers):
        for j in range(part.shape[0]):
            row[at + j] = part[j]
        at += part.shape[0]
    if known and node < pool.marks.shape[0]:
        for j in range(int(memo.numbers[COUNT])):
            pool.marks[node, j] = memo.marks[j]
    else:
        row[at - 1] = LOST if known else -1.0


@kernel
def load(pool: Pool, node: int, space: Space, memo: Memo) -> int:
    """Take a node from the pool; returns its root."""
    box, row, at = space.box, pool.rows[node], 1
    for part in (box.low, box.high, box.floor, box.roof, memo.numbers):
        for j in range(part.shape[0]):
            part[j] = row[at + j]
        at += part.shape[0]
    for j in range(int(memo.numbers[COUNT])):
        memo.marks[j] = pool.marks[node, j]
    return int(row[0])


@kernel
def keep_node(pool: Pool, key: float, root: int, space: Space, memo: Memo, known: bool) -> None:
    """Put the node at hand into the pool and the heap; there must be room."""
    node = _take_place(pool)
    store(pool, node, root, space, memo, known)
    _push(pool, key, node)


@kernel
def _take_place(pool: Pool) -> int:
    """A node to be used. The one freed last still waits for its children to be made, and is not given away."""
    counts, heap = pool.counts, pool.heap
    if counts[SPARE] > 1:
        counts[SPARE] -= 1
        last = counts[SPARE]
        node = heap[last - 1, FREE]
        heap[last - 1, FREE] = heap[last, FREE]
        return int(node)
    counts[USED] += 1
    return int(counts[USED] - 1)


@kernel
def _before(heap: Floats, a: int, b: int) -> bool:
    """Whether place a of `heap` (place, 4) comes before place b: by its bound, then by the number of its push."""
    return heap[a, KEY] < heap[b, KEY] or (heap[a, KEY] == heap[b, KEY] and heap[a, AGE] < heap[b, AGE])


@kernel
def _swap(heap: Floats, a: int, b: int) -> None:
    """Exchange what lies at two places of `heap` (place, 4); free nodes, kept beside it, stay."""
    for k in range(FREE):
        heap[a, k], heap[b, k] = heap[b, k], heap[a, k]


@kernel
def _push(pool: Pool, key: float, node: int) -> None:
    """Put a node into the heap; there must be room."""
    heap, at = pool.heap, pool.counts[SIZE]
    heap[at, KEY], heap[at, AGE], heap[at, ID] = key, pool.counts[TURN], node
    pool.counts[SIZE] += 1
    pool.counts[TURN] += 1
    while at > 0:
        up = (at - 1) >> 1
        if not _before(heap, at, up):
            break
        _swap(heap, at, up)
        at = up


@kernel
def pop(pool: Pool) -> tuple[int, float]:
    """Take the node with the least bound from the heap, and free it: (node, bound)."""
    pool.counts[SIZE] -= 1
    heap, size, at = pool.heap, pool.counts[SIZE], np.int64(0)
    _swap(heap, at, size)
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _before(heap, child, least):
                least = child
        if least == at:
            break
        _swap(heap, at, least)
        at = least
    heap[pool.counts[SPARE], FREE] = heap[size, ID]
    pool.counts[SPARE] += 1
    return int(heap[size, ID]), heap[size, KEY]
