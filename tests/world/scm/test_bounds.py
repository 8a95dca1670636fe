"""Bounds over boxes against dense samples: f never leaves them, and they close in on f with the box."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import (
    AdaBoostRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from equieffort import (
    Function,
    LeastSquares,
    Linear,
    Polynomial,
    Product,
    Ratio,
    Regressor,
    Spline,
    StructuralCausalModel,
    Terms,
)
from equieffort.errors import CausalModelError, EquieffortWarning, ParameterError
from equieffort.world.scm import Curve, Curves, Mechanism
from equieffort.world.scm.trees import read_trees

CAUSES = ["a", "b", "job", "k"]
EDGES = [(cause, "y") for cause in CAUSES]
LEVELS = ["x", "y", "z"]


@pytest.fixture(autouse=True)
def alone():
    """Small histograms on several threads mostly wait for each other."""
    with threadpool_limits(1):
        yield


def people(seed, n=150):
    rng = np.random.default_rng(seed)
    place, unit = rng.normal(0, 20, 2), 10.0 ** rng.uniform(-2, 2, 2)
    frame = pd.DataFrame(
        {
            "a": place[0] + unit[0] * rng.normal(size=n),
            "b": place[1] + unit[1] * rng.exponential(size=n),
            "job": rng.choice(LEVELS, n),
            "k": rng.integers(0, 6, n),
        }
    )
    a, b = (frame["a"] - place[0]) / unit[0], (frame["b"] - place[1]) / unit[1]
    push = frame["job"].map({"x": 0.0, "y": 2.0, "z": -1.0})
    return frame.assign(y=np.sin(2 * a) + a * b - 0.3 * b**2 + push * (1 + a) + frame["k"] + 0.1 * rng.normal(size=n))


def bump(causes):
    return np.sin(causes["a"]) + np.where(causes["job"] == "y", causes["k"], 0)


def bump_bounds(low, high):
    top = np.where(low["job"] == "y", high["k"], 0)
    return np.where(low["job"] == "y", low["k"], 0) - 1.0, top + 1.0


def random_terms(rng):
    terms = []
    for _ in range(int(rng.integers(1, 7))):
        powers = {name: int(rng.integers(1, 4)) for name in ("a", "b", "k") if rng.random() < 0.45}
        levels = {"job": str(rng.choice(LEVELS))} if rng.random() < 0.4 else {}
        terms.append((rng.normal(), powers, levels))
    return Terms(terms, intercept=rng.normal(), about={"a": rng.normal(0, 20)} if rng.random() < 0.5 else {})


MECHANISMS = {
    "least squares": lambda rng: LeastSquares(),
    "given": lambda rng: Linear({"a": rng.normal(), "b": rng.normal(), "job": {"z": rng.normal()}}, rng.normal()),
    "terms": random_terms,
    "one power a term": lambda rng: Terms([(1.0, {"a": 3}), (-2.0, {"b": 2}), (1.0, {}, {"job": "y"}), (3.0, {})]),
    "ratio": lambda rng: Ratio({"a": rng.normal(), "k": 1.0}, {"b": 1.0, "k": 0.1}, scale=rng.normal()),
    "ratio of one to one": lambda rng: Ratio("a", "b"),
    "share of a sum": lambda rng: Ratio("b", ["a", "b"]),
    "product": lambda rng: Product(["a", "b", "b"], scale=rng.normal()),
    "quadratic": lambda rng: Polynomial(),
    "cubic": lambda rng: Polynomial(3),
    "sextic": lambda rng: Polynomial(6),
    "degree nine": lambda rng: Polynomial(9),
    "quadratic with products": lambda rng: Polynomial(2, interactions=True),
    "cubic with products": lambda rng: Polynomial(3, interactions=True),
    "spline": lambda rng: Spline(),
    "many knots": lambda rng: Spline(knots=12, beyond="constant"),
    "broken lines": lambda rng: Spline(knots=6, degree=1),
    "bent pieces": lambda rng: Spline(knots=6, degree=2),
    "tree": lambda rng: DecisionTreeRegressor(max_depth=5),
    "forest": lambda rng: RandomForestRegressor(7, random_state=0),
    "extra trees": lambda rng: ExtraTreesRegressor(7, max_depth=6, random_state=0),
    "boosted": lambda rng: GradientBoostingRegressor(n_estimators=15, random_state=0),
    "boosted from zero": lambda rng: GradientBoostingRegressor(n_estimators=9, init="zero", loss="absolute_error"),
    "histogram": lambda rng: HistGradientBoostingRegressor(max_iter=15, min_samples_leaf=5, random_state=0),
    "function": lambda rng: Function(bump, bounds=bump_bounds),
}
TREES = ("tree", "forest", "extra trees", "boosted", "boosted from zero", "histogram")
LOOSE = (*TREES, "function")


def fitted(name, seed):
    rng = np.random.default_rng(seed)
    frame = people(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = StructuralCausalModel(EDGES, mechanisms={"y": MECHANISMS[name](rng)}).fit(frame)
    return scm, frame, rng


def boxes_around(frame, scm, rng, count, spread=1.5):
    """Boxes of every width, some of them points, some beyond the data; a category is one level."""
    matrix = scm.causes("y").encode(frame)
    middle = matrix[rng.integers(0, len(matrix), count)] + 0.0
    span = np.ptp(matrix, axis=0)
    half = span * spread * 10.0 ** rng.uniform(-9, 0, (count, 1)) * rng.random(middle.shape)
    half[rng.random(middle.shape) < 0.2] = 0.0
    job = scm.causes("y").position("job")
    half[:, job] = 0.0
    shift = rng.normal(0, 0.5, middle.shape) * span
    shift[:, job] = 0.0
    return middle + shift - half, middle + shift + half


def inside(low, high, rng, count):
    """Points of each box: corners, knife edges and anything between."""
    share = rng.random((count, *low.shape))
    corner = rng.random(share.shape)
    share = np.where(corner < 0.15, 0.0, np.where(corner > 0.85, 1.0, share))
    points = np.clip(low + share * (high - low), low, high)
    points[0], points[1] = low, high
    return points


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.verify) for seed in range(1, 8))])
def test_f_stays_between_the_bounds_and_between_the_planes(name, seed):
    scm, frame, rng = fitted(name, seed)
    f = scm.equation("y")
    assert f.is_bounded
    assert f.why_unbounded == ""
    low, high = boxes_around(frame, scm, rng, 60)
    least, most = f.bounds(low, high)
    below, above = f.affine_bounds(low, high)
    for points in inside(low, high, rng, 40):
        values = f(points)
        assert (least <= values).all()
        assert (values <= most).all()
        assert (below(points) <= values).all()
        assert (values <= above(points)).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_the_box_of_one_point_gives_the_value(name):
    scm, frame, rng = fitted(name, 5)
    f = scm.equation("y")
    points, _ = boxes_around(frame, scm, rng, 200)
    size = 1e-9 * (1 + np.abs(f(points)).max())
    least, most = f.bounds(points, points)
    below, above = f.affine_bounds(points, points)
    assert (most - least <= size).all()
    assert (above(points) - below(points) <= size).all()


@pytest.mark.parametrize("name", [name for name in MECHANISMS if name not in (*LOOSE, "broken lines")])
def test_planes_close_in_with_the_square_of_the_box(name):
    """Ten times smaller, the gap between the planes is a hundred times smaller, or only rounding is left."""
    scm, frame, _ = fitted(name, 6)
    f = scm.equation("y")
    matrix = scm.causes("y").encode(frame)
    middle, span = matrix[:40], np.ptp(matrix, axis=0) * 0.02
    span[scm.causes("y").position("job")] = 0.0
    gaps = []
    for shrink in (1.0, 0.1):
        low, high = middle - shrink * span, middle + shrink * span
        below, above = f.affine_bounds(low, high)
        gaps.append((above.offset - below.offset).sum())
    rounding = 1e-9 * np.abs(f(middle)).sum()
    assert gaps[1] <= 0.025 * gaps[0] + rounding


@pytest.mark.parametrize("name", ["quadratic", "cubic", "spline", "broken lines", *TREES])
def test_bounds_of_one_cause_are_reached(name):
    """Where terms do not mix, the bounds are what a fine grid finds, up to the grid."""
    scm, frame, rng = fitted(name, 7)
    f = scm.equation("y")
    matrix = scm.causes("y").encode(frame)
    k = scm.causes("y").position("a")
    low, high = matrix[:25].copy(), matrix[:25].copy()
    low[:, k] -= rng.random(25) * np.ptp(matrix[:, k]) * 0.4
    high[:, k] += rng.random(25) * np.ptp(matrix[:, k]) * 0.4
    least, most = f.bounds(low, high)
    shares = np.linspace(0, 1, 2001)[:, None, None]
    grid = f((low + shares * (high - low)).reshape(-1, low.shape[1])).reshape(2001, 25)
    if name in TREES[:1]:
        np.testing.assert_allclose(least, grid.min(axis=0), rtol=1e-9)
        np.testing.assert_allclose(most, grid.max(axis=0), rtol=1e-9)
    elif name not in TREES:
        tolerance = 1e-3 * (grid.max(axis=0) - grid.min(axis=0)) + 1e-9
        assert (grid.min(axis=0) - least <= tolerance).all()
        assert (most - grid.max(axis=0) <= tolerance).all()
    assert (least <= grid.min(axis=0)).all()
    assert (most >= grid.max(axis=0)).all()


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_range_of_codes_covers_every_level_in_it(name):
    scm, frame, rng = fitted(name, 8)
    f, job = scm.equation("y"), scm.causes("y").position("job")
    low, high = boxes_around(frame, scm, rng, 30)
    first, last = np.sort(rng.integers(0, 3, (2, 30)), axis=0)
    low[:, job], high[:, job] = first, last
    least, most = f.bounds(low, high)
    below, above = f.affine_bounds(low, high)
    ends = []
    for code in range(3):
        rows = (first <= code) & (code <= last)
        left, right = low.copy(), high.copy()
        left[:, job] = right[:, job] = code
        one = f.bounds(left, right)
        ends.append((np.where(rows, one[0], np.inf), np.where(rows, one[1], -np.inf)))
        for points in inside(left, right, rng, 15):
            values = f(points)
            assert ((least <= values) & (values <= most))[rows].all()
            assert ((below(points) <= values) & (values <= above(points)))[rows].all()
    np.testing.assert_allclose(least, np.min([end[0] for end in ends], axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(most, np.max([end[1] for end in ends], axis=0), rtol=1e-9, atol=1e-9)


def test_bounds_by_hand():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "b": [0.0, 1.0, 5.0], "y": [1.0, 2.0, 3.0]})
    edges = [("a", "y"), ("b", "y")]

    def bounds(mechanism, low, high):
        f = StructuralCausalModel(edges, mechanisms={"y": mechanism}).fit(frame).equation("y")
        least, most = f.bounds([low], [high])
        return least[0], most[0]

    close = pytest.approx
    assert bounds(Linear({"a": 2.0, "b": -1.0}, 1.0), (0, 0), (3, 5)) == (close(-4), close(7))
    assert bounds(Terms([(1.0, {"a": 2})]), (-1, 0), (3, 0)) == (close(0, abs=1e-12), close(9))
    assert bounds(Terms([(1.0, {"a": 3}), (-3.0, {"a": 1})]), (-2, 0), (2, 0)) == (close(-2), close(2))
    assert bounds(Terms([(1.0, {"a": 1, "b": 1})]), (0, 0), (10, 10)) == (close(0, abs=1e-9), close(100))
    ramp = Curve((0.0,), (0.0, 0.0), ((0.0, 0.0), (0.0, 2.0)))
    assert bounds(Curves({"a": ramp}, intercept=1.0), (-4, 0), (3, 0)) == (close(1), close(7))
    # What has no end: straight lines are followed, all else may go anywhere.
    assert bounds(Curves({"a": ramp}, intercept=1.0), (-np.inf, 0), (3, 0)) == (close(1), close(7))
    assert bounds(Linear({"a": -2.0}), (0, -np.inf), (np.inf, np.inf)) == (-np.inf, close(0))
    assert bounds(Terms([(1.0, {"a": 2}), (1.0, {"b": 1})]), (0, 0), (np.inf, 1)) == (-np.inf, np.inf)


def test_planes_of_a_square_are_tangent_and_secant():
    frame = pd.DataFrame({"a": [0.0, 1.0, 2.0], "y": [1.0, 2.0, 3.0]})
    f = StructuralCausalModel([("a", "y")], mechanisms={"y": Terms([(1.0, {"a": 2})])}).fit(frame).equation("y")
    below, above = f.affine_bounds([[1.0]], [[3.0]])
    # x^2 on [1, 3]: the secant is 4x - 3, the tangent of the same slope 4x - 4.
    np.testing.assert_allclose([below.slope[0, 0], above.slope[0, 0]], 4.0)
    np.testing.assert_allclose([below.offset[0], above.offset[0]], [-4.0, -3.0])


@pytest.mark.parametrize("seed", range(3))
def test_trees_at_their_thresholds(seed):
    """On a threshold and one float beside it, in single precision as the trees read: exact, tree by tree."""
    scm, frame, rng = fitted("forest", seed)
    f = scm.equation("y")
    matrix = scm.causes("y").encode(frame)
    k, design = scm.causes("y").position("a"), 0
    assert scm.causes("y").position("a") == 0
    cuts = np.concatenate([t.tree_.threshold[t.tree_.feature == design] for t in f.estimator.estimators_])
    rows = matrix[rng.integers(0, len(matrix), len(cuts))].copy()
    for step in (-np.inf, np.inf):
        for beside in (cuts, np.nextafter(cuts, step), np.nextafter(cuts.astype(np.float32), step).astype(float)):
            rows[:, k] = beside
            least, most = f.bounds(rows, rows)
            np.testing.assert_allclose(least, f(rows), rtol=1e-12, atol=1e-12)
            np.testing.assert_allclose(most, f(rows), rtol=1e-12, atol=1e-12)


def test_a_log_link_is_followed():
    frame = people(3).assign(y=lambda data: np.exp(data["y"] / data["y"].std()))
    boosted = HistGradientBoostingRegressor(loss="poisson", max_iter=10, min_samples_leaf=5, random_state=0)
    scm = StructuralCausalModel(EDGES, mechanisms={"y": boosted}).fit(frame)
    f, rng = scm.equation("y"), np.random.default_rng(0)
    assert f.is_bounded
    low, high = boxes_around(frame, scm, rng, 50)
    least, most = f.bounds(low, high)
    for points in inside(low, high, rng, 30):
        assert ((least <= f(points)) & (f(points) <= most)).all()


class Plain(Mechanism):
    def bind(self, node, causes):
        return lambda parents: parents[:, 0] * 2.0

    def equation(self, node):
        return f"{node} = 2*first"


@pytest.mark.parametrize(
    ("mechanism", "reason"),
    [
        (KNeighborsRegressor(3), "KNeighborsRegressor"),
        (AdaBoostRegressor(n_estimators=3, random_state=0), "AdaBoostRegressor"),
        (GradientBoostingRegressor(n_estimators=3, init=KNeighborsRegressor(3)), "starts from KNeighbors"),
        (
            HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=5, categorical_features=[4]),
            "HistGradientBoostingRegressor splits categories",
        ),
        (Function(bump), "bounds="),
        (Plain(), "no bounds"),
    ],
    ids=lambda part: type(part).__name__,
)
def test_what_cannot_be_bounded_says_so(mechanism, reason):
    frame = people(1)
    scm = StructuralCausalModel(EDGES, mechanisms={"y": mechanism}).fit(frame)
    f = scm.equation("y")
    assert not f.is_bounded
    assert reason in f.why_unbounded
    points = scm.causes("y").encode(frame)
    least, most = f.bounds(points, points)
    assert np.isneginf(least).all()
    assert np.isposinf(most).all()
    below, above = f.affine_bounds(points, points)
    assert np.isneginf(below(points)).all()
    assert np.isposinf(above(points)).all()
    # Counterfactuals do not need bounds.
    moved = scm.counterfactual(frame, {"a": frame["a"] + 1.0})
    after = points.copy()
    after[:, scm.causes("y").position("a")] += 1.0
    np.testing.assert_allclose(moved["y"], frame["y"] + f(after) - f(points))


def test_trees_are_asked_beyond_single_precision_as_far_as_it_reaches():
    frame = people(1)
    scm = StructuralCausalModel(EDGES, mechanisms={"y": RandomForestRegressor(3, random_state=0)}).fit(frame)
    far = scm.counterfactual(frame, {"a": np.full(len(frame), 1e39)})
    near = scm.counterfactual(frame, {"a": np.full(len(frame), 1e38)})
    np.testing.assert_array_equal(far["y"], near["y"])


def test_trees_that_are_not_what_they_seem(monkeypatch):
    class Doubled(RandomForestRegressor):
        def predict(self, X):
            return 2 * super().predict(X)

    with pytest.warns(EquieffortWarning, match="explains 0"):
        scm = StructuralCausalModel(EDGES, mechanisms={"y": Doubled(3, random_state=0)}).fit(people(1))
    assert "Doubled is a class of its own" in scm.equation("y").why_unbounded
    # Were they read all the same, their predictions would tell.
    monkeypatch.setattr("equieffort.world.scm.trees.why_not", lambda thing, library="": "")
    assert "do not repeat" in read_trees(scm.equation("y").estimator)


@pytest.mark.parametrize(
    "bounds",
    [
        lambda low, high: (low["a"] * 0 + 2.0, low["a"] * 0 + 3.0),
        lambda low, high: (high["a"], low["a"] - 1.0),
        lambda low, high: low["a"],
        lambda low, high: (0.0, 1.0),
        lambda low, high: (low["job"], high["job"]),
        lambda low, high: (low["a"] * np.nan, low["a"]),
    ],
    ids=["elsewhere", "upside down", "one", "scalars", "text", "nan"],
)
def test_bounds_of_a_function_are_looked_at(bounds):
    frame = people(1)
    scm = StructuralCausalModel(EDGES, mechanisms={"y": Function(lambda c: np.sin(c["a"]), bounds=bounds)}).fit(frame)
    points = scm.causes("y").encode(frame)
    with pytest.raises(CausalModelError, match="'y'") as caught:
        scm.equation("y").bounds(points, points)
    assert caught.value.code == "SCM_MECHANISM"


@pytest.mark.parametrize("name", MECHANISMS)
def test_boxes_without_an_end(name):
    scm, frame, rng = fitted(name, 9)
    f = scm.equation("y")
    low, high = boxes_around(frame, scm, rng, 40)
    numbers = [scm.causes("y").position(cause) for cause in ("a", "b", "k")]
    points = inside(low, high, rng, 20)
    for ends, far in ((low, -np.inf), (high, np.inf)):
        away = rng.random((40, 3)) < 0.3
        ends[:, numbers] = np.where(away, far, ends[:, numbers])
    least, most = f.bounds(low, high)
    below, above = f.affine_bounds(low, high)
    for at in points:
        values = f(at)
        assert ((least <= values) & (values <= most)).all()
        assert ((below(at) <= values) & (values <= above(at))).all()


def test_boxes_that_are_none():
    f = fitted("cubic", 0)[0].equation("y")
    for low, high in (([[0, 0, 0]], [[1, 1, 1]]), ([[1, 1, 1, 1]], [[0, 2, 2, 2]]), ([[np.nan] * 4], [[1.0] * 4])):
        with pytest.raises(ParameterError):
            f.bounds(low, high)
        with pytest.raises(ParameterError):
            f.affine_bounds(low, high)


@pytest.mark.parametrize("name", MECHANISMS)
def test_bounds_survive_pickling(name):
    scm, frame, rng = fitted(name, 2)
    low, high = boxes_around(frame, scm, rng, 20)
    again = pickle.loads(pickle.dumps(scm))
    for ours, theirs in zip(scm.equation("y").bounds(low, high), again.equation("y").bounds(low, high), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert again.equations() == scm.equations()
    assert again.equations()[0].startswith("y = ")


def test_a_regressor_learner_is_read_like_the_regressor():
    scm = StructuralCausalModel(EDGES, mechanisms={"y": Regressor(DecisionTreeRegressor(max_depth=2))}).fit(people(1))
    assert scm.equation("y").is_bounded
