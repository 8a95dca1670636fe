"""People who lack a value behind an imputer: certified where that is the same whatever they do, unknown with its reason
elsewhere."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.notions.awareness import Awareness

RNG = np.random.default_rng(3)
N = 60
MOST = 8
TABLE = pd.DataFrame({"g": np.where(np.arange(N) % 2, "f", "m"), "a": RNG.integers(0, MOST + 1, N).astype(float)})
TABLE["b"], TABLE["c"] = RNG.normal(0, 1, N), RNG.normal(0, 1, N)
Y = (TABLE["a"] + 2 * TABLE["b"] - TABLE["c"] > 5).astype(int)
TABLE.loc[RNG.random(N) < 0.3, "b"] = np.nan
TABLE.loc[[0, 1], "a"] = [0, MOST]
NAMES = ["a", "b", "c"]
MODELS = {
    "linear": make_pipeline(SimpleImputer(add_indicator=True), LogisticRegression()),
    "tree": make_pipeline(SimpleImputer(strategy="median", add_indicator=True), DecisionTreeClassifier(max_depth=5)),
}


def audit(model: object, table: pd.DataFrame = TABLE, edges: object = (), **features: object) -> ee.Audit:
    roles = {"a": ee.Feature("actionable", kind="integer", lower=0, upper=MOST)} | features
    schema = ee.Schema(sensitive="g", protected="f", favourable=1, features=roles)
    scm = ee.StructuralCausalModel(list(edges), nodes=["a", "b", "c"])
    return ee.audit(model, table, schema=schema, scm=scm, missing="model")


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("name", MODELS)
def test_who_lacks_a_value_that_no_action_needs_is_certified(name: str, tmp_path) -> None:
    model = MODELS[name].fit(TABLE[NAMES], Y)
    result = audit(model)
    told = result.recourse.frame()
    labels = model.predict(TABLE[NAMES])
    lacking = 0
    for row in np.flatnonzero(labels == 0):
        person = TABLE[NAMES].iloc[[row] * (MOST + 1)].assign(a=np.arange(MOST + 1.0))
        good = model.predict(person) == 1
        # The range of a is its scale.
        least = np.min(np.abs(np.arange(MOST + 1) - TABLE["a"][row])[good] / MOST, initial=np.inf)
        lacking += TABLE["b"].isna()[row]
        assert told["status"][row] == ("infeasible" if np.isinf(least) else "optimal")
        if np.isfinite(least):
            assert told["cost"][row] == pytest.approx(least, abs=1e-9)
        result.explain(row)
    assert lacking > 3
    result.save(tmp_path / "one.audit")
    again = ee.Audit.load(tmp_path / "one.audit").recourse.frame()
    pd.testing.assert_frame_equal(again, told)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize(
    ("edges", "features", "said"),
    [
        ((), {"b": ee.Feature("actionable", lower=-3, upper=3)}, "'b' is missing, and an action may set it"),
        ([("a", "b")], {}, "'b' is missing, and what follows from an action depends on it"),
        ([("b", "c"), ("a", "c")], {}, ""),
    ],
)
def test_what_an_action_or_an_equation_needs_is_unknown_with_its_reason(edges, features, said) -> None:
    model = MODELS["linear"].fit(TABLE[NAMES], Y)
    told = audit(model, edges=edges, **features).recourse.frame()
    lacking = told[TABLE["b"].isna() & (told["status"] != "not_needed")]
    whole = told[TABLE["b"].notna() & (told["status"] != "not_needed")]
    assert not (whole["status"] == "unknown").any()
    if said:
        assert set(lacking["status"]) == {"unknown"}
        assert lacking["reason"].str.contains(said).all()
    else:
        # In a linear equation what stays as it is cancels.
        assert not (lacking["status"] == "unknown").any()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_of_a_model_that_cannot_be_read_nothing_is_claimed() -> None:
    model = make_pipeline(SimpleImputer(), KNeighborsClassifier(3)).fit(TABLE[NAMES], Y)
    told = audit(model).recourse.frame()
    lacking = told[TABLE["b"].isna() & (told["status"] != "not_needed")]
    assert set(lacking["status"]) == {"unknown"}
    assert lacking["reason"].str.contains("what the model makes of that could not be read").all()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_who_lacks_a_value_counts_with_what_they_do_not_lack() -> None:
    """The ends of a range and a level that only they have: scales, limits, levels and rules know them."""
    table = pd.DataFrame({"g": ["f", "m"] * 10, "a": [3.0, 4, 5, 6, 7] * 4, "b": np.linspace(-1, 1, 20)})
    table["home"] = ["rent", "free"] * 10
    table.loc[[0, 1], "a"], table.loc[[0, 1], "b"], table.loc[0, "home"] = [0, 10], np.nan, "own"

    class Rule:
        classes_ = np.array([0, 1])
        feature_names_in_ = np.array(["a", "b", "home"], dtype=object)

        def predict(self, X: pd.DataFrame) -> np.ndarray:
            return ((X["a"] + 3 * (X["home"] == "own")) >= 8).to_numpy().astype(int)

    schema = ee.Schema(
        sensitive="g", protected="f", favourable=1, rules=[ee.Forbidden("home", [("own", "rent")])],
        features={"a": ee.Feature("actionable", direction="up"), "home": ee.Feature("actionable", weight=0.35)},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["a", "b", "home"])
    result = ee.audit(Rule(), table, schema=schema, scm=scm, missing="model", solver=ee.Search())
    told = result.recourse.frame()
    # The whole range of a, 0 to 10, is what a unit of effort is.
    need = 8 - table["a"]
    least = np.minimum(need / 10, np.where(need <= 3, 0.35, 0.35 + np.maximum(need - 3, 0) / 10))
    lacks = table["b"].isna()
    sure = (need > 0) & ~lacks
    assert told["cost"][sure].tolist() == pytest.approx(least[sure].tolist())
    assert "own" in result.recourse.source.encoding["home"].levels


@pytest.mark.parametrize(("kind", "hole", "told"), [(None, 5, True), (None, None, False), ("continuous", 5, False)])
def test_whole_numbers_that_are_floats_beside_missing_values_are_told(kind, hole, told, recwarn) -> None:
    table = TABLE.copy()
    if hole is not None:
        table.loc[hole, "a"] = np.nan
    declared = ee.Feature("actionable", kind=kind, lower=0, upper=MOST)
    found = audit(MODELS["linear"].fit(TABLE[NAMES], Y), table, a=declared)
    words = [one for one in found.warnings if one.code == "SCHEMA_KIND_ASSUMED"]
    assert bool(words) is told
    if told:
        assert words[0].what.startswith("'a' holds nothing but whole numbers")
        assert "Feature(..., kind='integer')" in words[0].fix


# -- who is alike, where values are missing ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def behind_an_imputer() -> ee.Audit:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return audit(MODELS["linear"].fit(TABLE[NAMES], Y))


def test_people_are_compared_by_what_everybody_has(behind_an_imputer) -> None:
    """Of a, b and c some lack b: who is nearest is counted by hand from the other two."""
    with pytest.warns(EquieffortWarning, match="'b' has missing values and is left out of the distance.*'a', 'c'"):
        near = behind_an_imputer.neighbours(5, ee.Nearest(0.2))
    apart = np.abs(TABLE[["a", "c"]] - TABLE.loc[5, ["a", "c"]].astype(float)) / np.ptp(TABLE[["a", "c"]], axis=0)
    far = apart.sum(axis=1).to_numpy()
    assert 0.1 * N < near.sum() < 0.3 * N
    assert far[near].max() < far[~near].min()
    assert not behind_an_imputer.curve(bands=None).empty


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_whatever_compares_people_says_what_it_left_out(behind_an_imputer, tmp_path) -> None:
    assert not behind_an_imputer.matched().measures.empty
    found = behind_an_imputer.fairness_through_awareness()
    assert set(found.frame()["variant"]) == {"probability, L = 1 without 'b'"}
    figures = behind_an_imputer.plot
    for figure in (figures.acr(), figures.fairness_through_awareness(found), figures.notions()):
        assert figure.svg
    readings = behind_an_imputer.notions()
    why = {one.notion: one.why for one in readings.missing}
    assert why["situation_discriminated"] == "The distance uses 'b', which has missing values."
    assert {"awareness_share", "responsiveness"} <= set(readings.frame()["notion"])
    behind_an_imputer.save(tmp_path / "one.audit")
    assert not ee.load(tmp_path / "one.audit").curve(bands=None).empty


def test_a_feature_that_was_named_is_refused_with_a_fix_that_works_there(behind_an_imputer) -> None:
    named = ee.Manhattan(features=["b", "c"])
    for call in (
        lambda: behind_an_imputer.individual(position=5, neighbourhood=ee.Nearest(0.2, named)),
        lambda: behind_an_imputer.curve(distance=named),
        lambda: behind_an_imputer.matched(ee.Matching(features=["b", "c"])),
        lambda: behind_an_imputer.fairness_through_awareness(distance=named),
    ):
        with pytest.raises(ParameterError, match="'b', which has missing values") as caught:
            call()
        assert "features=[...]" in caught.value.fix


def test_where_nothing_is_known_of_everybody_nobody_is_alike() -> None:
    table = pd.DataFrame({"g": ["f", "m", "m"], "a": [1.0, np.nan, 2.0]})
    schema = ee.Schema(sensitive="g", protected="f", favourable=1)
    with pytest.raises(ParameterError, match="'a' has missing values, and nothing else tells people apart"):
        ee.Manhattan().bind(table, Encoding.of(table, ["a"]), schema)


def test_a_notion_that_is_refused_takes_no_other_with_it(behind_an_imputer, monkeypatch) -> None:
    def refuse(*_: object) -> None:
        raise ParameterError("PARAMETER", "It cannot be read here.", fix="Nothing.")

    monkeypatch.setattr(Awareness, "readings", refuse)
    found = behind_an_imputer.notions(only=["awareness", "responsiveness"])
    assert {one.notion: one.why for one in found.missing}["awareness_share"] == "It cannot be read here."
    assert "responsiveness" in set(found.frame()["notion"])
