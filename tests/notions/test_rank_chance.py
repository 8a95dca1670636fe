"""Chance in ranks: against leaving out each person in turn, and in how many samples an interval holds the truth."""

import numpy as np
import pandas as pd
import pytest

import equieffort as ee
from equieffort.notions.comparing import side_of
from equieffort.notions.rewards.chance import Moves, RankChance


def overtaken(values, at):
    """Shares at or below, straight between the values; beyond them one over their range."""
    values = np.sort(values)
    beyond = np.minimum(at - values[0], 0) + np.maximum(at - values[-1], 0)
    return np.interp(at, values, np.arange(1, len(values) + 1) / len(values)) + beyond / np.ptp(values)


def efforts(codes, before, after):
    """What everybody pays for their move: the ranks of two features that they overtake in their group, the second at
    half price."""
    paid = np.zeros(before.shape)
    for code in np.unique(codes):
        mine = codes == code
        for k, price in enumerate((1.0, 0.5)):
            ends = [overtaken(before[mine, k], one[mine, k]) for one in (after, before)]
            paid[mine, k] = price * np.abs(ends[0] - ends[1])
    return paid


@pytest.mark.parametrize("groups", [1, 2])
def test_the_spread_of_a_mean_effort_is_that_of_leaving_out_each_person(groups):
    """Of a side that is one group, or two with their own ranks."""
    rng, n = np.random.default_rng(3), 160
    codes, before = np.arange(n) % groups, rng.gamma(2, 1, (n, 2))
    # Some go up in one feature, others down in the other, a third not at all and are in no mean.
    step = np.where(
        np.arange(n)[:, None] % 3 == 0, [[1.0, 0.0]], np.where(np.arange(n)[:, None] % 3 == 1, [[0, -0.7]], 0)
    )
    after, counted = before + step, np.arange(n) % 3 < 2
    paid = efforts(codes, before, after)
    chance = RankChance(before, codes, np.arange(n))
    moves, everybody = Moves(before, after, paid), np.ones(n, dtype=bool)
    found = chance.variance(everybody, counted, paid.sum(axis=1), moves, counted.astype(float))
    means = []
    for j in range(n):
        rest = np.arange(n) != j
        means.append(efforts(codes[rest], before[rest], after[rest]).sum(axis=1)[counted[rest]].mean())
    jackknife = (n - 1) / n * ((means - np.mean(means)) ** 2).sum()
    plain = paid.sum(axis=1)[counted].var(ddof=1) / counted.sum()
    assert found == pytest.approx(jackknife, rel=0.1)
    assert abs(plain / jackknife - 1) > 0.25
    side = side_of(paid.sum(axis=1)[counted])
    wide = chance.widened(side, everybody, counted, paid.sum(axis=1), moves, counted.astype(float))
    assert wide.sums.mean == side.sums.mean
    assert wide.sums.variance == pytest.approx(max(found * counted.sum(), side.sums.variance))


def test_where_nobody_moves_nothing_is_added():
    values = np.random.default_rng(1).random((30, 1))
    chance, still = RankChance(values, np.zeros(30, dtype=int), np.arange(30)), Moves(values, values, 0 * values)
    everybody = np.ones(30, dtype=bool)
    side = side_of(values[:, 0])
    assert chance.widened(side, everybody, everybody, values[:, 0], still, np.ones(30)) is side


def test_given_ranks_are_as_they_are():
    """The same people ranked among themselves, by default and as a reference that was given."""
    rng = np.random.default_rng(5)
    X = pd.DataFrame({"woman": np.repeat([1, 0], 24), "x": rng.normal(size=48)})
    schema = ee.Schema(sensitive="woman", protected=1, favourable=True, features={"x": "actionable"})
    read = [
        ee.audit(
            ee.LinearScore({"x": 1}, threshold=0.3), X, schema=schema, scm=ee.StructuralCausalModel([]).fit(X),
            cost=ee.Percentile(within="group"), reference=reference,
        ).effort_rewards([0.25], benefit="score", gain=0.5).frame().set_index(["notion", "group", "variant"])
        for reference in (None, X)
    ]  # fmt: skip
    widths = [one["high"] - one["low"] for one in read]
    np.testing.assert_allclose(read[0]["estimate"], read[1]["estimate"], atol=1e-9)
    assert (widths[0] >= widths[1] - 1e-9).all()
    key = ("threshold_reward", "1", "score gain of 0.5, refused, with a route")
    assert widths[0][key] > 1.2 * widths[1][key]
