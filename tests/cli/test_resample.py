"""`audit --resample`: what is drawn again is said, and what is missing for it is asked for."""

from __future__ import annotations

import json

import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression


@pytest.mark.parametrize("chance", ["equations", "procedure"])
def test_a_surrogate_is_trained_again(chance, folder, call):
    done = call("audit", "loans.yaml", "-o", "out", "--resample", chance, "--replicates", "10")
    assert done.exit_code in (0, 1, 4), done.output
    summary = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert {row["chance"] for row in summary["measures"]} == {"people", chance}
    words = {"equations": "learned equations", "procedure": "the trained model"}[chance]
    assert words in summary["verdict"]["text"]


def test_a_saved_model_is_trained_again_on_what_the_spec_names(folder, call):
    people = pd.read_csv(folder / "loans.csv", dtype={"applicant": str})
    skops.io.dump(LogisticRegression().fit(people[["income", "savings"]], people["decision"]), folder / "model.skops")
    text = (folder / "loans.yaml").read_text(encoding="utf-8").replace("{train: logistic}", "{path: model.skops}")
    (folder / "loans.yaml").write_text(text, encoding="utf-8")
    ask = ("audit", "loans.yaml", "-o", "out", "--resample", "procedure", "--replicates", "10")
    done = call(*ask)
    assert done.exit_code == 2
    assert "data: FILE, label: COLUMN" in done.stderr
    assert not (folder / "out.audit").exists()
    named = "{path: model.skops, data: loans.csv}"
    (folder / "loans.yaml").write_text(text.replace("{path: model.skops}", named), encoding="utf-8")
    done = call(*ask)
    assert done.exit_code in (0, 1, 4), done.output
    summary = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert {row["chance"] for row in summary["measures"]} == {"people", "procedure"}
