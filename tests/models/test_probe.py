"""The second wall: files that would end or stop their library do so in a child process, and are refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest
import skops.io
import xgboost
from onnx import TensorProto, helper, numpy_helper
from tests.fuzz.model_files import (
    CRASHING,
    LIBRARIES,
    _resized,
    forged_xgboost,
    lightgbm_files,
    loop,
    onnx_files,
    skops_files,
    xgboost_files,
)
from tests.fuzz.worlds import members, npy, zipped

from equieffort.errors import ModelError
from equieffort.models.files import child, load_model
from equieffort.models.files import probe as second_wall
from equieffort.models.files.probe import probe
from equieffort.models.files.skops_file import check_trees

XGBOOST = {"library": xgboost.core._LIB._name, "width": 3}
LIGHTGBM = {"library": lightgbm.basic._LIB._name, "width": 3}


@pytest.mark.parametrize("name", CRASHING)
def test_what_would_end_xgboost_is_refused_by_either_wall(tmp_path: Path, name: str) -> None:
    content = forged_xgboost(CRASHING[name])
    # By the child alone: what is known to crash does crash there, and only there.
    with pytest.raises(ModelError, match="ends the process") as caught:
        probe("xgboost", content, Path("model.json"), **XGBOOST)
    assert caught.value.code == "MODEL_CRASH"
    assert "SIGSEGV" in caught.value.what
    assert caught.value.fix
    # By the checks alone, before any library sees it.
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="not a complete XGBoost file"):
        load_model(path)


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_as_it_was_saved_lives(tmp_path: Path, library: str) -> None:
    for suffix, content in LIBRARIES[library][0]()[:2]:
        path = tmp_path / f"model{suffix}"
        path.write_bytes(content)
        load_model(path, trusted=["sklearn.tree._tree.Tree"])


def test_the_child_asks_the_library() -> None:
    """A child that could not load the library would let everything pass: it must come as far as predicting."""
    cases: list[tuple[str, list[tuple[str, bytes]], dict[str, Any]]] = [
        ("xgboost", xgboost_files(), XGBOOST),
        ("lightgbm", lightgbm_files()[:2], LIGHTGBM),
        ("onnx", onnx_files(), {}),
        ("skops", skops_files()[-1:], {"trusted": [], "ask": True}),
    ]
    for kind, files, more in cases:
        for suffix, content in files:
            width = {"width": 4} if b"feature_segments" in content and kind == "xgboost" and b"uvw" in content else {}
            assert second_wall._run(kind, content, **more | width).returncode == child.FINE, (kind, suffix)
        bare = [folder for folder in sys.path if "site-packages" not in folder]
        gone = {"library": "/no/such/library.so"} if "library" in more else {"path": bare}
        assert second_wall._run(kind, files[0][1], **more | gone).returncode == child.NO_LIBRARY


def test_a_graph_that_never_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "endless.onnx"
    path.write_bytes(loop(2**62))
    with pytest.raises(ModelError, match="Loop") as caught:
        load_model(path)
    assert caught.value.code == "MODEL_UNTRUSTED"
    # Were the operator not known, the child would not come back, and that would be seen.
    monkeypatch.setattr(second_wall, "SECONDS", 1)
    with pytest.raises(ModelError, match=r"takes more than 1 seconds|after 6 seconds") as caught:
        probe("onnx", path.read_bytes(), path)
    assert caught.value.code == "MODEL_CRASH"
    assert second_wall._run("onnx", loop(3)).returncode == child.FINE


def test_a_graph_that_takes_all_memory(tmp_path: Path) -> None:
    graph = helper.make_graph(
        [
            helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
            helper.make_node("ReduceSum", ["zeros"], ["sum"], keepdims=0),
            helper.make_node("Add", ["x", "sum"], ["y"]),
            helper.make_node("ArgMax", ["y"], ["label"], axis=1, keepdims=0),
        ],
        "large",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, [None])],
        [numpy_helper.from_array(np.array([2**36]), "shape")],
    )
    path = tmp_path / "large.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path.write_bytes(model.SerializeToString())
    # 256 GiB of zeros.
    with pytest.raises(ModelError, match="memory") as caught:
        load_model(path)
    assert caught.value.code == "MODEL_CRASH"


def test_a_file_that_was_tried_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ran = []
    original = second_wall._run
    monkeypatch.setattr(second_wall, "_run", lambda *given, **more: ran.append(1) or original(*given, **more))
    monkeypatch.setattr(second_wall, "_lived", set())
    for _ in range(2):
        probe("xgboost", xgboost_files()[0][1], Path("model.json"), **XGBOOST)
    assert len(ran) == 1


def test_where_no_process_can_be_started_the_checks_must_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_wall, "_lived", set())
    monkeypatch.setattr(second_wall.sys, "executable", "/no/such/python")
    probe("xgboost", xgboost_files()[0][1], Path("model.json"), **XGBOOST)


# -- what the fuzzing found, and kept ----------------------------------------------------------------------------------


def test_a_pruned_tree_lists_what_it_lost(tmp_path: Path) -> None:
    """Nodes that pruning took away are saved under a column that does not exist: such files were refused."""
    path = tmp_path / "pruned.json"
    path.write_bytes(xgboost_files()[1][1])
    tree = json.loads(path.read_bytes())["learner"]["gradient_booster"]["model"]["trees"][0]
    assert int(tree["tree_param"]["num_deleted"]) > 0
    X = np.random.default_rng(1).normal(size=(50, 3))
    own = xgboost.Booster(model_file=str(path))
    assert load_model(path).predict(X).tolist() == (own.predict(xgboost.DMatrix(X)) > 0.5).astype(int).tolist()


@pytest.mark.parametrize("line", [b"[pre_partition: 0]", b"split_gain-inf29.3872 6.09824", b"x"])
def test_a_line_without_a_key_would_end_lightgbm(tmp_path: Path, line: bytes) -> None:
    suffix, content = lightgbm_files()[0]
    first, second = content.split(b"\nshrinkage=", 1)
    path = tmp_path / f"model{suffix}"
    path.write_bytes(_resized(first + b"\n" + line + b"\nshrinkage=" + second))
    with pytest.raises(ModelError, match="no key with a value"):
        load_model(path)


@pytest.mark.parametrize("change", ["child", "circle", "feature"])
@pytest.mark.parametrize("which", [1, 3])
def test_scikit_learns_trees_are_looked_through(tmp_path: Path, which: int, change: str) -> None:
    suffix, content = skops_files()[which]
    parts = members(content)
    for name, part in parts.items():
        array = np.load(io.BytesIO(part)) if name.endswith(".npy") else np.zeros(0)
        if array.dtype.names and "left_child" in array.dtype.names:
            left, feature = "left_child", "feature"
        elif array.dtype.names and "feature_idx" in array.dtype.names:
            left, feature = "left", "feature_idx"
        else:
            continue
        array[feature if change == "feature" else left][0] = {"child": 9_999, "circle": 0, "feature": 9_999}[change]
        parts[name] = npy(array)
    trusted = ["sklearn.tree._tree.Tree", "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"]
    check_trees(skops.io.loads(content, trusted=trusted))
    with pytest.raises(ValueError, match="a tree"):
        check_trees(skops.io.loads(zipped(parts), trusted=trusted))
    if (which, change) == (1, "circle"):
        path = tmp_path / f"model{suffix}"
        path.write_bytes(zipped(parts))
        with pytest.raises(ModelError, match="not its nodes"):
            load_model(path, trusted=trusted)


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs a device")
@pytest.mark.parametrize("suffix", [".json", ".ubj", ".txt", ".onnx", ".skops"])
def test_a_device_is_no_model(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"zero{suffix}"
    path.symlink_to("/dev/zero")
    with pytest.raises(ModelError, match="is not a file"):
        load_model(path)
