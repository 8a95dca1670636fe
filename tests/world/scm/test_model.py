"""Abduction, prediction and counterfactuals against the equations written out by hand."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestRegressor

from equieffort import CausalGraph, Function, LeastSquares, Linear, Regressor, StructuralCausalModel
from equieffort.errors import (
    CausalModelError,
    DataError,
    EquieffortError,
    EquieffortWarning,
    GraphError,
    ParameterError,
)

EDGES = [("sex", "b"), ("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]
CLOSE = {"rtol": 0, "atol": 1e-9}


def people(n=60, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "a": rng.normal(size=n)})
    frame["b"] = 0.5 * frame["a"] + 1.0 * (frame["sex"] == "m") + rng.normal(size=n)
    frame["c"] = frame["a"] - 2 * frame["b"] + 0.3 * rng.normal(size=n)
    frame["d"] = 1.5 * frame["c"] + 0.2 * rng.normal(size=n)
    frame.index = [f"p{(37 * k) % n}" for k in range(n)]  # neither sorted nor positions
    return frame.assign(note=rng.choice(["x", "y"], n), extra=np.arange(n))


def fb(causes):
    return np.sin(causes["a"]) + (causes["sex"] == "m")


def fc(causes):
    return causes["a"] * causes["b"]


def fd(causes):
    return np.exp(-np.square(causes["c"]))


MODELS = {
    "least squares": lambda: StructuralCausalModel(EDGES),
    "no intercept": lambda: StructuralCausalModel(EDGES, default=LeastSquares(intercept=False)),
    "given": lambda: StructuralCausalModel(
        EDGES,
        mechanisms={
            "b": Linear({"a": 0.5, "sex": {"m": 1.0}}),
            "c": Linear({"a": 1.0, "b": -2.0}, intercept=4.0),
            "d": Linear({"c": 1.5}),
        },
    ),
    "functions": lambda: StructuralCausalModel(
        EDGES, mechanisms={"b": Function(fb), "c": Function(fc), "d": Function(fd)}
    ),
    "mixed": lambda: StructuralCausalModel(EDGES, mechanisms={"c": Function(fc)}),
    "forest": lambda: StructuralCausalModel(EDGES, default=Regressor(RandomForestRegressor(5, random_state=0))),
}
NODES = ["sex", "a", "b", "c", "d"]

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)


@every_model
def test_abduct_then_predict_gives_the_people_back(make):
    frame = people()
    scm = make().fit(frame)
    back = scm.predict(scm.abduct(frame))
    assert back.index.equals(frame.index)
    assert back["sex"].tolist() == frame["sex"].tolist()
    np.testing.assert_allclose(back[["a", "b", "c", "d"]], frame[["a", "b", "c", "d"]], **CLOSE)


@every_model
def test_abduct_act_predict_is_the_counterfactual(make):
    frame = people()
    scm = make().fit(frame)
    rng = np.random.default_rng(1)
    actions = [
        {"a": 1.5},
        {"b": frame["b"] + 1},
        {"a": rng.normal(size=len(frame)), "c": 0.0},
        {"sex": "m"},
        {"sex": rng.choice(["f", "m"], len(frame)), "b": frame["b"].to_numpy()},
        {"d": 3.0},
        {},
    ]
    for do in actions:
        at_once = scm.counterfactual(frame, do)
        in_steps = scm.predict(scm.abduct(frame), do)
        assert at_once["sex"].tolist() == in_steps["sex"].tolist()
        np.testing.assert_allclose(at_once[["a", "b", "c", "d"]], in_steps[["a", "b", "c", "d"]], **CLOSE)


def test_a_counterfactual_by_hand():
    frame = people()
    scm = MODELS["functions"]().fit(frame)
    done = scm.counterfactual(frame, {"a": 2.0})
    b = frame["b"] + np.sin(2.0) - np.sin(frame["a"])
    c = frame["c"] + 2.0 * b - frame["a"] * frame["b"]
    d = frame["d"] + np.exp(-(c**2)) - np.exp(-(frame["c"] ** 2))
    expected = frame.assign(a=2.0, b=b, c=c, d=d)
    pd.testing.assert_frame_equal(done, expected, rtol=0, atol=1e-9)


@given(st.integers(0, 10_000), st.data())
@settings(max_examples=40, deadline=None)
def test_linear_counterfactuals_are_path_sums(seed, data):
    """On a random linear graph the effect of an action is the sum over all open paths, (I - B)^-1."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 7))
    names = [f"v{k}" for k in range(n)]
    weights = np.triu(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), 1)  # row causes column
    frame = pd.DataFrame(rng.normal(size=(5, n)), columns=names)
    chosen = data.draw(st.lists(st.sampled_from(range(n)), unique=True, min_size=1))
    values = rng.normal(size=(5, len(chosen)))
    mechanisms = {
        names[j]: Linear({names[i]: weights[i, j] for i in range(j) if weights[i, j]}, intercept=rng.normal())
        for j in range(n)
        if weights[:, j].any()
    }
    edges = [(names[i], names[j]) for i in range(n) for j in range(n) if weights[i, j]]
    scm = StructuralCausalModel(edges, nodes=names, mechanisms=mechanisms).fit(frame)
    done = scm.counterfactual(frame, {names[j]: values[:, k] for k, j in enumerate(chosen)})
    open_weights = weights.copy()
    open_weights[:, chosen] = 0.0  # what is set no longer listens to its causes
    change = np.zeros((5, n))
    change[:, chosen] = values - frame.to_numpy()[:, chosen]
    moved = frame.to_numpy() + change @ np.linalg.inv(np.eye(n) - open_weights)
    np.testing.assert_allclose(done[names], moved, **CLOSE)


