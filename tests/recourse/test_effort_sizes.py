"""Efforts of any size that squares allow give the same ratios and intervals; larger and smaller ones are refused."""

import pandas as pd
import pytest
from tests.samples import compared

import equieffort as ee
from equieffort.errors import CostError, ParameterError
from equieffort.recourse.solving import solve

INF = float("inf")
PEOPLE = pd.DataFrame(
    {
        "a": [0.0, 1.0, 2.5, 3.0, 0.5, 1.5, 2.0, 4.0, 9.0, 8.0],
        "job": ["x", "y"] * 5,
        "sex": ["f", "m", "f", "m", "f", "m", "f", "m", "f", "m"],
    }
)


def problem(weight=1.0, job="immutable", coefficient=1.0):
    """a must reach 5 / coefficient, and has no limits."""
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"a": ee.Feature("actionable", lower=-INF, upper=INF, weight=weight), "job": job},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["a", "job", "sex"]).fit(PEOPLE)
    return ee.RecourseProblem.of(ee.LinearScore({"a": coefficient}, threshold=5.0), PEOPLE, schema=schema, scm=scm)


@pytest.mark.parametrize("weight", [1e200, 1e-200, 1e300, (1.0, 1e-250)])
def test_prices_that_squares_cannot_hold_are_refused_before_solving(weight):
    with pytest.raises(CostError, match="'a' costs about") as caught:
        problem(weight)
    assert caught.value.code == "COST_SIZE"
    assert "weights and scales" in str(caught.value)


def test_so_are_those_of_a_category():
    with pytest.raises(CostError, match="'job' costs about") as caught:
        problem(job=ee.Feature("actionable", weight=1e150))
    assert caught.value.code == "COST_SIZE"


def test_efforts_that_only_solving_shows_are_refused_with_the_first_person():
    far = problem(coefficient=1e-120)
    with pytest.raises(CostError, match=r"of 10 people is beyond 1e\+100\. The first: 0, ") as caught:
        solve(far, PEOPLE)
    assert caught.value.code == "COST_SIZE"


@pytest.mark.parametrize("power", [-320, 320])
def test_other_sizes_have_the_same_ratios_and_intervals(power):
    # Powers of two change no digit, so everything must come out the same.
    plain, other = (
        compared(
            ee.audit(
                ee.LinearScore({"a": 1.0}, threshold=5.0), PEOPLE, scm=problem().scm,
                criteria=ee.Criteria(min_people=1), schema=problem(weight).schema,
            )
        ).loc["f"]
        for weight in (1.0, 2.0**power)
    )  # fmt: skip
    # Lacking 5, 2.5, 4.5, 3 against 4, 2, 3.5, 1.
    assert plain["acr"] == pytest.approx(15 / 10.5)
    for name in ("acr", "acr_low", "acr_high", "rd", "rd_low", "rd_high"):
        assert other[name] == pytest.approx(plain[name], rel=1e-12)
    assert other["phi"] == pytest.approx(plain["phi"] * 2.0**power, rel=1e-12)


def test_a_budget_beyond_all_efforts_is_refused():
    with pytest.raises(ParameterError, match="budget"):
        ee.Criteria(budget=1e200)
