"""Intervals by drawing people again: against the closed form of a mean, and where there are none."""

from math import isnan

import numpy as np
from scipy.stats import ttest_1samp, ttest_ind

from equieffort.notions.bootstrap import bootstrap_limits, limits_of_sides


def test_a_mean_has_about_the_interval_of_its_closed_form():
    values = np.random.default_rng(1).gamma(2.0, size=400)
    low, high, note = bootstrap_limits(
        lambda rows: values[rows].mean(), np.zeros(400, dtype=int), 0.95, replicates=2000
    )
    half = 1.96 * values.std(ddof=1) / 20
    assert note == ""
    assert abs((high - low) / 2 - half) < 0.1 * half


def test_groups_keep_their_sizes():
    strata = np.repeat([0, 1], [3, 7])
    seen = []
    bootstrap_limits(lambda rows: seen.append(int((strata[rows] == 0).sum())) or 1.0, strata, 0.95, replicates=20)
    assert set(seen) == {3}


def test_often_undefined_has_no_interval():
    def only_where_everybody_is_drawn(rows):
        return 1.0 if len(set(rows)) == 3 else float("nan")

    low, high, note = bootstrap_limits(only_where_everybody_is_drawn, np.zeros(3, dtype=int), 0.95)
    assert isnan(low)
    assert isnan(high)
    assert note == "RESAMPLED"


def test_no_spread_has_no_interval():
    assert bootstrap_limits(lambda rows: 1.0, np.zeros(5, dtype=int), 0.95)[2] == "NO_SPREAD"


def test_groups_drawn_apart_have_about_welchs_interval():
    rng = np.random.default_rng(0)
    mine, theirs = rng.normal(size=4), rng.normal(size=9)
    drawn = [values[rng.integers(len(values), size=(20_000, len(values)))].mean(axis=1) for values in (mine, theirs)]
    centre = mine.mean() - theirs.mean()
    low, high, note = limits_of_sides(centre, *drawn, (4, 9), 0.95)
    welch = ttest_ind(mine, theirs, equal_var=False).confidence_interval(0.95)
    assert note == ""
    assert abs(low - welch.low) < 0.03 * (high - low)
    assert abs(high - welch.high) < 0.03 * (high - low)
    often = np.where(np.arange(20_000) % 10 == 0, np.nan, drawn[0])
    assert limits_of_sides(centre, often, drawn[1], (4, 9), 0.95)[2] == "RESAMPLED"


def test_of_few_people_the_spread_is_made_up_for():
    values = np.array([0.0, 1.0, 3.0])
    low, high, _ = bootstrap_limits(lambda rows: values[rows].mean(), np.zeros(3, dtype=int), 0.95, replicates=20_000)
    student = ttest_1samp(values, 0).confidence_interval(0.95)
    assert abs((high - low) / (student.high - student.low) - 1) < 0.03
    strata = np.repeat([0, 1], [1, 9])
    numbers = np.arange(10.0)
    assert bootstrap_limits(lambda rows: numbers[rows].mean(), strata, 0.95)[2] == "TOO_FEW"
