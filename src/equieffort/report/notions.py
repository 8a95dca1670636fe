"""Other notions: one table of what neighbouring notions say and what each adds, and where they disagree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from equieffort.notions.base import NotionReading
from equieffort.notions.collection import Notions
from equieffort.report import asked
from equieffort.report.blocks import Block, Folded, Items, Section, Text
from equieffort.report.material import Material
from equieffort.report.tables import Table, footed
from equieffort.report.words import Aside, Cell, Name, Phrase
from equieffort.words.notions import (
    ALLOWED,
    ASSIGNED,
    assigned_text,
    disagreements,
    not_read,
    people_text,
    reading_text,
    shown_by,
    title_of,
    unplaced_text,
)
from equieffort.words.shown import level_text, notes_text

INTRODUCTION = (
    "Equality of effort is one question among several. The table shows what neighbouring notions say of the same "
    "people; a side is named only where the whole interval lies on it. None of them enters the verdict."
)
KEPT_BACK = (
    "Neighbouring notions are not shown in a report that keeps small counts back: their denominators could reveal them."
)


def notions(material: Material) -> Section | None:
    """What the audit was asked about beside effort; None where that is nothing."""
    found = material.audit.provenance.notions
    if found is None:
        return None
    # Who reads a saved audit is told of groups by their labels too.
    found = replace(found, columns=material.table.groups.columns)
    if material.guard.is_on:
        return Section("notions", "Other notions", [Text(KEPT_BACK)])
    blocks: list[Block] = [Text(f"{INTRODUCTION} {ALLOWED}")]
    if unplaced := unplaced_text(found):
        blocks.append(Text(material.told(unplaced), "note"))
    if lines := disagreements(found):
        blocks.append(Items([(material.told(line), "") for line in lines]))
    shown = [reading for reading in found.readings if reading.against]
    rest = [reading for reading in found.readings if not reading.against]
    if shown:
        blocks.append(_table(material, found, shown, "Notions that compare groups"))
    blocks += asked.details(material)
    if rest:
        blocks.append(
            Folded("Notions of each group by itself", [_table(material, found, rest, "Notions of one group")])
        )
    if missing := not_read(found):
        blocks.append(Folded("Notions that were not read", [Items([(line, "") for line in missing])]))
    return Section("notions", "Other notions", blocks)


def _table(material: Material, found: Notions, readings: Sequence[NotionReading], caption: str) -> Table:
    texts = {id(one): reading_text(found.notion(one.notion), one) for one in readings}
    firsts = {one.notion: id(one) for one in reversed(readings)}

    def notion(r: NotionReading) -> Cell:
        title = Phrase(title_of(found.notion(r.notion), r, material.names))
        return (title, Aside(f". {found.notion(r.notion).adds}")) if firsts[r.notion] == id(r) else title

    columns: list[tuple[Cell, bool, Callable[[NotionReading], Cell]]] = [
        (("notion", Aside(", and what it adds")), True, notion),
        (Name(material.column), True, lambda r: material.group(r.group) if r.group else "everybody"),
        ("against", True, lambda r: material.group(r.against) if r.against else ""),
        ("what it shows", True, lambda r: shown_by(found, r)),
        ("estimate", False, lambda r: texts[id(r)][0]),
        (f"{level_text(material.audit.criteria)} interval", False, lambda r: texts[id(r)][1]),
        (ASSIGNED, False, lambda r: assigned_text(found.notion(r.notion), r)),
        ("people", False, lambda r: people_text(found.notion(r.notion), r)),
    ]
    told = [column for column in columns if any(column[2](reading) for reading in readings)]
    words = frozenset(k for k, (_, is_text, _) in enumerate(told) if is_text)
    rows = [[cell(reading) for *_, cell in told] for reading in readings]
    rows, foot = footed(rows, [notes_text(one.note) for one in readings])
    return Table(caption, tuple(head for head, *_ in told), rows, words, foot=foot)
