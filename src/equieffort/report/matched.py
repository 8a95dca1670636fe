"""Matched people: what is left of the inequality among refused people who are alike."""

from __future__ import annotations

from equieffort.effort.matching import MatchedComparison
from equieffort.effort.matching.balance import LARGE
from equieffort.report.balance import drawn_rows, shifts_of
from equieffort.report.blocks import Block, Chart, Section, Split, Text
from equieffort.report.material import Material
from equieffort.report.tables import Table
from equieffort.report.words import Name
from equieffort.results.matched import Matched
from equieffort.words.matching import balance_cells, measure_cells, method_text, set_text

KEPT_BACK = "Matched people are not shown in a report that keeps small counts back."


def matched(material: Material) -> Section | None:
    """What the audit was asked to match; None where that is nothing."""
    asked = material.audit.provenance.matching
    if asked is None:
        return None
    if material.guard.is_on:
        return Section("matched", "People who are alike, matched", [Text(KEPT_BACK)])
    found = material.audit.matched(asked)
    blocks: list[Block] = [
        Text(
            "Do the groups differ in effort because the people in them differ? Here refused people are compared with "
            f"refused people of the other group who are like them: {method_text(asked)}. Who has nobody like them is "
            "left out, and none of this enters the verdict."
        )
    ]
    for one in found.comparisons:
        blocks += _comparison(material, found, one)
    return Section("matched", "People who are alike, matched", blocks)


def _comparison(material: Material, found: Matched, one: MatchedComparison) -> list[Block]:
    mine, theirs = (str(material.group(label)) for label in (one.group, one.against))
    head, *rows = measure_cells(one, found.level)
    words = frozenset({0, *([head.index("note")] if "note" in head else [])})
    name = f"{mine} against {theirs}"
    table = Table(f"Effort among matched people: {name}", tuple(head), [list(row) for row in rows], words)
    b_head, *b_rows = balance_cells(one.balance)
    balance = Table(f"Balance: {name}", tuple(b_head), [[Name(row[0]), *row[1:]] for row in b_rows], frozenset({0}))
    drawn = {"shifts": shifts_of(drawn_rows(one.balance)), "large": LARGE}
    chart = Chart(
        "balance", f"balance-{found.comparisons.index(one)}", _title(one, name),
        "Standardised differences, a row a feature.", balance, drawn,
    )  # fmt: skip
    return [Split([Text(set_text(found.matching, one, mine, theirs)), table], [chart])]


def _title(one: MatchedComparison, name: str) -> str:
    if one.sets.is_empty:
        return f"Nobody could be matched: {name}"
    left = one.most_apart
    if left <= LARGE:
        return f"Matched people are alike: no feature differs by more than {LARGE:g} standard deviations"
    return f"Matched people still differ by up to {left:.2f} standard deviations"
