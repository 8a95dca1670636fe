"""A booster without its classifier gives scores: it is refused, and the way that the error names works."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import ModelError
from equieffort.models.classifiers import Decision
from equieffort.models.files import load_model

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(120, 2)), columns=["a", "b"])
Y = (X["a"] + X["b"] > 0).astype(int)


def boosters() -> dict[str, Any]:
    plain = {"objective": "binary", "verbose": -1, "num_threads": 1}
    return {
        "lightgbm": lightgbm.train(plain, lightgbm.Dataset(X, Y), 5),
        "xgboost": xgboost.train({"objective": "binary:logistic", "nthread": 1}, xgboost.DMatrix(X, Y), 5),
    }


@pytest.mark.parametrize("library", ["lightgbm", "xgboost"])
def test_a_booster_is_refused_and_its_file_is_read(
    tmp_path: Path, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    booster = boosters()[library]
    people = X.assign(sex=np.where(np.arange(len(X)) % 2, "f", "m"))
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=1, features=unlimited({"a": "actionable", "b": "actionable"})
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["a", "b", "sex"]).fit(people)
    with pytest.raises(ModelError, match=rf"{library}\.Booster") as caught:
        ee.audit(booster, people, schema=schema, scm=scm, model_features=["a", "b"])
    assert caught.value.code == "MODEL_NO_PREDICT"
    # What the error says, done.
    (file,) = set(re.findall(r"'(model\.\w+)'", caught.value.fix))
    monkeypatch.chdir(tmp_path)
    booster.save_model(file)
    loaded = load_model(file)
    chance = booster.predict(X) if library == "lightgbm" else booster.predict(xgboost.DMatrix(X))
    assert Decision.of(loaded, 1, X).is_favourable(X).tolist() == (chance > 0.5).tolist()
    assert 0 < (chance > 0.5).mean() < 1
