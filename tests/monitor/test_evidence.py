"""The evidence against betting by hand, person by person, and its error rates in a small simulation."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from equieffort.monitor.evidence import RATIOS, STAKES, Arrivals, Evidence, blocks, grid_paths, log_mean, wealth_path

NOBODY = np.zeros((2, 3))


def arrivals(n: int, seed: int = 0, *, gap: float = 0.0, share: float = 0.5, worse: float = 1.0) -> Arrivals:
    rng = np.random.default_rng(seed)
    is_group = rng.random(n) < share
    high = np.where(is_group, worse, 1.0) * np.minimum(rng.exponential(0.4, n), 1.0) / max(worse, 1.0)
    return Arrivals(is_group, high * (1 - gap * rng.random(n)), high)


def part(people: Arrivals, which: slice) -> Arrivals:
    return Arrivals(people.is_group[which], people.low[which], people.high[which])


class ByHand:
    """Bets person by person, with plain numbers and one wealth after the other."""

    def __init__(self, tau: float, level: float = 0.95) -> None:
        self.tau, self.limit = tau, 2 / (1 - level)
        self.waiting: tuple[list, list] = ([], [])
        self.wealths = [[1.0] * len(STAKES) for _ in range(2)]
        self.at_most = {r: [1.0] * len(STAKES) for r in RATIOS.tolist()}
        self.at_least = {r: [1.0] * len(STAKES) for r in RATIOS.tolist()}
        self.out_low: set[float] = set()
        self.out_high: set[float] = set()
        self.looks: list[float] = []

    def person(self, is_group: bool, low: float, high: float) -> None:
        self.waiting[0 if is_group else 1].append((low, high))
        if self.waiting[0] and self.waiting[1]:
            a, b = ([sum(end) / len(end) for end in zip(*who, strict=True)] for who in self.waiting)
            self.waiting = ([], [])
            self.block(a, b)

    def block(self, a: list[float], b: list[float]) -> None:
        for j, stake in enumerate(STAKES.tolist()):
            self.wealths[0][j] *= 1 + stake * (a[0] - self.tau * b[1]) / self.tau
            self.wealths[1][j] *= 1 + stake * (b[0] - self.tau * a[1]) / self.tau
            for r in self.at_most:
                self.at_most[r][j] *= 1 + stake / r * (a[0] - r * b[1])
                self.at_least[r][j] *= 1 + stake * (r * b[0] - a[1])
        self.out_low |= {r for r, wealth in self.at_most.items() if np.mean(wealth) >= self.limit}
        self.out_high |= {r for r, wealth in self.at_least.items() if np.mean(wealth) >= self.limit}
        self.looks.append(float(np.mean(self.wealths)))

    @property
    def interval(self) -> tuple[float, float]:
        low, high = 0.0, np.inf
        for r in RATIOS.tolist():
            if r not in self.out_low:
                break
            low = r
        for r in reversed(RATIOS.tolist()):
            if r not in self.out_high:
                break
            high = r
        return low, high


@pytest.mark.parametrize(
    ("tau", "share", "gap", "worse"), [(1.0, 0.5, 0.0, 2.0), (1.25, 0.15, 0.5, 1.0), (1.5, 0.9, 0.2, 0.4)]
)
def test_evidence_is_that_of_betting_by_hand(tau, share, gap, worse):
    people = arrivals(400, 3, share=share, gap=gap, worse=worse)
    hand = ByHand(tau)
    for one in zip(people.is_group, people.low, people.high, strict=True):
        hand.person(*one)
    found, peak = Evidence.none().after(people, tau, 0.95)
    assert len(hand.looks) > 20
    assert np.exp(found.log_e) == pytest.approx(hand.looks[-1], rel=1e-9)
    assert np.exp(peak.log_e) == pytest.approx(max(1.0, *hand.looks), rel=1e-9)
    assert found.interval == hand.interval
    assert found.waiting[:, 0].tolist() == [len(hand.waiting[0]), len(hand.waiting[1])]
    assert found.waiting[:, 1:] == pytest.approx(
        np.array([[sum(one[end] for one in who) for end in (0, 1)] for who in hand.waiting])
    )
    assert found.seen[:, 0].tolist() == [people.is_group.sum(), (~people.is_group).sum()]


def test_a_large_effect_is_excluded_and_estimated():
    found, peak = Evidence.none().after(arrivals(3000, 5, worse=2.0), 1.25, 0.95)
    low, high = found.interval
    assert 1.25 < low < 2.0 < high < 3.0
    assert found.ratio[0] == pytest.approx(2.0, rel=0.1)
    assert peak.log_e > np.log(20)
    assert peak.side == 0


def test_batches_do_not_matter_to_the_bit():
    people = arrivals(700, 1, share=0.2, gap=0.3)
    whole, peak = Evidence.none().after(people, 1.25, 0.95)
    for cuts in ([1, 2, 3, 350], [699], list(range(7, 700, 7))):
        now, peaks = Evidence.none(), []
        for start, stop in zip([0, *cuts], [*cuts, 700], strict=True):
            now, one = now.after(part(people, slice(start, stop)), 1.25, 0.95)
            peaks.append(one.log_e)
        for name in ("wealth", "grid", "rejected", "waiting", "seen"):
            assert np.array_equal(getattr(now, name), getattr(whole, name)), name
        assert max(peaks) == peak.log_e


def test_exchanging_the_groups_mirrors_everything():
    people = arrivals(500, 2, gap=0.2, worse=1.6)
    one, _ = Evidence.none().after(people, 1.25, 0.95)
    other, _ = Evidence.none().after(replace(people, is_group=~people.is_group), 1.25, 0.95)
    assert np.array_equal(one.wealth, other.wealth[::-1])
    assert one.log_e == pytest.approx(other.log_e, rel=1e-12)
    assert one.interval == pytest.approx([1 / end for end in other.interval[::-1]], rel=1e-9)
    assert one.ratio[0] == pytest.approx(1 / other.ratio[0])


def test_people_without_an_order_are_one_block():
    people = arrivals(50, 4, gap=0.4)
    means, waiting = blocks(NOBODY, people, ordered=False)
    group, rest = people.is_group, ~people.is_group
    ends = [people.low[group], people.high[group], people.low[rest], people.high[rest]]
    assert means == pytest.approx(np.array([[end.mean() for end in ends]]))
    assert not waiting.any()
    shuffled = np.random.default_rng(0).permutation(50)
    again = Arrivals(group[shuffled], people.low[shuffled], people.high[shuffled])
    assert blocks(NOBODY, again, ordered=False)[0] == pytest.approx(means)


def test_one_group_alone_waits_in_both_ways():
    alone = Arrivals(np.ones(3, dtype=bool), np.array([0.1, 0.2, 0.3]), np.array([0.1, 0.2, 1.0]))
    for ordered in (True, False):
        means, waiting = blocks(NOBODY, alone, ordered=ordered)
        assert len(means) == 0
        assert waiting == pytest.approx(np.array([[3, 0.6, 1.3], [0, 0, 0]]))
        other = Arrivals(np.zeros(1, dtype=bool), np.array([0.5]), np.array([0.5]))
        (mean,), left = blocks(waiting, other, ordered=ordered)
        assert mean == pytest.approx([0.2, 1.3 / 3, 0.5, 0.5])
        assert not left.any()


def test_an_empty_batch_changes_nothing():
    before, _ = Evidence.none().after(arrivals(30), 1.25, 0.95)
    nobody = Arrivals(np.empty(0, dtype=bool), np.empty(0), np.empty(0))
    for ordered in (True, False):
        after, peak = before.after(nobody, 1.25, 0.95, ordered=ordered)
        assert peak.log_e == before.log_e
        for name in ("wealth", "grid", "rejected", "waiting", "seen"):
            assert np.array_equal(getattr(after, name), getattr(before, name)), name


def test_whatever_the_unsettled_turn_out_to_be_they_would_have_given_more_evidence():
    """Each possible truth of people with a range has at least the evidence of the range, in each direction."""
    people = arrivals(300, 6, gap=0.6, worse=1.5)
    ranged, _ = Evidence.none().after(people, 1.1, 0.95)
    rng = np.random.default_rng(7)
    for _ in range(20):
        true = people.low + rng.random(300) * (people.high - people.low)
        certain, _ = Evidence.none().after(Arrivals(people.is_group, true, true), 1.1, 0.95)
        assert (certain.wealth >= ranged.wealth).all()
        assert (certain.grid >= ranged.grid).all()
        assert certain.interval[0] >= ranged.interval[0]
        assert certain.interval[1] <= ranged.interval[1]
        assert ranged.ratio[1] <= certain.ratio[0] <= ranged.ratio[2]


@pytest.mark.parametrize(
    ("means", "tau"), [([1.0, 1.0, 0.0, 0.0], 1.25), ([0.0, 0.0, 1.0, 1.0], 4.0), ([0.0, 1.0, 0.0, 1.0], 1.0)]
)
def test_the_extremes_leave_every_wealth_finite(means, tau):
    many = np.tile(means, (5000, 1))
    path = wealth_path(np.zeros((2, len(STAKES))), many, tau)
    assert np.isfinite(path).all()
    assert np.isfinite(log_mean(path, 2)).all()
    *_, last = grid_paths(np.zeros((2, len(RATIOS), len(STAKES))), many)
    assert np.isfinite(last).all()


def test_the_mean_of_wealths_by_exact_fractions():
    wealths = [Fraction(3, 7), Fraction(1000), Fraction(1, 10**9)]
    logs = np.log(np.array([float(one) for one in wealths]))
    assert np.exp(log_mean(logs, 1)) == pytest.approx(float(sum(wealths) / 3), rel=1e-14)
    assert log_mean(logs + 2000, 1) == pytest.approx(log_mean(logs, 1) + 2000)


def expected_gain(a: np.ndarray, b: np.ndarray, tau: float) -> np.ndarray:
    """What each of the 16 wealths is multiplied by on average, over all pairs of a and b alike often."""
    means = np.array([(x, x, y, y) for x in a for y in b])
    start = np.zeros((2, len(STAKES)))
    return np.mean([np.exp(wealth_path(start, one[None], tau)[-1]) for one in means], axis=0)


def test_no_bet_gains_on_average_while_the_ratio_is_within_tau():
    a = np.array([0.1, 0.3, 0.8])
    for ratio, tau in ((1.0, 1.0), (1.25, 1.25), (0.8, 1.25), (1.1, 1.25)):
        gains = expected_gain(a, a / ratio, tau)
        assert (gains <= 1 + 1e-12).all()
    assert (expected_gain(a, a / 1.3, 1.25)[0] > 1).all()
    assert (expected_gain(a, np.minimum(1.0, a * 1.2), 1.1)[1] > 1).all()


STREAMS, PEOPLE = 300, 1500


@pytest.mark.parametrize("measure", ["restricted_effort", "burden"])
@pytest.mark.parametrize("ratio", [1.0, 1.25])
def test_false_alarms_at_every_look_stay_below_five_percent(measure, ratio):
    """At equal effort with tau = 1, and at a ratio of exactly tau; looked at after every person."""
    rng = np.random.default_rng([17, int(100 * ratio), len(measure)])
    hits = 0
    for _ in range(STREAMS):
        is_group = rng.random(PEOPLE) < 0.4
        effort = np.minimum(np.abs(rng.normal(0, 0.6, PEOPLE)), 1.0)
        effort = np.where(is_group, effort, effort / ratio)
        if measure == "burden":
            effort = np.where(rng.random(PEOPLE) < 0.5, effort, 0.0)
        means, _ = blocks(NOBODY, Arrivals(is_group, effort, effort))
        hits += log_mean(wealth_path(np.zeros((2, 8)), means, ratio), 2).max() >= np.log(20)
    # Three standard errors above 5 % would be 26 of 300.
    assert hits <= 15


def test_the_confidence_sequence_is_seldom_ever_wrong_and_shrinks():
    rng, wrong, widths = np.random.default_rng(18), 0, []
    for _ in range(40):
        is_group = rng.random(800) < 0.5
        effort = np.minimum(np.abs(rng.normal(0, 0.6, 800)), 1.0) * np.where(is_group, 1.0, 1 / 1.5)
        now, early = Evidence.none(), None
        for start in (0, 200):
            some = slice(start, 200 if start == 0 else 800)
            now, _ = now.after(Arrivals(is_group[some], effort[some], effort[some]), 1.25, 0.95)
            early = now.interval if early is None else early
        wrong += not now.interval[0] <= 1.5 <= now.interval[1]
        assert early[0] <= now.interval[0]
        assert now.interval[1] <= early[1]
        widths.append(now.interval[1] / now.interval[0])
    assert wrong <= 4
    assert np.median(widths) < 2.0


def test_a_real_difference_is_found():
    found = 0
    for seed in range(30):
        _, peak = Evidence.none().after(arrivals(1500, seed, worse=2.0), 1.25, 0.95)
        found += peak.log_e >= np.log(20)
    assert found >= 28
