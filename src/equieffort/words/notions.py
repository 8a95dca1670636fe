"""Neighbouring notions in words: one table, what each adds, and where they disagree."""

from __future__ import annotations

from collections.abc import Container, Iterable
from math import isinf, isnan

from equieffort.errors import capital, many
from equieffort.foundations.shown import Number, Told
from equieffort.notions.base import NotApplicable, Notion, NotionReading
from equieffort.notions.collection import Notions, Side
from equieffort.notions.comparing import Found
from equieffort.words.shown import notes_text
from equieffort.world.groups import group_name
from equieffort.world.labels import NO_LABELS, Labels, labels_of

SIDES: dict[Side, str] = {
    "worse": "group worse off", "better": "group better off", "open": "no difference shown",
    "no interval": "cannot tell: no interval", "undefined": "not defined", "": "a size, no side",
}  # fmt: skip
ALLOWED = "Intervals allow for chance in who the people are; the model and the equations are taken as they are."
UNPLACED = (
    "{} not known {} on neither side of these comparisons. Where the estimate could lie, whichever groups {} may be "
    "of, is the range over assignments (assigned_least, assigned_most)."
)
UNBOUNDED = "Nothing bounds it for {}."
ASSIGNED = "if groups were known"
HEAD = ("notion", "group", "against", "estimate", "interval", ASSIGNED, "people", "what it shows")


def reading_text(notion: Notion, reading: NotionReading) -> tuple[str, str]:
    """The estimate, and its interval, as text."""
    value = notion.show(reading.estimate)
    if isnan(reading.low) or isnan(reading.high):
        return value, "-"
    low = notion.show(reading.low)
    return value, f"{low if isinf(reading.high) else low.removesuffix(notion.unit)} to {notion.show(reading.high)}"


def assigned_text(notion: Notion, reading: NotionReading) -> str:
    """Between which values it could lie, however people whose group is not known are assigned."""
    if isnan(reading.assigned_least):
        return ""
    least = notion.show(reading.assigned_least)
    if not isinf(reading.assigned_most):
        least = least.removesuffix(notion.unit)
    return Number(f"{least} to {notion.show(reading.assigned_most)}")


def title_of(notion: Notion, reading: NotionReading, names: Labels = NO_LABELS) -> str:
    """A notion with the form that was read; the feature or group that it begins with by its label."""
    form = form_of(reading, names)
    return f"{notion.title} ({form})" if form else notion.title


def form_of(reading: NotionReading, names: Labels) -> str:
    """The form that was read; the feature or group that it begins with by its label."""
    return ", ".join(form_parts(reading, names))


def form_parts(reading: NotionReading, names: Labels) -> tuple[str, ...]:
    """The same part by part."""
    first, *rest = [part for part in reading.parts if part] or [""]
    told = first
    for name, label in {**names.groups, **names.features}.items():
        if first == name or first.startswith(f"{name} "):
            told = f"{label}{first[len(name) :]}"
    return (told, *rest) if told else ()


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
        group_name(reading.against, found.columns) if reading.against else "", Number(value),
        Number(interval), assigned_text(notion, reading),
        people_text(notion, reading) if notion.counts else Number(people_text(notion, reading)),
        shown_by(found, reading),
    )  # fmt: skip


def shown_by(found: Notions, reading: NotionReading) -> str:
    """Who is worse off by a reading; of sizes that take no side, that they are such."""
    return SIDES[found.side(reading)] if reading.against else ""


def disagreements(found: Notions) -> list[str]:
    """For each comparison which notions show the group worse off and which better off, where both occur.

    A notion is named by its form too where its forms do not agree.
    """
    by_pair: dict[tuple[str, str], dict[Side, list[NotionReading]]] = {}
    for reading in found.readings:
        side = found.side(reading)
        if side in ("worse", "better"):
            by_pair.setdefault((reading.group, reading.against), {}).setdefault(side, []).append(reading)
    lines = []
    for (group, against), sides in by_pair.items():
        who = f"{capital(group_name(group, found.columns))} against {group_name(against, found.columns)}"
        shown = {side: {one.notion for one in readings} for side, readings in sides.items()}
        torn = shown.get("worse", set()) & shown.get("better", set())
        worse, better = (_listed(found, sides.get(side, []), torn) for side in ("worse", "better"))
        if worse and better:
            lines.append(f"{who}: worse off by {worse}. Better off by {better}. They answer different questions.")
        else:
            told = f"worse off by {worse}" if worse else f"better off by {better}"
            lines.append(f"{who}: {told}. No notion shows the opposite.")
    return lines


