"""Mechanisms against scikit-learn's regressions and pandas' dummies."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Lasso, LinearRegression, PoissonRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from equieffort import Function, LeastSquares, Linear, Regressor, StructuralCausalModel
from equieffort.data.frames import Encoding
from equieffort.errors import CausalModelError
from equieffort.world.scm.design import indicators
from equieffort.world.scm.mechanisms import Fitted


def people(n=80, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 70, n),
            "income": rng.normal(30, 8, n),
            "job": rng.choice(["clerk", "driver", "nurse"], n),
            "flag": rng.random(n) < 0.4,
        }
    )
    jobs = frame["job"].map({"clerk": 0.0, "driver": 4.0, "nurse": -7.0})
    frame["debt"] = 5 + 0.3 * frame["age"] - 0.2 * frame["income"] + jobs + 3 * frame["flag"] + rng.normal(size=n)
    return frame


CAUSES = ["age", "income", "job", "flag"]
EDGES = [(cause, "debt") for cause in CAUSES]


def fitted_values(scm, frame):
    """f(causes): what is left of the value without its noise."""
    return (frame["debt"] - scm.abduct(frame)["debt"]).to_numpy()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_least_squares_is_linear_regression(intercept, seed):
    frame = people(seed=seed)
    scm = StructuralCausalModel([("age", "debt"), ("income", "debt")], default=LeastSquares(intercept=intercept)).fit(
        frame
    )
    theirs = LinearRegression(fit_intercept=intercept).fit(frame[["age", "income"]], frame["debt"])
    ours = scm.mechanisms_["debt"]
    assert isinstance(ours, Linear)
    np.testing.assert_allclose([ours.coef["age"], ours.coef["income"]], theirs.coef_, rtol=1e-9)
    assert ours.intercept == pytest.approx(theirs.intercept_, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(fitted_values(scm, frame), theirs.predict(frame[["age", "income"]]), atol=1e-9)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("dtype", ["str", "category", "string", object])
def test_categorical_causes_are_dummies(intercept, dtype):
    frame = people().astype({"job": dtype})
    scm = StructuralCausalModel(EDGES, default=LeastSquares(intercept=intercept)).fit(frame)
    design = pd.get_dummies(frame[CAUSES].astype({"job": "str"}), columns=["job", "flag"], drop_first=True).astype(
        float
    )
    theirs = LinearRegression(fit_intercept=intercept).fit(design, frame["debt"])
    np.testing.assert_allclose(fitted_values(scm, frame), theirs.predict(design), atol=1e-9)
    coef = scm.mechanisms_["debt"].coef
    named = dict(zip(design.columns, theirs.coef_, strict=True))
    assert coef["job"] == pytest.approx({"driver": named["job_driver"], "nurse": named["job_nurse"]})
    assert coef["flag"] == pytest.approx({True: named["flag_True"]})


def test_numbers_read_as_categories():
    frame = people().assign(code=np.random.default_rng(3).integers(0, 4, 80))
    frame["debt"] += frame["code"].map({0: 0.0, 1: 5.0, 2: -3.0, 3: 1.0})
    scm = StructuralCausalModel([*EDGES, ("code", "debt")], categorical=["code"]).fit(frame)
    design = pd.get_dummies(frame[[*CAUSES, "code"]], columns=["job", "flag", "code"]).astype(float)
    theirs = LinearRegression().fit(design, frame["debt"])
    np.testing.assert_allclose(fitted_values(scm, frame), theirs.predict(design), atol=1e-9)


def test_the_declared_first_level_is_the_one_compared_with():
    order = ["nurse", "clerk", "driver"]
    frame = people().assign(job=pd.Categorical(people()["job"], categories=order))
    scm = StructuralCausalModel(EDGES).fit(frame)
    assert set(scm.mechanisms_["debt"].coef["job"]) == {"clerk", "driver"}
    plain = StructuralCausalModel(EDGES).fit(people())
    np.testing.assert_allclose(fitted_values(scm, frame), fitted_values(plain, people()), atol=1e-9)


@given(st.integers(0, 10_000), st.floats(-1e6, 1e6), st.sampled_from([1e-4, 1.0, 1e5]))
@settings(max_examples=30, deadline=None)
def test_units_and_origins_do_not_matter(seed, origin, unit):
    """Rescaling a cause rescales its coefficient and leaves the fit alone."""
    frame = people(40, seed)
    moved = frame.assign(income=origin + unit * frame["income"])
    edges = [("age", "debt"), ("income", "debt")]
    before, after = (StructuralCausalModel(edges).fit(data) for data in (frame, moved))
    assert after.mechanisms_["debt"].coef["income"] * unit == pytest.approx(
        before.mechanisms_["debt"].coef["income"], rel=1e-4
    )
    np.testing.assert_allclose(fitted_values(after, moved), fitted_values(before, frame), rtol=1e-4, atol=1e-4)


def test_equally_good_fits_take_the_least_norm():
    """Twice the same cause: each gets half, as the pseudo-inverse says."""
    frame = people().assign(twin=lambda data: data["age"])
    with pytest.warns(UserWarning, match="collinear"):
        scm = StructuralCausalModel([("age", "debt"), ("twin", "debt")]).fit(frame)
    centred = frame[["age", "twin"]] - frame[["age", "twin"]].mean()
    slopes = np.linalg.pinv(centred.to_numpy()) @ (frame["debt"] - frame["debt"].mean())
    coef = scm.mechanisms_["debt"].coef
    np.testing.assert_allclose([coef["age"], coef["twin"]], slopes, rtol=1e-9)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("others", [[], ["share"]], ids=["alone", "beside another"])
def test_a_constant_cause_has_no_slope(others):
    """Nothing was learned about it, and the least-norm fit gives it nothing."""
    for constant in (0.1, 1.1, 33.3, 0.7):
        frame = people().assign(constant=constant, share=lambda data: data["income"] / 1000)
        scm = StructuralCausalModel([(cause, "debt") for cause in ["constant", *others]]).fit(frame)
        assert scm.mechanisms_["debt"].coef["constant"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(3.0), Lasso(0.1)], ids=str)
def test_a_regressor_that_is_linear_becomes_an_equation(estimator):
    frame = people()
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": Regressor(estimator)}).fit(frame)
    assert isinstance(scm.mechanisms_["debt"], Linear)
    design = pd.get_dummies(frame[CAUSES], columns=["job", "flag"], drop_first=True).to_numpy(dtype=float)
    theirs = estimator.fit(design, frame["debt"].to_numpy()).predict(design)
    np.testing.assert_allclose(fitted_values(scm, frame), theirs, atol=1e-9)


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestRegressor(10, random_state=0),
        DecisionTreeRegressor(max_depth=3, random_state=0),
        make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge()),
        KNeighborsRegressor(3),
        PoissonRegressor(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_other_regressor_is_asked(estimator):
    frame = people().assign(debt=lambda data: data["debt"].abs())
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": estimator}).fit(frame)
    assert isinstance(scm.mechanisms_["debt"], Fitted)
    design = pd.get_dummies(frame[CAUSES], columns=["job", "flag"], drop_first=True).to_numpy(dtype=float)
    theirs = estimator.fit(design, frame["debt"].to_numpy()).predict(design)
    np.testing.assert_allclose(fitted_values(scm, frame), theirs, atol=1e-9)


def test_the_callers_estimator_is_not_fitted():
    estimator = LinearRegression()
    StructuralCausalModel(EDGES, mechanisms={"debt": estimator}).fit(people())
    assert not hasattr(estimator, "coef_")


def test_any_object_with_fit_and_predict():
    class Mean(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.mean_ = np.mean(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.mean_)

    frame = people()
    with pytest.warns(UserWarning, match="R2 = "):
        scm = StructuralCausalModel(EDGES, mechanisms={"debt": Mean()}).fit(frame)
    np.testing.assert_allclose(fitted_values(scm, frame), frame["debt"].mean())


def test_indicators():
    frame = people()
    encoding = Encoding.of(frame, CAUSES)
    design, owners = indicators(encoding, encoding.encode(frame))
    theirs = pd.get_dummies(frame[CAUSES], columns=["job", "flag"], drop_first=True)
    np.testing.assert_array_equal(design, theirs.to_numpy(dtype=float))
    assert owners == [("age", None), ("income", None), ("job", "driver"), ("job", "nurse"), ("flag", True)]


def test_given_equations():
    frame = people()
    given = Linear({"age": 2.0, "income": -0.5, "job": {"nurse": 10.0, "driver": -1.0}, "flag": 3.0}, intercept=7.0)
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": given}).fit(frame)
    by_hand = 7.0 + 2.0 * frame["age"] - 0.5 * frame["income"] + 3.0 * frame["flag"]
    by_hand += 10.0 * (frame["job"] == "nurse") - 1.0 * (frame["job"] == "driver")
    np.testing.assert_allclose(fitted_values(scm, frame), by_hand, atol=1e-12)
    assert scm.mechanisms_["debt"] is given
    assert scm.diagnostics_.empty
    # What is not named counts nothing.
    partial = StructuralCausalModel(EDGES, mechanisms={"debt": Linear({"age": 1.0})}).fit(frame)
    np.testing.assert_allclose(fitted_values(partial, frame), frame["age"], atol=1e-12)


def test_functions_get_the_values_as_they_are():
    seen = []

    def f(causes):
        seen.append(causes)
        return np.where(causes["job"] == "nurse", causes["age"] ** 2, causes["income"]) + causes["flag"]

    frame = people()
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": Function(f)}).fit(frame)
    by_hand = np.where(frame["job"] == "nurse", frame["age"] ** 2, frame["income"]) + frame["flag"]
    np.testing.assert_allclose(fitted_values(scm, frame), by_hand, atol=1e-12)
    assert list(seen[0].columns) == list(scm.graph.parents("debt"))
    assert seen[0]["flag"].dtype == bool
    assert pd.api.types.is_integer_dtype(seen[0]["age"].dtype)
    assert set(seen[0]["job"]) == {"clerk", "driver", "nurse"}


@pytest.mark.parametrize(
    "f",
    [
        lambda causes: 1.0,
        lambda causes: causes["age"][:-1],
        lambda causes: causes["age"] * np.nan,
        lambda causes: causes[["age", "income"]],
        lambda causes: causes["job"],
    ],
    ids=["scalar", "short", "nan", "frame", "text"],
)
def test_functions_must_answer_for_everybody(f):
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": Function(f)}).fit(people())
    with pytest.raises(CausalModelError, match="'debt'") as caught:
        scm.abduct(people())
    assert caught.value.code == "SCM_MECHANISM"


@pytest.mark.parametrize(
    "coef",
    [
        {"wealth": 1.0},
        {"job": 2.0},
        {"job": {"nurs": 1.0}},
        {"age": {"old": 1.0}},
    ],
    ids=str,
)
def test_equations_that_do_not_fit_the_graph(coef):
    scm = StructuralCausalModel(EDGES, mechanisms={"debt": Linear(coef)})
    with pytest.raises(CausalModelError) as caught:
        scm.fit(people())
    assert caught.value.code == "SCM_MECHANISM"
    assert not scm.is_fitted


def test_equations_must_be_finite():
    for given_coef in ({"age": np.nan}, {"age": np.inf}, {"job": {"nurse": np.nan}}):
        with pytest.raises(CausalModelError):
            Linear(given_coef)
    with pytest.raises(CausalModelError):
        Linear({}, intercept=np.inf)


def test_equations_in_words():
    words = Linear({"age": -0.1, "sex": {"male": 2.0}}, intercept=5.0).equation("amount")
    assert words == "amount = 5 - 0.1*age + 2*[sex=male]"
    scm = StructuralCausalModel([*EDGES, ("age", "job")]).fit(people())
    assert {line.split(" ")[0].rstrip(":") for line in scm.equations()} == {"debt", "job"}
