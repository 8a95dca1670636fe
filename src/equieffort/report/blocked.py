"""Who has no route to approval and which limits are in the way; and of whom that is not known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from equieffort.recourse.status import Blocking, Infeasibility, Reason, Status
from equieffort.report.blocks import Block, Chart, Section, Split, Text
from equieffort.report.material import Material, not_drawn
from equieffort.report.svg import Bar, Bars, bars_text
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Name, Phrase, Words, count, plain
from equieffort.words.limits import REPORT, obstacle_text
from equieffort.words.reasons import told
from equieffort.world.labels import NO_LABELS, Labels

MOST_REASONS = 12
"""Why nothing is known may be said differently of each person; so many ways are listed."""
MOST_LIMITS = 8
NOTHING_TURNS = "nothing they could set turns the decision"
BEYOND: Words = (f"no limit: {NOTHING_TURNS}",)


def binding_limits(
    reason: Reason | None, labels: Labels = NO_LABELS, rules: Mapping[str, str] | None = None
) -> list[Words]:
    """The limits that a reason names, whoever solved it, without the numbers of the person."""
    if not isinstance(reason, Infeasibility):
        return []
    if reason.blocking == Blocking.BEYOND:
        return [BEYOND]
    if reason.obstacles:
        kinds = dict.fromkeys(one.kind for one in reason.obstacles)
        readers = replace(REPORT, labels=labels, rules=rules or {})
        texts = [(kind.feature, Phrase(obstacle_text(kind, readers))) for kind in kinds]
        return [(Name(labels.feature(feature)), ": ", text) if feature else (text,) for feature, text in texts]
    if reason.blocking == Blocking.CLOSEST and reason.reachable == 0:
        return [("no action moves the score",)]
    return [("no single limit",)]


def no_recourse(material: Material) -> Section:
    """Who has no action and which limits stand in the way; and of whom that is not known."""
    blocks = _proven(material) + _unknown(material)
    said = Text("Everybody who was refused has a route to approval.")
    return Section("no-recourse", "People without a route to approval, and what blocks them", blocks or [said])


def _proven(material: Material) -> list[Block]:
    guard, table = material.guard, material.table
    counted: dict[Words, Counter[str]] = {}
    rules = table.source.schema.told_rules
    for row in np.flatnonzero(table.status == Status.INFEASIBLE):
        for limit in dict.fromkeys(binding_limits(material.reasons[row], material.names, rules)):
            counted.setdefault(limit, Counter())[material.labels[table.groups.codes[row]]] += 1
    if not counted:
        return []
    ranked = sorted(counted.items(), key=lambda item: (-sum(item[1].values()), plain(item[0])))
    rows = [_counted(material, "all without a route", Status.INFEASIBLE)]
    blocks: Bars = []
    for limit, found in ranked:
        texts = [guard.count(found[g.label], seen=g.seen.parts) for g in material.groups]
        rows.append([limit, *texts])
        bars = []
        for group, text in zip(material.groups, texts, strict=True):
            n = found[group.label]
            if group.is_drawn:
                is_told = group.seen.parts and not guard.hides(n)
                bars.append(Bar(group.name, n if is_told else np.nan, text, group.look))
        blocks.append((plain(limit), bars))
    caption = "Refused people without a route, by the limit that stops them"
    behind = Table(caption, ("limit", *(material.group(g.label) for g in material.groups)), rows, is_whole=True)
    said = (
        "No allowed action turns the decision for these people: proven, not merely not found. A person can be stopped "
        f"by several limits at once and is then counted under each.{not_drawn(material)}"
    )
    first = ranked[0][0]
    named = f"Most often in the way: {plain(first)}"
    title = named if len(first) > 1 else f"Most often: {NOTHING_TURNS if first == BEYOND else plain(first)}"
    drawn = blocks[:MOST_LIMITS]
    chart = Chart("bars", "limits", title, f"{bars_text(drawn)}.", behind, {"blocks": drawn}, True)
    return [Split([Text(said)], [chart])]


def _unknown(material: Material) -> list[Block]:
    """People of whom nothing is known, by why; kept apart from those who certainly have no way."""
    table = material.table
    unknown = np.flatnonzero(table.status == Status.UNKNOWN)
    if not len(unknown):
        return []
    labels = [group.label for group in material.groups]
    rows = [_counted(material, "all of whom it is not known", Status.UNKNOWN)]
    if not material.guard.is_on:
        # A reason may tell of one person, and the reasons add up to the count above.
        counted: dict[str, Counter[str]] = {}
        for row in unknown:
            reason = material.reasons[row]
            nothing = "Nothing was found and nothing excluded."
            why = nothing if reason is None else told(reason, "report", material.names, table.source.schema.told_rules)
            counted.setdefault(why, Counter())[material.labels[table.groups.codes[row]]] += 1
        ranked = sorted(counted.items(), key=lambda item: (-item[1].total(), item[0]))
        rest = sum((found for _, found in ranked[MOST_REASONS:]), Counter[str]())
        rows += [[material.told(why), *(count(found[g]) for g in labels)] for why, found in ranked[:MOST_REASONS]]
        if rest:
            rows.append([f"{count(len(ranked) - MOST_REASONS)} other reasons", *(count(rest[g]) for g in labels)])
    return [
        Text("Of these people it is not known whether they have a route: none was found, and none excluded."),
        Table(
            "Refused people of whom nothing is known, by why",
            ("why", *map(material.group, labels)),
            rows,
            is_whole=True,
        ),
    ]


def _counted(material: Material, name: str, status: Status) -> list[Cell]:
    """A row of how many people of each group have a status."""
    return [name, *(material.guard.count(g.stats.count(status), seen=g.seen.parts) for g in material.groups)]
