"""Polynomials and splines against scikit-learn's, and what they say of themselves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

from equieffort import Linear, Polynomial, Spline, StructuralCausalModel, Terms
from equieffort.errors import CausalModelError, EquieffortWarning, ParameterError
from equieffort.world.scm import Curve, Curves


def people(n=120, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(20, 70, n),
            "income": rng.normal(3000, 800, n),
            "job": rng.choice(["clerk", "driver", "nurse"], n),
            "flag": rng.random(n) < 0.4,
        }
    )
    push = frame["job"].map({"clerk": 0.0, "driver": 4.0, "nurse": -7.0})
    bend = (
        0.02 * (frame["age"] - 45) ** 2 + np.log(np.abs(frame["income"]) + 1) + 0.001 * frame["age"] * frame["income"]
    )
    return frame.assign(debt=bend + push + 3 * frame["flag"] * frame["age"] / 50 + rng.normal(size=n))


CAUSES = ["age", "income", "job", "flag"]
EDGES = [(cause, "debt") for cause in CAUSES]


def dummies(frame):
    return pd.get_dummies(frame[CAUSES], columns=["job", "flag"], drop_first=True).astype(float)


def fitted_values(scm, frame):
    return (frame["debt"] - scm.abduct(frame)["debt"]).to_numpy()


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", range(2))
def test_powers_are_scikit_learns(degree, seed):
    frame = people(seed=seed)
    scm = StructuralCausalModel(EDGES, default=Polynomial(degree)).fit(frame)
    standard = (frame[["age", "income"]] - frame[["age", "income"]].mean()) / frame[["age", "income"]].std()
    powers = [standard**k for k in range(1, degree + 1)]
    design = np.column_stack([*powers, dummies(frame).drop(columns=["age", "income"])])
    theirs = LinearRegression().fit(design, frame["debt"]).predict(design)
    np.testing.assert_allclose(fitted_values(scm, frame), theirs, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("degree", [2, 3])
def test_interactions_are_scikit_learns(degree):
    """All products, levels included; a level times itself or another of its kind adds nothing to the fit."""
    frame = people(400)
    scm = StructuralCausalModel(EDGES, default=Polynomial(degree, interactions=True)).fit(frame)
    design = dummies(frame)
    design = (design - design.mean()) / design.std()
    theirs = make_pipeline(PolynomialFeatures(degree), LinearRegression()).fit(design, frame["debt"])
    np.testing.assert_allclose(fitted_values(scm, frame), theirs.predict(design), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("degree", [1, 2, 3])
@pytest.mark.parametrize("knots", [2, 5, 8])
@pytest.mark.parametrize("beyond", ["linear", "constant"])
def test_splines_are_scikit_learns_inside_and_beyond(degree, knots, beyond):
    frame = people(200)
    edges = [("age", "debt"), ("income", "debt")]
    scm = StructuralCausalModel(edges, default=Spline(knots=knots, degree=degree, beyond=beyond)).fit(frame)
    transformer = SplineTransformer(n_knots=knots, degree=degree, knots="quantile", extrapolation=beyond)
    theirs = make_pipeline(transformer, LinearRegression()).fit(frame[["age", "income"]], frame["debt"])
    np.testing.assert_allclose(fitted_values(scm, frame), theirs.predict(frame[["age", "income"]]), atol=1e-6)
    rng = np.random.default_rng(1)
    away = frame.assign(age=rng.uniform(-50, 150, 200), income=rng.uniform(-5000, 9000, 200))
    np.testing.assert_allclose(fitted_values(scm, away), theirs.predict(away[["age", "income"]]), rtol=1e-6, atol=1e-6)


def test_levels_beside_splines_are_dummies():
    frame = people(300)
    scm = StructuralCausalModel(EDGES, default=Spline(knots=4)).fit(frame)
    transformer = SplineTransformer(n_knots=4, knots="quantile")
    design = np.column_stack([transformer.fit_transform(frame[["age", "income"]]), dummies(frame).iloc[:, 2:]])
    theirs = LinearRegression().fit(design, frame["debt"])
    np.testing.assert_allclose(fitted_values(scm, frame), theirs.predict(design), atol=1e-6)


def test_causes_with_few_values():
    """A cause with two values carries a line, one with three a parabola; a constant carries nothing."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"two": rng.integers(0, 2, 60), "three": rng.integers(0, 3, 60), "same": 4.0})
    frame["y"] = 3 * frame["two"] + np.array([0.0, 5.0, 1.0])[frame["three"]] + rng.normal(size=60)
    for causes in (["two", "three"], ["two", "three", "same"]):
        model = StructuralCausalModel([(cause, "y") for cause in causes], default=Spline())
        if "same" in causes:
            with pytest.warns(EquieffortWarning, match="constant"):
                scm = model.fit(frame)
        else:
            scm = model.fit(frame)
        means = frame.groupby(["two", "three"])["y"].transform("mean")
        design = pd.get_dummies(frame[["two", "three"]], columns=["two", "three"]).astype(float)
        theirs = LinearRegression().fit(design, frame["y"]).predict(design)
        ours = (frame["y"] - scm.abduct(frame)["y"]).to_numpy()
        np.testing.assert_allclose(ours, theirs, atol=1e-9)
        assert np.abs(ours - means).max() < 2.0


