"""What an action may set where nobody said how far: 0 or 1, or a value between those observed."""

from __future__ import annotations

import json
from dataclasses import replace
from math import inf

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import equieffort as ee
from equieffort.data.frames import infer_kind
from equieffort.errors import DataError, EquieffortError, EquieffortWarning, SchemaError
from equieffort.exports import summary
from equieffort.recourse.solvers.milp.solver import Milp
from equieffort.results.comparison import compare_audits
from equieffort.spec import parse_spec
from equieffort.world.schema import AssumedLimit

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
TYPES = ["int64", "int8", "float64", "float32", "Int64", "Float64", "int64[pyarrow]", "object"]


# -- 0 and 1 -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("blank", [False, True], ids=["complete", "with blanks"])
@pytest.mark.parametrize("dtype", TYPES)
def test_numbers_0_and_1_are_binary(dtype, blank):
    if blank and dtype in ("int64", "int8"):
        pytest.skip("these types have no blanks")
    values = [0, 1, 1, 0] + ([None] if blank else [])
    assert infer_kind(pd.Series(values, dtype=dtype)) == "binary"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 2], "integer"), ([0.0, 1.0, 0.5], "continuous"), ([0, -1], "integer"), ([0, 0], "integer"),
        ([1.0, 1.0], "continuous"), (["0", "1"], "categorical"), ([True, False], "binary"),
    ],
)  # fmt: skip
def test_other_columns_keep_their_kind(values, kind):
    assert infer_kind(pd.Series(values)) == kind


def married(n=80, dtype="int64", seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "married": rng.integers(0, 2, n)})
    frame["income"] = rng.normal(10, 3, n).round(1)
    return frame.astype({"married": dtype})


SOLVERS = {
    "linear": (LogisticRegression(), None),
    "trees": (DecisionTreeClassifier(max_depth=4, random_state=0), None),
    "milp": (DecisionTreeClassifier(max_depth=3, random_state=0), Milp()),
    "network": (MLPClassifier((4,), solver="lbfgs", max_iter=2000, random_state=0), None),
    "search": (DecisionTreeClassifier(max_depth=4, random_state=0), ee.Search(200)),
}


@pytest.mark.parametrize("dtype", ["int64", "float64"])
@pytest.mark.parametrize("name", SOLVERS)
def test_no_action_sets_a_binary_number_to_anything_else(name, dtype):
    """Being married costs points, so that -4 would please the score best, and 0.2 be cheapest."""
    model, solver = SOLVERS[name]
    frame = married(dtype=dtype)
    good = frame["income"] - 4 * frame["married"] + 0.3 * np.random.default_rng(1).normal(size=len(frame)) > 9
    model.fit(frame[["married", "income"]], good)
    features = {"married": "actionable", "income": ee.Feature("actionable", max_increase=2.0)}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    table = ee.audit(model, frame, schema=schema, scm=scm, solver=solver).recourse
    done = table.frame()["do_married"].dropna()
    assert len(done)
    assert set(done) <= {0, 1}
    after = table.counterfactuals()
    assert after["married"].dtype == dtype
    assert set(after["married"]) <= {0, 1}


def test_the_cheapest_action_on_a_binary_number_by_hand():
    """Refused below 10. Being married costs 4 points: to unmarry costs 1, a point of income 0.1 (its range is 10)."""
    frame = pd.DataFrame({"sex": list("fmfmf"), "married": [1.0, 0, 1, 1, 0], "income": [12.0, 9, 13.5, 5, 15]})
    score = ee.LinearScore({"income": 1.0, "married": -4.0}, threshold=10.0)
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)

    def told(married, **income):
        features = {"married": married, "income": ee.Feature("actionable", **income)}
        schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
        return ee.solve(ee.RecourseProblem.of(score, frame, schema=schema, scm=scm), frame).frame()

    free = told(ee.Feature("actionable", weight=0.3))
    # 2 points: 0.2 by income; 0.3 to unmarry. 0.5 points: 0.05. 9 points: 4 by unmarrying (0.3) and 5 by income (0.5).
    np.testing.assert_allclose(free["cost"], [0.2, 0.1, 0.05, 0.8, np.nan], atol=1e-9)
    assert free["do_married"].tolist()[3] == 0
    held = told(ee.Feature("actionable", direction="up"), max_increase=6.0)
    assert held["status"].tolist() == ["optimal", "optimal", "optimal", "infeasible", "not_needed"]
    assert "married cannot go down from 1 (may only go up)" in held["reason"][3]
    stuck = told(ee.Feature("actionable", weight=0.3), max_increase=1.0)
    # Unmarried already, or only just: nothing beyond 0 is to be had.
    assert stuck["status"].tolist() == ["optimal", "optimal", "optimal", "infeasible", "not_needed"]
    assert stuck["do_married"].tolist()[0] == 0
    assert "married stops at 0 (it is 0 or 1)" in stuck["reason"][3]


