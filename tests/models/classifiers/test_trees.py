"""Trees of scikit-learn: what the view says is what the model says, to the last bit of every threshold."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder, RobustScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from tests.models.classifiers.probes import check, edges, mixed, numbers, outcome, reason, seen

from equieffort.data.frames import Encoding
from equieffort.models.classifiers import Decision, LinearView, recognise

FAMILIES = {
    "tree": DecisionTreeClassifier(random_state=0, max_depth=6),
    "extra tree": ExtraTreeClassifier(random_state=0, max_depth=6),
    "forest": RandomForestClassifier(9, max_depth=4, random_state=0),
    "pure forest": RandomForestClassifier(8, random_state=0),
    "extra trees": ExtraTreesClassifier(8, max_depth=5, random_state=0),
    "gradient": GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram": HistGradientBoostingClassifier(max_iter=8, random_state=0),
    "ada": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=8, random_state=0),
    "stumps": AdaBoostClassifier(n_estimators=6, random_state=0),
    "bagging": BaggingClassifier(DecisionTreeClassifier(max_depth=4), 7, max_features=2, random_state=0),
    "hard voting": VotingClassifier(
        [("a", DecisionTreeClassifier(max_depth=3, random_state=0)), ("b", ExtraTreeClassifier(random_state=1))],
        weights=[2, 2],
    ),
}
NAMES = list(FAMILIES)
CALIBRATED = ("tree", "forest", "gradient", "histogram", "ada")


def daily(name, names, *given):
    """A case of every day for these; for the others, which differ little from them, of `make verify`."""
    return pytest.param(*given, marks=() if name in names else pytest.mark.verify)


def fitted(name, frame, classes=("no", "yes"), **changes):
    from sklearn.base import clone

    return clone(FAMILIES[name]).set_params(**changes).fit(frame, outcome(frame, classes))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("favourable", ["yes", "no"])
def test_two_classes_either_wanted(name, favourable):
    frame = numbers()
    view, _ = check(fitted(name, frame), favourable, frame)
    assert view.is_tree == (name in ("tree", "extra tree"))


@pytest.mark.parametrize(
    ("favourable", "name"),
    [
        *((favourable, name) for favourable in (["good"], ["fair", "best"]) for name in NAMES),
        # The first class, which wins ties.
        *(daily(name, ("tree", "pure forest", "histogram", "ada", "hard voting"), ["bad"], name) for name in NAMES),
    ],
    ids=str,
)
def test_several_classes_and_sets_of_them(name, favourable):
    frame = numbers()
    view, _ = check(fitted(name, frame, ("bad", "best", "fair", "good")), favourable, frame)
    assert len(view.goals.sets) == len(favourable)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "hard voting"])
@pytest.mark.parametrize("threshold", [0.5, 0.62])
def test_a_declared_threshold(name, threshold):
    frame = numbers()
    model = fitted(name, frame)
    if ((chance := model.predict_proba(frame)[:, 1]) >= threshold).all() or (chance < threshold).all():
        threshold = float(np.median(chance))
    for favourable in ("yes", "no"):
        level = threshold if favourable == "yes" else 1 - threshold
        check(model, favourable, frame, threshold=level)
    fixed = FixedThresholdClassifier(model, threshold=threshold).fit(frame, outcome(frame))
    check(fixed, "no", frame)


@pytest.mark.parametrize("name", ["tree", "forest", "extra trees", "bagging"])
def test_a_threshold_on_some_of_several_classes(name):
    frame = numbers()
    model = fitted(name, frame, ("bad", "best", "fair", "good"))
    check(model, ["best"], frame, threshold=0.4)
    check(model, ["best", "good"], frame, everywhere=False, threshold=0.6)


def test_a_threshold_that_a_leaf_meets_exactly():
    """A quarter is a quarter: the boundary belongs to the favourable side."""
    frame = pd.DataFrame({"x": np.repeat([0.0, 1.0, 2.0], 4)})
    y = np.array([0, 0, 0, 1, 1, 1, 0, 0, 1, 1, 1, 1])
    tree = DecisionTreeClassifier(max_leaf_nodes=3, random_state=0).fit(frame, y)
    assert sorted(tree.predict_proba(frame)[:, 1])[0] == 0.25
    decision, encoding, view = seen(tree, 1, frame, threshold=0.5)
    assert view.error.tolist() == [0.0]
    np.testing.assert_array_equal(view.is_favourable(encoding.encode(frame)), decision.is_favourable(frame))
    assert view.margins(encoding.encode(frame)).min() == -0.25


def test_ties_between_trees_go_to_the_first_class():
    """Of two trees one says yes and one says no: the first class is chosen, and the margin is zero without error."""
    frame = numbers()
    model = fitted("pure forest", frame, n_estimators=2, bootstrap=True)
    for favourable in ("yes", "no"):
        view, people = check(model, favourable, frame)
        encoding = Encoding.of(frame, frame.columns)
        tied = view.margins(encoding.encode(people))[:, 0] == 0
        assert tied.sum() > 50
        assert view.error.tolist() == [0.0]
        np.testing.assert_array_equal(model.predict(people[tied]), "no")


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler((-1, 1)), RobustScaler()], ids=repr)
@pytest.mark.parametrize("name", ["forest", "histogram"])
def test_behind_a_scaler(name, scaler):
    frame = numbers()
    model = make_pipeline(scaler, FAMILIES[name]).fit(frame, outcome(frame))
    check(model, "yes", frame)


def test_a_scale_that_turns_numbers_around():
    frame = numbers()
    scaler = StandardScaler().fit(frame)
    scaler.scale_ = -scaler.scale_
    model = make_pipeline(scaler, DecisionTreeClassifier(max_depth=5, random_state=0))
    model[-1].fit(scaler.transform(frame), outcome(frame))
    check(model, "yes", frame)


@pytest.mark.parametrize(
    ("encoder", "name"),
    [
        *((OneHotEncoder(drop="first"), name) for name in NAMES),
        *(daily(name, ("tree", "forest", "histogram", "stumps"), OrdinalEncoder(), name) for name in NAMES),
    ],
    ids=repr,
)
def test_categories_flags_and_numbers_through_a_pipeline(name, encoder):
    frame = mixed()
    prepared = make_column_transformer(
        (encoder, ["job"]), (StandardScaler(), ["income", "debt"]), remainder="passthrough"
    )
    model = make_pipeline(prepared, FAMILIES[name]).fit(frame, outcome(frame))
    view, _ = check(model, "yes", frame)
    job = view.feature == Encoding.of(frame, frame.columns).position("job")
    assert (view.subset[job] >= 0).all()


@pytest.mark.parametrize("given", ["from_dtype", ["job"], [3, 4]], ids=str)
def test_categories_that_histogram_boosting_encodes_itself(given):
    frame = mixed(600)
    frame["job"] = frame["job"].astype("category")
    # Without the flag's own columns the categories need not come first.
    model = HistGradientBoostingClassifier(categorical_features=given, max_iter=10, random_state=0)
    model.fit(frame, outcome(frame))
    assert any(tree.nodes["is_categorical"].any() for stage in model._predictors for tree in stage)
    for favourable in ("yes", "no"):
        check(model, favourable, frame)


def test_a_category_of_numbers_and_a_model_without_names():
    frame = mixed()[["income", "children", "owner"]]
    model = RandomForestClassifier(8, max_depth=4, random_state=0).fit(
        frame.to_numpy(dtype=float), frame["income"] > 3e4
    )
    check(model, True, frame, model_features=["income", "children", "owner"])


def test_gradient_boosting_with_exponential_loss_and_from_zero():
    frame = numbers()
    check(fitted("gradient", frame, loss="exponential"), "yes", frame, threshold=0.45)
    check(fitted("gradient", frame, init="zero"), "yes", frame)


def test_soft_voting_over_trees_and_forests():
    frame = mixed()
    prepared = make_column_transformer((OneHotEncoder(), ["job"]), remainder=StandardScaler())
    members = [
        ("tree", make_pipeline(prepared, DecisionTreeClassifier(max_depth=4, random_state=0))),
        ("forest", make_pipeline(prepared, RandomForestClassifier(5, max_depth=4, random_state=0))),
    ]
    for weights in (None, [1, 3]):
        model = VotingClassifier(members, voting="soft", weights=weights).fit(frame, outcome(frame))
        check(model, "yes", frame, everywhere=False)
        check(model, "no", frame, everywhere=False, threshold=0.6)


@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, "isotonic") for name in CALIBRATED),
        *(daily(name, ("tree", "gradient"), name, "sigmoid") for name in CALIBRATED),
    ],
)
def test_calibrated_trees(name, method):
    frame, other = numbers(), numbers(200, seed=7)
    model = CalibratedClassifierCV(FrozenEstimator(fitted(name, frame)), method=method)
    model.fit(other, outcome(other))
    for favourable in ("yes", "no"):
        check(model, favourable, frame)
    check(model, "yes", frame, threshold=float(np.quantile(model.predict_proba(frame)[:, 1], 0.6)))


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("linear", [LogisticRegression(), LinearSVC()], ids=repr)
def test_a_calibrated_linear_model_stays_linear(linear, method):
    frame = numbers()
    model = CalibratedClassifierCV(make_pipeline(StandardScaler(), linear), method=method, ensemble=False)
    model.fit(frame, outcome(frame))
    encoding, people = Encoding.of(frame, frame.columns), numbers(5000, seed=3)
    for favourable, threshold in (("yes", None), ("no", None), ("yes", 0.7)):
        decision = Decision.of(model, favourable, frame, threshold=threshold)
        view = recognise(decision, encoding, frame)
        assert isinstance(view, LinearView)
        matrix = encoding.encode(people)
        clear = view.is_clear(matrix)
        assert clear.mean() > 0.99
        np.testing.assert_array_equal(view.is_favourable(matrix)[clear], decision.is_favourable(people)[clear])


def test_a_calibration_that_turns_the_score_around():
    frame = numbers()
    model = CalibratedClassifierCV(FrozenEstimator(fitted("gradient", frame)), method="sigmoid")
    model.fit(frame, outcome(frame, ("yes", "no")))
    check(model, "yes", frame)


def test_a_plateau_at_one_half_belongs_to_the_first_class():
    """The calibrated chance is exactly one half for most people: a tie, which the first class wins."""
    frame = pd.DataFrame({"x": np.repeat(np.arange(4.0), 10)})
    chances = np.repeat([0.1, 0.3, 0.6, 0.9], 10)
    inner = DecisionTreeClassifier(random_state=0).fit(frame, np.tile(np.arange(10), 4) < 10 * chances)
    y = np.concatenate([np.zeros(10), np.tile([0, 1], 10), np.ones(10)])
    model = CalibratedClassifierCV(FrozenEstimator(inner), method="isotonic").fit(frame, y.astype(bool))
    assert model.predict_proba(frame)[::10, 1].tolist() == [0.0, 0.5, 0.5, 1.0]
    for favourable, threshold, expected in (
        (True, None, [False, False, False, True]),
        (False, None, [True, True, True, False]),
        (True, 0.5, [False, True, True, True]),
        (False, 0.5, [True, True, True, False]),
    ):
        _, encoding, view = seen(model, favourable, frame, threshold=threshold)
        assert view.is_favourable(encoding.encode(frame[::10])).tolist() == expected


REFUSED = {
    "mixture": (
        lambda: make_pipeline(PCA(2), DecisionTreeClassifier()),
        "the transformer PCA is not one that can be followed",
    ),
    "voting with another member": (
        lambda: VotingClassifier([("a", DecisionTreeClassifier()), ("b", GaussianNB())], voting="soft"),
        "GaussianNB is not made of trees",
    ),
    "forests that cast one vote": (
        lambda: VotingClassifier([("a", RandomForestClassifier(3)), ("b", DecisionTreeClassifier())]),
        "RandomForestClassifier is not a single tree",
    ),
    "another start": (
        lambda: GradientBoostingClassifier(init=GaussianNB(), n_estimators=2),
        "starts from another model, GaussianNB",
    ),
    "calibrated many times": (
        lambda: CalibratedClassifierCV(DecisionTreeClassifier(), cv=3),
        "the mean of 3 models",
    ),
    "other members": (lambda: BaggingClassifier(GaussianNB(), 3), "over GaussianNB"),
    "other stages": (lambda: AdaBoostClassifier(LogisticRegression(), n_estimators=3), "over LogisticRegression"),
    "no trees": (lambda: GaussianNB(), "GaussianNB is not made of trees"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_sum_of_trees_is_a_black_box_with_its_reason(case):
    make, why = REFUSED[case]
    frame = numbers()
    assert why in reason(make().fit(frame, outcome(frame)), "yes", frame)


@pytest.mark.parametrize("name", ["gradient", "histogram", "ada"])
def test_a_threshold_on_one_of_several_boosted_classes_is_refused(name):
    frame = numbers()
    model = fitted(name, frame, ("a", "b", "c"))
    assert "one of several classes" in reason(model, ["a"], frame, threshold=0.4)


def test_a_number_that_is_split_as_a_category_is_refused():
    frame = numbers(800)
    frame["children"] = frame["children"] % 3
    y = np.where(frame["children"] == 1, "yes", "no")
    model = HistGradientBoostingClassifier(categorical_features=["children"], max_iter=3).fit(frame, y)
    assert "splits the number 'children' as a category" in reason(model, "yes", frame)


def test_margins_stay_within_the_stated_error_of_exact_sums():
    """Against sums of fractions, which do not round."""
    from fractions import Fraction

    frame = numbers()
    model = fitted("forest", frame)
    _, encoding, view = seen(model, "yes", frame)
    people = edges(view, encoding, frame)[:300]
    matrix = encoding.encode(people)
    shares = [tree.predict_proba(people.to_numpy()) for tree in model.estimators_]
    for row in range(len(people)):
        exact = sum(Fraction(p[row, 1]) - Fraction(p[row, 0]) for p in shares)
        assert abs(Fraction(view.margins(matrix[row : row + 1])[0, 0]) - exact) <= Fraction(view.error[0])
    assert view.error[0] < 1e-12


def test_a_view_can_be_pickled():
    frame = mixed()
    model = make_pipeline(
        make_column_transformer((OneHotEncoder(), make_column_selector(dtype_include=object)), remainder="passthrough"),
        FAMILIES["forest"],
    ).fit(frame.astype({"job": object}), outcome(frame))
    _, encoding, view = seen(model, "yes", frame.astype({"job": object}))
    again = pickle.loads(pickle.dumps(view))
    matrix = encoding.encode(frame)
    np.testing.assert_array_equal(view.margins(matrix), again.margins(matrix))
