"""The measures with their intervals: the picture on the first page, and the table of all of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import isclose, isnan, nan

import numpy as np

from equieffort.measures import Measure
from equieffort.metrics import Comparison
from equieffort.report.answer import finding_words
from equieffort.report.blocks import Block, Chart, Folded, Items, Section, Text
from equieffort.report.forest import Panel, Point
from equieffort.report.material import Material
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Phrase, Seen, Table, Words, kept, name_list, say
from equieffort.shown import (
    CHANCE,
    front_measures,
    interval_text,
    known_measures,
    level_text,
    notes_text,
    p_text,
    system_measures,
    title_of,
    under_chance,
    value_text,
    zone_ends,
)

MOST_DRAWN = 8
"""Comparisons that the picture shows of each measure; the table has all of them."""
MOST_TOLD = 2
"""Comparisons that the first page tells in sentences."""
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
    frame = under_chance(frame) if first else frame
    found = [
        Row(material, row, compared[row["group"], row["against"]])
        for row in frame.to_dict("records")
        if (row["group"], row["against"]) in compared
    ]
    return [row for row in found if (row.comparison.group in material.judged) == judged]


# -- first page -------------------------------------------------------------------------------------------------------


def forest(material: Material) -> Chart | None:
    """The judged measures with the zone that counts as equal, then what is shown beside them."""
    rows = _sorted(material, rows_of(material, judged=True, first=True))
    names = front_measures(material.audit.criteria)
    shown = [row for name in names for row in rows if row.name == name]
    if not shown:
        return None
    pairs = list(dict.fromkeys(row.comparison.group for row in shown))
    panels = [_panel([row for row in shown if row.name == name], len(pairs)) for name in names]
    level = level_text(material.audit.criteria)
    described = "; ".join(f"{row.comparison.group}, {row.title}: {row.drawn}" for row in shown)
    return Chart(
        "forest", "measures", _title(shown), f"{described}.", _front_table(material, shown),
        {"panels": panels, "interval": level, "note": _direction(pairs, [row.measure for row in shown])},
    )  # fmt: skip


def _sorted(material: Material, rows: list[Row]) -> list[Row]:
    """The comparisons that most surely differ first, where that tells nothing that is kept back."""
    if material.guard.is_on:
        return rows
    least: dict[str, float] = {}
    for row in rows:
        if row.is_judged and not isnan(p := row.value("p")):
            least[row.comparison.group] = min(p, least.get(row.comparison.group, 1.0))
    return sorted(rows, key=lambda row: least.get(row.comparison.group, 2.0))


def _title(rows: list[Row]) -> str:
    c = rows[0].comparison
    one = len({row.comparison.group for row in rows}) == 1
    return f"{c.group} against {c.against}" if one else f"Each group against {c.against}"


def _direction(groups: list[str], measures: Iterable[Measure | None]) -> str:
    worse = groups[0] if len(groups) == 1 else "the group"
    left = any(measure is not None and measure.orientation < 0 for measure in measures)
    also = ", and left of it where lower is worse" if left else ""
    more = f" Drawn are {MOST_DRAWN} of {len(groups)} groups." if len(groups) > MOST_DRAWN else ""
    return f"Right of the dotted line {worse} is worse off{also}.{more}"


def _panel(rows: list[Row], groups: int) -> Panel:
    row = rows[0]
    measure, criteria = row.measure, row.material.audit.criteria
    assert measure is not None
    zone = zone_ends(criteria, measure) if row.is_judged else None
    points = [
        Point(
            one.comparison.group if groups > 1 else "", one.value("estimate"), one.value("low"), one.value("high"),
            one.drawn,
        )
        for one in rows[:MOST_DRAWN]
    ]  # fmt: skip
    is_ratio = measure.scale.name == "log"
    lower = "; lower is worse" if measure.orientation < 0 else ""
    return Panel(
        row.title, f"{_zone_words(measure, zone) if zone else 'not judged'}{lower}", points,
        measure.neutral, is_ratio, measure.scale.name == "logit", row.is_judged, zone,
    )  # fmt: skip


def _zone_words(measure: Measure, zone: tuple[float, float]) -> str:
    low, high = zone
    if measure.scale.name == "log":
        return f"equal: {low:.2f} to {high:.2f}" if low > 0 else f"equal: up to {high:.2f}"
    return f"equal: within {high * 100:g} points"


def _front_table(material: Material, rows: list[Row]) -> Table:
    level = level_text(material.audit.criteria)
    cells: list[list[Cell]] = []
    for row in rows:
        zone = zone_ends(material.audit.criteria, row.measure) if row.measure is not None else None
        equal = interval_text(row.measure, *zone) if zone is not None and row.is_judged else "not judged"
        # An adjusted p-value is made of all that is judged.
        told = all(one.is_told for one in rows if one.comparison is row.comparison and one.is_judged)
        p = p_text(float(row.found["p_adjusted"])) if row.is_judged else ""  # type: ignore[arg-type]
        cells.append(
            [
                row.title, Name(row.comparison.group), row.estimate, row.interval, equal, *row.people,
                kept(p, told or not p),
            ]
        )  # fmt: skip
    against = rows[0].comparison.against
    head = (
        "measure", "group", "estimate", f"{level} interval", "counts as equal", "people",
        say("people, {}", Name(against)), "p, adjusted",
    )  # fmt: skip
    return Table("The judged measures, and two in which everybody refused counts", head, cells, frozenset({1}))


# -- all measures -----------------------------------------------------------------------------------------------------


def measures(material: Material, before: Iterable[Block] = ()) -> Section:
    """Every measure with its interval, and what to know about it."""
    judged, others = rows_of(material, judged=True), rows_of(material, judged=False)
    criteria = material.audit.criteria
    chance = f"The {level_text(criteria)} intervals allow for chance in {CHANCE[material.audit.verdict.chance]}."
    blocks: list[Block] = [Text((*_beside(material), chance)), *before]
    if judged:
        blocks.append(_table(material, judged, "Every measure"))
    findings = material.audit.verdict.findings
    if len(findings) > MOST_TOLD:
        blocks.append(Items([(finding_words(material, finding), "") for finding in findings]))
    if others:
        n = len({row.comparison.group for row in others})
        title = "One more group, which is not judged" if n == 1 else f"{n} more groups, which are not judged"
        blocks.append(Folded(title, _table(material, others, "Every measure of groups that are not judged")))
    return Section("measures", "All measures", blocks)


def _beside(material: Material) -> Words:
    budget = material.audit.budget
    if budget is None:
        return ()
    return (
        f"Where everybody refused counts, people without a route to approval are counted at an effort of "
        f"{budget:,.4g}, and nobody above it. ",
    )


def _table(material: Material, rows: list[Row], caption: str) -> Table:
    ranged = any(row.certain not in ("exact", MISSING, HIDDEN) for row in rows)
    noted = any(row.note for row in rows)
    named = len({row.chance for row in rows}) > 1
    one = len({row.comparison.group for row in rows}) == 1
    against = rows[0].comparison.against
    head: list[Cell] = [
        "measure",
        *([] if one else ["group"]),
        "estimate",
        f"{level_text(material.audit.criteria)} interval",
    ]
    head += ["certain range"] if ranged else []
    head += ["people", say("people, {}", Name(against))]
    words = {0} if one else {1}
    if named:
        words.add(len(head))
        head.append("chance of")
    if noted:
        words.add(len(head))
        head.append("note")
    cells: list[list[Cell]] = []
    for row in rows:
        mark = " (judged)" if row.is_judged else ""
        line: list[Cell] = [(Phrase(row.title), mark), *([] if one else [Name(row.comparison.group)])]
        line += [row.estimate, row.interval, *([row.certain] if ranged else []), *row.people]
        cells.append([*line, *([row.chance] if named else []), *([row.note] if noted else [])])
    groups = [] if not one else [rows[0].comparison.group]
    name: Cell = say("{}, {} against {}", caption, name_list(groups), Name(against)) if one else caption
    return Table(name, tuple(head), cells, frozenset(words))


def with_interval(material: Material, c: Comparison, name: str, told: bool) -> str:
    """Estimate and interval of a measure in a cell."""
    found = next((reading for reading in reversed(c.readings) if reading.measure == name), None)
    if found is None or np.isnan(found.estimate):
        return kept(MISSING, told)
    measure = known_measures(material.audit.own)[name]
    ends = interval_text(measure, found.low, found.high)
    value = value_text(measure, found.estimate)
    return kept(value if ends == "-" else f"{value} ({_without_unit(ends)})", told)
