"""load_model: every format gives the labels its own library gives; nothing in a file is run; bad files are refused."""

from __future__ import annotations

import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import joblib
import lightgbm
import numpy as np
import pandas as pd
import pytest
import skops.io
import xgboost
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from equieffort.errors import EquieffortError, EquieffortWarning, ParameterError
from equieffort.models.classifiers import Decision
from equieffort.models.files import load_model, loaders, skops_file
from equieffort.models.files.pickles import is_pickle

RNG = np.random.default_rng(7)
X = pd.DataFrame(
    {
        "age": RNG.integers(18, 70, 120).astype(float),
        "amount": (RNG.normal(size=120) * 100).round(1),
        "sex": RNG.choice(["f", "m"], 120),
    }
)
Y = np.where(X["age"] + X["amount"] > 40, "yes", "no")
NUMBERS = X[["age", "amount"]]
ONES = (Y == "yes").astype(int)


@pytest.fixture(scope="module")
def pipeline() -> Any:
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (StandardScaler(), ["age", "amount"]))
    return make_pipeline(columns, LogisticRegression()).fit(X, Y)


def refused(path: Path, code: str, **options: Any) -> EquieffortError:
    with pytest.raises(EquieffortError) as caught:
        load_model(path, **options)
    error = caught.value
    assert error.code == code
    assert error.fix
    assert path.name in error.what
    return error


