"""The examples of docs/scale.md run, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import equieffort as ee

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"


@pytest.mark.usefixtures("quiet")
def test_the_examples_run(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    X, y = ee.datasets.german_credit(columns="paper")
    X = X.astype({"sex": "object"})
    clf = LogisticRegression(max_iter=500).fit(X[["age", "amount", "duration"]], y)
    features = {"age": ee.Feature("actionable", direction="up"), "amount": "actionable", "duration": "mutable"}
    schema = ee.Schema(sensitive="sex", protected="female", favourable="good", features=features)
    scm = ee.StructuralCausalModel([("amount", "duration")]).fit(X)
    (tmp_path / "people").mkdir()
    pd.DataFrame(X).to_parquet("people/a.parquet", row_group_size=400, index=False)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.S)
    assert len(blocks) == 5
    known = {"ee": ee, "clf": clf, "X": X, "schema": schema, "scm": scm}
    audits = []
    for block in blocks:
        exec(block.replace("n_jobs=4", "n_jobs=2"), known)
        audits.append(known["audit"])
    for other in audits[1:]:
        pd.testing.assert_frame_equal(audits[0].measures, other.measures, check_exact=True)
    assert known["refused"].num_rows == len(X)
