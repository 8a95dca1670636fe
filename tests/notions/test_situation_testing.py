"""Situation testing against a loop over people, by hand, and at its edges."""

import numpy as np
import pandas as pd
import pytest
from tests.notions.made import world

import equieffort as ee
from equieffort.errors import DataError, ParameterError
from equieffort.notions.situations import places_of


def lenders(n=60, seed=0, woman=-2.0):
    """Income, a job and whether somebody is a woman; the rule asks women for more where `woman` is negative."""
    rng = np.random.default_rng(seed)
    people = pd.DataFrame(
        {
            "woman": (rng.random(n) < 0.5).astype(float),
            "income": rng.integers(0, 8, n).astype(float),
            "job": rng.choice(["a", "b"], n),
            "shoe": rng.normal(size=n),
        },
        index=[f"p{k}" for k in range(n)],
    )
    schema = ee.Schema(
        sensitive="woman", protected=1, favourable=True, features={"income": "actionable", "job": "immutable"}
    )  # fmt: skip
    scm = ee.StructuralCausalModel([], nodes=["income"]).fit(people)
    return ee.audit(Rule(woman), people, schema=schema, scm=scm)


class Rule:
    """Income, more in job b, less for women."""

    feature_names_in_ = np.array(["woman", "income", "job"], dtype=object)
    classes_ = np.array([False, True])

    def __init__(self, woman):
        self.woman = woman

    def predict(self, X):
        return np.asarray(X["income"] + 2.0 * (X["job"] == "b") + self.woman * X["woman"] >= 4)


def by_loop(audit, k, tau):
    """Effects, distances and rates written down one by one."""
    people, rule = audit.recourse.data, Rule(audit.inputs.classifier.woman)
    approved = rule.predict(people)
    effect = {
        name: {value: rule.predict(people.assign(**{name: value})).mean() for value in people[name].unique()}
        for name in ("income", "job")
    }
    span = people["income"].max() - people["income"].min()

    def far(i, j):
        one, two = people.iloc[i], people.iloc[j]
        total = abs(effect["income"][one.income] - effect["income"][two.income]) * abs(one.income - two.income) / span
        return total + abs(effect["job"][one.job] - effect["job"][two.job]) * (one.job != two.job)

    def rate(i, group):
        others = sorted(
            (far(i, j), approved[j]) for j in range(len(people)) if j != i and people["woman"].iloc[j] == group
        )
        last = others[k - 1][0]
        nearer = [yes for d, yes in others if d < last - 1e-12]
        level = [yes for d, yes in others if abs(d - last) <= 1e-12]
        return (sum(nearer) + (k - len(nearer)) * np.mean(level)) / k

    found = {}
    for i in range(len(people)):
        own = people["woman"].iloc[i]
        found[people.index[i]] = (rate(i, own), rate(i, 1 - own))
    return found, approved


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_against_a_loop_over_people():
    audit = lenders()
    found = audit.situation_testing(k=3, tau=0.3)
    expected, approved = by_loop(audit, 3, 0.3)
    assert len(found.people) == len(expected)
    for name, row in found.people.iterrows():
        assert (row["rate_own"], row["rate_other"]) == pytest.approx(expected[name], abs=1e-9)
        assert row["discriminated"] == (expected[name][1] - expected[name][0] > 0.3)
    women = audit.recourse.data["woman"].to_numpy() == 1
    worse = np.array([expected[name][1] - expected[name][0] > 0.3 for name in audit.recourse.data.index])
    assert worse[women].any()
    frame = found.frame().set_index(["notion", "variant", "group"])
    for variant, among in (("refused", ~approved), ("everybody", np.ones(len(women), dtype=bool))):
        told = f"{variant}, k = 3, tau = 0.3"
        shares = [worse[among & women].mean(), worse[among & ~women].mean()]
        assert frame.loc[("situation_discriminated", told, "1.0"), "estimate"] == pytest.approx(shares[0])
        assert frame.loc[("situation_discriminated", told, "0.0"), "estimate"] == pytest.approx(shares[1])
        gap = frame.loc[("situation_discriminated_gap", told, "1.0")]
        assert gap["estimate"] == pytest.approx(shares[0] - shares[1])
        assert (gap["n"], gap["n_against"]) == ((among & women).sum(), (among & ~women).sum())
        assert gap["low"] < gap["estimate"] < gap["high"]


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_one_person_and_their_neighbours():
    audit = lenders()
    found = audit.situation_testing(k=3, tau=0.3)
    name = found.people.index[found.people["discriminated"] & (found.people["decision"] == "refused")][0]
    one = found.individual(name)
    row = found.people.loc[name]
    assert (one.rate_own, one.rate_other) == pytest.approx((row["rate_own"], row["rate_other"]))
    assert one.discriminated is True
    assert one.decision == "refused"
    assert name not in one.neighbours.index
    for side in ("own", "other"):
        part = one.neighbours[one.neighbours["side"] == side]
        assert part["place"].sum() == pytest.approx(3)
        assert part["distance"].is_monotonic_increasing
    other = one.neighbours[one.neighbours["side"] == "other"]
    assert (audit.recourse.data.loc[other.index, "woman"] != audit.recourse.data.loc[name, "woman"]).all()
    with pytest.raises(DataError, match="nobody"):
        found.individual("nobody")
    with pytest.raises(ParameterError, match="no other group"):
        found.individual(name, against="x")


