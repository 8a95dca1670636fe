"""Fairness through awareness: brute force over pairs, people without a distance, samples, and coverage."""

from itertools import combinations
from math import isnan

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from tests.notions.made import world

import equieffort as ee
from equieffort.notions import NotionReading, awareness
from equieffort.notions.awareness import Awareness

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def by_brute_force(audit, lipschitz):
    """Every pair by a loop, with the distance written out."""
    data = audit.recourse.data[["X1", "X2", "X3"]]
    p = audit.inputs.classifier.predict_proba(data)[:, 1]
    scaled = (data / (data.max() - data.min())).to_numpy()
    pairs = []
    for i, j in combinations(range(len(data)), 2):
        far = np.abs(scaled[i] - scaled[j]).sum()
        apart = abs(p[i] - p[j])
        pairs.append((audit.recourse.groups.codes[i], audit.recourse.groups.codes[j], apart, far))
    return pd.DataFrame(pairs, columns=["a", "b", "apart", "far"])


@pytest.mark.parametrize("lipschitz", [0.5, 1.0])
def test_against_a_loop_over_pairs(lipschitz):
    audit, _ = world(70)
    pairs = by_brute_force(audit, lipschitz)
    found = audit.fairness_through_awareness(lipschitz)
    rows = found.frame().set_index(["notion", "group"])
    for group, some in (("", pairs), ("-1", pairs[pairs["a"] != pairs["b"]])):
        excess = some["apart"] - lipschitz * some["far"]
        row = rows.loc[("awareness_share", group)]
        assert row["estimate"] == pytest.approx((excess > 0).mean())
        assert row["n"] == len(some)
        assert row["low"] < row["estimate"] < row["high"]
        assert rows.loc[("awareness_violation", group), "estimate"] == pytest.approx(max(excess.max(), 0))
        steepest = rows.loc[("awareness_lipschitz", group), "estimate"]
        assert steepest == pytest.approx((some["apart"] / some["far"]).max())
    total = (pairs["apart"] > lipschitz * pairs["far"]).sum()
    assert found.people["violations"].sum() == 2 * total


def test_with_the_least_constant_no_pair_violates():
    audit, _ = world(70)
    rows = audit.fairness_through_awareness().frame().set_index(["notion", "group"])
    least = rows.loc[("awareness_lipschitz", ""), "estimate"]
    again = audit.fairness_through_awareness(least * (1 + 1e-12)).frame().set_index(["notion", "group"])
    assert again.loc[("awareness_share", ""), "estimate"] == 0
    assert 0 < again.loc[("awareness_share", ""), "high"] < 0.2
    assert audit.fairness_through_awareness(least * 0.999).frame()["estimate"].iloc[0] > 0


def test_people_alike_but_for_their_group_leave_no_constant():
    people = pd.DataFrame({"sex": ["f", "m"] * 4, "x": np.repeat(np.arange(4.0), 2)})
    coded = people.assign(sex=(people["sex"] == "m").astype(float))
    model = LogisticRegression().fit(coded, [0, 1, 0, 1, 0, 1, 1, 1])
    schema = ee.Schema(sensitive="sex", protected=0, favourable=1, features={"x": "actionable"})
    audit = ee.audit(model, coded, schema=schema, scm=ee.StructuralCausalModel([]).fit(coded))
    rows = audit.fairness_through_awareness().frame().set_index(["notion", "group"])
    row = rows.loc[("awareness_lipschitz", "")]
    assert isnan(row["estimate"])
    assert row["n_undefined"] == 4
    assert "TWINS_DIFFER" in row["note"]
    assert row["least"] > 0


def test_a_score_serves_where_there_is_no_probability():
    audit, _ = world(60, LinearSVC())
    found = audit.fairness_through_awareness()
    assert set(found.frame()["variant"]) == {"score, L = 1"}
    data = audit.recourse.data[["X1", "X2", "X3"]]
    assert found.people["p"].to_numpy() == pytest.approx(audit.inputs.classifier.decision_function(data))


def test_labels_alone_do_not_serve():
    people = pd.DataFrame({"sex": list("fmfm"), "x": [0.0, 1, 2, 3]})
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"x": "actionable"})
    audit = ee.audit(
        ee.LinearScore({"x": 1}, threshold=2), people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people)
    )
    assert "neither" in str(audit.fairness_through_awareness())
    assert audit.fairness_through_awareness().frame().empty


def test_many_people_are_drawn(monkeypatch):
    audit, _ = world(120)
    every = audit.fairness_through_awareness().frame()
    monkeypatch.setattr(awareness, "MOST_PEOPLE", 60)
    drawn = audit.fairness_through_awareness().frame()
    assert drawn["n"].iloc[0] == 60 * 59 // 2
    assert drawn["note"].str.contains("SAMPLED").all()
    assert drawn["low"].iloc[0] < every["estimate"].iloc[0] < drawn["high"].iloc[0]
    assert (drawn["high"] - drawn["low"]).iloc[0] > (every["high"] - every["low"]).iloc[0]


def test_what_is_no_constant_is_refused():
    audit, _ = world(60)
    for given in ({"lipschitz": 0}, {"lipschitz": "1"}, {"distance": "manhattan"}):
        with pytest.raises(ee.errors.ParameterError):
            audit.fairness_through_awareness(**given)


@pytest.mark.parametrize("both", [True, False], ids=["everybody", "between groups"])
def test_the_interval_holds_its_level(both):
    """Scores and places uniform: gaps G, H have the density 2 (1 - g), so that P(G > H / 2) = 17 / 24, since
    P(G <= H / 2) is the integral of (h - h^2 / 4) 2 (1 - h); 400 samples of 60 people a group."""
    rng, truth = np.random.default_rng(8), 17 / 24
    held = 0
    for _ in range(400):
        p, places = rng.random(120), rng.random(120)
        codes = np.repeat([0, 1], 60)
        seen = awareness.pairs_of(p, awareness._Line(places), codes, 0.5)
        if both:
            each = seen.violating.sum(axis=1) / 119
            sides, n = [each, each], 120 * 119 // 2
        else:
            sides, n = [seen.violating[:60, 1] / 60, seen.violating[60:, 0] / 60], 3600
        one = awareness._share(NotionReading("awareness_share"), n, sides, 0.95)
        held += one.low <= truth <= one.high
    assert held / 400 > 0.95 - 4 * (0.95 * 0.05 / 400) ** 0.5


def test_the_family_has_defaults():
    audit, _ = world(60)
    found = Awareness().readings(audit._audited())
    assert [one.notion for one in found] == ["awareness_share", "awareness_violation", "awareness_lipschitz"] * 2
