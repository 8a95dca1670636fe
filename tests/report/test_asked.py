"""Efforts split by counterfactual fairness, and group routes, in the report's section of other notions."""

from __future__ import annotations

import re
import warnings

import pytest
from tests.notions.route_worlds import world

import equieffort as ee
from equieffort.report import render
from equieffort.report.blocks import Chart, Table
from equieffort.report.page import outline
from equieffort.report.words import plain

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return world(200)[0].with_notions()


def blocks_of(audit: ee.Audit, kind: type) -> list:
    (section,) = (one for one in outline(audit) if one.name == "notions")
    return [block for block in section.walk() if isinstance(block, kind)]


def test_boxes_are_the_quartiles_of_those_with_a_route(audit):
    (chart,) = (one for one in blocks_of(audit, Chart) if one.kind == "boxes")
    found = audit.counterfactual_fairness()
    people = found.audited.table.frame()
    boxes = {box.label: box for box in chart.given["boxes"]}
    for group in "abc":
        stays = found.stays & (people["group"] == group).to_numpy() & people["cost"].gt(0).to_numpy()
        efforts = people["cost"][stays]
        label = f"group = {group}, refused in every group"
        assert boxes[label].numbers == pytest.approx(efforts.quantile([0, 0.25, 0.5, 0.75, 1]).tolist())
        assert boxes[label].text == f"n = {len(efforts)}"
    assert chart.title.startswith("Approved had they belonged to another group: 0.0 % of the refused with group = a")


def test_routes_are_a_table_and_a_picture_a_group(audit):
    (table,) = (one for one in blocks_of(audit, Table) if plain(one.caption) == "Routes chosen for each group")
    found = audit.group_routes()
    front = found.front.query("chosen_for == group and assignment == 'menu' and is_best")
    assert [[plain(cell) for cell in row[:3]] for row in table.rows] == [
        [row["group"], str(row["n_routes"]), f"{100 * row['effectiveness']:.1f} %"] for _, row in front.iterrows()
    ]
    charts = [one for one in blocks_of(audit, Chart) if one.kind == "plane"]
    assert len(charts) == 3
    # One scale, so that groups can be compared.
    assert len({chart.given["plane"].x_ends for chart in charts}) == 1
    page = render(audit)
    assert len(re.findall(r'<svg id="chart-routes-\d"', page)) == 3
    assert '<svg id="chart-fairness"' in page


def test_an_audit_read_from_its_file_shows_the_same(audit, tmp_path):
    audit.save(tmp_path / "a.audit")
    assert render(ee.load(tmp_path / "a.audit")) == render(audit)


def test_nothing_of_it_where_small_counts_are_kept_back(audit):
    page = render(audit, suppress_below=10)
    assert "chart-fairness" not in page
    assert "chart-routes" not in page
