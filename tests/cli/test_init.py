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
    assert "  applicant: {role: unused}  # different in every row" in text
    assert "Fill in 10 places marked FILL_IN, in 7 lines" in done.stdout
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


def test_options_are_compared_with_the_values(folder, call):
    for option, given, near in (("protected", "Female", "female"), ("favourable", "aproved", "approved")):
        answers = list(ANSWERS)
        answers[answers.index(f"--{option}") + 1] = given
        done = call("init", "loans.csv", "-o", "new.yaml", *answers)
        assert done.exit_code == 2
        assert f"--{option} is {given!r}" in done.stderr
        assert f"Did you mean {near!r}?" in done.stderr
        assert not (folder / "new.yaml").exists()


def test_values_that_are_numbers_are_written_as_numbers(folder, call):
    table = pd.read_csv("loans.csv", dtype={"applicant": str})
    table.assign(decision=(table["decision"] == "approved").astype(int)).to_csv("coded.csv", index=False)
    answers = ["1" if answer == "approved" else answer for answer in ANSWERS]
    assert call("init", "coded.csv", *answers).exit_code == 0
    text = (folder / "coded.yaml").read_text(encoding="utf-8").replace("role: FILL_IN", "role: actionable")
    assert parse_spec(text, folder=folder).schema.favourable == 1


def test_decimal_commas_are_found_and_said(folder, call):
    table = pd.read_csv("loans.csv", dtype=str)
    table["savings"] = table["savings"].str.replace(".", ",")
    table.to_csv("euro.csv", index=False, sep=";")
    done = call("init", "euro.csv", *ANSWERS)
    assert "Decimal commas in 'savings'" in done.stdout
    text = (folder / "euro.yaml").read_text(encoding="utf-8")
    assert "savings: {role: FILL_IN}  # continuous, " in text
    assert parse_spec(text.replace("role: FILL_IN", "role: actionable"), folder=folder).data.decimal == ","


def test_marks_for_thousands_are_not_taken_for_decimals(folder, call):
    table = pd.read_csv("loans.csv", dtype=str)
    table["savings"] = [f"{k % 7 + 1},000" for k in range(len(table))]
    table.to_csv("thousands.csv", index=False, sep=";")
    done = call("init", "thousands.csv", *ANSWERS)
    assert done.exit_code == 0
    assert "Decimal commas" not in done.stdout
    assert "decimal" not in (folder / "thousands.yaml").read_text(encoding="utf-8")


def test_a_word_among_numbers_is_said(folder, call):
    table = pd.read_csv("loans.csv", dtype=str)
    table.loc[7, "savings"] = "n/a"
    table.to_csv("words.csv", index=False)
    done = call("init", "words.csv", *ANSWERS)
    assert "savings: 159 of 160 cells are numbers, not n/a" in done.stdout
    assert "159 of 160 cells are numbers, not n/a" in (folder / "words.yaml").read_text(encoding="utf-8")


def test_errors_name_options_where_there_is_no_spec(folder, call):
    (folder / "west.csv").write_bytes("name,x\nJos\xe9,1\n".encode("latin-1"))
    for arguments, says in (
        (["nothing.csv"], "Check the path."),
        (["west.csv"], "Set --encoding, perhaps to cp1252"),
        ([".", "-o", "a.yaml"], "is a folder"),
        (["."], "is a folder"),
    ):
        done = call("init", *arguments)
        assert done.exit_code == 2
        assert says in done.stderr
        assert "in the spec" not in done.stderr


def test_an_id_that_names_two_people_is_refused(folder, call):
    table = pd.read_csv("loans.csv", dtype=str)
    pd.concat([table, table[:1]]).to_csv("twice.csv", index=False)
    done = call("init", "twice.csv", *ANSWERS)
    assert done.exit_code == 2
    assert "names two people, in lines 2 and 162" in done.stderr


@pytest.mark.parametrize("key", ["surrogate", "subgroups", "neighbourhood", "rules"])
def test_what_is_often_needed_stands_there_to_be_uncommented(folder, call, key):
    call("init", "loans.csv", "-o", "new.yaml", *ANSWERS)
    text = (folder / "new.yaml").read_text(encoding="utf-8").replace("role: FILL_IN", "role: actionable")
    assert f"\n# {key}: " in text
    parse_spec(text.replace(f"\n# {key}: ", f"\n{key}: "), folder=folder)