@every_model
def test_holding_a_node_cuts_the_propagation(make):
    frame = people()
    scm = make().fit(frame)
    free = scm.counterfactual(frame, {"a": frame["a"] + 1.0})
    held = scm.counterfactual(frame, {"a": frame["a"] + 1.0, "b": frame["b"], "c": frame["c"]})
    assert not np.allclose(free["b"], frame["b"])
    for node in ("b", "c", "d"):
        np.testing.assert_array_equal(held[node], frame[node])
    # Holding only the last on the way still lets the first move.
    cut = scm.counterfactual(frame, {"a": frame["a"] + 1.0, "c": frame["c"]})
    np.testing.assert_allclose(cut["b"], free["b"], **CLOSE)
    np.testing.assert_array_equal(cut["d"], frame["d"])


@every_model
def test_nothing_changes_upstream_or_without_a_change(make):
    frame = people()
    scm = make().fit(frame)
    done = scm.counterfactual(frame, {"c": 5.0})
    pd.testing.assert_frame_equal(done[["sex", "a", "b"]], frame[["sex", "a", "b"]])
    assert (done["c"] == 5.0).all()
    same = scm.counterfactual(frame, {"a": frame["a"]})
    pd.testing.assert_frame_equal(same, frame)


def test_one_value_a_person():
    frame = people()
    scm = MODELS["given"]().fit(frame)
    wanted = np.random.default_rng(3).normal(size=len(frame))
    for form in (wanted, list(wanted), pd.Series(wanted, index=frame.index), pl.Series(wanted), tuple(wanted)):
        done = scm.counterfactual(frame, {"a": form})
        np.testing.assert_array_equal(done["a"], wanted)
        np.testing.assert_allclose(done["b"], frame["b"] + 0.5 * (wanted - frame["a"]), **CLOSE)
    # Each person is handled apart from the others.
    alone = pd.concat(scm.counterfactual(frame.iloc[[k]], {"a": wanted[k]}) for k in range(len(frame)))
    pd.testing.assert_frame_equal(alone, scm.counterfactual(frame, {"a": wanted}))


def test_text_as_an_intervention():
    frame = people()
    scm = MODELS["given"]().fit(frame)
    done = scm.counterfactual(frame, {"sex": "m"})
    assert set(done["sex"]) == {"m"}
    np.testing.assert_allclose(done["b"], frame["b"] + (frame["sex"] == "f"), **CLOSE)
    flipped = frame["sex"].map({"f": "m", "m": "f"})
    np.testing.assert_allclose(
        scm.counterfactual(frame, {"sex": flipped})["b"], frame["b"] + np.where(frame["sex"] == "f", 1, -1), **CLOSE
    )
    with pytest.raises(DataError, match="'x'") as caught:
        scm.counterfactual(frame, {"sex": "x"})
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


@pytest.mark.parametrize("levels", [[True, False], [0, 1], ["no", "yes"]], ids=str)
def test_two_levels_of_any_type(levels):
    frame = pd.DataFrame({"flag": levels * 3, "x": np.arange(6.0)})
    second = sorted(levels)[1]
    scm = StructuralCausalModel([("flag", "x")], mechanisms={"x": Linear({"flag": 5.0})}).fit(frame)
    done = scm.counterfactual(frame, {"flag": second})
    assert done["flag"].tolist() == [second] * 6
    np.testing.assert_allclose(done["x"], frame["x"] + 5.0 * (frame["flag"] != second))


def test_index_order_and_other_columns_are_kept():
    frame = people()
    done = MODELS["given"]().fit(frame).counterfactual(frame, {"a": 1.0})
    assert list(done.columns) == list(frame.columns)
    assert done.index.equals(frame.index)
    pd.testing.assert_frame_equal(done[["note", "extra"]], frame[["note", "extra"]])


