"""One person: the answer of an audit without a group, from a row, a Series or a mapping; and further ways by hand."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.cli.conftest import SPEC, loans
from tests.limits import unlimited
from typer.testing import CliRunner

import equieffort as ee
from equieffort.cli import app
from equieffort.errors import DataError, ParameterError, SchemaError

N = 40
FEATURES = {
    "income": ee.Feature("actionable", max_increase=30, max_decrease=0),
    "debt": ee.Feature("actionable", max_decrease=10, max_increase=0),
    "job": ee.Feature("actionable", weight=0.4),
}


@pytest.fixture(scope="module")
def known() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": ["f", "m"] * (N // 2), "income": rng.uniform(20, 60, N).round(1)})
    frame["debt"] = rng.uniform(0, 20, N).round(1)
    frame["job"] = rng.choice(["cook", "smith"], N)
    # Scales of exactly 40 and 20.
    frame.loc[[0, 1], "income"], frame.loc[[0, 1], "debt"] = [20.0, 60.0], [0.0, 20.0]
    return frame


@pytest.fixture(scope="module")
def schema() -> ee.Schema:
    return ee.Schema(sensitive="sex", protected="f", favourable="approved", features=unlimited(FEATURES))


@pytest.fixture(scope="module")
def scm(known) -> ee.StructuralCausalModel:
    return ee.StructuralCausalModel([], nodes=["income", "debt", "job"]).fit(known)


class Rule:
    """Approves where income - debt, and 15 for a smith, make 39.5."""

    classes_ = np.array(["approved", "refused"])
    feature_names_in_ = np.array(["income", "debt", "job"], dtype=object)

    def predict(self, X: pd.DataFrame) -> np.ndarray:
        points = (X["income"] - X["debt"] + 15 * (X["job"] == "smith")).to_numpy()
        return np.where(points >= 39.5, "approved", "refused")


PERSON = {"income": 30.0, "debt": 5.0, "job": "cook"}
"""Lacks 14.5 points: 14.5 of income cost 14.5/40, the job 0.4; debt may fall by 10 only, which is not enough."""


@pytest.fixture(scope="module")
def score(known):
    """The same as a score that can be read; 0 is approved, the first class."""
    encode = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", ["income", "debt"]))
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array(["approved", "refused"]), 4
    model.coef_, model.intercept_ = np.array([[0.0, -15.0, -1.0, 1.0]]), np.array([39.5])
    return make_pipeline(encode.fit(known[["income", "debt", "job"]]), model)


def find(score, person, schema, scm, **more) -> ee.Explanation:
    return ee.find_recourse(score, person, schema=schema, scm=scm, **more)


def test_ways_by_hand(score, schema, scm):
    found = find(score, PERSON, schema, scm, alternatives=4)
    assert [way.status for way in found.ways] == ["optimal"] * 2
    assert [way.changed for way in found.ways] == [("income",), ("job",)]
    assert [way.cost for way in found.ways] == pytest.approx([14.5 / 40, 0.4])
    assert found.further == "none"


def test_the_forms_of_a_person_say_the_same(score, schema, scm, known):
    texts = set()
    row = pd.DataFrame([PERSON])
    for person in (PERSON, {name: [value] for name, value in PERSON.items()}, row, row.iloc[0], row.assign(sex="f")):
        found = find(score, person, schema, scm)
        texts.add(round(found.cost, 12))
        assert found.changed == ("income",)
    assert len(texts) == 1
    named = known.set_axis([f"p{k}" for k in range(N)]).iloc[2]
    assert find(score, named, schema, scm).person == "p2"
    assert str(find(score, PERSON, schema, scm)).startswith("This person: turns")
    assert find(score, row.assign(sex="f"), schema, scm).group == "f"
    assert find(score, PERSON, schema, scm).group == ""


def test_it_is_what_the_audit_says_of_the_same_person(score, schema, scm, known):
    audit = ee.audit(score, known, schema=schema, scm=scm)
    refused = np.flatnonzero(audit.recourse.is_unfavourable)[:2].tolist()
    for k in refused:
        one, all_ = find(score, known.iloc[[k]], schema, scm, alternatives=3), audit.explain(position=k, alternatives=3)
        assert [(way.status, way.cost, way.bound, way.changed) for way in one.ways] == [
            (way.status, way.cost, way.bound, way.changed) for way in all_.ways
        ]


def test_an_audit_that_is_asked_for_ways_keeps_them(score, schema, scm, known):
    asked = ee.audit(score, known, schema=schema, scm=scm, alternatives=3)
    later = ee.audit(score, known, schema=schema, scm=scm).with_alternatives(3)
    assert len(asked.alternatives) == 2
    for one, other in zip(asked.alternatives, later.alternatives, strict=True):
        pd.testing.assert_frame_equal(one.frame(), other.frame())
    with pytest.raises(ParameterError, match="alternatives"):
        ee.audit(score, known, schema=schema, scm=scm, alternatives=0)


def test_a_spec_says_how_many_ways_are_kept_and_the_option_goes_before_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans().to_csv("loans.csv", index=False)
    text = SPEC.replace("savings: {role: mutable}", "savings: {role: actionable, max_increase: 40}")
    (tmp_path / "loans.yaml").write_text(f"{text}alternatives: 2\n", encoding="utf-8")
    for options, kept in (((), 1), (("--alternatives", "3"), 2), (("--alternatives", "1"), 0)):
        done = CliRunner().invoke(app, ["audit", "loans.yaml", "-o", "out", "--quiet", *options])
        assert done.exit_code in (0, 1, 4), done.output
        assert len(ee.load("out.audit").alternatives) == kept


def test_whole_numbers_of_a_mapping_are_amounts_where_the_others_are(score, schema, scm):
    exact = find(score, {"income": 30, "debt": 4.6, "job": "cook"}, schema, scm)
    assert exact.cost == pytest.approx(14.1 / 40)


def test_scales_never_come_from_the_one_row(score, schema, scm, known):
    twice = known.assign(income=known["income"] * 2)
    assert find(score, PERSON, schema, scm, reference=twice).cost == pytest.approx(14.5 / 80)
    bare = ee.StructuralCausalModel([], nodes=["income", "debt", "job"])
    with pytest.raises(ParameterError, match="reference=X"):
        find(score, PERSON, schema, bare)
    assert find(score, PERSON, schema, bare, reference=known).cost == pytest.approx(14.5 / 40)


def test_solve_takes_one_row_of_one_group(score, schema, scm, known):
    problem = ee.RecourseProblem.of(score, known, schema=schema, scm=scm)
    everybody = ee.solve(problem, known)
    for k in np.flatnonzero(everybody.is_unfavourable)[:3].tolist():
        alone = ee.solve(problem, known.iloc[[k]])
        assert (alone.status[0], alone.cost[0]) == (everybody.status[k], everybody.cost[k])
    women = ee.solve(problem, known[known["sex"] == "f"])
    assert np.array_equal(women.cost, everybody.cost[known["sex"] == "f"], equal_nan=True)
    with pytest.raises(ee.errors.SchemaError, match="SCHEMA_ONE_GROUP"):
        ee.audit(score, known[known["sex"] == "f"], schema=schema, scm=scm)


def test_max_actions_of_one_person(score, schema, scm):
    poor = {"income": 20.0, "debt": 20.0, "job": "cook"}
    # 39.5 points are lacking: the job brings 15 of them, income 24.5; neither brings all.
    free, few = (find(score, poor, replace(schema, max_actions=most), scm) for most in (None, 1))
    assert free.cost == pytest.approx(24.5 / 40 + 0.4)
    assert few.status == "infeasible"
    assert "that changes one feature only" in str(few)
    assert "at most 1 feature changed at once" in few.reason
    assert few.to_dict()["max_actions"] == 1


def test_text_page_and_plain_data(score, schema, scm):
    # What is shown has a decimal more than the data, rounded away from the fact: the step over the boundary is in it.
    found = find(score, PERSON, schema, scm, alternatives=2)
    assert str(found).splitlines() == [
        "This person: turns the decision at a cost of 0.3625; no cheaper action exists.",
        "  1. set income from 30 to 44.51 (+14.51), cost 0.3625",
        "Way 2, at a cost of 0.4; no cheaper way leaves a feature of way 1 as it is:",
        "  1. set job from cook to smith, cost 0.4",
    ]
    assert "set job from cook to smith" in found._repr_html_()
    said = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert said["actions"] == [
        {"feature": "income", "kind": "set", "before": 30.0, "after": pytest.approx(44.5), "shown": 44.51,
         "cost": pytest.approx(0.3625)}
    ]  # fmt: skip
    assert said["alternatives"][0]["actions"][0]["after"] == "smith"
    assert found.frame()["way"].tolist() == [1, 2]


def test_who_has_no_way_gets_the_reason(score, schema, scm):
    little = replace(schema, features=unlimited({"debt": FEATURES["debt"]}))
    far = find(score, {"income": 20.0, "debt": 20.0, "job": "smith"}, little, scm, alternatives=3)
    assert (far.status, far.ways, far.further, far.to_dict()["cost"]) == ("infeasible", (), "", None)
    assert far.reason
    fine = find(score, {"income": 60.0, "debt": 0.0, "job": "smith"}, schema, scm, alternatives=3)
    assert (fine.status, fine.ways) == ("not_needed", ())


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_search_that_proves_nothing_says_so_of_every_way(schema, scm):
    found = find(Rule(), PERSON, schema, scm, alternatives=3, solver=ee.Search(budget=300))
    assert {way.status for way in found.ways} <= {"feasible"}
    assert found.further in ("", "unknown")
    assert "is not known" in str(found)


def test_trees_too(schema, scm, known):
    label = Rule().predict(known)
    numbers = replace(schema, features=unlimited({name: FEATURES[name] for name in ("income", "debt")}))
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(known[["income", "debt"]], label)
    found = find(forest, {"income": 30.0, "debt": 12.0, "job": "cook"}, numbers, scm, alternatives=3)
    assert found.status == "optimal"
    for way in found.alternatives:
        assert not set(found.changed) <= set(way.changed)


@pytest.mark.parametrize(
    ("person", "error", "says"),
    [
        ({"income": 30.0, "debt": 5.0}, DataError, "The person has no column 'job'"),
        (pd.DataFrame([PERSON] * 2), DataError, "person holds 2 rows"),
        ([1, 2], DataError, "person"),
        (PERSON | {"income": float("nan")}, DataError, "income"),
    ],
)
def test_a_person_that_is_none_is_refused(score, schema, scm, person, error, says):
    with pytest.raises(error, match=says):
        find(score, person, schema, scm)


@pytest.mark.parametrize("count", [0, -1, 1.5, "all", True])
def test_a_number_of_ways_that_is_none_is_refused(score, schema, scm, count):
    with pytest.raises(ParameterError, match="alternatives"):
        find(score, PERSON, schema, scm, alternatives=count)


def test_the_group_is_asked_for_where_it_matters(score, schema, known):
    scm = ee.StructuralCausalModel([("sex", "income")], nodes=["debt", "job"]).fit(known)
    with pytest.raises(DataError, match="The person has no column 'sex'"):
        find(score, PERSON, schema, scm)
    assert find(score, PERSON | {"sex": "f"}, schema, scm).status == "optimal"


def test_a_schema_without_groups_is_enough_for_one_person_and_not_for_an_audit(score, schema, scm, known):
    alone = replace(schema, sensitive=None, protected=None)
    told, same = find(score, PERSON, alone, scm, alternatives=2), find(score, PERSON, schema, scm, alternatives=2)
    assert [(way.status, way.cost, way.changed) for way in told.ways] == [
        (way.status, way.cost, way.changed) for way in same.ways
    ]
    assert told.group == ""
    assert str(told) == str(same)
    problem = ee.RecourseProblem.of(score, known.drop(columns="sex"), schema=alone, scm=scm)
    row = known.iloc[[2]].drop(columns="sex")
    assert ee.solve(problem, row).cost[0] == find(score, row, schema, scm).cost
    assert ee.Schema.from_dict(alone.to_dict()).sensitive_columns == ()
    with pytest.raises(SchemaError, match="an audit compares groups") as caught:
        ee.audit(score, known, schema=alone, scm=scm)
    assert (caught.value.code, "ee.find_recourse" in caught.value.fix) == ("SCHEMA_GROUPS", True)
    with pytest.raises(SchemaError, match="protected names a group, and sensitive is None"):
        replace(schema, sensitive=None)


# -- kept in the audit's file -----------------------------------------------------------------------------------------


def test_a_file_keeps_ways_and_says_when_it_has_fewer(score, schema, scm, known, tmp_path):
    audit = ee.audit(score, known, schema=replace(schema, max_actions=2), scm=scm)
    kept = audit.with_alternatives(3)
    audit.save(tmp_path / "one.audit")
    kept.save(tmp_path / "three.audit")
    one, three = ee.load(tmp_path / "one.audit"), ee.load(tmp_path / "three.audit")
    assert three.recourse.source.schema.max_actions == 2
    row = int(np.flatnonzero(audit.recourse.has_action)[0])
    assert str(three.explain(position=row)) == str(kept.explain(position=row))
    assert len(three.explain(position=row).ways) >= 2
    assert len(three.explain(position=row, alternatives=1).ways) == 1
    with pytest.raises(ParameterError, match=r"keeps 1 way of each person, not 3[\s\S]*with_alternatives\(3\)"):
        one.explain(position=row, alternatives=3)
    with pytest.raises(ParameterError, match="keeps 3 ways"):
        three.explain(position=row, alternatives=4)


def test_a_file_without_all_of_a_way_is_refused(score, schema, scm, known, tmp_path):
    path, cut = tmp_path / "two.audit", tmp_path / "cut.audit"
    ee.audit(score, known, schema=schema, scm=scm).with_alternatives(2).save(path)
    with zipfile.ZipFile(path) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(parts["audit.json"])
    none = manifest["schema"] | {"max_actions": 0}
    for name, content, says in [
        ("way2_moved.npy", None, "lacks 'way2_moved'"),
        ("audit.json", json.dumps(manifest | {"schema": none}).encode(), "max_actions"),
        ("audit.json", json.dumps(manifest | {"further_ways": 2}).encode(), "lacks 'way3_"),
        ("audit.json", json.dumps(manifest | {"further_ways": 0}).encode(), "way2_"),
        ("audit.json", json.dumps(manifest | {"further_ways": -1}).encode(), "way"),
    ]:
        with zipfile.ZipFile(cut, "w") as other:
            for kept, held in (parts | {name: content}).items():
                if held is not None:
                    other.writestr(kept, held)
        with pytest.raises(ee.errors.AuditFileError, match=says):
            ee.load(cut)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_edges_alone_learn_from_the_reference_and_say_so(score, known, schema):
    people = known.assign(debt=0.1 * known["income"] + known["debt"])
    roles = {"income": unlimited(FEATURES)["income"], "debt": "mutable", "job": "immutable"}
    other = replace(schema, features=roles)
    edges = [("income", "debt")]
    fitted = ee.StructuralCausalModel(edges, nodes=["job"]).fit(people)
    by_hand = find(score, PERSON, other, fitted)
    found = find(score, PERSON, other, edges, reference=people)
    assert found.cost == pytest.approx(by_hand.cost)
    assert (found.guessed, by_hand.guessed) == (("debt",), ())
    assert "Only edges were given: that 'debt' follows by a linear equation is assumed" in str(found)
    assert "Only edges" in found._repr_html_()
    assert found.to_dict()["assumed_linear"] == ["debt"]
    assert "Only edges" not in str(by_hand)
    with pytest.raises(ParameterError, match="no reference data"):
        find(score, PERSON, other, edges)


def test_rows_are_solved_without_a_group_that_nothing_depends_on(score, known, schema, scm):
    problem = ee.RecourseProblem.of(score, known, schema=schema, scm=scm)
    alone = ee.solve(problem, known.drop(columns="sex").iloc[[3]])
    whole = ee.solve(problem, known.iloc[[3]])
    assert alone.frame()["cost"].tolist() == pytest.approx(whole.frame()["cost"].tolist())
    told = replace(schema, rules=["if sex = 'f' then debt >= 0"])
    problem = ee.RecourseProblem.of(score, known, schema=told, scm=scm)
    with pytest.raises(DataError, match="no column 'sex'"):
        ee.solve(problem, known.drop(columns="sex").iloc[[3]])