def test_equally_far_people_share_the_last_places():
    far = np.array([[0.0, 1.0, 1.0, 1.0, 2.0]])
    np.testing.assert_allclose(places_of(far, np.ones(5, dtype=bool), 2), [[1, 1 / 3, 1 / 3, 1 / 3, 0]])
    np.testing.assert_allclose(places_of(far, np.array([0, 1, 0, 0, 1], dtype=bool), 2), [[0, 1, 0, 0, 1]])
    assert np.isnan(places_of(far, np.array([1, 0, 0, 0, 0], dtype=bool), 2)).all()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_rule_that_does_not_read_the_group_discriminates_nobody():
    audit = lenders(woman=0.0)
    found = audit.situation_testing(k=1, tau=0.0)
    # Whoever has the same income and job is at no distance and decided the same; only boundaries blur.
    same = found.people[(found.people["rate_own"].isin([0, 1])) & (found.people["rate_other"].isin([0, 1]))]
    assert len(same) > 30
    frame = found.frame().set_index(["notion", "variant", "group"])
    assert frame.loc[("situation_discriminated", "everybody, k = 1, tau = 0", "1.0"), "estimate"] < 0.1


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_too_few_people_are_undefined_not_undiscriminated():
    audit = lenders(n=20)
    found = audit.situation_testing(k=19)
    frame = found.frame()
    assert frame["estimate"].isna().all()
    assert (frame["note"] == "TOO_FEW").all()
    assert (frame["n"] == 0).all()
    assert frame[frame["variant"].str.startswith("everybody")]["n_undefined"].max() == 20
    assert found.people["discriminated"].isna().all()
    assert found.individual("p0").discriminated is None


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_its_distance_serves_neighbourhoods_and_files(tmp_path):
    audit = lenders()
    distance = audit.situation_testing(k=5).distance
    near = ee.Nearest(0.3, distance)
    again = ee.audit(
        audit.inputs.classifier, audit.inputs.table, neighbourhood=near, schema=audit.inputs.declared["schema"],
        scm=audit.inputs.declared["scm"],
    )  # fmt: skip
    members = again.neighbours(3, near)
    bound = again.distance(distance).to_all(slice(3, 4))[0]
    assert bound[members].max() <= bound[~members].min()
    again.save(tmp_path / "one.audit")
    kept = ee.Audit.load(tmp_path / "one.audit").neighbourhood
    assert kept == near


def test_numbers_with_many_values_and_the_effect_of_each():
    """With h = 1{x1 + x2 + x3 >= 0} the share approved rises with each."""
    audit, _ = world(200)
    found = audit.situation_testing(k=5, tau=0.1)
    for _, part in found.effects.groupby("feature"):
        assert len(part) <= 33
        assert part["value"].is_monotonic_increasing
    weights = dict(zip(["X1", "X2", "X3"], audit.inputs.classifier.coef_[0], strict=True))
    for name, part in found.effects.groupby("feature"):
        order = part["approved"] if weights[name] > 0 else part["approved"].iloc[::-1]
        assert order.is_monotonic_increasing
    people = audit.recourse.data
    value = people["X1"].iloc[int(people["X1"].argmax())]
    asked = audit.inputs.classifier.predict(people[["X1", "X2", "X3"]].assign(X1=value)).mean()
    assert found.effects.query("feature == 'X1'")["approved"].iloc[-1] == pytest.approx(asked)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_what_it_cannot_read_is_said(tmp_path):
    audit, _ = world(60)
    audit.save(tmp_path / "one.audit")
    loaded = ee.Audit.load(tmp_path / "one.audit")
    assert {one.notion for one in loaded.notions(only=["situation_testing"]).missing} == {
        "situation_discriminated", "situation_discriminated_gap",
    }  # fmt: skip
    with pytest.raises(ParameterError):
        loaded.situation_testing()
    people = pd.DataFrame({"s": [0.0, 1.0] * 10, "x": np.arange(20.0)})
    schema = ee.Schema(sensitive="s", protected=1, favourable=True, features={"x": "actionable"})
    alone = ee.audit(
        ee.LinearScore({"s": 1.0}), people, schema=schema, scm=ee.StructuralCausalModel([]).fit(people)
    )  # fmt: skip
    told = alone.situation_testing()
    assert "nothing but protected columns" in told.readings[0].why
    with pytest.raises(ParameterError, match="Nothing could be read"):
        told.individual(0)


@pytest.mark.parametrize(
    "wrong", [{"k": 0}, {"tau": 1.0}, {"tau": -0.1}, {"distance": "l1"}, {"most_people": 0}], ids=str
)
def test_bad_arguments(wrong):
    audit, _ = world(60)
    with pytest.raises(ParameterError):
        audit.situation_testing(**wrong)


def test_of_more_people_some_are_drawn_and_all_are_neighbours():
    audit, _ = world(120)
    everybody = audit.situation_testing(k=5)
    drawn = audit.situation_testing(k=5, most_people=40)
    assert len(drawn.people) == 40
    assert drawn.readings[0].note == "SAMPLED"
    same = everybody.people.loc[drawn.people.index]
    np.testing.assert_array_equal(same["difference"], drawn.people["difference"])
