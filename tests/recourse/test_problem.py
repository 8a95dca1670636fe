"""RecourseProblem: parts checked against each other, limits for each person, and pickling."""

import math
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.limits import unlimited

import equieffort as ee
from equieffort import (
    MAD,
    Feature,
    Function,
    Linear,
    LinearScore,
    Own,
    Percentile,
    Range,
    RecourseProblem,
    Schema,
    Separable,
    Std,
    StructuralCausalModel,
    WeightedL1,
    solve,
)
from equieffort.errors import CausalModelError, DataError, EquieffortWarning, ParameterError, SchemaError
from equieffort.models.classifiers import BlackBox, LinearView


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.integers(20, 70, n)})
    frame["income"] = 10.0 + 0.2 * frame["age"] + 2.0 * (frame["sex"] == "m") + rng.normal(size=n)
    frame["debt"] = 30.0 - 0.8 * frame["income"] + rng.normal(size=n)
    return frame


EDGES = [("sex", "income"), ("age", "income"), ("income", "debt")]
ROLES = {"income": "actionable", "debt": "actionable", "age": "immutable"}
RULE = LinearScore({"income": 1.0, "debt": -1.0}, threshold=8.0)


def problem(frame=None, *, clf=RULE, features=None, edges=EDGES, schema=None, scm=None, **more):
    frame = people() if frame is None else frame
    declared = {"sensitive": "sex", "protected": "f", "favourable": True, "features": unlimited(features or ROLES)}
    return RecourseProblem.of(
        clf,
        frame,
        schema=Schema(**declared | (schema or {})),
        scm=StructuralCausalModel(edges).fit(frame) if scm is None else scm,
        **more,
    )


def slopes(fact, values):
    return np.where(values > fact, 2.0, 1.0) * np.abs(values - fact)


COSTS = {
    "range": WeightedL1(),
    "weights": WeightedL1(weights={"debt": 2.5}),
    "quantile range": WeightedL1(scale=Range(quantiles=(0.05, 0.95))),
    "std": WeightedL1(scale=Std()),
    "mad": WeightedL1(scale={"income": MAD(), "debt": Std()}),
    "own": WeightedL1(scale=Own()),
    "percentile": Percentile(),
    "percentile, few knots": Percentile(knots=5),
    "percentile within the group": Percentile(within="group"),
    "separable": Separable({"income": slopes, "debt": slopes}),
}


@pytest.mark.parametrize("cost", COSTS.values(), ids=COSTS)
def test_a_pickled_problem_solves_alike(cost):
    frame = people()
    one = problem(frame, cost=cost)
    two = pickle.loads(pickle.dumps(one))
    first, second = solve(one, frame), solve(two, frame)
    assert first.has_action.sum() > 10
    pd.testing.assert_frame_equal(first.frame(), second.frame(), check_exact=True)
    pd.testing.assert_frame_equal(first.counterfactuals(), second.counterfactuals(), check_exact=True)
    # Also after it was used, with all it remembers.
    third = solve(pickle.loads(pickle.dumps(one)), frame)
    pd.testing.assert_frame_equal(first.frame(), third.frame(), check_exact=True)


def test_a_pickled_problem_with_a_pipeline_and_categories_solves_alike():
    rng = np.random.default_rng(1)
    frame = people(120).assign(job=rng.choice(["a", "b", "c"], 120))
    label = (frame["income"] - frame["debt"] + 2 * (frame["job"] == "b") > 9).map({True: "good", False: "bad"})
    encode = make_column_transformer((OneHotEncoder(), ["job"]), (StandardScaler(), ["income", "debt"]))
    clf = make_pipeline(encode, LogisticRegression()).fit(frame.drop(columns="sex"), label)
    one = problem(
        frame,
        clf=clf,
        features=ROLES | {"job": Feature("actionable", weight=0.05)},
        scm=StructuralCausalModel(EDGES, nodes=["job"]).fit(frame),
        schema={"favourable": "good"},
    )
    first = solve(one, frame)
    assert first.frame()["do_job"].notna().any()
    second = solve(pickle.loads(pickle.dumps(one)), frame)
    pd.testing.assert_frame_equal(first.frame(), second.frame(), check_exact=True)


def neighbours(frame):
    names = ["income", "debt"]
    return KNeighborsClassifier(5).fit(frame[names], frame["income"] - frame["debt"] > 8)


def test_a_classifier_without_a_view_is_kept_with_the_reason():
    frame = people()
    one = problem(frame, clf=neighbours(frame))
    assert isinstance(one.view, BlackBox)
    assert "KNeighborsClassifier" in one.view.reason


def test_a_problem_without_a_view_can_be_pickled():
    frame = people()
    two = pickle.loads(pickle.dumps(problem(frame, clf=neighbours(frame))))
    assert isinstance(two.view, BlackBox)
    assert "KNeighborsClassifier" in two.view.reason


