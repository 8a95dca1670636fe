"""What if other things could be done: audits under other rules are compared, and what differs is told."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.limits import unlimited
from tests.results.comparison.worlds import made, needing, people, row

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.results.comparison import compare_audits


def told(found):
    return {(one.part, one.subject, one.key): (one.before, one.after) for one in found.differences}


def test_the_same_question_differs_in_nothing():
    found = compare_audits(made(), made())
    assert found.differences == ()
    assert found.same_units
    assert "are the same in both audits" in str(found)


def test_another_limit_is_told_and_what_it_opens_is_counted():
    """With 3 more of income allowed, whoever lacked up to 3 more than before has a route: counted by hand."""
    X = people()
    one, two = made(X, limit=1.0, threshold=8.0), made(X, limit=4.0, threshold=8.0)
    found = compare_audits(one, two)
    assert told(found) == {("feature", "income", "max_increase"): (1.0, 4.0)}
    assert found.same_units
    lack = 8.0 - X["income"] - X["savings"]
    opened = (lack > 2.0) & (lack <= 5.0)
    assert (found.people["change"] == "newly possible").sum() == opened.sum() > 0
    assert "income: max_increase 1 before, 4 after" in str(found)


def test_a_further_feature_to_act_on():
    """What if savings counted: a role and its price are new, and efforts stay in the same units."""
    X = people()
    features = {"income": ee.Feature("actionable", max_increase=4.0), "job": "immutable"}
    one = made(X, features=unlimited(features | {"savings": "immutable"}))
    two = made(X, features=unlimited(features | {"savings": ee.Feature("actionable", max_increase=1.0)}))
    found = compare_audits(one, two)
    assert told(found)["feature", "savings", "role"] == ("immutable", "actionable")
    assert found.same_units
    assert not (found.people["change"] == "more effort").any(), "more ways never cost more"


def test_another_model_a_rule_and_thresholds_are_told():
    X = people()
    one = made(X)
    two = made(
        X, threshold=7.0, weights={"income": 1.0, "savings": 2.0}, rules=[ee.Sum({"income": 1, "savings": 1}, upper=9)]
    )
    two = ee.Audit(two.recourse, ee.Criteria(tau=1.5), two.neighbourhood, two.warnings, two.provenance)
    found = told(compare_audits(one, two))
    assert found["criteria", "", "tau"] == (1.25, 1.5)
    assert any(part == "rule" and before is None for (part, *_), (before, _) in found.items())


def test_other_graphs_and_equations_are_told():
    X = people()

    def audit(slope):
        scm = ee.StructuralCausalModel(
            [("income", "savings")], nodes=["group", "job"], mechanisms={"savings": ee.Linear({"income": slope})}
        )
        features = {"income": ee.Feature("actionable", max_increase=4.0), "savings": "mutable", "job": "immutable"}
        schema = ee.Schema(sensitive="group", protected="ash", favourable=True, features=unlimited(features))
        return ee.audit(
            ee.LinearScore({"income": 1.0, "savings": 1.0}, threshold=6.0), X, schema=schema, scm=scm.fit(X)
        )

    found = compare_audits(audit(0.0), audit(0.5))
    assert ("equation", "savings", "") in told(found)
    assert np.isfinite(found.by_group["phi_change"]).any()


def test_many_groups_are_a_table():
    X = people(200, labels=("ash", "birch"))
    X["group"] = np.array(["ash", "birch", "oak", "elm"])[np.arange(200) % 4]
    both = [
        made(
            X,
            limit=limit,
            reference=made.__kwdefaults__["reference"],
            protected=["ash", "oak", "elm"],
            features=unlimited(
                {"income": ee.Feature("actionable", max_increase=limit), "savings": "immutable", "job": "immutable"}
            ),
        )
        for limit in (2.0, 4.0)
    ]
    found = compare_audits(*both)
    text = str(found)
    lines = [line for line in text.splitlines() if " ACR " in line or " RD " in line]
    assert len(lines) == 6
    assert len({len(line) for line in lines}) == 1, "cells stand under each other"
    assert "95 % interval" in text
    # What several rows share is said once, below the table.
    same = compare_audits(both[0], both[0])
    (note,) = set(same.noise["note"])
    assert "the same for everybody" in note
    assert str(same).count(note[1:]) == 1
    assert "Difference in possible recourse" not in str(same)


def test_of_a_feature_that_nobody_may_set_any_more_only_the_role_is_told():
    X = people()
    rest = {"income": ee.Feature("actionable", max_increase=4.0), "job": "immutable"}
    savings = ee.Feature("actionable", direction="up", max_increase=1.0)
    one = made(X, features=unlimited(rest | {"savings": savings}))
    two = made(X, features=unlimited(rest | {"savings": "immutable"}))
    assert told(compare_audits(one, two)) == {("feature", "savings", "role"): ("actionable", "immutable")}


def test_a_ratio_that_stays_is_said_with_how_far_it_may_have_moved():
    """Efforts of one group a 10,000th larger, give or take: three digits would say "1 times as large (1 to 1)"."""
    rng = np.random.default_rng(1)
    one = needing(1.3)
    table = one.recourse
    times = np.where(table.groups.codes == 0, 1 + rng.uniform(0, 2e-4, len(table)), 1.0)
    two = replace(one, recourse=replace(table, cost=table.cost * times, bound=table.bound * times))
    found = compare_audits(one, two)
    acr = row(found, "acr")
    assert 1 < acr["low"] < acr["high"] < 1.0002
    text = str(found)
    assert "the same within 0.02 % (95 % interval)" in text
    assert "1 times as large" not in text


def test_what_differs_is_data():
    found = compare_audits(made(limit=1.0), made(limit=4.0)).to_dict()
    assert found["differences"] == [
        {"part": "feature", "subject": "income", "key": "max_increase", "before": 1.0, "after": 4.0}
    ]
    assert found["same_units"] is True


@pytest.mark.parametrize("cost", [ee.Percentile()])
def test_another_kind_of_cost_leaves_ratios(cost):
    found = compare_audits(made(), made(cost=cost, reference=None))
    assert not found.same_units
    assert ("cost", "", "kind") in told(found)


def test_what_kind_a_column_is_differs_only_where_it_does():
    """A feature that becomes actionable has its kind read from the table: nobody declared it otherwise."""
    X = people()
    X["cosigner"] = (np.arange(len(X)) % 2).astype(float)
    features = {"income": ee.Feature("actionable", max_increase=4.0), "job": "immutable", "savings": "immutable"}
    one = made(X, features=unlimited(features | {"cosigner": "immutable"}), reference=None)
    two = made(X, features=unlimited(features | {"cosigner": "actionable"}), reference=None)
    found = told(compare_audits(one, two))
    assert found["feature", "cosigner", "role"] == ("immutable", "actionable")
    assert not any(key == "kind" for _, _, key in found)


def test_a_model_of_the_same_class_that_decides_otherwise_is_told_with_how_many_people():
    X = people()
    one, two = made(X, threshold=6.0), made(X, threshold=7.0)
    found = compare_audits(one, two)
    score = X["income"] + X["savings"]
    between = int(((score >= 6.0) & (score < 7.0)).sum())
    assert told(found)["model", "", "decisions"] == (len(X), between)
    assert f"{between} of the {len(X)} people of whom the same is known are decided otherwise" in str(found)
    # Of whom something else is known now may be decided otherwise by the same model.
    richer = X.assign(income=X["income"] + 1.0)
    assert ("model", "", "decisions") not in told(compare_audits(one, made(richer, threshold=6.0)))


class AnswersAll:
    """A linear score that takes a missing value for 0."""

    def __init__(self) -> None:
        self.feature_names_in_ = np.array(["income", "savings"])
        self.classes_ = np.array([False, True])

    def predict(self, X):
        values = np.nan_to_num(np.asarray(X, dtype=float))
        return values.sum(axis=1) >= 6.0


def lacking(missing: str, path) -> ee.Audit:
    """Every fifth person, all of ash, lacks their savings."""
    X = people(60)
    X.loc[X.index[::10], "savings"] = np.nan
    schema = ee.Schema(
        sensitive="group", protected="ash", favourable=True,
        features={"income": ee.Feature("actionable", max_increase=4.0, lower=0, upper=20), "savings": "immutable"},
    )  # fmt: skip
    X = X[["group", "income", "savings"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        made = ee.audit(
            AnswersAll(), X, schema=schema, solver=ee.solvers.Search(), missing=missing,
            scm=ee.StructuralCausalModel([], nodes=list(X.columns)).fit(X.dropna()), reference=X.dropna(),
        )  # fmt: skip
    made.save(path)
    return ee.load(path)


def test_what_is_done_with_missing_values_is_told_and_who_leaves_is_named(tmp_path):
    kept, dropped = (lacking(how, tmp_path / f"{how}.audit") for how in ("model", "drop"))
    found = compare_audits(kept, dropped)
    assert "people with missing values decided by the model before, left out after" in str(found)
    assert "are the same in both audits" not in str(found)
    assert set(found.alone.index) == set(people(60).index[::10])
    assert set(found.alone["audit"]) == {"first"}
    assert "Only in the first: group = ash: 6 (" in str(found)
    assert "By name: p000, p010, p020, p030, p040, ..." in str(found)
    rd = found.noise.set_index("measure").loc["rd"]
    assert ("nobody's answer changed" in rd["note"]) == (rd["change"] != 0)
    assert compare_audits(kept, kept).alone.empty


def test_of_audits_that_share_nobody_nobody_is_listed_as_in_one_only():
    """Two dates: of a million people each, everybody would be named."""
    X = people()
    found = compare_audits(made(X), made(X.set_axis([f"q{k}" for k in range(len(X))])))
    assert found.matched == 0
    assert "By name" not in str(found)
    assert found.alone.empty
    assert found.to_dict()["alone"] == []
