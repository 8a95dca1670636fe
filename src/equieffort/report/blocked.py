"""Who has no route to approval and which limits are in the way; and of whom that is not known."""

from __future__ import annotations

from collections import Counter

import numpy as np

from equieffort.recourse.status import Status
from equieffort.report.blocks import Block, Chart, Section, Split, Text
from equieffort.report.material import Material, not_drawn
from equieffort.report.obstacles import binding_limits, unknown_because
from equieffort.report.svg import BOLD, WIDTH, Bar, cut, width_of
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Name, Words, count, plain

MOST_REASONS = 12
"""Why nothing is known may be said differently of each person; so many ways are listed."""
MOST_LIMITS = 8


def _heading(limit: Words) -> str:
    """The limit as a heading: a long name gives way to what limits it."""
    first, *rest = limit
    if not rest:
        return first
    return cut(first, WIDTH - width_of("".join(rest), BOLD), BOLD) + "".join(rest)


def no_recourse(material: Material) -> Section:
    """Who has no action and which limits stand in the way; and of whom that is not known."""
    blocks = _proven(material) + _unknown(material)
    said = Text("Everybody who was refused has a route to approval.")
    return Section("no-recourse", "People without a route to approval, and what blocks them", blocks or [said])


def _proven(material: Material) -> list[Block]:
    guard, table = material.guard, material.table
    seen = {label: guard.seen(stats).parts for label, stats in material.stats.items()}
    labels = [material.labels[code] for code in material.order]
    counted: dict[Words, Counter[str]] = {}
    for row in np.flatnonzero(table.status == Status.INFEASIBLE):
        for limit in dict.fromkeys(binding_limits(material.reasons[row])):
            counted.setdefault(limit, Counter())[material.labels[table.groups.codes[row]]] += 1
    if not counted:
        return []
    ranked = sorted(counted.items(), key=lambda item: (-sum(item[1].values()), plain(item[0])))
    rows = [_counted(material, "all without a route", Status.INFEASIBLE)]
    rows += [[limit, *(guard.count(found[g], seen=seen[g]) for g in labels)] for limit, found in ranked]
    caption = "Refused people without a route, by the limit that stops them"
    behind = Table(caption, ("limit", *map(Name, labels)), rows, is_whole=True)
    blocks = []
    for limit, found in ranked[:MOST_LIMITS]:
        bars = [
            Bar(
                material.name(g), found[g] if seen[g] and not guard.hides(found[g]) else np.nan,
                guard.count(found[g], seen=seen[g]), material.look(code),
            )
            for code, g in zip(material.order, labels, strict=True)
            if code in material.drawn
        ]  # fmt: skip
        blocks.append((_heading(limit), bars))
    described = "; ".join(f"{name}: " + ", ".join(f"{bar.label} {bar.text}" for bar in bars) for name, bars in blocks)
    text = (
        "No allowed action turns the decision for these people: proven, not merely not found. A person can be stopped "
        f"by several limits at once and is then counted under each.{not_drawn(material)}"
    )
    first = ranked[0][0]
    named = f"Most often in the way: {plain(first)}"
    title = named if len(first) > 1 else f"Most often: {plain(first).removeprefix('no limit: ')}"
    chart = Chart("bars", "limits", title, f"{described}.", behind, {"blocks": blocks}, True)
    return [Split([Text(text)], [chart])]


def _unknown(material: Material) -> list[Block]:
    """People of whom nothing is known, by why; kept apart from those who certainly have no way."""
    table = material.table
    unknown = np.flatnonzero(table.status == Status.UNKNOWN)
    if not len(unknown):
        return []
    labels = [material.labels[code] for code in material.order]
    rows = [_counted(material, "all of whom it is not known", Status.UNKNOWN)]
    if not material.guard.is_on:
        # A reason may tell of one person, and the reasons add up to the count above.
        counted: dict[str, Counter[str]] = {}
        for row in unknown:
            why = unknown_because(material.reasons[row])
            counted.setdefault(why, Counter())[material.labels[table.groups.codes[row]]] += 1
        ranked = sorted(counted.items(), key=lambda item: (-item[1].total(), item[0]))
        rest = sum((found for _, found in ranked[MOST_REASONS:]), Counter[str]())
        rows += [[material.told(why), *(count(found[g]) for g in labels)] for why, found in ranked[:MOST_REASONS]]
        if rest:
            rows.append([f"{count(len(ranked) - MOST_REASONS)} other reasons", *(count(rest[g]) for g in labels)])
    return [
        Text("Of these people it is not known whether they have a route: none was found, and none excluded."),
        Table("Refused people of whom nothing is known, by why", ("why", *map(Name, labels)), rows, is_whole=True),
    ]


def _counted(material: Material, name: str, status: Status) -> list[Cell]:
    """A row of how many people of each group have a status."""
    found = [material.stats[material.labels[code]] for code in material.order]
    return [name, *(material.guard.count(s.count(status), seen=material.guard.seen(s).parts) for s in found)]
