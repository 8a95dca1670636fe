"""A model that knows categories by their type gets counterfactual people with that type."""

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from tests.limits import unlimited

import equieffort as ee

MODELS = {
    "xgboost": lambda: xgboost.XGBClassifier(n_estimators=8, max_depth=3, enable_categorical=True),
    "lightgbm": lambda: lightgbm.LGBMClassifier(n_estimators=8, min_child_samples=5, verbose=-1),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_change_of_job_is_replayed(name):
    rng = np.random.default_rng(0)
    n = 120
    X = pd.DataFrame({"x": rng.normal(size=n), "job": pd.Categorical(rng.choice(["a", "b", "c"], n))})
    clf = MODELS[name]().fit(X, (X["x"] + (X["job"] == "b") * 1.5 > 1).astype(int))
    people = X.assign(sex=np.where(np.arange(n) % 2, "f", "m"))
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=1,
        features=unlimited({"x": "actionable", "job": ee.Feature("actionable", weight=0.05)}),
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=list(people.columns)).fit(people)
    audit = ee.audit(clf, people, schema=schema, scm=scm)
    table = audit.recourse.frame()
    assert table["do_job"].notna().any()
    assert (table["status"] != "unknown").all()
    after = audit.recourse.counterfactuals()
    assert isinstance(after["job"].dtype, pd.CategoricalDtype)
    assert (clf.predict(after[["x", "job"]]) == 1).all()
