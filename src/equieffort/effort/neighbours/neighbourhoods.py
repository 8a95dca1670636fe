"""Everyone, Nearest, NearestK: how the people like a given one are chosen.

Ties count as inside: a neighbourhood holds everybody at most as far away as its threshold, so it can be larger than
asked for. The actual sizes are always reported.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.errors import ParameterError, Setting
from equieffort.foundations.arguments import check_instance, check_number, check_whole
from equieffort.foundations.saved import as_kind, from_kind
from equieffort.world.distances import Distance, Manhattan, check_distance


class Neighbourhood(ABC):
    """A way to choose the people like a given one."""

    @abstractmethod
    def members(self, distances: Floats) -> Bools:
        """Who belongs, given the distances from the centre to everybody (itself included)."""

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold; of code of the caller's own that it was there."""
        found = as_kind(self, NEIGHBOURHOODS)
        if found is None:
            return Unsaved(type(self).__name__).to_dict()
        if isinstance(self, Nearest | NearestK) and found["distance"] is None:
            return Unsaved(f"{type(self).__name__} with {type(self.distance).__name__}").to_dict()
        return found

    @staticmethod
    def from_dict(saved: Any) -> Neighbourhood:
        """From the saved form."""
        return from_kind(NEIGHBOURHOODS, saved, "neighbourhood")


@dataclass(frozen=True)
class Everyone(Neighbourhood):
    """Everybody is a neighbour: the system level."""

    def members(self, distances: Floats) -> Bools:
        """All."""
        return np.ones(len(distances), dtype=bool)


@dataclass(frozen=True)
class Nearest(Neighbourhood):
    """Everybody within the given quantile of the distances to all people, the centre included (numpy's linear
    quantile, ``<=``)."""

    quantile: float
    distance: Distance = field(default_factory=Manhattan)

    def __post_init__(self) -> None:
        check_quantile(self.quantile)
        check_distance(self.distance)

    def members(self, distances: Floats) -> Bools:
        """Those at most as far as the quantile."""
        return distances <= np.quantile(distances, self.quantile)


@dataclass(frozen=True)
class NearestK(Neighbourhood):
    """The k nearest people, the centre included, and whoever is as near as the last of them."""

    k: int
    distance: Distance = field(default_factory=Manhattan)

    def __post_init__(self) -> None:
        check_whole("k", self.k, 1, code="NEIGHBOURS_K")
        check_distance(self.distance)

    def members(self, distances: Floats) -> Bools:
        """Those at most as far as the k-th."""
        if self.k > len(distances):
            raise ParameterError(
                "NEIGHBOURS_K", f"k is {self.k}, but there are only {len(distances)} people.", fix="Choose fewer."
            )
        return distances <= np.partition(distances, self.k - 1)[self.k - 1]


@dataclass(frozen=True)
class Unsaved(Neighbourhood):
    """Stands in a loaded audit for a neighbourhood that no file can hold: nobody is taken for a neighbour by guess."""

    was: str

    def members(self, distances: Floats) -> Bools:
        """Nobody can say."""
        raise self.refusal()

    def refusal(self) -> ParameterError:
        """What whoever asks for it is told."""
        return ParameterError(
            "PARAMETER",
            f"The audit used {self.was}, which is code of the caller's own and not part of a saved file.",
            fix=Setting("neighbourhood"),
        )


NEIGHBOURHOODS: dict[str, type[Neighbourhood]] = {
    "everyone": Everyone, "nearest": Nearest, "nearest_k": NearestK, "unsaved": Unsaved,
}  # fmt: skip
"""Those that a file can hold."""


def check_quantile(quantile: float) -> None:
    """Refuse a quantile that is not a share of people."""
    check_number(
        "The quantile", quantile, "a number that lies above 0 and at most at 1", lambda share: 0 < share <= 1,
        fix="Give a share of all people; 1 is everybody.", code="NEIGHBOURS_QUANTILE",
    )  # fmt: skip


def check_neighbourhood(neighbourhood: Any, *, optional: bool = False) -> None:
    """Refuse what is no neighbourhood."""
    takes = "Everyone(), Nearest(quantile) or NearestK(k)"
    check_instance("neighbourhood", neighbourhood, Neighbourhood, takes, optional=optional)
