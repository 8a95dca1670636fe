"""`equieffort audit --notions` and `equieffort notions`."""

from __future__ import annotations

import json

import numpy as np
import pytest
import skops.io
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from tests.cli.conftest import SPEC, loans
from typer.testing import CliRunner

import equieffort as ee
from equieffort.cli import app
from equieffort.errors import ParameterError


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
    page = (folder / "with.html").read_text(encoding="utf-8")
    assert "Other notions" in page
    assert page.count("Whether refusals that the sensitive columns alone explain fall on one group.") == 1
    assert "a size, no side" in page
    assert "Other notions" not in (folder / "without.html").read_text(encoding="utf-8")


def test_the_table_is_printed(folder, call):
    call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet")
    done = call("notions", "with.audit", "--family", "counterfactual")
    assert done.exit_code == 0
    assert "Counterfactual fairness ratio" in done.stdout
    assert "What each adds:\n  Counterfactual fairness ratio: Whose decision" in done.stdout
    assert "sex = female" in done.stdout


def test_the_table_of_subgroups_is_printed(made_file, call):
    """The same as in Python, of a file that holds no model; what asks it is refused by name."""
    done = call("notions", made_file, "--facts", "mean_recourse", "--fewest", "5")
    assert done.exit_code == 0
    asked = {"viewpoint": "micro", "min_people": 5}
    table = ee.load(made_file).facts("mean_recourse", **asked)
    assert done.stdout.strip() == str(table).strip()
    rows = json.loads(call("notions", made_file, "--facts", "mean_recourse", "--fewest", "5", "--json").stdout)
    assert [row["subgroup"] for row in rows] == table.frame()["subgroup"].tolist()
    assert call("notions", made_file, "--facts", "choice").exit_code == 2
    assert call("notions", made_file, "--facts", "trade_off", "--family", "facts").exit_code == 2
    assert "'nothing'" in call("notions", made_file, "--facts", "nothing").output


def test_what_asking_the_model_gave_is_printed_from_the_file(kept, call):
    """Doors of their own: the macro table with equal choice, people treated unfairly, routes, Huang's levels."""
    found = ee.load(kept)
    shown = call("notions", kept, "--facts", "choice", "--macro", "--fewest", "5")
    assert shown.stdout.strip() == str(found.facts("choice", min_people=5)).strip()
    assert "actions to choose from" in shown.stdout
    people = json.loads(call("notions", kept, "--unfair", "--json").stdout)["people"]
    # The model reads income and savings, which do not hang on sex: nobody is decided otherwise.
    assert people == []
    assert "Decided otherwise at some level: 0 people" in call("notions", kept, "--unfair").stdout
    routes = json.loads(call("notions", kept, "--routes", "--json").stdout)
    assert {row["chosen_for"] for row in routes["routes"]} == {"female", "male", "everybody"}
    assert call("notions", kept, "--routes").stdout.strip() == str(found.group_routes()).strip()
    huang = json.loads(call("notions", kept, "--equality-of-effort", "--json").stdout)["treatments"]
    assert [(one["treatment"], one["about"]) for one in huang] == [("income", ""), ("income", "smiths")]
    (repair,) = huang[0]["repair"]
    assert repair["delta_after"] == 0
    text = call("notions", kept, "--equality-of-effort").stdout
    assert "In smiths:" in text
    assert "Repair of sex = female and sex = male at gamma" in text
    (own,) = json.loads(call("notions", kept, "--equality-of-effort", "--row", "00000", "--json").stdout)
    # Approved is whose income and savings are above 79, and savings follow income by the line that was fitted.
    assert own["now"] == found.recourse.data.loc["00000", "income"]
    assert own["effort"] == own["psi"] - own["now"]
    assert "income: " in call("notions", kept, "--equality-of-effort", "--row", "00000").stdout


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (["--macro"], "--macro goes with --facts"),
        (["--row", "00000"], "--row goes with --equality-of-effort"),
        (["--unfair", "--routes"], "--unfair and --routes are both asked for"),
        (["--routes", "--family", "facts"], "--routes prints a table of its own"),
        (["--facts", "choice", "--macro", "--fewest", "4"], "at least 5 refused people a side"),
        (["--equality-of-effort", "--row", "0"], "Did you mean '00000'?"),
    ],
)
def test_what_does_not_go_together_is_refused(kept, call, asked, told):
    done = call("notions", kept, *asked)
    assert done.exit_code == 2
    assert told in " ".join(done.output.split())


@pytest.mark.parametrize(
    "asked", [["--facts", "choice", "--macro"], ["--unfair"], ["--routes"], ["--equality-of-effort"]]
)
def test_a_file_without_notions_says_how_to_get_them(made_file, call, asked):
    done = call("notions", made_file, *asked)
    assert done.exit_code == 2
    assert "--notions" in done.output


