"""Other notions: one table of what neighbouring notions say, what each adds, and where they disagree."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from equieffort.notions.base import NotionReading
from equieffort.notions.collection import Notions
from equieffort.report.blocks import Block, Folded, Items, Section, Text
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Name, Phrase
from equieffort.words.notions import SIDES, added, disagreements, not_read, people_text, reading_text, title_of
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
    if material.guard.is_on:
        return Section("notions", "Other notions", [Text(KEPT_BACK)])
    blocks: list[Block] = [Text(INTRODUCTION)]
    if lines := disagreements(found):
        blocks.append(Items([(material.told(line), "") for line in lines]))
    shown = [reading for reading in found.readings if found.side(reading)]
    rest = [reading for reading in found.readings if not found.side(reading)]
    if shown:
        blocks.append(_table(material, found, shown, "Notions that compare groups"))
    if rest:
        blocks.append(
            Folded("Notions of each group by itself", [_table(material, found, rest, "Notions of one group")])
        )
    blocks.append(Folded("What each notion adds", [Items([(title, words) for title, words in added(found)])]))
    if missing := not_read(found):
        blocks.append(Folded("Notions that were not read", [Items([(line, "") for line in missing])]))
    return Section("notions", "Other notions", blocks)


def _table(material: Material, found: Notions, readings: Sequence[NotionReading], caption: str) -> Table:
    texts = {id(one): reading_text(found.notion(one.notion), one) for one in readings}
    columns: list[tuple[Cell, bool, Callable[[NotionReading], Cell]]] = [
        ("notion", True, lambda r: Phrase(title_of(found.notion(r.notion), r, material.names))),
        (Name(material.column), True, lambda r: material.group(r.group) if r.group else "everybody"),
        ("against", True, lambda r: material.group(r.against) if r.against else ""),
        ("what it shows", True, lambda r: SIDES[found.side(r)]),
        ("estimate", False, lambda r: texts[id(r)][0]),
        (f"{level_text(material.audit.criteria)} interval", False, lambda r: texts[id(r)][1]),
        ("people", False, lambda r: people_text(found.notion(r.notion), r)),
        ("note", True, lambda r: notes_text(r.note)),
    ]
    told = [column for column in columns if any(column[2](reading) for reading in readings)]
    words = frozenset(k for k, (_, is_text, _) in enumerate(told) if is_text)
    rows = [[cell(reading) for *_, cell in told] for reading in readings]
    return Table(caption, tuple(head for head, *_ in told), rows, words)
