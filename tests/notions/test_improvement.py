"""Improvement-only effort: closed forms of a linear score, people who lose their route, ranges, and refusals."""

from math import inf, nan

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.notions.made import audited_of, table_of, world

import equieffort as ee
from equieffort.notions.improvement import Improvement, _compared

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")


def loan(n=300, *, cost=None, most=inf, edges=(("income", "savings"),)):
    """Income causes repayment and savings; cards only please the model. Score: income + savings + 2 cards."""
    rng = np.random.default_rng(4)
    sex = rng.integers(0, 2, n)
    income = rng.normal(sex, 1)
    people = pd.DataFrame(
        {"sex": np.where(sex, "m", "f"), "income": income, "savings": income / 2 + rng.normal(size=n),
         "cards": rng.normal(size=n)}
    )  # fmt: skip
    model = ee.LinearScore({"income": 1.0, "savings": 1.0, "cards": 2.0}, threshold=2.0)
    features = {
        "income": ee.Feature("actionable", lower=-inf, upper=inf if most == inf else None,
                             max_increase=None if most == inf else most),
        "savings": "mutable",
        "cards": ee.Feature("actionable", lower=-inf, upper=inf),
    }  # fmt: skip
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features)
    scm = ee.StructuralCausalModel(list(edges), mechanisms={"savings": ee.Linear({"income": 0.5})})
    return ee.audit(model, people, schema=schema, scm=scm, cost=cost), people


def test_closed_form():
    """One unit of income gives 1.5 of score, one of cards 2: the cheaper a range against 1.5 / range of income."""
    audit, people = loan()
    found = audit.improvement_only(["income"])
    need = 2 - (people["income"] + people["savings"] + 2 * people["cards"])
    income = need / 1.5 / np.ptp(people["income"])
    cards = need / 2 / np.ptp(people["cards"])
    refused = need > 0
    extra = (income - np.minimum(income, cards))[refused]
    assert found.people["extra"].to_numpy() == pytest.approx(extra.to_numpy(), abs=1e-6)
    assert extra.max() > 0
    rows = found.frame().set_index(["notion", "group"])
    women = extra[people["sex"][refused] == "f"]
    men = extra[people["sex"][refused] == "m"]
    assert rows.loc[("improvement_extra", "f"), "estimate"] == pytest.approx(women.mean())
    gap = rows.loc[("improvement_extra_gap", "f")]
    assert gap["estimate"] == pytest.approx(women.mean() - men.mean())
    assert (gap["n"], gap["n_against"]) == (len(women), len(men))
    assert gap["low"] < gap["estimate"] < gap["high"]
    assert rows.loc[("improvement_lost", "f"), "estimate"] == 0


def test_percentile_costs_are_those_of_the_audit():
    audit, _ = loan(40, cost=ee.Percentile())
    found = audit.improvement_only(["income", "cards"])
    assert found.people["extra"].to_numpy() == pytest.approx(0, abs=1e-9)
    bound = audit.inputs.problem.cost
    facts, values = np.array([[0.1, 0.2]]), np.array([[1.0, -0.4]])
    assert bound.among([1]).parts(facts[:, 1:], values[:, 1:])[0, 0] == bound.parts(facts, values)[0, 1]


def test_those_who_lose_their_route_are_counted_apart():
    audit, people = loan(most=0.5)
    found = audit.improvement_only(["income"])
    need = 2 - (people["income"] + people["savings"] + 2 * people["cards"])
    lost = (need > 0.75)[need > 0]
    assert found.people["lost"].tolist() == lost.tolist()
    assert found.people["extra"].isna().tolist() == lost.tolist()
    rows = found.frame().set_index(["notion", "group"])
    for group in "fm":
        mine = lost[people["sex"] == group]
        assert rows.loc[("improvement_lost", group), "estimate"] == pytest.approx(mine.mean())
        assert rows.loc[("improvement_extra", group), "n_undefined"] == mine.sum()
        assert rows.loc[("improvement_extra", group), "n"] == (~mine).sum()


