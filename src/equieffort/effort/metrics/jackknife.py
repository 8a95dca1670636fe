"""What every line of the curve would be without each person, without leaving anybody out.

Leaving out k does three things. k is no centre any more. k is nobody's neighbour: in every centre that holds k the
means of k's group lose a member, and a centre of which k was the only one of a group is no longer defined. And
thresholds move: without k the quantile q of the distances is the quantile q - (q - 1{k is inside}) / n of before, which
is followed along the slope of the curve between q (1 - STEP) and q (1 + STEP). Approved people move thresholds too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from equieffort.data.frames import Bools, Floats
from equieffort.effort.neighbours import in_numpy
from equieffort.effort.neighbours.entries import Around, Entries
from equieffort.effort.neighbours.leaving import leave_out, leave_out_ratio

STEP = 0.2


@dataclass(frozen=True, eq=False)
class Grid:
    """The quantiles of a curve, which rise, and the thresholds that their slopes need."""

    quantiles: Floats
    thresholds: Floats
    at: npt.NDArray[np.intp]
    below: npt.NDArray[np.intp]
    above: npt.NDArray[np.intp]

    @classmethod
    def of(cls, quantiles: Floats, *, slopes: bool) -> Grid:
        """With two more thresholds a quantile, unless no slopes are wanted; everybody's has none."""
        moves = slopes & (quantiles < 1)
        below = np.where(moves, quantiles * (1 - STEP), quantiles)
        above = np.where(moves, np.minimum(quantiles * (1 + STEP), 1.0), quantiles)
        thresholds = np.unique(np.concatenate([quantiles, below, above]))
        at, low, high = (np.searchsorted(thresholds, wanted) for wanted in (quantiles, below, above))
        return cls(quantiles, thresholds, at, low, high)

    def slope(self, values: Floats) -> Floats:
        """How values by centre and threshold change with the quantile; 0 where that is unknown."""
        run = self.thresholds[self.above] - self.thresholds[self.below]
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.nan_to_num((values[:, self.above] - values[:, self.below]) / run, nan=0.0, posinf=0.0, neginf=0.0)


@dataclass(frozen=True, eq=False)
class Near:
    """A group against another around some centres, by centre and quantile; efforts in units of the group's own mean.

    Numerators are what is averaged over centres: Phi of one's own group and of the other, RD, the own group's share,
    and the ratio. `value` and `slope` are by numerator; values are 0 where they are not defined.
    """

    value: dict[str, Floats]
    slope: dict[str, Floats]
    defined: dict[str, Bools]
    acting: tuple[Floats, Floats]
    size: tuple[Floats, Floats]

    @classmethod
    def of(cls, around: Around, grid: Grid, pair: tuple[int, int], units: Floats, *, ratio: bool) -> Near:
        """Read what is around the centres."""
        sizes = [around.size[:, :, g].astype(np.float64) for g in pair]
        actings = [around.acting[:, :, g].astype(np.float64) for g in pair]
        with np.errstate(invalid="ignore", divide="ignore"):
            own, other = (around.cost[:, :, g] / n / units[g] for g, n in zip(pair, actings, strict=True))
            holds = (actings[0] > 0) & (other > 0)
            values = {
                "own": np.where(holds, own, np.nan),
                "other": np.where(holds, other, np.nan),
                "rd": actings[1] / sizes[1] - actings[0] / sizes[0],
                "share": sizes[0] / (sizes[0] + sizes[1]),
            }
            if ratio:
                values["ratio"] = np.where(holds, own / other, np.nan)
        at = {name: value[:, grid.at] for name, value in values.items()}
        defined = {name: ~np.isnan(value) for name, value in at.items()}
        slopes = {name: grid.slope(value) * defined[name] for name, value in values.items()}
        return cls(
            {name: np.nan_to_num(value, nan=0.0) for name, value in at.items()}, slopes, defined,
            (actings[0][:, grid.at], actings[1][:, grid.at]), (sizes[0][:, grid.at], sizes[1][:, grid.at]),
        )  # fmt: skip

    def lone(self, name: str, side: int | None) -> Bools:
        """Where a numerator rests on a single person of a side (both sides together for the share)."""
        if name == "share":
            return self.defined[name] & (self.size[0] + self.size[1] == 1)
        counts = self.size if name == "rd" else self.acting
        return self.defined[name] & (counts[side or 0] == 1)

    def change(self, name: str, side: int | None, acts: bool, n: int) -> tuple[Floats, Floats | None]:
        """What a numerator changes by without somebody inside: a part for all, and one times their effort less 1.

        `side` is 0 for one's own group, 1 for the other, None for everybody else. The part of q in the movement of
        thresholds is the same for all people and not in here. 0 where the person was the only one.
        """
        move = self.slope[name] / n
        if side is None or (name in ("own", "other", "ratio") and not acts):
            return move, None
        lone = self.lone(name, side)
        with np.errstate(invalid="ignore", divide="ignore"):
            if name == "rd":
                rate = self.acting[side] / self.size[side]
                step = (rate - float(acts)) / (self.size[side] - 1) * (1 if side else -1)
                slope = None
            elif name == "share":
                both = self.size[0] + self.size[1]
                step = (self.size[0] - (1 - side)) / (both - 1) - self.size[0] / both
                slope = None
            elif (name == "own" and side == 0) or (name == "other" and side == 1):
                step = (self.value[name] - 1) / (self.acting[side] - 1)
                slope = 1 / (self.acting[side] - 1)
            elif name == "ratio" and side == 0:
                slope = 1 / (self.acting[0] - 1) / self.value["other"]
                step = (self.value["own"] - 1) * slope
            else:
                # The other group's mean stays as it is. Ratios without somebody of the other group are summed apart.
                step, slope = np.zeros_like(move), None
        many = self.defined[name] & ~lone
        return np.where(many, move + step, 0.0), None if slope is None else np.where(many, slope, 0.0)


