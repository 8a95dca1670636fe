"""Columns of 0 and 1 that are one category: joined when a table comes in, and spread as they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from equieffort.data.one_hot import OneHot, alike_families, level_names, neighbours_that_share, suggested
from equieffort.errors import DataError, EquieffortError, EquieffortWarning, SchemaError

RAW = pd.DataFrame({"age": [1, 2, 3], "home_own": [1, 0, 0], "home_rent": [0, 1, 0], "job": list("xyz")})
HOME = OneHot.of({"home": ["home_own", "home_rent"]})
NAMED = OneHot.of({"home": {"own": "home_own", "rent": "home_rent", "free": None}})


def test_a_category_takes_the_place_of_its_columns_and_is_spread_again() -> None:
    joined = NAMED.join(RAW)
    assert list(joined.columns) == ["age", "home", "job"]
    assert joined["home"].tolist() == ["own", "rent", "free"]
    assert NAMED.join(joined) is joined
    back = NAMED.spread(joined, ["home_rent", "age", "home_own"])
    pd.testing.assert_frame_equal(back, RAW[["home_rent", "age", "home_own"]])


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "float32", "boolean", "Int64", "Float64", "int64[pyarrow]"])
def test_every_type_comes_back_as_it_was(dtype: str) -> None:
    raw = RAW.astype({"home_own": dtype, "home_rent": dtype})
    joined = NAMED.join(raw)
    assert joined["home"].tolist() == ["own", "rent", "free"]
    back = NAMED.spread(joined, ["home_own", "home_rent"], dict(raw.dtypes))
    pd.testing.assert_frame_equal(back, raw[["home_own", "home_rent"]])


def test_a_level_without_a_name_is_told() -> None:
    with pytest.warns(EquieffortWarning, match="for 1 person of 3.*'other'"):
        assert HOME.join(RAW, tell=True)["home"].tolist() == ["own", "rent", "other"]


def test_what_is_missing_stays_missing() -> None:
    raw = RAW.astype({"home_own": "float", "home_rent": "float"})
    raw.loc[1, ["home_own", "home_rent"]] = np.nan
    joined = NAMED.join(raw)
    assert joined["home"].isna().tolist() == [False, True, False]
    assert NAMED.spread(joined, ["home_own"])["home_own"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("home_rent", 1, "'home_own', 'home_rent' are all 1"),
        ("home_own", 0, "no column is 1"),
        ("home_own", 2, "'home_own' is 2"),
        ("home_own", 0.5, "'home_own' is 0.5"),
        ("home_own", None, "'home_own' is missing and the others are not"),
        ("home_own", "yes", "'home_own' is 'yes'"),
    ],
)
def test_rows_that_are_not_one_hot_are_refused_by_name(column: str, value: object, said: str) -> None:
    raw = RAW.iloc[:2].set_axis(["Ann", "Ben"]).astype(object)
    raw.loc["Ann", column] = value
    with pytest.raises(DataError) as caught:
        OneHot.of({"home": {"own": "home_own", "rent": "home_rent"}}).join(raw)
    assert caught.value.code == "SCHEMA_ONE_HOT"
    assert "'home'" in caught.value.what
    assert "'Ann'" in caught.value.what
    assert said in caught.value.what


@pytest.mark.parametrize(
    "given",
    [
        ["home_own"], {"home": "home_own"}, {"home": []}, {"home": {"own": None}}, {"home": {"own": 1}},
        {"home": {"own": "a", "rent": "a"}}, {"home": ["a"], "house": ["a"]}, {"home": ["a"], "a": ["b"]},
        {"home": {"own": "a", "x": None, "y": None}}, {"home": ["a", 3]},
    ],
)  # fmt: skip
def test_what_names_no_categories_is_refused(given: object) -> None:
    with pytest.raises(EquieffortError) as caught:
        OneHot.of(given)
    assert caught.value.code in ("SCHEMA_ONE_HOT", "PARAMETER")


def test_a_column_of_the_name_of_the_category_is_refused() -> None:
    with pytest.raises(SchemaError, match="beside 'home_own', 'home_rent'"):
        HOME.join(RAW.assign(home="own"))
    with pytest.raises(DataError, match="no column 'home_rent'"):
        HOME.join(RAW.drop(columns="home_rent"))


def test_levels_are_what_names_do_not_share() -> None:
    assert level_names("home", ["home=own", "home=rent"]) == ["own", "rent"]
    assert level_names("h", ["home.own", "home.rent"]) == ["own", "rent"]
    assert level_names("sex", ["sex_male"]) == ["male"]
    assert level_names("color", ["color_", "color_red"]) == ["_", "_red"]


def test_families_are_found_by_their_names_and_by_never_being_two() -> None:
    rng = np.random.default_rng(0)
    job, level = rng.integers(0, 3, 60), rng.integers(0, 2, 60)
    table = pd.DataFrame({f"job_type_{k}": (job == k).astype(int) for k in range(3)})
    table["job_level_low"], table["job_level_high"] = level == 0, level == 1
    table["has_car"], table["has_dog"] = rng.integers(0, 2, 60), rng.integers(0, 2, 60)
    table["age_group"] = rng.integers(0, 9, 60)
    assert alike_families(table) == {
        "job_type": ["job_type_0", "job_type_1", "job_type_2"],
        "job_level": ["job_level_low", "job_level_high"],
    }
    assert suggested(table.drop(columns="job_type_2")).categories == {
        "job_type": {"0": "job_type_0", "1": "job_type_1", "other": None},
        "job_level": {"low": "job_level_low", "high": "job_level_high"},
    }
    assert not suggested(table, apart=table.columns)


def test_families_are_found_by_how_their_names_end_too() -> None:
    home = np.arange(40) % 3
    table = pd.DataFrame(
        {name: (home == k).astype(int) for k, name in enumerate(["own_home", "rented_home", "no_home"])}
    )
    assert alike_families(table) == {"home": ["own_home", "rented_home", "no_home"]}
    assert suggested(table).categories == {"home": {"own": "own_home", "rented": "rented_home", "no": "no_home"}}
    left_out = suggested(table[["own_home", "rented_home"]])
    assert left_out.categories == {"home": {"own": "own_home", "rented": "rented_home", "other": None}}
    # Never two at once, and rarely one: no category.
    assert not alike_families(table[["own_home", "rented_home"]] * (np.arange(40) < 9)[:, None])


def test_neighbours_of_which_exactly_one_is_1_are_found_whatever_their_names() -> None:
    rng = np.random.default_rng(1)
    race = rng.integers(0, 3, 200)
    table = pd.DataFrame({"member": (race == 0) & (rng.random(200) < 0.5), "asian": race == 0, "black": race == 1})
    table = table.assign(white=race == 2, owner=rng.integers(0, 2, 200), income=rng.normal(0, 1, 200))
    assert neighbours_that_share(table) == [["asian", "black", "white"]]
    assert neighbours_that_share(table.drop(columns="black")) == []
    table.loc[7, "owner"] = np.nan
    assert neighbours_that_share(table) == [["asian", "black", "white"]]
    table["white"] = table["white"].astype(float)
    table.loc[7, "white"] = np.nan
    assert neighbours_that_share(table) == []
