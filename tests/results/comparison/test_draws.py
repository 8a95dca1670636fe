"""The draws behind the question of distance against drawing whole people."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.results.comparison.worlds import made, people

import equieffort as ee
from equieffort.results.comparison import compare_audits
from equieffort.results.comparison.noise import bootstrap, strata


def direct_draws(one: ee.Audit, two: ee.Audit, draws: int) -> np.ndarray:
    """(draw, group, before or after, refused / acting / effort) over draws of whole people."""
    rng = np.random.default_rng(99)
    left, right = one.recourse.frame(), two.recourse.frame()
    assert left.index.equals(right.index)
    # What each person adds to the sums; nobody who was approved adds anything.
    adds = np.stack(
        [
            np.column_stack([frame.status != "not_needed", frame.cost.notna(), frame.cost.fillna(0.0)])
            for frame in (left, right)
        ],
        axis=1,
    ).astype(float)
    sides = [np.flatnonzero(left.group == group) for group in ("ash", "birch")]
    return np.array([[adds[rng.choice(side, len(side))].sum(axis=0) for side in sides] for _ in range(draws)])


def test_the_draws_are_those_of_drawing_whole_people():
    one, two = made(), made(weights={"income": 1.1, "savings": 0.2}, threshold=6.5)
    pairs = np.column_stack([np.arange(80), np.arange(80)])
    direct = direct_draws(one, two, 2000)
    rng = np.random.default_rng(1)
    for k, group in enumerate(("ash", "birch")):
        drawn = bootstrap(rng, 4000, *strata(one.recourse, two.recourse, pairs, group))
        mine, theirs = drawn.reshape(-1, 6), direct[:, k].reshape(-1, 6)
        spread = theirs.std(axis=0)
        assert mine.mean(axis=0) == pytest.approx(theirs.mean(axis=0), abs=0.2 * spread.max())
        assert mine.std(axis=0) == pytest.approx(spread, rel=0.15)
        assert np.corrcoef(mine.T) == pytest.approx(np.corrcoef(theirs.T), abs=0.15)


def test_pairing_makes_the_interval_narrow():
    X = people(200)
    same = compare_audits(made(X), made(X, threshold=6.05)).noise.set_index("measure")
    strangers = X.set_axis([f"q{k}" for k in range(200)])
    apart = compare_audits(made(X), made(strangers, threshold=6.05)).noise.set_index("measure")
    width = {name: (frame["high"] - frame["low"])["acr"] for name, frame in (("same", same), ("apart", apart))}
    assert width["same"] < 0.5 * width["apart"]


def test_the_same_question_gets_the_same_answer_and_intervals_need_no_seed():
    one, two = made(), made(threshold=7.0)
    pd.testing.assert_frame_equal(compare_audits(one, two).noise, compare_audits(one, two).noise)
    other = compare_audits(one, two, random_state=1, draws=10).noise
    columns = ["change", "low", "high", "df", "beyond_noise"]
    pd.testing.assert_frame_equal(other[columns], compare_audits(one, two).noise[columns])
