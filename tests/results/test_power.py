"""Planning against the published table, against simulation, and what makes no sense."""

from __future__ import annotations

import json
from math import inf, log, sqrt

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import equieffort as ee
from equieffort.cli import app
from equieffort.effort.criteria import Criteria, OneSided
from equieffort.effort.inference import Unadjusted, Zone
from equieffort.effort.inference.planning import (
    Shares,
    gap_beyond,
    gap_inside,
    people_beyond,
    people_inside,
    smallest_ratio,
)
from equieffort.effort.judging import judge_family, with_readings
from equieffort.effort.measures import MEASURES, Pair, Sample
from equieffort.effort.metrics import Comparison
from equieffort.effort.planning import people_to_decide
from equieffort.errors import ParameterError

TAU = Zone(-log(1.25), log(1.25))


def decided(factor: float, n: int, outcome: str, criteria=Criteria(judged=("acr",)), repetitions: int = 300) -> float:  # noqa: B008
    """How often n people, half in each group and 60 % refused, decide; efforts are half-normal."""
    rng, hits = np.random.default_rng(7), 0
    for _ in range(repetitions):
        sides = []
        for size in (factor, 1.0):
            refused = int(rng.binomial(n // 2, 0.6))
            sides.append(Sample.solved(size * np.abs(rng.standard_normal(refused)), n // 2 - refused, 3.0))
        c = with_readings(Comparison("a", "b", "protected", Pair(*sides)), criteria, [MEASURES["acr"]])
        hits += judge_family([c], criteria, 5)[0][0] == outcome
    return hits / repetitions


def test_as_many_people_as_planned_decide_four_times_in_five():
    cv = np.sqrt(np.pi / 2 - 1)  # of a half-normal law
    assumed = ee.Assumed(0.5, 0.6, 0.6, 1.0, 1.0, cv, cv)
    plan = ee.power(assumed, acr=1.8, criteria=Criteria(judged=("acr",)))
    n = int(plan.table["people"][0])
    assert plan.table["decides"][0] == "unequal"
    assert 0.7 < decided(1.8, n, "unequal") < 0.9
    plan = ee.power(assumed, acr=1.0, criteria=Criteria(judged=("acr",)))
    assert 0.7 < decided(1.0, int(plan.table["people"][0]), "equal") < 0.9


def test_known_plans():
    # W and numbers of people as tabulated for the paper's world (80 % asked for).
    inside = {"alpha": 0.05, "power": 0.8, "share": 0.25}
    assert people_inside(1.0, TAU, 4.56, **inside) == 785
    beyond = {"alpha": 0.025, "power": 0.8, "share": 0.12}
    assert people_beyond(1.895, TAU, 6.84, **beyond) == pytest.approx(310, rel=0.01)
    assert people_beyond(1.25, TAU, 5.0, **beyond) == inf
    assert people_inside(1.25, TAU, 5.0, **inside) == inf


def test_what_is_just_detectable_needs_just_those_people():
    ratio = smallest_ratio(1000, TAU, 5.0, alpha=0.025, power=0.8)
    assert people_beyond(ratio, TAU, 5.0, alpha=0.025, power=0.8, share=0.5) == pytest.approx(1000, abs=1)


def test_the_one_sided_rule_is_planned_as_it_is_judged():
    one_sided = Criteria(judged=("acr",), rule=OneSided())
    cv = sqrt(np.pi / 2 - 1)
    assumed = ee.Assumed(0.5, 0.6, 0.6, 1.0, 1.0, cv, cv)
    worth, edge = 2 * cv**2 / 0.3, log(1.25)
    # A ratio far below 1 counts as equal, and only its upper end is asked about: a one-sided normal test.
    for ratio in (1.0, 0.5):
        row = ee.power(assumed, acr=ratio, criteria=one_sided).table.iloc[0]
        need = worth * ((norm.ppf(0.95) + norm.ppf(0.8)) / (edge - log(ratio))) ** 2
        assert row["decides"] == "equal"
        assert row["people"] == pytest.approx(max(need, 10 / 0.3), abs=1.5)
    assert ee.power(assumed, acr=0.5).table["decides"][0] == "unequal"
    assert "one side" in str(ee.power(assumed, criteria=one_sided))
    n = int(ee.power(assumed, acr=1.0, criteria=one_sided).table["people"][0])
    assert 0.7 < decided(1.0, n, "equal", one_sided, repetitions=150) < 0.9


def test_the_command_line_plans_for_the_rule_too():
    asked = ["power", "--acr", "0.5", "--json"]
    plain, one_sided = (CliRunner().invoke(app, [*asked, *more]) for more in ((), ("--rule", "one-sided")))
    assert json.loads(plain.stdout)["needed"][0]["decides"] == "unequal"
    assert json.loads(one_sided.stdout)["needed"][0]["decides"] == "equal"


def test_a_verdict_under_the_one_sided_rule_asks_for_fewer_people():
    rng = np.random.default_rng(1)
    sides = [Sample.solved(np.abs(rng.standard_normal(40)), 60, 3.0) for _ in range(2)]
    needed = []
    for criteria in (Criteria(judged=("acr",)), Criteria(judged=("acr",), rule=OneSided())):
        c = with_readings(Comparison("a", "b", "protected", Pair(*sides)), criteria, [MEASURES["acr"]])
        needed.append(people_to_decide(c, criteria, ("acr",))[1])
    # At a true ratio of 1: (z(.95) + z(.8))² against (z(.95) + z(.9))².
    z = norm.ppf([0.8, 0.9]) + norm.ppf(0.95)
    assert needed[1] / needed[0] == pytest.approx((z[0] / z[1]) ** 2, rel=0.01)


def test_without_adjustment_each_question_has_the_whole_chance():
    plain = ee.power(acr=2.0, criteria=Criteria(adjust=Unadjusted())).table["people"][0]
    holm = ee.power(acr=2.0, criteria=Criteria()).table["people"][0]
    z = norm.ppf([0.95, 0.975]) + norm.ppf(0.8)
    assert plain / holm == pytest.approx((z[0] / z[1]) ** 2, rel=0.01)


@pytest.mark.parametrize("gap", [0.7, -0.45])
def test_a_gap_that_no_shares_could_have_is_refused_by_name(gap):
    assumed = ee.Assumed(recourse=0.6, recourse_against=0.6)
    with pytest.raises(ParameterError, match=r"rd is .*not possible: 60 % .* between -0.4 and 0.6") as caught:
        ee.power(assumed, rd=gap)
    assert caught.value.code == "PARAMETER"


def test_only_possible_gaps_are_tabulated():
    plan = ee.power(ee.Assumed(recourse=0.12, recourse_against=0.12))
    gaps = plan.table[plan.table["measure"] == "rd"]["truth"]
    assert gaps.max() == 0.1
    # With 100 people nothing of the size would show.
    assert plan.detectable["rd"].isna().iloc[0]
    assert "no RD that is possible" in str(plan)


def test_the_smallest_gap_is_the_one_that_needs_these_people():
    """Also where everybody has recourse, so that the standard error at the shares there are is 0."""
    assumed = ee.Assumed(recourse=1.0, recourse_against=1.0)
    gap = ee.power(assumed, people=1500).detectable["rd"][0]
    assert 0.07 < gap < 0.15
    assert ee.power(assumed, rd=gap).table["people"][0] == pytest.approx(1500, abs=2)


def test_gaps_mirror_and_have_a_floor():
    a, b = Shares(0.3, 0.7), Shares(0.12, 0.93)
    for ask in (gap_beyond, gap_inside):
        assert ask(a, b, 0.05, alpha=0.025, power=0.8) == ask(b, a, 0.05, alpha=0.025, power=0.8)
    assert gap_beyond(Shares(0.5, 0.1), Shares(0.01, 0.95), 0.05, alpha=0.025, power=0.8) >= 1000
    assert gap_inside(a, b, 0.05, alpha=0.05, power=0.8) == inf


def test_from_an_audit(tmp_path):
    people, _ = ee.datasets.paper_synthetic(1.0, 300, 3)
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=True,
        features={"X2": ee.Feature("actionable", upper=np.inf), "X3": "mutable"},
    )  # fmt: skip
    made = ee.audit(
        ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3.5), people, schema=schema,
        scm=ee.StructuralCausalModel([("S", "X2")], nodes=["X3"]).fit(people),
    )  # fmt: skip
    plan = ee.power(made)
    assert "spreads of the audit" in plan.basis
    assert (plan.table["people"] > 0).all()
    falling = plan.table[(plan.table["measure"] == "acr") & (plan.table["decides"] == "unequal")]["people"]
    assert falling.is_monotonic_decreasing
    with pytest.raises(ParameterError, match="'2', which is not compared"):
        ee.power(made, group="2")


@pytest.mark.parametrize(
    "given",
    [{"power": 1.0}, {"acr": 0}, {"rd": 2}, {"people": 0}, {"criteria": "strict"}, {"given": "audit"}],
)
def test_what_makes_no_sense_is_refused(given):
    with pytest.raises(ParameterError):
        ee.power(**given)


def test_shares_outside_their_range_are_refused():
    for wrong in ({"share": 1.0}, {"refused": 0}, {"recourse": 1.2}, {"variation": 0}):
        with pytest.raises(ParameterError):
            ee.Assumed(**wrong)
