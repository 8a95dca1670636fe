"""The levels that a fitted classifier knows of its categories, where it says so.

scikit-learn's encoders, also those inside HistGradientBoosting, LightGBM's and XGBoost's own categories, and models
from files. Only what gets the table's own values counts: of what earlier steps make of them nothing is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from equieffort.foundations.arguments import as_plain
from equieffort.models.classifiers.decision import Decision, encoded_levels, first_steps

INNER = ("estimator_", "best_estimator_", "estimator")
"""Where wrappers keep the classifier that they ask."""


def known_levels(decision: Decision, frame: pd.DataFrame) -> dict[str, tuple[Any, ...]]:
    """By column: the levels that the model knows; columns of which it does not say are left out.

    A column that reaches several encoders has the levels that all of them know.
    """
    found: dict[str, tuple[Any, ...]] = {}
    for name, levels in _told(decision.classifier, decision, frame):
        present = tuple(dict.fromkeys(as_plain(level) for level in levels if not _is_missing(level)))
        found[name] = tuple(level for level in found[name] if level in present) if name in found else present
    return found


Told = Iterator[tuple[str, Any]]


def _told(classifier: Any, decision: Decision, frame: pd.DataFrame) -> Told:
    filled: set[Any] = set()
    for step, names in first_steps(classifier):
        if type(step).__name__ == "SimpleImputer" and step.strategy == "constant":
            # What stands for a missing value is no level that anybody could be told to reach.
            filled |= {as_plain(value) for value in step.statistics_}
        for name, levels in _told_by(step, names, decision, frame):
            met = frame[name].unique().tolist() if filled and name in frame else []
            yield name, [level for level in levels if as_plain(level) not in filled.difference(met)]


def _told_by(step: Any, names: Sequence[str] | None, decision: Decision, frame: pd.DataFrame) -> Told:
    if known := encoded_levels(step, names):
        yield from known
    elif getattr(step, "_preprocessor", None) is not None and hasattr(step, "is_categorical_"):
        yield from _of_histograms(step, decision)
    elif isinstance(getattr(step, "levels", None), dict) and type(step).__module__.startswith("equieffort."):
        names = [str(name) for name in getattr(step, "feature_names_in_", decision.own)]
        yield from ((names[k], levels) for k, levels in step.levels.items())
    elif type(step).__module__.startswith("lightgbm.") and hasattr(step, "booster_"):
        yield from _of_lightgbm(step, decision, frame)
    elif type(step).__module__.startswith("xgboost.") and hasattr(step, "get_booster"):
        yield from _of_xgboost(step, decision)
    elif hasattr(step, "calibrated_classifiers_"):
        for member in step.calibrated_classifiers_:
            yield from _told(member.estimator, decision, frame)
    else:
        for inner in (getattr(step, name, None) for name in INNER):
            if inner is not None and hasattr(inner, "predict"):
                yield from _told(inner, decision, frame)
                return


def _of_histograms(step: Any, decision: Decision) -> Told:
    """HistGradientBoosting encodes its categories itself."""
    own = np.asarray(getattr(step, "feature_names_in_", decision.own))[step.is_categorical_]
    encoder = step._preprocessor.named_transformers_.get("encoder")
    yield from zip(map(str, own), getattr(encoder, "categories_", ()), strict=False)


def _of_lightgbm(step: Any, decision: Decision, frame: pd.DataFrame) -> Told:
    """LightGBM keeps the levels of its columns of type `category` in their order, without their names."""
    known = getattr(step.booster_, "pandas_categorical", None) or []
    own = [name for name in decision.own if name in frame and isinstance(frame[name].dtype, pd.CategoricalDtype)]
    if len(own) == len(known):
        yield from zip(own, known, strict=True)


def _of_xgboost(step: Any, decision: Decision) -> Told:
    """XGBoost keeps the levels in its model since version 3.1."""
    from equieffort.models.classifiers.xgboost_trees import category_names

    learner = json.loads(bytes(step.get_booster().save_raw("json")))["learner"]
    for k, names in category_names(learner).items():
        if k < len(decision.own):
            yield decision.own[k], names


def _is_missing(level: Any) -> bool:
    return level is None or (isinstance(level, float | np.floating) and bool(np.isnan(level))) or level is pd.NA
