"""Milp: random linear worlds, crowds of actions, rules, trees and networks against brute force; limits and refusals."""

from __future__ import annotations

import itertools
import warnings
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests import oracles
from tests.limits import unlimited
from tests.own_solver import refusal

import equieffort as ee
from equieffort.errors import ParameterError
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solvers.base import FOUND, LIMIT, NONE
from equieffort.recourse.solvers.highs import Answer, ProgramStatus
from equieffort.recourse.solvers.milp.program import Form, Program, Unbounded
from equieffort.recourse.solvers.milp.solver import Milp

pytestmark = pytest.mark.usefixtures("quiet")

SOLVER = Milp()


def problem(clf, frame, features, edges=(), mechanisms=None, rules=(), **options):
    scm = ee.StructuralCausalModel(list(edges), nodes=list(frame), mechanisms=mechanisms).fit(frame)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features=unlimited(features, frame), rules=rules
    )
    return RecourseProblem.of(clf, frame, schema=schema, scm=scm, **options)


def told(one, frame, solver=SOLVER):
    """The table; people of one group only get company, since groups are what is compared."""
    company = frame.iloc[[0]].assign(sex="m" if frame.sex.iloc[0] == "f" else "f") if "sex" in frame else frame.iloc[:0]
    if "sex" in frame and frame.sex.nunique() == 2:
        company = company.iloc[:0]
    return ee.solve(one, pd.concat([frame, company]), solver=solver).frame().iloc[: len(frame)]


# By hand


def test_a_rule_between_features_makes_the_cheap_action_impossible():
    """Three more of a would do, but a + b must stay below 6: b has to fall as well."""
    frame = pd.DataFrame({"sex": ["f", "m"], "a": [1.0, 9.0], "b": [4.0, 0.0]})
    clf = ee.LinearScore({"a": 1.0}, threshold=4.0, closed=True)
    features = {"a": "actionable", "b": "actionable"}
    free = told(problem(clf, frame, features, cost=ee.WeightedL1({"a": ee.Std(), "b": ee.Std()})), frame.iloc[[0]])
    assert free.delta_b.isna().all()
    ruled = problem(clf, frame, features, rules=[ee.Sum({"a": 1, "b": 1}, upper=6)])
    row = told(ruled, frame.iloc[[0]]).iloc[0]
    assert row.status == "optimal"
    assert (row.do_a, row.do_b) == pytest.approx((4.0, 2.0), abs=1e-8)
    assert row.cost == pytest.approx(3 / 8 + 2 / 4, abs=1e-8)


def test_the_example_of_karimi():
    people = pd.DataFrame({"sex": ["f", "m"], "X1": [75000.0, 99000.0], "X2": [25000.0, 40000.0]})
    one = problem(
        ee.LinearScore({"X1": 1, "X2": 5}, threshold=225000),
        people,
        dict.fromkeys(("X1", "X2"), "actionable"),
        [("X1", "X2")],
        {"X2": ee.Linear({"X1": 0.3})},
        cost=ee.WeightedL1(ee.Own()),
    )
    row = told(one, people.iloc[[0]]).iloc[0]
    assert row.status == "optimal"
    assert row.do_X1 == pytest.approx(85000, rel=1e-9)
    assert np.isnan(row.do_X2)
    assert row.cost == pytest.approx(10000 / 75000, rel=1e-8)


# Linear worlds against brute force


def linear_faults(family, seeds):
    """Every answer that the oracle contradicts; unknown only where there is no action that could have been found."""
    faults, counts = [], dict.fromkeys(("optimal", "feasible", "infeasible", "unknown"), 0)
    for seed in seeds:
        case = oracles.random_case(oracles.rng_of(family, seed), family)
        table, scm = told(oracles.problem_of(case), case.people), oracles.scm_of(case)
        for row, person in enumerate(oracles.persons(case)):
            said = table.iloc[row]
            if said.status == "not_needed":
                continue
            counts[said.status] += 1
            truth = oracles.ORACLES[family](case, person)
            near = 1.01 * SOLVER.gap * truth + 1e-9
            fault = oracles.replay_fault(case, scm, person, said)
            if said.status == "unknown":
                fault = "" if truth == np.inf else f"unknown, {said.reason}"
            elif said.status == "infeasible":
                fault = "" if truth == np.inf else "infeasible"
            elif truth == np.inf or said.bound > truth + near or abs(said.cost - truth) > near:
                fault = f"{said.status} with cost {said.cost} and bound {said.bound}"
            if fault:
                faults.append(f"{family} seed {seed} person {row}: {fault}, the oracle says {truth}")
    return faults, counts


