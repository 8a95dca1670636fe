"""How an audit shows itself and what it hands to others: words, HTML, plain data, frames and the report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pandas as pd

from equieffort.errors import ParameterError
from equieffort.foundations.shown import Cells, Told
from equieffort.results.explanation import assumed_lines, assumed_text
from equieffort.words.shown import caveats, comparison_parts, judged_text, measure_table, system_measures
from equieffort.words.told import group_lines, measure_cells, page_lines
from equieffort.world.giveaways import first_lines

if TYPE_CHECKING:
    from equieffort.results.audits import Audit

What = Literal["measures", "groups", "people", "unsettled", "warnings"]
MORE = "print(audit), audit.measures, audit.by_group, audit.explain(label), audit.plot.measures(), audit.report()"
HEIGHT = 720
"""Of a report in a notebook, in pixels; it scrolls."""


def audit_text(audit: Audit) -> str:
    """All that is printed: what stands out, the verdict, the measures, why to read them with care, the groups."""
    measures = system_measures(audit.system, audit.own_rows)
    groups = named_groups(audit).reset_index()
    table = groups.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="-")
    shown = comparison_parts(measures, audit.verdict, audit.own)
    schema = audit.recourse.source.schema
    assumed = assumed_text(schema.assumed, schema.zero_one, schema.names)
    parts = ["\n".join(first_lines(audit.warnings)), *shown, care_text(audit), assumed, table]
    return "\n\n".join(part for part in parts if part)


ELSEWHERE = ("SURROGATE", "ASSUMED_LIMITS")
"""Caveats that printed text has in other words: in the verdict's first sentence, and limit by limit."""


def care_text(audit: Audit) -> str:
    """Why to read it with care, the weightiest first, for a terminal."""
    known = caveats(audit.verdict, audit.recourse, audit.provenance.fit, audit.provenance.guessed)
    lines = [f"  {one.text}" for one in known if one.code not in ELSEWHERE]
    return "\n".join(["Read with care:", *lines]) if lines else ""


def named_groups(audit: Audit) -> pd.DataFrame:
    """One row a group, by the labels that readers know."""
    names = audit.recourse.source.schema.names
    return audit.by_group.rename(index=lambda group: names.group(group) or group)


def audit_told(audit: Audit) -> Told:
    """The verdict's first line and the groups; all of it in a notebook."""
    verdict = audit.verdict
    care = [one.text for one in caveats(verdict, audit.recourse, audit.provenance.fit, audit.provenance.guessed)]
    care += [str(one) for one in audit.warnings]
    return Told(verdict.first_line, group_lines(audit.recourse.groups, audit.by_group), care=care, more=MORE)


def audit_page(audit: Audit) -> Told:
    """The same with the sentences of the verdict and the tables, which would be too long to be echoed."""
    short, verdict = audit_told(audit), audit.verdict
    cells = measure_table(system_measures(audit.system, audit.own_rows), verdict, audit.own)
    # That limits were assumed is among the caveats; here is which.
    schema = audit.recourse.source.schema
    spans, binary = assumed_lines(schema.assumed, schema.zero_one, schema.names)
    care = [*short.care, *([f"Assumed: {'; '.join([*spans, *binary])}."] if spans or binary else [])]
    title = f"{verdict.outcome.upper()}: {verdict.headline}"
    lines = [*first_lines(audit.warnings), *page_lines(verdict), judged_text(verdict)]
    tables: dict[str, pd.DataFrame | Cells] = {**measure_cells(cells), "Groups": named_groups(audit)}
    return Told(title, lines, tables, care, MORE)


def frame_of(audit: Audit, what: What) -> pd.DataFrame:
    """A table of the audit by its name."""
    tables: dict[str, Callable[[], pd.DataFrame]] = {
        "measures": lambda: audit.measures,
        "groups": lambda: audit.system.groups,
        "people": audit.recourse.frame,
        "unsettled": lambda: audit.unsettled,
        "warnings": lambda: pd.DataFrame(
            [[one.code, one.what, one.why, one.fix] for one in audit.warnings], columns=["code", "what", "why", "fix"]
        ),
    }
    if what not in tables:
        raise ParameterError("PARAMETER", f"what is {what!r}, which is no table.", fix=f"Choose from {list(tables)}.")
    return tables[what]()


@dataclass(frozen=True, repr=False)
class Report:
    """The report of an audit: one HTML page that needs nothing else, and the model card."""

    html: str
    card: str
    """The model card, in Markdown."""

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page, or the model card where the name ends in .md; gives the path."""
        out = Path(path)
        out.write_text(self.card if out.suffix == ".md" else self.html, encoding="utf-8")
        return out

    def __repr__(self) -> str:
        return f"Report of {len(self.html):,} characters\nMore: .save('report.html'), .save('card.md'), .html, .card"

    def _repr_html_(self) -> str:
        # A frame of its own, so that the page's styles and the notebook's do not meet.
        page = escape(self.html, quote=True)
        look = f"width:100%;height:{HEIGHT}px;border:1px solid #bbb"
        return f'<iframe title="Report" srcdoc="{page}" style="{look}"></iframe>'


def written_to(path: str | PathLike[str] | None, text: str) -> str:
    """The text, also in a file where there is a path."""
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text
