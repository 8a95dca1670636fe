"""Exports read back by other programs, and checked against their schemas; hostile names do no harm."""

from __future__ import annotations

import csv
import io
import json
import warnings
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
import xmlschema
from jsonschema import Draft202012Validator
from tests.limits import unlimited
from tests.samples import compared

import equieffort as ee
from equieffort.errors import EquieffortWarning
from equieffort.exports import FORMULA, junit, measures_csv, neutral, recourse_csv, sarif, summary
from equieffort.models.fidelity import RecordedDecisions

SCHEMAS = Path(__file__).parent / "fixtures" / "schemas"
HOSTILE = ["<script>&\"'", "a\x00b\x1fc", "]]>", "🦊\ufffe", "{0} [here](https://example.org) %"]
PEOPLE = 240
"""So many that the verdict is decided."""
DANGEROUS = ["=HYPERLINK(1)", "+1", "-2+3", "@SUM(A1)", "\tx", "\rx"]


def world(
    *, labels=("ash", "birch"), jobs=("cook", "smith"), ids=None, threshold=12.0, name="income", gap=0.0, n=60, **more
) -> ee.Audit:
    """A small audit with an infeasible person, a category that may be changed, and text everywhere."""
    rng = np.random.default_rng(3)
    group = np.array(labels)[np.arange(n) % 2]
    X = pd.DataFrame(
        {"group": group, name: rng.integers(0, 10, n) - gap * (group == labels[0]), "job": rng.choice(jobs, n)}
    )
    X.index = pd.RangeIndex(n) if ids is None else pd.Index(ids)
    features = {name: ee.Feature("actionable", max_increase=9), "job": ee.Feature("actionable", weight=0.4)}
    schema = ee.Schema(sensitive="group", protected=labels[0], favourable=True, features=unlimited(features))
    scm = ee.StructuralCausalModel([], nodes=["group", name, "job"]).fit(X)
    weights = {name: 1.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(ee.LinearScore(weights, threshold=threshold), X, schema=schema, scm=scm, **more)


@pytest.fixture(scope="module")
def unequal() -> ee.Audit:
    return world(gap=3.0, n=PEOPLE)


def test_the_world_has_every_kind_of_person(unequal):
    assert unequal.verdict.outcome == "unequal"
    assert set(unequal.recourse.frame()["status"]) == {"optimal", "infeasible"}


# -- summary ----------------------------------------------------------------------------------------------------------


def test_a_summary_is_strict_json(unequal):
    text = json.dumps(summary(unequal), allow_nan=False)
    read = json.loads(text)
    assert read["verdict"]["outcome"] == "unequal"
    assert read["verdict"]["text"] == str(unequal.verdict)
    assert [row["group"] for row in read["by_group"]] == ["ash", "birch"]
    row = read["by_group"][0]
    assert row["phi"] == pytest.approx(unequal.by_group["phi"]["ash"])
    assert "acr" not in row, "comparisons are among the measures"
    assert read["criteria"]["tau"] == 1.25
    assert read["people"] == PEOPLE
    assert read["verdict"]["basis"] == unequal.verdict.basis
    assert read["versions"]["made_by"] == ee.__version__


def test_a_summary_carries_warnings_and_subgroups():
    made = world(threshold=30.0).with_provenance(subgroups={"cooks": "job = 'cook'"})
    read = summary(made)
    assert "OUTCOME_ALL_UNFAVOURABLE" in {w["code"] for w in read["warnings"]}
    assert all(w["what"] and w["why"] for w in read["warnings"])
    cooks = read["subgroups"]["cooks"]
    assert cooks["verdict"]["text"] == str(made.subgroup("job = 'cook'").verdict)
    assert sum(row["n"] for row in cooks["by_group"]) == int((made.recourse.data["job"] == "cook").sum())


def test_numbers_in_a_finding_are_those_of_the_table(unequal):
    finding = summary(unequal)["verdict"]["findings"][0]
    row = compared(unequal).iloc[0]
    assert {key: finding[key] for key in ("phi", "rho")} == {key: row[key] for key in ("phi", "rho")}
    assert list(finding["judged"]) == ["acr", "rd"]
    for name, found in finding["judged"].items():
        ends = [found[key] for key in ("estimate", "low", "high")]
        assert ends == [row[name], row[f"{name}_low"], row[f"{name}_high"]]
        assert ends[1] < ends[0] < ends[2]
    assert "beyond" in {found["state"] for found in finding["judged"].values()}


def test_a_summary_holds_every_measure(unequal):
    made = unequal.with_provenance(subgroups={"cooks": "job = 'cook'"})
    rows = json.loads(json.dumps(summary(made), allow_nan=False))["measures"]
    frame = made.measures
    assert [(row["level"], row["about"], row["measure"]) for row in rows] == list(
        zip(frame["level"], frame["about"], frame["measure"], strict=True)
    )
    assert {row["about"] for row in rows} == {"Everybody", "cooks"}
    for row, record in zip(rows, frame.to_dict("records"), strict=True):
        for key, value in record.items():
            assert row[key] == value or (row[key] is None and not np.isfinite(value))


def test_a_summary_says_what_to_be_careful_about(unequal):
    few = summary(world())["caveats"]
    assert [one["text"] for one in few if one["code"] == "SMALL_GROUPS"] == [
        "Small groups: 30 refused people with group = ash, 30 refused people with group = birch. With fewer than about "
        "52 in a group even equal efforts are hardly ever called equal."
    ]
    assert "SMALL_GROUPS" not in {one["code"] for one in summary(unequal)["caveats"]}
    first = summary(replace(unequal, criteria=ee.Criteria(level=None)))["caveats"][0]
    assert first["text"] == "The verdict rests on point estimates: chance is not considered."


# -- CSV --------------------------------------------------------------------------------------------------------------


def read_csv(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_csv_says_what_the_table_says(unequal):
    frame = unequal.recourse.frame()
    rows = read_csv(recourse_csv(unequal))
    assert [row["id"] for row in rows] == [str(label) for label in frame.index]
    assert [row["status"] for row in rows] == frame["status"].tolist()
    costs = [float(row["cost"]) if row["cost"] else np.nan for row in rows]
    np.testing.assert_array_equal(costs, frame["cost"].to_numpy())
    deltas = [float(row["delta_income"]) if row["delta_income"] else np.nan for row in rows]
    np.testing.assert_array_equal(deltas, frame["delta_income"].to_numpy())
    assert [row["reason"] for row in rows] == frame["reason"].tolist()


def test_recorded_decisions_stand_beside_those_of_a_surrogate(unequal):
    made = unequal.with_provenance(recorded=RecordedDecisions((0, 3), (5,)))
    rows = read_csv(recourse_csv(made))
    assert list(rows[0])[2:4] == ["status", "recorded"]
    refused = unequal.recourse.is_unfavourable
    for k, row in enumerate(rows):
        differs = k in (0, 3)
        expected = "unfavourable" if refused[k] != differs else "favourable"
        assert row["recorded"] == ("" if k == 5 else expected)
    assert "recorded" not in read_csv(recourse_csv(unequal))[0]
    # Who they are is in the table; the summary is about groups.
    counted = summary(made)["provenance"]["recorded"]
    assert list(counted) == ["by_group"]
    groups = unequal.recourse.groups
    for code, label in enumerate(groups.labels):
        mine = groups.codes == code
        now = int(refused[mine].sum())
        changed = [1 if refused[k] else -1 for k in (0, 3) if mine[k]]
        before = now - sum(changed) - int(mine[5] and refused[5])
        assert counted["by_group"][label] == {
            "refused_in_record": before, "refused_by_surrogate": now, "differ": len(changed),
        }  # fmt: skip


def test_the_id_column_keeps_its_name_and_its_zeros():
    made = world(ids=pd.Index([f"{k:05d}" for k in range(60)], name="applicant"))
    rows = read_csv(recourse_csv(made))
    assert rows[7]["applicant"] == "00007"


def test_an_id_called_like_a_column_gets_a_name_of_its_own():
    made = world(ids=pd.Index(range(60), name="status"))
    rows = read_csv(recourse_csv(made))
    assert rows[3]["status_"] == "3"
    assert rows[3]["status"] in ("optimal", "infeasible", "not_needed")


@pytest.mark.parametrize("start", DANGEROUS)
def test_no_cell_starts_like_a_formula(start):
    made = world(
        labels=(f"{start}a", "z"), jobs=(f"{start}b", "plain"), ids=[f"{start}{k}" for k in range(60)], name=f"{start}c"
    )
    rows = list(csv.reader(io.StringIO(recourse_csv(made), newline="")))
    for row in rows:
        for cell in row:
            if cell.startswith(FORMULA):
                float(cell)
    assert rows[1][0] == f"'{start}0"
    assert any(cell.startswith("'") for cell in rows[1][1:])


def test_a_line_end_inside_a_cell_begins_no_line():
    made = world(ids=[f"a\r=1+{k}\n=2" for k in range(60)])
    rows = list(csv.reader(io.StringIO(recourse_csv(made), newline="")))
    assert len(rows) == 61
    assert rows[1][0] == "a\r=1+0\n=2"


def test_negative_numbers_stay_numbers():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"s": list("ab") * 20, "x": rng.normal(size=40)})
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    made = ee.audit(ee.LinearScore({"x": -1.0}, threshold=0.5), X, schema=schema, scm=scm)
    read = pd.read_csv(io.StringIO(recourse_csv(made)))
    assert (read["delta_x"].dropna() < 0).all()
    assert read["delta_x"].notna().any()


