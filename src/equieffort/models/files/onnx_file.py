"""ONNX: a graph of known operators. Its own label is used; its probabilities are only for declared thresholds."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import ModelError, label, listed, sentence
from equieffort.models.files.pickles import disguised
from equieffort.models.files.probe import probe
from equieffort.models.files.shared import Labels, bad_file, broken, need

_untrusted = partial(ModelError, "MODEL_UNTRUSTED")

DOMAINS = {"", "ai.onnx", "ai.onnx.ml"}
LABEL_TYPES = ("tensor(int64)", "tensor(int32)", "tensor(string)", "tensor(bool)")
DTYPES: dict[str, Any] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": object,
}
PASSING = ("Identity", "Cast", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "ZipMap")
"""Operators that hand on the same numbers."""
NEARLY_ONE = 1e-4
"""How far probabilities of four bytes may be from adding up to one."""
ENDLESS = "Loop"
"""The operator that goes on until its own graph says otherwise; no classifier here is converted with it."""
EXTERNAL = 1
"""TensorProto.EXTERNAL: the tensor's numbers are in another file."""


class OnnxLabels(Labels):
    """The label output of an ONNX graph, with one input a column or one matrix, and its probabilities if it has any."""

    told_as = "ONNX model"

    def __init__(
        self,
        session: Any,
        names: list[str] | None,
        width: int,
        output: str,
        classes: list[Any] | None,
        model: Any,
        chances: str | None,
    ) -> None:
        super().__init__(session, names, width, classes, probable=chances is not None)
        self.output, self.model, self.chances = output, model, chances

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One label a row."""
        labels = np.asarray(self._run(X, self.output))
        return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels

    def _chances(self, X: Any) -> np.ndarray[Any, Any]:
        found = self._run(X, self.chances)
        if isinstance(found, list):
            # A map from class to number for each row; its numbers have four bytes.
            found = np.array([[row[known] for known in self.classes_.tolist()] for row in found], dtype=np.float32)
        sums = found.sum(axis=1, dtype=np.float64)
        if np.any(found < 0) or np.any(found > 1 + NEARLY_ONE) or np.any(np.abs(sums - 1) > NEARLY_ONE):
            raise ValueError(f"the output {self.chances!r} holds no probabilities: they must add up to one in each row")
        return np.asarray(found)

    def _run(self, X: Any, output: str | None) -> Any:
        columns, inputs = self.columns(X), self.own.get_inputs()
        if len(inputs) == 1 and _matrix_width(inputs[0]) is not None:
            kind = inputs[0].type
            feed = {inputs[0].name: np.column_stack([_typed(column, kind, inputs[0].name) for column in columns])}
        else:
            feed = {}
            for one, column in zip(inputs, columns, strict=True):
                typed = _typed(column, one.type, one.name)
                feed[one.name] = typed.reshape(-1, 1) if len(one.shape) == 2 else typed
        (found,) = self.own.run([output], feed)
        return found


def read_onnx(data: bytes, path: Path) -> OnnxLabels:
    """The classifier in an ONNX file, if the file is complete in itself and uses only standard operators."""
    # No ONNX file begins like one: its first field is a small number, not an instruction of a pickle.
    if (error := disguised(data, path)) is not None:
        raise error
    onnx, runtime = need("onnx", "onnx", path), need("onnxruntime", "onnx", path)
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:
        raise broken(path, "ONNX", error) from error
    if not model.graph.node or not model.graph.input:
        raise broken(path, "ONNX", "it has no graph with nodes and inputs")
    _check_closed(model, path)
    probe("onnx", data, path)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    # One thread: sums in one order, so that the same person gets the same answer.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise bad_file(
            f"onnxruntime {runtime.__version__} cannot run {path.name!r}: {sentence(error)}",
            fix="Convert the model again for this version; from scikit-learn, give skl2onnx the numbers as float32.",
        ) from error
    names, width = _inputs(session, model, path)
    output = _label_output(session, path)
    classes = _classes(model, output)
    chances = _chances_output(session, model, classes)
    return OnnxLabels(session, names, width, output.name, classes, model, chances)


def _messages(message: Any) -> Iterator[Any]:
    """A protobuf message and all inside it."""
    stack = [message]
    while stack:
        current = stack.pop()
        yield current
        for descriptor, value in current.ListFields():
            if descriptor.message_type is not None:
                stack.extend([value] if hasattr(value, "ListFields") else value)


def _check_closed(model: Any, path: Path) -> None:
    """Refuse what reaches out of the file: tensors elsewhere, and operators of other libraries."""
    known = DOMAINS | {function.domain for function in model.functions}
    versioned = {opset.domain or "ai.onnx" for opset in model.opset_import}
    outside, foreign = [], set()
    for message in _messages(model):
        kind = message.DESCRIPTOR.name
        if kind == "TensorProto" and (message.data_location == EXTERNAL or message.external_data):
            where = [entry.value for entry in message.external_data if entry.key == "location"]
            outside.append(f"{message.name} in {where[0] if where else 'another file'}")
        elif kind == "NodeProto" and message.op_type == ENDLESS:
            raise _untrusted(
                f"{path.name!r} uses the operator {ENDLESS}, which may go round for ever.",
                fix=f"Convert the model without {ENDLESS}.",
            )
        elif kind == "NodeProto" and message.domain not in known:
            foreign.add(f"{message.domain}.{message.op_type}")
        elif kind == "NodeProto" and (message.domain or "ai.onnx") not in versioned:
            # A file cut off between two fields can still be read; this is what comes last in it.
            raise broken(path, "ONNX", f"it does not say which version of {message.op_type} it means")
    if outside:
        raise _untrusted(
            f"{path.name!r} keeps {listed(outside, 20)}, outside the file.",
            fix="Save it as one file: onnx.save(onnx.load(path), path, save_as_external_data=False).",
        )
    if foreign:
        raise _untrusted(
            f"{path.name!r} uses {listed(sorted(foreign), 20)}, which are not standard operators.",
            fix="Convert the model with standard operators only.",
        )


def _matrix_width(one: Any) -> int | None:
    """How many columns an input takes, if it takes more than one; 0 if it does not say."""
    if len(one.shape) != 2 or one.shape[1] == 1:
        return None
    return one.shape[1] if isinstance(one.shape[1], int) else 0


def _inputs(session: Any, model: Any, path: Path) -> tuple[list[str] | None, int]:
    """Names and number of the columns."""
    inputs = session.get_inputs()
    if strange := [one.name for one in inputs if one.type not in DTYPES or len(one.shape) not in (1, 2)]:
        raise bad_file(
            f"The inputs {listed(strange)} of {path.name!r} are not columns of numbers or text.",
            fix="Convert the model with one input a column, or one matrix.",
        )
    wide = [one for one in inputs if _matrix_width(one) is not None]
    if not wide:
        return [one.name for one in inputs], len(inputs)
    if len(inputs) > 1:
        raise bad_file(
            f"{path.name!r} has {len(inputs)} inputs, and {wide[0].name!r} takes several columns.",
            fix="Convert the model with one input a column, or one matrix.",
        )
    width = _matrix_width(wide[0]) or 0
    told = {entry.key: entry.value for entry in model.metadata_props}.get("feature_names")
    names = _told_names(told, path) if told is not None else None
    if names is None and not width:
        raise bad_file(
            f"{path.name!r} says neither how many columns it takes nor their names.",
            fix="Give its input a fixed width, or add the metadata feature_names: a JSON list of names.",
        )
    if names is not None and width not in (0, len(names)):
        raise broken(path, "ONNX", f"its metadata name {len(names)} columns, but its input takes {width}")
    return names, width or len(names or ())


def _told_names(told: str, path: Path) -> list[str]:
    try:
        names = json.loads(told) if told.lstrip().startswith("[") else [part.strip() for part in told.split(",")]
    except (ValueError, RecursionError) as error:
        raise broken(path, "ONNX", f"the metadata feature_names are not a JSON list: {error}") from error
    if not all(isinstance(name, str) and name for name in names) or len(set(names)) != len(names):
        raise broken(path, "ONNX", "the metadata feature_names are not a list of different names")
    return list(names)


def _label_output(session: Any, path: Path) -> Any:
    found = [
        one
        for one in session.get_outputs()
        if one.type in LABEL_TYPES and (len(one.shape) < 2 or (len(one.shape) == 2 and one.shape[1] == 1))
    ]
    named = [one for one in found if "label" in one.name.lower()]
    chosen = found if len(found) == 1 else named
    if len(chosen) != 1:
        raise bad_file(
            f"{path.name!r} has no output that is clearly its label; its outputs are "
            f"{listed(one.name for one in session.get_outputs())}.",
            fix="Convert the classifier with its label as an output of whole numbers or text.",
        )
    return chosen[0]


def _classes(model: Any, output: Any) -> list[Any] | None:
    """The classes, where all nodes that list them agree."""
    kind = output.type
    texts = kind == "tensor(string)"
    found: set[tuple[Any, ...]] = set()
    for message in _messages(model.graph):
        if message.DESCRIPTOR.name == "AttributeProto" and message.name.startswith("classlabels_"):
            values = (
                tuple(text.decode("utf-8", "replace") for text in message.strings) if texts else tuple(message.ints)
            )
            if values:
                found.add(values)
    picked = _picked(model, output.name) if not found else None
    # A label that is turned into text, or back, on its way to the output is not what was listed.
    if picked is not None and all(isinstance(one, str) == texts for one in picked):
        found.add(tuple(picked))
    if len(found) != 1:
        return None
    classes = list(found.pop())
    return [bool(value) for value in classes] if kind == "tensor(bool)" else classes


def _picked(model: Any, name: str) -> list[Any] | None:
    """The labels among which the largest score picks one, as scikit-learn's networks are converted."""
    node = _origin(model, name)
    if node is None or node.op_type != "ArrayFeatureExtractor":
        return None
    choice = _origin(model, node.input[1])
    tensors = [one for one in model.graph.initializer if one.name == node.input[0]]
    if choice is None or choice.op_type != "ArgMax" or len(tensors) != 1:
        return None
    from onnx import numpy_helper

    labels = numpy_helper.to_array(tensors[0]).reshape(-1).tolist()
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else one for one in labels]


