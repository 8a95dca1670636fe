"""The network view: a ReLU network, also behind a pipeline, as layers over the encoded columns.

scikit-learn's MLPClassifier, `ReLUNetwork`, and networks in ONNX files. Without hidden layers, or with the identity in
place of ReLU, a network is linear.
"""

from __future__ import annotations

import warnings
from functools import reduce
from typing import Any

import numpy as np

from equieffort.data.frames import Encoding
from equieffort.foundations.tolerances import DOUBLE
from equieffort.models.classifiers.affine import Affine
from equieffort.models.classifiers.decision import Decision
from equieffort.models.classifiers.linear import affine_network, single_rounding
from equieffort.models.classifiers.onnx_network import OnnxNetwork, is_onnx, read_chance, read_graph
from equieffort.models.classifiers.relu_network import ReLUNetwork
from equieffort.models.classifiers.unwrap import Unwrapped, logit, raw_columns, unwrap
from equieffort.models.classifiers.views import Goals, Layer, LinearView, NetworkView, NoView, require_plain

SINGLE = 2.0**-24
"""Rounding of one operation with floats of four bytes."""
ROUNDINGS = 16
"""How many such roundings a probability may be off; onnxruntime's logistic function was measured to be 3 off."""
LARGEST_ERROR = 1e-3
"""Beyond that, margins say too little about what probabilities are, relative to what is summed."""


def network_view(decision: Decision, encoding: Encoding) -> NetworkView | LinearView:
    """The network view of a classifier over the encoded columns; raises `NoView` with the reason."""
    if is_onnx(decision.classifier):
        require_plain(decision.classifier)
        if decision.threshold is not None:
            return _onnx_chance_view(decision, encoding, decision.threshold)
        return _onnx_view(read_graph(decision.classifier), decision, encoding)
    opened = unwrap(decision, encoding)
    layers, single = _layers(opened.final)
    single = single and not _in_doubles(opened, decision, encoding)
    if layers[0].weights.shape[1] != opened.affine.matrix.shape[0]:
        raise NoView(
            f"its first layer has {layers[0].weights.shape[1]} inputs, but gets {opened.affine.matrix.shape[0]} columns"
        )
    # A network of our own computes with doubles whatever it is given; steps before it may not.
    width = layers[0].weights.shape[1] if opened.steps or single else 0
    error = max(rounding(layers, single=single), single_rounding(opened, decision, width) if width else 0.0)
    goals, layers = _goals(opened, layers)
    return _view(opened.affine, layers, goals, error)


def _in_doubles(opened: Unwrapped, decision: Decision, encoding: Encoding) -> bool:
    """Whether weights of four bytes are applied to numbers of eight: then every sum is one of doubles.

    numpy computes in the wider of the two types, in which the probabilities come out. A wrapper around the network may
    give another type, and tells nothing.
    """
    classifier, steps = decision.classifier, getattr(decision.classifier, "steps", None)
    if classifier is not opened.final and not (steps and steps[-1][1] is opened.final):
        return False
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            person = encoding.decode(np.zeros((1, len(encoding.columns))))
            return bool(classifier.predict_proba(decision.model_input(person)).dtype == np.float64)
    except Exception:
        return False  # a step may not take zeros


def rounding(layers: tuple[Layer, ...], *, single: bool) -> float:
    """How far a sum may be off, relative to what is summed: one rounding for each number that goes into it."""
    if not single:
        return DOUBLE
    return float(SINGLE * (sum(layer.weights.shape[1] + 2 for layer in layers) + 4))


def _view(affine: Affine, layers: tuple[Layer, ...], goals: Goals, error: float) -> NetworkView | LinearView:
    view = affine_network(affine, layers, goals, error)
    if len(layers) == 1 and len(goals.closed) == 1 and error <= DOUBLE:
        weights, intercept = view.layers[0].weights[0], float(view.layers[0].bias[0])
        tables = {k: table[0] for k, table in view.tables.items()}
        return LinearView(weights, tables, intercept, bool(goals.closed[0]), rowwise=False)
    return view


