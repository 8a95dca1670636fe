"""The register of assumptions: each role, edge, equation, cost and limit, where it comes from, and how well it fits."""

from __future__ import annotations

import re

from equieffort.explain import assumed_spans
from equieffort.frames import number
from equieffort.problem import limits
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.units import price_words
from equieffort.report.words import MISSING, Cell, Name, Phrase, Words, name_list, share
from equieffort.scm.diagnostics import POOR_R2

DECLARED, LEARNED, DEFAULT = "declared", "learned from the data", "assumed by default"
FOLDED, LONGEST = 2, 220
_LONG_NUMBER = re.compile(r"(?<![\w.=\[])\d[\d,]*\.\d{3,}(?![\w.])")
"""Levels of a category that an equation shows one by one; and letters that one line may have."""


def register(material: Material) -> Table:
    """Every assumption in one table; features of which the same is assumed share a row."""
    rows = [*_roles(material), *_follows(material), *_costs(material), *_limits(material), *_rules(material)]
    head = ("feature", "kind", "what is assumed", "where it comes from", "fit")
    return Table("Register of assumptions", head, rows, frozenset({1, 2, 3, 4}), merged=True)


def _roles(material: Material) -> list[list[Cell]]:
    schema, names = material.table.detail.schema, material.table.detail.encoding.names
    declared = {*schema.features, *schema.protected_columns}
    order = ("sensitive", "actionable", "mutable", "immutable")
    rows = sorted(((schema.role(name), name) for name in names), key=lambda pair: order.index(pair[0]))
    return [[Name(name), "role", role, DECLARED if name in declared else DEFAULT, ""] for role, name in rows]


def _follows(material: Material) -> list[list[Cell]]:
    """What follows what: the edges are those of the declared graph."""
    about = material.audit.about
    fit = {str(row["node"]): row.get("r2") for row in about.get("fit") or []}
    learned = about.get("learned_by") or {}
    causes: dict[str, list[str]] = {}
    for cause, effect in (about.get("graph") or {}).get("edges") or []:
        causes.setdefault(str(effect), []).append(str(cause))
    texts = _by_node(material)
    rows: list[list[Cell]] = []
    for node in dict.fromkeys([*texts, *causes]):
        text = texts.get(node, f"{node}: no equation")
        if text == f"{node}: no equation":
            words: Words = ("follows ", *name_list(causes.get(node, [])), "; no equation")
            rows.append([Name(node), "edges", words, f"edges {DECLARED}", ""])
            continue
        source = LEARNED if node in learned else DECLARED
        r2 = fit.get(node)
        weak = r2 is not None and float(r2) < POOR_R2
        told = "" if r2 is None else f"R2 {share(float(r2))}{', weak' if weak else ''}"
        rows.append(
            [
                Name(node),
                "edges, equation",
                material.told(folded(material, text)),
                f"edges {DECLARED}, equation {source}",
                told,
            ]
        )
    return rows


def _by_node(material: Material) -> dict[str, str]:
    """Equations by the feature they are for."""
    nodes = sorted(map(str, (material.audit.about.get("graph") or {}).get("nodes") or []), key=len, reverse=True)
    found = {}
    for text in material.audit.about.get("equations") or []:
        node = next((n for n in nodes if text.startswith((f"{n} = ", f"{n}: "))), text.split(" ")[0])
        found[node] = text
    return found


def folded(material: Material, equation: str) -> str:
    """An equation in one line: the many levels of a category are one term."""
    for column in material.table.detail.encoding.columns:
        levels = "|".join(re.escape(str(level)) for level in column.levels)
        if not levels:
            continue
        term = re.compile(rf" ([+-]) ([\d.,e+-]+)\*\[{re.escape(column.name)}=(?:{levels})\]")
        found = term.findall(equation)
        if len(found) > FOLDED:
            values = [float(f"{sign}{size.replace(',', '')}") for sign, size in found]
            low, high = (number(round(value, 4)) for value in (min(values), max(values)))
            span = f" + {column.name} ({len(found)} levels, {low} to {high})"
            equation = term.sub(lambda _, span=span: span, equation, count=1)  # type: ignore[misc]
            equation = term.sub("", equation)
    equation = _LONG_NUMBER.sub(lambda found: number(float(f"{float(found[0].replace(',', '')):.4g}")), equation)
    if len(equation) <= LONGEST:
        return equation
    ends = [found.start() for found in re.finditer(r" [+-] ", equation) if found.start() <= LONGEST]
    return equation[: ends[-1] if ends else LONGEST].rstrip() + " + …"


def _costs(material: Material) -> list[list[Cell]]:
    schema = material.table.detail.schema
    rows: list[list[Cell]] = []
    for name in schema.actionable:
        up, down = schema.feature(name).weights
        weight = number(up) if up == down else f"{number(up)} up, {number(down)} down"
        words, scale = price_words(material, name)
        of_weight = DEFAULT if up == down == 1 else DECLARED
        rows.append([Name(name), "cost", words, f"{scale}weight {weight} {of_weight}", ""])
    return rows


def _limits(material: Material) -> list[list[Cell]]:
    schema = material.table.detail.schema
    spans = assumed_spans(schema.assumed)
    rows: list[list[Cell]] = []
    for name in material.table.detail.encoding.names:
        feature = schema.feature(name)
        observed = [limit.text for limit in limits(feature)]
        declared = [
            text for text in observed if not text.startswith(("smallest observed", "largest observed", "it is 0"))
        ]
        if declared:
            rows.append([Name(name), "limits", ", ".join(declared), DECLARED, ""])
        if name in spans:
            rows.append([Name(name), "limits", f"{spans[name]}, the observed values", DEFAULT, ""])
        elif name in schema.zero_one:
            rows.append([Name(name), "limits", "0 or 1", DEFAULT, ""])
        elif not declared and feature.role == "actionable":
            free = material.table.detail.encoding[name].is_category
            rows.append(
                [Name(name), "limits", "any observed level" if free else "none", DEFAULT if free else DECLARED, ""]
            )
    return rows


def _rules(material: Material) -> list[list[Cell]]:
    schema = material.table.detail.schema
    return [[name_list(link.names), "rule", (Phrase(str(link)),), DECLARED, ""] for link in schema.links]


def equations(material: Material) -> Table:
    """The structural equations as they are, whatever their length."""
    about = material.audit.about
    fit = {str(row["node"]): row for row in about.get("fit") or []}
    learned = about.get("learned_by") or {}
    rows: list[list[Cell]] = []
    for node, equation in _by_node(material).items():
        known = fit[node].get("r2") if node in fit else None
        r2 = float("nan") if known is None else float(known)
        remark = f"learned by {learned[node]}" if node in learned else ""
        if r2 < POOR_R2:
            remark = f"weak: explains almost nothing{'; ' if remark else ''}{remark}"
        given = "given" if node not in fit else share(r2)
        rows.append(
            [material.told(equation), MISSING if equation.endswith(": no equation") else given, (Phrase(remark),)]
        )
    if not rows:
        rows.append(["none: no feature follows another", "", ""])
    return Table("Structural equations", ("equation", "R2: variance explained", "remark"), rows, frozenset({2}))
