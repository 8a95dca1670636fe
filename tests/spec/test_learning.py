"""Equations and surrogates learn from tables of their own; of several decisions one or some may be wanted."""

from __future__ import annotations

import hashlib
import warnings

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.cli.conftest import SPEC, loans

from equieffort.errors import EquieffortError, EquieffortWarning
from equieffort.models.surrogate import train_surrogate, two_outcomes
from equieffort.spec import parse_spec
from equieffort.spec.estimates import estimate
from equieffort.spec.runs import prepare, resampling, run_spec

pytestmark = pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
OWN = "graph: {edges: [[income, savings]], data: history.csv}"


@pytest.fixture
def folder(tmp_path):
    loans().to_csv(tmp_path / "loans.csv", index=False)
    older = loans(260, gap=10.0)
    older["savings"] = (3.0 * older["income"] + np.arange(260) % 7).round(1)
    older["decision"] = np.where(older["income"] > 40, "approved", "refused")
    older.to_csv(tmp_path / "history.csv", index=False)
    return tmp_path


def read(folder, *changes):
    text = SPEC
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse_spec(text, folder=folder)


GRAPH = ("graph: [[income, savings]]", OWN)
MODEL = ("{train: logistic}", "{train: logistic, data: history.csv}")


def test_equations_are_learned_from_their_own_table_and_scales_are_not(folder):
    ready, plain = prepare(read(folder, GRAPH)), prepare(read(folder))
    older, people = pd.read_csv(folder / "history.csv"), pd.read_csv(folder / "loans.csv")
    slope = np.polyfit(older["income"], older["savings"], 1)[0]
    effect = ready.scm.counterfactual(ready.people, do={"income": ready.people["income"] + 1.0})["savings"]
    assert (effect - ready.people["savings"]).to_numpy() == pytest.approx(np.full(len(people), slope))
    assert abs(np.polyfit(people["income"], people["savings"], 1)[0] - slope) > 1
    assert ready.learned_from["graph.data"].sha256 == hashlib.sha256((folder / "history.csv").read_bytes()).hexdigest()
    # What a change costs and how far it may go is still read off the people who are audited.
    assert estimate(ready).assumed == estimate(plain).assumed


def test_a_surrogate_is_trained_on_its_own_table(folder):
    audit = run_spec(read(folder, MODEL))
    older, people = pd.read_csv(folder / "history.csv"), pd.read_csv(folder / "loans.csv")
    features = ["income", "savings", "job"]
    alone = train_surrogate("logistic", older, older["decision"], features=features, groups=older["sex"])
    refused = alone.classifier.predict(people[features]) == "refused"
    assert audit.recourse.is_unfavourable.tolist() == refused.tolist()
    assert audit.provenance.surrogate.agreement == alone.agreement
    assert set(audit.provenance.learned_from) == {"model.data"}
    # The record of the people audited stays theirs.
    differs = np.flatnonzero(refused != (people["decision"] == "refused"))
    assert audit.provenance.recorded.differs == tuple(differs.tolist())


def test_people_audited_by_what_others_show_need_no_decision(folder):
    loans().drop(columns="decision").to_csv(folder / "loans.csv", index=False)
    audit = run_spec(read(folder, MODEL))
    assert audit.provenance.recorded is None
    assert audit.provenance.surrogate.refusals.n == 260


def test_rows_of_another_table_are_other_people_also_where_there_are_as_many(folder):
    loans().to_csv(folder / "history.csv", index=False)
    loans().drop(columns="applicant").to_csv(folder / "loans.csv", index=False)
    ready = prepare(read(folder, GRAPH, MODEL, (", id: applicant", "")))
    drawn = resampling(ready, "procedure", 10)
    assert len(drawn.X_train) == len(ready.people)
    assert not drawn.X_train.index.equals(ready.people.index)
    assert not ready.scm.reference_.index.equals(ready.people.index)


@pytest.mark.parametrize(
    ("change", "gone", "says"),
    [
        (GRAPH, "savings", "graph.data: 'history.csv' has no column 'savings', but the graph names it."),
        (MODEL, "sex", "model.data: 'history.csv' has no column 'sex', but a surrogate learns from it"),
        (MODEL, "decision", "model.data: 'history.csv' has no column 'decision'"),
    ],
)
def test_what_such_a_table_lacks_is_told_at_its_key(folder, change, gone, says):
    pd.read_csv(folder / "history.csv").drop(columns=gone).to_csv(folder / "history.csv", index=False)
    with pytest.raises(EquieffortError) as caught:
        prepare(read(folder, change))
    assert caught.value.code == "DATA_MISSING_COLUMN"
    assert says in caught.value.what


