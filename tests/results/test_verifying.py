"""A saved audit checked again: what is true passes, and whatever was changed in the file is found."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder
from tests.fuzz.worlds import Unwrapped, people, small_audit

import equieffort as ee
from equieffort.errors import AuditFileError, DataError, EquieffortWarning, ParameterError
from equieffort.recourse.status import Status
from equieffort.results.provenance import SolverUsed
from equieffort.world.scm import Function, Ordinal, Polynomial, Spline

MODEL = ee.LinearScore({"income": 1.0, "savings": 2.0}, threshold=11.0)


@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("verified") / "x.audit"
    small_audit().save(path)
    return path.read_bytes()


def tampered(saved: bytes, change, tmp_path) -> ee.Audit:
    opened = Unwrapped.of(saved)
    change(opened)
    (tmp_path / "x.audit").write_bytes(opened.bytes())
    return ee.load(tmp_path / "x.audit")


def failed(audit: ee.Audit, **more) -> set[str]:
    found = audit.verify(MODEL, people(), **more)
    assert found.holds == (not found.failures and not (found.opinions and found.opinions.contradicted))
    return {one.check for one in found.failures}


def test_what_was_saved_holds_and_says_which_check_each_certificate_passed(saved, tmp_path):
    found = tampered(saved, lambda opened: None, tmp_path).verify(MODEL, people(), sample=40)
    assert found.holds, str(found)
    frame = found.frame()
    acting = frame["status"].isin(["optimal", "feasible"])
    assert (frame["checked"] == "holds").all()
    assert found.checked["flips"] == acting.sum() > 0
    refused = frame["status"] != "not_needed"
    assert (frame.loc[frame["status"].isin(["optimal", "infeasible"]), "certificate"] == "confirmed").all()
    assert (frame.loc[~refused, "certificate"] == "").all()
    assert found.counts["infeasible"]["confirmed"] == found.counts["infeasible"]["people"] > 0
    assert found.opinions.solver != found.opinions.audited_by
    assert "confirmed by" in str(found)


def test_without_a_sample_no_proof_is_called_checked(saved, tmp_path):
    found = tampered(saved, lambda opened: None, tmp_path).verify(MODEL, people())
    frame = found.frame()
    assert found.opinions is None
    assert (frame.loc[frame["status"] != "not_needed", "certificate"] == "not independently checked").all()


# -- changes in the file -----------------------------------------------------------------------------------------------


def first(opened: Unwrapped, *status: Status) -> int:
    return int(opened.rows(*(status or (Status.OPTIMAL,)))[0])


def cheaper(opened: Unwrapped) -> None:
    """A cost that adds up, only not by the prices."""
    row = first(opened)
    for name in ("cost", "bound", "costs"):
        opened.arrays[name][row] *= 0.5


def dearer(opened: Unwrapped, way: float = 1.0) -> None:
    """One more unit of income than needed, followed and charged as it must be, and called the cheapest."""
    row, names = first(opened), [column["name"] for column in opened.manifest["columns"]]
    up, _ = opened.manifest["provenance"]["cost"]["prices"]["income"]
    for name, column, by in (
        ("values", 0, way), ("delta", 0, way), ("costs", 0, way * up), ("moved", names.index("income"), way),
        ("moved", names.index("savings"), 0.5 * way),
    ):  # fmt: skip
        opened.arrays[name][row, column] += by
    opened.arrays["cost"][row] += way * up
    opened.arrays["bound"][row] = opened.arrays["cost"][row]


def stuck(opened: Unwrapped) -> None:
    """Somebody with an action is said to have none."""
    row = first(opened)
    arrays = opened.arrays
    arrays["status"][row], arrays["cost"][row], arrays["bound"][row] = Status.INFEASIBLE, np.nan, np.inf
    arrays["intervention_mask"][row], arrays["delta"][row], arrays["vanishing"][row] = False, 0.0, False
    arrays["moved"][row] = arrays["facts"][row]
    opened.manifest["reasons"][str(row)] = next(
        reason for other, reason in opened.manifest["reasons"].items() if int(other) in opened.rows(Status.INFEASIBLE)
    )


def settled(opened: Unwrapped) -> None:
    """Only feasible, and called the cheapest."""
    row = first(opened, Status.FEASIBLE)
    opened.arrays["status"][row] = Status.OPTIMAL
    del opened.manifest["reasons"][str(row)]


def approved(opened: Unwrapped) -> None:
    row = first(opened, Status.INFEASIBLE)
    opened.arrays["status"][row], opened.arrays["bound"][row] = Status.NOT_NEEDED, np.nan
    del opened.manifest["reasons"][str(row)]


def of_equation(opened: Unwrapped) -> dict:
    (equation,) = opened.manifest["provenance"]["equations"]
    return equation


def coefficient(opened: Unwrapped) -> None:
    of_equation(opened)["parts"]["coef"]["income"] = 0.501


def follower(opened: Unwrapped) -> None:
    at = [column["name"] for column in opened.manifest["columns"]].index("savings")
    opened.arrays["moved"][first(opened), at] += 0.01


def feature(name: str, key: str, value) -> object:
    return lambda opened: opened.manifest["schema"]["features"][name].update({key: value})


def price(opened: Unwrapped) -> None:
    opened.manifest["provenance"]["cost"]["prices"]["income"][0] *= 1.01


def rule(opened: Unwrapped) -> None:
    opened.manifest["schema"]["rules"] = [{"always": "income <= 2"}]


TAMPERED = {
    "cost": (cheaper, "cost"),
    "price": (price, "cost"),
    "status: feasible is called optimal": (settled, "bound"),
    "status: refused is called approved": (approved, "approved"),
    "equation": (coefficient, "equations"),
    "counterfactual": (follower, "equations"),
    "action too small": (lambda opened: dearer(opened, -1.0), "flips"),
    "limit": (feature("income", "max_increase", 0.5), "limits"),
    "direction": (feature("income", "direction", "down"), "limits"),
    "plausible": (feature("savings", "plausible", [None, -50.0]), "plausible"),
    "rule": (rule, "rules"),
}


@pytest.mark.parametrize("what", TAMPERED)
def test_what_was_changed_is_found(saved, tmp_path, what):
    change, check = TAMPERED[what]
    assert check in failed(tampered(saved, change, tmp_path))


@pytest.mark.parametrize("change", [dearer, stuck])
def test_a_false_proof_is_contradicted_by_another_solver(saved, tmp_path, change):
    audit = tampered(saved, change, tmp_path)
    row = audit.recourse.index[first(Unwrapped.of(saved))]
    assert failed(audit) == set()
    found = audit.verify(MODEL, people(), sample=40)
    assert [one.person for one in found.opinions.contradicted] == [row]
    assert not found.holds
    assert f"{row}: the audit says" in str(found)


def test_another_model_is_found_person_by_person(saved, tmp_path):
    audit = tampered(saved, lambda opened: None, tmp_path)
    other = ee.LinearScore({"income": 1.0, "savings": 2.0}, threshold=12.0)
    found = audit.verify(other, people())
    X = people()
    score = X["income"] + 2 * X["savings"]
    wrong = [one.person for one in found.failures if one.check == "approved"]
    assert wrong == X.index[(score >= 11) & (score < 12)].tolist() != []
    assert "flips" in {one.check for one in found.failures}


def test_other_data_are_refused(saved, tmp_path):
    audit = tampered(saved, lambda opened: None, tmp_path)
    X = people()
    X.loc[3, "savings"] += 0.01
    with pytest.raises(DataError, match="'savings' of 3") as caught:
        audit.verify(MODEL, X)
    assert caught.value.code == "VERIFY_OTHER_DATA"
    with pytest.raises(DataError, match="nobody labelled 39"):
        audit.verify(MODEL, people().iloc[:-1])
    # Another order is the same people.
    assert audit.verify(MODEL, people().iloc[::-1]).holds


def test_an_equation_that_makes_no_sense_is_a_damaged_file(saved, tmp_path):
    audit = tampered(saved, lambda opened: of_equation(opened)["parts"].pop("coef"), tmp_path)
    with pytest.raises(AuditFileError, match="cannot be evaluated"):
        audit.verify(MODEL, people())


def test_the_solver_of_the_audit_gives_no_second_opinion(saved, tmp_path):
    audit = tampered(saved, lambda opened: None, tmp_path)
    audit = audit.with_provenance(solver=SolverUsed.of(ee.Milp()))
    with pytest.raises(ParameterError, match="solved by milp") as caught:
        audit.verify(MODEL, people(), sample=5, oracle="milp")
    assert caught.value.code == "VERIFY_ORACLE"


# -- every kind of equation --------------------------------------------------------------------------------------------


def table(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {
            "group": rng.choice(["ash", "birch"], n),
            "hours": rng.uniform(5, 40, n).round(1),
            "wage": rng.uniform(8, 30, n).round(1),
        }
    )
    return X.assign(income=(X["hours"] * X["wage"] / 10 + rng.normal(0, 4, n)).round(2))


def trees():
    from sklearn.tree import DecisionTreeRegressor

    return DecisionTreeRegressor(max_depth=3, random_state=0)


KINDS = {
    "Linear": lambda: ee.Linear({"hours": 1.5, "wage": 2.0, "group": {"birch": 3.0}}),
    "Terms": lambda: Polynomial(2),
    "Curves": lambda: Spline(knots=4),
    "Ratio": lambda: ee.Ratio("hours", "wage", scale=40),
    "Product": lambda: ee.Product(["hours", "wage"], scale=0.1),
    "Fitted": trees,
    "CumulativeLogit": lambda: Ordinal(),
    "Function": lambda: Function(lambda causes: causes["hours"] * causes["wage"] / 10),
}


def audited(kind: str, X: pd.DataFrame, **more) -> tuple[ee.Audit, ee.LinearScore]:
    model = ee.LinearScore({"hours": 1.0, "income": 1.0}, threshold=75.0)
    if kind == "CumulativeLogit":
        X["income"] = (X["income"] > 40).astype(int)
        model = ee.LinearScore({"hours": 1.0, "income": 25.0}, threshold=42.0)
    schema = ee.Schema(
        sensitive="group", protected="ash", favourable=True,
        features={"hours": ee.Feature("actionable", max_increase=12), "income": "mutable", "wage": "actionable"},
    )  # fmt: skip
    edges = [("hours", "income"), ("wage", "income"), ("group", "income")]
    scm = ee.StructuralCausalModel(edges, mechanisms={"income": KINDS[kind]()}).fit(X)
    solver = ee.Search(budget=60) if kind in ("Function", "Fitted", "CumulativeLogit") else ee.Auto(node_limit=400)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(model, X, schema=schema, scm=scm, solver=solver, **more), model


@pytest.mark.parametrize("kind", KINDS)
def test_an_audit_with_every_kind_of_equation_passes(kind, tmp_path):
    X = table()
    made, model = audited(kind, X)
    made.save(tmp_path / "k.audit")
    audit = ee.load(tmp_path / "k.audit")
    assert audit.provenance.equations[0].kind == kind
    found = audit.verify(model, X)
    assert found.holds, str(found)
    assert found.checked["flips"] > 5
    if kind == "Function":
        assert set(found.unchecked) == {"income"}
        assert "the equation of income is code" in str(found)
        assert (found.frame()["checked"] == "not re-checked").sum() == len(found.unchecked["income"]) > 0
        # Whoever acts moves hours or wage, which the equation of income takes: nobody's action is followed whole.
        acting = int(audit.recourse.has_action.sum())
        assert found.n_not_rechecked == found.to_dict()["not_rechecked"] == acting
        assert found.checked["equations"] == 0
        assert f"the actions of {acting} of 60 people could not be re-checked" in str(found).splitlines()[0]
        assert "replayed in plain numpy" not in str(found)
    else:
        assert found.unchecked == {}
        assert found.counts["optimal"]["holds"] + found.counts["feasible"]["holds"] == found.checked["flips"]


@pytest.mark.parametrize("kind", ["Terms", "Ratio", "Product"])
def test_people_with_bent_equations_are_solved_again_from_the_file(kind, tmp_path):
    X = table(40)
    made, model = audited(kind, X)
    made.save(tmp_path / "k.audit")
    found = ee.load(tmp_path / "k.audit").verify(model, X, sample=4, oracle="search")
    assert found.holds
    assert len(found.opinions.of) == 4
    assert "A search proves nothing" in str(found)
    # A search proves nothing, so that it confirms nothing but bounds of 0.
    assert {one.outcome for one in found.opinions.of} <= {"unsettled", "confirmed"}


@pytest.mark.parametrize("kind", ["Ratio", "Fitted"])
def test_a_grid_refutes_what_is_false_where_no_other_solver_proves_anything(kind, tmp_path):
    """Two numbers are set, so that a grid covers them: a bound above a cheaper action is found, what is true stays."""
    X = table(40)
    made, model = audited(kind, X)
    made.save(tmp_path / "k.audit")
    oracle = "grid" if kind == "Fitted" else None
    found = ee.load(tmp_path / "k.audit").verify(model, X, sample=4, oracle=oracle)
    assert found.holds, str(found)
    assert found.opinions.solver == "grid"
    assert {one.outcome for one in found.opinions.of} == {"unsettled"}
    # The grid comes near the audit's own action from above: 41 points an axis, laid again about the best.
    assert all(one.other_cost <= 1.1 * one.cost for one in found.opinions.of if one.status == "optimal")
    assert "not contradicted by a grid" in str(found)
    assert "never confirm" in str(found)
    opened = Unwrapped.of((tmp_path / "k.audit").read_bytes())
    acting = np.isfinite(opened.arrays["cost"])
    opened.arrays["bound"][acting] = opened.arrays["cost"][acting]
    for name in ("cost", "bound", "costs"):
        opened.arrays[name][acting] *= 1.5
    (tmp_path / "q.audit").write_bytes(opened.bytes())
    again = ee.load(tmp_path / "q.audit").verify(model, X, sample=4, oracle=oracle)
    assert not again.holds
    assert again.opinions.contradicted


def test_a_grid_finds_an_action_for_whom_the_audit_says_there_is_none(tmp_path):
    X = table(40)
    made, model = audited("Ratio", X)
    made.save(tmp_path / "k.audit")
    audit = ee.load(tmp_path / "k.audit")
    kept, row = audit.recourse, int(np.flatnonzero(audit.recourse.status == Status.OPTIMAL)[0])
    status, cost, bound, mask = (x.copy() for x in (kept.status, kept.cost, kept.bound, kept.intervention_mask))
    status[row], cost[row], bound[row], mask[row] = Status.INFEASIBLE, np.nan, np.inf, False
    false = replace(kept, status=status, cost=cost, bound=bound, intervention_mask=mask)
    found = replace(audit, recourse=false).verify(model, X, sample=40, oracle="grid")
    assert [(one.person, one.status) for one in found.opinions.contradicted] == [(kept.index[row], "infeasible")]


def test_a_grid_is_refused_where_levels_can_be_set(saved, tmp_path):
    with pytest.raises(ParameterError, match="No grid can be laid: it covers numbers, and 'job' has levels"):
        tampered(saved, lambda opened: None, tmp_path).verify(MODEL, people(), sample=4, oracle="grid")


def test_percentile_costs_and_further_ways_are_checked_too(tmp_path):
    X = table()
    made, model = audited("Linear", X, cost=ee.Percentile())
    made.with_alternatives(2).save(tmp_path / "p.audit")
    audit = ee.load(tmp_path / "p.audit")
    found = audit.verify(model, X, sample=6)
    assert found.holds, str(found)
    assert found.checked["flips"] == sum(int(way.has_action.sum()) for way in (audit.recourse, *audit.alternatives))
    opened = Unwrapped.of((tmp_path / "p.audit").read_bytes())
    row = int(np.flatnonzero(np.isfinite(opened.arrays["way2_cost"]))[0])
    for name in ("way2_cost", "way2_bound", "way2_costs"):
        opened.arrays[name][row] *= 1.1
    (tmp_path / "q.audit").write_bytes(opened.bytes())
    again = ee.load(tmp_path / "q.audit").verify(model, X)
    assert {(one.check, one.way, one.person) for one in again.failures} >= {("cost", 2, audit.recourse.index[row])}
    assert "(way 2)" in str(again)


def test_a_cost_of_ones_own_is_not_called_checked(tmp_path):
    X = table()
    made, model = audited("Linear", X, cost=ee.Separable({n: lambda f, v: abs(v - f) for n in ("hours", "wage")}))
    found = made.verify(model, X)
    assert found.holds
    assert set(found.unchecked) == {"the cost"}
    assert found.checked["cost"] == 0 < found.checked["equations"] == found.n_not_rechecked
    assert "replayed in plain numpy" not in str(found)
    with pytest.raises(ParameterError, match="The cost is code"):
        made.verify(model, X, sample=3)


def test_tables_of_single_precision_hold():
    X = table().astype({"hours": np.float32, "wage": np.float32, "income": np.float32})
    made, model = audited("Linear", X)
    found = made.verify(model, X, sample=5)
    assert found.holds, str(found)


def ordered(**feature) -> tuple[ee.Audit, object, pd.DataFrame]:
    """People who can change the level of a category, which the model counts by steps."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame(
        {
            "group": rng.choice(["ash", "birch"], 60),
            "school": rng.choice(["none", "some", "much"], 60),
            "hours": rng.uniform(0, 10, 60).round(1),
        }
    )
    model = make_pipeline(
        ColumnTransformer(
            [("levels", OrdinalEncoder(categories=[["none", "some", "much"]]), ["school"])], remainder="passthrough"
        ),
        LogisticRegression(),
    ).fit(X[["school", "hours"]], X["hours"] + 3 * (X["school"] == "much") > 7)
    schema = ee.Schema(
        sensitive="group", protected="ash", favourable=True,
        features={"school": ee.Feature("actionable", order=("none", "some", "much"), **feature), "hours": "actionable"},
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        return ee.audit(model, X, schema=schema, scm=[], cost=more_cost(feature)), model, X


def more_cost(feature: dict) -> ee.costs.Cost:
    """Ranks within groups beside a table of prices, so that both are met."""
    return ee.Percentile(within="group") if "prices" in feature else ee.WeightedL1()


ORDERED = {
    "steps": {"steps": True, "direction": "up", "weight": 0.2},
    "table": {"prices": {("none", "some"): 0.01, ("some", "much"): 0.02}, "weight": 0.5},
    "limits": {"upper": "some", "weight": (0.1, 0.3)},
}


@pytest.mark.parametrize("how", ORDERED)
def test_levels_with_an_order_are_priced_and_limited_as_declared(how, tmp_path):
    made, model, X = ordered(**ORDERED[how])
    made.save(tmp_path / "o.audit")
    audit = ee.load(tmp_path / "o.audit")
    found = audit.verify(model, X)
    assert found.holds, str(found)
    frame = audit.recourse.frame()
    changed = frame["do_school"].notna() & (frame["do_school"] != X["school"])
    assert changed.sum() > 2
    opened = Unwrapped.of((tmp_path / "o.audit").read_bytes())
    said = opened.manifest["schema"]["features"]["school"]
    said |= {"upper": "none", "lower": None} if how == "limits" else {"direction": "down"}
    if how == "steps":
        said["steps"] = False
    (tmp_path / "q.audit").write_bytes(opened.bytes())
    failures = ee.load(tmp_path / "q.audit").verify(model, X).failures
    rising = changed & (X["school"].map({"none": 0, "some": 1}) < frame["do_school"].map({"some": 1, "much": 2}))
    assert {one.person for one in failures if one.check == "limits"} == set(X.index[rising]) != set()
    if how == "steps":
        by_one = changed & ~((X["school"] == "none") & (frame["do_school"] == "much"))
        assert {one.person for one in failures if one.check == "cost"} == set(X.index[by_one])


def test_a_category_without_an_equation_does_not_keep_anybody_from_being_solved_again(tmp_path):
    X = table().assign(town=lambda f: np.where(f["hours"] > 20, "far", "near"))
    schema = ee.Schema(
        sensitive="group", protected="ash", favourable=True,
        features={"wage": "actionable", "income": "mutable", "town": "immutable"},
    )  # fmt: skip
    edges = [("hours", "town"), ("wage", "income"), ("town", "income")]
    # Equations that know a level which nobody here has.
    scm = ee.StructuralCausalModel(edges).fit(pd.concat([X, X.assign(town="abroad", income=90.0)], ignore_index=True))
    model = ee.LinearScore({"wage": 1.0, "income": 1.0}, threshold=70.0)
    ee.audit(model, X, schema=schema, scm=scm).save(tmp_path / "t.audit")
    found = ee.load(tmp_path / "t.audit").verify(model, X, sample=5)
    assert found.holds, str(found)
    assert [one.outcome for one in found.opinions.of] == ["confirmed"] * 5


@pytest.mark.parametrize("values", [["b", "o", "w"], [1, 2, 0]])
def test_a_sample_and_people_apart_may_lack_a_group_that_is_named(values):
    own, other, reference = values
    X = pd.DataFrame({"g": [own, reference] * 20 + [other] * 2, "income": [float(k % 13) for k in range(42)]})
    schema = ee.Schema(
        sensitive="g", protected=[own, other], reference=reference, favourable=True,
        features={"income": ee.Feature("actionable", upper=20.0)},
    )  # fmt: skip
    rule = ee.LinearScore({"income": 1.0}, threshold=9.0)
    scm = ee.StructuralCausalModel([], nodes=["income"]).fit(X)
    audit = ee.audit(rule, X, schema=schema, scm=scm)
    assert audit.verify(rule, X, sample=3).holds
    problem = ee.RecourseProblem.of(rule, X, schema=schema, scm=scm)
    for left in ([own, reference], [own, other], [reference, other]):
        people = X[X["g"].isin(left)]
        np.testing.assert_array_equal(ee.solve(problem, people).cost, audit.recourse.cost[X["g"].isin(left)])
