"""The curve over quantiles: ACR, efforts, sizes and own-group share averaged over the people of a group.

Each unfavourably decided person is a centre. A person whose neighbourhood lacks one of the two groups, or in which the
other group's effort is undefined or zero, has no ACR: they are left out of ACR and of both effort curves, and counted.
`acr` is the mean effort of the own group over that of the other, both averaged over centres; the paper's line, the mean
of each centre's ratio, is `acr_mean_of_ratios`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.effort.metrics.bands import (
    NO_SPREAD,
    UNCERTIFIED,
    UNDEFINED,
    Bands,
    Jackknife,
    PaperBands,
    Spread,
    half_widths,
    limits,
    paper_band,
)
from equieffort.effort.metrics.jackknife import Grid, Leaving, Near
from equieffort.effort.metrics.without import ENDS, EVERYWHERE, LINES, ON_LOG, Own, People, Without
from equieffort.effort.neighbours import Around, Sweep, Sweeper, check_people, check_quantile, sweeper
from equieffort.effort.neighbours.coded import PAIRS
from equieffort.foundations.memory import give_back
from equieffort.recourse.table import RecourseTable
from equieffort.world.distances import BoundDistance
from equieffort.world.groups import Versus
from equieffort.world.opponents import Rest

PAPER_QUANTILES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""The quantiles of the paper's figures."""

JACKKNIFED = ("acr", "phi_own", "phi_other", "rd", "own_share")

Pair = tuple[int, int]
ALL_OTHERS = -1
"""In place of a code: everybody else together."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Neighbourhood sums around the centres, and how the lines made of them vary over people."""

    table: RecourseTable
    sweep: Sweep
    bands: Bands
    spreads: dict[tuple[Pair, str], Spread]

    def slots(self, compared: Versus) -> Pair:
        """Where the sums of both sides of a comparison stand in the sweep.

        Against everybody else they are those of a centre's own group and of its others.
        """
        if isinstance(self.table.groups.reference, Rest):
            return 0, 1
        return compared.group, compared.others[0]

    def _key(self, compared: Versus) -> Pair:
        """Under which codes its spreads are kept."""
        return compared.group, ALL_OTHERS if isinstance(self.table.groups.reference, Rest) else compared.others[0]

    def frame(self, quantiles: Sequence[int] | slice = slice(None)) -> pd.DataFrame:
        """One row a group, opponent and quantile; all quantiles, or some by position."""
        groups = self.table.groups
        swept = self.sweep.at(quantiles)
        own = groups.codes[swept.centres]
        parts = []
        for one in groups.centred:
            part = _estimates(swept, own == one.group, *self.slots(one), paper=isinstance(self.bands, PaperBands))
            part.insert(0, "against", one.against)
            part.insert(0, "group", groups.labels[one.group])
            parts.append(self._with_bands(part, one, quantiles))
        return pd.concat(parts, ignore_index=True)

    def _with_bands(self, part: pd.DataFrame, pair: Versus, quantiles: Any) -> pd.DataFrame:
        members = np.isin(self.table.groups.codes, (pair.group, *pair.others))
        notes = [[UNCERTIFIED] if (self.table.is_unsettled & members).any() else [] for _ in range(len(part))]
        for name in (*JACKKNIFED, "acr_mean_of_ratios"):
            if not isinstance(self.bands, Jackknife) or (name not in JACKKNIFED and not self.bands.mean_of_ratios):
                continue
            spread = self.spreads.get((self._key(pair), name), _no_spread(len(self.sweep.quantiles), ""))
            why = _add_band(part, name, spread, self.bands, quantiles)
            for note, code in zip(notes, why, strict=True):
                # Efforts and ratios are defined and vary together; RD may differ.
                if code and name in EVERYWHERE:
                    note.append(code if name == "acr" else f"{name.upper()}_{code}")
            if name == "acr":
                part["nu"] = spread.nu[quantiles]
        part["note"] = [" ".join(note) for note in notes]
        return part


def _add_band(part: pd.DataFrame, name: str, spread: Spread, bands: Jackknife, quantiles: Any) -> list[str]:
    """Limits beside a line; says where there are none and why."""
    estimate = part[name].to_numpy()
    at, everywhere = half_widths(spread, bands, together=name in EVERYWHERE)
    place = list(part.columns).index(name) + 1
    ends = ENDS.get(name, (0.0, np.inf))
    wide = [("_all", everywhere)] if name in EVERYWHERE else []
    for ending, half in [*wide, ("", at)]:
        low, high = limits(estimate, half[quantiles], log=name in ON_LOG, ends=ends)
        part.insert(place, f"{name}_high{ending}", high)
        part.insert(place, f"{name}_low{ending}", low)
    codes = np.array(spread.why)[quantiles].tolist()
    return [UNDEFINED if np.isnan(value) else code for value, code in zip(estimate, codes, strict=True)]


