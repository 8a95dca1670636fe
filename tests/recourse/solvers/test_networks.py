"""Branch and bound for networks against every choice of active ReLUs, and by cases that can be checked by hand."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.limits import unlimited
from tests.oracles_networks import FAMILIES, run

from equieffort import (
    Auto,
    BranchAndBound,
    Feature,
    Forbidden,
    Linear,
    Monotone,
    Percentile,
    RecourseProblem,
    ReLUNetwork,
    Schema,
    StructuralCausalModel,
    Sum,
    solve,
)
from equieffort.errors import EquieffortWarning, ParameterError

EACH = 6
"""Cases of each family in everyday tests."""
VERIFIED, BLOCK = 1000, 50
"""Cases of each family in `make verify`, and how many are one test; their seeds lie beyond the everyday ones."""
FIRST_SEED = 100_000
SOLVER = BranchAndBound(time_limit=None, node_limit=20_000)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_search_agrees_with_every_choice_of_active_relus(family):
    tally = run(family, range(EACH), SOLVER, most=2)
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.cases == EACH
    assert tally.optimal > 0
    assert tally.infeasible > 0
    # What the model's rounding leaves open must stay an exception.
    assert tally.feasible <= 0.1 * tally.people


@pytest.mark.verify
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("block", range(VERIFIED // BLOCK))
def test_a_thousand_networks_of_each_family(family, block, record_property):
    start = FIRST_SEED + block * BLOCK
    tally = run(family, range(start, start + BLOCK), BranchAndBound(time_limit=None), most=1)
    record_property("verify", {"family": f"networks {family}", **tally.counts})
    assert not tally.disagreements, "\n".join(tally.disagreements)


# By hand. A ridge: margin = 3 - relu(x - 2) - relu(2 - x) - relu(y) = 3 - |x - 2| - relu(y), shifted by the bias.


def ridge(threshold):
    """Favourable where |x - 2| + relu(y) is below the threshold."""
    weights = [[[1, 0], [-1, 0], [0, 1]], [[-1, -1, -1]]]
    return ReLUNetwork(weights, [[-2, 2, 0], [threshold]], classes=["no", "yes"], feature_names=["x", "y"])


def told(network, people, features, edges=(), equations=None, solver=SOLVER, cost=None, **schema):
    frame = pd.DataFrame(people)
    frame["s"] = ["f", "m"] * (len(frame) // 2)
    schema = {"favourable": "yes", "protected": "f", "sensitive": "s"} | schema
    scm = StructuralCausalModel(list(edges), nodes=list(people), mechanisms=equations or {}).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        problem = RecourseProblem.of(
            network, frame, schema=Schema(features=unlimited(features), **schema), cost=cost, scm=scm
        )
        return solve(problem, frame, solver=solver).frame().iloc[0], problem


PEOPLE = {"x": [-4.0, 6.0, 2.0, 0.0], "y": [3.0, 0.0, -7.0, 1.0]}
FREE = {"x": Feature("actionable"), "y": Feature("actionable")}


def test_the_nearest_side_of_a_ridge():
    """From x = -4, y = 3 and |x - 2| + relu(y) < 1 both must fall: 5 of x (range 10) and 3 of y (range 10)."""
    row, problem = told(ridge(1.0), PEOPLE, FREE)
    assert row.status == "optimal"
    assert row.cost == pytest.approx(0.5 + 0.3, abs=2e-6)
    assert row.bound <= row.cost <= row.bound + 1e-6
    choice = Auto().select(problem)
    assert isinstance(choice.solver, BranchAndBound)
    assert "ReLU network with 3 hidden units" in choice.reason


def test_beyond_the_ridge_it_is_too_far():
    """A limit on one side: x may not pass -1, so |x - 2| stays at least 3."""
    limited = {name: Feature("actionable", lower=-9.0, upper=top) for name, top in (("x", -1.0), ("y", 9.0))}
    row, _ = told(ridge(2.9), PEOPLE, limited)
    assert row.status == "infeasible"
    row, _ = told(ridge(3.5), PEOPLE, limited)
    # Both cost .1 a unit, and x has 3 to go before its limit.
    assert row.status == "optimal"
    assert row.cost == pytest.approx((6 + 3 - 3.5) / 10, abs=2e-6)


def test_reasons_name_the_limits_and_rules_without_which_there_is_an_action():
    """|x - 2| + relu(y) < 1, from x = -4 and y = 3."""

    def why(x, *rules, y=None, network=None):
        features = {"x": Feature("actionable", **x), "y": Feature("actionable", lower=-9, upper=9) if y is None else y}
        row, _ = told(network or ridge(1.0), PEOPLE, features, rules=rules)
        assert row.status == "infeasible"
        return row.reason

    first = "Without this limit there would be a route to approval"
    assert why({"lower": -9, "upper": 0}) == f"{first}: x (upper limit 0; now -4)."
    wide = {"lower": -9, "upper": 9}
    assert why(wide, "x <= 0.9", "y <= 8") == f"{first}: the rule that x <= 0.9."
    several = "Several limits together block every route to approval"
    both = f"{several}: x (largest increase 2; now -4); the rule that x <= 0.9."
    assert why({"max_increase": 2.0}, "x <= 0.9", y="mutable", network=ridge(4.0)) == both
    flat = ReLUNetwork([[[1, 0]], [[-1]]], [[0], [-1.0]], classes=["no", "yes"], feature_names=["x", "y"])
    words = "Nothing that the actionable features could become, within or beyond their limits, changes the decision."
    assert why(wide, network=flat) == words


def test_a_peak_that_is_never_high_enough_without_limits_is_unknown():
    """The margin is at most -1 anywhere, but by ranges alone over all numbers that is not seen."""
    weights = [[[1, 0], [1, 0], [0, 1]], [[1, -1, -1]]]
    network = ReLUNetwork(weights, [[0, 0, 0], [-1.0]], classes=["no", "yes"], feature_names=["x", "y"])
    row, _ = told(network, PEOPLE, FREE, solver=BranchAndBound(time_limit=None, node_limit=2000))
    assert row.status == "unknown"
    assert row.bound > 1.0
    assert "no action costs less than" in row.reason


def test_what_cannot_matter_is_proven_without_limits():
    """Every layer's range is bounded whatever the actions are: -relu(x) - relu(y) - 1."""
    network = ReLUNetwork(
        [[[1, 0], [0, 1]], [[-1, -1]]], [[0, 0], [-1.0]], classes=["no", "yes"], feature_names=["x", "y"]
    )
    assert told(network, PEOPLE, FREE)[0].status == "infeasible"