def test_a_problem_whose_model_fits_poorly_can_be_pickled():
    """The causal model carries its warnings along."""
    frame = people().assign(debt=np.random.default_rng(5).normal(size=60))
    with pytest.warns(EquieffortWarning, match="debt"):
        scm = StructuralCausalModel(EDGES).fit(frame)
    two = pickle.loads(pickle.dumps(problem(frame, scm=scm)))
    assert [warning.code for warning in two.scm.warnings_] == ["SCM_POOR_FIT"]
    assert two.scm.warnings_[0].what == scm.warnings_[0].what


def test_scales_come_from_what_the_causal_model_was_fitted_on():
    everyone = people(200)
    few = everyone.iloc[:20]
    scm = StructuralCausalModel(EDGES).fit(everyone)
    assert np.ptp(few["income"]) < np.ptp(everyone["income"])
    np.testing.assert_allclose(problem(few, scm=scm).cost.up[0], 1 / np.ptp(everyone["income"]))
    np.testing.assert_allclose(problem(few, scm=scm, reference=few).cost.up[0], 1 / np.ptp(few["income"]))


def test_scales_are_the_same_after_the_causal_model_was_pickled():
    everyone = people(200)
    scm = StructuralCausalModel(EDGES).fit(everyone)
    again = pickle.loads(pickle.dumps(scm))
    few = everyone.iloc[:20]
    np.testing.assert_allclose(problem(few, scm=again).cost.up, problem(few, scm=scm).cost.up)


def test_scales_of_features_outside_the_graph_are_not_guessed_after_pickling():
    everyone = people(200)
    scm = StructuralCausalModel([], nodes=["age", "sex"]).fit(everyone)
    few, again = everyone.iloc[:20], pickle.loads(pickle.dumps(scm))
    with pytest.raises(ParameterError, match="'income'") as caught:
        problem(few, scm=again)
    assert caught.value.code == "PARAMETER"
    np.testing.assert_allclose(problem(few, scm=again, reference=everyone).cost.up, problem(few, scm=scm).cost.up)


@pytest.mark.parametrize("form", [pl.DataFrame, pa.Table.from_pandas, dict], ids=["polars", "pyarrow", "dict"])
def test_any_table(form):
    frame = people()
    one, two = problem(frame), problem(form(frame), scm=StructuralCausalModel(EDGES).fit(frame))
    pd.testing.assert_frame_equal(solve(one, frame).frame(), solve(two, form(frame)).frame())


def test_the_sensitive_column_may_come_beside():
    frame = people()
    plain = solve(problem(frame), frame).frame()
    beside = frame.drop(columns="sex")
    for given_beside in (frame["sex"], frame["sex"].to_numpy(), frame[["sex"]]):
        one = problem(beside, scm=StructuralCausalModel(EDGES).fit(frame), sensitive_features=given_beside)
        pd.testing.assert_frame_equal(solve(one, beside, sensitive_features=given_beside).frame(), plain)


def box_by_hand(feature, fact):
    """Every limit that the fact keeps holds; one it already breaks becomes the fact itself."""
    low, high = -math.inf, math.inf
    plausible = feature.plausible or (None, None)
    for limit in (feature.lower, plausible[0]):
        if limit is not None:
            low = max(low, min(limit, fact))
    for limit in (feature.upper, plausible[1]):
        if limit is not None:
            high = min(high, max(limit, fact))
    if feature.max_decrease is not None:
        low = max(low, fact - feature.max_decrease)
    if feature.max_increase is not None:
        high = min(high, fact + feature.max_increase)
    if feature.direction == "up":
        low = fact
    if feature.direction == "down":
        high = fact
    return low, high


AMOUNT = st.one_of(st.none(), st.floats(0, 60))
SIZE = st.one_of(st.none(), st.floats(0, 20))
PROBLEM = problem()


