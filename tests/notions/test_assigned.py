"""What people whose group is not known could make of a notion, against an audit of every assignment."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.notions import FAMILIES
from equieffort.words.notions import notions_text

rng = np.random.default_rng(11)
N, HIDDEN = 36, [4, 9, 30]
X = pd.DataFrame({"group": rng.choice(["a", "b", "c"], N, p=[0.35, 0.25, 0.4]), "income": rng.gamma(3, 10, N)})
X["debt"] = 20 - 0.2 * X["income"] + 6 * (X["group"] == "b") - 4 * (X["group"] == "c") + rng.normal(0, 3, N)
X["cards"] = rng.integers(0, 5, N).astype(float)
Y = X["income"] - 0.5 * X["debt"] + X["cards"] + rng.normal(0, 4, N) > 24
MODEL = LogisticRegression().fit(X[["income", "debt", "cards"]], Y)
FEATURES = {
    "income": ee.Feature("actionable", direction="up", max_increase=60),
    "debt": "mutable",
    "cards": ee.Feature("actionable", lower=0, upper=6),
}
BOUNDED = [
    "counterfactual", "fair_causal_recourse", "discrimination", "boundary", "social_burden", "responsiveness",
    "improvement", "facts",
]  # fmt: skip
KEY = ["notion", "group", "against", "variant"]


def read(frame, only, **declared):
    told = {"sensitive": "group", "protected": "a", "reference": "c", "favourable": True, "features": FEATURES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel([("group", "debt"), ("income", "debt")], nodes=["cards"]).fit(X)
        audit = ee.audit(MODEL, frame, schema=ee.Schema(**told | declared), scm=scm)
        return audit.notions(labels=Y, causes=["income"], only=only)


def hidden(rows):
    found = X.copy()
    found["group"] = found["group"].astype(object)
    found.iloc[rows, 0] = None
    return found


def table(found):
    """Readings by what they are of; the places of trade-offs and the worst group are no part of that."""
    frame = found.frame()
    place = frame["variant"].str.contains("lower at effort") | (frame["variant"] == "worst group")
    return frame.assign(variant=frame["variant"].mask(place, "")).set_index(KEY)


@pytest.mark.parametrize("how", ["c", ee.Rest(), ee.AllPairs()], ids=str)
def test_the_range_is_that_of_all_assignments(how):
    rows = HIDDEN[: 2 if how == "c" else 1]
    found, tried = table(read(hidden(rows), BOUNDED, reference=how)), []
    for values in itertools.product("abc", repeat=len(rows)):
        given = X.copy()
        given.iloc[rows, 0] = list(values)
        tried.append(table(read(given, BOUNDED, reference=how))["estimate"])
    seen = pd.concat(tried, axis=1)
    told = found[found["assigned_least"].notna()]
    for key, row in told.iterrows():
        least, most = seen.loc[key].min(), seen.loc[key].max()
        if "ASSIGNED_OUTER" in row["note"]:
            assert row["assigned_least"] <= least + 1e-9, key
            assert row["assigned_most"] >= most - 1e-9, key
        else:
            assert row["assigned_least"] == pytest.approx(least, abs=1e-9), key
            assert row["assigned_most"] == pytest.approx(most, abs=1e-9), key
    assert set(told["family"]) == set(BOUNDED)
    compared = {"boundary_gap", "social_gap", "responsiveness_gap", "preclusion_gap", "improvement_extra_gap"}
    assert compared | {"counterfactual_fairness_gap", "facts_cost_of_effectiveness"} <= set(told.index.unique(0))


def test_every_reading_of_a_group_is_bounded_or_says_that_it_is_not():
    found = read(hidden(HIDDEN), None)
    frame = table(found).reset_index()
    frame = frame[(frame["group"] != "") & (frame["group"] != "unknown") & frame["estimate"].notna()]
    unbounded = frame[frame["assigned_least"].isna()]
    assert unbounded["note"].str.contains("NOT_ASSIGNED").all()
    assert not frame[frame["assigned_least"].notna()]["note"].str.contains("NOT_ASSIGNED").any()
    reasons = {notion.name: notion for family in FAMILIES for notion in family.notions}
    text = notions_text(found)
    for name in unbounded["notion"].unique():
        assert reasons[name].unassigned
        assert f"({reasons[name].unassigned})" in text


def test_nothing_is_said_of_assignments_where_every_group_is_known():
    found = read(X, ["responsiveness", "facts", "awareness"])
    assert found.frame()["assigned_least"].isna().all()
    assert "if groups were known" not in notions_text(found)


def test_a_side_that_could_change_is_noted():
    """Where the groups of most are not known the gap of efforts can go either way; where one is hidden it cannot."""
    most = np.flatnonzero(X["group"] != "c").tolist()[4:]
    for rows, changes in ((most, True), (HIDDEN[:1], False)):
        frame = read(hidden(rows), ["facts"]).frame().set_index(["notion", "group"])
        one = frame.loc[("facts_mean_recourse", "a")]
        ends = one["estimate"], one["assigned_least"], one["assigned_most"]
        assert (min(ends) < 0 < max(ends)) == changes
        assert ("UNKNOWN_GROUP" in one["note"]) == changes


def test_group_routes_say_that_nothing_bounds_them():
    for frame, said in ((hidden(HIDDEN), True), (X, False)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquieffortWarning)
            scm = ee.StructuralCausalModel([("income", "debt")], nodes=["cards", "group"]).fit(X)
            schema = ee.Schema(sensitive="group", protected="a", reference="c", favourable=True, features=FEATURES)
            audit = ee.audit(MODEL, frame, schema=schema, scm=scm)
        assert ("whose group is not known" in str(audit.group_routes())) == said