def test_neutral_leaves_the_rest_alone():
    assert [neutral(cell) for cell in ("a=b", "", None, 3, -3.5, True)] == ["a=b", "", None, 3, -3.5, True]


def test_the_csv_of_measures_is_the_frame(unequal):
    made = unequal.with_provenance(subgroups={"cooks": "job = 'cook'"})
    frame = made.measures
    rows = read_csv(measures_csv(made))
    assert list(rows[0]) == list(frame.columns)
    assert len(rows) == len(frame)
    for row, record in zip(rows, frame.to_dict("records"), strict=True):
        for key, value in record.items():
            if isinstance(value, float):
                assert (row[key] == "") == np.isnan(value)
                assert row[key] == "" or float(row[key]) == value
            else:
                assert row[key] == str(value)


@pytest.mark.parametrize("start", DANGEROUS)
def test_no_cell_of_the_measures_starts_like_a_formula(start):
    made = world(labels=(f"{start}a", "z")).with_provenance(subgroups={f"{start}x": "job = 'cook'"})
    rows = list(csv.reader(io.StringIO(measures_csv(made), newline="")))
    for cell in (cell for row in rows for cell in row if cell.startswith(FORMULA)):
        float(cell)
    assert f"'{start}a" in rows[1]
    assert f"'{start}x" in rows[-1]


