"""Every measure with its interval, in one table; and in words what is too long for the page."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from equieffort.effort.measures import CHANCE
from equieffort.report.answer import finding_words
from equieffort.report.blocks import Block, Folded, Items, Section, Text
from equieffort.report.material import Material
from equieffort.report.measured import ALIKE, EXACT, Row, rows_of, sorted_rows
from equieffort.report.tables import Table, footed
from equieffort.report.words import HIDDEN, MISSING, Cell, Name, Phrase, Words, say
from equieffort.words.shown import level_text

MOST_TOLD = 1
"""Comparisons that are told in sentences where they are; more are a table."""


def measures(material: Material, before: Iterable[Block] = ()) -> Section:
    """Every measure with its interval, and what to know about it."""
    judged = sorted_rows(material, rows_of(material, judged=True))
    criteria = material.audit.criteria
    chance = f"The {level_text(criteria)} intervals allow for chance in {CHANCE[material.audit.verdict.chance]}."
    findings = material.audit.verdict.findings
    told = [Text(finding_words(material, one)) for one in findings] if len(findings) <= MOST_TOLD else []
    blocks: list[Block] = [*told, Text((*_beside(material), chance)), *before]
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
        n = len({(row.comparison.group, row.comparison.against) for row in others})
        what = "group" if material.against_name else "comparison"
        more = f"one more {what}, which is not judged" if n == 1 else f"{n} more {what}s, which are not judged"
        found.append(
            Folded(
                f"Every measure of {more}", [_table(material, others, "Every measure of groups that are not judged")]
            )
        )
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
    one = len({(row.comparison.group, row.comparison.against) for row in rows}) == 1
    others = list(dict.fromkeys(row.comparison.against for row in rows))
    against, same = others[0], len(others) == 1
    columns: list[tuple[Cell, bool, bool, Callable[[Row], Cell]]] = [
        ("measure", True, True, lambda row: (Phrase(row.title), " (judged)" if row.is_judged else "")),
        (Name(material.column), True, not one, lambda row: material.group(row.comparison.group)),
        ("against", True, not same, lambda row: material.group(row.comparison.against)),
        ("estimate", False, True, lambda row: row.estimate),
        (f"{level_text(material.audit.criteria)} interval", False, True, lambda row: row.interval),
        (
            "certain range", False, any(row.certain not in (EXACT, ALIKE, MISSING, HIDDEN) for row in rows),
            lambda row: row.certain,
        ),
        (
            "if groups were known", False, any(row.assigned not in (MISSING, HIDDEN) for row in rows),
            lambda row: row.assigned,
        ),
        ("people", False, True, lambda row: row.people[0]),
        (
            say("people, {}", material.group(against)) if same else "people, other", False, True,
            lambda row: row.people[1],
        ),
        ("chance of", True, len({row.chance for row in rows}) > 1, lambda row: row.chance),
    ]  # fmt: skip
    shown = [(head, is_text, cell) for head, is_text, is_shown, cell in columns if is_shown]
    name: Cell = caption
    if one:
        name = say("{}, {} against {}", caption, material.group(rows[0].comparison.group), material.group(against))
    words = frozenset(k for k, (_, is_text, _) in enumerate(shown) if is_text)
    cells, foot = footed([[cell(row) for *_, cell in shown] for row in rows], [row.note for row in rows])
    return Table(name, tuple(head for head, *_ in shown), cells, words, foot=foot)
