"""A declared threshold on models from files: probabilities are the library's own, and recourse is proven with them."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from tests.limits import unlimited

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.errors import ModelError
from equieffort.models.classifiers import BlackBox, Decision, NetworkView, TreeView, recognise
from equieffort.models.files import load_model

RNG = np.random.default_rng(3)
SIDE = 13
X = pd.DataFrame(RNG.integers(0, SIDE, (160, 3)), columns=["a", "b", "c"]).astype(float)
SCORE = X["a"] * 0.6 + X["b"] - 0.08 * X["a"] * X["b"] + 0.2 * X["c"] + RNG.normal(0, 1.5, len(X))
TWO = (SCORE > 7.5).astype(int).to_numpy()
THREE = np.digitize(SCORE, [6, 9])
FAR = pd.DataFrame(RNG.normal(6, 5, (3000, 3)), columns=X.columns)


def xgb(y: Any, path: Path, **options: Any) -> tuple[Any, Any]:
    own = xgboost.XGBClassifier(n_estimators=6, max_depth=3, n_jobs=1, **options).fit(X, y)
    own.save_model(path)
    return own, load_model(path)


def lgb(y: Any, path: Path, **options: Any) -> tuple[Any, Any]:
    settings = {"n_estimators": 6, "num_leaves": 5, "min_child_samples": 5, "n_jobs": 1, "verbose": -1}
    own = lightgbm.LGBMClassifier(**settings | options).fit(X, y)
    own.booster_.save_model(path)
    return own, load_model(path)


def onnx(own: Any, path: Path, zipmap: bool = True) -> Any:
    path.write_bytes(to_onnx(own, X.to_numpy(np.float32)[:1], options={"zipmap": zipmap}).SerializeToString())
    return load_model(path)


def network(y: Any = TWO) -> Any:
    return make_pipeline(
        StandardScaler(), MLPClassifier((5,), learning_rate_init=0.03, max_iter=400, tol=1e-3, random_state=0)
    ).fit(X.to_numpy(np.float32), y)


# -- what the library itself says --------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
@pytest.mark.parametrize("booster", ["gbtree", "dart"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_xgboost(tmp_path: Path, suffix: str, booster: str, y: Any) -> None:
    own, loaded = xgb(y, tmp_path / f"m{suffix}", booster=booster)
    np.testing.assert_array_equal(loaded.predict_proba(FAR), own.predict_proba(FAR))
    assert loaded.predict_proba(FAR).dtype == own.predict_proba(FAR).dtype


def test_xgboost_softmax_gives_probabilities_as_its_classifier_does(tmp_path: Path) -> None:
    own, loaded = xgb(THREE, tmp_path / "m.json", objective="multi:softmax")
    np.testing.assert_array_equal(loaded.predict_proba(FAR), own.predict_proba(FAR))
    np.testing.assert_allclose(loaded.predict_proba(FAR).sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("boosting", ["gbdt", "dart", "rf"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_lightgbm(tmp_path: Path, boosting: str, y: Any) -> None:
    bagged = {"subsample": 0.6, "subsample_freq": 1} if boosting == "rf" else {}
    own, loaded = lgb(y, tmp_path / "m.txt", boosting_type=boosting, **bagged)
    np.testing.assert_array_equal(loaded.predict_proba(FAR), own.predict_proba(FAR))


@pytest.mark.parametrize("zipmap", [True, False])
@pytest.mark.parametrize("y", [TWO, np.array(["no", "so", "yes"])[THREE]], ids=["two", "three"])
@pytest.mark.parametrize("kind", ["linear", "network", "forest"])
def test_onnx(tmp_path: Path, zipmap: bool, y: Any, kind: str) -> None:
    own = {
        "linear": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
        "network": lambda: network(y),
        "forest": lambda: RandomForestClassifier(5, max_depth=3, random_state=0),
    }[kind]()
    own = own.fit(X.to_numpy(np.float32), y)
    loaded = onnx(own, tmp_path / "m.onnx", zipmap)
    assert loaded.classes_.tolist() == own.classes_.tolist()
    table = FAR.astype(np.float32).astype(float)
    np.testing.assert_allclose(loaded.predict_proba(table.to_numpy()), own.predict_proba(table.to_numpy()), atol=2e-6)


# -- what gives none ---------------------------------------------------------------------------------------------------


def refused(loaded: Any, favourable: Any, code: str) -> str:
    with pytest.raises(ModelError) as caught:
        Decision.of(loaded, favourable, X, ["a", "b", "c"], threshold=0.6)
    assert caught.value.code == code
    return str(caught.value)


def test_objectives_without_probabilities_are_refused(tmp_path: Path) -> None:
    _, hinge = xgb(TWO, tmp_path / "m.json", objective="binary:hinge")
    refused(hinge, 1, "MODEL_NO_PROBABILITY")
    # One against all others: the numbers of a person do not add up to one.
    own, apart = lgb(THREE, tmp_path / "m.txt", objective="multiclassova")
    assert np.abs(own.predict_proba(X).sum(axis=1) - 1).max() > 0.01
    refused(apart, [2], "MODEL_NO_PROBABILITY")


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_onnx_scores_that_are_called_probabilities(tmp_path: Path, y: Any) -> None:
    """skl2onnx gives that name also to the scores of models that have no probabilities."""
    data = X.to_numpy(np.float32)
    for model, code in ((LinearSVC(), "MODEL_NO_PROBABILITY"), (SGDClassifier(random_state=0), "MODEL_FAILED")):
        path = tmp_path / "m.onnx"
        path.write_bytes(to_onnx(model.fit(data, y), data[:1]).SerializeToString())
        favourable = 1 if len(set(y)) == 2 else [2]
        assert "no probabilities" in refused(load_model(path), favourable, code)


# -- recourse ----------------------------------------------------------------------------------------------------------


def problem(model: Any, favourable: Any, threshold: float) -> tuple[Any, pd.DataFrame]:
    people = X.assign(sex=np.where(np.arange(len(X)) % 2, "f", "m")).astype({"a": int, "b": int, "c": int})
    move = ee.Feature("actionable", lower=0, upper=SIDE - 1)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=favourable, threshold=threshold,
        features=unlimited({"a": move, "b": move, "c": "immutable"}),
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["a", "b", "c", "sex"]).fit(people)
    features = None if hasattr(model, "feature_names_in_") else ["a", "b", "c"]
    return ee.RecourseProblem.of(model, people, schema=schema, scm=scm, model_features=features), people


def cheapest(chance: Any, threshold: float, people: pd.DataFrame) -> np.ndarray:
    """The least cost of each person, over all whole numbers that a and b may take; nan where nothing is needed."""
    # Everything anybody can be, asked about once.
    everything = np.array(list(itertools.product(range(SIDE), repeat=3)), dtype=float)
    good = (chance(everything) >= threshold).reshape(SIDE, SIDE, SIDE)
    moves, found = np.arange(SIDE), []
    for a, b, c in people[["a", "b", "c"]].to_numpy():
        cost = np.abs(moves - a)[:, None] / np.ptp(people["a"]) + np.abs(moves - b)[None] / np.ptp(people["b"])
        found.append(np.nan if good[a, b, c] else cost[good[:, :, c]].min(initial=np.inf))
    return np.array(found)


def is_proven(model: Any, chance: Any, favourable: Any, threshold: float, view: type) -> None:
    asked, people = problem(model, favourable, threshold)
    assert isinstance(asked.view, view)
    table = ee.solve(asked, people)
    best = cheapest(chance, threshold, people)
    assert 0 < np.isnan(best).sum() < len(best)
    status = table.frame()["status"].astype(str).to_numpy()
    expected = np.where(np.isnan(best), "not_needed", np.where(np.isinf(best), "infeasible", "optimal"))
    np.testing.assert_array_equal(status, expected)
    solved = np.isfinite(best)
    assert solved.sum() > 10
    np.testing.assert_allclose(table.cost[solved], best[solved], rtol=1e-9)


@pytest.mark.parametrize("threshold", [0.2, 0.62, 0.8])
@pytest.mark.parametrize("favourable", [0, 1])
def test_recourse_to_a_threshold_with_xgboost(tmp_path: Path, threshold: float, favourable: int) -> None:
    own, loaded = xgb(TWO, tmp_path / "m.json")
    is_proven(loaded, lambda rows: own.predict_proba(rows)[:, favourable], favourable, threshold, TreeView)


@pytest.mark.parametrize(("threshold", "favourable"), [(0.2, 0), (0.62, 0), (0.62, 1), (0.8, 1)])
def test_recourse_to_a_threshold_with_lightgbm(tmp_path: Path, threshold: float, favourable: int) -> None:
    own, loaded = lgb(TWO, tmp_path / "m.txt", learning_rate=0.3)
    is_proven(loaded, lambda rows: own.booster_.predict(rows) if favourable else 1 - own.booster_.predict(rows),
              favourable, threshold, TreeView)  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "network"])
@pytest.mark.parametrize("threshold", [0.2, 0.62])
@pytest.mark.parametrize("favourable", [0, 1])
def test_recourse_to_a_threshold_with_onnx(tmp_path: Path, kind: str, threshold: float, favourable: int) -> None:
    own = (
        network() if kind == "network" else make_pipeline(StandardScaler(), LogisticRegression()).fit(X.to_numpy(), TWO)
    )
    loaded = onnx(own, tmp_path / "m.onnx", zipmap=kind == "network")
    is_proven(loaded, lambda rows: own.predict_proba(rows)[:, favourable], favourable, threshold, NetworkView)


def test_a_threshold_that_a_leaf_meets_exactly(tmp_path: Path) -> None:
    own, loaded = xgb(TWO, tmp_path / "m.json")
    level = float(np.median(own.predict_proba(X)[:, 1]))
    is_proven(loaded, lambda rows: own.predict_proba(rows)[:, 1], 1, level, TreeView)


@pytest.mark.parametrize("make", [xgb, lgb])
def test_several_classes_are_asked(tmp_path: Path, make: Any) -> None:
    own, loaded = make(THREE, tmp_path / ("m.json" if make is xgb else "m.txt"))
    decision = Decision.of(loaded, [1, 2], X, threshold=0.7)
    np.testing.assert_array_equal(decision.is_favourable(FAR), own.predict_proba(FAR)[:, 1:].sum(axis=1) >= 0.7)
    view = recognise(decision, Encoding.of(X, X.columns), X)
    assert isinstance(view, BlackBox)
    assert "several classes" in view.reason


# -- ONNX near the boundary --------------------------------------------------------------------------------------------


def two_scores(weights: Any, bias: Any, path: Path) -> Any:
    """The softmax of two scores, as torch writes it."""
    nodes = [
        helper.make_node("Gemm", ["x", "w", "b"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=1),
        helper.make_node("ArgMax", ["p"], ["at"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["classes", "at"], ["row"], domain="ai.onnx.ml"),
        helper.make_node("Reshape", ["row", "flat"], ["label"]),
    ]
    constants = {
        "w": np.array(weights, dtype=np.float32), "b": np.array(bias, dtype=np.float32), "classes": np.array([4, 7]),
        "flat": np.array([-1]),
    }  # fmt: skip
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [
            helper.make_tensor_value_info("label", TensorProto.INT64, [None]),
            helper.make_tensor_value_info("p", TensorProto.FLOAT, [None, 2]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    path.write_bytes(helper.make_model(made, opset_imports=opsets, ir_version=8).SerializeToString())
    return load_model(path)


@pytest.mark.parametrize("threshold", [0.05, 0.62, 0.97])
@pytest.mark.parametrize("favourable", [4, 7])
def test_onnx_probabilities_beside_the_threshold(tmp_path: Path, threshold: float, favourable: int) -> None:
    loaded = two_scores([[0.3, -0.4], [0.9, 1.7]], [0.1, -0.8], tmp_path / "m.onnx")
    assert loaded.classes_.tolist() == [4, 7]
    # On the boundary by hand: 0.7 a - 0.8 b + 0.9 is the logit of the first class.
    sign = 1.0 if favourable == 4 else -1.0
    b = RNG.normal(0, 2, 20_000)
    a = (sign * np.log(threshold / (1 - threshold)) + 0.8 * b - 0.9) / 0.7 + RNG.normal(0, 1, len(b)) * 10.0 ** (
        RNG.uniform(-8, 0, len(b))
    )
    people = pd.DataFrame({"a": a, "b": b})
    decision = Decision.of(loaded, favourable, people, ["a", "b"], threshold=threshold)
    encoding = Encoding.of(people, people.columns)
    view = recognise(decision, encoding, people)
    assert isinstance(view, NetworkView)
    matrix = encoding.encode(people)
    clear = view.is_clear(matrix)
    assert 0.3 < clear.mean() < 1
    own = decision.is_favourable(people)
    assert 0.3 < own.mean() < 0.7
    np.testing.assert_array_equal(view.is_favourable(matrix)[clear], own[clear])


def test_onnx_labels_that_become_text_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = two_scores([[0.3, -0.4], [0.9, 1.7]], [0.1, -0.8], path).model
    model.graph.node[-1].output[0] = "number"
    model.graph.node.append(helper.make_node("Cast", ["number"], ["label"], to=TensorProto.STRING))
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.STRING
    path.write_bytes(model.SerializeToString())
    loaded = load_model(path)
    assert loaded.predict(np.array([[9.0, 0.0], [0.0, 9.0]])).tolist() == ["4", "7"]
    assert not hasattr(loaded, "classes_")
    assert not hasattr(loaded, "predict_proba")


def test_onnx_scores_that_nearly_cancel_are_not_trusted(tmp_path: Path) -> None:
    loaded = two_scores([[1e6, 1e6 + 1], [1.0, 2.0]], [0.0, 0.5], tmp_path / "m.onnx")
    people = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])
    decision = Decision.of(loaded, 7, people, ["a", "b"], threshold=0.6)
    view = recognise(decision, Encoding.of(people, people.columns), people)
    assert isinstance(view, BlackBox)
    assert "too coarsely" in view.reason
