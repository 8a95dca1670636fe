"""People whose group is not known: a group of their own, solved where it plays no part, and what they change."""

import itertools
import json
import warnings
import zipfile
from functools import cache

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor

import equieffort as ee
from equieffort.errors import AuditFileError, DataError, EquieffortWarning, SchemaError
from equieffort.exports import measures_csv, summary
from equieffort.notions.actions import Action, Part, turned_costs
from equieffort.report.page import render
from equieffort.world.groups import Groups

FEATURES = {"income": ee.Feature("actionable", direction="up", max_increase=20), "debt": "mutable"}
UNKNOWN = [3, 8, 21, 34, 55, 60]


def people(n=160, seed=5):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b", "c"], n, p=[0.35, 0.3, 0.35])
    income = rng.gamma(3, 10, n) - 6 * (group == "a") + 20
    debt = 20 - 0.2 * income + 3 * (group == "b") + rng.normal(0, 3, n)
    X = pd.DataFrame({"group": group, "sex": rng.integers(0, 2, n), "income": income, "debt": debt})
    X.index = pd.Index([f"p{k}" for k in range(n)], name="person")
    y = (X["income"] - 0.5 * X["debt"] + rng.normal(0, 4, n) > 40).astype(int)
    return X, y


X, Y = people()
MODEL = LogisticRegression().fit(X[["income", "debt"]], Y)
EDGES = {
    "apart": [("income", "debt")],
    "a cause": [("group", "debt"), ("income", "debt")],
    "a cause of what stays": [("group", "income"), ("income", "debt")],
}


def hidden(rows=UNKNOWN, column="group", frame=X):
    """Some people without a group."""
    found = frame.copy()
    found[column] = found[column].astype(object)
    found.iloc[rows, found.columns.get_loc(column)] = None
    return found


