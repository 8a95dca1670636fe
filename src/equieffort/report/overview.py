"""The picture of the first page: the judged measures over the zone that counts as equal, then two more."""

from __future__ import annotations

from collections.abc import Iterable

from equieffort.effort.measures import Measure
from equieffort.effort.metrics import Comparison
from equieffort.report.blocks import Chart
from equieffort.report.forest import Panel, Point
from equieffort.report.material import Material
from equieffort.report.measured import Row, rows_of, sorted_rows
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Name, kept, say
from equieffort.words.shown import front_measures, interval_text, level_text, p_text, zone_ends
from equieffort.world.groups import people_of

MOST_DRAWN = 8
"""Comparisons that the picture shows of each measure; the table has all of them."""


def forest(material: Material) -> Chart | None:
    """The judged measures with the zone that counts as equal, then what is shown beside them."""
    rows = sorted_rows(material, rows_of(material, judged=True, first=True))
    names = front_measures(material.audit.criteria)
    shown = [row for name in names for row in rows if row.name == name]
    if not shown:
        return None
    pairs = list({material.told_pair(row.comparison): row.comparison for row in shown}.values())
    panels = [_panel(material, [row for row in shown if row.name == name], len(pairs)) for name in names]
    level = level_text(material.audit.criteria)
    described = "; ".join(f"{_pair_name(material, row)}, {row.title}: {row.drawn}" for row in shown)
    return Chart(
        "forest", "measures", _title(material, shown), f"{described}.", _front_table(material, shown),
        {"panels": panels, "interval": level, "note": _direction(material, pairs, [row.measure for row in shown])},
        remark="Judged measures are bold.",
    )  # fmt: skip


def _title(material: Material, rows: list[Row]) -> str:
    c, name = rows[0].comparison, material.name
    if len({(row.comparison.group, row.comparison.against) for row in rows}) == 1:
        return f"{name(c.group)} against {name(c.against)}"
    return f"Each group against {material.against_name}" if material.against_name else "Pairs of groups"


def _pair_name(material: Material, row: Row) -> str:
    c, name = row.comparison, material.name
    return name(c.group) if material.against_name else f"{name(c.group)} / {name(c.against)}"


def _direction(material: Material, pairs: list[Comparison], measures: Iterable[Measure | None]) -> str:
    worse = "the group is" if material.against_name else "the group named first is"
    if len(pairs) == 1:
        worse = f"{people_of(pairs[0].group, material.table.groups.columns)} are"
    left = any(measure is not None and measure.orientation < 0 for measure in measures)
    also = ", and left of it where lower is worse" if left else ""
    what = "groups" if material.against_name else "pairs"
    more = f" Drawn are {MOST_DRAWN} of {len(pairs)} {what}." if len(pairs) > MOST_DRAWN else ""
    return f"Right of the dotted line {worse} worse off{also}.{more}"


def _panel(material: Material, rows: list[Row], groups: int) -> Panel:
    row = rows[0]
    measure = row.measure
    assert measure is not None
    zone = zone_ends(material.audit.criteria, measure) if row.is_judged else None
    points = [
        Point(_pair_name(material, one) if groups > 1 else "", *one.values, one.drawn) for one in rows[:MOST_DRAWN]
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
                row.title, Name(material.told_pair(row.comparison)), row.estimate, row.interval, equal, *row.people,
                kept(p, told or not p),
            ]
        )  # fmt: skip
    name = material.against_name
    head = (
        "measure", Name(material.column), "estimate", f"{level} interval", "counts as equal", "people",
        say("people, {}", material.group(rows[0].comparison.against)) if name else "people, other", "p, adjusted",
    )  # fmt: skip
    return Table("The judged measures, and two in which everybody refused counts", head, cells, frozenset({1}))
