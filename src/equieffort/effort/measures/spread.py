"""Spread: what replicates of an audit say of a measure, and the reading that comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite, isnan, nan
from typing import Literal

import numpy as np

from equieffort.effort.inference import Student, Zone
from equieffort.effort.measures.base import Measure, Reading, read_law

Chance = Literal["people", "equations", "procedure"]
CHANCE: dict[str, str] = {
    "people": "who the people are",
    "equations": "who the people are and what the equations learned from them",
    "procedure": "who the people are, what the equations learned and how the model was trained",
}
"""Source of chance -> what could have come out otherwise."""
MOST_UNDEFINED = 0.05
"""With more replicates than this in which a measure is undefined no interval is given."""


@dataclass(frozen=True)
class Spread:
    """How far the replicates of a measure spread on its scale, and in how many it was defined."""

    sd: float
    defined: int
    undefined: int

    def __post_init__(self) -> None:
        if self.defined < 0 or self.undefined < 0:
            raise ValueError("fewer than no replicates")

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """From replicates; undefined ones are NaN or infinite."""
        found = np.array([value for value in values if isfinite(value)])
        sd = float(found.std(ddof=1)) if len(found) > 1 else nan
        return cls(sd, len(found), len(values) - len(found))

    @property
    def suffices(self) -> bool:
        """Whether enough replicates know the measure."""
        return self.sd >= 0 and self.undefined <= MOST_UNDEFINED * (self.defined + self.undefined)


def read_spread(
    measure: Measure, reading: Reading, spread: Spread, level: float, zone: Zone | None, chance: Chance
) -> Reading:
    """The reading with the interval and the tests that the replicates give; its certain range stays."""
    if isnan(reading.estimate) or not spread.suffices:
        note = reading.note if isnan(reading.estimate) else "RESAMPLED"
        return replace(reading, low=nan, high=nan, p=nan, p_beyond=nan, p_within=nan, note=note, chance=chance)
    if spread.sd == 0:
        # The same in every replicate (nobody lacks recourse, say): what so few people can show is the closed form's.
        return replace(reading, chance=chance)
    to = measure.scale.to
    kept = [code for code in reading.note.split() if code not in ("NO_INTERVAL", "NO_SPREAD")]
    reading = replace(reading, note=" ".join(kept))
    least, most = (reading.estimate if isnan(end) else end for end in (reading.least, reading.most))
    law = Student(to(reading.estimate), spread.sd, spread.defined - 1, to(least), to(most))
    return replace(read_law(measure, reading, law, level, zone), chance=chance)
