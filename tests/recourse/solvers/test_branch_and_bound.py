"""BranchAndBound: examples, random cases against enumeration of threshold cells, limits, and what is refused."""

from __future__ import annotations

import itertools
import os
import warnings
from dataclasses import replace

import numba
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from tests.limits import unlimited
from tests.oracles_trees import FAMILIES, compare, least_cost, problem_of, random_case, rng_of, run
from tests.own_solver import refusal

import equieffort as ee
from equieffort.errors import EquieffortWarning, ParameterError
from equieffort.recourse.solvers import in_parts
from equieffort.recourse.solvers.kernels import everybody, threads
from equieffort.world.cost import BoundCost

SOLVER = ee.BranchAndBound(time_limit=None)
CASES = 25


def lenders(n=300, seed=0):
    """Savings follow income; the bank wants income above 30 and savings above 10, or age above 60."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "age": rng.integers(20, 70, n)})
    frame["income"] = np.round(rng.uniform(10, 50, n), 1)
    frame["savings"] = np.round(0.5 * frame["income"] + rng.normal(0, 4, n), 1)
    good = ((frame["income"] > 30) & (frame["savings"] > 10)) | (frame["age"] > 60)
    return frame, good


def audited(clf, features, edges=(("income", "savings"),), n=300, cost=None):
    frame, good = lenders(n)
    clf.fit(frame[["age", "income", "savings"]], good)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(features))
    mechanisms = {"savings": ee.Linear({"income": 0.5})} if edges else None
    scm = ee.StructuralCausalModel(list(edges), nodes=list(frame), mechanisms=mechanisms).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return frame, ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm, cost=cost)


def solved(problem, frame, solver=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.solve(problem, frame, solver=solver).frame()


def test_a_tree_is_solved_by_hand():
    """A person earning 20 with savings 9: income just above 30 brings savings to 14."""
    frame, problem = audited(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        {"age": "immutable", "income": ee.Feature("actionable", direction="up"), "savings": "mutable"},
    )
    splits = np.unique(problem.view.threshold[problem.view.feature == problem.encoding.position("income")])
    needed = splits[splits > 29].min()
    person = frame.iloc[:2].assign(age=40, income=20.0, savings=9.0)
    told = solved(problem, person).iloc[0]
    assert told.status == "optimal"
    assert told.do_income == np.nextafter(needed, np.inf)
    span = frame["income"].max() - frame["income"].min()
    assert told.cost == pytest.approx((needed - 20.0) / span)


def test_percentiles_are_counted_by_hand():
    """Whoever earns 20 overtakes everybody up to the split."""
    frame, problem = audited(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        {"age": "immutable", "income": ee.Feature("actionable", direction="up"), "savings": "mutable"},
        cost=ee.Percentile(),
    )
    assert isinstance(ee.Auto().select(problem).solver, ee.BranchAndBound)
    splits = np.unique(problem.view.threshold[problem.view.feature == problem.encoding.position("income")])
    needed = splits[splits > 29].min()
    told = solved(problem, frame.iloc[:2].assign(age=40, income=20.0, savings=9.0)).iloc[0]
    assert told.status == "optimal"
    known = np.sort(frame["income"].unique())
    shares = [(frame["income"] <= value).mean() for value in known]
    assert told.cost == pytest.approx(np.interp(needed, known, shares) - np.interp(20.0, known, shares), abs=1e-9)
    assert told.bound == pytest.approx(told.cost, abs=1e-6)


@pytest.mark.parametrize(
    ("price", "values", "cost"),
    [
        # The first unit is free, each further one costs ten: one of a, the rest of b.
        (lambda fact, values: 10.0 * np.maximum(np.abs(values - fact) - 1.0, 0.0), (1.0, 2.0), 2.0),
        # The first two cost two each, all further ones nothing: four in all, more than only b.
        (lambda fact, values: np.minimum(2.0 * np.abs(values - fact), 4.0), (0.0, 3.0), 3.0),
        # The first costs two, all further ones nothing: only a.
        (lambda fact, values: np.minimum(2.0 * np.abs(values - fact), 2.0), (3.0, 0.0), 2.0),
    ],
    ids=["free at first", "dear at first", "free later"],
)
def test_costs_that_bend_are_traded_by_hand(price, values, cost):
    """The sum follows a and b and must rise by 3; b costs 1 a unit, a what is given."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": ["f", "m"] * 50, "a": np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 20), "b": 0.0})
    frame["b"] = rng.permutation(frame["a"])
    frame["sum"] = frame["a"] + frame["b"]
    clf = DecisionTreeClassifier(max_depth=1).fit(frame[["sum"]], frame["sum"] > 3)
    schema = ee.Schema(
        sensitive="sex",
        protected="f",
        favourable=True,
        features=unlimited({"a": "actionable", "b": "actionable", "sum": "mutable"}),
    )
    scm = ee.StructuralCausalModel(
        [("a", "sum"), ("b", "sum")], nodes=list(frame), mechanisms={"sum": ee.Linear({"a": 1.0, "b": 1.0})}
    ).fit(frame)
    bends = ee.Separable({"a": price, "b": lambda fact, values: np.abs(values - fact)}, knots=5)
    problem = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm, cost=bends)
    # The split lies between 3 and 4, at 3.5.
    told = solved(problem, frame.iloc[:2].assign(a=0.0, b=0.0, sum=0.5), SOLVER).iloc[0]
    assert told.status == "optimal"
    assert told.cost == pytest.approx(cost, abs=1e-6)
    assert told[["do_a", "do_b"]].fillna(0.0).tolist() == pytest.approx(values, abs=1e-6)


