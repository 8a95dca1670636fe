"""Matching and its methods: exact, coarsened exact, nearest neighbours within a caliper, optimal pairs.

Each is a frozen value. People are alike in `features`, by default all that the model, the graph or the schema uses
without the protected ones; people of two groups differ in these anyhow.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from equieffort.data.frames import Encoding, Floats
from equieffort.effort.matching.assignment import optimal_pairs
from equieffort.effort.matching.between import Between
from equieffort.effort.matching.nearest import greedy_pairs, nearest_pairs
from equieffort.effort.matching.sets import MatchedSets, Pairs, Rows, Strata
from equieffort.errors import ParameterError
from equieffort.foundations.arguments import check_flag, check_instance, check_number, check_whole, names_in
from equieffort.foundations.saved import as_kind, from_kind
from equieffort.world.distances import Distance, Manhattan, Normalised, check_distance
from equieffort.world.schema import Schema


@dataclass(frozen=True, eq=False)
class Matchable:
    """What a method matches: refused people of two sides, by rows of the audited table."""

    data: pd.DataFrame
    encoding: Encoding
    schema: Schema
    mine: Rows
    theirs: Rows


@dataclass(frozen=True, eq=False)
class Found:
    """Who was matched, and the caliper that was used; infinite without one."""

    sets: MatchedSets
    caliper: float = float("inf")


class MatchingMethod(ABC):
    """A way to match."""

    @abstractmethod
    def match(self, people: Matchable, features: Sequence[str] | None, distance: Distance | None) -> Found:
        """Match them."""

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        found = as_kind(self, METHODS)
        if found is None:
            raise ValueError("a way to match of the caller's own cannot be saved")
        return found

    @staticmethod
    def from_dict(saved: Any) -> MatchingMethod:
        """From the saved form."""
        return from_kind(METHODS, saved, "method")


@dataclass(frozen=True)
class _ByDistance(MatchingMethod):
    caliper: float | None = None
    """The largest distance of a pair, infinite for none; left out, what `Between.caliper` says."""

    def __post_init__(self) -> None:
        check_number(
            "caliper", self.caliper, "a distance, 0 or more", lambda far: far >= 0, optional=True, finite=False
        )

    def match(self, people: Matchable, features: Sequence[str] | None, distance: Distance | None) -> Found:
        """By the distances between the two sides."""
        chosen = distance if distance is not None else Manhattan(features)
        between = Between.of(chosen.bind(people.data, people.encoding, people.schema), people.mine, people.theirs)
        far = between.caliper() if self.caliper is None else self.caliper
        a, b, apart = self._pairs(between, far)
        return Found(Pairs(people.mine[a], people.theirs[b], apart), far)

    @abstractmethod
    def _pairs(self, between: Between, caliper: float) -> tuple[Rows, Rows, Floats]:
        """Places of either side, and their distances."""


@dataclass(frozen=True)
class NearestNeighbour(_ByDistance):
    """Each person of the group with the k nearest of the others within a caliper (Rubin 1973; Abadie and Imbens 2006).

    With `replace` somebody may serve several people, and intervals allow for that. Without, the nearest pairs of all
    are made first and everybody is used once (k is 1 then).
    """

    k: int = 1
    replace: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("k", self.k, 1)
        check_flag("replace", self.replace)
        if not self.replace and self.k != 1:
            raise ParameterError(
                "PARAMETER", f"k is {self.k} without replacement, where everybody is used once.", fix="Leave k at 1."
            )

    def _pairs(self, between: Between, caliper: float) -> tuple[Rows, Rows, Floats]:
        return nearest_pairs(between, self.k, caliper) if self.replace else greedy_pairs(between, caliper)


@dataclass(frozen=True)
class OptimalPairs(_ByDistance):
    """As many pairs as the caliper allows, nobody in two, with the least sum of distances (Rosenbaum 1989).

    Up to 5,000 people a side every pair is considered; above, each person's 50 nearest of the other side.
    """

    def _pairs(self, between: Between, caliper: float) -> tuple[Rows, Rows, Floats]:
        return optimal_pairs(between, caliper)


@dataclass(frozen=True)
class ExactMatching(MatchingMethod):
    """People with equal values of every feature form a stratum; numbers too, so that few may be matched."""

    def match(self, people: Matchable, features: Sequence[str] | None, distance: Distance | None) -> Found:
        """Strata of equal rows."""
        return Found(_strata(people, {}, _columns(people, features, distance)[1]))


@dataclass(frozen=True)
class CoarsenedExact(MatchingMethod):
    """Exact matching on numbers that are cut first (Iacus, King and Porro 2012)."""

    bins: int = 5
    """Numbers are cut at so many quantiles of the refused of both sides together."""
    cuts: Mapping[str, tuple[float, ...]] = field(default_factory=dict, hash=False)
    """Cut points of features that are not cut at quantiles; a value on a cut point lies below it."""

    def __post_init__(self) -> None:
        check_whole("bins", self.bins, 1)
        cuts = {str(name): tuple(float(cut) for cut in points) for name, points in dict(self.cuts).items()}
        if any(list(points) != sorted(set(points)) for points in cuts.values()):
            raise ParameterError("PARAMETER", "The cut points are not in rising order.", fix="Sort them, each once.")
        object.__setattr__(self, "cuts", cuts)

    def match(self, people: Matchable, features: Sequence[str] | None, distance: Distance | None) -> Found:
        """Strata of people in the same cells."""
        names, values, is_category = _columns(people, features, distance)
        if unknown := sorted(set(self.cuts) - {n for n, flag in zip(names, is_category, strict=True) if not flag}):
            raise ParameterError(
                "PARAMETER",
                f"There are cut points of {unknown[0]!r}, which is no number that people are matched on.",
                fix=f"The numbers are {', '.join(n for n, flag in zip(names, is_category, strict=True) if not flag)}.",
            )
        both = np.concatenate([people.mine, people.theirs])
        inner = np.linspace(0, 1, self.bins + 1)[1:-1]
        cuts = {
            k: np.asarray(self.cuts[name]) if name in self.cuts else np.unique(np.quantile(values[both, k], inner))
            for k, name in enumerate(names)
            if not is_category[k]
        }
        return Found(_strata(people, cuts, values))


def _columns(
    people: Matchable, features: Sequence[str] | None, distance: Distance | None
) -> tuple[tuple[str, ...], Floats, Sequence[bool]]:
    """The columns that people are alike in, encoded."""
    if distance is not None and not isinstance(distance, Normalised):
        raise ParameterError(
            "PARAMETER", "Exact matching takes no distance.", fix="Name the features people must be alike in."
        )
    bound = (distance or Manhattan(features)).bind(people.data, people.encoding, people.schema)
    return bound.names, bound.values, bound.is_category.tolist()


def _strata(people: Matchable, cuts: Mapping[int, Floats], values: Floats) -> Strata:
    rows = np.concatenate([people.mine, people.theirs])
    cells = values[rows].copy()
    for k, points in cuts.items():
        cells[:, k] = np.searchsorted(points, cells[:, k], side="left")
    _, code = np.unique(cells, axis=0, return_inverse=True)
    return Strata.of(rows, code.reshape(-1), np.arange(len(rows)) < len(people.mine))


METHODS: dict[str, type[MatchingMethod]] = {
    "nearest": NearestNeighbour, "optimal": OptimalPairs, "exact": ExactMatching, "coarsened": CoarsenedExact,
}  # fmt: skip
"""Those that a file can hold."""


@dataclass(frozen=True)
class Matching:
    """How refused people of a group are matched with refused people they are compared with.

    Parameters
    ----------
    method
        `NearestNeighbour()` by default; `OptimalPairs()`, `ExactMatching()` or `CoarsenedExact()`.
    features
        What people must be alike in; by default all that the model, the graph or the schema uses and everybody has,
        without the protected columns.
    distance
        By which nearest neighbours and optimal pairs are found: by default `Manhattan(features)`. Give features or a
        distance.
    """

    method: MatchingMethod = field(default_factory=NearestNeighbour)
    features: Sequence[str] | None = None
    distance: Distance | None = None

    takes: ClassVar[str] = "NearestNeighbour(), OptimalPairs(), ExactMatching() or CoarsenedExact()"

    def __post_init__(self) -> None:
        check_instance("method", self.method, MatchingMethod, self.takes)
        if self.features is not None:
            object.__setattr__(self, "features", names_in("features", self.features))
        if self.distance is not None:
            check_distance(self.distance)
            if self.features is not None:
                raise ParameterError(
                    "PARAMETER", "There are both features and a distance.", fix="Name the features in the distance."
                )

    @property
    def compared(self) -> Sequence[str] | None:
        """The features that are named, in whichever way."""
        return self.features if self.distance is None else getattr(self.distance, "features", None)

    def check(self, data: pd.DataFrame, encoding: Encoding, schema: Schema) -> None:
        """Refuse, before anybody is solved, what these people cannot be matched by."""
        (self.distance or Manhattan(self.features)).bind(data, encoding, schema)

    def match(self, people: Matchable) -> Found:
        """Match them."""
        return self.method.match(people, self.features, self.distance)
