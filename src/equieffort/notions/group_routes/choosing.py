"""Which few routes turn most: exactly where that can be enumerated or proven, else greedily, and it is said which.

A menu of routes turns whoever at least one of them turns; each person takes the cheapest that works for them. The most
people that k routes can turn is maximum coverage, for which the greedy choice reaches at least 1 - 1/e (63 %) of the
best (Nemhauser, Wolsey and Fisher 1978).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from equieffort.data.frames import Floats
from equieffort.recourse.solvers.highs import Matrix, ProgramStatus, program

MOST_TRIED = 2e8
"""People times sets of routes up to which every set is tried."""
SECONDS = 2.0
"""For each program beyond that."""
AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Menu:
    """A set of routes: positions of candidates, how many people it turns, and their mean price."""

    routes: tuple[int, ...]
    n_turned: int
    price: float
    """The mean over those turned of what the cheapest route costs beyond their own optimum."""
    most: int
    """No set of as many candidates turns more than this; equal to n_turned where that is proven."""
    how: str = "enumerated"


def best_menus(price: Floats, k: int) -> list[Menu]:
    """Sets of k candidates that no other set of k beats in people turned and mean price together.

    `price` is (person, candidate): infinite whom it does not turn. The first turns most.

    >>> inf = np.inf
    >>> [(one.routes, one.n_turned) for one in best_menus(np.array([[1.0, inf, 3.0], [inf, 0.5, 3.0]]), 1)]
    [((2,), 2), ((1,), 1)]
    """
    n, m = price.shape
    k = min(k, m)
    if n == 0 or k == 0:
        return []
    if float(n) * comb(m, k) <= MOST_TRIED:
        return _enumerated(price, k)
    return _programmed(price, k)


def _enumerated(price: Floats, k: int) -> list[Menu]:
    best: dict[int, tuple[float, tuple[int, ...]]] = {}
    for sets in _chunks(price.shape[1], k, max(1, AT_ONCE // len(price))):
        cheapest = price[:, sets[:, 0]]
        for j in range(1, k):
            cheapest = np.minimum(cheapest, price[:, sets[:, j]])
        turned = np.isfinite(cheapest)
        counts, totals = turned.sum(axis=0), np.where(turned, cheapest, 0.0).sum(axis=0)
        order = np.lexsort((totals, -counts))
        for count in np.unique(counts[counts > 0]).tolist():
            at = int(order[np.searchsorted(-counts[order], -count)])
            found = (float(totals[at]) / count, tuple(int(a) for a in sets[at]))
            if count not in best or found < best[count]:
                best[count] = found
    most = max(best, default=0)
    return _front([Menu(routes, count, mean, most) for count, (mean, routes) in best.items()])


def _chunks(m: int, k: int, size: int) -> Iterator[np.ndarray]:
    part: list[tuple[int, ...]] = []
    for one in combinations(range(m), k):
        part.append(one)
        if len(part) == size:
            yield np.array(part)
            part = []
    if part:
        yield np.array(part)


def _front(menus: list[Menu]) -> list[Menu]:
    """Those that none with as many turned has a lower mean price than; most turned first."""
    kept: list[Menu] = []
    for menu in sorted(menus, key=lambda one: (-one.n_turned, one.price)):
        if not kept or menu.price < kept[-1].price:
            kept.append(menu)
    return kept


def _programmed(price: Floats, k: int) -> list[Menu]:
    """The best cover at several prices that nobody is asked to go beyond."""
    finite = price[np.isfinite(price)]
    found: list[Menu] = []
    for limit in np.unique(np.quantile(finite, [0.25, 0.5, 0.75, 1.0]))[::-1] if len(finite) else ():
        covers = price <= limit
        routes, most, how = cover(covers, k)
        cheapest = np.where(covers, price, np.inf)[:, list(routes)].min(axis=1)
        turned = np.isfinite(cheapest)
        # Without a limit comes first: what is the most at any price.
        most = found[0].most if found else most
        if turned.any():
            found.append(Menu(routes, int(turned.sum()), float(cheapest[turned].mean()), most, how))
    return _front(found)


def cover(covers: np.ndarray, k: int, seconds: float = SECONDS) -> tuple[tuple[int, ...], int, str]:
    """At most k columns that cover most rows, the most that any k can cover, and how that is known.

    >>> cover(np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]], dtype=bool), 2)[1:]
    (4, 'proven')
    """
    chosen = greedy(covers, k)
    reached = int(covers[:, list(chosen)].any(axis=1).sum())
    ceiling = int(covers.any(axis=1).sum())
    if reached == ceiling:
        return chosen, reached, "proven"
    # People whom the same candidates turn are one row with a weight.
    kinds, weight = np.unique(covers[covers.any(axis=1)], axis=0, return_counts=True)
    p, m = kinds.shape
    answer = program(
        np.concatenate([np.zeros(m), -weight.astype(np.float64)]), _cover_rows(kinds),
        np.concatenate([np.zeros(p), [0.0]]), np.concatenate([np.full(p, np.inf), [float(k)]]),
        np.zeros(m + p), np.ones(m + p), np.concatenate([np.ones(m, dtype=bool), np.zeros(p, dtype=bool)]),
    ).confirmed(seconds)  # fmt: skip
    if answer.point is not None:
        routes = tuple(int(a) for a in np.flatnonzero(answer.point[:m] > 0.5))[:k]
        again = int(covers[:, list(routes)].any(axis=1).sum())
        if again > reached:
            chosen, reached = routes, again
    # Whole people: a bound is rounded down, but for the tolerance of the program.
    most = ceiling if not np.isfinite(answer.bound) else min(ceiling, int(np.floor(-answer.bound + 1e-3)))
    proven = answer.status == ProgramStatus.OPTIMAL and most <= reached
    return chosen, max(most, reached), "proven" if proven or most == reached else "greedy or better"


def _cover_rows(kinds: np.ndarray) -> Matrix:
    """A row a kind of people: the chosen of those that turn them, minus whether they count; last, the number chosen."""
    m = kinds.shape[1]
    index = [np.append(np.flatnonzero(row), m + place) for place, row in enumerate(kinds)]
    sizes = [len(row) for row in index]
    values = [np.append(np.ones(size - 1), -1.0) for size in sizes]
    return Matrix(
        np.concatenate([[0], np.cumsum([*sizes, m])]), np.concatenate([*index, np.arange(m)]),
        np.concatenate([*values, np.ones(m)]),
    )  # fmt: skip


def greedy(covers: np.ndarray, k: int) -> tuple[int, ...]:
    """One column after the other, each time the one that covers most of what is left."""
    left, chosen = np.ones(len(covers), dtype=bool), []
    for _ in range(min(k, covers.shape[1])):
        gains = covers[left].sum(axis=0)
        best = int(gains.argmax())
        if not gains[best]:
            break
        chosen.append(best)
        left &= ~covers[:, best]
    return tuple(chosen) or (0,)
