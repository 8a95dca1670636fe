"""The linear view against decision_function, model by model and transformer by transformer."""

import copy
import pickle
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from equieffort import LinearScore
from equieffort.data.frames import Encoding
from equieffort.errors import EquieffortError
from equieffort.models.classifiers import Decision, NoView, linear_view

NUMBERS, TEXTS = ["income", "age"], ["job", "city"]


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.normal(30, 9, n),
            "job": rng.choice(["clerk", "driver", "nurse"], n, p=[0.5, 0.4, 0.1]),
            "age": rng.integers(18, 80, n),
            "owner": rng.random(n) < 0.4,
            "city": rng.choice(["no", "yes"], n),
        }
    )


X = people()
SCORE = 0.1 * X["income"] + 0.05 * X["age"] + 2 * (X["job"] == "nurse") + X["owner"] - (X["city"] == "yes")
Y = np.where(SCORE + np.random.default_rng(9).normal(size=300) > 6, "good", "bad")
FRESH = people(500, seed=1)


def gap(clf, favourable="good", frame=FRESH, names=None, kinds=None):
    """How far our score is from the model's own, turned so that more is better; everybody's label is checked too."""
    decision = Decision.of(clf, favourable, frame, names)
    encoding = Encoding.of(frame, decision.features, kinds)
    view = linear_view(decision, encoding)
    matrix = encoding.encode(frame)
    theirs = np.asarray(clf.decision_function(decision.model_input(frame)), dtype=float)
    theirs = theirs if clf.classes_[1] == favourable else -theirs
    ours = view.score(matrix)
    np.testing.assert_array_equal(decision.is_favourable(frame), ours > 0)
    # The size of the summands bounds the score, and rounding is judged against it.
    assert (view.magnitude(matrix) >= np.abs(ours) - 1e-9).all()
    return np.abs(ours - theirs).max()


MODELS = {
    "logistic": LogisticRegression(max_iter=1000),
    "logistic, no intercept": LogisticRegression(fit_intercept=False, max_iter=1000),
    "logistic, cross-validated": LogisticRegressionCV(Cs=2, cv=2, max_iter=1000),
    "linear SVC": LinearSVC(),
    "linear SVC, no intercept": LinearSVC(fit_intercept=False),
    "SGD": SGDClassifier(random_state=0),
    "SGD, averaged": SGDClassifier(average=True, random_state=0),
    "ridge": RidgeClassifier(),
    "ridge, no intercept": RidgeClassifier(fit_intercept=False),
    "ridge, cross-validated": RidgeClassifierCV(),
    "LDA": LinearDiscriminantAnalysis(),
    "LDA, lsqr": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
    "perceptron": Perceptron(random_state=0),
}


def typical(model):
    encode = make_column_transformer(
        (OneHotEncoder(drop="first", sparse_output=False), TEXTS), remainder=StandardScaler()
    )
    return make_pipeline(encode, copy.deepcopy(model))


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("favourable", ["good", "bad"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_every_linear_model(model, favourable):
    assert gap(typical(model).fit(X, Y), favourable) < 1e-9


@pytest.mark.parametrize("labels", [[0, 1], [1, 2], [False, True], [-1.0, 1.0], ["a", "b"]], ids=str)
def test_labels_of_any_type_first_or_second(labels):
    y = np.where(Y == "good", labels[1], labels[0])
    clf = typical(LogisticRegression()).fit(X, y)
    for favourable in labels:
        assert gap(clf, favourable) < 1e-9


def test_the_favourable_set_is_open_for_the_second_class_and_closed_for_the_first():
    clf = LogisticRegression().fit(X[NUMBERS], Y)
    encoding = Encoding.of(X, NUMBERS)
    assert clf.classes_.tolist() == ["bad", "good"]
    for favourable, closed in (("good", False), ("bad", True)):
        assert linear_view(Decision.of(clf, favourable, X), encoding).closed is closed
    # On the boundary itself scikit-learn gives the first class.
    clf.coef_, clf.intercept_ = np.array([[1.0, 0.0]]), np.array([-2.0])
    edge = pd.DataFrame({"income": [2.0], "age": [1]})
    assert clf.predict(edge).tolist() == ["bad"]


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-3, 5)),
    MaxAbsScaler(),
    RobustScaler(),
    RobustScaler(with_centering=False, quantile_range=(10, 90), unit_variance=True),
    RobustScaler(with_scaling=False),
    FunctionTransformer(),
    make_pipeline(MinMaxScaler(), "passthrough", RobustScaler()),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_every_scaler(scaler):
    clf = make_pipeline(copy.deepcopy(scaler), LinearDiscriminantAnalysis()).fit(X[NUMBERS], Y)
    assert gap(clf) < 1e-9