SEEDS = {
    "continuous": (4003, 4005, 4007),
    "integer": (4000, 4001, 4003),
    "wide integer": (4000, 4001),
    "categorical": (4000, 4001),
    "mixed": (4002, 4006),
    "piecewise": (4003, 4005),
}
"""Worlds in which some can act and some cannot."""


@pytest.mark.parametrize("family", oracles.FAMILIES)
def test_linear_worlds_agree_with_brute_force(family):
    faults, counts = linear_faults(family, SEEDS[family])
    assert not faults, "\n".join(faults)
    assert counts["optimal"] > 2
    assert counts["infeasible"] > 2
    assert counts["feasible"] == counts["unknown"] == 0


@pytest.mark.verify
@pytest.mark.parametrize("block", range(20))
@pytest.mark.parametrize("family", oracles.FAMILIES)
def test_many_linear_worlds_agree_with_brute_force(family, block, record_property):
    faults, counts = linear_faults(family, range(50_000 + 10 * block, 50_010 + 10 * block))
    total = {"cases": 10, "people": sum(counts.values()), "disagreements": len(faults)}
    record_property("verify", {"family": f"programs, {family}", **counts, **total})
    assert not faults, "\n".join(faults)


# More actions than patterns can be tried one by one


def crowd(count, seed):
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in range(count)]
    frame = pd.DataFrame(rng.normal(size=(6, count)).cumsum(axis=1), columns=names).assign(sex=["f", "m"] * 3)
    weights = rng.uniform(0.2, 1.2, count) * rng.choice([-1, 1], count)
    effects = rng.uniform(0.3, 1.1, count) * rng.choice([-1, 1], count)
    prices = rng.uniform(0.5, 3.0, count)
    threshold = float(np.median(frame[names].to_numpy() @ weights))
    clf = ee.LinearScore(dict(zip(names, weights, strict=True)), threshold=threshold)
    room = rng.uniform(0.2, 0.8, count)
    features = {
        name: ee.Feature("actionable", weight=float(p), max_increase=float(r), max_decrease=float(r))
        for name, p, r in zip(names, prices, room, strict=True)
    }
    mechanisms = {b: ee.Linear({a: float(effects[k])}) for k, (a, b) in enumerate(pairwise(names))}
    spans = frame[names].max() - frame[names].min()
    one = problem(clf, frame, features, list(pairwise(names)), mechanisms)
    return one, frame, weights, effects, prices / spans.to_numpy(), room, threshold


def every_pattern(scores, weights, effects, prices, room):
    """The least cost over all 2^(n-1) choices of set and left in a chain: each fills in the order of gain a price."""
    n = len(weights)
    patterns = (np.arange(2 ** (n - 1))[:, None] >> np.arange(n - 1)) & 1
    is_set = np.column_stack([np.ones(len(patterns), dtype=int), patterns])
    gain = np.empty((len(patterns), n))
    below = np.zeros(len(patterns))
    for k in reversed(range(n)):
        # What a unit of v_k does to the score: its own weight, and on along the chain while the next is left.
        gain[:, k] = weights[k] + below
        if k > 0:
            below = np.where(is_set[:, k] == 0, effects[k - 1] * gain[:, k], 0.0)
    size = np.abs(gain) * is_set
    order = np.argsort(-size / prices, axis=1)
    reach = np.take_along_axis(size * room, order, axis=1)
    costs = np.take_along_axis(np.broadcast_to(prices * room, size.shape), order, axis=1)
    found = []
    for score in scores:
        before = np.cumsum(reach, axis=1) - reach
        share = np.clip((-score - before) / np.where(reach > 0, reach, 1.0), 0.0, 1.0) * (reach > 0)
        total = (share * costs).sum(axis=1)
        found.append(np.where(reach.sum(axis=1) >= -score, total, np.inf).min())
    return found


