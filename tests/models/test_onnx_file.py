"""ONNX: graphs built here by hand, and scikit-learn's own labels after skl2onnx."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skl2onnx
from onnx import TensorProto, helper

from equieffort.errors import EquieffortError
from equieffort.models.classifiers import Decision
from equieffort.models.files import load_model


def graph(
    inputs: list[tuple[str, int, list[Any]]],
    nodes: list[Any],
    outputs: list[tuple[str, int, list[Any]]],
    initializers: tuple[Any, ...] = (),
    **metadata: str,
) -> Any:
    made = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(*one) for one in inputs],
        [helper.make_tensor_value_info(*one) for one in outputs],
        list(initializers),
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(made, opset_imports=opsets, ir_version=8)
    helper.set_model_props(model, metadata)
    return model


def linear(width: Any = 2, **metadata: str) -> Any:
    """1 where x0 + 2 x1 > 3."""
    node = helper.make_node(
        "LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
        coefficients=[-1.0, -2.0, 1.0, 2.0], intercepts=[3.0, -3.0], classlabels_ints=[0, 1],
    )  # fmt: skip
    outputs = [("label", TensorProto.INT64, [None]), ("scores", TensorProto.FLOAT, [None, 2])]
    return graph([("x", TensorProto.FLOAT, [None, width])], [node], outputs, **metadata)


def write(model: Any, tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def refused(path: Path, code: str) -> EquieffortError:
    with pytest.raises(EquieffortError) as caught:
        load_model(path)
    assert caught.value.code == code
    assert caught.value.fix
    return caught.value


TABLE = pd.DataFrame({"b": [1.0, 1.5, 0.0], "a": [1.0, 0.5, 4.0]})


def test_one_matrix_without_names(tmp_path: Path) -> None:
    model = load_model(write(linear(), tmp_path))
    assert model.predict(TABLE[["a", "b"]].to_numpy()).tolist() == [0, 1, 1]
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(EquieffortError, match="without column names"):
        Decision.of(model, 1, TABLE)
    assert Decision.of(model, 1, TABLE, ["a", "b"]).is_favourable(TABLE).tolist() == [False, True, True]


@pytest.mark.parametrize("names", [json.dumps(["a", "b"]), "a, b"])
@pytest.mark.parametrize("width", [2, None])
def test_one_matrix_with_names_in_its_metadata(tmp_path: Path, names: str, width: Any) -> None:
    model = load_model(write(linear(width, feature_names=names), tmp_path))
    assert list(model.feature_names_in_) == ["a", "b"]
    assert Decision.of(model, 1, TABLE).is_favourable(TABLE).tolist() == [False, True, True]


@pytest.mark.parametrize("names", ["[1, 2]", '["a"', '["a", "a"]', "a,b,c", "a,,"])
def test_wrong_metadata(tmp_path: Path, names: str) -> None:
    refused(write(linear(feature_names=names), tmp_path), "MODEL_FILE")


def test_neither_width_nor_names(tmp_path: Path) -> None:
    assert "feature_names" in refused(write(linear(None), tmp_path), "MODEL_FILE").fix


def by_column() -> Any:
    """True where age (whole) times rate (double) is more than 10."""
    nodes = [
        helper.make_node("Cast", ["age"], ["years"], to=TensorProto.DOUBLE),
        helper.make_node("Mul", ["years", "rate"], ["product"]),
        helper.make_node("Greater", ["product", "ten"], ["label"]),
    ]
    ten = helper.make_tensor("ten", TensorProto.DOUBLE, [1], [10.0])
    inputs = [("age", TensorProto.INT64, [None, 1]), ("rate", TensorProto.DOUBLE, [None, 1])]
    return graph(inputs, nodes, [("label", TensorProto.BOOL, [None, 1])], (ten,))


def test_one_input_a_column(tmp_path: Path) -> None:
    model = load_model(write(by_column(), tmp_path))
    assert list(model.feature_names_in_) == ["age", "rate"]
    assert not hasattr(model, "classes_")
    table = pd.DataFrame({"rate": [1.0, 1.1, 2.0], "age": [10.0, 10.0, 5.0], "other": "x"})
    assert model.predict(table).tolist() == [False, True, False]
    assert Decision.of(model, True, table).is_favourable(table).tolist() == [False, True, False]
    # Half a year is refused rather than cut off.
    with pytest.raises(ValueError, match=r"'age' takes whole numbers, but got 5\.5"):
        model.predict(table.assign(age=5.5))
    with pytest.raises(ValueError, match="no missing values"):
        model.predict(table.assign(age=np.nan))


def test_text_stays_text(tmp_path: Path) -> None:
    node = helper.make_node(
        "LabelEncoder", ["sex"], ["label"], domain="ai.onnx.ml", keys_strings=["f", "m"], values_int64s=[1, 0]
    )
    path = write(graph([("sex", TensorProto.STRING, [None])], [node], [("label", TensorProto.INT64, [None])]), tmp_path)
    model = load_model(path)
    assert model.predict(pd.DataFrame({"sex": ["f", "m"]})).tolist() == [1, 0]
    with pytest.raises(ValueError, match="takes text, but got 1"):
        model.predict(pd.DataFrame({"sex": [1, 0]}))


def test_external_data_is_refused_wherever_it_hides(tmp_path: Path) -> None:
    secret = tmp_path / "secret.bin"
    secret.write_bytes(np.array([10.0]).tobytes())
    hidden = by_column()
    tensor = hidden.graph.initializer[0]
    tensor.ClearField("double_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "secret.bin"
    error = refused(write(hidden, tmp_path), "MODEL_UNTRUSTED")
    assert "'ten in secret.bin'" in error.what
    # Inside a constant, inside a branch.
    branch = helper.make_graph([helper.make_node("Constant", [], ["c"], value=tensor)], "then", [], [])
    deep = by_column()
    deep.graph.node.append(helper.make_node("If", ["label"], ["c"], then_branch=branch, else_branch=branch))
    assert "secret.bin" in refused(write(deep, tmp_path), "MODEL_UNTRUSTED").what


def test_foreign_operators_are_refused(tmp_path: Path) -> None:
    model = by_column()
    model.graph.node.append(helper.make_node("Run", ["age"], ["z"], domain="com.example"))
    assert "'com.example.Run'" in refused(write(model, tmp_path), "MODEL_UNTRUSTED").what


def test_a_graph_without_a_label(tmp_path: Path) -> None:
    node = helper.make_node("Sigmoid", ["x"], ["p"])
    path = write(graph([("x", TensorProto.FLOAT, [None, 2])], [node], [("p", TensorProto.FLOAT, [None, 2])]), tmp_path)
    assert "no output that is clearly its label" in refused(path, "MODEL_FILE").what


def test_inputs_that_are_no_columns(tmp_path: Path) -> None:
    nodes = [helper.make_node("Cast", ["x"], ["label"], to=TensorProto.INT64)]
    cube = graph([("x", TensorProto.FLOAT, [None, 2, 2])], nodes, [("label", TensorProto.INT64, [None, 2, 2])])
    assert "are not columns" in refused(write(cube, tmp_path), "MODEL_FILE").what
    nodes = [
        helper.make_node("ReduceSum", ["x"], ["s"], keepdims=1),
        helper.make_node("Add", ["s", "z"], ["t"]),
        helper.make_node("Cast", ["t"], ["label"], to=TensorProto.INT64),
    ]
    inputs = [("x", TensorProto.FLOAT, [None, 2]), ("z", TensorProto.FLOAT, [None, 1])]
    both = graph(inputs, nodes, [("label", TensorProto.INT64, [None, 1])])
    assert "takes several columns" in refused(write(both, tmp_path), "MODEL_FILE").what


def test_truncated_noise_and_impossible_graphs(tmp_path: Path) -> None:
    path = write(linear(), tmp_path)
    whole = path.read_bytes()
    # The last bytes are the versions of the operators; a file that lost them can be parsed, but not trusted.
    for size in range(1, len(whole)):
        path.write_bytes(whole[:size])
        refused(path, "MODEL_FILE")
    path.write_bytes(b"\x08\x0anoise")
    refused(path, "MODEL_FILE")
    model = linear()
    model.graph.node[0].op_type = "NoSuchOperator"
    assert "cannot run" in refused(write(model, tmp_path), "MODEL_FILE").what


@pytest.mark.parametrize("text", [True, False])
def test_labels_of_scikit_learn(tmp_path: Path, text: bool) -> None:
    from sklearn.compose import make_column_transformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(1)
    table = pd.DataFrame({"age": rng.integers(18, 70, 90), "sex": rng.choice(["f", "m"], 90)})
    table = table.astype({"age": "float32", "sex": object})
    wanted = np.where(table["age"] + 9 * (table["sex"] == "f") > 45, "yes", "no")
    wanted = wanted if text else (wanted == "yes").astype(int)
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age"]))
    own = make_pipeline(columns, LogisticRegression()).fit(table, wanted)
    path = write(skl2onnx.to_onnx(own, table[:1]), tmp_path)
    model = load_model(path)
    assert model.predict(table).tolist() == own.predict(table).tolist()
    assert model.classes_.tolist() == own.classes_.tolist()
    assert set(model.feature_names_in_) == {"age", "sex"}
    # A file cut short is refused, unless all that it lost is something no label depends on.
    whole = path.read_bytes()
    outcomes = Counter[str]()
    for size in range(1, len(whole), 3):
        path.write_bytes(whole[:size])
        try:
            labels = load_model(path).predict(table).tolist()
        except EquieffortError as error:
            outcomes[error.code] += 1
        else:
            outcomes["same" if labels == own.predict(table).tolist() else "other"] += 1
    assert set(outcomes) <= {"MODEL_FILE", "same"}
    assert outcomes["same"] < 3
