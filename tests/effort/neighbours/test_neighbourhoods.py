"""Who belongs to a neighbourhood, ties included, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equieffort.effort.neighbours import Everyone, Nearest, NearestK
from equieffort.errors import ParameterError

DISTANCES = st.lists(st.integers(0, 6).map(float), min_size=1, max_size=12)


def linear_quantile(values: list[float], quantile: float) -> float:
    """The textbook definition: the point at quantile * (n - 1) between the sorted values."""
    rising = sorted(values)
    place = quantile * (len(values) - 1)
    low, high = math.floor(place), math.ceil(place)
    return rising[low] + (rising[high] - rising[low]) * (place - low)


@settings(deadline=None)
@given(DISTANCES, st.sampled_from([0.125, 0.25, 0.5, 0.75, 1.0]))
def test_nearest_keeps_those_up_to_the_quantile(distances, quantile):
    threshold = linear_quantile(distances, quantile)
    assert Nearest(quantile).members(np.array(distances)).tolist() == [d <= threshold for d in distances]


@settings(deadline=None)
@given(DISTANCES, st.data())
def test_nearest_k_takes_all_who_tie_with_the_last(distances, data):
    k = data.draw(st.integers(1, len(distances)))
    found = NearestK(k).members(np.array(distances))
    assert found.tolist() == [sum(other < d for other in distances) < k for d in distances]
    assert found.sum() >= k


def test_ties_make_a_neighbourhood_larger():
    distances = np.array([0.0, 1.0, 1.0, 1.0, 5.0])
    assert NearestK(2).members(distances).tolist() == [True, True, True, True, False]
    assert Nearest(0.25).members(distances).sum() == 4


def test_everyone_is_everybody():
    assert Everyone().members(np.array([0.0, 9.0, np.inf])).all()
    assert Nearest(1.0).members(np.array([0.0, 9.0, 3.0])).all()


@pytest.mark.parametrize("quantile", [0, -0.1, 1.0000001, math.nan, math.inf, "0.2", None])
def test_a_quantile_outside_its_range_is_refused(quantile):
    with pytest.raises(ParameterError) as caught:
        Nearest(quantile)
    assert caught.value.code == "NEIGHBOURS_QUANTILE"


@pytest.mark.parametrize("k", [0, -3, 2.0, True, "2", None])
def test_a_k_that_is_no_count_is_refused(k):
    with pytest.raises(ParameterError) as caught:
        NearestK(k)
    assert caught.value.code == "NEIGHBOURS_K"


def test_more_neighbours_than_people_are_refused():
    assert NearestK(np.int64(3)).members(np.zeros(3)).all()
    with pytest.raises(ParameterError, match="only 3 people"):
        NearestK(4).members(np.zeros(3))