@pytest.mark.parametrize("count", [14, 17])
def test_a_crowd_of_actions_agrees_with_trying_every_pattern(count):
    one, frame, weights, effects, prices, room, threshold = crowd(count, count)
    scores = frame[[f"v{k}" for k in range(count)]].to_numpy() @ weights - threshold
    scores, frame = scores[scores < 0][:3], frame[scores < 0][:3]
    assert len(scores) > 1
    truth = every_pattern(scores, weights, effects, prices, room)
    table = told(one, frame)
    assert np.isfinite(truth).any()
    for said, least in zip(table.itertuples(), truth, strict=True):
        assert said.status == ("optimal" if np.isfinite(least) else "infeasible")
        if np.isfinite(least):
            assert said.cost == pytest.approx(least, abs=2e-6)


def test_without_limits_a_crowd_is_still_solved():
    names = [f"v{k}" for k in range(15)]
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(6, 15)), columns=names).assign(sex=["f", "m"] * 3)
    mechanisms = {b: ee.Linear({a: 1.5}) for a, b in pairwise(names)}
    clf = ee.LinearScore({"v14": 1.0}, threshold=50.0)
    one = problem(clf, frame, dict.fromkeys(names, "actionable"), list(pairwise(names)), mechanisms)
    choice = ee.Auto().select(one)
    assert choice.solver == ee.LinearSearch()
    assert "16,384 ways" in choice.reason
    table = told(one, frame)
    # Left to follow, the first of the chain moves the last by 1.5^14: nothing else comes near.
    spans = frame[names].max() - frame[names].min()
    for said, fact in zip(table.itertuples(), frame.v14, strict=True):
        each = [(50 - fact) / 1.5 ** (14 - k) / spans.iloc[k] for k in range(15)]
        assert said.status == "optimal"
        assert said.cost == pytest.approx(min(each), abs=2e-6)


# Rules, trees and networks on a grid of whole numbers, where everything can be tried

LEVELS = ["cook", "clerk", "judge"]
RULES = [
    ["if a > 0 then b >= 1"],
    [ee.Sum({"a": 1, "b": 1}, upper=4), "if job = 'judge' then a >= 2"],
    [ee.Monotone("a", "b", per_unit=0.5)],
    [ee.Sum({"a": 1, "b": -2, "c": 0.5}, lower=-3, upper=4)],
    [ee.Forbidden("job", [("cook", "judge"), (None, "clerk")]), "a != 3"],
    ["not (a = 2 and b = 2) or job = 'cook'", ee.Implies("c > 1", "a <= 3")],
]


