"""Closed forms against other people's code, published values and brute resampling."""

from __future__ import annotations

from math import exp, inf, isnan, log, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from equieffort.effort.inference import LOG, Zone
from equieffort.effort.inference.orders import median_limits
from equieffort.effort.inference.shares import wilson
from equieffort.effort.measures import MEASURES, Pair, Sample, read
from equieffort.recourse.solvers import Status

ZONE = Zone(-log(1.25), log(1.25))
RNG = np.random.default_rng(20261117)
BUDGET = 2.0


def drawn(n: int, factor: float = 1.0, limit: float = 1.8, approved: int = 40) -> Sample:
    costs = RNG.gamma(2.0, 0.5 * factor, n)
    return Sample.solved(np.where(costs > limit, inf, costs), approved, BUDGET)


@pytest.fixture(scope="module")
def pairs() -> list[Pair]:
    return [Pair(drawn(a, 1.4), drawn(b)) for a, b in ((12, 30), (40, 40), (200, 60))]


def test_the_difference_is_welchs_test(pairs):
    for pair in pairs:
        a, b = pair.mine.finite, pair.theirs.finite
        found, oracle = read(MEASURES["difference"], pair, 0.95), stats.ttest_ind(a, b, equal_var=False)
        low, high = oracle.confidence_interval(0.95)
        assert (found.estimate, found.p) == pytest.approx((a.mean() - b.mean(), oracle.pvalue))
        assert (found.low, found.high) == pytest.approx((low, high))


