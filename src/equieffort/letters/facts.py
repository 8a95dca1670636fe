"""What a letter holds, as plain data: everything a template sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from equieffort.data.frames import number
from equieffort.recourse.table import RecourseTable
from equieffort.results.explanation import Explanation, Step, written
from equieffort.results.provenance import LetterTexts
from equieffort.words.letters import (
    NO_OTHER,
    OTHER_UNKNOWN,
    REVIEW,
    TITLES,
    Answer,
    about_surrogate,
    notes,
    route_title,
    summary,
    way_note,
)

NOT_RECORDED = "not recorded"
FURTHER = {"": "", "none": NO_OTHER, "unknown": OTHER_UNKNOWN}


@dataclass(frozen=True)
class Change:
    """A feature and its values, as they are shown."""

    name: str
    before: str
    after: str
    moved: str
    """The difference with its sign; empty where there is none to tell, as of levels."""


@dataclass(frozen=True)
class Route:
    """Changes that together lead to approval."""

    number: int
    title: str
    changes: tuple[Change, ...]
    """What the person changes."""
    holds: tuple[Change, ...]
    """What the person keeps although its causes change."""
    follows: tuple[Change, ...]
    """What is expected to follow."""
    note: str
    """What is known of a further route; empty of the first."""


@dataclass(frozen=True)
class Letter:
    """One letter."""

    person: str
    """The label of the person."""
    answer: Answer
    """"route", "none" or "unknown"."""
    title: str
    summary: tuple[str, ...]
    warning: str
    """That it is about a surrogate and must not be sent; empty where it is about the system itself."""
    routes: tuple[Route, ...]
    """The one of least effort first; empty without any."""
    further: str
    """Whether there is another; empty where nobody asked."""
    reason: str
    """What stands in the way, or why nothing is known."""
    fixed: tuple[str, ...]
    """Features that no route may change, but those that are protected, of which a letter says nothing."""
    unchanged: tuple[tuple[str, str], ...]
    """Features that every route leaves as they are, with their values; without a route all that may change."""
    notes: tuple[str, ...]
    sender: tuple[str, ...]
    """A line each."""
    review: tuple[str, ...]
    """A paragraph each."""


def letter_of(table: RecourseTable, row: int, found: Explanation, texts: LetterTexts) -> Letter:
    """The letter to one person."""
    answer: Answer = "route" if found.actions else "none" if found.status == "infeasible" else "unknown"
    fixed, unchanged = _kept(table, row, {step.feature for way in found.ways for step in way.steps if step.is_seen})
    said = summary(
        answer,
        actions=len(found.actions),
        is_proven=found.status == "optimal",
        most=found.max_actions,
        surrogate=found.surrogate,
    )
    return Letter(
        str(found.person), answer, TITLES[answer], tuple(said),
        about_surrogate(found.surrogate, found.recorded),
        tuple(_route(n, way, len(found.ways)) for n, way in enumerate(found.ways, start=1)),
        FURTHER[found.further], found.reason, fixed, unchanged, tuple(notes(answer)),
        tuple(line.strip() for line in texts.sender.splitlines() if line.strip()),
        _paragraphs(texts.review or REVIEW),
    )  # fmt: skip


def _paragraphs(text: str) -> tuple[str, ...]:
    parts: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            parts[-1].append(line.strip())
        elif parts[-1]:
            parts.append([])
    return tuple(" ".join(part) for part in parts if part)


def _route(n: int, way: Explanation, of: int) -> Route:
    kinds = {
        kind: tuple(_change(s) for s in way.steps if s.kind == kind and s.is_seen)
        for kind in ("set", "hold", "follows")
    }
    title = route_title(n, of, way.status)
    return Route(n, title, kinds["set"], kinds["hold"], kinds["follows"], "" if n == 1 else way_note(way.status))


def _change(step: Step) -> Change:
    before, after = step.told(step.before), step.reached
    is_named = isinstance(step.before, str | bool) or before != written(step.before)
    moved = 0.0 if is_named else step.shown - step.before
    return Change(step.name, before, after, "" if not moved else f"+{number(moved)}" if moved > 0 else number(moved))


def _kept(table: RecourseTable, row: int, moved: set[str]) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """What may not change, and what may but stays; protected columns are nobody's business here."""
    schema, columns = table.source.schema, table.source.encoding.columns
    names, facts = schema.names, table.source.facts(np.array([row]))[0]
    fixed, unchanged = [], []
    for column, fact in zip(columns, facts, strict=True):
        if column.name in schema.protected_columns:
            continue
        if schema.feature(column.name).role == "immutable":
            fixed.append(names.feature(column.name))
        elif column.name not in moved:
            value = column.decode(np.array([fact]))[0] if np.isfinite(fact) else None
            told = NOT_RECORDED if value is None else names.level(column.name, value) or written(value)
            unchanged.append((names.feature(column.name), told))
    return tuple(fixed), tuple(unchanged)


def kinds_first(table: RecourseTable, rows: Sequence[int]) -> list[int]:
    """Of each status the first person: whoever renders these has met every kind of letter."""
    first: dict[int, int] = {}
    for row in rows:
        first.setdefault(int(table.status[row]), row)
    return list(first.values())
