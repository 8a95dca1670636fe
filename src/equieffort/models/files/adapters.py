"""What the adapters share: columns by name from a table, or by position from an array, as a matrix."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.errors import listed


class Labels:
    """Base of the classifiers read from files.

    `feature_names_in_` and `classes_` exist only where known, `predict_proba` only where the file gives probabilities.
    """

    feature_names_in_: np.ndarray[Any, Any]
    classes_: np.ndarray[Any, Any]
    predict_proba: Callable[[Any], np.ndarray[Any, Any]]

    def __init__(
        self,
        names: Sequence[str] | None,
        width: int,
        classes: Sequence[Any] | None,
        levels: Mapping[int, Sequence[str]] | None = None,
    ) -> None:
        self.n_features_in_ = width
        self.levels = {column: tuple(known) for column, known in (levels or {}).items()}
        """For each column of text: what it may say, in the order of its codes."""
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
        """The model's columns as numbers: text as its codes, what is missing as nan."""
        return np.column_stack([self._numbers(k, column) for k, column in enumerate(self.columns(X))])

    def _numbers(self, k: int, column: np.ndarray[Any, Any]) -> Floats:
        if k not in self.levels:
            return np.asarray(column, dtype=np.float64)
        code = {level: float(place) for place, level in enumerate(self.levels[k])}
        present = column[~pd.isna(column)].tolist()
        if unknown := sorted({str(value) for value in present if value not in code}):
            # The libraries take these for missing, without a word.
            name = getattr(self, "feature_names_in_", range(self.n_features_in_))[k]
            raise ValueError(f"unknown categories {listed(unknown)} in {name!r}; it knows {listed(self.levels[k])}")
        return np.array([code.get(value, np.nan) for value in column.tolist()], dtype=np.float64)
