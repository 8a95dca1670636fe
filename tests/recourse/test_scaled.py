"""Problems are solved and judged in scaled units: no answer depends on the units of features or of costs."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import equieffort as ee
from equieffort.foundations.tolerances import is_closed, unit_of
from equieffort.recourse.problem import RecourseProblem
from equieffort.recourse.solving import solve

pytestmark = pytest.mark.usefixtures("quiet")

NUMBERS = ("a", "b", "d")
SEARCH = ee.BranchAndBound(time_limit=None)
WEIGHTS = (
    np.array([[1.0, 1.0, 2.0], [0.5, -1.0, 1.0], [-1.0, 0.3, 0.7], [0.4, 0.9, -0.6]]),
    np.array([[1.2, 0.4, -0.5, 0.3]]),
)
BIASES = ([-0.5, 0.2, 0.1, 0.3], [-2.5])
LIMITS = {"a": (-4.0, 6.0), "b": (-4.0, 6.0)}


def people(rows=60):
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=rows), rng.normal(size=rows)
    d = 0.5 * a - 0.3 * b + 0.2 * rng.normal(size=rows)
    return pd.DataFrame({"a": a, "b": b, "d": d, "sex": np.where(rng.random(rows) < 0.5, "f", "m")})


def in_units(frame, units):
    return frame.assign(**{name: frame[name] * unit for name, unit in units.items()})


def trained(kind, frame, units):
    """The same decision whatever the units, but for the last digits of thresholds and scores."""
    y = frame["a"] + frame["b"] + 2 * frame["d"] > 2.0
    if kind == "linear":
        coef = {"a": 1.0, "b": 1.0, "d": 2.0}
        return ee.LinearScore({name: c / units[name] for name, c in coef.items()}, threshold=2.0)
    if kind == "network":
        first, second = WEIGHTS
        factors = np.array([units[name] for name in NUMBERS])
        return ee.ReLUNetwork([first / factors, second], BIASES, classes=[False, True], feature_names=NUMBERS)
    # A tree does not split what varies by less than 1e-7: behind a scaler it sees the same people in every unit.
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(5, max_depth=3, random_state=0))
    return forest.fit(in_units(frame, units)[list(NUMBERS)], y)


def problem_in(kind, units, *, bent=False, rules=(), weight=1.0, d="mutable"):
    frame = people()
    X = in_units(frame, units)
    a, b, dd = (units[name] for name in NUMBERS)
    if bent:
        d_of = ee.Terms([(0.5 * dd / a, {"a": 1}), (0.1 * dd / b**2, {"b": 2})])
    else:
        d_of = ee.Linear({"a": 0.5 * dd / a, "b": -0.3 * dd / b})
    scm = ee.StructuralCausalModel([("a", "d"), ("b", "d")], nodes=["sex"], mechanisms={"d": d_of}).fit(X)
    features = {
        name: ee.Feature("actionable", lower=low * units[name], upper=high * units[name], weight=weight)
        for name, (low, high) in LIMITS.items()
    }
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, rules=rules, features={**features, "d": d})
    classifier = trained(kind, frame, units)
    return RecourseProblem.of(classifier, X, schema=schema, scm=scm, model_features=NUMBERS), X


UNITS = [
    {"a": 1e-12, "b": 1e12, "d": 1.0},
    {"a": 1e9, "b": 1e-6, "d": 1e-10},
    {"a": 1e-10, "b": 1e-10, "d": 1e-10},
    {"a": 1e12, "b": 1e12, "d": 1e12},
]
PLAIN = dict.fromkeys(NUMBERS, 1.0)


def assert_same(plain, other, units, *, gap=1e-6):
    assert other.status.tolist() == plain.status.tolist()
    acting = plain.has_action
    assert acting.any()
    np.testing.assert_allclose(other.cost[acting], plain.cost[acting], rtol=2 * gap)
    # No action is anywhere outside of what is allowed, in spreads of the feature.
    after = other.counterfactuals()
    for name, (low, high) in LIMITS.items():
        values, facts = after[name] / units[name], other.data[name] / units[name]
        assert (values >= np.minimum(low, facts) - 1e-8).all()
        assert (values <= np.maximum(high, facts) + 1e-8).all()


@cache
def in_plain_units(kind, solver, rows, *, bent=False, rule=None):
    """What every other unit is compared with."""
    rules = [] if rule is None else [rules_in(PLAIN)[rule]]
    problem, X = problem_in(kind, PLAIN, bent=bent, rules=rules)
    return solve(problem, X.iloc[:rows], solver=solver)


@pytest.mark.parametrize("units", UNITS, ids=str)
@pytest.mark.parametrize(
    ("kind", "solver"),
    [
        ("linear", ee.LinearExact()), ("linear", ee.Milp()), ("linear", ee.SpatialBranchAndBound()), ("forest", SEARCH),
        ("forest", ee.SpatialBranchAndBound()), ("network", SEARCH), ("network", ee.Milp()),
    ],
)  # fmt: skip
def test_answers_are_the_same_in_every_unit(kind, solver, units):
    problem, X = problem_in(kind, units)
    other = solve(problem, X.iloc[:12], solver=solver)
    assert_same(in_plain_units(kind, solver, 12), other, units, gap=solver.gap)


@pytest.mark.parametrize("units", UNITS[:2], ids=str)
@pytest.mark.parametrize("kind", ["linear", "forest", "network"])
def test_what_must_stay_stays_in_every_unit_also_where_equations_bend(kind, units):
    """d must not move: only b's and a's pulls that cancel are left, and hardly anybody has recourse."""
    tables = []
    for u in (PLAIN, units):
        problem, X = problem_in(kind, u, bent=True, d=ee.Feature("mutable", plausible=(-1.0 * u["d"], 1.0 * u["d"])))
        tables.append(solve(problem, X.iloc[:10], solver=ee.SpatialBranchAndBound(gap=1e-3)))
    plain, other = tables
    assert_same(plain, other, units, gap=1e-3)
    after, facts = other.counterfactuals()["d"] / units["d"], other.data["d"] / units["d"]
    assert (after <= np.maximum(1.0, facts) + 1e-8).all()
    assert (after >= np.minimum(-1.0, facts) - 1e-8).all()
    problem, X = problem_in(kind, units, bent=True, d="immutable")
    table = solve(problem, X.iloc[:10], solver=ee.SpatialBranchAndBound(gap=1e-3))
    np.testing.assert_allclose(table.counterfactuals()["d"] / units["d"], X["d"].iloc[:10] / units["d"], atol=1e-8)


def rules_in(units):
    a, b = units["a"], units["b"]
    return (
        f"a < {1.5 * a!r}",
        ee.Sum({"a": 1 / a, "b": 1 / b}, upper=2.5),
        ee.Monotone("a", "b", per_unit=0.1 * b / a),
        f"if a > {0.5 * a!r} then b <= {2.0 * b!r}",
    )


@pytest.mark.parametrize("units", UNITS[1:3], ids=str)
@pytest.mark.parametrize(
    ("kind", "solver"),
    [("linear", ee.Milp()), ("forest", SEARCH), ("network", SEARCH), ("linear", ee.SpatialBranchAndBound())],
)
@pytest.mark.parametrize("which", range(4))
def test_rules_mean_the_same_in_every_unit(kind, solver, units, which):
    problem, X = problem_in(kind, units, rules=[rules_in(units)[which]])
    plain, other = in_plain_units(kind, solver, 8, rule=which), solve(problem, X.iloc[:8], solver=solver)
    assert other.status.tolist() == plain.status.tolist()
    acting = plain.has_action
    np.testing.assert_allclose(other.cost[acting], plain.cost[acting], rtol=2e-4)
    a, b = (other.counterfactuals()[name] / units[name] for name in ("a", "b"))
    fact_a, fact_b = (other.data[name] / units[name] for name in ("a", "b"))
    holds = [
        a < np.maximum(1.5, fact_a + 1e-12),
        a + b <= np.maximum(2.5, fact_a + fact_b) + 1e-7,
        (a <= fact_a + 1e-8) | (b - fact_b >= 0.1 * (a - fact_a) - 1e-7),
        (a <= np.maximum(0.5, fact_a) + 1e-8) | (b <= np.maximum(2.0, fact_b) + 1e-8),
    ][which]
    assert holds.to_numpy()[acting].all()


@pytest.mark.parametrize("weight", [1e-12, 1e-6, 1e6])
@pytest.mark.parametrize(
    ("kind", "bent", "solver"),
    [
        ("network", False, SEARCH), ("forest", False, SEARCH), ("linear", True, ee.SpatialBranchAndBound()),
        ("forest", False, ee.Milp()), ("network", False, ee.Milp()),
    ],
)  # fmt: skip
def test_cheap_and_dear_actions_are_proven_as_well_as_others(kind, bent, solver, weight):
    """A cost below what was an absolute gap is no reason to stop: actions cost up to 1.5 times too much."""
    problem, X = problem_in(kind, PLAIN, bent=bent, weight=weight)
    plain, other = in_plain_units(kind, solver, 12, bent=bent), solve(problem, X.iloc[:12], solver=solver)
    assert other.status.tolist() == plain.status.tolist()
    acting = plain.has_action
    np.testing.assert_allclose(other.cost[acting], weight * plain.cost[acting], rtol=2 * solver.gap)
    assert (other.bound[acting] > 0.999 * other.cost[acting]).all()


def bent_audit(reference=None):
    """score a + d > 6 with d = d0 + (a'^2 - a^2) / 2: a' = -1 + sqrt(1 + 2 (6 + a^2 / 2 - d0))."""
    rng = np.random.default_rng(0)
    a = rng.uniform(0.5, 2.0, size=40)
    X = pd.DataFrame({"a": a, "d": 0.0, "sex": np.where(np.arange(40) % 2, "f", "m")})
    scm = ee.StructuralCausalModel([("a", "d")], nodes=["sex"], mechanisms={"d": ee.Terms([(0.5, {"a": 2})])}).fit(X)
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True,
        features={"a": ee.Feature("actionable", lower=0, upper=40), "d": "mutable"},
    )  # fmt: skip
    model = ee.LinearScore({"a": 1.0, "d": 1.0}, threshold=6.0, closed=False)
    if reference is not None:
        reference = pd.concat([X, X.iloc[:1].assign(a=reference)], ignore_index=True)
    estimate = ee.Criteria(level=None)
    audit = ee.audit(model, X, schema=schema, scm=scm, reference=reference, criteria=estimate)
    change = -1 + np.sqrt(1 + 2 * (6 + 0.5 * a**2)) - a
    source = X["a"] if reference is None else reference["a"]
    return audit, change / np.ptp(source.to_numpy()), X["sex"] == "f"


@pytest.mark.parametrize("reference", [None, 500_000.0, 999_999.0])
def test_one_wild_reference_row_does_not_make_efforts_vanish(reference):
    audit, effort, women = bent_audit(reference)
    np.testing.assert_allclose(audit.recourse.effort, effort, rtol=1e-3)
    acr = effort[women].mean() / effort[~women].mean()
    assert audit.system.comparisons[0].acr == pytest.approx(acr, rel=1e-3)
    # Whether a verdict may rest on such a range is another matter; it is never that effort vanishes.
    assert audit.verdict.outcome == ("equal" if reference is None else "inconclusive")


def test_an_effort_vanishes_only_where_the_solver_says_so():
    """On the open boundary itself an action costs as little as one likes; just beside it, it does not."""
    X = pd.DataFrame({"a": [2.0, 2.0 - 1e-6, 1.0, 3.0], "sex": ["f", "f", "m", "m"]})
    schema = ee.Schema(
        sensitive="sex", protected="f", favourable=True, features={"a": ee.Feature("actionable", upper=9)}
    )
    scm = ee.StructuralCausalModel([], nodes=["sex", "a"]).fit(X)
    problem = RecourseProblem.of(ee.LinearScore({"a": 1.0}, threshold=2.0, closed=False), X, schema=schema, scm=scm)
    table = solve(problem, X)
    assert table.vanishing.tolist() == [True, False, False, False]
    np.testing.assert_allclose(table.effort, [0.0, 5e-7, 0.5, np.nan], rtol=1e-4)
    assert table.status[:3].tolist() == [1, 1, 1]


def test_a_gap_is_a_share_of_the_cost():
    assert is_closed(1.0, 1.0 - 0.9e-6, 1e-6)
    assert not is_closed(1e-7, 0.0, 1e-6)
    assert is_closed(3e6, 3e6 - 2.0, 1e-6)
    assert is_closed(1e-12, 0.0, 1e-6, rounding=1e-11)


def test_units_are_exact_powers_of_two_that_wild_values_do_not_move():
    values = np.random.default_rng(0).normal(size=500)
    assert unit_of(values) == unit_of(np.append(values, 999_999.0)) == 1.0
    assert unit_of(np.zeros(5)) == 1.0
    assert unit_of(np.append(np.zeros(400), [8.0])) == 8.0
    problem, X = problem_in("linear", {"a": 1e7, "b": 1e-7, "d": 1.0})
    for unit in problem.scaled.units:
        assert np.log2(unit) == np.rint(np.log2(unit))
    matrix = problem.encoding.encode(X)
    scaled = problem.scaled.encoding.encode(X)
    np.testing.assert_array_equal(scaled * problem.scaled.units, matrix)
    np.testing.assert_array_equal(problem.scaled.view.margins(scaled), problem.view.margins(matrix))


@pytest.mark.parametrize("equation", [
    ee.Terms([(1.5, {"a": 2}), (0.5, {"a": 1, "b": 1})]),
    ee.Terms([(1.5, {"a": 3})]),
    ee.Linear({"a": 2.0, "b": -1.0}, 3.0),
    ee.Function(lambda c: np.tanh(c["a"]), bounds=lambda low, high: (np.tanh(low["a"]), np.tanh(high["a"]))),
])  # fmt: skip
def test_equations_say_the_same_in_units(equation):
    X = people()[["a", "b", "d"]]
    scm = ee.StructuralCausalModel([("a", "d"), ("b", "d")], mechanisms={"d": equation}).fit(X)
    units = np.array([8.0, 0.25, 1024.0])
    nodes = list(scm.graph.nodes)
    scaled = scm.in_units(np.array([dict(zip("abd", units, strict=True))[n] for n in nodes]))
    matrix = X[nodes].to_numpy()
    own = scaled.encoding_.units
    chosen = np.zeros(matrix.shape, dtype=bool)
    chosen[:, nodes.index("a")] = True
    values = matrix + 0.5
    plain = scm.propagate(matrix, chosen, values)[0]
    np.testing.assert_allclose(scaled.propagate(matrix / own, chosen, values / own)[0] * own, plain, rtol=1e-15)
    low, high = np.array([[-1.0, -0.5]]), np.array([[0.5, 2.0]])
    causes = own[[nodes.index("a"), nodes.index("b")]]
    for a, b in zip(
        scm.equation("d").bounds(low, high), scaled.equation("d").bounds(low / causes, high / causes), strict=True
    ):
        np.testing.assert_array_equal(a, b * own[nodes.index("d")])


def test_a_pipeline_with_a_step_of_the_users_own_is_searched_in_units_too():
    """Black boxes get the users' own numbers, and the search the scaled ones."""

    def build(units):
        factors = np.array([units[name] for name in NUMBERS])
        steps = make_column_transformer((FunctionTransformer(lambda x: x / factors), list(NUMBERS)))
        return make_pipeline(steps, RandomForestClassifier(5, max_depth=3, random_state=0))

    costs = []
    for units in (PLAIN, UNITS[0]):
        frame = people()
        X = in_units(frame, units)
        y = frame["a"] + frame["b"] + 2 * frame["d"] > 2.0
        scm = ee.StructuralCausalModel([], nodes=["sex", *NUMBERS]).fit(X)
        schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features={
            name: ee.Feature("actionable", lower=low * units[name], upper=high * units[name])
            for name, (low, high) in LIMITS.items()})  # fmt: skip
        model = build(units).fit(X[list(NUMBERS)], y)
        problem = RecourseProblem.of(model, X, schema=schema, scm=scm, model_features=NUMBERS)
        table = solve(problem, X.iloc[:20], solver=ee.Search())
        costs.append(table.cost[table.has_action])
    assert len(costs[0]) == len(costs[1]) > 0
    np.testing.assert_allclose(costs[1], costs[0], rtol=0.05)


def test_equations_of_the_users_own_are_asked_in_their_own_numbers():
    """Levels and amounts through classes that only know the users' units."""

    class Doubled(ee.Linear):
        def bind(self, node, causes):
            plain = super().bind(node, causes)
            return type("Own", (type(plain),), {"counterfactual": lambda own, v, b, a: v + 2 * (a - b)[:, 0]})(
                plain.causes, plain.weights, plain.tables, plain.intercept
            )

    X = people()[["a", "d"]]
    scm = ee.StructuralCausalModel([("a", "d")], mechanisms={"d": Doubled({"a": 0.5})}).fit(X)
    scaled = scm.in_units(np.array([4.0, 0.5]))
    matrix = X[list(scm.graph.nodes)].to_numpy()
    own = scaled.encoding_.units
    chosen = np.zeros(matrix.shape, dtype=bool)
    chosen[:, 0] = True
    moved = scm.propagate(matrix, chosen, matrix + 1.0)[0]
    np.testing.assert_allclose(moved[:, 1], matrix[:, 1] + 2.0)
    np.testing.assert_allclose(scaled.propagate(matrix / own, chosen, (matrix + 1.0) / own)[0] * own, moved)