def grid_world(seed, clf, rules=()):
    """Two whole numbers and a category to act on, and c, which follows a."""
    rng = np.random.default_rng(seed)
    n = 40
    frame = pd.DataFrame({"sex": ["f", "m"] * (n // 2), "a": rng.integers(-2, 4, n), "b": rng.integers(-2, 4, n)})
    frame["job"] = rng.permutation((LEVELS * n)[:n])
    effect = float(rng.choice([-0.7, 0.6, 1.1]))
    frame["c"] = np.round(effect * frame["a"] + rng.normal(size=n), 2)
    signs = rng.choice([-1.0, 1.0], 3)
    total = signs[0] * frame.a + signs[1] * frame.b + signs[2] * frame.c + 2 * (frame.job == "judge")
    wanted = total + rng.normal(0, 0.7, n) > np.quantile(total, 0.6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
        model = make_pipeline(encode, clf).fit(frame[["a", "b", "job", "c"]], wanted)
    features = {
        "a": ee.Feature("actionable", lower=-4, upper=5, weight=(1.0, float(rng.uniform(0.5, 2)))),
        "b": ee.Feature("actionable", max_increase=3, max_decrease=2, weight=float(rng.uniform(0.5, 2))),
        "job": ee.Feature("actionable", weight=float(rng.uniform(0.1, 0.6))),
        "c": ee.Feature("mutable", plausible=(-4.0, 4.5)),
    }
    one = problem(model, frame, features, [("a", "c")], {"c": ee.Linear({"a": effect})}, rules)
    return one, frame, features, effect, model


def holds(rule, before, after):
    """A rule's meaning, written out once more."""
    if isinstance(rule, ee.Monotone):
        rise = after["a"] - before["a"]
        return (rise <= 0) | (after["b"] - before["b"] >= 0.5 * rise)
    if isinstance(rule, ee.Sum):
        total, own = (sum(weight * x[name] for name, weight in rule.weights.items()) for x in (after, before))
        low = -np.inf if rule.lower is None else min(rule.lower, own)
        # Who is outside already may stay there.
        return (total >= low - 1e-9) & (total <= max(rule.upper, own) + 1e-9)
    if isinstance(rule, ee.Forbidden):
        moved = after["job"] != before["job"]
        return ~(moved & ((after["job"] == "clerk") | ((before["job"] == "cook") & (after["job"] == "judge"))))
    if isinstance(rule, ee.Implies):
        return (after["c"] <= 1) | (after["a"] <= 3)
    return {
        "if a > 0 then b >= 1": lambda x: (x["a"] <= 0) | (x["b"] >= 1),
        "if job = 'judge' then a >= 2": lambda x: (x["job"] != "judge") | (x["a"] >= 2),
        "a != 3": lambda x: x["a"] != 3,
        "not (a = 2 and b = 2) or job = 'cook'": lambda x: ~((x["a"] == 2) & (x["b"] == 2)) | (x["job"] == "cook"),
    }[rule](after)


def not_deeper(rule, before, after):
    """Of somebody who breaks a rule: whether none of its conditions is missed by more than before, written out too."""
    if isinstance(rule, ee.Implies):
        return (after["c"] <= before["c"] + 1e-9) & (after["a"] <= before["a"])
    return {
        "if a > 0 then b >= 1": lambda x: (x["a"] <= before["a"]) & (x["b"] >= before["b"]),
        "if job = 'judge' then a >= 2": lambda x: x["a"] >= before["a"],
        "a != 3": lambda x: x["a"] == 3,
        "not (a = 2 and b = 2) or job = 'cook'": lambda x: x["job"] == before["job"],
    }[rule](after)


def grid_truth(frame, rows, features, effect, model, rules):
    """Try everything: each whole value, each level."""
    spans = {name: float(frame[name].max() - frame[name].min()) for name in ("a", "b")}
    found = []
    for person in rows.to_dict("records"):
        b_low, b_high = person["b"] - 2, person["b"] + 3
        a_low, a_high = min(-4, person["a"]), max(5, person["a"])
        options = itertools.product(range(a_low, a_high + 1), range(b_low, b_high + 1), LEVELS)
        after = pd.DataFrame(options, columns=["a", "b", "job"])
        after["c"] = person["c"] + effect * (after["a"] - person["a"])
        cost = np.zeros(len(after))
        for name in ("a", "b"):
            up, down = features[name].weights
            change = after[name] - person[name]
            cost += np.where(change > 0, up, down) * np.abs(change) / spans[name]
        cost += features["job"].weights[0] * (after["job"] != person["job"])
        good = (after["c"] >= min(-4.0, person["c"]) - 1e-9) & (after["c"] <= max(4.5, person["c"]) + 1e-9)
        good &= model.predict(after[["a", "b", "job", "c"]])
        before = pd.Series(person)
        for rule in rules:
            kept = holds(rule, before, after)
            if not isinstance(rule, ee.Sum | ee.Forbidden) and not holds(rule, before, pd.DataFrame([person]))[0]:
                kept |= not_deeper(rule, before, after)
            good &= kept
        found.append(cost[good].min() if good.any() else np.inf)
    return np.array(found)


def check_grid(seed, clf, rules=(), people=4):
    """Solve and try everything; returns the least costs with and without the rules."""
    one, frame, features, effect, model = grid_world(seed, clf, rules)
    rows = frame.iloc[refused(frame, model, people)]
    truth = grid_truth(frame, rows, features, effect, model, rules)
    table = told(one, rows)
    for k, (said, least) in enumerate(zip(table.itertuples(), truth, strict=True)):
        assert said.status == ("optimal" if np.isfinite(least) else "infeasible"), (k, said, least)
        if np.isfinite(least):
            assert said.cost == pytest.approx(least, abs=1e-9), k
            assert said.bound == pytest.approx(least, abs=2e-6), k
    return truth, grid_truth(frame, rows, features, effect, model, ())


def refused(frame, model, people):
    return np.flatnonzero(~model.predict(frame[["a", "b", "job", "c"]]).astype(bool))[:people]


WORLDS = [(0, 5), (1, 3), (2, 2), (3, 1), (4, 3), (5, 3)]
"""Rules, and a world in which they matter."""


@pytest.mark.parametrize(("rules", "seed"), WORLDS)
def test_rules_agree_with_trying_everything(rules, seed):
    with_rules, without = check_grid(seed, LogisticRegression(), RULES[rules])
    assert (with_rules > without + 1e-9).any()


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(100, 120))
@pytest.mark.parametrize("rules", RULES, ids=range(len(RULES)))
def test_rules_agree_with_trying_everything_in_many_worlds(rules, seed):
    check_grid(seed, LogisticRegression(), rules, people=40)


MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(6, max_depth=3, random_state=0),
    "boosted": GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0),
    "network": MLPClassifier((4, 3), solver="lbfgs", max_iter=300, random_state=0),
}


@pytest.mark.parametrize(("kind", "rules"), [("tree", 0), ("forest", 2), ("boosted", 4), ("network", 2)])
def test_trees_and_networks_agree_with_trying_everything(kind, rules):
    for chosen in ((), RULES[rules]):
        assert np.isfinite(check_grid(2, MODELS[kind], chosen)[0]).any()


def test_a_whole_action_that_ends_on_a_threshold_and_is_refused_is_left_out():
    # What follows it lands on the threshold itself: for the program on either side, for the model on the wrong one.
    check_grid(219, MODELS["boosted"], RULES[219 % len(RULES)], people=5)


@pytest.mark.verify
@pytest.mark.parametrize("seed", range(200, 220))
@pytest.mark.parametrize("kind", MODELS)
def test_trees_and_networks_agree_with_trying_everything_in_many_worlds(kind, seed):
    check_grid(seed, MODELS[kind], RULES[seed % len(RULES)] if seed % 2 else (), people=10)


# What is proven, and what is not


def one_number(upper=None, threshold=5.0):
    frame = pd.DataFrame({"sex": ["f", "m"], "x": [1.0, 9.0]})
    clf = ee.LinearScore({"x": 1.0}, threshold=threshold)
    return problem(clf, frame, {"x": ee.Feature("actionable", upper=upper)}), frame


def test_no_time_is_no_proof():
    one, frame = one_number(upper=3.0)
    assert told(one, frame).status.tolist() == ["infeasible", "not_needed"]
    row = told(one, frame, Milp(time_limit=1e-9)).iloc[0]
    assert row.status == "unknown"
    assert "raise time_limit" in row.reason
    assert row.bound == 0.0


def test_a_further_attempt_never_proves_that_there_is_none():
    for upper, code in ((None, FOUND), (3.0, NONE)):
        one, frame = one_number(upper=upper)
        matrix = one.encoding.encode(frame.iloc[[0]])
        prepared = Milp().prepare(one)
        first, again = prepared.attempt(matrix, 0), prepared.attempt(matrix, 5)
        assert first.code[0] == code
        assert again.code[0] == (FOUND if code == FOUND else LIMIT)
        if code == FOUND:
            assert again.bound[0] == pytest.approx(first.bound[0], abs=1e-12)
            assert again.cost[0] > first.cost[0]


def test_a_wrong_word_of_the_solver_is_not_believed(monkeypatch):
    """Whatever it claims to be empty must be empty with wider rows too; a claimed point must lead somewhere."""
    run = Program.run
    one, frame = one_number(upper=8.0)

    def lies(self, seconds, *, step=-1.0, slack=0.0, presolve=False):
        none = Answer(ProgramStatus.INFEASIBLE, np.inf)
        return run(self, seconds, step=step, slack=slack, presolve=presolve) if slack else none

    monkeypatch.setattr(Program, "run", lies)
    row = told(one, frame).iloc[0]
    assert row.status == "unknown"
    assert "tolerances leave it open" in row.reason

    def flatters(self, seconds, **options):
        honest = run(self, seconds, **options)
        return Answer(ProgramStatus.OPTIMAL, 0.25 * honest.bound, np.zeros(len(self.lower)))

    monkeypatch.setattr(Program, "run", flatters)
    assert told(one, frame).status[0] in ("unknown", "feasible")

    def boasts(self, seconds, **options):
        honest = run(self, seconds, **options)
        return Answer(honest.status, 4.0 * honest.bound, honest.point)

    monkeypatch.setattr(Program, "run", boasts)
    row = told(one, frame).iloc[0]
    assert row.status == "feasible"
    assert row.bound == 0.0


def test_a_claim_of_optimality_needs_a_second_opinion(monkeypatch):
    """The first answer changes the dearer of two categories, said to be the best; the second way knows better."""
    frame = pd.DataFrame({"sex": ["f", "m"], "near": ["a", "b"], "far": ["a", "b"]})
    encode = make_column_transformer((OneHotEncoder(drop="first"), ["near", "far"]))
    clf = make_pipeline(encode, LogisticRegression()).fit(frame[["near", "far"]], [False, True])
    clf[-1].coef_[:], clf[-1].intercept_[:] = 1.0, -0.5
    one = problem(clf, frame, {"near": ee.Feature("actionable"), "far": ee.Feature("actionable", weight=3.0)})
    best = told(one, frame).iloc[0]
    assert (best.status, best.cost) == ("optimal", 1.0)
    run = Program.run

    def loses(self, seconds, *, step=-1.0, slack=0.0, presolve=False):
        if presolve:
            return run(self, seconds, step=step, slack=slack, presolve=True)
        upper = [0.0 if price == 1.0 else end for end, price in zip(self.upper, self.price, strict=True)]
        return run(replace(self, upper=upper), seconds, step=step, slack=slack)

    monkeypatch.setattr(Program, "run", loses)
    row = told(one, frame).iloc[0]
    assert row.status == "feasible"
    assert row.cost == 1.0
    assert "contradict each other" in row.reason


def test_limits_without_end_are_searched_with_a_growing_budget():
    """A tree over a follower needs bounds; the action lies far beyond the first budget."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 4, "x": np.arange(8.0), "y": 0.01 * np.arange(8.0)})
    wide = frame[["y"]].assign(y=np.linspace(0, 40, 8))
    clf = DecisionTreeClassifier(max_depth=1).fit(wide, wide.y > 20)
    one = problem(clf, frame, {"x": "actionable", "y": "mutable"}, [("x", "y")], {"y": ee.Linear({"x": 0.01})})
    row = told(one, frame.iloc[[0]]).iloc[0]
    assert row.status == "optimal"
    assert row.delta_x == pytest.approx(clf.tree_.threshold[0] / 0.01, rel=1e-6)


def test_what_cannot_be_bounded_is_unknown_and_says_so():
    """b follows a at its side, so it never is 6 while a is below 1; but nothing says how far a may go."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": ["f", "m"] * 4, "a": np.arange(8.0), "b": np.arange(8.0)})
    seen = pd.DataFrame(rng.uniform(0, 8, (200, 2)), columns=["a", "b"])
    clf = DecisionTreeClassifier(max_depth=2).fit(seen, (seen.b > 6) & (seen.a < 1))
    endless = problem(clf, frame, {"a": "actionable", "b": "mutable"}, [("a", "b")], {"b": ee.Linear({"a": 1.0})})
    row = told(endless, frame.iloc[[3]]).iloc[0]
    assert row.status == "unknown"
    assert "have no limits" in row.reason
    assert row.bound > 10
    limits = {"a": ee.Feature("actionable", lower=-1000, upper=1000), "b": "mutable"}
    limited = problem(clf, frame, limits, [("a", "b")], {"b": ee.Linear({"a": 1.0})})
    assert told(limited, frame.iloc[[3]]).status.tolist() == ["infeasible"]


