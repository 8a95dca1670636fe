"""The picture of the first page: the judged measures over the zone that counts as equal, then two more."""

from __future__ import annotations

from collections.abc import Iterable

from equieffort.effort.measures import Measure
from equieffort.report.blocks import Chart
from equieffort.report.forest import Panel, Point
from equieffort.report.material import Material
from equieffort.report.measured import Row, rows_of, sorted_rows
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Name, kept, say
from equieffort.words.shown import front_measures, interval_text, level_text, p_text, zone_ends

MOST_DRAWN = 8
"""Comparisons that the picture shows of each measure; the table has all of them."""


def forest(material: Material) -> Chart | None:
    """The judged measures with the zone that counts as equal, then what is shown beside them."""
    rows = sorted_rows(material, rows_of(material, judged=True, first=True))
    names = front_measures(material.audit.criteria)
    shown = [row for name in names for row in rows if row.name == name]
    if not shown:
        return None
    pairs = list(dict.fromkeys(row.comparison.group for row in shown))
    panels = [_panel(material, [row for row in shown if row.name == name], len(pairs)) for name in names]
    level = level_text(material.audit.criteria)
    name = material.name
    described = "; ".join(f"{name(row.comparison.group)}, {row.title}: {row.drawn}" for row in shown)
    return Chart(
        "forest", "measures", _title(material, shown), f"{described}.", _front_table(material, shown),
        {"panels": panels, "interval": level, "note": _direction(material, pairs, [row.measure for row in shown])},
        remark="Judged measures are bold.",
    )  # fmt: skip


def _title(material: Material, rows: list[Row]) -> str:
    c, name = rows[0].comparison, material.name
    one = len({row.comparison.group for row in rows}) == 1
    return f"{name(c.group)} against {name(c.against)}" if one else f"Each group against {name(c.against)}"


def _direction(material: Material, groups: list[str], measures: Iterable[Measure | None]) -> str:
    worse = material.name(groups[0]) if len(groups) == 1 else "the group"
    left = any(measure is not None and measure.orientation < 0 for measure in measures)
    also = ", and left of it where lower is worse" if left else ""
    more = f" Drawn are {MOST_DRAWN} of {len(groups)} groups." if len(groups) > MOST_DRAWN else ""
    return f"Right of the dotted line {worse} is worse off{also}.{more}"


def _panel(material: Material, rows: list[Row], groups: int) -> Panel:
    row = rows[0]
    measure = row.measure
    assert measure is not None
    zone = zone_ends(material.audit.criteria, measure) if row.is_judged else None
    points = [
        Point(material.name(one.comparison.group) if groups > 1 else "", *one.values, one.drawn)
        for one in rows[:MOST_DRAWN]
    ]
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
        p = p_text(row.p_adjusted) if row.is_judged else ""
        cells.append(
            [
                row.title, Name(row.comparison.group), row.estimate, row.interval, equal, *row.people,
                kept(p, told or not p),
            ]
        )  # fmt: skip
    against = rows[0].comparison.against
    head = (
        "measure", Name(material.column), "estimate", f"{level} interval", "counts as equal", "people",
        say("people, {}", Name(against)), "p, adjusted",
    )  # fmt: skip
    return Table("The judged measures, and two in which everybody refused counts", head, cells, frozenset({1}))
