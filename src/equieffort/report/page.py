"""render(): sections into one HTML file that needs nothing else: no script, no network, no other file."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from equieffort.report import (
    alike,
    answer,
    appendix,
    assumptions,
    blocked,
    burdens,
    evidence,
    front,
    matched,
    measures,
    notions,
    people,
)
from equieffort.report.balance import balance_chart
from equieffort.report.blocks import Chart, Section
from equieffort.report.curves import curve_chart
from equieffort.report.forest import forest_chart
from equieffort.report.layers import graph_chart
from equieffort.report.material import Material
from equieffort.report.panels import box_chart, plane_chart
from equieffort.report.plots import bar_chart, line_chart, step_chart
from equieffort.report.words import Aside, Cell, Link, Name, Phrase, clean, plain

if TYPE_CHECKING:
    from jinja2 import Template

    from equieffort.results.audits import Audit

TITLE = "Equality of effort"
LONGEST_WORD = 24
DRAWN: dict[str, Callable[..., Markup]] = {
    "line": line_chart,
    "step": step_chart,
    "bars": bar_chart,
    "graph": graph_chart,
    "forest": forest_chart,
    "curve": curve_chart,
    "balance": balance_chart,
    "boxes": box_chart,
    "plane": plane_chart,
}


SECTIONS: list[Callable[[Material], Section | None]] = [
    front.verdict,
    people.people,
    lambda material: measures.measures(material, answer.unsettled(material)),
    alike.levels,
    alike.curve,
    matched.matched,
    burdens.costs,
    blocked.no_recourse,
    burdens.actions,
    notions.notions,
    assumptions.assumptions,
    evidence.evidence,
    appendix.appendix,
]
"""What makes each section, in their order; None is left out."""


def render(audit: Audit, *, title: str = "", suppress_below: int | None = None, command: str = "") -> str:
    """The report of an audit as one HTML file.

    Parameters
    ----------
    audit
        Live or loaded.
    title
        What the report is about, in a few words.
    suppress_below
        Counts of people from 1 to this number less one are not shown, nor what they could be worked out from, nor
        single people. 0 shows everything; left out, it is what the spec asked for.
    command
        The command that made the audit, for whoever wants to repeat it.
    """
    material = Material.of(audit, suppress_below, command)
    page = _template().render(
        title=title or TITLE, question=front.question(material), sections=_sections(material),
        suppressed=material.guard.k, style=Markup(resource("colours.css") + resource("style.css")),
    )  # fmt: skip
    return clean(page)


@cache
def _template() -> Template:
    """The page, compiled once for all reports."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= {"words": _words, "plain": plain, "drawn": drawn}
    environment.tests["kind"] = _is_kind
    return environment.from_string(resource("template.html"))


def resource(name: str) -> str:
    """A file of this room."""
    return files("equieffort.report").joinpath(name).read_text(encoding="utf-8")


def outline(audit: Audit, suppress_below: int | None = None, command: str = "") -> list[Section]:
    """All sections in their order."""
    return _sections(Material.of(audit, suppress_below, command))


def _sections(material: Material) -> list[Section]:
    return [section for make in SECTIONS if (section := make(material)) is not None]


def _words(cell: Cell) -> Markup:
    """Pieces with names isolated, so that the direction of their letters stays theirs."""
    pieces = (cell,) if isinstance(cell, str) else cell
    return Markup("").join(_piece(piece) for piece in pieces)


def _piece(piece: str) -> Markup:
    if isinstance(piece, Link):
        return Markup('<a href="#{}">{}</a>').format(piece.to, str(piece))
    if isinstance(piece, Aside):
        return Markup('<span class="screen">{}</span>').format(str(piece))
    return _isolated(piece) if isinstance(piece, Name | Phrase) else escape(piece)


def _isolated(name: str) -> Markup:
    # Only words too long for a column are broken anywhere; others keep their column wide enough.
    is_long = any(len(word) > LONGEST_WORD for word in name.split())
    marks = Markup(' dir="ltr"' if isinstance(name, Phrase) else "") + Markup(' class="break"' if is_long else "")
    return Markup("<bdi{}>{}</bdi>").format(marks, str(name))


def drawn(chart: Chart) -> Markup:
    """A picture."""
    return DRAWN[chart.kind](f"chart-{chart.name}", chart.title, chart.described, **chart.given)


def _is_kind(block: Any, name: str) -> bool:
    return type(block).__name__ == name