@given(AMOUNT, AMOUNT, SIZE, SIZE, AMOUNT, AMOUNT, st.sampled_from(["both", "up", "down"]), st.booleans())
@settings(max_examples=80, deadline=None)
def test_the_box_of_each_person(lower, upper, rise, fall, least, most, direction, whole):
    if lower is not None and upper is not None:
        lower, upper = sorted((lower, upper))
    if least is not None and most is not None:
        least, most = sorted((least, most))
    feature = Feature(
        "actionable",
        lower=lower,
        upper=upper,
        max_increase=rise,
        max_decrease=fall,
        direction=direction,
        plausible=None if least is None and most is None else (least, most),
    )
    name = "age" if whole else "income"
    schema = Schema(sensitive="sex", protected="f", favourable=True, features=unlimited({name: feature}))
    one = RecourseProblem(
        PROBLEM.decision, PROBLEM.view, PROBLEM.scm, schema, PROBLEM.encoding, PROBLEM.cost, PROBLEM.margin
    )
    facts = people(12)
    matrix = PROBLEM.encoding.encode(facts)
    low, high = one.action_box(matrix)
    for row, fact in enumerate(facts[name].tolist()):
        by_hand = box_by_hand(feature, fact)
        if whole:
            by_hand = (
                math.ceil(by_hand[0]) if math.isfinite(by_hand[0]) else by_hand[0],
                (math.floor(by_hand[1]) if math.isfinite(by_hand[1]) else by_hand[1]),
            )
        assert (low[row, 0], high[row, 0]) == by_hand
        assert low[row, 0] <= fact <= high[row, 0]
    outside = one.outside(matrix)
    for row, fact in enumerate(facts[name].tolist()):
        broken = [
            (lower is not None and fact < lower),
            (upper is not None and fact > upper),
            (least is not None and fact < least),
            (most is not None and fact > most),
        ]
        assert outside[row] == any(broken)


def test_plausible_ranges():
    one = problem(features={"income": "actionable", "debt": Feature("mutable", plausible=(5, 10)), "age": "immutable"})
    matrix = np.array([[0.0, 30.0, 20.0, 7.0], [0.0, 30.0, 20.0, 2.0], [0.0, 30.0, 20.0, 12.0]])
    assert one.names == ("sex", "age", "income", "debt")
    least, most = one.plausible(matrix, 3)
    assert (least.tolist(), most.tolist()) == ([5, 2, 5], [10, 10, 12])
    for fixed in (0, 1):  # protected, and declared immutable
        least, most = one.plausible(matrix, fixed)
        assert least.tolist() == most.tolist() == matrix[:, fixed].tolist()
    least, most = one.plausible(matrix, 2)
    assert np.isneginf(least).all()
    assert np.isposinf(most).all()


def test_positions_follow_the_schema():
    frame = people().assign(job=["a", "b", "c"] * 20, extra=1.0)
    features = {
        "job": "actionable",
        "debt": Feature("actionable", weight=3),
        "income": "actionable",
        "extra": "immutable",
    }
    one = problem(frame, features=features | {"age": "immutable"})
    named = [one.names[k] for k in one.acts]
    assert named == ["debt", "income", "job"]
    assert [one.names[k] for k in one.numeric] == ["debt", "income"]
    assert [one.names[k] for k in one.categorical] == ["job"]
    assert one.names[:4] == one.scm.graph.nodes
    np.testing.assert_array_equal(one.level_prices[0].known, [1.0])
    np.testing.assert_allclose(one.cost.up * [np.ptp(frame["debt"]), np.ptp(frame["income"])], [3.0, 1.0])


def test_margin():
    frame = people()
    near, far = problem(frame), problem(frame, margin=2.0)
    again = near.with_margin(2.0)
    refused = ~RULE.predict(frame)
    cheap, dear = solve(near, frame), solve(far, frame)
    assert (dear.cost[refused] > cheap.cost[refused]).all()
    score = RULE.score(dear.counterfactuals()) - RULE.threshold
    np.testing.assert_allclose(score[refused], 2.0, atol=1e-6)
    np.testing.assert_array_equal(solve(again, frame).cost, dear.cost)
    for margin in (-1.0, math.nan, math.inf):
        with pytest.raises(ParameterError):
            problem(frame, margin=margin)


def test_kinds_of_schema_and_causal_model_must_agree():
    frame = people().assign(job=[0, 1, 2] * 20)
    features = ROLES | {"job": Feature("actionable", kind="categorical")}
    edges = [*EDGES, ("job", "income")]
    with pytest.raises(SchemaError) as caught:
        problem(frame, features=features, edges=edges)
    assert caught.value.code == "SCHEMA_KIND"
    scm = StructuralCausalModel(edges, categorical=["job"]).fit(frame)
    assert problem(frame, features=features, scm=scm).encoding["job"].levels == (0, 1, 2)


def test_protected_codes_that_enter_as_amounts_are_warned_about():
    frame = people().assign(race=[0, 1, 2] * 20)
    edges = [*EDGES, ("race", "income")]
    schema = {"sensitive": "race", "protected": 0, "reference": 1}
    with pytest.warns(EquieffortWarning, match="'race'") as caught:
        problem(frame, edges=edges, schema=schema)
    assert [entry.message.code for entry in caught] == ["SCM_NUMERIC_CODES"]
    problem(frame, schema=schema, scm=StructuralCausalModel(edges, categorical=["race"]).fit(frame))