def test_a_threshold_at_somebodys_own_value():
    """Just past the threshold is where the favourable side begins: one step of floating point, no more."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 4, "x": np.repeat([1.5, 4.0], 4)})
    clf = DecisionTreeClassifier(max_depth=1).fit([[1.0], [2.0]], [False, True])
    clf.feature_names_in_ = np.array(["x"], dtype=object)
    assert clf.tree_.threshold[0] == 1.5
    row = told(problem(clf, frame, {"x": "actionable"}), frame).iloc[0]
    assert row.status == "optimal"
    assert 1.5 < row.do_x < 1.5 + 1e-6
    stuck = problem(clf, frame, {"x": ee.Feature("actionable", direction="down")})
    assert told(stuck, frame).status[0] == "infeasible"


def test_a_margin_is_kept():
    one, frame = one_number(threshold=5.0)
    row = told(one.with_margin(1.25), frame).iloc[0]
    assert row.status == "optimal"
    assert row.do_x == pytest.approx(6.25, abs=1e-6)


def test_nothing_is_reached_by_tolerances_alone():
    """Income may pass its threshold by a hair only if rank, which follows it, stays exactly where it is."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 4, "income": np.repeat([1.5, 4.0], 4), "rank": np.zeros(8)})
    clf = DecisionTreeClassifier(max_depth=1).fit(pd.DataFrame({"income": [1.0, 2.0]}), [False, True])
    for role, fine in (("immutable", ("infeasible", "unknown")), ("mutable", ("optimal",))):
        features = {"income": "actionable", "rank": role}
        one = problem(clf, frame, features, [("income", "rank")], {"rank": ee.Linear({"income": 0.4})})
        assert told(one, frame).status[0] in fine


