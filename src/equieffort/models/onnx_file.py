"""ONNX: a graph of known operators. Its own label is used; probabilities are never thresholded again here."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import ModelError, label, listed, sentence
from equieffort.models.adapters import Labels
from equieffort.models.optional import broken, need
from equieffort.models.pickles import is_pickle, refuse

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
EXTERNAL = 1
"""TensorProto.EXTERNAL: the tensor's numbers are in another file."""


class OnnxLabels(Labels):
    """The label output of an ONNX graph, with one input a column or one matrix."""

    def __init__(
        self, session: Any, names: list[str] | None, width: int, output: str, classes: list[Any] | None, model: Any
    ) -> None:
        super().__init__(names, width, classes)
        self.session, self.output, self.model = session, output, model

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One label a row."""
        columns, inputs = self.columns(X), self.session.get_inputs()
        if len(inputs) == 1 and _matrix_width(inputs[0]) is not None:
            kind = inputs[0].type
            feed = {inputs[0].name: np.column_stack([_typed(column, kind, inputs[0].name) for column in columns])}
        else:
            feed = {}
            for one, column in zip(inputs, columns, strict=True):
                typed = _typed(column, one.type, one.name)
                feed[one.name] = typed.reshape(-1, 1) if len(one.shape) == 2 else typed
        (labels,) = self.session.run([self.output], feed)
        labels = np.asarray(labels)
        return labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels


def read_onnx(data: bytes, path: Path) -> OnnxLabels:
    """The classifier in an ONNX file, if the file is complete in itself and uses only standard operators."""
    if is_pickle(data):
        # No ONNX file begins like one: its first field is a small number, not an instruction of a pickle.
        raise refuse(path)
    onnx, runtime = need("onnx", "onnx", path), need("onnxruntime", "onnx", path)
    try:
        model = onnx.load_model_from_string(data)
    except Exception as error:
        raise broken(path, "ONNX", error) from error
    if not model.graph.node or not model.graph.input:
        raise broken(path, "ONNX", "it has no graph with nodes and inputs")
    _check_closed(model, path)
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    # One thread: sums in one order, so that the same person gets the same answer.
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    try:
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ModelError(
            "MODEL_FILE",
            f"onnxruntime {runtime.__version__} cannot run {path.name!r}: {sentence(error)}",
            fix="Convert the model again for this version; from scikit-learn, give skl2onnx the numbers as float32.",
        ) from error
    names, width = _inputs(session, model, path)
    output = _label_output(session, path)
    return OnnxLabels(session, names, width, output.name, _classes(model, output.type), model)


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
        elif kind == "NodeProto" and message.domain not in known:
            foreign.add(f"{message.domain}.{message.op_type}")
        elif kind == "NodeProto" and (message.domain or "ai.onnx") not in versioned:
            # A file cut off between two fields can still be read; this is what comes last in it.
            raise broken(path, "ONNX", f"it does not say which version of {message.op_type} it means")
    if outside:
        raise ModelError(
            "MODEL_UNTRUSTED",
            f"{path.name!r} keeps {listed(outside, 20)}, outside the file.",
            fix="Save it as one file: onnx.save(onnx.load(path), path, save_as_external_data=False).",
        )
    if foreign:
        raise ModelError(
            "MODEL_UNTRUSTED",
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
        raise ModelError(
            "MODEL_FILE",
            f"The inputs {listed(strange)} of {path.name!r} are not columns of numbers or text.",
            fix="Convert the model with one input a column, or one matrix.",
        )
    wide = [one for one in inputs if _matrix_width(one) is not None]
    if not wide:
        return [one.name for one in inputs], len(inputs)
    if len(inputs) > 1:
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} has {len(inputs)} inputs, and {wide[0].name!r} takes several columns.",
            fix="Convert the model with one input a column, or one matrix.",
        )
    width = _matrix_width(wide[0]) or 0
    told = {entry.key: entry.value for entry in model.metadata_props}.get("feature_names")
    names = _told_names(told, path) if told is not None else None
    if names is None and not width:
        raise ModelError(
            "MODEL_FILE",
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
        raise ModelError(
            "MODEL_FILE",
            f"{path.name!r} has no output that is clearly its label; its outputs are "
            f"{listed(one.name for one in session.get_outputs())}.",
            fix="Convert the classifier with its label as an output of whole numbers or text.",
        )
    return chosen[0]


def _classes(model: Any, kind: str) -> list[Any] | None:
    """The classes, where all nodes that list them agree."""
    texts = kind == "tensor(string)"
    found: set[tuple[Any, ...]] = set()
    for message in _messages(model.graph):
        if message.DESCRIPTOR.name == "AttributeProto" and message.name.startswith("classlabels_"):
            values = (
                tuple(text.decode("utf-8", "replace") for text in message.strings) if texts else tuple(message.ints)
            )
            if values:
                found.add(values)
    if len(found) != 1:
        return None
    classes = list(found.pop())
    return [bool(value) for value in classes] if kind == "tensor(bool)" else classes


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
