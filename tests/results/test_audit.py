"""The whole line: symmetries, worlds with known truth, and the three levels against Algorithm 1 done naively."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from tests.limits import unlimited
from tests.samples import compared

import equieffort as ee
from equieffort.errors import DataError, ParameterError, RuleError, SchemaError

NUMBERS = ["age", "amount", "duration"]
EDGES = [("sex", "amount"), ("age", "amount"), ("amount", "duration")]
FEATURES = {
    "age": ee.Feature("actionable", direction="up", upper=75, max_increase=10),
    "amount": ee.Feature("actionable", lower=250, max_decrease=4000),
    "duration": ee.Feature("mutable", plausible=(4, 72)),
}
NEAR = 0.2


def people(**names: str) -> tuple[pd.DataFrame, pd.Series]:
    X, y = ee.datasets.german_credit(columns="paper")
    return X.assign(sex=X["sex"].map({"female": names.get("female", "female"), "male": names.get("male", "male")})), y


def german(X, y, *, protected="female", sees_sex=True, **more) -> ee.Audit:
    """German credit with limits under which some people have no recourse."""
    if sees_sex:
        steps = make_column_transformer((OneHotEncoder(drop="if_binary"), ["sex"]), remainder=StandardScaler())
        classifier = make_pipeline(steps, LogisticRegression()).fit(X, y)
    else:
        classifier = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[NUMBERS], y)
    schema = ee.Schema(sensitive="sex", protected=protected, favourable="good", features=unlimited(FEATURES))
    with pytest.warns(ee.errors.EquieffortWarning, match="explains"):
        scm = ee.StructuralCausalModel(EDGES).fit(X)
    return ee.audit(classifier, X, schema=schema, scm=scm, neighbourhood=ee.Nearest(NEAR), **more)


@pytest.fixture(scope="module")
def audit() -> ee.Audit:
    return german(*people())


@pytest.fixture(scope="module")
def table(audit) -> pd.DataFrame:
    return audit.recourse.frame()


def algorithm_1(table: pd.DataFrame, own: str, other: str, members=slice(None)) -> dict[str, float]:
    """Phi, rho and sizes of both groups among the refused members, ACR and RD; straight from the paper."""
    refused = table[members]
    refused = refused[refused["status"] != "not_needed"]
    found = {}
    for sign, group in (("+", own), ("-", other)):
        mine = refused[refused["group"] == group]
        able = mine[mine["status"].isin(["optimal", "feasible"])]
        rho = len(able) / len(mine) if len(mine) else np.nan
        found |= {f"n{sign}": len(mine), f"rho{sign}": rho, f"phi{sign}": able["cost"].mean()}
    return found | {"acr": found["phi+"] / found["phi-"], "rd": found["rho-"] - found["rho+"]}


def check(assessment, expected: dict[str, float], own: str, other: str) -> None:
    (comparison,) = assessment.comparisons
    assert (comparison.group, comparison.against) == (own, other)
    found = compared(assessment)
    for sign, group in (("+", own), ("-", other)):
        assert found.loc[group, "n_unfavourable"] == expected[f"n{sign}"]
        assert found.loc[group, "phi"] == pytest.approx(expected[f"phi{sign}"], rel=1e-12, nan_ok=True)
        assert found.loc[group, "rho"] == pytest.approx(expected[f"rho{sign}"], rel=1e-15, nan_ok=True)
    assert found.loc[own, "acr"] == pytest.approx(expected["acr"], rel=1e-12, nan_ok=True)
    assert found.loc[own, "rd"] == pytest.approx(expected["rd"], abs=1e-15, nan_ok=True)
    assert found.loc[own, "against"] == other


# -- three levels ------------------------------------------------------------------------------------------------------


def test_system_is_algorithm_1_for_everybody(audit, table):
    check(audit.system, algorithm_1(table, "female", "male"), "female", "male")
    assert set(table["status"]) == {"not_needed", "optimal", "infeasible"}
    assert audit.verdict is audit.system.verdict
    assert audit.system.level == "system"


def test_individuals_are_algorithm_1_among_those_nearest(audit, table):
    X = audit.recourse.data
    span = X[NUMBERS].max() - X[NUMBERS].min()
    refused = table.index[table["status"] != "not_needed"]
    for label in [*refused[::6], 0]:
        apart = (X[NUMBERS] - X.loc[label, NUMBERS].astype(float)).abs() / span
        distances = apart["age"] + apart["amount"] + apart["duration"]
        members = (distances <= np.quantile(distances, NEAR)).to_numpy()
        own, other = (X.loc[label, "sex"], "male" if X.loc[label, "sex"] == "female" else "female")
        found = audit.individual(label)
        check(found, algorithm_1(table, own, other, members), own, other)
        assert found.by_group["n"].sum() == members.sum()
        assert str(members.sum()) in found.about


def test_a_quantile_or_neighbourhood_may_be_given(audit):
    X = audit.recourse.data
    given = audit.individual(1, quantile=0.5).by_group
    pd.testing.assert_frame_equal(given, audit.individual(1, neighbourhood=ee.Nearest(0.5)).by_group)
    assert given["n"].sum() >= 500
    assert audit.individual(1, neighbourhood=ee.NearestK(30)).by_group["n"].sum() >= 30
    everybody = audit.individual(1, neighbourhood=ee.Everyone())
    pd.testing.assert_frame_equal(everybody.by_group, audit.by_group)
    # The quantile keeps the audit's own distance.
    by_age = ee.Manhattan(features=("age",))
    other = ee.Audit(audit.recourse, audit.criteria, ee.NearestK(3, by_age))
    near = (X["age"] - X.loc[1, "age"]).abs()
    assert other.individual(1, quantile=0.3).by_group["n"].sum() == (near <= np.quantile(near, 0.3)).sum()


def test_features_of_a_distance_may_be_a_list(audit):
    X = audit.recourse.data
    near = (X["age"] - X.loc[1, "age"]).abs()
    found = audit.individual(1, neighbourhood=ee.Nearest(0.3, ee.Manhattan(features=["age"])))
    assert found.by_group["n"].sum() == (near <= np.quantile(near, 0.3)).sum()


def test_subgroup_by_rule_by_mask_and_by_hand(audit, table):
    X = audit.recourse.data
    mask = (X["age"] < 40) & (X["duration"] >= 12)
    by_rule = audit.subgroup("age < 40 and duration >= 12")
    for masked in (mask, mask.to_numpy(), mask.tolist()):
        pd.testing.assert_frame_equal(audit.subgroup(masked).by_group, by_rule.by_group)
    check(by_rule, algorithm_1(table, "female", "male", mask.to_numpy()), "female", "male")
    assert by_rule.level == "subgroup"
    assert str(int(mask.sum())) in audit.subgroup(mask).about


def test_a_subgroup_of_everybody_is_the_system_and_of_nobody_is_nothing(audit):
    pd.testing.assert_frame_equal(audit.subgroup(np.ones(1000, dtype=bool)).by_group, audit.by_group)
    assert audit.subgroup("age > 1000").verdict.codes == ("NOTHING",)


@pytest.mark.parametrize("mask", [np.ones(999, dtype=bool), np.ones(1000), np.ones((1000, 1), dtype=bool), [1, 0]])
def test_a_mask_that_does_not_fit_is_refused(audit, mask):
    with pytest.raises(RuleError) as caught:
        audit.subgroup(mask)
    assert caught.value.code == "SUBGROUP_MASK"


def test_curve_at_one_is_the_system(audit):
    curve = audit.curve([1.0]).set_index("group")
    assert curve.loc["female", "acr"] == pytest.approx(audit.system.comparisons[0].acr, rel=1e-12)
    assert curve.loc["female", "rd"] == pytest.approx(audit.system.comparisons[0].rd, rel=1e-12)
    assert curve["n_centres"].to_dict() == audit.by_group["n_unfavourable"].to_dict()
    assert audit.curve([1.0], include_favourable=True)["n_centres"].sum() == 1000


# -- symmetries --------------------------------------------------------------------------------------------------------


def test_swapping_the_protected_group_inverts_acr_and_negates_rd(audit):
    X, y = people()
    (before,), (after,) = audit.system.comparisons, german(X, y, protected="male").system.comparisons
    assert (after.group, after.against) == (before.against, before.group)
    assert after.acr == pytest.approx(1 / before.acr, rel=1e-14)
    assert after.rd == pytest.approx(-before.rd, rel=1e-14)
    assert before.rd != 0


def test_names_of_groups_change_nothing_else():
    # The new names sort the other way round.
    X, y = people()
    plain = german(X, y, sees_sex=False)
    named = german(*people(female="zz", male="aa"), protected="zz", sees_sex=False)
    back = {"zz": "female", "aa": "male"}
    before = compared(plain)
    after = compared(named).rename(index=back).replace({"against": back}).loc[before.index]
    pd.testing.assert_frame_equal(after.set_axis(before.index), before, rtol=1e-9, atol=1e-12)
    assert str(named.verdict).replace("sex = zz", "sex = female").replace("sex = aa", "sex = male") == str(
        plain.verdict
    )
    keys = ["group", "quantile"]
    curves = [a.curve().replace({"group": back, "against": back}).sort_values(keys) for a in (plain, named)]
    pd.testing.assert_frame_equal(*(c.reset_index(drop=True) for c in curves), rtol=1e-9, atol=1e-12)


def test_order_of_people_changes_nothing(audit):
    X, _ = people()
    order = np.random.default_rng(0).permutation(len(X))
    table = audit.recourse
    classifier, scm = table.source.problem.decision.classifier, table.source.problem.scm
    shuffled = ee.audit(classifier, X.iloc[order], schema=table.source.schema, scm=scm, neighbourhood=ee.Nearest(NEAR))
    pd.testing.assert_frame_equal(shuffled.recourse.frame(), table.frame().iloc[order])
    pd.testing.assert_frame_equal(shuffled.by_group, audit.by_group)
    pd.testing.assert_frame_equal(shuffled.individual(1).by_group, audit.individual(1).by_group)


# -- worlds with known truth -------------------------------------------------------------------------------------------


def synthetic(alpha: float, classifier=None, n: int = 100_000) -> ee.Audit:
    X, y = ee.datasets.paper_synthetic(alpha, n, random_state=17)
    model = LogisticRegression().fit(X[["X2", "X3"]], y) if classifier is None else classifier
    features = {"X2": ee.Feature("actionable"), "X3": ee.Feature("actionable")}
    schema = ee.Schema(sensitive="S", protected=0, favourable=1, features=unlimited(features))
    scm = ee.StructuralCausalModel([], nodes=["S", "X2", "X3"]).fit(X)
    return ee.audit(model, X, schema=schema, scm=scm, cost=ee.WeightedL1(ee.Std()))


def ratio_error(audit: ee.Audit) -> float:
    """Standard error of the ratio of two means, by the delta method."""
    table = audit.recourse.frame()
    costs = [group["cost"].dropna() for _, group in table.groupby("group")]
    relative = sum(c.var(ddof=1) / len(c) / c.mean() ** 2 for c in costs)
    return costs[0].mean() / costs[1].mean() * relative**0.5


def test_without_a_head_start_effort_is_equal():
    audit = synthetic(0)
    (found,) = audit.system.comparisons
    assert abs(found.acr - 1) <= 3 * ratio_error(audit)
    assert ratio_error(audit) < 0.01
    assert found.rd == 0
    assert audit.verdict.outcome == "equal"


def test_a_head_start_costs_what_the_closed_form_says():
    # The boundary where a very large sample puts it, so that only the sampling of people is left.
    audit = synthetic(2, ee.LinearScore({"X2": 1.0, "X3": 1.0}, threshold=4.0))
    truth = ee.datasets.paper_synthetic_truth(2)
    (found,) = audit.system.comparisons
    assert abs(found.acr - truth["acr"]) <= 3 * ratio_error(audit)
    for label, cost in (("0", truth["protected_cost"]), ("1", truth["unprotected_cost"])):
        table = audit.recourse.frame()
        mine = table.loc[table["group"] == label, "cost"].dropna()
        # The scale, too, is estimated: its relative error is about 1 / sqrt(2 n).
        error = (mine.var() / len(mine) + (cost**2) / (2 * 100_000)) ** 0.5
        assert abs(mine.mean() - cost) <= 3 * error
    assert audit.verdict.outcome == "unequal"


def test_a_fitted_model_comes_close_to_the_closed_form():
    (found,) = synthetic(2).system.comparisons
    assert found.acr == pytest.approx(ee.datasets.paper_synthetic_truth(2)["acr"], rel=0.05)


# -- who is meant ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def labelled(audit) -> ee.Audit:
    """The same people under text labels in an order of their own."""
    table = audit.recourse
    X = people()[0].head(200)
    X.index = [f"p{k}" for k in reversed(range(len(X)))]
    problem = table.source.problem
    return ee.audit(problem.decision.classifier, X, schema=problem.schema, scm=problem.scm)


def test_labels_and_positions_name_the_same_person(labelled):
    for position, label in ((0, "p199"), (1, "p198"), (-1, "p0")):
        by_label = labelled.individual(label, quantile=0.3)
        by_position = labelled.individual(position=position, quantile=0.3)
        pd.testing.assert_frame_equal(by_label.by_group, by_position.by_group)
        assert by_label.about == by_position.about
        assert repr(label) in by_label.about
        assert repr(labelled.explain(label)) == repr(labelled.explain(position=position))
        assert labelled.explain(label).person == label


@pytest.mark.parametrize("arguments", [{}, {"label": "p0", "position": 0}])
def test_exactly_one_person_must_be_named(labelled, arguments):
    with pytest.raises(ParameterError, match="Name one person"):
        labelled.individual(**arguments)


@pytest.mark.parametrize("arguments", [{"label": 0}, {"label": "q"}, {"position": 200}, {"position": -201}])
def test_nobody_there_is_an_error(labelled, arguments):
    with pytest.raises(DataError) as caught:
        labelled.explain(**arguments)
    assert caught.value.code == "DATA_UNKNOWN_ROW"


def test_a_person_is_named_as_the_index_shows_them(labelled):
    problem = labelled.recourse.source.problem
    X = people()[0].head(200)
    X.index = np.arange(200) * 7
    found = ee.audit(problem.decision.classifier, X, schema=problem.schema, scm=problem.scm).individual(7)
    assert found.about.endswith("nearest to 7")


# -- the frame and the words -------------------------------------------------------------------------------------------


def test_by_group_is_one_tidy_row_a_group(audit):
    frame = audit.by_group
    assert frame.index.tolist() == ["female", "male"]
    assert frame.index.name == "group"
    assert frame.shape[1] <= 12, "a short view"
    assert set(frame.columns) < set(audit.system.groups.columns)
    assert frame["role"].tolist() == ["protected", "reference"]
    assert frame["n"].tolist() == [310, 690]
    assert not isinstance(frame.index, pd.MultiIndex)
    assert all(isinstance(name, str) for name in frame.columns)
    frame = audit.system.groups
    for name in ("phi", "rho"):
        known = frame[name].notna()
        assert (frame[f"{name}_low"] <= frame[name])[known].all()
        assert (frame[name] <= frame[f"{name}_high"])[known].all()


def test_a_person_of_the_reference_meets_each_other_group():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": rng.choice(list("abc"), 300), "x": rng.normal(size=300)})
    schema = ee.Schema(
        sensitive="s", protected="c", reference="b", favourable=True, features=unlimited({"x": "actionable"})
    )
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    audit = ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm)
    one = X.index[X["s"] == "b"][0]
    found = audit.individual(one)
    assert found.by_group.index.tolist() == ["a", "b", "c"], "one row a group, however many it meets"
    rows = found.measures.query("measure == 'acr'")
    assert list(zip(rows["group"], rows["against"], strict=True)) == [("b", "c"), ("b", "a")]
    assert [f.comparison.group for f in audit.verdict.findings] == ["c"]


def test_intersections_with_the_same_label_are_refused():
    """Statistics are kept by label: one group would silently take the place of the other."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"p": rng.choice(["a & b", "a"], 300), "q": rng.choice(["c", "b & c"], 300)})
    X["x"] = rng.normal(size=300)
    schema = ee.Schema(
        sensitive=["p", "q"],
        protected=("a & b", "c"),
        reference=("a", "b & c"),
        favourable=True,
        features=unlimited({"x": "actionable"}),
    )
    scm = ee.StructuralCausalModel([], nodes=["p", "q", "x"]).fit(X)
    with pytest.raises(SchemaError, match="'a & b & c'") as caught:
        ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm)
    assert caught.value.code == "SCHEMA_GROUPS"


