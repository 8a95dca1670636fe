"""More actionable features than an integer has bits: every solver beside closed forms, programs and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import equieffort as ee
from equieffort.recourse.problem import RecourseProblem

pytestmark = pytest.mark.usefixtures("quiet")

STEP = 0.25
"""How far a feature may move; all of them lie between 0 and 1."""
USED = ["v2", "v61", "v63", "v69"]
"""What a network or a forest looks at: more would take them long, and the other features can be set all the same."""
OPTIMAL, INFEASIBLE = ee.Status.OPTIMAL, ee.Status.INFEASIBLE


def names_of(acts):
    return [f"v{k}" for k in range(acts)]


def crowd(acts, n=12, seed=0):
    """People between 0 and 1; the first two at the ends, so that the range of each feature is 1."""
    values = np.random.default_rng([seed, acts]).uniform(0, 1, (n, acts))
    values[0], values[1] = 0.0, 1.0
    return pd.DataFrame(values, columns=names_of(acts)).assign(sex=["f", "m"] * (n // 2))


def prices_of(acts):
    return np.random.default_rng(acts).uniform(0.5, 2.0, acts)


def weights_of(acts):
    rng = np.random.default_rng([1, acts])
    return rng.uniform(0.5, 2.0, acts) * rng.choice([-1.0, 1.0], acts)


def problem_of(clf, frame, acts, edges=(), mechanisms=None, others=None):
    limits = {"lower": 0.0, "upper": 1.0, "max_increase": STEP, "max_decrease": STEP}
    features = {
        name: ee.Feature("actionable", weight=float(price), **limits)
        for name, price in zip(names_of(acts), prices_of(acts), strict=True)
    }
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=features | (others or {}))
    scm = ee.StructuralCausalModel(list(edges), nodes=list(frame), mechanisms=mechanisms).fit(frame)
    return RecourseProblem.of(clf, frame, schema=schema, scm=scm)


def rooms(values, weights):
    """How far each feature may move the way that helps."""
    return np.minimum(STEP, np.where(weights > 0, 1 - values, values))


def filled(need, gains, prices, room):
    """The cheapest way to gain so much, the best gain a price first; infinite where all together is too little."""
    cost = 0.0
    for k in sorted(np.flatnonzero(gains), key=lambda k: prices[k] / gains[k]):
        change = min(room[k], max(need, 0.0) / gains[k])
        cost, need = cost + prices[k] * change, need - gains[k] * change
    return cost if need <= 1e-9 else np.inf


def threshold_of(values, weights, share=0.8):
    """A score that this share of the people can reach."""
    best = values @ weights + rooms(values, weights) @ np.abs(weights)
    return float(np.quantile(best, 1 - share))


def optimum(frame, acts, weights, threshold):
    """By the fill, for each person who is refused; NaN for the others."""
    values = frame[names_of(acts)].to_numpy()
    return np.array([
        filled(threshold - x @ weights, np.abs(weights), prices_of(acts), rooms(x, weights))
        if x @ weights < threshold else np.nan
        for x in values
    ])  # fmt: skip


def check(table, best, status=OPTIMAL, **close):
    """Costs and statuses are those of the oracle, and an action leads where its own values say."""
    refused, can = ~np.isnan(best), np.isfinite(best)
    assert can.sum() >= 3, "the case shows too little"
    assert (table.status[~refused] == ee.Status.NOT_NEEDED).all()
    assert (table.status[refused & ~can] == INFEASIBLE).all()
    assert (table.status[can] == status).all()
    assert table.cost[can] == pytest.approx(best[can], **close)
    assert (table.bound[can] <= best[can] * (1 + 1e-9)).all()
    # The set says what is changed: with all features in one set nothing else is.
    is_set, delta = table.intervention_mask, table.delta
    assert is_set.dtype == bool
    assert is_set.shape == (len(table), len(table.acts))
    assert not is_set[~can].any()
    np.testing.assert_array_equal(is_set[can][:, : delta.shape[1]], delta[can] != 0)


@pytest.mark.parametrize(
    ("acts", "solver"),
    [*((acts, ee.LinearExact()) for acts in (62, 63, 64, 65, 80, 130)), (80, ee.Milp()), (130, ee.Auto())],
)
def test_a_linear_score_is_filled(acts, solver):
    frame = crowd(acts)
    weights = weights_of(acts)
    threshold = threshold_of(frame[names_of(acts)].to_numpy(), weights)
    clf = ee.LinearScore(dict(zip(names_of(acts), weights, strict=True)), threshold=threshold, closed=True)
    one, best = problem_of(clf, frame, acts), optimum(frame, acts, weights, threshold)
    assert np.isinf(best).any()
    assert isinstance(ee.Auto().select(one).solver, ee.LinearExact)
    table = ee.solve(one, frame, solver=solver)
    check(table, best, rel=1e-6)
    assert table.intervention_mask.any(axis=0).sum() > 40, "features of high position are used too"


@pytest.mark.parametrize("acts", [80, 130])
def test_a_search_finds_actions_that_are_no_cheaper_than_the_optimum(acts):
    frame = crowd(acts)
    weights = weights_of(acts)
    values = frame[names_of(acts)].to_numpy()
    threshold = float(np.quantile(values @ weights, 0.5)) + 0.3
    clf = ee.LinearScore(dict(zip(names_of(acts), weights, strict=True)), threshold=threshold, closed=True)
    one, best = problem_of(clf, frame, acts), optimum(frame, acts, weights, threshold)
    table = ee.solve(one, frame, solver=ee.Search(budget=3000))
    found = table.has_action
    assert found.sum() >= 3
    assert not found[~np.isfinite(best)].any()
    assert (table.cost[found] >= best[found] * (1 - 1e-9)).all()
    # What is set, and only that, carries the score over the threshold.
    after = np.where(table.intervention_mask, values + table.delta, values)
    assert ((after @ weights)[found] >= threshold - 1e-9).all()
    # The same in any company.
    again = ee.solve(one, frame.iloc[:6], solver=ee.Search(budget=3000))
    np.testing.assert_array_equal(again.cost, table.cost[:6])


@pytest.mark.parametrize(("acts", "solver"), [(70, ee.BranchAndBound()), (130, ee.Auto()), (70, ee.Milp())])
def test_a_neuron_is_filled_as_its_sum(acts, solver):
    """relu(w x - c) >= d where w x >= c + d."""
    frame = crowd(acts)
    weights = np.where(np.isin(names_of(acts), USED), weights_of(acts), 0.0)
    threshold = threshold_of(frame[names_of(acts)].to_numpy(), weights)
    clf = ee.ReLUNetwork(
        [weights[None], [[1.0]]], [[0.5 - threshold], [-0.5]], classes=[False, True], feature_names=names_of(acts)
    )
    one, best = problem_of(clf, frame, acts), optimum(frame, acts, weights, threshold)
    assert isinstance(ee.Auto().select(one).solver, ee.BranchAndBound)
    check(ee.solve(one, frame, solver=solver), best, rel=2e-4)


def forest(frame, acts):
    """Trees that look at four of the features, also beyond the 62nd."""
    label = frame[USED].to_numpy() @ [1.0, -1.0, 1.0, 1.0] > 1.2
    others = frame[names_of(acts)].assign(**{name: 0.0 for name in names_of(acts) if name not in USED})
    return RandomForestClassifier(4, max_depth=3, max_features=None, random_state=0).fit(others, label)


def tried(clf, person, acts):
    """The cheapest change of the features that are used: onto and beyond each of the forest's thresholds."""
    x, prices = person[names_of(acts)].to_numpy(dtype=float), prices_of(acts)
    places = [names_of(acts).index(name) for name in USED]
    options = []
    for k in places:
        cuts = np.concatenate([t.tree_.threshold[t.tree_.feature == k] for t in clf.estimators_])
        beside = np.unique(cuts)[:, None] + [-1e-7, 1e-7]
        low, high = max(x[k] - STEP, 0.0), min(x[k] + STEP, 1.0)
        options.append([x[k], *beside[(beside >= low) & (beside <= high)].ravel()])
    points = np.array(list(itertools.product(*options)))
    cost = np.abs(points - x[places]) @ prices[places]
    people = np.repeat(x[None], len(points), axis=0)
    people[:, places] = points
    good = clf.predict(pd.DataFrame(people, columns=names_of(acts)))
    return cost[good].min() if good.any() else np.inf


