"""Labels: whoever reads meets their own words; data, JSON keys and columns keep the names of the table."""

from __future__ import annotations

import html
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import equieffort as ee
from equieffort.errors import SchemaError
from equieffort.exports import measures_csv, recourse_csv, summary
from equieffort.report import model_card, render
from equieffort.world.groups import Groups
from equieffort.world.labels import Labels, told_rule

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
LABELS = {
    "groups": {"qq-f": "women", "qq-m": "men"},
    "features": {"qqsex": "sex", "qqincome": "yearly income", "qqsavings": "savings", "qqjob": "work"},
    "levels": {"qqjob": {"qqa": "unskilled", "qqb": "skilled"}},
}


def made(labels) -> ee.Audit:
    rng = np.random.default_rng(3)
    sex = np.array(["qq-m", "qq-f"])[np.arange(160) % 2]
    income = (rng.normal(50, 12, 160) - 6 * (sex == "qq-f")).round(2)
    savings = (0.4 * income + rng.normal(0, 3, 160)).round(2)
    people = pd.DataFrame({"qqsex": sex, "qqincome": income, "qqsavings": savings})
    people["qqjob"] = rng.choice(["qqa", "qqb"], 160)
    seen = ["qqincome", "qqsavings", "qqjob"]
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["qqjob"]), remainder="passthrough"),
        LogisticRegression(max_iter=2000),
    ).fit(people[seen], income + savings + 15 * (people["qqjob"] == "qqb") > 85)
    features = {"qqincome": ee.Feature("actionable", max_increase=10), "qqsavings": "mutable", "qqjob": "actionable"}
    schema = ee.Schema(sensitive="qqsex", protected="qq-f", favourable=True, features=features, labels=labels)
    return ee.audit(model, people, schema=schema, scm=[("qqincome", "qqsavings")], subgroups={"poor": "qqincome < 45"})