# What is refused, and how it is chosen


def test_what_it_does_not_support_is_said():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)), columns=["a", "b", "c"]).assign(sex=["f", "m"] * 20)
    good = frame.a + frame.b > 0
    roles = {"a": "actionable", "b": "mutable", "c": "mutable"}
    assert "cannot be written as a program" in refusal(SOLVER, problem(SVC().fit(frame[["a"]], good), frame, roles))
    linear = LogisticRegression().fit(frame[["a", "b"]], good)
    bent = problem(linear, frame, roles, [("a", "b")], {"b": DecisionTreeRegressor(max_depth=2)})
    assert "'b' is not linear" in refusal(SOLVER, bent)
    assert refusal(SOLVER, problem(linear, frame, roles, [("a", "b")])) == ""
    for wrong in ({"gap": 0.0}, {"gap": np.nan}, {"time_limit": 0.0}):
        with pytest.raises(ParameterError):
            Milp(**wrong)


def test_with_rules_in_linear_worlds_it_is_a_second_opinion():
    frame = pd.DataFrame({"sex": ["f", "m"], "a": [1.0, 9.0], "b": [4.0, 0.0]})
    clf = ee.LinearScore({"a": 1.0, "b": 1.0}, threshold=8.0)
    choice = ee.Auto().select(problem(clf, frame, {"a": "actionable", "b": "mutable"}, rules=["a >= b or b > 3"]))
    assert choice.solver == ee.LinearSearch()
    assert "rules between features" in choice.reason
    costs = [told(choice.problem, frame, solver)["cost"] for solver in (Milp(), None)]
    assert costs[0].to_numpy() == pytest.approx(costs[1].to_numpy(), nan_ok=True)


