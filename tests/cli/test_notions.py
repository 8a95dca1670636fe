"""`equieffort audit --notions` and `equieffort notions`."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.cli.conftest import SPEC, loans

import equieffort as ee


@pytest.fixture
def with_truth(tmp_path, monkeypatch):
    people = loans()
    people["repaid"] = np.where(np.arange(len(people)) % 3, "approved", "refused")
    people.to_csv(tmp_path / "loans.csv", index=False)
    spec = SPEC.replace("favourable: approved}", "favourable: approved, truth: repaid}")
    (tmp_path / "loans.yaml").write_text(spec, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return people


def test_notions_that_ask_the_model_are_kept_in_the_file(folder, call):
    assert call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet").exit_code == 1
    assert call("audit", "loans.yaml", "-o", "without", "--quiet").exit_code == 1
    told = json.loads(call("notions", "with.audit", "--json").stdout)
    families = {row["family"] for row in told["notions"]}
    assert "counterfactual" in families
    without = json.loads(call("notions", "without.audit", "--json").stdout)
    assert "counterfactual" not in {row["family"] for row in without["notions"]}
    assert any("does not hold" in one["why"] for one in without["missing"])
    assert "Other notions" in (folder / "with.html").read_text(encoding="utf-8")
    assert "Other notions" not in (folder / "without.html").read_text(encoding="utf-8")


def test_the_table_is_printed(folder, call):
    call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet")
    done = call("notions", "with.audit", "--family", "counterfactual")
    assert done.exit_code == 0
    assert "Counterfactual fairness ratio" in done.stdout
    assert "sex = female" in done.stdout


def test_an_unknown_family_is_refused(made_file, call):
    done = call("notions", made_file, "--family", "strange")
    assert done.exit_code == 2
    assert "'strange'" in done.output


@pytest.fixture
def made_file(audited):
    return audited / "made.audit"


@pytest.mark.usefixtures("with_truth")
def test_what_became_of_people_is_no_feature(call):
    assert call("audit", "loans.yaml", "-o", "out", "--quiet").exit_code == 1
    made = ee.load("out.audit")
    assert "repaid" not in made.recourse.data.columns
    assert not [one for one in made.warnings if "repaid" in one.what]


@pytest.mark.usefixtures("with_truth")
def test_what_became_of_people_must_be_a_column_and_no_feature(tmp_path, call):
    text = (tmp_path / "loans.yaml").read_text(encoding="utf-8")
    (tmp_path / "a.yaml").write_text(text.replace("truth: repaid", "truth: repayed"), encoding="utf-8")
    done = call("audit", "a.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "outcome.truth names 'repayed'" in done.output
    assert "'repaid'" in done.output
    (tmp_path / "b.yaml").write_text(text.replace("truth: repaid", "truth: income"), encoding="utf-8")
    done = call("audit", "b.yaml", "-o", "out")
    assert done.exit_code == 2
    assert "the column of what became of people" in done.output


def test_a_report_that_keeps_counts_back_shows_no_notions(folder, call):
    call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet")
    assert call("report", "with.audit", "-o", "page.html", "--suppress-below", "10").exit_code == 0
    page = (folder / "page.html").read_text(encoding="utf-8")
    assert "keeps small counts back" in page
    assert "Counterfactual fairness ratio" not in page


def spec_with_causes(causes: str) -> str:
    return SPEC.replace("favourable: approved}", f"favourable: approved, causes: {causes}}}")


def test_causes_of_the_outcome_can_be_told(folder, call):
    (folder / "loans.yaml").write_text(spec_with_causes("[income, job]"), encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet").exit_code == 1
    told = json.loads(call("notions", "with.audit", "--family", "improvement", "--json").stdout)
    assert not told["missing"]
    # Income is all that people can act on, so that nothing is lost without gaming.
    lost = [row["estimate"] for row in told["notions"] if row["notion"] == "improvement_lost"]
    assert lost == [0.0, 0.0]
    assert {row["variant"] for row in told["notions"]} == {"income"}


def test_without_causes_it_says_what_the_spec_lacks(folder, call):
    assert call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet").exit_code == 1
    shown = call("notions", "with.audit", "--family", "improvement", "--family", "social_burden").stdout
    assert "outcome.causes" in shown
    assert "outcome.truth" in shown
    assert "audit." not in shown


@pytest.mark.parametrize(
    ("causes", "told"),
    [
        ("[incom]", "outcome.causes names 'incom', which is no feature. Did you mean 'income'?"),
        ("[job]", "outcome.causes names 'job', of which nothing can be acted on."),
    ],
)
def test_causes_that_are_none_are_refused_before_anything_is_solved(folder, call, causes, told):
    (folder / "loans.yaml").write_text(spec_with_causes(causes), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "with", "--notions")
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())
    assert not (folder / "with.audit").exists()


def test_the_picture_is_written(made_file, call, tmp_path):
    pytest.importorskip("matplotlib")
    assert call("notions", made_file, "--plot", str(tmp_path / "notions.png")).exit_code == 0
    assert (tmp_path / "notions.png").stat().st_size > 5000
    assert call("notions", made_file, "--plot", str(tmp_path / "no" / "notions.png")).exit_code == 2
