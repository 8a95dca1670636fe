"""Imputers, indicators of what is missing, unions, selectors, linear support vectors and one-vs-rest are read exactly.

What a view says is compared with the model's own answers on people it was not fitted on, and on people who lack values.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel, SelectKBest, VarianceThreshold
from sklearn.impute import IterativeImputer, KNNImputer, MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC, NuSVC
from sklearn.tree import DecisionTreeClassifier

from equieffort.data.frames import Encoding
from equieffort.errors import DataError
from equieffort.models.classifiers import BlackBox, Decision, LinearView, NetworkView, TreeView, known_levels, recognise

RNG = np.random.default_rng(5)
N = 160
PEOPLE = pd.DataFrame(
    {"a": RNG.normal(5, 2, N), "b": RNG.normal(0, 1, N), "c": RNG.integers(0, 9, N), "h": RNG.choice(list("xyz"), N)}
)
WHOLE = PEOPLE.iloc[:80]
LACKING = WHOLE.copy()
LACKING.loc[RNG.random(80) < 0.2, "b"] = np.nan
LACKING.loc[RNG.random(80) < 0.2, "h"] = np.nan
Y = (WHOLE["a"] - 2 * WHOLE["b"] + 0.5 * WHOLE["c"] + 2 * (WHOLE["h"] == "x") > 7.5).astype(int)
THREE = np.digitize(WHOLE["a"] - 2 * WHOLE["b"], [3.5, 6.5])
NUMBERS = ["a", "b", "c"]


def columns(**options: object) -> object:
    return make_column_transformer(
        (make_pipeline(SimpleImputer(**options), StandardScaler()), NUMBERS),
        (make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder()), ["h"]),
    )


def union(*more: object) -> FeatureUnion:
    return FeatureUnion([("values", SimpleImputer()), ("flags", MissingIndicator()), *more])


STEPS = {
    "mean": (columns(), [*NUMBERS, "h"]),
    "median": (columns(strategy="median"), [*NUMBERS, "h"]),
    "most frequent": (columns(strategy="most_frequent"), [*NUMBERS, "h"]),
    "constant": (columns(strategy="constant", fill_value=-3.0), [*NUMBERS, "h"]),
    "indicator": (columns(add_indicator=True), [*NUMBERS, "h"]),
    "union": (union(), NUMBERS),
    "weighted union": (
        FeatureUnion([("one", SimpleImputer()), ("two", SimpleImputer()), ("no", "drop")],
                     transformer_weights={"two": 3.0}), NUMBERS),
    "variance": (make_pipeline(union(), VarianceThreshold(0.01)), NUMBERS),
    "best": (make_pipeline(SimpleImputer(add_indicator=True), SelectKBest(k=3)), NUMBERS),
    "from model": (make_pipeline(SimpleImputer(), SelectFromModel(RidgeClassifier())), NUMBERS),
    "eliminated": (make_pipeline(SimpleImputer(), RFE(RidgeClassifier(), n_features_to_select=2)), NUMBERS),
    "after a scaler": (make_pipeline(StandardScaler(), SimpleImputer(strategy="constant", fill_value=0.3)), NUMBERS),
}  # fmt: skip
FINALS = {"linear": LogisticRegression(), "tree": DecisionTreeClassifier(max_depth=5, random_state=0)}


def read(model: object, names: list[str], people: pd.DataFrame = WHOLE, lacking: tuple[str, ...] = ()) -> object:
    """The view of a model for people who lack nothing, or all the same values."""
    decision = Decision.of(model, 1, WHOLE[names])
    missing = {name: people[name].iloc[0] for name in lacking}
    decision = replace(decision, missing=missing)
    return recognise(decision, Encoding.of(WHOLE, names).typed(people), people[names])


@pytest.mark.parametrize(
    ("name", "final"),
    [
        *((name, "linear") for name in STEPS),
        # What follows the steps reads them alike.
        *(
            pytest.param(name, "tree", marks=() if name in ("indicator", "union", "best") else pytest.mark.verify)
            for name in STEPS
        ),
    ],
)
def test_steps_are_read_for_people_who_lack_nothing_and_for_those_who_do(name: str, final: str) -> None:
    steps, names = STEPS[name]
    model = make_pipeline(steps, FINALS[final]).fit(LACKING[names], Y)
    kind = LinearView if final == "linear" else TreeView
    encoding = Encoding.of(WHOLE, names)
    for lacking in ((), ("b",), ("b", "h"), ("a",)):
        if not set(lacking) <= set(names) or (lacking == ("a",) and "flags" in str(steps)):
            continue
        fresh = PEOPLE.iloc[80:].copy()
        for column in lacking:
            fresh[column] = np.nan
        view = read(model, names, fresh, lacking)
        assert isinstance(view, kind), view
        matrix = np.nan_to_num(encoding.encode(fresh))
        np.testing.assert_array_equal(view.is_favourable(matrix), model.predict(fresh[names]) == 1)
        if final == "linear":
            np.testing.assert_allclose(view.score(matrix), model.decision_function(fresh[names]), atol=1e-9)


@pytest.mark.parametrize("imputer", [KNNImputer(), IterativeImputer(random_state=0)])
def test_imputers_that_look_at_the_others_are_read_for_people_who_lack_nothing(imputer: object) -> None:
    model = make_pipeline(imputer, LogisticRegression()).fit(LACKING[NUMBERS], Y)
    assert isinstance(read(model, NUMBERS), LinearView)
    gone = PEOPLE.iloc[80:].assign(b=np.nan)
    view = read(model, NUMBERS, gone, ("b",))
    assert isinstance(view, BlackBox)
    assert "by what the others are" in view.reason


def test_a_number_that_stands_for_missing_makes_a_black_box() -> None:
    model = make_pipeline(SimpleImputer(missing_values=-1), LogisticRegression()).fit(WHOLE[NUMBERS], Y)
    view = read(model, NUMBERS)
    assert isinstance(view, BlackBox)
    assert "takes -1 for a missing value" in view.reason


def test_a_tree_that_knows_missing_values_itself_is_not_guessed() -> None:
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(LACKING[NUMBERS], Y)
    view = read(model, NUMBERS, PEOPLE.iloc[80:].assign(b=np.nan), ("b",))
    assert isinstance(view, BlackBox)
    assert "decides itself what a missing value" in view.reason


def test_encoders_behind_imputers_say_what_they_know() -> None:
    table = make_column_transformer(
        (
            make_pipeline(SimpleImputer(strategy="constant", fill_value="?"), OneHotEncoder(handle_unknown="ignore")),
            ["h"],
        )
    )
    model = make_pipeline(table, LogisticRegression()).fit(LACKING[["h"]], Y)
    few = WHOLE[WHOLE["h"] != "x"]
    decision = Decision.of(model, 1, few)
    # Nobody is told to become somebody whose value is missing.
    assert known_levels(decision, few)["h"] == ("x", "y", "z")
    with pytest.raises(DataError) as caught:
        Decision.of(model, 1, WHOLE.assign(h="w"))
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


@pytest.mark.parametrize("model", [SVC(kernel="linear"), SVC(kernel="linear", C=1e3), NuSVC(kernel="linear", nu=0.2)])
@pytest.mark.parametrize("wanted", [0, 1])
def test_linear_support_vectors_are_read(model: SVC, wanted: int) -> None:
    scaled = make_pipeline(StandardScaler(), model).fit(WHOLE[NUMBERS], Y)
    view = recognise(Decision.of(scaled, wanted, WHOLE), Encoding.of(WHOLE, NUMBERS), WHOLE)
    assert isinstance(view, LinearView), view
    fresh = PEOPLE.iloc[80:]
    sign = 1 if wanted else -1
    theirs = sign * scaled.decision_function(fresh[NUMBERS])
    np.testing.assert_allclose(view.score(Encoding.of(WHOLE, NUMBERS).encode(fresh)), theirs, atol=1e-6)


@pytest.mark.parametrize("wanted", [0, 1])
def test_a_tie_of_support_vectors_goes_where_the_library_sends_it(wanted: int) -> None:
    X = pd.DataFrame({"a": [-1.0, 1.0]})
    model = SVC(kernel="linear").fit(X, [0, 1])
    middle = pd.DataFrame({"a": [0.0]})
    assert model.decision_function(middle)[0] == 0
    view = recognise(Decision.of(model, wanted, X), Encoding.of(X, ["a"]), X)
    assert bool(view.is_favourable(np.zeros((1, 1)))[0]) == (model.predict(middle)[0] == wanted)


def test_other_kernels_and_several_classes_say_why() -> None:
    for model, y, said in (
        (SVC(), Y, "kernel 'rbf'"),
        (SVC(kernel="linear"), THREE, "vote pair by pair"),
    ):
        decision = Decision.of(model.fit(WHOLE[NUMBERS], y), [1], WHOLE)
        view = recognise(decision, Encoding.of(WHOLE, NUMBERS), WHOLE)
        assert isinstance(view, BlackBox)
        assert said in view.reason


@pytest.mark.parametrize("inner", [LogisticRegression(), make_pipeline(StandardScaler(), SVC(kernel="linear"))])
@pytest.mark.parametrize("wanted", [[0], [1], [0, 2]])
def test_one_vs_rest_of_several_classes_is_read(inner: object, wanted: list[int]) -> None:
    model = OneVsRestClassifier(inner).fit(WHOLE[NUMBERS], THREE)
    view = recognise(Decision.of(model, wanted, WHOLE), Encoding.of(WHOLE, NUMBERS), WHOLE)
    assert isinstance(view, NetworkView), view
    fresh = PEOPLE.iloc[80:]
    ours = view.is_favourable(Encoding.of(WHOLE, NUMBERS).encode(fresh))
    np.testing.assert_array_equal(ours, np.isin(model.predict(fresh[NUMBERS]), wanted))


@pytest.mark.parametrize("inner", [LogisticRegression(), SVC(kernel="linear"), DecisionTreeClassifier(max_depth=3)])
@pytest.mark.parametrize("wanted", [0, 1])
def test_one_vs_rest_of_two_classes_is_read(inner: object, wanted: int) -> None:
    model = OneVsRestClassifier(inner).fit(WHOLE[NUMBERS], Y)
    view = recognise(Decision.of(model, wanted, WHOLE), Encoding.of(WHOLE, NUMBERS), WHOLE)
    assert isinstance(view, LinearView | TreeView), view
    fresh = PEOPLE.iloc[80:]
    ours = view.is_favourable(Encoding.of(WHOLE, NUMBERS).encode(fresh))
    np.testing.assert_array_equal(ours, model.predict(fresh[NUMBERS]) == wanted)


def test_one_vs_rest_of_trees_says_why() -> None:
    model = OneVsRestClassifier(DecisionTreeClassifier(max_depth=3)).fit(WHOLE[NUMBERS], THREE)
    view = recognise(Decision.of(model, [1], WHOLE), Encoding.of(WHOLE, NUMBERS), WHOLE)
    assert isinstance(view, BlackBox)
    assert "no linear score" in view.reason