def neighbourhood_sweep(
    table: RecourseTable, distance: BoundDistance, quantiles: Sequence[float], centres: Any = None
) -> Sweep:
    """Neighbourhood sums around the given centres (by default everybody who was decided unfavourably)."""
    return curve(table, distance, quantiles, centres, None).sweep


def curve(
    table: RecourseTable,
    distance: BoundDistance,
    quantiles: Sequence[float],
    centres: Any = None,
    bands: Bands = Jackknife(),  # noqa: B008 (frozen)
) -> Curve:
    """Neighbourhood sums around the given centres, and what bands need."""
    for quantile in quantiles:
        check_quantile(quantile)
    unfavourable = table.is_unfavourable
    where = np.flatnonzero(unfavourable) if centres is None else np.asarray(centres, dtype=np.intp)
    if isinstance(table.groups.reference, Rest):
        return _against_rest(table, distance, quantiles, where, bands)
    group = np.where(unfavourable, table.groups.codes, -1).astype(np.int64)
    groups = len(table.groups.labels)
    check_people(distance, where, group, table.effort, groups)
    levels, back = np.unique(np.asarray(quantiles, dtype=np.float64), return_inverse=True)
    grid = Grid.of(levels, slopes=isinstance(bands, Jackknife))
    give_back()
    engine = sweeper(distance, grid.thresholds, group, table.effort, groups)
    # Arranging the people takes as much on the way as the sums over them will.
    del group
    give_back()
    shape = (len(where), len(levels), groups)
    size, acting, cost = np.empty(shape, dtype=np.int64), np.empty(shape, dtype=np.int64), np.empty(shape)
    spreads: dict[tuple[Pair, str], Spread] = {}
    codes = table.groups.codes[where]
    units = _units(table)
    people = People.of(engine.entries, table.effort / units[table.groups.codes])
    for code in np.unique(codes):
        mine = np.flatnonzero(codes == code)
        rows = engine.entries.of[where[mine]]
        different, copy, weight = np.unique(rows, return_index=True, return_inverse=True, return_counts=True)[1:]
        run = _Run(
            table,
            engine,
            grid,
            where[mine],
            where[mine][different],
            copy,
            weight.astype(np.float64),
            units,
            people,
        )
        around = run.around(bands if isinstance(bands, Jackknife) else None, int(code), spreads)
        for into, values in zip((size, acting, cost), around[:3], strict=True):
            into[mine] = values[:, grid.at][copy]
    swept = Sweep(where, levels, size, acting, cost)
    if len(levels) != len(back) or (back != np.arange(len(back))).any():
        swept = swept.at(back)
        spreads = {key: _taken(spread, back) for key, spread in spreads.items()}
    return Curve(table, swept, bands, spreads)


def _against_rest(
    table: RecourseTable,
    distance: BoundDistance,
    quantiles: Sequence[float],
    where: npt.NDArray[np.intp],
    bands: Bands,
) -> Curve:
    """Each group's centres among two groups: their own, and all others together."""
    check_people(distance, where, table.groups.codes.astype(np.int64), table.effort, len(table.groups.labels))
    shape = (len(where), len(quantiles), 2)
    size, acting, cost = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64), np.zeros(shape)
    spreads: dict[tuple[Pair, str], Spread] = {}
    codes = table.groups.codes[where]
    for one in table.groups.pairs:
        mine = np.flatnonzero(codes == one.group)
        if not len(mine):
            continue
        part = curve(replace(table, groups=table.groups.two(one)), distance, quantiles, where[mine], bands)
        for into, values in ((size, part.sweep.size), (acting, part.sweep.acting), (cost, part.sweep.cost)):
            into[mine] = values[:, :, :2]
        spreads |= {((one.group, ALL_OTHERS), name): spread for (_, name), spread in part.spreads.items()}
    return Curve(table, Sweep(where, np.asarray(quantiles, dtype=np.float64), size, acting, cost), bands, spreads)


def _taken(spread: Spread, which: Any) -> Spread:
    """The quantiles as they were asked for, which need neither rise nor differ."""
    why = tuple(spread.why[q] for q in which)
    return Spread(spread.variance[which], spread.nu[which], spread.correlation[np.ix_(which, which)], why)


