"""The lines of a curve without each person, put together from sums over centres, and their spread."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.frames import Floats
from equieffort.metrics.bands import Spread, spread_of
from equieffort.metrics.jackknife import Leaving, Near
from equieffort.neighbours.entries import Entries

LINES: dict[str, tuple[str, str]] = {
    "acr": ("own", "other"),
    "phi_own": ("own", ""),
    "phi_other": ("other", ""),
    "rd": ("rd", ""),
    "own_share": ("share", ""),
    "acr_mean_of_ratios": ("ratio", ""),
}
"""Each line as a sum over centres, divided by another or by the number of centres."""

ON_LOG = frozenset({"acr", "phi_own", "phi_other", "acr_mean_of_ratios"})
ENDS = {"rd": (-1.0, 1.0), "own_share": (0.0, 1.0)}


@dataclass(frozen=True, eq=False)
class People:
    """Everybody, in an order that does not depend on the order of the table's rows."""

    order: npt.NDArray[np.intp]
    entry: npt.NDArray[np.intp]
    effort: Floats
    """In units of the group's mean; NaN without an action."""

    @classmethod
    def of(cls, entries: Entries, effort: Floats) -> People:
        """People with equal rows stand together, by effort."""
        order = np.lexsort((effort, entries.of))
        return cls(order, entries.of[order], effort[order])

    def of_entries(self, which: slice) -> slice:
        """The people of some entries, which stand together."""
        low, high = np.searchsorted(self.entry, [which.start, which.stop])
        return slice(int(low), int(high))


@dataclass(frozen=True, eq=False)
class Own:
    """The people who are centres: where they stand, their centre, and whether its neighbourhoods hold themselves."""

    place: npt.NDArray[np.intp]
    centre: npt.NDArray[np.intp]
    inside: npt.NDArray[np.bool_]


@dataclass(eq=False)
class Without:
    """All there is to say about one group against another."""

    leaving: Leaving
    near: Near
    weight: Floats
    people: People
    own: Own

    def spread(self, line: str) -> Spread:
        """How a line varies over people."""
        top, bottom = LINES[line]
        grid = self.leaving.grid
        found = np.empty((len(grid.quantiles), self.leaving.n))
        own_top = self._own(top)
        own_bottom = self._own(bottom) if bottom else None
        count = top if top in ("rd", "share") else "own"
        own_count = self._own(count)[1]
        for q in range(len(found)):
            above = self._sum(top, q, own_top), self._total(top, q)
            below = (
                (self._sum(bottom, q, own_bottom), self._total(bottom, q))
                if own_bottom is not None
                else (self._count(count, q, own_count), float(self.weight @ self.near.defined[count][:, q]))
            )
            found[q] = _change(*above, *below, log=line in ON_LOG)
        return spread_of(found)

    def _total(self, name: str, q: int) -> float:
        return float(np.sum(self.weight * self.near.value[name][:, q]))

    def _sum(self, name: str, q: int, own: tuple[Floats, Floats]) -> Floats:
        """What the sum of a numerator changes by without each person."""
        leaving, people = self.leaving, self.people
        moved = float(np.sum(self.weight * self.near.slope[name][:, q])) * leaving.grid.quantiles[q] / leaving.n
        change = leaving.totals[leaving.names.index(name), q][people.entry] - moved
        for (which, side), slopes in leaving.slopes.items():
            if which == name:
                entries = leaving.entries.acting(leaving.pair[side])
                acting = people.of_entries(entries)
                change[acting] -= slopes[0, q][people.entry[acting] - entries.start] * (people.effort[acting] - 1)
        if name == "ratio":
            change[people.of_entries(leaving.entries.acting(leaving.pair[1]))] += leaving.ratios[q]
        change[self.own.place] -= own[0][:, q]
        return change

    def _count(self, name: str, q: int, own: Floats) -> Floats:
        """What the number of centres changes by without each person."""
        gone = self.leaving.gone.get(name)
        change = np.zeros(self.leaving.n) if gone is None else -gone[q][self.people.entry]
        change[self.own.place] -= own[:, q]
        return change

    def _own(self, name: str) -> tuple[Floats, Floats]:
        """What the person's own centre adds to a sum and to its number, which it does not without them."""
        near, own, leaving = self.near, self.own, self.leaving
        value, count = np.zeros(own.inside.shape), np.zeros(own.inside.shape)
        for which, side, acts in leaving.kinds():
            here = self.people.of_entries(which)
            mine = np.flatnonzero((own.place >= here.start) & (own.place < here.stop))
            if len(mine) == 0:
                continue
            at, inside = own.centre[mine], own.inside[mine]
            part, slope = near.change(name, side, acts, leaving.n)
            added = part[at]
            if slope is not None:
                added = added - slope[at] * (self.people.effort[own.place[mine]] - 1)[:, None]
            moved = near.slope[name][at] * leaving.grid.quantiles / leaving.n
            matters = side is not None and (acts or name in ("rd", "share"))
            lone = inside & near.lone(name, side)[at] if matters else np.zeros_like(inside)
            here_value = near.value[name][at]
            value[mine] = np.where(lone, 0.0, np.where(inside, added, 0.0) - moved + here_value)
            count[mine] = near.defined[name][at] & ~lone
        return value, count


def _change(above: Floats, top: float, below: Floats, bottom: float, *, log: bool) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        if log:
            return np.log1p(above / top) - np.log1p(below / bottom)
        return (top + above) / (bottom + below) - np.divide(top, bottom)
