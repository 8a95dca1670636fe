"""The register of assumptions: each role, edge, equation, cost and limit, where it comes from, and how well it fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from equieffort.data.frames import number
from equieffort.errors import many
from equieffort.recourse.limits import limits
from equieffort.recourse.status import LimitKind
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.units import price_words
from equieffort.report.words import MISSING, Cell, Phrase, name_list, share
from equieffort.results.explanation import assumed_spans
from equieffort.words.equations import one_line
from equieffort.words.limits import REPORT, limit_text

DECLARED, LEARNED, DEFAULT = "declared", "learned from the data", "assumed by default"
ASSUMED = (LimitKind.OBSERVED, LimitKind.ZERO_ONE)
"""Limits that nobody declared."""


def register(material: Material) -> Table:
    """Every assumption in one table; features of which the same is assumed share a row."""
    rows = [*_roles(material), *_follows(material), *_costs(material), *_limits(material), *_rules(material)]
    rows += _few(material)
    head = ("feature", "kind", "what is assumed", "where it comes from", "fit")
    return Table("Register of assumptions", head, rows, frozenset({1, 2, 3, 4}), merged=True)


def _roles(material: Material) -> list[list[Cell]]:
    schema, names = material.table.source.schema, material.table.source.encoding.names
    declared = {*schema.features, *schema.protected_columns}
    order = ("sensitive", "actionable", "mutable", "immutable")
    rows = sorted(((schema.role(name), name) for name in names), key=lambda pair: order.index(pair[0]))
    return [
        [material.feature(name), "role", role, DECLARED if name in declared else DEFAULT, ""] for role, name in rows
    ]


def _follows(material: Material) -> Iterator[list[Cell]]:
    """What follows what: the edges are those of the declared graph."""
    made = material.audit.provenance
    fit, texts = {one.node: one for one in made.fit}, {one.node: one for one in made.equations}
    causes: dict[str, list[str]] = {}
    for cause, effect in made.graph.edges:
        causes.setdefault(effect, []).append(cause)
    for node in dict.fromkeys([*texts, *causes]):
        equation = texts.get(node)
        if equation is None or equation.kind is None:
            words = ("follows ", *name_list(map(material.feature, causes.get(node, []))), "; no equation")
            yield [material.feature(node), "edges", words, f"edges {DECLARED}", ""]
            continue
        words, source = (
            material.told(one_line(equation, material.names)),
            LEARNED if node in made.learned_by else DECLARED,
        )
        if node in made.guessed:
            source = f"{DEFAULT} to be linear, {LEARNED}"
        told = f"R2 {share(fit[node].r2)}{', weak' if fit[node].is_poor else ''}" if node in fit else ""
        yield [material.feature(node), "edges, equation", words, f"edges {DECLARED}, equation {source}", told]


def _costs(material: Material) -> Iterator[list[Cell]]:
    schema = material.table.source.schema
    for name in schema.actionable:
        feature = schema.feature(name)
        up, down = feature.weights
        weight = number(up) if up == down else f"{number(up)} up, {number(down)} down"
        words, scale = price_words(material, name)
        of_weight = DEFAULT if up == down == 1 else DECLARED
        also = [key for key, told in (("steps", feature.steps), ("prices", feature.prices)) if told]
        more = f", {' and '.join(also)} {DECLARED}" if also else ""
        yield [material.feature(name), "cost", (Phrase(words),), f"{scale}weight {weight} {of_weight}{more}", ""]


def _limits(material: Material) -> Iterator[list[Cell]]:
    schema = material.table.source.schema
    spans, readers = assumed_spans(schema.assumed), replace(REPORT, labels=material.names)
    for name in material.table.source.encoding.names:
        feature = schema.feature(name)
        declared = [limit_text(one, name, readers) for one in limits(feature) if one.kind not in ASSUMED]
        if declared:
            yield [material.feature(name), "limits", (Phrase(", ".join(declared)),), DECLARED, ""]
        if name in spans:
            yield [material.feature(name), "limits", f"{spans[name]}, the observed values", DEFAULT, ""]
        elif name in schema.zero_one:
            yield [material.feature(name), "limits", "0 or 1", DEFAULT, ""]
        elif not declared and feature.role == "actionable":
            is_free = material.table.source.encoding[name].is_category
            text, source = ("any observed level", DEFAULT) if is_free else ("none", DECLARED)
            yield [material.feature(name), "limits", text, source, ""]


def _rules(material: Material) -> list[list[Cell]]:
    schema = material.table.source.schema
    return [
        [
            name_list(map(material.feature, link.names)),
            "rule",
            (Phrase(schema.told_rules[str(link)]),),
            DECLARED,
            "",
        ]
        for link in schema.constraints
    ]


def _few(material: Material) -> list[list[Cell]]:
    most = material.table.source.schema.max_actions
    if most is None:
        return []
    return [["", "limits", f"at most {many(most, 'feature', 'features')} changed at once", DECLARED, ""]]


def equations(material: Material) -> Table:
    """The structural equations as they are, whatever their length."""
    made = material.audit.provenance
    fit = {one.node: one for one in made.fit}
    rows: list[list[Cell]] = []
    for equation in made.equations:
        node = equation.node
        remark = f"learned by {made.learned_by[node]}" if node in made.learned_by else ""
        if node in fit and fit[node].is_poor:
            remark = f"weak: explains almost nothing{'; ' if remark else ''}{remark}"
        given = MISSING if equation.kind is None else share(fit[node].r2) if node in fit else "given"
        rows.append([material.told(equation.text), given, (Phrase(remark),)])
    if not rows:
        rows.append(["none: no feature follows another", "", ""])
    return Table("Structural equations", ("equation", "R2: variance explained", "remark"), rows, frozenset({2}))