@dataclass(frozen=True, eq=False)
class _Run:
    """The centres of one group."""

    table: RecourseTable
    engine: Sweeper
    grid: Grid
    persons: npt.NDArray[np.intp]
    """The people who are centres."""
    centres: npt.NDArray[np.intp]
    """One of each set of centres with equal rows."""
    copy: npt.NDArray[np.intp]
    weight: Floats
    units: Floats
    people: People

    def around(self, bands: Jackknife | None, code: int, spreads: dict[tuple[Pair, str], Spread]) -> Around:
        """Sums around all centres; the spreads of the group's lines are added to those given."""
        pairs = self.table.groups.around(code) if bands is not None else ()
        units, people = self.units, self.people
        entries, n = self.engine.entries, len(self.table)
        names = ["own", "other", "share", *(["ratio"] if bands is not None and bands.mean_of_ratios else [])]
        if self.table.is_unfavourable.sum() > self.table.has_action.sum():
            names.insert(2, "rd")
        leavings = []
        for one in pairs:
            pair = (one.group, one.others[0])
            efforts = people.effort[people.of_entries(entries.acting(pair[1]))]
            leavings.append(Leaving(pair, self.grid, entries, n, tuple(names), efforts))
        found, own_first = [], []
        for part in self._parts():
            around = self.engine.around(self.centres[part], first=bool(pairs))
            found.append(around[:3])
            if pairs:
                own_first.append(around.first[np.arange(part.stop - part.start), entries.of[self.centres[part]]])
            for leaving in leavings:
                near = Near.of(around, self.grid, leaving.pair, units, ratio="ratio" in names)
                leaving.add(near, around.first, self.weight[part])
            # The next part's is as large, and two at a time would be the largest thing in memory.
            del around
        size, acting, cost = (np.concatenate(parts) for parts in zip(*found, strict=True))
        whole = Around(size, acting, cost, np.empty((0, 0)))
        if pairs:
            own = self._own(people, np.concatenate(own_first))
            for leaving in leavings:
                near = Near.of(whole, self.grid, leaving.pair, units, ratio="ratio" in names)
                self._spread(Without(leaving, near, self.weight, people, own), spreads)
        return whole

    def _own(self, people: People, first: npt.NDArray[Any]) -> Own:
        place = np.empty(len(people.order), dtype=np.intp)
        place[people.order] = np.arange(len(people.order))
        return Own(place[self.persons], self.copy, (first[:, None] <= self.grid.at)[self.copy])

    def _spread(self, without: Without, spreads: dict[tuple[Pair, str], Spread]) -> None:
        names, pair = without.leaving.names, without.leaving.pair
        lines = [line for line in (*JACKKNIFED, "acr_mean_of_ratios") if LINES[line][0] in names]
        for line, spread in without.spreads(lines).items():
            spreads[pair, line] = spread
        if "rd" not in names:
            spreads[pair, "rd"] = _no_spread(len(self.grid.quantiles), NO_SPREAD)

    def _parts(self) -> Iterator[slice]:
        """Centres in parts, between which Ctrl-C is heard; whole blocks of 64, so that parts do not show in sums."""
        block = max(64, PAIRS // len(self.table) // 64 * 64)
        for begin in range(0, len(self.centres), block):
            yield slice(begin, min(begin + block, len(self.centres)))


def _units(table: RecourseTable) -> Floats:
    """The mean effort of each group, so that coefficients are of ordinary size in any unit."""
    units = np.ones(len(table.groups.labels))
    for g in range(len(units)):
        known = table.effort[(table.groups.codes == g) & table.has_action]
        mean = fsum(known / len(known)) if len(known) else 0.0
        units[g] = mean if mean > 0 else 1.0
    return units


def _no_spread(quantiles: int, why: str) -> Spread:
    """Of a line that nobody changes, since everybody has recourse, or that does not exist."""
    none = np.full(quantiles, np.nan)
    return Spread(none, none, np.full((quantiles, quantiles), np.nan), (why,) * quantiles)


def individual_ratios(found: Sweep, a: int, b: int) -> Floats:
    """ACR of group a against b around each centre (rows) and quantile (columns); NaN where undefined."""
    mine, theirs = found.phi[:, :, a], found.phi[:, :, b]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(theirs > 0, mine / theirs, np.nan)


def _estimates(found: Sweep, centres: Any, a: int, b: int, *, paper: bool) -> pd.DataFrame:
    ratios = individual_ratios(found, a, b)[centres]
    phi, rho, size = found.phi[centres], found.rho[centres], found.size[centres]
    rows = []
    for q, quantile in enumerate(found.quantiles.tolist()):
        ratio = ratios[:, q]
        defined = ~np.isnan(ratio)
        both = size[:, q, a] + size[:, q, b]
        discrepancy = rho[:, q, b] - rho[:, q, a]
        lines = {
            "acr_mean_of_ratios": ratio[defined],
            "phi_own": phi[defined, q, a],
            "phi_other": phi[defined, q, b],
            "rd": discrepancy[~np.isnan(discrepancy)],
            "own_share": size[both > 0, q, a] / both[both > 0],
            "size_own": size[:, q, a].astype(np.float64),
            "size_other": size[:, q, b].astype(np.float64),
        }
        means = {name: fsum(values) / len(values) if len(values) else np.nan for name, values in lines.items()}
        row = {"quantile": quantile, "n_centres": len(ratio), "n_undefined": int(np.sum(~defined))}
        row["acr"] = means["phi_own"] / means["phi_other"] if defined.any() else np.nan
        for name, values in lines.items():
            row |= paper_band(name, values) if paper else {name: means[name]}
        row["acr_median"] = float(np.median(ratio[defined])) if defined.any() else np.nan
        rows.append(row)
    return pd.DataFrame(rows)