def test_a_category_below_an_action_needs_to_be_immutable():
    frame = people().assign(job=np.where(people()["income"] > 20, "a", "b"))
    edges = [*EDGES, ("income", "job")]
    with pytest.raises(CausalModelError, match="'job'") as caught:
        problem(frame, features=ROLES | {"job": "mutable"}, edges=edges)
    assert caught.value.code == "SCM_CANNOT_ABDUCT"
    problem(frame, features=ROLES | {"job": "immutable"}, edges=edges)


def test_a_linear_view_is_believed_only_if_the_labels_follow_it(monkeypatch):
    class Moody(LogisticRegression):
        """Decides against its own coefficients."""

        def predict(self, X):
            return ~super().predict(X)

    Moody.__module__, Moody.__name__ = "sklearn.linear_model", "LogisticRegression"
    frame = people()
    clf = Moody().fit(frame[["income", "debt"]], frame["income"] - frame["debt"] > 8)
    one = problem(frame, clf=clf)
    assert isinstance(one.view, BlackBox)
    assert "class of its own" in one.view.reason
    for room in ("unwrap", "linear_scores"):
        monkeypatch.setattr(f"equieffort.models.classifiers.{room}.require_plain", lambda *things, library="": None)
    one = problem(frame, clf=clf)
    assert isinstance(one.view, BlackBox)
    assert "labels" in one.view.reason
    honest = LogisticRegression().fit(frame[["income", "debt"]], frame["income"] - frame["debt"] > 8)
    assert isinstance(problem(frame, clf=honest).view, LinearView)


def test_given_equations_need_no_fit():
    frame = people()
    scm = StructuralCausalModel(
        EDGES,
        mechanisms={"income": Function(lambda causes: 0.2 * causes["age"]), "debt": Linear({"income": -0.8})},
    )
    one = problem(frame, scm=scm)
    assert not scm.is_fitted
    assert one.scm.is_fitted
    learned = StructuralCausalModel(EDGES)
    assert problem(frame, scm=learned).scm.equations() == StructuralCausalModel(EDGES).fit(frame).equations()
    assert not learned.is_fitted


def test_percentile_when_only_categories_are_actionable():
    frame = people().assign(owner=[True, False] * 30)
    rule = LinearScore({"income": 1.0, "owner": 5.0}, threshold=25.0)
    scm = StructuralCausalModel(EDGES, nodes=["owner"]).fit(frame)
    one = problem(frame, clf=rule, scm=scm, features={"owner": "actionable", "age": "immutable"}, cost=Percentile())
    found = solve(one, frame)
    assert set(found.cost[found.has_action]) == {1.0}


# -- a reference in which values are missing ---------------------------------------------------------------------------


def lacking_reference():
    X = pd.DataFrame(
        {"g": ["a", "b"] * 20, "income": [float(k) for k in range(40)], "debt": [k / 2 + k % 3 for k in range(40)]}
    )
    schema = ee.Schema(
        sensitive="g", protected="a", favourable=True, features={"income": "actionable", "debt": "mutable"}
    )
    rule = ee.LinearScore({"income": 1.0}, threshold=30.0)
    # Without the two who lack it, incomes span 10 to 110.
    reference = X.assign(income=np.linspace(10, 110, 40))
    reference = pd.concat([reference, reference.iloc[:2].assign(income=np.nan)], ignore_index=True)
    return X, schema, rule, reference


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_people_who_lack_a_value_leave_the_reference_and_are_counted():
    X, schema, rule, reference = lacking_reference()
    scm = ee.StructuralCausalModel([], nodes=["debt", "income"])
    with pytest.warns(EquieffortWarning, match="2 of 42 people leave the reference data.*'income'"):
        audit = ee.audit(rule, X, schema=schema, scm=scm, reference=reference, missing="drop")
    # Income 14 lacks 16 of a range of 100.
    assert audit.recourse.cost[14] == pytest.approx(0.16)
    with pytest.warns(EquieffortWarning, match="2 of 42 people leave the reference data"):
        one = ee.find_recourse(rule, X.iloc[14], schema=schema, scm=[], reference=reference)
    assert one.cost == pytest.approx(0.16)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_where_they_do_not_leave_the_message_says_that_it_is_the_reference():
    X, schema, rule, reference = lacking_reference()
    scm = ee.StructuralCausalModel([], nodes=["debt", "income"])
    with pytest.raises(DataError, match=r"'income' of the reference data has 2 missing values[\s\S]*missing=.drop"):
        ee.audit(rule, X, schema=schema, scm=scm, reference=reference)
    fitted = ee.StructuralCausalModel([], nodes=["debt", "income"]).fit(reference, missing="model")
    with pytest.raises(DataError, match="'income' of what the causal model was fitted on has 2 missing values"):
        ee.audit(rule, X, schema=schema, scm=fitted)
    with pytest.raises(DataError, match="Every row of the reference data lacks a value"):
        ee.audit(rule, X, schema=schema, scm=scm, reference=reference.tail(2), missing="drop")