def test_a_binary_number_may_follow_its_causes():
    frame = married()
    frame["owner"] = ((frame["income"] + np.random.default_rng(2).normal(0, 2, len(frame))) > 10).astype(int)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"income": "actionable", "owner": "mutable"}
    )
    scm = ee.StructuralCausalModel([("income", "owner")], nodes=list(frame)).fit(frame)
    score = ee.LinearScore({"income": 1.0, "owner": 2.0}, threshold=12.0)
    table = ee.audit(score, frame, schema=schema, scm=scm).recourse
    assert (table.frame()["status"] != "unknown").all()
    assert table.has_action.any()


def test_with_blanks_a_binary_number_stays_one():
    frame = married(dtype="float64")
    frame.loc[[3, 7], "married"] = np.nan
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"married": "actionable"})
    complete = frame.dropna()
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(complete)
    score = ee.LinearScore({"income": 1.0, "married": -4.0}, threshold=8.0)
    done = ee.audit(score, frame, schema=schema, scm=scm, missing="drop").recourse.frame()["do_married"].dropna()
    assert len(done)
    assert set(done) <= {0}


@pytest.mark.parametrize("where", ["X", "fitted on", "reference"])
def test_one_other_value_anywhere_and_the_column_is_not_binary(where):
    frame = married()
    other = frame.assign(married=[2, *frame["married"][1:]])
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(other if where == "fitted on" else frame)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"married": "actionable"})
    problem = ee.RecourseProblem.of(
        ee.LinearScore({"married": 1.0}, threshold=1.5), other if where == "X" else frame, schema=schema, scm=scm,
        reference=other if where == "reference" else None,
    )  # fmt: skip
    assert problem.encoding["married"].kind == "integer"


def test_a_declared_kind_is_respected_and_a_stray_value_refused():
    frame = married()
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    score = ee.LinearScore({"married": 1.0}, threshold=1.5)

    def problem(**more):
        features = {"married": ee.Feature("actionable", **more)}
        schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
        return ee.RecourseProblem.of(score, frame, schema=schema, scm=scm)

    counted = problem(kind="integer", upper=inf)
    assert counted.encoding["married"].kind == "integer"
    assert (ee.solve(counted, frame).frame()["do_married"].dropna() == 2).all()
    for binary in (problem(), problem(kind="binary", upper=inf)):
        assert (ee.solve(binary, frame).frame()["status"] == "infeasible").all()
    with pytest.raises(DataError, match="'married' is binary, 0 or 1, but holds 2 in row 5") as caught:
        ee.solve(binary, frame.assign(married=frame["married"].where(frame.index != 5, 2)))
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


# -- limits nobody declared --------------------------------------------------------------------------------------------

PEOPLE = pd.DataFrame(
    {"sex": list("fmfmfm"), "income": [2.0, 4.0, 6.0, 8.0, 10.0, 12.0], "debt": [1.0, 9.0, 3.0, 4.0, 5.0, 6.0]}
)


def problem_of(feature, *, reference=None, threshold=20.0, people=PEOPLE):
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"income": feature})
    scm = ee.StructuralCausalModel([], nodes=list(people)).fit(PEOPLE)
    score = ee.LinearScore({"income": 1.0}, threshold=threshold)
    return ee.RecourseProblem.of(score, people, schema=schema, scm=scm, reference=reference)


