"""The register names every assumption with its source; tables say nothing twice; equations stay on one line."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from tests.report.test_report import cells, charts_of
from tests.report.worlds import unsettled, world

import equieffort as ee
from equieffort.report.material import Material
from equieffort.report.page import outline
from equieffort.report.tables import Table
from equieffort.report.units import in_units
from equieffort.report.words import plain
from equieffort.words.equations import one_line
from equieffort.world.scm.records import EquationRecord


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return world()


def test_every_assumption_has_its_source(audit):
    rows = cells(outline(audit), "assumptions", "Register")
    found = {(row[0], row[1]): row[2:] for row in rows}
    assert found["group", "role"][:2] == ["sensitive", "declared"]
    assert found["hebrew", "role"][:2] == ["mutable", "declared"]
    assert {row[0] for row in rows if row[1] == "role"} == set(audit.recourse.source.encoding.names)
    r2 = {one.node: one.r2 for one in audit.provenance.fit}
    for node in ("script", "hebrew", "fox", "marks"):
        text, source, fit = found[node, "edges, equation"]
        assert text.startswith(f"{node} = ")
        assert source == "edges declared, equation learned from the data"
        assert fit.startswith(f"R2 {100 * (r2[node]):.1f} %")
    assert found["fox", "limits"] == ["upper limit 2, may only go up", "declared", ""]
    assert found["fox", "cost"][1].endswith("weight 1 up, 2 down declared")
    assert found["script", "cost"][1].endswith("weight 1 assumed by default")
    assert found["job", "limits"] == ["any observed level", "assumed by default", ""]


def test_limits_that_nobody_declared_are_told_apart():
    X = pd.DataFrame({"sex": ["f", "m"] * 40, "pay": np.arange(80.0), "rent": np.arange(80.0)[::-1]})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"pay": ee.Feature("actionable", lower=0)}
    )
    scm = ee.StructuralCausalModel([], nodes=list(X)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ee.audit(ee.LinearScore({"pay": 1.0}, threshold=60.0), X, schema=schema, scm=scm)
    rows = [row[1:4] for row in cells(outline(made), "assumptions", "Register") if row[0] == "pay"]
    assert ["limits", "lower limit 0", "declared"] in rows
    assert ["limits", "at most 79, the observed values", "assumed by default"] in rows
    assert next(row[3] for row in cells(outline(made), "assumptions", "Register") if row[0] == "rent") == (
        "assumed by default"
    )


def equation(coef: dict[str, object], kind: str = "Linear", text: str = "") -> EquationRecord:
    return EquationRecord("fox", tuple(coef), kind, {"intercept": 1.234567, "coef": coef}, text)


def test_the_levels_of_a_category_are_one_term():
    levels = {"ash": -0.25, "birch": 0.5, "cedar": 1234.5}
    assert one_line(equation({"group": levels, "hebrew": 2.0})) == (
        "fox = 1.235 + group (3 levels, -0.25 to 1,234) + 2*hebrew"
    )
    few = one_line(equation({"group": {"birch": 0.5, "cedar": -0.25}}))
    assert few == "fox = 1.235 + 0.5*[group=birch] - 0.25*[group=cedar]"
    assert len(one_line(equation({f"hebrew {k}": 0.5 for k in range(60)}))) < 230
    assert len(one_line(equation({}, "Spline", "fox = " + "x" * 500))) < 230


def test_what_is_the_same_in_every_row_is_said_once():
    table = Table("t", ("person", "group", "n"), [["1", "a", "5"], ["2", "a", "5"], ["3", "a", "7"]], merged=True)
    shown = table.shown()
    assert [[plain(cell) for cell in row] for row in shown.rows] == [["1, 2 (2)", "5"], ["3", "7"]]
    assert plain(shown.same) == "In every row: group a."
    one = Table("t", ("person", "n"), [["1", "0"]])
    assert one.shown().rows == one.rows


def test_counts_by_status_are_those_of_the_audit(audit):
    made = unsettled(audit)
    names = ["not_needed", "optimal", "feasible", "infeasible", "unknown"]
    counts = made.by_group
    frame = made.recourse.frame()
    for row in cells(outline(made), "evidence", "People by"):
        mine = frame[frame["group"] == row[0]]["status"].value_counts()
        assert row[1:] == [str(int(mine.get(name, 0))) for name in names]
    assert set(counts.index) == {row[0] for row in cells(outline(made), "evidence", "People by")}
    few = {row[0]: row[1:] for row in cells(outline(made, 10), "evidence", "People by")}
    assert all(cell in ("hidden", "<10", "0") or int(cell) >= 10 for row in few.values() for cell in row)


def test_an_effort_in_real_units_is_the_change_that_costs_it(audit):
    material = Material.of(audit)
    frame = audit.recourse.frame()
    changed = {n: (frame[f"delta_{n}"].fillna(0) != 0).sum() for n in ("script", "fox", "long")}
    most = max(changed, key=changed.get)
    price = audit.provenance.cost.prices[most][0]
    assert plain(in_units(material, 0.25)) == f"as much as changing {most} by {0.25 / price:.3g}"
    told = plain(in_units(material, 0.25, 0.5))
    assert told == f"as much as changing {most} by {0.25 / price:.3g} (the mean: by {0.5 / price:.3g})"
    assert plain(in_units(material, 50.0)) == f"more than the whole range of {most}"


def test_features_that_nobody_sets_fill_no_table():
    X = pd.DataFrame({"sex": ["f", "m"] * 40, "pay": np.arange(80.0), "rent": np.arange(80.0)[::-1]})
    free = ee.Feature("actionable", lower=-np.inf, upper=np.inf)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"pay": free, "rent": free})
    scm = ee.StructuralCausalModel([], nodes=list(X)).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ee.audit(ee.LinearScore({"pay": 1.0, "rent": 0.0}, threshold=60.0), X, schema=schema, scm=scm)
    section = next(s for s in outline(made) if s.name == "actions")
    assert {row[0] for row in cells([section], "actions", "Cheapest")} == {"pay"}
    assert "Nobody's cheapest action sets rent." in plain(section.blocks[0].words)
    assert all([name for name, _ in chart.given["blocks"]] == ["pay"] for chart in charts_of(section))
