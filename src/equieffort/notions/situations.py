"""The people most like a person, in their own group and in another: who they are, and how they were decided."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.errors import DataError, ParameterError
from equieffort.notions.base import Audited
from equieffort.world.distances import BoundDistance

BLOCK = 256
"""So many people are looked at together."""


@dataclass(frozen=True, eq=False)
class Situation:
    """One person beside the people most like them in their own and in another group."""

    group: str
    against: str
    decision: str
    rate_own: float
    rate_other: float
    difference: float
    discriminated: bool | None
    """None where a group has fewer than k others."""
    neighbours: pd.DataFrame = field(repr=False)
    """By side ("own", "other"), nearest first: distance, decision, and the place that each takes (less than 1 where
    equally far people share places)."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """Who is near whom."""

    bound: BoundDistance
    approved: Bools
    k: int
    tau: float
    audited: Audited

    def places(self, row: int, far: Floats, members: Bools) -> Floats:
        """The share of a place that each person takes among the k nearest members; NaN where there are too few."""
        return places_of(np.where(np.arange(len(far)) == row, np.inf, far)[None], members, self.k)[0]

    def rates(self, rows: npt.NDArray[np.intp], sides: Sequence[Bools]) -> Floats:
        """(person, side): the share approved among the k nearest of each side."""
        found = np.full((len(rows), len(sides)), np.nan)
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            far = np.vstack([self.bound.to_all(slice(row, row + 1)) for row in part.tolist()])
            # Nobody is their own neighbour.
            far[np.arange(len(part)), part] = np.inf
            for k, side in enumerate(sides):
                found[start : start + BLOCK, k] = places_of(far, side, self.k) @ self.approved / self.k
        return found

    def situation(self, label: Any, against: str | None) -> Situation:
        """One person."""
        table = self.audited.table
        try:
            row = int(np.flatnonzero(table.index == label)[0])
        except IndexError:
            raise DataError(
                "DATA_UNKNOWN_ROW", f"No person has the index label {label!r}.", fix="Give a label of audit.recourse."
            ) from None
        groups, mine, theirs = self._sides(row, against)
        far = self.bound.to_all(slice(row, row + 1))[0]
        taken = [self.places(row, far, side) for side in (mine, theirs)]
        rates = [float(one @ self.approved / self.k) for one in taken]
        parts = []
        for side, places in zip(("own", "other"), taken, strict=True):
            who = np.flatnonzero(np.nan_to_num(places) > 0)
            who = who[np.argsort(far[who], kind="stable")]
            columns = {
                "side": side, "distance": far[who], "decision": decisions_of(self.approved[who]), "place": places[who],
            }  # fmt: skip
            parts.append(pd.DataFrame(columns, index=table.index[who]))
        difference = rates[1] - rates[0]
        return Situation(
            groups[0], groups[1], str(decisions_of(self.approved[[row]])[0]), rates[0], rates[1], difference,
            None if isnan(difference) else bool(difference > self.tau), pd.concat(parts),
        )  # fmt: skip

    def _sides(self, row: int, against: str | None) -> tuple[tuple[str, str], Bools, Bools]:
        groups = self.audited.table.groups
        own = int(groups.codes[row])
        around = groups.around(own)
        if against is None:
            one = around[0]
            return (groups.labels[own], one.against), groups.codes == own, np.isin(groups.codes, one.others)
        if against not in groups.labels or against == groups.labels[own]:
            raise ParameterError(
                "PARAMETER",
                f"against is {against!r}, which is no other group.",
                fix=f"Choose from {', '.join(repr(name) for k, name in enumerate(groups.labels) if k != own)}.",
            )
        return (groups.labels[own], against), groups.codes == own, groups.codes == groups.labels.index(against)


def places_of(far: Floats, members: Bools, k: int) -> Floats:
    """(person, other): the share of a place among the k nearest members; who are equally far share what is left."""
    found = np.zeros(far.shape)
    inside = far[:, members]
    enough = np.isfinite(inside).sum(axis=1) >= k
    if not enough.any():
        return np.full(far.shape, np.nan)
    last = np.partition(inside, k - 1, axis=1)[:, k - 1][:, None]
    with np.errstate(invalid="ignore"):
        nearer, level = inside < last, inside == last
    left = k - nearer.sum(axis=1, keepdims=True)
    found[:, members] = nearer + level * (left / np.maximum(level.sum(axis=1, keepdims=True), 1))
    found[~enough] = np.nan
    return found


def decisions_of(approved: Bools) -> npt.NDArray[np.object_]:
    """In words."""
    return np.where(approved, "approved", "refused").astype(object)
