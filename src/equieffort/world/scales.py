"""The numbers that make features comparable, fixed before solving.

A scale turns the reference values of a feature into one number; a change is divided by it. `Own` is the
exception: it divides by the person's own value.

>>> Range().of("age", np.array([20.0, 30.0, 70.0])), Std().of("age", np.array([1.0, 3.0]))
(50.0, 1.0)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from equieffort.data.frames import Floats, number
from equieffort.errors import AuditFileError, CostError, Setting, warn
from equieffort.foundations.arguments import is_number, refused
from equieffort.foundations.saved import as_kind, from_kind

ALTERNATIVES = "Range(), Range(quantiles=(0.01, 0.99)), Std(), MAD() or Own()"


class Scale(ABC):
    """A way to make features comparable."""

    @abstractmethod
    def of(self, name: str, values: Floats) -> float:
        """The scale of a feature, given its reference values."""

    def to_dict(self) -> dict[str, Any]:
        """A form that JSON can hold."""
        found = as_kind(self, SCALES)
        if found is None:
            raise AuditFileError(
                "AUDIT_FILE",
                f"The distance is scaled by {type(self).__name__}, which is not part of equieffort, so no file can "
                "hold it.",
                fix="Save dataclasses.replace(audit, neighbourhood=Everyone()), and pass neighbourhood= to "
                "individual().",
            )
        return found

    @staticmethod
    def from_dict(saved: Any) -> Scale:
        """From the saved form."""
        return from_kind(SCALES, saved, "scale")


def _positive(scale: Scale, name: str, value: float) -> float:
    if not value > 0:
        raise CostError(
            "COST_ZERO_SCALE",
            (
                Setting("scale", type(scale).__name__),
                f" of {name!r} is {number(value)}: it does not vary enough to be scaled by it.",
            ),
            fix=(f"If nobody can act on {name!r} make it mutable; otherwise ", Setting("scales"), "."),
        )
    return value


@dataclass(frozen=True)
class Range(Scale):
    """Largest minus smallest value, as in the paper's equation; or the range between two quantiles."""

    quantiles: tuple[float, float] = (0.0, 1.0)

    def __post_init__(self) -> None:
        pair = self.quantiles
        is_pair = isinstance(pair, tuple | list) and len(pair) == 2 and all(map(is_number, pair))
        if not (is_pair and 0 <= pair[0] < pair[1] <= 1):
            raise refused("quantiles", pair, "a pair with 0 <= low < high <= 1", fix="Give (0.01, 0.99), for instance.")
        object.__setattr__(self, "quantiles", tuple(pair))

    def of(self, name: str, values: Floats) -> float:
        """The range of the reference values."""
        low, high = np.quantile(values, self.quantiles)
        return _positive(self, name, float(high - low))


def warn_outlier(name: str, values: Floats) -> None:
    """Warn when all but the outermost hundredth (at least one value) at each end lie within a fifth of the range."""
    n, whole = len(values), float(np.ptp(values))
    cut = max(n // 100, 1)
    if n < 10 or len(np.unique(values[:1000])) < 3:
        return
    ordered = np.partition(values, (cut, n - 1 - cut))
    inner = float(ordered[n - 1 - cut] - ordered[cut])
    if inner < whole / 5:
        warn(
            "COST_OUTLIER",
            f"{name!r} ranges over {number(whole)}, by which its cost is scaled, but all except {2 * cut} of "
            f"{n:,} values lie within {number(inner)}.",
            fix=(Setting("robust scales"), ", or correct the extreme values."),
        )


@dataclass(frozen=True)
class Std(Scale):
    """The standard deviation (ddof = 0)."""

    def of(self, name: str, values: Floats) -> float:
        """The standard deviation of the reference values."""
        # The mean of equal values is rounded, so that they seem to deviate from it.
        return _positive(self, name, float(np.std(values)) if np.ptp(values) > 0 else 0.0)


@dataclass(frozen=True)
class MAD(Scale):
    """The median absolute deviation from the median: robust, but zero when half the values are equal."""

    def of(self, name: str, values: Floats) -> float:
        """The median absolute deviation of the reference values."""
        return _positive(self, name, float(np.median(np.abs(values - np.median(values)))))


@dataclass(frozen=True)
class Own(Scale):
    """The person's own value: a change from 20 to 22 costs 0.1."""

    def of(self, name: str, values: Floats) -> float:
        """Not one number: each person's own absolute value is used when costs are computed."""
        return 1.0


SCALES: dict[str, type[Scale]] = {"range": Range, "std": Std, "mad": MAD, "own": Own}
"""What a saved audit and a spec call them."""