def test_scalers_on_a_constant_column():
    frame = X.assign(constant=3.0)[["income", "constant"]]
    for scaler in (StandardScaler(), MinMaxScaler(), RobustScaler()):
        clf = make_pipeline(scaler, LogisticRegression()).fit(frame, Y)
        assert gap(clf, frame=FRESH.assign(constant=np.linspace(0, 5, len(FRESH)))) < 1e-9


ENCODERS = {
    "one-hot": OneHotEncoder(),
    "dense": OneHotEncoder(sparse_output=False),
    "drop first": OneHotEncoder(drop="first"),
    "drop if binary": OneHotEncoder(drop="if_binary"),
    "drop by name": OneHotEncoder(drop=["driver", "yes"]),
    "ignore unknown": OneHotEncoder(handle_unknown="ignore"),
    "infrequent": OneHotEncoder(min_frequency=0.2),
    "infrequent, ignore": OneHotEncoder(min_frequency=0.2, handle_unknown="infrequent_if_exist"),
    "infrequent, dropped": OneHotEncoder(min_frequency=0.2, drop="first"),
    "most categories": OneHotEncoder(max_categories=2, handle_unknown="infrequent_if_exist"),
    "own order": OneHotEncoder(categories=[["nurse", "clerk", "driver"], ["yes", "no"]]),
    "ordinal": OrdinalEncoder(),
    "ordinal, own order": OrdinalEncoder(categories=[["nurse", "clerk", "driver"], ["yes", "no"]]),
    "ordinal, unknown": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    "target": TargetEncoder(),
}


@pytest.mark.parametrize("favourable", ["good", "bad"])
@pytest.mark.parametrize("encoder", ENCODERS.values(), ids=ENCODERS)
def test_every_encoder(encoder, favourable):
    encode = make_column_transformer((copy.deepcopy(encoder), TEXTS), remainder="passthrough")
    clf = make_pipeline(encode, RidgeClassifier()).fit(X, np.where(Y == "good", 1, 0))
    assert gap(clf, int(favourable == "good")) < 1e-9


@pytest.mark.parametrize("encoder", ["one-hot", "infrequent", "ordinal", "drop by name"])
def test_encoders_alone(encoder):
    clf = make_pipeline(copy.deepcopy(ENCODERS[encoder]), RidgeClassifier()).fit(X[TEXTS], Y)
    assert gap(clf) < 1e-9


def test_rare_levels_share_a_value():
    frame = pd.DataFrame({"job": ["a"] * 100 + ["b"] * 100 + ["c", "d"] * 5})
    clf = make_pipeline(OneHotEncoder(min_frequency=20), RidgeClassifier()).fit(frame, [0] * 120 + [1] * 90)
    encoding = Encoding.of(frame, ["job"])
    table = linear_view(Decision.of(clf, 1, frame), encoding).tables[0]
    assert table[2] == table[3]


def columns(*transformers, remainder="drop", **more):
    named = [(f"step{k}", *transformer) for k, transformer in enumerate(transformers)]
    return ColumnTransformer(named, remainder=remainder, **more)


