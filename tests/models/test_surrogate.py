"""train_surrogate: agreement against a cross-validation written out by hand, and what it refuses."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC
from tests.limits import unlimited

import equieffort as ee
from equieffort.data.frames import Column, Encoding
from equieffort.errors import EquieffortError, EquieffortWarning
from equieffort.models import fidelity, surrogate
from equieffort.models.classifiers import Decision, linear_view
from equieffort.models.fidelity import RecordedDecisions, Refusals
from equieffort.models.surrogate import SURROGATES, compared, recorded_decisions, train_surrogate

RNG = np.random.default_rng(3)
N = 150
X = pd.DataFrame(
    {
        "income": RNG.normal(30, 10, N),
        "job": RNG.choice(["baker", "clerk", "smith"], N),
        "sex": RNG.choice(["f", "m"], N),
        "unused": "x",
    },
    index=[f"p{k}" for k in range(N)],
)
Y = np.where(X["income"] + 8 * (X["job"] == "clerk") + RNG.normal(0, 4, N) > 33, "yes", "no")
FINAL = {
    "logistic": LogisticRegression(max_iter=10_000),
    "ridge": RidgeClassifier(),
    "linear_svc": LinearSVC(max_iter=10_000, random_state=5),
    "forest": RandomForestClassifier(100, max_depth=6, random_state=5),
    "boosted": GradientBoostingClassifier(n_estimators=100, max_depth=3, random_state=5),
}
LINEAR = ("logistic", "ridge", "linear_svc")


def train(kind: str = "logistic", X: Any = X, y: Any = Y, **options: Any) -> Any:
    options = {"features": ["income", "job"], "groups": np.resize(X["sex"], len(X)), "random_state": 5} | options
    return train_surrogate(kind, X, y, **options)


def refused(code: str, **options: Any) -> EquieffortError:
    with pytest.raises(EquieffortError) as caught:
        train(**options)
    assert caught.value.code == code
    assert caught.value.fix
    return caught.value


def by_hand(kind: str, *texts: str, X: pd.DataFrame = X) -> np.ndarray:
    """Encode, scale and hold out without a pipeline: the scale comes from the people who are not held out."""
    out = np.empty(N, dtype=object)
    levels = pd.get_dummies(X[["job", *texts]]).to_numpy(dtype=float)
    income = X["income"].to_numpy()
    for kept, held in StratifiedKFold(5, shuffle=True, random_state=5).split(np.zeros(N), Y):
        scaled = (income - income[kept].mean()) / income[kept].std()
        matrix = np.column_stack([levels, scaled if kind in LINEAR else income])
        out[held] = clone(FINAL[kind]).fit(matrix[kept], Y[kept]).predict(matrix[held])
    return out == Y


@pytest.mark.parametrize("kind", SURROGATES)
def test_agreement_against_a_loop_by_hand(kind: str) -> None:
    found = train(kind)
    alike = by_hand(kind)
    assert 0.7 < found.agreement < 1
    assert found.agreement == alike.mean()
    assert found.by_group == {sex: alike[X["sex"] == sex].mean() for sex in ("f", "m")}
    assert (found.n, found.kind, found.folds) == (N, kind, 5)


@pytest.mark.parametrize("kind", SURROGATES)
def test_many_levels_are_learned_as_few_are(kind: str) -> None:
    """Of a matrix that is nearly all zeros only the others are read; what is learned stays the same."""
    towns = np.random.default_rng(8).choice([f"town {k:02}" for k in range(20)], N)
    people = X.assign(town=towns, income=X["income"] + 3 * (towns < "town 10"))
    found = train(kind, people, features=["income", "job", "town"])
    alike = by_hand(kind, "town", X=people)
    assert found.agreement == alike.mean()
    assert found.held_out.tolist() == np.where(alike, Y, np.where(Y == "yes", "no", "yes")).tolist()
    income = people["income"].to_numpy()
    scaled = (income - income.mean()) / income.std() if kind in LINEAR else income
    matrix = np.column_stack([pd.get_dummies(people[["job", "town"]]).to_numpy(dtype=float), scaled])
    dense = clone(FINAL[kind]).fit(matrix, Y)
    ask = "predict_proba" if kind == "forest" else "decision_function"
    mine = getattr(found.classifier, ask)(people[["income", "job", "town"]])
    assert mine == pytest.approx(getattr(dense, ask)(matrix), abs=1e-6)


def test_agreement_against_cross_val_predict() -> None:
    found = train()
    folds = StratifiedKFold(5, shuffle=True, random_state=5)
    held_out = cross_val_predict(clone(found.classifier), X[["income", "job"]], Y, cv=folds)
    assert found.agreement == np.mean(held_out == Y)


def test_it_is_fitted_on_everybody_and_sees_only_its_features() -> None:
    found = train()
    assert list(found.classifier.feature_names_in_) == ["income", "job"]
    scaler = found.classifier[0].named_transformers_["numbers"]
    assert scaler.mean_ == pytest.approx([X["income"].mean()])
    assert scaler.n_samples_seen_ == N
    assert found.classifier.classes_.tolist() == ["no", "yes"]


def test_held_out_means_held_out() -> None:
    # Decisions by coin and one column a person: a model judged on its own rows would agree with nearly everything.
    rng = np.random.default_rng(0)
    people = pd.DataFrame(rng.normal(size=(60, 58)), columns=[f"x{k}" for k in range(58)])
    coin = rng.integers(0, 2, 60)
    found = train_surrogate("ridge", people, coin, features=list(people), groups=coin, random_state=0)
    assert np.mean(found.classifier.predict(people) == coin) == 1
    assert found.agreement < 0.75


def test_the_same_random_state_gives_the_same_answer() -> None:
    one, two = train("linear_svc"), train("linear_svc")
    assert one.agreement == two.agreement
    assert np.array_equal(one.classifier[-1].coef_, two.classifier[-1].coef_)
    assert len({train(random_state=k).agreement for k in range(3)}) > 1


@pytest.mark.parametrize("kind", SURROGATES)
def test_recourse_from_it_is_proven(kind: str) -> None:
    features = {"income": ee.Feature("actionable", direction="up"), "job": "mutable"}
    schema = ee.Schema(sensitive="sex", protected="f", favourable="yes", features=unlimited(features))
    people = X.drop(columns="unused")
    scm = ee.StructuralCausalModel([], nodes=list(people)).fit(people)
    model = train(kind).classifier
    problem = ee.RecourseProblem.of(model, people, schema=schema, scm=scm)
    told = ee.solve(problem, people.iloc[:40]).frame()
    asked = told[told["status"] != "not_needed"]
    assert len(asked) > 5
    assert set(asked["status"]) <= {"optimal", "infeasible"}
    # The least raise that the model itself answers with yes, among a fine grid.
    for name, row in asked[asked["status"] == "optimal"].head(3).iterrows():
        raises = np.linspace(0.0, 60.0, 6001)
        raised = pd.DataFrame({"income": X.loc[name, "income"] + raises, "job": X.loc[name, "job"]})
        first = raises[(model.predict(raised) == "yes").argmax()]
        assert first - 0.011 <= row["delta_income"] <= first + 1e-6


@pytest.mark.parametrize("kind", LINEAR)
def test_the_exact_solver_understands_it(kind: str) -> None:
    model = train(kind).classifier
    decision = Decision.of(model, "yes", X)
    encoding = Encoding(tuple(Column.of(X[name]) for name in ("income", "job")))
    view = linear_view(decision, encoding)
    score = view.score(encoding.encode(X[["income", "job"]]))
    assert score == pytest.approx(model.decision_function(X[["income", "job"]]))


@pytest.mark.parametrize("kind", ["logistic", "ridge"])
def test_many_people_are_held_out_by_halves(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody is held out once, by a model fitted on the other half."""
    rarer = int(np.unique(Y, return_counts=True)[1].min())
    monkeypatch.setattr(surrogate, "HALVES", rarer + 1)
    assert train(kind, random_state=5).folds == 5
    monkeypatch.setattr(surrogate, "HALVES", rarer)
    found = train(kind, random_state=5)
    halves = StratifiedKFold(2, shuffle=True, random_state=5)
    held_out = cross_val_predict(clone(found.classifier), X[["income", "job"]], Y, cv=halves)
    assert found.folds == 2
    assert found.held_out.tolist() == held_out.tolist()
    assert found.agreement == np.mean(held_out == Y)


