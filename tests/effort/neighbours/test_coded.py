"""Short codes against numpy: thresholds, members and sums to the bit, and the bound on their error, made to matter."""

from __future__ import annotations

import dataclasses
import math

import numba
import numpy as np
import pytest
from tests.effort.neighbours.test_sweep import naive_distances, people

from equieffort.effort.metrics import PAPER_QUANTILES
from equieffort.effort.neighbours import coded as coded_module
from equieffort.effort.neighbours.coded import Coded
from equieffort.effort.neighbours.coded_kernels import sweep_coded
from equieffort.effort.neighbours.digits import to_double
from equieffort.effort.neighbours.entries import equal_rows_together, kinds
from equieffort.foundations.jit import compile_at_once, linked

MANY = np.unique([share * q for q in PAPER_QUANTILES for share in (0.8, 1.0, 1.2) if share * q <= 1])


def population(rng, n, features, kind):
    """(distance, group, cost) of a kind that is hard for codes."""
    values = rng.normal(size=(n, features))
    categories = ()
    if kind == "ties":
        values = rng.integers(0, 4, (n, features)).astype(float)
    elif kind == "categories":
        values[:, ::2] = rng.integers(0, 3, values[:, ::2].shape)
        categories = tuple(range(0, features, 2))
    elif kind == "clusters":
        values = rng.integers(0, 3, (n, features)) + rng.normal(size=(n, features)) * 1e-7
    elif kind == "heavy":
        values = rng.standard_cauchy((n, features))
    elif kind == "far":
        values = values + 1e9
    elif kind == "twins":
        values[n // 2 :] = values[: n - n // 2]
    scales = np.where(np.isin(np.arange(features), categories), 1.0, rng.uniform(0.5, 5, features))
    group = rng.integers(-1, 3, n)
    cost = np.where(rng.random(n) < 0.2, np.nan, rng.exponential(size=n) * 10.0 ** rng.integers(-3, 3, n))
    return people(values, scales=scales, categories=categories), group, cost


def expected(bound, centre, quantiles, group, cost, groups):
    """(first neighbourhood of each person, size, acting, cost) by numpy."""
    row = naive_distances(bound, centre)
    inside = np.array([row <= np.quantile(row, q) for q in quantiles])
    first = np.where(inside.any(axis=0), inside.argmax(axis=0), len(quantiles))
    has = ~np.isnan(cost)
    size = [[int((one & (group == g)).sum()) for g in range(groups)] for one in inside]
    acting = [[int((one & (group == g) & has).sum()) for g in range(groups)] for one in inside]
    total = [[math.fsum(cost[one & (group == g) & has]) for g in range(groups)] for one in inside]
    return first, np.array(size), np.array(acting), np.array(total)


def wrong(coded, bound, centres, quantiles, group, cost, groups=3):
    """How many of the centres are not as numpy has them."""
    found = coded.around(np.asarray(centres), first=True)
    bad = 0
    for c, centre in enumerate(centres):
        first, *sums = expected(bound, centre, quantiles, group, cost, groups)
        same = np.array_equal(found.first[c][coded.entries.of], first)
        same &= all(np.array_equal(found[k][c], sums[k]) for k in range(3))
        bad += not same
    return bad


@pytest.fixture(autouse=True)
def at_once():
    """Compiled, also where there is little to do."""
    with compile_at_once():
        yield


@pytest.fixture(params=["compiled", "in numpy"])
def engine(request, monkeypatch):
    """And as it is done until then."""
    if request.param == "in numpy":
        monkeypatch.setattr(coded_module, "sweep_coded", lambda *given, work: sweep_coded.in_numpy(*given))
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("kind", ["plain", "ties", "categories", "clusters", "heavy", "far", "twins"])
@pytest.mark.parametrize(("n", "features"), [(1, 1), (2, 2), (7, 0), (60, 3), (700, 1), (900, 5), (2500, 12)])
@pytest.mark.usefixtures("engine")
def test_as_numpy_to_the_bit(kind, n, features):
    rng = np.random.default_rng([n, features, len(kind)])
    bound, group, cost = population(rng, n, features, kind)
    quantiles = MANY if n % 2 else np.array(PAPER_QUANTILES)
    coded = Coded.of(bound, quantiles, group, cost, 3)
    assert coded is not None
    assert wrong(coded, bound, rng.integers(0, n, 6).tolist(), quantiles, group, cost) == 0


def test_large_tables_share_tiles():
    rng = np.random.default_rng(5)
    bound, group, cost = population(rng, 30_000, 3, "plain")
    coded = Coded.of(bound, MANY, group, cost, 3)
    assert wrong(coded, bound, rng.integers(0, 30_000, 7).tolist(), MANY, group, cost) == 0


def test_the_bound_on_the_error_of_codes_is_needed_and_enough(monkeypatch):
    """With single precision the true error is far below a code. Half precision makes it many of them."""
    monkeypatch.setattr("equieffort.effort.neighbours.coded.sizes", lambda entries: (65536, 7, 4))
    rng = np.random.default_rng(2)
    bad = {1.0: 0, 0.01: 0, 0.0: 0}
    for _ in range(12):
        bound, group, cost = population(rng, 6000, 4, "plain")
        exact = Coded.of(bound, MANY, group, cost, 3)
        columns = exact.columns.astype(np.float16).astype(np.float32)
        centres = rng.integers(0, 6000, 5).tolist()
        for share in bad:
            coarse = dataclasses.replace(exact, columns=columns, rounding=share * 2.0**-11)
            bad[share] += wrong(coarse, bound, centres, MANY, group, cost)
    assert bad[1.0] == 0
    assert bad[0.01] > 5
    assert bad[0.0] > 20


def test_digits_are_rounded_once_and_to_even():
    rng, compiled = np.random.default_rng(0), linked(to_double)
    for _ in range(3000):
        bits = int(rng.integers(1, 63))
        low, middle, high = (int(rng.integers(0, 2 ** int(rng.integers(1, 63)))) for _ in range(3))
        if rng.random() < 0.5:
            # Halfway between two doubles, and a hair beside it.
            whole = (2 * int(rng.integers(2**52, 2**53)) + 1) << bits
            whole += int(rng.integers(-1, 2))
            low, middle, high = whole & (2**40 - 1), (whole >> 40) & (2**40 - 1), whole >> 80
        if high >= 2**62:
            continue
        told = (low + (middle << 40) + (high << 80)) / 2**7
        assert to_double(low, middle, high, -7) == compiled(low, middle, high, -7) == told


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("part", [64, 2**26])
def test_threads_parts_and_order_do_not_show(monkeypatch, threads, part):
    rng = np.random.default_rng(11)
    bound, group, cost = population(rng, 600, 3, "categories")
    centres = np.arange(0, 600, 3)
    before = Coded.of(bound, MANY, group, cost, 3).around(centres, first=True)
    order = rng.permutation(600)
    moved = dataclasses.replace(bound, values=bound.values[order])
    monkeypatch.setattr("equieffort.effort.neighbours.coded.PAIRS", part)
    had = numba.get_num_threads()
    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    try:
        other = Coded.of(moved, MANY, group[order], cost[order], 3)
        after = other.around(np.argsort(order)[centres], first=True)
    finally:
        numba.set_num_threads(had)
    for one, two in zip(before, after, strict=True):
        assert one.tobytes() == two.tobytes()


def test_people_with_equal_rows_are_one_entry():
    rng = np.random.default_rng(0)
    bound, group, cost = population(rng, 2000, 2, "ties")
    coded = Coded.of(bound, MANY, group, cost, 3)
    kind = kinds(group, cost, 3)
    assert len(coded.entries) == len({(*row, k) for row, k in zip(bound.values.tolist(), kind.tolist(), strict=True)})
    assert coded.entries.weight.sum() == 2000
    assert wrong(coded, bound, [0, 1, 2], MANY, group, cost) == 0


@pytest.mark.parametrize("clash", [False, True])
def test_entries_stand_for_people_of_their_kind(monkeypatch, clash):
    if clash:
        # All rows share one number, so that only the rows themselves tell them apart.
        monkeypatch.setattr(
            "equieffort.effort.neighbours.entries._scattered", lambda v: np.zeros(len(v), dtype=np.uint64)
        )
    rng = np.random.default_rng(3)
    values, kind = rng.integers(0, 3, (300, 2)).astype(float), rng.integers(0, 5, 300)
    entries = equal_rows_together(values, kind, 2)
    assert len(entries) == len({(*row, k) for row, k in zip(values.tolist(), kind.tolist(), strict=True)})
    assert np.array_equal(np.bincount(entries.of), entries.weight)
    assert (values[entries.someone][entries.of] == values).all()
    assert (kind[entries.someone][entries.of] == kind).all()
    for k in range(5):
        assert (kind[entries.someone[entries.begin[k] : entries.begin[k + 1]]] == k).all()


@pytest.mark.parametrize(
    ("costs", "values", "power", "quantiles"),
    [
        ([1.0, 2.0**70, 1.0], [0.0, 1.0, 2.0], 1, [0.5]),
        ([-1.0, 1.0, 1.0], [0.0, 1.0, 2.0], 1, [0.5]),
        ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0], 2, [0.5]),
        ([1.0, 1.0, 1.0], [0.0, 1e308, -1e308], 1, [0.5]),
        ([1.0, 1.0, 1.0], [0.0, 1.0, 2.0], 1, np.linspace(0.01, 1, 127)),
    ],
)
def test_what_codes_cannot_do_is_left_to_the_plain_sweep(costs, values, power, quantiles):
    bound = people(np.array(values)[:, None], power=power)
    assert Coded.of(bound, np.asarray(quantiles), np.zeros(3, dtype=np.int64), np.array(costs), 1) is None