@dataclass(eq=False)
class Leaving:
    """Sums over the centres of one group, as they come, of what each person changes against another group."""

    pair: tuple[int, int]
    grid: Grid
    entries: Entries
    n: int
    names: tuple[str, ...]
    efforts: Floats
    """Of each person of the other group with an action, in its units, in the order of the entries."""
    totals: npt.NDArray[np.float32] = field(init=False)
    """Rows as in `names`; then, of people with an action, what goes with their effort less 1: in their own group's mean
    effort, and in the mean ratio, if that is wanted."""
    ratios: Floats = field(init=False)
    gone: dict[str, Floats] = field(init=False)

    def __post_init__(self) -> None:
        quantiles = len(self.grid.quantiles)
        rows = len(self.names) + 1 + ("ratio" in self.names)
        # What goes with people's effort is added for those with an action: of the rest nothing is ever touched.
        self.totals = np.zeros((rows, quantiles, len(self.entries)), dtype=np.float32)
        self.gone = {}
        self.ratios = np.zeros((quantiles, len(self.efforts)))

    def kinds(self) -> Iterator[tuple[slice, int | None, bool]]:
        """Entries that are treated alike: which, of which side, and whether they act."""
        groups = self.entries.groups
        yield slice(0, int(self.entries.begin[1])), None, False
        for g in range(groups):
            side = self.pair.index(g) if g in self.pair else None
            yield self.entries.refused(g), side, False
            yield self.entries.acting(g), side, True

    def add(self, near: Near, first: npt.NDArray[Any], weight: Floats) -> None:
        """One more block of centres; each stands for `weight` centres with equal rows."""
        last = self.grid.at.astype(first.dtype)
        for which, side, acts in self.kinds():
            if which.start == which.stop:
                continue
            found = [near.change(name, side, acts, self.n) for name in self.names]
            rows = [part for part, _ in found]
            rows += [slope for name, (_, slope) in zip(self.names, found, strict=True) if slope is not None]
            packed = _packed(rows, weight)
            work = in_numpy.TWO * packed.size * (which.stop - which.start)
            leave_out(first, last, packed, which.start, which.stop, self.totals, work=work)
        if "ratio" in self.names:
            self._add_ratios(near, first, last, weight)
        for name in self.names:
            for side in (0,) if name == "share" else (0, 1):
                self._add_lone(near, first, weight, name, side)

    def _add_ratios(self, near: Near, first: Any, last: Any, weight: Floats) -> None:
        """What mean ratios change by without somebody of the other group, which is not linear in their effort."""
        many = near.defined["ratio"] & ~near.lone("ratio", 1)
        count = np.where(many, near.acting[1], 0.0)
        own, other, entry = near.value["own"], near.value["other"], self.of_other
        work = in_numpy.RATIO * own.size * len(entry)
        leave_out_ratio(first, last, own, other, count, weight, entry, self.efforts, self.ratios, work=work)

    @property
    def of_other(self) -> npt.NDArray[np.intp]:
        """The entries of the other group's people with an action, a person each."""
        where = self.entries.acting(self.pair[1])
        return np.repeat(np.arange(where.start, where.stop), self.entries.weight[where])

    def _add_lone(self, near: Near, first: npt.NDArray[Any], weight: Floats, name: str, side: int) -> None:
        """Without the only person of a side a centre is not defined any more."""
        lone = near.lone(name, side)
        centres = np.flatnonzero(lone.any(axis=1))
        if len(centres) == 0:
            return
        who = self._only(first[centres], name, side)
        c, q = np.nonzero(lone[centres])
        here = centres[c]
        back = self.grid.quantiles[q] * near.slope[name][here, q] / self.n
        row = self.names.index(name)
        np.add.at(self.totals[row], (q, who[c]), weight[here] * (back - near.value[name][here, q]))
        if name in ("own", "rd", "share"):
            # Both efforts and their ratio are defined around the same centres, which are counted once.
            gone = self.gone.setdefault(name, np.zeros(self.totals.shape[1:]))
            np.add.at(gone, (q, who[c]), weight[here])

    def _only(self, first: npt.NDArray[Any], name: str, side: int) -> npt.NDArray[np.intp]:
        """The nearest entry of a side around each centre."""
        groups = self.pair if name == "share" else (self.pair[side],)
        ranges = [self.entries.acting(g) for g in groups]
        if name in ("rd", "share"):
            ranges += [self.entries.refused(g) for g in groups]
        best = np.full(len(first), np.iinfo(first.dtype).max, dtype=first.dtype)
        who = np.zeros(len(first), dtype=np.intp)
        for where in ranges:
            if where.start < where.stop:
                part = first[:, where]
                nearest = part.argmin(axis=1)
                value = part[np.arange(len(part)), nearest]
                closer = value < best
                best[closer], who[closer] = value[closer], nearest[closer] + where.start
        return who


def _packed(rows: list[Floats], weight: Floats) -> npt.NDArray[np.float32]:
    """Coefficients as the second pass wants them: by row, quantile and an even number of centres."""
    centres, quantiles = rows[0].shape
    packed = np.zeros((len(rows), quantiles, centres + centres % 2), dtype=np.float32)
    for row, values in zip(packed, rows, strict=True):
        row[:, :centres] = (values * weight[:, None]).T
    return packed
