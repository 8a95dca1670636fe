"""Views: a fitted classifier in a form that solvers understand.

A view gives margins of encoded people: numbers oriented so that positive is better for the person. The decision is
favourable when, for one of its goals, every margin of that goal is positive (or zero, where the boundary itself is
favourable). A classifier with two outcomes has one margin; one with several outcomes has one for each pair of a wanted
and an unwanted outcome, since the wanted one must beat each of the others.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.genuine import why_not_all
from equieffort.foundations.tolerances import SCORED

Ints = npt.NDArray[np.int32]


class NoView(Exception):
    """Why a classifier has no view of some kind."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def require_plain(*things: Any, library: str = "") -> None:
    """Raises `NoView` where something that would be opened is not a plain object of a known class."""
    if reason := why_not_all(things, library):
        raise NoView(f"only its answers are known: {reason}")


@dataclass(frozen=True, eq=False)
class Goals:
    """When margins mean the favourable outcome: for one goal, all its margins are positive."""

    sets: tuple[tuple[int, ...], ...]
    """The margins of each goal."""
    closed: Bools
    """For each margin, whether zero counts as positive."""

    @classmethod
    def one(cls, *, closed: bool) -> Goals:
        """A single margin."""
        return cls(((0,),), np.array([closed]))

    @classmethod
    def argmax(cls, count: int, wanted: tuple[int, ...], *, first: bool = True) -> tuple[Goals, Floats]:
        """The largest of `count` scores wins, the first one at a tie, or the last: the goals, and the margins as sums
        of scores.

        >>> goals, contrasts = Goals.argmax(3, (1,))
        >>> goals.sets, goals.closed.tolist(), contrasts.tolist()
        (((0, 1),), [False, True], [[-1.0, 1.0, 0.0], [0.0, 1.0, -1.0]])
        """
        others = [c for c in range(count) if c not in wanted]
        sets: list[tuple[int, ...]] = []
        closed: list[bool] = []
        rows: list[Floats] = []
        for f in wanted:
            sets.append(tuple(range(len(rows), len(rows) + len(others))))
            for c in others:
                row = np.zeros(count)
                row[f], row[c] = 1.0, -1.0
                rows.append(row)
                closed.append((f < c) == first)
        return cls(tuple(sets), np.array(closed, dtype=bool)), np.array(rows).reshape(len(rows), count)

    def met(self, margins: Floats, least: float = 0.0) -> Bools:
        """Whether each row of margins means the favourable outcome, and with at least so much distance."""
        good = margins >= least if least > 0 else (margins > 0) | ((margins == 0) & self.closed)
        found = np.zeros(len(margins), dtype=bool)
        for members in self.sets:
            found |= good[:, list(members)].all(axis=1)
        return found


class View(ABC):
    """A classifier as margins of encoded people."""

    goals: Goals

    @abstractmethod
    def margins(self, matrix: Floats) -> Floats:
        """The margins of encoded people: a row a person, a column a margin."""

    @abstractmethod
    def rounding_error(self, matrix: Floats) -> Floats:
        """How far rounding may carry the model's own margins from these; the same shape."""

    @abstractmethod
    def in_units(self, units: Floats) -> View:
        """The same view of people whose columns are multiples of units, which are powers of two."""

    def is_favourable(self, matrix: Floats) -> Bools:
        """The decision that the margins mean."""
        return self.goals.met(self.margins(matrix))

    def is_clear(self, matrix: Floats) -> Bools:
        """Where no margin is so small that rounding may decide."""
        return np.asarray((np.abs(self.margins(matrix)) > self.rounding_error(matrix)).all(axis=1))

    def is_finite(self) -> bool:
        """Whether all its numbers are."""
        return True


def _all_finite(*parts: npt.ArrayLike) -> bool:
    return all(bool(np.isfinite(part).all()) for part in parts)


