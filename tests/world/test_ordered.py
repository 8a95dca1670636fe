"""Levels in an order and prices from level to level, as they are declared."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import equieffort as ee
from equieffort.data.frames import Encoding, is_ordered
from equieffort.errors import EquieffortError
from equieffort.world.schema import Schema, check_kinds

ORDER = ("none", "school", "degree")


def refused(code: str, words: str, **said: object) -> None:
    with pytest.raises(EquieffortError) as caught:
        ee.Feature("actionable", **said)
    assert caught.value.code == code, caught.value
    assert words in caught.value.what, caught.value.what
    assert caught.value.fix


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        ("SCHEMA_LEVELS", "not a list of levels", {"order": "none"}),
        ("SCHEMA_LEVELS", "not a list of levels", {"order": ["none", None]}),
        ("SCHEMA_LEVELS", "not a list of levels", {"order": ["none", math.nan]}),
        ("SCHEMA_LEVELS", "not a list of levels", {"order": 3}),
        ("SCHEMA_LEVELS", "'none' twice", {"order": ["none", "school", "none"]}),
        ("SCHEMA_LEVELS", "fewer than two", {"order": ["none"]}),
        ("SCHEMA_LEVELS", "not a table of prices", {"prices": 2.0}),
        ("SCHEMA_LEVELS", "not a table of prices", {"prices": {}}),
        ("SCHEMA_LEVELS", "not a pair (from, to)", {"prices": {"rent": 2.0}}),
        ("SCHEMA_LEVELS", "to itself", {"prices": {("rent", "rent"): 2.0}}),
        ("SCHEMA_WEIGHT", "from 'rent' to 'own' is -1", {"prices": {("rent", "own"): -1}}),
        ("SCHEMA_WEIGHT", "not a positive number", {"prices": {"rent": {"own": 0.0}}}),
        ("SCHEMA_WEIGHT", "not a positive number", {"prices": {("rent", "own"): math.nan}}),
        ("SCHEMA_WEIGHT", "not a positive number", {"prices": {("rent", "own"): -math.inf}}),
        ("SCHEMA_WEIGHT", "from 'rent' to 'own' is -1",
         {"prices": pd.DataFrame({"own": [-1.0]}, index=["rent"])}),
        ("SCHEMA_LEVELS", "to itself", {"prices": pd.DataFrame({"own": [2.0, 1.0]}, index=["rent", "own"])}),
        ("SCHEMA_LEVELS", "two rows named 'rent'", {"prices": pd.DataFrame({"own": [2.0, 1.0]}, index=["rent"] * 2)}),
        ("SCHEMA_WEIGHT", "not a positive number", {"prices": {("rent", "own"): "2"}}),
        ("PARAMETER", "steps is the text 'yes'", {"steps": "yes"}),
        ("SCHEMA_LEVELS", "names 'phd', which is none of its levels", {"order": ORDER, "lower": "phd"}),
        ("SCHEMA_LIMITS", "The lower limit degree is above the upper limit none",
         {"order": ORDER, "lower": "degree", "upper": "none"}),
        ("SCHEMA_LIMITS", "not a number", {"kind": "integer", "lower": "9"}),
        ("SCHEMA_LIMITS", "not a number", {"lower": ["none"]}),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(code, words, said):
    refused(code, words, **said)


def test_a_matrix_of_prices_is_a_table_of_prices_with_gaps_for_what_nobody_can_do():
    """Rows are where people are, columns where they go; from own there is no way back to rent."""
    table = pd.DataFrame(
        [[0.0, 2.0, 0.5], [np.nan, 0.0, np.inf], [1.0, 1.5, np.nan]], index=["rent", "own", "kin"],
        columns=["rent", "own", "kin"],
    )  # fmt: skip
    priced = ee.Feature("actionable", prices=table)
    schema = ee.Schema(sensitive="g", protected="f", favourable=1, features={"home": priced})
    assert schema.features["home"].prices == {
        ("rent", "own"): 2.0, ("rent", "kin"): 0.5, ("kin", "rent"): 1.0, ("kin", "own"): 1.5,
    }  # fmt: skip
    assert schema.rules == (ee.Forbidden("home", [("own", "rent"), ("own", "kin")]),)
    assert Schema.from_dict(schema.to_dict()) == schema
    assert replace(schema, features={"home": replace(priced, weight=2.0)}).rules == schema.rules

    X = pd.DataFrame({"home": ["rent", "own", "kin"] * 4, "g": ["f", "m"] * 6})

    model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier()).fit(X[["home"]], 1 * (X["home"] == "rent"))
    scm = ee.StructuralCausalModel([], nodes=["home"]).fit(X)
    found = ee.solve(ee.RecourseProblem.of(model, X, schema=schema, scm=scm), X).frame()
    assert found["status"][:3].tolist() == ["not_needed", "infeasible", "optimal"]
    assert found["cost"][2] == 1.0


@pytest.mark.parametrize("said", [{"steps": True, "order": ORDER}, {"prices": {("a", "b"): 1.0}}])
def test_what_is_never_acted_on_has_no_prices(said):
    with pytest.raises(EquieffortError) as caught:
        ee.Feature("mutable", **said)
    assert caught.value.code == "SCHEMA_LIMITS"


def test_both_forms_of_prices_are_one():
    flat = ee.Feature("actionable", prices={("rent", "own"): 2, ("own", "rent"): 1.0})
    nested = ee.Feature("actionable", prices={"rent": {"own": 2.0}, "own": {"rent": 1}})
    assert flat == nested
    assert hash(flat) == hash(nested)
    assert flat.prices == {("rent", "own"): 2.0, ("own", "rent"): 1.0}


def test_a_schema_comes_back_from_its_saved_form():
    feature = ee.Feature(
        "actionable", order=list(ORDER), steps=True, direction="up", upper="degree", weight=(2.0, 1.0),
        prices={("none", "degree"): 3.0},
    )  # fmt: skip
    schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features={"edu": feature, "sum": "actionable"})
    again = Schema.from_dict(schema.to_dict())
    assert again == schema
    assert again.feature("edu").prices == {("none", "degree"): 3.0}


def checked(people: pd.DataFrame, **said: object) -> None:
    schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features={"edu": ee.Feature("actionable", **said)})
    check_kinds(schema, Encoding.of(people, ["edu"]))


@pytest.mark.parametrize(
    ("code", "words", "said"),
    [
        ("SCHEMA_LEVELS", "nothing says in which order its levels are", {"direction": "up"}),
        ("SCHEMA_LEVELS", "nothing says in which order its levels are", {"steps": True}),
        ("SCHEMA_LEVELS", "nothing says in which order its levels are", {"weight": (1.0, 2.0)}),
        ("SCHEMA_LEVELS", "nothing says in which order its levels are", {"upper": "school"}),
        ("SCHEMA_LEVELS", "lacks 'degree'. Did you mean 'degre'?", {"order": ["none", "school", "degre"]}),
        ("SCHEMA_LEVELS", "Prices of 'edu' names 'phd'", {"prices": {("none", "phd"): 1.0}}),
        ("SCHEMA_KIND", "which only numbers can have", {"order": ORDER, "max_increase": 1}),
        ("SCHEMA_KIND", "which only numbers can have", {"order": ORDER, "plausible": (0, 1)}),
    ],
)
def test_what_does_not_fit_the_levels_is_refused(code, words, said):
    people = pd.DataFrame({"edu": ["none", "school", "degree"]})
    with pytest.raises(EquieffortError) as caught:
        checked(people, **said)
    assert caught.value.code == code, caught.value
    assert words in caught.value.what, caught.value.what
    checked(people, order=ORDER, direction="up", steps=True, prices={("none", "school"): 1.0})


@pytest.mark.parametrize("said", [{"order": [1, 2, 3]}, {"steps": True}, {"prices": {(1, 2): 1.0}}])
def test_numbers_have_no_levels(said):
    with pytest.raises(EquieffortError, match="numbers are ordered by themselves") as caught:
        checked(pd.DataFrame({"edu": [1, 2, 3]}), **said)
    assert caught.value.code == "SCHEMA_KIND"


def test_a_number_whose_limit_is_a_text_is_refused():
    with pytest.raises(EquieffortError, match="lower of 'edu' is the text '9', not a number") as caught:
        checked(pd.DataFrame({"edu": [1.5, 2.0, 3.0]}), lower="9")
    assert caught.value.code == "SCHEMA_LIMITS"


def test_which_types_declare_an_order():
    values = ["a", "b"]
    assert is_ordered(pd.Series(pd.Categorical(values, ["b", "a"], ordered=True)))
    assert not is_ordered(pd.Series(pd.Categorical(values)))
    assert not is_ordered(pd.Series(values))
    assert not is_ordered(pd.Series(np.arange(2)))
