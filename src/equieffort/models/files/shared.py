"""What the readers of model files share: optional libraries, errors about files, and the base of their classifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from equieffort.data.frames import Floats
from equieffort.errors import ModelError, ParameterError, listed, sentence, warn

bad_file = partial(ModelError, "MODEL_FILE")
"""The error for a file that gives no model."""


def need(module: str, extra: str, path: Path) -> Any:
    """A library that only some installations have.

    >>> need("no_such_library", "onnx", Path("model.onnx"))
    Traceback (most recent call last):
    equieffort.errors.ParameterError: Reading 'model.onnx' needs the package no_such_library, ...
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ParameterError(
            "OPTIONAL_DEPENDENCY",
            f"Reading {path.name!r} needs the package {module}, which cannot be imported here: {sentence(error)}",
            fix=f"Run pip install 'equieffort[{extra}]'.",
        ) from error


def broken(path: Path, kind: str, why: object) -> ModelError:
    """The error for a file that is not what its name says, or not all of it."""
    return bad_file(
        f"{path.name!r} is not a complete {kind} file: {sentence(why)}",
        fix="Save the model again and copy the file whole.",
    )


def require(holds: object, why: str) -> None:
    """Refuse what a file holds; readers turn the ValueError into words about the file."""
    if not holds:
        raise ValueError(why)


def other_version(path: Path, library: str, saved: str, here: str) -> None:
    """Warn that the library which saved a model is not the one that reads it."""
    warn(
        "MODEL_VERSION",
        f"{path.name!r} was saved by {library} {saved}, and is read by {here}.",
        fix=f"Read it with {library} {saved}, or save it again with {here}.",
    )


class Labels:
    """Base of the classifiers read from files: columns by name from a table, or by position from an array.

    `feature_names_in_` and `classes_` exist only where known, `predict_proba` only where the file gives probabilities.
    """

    told_as: ClassVar[str]
    """What people read of it as."""

    feature_names_in_: np.ndarray[Any, Any]
    classes_: np.ndarray[Any, Any]
    predict_proba: Callable[[Any], np.ndarray[Any, Any]]

    def __init__(
        self,
        own: Any,
        names: Sequence[str] | None,
        width: int,
        classes: Sequence[Any] | None,
        levels: Mapping[int, Sequence[str]] | None = None,
        *,
        probable: bool,
    ) -> None:
        self.own, self.n_features_in_ = own, width
        """What the library made of the file, and how many columns it takes."""
        self.levels = {column: tuple(known) for column, known in (levels or {}).items()}
        """For each column of text: what it may say, in the order of its codes."""
        if names is not None:
            self.feature_names_in_ = np.array(list(names), dtype=object)
        if classes is not None:
            self.classes_ = np.array(list(classes))
        if probable:
            self.predict_proba = self._chances

    def _chances(self, X: Any) -> np.ndarray[Any, Any]:
        raise NotImplementedError

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
