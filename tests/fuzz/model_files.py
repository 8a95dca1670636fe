"""Small models of every library and kind, saved: what the mutations begin with."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import lightgbm
import numpy as np
import onnx
import pandas as pd
import skops.io
import xgboost
from onnx import TensorProto, helper, numpy_helper
from skl2onnx import to_onnx
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from tests.fuzz.mutate import change_bytes, change_json, change_text, change_zip

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 3))
Y = (X[:, 0] + X[:, 1] ** 2 > 0.7).astype(int)
THREE = np.digitize(X[:, 0], [-0.5, 0.5])
NAMED = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=pd.Categorical(RNG.choice(["u", "v", "w"], 80)))


def _xgboost() -> list[Any]:
    small: dict[str, Any] = {"n_estimators": 2, "max_depth": 3, "n_jobs": 1}
    kinds = [{}, {"gamma": 4.0, "tree_method": "exact"}, {"booster": "dart"}, {"booster": "gblinear"}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [xgboost.XGBClassifier(**small | kind).fit(X, Y) for kind in kinds]
        found.append(xgboost.XGBClassifier(**small).fit(X, THREE))
        found.append(xgboost.XGBClassifier(**small, enable_categorical=True).fit(NAMED, Y))
    return found


@cache
def xgboost_files() -> list[tuple[str, bytes]]:
    found = [(".json", bytes(model.get_booster().save_raw("json"))) for model in _xgboost()]
    return found + [(".ubj", bytes(model.get_booster().save_raw("ubj"))) for model in _xgboost()]


@cache
def lightgbm_files() -> list[tuple[str, bytes]]:
    small: dict[str, Any] = {"n_estimators": 2, "num_leaves": 4, "n_jobs": 1, "verbose": -1}
    made = [lightgbm.LGBMClassifier(**small).fit(pd.DataFrame(X, columns=["a", "b", "c"]), y) for y in (Y, THREE)]
    made.append(lightgbm.LGBMClassifier(**small, min_data_per_group=1, cat_smooth=0.1).fit(NAMED, Y))
    return [(".txt", model.booster_.model_to_string().encode()) for model in made]


@cache
def onnx_files() -> list[tuple[str, bytes]]:
    made = [LogisticRegression(), DecisionTreeClassifier(max_depth=3), MLPClassifier((4,), max_iter=20)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [(".onnx", to_onnx(m.fit(X, Y), X[:1].astype(np.float32)).SerializeToString()) for m in made]


@cache
def skops_files() -> list[tuple[str, bytes]]:
    made = [
        make_pipeline(StandardScaler(), LogisticRegression()), DecisionTreeClassifier(max_depth=3),
        RandomForestClassifier(2, max_depth=2), HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=4), SVC(),
    ]  # fmt: skip
    return [(".skops", skops.io.dumps(model.fit(X, Y))) for model in made]


def change_xgboost(start: tuple[str, bytes], draw: random.Random) -> tuple[str, bytes]:
    suffix, content = start
    if suffix == ".json" and draw.random() < 0.9:
        return suffix, json.dumps(change_json(json.loads(content), draw)).encode()
    return suffix, change_bytes(content, draw)


def change_lightgbm(start: tuple[str, bytes], draw: random.Random) -> tuple[str, bytes]:
    text = change_text(start[1], draw) if draw.random() < 0.9 else change_bytes(start[1], draw)
    if draw.random() < 0.8:
        text = _resized(text)
    return start[0], text


def _resized(text: bytes) -> bytes:
    """The header's sizes of trees made right again, so that a change is not found by its length alone."""
    starts = [at for at in range(len(text)) if text.startswith(b"\nTree=", at)]
    end = text.find(b"\nend of trees")
    if not starts or end < 0 or b"\ntree_sizes=" not in text:
        return text
    ends = [*starts[1:], end]
    sizes = b" ".join(str(b - a).encode() for a, b in zip(starts, ends, strict=True))
    before, _, after = text.partition(b"\ntree_sizes=")
    return before + b"\ntree_sizes=" + sizes + b"\n" + after.partition(b"\n")[2]


