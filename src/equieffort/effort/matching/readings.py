"""What matched people compare: ACR, RD and restricted effort, with intervals clustered by people used more than once.

R. The log of a ratio of means has the influence C_a / m_a - C_b / m_b of each pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isnan, log, nan

import numpy as np

from equieffort.data.frames import Bools, Floats
from equieffort.effort.inference.laws import Fixed, Law
from equieffort.effort.inference.shares import difference
from equieffort.effort.matching.sets import Contrast, MatchedSets
from equieffort.effort.measures import MEASURES, Reading
from equieffort.effort.measures.base import read_law
from equieffort.effort.stats import certain_bounds
from equieffort.recourse.status import Status
from equieffort.recourse.table import RecourseTable

NAMES = ("acr", "rd", "restricted_effort")
"""Measures that are read of matched people."""


@dataclass(frozen=True, eq=False)
class Efforts:
    """What is known of everybody's effort: as found, and the least and most that it can be."""

    effort: Floats
    """NaN without an action."""
    least: Floats
    """Infinite where it is proven that there is none."""
    most: Floats
    """Infinite where there may be none."""
    unknown: Bools
    is_open: Bools
    """Who is not solved to the end: a proof within a solver's gap is one, though it leaves `least` below `effort`."""

    @classmethod
    def of(cls, table: RecourseTable) -> Efforts:
        """From the recourse table; approved people have no effort."""
        effort, acting = table.effort, table.has_action
        unknown = table.status == Status.UNKNOWN
        least = np.full(len(table), inf)
        least[acting] = certain_bounds(effort[acting], table.bound[acting])
        least[unknown] = table.bound[unknown]
        return cls(effort, least, np.where(acting, effort, inf), np.asarray(unknown), np.asarray(table.is_unsettled))

    @property
    def acting(self) -> Bools:
        """Who has an action."""
        return ~np.isnan(self.effort)


def matched_readings(sets: MatchedSets, efforts: Efforts, budget: float | None, level: float) -> list[Reading]:
    """ACR, RD and restricted effort of the matched people."""
    return [_acr(sets, efforts, level), _rd(sets, efforts, level), _restricted(sets, efforts, budget, level)]


def _acr(sets: MatchedSets, efforts: Efforts, level: float) -> Reading:
    """Of the sets in which both sides have recourse."""
    kept = sets.among(efforts.acting)
    if kept.is_empty:
        return _missing("acr", sets, "NO_MATCH" if sets.is_empty else "NO_RECOURSE")
    both = np.concatenate([sets.mine, sets.theirs])
    # Whoever is unknown might join with any effort; then nothing is certain of the ratio.
    open_ended = bool(efforts.unknown[both].any())
    return _ratio("acr", kept, efforts.effort, (efforts.least, efforts.effort), level, open_ended, _open(efforts, both))


def _restricted(sets: MatchedSets, efforts: Efforts, budget: float | None, level: float) -> Reading:
    """Of all sets, those without recourse at the budget."""
    if budget is None:
        return _missing("restricted_effort", sets, "NO_BUDGET")
    if sets.is_empty:
        return _missing("restricted_effort", sets, "NO_MATCH")
    capped = np.minimum(np.where(efforts.acting, efforts.effort, inf), budget)
    ends = (np.minimum(efforts.least, budget), np.minimum(efforts.most, budget))
    both = np.concatenate([sets.mine, sets.theirs])
    return _ratio("restricted_effort", sets, capped, ends, level, False, _open(efforts, both))


def _rd(sets: MatchedSets, efforts: Efforts, level: float) -> Reading:
    """The share with recourse of those compared with, less that of the group."""
    if sets.is_empty:
        return _missing("rd", sets, "NO_MATCH")
    sure = efforts.acting.astype(np.float64)
    may = (efforts.acting | efforts.unknown).astype(np.float64)
    found = sets.contrast(sure, ratio=False)
    # Theirs less mine: least where all of mine who are unknown have recourse and none of theirs.
    least = found.mean_against - sets.contrast(may, ratio=False).mean
    most = sets.contrast(may, ratio=False).mean_against - found.mean
    law = found.law(found.mean_against - found.mean, least, most)
    if isinstance(law, Fixed) and min(found.n, found.n_against) > 1:
        # Everybody on a side is alike, so that nothing varies: Newcombe's limits of as many people, each once.
        shares = [(round(mean * n), n) for mean, n in ((found.mean, found.n), (found.mean_against, found.n_against))]
        low, high = difference(*shares).limits(level)
        law = Fixed(law.estimate, low, high, least, most)
    return _read("rd", found, law, level, bool(efforts.unknown[np.concatenate([sets.mine, sets.theirs])].any()))


def _ratio(
    name: str,
    sets: MatchedSets,
    values: Floats,
    ends: tuple[Floats, Floats],
    level: float,
    open_ended: bool,
    some_open: bool,
) -> Reading:
    found = sets.contrast(values, ratio=True)
    if not (found.mean > 0 and found.mean_against > 0):
        return _missing(name, sets, "ZERO_EFFORT", found)
    low, high = (sets.contrast(end, ratio=True) for end in ends)
    least, most = _log(low.mean, high.mean_against), _log(high.mean, low.mean_against)
    if open_ended:
        least, most = -inf, inf
    law = found.law(log(found.mean) - log(found.mean_against), least, most)
    return _read(name, found, law, level, some_open)


def _log(one: float, other: float) -> float:
    if one <= 0:
        return -inf
    return log(one) - log(other) if other > 0 else inf


def _read(name: str, found: Contrast, law: Law, level: float, some_open: bool) -> Reading:
    measure, few = MEASURES[name], min(found.n, found.n_against) < 2
    notes = ["UNCERTIFIED"] if some_open else []
    if few or (isinstance(law, Fixed) and isnan(law.low)):
        notes.append("TOO_FEW" if few else "NO_SPREAD")
    reading = Reading(
        name, measure.scale.back(law.estimate), n=found.n, n_against=found.n_against, note=" ".join(notes),
        carriers=min(found.n, found.n_against),
    )  # fmt: skip
    if few:
        return replace(reading, least=measure.scale.back(law.least), most=measure.scale.back(law.most))
    return read_law(measure, reading, law, level, None)


def _missing(name: str, sets: MatchedSets, note: str, found: Contrast | None = None) -> Reading:
    """What has no estimate, with the people it would have rested on."""
    rested = note not in ("NO_MATCH", "NO_RECOURSE")
    n, n_against = (len(sets.mine), len(sets.theirs)) if found is None else (found.n, found.n_against)
    return Reading(name, nan, n=n * rested, n_against=n_against * rested, note=note)


def _open(efforts: Efforts, rows: np.ndarray) -> bool:
    return bool(efforts.is_open[rows].any())
