"""How alike two people are: the paper's normalised Manhattan distance with overlap for categories, Euclidean, or yours.

d(x, x') sums over features: |x_k - x'_k| / range_k for numbers, and for categories 0 if equal, 1 otherwise. Protected
columns are left out unless asked for, since similar people should differ in nothing else.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Encoding, Floats
from equieffort.errors import ParameterError, Setting, closest, label, listed, warn
from equieffort.foundations.arguments import as_numbers, calling, check_flag, check_function, check_instance, names_in
from equieffort.foundations.saved import as_kind, from_kind
from equieffort.world.scales import ALTERNATIVES, Range, Scale
from equieffort.world.schema import Schema


class Distance(ABC):
    """A distance between people."""

    @abstractmethod
    def bind(self, data: pd.DataFrame, encoding: Encoding, schema: Schema) -> BoundDistance:
        """Fix features and scales for the people in `data`."""

    def to_dict(self) -> dict[str, Any] | None:
        """A form that JSON can hold; None of a distance that is code of the caller's own."""
        return as_kind(self, DISTANCES)

    @staticmethod
    def from_dict(saved: Any) -> Distance:
        """From the saved form."""
        return from_kind(DISTANCES, saved, "distance")


class BoundDistance(ABC):
    """A distance over a fixed table of people."""

    block_bytes: int = 64 * 2**20
    """Of distances from people to everybody that are best asked for at once."""

    @abstractmethod
    def to_all(self, rows: slice) -> Floats:
        """Distances from some people to everybody: a row a person."""

    def around(self, people: npt.NDArray[np.intp]) -> Floats:
        """The same from people who are named one by one."""
        return np.concatenate([self.to_all(slice(row, row + 1)) for row in people.tolist()])


@dataclass(frozen=True, eq=False)
class MixedDistance(BoundDistance):
    """Scaled differences of numbers and overlap of categories, summed (power 1) or as a Euclidean length (power 2)."""

    values: Floats
    """People as rows: the columns that are compared."""
    scales: Floats
    is_category: Bools
    power: int
    names: tuple[str, ...]
    lacking: tuple[str, ...] = ()
    """Features that nobody named and not everybody has: they are left out."""

    def to_all(self, rows: slice) -> Floats:
        """Distances from some people to everybody."""
        total = np.zeros((len(self.values[rows]), len(self.values)))
        for k in range(self.values.shape[1]):
            part = self.part(rows, k)
            total += part if self.power == 1 else part * part
        return total if self.power == 1 else np.sqrt(total)

    def part(self, rows: slice, k: int) -> Floats:
        """What one column adds: the scaled difference of a number, 0 or 1 for a category."""
        centre = self.values[rows, k][:, None]
        if self.is_category[k]:
            return np.asarray(centre != self.values[None, :, k], dtype=np.float64)
        return np.asarray(np.abs(centre - self.values[None, :, k]) / self.scales[k])


@dataclass(frozen=True)
class Normalised(Distance):
    """What the built-in distances share.

    `features` restricts the columns; by default all that the model, the graph or the schema uses and everybody has,
    without the protected ones. A feature that is named and has missing values is refused.
    """

    power: ClassVar[int]
    """1 sums differences, 2 takes the Euclidean length."""

    features: Sequence[str] | None = None
    scale: Scale = field(default_factory=Range)
    include_protected: bool = False

    def __post_init__(self) -> None:
        if self.features is not None:
            object.__setattr__(self, "features", names_in("features", self.features))
        check_instance("scale", self.scale, Scale, ALTERNATIVES)
        check_flag("include_protected", self.include_protected)

    def bind(self, data: pd.DataFrame, encoding: Encoding, schema: Schema) -> MixedDistance:
        """Fix features and scales."""
        names = list(self.features) if self.features is not None else list(encoding.names)
        unknown = [name for name in names if name not in encoding.names]
        if unknown:
            raise ParameterError(
                "DATA_MISSING_COLUMN",
                f"The distance uses {unknown[0]!r}, which is not among the columns that matter. "
                f"{closest(unknown[0], encoding.names)}".rstrip(),
                fix=f"They are {listed(encoding.names, 20)}.",
            )
        if not self.include_protected:
            named = [name for name in self.features or () if name in schema.protected_columns]
            if named:
                raise ParameterError(
                    "PARAMETER",
                    f"The distance names {listed(named)}, which is protected and would be left out.",
                    fix=Setting("protected in distance"),
                )
            names = [name for name in names if name not in schema.protected_columns]
        # Filled in column by column, since one more copy of everybody would be the largest thing in memory.
        matrix = np.empty((len(data), len(names)))
        kept: list[tuple[str, bool]] = []
        scales, constant, lacking = [], [], []
        for name in names:
            column = encoding[name]
            values = column.encode(data[name])
            if np.isnan(values).any():
                lacking.append(name)
                continue
            if np.ptp(values) == 0:
                constant.append(name)
                continue
            matrix[:, len(kept)] = values
            kept.append((name, column.is_category))
            scales.append(1.0 if column.is_category else self.scale.of(name, values))
        if constant:
            warn(
                "COST_ZERO_RANGE",
                f"{listed(constant)} has a single value and is left out of the distance.",
                fix="Drop it, or name the features that the distance should use.",
            )
        if lacking:
            self.refuse_or_tell(lacking, [name for name, _ in kept])
        if len(kept) < len(names):
            matrix = np.ascontiguousarray(matrix[:, : len(kept)])
        return MixedDistance(
            matrix,
            np.array(scales, dtype=np.float64),
            np.array([flag for _, flag in kept], dtype=bool),
            self.power,
            tuple(name for name, _ in kept),
            tuple(lacking),
        )

    def refuse_or_tell(self, lacking: Sequence[str], kept: Sequence[str]) -> None:
        """What is done about features that not everybody has: those that were named are refused."""
        if self.features is not None:
            raise ParameterError(
                "DATA_MISSING_VALUES",
                f"The distance uses {lacking[0]!r}, which has missing values.",
                fix=("Fill them in, or name features that everybody has: ", Setting("distance"), "."),
            )
        tell_lacking(lacking, kept)