@pytest.mark.parametrize(
    ("acts", "solver"),
    [(70, ee.BranchAndBound()), (130, ee.Auto()), (70, ee.Milp()), (130, ee.SpatialBranchAndBound())],
)
def test_a_forest_on_a_few_of_them_is_tried_out(acts, solver):
    frame = crowd(acts, n=40)
    clf = forest(frame, acts)
    frame = frame.iloc[:16]
    one = problem_of(clf, crowd(acts, n=40), acts)
    assert isinstance(ee.Auto().select(one).solver, ee.BranchAndBound)
    answers = zip(clf.predict(frame[names_of(acts)]), frame.iterrows(), strict=True)
    best = np.array([np.nan if yes else tried(clf, row, acts) for yes, (_, row) in answers])
    table = ee.solve(one, frame, solver=solver)
    check(table, best, rel=1e-4, abs=1e-5)
    assert set(np.flatnonzero(table.intervention_mask.any(axis=0))) <= {names_of(acts).index(name) for name in USED}


# -- sets of several kinds: a level, a feature that is held, an equation that bends -----------------------------------


@pytest.mark.parametrize("solver", [ee.LinearExact(), ee.Milp(), ee.Search()], ids=lambda one: type(one).__name__)
def test_a_level_of_the_eighty_first(solver):
    """A category comes after all numbers: the set with it is dearer by its weight, and needs less of them."""
    acts, level = 80, {"x": 0.0, "y": 1.5, "z": 3.0}
    frame = crowd(acts).assign(job=["x", "y", "z", "x"] * 3)
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    clf = make_pipeline(encode, LogisticRegression()).fit(frame.drop(columns="sex"), np.arange(12) % 2 == 0)
    weights, values = weights_of(acts), frame[names_of(acts)].to_numpy()
    scores = values @ weights + frame["job"].map(level).to_numpy()
    threshold = float(np.quantile(scores, 0.6)) + 2.0
    clf[-1].coef_[:] = np.append(list(level.values()), weights)
    clf[-1].intercept_[:] = -threshold
    one = problem_of(clf, frame, acts, others={"job": ee.Feature("actionable", weight=0.3)})
    ways = np.array([
        [
            0.3 * (to != job)
            + filled(threshold - x @ weights - level[to], np.abs(weights), prices_of(acts), rooms(x, weights))
            for to in level
        ]
        for x, job in zip(values, frame["job"], strict=True)
    ])  # fmt: skip
    best = np.where(scores < threshold, ways.min(axis=1), np.nan)
    table = ee.solve(one, frame, solver=solver)
    changes = np.array(list(level))[ways.argmin(axis=1)] != frame["job"]
    if isinstance(solver, ee.Search):
        found = table.has_action
        assert (table.cost[found] >= best[found] * (1 - 1e-9)).all()
        assert table.intervention_mask[found, acts].any()
        np.testing.assert_array_equal(table.intervention_mask[:, acts], table.level[:, 0] >= 0)
        return
    check(table, best, rel=1e-6)
    can = np.isfinite(best)
    assert changes[can].any()
    np.testing.assert_array_equal(table.intervention_mask[can, acts], changes[can])
    np.testing.assert_array_equal(table.frame()["do_job"].notna()[can], changes[can])


