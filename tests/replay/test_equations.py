"""Equations evaluated from a file's numbers, against formulas written out by hand and scikit-learn's own answers."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from scipy.stats import logistic

import equieffort as ee
from equieffort.foundations.saved import as_data
from equieffort.replay.equations import SavedEquation
from equieffort.world.scm import Function, Ordinal, Spline

N = 200


def people() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["female", "male"], N),
            "town": rng.choice([1, 2, 3], N),
            "hours": rng.uniform(5, 45, N),
            "wage": rng.uniform(8, 30, N),
            "income": rng.normal(400, 90, N),
            "grade": rng.choice(["low", "mid", "high"], N),
        }
    )


def after(X: pd.DataFrame) -> pd.DataFrame:
    """The same people with other causes."""
    rng = np.random.default_rng(1)
    return X.assign(hours=X["hours"] + rng.uniform(-3, 6, N), wage=X["wage"] * rng.uniform(0.8, 1.4, N))


def reached(scm: ee.StructuralCausalModel, node: str, X: pd.DataFrame, Y: pd.DataFrame):
    """What the record of a fitted equation, as a file holds it, says of the node after X became Y."""
    (record,) = (one for one in scm.equation_records() if one.node == node)
    kept = json.loads(json.dumps(as_data(record)))
    saved = SavedEquation(kept["node"], tuple(kept["causes"]), kept["kind"], kept["parts"])
    columns = {column.name: column for column in scm.encoding_.columns}
    before, now = ({c: columns[c].encode(frame[c]) for c in saved.causes} for frame in (X, Y))
    return saved.reach(columns, columns[node].encode(X[node]), before, now)


def model(node: str, causes: list[str], mechanism, X: pd.DataFrame, **more) -> ee.StructuralCausalModel:
    return ee.StructuralCausalModel([(c, node) for c in causes], mechanisms={node: mechanism}, **more).fit(X)


TERMS = [(0.5, {"hours": 1, "wage": 1}), (-2.0, {"wage": 2}), (30.0, {"hours": 1}, {"sex": "male"})]
BY_HAND = {
    "linear": (
        ee.Linear({"hours": 2.0, "town": {1: 5.0, 3: -4.0}, "sex": 7.0}, intercept=9.0),
        lambda X: 2 * X["hours"] + X["town"].map({1: 5.0, 2: 0.0, 3: -4.0}) + 7.0 * (X["sex"] == "male"),
    ),
    "terms": (
        ee.Terms(TERMS, about={"wage": 10.0}),
        lambda X: 0.5 * X["hours"] * (X["wage"] - 10) - 2 * (X["wage"] - 10) ** 2
        + 30.0 * X["hours"] * (X["sex"] == "male"),
    ),
    "ratio": (ee.Ratio({"hours": 3.0}, ["wage", "hours"], scale=100.0),
              lambda X: 300 * X["hours"] / (X["wage"] + X["hours"])),
    "product": (ee.Product(["hours", "wage", "wage"], scale=0.2), lambda X: 0.2 * X["hours"] * X["wage"] ** 2),
}  # fmt: skip


@pytest.mark.parametrize("kind", BY_HAND)
def test_equations_that_are_given_are_those_written_out(kind):
    X = people()
    Y, (mechanism, formula) = after(X), BY_HAND[kind]
    scm = model("income", ["sex", "town", "hours", "wage"], mechanism, X, categorical=["town"])
    least, most = reached(scm, "income", X, Y)
    expected = (X["income"] + formula(Y) - formula(X)).to_numpy()
    assert (least <= expected).all()
    assert (expected <= most).all()
    assert (most - least < 1e-5).all()
    assert not np.allclose(expected, X["income"], atol=1.0)


def test_a_spline_is_the_one_that_was_learned():
    X = people().assign(income=lambda f: 300 + 80 * np.sin(f["hours"] / 6))
    scm = model("income", ["hours", "sex"], Spline(knots=6), X)
    Y = after(X)
    least, most = reached(scm, "income", X, Y)
    # The curve fits its sine, so that people who have no noise to speak of follow the sine.
    assert np.abs(0.5 * (least + most) - (300 + 80 * np.sin(Y["hours"] / 6)))[Y["hours"].between(8, 42)].max() < 12
    assert np.allclose(*(reached(scm, "income", X, X)[side] for side in (0, 1)), atol=1e-6)


@pytest.mark.parametrize("name", ["forest", "boosting", "histogram", "poisson"])
def test_trees_are_those_of_scikit_learn(name):
    from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor, RandomForestRegressor

    X = people().assign(income=lambda f: 100 + f["hours"] * f["wage"] / 4)
    regressor = {
        "forest": RandomForestRegressor(5, max_depth=4, random_state=0),
        "boosting": GradientBoostingRegressor(n_estimators=8, random_state=0),
        "histogram": HistGradientBoostingRegressor(max_iter=8, random_state=0),
        "poisson": HistGradientBoostingRegressor(max_iter=8, loss="poisson", random_state=0),
    }[name]
    scm = model("income", ["town", "hours", "wage"], regressor, X, categorical=["town"])
    Y = after(X)
    design = [np.column_stack([f["town"] == 2, f["town"] == 3, f["hours"], f["wage"]]).astype(float) for f in (X, Y)]
    fitted = regressor.fit(design[0], X["income"])
    least, most = reached(scm, "income", X, Y)
    expected = X["income"].to_numpy() + fitted.predict(design[1]) - fitted.predict(design[0])
    assert ((least - 1e-6 <= expected) & (expected <= most + 1e-6)).all()
    assert (most - least < 1e-5).all()


def test_levels_are_the_quantile_of_the_middle_of_what_gives_ones_own():
    X = people()
    order = ["low", "mid", "high"]
    scm = model(
        "grade", ["hours", "sex"], ee.CumulativeLogit({"hours": 0.3, "sex": {"male": 1.0}}, [4.0, 9.0], order), X
    )
    Y = after(X).assign(hours=lambda f: f["hours"] + 4)
    least, most = reached(scm, "grade", X, Y)
    expected = []
    for k in range(N):
        before, now = (0.3 * f["hours"][k] + 1.0 * (f["sex"][k] == "male") for f in (X, Y))
        ends = [0.0, *expit(np.array([4.0, 9.0]) - before), 1.0]
        rank = order.index(X["grade"][k])
        noise = logit(0.5 * (ends[rank] + ends[rank + 1]))
        expected.append(int(sum(now + noise > cut for cut in (4.0, 9.0))))
    assert least.tolist() == most.tolist() == expected
    assert len(set(expected)) == 3
    assert logistic.cdf(0.0) == 0.5


def test_a_quotient_by_nothing_has_no_value_and_code_is_known_as_code():
    X = people().assign(wage=0.0)
    least, _ = reached(model("income", ["hours", "wage"], ee.Ratio("hours", "wage"), X), "income", X, after(X))
    assert np.isnan(least).all()
    scm = model("income", ["hours"], Function(lambda causes: 2 * causes["hours"]), people())
    (record,) = scm.equation_records()
    assert SavedEquation(record.node, record.causes, record.kind, record.parts).is_code


def test_an_equation_of_a_class_of_its_own_is_code():
    class Doubled(ee.Linear):
        def bind(self, node, causes):
            return ee.Linear({name: 2 * value for name, value in self.coef.items()}).bind(node, causes)

    (record,) = model("income", ["hours"], Doubled({"hours": 1.0}), people()).equation_records()
    assert record.parts == {}


def test_learned_levels_are_saved_too():
    X = people().assign(grade=lambda f: np.where(f["hours"] > 25, "high", "low"))
    scm = model("grade", ["hours"], Ordinal(order=["low", "high"]), X)
    least, most = reached(scm, "grade", X, X.assign(hours=44.0))
    assert least.tolist() == most.tolist() == [1.0] * N


def test_the_replay_imports_no_solver_and_no_equation():
    code = (
        "import sys, equieffort.replay.actions, equieffort.replay.equations, equieffort.replay.prices\n"
        "print([m for m in sys.modules if m.startswith(('equieffort.recourse', 'equieffort.world.scm', "
        "'equieffort.world.cost', 'equieffort.models'))])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
