"""model_card(): the audit as the part of a model card that others read, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equieffort.report import answer, appendix, assumptions, evidence, front, measures, people, register
from equieffort.report.blocks import Block, Chart, Section, Text
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
    title, guard = audit.provenance.title, material.guard
    parts = [f"# {_escape(title)}: equality of effort" if title else "# Equality of effort"]
    if guard.is_on:
        parts.append(f"Counts from 1 to {guard.k - 1} are kept back, and so is what would give them away.")
    parts += [_md(first.words) for first in answer.check_first(material)]
    parts += [_md(words) for words in answer.surrogate_notice(material)]
    parts.append(f"**{audit.verdict.outcome.capitalize()}.** {_md(front.headline(material))}")
    parts.append(f"{audit.verdict.basis}.")
    parts += [_md(answer.finding_words(material, finding)) for finding in audit.verdict.findings]
    told = answer.unsettled(material) + answer.assumed(material)
    parts += [_md(block.words) for block in told]
    parts += ["## Read with care", "\n".join(f"- {_md(words)}" for words in front.careful(material, links=False))]
    parts += [
        "## What was measured",
        "For every refused person the cheapest allowed action that would turn the decision, and from these efforts the "
        f"measures below, each with its {level_text(audit.criteria)} interval. {_md(answer.terms(material))}",
        _md(unit_of_effort(material)),
        *_table(next(block.table for block in people.people(material).walk() if isinstance(block, Chart))),
        *_section(measures.measures(material)),
    ]
    for table in answer.fidelity(material):
        parts += _table(table)
    parts += ["## What it rests on", *_section(assumptions.assumptions(material), told)]
    for table in (register.equations(material), cost_table(material), appendix.leaving(material)):
        parts += _table(table)
    warned = dict.fromkeys(warning.code for warning in audit.warnings)
    limits = (
        "Equal means equal within the thresholds, for these people and these assumptions.",
        "Recourse actions are not reasons for a decision.",
        CHANCE if audit.criteria.level is not None else NO_CHANCE,
    )
    parts += [
        f"Warnings: {', '.join(warned) if warned else 'none'}.",
        "## What it does not say",
        "\n".join(f"- {text}" for text in limits),
        "## Reproduce",
        "\n".join(f"- {name}: {_md(value)}" for name, value in evidence.reproduction(material)),
    ]
    return clean("\n\n".join(part for part in parts if part) + "\n")


def _section(section: Section, told: Sequence[Block] = ()) -> list[str]:
    """Its tables and paragraphs, without what stands out and what was told before."""
    parts = []
    for block in section.walk():
        if isinstance(block, Table):
            parts += _table(block)
        elif isinstance(block, Text) and not block.look and block not in told:
            parts.append(_md(block.words))
    return parts


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
    sides = (" --- " if k == 0 or k in table.words else " ---: " for k in range(len(table.head)))
    lines = ["| " + " | ".join(map(_md, table.head)) + " |", "|" + "|".join(sides) + "|"]
    lines += ["| " + " | ".join(_md(cell) if plain(cell) else " " for cell in row) + " |" for row in table.rows]
    return [
        f"**{_md(table.caption)}**",
        "\n".join(lines),
        *map(_md, (*table.foot, *([table.same] if table.same else []))),
    ]
