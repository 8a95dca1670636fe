"""Fair causal recourse: the worlds of von Kügelgen et al., cases by hand, and what cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from math import erf, inf, isnan, nan, sqrt

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.limits import unlimited
from tests.notions.worlds import SHIFT, of_three
from tests.samples import people as sample

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.notions import NotApplicable
from equieffort.notions.fair_causal_recourse import FairCausalRecourse, FairCausalRecourseFamily
from equieffort.notions.group_gap import group_gap, largest_gap
from equieffort.notions.twin_recourse import Gaps, _extreme_mean
from equieffort.paper.extras import german_audit
from equieffort.recourse.status import Status

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
PEOPLE = {"a": [-2.0, -0.5, 0.2], "b": [-1.3, 0.7, 2.0], "c": [-1.0, -0.4, 1.4]}
"""Noises -2, -.5, .2; -2.3, -.3, 1; -.5, .1, 1.9. Effort is the way from x up to 0 over 1.5, the range of known x."""


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return of_three(PEOPLE)


@pytest.fixture(scope="module")
def found(audit) -> FairCausalRecourse:
    return audit.fair_causal_recourse()


def of_world(name: str, coef: dict[str, float], features, n: int = 80, seed: int = 0, **more) -> ee.Audit:
    world = ee.datasets.fair_recourse(name)
    X, _ = world.sample(n, random_state=seed)
    schema = ee.Schema(sensitive="A", protected=-1, favourable=True, features=features, **more)
    return ee.audit(ee.LinearScore(coef), X, schema=schema, scm=world.scm)


@pytest.mark.parametrize("name", ["IMF", "CAU linear", "CAU additive"])
def test_without_descendants_twins_need_exactly_the_same(name):
    # X2 alone does not descend from A, and nothing limits what does.
    audit = of_world(name, {"X2": -1.0}, unlimited(dict.fromkeys(["X1", "X2", "X3"], "actionable")))
    found = audit.fair_causal_recourse()
    refused = int(audit.recourse.is_unfavourable.sum())
    assert found.individual().n == refused > 20
    assert (found.individual().max, found.individual().mean) == (0.0, 0.0)
    assert found.counts() == {"compared": refused} | dict.fromkeys(list(found.counts())[1:], 0)
    # That all are equal leaves no spread to make an interval from.
    assert found.individual().note == "NO_SPREAD"


def test_a_plausible_range_on_a_descendant_makes_them_differ():
    """X3 = .5 (A + X1 - X2) + U3 follows X2: lowering X2 is stopped where X3 meets the end of its range, which for the
    twin with A + 2 is 1.5 nearer. Where that is too near, only one of the two has recourse."""
    features = unlimited({"X2": "actionable", "X3": ee.Feature("mutable", plausible=(None, 2.0))})
    audit = of_world("CAU linear", {"X2": -1.0}, features)
    found = audit.fair_causal_recourse()
    X = audit.recourse.data
    counts = {"compared": 0, "own without recourse": 0, "twin without recourse": 0, "both without recourse": 0}
    for _, row in X[X["X2"] > 0].iterrows():
        way = row["X2"]
        # 0.5 from A and 0.5 * 0.5 by way of X1, for a step of 2 in A.
        x3 = row["X3"], row["X3"] - 1.5 * row["A"]
        # Who starts beyond the end may stay there, but not go on.
        stuck = [value + 0.5 * way > max(2.0, value) for value in x3]
        key = {(0, 0): "compared", (1, 0): "own without recourse", (0, 1): "twin without recourse"}
        counts[key.get((int(stuck[0]), int(stuck[1])), "both without recourse")] += 1
    assert {name: n for name, n in found.counts().items() if n} == {name: n for name, n in counts.items() if n}
    assert counts["twin without recourse"] > 0
    assert counts["own without recourse"] > 0
    # Among those compared nothing is left of it.
    assert found.individual().max == 0.0


def test_with_another_way_around_the_range_the_gap_is_in_the_effort():
    """X1 down makes room for X3 at a price, more of it the nearer X3 is to the end of its range."""
    features = unlimited(
        {"X1": ee.Feature("actionable", direction="down"), "X2": "actionable"}
        | {"X3": ee.Feature("mutable", plausible=(None, 1.0))}
    )
    audit = of_world("CAU linear", {"X2": -1.0}, features)
    found = audit.fair_causal_recourse()
    prices = audit.inputs.problem.cost.up
    X = audit.recourse.data

    def effort(x2: float, x3: float) -> float:
        over = max(0.0, x3 + 0.5 * x2 - max(1.0, x3))
        # Each unit of X1 takes half a unit off X3.
        return prices[1] * x2 + prices[0] * 2 * over

    rows = found.people
    assert (rows["outcome"] == "compared").all()
    for label, row in rows.iterrows():
        x2, x3, sign = X.loc[label, ["X2", "X3", "A"]]
        own, twin = effort(x2, x3), effort(x2, x3 - 1.5 * sign)
        assert row["effort"] == pytest.approx(own, rel=1e-7)
        assert row["twin_effort"] == pytest.approx(twin, rel=1e-7)
        assert row["gap"] == pytest.approx(abs(own - twin), rel=1e-6, abs=1e-9)
    assert found.individual().max > 0.05
    assert found.individual().max == rows["gap"].max()
    assert found.individual().mean == pytest.approx(rows["gap"].mean(), rel=1e-12)


def test_people_and_twins_by_hand(found):
    rows = found.people.reset_index().set_index(["index", "level"])
    by_hand = {
        ("p0", "b"): 1.0, ("p0", "c"): 0.5, ("p1", "c"): 0.5, ("p3", "a"): 1.0, ("p3", "c"): 1.5, ("p6", "a"): 0.5
    }  # fmt: skip
    compared = rows[rows["outcome"] == "compared"]
    assert set(compared.index) == set(by_hand)
    for key, shift in by_hand.items():
        assert compared.loc[key, "gap"] == pytest.approx(shift / 1.5, rel=1e-9)
    approved = rows[rows["outcome"] == "twin approved"]
    assert set(approved.index) == {("p1", "b"), ("p6", "b"), ("p7", "a"), ("p7", "b")}
    assert approved[["gap", "twin_effort", "gap_least"]].isna().all(axis=None)
    whole = found.individual()
    assert (whole.n, whole.n_people) == (6, 4)
    assert whole.mean == pytest.approx(5 / 6 / 1.5, rel=1e-9)
    assert whole.max == pytest.approx(1.0, rel=1e-9)
    assert found.individual("c", "a").n == 1
    assert found.individual("c", "a").note == "TOO_FEW"


def test_the_interval_takes_a_persons_twins_as_one_draw(found):
    """Sums 1, .333, 1.667, .333 of 2, 1, 2, 1 gaps around the mean .5556, linearised on the log scale."""
    sums, counts = np.array([1.0, 1 / 3, 5 / 3, 1 / 3]), np.array([2, 1, 2, 1])
    mean = sums.sum() / counts.sum()
    se = sqrt(4 / 3 * ((sums - mean * counts) ** 2).sum()) / 6
    half = 3.182446305284263 * se / mean
    assert found.individual().low == pytest.approx(mean * np.exp(-half), rel=1e-6)
    assert found.individual().high == pytest.approx(mean * np.exp(half), rel=1e-6)


def test_the_frame_counts_everybody(found):
    rows = found.frame().set_index(["group", "level"])
    outcomes = [name for name in rows.columns if name.startswith("n_") and name != "n_people"]
    assert rows.loc[("", ""), outcomes].sum() == len(found.people) == 10
    assert rows.loc[("c", ""), ["n_compared", "n_twin_approved"]].tolist() == [1, 3]
    assert ("a", "a") not in rows.index


def unsettled(found: FairCausalRecourse, own: dict[int, tuple], twins: dict[int, tuple]) -> FairCausalRecourse:
    """The same with other statuses, bounds and ceilings: by row of the audit, and by row of the solved twins."""

    def changed(table, given):
        status, bound, ceilings = table.status.copy(), table.bound.copy(), dict(table.ceilings)
        for row, (state, low, high) in given.items():
            status[row], bound[row] = state, low
            if state == Status.UNKNOWN:
                ceilings[row] = high
        return replace(table, status=status, bound=bound, ceilings=ceilings)

    recourse = replace(
        found.recourse, own=changed(found.recourse.own, own), solved=changed(found.recourse.solved, twins)
    )
    return replace(found, recourse=recourse)


def test_the_unknown_are_counted_apart_and_bound_what_is_certain(found):
    # p0 (effort 4/3) at b: nothing known but that it costs .2 to 3; p3 (effort .8667) is not proven: .5 at least.
    other = unsettled(found, {3: (Status.FEASIBLE, 0.5, nan)}, {0: (Status.UNKNOWN, 0.2, 3.0)})
    rows = other.people.reset_index().set_index(["index", "level"])
    assert rows.loc[("p0", "b"), "outcome"] == "unknown"
    assert isnan(rows.loc[("p0", "b"), "gap"])
    assert rows.loc[("p0", "b"), ["gap_least", "gap_most"]].tolist() == pytest.approx([0.0, 3 - 4 / 3])
    own, twin = 1.3 / 1.5, 2.3 / 1.5
    assert rows.loc[("p3", "a"), ["gap_least", "gap_most"]].tolist() == pytest.approx([twin - own, twin - 0.5])
    whole = other.individual()
    assert whole.n == 5
    assert whole.note == "UNCERTIFIED"
    third = 1 / 3
    assert whole.mean_least == pytest.approx((3 * third + 2 * third + 3 * third + 0.0) / 6)
    most = (3 * third + (twin - 0.5) + (2.8 / 1.5 - 0.5) + (3 - 4 / 3)) / 6
    assert whole.mean_most == pytest.approx(most)
    assert whole.max == pytest.approx(1.0)
    assert whole.max_most == pytest.approx(3 - 4 / 3)


def test_what_excludes_a_comparison_comes_before_what_is_unknown(found):
    # p1's twin at b is approved whatever is known of p1; p0 without recourse has no gap whatever its twins have.
    other = unsettled(
        found,
        {1: (Status.UNKNOWN, 0.0, inf), 0: (Status.INFEASIBLE, inf, nan)},
        {0: (Status.UNKNOWN, 0.0, inf), 1: (Status.INFEASIBLE, inf, nan)},
    )
    rows = other.people.reset_index().set_index(["index", "level"])["outcome"]
    assert rows["p1", "b"] == "twin approved"
    assert rows["p1", "c"] == "unknown"
    assert rows["p0", "b"] == "own without recourse"
    assert rows["p0", "c"] == "both without recourse"
    assert other.individual().max_most == inf
    assert other.individual("a").n == 0
    assert other.individual("a").note == "UNCERTIFIED"


@pytest.mark.parametrize("seed", range(20))
def test_the_extreme_means_are_those_of_all_subsets(seed):
    rng = np.random.default_rng(seed)
    sure, maybe = rng.exponential(size=rng.integers(1, 4)), rng.exponential(size=rng.integers(0, 6))
    means = [
        np.concatenate([sure, maybe[list(part)]]).mean()
        for k in range(len(maybe) + 1)
        for part in combinations(range(len(maybe)), k)
    ]
    assert _extreme_mean(sure, maybe, -1) == pytest.approx(min(means), rel=1e-12)
    assert _extreme_mean(sure, maybe, 1) == pytest.approx(max(means), rel=1e-12)


def test_whole_numbers_of_twins():
    """German credit holds whole amounts and durations: those acted on are rounded, those that follow need not be."""
    audit = german_audit()
    found = audit.fair_causal_recourse()
    twins = found.recourse.solved.data
    assert (twins["amount"] == np.rint(twins["amount"])).all()
    assert (twins["duration"] != np.rint(twins["duration"])).any()
    assert found.counts()["unknown"] == 0
    exact = audit.counterfactual_fairness().twins("male").loc[audit.recourse.index[found.recourse.person]]
    female = found.recourse.level == audit.recourse.groups.labels.index("male")
    assert np.abs(twins["amount"].to_numpy() - exact["amount"].to_numpy())[female].max() <= 0.5


def test_group_level_by_hand():
    samples = {"a": sample([1.0, 3.0]), "b": sample([4.0, 5.0, 6.0]), "c": sample([2.0, 2.5])}
    top = largest_gap(samples, 0.95)
    assert (top.group, top.against, top.estimate) == ("a", "b", 3.0)
    pair = group_gap(samples, "a", "b", 0.95)
    # Welch: standard error sqrt(2/2 + 1/3), and at three pairs a level of 1 - .05 / 3 each.
    assert pair.estimate == 3.0
    assert top.low <= pair.low < 3.0 < pair.high < top.high
    assert group_gap(samples, "b", "c", 1 - 0.05 / 3).high <= top.high
    assert group_gap(samples, "a", "c", 0.95).low == 0.0


def test_group_level_names_who_has_no_average():
    samples = {"a": sample([1.0, 3.0]), "b": sample([4.0, 5.0]), "c": sample(infeasible=3), "d": sample(fine=2)}
    top = largest_gap(samples, 0.95)
    assert (top.estimate, top.note.split()) == (2.5, ["NO_RECOURSE", "NO_REFUSED"])
    alone = largest_gap({"a": sample([1.0]), "b": sample(infeasible=1)}, 0.95)
    assert (isnan(alone.estimate), alone.note) == (True, "NO_RECOURSE")
    unknown = largest_gap({"a": sample([1.0, 3.0]), "b": sample([4.0, 5.0]), "c": sample(unknown=[0.5])}, 0.95)
    assert (unknown.most, "UNCERTIFIED" in unknown.note) == (inf, True)
    gapped = largest_gap({"a": sample([1.0, 3.0]), "b": sample(gapped=[(2.0, 4.0), (5.0, 5.0)])}, 0.95)
    assert (gapped.estimate, gapped.least, gapped.most) == (2.5, 1.5, 2.5)


def test_one_person_in_a_group_leaves_no_upper_limit():
    top = largest_gap({"a": sample([1.0]), "b": sample([4.0, 5.0]), "c": sample([2.0, 2.5])}, 0.95)
    assert (top.high, "TOO_FEW" in top.note) == (inf, True)


def test_readings(audit):
    readings = FairCausalRecourseFamily().readings(audit._audited())
    rows = {(one.notion, one.group, one.against, one.variant): one for one in readings}
    assert rows["group_recourse_gap", "c", "b", ""].estimate == pytest.approx((1.3 - 0.7) / 1.5)
    assert rows["group_recourse_gap", "", "", "largest"].n == 5
    mean = rows["individual_recourse_gap", "", "", "mean"]
    assert (mean.n, mean.n_undefined, mean.estimate) == (6, 4, pytest.approx(5 / 9))
    assert isnan(rows["individual_recourse_gap", "", "", "max"].low)


def test_people_can_be_drawn(audit):
    found = audit.fair_causal_recourse(most_people=2)
    assert found.people.index.nunique() == 2
    assert "2 of 5 refused people were drawn" in str(found)
    with pytest.raises(ParameterError, match="most_people"):
        audit.fair_causal_recourse(most_people=0)


def test_nobody_refused():
    audit = of_three({"a": [3.0], "b": [4.0], "c": [5.0]})
    found = audit.fair_causal_recourse()
    assert found.people.empty
    assert isnan(found.individual().mean)
    assert isnan(found.group_gaps["estimate"].iloc[0])
    assert "over 0 comparisons" in str(found)
    assert "<table" in found._repr_html_()
    assert FairCausalRecourseFamily().readings(audit._audited())


def test_an_equation_without_an_answer_leaves_no_twin():
    X = pd.DataFrame({"s": ["a", "b"] * 10, "c": ["k", "k", "m", "m", "k"] * 4, "x": np.linspace(-1, 1, 20)})
    scm = ee.StructuralCausalModel([("s", "c")], nodes=["x"]).fit(X)
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    found = ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm).fair_causal_recourse()
    assert found.counts()["no twin"] == 10
    assert (found.people["twin_status"] == "").all()
    assert found.individual().note == "NO_TWIN"


def test_a_category_that_follows():
    """c is low where s = 0 and high where s = 1, for certain: the twin has the other one, and the effort differs by
    what the model gives for that over what it gives for x."""
    rng = np.random.default_rng(3)
    X = pd.DataFrame({"s": np.repeat([0, 1], 60), "x": rng.normal(size=120) - 2})
    X["c"] = np.where(X["s"] == 0, "low", "high")
    certain = ee.Probabilities(
        lambda causes: np.column_stack([causes["s"] == 0, causes["s"] == 1]).astype(float), order=["low", "high"]
    )
    scm = ee.StructuralCausalModel([("s", "c")], nodes=["x"], mechanisms={"c": certain}).fit(X)
    encode = make_column_transformer((OneHotEncoder(), ["c"]), remainder="passthrough")
    noisy = X["x"] + 0.5 * (X["c"] == "high") + rng.normal(size=120) > -1.5
    model = make_pipeline(encode, LogisticRegression()).fit(X[["c", "x"]], noisy)
    schema = ee.Schema(sensitive="s", protected=0, favourable=True, features=unlimited({"x": "actionable"}))
    audit = ee.audit(model, X, schema=schema, scm=scm)
    found = audit.fair_causal_recourse()
    order = model[0].get_feature_names_out().tolist()
    names = ("onehotencoder__c_low", "onehotencoder__c_high", "remainder__x")
    low, high, x = (model[1].coef_[0][order.index(name)] for name in names)
    gap = audit.inputs.problem.cost.up[0] * abs(high - low) / x
    assert found.individual().n > 30
    compared = found.people[found.people["outcome"] == "compared"]
    np.testing.assert_allclose(compared["gap"], gap, rtol=1e-7)
    assert set(found.counts()) - {name for name, n in found.counts().items() if n} >= {"unknown", "no twin"}


def normal(z: float) -> float:
    return 0.5 * (1 + erf(z / sqrt(2)))


def test_the_mean_gap_is_within_its_interval_at_the_stated_rate():
    """Noise is standard normal, so that the mean gap is known: a person of s is compared with their twin of s' where
    both are refused, which the noise decides, and their gap is the difference of the shifts."""
    runs, each = 400, 40
    rng = np.random.default_rng(5)
    people = {name: (rng.normal(size=runs * each) + shift).tolist() for name, shift in SHIFT.items()}
    found = of_three(people).fair_causal_recourse()
    weights = {(s, t): normal(min(-SHIFT[s], -SHIFT[t])) for s in SHIFT for t in SHIFT if s != t}
    truth = sum(w * abs(SHIFT[s] - SHIFT[t]) / 1.5 for (s, t), w in weights.items()) / sum(weights.values())
    part = found.recourse.person % runs
    held = 0
    for run in range(runs):
        one = Gaps.of(found.recourse, part == run, 0.95)
        held += one.low <= truth <= one.high
    assert found.individual().mean == pytest.approx(truth, rel=0.01)
    assert abs(held / runs - 0.95) < 3 * sqrt(0.95 * 0.05 / runs)


def test_the_largest_gap_of_groups_is_within_its_interval():
    """At least at the stated rate, also where all groups are equal."""
    rng = np.random.default_rng(6)
    for means in ((1.0, 1.0, 1.0), (1.0, 1.2, 1.5)):
        held, runs = 0, 200
        for _ in range(runs):
            top = largest_gap({str(k): sample(rng.gamma(4.0, mean / 4, size=60)) for k, mean in enumerate(means)}, 0.95)
            held += top.low <= max(means) - min(means) <= top.high
        assert held / runs > 0.95 - 3 * sqrt(0.95 * 0.05 / runs)


def test_an_audit_from_a_file_has_the_group_level_alone(audit, tmp_path):
    audit.save(tmp_path / "one.audit")
    loaded = ee.load(tmp_path / "one.audit")
    with pytest.raises(ParameterError, match="fair_causal_recourse") as caught:
        loaded.fair_causal_recourse()
    assert caught.value.code == "AUDIT_LOADED"
    readings = FairCausalRecourseFamily().readings(loaded._audited())
    assert [one.notion for one in readings if isinstance(one, NotApplicable)] == ["individual_recourse_gap"]
    assert sum(one.notion == "group_recourse_gap" for one in readings) == 3
