"""Told and Shown: how a result shows itself, in a few lines where it is echoed and as HTML in a notebook.

>>> class Answer(Shown):
...     def _told(self) -> Told:
...         return Told("Equal", ["Efforts <differ> by 2 %."], care=["Of 30 people."], more="print(answer)")
>>> Answer()
Equal
Efforts <differ> by 2 %.
Read with care: Of 30 people.
More: print(answer)
>>> "<li>Of 30 people.</li>" in Answer()._repr_html_(), "&lt;differ&gt;" in Answer()._repr_html_()
(True, True)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from numbers import Integral
from textwrap import shorten
from typing import Any

import pandas as pd


class Number(str):
    """A cell that holds a number, an interval, or that there is none: columns of these are set to the right."""

    __slots__ = ()


Cells = Sequence[Sequence[str]]
"""A head and rows, as text; cells with numbers are a `Number`."""
MOST_LINES, LONGEST, MOST_ROWS = 6, 300, 20
"""Of what is echoed, and of a frame in a notebook."""

STYLE = (
    ".equieffort{max-width:60rem;line-height:1.45}"
    ".equieffort h3{font-size:1.1em;font-weight:600;line-height:1.3;margin:.4em 0}"
    ".equieffort h4{font-size:1em;font-weight:600;margin:.9em 0 .3em}"
    ".equieffort p{margin:.4em 0}.equieffort ul{margin:.3em 0;padding-left:1.3em}"
    ".equieffort .wide{overflow-x:auto}.equieffort table{border-collapse:collapse;font-size:.92em}"
    ".equieffort th,.equieffort td{padding:.2em .6em;vertical-align:top}.equieffort .number{white-space:nowrap}"
    # Notebooks set all cells to the right, words too.
    ".equieffort th,.equieffort td{text-align:left!important}.equieffort .number{text-align:right!important}"
    ".equieffort td{font-variant-numeric:tabular-nums}.equieffort thead th{border-bottom:1px solid currentColor}"
    ".equieffort .care{border-left:3px solid #c04a00;padding-left:.8em;margin:.8em 0}"
    ".equieffort .more{opacity:.75;font-size:.92em}"
)
"""Colours stay those of the notebook, light or dark."""


@dataclass(frozen=True)
class Told:
    """What a result says of itself."""

    title: str
    lines: Sequence[str] = ()
    """What it says, the weightiest first."""
    tables: Mapping[str, pd.DataFrame | Cells] = field(default_factory=dict)
    care: Sequence[str] = ()
    """Why to read it with care, the weightiest first."""
    more: str = ""
    """Where to look next."""
    picture: str = ""
    """An SVG."""


class Shown(ABC):
    """A result that shows itself."""

    @abstractmethod
    def _told(self) -> Told:
        """What it says, its tables, and why to read it with care."""

    def __repr__(self) -> str:
        return brief(self._told())

    def _repr_html_(self) -> str:
        return as_html(self._told())


def aligned(cells: Sequence[Sequence[str]]) -> str:
    """Cells under each other, numbers to the right.

    >>> print(aligned([["who", "n"], ["ash", Number("7")], ["oak", Number("12")]]))
    who   n
    ash   7
    oak  12
    """
    widths = [max(len(row[k]) for row in cells) for k in range(len(cells[0]))]
    right = [all(isinstance(row[k], Number) for row in cells[1:]) for k in range(len(widths))]
    return "\n".join(
        "  ".join(c.rjust(w) if r else c.ljust(w) for c, w, r in zip(row, widths, right, strict=True)).rstrip()
        for row in cells
    )


def brief(told: Told) -> str:
    """A few lines."""
    lines = [told.title, *told.lines[:MOST_LINES]]
    if len(told.lines) > MOST_LINES:
        lines.append(f"... and {len(told.lines) - MOST_LINES:,} more lines")
    if told.care:
        more = f" (and {len(told.care) - 1} more)" if len(told.care) > 1 else ""
        lines.append(f"Read with care: {told.care[0]}{more}")
    if told.more:
        lines.append(f"More: {told.more}")
    return "\n".join([lines[0], *(shorten(line, LONGEST, placeholder=" ...") for line in lines[1:])])


def as_html(told: Told) -> str:
    """For a notebook: all that it says, its tables, and below them why to read it with care."""
    parts = [f"<h3>{escape(told.title)}</h3>", *(f"<p>{escape(line)}</p>" for line in told.lines if line.strip())]
    parts.append(told.picture)
    for name, table in told.tables.items():
        shown = frame_html(table) if isinstance(table, pd.DataFrame) else cells_html(table)
        parts.append((f"<h4>{escape(name)}</h4>" if name else "") + shown if shown else "")
    if told.care:
        parts.append(f'<div class="care"><h4>Read with care</h4>{_items(told.care)}</div>')
    if told.more:
        parts.append(f'<p class="more">More: <code>{escape(told.more)}</code></p>')
    return f'<style>{STYLE}</style><section class="equieffort">{"".join(parts)}</section>'


def _items(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items)}</ul>"


def cells_html(cells: Cells) -> str:
    """A table of texts; nothing where it has no rows."""
    head, *rows = cells
    if not rows:
        return ""
    marks = [' class="number"' if all(isinstance(row[k], Number) for row in rows) else "" for k in range(len(head))]
    heads = "".join(f"<th{mark}>{escape(cell)}</th>" for mark, cell in zip(marks, head, strict=True))
    lines = ("".join(f"<td{m}>{escape(cell)}</td>" for m, cell in zip(marks, row, strict=True)) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="wide"><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></div>'


def frame_html(frame: pd.DataFrame, most: int = MOST_ROWS) -> str:
    """The first rows of a frame; its index where that has a name."""
    shown = frame.head(most)
    shown = shown.reset_index() if any(name is not None for name in frame.index.names) else shown
    head = [str(name).replace("_", " ") for name in shown.columns]
    rows = [[_cell(value) for value in row] for row in shown.itertuples(index=False, name=None)]
    left = f"<p>{len(frame) - most:,} more rows</p>" if len(frame) > most else ""
    return cells_html([head, *rows]) + left


def _cell(value: Any) -> str:
    if value is None or value is pd.NA or (isinstance(value, float) and value != value):
        return Number("-")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return Number(f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}")
    return Number(f"{value:,}") if isinstance(value, Integral) else str(value)
