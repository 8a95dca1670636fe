"""What one person can do: steps that replay by hand, words for every status, and markup that stays text."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.limits import unlimited

import equieffort as ee
from equieffort.errors import DataError
from equieffort.models.fidelity import RecordedDecisions, Surrogate
from equieffort.results.explanation import Explanation, Step, round_away
from equieffort.results.provenance import LeftOut

# income -> savings (half of it is saved); the score wants 10 points of income, savings and a certificate.
PEOPLE = pd.DataFrame(
    {
        "group": ["a", "b", "a", "b", "a"],
        "income": [2.0, 4.0, 30.0, 2.0, 2.0],
        "savings": [1.0, 2.0, 0.0, 1.0, 1.0],
        "fixed": [0.0, 0.0, 0.0, -90.0, 0.0],
    },
    index=["ann", "bob", "cy", "dee", "eve"],
)


def audit(score=None, people=PEOPLE, **features) -> ee.Audit:
    chosen = {
        "income": ee.Feature("actionable", max_increase=20),
        "savings": "mutable",
        "fixed": "immutable",
    } | features
    schema = ee.Schema(sensitive="group", protected="a", favourable=True, features=unlimited(chosen))
    edges = [("income", "savings")]
    mechanisms = {"savings": ee.Linear({"income": 0.5})}
    scm = ee.StructuralCausalModel(edges, nodes=["group", "fixed"], mechanisms=mechanisms).fit(people)
    model = ee.LinearScore(score or {"income": 1.0, "savings": 1.0, "fixed": 1.0}, threshold=10.0)
    return ee.audit(model, people, schema=schema, scm=scm, cost=ee.WeightedL1(ee.Range((0.0, 1.0))))


@pytest.fixture(scope="module")
def plain() -> ee.Audit:
    return audit()


def test_steps_replay_by_hand(plain):
    # ann lacks 7 points and each unit of income brings 1.5: income 2 -> 2 + 14/3, savings follow by 7/3.
    found = plain.explain("ann")
    change = 7 / 1.5
    assert (found.person, found.group, found.status, found.reason) == ("ann", "a", "optimal", "")
    assert [(s.feature, s.kind) for s in found.steps] == [("income", "set"), ("savings", "follows")]
    income, savings = found.steps
    assert (income.before, savings.before) == (2.0, 1.0)
    assert income.after == pytest.approx(2 + change)
    assert savings.after == pytest.approx(1 + change / 2)
    # Cost in shares of the range of income, 28; what follows is free.
    assert (income.cost, savings.cost) == (pytest.approx(change / 28), 0.0)
    assert found.cost == pytest.approx(change / 28)
    assert sum(found.frame()["cost"]) == pytest.approx(found.cost)


def test_words_for_somebody_who_can_act(plain):
    text = str(plain.explain("ann"))
    assert text.startswith("Person ann (a): turns the decision at a cost of 0.1667; no cheaper action exists.")
    # The data have no decimals; one more is shown, and what is set is rounded away from the fact.
    assert "1. set income from 2 to 6.7 (+4.7), cost 0.1667" in text
    assert "-> savings then follows from 1 to 3.3 (+2.3)" in text


def test_words_for_somebody_who_need_not(plain):
    found = plain.explain("cy")
    assert found.status == "not_needed"
    assert found.steps == ()
    assert str(found) == "Person cy (a): the decision is favourable already; nothing is needed."


def test_words_for_somebody_who_cannot(plain):
    found = plain.explain("dee")
    assert found.status == "infeasible"
    assert found.steps == ()
    assert found.bound == np.inf
    assert found.reason == plain.recourse.frame().loc["dee", "reason"]
    text = str(found)
    assert text.startswith("Person dee (b): no allowed action turns the decision.")
    # 97 points are missing, and 20 more income gives 30.
    assert f"cover {int(100 * 30 / 97)} % of the distance to approval" in text
    assert "income" in text


def test_holding_a_feature_is_a_step():
    # Savings now count against the person, so it pays to keep them where they are.
    found = audit({"income": 1.0, "savings": -1.0, "fixed": 1.0}, savings=ee.Feature("actionable", direction="up"))
    steps = {s.feature: s for s in found.explain("ann").steps}
    assert steps["savings"].kind == "hold"
    assert steps["savings"].before == steps["savings"].after == 1.0
    assert steps["savings"].cost == 0.0
    # 10 - (2 - 1) = 9 points, one a unit of income.
    assert steps["income"].after == pytest.approx(11.0)
    text = str(found.explain("ann"))
    assert "keep savings at 1 although its causes change" in text
    assert text.index("set income") < text.index("keep savings")


def test_steps_over_features_of_every_kind():
    rng = np.random.default_rng(0)
    n = 60
    people = pd.DataFrame(
        {
            "group": rng.choice(["a", "b"], n),
            "income": rng.integers(0, 9, n),
            "savings": rng.normal(size=n),
            "fixed": np.zeros(n) + rng.integers(0, 2, n),
            "job": rng.choice(["cook", "smith"], n),
            "owner": rng.choice([True, False], n),
        }
    )
    wanted = (people["job"] == "smith") * 3 + people["owner"] * 2.0 + people["income"] + rng.normal(size=n) > 7
    columns = ["income", "job", "owner"]
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression()).fit(people[columns], wanted)
    cheap = ee.Feature("actionable", weight=0.1)
    features = {"income": "actionable", "job": cheap, "owner": cheap}
    schema = ee.Schema(sensitive="group", protected="a", favourable=True, features=unlimited(features))
    scm = ee.StructuralCausalModel([], nodes=list(people.columns)).fit(people)
    found = ee.audit(model, people, schema=schema, scm=scm)
    after = found.recourse.counterfactuals()
    kinds = set()
    for row in np.flatnonzero(found.recourse.has_action):
        explained = found.explain(row)
        assert sum(s.cost for s in explained.steps) == pytest.approx(explained.cost)
        for step in explained.steps:
            assert step.before == people.loc[row, step.feature]
            assert step.after == after.loc[row, step.feature]
            assert type(step.after) in (int, str, bool, float)
            kinds.add((step.feature, type(step.after).__name__))
        assert "(+0)" not in str(explained)
    assert kinds == {("job", "str"), ("owner", "bool"), ("income", "int")}


def test_frame_has_its_columns_even_when_empty(plain):
    columns = ["feature", "kind", "before", "after", "cost"]
    assert plain.explain("cy").frame().columns.tolist() == columns
    assert plain.explain("ann").frame().columns.tolist() == columns
    assert len(plain.explain("ann").frame()) == 2


@pytest.mark.parametrize(
    ("status", "part"),
    [
        ("feasible", "at a cost of 3; no action costs less than 1.5."),
        ("unknown", "no action was found and none was excluded. The clock ran out."),
        ("infeasible", "no allowed action turns the decision. The clock ran out."),
    ],
)
def test_words_for_what_is_not_proven(status, part):
    assert part in str(Explanation("ann", "a", status, 3.0, 1.5, (), "The clock ran out."))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (Step("job", "set", "cook", "smith", 1.0), "set job from cook to smith, cost 1"),
        (Step("owner", "set", False, True, 0.5), "set owner from False to True, cost 0.5"),
        (Step("amount", "set", 5000, 1234.5, 0.25), "set amount from 5,000 to 1,234.5 (-3,765.5), cost 0.25"),
        (Step("amount", "follows", 1, 2, 0.0), "amount then follows from 1 to 2 (+1)"),
    ],
)
def test_words_of_a_step(step, words):
    assert str(step) == words


def test_markup_stays_text():
    hostile = "<script>alert('\"&')</script>"
    found = Explanation(hostile, "<b>", "optimal", 1.0, 1.0, (Step(hostile, "set", "<i>", "</pre>", 1.0),), "")
    html = found._repr_html_()
    assert html.count("&lt;script&gt;") >= 2
    assert not re.findall(r"</?(script|i|b|pre)\b[^>]*>", html)
    assert hostile in str(found)


@pytest.mark.parametrize("value", [40.5000000001, 40.4999999, 12.3456789, -3.00000049, 1e-7, 123456.7, 0.1 + 0.2])
@pytest.mark.parametrize("fact", [0.0, 30.0, -50.0])
def test_a_value_to_be_set_is_never_shown_short_of_what_is_needed(fact, value):
    shown = round_away(fact, value)
    assert (shown - value) * (value - fact) >= 0
    assert abs(shown - value) <= 1.0000001 * 10.0 ** (np.floor(np.log10(abs(value))) - 5)
    assert float(f"{shown:.6g}") == shown


def test_whole_numbers_words_and_what_follows_are_shown_as_they_are():
    assert str(Step("age", "set", 30, 40, 0.1)).startswith("set age from 30 to 40 (+10)")
    assert "to 40.5001 (+10.5001)" in str(Step("age", "set", 30.0, 40.5000000001, 0.1))
    assert "to 40.5 (+10.5)" in str(Step("age", "follows", 30.0, 40.5000000001, 0.1))
    assert str(Step("job", "set", "cook", "judge", 1.0)) == "set job from cook to judge, cost 1"


def test_what_is_shown_stays_inside_the_limit():
    # 2 + 14/3 = 6.667 is needed and 6.67 is allowed: 6.7 would be too much.
    found = audit(income=ee.Feature("actionable", max_increase=4.67)).explain("ann")
    assert "set income from 2 to 6.66667 (" in str(found)
    assert "set income from 2 to 6.7 (" in str(audit(income=ee.Feature("actionable", max_increase=4.7)).explain("ann"))


@pytest.mark.parametrize(("value", "places", "shown"), [(50.3975, 2, 50.4), (36.21, 1, 36.3), (36.2, 1, 36.2)])
def test_no_more_decimals_than_worth_showing(value, places, shown):
    assert Step("score", "set", 30.0, value, 0.1, places).shown == shown
    assert Step("score", "follows", 30.0, value, 0.0, places).shown == round(value, places)


def test_large_changes_are_written_out():
    words = "set wealth from 1,000,000 to 3,500,000 (+2,500,000), cost 1"
    assert str(Step("wealth", "set", 1_000_000, 3_500_000, 1.0)) == words


def of_a_surrogate(plain, **recorded) -> ee.Audit:
    note = Surrogate("ridge", 0.95, {"a": 0.95, "b": 0.95}, required=0.9)
    return plain.with_provenance(surrogate=note, recorded=RecordedDecisions(**recorded) if recorded else None)


def test_a_surrogate_is_said_to_be_one(plain):
    made = of_a_surrogate(plain)
    whose = "This is about a ridge model trained on the decisions, not about the system that made them."
    for person, words in (
        ("cy", "the surrogate's decision is favourable already; nothing is needed."),
        ("ann", "turns the surrogate's decision at a cost of 0.1667"),
        ("dee", "no allowed action turns the surrogate's decision."),
    ):
        text = str(made.explain(person))
        assert words in text
        assert text.endswith(whose)
    assert "surrogate" not in str(plain.explain("ann"))


def test_recorded_decision_beside_that_of_the_surrogate(plain):
    # ann, bob, cy, dee, eve: the surrogate refuses all but cy.
    made = of_a_surrogate(plain, differs=(2, 0), unknown=(4,))
    assert [made.explain(p).recorded for p in PEOPLE.index] == [
        "favourable", "unfavourable", "unfavourable", "unfavourable", "",
    ]  # fmt: skip
    assert "The recorded decision is unfavourable: for this person the surrogate decides" in str(made.explain("cy"))
    assert str(made.explain("bob")).endswith("The recorded decision is unfavourable too.")
    assert "recorded" not in str(made.explain("eve"))


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_group_called_by_a_number_is_named_with_its_column():
    people = pd.DataFrame({"race": [0, 1] * 15, "income": np.arange(30.0)})
    schema = ee.Schema(sensitive="race", protected=1, favourable=True, features={"income": "actionable"})
    rule = ee.LinearScore({"income": 1.0}, threshold=20.0)
    audit = ee.audit(rule, people, schema=schema, scm=[])
    assert str(audit.explain(3)).startswith("Person 3 (race = 1): ")
    named = ee.audit(rule, people, schema=replace(schema, labels={"groups": {"1": "Black people"}}), scm=[])
    assert str(named.explain(3)).startswith("Person 3 (Black people): ")


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_who_left_for_a_missing_value_is_said_to_have_left_and_why(tmp_path):
    X = pd.DataFrame({"g": ["a", "b"] * 10, "income": [float(k) for k in range(20)], "debt": 1.0})
    X["debt"] = [float(k % 3) for k in range(20)]
    X.loc[[3, 8], "income"], X.loc[8, "debt"] = np.nan, np.nan
    schema = ee.Schema(
        sensitive="g", protected="a", favourable=True, features={"income": "actionable", "debt": "mutable"}
    )
    rule = ee.LinearScore({"income": 1.0}, threshold=9.0)
    audit = ee.audit(rule, X, schema=schema, scm=[], missing="drop")
    audit.save(tmp_path / "one.audit")
    for found in (audit, ee.load(tmp_path / "one.audit")):
        with pytest.raises(DataError, match="'3' left the audit: no value of 'income' is known") as caught:
            found.explain(3)
        assert caught.value.code == "DATA_LEFT_OUT"
        with pytest.raises(DataError, match="no value of 'income', 'debt' is known"):
            found.explain(np.int64(8))
        with pytest.raises(DataError, match="No person has the index label 99"):
            found.explain(99)
    assert audit.to_dict()["provenance"]["left"] == 2


def test_who_left_is_kept_up_to_a_bound(monkeypatch):
    monkeypatch.setattr("equieffort.results.provenance.MOST_LEFT", 2)
    kept = LeftOut.of(pd.DataFrame({"x": [True] * 4}, index=list("abcd")))
    assert (kept.count, list(kept.lacking), kept.why("d")) == (4, ["a", "b"], "")
    assert kept.beside(pd.Index(["e"])) == LeftOut(5, kept.lacking)
    with pytest.raises(ValueError, match="more people are named"):
        LeftOut(0, {"a": ("x",)})