@pytest.mark.parametrize(("rarer", "most"), [(80, 60), (20, 120)])
def test_of_very_many_people_some_are_learned_from_and_all_are_held_out(rarer, most, monkeypatch):
    """No more than LEARNED, but so many that HALVES of the rarer outcome are among them on average."""
    monkeypatch.setattr(surrogate, "LEARNED", 60)
    monkeypatch.setattr(surrogate, "HALVES", 10)
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"a": rng.normal(size=240)})
    labels = frame["a"].rank().to_numpy() <= rarer
    learned, fit = [], LogisticRegression.fit

    def noted(self, X, y, *more):
        learned.append((len(y), int(y.sum())))
        return fit(self, X, y, *more)

    monkeypatch.setattr(LogisticRegression, "fit", noted)
    found = train_surrogate("logistic", frame, labels, features=["a"], groups=np.full(240, "all"))
    assert [n for n, _ in learned] == [240, most, most]
    assert all(0 < yes < n for n, yes in learned)
    # A line through sorted numbers: only people beside the threshold are decided otherwise.
    assert len(found.held_out) == 240
    assert found.agreement == pytest.approx((found.held_out == labels).mean())
    assert found.agreement > 0.9


@pytest.mark.parametrize(("rare", "folds"), [(2, 2), (3, 3), (4, 4), (5, 5), (9, 5)])
def test_fewer_folds_for_a_rare_outcome(rare: int, folds: int) -> None:
    assert train(y=np.arange(N) < rare).folds == folds


