"""ONNX graphs as layers: what is affine is multiplied out, ReLU separates layers, and the label says the rest.

The graph is followed back from its label. An operator that is not known here is the reason why there is no view.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from equieffort.data.frames import Floats
from equieffort.models.classifiers.unwrap import logit
from equieffort.models.classifiers.views import Layer, NoView

SINGLE_TYPE, DOUBLE_TYPE = 1, 11
"""TensorProto.FLOAT and DOUBLE."""
SINGLE = ("LinearClassifier", "Scaler", "Normalizer", "ZipMap")
"""Operators that compute with floats of four bytes, whatever they are given."""


@dataclass(frozen=True, eq=False)
class OnnxNetwork:
    """A network as an ONNX graph computes it; with one output the second class is given above zero."""

    layers: tuple[Layer, ...]
    classes: list[Any]
    closed: bool
    """With one output: whether zero already gives the second class."""
    single: bool
    """Whether it is computed with floats of four bytes."""
    stretch: float = 1.0
    """How many times as much the graph itself sums as these layers do: it computes two scores, these the difference."""


@dataclass(frozen=True, eq=False)
class _Vector:
    """weights . (the last layer's ReLUs, or the columns) + bias, perhaps under a function that keeps the order."""

    layers: tuple[Layer, ...]
    weights: Floats
    bias: Floats
    link: str = ""


@dataclass(frozen=True, eq=False)
class _Choice:
    """A label: the class of the largest entry; with one entry, the second class where it is above zero."""

    vector: _Vector
    classes: list[Any]
    closed: bool = False


def is_onnx(classifier: Any) -> bool:
    """Whether a classifier was read from an ONNX file and still holds its graph."""
    return type(classifier).__name__ == "OnnxLabels" and getattr(classifier, "model", None) is not None


def read_graph(classifier: Any) -> OnnxNetwork:
    """The network in an ONNX graph; raises `NoView` with the operator that is not known."""
    graph = _Graph(classifier.model, classifier.n_features_in_)
    label = graph.value(classifier.output)
    if not isinstance(label, _Choice):
        raise NoView("the ONNX label is no choice of the largest score")
    vector = label.vector
    layers = (*vector.layers, Layer(vector.weights, vector.bias))
    return OnnxNetwork(layers, label.classes, label.closed, graph.single)


def read_chance(classifier: Any, position: int) -> OnnxNetwork:
    """The network whose one output is the logit of the probability of one of two classes."""
    graph = _Graph(classifier.model, classifier.n_features_in_)
    vector = graph.value(classifier.chances)
    if not isinstance(vector, _Vector) or not vector.link or len(vector.bias) != 2:
        raise NoView("the ONNX probabilities are not those of a logistic function or softmax of two classes")
    weights, bias, stretch = vector.weights[[position]], vector.bias[[position]], 1.0
    if vector.link == "softmax":
        others = vector.weights[[1 - position]], vector.bias[[1 - position]]
        stretch = max(_stretch(weights, others[0]), _stretch(bias, others[1]))
        weights, bias = weights - others[0], bias - others[1]
    classes = np.asarray(classifier.classes_).tolist()
    return OnnxNetwork((*vector.layers, Layer(weights, bias)), classes, True, graph.single, stretch)


def _stretch(first: Floats, second: Floats) -> float:
    """The largest (|a| + |b|) / |a - b|."""
    sizes, apart = np.abs(first) + np.abs(second), np.abs(first - second)
    with np.errstate(divide="ignore"):
        return float(np.max(sizes[sizes > 0] / apart[sizes > 0], initial=1.0))


class _Graph:
    """A graph whose values are computed as vectors, constants and choices."""

    def __init__(self, model: Any, width: int) -> None:
        from onnx import numpy_helper

        self.read: Callable[[Any], Any] = numpy_helper.to_array
        graph = model.graph
        self.maker = {name: node for node in graph.node for name in node.output}
        self.known: dict[str, Any] = {one.name: self.read(one) for one in graph.initializer}
        inputs = [one for one in graph.input if one.name not in self.known]
        types = [one.type.tensor_type.elem_type for one in inputs]
        self.single = any(kind != DOUBLE_TYPE for kind in types) or any(
            one.data_type not in (DOUBLE_TYPE, 6, 7, 8) for one in graph.initializer
        )
        if len(inputs) == 1:
            self.known[inputs[0].name] = _Vector((), np.eye(width), np.zeros(width))
        else:
            for k, one in enumerate(inputs):
                self.known[one.name] = _Vector((), np.eye(width)[k : k + 1], np.zeros(1))

    def value(self, name: str) -> Any:
        """A value by its name; nodes are followed without recursion, so that long graphs can be read."""
        todo = [name]
        while todo:
            if todo[-1] in self.known:
                todo.pop()
                continue
            node = self.maker.get(todo[-1])
            if node is None:
                raise NoView(f"the ONNX graph does not say what {todo[-1]!r} is")
            lacking = [one for one in node.input if one and one not in self.known]
            if lacking:
                if len(todo) > len(self.maker) + 1:
                    raise NoView("the ONNX graph has a circle")
                todo.extend(lacking)
                continue
            made = todo.pop()
            self.known[made] = self._apply(node, list(node.output).index(made))
        return self.known[name]

    def _apply(self, node: Any, place: int) -> Any:
        attributes = {one.name: _value(one) for one in node.attribute}
        given = [self.known[one] for one in node.input if one]
        if node.op_type == "Constant" and "value" in attributes:
            return self.read(attributes["value"])
        if node.op_type in SINGLE or (node.op_type == "Cast" and attributes["to"] == SINGLE_TYPE):
            self.single = True
        # Only the second output of a classifier is known besides first ones.
        step = STEPS.get(node.op_type) if place == 0 else SECOND.get(node.op_type) if place == 1 else None
        answer = None if step is None or not given else step(given, attributes)
        if answer is None:
            raise NoView(f"the ONNX operator {node.op_type} is not known")
        return answer


Attributes = dict[str, Any]


def _value(attribute: Any) -> Any:
    from onnx import helper

    try:
        return helper.get_attribute_value(attribute)
    except ValueError as error:
        raise NoView(f"the ONNX attribute {attribute.name!r} is of no known type") from error


def _same(given: list[Any], attributes: Attributes) -> Any:
    return given[0]


def _cast(given: list[Any], attributes: Attributes) -> Any:
    to = attributes["to"]
    if not isinstance(given[0], _Choice):
        # Numbers cut to whole ones are no longer affine.
        return given[0] if to in (SINGLE_TYPE, DOUBLE_TYPE) and not isinstance(given[0], np.ndarray) else None
    turn = {6: int, 7: int, 8: str, 9: bool, SINGLE_TYPE: float, DOUBLE_TYPE: float}.get(to)
    return None if turn is None else replace(given[0], classes=[turn(label) for label in given[0].classes])


def _affine(vector: Any, weights: Floats, bias: Any) -> Any:
    """weights . vector + bias, unless something already bends it."""
    if not isinstance(vector, _Vector) or vector.link:
        return None
    return _Vector(vector.layers, weights @ vector.weights, weights @ vector.bias + bias)


def _flat(array: Any, width: int) -> Floats | None:
    """A constant with one number for each entry of a row."""
    numbers = np.asarray(array, dtype=np.float64)
    if numbers.size not in (1, width) or (numbers.ndim > 1 and numbers.shape[-1] != numbers.size):
        return None
    return np.broadcast_to(numbers.reshape(-1), (width,))


def _gemm(given: list[Any], attributes: Attributes) -> Any:
    if not isinstance(given[1], np.ndarray) or attributes.get("transA"):
        return None
    matrix = attributes.get("alpha", 1.0) * np.asarray(given[1], dtype=np.float64)
    weights = matrix if attributes.get("transB") else matrix.T
    bias = _flat(given[2], len(weights)) if len(given) > 2 else np.zeros(len(weights))
    return None if bias is None else _affine(given[0], weights, attributes.get("beta", 1.0) * bias)


def _matmul(given: list[Any], attributes: Attributes) -> Any:
    if not isinstance(given[1], np.ndarray) or given[1].ndim != 2:
        return None
    return _affine(given[0], np.asarray(given[1], dtype=np.float64).T, 0.0)


def _arithmetic(kind: str) -> Callable[[list[Any], Attributes], Any]:
    def step(given: list[Any], attributes: Attributes) -> Any:
        first, second = given
        if isinstance(first, np.ndarray) and isinstance(second, _Vector):
            return _constant_first(kind, first, second)
        if not isinstance(first, _Vector) or not isinstance(second, np.ndarray):
            return None
        numbers = _flat(second, len(first.bias))
        if numbers is None or (kind == "div" and (numbers == 0).any()):
            return None
        if kind in ("add", "sub"):
            return _affine(first, np.eye(len(numbers)), numbers if kind == "add" else -numbers)
        return _affine(first, np.diag(numbers if kind == "mul" else 1.0 / numbers), 0.0)

    return step


def _constant_first(kind: str, constant: Any, vector: _Vector) -> Any:
    if kind in ("add", "mul"):
        return _arithmetic(kind)([vector, constant], {})
    if kind == "sub" and vector.link == "sigmoid" and np.all(np.asarray(constant) == 1.0):
        # One minus a logistic value is the logistic value of the negative score.
        return replace(vector, weights=-vector.weights, bias=-vector.bias)
    numbers = _flat(constant, len(vector.bias))
    return _affine(vector, -np.eye(len(vector.bias)), numbers) if kind == "sub" and numbers is not None else None


def _relu(given: list[Any], attributes: Attributes) -> Any:
    vector = given[0]
    if not isinstance(vector, _Vector) or vector.link:
        return None
    width = len(vector.bias)
    return _Vector((*vector.layers, Layer(vector.weights, vector.bias)), np.eye(width), np.zeros(width))


def _link(name: str) -> Callable[[list[Any], Attributes], Any]:
    def step(given: list[Any], attributes: Attributes) -> Any:
        vector = given[0]
        if not isinstance(vector, _Vector) or vector.link:
            return None
        if name == "softmax" and attributes.get("axis", 1) not in (1, -1):
            return None
        return replace(vector, link=name)

    return step


def _concat(given: list[Any], attributes: Attributes) -> Any:
    if not all(isinstance(one, _Vector) for one in given) or attributes["axis"] not in (1, -1):
        return None
    first = given[0]
    if any(one.link != first.link or one.link == "softmax" or one.layers != first.layers for one in given):
        return None
    return replace(first, weights=np.vstack([v.weights for v in given]), bias=np.concatenate([v.bias for v in given]))


def _argmax(given: list[Any], attributes: Attributes) -> Any:
    axis, last = attributes.get("axis", 0), attributes.get("select_last_index")
    if not isinstance(given[0], _Vector) or last or axis not in (1, -1) or len(given[0].bias) < 2:
        return None
    return _Choice(given[0], list(range(len(given[0].bias))))


def _pick(given: list[Any], attributes: Attributes) -> Any:
    labels, choice = given
    if not isinstance(labels, np.ndarray) or not isinstance(choice, _Choice):
        return None
    names = [one.decode() if isinstance(one, bytes) else one for one in labels.reshape(-1).tolist()]
    return replace(choice, classes=[names[int(position)] for position in choice.classes])


def _above(closed: bool) -> Callable[[list[Any], Attributes], Any]:
    def step(given: list[Any], attributes: Attributes) -> Any:
        vector, level = given
        if not isinstance(vector, _Vector) or len(vector.bias) != 1 or not isinstance(level, np.ndarray):
            return None
        if vector.link == "softmax" or level.size != 1:
            return None
        at = float(level.reshape(-1)[0])
        at = logit(at) if vector.link == "sigmoid" else at
        if not np.isfinite(at):
            return None
        return _Choice(replace(vector, bias=vector.bias - at, link=""), [False, True], closed)

    return step


def _scaler(given: list[Any], attributes: Attributes) -> Any:
    vector = given[0]
    if not isinstance(vector, _Vector):
        return None
    offset, scale = (_flat(attributes.get(k, [x]), len(vector.bias)) for k, x in (("offset", 0.0), ("scale", 1.0)))
    return None if offset is None or scale is None else _affine(vector, np.diag(scale), -offset * scale)


def _linear_chances(given: list[Any], attributes: Attributes) -> Any:
    """The scores of a linear classifier, under the function that makes them probabilities."""
    choice = _linear_classifier(given, attributes)
    link = {b"SOFTMAX": "softmax", b"LOGISTIC": "sigmoid"}.get(attributes.get("post_transform", b"NONE"))
    # With one row of numbers for two classes the other column is not written down.
    if choice is None or link is None or len(choice.vector.bias) != len(choice.classes):
        return None
    return replace(choice.vector, link=link)


def _normalizer(given: list[Any], attributes: Attributes) -> Any:
    """Dividing by the sum changes nothing where the sum is one."""
    vector = given[0]
    if not isinstance(vector, _Vector) or attributes.get("norm") != b"L1":
        return None
    opposite = len(vector.bias) == 2 and not np.any(vector.weights.sum(axis=0)) and vector.bias.sum() == 0.0
    return vector if vector.link == "softmax" or (vector.link == "sigmoid" and opposite) else None


def _linear_classifier(given: list[Any], attributes: Attributes) -> Any:
    texts = attributes.get("classlabels_strings")
    names = attributes["classlabels_ints"] if texts is None else [one.decode() for one in texts]
    coefficients = np.array(attributes["coefficients"], dtype=np.float64)
    vector = given[0]
    if not isinstance(vector, _Vector) or coefficients.size % len(vector.bias):
        return None
    weights = coefficients.reshape(-1, len(vector.bias))
    bias = np.array(attributes.get("intercepts", np.zeros(len(weights))))
    if len(weights) not in (1, len(names)) or len(names) < 2 or (len(weights) == 1 and len(names) > 2):
        return None
    scores = _affine(vector, weights, bias)
    return None if scores is None else _Choice(scores, names)


STEPS: dict[str, Callable[[list[Any], Attributes], Any]] = {
    **dict.fromkeys(("Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout", "ZipMap"), _same),
    "Cast": _cast,
    "Gemm": _gemm,
    "MatMul": _matmul,
    **{kind.capitalize(): _arithmetic(kind) for kind in ("add", "sub", "mul", "div")},
    "Relu": _relu,
    "Sigmoid": _link("sigmoid"),
    "Softmax": _link("softmax"),
    "LogSoftmax": _link("softmax"),
    "Concat": _concat,
    "ArgMax": _argmax,
    "ArrayFeatureExtractor": _pick,
    "Gather": _pick,
    "Greater": _above(closed=False),
    "GreaterOrEqual": _above(closed=True),
    "Scaler": _scaler,
    "LinearClassifier": _linear_classifier,
    "Normalizer": _normalizer,
}
"""What each operator makes of what it is given, or None where it cannot be followed. Reshaping a row keeps it a row:
what would not is found when the view's labels are compared with the model's."""

SECOND: dict[str, Callable[[list[Any], Attributes], Any]] = {"LinearClassifier": _linear_chances}
"""The same for the second output of an operator."""