def test_protected_values_of_a_set_come_in_a_fixed_order():
    class Text(str):
        """Text with a hash of its own, as another run might give it."""

        def __hash__(self):
            return -ord(self[0])

    labels = [Text(c) for c in "hgfedcba"]
    X = pd.DataFrame({"s": list("abcdefghi") * 12, "x": np.random.default_rng(0).normal(size=108)})
    schema = ee.Schema(sensitive="s", protected=set(labels), favourable=True, features=unlimited({"x": "actionable"}))
    scm = ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)
    audit = ee.audit(ee.LinearScore({"x": 1.0}), X, schema=schema, scm=scm)
    assert [c.group for c in audit.system.comparisons] == list("abcdefgh")


def test_printing_shows_verdict_and_table(audit):
    text = str(audit)
    assert text.startswith(audit.verdict.outcome.upper())
    assert str(audit.verdict) in text
    assert "female" in text
    assert "nan" not in text.lower()
    assert str(audit.individual(1)).splitlines()[0] == audit.individual(1).about


def test_an_audit_carries_its_warnings_and_how_it_was_made(audit):
    assert [w.code for w in audit.warnings].count("SCM_POOR_FIT") == 1
    assert audit.provenance.solver.name.startswith("LinearSearch")
    assert audit.provenance.solver.reason
    assert any("duration" in line.text for line in audit.provenance.equations)