def test_curves_are_smooth_where_pieces_meet():
    frame = people(300)
    scm = StructuralCausalModel([("age", "debt")], default=Spline(knots=6)).fit(frame)
    curve = scm.mechanisms_["debt"].curves["age"]
    for knot in curve.breaks:
        step = 1e-7
        left, here, right = curve(np.array([knot - step, knot, knot + step]))
        assert abs(right - left) < 1e-4
        assert (here - left) / step == pytest.approx((right - here) / step, abs=1e-3)


def test_given_terms_by_hand():
    frame = people()
    terms = [(0.5, {"age": 2}), (-1e-3, {"age": 1, "income": 1}), (2.0, {"income": 1}, {"job": "nurse"})]
    terms += [(4.0, {}, {"flag": True, "job": "driver"}), (7.0, {})]
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": Terms(terms, 1.0, about={"age": 40.0})}).fit(frame)
    away = frame["age"] - 40.0
    by_hand = 8.0 + 0.5 * away**2 - 1e-3 * away * frame["income"] + 2.0 * frame["income"] * (frame["job"] == "nurse")
    by_hand += 4.0 * (frame["flag"] & (frame["job"] == "driver"))
    np.testing.assert_allclose(fitted_values(scm, frame), by_hand, rtol=1e-9)
    done = scm.counterfactual(frame, {"age": 40.0})
    moved = frame["debt"] - 0.5 * away**2 + 1e-3 * away * frame["income"]
    np.testing.assert_allclose(done["debt"], moved, rtol=1e-9)


def test_terms_of_degree_one_are_linear():
    frame = people()
    linear = Linear({"age": 0.3, "job": {"nurse": -2.0}}, intercept=4.0)
    terms = Terms([(0.3, {"age": 1}), (-2.0, {}, {"job": "nurse"})], intercept=4.0)
    for mechanism in (linear, terms):
        scm = StructuralCausalModel(EDGES, mechanisms={"debt": mechanism}).fit(frame)
        assert scm.equations() == ["debt = 4 + 0.3*age - 2*[job=nurse]"]
        np.testing.assert_allclose(
            fitted_values(scm, frame), 4.0 + 0.3 * frame["age"] - 2.0 * (frame["job"] == "nurse"), atol=1e-9
        )


