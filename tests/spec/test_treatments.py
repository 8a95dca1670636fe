"""Treatments of Huang's equality of effort in a spec: grids, and what is refused with its place."""

from __future__ import annotations

import pytest

import equieffort as ee
from equieffort.spec import SpecError, parse_spec

BASE = """\
data: people.csv
model: {train: logistic}
outcome: {column: decision, favourable: approved}
sensitive: {column: sex, protected: female}
graph: [[age, debt]]
features: {income: actionable, debt: mutable}
"""


def treatments(said: str, base: str = BASE) -> tuple[ee.Treatment, ...] | None:
    return parse_spec(f"{base}notions:\n  equality_of_effort:\n    {said}\n").treatments


@pytest.mark.parametrize(
    ("grid", "points"),
    [
        ("{low: 0, high: 1, step: 0.1}", [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]),
        ("{low: 0, high: 0.3, step: 0.1}", [0, 0.1, 0.2, 0.3]),
        ("{low: -3, high: 8, step: 5}", [-3, 2, 7]),
        ("{low: 2, high: 2.5, step: 0.5}", [2, 2.5]),
        ("[4, 1.5]", [4, 1.5]),
    ],
)
def test_grids(grid, points):
    """Ends are reached though 0.3 / 0.1 is a little less than 3, and what is missed is not gone beyond."""
    (one,) = treatments(f"income: {{grid: {grid}}}")
    assert one.grid == pytest.approx(points, abs=1e-12)
    assert all(point <= max(points) + 1e-12 for point in one.grid)


def test_a_node_that_is_no_feature_can_be_set():
    assert treatments("age: {}") == (ee.Treatment("age"),)


@pytest.mark.parametrize(
    ("said", "at", "says"),
    [
        ("incom: {}", "incom", "notions.equality_of_effort names 'incom', which is no feature. Did you mean 'income'?"),
        ("sex: {}", "sex", "notions.equality_of_effort names 'sex', which is protected and no effort."),
        ("income: {gammas: {low: 0.7, high: 0.3}}", "{low", "The gammas go from 0.7 to 0.3."),
        ("income: {gammas: 1.5}", "1.5", "income.gammas is the number 1.5, but must be a number above 0 and at most 1"),
        ("income: {gammas: [0.5, 0]}", "0]", "income.gammas, item 2 is the number 0"),
        ("income: {gammas: {low: 0.3}}", "{low", "income.gammas lacks the key 'high'."),
        ("income: {gamma: 0.3}", "gamma", "equality_of_effort.income. Did you mean 'gammas'"),
        ("income: {grid: [1]}", "[1]", "income.grid is a list of 1 value, but must be a list of at least two numbers"),
        ("income: {grid: {low: 3, high: 1, step: 1}}", "{low", "income.grid goes from 3 to 1 by 1."),
        ("income: {grid: {low: 0, high: 1, step: 2}}", "{low", "income.grid goes from 0 to 1 by 2."),
        ("income: {grid: {low: 0, high: 1, step: 1e-9}}", "{low", "income.grid has 1,000,000,000 steps."),
        ("income: {grid: {low: 0, high: 1, step: 0}}", "0}}", "income.grid.step is the number 0"),
        ("income: {direction: upp}", "upp", "income.direction is 'upp'. Did you mean 'up'?"),
        ("income: {by: regresion}", "regresion", "income.by is 'regresion'. Did you mean 'regression'?"),
        ("income: {by: {kind: scm, degree: 2}}", "degree", "income.by.degree has no effect under kind 'scm'"),
        ("income: {outcome: truth}", "truth", "income.outcome is 'truth', and no column says"),
        ("income: {outcome: label}", "label", "income.outcome is 'label'."),
        ("income: null", "null", "income is empty, but must be a table with the keys"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_at_its_place(said, at, says):
    with pytest.raises(ee.errors.EquieffortError) as caught:
        treatments(said)
    what = caught.value.what
    assert says in what
    line = f"    {said}"
    assert what.startswith("line 9, column "), what
    column = int(what.split("column ")[1].split(":")[0])
    assert line[column - 1 :].startswith(at)


def test_no_equation_gives_the_truth():
    base = BASE.replace("favourable: approved", "favourable: approved, truth: repaid")
    with pytest.raises(SpecError, match=r"income\.by is 'scm', and no equation says"):
        treatments("income: {outcome: truth, by: scm}", base)
    assert treatments("income: {outcome: truth}", base) == (ee.Treatment("income", outcome="observed"),)
