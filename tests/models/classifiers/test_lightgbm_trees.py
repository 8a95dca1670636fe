"""LightGBM: its own text is read; from the object and from its file."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from tests.models.classifiers.probes import check, mixed, numbers, outcome, reason, seen

from equieffort.models.files import load_model

lightgbm = pytest.importorskip("lightgbm")
SMALL = {"n_estimators": 10, "num_leaves": 7, "min_child_samples": 5, "n_jobs": 1, "verbose": -1, "random_state": 0}


def boosted(frame, classes=("no", "yes"), **options):
    return lightgbm.LGBMClassifier(**SMALL | options).fit(frame, outcome(frame, classes))


OPTIONS = {
    "plain": {},
    "dart": {"boosting_type": "dart", "drop_rate": 0.5},
    "forest": {"boosting_type": "rf", "subsample": 0.6, "subsample_freq": 1},
    "steep": {"sigmoid": 2.5},
    "not from the average": {"boost_from_average": False},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_two_classes_either_wanted(options):
    frame = numbers()
    model = boosted(frame, **options)
    for favourable in ("yes", "no"):
        check(model, favourable, frame)
    check(model, "yes", frame, threshold=float(np.quantile(model.predict_proba(frame)[:, 1], 0.6)) + 1e-9)


@pytest.mark.parametrize("favourable", [["best"], ["bad"], ["fair", "good"]], ids=str)
@pytest.mark.parametrize("objective", ["multiclass", "multiclassova"])
def test_several_classes_and_sets_of_them(favourable, objective):
    frame = numbers()
    model = boosted(frame, ("bad", "best", "fair", "good"), objective=objective)
    check(model, favourable, frame)


@pytest.mark.parametrize("encoder", [OneHotEncoder(sparse_output=False), OrdinalEncoder()], ids=repr)
def test_categories_flags_and_numbers_through_a_pipeline(encoder):
    frame = mixed()
    prepared = make_column_transformer(
        (encoder, ["job"]),
        (StandardScaler(), ["income", "debt"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(prepared, lightgbm.LGBMClassifier(**SMALL)).fit(frame, outcome(frame))
    check(model, "yes", frame)


def test_categories_that_it_encodes_itself():
    frame = mixed(800)
    frame["job"] = pd.Categorical(frame["job"], categories=["pilot", "nurse", "astronaut", "none", "clerk"])
    model = boosted(frame, cat_smooth=1, min_data_per_group=5, max_cat_to_onehot=1)
    assert "cat_threshold" in model.booster_.model_to_string()
    for favourable in ("yes", "no"):
        view, _ = check(model, favourable, frame)
        assert (view.subset[view.feature == 3] >= 0).all()


def test_numbers_near_zero_are_zero_to_it():
    """Thresholds lie at the smallest number that it tells from zero."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.choice([-2.0, -1.0, 0.0, 0.0, 1.0, 2.0], 600), "z": rng.normal(size=600)})
    y = np.where(frame["x"] > 0, "yes", np.where(frame["z"] > 1, "yes", "no"))
    model = lightgbm.LGBMClassifier(**SMALL).fit(frame, y)
    view, _ = check(model, "yes", frame)
    small = view.threshold[(view.feature == 0) & (np.abs(view.threshold) < 1e-30)]
    assert len(small)


def test_zero_as_a_missing_value():
    frame = numbers()
    frame["debt"] = np.where(np.arange(len(frame)) % 3 == 0, 0.0, frame["debt"])
    model = boosted(frame, zero_as_missing=True)
    assert "takes zero for a missing value" in reason(model, "yes", frame)


def test_a_calibrated_model():
    frame, other = numbers(), numbers(200, seed=7)
    model = CalibratedClassifierCV(FrozenEstimator(boosted(frame)), method="isotonic").fit(other, outcome(other))
    check(model, "yes", frame)


def test_only_the_trees_up_to_the_best_iteration_count():
    frame = numbers()
    y = np.random.default_rng(0).integers(0, 2, len(frame))
    model = lightgbm.LGBMClassifier(**SMALL).fit(frame, y)
    # As early stopping leaves it; how it is asked for differs between versions.
    model.booster_.best_iteration = 4
    view, _ = check(model, 1, frame)
    assert len(view.roots) == 4


@pytest.mark.parametrize("classes", [2, 3])
def test_from_its_own_file(tmp_path, classes):
    frame = numbers()
    boosted(frame, range(classes)).booster_.save_model(tmp_path / "model.txt")
    loaded = load_model(tmp_path / "model.txt")
    check(loaded, 1 if classes == 2 else [1], frame)
    check(loaded, 1 if classes == 2 else [1], frame[["children", "income", "debt"]])


@pytest.mark.parametrize("classes", [2, 3])
def test_labels_of_two_hundred_thousand_people_ties_included(classes):
    """Whole numbers and few leaves: many people share a score."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.integers(-4, 5, 200_000).astype(float) for name in "abc"})
    half = frame[:2000]
    mirrored = pd.concat([half, -half], ignore_index=True)
    side = np.sign(mirrored["a"] + mirrored["b"] * mirrored["c"].abs())
    y = (side > 0).astype(int) if classes == 2 else (side + 1).astype(int)
    for options in ({"n_estimators": 6}, {"n_estimators": 2, "num_leaves": 2, "boost_from_average": False}):
        model = lightgbm.LGBMClassifier(**SMALL | options).fit(mirrored, y)
        decision, encoding, view = seen(model, 1 if classes == 2 else [1], frame)
        np.testing.assert_array_equal(view.is_favourable(encoding.encode(frame)), decision.is_favourable(frame))


def test_an_exact_tie_is_decided_as_the_model_does():
    """No tree learns anything: all scores are zero, and the first class wins."""
    frame = pd.DataFrame({"x": np.tile([0.0, 1.0], 40)})
    model = lightgbm.LGBMClassifier(**SMALL | {"n_estimators": 2}).fit(frame, np.repeat([0, 1], 40))
    for favourable, expected in ((0, True), (1, False)):
        decision, encoding, view = seen(model, favourable, frame)
        assert decision.is_favourable(frame).tolist() == [expected] * 80
        assert view.is_favourable(encoding.encode(frame)).tolist() == [expected] * 80


def test_whole_numbers_in_an_array_are_compared_in_single_precision():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"big": rng.integers(2**25, 2**25 + 40, 500), "other": rng.integers(0, 9, 500)})
    model = lightgbm.LGBMClassifier(**SMALL).fit(frame.to_numpy(dtype=float), frame["big"] % 8 > 3)
    everything = pd.DataFrame({"big": np.arange(2**25 - 3, 2**25 + 50), "other": 4})
    decision, encoding, view = seen(model, True, frame, model_features=["big", "other"])
    np.testing.assert_array_equal(view.is_favourable(encoding.encode(everything)), decision.is_favourable(everything))


def test_early_ending_sums_are_a_black_box():
    frame = numbers()
    assert "pred_early_stop" in reason(boosted(frame, pred_early_stop=True), "yes", frame)
