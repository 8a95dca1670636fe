"""The numbered cases of bad input that can reach the command line: exit code, stable code, and telling words."""

from __future__ import annotations

import csv
import zipfile

import joblib
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests.cli.conftest import SPEC, loans


def refused(call, code: str, *says: str, exit_code: int = 2) -> str:
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == exit_code, done.output
    assert f"Code: {code}" in done.stderr
    for words in says:
        assert words in done.stderr, done.stderr
    assert done.stdout == ""
    return done.stderr


def with_spec(folder, old: str, new: str) -> None:
    assert old in SPEC
    (folder / "loans.yaml").write_text(SPEC.replace(old, new), encoding="utf-8")


def test_case_01_empty_file(folder, call):
    (folder / "loans.csv").write_text("", encoding="utf-8")
    refused(call, "DATA_EMPTY", "loans.csv")


def test_case_01_header_only(folder, call):
    loans().head(0).to_csv(folder / "loans.csv", index=False)
    refused(call, "DATA_EMPTY", "loans.csv")


@pytest.mark.parametrize("keep", [0, 200])
def test_case_02_broken_parquet(folder, call, keep):
    loans().to_parquet(folder / "loans.parquet")
    content = (folder / "loans.parquet").read_bytes()
    (folder / "loans.parquet").write_bytes(content[:keep])
    with_spec(folder, "path: loans.csv", "path: loans.parquet")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "loans.parquet" in done.stderr


def test_case_03_not_utf8(folder, call):
    content = (folder / "loans.csv").read_bytes()
    at = content.index(b"cook")
    (folder / "loans.csv").write_bytes(content[:at] + b"caf\xe9" + content[at + 4 :])
    refused(call, "DATA_ENCODING", str(at + 3), "encoding")