@pytest.mark.parametrize(
    ("declared", "box", "assumed"),
    [
        ({}, (2.0, 12.0), {"lower": 2.0, "upper": 12.0}),
        ({"lower": 0.0}, (0.0, 12.0), {"upper": 12.0}),
        ({"upper": 50.0}, (2.0, 50.0), {"lower": 2.0}),
        ({"lower": -inf}, (-inf, 12.0), {"upper": 12.0}),
        ({"upper": inf}, (2.0, inf), {"lower": 2.0}),
        ({"lower": -inf, "upper": inf}, (-inf, inf), {}),
        ({"max_increase": 30.0}, (2.0, 36.0), {"lower": 2.0}),
        ({"max_decrease": 30.0}, (-24.0, 12.0), {"upper": 12.0}),
        ({"max_increase": inf}, (2.0, inf), {"lower": 2.0}),
        ({"direction": "up"}, (6.0, 12.0), {"upper": 12.0}),
        ({"direction": "down"}, (2.0, 6.0), {"lower": 2.0}),
        ({"plausible": (0.0, None)}, (0.0, 12.0), {"upper": 12.0}),
        ({"plausible": (None, 40.0)}, (2.0, 40.0), {"lower": 2.0}),
        ({"plausible": (-inf, inf)}, (-inf, inf), {}),
    ],
)  # fmt: skip
def test_each_side_for_itself(declared, box, assumed):
    problem = problem_of(ee.Feature("actionable", **declared))
    low, high = problem.action_box(problem.encoding.encode(PEOPLE.iloc[[2]]))
    assert (low[0, 0], high[0, 0]) == box
    assert problem.schema.assumed == tuple(AssumedLimit("income", key, value) for key, value in assumed.items())


