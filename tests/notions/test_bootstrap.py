"""Intervals by drawing people again: against the closed form of a mean, and where there are none."""

from math import isnan

import numpy as np

from equieffort.notions.bootstrap import bootstrap_limits


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
