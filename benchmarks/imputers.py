"""How many refused people are left unproven where the model stands behind an imputer: German credit, a tenth of some
columns empty, six kinds of models, with and without an indicator of what was missing.

    python -m benchmarks.imputers
"""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import equieffort as ee

NUMBERS, CATEGORIES = ["age", "amount", "duration", "installment_rate"], ["housing", "job", "savings"]
MODELS: dict[str, Any] = {
    "logistic": LogisticRegression(max_iter=2000),
    "one-vs-rest": OneVsRestClassifier(LogisticRegression(max_iter=2000)),
    "forest": RandomForestClassifier(50, max_depth=6, random_state=0, n_jobs=1),
    "boosted": GradientBoostingClassifier(n_estimators=50, random_state=0),
    "hist_boosted": HistGradientBoostingClassifier(max_iter=50, random_state=0),
    "network": MLPClassifier((10,), max_iter=500, random_state=0),
}


def table() -> tuple[pd.DataFrame, pd.Series]:
    """The people, of whom many lack the duration, the rate, the job or the savings."""
    X, y = ee.datasets.german_credit()
    X = X[["sex", *NUMBERS, *CATEGORIES]].astype(dict.fromkeys(NUMBERS, float))
    rng = np.random.default_rng(0)
    for name, share in {"duration": 0.1, "installment_rate": 0.1, "job": 0.05, "savings": 0.05}.items():
        X.loc[rng.random(len(X)) < share, name] = np.nan
    return X, y


def pipeline(model: Any, indicator: bool) -> Any:
    """Imputers, an encoder and a scaler in front of the model."""
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=indicator), StandardScaler())
    encode = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    categories = make_pipeline(SimpleImputer(strategy="most_frequent"), encode)
    return make_pipeline(
        make_column_transformer((numbers, NUMBERS), (categories, CATEGORIES)), VarianceThreshold(), model
    )


def main() -> None:
    """A line a model."""
    warnings.simplefilter("ignore")
    X, y = table()
    features = {
        "age": ee.Feature("actionable", direction="up", upper=75),
        "amount": ee.Feature("actionable", lower=250),
        "housing": "actionable",
    }
    schema = ee.Schema(sensitive="sex", protected="female", favourable="good", features=features)
    print(
        f"{'model':14}{'indicator':>10}{'refused':>9}{'lack a value':>14}{'unproven':>10}{'of these':>10}{'CPU s':>8}"
    )
    for indicator in (False, True):
        for name, model in MODELS.items():
            fitted = pipeline(model, indicator).fit(X[[*NUMBERS, *CATEGORIES]], y)
            start = time.process_time()
            audit = ee.audit(fitted, X, schema=schema, scm=[("age", "amount")], missing="model", progress=False)
            spent = time.process_time() - start
            told = audit.recourse.frame()["status"]
            refused, open_ = told != "not_needed", ~told.isin(["optimal", "infeasible", "not_needed"])
            lacks = X.isna().any(axis=1)
            of_these = (open_ & lacks).sum() / max((refused & lacks).sum(), 1)
            print(
                f"{name:14}{'yes' if indicator else 'no':>10}{refused.sum():>9}{(refused & lacks).sum():>14}"
                f"{open_.sum() / refused.sum():>10.1%}{of_these:>10.1%}{spent:>8.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