def test_the_data_are_not_modified():
    frame = people()
    before = frame.copy(deep=True)
    scm = MODELS["least squares"]().fit(frame)
    scm.predict(scm.abduct(frame), {"a": 1.0})
    scm.counterfactual(frame, {"a": 1.0, "sex": "m"})
    pd.testing.assert_frame_equal(frame, before)


def test_integers_stay_integers_where_they_can():
    frame = pd.DataFrame({"a": [1, 2, 3, 5], "b": [4, 6, 9, 8]})
    scm = StructuralCausalModel([("a", "b")], mechanisms={"b": Linear({"a": 2.0})}).fit(frame)
    done = scm.counterfactual(frame, {"a": 4})
    assert done["b"].tolist() == [10, 10, 11, 6]
    assert pd.api.types.is_integer_dtype(done["b"].dtype)
    assert scm.counterfactual(frame, {"a": 1.25})["b"].tolist() == [4.5, 4.5, 5.5, 0.5]


@pytest.mark.parametrize("form", [pl.DataFrame, pa.Table.from_pandas, dict], ids=["polars", "pyarrow", "dict"])
def test_other_tables(form):
    frame = people().reset_index(drop=True)
    one, two = MODELS["least squares"]().fit(frame), MODELS["least squares"]().fit(form(frame))
    assert one.mechanisms_ == two.mechanisms_
    pd.testing.assert_frame_equal(two.counterfactual(form(frame), {"a": 1.0}), one.counterfactual(frame, {"a": 1.0}))


def test_every_form_of_graph():
    frame = people()
    first = StructuralCausalModel(EDGES).fit(frame).counterfactual(frame, {"a": 1.0})
    for graph in (CausalGraph.of(EDGES), {"sex": ["b"], "a": ["b", "c"], "b": ["c"], "c": ["d"]}):
        pd.testing.assert_frame_equal(StructuralCausalModel(graph).fit(frame).counterfactual(frame, {"a": 1.0}), first)


def test_no_edges_nothing_follows():
    frame = people()
    scm = StructuralCausalModel([], nodes=NODES).fit(frame)
    pd.testing.assert_frame_equal(scm.counterfactual(frame, {"a": 9.0}), frame.assign(a=9.0))
    assert scm.mechanisms_ == {}


@every_model
def test_pickling(make):
    frame = people()
    scm = make().fit(frame)
    again = pickle.loads(pickle.dumps(scm))
    do = {"a": 1.0, "sex": "f"}
    pd.testing.assert_frame_equal(again.counterfactual(frame, do), scm.counterfactual(frame, do), check_exact=True)
    pd.testing.assert_frame_equal(again.diagnostics_, scm.diagnostics_)
    assert again.equations() == scm.equations()
    # The values that scales come from travel with it, but neither who these people are nor what else is known.
    assert b"p37" not in pickle.dumps(scm)
    twice = pickle.loads(pickle.dumps(again))
    pd.testing.assert_frame_equal(twice.reference_, frame[list(scm.graph.nodes)].reset_index(drop=True))
    assert set(twice.forgotten_) == set(frame.columns) - set(scm.graph.nodes)
    assert again.fit(frame).forgotten_ == ()


def test_pickling_before_fitting_and_after_a_warning():
    frame = people()
    again = pickle.loads(pickle.dumps(MODELS["least squares"]()))
    assert not again.is_fitted
    assert again.fit(frame).mechanisms_ == MODELS["least squares"]().fit(frame).mechanisms_
    with pytest.warns(EquieffortWarning):
        noisy = StructuralCausalModel([("extra", "a")]).fit(frame)
    assert [warning.code for warning in pickle.loads(pickle.dumps(noisy)).warnings_] == ["SCM_POOR_FIT"]


def test_given_equations_need_no_fit():
    frame = people()
    do = {"a": 1.0}
    unfitted = MODELS["given"]()
    pd.testing.assert_frame_equal(
        unfitted.counterfactual(frame, do), MODELS["given"]().fit(frame).counterfactual(frame, do)
    )
    assert not unfitted.is_fitted
    assert "not fitted" in repr(unfitted)
    with pytest.raises(CausalModelError, match="'b', 'c', 'd'") as caught:
        MODELS["least squares"]().counterfactual(frame, do)
    assert caught.value.code == "SCM_NOT_FITTED"


def test_fitting_again_forgets_the_first_time():
    scm = MODELS["least squares"]()
    scm.fit(people(seed=1))
    assert scm.fit(people(seed=2)) is scm
    assert scm.mechanisms_ == MODELS["least squares"]().fit(people(seed=2)).mechanisms_


