"""Files with categories: text is coded as the library codes it; where the file leaves that open, it is refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import pytest
import xgboost
from tests.models.classifiers.probes import check, mixed, outcome, reason

from equieffort.errors import EquieffortError
from equieffort.models.classifiers import Decision
from equieffort.models.files import load_model

JOBS = ["pilot", "clerk", "nurse", "none", "Nurse", "no ne", "", "zz"]
TOWNS = [f"town {k}" for k in range(40)]


def people(n: int = 500, seed: int = 0) -> pd.DataFrame:
    """Two columns of text, in which some levels are rare and two are nobody's."""
    rng = np.random.default_rng(seed)
    job = rng.choice(JOBS[:-1], n, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.09, 0.01])
    return pd.DataFrame(
        {
            "income": rng.normal(0, 1, n).round(1),
            "job": pd.Categorical(job, categories=JOBS),
            "children": rng.integers(0, 5, n),
            "town": pd.Categorical(rng.choice(TOWNS[:-1], n), categories=TOWNS),
        }
    )


X = people()
SCORE = (
    X["income"] + X["job"].isin(["nurse", "none", "no ne"]) + 0.8 * (X["town"].cat.codes % 3 == 0) - 0.3 * X["children"]
)
TWO = (SCORE > 0.3).astype(int)
THREE = np.digitize(SCORE, [-0.3, 0.7])


def plain(table: pd.DataFrame) -> pd.DataFrame:
    """The same with text as it comes from a file."""
    return table.astype({"job": object, "town": object})


def others() -> pd.DataFrame:
    """Many people, each level of each column among them, and some without job or town."""
    table = people(4000, 1)
    rng = np.random.default_rng(2)
    table["job"] = pd.Categorical(rng.choice(JOBS, len(table)), categories=JOBS)
    table["town"] = pd.Categorical(rng.choice(TOWNS, len(table)), categories=TOWNS)
    table.loc[rng.random(len(table)) < 0.05, "job"] = np.nan
    table.loc[rng.random(len(table)) < 0.05, "town"] = np.nan
    return table


def xgb(y: Any, path: Path, **options: Any) -> Any:
    settings = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1, "enable_categorical": True, "max_cat_to_onehot": 9}
    own = xgboost.XGBClassifier(**settings | options).fit(X, y)
    own.save_model(path)
    return own


def lgb(y: Any, path: Path, table: pd.DataFrame = X, **options: Any) -> Any:
    settings = {
        "n_estimators": 8, "num_leaves": 9, "min_child_samples": 3, "n_jobs": 1, "verbose": -1, "cat_smooth": 1,
        "min_data_per_group": 2,
    }  # fmt: skip
    own = lightgbm.LGBMClassifier(**settings).fit(table, y, **options)
    own.booster_.save_model(path)
    return own


def is_the_same(own: Any, path: Path) -> None:
    loaded = load_model(path)
    far = others()
    np.testing.assert_array_equal(loaded.predict_proba(plain(far)), own.predict_proba(far))
    np.testing.assert_array_equal(loaded.predict(plain(far)), own.predict(far))
    # A table of categories in another order says the same.
    turned = far.assign(job=far["job"].cat.reorder_categories(JOBS[::-1]))
    np.testing.assert_array_equal(loaded.predict_proba(turned), own.predict_proba(far))
    assert (loaded.predict_proba(plain(far.assign(job="nurse"))) != loaded.predict_proba(plain(far))).any()


@pytest.mark.parametrize("suffix", [".json", ".ubj"])
@pytest.mark.parametrize("options", [{}, {"booster": "dart"}, {"max_cat_to_onehot": 1}, {"gamma": 2.0}], ids=str)
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_xgboost(tmp_path: Path, suffix: str, options: dict[str, Any], y: Any) -> None:
    path = tmp_path / f"m{suffix}"
    own = xgb(y, path, **options)
    trees = json.loads(bytes(own.get_booster().save_raw("json")))["learner"]["gradient_booster"]
    assert any(tree["categories"] for tree in trees.get("gbtree", trees)["model"]["trees"])
    is_the_same(own, path)


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_lightgbm(tmp_path: Path, y: Any) -> None:
    own = lgb(y, tmp_path / "m.txt")
    assert re.search(r"num_cat=[1-9]", (tmp_path / "m.txt").read_text())
    is_the_same(own, tmp_path / "m.txt")