def test_case_04_ragged(folder, call):
    lines = (folder / "loans.csv").read_text(encoding="utf-8").splitlines()
    lines[6] += ",surplus"
    (folder / "loans.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    refused(call, "DATA_RAGGED", "7")


def test_case_11_numbers_as_text(folder, call):
    people = loans().astype({"income": object})
    people.loc[3, "income"] = "1,000"
    people.to_csv(folder / "loans.csv", index=False)
    refused(call, "DATA_NOT_NUMERIC", "'1,000'", "features.income")


@pytest.mark.parametrize("name", ["NA", "None"])
def test_case_13_a_group_called_like_nothing(folder, call, name):
    people = loans()
    people["sex"] = people["sex"].replace("male", name)
    people.to_csv(folder / "loans.csv", index=False)
    with_spec(folder, "reference: male", f'reference: "{name}"')
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code in (0, 1), done.output
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        assert {row["group"] for row in csv.DictReader(file)} == {"female", name}


def test_case_14_ids_keep_their_zeros(folder, call):
    call("audit", "loans.yaml", "-o", "out")
    assert "Person 00007" in call("explain", "out.audit", "--row", "00007").stdout
    people = loans()
    people["applicant"] = [str(2**53 + 1 + k) for k in range(len(people))]
    people.to_csv(folder / "loans.csv", index=False)
    call("audit", "loans.yaml", "-o", "large")
    assert "Person 9007199254740993" in call("explain", "large.audit", "--row", "9007199254740993").stdout


def test_case_19_labels_that_look_alike(folder, call):
    people = loans()
    people.loc[0, "sex"] = "Female"
    people.to_csv(folder / "loans.csv", index=False)
    done = call("audit", "loans.yaml", "-o", "out")
    assert "DATA_SIMILAR_LABELS" in done.stderr
    assert "Female" in done.stderr


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.skops"])
def test_case_52_pickles_are_refused_whatever_they_are_called(folder, call, name):
    people = loans()
    joblib.dump(LogisticRegression().fit(people[["income"]], people["decision"]), folder / name)
    with_spec(folder, "train: logistic", f"path: {name}")
    refused(call, "MODEL_PICKLE", name, "skops")


def test_case_53_untrusted_types_are_listed(folder, call):
    import skops.io as skops
    from sklearn.ensemble import RandomForestClassifier

    people = loans()
    skops.dump(RandomForestClassifier(2).fit(people[["income"]], people["decision"]), folder / "model.skops")
    with_spec(folder, "train: logistic", "path: model.skops")
    refused(call, "MODEL_UNTRUSTED", "sklearn.tree._tree.Tree")
    assert zipfile.is_zipfile(folder / "model.skops")


def test_case_54_unknown_key(folder, call):
    with_spec(folder, "max_increase: 20", "max_incraese: 20")
    refused(call, "SPEC_KEY", "line 8", "Did you mean 'max_increase'?")


@pytest.mark.parametrize(
    ("new", "says"), [("protected: NO", "quotes"), ("protected: !!python/object/apply:os.getcwd []", "line 5")]
)
def test_case_55_yaml_traps(folder, call, new, says):
    with_spec(folder, "protected: female", new)
    refused(call, "SPEC_YAML", "line 5", says)


def test_case_56_markup_is_text(folder, call):
    people = loans().rename(columns={"savings": "<script>alert(1)</script>"})
    people.to_csv(folder / "loans.csv", index=False)
    text = SPEC.replace("  savings:", '  "<script>alert(1)</script>":').replace(
        "savings]", '"<script>alert(1)</script>"]'
    )
    (folder / "loans.yaml").write_text(text, encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code in (0, 1), done.output
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_case_57_formulas_are_neutralised(folder, call):
    people = loans()
    people["applicant"] = ["=1+1", "+2", "-3", "@sum", *people["applicant"][4:]]
    people.to_csv(folder / "loans.csv", index=False)
    done = call("audit", "loans.yaml", "-o", "out")
    assert done.exit_code in (0, 1), done.output
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        first = [next(iter(row.values())) for row in csv.DictReader(file)][:4]
    assert first == ["'=1+1", "'+2", "'-3", "'@sum"]


def test_case_60_small_cells_are_hidden(folder, call):
    people = loans()
    shown = pd.concat([people[people["sex"] == "male"], people[people["sex"] == "female"].head(9)])
    shown.to_csv(folder / "loans.csv", index=False)
    call("audit", "loans.yaml", "-o", "out")
    done = call("report", "out.audit", "-o", "shared.html", "--suppress-below", "20")
    assert done.exit_code == 0, done.output
    assert "&lt;20" in (folder / "shared.html").read_text(encoding="utf-8")


def written(folder, form) -> None:
    """Incomes written as somebody might, with a role but no limits."""
    people = loans()
    people["income"] = [form(value) for value in people["income"]]
    people.to_csv(folder / "loans.csv", index=False)
    with_spec(folder, "{role: actionable, max_increase: 20, upper: 90}", "{role: actionable}")


@pytest.mark.parametrize(
    "form",
    [
        lambda value: f"+{value}",
        lambda value: f"{value:+}",
        lambda value: f"\u00a0{value}\u00a0",
    ],
    ids=["plus", "signs", "no-break spaces"],
)
def test_case_67_numbers_whose_meaning_is_certain_are_read(folder, call, form):
    with_spec(folder, "{role: actionable, max_increase: 20, upper: 90}", "{role: actionable}")
    plain = call("audit", "loans.yaml", "-o", "plain")
    written(folder, form)
    odd = call("audit", "loans.yaml", "-o", "odd")
    assert odd.exit_code == plain.exit_code
    assert "DATA_NOT_NUMERIC" not in odd.stderr
    assert pd.read_csv("odd.csv").equals(pd.read_csv("plain.csv"))


@pytest.mark.parametrize(
    ("form", "cell"),
    [
        (lambda value: f"{value} %", "37 %"),
        (lambda value: f"${value}", "$37"),
        (lambda value: f"{value}\u00a0€", "37\\xa0€"),
        (lambda value: f"({value})", "(37)"),
        (lambda value: f"{value} kg", "37 kg"),
        (lambda value: f"{value},000", "37,000"),
        (lambda value: f"USD {value}", "USD 37"),
        (lambda value: f"{value + 2**53}", "9007199254741029"),
    ],
    ids=["percent", "dollar", "euro", "brackets", "unit", "comma", "code", "too long"],
)
def test_case_67_numbers_in_doubt_are_never_silently_a_category(folder, call, form, cell):
    written(folder, form)
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert "Traceback" not in done.output
    said = [line for line in done.stderr.splitlines() if "DATA_NOT_NUMERIC" in line]
    assert len(said) == 1
    assert "features.income holds text" in said[0]
    assert repr(cell).replace("\\\\", "\\") in said[0]
    # With limits the column must be numbers.
    with_spec(folder, "max_increase: 20", "max_increase: 21")
    refused(call, "DATA_NOT_NUMERIC", "features.income")
    assert (
        "income: holds text, although 160 of 160 cells look like numbers"
        in call("init", "loans.csv", "-o", "new.yaml").stdout
    )


def test_case_67_many_words_among_many_numbers_are_said_too(folder, call):
    written(folder, lambda value: "unknown" if value % 4 == 0 else f"{value}")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert "features.income holds text" in done.stderr
    assert "'unknown'" in done.stderr