def test_many_curves_are_kept_batch_by_batch(monkeypatch):
    features = {"age": "actionable", "income": "actionable", "savings": "actionable"}
    frame, problem = audited(RandomForestClassifier(9, max_depth=4, random_state=1), features, cost=ee.Percentile())
    whole = solved(problem, frame.iloc[:30], SOLVER)
    assert (whole.status == "optimal").sum() > 5
    monkeypatch.setattr(in_parts, "MOST_KNOTS", 1000)
    assert 1 < in_parts.together(problem, problem.encoding.encode(frame.iloc[:30])) < 10
    pd.testing.assert_frame_equal(whole, solved(problem, frame.iloc[:30], SOLVER), check_exact=True)


@pytest.mark.parametrize(
    ("clf", "words"),
    [
        (RandomForestClassifier(7, max_depth=4, random_state=0), "a sum of 7 trees"),
        (GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0), "a sum of 12 trees"),
        (DecisionTreeClassifier(max_depth=3, random_state=0), "a single tree"),
    ],
    ids=["forest", "boosted", "tree"],
)
def test_auto_chooses_it_and_every_action_is_certified(clf, words):
    features = {"age": ee.Feature("actionable", max_increase=5), "income": "actionable", "savings": "actionable"}
    frame, problem = audited(clf, features)
    choice = ee.Auto().select(problem)
    assert isinstance(choice.solver, ee.BranchAndBound)
    assert words in choice.reason
    told = solved(problem, frame.iloc[:60])
    assert set(told.status) <= {"not_needed", "optimal", "infeasible"}
    assert (told.status == "optimal").sum() > 10
    assert (told.do_age.dropna() % 1 == 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_it_agrees_with_trying_every_cell(family):
    tally = run(family, range(CASES), SOLVER, people=2)
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal > 0
    assert tally.infeasible > 0
    # What floating point cannot decide must stay an exception.
    assert tally.optimal + tally.infeasible >= 0.95 * tally.people


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_at_a_limit_of_nodes_the_bound_still_holds(limit):
    words, stopped = ee.BranchAndBound(node_limit=limit), 0
    for seed in range(12):
        case = random_case(rng_of("follow", seed), "follow")
        tally = compare(case, words, people=2)
        assert not tally.disagreements, "\n".join(tally.disagreements)
        told = solved(problem_of(case), case.people.iloc[:2], words)
        for row in np.flatnonzero(told.status.isin(["feasible", "unknown"])).tolist():
            stopped += 1
            assert "node_limit" in told.reason.iloc[row]
            assert told.bound.iloc[row] <= least_cost(case, case.people.iloc[row].to_dict()) + 1e-9
    assert stopped > 0 or limit > 3


def test_at_a_limit_of_time_everybody_keeps_what_is_known():
    """Sixteen actionable features and deep trees take far longer than a moment."""
    rng = np.random.default_rng(0)
    names = [f"v{k}" for k in range(16)]
    frame = pd.DataFrame(rng.normal(size=(200, 16)), columns=names).assign(sex=["f", "m"] * 100)
    clf = RandomForestClassifier(150, random_state=0).fit(frame[names], (frame[names].sum(axis=1) > 4))
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features=unlimited(dict.fromkeys(names, "actionable"))
    )
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    problem = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    people = frame[~clf.predict(frame[names])].iloc[:2].assign(sex=["f", "m"])
    told = solved(problem, people, ee.BranchAndBound(time_limit=0.1, node_limit=None))
    assert told.status.isin(["feasible", "unknown"]).all()
    assert told.reason.str.contains("0.1 s of CPU passed").all()
    assert (told.bound > 0).all()
    acting = told[told.status == "feasible"]
    assert (acting.cost > acting.bound).all()