def test_why_nothing_helps_names_the_rule_and_no_limit_that_is_in_nobodys_way():
    frame = pd.DataFrame({"sex": ["f", "m"], "a": [1.0, 9.0], "b": [0.0, 4.0]})
    clf = ee.LinearScore({"a": 1.0}, threshold=8.0)
    one = problem(clf, frame, {"a": ee.Feature("actionable", upper=10)}, rules=["a <= 5 or b > 3"])
    row = told(one, frame.iloc[[0]]).iloc[0]
    assert row.status == "infeasible"
    assert "upper limit" not in row.reason
    assert "a <= 5" in row.reason


def test_a_row_that_can_be_switched_off_needs_an_end():
    program = Program()
    switch, endless = Form({program.switch(): 1.0}), Form({program.variable(0.0, np.inf): 1.0})
    with pytest.raises(Unbounded, match="x"):
        program.either(switch, endless, 0.0, 1.0, "x")


@pytest.mark.parametrize("factor", [1.0, 1e4, 1e8, 1e12])
def test_costs_in_any_unit_change_no_answer(factor):
    """Prices of 1e8 made the solver take what they stood beside for zero, and everybody infeasible."""
    frame = pd.DataFrame({"sex": ["f", "m"] * 30, "v": np.arange(60) % 5})
    features = {"v": ee.Feature("actionable", lower=-1, upper=6)}
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=False, features=unlimited(features), rules=["if v > 2 then v > 3"]
    )
    scm = ee.StructuralCausalModel([], nodes=["sex", "v"]).fit(frame)
    clf = ee.LinearScore({"v": 1.0}, threshold=0.0)
    cost = ee.Separable({"v": lambda fact, value: factor * (value - fact) ** 2}, knots=5)
    one = ee.RecourseProblem.of(clf, frame, schema=schema, scm=scm, cost=cost, model_features=["v"])
    told = ee.solve(one, frame.iloc[:5], solver=Milp()).frame()
    assert set(told["status"]) <= {"optimal", "feasible"}
    # At -1 alone is nobody refused.
    assert told["do_v"].tolist() == [-1] * 5
    assert (told["bound"] <= told["cost"]).all()