def change_onnx(start: tuple[str, bytes], draw: random.Random) -> tuple[str, bytes]:
    if draw.random() < 0.2:
        return start[0], change_bytes(start[1], draw)
    model = onnx.load_model_from_string(start[1])
    for _ in range(draw.randint(1, 3)):
        messages = [model]
        for message in messages:
            for descriptor, value in message.ListFields():
                if descriptor.message_type is not None:
                    messages.extend([value] if hasattr(value, "ListFields") else value)
        _change_message(draw.choice(messages), draw)
    return start[0], model.SerializeToString()


def _change_message(message: Any, draw: random.Random) -> None:
    fields = [(descriptor, value) for descriptor, value in message.ListFields() if descriptor.message_type is None]
    if not fields:
        return
    descriptor, value = draw.choice(fields)
    many = not isinstance(value, str | bytes | int | float | bool)
    old = draw.choice(list(value)) if many and len(value) else value
    if isinstance(old, str):
        new: Any = draw.choice(["", "x", "Loop", "If", "Identity", "Reshape", "label", old * 2])
    elif isinstance(old, bytes):
        new = change_bytes(old, draw)
    elif isinstance(old, float):
        new = draw.choice([0.0, -1.0, 1e38, float("nan"), float("inf")])
    else:
        new = draw.choice([0, 1, 2, 7, 100, -1, 2**31 - 1, -(2**31)])
    try:
        if not many:
            setattr(message, descriptor.name, new)
        elif draw.random() < 0.2:
            message.ClearField(descriptor.name)
        elif draw.random() < 0.2:
            value.append(new)
        else:
            value[draw.randrange(len(value))] = new
    except (ValueError, TypeError):
        message.ClearField(descriptor.name)


def change_skops(start: tuple[str, bytes], draw: random.Random) -> tuple[str, bytes]:
    return start[0], change_zip(start[1], draw, "schema.json")


# -- what is known to end or stop a library ----------------------------------------------------------------------------


def forged_xgboost(change: Any) -> bytes:
    content = json.loads(xgboost_files()[0][1])
    change(content["learner"]["gradient_booster"]["model"]["trees"][0])
    return json.dumps(content).encode()


CRASHING = {
    "wild parents": lambda tree: tree.update(parents=[tree["parents"][0], *[2**31 - 2] * (len(tree["parents"]) - 1)]),
    "negative parents": lambda tree: tree.update(parents=[-5] * len(tree["parents"])),
    "no values a leaf": lambda tree: tree["tree_param"].update(size_leaf_vector="-1"),
}


def loop(rounds: int) -> bytes:
    """A graph whose label is computed in a loop that goes on as long as its own body says: for ever."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["on"], ["still"]), helper.make_node("Identity", ["sum"], ["more"])],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("sum", TensorProto.FLOAT, None),
        ],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("more", TensorProto.FLOAT, None),
        ],
    )
    nodes = [
        helper.make_node("Loop", ["rounds", "true", "x"], ["y"], body=body),
        helper.make_node("ArgMax", ["y"], ["label"], axis=1, keepdims=0),
    ]
    graph = helper.make_graph(
        nodes,
        "endless",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [None, 2])],
        [helper.make_tensor_value_info("label", TensorProto.INT64, [None])],
        [
            numpy_helper.from_array(np.array(rounds), "rounds"),
            numpy_helper.from_array(np.array(True), "true"),
        ],
    )
    return bytes(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    )


Change = Callable[[tuple[str, bytes], random.Random], tuple[str, bytes]]
LIBRARIES: dict[str, tuple[Callable[[], list[tuple[str, bytes]]], Change]] = {
    "xgboost": (xgboost_files, change_xgboost),
    "lightgbm": (lightgbm_files, change_lightgbm),
    "onnx": (onnx_files, change_onnx),
    "skops": (skops_files, change_skops),
}