@pytest.mark.parametrize("solver", [ee.LinearExact(), ee.Milp(), ee.SpatialBranchAndBound()],
                         ids=lambda one: type(one).__name__)  # fmt: skip
def test_the_seventy_first_is_held_while_its_cause_moves(solver):
    """v70 would fall by half of what v0 rises. Both ways are programs; the cheaper one is the answer."""
    acts, weights = 80, np.abs(weights_of(80))
    weights[[0, 70]], prices = (9.0, 12.0), prices_of(80)
    frame = crowd(acts)
    frame["v70"] = 0.5 - 0.5 * frame["v0"] + 0.2 * frame["v70"]
    values = frame[names_of(acts)].to_numpy()
    threshold = float(np.quantile(values @ weights, 0.6)) + 1.0
    clf = ee.LinearScore(dict(zip(names_of(acts), weights, strict=True)), threshold=threshold, closed=True)
    cause = {"v70": ee.Linear({"v0": -0.5})}
    one = problem_of(clf, frame, acts, edges=[("v0", "v70")], mechanisms=cause)
    prices[70] /= np.ptp(values[:, 70])
    best, held = np.full(len(frame), np.nan), np.zeros(len(frame), dtype=bool)
    for i, x in enumerate(values):
        if x @ weights >= threshold:
            continue
        high = np.minimum(STEP, 1 - x)
        left, gains = np.where(np.arange(acts) == 70, 0.0, high), weights.copy()
        gains[0] -= 0.5 * weights[70]
        ways = [
            linprog(prices, A_ub=-gain[None], b_ub=[x @ weights - threshold], bounds=np.column_stack([0 * up, up]))
            for gain, up in ((weights, high), (gains, left))
        ]
        costs = [way.fun if way.status == 0 else np.inf for way in ways]
        best[i], held[i] = min(costs), costs[0] < costs[1] and ways[0].x[0] > 1e-6
    can = np.isfinite(best)
    assert held.sum() >= 3
    table = ee.solve(one, frame, solver=solver)
    assert (table.status[can] == OPTIMAL).all()
    assert table.cost[can] == pytest.approx(best[can], rel=2e-4)
    assert table.intervention_mask[held, 70].all(), "what is held is set to its own value"
    moved = table.counterfactuals()[names_of(acts)].to_numpy()
    assert ((moved @ weights)[can] >= threshold - 1e-9).all()


