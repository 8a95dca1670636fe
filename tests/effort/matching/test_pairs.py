"""Who is matched with whom, against every pair looked at one by one."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import equieffort as ee
from equieffort.data.frames import Encoding
from equieffort.effort.matching import Pairs, Strata
from equieffort.effort.matching.assignment import optimal_pairs
from equieffort.effort.matching.between import MOST_AXES, Between
from equieffort.effort.matching.methods import Matchable
from equieffort.effort.matching.nearest import greedy_pairs, nearest_pairs
from equieffort.world.distances import MixedDistance


def world(seed: int, most: int = 30, axes: int = 2) -> tuple[Between, np.ndarray, float]:
    """Two sides, all distances between them, and a caliper."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most))
    values = np.column_stack(
        [rng.normal(size=(n, axes)), rng.integers(0, 4, n), rng.integers(0, 3, n).astype(float)]
    )  # fmt: skip
    scales = np.array([*[1.7] * axes, 3.0, 1.0])
    is_category = np.array([*[False] * (axes + 1), True])
    bound = MixedDistance(values, scales, is_category, int(rng.integers(1, 3)), tuple("abcdefgh"))
    order, half = rng.permutation(n), int(rng.integers(1, n))
    between = Between(bound, np.sort(order[:half]), np.sort(order[half:]))
    far = bound.to_all(slice(None))[np.ix_(between.mine, between.theirs)]
    caliper = float(rng.choice([np.inf, np.quantile(far, 0.4), np.quantile(far, 0.1), 0.0]))
    return between, far, caliper


@given(st.integers(0, 10**6))
def test_nearest_are_the_nearest(seed):
    between, far, caliper = world(seed)
    mine, theirs, apart = nearest_pairs(between, 3, caliper)
    for person in range(len(far)):
        allowed = np.sort(far[person][far[person] <= caliper])[:3]
        assert apart[mine == person].tolist() == allowed.tolist()
    assert apart.tolist() == far[mine, theirs].tolist()


@given(st.integers(0, 10**6))
def test_without_replacement_the_nearest_pair_of_all_comes_first(seed):
    between, far, caliper = world(seed)
    mine, theirs, apart = greedy_pairs(between, caliper)
    assert len(set(mine)) == len(mine)
    assert len(set(theirs)) == len(theirs)
    assert apart.tolist() == far[mine, theirs].tolist()
    left = [(d, i, j) for (i, j), d in np.ndenumerate(far) if d <= caliper]
    if len(np.unique(far)) == far.size:
        expected = []
        for d, i, j in sorted(left):
            if i not in [a for a, _ in expected] and j not in [b for _, b in expected]:
                expected.append((i, j))
                assert d <= caliper
        assert sorted(zip(mine.tolist(), theirs.tolist(), strict=True)) == sorted(expected)
    # Nobody is left over who could still be paired.
    assert all(i in set(mine.tolist()) or j in set(theirs.tolist()) for _, i, j in left)


def test_everybody_near_one_crowd_is_matched_in_rounds():
    # A hundred people whose sixteen nearest are all the same: they must look further than they first see.
    near, far = np.linspace(0, 1e-3, 16), np.linspace(5, 6, 84)
    values = np.concatenate([np.linspace(0, 1e-3, 100), near, far])[:, None]
    bound = MixedDistance(values, np.array([1.0]), np.array([False]), 1, ("a",))
    between = Between(bound, np.arange(100), np.arange(100, 200))
    mine, theirs, apart = greedy_pairs(between, np.inf)
    assert sorted(mine) == sorted(theirs) == list(range(100))
    table = bound.to_all(slice(None))[:100, 100:]
    left, right, total = set(range(100)), set(range(100)), 0.0
    while left:
        d, i, j = min((table[i, j], i, j) for i in left for j in right)
        left.remove(i)
        right.remove(j)
        total += d
    assert apart.sum() == pytest.approx(total)


@given(st.integers(0, 10**6))
def test_optimal_pairs_are_as_many_and_as_near_as_can_be(seed):
    between, far, caliper = world(seed, most=9)
    small = far if far.shape[0] <= far.shape[1] else far.T
    best = (0, 0.0)
    for columns in permutations(range(small.shape[1]), small.shape[0]):
        apart = small[np.arange(len(columns)), columns]
        made = apart[apart <= caliper]
        best = max(best, (len(made), -float(made.sum())))
    for found in (optimal_pairs(between, caliper), optimal_pairs(between, caliper, dense=0, neighbours=100)):
        mine, theirs, apart = found
        assert len(set(mine)) == len(mine) == len(set(theirs))
        assert apart.tolist() == far[mine, theirs].tolist()
        assert (len(mine), -apart.sum()) == (best[0], pytest.approx(best[1], abs=1e-9))