def test_a_level_that_only_one_person_has() -> None:
    lonely = X.assign(job=["astronaut", *X["job"][1:]])
    assert train(X=lonely).n == N


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (False, True), (-1.0, 1.0)])
@pytest.mark.parametrize("as_object", [True, False])
def test_labels_keep_their_type(labels: tuple[Any, Any], as_object: bool) -> None:
    y = [labels[value == "yes"] for value in Y]
    found = train(y=pd.Series(y, dtype=object) if as_object else y)
    assert found.classifier.classes_.tolist() == list(labels)
    assert [type(value) for value in found.classifier.classes_.tolist()] == [type(value) for value in labels]
    assert found.agreement == train().agreement


def test_groups_are_named_by_text() -> None:
    assert set(train(groups=np.arange(N) % 3).by_group) == {"0", "1", "2"}


def test_labels_it_cannot_learn() -> None:
    assert "All 150 decisions are 'yes'" in refused("MODEL_SURROGATE", y=["yes"] * N).what
    assert "3 values, 'a', 'b', 'c'" in refused("MODEL_SURROGATE", y=["a", "b", "c"] * 50).what
    assert "Only one decision is 'no'" in refused("MODEL_SURROGATE", y=["no"] + ["yes"] * (N - 1)).what
    assert "different types: 1, 'no'" in refused("MODEL_SURROGATE", y=[1, "no"] * 75).what
    assert "row 'p1'" in refused("DATA_MISSING_VALUES", y=["no", None] * 75).what


def test_arguments_it_cannot_use() -> None:
    assert "Did you mean 'logistic'?" in refused("PARAMETER", kind="logistc").what
    refused("PARAMETER", features=[])
    refused("PARAMETER", features=["income", "income"])
    assert "Did you mean 'income'?" in refused("DATA_MISSING_COLUMN", features=["incme"]).what
    refused("DATA_LENGTH", y=Y[:-1])
    refused("DATA_LENGTH", groups=["f"])
    refused("DATA_LENGTH", groups=None)
    refused("DATA_MISSING_VALUES", groups=[None] * N)
    assert "first in row 'p0'" in refused("DATA_MISSING_VALUES", X=X.assign(income=[np.nan, *X["income"][1:]])).what
    assert "row 'p0'" in refused("DATA_NOT_FINITE", X=X.assign(income=[np.inf, *X["income"][1:]])).what
    assert "'int', 'str'" in refused("DATA_TYPE", X=X.assign(job=[1, *X["job"][1:]])).what


