"""ReLUNetwork: a network from plain weight arrays, as a classifier."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from equieffort.data.frames import Floats, require_columns
from equieffort.errors import ModelError, Setting, listed, sentence
from equieffort.foundations.arguments import check_mapping, items_in, names_in

_bad_weights = partial(ModelError, "MODEL_WEIGHTS")


class ReLUNetwork:
    """A feed-forward network with ReLU between its layers.

    Each layer's weights have a row an output and a column an input, as in torch (scikit-learn's `coefs_` are the other
    way round). With one output the second class is chosen where it is above zero, and its logistic value is the
    probability; with several, the largest wins, the first at a tie, and probabilities are their softmax. Everything is
    computed in double precision.

    >>> network = ReLUNetwork([[[1, -1], [1, 1]], [[1, 2]]], [[0, 0], [-3]], classes=["no", "yes"])
    >>> network.predict([[1, 0], [2, 1]]).tolist()         # relu(a - b) + 2 relu(a + b) - 3
    ['no', 'yes']
    """

    def __init__(
        self,
        weights: Sequence[Any],
        biases: Sequence[Any],
        *,
        classes: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        weights = items_in("weights", weights, "a list of arrays, one a layer", error=ModelError, code="MODEL_WEIGHTS")
        biases = items_in("biases", biases, "a list of arrays, one a layer", error=ModelError, code="MODEL_WEIGHTS")
        self.weights = tuple(_numbers(w, 2, f"The weights of layer {t + 1}") for t, w in enumerate(weights))
        self.biases = tuple(_numbers(b, 1, f"The bias of layer {t + 1}") for t, b in enumerate(biases))
        _check_shapes(self.weights, self.biases)
        outputs = len(self.biases[-1])
        count = max(outputs, 2)
        self.classes_ = np.arange(count) if classes is None else np.array(items_in("classes", classes, "a list"))
        if self.classes_.shape != (count,) or len(set(map(repr, self.classes_.tolist()))) != count:
            raise _bad_weights(
                f"The last layer has {outputs} output{'s' if outputs > 1 else ''}, so there are {count} classes, but "
                f"classes names {listed(self.classes_.tolist())}.",
                fix=f"Name {count} different classes, in the order of the outputs.",
            )
        self.n_features_in_ = self.weights[0].shape[1]
        if feature_names is not None:
            names = list(names_in("feature_names", feature_names))
            if len(names) != self.n_features_in_ or len(set(names)) != len(names):
                raise _bad_weights(
                    f"The first layer has {self.n_features_in_} inputs, but feature_names are {listed(names)}.",
                    fix="Name each input once, in the network's order.",
                )
            self.feature_names_in_ = np.array(names, dtype=object)

    @classmethod
    def from_state_dict(
        cls,
        state_dict: Mapping[str, Any],
        *,
        classes: Sequence[Any] | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> ReLUNetwork:
        """A torch network of linear layers with ReLU between them, from its `state_dict()`.

        Only names ending in `weight` and `bias` are known; torch itself is not needed.

        >>> state = {"0.weight": [[1.0, -1.0]], "0.bias": [0.5], "2.weight": [[2.0]], "2.bias": [-1.0]}
        >>> ReLUNetwork.from_state_dict(state).predict([[0, 0], [1, 0]]).tolist()
        [0, 1]
        """
        check_mapping("state_dict", state_dict, "what state_dict() of a torch network gives", error=ModelError)
        layers: dict[str, dict[str, Any]] = {}
        for name, value in state_dict.items():
            prefix, _, kind = str(name).rpartition(".")
            if kind not in ("weight", "bias"):
                raise _bad_weights(
                    f"The state holds {str(name)!r}, which is neither weight nor bias of a linear layer.",
                    fix="Fold normalisation into the linear layers first, or save the network as ONNX.",
                )
            layers.setdefault(prefix, {})[kind] = value
        if lacking := [prefix for prefix, layer in layers.items() if "weight" not in layer]:
            raise _bad_weights(f"Layer {lacking[0]!r} of the state has a bias but no weight.", fix="Add its weight.")
        order = list(layers)
        if all(re.fullmatch(r"(.*\.)?\d+", prefix) for prefix in order):
            order.sort(key=lambda prefix: int(prefix.rpartition(".")[2]))
        weights = [_numbers(layers[prefix]["weight"], 2, f"{prefix}.weight") for prefix in order]
        biases = [layers[prefix].get("bias", np.zeros(len(w))) for prefix, w in zip(order, weights, strict=True)]
        return cls(weights, biases, classes=classes, feature_names=feature_names)

    def fit(self, X: Any, y: Any = None) -> ReLUNetwork:
        """Changes nothing, since the weights are given; with it the network can stand at the end of a pipeline."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        from sklearn.dummy import DummyClassifier

        return DummyClassifier().__sklearn_tags__()

    def scores(self, X: Any) -> Floats:
        """The outputs of the last layer, a row a person."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None and hasattr(X, "columns"):
            require_columns(X, names, why=("The network uses a feature, but ", Setting("the table")))
            X = X[list(names)]
        try:
            values = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise ModelError(
                "DATA_NOT_NUMERIC", f"X does not hold numbers: {sentence(error)}", fix="Encode it."
            ) from error
        if values.ndim != 2 or values.shape[1] != self.n_features_in_:
            raise ModelError(
                "DATA_LENGTH",
                f"The network has {self.n_features_in_} inputs, but X has the shape {values.shape}.",
                fix="Give a row a person and a column an input.",
            )
        for t, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            values = (np.maximum(values, 0.0) if t else values) @ weights.T + bias
        return values

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One class a row."""
        scores = self.scores(X)
        chosen = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return self.classes_[chosen]

    def predict_proba(self, X: Any) -> Floats:
        """Logistic for one output, softmax for several."""
        scores = self.scores(X)
        if scores.shape[1] == 1:
            scores = np.hstack([np.zeros_like(scores), scores])
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _numbers(given: Any, dimensions: int, what: str) -> Floats:
    if hasattr(given, "detach"):
        given = given.detach().cpu()
    try:
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.full((), np.nan)
    if array.ndim != dimensions or array.size == 0 or not np.isfinite(array).all():
        shape = "a table (outputs x inputs)" if dimensions == 2 else "a list (one for each output)"
        raise _bad_weights(f"{what} are not {shape} of finite numbers.", fix="Give plain arrays.")
    return array


def _check_shapes(weights: tuple[Floats, ...], biases: tuple[Floats, ...]) -> None:
    if not weights or len(weights) != len(biases):
        raise _bad_weights(
            f"There are weights for {len(weights)} layers and biases for {len(biases)}.",
            fix="Give one array of weights and one of biases for each layer.",
        )
    for t, (w, b) in enumerate(zip(weights, biases, strict=True)):
        if len(b) != w.shape[0] or (t and w.shape[1] != weights[t - 1].shape[0]):
            before = f" after a layer of {weights[t - 1].shape[0]} outputs" if t else ""
            raise _bad_weights(
                f"Layer {t + 1} has weights of shape {w.shape} and {len(b)} biases{before}.",
                fix="Weights have a row for each output and a column for each input (transpose scikit-learn's coefs_).",
            )