def tell_lacking(lacking: Sequence[str], kept: Sequence[str]) -> None:
    """Say which features that nobody named are left out because not everybody has them; refuse if nothing remains."""
    if not kept:
        raise ParameterError(
            "DATA_MISSING_VALUES",
            f"Nobody can be compared: {listed(lacking)} {_has(lacking)} missing values, and nothing else tells people "
            "apart.",
            fix="Fill them in.",
        )
    warn(
        "DISTANCE_MISSING",
        f"{listed(lacking)} {_has(lacking)} missing values and {'is' if len(lacking) == 1 else 'are'} left out of the "
        f"distance: people are compared by {listed(kept)}.",
        fix="Fill them in if they should count.",
    )


def _has(names: Sequence[str]) -> str:
    return "has" if len(names) == 1 else "have"


@dataclass(frozen=True)
class Manhattan(Normalised):
    """The paper's distance: normalised L1, overlap for categories."""

    power: ClassVar[int] = 1


@dataclass(frozen=True)
class Euclidean(Normalised):
    """Normalised L2; a category that differs counts as a full range."""

    power: ClassVar[int] = 2


@dataclass(frozen=True)
class Effect:
    """What setting one feature does to the decision: the share approved were it set so for everybody."""

    feature: str
    values: tuple[float, ...]
    """In rising order, encoded; between them the share is taken to be straight, and flat beyond."""
    shares: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.values) != len(self.shares) or not self.values or list(self.values) != sorted(set(self.values)):
            raise ValueError("an effect is no share a value, in rising order")

    def at(self, values: Floats) -> Floats:
        """The share at some values.

        >>> Effect("income", (0.0, 10.0), (0.2, 0.8)).at(np.array([5.0, 20.0]))
        array([0.5, 0.8])
        """
        return np.interp(values, self.values, self.shares)


@dataclass(frozen=True)
class CausalDistance(Distance):
    """Zhang, Wu and Wu's: the sum over direct causes q of |effect of q on the decision| times the difference in q.

    The effect is the difference of the shares approved were q set to the one and to the other person's value for
    everybody; the difference is over the range for numbers, and 0 or 1 for categories. `Audit.situation_testing()`
    makes one (`.distance`), which any neighbourhood takes: `Nearest(0.2, found.distance)`.
    """

    effects: tuple[Effect, ...]

    def bind(self, data: pd.DataFrame, encoding: Encoding, schema: Schema) -> BoundDistance:
        """Fix the people, and the ranges of numbers among them."""
        plain = Manhattan([one.feature for one in self.effects if data[one.feature].nunique() > 1])
        bound = plain.bind(data, encoding, schema)
        effects = {one.feature: one for one in self.effects}
        shares = [effects[name].at(bound.values[:, k]) for k, name in enumerate(bound.names)]
        return _CausalBound(bound, np.column_stack(shares) if shares else np.zeros((len(data), 0)))


@dataclass(frozen=True, eq=False)
class _CausalBound(BoundDistance):
    parts: MixedDistance
    shares: Floats
    """(person, feature): the share approved at the person's own value."""

    def to_all(self, rows: slice) -> Floats:
        total = np.zeros((len(self.shares[rows]), len(self.shares)))
        for k in range(self.shares.shape[1]):
            effect = np.abs(self.shares[rows, k][:, None] - self.shares[None, :, k])
            total += effect * self.parts.part(rows, k)
        return total


DISTANCES: dict[str, type[Distance]] = {"manhattan": Manhattan, "euclidean": Euclidean, "causal": CausalDistance}
"""Those that a file can hold."""


@dataclass(frozen=True)
class OwnDistance(Distance):
    """Your own: f(centres, everybody) -> a matrix, a row a centre; both are frames of all columns that matter."""

    f: Callable[[pd.DataFrame, pd.DataFrame], Any]

    def __post_init__(self) -> None:
        check_function("f", self.f, "a function of centres and everybody")

    def bind(self, data: pd.DataFrame, encoding: Encoding, schema: Schema) -> BoundDistance:
        """Fix the people."""
        return _OwnBound(self.f, data[[name for name in encoding.names if name not in schema.protected_columns]])


@dataclass(frozen=True, eq=False)
class _OwnBound(BoundDistance):
    f: Callable[[pd.DataFrame, pd.DataFrame], Any]
    data: pd.DataFrame

    def to_all(self, rows: slice) -> Floats:
        centres = self.data.iloc[rows]
        who = label(centres.index[0]) if len(centres) else "nobody"
        with calling(
            f"The distance function, asked about the person {who},",
            "Return a matrix of finite distances, a row a centre, a column a person.",
            code="DISTANCE_INVALID",
        ):
            found = as_numbers(self.f(centres, self.data))
        if found.shape != (len(centres), len(self.data)) or not (np.isfinite(found) & (found >= 0)).all():
            raise ParameterError(
                "DISTANCE_INVALID",
                f"The distance returned shape {found.shape} for {len(centres)} centres and {len(self.data)} people, "
                "or values that are negative, infinite or missing.",
                fix="Return a matrix of finite distances, a row a centre, none negative; far apart is a large number.",
            )
        return found


def check_distance(distance: Any, name: str = "distance") -> None:
    """Refuse what is not a distance."""
    check_instance(name, distance, Distance, "Manhattan(...), Euclidean(...) or OwnDistance(f)")
