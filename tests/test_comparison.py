"""Comparing audits: every number recomputed in another way, and what cannot be compared refused."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.comparison import CHANGES, AuditComparison, compare_audits
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.exports import plain


def people(n=80, seed=0, labels=("ash", "birch")) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    index = pd.Index([f"p{k:03d}" for k in range(n)], name="person")
    frame = {
        "group": np.array(labels)[np.arange(n) % 2],
        "income": rng.normal(4, 2, n).round(3),
        "savings": rng.normal(0, 1, n).round(3),
        "job": rng.choice(["cook", "smith"], n),
    }
    return pd.DataFrame(frame, index=index)


REFERENCE = pd.DataFrame({"income": [0.0, 10.0], "savings": [-4.0, 4.0]})


def made(X=None, *, threshold=6.0, weights=None, reference=REFERENCE, cost=None, limit=4.0, **schema) -> ee.Audit:
    X = people() if X is None else X
    features = {
        "income": ee.Feature("actionable", max_increase=limit, weight=schema.pop("weight", 1.0)),
        "savings": ee.Feature("actionable", max_increase=1.0),
        "job": ee.Feature("actionable", weight=schema.pop("job", 0.3)),
    }
    told = {"sensitive": "group", "protected": "ash", "favourable": True, "features": features} | schema
    scm = ee.StructuralCausalModel([], nodes=list(X.columns)).fit(X)
    score = ee.LinearScore(weights or {"income": 1.0, "savings": 1.0}, threshold=threshold)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(score, X, schema=ee.Schema(**told), scm=scm, cost=cost, reference=reference)


def test_an_audit_compared_with_itself_has_not_changed():
    one = made()
    found = compare_audits(one, one)
    assert found.people.empty
    assert (found.noise[["change", "low", "high"]] == 0).all(axis=None)
    assert not found.noise["beyond_noise"].any()
    assert not found.is_worse
    assert found.counts.set_index("group")["unchanged"].to_dict() == {"ash": 40, "birch": 40}
    assert (found.matched, found.only_before, found.only_after) == (80, 0, 0)


def test_measures_by_group_are_those_of_the_two_tables():
    one, two = made(), made(threshold=7.0)
    found = compare_audits(one, two).by_group.set_index("group")
    for group in ("ash", "birch"):
        for name, audit in (("before", one), ("after", two)):
            frame = audit.recourse.frame().query("group == @group and status != 'not_needed'")
            acting = frame[frame["status"] == "optimal"]
            assert found.loc[group, f"phi_{name}"] == pytest.approx(acting["cost"].mean())
            assert found.loc[group, f"rho_{name}"] == pytest.approx(len(acting) / len(frame))
        change = found.loc[group, "phi_after"] - found.loc[group, "phi_before"]
        assert found.loc[group, "phi_change"] == pytest.approx(change)
    ratio = found.loc["ash", "phi_after"] / found.loc["birch", "phi_after"]
    assert found.loc["ash", "acr_after"] == pytest.approx(ratio)
    assert found.loc["ash", "rd_after"] == pytest.approx(
        found.loc["birch", "rho_after"] - found.loc["ash", "rho_after"]
    )


def what_happened(before: str, after: str, cost: float, cost_after: float) -> str:
    """One person by plain rules."""
    if before == after and before in ("not_needed", "infeasible"):
        return "unchanged"
    if after == "not_needed":
        return "newly favourable"
    if after == "infeasible":
        return "newly infeasible"
    if before == "not_needed":
        return "newly refused"
    if before == "infeasible":
        return "newly possible"
    if abs(cost - cost_after) <= 1e-6 * max(cost, cost_after):
        return "unchanged"
    return "dearer" if cost_after > cost else "cheaper"


def test_what_happened_to_each_person():
    one, two = made(), made(weights={"income": 1.1, "savings": 0.2}, threshold=6.5, limit=4.0)
    found = compare_audits(one, two)
    left, right = one.recourse.frame(), two.recourse.frame()
    expected = {
        label: what_happened(left.status[label], right.status[label], left.cost[label], right.cost[label])
        for label in left.index
    }
    assert set(expected.values()) >= {"dearer", "cheaper", "newly infeasible", "unchanged", "newly refused"}
    changed = {label: change for label, change in expected.items() if change != "unchanged"}
    assert found.people["change"].to_dict() == changed
    assert found.people.index.name == "person"
    for row in found.counts.to_dict("records"):
        mine = [change for label, change in expected.items() if left.group[label] == row["group"]]
        assert {change: row[change] for change in CHANGES} == {change: mine.count(change) for change in CHANGES}


def test_people_are_matched_by_label_not_by_place():
    X = people()
    found = compare_audits(made(X), made(X.iloc[::-1]))
    assert found.people.empty
    assert found.matched == 80


def test_people_in_one_audit_only_are_counted():
    X = people(100)
    found = compare_audits(made(X.iloc[:70]), made(X.iloc[30:]))
    assert (found.matched, found.only_before, found.only_after) == (40, 30, 30)


def test_labels_saved_as_numbers_meet_labels_kept_as_text(tmp_path):
    X = people().reset_index(drop=True)
    found = compare_audits(made(X), made(X.set_axis([str(label) for label in X.index])))
    assert found.matched == 80


def test_a_label_in_another_group_is_another_person():
    X = people()
    moved = X.copy()
    moved.loc["p000", "group"], moved.loc["p001", "group"] = "birch", "ash"
    with pytest.warns(EquieffortWarning, match="2 labels are in both audits, but in different groups"):
        found = compare_audits(made(X), made(moved))
    assert (found.matched, found.only_before, found.only_after) == (78, 2, 2)


def test_row_numbers_of_other_data_are_no_names():
    one, two = people().reset_index(drop=True), people(seed=1).reset_index(drop=True)
    with pytest.warns(EquieffortWarning, match="matched by the number of their row") as caught:
        compare_audits(made(one), made(two))
    assert caught[0].message.code == "AUDIT_LABELS"
    compare_audits(made(one), made(one, threshold=7.0))  # one table, two models: row numbers will do


def test_saved_audits_compare_as_live_ones_do(tmp_path):
    one, two = made(), made(threshold=7.0)
    for name, audit in (("a", one), ("b", two)):
        audit.save(tmp_path / f"{name}.audit")
    live = compare_audits(one, two)
    read = compare_audits(ee.load(tmp_path / "a.audit"), ee.load(tmp_path / "b.audit"))
    pd.testing.assert_frame_equal(live.noise, read.noise)
    pd.testing.assert_frame_equal(live.by_group, read.by_group)
    pd.testing.assert_frame_equal(live.people, read.people, check_index_type=False)
    assert str(live) == str(read)


# -- noise ------------------------------------------------------------------------------------------------------------


def direct_bootstrap(one: ee.Audit, two: ee.Audit, draws: int) -> np.ndarray:
    """Changes of (ACR, RD) over draws of whole people, each group by itself, by pandas alone."""
    rng = np.random.default_rng(99)
    left, right = one.recourse.frame(), two.recourse.frame()
    changes = []
    for _ in range(draws):
        values = []
        picks = {g: rng.choice(left.index[left.group == g], int((left.group == g).sum())) for g in ("ash", "birch")}
        for frame in (left, right):
            phi, rho = {}, {}
            for g, labels in picks.items():
                part = frame.loc[labels]
                part = part[part.status != "not_needed"]
                phi[g], rho[g] = part.cost.mean(), part.cost.notna().mean()
            values.append((phi["ash"] / phi["birch"], rho["birch"] - rho["ash"]))
        changes.append(np.subtract(values[1], values[0]))
    return np.array(changes)


def test_the_interval_is_that_of_drawing_whole_people():
    one, two = made(), made(weights={"income": 1.1, "savings": 0.2}, threshold=6.5)
    found = compare_audits(one, two, draws=4000).noise.set_index("measure")
    direct = direct_bootstrap(one, two, 600)
    for k, name in enumerate(("acr", "rd")):
        low, high = np.nanquantile(direct[:, k], [0.025, 0.975])
        width = high - low
        assert found.loc[name, "low"] == pytest.approx(low, abs=0.2 * width)
        assert found.loc[name, "high"] == pytest.approx(high, abs=0.2 * width)
        assert found.loc[name, "low"] <= found.loc[name, "change"] <= found.loc[name, "high"]


def test_pairing_makes_the_interval_narrow():
    X = people(200)
    same = compare_audits(made(X), made(X, threshold=6.05)).noise.set_index("measure")
    strangers = X.set_axis([f"q{k}" for k in range(200)])
    apart = compare_audits(made(X), made(strangers, threshold=6.05)).noise.set_index("measure")
    width = {name: (frame["high"] - frame["low"])["acr"] for name, frame in (("same", same), ("apart", apart))}
    assert width["same"] < 0.5 * width["apart"]


def test_a_group_that_falls_behind_is_found_beyond_noise():
    X = people(200)
    worse = X.assign(income=X["income"] - 2.5 * (X["group"] == "ash"))
    found = compare_audits(made(X), made(worse))
    rows = found.noise.set_index("measure")
    assert rows.loc["rd", "beyond_noise"] or rows.loc["acr", "beyond_noise"]
    assert found.is_worse
    assert "beyond noise" in str(found)


# -- the distance from equality ---------------------------------------------------------------------------------------


def needing(ash=1.0, birch=1.0, *, stuck=(0, 0), spread=0.1, n=200, seed=3) -> ee.Audit:
    """Everybody is refused; the groups lack these amounts on average, and so many of each lack more than can be had."""
    rng = np.random.default_rng(seed)
    X = people(n).assign(savings=0.0)
    lack = np.where(X["group"] == "ash", ash, birch) * rng.uniform(1 - spread, 1 + spread, n)
    for group, count in zip(("ash", "birch"), stuck, strict=True):
        lack[np.flatnonzero(X["group"] == group)[:count]] = 50.0
    return made(X.assign(income=6.0 - lack))


def costing(audit: ee.Audit, **factors: float) -> ee.Audit:
    """The audit with the efforts of these groups multiplied, as free actions would make them."""
    table = audit.recourse
    groups = np.array(table.groups.labels, dtype=object)[table.groups.codes]
    factor = np.array([factors.get(group, 1.0) for group in groups])
    return replace(audit, recourse=replace(table, cost=table.cost * factor, bound=table.bound * factor))


def row(found: AuditComparison, measure: str) -> pd.Series:
    return found.noise.set_index("measure").loc[measure]


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
    assert ("turned over: it lay with 'birch', now it lies with 'ash'" in words) == turned


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
    assert "farther from equality, to the disadvantage of 'birch'" in str(
        compare_audits(needing(ash=0.7), needing(ash=0.5, seed=4))
    )
    assert "farther from equality, to the disadvantage of 'ash'" in str(
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
    words = "not defined in the second audit: 'birch' needs no effort and 'ash' does. It is farther from equality"
    assert words in str(found)
    back = compare_audits(costing(needing(ash=1.1), birch=0.0), needing(ash=1.1))
    assert row(back, "acr")["distance"] == "closer"
    assert not back.is_worse
    assert "not defined in the first audit" in str(back)


def test_a_ratio_of_zero_is_as_far_on_the_other_side():
    found = compare_audits(needing(ash=0.5), costing(needing(ash=0.5), ash=0.0))
    acr = row(found, "acr")
    assert (acr["after"], acr["distance"], acr["beyond_noise"]) == (0.0, "farther", True)
    assert "farther from equality, to the disadvantage of 'birch'" in str(found)
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
    assert "not defined in the second audit: nobody in 'ash' has an action that is known." in str(found)
    assert row(found, "rd")["distance"] == "farther"
    assert found.is_worse


def test_a_ratio_that_few_draws_have_gets_no_judgement():
    found = compare_audits(needing(), needing(ash=3.0, stuck=(99, 0)))
    acr = row(found, "acr")
    assert acr["after"] == pytest.approx(3.0, rel=0.1)
    assert acr["undefined_draws"] > 100
    assert acr["distance"] == "undefined"
    assert "too few people for an interval" in str(found)


def test_the_same_question_gets_the_same_answer():
    one, two = made(), made(threshold=7.0)
    pd.testing.assert_frame_equal(compare_audits(one, two).noise, compare_audits(one, two).noise)
    other = compare_audits(one, two, random_state=1).noise
    assert not other[["low", "high"]].equals(compare_audits(one, two).noise[["low", "high"]])


def test_an_undefined_ratio_has_no_interval():
    X = people()
    nobody = made(X, threshold=-100.0)
    found = compare_audits(made(X), nobody)
    assert found.noise[["change", "low", "high"]].isna().all(axis=None)
    assert not found.noise["beyond_noise"].any()
    assert "not defined in the second audit: nobody was decided unfavourably." in str(found)


def test_everything_fits_into_json():
    found = compare_audits(made(), made(threshold=7.0))
    read = json.loads(json.dumps(plain(found.to_dict()), allow_nan=False))
    assert read["matched"] == 80
    assert {row["change"] for row in read["people"]} <= set(CHANGES)
    assert read["people"][0]["label"].startswith("p")


# -- prices -----------------------------------------------------------------------------------------------------------

DEARER = pd.DataFrame({"income": [0.0, 5.0], "savings": [-4.0, 4.0]})


def test_other_prices_are_refused():
    with pytest.raises(ParameterError, match=r"A unit of 'income' costs 0\.1 up and 0\.1 down") as caught:
        compare_audits(made(), made(reference=DEARER))
    assert caught.value.code == "AUDIT_SCALES"
    assert "--rescale" in caught.value.fix


@pytest.mark.parametrize("scale", [ee.Std(), ee.Own()])
def test_rescaled_costs_are_the_actions_at_the_first_prices(scale):
    X = people().assign(savings=lambda frame: frame["savings"] + 10)
    two = made(X, threshold=16.5, cost=ee.WeightedL1(scale), reference=None, weight=(2.0, 1.0))
    one = made(X, threshold=16.5)
    found = compare_audits(one, two, rescale=True)
    assert found.rescaled
    frame = two.recourse.frame()
    cost = frame["delta_income"].fillna(0) / 10 + frame["delta_savings"].fillna(0) / 8 + 0.3 * frame["do_job"].notna()
    refused = frame["status"] == "optimal"
    for group in ("ash", "birch"):
        expected = cost[refused & (frame["group"] == group)].mean()
        assert found.by_group.set_index("group").loc[group, "phi_after"] == pytest.approx(expected)
    assert "cheaper ones may exist" in str(found)


def test_rescaled_bounds_hold_the_true_optimum():
    """The same world solved at the first prices lies inside the interval that rescaling certifies."""
    two = made(threshold=6.5, reference=DEARER)
    truth = made(threshold=6.5)
    from equieffort.comparison import _at_prices_of

    moved = _at_prices_of(made(), two).recourse
    best = truth.recourse.cost
    acting = moved.has_action
    assert (moved.bound[acting] <= best[acting] + 1e-9).all()
    assert (moved.cost[acting] >= best[acting] - 1e-9).all()


def test_one_factor_for_all_prices_keeps_the_proof():
    both = pd.DataFrame({"income": [0.0, 5.0], "savings": [-2.0, 2.0]})
    found = compare_audits(made(job=0.3), made(reference=both, job=0.6), rescale=True)
    assert found.people.empty
    assert found.rescaled


def test_changing_a_category_at_another_price_is_another_scale():
    with pytest.raises(ParameterError) as caught:
        compare_audits(made(), made(job=0.9))
    assert caught.value.code == "AUDIT_SCALES"


def test_only_weighted_l1_can_be_rescaled():
    with pytest.raises(ParameterError, match="Costs of kind Percentile cannot be recomputed") as caught:
        compare_audits(made(), made(cost=ee.Percentile(), reference=None), rescale=True)
    assert caught.value.code == "AUDIT_SCALES"


# -- what cannot be compared ------------------------------------------------------------------------------------------


def test_other_groups_are_refused():
    with pytest.raises(ParameterError, match="'birch' is protected") as caught:
        compare_audits(made(), made(protected="birch"))
    assert caught.value.code == "AUDIT_SCHEMAS"
    with pytest.raises(ParameterError, match="'oak' is reference"):
        compare_audits(made(), made(people(labels=("ash", "oak"))))


def test_other_limits_are_refused_by_name():
    with pytest.raises(ParameterError, match="The audits differ in feature 'income'") as caught:
        compare_audits(made(), made(limit=5.0))
    assert caught.value.code == "AUDIT_SCHEMAS"


def test_draws_must_be_a_count():
    with pytest.raises(ParameterError, match="draws is 0"):
        compare_audits(made(), made(), draws=0)
