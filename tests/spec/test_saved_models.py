"""Keys for saved models: the columns a nameless model sees, and types an auditor vouches for."""

from __future__ import annotations

import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from equieffort.datasets import german_credit
from equieffort.errors import EquieffortError
from equieffort.spec import parse_spec, read_spec
from equieffort.spec.runs import run_spec

TEXT = """
data: {path: people.csv, id: person}
model: {path: model.skops%s}
outcome: {column: decision, favourable: good}
sensitive: {column: sex, protected: female}
also_protected: []
graph: []
features:
  age: {role: actionable, direction: up}
  amount: actionable
"""


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_model_without_names_is_told_its_columns(tmp_path):
    people, risk = german_credit("paper")
    # Fitted on a bare array, so the file does not know which column is which.
    model = LogisticRegression().fit(people[["amount", "age"]].to_numpy(), risk)
    skops.io.dump(model, tmp_path / "model.skops")
    people.assign(decision=risk).to_csv(tmp_path / "people.csv", index_label="person")
    (tmp_path / "audit.yaml").write_text(TEXT % ", features: [amount, age]", encoding="utf-8")
    audit = run_spec(read_spec(tmp_path / "audit.yaml"))
    expected = (model.predict(people[["amount", "age"]].to_numpy()) == "bad").sum()
    assert int(audit.recourse.is_unfavourable.sum()) == expected
    (tmp_path / "audit.yaml").write_text(TEXT % "", encoding="utf-8")
    with pytest.raises(EquieffortError, match="fitted without column names"):
        run_spec(read_spec(tmp_path / "audit.yaml"))


def test_trusted_types_are_kept(tmp_path):
    spec = parse_spec(TEXT % ", trusted: [sklearn.tree._tree.Tree]", folder=tmp_path)
    assert spec.model.trusted == ("sklearn.tree._tree.Tree",)
    assert spec.schema.also_protected == ()


def test_what_a_model_was_trained_on_is_kept(tmp_path):
    spec = parse_spec(TEXT % ", data: old.csv, label: y", folder=tmp_path)
    assert spec.model.data is not None
    assert spec.model.data.path == tmp_path / "old.csv"
    assert spec.model.label == "y"
    assert parse_spec(TEXT % ", data: old.csv", folder=tmp_path).model.label == "decision"
    with pytest.raises(EquieffortError, match=r"names a column of `model\.data`"):
        parse_spec(TEXT % ", label: y", folder=tmp_path)


@pytest.mark.parametrize("key", ["features: [age]", "trusted: [x.Y]"])
def test_they_need_a_saved_model(tmp_path, key):
    text = (TEXT % "").replace("{path: model.skops}", f"{{train: logistic, {key}}}")
    with pytest.raises(EquieffortError, match="is about a saved model") as caught:
        parse_spec(text, folder=tmp_path)
    assert caught.value.code == "SPEC_VALUE"
