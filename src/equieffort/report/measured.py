"""The measures with their intervals as a reader may see them: what is kept back, and in which order they come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import isclose, isfinite, isnan, nan
from typing import Any

from equieffort.data.frames import row_dicts
from equieffort.effort.measures import Measure
from equieffort.effort.metrics import Comparison
from equieffort.report.material import Material
from equieffort.report.words import HIDDEN, MISSING, kept
from equieffort.words.shown import (
    interval_text,
    known_measures,
    notes_text,
    system_measures,
    title_of,
    under_chance,
    value_text,
)

EXACT, ALIKE = "exact", "to these digits"
"""Where something certainly lies: one number, or ends that are written alike."""
BY_EFFORT = ("acr", "difference")
"""Measures made of average efforts alone: they tell nothing of how many have a route."""
PERCENT = " %"


@dataclass(frozen=True)
class Row:
    """One measure of one comparison as a reader may see it: numbers that are kept back are NaN, and hidden as texts."""

    name: str
    comparison: Comparison
    measure: Measure | None
    """None of one that is known by its saved rows alone."""
    title: str
    chance: str
    """What could have come out otherwise."""
    is_judged: bool
    """Whether the verdict rests on it."""
    is_told: bool
    """Whether no small count could be worked out from it."""
    values: tuple[float, float, float]
    """The estimate and both ends of its interval."""
    p_adjusted: float
    estimate: str
    interval: str
    certain: str
    """Where it certainly lies, if that is not one number."""
    assigned: str
    """Where it could lie, however people whose group is not known are assigned."""
    people: tuple[str, str]
    """How many people of either group it rests on."""
    note: str

    @property
    def drawn(self) -> str:
        """Estimate and interval for a picture, whose axis has the unit."""
        if not self.is_told:
            return HIDDEN
        estimate, low, high = self.values
        if isnan(estimate):
            return "not defined"
        unit = "" if self.measure is None else self.measure.unit
        told, ends = self.estimate, "no interval" if isnan(low) or isnan(high) else self.interval
        if unit != PERCENT:
            # An axis in points says so itself.
            told, ends = told.removesuffix(unit), ends.removesuffix(unit)
        return f"{told} ({ends})".replace("unlimited", "\N{INFINITY}")


def _row(material: Material, found: dict[str, Any], c: Comparison) -> Row:
    name, verdict, guard = found["measure"], material.audit.verdict, material.guard
    measure = known_measures(material.audit.own).get(name)
    sides = material.seen_sides(c)
    basis = {"people": [True, True], "refused": [side.rate for side in sides]}
    seen = basis.get(getattr(measure, "basis", "acting"), [side.parts for side in sides])
    if name in BY_EFFORT:
        is_told = all(side.effort for side in sides)
    elif name == "impact_ratio":
        is_told = all(side.rate for side in sides)
    elif name == "impact_ratio_recorded":
        is_told = all(material.tells_record(label) for label in (c.group, c.against))
        seen = [is_told] * 2
    else:
        is_told = all(side.parts and side.effort for side in sides)
    estimate, low, high, least, most = (
        float(found[key]) if is_told else nan for key in ("estimate", "low", "high", "least", "most")
    )
    certain = interval_text(measure, least, most)
    if isclose(least, most):
        certain = EXACT
    elif value_text(measure, least) == value_text(measure, most):
        certain = ALIKE
    could = [float(found.get(key, nan)) if is_told else nan for key in ("assigned_least", "assigned_most")]
    value, ends, certain, assigned = (
        kept(MISSING if any(map(isnan, numbers)) else text, is_told)
        for text, numbers in (
            (value_text(measure, estimate), [estimate]), (interval_text(measure, low, high), [low, high]),
            (certain, [least, most]), (interval_text(measure, *could), could),
        )
    )  # fmt: skip
    mine, theirs = (guard.count(int(found[key]), seen=ok) for key, ok in zip(("n", "n_against"), seen, strict=True))
    return Row(
        name, c, measure, title_of(measure, name), found["chance"],
        name in verdict.criteria.judged and found["chance"] == verdict.chance
        and (c.group, c.against) in material.judged_pairs,
        is_told, (estimate, low, high), found["p_adjusted"], value, ends, certain, assigned, (mine, theirs),
        notes_text(found["note"]) if is_told else "",
    )  # fmt: skip


def rows_of(material: Material, *, judged: bool, first: bool = False) -> list[Row]:
    """The measures at system level of the judged comparisons or of the others; `first` under one source of chance."""
    compared = {(c.group, c.against): c for c in material.audit.system.comparisons}
    frame = system_measures(material.audit.system, material.audit.own_rows)
    pairs = (
        (row, compared.get((row["group"], row["against"])))
        for row in row_dicts(under_chance(frame) if first else frame)
    )
    return [
        _row(material, row, c)
        for row, c in pairs
        if c is not None and ((c.group, c.against) in material.judged_pairs) == judged
    ]


def sorted_rows(material: Material, rows: list[Row]) -> list[Row]:
    """The comparisons that most surely differ first, where that tells nothing that is kept back."""
    found = by_effect(material, list({id(r.comparison): r.comparison for r in rows}.values()))
    order = [(c.group, c.against) for c in found]
    return sorted(rows, key=lambda row: order.index((row.comparison.group, row.comparison.against)))


def by_effect(material: Material, compared: Iterable[Comparison]) -> list[Comparison]:
    """Comparisons by their largest judged effect, in widths of the zone; as they come where counts are kept back."""
    found = list(compared)
    return found if material.guard.is_on else sorted(found, key=lambda c: -_effect(material, c))


def _effect(material: Material, c: Comparison) -> float:
    criteria = material.audit.criteria
    sizes = [-1.0]
    for reading in c.readings:
        measure = known_measures(material.audit.own).get(reading.measure)
        zone = criteria.zone(measure) if measure is not None and reading.measure in criteria.judged else None
        if measure is None or zone is None or isnan(reading.estimate):
            continue
        away = (measure.scale.to(reading.estimate) - measure.scale.to(measure.neutral)) * measure.orientation
        sizes.append(abs(away) / zone.high if isfinite(zone.high) and zone.high else abs(away))
    return max(sizes)


def with_interval(material: Material, c: Comparison, name: str, told: bool) -> str:
    """Estimate and interval of a measure in a cell."""
    found = next((reading for reading in reversed(c.readings) if reading.measure == name), None)
    if found is None or isnan(found.estimate):
        return kept(MISSING, told)
    measure = known_measures(material.audit.own)[name]
    value, ends = value_text(measure, found.estimate), interval_text(measure, found.low, found.high)
    has_ends = not (isnan(found.low) or isnan(found.high))
    return kept(f"{value} ({ends.removesuffix(measure.unit)})" if has_ends else value, told)
