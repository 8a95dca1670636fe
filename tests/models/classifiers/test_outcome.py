"""What counts as favourable: one label, several of them, or a declared threshold on their probability."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.limits import unlimited

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.errors import EquieffortWarning, ModelError, SchemaError
from equieffort.models.classifiers import BlackBox, Decision, LinearView, NoView, linear_view, recognise

rng = np.random.default_rng(3)
X = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400)})
GRADE = np.where(X["a"] + X["b"] > 0.8, "high", np.where(X["a"] - X["b"] > 0, "mid", "low"))
TWO = np.where(X["a"] + 0.5 * X["b"] + rng.normal(size=400) > 0, "yes", "no")
ENCODING = Encoding.of(X, ["a", "b"])


def view_labels(clf, favourable, threshold=None):
    decision = Decision.of(clf, favourable, X, threshold=threshold)
    view = linear_view(decision, ENCODING)
    return view, view.is_favourable(ENCODING.encode(X)), decision.is_favourable(X)


@pytest.mark.parametrize("favourable", ["yes", "no"])
@pytest.mark.parametrize("positive", ["yes", "no", None])
@pytest.mark.parametrize("response", ["predict_proba", "decision_function", "auto"])
def test_a_fixed_threshold_is_recognised(favourable, positive, response):
    at = 0.3 if response == "decision_function" else 0.62
    clf = FixedThresholdClassifier(
        make_pipeline(StandardScaler(), LogisticRegression()),
        threshold=at,
        pos_label=positive,
        response_method=response,
    ).fit(X, TWO)
    view, ours, theirs = view_labels(clf, favourable)
    assert isinstance(view, LinearView)
    np.testing.assert_array_equal(ours, clf.predict(X) == favourable)
    np.testing.assert_array_equal(ours, theirs)
    # The threshold belongs to the positive label.
    assert view.closed is (favourable == (positive or "yes"))
    # It is another rule than the model's own, or nothing would be tested.
    assert (clf.predict(X) != clf.estimator_.predict(X)).any()


def test_a_threshold_inside_a_pipeline_and_a_tuned_one():
    inside = make_pipeline(StandardScaler(), FixedThresholdClassifier(LogisticRegression(), threshold=0.7)).fit(X, TWO)
    tuned = TunedThresholdClassifierCV(LogisticRegression(), cv=3).fit(X, TWO)
    for clf in (inside, tuned):
        for favourable in ("yes", "no"):
            _, ours, theirs = view_labels(clf, favourable)
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("threshold", [None, 0.7])
def test_a_search_over_settings_is_the_model_it_kept(threshold):
    pipe = make_pipeline(StandardScaler(), LogisticRegression())
    clf = GridSearchCV(pipe, {"logisticregression__C": [0.01, 1.0]}, cv=3).fit(X, TWO)
    for favourable in ("yes", "no"):
        view, ours, theirs = view_labels(clf, favourable, threshold)
        assert isinstance(view, LinearView)
        wanted = clf.classes_.tolist().index(favourable)
        expected = clf.predict(X) == favourable if threshold is None else clf.predict_proba(X)[:, wanted] >= threshold
        np.testing.assert_array_equal(ours, expected)
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("favourable", ["yes", "no", ["yes"], {"no"}])
@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.62, 0.9])
def test_a_declared_threshold_is_the_decision(favourable, threshold):
    clf = LogisticRegression().fit(X, TWO)
    wanted = favourable if isinstance(favourable, str) else next(iter(favourable))
    chance = clf.predict_proba(X)[:, clf.classes_.tolist().index(wanted)]
    view, ours, theirs = view_labels(clf, favourable, threshold)
    np.testing.assert_array_equal(theirs, chance >= threshold)
    np.testing.assert_array_equal(ours, theirs)
    assert view.closed


@pytest.mark.parametrize("clf", [SGDClassifier(loss="log_loss", random_state=0), LogisticRegression(C=0.1)], ids=str)
def test_probabilities_that_are_logistic(clf):
    _, ours, theirs = view_labels(clf.fit(X, TWO), "yes", 0.7)
    np.testing.assert_array_equal(ours, theirs)


def test_probabilities_that_are_not_logistic_are_not_guessed():
    clf = SGDClassifier(loss="modified_huber", random_state=0).fit(X, TWO)
    with pytest.raises(NoView, match="not logistic"):
        linear_view(Decision.of(clf, "yes", X, threshold=0.7), ENCODING)


@pytest.mark.parametrize("wanted", [["high"], ["mid"], ["low"], ["high", "mid"], ["low", "high"]], ids=str)
@pytest.mark.parametrize("clf", [LogisticRegression(), RidgeClassifier(), SGDClassifier(random_state=0)], ids=str)
def test_several_outcomes(clf, wanted):
    view, ours, theirs = view_labels(clf.fit(X, GRADE), wanted)
    np.testing.assert_array_equal(theirs, np.isin(clf.predict(X), wanted))
    np.testing.assert_array_equal(ours, theirs)
    assert len(view.goals.sets) == len(wanted)


def test_a_tie_between_outcomes_goes_to_the_first():
    clf = LogisticRegression().fit(X, GRADE)
    clf.coef_, clf.intercept_ = np.zeros_like(clf.coef_), np.zeros(3)
    assert set(clf.predict(X)) == {"high"}
    for wanted, all_of_them in (["high"], True), (["mid"], False), (["low", "high"], True), (["low", "mid"], False):
        view = linear_view(Decision.of(clf, wanted, X), ENCODING)
        assert (view.is_favourable(ENCODING.encode(X)) == all_of_them).all()


def test_the_threshold_counts_the_chances_of_all_wanted_outcomes_together():
    clf = LogisticRegression().fit(X, GRADE)
    decision = Decision.of(clf, ["high", "mid"], X, threshold=0.8)
    chance = clf.predict_proba(X)[:, [0, 2]].sum(axis=1)
    assert clf.classes_.tolist() == ["high", "low", "mid"]
    np.testing.assert_array_equal(decision.is_favourable(X), chance >= 0.8)
    view = recognise(decision, ENCODING, X)
    assert isinstance(view, BlackBox)
    assert "not linear in its scores" in view.reason


def problem_of(clf, favourable, threshold=None):
    people = X.assign(sex=np.where(np.arange(len(X)) % 2, "f", "m"))
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=favourable, threshold=threshold,
        features=unlimited({"a": ee.Feature("actionable", direction="up"), "b": "immutable"}),
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["a", "b", "sex"]).fit(people)
    return ee.RecourseProblem.of(clf, people, schema=schema, scm=scm), people


def test_recourse_reaches_the_declared_threshold_and_no_further():
    clf = LogisticRegression().fit(X, TWO)
    problem, people = problem_of(clf, "yes", 0.62)
    table = ee.solve(problem, people)
    asked = clf.predict_proba(X)[:, 1] < 0.62
    np.testing.assert_array_equal(table.is_unfavourable, asked)
    # By hand: the score must rise to log(.62/.38), and only a moves it.
    score = X.to_numpy() @ clf.coef_[0] + clf.intercept_[0]
    needed = (np.log(0.62 / 0.38) - score) / clf.coef_[0, 0] / np.ptp(X["a"])
    np.testing.assert_allclose(table.cost[asked], needed[asked], rtol=1e-9)
    after = table.counterfactuals()[["a", "b"]]
    chance = clf.predict_proba(after)[asked, 1]
    assert (chance >= 0.62).all()
    np.testing.assert_allclose(chance, 0.62, atol=1e-9)


def test_the_threshold_is_kept_in_the_file(tmp_path):
    clf = LogisticRegression().fit(X, TWO)
    _, people = problem_of(clf, "yes", 0.62)
    problem, _ = problem_of(clf, "yes", 0.62)
    audit = ee.audit(clf, people, schema=problem.schema, scm=problem.scm)
    audit.save(tmp_path / "one.audit")
    assert ee.Audit.load(tmp_path / "one.audit").recourse.source.schema.threshold == 0.62


REFUSED = {
    "a label that is none": (GRADE, ["mid", "hihg"], None, "MODEL_LABELS", "Did you mean 'high'"),
    "all of them": (TWO, ["yes", "no"], None, "MODEL_LABELS", "Every class"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    y, favourable, threshold, code, words = REFUSED[case]
    with pytest.raises(ModelError, match=words) as caught:
        Decision.of(LogisticRegression().fit(X, y), favourable, X, threshold=threshold)
    assert caught.value.code == code


def test_one_of_three_is_meant_against_the_others():
    clf = LogisticRegression().fit(X, GRADE)
    with pytest.warns(EquieffortWarning, match="'mid' is what people want") as caught:
        one = Decision.of(clf, "mid", X)
    assert [w.message.code for w in caught] == ["MODEL_MULTICLASS"]
    assert one.is_favourable(X).tolist() == (clf.predict(X) == "mid").tolist()
    # Whoever writes a list has said so already.
    assert Decision.of(clf, ["mid"], X).is_favourable(X).tolist() == one.is_favourable(X).tolist()


def test_a_threshold_needs_probabilities():
    with pytest.raises(ModelError, match=r"the model \(RidgeClassifier\) gives no probabilities") as caught:
        Decision.of(RidgeClassifier().fit(X, TWO), "yes", X, threshold=0.6)
    assert caught.value.code == "MODEL_NO_PROBABILITY"


@pytest.mark.parametrize("threshold", [0, 1, -0.1, 62, float("nan"), "0.62", True])
def test_a_threshold_is_a_probability(threshold):
    with pytest.raises(SchemaError):
        ee.Schema(sensitive="sex", protected="f", favourable="yes", threshold=threshold)


def test_an_empty_list_of_labels():
    with pytest.raises(SchemaError, match="empty"):
        ee.Schema(sensitive="sex", protected="f", favourable=[])
