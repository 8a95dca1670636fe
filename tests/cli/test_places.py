"""What is wrong is told with its place in the spec, in words of ours, and before anything long is begun."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.cli.usage import told
from equieffort.errors import EquieffortError

JOB, INCOME, GRAPH = "job: {role: immutable}", "{role: actionable, max_increase: 20, upper: 90}", "[[income, savings]]"
DATA = "data: {path: loans.csv, id: applicant}"


@pytest.mark.parametrize(
    ("old", "new", "at", "says"),
    [
        (JOB, "job: {role: actionable, prices: [[smith, smithh, 2.0]]}", "features.job:", "Did you mean 'smith'?"),
        (INCOME, "{role: actionable, steps: true}", "features.income:", "numbers are ordered by themselves"),
        ("loans.csv", "loan.csv", "data.path:", "cannot be read"),
        (DATA, "data: loans.yaml", "data.path:", "neither CSV nor Parquet"),
        ("{train: logistic}", "{path: m.skops}", "model.path:", "cannot be read"),
        ("{train: logistic}", "loans.csv", "model.path:", "is not a model file"),
        (f"graph: {GRAPH}", f"graph: {{edges: {GRAPH}, data: g.csv}}", "graph.data:", "Check the path; it starts from"),
    ],
)
def test_the_line_is_named(folder, call, old, new, at, says):
    text = (folder / "loans.yaml").read_text(encoding="utf-8")
    assert old in text
    line = next(k for k, one in enumerate(text.splitlines(), 1) if old in one)
    (folder / "loans.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "out", "--dry-run")
    assert done.exit_code == 2
    assert f"loans.yaml, line {line}, column " in done.stderr
    assert at in done.stderr
    assert says in done.stderr
    assert "Check data.path" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("verify", "a.audit", "--model", "m", "--data", "d", "--oracle", "milpp"), "Did you mean 'milp'?"),
        (("explain", "a.audit", "--row", "1", "--alternatives", "0"), "--alternatives"),
        (("explain", "a.audit", "--row", "1", "--alternatives", "many"), "--alternatives"),
    ],
)
def test_options_are_told_in_our_words(call, arguments, says):
    done = call(*arguments)
    assert done.exit_code == 2
    assert says in done.stderr
    assert "Value error" not in done.stderr
    assert "Input should" not in done.stderr


def test_words_of_libraries_that_are_not_known_stay():
    assert told("Input should be less than or equal to 9") == "it must be 9 or less."
    assert told("Input should be a valid number, unable to parse string as a number") == "it must be a number."
    assert told("0 is not in the range x>=1.") == "0 is not in the range x>=1."


def test_the_folder_of_the_outputs_is_made_by_an_audit_and_not_by_a_dry_run(folder, call):
    assert call("audit", "loans.yaml", "-o", "new/deep/out", "--dry-run").exit_code == 0
    assert not (folder / "new").exists()
    assert call("audit", "loans.yaml", "-o", "new/deep/out").exit_code in (0, 1, 4)
    assert (folder / "new" / "deep" / "out.audit").is_file()


@pytest.fixture
def holes(folder, call):
    """An audit in which people are counted: one left for want of a number, of one the group is not known."""
    table = pd.read_csv(folder / "loans.csv").drop(columns="applicant")
    table["income"] = table["income"].astype(float)
    table.loc[3, "income"], table.loc[5, "sex"] = np.nan, None
    table.to_csv(folder / "loans.csv", index=False)
    text = (folder / "loans.yaml").read_text(encoding="utf-8").replace("id: applicant", "missing: drop")
    (folder / "loans.yaml").write_text(text, encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "out").exit_code in (0, 1, 4)
    return table


def test_somebody_who_left_is_told_so(holes, call):
    done = call("explain", "out.audit", "--row", 3)
    assert "'3' left the audit: no value of 'income' is known." in done.stderr
    assert "Code: DATA_LEFT_OUT" in done.stderr
    assert "is nobody's number" in call("explain", "out.audit", "--row", 900).stderr


def test_an_empty_cell_is_called_that_when_data_are_compared(holes, folder, call):
    pytest.importorskip("skops")
    changed = holes.copy()
    changed.loc[0, "sex"] = None
    changed.to_csv(folder / "other.csv", index=False)
    done = call("verify", "out.audit", "--model", "out.surrogate.skops", "--data", "other.csv")
    assert "'sex' of 0 is empty in the data and 'female' in the audit" in done.stderr


def test_who_stays_without_a_group_is_told_by_init(holes, folder, call):
    assert call("init", "loans.csv", "-o", "new.yaml").exit_code == 0
    text = " ".join((folder / "new.yaml").read_text(encoding="utf-8").replace("#", "").split())
    assert "but not whoever lacks the sensitive column alone: they stay, as a group called unknown" in text


def refused(make) -> EquieffortError:
    with pytest.raises(EquieffortError) as caught:
        make()
    return caught.value


def test_slips_in_python_are_told_with_what_was_meant(tmp_path, monkeypatch):
    assert refused(lambda: ee.Feature("actionable", direction="upp")).what == (
        "The text 'upp' is not a direction. Did you mean 'up'?"
    )
    missing = refused(lambda: ee.load(tmp_path / "no.audit"))
    assert missing.code == "AUDIT_FILE_MISSING"
    assert missing.why == "Only an audit that was saved can be read; nothing is computed here."
