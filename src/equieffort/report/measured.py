"""The measures with their intervals as a reader may see them: what is kept back, and in which order they come."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isclose, isfinite, isnan, nan

import numpy as np

from equieffort.data.frames import row_dicts
from equieffort.effort.measures import Measure
from equieffort.effort.metrics import Comparison
from equieffort.report.material import Material
from equieffort.report.words import HIDDEN, MISSING, Seen, kept
from equieffort.words.shown import (
    interval_text,
    known_measures,
    notes_text,
    system_measures,
    title_of,
    under_chance,
    value_text,
)

BY_EFFORT = ("acr", "difference")
"""Measures made of average efforts alone: they tell nothing of how many have a route."""


@dataclass(frozen=True)
class Row:
    """One measure of one comparison, and what of it may be shown."""

    material: Material
    found: dict[str, object]
    comparison: Comparison

    @property
    def name(self) -> str:
        """The measure's name."""
        return str(self.found["measure"])

    @cached_property
    def measure(self) -> Measure | None:
        """The measure; None of one that is known by its saved rows alone."""
        return known_measures(self.material.audit.own).get(self.name)

    @property
    def title(self) -> str:
        """What it is called."""
        return title_of(self.measure, self.name)

    @property
    def is_judged(self) -> bool:
        """Whether the verdict rests on it."""
        verdict = self.material.audit.verdict
        is_asked = self.name in verdict.criteria.judged and self.found["chance"] == verdict.chance
        return is_asked and self.comparison.group in self.material.judged

    @property
    def chance(self) -> str:
        """What could have come out otherwise."""
        return str(self.found["chance"])

    def value(self, key: str) -> float:
        """A number of it, NaN where it is kept back."""
        return float(self.found[key]) if self.is_told else nan  # type: ignore[arg-type]

    @cached_property
    def sides(self) -> tuple[Seen, Seen]:
        """What may be shown of both groups."""
        guard, c = self.material.guard, self.comparison
        return guard.seen(c.mine), guard.seen(c.theirs)

    @cached_property
    def is_told(self) -> bool:
        """Whether no small count could be worked out from it."""
        if self.name in BY_EFFORT:
            return all(side.effort for side in self.sides)
        if self.name == "impact_ratio":
            return all(side.rate for side in self.sides)
        if self.name == "impact_ratio_recorded":
            return all(self.material.tells_record(label) for label in (self.comparison.group, self.comparison.against))
        return all(side.parts and side.effort for side in self.sides)

    @property
    def estimate(self) -> str:
        """The estimate as text."""
        return kept(_shown(value_text(self.measure, float(self.found["estimate"]))), self.is_told)  # type: ignore[arg-type]

    @property
    def interval(self) -> str:
        """Its confidence interval."""
        return kept(_shown(interval_text(self.measure, self.value("low"), self.value("high"))), self.is_told)

    @property
    def certain(self) -> str:
        """Where it certainly lies, if that is not one number."""
        least, most = self.value("least"), self.value("most")
        if isnan(least) or isnan(most):
            return kept(MISSING, self.is_told)
        return kept("exact" if isclose(least, most) else interval_text(self.measure, least, most), self.is_told)

    @property
    def people(self) -> tuple[str, str]:
        """How many people of either group it rests on."""
        basis = getattr(self.measure, "basis", "acting")
        seen = [{"people": True, "refused": side.rate}.get(basis, side.parts) for side in self.sides]
        if self.name == "impact_ratio_recorded":
            seen = [self.is_told] * 2
        counts = (int(self.found[key]) for key in ("n", "n_against"))  # type: ignore[call-overload]
        mine, theirs = (self.material.guard.count(n, seen=ok) for n, ok in zip(counts, seen, strict=True))
        return mine, theirs

    @property
    def note(self) -> str:
        """What to know about it, in words."""
        return notes_text(str(self.found["note"])) if self.is_told else ""

    @property
    def drawn(self) -> str:
        """Estimate and interval for a picture, whose axis has the unit."""
        if not self.is_told:
            return HIDDEN
        if self.estimate == MISSING:
            return "not defined"
        ends = "no interval" if self.interval == MISSING else self.interval
        unit = " %" if self.estimate.endswith(" %") else ""
        return f"{_without_unit(self.estimate)} ({_without_unit(ends)}){unit}".replace("unlimited", "\N{INFINITY}")


def _shown(text: str) -> str:
    return MISSING if text == "-" else text


def _without_unit(text: str) -> str:
    return text.removesuffix(" points").removesuffix(" %")


def rows_of(material: Material, *, judged: bool, first: bool = False) -> list[Row]:
    """The measures at system level of the judged comparisons or of the others; `first` under one source of chance."""
    compared = {(c.group, c.against): c for c in material.audit.system.comparisons}
    frame = system_measures(material.audit.system, material.audit.own_rows)
    records = row_dicts(under_chance(frame) if first else frame)
    found = [
        Row(material, row, compared[row["group"], row["against"]])
        for row in records
        if (row["group"], row["against"]) in compared
    ]
    return [row for row in found if (row.comparison.group in material.judged) == judged]


def sorted_rows(material: Material, rows: list[Row]) -> list[Row]:
    """The comparisons that most surely differ first, where that tells nothing that is kept back."""
    order = [c.group for c in by_effect(material, list({id(r.comparison): r.comparison for r in rows}.values()))]
    return sorted(rows, key=lambda row: order.index(row.comparison.group))


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
    if found is None or np.isnan(found.estimate):
        return kept(MISSING, told)
    measure = known_measures(material.audit.own)[name]
    ends = interval_text(measure, found.low, found.high)
    value = value_text(measure, found.estimate)
    return kept(value if ends == "-" else f"{value} ({_without_unit(ends)})", told)
