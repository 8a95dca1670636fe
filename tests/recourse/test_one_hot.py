"""Tables with one-hot encoded columns: one category in costs, rules, the graph and results, 0 and 1 for the model."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from tests import oracles_one_hot

import equieffort as ee
from equieffort.errors import DataError, EquieffortWarning, GraphError, SchemaError

N = 40
RNG = np.random.default_rng(1)
HOME = RNG.choice(["own", "rent", "free"], N)
RAW = pd.DataFrame(
    {
        "sex": np.where(np.arange(N) % 2, "f", "m"),
        "income": RNG.normal(50, 10, N),
        "home_own": HOME == "own",
        "home_rent": HOME == "rent",
    }
)
OWN = ["income", "home_own", "home_rent"]
MODEL = LogisticRegression(max_iter=2000).fit(
    RAW[OWN], RAW["income"] / 10 + 2 * RAW["home_own"] + RNG.normal(0, 0.5, N) > 5.8
)
ONE_HOT = {"home": {"own": "home_own", "rent": "home_rent", "free": None}}


def schema(**given: object) -> ee.Schema:
    features = {"income": "mutable", "home": ee.Feature("actionable", weight=0.25)}
    return ee.Schema(
        **{"sensitive": "sex", "protected": "f", "favourable": True, "features": features, "one_hot": ONE_HOT} | given
    )


def audit(**given: object) -> ee.Audit:
    return ee.audit(MODEL, RAW, schema=schema(**given), scm=ee.StructuralCausalModel([], nodes=["income", "home"]))


def test_answers_are_those_of_trying_everything_on_the_models_own_columns() -> None:
    tally = oracles_one_hot.run(range(12), people=4)
    assert not tally.disagreements, "\n".join(tally.disagreements)
    assert tally.optimal > 10
    assert tally.infeasible > 3


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_change_of_category_costs_its_weight_once_and_has_one_column(tmp_path) -> None:
    result = audit()
    told = result.recourse.frame()
    acting = told[told["status"] == "optimal"]
    assert set(acting["do_home"]) == {"own"}
    assert acting["cost"].to_numpy() == pytest.approx(0.25)
    assert not {"do_home_own", "do_home_rent", "home_own"} & set(told.columns)
    row = acting.index[0]
    assert "home" in str(result.explain(row))
    assert "home_own" not in str(result.explain(row))
    result.save(tmp_path / "a.audit")
    again = ee.Audit.load(tmp_path / "a.audit")
    assert again.recourse.source.schema.one_hot == ONE_HOT
    pd.testing.assert_frame_equal(again.recourse.frame(), told)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_rules_and_subgroups_speak_of_the_category() -> None:
    told = audit(rules=["home != 'own' or income > 1000"]).recourse.frame()
    assert not (told["status"] == "optimal").any()
    tenants, mask = audit().subgroup("home = 'rent'"), audit().subgroup(HOME == "rent")
    pd.testing.assert_frame_equal(tenants.by_group, mask.by_group)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_what_follows_a_category_follows_it_as_one_cause() -> None:
    scm = ee.StructuralCausalModel([("home", "income")])
    result = ee.audit(MODEL, RAW, schema=schema(), scm=scm)
    means = RAW.groupby(HOME)["income"].mean()
    told = result.recourse.frame()
    row = told.index[(told["status"] == "optimal") & (HOME == "rent")][0]
    after = result.recourse.counterfactuals().loc[row]
    assert after["home"] != "rent"
    assert after["income"] == pytest.approx(RAW["income"][row] + means[after["home"]] - means["rent"])
    # Fitted by hand it is fitted on the joined table.
    by_hand = ee.StructuralCausalModel([("home", "income")]).fit(schema().join(RAW))
    again = ee.audit(MODEL, RAW, schema=schema(), scm=by_hand).recourse.frame()
    pd.testing.assert_frame_equal(again, told)


def test_a_level_that_nobody_named_is_told_once() -> None:
    with pytest.warns(EquieffortWarning) as caught:
        audit(one_hot={"home": ["home_own", "home_rent"]})
    assert [one.message.code for one in caught].count("SCHEMA_ONE_HOT") == 1


def test_rows_and_names_that_do_not_fit_are_refused() -> None:
    both = RAW.assign(home_rent=True)
    with pytest.raises(DataError, match="not one-hot in row"):
        ee.audit(MODEL, both, schema=schema(), scm=ee.StructuralCausalModel([], nodes=["home"]))
    with pytest.raises(SchemaError, match="is a column of the category 'home'"):
        schema(features={"home_own": "actionable"})


TYPES = {
    "nullable": lambda table: table.convert_dtypes(),
    "arrow": lambda table: table.convert_dtypes(dtype_backend="pyarrow"),
    "object": lambda table: table.astype(object),
    "unused levels": lambda table: table.astype({"sex": pd.CategoricalDtype(["x", "m", "f"])}),
    "float16": lambda table: table.astype({"home_own": "float16"}),
}


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
@pytest.mark.parametrize("name", TYPES)
def test_the_types_of_a_table_change_nothing(name: str) -> None:
    scm = ee.StructuralCausalModel([("home", "income")])
    plain = ee.audit(MODEL, RAW, schema=schema(), scm=scm).recourse.frame()
    typed = ee.audit(MODEL, TYPES[name](RAW), schema=schema(), scm=scm).recourse.frame()
    assert typed["status"].tolist() == plain["status"].tolist()
    np.testing.assert_allclose(typed["cost"], plain["cost"])


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_a_polars_table_is_joined_too() -> None:
    polars = pytest.importorskip("polars")
    scm = ee.StructuralCausalModel([], nodes=["home"])
    told = ee.audit(MODEL, polars.from_pandas(RAW), schema=schema(), scm=scm).recourse.frame()
    assert told["status"].tolist() == audit().recourse.frame()["status"].tolist()


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_an_audit_of_a_table_with_one_hot_columns_can_be_verified_with_that_table(tmp_path) -> None:
    audit().save(tmp_path / "a.audit")
    saved = ee.load(tmp_path / "a.audit")
    found = saved.verify(MODEL, RAW, sample=10)
    assert found.holds, str(found)
    assert found.checked["flips"] > 0
    assert found.counts["optimal"]["confirmed"] > 0
    # Somebody who is given another level is another person, whichever columns say so.
    rented = RAW.index[RAW["home_rent"]][0]
    other = RAW.assign(home_rent=RAW["home_rent"] & (RAW.index != rented))
    with pytest.raises(DataError, match="'home' of"):
        saved.verify(MODEL, other)


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_one_person_may_have_the_columns_or_the_level() -> None:
    result = audit()
    row = result.recourse.frame().query("status == 'optimal'").index[0]
    known = schema().join(RAW)
    scm = ee.StructuralCausalModel([], nodes=["income", "home"]).fit(known)
    answers = [
        ee.find_recourse(MODEL, person, schema=schema(), scm=causes, reference=reference)
        for person in (RAW.loc[row], dict(RAW.loc[row]), dict(known.loc[row]), RAW.loc[[row]])
        for causes, reference in ((scm, None), (scm, RAW), ([], RAW))
    ]
    assert {one.status for one in answers} == {"optimal"}
    assert [one.cost for one in answers] == pytest.approx([0.25] * len(answers))
    assert {one.changed for one in answers} == {("home",)}


def test_one_person_is_answered_from_a_causal_model_that_was_fitted_on_the_callers_own_table() -> None:
    """The audit takes that very model, and answers of one person alone are those it gives."""
    scm = ee.StructuralCausalModel([], nodes=["income"]).fit(RAW)
    whole = ee.audit(MODEL, RAW, schema=schema(), scm=scm).recourse.frame()
    row = whole.index[whole["status"] == "optimal"][0]
    found = ee.find_recourse(MODEL, RAW.loc[row].to_dict(), schema=schema(), scm=scm)
    assert (found.status, found.cost) == ("optimal", pytest.approx(whole.loc[row, "cost"]))


def test_a_node_that_is_spread_over_columns_is_said_to_be() -> None:
    with pytest.raises(GraphError, match=r"'home_own', 'home_rent'[\s\S]*schema.join\(X\)") as caught:
        ee.StructuralCausalModel([("home", "income")]).fit(RAW)
    assert "Did you mean" not in str(caught.value)
