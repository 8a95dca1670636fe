"""Beyond noise or not, and towards equality or away from it."""

from __future__ import annotations

import pytest
from tests.results.comparison.worlds import costing, made, needing, people, row

from equieffort.results.comparison import compare_audits


def test_a_group_that_falls_behind_is_found_beyond_noise():
    X = people(200)
    worse = X.assign(income=X["income"] - 2.5 * (X["group"] == "ash"))
    found = compare_audits(made(X), made(worse))
    rows = found.noise.set_index("measure")
    assert rows.loc["rd", "beyond_noise"] or rows.loc["acr", "beyond_noise"]
    assert found.is_worse
    assert "beyond noise" in str(found)


@pytest.mark.parametrize(
    ("before", "after", "distance", "turned"),
    [
        (0.6, 0.9, "closer", False),
        (0.3, 0.6, "closer", False),
        (0.9, 0.6, "farther", False),
        (0.7, 0.5, "farther", False),
        (2.0, 1.4, "closer", False),
        (1.4, 2.0, "farther", False),
        (0.5, 1.2, "closer", True),
        (0.8, 2.0, "farther", True),
        (0.5, 2.0, "within noise", True),
        (1.5, 1.5, "within noise", False),
    ],
)
def test_a_ratio_falls_behind_when_it_leaves_equality(before, after, distance, turned):
    found = compare_audits(needing(ash=before), needing(ash=after, seed=4))
    acr = row(found, "acr")
    assert acr["before"] == pytest.approx(before, rel=0.05)
    assert acr["after"] == pytest.approx(after, rel=0.05)
    assert acr["distance"] == distance
    assert acr["turned"] == turned
    assert acr["turned_beyond_noise"] == turned
    assert found.is_worse == (distance == "farther")
    words = next(line for line in str(found).splitlines() if line.startswith("Ratio"))
    assert ("farther from equality" in words) == (distance == "farther")
    assert ("closer to equality" in words) == (distance == "closer")
    assert ("no clear change of the distance" in words) == ((before, after) == (0.5, 2.0))
    assert ("turned over: it lay with group = birch, now it lies with group = ash" in words) == turned


@pytest.mark.parametrize(
    ("before", "after", "distance", "turned"),
    [
        ((10, 40), (10, 20), "closer", False),
        ((10, 40), (10, 80), "farther", False),
        ((40, 10), (80, 10), "farther", False),
        ((10, 40), (40, 10), "within noise", True),
        ((10, 40), (80, 10), "farther", True),
        ((10, 80), (40, 10), "closer", True),
        ((0, 0), (20, 0), "farther", False),
        ((20, 0), (0, 0), "closer", False),
    ],
)
def test_a_difference_falls_behind_when_it_leaves_equality(before, after, distance, turned):
    found = compare_audits(needing(stuck=before), needing(stuck=after, seed=4))
    rd = row(found, "rd")
    assert rd["before"] == pytest.approx((before[0] - before[1]) / 100)
    assert rd["distance"] == distance
    assert rd["turned_beyond_noise"] == turned
    assert found.is_worse == (distance == "farther")


def test_growth_says_who_is_behind():
    assert "farther from equality, to the disadvantage of group = birch" in str(
        compare_audits(needing(ash=0.7), needing(ash=0.5, seed=4))
    )
    assert "farther from equality, to the disadvantage of group = ash" in str(
        compare_audits(needing(ash=1.4), needing(ash=2.0, seed=4))
    )


def test_leaving_exact_equality_by_chance_is_within_noise():
    """A distance is never negative, so that its own draws would always seem to have grown."""
    found = compare_audits(needing(), needing(stuck=(2, 1)))
    assert row(found, "rd")["before"] == 0
    assert row(found, "rd")["after"] > 0
    assert row(found, "rd")["distance"] == "within noise"
    assert not found.is_worse


def test_sides_that_may_be_chance_are_said_to_be():
    found = compare_audits(needing(ash=0.98, spread=0.9), needing(ash=1.05, spread=0.9))
    acr = row(found, "acr")
    assert (acr["before"] - 1) * (acr["after"] - 1) < 0
    assert acr["turned"]
    assert not acr["turned_beyond_noise"]
    assert "on the other side of equality, which may be chance" in str(found)


def test_a_ratio_without_limit_is_the_farthest_there_is():
    """Nobody's effort against somebody's has no ratio, but nothing is farther from equality."""
    found = compare_audits(needing(ash=1.1), costing(needing(ash=1.1), birch=0.0))
    acr = row(found, "acr")
    assert acr[["after", "change", "low", "high"]].isna().all()
    assert acr["distance"] == "farther"
    assert found.is_worse
    words = (
        "not defined in the second audit: refused people with group = birch need no effort and refused people with "
        "group = ash do. It is farther from equality, to the disadvantage of group = ash"
    )
    assert words in str(found)
    back = compare_audits(costing(needing(ash=1.1), birch=0.0), needing(ash=1.1))
    assert row(back, "acr")["distance"] == "closer"
    assert not back.is_worse
    assert "not defined in the first audit" in str(back)


def test_no_effort_in_the_group_is_as_far_on_the_other_side():
    found = compare_audits(needing(ash=0.5), costing(needing(ash=0.5), ash=0.0))
    acr = row(found, "acr")
    assert acr[["after", "change", "low", "high"]].isna().all()
    assert (acr["distance"], acr["beyond_noise"]) == ("farther", False)
    assert "refused people with group = ash need no effort and refused people with group = birch do" in str(found)
    assert "farther from equality, to the disadvantage of group = birch" in str(found)
    still = compare_audits(costing(needing(), ash=0.0), costing(needing(seed=4), ash=0.0))
    assert row(still, "acr")["distance"] == "within noise"
    turned = compare_audits(costing(needing(), ash=0.0), costing(needing(), birch=0.0))
    assert row(turned, "acr")["distance"] == "within noise"
    assert "turned over" in str(turned)


def test_two_groups_without_effort_have_no_ratio():
    free = costing(needing(), ash=0.0, birch=0.0)
    found = compare_audits(free, free)
    assert row(found, "acr")["distance"] == "undefined"
    assert "not defined in either audit: neither group needs any effort." in str(found)
    assert not found.is_worse


def test_where_nobody_can_act_any_more_the_difference_tells():
    found = compare_audits(needing(), needing(stuck=(100, 0)))
    assert row(found, "acr")["distance"] == "undefined"
    assert "not defined in the second audit: no route is known for refused people with group = ash." in str(found)
    assert row(found, "rd")["distance"] == "farther"
    assert found.is_worse


def test_a_ratio_that_few_draws_have_gets_no_judgement():
    found = compare_audits(needing(), needing(ash=3.0, stuck=(99, 0)))
    acr = row(found, "acr")
    assert acr["after"] == pytest.approx(3.0, rel=0.1)
    assert acr["undefined_draws"] > 100
    assert acr["distance"] == "undefined"
    assert "too few people for an interval" in str(found)


def test_an_undefined_ratio_has_no_interval():
    X = people()
    nobody = made(X, threshold=-100.0)
    found = compare_audits(made(X), nobody)
    assert found.noise[["change", "low", "high"]].isna().all(axis=None)
    assert not found.noise["beyond_noise"].any()
    assert "not defined in the second audit: nobody was refused." in str(found)
