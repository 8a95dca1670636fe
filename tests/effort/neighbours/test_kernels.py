"""Loops over neighbourhoods: compiled they do what they do interpreted and in numpy, to the last bit."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from tests.effort.neighbours.test_coded import MANY, population
from tests.effort.neighbours.test_sweep import people

from equieffort.effort.neighbours import coded, kernels, leaving
from equieffort.effort.neighbours.coded import Coded
from equieffort.effort.neighbours.entries import Efforts
from equieffort.effort.neighbours.sweep import Plain
from equieffort.world.distances import BoundDistance

SWEEP = importlib.import_module("equieffort.effort.neighbours.sweep")


@pytest.fixture(autouse=True)
def as_numba_divides():
    with np.errstate(all="ignore"):
        yield


class Given(BoundDistance):
    """Distances that were computed elsewhere."""

    def __init__(self, matrix):
        self.matrix = matrix

    def to_all(self, rows):
        return self.matrix[rows]


@pytest.mark.parametrize("kind", ["numbers", "categories"])
@pytest.mark.parametrize("name", ["sweep_coded", "sweep_mixed", "sweep_given"])
def test_sweeps(monkeypatch, name, kind):
    rng = np.random.default_rng(3)
    bound, group, cost = population(rng, 90, 3, kind)
    if name == "sweep_given":
        bound = Given(np.vstack([bound.to_all(slice(i, i + 1)) for i in range(90)]))
    made = Coded if name == "sweep_coded" else Plain
    module = coded if name == "sweep_coded" else SWEEP
    told, loop, calls = [], getattr(module, name), []
    for run in (loop, loop.interpreted, loop.in_numpy):
        monkeypatch.setattr(module, name, lambda *given, run=run, work: (calls.append(run), run(*given)))
        told.append(made.of(bound, MANY, group, cost, 3).around(np.arange(0, 90, 11), first=True))
    assert set(calls) == {loop, loop.interpreted, loop.in_numpy}
    for part in ("size", "acting", "cost", "first"):
        compiled, interpreted, in_numpy = (getattr(found, part) for found in told)
        np.testing.assert_array_equal(compiled, interpreted, err_msg=part)
        np.testing.assert_array_equal(compiled, in_numpy, err_msg=part)
    assert (told[0].size.sum(axis=(0, 2)) > 0).any()
    assert len(np.unique(told[0].first)) > 3


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leaving_people_out(dtype):
    rng, centres, quantiles, entries = np.random.default_rng(4), 70, 3, 40
    first = rng.integers(0, quantiles + 1, (centres, entries)).astype(np.uint8)
    last, coefficients = np.arange(quantiles), rng.normal(size=(2, quantiles, centres)).astype(dtype)
    own, other = rng.exponential(size=(2, centres, quantiles))
    count, weight = rng.integers(0, 4, (centres, quantiles)), rng.exponential(size=centres)
    entry, effort = rng.permutation(entries)[:20], rng.exponential(size=20)
    told = []
    for kind in ("compiled", "interpreted", "in_numpy"):
        sums, ratios = np.zeros((2, quantiles, entries)), np.zeros((quantiles, 20))
        getattr(leaving.leave_out, kind)(first, last, coefficients, 3, 37, sums)
        getattr(leaving.leave_out_ratio, kind)(first, last, own, other, count, weight, entry, effort, ratios)
        moments = np.zeros(5), np.zeros((5, 5)), np.zeros(5), np.zeros(5)
        values, start = np.vstack([sums[0], sums[1, :2]]), np.full(5, 0.3)
        getattr(leaving.add_moments, kind)(values, start, *moments, dtype is np.float32)
        told.append((sums, ratios, *moments))
    for compiled, interpreted, in_numpy in zip(*told, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)
        np.testing.assert_array_equal(compiled, in_numpy)
        assert compiled.any()
    # And both are the sum: everybody adds a centre's coefficient where its neighbourhood holds them.
    holds = first[:, None, 3:37] <= last[:, None]
    expected = np.einsum("rqc,cqe->rqe", coefficients.astype(float), holds)
    np.testing.assert_allclose(told[0][0][:, :, 3:37], expected, atol=1e-12 if dtype is np.float64 else 1e-4)


@pytest.mark.parametrize("power", [1, 2])
def test_what_numpy_cannot_answer_to_the_bit_is_compiled(power):
    """Distances beyond the largest number share a bucket there, and would be differences of infinities here."""
    bound = people(np.array([[0.0], [1e300], [-1e300], [1.0]]), scales=np.array([1e-10]), power=power)
    group, cost = np.array([0, 0, 0, 1]), np.arange(4.0)
    made = Plain.of(bound, np.array([0.2, 0.9]), group, cost, 2)
    before = SWEEP.sweep_mixed.spent
    assert made.around(np.arange(4), first=False).size.sum() > 0
    rows = (np.array([[0.0, np.inf]]), np.ones(1), np.zeros(1, dtype=bool), power)
    with pytest.raises(FloatingPointError):
        SWEEP.sweep_mixed.in_numpy(rows, [0], np.array([0.2]), None, None, None)
    assert SWEEP.sweep_mixed.compiled.signatures
    assert SWEEP.sweep_mixed.spent >= before


# Parts of the sweep by themselves, interpreted.


@pytest.mark.parametrize("power", [1, 2])
def test_mixed_distances_as_their_formula(power):
    rng = np.random.default_rng(power)
    values, scales = rng.normal(size=(4, 30)), np.array([2.0, 1.0, 0.5, 1.0])
    is_category = np.array([False, True, False, True])
    values[is_category] = rng.integers(0, 3, (2, 30))
    out = np.full(30, 7.0)
    kernels._distances((values, scales, is_category, power), 3, out)
    apart = np.abs(values - values[:, 3:4]) / scales[:, None]
    apart[is_category] = (values != values[:, 3:4])[is_category]
    np.testing.assert_allclose(out, (apart**power).sum(axis=0) ** (1 / power), rtol=1e-12)


def test_whatever_a_distance_is_its_bucket_is_one():
    scale = kernels.BUCKETS / 8.0
    found = [kernels._bucket(d, scale) for d in (0.0, 1e-9, 4.0, 7.999, 8.0, 9.0, math.inf, math.nan)]
    assert found == [0, 0, kernels.BUCKETS // 2, kernels.BUCKETS - 1, *[kernels.BUCKETS - 1] * 4]
    assert kernels._bucket(-1.0, scale) == 0


def in_buckets(distance):
    """Room in which the distances lie bucket by bucket."""
    room = kernels._make_room(len(distance), 1, 1, 1)
    room.slot[:] = [kernels._bucket(d, kernels.BUCKETS / distance.max()) for d in distance]
    room.order[:] = np.argsort(room.slot, kind="stable")
    room.ends[:] = np.searchsorted(room.slot[room.order], np.arange(kernels.BUCKETS + 1), side="right")
    return room


@pytest.mark.parametrize("seed", range(5))
def test_order_statistics_and_quantiles_as_numpy_has_them(seed):
    rng = np.random.default_rng(seed)
    distance = np.round(rng.exponential(size=57), 1 if seed % 2 else 12)
    room = in_buckets(distance)
    for rank, expected in enumerate(np.sort(distance)):
        assert kernels._order_statistic(distance, room.order, room.ends, rank, room.slot) == expected
    for quantile in (0.0, 0.013, 0.25, 0.5, 0.777, 1.0):
        found = kernels._quantile(distance, room.order, room.ends, room.slot, quantile)
        assert found == np.quantile(distance, quantile)


def test_one_centre_counts_whom_its_thresholds_hold():
    rng, n, quantiles = np.random.default_rng(8), 60, np.array([0.1, 0.4, 0.9])
    distance, group, has = np.round(rng.exponential(size=n), 1), rng.integers(-1, 2, n), rng.random(n) < 0.6
    digits = np.column_stack([np.where(has, rng.integers(1, 9, n), 0), has]).astype(np.int64)
    room = kernels._make_room(n, 3, 2, 1)
    size, acting = np.full((3, 2), 99), np.full((3, 2), 99)
    kernels._one(distance, quantiles, Efforts(group, digits, 0), room, size, acting)
    np.testing.assert_array_equal(room.thresholds, np.quantile(distance, quantiles))
    first = np.full(n, 99)
    kernels._first(distance, room.thresholds, np.arange(n)[::-1].copy(), first)
    for q, threshold in enumerate(np.quantile(distance, quantiles)):
        for g in range(2):
            who = (distance <= threshold) & (group == g)
            assert (size[q, g], acting[q, g]) == (who.sum(), digits[who, 1].sum())
            assert room.sums[q, g, 0] == digits[who, 0].sum()
        np.testing.assert_array_equal((first <= q)[::-1], distance <= threshold)
