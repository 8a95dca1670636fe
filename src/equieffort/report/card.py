"""model_card(): the audit as the part of a model card that others read, in Markdown."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from equieffort.report import answer, appendix, assumptions, evidence, front, measures, people, register
from equieffort.report.blocks import Chart, Section, Text
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.units import cost_table, unit_of_effort
from equieffort.report.words import Cell, Name, Phrase, clean, plain
from equieffort.words.shown import level_text

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

CHANCE = (
    "The intervals are about other people of the same kind, not about another model, other equations or other costs."
)
NO_CHANCE = "The verdict is about point estimates: chance is not considered in it."


def model_card(audit: Audit, *, suppress_below: int | None = None) -> str:
    """The audit in Markdown: verdict, groups, assumptions, limits of what is said.

    `suppress_below` keeps small counts back as in `render`; left out, it is what the spec asked for.
    """
    material = Material.of(audit, suppress_below)
    title = audit.provenance.title
    lines = [f"# {_escape(title)}: equality of effort" if title else "# Equality of effort", ""]
    if material.guard.is_on:
        lines += [f"Counts from 1 to {material.guard.k - 1} are kept back, and so is what would give them away.", ""]
    for first in answer.check_first(material):
        lines += [_md(first.words), ""]
    for words in answer.surrogate_notice(material):
        lines += [_md(words), ""]
    lines += [f"**{audit.verdict.outcome.capitalize()}.** {_md(front.headline(material))}", ""]
    lines += [f"{audit.verdict.basis}.", ""]
    for finding in audit.verdict.findings:
        lines += [_md(answer.finding_words(material, finding)), ""]
    told = answer.unsettled(material) + answer.assumed(material)
    for block in told:
        lines += [_md(block.words), ""]
    lines += ["## Read with care", ""]
    lines += [*(f"- {_md(words)}" for words in front.careful(material, links=False)), ""]
    lines += ["## What was measured", ""]
    lines += [
        "For every refused person the cheapest allowed action that would turn the decision, and from these efforts the "
        f"measures below, each with its {level_text(audit.criteria)} interval. {_md(answer.terms(material))}",
        "",
        _md(unit_of_effort(material)),
        "",
    ]
    lines += _table(_behind(people.people(material)))
    for part in measures.measures(material).walk():
        if isinstance(part, Table):
            lines += _table(part)
        elif isinstance(part, Text):
            lines += [_md(part.words), ""]
    for table in answer.fidelity(material):
        lines += _table(table)
    lines += ["## What it rests on", ""]
    for part in assumptions.assumptions(material).walk():
        if isinstance(part, Table):
            lines += _table(part)
        elif isinstance(part, Text) and not part.look and part not in told:
            lines += [_md(part.words), ""]
    for table in (register.equations(material), cost_table(material), appendix.leaving(material)):
        lines += _table(table)
    warned = dict.fromkeys(warning.code for warning in audit.warnings)
    lines += [f"Warnings: {', '.join(warned) if warned else 'none'}.", ""]
    lines += ["## What it does not say", ""]
    lines += [
        "- Equal means equal within the thresholds, for these people and these assumptions.",
        "- Recourse actions are not reasons for a decision.",
        f"- {CHANCE if audit.criteria.level is not None else NO_CHANCE}",
        "",
        "## Reproduce",
        "",
    ]
    lines += [f"- {name}: {_md(value)}" for name, value in evidence.reproduction(material)]
    return clean("\n".join(lines) + "\n")


def _behind(section: Section) -> Table:
    return next(block.table for block in section.walk() if isinstance(block, Chart))


_MARKS = re.compile(r"([\\`*_{}\[\]()#+!|~$^-])")


def _escape(name: str) -> str:
    """A name as Markdown text, whatever it holds."""
    line = " ".join(name.split())
    return _MARKS.sub(r"\\\1", line).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _md(cell: Cell) -> str:
    pieces = (cell,) if isinstance(cell, str) else cell
    return "".join(
        _escape(piece) if isinstance(piece, Name | Phrase) else piece.replace("<", "&lt;") for piece in pieces
    )


def _table(whole: Table) -> list[str]:
    table = whole.shown()
    head = [_md(cell) for cell in table.head]
    lines = [f"**{_md(table.caption)}**", "", "| " + " | ".join(head) + " |"]
    lines.append("|" + "|".join(" --- " if k == 0 or k in table.words else " ---: " for k in range(len(head))) + "|")
    lines += ["| " + " | ".join(_md(cell) if plain(cell) else " " for cell in row) + " |" for row in table.rows]
    return [*lines, "", *([_md(table.same), ""] if table.same else [])]