def test_holding_a_feature_that_is_no_cause_is_no_action():
    """X1 moves X3, which counts against it; whoever may hold X3 needs less, and improvement may not hold it."""
    people = pd.DataFrame({"sex": ["f", "m"] * 3, "x": np.linspace(0, 5, 6), "y": np.linspace(0, -2.5, 6)})
    model = ee.LinearScore({"x": 1.0, "y": 1.0}, threshold=2.0)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"x": ee.Feature("actionable", lower=0, upper=99),
                  "y": ee.Feature("actionable", max_increase=0, max_decrease=0)},
    )  # fmt: skip
    scm = ee.StructuralCausalModel([("x", "y")], mechanisms={"y": ee.Linear({"x": -0.5})})
    found = ee.audit(model, people, schema=schema, scm=scm).improvement_only(["x"]).people
    # Holding y each unit of x counts fully, otherwise half.
    assert found["improvement"].to_numpy() == pytest.approx(2 * found["effort"].to_numpy())


def test_the_outcome_of_the_graph_names_its_ancestors():
    audit, _ = loan()
    by_node = audit.improvement_only(outcome="savings")
    assert by_node.readings == audit.improvement_only(["income"]).readings


def test_trees_never_need_less_and_the_same_causes_need_the_same():
    audit, _ = world(60, DecisionTreeClassifier(max_depth=3, random_state=0), X1="mutable")
    every = audit.improvement_only(["X2", "X3"]).people
    assert every["extra"].to_numpy() == pytest.approx(0, abs=1e-9)
    assert (audit.improvement_only(["X2"]).people["extra"].dropna() >= 0).all()


def test_what_is_not_solved_to_the_end_leaves_a_range():
    """a: extra 0.3 and one unknown again; b: bound 0.4 instead of 0.5 again, so that the extra is 0.1 to 0.3."""
    audited = audited_of("aab", "ooo", [0.2, 0.2, 0.2], bounds=[0.2, 0.2, 0.2])
    again = table_of("aab", "ouf", [0.5, nan, 0.5], [0.5, 0.3, 0.4])
    rows = {(one.notion, one.group): one for one in _compared(audited, again, ("x",))}
    mine, theirs = rows["improvement_extra", "a"], rows["improvement_extra", "b"]
    assert (mine.estimate, mine.n, mine.n_undefined) == (pytest.approx(0.3), 1, 1)
    assert mine.least == pytest.approx(0.15)
    assert mine.most == inf
    assert "UNCERTIFIED" in mine.note
    assert (theirs.estimate, theirs.least, theirs.most) == pytest.approx((0.3, 0.2, 0.3))
    lost = rows["improvement_lost", "a"]
    assert (lost.estimate, lost.least, lost.most, lost.note) == (0.0, 0.0, 0.5, "UNCERTIFIED")


def test_nobody_with_a_route():
    audited = audited_of("aab", "iin", [nan] * 3)
    rows = _compared(audited, audited.table, ("x",))
    assert all(np.isnan(one.estimate) for one in rows)
    assert {one.note for one in rows} == {"NO_RECOURSE"}


def test_it_asks_for_causes_and_refuses_what_is_none():
    audit, _ = loan(40)
    assert {"causes" in one.why for one in Improvement().readings(audit._audited())} == {True}
    for given, code in (
        ({}, "PARAMETER"),
        ({"causes": ["incme"]}, "PARAMETER"),
        ({"causes": ["savings"]}, "PROBLEM_NOTHING_ACTIONABLE"),
        ({"outcome": "repaid"}, "PARAMETER"),
        ({"causes": 3}, "PARAMETER"),
        ({"causes": ["income"], "outcome": "savings"}, "PARAMETER"),
    ):
        with pytest.raises(ee.errors.EquieffortError) as caught:
            audit.improvement_only(**given)
        assert caught.value.code == code


def test_the_interval_holds_its_level():
    """Efforts gamma, the extra 0.4 times another: truth 0.4 (0.5 - 0.3); 400 pairs of tables of 100 people a group."""
    rng, held = np.random.default_rng(6), 0
    for _ in range(400):
        costs = rng.gamma(2.0, 0.2, 200)
        extra = 0.4 * rng.gamma(2.0, np.repeat([0.25, 0.15], 100))
        groups = "a" * 100 + "b" * 100
        audited = audited_of(groups, "o" * 200, costs)
        rows = _compared(audited, table_of(groups, "o" * 200, costs + extra), ("x",))
        gap = next(one for one in rows if one.notion == "improvement_extra_gap")
        held += gap.low <= 0.4 * 0.2 <= gap.high
    assert held / 400 > 0.95 - 4 * (0.95 * 0.05 / 400) ** 0.5
