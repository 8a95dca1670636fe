"""Rewards by rank within the own group: by hand, against direct counts, and gains against an exhaustive search."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier
from tests.notions.made import audited_of, table_of, world

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.notions.rewards.ranks import turned
from equieffort.notions.rewards.readings import decision_readings


def earners(model=None, **more):
    """Women who earn 0 to 3, men who earn 0, 4, 8, 12; approved from 2 on."""
    people = pd.DataFrame({"sex": list("ffffmmmm"), "income": [0.0, 1, 2, 3, 0, 4, 8, 12]})
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"income": "actionable"})
    rule = ee.LinearScore({"income": 1}, threshold=2) if model is None else model
    return ee.audit(rule, people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people), **more)


def reading(found, notion, variant, group):
    rows = found.frame()
    rows = rows[(rows["notion"] == notion) & (rows["variant"] == variant) & (rows["group"] == group)]
    assert len(rows) == 1
    return rows.iloc[0]


def test_by_hand():
    """She at 0 overtakes two of four women, she at 1 one of four; he at 0 half of the way to the next of four men."""
    found = earners().effort_rewards([0.1, 0.25, 0.5])
    np.testing.assert_allclose(found.people["effort"], [0.5, 0.25, 0.125], atol=1e-9)
    for delta, women, men in ((0.1, 0, 0), (0.25, 1, 1), (0.5, 2, 1)):
        variant = f"decision, refused, effort at most {delta:g}"
        assert reading(found, "bounded_reward", variant, "f")["estimate"] == women / 2
        assert reading(found, "bounded_reward", variant, "m")["estimate"] == men / 1
        variant = f"decision, everybody, effort at most {delta:g}"
        assert reading(found, "bounded_reward", variant, "f")["estimate"] == women / 4
        gap = reading(found, "bounded_reward_gap", variant, "f")
        assert gap["estimate"] == women / 4 - men / 4
        assert (gap["n"], gap["n_against"]) == (4, 4)
    assert reading(found, "threshold_reward", "decision, with a route", "f")["estimate"] == pytest.approx(0.375)
    gap = reading(found, "threshold_reward_gap", "decision, with a route", "f")
    assert gap["estimate"] == pytest.approx(0.25)


def test_an_audit_by_the_same_ranks_is_not_solved_again():
    audit = earners(cost=ee.Percentile(within="group"))
    assert audit.effort_rewards().recourse is audit.recourse
    other = earners().effort_rewards(cost=ee.WeightedL1())
    np.testing.assert_allclose(other.people["effort"], [2 / 12, 1 / 12, 2 / 12], atol=1e-9)


def test_people_without_a_route_are_counted():
    """a: 0.1, none, none; b: 0.3, 0.4. At most 0.2 turns one of three; the mean is over one, and over three at 0.5."""
    audited = audited_of("aaabb", "oiioo", [0.1, np.nan, np.nan, 0.3, 0.4])
    found = decision_readings(audited, audited.table, np.arange(5), "", [0.2], 0.5)
    rows = {(one.notion, one.variant, one.group): one for one in found}
    one = rows["bounded_reward", "decision, refused, effort at most 0.2", "a"]
    assert (one.estimate, one.n) == (pytest.approx(1 / 3), 3)
    one = rows["threshold_reward", "decision, with a route", "a"]
    assert (one.estimate, one.n, one.n_undefined) == (pytest.approx(0.1), 1, 2)
    one = rows["threshold_reward", "decision, at most 0.5", "a"]
    assert (one.estimate, one.n, one.n_undefined) == (pytest.approx((0.1 + 0.5 + 0.5) / 3), 3, 0)


def test_who_is_not_solved_to_the_end_leaves_a_range():
    """f may cost 0.1 or 0.4, u anything from 0.05 on: within 0.2 nobody of the two is certain."""
    table = table_of("aaab", "ofuo", [0.1, 0.4, np.nan, 0.1], bounds=[0.1, 0.1, 0.05, 0.1])
    yes, open_ = turned(table, 0.2)
    assert yes.tolist() == [True, False, False, True]
    assert open_.tolist() == [False, True, True, False]
    yes, open_ = turned(table, 0.04)
    assert not (yes | open_).any()
    audited = audited_of("aaab", "ofuo", [0.1, 0.4, np.nan, 0.1], bounds=[0.1, 0.1, 0.05, 0.1])
    one = decision_readings(audited, audited.table, np.arange(4), "", [0.2], None)[0]
    assert (one.least, one.most, one.note) == (pytest.approx(1 / 3), 1.0, "UNCERTIFIED")


def test_nobody_refused_and_no_budget_are_said():
    audited = audited_of("aabb", "nnii", [np.nan] * 4)
    rows = {
        (one.notion, one.variant, one.group): one.note
        for one in decision_readings(audited, audited.table, np.arange(4), "", [0.2], None)
    }
    assert rows["bounded_reward", "decision, refused, effort at most 0.2", "a"] == "NO_REFUSED"
    assert rows["threshold_reward", "decision, with a route", "b"] == "NO_RECOURSE"
    assert rows["threshold_reward", "decision, at most budget", "b"] == "NO_BUDGET"


def three_steps(n=10, seed=2):
    """Two whole numbers from 0 to 6 and a logistic score that reads both."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {"sex": ["f", "m"] * (n // 2), "a": rng.integers(0, 7, n), "b": rng.integers(0, 7, n)},
    )
    whole = ee.Feature("actionable", kind="integer", lower=0, upper=6)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=1, features={"a": whole, "b": whole})
    model = LogisticRegression().fit(people[["a", "b"]], people["a"] - people["b"] > 0)
    model.classes_ = np.array([0, 1])
    scm = ee.StructuralCausalModel([], nodes=["a", "b"]).fit(people)
    return ee.audit(model, people, schema=schema, scm=scm), people, model