def test_a_fit_that_does_not_converge_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    original = LogisticRegression.__init__

    def hasty(self: Any, **options: Any) -> None:
        original(self, **(options | {"max_iter": 1}))

    monkeypatch.setattr(LogisticRegression, "__init__", hasty)
    monkeypatch.setattr(LogisticRegression, "_get_param_names", classmethod(lambda cls: ["max_iter", "random_state"]))
    with pytest.warns(EquieffortWarning, match="before it had converged") as issued:
        train()
    assert len(issued) == 1


def test_it_can_be_audited() -> None:
    found = train(features=["income"])
    people = X[["income", "sex"]]
    scm = ee.StructuralCausalModel([("sex", "income")])
    with pytest.warns(EquieffortWarning, match="explains"):
        scm.fit(people)
    schema = ee.Schema(
        sensitive="sex", protected="f", reference="m", favourable="yes", features=unlimited({"income": "actionable"})
    )
    result = ee.audit(found.classifier, people, schema=schema, scm=scm)
    assert result.provenance.classifier == "Pipeline ending in LogisticRegression"


@pytest.mark.parametrize("labels", [None, "names", "twice"])
def test_recorded_decisions_are_compared_with_those_of_the_model(labels: str | None) -> None:
    rng = np.random.default_rng(4)
    people = pd.DataFrame({"sex": ["f", "m"] * 60, "income": rng.normal(20, 5, 120)})
    decided = np.where(people["income"] + rng.normal(0, 3, 120) > 20, "yes", "no")
    if labels is not None:
        people.index = [f"p{k % (120 if labels == 'names' else 119)}" for k in range(120)]
    found = train_surrogate("logistic", people, decided, features=["income"], groups=people["sex"])
    schema = ee.Schema(sensitive="sex", protected="f", favourable="yes", features=unlimited({"income": "actionable"}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        scm = ee.StructuralCausalModel([], nodes=["sex", "income"]).fit(people)
        table = ee.audit(found.classifier, people, schema=schema, scm=scm).recourse
        part = ee.audit(found.classifier, people.iloc[7:50], schema=schema, scm=scm).recourse
    differs = np.flatnonzero(found.classifier.predict(people[["income"]]) != decided).tolist()
    assert differs
    assert recorded_decisions(found.decisions, table.index, table.is_unfavourable, "yes") == RecordedDecisions(
        tuple(differs), ()
    )
    if labels == "twice":
        # The people left out cannot be told from those who stay.
        assert recorded_decisions(found.decisions, part.index, part.is_unfavourable, "yes") is None
    else:
        assert recorded_decisions(found.decisions, part.index, part.is_unfavourable, "yes") == RecordedDecisions(
            tuple(k - 7 for k in differs if 7 <= k < 50), ()
        )
        fewer = replace(found, decisions=found.decisions.iloc[1:])
        assert recorded_decisions(fewer.decisions, table.index, table.is_unfavourable, "yes") == RecordedDecisions(
            tuple(k for k in differs if k > 0), (0,)
        )


def test_a_claim_stands_unless_the_record_refutes_it():
    rng = np.random.default_rng(0)
    recorded = rng.random(400) < 0.3
    groups = np.array(["a", "b"])[np.arange(400) % 2]
    claim = Refusals(n=400, recorded=120, by_surrogate=120, by_both=110)
    half = Refusals(n=200, recorded=60, by_surrogate=60, by_both=55)
    stated = fidelity.Surrogate("ridge", claim.agreement, {"a": 0.95, "b": 0.95}, 0.9, claim, {"a": half, "b": half})
    alike = recorded ^ (rng.random(400) < 0.05)
    assert compared(stated, recorded, alike, groups) is stated
    # Wrong about two fifths of one group alone.
    wrong = recorded ^ ((groups == "b") & (np.arange(400) % 10 < 4))
    found = compared(stated, recorded, wrong, groups)
    assert found.by_group == {"a": 1.0, "b": 0.6}
    assert found.agreement == pytest.approx(0.8)
    assert not found.suffices
    # Approving everybody repeats nearly as many decisions where few are refused, but finds no refusal.
    few = np.arange(400) < 20
    found = compared(stated, few, np.zeros(400, dtype=bool), groups)
    assert found.recalls == {"": 0.0, "a": 0.0, "b": 0.0}