# -- one of several decisions ------------------------------------------------------------------------------------------


def risks(folder):
    table = loans()
    score = table["income"] + table["savings"]
    table["decision"] = np.where(score > 79, "Low", np.where(score > 60, "Medium", "High"))
    table.to_csv(folder / "loans.csv", index=False)
    return table


def test_one_of_several_decisions_is_meant_against_all_others(folder):
    table = risks(folder)
    with pytest.warns(EquieffortWarning, match="'Medium' count as refusals|'High' count as refusals"):
        one = run_spec(read(folder, ("favourable: approved", "favourable: Low")))
    listed = run_spec(read(folder, ("favourable: approved", "favourable: [Low]")))
    assert one.provenance.surrogate == listed.provenance.surrogate
    assert one.provenance.surrogate.refusals.recorded == int((table["decision"] != "Low").sum())
    assert "MODEL_MULTICLASS" in {w.code for w in one.warnings} - {w.code for w in listed.warnings}
    both = run_spec(read(folder, ("favourable: approved", "favourable: [Low, Medium]")))
    assert both.provenance.surrogate.refusals.recorded == int((table["decision"] == "High").sum())
    assert both.recorded.n_favourable == int((table["decision"] != "High").sum())


def test_every_decision_is_not_a_wish(folder):
    risks(folder)
    with pytest.raises(EquieffortError, match="names every decision in 'decision'"):
        prepare(read(folder, ("favourable: approved", "favourable: [Low, Medium, High]")))


@pytest.mark.parametrize(
    ("wanted", "name", "found"),
    [
        (2, 2, [2, 0, 0, 2]),
        ([2, 1], "2 or 1", ["2 or 1", "2 or 1", "not (2 or 1)", "2 or 1"]),
    ],
)
def test_decisions_that_are_numbers_stay_of_one_type(wanted, name, found):
    merged, called = two_outcomes(pd.Series([2, 1, 0, 2]), wanted)
    assert called == name
    assert merged.tolist() == found


WHOLE_SPEC = """
data: {path: t.csv, missing: MISSING}
model: {MODEL}
outcome: {column: decision, favourable: yes it is}
sensitive: {column: sex, protected: f, reference: m}
graph: [[duration, amount]]
features:
  amount: {role: actionable, direction: down}
  duration: {role: actionable, direction: down}
"""


@pytest.mark.parametrize("missing", ["drop", "model"])
@pytest.mark.parametrize("written", ["whole", "as pandas writes it"])
def test_whole_numbers_beside_empty_cells_stay_whole(tmp_path, missing, written):
    """One blank in a column makes floats of whole numbers in pandas: nobody is told to take 39.9 months."""
    rng = np.random.default_rng(2)
    n = 120
    duration = rng.integers(6, 60, n)
    amount = 90 * duration + rng.integers(-200, 200, n)
    table = pd.DataFrame({"sex": np.array(["f", "m"])[np.arange(n) % 2], "duration": duration, "amount": amount})
    table["decision"] = np.where(table["amount"] + 7 * rng.integers(0, 99, n) < 3000, "yes it is", "no")
    table = table.astype({"duration": "Int64", "amount": "Int64"})
    table.loc[[3, 50], "duration"], table.loc[7, "amount"] = pd.NA, pd.NA
    if written == "as pandas writes it":
        table = table.astype({"duration": "float64", "amount": "float64"})
    table.to_csv(tmp_path / "t.csv", index=False)
    model = "train: logistic"
    if missing == "model":
        own = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression())
        own.fit(pd.read_csv(tmp_path / "t.csv")[["amount", "duration"]], table["decision"])
        skops.io.dump(own, tmp_path / "m.skops")
        model = "path: m.skops, trusted: [numpy.dtype]"
    text = WHOLE_SPEC.replace("MISSING", missing).replace("MODEL", model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_spec(parse_spec(text, folder=tmp_path))
    assert "SCHEMA_KIND_ASSUMED" not in {one.code for one in found.warnings}
    told = found.recourse.frame()
    for name in ("do_amount", "do_duration"):
        proposed = told[name].dropna().astype(float)
        assert (proposed == proposed.round()).all()
    assert told["status"].isin(["optimal"]).sum() > 20