def test_an_interruption_stops_the_search_and_is_passed_on(monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(everybody, "wait", interrupted)
    frame, problem = audited(RandomForestClassifier(20, random_state=0), {"age": "actionable", "income": "actionable"})
    with pytest.raises(KeyboardInterrupt):
        solved(problem, frame, SOLVER)


def test_threads_are_kept_but_not_by_a_forked_process(monkeypatch):
    """A fork has none of its parent's threads; waiting for them would take forever."""
    here = threads.pool()
    assert threads.pool() is here
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert threads.pool() is not here


def test_rows_do_not_depend_on_the_batch_or_the_threads():
    features = {"age": "actionable", "income": "actionable", "savings": "actionable"}
    frame, problem = audited(RandomForestClassifier(15, max_depth=5, random_state=1), features)
    whole = solved(problem, frame.iloc[:80], SOLVER)
    numba.set_num_threads(min(2, numba.config.NUMBA_NUM_THREADS))
    parts = pd.concat([solved(problem, frame.iloc[40:80], SOLVER), solved(problem, frame.iloc[:40], SOLVER)])
    pd.testing.assert_frame_equal(whole, parts.loc[whole.index], check_exact=True)


def test_reasons_name_what_stands_in_the_way():
    frame, problem = audited(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        {"age": "immutable", "income": ee.Feature("actionable", upper=25), "savings": "mutable"},
    )
    person = frame.iloc[:2].assign(age=40, income=20.0, savings=9.0)
    told = solved(problem, person).iloc[0]
    assert told.status == "infeasible"
    assert "income (upper limit 25; now 20)" in told.reason
    frame, problem = audited(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        {"age": "immutable", "income": "actionable", "savings": "immutable"},
    )
    told = solved(problem, person).iloc[0]
    assert told.status == "infeasible"
    assert "'savings' must not move" in told.reason
    frame, problem = audited(
        DecisionTreeClassifier(max_depth=4, random_state=0),
        {"age": ee.Feature("actionable", upper=50), "income": ee.Feature("actionable", upper=25), "savings": "mutable"},
    )
    told = solved(problem, person).iloc[0]
    assert "age (upper limit 50; now 40); income (upper limit 25; now 20)" in told.reason


def test_what_it_cannot_solve_is_said():
    frame, problem = audited(DecisionTreeClassifier(max_depth=3), {"income": "actionable", "savings": "mutable"})
    assert refusal(SOLVER, problem) == ""

    class Odd(BoundCost):
        def parts(self, facts, values):
            return np.abs(values - facts) ** 2

        def to_dict(self):
            return {}

    assert "neither linear nor piecewise linear" in refusal(SOLVER, replace(problem, cost=Odd()))
    linear = ee.LinearScore({"income": 1.0}, threshold=30.0)
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited({"income": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    assert "no sum of trees" in refusal(SOLVER, ee.RecourseProblem.of(linear, frame, schema=schema, scm=scm))


@pytest.mark.parametrize(
    "bad", [{"gap": -1.0}, {"gap": float("nan")}, {"time_limit": 0}, {"node_limit": 0}, {"node_limit": 1.5}]
)
def test_nonsense_is_refused(bad):
    with pytest.raises(ParameterError, match=next(iter(bad))):
        ee.BranchAndBound(**bad)


@pytest.mark.parametrize("actions", [2, 3])
def test_a_large_search_agrees_with_the_whole_grid(actions):
    """Without followers the nearest value of each interval between thresholds is all that matters for a feature."""
    rng = np.random.default_rng(actions)
    names = [f"v{k}" for k in range(5)]
    frame = pd.DataFrame(rng.normal(size=(400, 5)), columns=names).assign(sex=["f", "m"] * 200)
    good = (frame[names[:actions]].sum(axis=1) + 0.5 * frame["v4"] > 1.5).to_numpy() ^ (rng.random(400) < 0.1)
    trees = 40 if actions == 2 else 12
    clf = RandomForestClassifier(trees, max_depth=8 if actions == 2 else 4, random_state=0).fit(frame[names], good)
    roles = {name: "actionable" if k < actions else "immutable" for k, name in enumerate(names)}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(roles))
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    problem = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    people = frame[~clf.predict(frame[names])].iloc[:6]
    told, compared = solved(problem, people, SOLVER), 0
    for row, person in enumerate(people[names].to_numpy()):
        values, costs = [], []
        for k in range(actions):
            used = [tree.tree_.threshold[tree.tree_.feature == k] for tree in clf.estimators_]
            cuts = np.unique(np.concatenate(used))
            below = np.minimum(cuts[cuts < person[k]].astype(np.float32).astype(float), person[k])
            # Just above a threshold that scikit-learn compares in single precision.
            above = np.nextafter(cuts[cuts >= person[k]].astype(np.float32), np.float32(np.inf)).astype(float)
            own = np.concatenate(
                [np.where(below > cuts[cuts < person[k]], np.nextafter(below, -np.inf), below), [person[k]], above]
            )
            values.append(own)
            costs.append(np.abs(own - person[k]) / (frame[names[k]].max() - frame[names[k]].min()))
        grid = np.stack(np.meshgrid(*values, indexing="ij"), axis=-1).reshape(-1, actions)
        total = sum(np.meshgrid(*costs, indexing="ij")).ravel()
        everyone = np.repeat(person[None, :], len(grid), axis=0)
        everyone[:, :actions] = grid
        labels = clf.predict(pd.DataFrame(everyone, columns=names))
        if labels.any():
            assert told.status.iloc[row] == "optimal"
            assert told.cost.iloc[row] == pytest.approx(total[labels].min(), abs=2e-6)
            compared += 1
        else:
            assert told.status.iloc[row] == "infeasible"
    assert compared > 2


def test_a_point_dearer_than_the_budget_ends_no_search():
    """Whole steps of three prices towards one sum: the first point found rounds up, past cheaper mixtures."""
    steps, prices, need = {"a": 1.9, "b": 1.6, "c": 0.5}, {"a": 2.5, "b": 2.6, "c": 1.2}, np.arange(0.053, 14.5, 0.35)
    frame = pd.DataFrame({name: np.tile(np.arange(5), 12)[:50] for name in steps})
    frame["sum"] = np.r_[np.full(25, -0.5), np.full(25, 0.5)]
    frame["sex"] = ["f", "m"] * 25
    clf = DecisionTreeClassifier(max_depth=1).fit(frame[["sum"]], frame["sum"] > 0)
    features = {name: ee.Feature("actionable", direction="up", upper=4, weight=prices[name]) for name in steps}
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features=unlimited({**features, "sum": "mutable"})
    )
    edges = [(name, "sum") for name in steps]
    scm = ee.StructuralCausalModel(edges, nodes=list(frame), mechanisms={"sum": ee.Linear(steps)}).fit(frame)
    problem = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    people = frame.iloc[: len(need)].assign(a=0, b=0, c=0, sum=-need.round(3))
    told = solved(problem, people, SOLVER)
    grid = np.array(list(itertools.product(range(5), repeat=3)))
    reached, cost = grid @ np.array(list(steps.values())), grid @ np.array(list(prices.values())) / 4
    for asked, row in zip(people["sum"], told.itertuples(), strict=True):
        assert row.status == "optimal"
        assert row.cost == pytest.approx(cost[reached + asked > 0].min(), abs=1e-6)


def test_a_follower_far_from_its_threshold_is_no_thin_case():
    """From -60 up to a threshold at 0, where the program's tolerance is larger than the usual step past it."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 50, "a": np.arange(100.0) / 10, "b": np.arange(100.0)[::-1] / 10})
    frame["s"] = np.r_[np.full(50, -0.5), np.full(50, 0.5)]
    clf = DecisionTreeClassifier(max_depth=1).fit(frame[["s"]], frame["s"] > 0)
    features = {"a": "actionable", "b": "actionable", "s": "mutable"}
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(features))
    mechanisms = {"s": ee.Linear({"a": 1.0, "b": 0.7})}
    scm = ee.StructuralCausalModel([("a", "s"), ("b", "s")], nodes=list(frame), mechanisms=mechanisms).fit(frame)
    problem = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm)
    people = frame.iloc[:20].assign(a=0.0, b=0.0, s=-np.linspace(1, 60, 20))
    told = solved(problem, people, SOLVER)
    assert (told.status == "optimal").all()
    np.testing.assert_allclose(told.cost, -people["s"] / 9.9, atol=1e-6)
