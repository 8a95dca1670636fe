"""Columns with an index beside the people: matched by label, or refused; never by position in silence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import equieffort as ee
from equieffort.data import frames
from equieffort.data.frames import read_frame
from equieffort.errors import CausalModelError, DataError, ParameterError

# The rule wants an income of at least 10; costs are shares of the range 12.
INCOME = [0.0, 2.0, 4.0, 12.0, 1.0, 3.0, 5.0, 12.0]
LABELS = ["q", "c", "z", "a", "m", "b", "k", "d"]
SHUFFLE = [5, 2, 7, 0, 3, 6, 1, 4]


def people(index=LABELS) -> pd.DataFrame:
    return pd.DataFrame({"sex": list("ffffmmmm"), "income": INCOME}, index=index)


def audit(X, **options) -> ee.Audit:
    base = {
        "schema": ee.Schema(sensitive="sex", protected="f", favourable=True, features={"income": "actionable"}),
        "scm": ee.StructuralCausalModel([]),
        "criteria": ee.Criteria(min_people=1),
    }
    return ee.audit(ee.LinearScore({"income": 1}, threshold=10), X, **(base | options))


def refused(code: str, call) -> str:
    with pytest.raises(DataError) as caught:
        call()
    assert caught.value.code == code
    assert ".to_numpy()" in caught.value.fix
    return caught.value.what


# -- masks -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index", [LABELS, list(range(8)), [3, 1, 7, 0, 2, 6, 5, 4]], ids=["text", "counted", "numbers"]
)
def test_a_mask_is_matched_by_its_index(index):
    X = people(index)
    made = audit(X)
    who = X.index[[0, 1, 4, 5]]
    mask = pd.Series(X.index.isin(who), index=X.index)
    # f needs 10/12 and 8/12, m 9/12 and 7/12: 9 over 8.
    for given in (mask, mask.iloc[SHUFFLE], mask.to_numpy(), pl.Series(mask.to_numpy())):
        found = made.subgroup(given)
        assert found.comparisons[0].acr == pytest.approx(9 / 8)
        assert found.by_group["n"].tolist() == [2, 2]


def test_a_mask_of_everybody_fits_the_people_who_were_left():
    X = people()
    X.loc["c", "income"] = np.nan
    with (
        pytest.warns(ee.errors.EquieffortWarning, match="1 of 8 people leave"),
        pytest.warns(ee.errors.EquieffortWarning, match="nothing but whole numbers, as floats beside missing values"),
    ):
        made = audit(X, missing="drop")
    mask = (X["income"] < 5).iloc[SHUFFLE]
    assert made.subgroup(mask).by_group["n"].to_dict() == {"f": 2, "m": 2}


@pytest.mark.parametrize(
    ("mask", "says"),
    [
        (pd.Series([True] * 8), "no row labelled 'q'"),
        (pd.Series([True] * 7, index=LABELS[:7]), "no row labelled 'd'"),
        (pd.Series([True] * 9, index=[*LABELS, "q"]), "more than one row"),
    ],
)
def test_a_mask_about_others_is_refused(mask, says):
    assert says in refused("DATA_INDEX", lambda: audit(people()).subgroup(mask))


def test_a_longer_mask_says_nothing_where_rows_are_only_counted():
    mask = pd.Series([True] * 9)
    assert "9 rows for 8 people" in refused("DATA_INDEX", lambda: audit(people(range(8))).subgroup(mask))


def test_labels_that_are_there_twice_match_only_in_their_order():
    X = people(["q", "q", *LABELS[2:]])
    with pytest.warns(ee.errors.EquieffortWarning, match="a second time"):
        made = audit(X)
    mask = X["income"] < 5
    assert made.subgroup(mask).by_group["n"].tolist() == [3, 2]
    refused("DATA_INDEX", lambda: made.subgroup(mask.iloc[SHUFFLE]))


# -- sensitive columns beside X ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["series", "frame", "dict of series"])
def test_sensitive_features_are_matched_by_label(form):
    X = people()
    beside = X["sex"].iloc[SHUFFLE]
    given = {"series": beside, "frame": beside.to_frame(), "dict of series": {"sex": beside}}[form]
    made = audit(X[["income"]], sensitive_features=given)
    expected = audit(X)
    pd.testing.assert_frame_equal(made.recourse.frame(), expected.recourse.frame())
    pd.testing.assert_frame_equal(made.by_group, expected.by_group)


def test_sensitive_features_without_labels_are_matched_by_position():
    X = people()
    for given in (X["sex"].tolist(), X["sex"].to_numpy(), pl.Series(X["sex"].tolist()), {"sex": X["sex"].tolist()}):
        assert audit(X[["income"]], sensitive_features=given).by_group["n"].tolist() == [4, 4]


@pytest.mark.parametrize(
    ("X", "beside", "says"),
    [
        (people(), people(range(8))["sex"], "no row labelled 'q'"),
        # X was numbered anew and the other was not, or the other way round: nobody can tell.
        (people(range(8)), people(range(8))["sex"].iloc[SHUFFLE], "numbers of their rows"),
        (people(range(8)), people(LABELS)["sex"], "no row labelled 0"),
    ],
)
def test_sensitive_features_of_others_are_refused(X, beside, says):
    assert says in refused("DATA_INDEX", lambda: audit(X[["income"]], sensitive_features=beside))


# -- tables made of columns --------------------------------------------------------------------------------------------


def test_columns_of_a_mapping_are_matched_by_label_and_keep_it():
    X = people()
    made = read_frame({"sex": X["sex"], "income": X["income"].iloc[SHUFFLE], "row": np.arange(8)})
    pd.testing.assert_frame_equal(made, X.assign(row=np.arange(8)))


def test_columns_of_different_people_are_refused():
    X = people()
    refused("DATA_INDEX", lambda: read_frame({"sex": X["sex"], "income": people(range(8))["income"]}))
    numbered = people(range(8))
    refused("DATA_INDEX", lambda: read_frame({"a": numbered["sex"], "b": numbered["income"].iloc[SHUFFLE]}))


# -- interventions -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [LABELS, list(range(8))], ids=["text", "counted"])
def test_interventions_are_matched_by_label(index):
    X = pd.DataFrame({"a": np.arange(8.0), "b": np.arange(8.0) * 3}, index=index)
    scm = ee.StructuralCausalModel([("a", "b")], mechanisms={"b": ee.Linear({"a": 2.0})})
    values = pd.Series(np.arange(8.0) * 10, index=index)
    expected = X.assign(a=values, b=X["b"] + 2 * (values - X["a"]))
    pd.testing.assert_frame_equal(scm.counterfactual(X, do={"a": values.iloc[SHUFFLE]}), expected)
    noise = scm.abduct(X)
    pd.testing.assert_frame_equal(scm.predict(noise, do={"a": values.iloc[SHUFFLE]}), expected)
    refused("DATA_INDEX", lambda: scm.counterfactual(X, do={"a": values.set_axis(np.arange(8) + 100)}))


# -- names that would be ignored ---------------------------------------------------------------------------------------


def test_categorical_names_nodes():
    with pytest.raises(CausalModelError, match=r"'jobb', which is not in the graph\. Did you mean 'job'"):
        ee.StructuralCausalModel([("job", "pay")], categorical=["jobb"])
    assert ee.StructuralCausalModel([("job", "pay")], categorical="job").categorical == ("job",)


def test_a_distance_does_not_drop_what_it_names():
    near = ee.Nearest(0.5, ee.Manhattan(features=["sex", "income"]))
    with pytest.raises(ParameterError, match="'sex', which is protected"):
        audit(people(), neighbourhood=near)
    with_sex = ee.Nearest(0.5, ee.Manhattan(features=["sex", "income"], include_protected=True))
    assert audit(people(), neighbourhood=with_sex).individual("q").by_group["n"].sum() == 4


def test_people_are_read_and_joined_once(monkeypatch):
    read, joined = [], []
    convert, join = frames._from_narwhals, frames._beside
    monkeypatch.setattr(frames, "_from_narwhals", lambda *given: read.append(given) or convert(*given))
    monkeypatch.setattr(frames, "_beside", lambda *given: joined.append(given) or join(*given))
    X = pl.DataFrame({"income": INCOME, "region": ["north", "south"] * 4})
    made = audit(X, sensitive_features=list("ffffmmmm"), subgroups={"north": "region = 'north'"})
    assert (len(read), len(joined)) == (1, 1)
    assert made.recourse.frame()["group"].tolist() == list("ffffmmmm")
    assert made.measures["about"].unique().tolist() == ["Everybody", "north"]


def test_the_solver_is_chosen_once(monkeypatch):
    asked = []
    select = ee.Auto.select
    monkeypatch.setattr(ee.Auto, "select", lambda self, problem: asked.append(problem) or select(self, problem))
    # A table in single precision makes the problem another one, for which the solver is chosen.
    audit(people().astype({"income": "float32"}))
    assert len(asked) == 1