LAYOUTS = {
    "names": lambda: columns((StandardScaler(), ["age", "income"]), (OneHotEncoder(), ["city", "job"])),
    "one name": lambda: columns((OneHotEncoder(), ["job"]), (MinMaxScaler(), ["income"])),
    "positions": lambda: columns((StandardScaler(), [2, 0]), (OneHotEncoder(), [4, 1])),
    "negative positions": lambda: columns((StandardScaler(), [-3, -5]), (OneHotEncoder(), [-1])),
    "slice of names": lambda: columns((OneHotEncoder(), slice("owner", "city")), (StandardScaler(), ["income"])),
    "slice to the end": lambda: columns((OneHotEncoder(), slice("owner", None)), ("passthrough", slice(0, 1))),
    "slice of positions": lambda: columns((OneHotEncoder(), slice(3, 5)), (StandardScaler(), slice(0, 3, 2))),
    "mask": lambda: columns(
        (StandardScaler(), [True, False, True, False, False]), (OneHotEncoder(), np.array([0, 1, 0, 1, 1], dtype=bool))
    ),
    "callable": lambda: columns(
        (StandardScaler(), make_column_selector(dtype_include=np.number)),
        (OneHotEncoder(), make_column_selector(pattern="job|city")),
    ),
    "callable of names": lambda: columns((OneHotEncoder(), lambda frame: [c for c in frame if c in TEXTS])),
    "remainder passthrough": lambda: columns((OneHotEncoder(), TEXTS), remainder="passthrough"),
    "remainder estimator": lambda: columns((OneHotEncoder(), TEXTS), remainder=MinMaxScaler()),
    "remainder of one": lambda: columns(
        (OneHotEncoder(), [*TEXTS, "owner"]), ("drop", ["age"]), remainder=MinMaxScaler()
    ),
    "drop": lambda: columns((OneHotEncoder(), ["job"]), ("drop", ["city", "age"]), remainder="passthrough"),
    "passthrough": lambda: columns(("passthrough", ["age", "owner"]), (OneHotEncoder(), ["city"])),
    "empty part": lambda: columns((StandardScaler(), []), (OneHotEncoder(), ["job"]), remainder="drop"),
    "a column twice": lambda: columns(
        (OneHotEncoder(), ["job"]),
        (OrdinalEncoder(), ["city", "job"]),
        (StandardScaler(), ["age"]),
        ("passthrough", ["age"]),
    ),
    "flag scaled": lambda: columns((StandardScaler(), ["owner", "age"])),
    "flag encoded": lambda: columns((OneHotEncoder(drop="if_binary"), ["owner"]), (OneHotEncoder(), ["job"])),
    "weights ignored": lambda: columns((OneHotEncoder(), TEXTS), remainder="passthrough", sparse_threshold=0),
    "nested pipelines": lambda: columns(
        (make_pipeline(OneHotEncoder(sparse_output=False), StandardScaler()), TEXTS),
        (make_pipeline("passthrough", make_pipeline(MinMaxScaler(), StandardScaler())), NUMBERS),
    ),
    "nested column transformers": lambda: columns(
        (
            columns((StandardScaler(), ["age"]), (OneHotEncoder(), ["job"]), remainder="passthrough"),
            ["job", "age", "income"],
        ),
        remainder="drop",
    ),
    "chained column transformers": lambda: make_pipeline(
        columns((OrdinalEncoder(), TEXTS), remainder="passthrough"),
        columns((StandardScaler(), [0, 2]), (MinMaxScaler(), slice(3, None)), remainder="passthrough"),
    ),
    "encoder after passthrough": lambda: make_pipeline(
        columns(("passthrough", ["job", "age"])), columns((OneHotEncoder(), [0]), remainder=StandardScaler())
    ),
    "frames inside": lambda: columns(
        (OneHotEncoder(sparse_output=False), TEXTS), remainder=StandardScaler()
    ).set_output(transform="pandas"),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout(layout):
    clf = make_pipeline(layout(), RidgeClassifier()).fit(X, Y)
    assert gap(clf) < 1e-9
    assert gap(clf, "bad") < 1e-9


@pytest.mark.parametrize("verbose", [True, False])
def test_chained_column_transformers_by_name(verbose):
    """Understood or refused with a reason; never a crash."""
    first = columns(
        (OneHotEncoder(sparse_output=False), TEXTS), (StandardScaler(), NUMBERS), verbose_feature_names_out=verbose
    ).set_output(transform="pandas")
    second = columns((MinMaxScaler(), ["step1__age" if verbose else "age"]), remainder="passthrough")
    clf = make_pipeline(first, second, RidgeClassifier()).fit(X, Y)
    try:
        found = gap(clf)
    except NoView:
        return
    assert found < 1e-9


def test_sparse_coefficients():
    clf = typical(LogisticRegression()).fit(X, Y)
    clf[-1].sparsify()
    assert gap(clf) < 1e-9


def test_a_declared_level_that_nobody_has():
    """pandas keeps all categories after a filter; the encoder learns only those that occur."""
    declared = pd.CategoricalDtype(["clerk", "driver", "nurse", "pilot"])
    frame = X.astype({"job": declared})
    clf = make_pipeline(columns((OneHotEncoder(), ["job"]), ("passthrough", ["age"])), RidgeClassifier()).fit(frame, Y)
    assert gap(clf, frame=FRESH.astype({"job": declared})) < 1e-9


def test_a_level_the_encoder_does_not_know_is_refused_with_its_name():
    clf = make_pipeline(OneHotEncoder(), RidgeClassifier()).fit(X[TEXTS], Y)
    frame = FRESH[TEXTS].copy()
    frame.loc[450, "job"] = "pilot"  # not among those the model is asked about first
    with pytest.raises(EquieffortError, match="pilot") as caught:
        gap(clf, frame=frame)
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


@pytest.mark.parametrize("dtype", ["category", "string", object, "str"])
def test_text_of_any_dtype(dtype):
    clf = make_pipeline(LAYOUTS["names"](), RidgeClassifier()).fit(X.astype({"job": dtype}), Y)
    assert gap(clf, frame=FRESH.astype({"job": dtype})) < 1e-9


def test_numbers_that_are_categories():
    clf = make_pipeline(
        columns((OneHotEncoder(handle_unknown="ignore"), ["age"]), ("passthrough", ["income"])), RidgeClassifier()
    )
    clf.fit(X, Y)
    assert gap(clf, kinds={"age": "categorical"}) < 1e-9
    with pytest.raises(NoView, match="'age'"):
        gap(clf)
    # Declared a category, but used as an amount: still linear, a value a level.
    plain = make_pipeline(columns((StandardScaler(), ["age", "income"])), RidgeClassifier()).fit(X, Y)
    assert gap(plain, kinds={"age": "categorical"}) < 1e-9


def test_models_fitted_on_arrays():
    numbers = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[NUMBERS].to_numpy(), Y)
    assert gap(numbers, names=NUMBERS) < 1e-9
    mixed = X[["job", "owner", "income"]].to_numpy(dtype=object)
    for remainder in ("passthrough", StandardScaler()):
        clf = make_pipeline(columns((OneHotEncoder(), [0, 1]), remainder=remainder), RidgeClassifier()).fit(mixed, Y)
        assert gap(clf, names=["job", "owner", "income"]) < 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_random_rows_far_from_the_data(seed):
    rng = np.random.default_rng(seed)
    frame = people(30, seed).assign(income=rng.normal(0, 1e4, 30), age=rng.integers(-500, 5000, 30))
    assert gap(TYPICAL, frame=frame) < 1e-9 * 1e4


