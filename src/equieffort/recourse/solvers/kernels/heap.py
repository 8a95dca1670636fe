"""A pool of nodes with a heap over it, compiled: nodes are rows of an array that grows, the least bound comes first.

`keys` and `ids` are the heap; ties are broken by the number of the node's push, so that the order never depends on
anything but the search itself. Freed rows are used again.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from equieffort.recourse.solvers.kernels.compiled import inner


@inner
def _before(keys: Any, turns: Any, a: int, b: int) -> bool:
    return keys[a] < keys[b] or (keys[a] == keys[b] and turns[a] < turns[b])


@inner
def _swap(keys: Any, turns: Any, ids: Any, a: int, b: int) -> None:
    keys[a], keys[b] = keys[b], keys[a]
    turns[a], turns[b] = turns[b], turns[a]
    ids[a], ids[b] = ids[b], ids[a]


@inner
def heap_push(keys: Any, turns: Any, ids: Any, size: int, key: float, turn: int, node: int) -> int:
    """Add a node; returns the new size. The arrays must have room."""
    at = size
    keys[at], turns[at], ids[at] = key, turn, node
    while at > 0:
        up = (at - 1) >> 1
        if not _before(keys, turns, at, up):
            break
        _swap(keys, turns, ids, at, up)
        at = up
    return size + 1


@inner
def heap_pop(keys: Any, turns: Any, ids: Any, size: int) -> int:
    """Move the first node behind the last: it is found at position size - 1, the new size."""
    size -= 1
    at = np.int64(0)
    _swap(keys, turns, ids, at, size)
    while True:
        least = at
        for child in (2 * at + 1, 2 * at + 2):
            if child < size and _before(keys, turns, child, least):
                least = child
        if least == at:
            return size
        _swap(keys, turns, ids, at, least)
        at = least


@inner
def grown(array: Any) -> Any:
    """The same rows in an array twice as long."""
    larger = np.empty((2 * array.shape[0], array.shape[1]), dtype=array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            larger[i, j] = array[i, j]
    return larger


@inner
def grown_list(array: Any) -> Any:
    """The same numbers in an array twice as long."""
    larger = np.empty(2 * array.shape[0], dtype=array.dtype)
    for i in range(array.shape[0]):
        larger[i] = array[i]
    return larger
