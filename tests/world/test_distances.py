"""Distances by hand: what is compared, how it is scaled, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from equieffort.data.frames import Encoding
from equieffort.errors import CostError, EquieffortWarning, ParameterError
from equieffort.world.distances import Euclidean, Manhattan, OwnDistance
from equieffort.world.scales import MAD, Range, Std
from equieffort.world.schema import Schema

PEOPLE = pd.DataFrame(
    {
        "sex": ["f", "m", "f", "m"],
        "origin": ["x", "y", "x", "x"],
        "age": [20, 30, 60, 20],
        "income": [1.0, 3.0, 5.0, 2.0],
        "job": ["a", "b", "b", "a"],
        "owner": [True, False, False, True],
    }
)
SCHEMA = Schema(sensitive="sex", protected="f", favourable=1, also_protected=("origin",))
EVERYBODY = slice(None)
FIRST = slice(0, 1)


def bind(distance, people=PEOPLE, names=None):
    return distance.bind(people, Encoding.of(people, names or people.columns), SCHEMA)


def test_manhattan_by_hand():
    # Person 0 to the others: |age| / 40 + |income| / 4 + [job differs] + [owner differs].
    assert bind(Manhattan()).to_all(FIRST)[0].tolist() == [0, 10 / 40 + 2 / 4 + 2, 40 / 40 + 4 / 4 + 2, 1 / 4]


def test_euclidean_by_hand():
    expected = [0, math.sqrt(0.25**2 + 0.5**2 + 2), math.sqrt(1 + 1 + 2), 0.25]
    assert bind(Euclidean()).to_all(FIRST)[0].tolist() == expected


def test_overlap_counts_categories_that_differ():
    found = bind(Manhattan(features=("job", "owner"))).to_all(EVERYBODY)
    assert found.tolist() == [[0, 2, 2, 0], [2, 0, 0, 2], [2, 0, 0, 2], [0, 2, 2, 0]]


def test_protected_columns_count_only_when_asked_for():
    without, including = bind(Manhattan()), bind(Manhattan(include_protected=True))
    assert without.names == ("age", "income", "job", "owner")
    assert including.names == tuple(PEOPLE.columns)
    differ = np.array([0, 2, 0, 1])
    assert np.array_equal(including.to_all(FIRST)[0], without.to_all(FIRST)[0] + differ)


@pytest.mark.parametrize("kind", [Manhattan, Euclidean])
@pytest.mark.parametrize(
    ("scale", "unit"),
    [(Range(), 40.0), (Range((0.0, 0.5)), 5.0), (Std(), np.std([20, 30, 60, 20])), (MAD(), 5.0)],
)
def test_numbers_are_divided_by_their_scale(kind, scale, unit):
    found = bind(kind(features=("age",), scale=scale)).to_all(FIRST)[0]
    assert found == pytest.approx(np.array([0, 10, 40, 0]) / unit, rel=1e-15)


@pytest.mark.parametrize("kind", [Manhattan, Euclidean])
def test_a_distance_is_symmetric_and_zero_to_oneself(kind):
    found = bind(kind()).to_all(EVERYBODY)
    assert np.array_equal(found, found.T)
    assert not np.diag(found).any()


@pytest.mark.parametrize("kind", [Manhattan, Euclidean])
def test_some_rows_are_those_rows(kind):
    bound = bind(kind())
    assert np.array_equal(bound.to_all(slice(1, 3)), bound.to_all(EVERYBODY)[1:3])
    assert bound.to_all(slice(2, 2)).shape == (0, 4)


def test_a_constant_column_is_left_out_with_a_warning():
    people = PEOPLE.assign(age=7, job="a")
    with pytest.warns(EquieffortWarning, match="'age', 'job'") as caught:
        bound = bind(Manhattan(), people)
    assert [warning.message.code for warning in caught] == ["COST_ZERO_RANGE"]
    assert bound.names == ("income", "owner")


def test_with_nothing_to_compare_everybody_is_alike():
    with pytest.warns(EquieffortWarning, match="single value"):
        bound = bind(Manhattan(features=("age",)), PEOPLE.assign(age=7))
    assert not bound.to_all(EVERYBODY).any()


def test_a_scale_of_zero_is_refused():
    with pytest.raises(CostError, match="'age'"):
        bind(Manhattan(scale=MAD()), PEOPLE.assign(age=[1, 1, 1, 9]))


def test_an_unknown_feature_is_refused_with_the_closest_name():
    with pytest.raises(ParameterError, match="Did you mean 'income'") as caught:
        bind(Manhattan(features=("incme",)))
    assert caught.value.code == "DATA_MISSING_COLUMN"


def test_own_distance_sees_all_columns_but_the_protected():
    seen = []

    def apart(centres, everybody):
        seen.append((list(centres.columns), list(everybody.columns), centres["age"].tolist(), len(everybody)))
        return np.abs(centres["age"].to_numpy()[:, None] - everybody["age"].to_numpy())

    found = bind(OwnDistance(apart)).to_all(slice(1, 3))
    assert found.tolist() == [[10, 0, 30, 10], [40, 30, 0, 40]]
    names = ["age", "income", "job", "owner"]
    assert seen == [(names, names, [30, 60], 4)]


@pytest.mark.parametrize(
    "answer",
    [
        np.zeros((4, 1)),
        np.zeros(4),
        np.full((1, 4), -1e-9),
        np.full((1, 4), np.nan),
        np.array([[0, 1, np.inf, 1]]),
    ],
)
def test_an_own_distance_that_is_no_distance_is_refused(answer):
    bound = bind(OwnDistance(lambda centres, everybody: answer))
    with pytest.raises(ParameterError) as caught:
        bound.to_all(FIRST)
    assert caught.value.code == "DISTANCE_INVALID"


@pytest.mark.parametrize("kind", [Manhattan, Euclidean])
def test_a_list_of_features_is_as_good_as_a_tuple(kind):
    assert hash(kind(features=["age", "job"])) == hash(kind(features=("age", "job")))