def _layers(final: Any) -> tuple[tuple[Layer, ...], bool]:
    """The layers of a network, and whether it is computed with floats of four bytes."""
    if isinstance(final, ReLUNetwork):
        require_plain(final)
        return tuple(Layer(w, b) for w, b in zip(final.weights, final.biases, strict=True)), False
    if type(final).__name__ != "MLPClassifier" or not type(final).__module__.startswith("sklearn."):
        raise NoView(f"{type(final).__name__} is not a network that is known")
    if final.activation not in ("relu", "identity"):
        raise NoView(f"its layers are joined by {final.activation}, not by relu")
    if final.out_activation_ == "logistic" and final.n_outputs_ > 1:
        raise NoView("it gives several labels at once")
    single = any(np.asarray(w).dtype == np.float32 for w in final.coefs_)
    layers = tuple(
        Layer(np.asarray(w, dtype=np.float64).T, np.asarray(b, dtype=np.float64))
        for w, b in zip(final.coefs_, final.intercepts_, strict=True)
    )
    if final.activation == "identity":
        layers = (reduce(lambda first, then: then.after(first), layers),)
    return layers, single


def _goals(opened: Unwrapped, layers: tuple[Layer, ...]) -> tuple[Goals, tuple[Layer, ...]]:
    """The last layer turned into margins."""
    last = layers[-1]
    if len(last.bias) == 2:
        # The softmax of two scores is the logistic function of their difference.
        last = Layer(last.weights[1:] - last.weights[:1], last.bias[1:] - last.bias[:1])
    if len(last.bias) == 1:
        sign, shift, closed = opened.orient(logit)
        return Goals.one(closed=closed), (*layers[:-1], Layer(sign * last.weights, sign * last.bias + shift))
    if opened.cut is not None:
        raise NoView("a threshold on the probability of one of several classes does not follow from its scores alone")
    goals, contrasts = Goals.argmax(opened.classes, opened.wanted)
    return goals, (*layers[:-1], Layer(contrasts, np.zeros(len(contrasts))).after(last))


def _onnx_view(network: OnnxNetwork, decision: Decision, encoding: Encoding) -> NetworkView | LinearView:
    absent = [label for label in decision.wanted if label not in network.classes]
    if absent:
        raise NoView(f"the label {absent[0]!r} is not among those the ONNX graph gives")
    wanted = tuple(network.classes.index(label) for label in decision.wanted)
    layers = network.layers
    error = rounding(layers, single=network.single)
    last = layers[-1]
    affine = raw_columns(decision, encoding)
    if last.weights.shape[1] != affine.matrix.shape[0] and len(layers) == 1:
        raise NoView(f"it takes {last.weights.shape[1]} columns, not {affine.matrix.shape[0]}")
    if len(last.bias) == 1:
        sign = 1.0 if wanted == (1,) else -1.0
        goals = Goals.one(closed=network.closed if wanted == (1,) else not network.closed)
        return _view(affine, (*layers[:-1], Layer(sign * last.weights, sign * last.bias)), goals, error)
    goals, contrasts = Goals.argmax(len(network.classes), wanted)
    return _view(affine, (*layers[:-1], Layer(contrasts, np.zeros(len(contrasts))).after(last)), goals, error)


def _onnx_chance_view(decision: Decision, encoding: Encoding, threshold: float) -> NetworkView | LinearView:
    """Favourable where the probability of one of two classes reaches a threshold."""
    known = np.asarray(decision.classifier.classes_).tolist()
    if len(known) != 2 or len(decision.wanted) != 1:
        raise NoView("a threshold on the probability of one of several classes does not follow from its scores alone")
    network = read_chance(decision.classifier, known.index(decision.wanted[0]))
    affine = raw_columns(decision, encoding)
    if network.layers[0].weights.shape[1] != affine.matrix.shape[0]:
        raise NoView(f"it takes {network.layers[0].weights.shape[1]} columns, not {affine.matrix.shape[0]}")
    last = network.layers[-1]
    layers = (*network.layers[:-1], Layer(last.weights, last.bias - logit(threshold)))
    # The probability and the threshold are rounded too: how far apart that carries scores, and what is summed at least.
    unit = SINGLE if network.single else SINGLE**2
    least = np.zeros(layers[0].weights.shape[1])
    for layer in layers:
        least = np.abs(layer.weights) @ least + np.abs(layer.bias)
    apart = ROUNDINGS * unit / (threshold * (1.0 - threshold))
    error = rounding(layers, single=network.single) * network.stretch
    if not error * least[0] + apart <= LARGEST_ERROR * least[0]:
        raise NoView("its probabilities near the threshold are rounded too coarsely")
    return _view(affine, layers, Goals.one(closed=True), error + apart / float(least[0]))
