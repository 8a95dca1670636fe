"""Commands that read saved audits: check, report, explain, diff."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from tests.limits import unlimited

import equieffort as ee
from equieffort.results.comparison import compare_audits


@pytest.fixture
def made(audited, tmp_path, monkeypatch):
    """A saved audit alone in a folder: neither the data, the spec nor the model are there."""
    for name in ("made.audit", "later.audit"):
        shutil.copy(audited / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return ee.load("made.audit")


def lacking(amount: float, path: str, names: list[str] | None = None) -> None:
    """An audit in which everybody of the group lacks about this many times what the reference lacks."""
    X = pd.DataFrame(
        {"s": list("ab") * 60, "x": 10 - np.tile([amount, 1.0], 60) * np.repeat(np.linspace(0.9, 1.1, 60), 2)},
        index=names,
    )
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    reference = pd.DataFrame({"x": [0.0, 10.0]})
    with pytest.warns(ee.errors.EquieffortWarning, match="All 120 people"):
        made = ee.audit(ee.LinearScore({"x": 1.0}, threshold=10.0), X, schema=schema, scm=scm, reference=reference)
    made.save(path)


# -- check ------------------------------------------------------------------------------------------------------------


def test_check_repeats_the_verdict(made, call):
    done = call("check", "made.audit")
    assert done.exit_code == 1
    assert done.stdout.startswith(str(made.verdict))


def test_check_with_other_criteria(made, call):
    done = call("check", "made.audit", "--tau", "100", "--epsilon", "1", "--format", "json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["verdict"]["outcome"] == "equal"
    assert told["criteria"]["tau"] == 100
    assert call("check", "made.audit", "--min-people", "5000").exit_code == 4


def test_check_at_another_level(made, call):
    """What the criteria decide in Python they decide at the command line."""
    for given, level in (("0.9", 0.9), ("none", None), ("None", None), ("0.999", 0.999)):
        told = json.loads(call("check", "made.audit", "--level", given, "--format", "json").stdout)
        assert told["criteria"]["level"] == level
        expected = replace(made, criteria=replace(made.criteria, level=level)).verdict
        assert told["verdict"]["text"] == str(expected)
    assert "Point estimate, chance not considered" in call("check", "made.audit", "--level", "none").stdout
    assert "90 % level" in call("check", "made.audit", "--level", "0.9").stdout


def test_check_of_other_measures(made, call):
    done = call("check", "made.audit", "--judged", "burden", "--judged", "rd", "--format", "json")
    told = json.loads(done.stdout)
    assert told["criteria"]["judged"] == ["burden", "rd"]
    expected = replace(made, criteria=replace(made.criteria, judged=("burden", "rd"))).verdict
    assert told["verdict"]["text"] == str(expected)
    assert set(told["verdict"]["codes"]) <= {"BURDEN_BEYOND", "RD_BEYOND"}
    assert set(told["verdict"]["findings"][0]["judged"]) == {"burden", "rd"}
    # Hardly anything is asked of the ratio alone, which is close to one.
    alone = json.loads(call("check", "made.audit", "--judged", "acr", "--format", "json").stdout)
    assert "RD_BEYOND" not in alone["verdict"]["codes"]


@pytest.mark.parametrize("name", ["needs_more", "difference", "acr_always_min", "phi", ""])
def test_check_refuses_what_cannot_be_judged_by_name(made, call, name):
    done = call("check", "made.audit", "--judged", name)
    assert done.exit_code == 2
    assert "Code: CRITERIA_INVALID" in done.stderr
    assert repr(name) in done.stderr
    assert "restricted_effort" in done.stderr  # what can be


def test_check_with_the_papers_rule(tmp_path, monkeypatch, call):
    """A ratio of one half: the protected group is better off, which only the two-sided rule calls unequal."""
    monkeypatch.chdir(tmp_path)
    lacking(0.5, "half.audit")
    for rule, value, outcome, code in (
        ("two-sided", ee.TwoSided(), "unequal", 1),
        ("one-sided", ee.OneSided(), "equal", 0),
    ):
        done = call("check", "half.audit", "--rule", rule, "--format", "json")
        told = json.loads(done.stdout)
        assert (done.exit_code, told["verdict"]["outcome"], told["criteria"]["rule"]) == (code, outcome, rule)
        made = ee.load("half.audit")
        expected = replace(made, criteria=replace(made.criteria, rule=value)).verdict
        assert told["verdict"]["text"] == str(expected)
    lacking(2.0, "double.audit")
    for rule in ("two-sided", "one-sided"):
        assert call("check", "double.audit", "--rule", rule).exit_code == 1


def test_check_for_build_servers(made, call, tmp_path):
    log = json.loads(call("check", "made.audit", "--format", "sarif").stdout)
    assert log["runs"][0]["results"][0]["kind"] == "fail"
    done = call("check", "made.audit", "--format", "junit", "-o", "result.xml")
    assert done.exit_code == 1
    assert done.stdout == ""
    assert ElementTree.parse(tmp_path / "result.xml").getroot().get("tests") == "2"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--tau", "0.5"], "CRITERIA_INVALID"),
        (["--epsilon", "2"], "CRITERIA_INVALID"),
        (["--level", "95"], "CRITERIA_INVALID"),
        (["--level", "0.5"], "CRITERIA_INVALID"),
        (["--level", "nan"], "CRITERIA_INVALID"),
        (["--level", "high"], "CRITERIA_INVALID"),
        (["--judged", "acr", "--judged", "acr"], "CRITERIA_INVALID"),
        (["-o", "no/x"], "OUTPUT"),
    ],
)
def test_check_refuses_what_makes_no_sense(made, call, options, code):
    done = call("check", "made.audit", *options)
    assert done.exit_code == 2
    assert f"Code: {code}" in done.stderr


@pytest.mark.parametrize("command", [["check"], ["report"], ["explain", "--row", "1"]])
def test_what_is_no_audit_is_refused(tmp_path, call, command):
    (tmp_path / "x.audit").write_bytes(b"PK no zip")
    for name in ("x.audit", "y.audit"):
        done = call(command[0], tmp_path / name, *command[1:])
        assert done.exit_code == 2
        assert "Code: AUDIT_FILE" in done.stderr
    assert not (tmp_path / "x.html").exists()


# -- report -----------------------------------------------------------------------------------------------------------


def test_report_writes_beside_the_audit(made, call, tmp_path):
    done = call("report", "made.audit")
    assert done.exit_code == 0, done.output
    page = (tmp_path / "made.html").read_text(encoding="utf-8")
    assert page.lstrip().lower().startswith("<!doctype html")
    assert "made.html" in done.stdout


def test_report_elsewhere_and_with_cells_hidden(made, call, tmp_path):
    done = call("report", "made.audit", "-o", "page.html", "--suppress-below", "1000")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "page.html").read_text(encoding="utf-8") != ""
    assert call("report", "made.audit", "-o", "new/page.html").exit_code == 0
    assert call("report", "made.audit", "-o", "made.audit/page.html").exit_code == 2
    assert call("report", "made.audit", "--suppress-below", "-1").exit_code == 2


# -- explain ----------------------------------------------------------------------------------------------------------


def test_explain_says_what_the_audit_says(made, call):
    label = made.recourse.frame().query("status == 'optimal'").index[0]
    done = call("explain", "made.audit", "--row", label)
    assert done.exit_code == 0
    assert done.stdout == f"{made.explain(label)}\n"


def test_explain_lists_the_ways_that_the_audit_kept(folder, call):
    spec = (folder / "loans.yaml").read_text(encoding="utf-8")
    spec = spec.replace("savings: {role: mutable}", "savings: {role: actionable, max_increase: 30, upper: 90}")
    (folder / "loans.yaml").write_text(spec + "max_actions: 1\n", encoding="utf-8")
    assert call("audit", "loans.yaml", "-o", "out", "--alternatives", "2", "--quiet").exit_code in (0, 1, 4)
    kept = ee.load("out.audit")
    label = kept.recourse.index[np.flatnonzero(kept.alternatives[0].has_action)[0]]
    said = call("explain", "out.audit", "--row", label)
    assert "no cheaper action that changes one feature only exists" in said.stdout
    assert "Way 2, at a cost of" in said.stdout
    assert call("explain", "out.audit", "--row", label, "--alternatives", "2").stdout == said.stdout
    assert "Way 2" not in call("explain", "out.audit", "--row", label, "--alternatives", "1").stdout
    done = call("explain", "out.audit", "--row", label, "--alternatives", "3")
    assert done.exit_code == 2
    assert "keeps 2 ways of each person, not 3" in done.stderr
    assert "Audit again with --alternatives 3" in done.stderr
    assert "with_alternatives" not in done.stderr
    assert call("explain", "out.audit", "--row", label, "--alternatives", "0").exit_code == 2
    assert "at most 1 feature changed at once" in (folder / "out.html").read_text(encoding="utf-8")


def test_explain_names_unknown_people(made, call):
    done = call("explain", "made.audit", "--row", "1")
    assert done.exit_code == 2
    assert "Did you mean '00001'?" in done.stderr
    assert "position=" not in done.stderr
    assert "Code: DATA_UNKNOWN_ROW" in done.stderr


def test_letters_to_everybody_who_was_refused(made, call, tmp_path):
    done = call("explain", "made.audit", "--all", "-o", "letters")
    refused = int(made.recourse.is_unfavourable.sum())
    assert done.exit_code == 0, done.output
    assert done.stdout == f"Wrote {refused} letters and letters/index.html\n"
    assert len(list((tmp_path / "letters").glob("*.html"))) == refused + 1
    again = call("explain", "made.audit", "--all", "-o", "letters")
    assert again.exit_code == 2
    assert "with --overwrite" in again.output
    assert call("explain", "made.audit", "--all", "-o", "letters", "--overwrite", "-q").stdout == ""
    label = made.recourse.index[made.recourse.is_unfavourable][0]
    one = call("explain", "made.audit", "--row", label, "-o", "one", "--format", "md", "-q")
    assert one.exit_code == 0, one.output
    assert {path.name for path in (tmp_path / "one").iterdir()} == {f"{label}.md", "index.md", "index.csv"}


def test_a_template_to_start_from(made, call, tmp_path):
    assert call("explain", "made.audit", "--write-template", "my.md").stdout == "Wrote my.md\n"
    assert call("explain", "made.audit", "--write-template", "my.md").exit_code == 2
    text = (tmp_path / "my.md").read_text(encoding="utf-8")
    (tmp_path / "my.md").write_text(text + "Yours\n", encoding="utf-8")
    done = call("explain", "made.audit", "--all", "-o", "out", "--template", "my.md", "-q")
    assert done.exit_code == 0, done.output
    assert all(one.read_text().endswith("Yours\n") for one in (tmp_path / "out").glob("0*.md"))
    (tmp_path / "bad.html").write_text("<p>\n{{ letter.nam }}")
    done = call("explain", "made.audit", "--all", "-o", "bad", "--template", "bad.html")
    assert done.exit_code == 2
    assert "bad.html, line 2 (" in done.output
    assert "LETTER_TEMPLATE" in done.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "Nobody is named."),
        (["--row", "1", "--all"], "--row names one person"),
        (["--all"], "Name a folder"),
        (["--row", "00001", "--format", "md"], "--format is about letters"),
        (["--all", "-o", "nowhere/letters"], "does not exist"),
        (["--all", "-o", "made.audit"], "is a file"),
        (["--all", "-o", "out", "--template", "none.html"], "cannot be read"),
    ],
)
def test_explain_refuses_what_does_not_go_together(made, call, options, said):
    done = call("explain", "made.audit", *options)
    assert done.exit_code == 2
    assert said in done.output


def test_explain_says_that_it_is_about_a_surrogate(made, call):
    differs = list(made.provenance.recorded.differs)
    assert differs, "otherwise nothing is shown"
    done = call("explain", "made.audit", "--row", made.recourse.index[differs[0]])
    assert "logistic" in done.stdout
    assert "not about the system" in done.stdout
    decided = "unfavourable" if made.recourse.frame()["status"].iloc[differs[0]] == "not_needed" else "favourable"
    assert f"The recorded decision is {decided}" in done.stdout


def test_check_shows_the_record_beside_the_surrogate(made, call):
    said = call("check", "made.audit").stdout
    for group, counts in made.recorded.by_group(made.recourse).items():
        record, surrogate = counts["refused_in_record"], counts["refused_by_surrogate"]
        cells = [line.split() for line in said.splitlines() if line.startswith(made.recourse.groups.name(group))]
        assert any(row[-3:-1] == [str(record), str(surrogate)] for row in cells)


def test_explain_by_number_where_labels_are_numbers(made, call, tmp_path):
    X = pd.DataFrame({"s": list("ab") * 20, "x": np.arange(40.0)})
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    ee.audit(ee.LinearScore({"x": 1.0}, threshold=30.5), X, schema=schema, scm=scm).save("numbered.audit")
    assert call("explain", "numbered.audit", "--row", "3").stdout.startswith("Person 3 (b)")
    done = call("explain", "numbered.audit", "--row", "three")
    assert done.exit_code == 2
    assert "numbered from 0 to 39" in done.stderr


def test_leading_zeros_are_never_dropped(made, call):
    """Otherwise the answer would be about another person."""
    X = pd.DataFrame({"s": list("ab") * 20, "x": np.arange(40.0)})
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    ee.audit(ee.LinearScore({"x": 1.0}, threshold=30.5), X, schema=schema, scm=scm).save("numbered.audit")
    for row in ("003", "+3", "3.0", " 3", "40", "-1", "٣"):
        done = call("explain", "numbered.audit", f"--row={row}")
        assert done.exit_code == 2, row
        assert "Code: DATA_UNKNOWN_ROW" in done.stderr
        assert "data.id" in done.stderr


@pytest.mark.parametrize("command", [["check"], ["report"], ["explain", "--row", "1"]])
@pytest.mark.parametrize("name", ["made.html", "made.csv", "made.yaml", "made.json"])
def test_other_files_are_told_from_audit_files(made, call, tmp_path, command, name):
    (tmp_path / name).write_text("somebody, 12", encoding="utf-8")
    done = call(command[0], name, *command[1:])
    assert done.exit_code == 2
    assert "not an audit file" in done.stderr
    assert "Give 'made.audit'" in done.stderr
    assert "somebody" not in done.output


def test_diff_of_different_people_says_so(tmp_path, monkeypatch, call):
    monkeypatch.chdir(tmp_path)
    for name in ("p", "q"):
        lacking(1.5, f"{name}.audit", names=[f"{name}{k}" for k in range(120)])
    assert "NOBODY IS IN BOTH AUDITS" in call("diff", "p.audit", "q.audit").stderr
    assert "NOBODY" not in call("diff", "p.audit", "p.audit").stderr


# -- diff -------------------------------------------------------------------------------------------------------------


def test_diff_of_an_audit_with_itself(made, call):
    done = call("diff", "made.audit", "made.audit")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("after, unchanged; ") == 2
    assert "no change shown" in done.stdout


@pytest.mark.parametrize(
    ("before", "after", "code", "says"),
    [
        (0.6, 0.9, 0, "closer to equality"),
        (0.7, 0.5, 1, "farther from equality, to the disadvantage of s = b"),
        (1.4, 2.0, 1, "farther from equality, to the disadvantage of s = a"),
        (0.5, 1.2, 0, "it lay with s = b, now it lies with s = a"),
    ],
)
@pytest.mark.filterwarnings("ignore:People are matched by the number")
def test_diff_ends_with_one_only_away_from_equality(tmp_path, monkeypatch, call, before, after, code, says):
    monkeypatch.chdir(tmp_path)
    lacking(before, "one.audit")
    lacking(after, "two.audit")
    done = call("diff", "one.audit", "two.audit")
    assert done.exit_code == code, done.output
    assert says in done.stdout
    told = json.loads(call("diff", "one.audit", "two.audit", "--json").stdout)
    assert told["worse"] is bool(code)
    assert told["noise"][0]["after"] == pytest.approx(after)


@pytest.mark.filterwarnings("ignore:Nobody declared lower")
def test_diff_compares_efforts_only_at_the_same_prices_or_rescaled(made, call):
    done = call("diff", "made.audit", "later.audit")
    assert done.exit_code in (0, 1)
    assert "efforts themselves are not compared" in done.stdout
    assert "--rescale" in done.stdout
    expected = compare_audits(made, ee.load("later.audit"), rescale=True)
    done = call("diff", "made.audit", "later.audit", "--rescale")
    assert done.exit_code == int(expected.is_worse)
    assert done.stdout.startswith(str(expected))
    told = json.loads(call("diff", "made.audit", "later.audit", "--rescale", "--json").stdout)
    assert told["matched"] == 160
    assert told["rescaled"] is True
    assert len(told["people"]) == len(expected.people)