def test_one_bent_equation_among_eighty():
    """y = v0^2 follows. What v0 gains is known for each step of it, and the rest is filled."""
    acts = 80
    frame, weights, prices = crowd(acts), weights_of(acts), prices_of(acts)
    weights[0] = 0.5
    frame["y"] = frame["v0"] ** 2
    values = frame[names_of(acts)].to_numpy()
    scores = values @ weights + 3.0 * frame["y"].to_numpy()
    threshold = float(np.quantile(scores, 0.6)) + 1.0
    clf = ee.LinearScore(dict(zip(names_of(acts), weights, strict=True)) | {"y": 3.0}, threshold=threshold, closed=True)
    square = {"y": ee.Terms([(1.0, {"v0": 2})])}
    one = problem_of(clf, frame, acts, edges=[("v0", "y")], mechanisms=square, others={"y": "mutable"})
    assert isinstance(ee.Auto().select(one).solver, ee.SpatialBranchAndBound)
    best = np.full(len(frame), np.nan)
    for i in np.flatnonzero(scores < threshold):
        x = values[i]
        steps = np.linspace(max(-STEP, -x[0]), min(STEP, 1 - x[0]), 501)
        gained = 0.5 * steps + 3.0 * ((x[0] + steps) ** 2 - x[0] ** 2)
        rest = rooms(x, weights)[1:], np.abs(weights)[1:], prices[1:]
        best[i] = min(
            prices[0] * abs(step) + filled(threshold - scores[i] - gain, rest[1], rest[2], rest[0])
            for step, gain in zip(steps, gained, strict=True)
        )
    table = ee.solve(one, frame)
    can = np.isfinite(best)
    assert can.sum() >= 3
    assert (table.status[can] == OPTIMAL).all()
    assert table.cost[can] == pytest.approx(best[can], rel=5e-3)
    assert (table.cost[can] <= best[can] * (1 + 2e-4)).all()


@pytest.mark.parametrize("acts", [80, 130])
def test_an_audit_of_them_is_saved_and_read(acts, tmp_path):
    frame = crowd(acts, n=20)
    values, weights = frame[names_of(acts)].to_numpy(), weights_of(acts)
    clf = ee.LinearScore(
        dict(zip(names_of(acts), weights, strict=True)), threshold=threshold_of(values, weights), closed=True
    )
    one = problem_of(clf, frame, acts)
    audit = ee.audit(clf, frame, schema=one.schema, scm=one.scm)
    audit.save(tmp_path / "wide.audit")
    read = ee.Audit.load(tmp_path / "wide.audit")
    np.testing.assert_array_equal(read.recourse.intervention_mask, audit.recourse.intervention_mask)
    pd.testing.assert_frame_equal(read.recourse.frame(), audit.recourse.frame())
    assert audit.recourse.intervention_mask[:, 64:].any()
    row = int(np.flatnonzero(audit.recourse.has_action)[0])
    assert str(read.explain(row)) == str(audit.explain(row))