def log_ratio(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Welch on the log scale with plain numpy."""
    v = [x.var(ddof=1) / len(x) / x.mean() ** 2 for x in (a, b)]
    df = sum(v) ** 2 / (v[0] ** 2 / (len(a) - 1) + v[1] ** 2 / (len(b) - 1))
    return log(a.mean() / b.mean()), sqrt(sum(v)), df


@pytest.mark.parametrize("name", ["acr", "restricted_effort", "burden"])
def test_ratios_of_means(name, pairs):
    for pair in pairs:
        sides = []
        for sample in (pair.mine, pair.theirs):
            capped = np.minimum(sample.efforts, BUDGET)
            zeros = np.zeros(40)
            sides.append({"acr": sample.finite, "restricted_effort": capped}.get(name, np.concatenate([capped, zeros])))
        estimate, se, df = log_ratio(*sides)
        found = read(MEASURES[name], pair, 0.9, ZONE)
        half = stats.t.ppf(0.95, df) * se
        assert (found.estimate, found.low, found.high) == pytest.approx(
            (exp(estimate), exp(estimate - half), exp(estimate + half))
        )
        size, edge = abs(estimate), log(1.25)
        assert found.p == pytest.approx(2 * stats.t.cdf(-size / se, df))
        beyond = stats.t.cdf(-(size - edge) / se, df) + stats.t.cdf(-(size + edge) / se, df)
        within = max(stats.t.cdf((estimate - edge) / se, df), stats.t.cdf(-(estimate + edge) / se, df))
        assert (found.p_beyond, found.p_within) == pytest.approx((min(1, beyond), within))


@pytest.mark.parametrize("name", ["acr", "difference", "restricted_effort", "burden"])
def test_a_proof_to_the_last_digits_has_the_spread_of_the_costs(name):
    """Bounds that lie below the costs by what a proof may leave: Welch's test all the same, at whatever level."""
    costs = [RNG.gamma(4.0, factor, n) for factor, n in ((0.3, 40), (0.2, 25))]
    samples = []
    for one in costs:
        status = np.full(len(one), Status.OPTIMAL, dtype=np.int8)
        samples.append(Sample.of(status, one, one * (1 - 3e-8), budget=9.0))
    pair, measure = Pair(*samples), MEASURES[name]
    if name == "difference":
        oracle = stats.ttest_ind(*costs, equal_var=False).pvalue
    else:
        estimate, se, df = log_ratio(*costs)
        oracle = 2 * stats.t.cdf(-abs(estimate) / se, df)
    found = {level: read(measure, pair, level, ZONE) for level in (0.9, 0.95, 0.99)}
    assert len({(one.p, one.p_beyond) for one in found.values() if name != "difference"}) <= 1
    for one in found.values():
        assert one.p == pytest.approx(oracle, rel=1e-5)
        # What is certain is still what the bounds say.
        assert one.least < one.estimate < one.most
        assert (one.least, one.most) == pytest.approx((one.estimate, one.estimate), rel=1e-6)


def test_a_spread_is_not_taken_from_what_a_proof_leaves():
    """All efforts are equal, and the bounds below them differ by rounding: still nothing to test with."""
    status, costs = np.full(9, Status.OPTIMAL, dtype=np.int8), np.ones(9)
    sample = Sample.of(status, costs, costs - np.linspace(1e-8, 5e-7, 9), budget=5.0)
    found = {name: read(MEASURES[name], Pair(sample, sample), 0.95, ZONE) for name in ("acr", "restricted_effort")}
    assert {one.note for one in found.values()} == {"NO_SPREAD"}
    assert isnan(found["acr"].p)
    # Nine people would miss a share of 1 - 0.025 ** (1 / 9), who might need the budget of 5.
    unseen = 1 - 0.025 ** (1 / 9)
    assert found["restricted_effort"].high == pytest.approx((1 - unseen + 5 * unseen) / (1 - unseen))


def test_wilson_is_scipys():
    for k, n in ((0, 8), (3, 9), (17, 40), (40, 40)):
        oracle = stats.binomtest(k, n).proportion_ci(0.95, method="wilson")
        assert wilson(k, n, stats.norm.ppf(0.975)) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


@pytest.mark.parametrize(
    ("mine", "theirs", "low", "high"),
    # Newcombe 1998, table II, method 10: 56/70 - 48/80, 9/10 - 3/10, 10/10 - 0/20.
    [((48, 80), (56, 70), 0.0524, 0.3339), ((3, 10), (9, 10), 0.1705, 0.8090), ((0, 20), (10, 10), 0.6791, 1.0)],
)
def test_gaps_are_newcombes_published_ones(mine, theirs, low, high):
    def sample(k: int, n: int) -> Sample:
        return Sample.solved(np.array([1.0] * k + [inf] * (n - k)))

    found = read(MEASURES["rd"], Pair(sample(*mine), sample(*theirs)), 0.95, Zone(-0.05, 0.05))
    assert (found.low, found.high) == pytest.approx((low, high), abs=6e-5)


@pytest.mark.parametrize("name", ["rd", "impact_ratio", "median_effort"])
def test_p_values_are_where_a_limit_touches(name, pairs):
    measure = MEASURES[name]
    for pair in pairs:
        found = read(measure, pair, 0.95)
        if isnan(found.p) or found.p > 0.5:
            continue
        touching = read(measure, pair, 1 - found.p)
        assert min(abs(touching.low - measure.neutral), abs(touching.high - measure.neutral)) < 1e-6


def test_needs_more_counts_pairs_and_has_brunner_and_munzels_variance(pairs):
    for pair in pairs:
        a, b = pair.mine.efforts, pair.theirs.efforts
        found = read(MEASURES["needs_more"], pair, 0.95)
        wins = np.mean((a[:, None] > b[None, :]) + 0.5 * (a[:, None] == b[None, :]))
        assert found.estimate == pytest.approx(wins)
        # Ranks are finite; the test of scipy is on the plain scale, ours on the logit: near 1/2 they agree.
        ranks = stats.rankdata(np.concatenate([a, b]))
        oracle = stats.brunnermunzel(ranks[len(a) :], ranks[: len(a)])
        assert found.p == pytest.approx(oracle.pvalue, abs=0.02)


def test_medians_hold_as_often_as_they_say():
    rng, held, z = np.random.default_rng(5), 0, stats.norm.ppf(0.975)
    for _ in range(2000):
        low, high = median_limits(np.sort(rng.exponential(size=23)), z)
        held += low <= log(2) <= high
    # Monte Carlo error 0.5 points; interpolation is right to within one.
    assert 0.935 < held / 2000 < 0.97


def test_medians_by_hand():
    z = stats.norm.ppf(0.975)
    # Of five people the outermost leave out 2 / 2^5 = 6 %, so that no interval of 95 % exists.
    assert median_limits(np.arange(1.0, 6.0), z) == (0.0, inf)
    # Of six: 2 / 2^6 = 3 % are left out by the outermost, 22 % by the next: one tenth of the way.
    low, high = median_limits(np.arange(1.0, 7.0), z)
    assert low == pytest.approx(1 + 5 * 0.1 / (1 + 4 * 0.1))
    assert high == pytest.approx(7 - low)
    assert median_limits(np.array([1.0, 2, 3, 4, inf, inf, inf, inf, inf]), z)[1] == inf


RESAMPLED = ("acr", "rd", "restricted_effort", "needs_more", "difference", "burden", "impact_ratio", "acr_always_max")


def test_standard_errors_are_those_of_brute_resampling():
    """People of a group drawn again, as plainly as can be: the closed forms must have the same spread."""
    rng = np.random.default_rng(11)
    # Many of them, so that the bootstrap's own bias is small.
    whole = [np.minimum(rng.gamma(2, s, 700), 9.0) for s in (0.65, 0.5)]
    sides = [np.where(rng.random(700) < rho, x, inf) for x, rho in zip(whole, (0.8, 0.9), strict=True)]

    def pair(rows: list[np.ndarray], approved: list[int]) -> Pair:
        return Pair(*(Sample.solved(x, k, BUDGET) for x, k in zip(rows, approved, strict=True)))

    replicates: dict[str, list[float]] = {name: [] for name in RESAMPLED}
    for _ in range(400):
        approved = rng.binomial(1000, 0.3, 2).tolist()
        again = pair([rng.choice(x, 1000 - k) for x, k in zip(sides, approved, strict=True)], approved)
        for name, values in replicates.items():
            values.append(MEASURES[name].scale.to(MEASURES[name].estimate(again)))
    here = pair(sides, [300, 300])
    for name, values in replicates.items():
        law = MEASURES[name].law(here, 0.95)
        low, high = law.limits(0.95)
        # 400 replicates know a standard deviation to 3.5 %.
        assert (high - low) / (2 * 1.96) == pytest.approx(np.std(values), rel=0.12), name


@pytest.mark.parametrize("name", [name for name in MEASURES if name != "impact_ratio_recorded"])
def test_swapping_the_groups_mirrors(name, pairs):
    measure = MEASURES[name]
    other = {"acr_always_min": "acr_always_max", "acr_always_max": "acr_always_min"}.get(name, name)
    for pair in pairs:
        here, there = read(measure, pair, 0.95, ZONE), read(MEASURES[other], Pair(pair.theirs, pair.mine), 0.95, ZONE)
        to = measure.scale.to
        middle = to(measure.neutral)
        for mine, theirs in ((here.estimate, there.estimate), (here.low, there.high), (here.high, there.low)):
            assert to(mine) - middle == pytest.approx(middle - to(theirs), abs=1e-9, nan_ok=True)
        assert (here.p, here.p_beyond, here.p_within) == pytest.approx(
            (there.p, there.p_beyond, there.p_within), abs=1e-9, nan_ok=True
        )


def test_any_split_of_the_people_gives_the_same_bits():
    rng = np.random.default_rng(3)
    costs = np.where(rng.random(500) < 0.9, rng.lognormal(0, 1, 500), inf)
    other = Sample.solved(rng.lognormal(0, 1, 300), 20, BUDGET)
    whole = [read(m, Pair(Sample.solved(costs, 0, BUDGET), other), 0.95, ZONE) for m in MEASURES.values()]
    for pieces in (2, 7, 60):
        order = rng.permutation(500)
        parts = [Sample.solved(costs[rows], 0, BUDGET) for rows in np.array_split(order, pieces)]
        merged = parts[0]
        for part in parts[1:]:
            merged = merged + part
        again = [read(m, Pair(merged, other), 0.95, ZONE) for m in MEASURES.values()]
        assert repr(again) == repr(whole)


def test_scales_go_there_and_back():
    for value in (0.0, 1e-300, 0.3, 7.0, 1e300):
        assert LOG.back(LOG.to(value)) == pytest.approx(value)
    assert isnan(LOG.back(nan))
    assert isnan(LOG.to(nan))
