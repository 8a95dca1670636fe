"""Score tests of shares: likelihoods found by search, chances by counting every outcome, symmetry, and the ends."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

from equieffort.effort.inference.scores import _own_share, gap_bound, gap_tails, ratio_bound, ratio_tails
from equieffort.effort.search import law_of

INF = np.inf


def arrays(*counts):
    return [np.array([float(value)]) for value in counts]


def every_outcome(n, m):
    k, j = np.meshgrid(np.arange(n + 1.0), np.arange(m + 1.0), indexing="ij")
    return k.ravel(), np.full(k.size, float(n)), j.ravel(), np.full(k.size, float(m))


def chances(n, p, m, q):
    return (binom.pmf(np.arange(n + 1), n, p)[:, None] * binom.pmf(np.arange(m + 1), m, q)[None]).ravel()


def sums(k, n):
    return np.column_stack([n, k, k, n, np.zeros((len(k), 3))])


def law(measure, outcomes):
    k, n, j, m = outcomes
    return law_of(measure, sums(k, n), sums(j, m))


@cache
def tails_of_equality(n, m):
    """For every outcome, how far it speaks against equal shares: both measures, both directions."""
    outcomes = every_outcome(n, m)
    gap, ratio = law("rd", outcomes), law("impact_ratio", outcomes)
    return [np.nan_to_num(f, nan=1.0) for f in (gap.greater(0.0), gap.less(0.0), ratio.greater(1.0), ratio.less(1.0))]


def test_the_likeliest_share_is_what_a_search_finds():
    rng = np.random.default_rng(1)
    for _ in range(200):
        n, m = rng.integers(1, 200, 2)
        k, j, gap = rng.integers(0, n + 1), rng.integers(0, m + 1), rng.uniform(-0.9, 0.9)
        ends = max(0.0, -gap), min(1.0, 1 - gap)

        def loss(p, n=n, m=m, k=k, j=j, gap=gap):
            parts = ((k, p), (n - k, 1 - p), (j, p + gap), (m - j, 1 - p - gap))
            return -sum(count * np.log(max(share, 1e-300)) for count, share in parts if count)

        best = minimize_scalar(loss, bounds=ends, method="bounded", options={"xatol": 1e-12}).fun
        found = float(_own_share(*arrays(k, n, j, m, gap))[0])
        assert loss(np.clip(found, ends[0] + 1e-14, ends[1] - 1e-14)) <= best + 1e-7


@pytest.mark.parametrize(("n", "m"), [(50, 200), (200, 50), (80, 100)])
@pytest.mark.parametrize("p", [0.1, 0.5, 0.95])
def test_shares_are_not_called_unequal_more_often_than_the_tail_says(n, m, p):
    """Newcombe's alone is wrong more than three times as often (50 against 200 people, a share of 0.95 or 0.1)."""
    chance = chances(n, p, m, p)
    for tail in (1e-3, 1e-4, 1e-5):
        for found in tails_of_equality(n, m):
            assert chance[found <= tail].sum() <= 1.05 * tail


@pytest.mark.parametrize(("n", "m"), [(50, 150), (150, 50)])
def test_beyond_a_tolerance_too(n, m):
    for p in (0.15, 0.8):
        outcomes = every_outcome(n, m)
        gap, ratio = law("rd", outcomes), law("impact_ratio", outcomes)
        read = (
            (gap.greater(0.05), chances(n, p, m, p + 0.05)),
            (gap.less(-0.05), chances(n, p, m, p - 0.05)),
            (ratio.greater(1.2), chances(n, 1.2 * p, m, p)),
            (ratio.less(0.8), chances(n, 0.8 * p, m, p)),
        )
        for tail in (1e-3, 1e-4):
            for found, chance in read:
                assert chance[np.nan_to_num(found, nan=1.0) <= tail].sum() <= 1.1 * tail


@pytest.mark.parametrize("measure", ["rd", "impact_ratio"])
def test_bounds_hold_as_often_as_they_say(measure):
    """Of a small side whose share is high: Newcombe's upper end is too low more than twice as often."""
    n, m, tail = 200, 50, 1e-3
    outcomes = every_outcome(n, m)
    found = law(measure, outcomes).bound(tail, upper=measure == "rd")
    narrow = law(measure, outcomes).limits(tail)[1 if measure == "rd" else 0]
    worst = 0.0
    for p, q in ((0.95, 0.95), (0.85, 0.9), (0.1, 0.12)):
        chance, truth = chances(n, p, m, q), q - p if measure == "rd" else p / q
        wrong = [(one < truth if measure == "rd" else one > truth) for one in (found, narrow)]
        assert chance[wrong[0]].sum() <= 1.1 * tail
        worst = max(worst, float(chance[wrong[1]].sum()))
    assert worst > 2 * tail


def test_a_limit_is_where_the_p_value_is_the_tail():
    counts = arrays(40, 50, 280, 300)
    for bound, tails in ((gap_bound, gap_tails), (ratio_bound, ratio_tails)):
        for tail in (0.025, 1e-5):
            low, high = bound(*counts, tail, upper=False), bound(*counts, tail, upper=True)
            assert tails(*counts, low)[0][0] == pytest.approx(tail, rel=1e-6)
            assert tails(*counts, high)[1][0] == pytest.approx(tail, rel=1e-6)


def test_swapping_the_sides_turns_the_sign():
    k, n, j, m = arrays(40, 50, 280, 300)
    more, less = gap_tails(k, n, j, m, 0.03)
    assert gap_tails(j, m, k, n, -0.03)[1] == pytest.approx(more)
    assert gap_tails(n - k, n, m - j, m, -0.03)[1] == pytest.approx(more)
    assert ratio_tails(k, n, j, m, 0.8)[0] == pytest.approx(ratio_tails(j, m, k, n, 1.25)[1])
    assert more + less == pytest.approx(1)
    # Under equal shares a gap of nothing and a ratio of one are the same claim.
    assert ratio_tails(k, n, j, m, 1.0)[1] == pytest.approx(gap_tails(k, n, j, m, 0.0)[0])


def test_where_nobody_or_everybody_has_a_route():
    none, every = arrays(0, 50, 0, 300), arrays(50, 50, 300, 300)
    for counts in (none, every):
        assert np.isnan(gap_tails(*counts, 0.0)[0][0])
        low, high = gap_bound(*counts, 0.025, upper=False), gap_bound(*counts, 0.025, upper=True)
        assert low[0] < 0 < high[0]
        law_here = law("rd", counts)
        assert law_here.greater(0.0)[0] >= 0.5
        assert law_here.less(0.0)[0] >= 0.5
    assert [float(ratio_bound(*none, 0.025, upper=upper)[0]) for upper in (False, True)] == [0.0, INF]
    assert ratio_bound(*arrays(50, 50, 0, 300), 0.025, upper=True)[0] == INF
    assert ratio_bound(*arrays(0, 50, 300, 300), 0.025, upper=False)[0] == 0.0