@pytest.fixture(scope="session")
def kept(audited, tmp_path_factory):
    """The file of an audit with --notions."""
    out = tmp_path_factory.mktemp("kept") / "kept"
    done = CliRunner().invoke(app, ["audit", str(audited / "loans.yaml"), "-o", str(out), "--notions", "--quiet"])
    assert done.exit_code in (0, 1), done.output
    return out.with_suffix(".audit")


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


def spec_with_treatment(said: str) -> str:
    return f"{SPEC}notions:\n  equality_of_effort: {said}\n"


def test_a_treatment_is_read_over_the_grid_and_the_gammas_of_the_spec(folder, call):
    said = "{income: {gammas: [0.3, 0.6], grid: {low: 0, high: 100, step: 5}, direction: up, by: regression}}"
    (folder / "loans.yaml").write_text(spec_with_treatment(said), encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "with", "--notions", "--quiet").exit_code == 1
    (row,) = json.loads(call("notions", "with.audit", "--family", "huang", "--json").stdout)["notions"]
    assert row["variant"] == "income up, by regression, gamma 0.3, 0.6"
    # Efforts are points of the grid, so that their mean difference over two gammas is a multiple of half a step.
    assert row["estimate"] > 0
    assert row["estimate"] % 2.5 == 0


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("{job: {}}", "notions.equality_of_effort.job: The treatment 'job' is a category"),
        ("{income: {grid: [0.5, 1]}}", "notions.equality_of_effort.income: 'income' holds whole numbers"),
        ("{incom: {}}", "notions.equality_of_effort names 'incom', which is no feature. Did you mean 'income'?"),
    ],
)
def test_treatments_that_are_none_are_refused_before_anything_is_solved(folder, call, said, told, more):
    (folder / "loans.yaml").write_text(spec_with_treatment(said), encoding="utf-8")
    done = call("audit", "loans.yaml", "-o", "with", "--notions", *more)
    assert done.exit_code == 2
    shown = " ".join(done.output.split())
    assert told in shown
    assert "line 14, column" in shown
    assert not (folder / "with.audit").exists()


def test_the_picture_is_written(made_file, call, tmp_path):
    pytest.importorskip("matplotlib")
    assert call("notions", made_file, "--plot", str(tmp_path / "notions.png")).exit_code == 0
    assert (tmp_path / "notions.png").stat().st_size > 5000
    assert call("notions", made_file, "--plot", str(tmp_path / "no" / "notions.png")).exit_code == 2


IMPUTED = (
    ("{train: logistic}", "{path: m.skops, trusted: [numpy.dtype]}"),
    ("loans.csv, id: applicant", "loans.csv, id: applicant, missing: model"),
)


@pytest.fixture
def imputed(folder):
    """People who lack a value behind a pipeline that fills it in."""
    people = loans()
    model = make_pipeline(SimpleImputer(), LogisticRegression()).fit(people[["income", "savings"]], people["decision"])
    people.loc[[3, 8], "job"], people.loc[5, "savings"] = None, np.nan
    people.to_csv(folder / "loans.csv", index=False)
    skops.io.dump(model, folder / "m.skops")
    spec = SPEC
    for old, new in IMPUTED:
        assert old in spec
        spec = spec.replace(old, new)
    (folder / "loans.yaml").write_text(spec, encoding="utf-8")
    return folder


def test_missing_values_keep_nobody_from_the_other_notions(imputed, call):
    """What the dry run lets pass is audited to the end, and says what the distance leaves out."""
    dry = call("audit", "loans.yaml", "-o", "out", "--notions", "--dry-run")
    assert dry.exit_code == 0, dry.output
    done = call("audit", "loans.yaml", "-o", "out", "--notions")
    assert done.exit_code in (0, 1, 4), done.output
    told = json.loads(call("notions", "out.audit", "--json").stdout)
    share = [row["variant"] for row in told["notions"] if row["notion"] == "awareness_share"]
    assert share
    assert all("without 'savings', 'job'" in one for one in share)


def test_what_is_refused_after_solving_leaves_the_audit(folder, call, monkeypatch):
    def refuse(*_, **__):
        raise ParameterError("PARAMETER", "Nothing can be read.", fix="Nothing.")

    monkeypatch.setattr(ee.Audit, "with_notions", refuse)
    done = call("audit", "loans.yaml", "-o", "out", "--notions")
    assert done.exit_code == 2
    assert "out.audit is complete" in done.stderr
    assert len(ee.load(folder / "out.audit").recourse) == len(loans())
