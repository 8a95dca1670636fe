"""What the adapters share: columns by name from a table, or by position from an array, as a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import listed
from equieffort.frames import Floats


class Labels:
    """Base of the classifiers read from files.

    `feature_names_in_` and `classes_` exist only where known, `predict_proba` only where the file gives probabilities.
    """

    feature_names_in_: np.ndarray[Any, Any]
    classes_: np.ndarray[Any, Any]
    predict_proba: Callable[[Any], np.ndarray[Any, Any]]

    def __init__(self, names: Sequence[str] | None, width: int, classes: Sequence[Any] | None) -> None:
        self.n_features_in_ = width
        if names is not None:
            self.feature_names_in_ = np.array(list(names), dtype=object)
        if classes is not None:
            self.classes_ = np.array(list(classes))

    def columns(self, X: Any) -> list[np.ndarray[Any, Any]]:
        """The model's columns in its order."""
        names = getattr(self, "feature_names_in_", None)
        if isinstance(X, pd.DataFrame) and names is not None:
            if absent := [name for name in names if name not in X.columns]:
                raise ValueError(f"the model has columns {listed(absent)}, which the table has not")
            return [X[name].to_numpy() for name in names]
        array = X.to_numpy() if isinstance(X, pd.DataFrame) else np.asarray(X)
        if array.ndim != 2 or array.shape[1] != self.n_features_in_:
            raise ValueError(f"the model has {self.n_features_in_} columns, but got an array of shape {array.shape}")
        return [array[:, k] for k in range(self.n_features_in_)]

    def matrix(self, X: Any) -> Floats:
        """The model's columns as numbers."""
        return np.column_stack([np.asarray(column, dtype=np.float64) for column in self.columns(X)])
