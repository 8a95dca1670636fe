"""The causal graph as a picture: names are whole, and boxes do not meet."""

from __future__ import annotations

import re

from tests.report.worlds import LABELS, loans

from equieffort.report.layers import graph_chart, graph_width
from equieffort.report.page import outline

NAMES = [f"feature number {k} with a rather long name" for k in range(6)]


def test_long_names_are_broken_into_lines_and_never_cut():
    nodes = [(name, "mutable") for name in NAMES]
    edges = [(NAMES[0], NAMES[1]), (NAMES[1], NAMES[2]), (NAMES[0], NAMES[3])]
    svg = str(graph_chart("g", "title", "described", nodes, edges, graph_width(nodes, edges)))
    assert "\u2026" not in svg
    shown = " ".join(re.findall(r"<text[^>]*>([^<]*)</text>", svg)).replace(" mutable", "")
    for name in NAMES:
        assert name in shown
    boxes = [
        tuple(map(float, one))
        for one in re.findall(r'x="([\d.-]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)" rx', svg)
    ]
    assert len(boxes) == len(NAMES)
    for k, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, tall in boxes[:k]:
            assert x >= left + wide or left >= x + width or y >= top + tall or top >= y + height


def test_where_many_features_stand_still_the_graph_shows_what_moves():
    (chart,) = (
        block for section in outline(loans()) for block in section.walk() if getattr(block, "kind", "") == "graph"
    )
    drawn = [name for name, _ in chart.given["nodes"]]
    assert drawn == [LABELS["features"]["loan"], LABELS["features"]["ratio"], LABELS["features"]["debt"], "income"]
    assert chart.remark.startswith("Not drawn: 15 features that must not move")
    assert len(chart.table.rows) == 19, "the table behind it has all of them"
