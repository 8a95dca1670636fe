"""XGBoost: single precision all the way, and ties; from the object and from its file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.models.classifiers.probes import check, mixed, numbers, outcome, reason, seen

from equieffort.data.frames import Encoding
from equieffort.models.files import load_model

xgboost = pytest.importorskip("xgboost")


def boosted(frame, classes=2, **options):
    options = {"n_estimators": 12, "max_depth": 3, "n_jobs": 1} | options
    return xgboost.XGBClassifier(**options).fit(frame, outcome(frame, range(classes)))


OPTIONS = {
    "plain": {},
    "own start": {"base_score": 0.3},
    "dart": {"booster": "dart", "rate_drop": 0.4, "random_state": 1},
    "forest": {"num_parallel_tree": 3, "subsample": 0.5, "n_estimators": 4, "random_state": 1},
    "hinge": {"objective": "binary:hinge"},
    "by leaves": {"tree_method": "hist", "grow_policy": "lossguide", "max_leaves": 7, "gamma": 0.1},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_two_classes_either_wanted(options):
    frame = numbers()
    model = boosted(frame, **options)
    for favourable in (1, 0):
        view, people = check(model, favourable, frame)
        scores = model.predict(people, output_margin=True).astype(np.float64)
        margins = view.margins(Encoding.of(frame, frame.columns).encode(people))[:, 0]
        np.testing.assert_array_equal(margins, (scores - view.own.cut[0]) * view.own.sign[0])


@pytest.mark.parametrize("favourable", [[2], [0], [1, 3]], ids=str)
@pytest.mark.parametrize("objective", ["multi:softprob", "multi:softmax"])
def test_several_classes_and_sets_of_them(favourable, objective):
    frame = numbers()
    check(boosted(frame, 4, objective=objective), favourable, frame)


@pytest.mark.parametrize("threshold", [0.3, 0.62])
def test_a_declared_threshold(threshold):
    frame = numbers()
    model = boosted(frame)
    check(model, 1, frame, threshold=threshold)
    check(model, 0, frame, threshold=threshold)
    check(
        FixedThresholdClassifier(FrozenEstimator(model), threshold=threshold).fit(frame, outcome(frame, (0, 1))),
        0,
        frame,
    )


@pytest.mark.parametrize("encoder", [OneHotEncoder(), OrdinalEncoder()], ids=repr)
def test_categories_flags_and_numbers_through_a_pipeline(encoder):
    frame = mixed()
    prepared = make_column_transformer(
        (encoder, ["job"]), (StandardScaler(), ["income", "debt"]), remainder="passthrough"
    )
    model = make_pipeline(prepared, xgboost.XGBClassifier(n_estimators=12, max_depth=3, n_jobs=1))
    check(model.fit(frame, outcome(frame, (0, 1))), 1, frame)


def test_categories_that_it_encodes_itself():
    frame = mixed(600)
    levels = ["pilot", "nurse", "astronaut", "none", "clerk"]
    frame["job"] = pd.Categorical(frame["job"], categories=levels)
    frame["children"] = frame["children"].astype("category")
    options = {"enable_categorical": True, "n_estimators": 12, "max_depth": 3, "n_jobs": 1, "max_cat_to_onehot": 2}
    model = xgboost.XGBClassifier(**options).fit(frame, outcome(frame.astype({"children": int}), (0, 1)))
    if not hasattr(model.get_booster(), "get_categories"):
        assert "depend on the table" in reason(model, 1, frame)
        return
    view, _ = check(model, 1, frame)
    assert len(view.subsets) > 3


def test_a_calibrated_model():
    frame, other = numbers(), numbers(200, seed=7)
    model = CalibratedClassifierCV(FrozenEstimator(boosted(frame)), method="sigmoid").fit(other, outcome(other, (0, 1)))
    check(model, 1, frame)


def test_only_the_trees_up_to_the_best_iteration_count():
    frame = numbers()
    y = np.random.default_rng(0).integers(0, 2, len(frame))
    model = xgboost.XGBClassifier(n_estimators=60, early_stopping_rounds=3, max_depth=3, n_jobs=1)
    model.fit(frame, y, eval_set=[(frame[::-1].reset_index(drop=True), y)], verbose=False)
    assert model.best_iteration + 1 < model.get_booster().num_boosted_rounds()
    view, _ = check(model, 1, frame)
    assert len(view.roots) == model.best_iteration + 1


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
@pytest.mark.parametrize("classes", [2, 3])
def test_from_its_own_file(tmp_path, suffix, classes):
    frame = numbers()
    boosted(frame, classes).save_model(tmp_path / f"model{suffix}")
    loaded = load_model(tmp_path / f"model{suffix}")
    view, _ = check(loaded, 1 if classes == 2 else [1], frame)
    turned = frame[["children", "income", "debt"]]
    again, _ = check(loaded, 1 if classes == 2 else [1], turned)
    assert len(view.feature) == len(again.feature)


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_two_hundred_thousand_people_ties_included(classes):
    """Whole numbers and few leaves: many people share a score, and many of these lie exactly on the boundary."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.integers(-4, 5, 200_000).astype(float) for name in "abc"})
    half = frame[:2000]
    mirrored = pd.concat([half, -half], ignore_index=True)
    side = np.sign(mirrored["a"] + mirrored["b"] * mirrored["c"].abs())
    y = (side > 0).astype(int) if classes == 2 else (side + 1).astype(int)
    options = {"n_estimators": 6, "max_depth": 3, "learning_rate": 0.5, "base_score": 0.5, "n_jobs": 1}
    model = xgboost.XGBClassifier(**options).fit(mirrored, y)
    decision, encoding, view = seen(model, 1 if classes == 2 else [1], frame)
    np.testing.assert_array_equal(view.is_favourable(encoding.encode(frame)), decision.is_favourable(frame))
    stumps = xgboost.XGBClassifier(**options | {"max_depth": 1, "n_estimators": 2, "reg_lambda": 0}).fit(mirrored, y)
    decision, encoding, view = seen(stumps, 1 if classes == 2 else [1], frame)
    np.testing.assert_array_equal(view.is_favourable(encoding.encode(frame)), decision.is_favourable(frame))