TYPICAL = typical(LogisticRegression()).fit(X, Y)


NOT_LINEAR = {
    "MinMaxScaler": make_pipeline(MinMaxScaler(clip=True), RidgeClassifier()),
    "PolynomialFeatures": make_pipeline(PolynomialFeatures(2), RidgeClassifier()),
    "SplineTransformer": make_pipeline(SplineTransformer(), RidgeClassifier()),
    "KBinsDiscretizer": make_pipeline(KBinsDiscretizer(3, strategy="uniform"), RidgeClassifier()),
    "PowerTransformer": make_pipeline(PowerTransformer(), RidgeClassifier()),
    "QuantileTransformer": make_pipeline(QuantileTransformer(n_quantiles=20), RidgeClassifier()),
    "Normalizer": make_pipeline(Normalizer(), RidgeClassifier()),
    "FunctionTransformer": make_pipeline(FunctionTransformer(np.abs), RidgeClassifier()),
    "RandomForestClassifier": RandomForestClassifier(3, random_state=0),
    "GradientBoostingClassifier": GradientBoostingClassifier(n_estimators=2, random_state=0),
    "DecisionTreeClassifier": DecisionTreeClassifier(max_depth=2),
    "SVC": SVC(),
    "KNeighborsClassifier": KNeighborsClassifier(),
    "GaussianNB": GaussianNB(),
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis(),
    "DummyClassifier": DummyClassifier(),
    "CalibratedClassifierCV": CalibratedClassifierCV(RidgeClassifier(), cv=2),
    "MLPClassifier": MLPClassifier((2,), max_iter=5),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", NOT_LINEAR)
def test_what_is_not_linear_says_why(name):
    clf = copy.deepcopy(NOT_LINEAR[name]).fit(X[NUMBERS], Y)
    decision = Decision.of(clf, "good", X)
    with pytest.raises(NoView) as caught:
        linear_view(decision, Encoding.of(X, NUMBERS))
    assert name in caught.value.reason


def test_one_bad_step_anywhere_is_enough():
    for inner in (
        columns((make_pipeline(StandardScaler(), PolynomialFeatures(2)), NUMBERS)),
        Pipeline([("outer", columns((PolynomialFeatures(2), ["age"]), remainder="drop"))]),
        columns((OneHotEncoder(), TEXTS), (StandardScaler(), ["income"]), remainder=MinMaxScaler(clip=True)),
    ):
        clf = make_pipeline(inner, RidgeClassifier()).fit(X, Y)
        with pytest.raises(NoView):
            gap(clf)


def test_a_subclass_may_decide_otherwise():
    class Stricter(LogisticRegression):
        def predict(self, X):
            return np.where(self.predict_proba(X)[:, 1] > 0.9, "good", "bad")

    clf = Stricter().fit(X[NUMBERS], Y)
    with pytest.raises(NoView, match="Stricter"):
        linear_view(Decision.of(clf, "good", X), Encoding.of(X, NUMBERS))


def test_the_refusal_is_an_ordinary_exception():
    @contextmanager
    def around():
        yield

    def refuse():
        with around():
            raise NoView("it bends")

    with pytest.raises(NoView, match="it bends"):
        refuse()
    assert pickle.loads(pickle.dumps(NoView("it bends"))).reason == "it bends"


@given(
    st.lists(st.floats(-100, 100), min_size=3, max_size=3),
    st.floats(-100, 100),
    st.booleans(),
    st.booleans(),
    st.integers(0, 1000),
)
def test_linear_score(coef, threshold, closed, favourable, seed):
    rule = LinearScore(dict(zip(["a", "flag", "b"], coef, strict=True)), threshold=threshold, closed=closed)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"b": rng.normal(size=20), "a": rng.integers(-5, 5, 20), "flag": rng.random(20) < 0.5})
    total = coef[0] * frame["a"] + coef[1] * frame["flag"] + coef[2] * frame["b"]
    np.testing.assert_allclose(rule.score(frame), total, atol=1e-9)
    view = linear_view(Decision.of(rule, favourable, frame), Encoding.of(frame, ["b", "flag", "a"]))
    ours = view.score(Encoding.of(frame, ["b", "flag", "a"]).encode(frame))
    np.testing.assert_allclose(ours, (total - threshold) * (1 if favourable else -1), atol=1e-9)
    assert view.closed is (closed if favourable else not closed)


def test_linear_score_at_the_threshold():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0]})
    assert LinearScore({"a": 1.0}, threshold=2.0).predict(frame).tolist() == [False, True, True]
    assert LinearScore({"a": 1.0}, threshold=2.0, closed=False).predict(frame).tolist() == [False, False, True]