def test_the_sparse_search_finds_as_much_as_the_dense_where_many_compete():
    rng = np.random.default_rng(5)
    values = np.concatenate([rng.normal(size=(400, 3)), rng.normal(size=(300, 3)) + 0.3])
    bound = MixedDistance(values, np.ones(3), np.zeros(3, dtype=bool), 1, ("a", "b", "c"))
    between = Between(bound, np.arange(400), np.arange(400, 700))
    dense, sparse = optimal_pairs(between, 0.8), optimal_pairs(between, 0.8, dense=0, neighbours=50)
    assert len(dense[0]) == len(sparse[0])
    assert sparse[2].sum() <= dense[2].sum() * 1.001


def test_too_many_axes_and_distances_of_ones_own_are_searched_in_blocks():
    between, far, _ = world(3, axes=MOST_AXES + 1)
    assert between._points() is None
    mine, _, apart = nearest_pairs(between, 1, np.inf)
    assert apart.tolist() == far.min(axis=1)[mine].tolist()
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"s": rng.integers(0, 2, 40), "x": rng.normal(size=40)})
    rows = np.flatnonzero(people["s"] == 1), np.flatnonzero(people["s"] == 0)
    own = ee.OwnDistance(lambda a, b: np.abs(a["x"].to_numpy()[:, None] - b["x"].to_numpy()[None, :]) ** 2)
    schema = ee.Schema(sensitive="s", protected=1, favourable=1, features={"x": "immutable"})
    found = ee.Matching(ee.OptimalPairs(caliper=np.inf), distance=own).match(
        Matchable(people, Encoding.of(people, ["x"]), schema, *rows)
    )
    plain = ee.Matching(ee.OptimalPairs(caliper=np.inf)).match(
        Matchable(people, Encoding.of(people, ["x"]), schema, *rows)
    )
    assert isinstance(found.sets, Pairs)
    assert len(found.sets.rows) == len(plain.sets.mine) == min(map(len, rows))


def test_the_caliper_follows_from_the_nearest_and_can_be_lifted():
    people = pd.DataFrame({"s": [1, 1, 1, 0, 0, 0], "x": [0.0, 1.0, 5.0, 0.1, 1.3, 9.0]})
    schema = ee.Schema(sensitive="s", protected=1, favourable=1, features={"x": "immutable"})
    both = Matchable(people, Encoding.of(people, ["x"]), schema, np.arange(3), np.arange(3, 6))
    # Nearest are 0.1, 0.3 and 3.7 away; a twentieth of the nine distances lies within 0.18. The range is 9.
    found = ee.Matching(ee.NearestNeighbour()).match(both)
    assert found.caliper == pytest.approx((0.1 + 0.4 * 0.2) / 9)
    assert found.sets.mine.tolist() == [0]
    assert ee.Matching(ee.NearestNeighbour(caliper=np.inf)).match(both).sets.mine.tolist() == [0, 1, 2]
    assert ee.Matching(ee.NearestNeighbour(caliper=0.1 / 9 + 1e-9)).match(both).sets.mine.tolist() == [0]


def strata(values: list[tuple[int, float, str]], method: ee.measures.ExactMatching) -> Strata:
    people = pd.DataFrame(values, columns=["s", "x", "job"])
    schema = ee.Schema(sensitive="s", protected=1, favourable=1, features={"x": "immutable", "job": "immutable"})
    rows = np.flatnonzero(people["s"] == 1), np.flatnonzero(people["s"] == 0)
    found = ee.Matching(method).match(Matchable(people, Encoding.of(people, ["x", "job"]), schema, *rows))
    assert isinstance(found.sets, Strata)
    return found.sets


def test_exact_strata_hold_equal_people_of_both_sides():
    sets = strata([(1, 1, "a"), (1, 1, "a"), (0, 1, "a"), (1, 1, "b"), (0, 2, "b"), (0, 2.5, "a")], ee.ExactMatching())
    assert sets.mine.tolist() == [0, 1]
    assert sets.theirs.tolist() == [2]


def test_coarsened_cells_are_cut_where_they_are_told():
    values = [(1, 1, "a"), (0, 3, "a"), (1, 4, "a"), (0, 9, "a"), (0, 9, "b")]
    sets = strata(values, ee.CoarsenedExact(cuts={"x": (3,)}))
    # A value on the cut lies below it.
    assert (sets.mine.tolist(), sets.theirs.tolist()) == ([0, 2], [1, 3])
    assert sets.stratum.tolist()[:2] == [0, 1]
    assert strata(values, ee.CoarsenedExact(bins=1)).theirs.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: ee.NearestNeighbour(k=0), "k is 0"),
        (lambda: ee.NearestNeighbour(k=2, replace=False), "used once"),
        (lambda: ee.OptimalPairs(caliper=-1), "caliper is -1"),
        (lambda: ee.CoarsenedExact(bins=0), "bins is 0"),
        (lambda: ee.CoarsenedExact(cuts={"x": (3, 1)}), "rising order"),
        (lambda: ee.Matching("nearest"), "method is the text 'nearest'"),
        (lambda: ee.Matching(features=["x"], distance=ee.Manhattan()), "both features and a distance"),
    ],
)
def test_what_cannot_match_is_refused(made, says):
    with pytest.raises(ee.errors.ParameterError, match=says):
        made()
