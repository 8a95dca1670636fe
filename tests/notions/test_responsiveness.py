"""Responsiveness: closed forms, brute force over fine grids, levels by hand; preclusion from hand-made tables."""

from math import isnan, nan

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier
from tests.chance import fewest
from tests.notions.made import audited_of, world

import equieffort as ee
from equieffort.notions.responsiveness import Responsiveness

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def linear(features, edges=(), *, weights=None, threshold=3.0, people=None, scm=None):
    """People with sex, income, savings; approved when the weighted sum reaches the threshold."""
    if people is None:
        people = pd.DataFrame(
            {"sex": list("fmfm"), "income": [0.0, 1.0, 2.0, 9.0], "savings": [0.5, 0.0, 0.5, 9.0], "size": [1, 2, 3, 4]}
        )
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
    model = ee.LinearScore(weights or {"income": 1.0, "savings": 1.0}, threshold=threshold)
    return ee.audit(model, people, schema=schema, scm=scm or ee.StructuralCausalModel(edges).fit(people))


def test_closed_form_with_a_follower():
    """savings = income / 2 + noise: income v is approved from 1.5 v + noise >= 3 on, v in [0, 4]."""
    scm = ee.StructuralCausalModel([("income", "savings")], mechanisms={"savings": ee.Linear({"income": 0.5})})
    audit = linear({"income": ee.Feature("actionable", lower=0, upper=4), "savings": "mutable"}, scm=scm)
    people, found = audit.recourse.data, audit.responsiveness()
    noise = people["savings"] - people["income"] / 2
    start = (3 - noise) / 1.5
    for person, share in found.people["income"].items():
        assert share == pytest.approx((4 - start[person]) / 4, abs=1e-9)
    assert "GRID" not in set(found.frame()["note"])


def test_a_plausible_range_of_a_follower_is_left_out_of_what_can_be_reached():
    """The same, but savings may not go beyond 1.5: income only up to 3 - 2 noise."""
    scm = ee.StructuralCausalModel([("income", "savings")], mechanisms={"savings": ee.Linear({"income": 0.5})})
    savings = ee.Feature("mutable", plausible=(-9, 1.5))
    audit = linear({"income": ee.Feature("actionable", lower=0, upper=4), "savings": savings}, scm=scm)
    people, found = audit.recourse.data, audit.responsiveness().people["income"]
    noise = people["savings"] - people["income"] / 2
    for person, share in found.items():
        most, start = min(4.0, 3 - 2 * noise[person]), (3 - noise[person]) / 1.5
        assert share == pytest.approx(max(most - start, 0) / most, abs=1e-8)


def test_whole_numbers_are_counted_without_the_fact():
    people = pd.DataFrame({"sex": ["f", "m", "m"], "size": [1, 2, 9]})
    features = {"size": ee.Feature("actionable", lower=0, upper=5)}
    audit = linear(features, weights={"size": 1.0}, threshold=4.0, people=people)
    # Of 0 to 5 without the own value two are at least 4.
    assert audit.responsiveness().people["size"].tolist() == [2 / 5, 2 / 5]


def test_levels_are_counted():
    people = pd.DataFrame({"sex": ["f", "m", "m", "f"], "job": ["a", "b", "c", "d"]})
    model = make_pipeline(OneHotEncoder(), LogisticRegression(C=100)).fit(people[["job"]], [False, False, True, True])
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"job": "actionable"})
    audit = ee.audit(model, people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people))
    assert audit.responsiveness().people["job"].tolist() == pytest.approx([2 / 3, 2 / 3])


def test_without_a_limit_there_is_no_share():
    audit = linear({"income": ee.Feature("actionable", lower=0, upper=float("inf"))})
    found = audit.responsiveness()
    assert found.people["income"].isna().all()
    rows = found.frame().query("notion == 'responsiveness'")
    assert rows["estimate"].isna().all()
    assert rows["n_undefined"].sum() == 3
    assert set(rows["note"]) == {"NOTHING_DEFINED"}


@pytest.mark.parametrize(
    "model",
    [DecisionTreeClassifier(max_depth=5, random_state=0), RandomForestClassifier(7, max_depth=3, random_state=0)],
    ids=["tree", "forest"],
)
def test_trees_against_a_fine_grid(model):
    """X3 has no followers, so that the share is exact; a grid of 20,001 points is right to a few ten-thousandths."""
    audit, _ = world(60, model, X1="mutable")
    found = audit.responsiveness(cells=4)
    assert "GRID" not in set(found.frame().query("variant == 'X3'")["note"])
    problem, table = audit.inputs.problem, audit.recourse
    for person in found.people.index[:4]:
        feature = problem.schema.feature("X3")
        fine = np.linspace(*feature.observed, 20_001)
        rows = table.data.loc[[person] * len(fine)].assign(X3=fine)
        share = problem.decision.is_favourable(rows).mean()
        assert found.people.loc[person, "X3"] == pytest.approx(share, abs=2e-3)


