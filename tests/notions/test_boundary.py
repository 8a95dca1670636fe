"""Distance to the boundary: closed forms for linear models, brute force for trees, what has none."""

from math import isnan

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, ttest_ind
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.chance import fewest
from tests.notions.made import world

import equieffort as ee
from equieffort.notions.boundary import Boundary

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


@pytest.mark.parametrize(
    "model", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())], ids=["plain", "scaled"]
)
def test_a_linear_score_over_the_length_of_its_weights(model):
    audit, _ = world(200, model)
    found, fitted = audit.boundary_distance(), audit.inputs.classifier
    data = audit.recourse.data[["X1", "X2", "X3"]]
    coef = fitted.coef_ if hasattr(fitted, "coef_") else fitted[-1].coef_
    score = fitted.decision_function(data)
    refused = score <= 0
    expected = -score[refused] / np.sqrt((coef**2).sum())
    assert found.people["distance"].to_numpy() == pytest.approx(expected)
    groups = audit.recourse.data["A"].to_numpy()[refused]
    mine, theirs = expected[groups == -1], expected[groups == 1]
    row = found.frame().set_index("notion").loc["boundary_gap"]
    assert row["estimate"] == pytest.approx(abs(mine.mean() - theirs.mean()))
    assert (row["n"], row["n_against"]) == (len(mine), len(theirs))
    low, high = ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
    ends = sorted([abs(low), abs(high)])
    assert (row["low"], row["high"]) == pytest.approx((0.0 if low < 0 < high else ends[0], ends[1]))


def test_a_declared_threshold_moves_the_boundary():
    made = ee.datasets.fair_recourse("CAU linear")
    people, labels = made.sample(150, random_state=3)
    model = LogisticRegression().fit(people[["X1", "X2", "X3"]], labels)
    schema = ee.Schema(sensitive="A", protected=-1, favourable=1, threshold=0.8, features={"X1": "actionable"})
    found = ee.audit(model, people, schema=schema, scm=made.scm).boundary_distance().people["distance"]
    score = np.log(4) - model.decision_function(people[["X1", "X2", "X3"]])
    assert found.to_numpy() == pytest.approx(score[score > 0] / np.linalg.norm(model.coef_), abs=1e-9)


def test_encoded_categories_count_as_the_model_sees_them():
    rng = np.random.default_rng(2)
    people = pd.DataFrame(
        {"sex": rng.choice(["f", "m"], 80), "job": rng.choice(["a", "b", "c"], 80), "x": rng.normal(size=80)}
    )
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler())
    labels = people["x"] + (people["job"] == "a") > 0.5
    model = make_pipeline(encode, LogisticRegression()).fit(people[["job", "x"]], labels)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"x": "actionable"})
    audit = ee.audit(model, people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people))
    score = model.decision_function(people[["job", "x"]])
    expected = -score[score <= 0] / np.linalg.norm(model[-1].coef_)
    assert audit.boundary_distance().people["distance"].to_numpy() == pytest.approx(expected)


def test_a_tree_by_brute_force_over_its_boxes():
    """Each approved leaf is a box: the nearest of them by changes over ranges, whatever the causes and limits say."""
    audit, _ = world(120, DecisionTreeClassifier(max_depth=3, random_state=0), X1="immutable", X2="mutable")
    data = audit.recourse.data[["X1", "X2", "X3"]]
    tree = audit.inputs.classifier.tree_
    boxes = []

    def walk(node, low, high):
        if tree.children_left[node] < 0:
            if tree.value[node][0][1] > tree.value[node][0][0]:
                boxes.append((low, high))
            return
        k, cut = tree.feature[node], tree.threshold[node]
        walk(tree.children_left[node], low, np.where(np.arange(3) == k, np.minimum(high, cut), high))
        walk(tree.children_right[node], np.where(np.arange(3) == k, np.maximum(low, cut), low), high)

    walk(0, np.full(3, -np.inf), np.full(3, np.inf))
    ranges = (data.max() - data.min()).to_numpy()
    found = audit.boundary_distance().people["distance"]
    for person, distance in found.items():
        x = data.loc[person].to_numpy()
        least = min(((np.maximum(low - x, 0) + np.maximum(x - high, 0)) / ranges).sum() for low, high in boxes)
        assert distance == pytest.approx(least, abs=1e-5)


def test_people_are_drawn_where_each_is_solved():
    audit, _ = world(120, DecisionTreeClassifier(max_depth=3, random_state=0), X1="mutable")
    some = audit.boundary_distance(each=10)
    assert some.people["group"].value_counts().to_dict() == {"-1": 10, "1": 10}
    assert some.frame()["note"].str.contains("SAMPLED").all()
    every = audit.boundary_distance(each=None).people
    assert len(every) == audit.recourse.is_unfavourable.sum()
    assert some.people["distance"].to_numpy() == pytest.approx(every.loc[some.people.index, "distance"].to_numpy())


def test_black_boxes_have_no_distance():
    audit, _ = world(60, KNeighborsClassifier(3), X1="mutable", X3="mutable")
    found = Boundary().readings(audit._audited())
    assert [one.notion for one in found] == ["boundary_distance", "boundary_gap"]
    assert "only be asked" in found[0].why
    assert "Not read" in str(audit.boundary_distance())


def test_nobody_refused_and_one_person():
    people = pd.DataFrame({"sex": list("fmfm"), "x": [0.0, 1, 2, 3]})
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"x": "actionable"})
    scm = ee.StructuralCausalModel([]).fit(people)
    none = ee.audit(ee.LinearScore({"x": 1}, threshold=-1), people, schema=schema, scm=scm).boundary_distance()
    assert set(none.frame()["note"]) == {"NO_REFUSED"}
    one = ee.audit(ee.LinearScore({"x": 1}, threshold=0.5), people, schema=schema, scm=scm).boundary_distance()
    rows = one.frame().set_index(["notion", "group"])
    assert rows.loc[("boundary_distance", "f"), "estimate"] == 0.5
    assert "TOO_FEW" in rows.loc[("boundary_distance", "f"), "note"]
    assert isnan(rows.loc[("boundary_gap", "f"), "estimate"])


@pytest.mark.parametrize("audits", [15, pytest.param(100, marks=pytest.mark.verify)])
def test_the_interval_holds_its_level(audits):
    """Normal places with means -0.5 and 0.5, refused below 0: the mean distance of each is known."""
    rng = np.random.default_rng(1)
    model = ee.LinearScore({"x": 2.0}, threshold=0.0)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"x": "actionable"})

    def mean(m):
        """E[-x | x < 0] of a normal with mean m and deviation 1."""
        return norm.pdf(m) / norm.cdf(-m) - m

    truth, held = abs(mean(-0.5) - mean(0.5)), 0
    for _ in range(audits):
        sex = np.repeat(["f", "m"], 100)
        people = pd.DataFrame({"sex": sex, "x": rng.normal(np.where(sex == "f", -0.5, 0.5), 1)})
        audit = ee.audit(model, people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people))
        row = audit.boundary_distance().frame().set_index("notion").loc["boundary_gap"]
        held += row["low"] <= truth <= row["high"]
    assert held >= fewest(audits)
