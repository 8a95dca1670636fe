"""One person's own minimum effort, and that of people like them in the two groups (situation testing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats, percent
from equieffort.foundations.arguments import check_whole
from equieffort.foundations.shown import Shown, Told
from equieffort.notions.huang.minimum_effort import ROUNDING, minimum_effort
from equieffort.notions.huang.outcomes import unmoved_columns
from equieffort.notions.huang.study import Study, listed_gammas
from equieffort.world.distances import Distance, Manhattan, check_distance, tell_lacking

NEIGHBOURS = 20
"""How many people of each group stand for the person by default."""


@dataclass(frozen=True, eq=False, repr=False)
class IndividualEffort(Shown):
    """Psi_i of one person, and delta between the people of the two groups who are most like them."""

    label: Any
    group: str
    t: float
    """The person's treatment as it is."""
    psi: pd.DataFrame
    """gamma, psi, effort: how far it is from the person's own treatment, below 0 where they are beyond it already;
    NaN where no treatment of the grid reaches gamma. Empty where only groups have a curve (weighting)."""
    delta: pd.DataFrame
    """As `EqualityOfEffort.delta`, among the neighbours."""
    aed: pd.DataFrame
    """As `EqualityOfEffort.aed`, among the neighbours."""
    k: int

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        lines = [f"Person {self.label} ({self.group}), treatment now {self.t:g}."]
        own = [(row["gamma"], row["psi"], row["effort"]) for row in self.psi.to_dict("records")]
        if len(own) > 1 and len({psi for _, psi, _ in own}) == 1:
            # Of a decision: a yes is a yes at every gamma.
            lines.append(f"At every gamma asked about: {own[0][1]:g} suffices, an effort of {own[0][2]:g}.")
        else:
            for gamma, psi, effort in own:
                found = "no treatment of the grid suffices" if np.isnan(psi) else f"{psi:g}, an effort of {effort:g}"
                lines.append(f"gamma {gamma:.3g}: {found}.")
        from equieffort.words.shown import notes_text

        for row in self.aed.to_dict("records"):
            among = f"{row['n']:,} of {row['group']} and {row['n_against']:,} of {row['against']}"
            lost = f", {row['n_undefined']:,} undefined" if row["n_undefined"] else ""
            found = f"Among those nearest, {among}{lost} (the {self.k} nearest and whoever is as near as the last)"
            lines.append(" ".join(part for part in (f"{found}: {aed_text(row)}.", notes_text(row["note"])) if part))
        return lines

    def _told(self) -> Told:
        first, *lines = self._lines()
        care = [f"Compared are about {self.k} people of each group: about one person little is certain."]
        return Told(first, lines, {"Treatment that suffices": self.psi}, care, ".psi, .delta, .aed")


def aed_text(row: dict[Any, Any], level: float | None = None) -> str:
    """AED with its interval and the share of the gammas that it rests on."""
    if np.isnan(row["aed"]):
        return "AED not defined"
    name = "interval" if level is None else f"{percent(level, 0)} interval"
    limits = "no interval" if np.isnan(row["low"]) else f"{name} {row['low']:.4g} to {row['high']:.4g}"
    rests = "" if row["share"] >= 1 - ROUNDING else f", defined at {percent(row['share'])} of the gammas"
    return f"AED {row['aed']:.4g}, {limits}{rests}"


def individual(study: Study, row: int, k: int = NEIGHBOURS, distance: Distance | None = None) -> IndividualEffort:
    """What one person needs, and what the people most like them need in each group."""
    check_whole("k", k, 1)
    table = study.audited.table
    code = int(table.groups.codes[row])
    sides = [side for side in study.sides if int(side[0].audited.table.groups.codes[row]) in side[1:]]
    if len(study.audited.views) > 1:
        # Everybody is on some side of each comparison with all others; theirs is that of their own group.
        sides = [side for side in sides if side[0].audited.table.groups.codes[row] == side[1]] or sides
    distances = _distances(study, row, distance)
    deltas: list[dict[str, Any]] = []
    averages: list[dict[str, Any]] = []
    for where, mine, theirs in sides:
        rows, average = where.compare(mine, theirs, _nearest(where, distances, (mine, theirs), k))
        deltas, averages = deltas + rows, [*averages, average]
    return IndividualEffort(
        table.index[row],
        table.groups.labels[code],
        float(study.values[row]),
        _own(study, row, code, sides),
        pd.DataFrame(deltas),
        pd.DataFrame(averages),
        k,
    )


def _own(study: Study, row: int, code: int, sides: list[tuple[Study, int, int]]) -> pd.DataFrame:
    rows = study.group(code)
    each = study.curves.each(rows)
    gammas = study.gammas
    if gammas is None and sides:
        where, mine, theirs = sides[0]
        gammas = where.asked(mine, theirs)
    if each is None or gammas is None:
        return pd.DataFrame({"gamma": [], "psi": [], "effort": []}, dtype=np.float64)
    curve = each[int(np.flatnonzero(rows == row)[0]), :: study.sign]
    levels = listed_gammas(gammas)
    psi = minimum_effort(curve, study.steps, levels, interpolate=study.interpolate and not _is_decision(curve))
    return pd.DataFrame({"gamma": levels, "psi": study.sign * psi, "effort": psi - study.sign * study.values[row]})


def _is_decision(curve: Floats) -> bool:
    """Whether it jumps between no and yes: there is nothing between."""
    return bool(np.isin(curve[~np.isnan(curve)], (0.0, 1.0)).all())


def _distances(study: Study, row: int, distance: Distance | None) -> Floats:
    """To everybody, by what the treatment does not move; nobody is nearer than others where that is nothing."""
    source = study.audited.table.source
    if distance is None:
        names = unmoved_columns(study.problem, study.treatment, None)
        names = tuple(name for name in names if source.data[name].nunique() > 1)
        if not names:
            return np.zeros(len(source.data))
        if lacking := [name for name in names if source.data[name].isna().any()]:
            names = tuple(name for name in names if name not in lacking)
            tell_lacking(lacking, names)
        distance = Manhattan(features=names)
    check_distance(distance)
    return distance.bind(source.data, source.encoding, source.schema).to_all(slice(row, row + 1))[0]


def _nearest(study: Study, distances: Floats, pair: tuple[int, int], k: int) -> Bools:
    """The k nearest members of each group, and whoever is as near as the last of them."""
    found = np.zeros(len(distances), dtype=bool)
    for code in pair:
        rows = study.group(code)
        rows = rows[study.members[rows]]
        if len(rows):
            last = np.sort(distances[rows])[min(k, len(rows)) - 1]
            found[rows[distances[rows] <= last]] = True
    return found