def own_rank(values, at):
    known = np.unique(values)
    shares = np.array([np.mean(values <= one) for one in known])
    beyond = (min(at - known[0], 0) + max(at - known[-1], 0)) / (known[-1] - known[0])
    return np.interp(at, known, shares) + beyond


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("benefit", ["probability", "score"])
def test_gains_against_every_point_of_a_grid(benefit):
    audit, people, model = three_steps()
    found = audit.effort_rewards([0.3], benefit=benefit, gain=0.15)
    grid = pd.DataFrame([(a, b) for a in range(7) for b in range(7)], columns=["a", "b"])

    def worth(table):
        return model.predict_proba(table)[:, 1] if benefit == "probability" else model.decision_function(table)

    best, least = [], []
    for _, one in people.iterrows():
        own = people[people["sex"] == one["sex"]]
        cost = np.zeros(len(grid))
        for name in ("a", "b"):
            at = [own_rank(own[name].to_numpy(), value) for value in range(7)]
            cost += np.abs(np.array(at)[grid[name]] - own_rank(own[name].to_numpy(), one[name]))
        gain = worth(grid) - worth(pd.DataFrame([one[["a", "b"]]]).astype(int))[0]
        best.append(gain[cost <= 0.3 + 1e-9].max())
        least.append(cost[gain >= 0.15].min() if (gain >= 0.15).any() else np.nan)
    size = np.ptp(worth(people[["a", "b"]]))
    np.testing.assert_allclose(found.people["gain_within_0.3"], best, atol=2e-4 * size)
    np.testing.assert_allclose(found.people["effort_for_0.15"], least, atol=1e-9)
    variant = f"{benefit}, everybody, effort at most 0.3"
    women = (people["sex"] == "f").to_numpy()
    gap = reading(found, "bounded_gain_gap", variant, "f")
    assert gap["estimate"] == pytest.approx(np.mean(np.array(best)[women]) - np.mean(np.array(best)[~women]), abs=1e-3)
    one = reading(found, "threshold_reward", f"{benefit} gain of 0.15, everybody, with a route", "f")
    assert one["n_undefined"] == int(np.isnan(np.array(least)[women]).sum())


def test_gains_of_other_models_are_refused_with_a_reason():
    audit, _ = world(60, model=DecisionTreeClassifier(max_depth=2, random_state=0))
    found = audit.effort_rewards(benefit="probability")
    assert all("no single linear score" in one.why for one in found.readings)
    told = earners().effort_rewards(benefit="probability")
    assert all('benefit="score"' in one.why for one in told.readings)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_who_cannot_be_ranked_is_said():
    people = pd.DataFrame({"sex": list("ffffmmmm"), "income": [1.0, 1, 1, 1, 0, 4, 8, 12]})
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={"income": "actionable"})
    rule = ee.LinearScore({"income": 1}, threshold=2)
    audit = ee.audit(rule, people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people))
    told = audit.effort_rewards()
    assert "single value 1 among the reference people with sex = f" in told.readings[0].why
    missing = {one.notion for one in audit.notions(only=["effort_rewards"]).missing}
    assert missing == {"bounded_reward", "bounded_reward_gap", "threshold_reward", "threshold_reward_gap",
                       "bounded_gain", "bounded_gain_gap"}  # fmt: skip


@pytest.mark.parametrize(
    "wrong",
    [{"deltas": []}, {"deltas": [-1]}, {"deltas": ["a"]}, {"benefit": "x"}, {"gain": 0.1}, {"budget": 0}, {"cost": 1},
     {"most_people": 0}, {"gain": 0, "benefit": "score"}],
    ids=str,
)  # fmt: skip
def test_bad_arguments(wrong):
    with pytest.raises(ParameterError):
        earners().effort_rewards(**wrong)


def test_of_more_people_some_are_drawn():
    audit, _ = world(80)
    found = audit.effort_rewards([0.25], most_people=30)
    assert len(found.recourse) == 30
    assert all(one.note.startswith("SAMPLED") for one in found.readings)
    everybody = audit.effort_rewards([0.25])
    same = everybody.people.loc[found.people.index]
    np.testing.assert_allclose(same["effort"], found.people["effort"], rtol=1e-9)


def test_notions_read_it_beside_the_others():
    told = earners().notions(only=["effort_rewards"])
    assert {one.notion for one in told.missing} == {"bounded_gain", "bounded_gain_gap"}
    frame = told.frame()
    row = frame[
        (frame["notion"] == "bounded_reward_gap")
        & frame["variant"].str.startswith("decision, refused, effort at most 0.25")
    ]
    assert row["estimate"].iloc[0] == pytest.approx(-0.5)