def _listed(found: Notions, readings: Iterable[NotionReading], torn: Container[str]) -> str:
    """The notions within a sentence, those that are `torn` with their form; titles hold commas."""
    titles = []
    for one in readings:
        notion = found.notion(one.notion)
        titles.append(_inside(title_of(notion, one, labels_of(found.columns)) if one.notion in torn else notion.title))
    return "; ".join(dict.fromkeys(titles))


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
    # The reason comes first, since there may be dozens, and semicolons part them: titles hold commas of their own.
    told = {why: list(dict.fromkeys(titles)) for why, titles in by_why.items()}
    return [f"{why}. {'Notion' if len(names) == 1 else 'Notions'}: {'; '.join(names)}." for why, names in told.items()]


def unplaced_text(found: Notions) -> str:
    """That people without a known group are in no comparison, and which notions have no bounds over what they may be,
    and why."""
    if not found.unplaced:
        return ""
    whose = many(found.unplaced, "person whose group is", "people whose group is")
    told = UNPLACED.format(whose, *(("is", "this person") if found.unplaced == 1 else ("are", "they")))
    by_why: dict[str, list[str]] = {}
    for one in found.readings:
        if "NOT_ASSIGNED" in one.note.split():
            notion = found.notion(one.notion)
            by_why.setdefault(notion.unassigned, []).append(_inside(notion.title))
    listed = "; ".join(f"{', '.join(dict.fromkeys(titles))} ({why})" for why, titles in by_why.items())
    return f"{told} {UNBOUNDED.format(listed)}" if listed else told


def notions_text(found: Notions) -> str:
    """Everything for a terminal."""
    adds = "\n".join(f"  {title}: {words}" for title, words in added(found))
    table = _table(found)
    parts = [
        f"{table}\n{ALLOWED}" if table else "", unplaced_text(found), "\n".join(disagreements(found)),
        adds and f"What each adds:\n{adds}",
        _missing(found),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part)


def _table(found: Notions) -> str:
    rows, foot = _rows(found)
    shown = [k for k in range(len(HEAD)) if any(row[k] for row in rows[1:])]
    widths = {k: max(len(row[k]) for row in rows) for k in shown}
    lines = ["  ".join(row[k].ljust(widths[k]) for k in shown).rstrip() for row in rows] if found.readings else []
    return "\n".join([*lines, *foot])


def _rows(found: Notions) -> tuple[list[tuple[str, ...]], list[str]]:
    """Head and rows whose notions bear the marks of their remarks, and each remark once with its mark."""
    remarks = [notes_text(one.note) for one in found.readings]
    marks = {text: f"[{k}]" for k, text in enumerate(dict.fromkeys(filter(None, remarks)), start=1)}
    rows: list[tuple[str, ...]] = [HEAD]
    for one, text in zip(found.readings, remarks, strict=True):
        title, *rest = cells(found, one)
        rows.append((f"{title} {marks[text]}" if text else title, *rest))
    return rows, [f"{mark} {text}" for text, mark in marks.items()]


def _with_notes(found: Notions) -> list[tuple[str, ...]]:
    """The table of a notebook, which wraps: remarks in a column."""
    rows = [(*cells(found, one), notes_text(one.note)) for one in found.readings]
    return [(*HEAD, "note"), *rows]


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
    return Told(found.title, [], {"": _with_notes(alone)}, care, "print(...), .frame(), .people")


def _alone(found: Found) -> Notions:
    readings = tuple(one for one in found.readings if isinstance(one, NotionReading))
    missing = tuple(one for one in found.readings if isinstance(one, NotApplicable))
    return Notions(readings, missing, found.columns)


def notions_told(found: Notions) -> Told:
    """The table for a notebook, who is worse off by which notions, and what could not be read."""
    care = [
        *not_read(found),
        *filter(None, [unplaced_text(found)]),
        ALLOWED,
        "Each row has its own interval; nothing allows for reading many of them at once.",
    ]
    title = f"{len(found.readings):,} readings of notions beside equality of effort"
    return Told(
        title, disagreements(found), {"": _with_notes(found)}, care, "print(...), .frame(), .readings, .missing"
    )