# -- SARIF ------------------------------------------------------------------------------------------------------------


def test_sarif_holds_the_finding(unequal):
    log = json.loads(json.dumps(sarif(unequal, "my audit.audit"), allow_nan=False))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    (result,) = run["results"]
    assert (result["level"], result["kind"]) == ("error", "fail")
    assert unequal.verdict.findings[0].sentence in result["message"]["text"]
    rules = run["tool"]["driver"]["rules"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == unequal.verdict.codes[0]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "my%20audit.audit"
    acr = result["properties"]["judged"]["acr"]
    row = compared(unequal).iloc[0]
    assert [acr[key] for key in ("estimate", "low", "high", "n")] == [
        row["acr"], row["acr_low"], row["acr_high"], row["n_optimal"]
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("criteria", "kind"),
    [(ee.Criteria(tau=50, epsilon=1.0), "pass"), (ee.Criteria(min_people=1000), "open")],
)
def test_sarif_of_other_outcomes_has_no_level(unequal, criteria, kind):
    (result,) = sarif(replace(unequal, criteria=criteria), "a")["runs"][0]["results"]
    assert (result["level"], result["kind"]) == ("none", kind)


def test_sarif_carries_warnings_as_notifications():
    made = world(threshold=30.0)
    notes = sarif(made, "a")["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    assert "OUTCOME_ALL_UNFAVOURABLE" in {note["descriptor"]["id"] for note in notes}


def told(name):
    """Audits with each outcome, with warnings, with subgroups."""
    unequal = world(gap=3.0, n=PEOPLE)
    return {
        "unequal": unequal,
        "equal": replace(unequal, criteria=ee.Criteria(tau=50, epsilon=1.0)),
        "inconclusive": replace(unequal, criteria=ee.Criteria(min_people=1000)),
        "warned": world(threshold=30.0),
        "subgroups": unequal.with_provenance(subgroups={"cooks": "job = 'cook'", "smiths": "job = 'smith'"}),
    }[name]


OUTCOMES = ["unequal", "equal", "inconclusive", "warned", "subgroups"]


def faults(log) -> list[str]:
    """What the standard's schema finds wrong in a SARIF log, after JSON."""
    schema = json.loads((SCHEMAS / "sarif-2.1.0.json").read_text(encoding="utf-8"))
    check = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    found = check.iter_errors(json.loads(json.dumps(log, allow_nan=False)))
    return [f"{error.json_path}: {error.message}" for error in found]


@pytest.mark.parametrize("name", OUTCOMES)
def test_sarif_is_what_the_standard_describes(name):
    log = sarif(told(name), "C:\\my audits\\ä.audit")
    assert faults(log) == []
    # The schema does look: it knows no such kind, and no result without a message.
    log["runs"][0]["results"][0]["kind"] = "unequal"
    del log["runs"][0]["results"][0]["message"]
    assert len(faults(log)) == 2


@pytest.mark.parametrize("label", HOSTILE)
def test_sarif_of_hostile_names_is_what_the_standard_describes(label):
    assert faults(sarif(world(labels=(label, "z"), gap=3.0), label)) == []


def test_sarif_messages_hold_no_arguments_and_no_links():
    made = world(labels=("{0} [here](https://example.org)", "z"), gap=3.0)
    text = sarif(made, "a")["runs"][0]["results"][0]["message"]["text"]
    assert "{{0}} [here\\](https://example.org)" in text


def test_sarif_a_path_from_the_root_is_an_address_of_its_own(unequal):
    log = sarif(unequal, "/srv/my audits/a.audit")
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert place == "file:///srv/my%20audits/a.audit"


# -- JUnit ------------------------------------------------------------------------------------------------------------


def test_junit_holds_the_finding(unequal):
    root = ElementTree.fromstring(junit(unequal, "a.audit"))
    suite = root.find("testsuite")
    assert suite is not None
    assert (root.get("tests"), root.get("failures")) == ("1", "1")
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("1", "1", "0")
    case = root.find("testsuite/testcase")
    assert case is not None
    assert case.get("name") == "group = ash against group = birch"
    failure = case.find("failure")
    assert failure is not None
    assert failure.text == unequal.verdict.findings[0].sentence
    assert failure.get("type", "").split() == list(unequal.verdict.codes)
    told = dict(line.split(": ", 1) for line in case.findtext("system-out", "").splitlines())
    assert list(told) == ["acr", "rd"]
    acr = dict(pair.split("=", 1) for pair in told["acr"].split(" "))
    assert (float(acr["low"]), float(acr["high"])) == tuple(compared(unequal).loc["ash", ["acr_low", "acr_high"]])


def test_junit_counts_by_outcome(unequal):
    passed = ElementTree.fromstring(junit(replace(unequal, criteria=ee.Criteria(tau=50, epsilon=1.0)), "a"))
    skipped = ElementTree.fromstring(junit(replace(unequal, criteria=ee.Criteria(min_people=1000)), "a"))
    for root, expected in ((passed, ("0", "0")), (skipped, ("0", "1"))):
        suite = root.find("testsuite")
        assert suite is not None
        assert (suite.get("failures"), suite.get("skipped")) == expected
    assert skipped.find("testsuite/testcase/skipped") is not None


@pytest.mark.parametrize("name", [*OUTCOMES, *HOSTILE])
def test_junit_is_what_jenkins_reads(name):
    schema = xmlschema.XMLSchema(SCHEMAS / "junit-4.xsd")
    made = told(name) if name in OUTCOMES else world(labels=(name, "z"), gap=3.0)
    root = ElementTree.fromstring(junit(made, name))
    # The schema is older than this attribute, which pytest and others write too.
    for skipped in root.iter("skipped"):
        assert skipped.attrib.pop("message")
    assert [error.reason for error in schema.iter_errors(root)] == []
    root[0][0].set("outcome", "unequal")
    assert not schema.is_valid(root)


def test_subgroups_are_cases_of_their_own(unequal):
    made = unequal.with_provenance(subgroups={"cooks": "job = 'cook'"})
    root = ElementTree.fromstring(junit(made, "a"))
    cases = root.findall("testsuite/testcase")
    assert len(cases) == 2
    assert cases[1].get("classname", "").startswith("cooks")


@pytest.mark.parametrize("label", HOSTILE)
def test_names_that_xml_and_json_must_escape(label):
    made = world(labels=(label, "z"), gap=3.0)
    assert ElementTree.fromstring(junit(made, label)) is not None
    json.loads(json.dumps(sarif(made, label)))
    json.loads(json.dumps(summary(made)))


def test_the_table_as_parquet(tmp_path):
    from equieffort.exports import need_parquet, recourse_parquet
    from equieffort.paper.extras import german_audit

    need_parquet()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        audit = german_audit()
    recourse_parquet(audit, tmp_path / "table.parquet")
    back = pd.read_parquet(tmp_path / "table.parquet")
    assert back["person"].tolist() == [str(k) for k in range(1000)]
    pd.testing.assert_series_equal(back["cost"], audit.recourse.frame()["cost"])
