"""Tests and bounds of many subgroups, each against the formula for one, and against its own definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from equieffort.effort.inference.means import Side, compare_guarded
from equieffort.effort.inference.scores import gap_tails, ratio_tails
from equieffort.effort.inference.shares import difference, share_ratio
from equieffort.effort.search import law_of
from equieffort.effort.stats import Sums

RNG = np.random.default_rng(3)
SAMPLES = [
    (RNG.gamma(2, 1, n), scale * RNG.lognormal(0, 0.8, m))
    for n, m, scale in [(50, 60, 1), (30, 170, 2), (200, 50, 0.4)]
]


def sums(values):
    return np.array([[len(v), v.sum(), (v * v).sum(), len(v), 0, 0, 0] for v in values], dtype=float)


MEANS = law_of("acr", sums([a for a, _ in SAMPLES]), sums([b for _, b in SAMPLES]))


@pytest.mark.parametrize("tau", [1.0, 1.25])
def test_the_p_value_is_the_largest_of_three(tau):
    for k, (a, b) in enumerate(SAMPLES):
        sides = [Side(s, s, s) for s in (Sums.of(a), Sums.of(b))]
        guarded = compare_guarded(*sides, 0.95, ratio=True)
        for found, x, y, log_test in (
            (MEANS.greater(tau)[k], a, b, guarded.greater(np.log(tau))),
            (MEANS.less(1 / tau)[k], b, a, guarded.less(-np.log(tau))),
        ):
            va, vb = x.var(ddof=1) / len(x), tau**2 * y.var(ddof=1) / len(y)
            df = (va + vb) ** 2 / (va**2 / (len(x) - 1) + vb**2 / (len(y) - 1))
            df = min(df, min(len(x), len(y)) - 1)
            apart = stats.t.sf((x.mean() - tau * y.mean()) / np.sqrt(va + vb), df)
            assert found == pytest.approx(max(log_test, apart), rel=1e-9)
        assert MEANS.estimate[k] == pytest.approx(a.mean() / b.mean(), rel=1e-13)


@pytest.mark.parametrize("tail", [0.025, 1e-5])
def test_the_bound_is_the_farther_of_two(tail):
    low, high = MEANS.limits(tail)
    for k, (a, b) in enumerate(SAMPLES):
        sides = [Side(s, s, s) for s in (Sums.of(a), Sums.of(b))]
        guarded = compare_guarded(*sides, 0.95, ratio=True).limits(1 - 2 * tail)
        va, vb = (v.var(ddof=1) / len(v) for v in (a, b))
        w = [va / a.mean() ** 2, vb / b.mean() ** 2]
        df = sum(w) ** 2 / (w[0] ** 2 / (len(a) - 1) + w[1] ** 2 / (len(b) - 1))
        c = stats.t.isf(tail, min(df, min(len(a), len(b)) - 1))
        # Fieller's end: where the difference lies c of its standard errors from 0.
        for end, sign, log_end in ((high[k], -1, guarded[1]), (low[k], 1, guarded[0])):
            away = (a.mean() - end * b.mean()) / np.sqrt(va + end**2 * vb)
            by_log, by_difference = abs(np.log(end) - log_end) < 1e-9, abs(away - sign * c) < 1e-6
            assert by_log or by_difference
            assert sign * np.log(end) <= sign * log_end + 1e-9
            assert sign * away >= c - 1e-6


def test_a_mean_that_may_be_zero_bounds_nothing():
    a, b = np.full(50, 1.0) + RNG.normal(0, 0.01, 50), np.concatenate([[100.0], np.full(49, 1e-6)])
    assert law_of("acr", sums([a]), sums([b])).limits(1e-4)[1][0] == np.inf


def test_no_spread_and_no_effort_have_no_test():
    same, none, some = np.full(60, 0.3), np.zeros(60), RNG.exponential(1, 60)
    law = law_of("acr", sums([same, none, same]), sums([same, some, some]))
    assert np.isnan(law.estimate).tolist() == [False, True, False]
    assert np.isnan(law.greater(1.0)[0])
    assert np.isnan(law.limits(0.025)[1]).tolist()[:2] == [True, True]
    assert law.greater(1.0)[2] > 0


SHARES = [((10, 60), (50, 55)), ((60, 60), (70, 70)), ((0, 60), (5, 70)), ((30, 60), (0, 80)), ((45, 90), (60, 120))]


def share_sums(counts):
    return np.array([[n, k, k, n, 0, 0, 0] for k, n in counts], dtype=float)


@pytest.mark.parametrize(
    ("measure", "one", "values"), [("rd", difference, (0.0, 0.05)), ("impact_ratio", share_ratio, (1.0, 1.25))]
)
def test_shares_as_one_by_one(measure, one, values):
    law = law_of(measure, share_sums([a for a, _ in SHARES]), share_sums([b for _, b in SHARES]))
    to = (lambda value: value) if measure == "rd" else np.log
    counts = [np.array(part, dtype=float) for part in zip(*((*a, *b) for a, b in SHARES), strict=True)]

    def scores(value):
        return (gap_tails if measure == "rd" else ratio_tails)(*counts, value)

    with np.errstate(divide="ignore"):
        for k, (mine, theirs) in enumerate(SHARES):
            single = one(mine, theirs)
            assert to(law.estimate[k]) == pytest.approx(single.estimate)
            for value in values:
                scored = [np.nan_to_num(p[k], nan=0.0) for p in scores(value)]
                assert law.greater(value)[k] == pytest.approx(max(single.greater(to(value)), scored[0]), abs=1e-12)
                assert law.less(value)[k] == pytest.approx(max(single.less(to(value)), scored[1]), abs=1e-12)
            for found, expected in zip(law.limits(0.001), single.limits(0.998), strict=True):
                assert to(found[k]) == pytest.approx(expected, abs=1e-9)
