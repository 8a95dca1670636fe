"""Quotients and products as equations: identities such as loan to value, and people for whom there is none."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import equieffort as ee
from equieffort.errors import CausalModelError, EquieffortWarning
from equieffort.recourse.status import Ending
from equieffort.testing import check_mechanism


def loans(n=60):
    rng = np.random.default_rng(3)
    people = pd.DataFrame({"loan": rng.uniform(50, 200, n).round(), "price": rng.uniform(100, 300, n).round()})
    people["ltv"] = people["loan"] / people["price"]
    people["sex"] = np.where(np.arange(n) % 2, "f", "m")
    return people


def audited(people, mechanisms, edges=(("loan", "ltv"), ("price", "ltv")), **features):
    model = LogisticRegression(C=1e4).fit(loans()[["ltv"]], loans()["ltv"] < 0.6)
    declared = {"loan": ee.Feature("actionable", lower=10), "price": "immutable", "ltv": "mutable"} | features
    schema = ee.Schema(sensitive="sex", protected="f", favourable=True, features=declared)
    scm = ee.StructuralCausalModel(list(edges), nodes=["sex"], mechanisms=mechanisms).fit(loans())
    return model, ee.audit(model, people, schema=schema, scm=scm)


def test_an_identity_moves_with_its_causes():
    scm = ee.StructuralCausalModel([("loan", "ltv"), ("price", "ltv")], mechanisms={"ltv": ee.Ratio("loan", "price")})
    moved = scm.counterfactual(loans(), do={"loan": 90.0})
    assert np.allclose(moved["ltv"], 90.0 / loans()["price"])
    assert check_mechanism(scm.fit(loans()), loans(), "ltv") == []


def test_loans_are_cut_to_where_the_ratio_is_low_enough():
    """The model asks for a ratio below a threshold t: the loan must fall to t times the price, nothing else."""
    people = loans()
    model, audit = audited(people, {"ltv": ee.Ratio("loan", "price")})
    threshold = -model.intercept_[0] / model.coef_[0, 0]
    frame = audit.recourse.frame()
    refused = frame["status"] == "optimal"
    assert (frame["status"].isin(["optimal", "not_needed"])).all()
    needed = people["loan"] - threshold * people["price"]
    spread = people["loan"].max() - people["loan"].min()
    assert refused.sum() > 10
    assert np.allclose(frame["cost"][refused], needed[refused] / spread, rtol=1e-5)


def test_per_cent_of_a_sum():
    ratio = ee.Ratio({"rent": 12.0, "debt": 1.0}, "income", scale=100)
    scm = ee.StructuralCausalModel([(c, "dti") for c in ("rent", "debt", "income")], mechanisms={"dti": ratio})
    people = pd.DataFrame({"rent": [1.0, 2.0], "debt": [8.0, 6.0], "income": [40.0, 50.0], "dti": [50.0, 60.0]})
    assert np.allclose(scm.counterfactual(people, do={"income": 100.0})["dti"], [20.0, 30.0])
    assert scm.fit(people).equations() == ["dti = 100 * (12*rent + debt) / income"]


def test_a_product():
    scm = ee.StructuralCausalModel(
        [("hours", "pay"), ("wage", "pay")], mechanisms={"pay": ee.Product(["hours", "wage"], scale=4.0)}
    )
    people = pd.DataFrame({"hours": [10.0, 40.0], "wage": [20.0, 30.0], "pay": [800.0, 4801.0]})
    assert np.allclose(scm.counterfactual(people, do={"hours": 20.0})["pay"], [1600.0, 2401.0])


def test_whoever_has_nothing_to_divide_by_is_unknown_and_the_others_are_solved():
    people = loans()
    people.loc[[0, 1], ["price", "ltv"]] = [0.0, 0.9]
    with pytest.warns(EquieffortWarning, match="divides by 0"):
        _, audit = audited(people, {"ltv": ee.Ratio("loan", "price")})
    frame = audit.recourse.frame()
    assert frame["status"][:2].tolist() == ["unknown", "unknown"]
    assert frame["reason"][0] == "The equation of 'ltv' divides by 0 here: no counterfactual can be computed."
    assert audit.recourse.notes[0].kind == Ending.UNDEFINED
    (told,) = [one for one in audit.warnings if one.code == "SCM_NO_VALUE"]
    assert "'ltv' divides by 0 for 2 refused people (0, 1)" in told.what
    verdict = replace(audit, criteria=ee.Criteria(level=None, tau=2, epsilon=0.5)).verdict
    assert verdict.findings[0].codes == ("UNCERTIFIED",)
    assert "2 people cannot be solved (0, 1), since an equation divides by 0 ('ltv')" in str(verdict)
    assert "correct the values in the table, or leave the rows out" in str(verdict)
    assert "solve_further" not in str(verdict)
    assert (frame["status"][2:] == "optimal").any()
    scm = ee.StructuralCausalModel([("loan", "ltv"), ("price", "ltv")], mechanisms={"ltv": ee.Ratio("loan", "price")})
    with pytest.raises(CausalModelError, match="divides by 0") as refused:
        scm.counterfactual(people, do={"loan": 1.0})
    assert refused.value.code == "SCM_NO_VALUE"


def test_no_action_leads_to_where_there_is_nothing_to_divide_by():
    """A larger price helps, and one below 0 would too; 0 itself is nobody's way."""
    people = loans()
    price = ee.Feature("actionable", lower=-50, upper=320)
    _, audit = audited(people, {"ltv": ee.Ratio("loan", "price")}, loan="immutable", price=price)
    frame = audit.recourse.frame()
    acting = frame["status"] == "optimal"
    assert acting.any()
    after = loans()["price"] + frame["delta_price"]
    ratio = (loans()["loan"] / after)[acting]
    assert np.isfinite(ratio).all()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ee.Ratio([], "price"), "The numerator of a ratio names no cause."),
        (lambda: ee.Ratio("loan", {"price": 0.0}), "The denominator of a ratio names no cause."),
        (lambda: ee.Ratio("loan", {"price": np.nan}), "finite number"),
        (lambda: ee.Ratio("loan", 3), "denominator"),
        (lambda: ee.Ratio("loan", "price", scale=0), "The scale of a ratio is 0"),
        (lambda: ee.Product([]), "A product names no cause."),
        (lambda: ee.Product("loan"), "causes"),
    ],
)
def test_what_is_no_ratio_is_refused(make, words):
    with pytest.raises(CausalModelError, match=words) as refused:
        make()
    assert refused.value.code == "SCM_MECHANISM"


def test_causes_that_cannot_be_divided_are_refused():
    people = loans().assign(kind="a")
    people.loc[::2, "kind"] = "b"
    for ratio, words in (
        (ee.Ratio("loan", "kind"), "which is a category"),
        (ee.Ratio("loan", "ltv"), "does not name among its causes"),
    ):
        scm = ee.StructuralCausalModel([("loan", "ltv"), ("kind", "ltv")], mechanisms={"ltv": ratio})
        with pytest.raises(CausalModelError, match=words):
            scm.fit(people)
