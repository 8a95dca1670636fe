"""`equieffort init` writes specs that can be filled in and run; it guesses nothing sensitive."""

from __future__ import annotations

import json

import pandas as pd
import pytest

from equieffort.cli.init import Answers, draft, word
from equieffort.spec import parse_spec, read_spec

ANSWERS = ["--id", "applicant", "--outcome", "decision", "--favourable", "approved"]
ANSWERS += ["--sensitive", "sex", "--protected", "female", "--reference", "male"]


def test_nothing_sensitive_is_guessed(folder, call):
    done = call("init", "loans.csv", "-o", "new.yaml")
    assert done.exit_code == 0, done.output
    text = (folder / "new.yaml").read_text(encoding="utf-8")
    assert "sensitive: {column: FILL_IN, protected: FILL_IN, reference: FILL_IN}" in text
    assert "outcome: {column: FILL_IN, favourable: FILL_IN}" in text
    assert "# id: applicant  # different in every row" in text
    assert "#   sex: female, male" in text
    assert "income: {role: FILL_IN}  # integer, " in text
    assert "job: {role: FILL_IN}  # categorical: cook, smith" in text
    done = call("audit", "new.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "SPEC_UNFILLED" in done.stderr
    assert "(sensitive)" in done.stderr


def test_what_was_said_is_not_asked_again(folder, call):
    call("init", "loans.csv", "-o", "new.yaml", *ANSWERS)
    text = (folder / "new.yaml").read_text(encoding="utf-8")
    assert text.count("FILL_IN") == 1 + 3, "the heading and three roles"
    filled = text.replace("role: FILL_IN", "role: actionable")
    (folder / "new.yaml").write_text(filled, encoding="utf-8")
    spec = read_spec(folder / "new.yaml")
    assert spec.schema.sensitive_columns == ("sex",)
    assert spec.data.id == "applicant"
    assert spec.features == ["income", "savings", "job"]
    done = call("audit", "new.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 0, done.output


def test_a_spec_is_not_overwritten_by_chance(folder, call):
    done = call("init", "loans.csv")
    assert done.exit_code == 2
    assert "'loans.yaml' exists already" in done.stderr
    assert call("init", "loans.csv", "--force").exit_code == 0


def test_the_path_is_relative_to_the_spec(folder, call):
    (folder / "specs").mkdir()
    call("init", "loans.csv", "-o", "specs/new.yaml", *ANSWERS)
    text = (folder / "specs" / "new.yaml").read_text(encoding="utf-8")
    assert "path: " in text
    (folder / "specs" / "new.yaml").write_text(text.replace("role: FILL_IN", "role: actionable"), encoding="utf-8")
    assert read_spec(folder / "specs" / "new.yaml").data.path.resolve() == (folder / "loans.csv").resolve()


@pytest.mark.parametrize("mark", [";", "\t", "|"])
def test_other_delimiters_are_found(folder, call, mark):
    pd.read_csv("loans.csv", dtype=str).to_csv("other.csv", index=False, sep=mark)
    assert call("init", "other.csv", *ANSWERS).exit_code == 0
    text = (folder / "other.yaml").read_text(encoding="utf-8")
    assert parse_spec(text.replace("role: FILL_IN", "role: actionable"), folder=folder).data.delimiter == mark


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing.csv"], "nothing.csv"),
        (["loans.csv", "-o", "a.yaml", "--sensitive", "sexx"], "Did you mean 'sex'?"),
        (["loans.csv", "-o", "no/a.yaml"], "does not exist"),
    ],
)
def test_bad_input(folder, call, arguments, says):
    done = call("init", *arguments)
    assert done.exit_code == 2
    assert says in done.stderr
    assert not (folder / "a.yaml").exists()


HOSTILE = [
    "NO",
    "on",
    "1e3",
    "a: b",
    "#x",
    "{}",
    "-",
    "é ü",
    "\x85line",
    "\u2028line",
    'q"uote',
    "tab\there",
    "🦊",
    "x\n",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_values_come_back_from_the_spec(text, tmp_path):
    table = pd.DataFrame({text: ["p", "q"] * 5, "y": ["yes", "no"] * 5, "z": [text, "other"] * 5, "w": [1, 2] * 5})
    answers = Answers(outcome="y", favourable="yes", sensitive="z", protected=text, reference="other")
    made = draft(table, "a.csv", answers, "a.yaml").replace("role: FILL_IN", "role: actionable")
    spec = parse_spec(made, folder=tmp_path)
    assert spec.schema.protected == text
    assert text in spec.schema.features


def test_words_are_quoted_where_programs_differ():
    assert [word(v) for v in ("a_b", "no", "12", "", 1.5, True)] == ["a_b", '"no"', '"12"', '""', "1.5", "true"]


def test_schema_prints_json(call):
    told = json.loads(call("schema").stdout)
    assert "properties" in told
