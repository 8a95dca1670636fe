"""model_card(): the audit as the part of a model card that others read, in Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from equieffort.report import answer, background, sections
from equieffort.report.blocks import Block, Chart, Text
from equieffort.report.material import Material
from equieffort.report.units import unit_of_effort
from equieffort.report.words import Cell, Name, Phrase, Table, clean, plain, ratio

if TYPE_CHECKING:
    from equieffort._audit import Audit


def model_card(audit: Audit, *, suppress_below: int | None = None) -> str:
    """The audit in Markdown: verdict, groups, assumptions, limits of what is said.

    `suppress_below` keeps small counts back as in `render`; left out, it is what the spec asked for.
    """
    material = Material.of(audit, suppress_below)
    about, criteria = audit.about, audit.criteria
    low, high = criteria.rule.ends(criteria.tau)
    title = about.get("title")
    lines = [f"# {_escape(str(title))}: equality of effort" if title else "# Equality of effort", ""]
    if material.guard.is_on:
        lines += [f"Counts from 1 to {material.guard.k - 1} are kept back, and so is what would give them away.", ""]
    for first in answer.check_first(material):
        lines += [_md(first.words), ""]
    for words in answer.stand_in(material):
        lines += [_md(words), ""]
    lines += [f"**{audit.verdict.outcome.capitalize()}.** {_md(material.told(audit.verdict.headline))}", ""]
    for finding in audit.verdict.findings:
        lines += [_md(answer.finding_words(material, finding)), ""]
    for block in answer.unsettled(material) + answer.assumed(material):
        lines += [_md(block.words), ""]
    lines += ["## What was measured", ""]
    lines += [
        "For every refused person the cheapest allowed action that would turn the decision, and the ratio of average "
        f"efforts between groups (ACR, equal from {ratio(low)} to {ratio(high)}) and the difference of the shares "
        f"with an action (RD, equal below {criteria.epsilon * 100:g} percentage points).",
        "",
        _md(unit_of_effort(material)),
        "",
    ]
    lines += _table(_behind(sections.people(material).blocks))
    lines += _table(answer.measures(material))
    for table in answer.fidelity(material):
        lines += _table(table)
    lines += ["## What it rests on", ""]
    for part in background.assumptions(material).blocks:
        if isinstance(part, Table):
            lines += _table(part)
        elif isinstance(part, Text) and not part.look:
            lines += [_md(part.words), ""]
    warned = dict.fromkeys(warning.code for warning in audit.warnings)
    lines += [f"Warnings: {', '.join(warned) if warned else 'none'}.", ""]
    lines += ["## What it does not say", ""]
    lines += [
        "- Equal means equal within the thresholds, for these people and these assumptions.",
        "- Recourse actions are not reasons for a decision.",
        "- Chance is not considered: other people might give other numbers.",
        "",
        "## Reproduce",
        "",
    ]
    lines += [f"- {name}: {_md(value)}" for name, value in background.reproduction(material, "")]
    return clean("\n".join(lines) + "\n")


def _behind(blocks: Sequence[Block]) -> Table:
    return next(block.table for block in blocks if isinstance(block, Chart))


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


def _table(table: Table) -> list[str]:
    head = [_md(cell) for cell in table.head]
    lines = [f"**{_md(table.caption)}**", "", "| " + " | ".join(head) + " |"]
    lines.append("|" + "|".join(" --- " if k == 0 or k in table.words else " ---: " for k in range(len(head))) + "|")
    lines += ["| " + " | ".join(_md(cell) if plain(cell) else " " for cell in row) + " |" for row in table.rows]
    return [*lines, ""]