def _origin(model: Any, name: str) -> Any:
    """The node that computes a value, before those that only hand it on; None for an input or a constant."""
    maker = {made: node for node in model.graph.node for made in node.output}
    for _ in range(len(maker) + 1):
        node = maker.get(name)
        if node is None or node.op_type not in PASSING:
            return node
        name = node.input[0]
    return None


def _chances_output(session: Any, model: Any, classes: list[Any] | None) -> str | None:
    """The output with a probability for each class, if there is one."""
    if classes is None:
        return None
    found = [
        one
        for one in session.get_outputs()
        if one.type in ("seq(map(int64,tensor(float)))", "seq(map(string,tensor(float)))")
        or (one.type in ("tensor(float)", "tensor(double)") and len(one.shape) == 2 and one.shape[1] == len(classes))
    ]
    found = found if len(found) == 1 else [one for one in found if "prob" in one.name.lower()]
    if len(found) != 1 or _is_score(_origin(model, found[0].name)):
        return None
    return str(found[0].name)


def _is_score(node: Any) -> bool:
    """Whether a node gives scores of a linear model or a support vector machine as they are."""
    if node is None or node.op_type not in ("LinearClassifier", "SVMClassifier"):
        return node is None
    attributes = {one.name: one for one in node.attribute}
    if "post_transform" in attributes and attributes["post_transform"].s != b"NONE":
        return False
    return not (node.op_type == "SVMClassifier" and "prob_a" in attributes and len(attributes["prob_a"].floats))


def _typed(column: np.ndarray[Any, Any], kind: str, name: str) -> np.ndarray[Any, Any]:
    """A column as the graph wants it; nothing is rounded to whole numbers or turned into text on the way."""
    if kind == "tensor(string)":
        if any(not isinstance(value, str) for value in column):
            wrong = next(value for value in column if not isinstance(value, str))
            raise ValueError(f"the input {name!r} takes text, but got {label(wrong)}")
        return np.asarray(column, dtype=object)
    if pd.isna(column).any() and kind not in ("tensor(float)", "tensor(double)"):
        raise ValueError(f"the input {name!r} takes no missing values")
    numbers = np.asarray(column, dtype=np.float64)
    if kind in ("tensor(float)", "tensor(double)"):
        return numbers.astype(DTYPES[kind])
    whole = np.isin(numbers, (0, 1)) if kind == "tensor(bool)" else numbers == np.rint(numbers)
    if not whole.all():
        raise ValueError(f"the input {name!r} takes whole numbers, but got {label(numbers[~whole][0])}")
    return np.asarray(column).astype(DTYPES[kind])
