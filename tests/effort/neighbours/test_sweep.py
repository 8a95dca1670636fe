"""The sweep against a naive one: np.quantile a centre, d <= threshold, keep the unfavourable."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equieffort.effort.neighbours import sweep
from equieffort.errors import ParameterError
from equieffort.world.distances import BoundDistance, MixedDistance

MODULE = importlib.import_module("equieffort.effort.neighbours.sweep")
QUANTILES = [0.5, 0.05, 1.0, 0.3, 0.05, 0.9, 1e-9, 0.3]
"""Neither sorted nor unique."""


class Parsed(BoundDistance):
    """Distances that were computed elsewhere."""

    def __init__(self, matrix):
        self.matrix = matrix

    def to_all(self, rows):
        return self.matrix[rows]


def people(values, *, scales=None, categories=(), power=1) -> MixedDistance:
    values = np.asarray(values, dtype=np.float64)
    is_category = np.isin(np.arange(values.shape[1]), categories)
    scales = np.ones(values.shape[1]) if scales is None else np.asarray(scales, dtype=np.float64)
    return MixedDistance(values, scales, is_category, power, tuple(f"x{k}" for k in range(values.shape[1])))


def naive_distances(bound: MixedDistance, centre: int) -> np.ndarray:
    total = np.zeros(len(bound.values))
    for k, column in enumerate(bound.values.T):
        if bound.is_category[k]:
            total += (column != column[centre]).astype(float)
        else:
            total += (np.abs(column - column[centre]) / bound.scales[k]) ** bound.power
    return total if bound.power == 1 else np.sqrt(total)


def naive(distances, quantiles, group, cost, groups):
    """(size, acting, exact cost) by quantile and group around one centre."""
    size = np.zeros((len(quantiles), groups), dtype=int)
    acting = np.zeros_like(size)
    total = np.zeros(size.shape)
    for q, quantile in enumerate(quantiles):
        inside = distances <= np.quantile(distances, quantile)
        for g in range(groups):
            members = inside & (group == g)
            size[q, g] = members.sum()
            acting[q, g] = (members & ~np.isnan(cost)).sum()
            total[q, g] = math.fsum(cost[members & ~np.isnan(cost)])
    return size, acting, total


def check(bound, quantiles, group, cost, groups, centres=None, distances=None):
    centres = np.arange(len(group)) if centres is None else np.asarray(centres)
    found = sweep(bound, centres, quantiles, group, cost, groups)
    assert found.size.shape == found.acting.shape == found.cost.shape == (len(centres), len(quantiles), groups)
    assert found.quantiles.tolist() == list(quantiles)
    for c, centre in enumerate(centres.tolist()):
        row = naive_distances(bound, centre) if distances is None else distances[centre]
        size, acting, total = naive(row, quantiles, group, cost, groups)
        assert np.array_equal(found.size[c], size)
        assert np.array_equal(found.acting[c], acting)
        assert found.cost[c] == pytest.approx(total, rel=1e-15, abs=0)
    return found


def random_case(rng, n, groups=2):
    """Mixed columns with many ties, a constant one among them."""
    values = np.column_stack(
        [
            rng.integers(0, 4, n),
            rng.normal(size=n).round(1),
            np.full(n, 3.0),
            rng.integers(0, 3, n),
            rng.exponential(size=n) * 100,
        ]
    )
    group = rng.integers(-1, groups, n)
    cost = np.where(rng.random(n) < 0.3, np.nan, rng.exponential(size=n) * 10.0 ** rng.integers(-9, 4, n))
    return values, group, cost


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 30, 101, 250])
def test_random_mixed_people(n, power):
    rng = np.random.default_rng([n, power])
    values, group, cost = random_case(rng, n, groups=3)
    bound = people(values, scales=[3, 1, 1, 1, 250.0], categories=[3], power=power)
    check(bound, QUANTILES, group, cost, 3)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(-1, 1)), min_size=1, max_size=9),
    st.lists(st.floats(0.001, 1.0) | st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 1.0]), min_size=1, max_size=5),
    st.sampled_from([1, 2]),
)
def test_small_worlds(rows, quantiles, power):
    values = np.array(rows, dtype=float)
    bound = people(values[:, :2], scales=[3, 1], categories=[1], power=power)
    cost = np.where(values[:, 0] == 1, np.nan, values[:, 0] + 0.1)
    check(bound, quantiles, values[:, 2].astype(np.int64), cost, 2)


@pytest.mark.parametrize(
    "column",
    [
        pytest.param(np.zeros(50), id="all alike"),
        pytest.param(np.r_[np.linspace(0, 1e-4, 49), 1.0], id="all but one in the first bucket"),
        pytest.param(np.r_[0.0, np.linspace(1 - 1e-9, 1, 49)], id="all but one in the last bucket"),
        pytest.param(np.arange(50) / 2048, id="on the borders of buckets"),
        pytest.param(np.repeat([0.0, 1.0], 25), id="two values"),
        pytest.param(np.geomspace(1e-15, 1e15, 50), id="thirty orders of magnitude"),
    ],
)
def test_buckets_do_not_show(column):
    rng = np.random.default_rng(5)
    group = rng.integers(-1, 2, 50)
    cost = np.where(rng.random(50) < 0.2, np.nan, rng.random(50))
    check(people(column[:, None]), [0.01, 0.02, 0.1, 0.5, 0.98, 0.99, 1.0], group, cost, 2)


def test_equal_distances_put_everybody_inside():
    # Each person alone in a category: all others are at distance 1.
    bound = people(np.arange(6)[:, None], categories=[0])
    group, cost = np.array([0, 1, 0, 1, -1, 0]), np.arange(6.0)
    found = check(bound, [0.3, 1.0], group, cost, 2)
    assert (found.size == [3, 2]).all()
    # Between the centre and the rest the threshold is interpolated: only the centre itself is inside.
    alone = check(bound, [0.1], group, cost, 2)
    assert alone.size[:, 0].tolist() == [[1, 0], [0, 1], [1, 0], [0, 1], [0, 0], [1, 0]]


def test_without_columns_everybody_is_at_distance_zero():
    group, cost = np.array([0, 1, -1]), np.array([1.0, 2.0, 4.0])
    found = sweep(people(np.zeros((3, 0))), np.arange(3), [0.01, 1.0], group, cost, 2)
    assert (found.cost == [1.0, 2.0]).all()


def test_centres_may_be_few_none_or_repeated():
    rng = np.random.default_rng(0)
    values, group, cost = random_case(rng, 40)
    bound = people(values, categories=[3])
    check(bound, [0.2, 1.0], group, cost, 2, centres=[7, 3, 7])
    found = sweep(bound, np.array([], dtype=np.intp), [0.2], group, cost, 2)
    assert found.size.shape == (0, 1, 2)


@pytest.mark.parametrize("power", [1, 2])
def test_permuting_people_permutes_results_bit_for_bit(power):
    rng = np.random.default_rng(11)
    values, group, cost = random_case(rng, 300)
    order = rng.permutation(300)
    kinds = {"scales": [3, 1, 1, 1, 250.0], "categories": [3], "power": power}
    before = sweep(people(values, **kinds), np.arange(300), QUANTILES, group, cost, 2)
    after = sweep(people(values[order], **kinds), np.arange(300), QUANTILES, group[order], cost[order], 2)
    assert np.array_equal(after.size, before.size[order])
    assert np.array_equal(after.acting, before.acting[order])
    assert np.array_equal(after.cost.view(np.int64), before.cost[order].view(np.int64))


@pytest.mark.parametrize(("power", "block"), [(1, 1), (1, 8 * 120 * 7), (2, 8 * 120 * 7), (2, 2**26)])
def test_given_distances_take_the_same_path(monkeypatch, power, block):
    monkeypatch.setattr(BoundDistance, "block_bytes", block)
    rng = np.random.default_rng(3)
    values, group, cost = random_case(rng, 120)
    bound = people(values, scales=[3, 1, 1, 1, 250.0], categories=[3], power=power)
    matrix = np.stack([naive_distances(bound, centre) for centre in range(120)])
    built_in = sweep(bound, np.arange(120), QUANTILES, group, cost, 2)
    own = check(Parsed(matrix), QUANTILES, group, cost, 2, distances=matrix)
    assert np.array_equal(own.size, built_in.size)
    assert np.array_equal(own.acting, built_in.acting)
    assert own.cost == pytest.approx(built_in.cost, rel=1e-15, abs=0)


def test_distances_need_not_be_symmetric():
    rng = np.random.default_rng(8)
    matrix = rng.integers(0, 5, (30, 30)).astype(float)
    _, group, cost = random_case(rng, 30)
    check(Parsed(matrix), QUANTILES, group, cost, 2, distances=matrix)


def test_thresholds_are_numpys_to_the_last_bit():
    # 0.29 * 100 falls a hair below 29: whether the next person is inside hangs on how numpy rounds.
    rng = np.random.default_rng(21)
    matrix = rng.random((101, 101))
    group, cost = np.zeros(101, dtype=np.int64), np.ones(101)
    quantiles = [q for q in (k / 100 for k in range(1, 101)) if q * 100 != round(q * 100)]
    assert len(quantiles) > 5
    found = check(Parsed(matrix), quantiles, group, cost, 1, distances=matrix)
    textbook = []
    for row in matrix:
        rising = np.sort(row)
        for place in (q * 100 for q in quantiles):
            low = math.floor(place)
            textbook.append(int((row <= rising[low] + (rising[low + 1] - rising[low]) * (place - low)).sum()))
    # The textbook interpolation would differ, so this test can tell them apart.
    assert textbook != found.size.ravel().tolist()


ODD = """
import numpy as np
from equieffort.world.distances import BoundDistance
from equieffort.effort.neighbours import sweep

