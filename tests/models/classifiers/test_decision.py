"""Decision: the model is asked for its labels, with its own columns in its own order, and for nothing else."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.limits import unlimited

from equieffort import Feature, LinearScore, RecourseProblem, Schema, StructuralCausalModel, solve
from equieffort.errors import DataError, EquieffortError, EquieffortWarning, ModelError
from equieffort.models.classifiers import Decision


def people(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"secret": rng.choice(["f", "m"], n), "b": rng.normal(size=n), "a": rng.normal(size=n), "id": np.arange(n)},
        index=[f"p{k}" for k in range(n)],
    )


class Spy:
    """A model of columns a and b that remembers what it was given and has nothing but predict."""

    def __init__(self, rule=lambda X: np.asarray(X["a"] > X["b"])):
        self.feature_names_in_ = np.array(["a", "b"], dtype=object)
        self.classes_ = np.array([False, True])
        self.rule = rule
        self.seen = []

    def predict(self, X):
        self.seen.append(X)
        return self.rule(X)

    def __getattr__(self, name):
        if name in ("predict_proba", "decision_function", "predict_log_proba", "score", "coef_"):
            raise AssertionError(f"{name} was asked for")
        raise AttributeError(name)


def test_only_predict_is_asked_and_only_with_its_own_columns():
    spy, frame = Spy(), people()
    decision = Decision.of(spy, True, frame)
    np.testing.assert_array_equal(decision.is_favourable(frame), frame["a"] > frame["b"])
    np.testing.assert_array_equal(decision.is_favourable(frame[["a", "b"]]), frame["a"] > frame["b"])
    assert len(spy.seen) >= 3
    for given_frame in spy.seen:
        assert list(given_frame.columns) == ["a", "b"]
        assert set(given_frame.index) <= set(frame.index)


def test_a_whole_solve_shows_the_model_nothing_else(monkeypatch):
    seen = []
    given_to_it = Decision.model_input

    def watched(self, frame):
        seen.append(tuple(given_to_it(self, frame).columns))
        return given_to_it(self, frame)

    monkeypatch.setattr(Decision, "model_input", watched)
    frame = people()
    schema = Schema(
        sensitive="secret",
        protected="f",
        favourable=True,
        features=unlimited({"a": Feature("actionable"), "b": "immutable"}),
    )
    scm = StructuralCausalModel([], nodes=["secret", "a", "b", "id"]).fit(frame)
    rule = LinearScore({"a": 1.0, "b": -1.0}, threshold=0.5)
    solve(RecourseProblem.of(rule, frame, schema=schema, scm=scm), frame)
    assert len(seen) >= 3
    assert set(seen) == {("a", "b")}


@given(st.permutations(["a", "b", "secret", "id"]), st.permutations(["a", "b"]))
@settings(max_examples=24, deadline=None)
def test_the_order_of_the_data_does_not_matter(order, trained):
    frame = people()
    clf = DecisionTreeClassifier(max_depth=3, random_state=0).fit(frame[trained], frame["a"] > frame["b"])
    decision = Decision.of(clf, True, frame[order])
    assert decision.features == tuple(trained)
    np.testing.assert_array_equal(decision.labels(frame[order]), clf.predict(frame[trained]))


def test_a_model_fitted_without_names_gets_an_array():
    frame = people()
    clf = LogisticRegression().fit(frame[["b", "a"]].to_numpy(), frame["a"] > 0)
    decision = Decision.of(clf, True, frame, ["b", "a"])
    assert decision.bare
    assert isinstance(decision.model_input(frame), np.ndarray)
    np.testing.assert_array_equal(decision.labels(frame), clf.predict(frame[["b", "a"]].to_numpy()))
    with pytest.raises(DataError) as caught:
        Decision.of(clf, True, frame)
    assert caught.value.code == "DATA_NO_NAMES"


def test_labels_are_the_models_own_not_a_threshold_on_probabilities():
    class Strict(LogisticRegression):
        """Says yes only when it is very sure."""

        def predict(self, X):
            return self.predict_proba(X)[:, 1] > 0.9

    frame = people()
    clf = Strict().fit(frame[["a", "b"]], frame["a"] > 0)
    sure = clf.predict_proba(frame[["a", "b"]])[:, 1]
    favourable = Decision.of(clf, True, frame).is_favourable(frame)
    np.testing.assert_array_equal(favourable, sure > 0.9)
    assert (favourable != (sure > 0.5)).any()


@pytest.mark.parametrize("labels", [["bad", "good"], [0, 1], [1, 2], [False, True], [-1.0, 1.0]], ids=str)
def test_either_label_can_be_the_one_people_want(labels):
    frame = people()
    y = np.array(labels)[(frame["a"] > 0).astype(int)]
    clf = LogisticRegression().fit(frame[["a", "b"]], y)
    for favourable in labels:
        decision = Decision.of(clf, favourable, frame)
        np.testing.assert_array_equal(decision.is_favourable(frame), clf.predict(frame[["a", "b"]]) == favourable)


class Nothing:
    pass


class Silent(Spy):
    """Without declared classes."""

    def __init__(self, rule):
        super().__init__(rule)
        del self.classes_


def coin():
    rng = np.random.default_rng(0)
    return lambda X: rng.random(len(X)) > 0.5


def explode(X):
    raise RuntimeError("out of coffee\nsecond line")


REFUSED = {
    "no predict": (lambda frame: Nothing(), True, "MODEL_NO_PREDICT"),
    "a class": (lambda frame: LogisticRegression, True, "MODEL_NOT_FITTED"),
    "not fitted": (lambda frame: LogisticRegression(), True, "MODEL_NOT_FITTED"),
    "pipeline not fitted": (
        lambda frame: make_pipeline(StandardScaler(), LogisticRegression()),
        True,
        "MODEL_NOT_FITTED",
    ),
    "unknown label": (lambda frame: LogisticRegression().fit(frame[["a"]], frame["a"] > 0), "good", "MODEL_LABELS"),
    "a coin": (lambda frame: Spy(coin()), True, "MODEL_NOT_DETERMINISTIC"),
    "two columns": (lambda frame: Spy(lambda X: np.zeros((len(X), 2))), True, "MODEL_OUTPUT"),
    "one answer": (lambda frame: Spy(lambda X: np.array([True])), True, "MODEL_OUTPUT"),
    "nan": (lambda frame: Spy(lambda X: np.full(len(X), np.nan)), True, "MODEL_OUTPUT"),
    "fails": (lambda frame: Spy(explode), True, "MODEL_FAILED"),
    "label of another type": (lambda frame: Silent(lambda X: np.zeros(len(X), dtype=int)), "yes", "MODEL_LABELS"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_models_that_cannot_be_asked(name):
    make, favourable, code = REFUSED[name]
    frame = people()
    with pytest.raises(ModelError) as caught:
        Decision.of(make(frame), favourable, frame)
    assert caught.value.code == code


@pytest.mark.parametrize("first", ["cleaning", "coding"])
def test_what_a_pipeline_does_before_encoding_is_its_own_affair(first):
    """The model answers, so there is nothing to refuse."""
    frame = people().assign(job=["Nurse", "nurse ", "clerk", "Clerk"] * 10)
    step = {
        "cleaning": FunctionTransformer(lambda data: data.apply(lambda column: column.str.strip().str.lower())),
        "coding": OrdinalEncoder().set_output(transform="pandas"),
    }[first]
    clf = make_pipeline(step, OneHotEncoder(), LogisticRegression()).fit(frame[["job"]], frame["id"] % 4 < 2)
    theirs = clf.predict(frame[["job"]])
    assert theirs.any()
    np.testing.assert_array_equal(Decision.of(clf, True, frame).is_favourable(frame), theirs)


def test_an_encoder_after_steps_that_change_nothing_is_looked_at():
    frame = people().assign(job=["nurse", "clerk"] * 20)
    for step in ("passthrough", FunctionTransformer()):
        clf = make_pipeline(step, OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
        clf.fit(frame[["job"]], frame["job"] == "nurse")
        with pytest.raises(DataError, match=r"'nurs'.*Did you mean 'nurse'") as caught:
            Decision.of(clf, True, frame.assign(job=["nurse", "nurs"] * 20), ["job"])
        assert caught.value.code == "DATA_UNSEEN_CATEGORY"


def test_the_models_own_words_are_passed_on():
    with pytest.raises(ModelError, match="RuntimeError: out of coffee") as caught:
        Decision.of(Spy(explode), True, people())
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_missing_column_is_named():
    with pytest.raises(EquieffortError, match="'b'") as caught:
        Decision.of(Spy(), True, people().drop(columns="b"))
    assert caught.value.code == "DATA_MISSING_COLUMN"


def test_without_declared_classes_the_answers_tell():
    frame = people()
    silent = Silent(lambda X: np.where(X["a"] > 0, "yes", "no"))
    np.testing.assert_array_equal(Decision.of(silent, "yes", frame).is_favourable(frame), frame["a"] > 0)
    # Nobody among these people gets it, which is not the same as that it does not exist.
    never = Silent(lambda X: np.full(len(X), "no"))
    assert not Decision.of(never, "yes", frame).is_favourable(frame).any()


class Narrow:
    """A model that has room for so many rows at once, and writes down how many it answered about."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, room: int) -> None:
        self.room, self.answered = room, []

    def predict(self, X):
        if len(X) > self.room:
            raise MemoryError
        self.answered.append(len(X))
        return np.where(X["a"] > 0, "yes", "no")


def test_memory_too_short_for_all_rows_means_fewer_at_once_and_is_said_once():
    frame = pd.DataFrame({"a": np.random.default_rng(0).normal(size=1000)})
    model = Narrow(130)
    decision = Decision(model, ("a",), "yes", bare=False)
    with pytest.warns(EquieffortWarning, match="asked about 1,000 rows.*RUN_MEMORY"):
        found = decision.is_favourable(frame)
    assert found.tolist() == (frame["a"] > 0).tolist()
    assert model.answered == [125] * 8
    # What was learned is kept: nothing is said, and nothing tried in vain, of the next.
    decision.is_favourable(frame.iloc[:300])
    assert model.answered[8:] == [125, 125, 50]


@pytest.mark.filterwarnings("ignore::equieffort.errors.EquieffortWarning")
def test_memory_too_short_for_one_row_stays_what_it_is():
    with pytest.raises(MemoryError):
        Decision(Narrow(0), ("a",), "yes", bare=False).is_favourable(pd.DataFrame({"a": [1.0, -1.0]}))