def strict(**income) -> ee.Audit:
    """A world of orders, prices and rules, which stand in the way of some."""
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"qqsex": rng.choice(["qq-f", "qq-m"], 200), "qqincome": rng.normal(30, 8, 200).round(1)})
    people["qqschool"], people["qqhome"] = rng.choice(["qqn", "qqb", "qqm"], 200), rng.choice(["qqo", "qqr"], 200)
    points = people["qqincome"] / 8 + 1.2 * (people["qqschool"] == "qqm") + 0.6 * (people["qqschool"] == "qqb")
    points += people["qqhome"] == "qqo"
    encode = make_column_transformer((OneHotEncoder(), ["qqschool", "qqhome"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(max_iter=2000)).fit(
        people.iloc[:, 1:], points > points.quantile(0.6)
    )
    features = {
        "qqincome": ee.Feature("actionable", direction="up", **income),
        "qqschool": ee.Feature(
            "actionable", order=["qqn", "qqb", "qqm"], upper="qqb", direction="up", steps=True, weight=2
        ),
        "qqhome": ee.Feature("actionable", prices={("qqr", "qqo"): 0.4}),
    }
    labels = {
        "groups": LABELS["groups"],
        "features": {"qqsex": "sex", "qqincome": "yearly income", "qqschool": "schooling", "qqhome": "housing"},
        "levels": {"qqschool": {"qqn": "none", "qqb": "BA", "qqm": "MA"}, "qqhome": {"qqo": "owner", "qqr": "tenant"}},
    }
    schema = ee.Schema(
        sensitive="qqsex", protected="qq-f", favourable=True, features=features, labels=labels,
        rules=["if qqhome = 'qqo' then qqincome >= 25", ee.Forbidden("qqschool", [("qqn", "qqm")]), "qqincome < 90"],
    )  # fmt: skip
    return ee.audit(model, people, schema=schema, scm=[])


@pytest.fixture(scope="module")
def orders() -> ee.Audit:
    return strict(max_increase=4).with_notions()


def letters_of(audit: ee.Audit, folder) -> str:
    audit.letters(folder, format="md")
    return "\n".join(path.read_text("utf-8") for path in folder.glob("*.md"))


STRICT = {
    "everybody explained": lambda audit, folder: "\n".join(str(audit.explain(k)) for k in range(200)),
    "letters": letters_of,
    "limits": lambda audit, folder: words(audit.plot.limits().svg),
    "notions": lambda audit, folder: words(audit.plot.notions().svg) + str(audit.provenance.notions),
    "responsiveness": lambda audit, folder: words(audit.plot.responsiveness().svg),
    "equality of effort": lambda audit, folder: str(audit.equality_of_effort("qqincome")),
    "what if": lambda audit, folder: str(ee.compare_audits(audit, strict(max_increase=8))),
}


@pytest.mark.parametrize("what", STRICT)
def test_orders_prices_rules_and_reasons_are_told_in_labels(orders, what, tmp_path):
    text = STRICT[what](orders, tmp_path / "letters")
    assert "qq" not in text, [line for line in text.splitlines() if "qq" in line][:5]
    assert "yearly income" in text
    if what == "letters":
        assert "upper limit BA" in text


def test_the_report_of_orders_prices_and_rules_is_told_in_labels(orders):
    page = words(render(orders))
    # Remarks about the table keep its names.
    told = [line for line in page.splitlines() if "qq" in line and "Outside the declared" not in line]
    assert not [line for line in told if "No edge of the graph" not in line], told
    assert "none < BA < MA" in page
    assert "tenant to owner of 0.4" in page
    assert "schooling must not change from none to MA" in page
    assert "if housing = owner then yearly income >= 25" in page


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return made(LABELS)


def words(page: str) -> str:
    body = re.sub(r"<style.*?</style>|<script.*?</script>", "", page, flags=re.S)
    return html.unescape(re.sub(r"<[^>]+>", "\n", body))


READ = {
    "verdict": lambda audit: str(audit.verdict),
    "subgroup": lambda audit: str(audit.subgroup("qqincome < 45 and qqjob in ('qqa')")),
    "everybody explained": lambda audit: "\n".join(str(audit.explain(k)) for k in range(160)),
    "notions": lambda audit: str(audit.notions()) + audit.notions()._repr_html_(),
    "facts": lambda audit: str(audit.facts()),
    "group routes": lambda audit: str(audit.group_routes()),
    "counterfactual fairness": lambda audit: str(audit.counterfactual_fairness()),
    "causal discrimination": lambda audit: str(audit.causal_discrimination()),
    "search": lambda audit: str(audit.search_subgroups()),
    "everything printed": lambda audit: str(audit) + repr(audit) + repr(audit.explain(1)),
    "subgroup in a notebook": lambda audit: audit.subgroup("qqincome < 45")._repr_html_(),
    "caveats": lambda audit: "\n".join(one["text"] for one in summary(audit)["caveats"]),
}


@pytest.mark.parametrize("what", READ)
def test_readers_never_meet_the_names_of_the_table(audit, what):
    text = READ[what](audit)
    assert "qq" not in text, text
    assert any(label in text for label in ("women", "yearly income", "skilled", "sex"))


def test_the_sentences_are_those_that_are_wanted(audit):
    wanted = r"of \d+ refused women who have a route to approval need [\d.]+ times the effort of the"
    assert re.search(wanted, str(audit.verdict))
    told = [str(audit.explain(k)) for k in range(160)]
    assert any("set yearly income from" in text for text in told)
    assert any("set work from unskilled to skilled, cost" in text for text in told)
    assert any("yearly income stops at" in text for text in told)
    assert any("savings then follows from" in text for text in told)


def test_page_and_card_are_told_in_labels(audit):
    # Warnings are about the table, and the equations in full are what numpy evaluates.
    allowed = re.compile(r"No edge of the graph mentions|qqsavings = .*qqincome")
    for text in (words(render(audit)), model_card(audit)):
        lines = [line for line in text.splitlines() if "qq" in line and not allowed.search(line)]
        assert not lines, lines
        assert "women" in text
        assert "yearly income" in text


def test_data_keep_their_names_and_numbers(audit, tmp_path):
    plain = made({})
    pd.testing.assert_frame_equal(audit.by_group, plain.by_group)
    assert measures_csv(audit) == measures_csv(plain)
    frames = [a.recourse.frame().drop(columns="reason") for a in (audit, plain)]
    pd.testing.assert_frame_equal(*frames)
    assert recourse_csv(audit).splitlines()[0] == recourse_csv(plain).splitlines()[0]
    step = next(step for k in range(160) for step in audit.explain(k).steps)
    assert step.feature in ("qqincome", "qqjob")
    audit.save(tmp_path / "a.audit")
    again = ee.load(tmp_path / "a.audit")
    assert str(again.verdict) == str(audit.verdict)
    assert render(again) == render(audit)
    assert again.recourse.source.schema.names == Labels.of(LABELS)


def test_rules_are_told_in_labels():
    names = Labels.of(LABELS)
    rule = "not (qqincome > 3 or `other one` = 2) and qqjob in ('qqa', 'x') and qqsavings between 1 and 2"
    assert told_rule(rule, names) == (
        "not (yearly income > 3 or `other one` = 2) and work in (unskilled, 'x') and savings between 1 and 2"
    )
    assert told_rule(rule, Labels()) == rule


def test_groups_of_several_columns_are_called_by_all_their_values():
    schema = ee.Schema(
        sensitive=["sex", "young"], protected=("f", 1), reference=("m", 0), favourable=1,
        labels={"groups": {("f", 1): "young women"}, "levels": {"sex": {"m": "men"}}, "features": {"young": "youth"}},
    )  # fmt: skip
    people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "young": [1, 0, 1, 0]})
    groups = Groups.of(people, schema)
    assert groups.people("f & 1") == "young women"
    assert groups.name("m & 0") == "sex = men and youth = 0"