def audited(frame, *, edges="apart", mechanisms=None, model=MODEL, missing="error", **declared):
    told = {"sensitive": "group", "protected": "a", "reference": "c", "favourable": 1, "features": FEATURES} | declared
    names = [name for name in ("group", "sex") if name not in np.ravel(told["sensitive"])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        scm = ee.StructuralCausalModel(EDGES[edges], nodes=["group"], mechanisms=mechanisms).fit(X)
        schema = ee.Schema(**told, also_protected=names)
        return ee.audit(model, frame, schema=schema, scm=scm, missing=missing)


FULL = {edges: audited(X, edges=edges) for edges in EDGES}


@cache
def partly(edges="apart", reference="c"):
    """The audit without the groups of some people, made once."""
    return audited(hidden(), edges=edges, reference=reference)


@pytest.mark.parametrize("edges", list(EDGES))
def test_recourse_does_not_depend_on_a_group_that_cancels(edges):
    """Everybody is solved as if the group were known: it stays as it is, and linear equations do not see it."""
    found = partly(edges)
    pd.testing.assert_frame_equal(
        found.recourse.frame().drop(columns="group"), FULL[edges].recourse.frame().drop(columns="group")
    )
    assert (found.recourse.frame()["group"].iloc[UNKNOWN] == "unknown").all()
    row = found.by_group.loc["unknown"]
    assert (row["role"], row["n"]) == ("unknown", len(UNKNOWN))
    assert found.recourse.data["group"].iloc[UNKNOWN].isna().all()


def test_the_warning_counts_them():
    found = partly()
    told = next(one for one in found.warnings if one.code == "DATA_GROUP_UNKNOWN")
    assert "6 people" in told.what
    assert "group = unknown: 6" in told.what
    assert not any(one.code == "DATA_GROUP_UNKNOWN" for one in FULL["apart"].warnings)


def test_they_are_compared_and_not_judged():
    found = partly()
    assert [(c.group, c.against, c.role) for c in found.system.comparisons] == [
        ("a", "c", "protected"), ("b", "c", "other"), ("unknown", "c", "unknown"),
    ]  # fmt: skip
    assert [f.comparison.group for f in found.verdict.findings] == ["a"]


def test_bent_equations_leave_their_recourse_unknown():
    """With an interaction the effect of an action depends on the group: nothing is claimed of them."""
    found = audited(hidden(), edges="a cause", mechanisms={"debt": ee.Regressor(DecisionTreeRegressor(max_depth=3))})
    frame = found.recourse.frame().iloc[UNKNOWN]
    refused = FULL["apart"].recourse.frame().iloc[UNKNOWN]["status"] != "not_needed"
    assert (frame.loc[refused, "status"] == "unknown").all()
    assert (frame.loc[~refused, "status"] == "not_needed").all()


def test_a_model_that_sees_the_group_is_not_asked_without_it():
    encoded = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
    model = make_pipeline(encoded, LogisticRegression(max_iter=1000)).fit(X[["group", "income", "debt"]], Y)
    with pytest.raises(DataError, match="'group'") as caught:
        audited(hidden(), model=model)
    assert caught.value.code == "DATA_MISSING_VALUES"
    assert len(audited(hidden(), model=model, missing="drop").recourse) == len(X) - len(UNKNOWN)


def test_dropping_takes_only_those_whose_recourse_needs_the_group():
    assert len(audited(hidden(), missing="drop").recourse) == len(X)


def test_known_values_are_needed():
    with pytest.raises(SchemaError) as caught:
        audited(hidden(np.flatnonzero(X["group"] != "a").tolist()))
    assert caught.value.code == "SCHEMA_ONE_GROUP"
    with pytest.raises(DataError, match="nobody a group is known"):
        audited(hidden(list(range(len(X)))))


# -- what they could change --------------------------------------------------------------------------------------------


def by_trying(frame, rows, labels, **declared):
    """Every assignment audited by itself: the recourse stays, only groups change."""
    found = []
    for values in itertools.product(labels, repeat=len(rows)):
        given = frame.copy()
        given.iloc[rows, given.columns.get_loc("group")] = list(values)
        found.append(audited(given, **declared).measures.set_index(["measure", "group", "against"])["estimate"])
    return pd.concat(found, axis=1)


@pytest.mark.parametrize(("how", "n"), [("c", 3), (ee.Rest(), 2), (ee.AllPairs(), 2)], ids=str)
def test_the_range_is_that_of_all_assignments(how, n):
    rows = UNKNOWN[:n]
    found = audited(hidden(rows), reference=how)
    tried = by_trying(X, rows, "abc", reference=how)
    for key, row in found.measures.set_index(["measure", "group", "against"]).iterrows():
        if "unknown" in key:
            assert np.isnan(row["assigned_least"])
            continue
        least, most = tried.loc[key].min(), tried.loc[key].max()
        assert row["assigned_least"] <= least + 1e-12, key
        assert row["assigned_most"] >= most - 1e-12, key
        if "ASSIGNED_OUTER" not in row["note"]:
            assert row["assigned_least"] == pytest.approx(least, abs=1e-12), key
            assert row["assigned_most"] == pytest.approx(most, abs=1e-12), key


def test_nothing_to_assign_without_unknown_people():
    assert FULL["apart"].measures[["assigned_least", "assigned_most"]].isna().all(axis=None)


def test_the_verdict_says_what_they_could_change():
    criteria = FULL["apart"].criteria
    found = partly()
    reading = found.verdict.findings[0].comparison.reading("acr")
    zone = (1 / criteria.tau, criteria.tau)
    inside = [
        zone[0] <= value <= zone[1] for value in (reading.estimate, reading.assigned_least, reading.assigned_most)
    ]
    assert ("UNKNOWN_GROUP" in reading.note) == (len(set(inside)) > 1)
    assert "The group of 6 people is not known." in found.verdict.findings[0].sentence
    assert any(one["code"] == "UNKNOWN_GROUP" for one in summary(found)["caveats"])
    many = audited(hidden(list(range(0, 160, 3))))
    one = many.verdict.findings[0].comparison.reading("acr")
    assert one.assigned_least < 1 < criteria.tau < one.assigned_most
    assert "UNKNOWN_GROUP" in one.note.split()
    assert "could lie on the other side" in str(many.verdict)
    assert "could lie on the other side of its threshold" in render(many)


# -- several columns ---------------------------------------------------------------------------------------------------


def test_what_is_known_of_a_person_limits_the_assignments():
    frame = hidden([3], "group", hidden([8], "sex"))
    found = audited(frame, sensitive=["group", "sex"], protected=("a", 0), reference=("c", 0))
    groups = found.recourse.groups
    by_label = {groups.labels[k]: {groups.labels[one] for one in may} for k, may in groups.unknown.items()}
    own_sex, own_group = X["sex"].iloc[3], X["group"].iloc[8]
    assert by_label == {
        f"unknown & {own_sex}": {f"{group} & {own_sex}" for group in "abc"},
        f"{own_group} & unknown": {f"{own_group} & {sex}" for sex in (0, 1)},
    }


def test_whoever_cannot_be_of_a_group_is_one_of_the_others():
    frame = hidden([8], "sex")
    found = audited(frame, sensitive=["group", "sex"], protected=("a", 0), reference=ee.Rest())
    groups = found.recourse.groups
    for one in groups.pairs:
        if one.group in groups.unknown:
            continue
        own = groups.labels[one.group].startswith(X["group"].iloc[8])
        assert (next(iter(groups.unknown)) in one.others) == (not own)


# -- readers -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "how"), [*((edges, "c") for edges in EDGES), ("apart", ee.Rest()), ("apart", ee.AllPairs())], ids=str
)
def test_saved_and_read_again(how, edges, tmp_path):
    found = partly(edges, how)
    found.save(tmp_path / "one.audit")
    again = ee.load(tmp_path / "one.audit")
    pd.testing.assert_frame_equal(again.measures, found.measures)
    pd.testing.assert_frame_equal(again.recourse.frame(), found.recourse.frame())
    assert str(again) == str(found)
    # Edges play no part in how a report shows a table.
    assert edges != "apart" or render(again) == render(found)