def test_lightgbm_letters_of_any_alphabet(tmp_path: Path) -> None:
    def foreign(table: pd.DataFrame) -> pd.DataFrame:
        return table.assign(job=table["job"].cat.rename_categories({"nurse": "Ärztin", "none": "日本"}))

    own = lgb(TWO, tmp_path / "m.txt", foreign(X))
    loaded, far = load_model(tmp_path / "m.txt"), foreign(others())
    np.testing.assert_array_equal(loaded.predict_proba(plain(far)), own.predict_proba(far))


def test_an_xgboost_classifier_with_such_letters_is_a_black_box() -> None:
    table = X.assign(job=X["job"].cat.rename_categories({"nurse": "日本"}))
    own = xgboost.XGBClassifier(n_estimators=3, n_jobs=1, enable_categorical=True).fit(table, TWO)
    assert "beyond ASCII" in reason(own, 1, table)


def test_lightgbm_trained_without_its_classifier(tmp_path: Path) -> None:
    plain_words = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_per_group": 2}
    booster = lightgbm.train(plain_words, lightgbm.Dataset(X, TWO), 6)
    booster.save_model(tmp_path / "m.txt")
    far = others()
    np.testing.assert_array_equal(load_model(tmp_path / "m.txt").predict_proba(plain(far))[:, 1], booster.predict(far))


@pytest.mark.parametrize("make", [xgb, lgb])
def test_a_level_it_never_met_is_named(tmp_path: Path, make: Any) -> None:
    path = tmp_path / ("m.json" if make is xgb else "m.txt")
    make(TWO, path)
    table = plain(X)
    table.loc[3, "job"] = "baker"
    with pytest.raises(EquieffortError, match="baker") as caught:
        Decision.of(load_model(path), 1, table)
    assert caught.value.code == "DATA_UNSEEN_CATEGORY"


@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
@pytest.mark.parametrize("options", [{}, {"threshold": 0.6}], ids=str)
def test_its_view_decides_alike_on_every_edge(tmp_path: Path, library: str, options: dict[str, Any]) -> None:
    table = mixed().drop(columns="owner")
    y = outcome(mixed(), (0, 1))
    typed = table.astype({"job": "category"})
    if library == "xgboost":
        path = tmp_path / "m.json"
        xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, enable_categorical=True).fit(typed, y).save_model(
            path
        )
    else:
        path = tmp_path / "m.txt"
        lgb(y, path, typed)
    view, _ = check(load_model(path), 1, table, **options)
    assert (view.subset >= 0).any()


# -- what the file leaves open -----------------------------------------------------------------------------------------


def refused(path: Path, words: str) -> None:
    with pytest.raises(EquieffortError, match=words) as caught:
        load_model(path)
    assert caught.value.code == "MODEL_FILE"


@pytest.mark.parametrize("case", ["numbers", "ordered", "named", "named too", "codes"])
def test_lightgbm_what_is_not_sure(tmp_path: Path, case: str) -> None:
    table, options = X, {}
    if case == "numbers":
        table = X.assign(children=X["children"].astype("category"))
    elif case == "ordered":
        table = X.assign(job=X["job"].cat.as_ordered())
    elif case == "named":
        options = {"categorical_feature": ["job"]}
    elif case == "named too":
        options = {"categorical_feature": ["job", "town", "children"]}
    else:
        table, options = X.drop(columns=["job", "town"]), {"categorical_feature": ["children"]}
    lgb(TWO, tmp_path / "m.txt", table, **options)
    refused(tmp_path / "m.txt", "does not say for sure")


def test_lightgbm_other_columns_in_place_of_the_named_ones_are_never_mistaken(tmp_path: Path) -> None:
    """As many lists as columns, but not theirs: numbers meet text, and nothing is answered."""
    lgb(TWO, tmp_path / "m.txt", X, categorical_feature=["job", "children"])
    with pytest.raises(EquieffortError, match=r"unknown categories|could not convert"):
        Decision.of(load_model(tmp_path / "m.txt"), 1, plain(X))