class Bomb:
    """Unpickling it makes a file."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.target),)


# -- any file ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model.h5", "model", "model.skop", "model.csv"])
def test_other_suffixes_are_refused(tmp_path: Path, name: str) -> None:
    error = refused(tmp_path / name, "MODEL_FILE")
    assert ".onnx" in error.fix
    assert name != "model.skop" or "Did you mean '.skops'?" in error.what


@pytest.mark.parametrize("suffix", [".skops", ".onnx", ".json", ".ubj", ".txt", ".pkl"])
def test_missing_empty_folder_and_noise(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    assert "No such file" in refused(path, "MODEL_FILE").what
    path.mkdir()
    refused(path, "MODEL_FILE")
    path.rmdir()
    path.write_bytes(b"")
    assert "is empty" in refused(path, "MODEL_FILE", unsafe_load_pickle=True).what


@pytest.mark.parametrize("suffix", [".skops", ".json", ".ubj", ".txt"])
@pytest.mark.parametrize("noise", [b"\xff\x00\x01noise", b"{}", b"{", b"tree\n", b"PK\x03\x04", b"\x1f\x8b\x08", b"{L"])
def test_noise_is_refused_without_the_library(tmp_path: Path, suffix: str, noise: bytes) -> None:
    path = tmp_path / f"model{suffix}"
    path.write_bytes(noise)
    refused(path, "MODEL_FILE")


def test_a_file_too_large_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loaders, "LARGEST", 10)
    path = tmp_path / "model.txt"
    path.write_bytes(b"tree\n" * 10)
    assert "50 bytes" in refused(path, "MODEL_FILE").what


@pytest.mark.parametrize(
    ("suffix", "extra"), [(".skops", "skops"), (".onnx", "onnx"), (".json", "xgboost"), (".txt", "lightgbm")]
)
def test_a_missing_library_is_named_with_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, extra: str
) -> None:
    for module in ("skops.io", "onnx", "xgboost", "lightgbm"):
        monkeypatch.setitem(sys.modules, module, None)
    content = {".skops": archive({"schema.json": b"{}"}), ".onnx": b"\x08\x0a", ".json": XGB, ".txt": LGB}[suffix]
    path = tmp_path / f"model{suffix}"
    path.write_bytes(content)
    with pytest.raises(ParameterError, match="needs the package") as caught:
        load_model(path)
    assert caught.value.code == "OPTIONAL_DEPENDENCY"
    assert f"pip install 'equieffort[{extra}]'" in caught.value.fix


def archive(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


# -- pickles -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib", ".PKL", ".skops", ".onnx", ".json", ".ubj", ".txt"])
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_never_run(tmp_path: Path, suffix: str, protocol: int) -> None:
    target = tmp_path / "made"
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Bomb(target), protocol=protocol))
    error = refused(path, "MODEL_PICKLE")
    assert "import joblib, skops.io\n    skops.io.dump(joblib.load('model" in error.fix
    assert "'model.skops')" in error.fix
    named = suffix.lower() in (".pkl", ".pickle", ".joblib")
    assert ("unsafe_load_pickle=True" in error.fix) == named
    if not named:
        # Permission to unpickle does not cover a pickle that hides.
        refused(path, "MODEL_PICKLE", unsafe_load_pickle=True)
    assert not target.exists()


@pytest.mark.parametrize("compress", ["zlib", "gzip", "bz2", "xz", "lzma"])
def test_a_compressed_pickle_under_another_name(tmp_path: Path, compress: str) -> None:
    path = tmp_path / "model.skops"
    joblib.dump(Bomb(tmp_path / "made"), path, compress=(compress, 3))
    refused(path, "MODEL_PICKLE")
    assert not (tmp_path / "made").exists()


def test_a_pickle_inside_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "model.skops"
    path.write_bytes(archive({"archive/data.pkl": pickle.dumps(Bomb(tmp_path / "made"))}))
    refused(path, "MODEL_PICKLE")
    assert not (tmp_path / "made").exists()


def test_the_bomb_of_these_tests_works(tmp_path: Path) -> None:
    pickle.loads(pickle.dumps(Bomb(tmp_path / "made")))
    assert (tmp_path / "made").exists()


def test_what_is_no_pickle() -> None:
    assert not any(map(is_pickle, [b"", b"\x80", b"{}", b"PK\x03\x04", b"tree\nversion=v4\n", gzip.compress(b"{}")]))


@pytest.mark.parametrize("suffix", [".pkl", ".pickle", ".joblib"])
def test_pickles_on_demand(tmp_path: Path, pipeline: Any, suffix: str) -> None:
    path = tmp_path / f"model{suffix}"
    (joblib.dump if suffix == ".joblib" else lambda model, to: to.write_bytes(pickle.dumps(model)))(pipeline, path)
    refused(path, "MODEL_PICKLE")
    assert load_model(path, unsafe_load_pickle=True).predict(X).tolist() == pipeline.predict(X).tolist()


def test_a_pickle_on_demand_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(b"cno_such_module\nThing\n.")
    assert "No module named 'no_such_module'" in refused(path, "MODEL_FILE", unsafe_load_pickle=True).what
    path.write_bytes(pickle.dumps({"a": 1}))
    assert "of type dict" in refused(path, "MODEL_NO_PREDICT", unsafe_load_pickle=True).what


# -- skops -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path: Path, pipeline: Any) -> Path:
    skops.io.dump(pipeline, tmp_path / "model.skops")
    return tmp_path / "model.skops"


def edited(path: Path, old: str, new: str) -> None:
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    text = members["schema.json"].decode()
    assert old in text
    members["schema.json"] = text.replace(old, new).encode()
    path.write_bytes(archive(members))


def test_skops_gives_the_model_back(saved: Path, pipeline: Any) -> None:
    model = load_model(saved)
    assert model.predict(X).tolist() == pipeline.predict(X).tolist()
    assert model.predict_proba(X) == pytest.approx(pipeline.predict_proba(X), abs=0)
    assert list(model.feature_names_in_) == ["age", "amount", "sex"]
    assert load_model(str(saved)).classes_.tolist() == ["no", "yes"]


def test_skops_other_version_of_scikit_learn(saved: Path) -> None:
    import sklearn

    edited(saved, f'\\"{sklearn.__version__}\\"', '\\"1.5.0\\"')
    with pytest.warns(EquieffortWarning) as issued:
        load_model(saved)
    # One warning, though the pipeline has several estimators.
    assert [warning.message.code for warning in issued] == ["MODEL_VERSION"]  # type: ignore[union-attr]
    assert "scikit-learn 1.5.0" in str(issued[0].message)
    assert sklearn.__version__ in str(issued[0].message)


def test_skops_untrusted_types_are_listed_and_not_built(saved: Path, tmp_path: Path) -> None:
    edited(saved, '"LogisticRegression"', '"Popen"')
    edited(saved, '"sklearn.linear_model._logistic"', '"subprocess"')
    assert "'subprocess.Popen'" in refused(saved, "MODEL_UNTRUSTED").what


def test_skops_modules_of_untrusted_types_are_not_imported(saved: Path, tmp_path: Path) -> None:
    (tmp_path / "evil_module.py").write_text("import os\nos.mkdir('made')\n")
    edited(saved, '"sklearn.linear_model._logistic"', '"evil_module"')
    code = (
        "import sys; sys.path.insert(0, '.')\nfrom equieffort.models.files import load_model\nload_model('model.skops')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "MODEL_UNTRUSTED" in done.stderr
    assert not (tmp_path / "made").exists()


def test_skops_trusted_types(tmp_path: Path) -> None:
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(3, random_state=0).fit(NUMBERS, Y)
    path = tmp_path / "forest.skops"
    skops.io.dump(forest, path)
    error = refused(path, "MODEL_UNTRUSTED")
    assert "'sklearn.tree._tree.Tree'" in error.what
    assert "trusted=['sklearn.tree._tree.Tree']" in error.fix
    model = load_model(path, trusted=["sklearn.tree._tree.Tree"])
    assert model.predict(NUMBERS).tolist() == forest.predict(NUMBERS).tolist()


def test_skops_without_a_model(tmp_path: Path) -> None:
    skops.io.dump({"a": 1}, tmp_path / "model.skops")
    refused(tmp_path / "model.skops", "MODEL_NO_PREDICT")


def test_skops_truncated(saved: Path) -> None:
    whole = saved.read_bytes()
    for size in np.linspace(1, len(whole) - 1, 25).astype(int):
        saved.write_bytes(whole[:size])
        refused(saved, "MODEL_FILE")


def test_skops_broken_inside(saved: Path) -> None:
    edited(saved, '"__loader__"', '"__lorry__"')
    refused(saved, "MODEL_FILE")
    saved.write_bytes(archive({"other.json": b"{}"}))
    assert "no schema.json" in refused(saved, "MODEL_FILE").what


def test_skops_that_unpacks_to_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(skops_file, "UNPACKED", 1000)
    path = tmp_path / "model.skops"
    path.write_bytes(archive({"schema.json": b"{}", "zeros.npy": bytes(100_000)}))
    assert "unpacks to 100,002 bytes" in refused(path, "MODEL_FILE").what


# -- XGBoost -----------------------------------------------------------------------------------------------------------

TREE: dict[str, Any] = {
    "tree_param": {"num_nodes": "3", "num_feature": "2", "num_deleted": "0", "size_leaf_vector": "1"},
    "left_children": [1, -1, -1],
    "right_children": [2, -1, -1],
    "parents": [2147483647, 0, 0],
    "split_indices": [1, 0, 0],
    "split_conditions": [40.0, -2.0, 2.0],
    "split_type": [0, 0, 0],
    "default_left": [0, 0, 0],
    "base_weights": [0.0, -2.0, 2.0],
    "loss_changes": [1.0, 0.0, 0.0],
    "sum_hessian": [9.0, 4.0, 5.0],
    "categories": [],
    "categories_nodes": [],
    "categories_segments": [],
    "categories_sizes": [],
    "id": 0,
}
"""Written by hand: 1 where amount is at least 40."""


def xgb(objective: str = "binary:logistic", version: list[int] | None = None, **tree: Any) -> bytes:
    model = {
        "gbtree_model_param": {"num_trees": "1", "num_parallel_tree": "1"},
        "trees": [TREE | tree],
        "tree_info": [0],
        "iteration_indptr": [0, 1],
    }
    learner = {
        "attributes": {},
        "feature_names": ["age", "amount"],
        "feature_types": ["float", "float"],
        "gradient_booster": {"name": "gbtree", "model": model},
        "learner_model_param": {
            "base_score": "5E-1", "boost_from_average": "1", "num_class": "0", "num_feature": "2", "num_target": "1",
        },
        "objective": {"name": objective, "reg_loss_param": {"scale_pos_weight": "1"}},
    }  # fmt: skip
    return json.dumps({"learner": learner, "version": version or [3, 0, 0]}).encode()


XGB = xgb()


def test_xgboost_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(xgb(version=[int(part) for part in xgboost.__version__.split(".")]))
    model = load_model(path)
    table = pd.DataFrame({"amount": [39.5, 40.0, 41.0], "sex": "f", "age": [90, 0, 50]})
    assert model.predict(table).tolist() == [0, 1, 1]
    assert model.predict(table[["age", "amount"]].to_numpy()).tolist() == [0, 1, 1]
    assert model.classes_.tolist() == [0, 1]
    with pytest.raises(ValueError, match="'age'"):
        model.predict(table[["amount"]])
    with pytest.raises(ValueError, match="2 columns"):
        model.predict(np.zeros((3, 3)))


def test_xgboost_other_version(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(xgb(version=[2, 0, 3]))
    with pytest.warns(EquieffortWarning, match=f"saved by xgboost 2.0.3, and is read by {xgboost.__version__}"):
        load_model(path)


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
@pytest.mark.parametrize("booster", ["gbtree", "dart", "gblinear"])
def test_xgboost_gives_the_labels_of_its_classifier(tmp_path: Path, suffix: str, booster: str) -> None:
    path = tmp_path / f"model{suffix}"
    options = {"updater": "coord_descent"} if booster == "gblinear" else {"max_depth": 3}
    own = xgboost.XGBClassifier(n_estimators=4, booster=booster, n_jobs=1, **options).fit(NUMBERS, ONES)
    own.save_model(path)
    model = load_model(path)
    assert model.predict(X).tolist() == own.predict(NUMBERS).tolist()
    assert list(model.feature_names_in_) == (["age", "amount"])
    decision = Decision.of(model, 1, X)
    assert decision.is_favourable(X).tolist() == (own.predict(NUMBERS) == 1).tolist()
    whole = path.read_bytes()
    for size in np.linspace(1, len(whole) - 1, 40).astype(int):
        path.write_bytes(whole[:size])
        refused(path, "MODEL_FILE")


def test_xgboost_stops_where_training_was_best(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).integers(0, 2, len(X))
    own = xgboost.XGBClassifier(n_estimators=40, early_stopping_rounds=10, n_jobs=1)
    own.fit(NUMBERS[:80], noise[:80], eval_set=[(NUMBERS[80:], noise[80:])], verbose=False)
    own.save_model(tmp_path / "model.json")
    assert load_model(tmp_path / "model.json").predict(X).tolist() == own.predict(NUMBERS).tolist()


def test_xgboost_several_classes_and_no_names(tmp_path: Path) -> None:
    three = np.digitize(X["amount"], [-30, 30])
    own = xgboost.XGBClassifier(n_estimators=3, n_jobs=1).fit(NUMBERS.to_numpy(), three)
    own.save_model(tmp_path / "model.ubj")
    model = load_model(tmp_path / "model.ubj")
    assert model.predict(NUMBERS).tolist() == own.predict(NUMBERS.to_numpy()).tolist()
    assert model.classes_.tolist() == [0, 1, 2]
    with pytest.raises(EquieffortError, match="without column names"):
        Decision.of(model, 1, X)
    with pytest.warns(EquieffortWarning, match="3 classes"):
        Decision.of(model, 1, X, ["age", "amount"])


@pytest.mark.parametrize(
    "tree",
    [
        {"left_children": [0, -1, -1]},
        {"left_children": [2, -1, -1]},
        {"left_children": [7, -1, -1]},
        {"left_children": [1, -1]},
        {"left_children": [1, 0, -1], "right_children": [2, 1, -1]},
        {"left_children": [1.5, -1, -1]},
        {"left_children": ["1", -1, -1]},
        {"split_indices": [2, 0, 0]},
        {"split_indices": [-1, 0, 0]},
        {"split_conditions": [1.0]},
        {"default_left": []},
        {"tree_param": {"num_nodes": "9", "num_feature": "2"}},
        {"tree_param": {"num_nodes": "three", "num_feature": "2"}},
        {"tree_param": {}},
        {"tree_param": None},
        {"split_type": [0]},
    ],
)
def test_xgboost_trees_that_would_crash_the_library(tmp_path: Path, tree: dict[str, Any]) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(xgb(**tree))
    assert "not a complete XGBoost file" in refused(path, "MODEL_FILE").what


def test_xgboost_what_gives_no_labels_or_has_codes(tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(xgb("reg:squarederror"))
    assert "'reg:squarederror', which gives no labels" in refused(path, "MODEL_FILE").what
    path.write_bytes(xgb(split_type=[1, 0, 0]))
    assert "splits on categories" in refused(path, "MODEL_FILE").what
    path.write_bytes(XGB.replace(b'["float", "float"]', b'["c", "float"]'))
    assert "splits on categories" in refused(path, "MODEL_FILE").what
    path.write_bytes(XGB.replace(b'"tree_info": [0]', b'"tree_info": [0], "tree_info": [9]'))
    assert "a key occurs twice" in refused(path, "MODEL_FILE").what
    path.write_bytes(b'{"a":' * 100_000)
    refused(path, "MODEL_FILE")


# -- LightGBM ----------------------------------------------------------------------------------------------------------


def lgb(
    objective: str = "binary sigmoid:1", version: str = "v4", tail: str = "pandas_categorical:null", **tree: str
) -> bytes:
    parts = {
        "num_leaves": "2", "num_cat": "0", "split_feature": "1", "split_gain": "1", "threshold": "40",
        "decision_type": "2", "left_child": "-1", "right_child": "-2", "leaf_value": "-2 2", "leaf_weight": "1 1",
        "leaf_count": "1 1", "internal_value": "0", "internal_weight": "0", "internal_count": "2", "is_linear": "0",
        "shrinkage": "1",
    }  # fmt: skip
    block = "Tree=0\n" + "".join(f"{key}={value}\n" for key, value in (parts | tree).items()) + "\n\n"
    return (
        f"tree\nversion={version}\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n"
        f"objective={objective}\nfeature_names=age amount\nfeature_infos=[0:90] [-9:99]\ntree_sizes={len(block)}\n\n"
        f"{block}end of trees\n\nparameters:\n[boosting: gbdt]\n\nend of parameters\n\n{tail}\n"
    ).encode()


LGB = lgb()


def test_lightgbm_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_bytes(LGB)
    model = load_model(path)
    table = pd.DataFrame({"amount": [39.5, 40.0, 41.0], "sex": "f", "age": [90, 0, 50]})
    assert model.predict(table).tolist() == [0, 0, 1]
    assert model.classes_.tolist() == [0, 1]
    path.write_bytes(lgb(version="v3"))
    with pytest.warns(EquieffortWarning, match="text format v3, and is read by lightgbm"):
        load_model(path)


def test_lightgbm_gives_the_labels_of_its_classifier(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    three = np.digitize(X["amount"], [-30, 30])
    for target, names in ((ONES, True), (three, True), (ONES, False)):
        table = NUMBERS if names else NUMBERS.to_numpy()
        own = lightgbm.LGBMClassifier(n_estimators=4, verbose=-1, n_jobs=1).fit(table, target)
        own.booster_.save_model(path)
        model = load_model(path)
        assert model.predict(NUMBERS).tolist() == own.predict(table).tolist()
        assert model.classes_.tolist() == sorted(set(target.tolist()))
        assert hasattr(model, "feature_names_in_") == names


def test_lightgbm_truncated_never_reaches_the_library(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    for size in range(1, LGB.find(b"end of parameters") + 10):
        path.write_bytes(LGB[:size])
        refused(path, "MODEL_FILE")


@pytest.mark.parametrize(
    "tree",
    [
        {"left_child": "0"},
        {"left_child": "-2"},
        {"left_child": "5"},
        {"left_child": "-1 1"},
        {"num_leaves": "3"},
        {"num_leaves": "0_2"},
        {"num_leaves": "two"},
        {"num_leaves": "1"},
        {"split_feature": "2"},
        {"split_feature": "-1"},
        {"decision_type": "1"},
        {"leaf_value": "1"},
        {"leaf_count": "1"},
        {"is_linear": "1"},
        {"threshold": "4_0"},
        {"surprise": "1"},
    ],
)
def test_lightgbm_trees_that_would_crash_the_library(tmp_path: Path, tree: dict[str, str]) -> None:
    path = tmp_path / "model.txt"
    path.write_bytes(lgb(**tree))
    assert "not a complete LightGBM file" in refused(path, "MODEL_FILE").what


def test_lightgbm_what_gives_no_labels_or_has_codes(tmp_path: Path) -> None:
    path = tmp_path / "model.txt"
    path.write_bytes(lgb("regression"))
    assert "'regression', which gives no labels" in refused(path, "MODEL_FILE").what
    path.write_bytes(lgb(tail='pandas_categorical:[["f", "m"]]'))
    assert "does not say for sure which columns" in refused(path, "MODEL_FILE").what
    path.write_bytes(lgb(num_cat="1"))
    assert "splits on categories that it does not list" in refused(path, "MODEL_FILE").what
    path.write_bytes(lgb(tail='pandas_categorical:{"sex": ["f", "m"]}'))
    assert "not a list of lists" in refused(path, "MODEL_FILE").what
    for old, new in ((b"\n", b"\r\n"), (b"tree_sizes", b"tree_seizes"), (b"num_class=1", b"num_class=3")):
        path.write_bytes(b"tree\n" + LGB[5:].replace(old, new))
        refused(path, "MODEL_FILE")
