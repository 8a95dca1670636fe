"""Bent equations and levels that follow: closed forms, brute force, refusals, limits, and sound enclosures."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from scipy.special import expit, logit
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from tests.limits import unlimited
from tests.oracles_bent import BLOCK, CASES_OF, FAMILIES, FIRST_SEED, Case, make, run
from tests.own_solver import refusal

import equieffort as ee
from equieffort.datasets import worlds
from equieffort.recourse.solvers.spatial import boxes
from equieffort.recourse.solvers.spatial.boxes import Look
from equieffort.recourse.solvers.spatial.compiled_problem import SpatialBatch, compile_problem
from equieffort.recourse.solvers.spatial.enclosures import Boxes, Planes, enclose, fill, impossible, tighten_bounds
from equieffort.recourse.status import Blocking, Ending, Infeasibility, LimitKind, Obstacle
from equieffort.world.scm.mechanisms import Fitted
from equieffort.world.scm.trees import _last_left

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
GRADES = ["low", "middle", "high"]


def world(mechanisms, people, features, score, threshold, edges=(("a", "b"),), cost=None, **schema):
    frame = pd.DataFrame(people)
    frame["sex"] = np.where(np.arange(len(frame)) % 2, "f", "m")
    scm = ee.StructuralCausalModel(list(edges), nodes=["sex"], mechanisms=mechanisms).fit(frame)
    roles = ee.Schema(sensitive="sex", protected="f", favourable=True, features=unlimited(features, frame), **schema)
    model = score if not isinstance(score, dict) else ee.LinearScore(score, threshold=threshold)
    scale = cost or ee.WeightedL1(scale=ee.MAD())
    reference = pd.DataFrame({name: [0.0, 1.0, 2.0, 1.0, 0.0, 2.0] for name in ("a", "b", "c")})
    return ee.RecourseProblem.of(model, frame, schema=roles, scm=scm, cost=scale, reference=reference), frame


def solved(problem, frame, **options):
    return ee.solve(problem, frame, solver=ee.SpatialBranchAndBound(**options))


def unit(problem, name):
    """What a unit of a feature costs upwards."""
    names = [problem.names[k] for k in problem.numeric]
    return problem.cost.up[names.index(name)]


# Closed forms


def test_a_square_is_solved_to_the_root():
    """b = a^2: the score a + b reaches the threshold where the parabola does."""
    up = ee.Feature("actionable", lower=0, upper=10)
    people = {"a": [0.0, 1.0, 2.0, 0.5], "b": [0.0, 1.0, 3.0, 1.0]}
    problem, frame = world(
        {"b": ee.Terms([(1.0, {"a": 2})])}, people, {"a": up, "b": "mutable"}, {"a": 1.0, "b": 1.0}, 12.0
    )
    table = solved(problem, frame)
    assert (table.status == ee.Status.OPTIMAL).all()
    noise = frame["b"] - frame["a"] ** 2
    roots = 0.5 * (-1 + np.sqrt(1 + 4 * (12.0 - noise)))
    assert table.cost == pytest.approx(unit(problem, "a") * (roots - frame["a"]).to_numpy(), abs=1e-4)
    assert (table.bound <= table.cost + 1e-12).all()
    assert (table.bound >= table.cost * (1 - 1e-4)).all()


def test_a_cheaper_way_on_the_other_side_of_a_valley_is_found():
    """b = a^2 and only b counts: from a = -0.5 it is nearer to go down than up, though the slope there is flat."""
    free = ee.Feature("actionable", lower=-10, upper=10)
    people = {"a": [-0.5, 0.5], "b": [0.25, 0.25]}
    problem, frame = world({"b": ee.Terms([(1.0, {"a": 2})])}, people, {"a": free, "b": "mutable"}, {"b": 1.0}, 9.0)
    table = solved(problem, frame)
    assert table.delta[:, 0] == pytest.approx([-2.5, 2.5], abs=1e-3)
    assert (table.status == ee.Status.OPTIMAL).all()


def test_a_function_with_bounds_is_solved_to_its_inverse():
    rising = ee.Function(
        lambda c: 5 * expit(c["a"]), bounds=lambda low, high: (5 * expit(low["a"]), 5 * expit(high["a"]))
    )
    people = {"a": [-1.0, 0.0], "b": [1.0, 2.0]}
    problem, frame = world(
        {"b": rising}, people, {"a": ee.Feature("actionable", upper=20.0), "b": "mutable"}, {"b": 1.0}, 4.0
    )
    table = solved(problem, frame)
    noise = frame["b"] - 5 * expit(frame["a"])
    wanted = (logit((4.0 - noise) / 5) - frame["a"]).to_numpy()
    assert (table.status == ee.Status.OPTIMAL).all()
    assert table.cost == pytest.approx(unit(problem, "a") * wanted, rel=1e-4)


def test_a_step_is_taken_to_its_edge():
    """A tree as an equation: the cheapest action ends just past its threshold, to the last bit."""
    x = np.linspace(0, 8, 33)[:, None]
    step = DecisionTreeRegressor(max_depth=1).fit(x, (x[:, 0] > 5).astype(float))
    cut = float(step.tree_.threshold[0])
    people = {"a": [1.0, 4.0], "b": [0.0, 0.0]}
    features = {"a": ee.Feature("actionable", lower=0, upper=8), "b": "mutable"}
    problem, frame = world({"b": Fitted(step, "tree")}, people, features, {"b": 1.0}, 0.5)
    table = solved(problem, frame)
    assert (table.status == ee.Status.OPTIMAL).all()
    assert table.delta[:, 0] == pytest.approx(cut - frame["a"].to_numpy(), abs=1e-6)
    assert table.cost - table.bound == pytest.approx([0.0, 0.0], abs=1e-6)


def test_a_level_follows_when_the_odds_carry_it():
    """The person's own noise is the middle of their level's interval: the cut is passed where the sum plus it says."""
    grade = ee.CumulativeLogit({"a": 1.0}, [2.0], order=["no", "yes"])
    people = {"a": [0.0, 1.0, 3.0], "b": ["no", "no", "yes"]}
    features = {"a": ee.Feature("actionable", lower=-9, upper=9), "b": "mutable"}
    problem, frame = world({"b": grade}, people, features, _says_yes(), None)
    table = solved(problem, frame)
    noise = logit(0.5 * expit(2.0 - frame["a"][:2]))
    wanted = (2.0 - noise - frame["a"][:2]).to_numpy()
    assert table.status.tolist() == [ee.Status.OPTIMAL, ee.Status.OPTIMAL, ee.Status.NOT_NEEDED]
    assert table.delta[:2, 0] == pytest.approx(wanted, abs=1e-3)


def _says_yes():
    """yes is favourable."""
    frame = pd.DataFrame({"b": ["no", "yes"] * 5})
    encode = make_column_transformer((OneHotEncoder(), ["b"]))
    return make_pipeline(encode, DecisionTreeClassifier()).fit(frame, frame["b"] == "yes")


def test_a_category_that_can_be_set_and_also_follows_is_tried_both_ways():
    """Held at its level, set to another, or left to follow: each is the cheapest for somebody."""
    grade = ee.CumulativeLogit({"a": 4.0}, [4.0, 12.0], order=GRADES)
    people = {"a": [0.9, -2.0, 0.9], "b": ["low", "low", "middle"]}
    features = {"a": ee.Feature("actionable", lower=-5, upper=6), "b": ee.Feature("actionable", weight=0.5)}
    many = pd.DataFrame({"a": np.zeros(30), "b": GRADES * 10})
    encode = make_column_transformer((OneHotEncoder(), ["b"]), remainder="passthrough")
    model = make_pipeline(encode, LogisticRegression(C=100)).fit(many, many["b"] == "middle")
    problem, frame = world({"b": grade}, people, features, model, None)
    assert "'b' is a category" in refusal(ee.LinearExact(), problem)
    assert isinstance(ee.Auto().select(problem).solver, ee.SpatialBranchAndBound)
    table = solved(problem, frame)
    assert table.status.tolist() == [ee.Status.OPTIMAL, ee.Status.OPTIMAL, ee.Status.NOT_NEEDED]
    # The first is near enough to the cut to follow; from the second it is dearer than simply changing the level.
    assert table.level[:2, 0].tolist() == [-1, 1]
    assert table.delta[0, 0] == pytest.approx((4.0 - logit(0.5 * expit(4.0 - 3.6))) / 4.0 - 0.9, abs=1e-3)
    assert table.cost[1] == pytest.approx(0.5)


def test_whole_numbers_take_the_cheapest_whole_step():
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    features = {"a": ee.Feature("actionable", lower=0, upper=9), "b": "mutable"}
    problem, frame = world(square, {"a": [0, 1, 2], "b": [0.0, 1.0, 4.0]}, features, {"b": 1.0}, 10.5)
    table = solved(problem, frame)
    assert (frame["a"] + table.delta[:, 0]).tolist() == [4.0, 4.0, 4.0]
    assert (table.status == ee.Status.OPTIMAL).all()


def test_a_number_with_levels_follows_too():
    """The same with levels that are numbers, which a score weighs: 0 or 3."""
    steps = ee.CumulativeLogit({"a": 1.0}, [2.0], order=[0.0, 3.0])
    people = {"a": [0.0, 1.0], "b": [0.0, 0.0]}
    features = {"a": ee.Feature("actionable", lower=-9, upper=9), "b": "mutable"}
    problem, frame = world({"b": steps}, people, features, {"b": 1.0, "a": 0.1}, 2.0)
    table = solved(problem, frame)
    noise = logit(0.5 * expit(2.0 - frame["a"]))
    assert (table.status == ee.Status.OPTIMAL).all()
    assert table.delta[:, 0] == pytest.approx((2.0 - noise - frame["a"]).to_numpy(), abs=1e-3)


def test_levels_alone_can_be_set():
    """Nothing but a category can be set, and another category follows it."""
    yes = ee.CumulativeLogit({"a": {"q": 9.0}}, [2.0], order=["no", "yes"])
    people = {"a": ["p", "p", "q"], "b": ["no", "no", "yes"]}
    features = {"a": ee.Feature("actionable", weight=0.7), "b": "mutable"}
    problem, frame = world({"b": yes}, people, features, _says_yes(), None)
    table = solved(problem, frame)
    assert table.status.tolist() == [ee.Status.OPTIMAL, ee.Status.OPTIMAL, ee.Status.NOT_NEEDED]
    assert table.cost[:2] == pytest.approx([0.7, 0.7])


def test_a_stricter_attempt_goes_further_and_keeps_the_bound():
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    features = {"a": ee.Feature("actionable", lower=0, upper=9), "b": "mutable"}
    problem, frame = world(square, {"a": [0.0, 1.0], "b": [0.0, 1.0]}, features, {"b": 1.0}, 4.0)
    matrix = problem.encoding.encode(frame)
    for attempt in (0, 10, 20):
        tried = ee.SpatialBranchAndBound().prepare(problem).attempt(matrix, attempt)
        reached = (frame["a"].to_numpy() + tried.delta[:, 0]) ** 2
        assert (reached >= 4.0 + 2.0**attempt * 4e-9).all()
        assert (tried.bound <= unit(problem, "a") * (2.0 - frame["a"].to_numpy())).all()


def test_large_numbers_are_as_sure_as_small_ones():
    """Incomes in hundred thousands: b = (a / 1000)^2 and the score needs 12,100."""
    square = {"b": ee.Terms([(1e-6, {"a": 2})])}
    people = {"a": [5e4, 9e4], "b": [2500.0, 8100.0]}
    features = {"a": ee.Feature("actionable", lower=0, upper=1e7), "b": "mutable"}
    problem, frame = world(square, people, features, {"b": 1.0}, 12_100.0)
    table = solved(problem, frame, gap=1e-6)
    assert (table.status == ee.Status.OPTIMAL).all()
    assert frame["a"].to_numpy() + table.delta[:, 0] == pytest.approx([1.1e5, 1.1e5], rel=1e-6)


# What stands in the way


def test_what_a_category_without_an_equation_hangs_on_must_stay():
    """Moving a would move a category of which no equation says how; c is dearer, and free."""
    features = {
        "a": ee.Feature("actionable", lower=-9, upper=9), "b": "mutable", "kind": "immutable",
        "c": ee.Feature("actionable", lower=0, upper=9, weight=5.0),
    }  # fmt: skip
    people = {"a": [1.0, 2.0], "b": [1.0, 4.0], "c": [0.0, 0.0], "kind": ["x", "y"]}
    edges = [("a", "b"), ("a", "kind")]
    problem, frame = world({"b": ee.Terms([(1.0, {"a": 2})])}, people, features, {"b": 1.0, "c": 1.0}, 8.0, edges)
    table = solved(problem, frame)
    assert (table.status == ee.Status.OPTIMAL).all()
    assert table.delta == pytest.approx(np.array([[0.0, 7.0], [0.0, 4.0]]), abs=1e-3)


def test_infeasible_only_by_proof_and_with_a_reason():
    """b = a^2 must stay under 4, and the score needs 9."""
    features = {"a": ee.Feature("actionable", lower=-9, upper=9), "b": ee.Feature("mutable", plausible=(None, 4.0))}
    people = {"a": [0.0, 1.0], "b": [0.0, 1.0]}
    problem, frame = world({"b": ee.Terms([(1.0, {"a": 2})])}, people, features, {"b": 1.0}, 9.0)
    table = solved(problem, frame)
    assert (table.status == ee.Status.INFEASIBLE).all()
    stop = Obstacle("", LimitKind.PLAUSIBLE, column="b")
    assert table.reasons()[0] == Infeasibility((stop,), Blocking.EACH)


def test_an_immutable_follower_lets_only_what_does_not_move_it():
    """b = a^2 must not change: a may stay, or go to -a exactly; c is free."""
    features = {
        "a": ee.Feature("actionable", lower=-9, upper=9), "b": "immutable",
        "c": ee.Feature("actionable", lower=0, upper=9),
    }  # fmt: skip
    people = {"a": [1.0, 2.0], "b": [1.0, 4.0], "c": [0.0, 0.0]}
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    problem, frame = world(square, people, features, {"a": 0.1, "c": 1.0}, 5.0)
    table = solved(problem, frame)
    assert (table.status == ee.Status.OPTIMAL).all()
    assert table.delta == pytest.approx(np.array([[0.0, 4.9], [0.0, 4.8]]), abs=1e-3)


def test_without_limits_budgets_grow_until_something_is_found():
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    people = {"a": [0.0, 1.0], "b": [0.0, 1.0]}
    problem, frame = world(square, people, {"a": "actionable", "b": "mutable"}, {"b": 1.0}, 1e6)
    table = solved(problem, frame)
    assert (table.status == ee.Status.OPTIMAL).all()
    assert np.abs(frame["a"].to_numpy() + table.delta[:, 0]) == pytest.approx([1000.0, 1000.0], rel=1e-4)


def test_without_limits_nothing_found_is_unknown_and_never_infeasible():
    """b = -a^2 falls whichever way a goes, but no limit says how far that is."""
    people = {"a": [0.0, 1.0], "b": [0.0, -1.0]}
    problem, frame = world(
        {"b": ee.Terms([(-1.0, {"a": 2})])}, people, {"a": "actionable", "b": "mutable"}, {"b": 1.0}, 1.0
    )
    table = solved(problem, frame)
    assert (table.status == ee.Status.UNKNOWN).all()
    assert (table.bound > 1000).all()
    assert table.reasons()[0].kind == Ending.UNLIMITED


def test_at_the_limit_the_bound_and_the_best_action_are_kept():
    early = 0
    for seed in range(3):
        case = make("amounts", seed)
        some = ee.solve(case.problem, case.people, solver=ee.SpatialBranchAndBound(gap=1e-6, node_limit=1))
        full = ee.solve(case.problem, case.people, solver=ee.SpatialBranchAndBound())
        for row in np.flatnonzero((some.status == ee.Status.FEASIBLE) | (some.status == ee.Status.UNKNOWN)):
            early += 1
            assert (some.notes[row].argument, some.notes[row].limit) == ("node_limit", 1)
            least = full.cost[row] if full.has_action[row] else np.inf
            assert some.bound[row] <= least + 1e-9
    assert early
    assert ee.SpatialBranchAndBound(node_limit=16).harder().node_limit == 160


def test_a_margin_is_kept():
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    features = {"a": ee.Feature("actionable", lower=0, upper=9), "b": "mutable"}
    problem, frame = world(square, {"a": [0.0, 1.0], "b": [0.0, 1.0]}, features, {"b": 1.0}, 4.0)
    table = solved(problem.with_margin(5.0), frame)
    assert frame["a"].to_numpy() + table.delta[:, 0] == pytest.approx([3.0, 3.0], abs=1e-3)


def test_a_percentile_cost_is_bounded_too():
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    features = {"a": ee.Feature("actionable", lower=-3, upper=3), "b": "mutable"}
    people = {"a": [0.0, 0.25], "b": [0.0, 0.0625]}
    problem, frame = world(square, people, features, {"b": 1.0}, 1.5, cost=ee.Percentile())
    table = solved(problem, frame)
    assert (table.status == ee.Status.OPTIMAL).all()
    for row, start in enumerate(frame["a"]):
        values = np.linspace(-3, 3, 6001)
        good = values[values**2 >= 1.5]
        costs = problem.cost.evaluate(np.full((len(good), 1), start), good[:, None])
        assert table.cost[row] == pytest.approx(costs.min(), abs=1e-3)


# Refusals


def test_a_gap_of_zero_is_refused_with_the_reason():
    for gap in (0, 0.0, -1.0, float("nan"), True):
        with pytest.raises(ee.errors.ParameterError, match="only in the limit"):
            ee.SpatialBranchAndBound(gap=gap)
    for limit in (0, 1.5, True):
        with pytest.raises(ee.errors.ParameterError, match="node_limit"):
            ee.SpatialBranchAndBound(node_limit=limit)


def test_what_cannot_be_enclosed_is_refused_with_the_reason():
    people = {"a": [0.0, 1.0], "b": [0.0, 1.0]}
    roles = {"a": "actionable", "b": "mutable"}
    unbounded = ee.Function(lambda causes: causes["a"] ** 2)
    problem, frame = world({"b": unbounded}, people, roles, {"b": 1.0}, 3.0)
    assert "'b' cannot be enclosed: it is a function without bounds=" in refusal(ee.SpatialBranchAndBound(), problem)
    with pytest.raises(ee.errors.ParameterError, match="without bounds="):
        solved(problem, frame)
    assert isinstance(ee.Auto().select(problem).solver, ee.Search)
    # Where the decision does not look at what cannot be enclosed, nothing is lost.
    problem, frame = world({"b": unbounded}, people, roles, {"a": 1.0}, 3.0)
    assert refusal(ee.SpatialBranchAndBound(), problem) == ""
    box = KNeighborsClassifier(1).fit(pd.DataFrame({"a": [0.0, 2.0]}), [False, True])
    problem, frame = world({"b": ee.Terms([(1.0, {"a": 2})])}, people, roles, box, None)
    assert "cannot be read" in refusal(ee.SpatialBranchAndBound(), problem)


def test_auto_says_why():
    features = {"a": ee.Feature("actionable", lower=0, upper=9), "b": "mutable"}
    square = {"b": ee.Terms([(1.0, {"a": 2})])}
    problem, _ = world(square, {"a": [0.0, 1.0], "b": [0.0, 1.0]}, features, {"b": 1.0}, 4.0)
    choice = ee.Auto().select(problem)
    assert choice.solver == ee.SpatialBranchAndBound()
    assert "'b' is not linear" in choice.reason
    assert "certified to 0.0001" in choice.reason


# Against oracles


@pytest.mark.parametrize(
    ("family", "seeds"),
    [("whole", range(10)), ("cells", range(12)), ("amounts", range(6)), ("levels", range(6)), ("ratios", range(8))],
    ids=FAMILIES,
)
def test_agrees_with_brute_force(family, seeds):
    tally = run(family, seeds)
    assert tally.cases == len(seeds)
    assert tally.optimal > 0
    assert not tally.disagreements, "\n".join(tally.disagreements)


@pytest.mark.verify
@pytest.mark.parametrize(
    ("family", "block"), [(family, block) for family in FAMILIES for block in range(CASES_OF[family] // BLOCK)]
)
def test_a_thousand_cases_agree_with_brute_force(family, block, record_property):
    start = FIRST_SEED + block * BLOCK
    tally = run(family, range(start, start + BLOCK))
    record_property("verify", {"family": f"bent, {family}", **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


def test_the_oracle_notices_a_wrong_certificate(monkeypatch):
    """A solver whose boxes forget what lies above their middle is caught."""
    honest = boxes.tighten_bounds

    def forgetful(rows, low, high, whole):
        low, high = honest(rows, low, high, whole)
        return low, np.where(high - low > 1, np.floor(0.5 * (low + high)), high)

    monkeypatch.setattr(boxes, "tighten_bounds", forgetful)
    assert run("whole", range(6)).disagreements


# Enclosures


def boxes_of(case: Case, rng: np.random.Generator) -> tuple[SpatialBatch, int, Boxes, np.ndarray]:
    """Random boxes of random people, and points inside each."""
    matrix = case.problem.encoding.encode(case.people)
    people = SpatialBatch.of(case.problem, compile_problem(case.problem), matrix)
    set_index = int(rng.integers(len(people.compiled.intervention_sets)))
    interventions = people.compiled.intervention_sets[set_index]
    person = rng.integers(0, len(matrix), 20)
    facts = people.facts[person]
    ends = np.sort(rng.uniform(-1, 5, (2, *facts.shape)) * rng.choice([0.05, 1.0], (1, len(facts), 1)), axis=0)
    low, high = np.where(interventions.is_set, ends[0], facts), np.where(interventions.is_set, ends[1], facts)
    levels = np.where(interventions.sets_level, rng.integers(0, 3, (20, len(case.problem.categorical))), -1).astype(
        float
    )
    nowhere = np.full((20, matrix.shape[1]), np.inf)
    boxes = Boxes(person, levels, np.zeros(20, dtype=np.intp), low, high, -nowhere, nowhere)
    points = low[:, None] + rng.random((20, 40, low.shape[1])) * (high - low)[:, None]
    points[:, 0], points[:, 1] = low, high
    return people, set_index, boxes, points


def follow(people: SpatialBatch, set_index: int, boxes: Boxes, z: np.ndarray) -> np.ndarray:
    """Where every column goes, by the causal model itself."""
    problem, interventions = people.problem, people.compiled.intervention_sets[set_index]
    facts = people.matrix[boxes.person]
    picked, values = np.zeros(facts.shape, dtype=bool), facts.copy()
    for j, k in enumerate(problem.numeric):
        picked[:, k], values[:, k] = interventions.is_set[j], np.where(interventions.is_set[j], z[:, j], facts[:, k])
    for b, k in enumerate(problem.categorical):
        picked[:, k] = interventions.sets_level[b]
        values[:, k] = np.where(interventions.sets_level[b], boxes.levels[:, b], facts[:, k])
    nodes = len(problem.scm.graph.nodes)
    moved = np.where(picked, values, facts)
    moved[:, :nodes] = problem.scm.propagate(facts[:, :nodes], picked[:, :nodes], values[:, :nodes])[0]
    return moved


@pytest.mark.parametrize("seed", range(15))
def test_nothing_lies_outside_its_enclosure(seed):
    """Random points of random boxes, random branching bounds: columns, planes, margins, rows and contraction hold."""
    rng = np.random.default_rng(seed)
    case = make(["amounts", "levels", "cells"][seed % 3], 500 + seed)
    people, set_index, boxes, points = boxes_of(case, rng)
    interventions, problem = people.compiled.intervention_sets[set_index], case.problem
    each = [follow(people, set_index, boxes, points[:, p]) for p in range(points.shape[1])]
    moved = np.stack(each, axis=1)
    for step in interventions.steps:
        # A branching bound that some of the points keep: from a third to two thirds of where they went.
        third, two = np.quantile(moved[:, :, step.column], [0.33, 0.67], axis=1)
        asked = rng.random(len(third)) < 0.4
        boxes.branching_low[:, step.column] = np.where(asked, third, -np.inf)
        boxes.branching_high[:, step.column] = np.where(asked & (rng.random(len(third)) < 0.5), two, np.inf)
    found = enclose(people, interventions, boxes)
    look = Look(people, 0)
    margins = look.margins(boxes, found)
    rows = [Planes.joined(found.rows)] if found.rows else []
    columns = [step.column for step in interventions.steps] + list(problem.acts)
    kept = np.ones(moved.shape[:2], dtype=bool)
    for k in columns:
        kept &= (moved[:, :, k] >= boxes.branching_low[:, [k]]) & (moved[:, :, k] <= boxes.branching_high[:, [k]])
    assert kept.any()
    assert found.alive[kept.any(axis=1)].all()
    for p in range(points.shape[1]):
        z, x, on = points[:, p], moved[:, p], kept[:, p]
        inside = (x >= found.least) & (x <= found.most)
        assert inside[on][:, columns].all()
        for planes, sign in ((found.below, 1), (found.above, -1)):
            height = (planes.slope * z[:, None]).sum(axis=2) + planes.offset
            assert (sign * (x - height) >= -1e-9 * (1 + np.abs(x)))[on][:, columns].all()
        assert (problem.view.margins(x) <= margins.most + margins.rounding_error + 1e-9)[on].all()
        for planes in rows:
            assert ((planes.slope * z[:, None]).sum(axis=2) + planes.offset >= -1e-9)[on].all()
            assert not impossible(planes, boxes.low, boxes.high)[on].any()
            low, high = tighten_bounds(planes, boxes.low, boxes.high, np.zeros(z.shape[1], dtype=bool))
            assert ((z >= low - 1e-9) & (z <= high + 1e-9))[on].all()


def test_a_fill_is_the_linear_program():
    rng = np.random.default_rng(0)
    for _ in range(40):
        low, high = np.sort(rng.uniform(-2, 2, (2, 3)), axis=0)
        fact = rng.uniform(-2, 2, 3)
        start = np.clip(fact, low, high)
        up, down = rng.uniform(0.1, 2, (2, 3))
        slope, offset = rng.normal(size=3), -float(rng.uniform(0, 2))
        row = Planes(slope[None, None], np.array([[offset]]))
        # d = up part - down part, both from the cheapest point on.
        program = linprog(
            np.concatenate([up, down]), A_ub=[np.concatenate([-slope, slope])], b_ub=[slope @ start + offset],
            bounds=[*((0, w) for w in high - start), *((0, w) for w in start - low)],
        )  # fmt: skip
        extra, point = fill(row, start[None], low[None], high[None], up[None], down[None])
        if program.status == 2:
            assert impossible(row, low[None], high[None])[0]
        else:
            assert extra[0, 0] == pytest.approx(program.fun, abs=1e-9)
            assert slope @ point[0, 0] + offset >= -1e-9


def test_the_last_value_that_single_precision_sends_left():
    rng = np.random.default_rng(0)
    thresholds = np.concatenate([rng.normal(size=200), rng.normal(size=200).astype(np.float32), [0.0, 1.0, -2.5]])
    last = _last_left(thresholds)
    assert (last.astype(np.float32) <= thresholds).all()
    assert (np.nextafter(last, np.inf).astype(np.float32) > thresholds).all()


# Worlds with known equations


@pytest.mark.parametrize("place", [w for w in worlds() if w.scm is not None], ids=lambda w: w.name)
def test_with_the_true_equations_every_recourse_is_valid(place):
    """What is certified with the true equations is favourable when carried out in the true world."""
    X, y = place.sample(312, random_state=3)
    X = X if place.sensitive else X.assign(half=np.arange(len(X)) % 2)
    columns = list(place.columns)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X[columns].iloc[:300], y.iloc[:300])
    features = {name: "mutable" for name in columns if name != place.sensitive}
    features |= {
        n: ee.Feature("actionable", lower=float(X[n].min()), upper=float(X[n].max())) for n in place.actionable
    }
    sensitive = place.sensitive or "half"
    schema = ee.Schema(sensitive=sensitive, protected=X[sensitive].min(), favourable=1, features=unlimited(features))
    asked = X.iloc[300:]
    problem = ee.RecourseProblem.of(model, X, schema=schema, scm=place.scm.ready(X))
    table = solved(problem, asked)
    frame = table.frame()
    assert set(frame["status"]) <= {"optimal", "infeasible", "not_needed"}
    has = table.has_action
    assert has.any()
    do = {name: frame[f"do_{name}"].to_numpy(float) for name in place.actionable}
    after = place.counterfactual(place.noise(asked[columns]), do)
    assert (model.predict(after[columns])[has] == 1).all()
