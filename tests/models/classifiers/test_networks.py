"""Networks: what the view says is what the model says, wherever rounding does not decide."""

import json
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.models.classifiers.probes import mixed, numbers, outcome

from equieffort import ReLUNetwork
from equieffort.data.frames import Encoding
from equieffort.errors import EquieffortError
from equieffort.models.classifiers import BlackBox, Decision, LinearView, NetworkView, recognise
from equieffort.models.files import load_model


def mlp(frame, classes=("no", "yes"), steps=(), **changes):
    settings = {"hidden_layer_sizes": (6, 5), "max_iter": 150, "random_state": 0} | changes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return make_pipeline(*steps, MLPClassifier(**settings)).fit(frame, outcome(frame, classes))


def encoded():
    return make_column_transformer(
        (OneHotEncoder(), ["job"]), (OrdinalEncoder(), ["owner"]), remainder=StandardScaler(),
        verbose_feature_names_out=False,
    )  # fmt: skip


def seen(model, favourable, frame, names=None, threshold=None):
    encoding = Encoding.of(frame, list(frame))
    decision = Decision.of(model, favourable, frame, names, threshold)
    return recognise(decision, encoding, frame), decision, encoding


def check(model, favourable, frame, names=None, threshold=None, rows=20_000):
    """Labels of many random people, also far away, are the model's wherever the margins are clear."""
    view, decision, encoding = seen(model, favourable, frame, names, threshold)
    assert not isinstance(view, BlackBox), view.reason
    rng = np.random.default_rng(5)
    many = frame.iloc[rng.integers(0, len(frame), rows)].reset_index(drop=True).copy()
    for name in frame:
        if frame[name].dtype.kind == "f":
            far = rng.choice([1.0, 1.0, 5.0], rows)
            many[name] = many[name] + far * rng.normal(size=rows) * frame[name].std()
        elif frame[name].dtype.kind == "i":
            many[name] = rng.integers(-3, 12, rows)
        else:
            many[name] = many[name].sample(frac=1, random_state=1).to_numpy()
    matrix = encoding.encode(many)
    clear = view.is_clear(matrix)
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(view.is_favourable(matrix)[clear], decision.is_favourable(many)[clear])
    assert 0.02 < decision.is_favourable(many).mean() < 0.98
    return view


@pytest.mark.parametrize("favourable", ["yes", "no"])
@pytest.mark.parametrize("steps", [(StandardScaler(),), (MinMaxScaler(),)], ids=["standard", "minmax"])
def test_two_classes_behind_a_scaler(favourable, steps):
    view = check(mlp(numbers(), steps=steps), favourable, numbers())
    assert isinstance(view, NetworkView)
    assert [len(layer.bias) for layer in view.layers] == [6, 5, 1]


@pytest.mark.parametrize("favourable", [["good"], ["fair", "best"], ["bad"]], ids=str)
def test_several_classes_and_sets_of_them(favourable):
    model = mlp(numbers(), ("bad", "best", "fair", "good"), (StandardScaler(),), learning_rate_init=0.02)
    view = check(model, favourable, numbers())
    assert len(view.goals.sets) == len(favourable)


def test_one_hot_and_ordinal_columns_become_levels():
    frame = mixed()
    view = check(mlp(frame, steps=(encoded(),)), "yes", frame)
    assert set(view.tables) == {
        Encoding.of(frame, list(frame)).position("job"),
        Encoding.of(frame, list(frame)).position("owner"),
    }


@pytest.mark.parametrize("threshold", [0.3, 0.62])
def test_declared_thresholds(threshold):
    frame = numbers()
    model = mlp(frame, steps=(StandardScaler(),))
    check(model, "yes", frame, threshold=threshold)
    check(model, "no", frame, threshold=threshold)


def test_a_threshold_wrapper():
    frame = numbers()
    model = make_pipeline(StandardScaler(), MLPClassifier((4,), max_iter=300, random_state=0))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = FixedThresholdClassifier(model, threshold=0.7, pos_label="yes").fit(frame, outcome(frame))
    check(wrapped, "yes", frame)


def test_identity_is_linear():
    frame = numbers()
    assert isinstance(check(mlp(frame, steps=(StandardScaler(),), activation="identity"), "yes", frame), LinearView)
    several = mlp(frame, ("a", "b", "c"), (StandardScaler(),), activation="identity")
    assert len(check(several, ["b"], frame).layers) == 1


@pytest.mark.parametrize("activation", ["tanh", "logistic"])
def test_other_activations_are_named(activation):
    frame = numbers()
    view, _, _ = seen(mlp(frame, steps=(StandardScaler(),), activation=activation), "yes", frame)
    assert isinstance(view, BlackBox)
    assert activation in view.reason


def test_a_threshold_on_one_of_several_classes_is_a_black_box():
    frame = numbers()
    view, _, _ = seen(mlp(frame, ("a", "b", "c"), (StandardScaler(),)), ["b"], frame, threshold=0.4)
    assert isinstance(view, BlackBox)
    assert "threshold" in view.reason


