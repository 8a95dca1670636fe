"""Every measure with its interval, in one table; and in words what is too long for the page."""

from __future__ import annotations

from collections.abc import Iterable

from equieffort.report.answer import finding_words
from equieffort.report.blocks import Block, Folded, Items, Section, Text
from equieffort.report.material import Material
from equieffort.report.measured import Row, rows_of, sorted_rows
from equieffort.report.tables import Table
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Phrase, Words, name_list, say
from equieffort.words.shown import CHANCE, level_text

MOST_TOLD = 2
"""Comparisons that are told in sentences where they are."""


def measures(material: Material, before: Iterable[Block] = ()) -> Section:
    """Every measure with its interval, and what to know about it."""
    judged = sorted_rows(material, rows_of(material, judged=True))
    criteria = material.audit.criteria
    chance = f"The {level_text(criteria)} intervals allow for chance in {CHANCE[material.audit.verdict.chance]}."
    blocks: list[Block] = [Text((*_beside(material), chance)), *before]
    if judged:
        many = len({row.comparison.group for row in judged}) > MOST_TOLD
        whole = _table(material, judged, "Every measure")
        blocks.append(Folded("Every measure of each group", [whole]) if many else whole)
    return Section("measures", "All measures", blocks)


def in_words(material: Material) -> list[Folded]:
    """What is too long for the page: many comparisons in words, and every measure of groups that are not judged."""
    findings, others = material.audit.verdict.findings, rows_of(material, judged=False)
    found = []
    if len(findings) > MOST_TOLD:
        told = Items([(finding_words(material, finding), "") for finding in findings])
        found.append(Folded("Each comparison in words", [told]))
    if others:
        n = len({row.comparison.group for row in others})
        title = (
            "Every measure of one more group, which is not judged"
            if n == 1
            else f"Every measure of {n} more groups, which are not judged"
        )
        found.append(Folded(title, [_table(material, others, "Every measure of groups that are not judged")]))
    return found


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
        *([] if one else [Name(material.column)]),
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