def test_a_follower_against_the_true_equations():
    """X3 follows X1 in the world itself: a fine grid through its counterfactuals."""
    audit, _ = world(150)
    made = ee.datasets.fair_recourse("CAU linear")
    found, table, problem = audit.responsiveness(), audit.recourse, audit.inputs.problem
    for person in found.people.index[:4]:
        fine = np.linspace(*problem.schema.feature("X1").observed, 20_001)
        rows = table.data.loc[[person] * len(fine)].reset_index(drop=True)
        after = made.counterfactual(made.noise(rows), do={"X1": fine})
        share = problem.decision.is_favourable(after).mean()
        assert found.people.loc[person, "X1"] == pytest.approx(share, abs=2e-3)


def test_by_group_it_is_the_mean_over_the_refused_and_its_gap():
    audit, _ = world(200)
    found = audit.responsiveness()
    by_group = found.people.groupby("group")["X2"].mean()
    rows = found.frame().query("variant == 'X2'").set_index("notion")
    means = rows.loc["responsiveness"].set_index("group")["estimate"]
    assert means.to_dict() == pytest.approx(by_group.to_dict())
    gap = rows.loc["responsiveness_gap"]
    assert gap["estimate"] == pytest.approx(by_group["-1"] - by_group["1"])
    assert gap["low"] < gap["estimate"] < gap["high"]
    assert gap["n"] + gap["n_against"] == audit.recourse.is_unfavourable.sum()


def test_preclusion_by_hand_with_an_unknown():
    found = audited_of("aaaabbbb", "oiiunooi", [0.1, nan, nan, nan, nan, 0.2, 0.3, nan])
    rows = {(one.notion, one.group): one for one in Responsiveness().readings(found) if hasattr(one, "n")}
    mine = rows["preclusion", "a"]
    assert (mine.estimate, mine.least, mine.most, mine.n, mine.note) == (0.5, 0.5, 0.75, 4, "UNCERTIFIED")
    assert (rows["preclusion", "b"].estimate, rows["preclusion", "b"].n) == (1 / 3, 3)
    gap = rows["preclusion_gap", "a"]
    assert (gap.estimate, gap.least, gap.most) == pytest.approx((1 / 6, 1 / 6, 3 / 4 - 1 / 3))
    assert gap.low < gap.least
    assert gap.high > gap.most


def test_preclusion_is_what_rho_leaves():
    audit, _ = world(200, X1=ee.Feature("actionable", max_increase=0.5), X2="immutable", X3="mutable")
    rows = audit.responsiveness().frame().set_index(["notion", "group"])
    for group, row in audit.by_group.iterrows():
        assert rows.loc[("preclusion", group), "estimate"] == pytest.approx(1 - row["rho"])
    rd = audit.measures.set_index("measure").loc["rd"]
    assert rows.loc[("preclusion_gap", "-1"), "estimate"] == pytest.approx(rd["estimate"])


def test_nobody_refused():
    found = Responsiveness().readings(audited_of("aabb", "nnnn", [nan] * 4))
    numbers = [one for one in found if hasattr(one, "n")]
    assert {one.note for one in numbers} == {"NO_REFUSED"}
    assert all(isnan(one.estimate) for one in numbers)
    assert linear({"income": "actionable"}, threshold=-1e3).responsiveness().people.empty


def test_a_loaded_audit_has_preclusion_and_refuses_the_rest(tmp_path):
    audit, _ = world(100)
    audit.save(tmp_path / "some.audit")
    loaded = ee.load(tmp_path / "some.audit")
    kinds = [type(one).__name__ for one in Responsiveness().readings(loaded._audited())]
    assert kinds.count("NotApplicable") == 2
    assert kinds.count("NotionReading") == 3
    with pytest.raises(ee.errors.ParameterError, match="read from a file") as caught:
        loaded.responsiveness()
    assert caught.value.code == "AUDIT_LOADED"


@pytest.mark.parametrize("audits", [15, pytest.param(100, marks=pytest.mark.verify)])
def test_the_interval_of_the_gap_holds_its_level(audits):
    """In the world X2 is unmoved by A and the model is the true score: both groups' responsiveness to X2 has a true
    value, taken from 40,000 people; audits of 120 people."""
    made = ee.datasets.fair_recourse("CAU linear")
    model = ee.LinearScore({"X1": 1.0, "X2": -1.0, "X3": 1.0}, threshold=0.0)
    limits = {"X2": ee.Feature("actionable", lower=-3, upper=3)}
    schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=limits)

    def closed_form(people):
        """Approved for X2 at most v with v = X1 + X3 of the person (X2 moves X3 by -0.5 as well)."""
        noise = people["X3"] + 0.5 * people["X2"]
        most = (people["X1"] + noise) / 1.5
        return np.clip((most + 3) / 6, 0, 1)

    many, _ = made.sample(40_000, random_state=9)
    refused = many["X1"] - many["X2"] + many["X3"] < 0
    shares = closed_form(many)[refused]
    truth = shares[many["A"] == -1].mean() - shares[many["A"] == 1].mean()
    held = 0
    for k in range(audits):
        people, _ = made.sample(120, random_state=k)
        people["X2"] = people["X2"].clip(-3, 3)
        audit = ee.audit(model, people, schema=schema, scm=made.scm)
        gap = audit.responsiveness(cells=2).frame().set_index("notion").loc["responsiveness_gap"]
        held += gap["low"] <= truth <= gap["high"]
    assert held >= fewest(audits)