def test_single_precision_is_told():
    frame = numbers().astype(np.float32)
    scaled = pd.DataFrame(StandardScaler().fit_transform(frame), columns=frame.columns).astype(np.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier((4,), max_iter=40, random_state=0).fit(scaled, outcome(numbers()))
    assert model.coefs_[0].dtype == np.float32
    assert check(model, "yes", scaled).relative_error > 1e-7


def test_exact_ties_go_to_the_first_class():
    """Small whole weights and inputs: every sum is exact, and many scores are equal."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.integers(-2, 3, (2000, 3)).astype(float), columns=["a", "b", "c"])
    for outputs in (1, 3):
        weights = [rng.integers(-1, 2, (4, 3)), rng.integers(-1, 2, (outputs, 4))]
        biases = [rng.integers(-1, 2, 4), np.zeros(outputs)]
        model = ReLUNetwork(weights, biases, feature_names=["a", "b", "c"])
        for wanted in ([0], [1]) if outputs == 3 else (0, 1):
            view, decision, encoding = seen(model, wanted, frame)
            matrix = encoding.encode(frame)
            assert (view.margins(matrix) == 0).any()
            np.testing.assert_array_equal(view.is_favourable(matrix), decision.is_favourable(frame))


# ReLUNetwork

STATE = {"net.0.weight": [[1.0, -1.0], [0.5, 2.0]], "net.0.bias": [0.1, 0.2], "net.2.weight": [[1.0, -2.0]]}


def test_a_network_from_arrays_equals_scikit_learns():
    frame = numbers()
    model = mlp(frame, ("a", "b", "c"), (StandardScaler(),))
    last = model[-1]
    network = ReLUNetwork([w.T for w in last.coefs_], last.intercepts_, classes=last.classes_)
    rows = model[0].transform(frame)
    np.testing.assert_array_equal(network.predict(rows), last.predict(rows))
    np.testing.assert_allclose(network.predict_proba(rows), last.predict_proba(rows), atol=1e-12)
    binary = mlp(frame, steps=(StandardScaler(),))[-1]
    two = ReLUNetwork([w.T for w in binary.coefs_], binary.intercepts_, classes=binary.classes_)
    np.testing.assert_allclose(two.predict_proba(rows), binary.predict_proba(rows), atol=1e-12)
    check(make_pipeline(model[0], network), ["b"], frame)


def test_a_state_dict_is_read_by_the_numbers_of_its_layers():
    rng = np.random.default_rng(0)
    sizes = [(3, 2), (4, 3), (2, 4), (2, 2), (3, 2), (1, 3)]
    weights, biases = [rng.normal(size=s) for s in sizes], [rng.normal(size=s[0]) for s in sizes]
    state = {}
    for place in (10, 0, 2, 8, 6, 4):
        t = place // 2
        state[f"{place}.bias"], state[f"{place}.weight"] = biases[t].tolist(), weights[t].tolist()
    rows = rng.normal(size=(50, 2))
    expected = ReLUNetwork(weights, biases).scores(rows)
    np.testing.assert_array_equal(ReLUNetwork.from_state_dict(state).scores(rows), expected)


def test_a_layer_without_bias_and_tensors_that_detach():
    class Tensor:
        def __init__(self, values):
            self.values = np.array(values)

        def detach(self):
            return self

        def cpu(self):
            return self.values

    plain = ReLUNetwork.from_state_dict(STATE, classes=["no", "yes"], feature_names=["a", "b"])
    wrapped = ReLUNetwork.from_state_dict({name: Tensor(values) for name, values in STATE.items()})
    rows = pd.DataFrame({"b": [1.0, -3.0], "a": [2.0, 0.5]})
    np.testing.assert_array_equal(plain.scores(rows), wrapped.scores(rows[["a", "b"]].to_numpy()))
    # relu(a - b + .1) - 2 relu(.5 a + 2 b + .2)
    np.testing.assert_allclose(plain.scores(rows)[:, 0], [1.1 - 6.4, 3.6])
    assert pickle.loads(pickle.dumps(plain)).predict(rows).tolist() == ["no", "yes"]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ReLUNetwork([], []), "0 layers"),
        (lambda: ReLUNetwork([[[1.0, 2.0]]], []), "biases for 0"),
        (lambda: ReLUNetwork([[1.0, 2.0]], [[0.0]]), "layer 1"),
        (lambda: ReLUNetwork([[[1.0, np.nan]]], [[0.0]]), "finite"),
        (lambda: ReLUNetwork([[[1.0, "x"]]], [[0.0]]), "finite"),
        (lambda: ReLUNetwork([[[1.0, 2.0]], [[1.0, 2.0]]], [[0.0], [0.0]]), "Layer 2"),
        (lambda: ReLUNetwork([[[1.0]]], [[0.0]], classes=["a"]), "2 classes"),
        (lambda: ReLUNetwork([[[1.0]]], [[0.0]], classes=["a", "a"]), "2 classes"),
        (lambda: ReLUNetwork([[[1.0]]], [[0.0]], feature_names=["a", "b"]), "1 inputs"),
        (lambda: ReLUNetwork.from_state_dict({"0.running_mean": [1.0]}), "running_mean"),
        (lambda: ReLUNetwork.from_state_dict({"0.bias": [1.0]}), "no weight"),
        (lambda: ReLUNetwork.from_state_dict({"0.weight": [[[1.0]]], "0.bias": [1.0]}), "0.weight"),
        (lambda: ReLUNetwork.from_state_dict({}), "0 layers"),
    ],
)
def test_weights_that_do_not_fit_are_refused(make, words):
    with pytest.raises(EquieffortError, match=words) as caught:
        make()
    assert caught.value.code == "MODEL_WEIGHTS"
    assert caught.value.fix


def test_torch_is_never_imported():
    code = "import sys, equieffort as ee; ee.ReLUNetwork.from_state_dict({'0.weight': [[1.0]]}); "
    code += "print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


# ONNX


def loaded(model, tmp_path, names):
    helper.set_model_props(model, {"feature_names": json.dumps(list(names))})
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return load_model(path)


def graph(nodes, constants, width, label=TensorProto.INT64, kind=TensorProto.FLOAT):
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, [None, width])],
        [helper.make_tensor_value_info("label", label, None)],
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    made.output[0].type.tensor_type.shape.dim.add()
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(made, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize("classes", [("no", "yes"), ("a", "b", "c")], ids=["two", "three"])
@pytest.mark.parametrize("final", ["network", "linear"])
def test_networks_and_linear_models_from_skl2onnx(tmp_path, classes, final):
    frame = numbers().astype(np.float32)
    if final == "network":
        model = mlp(frame, classes, (StandardScaler(),))
    else:
        model = make_pipeline(StandardScaler(), LogisticRegression()).fit(frame, outcome(numbers(), classes))
    onnx = loaded(to_onnx(model, frame.to_numpy()[:1], options={"zipmap": False}), tmp_path, frame.columns)
    view = check(onnx, "yes" if len(classes) == 2 else ["b"], frame.astype(np.float64))
    assert isinstance(view, NetworkView)
    assert len(view.layers) == (3 if final == "network" else 1)


def test_a_graph_as_torch_writes_it(tmp_path):
    """Flatten, Gemm with transposed weights, Relu, Gemm, Softmax and ArgMax."""
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(4, 3)).astype(np.float32), rng.normal(size=(3, 4)).astype(np.float32)
    bias = rng.normal(size=4).astype(np.float32)
    nodes = [
        helper.make_node("Flatten", ["x"], ["f"], axis=1),
        helper.make_node("Gemm", ["f", "w1", "b1"], ["h"], transB=1),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("Gemm", ["r", "w2"], ["s"], transB=1, alpha=0.5),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("ArgMax", ["p"], ["label"], axis=1, keepdims=0),
    ]
    frame = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    onnx = loaded(graph(nodes, {"w1": first, "b1": bias, "w2": second}, 3), tmp_path, frame)
    view = check(onnx, [0, 2], frame)
    np.testing.assert_allclose(view.layers[0].weights, first)


@pytest.mark.parametrize("operator", ["Greater", "GreaterOrEqual"])
def test_a_threshold_on_a_logistic_output(tmp_path, operator):
    rng = np.random.default_rng(1)
    nodes = [
        helper.make_node("Sub", ["x", "mean"], ["c"]),
        helper.make_node("Div", ["c", "scale"], ["z"]),
        helper.make_node("MatMul", ["z", "w1"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "w2"], ["s"]),
        helper.make_node("Sigmoid", ["s"], ["p"]),
        helper.make_node(operator, ["p", "cut"], ["label"]),
    ]
    constants = {
        "mean": np.array([1.0, 2.0]), "scale": np.array([2.0, 0.5]), "w1": rng.normal(size=(2, 4)),
        "w2": np.array([[1.0], [-1.0], [1.0], [-1.0]]), "cut": np.array(0.6),
    }  # fmt: skip
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    model = graph(nodes, constants, 2, TensorProto.BOOL, TensorProto.DOUBLE)
    view = check(loaded(model, tmp_path, frame), True, frame)
    assert view.goals.closed.tolist() == [operator == "GreaterOrEqual"]
    assert view.relative_error < 1e-9


def test_an_operator_that_is_not_known_is_named(tmp_path):
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Tanh", ["h"], ["t"]),
        helper.make_node("ArgMax", ["t"], ["label"], axis=1, keepdims=0),
    ]
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["a", "b"])
    view, _, _ = seen(loaded(graph(nodes, {"w": np.eye(2, dtype=np.float32)}, 2), tmp_path, frame), [1], frame)
    assert isinstance(view, BlackBox)
    assert "Tanh" in view.reason
