"""Every measure and notion of saved audits side by side: `python tools/side_by_side.py german.audit adult.audit`.

Prints a table in Markdown for each audit, as `docs/notions/side-by-side.md` shows it, and draws all of them into one
picture (`--picture`, by default docs/images/notions.png). Audits: those of `equieffort demo german -o german` and
`equieffort demo adult -o adult`.
"""

from __future__ import annotations

import argparse
from math import isnan
from pathlib import Path

import equieffort as ee
from equieffort.notions.collection import Notions
from equieffort.plots.figures import Canvas
from equieffort.plots.notions import Line, draw_notions, lines_of
from equieffort.words.notions import SIDES, not_read, reading_text, title_of
from equieffort.words.shown import notes_text

ROOT = Path(__file__).parents[1]


def table(lines: list[Line]) -> str:
    """One audit in Markdown, a row a measure or notion."""
    rows = ["| | estimate (95 % interval) | what it shows |", "| --- | --- | --- |"]
    for line in lines:
        title = f"{line.title}: {line.variant}" if line.variant else line.title
        rows.append(f"| {title} | {line.text} | {SIDES[line.side]} |")
    return "\n".join(rows)


def alone(found: Notions) -> str:
    """Notions of everybody, which compare nobody."""
    rows = ["| over everybody | estimate (95 % interval) |", "| --- | --- |"]
    for one in found.readings:
        if not one.group and not one.against and not isnan(one.low):
            notion = found.notion(one.notion)
            rows.append("| {} | {} ({}) |".format(title_of(notion, one), *reading_text(notion, one)))
    return "\n".join(rows)


def without(found: Notions) -> list[str]:
    """What has no interval, and why; largest values never have one."""
    lines = []
    for one in found.readings:
        if isnan(one.low) and "EXTREME" not in one.note and (one.against or not one.group):
            whom = "" if one.against else " of everybody"
            title = title_of(found.notion(one.notion), one)
            lines.append(f"- {title}{whom}: {found.notion(one.notion).show(one.estimate)}. {notes_text(one.note)}")
    return lines


def part(name: str, found: Notions, lines: list[Line]) -> str:
    """The part of the page that is about one audit."""
    last = [*without(found), *(f"- not read: {line}" for line in not_read(found))]
    return "\n\n".join([f"## {name}", table(lines), alone(found), "\n".join(last)])


def main() -> None:
    """Tables, then the picture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("audits", nargs="+", type=Path)
    parser.add_argument("--picture", type=Path, default=ROOT / "docs" / "images" / "notions.png")
    asked = parser.parse_args()
    panels = []
    for path in asked.audits:
        audit = ee.load(path)
        found = audit.provenance.notions or audit.notions()
        lines = lines_of(audit, found)
        name = audit.provenance.title.split(":")[0]
        panels.append((name, lines))
        print(part(name, found, lines), end="\n\n")
    canvas = Canvas()
    draw_notions(panels, canvas)
    canvas.figure.savefig(asked.picture, dpi=90)


if __name__ == "__main__":
    main()