LIMITED = {name: Feature("actionable", lower=-30, upper=30) for name in ("x", "y")}


@pytest.mark.parametrize(
    ("rule", "cost"),
    [
        # Each unit costs .1. Without rules x rises 5 from -4 and y falls 3 from 3; what a sum allows is bought with y.
        (Sum({"x": 1, "y": 1}, upper=-1), 0.5 + 0.5),
        # The own sum, -1, is beyond the end already: it may stay.
        (Sum({"x": 1, "y": 1}, upper=-2), 0.5 + 0.5),
        (Sum({"x": 1, "y": 1}, lower=4, upper=9), 0.8),
        # The own sum is 2 and must stay: 1.5 (2 - x) < 1 from x = 4/3 on, and y is then 1/3.
        (Sum({"x": 1, "y": 2}, lower=2, upper=2), 16 / 30 + 8 / 30),
        # x must be above 1, and so y at most -3; or not.
        ("if x > 0 then y <= -3", 0.5 + 0.6),
        ("if x > 4 then y <= -3", 0.8),
        # Broken by x = -4 and y = 3 already, so not asked.
        ("if x < 0 then y <= -3", 0.8),
        ("x <= 0 or x >= 3 or y <= -2", 0.5 + 0.5),
        ("x != 1.5 and (y > 2.5 or y < -1)", 0.5 + 0.4),
        (Monotone("x", "y"), np.inf),
        (Monotone("y", "x", per_unit=2), 0.8),
        ("x <= 0.9", np.inf),
        ("x <= 0.9 or y <= -29", 0.5 + 3.2),
        ("x <= 0.9 or y <= -31", np.inf),
    ],
    ids=str,
)
def test_rules_between_features_by_hand(rule, cost):
    row, problem = told(ridge(1.0), PEOPLE, LIMITED, rules=[rule])
    assert isinstance(Auto().select(problem).solver, BranchAndBound)
    if cost == np.inf:
        assert row.status == "infeasible"
    else:
        assert (row.status, row.cost) == ("optimal", pytest.approx(cost, abs=2e-6))


