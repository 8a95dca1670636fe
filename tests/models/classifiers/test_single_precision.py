"""Networks that learned from floats of four bytes: which arithmetic they decide in is that of the table audited."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import equieffort as ee

RNG = np.random.default_rng(0)
N = 60
INCOME = RNG.normal(50, 15, N).clip(10)
PEOPLE = pd.DataFrame({"sex": np.array(["m", "f"])[np.arange(N) % 2], "income": INCOME, "age": RNG.uniform(20, 70, N)})
BOUGHT = (PEOPLE["income"] + 0.1 * PEOPLE["age"] > 57).astype(int)
SEEN = ["income", "age"]
SCHEMA = ee.Schema(
    sensitive="sex",
    protected="f",
    reference="m",
    favourable=1,
    features={"income": ee.Feature("actionable", lower=0, upper=150), "age": "immutable"},
)


def network(scaled):
    final = MLPClassifier((5,), learning_rate_init=0.02, max_iter=2000, random_state=0)
    model = make_pipeline(StandardScaler(), final) if scaled else final
    return model.fit(PEOPLE[SEEN].astype("float32"), BOUGHT)


def solved(model, people):
    world = ee.StructuralCausalModel([], nodes=SEEN).fit(people[SEEN])
    return ee.solve(ee.RecourseProblem.of(model, people, schema=SCHEMA, scm=world), people).frame()


@pytest.mark.parametrize("scaled", [False, True])
def test_on_a_table_of_doubles_it_computes_with_doubles_and_is_certified(scaled):
    model = network(scaled)
    final = model[-1] if scaled else model
    assert final.coefs_[0].dtype == np.float32
    found = solved(model, PEOPLE)
    refused = model.predict(PEOPLE[SEEN]) == 0
    assert 5 < refused.sum() < N
    assert (found["status"][refused] == "optimal").all()
    for row in np.flatnonzero(refused)[:12]:
        # The model's own labels on a fine grid of incomes: the cheapest that turns the decision.
        grid = np.linspace(0, 150, 60_001)
        asked = pd.DataFrame({"income": grid, "age": PEOPLE["age"][row]})
        good = grid[model.predict(asked) == 1]
        nearest = np.abs(good - PEOPLE["income"][row]).min()
        assert nearest - 150 / 60_000 - 1e-9 <= abs(found["do_income"][row] - PEOPLE["income"][row]) <= nearest + 1e-6


@pytest.mark.parametrize("scaled", [False, True])
def test_on_a_table_of_floats_of_four_bytes_nothing_is_called_optimal_that_its_rounding_decides(scaled):
    single = PEOPLE.astype(dict.fromkeys(SEEN, "float32"))
    model = network(scaled)
    assert model.predict_proba(single[SEEN]).dtype == np.float32
    found = solved(model, single)
    refused = model.predict(single[SEEN]) == 0
    assert set(found["status"][refused]) == {"feasible"}
    assert (found["bound"][refused] > 0.9 * found["cost"][refused]).mean() > 0.9
    assert found["reason"][refused].str.contains("own rounding").mean() > 0.8
