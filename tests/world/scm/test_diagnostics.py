"""Fit quality against scikit-learn, numpy and scipy."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeRegressor

from equieffort import LeastSquares, Linear, StructuralCausalModel
from equieffort.errors import CausalModelError, EquieffortWarning


def people(n=100, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(5, 2, n), "b": rng.normal(size=n), "job": rng.choice(list("xyz"), n)})
    frame["c"] = frame["a"] - frame["b"] + (frame["job"] == "y") + rng.exponential(size=n)
    frame["d"] = frame["c"] ** 2 + rng.normal(size=n)
    return frame


EDGES = [("a", "c"), ("b", "c"), ("job", "c"), ("c", "d")]


def test_the_numbers():
    frame = people()
    report = StructuralCausalModel(EDGES).fit(frame).diagnostics_.set_index("node")
    assert list(report.index) == ["c", "d"]
    for node, causes in (("c", ["a", "b", "job"]), ("d", ["c"])):
        design = pd.get_dummies(frame[causes], drop_first=True).astype(float)
        fitted = LinearRegression().fit(design, frame[node]).predict(design)
        residual = frame[node] - fitted
        row = report.loc[node]
        assert row["r2"] == pytest.approx(r2_score(frame[node], fitted))
        assert row["residual_mean"] == pytest.approx(0.0, abs=1e-9)
        assert row["residual_std"] == pytest.approx(residual.std(ddof=0))
        assert row["residual_skew"] == pytest.approx(scipy.stats.skew(residual))
        assert row["condition"] == pytest.approx(np.linalg.cond((design - design.mean()) / design.std(ddof=0)))
        bend = scipy.stats.pearsonr(residual, (fitted - fitted.mean()) ** 2).statistic
        assert row["bend"] == pytest.approx(bend)
        spread = scipy.stats.pearsonr(np.abs(residual - residual.mean()), fitted).statistic
        assert row["changing_spread"] == pytest.approx(spread)
        assert row["rows"] == 100
        assert row["causes"].split(", ") == causes
    # A square fitted by a line is bent; a line is not.
    assert report.loc["d", "bend"] > 0.5 > abs(report.loc["c", "bend"])


@pytest.mark.parametrize("learner", [LeastSquares(intercept=False), DecisionTreeRegressor(max_depth=2, random_state=0)])
def test_r2_of_other_learners(learner):
    frame = people()
    scm = StructuralCausalModel([("a", "c"), ("b", "c")], mechanisms={"c": learner}).fit(frame)
    if isinstance(learner, LeastSquares):
        learner = LinearRegression(fit_intercept=False)
    fitted = learner.fit(frame[["a", "b"]].to_numpy(), frame["c"]).predict(frame[["a", "b"]].to_numpy())
    assert scm.diagnostics_["r2"][0] == pytest.approx(r2_score(frame["c"], fitted))


def test_given_equations_are_not_judged():
    scm = StructuralCausalModel(EDGES, mechanisms={"c": Linear({"a": 100.0})}).fit(people())
    assert scm.diagnostics_["node"].tolist() == ["d"]


def codes(caught):
    return [entry.message.code for entry in caught]


@pytest.mark.parametrize(
    "extra",
    [
        {"e": lambda data: data["a"]},
        {"e": lambda data: 3 - 2 * data["a"] + 5 * data["b"]},
        {"e": lambda data: 7.0},
        {"e": lambda data: 1e-5 * data["a"]},
    ],
    ids=["twin", "sum", "constant", "other unit"],
)
def test_collinear_causes_are_warned_about(extra):
    frame = people().assign(**extra)
    edges = [("a", "c"), ("b", "c"), ("e", "c")]
    with pytest.warns(EquieffortWarning, match="'a', 'b', 'e'") as caught:
        scm = StructuralCausalModel(edges).fit(frame)
    assert codes(caught) == ["SCM_COLLINEAR"]
    assert [warning.code for warning in scm.warnings_] == ["SCM_COLLINEAR"]
    # The fit itself is as good as without the superfluous cause.
    plain = StructuralCausalModel(edges[:2]).fit(frame)
    assert scm.diagnostics_["r2"][0] == pytest.approx(plain.diagnostics_["r2"][0])


def test_causes_of_other_size_are_not_collinear():
    StructuralCausalModel([("a", "c"), ("b", "c")]).fit(people().assign(a=lambda data: 1e9 + 1e6 * data["a"]))


def test_related_causes_are_not_collinear():
    rng = np.random.default_rng(1)
    StructuralCausalModel([("a", "c"), ("e", "c")]).fit(
        people().assign(e=lambda d: d["a"] + 0.01 * rng.normal(size=100))
    )


def test_a_level_nobody_has_is_not_collinear():
    job = pd.Categorical(people()["job"], categories=["x", "y", "z", "unused"])
    StructuralCausalModel(EDGES[:3]).fit(people().assign(job=job))


def test_a_poor_fit_is_warned_about():
    frame = people().assign(e=np.random.default_rng(9).normal(size=100))
    theirs = LinearRegression().fit(frame[["a"]], frame["e"]).score(frame[["a"]], frame["e"])
    assert theirs < 0.05
    with pytest.warns(EquieffortWarning, match=f"'e'.*R2 = {theirs:.3f}") as caught:
        scm = StructuralCausalModel([("a", "e")]).fit(frame)
    assert codes(caught) == ["SCM_POOR_FIT"]
    assert [warning.code for warning in scm.warnings_] == ["SCM_POOR_FIT"]


def test_a_node_that_never_varies_has_no_r2():
    scm = StructuralCausalModel([("a", "e")]).fit(people().assign(e=3.0))
    assert np.isnan(scm.diagnostics_["r2"][0])
    assert scm.mechanisms_["e"].coef["a"] == pytest.approx(0.0, abs=1e-9)


def test_warnings_of_an_earlier_fit_are_forgotten():
    scm = StructuralCausalModel([("a", "c")])
    with pytest.warns(EquieffortWarning):
        scm.fit(people().assign(c=np.random.default_rng(9).normal(size=100)))
    assert scm.fit(people()).warnings_ == ()


@pytest.mark.parametrize("rows", [3, 4])
def test_too_few_rows(rows):
    # a, b and two indicators of job: four coefficients.
    few = people().iloc[:rows].assign(job=list("xyzx")[:rows])
    with pytest.raises(CausalModelError, match="'c' has 4 coefficients") as caught:
        StructuralCausalModel(EDGES[:3]).fit(few)
    assert caught.value.code == "SCM_TOO_FEW_ROWS"


def test_enough_rows():
    StructuralCausalModel([("a", "c"), ("b", "c")]).fit(people().iloc[:4])


def test_the_intercept_counts_as_a_coefficient():
    with pytest.raises(CausalModelError):
        StructuralCausalModel([("a", "c")]).fit(people().iloc[:2])
