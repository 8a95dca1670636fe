"""Levels of features: each person is in exactly one, and the rule of a level finds the same people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from equieffort.effort.search import code_features
from equieffort.effort.search.coding import shortest_between
from equieffort.world.rules import parse_rule

RNG = np.random.default_rng(5)
N = 300


def with_missing(values):
    found = pd.Series(values, dtype=object)
    found[RNG.random(N) < 0.1] = None
    return found


PEOPLE = pd.DataFrame(
    {
        "amount": RNG.lognormal(7, 2, N),
        "single": RNG.normal(size=N).astype(np.float32),
        "tiny": RNG.normal(size=N) * 1e-9,
        "age": RNG.integers(18, 80, N).astype(np.int8),
        "large": RNG.integers(2**60, 2**62, N),
        "few": RNG.integers(0, 4, N),
        "mostly zero": np.where(RNG.random(N) < 0.8, 0.0, RNG.exponential(1, N)),
        "yes": RNG.random(N) < 0.3,
        "job": RNG.choice(["a'b", 'c"d', "e`f", "g", "h", "i", "j"], N, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.05, 0.05]),
        "and": pd.Categorical(RNG.choice(["x", "y"], N)),
        "gaps": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "text gaps": with_missing(RNG.choice(["p", "q", "r"], N)),
        "nullable": pd.array(np.where(RNG.random(N) < 0.2, None, RNG.integers(0, 50, N)), dtype="Int64"),
        "infinite": np.where(RNG.random(N) < 0.4, -np.inf, RNG.normal(size=N)),
    }
)
COLUMNS = {name: PEOPLE[name].to_numpy() for name in PEOPLE.columns}


@pytest.mark.parametrize("levels", [2, 3, 5, 10])
def test_the_rule_of_a_level_finds_the_people_of_its_code(levels):
    coded = code_features(PEOPLE, levels, cuts=True)
    assert not coded.left_out
    assert [one.name for one in coded.features] == list(PEOPLE.columns)
    for feature, codes in zip(coded.features, coded.codes, strict=True):
        assert len(feature.levels) <= levels + 1, feature
        for code, rule in enumerate(feature.levels):
            np.testing.assert_array_equal(parse_rule(rule).evaluate(COLUMNS), codes == code, err_msg=rule)
            assert (codes == code).any(), rule
        for begin, end, rule in feature.unions:
            expected = (codes >= begin) & (codes < end)
            np.testing.assert_array_equal(parse_rule(rule).evaluate(COLUMNS), expected, err_msg=rule)
            assert 2 <= end - begin < len(feature.levels)


def test_numbers_are_cut_so_that_levels_hold_about_as_many_people():
    coded = code_features(PEOPLE[["amount", "large"]], 5)
    for codes in coded.codes:
        assert np.bincount(codes).tolist() == [60] * 5


def test_by_hand():
    people = pd.DataFrame({"x": [1.0, 2.04, 2.96, 4.0, 5.0, 6.0], "t": ["a", "a", "a", "b", "b", "c"]})
    coded = code_features(people, 3, cuts=True)
    numbers = coded.features[0]
    assert numbers.levels == ("x <= 2.1", "x > 2.1 and x <= 4.0", "x > 4.0")
    assert numbers.unions == ((0, 2, "x <= 4.0"), (1, 3, "x > 2.1"))
    assert code_features(people, 2).features[1].levels == ("t = 'a'", "t not in ('a')")
    assert coded.codes.tolist() == [[0, 0, 1, 1, 2, 2], [0, 0, 0, 1, 1, 2]]


def test_a_cut_is_theshortest_between_number_that_parts_the_same_people():
    assert shortest_between(np.float64(1234.567), np.float64(1260.0)) == 1240.0
    for _ in range(200):
        low, high = np.sort(RNG.normal(size=2) * 10.0 ** RNG.integers(-8, 8))
        assert low <= shortest_between(low, high) < high


def test_what_cannot_be_searched_is_named():
    people = pd.DataFrame(
        {
            "same": [1] * 6,
            "name": list("abcdef"),
            "mixed": [1, "a", True, 2, 3, 4],
            "day": pd.date_range("2026-01-01", periods=6),
            "gone": [None] * 6,
            "long": ["x" * 4000] * 3 + ["y"] * 3,
            "sex": ["f", "m"] * 3,
            "kept": [1, 2, 1, 2, 1, 2],
        }
    )
    coded = code_features(people, 3, without=["sex"])
    assert [one.name for one in coded.features] == ["kept"]
    assert list(coded.left_out) == ["same", "name", "mixed", "day", "gone", "long"]
    assert [one.name for one in code_features(people, 3, names=["sex"]).features] == ["sex"]