@dataclass(frozen=True, eq=False)
class LinearView(View):
    """score(x) = intercept + weights . x + the levels' values; larger is better, the threshold is zero."""

    weights: Floats
    tables: dict[int, Floats]
    intercept: float
    closed: bool
    rowwise: bool
    """Whether the model's own score of a person is the same in every batch, to the last bit."""
    single: float = 0.0
    """Rounding of a model that computes with floats of four bytes or fewer, relative to the numbers summed into the
    score; 0 where it computes with doubles."""

    @property
    def goals(self) -> Goals:  # type: ignore[override]
        """A single margin: the score."""
        return Goals.one(closed=self.closed)

    def _parts(self, matrix: Floats) -> Iterator[Floats]:
        """What is summed into the score."""
        yield np.full(len(matrix), self.intercept)
        yield from (self.weights[k] * matrix[:, k] for k in np.flatnonzero(self.weights).tolist())
        yield from (table[matrix[:, k].astype(np.intp)] for k, table in self.tables.items())

    def score(self, matrix: Floats) -> Floats:
        """The score of encoded people."""
        return sum(self._parts(matrix), np.zeros(len(matrix)))

    def magnitude(self, matrix: Floats) -> Floats:
        """The size of the numbers that are summed into the score: what its rounding error is relative to."""
        return sum(map(np.abs, self._parts(matrix)), np.zeros(len(matrix)))

    def margins(self, matrix: Floats) -> Floats:
        """The score as a column."""
        return self.score(matrix)[:, None]

    def rounding_error(self, matrix: Floats) -> Floats:
        """Rounding relative to the summed numbers."""
        return max(SCORED, self.single) * self.magnitude(matrix)[:, None]

    def in_units(self, units: Floats) -> LinearView:
        """Weights a unit."""
        return replace(self, weights=self.weights * units)

    def is_finite(self) -> bool:
        """Whether no text reached the score without an encoder."""
        return _all_finite(self.weights, self.intercept, *self.tables.values())


@dataclass(frozen=True, eq=False)
class OwnSum:
    """A model's own arithmetic: scores summed tree by tree in its own precision, then compared with each other."""

    start: npt.NDArray[Any]
    """What each score starts from; its type, single or double, is the model's."""
    values: npt.NDArray[Any]
    """(node, score): what a leaf adds."""
    plus: Ints
    minus: Ints
    """A margin is score[plus] - score[minus]; where minus is -1, it is sign * (score[plus] - cut)."""
    sign: Floats
    cut: Floats
    divisor: float = 1.0
    """Scores are divided by this before they are compared: what becomes equal is a tie."""
    softmax: bool = False
    """Whether they go through a softmax before they are compared."""

    def margins(self, leaves: npt.NDArray[np.intp]) -> Floats:
        """The margins of people in these leaves: (person, tree)."""
        scores = np.repeat(self.start[None, :], len(leaves), axis=0)
        for column in leaves.T:
            scores += self.values[column]
        compared = scores if self.divisor == 1.0 else scores / scores.dtype.type(self.divisor)
        if self.softmax:
            powers = np.exp(compared - compared.max(axis=1, keepdims=True))
            compared = powers / powers.sum(axis=1, dtype=np.float64).astype(scores.dtype)[:, None]
        wide, best = scores.astype(np.float64), compared.max(axis=1)
        found = np.empty((len(leaves), len(self.plus)))
        for m, (a, b) in enumerate(zip(self.plus.tolist(), self.minus.tolist(), strict=True)):
            if b < 0:
                found[:, m] = self.sign[m] * (wide[:, a] - self.cut[m])
            else:
                tied = (compared[:, a] == best) & (compared[:, b] == best)
                found[:, m] = np.where(tied, 0.0, wide[:, a] - wide[:, b])
        return found


