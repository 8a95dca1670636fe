"""Other sources of chance: the bootstrap agrees with closed forms; equations and models are really learned again."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import equieffort as ee
from equieffort.effort.measures import MEASURES, Spread
from equieffort.errors import DataError, ParameterError
from equieffort.recourse.problem import RecourseProblem


@pytest.fixture(scope="module")
def world():
    people, outcome = ee.datasets.paper_synthetic(1.0, 300, 3)
    people = people.assign(X3=people["X3"] + 0.5 * (people["X2"] - 3.5))
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=1,
        features={"X2": ee.Feature("actionable", upper=np.inf, max_increase=3.0), "X3": "mutable"},
    )  # fmt: skip
    model = LogisticRegression().fit(people[["X2", "X3"]], outcome)
    scm = ee.StructuralCausalModel([("S", "X2"), ("X2", "X3")]).fit(people)
    made = ee.audit(model, people, schema=schema, scm=scm, subgroups={"low": "X3 < 0"})
    return people, outcome, made


def test_drawing_people_again_agrees_with_the_closed_forms(world):
    made = world[2]
    brute = made.resample(ee.Bootstrap(600, random_state=1)).measures
    assert brute["chance"].eq("people").all()
    assert len(brute) == len(made.measures)
    for here, there in zip(made.measures.to_dict("records"), brute.to_dict("records"), strict=True):
        if here["level"] != "system" or here["measure"] == "median_effort" or np.isnan(here["low"]):
            continue
        to = MEASURES[here["measure"]].scale.to
        assert there["estimate"] == here["estimate"]
        closed, drawn = (to(row["high"]) - to(row["low"]) for row in (here, there))
        assert drawn == pytest.approx(closed, rel=0.2), here["measure"]


def test_equations_are_learned_again_and_judged(world):
    made = world[2]
    again = made.resample(ee.Equations(12, random_state=2))
    rows = again.measures[again.measures["chance"] == "equations"]
    assert set(rows["level"]) == {"system", "subgroup"}
    acr = rows[(rows["measure"] == "acr") & (rows["level"] == "system")].iloc[0]
    assert acr["low"] < acr["estimate"] < acr["high"]
    # The verdict rests on these rows and says so; people's rows stay beside them.
    assert "learned equations" in str(again.verdict).splitlines()[0]
    people = again.measures[(again.measures["chance"] == "people") & (again.measures["level"] == "system")]
    assert people["p_adjusted"].isna().all()
    assert not np.isnan(acr["p_adjusted"])
    same = made.resample(ee.Equations(12, random_state=2))
    assert same.measures.to_csv() == again.measures.to_csv()
    assert made.resample(ee.Equations(12, random_state=3)).measures.to_csv() != again.measures.to_csv()


def test_given_equations_add_no_chance():
    people, _ = ee.datasets.paper_synthetic(1.0, 200, 5)
    schema = ee.Schema(
        sensitive="S", protected=0, favourable=True,
        features={"X2": ee.Feature("actionable", upper=np.inf), "X3": "mutable"},
    )  # fmt: skip
    given = {"X2": ee.Linear({"S": 1.0}, 3.0)}
    made = ee.audit(
        ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3.5), people, schema=schema,
        scm=ee.StructuralCausalModel([("S", "X2")], nodes=["X3"], mechanisms=given).fit(people),
    )  # fmt: skip
    brute, equations = (made.resample(how).measures for how in (ee.Bootstrap(200), ee.Equations(40)))
    one, other = brute.iloc[0], equations[equations["chance"] == "equations"].iloc[0]
    assert np.log(other["high"] / other["low"]) == pytest.approx(np.log(one["high"] / one["low"]), rel=0.3)


def test_the_whole_procedure_trains_the_model_again(world):
    people, outcome, made = world
    how = ee.Procedure(people[["X2", "X3"]], outcome, replicates=12)
    again = made.resample(how)
    rows = again.measures[again.measures["chance"] == "procedure"].set_index("measure")
    assert len(rows)
    # With the model fixed, the share approved varies less.
    fixed = made.resample(ee.Equations(12)).measures
    fixed = fixed[fixed["chance"] == "equations"].set_index("measure")
    assert "trained model" in again.verdict.basis
    assert rows.loc["acr", "low"].iloc[0] != fixed.loc["acr", "low"].iloc[0]


def test_a_file_keeps_what_replicates_said_and_refuses_new_ones(world, tmp_path):
    again = world[2].resample(ee.Equations(10))
    again.save(tmp_path / "a.audit")
    loaded = ee.load(tmp_path / "a.audit")
    assert loaded.measures.to_csv() == again.measures.to_csv()
    assert str(loaded.verdict) == str(again.verdict)
    with pytest.raises(ParameterError, match="read from a file") as caught:
        loaded.resample(ee.Equations())
    assert "ee.audit(...)" in caught.value.fix
    # People can be drawn again from what the file holds.
    assert loaded.resample(ee.Bootstrap(20)).measures["chance"].eq("people").all()


def test_too_many_undefined_replicates_give_no_interval():
    assert Spread.of([0.1, 0.2, 0.3] * 20).suffices
    assert not Spread.of([0.1, 0.2, 0.3] * 20 + [np.nan] * 4).suffices
    assert not Spread.of([np.inf] * 20).suffices


def test_what_makes_no_sense_is_refused(world):
    people, outcome, made = world
    with pytest.raises(ParameterError, match="10 or more"):
        ee.Bootstrap(5)
    with pytest.raises(DataError) as caught:
        ee.Procedure(people, outcome[:5])
    assert caught.value.code == "DATA_LENGTH"
    with pytest.raises(ParameterError, match="how"):
        made.resample("equations")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rule = ee.audit(
            ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3.5), people,
            schema=ee.Schema(sensitive="S", protected=0, favourable=True, features={"X2": "actionable"}),
            scm=made.inputs.problem.scm,
        )  # fmt: skip
    with pytest.raises(ParameterError, match="cannot be trained again"):
        rule.resample(ee.Procedure(people[["X2", "X3"]], outcome, 10))


def test_a_subgroup_that_was_not_declared_rests_on_people(world):
    again = world[2].resample(ee.Equations(10))
    assert "learned equations" in again.subgroup("X3 < 0").verdict.basis
    for other in (again.subgroup("X3 < 0.1"), again.subgroup(world[0]["X3"] < 0)):
        assert other.verdict.basis.startswith("95 % level, chance of people;")
        assert other.measures["chance"].eq("people").all()


def test_replicates_that_all_fail_are_no_replicates(world):
    people, outcome, made = world
    names = np.where(outcome == 1, "yes", "no")
    with pytest.raises(ParameterError, match="Not one of 10 replicates"):
        made.resample(ee.Procedure(people[["X2", "X3"]], names, replicates=10))


def test_a_replicate_that_cannot_be_trained_is_counted(world):
    people, _, made = world
    rare = np.zeros(len(people), dtype=int)
    rare[0] = 1
    with pytest.raises(ParameterError) as caught:
        made.resample(ee.Procedure(people[["X2", "X3"]], np.zeros(len(people), dtype=int), replicates=10))
    assert "Training the model again failed" in caught.value.what
    again = made.resample(ee.Procedure(people[["X2", "X3"]], rare, replicates=12))
    assert again.resampled.spreads["", "0", "1", "rd"].undefined > 0


def test_people_keep_their_groups_when_they_are_drawn():
    """Groups that stand apart in another order than the people are joined by label, not by position."""
    people, outcome = ee.datasets.paper_synthetic(1.0, 120, 4)
    people.index = [f"p{k}" for k in range(len(people))]
    model = LogisticRegression().fit(people[["X2", "X3"]], outcome.to_numpy())
    scm = ee.StructuralCausalModel([], nodes=["X2", "X3"]).fit(people[["X2", "X3"]])
    features = {"X2": ee.Feature("actionable", upper=np.inf), "X3": "mutable"}
    schema = ee.Schema(sensitive="S", protected=0, favourable=1, features=features)
    found = []
    for groups in (people["S"], people["S"].sample(frac=1, random_state=1)):
        made = ee.audit(model, people[["X2", "X3"]], schema=schema, scm=scm, sensitive_features=groups)
        found.append(made.resample(ee.Equations(10)).measures.to_csv())
    assert found[0] == found[1]


def test_the_same_in_every_replicate_keeps_the_closed_form(world):
    """Where nobody lacks recourse RD is 0 whoever is drawn, and so few people still show only so much."""
    people, _, _ = world
    features = {"X2": ee.Feature("actionable", upper=np.inf), "X3": "mutable"}
    made = ee.audit(
        ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=3.5), people,
        schema=ee.Schema(sensitive="S", protected=0, favourable=True, features=features),
        scm=ee.StructuralCausalModel([("S", "X2"), ("X2", "X3")]).fit(people),
    )  # fmt: skip
    rows = made.resample(ee.Equations(10)).measures
    one, other = (rows[(rows["measure"] == "rd") & (rows["chance"] == c)].iloc[0] for c in ("people", "equations"))
    assert one["estimate"] == 0
    assert (other["low"], other["high"], other["note"]) == (one["low"], one["high"], "")
    assert other["low"] < 0 < other["high"]


def test_another_budget_is_another_spread(world):
    from dataclasses import replace

    again = world[2].resample(ee.Bootstrap(20))
    assert again.resampled is not None
    assert replace(again, criteria=ee.Criteria(budget=0.1)).resampled is None


@pytest.mark.parametrize("chance", ["equations", "procedure"])
@pytest.mark.parametrize("levels", [False, True])
def test_what_stays_of_a_problem_is_not_made_again(world, monkeypatch, chance, levels):
    """The short way to a replicate gives what making the whole problem again gives, to the bit."""
    people, outcome, made = world
    columns, features = ["X2", "X3"], {"X2": ee.Feature("actionable", upper=np.inf), "X3": "mutable"}
    if levels:
        people = people.assign(job=np.where(people["X3"] > 0, "yes", np.where(people["X2"] > 3, "no", "seldom")))
        columns, features = [*columns, "job"], {**features, "job": "actionable"}
    encoder = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(encoder, LogisticRegression()) if levels else LogisticRegression()
    model.fit(people[columns], outcome)
    made = ee.audit(
        model, people, subgroups={"low": "X3 < 0"},
        schema=ee.Schema(sensitive="S", protected=0, favourable=1, features=features),
        scm=ee.StructuralCausalModel([("S", "X2"), ("X2", "X3")], nodes=columns).fit(people),
    )  # fmt: skip
    how = ee.Equations(10) if chance == "equations" else ee.Procedure(people[columns], outcome, 10)
    kept = RecourseProblem.relearned
    used = []

    def watched(self, *given):
        used.append(kept(self, *given) is not None)
        return kept(self, *given)

    monkeypatch.setattr(RecourseProblem, "relearned", watched)
    short = made.resample(how).resampled
    # A model that may have met other levels is read anew.
    assert used == [chance == "equations" or not levels] * 10
    monkeypatch.setattr(RecourseProblem, "relearned", lambda *given: None)
    assert made.resample(how).resampled.spreads == short.spreads
