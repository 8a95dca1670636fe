"""XGBoost: JSON and its binary form, checked whole: the library itself may crash on what is not as it should be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from equieffort.errors import listed
from equieffort.models.files import ubjson
from equieffort.models.files.pickles import disguised
from equieffort.models.files.probe import probe
from equieffort.models.files.shared import Labels, bad_file, broken, need, other_version
from equieffort.models.files.xgboost_checks import check_learner, check_version, find_levels

PROBABLE = ("binary:logistic", "multi:softprob", "multi:softmax")
OBJECTIVES = (*PROBABLE, "binary:hinge")


class XgboostLabels(Labels):
    """The labels 0, 1, ... that XGBoost's own classifier gives, and its probabilities where its objective has them."""

    told_as = "XGBoost model"

    def predict(self, X: Any) -> np.ndarray[Any, Any]:
        """One label a row."""
        return np.asarray(self.own.predict(self._table(X)))

    def _chances(self, X: Any) -> np.ndarray[Any, Any]:
        return np.asarray(self.own.predict_proba(self._table(X)))

    def _table(self, X: Any) -> Any:
        """The model's columns, with names where it has them, and text as categories in the order of their codes."""
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            return self.matrix(X)
        table = pd.DataFrame(self.matrix(X), columns=names)
        for k, known in self.levels.items():
            codes = table[names[k]].fillna(-1).astype(int)
            table[names[k]] = pd.Categorical.from_codes(codes, categories=pd.Index(known))
        return table


def read_xgboost(data: bytes, path: Path) -> XgboostLabels:
    """The classifier in a model file that XGBoost saved."""
    content = _decoded(data, path)
    try:
        learner = content["learner"]
        objective = str(learner["objective"]["name"])
    except (KeyError, TypeError, IndexError) as error:
        raise broken(path, "XGBoost", "it names no learner and objective") from error
    if objective not in OBJECTIVES:
        raise bad_file(
            f"{path.name!r} has the objective {objective!r}, which gives no labels.",
            fix=f"Train a classifier; these objectives have labels: {listed(OBJECTIVES)}.",
        )
    try:
        check_version(content)
        names, width, n_classes = check_learner(learner)
        levels = find_levels(learner, names, width)
    except (KeyError, TypeError, ValueError, IndexError, OverflowError, AttributeError) as error:
        raise broken(path, "XGBoost", f"{type(error).__name__}: {error}") from error
    if levels is None:
        raise bad_file(
            f"{path.name!r} splits on categories and does not hold their text, so that their codes are not known.",
            fix="Only text in ASCII can be read (other letters XGBoost cuts off when it saves), from files of XGBoost "
            "3.1 or later. Else encode the categories in a scikit-learn pipeline, and save it as .skops or .onnx.",
        )
    xgboost = need("xgboost", "xgboost", path)
    probe("xgboost", data, path, library=xgboost.core._LIB._name, width=width)
    classifier = xgboost.XGBClassifier(enable_categorical=True) if levels else xgboost.XGBClassifier()
    try:
        classifier.load_model(bytearray(data))
    except Exception as error:
        raise broken(path, "XGBoost", str(error).strip().split("\n")[0]) from error
    saved = ".".join(map(str, content.get("version", ())))
    if saved and saved != xgboost.__version__:
        other_version(path, "xgboost", saved, xgboost.__version__)
    return XgboostLabels(classifier, names, width, range(n_classes), levels, probable=objective in PROBABLE)


def _decoded(data: bytes, path: Path) -> Any:
    if data[:1] != b"{":
        raise disguised(data, path) or broken(path, "XGBoost", "it does not begin with a brace")
    try:
        # After the brace JSON has a quote or a space, and the binary form the kind of a length.
        return (
            ubjson.decode(data) if data[1:2] in (*ubjson.NUMBERS, b"}") else json.loads(data, object_pairs_hook=_once)
        )
    except (ValueError, RecursionError) as error:
        raise broken(path, "XGBoost", error) from error


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON; with a key twice, what was checked here might not be what the library reads."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key occurs twice")
    return found