def test_a_category_with_causes_has_no_equation():
    frame = people().assign(job=np.where(people()["a"] > 0, "x", "y"))
    scm = StructuralCausalModel([*EDGES, ("a", "job"), ("job", "d")]).fit(frame)
    assert scm.mechanisms_["job"] is None
    for call in (lambda: scm.abduct(frame), lambda: scm.counterfactual(frame, {"a": 1.0})):
        with pytest.raises(CausalModelError, match="'job'") as caught:
            call()
        assert caught.value.code == "SCM_CANNOT_ABDUCT"
    # Set, or with causes that did not move, nothing is missing.
    assert set(scm.counterfactual(frame, {"a": 1.0, "job": "x"})["job"]) == {"x"}
    pd.testing.assert_series_equal(scm.counterfactual(frame, {"c": 1.0})["job"], frame["job"])
    for given_mechanism in (LeastSquares(), Linear({"a": 1.0})):
        with pytest.raises(CausalModelError) as caught:
            StructuralCausalModel([("a", "job")], mechanisms={"job": given_mechanism}).fit(frame)
        assert caught.value.code == "SCM_CANNOT_ABDUCT"


def test_propagate_says_for_whom_a_category_is_unknown():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "job": ["x", "y", "x"]})
    scm = StructuralCausalModel([("a", "job")]).fit(frame)
    matrix = scm.encoding_.encode(frame)
    chosen = np.array([[True, False], [True, False], [True, True]])
    values = np.array([[1.0, 0.0], [5.0, 0.0], [5.0, 1.0]])
    moved, unknown = scm.propagate(matrix, chosen, values)
    # The first keeps the cause, the second moves it, the third sets the category as well.
    assert unknown["job"].tolist() == [False, True, False]
    np.testing.assert_array_equal(moved, [[1, 0], [5, 1], [5, 1]])


@pytest.mark.parametrize(
    ("do", "error"),
    [
        ({"e": 1.0}, CausalModelError),
        ({"note": "x"}, CausalModelError),
        ({"a": [1.0, 2.0]}, ParameterError),
        ({"a": np.nan}, ParameterError),
        ({"a": np.inf}, ParameterError),
        ({"a": "many"}, DataError),
    ],
    ids=str,
)
def test_interventions_that_cannot_be(do, error):
    frame = people()
    scm = MODELS["given"]().fit(frame)
    with pytest.raises(error):
        scm.counterfactual(frame, do)
    with pytest.raises(error):
        scm.predict(scm.abduct(frame), do)


def test_data_that_do_not_fit():
    frame = people()
    scm = MODELS["given"]().fit(frame)
    for broken, error, code in (
        (frame.drop(columns="b"), GraphError, "GRAPH_UNKNOWN_NODE"),
        (frame.assign(b=[np.nan, *frame["b"][1:]]), DataError, "DATA_MISSING_VALUES"),
        (frame.assign(b=np.inf), DataError, "DATA_NOT_FINITE"),
        (frame.assign(sex="x"), DataError, "DATA_UNSEEN_CATEGORY"),
    ):
        with pytest.raises(error) as caught:
            scm.counterfactual(broken, {"a": 1.0})
        assert caught.value.code == code
    with pytest.raises(EquieffortError):
        MODELS["given"]().fit(frame.drop(columns="b"))


def test_equations_must_belong_to_nodes_with_causes():
    for node in ("a", "nobody"):
        with pytest.raises(CausalModelError) as caught:
            StructuralCausalModel(EDGES, mechanisms={node: Linear({})})
        assert caught.value.code == "SCM_MECHANISM"
    with pytest.raises(CausalModelError) as caught:
        StructuralCausalModel(EDGES, mechanisms={"b": "linear"})
    assert caught.value.code == "SCM_CANNOT_ABDUCT"


def test_a_function_of_the_factual_values_sets_a_node():
    X = pd.DataFrame({"income": [10.0, 30.0], "debt": [4.0, 5.0], "job": ["a", "b"]}, index=["x", "y"])
    scm = StructuralCausalModel([("income", "debt")], nodes=["job"], mechanisms={"debt": Linear({"income": 0.5})}).fit(
        X
    )
    after = scm.counterfactual(X, do={"income": lambda v: 1.1 * v, "job": lambda v: v.map({"a": "b", "b": "b"})})
    assert after["income"].tolist() == pytest.approx([11.0, 33.0])
    assert after["debt"].tolist() == pytest.approx([4.5, 6.5])
    assert after["job"].tolist() == ["b", "b"]
    for bad, says in ((lambda v: v[:1], "shape"), (lambda v: v.nonesuch, "The function do"), (float, "do")):
        with pytest.raises(EquieffortError, match=says) as caught:
            scm.counterfactual(X, do={"income": bad})
        assert caught.value.code == "SCM_DO"