def test_numbers_as_groups_are_named_as_without_missing_values(tmp_path):
    frame = X.astype({"sex": float})
    frame.iloc[:4, frame.columns.get_loc("sex")] = np.nan
    found = audited(frame, sensitive="sex", protected=1, reference=0)
    assert found.recourse.groups.labels == ("0", "1", "unknown")
    found.save(tmp_path / "one.audit")
    assert str(ee.load(tmp_path / "one.audit")) == str(found)


def test_every_level_and_reader_has_them(tmp_path):
    found = partly()
    assert found.letters(tmp_path / "letters") is not None
    assert "unknown" in set(found.curve((0.5, 1.0))["group"])
    assert found.individual("p3", quantile=0.4).comparisons[0].group == "unknown"
    for row in UNKNOWN:
        # What is missing stays as it is: nothing is said of it, to nobody.
        told, whole = found.explain(position=row), FULL["apart"].explain(position=row)
        assert str(told).split(": ", 1)[1] == str(whole).split(": ", 1)[1]
        assert told.steps == whole.steps
    assert any(found.explain(position=row).steps for row in UNKNOWN)
    assert "assigned_least" in measures_csv(found).splitlines()[0]
    assert "if groups were known" in render(found)
    assert found.notions().frame()["against"].isin(["", "c"]).all()


def test_a_value_that_is_called_unknown_beside_missing_ones_is_refused():
    frame = hidden(frame=X.replace({"group": {"b": "unknown"}}))
    with pytest.raises(SchemaError, match="would both be called 'unknown'"):
        Groups.of(frame, ee.Schema(sensitive="group", protected="a", reference="c", favourable=1))


def test_a_forged_file_may_not_hide_them(tmp_path):
    partly().save(tmp_path / "one.audit")
    with zipfile.ZipFile(tmp_path / "one.audit") as old, zipfile.ZipFile(tmp_path / "two.audit", "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "audit.json":
                manifest = json.loads(content)
                assert manifest["groups"]["unknown"] == {"3": [0, 1, 2]}
                manifest["groups"]["unknown"] = {}
                content = json.dumps(manifest).encode()
            new.writestr(name, content)
    with pytest.raises(AuditFileError, match="unknown"):
        ee.load(tmp_path / "two.audit")


@pytest.mark.parametrize("edges", list(EDGES))
def test_shared_actions_turn_them_as_if_the_group_were_known(edges):
    found = partly(edges)
    refused = found.recourse.is_unfavourable
    actions = [Action((Part("income", "change", size),)) for size in (2.0, 5.0, 10.0, 20.0)]
    asked, whole = (
        turned_costs(one.inputs.problem, one.recourse.data[refused], actions) for one in (found, FULL[edges])
    )
    np.testing.assert_array_equal(asked, whole)
    routes = found.group_routes()
    measured = routes.front[routes.front["group"] == "unknown"]
    assert refused[UNKNOWN].sum() == measured["n"].max() > 0
    assert measured["n_turned"].max() > 0
    assert (routes.front["n_unknown"] == 0).all()


def test_notions_say_that_they_have_no_bounds():
    """Six people without a group are in no comparison, and nothing bounds what they could change."""
    audit = partly()
    found = audit.notions(only=["facts"])
    assert {row.group for row in found.readings} == {"a", "b"}
    told = f"{len(UNKNOWN)} people whose group is not known are on neither side of these comparisons"
    assert told in str(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquieffortWarning)
        kept = audit.with_provenance(notions=found)
    assert told in render(kept)
    assert told not in str(FULL["apart"].notions(only=["facts"]))