def test_the_ends_come_from_the_reference_data_and_who_is_beyond_them_may_stay():
    reference = pd.DataFrame({"income": [3.0, 5.0]})
    problem = problem_of("actionable", reference=reference)
    low, high = problem.action_box(problem.encoding.encode(PEOPLE))
    assert low[:, 0].tolist() == [2.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    assert high[:, 0].tolist() == [5.0, 5.0, 6.0, 8.0, 10.0, 12.0]
    assert problem.outside(problem.encoding.encode(PEOPLE)).tolist() == [True, False, True, True, True, True]
    # Without `reference`, what the causal model was fitted on, not the people who are asked about.
    asked = problem_of("actionable", people=PEOPLE.iloc[:2])
    assert asked.action_box(asked.encoding.encode(PEOPLE))[1][:, 0].tolist() == [12.0] * 6


def test_an_unreachable_score_is_infeasible_and_the_reason_says_what_was_assumed():
    problem = problem_of("actionable")
    told = ee.solve(problem, PEOPLE).frame()
    assert (told["status"] == "infeasible").all()
    assert "income stops at 12 (largest observed value 12; declare upper to allow more)" in told["reason"][0]
    free = ee.solve(problem_of(ee.Feature("actionable", upper=inf)), PEOPLE).frame()
    assert (free["status"] == "optimal").all()
    assert free["do_income"].min() >= 20


def test_a_schema_from_an_earlier_problem_is_read_anew():
    first = problem_of("actionable").schema
    assert first.assumed
    again = problem_of(first.features["income"], reference=pd.DataFrame({"income": [0.0, 100.0]}))
    assert again.schema.assumed == (AssumedLimit("income", "lower", 0.0), AssumedLimit("income", "upper", 100.0))
    declared = replace(first.features["income"], lower=1.0, upper=2.0)
    assert problem_of(declared).schema.assumed == ()


@pytest.mark.parametrize("wrong", [{"lower": inf}, {"upper": -inf}])
def test_an_infinity_on_the_wrong_side_is_refused(wrong):
    with pytest.raises(SchemaError, match="which no value reaches") as caught:
        ee.Feature("actionable", **wrong)
    assert caught.value.code == "SCHEMA_LIMITS"


WIDER = PEOPLE.assign(income=[*PEOPLE["income"][:-1], 24.0])


def audited(people=PEOPLE, cost=None, **features):
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
    scm = ee.StructuralCausalModel([], nodes=list(people)).fit(people)
    score = ee.LinearScore({"income": 1.0, "debt": -1.0}, threshold=8.0)
    return ee.audit(score, people, schema=schema, scm=scm, cost=cost)


def test_what_was_assumed_is_told_and_kept(tmp_path):
    audit = audited(income="actionable", debt=ee.Feature("actionable", lower=0))
    text = str(audit)
    for part in ("Assumed limits", "income: 2 to 12", "debt: at most 9"):
        assert text.count(part) == 1
    assert text.index("Assumed limits") < text.index("n_unfavourable")
    assert "income: 2 to 12" in audit._repr_html_()
    audit.save(tmp_path / "a.audit")
    loaded = ee.load(tmp_path / "a.audit")
    assert loaded.recourse.source.schema.assumed == audit.recourse.source.schema.assumed
    assert str(loaded) == text
    found = json.loads(json.dumps(summary(loaded), allow_nan=False))["assumed"]
    assert found["limits"] == [
        {"feature": "income", "key": "lower", "value": 2.0},
        {"feature": "income", "key": "upper", "value": 12.0},
        {"feature": "debt", "key": "upper", "value": 9.0},
    ]
    assert found["zero_one"] == []
    declared = audited(income=ee.Feature("actionable", lower=0, upper=inf), debt="mutable")
    assert "Assumed" not in str(declared)
    declared.save(tmp_path / "b.audit")
    assert ee.load(tmp_path / "b.audit").recourse.source.schema.feature("income").upper == inf


def test_the_report_and_the_card_list_what_was_assumed():
    from equieffort.report import model_card, render

    people = PEOPLE.assign(owner=[0, 1, 0, 1, 0, 1])
    audit = audited(people, income="actionable", debt="immutable", owner="actionable")
    page, card = render(audit), model_card(audit)
    for text in (page, card):
        assert "Assumed limits" in text
        assert "2 to 12" in text
        assert "Set to 0 or 1 only" in text
    assert page.index("Assumed limits") < page.index('id="people"')
    assert "Assumed limits" not in render(audited(income=ee.Feature("actionable", lower=0, upper=99), debt="immutable"))


def test_comparing_audits_that_end_elsewhere_because_of_other_people_warns():
    reference = {"cost": ee.WeightedL1(ee.Own())}
    first, second = (
        audited(people, **reference, income=ee.Feature("actionable", lower=0)) for people in (PEOPLE, WIDER)
    )
    with pytest.warns(EquieffortWarning, match="reference data: 12 in the first audit and 24 in the second") as caught:
        compare_audits(first, second, draws=10)
    assert "AUDIT_LIMITS" in [w.message.code for w in caught]


def test_categories_have_no_limits_to_assume():
    people = PEOPLE.assign(job=list("abcabc"))
    audit = audited(people, income=ee.Feature("actionable", lower=0, upper=20), job="actionable")
    assert audit.recourse.source.schema.assumed == ()


# -- in a spec ---------------------------------------------------------------------------------------------------------

SPEC = """\
data: {path: people.csv}
model: {train: logistic}
outcome: {column: decision, favourable: yes!}
sensitive: {column: sex, protected: f}
graph: []
features:
  income: {role: actionable, LIMITS}
"""


@pytest.mark.parametrize(
    ("limits", "declared"),
    [
        ("lower: -.inf, upper: .inf", {"lower": -inf, "upper": inf}),
        ("max_increase: .inf", {"max_increase": inf}),
        ("plausible: [-.INF, 9]", {"plausible": (-inf, 9)}),
    ],
)
def test_a_spec_may_say_that_there_is_no_limit(limits, declared):
    feature = parse_spec(SPEC.replace("LIMITS", limits)).schema.feature("income")
    assert {name: getattr(feature, name) for name in declared} == declared


@pytest.mark.parametrize(
    ("limits", "says"),
    [
        ("lower: .inf", "line 7, column 11: features.income: lower is inf, which no value reaches."),
        ("max_increase: -.inf", "features.income.max_increase is the number -.inf, but must be a number, 0 or more"),
        ("upper: 1e999", "features.income.upper is the number 1e999, but must be a number, or .inf"),
        ("upper: .nan", "features.income.upper is the text '.nan'"),
        ("weight: .inf", "features.income.weight is the number .inf, but must be a number above 0"),
    ],
)
def test_no_limit_is_said_in_one_way_and_where_it_makes_sense(limits, says):
    with pytest.raises(EquieffortError) as caught:
        parse_spec(SPEC.replace("LIMITS", limits))
    assert says in caught.value.what


def test_a_label_is_never_an_infinity():
    with pytest.raises(EquieffortError) as caught:
        parse_spec(SPEC.replace("protected: f", "protected: .inf").replace("LIMITS", "lower: 0"))
    assert caught.value.code == "SPEC_VALUE"
