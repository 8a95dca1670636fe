"""The default budget against the definition, and its edges."""

from __future__ import annotations

import numpy as np
import pytest

from equieffort.effort.budget import default_budget


@pytest.mark.parametrize("scale", [1e-13, 1e-3, 1.0, 37.0, 1e6, 1e15])
def test_two_digits_and_just_above_the_95_percent_point(scale):
    costs = np.random.default_rng(1).exponential(scale, 999)
    budget = default_budget(costs)
    ordered = np.sort(costs)
    point = ordered[948] + (ordered[949] - ordered[948]) * (0.95 * 998 - 948)
    assert point <= budget < point * 1.1
    assert budget == float(f"{budget:.1e}")


@pytest.mark.parametrize("cost", [0.12, 0.7, 1.0, 35.0, 990.0, 3e-7])
def test_two_digits_are_left_as_they_are(cost):
    """Also where a sum was rounded on the way."""
    assert default_budget(np.full(5, cost)) == cost
    assert default_budget(np.full(5, cost * (1 + 4e-16))) == cost


def test_a_carry_into_the_next_power():
    assert default_budget(np.array([0.9951])) == 1.0
    assert default_budget(np.array([99.2])) == 100.0


def test_who_has_no_recourse_or_is_unknown_does_not_count():
    costs = np.array([1.0, 2.0, 3.0])
    assert default_budget(np.append(costs, [np.inf, np.nan])) == default_budget(costs)


@pytest.mark.parametrize("costs", [[], [np.inf, np.nan], [0.0, 0.0], [0.0] * 99 + [1.0]])
def test_without_an_effort_to_go_by_there_is_no_budget(costs):
    assert default_budget(np.array(costs, dtype=float)) is None
