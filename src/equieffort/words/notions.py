"""Neighbouring notions in words: one table, what each adds, and where they disagree."""

from __future__ import annotations

from math import isnan

from equieffort.errors import capital
from equieffort.foundations.shown import Told
from equieffort.notions.base import NotApplicable, Notion, NotionReading
from equieffort.notions.collection import Notions, Side
from equieffort.notions.comparing import Found
from equieffort.words.shown import notes_text
from equieffort.world.groups import group_name
from equieffort.world.labels import NO_LABELS, Labels, labels_of

SIDES: dict[Side, str] = {
    "worse": "group worse off", "better": "group better off", "open": "no difference shown",
    "no interval": "cannot tell: no interval", "undefined": "not defined", "": "",
}  # fmt: skip
HEAD = ("notion", "group", "against", "estimate", "interval", "people", "what it shows", "note")


def reading_text(notion: Notion, reading: NotionReading) -> tuple[str, str]:
    """The estimate, and its interval, as text."""
    value = notion.show(reading.estimate)
    if isnan(reading.low) or isnan(reading.high):
        return value, "-"
    first, last = notion.show(reading.low), notion.show(reading.high)
    for unit in (" points", " %"):
        if first.endswith(unit) and last.endswith(unit):
            first = first.removesuffix(unit)
    return value, f"{first} to {last}"


def title_of(notion: Notion, reading: NotionReading, names: Labels = NO_LABELS) -> str:
    """A notion with the form that was read; the feature or group that it begins with by its label."""
    form = reading.variant
    for name, label in {**names.groups, **names.features}.items():
        if reading.variant == name or reading.variant.startswith(f"{name} "):
            form = f"{label}{reading.variant[len(name) :]}"
    return f"{notion.title} ({form})" if form else notion.title


def people_text(notion: Notion, reading: NotionReading) -> str:
    """The denominators, and how many are in none."""
    both = f"{reading.n:,} / {reading.n_against:,}" if reading.against else f"{reading.n:,}"
    if notion.counts:
        both = f"{reading.n:,} {notion.counts}"
    return f"{both}, {reading.n_undefined:,} undefined" if reading.n_undefined else both


def cells(found: Notions, reading: NotionReading) -> tuple[str, ...]:
    """One row of the table."""
    notion = found.notion(reading.notion)
    value, interval = reading_text(notion, reading)
    return (
        title_of(notion, reading, labels_of(found.columns)),
        group_name(reading.group, found.columns) if reading.group else "everybody",
        group_name(reading.against, found.columns) if reading.against else "", value, interval,
        people_text(notion, reading),
        SIDES[found.side(reading)], notes_text(reading.note),
    )  # fmt: skip


def disagreements(found: Notions) -> list[str]:
    """For each comparison which notions show the group worse off and which better off, where both occur."""
    by_pair: dict[tuple[str, str], dict[Side, list[str]]] = {}
    for reading in found.readings:
        side = found.side(reading)
        if side in ("worse", "better"):
            titles = by_pair.setdefault((reading.group, reading.against), {}).setdefault(side, [])
            title = _inside(found.notion(reading.notion).title)
            titles += [] if title in titles else [title]
    lines = []
    for (group, against), sides in by_pair.items():
        who = f"{capital(group_name(group, found.columns))} against {group_name(against, found.columns)}"
        # Titles hold commas.
        worse, better = "; ".join(sides.get("worse", ())), "; ".join(sides.get("better", ()))
        if worse and better:
            lines.append(f"{who}: worse off by {worse}. Better off by {better}. They answer different questions.")
        else:
            told = f"worse off by {worse}" if worse else f"better off by {better}"
            lines.append(f"{who}: {told}. No notion shows the opposite.")
    return lines


def _inside(title: str) -> str:
    """A title within a sentence; names and abbreviations keep their capitals."""
    return title if title[1:2].isupper() or title.split("'")[0] in NAMES else title[:1].lower() + title[1:]


NAMES = ("FACTS", "Huang", "Zhang")


def added(found: Notions) -> list[tuple[str, str]]:
    """Each notion that was read, with a sentence on what it adds."""
    names = dict.fromkeys(reading.notion for reading in found.readings)
    return [(found.notion(name).title, found.notion(name).adds) for name in names]


def not_read(found: Notions) -> list[str]:
    """What could not be read, by reason."""
    by_why: dict[str, list[str]] = {}
    for one in found.missing:
        by_why.setdefault(one.why.rstrip("."), []).append(found.notion(one.notion).title)
    return [f"{', '.join(dict.fromkeys(titles))}: {why[:1].lower()}{why[1:]}." for why, titles in by_why.items()]


def notions_text(found: Notions) -> str:
    """Everything for a terminal."""
    parts = [_table(found), "\n".join(disagreements(found)), _missing(found)]
    return "\n\n".join(part for part in parts if part)


def _table(found: Notions) -> str:
    rows = [HEAD, *(cells(found, reading) for reading in found.readings)]
    shown = [k for k in range(len(HEAD)) if any(row[k] for row in rows[1:])]
    widths = {k: max(len(row[k]) for row in rows) for k in shown}
    lines = ["  ".join(row[k].ljust(widths[k]) for k in shown).rstrip() for row in rows] if found.readings else []
    return "\n".join(lines)


def _missing(found: Notions) -> str:
    missing = not_read(found)
    return "Not read:\n" + "\n".join(f"  {line}" for line in missing) if missing else ""


def found_text(found: Found) -> str:
    """One family for a terminal."""
    alone = _alone(found)
    return "\n".join(part for part in (found.title, _table(alone), _missing(alone)) if part)


def found_told(found: Found) -> Told:
    """One family for a notebook."""
    alone = _alone(found)
    care = [*not_read(alone), "One notion among several: they answer different questions and can disagree."]
    if any("UNCERTIFIED" in one.note for one in alone.readings):
        care.insert(0, "People who are not solved to the end widen these readings.")
    table = [HEAD, *(cells(alone, reading) for reading in alone.readings)]
    return Told(found.title, [], {"": table}, care, "print(...), .frame(), .people")


def _alone(found: Found) -> Notions:
    readings = tuple(one for one in found.readings if isinstance(one, NotionReading))
    missing = tuple(one for one in found.readings if isinstance(one, NotApplicable))
    return Notions(readings, missing, found.columns)


def notions_told(found: Notions) -> Told:
    """The table for a notebook, who is worse off by which notions, and what could not be read."""
    table = [HEAD, *(cells(found, reading) for reading in found.readings)]
    care = [*not_read(found), "Each row has its own interval; nothing allows for reading many of them at once."]
    title = f"{len(found.readings):,} readings of notions beside equality of effort"
    return Told(title, disagreements(found), {"": table}, care, "print(...), .frame(), .readings, .missing")