def test_rules_bind_whole_numbers_and_what_follows():
    """y = x / 2 follows, and the network wants x + 2 y = 2 x above 5: 3 is the first whole number, x + y then 4.5."""
    features = {"x": Feature("actionable", lower=0, upper=20), "y": "mutable"}
    network = ReLUNetwork([[[1, 2]], [[1]]], [[0], [-5.0]], classes=["no", "yes"], feature_names=["x", "y"])
    world = {"edges": [("x", "y")], "equations": {"y": Linear({"x": 0.5})}}
    people = {"x": [0, 10], "y": [0.0, 1.0]}
    row, _ = told(network, people, features, rules=[Sum({"x": 1, "y": 1}, upper=4.5)], **world)
    assert (row.status, row.do_x, row.cost) == ("optimal", 3, pytest.approx(0.3))
    row, _ = told(network, people, features, rules=[Sum({"x": 1, "y": 1}, upper=4.4)], **world)
    assert row.status == "infeasible"
    row, _ = told(network, people, features, rules=["x in (0, 2, 5, 8)"], **world)
    assert (row.status, row.do_x) == ("optimal", 5)


def test_a_rule_that_asks_for_fractions_of_whole_numbers_is_searched_to_the_end():
    """x must become 1, so y + z at least 1.5: in whole numbers 2, which cost .3 together, and no less is proven."""
    names = ["x", "y", "z"]
    network = ReLUNetwork([[[1, 0.01, 0.01]], [[1]]], [[0], [-0.5]], classes=["no", "yes"], feature_names=names)
    features = {name: Feature("actionable", lower=0, upper=10) for name in names}
    rules = [Sum({"y": 1, "z": 1, "x": -1.5}, lower=0)]
    row, _ = told(network, {name: [0, 10] for name in names}, features, rules=rules)
    assert (row.status, row.do_x, row.cost) == ("optimal", 1, pytest.approx(0.3))
    assert np.nansum([row.do_y, row.do_z]) == 2


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_levels_in_rules_and_forbidden_changes():
    """The score is 2 for job b, 4 for c, plus x, and must pass 3; x costs .1 a unit and a change of job 1."""
    frame = pd.DataFrame({"job": list("abcabc"), "x": [0.0, 10.0, 1.0, 2.0, 3.0, 4.0], "s": ["f", "m"] * 3})
    encode = make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough")
    model = MLPClassifier([1], activation="relu", max_iter=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = make_pipeline(encode, model).fit(frame[["job", "x"]], ["no", "yes"] * 3)
    model.coefs_ = [np.array([[0.0], [2.0], [4.0], [1.0]]), np.array([[1.0]])]
    model.intercepts_ = [np.zeros(1), np.array([-3.0])]

    def cost(*rules, weight=0.05):
        features = {"job": Feature("actionable", weight=weight), "x": Feature("actionable", lower=0, upper=20)}
        schema = Schema(sensitive="s", protected="f", favourable="yes", features=unlimited(features), rules=rules)
        scm = StructuralCausalModel([], nodes=["job", "x"]).fit(frame)
        problem = RecourseProblem.of(pipe, frame, schema=schema, scm=scm)
        row = solve(problem, frame, solver=SOLVER).frame().iloc[0]
        return row.cost if row.status == "optimal" else row.status

    near = {"abs": 2e-6}
    assert cost() == pytest.approx(0.05, **near)
    assert cost(Forbidden("job", [("a", "c")])) == pytest.approx(0.05 + 0.1, **near)
    assert cost(Forbidden("job", [("a", None)])) == pytest.approx(0.3, **near)
    assert cost("if job = 'c' then x >= 2.5") == pytest.approx(0.05 + 0.1, **near)
    assert cost("if job = 'c' then x >= 0.5") == pytest.approx(0.05 + 0.05, **near)
    assert cost("job = 'a'", "x <= 2.9") == "infeasible"
    # Broken by a already: it may stay, or become b, but no other level that breaks the rule.
    assert cost("job = 'b'") == pytest.approx(0.05 + 0.1, **near)


def test_followers_are_part_of_the_first_layer():
    """y = x / 2 follows: moving x by d moves y by d / 2; holding y is dearer here, since nothing else is to be set."""
    features = {"x": Feature("actionable"), "y": "mutable"}
    network = ReLUNetwork([[[1, 2]], [[1]]], [[0], [-10.0]], classes=["no", "yes"], feature_names=["x", "y"])
    row, _ = told(network, {"x": [0.0, 10.0], "y": [0.0, 1.0]}, features, [("x", "y")], {"y": Linear({"x": 0.5})})
    # relu(d + 2 * d / 2) > 10 at d = 5, half of the range.
    assert row.cost == pytest.approx(0.5, abs=2e-6)
    fixed = {"x": Feature("actionable"), "y": "immutable"}
    row, _ = told(network, {"x": [0.0, 10.0], "y": [0.0, 1.0]}, fixed, [("x", "y")], {"y": Linear({"x": 0.5})})
    assert row.status == "infeasible"


def test_whole_numbers():
    """|x - 2| < 0.5 is reached only by x = 2."""
    features = {"x": Feature("actionable", lower=-20, upper=20), "y": Feature("immutable")}
    row, _ = told(ridge(0.5), {"x": [-4, 6, 2, 0], "y": [-1.0, 0.0, -7.0, 1.0]}, features)
    assert (row.status, row.do_x) == ("optimal", 2)
    # |x - 2| < 0 by none, although fractions come as near as one likes.
    row, _ = told(ridge(-1e-3), {"x": [-4, 6, 3, 0], "y": [-1.0, 0.0, -7.0, 1.0]}, features)
    assert row.status == "infeasible"


def test_a_tie_that_counts_and_one_that_does_not():
    """margin 1 - |x - 2|: exactly zero at x = 1. Only where the first class is wanted is that favourable."""
    people = {"x": [-4, 6, 2, 0], "y": [-1.0, 0.0, -7.0, -1.0]}
    features = {"x": Feature("actionable", lower=-20, upper=1), "y": Feature("immutable")}
    row, _ = told(ridge(1.0), people, features)
    assert row.status != "optimal"
    assert row.status != "feasible"
    turned = ReLUNetwork(
        [[[1, 0], [-1, 0], [0, 1]], [[1, 1, 1]]], [[-2, 2, 0], [-1.0]], classes=["yes", "no"], feature_names=["x", "y"]
    )
    row, _ = told(turned, people, features)
    assert (row.status, row.do_x) == ("optimal", 1)


def test_percentiles_as_cost():
    """From x = 0 to above 2: the share of people who are overtaken."""
    people = {"x": [0.0, 1.0, 2.0, 4.0], "y": [0.0] * 4}
    network = ReLUNetwork([[[1, 0]], [[1]]], [[0], [-3.0]], classes=["no", "yes"], feature_names=["x", "y"])
    row, _ = told(network, people, {"x": Feature("actionable"), "y": "mutable"}, cost=Percentile())
    # From 1/4 at 0 to 3/4 at 2, and half of the last quarter at 3.
    assert row.cost == pytest.approx(0.5 + 0.125, abs=2e-6)


def test_a_gap_of_zero_is_refused_with_the_reason():
    with pytest.raises(ParameterError, match="gap"):
        told(ridge(1.0), PEOPLE, FREE, solver=BranchAndBound(gap=0))


def trained(n=300, width=(24, 24)):
    rng = np.random.default_rng(3)
    names = [f"v{k}" for k in range(6)]
    frame = pd.DataFrame(rng.normal(size=(n, 6)), columns=names)
    target = np.sin(2 * frame["v0"]) + frame["v1"] * frame["v2"] + 0.5 * frame["v3"] > 0.7
    model = make_pipeline(StandardScaler(), MLPClassifier(width, max_iter=800, random_state=0, alpha=1e-3))
    return model.fit(frame, np.where(target, "yes", "no")), frame, names


def test_at_a_limit_the_action_and_the_bound_reached_are_told():
    model, frame, names = trained()
    frame["s"] = ["f", "m"] * 150
    features = {name: Feature("actionable", max_increase=2.0, max_decrease=2.0) for name in names[:5]}
    problem = RecourseProblem.of(
        model, frame, scm=StructuralCausalModel([], nodes=names).fit(frame),
        schema=Schema(sensitive="s", protected="f", favourable="yes", features=features | {"v5": "immutable"}),
    )  # fmt: skip
    some = frame[model.predict(frame[names]) == "no"].iloc[:6]
    some = pd.concat([some, frame[model.predict(frame[names]) == "yes"].iloc[:1]]).assign(s=["f", "m"] * 3 + ["f"])
    full = solve(problem, some, solver=SOLVER).frame()
    short = solve(problem, some, solver=BranchAndBound(time_limit=None, node_limit=4)).frame()
    assert (full.status[:-1] == "optimal").all()
    limited = short.status == "feasible"
    assert limited.any()
    for row in np.flatnonzero(limited):
        assert short.bound.iloc[row] <= full.cost.iloc[row] + 1e-9
        assert short.cost.iloc[row] >= full.bound.iloc[row] - 1e-9
        assert "raise node_limit" in short.reason.iloc[row]
    wide = solve(problem, some, solver=BranchAndBound(gap=0.05, time_limit=None)).frame()
    assert (0.95 * wide.cost[:-1] <= full.cost[:-1] + 1e-9).all()
    alone = solve(problem, some.iloc[[1, 0, 6]], solver=SOLVER).frame()
    assert alone.cost.tolist()[:2] == [full.cost.iloc[1], full.cost.iloc[0]]


def test_sets_of_classes_of_a_linear_model_are_solved_exactly():
    """Three regions along x: to reach b or c from a, the nearer border counts; worked out from the scores."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.normal(size=400), "y": rng.normal(size=400)})
    labels = np.where(frame["x"] + frame["y"] > 0.8, "c", np.where(frame["x"] > 0.3, "b", "a"))
    model = LogisticRegression().fit(frame, labels)
    frame["s"] = ["f", "m"] * 200
    problem = RecourseProblem.of(
        model, frame, scm=StructuralCausalModel([], nodes=["x", "y"]).fit(frame),
        schema=Schema(
            sensitive="s", protected="f", favourable=["b", "c"], features=unlimited(FREE)
        ),
    )  # fmt: skip
    assert "3 linear scores" not in Auto().select(problem).reason
    assert isinstance(Auto().select(problem).solver, BranchAndBound)
    table = solve(problem, frame).frame()
    refused = np.flatnonzero(table.status != "not_needed")[:30]
    coef, intercept = model.coef_, model.intercept_
    size = [np.ptp(frame["x"]), np.ptp(frame["y"])]
    for row in refused:
        point, costs = frame[["x", "y"]].to_numpy()[row], []
        for wanted in (1, 2):
            # Only class a is unwanted, so one linear margin decides, and the best rate of gain for its price.
            weights = coef[wanted] - coef[0]
            lack = -(weights @ point + intercept[wanted] - intercept[0])
            costs.append(lack / max(abs(weights[0]) * size[0], abs(weights[1]) * size[1]))
        assert table.status.iloc[row] == "optimal"
        assert table.cost.iloc[row] == pytest.approx(min(costs), abs=1e-8)


def test_what_lies_beyond_the_last_budget_is_not_claimed_to_be_dearer():
    """relu(x + 1) - relu(x - 1/2) + relu(x - 30,000,000) - 3 is positive from x = 30,000,001.5 on."""
    network = ReLUNetwork(
        [[[1, 0], [1, 0], [1, 0]], [[1, -1, 1]]], [[1, -0.5, -3e7], [-3.0]], classes=["no", "yes"],
        feature_names=["x", "y"],
    )  # fmt: skip
    row, _ = told(network, {"x": [0.0, 10.0], "y": [0.0, 1.0]}, {"x": Feature("actionable"), "y": "immutable"})
    assert row.status in ("unknown", "optimal")
    assert row.bound <= 0.1 * 30_000_001.5 * (1 + 1e-6)
