"""What the numbers rest on: the graph, and a register of every assumption with where it comes from and how it fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from equieffort.errors import CODES
from equieffort.recourse.table import starts_outside
from equieffort.report.answer import assumed
from equieffort.report.blocks import Block, Chart, Items, Section, Split, Text
from equieffort.report.layers import graph_width
from equieffort.report.material import Material
from equieffort.report.register import register
from equieffort.report.svg import WIDTH
from equieffort.report.tables import Table
from equieffort.report.words import Cell, Phrase, Words, name_list
from equieffort.words.limits import REPORT, limit_text

BESIDE, MOST_STILL = 640.0, 4
"""A graph of at most this width stands beside the text; of features that no edge mentions and nobody may change, so
many are drawn, and none where there are more."""


def assumptions(material: Material) -> Section:
    """What was assumed, where it comes from, and where it is weak."""
    text = Text(
        "Every number here holds under these assumptions: that the graph is right and leaves out no common cause, that "
        "the equations describe how features follow, and that the costs and limits are those that people face. An "
        "arrow says that a change of the upper feature moves the lower one. Actionable features can be set by a "
        "person; mutable ones only follow their causes; immutable and sensitive ones must not move."
    )
    chart = graph(material)
    before: list[Block] = [*weak(material), *assumed(material)]
    width = chart.given["width"]
    beside = Split([text, *before], [chart], width > WIDTH)
    top: list[Block] = [beside] if width <= BESIDE else [text, *before, chart]
    return Section("assumptions", "Assumptions", [*top, register(material), *outside(material)])


def graph(material: Material) -> Chart:
    """The causal graph with the role of every feature."""
    schema, encoding = material.table.source.schema, material.table.source.encoding
    known = material.audit.provenance.graph
    names = [*known.nodes, *(name for name in encoding.names if name not in known.nodes)]
    edges = list(known.edges)
    causes = {name: [cause for cause, effect in edges if effect == name] for name in names}
    rows: list[list[Cell]] = [
        [material.feature(n), schema.role(n), name_list(map(material.feature, causes[n])) or "none"] for n in names
    ]
    table = Table(
        "Features, their roles and their direct causes", ("feature", "role", "direct causes"), rows, frozenset({1, 2})
    )
    shown = [(str(material.feature(cause)), str(material.feature(effect))) for cause, effect in edges]
    drawn = [f"{cause} causes {effect}" for cause, effect in shown]
    ends = {end for edge in edges for end in edge}
    still = [name for name in names if name not in ends and schema.role(name) in ("immutable", "sensitive")]
    left_out = set(still) if len(still) > MOST_STILL else set()
    nodes = [(str(material.feature(name)), schema.role(name)) for name in names if name not in left_out]
    given = {"nodes": nodes, "edges": shown}
    rest = f"Not drawn: {len(left_out)} features that must not move, without causes and effects" if left_out else ""
    return Chart(
        "graph", "graph", _graph_title(material, edges), "; ".join(drawn) + "." if drawn else "No edges.", table,
        given | {"width": graph_width(**given)},
        remark=rest,
    )  # fmt: skip


def _graph_title(material: Material, edges: list[tuple[str, str]]) -> str:
    """What to see: how many features follow what can be set."""
    acts = set(material.table.source.schema.actionable)
    follow = list(dict.fromkeys(str(material.feature(effect)) for cause, effect in edges if cause in acts))
    if not follow:
        return "The assumed causal graph: nothing follows what can be set"
    named = ", ".join(follow[:3]) + (f" and {len(follow) - 3} more" if len(follow) > 3 else "")
    return f"The assumed causal graph: {named} follow{'s' if len(follow) == 1 else ''} what can be set"


def weak(material: Material) -> list[Block]:
    """What was warned about."""
    # Asked for here, so that what they warn about is known.
    material.subgroups, material.near  # noqa: B018
    seen = dict.fromkeys((w.code, w.what, w.fix) for w in (*material.audit.warnings, *material.extra))
    if not seen:
        return [Text("No warnings were raised.")]
    items: list[tuple[Cell, Cell]] = []
    for code, what, fix in seen:
        # A warning may name a person or a small count.
        words: Words = (
            (CODES.get(code, code),) if material.guard.is_on else (*material.told(what), " ", CODES.get(code, ""))
        )
        items.append(((*words, f" ({code})"), (Phrase(fix),)))
    return [Text(f"Read with care: {len(items)} warning{'' if len(items) == 1 else 's'}.", "warning"), Items(items)]


def outside(material: Material) -> list[Block]:
    """Who starts outside a declared limit, by the limit."""
    table, guard = material.table, material.guard
    outside = table.source.outside()
    if not outside.any():
        return []
    members = [group.members for group in material.groups]
    found = starts_outside(table.source.schema, table.source.encoding, material.facts)
    named = np.zeros(len(table), dtype=bool)
    rows: list[list[Cell]] = []
    for name, limit, who in found:
        named |= who
        seen = [not guard.hides(int((mine & ~who).sum())) for mine in members]
        counts = [guard.count(int((mine & who).sum()), seen=s) for mine, s in zip(members, seen, strict=True)]
        rows.append([material.feature(name), limit_text(limit, name, replace(REPORT, labels=material.names)), *counts])
    if (rest := outside & ~named).any():
        rows.append(
            ["several at once", "a rule between features", *(guard.count(int((m & rest).sum())) for m in members)]
        )
    caption = "People who start outside a declared limit; for them it is widened to where they are"
    return [
        Table(
            caption,
            ("feature", "limit", *(material.group(group.label) for group in material.groups)),
            rows,
            frozenset({1}),
            is_whole=True,
        )
    ]
