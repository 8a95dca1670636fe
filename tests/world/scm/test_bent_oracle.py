"""Bent equations and ordered logits against DoWhy's and statsmodels', which were written down by tools/oracle."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from equieffort import Ordinal, Polynomial, Spline, StructuralCausalModel

ORACLE = json.loads((Path(__file__).parents[2] / "fixtures" / "bent_equations.json").read_text(encoding="utf-8"))
LEARNERS = {
    "quadratic": Polynomial(2, interactions=True),
    "cubic": Polynomial(3, interactions=True),
    "spline": Spline(),
}
PEOPLE = pd.DataFrame(ORACLE["people"])


@pytest.fixture(scope="module", params=LEARNERS)
def world(request):
    edges = [tuple(edge) for edge in ORACLE["edges"]]
    data = pd.DataFrame(ORACLE["data"])
    return StructuralCausalModel(edges, default=LEARNERS[request.param]).fit(data), ORACLE["worlds"][request.param]


@pytest.mark.parametrize("question", range(5))
def test_counterfactuals_are_dowhys(world, question):
    scm, answers = world
    asked = answers[question]
    found = scm.counterfactual(PEOPLE, do=asked["do"])
    for node, values in asked["counterfactuals"].items():
        np.testing.assert_allclose(found[node], values, rtol=1e-7, atol=1e-7, err_msg=node)


def test_the_questions_move_something_bent():
    """In a linear world the shift would be the same for everybody."""
    for answers in ORACLE["worlds"].values():
        shift = np.array(answers[0]["counterfactuals"]["d"]) - PEOPLE["d"]
        assert np.ptp(shift) > 0.1


@pytest.mark.parametrize("case", ORACLE["ordered"], ids=lambda case: f"{case['levels']} levels")
def test_proportional_odds_are_statsmodels(case):
    frame = pd.DataFrame(case["data"])
    scm = StructuralCausalModel(
        [("a", "g"), ("b", "g")], categorical=["g"], mechanisms={"g": Ordinal(penalty=1e-9)}
    ).fit(frame)
    ours = scm.mechanisms_["g"]
    np.testing.assert_allclose([ours.coef["a"], ours.coef["b"]], [case["coef"]["a"], case["coef"]["b"]], rtol=1e-5)
    np.testing.assert_allclose(ours.cuts, case["cuts"], rtol=1e-5, atol=1e-5)