def test_an_exact_tie_is_decided_as_the_model_does():
    """No tree learns anything: all scores are zero, and half is not above half."""
    frame = pd.DataFrame({"x": [0.0, 0.0, 1.0, 1.0]})
    model = xgboost.XGBClassifier(n_estimators=2, base_score=0.5, min_child_weight=0).fit(frame, [0, 1, 0, 1])
    for favourable, expected in ((0, True), (1, False)):
        decision, encoding, view = seen(model, favourable, frame)
        assert decision.is_favourable(frame).tolist() == [expected] * 4
        assert view.is_favourable(encoding.encode(frame)).tolist() == [expected] * 4
    several = xgboost.XGBClassifier(n_estimators=1, base_score=0.5, min_child_weight=1e6)
    several.fit(pd.concat([frame] * 3), np.repeat([0, 1, 2], 4))
    assert set(several.predict(frame)) == {0}
    _, encoding, view = seen(several, [0], frame)
    assert view.is_favourable(encoding.encode(frame)).all()
    assert (view.margins(encoding.encode(frame)) == 0).all()


REFUSED = {
    "gblinear": ({"booster": "gblinear"}, "gblinear, has no trees"),
    "another missing value": ({"missing": -1.0}, "takes -1 for a missing value"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_read_is_a_black_box_with_its_reason(case):
    options, why = REFUSED[case]
    frame = numbers()
    assert why in reason(boosted(frame, **options), 1, frame)


def test_a_threshold_on_one_of_several_classes_is_refused():
    frame = numbers()
    assert "one of several classes" in reason(boosted(frame, 3), [1], frame, threshold=0.4)