def test_xgboost_levels_of_numbers_and_codes_without_levels(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    settings = {"n_estimators": 3, "n_jobs": 1, "enable_categorical": True}
    table = X.assign(children=X["children"].astype("category"))
    xgboost.XGBClassifier(**settings).fit(table, TWO).save_model(path)
    refused(path, "does not hold their text")
    foreign = X.assign(job=X["job"].cat.rename_categories({"pilot": "日本"}))
    xgboost.XGBClassifier(**settings).fit(foreign, TWO).save_model(path)
    refused(path, "does not hold their text")
    codes = X[["income", "children"]].to_numpy()
    xgboost.XGBClassifier(**settings, feature_types=["float", "c"]).fit(codes, TWO).save_model(path)
    refused(path, "does not hold their text")


# -- bad files: the library would read beyond its arrays ---------------------------------------------------------------


def xgb_edits() -> dict[str, Any]:
    def tree(key: str, value: Any) -> Any:
        def edit(model: Any) -> None:
            first = next(one for one in model["trees"] if one["categories"])
            first[key] = value(first[key])

        return edit

    def cats(key: str, value: Any) -> Any:
        return lambda model: model["cats"].update({key: value(model["cats"][key])})

    def enc(key: str, value: Any) -> Any:
        return lambda model: model["cats"]["enc"][1].update({key: value(model["cats"]["enc"][1][key])})

    return {
        "a code beyond the levels": tree("categories", lambda old: [10_000, *old[1:]]),
        "a negative code": tree("categories", lambda old: [-1, *old[1:]]),
        "a set too few": tree("categories_nodes", lambda old: old[1:]),
        "a node that does not exist": tree("categories_nodes", lambda old: [*old[:-1], 10_000]),
        "a set that begins elsewhere": tree("categories_segments", lambda old: [old[0] + 1, *old[1:]]),
        "a set that is too long": tree("categories_sizes", lambda old: [*old[:-1], old[-1] + 1]),
        "no sets": tree("categories_sizes", lambda old: []),
        "other kinds of splits": tree("split_type", lambda old: [1 - kind for kind in old]),
        "unknown kinds of splits": tree("split_type", lambda old: [2 * kind for kind in old]),
        "segments": cats("feature_segments", lambda old: [0, *old[:-1]]),
        "an order with a hole": cats("sorted_idx", lambda old: [old[1], *old[1:]]),
        "an order that is none": cats("sorted_idx", lambda old: [old[1], old[0], *old[2:]]),
        "texts that end late": enc("offsets", lambda old: [*old[:-1], old[-1] + 1]),
        "texts that overlap": enc("offsets", lambda old: [old[0], old[2], old[1], *old[3:]]),
        "bytes that are no text": enc("values", lambda old: ["x", *old[1:]]),
    }


@pytest.mark.parametrize("case", xgb_edits())
def test_xgboost_sets_that_do_not_fit(tmp_path: Path, case: str) -> None:
    path = tmp_path / "m.json"
    xgb(TWO, path)
    content = json.loads(path.read_text())
    xgb_edits()[case](content["learner"]["gradient_booster"]["model"])
    path.write_text(json.dumps(content))
    refused(path, "not a complete XGBoost file")


LGB_EDITS = {
    "more sets than words": ("cat_boundaries", lambda old: [*old[:-1], old[-1] + 1]),
    "sets backwards": ("cat_boundaries", lambda old: [0, *old[1:-1][::-1], old[-1] - 1]),
    "words too few": ("cat_threshold", lambda old: old[:-1]),
    "words too large": ("cat_threshold", lambda old: [2**32, *old[1:]]),
    "negative words": ("cat_threshold", lambda old: [-1, *old[1:]]),
    "more categories": ("num_cat", lambda old: [old[0] + 1]),
    "far more categories": ("num_cat", lambda old: [2**40]),
    "no categories": ("num_cat", lambda old: [0]),
    "other kinds of splits": ("decision_type", lambda old: [kind ^ 1 for kind in old]),
}


@pytest.mark.parametrize("case", LGB_EDITS)
def test_lightgbm_sets_that_do_not_fit(tmp_path: Path, case: str) -> None:
    path = tmp_path / "m.txt"
    lgb(TWO, path)
    key, change = LGB_EDITS[case]
    text = path.read_text()
    start, stop = text.index("\nTree=0\n") + 1, text.index("Tree=1\n")
    block = text[start:stop]
    line = re.search(rf"\n{key}=(.*)\n", block)
    assert line is not None
    new = " ".join(map(str, change([int(word) for word in line.group(1).split()])))
    edited = block.replace(line.group(0), f"\n{key}={new}\n")
    assert edited != block
    path.write_text(text.replace(block, edited).replace(f"tree_sizes={len(block)} ", f"tree_sizes={len(edited)} "))
    refused(path, "not a complete LightGBM file")