@pytest.mark.parametrize(
    "terms",
    [
        [(1.0, {"wealth": 1})],
        [(1.0, {"age": 0})],
        [(1.0, {"age": 1.5})],
        [(1.0, {"age": True})],
        [(1.0, {"age": 10})],
        [(1.0, {"job": 1})],
        [(1.0, {}, {"age": 20})],
        [(1.0, {}, {"job": "nurs"})],
        [(np.nan, {"age": 1})],
        [(1.0, "age")],
        [3.0],
    ],
    ids=str,
)
def test_terms_that_cannot_be(terms):
    with pytest.raises(CausalModelError) as caught:
        StructuralCausalModel(EDGES, mechanisms={"debt": Terms(terms)}).fit(people())
    assert caught.value.code == "SCM_MECHANISM"


def test_curves_that_cannot_be():
    line = Curve((), (0.0,), ((0.0, 1.0),))
    for curves in (Curves({"job": line}), Curves({"wealth": line}), Curves({}, {"job": {"nurs": 1.0}})):
        with pytest.raises(CausalModelError) as caught:
            StructuralCausalModel(EDGES, mechanisms={"debt": curves}).fit(people())
        assert caught.value.code == "SCM_MECHANISM"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Polynomial(0),
        lambda: Polynomial(2.5),
        lambda: Polynomial(10),
        lambda: Spline(knots=1),
        lambda: Spline(degree=4),
        lambda: Spline(degree=True),
        lambda: Spline(beyond="flat"),
    ],
)
def test_choices_that_cannot_be(make):
    with pytest.raises(ParameterError) as caught:
        make()
    assert caught.value.code == "PARAMETER"


@pytest.mark.parametrize("learner", [Polynomial(3, interactions=True), Spline(knots=12)], ids=str)
def test_too_few_rows_for_so_many_terms(learner):
    frame = people(14)
    StructuralCausalModel(EDGES).fit(frame)
    with pytest.raises(CausalModelError, match="coefficients") as caught:
        StructuralCausalModel(EDGES, default=learner).fit(frame)
    assert caught.value.code == "SCM_TOO_FEW_ROWS"


def test_equations_in_words():
    frame = people()
    words = StructuralCausalModel(EDGES, default=Polynomial(2)).fit(frame).equations()[0]
    mean = f"{frame['age'].mean():,.6g}"
    assert words.startswith("debt = ")
    assert f"*(age - {mean})^2" in words
    assert "*[job=nurse]" in words
    assert "*[flag=True]" in words
    words = StructuralCausalModel(EDGES, default=Spline()).fit(frame).equations()[0]
    assert "+ curve(age) + curve(income)" in words
    assert "*[job=driver]" in words


@pytest.mark.parametrize("learner", [Polynomial(2), Polynomial(2, interactions=True), Spline()], ids=str)
def test_bends_are_learned_and_the_diagnostics_see_it(learner):
    """The truth is a parabola: a line misses it, and the diagnostics say so; these do not."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=500)})
    frame["b"] = 2 + frame["a"] ** 2 + frame["a"] + 0.1 * rng.normal(size=500)
    line = StructuralCausalModel([("a", "b")]).fit(frame).diagnostics_.iloc[0]
    bent = StructuralCausalModel([("a", "b")], default=learner).fit(frame)
    report = bent.diagnostics_.iloc[0]
    assert line["r2"] < 0.6 < 0.99 < report["r2"]
    assert abs(report["bend"]) < 0.05 < abs(line["bend"])
    done = bent.counterfactual(frame, {"a": 1.0})
    np.testing.assert_allclose(done["b"], frame["b"] - frame["a"] ** 2 - frame["a"] + 2.0, atol=0.3)


def test_far_units_do_not_matter():
    """Years as 2,000 and amounts in millions: the fit is that of the centred, scaled causes."""
    frame = people()
    moved = frame.assign(age=1e6 + frame["age"], income=1e-6 * frame["income"])
    for learner in (Polynomial(3, interactions=True), Spline()):
        before, after = (StructuralCausalModel(EDGES, default=learner).fit(data) for data in (frame, moved))
        np.testing.assert_allclose(fitted_values(after, moved), fitted_values(before, frame), rtol=1e-5, atol=1e-5)
