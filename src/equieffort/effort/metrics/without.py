"""The lines of a curve without each person, put together from sums over centres, and their spread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Floats
from equieffort.effort.metrics.bands import Moments, Spread
from equieffort.effort.metrics.jackknife import Leaving, Near
from equieffort.effort.neighbours.entries import Entries

LINES: dict[str, tuple[str, str]] = {
    "acr": ("own", "other"),
    "phi_own": ("own", ""),
    "phi_other": ("other", ""),
    "rd": ("rd", ""),
    "own_share": ("share", ""),
    "acr_mean_of_ratios": ("ratio", ""),
}
"""Each line as a sum over centres, divided by another or by the number of centres."""

COUNTED = ("own", "rd", "share")
"""Numerators whose centres are counted; both efforts and their ratio are defined around the same ones."""
CHUNK = 8192
"""People at a time, so that everything about them stays in the cache."""
EVERYWHERE = ("acr", "rd")
"""Lines that are judged get a band that holds at all quantiles at once too."""
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
        alone = len(entries) == len(effort)
        order = entries.someone if alone else np.lexsort((effort, entries.of))
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
class Part:
    """What a sum changes by without each of some people, by quantile, and the sum itself."""

    by: Floats
    total: Floats

    @cached_property
    def log(self) -> Floats:
        """The change of its logarithm."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.log1p(self.by / self.total[:, None])

    def change(self, below: Part, *, log: bool) -> Floats:
        """The change of the ratio to another sum, or of its logarithm."""
        if log:
            with np.errstate(invalid="ignore"):
                return self.log - below.log
        with np.errstate(invalid="ignore", divide="ignore"):
            now = self.total / below.total
            return (self.total[:, None] + self.by) / (below.total[:, None] + below.by) - now[:, None]


@dataclass(eq=False)
class Without:
    """All there is to say about one group against another."""

    leaving: Leaving
    near: Near
    weight: Floats
    people: People
    own: Own

    def spreads(self, lines: Sequence[str]) -> dict[str, Spread]:
        """How lines vary over people."""
        names = self.leaving.names
        own = {name: self._own(name) for name in names}
        by_place = np.argsort(self.own.place)
        found = {line: Moments(len(self.leaving.grid.quantiles), line in EVERYWHERE) for line in lines}
        for begin in range(0, self.leaving.n, CHUNK):
            part = slice(begin, min(begin + CHUNK, self.leaving.n))
            low, high = np.searchsorted(self.own.place, [part.start, part.stop], sorter=by_place)
            mine = by_place[low:high]
            above = {name: self._sums(name, part, mine, own[name][0]) for name in names}
            below = {name: self._counts(name, part, mine, own[name][1]) for name in names if name in COUNTED}
            for line, moments in found.items():
                top, bottom = LINES[line]
                if bottom:
                    moments.add(above[top].change(above[bottom], log=True))
                else:
                    count = below[top if top in COUNTED else "own"]
                    moments.add(above[top].change(count, log=line in ON_LOG))
        return {line: moments.spread() for line, moments in found.items()}

    def _sums(self, name: str, part: slice, mine: npt.NDArray[np.intp], own: Floats) -> Part:
        """What the sum of a numerator changes by without each of some people."""
        leaving, people, near = self.leaving, self.people, self.near
        moved = self._over_centres(near.slope[name]) * leaving.grid.quantiles / leaving.n
        # Where nobody shares a row, entries are people.
        entry = part if len(leaving.entries) == leaving.n else people.entry[part]
        change = leaving.totals[leaving.names.index(name)][:, entry] - moved[:, None]
        side = {"own": 0, "ratio": 0, "other": 1}.get(name)
        if side is not None:
            acting = self._overlap(leaving.entries.acting(leaving.pair[side]), part)
            row = len(leaving.names) + (name == "ratio")
            slopes = leaving.totals[row][:, people.entry[acting]] * (people.effort[acting] - 1)
            change[:, acting.start - part.start : acting.stop - part.start] -= slopes
        if name == "ratio":
            whole = people.of_entries(leaving.entries.acting(leaving.pair[1]))
            acting = self._overlap(leaving.entries.acting(leaving.pair[1]), part)
            added = leaving.ratios[:, acting.start - whole.start : acting.stop - whole.start]
            change[:, acting.start - part.start : acting.stop - part.start] += added
        change[:, self.own.place[mine] - part.start] -= own[mine].T
        return Part(change, self._over_centres(near.value[name]))

    def _over_centres(self, values: npt.NDArray[Any]) -> Floats:
        # No matrix product, which may add in another order on another number of threads.
        return np.asarray((self.weight[:, None] * values).sum(axis=0), dtype=np.float64)

    def _overlap(self, entries: slice, part: slice) -> slice:
        """The people of some entries who are among some people; empty within the part if there are none."""
        whole = self.people.of_entries(entries)
        start = min(max(whole.start, part.start), part.stop)
        return slice(start, max(start, min(whole.stop, part.stop)))

    def _counts(self, name: str, part: slice, mine: npt.NDArray[np.intp], own: Floats) -> Part:
        """What the number of centres changes by without each of some people."""
        gone = self.leaving.gone.get(name)
        change = np.zeros((own.shape[1], part.stop - part.start))
        if gone is not None:
            change -= gone[:, self.people.entry[part]]
        change[:, self.own.place[mine] - part.start] -= own[mine].T
        return Part(change, self._over_centres(self.near.defined[name]))

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