@dataclass(frozen=True, eq=False)
class TreeView(View):
    """A sum of trees over the encoded columns: margins = base + the values of the leaves a person falls into.

    Nodes of all trees stand in shared arrays, tree by tree; children come after their parent. Margins are in the
    model's own units: a forest's are sums over its trees, so many times the difference of probabilities.
    """

    feature: Ints
    """The encoded column a node splits; -1 at a leaf."""
    threshold: Floats
    """A number goes left when it is at most this: the largest double that the model itself sends left."""
    subset: Ints
    """For a split of a category the row of `subsets`; -1 for numbers."""
    left: Ints
    right: Ints
    roots: Ints
    """The root of each tree, in the model's own order."""
    values: Floats
    """(node, margin): what a leaf adds to each margin."""
    subsets: Bools
    """(row, level): which levels go left."""
    base: Floats
    """What each margin starts from."""
    goals: Goals
    error: Floats
    """For each margin, how far the model's own sum may lie from the sum of doubles, in any order; 0 where both are
    exact."""
    own: OwnSum | None = None
    """The model's own arithmetic, where it can be followed: then margins, ties included, are the model's."""

    @property
    def is_tree(self) -> bool:
        """Whether there is only one tree."""
        return len(self.roots) == 1

    def leaves(self, matrix: Floats) -> npt.NDArray[np.intp]:
        """(person, tree): the leaf each person falls into."""
        found = np.empty((len(matrix), len(self.roots)), dtype=np.intp)
        everyone = np.arange(len(matrix))
        for t, root in enumerate(self.roots.tolist()):
            at = np.full(len(matrix), root, dtype=np.intp)
            moving = everyone[self.feature[at] >= 0]
            while len(moving):
                nodes = at[moving]
                x = matrix[moving, self.feature[nodes]]
                goes_left = x <= self.threshold[nodes]
                rows = self.subset[nodes]
                by_level = rows >= 0
                if by_level.any():
                    goes_left[by_level] = self.subsets[rows[by_level], x[by_level].astype(np.intp)]
                at[moving] = np.where(goes_left, self.left[nodes], self.right[nodes])
                moving = moving[self.feature[at[moving]] >= 0]
            found[:, t] = at
        return found

    def margins(self, matrix: Floats) -> Floats:
        """The margins of encoded people, in the model's own arithmetic where that is known."""
        leaves = self.leaves(matrix)
        if self.own is not None:
            return self.own.margins(leaves)
        total = np.repeat(self.base[None, :], len(matrix), axis=0)
        for column in leaves.T:
            total += self.values[column]
        return total

    def rounding_error(self, matrix: Floats) -> Floats:
        """The same for everybody."""
        return np.repeat(self.error[None, :], len(matrix), axis=0)

    def in_units(self, units: Floats) -> TreeView:
        """Thresholds in units; splits of categories stay."""
        numbers = (self.feature >= 0) & (self.subset < 0)
        return replace(self, threshold=np.where(numbers, self.threshold / units[self.feature], self.threshold))


@dataclass(frozen=True, eq=False)
class Layer:
    """weights . inputs + bias."""

    weights: Floats
    """(outputs, inputs)."""
    bias: Floats

    def after(self, first: Layer) -> Layer:
        """Both as one, with nothing between them."""
        return Layer(self.weights @ first.weights, self.weights @ first.bias + self.bias)


@dataclass(frozen=True, eq=False)
class NetworkView(View):
    """A ReLU network over the encoded columns; its last layer gives the margins. Without hidden layers it is linear."""

    layers: tuple[Layer, ...]
    """The first layer's inputs are the encoded columns; a category's weights there are zero."""
    tables: dict[int, Floats]
    """For each category that matters: (outputs of the first layer, level), what a level adds."""
    goals: Goals
    relative_error: float = SCORED
    """Rounding of the model's own arithmetic, relative to the numbers summed into a margin."""

    def margins(self, matrix: Floats) -> Floats:
        """The margins of encoded people."""
        return self._run(matrix)[0]

    def rounding_error(self, matrix: Floats) -> Floats:
        """Rounding relative to the summed numbers."""
        return self.relative_error * self._run(matrix)[1]

    def _run(self, matrix: Floats) -> tuple[Floats, Floats]:
        first = self.layers[0]
        values = matrix @ first.weights.T + first.bias
        size = np.abs(matrix) @ np.abs(first.weights.T) + np.abs(first.bias)
        for k, table in self.tables.items():
            levels = matrix[:, k].astype(np.intp)
            values += table.T[levels]
            size += np.abs(table.T[levels])
        for layer in self.layers[1:]:
            values = np.maximum(values, 0.0) @ layer.weights.T + layer.bias
            size = size @ np.abs(layer.weights.T) + np.abs(layer.bias)
        return values, size

    def in_units(self, units: Floats) -> NetworkView:
        """Weights of the first layer a unit."""
        first = self.layers[0]
        return replace(self, layers=(Layer(first.weights * units, first.bias), *self.layers[1:]))

    def is_finite(self) -> bool:
        """Whether no text reached the network without an encoder."""
        return _all_finite(*self.tables.values(), *(part for one in self.layers for part in (one.weights, one.bias)))


@dataclass(frozen=True, eq=False)
class BlackBox:
    """A classifier of which only the labels are known, and why."""

    reason: str