def test_a_group_that_is_a_whole_number_is_named_with_its_point_or_without():
    """A column of 0 and 1 is of floats once a cell is empty, or in a Stata file: 1.0 is the 1 that people write."""
    people = pd.DataFrame({"sex": ["f", "f", "m", "m"], "young": [1.0, 0.0, 1.0, 0.0]})
    for key in (1, 1.0, "1", "1.0"):
        schema = ee.Schema(sensitive="young", protected=1, favourable=1, labels={"groups": {key: "the young"}})
        groups = Groups.of(people, schema)
        schema.names.check(people.columns, groups.labels)
        assert (groups.people("1.0"), groups.people("0.0")) == ("the young", "people with young = 0.0")
    schema = ee.Schema(
        sensitive=["sex", "young"], protected=("f", 1), reference=("m", 0), favourable=1,
        labels={"groups": {("f", 1): "young women"}},
    )  # fmt: skip
    groups = Groups.of(people, schema)
    schema.names.check(people.columns, groups.labels)
    assert groups.people("f & 1.0") == "young women"
    # Where 1 and 1.0 are texts, they are two groups, and one name would be read as that of both.
    texts = people.assign(young=["1", "1.0", "1", "1.0"])
    schema = ee.Schema(sensitive="young", protected="1", favourable=1, labels={"groups": {"1": "the young"}})
    with pytest.raises(SchemaError, match=r"there is a group '1\.0' too"):
        schema.names.check(texts.columns, Groups.of(texts, schema).labels)


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"groups": {"qq-f": "people", "qq-m": "people"}}, "Two groups would both be called 'people'"),
        ({"features": {"qqincom": "income"}}, "Did you mean 'qqincome'?"),
        ({"groups": {"f": "women"}}, "labels.groups names 'f', which is no group"),
        ({"levels": {"job": {"a": "b"}}}, "labels.levels names 'job', which is no column"),
        ({"levels": {"qqjob": {"qqaa": "b"}}}, "names 'qqaa', which is no level of 'qqjob'. Did you mean 'qqa'?"),
        ({"levels": {"qqincome": {"much": "b"}}}, "labels.levels names 'much', which is no level of 'qqincome'"),
        ({"features": {"qqincome": "qqsavings"}}, "the name of something else"),
        ({"group": {}}, "labels has no part 'group'"),
        ({"groups": {"qq-f": 3}}, "no name that can be read"),
        ({"groups": {"qq-f": " "}}, "no name that can be read"),
        ({"groups": ["women"]}, "labels.groups"),
        ("women", "labels"),
    ],
)
def test_labels_that_would_mislead_are_refused(labels, says):
    with pytest.raises(SchemaError) as caught:
        made(labels)
    assert says in caught.value.what