# -- subgroups that are known beforehand -------------------------------------------------------------------------------


def town(**more):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"s": list("ab") * 60, "x": rng.normal(size=120), "region": ["north", "south", "north"] * 40})
    schema = ee.Schema(sensitive="s", protected="a", favourable=True, features=unlimited({"x": "actionable"}))
    return X.assign(**more), {"schema": schema, "scm": ee.StructuralCausalModel([], nodes=["s", "x"]).fit(X)}


def test_a_column_that_a_subgroup_names_is_no_extra_column():
    X, how = town()
    rules = {"north": "region = 'north'", "few": "s = 'a' and x < 0"}
    made = ee.audit(ee.LinearScore({"x": 1.0}), X, subgroups=rules, **how)
    assert made.warnings == ()
    assert made.provenance.subgroups == rules
    pd.testing.assert_series_equal(made.recourse.data["region"], X["region"])
    mask = (X["region"] == "north").to_numpy()
    pd.testing.assert_frame_equal(made.subgroup(rules["north"]).by_group, made.subgroup(mask).by_group)
    with pytest.warns(ee.errors.EquieffortWarning, match=r"uses: 'region'\."):
        ee.audit(ee.LinearScore({"x": 1.0}), X, **how)
    X, how = town(note=1)
    with pytest.warns(ee.errors.EquieffortWarning, match=r"uses: 'note'\."):
        ee.audit(ee.LinearScore({"x": 1.0}), X, subgroups=rules, **how)


def test_a_subgroup_may_name_a_sensitive_column_beside_the_table():
    X, how = town()
    made = ee.audit(
        ee.LinearScore({"x": 1.0}),
        X.drop(columns="s"),
        sensitive_features=X["s"],
        subgroups={"both": "s = 'a' or region = 'south'"},
        **how,
    )
    assert made.warnings == ()


@pytest.mark.parametrize(("rule", "code"), [("regoin = 'north'", "RULE_NAME"), ("region = ", "RULE_SYNTAX")])
def test_a_rule_that_cannot_be_asked_is_refused_before_solving(rule, code):
    X, how = town()
    with pytest.raises(RuleError) as caught:
        ee.audit(ee.LinearScore({"x": 1.0}), X, subgroups={"n": rule}, progress=pytest.fail, **how)
    assert caught.value.code == code


def test_wrong_parts_are_named_with_subgroups_too():
    X, how = town()
    with pytest.raises(ParameterError, match="schema is the dict"):
        ee.audit(ee.LinearScore({"x": 1.0}), X, subgroups={"n": "x < 0"}, **(how | {"schema": {}}))
