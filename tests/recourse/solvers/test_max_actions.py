"""At most k features changed: closed forms, every subset by brute force, and what is said where that is in the way."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from tests.limits import unlimited
from tests.oracles_ways import run

import equieffort as ee
from equieffort.recourse.solvers import LIMIT, PreparedSolver, Proposal
from equieffort.recourse.status import Blocking, Ending, Fault, LimitKind, Termination

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")

ONE = ee.WeightedL1(ee.Range((0.0, 1.0)))
"""A unit of change costs a unit, in data from 0 to 1."""


def people(n: int, features: int, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.uniform(0, 1, (n, features)), columns=[f"x{j}" for j in range(features)])
    frame.loc[0], frame.loc[1] = 0.0, 1.0
    return frame.assign(group=np.array(["a", "b"])[np.arange(n) % 2])


def problem(frame: pd.DataFrame, gains: dict[str, float], threshold: float, most: int | None, **features):
    chosen = {name: ee.Feature("actionable", max_increase=1, max_decrease=0) for name in gains} | features
    schema = ee.Schema(
        sensitive="group", protected="a", favourable=True, features=unlimited(chosen, frame), max_actions=most
    )
    scm = ee.StructuralCausalModel([], nodes=list(frame)).fit(frame)
    rule = ee.LinearScore(gains, threshold=threshold)
    return ee.RecourseProblem.of(rule, frame, schema=schema, scm=scm, cost=ONE)


@pytest.mark.parametrize("family", ["max_actions", "alternatives"])
def test_every_subset_of_features_by_brute_force(family):
    tally = run(family, range(6, 12))
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal >= 2


def test_eight_linear_actions_two_of_which_may_change():
    # The more a feature gains, the less far it can go: the cheapest way uses many of them. With the limit it is the
    # least over all 28 pairs, each of which has a closed form: the one that gains more first, the rest from the other.
    names, gains, rooms = [f"x{j}" for j in range(8)], np.linspace(1.0, 2.0, 8), np.linspace(3.0, 0.2, 8)
    frame = people(60, 8)
    features = {name: ee.Feature("actionable", max_increase=room) for name, room in zip(names, rooms, strict=True)}
    made = problem(frame, dict(zip(names, gains.tolist(), strict=True)), 9.0, 2, **features)
    table, free = ee.solve(made, frame), ee.solve(replace(made, schema=replace(made.schema, max_actions=None)), frame)
    limited = 0
    for row, need in enumerate(9.0 - frame[names].to_numpy() @ gains):
        best = np.inf
        for i, j in itertools.combinations(range(8), 2):
            first = min(need / gains[j], rooms[j])
            rest = (need - gains[j] * first) / gains[i]
            best = min(best, first + rest if rest <= rooms[i] else np.inf)
        if need <= 0:
            assert table.status[row] == ee.Status.NOT_NEEDED
        elif np.isinf(best):
            assert table.status[row] == ee.Status.INFEASIBLE
        else:
            assert table.status[row] == ee.Status.OPTIMAL
            assert table.cost[row] == pytest.approx(best, rel=1e-9)
            assert (table.delta[row] != 0).sum() <= 2
            limited += best > free.cost[row] * 1.01
    assert limited > 20


def test_holding_a_feature_is_no_change():
    # b follows a one to one and the score falls with b: whoever raises a must hold b at its own value, which is free.
    a, b = [0.0, 1.0, 0.2, 0.4, 0.6, 0.8], [0.0, 1.0, 0.3, 0.1, 0.5, 0.9]
    frame = pd.DataFrame({"group": ["a", "b"] * 3, "a": a, "b": b})
    rises = ee.Feature("actionable", direction="up", max_increase=2)
    features = unlimited({"a": rises, "b": rises})
    schema = ee.Schema(sensitive="group", protected="a", favourable=True, features=features, max_actions=1)
    scm = ee.StructuralCausalModel([("a", "b")], nodes=["group"], mechanisms={"b": ee.Linear({"a": 1.0})}).fit(frame)
    rule = ee.LinearScore({"a": 1.0, "b": -1.0}, threshold=0.9)
    table = ee.solve(ee.RecourseProblem.of(rule, frame, schema=schema, scm=scm, cost=ONE), frame)
    assert table.status.tolist() == [ee.Status.OPTIMAL] * 6
    # By hand: a alone moves, b is held: 0.9 - (a - b).
    assert table.cost == pytest.approx(0.9 - frame["a"] + frame["b"])
    assert table.intervention_mask.all()


def test_who_needs_more_features_is_told_that_the_limit_is_in_the_way():
    frame = people(20, 3)
    made = problem(frame, {"x0": 1.0, "x1": 1.0, "x2": 1.0}, threshold=4.5, most=1)
    table = ee.solve(made, frame)
    stuck = int(np.flatnonzero((table.status == ee.Status.INFEASIBLE) & (frame["x0"] > 0))[0])
    reason = table.reasons()[stuck]
    assert (reason.blocking, reason.obstacles[0].limit, reason.obstacles[0].value) == (
        Blocking.EACH, LimitKind.MAX_ACTIONS, 1.0,
    )  # fmt: skip
    told = table.frame()["reason"].iloc[stuck]
    assert told == "Without this limit there would be a route to approval: at most 1 feature changed at once."


def test_who_has_no_way_at_all_is_told_what_else_is_in_the_way():
    frame = people(20, 3)
    made = problem(frame, {"x0": 1.0, "x1": 1.0, "x2": 1.0}, threshold=50.0, most=1)
    for reason in ee.solve(made, frame).reasons():
        assert LimitKind.MAX_ACTIONS not in [one.limit for one in reason.obstacles]
        assert {one.feature for one in reason.obstacles} == {"x0", "x1", "x2"}


class GivesUp(PreparedSolver):
    """Finds the cheapest way as long as nothing is held, and then says only that none costs less than a half."""

    def __init__(self, made):
        self.made, self.inner = made, ee.LinearExact().prepare(made)

    def propose(self, batch):
        if not self.made.held:
            return self.inner.propose(batch)
        found = Proposal.empty(self.made, len(batch.people))
        found.code[:], found.bound[:] = LIMIT, 0.5
        note = Termination(Ending.WORK, argument="node_limit", bound=99.0)
        found.notes = dict.fromkeys(range(len(batch.people)), note)
        return found

    def infeasibility(self, people):
        return self.inner.infeasibility(people)


class Stops(ee.solvers.Solver):
    gap = 1e-9

    def prepare(self, made):
        return GivesUp(made)


def test_unknown_is_never_infeasible():
    frame = people(20, 3)
    made = problem(frame, {"x0": 1.0, "x1": 1.0, "x2": 1.0}, threshold=2.5, most=1)
    table, sure = ee.solve(made, frame, solver=Stops()), ee.solve(made, frame)
    several = (ee.solve(replace(made, schema=replace(made.schema, max_actions=None)), frame).delta != 0).sum(axis=1) > 1
    assert several.sum() >= 3
    assert (table.status[several] == ee.Status.UNKNOWN).all()
    # What was proven of the whole problem bounds its cases too.
    assert (table.bound[several] >= 0.5).all()
    assert (table.bound[several] <= np.where(sure.has_action, sure.cost, np.inf)[several] + 1e-9).all()
    assert [table.notes[row].kind for row in np.flatnonzero(several)] == [Ending.WORK] * several.sum()
    # What the solver says of a case is not what is known of the person.
    assert [table.notes[row].bound for row in np.flatnonzero(several)] == pytest.approx(table.bound[several])


class Greedy(ee.solvers.Solver):
    """Pays no heed to what is held, nor to how many features it changes."""

    gap = 1e-9

    def prepare(self, made):
        return ee.LinearExact().prepare(replace(made, held=frozenset()))


def test_the_replay_counts_changes_and_looks_at_what_is_held():
    frame = people(20, 3)
    made = problem(frame, {"x0": 1.0, "x1": 1.0, "x2": 1.0}, threshold=2.5, most=1)
    table = ee.solve(made, frame, solver=Greedy())
    several = (ee.solve(replace(made, schema=replace(made.schema, max_actions=None)), frame).delta != 0).sum(axis=1) > 1
    assert not table.has_action[several].any()
    assert not (table.status[several] == ee.Status.INFEASIBLE).any()
    assert {table.notes[row].fault for row in np.flatnonzero(several)} <= {Fault.ACTIONS, Fault.VALUE, None}


def test_a_limit_that_leaves_everything_free_changes_nothing():
    frame = people(20, 2)
    gains = {"x0": 1.0, "x1": 2.0}
    free, wide = (ee.solve(problem(frame, gains, 2.5, most), frame) for most in (None, 2))
    assert np.array_equal(free.cost, wide.cost, equal_nan=True)


MIXED = pd.DataFrame(
    {
        "group": ["a", "b"] * 4,
        "x": [0.0, 1.0, 0.2, 0.5, 0.7, 0.1, 0.4, 0.9],
        "y": [0.1, 1.0, 0.0, 0.3, 0.8, 0.6, 0.2, 0.5],
        "n": [0, 3, 1, 2, 0, 1, 2, 0],
        "job": ["cook", "smith", "cook", "cook", "smith", "cook", "smith", "cook"],
    }
)


def mixed(most: int) -> ee.RecourseProblem:
    """A chain, a whole number and a category."""
    features = {
        "x": ee.Feature("actionable", max_increase=1, max_decrease=1),
        "y": ee.Feature("actionable", max_increase=1, max_decrease=1),
        "n": ee.Feature("actionable", kind="integer", lower=0, upper=4),
        "job": ee.Feature("actionable", weight=0.7),
    }
    schema = ee.Schema(
        sensitive="group", protected="a", favourable="yes", features=unlimited(features), max_actions=most
    )
    scm = ee.StructuralCausalModel([("x", "y")], nodes=["group", "n", "job"], mechanisms={"y": ee.Linear({"x": -0.5})})
    columns = ["x", "y", "n", "job"]
    encode = make_column_transformer((OneHotEncoder(), ["job"]), ("passthrough", columns[:3])).fit(MIXED[columns])
    model = LogisticRegression()
    model.classes_, model.n_features_in_ = np.array(["no", "yes"]), 5
    model.coef_, model.intercept_ = np.array([[0.0, 0.6, 1.0, 0.8, 0.3]]), np.array([-2.27])
    return ee.RecourseProblem.of(
        make_pipeline(encode, model), MIXED, schema=schema, scm=scm.fit(MIXED), cost=ee.WeightedL1()
    )


@pytest.mark.parametrize("most", [1, 2])
def test_every_solver_keeps_to_the_limit(most):
    problem, people = mixed(most), MIXED.iloc[2:7]
    sure = ee.solve(problem, people, solver=ee.LinearExact())
    assert {ee.Status.OPTIMAL, ee.Status.INFEASIBLE} <= set(sure.status.tolist()) or most == 2
    for solver, near in ((ee.Milp(), 1e-6), (ee.SpatialBranchAndBound(), 1e-4)):
        found = ee.solve(problem, people, solver=solver)
        assert found.status.tolist() == sure.status.tolist()
        assert found.cost == pytest.approx(sure.cost, rel=near, nan_ok=True)
    tried = ee.solve(problem, people, solver=ee.Search(budget=200))
    assert not np.isin(tried.status, [ee.Status.OPTIMAL, ee.Status.INFEASIBLE]).any()
    assert (tried.cost[tried.has_action] >= sure.cost[tried.has_action] - 1e-9).all()
    changed = (tried.delta != 0).sum(axis=1) + (tried.level >= 0).sum(axis=1)
    assert (changed <= most).all()


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "two", True])
def test_a_number_of_changes_that_is_none_is_refused(wrong):
    with pytest.raises(ee.errors.SchemaError, match="max_actions"):
        ee.Schema(sensitive="s", protected="f", favourable=1, features={"x": "actionable"}, max_actions=wrong)
