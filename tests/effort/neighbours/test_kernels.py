"""Loops over neighbourhoods: compiled they do what they do interpreted, to the last bit."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from tests.effort.neighbours.test_coded import MANY, population

from equieffort.effort.neighbours import coded, leaving
from equieffort.effort.neighbours.coded import Coded
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
    for run in (loop, loop.interpreted):
        monkeypatch.setattr(module, name, lambda *given, run=run: (calls.append(run), run(*given)))
        told.append(made.of(bound, MANY, group, cost, 3).around(np.arange(0, 90, 11), first=True))
    assert set(calls) == {loop, loop.interpreted}
    for part in ("size", "acting", "cost", "first"):
        compiled, interpreted = (getattr(found, part) for found in told)
        np.testing.assert_array_equal(compiled, interpreted, err_msg=part)
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
    for kind in ("compiled", "interpreted"):
        sums, ratios = np.zeros((2, quantiles, entries)), np.zeros((quantiles, 20))
        getattr(leaving.leave_out, kind)(first, last, coefficients, 3, 37, sums)
        getattr(leaving.leave_out_ratio, kind)(first, last, own, other, count, weight, entry, effort, ratios)
        moments = np.zeros(5), np.zeros((5, 5)), np.zeros(5), np.zeros(5)
        values, start = np.vstack([sums[0], sums[1, :2]]), np.full(5, 0.3)
        getattr(leaving.add_moments, kind)(values, start, *moments, dtype is np.float32)
        told.append((sums, ratios, *moments))
    for compiled, interpreted in zip(*told, strict=True):
        np.testing.assert_array_equal(compiled, interpreted)
        assert compiled.any()
    # And both are the sum: everybody adds a centre's coefficient where its neighbourhood holds them.
    holds = first[:, None, 3:37] <= last[:, None]
    expected = np.einsum("rqc,cqe->rqe", coefficients.astype(float), holds)
    np.testing.assert_allclose(told[0][0][:, :, 3:37], expected, atol=1e-12 if dtype is np.float64 else 1e-4)
