"""One person's own minimum effort, and that of people like them in the two groups (situation testing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Bools, Floats
from equieffort.foundations.arguments import check_whole
from equieffort.notions.huang.minimum_effort import minimum_effort
from equieffort.notions.huang.outcomes import unmoved_columns
from equieffort.notions.huang.study import Study, common_range, listed_gammas
from equieffort.world.distances import Distance, Manhattan, check_distance

NEIGHBOURS = 20
"""How many people of each group stand for the person by default."""


@dataclass(frozen=True, eq=False)
class IndividualEffort:
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
        lines = [f"Person {self.label} ({self.group}), treatment now {self.t:g}."]
        for row in self.psi.itertuples(index=False):
            reached = "no treatment of the grid reaches it" if np.isnan(row.psi) else f"{row.psi:g}, {row.effort:+g}"
            lines.append(f"  gamma {row.gamma:.3g}: {reached}")
        for row in self.aed.itertuples(index=False):
            size = "not defined" if np.isnan(row.aed) else f"{row.aed:.4g} (interval {row.low:.4g} to {row.high:.4g})"
            lines.append(f"Among the {self.k} nearest of each group, {row.group} against {row.against}: {size}.")
        return "\n".join(lines)


def individual(study: Study, row: int, k: int = NEIGHBOURS, distance: Distance | None = None) -> IndividualEffort:
    """What one person needs, and what the people most like them need in each group."""
    check_whole("k", k, 1)
    table = study.audited.table
    code = int(table.groups.codes[row])
    pairs = [pair for pair in study.audited.pairs if code in pair]
    distances = _distances(study, row, distance)
    deltas: list[dict[str, Any]] = []
    averages: list[dict[str, Any]] = []
    for pair in pairs:
        rows, average = study.compare(*pair, _nearest(study, distances, pair, k))
        deltas, averages = deltas + rows, [*averages, average]
    return IndividualEffort(
        table.index[row],
        table.groups.labels[code],
        float(study.values[row]),
        _own(study, row, code, pairs),
        pd.DataFrame(deltas),
        pd.DataFrame(averages),
        k,
    )


def _own(study: Study, row: int, code: int, pairs: list[tuple[int, int]]) -> pd.DataFrame:
    rows = study.group(code)
    each = study.curves.each(rows)
    gammas = study.gammas
    if gammas is None and pairs:
        gammas = common_range(*(study.curve(one, study.members) for one in pairs[0]))
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