matrix = np.random.default_rng(9).integers(0, 5, (30, 30)) * 1e-310

class Given(BoundDistance):
    def to_all(self, rows):
        return matrix[rows]

found = sweep(Given(), np.arange(30), [0.3, 1.0], np.zeros(30, dtype=np.int64), np.ones(30), 1).size[:, :, 0]
expected = [[int((row <= np.quantile(row, q)).sum()) for q in (0.3, 1.0)] for row in matrix]
assert found.tolist() == expected
print("tiny", flush=True)
matrix = np.random.default_rng(9).integers(0, 5, (30, 30)) * 1.0
for value in (np.nan, -np.inf, -7, np.inf):
    print(value, flush=True)
    matrix[:, 5] = value
    sweep(Given(), np.arange(30), [0.3, 1.0], np.zeros(30, dtype=np.int64), np.ones(30), 1)
"""


@pytest.fixture(scope="module")
def odd_distances():
    """In a process of its own: writing outside an array can take the whole test run down."""
    return subprocess.run([sys.executable, "-c", ODD], capture_output=True, text=True, timeout=600)


def test_tiny_distances_count_like_others(odd_distances):
    assert odd_distances.stdout.startswith("tiny"), odd_distances.stderr


def test_what_is_no_distance_does_no_harm(odd_distances):
    # Distances are checked before they come here; should one slip through, memory stays whole.
    assert odd_distances.returncode == 0, f"{odd_distances.stdout}{odd_distances.stderr}"
    assert odd_distances.stdout.split() == ["tiny", "nan", "-inf", "-7", "inf"]


@pytest.mark.parametrize("cost", [[1e-310] * 4, [5e-324] * 4, [1e200, 1e-160, 3.0, 0.0], [1e-160, 0.0, 1e308, 0.1]])
def test_costs_of_any_size_add_up(cost):
    check(people(np.arange(4.0)[:, None]), [0.5, 1.0], np.zeros(4, dtype=np.int64), np.array(cost), 1)


def test_phi_and_rho_are_missing_where_nobody_counts():
    group, cost = np.array([0, 0, 1, -1]), np.array([1.0, 2.0, np.nan, 5.0])
    found = sweep(people(np.zeros((4, 1))), np.arange(1), [1.0], group, cost, 3)
    assert found.phi[0, 0, 0] == 1.5
    assert np.isnan(found.phi[0, 0, 1:]).all()
    assert found.rho[0, 0, :2].tolist() == [1.0, 0.0]
    assert np.isnan(found.rho[0, 0, 2])


@pytest.mark.parametrize("quantiles", [[0.5, 0.0], [1.5], [math.nan]])
def test_quantiles_out_of_range_are_refused(quantiles):
    with pytest.raises(ParameterError) as caught:
        sweep(people(np.zeros((2, 1))), np.arange(2), quantiles, np.zeros(2, dtype=np.int64), np.zeros(2), 1)
    assert caught.value.code == "NEIGHBOURS_QUANTILE"


def test_there_may_be_many_quantiles_or_none():
    rng = np.random.default_rng(1)
    values, group, cost = random_case(rng, 20)
    check(people(values), np.linspace(1, 1 / 200, 200).tolist(), group, cost, 2, centres=[0, 19])
    assert sweep(people(values), np.arange(20), [], group, cost, 2).size.shape == (20, 0, 2)
